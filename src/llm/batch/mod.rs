//! Many requests in one file, answered within a day for less money: the batch API of OpenAI and of servers like it.
//!
//! ```text
//! lines ─▶ POST /files ─▶ POST /batches ─▶ GET /batches/{id} … ─▶ GET /files/{id}/content ─▶ rows
//! ```

pub(super) mod call;
mod remote;
mod row;

pub use remote::{BatchStatus, RemoteBatch};
pub use row::{Row, RowAnswer, RowReader, read_rows};

use super::{Client, Request, wire};

/// Most requests of one batch.
pub const MAX_REQUESTS: usize = 50_000;
/// Longest file of one batch, in bytes.
pub const MAX_BYTES: usize = 200_000_000;

/// Where the requests of a batch would go if each were sent alone.
const ENDPOINT: &str = "/v1/chat/completions";

impl Client {
    /// Returns the line of a batch's file that asks `request` under the name `key`, with its line end.
    ///
    /// It asks in the form that the server is known to take by now, for a batch has no second try that is quick.
    #[must_use]
    pub fn batch_line(&self, key: &str, request: &Request) -> String {
        let body = wire::body(request, &self.settings.model, &self.dialect());
        let line = serde_json::json!({"custom_id": key, "method": "POST", "url": ENDPOINT, "body": body});
        format!("{line}\n")
    }
}
