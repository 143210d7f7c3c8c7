//! Batches and their results as servers describe them. The functions perform no I/O.

use serde::Deserialize;
use serde_json::Value;

use super::fault::Rejection;
use crate::memory::string_enum;

/// Metadata field of a batch with this program's own id. It identifies the batch if the answer to its submission was
/// lost.
pub(super) const OUR_ID: &str = "afterthought_batch";

/// A batch as the server describes it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub(crate) struct RemoteBatch {
    /// The server's id.
    pub(crate) id: String,
    /// The progress of the batch.
    #[serde(default)]
    pub(crate) status: BatchStatus,
    /// File with the answers.
    #[serde(default)]
    pub(crate) output_file_id: Option<String>,
    /// File with the errors.
    #[serde(default)]
    pub(crate) error_file_id: Option<String>,
    #[serde(default)]
    input_file_id: Option<String>,
    #[serde(default)]
    metadata: Option<Value>,
    #[serde(default)]
    errors: Option<Value>,
}

impl RemoteBatch {
    /// Reads the description of a batch by OpenAI's or Anthropic's API. Returns `None` if `answer` is not such a
    /// description.
    pub(super) fn read(answer: Value) -> Option<Self> {
        let read = match answer["processing_status"].as_str() {
            Some(status) => Some(Self::of_anthropic(status, &answer)),
            None => serde_json::from_value::<Self>(answer).ok(),
        };
        read.filter(|batch| !batch.id.is_empty())
    }

    fn of_anthropic(status: &str, answer: &Value) -> Self {
        let id = answer["id"].as_str().unwrap_or_default().to_owned();
        let status = match status {
            "ended" if answer["cancel_initiated_at"].is_string() => BatchStatus::Cancelled,
            "ended" => BatchStatus::Completed,
            "canceling" => BatchStatus::Cancelling,
            _ => BatchStatus::InProgress,
        };
        // The results have an address only while they exist.
        let output_file_id = answer["results_url"].as_str().map(|_| id.clone());
        Self { id, status, output_file_id, ..Self::default() }
    }

    /// Returns why the server did not accept the file, in the server's words, which may quote the file.
    pub(super) fn complaint(&self) -> Option<&str> {
        self.errors.as_ref()?["data"].as_array()?.iter().find_map(|error| error["message"].as_str())
    }

    pub(super) fn is_ours(&self, id: &str, input_file: &str) -> bool {
        // Some servers drop the metadata, but all return the file that the batch was made from.
        let named = self.metadata.as_ref().and_then(|metadata| metadata[OUR_ID].as_str());
        named == Some(id) || self.input_file_id.as_deref() == Some(input_file)
    }
}

string_enum!(
    /// The state of a batch, in the server's spelling.
    #[derive(Default)]
    BatchStatus, "the state of a batch", {
    /// The server is checking the file.
    Validating = "validating",
    /// The server rejected the file.
    Failed = "failed",
    /// The server is writing the answers.
    Finalizing = "finalizing",
    /// The batch is complete.
    Completed = "completed",
    /// The batch ran out of time. The answers completed before that are available.
    Expired = "expired",
    /// The batch is being cancelled.
    Cancelling = "cancelling",
    /// The batch was cancelled. The answers completed before that are available.
    Cancelled = "cancelled",
    /// The model is answering, or the state is unknown to this version.
    #[default]
    #[serde(other)]
    InProgress = "in_progress",
});

impl BatchStatus {
    /// Whether the state is final. If so, no more answers will arrive.
    pub(crate) const fn is_over(self) -> bool {
        matches!(self, Self::Failed | Self::Completed | Self::Expired | Self::Cancelled)
    }
}

/// One line of a file of answers or errors.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Row {
    /// The name under which the request was sent.
    pub(crate) key: String,
    pub(super) status: Option<u16>,
    pub(super) body: Value,
    pub(super) error: Option<String>,
}

/// Returns the rows that `content` contains, and the number of lines that could not be read as rows.
pub(crate) fn read_rows(content: &[u8]) -> (Vec<Row>, usize) {
    let lines = content.split(|&byte| byte == b'\n').filter(|line| !line.trim_ascii().is_empty());
    let (mut rows, mut broken) = (Vec::new(), 0);
    // A broken line must not make the rest of the file unusable.
    for line in lines {
        match serde_json::from_slice(line).ok().and_then(row) {
            Some(row) => rows.push(row),
            None => broken += 1,
        }
    }
    (rows, broken)
}

fn row(mut line: Value) -> Option<Row> {
    let key = line["custom_id"].as_str().filter(|key| !key.is_empty())?.to_owned();
    if let Some(result) = line.get_mut("result") {
        return Some(row_of_anthropic(key, result.take()));
    }
    let response = line["response"].take();
    let status = response["status_code"].as_u64().and_then(|status| u16::try_from(status).ok());
    let error = line["error"].as_object().map(|error| {
        let text = |name: &str| error.get(name).and_then(Value::as_str);
        // The message may quote the request, but the code does not.
        text("code").or_else(|| text("message")).unwrap_or("no reason given").to_owned()
    });
    let body = match response {
        Value::Object(mut response) => response.remove("body").unwrap_or_default(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => Value::Null,
    };
    Some(Row { key, status, body, error })
}

/// Returns the row of the request `key` in Anthropic's form.
fn row_of_anthropic(key: String, mut result: Value) -> Row {
    match result["type"].as_str() {
        Some("succeeded") => Row { key, status: Some(200), body: result["message"].take(), error: None },
        Some("errored") => {
            let body = result["error"].take();
            let status = Rejection::read(&body).map(|rejection| rejection.status());
            Row { key, status, body, error: Some("no reason given".to_owned()) }
        }
        // In the states `expired` and `canceled`, the request was not sent to the model and costs nothing.
        other => Row { key, status: None, body: Value::Null, error: Some(other.unwrap_or("no result").to_owned()) },
    }
}
