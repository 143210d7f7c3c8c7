//! Making a transcript fit to be read by a model: private spans, injected text, secrets and personal data go.

use super::feedback::{self, INJECTED_MARKER, Left};
use super::{Findings, Guard, Redact, Redacted, private};
use crate::transcript::{Kind, Message, Role, Transcript};

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
    /// Messages of which nothing was left, and which are gone.
    pub removed: usize,
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
        transcript.edit_texts(&mut |text| cleaned.private_spans += private::take_out(text));
        let mut after_memory_call = false;
        for message in &mut transcript.messages {
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
    match feedback::strip(&message.text) {
        Left::All => {}
        Left::Words(words) => {
            message.text = words;
            cleaned.stripped += 1;
        }
        Left::Summary => message.kind = Kind::Summary,
        Left::Nothing => set_aside(message, cleaned),
    }
}

fn set_aside(message: &mut Message, cleaned: &mut Cleaned) {
    message.kind = Kind::Context;
    INJECTED_MARKER.clone_into(&mut message.text);
    cleaned.injected += 1;
}
