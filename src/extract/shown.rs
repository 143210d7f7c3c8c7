//! The messages of a window that a request shows. A memory is made of what people said, so a request omits what only
//! fills a log: successful results, calls that only read, and signs without words.

use transcripts::{FileAccess, Kind, Message, Role};

use crate::text::output::has_failed;
use crate::text::shell::only_looks;

/// Signs that answer a question without a word.
const ANSWERS: &[char] =
    &['👍', '👎', '👌', '🆗', '✅', '☑', '✔', '✓', '○', '⭕', '❌', '✖', '✗', '×', '🙅', '🙆', '💯', '?', '？'];

/// Returns whether a message can be shown. The answer depends only on the message itself, because a transcript that
/// grows must retain its windows.
pub(super) fn is_shown(message: &Message) -> bool {
    match message.kind {
        Kind::Prose => message.role != Role::System,
        Kind::ToolCall | Kind::ToolResult | Kind::Attachment => true,
        // No participant said any of these: an assistant's reasoning, injected text, a generated summary.
        Kind::Reasoning | Kind::Context | Kind::Summary => false,
    }
}

/// Returns whether no memory can be made of a message, nor a statement be understood with it.
fn is_filler(message: &Message) -> bool {
    match message.kind {
        Kind::Prose if message.is_human() => {
            !message.text.contains(|c: char| c.is_alphanumeric() || ANSWERS.contains(&c))
        }
        Kind::ToolCall => message.role != Role::User && !does_something(message),
        // The result of a successful call repeats what the call states, or contains files that nobody in the
        // conversation wrote.
        Kind::ToolResult => {
            let (failed, exit) = message.action.as_ref().map_or((None, None), |action| (action.failed, action.exit));
            !has_failed(failed, exit, &message.text)
        }
        _ => false,
    }
}

/// First or last words of the names of tools that only read or search, or that write the agent's own list of tasks.
const LOOKUPS: &[&str] = &["find", "glob", "grep", "list", "ls", "read", "search", "todo", "view"];
/// Words with which a command changes something although its program usually only reads.
const CHANGING: &[&str] = &["-i", "--in-place", "-delete", "-exec", "-D", "-d", "xargs", "kill", "pkill", "tee"];

/// Returns whether a tool call changes something, as far as its name and its arguments show.
fn does_something(call: &Message) -> bool {
    let (tool, target) = call.text.split_once(char::is_whitespace).unwrap_or((&call.text, ""));
    match call.action.as_deref() {
        Some(action) if action.command.is_some() => !action.command.as_deref().is_some_and(only_reads),
        Some(action) if !action.files.is_empty() => action.files.iter().any(|file| file.access != FileAccess::Read),
        _ => !target.is_empty() && !is_lookup(tool),
    }
}

fn only_reads(command: &str) -> bool {
    let changes = |word: &str| CHANGING.contains(&word) || word.starts_with(['$', '>']);
    only_looks(command) && !command.split_whitespace().any(changes)
}

/// Returns whether the name of a tool, such as `list_issues` or `TodoWrite`, begins or ends with a word for reading.
fn is_lookup(tool: &str) -> bool {
    let name = tool.rsplit("__").next().unwrap_or(tool);
    let mut words: Vec<String> = vec![String::new()];
    for letter in name.chars() {
        if !letter.is_alphanumeric() || letter.is_uppercase() {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut().filter(|_| letter.is_alphanumeric()) {
            word.extend(letter.to_lowercase());
        }
    }
    words.retain(|word| !word.is_empty());
    [words.first(), words.last()].into_iter().flatten().any(|word| LOOKUPS.contains(&word.as_str()))
}

/// Maximum number of messages in a session that only fill it. A few of them show what the conversation is about.
const MAX_FILLERS: usize = 40;

/// Returns the indexes of the shown messages among `all`, of those at `indexes`.
///
/// If more than [`MAX_FILLERS`] of them only fill the session, these are omitted, and so are all but the first of equal
/// calls in a row, as when one file is edited several times.
pub(super) fn shown(all: &[Message], indexes: impl Iterator<Item = usize>) -> Vec<usize> {
    let mut shown: Vec<usize> = indexes.filter(|&index| is_shown(&all[index])).collect();
    if shown.iter().filter(|&&index| is_filler(&all[index])).count() <= MAX_FILLERS {
        return shown;
    }
    shown.retain(|&index| !is_filler(&all[index]));
    let is_call = |message: &Message| message.kind == Kind::ToolCall;
    shown.dedup_by(|later, earlier| {
        let (later, earlier) = (&all[*later], &all[*earlier]);
        is_call(later) && is_call(earlier) && later.text == earlier.text
    });
    shown
}

#[cfg(test)]
mod tests {
    use transcripts::{Action, FileAction};

    use super::*;

    fn of(role: Role, kind: Kind, text: &str) -> Message {
        Message { kind, ..Message::prose(role, text) }
    }

    fn call(text: &str, action: Action) -> Message {
        Message { action: Some(Box::new(action)), ..of(Role::Assistant, Kind::ToolCall, text) }
    }

    fn ran(command: &str) -> Message {
        call(&format!("Bash {command}"), Action { command: Some(command.into()), ..Action::default() })
    }

    fn accessed(tool: &str, access: FileAccess) -> Message {
        let files = vec![FileAction { path: "a.rs".into(), access }];
        call(&format!("{tool} a.rs"), Action { files, ..Action::default() })
    }

    #[test]
    fn calls_that_only_read_are_omitted() {
        let plain = |text: &str| of(Role::Assistant, Kind::ToolCall, text);
        let shown = [
            ran("npm ci"),
            ran("git commit -m x"),
            accessed("Edit", FileAccess::Edited),
            plain("create_issue Login fails"),
            plain("create_pull_request_review 7"),
            plain("send_emails all"),
            plain("reply_to_thread 7"),
            ran("sed -i s/a/b/ prod.yml"),
            ran("find . -name x -delete"),
            ran("ls | xargs rm"),
            ran("git branch -D old"),
            ran("$DEPLOY prod"),
        ];
        assert!(!shown.iter().any(is_filler));
        let omitted = [
            ran("cat a.rs | head"),
            ran("git status"),
            accessed("Read", FileAccess::Read),
            plain("Grep needle"),
            plain("TodoWrite 3 tasks"),
            plain("mcp__tracker__list_issues open"),
            plain("codebase_search needle"),
            plain("update_plan"),
        ];
        assert_eq!(omitted.iter().filter(|message| !is_filler(message)).count(), 0);
        assert!(!is_filler(&of(Role::User, Kind::ToolCall, "Bash ls")), "a person typed it");
    }

    #[test]
    fn only_results_of_failed_calls_are_shown() {
        let result = |text: &str, failed, exit| Message {
            action: Some(Box::new(Action { failed, exit, ..Action::default() })),
            ..of(Role::Tool, Kind::ToolResult, text)
        };
        for (text, failed, exit, expected) in [
            ("ok", None, None, false),
            ("ok", Some(false), None, false),
            ("no such file", Some(true), None, true),
            ("boom", None, Some(2), true),
            ("Process exited with code 1\nOutput:\nboom", None, None, true),
            ("Exit code 0\nerror: none", Some(true), None, true),
            ("Exit Code: 2", Some(false), None, true),
            ("reading\nerror: no such table", None, None, true),
        ] {
            assert_eq!(!is_filler(&result(text, failed, exit)), expected, "{text}");
        }
    }

    #[test]
    fn signs_without_words_are_omitted_unless_they_answer() {
        for (text, expected) in [
            ("😂😂", false),
            ("❤️", false),
            ("!!", false),
            ("👍🏽", true),
            ("✓", true),
            ("?", true),
            ("ok", true),
            ("好", true),
            ("7", true),
        ] {
            assert_eq!(!is_filler(&Message::user(text)), expected, "{text}");
        }
        assert!(!is_filler(&Message::assistant("…")), "only people's signs are omitted");
    }

    #[test]
    fn many_fillers_are_omitted_and_equal_calls_are_shown_once() {
        let edit = || accessed("Edit", FileAccess::Edited);
        let failed = Message {
            action: Some(Box::new(Action { failed: Some(true), ..Action::default() })),
            ..of(Role::Tool, Kind::ToolResult, "FAIL")
        };
        let mut all = vec![edit(), edit(), ran("npm test"), failed, edit(), ran("npm test"), Message::user("ok")];
        all.extend((0..MAX_FILLERS).map(|_| ran("ls")));
        assert_eq!(shown(&all, 0..all.len()).len(), all.len(), "a few are shown");
        all.push(of(Role::Tool, Kind::ToolResult, "a.rs"));
        assert_eq!(shown(&all, 0..all.len()), [0, 2, 3, 4, 5, 6]);
    }
}
