//! The user's turn: words in tags, what the program wrote around them, and answers of tools.

use std::sync::LazyLock;

use regex::Regex;

use super::Place;
use crate::{Kind, Message, Role};

/// Tags around what the user typed.
const TYPED: &[&str] = &["task", "user_message", "feedback", "answer"];
/// Tools whose answer is the user's.
const ASKING: &[&str] =
    &["ask_followup_question", "attempt_completion", "plan_mode_respond", "act_mode_respond", "new_task", "condense"];
/// How the program begins what it writes itself in the user's turn.
const NOTES: &[&str] =
    &["[ERROR]", "[TASK RESUMPTION]", "[NOTE]", "# Reminder", "[PLAN MODE", "[ACT MODE", "The user "];
/// How the program begins an answer in which it passes on what the user said to a call.
const FEEDBACK: &[&str] = &[
    "The user denied this operation and provided the following feedback:",
    "The user provided the following feedback:",
    "The user has provided feedback on the results.",
];
/// Most pieces that a text is split into, so that one full of tags cannot take forever.
const MOST_PIECES: usize = 400;
const SURROUNDINGS: &str = "environment_details";

/// Whether `text` has one of the tags that only these programs write around the user's words.
pub(super) fn is_wrapped(text: &str) -> bool {
    let text = text.trim_start();
    text.starts_with("<task>\n")
        || text.starts_with("<environment_details>")
        || text.contains("\n<environment_details>\n")
}

/// Returns the tool that a text such as `[read_file for 'a.py'] Result:` announces the answer of.
pub(super) fn announced(text: &str) -> Option<(&str, &str)> {
    let (head, answer) = text.trim_start().strip_prefix('[')?.split_once("] Result:")?;
    let name = head.split_whitespace().next().filter(|_| !head.contains('\n'))?;
    Some((name, answer))
}

/// Returns what a text that is no tool's answer says.
pub(super) fn told(text: &str) -> Vec<Message> {
    let mut messages = Vec::new();
    let mut rest = text;
    while let Some((before, tag, inner, after)) = next_tag(rest).filter(|_| messages.len() < MOST_PIECES) {
        messages.push(of(Role::System, Kind::Context, before));
        messages.push(if tag == SURROUNDINGS {
            of(Role::System, Kind::Context, &format!("<{tag}>{inner}</{tag}>"))
        } else {
            Message::user(inner.trim())
        });
        rest = after;
    }
    let is_bare = messages.iter().all(|message| !message.is_human());
    let is_note = NOTES.iter().any(|note| rest.trim_start().starts_with(note));
    let is_typed = is_bare && !is_note && !crate::injected::is_only_injected(rest);
    messages.push(if is_typed { Message::user(rest.trim()) } else { of(Role::System, Kind::Context, rest) });
    // Of bare words, what stands before the surroundings is the user's.
    if let [first, ..] = messages.as_mut_slice()
        && is_bare
        && !NOTES.iter().any(|note| first.text.trim_start().starts_with(note))
        && !first.text.trim().is_empty()
        && !first.text.trim_start().starts_with('<')
    {
        (first.role, first.kind) = (Role::User, Kind::Prose);
    }
    messages.retain(|message| !message.text.trim().is_empty());
    messages
}

/// Returns what the answer of `tool` says: to a question, the user's words.
pub(super) fn answered(tool: &str, answer: &str) -> Vec<Message> {
    let trimmed = answer.trim();
    let is_passed_on = FEEDBACK.iter().any(|opening| trimmed.starts_with(opening));
    let is_asked = ASKING.contains(&tool) && trimmed.starts_with('<');
    let words = next_tag(trimmed).filter(|(_, tag, ..)| *tag != SURROUNDINGS && (is_passed_on || is_asked));
    match words {
        Some((before, _, inner, after)) => vec![
            of(Role::Tool, Kind::ToolResult, before),
            Message::user(inner.trim()),
            of(Role::System, Kind::Context, after),
        ],
        None => vec![of(Role::Tool, Kind::ToolResult, answer)],
    }
}

/// Splits `text` at its first tag: what stands before it, its name, what it holds, and what follows.
fn next_tag(text: &str) -> Option<(&str, &'static str, &str, &str)> {
    let tags = TYPED.iter().chain(&[SURROUNDINGS]);
    let (start, tag) = tags.filter_map(|tag| Some((text.find(&format!("<{tag}>"))?, *tag))).min()?;
    let inner = &text[start + tag.len() + 2..];
    let close = format!("</{tag}>");
    let (inner, after) = inner.split_once(&close).unwrap_or((inner, ""));
    Some((&text[..start], tag, inner, after))
}

/// Reads the folder and the clock from the text about the surroundings.
pub(super) fn surroundings(text: &str) -> Place {
    static FOLDER: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"# Current (?:Working|Workspace) Directory \((.{1,1000}?)\) Files")
            .expect("the pattern is constant")
    });
    static CLOCK: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"\bUTC([+-])(\d{1,2})(?::(\d{2}))?\b").expect("the pattern is constant"));
    let Some((_, text)) = text.split_once("<environment_details>") else { return Place::default() };
    let time = text.split_once("# Current Time").map(|(_, time)| time.lines().take(4).collect::<Vec<_>>().join("\n"));
    let offset = time.as_deref().and_then(|time| CLOCK.captures(time)).and_then(|found| {
        let hours: i32 = found[2].parse().ok()?;
        let minutes: i32 = found.get(3).map_or(Some(0), |minutes| minutes.as_str().parse().ok())?;
        let seconds = (hours * 60 + minutes) * 60;
        (hours <= 14).then_some(if &found[1] == "-" { -seconds } else { seconds })
    });
    Place { folder: FOLDER.captures(text).map(|found| found[1].to_owned()), offset_seconds: offset }
}

pub(super) fn of(role: Role, kind: Kind, text: &str) -> Message {
    Message { kind, ..Message::prose(role, text) }
}
