//! Episodes of solved problems and failed attempts, and decisions confirmed by a person.

use super::candidates::Gathered;
use super::clause::{Finding, Voice, capitalised, fill, finished, title, who};
use super::language::{self, LanguageRules};
use super::product;
use super::sentence::{MAX_SENTENCE_CHARS, error_line, fold, own_sentences, prose_sentences};
use crate::extract::Task;
use crate::memory::{Audience, Claim, Episode, MemoryType, Outcome, Structured};
use transcripts::{Kind, Message, Role};

/// Maximum number of messages between a problem and its fix.
const MAX_MESSAGES_APART: usize = 40;
/// Longest quotation of a fix described by an assistant, in characters.
const MAX_ACTION_CHARS: usize = 240;

/// A problem that a person stated and that is not solved yet.
struct Problem<'a> {
    at: usize,
    message: &'a Message,
    quote: &'a str,
}

/// Adds an episode for each problem in the window whose fix a person confirmed or named, and for each failed attempt.
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
        // Messages before the span belong to the previous window, which has reported their failures.
        if in_span {
            failures(message, gathered);
        }
        // "Still broken" refers to the open problem, which is described better by its own words.
        let again = |quote: &&str| open.is_none() || !is_again(quote);
        if let Some(quote) = problem(message).filter(|quote| concerns_work(message, quote)).filter(again) {
            open = Some(Problem { at, message, quote });
            proposed = None;
        }
    }
}

/// Returns the words in which a person states a problem: a sentence or, failing that, an error printed by a tool.
fn problem(message: &Message) -> Option<&str> {
    let stated = own_sentences(&message.text).into_iter().find(|said| {
        let text = fold(said);
        language::of(&text).is_some_and(|language| states_problem(language, &text))
    });
    stated.or_else(|| error_line(&message.text)).filter(|quote| !quote.contains("[redacted:"))
}

/// Whether `quote` only says that a problem persists.
fn is_again(quote: &str) -> bool {
    let lower = quote.to_lowercase();
    ["still ", "it still ", "same ", "nope", "no,", "again", "还是", "依然", "仍然"]
        .iter()
        .any(|start| lower.starts_with(start))
}

/// Whether a problem is related to work; among people, things also fail and break in everyday life.
fn concerns_work(message: &Message, quote: &str) -> bool {
    message.speaker.is_none() || language::of(quote).is_some_and(|language| language.about_project.is_match(quote))
}

fn states_problem(language: &LanguageRules, text: &str) -> bool {
    let chars = text.chars().count();
    let long_enough = if text.is_ascii() { text.split(' ').count() >= 4 } else { chars >= 5 };
    let asking = text.trim_start().to_lowercase();
    // A question or an order does not report a problem.
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
    long_enough && chars <= MAX_SENTENCE_CHARS && !supposed && language.problem.is_match(text)
}

/// An episode, the words that say it is solved, and the assistant's words if they explain how.
type Fixed<'a> = (Finding, &'a str, Option<(&'a Message, &'a str)>);

/// Returns the episode if `message` says that `problem` is solved, with the words that say so.
fn fixed<'a>(problem: &Problem<'_>, message: &'a Message, proposed: Option<&'a Message>) -> Option<Fixed<'a>> {
    for said in prose_sentences(&message.text) {
        let folded = fold(said);
        // "Works now!" is too short for its language to be detected; then English is tried.
        let Some(language) = language::of(&folded).or_else(|| language::of("the default")) else { continue };
        let text = &folded[language.lead_in.find(&folded).map_or(0, |found| found.end())..];
        let Some(found) = language.fixed.captures(text) else { continue };
        let denied = [" not ", "n't", "but ", "?", "？", " if ", "没有解决", "还没", "不是", "但", "[redacted:"];
        if denied.iter().any(|word| text.contains(word)) || folded.chars().count() > MAX_SENTENCE_CHARS {
            return None;
        }
        let named = ["do", "cause", "turns", "by", "was", "after"].iter().find_map(|name| found.name(name));
        let named = named.map(|named| named.as_str().trim()).filter(|named| named.chars().count() >= 4);
        let points = |named: &&str| !language.empty_value.is_match(named) && !language.points(named);
        let mut help = None;
        let fix = if named.as_ref().is_some_and(points) {
            let stated = text.trim_end_matches(['.', '!', '。', '！']);
            Fix::Stated(lower_first(&in_third_person(language, stated, message.speaker.as_deref())))
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

/// Returns the assistant's sentence as a statement of what it did, or as a quotation if it is not one.
fn advised(language: &LanguageRules, sentence: &str) -> Fix {
    let assistant = language.definition.phrases.assistant;
    let turned = (language.definition.third_person)(sentence, Some(assistant));
    match turned {
        Some(turned) if turned.to_lowercase().starts_with(assistant) => Fix::Done(turned),
        Some(_) | None => Fix::Advised(sentence.to_owned()),
    }
}

/// Returns `text` for use within a sentence: the first word loses its capital if it is a common one.
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

/// Returns `text` with its "I" replaced by a name, or unchanged if that is not safe.
fn in_third_person(language: &LanguageRules, text: &str, speaker: Option<&str>) -> String {
    let turned = (language.definition.third_person)(text, speaker);
    turned.map_or_else(|| text.to_owned(), |turned| capitalised(&turned))
}

/// Returns the sentence in which the assistant says what it changed.
fn what_was_done(message: &Message) -> Option<&str> {
    const DONE: &[&str] = &[
        "fix", "chang", "add", "remov", "updat", "set ", "replac", "instal", "run ", "upgrad", "downgrad", "renam",
        "mov", "increas", "decreas", "delet", "clear", "restart", "use ", "pin", "disabl", "enabl", "修", "改", "添加",
        "加上", "加了", "删", "升级", "设置", "重启", "替换", "安装", "清", "把", "增加",
    ];
    let sentences = prose_sentences(&message.text);
    let done = sentences.into_iter().find(|said| {
        let lower = said.to_lowercase();
        let short = said.chars().count() <= MAX_ACTION_CHARS;
        // Advice for the future did not solve this problem.
        let ahead = [" should ", "next ", "remember", "下次", "应该"].iter().any(|word| lower.contains(word));
        short && !ahead && !said.ends_with(['?', '？', ':', '：']) && DONE.iter().any(|stem| lower.contains(stem))
    });
    done.filter(|said| !said.contains("[redacted:"))
}

fn solution(
    language: &LanguageRules,
    problem: &Problem<'_>,
    fix: &Fix,
    cause: Option<String>,
    message: &Message,
) -> Finding {
    let content = solved_sentence(language, problem.quote, fix, message.speaker.as_deref());
    let title = title(&content, language, &Voice::of(message));
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

/// Adds the failed attempts that `message` reports.
fn failures(message: &Message, gathered: &mut Gathered<'_>) {
    for said in own_sentences(&message.text) {
        let text = fold(said);
        let Some(language) = language::of(&text) else { continue };
        let bare = &text[language.lead_in.find(&text).map_or(0, |found| found.end())..];
        let Some(found) = language.failed.captures(bare) else { continue };
        let Some(tried) = found.name("do").or_else(|| found.name("what")) else { continue };
        let tried = lower_first_verb(tried.as_str().trim());
        let tried = tried.as_str();
        let vague = language.points(tried) || language.empty_value.is_match(tried) || text.contains(['?', '？']);
        if !vague && !text.contains("[redacted:") && text.chars().count() <= MAX_SENTENCE_CHARS {
            gathered.add(failure(language, tried, &text, message), &[(message, said)]);
        }
    }
}

/// Returns `tried` for use within a sentence: "Restarting the server" loses its capital.
fn lower_first_verb(tried: &str) -> String {
    let verb = tried.split(' ').next().is_some_and(|word| word.ends_with("ing"));
    let mut chars = tried.chars();
    match chars.next() {
        Some(first) if verb => first.to_lowercase().chain(chars).collect(),
        Some(_) | None => tried.to_owned(),
    }
}

fn failure(language: &LanguageRules, tried: &str, text: &str, message: &Message) -> Finding {
    let voice = Voice::of(message);
    let content = fill(language.definition.phrases.tried, &[("{who}", &who(language, &voice)), ("{x}", tried)]);
    let content = finished(&content, language);
    let mut claim = Claim::new(MemoryType::Episodic, "mistake", title(&content, language, &voice), content.clone());
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

/// The fix of a problem.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Fix {
    /// A sentence of the person who had the problem: "the cause was a stale cookie".
    Stated(String),
    /// A sentence about what the assistant did: "the assistant added a flag".
    Done(String),
    /// The assistant's words, if they are not a sentence about what was done.
    Advised(String),
}

impl Fix {
    /// Returns the words of the fix as a separate sentence.
    fn action(&self) -> String {
        match self {
            Self::Stated(text) | Self::Done(text) | Self::Advised(text) => capitalised(text),
        }
    }
}

/// Returns one sentence with `problem`, in a person's own words, and its `fix`.
fn solved_sentence(language: &LanguageRules, problem: &str, fix: &Fix, speaker: Option<&str>) -> String {
    let phrases = &language.definition.phrases;
    let problem = past_problem(language, problem, speaker);
    let (frame, words) = match fix {
        Fix::Stated(text) => (phrases.solved, text),
        Fix::Done(text) => (phrases.solved_by, text),
        Fix::Advised(text) => (phrases.solved_with, text),
    };
    let words = words.trim_end_matches(['.', '!', '。', '！']).replace('"', "'");
    finished(&fill(frame, &[("{problem}", &problem), ("{x}", &words)]), language)
}

/// Returns `problem` in the past tense, or as a quotation if that is not safe.
fn past_problem(language: &LanguageRules, problem: &str, speaker: Option<&str>) -> String {
    let phrases = &language.definition.phrases;
    let quoted = problem.replace('"', "'");
    if error_line(problem).is_some() {
        return fill(phrases.error, &[("{x}", &quoted)]);
    }
    let text = fold(problem);
    let text = &text[language.lead_in.find(&text).map_or(0, |found| found.end())..];
    let text = text.trim_end_matches(['.', '!', '。', '！', ' ']);
    let turned = (!language.points(text)).then(|| (language.definition.third_person)(text, speaker)).flatten();
    let past = turned.and_then(|turned| (language.definition.past)(&turned));
    past.map_or_else(|| fill(phrases.problem, &[("{x}", &quoted)]), |past| capitalised(&past))
}

/// Longest answer that is a plain yes, in characters.
const MAX_YES_CHARS: usize = 60;

/// Adds the decisions that consist of a single clear question and a plain yes.
pub(super) fn agreed(task: &Task<'_>, gathered: &mut Gathered<'_>) {
    let mut asked: Option<&Message> = None;
    for (at, message) in task.shown().iter().enumerate() {
        if message.kind != Kind::Prose {
            continue;
        }
        let answer = asked.take();
        if message.role == Role::Assistant {
            asked = Some(message);
        } else if message.is_human() && task.span.context_start + at >= task.span.start {
            let proposal = answer.and_then(|question| Some((question, decision(question, message)?)));
            if let Some((question, (finding, yes, asking))) = proposal {
                gathered.add(finding, &[(message, yes), (question, asking)]);
            }
        }
    }
}

/// Returns the decision with the words of the answer and of the question.
fn decision<'a>(question: &'a Message, answer: &'a Message) -> Option<(Finding, &'a str, &'a str)> {
    let mut sentences = prose_sentences(&question.text);
    let asking = sentences.pop()?;
    if question.text.contains("[redacted:") || sentences.iter().any(|other| other.ends_with(['?', '？'])) {
        return None;
    }
    let folded = fold(asking);
    let language = language::of(&folded)?;
    let yes = answer.text.trim();
    if yes.chars().count() > MAX_YES_CHARS || !language.yes.is_match(&fold(yes)) {
        return None;
    }
    let found = language.proposal.captures(&folded)?;
    let value = found.name("v")?.as_str();
    let names = product::named(value);
    let first = names.first()?;
    // "Postgres or MySQL?" cannot be answered with yes.
    let either = [" or ", "还是", "或"].iter().any(|word| value.contains(word));
    // "Do you want me to deploy?" offers to do it once.
    let once = folded.contains(" me to deploy") || folded.contains(" me to host");
    if either || once || language.points(value) {
        return None;
    }
    let done = format!("{}{}{value}", &found["verb"], if folded.is_ascii() { " " } else { "" });
    Some((agreed_finding(language, &done, first, &names, answer), yes, asking))
}

fn agreed_finding(
    language: &LanguageRules,
    done: &str,
    first: &product::Named,
    names: &[product::Named],
    answer: &Message,
) -> Finding {
    let phrases = &language.definition.phrases;
    let voice = Voice::of(answer);
    let who = voice.speaker.map_or_else(|| phrases.user.to_owned(), str::to_owned);
    let who = if who == "The user" { "the user".to_owned() } else { who };
    let content = fill(phrases.agreed, &[("{who}", &who), ("{x}", done)]);
    let content = finished(&content, language);
    let mut claim = Claim::new(MemoryType::Semantic, "decision", title(done, language, &voice), content);
    let alone = names.iter().all(|other| other == first || other.attribute != first.attribute);
    if alone {
        claim.key = Some(format!("project.{}", first.attribute));
        claim.value = Some(first.value.clone());
    }
    claim.subject = Some(first.attribute.to_owned());
    claim.importance = 0.7;
    claim.confidence = 0.7;
    Finding { claim, audience: Audience::Project, since: None }
}
