//! Counts of a run: the summary, and the logs and windows that are in progress.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;

use serde::Serialize;
use transcripts::{Head, IngestError, Transcript, UNNAMED_CAPTIONS, open};

use super::Event;
use super::batch::BatchCounts;
use super::read::{FileMark, LeftOut, ReadEvent};
use crate::consolidate::Decision;
use crate::exchange::recognise;
use crate::extract::{DropReason, Outcome, Spent};
use crate::guard::{Cleaning, Redacted};
use crate::store::{FileOutcome, FileRead, WindowId};

/// The summary of a run. `run --json` prints it last.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Summary {
    /// Id of the run, for `undo`.
    pub run: Option<String>,
    /// `rules-…` or the model's name.
    pub extractor: String,
    /// Files by outcome.
    pub files: Files,
    /// Files and conversations that were left out because they were not selected; a later run may select them.
    pub filtered: SelectionCounts,
    /// Number of conversations read.
    pub transcripts: u64,
    /// Number of messages in these conversations.
    pub messages: u64,
    /// Tasks of coding agents that are new in the work ledger, or changed.
    pub tasks: u64,
    /// Redacted secrets and removed injected blocks, by kind.
    pub redacted: BTreeMap<String, u64>,
    /// Windows by outcome.
    pub windows: Windows,
    /// Number of calls to the model.
    pub llm_calls: u64,
    /// Number of calls that asked about relations between memories; `llm_calls` includes these calls.
    pub relation_calls: u64,
    /// Replies that were already stored and cost nothing.
    pub cached_replies: u64,
    /// Tokens sent.
    pub prompt_tokens: u64,
    /// Tokens received.
    pub completion_tokens: u64,
    /// Cost in dollars, if the price of the model is known.
    pub cost: Option<f64>,
    /// Number of candidates that were judged.
    pub candidates: u64,
    /// Proposals of the extractor that were rejected, by reason.
    pub dropped: BTreeMap<DropReason, u64>,
    /// Candidates by decision.
    pub decisions: BTreeMap<Decision, u64>,
    /// Candidates that wait in the inbox for a person, regardless of the decision.
    pub waiting: u64,
    /// The conversations whose words were attributed to the person named for the run, each with that person.
    #[serde(skip)]
    pub(crate) attributions: Vec<(String, String)>,
    /// Counts of batches; zero if there were none.
    #[serde(skip_serializing_if = "BatchCounts::is_nothing")]
    pub batches: BatchCounts,
    /// The reason why some requests were not sent to the model; `None` if all were sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub halted: Option<String>,
    /// Whether an interrupt prevented windows from being started.
    pub interrupted: bool,
    /// Failures, in the order in which they occurred.
    pub failures: Vec<Failure>,
}

/// Files by outcome.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Files {
    /// Files that were read in a known format.
    pub read: u64,
    /// Files that an earlier run finished and that have not changed since. Unchanged files are not opened, and their
    /// content is counted as known.
    pub unchanged: u64,
    /// Files in a folder that are not logs of a known format.
    pub passed_over: u64,
    /// Datasets in a folder; a dataset is read only if the user specifies it explicitly.
    pub datasets: u64,
    /// Files that could not be read.
    pub failed: u64,
    /// Records in the files that could not be used.
    pub skipped_records: u64,
    /// Files of captions that name no speaker, so that their text is attributed to nobody.
    pub unnamed_captions: u64,
    /// Records that could be used after a repair.
    pub repaired_records: u64,
}

impl Files {
    /// Returns the number of files that were examined without an error.
    pub(crate) const fn seen(&self) -> u64 {
        self.read + self.unchanged + self.passed_over + self.datasets
    }
}

/// Files and conversations that were left out because they were not selected.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct SelectionCounts {
    /// Files that match `--exclude`.
    pub files_excluded: u64,
    /// Files that were last modified before `--since`.
    pub files_out_of_range: u64,
    /// Conversations of projects that match `--exclude`.
    pub conversations_excluded: u64,
    /// Conversations without a message in the time range.
    pub conversations_out_of_range: u64,
    /// Conversations of unknown time, if a time range was specified.
    pub conversations_undated: u64,
    /// Conversations of projects other than those requested.
    pub conversations_of_other_projects: u64,
    /// Conversations that a person erased.
    #[serde(skip_serializing_if = "is_none")]
    pub conversations_erased: u64,
    /// Windows without a message in the time range, in conversations that were read.
    pub windows_out_of_range: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde requires")]
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

    /// Returns whether anything was left out.
    pub(crate) fn any(&self) -> bool {
        *self != Self::default()
    }
}

/// Windows by outcome.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Windows {
    /// All windows of the conversations that were read.
    pub total: u64,
    /// Windows that an earlier run has finished.
    pub known: u64,
    /// Windows in which people say too little to justify a call.
    pub no_signal: u64,
    /// Windows that were read completely and yielded candidates.
    pub ok: u64,
    /// Windows that were read completely but contained nothing worth keeping.
    pub ok_empty: u64,
    /// Windows for which only part of the reply was used.
    pub partial: u64,
    /// Windows for which no part of the reply could be used; the next run tries them again.
    pub failed: u64,
    /// Windows that another process has currently claimed.
    pub held: u64,
    /// Windows in a batch that the provider has not finished; a later run with `--batch-api` collects the reply.
    pub in_batch: u64,
}

/// A failure that did not end the run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Failure {
    /// The path, or the transcript and messages of a window.
    pub what: String,
    /// The cause and the remedy.
    pub why: String,
}

impl Summary {
    /// Counts a window that was extracted in this run.
    pub(crate) fn count(&mut self, outcome: Outcome, spent: Spent) {
        *match outcome {
            Outcome::Ok => &mut self.windows.ok,
            Outcome::OkEmpty => &mut self.windows.ok_empty,
            Outcome::Partial => &mut self.windows.partial,
            Outcome::Failed => &mut self.windows.failed,
        } += 1;
        self.spend(spent);
    }

    /// Adds the cost of calls.
    pub(crate) fn spend(&mut self, spent: Spent) {
        self.llm_calls += spent.calls;
        self.cached_replies += spent.cached;
        self.prompt_tokens += spent.prompt_tokens;
        self.completion_tokens += spent.completion_tokens;
    }

    /// Records a failure.
    pub(crate) fn fail(&mut self, what: impl Into<String>, why: impl Into<String>) {
        self.failures.push(Failure { what: what.into(), why: why.into() });
    }

    /// Returns whether part of the work remains for another run.
    #[must_use]
    pub fn has_failures(&self) -> bool {
        self.interrupted
            || !self.failures.is_empty()
            || self.halted.is_some()
            || self.windows.in_batch > 0
            || self.windows.failed > 0
            || self.files.failed > 0
    }

    /// Returns whether none of the files could be read.
    #[must_use]
    pub(crate) fn has_read_nothing(&self) -> bool {
        self.files.failed > 0 && self.files.read + self.files.unchanged == 0
    }

    /// Returns whether there were files, but none in a format that is read.
    #[must_use]
    pub(crate) fn has_only_other_formats(&self) -> bool {
        self.files.passed_over > 0 && self.files.read + self.files.unchanged + self.files.failed == 0
    }

    /// Returns the number of memories that changed or were added.
    #[must_use]
    pub fn changes(&self) -> u64 {
        let skipped = self.decisions.get(&Decision::Skip).copied().unwrap_or(0);
        self.decisions.values().sum::<u64>() - skipped
    }
}

/// The summary of the current run, and its observer.
pub(super) struct Tally<'a> {
    pub(super) summary: Summary,
    pub(super) files: FilesUnderWay,
    /// Windows that this run is processing. The set is needed because two logs may contain the same conversation.
    pub(super) under_way: HashSet<WindowId>,
    pub(super) watch: &'a mut dyn FnMut(&Event<'_>),
}

impl<'a> Tally<'a> {
    /// Starts with `summary`.
    pub(super) fn new(summary: Summary, watch: &'a mut dyn FnMut(&Event<'_>)) -> Self {
        Self { summary, files: FilesUnderWay::default(), under_way: HashSet::new(), watch }
    }

    /// Records a failure, and reports it.
    pub(super) fn fail(&mut self, what: impl Into<String>, why: impl Into<String>) {
        self.summary.fail(what, why);
        if let Some(failure) = self.summary.failures.last() {
            (self.watch)(&Event::Failure(failure));
        }
    }

    /// Counts a selected conversation.
    pub(super) fn wanted(&mut self, transcript: &Redacted<Transcript>, cleaned: &Cleaning) -> FileNumber {
        let messages = transcript.messages.len() as u64;
        self.summary.transcripts += 1;
        self.summary.messages += messages;
        for (kind, count) in cleaned.counts() {
            *self.summary.redacted.entry(kind.to_owned()).or_default() += count as u64;
        }
        self.files.conversation(messages)
    }

    /// Counts the content of a log that an earlier run has finished, as if the log had been read again.
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

    /// Counts an event of the reader; returns the transcript if the event contains one.
    pub(super) fn read(&mut self, event: ReadEvent) -> Option<(Redacted<Transcript>, Cleaning)> {
        match event {
            ReadEvent::Transcript(transcript, cleaned) => return Some((*transcript, cleaned)),
            ReadEvent::Begun(mark) => self.files.begin(mark),
            ReadEvent::Ended => {}
            ReadEvent::Warning(text) => (self.watch)(&Event::Warning(&text)),
            ReadEvent::Unchanged(file) => self.unchanged(&file),
            ReadEvent::FileLeftOut(path, reason) => {
                // A log that was partly left out is not finished, so that a later run opens it again.
                self.files.spoil_current();
                self.summary.filtered.file(reason);
                (self.watch)(&Event::Detail(&format!("{}: {}", path.display(), reason.as_str())));
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
                files.unnamed_captions += u64::from(report.skipped.iter().any(|one| one.reason == UNNAMED_CAPTIONS));
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

/// Returns the reason why a file could not be read. The user may have passed a file of exported memories to the wrong
/// command.
fn reason(path: &Path, error: &IngestError) -> String {
    // The content is examined only if no reader accepted the file, because most logs are not exported memories.
    let is_of_memories = matches!(error, IngestError::UnknownFormat { .. })
        && path != Path::new("-")
        && open(path).is_ok_and(|input| recognise(&Head::of(&input)).is_some());
    let path = path.display();
    if is_of_memories {
        format!("{path} contains memories, not conversations; import them with `afterthought import {path}`")
    } else {
        full_text(error)
    }
}

/// Returns an error and its causes on one line.
fn full_text(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    text
}

/// The number of a log in progress.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct FileNumber(usize);

/// The logs in progress.
#[derive(Debug, Default)]
pub(super) struct FilesUnderWay {
    next: usize,
    open: HashMap<usize, OpenFile>,
}

#[derive(Debug)]
struct OpenFile {
    file: FileRead,
    is_at_end: bool,
    /// Number of conversations that have not been cut into windows yet, plus the number of unfinished windows.
    pending: u64,
}

impl FilesUnderWay {
    /// Starts a log. A log without a mark, such as standard input, is never recorded as finished.
    pub(super) fn begin(&mut self, mark: Option<FileMark>) {
        self.next += 1;
        if let Some(FileMark { path, stamp }) = mark {
            // This outcome has the lowest rank, so any other outcome replaces it.
            let outcome = FileOutcome::PassedOver;
            let file = FileRead { path, stamp, outcome, transcripts: 0, messages: 0, windows: 0, skipped_records: 0 };
            self.open.insert(self.next, OpenFile { file, is_at_end: false, pending: 0 });
        }
    }

    /// Records the outcome for the current log, or for a file in it.
    pub(super) fn is(&mut self, outcome: FileOutcome, skipped_records: u64) {
        // In an archive, files that were read take precedence over files that were not.
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

    /// Prevents the current log from being recorded as finished, because part of it failed or was left out.
    pub(super) fn spoil_current(&mut self) {
        self.open.remove(&self.next);
    }

    /// Prevents a log from being recorded as finished.
    pub(super) fn spoil(&mut self, number: FileNumber) {
        self.open.remove(&number.0);
    }

    /// Adds a conversation of the current log that has not been cut into windows yet.
    pub(super) fn conversation(&mut self, messages: u64) -> FileNumber {
        if let Some(open) = self.open.get_mut(&self.next) {
            open.file.transcripts += 1;
            open.file.messages += messages;
            open.pending += 1;
        }
        FileNumber(self.next)
    }

    /// Adds the windows of a conversation: windows that are already finished, and windows that are not.
    pub(super) fn cut(&mut self, number: FileNumber, known: u64, new: u64) -> Option<FileRead> {
        if let Some(open) = self.open.get_mut(&number.0) {
            open.file.windows += known + new;
            open.pending += new;
        }
        self.one_less(number)
    }

    /// Records that a window, or the cutting of a conversation, is finished. Returns the log if no other part of it is
    /// pending.
    pub(super) fn one_less(&mut self, number: FileNumber) -> Option<FileRead> {
        let open = self.open.get_mut(&number.0)?;
        open.pending = open.pending.saturating_sub(1);
        self.close(number)
    }

    /// Records that the current log was read to its end; returns the log if no part of it is pending.
    pub(super) fn end(&mut self) -> Option<FileRead> {
        let ended = FileNumber(self.next);
        // Events between two logs belong to neither log.
        self.next += 1;
        self.open.get_mut(&ended.0)?.is_at_end = true;
        self.close(ended)
    }

    fn close(&mut self, number: FileNumber) -> Option<FileRead> {
        // A log counts as finished only when all its windows are finished; otherwise, a killed run would lose some
        // windows.
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
