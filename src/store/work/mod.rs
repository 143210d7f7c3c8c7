//! The state of extraction: windows, the requests about them, and the batches in which requests wait.

mod batches;
mod requests;
#[cfg(test)]
mod tests;
mod windows;

pub use batches::{Batch, BatchReply, BatchRequest, Stage};
pub use requests::{OpenRequest, RequestClaim, RequestId, RequestPart, StoredRequest, UnfinishedWindow};
pub(super) use requests::{close_requests_showing, forget_requests_about};
pub use windows::{Claimed, Finished, WindowKey};

/// Identity of a window in this file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WindowId(pub(in crate::store) i64);

/// A window that was extracted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DoneWindow {
    /// Index of the first message.
    pub start: usize,
    /// Number of messages.
    pub len: usize,
    /// Hash of the messages.
    pub content_hash: String,
}
