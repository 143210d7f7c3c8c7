//! The batch API of a provider: its calls, and the meaning of the rows in its results.

use std::time::Duration;

use async_openai::config::Config as _;
use backon::BackoffBuilder as _;
use reqwest::header::CONTENT_TYPE;
use reqwest::multipart::{Form, Part};
use reqwest::{Method, Url};
use serde_json::{Value, json};

use super::fault::{Fault, Rejection, Verdict};
use super::protocol::Protocol;
use super::remote_batch::{OUR_ID, RemoteBatch, Row};
use super::wire::Dialect;
use super::{Client, LlmError, Reply, Request, anthropic, endpoint, fault, message_batch, wire};

/// Maximum number of requests in one batch.
// Both limits are those of OpenAI's batch API. Anthropic's limits are higher.
pub(crate) const MAX_REQUESTS: usize = 50_000;
/// Maximum size of the file of one batch, in bytes.
pub(crate) const MAX_BYTES: usize = 200_000_000;

/// The endpoint to which each request of a batch would be sent on its own.
const ENDPOINT: &str = "/v1/chat/completions";

impl Client {
    /// Returns the line of a batch's file that contains `request` under the name `key`, including the line break.
    ///
    /// The line uses the form that the server is currently known to accept, since a batch cannot be retried quickly.
    pub(crate) fn batch_line(&self, key: &str, request: &Request) -> String {
        let (model, dialect) = (&self.settings.model, self.dialect());
        let line = if self.is_anthropic() {
            json!({"custom_id": key, "params": anthropic::body(request, model, &dialect)})
        } else {
            let body = wire::body(request, model, &dialect);
            json!({"custom_id": key, "method": "POST", "url": ENDPOINT, "body": body})
        };
        format!("{line}\n")
    }
}

/// Maximum size of an answer that is not a file, in bytes.
const LONGEST_ANSWER: usize = 8 << 20;

pub(super) const NO_BATCHES: &str = "this server has no batch API; run without --batch-api";

/// One call to the batch API.
struct Call<'c> {
    method: Method,
    path: &'c str,
    query: &'c [(&'c str, &'c str)],
    body: Body<'c>,
    timeout: Duration,
    longest: usize,
    /// Advice to the user if the server does not have the path.
    if_missing: &'static str,
    /// Whether the call may safely be repeated if the server accepted it and the answer was lost.
    may_repeat: bool,
}

enum Body<'c> {
    None,
    Json(&'c Value),
    /// Text that already is JSON.
    Written(String),
    File {
        name: &'c str,
        content: &'c [u8],
    },
}

impl<'c> Call<'c> {
    const fn get(path: &'c str, query: &'c [(&'c str, &'c str)], if_missing: &'static str) -> Self {
        Self {
            method: Method::GET,
            path,
            query,
            body: Body::None,
            timeout: Duration::from_mins(1),
            longest: LONGEST_ANSWER,
            if_missing,
            may_repeat: true,
        }
    }

    fn post(path: &'c str, body: Body<'c>) -> Self {
        Self { method: Method::POST, body, ..Self::get(path, &[], NO_BATCHES) }
    }
}

impl Client {
    async fn json(&self, call: Call<'_>) -> Result<Value, LlmError> {
        let body = self.call(call).await?;
        let broken = |_| self.permanent("the answer is not JSON".to_owned(), NO_BATCHES);
        serde_json::from_slice(&body).map_err(broken)
    }

    /// Repeats the call until there is an answer or the retries are used up.
    async fn call(&self, call: Call<'_>) -> Result<Vec<u8>, LlmError> {
        let mut waits = fault::waits(self.settings.max_retries, self.settings.jitter_seed).build();
        let mut attempts = 0;
        loop {
            attempts += 1;
            let fault = match self.attempt_call(&call).await {
                Ok(body) => return Ok(body),
                Err(fault) => fault,
            };
            // Servers without batches answer in one of these ways. The general advice for 404 would blame the base URL.
            if let Fault::Status { status: 404 | 405 | 501, .. } = fault {
                return Err(self.permanent(self.endpoint().clean(&fault.to_string()), call.if_missing));
            }
            // If the answer to a submission is lost, the server may have accepted the batch and will charge for it.
            // Only the list of batches shows this. A server that is busy or unreachable has not accepted the batch.
            let surely_not_taken =
                matches!(fault, Fault::Unreachable(_) | Fault::Status { status: 429, .. }) || call.may_repeat;
            let wait = match fault.verdict() {
                Verdict::Retry if surely_not_taken => fault::wait_after(&fault, waits.next()),
                Verdict::Retry | Verdict::Permanent(_) | Verdict::NoAccess | Verdict::TooLong => None,
            };
            let Some(wait) = wait else { return Err(self.fault_error(&fault, attempts)) };
            (self.sleep)(wait).await;
        }
    }

    /// Makes one attempt.
    async fn attempt_call(&self, call: &Call<'_>) -> Result<Vec<u8>, Fault> {
        // The request is built for each attempt, since sending consumes it.
        let request = self.built(call)?;
        endpoint::within(call.timeout, endpoint::fetch(&self.http, request, call.longest)).await
    }

    fn built(&self, call: &Call<'_>) -> Result<reqwest::Request, Fault> {
        let config = self.endpoint();
        let url = config.url(call.path);
        let mut url = Url::parse(&url).map_err(|error| Fault::Unsendable(error.to_string()))?;
        let own = config.query();
        let pairs: Vec<(&str, &str)> = own.into_iter().chain(call.query.iter().copied()).collect();
        // Even without pairs, `query_pairs_mut` would leave a bare `?` in the URL.
        if !pairs.is_empty() {
            url.query_pairs_mut().extend_pairs(pairs);
        }
        let builder = self.http.request(call.method.clone(), url).headers(config.headers());
        let builder = match &call.body {
            Body::None => builder,
            Body::Json(body) => builder.json(body),
            Body::Written(text) => builder.header(CONTENT_TYPE, "application/json").body(text.clone()),
            Body::File { name, content } => {
                let part = Part::bytes(content.to_vec()).file_name((*name).to_owned());
                // OpenAI rejects a file whose name or type does not indicate that it contains lines of JSON.
                let part = part.mime_str("application/jsonl").map_err(|error| Fault::Unsendable(error.to_string()))?;
                builder.multipart(Form::new().text("purpose", "batch").part("file", part))
            }
        };
        builder.build().map_err(|error| Fault::Unsendable(error.to_string()))
    }
}

/// Number of batches per page of a list, the maximum that OpenAI accepts.
const PAGE: &str = "100";
/// Number of pages, newest batches first, that are searched for a lost batch.
const MAX_PAGES: usize = 50;
/// Timeout for uploading or downloading a file.
const FILE_TIMEOUT: Duration = Duration::from_mins(15);
/// Maximum size of a file of answers that is read, in bytes.
const LONGEST_FILE: usize = 2 << 30;

const NO_SUCH_BATCH: &str = "use the key and base URL with which the batch was submitted, or give the batch up with \
                             `afterthought runs batches --give-up ID`; its requests are then sent and paid for again";

impl Client {
    /// Returns the server's address without credentials, which distinguishes the batches of one server from those of
    /// another.
    pub(crate) fn address(&self) -> &str {
        &self.endpoint().shown
    }

    /// Asks the server for its newest batch, which shows whether it supports batches and accepts the key.
    ///
    /// # Errors
    /// [`LlmError::Permanent`] if the server does not support batches or rejects the key.
    pub(crate) async fn check_batches(&self) -> Result<(), LlmError> {
        self.json(Call::get(self.batches(), &[("limit", "1")], NO_BATCHES)).await.map(|_| ())
    }

    fn is_anthropic(&self) -> bool {
        self.settings.protocol == Protocol::Anthropic
    }

    /// Returns the path of all batches.
    fn batches(&self) -> &'static str {
        if self.is_anthropic() { message_batch::PATH } else { "/batches" }
    }

    /// Sends the file of a batch and returns the server's id for it.
    ///
    /// Anthropic's API has no files. For that API, the result describes the batch well enough to find it in the
    /// server's list.
    ///
    /// # Errors
    /// [`LlmError`], classified by what to do next. Nothing is processed or charged until [`Self::create_batch`] is
    /// called.
    pub(crate) async fn upload_batch(&self, name: &str, content: &[u8]) -> Result<String, LlmError> {
        if self.is_anthropic() {
            let newest = self.json(Call::get(message_batch::PATH, &[("limit", "1")], NO_BATCHES)).await?;
            return Ok(message_batch::ListSlot::new(&newest, content).to_string());
        }
        let call = Call { timeout: FILE_TIMEOUT, ..Call::post("/files", Body::File { name, content }) };
        let answer = self.json(call).await?;
        let id = answer["id"].as_str().filter(|id| !id.is_empty()).map(str::to_owned);
        id.ok_or_else(|| self.permanent("the answer to an upload contains no id".to_owned(), NO_BATCHES))
    }

    /// Submits the batch with this `content`, which was uploaded as `input_file`, under this program's `id`.
    ///
    /// # Errors
    /// [`LlmError::Transient`] if the server may have accepted the batch nevertheless, see [`Self::find_batch`].
    pub(crate) async fn create_batch(
        &self,
        id: &str,
        input_file: &str,
        content: &str,
    ) -> Result<RemoteBatch, LlmError> {
        if self.is_anthropic() {
            let body = Body::Written(message_batch::creation(content));
            let call = Call { may_repeat: false, timeout: FILE_TIMEOUT, ..Call::post(message_batch::PATH, body) };
            return self.described(self.json(call).await?);
        }
        let body = json!({
            "input_file_id": input_file,
            "endpoint": ENDPOINT,
            // No vendor offers any other completion window.
            "completion_window": "24h",
            "metadata": {OUR_ID: id},
        });
        let call = Call { may_repeat: false, ..Call::post("/batches", Body::Json(&body)) };
        let answer = self.json(call).await?;
        self.described(answer)
    }

    /// Returns the batch that was submitted under this program's `id`, if the server has accepted it. `known` contains
    /// the server's ids of this program's other batches.
    ///
    /// # Errors
    /// [`LlmError`], classified by what to do next.
    pub(crate) async fn find_batch(
        &self,
        id: &str,
        input_file: &str,
        known: &[String],
    ) -> Result<Option<RemoteBatch>, LlmError> {
        let slot = message_batch::ListSlot::read(input_file).filter(|_| self.is_anthropic());
        let next = if self.is_anthropic() { "after_id" } else { "after" };
        let mut last: Option<String> = None;
        // The number of pages is limited, since a server that ignores `after` would return its first page forever.
        for _ in 0..MAX_PAGES {
            let after = last.as_deref().map(|last| (next, last));
            let query: Vec<_> = [("limit", PAGE)].into_iter().chain(after).collect();
            let mut page = self.json(Call::get(self.batches(), &query, NO_BATCHES)).await?;
            let listed = page["data"].take().as_array_mut().map(std::mem::take).unwrap_or_default();
            last = listed.last().and_then(|batch| batch["id"].as_str()).map(str::to_owned);
            for entry in listed {
                let is_it = match &slot {
                    Some(slot) if slot.is_reached(&entry) => return Ok(None),
                    Some(slot) => slot.fits(&entry) && entry["id"].as_str().is_some_and(|id| !is_known(known, id)),
                    None => false,
                };
                // An entry of unknown shape must not prevent the others from being read.
                let Ok(batch) = self.described(entry) else { continue };
                if is_it || (slot.is_none() && batch.is_ours(id, input_file)) {
                    return Ok(Some(batch));
                }
            }
            if page["has_more"] != true || last.is_none() {
                break;
            }
        }
        Ok(None)
    }

    /// Returns the current state of the batch with the server's id `remote`.
    ///
    /// # Errors
    /// [`LlmError`], classified by what to do next.
    pub(crate) async fn batch(&self, remote: &str) -> Result<RemoteBatch, LlmError> {
        let answer = self.json(Call::get(&format!("{}/{remote}", self.batches()), &[], NO_SUCH_BATCH)).await?;
        self.described(answer)
    }

    /// Returns the content of a file of answers or errors.
    ///
    /// # Errors
    /// [`LlmError`], classified by what to do next.
    pub(crate) async fn batch_file(&self, file: &str) -> Result<Vec<u8>, LlmError> {
        let path = if self.is_anthropic() { message_batch::results(file) } else { format!("/files/{file}/content") };
        self.call(Call { timeout: FILE_TIMEOUT, longest: LONGEST_FILE, ..Call::get(&path, &[], NO_SUCH_BATCH) }).await
    }

    /// Returns the error that explains why the server did not accept the file of `batch`.
    pub(crate) fn not_taken(&self, batch: &RemoteBatch) -> LlmError {
        let complaint = self.endpoint().clean(batch.complaint().unwrap_or("no reason given"));
        let reason = format!("the server rejected the batch {}: {complaint}", batch.id);
        self.permanent(reason, "correct the error, or run without --batch-api")
    }

    fn described(&self, answer: Value) -> Result<RemoteBatch, LlmError> {
        let read = RemoteBatch::read(answer);
        read.ok_or_else(|| self.permanent("the answer does not describe a batch".to_owned(), NO_BATCHES))
    }

    pub(in crate::llm) fn permanent(&self, reason: String, remedy: &'static str) -> LlmError {
        LlmError::Permanent { endpoint: self.address().to_owned(), reason, remedy: remedy.into() }
    }
}

fn is_known(known: &[String], id: &str) -> bool {
    known.iter().any(|known| known == id)
}

/// The result of one line.
#[derive(Debug, Clone)]
pub(crate) enum RowAnswer {
    /// The model answered.
    Reply(Reply),
    /// There is no answer, but the same request may succeed later.
    Again(String),
    /// There is no answer, and repeating the request would not help.
    Failed(LlmError),
}

/// Reads the rows of one batch, whose requests were all sent in the same form.
#[derive(Debug)]
pub(crate) struct RowReader<'c> {
    client: &'c Client,
    dialect: Dialect,
}

impl Client {
    /// Returns a reader for the rows of one batch.
    pub(crate) fn row_reader(&self) -> RowReader<'_> {
        RowReader { client: self, dialect: self.dialect() }
    }
}

impl RowReader<'_> {
    /// Returns the result of `row`, and records what the server does not accept.
    ///
    /// If `request` is `None`, because another process sent it, `prompt_tokens` replaces a missing token count.
    pub(crate) fn read(&self, row: &Row, request: Option<&Request>, prompt_tokens: u64) -> RowAnswer {
        let model = &self.client.settings.model;
        let fault = match (row.status, &row.error) {
            (Some(status), _) if !(200..300).contains(&status) => {
                let rejection = Rejection::read(&row.body).unwrap_or_default();
                Fault::Status { status, wait: None, rejection }
            }
            (Some(_), _) => {
                let read = if self.client.is_anthropic() { anthropic::reply } else { wire::reply };
                match read(&row.body, model, &|| prompt_tokens) {
                    Ok(reply) => return RowAnswer::Reply(reply),
                    Err(fault) => fault,
                }
            }
            // A row with an error but without a status is a request that the batch had no time for and that costs
            // nothing.
            (None, Some(error)) => return RowAnswer::Again(self.client.endpoint().clean(error)),
            (None, None) => return RowAnswer::Again("the row contains no response".to_owned()),
        };
        // All rows of a batch were sent in the same form, so the cause of the first rejection applies to all of them.
        if self.client.learn(self.dialect, &fault, request) || fault.verdict() == Verdict::Retry {
            return RowAnswer::Again(shown(&fault));
        }
        RowAnswer::Failed(match request {
            Some(request) => self.client.error(&fault, 1, request),
            None => self.client.fault_error(&silenced(fault), 1),
        })
    }
}

/// Returns a fault as text, without a message that may quote a conversation.
fn shown(fault: &Fault) -> String {
    match fault {
        Fault::Status { status, .. } => format!("status {status}"),
        _ => fault.to_string(),
    }
}

fn silenced(fault: Fault) -> Fault {
    match fault {
        // A request that is too long must remain recognisable as such. The error code is sufficient and quotes nothing.
        Fault::Status { status, wait, rejection } => {
            let too_long = Fault::Status { status, wait, rejection: rejection.clone() }.verdict() == Verdict::TooLong;
            // `Fault::verdict` looks for these words in the message.
            let message = if too_long { "maximum context length" } else { "(a message that may quote)" };
            Fault::Status { status, wait, rejection: Rejection { message: message.to_owned(), code: String::new() } }
        }
        _ => fault,
    }
}

#[cfg(test)]
mod row_tests {
    use serde_json::json;

    use super::*;
    use crate::llm::ModelSettings;
    use crate::llm::remote_batch::read_rows;

    fn read(line: &Value) -> RowAnswer {
        let client = Client::new(ModelSettings::new("http://127.0.0.1:1/v1", "m")).unwrap();
        let (rows, broken) = read_rows(line.to_string().as_bytes());
        assert_eq!((rows.len(), broken), (1, 0));
        client.row_reader().read(&rows[0], None, 42)
    }

    #[test]
    fn a_file_is_read_line_by_line_and_broken_lines_are_counted() {
        let text = "{\"custom_id\":\"a\",\"response\":null}\n\n  \n{\"custom_id\":\"b\"\n{\"custom_id\":\"\"}\n[]\n{\"custom_id\":\"c\"}";
        let (rows, broken) = read_rows(text.as_bytes());
        assert_eq!(rows.iter().map(|row| row.key.as_str()).collect::<Vec<_>>(), ["a", "c"]);
        assert_eq!(broken, 3);
    }

    #[test]
    fn an_answer_without_counts_takes_ours() {
        let body = json!({"model": "m-1", "choices": [{"finish_reason": "stop", "message": {"content": "{}"}}]});
        let line = json!({"custom_id": "a", "response": {"status_code": 200, "body": body}, "error": null});
        let RowAnswer::Reply(reply) = read(&line) else { panic!("a reply") };
        assert_eq!((reply.text.as_str(), reply.prompt_tokens, reply.completion_tokens), ("{}", 42, 1));
    }

    #[test]
    fn rows_without_an_answer_are_sorted_by_what_to_do() {
        let failed = |status: u16, message: &str| {
            json!({"custom_id": "a", "error": null, "response": {
                "status_code": status, "body": {"error": {"message": message}},
            }})
        };
        let again = [
            json!({"custom_id": "a", "response": null, "error": {"code": "batch_expired", "message": "late"}}),
            json!({"custom_id": "a", "response": null, "error": null}),
            json!({"custom_id": "a", "response": {"status_code": 200, "body": {}}, "error": null}),
            failed(500, "boom"),
            failed(429, "slow down"),
            failed(400, "'temperature' does not support 0.3"),
        ];
        for line in again {
            assert!(matches!(read(&line), RowAnswer::Again(_)), "{line}");
        }
        let answer = read(&failed(400, "this model's maximum context length is 9 tokens"));
        assert!(matches!(answer, RowAnswer::Failed(LlmError::TooLong { .. })), "{answer:?}");
        let RowAnswer::Failed(error) = read(&failed(400, "I said something private")) else { panic!("a failure") };
        assert!(matches!(error, LlmError::Permanent { .. }) && !error.to_string().contains("private"), "{error}");
    }
}
