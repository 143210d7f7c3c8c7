//! How a solved problem is told: one sentence in the past tense where that is safe, with errors as they stood.

use std::sync::LazyLock;

use regex::Regex;

use super::language::Compiled;
use super::sentence::{self, fold};
use super::words::{capitalised, fill, finished};

/// What a problem was solved by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Fix {
    /// A sentence of the person who had the problem: "the cause was a stale cookie".
    Told(String),
    /// A sentence about what the assistant did: "the assistant added a flag".
    Done(String),
    /// The assistant's words, which are no sentence about what was done.
    Advised(String),
}

impl Fix {
    /// Returns the words of the fix, as a sentence of its own.
    pub(super) fn action(&self) -> String {
        match self {
            Self::Told(text) | Self::Done(text) | Self::Advised(text) => capitalised(text),
        }
    }
}

/// Returns the sentence that tells `problem`, a person's own words, and its `fix`.
pub(super) fn told(language: &Compiled, problem: &str, fix: &Fix, speaker: Option<&str>) -> String {
    let phrases = &language.language.phrases;
    let problem = stated(language, problem, speaker);
    let (frame, words) = match fix {
        Fix::Told(text) => (phrases.solved, text),
        Fix::Done(text) => (phrases.solved_by, text),
        Fix::Advised(text) => (phrases.solved_with, text),
    };
    let words = words.trim_end_matches(['.', '!', '。', '！']).replace('"', "'");
    finished(&fill(frame, &[("{problem}", &problem), ("{x}", &words)]), language)
}

/// Returns `problem` in the past tense, or as a quotation where that is not safe.
fn stated(language: &Compiled, problem: &str, speaker: Option<&str>) -> String {
    let phrases = &language.language.phrases;
    let quoted = problem.replace('"', "'");
    if sentence::error_line(problem).is_some() {
        return fill(phrases.error, &[("{x}", &quoted)]);
    }
    let text = fold(problem);
    let text = &text[language.lead_in.find(&text).map_or(0, |found| found.end())..];
    let text = text.trim_end_matches(['.', '!', '。', '！', ' ']);
    let turned = (!language.points(text)).then(|| (language.language.third_person)(text, speaker)).flatten();
    let past = turned.and_then(|turned| (language.language.past)(&turned));
    past.map_or_else(|| fill(phrases.problem, &[("{x}", &quoted)]), |past| capitalised(&past))
}

/// Returns an English sentence about a failure in the past tense, or none where its verb is not one of those known.
pub(super) fn english_past(text: &str) -> Option<String> {
    static VERB: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(concat!(
            r"`[^`]*`|\b(?:still |always |sometimes |now )?(?P<verb>fails|fail|crashes|crash|breaks|hangs|times out|returns|throws|panics|segfaults|",
            r"keeps|gets|stops|is not|isn't|doesn't|does not|can't|cannot|won't|is|are|failed|crashed|broke|hung|timed out|returned|threw|took)\b",
        ))
        .expect("the pattern is a constant")
    });
    let verb = VERB.captures_iter(text).find_map(|found| found.name("verb"))?;
    let past = match verb.as_str() {
        "fails" | "fail" => "failed",
        "crashes" | "crash" => "crashed",
        "breaks" => "broke",
        "hangs" => "hung",
        "times out" => "timed out",
        "returns" => "returned",
        "throws" => "threw",
        "panics" => "panicked",
        "segfaults" => "segfaulted",
        "keeps" => "kept",
        "gets" => "got",
        "stops" => "stopped",
        "is not" | "isn't" => "was not",
        "doesn't" | "does not" => "did not",
        "can't" | "cannot" => "could not",
        "won't" => "would not",
        "is" => "was",
        "are" => "were",
        past => past,
    };
    Some(format!("{}{past}{}", &text[..verb.start()], &text[verb.end()..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_are_told_in_the_past_tense_and_code_stays_as_it_is() {
        for (text, past) in [
            ("the build fails with a linker error", Some("the build failed with a linker error")),
            ("`npm is` hangs when `x` fails", Some("`npm is` hung when `x` fails")),
            ("the client can't connect", Some("the client could not connect")),
            ("the upload failed twice", Some("the upload failed twice")),
            ("an error on every start", None),
        ] {
            assert_eq!(english_past(text).as_deref(), past);
        }
    }
}
