//! The calls of the batch API.

use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};

use super::super::{Client, LlmError};
use super::ENDPOINT;
use super::call::{Body, Call, NO_BATCHES};

/// Under this name a batch carries our own id, so that one whose answer was lost is found again.
const OUR_ID: &str = "afterthought_batch";
/// Batches on one page of a list; the most that OpenAI takes.
const PAGE: &str = "100";
/// Pages of newest batches that are looked through for one that was lost.
const MAX_PAGES: usize = 50;
/// Longest time for a file to go up or come down.
const FILE_TIMEOUT: Duration = Duration::from_mins(15);
/// Longest file of answers that is read.
const LONGEST_FILE: usize = 2 << 30;

const NO_SUCH_BATCH: &str = "set the key and base URL with which the batch was submitted, or give it up with \
                             `afterthought runs batches --give-up ID`, after which its requests are paid for again";

/// A batch as the server describes it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub struct RemoteBatch {
    /// The server's id.
    pub id: String,
    /// How far it is.
    #[serde(default)]
    pub status: BatchStatus,
    /// File with the answers.
    #[serde(default)]
    pub output_file_id: Option<String>,
    /// File with the errors.
    #[serde(default)]
    pub error_file_id: Option<String>,
    #[serde(default)]
    input_file_id: Option<String>,
    #[serde(default)]
    metadata: Option<Value>,
    #[serde(default)]
    errors: Option<Value>,
}

impl RemoteBatch {
    /// Returns why the server did not take the file, in its words, which may quote it.
    fn complaint(&self) -> Option<&str> {
        self.errors.as_ref()?["data"].as_array()?.iter().find_map(|error| error["message"].as_str())
    }

    fn is_ours(&self, id: &str, input_file: &str) -> bool {
        let named = self.metadata.as_ref().and_then(|metadata| metadata[OUR_ID].as_str());
        named == Some(id) || self.input_file_id.as_deref() == Some(input_file)
    }
}

/// How far a batch is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BatchStatus {
    /// Its file is being checked.
    Validating,
    /// Its file was not taken.
    Failed,
    /// Its answers are being written.
    Finalizing,
    /// Done.
    Completed,
    /// Out of time; what was done is there.
    Expired,
    /// About to be cancelled.
    Cancelling,
    /// Cancelled; what was done is there.
    Cancelled,
    /// Being answered, or in a state that only newer servers know.
    #[default]
    #[serde(other)]
    InProgress,
}

impl BatchStatus {
    /// Whether nothing more will come.
    #[must_use]
    pub const fn is_over(self) -> bool {
        matches!(self, Self::Failed | Self::Completed | Self::Expired | Self::Cancelled)
    }

    /// Returns the server's spelling.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Validating => "validating",
            Self::Failed => "failed",
            Self::InProgress => "in_progress",
            Self::Finalizing => "finalizing",
            Self::Completed => "completed",
            Self::Expired => "expired",
            Self::Cancelling => "cancelling",
            Self::Cancelled => "cancelled",
        }
    }
}

impl Client {
    /// Returns the server's address without credentials, which tells batches of one server from those of another.
    #[must_use]
    pub fn address(&self) -> &str {
        &self.endpoint().shown
    }

    /// Asks the server for its newest batch, which shows whether it has batches at all and takes the key.
    ///
    /// # Errors
    /// [`LlmError::Permanent`] if not.
    pub async fn check_batches(&self) -> Result<(), LlmError> {
        self.json(Call::get("/batches", &[("limit", "1")], NO_BATCHES)).await.map(|_| ())
    }

    /// Sends the file of a batch and returns the server's id for it.
    ///
    /// # Errors
    /// [`LlmError`], sorted by what to do next. Nothing is asked, or paid for, before [`Self::create_batch`].
    pub async fn upload_batch(&self, name: &str, content: &[u8]) -> Result<String, LlmError> {
        let call = Call { timeout: FILE_TIMEOUT, ..Call::post("/files", Body::File { name, content }) };
        let answer = self.json(call).await?;
        let id = answer["id"].as_str().filter(|id| !id.is_empty()).map(str::to_owned);
        id.ok_or_else(|| self.permanent("the answer to an upload holds no id".to_owned(), NO_BATCHES))
    }

    /// Submits the batch that an uploaded file holds, under our own `id`.
    ///
    /// # Errors
    /// [`LlmError::Transient`] if the server may have taken it all the same, see [`Self::find_batch`].
    pub async fn create_batch(&self, id: &str, input_file: &str) -> Result<RemoteBatch, LlmError> {
        let body = json!({
            "input_file_id": input_file,
            "endpoint": ENDPOINT,
            "completion_window": "24h",
            "metadata": {OUR_ID: id},
        });
        let call = Call { may_repeat: false, ..Call::post("/batches", Body::Json(&body)) };
        let answer = self.json(call).await?;
        self.described(answer)
    }

    /// Returns the batch that was submitted under our own `id`, if the server has taken it.
    ///
    /// # Errors
    /// [`LlmError`], sorted by what to do next.
    pub async fn find_batch(&self, id: &str, input_file: &str) -> Result<Option<RemoteBatch>, LlmError> {
        let mut last: Option<String> = None;
        for _ in 0..MAX_PAGES {
            let after = last.as_deref().map(|last| ("after", last));
            let query: Vec<_> = [("limit", PAGE)].into_iter().chain(after).collect();
            let mut page = self.json(Call::get("/batches", &query, NO_BATCHES)).await?;
            let listed = page["data"].take().as_array_mut().map(std::mem::take).unwrap_or_default();
            last = listed.last().and_then(|batch| batch["id"].as_str()).map(str::to_owned);
            let mut batches = listed.into_iter().filter_map(|batch| serde_json::from_value::<RemoteBatch>(batch).ok());
            if let Some(found) = batches.find(|batch| batch.is_ours(id, input_file)) {
                return Ok(Some(found));
            }
            if page["has_more"] != true || last.is_none() {
                break;
            }
        }
        Ok(None)
    }

    /// Returns how far the batch with the server's id `remote` is.
    ///
    /// # Errors
    /// [`LlmError`], sorted by what to do next.
    pub async fn batch(&self, remote: &str) -> Result<RemoteBatch, LlmError> {
        let answer = self.json(Call::get(&format!("/batches/{remote}"), &[], NO_SUCH_BATCH)).await?;
        self.described(answer)
    }

    /// Returns the content of a file of answers or errors.
    ///
    /// # Errors
    /// [`LlmError`], sorted by what to do next.
    pub async fn batch_file(&self, file: &str) -> Result<Vec<u8>, LlmError> {
        let path = format!("/files/{file}/content");
        self.call(Call { timeout: FILE_TIMEOUT, longest: LONGEST_FILE, ..Call::get(&path, &[], NO_SUCH_BATCH) }).await
    }

    /// Returns why the server did not take the file of `batch`.
    #[must_use]
    pub fn not_taken(&self, batch: &RemoteBatch) -> LlmError {
        let complaint = self.endpoint().clean(batch.complaint().unwrap_or("no reason given"));
        let reason = format!("the batch {} was not taken: {complaint}", batch.id);
        self.permanent(reason, "mend what it complains of, or run without --batch-api")
    }

    fn described(&self, answer: Value) -> Result<RemoteBatch, LlmError> {
        let read = serde_json::from_value::<RemoteBatch>(answer).ok().filter(|batch| !batch.id.is_empty());
        read.ok_or_else(|| self.permanent("the answer describes no batch".to_owned(), NO_BATCHES))
    }

    pub(in crate::llm) fn permanent(&self, reason: String, remedy: &'static str) -> LlmError {
        LlmError::Permanent { endpoint: self.address().to_owned(), reason, remedy }
    }
}
