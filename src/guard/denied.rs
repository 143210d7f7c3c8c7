//! Files whose content is shown to nobody: what a tool printed of them is left out, whatever it is.

use glob::{MatchOptions, Pattern};

use crate::config::DENIED_FILES;
use transcripts::{Kind, Message};

/// What stands in place of such content.
pub const DENIED_MARKER: &str = "[denied file]";

const MATCHING: MatchOptions =
    MatchOptions { case_sensitive: false, require_literal_separator: false, require_literal_leading_dot: false };

/// The names of such files.
#[derive(Debug, Clone)]
pub(super) struct Denied {
    patterns: Vec<Pattern>,
}

impl Default for Denied {
    fn default() -> Self {
        Self::of(DENIED_FILES.iter().copied())
    }
}

impl Denied {
    pub(super) fn new(patterns: &[String]) -> Self {
        Self::of(patterns.iter().map(String::as_str))
    }

    fn of<'p>(patterns: impl Iterator<Item = &'p str>) -> Self {
        let read = |text: &str| Pattern::new(text).or_else(|_| Pattern::new(&Pattern::escape(text))).ok();
        Self { patterns: patterns.filter_map(read).collect() }
    }

    /// Whether `text` names such a file.
    fn is_named_in(&self, text: &str) -> bool {
        let ends = |c: char| c.is_whitespace() || "\"'`=:,;|&()<>[]{}/\\*".contains(c);
        let names = text.split(ends).filter(|name| !name.is_empty());
        names.into_iter().any(|name| self.patterns.iter().any(|pattern| pattern.matches_with(name, MATCHING)))
    }
}

/// Takes the content of denied files out of a conversation, message by message.
///
/// What a tool answers is not tied to the call it answers, so all answers to calls that were made together go with one
/// of them.
#[derive(Debug)]
pub(super) struct Reader<'d> {
    denied: &'d Denied,
    is_shown: bool,
    was_answer: bool,
}

impl<'d> Reader<'d> {
    pub(super) const fn new(denied: &'d Denied) -> Self {
        Self { denied, is_shown: false, was_answer: false }
    }

    /// Whether the next message of the conversation shows such a file.
    pub(super) fn shows(&mut self, message: &Message) -> bool {
        let is_answer = message.kind == Kind::ToolResult;
        match message.kind {
            Kind::ToolCall => {
                let together = !self.was_answer && self.is_shown;
                self.is_shown = together || self.denied.is_named_in(&message.text);
            }
            Kind::Prose => self.is_shown = false,
            _ => {}
        }
        self.was_answer = is_answer;
        let header = || message.text.lines().next().unwrap_or_default();
        is_answer && self.is_shown
            || message.kind == Kind::Attachment && message.text.lines().count() > 1 && self.denied.is_named_in(header())
    }
}

#[cfg(test)]
mod tests {
    use super::super::Guard;
    use super::*;
    use transcripts::{Role, Transcript};

    fn call(text: &str) -> Message {
        Message { kind: Kind::ToolCall, ..Message::assistant(text) }
    }

    fn answer(text: &str) -> Message {
        Message { kind: Kind::ToolResult, ..Message::prose(Role::Tool, text) }
    }

    fn cleaned(guard: &Guard, messages: Vec<Message>) -> Vec<String> {
        let (clean, _) = guard.clean_transcript(Transcript { messages, ..Transcript::default() });
        clean.messages.iter().map(|message| message.text.clone()).collect()
    }

    #[test]
    fn files_are_told_by_their_names_wherever_they_stand() {
        let denied = Denied::default();
        for text in [
            "Read /home/ana/shop/.env",
            "Bash cat ~/.ssh/id_rsa",
            "Bash cat <.env.production",
            "Read C:\\certs\\server.PEM",
            "Read ~/.aws/credentials",
            "Bash diff a.pem b.txt",
            "Bash cat .env|head",
            "Bash git show HEAD:.env",
        ] {
            assert!(denied.is_named_in(text), "{text}");
        }
        for text in [
            "Read src/env.rs",
            "Read .env.example",
            "Read src/credentials.rs",
            "Read ~/.ssh/id_rsa.pub",
            "Read docs/environment.md",
            "Bash cargo run --key x",
            "Read .envy",
        ] {
            assert!(!denied.is_named_in(text), "{text}");
        }
    }

    #[test]
    fn what_a_tool_shows_of_them_goes_and_the_rest_stays() {
        let talk = vec![
            call("Read .env"),
            call("Read a.rs"),
            answer("COLOR=blue"),
            answer("fn main() {}"),
            call("Read b.rs"),
            answer("fn b() {}"),
            Message { kind: Kind::Attachment, ..Message::user("[file: server.pem]\nabc") },
            Message { kind: Kind::Attachment, ..Message::user("[file: plan.md]\nabc") },
        ];
        let expected = [
            "Read .env",
            "Read a.rs",
            DENIED_MARKER,
            DENIED_MARKER,
            "Read b.rs",
            "fn b() {}",
            DENIED_MARKER,
            "[file: plan.md]\nabc",
        ];
        assert_eq!(cleaned(&Guard::default(), talk), expected);
    }

    #[test]
    fn the_names_are_a_persons_to_set() {
        let guard = Guard::default().denying(&["*.sql".to_owned()]);
        let talk = || vec![call("Read dump.sql"), answer("a"), call("Read .env"), answer("b")];
        assert_eq!(cleaned(&guard, talk()), ["Read dump.sql", DENIED_MARKER, "Read .env", "b"]);
    }
}
