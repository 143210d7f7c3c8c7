//! Problems that were solved, and attempts that failed, as people confirmed them.

use super::build::Finding;
use super::gather::{Gathered, voice};
use super::language::{self, Compiled};
use super::own;
use super::sentence::{self, fold};
use super::solution::{self, Fix};
use super::words::{self, capitalised};
use crate::extract::Task;
use crate::memory::{Audience, Claim, Episode, MemoryType, Outcome, Structured};
use transcripts::{Kind, Message, Role};

/// Messages after a problem within which its fix is looked for.
const MAX_MESSAGES_APART: usize = 40;
/// Longest quotation of a fix that an assistant described, in characters.
const MAX_ACTION_CHARS: usize = 240;

/// A problem that a person stated and nobody has solved yet.
struct Problem<'a> {
    at: usize,
    message: &'a Message,
    quote: &'a str,
}

/// Adds an episode for each problem of the window whose fix a person confirmed or named, and for each failed attempt.
pub(super) fn solved(task: &Task<'_>, gathered: &mut Gathered<'_>) {
    let mut open: Option<Problem<'_>> = None;
    let mut proposed: Option<&Message> = None;
    for (at, message) in task.shown().iter().enumerate() {
        if message.kind != Kind::Prose {
            continue;
        }
        if message.role == Role::Assistant {
            proposed = Some(message);
        }
        if !message.is_human() {
            continue;
        }
        let in_span = task.span.context_start + at >= task.span.start;
        let near = open.take().filter(|problem| at - problem.at <= MAX_MESSAGES_APART);
        let same = near.as_ref().is_some_and(|problem| problem.message.speaker == message.speaker);
        let fix = near.as_ref().filter(|_| in_span && same).and_then(|problem| fixed(problem, message, proposed));
        open = near;
        if let (Some((finding, quote, help)), Some(problem)) = (fix, open.as_ref()) {
            let sources: Vec<_> =
                [(message, quote), (problem.message, problem.quote)].into_iter().chain(help).collect();
            gathered.add(finding, &sources);
            open = None;
            continue;
        }
        if in_span {
            failures(message, gathered);
        }
        let again = |quote: &&str| open.is_none() || !is_again(quote);
        if let Some(quote) = problem(message).filter(|quote| concerns_work(message, quote)).filter(again) {
            open = Some(Problem { at, message, quote });
            proposed = None;
        }
    }
}

/// Returns the words in which a person states a problem: a sentence, or else an error as a tool printed it.
fn problem(message: &Message) -> Option<&str> {
    let stated = own::said(&message.text).into_iter().find(|said| {
        let text = fold(said);
        language::of(&text).is_some_and(|language| states_problem(language, &text))
    });
    stated.or_else(|| sentence::error_line(&message.text)).filter(|quote| !quote.contains("[redacted:"))
}

/// Whether `quote` only says that a problem is still there.
fn is_again(quote: &str) -> bool {
    let lower = quote.to_lowercase();
    ["still ", "it still ", "same ", "nope", "no,", "again", "还是", "依然", "仍然"]
        .iter()
        .any(|start| lower.starts_with(start))
}

/// Whether a problem is one of work; among people, things fail and break in life too.
fn concerns_work(message: &Message, quote: &str) -> bool {
    message.speaker.is_none() || language::of(quote).is_some_and(|language| language.about_project.is_match(quote))
}

fn states_problem(language: &Compiled, text: &str) -> bool {
    let chars = text.chars().count();
    let long_enough = if text.is_ascii() { text.split(' ').count() >= 4 } else { chars >= 5 };
    let asking = text.trim_start().to_lowercase();
    let supposed = [
        "what if",
        "what happens",
        "should ",
        "could ",
        "would ",
        "how do i ",
        "if ",
        "如果",
        "make sure",
        "please ",
        "add ",
        "always ",
        "never ",
    ]
    .iter()
    .any(|start| asking.starts_with(start));
    long_enough && chars <= sentence::MAX_SENTENCE_CHARS && !supposed && language.problem.is_match(text)
}

/// An episode with the words that say it is solved, and the assistant's words where they tell how.
type Fixed<'a> = (Finding, &'a str, Option<(&'a Message, &'a str)>);

/// Returns the episode in which `message` says that `problem` is solved, with the words that say so.
fn fixed<'a>(problem: &Problem<'_>, message: &'a Message, proposed: Option<&'a Message>) -> Option<Fixed<'a>> {
    for said in sentence::said(&message.text) {
        let folded = fold(said);
        let Some(language) = language::of(&folded).or_else(|| language::of("the default")) else { continue };
        let text = &folded[language.lead_in.find(&folded).map_or(0, |found| found.end())..];
        let Some(found) = language.fixed.captures(text) else { continue };
        let denied = [" not ", "n't", "but ", "?", "？", " if ", "没有解决", "还没", "不是", "但", "[redacted:"];
        if denied.iter().any(|word| text.contains(word)) || folded.chars().count() > sentence::MAX_SENTENCE_CHARS {
            return None;
        }
        let named = ["do", "cause", "turns", "by", "was", "after"].iter().find_map(|name| found.name(name));
        let named = named.map(|named| named.as_str().trim()).filter(|named| named.chars().count() >= 4);
        let points = |named: &&str| !language.empty_value.is_match(named) && !language.points(named);
        let mut help = None;
        let fix = if named.as_ref().is_some_and(points) {
            let told = text.trim_end_matches(['.', '!', '。', '！']);
            Fix::Told(lower_first(&in_third_person(language, told, message.speaker.as_deref())))
        } else {
            let helper = proposed?;
            let done = what_was_done(helper)?;
            help = Some((helper, done));
            advised(language, &fold(done))
        };
        let cause = ["cause", "turns", "was"].iter().find_map(|name| found.name(name));
        let cause = cause.map(|cause| capitalised(cause.as_str().trim_end_matches(['.', '!', '。', '！'])));
        return Some((solution(language, problem, &fix, cause, message), said, help));
    }
    None
}

/// Returns the assistant's sentence as one about what it did, or as its words where it is none.
fn advised(language: &Compiled, sentence: &str) -> Fix {
    let assistant = language.language.phrases.assistant;
    let turned = (language.language.third_person)(sentence, Some(assistant));
    match turned {
        Some(turned) if turned.to_lowercase().starts_with(assistant) => Fix::Done(turned),
        Some(_) | None => Fix::Advised(sentence.to_owned()),
    }
}

/// Returns `text` for the middle of a sentence, where its first word is an everyday one.
fn lower_first(text: &str) -> String {
    const EVERYDAY: &[&str] = &["The", "It", "A", "An", "That", "Turns", "This"];
    let first = text.split(' ').next().unwrap_or("");
    if EVERYDAY.contains(&first) || first.ends_with("ing") {
        let mut chars = text.chars();
        chars.next().map_or_else(String::new, |first| first.to_lowercase().chain(chars).collect())
    } else {
        text.to_owned()
    }
}

/// Returns `text` with its "I" named, or as it stands where that is not safe.
fn in_third_person(language: &Compiled, text: &str, speaker: Option<&str>) -> String {
    let turned = (language.language.third_person)(text, speaker);
    turned.map_or_else(|| text.to_owned(), |turned| capitalised(&turned))
}

/// Returns the sentence in which the assistant says what it changed.
fn what_was_done(message: &Message) -> Option<&str> {
    const DONE: &[&str] = &[
        "fix", "chang", "add", "remov", "updat", "set ", "replac", "instal", "run ", "upgrad", "downgrad", "renam",
        "mov", "increas", "decreas", "delet", "clear", "restart", "use ", "pin", "disabl", "enabl", "修", "改", "添加",
        "加上", "加了", "删", "升级", "设置", "重启", "替换", "安装", "清", "把", "增加",
    ];
    let sentences = sentence::said(&message.text);
    let done = sentences.into_iter().find(|said| {
        let lower = said.to_lowercase();
        let short = said.chars().count() <= MAX_ACTION_CHARS;
        let ahead = [" should ", "next ", "remember", "下次", "应该"].iter().any(|word| lower.contains(word));
        short && !ahead && !said.ends_with(['?', '？', ':', '：']) && DONE.iter().any(|stem| lower.contains(stem))
    });
    done.filter(|said| !said.contains("[redacted:"))
}

fn solution(
    language: &Compiled,
    problem: &Problem<'_>,
    fix: &Fix,
    cause: Option<String>,
    message: &Message,
) -> Finding {
    let content = solution::told(language, problem.quote, fix, message.speaker.as_deref());
    let title = words::title(&content, language, &voice(message));
    let action = fix.action();
    let mut claim = Claim::new(MemoryType::Episodic, "solution", title, content);
    claim.importance = 0.6;
    claim.confidence = 0.75;
    claim.structured = Some(Structured::Episode(Episode {
        situation: fold(problem.quote),
        action: action.clone(),
        outcome: Outcome::Success,
        learnings: vec![cause.clone().unwrap_or(action)],
        reasoning: cause,
    }));
    Finding { claim, audience: Audience::Project, since: None }
}

/// Adds what `message` says was tried in vain.
fn failures(message: &Message, gathered: &mut Gathered<'_>) {
    for said in own::said(&message.text) {
        let text = fold(said);
        let Some(language) = language::of(&text) else { continue };
        let bare = &text[language.lead_in.find(&text).map_or(0, |found| found.end())..];
        let Some(found) = language.failed.captures(bare) else { continue };
        let Some(tried) = found.name("do").or_else(|| found.name("what")) else { continue };
        let tried = lower_first_verb(tried.as_str().trim());
        let tried = tried.as_str();
        let vague = language.points(tried) || language.empty_value.is_match(tried) || text.contains(['?', '？']);
        if !vague && !text.contains("[redacted:") && text.chars().count() <= sentence::MAX_SENTENCE_CHARS {
            gathered.add(failure(language, tried, &text, message), &[(message, said)]);
        }
    }
}

/// Returns `tried` fit for the middle of a sentence: "Restarting the server" loses its capital.
fn lower_first_verb(tried: &str) -> String {
    let verb = tried.split(' ').next().is_some_and(|word| word.ends_with("ing"));
    let mut chars = tried.chars();
    match chars.next() {
        Some(first) if verb => first.to_lowercase().chain(chars).collect(),
        Some(_) | None => tried.to_owned(),
    }
}

fn failure(language: &Compiled, tried: &str, text: &str, message: &Message) -> Finding {
    let voice = voice(message);
    let content =
        words::fill(language.language.phrases.tried, &[("{who}", &words::who(language, &voice)), ("{x}", tried)]);
    let content = words::finished(&content, language);
    let mut claim =
        Claim::new(MemoryType::Episodic, "mistake", words::title(&content, language, &voice), content.clone());
    claim.importance = 0.6;
    claim.confidence = 0.7;
    claim.structured = Some(Structured::Episode(Episode {
        situation: text.to_owned(),
        action: tried.to_owned(),
        outcome: Outcome::Failure,
        reasoning: None,
        learnings: vec![content],
    }));
    Finding { claim, audience: Audience::Project, since: None }
}
