//! The state of extraction: windows, the requests about them, and the batches in which requests wait.

mod batches;
mod requests;
#[cfg(test)]
mod tests;
mod windows;

pub use batches::{Batch, BatchRequest, RowOutcome, Stage};
pub use requests::{OpenRequest, RequestClaim, RequestId, RequestPart, StoredRequest, UnfinishedWindow};
pub(super) use requests::{close_requests_showing, forget_requests_about};
pub use windows::{Claimed, DoneWindow, Finished, WindowId, WindowKey};
