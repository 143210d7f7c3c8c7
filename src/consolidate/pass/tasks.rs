//! Closes tasks and blockers whose due day has passed, or that somebody has reported as done.

use std::sync::LazyLock;

use jiff::civil::Date;
use jiff::{SignedDuration, Timestamp};
use regex::Regex;
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

use super::field::{Field, said_at};
use super::judge::view;
use crate::changeset::Action;
use crate::consolidate::Known;
use crate::consolidate::compare::features::{Features, Polarity};
use crate::consolidate::compare::view::View;
use crate::consolidate::compare::view::Words;
use crate::consolidate::pass::field::Around;
use crate::consolidate::pass::field::PassChange;
use crate::memory::{BLOCKER, Memory, RelationType, Status};

/// Share of a task's words that a report of its completion must contain.
const DONE_OVERLAP: f64 = 0.75;

/// Share of a task's words that a report must contain in scripts without spaces, in which pairs of characters across
/// word boundaries count as words.
const DONE_OVERLAP_UNSPACED: f64 = 0.5;

/// Minimum number of leading letters that identify a word.
const MIN_STEM: usize = 5;

/// Time from the end of a due day in UTC until the day has ended in all time zones.
// The day ends last at UTC−12, and the user's time zone is unknown.
const EVERYWHERE: SignedDuration = SignedDuration::from_hours(12);

/// A day by which something must be done, in the languages of the cues.
static DUE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(?ix) (?: \b(?: by | due(?:\s+(?:on|by|date:?))? | deadline:? | until | no\ later\ than | before
            | bis(?:\s+zum)? | fällig(?:\s+am)? | vor\ dem | spätestens(?:\s+am)?
            | antes\ del? | para\ el | hasta\ el | a\ más\ tardar\ el )
            | 截止(?:到|日期[:：]?)? | 到期(?:日[:：]?)? | 期限は | 締め切りは | 締切は | 마감(?:일|은)? )
            \s* (\d{4}-\d{2}-\d{2}) | (\d{4}-\d{2}-\d{2}) \s* (?: 之前 | 前 | まで | までに | 까지 | 전까지 )",
    )
    .expect("the pattern is a constant that a test uses")
});

/// Words that say that something is finished.
static DONE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(?ix) \b(?: done | completed? | finished | shipped | merged | fixed | resolved | unblocked | closed | released | delivered
            | cancelled | canceled | abandoned | dropped | submitted
            | erledigt | abgeschlossen | fertiggestellt | behoben | abgebrochen | eingereicht
            | terminad[oa] | completad[oa] | hech[oa] | resuelt[oa] | cancelad[oa] | entregad[oa] | enviad[oa] )\b
            | 完成 | 做完 | 已修复 | 已解决 | 已取消 | 已提交 | 搞定 | 完了 | 終わった | 終わりました | 修正済み | 中止になった
            | 완료 | 끝났 | 끝냈 | 해결됐 | 해결했 | 취소",
    )
    .expect("the pattern is a constant that a test uses")
});

/// Words that express an obligation; a report that the task is done does not contain them.
static OBLIGES: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(?i)\b(?:must|ha(?:s|ve) (?:yet )?to|needs? to|should|is to|todo:?|muss|müssen|soll|debe|tiene que|necesita)\b|需要|必须|应该",
    )
    .expect("the pattern is a constant that a test uses")
});

/// Closes finished tasks, and returns the changes.
pub(super) fn close(field: &mut Field, around: &Around, now: Timestamp) -> Vec<PassChange> {
    let mut changes = Vec::new();
    for id in field.in_order() {
        let is_open = |known: &&Known| is_task(known) && !known.memory.pinned && !field.reopened.contains(&id);
        let Some(task) = field.active.get(&id).filter(is_open) else { continue };
        let done = || around.of(&id).filter_map(|other| field.active.get(other)).find(|other| says_done(other, task));
        let change = match over(task, now) {
            Some(why) => Some(expired(task, why, now)),
            None => done().map(|by| finished(task, by, now)),
        };
        if let Some(change) = change {
            field.apply(&change);
            changes.push(change);
        }
    }
    changes
}

fn is_task(known: &Known) -> bool {
    matches!(known.memory.claim.category.as_str(), "task" | BLOCKER)
}

/// Returns the reason if a task has expired.
fn over(task: &Known, now: Timestamp) -> Option<String> {
    let claim = &task.memory.claim;
    let is_past = |at: Option<Timestamp>| at.is_some_and(|at| at <= now);
    if is_past(claim.expires_at) || is_past(claim.valid_to) {
        return Some("its lifetime has ended".to_owned());
    }
    let due = due_day(&claim.content)?;
    let ended =
        due.tomorrow().ok()?.to_zoned(jiff::tz::TimeZone::UTC).ok()?.timestamp().checked_add(EVERYWHERE).ok()?;
    (ended <= now).then(|| format!("it was due on {due}"))
}

/// Returns the latest due day mentioned in `text`.
fn due_day(text: &str) -> Option<Date> {
    let days = DUE.captures_iter(text).filter_map(|found| found.get(1).or_else(|| found.get(2))?.as_str().parse().ok());
    days.max()
}

/// Whether `other` says, later than `task`, that exactly this task is done.
fn says_done(other: &Known, task: &Known) -> bool {
    let text = &other.memory.claim.content;
    if said_at(other) <= said_at(task) || !DONE.is_match(text) || DONE.is_match(&task.memory.claim.content) {
        return false;
    }
    // Otherwise, "must" and "needs to" would count as words that the report lacks.
    let mut bare = task.clone();
    bare.memory.claim.content = OBLIGES.replace_all(&task.memory.claim.content, " ").into_owned();
    let (by, of) = (view(other), view(&bare));
    let is_unspaced = of.features.text.chars().any(|c| matches!(c, '\u{3040}'..='\u{9FFF}'));
    let enough = if is_unspaced { DONE_OVERLAP_UNSPACED } else { DONE_OVERLAP };
    by.features.polarity == Polarity::Positive
        && !by.features.planned
        && by.features.people == of.features.people
        && names_all_of(&by, &of)
        && (by.same_key(&of) || overlap_of_task(&by, &of) >= enough)
}

/// Whether all names and numbers of the task are repeated; its due day may be missing.
fn names_all_of(by: &View<'_>, task: &View<'_>) -> bool {
    let undated = Features::of(&DUE.replace_all(&task.claim.content, " "));
    undated.entities.iter().all(|name| by.features.text.contains(name.as_str()))
        && undated.figures.is_subset(&by.features.figures)
}

#[expect(clippy::cast_precision_loss, reason = "counts of words")]
fn overlap_of_task(by: &View<'_>, task: &View<'_>) -> f64 {
    let all = task.features.tokens.len();
    let said = |word: &&String| by.features.tokens.iter().any(|other| is_one_word(word, other));
    let shared = task.features.tokens.iter().filter(said).count().max(Words::of(by, task).shared);
    if all < 2 { 0.0 } else { (shared as f64 / all as f64).min(1.0) }
}

/// Whether two words are the same apart from accents and endings. If there are only a few words, the language is hard
/// to detect, so the stem is unreliable.
fn is_one_word(a: &str, b: &str) -> bool {
    let plain = |word: &str| word.nfd().filter(|c| !is_combining_mark(*c)).collect::<String>();
    let (a, b) = (plain(a), plain(b));
    let is_stem = |stem: &str, word: &str| stem.chars().count() >= MIN_STEM && word.starts_with(stem);
    a == b || is_stem(&a, &b) || is_stem(&b, &a)
}

fn expired(task: &Known, why: String, now: Timestamp) -> PassChange {
    let mut change = PassChange::new(Action::TaskClosed, why, &task.memory.claim.content, now);
    change.change(task, Memory { status: Status::Expired, ..task.memory.clone() });
    change
}

fn finished(task: &Known, by: &Known, now: Timestamp) -> PassChange {
    let mut change = PassChange::new(Action::TaskClosed, "said to be done", &task.memory.claim.content, now);
    change.beside = Some(by.memory.claim.content.clone());
    let mut claim = task.memory.claim.clone();
    claim.valid_to = claim.valid_to.or(Some(said_at(by)));
    change.change(task, Memory { claim, status: Status::Superseded, ..task.memory.clone() });
    change.link(&by.memory.id, RelationType::Supersedes, &task.memory.id);
    // The other memory replaced the task, but does not say the same thing.
    change.link(&by.memory.id, RelationType::Contradicts, &task.memory.id);
    change
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::consolidate::tests::testing::known;

    #[test]
    fn a_due_day_is_one_that_is_named_as_such() {
        let rows = [
            ("The user must file taxes by 2026-03-31.", Some("2026-03-31")),
            ("Deadline: 2026-04-02 for the talk", Some("2026-04-02")),
            ("用户要在 2026-05-01 之前交报告", Some("2026-05-01")),
            ("2026-05-01までに提出する", Some("2026-05-01")),
            ("Der Bericht ist bis zum 2026-02-03 fällig", Some("2026-02-03")),
            ("The user started on 2026-03-31.", None),
            ("nearby 2026-03-31", None),
        ];
        for (text, day) in rows {
            assert_eq!(due_day(text).map(|day| day.to_string()).as_deref(), day, "{text}");
        }
    }

    #[test]
    fn a_task_is_done_only_where_just_it_is_said_to_be_done_later() {
        let task = "The user has to migrate the billing tables to Postgres 17.";
        let rows = [
            (task, "The user migrated the billing tables to Postgres 17; it is done.", true),
            (task, "The user has not completed migrating the billing tables to Postgres 17.", false),
            (task, "The user finished migrating the billing tables to Postgres 16.", false),
            (task, "The user finished migrating the search tables.", false),
            (task, "The user plans to have the billing tables migrated to Postgres 17, done by May.", false),
            ("用户要修复登录页面的崩溃", "登录页面的崩溃已修复", true),
            ("Der Nutzer muss die Steuererklärung abgeben.", "Steuererklärung abgeben: erledigt.", true),
        ];
        for (task, later, expected) in rows {
            let (of, by) = (known("a", task), known("b", &format!("said=2026-02-01 | {later}")));
            assert_eq!(says_done(&by, &of), expected, "{later}");
            let earlier = known("b", &format!("said=2026-01-01 | {later}"));
            assert!(!says_done(&earlier, &of), "{later}");
        }
    }
}
