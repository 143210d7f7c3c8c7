//! Text that programs write in a user's turn: plans, templates, and notes from hooks and editors.
//!
//! Each row of the tables is a sentence that a program writes verbatim and that nobody types.

use crate::message::parts::call_on;
use crate::{Kind, Message, Role};

/// Prefixes of texts that were written entirely by a program.
const WHOLE: &[&str] = &[
    // Claude Code, which starts a new session with the plan that the assistant wrote in the previous session.
    "Implement the following plan:\n",
    "Operation stopped by hook:",
    "Stop hook feedback:",
    "[Request interrupted by user",
    "Base directory for this skill:",
    // Codex, for `/init`.
    "Generate a file named AGENTS.md that serves as a contributor guide for this repository.\n",
    // aider.
    "Find the \"AI\" comments below",
    "The \"AI\" comments below marked with",
    // Cline.
    "# TODO LIST UPDATE REQUIRED",
    "# task_progress",
    "# TODO LIST RECOMMENDED",
    "Files attached by the user:",
    "(The user did not provide",
    "Command executed.",
    "Command failed with exit code",
    "New problems detected after saving the file:",
];

/// Prompt templates that surround the text typed by the user: the prefix of the template; text that occurs elsewhere in
/// it, because the prefix alone is not sufficient evidence; the text before the user's text; and the text after it.
const TEMPLATES: &[[&str; 4]] = &[
    // Commands of GitHub's Spec Kit; Codex stores them expanded.
    ["## User Input\n", "You **MUST** consider the user input before proceeding", "```text\n", "\n```"],
    ["## 用户输入\n", "\n## 概述\n", "```text\n", "\n```"],
    // Commands of OpenSpec; the typed text follows the template.
    ["<!-- OPENSPEC:START -->", "**Guardrails**", "<!-- OPENSPEC:END -->", ""],
];

/// Commands about memories, which a hook carries out when they are typed.
const MEMORY_COMMANDS: &[&str] = &["remember", "recall", "forget"];

/// Returns the typed `text` as a command, if it is a command about memories. Its argument is not a statement of the
/// user: what was remembered is already stored, and what was forgotten must not be learnt again.
pub(crate) fn memory_command(text: &str) -> Option<Message> {
    let typed = text.trim().strip_prefix('/')?;
    let (name, argument) = typed.split_once(char::is_whitespace).unwrap_or((typed, ""));
    let is_known = MEMORY_COMMANDS.iter().any(|known| known.eq_ignore_ascii_case(name));
    is_known.then(|| Message::new(Role::User, Kind::ToolCall, call_on(&format!("/{name}"), argument.trim())))
}

/// Returns whether a program wrote all of `text`.
pub(crate) fn is_written(text: &str) -> bool {
    let text = text.trim_start();
    WHOLE.iter().any(|opening| text.starts_with(opening))
}

/// Returns the messages in the text of a user's turn: the user's own text and, separately, the template around it.
pub(crate) fn turn(text: &str) -> Vec<Message> {
    if is_written(text) {
        return vec![Message::context(text)];
    } else if let Some(command) = memory_command(text) {
        return vec![command];
    }
    let trimmed = text.trim();
    let template = TEMPLATES.iter().find(|[opening, mark, ..]| trimmed.starts_with(opening) && trimmed.contains(mark));
    let Some([.., open, close]) = template else { return vec![Message::user(text)] };
    let Some((before, rest)) = trimmed.split_once(open) else { return vec![Message::context(text)] };
    let end = Some(close).filter(|close| !close.is_empty()).and_then(|close| rest.split_once(close));
    let (typed, after) = end.unwrap_or((rest, ""));
    let pieces = [Message::context(before), Message::user(typed.trim()), Message::context(after.trim())];
    pieces.into_iter().filter(|message| !message.text.trim().is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(text: &str) -> Vec<String> {
        turn(text).into_iter().filter(Message::is_human).map(|message| message.text).collect()
    }

    #[test]
    fn no_row_of_the_table_is_the_users_and_what_only_mentions_one_is() {
        for opening in WHOLE {
            let text = format!("{opening} I prefer tabs.");
            assert_eq!(typed(&text), [""; 0], "{opening}");
            let mentioned = format!("Why do I see this? {opening}");
            assert_eq!(typed(&mentioned), std::slice::from_ref(&mentioned));
        }
    }

    #[test]
    fn of_an_expanded_template_only_the_argument_is_the_users() {
        let spec_kit = "\n## User Input\n\n```text\nUse Postgres.\n```\n\nYou **MUST** consider the user input before proceeding \
                        (if not empty).\n\n## Outline\n\nAll paths must be absolute.";
        assert_eq!(typed(spec_kit), ["Use Postgres."]);
        assert_eq!(typed(&spec_kit.replace("Use Postgres.", "")), [""; 0]);
        let chinese = "## 用户输入\n\n```text\n用 Postgres。\n```\n\n## 概述\n\n所有路径必须是绝对路径。";
        assert_eq!(typed(chinese), ["用 Postgres。"]);
        let open_spec =
            "<!-- OPENSPEC:START -->\n**Guardrails**\n- Always be minimal.\n<!-- OPENSPEC:END -->\nadd-login";
        assert_eq!(typed(open_spec), ["add-login"]);
        assert_eq!(typed("## User Input\nThe form is broken."), ["## User Input\nThe form is broken."]);
    }

    #[test]
    fn commands_about_memories_are_no_statements() {
        for text in ["/remember I prefer tabs.", " /forget We use Heroku.", "/Recall where do we deploy"] {
            assert_eq!(typed(text), [""; 0], "{text}");
        }
        for text in ["/remembering is hard", "/deploy I prefer tabs.", "Type /remember I prefer tabs."] {
            assert_eq!(typed(text), [text]);
        }
    }
}
