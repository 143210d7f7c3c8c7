//! Remedies for failed commands, derived from the commands between a failure and the subsequent success.

use std::collections::HashSet;

use jiff::{SignedDuration, Timestamp};
use serde::Serialize;
use sha2::{Digest as _, Sha256};
use transcripts::{MessageTime, hex};

use super::Session;
use super::command::{is_misuse, likeness};
use crate::consolidate::{ApplyError, IncomingClaim, settle_by_rules};
use crate::memory::{
    Audience, Candidate, Claim, Episode, Evidence, ExtractionMethod, Memory, MemoryId, MemoryType, Namespace, Outcome,
    Structured,
};
use crate::search;
use crate::store::{AdviceOutcome, Database, FailedCommand, Filter, NamespaceSubtree, Order, Step, Store, StoreError};
use crate::text::shell::{only_looks, signature};

/// Category of remedies.
const CATEGORY: &str = "solution";
/// Tag of remedies, used to find them again.
const TAG: &str = "error-fix";
/// Maximum time between a failure and a success that resolves it.
const SAME_MATTER: SignedDuration = SignedDuration::from_hours(2);
/// Maximum number of commands between a failure and the success. With more commands, it is unclear which command
/// resolved the failure.
const MAX_COMMANDS: usize = 3;
/// Minimum similarity of two errors of one command at which a remedy for one error is shown for the other.
const MIN_LIKENESS: f64 = 0.34;
/// Maximum number of remedies that are stored for one failure.
const MAX_STORED: usize = 5;
/// Maximum number of remedies that are shown together.
const MAX_SHOWN: usize = 3;
/// Minimum time before a remedy is shown again in the same session.
pub(crate) const COOLDOWN: SignedDuration = SignedDuration::from_mins(30);

/// A command that resolved a failure.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Remedy {
    /// A different form of the command.
    Instead(String),
    /// Commands that are run before the same command is run again.
    First(Vec<String>),
}

/// Returns the remedy that resolved `failed` before the success of `succeeded`, or `None` if this is unclear.
///
/// A different form of the command counts if the error was about the call itself and there were no actions in between.
/// Commands in between count if the same command then succeeded, if there are few of them, and if no file was changed,
/// because an edit that resolved an error is already in the code.
fn remedy(failed: &FailedCommand, succeeded: &str, now: Timestamp) -> Option<Remedy> {
    // A fix by editing is already in the code, and no command repeats it.
    if now.duration_since(failed.at) > SAME_MATTER || failed.steps.iter().any(|step| matches!(step, Step::Edited(_))) {
        return None;
    }
    // Commands that only read cannot have resolved anything.
    let commands: Vec<String> = failed
        .steps
        .iter()
        .filter_map(|step| match step {
            Step::Ran(command) if !only_looks(command) => Some(command.clone()),
            Step::Ran(_) | Step::Edited(_) => None,
        })
        .collect();
    match (failed.command == succeeded, commands.len()) {
        (true, 1..=MAX_COMMANDS) => Some(Remedy::First(commands)),
        (false, 0) if is_misuse(&failed.error) => Some(Remedy::Instead(succeeded.to_owned())),
        _ => None,
    }
}

/// Stores the remedy of a failure, if it is clear.
///
/// The remedy is consolidated like any other memory, but it is not compared with other remedies for the same failure.
/// Such remedies do not contradict each other, even if their wording is similar, so up to [`MAX_STORED`] of them are
/// stored.
pub(crate) fn store_remedy(
    session: &Session<'_>,
    categories: &[String],
    failed: &FailedCommand,
    succeeded: &str,
) -> Result<(), ApplyError> {
    let Session { store, guard, now, .. } = *session;
    // The user may have removed the category from the settings.
    let allowed = categories.iter().any(|name| name == CATEGORY);
    let Some(remedy) = remedy(failed, succeeded, now).filter(|_| allowed) else { return Ok(()) };
    let (candidate, findings) = guard.redact(candidate(session, failed, &remedy));
    let Some(namespace) = session.namespaces.first().filter(|_| findings.is_empty()) else {
        // A command that contained a secret is useless without the secret.
        return Ok(());
    };
    let candidate = candidate.into_inner();
    let source = format!("hook:{}", session.agent);
    let others = others(store, namespace, failed, &candidate.claim, now)?;
    if others > 0 {
        // The insertion below skips consolidation, so a rejected remedy must be excluded here.
        if others >= MAX_STORED || store.rejected(namespace, &candidate.claim.content, None)?.is_some() {
            return Ok(());
        }
        let memory = Memory::new(candidate.claim, namespace.clone(), source, ExtractionMethod::Auto, now);
        let ((memory, _), (evidence, _)) = (guard.redact(memory), guard.redact(candidate.evidence));
        store.write::<_, StoreError>(None, now, |w| w.insert(&memory, &evidence))?;
        return Ok(());
    }
    let incoming = IncomingClaim {
        candidate,
        namespace: namespace.clone(),
        source,
        method: ExtractionMethod::Auto,
        id: None,
        past: None,
        needs_review: false,
        is_later: false,
    };
    settle_by_rules(store, &[incoming], None, now).map(drop)
}

/// Returns the number of other remedies that are known for a failure, or 0 if this remedy is already known, in which
/// case its use is counted.
fn others(
    store: &Store,
    namespace: &Namespace,
    failed: &FailedCommand,
    claim: &Claim,
    now: Timestamp,
) -> Result<usize, StoreError> {
    let tags = vec![TAG.to_owned()];
    let filter =
        Filter { subject: Some(failed.signature.clone()), tags, ..filter(std::slice::from_ref(namespace), now) };
    let known = store.list(&filter, Order::Updated, 50, 0)?;
    if let Some(same) = known.iter().find(|memory| memory.claim.content == claim.content) {
        // The remedy was used and helped again, which counts as a use; a failure to count it is ignored.
        let _ = store.record_use(std::slice::from_ref(&same.id), now);
        return Ok(0);
    }
    let situation = |claim: &Claim| match &claim.structured {
        Some(Structured::Episode(episode)) => Some(episode.situation.clone()),
        _ => None,
    };
    Ok(known.iter().filter(|memory| situation(&memory.claim) == situation(claim)).count())
}

fn candidate(session: &Session<'_>, failed: &FailedCommand, remedy: &Remedy) -> Candidate {
    let (command, error) = (&failed.command, &failed.error);
    let (content, action) = match remedy {
        Remedy::Instead(other) => {
            (format!("`{command}` fails with \"{error}\"; `{other}` works instead."), format!("Ran `{other}` instead."))
        }
        Remedy::First(steps) => {
            let steps = steps.iter().map(|step| format!("`{step}`")).collect::<Vec<_>>().join(", then ");
            (
                format!("`{command}` fails with \"{error}\" until {steps} was run; after that it succeeds."),
                format!("Ran {steps}, then `{command}` again."),
            )
        }
    };
    let claim = Claim {
        subject: Some(failed.signature.clone()),
        importance: 0.6,
        confidence: 0.7,
        tags: vec![TAG.to_owned()],
        valid_from: Some(failed.at),
        structured: Some(Structured::Episode(Episode {
            situation: format!("`{command}` failed: {error}"),
            action,
            outcome: Outcome::Success,
            reasoning: None,
            learnings: Vec::new(),
        })),
        ..Claim::new(MemoryType::Episodic, CATEGORY, format!("{} fails: remedy", failed.signature), content)
    };
    let evidence = Evidence {
        transcript: format!("{}:{}", session.agent, session.id),
        messages: vec![failed.call.clone()],
        quote: failed.error.clone(),
        speaker: None,
        said_at: Some(MessageTime::logged(session.now.min(failed.at))),
        content_hash: hex(&Sha256::digest(failed.error.as_bytes())),
    };
    Candidate {
        claim,
        audience: Audience::Project,
        evidence: vec![evidence],
        replaces: None,
        is_pasted: false,
        is_shipped: false,
        updates_only: false,
    }
}

/// Returns remedies for a failure, the best first, except for those shown recently.
pub(crate) fn known(
    db: &Database,
    namespaces: &[Namespace],
    failed: &FailedCommand,
    shown: &HashSet<MemoryId>,
    now: Timestamp,
) -> Result<Vec<Memory>, StoreError> {
    let of_command = Filter { subject: Some(failed.signature.clone()), ..filter(namespaces, now) };
    let mut found: Vec<(f64, Memory)> = db
        .list(&of_command, Order::Updated, 50, 0)?
        .into_iter()
        .map(|memory| (likeness(&failed.error, &error_in(&memory)), memory))
        .filter(|(likeness, _)| *likeness >= MIN_LIKENESS)
        .collect();
    let ids: Vec<MemoryId> = found.iter().map(|(_, memory)| memory.id.clone()).collect();
    let advice = db.advice(&ids)?;
    let outcome = |memory: &Memory| advice.get(&memory.id).copied().unwrap_or_default();
    found.retain(|(_, memory)| !outcome(memory).is_refuted());
    // Among remedies for the same error, those that helped most often come first, followed by the most used and the
    // newest.
    found.sort_by(|(x, a), (y, b)| {
        let by_help = || outcome(b).balance().cmp(&outcome(a).balance());
        let by_use = || by_help().then_with(|| b.usage.access_count.cmp(&a.usage.access_count));
        let by_age = || b.updated_at.cmp(&a.updated_at).then_with(|| a.id.cmp(&b.id));
        y.total_cmp(x).then_with(by_use).then_with(by_age)
    });
    let mut best: Vec<Memory> = found.into_iter().map(|(_, memory)| memory).collect();
    // Memories from conversations may also mention errors.
    let asked = format!("{} {}", failed.signature, failed.error);
    let others = search::search(db, &asked, &filter(namespaces, now), MAX_SHOWN, now)?;
    let enough =
        |found: &search::Found| found.matched.len() >= 3 && likeness(&asked, &found.memory.claim.content) >= 0.25;
    best.extend(others.into_iter().filter(enough).map(|found| found.memory));
    best.extend(notes_of_failure(db, namespaces, &failed.signature, now)?);
    // Both searches may find the same memory.
    let mut seen = shown.clone();
    best.retain(|memory| seen.insert(memory.id.clone()));
    best.truncate(MAX_SHOWN);
    Ok(best)
}

/// A remedy that a hook recorded during a session.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RecordedRemedy {
    /// The memory of the remedy.
    pub memory: MemoryId,
    /// The failure and the remedy, as a sentence.
    pub content: String,
    /// How often the remedy helped when it was shown after the same failure, and how often it did not.
    pub outcome: AdviceOutcome,
    /// Time of the failure.
    pub at: Option<Timestamp>,
}

/// Maximum number of recorded remedies that are compared with an error.
const MAX_COMPARED: usize = 500;

/// Returns the remedies that hooks recorded for errors that satisfy `is_meant`, the most helpful first. If the failed
/// `command` is given, the remedies for that command come before all others.
///
/// # Errors
/// [`StoreError`] if the file cannot be read.
pub(crate) fn recorded(
    db: &Database,
    is_meant: impl Fn(&str) -> bool,
    command: Option<&str>,
    within: &[NamespaceSubtree],
    now: Timestamp,
) -> Result<Vec<RecordedRemedy>, StoreError> {
    let tags = vec![TAG.to_owned()];
    let filter = Filter { tags, namespaces: within.to_vec(), ..filter(&[], now) };
    let mut found = db.list(&filter, Order::Updated, MAX_COMPARED, 0)?;
    let mut of_others = HashSet::new();
    found.retain(|memory| {
        let situation = error_in(memory);
        // The situation names the command before the error.
        let (failed, error) = situation.split_once("` failed: ").unwrap_or(("", &situation));
        let is_of = |command: &str| signature(failed.trim_start_matches('`')) == signature(command);
        if !command.is_none_or(is_of) {
            of_others.insert(memory.id.clone());
        }
        is_meant(error)
    });
    let ids: Vec<MemoryId> = found.iter().map(|memory| memory.id.clone()).collect();
    let mut advice = db.advice(&ids)?;
    let mut remedies: Vec<RecordedRemedy> = found
        .into_iter()
        .map(|memory| RecordedRemedy {
            outcome: advice.remove(&memory.id).unwrap_or_default(),
            memory: memory.id,
            content: memory.claim.content,
            at: memory.claim.valid_from,
        })
        .filter(|remedy| !remedy.outcome.is_refuted())
        .collect();
    remedies.sort_by_key(|one| (of_others.contains(&one.memory), std::cmp::Reverse(one.outcome.balance())));
    Ok(remedies)
}

/// Returns remedies if `command` is known to fail in exactly this form, and another form is known to work.
pub(crate) fn warnings(
    db: &Database,
    namespaces: &[Namespace],
    command: &str,
    shown: &HashSet<MemoryId>,
    now: Timestamp,
) -> Result<Vec<Memory>, StoreError> {
    let Some(name) = signature(command) else { return Ok(Vec::new()) };
    let filter = Filter { subject: Some(name), tags: vec![TAG.to_owned()], ..filter(namespaces, now) };
    let begins = format!("`{command}` fails with \"");
    let mut found = db.list(&filter, Order::Updated, 50, 0)?;
    found.retain(|memory| {
        let content = &memory.claim.content;
        content.starts_with(&begins) && content.ends_with("` works instead.") && !shown.contains(&memory.id)
    });
    found.truncate(MAX_SHOWN);
    Ok(found)
}

/// Returns facts and notes which say that a command fails, such as "dotnet restore fails until the feed is signed in".
pub(crate) fn notes_of_failure(
    db: &Database,
    namespaces: &[Namespace],
    name: &str,
    now: Timestamp,
) -> Result<Vec<Memory>, StoreError> {
    let categories = vec!["fact".to_owned(), "note".to_owned()];
    let found = search::search(db, name, &Filter { categories, ..filter(namespaces, now) }, MAX_SHOWN * 4, now)?;
    Ok(found.into_iter().map(|hit| hit.memory).filter(|memory| says_that_fails(&memory.claim.content, name)).collect())
}

/// Whether a sentence of `content` contains the name of a command, and then a word for a failure.
fn says_that_fails(content: &str, name: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | '/');
    content.split_inclusive(['.', '\n', '。']).any(|sentence| {
        let sentence = sentence.to_lowercase();
        sentence.match_indices(name).any(|(at, _)| {
            let (before, after) = (&sentence[..at], &sentence[at + name.len()..]);
            !before.ends_with(is_part) && !after.starts_with(is_part) && FAILS.iter().any(|word| after.contains(word))
        })
    })
}

/// Beginnings of words for failures.
const FAILS: &[&str] = &[
    " fail",
    " error",
    " break",
    " broken",
    " crash",
    " hang",
    " time out",
    " times out",
    " fehl",
    " scheiter",
    " bricht ab",
    " falla",
    " échoue",
    "失败",
    "报错",
    "出错",
];

fn filter(namespaces: &[Namespace], now: Timestamp) -> Filter {
    Filter {
        categories: vec![CATEGORY.to_owned(), "mistake".to_owned()],
        unexpired_at: Some(now),
        ..Filter::exactly(namespaces)
    }
}

fn error_in(memory: &Memory) -> String {
    match &memory.claim.structured {
        Some(Structured::Episode(episode)) => episode.situation.clone(),
        _ => memory.claim.content.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::testing::day;

    fn failed(command: &str, error: &str, steps: &[Step]) -> FailedCommand {
        FailedCommand {
            signature: signature(command).unwrap(),
            command: command.to_owned(),
            error: error.to_owned(),
            call: "t1".to_owned(),
            steps: steps.to_vec(),
            at: day(1),
        }
    }

    fn ran(command: &str) -> Step {
        Step::Ran(command.to_owned())
    }

    #[test]
    fn only_a_plain_remedy_is_one() {
        let missing = "Error: Cannot find module 'left-pad'";
        let misuse = "error: unexpected argument '--foo' found";
        let edited = Step::Edited("package.json".to_owned());
        let first = |commands: &[&str]| Some(Remedy::First(commands.iter().map(|&one| one.to_owned()).collect()));
        let table = [
            ("npm test", missing, vec![ran("ls"), ran("npm ci")], "npm test", first(&["npm ci"])),
            ("npm test", missing, vec![], "npm test", None),
            ("npm test", missing, vec![ran("ls"), ran("git status")], "npm test", None),
            ("npm test", missing, vec![ran("npm ci"), edited], "npm test", None),
            ("npm test", missing, vec![ran("a"), ran("b"), ran("c"), ran("d")], "npm test", None),
            ("npm test", missing, vec![ran("npm ci")], "npm test -- a", None),
            ("cargo test --foo", misuse, vec![], "cargo test bar", Some(Remedy::Instead("cargo test bar".to_owned()))),
            ("cargo test a", "assertion failed", vec![], "cargo test b", None),
            ("cargo test --foo", misuse, vec![ran("cargo add x")], "cargo test bar", None),
        ];
        for (command, error, steps, succeeded, expected) in table {
            assert_eq!(remedy(&failed(command, error, &steps), succeeded, day(1)), expected, "{command} {steps:?}");
        }
        let late = day(1) + SAME_MATTER + SignedDuration::from_secs(1);
        assert_eq!(remedy(&failed("npm test", missing, &[ran("npm ci")]), "npm test", late), None);
    }
}
