//! The lines of a text that name a speaker, in each of the forms in which people and tools write them.

use super::identity;
use super::speaker::{looks_like_name, side};
use crate::transcript::{MessageTime, Role, TimeSource};

/// Longest text in brackets behind a name that is searched for a time, in bytes.
const LONGEST_NOTE: usize = 120;

/// How a file marks its speakers; a file keeps to one form, so that the others are words in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// `_**User (2026-01-02 03:04Z)**_`
    Stamped,
    /// `**User:** hello`
    Bold,
    /// `## User`
    Heading,
    /// `You said:`
    Said,
    /// `<|im_start|>user`
    Tagged,
    /// `User: hello`
    Prefix,
}

impl Form {
    /// Every form, the most telling first.
    pub const ALL: &[Self] = &[Self::Stamped, Self::Tagged, Self::Said, Self::Bold, Self::Heading, Self::Prefix];
}

/// A line that names a speaker.
#[derive(Debug, Clone, PartialEq)]
pub struct Label {
    /// 0-based line.
    pub line: usize,
    /// How it is written.
    pub form: Form,
    /// The name as written.
    pub name: String,
    /// The side that the name stands for; `None` for a person's own name.
    pub role: Option<Role>,
    /// The time written beside the name.
    pub time: Option<MessageTime>,
    /// What stands behind the name on the same line.
    pub rest: String,
}

/// Returns every line of `lines` that could name a speaker, code blocks and indented lines left out.
#[must_use]
pub fn labels(lines: &[&str]) -> Vec<Label> {
    let mut fence: Option<char> = None;
    let mut found = Vec::new();
    for (number, line) in lines.iter().enumerate() {
        let trimmed = line.trim_start();
        let mark = ['`', '~'].into_iter().find(|mark| trimmed.starts_with(&mark.to_string().repeat(3)));
        match (fence, mark) {
            (None, Some(mark)) => fence = Some(mark),
            (Some(open), Some(mark)) if open == mark => fence = None,
            (Some(_), _) => {}
            (None, None) => found.extend(label(number, line)),
        }
    }
    found
}

fn label(line: usize, text: &str) -> Option<Label> {
    if text.starts_with([' ', '\t', '|', '>']) {
        return None;
    }
    let (form, head, rest) = stamped(text)
        .or_else(|| tagged(text))
        .or_else(|| said(text))
        .or_else(|| bold(text))
        .or_else(|| heading(text))
        .or_else(|| prefix(text))?;
    let (name, note) = split_note(head);
    let role = side(name);
    let known_only = matches!(form, Form::Heading | Form::Tagged | Form::Stamped);
    if role.is_none() && (known_only || !looks_like_name(name)) {
        return None;
    }
    let time = note.and_then(stamp);
    Some(Label { line, form, name: name.to_owned(), role, time, rest: rest.trim().to_owned() })
}

/// Splits `User (2026-01-02)` into the name and what stands in the brackets.
fn split_note(head: &str) -> (&str, Option<&str>) {
    match head.trim().strip_suffix(')').and_then(|head| head.split_once('(')) {
        Some((name, note)) if stamp(note).is_some() || side(name).is_some() => (name.trim(), Some(note)),
        Some(_) | None => (head.trim(), None),
    }
}

/// Reads the time at the end of a note such as `claude-x 2026-01-02 03:04Z`.
fn stamp(note: &str) -> Option<MessageTime> {
    if note.len() > LONGEST_NOTE {
        return None;
    }
    let start =
        note.find(|c: char| c.is_ascii_digit()).into_iter().chain(note.match_indices(' ').map(|(place, _)| place + 1));
    let texts: Vec<&str> = start.filter_map(|place| note.get(place..)).collect();
    texts.into_iter().find_map(|text| identity::written_time(text, TimeSource::Log))
}

type Split<'a> = (Form, &'a str, &'a str);

fn stamped(text: &str) -> Option<Split<'_>> {
    let head = text.trim_end().strip_prefix("_**")?.strip_suffix("**_")?;
    Some((Form::Stamped, head, ""))
}

fn tagged(text: &str) -> Option<Split<'_>> {
    let rest = text.strip_prefix("<|im_start|>")?;
    let end = rest.find(|c: char| c.is_whitespace()).unwrap_or(rest.len());
    Some((Form::Tagged, &rest[..end], &rest[end..]))
}

fn said(text: &str) -> Option<Split<'_>> {
    let text = text.trim().trim_start_matches('#').trim();
    let head = text.strip_suffix([':', '：'])?;
    let name = head.strip_suffix(" said").or_else(|| head.strip_suffix('说'))?;
    Some((Form::Said, name, ""))
}

fn bold(text: &str) -> Option<Split<'_>> {
    let (head, rest) = text.strip_prefix("**")?.split_once("**")?;
    if let Some(name) = head.trim().strip_suffix([':', '：']) {
        return Some((Form::Bold, name, rest));
    }
    if let Some(rest) = rest.strip_prefix([':', '：']) {
        return Some((Form::Bold, head, rest));
    }
    (rest.trim().is_empty() && side(split_note(head).0).is_some()).then_some((Form::Bold, head, ""))
}

fn heading(text: &str) -> Option<Split<'_>> {
    let rest = text.strip_prefix('#')?.trim_start_matches('#').strip_prefix(' ')?;
    Some((Form::Heading, rest.trim().trim_matches(['*', ':', '：', ' ']), ""))
}

fn prefix(text: &str) -> Option<Split<'_>> {
    let place = text.char_indices().take(60).find(|(_, c)| matches!(c, ':' | '：'))?.0;
    let (name, rest) = (&text[..place], &text[place..]);
    let (is_wide, rest) = (rest.starts_with('：'), rest.trim_start_matches([':', '：']));
    let spaced = is_wide || rest.is_empty() || rest.starts_with(char::is_whitespace);
    // Written without a space behind the colon, only a known side is a speaker.
    let known = side(name).is_some() && !rest.starts_with(['/', ':']);
    (spaced || known).then_some((Form::Prefix, name, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(text: &str) -> Option<(Form, String, Option<Role>, String)> {
        label(0, text).map(|label| (label.form, label.name, label.role, label.rest))
    }

    #[test]
    fn each_form_names_its_speaker() {
        let rows = [
            ("_**User (2026-01-02 03:04Z)**_", Form::Stamped, "User", Some(Role::User), ""),
            ("_**Agent (claude-x 2026-01-02 03:04Z)**_", Form::Stamped, "Agent", Some(Role::Assistant), ""),
            ("**User:** hi", Form::Bold, "User", Some(Role::User), "hi"),
            ("**Assistant**: hi", Form::Bold, "Assistant", Some(Role::Assistant), "hi"),
            ("## User", Form::Heading, "User", Some(Role::User), ""),
            ("### **Human:**", Form::Heading, "Human", Some(Role::User), ""),
            ("You said:", Form::Said, "You", Some(Role::User), ""),
            ("ChatGPT 说：", Form::Said, "ChatGPT", Some(Role::Assistant), ""),
            ("<|im_start|>system", Form::Tagged, "system", Some(Role::System), ""),
            ("User:hi", Form::Prefix, "User", Some(Role::User), "hi"),
            ("用户：你好", Form::Prefix, "用户", Some(Role::User), "你好"),
            ("Luís: é: sim", Form::Prefix, "Luís", None, "é: sim"),
        ];
        for (text, form, name, role, rest) in rows {
            assert_eq!(told(text), Some((form, name.to_owned(), role, rest.to_owned())), "{text}");
        }
    }

    #[test]
    fn other_lines_name_nobody() {
        for text in [
            "Note: x",
            "  User: x",
            "| User: | x |",
            "> User: x",
            "https://e.org",
            "## Usage",
            "Ana:x",
            "key: value",
            "10:30 x",
            "**bold** text",
        ] {
            assert_eq!(told(text), None, "{text}");
        }
    }

    #[test]
    fn stamps_are_times_with_their_offset() {
        let time = label(0, "_**Agent (claude-x 2026-01-02 03:04Z)**_").and_then(|label| label.time).unwrap();
        assert_eq!((time.at.to_string().as_str(), time.offset_seconds), ("2026-01-02T03:04:00Z", Some(0)));
    }

    #[test]
    fn code_blocks_hold_no_speakers() {
        let lines = ["User: a", "```", "User: b", "~~~", "```", "User: c"];
        let found: Vec<_> = labels(&lines).into_iter().map(|label| label.line).collect();
        assert_eq!(found, [0, 5]);
    }
}
