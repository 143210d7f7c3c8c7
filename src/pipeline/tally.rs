//! The summary under way.

use super::{Event, ReadEvent, Summary};
use crate::guard::{Cleaned, Redacted};
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

    /// Counts a conversation that is wanted.
    pub(super) fn wanted(&mut self, transcript: &Redacted<Transcript>, cleaned: &Cleaned) {
        self.summary.transcripts += 1;
        self.summary.messages += transcript.messages.len() as u64;
        for (kind, count) in cleaned.counts() {
            *self.summary.redacted.entry(kind.to_owned()).or_default() += count as u64;
        }
    }

    /// Counts what the reader says; returns the transcript if it brings one.
    pub(super) fn read(&mut self, event: ReadEvent) -> Option<(Redacted<Transcript>, Cleaned)> {
        match event {
            ReadEvent::Transcript(transcript, cleaned) => return Some((*transcript, cleaned)),
            ReadEvent::FileLeftOut(reason) => self.summary.filtered.file(reason),
            ReadEvent::FileRead(report) => {
                let files = &mut self.summary.files;
                *match (report.format, report.is_dataset) {
                    (Some(_), _) => &mut files.read,
                    (None, true) => &mut files.datasets,
                    (None, false) => &mut files.passed_over,
                } += 1;
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

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::pipeline::FileReport;

    #[test]
    fn datasets_are_told_apart_from_what_is_of_no_format() {
        let report = |format, is_dataset| FileReport {
            path: PathBuf::from("x"),
            format,
            is_dataset,
            skipped: Vec::new(),
            repaired: 0,
        };
        let mut tally = Tally { summary: Summary::default(), watch: &mut |_| {} };
        for report in [report(None, true), report(None, false), report(None, true), report(Some("claude-code"), false)]
        {
            tally.read(ReadEvent::FileRead(report));
        }
        let files = tally.summary.files;
        assert_eq!((files.datasets, files.passed_over, files.read), (2, 1, 1));
    }
}
