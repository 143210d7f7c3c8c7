//! Helpers for the tests of formats.

use crate::{Head, Ingestor, Input, Sink, Transcript};

/// Reads `text` as if it were in a file called `name`; returns the transcripts and the skipped records.
pub(crate) fn read(ingestor: &dyn Ingestor, name: &str, text: &str) -> (Vec<Transcript>, Vec<(usize, String)>) {
    read_input(ingestor, Input::from_text(name, text))
}

/// Reads `input`; returns the transcripts and the skipped records.
pub(crate) fn read_input(ingestor: &dyn Ingestor, input: Input) -> (Vec<Transcript>, Vec<(usize, String)>) {
    let mut seen = Vec::new();
    let mut accept = |transcript| seen.push(transcript);
    let mut sink = Sink::new(&mut accept);
    ingestor.read(input, &mut sink).expect("memory can be read");
    let skipped = sink.skipped.into_iter().map(|skipped| (skipped.record, skipped.reason)).collect();
    (seen, skipped)
}

/// Formats each message as `Role Kind text`.
pub(crate) fn lines(transcript: &Transcript) -> Vec<String> {
    let line = |message: &crate::Message| format!("{:?} {:?} {}", message.role, message.kind, message.text);
    transcript.messages.iter().map(line).collect()
}

/// Returns whether `ingestor` recognises a file with the content `text`.
pub(crate) fn sniffs(ingestor: &dyn Ingestor, text: &str) -> bool {
    ingestor.sniff(&Head::new(text.into(), true))
}
