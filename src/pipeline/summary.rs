//! Counts of a run: the summary, and the logs and windows under way.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;

use serde::Serialize;
use transcripts::{Head, IngestError, Transcript, open};

use super::Event;
use super::batch::BatchCounts;
use super::read::{FileMark, LeftOut, ReadEvent};
use crate::consolidate::Decision;
use crate::exchange::recognise;
use crate::extract::{DropReason, Outcome, Spent};
use crate::guard::{Cleaning, Redacted};
use crate::store::{FileOutcome, FileRead, WindowId};

/// The summary of a run. `run --json` ends with it.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Summary {
    /// Id of the run, for `undo`.
    pub run: Option<String>,
    /// `rules-…` or the model's name.
    pub extractor: String,
    /// Files by what became of them.
    pub files: Files,
    /// What was left out because it was not asked for, and waits for a run that asks for it.
    pub filtered: SelectionCounts,
    /// Conversations read.
    pub transcripts: u64,
    /// Messages in them.
    pub messages: u64,
    /// Secrets and injected blocks taken out, by kind.
    pub redacted: BTreeMap<String, u64>,
    /// Windows by what became of them.
    pub windows: Windows,
    /// Calls to the model.
    pub llm_calls: u64,
    /// Those of the calls that asked how memories relate to each other.
    pub relation_calls: u64,
    /// Replies that were known from before and cost nothing.
    pub cached_replies: u64,
    /// Tokens sent.
    pub prompt_tokens: u64,
    /// Tokens received.
    pub completion_tokens: u64,
    /// Dollars, where the price of the model is known.
    pub cost: Option<f64>,
    /// Candidates that were judged.
    pub candidates: u64,
    /// Proposals of the extractor that were not taken, by reason.
    pub dropped: BTreeMap<DropReason, u64>,
    /// Candidates by decision.
    pub decisions: BTreeMap<Decision, u64>,
    /// Candidates that wait in the inbox for a person, whatever was decided about them.
    pub waiting: u64,
    /// What became of batches, where there were any.
    #[serde(skip_serializing_if = "BatchCounts::is_nothing")]
    pub batches: BatchCounts,
    /// Why the model was not asked to the end, if so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub halted: Option<String>,
    /// Whether an interrupt kept windows from being started.
    pub interrupted: bool,
    /// What went wrong, in the order in which it did.
    pub failures: Vec<Failure>,
}

/// Files by what became of them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Files {
    /// Read as a known format.
    pub read: u64,
    /// Finished by an earlier run and not changed since, so not opened; what is in them is counted as known.
    pub unchanged: u64,
    /// In a folder, but no log of a known format.
    pub passed_over: u64,
    /// In a folder, and a dataset, which is only read where it is named.
    pub datasets: u64,
    /// Could not be read.
    pub failed: u64,
    /// Records in the files that could not be used.
    pub skipped_records: u64,
    /// Records that were used after a repair.
    pub repaired_records: u64,
}

impl Files {
    /// Returns how many were looked into without an error.
    #[must_use]
    pub(crate) const fn seen(&self) -> u64 {
        self.read + self.unchanged + self.passed_over + self.datasets
    }
}

/// What was left out because it was not asked for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct SelectionCounts {
    /// Files that match `--exclude`.
    pub files_excluded: u64,
    /// Files that were last changed before `--since`.
    pub files_out_of_range: u64,
    /// Conversations of projects that match `--exclude`.
    pub conversations_excluded: u64,
    /// Conversations without a message in the range of time.
    pub conversations_out_of_range: u64,
    /// Conversations of unknown time, where a range was asked for.
    pub conversations_undated: u64,
    /// Conversations of other projects than those asked for.
    pub conversations_of_other_projects: u64,
    /// Conversations that a person had erased.
    #[serde(skip_serializing_if = "is_none")]
    pub conversations_erased: u64,
    /// Windows without a message in the range of time, of conversations that were read.
    pub windows_out_of_range: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the form that serde asks for")]
const fn is_none(count: &u64) -> bool {
    *count == 0
}

impl SelectionCounts {
    /// Counts a file that was left out.
    pub(crate) const fn file(&mut self, reason: LeftOut) {
        *match reason {
            LeftOut::Excluded | LeftOut::OtherProject => &mut self.files_excluded,
            LeftOut::OutOfRange | LeftOut::Undated => &mut self.files_out_of_range,
        } += 1;
    }

    /// Counts a conversation that was left out.
    pub(crate) const fn conversation(&mut self, reason: LeftOut) {
        *match reason {
            LeftOut::Excluded => &mut self.conversations_excluded,
            LeftOut::OutOfRange => &mut self.conversations_out_of_range,
            LeftOut::Undated => &mut self.conversations_undated,
            LeftOut::OtherProject => &mut self.conversations_of_other_projects,
        } += 1;
    }

    /// Whether anything was left out.
    #[must_use]
    pub(crate) fn any(&self) -> bool {
        *self != Self::default()
    }
}

/// Windows by what became of them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Windows {
    /// All windows of the conversations read.
    pub total: u64,
    /// Finished by an earlier run.
    pub known: u64,
    /// Without a person's words worth a call.
    pub no_signal: u64,
    /// Read whole, with candidates.
    pub ok: u64,
    /// Read whole; nothing worth keeping.
    pub ok_empty: u64,
    /// Part of the reply was used.
    pub partial: u64,
    /// Nothing could be used; the next run tries again.
    pub failed: u64,
    /// Held by another process at this moment.
    pub held: u64,
    /// Asked about in a batch of the provider that has not come back; a later run with `--batch-api` takes the answer.
    pub in_batch: u64,
}

/// Something that went wrong without ending the run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Failure {
    /// A path, or the transcript and messages of a window.
    pub what: String,
    /// Why, with the remedy.
    pub why: String,
}

impl Summary {
    /// Counts a window that was extracted now.
    pub(crate) fn count(&mut self, outcome: Outcome, spent: Spent) {
        *match outcome {
            Outcome::Ok => &mut self.windows.ok,
            Outcome::OkEmpty => &mut self.windows.ok_empty,
            Outcome::Partial => &mut self.windows.partial,
            Outcome::Failed => &mut self.windows.failed,
        } += 1;
        self.spend(spent);
    }

    /// Adds what calls have cost.
    pub(crate) fn spend(&mut self, spent: Spent) {
        self.llm_calls += spent.calls;
        self.cached_replies += spent.cached;
        self.prompt_tokens += spent.prompt_tokens;
        self.completion_tokens += spent.completion_tokens;
    }

    /// Notes something that went wrong.
    pub(crate) fn fail(&mut self, what: impl Into<String>, why: impl Into<String>) {
        self.failures.push(Failure { what: what.into(), why: why.into() });
    }

    /// Whether part of the work is left for another run.
    #[must_use]
    pub fn has_failures(&self) -> bool {
        self.interrupted
            || !self.failures.is_empty()
            || self.halted.is_some()
            || self.windows.in_batch > 0
            || self.windows.failed > 0
            || self.files.failed > 0
    }

    /// Returns the number of memories that changed or were added.
    #[must_use]
    pub fn changes(&self) -> u64 {
        let skipped = self.decisions.get(&Decision::Skip).copied().unwrap_or(0);
        self.decisions.values().sum::<u64>() - skipped
    }
}

/// The summary under way, and whoever watches it.
pub(super) struct Tally<'a> {
    pub(super) summary: Summary,
    pub(super) files: FilesUnderWay,
    /// Windows that this run is at: two logs may contain the same conversation.
    pub(super) under_way: HashSet<WindowId>,
    pub(super) watch: &'a mut dyn FnMut(&Event<'_>),
}

impl<'a> Tally<'a> {
    /// Begins with `summary`.
    pub(super) fn new(summary: Summary, watch: &'a mut dyn FnMut(&Event<'_>)) -> Self {
        Self { summary, files: FilesUnderWay::default(), under_way: HashSet::new(), watch }
    }

    /// Notes something that went wrong, and reports it.
    pub(super) fn fail(&mut self, what: impl Into<String>, why: impl Into<String>) {
        self.summary.fail(what, why);
        if let Some(failure) = self.summary.failures.last() {
            (self.watch)(&Event::Failure(failure));
        }
    }

    /// Counts a conversation that is wanted.
    pub(super) fn wanted(&mut self, transcript: &Redacted<Transcript>, cleaned: &Cleaning) -> FileNumber {
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

    /// Counts an event of the reader; returns the transcript if it brings one.
    pub(super) fn read(&mut self, event: ReadEvent) -> Option<(Redacted<Transcript>, Cleaning)> {
        match event {
            ReadEvent::Transcript(transcript, cleaned) => return Some((*transcript, cleaned)),
            ReadEvent::Begun(mark) => self.files.begin(mark),
            ReadEvent::Ended => {}
            ReadEvent::Unchanged(file) => self.unchanged(&file),
            ReadEvent::FileLeftOut(reason) => {
                // A log with parts left out is not finished: a run that asks for them has to open it again.
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

/// Returns why a file could not be read. One that contains memories was given to the wrong command.
fn reason(path: &Path, error: &IngestError) -> String {
    // Looked into again only where no reader took it, since most logs are not memories.
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

/// A log that is under way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct FileNumber(usize);

/// The logs that are under way.
#[derive(Debug, Default)]
pub(super) struct FilesUnderWay {
    next: usize,
    open: HashMap<usize, OpenFile>,
}

#[derive(Debug)]
struct OpenFile {
    file: FileRead,
    is_at_end: bool,
    /// Conversations that are not cut yet, and windows that are not finished yet.
    pending: u64,
}

impl FilesUnderWay {
    /// Begins with a log. One without a mark, such as standard input, is never noted.
    pub(super) fn begin(&mut self, mark: Option<FileMark>) {
        self.next += 1;
        if let Some(FileMark { path, stamp }) = mark {
            // The lowest rank, which anything that is read replaces.
            let outcome = FileOutcome::PassedOver;
            let file = FileRead { path, stamp, outcome, transcripts: 0, messages: 0, windows: 0, skipped_records: 0 };
            self.open.insert(self.next, OpenFile { file, is_at_end: false, pending: 0 });
        }
    }

    /// Notes what the log that is being read, or a file in it, turned out to be.
    pub(super) fn is(&mut self, outcome: FileOutcome, skipped_records: u64) {
        // In an archive, files that were read count before those that were not.
        let rank = |outcome| match outcome {
            FileOutcome::PassedOver => 0,
            FileOutcome::Dataset => 1,
            FileOutcome::Read => 2,
        };
        if let Some(open) = self.open.get_mut(&self.next) {
            open.file.skipped_records += skipped_records;
            if rank(outcome) > rank(open.file.outcome) {
                open.file.outcome = outcome;
            }
        }
    }

    /// Keeps the log that is being read from being noted: part of it failed or was left out.
    pub(super) fn spoil_current(&mut self) {
        self.open.remove(&self.next);
    }

    /// Keeps a log from being noted.
    pub(super) fn spoil(&mut self, number: FileNumber) {
        self.open.remove(&number.0);
    }

    /// Takes in a conversation of the log that is being read, which is still to be cut.
    pub(super) fn conversation(&mut self, messages: u64) -> FileNumber {
        if let Some(open) = self.open.get_mut(&self.next) {
            open.file.transcripts += 1;
            open.file.messages += messages;
            open.pending += 1;
        }
        FileNumber(self.next)
    }

    /// Takes in the windows of a conversation: those finished before, and those to be finished.
    #[must_use]
    pub(super) fn cut(&mut self, number: FileNumber, known: u64, new: u64) -> Option<FileRead> {
        if let Some(open) = self.open.get_mut(&number.0) {
            open.file.windows += known + new;
            open.pending += new;
        }
        self.one_less(number)
    }

    /// Takes in that a window, or the cutting of a conversation, is finished; returns the log if that was the last.
    #[must_use]
    pub(super) fn one_less(&mut self, number: FileNumber) -> Option<FileRead> {
        let open = self.open.get_mut(&number.0)?;
        open.pending = open.pending.saturating_sub(1);
        self.close(number)
    }

    /// Takes in that the log was read to its end; returns it if nothing of it is pending.
    #[must_use]
    pub(super) fn end(&mut self) -> Option<FileRead> {
        let ended = FileNumber(self.next);
        // What happens between two logs concerns neither.
        self.next += 1;
        self.open.get_mut(&ended.0)?.is_at_end = true;
        self.close(ended)
    }

    fn close(&mut self, number: FileNumber) -> Option<FileRead> {
        // A log counts as finished only with all its windows, or a killed run would lose the rest.
        let is_done = self.open.get(&number.0).is_some_and(|open| open.is_at_end && open.pending == 0);
        if is_done { self.open.remove(&number.0).map(|open| open.file) } else { None }
    }
}

#[cfg(test)]
mod tally_tests {
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

#[cfg(test)]
mod files_tests {
    use super::*;

    fn mark(path: &str) -> FileMark {
        FileMark { path: path.into(), stamp: "s".into() }
    }

    #[test]
    fn a_log_is_done_when_its_end_and_all_its_windows_are() {
        let mut files = FilesUnderWay::default();
        files.begin(Some(mark("a")));
        let (one, two) = (files.conversation(5), files.conversation(7));
        files.is(FileOutcome::Read, 3);
        assert_eq!(files.cut(one, 1, 2), None);
        assert_eq!(files.end(), None);
        files.begin(Some(mark("b")));
        assert_eq!(files.end().unwrap().outcome, FileOutcome::PassedOver);
        assert_eq!(files.one_less(one), None);
        assert_eq!(files.cut(two, 1, 0), None);
        let done = files.one_less(one).unwrap();
        assert_eq!((done.path.as_str(), done.outcome), ("a", FileOutcome::Read));
        assert_eq!((done.transcripts, done.messages, done.windows, done.skipped_records), (2, 12, 4, 3));
        assert!(files.open.is_empty());
    }

    #[test]
    fn what_happens_between_two_logs_concerns_neither() {
        let mut files = FilesUnderWay::default();
        files.begin(Some(mark("a")));
        let one = files.conversation(1);
        assert_eq!(files.end(), None);
        files.spoil_current();
        assert_eq!(files.cut(one, 1, 0).unwrap().path, "a");
    }

    #[test]
    fn what_failed_or_was_left_out_is_never_done() {
        let mut files = FilesUnderWay::default();
        files.begin(Some(mark("a")));
        let one = files.conversation(1);
        files.spoil_current();
        assert_eq!((files.cut(one, 0, 0), files.end()), (None, None));
        files.begin(Some(mark("b")));
        let one = files.conversation(1);
        assert_eq!(files.end(), None);
        files.spoil(one);
        assert_eq!(files.cut(one, 0, 0), None);
        files.begin(None);
        let one = files.conversation(1);
        assert_eq!((files.cut(one, 1, 0), files.end()), (None, None));
    }
}
