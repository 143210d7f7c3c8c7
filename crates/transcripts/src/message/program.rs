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
    // Codex, for a plan that the assistant wrote and the user approved, and for `/init`.
    "PLEASE IMPLEMENT THIS PLAN:\n",
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

/// Events of Claude Code after which its hooks are named.
const HOOK_EVENTS: &[&str] = &[
    "UserPromptSubmit", "PreToolUse", "PostToolUse", "PostToolUseFailure", "PermissionRequest", "SessionStart",
    "SessionEnd", "SubagentStart", "SubagentStop", "Stop", "PreCompact", "Notification",
];

/// A prompt template that surrounds the text typed by the user.
struct Template {
    /// The prefix of the template.
    opening: &'static str,
    /// Text that occurs elsewhere in the template, because the prefix alone is not sufficient evidence.
    mark: &'static str,
    /// The text before the user's text.
    before: &'static str,
    /// The texts that can follow the user's text; none if the user's text extends to the end.
    after: &'static [&'static str],
    /// The beginnings of lists and sections, of which the last ends the user's text if none of the other texts follows
    /// it. The user's text may contain such beginnings, too.
    last: &'static [&'static str],
}

const TEMPLATES: &[Template] = &[
    // Commands of GitHub's Spec Kit; Codex stores them expanded.
    Template {
        opening: "## User Input\n",
        mark: "You **MUST** consider the user input before proceeding",
        before: "```text\n",
        after: &["\n```"],
        last: &[],
    },
    Template { opening: "## 用户输入\n", mark: "\n## 概述\n", before: "```text\n", after: &["\n```"], last: &[] },
    // The first versions, whose argument is in no code block.
    Template {
        opening: "The user input to you can be provided directly by the agent or as a command argument",
        mark: "you **MUST** consider it before proceeding",
        before: "User input:",
        after: &["\n\nGiven ", "\n\nGoal: ", "\n\nThe text the user typed", "\n\nThe user input ", "\n\nYou are "],
        last: &["\n\n1. ", "\n\n#"],
    },
    // Commands of OpenSpec; the typed text follows the template.
    Template {
        opening: "<!-- OPENSPEC:START -->",
        mark: "**Guardrails**",
        before: "<!-- OPENSPEC:END -->",
        after: &[],
        last: &[],
    },
];

impl Template {
    /// Returns the text before, in and after the place of the user's text.
    fn split<'a>(&self, text: &'a str) -> (&'a str, &'a str, &'a str) {
        let Some((before, rest)) = text.split_once(self.before) else { return (text, "", "") };
        let fixed = self.after.iter().filter_map(|after| rest.find(after)).min();
        // A section of the template may begin with a list.
        let last = || self.last.iter().filter_map(|last| rest.rfind(last)).min();
        // Without its end, the user's text cannot be separated from the template.
        let end = if self.after.is_empty() { rest.len() } else { fixed.or_else(last).unwrap_or(0) };
        (before, &rest[..end], &rest[end..])
    }
}

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
    WHOLE.iter().any(|opening| text.starts_with(opening)) || is_about_a_hook(text)
}

/// Returns whether `text` is the report of a hook that failed or refused, such as `PreToolUse:Bash hook error: …`.
fn is_about_a_hook(text: &str) -> bool {
    let (hook, reported) = text.split_once(' ').unwrap_or_default();
    let event = hook.split_once(':').map_or(hook, |(event, _)| event);
    let is_report = || {
        let reports =
            ["hook error", "hook blocking error", "hook feedback:", "hook blocked", "operation blocked by hook"];
        reports.iter().any(|report| reported.starts_with(report))
    };
    HOOK_EVENTS.contains(&event) && is_report()
}

/// Returns the messages in the text of a user's turn: the user's own text and, separately, the template around it.
pub(crate) fn turn(text: &str) -> Vec<Message> {
    if is_written(text) {
        return vec![Message::context(text)];
    } else if let Some(command) = memory_command(text) {
        return vec![command];
    }
    // Some versions of the agents also store the settings at the head of the template.
    let body = without_front_matter(text.trim()).trim_start();
    let template = TEMPLATES.iter().find(|one| body.starts_with(one.opening) && body.contains(one.mark));
    let Some(template) = template else { return vec![Message::user(text)] };
    let (before, typed, after) = template.split(body);
    let pieces = [Message::context(before), Message::user(typed.trim()), Message::context(after.trim())];
    pieces.into_iter().filter(|message| !message.text.trim().is_empty()).collect()
}

/// Returns a prompt template without the settings between `---` lines at its head.
pub(crate) fn without_front_matter(text: &str) -> &str {
    let body = text.strip_prefix("---\n").and_then(|rest| rest.split_once("\n---\n"));
    body.map_or(text, |(_, body)| body)
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
    fn reports_about_hooks_are_no_statements() {
        for text in [
            "UserPromptSubmit hook error: always run the linter",
            "PreToolUse:Bash hook blocking error from command: \"x\": Never push.",
            "SubagentStop hook feedback:\n- Always run the tests.",
            "UserPromptSubmit operation blocked by hook:\nx: Never paste keys.\n\nOriginal prompt: x",
        ] {
            assert_eq!(typed(text), [""; 0], "{text}");
        }
        for text in ["Stop, the hook error is mine.", "Notification hooks always fail.", "My Stop hook error persists."]
        {
            assert_eq!(typed(text), [text]);
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
        let first = "The user input to you can be provided directly by the agent or as a command argument - you **MUST** \
                     consider it before proceeding with the prompt (if not empty).\n\nUser input:\n\nUse Postgres.\n\nKeep it \
                     small.\n\nEND\nRun `x`. All paths must be absolute.";
        for end in [
            "Given that name, do this:\n\n1. Run `y`.",
            "Goal: Detect gaps.",
            "## Outline\n\n1. Run `y`.",
            "1. Run `y`.",
            "You are updating it.",
        ] {
            let (filled, empty) = (first.replace("END", end), first.replace("END", end));
            assert_eq!(typed(&filled), ["Use Postgres.\n\nKeep it small."], "{end}");
            assert_eq!(typed(&empty.replace("Use Postgres.\n\nKeep it small.\n\n", "")), [""; 0], "{end}");
            let list = "Build a shop:\n\n1. login\n\n2. cart";
            assert_eq!(typed(&filled.replace("Use Postgres.\n\nKeep it small.", list)), [list], "{end}");
            assert_eq!(typed(&format!("---\ndescription: Plan\n---\n\n{filled}")), ["Use Postgres.\n\nKeep it small."]);
        }
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
