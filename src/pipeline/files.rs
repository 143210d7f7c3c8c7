//! Which logs a run has come to the end of: read whole, with every window finished and nothing left out.
//!
//! Windows finish in any order, and while later logs are already being read, so each log that is under way is counted
//! down to nothing here. What failed, was held by another process, or was left out keeps its log open, and a later run
//! reads it again.

use std::collections::HashMap;

use crate::store::{FileOutcome, FileRead};

/// A log as it was when its reading began.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileMark {
    /// Hash of its path.
    pub path: String,
    /// What it was like.
    pub stamp: String,
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
            let outcome = FileOutcome::PassedOver;
            let file = FileRead { path, stamp, outcome, transcripts: 0, messages: 0, windows: 0, skipped_records: 0 };
            self.open.insert(self.next, OpenFile { file, is_at_end: false, pending: 0 });
        }
    }

    /// Notes what the log that is being read, or a file in it, turned out to be.
    pub(super) fn is(&mut self, outcome: FileOutcome, skipped_records: u64) {
        // Of an archive, what was read counts before what was not.
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
        let is_done = self.open.get(&number.0).is_some_and(|open| open.is_at_end && open.pending == 0);
        if is_done { self.open.remove(&number.0).map(|open| open.file) } else { None }
    }
}

#[cfg(test)]
mod tests {
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
