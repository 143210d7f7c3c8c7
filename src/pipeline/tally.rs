//! The summary under way.

use super::{Event, ReadEvent, Summary};
use crate::guard::Redacted;
use crate::transcript::Transcript;

/// The summary under way, and whoever watches it.
pub(super) struct Tally<'a> {
    pub(super) summary: Summary,
    pub(super) watch: &'a mut dyn FnMut(&Event<'_>),
}

impl Tally<'_> {
    /// Notes something that went wrong, and tells it.
    pub(super) fn fail(&mut self, what: impl Into<String>, why: impl Into<String>) {
        self.summary.fail(what, why);
        if let Some(failure) = self.summary.failures.last() {
            (self.watch)(&Event::Failure(failure));
        }
    }

    /// Counts what the reader says; returns the transcript if it brings one.
    pub(super) fn read(&mut self, event: ReadEvent) -> Option<Redacted<Transcript>> {
        match event {
            ReadEvent::Transcript(transcript, cleaned) => {
                self.summary.transcripts += 1;
                self.summary.messages += transcript.messages.len() as u64;
                for (kind, count) in cleaned.counts() {
                    *self.summary.redacted.entry(kind.to_owned()).or_default() += count as u64;
                }
                return Some(*transcript);
            }
            ReadEvent::FileRead(report) => {
                let files = &mut self.summary.files;
                *if report.format.is_some() { &mut files.read } else { &mut files.passed_over } += 1;
                files.skipped_records += report.skipped.len() as u64;
                files.repaired_records += report.repaired as u64;
                (self.watch)(&Event::File(&report));
            }
            ReadEvent::FileFailed(path, error) => {
                self.summary.files.failed += 1;
                self.fail(path.display().to_string(), full_text(&error));
            }
        }
        None
    }
}

/// Returns an error with its causes on one line.
fn full_text(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    text
}
