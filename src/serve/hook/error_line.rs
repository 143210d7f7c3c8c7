//! Whether a tool failed, and the one line of its output that says why.

use std::sync::LazyLock;

use regex::Regex;
use serde_json::Value;

use super::ToolCall;

/// Longest line that is kept, in characters.
const MAX_CHARACTERS: usize = 200;

static TELLING: LazyLock<Regex> = LazyLock::new(|| {
    let words = r"(?i)\b(error|err!|exception|fatal|panicked|failed|failure|not found|cannot|can't|could not|couldn't|denied|undefined|unresolved|unknown|unrecognized|unexpected|invalid|missing|no such|refused|timed out|unable|required|conflict)\b";
    Regex::new(words).expect("the tests compile it")
});

/// Words of errors that are about how a program was called, so that calling it otherwise is the remedy.
static MISUSE: LazyLock<Regex> = LazyLock::new(|| {
    let words = r"(?i)(command not found|not recognized|unrecognized|unknown (option|argument|command|flag|subcommand|script)|unexpected argument|invalid (option|argument|flag|subcommand|choice)|no such (option|command|subcommand|file)|is required|required argument|missing (script|argument|operand|required)|missing script|did you mean|usage:|no module named|permission denied|not a git repository)";
    Regex::new(words).expect("the tests compile it")
});

static COLOUR: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"\x1b\[[0-9;?]*[A-Za-z]").expect("the tests compile it"));

static EXIT: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)(?:exit(?:ed)?(?: with)?(?: code| status)?:?|exit code:?)\s+(-?\d+)")
        .expect("the tests compile it")
});

/// What became of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Outcome {
    /// It did what it should.
    Succeeded,
    /// It failed, with what it printed.
    Failed(String),
    /// The person stopped it, or nothing tells.
    Unclear,
}

/// Tells what became of a call from what the agent says and the tool answered.
pub(super) fn outcome(call: &ToolCall, is_failure_event: bool) -> Outcome {
    if call.is_interrupt || call.response["interrupted"].as_bool() == Some(true) {
        return Outcome::Unclear;
    }
    let printed = printed(&call.response);
    if is_failure_event || call.error.is_some() {
        return Outcome::Failed(call.error.clone().unwrap_or(printed));
    }
    let response = &call.response;
    let code = ["exit_code", "exitCode", "code"].iter().find_map(|field| response[*field].as_i64());
    let code = code.or_else(|| response["metadata"]["exit_code"].as_i64());
    // Codex answers with the text that the model sees, the head of which says how the process ended.
    let code = code.or_else(|| {
        let head = response.as_str()?.lines().take(6).collect::<Vec<_>>().join("\n");
        EXIT.captures(&head)?.get(1)?.as_str().parse().ok()
    });
    let says_error = ["is_error", "isError"].iter().any(|field| response[*field].as_bool() == Some(true));
    let says_failure = response["success"].as_bool() == Some(false);
    match code {
        Some(0) => Outcome::Succeeded,
        Some(_) => Outcome::Failed(printed),
        None if says_error || says_failure => Outcome::Failed(printed),
        None if response.is_null() => Outcome::Unclear,
        None => Outcome::Succeeded,
    }
}

fn printed(response: &Value) -> String {
    if let Some(text) = response.as_str() {
        return text.to_owned();
    }
    let fields = ["stderr", "error", "output", "stdout", "aggregated_output"];
    let texts = fields.iter().filter_map(|field| response[*field].as_str());
    texts.filter(|text| !text.trim().is_empty()).collect::<Vec<_>>().join("\n")
}

/// Returns the line that says why; the first that reads like an error, else the last. `None` where nothing was printed.
pub(super) fn error_line(printed: &str) -> Option<String> {
    let plain = COLOUR.replace_all(printed, "");
    let lines =
        || plain.lines().map(str::trim).filter(|line| line.chars().any(char::is_alphanumeric) && !is_frame(line));
    let line = lines().find(|line| TELLING.is_match(line)).or_else(|| lines().next_back())?;
    let line = line.split_whitespace().collect::<Vec<_>>().join(" ");
    Some(line.chars().take(MAX_CHARACTERS).collect())
}

/// Whether an agent wrote the line around what the tool printed.
fn is_frame(line: &str) -> bool {
    let frames =
        ["Exit code", "Process exited with", "Chunk ID", "Wall time", "Final output", "Output:", "Error: Exit code"];
    frames.iter().any(|frame| line.starts_with(frame))
}

/// Whether calling the program otherwise is the remedy.
pub(super) fn is_misuse(error: &str) -> bool {
    MISUSE.is_match(error)
}

/// Returns how much of the words of two errors is the same, 0–1.
pub(super) fn likeness(a: &str, b: &str) -> f64 {
    let words = |text: &str| -> std::collections::BTreeSet<String> {
        let cut = text.split(|letter: char| !letter.is_alphanumeric() && letter != '_');
        cut.filter(|word| word.len() > 2).map(str::to_lowercase).collect()
    };
    let (a, b) = (words(a), words(b));
    let (shared, all) = (a.intersection(&b).count(), a.union(&b).count());
    #[expect(clippy::cast_precision_loss, reason = "the words of a line are few")]
    let part = shared as f64 / all.max(1) as f64;
    part
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn call(response: Value) -> ToolCall {
        ToolCall { name: "Bash".into(), response, ..ToolCall::default() }
    }

    #[test]
    fn every_way_of_saying_so_is_understood() {
        let failed = |text: &str| Outcome::Failed(text.to_owned());
        let table = [
            (json!({"stdout": "ok", "stderr": "", "interrupted": false}), Outcome::Succeeded),
            (json!({"stdout": "", "stderr": "", "interrupted": true}), Outcome::Unclear),
            (json!({"exit_code": 0, "output": "error: none"}), Outcome::Succeeded),
            (json!({"exit_code": 2, "stderr": "error: a"}), failed("error: a")),
            (json!({"output": "no", "metadata": {"exit_code": 1}}), failed("no")),
            (json!({"is_error": true, "stderr": "x"}), failed("x")),
            (json!("Chunk ID: a\nProcess exited with code 0\nFinal output:\nok"), Outcome::Succeeded),
            (
                json!("Chunk ID: a\nProcess exited with code 7\nFinal output:\nno"),
                failed("Chunk ID: a\nProcess exited with code 7\nFinal output:\nno"),
            ),
            (json!("Exit code: 1\nOutput:\nno"), failed("Exit code: 1\nOutput:\nno")),
            (json!("the docs say: exits with status codes"), Outcome::Succeeded),
            (Value::Null, Outcome::Unclear),
        ];
        for (response, expected) in table {
            assert_eq!(outcome(&call(response.clone()), false), expected, "{response}");
        }
        let told = ToolCall { error: Some("Exit code 1\nno".into()), ..call(Value::Null) };
        assert_eq!(outcome(&told, true), failed("Exit code 1\nno"));
        assert_eq!(outcome(&ToolCall { is_interrupt: true, ..told }, true), Outcome::Unclear);
    }

    #[test]
    fn the_line_that_says_why_is_found() {
        let table = [
            (
                "Exit code 101\n   Compiling a\n\u{1b}[31merror[E0433]\u{1b}[0m: failed to resolve\n --> a.rs",
                "error[E0433]: failed to resolve",
            ),
            ("npm warn x\nnpm ERR! Missing script: \"tset\"\n", "npm ERR! Missing script: \"tset\""),
            ("Exit code 127\nbash: pyton: command not found", "bash: pyton: command not found"),
            ("one\ntwo\n---\n", "two"),
        ];
        for (printed, line) in table {
            assert_eq!(error_line(printed).as_deref(), Some(line));
        }
        assert_eq!(error_line("Exit code 1\n\n"), None);
        assert_eq!(error_line(&"é".repeat(900)).unwrap().chars().count(), MAX_CHARACTERS);
    }

    #[test]
    fn misuse_and_likeness_are_told() {
        assert!(is_misuse("error: unexpected argument '--foo' found") && is_misuse("bash: x: command not found"));
        assert!(!is_misuse("error[E0308]: mismatched types") && !is_misuse("assertion failed: a == b"));
        assert!(likeness("error: no such table users", "Error: no such table: users") > 0.99);
        assert!(likeness("error: no such table users", "connection refused") < 0.01);
    }
}
