//! Making a transcript fit to be read by a model: private spans, injected text, secrets and personal data go.

use super::denied::{DENIED_MARKER, Reader};
use super::feedback::{self, INJECTED_MARKER, Left, Wrappers};
use super::{Findings, Guard, Redact, Redacted, private};
use crate::project::without_credentials;
use transcripts::{Kind, Message, Role, Transcript};

/// Rounds of taking out injected text; each finds what the one before it joined together.
const MAX_ROUNDS: usize = 16;

/// What was taken out of a transcript.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Cleaned {
    /// Secrets and personal data, by name of their row.
    pub findings: Findings,
    /// Private spans.
    pub private_spans: usize,
    /// Messages that lost injected text and kept the words around it.
    pub stripped: usize,
    /// Messages that were injected whole; they stay as [`Kind::Context`], with a marker for text.
    pub injected: usize,
    /// Messages that showed a file whose content is shown to nobody; a marker stands for their text.
    pub denied: usize,
    /// Messages of which nothing was left, and which are gone.
    pub removed: usize,
}

impl Cleaned {
    /// Returns what was taken out, by kind, with the kinds that were found alone.
    pub fn counts(&self) -> impl Iterator<Item = (&'static str, usize)> + '_ {
        let kinds = [
            ("private-span", self.private_spans),
            ("injected-block", self.stripped),
            ("injected-message", self.injected),
            ("denied-file", self.denied),
        ];
        let findings = self.findings.iter().map(|(name, count)| (*name, *count));
        kinds.into_iter().filter(|(_, count)| *count > 0).chain(findings)
    }
}

impl Guard {
    /// Takes private spans, injected text, secrets and personal data out of `transcript`.
    ///
    /// Messages keep their ids and their order. One that was injected whole becomes [`Kind::Context`] and its text a
    /// marker; the summary at the start of a compacted session becomes [`Kind::Summary`] and keeps its text. One
    /// that is left without text is removed. Reading the result again changes nothing.
    #[must_use]
    pub fn clean_transcript(&self, mut transcript: Transcript) -> (Redacted<Transcript>, Cleaned) {
        let mut cleaned = Cleaned::default();
        for address in [&mut transcript.project, &mut transcript.repository].into_iter().flatten() {
            *address = without_credentials(address);
        }
        transcript.edit_texts(&mut |text| cleaned.private_spans += private::take_out(text));
        let mut after_memory_call = false;
        let mut reader = Reader::new(&self.denied);
        for message in &mut transcript.messages {
            if reader.shows(message) && message.text != DENIED_MARKER {
                DENIED_MARKER.clone_into(&mut message.text);
                cleaned.denied += 1;
            }
            let answers = after_memory_call && message.kind == Kind::ToolResult;
            after_memory_call = message.kind == Kind::ToolCall && feedback::is_memory_call(&message.text);
            if answers || after_memory_call {
                set_aside(message, &mut cleaned);
            } else {
                strip(message, &mut cleaned);
            }
        }
        let before = transcript.messages.len();
        transcript.messages.retain(|message| !message.text.trim().is_empty());
        cleaned.removed = before - transcript.messages.len();
        let (redacted, findings) = self.redact(transcript);
        cleaned.findings = findings;
        (redacted, cleaned)
    }
}

/// Takes what was injected out of what people, assistants and tools say; the other kinds are nobody's words anyway.
fn strip(message: &mut Message, cleaned: &mut Cleaned) {
    let said = match message.kind {
        Kind::Prose => message.role != Role::System,
        Kind::ToolResult => true,
        Kind::ToolCall | Kind::Reasoning | Kind::Context | Kind::Summary | Kind::Attachment => false,
    };
    if !said {
        return;
    }
    let wrappers = if message.role == Role::User { Wrappers::Unwrap } else { Wrappers::Keep };
    // Taking a block out can join what stood around it into another one.
    for round in 0..MAX_ROUNDS {
        match feedback::strip(&message.text, wrappers) {
            Left::All => return,
            Left::Words(words) => {
                message.text = words;
                cleaned.stripped += usize::from(round == 0);
            }
            Left::Summary => {
                message.kind = Kind::Summary;
                return;
            }
            Left::Nothing => return set_aside(message, cleaned),
        }
    }
}

fn set_aside(message: &mut Message, cleaned: &mut Cleaned) {
    message.kind = Kind::Context;
    INJECTED_MARKER.clone_into(&mut message.text);
    cleaned.injected += 1;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbered(messages: Vec<Message>) -> Transcript {
        let number = |(at, message)| Message { id: format!("m{at}"), ..message };
        Transcript { messages: messages.into_iter().enumerate().map(number).collect(), ..Transcript::default() }
    }

    fn call(text: &str) -> Message {
        Message { kind: Kind::ToolCall, ..Message::assistant(text) }
    }

    fn result(text: &str) -> Message {
        Message { kind: Kind::ToolResult, ..Message::prose(Role::Tool, text) }
    }

    #[test]
    fn each_message_keeps_what_was_said_and_its_id() {
        let (clean, cleaned) = Guard::default().clean_transcript(numbered(vec![
            Message::user("Use tabs. <private>I am ill</private>"),
            Message::user("<system-reminder>Use spaces</system-reminder>"),
            Message::user("Ship it.\n<afterthought-memory v=\"1\">Ana likes tea</afterthought-memory>"),
            Message::assistant("   "),
            Message::user("This session is being continued from a previous conversation. Ana asked for tabs."),
            call("mcp__memory__search tea"),
            result("Ana likes tea"),
            call("Read a.rs"),
            result("fn main() {}\n<system-reminder>empty</system-reminder>"),
            Message::user("DB_PASSWORD=hunter2"),
        ]));
        let said: Vec<_> = clean.messages.iter().map(|m| (m.id.as_str(), m.kind, m.text.as_str())).collect();
        assert_eq!(
            said,
            [
                ("m0", Kind::Prose, "Use tabs. [private]"),
                ("m1", Kind::Context, INJECTED_MARKER),
                ("m2", Kind::Prose, "Ship it."),
                (
                    "m4",
                    Kind::Summary,
                    "This session is being continued from a previous conversation. Ana asked for tabs."
                ),
                ("m5", Kind::Context, INJECTED_MARKER),
                ("m6", Kind::Context, INJECTED_MARKER),
                ("m7", Kind::ToolCall, "Read a.rs"),
                ("m8", Kind::ToolResult, "fn main() {}"),
                ("m9", Kind::Prose, "DB_PASSWORD=[redacted:password]"),
            ]
        );
        let expected = Cleaned {
            findings: Findings::from([("password", 1)]),
            private_spans: 1,
            stripped: 2,
            injected: 3,
            denied: 0,
            removed: 1,
        };
        assert_eq!(cleaned, expected);
        let (again, cleaned) = Guard::default().clean_transcript(clean.clone().into_inner());
        assert_eq!((again, cleaned), (clean, Cleaned::default()));
    }

    #[test]
    fn text_joined_by_taking_a_block_out_is_read_again() {
        let text = "keep\n<system-<system-reminder>x</system-reminder>reminder>y</system-reminder>";
        let (clean, _) = Guard::default().clean_transcript(numbered(vec![Message::user(text)]));
        assert_eq!(clean.messages[0].text, "keep");
    }
}
