//! The human-or-not test: what a text in the user's turn is.

use crate::injected::{between, is_only_injected, slash_command};
use crate::parts::call_on;
use crate::{Kind, Role};

/// How the program's own notes in the user's turn begin.
const NOTES: &[&str] =
    &["Caveat: The messages below", "[Request interrupted by user", "<local-command-", "<task-notification>"];
const CONTINUATION: &str = "This session is being continued from a previous conversation";
const REFUSAL: &str = "The user doesn't want to";
const REFUSAL_WORDS: &str = "the user said:";

/// Returns whose text it is, what it is, and the part of it that counts.
///
/// Of a slash command its arguments are the user's words; a command without any is no words at all.
pub(super) fn classify(text: &str) -> (Role, Kind, String) {
    let trimmed = text.trim();
    let whole = || trimmed.to_owned();
    if is_command(trimmed) {
        match between(trimmed, "command-args").filter(|arguments| !arguments.is_empty()) {
            Some(arguments) => (Role::User, Kind::Prose, arguments.to_owned()),
            None => (Role::System, Kind::Context, whole()),
        }
    } else if let Some(command) = between(trimmed, "bash-input").filter(|_| trimmed.starts_with("<bash-input>")) {
        (Role::User, Kind::ToolCall, call_on("Bash", command))
    } else if trimmed.starts_with("<bash-stdout>") || trimmed.starts_with("<bash-stderr>") {
        (Role::Tool, Kind::ToolResult, whole())
    } else if trimmed.starts_with("<teammate-message") {
        (Role::Other, Kind::Prose, whole())
    } else if trimmed.starts_with(CONTINUATION) {
        (Role::System, Kind::Summary, whole())
    } else if is_typed(trimmed) {
        (Role::User, Kind::Prose, whole())
    } else {
        (Role::System, Kind::Context, whole())
    }
}

/// Returns the command as it was typed, of a text in which the program spells it in tags.
pub(super) fn typed_command(text: &str) -> Option<String> {
    let name = between(text, "command-name").filter(|_| is_command(text.trim()))?;
    Some(format!("{name} {}", between(text, "command-args").unwrap_or_default()))
}

fn is_command(text: &str) -> bool {
    text.starts_with("<command-name>") || text.starts_with("<command-message>")
}

/// Whether `text` was typed, and is neither a note of the program, an injected block nor a bare slash command.
pub(super) fn is_typed(text: &str) -> bool {
    let text = text.trim();
    !NOTES.iter().any(|note| text.starts_with(note)) && !is_only_injected(text) && !is_bare_command(text)
}

/// Returns what the user said on refusing a tool call; the log has it in the tool's answer only.
pub(super) fn refusal_words(answer: &str) -> Option<String> {
    let (_, words) = answer.trim().strip_prefix(REFUSAL)?.split_once(REFUSAL_WORDS)?;
    Some(words.trim().to_owned())
}

fn is_bare_command(text: &str) -> bool {
    slash_command(text).is_some_and(|(_, argument)| argument.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_of_user_text_is_told_apart() {
        let table = [
            ("use tabs", Role::User, Kind::Prose, "use tabs"),
            ("/usr/lib is full", Role::User, Kind::Prose, "/usr/lib is full"),
            ("/init", Role::System, Kind::Context, "/init"),
            (
                "<command-name>/x</command-name><command-args> be brief </command-args>",
                Role::User,
                Kind::Prose,
                "be brief",
            ),
            ("<command-name>/x</command-name><command-args></command-args>", Role::System, Kind::Context, ""),
            ("<bash-input> ls -l</bash-input>", Role::User, Kind::ToolCall, "Bash ls -l"),
            ("<bash-stdout>a</bash-stdout><bash-stderr></bash-stderr>", Role::Tool, Kind::ToolResult, ""),
            ("<local-command-stdout>ok</local-command-stdout>", Role::System, Kind::Context, ""),
            ("<task-notification>done</task-notification>", Role::System, Kind::Context, ""),
            ("[Request interrupted by user for tool use]", Role::System, Kind::Context, ""),
            ("Caveat: The messages below were generated", Role::System, Kind::Context, ""),
            ("<teammate-message id=\"a\">hi</teammate-message>", Role::Other, Kind::Prose, ""),
            ("This session is being continued from a previous conversation that", Role::System, Kind::Summary, ""),
        ];
        for (text, role, kind, kept) in table {
            let kept = if kept.is_empty() { text } else { kept };
            assert_eq!(classify(text), (role, kind, kept.to_owned()));
        }
    }

    #[test]
    fn words_said_on_refusing_a_call_are_found() {
        let answer =
            "The user doesn't want to proceed with this tool use. To tell you how to proceed, the user said:\nuse pnpm";
        assert_eq!(refusal_words(answer).as_deref(), Some("use pnpm"));
        assert_eq!(refusal_words("then the user said: hi"), None);
    }
}
