//! The outcome of a task, determined from the proofs in its log. The functions perform no I/O.
//!
//! A closing report proves nothing by itself. The proofs are the last tests or checks, a commit, a failed command that
//! later succeeded, the user's last words, an interruption, and an error of the program. The last proof counts, unless
//! it is followed by an edit.

use std::sync::LazyLock;

use regex::Regex;

use super::clipped;
use crate::memory::{TaskOutcome, TaskRecord};
use crate::text::pattern_set::pattern;

/// Maximum length of the quoted part of a proof, in characters.
const MAX_QUOTED: usize = 160;
/// Maximum number of words in a message that is searched for a verdict.
const MAX_VERDICT_WORDS: usize = 60;
/// Maximum number of words in a message that accepts the result and requests nothing else.
const MAX_THANKS_WORDS: usize = 8;

/// Maximum length, in bytes, of a program's notice that it could not continue.
const MAX_NOTICE: usize = 200;

/// A proof of the state of a task.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Proof {
    /// A file that tests or checks would cover was changed.
    Edited,
    /// Only documents were changed.
    Documented,
    /// The changes were committed.
    Committed(String),
    /// Tests passed or failed.
    Tested(bool, String),
    /// A build, a linter or a script passed or failed.
    Checked(bool, String),
    /// A command that is neither a test nor a check succeeded.
    Ran(String),
    /// A command that is neither a test nor a check failed.
    Failed(String),
    /// The user accepted or rejected the result.
    Verdict(bool, String),
}

/// The reason why the work in a log stopped.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum StopReason {
    /// The user interrupted the agent.
    Interrupted,
    /// The program reported an error instead of an answer.
    Error(String),
}

impl Proof {
    /// Returns the proof that is decisive if `next` comes after `last`.
    #[expect(clippy::match_same_arms, reason = "each arm has its own reason")]
    pub(super) fn then(last: Option<Self>, next: Self) -> Self {
        match (last, next) {
            // Cleaning up or writing a document after a commit or a check does not change the outcome.
            (
                Some(last @ (Self::Committed(_) | Self::Tested(..) | Self::Checked(..) | Self::Verdict(true, _))),
                Self::Ran(_) | Self::Failed(_) | Self::Documented,
            ) => last,
            // A linter that passes does not outweigh failing tests, and a commit is a stronger proof.
            (Some(last @ (Self::Tested(..) | Self::Committed(_))), Self::Checked(true, _)) => last,
            // A command that checks nothing proves nothing about an edit.
            (Some(last @ (Self::Edited | Self::Documented)), Self::Ran(_) | Self::Failed(_)) => last,
            (Some(last @ Self::Edited), Self::Documented) => last,
            (_, next) => next,
        }
    }
}

/// Returns the outcome of a task and the evidence for it.
pub(super) fn outcome(record: &TaskRecord, last: Option<&Proof>, stop: Option<&StopReason>) -> (TaskOutcome, String) {
    let quoted = |text: &str| clipped(text, MAX_QUOTED);
    // "Now I run the tests:" announces more work, so nothing was reported.
    let is_closing = |text: &&str| !text.trim_end().ends_with([':', '：']);
    let report = record.report.as_ref().map(|report| report.text.as_str()).filter(is_closing);
    match (last, stop, report) {
        (_, Some(StopReason::Interrupted), _) => (TaskOutcome::Abandoned, "the user interrupted the task".to_owned()),
        (_, Some(StopReason::Error(error)), _) => {
            (TaskOutcome::Abandoned, format!("the program stopped with an error: {}", quoted(error)))
        }
        (Some(Proof::Verdict(true, words)), ..) => {
            (TaskOutcome::Done, format!("the user accepted the result: “{}”", quoted(words)))
        }
        (Some(Proof::Verdict(false, words)), ..) => {
            (TaskOutcome::Failed, format!("the user said that it does not work: “{}”", quoted(words)))
        }
        (Some(Proof::Committed(commit)), ..) => (TaskOutcome::Done, format!("the changes were committed: {commit}")),
        (Some(Proof::Tested(true, line)), ..) => (TaskOutcome::Done, format!("the last tests passed: {line}")),
        (Some(Proof::Tested(false, line)), ..) => (TaskOutcome::Failed, format!("the last tests failed: {line}")),
        (Some(Proof::Checked(true, line)), ..) => (TaskOutcome::Done, format!("the last check passed: {line}")),
        (Some(Proof::Checked(false, line)), ..) => (TaskOutcome::Failed, format!("the last check failed: {line}")),
        (Some(Proof::Failed(command)), _, None) => {
            (TaskOutcome::Failed, format!("the log ends after a command that failed: {}", quoted(command)))
        }
        (Some(Proof::Failed(command)), _, Some(_)) => (
            TaskOutcome::Unknown,
            format!("the last command failed, and the log contains no other proof: {}", quoted(command)),
        ),
        (_, _, None) => (TaskOutcome::Abandoned, "the log ends in the middle of the task".to_owned()),
        (Some(Proof::Edited), _, Some(_)) => (
            TaskOutcome::Unknown,
            "files were changed, and the log does not show whether the result is right".to_owned(),
        ),
        (Some(Proof::Ran(_)), _, Some(_)) if is_question(&record.goal) => {
            (TaskOutcome::Done, "the assistant answered after running commands".to_owned())
        }
        (Some(Proof::Documented), _, Some(_)) => {
            (TaskOutcome::Done, "documents were written, and the assistant reported the result".to_owned())
        }
        (_, _, Some(report)) if asks_back(report) && !is_question(&record.goal) => {
            (TaskOutcome::Unknown, "the assistant asked a question, and nothing was done after it".to_owned())
        }
        (Some(Proof::Ran(command)), _, Some(_)) => {
            (TaskOutcome::Done, format!("the last command succeeded: {}", quoted(command)))
        }
        (None, _, Some(_)) if asks_for_change(&record.goal) => {
            (TaskOutcome::Unknown, "the log shows no change".to_owned())
        }
        (None, _, Some(_)) => (TaskOutcome::Done, "the assistant answered after reading".to_owned()),
    }
}

static ACCEPTS: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?xi)^[^\p{L}]*(?:(?:ok|okay|yes|yep|yeah|ah|oh|and|wow),?\s+)?(?:
            thank(?:s|\ you) | perfect | awesome | excellent | great | nice | amazing | wonderful | brilliant | lgtm | well\ done
            | good\ job | looks\ (?:good|great) | (?:(?:it|that|this|all|everything)(?:'s|\ is)?\ )?(?:now\ )?work(?:s|ed|ing)\b
            | (?:it|that)(?:'s|\ is)\ (?:fixed|perfect|great|it)
            | danke | super | perfekt | funktioniert | klappt | merci | parfait | gracias | perfecto | funciona
            | 谢谢 | 完美 | 很好 | 不错 | 可以了 | 好了 | 成功了
        )(?:\b|$|[\p{P}\p{Han}])",
    )
});
static REJECTS: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?xi)\b(?:does|do|did|is|are)(?:\ not|n['’]?t)\ (?:\w+\ ){0,2}(?:work|working|fix|fixed|help|change\ anything)\b
          | \b(?:same|that)\ (?:error|problem|issue|failure)\ (?:again|still|persists|remains)?\b | \bfail(?:s|ed)\ again\b
          | \bnot\ (?:working|fixed)\b | \b(?:you|that|this|it)\ (?:just\ )?broke\b
          | \bgeht\ (?:immer\ noch\ )?nicht\b | \bfunktioniert\ (?:immer\ noch\ )?nicht\b | \bne\ marche\ (?:toujours\ )?pas\b | \bno\ funciona\b
          | 不行 | 没有?用 | 不工作 | 没有?解决",
    )
});
static STILL: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?xi)\bstill\ (?:(?:is|are|it|the|just|getting)\ )?(?:fail\w*|broken|not\b|doesn\S*|don['’]t|can\S*t\b|gets?\b|getting|see\b|seeing|happen\w*|wrong|hang\w*|crash\w*|stuck|an?\ error|the\ same)
          | ^(?:\W*\w+\W+){0,4}same\ (?:error|problem|issue|failure)\b | \bfail(?:s|ed)\ again\b
          | \bimmer\ noch\ (?:nicht|ein\ fehler|der) | \btoujours\ pas\b | \bsigue\ (?:sin|fall) | 还是(?:没|不|报错|有) | 仍然 | 又(?:出现|报错|失败|不行)",
    )
});
static BUT: LazyLock<Regex> = LazyLock::new(|| pattern(r"(?i)\b(?:but|except|however|although|aber|mais|pero)\b|但"));

/// Returns a verdict if the user's message accepts (`true`) or rejects the result so far, with the user's words.
///
/// If `is_new` is set, the message requests other work. In this case, "does not work" is about the new work, and only
/// "still" indicates that the message is about the result.
pub(super) fn verdict(message: &str, is_new: bool) -> Option<Proof> {
    let line = message.lines().find(|line| !line.trim().is_empty())?.trim();
    // A pasted log or a long description is not a verdict.
    if message.split_whitespace().count() > MAX_VERDICT_WORDS && is_new {
        return None;
    }
    let end = line.find(['.', '!', '?', '。', '！', '？']).unwrap_or(line.len());
    let first = &line[..end];
    if STILL.is_match(line) || !is_new && REJECTS.is_match(line) {
        return Some(Proof::Verdict(false, line.to_owned()));
    }
    // Thanks at the start of the next request refer to the previous result. In the middle of a task, a long message
    // with thanks requests more work.
    let is_brief = is_new || message.split_whitespace().count() <= MAX_THANKS_WORDS;
    let accepts = is_brief && ACCEPTS.is_match(first) && !BUT.is_match(line) && !line[end..].starts_with('?');
    accepts.then(|| Proof::Verdict(true, line.to_owned()))
}

static QUESTION: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?i)^\W*(?:(?:and|so|ok|okay|hmm|now|please|q)\W+)*(?:what|why|how|where|when|which|who|is|are|was|were|does|do|did|has|have|should|would|explain|tel{2}|show|describe|summari[sz]e|review|list|compare|find|look|read|analy[sz]e|investigate|explore|check|search)\b",
    )
});
static CHANGE: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?i)^\W*(?:(?:and|so|ok|okay|now|please|can|could|would|will|you|let'?s|we|i|want|need|to|then|also|just|go|ahead)\W+)*(?:fix|add|implement|create|write|update|change|remove|delete|rename|refactor|make|build|move|replace|convert|migrate|install|deploy|commit|push|merge|upgrade|improve|support|apply|resolve|solve|complete|continue|set up)\b",
    )
});

/// Returns whether a request asks for a change.
fn asks_for_change(goal: &str) -> bool {
    CHANGE.is_match(goal)
}

/// Returns whether a request is a question, which an answer completes.
fn is_question(goal: &str) -> bool {
    !asks_for_change(goal)
        && (QUESTION.is_match(goal) || goal.lines().next().is_some_and(|line| line.contains(['?', '？'])))
}

/// Returns whether the report ends with a question.
fn asks_back(report: &str) -> bool {
    report
        .trim_end_matches(|end: char| end.is_whitespace() || matches!(end, '*' | '_' | '`' | ')' | '"'))
        .ends_with(['?', '？'])
}

/// Returns whether the program reports, on behalf of the model, that it could not continue.
pub(super) fn stops_with_error(text: &str) -> bool {
    let text = text.trim_start();
    let starts = ["API Error", "Prompt is too long", "Credit balance", "Invalid API key"];
    // Agents report their limits with varying wording, but always on one short line.
    let is_limit = text.len() < MAX_NOTICE && [" limit", "usage"].iter().any(|word| text.contains(word));
    starts.iter().any(|start| text.starts_with(start)) || is_limit
}

/// Returns whether the text is the placeholder that an agent writes when no answer was requested.
pub(super) fn is_no_answer(text: &str) -> bool {
    text.trim() == "No response requested."
}

/// Returns whether a file is written for people, so that tests and checks do not cover it.
pub(super) fn is_document(path: &str) -> bool {
    let name = path.rsplit(['/', '\\']).next().unwrap_or(path);
    let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
    matches!(
        ending.to_ascii_lowercase().as_str(),
        "md" | "mdx" | "txt" | "rst" | "adoc" | "org" | "pdf" | "docx" | "log"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_users_words_say_whether_it_works() {
        let table = [
            ("Thanks, that works", Some(true)),
            ("Nice! Looks good so far.", Some(true)),
            ("Thanks. Let's go through the questions one at a time now", None),
            ("I still feel that the name is odd", None),
            ("perfect, commit it", Some(true)),
            ("It works now", Some(true)),
            ("谢谢，可以了", Some(true)),
            ("works, but the list is empty", None),
            ("it still fails with the same error", Some(false)),
            ("Still getting a 404", Some(false)),
            ("doesn't work", Some(false)),
            ("geht immer noch nicht", Some(false)),
            ("又出现了这个问题", Some(false)),
            ("now add a button", None),
            ("what does this do?", None),
        ];
        for (message, expected) in table {
            let found = match verdict(message, false) {
                Some(Proof::Verdict(accepts, _)) => Some(accepts),
                _ => None,
            };
            assert_eq!(found, expected, "{message}");
        }
        assert_eq!(verdict("The login does not work in Safari", true), None);
    }

    #[test]
    fn later_proof_counts_and_an_edit_makes_it_void() {
        let passed = Proof::Tested(true, "3 passed".into());
        let failed = Proof::Failed("git push".into());
        assert_eq!(Proof::then(Some(passed.clone()), failed.clone()), passed);
        assert_eq!(Proof::then(Some(passed.clone()), Proof::Edited), Proof::Edited);
        assert_eq!(Proof::then(Some(passed.clone()), Proof::Documented), passed);
        assert_eq!(Proof::then(Some(Proof::Edited), failed.clone()), Proof::Edited);
        assert_eq!(Proof::then(Some(Proof::Ran("make".into())), failed.clone()), failed);
        let checked = Proof::Checked(true, "tsc".into());
        let broken = Proof::Tested(false, "1 failed".into());
        assert_eq!(Proof::then(Some(broken.clone()), checked.clone()), broken);
        assert_eq!(Proof::then(Some(Proof::Edited), checked.clone()), checked);
    }

    #[test]
    fn requests_and_reports_are_told_apart() {
        assert!(asks_for_change("can you fix the loader?") && !asks_for_change("how do I fix the loader?"));
        assert!(is_question("why is it slow") && !is_question("please add a test, ok?"));
        assert!(asks_back("Which one do you want?**") && !asks_back("Done."));
        assert!(
            stops_with_error("API Error: 529 overloaded") && stops_with_error("You're out of extra usage · resets 9pm")
        );
        assert!(is_document("docs/a.MD") && !is_document("a.rs") && !is_document("Makefile"));
    }
}
