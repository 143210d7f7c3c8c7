//! Text that programs write in a user's turn: plans, templates, and notes from hooks and editors.
//!
//! Each row of the tables is a sentence that a program writes verbatim and that nobody types.

use crate::Message;

/// Prefixes of texts that were written entirely by a program.
const WHOLE: &[(&str, &str)] = &[
    // Claude Code starts a new session with the plan that the assistant wrote in the previous session.
    ("claude-code", "Implement the following plan:\n"),
    ("claude-code", "Operation stopped by hook:"),
    ("claude-code", "Stop hook feedback:"),
    ("claude-code", "[Request interrupted by user"),
    ("claude-code", "Base directory for this skill:"),
    ("aider", "Find the \"AI\" comments below"),
    ("aider", "The \"AI\" comments below marked with"),
    ("cline", "# TODO LIST UPDATE REQUIRED"),
    ("cline", "# task_progress"),
    ("cline", "# TODO LIST RECOMMENDED"),
    ("cline", "Files attached by the user:"),
    ("cline", "(The user did not provide"),
    ("cline", "Command executed."),
    ("cline", "Command failed with exit code"),
    ("cline", "New problems detected after saving the file:"),
];

/// A prompt template that surrounds the text typed by the user.
struct Template {
    /// Prefix of the template.
    opening: &'static str,
    /// Text that occurs elsewhere in the template, because the prefix alone is not sufficient evidence.
    mark: &'static str,
    /// The text before the user's text, and the text after it.
    before: &'static str,
    after: &'static str,
}

const TEMPLATES: &[Template] = &[
    // Commands of GitHub's Spec Kit; Codex stores them expanded.
    Template {
        opening: "## User Input\n",
        mark: "You **MUST** consider the user input before proceeding",
        before: "```text\n",
        after: "\n```",
    },
    // Commands of OpenSpec; the typed text follows the template.
    Template { opening: "<!-- OPENSPEC:START -->", mark: "**Guardrails**", before: "<!-- OPENSPEC:END -->", after: "" },
];

/// Returns whether a program wrote all of `text`.
pub(crate) fn is_written(text: &str) -> bool {
    let text = text.trim_start();
    WHOLE.iter().any(|(_, opening)| text.starts_with(opening))
}

/// Returns the messages in the text of a user's turn: the user's own text and, separately, the template around it.
pub(crate) fn turn(text: &str) -> Vec<Message> {
    if is_written(text) {
        return vec![Message::context(text)];
    }
    let trimmed = text.trim();
    let template = TEMPLATES.iter().find(|one| trimmed.starts_with(one.opening) && trimmed.contains(one.mark));
    let Some(template) = template else { return vec![Message::user(text)] };
    let Some((before, rest)) = trimmed.split_once(template.before) else { return vec![Message::context(text)] };
    let (typed, after) =
        if template.after.is_empty() { (rest, "") } else { rest.split_once(template.after).unwrap_or((rest, "")) };
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
        for (program, opening) in WHOLE {
            let text = format!("{opening} I prefer tabs.");
            assert_eq!(typed(&text), [""; 0], "{program}: {opening}");
            let mentioned = format!("Why do I see this? {opening}");
            assert_eq!(typed(&mentioned), std::slice::from_ref(&mentioned), "{program}");
        }
    }

    #[test]
    fn of_an_expanded_template_only_the_argument_is_the_users() {
        let spec_kit = "\n## User Input\n\n```text\nUse Postgres.\n```\n\nYou **MUST** consider the user input before proceeding \
                        (if not empty).\n\n## Outline\n\nAll paths must be absolute.";
        assert_eq!(typed(spec_kit), ["Use Postgres."]);
        assert_eq!(typed(&spec_kit.replace("Use Postgres.", "")), [""; 0]);
        let open_spec =
            "<!-- OPENSPEC:START -->\n**Guardrails**\n- Always be minimal.\n<!-- OPENSPEC:END -->\nadd-login";
        assert_eq!(typed(open_spec), ["add-login"]);
        assert_eq!(typed("## User Input\nThe form is broken."), ["## User Input\nThe form is broken."]);
    }
}
