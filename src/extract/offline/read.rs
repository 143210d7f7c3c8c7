//! The clauses of a sentence, and the cues that recognise them.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::{Captures, Regex};

use super::claims;
use super::clause::{Finding, Hit, Voice, breaks_off};
use super::language::{self, Act, Cue, LanguageRules};
use super::product;
use super::sentence::{MAX_SENTENCE_CHARS, fold};
use crate::memory::MemoryType;
use crate::text::pattern_set::pattern;
use crate::text::script::count_han;

/// Returns the claims in `sentence`. Most sentences contain none.
pub(super) fn sentence(sentence: &str, voice: &Voice<'_>) -> Vec<Finding> {
    let folded = fold(sentence);
    let text = &folded;
    let Some(language) = language::of(text) else { return Vec::new() };
    if is_out_of_range(text) {
        return Vec::new();
    }
    // "Can you add to CLAUDE.md that …" is a question only in its form.
    if let Some(rest) = language.recorded(text).filter(|_| voice.speaker.is_none()) {
        return if language.forbids(rest) {
            Vec::new()
        } else {
            remembered(language, rest, voice, RECORDED).into_iter().collect()
        };
    }
    if language.forbids(text) {
        return Vec::new();
    }
    let dated = language.dated(text, voice.now);
    let expanded = named_again(&dated.text);
    let mut findings: Vec<Finding> = clauses(language, &expanded)
        .into_iter()
        .filter_map(|part| clause(language, &subject_of(&expanded, part), voice, false))
        .collect();
    // "If we move to AWS, we use Lambda" is only hypothetical, but an instruction may have a condition.
    if language.is_conditional(&dated.text) {
        findings.retain(|finding| finding.claim.memory_type == MemoryType::Procedural);
    }
    for finding in &mut findings {
        finding.since = dated.first;
    }
    findings
}

/// Whether `sentence` says that it applies from now on.
pub(super) fn is_abiding(sentence: &str) -> bool {
    let folded = fold(sentence);
    language::of(&folded).is_some_and(|language| language.is_abiding(&folded) || language.recorded(&folded).is_some())
}

/// Returns `part` with the subject that Chinese leaves out after the first clause of `whole`.
fn subject_of<'a>(whole: &str, part: &'a str) -> Cow<'a, str> {
    const VERBS: &str = "负责 主要负责 目前负责 现在负责 在 有 住在 方向 研究方向 今年 去年 最近 开始 20";
    let later = !whole.starts_with(part) && whole.starts_with('我') && !whole.starts_with("我们");
    if later && VERBS.split(' ').any(|verb| part.starts_with(verb)) { format!("我{part}").into() } else { part.into() }
}

fn is_out_of_range(text: &str) -> bool {
    let chars = text.chars().count();
    let han = count_han(text);
    let words = text.split(' ').count();
    chars > MAX_SENTENCE_CHARS || (words + han / 2 < 3)
}

fn clauses<'a>(language: &LanguageRules, text: &'a str) -> Vec<&'a str> {
    let mut parts = Vec::new();
    let mut start = 0;
    for found in language.clause_break.captures_iter(text) {
        let next = found.name("next").or_else(|| found.name("then"));
        let (Some(whole), Some(next)) = (found.get(0), next) else { continue };
        // "Commit messages: I prefer …" is incomplete without its topic.
        if whole.as_str().starts_with(':') && text[start..whole.start()].split(' ').count() <= 3 {
            continue;
        }
        parts.push(&text[start..whole.start()]);
        start = next.start();
    }
    parts.push(&text[start..]);
    parts
}

fn clause(language: &'static LanguageRules, text: &str, voice: &Voice<'_>, asked: bool) -> Option<Finding> {
    let lead = language.lead_in.find(text).map_or(0, |found| found.end());
    [&text[lead..], text].into_iter().take(if lead == 0 { 1 } else { 2 }).find_map(|start| {
        // "Before you merge, please rebase" is incomplete without its second half.
        let asks = !is_setting(start);
        let asides = [" - ", " – ", " — ", ", so ", " btw", ", please ", ", don't "];
        let known = if asks { &asides[..] } else { &asides[..5] };
        let aside = known.iter().filter_map(|dash| start.find(dash)).min().unwrap_or(start.len());
        let text = start[..aside].trim().trim_end_matches(['.', '!', '。', '！', ' ', '~', '…']);
        let text = text.strip_suffix(" here").unwrap_or(text);
        if breaks_off(text) {
            return None;
        }
        language.cues(text).find_map(|(cue, found)| recognised(language, cue, text, found, voice, asked))
    })
}

/// Whether `text` begins with the situation in which something is to be done.
fn is_setting(text: &str) -> bool {
    let first = text.split(' ').next().unwrap_or("").to_lowercase();
    [
        "before", "after", "when", "whenever", "once", "every", "each", "any", "anytime", "from", "in", "if", "going",
        "by",
    ]
    .contains(&first.as_str())
}

fn recognised<'a>(
    language: &'static LanguageRules,
    cue: &'a Cue,
    text: &'a str,
    found: Captures<'a>,
    voice: &Voice<'_>,
    asked: bool,
) -> Option<Finding> {
    match &cue.0 {
        Act::Remember => remembered(language, found.name("rest")?.as_str(), voice, cue.confidence()),
        Act::Mention => clause(language, found.name("rest")?.as_str(), voice, true),
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
        | Act::Standing => {
            let hit = Hit { language, act: &cue.0, confidence: cue.confidence(), asked, clause: text, found };
            claims::finding(&hit, voice)
        }
    }
}

/// Confidence in a statement that a person puts into a file of instructions.
const RECORDED: f64 = 0.9;

/// Returns the claims in `rest` or, since somebody asked to remember it, a note of its words.
fn remembered(language: &'static LanguageRules, rest: &str, voice: &Voice<'_>, confidence: f64) -> Option<Finding> {
    clause(language, rest, voice, true).or_else(|| claims::note(language, rest, voice, confidence))
}

/// Returns `text` with "it" and "its" replaced by the name of the project that the same sentence mentions.
pub(super) fn named_again(text: &str) -> String {
    static ITS: LazyLock<Regex> = LazyLock::new(|| {
        pattern(r"^(?P<name>\p{Lu}[\w-]+) (?:is|runs|lives|deploys|uses) [^.!]*?(?P<its>,? and its) ")
    });
    static IT: LazyLock<Regex> = LazyLock::new(|| {
        pattern(
            r"\b(?:moved|migrated|switched|ported) (?P<name>\p{Lu}[\w-]+) (?:off|from|to|onto|out of) [^.!]*?(?:[:;]|,? and)(?: since [\w ,-]{3,20}?)? (?P<it>it) (?:is|runs) ",
        )
    });
    let named = |found: &regex::Captures<'_>| found.name("name").is_some_and(|name| product::is_project(name.as_str()));
    if let Some(found) = ITS.captures(text).filter(named) {
        let range = found.name("its").map_or(0..0, |its| its.range());
        return format!("{} and {}'s{}", &text[..range.start], &found["name"], &text[range.end..]);
    }
    if let Some(found) = IT.captures(text).filter(named) {
        let range = found.name("it").map_or(0..0, |it| it.range());
        return format!("{}{}{}", &text[..range.start], &found["name"], &text[range.end..]);
    }
    text.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_stands_for_the_project_just_named() {
        for (text, expected) in [
            (
                "Marlin runs on Hetzner and its database is MariaDB.",
                "Marlin runs on Hetzner and Marlin's database is MariaDB.",
            ),
            (
                "We moved Marlin off Heroku: since May it is deployed on Fly.io.",
                "We moved Marlin off Heroku: since May Marlin is deployed on Fly.io.",
            ),
            ("Docker is slow and its cache is Redis.", "Docker is slow and its cache is Redis."),
        ] {
            assert_eq!(named_again(text), expected);
        }
    }
}
