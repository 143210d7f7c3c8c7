//! Commands as they are stored, and the line of a command's output that explains its failure. The functions perform no
//! I/O.

use std::sync::LazyLock;

use regex::Regex;

/// Maximum length of a command that is stored, in bytes; longer commands are scripts.
const MAX_BYTES: usize = 300;

/// Returns the command on one line, or `None` if it is too long to be displayed or contains a here-document.
pub(crate) fn tidied(command: &str) -> Option<String> {
    let text = command.split_whitespace().collect::<Vec<_>>().join(" ");
    // A here-document is a script, which does not fit on one line.
    (!text.is_empty() && text.len() <= MAX_BYTES && !command.contains("<<")).then_some(text)
}

/// Maximum length of a line that is stored, in characters.
const MAX_CHARACTERS: usize = 200;

static TELLING: LazyLock<Regex> = LazyLock::new(|| {
    let words = r"(?i)\b(error|err!|exception|fatal|panicked|failed|failure|not found|cannot|can't|could not|couldn't|denied|undefined|unresolved|unknown|unrecognized|unexpected|invalid|missing|no such|refused|timed out|unable|required|conflict)\b";
    Regex::new(words).expect("the tests compile it")
});

/// Error messages about incorrect usage of a program, in lower case; the remedy is a different call.
const MISUSE: &str = "\
    command not found|not recognized|unrecognized|unknown option|unknown argument|unknown command|unknown flag|\
    unknown subcommand|unknown script|unexpected argument|invalid option|invalid argument|invalid flag|\
    invalid subcommand|invalid choice|no such option|no such command|no such subcommand|no such file|is required|\
    required argument|missing script|missing argument|missing operand|missing required|did you mean|usage:|\
    no module named|permission denied|not a git repository";

/// Errors that may pass by themselves, so that a repetition is a remedy.
static TRANSIENT: LazyLock<Regex> = LazyLock::new(|| {
    let words = r"(?i)(timed? ?out|locked|\block\b|busy|in use|refused|reset|network|connection|unreachable|temporar|unavailable|rate limit|too many requests|\b50[234]\b|try again|EAGAIN|hung up|could not resolve)";
    Regex::new(words).expect("the tests compile it")
});

/// Words that are common in the output of any failure.
const GENERAL: &str = "\
    a an and are build check code command commands could error errors err exit exited exception fail failed failing fails \
    failure failures fatal found from has have job lint make not npm occurred panicked path process recipe run runs \
    status step suite target task test tests the this thread was with yarn";

/// Minimum number of words that distinguish an error from any other failure.
const MIN_WORDS: usize = 2;

static COLOUR: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"\x1b\[[0-9;?]*[A-Za-z]").expect("the tests compile it"));

/// Returns the line that states the reason: the first line that looks like an error, preferably one that not every failure
/// prints, or otherwise the last line; `None` if there is no output.
pub(crate) fn error_line(printed: &str) -> Option<String> {
    // Colour codes inside a line would prevent the patterns from matching.
    let plain = COLOUR.replace_all(printed, "");
    let lines = || {
        plain
            .lines()
            .map(str::trim)
            .filter(|line| line.chars().any(char::is_alphanumeric) && !is_frame(line) && !is_heading(line))
    };
    let reasons = || lines().filter(|line| TELLING.is_match(line));
    let is_warning = |line: &str| line.to_lowercase().contains("warn");
    let line = reasons()
        .find(|line| !is_warning(line) && is_specific_line(line))
        .or_else(|| reasons().find(|line| !is_warning(line)))
        .or_else(|| reasons().next())
        .or_else(|| lines().next_back())?;
    let line = line.split_whitespace().collect::<Vec<_>>().join(" ");
    Some(line.chars().take(MAX_CHARACTERS).collect())
}

/// Returns whether an agent or a runner of scripts added the line to the tool's output.
fn is_frame(line: &str) -> bool {
    let frames =
        ["Exit code", "Process exited with", "Chunk ID", "Wall time", "Final output", "Output:", "Error: Exit code"];
    // Runners of scripts print the command before its output.
    line.starts_with("$ ") || line.starts_with("> ") || frames.iter().any(|frame| line.starts_with(frame))
}

/// Returns whether a script printed the line as a heading, such as `=== Services ===`.
fn is_heading(line: &str) -> bool {
    ["===", "---", "***"].iter().any(|rule| line.starts_with(rule) && line.ends_with(rule))
}

/// Returns whether the error is about incorrect usage, so that the remedy is a different call.
pub(crate) fn is_misuse(error: &str) -> bool {
    let error = error.to_lowercase();
    MISUSE.split('|').any(|message| error.contains(message))
}

/// Returns whether the error may pass by itself.
pub(super) fn is_transient(error: &str) -> bool {
    TRANSIENT.is_match(error)
}

/// Returns whether an error says more than "something failed".
pub(super) fn is_specific_line(error: &str) -> bool {
    long_words(error).filter(|word| !is_general(word)).count() >= MIN_WORDS
}

/// Returns the words of an error that are long enough to distinguish it from others.
fn long_words(error: &str) -> impl Iterator<Item = &str> {
    // Words of two letters occur in most errors, but the name of a missing program may be as short.
    let shortest = if error.ends_with("not found") { 2 } else { 3 };
    said_words(error).filter(move |word| word.len() >= shortest)
}

/// Returns the words of `text`.
pub(super) fn said_words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|character: char| !character.is_alphanumeric() && character != '_').filter(|word| !word.is_empty())
}

/// Returns whether this word is common in the output of any failure.
pub(super) fn is_general(word: &str) -> bool {
    GENERAL.split_whitespace().any(|one| word.eq_ignore_ascii_case(one))
}

/// Returns the share of words that occur in both errors, from 0 to 1.
pub(crate) fn likeness(a: &str, b: &str) -> f64 {
    let words = |text| long_words(text).map(str::to_lowercase).collect::<std::collections::BTreeSet<String>>();
    let (a, b) = (words(a), words(b));
    let (shared, all) = (a.intersection(&b).count(), a.union(&b).count());
    #[expect(clippy::cast_precision_loss, reason = "a line has few words")]
    let part = shared as f64 / all.max(1) as f64;
    part
}

#[cfg(test)]
mod tests {

    use super::*;

    #[test]
    fn what_is_too_long_to_be_told_is_not_kept() {
        assert_eq!(tidied(" npm \\\n test ").as_deref(), Some("npm \\ test"));
        assert_eq!(tidied(&"x".repeat(400)), None);
        assert_eq!(tidied("cat <<EOF\na\nEOF"), None);
        assert_eq!(tidied(" "), None);
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
            ("$ biome check --error-on-warnings\na.ts: unexpected token\n", "a.ts: unexpected token"),
            ("[lint] ERROR task failed\nshop/load.go:7: undefined: rows\n", "shop/load.go:7: undefined: rows"),
            (
                "warning: missing colour of the theme\nFound 3 errors.\n[test] ERROR task failed",
                "[test] ERROR task failed",
            ),
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

    #[test]
    fn a_missing_program_may_have_two_letters() {
        assert!(is_specific_line("bash: go: command not found") && !is_specific_line("bash: command not found"));
        assert!(likeness("bash: go: command not found", "bash: gh: command not found") < 0.8);
        assert!(likeness("it is in no file", "go to no file") > 0.99, "elsewhere short words are not compared");
    }
}
