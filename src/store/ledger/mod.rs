//! The ledger of extraction: transcripts, windows, requests about them, and batches of requests; also runs, jobs and
//! sessions.

mod advice;
mod batches;
mod jobs;
mod requests;
mod runs;
mod sessions;
mod status;
mod transcripts;
mod windows;

use std::fmt;

use serde::{Deserialize, Serialize};

pub use advice::AdviceOutcome;
pub use batches::Stage;
pub(crate) use batches::{Batch, BatchReply, BatchRequest};
pub use jobs::{ClaimedJob, EXTRACT, EnqueueOutcome, Job, JobEnd, JobRequest, JobStatus, LeaseOutcome};
pub(crate) use requests::{RequestClaim, RequestId, RequestPart, StoredRequest, UnfinishedWindow};
pub(super) use requests::{close_requests_showing, forget_requests_about};
pub use runs::{Run, RunStatus};
pub(crate) use sessions::{FailedCommand, HookFiring, Step};
pub use status::Health;
pub(crate) use status::{Spent, days_before};
pub(crate) use transcripts::{FileOutcome, FileRead, KnownLine, SeenTranscript};
pub(crate) use windows::{Claimed, FailedWindow, Finished, PendingWindow, WindowKey};

/// Identity of a run: a `UUIDv7`, so that sorting by ID also sorts by start time.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RunId(String);

impl RunId {
    /// Wraps an id as it appears in the database.
    pub(crate) fn from_stored(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// Returns the id's text.
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the last eight characters, which are shown to people and which people may enter as an ID.
    pub(crate) fn short(&self) -> &str {
        crate::memory::short(&self.0)
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// Identity of a transcript in this file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct TranscriptId(pub(super) i64);

/// Identity of a window in this file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct WindowId(pub(in crate::store) i64);

/// A window that was extracted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DoneWindow {
    /// Index of the first message.
    pub start: usize,
    /// Number of messages.
    pub len: usize,
    /// Hash of the messages.
    pub content_hash: String,
}

#[cfg(test)]
mod tests;
