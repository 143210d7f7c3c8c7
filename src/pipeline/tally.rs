//! The summary under way.

use std::collections::HashSet;
use std::path::Path;

use super::files::{FileNumber, FilesUnderWay};
use super::{Event, ReadEvent, Summary};
use crate::exchange::recognise;
use crate::guard::{Cleaned, Redacted};
use crate::store::{FileOutcome, FileRead, WindowId};
use transcripts::Transcript;
use transcripts::{Head, IngestError, open};

/// The summary under way, and whoever watches it.
pub(super) struct Tally<'a> {
    pub(super) summary: Summary,
    pub(super) files: FilesUnderWay,
    /// Windows that this run is at: two logs may hold the same conversation.
    pub(super) under_way: HashSet<WindowId>,
    pub(super) watch: &'a mut dyn FnMut(&Event<'_>),
}

impl<'a> Tally<'a> {
    /// Begins with `summary`.
    pub(super) fn new(summary: Summary, watch: &'a mut dyn FnMut(&Event<'_>)) -> Self {
        Self { summary, files: FilesUnderWay::default(), under_way: HashSet::new(), watch }
    }

    /// Notes something that went wrong, and tells it.
    pub(super) fn fail(&mut self, what: impl Into<String>, why: impl Into<String>) {
        self.summary.fail(what, why);
        if let Some(failure) = self.summary.failures.last() {
            (self.watch)(&Event::Failure(failure));
        }
    }

    /// Counts a conversation that is wanted.
    pub(super) fn wanted(&mut self, transcript: &Redacted<Transcript>, cleaned: &Cleaned) -> FileNumber {
        let messages = transcript.messages.len() as u64;
        self.summary.transcripts += 1;
        self.summary.messages += messages;
        for (kind, count) in cleaned.counts() {
            *self.summary.redacted.entry(kind.to_owned()).or_default() += count as u64;
        }
        self.files.conversation(messages)
    }

    /// Counts what an earlier run has finished, as if it had been read and found to be known.
    fn unchanged(&mut self, file: &FileRead) {
        let files = &mut self.summary.files;
        *match file.outcome {
            FileOutcome::Read => &mut files.unchanged,
            FileOutcome::PassedOver => &mut files.passed_over,
            FileOutcome::Dataset => &mut files.datasets,
        } += 1;
        files.skipped_records += file.skipped_records;
        self.summary.transcripts += file.transcripts;
        self.summary.messages += file.messages;
        self.summary.windows.total += file.windows;
        self.summary.windows.known += file.windows;
    }

    /// Counts what the reader says; returns the transcript if it brings one.
    pub(super) fn read(&mut self, event: ReadEvent) -> Option<(Redacted<Transcript>, Cleaned)> {
        match event {
            ReadEvent::Transcript(transcript, cleaned) => return Some((*transcript, cleaned)),
            ReadEvent::Begun(mark) => self.files.begin(mark),
            ReadEvent::Ended => {}
            ReadEvent::Unchanged(file) => self.unchanged(&file),
            ReadEvent::FileLeftOut(reason) => {
                self.files.spoil_current();
                self.summary.filtered.file(reason);
            }
            ReadEvent::FileRead(report) => {
                let files = &mut self.summary.files;
                let (count, outcome) = match (report.format, report.is_dataset) {
                    (Some(_), _) => (&mut files.read, FileOutcome::Read),
                    (None, true) => (&mut files.datasets, FileOutcome::Dataset),
                    (None, false) => (&mut files.passed_over, FileOutcome::PassedOver),
                };
                *count += 1;
                self.files.is(outcome, report.skipped.len() as u64);
                files.skipped_records += report.skipped.len() as u64;
                files.repaired_records += report.repaired as u64;
                (self.watch)(&Event::File(&report));
            }
            ReadEvent::FileFailed(path, error) => {
                self.files.spoil_current();
                self.summary.files.failed += 1;
                self.fail(path.display().to_string(), reason(&path, &error));
            }
        }
        None
    }
}

/// Returns why a file could not be read. One that holds memories was given to the wrong command.
fn reason(path: &Path, error: &IngestError) -> String {
    let is_of_memories = matches!(error, IngestError::UnknownFormat { .. })
        && path != Path::new("-")
        && open(path).is_ok_and(|input| recognise(&Head::of(&input)).is_some());
    let path = path.display();
    if is_of_memories {
        format!("{path} holds memories, not conversations; take them over with `afterthought import {path}`")
    } else {
        full_text(error)
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
        let mut watch = |_: &Event<'_>| {};
        let mut tally = Tally::new(Summary::default(), &mut watch);
        for report in [report(None, true), report(None, false), report(None, true), report(Some("claude-code"), false)]
        {
            tally.read(ReadEvent::FileRead(report));
        }
        let files = tally.summary.files;
        assert_eq!((files.datasets, files.passed_over, files.read), (2, 1, 1));
    }
}
