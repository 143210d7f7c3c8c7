//! The files of answers: a line a request, in any order.

use serde_json::Value;

use super::super::dialect::Dialect;
use super::super::fault::{Fault, Rejection, Verdict};
use super::super::{Client, LlmError, Reply, Request, wire};

/// One line of a file of answers or errors.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// The name under which the request was sent.
    pub key: String,
    status: Option<u16>,
    body: Value,
    error: Option<String>,
}

/// What one line brings.
#[derive(Debug, Clone)]
pub enum RowAnswer {
    /// An answer.
    Reply(Reply),
    /// None, and the same question may be answered another time.
    Again(String),
    /// None, and asking again does not help.
    Failed(LlmError),
}

/// Returns the rows that `content` holds, and how many of its lines are none.
#[must_use]
pub fn read_rows(content: &[u8]) -> (Vec<Row>, usize) {
    let lines = content.split(|&byte| byte == b'\n').filter(|line| !line.trim_ascii().is_empty());
    let (mut rows, mut broken) = (Vec::new(), 0);
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
    let response = line["response"].take();
    let status = response["status_code"].as_u64().and_then(|status| u16::try_from(status).ok());
    let error = line["error"].as_object().map(|error| {
        let text = |name: &str| error.get(name).and_then(Value::as_str);
        text("code").or_else(|| text("message")).unwrap_or("no reason given").to_owned()
    });
    let body = match response {
        Value::Object(mut response) => response.remove("body").unwrap_or_default(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => Value::Null,
    };
    Some(Row { key, status, body, error })
}

/// Reads the rows of one batch, whose requests were all sent in the same form.
#[derive(Debug)]
pub struct RowReader<'c> {
    client: &'c Client,
    dialect: Dialect,
}

impl Client {
    /// Returns a reader for the rows of one batch.
    #[must_use]
    pub fn row_reader(&self) -> RowReader<'_> {
        RowReader { client: self, dialect: self.dialect() }
    }
}

impl RowReader<'_> {
    /// Returns what `row` brings, and learns from it what the server does not take.
    ///
    /// Without `request`, as where another process has asked, `prompt_tokens` stands in for a count that is missing.
    #[must_use]
    pub fn read(&self, row: &Row, request: Option<&Request>, prompt_tokens: u64) -> RowAnswer {
        let model = &self.client.settings.model;
        let fault = match (row.status, &row.error) {
            (Some(status), _) if !(200..300).contains(&status) => {
                let rejection = Rejection::read(&row.body).unwrap_or_default();
                Fault::Status { status, wait: None, rejection }
            }
            (Some(_), _) => match wire::reply_counted(&row.body, model, || prompt_tokens) {
                Ok(reply) => return RowAnswer::Reply(reply),
                Err(fault) => fault,
            },
            (None, Some(error)) => return RowAnswer::Again(self.client.endpoint().clean(error)),
            (None, None) => return RowAnswer::Again("the row holds no response".to_owned()),
        };
        if self.client.learn(self.dialect, &fault, request) || fault.verdict() == Verdict::Retry {
            return RowAnswer::Again(shown(&fault));
        }
        RowAnswer::Failed(match request {
            Some(request) => self.client.error(&fault, 1, request),
            None => self.client.fault_error(&silenced(fault), 1),
        })
    }
}

/// Returns a fault as it may be told where it is not known what a message would quote.
fn shown(fault: &Fault) -> String {
    match fault {
        Fault::Status { status, .. } => format!("status {status}"),
        Fault::Unreachable(_) | Fault::TimedOut(_) | Fault::Broken(_) | Fault::Unsendable(_) => fault.to_string(),
    }
}

fn silenced(fault: Fault) -> Fault {
    match fault {
        // A request that is too long has to stay known as such; its code tells that and quotes nothing.
        Fault::Status { status, wait, rejection } => {
            let too_long = Fault::Status { status, wait, rejection: rejection.clone() }.verdict() == Verdict::TooLong;
            let message = if too_long { "maximum context length" } else { "(a message that may quote)" };
            Fault::Status { status, wait, rejection: Rejection { message: message.to_owned(), code: String::new() } }
        }
        Fault::Unreachable(_) | Fault::TimedOut(_) | Fault::Broken(_) | Fault::Unsendable(_) => fault,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::llm::ModelSettings;

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
