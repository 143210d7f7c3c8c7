//! The messages of a window that a request shows. A memory is made of what people said, so a request omits what only
//! fills a log: successful results, calls that only read, signs without words, and drafts that repeat each other.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use transcripts::{FileAccess, Kind, Message, Role};

use crate::text::output::has_failed;
use crate::text::shell::only_looks;

/// Signs that answer a question without a word.
const ANSWERS: &[char] = &['👍', '👎', '👌', '🆗', '✅', '☑', '✔', '❌', '✖', '🙅', '🙆', '💯', '?', '？'];

/// Returns whether a message is shown at all. The answer depends only on the message itself, because a transcript that
/// grows must retain its windows.
pub(super) fn is_shown(message: &Message) -> bool {
    match message.kind {
        Kind::Prose if message.is_human() => {
            message.text.contains(|c: char| c.is_alphanumeric() || ANSWERS.contains(&c))
        }
        Kind::Prose => message.role != Role::System,
        Kind::ToolCall => message.role == Role::User || does_something(message),
        // The result of a successful call repeats what the call states, or contains files that nobody in the
        // conversation wrote.
        Kind::ToolResult => {
            let (failed, exit) = message.action.as_ref().map_or((None, None), |action| (action.failed, action.exit));
            has_failed(failed, exit, &message.text)
        }
        Kind::Attachment => true,
        // No participant said any of these: an assistant's reasoning, injected text, a generated summary.
        Kind::Reasoning | Kind::Context | Kind::Summary => false,
    }
}

/// Parts of the names of tools that only read or search, or that write the agent's own list of tasks.
const LOOKUPS: &[&str] = &["find", "glob", "grep", "list", "ls", "plan", "read", "search", "todo", "view"];

/// Returns whether a tool call changes something, as far as its name and its arguments show.
fn does_something(call: &Message) -> bool {
    let (tool, target) = call.text.split_once(char::is_whitespace).unwrap_or((&call.text, ""));
    match call.action.as_deref() {
        Some(action) if action.command.is_some() => !action.command.as_deref().is_some_and(only_looks),
        Some(action) if !action.files.is_empty() => action.files.iter().any(|file| file.access != FileAccess::Read),
        _ => !target.is_empty() && !LOOKUPS.iter().any(|lookup| tool.to_lowercase().contains(lookup)),
    }
}

/// Minimum length of a text that is compared with earlier texts, in bytes.
const MIN_DRAFT_BYTES: usize = 400;
/// A text is a draft of an earlier text if it shares at least this many of every five passages with it.
const SHARED_OF_FIVE: usize = 4;

/// A text that mostly repeats an earlier text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Draft {
    /// Number of the earlier text.
    pub of: usize,
    /// The passages that the earlier text lacks.
    pub changes: String,
}

/// The longer texts of assistants and the calls that a request shows, to recognise repetitions.
#[derive(Debug, Default)]
pub(super) struct DraftList {
    drafts: Vec<(usize, HashSet<u64>)>,
    calls: HashSet<u64>,
}

impl DraftList {
    /// Returns whether `message` repeats a call since a person last spoke, as when one file is edited several times.
    pub(super) fn is_repeated_call(&mut self, message: &Message) -> bool {
        match message.kind {
            Kind::Prose if message.is_human() => self.calls.clear(),
            Kind::ToolCall => return !self.calls.insert(hash(&message.text)),
            _ => {}
        }
        false
    }

    /// Returns the changes if `message`, which is shown as `number`, is another draft of an earlier text.
    pub(super) fn draft(&mut self, number: usize, message: &Message) -> Option<Draft> {
        if message.is_human() || message.kind != Kind::Prose || message.text.len() < MIN_DRAFT_BYTES {
            return None;
        }
        let all: HashSet<u64> = passages(&message.text).map(hash).collect();
        let is_draft =
            |(_, earlier): &&(usize, HashSet<u64>)| 5 * all.intersection(earlier).count() >= SHARED_OF_FIVE * all.len();
        let found = self.drafts.iter().rev().find(is_draft);
        let draft = found.map(|(of, earlier)| {
            let new = passages(&message.text).filter(|passage| !earlier.contains(&hash(passage)));
            Draft { of: *of, changes: new.collect::<Vec<_>>().join(" … ") }
        });
        self.drafts.push((number, all));
        draft
    }
}

/// Returns each sentence and line of `text`.
fn passages(text: &str) -> impl Iterator<Item = &str> {
    let ends = ['\n', '.', '!', '?', ';', '。', '！', '？', '；'];
    text.split(ends).map(str::trim).filter(|passage| passage.chars().nth(2).is_some())
}

fn hash(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
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
        ];
        assert!(shown.iter().all(is_shown));
        let omitted = [
            ran("cat a.rs | head"),
            ran("git status"),
            accessed("Read", FileAccess::Read),
            plain("Grep needle"),
            plain("TodoWrite 3 tasks"),
            plain("update_plan"),
        ];
        assert_eq!(omitted.iter().filter(|message| is_shown(message)).count(), 0);
        assert!(is_shown(&of(Role::User, Kind::ToolCall, "Bash ls")), "a person typed it");
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
            ("Exit code 0\nerror: none", Some(true), None, false),
            ("reading\nerror: no such table", None, None, true),
        ] {
            assert_eq!(is_shown(&result(text, failed, exit)), expected, "{text}");
        }
    }

    #[test]
    fn signs_without_words_are_omitted_unless_they_answer() {
        for (text, expected) in [
            ("😂😂", false),
            ("❤️", false),
            ("!!", false),
            ("👍🏽", true),
            ("?", true),
            ("ok", true),
            ("好", true),
            ("7", true),
        ] {
            assert_eq!(is_shown(&Message::user(text)), expected, "{text}");
        }
        assert!(is_shown(&Message::assistant("…")), "only people's signs are omitted");
    }

    #[test]
    fn another_draft_and_a_repeated_call_are_recognised() {
        let mut index = DraftList::default();
        let text = |last: &str| {
            let same: Vec<_> = (0..20).map(|n| format!("Sentence {n} is here.")).collect();
            format!("{} {last}.", same.join(" "))
        };
        let draft = |last: &str| Message::assistant(text(last));
        assert_eq!(index.draft(3, &draft("It ships on Monday")), None);
        let changed = Draft { of: 3, changes: "It ships on Friday".into() };
        assert_eq!(index.draft(5, &draft("It ships on Friday")), Some(changed));
        assert_eq!(index.draft(7, &Message::assistant("Sentence 1 is here.")), None, "too short");
        assert_eq!(index.draft(8, &Message::user(text("I ship it"))), None, "a person's words");
        let edit = accessed("Edit", FileAccess::Edited);
        assert!(!index.is_repeated_call(&edit) && index.is_repeated_call(&edit));
        assert!(!index.is_repeated_call(&Message::user("and now?")) && !index.is_repeated_call(&edit));
    }
}
