//! From a sentence to what it states: vetoes, clauses, cues.

use crate::text::script::count_han;
use std::borrow::Cow;

use jiff::civil::DateTime;
use regex::Captures;

use super::build::{self, Finding};
use super::language::{self, Act, Compiled, Cue};
use super::note;
use super::own_name;
use super::sentence::{MAX_SENTENCE_CHARS, fold};
use crate::memory::MemoryType;

/// Who speaks, and when.
#[derive(Debug, Clone, Copy)]
pub(super) struct Voice<'a> {
    /// The person's name, in conversations among people.
    pub(super) speaker: Option<&'a str>,
    /// The reading of the speaker's own clock.
    pub(super) now: Option<DateTime>,
}

/// A cue that matched a clause, with what it captured.
pub(super) struct Hit<'a> {
    pub(super) language: &'static Compiled,
    pub(super) act: Act,
    pub(super) confidence: f64,
    /// Whether the speaker asked to remember it.
    pub(super) asked: bool,
    pub(super) clause: &'a str,
    pub(super) found: Captures<'a>,
}

/// Returns what `sentence` states; most sentences state nothing that lasts.
pub(super) fn sentence(sentence: &str, voice: &Voice<'_>) -> Vec<Finding> {
    let folded = fold(sentence);
    let text = &folded;
    let Some(language) = language::of(text) else { return Vec::new() };
    if is_out_of_range(text) || language.forbids(text) {
        return Vec::new();
    }
    let dated = (language.language.dates)(text, voice.now);
    let told = own_name::named_again(&dated.text);
    let introduced = own_name::introduced(&told);
    let parts = introduced.iter().map(String::as_str).chain(clauses(language, &told));
    let mut findings: Vec<Finding> =
        parts.filter_map(|part| clause(language, &subject_of(&told, part), voice, false)).collect();
    // "If we move to AWS, we use Lambda" says only what would be; an instruction may have its condition.
    if language.conditions.is_match(&dated.text) {
        findings.retain(|finding| finding.claim.memory_type == MemoryType::Procedural);
    }
    for finding in &mut findings {
        finding.since = dated.first;
    }
    findings
}

/// Returns `part` with the subject that Chinese leaves out after the first clause of `whole`.
fn subject_of<'a>(whole: &str, part: &'a str) -> Cow<'a, str> {
    const VERBS: &[&str] = &[
        "负责",
        "主要负责",
        "目前负责",
        "现在负责",
        "在",
        "有",
        "住在",
        "方向",
        "研究方向",
        "今年",
        "去年",
        "最近",
        "开始",
        "20",
    ];
    let later = !whole.starts_with(part) && whole.starts_with('我') && !whole.starts_with("我们");
    if later && VERBS.iter().any(|verb| part.starts_with(verb)) { format!("我{part}").into() } else { part.into() }
}

fn is_out_of_range(text: &str) -> bool {
    let chars = text.chars().count();
    let han = count_han(text);
    let words = text.split(' ').count();
    chars > MAX_SENTENCE_CHARS || (words + han / 2 < 3)
}

fn clauses<'a>(language: &Compiled, text: &'a str) -> Vec<&'a str> {
    let mut parts = Vec::new();
    let mut start = 0;
    for found in language.clause_break.captures_iter(text) {
        let next = found.name("next").or_else(|| found.name("then"));
        let (Some(whole), Some(next)) = (found.get(0), next) else { continue };
        // "Commit messages: I prefer …" needs its topic.
        if whole.as_str().starts_with(':') && text[start..whole.start()].split(' ').count() <= 3 {
            continue;
        }
        parts.push(&text[start..whole.start()]);
        start = next.start();
    }
    parts.push(&text[start..]);
    parts
}

fn clause(language: &'static Compiled, text: &str, voice: &Voice<'_>, asked: bool) -> Option<Finding> {
    let lead = language.lead_in.find(text).map_or(0, |found| found.end());
    [&text[lead..], text].into_iter().take(if lead == 0 { 1 } else { 2 }).find_map(|start| {
        // "Before you merge, please rebase" needs its second half.
        let asks = !is_setting(start);
        let asides = [" - ", " – ", " — ", ", so ", " btw", ", please ", ", don't "];
        let known = if asks { &asides[..] } else { &asides[..5] };
        let aside = known.iter().filter_map(|dash| start.find(dash)).min().unwrap_or(start.len());
        let text = start[..aside].trim().trim_end_matches(['.', '!', '。', '！', ' ', '~', '…']);
        let text = text.strip_suffix(" here").unwrap_or(text);
        if breaks_off(text) {
            return None;
        }
        let mut matches = language.cues.iter().filter_map(|(pattern, cue)| Some((*cue, pattern.captures(text)?)));
        matches.find_map(|(cue, found)| recognised(language, cue, text, found, voice, asked))
    })
}

/// Whether `text` begins with the case in which something is to be done.
fn is_setting(text: &str) -> bool {
    let first = text.split(' ').next().unwrap_or("").to_lowercase();
    [
        "before", "after", "when", "whenever", "once", "every", "each", "any", "anytime", "from", "in", "if", "going",
        "by",
    ]
    .contains(&first.as_str())
}

/// Whether `text` ends in the middle, as half of a wrapped line does.
pub(super) fn breaks_off(text: &str) -> bool {
    let last = text.rsplit(' ').next().unwrap_or("");
    let waits = text.ends_with([':', '{', '(', ',', '：', '，']);
    waits
        || [
            "the", "a", "an", "of", "and", "or", "by", "with", "if", "when", "that", "is", "are", "as", "unless",
            "your", "its",
        ]
        .contains(&last)
}

fn recognised<'a>(
    language: &'static Compiled,
    cue: &Cue,
    text: &'a str,
    found: Captures<'a>,
    voice: &Voice<'_>,
    asked: bool,
) -> Option<Finding> {
    match cue.act {
        Act::Remember | Act::Mention => {
            let rest = found.name("rest")?.as_str();
            let inner = clause(language, rest, voice, true);
            inner.or_else(|| {
                if cue.act == Act::Remember { note::note(language, rest, voice, cue.confidence) } else { None }
            })
        }
        Act::Preference
        | Act::Dislike
        | Act::Wish
        | Act::Habit
        | Act::Decision
        | Act::NamedDecision
        | Act::Switch
        | Act::ProjectFact
        | Act::Declared
        | Act::SelfFact(_)
        | Act::Event
        | Act::Standing => {
            let hit = Hit { language, act: cue.act, confidence: cue.confidence, asked, clause: text, found };
            build::finding(&hit, voice)
        }
    }
}
