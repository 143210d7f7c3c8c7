//! Faults of a server, classified by what to do next, and the waits between attempts.

use std::time::Duration;

use async_openai::error::OpenAIError;
use backon::ExponentialBuilder;
use jiff::Timestamp;
use reqwest::header::{DATE, HeaderMap, RETRY_AFTER};
use serde_json::Value;

use crate::guard::without_secrets;

/// The reason why one attempt received no reply. The texts may contain parts of the request that the server repeats.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub(super) enum Fault {
    #[error("no connection ({0})")]
    Unreachable(String),
    #[error("no answer within {0:?}")]
    TimedOut(Duration),
    #[error("{0}")]
    Broken(String),
    #[error("the request cannot be built ({0})")]
    Unsendable(String),
    /// A program could not be started.
    #[error("{0}")]
    NotStarted(String),
    /// A program answered with an error. The code may be the status of the server that the program uses.
    #[error("{}", .0.message)]
    Declined(Rejection),
    #[error("status {status}: {}", .rejection.message)]
    Status { status: u16, wait: Option<Duration>, rejection: Rejection },
}

/// The action to take after a fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    Retry,
    Permanent(&'static str),
    /// The key or the login was rejected.
    NoAccess,
    TooLong,
}

/// The error message of a server that rejects a request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Rejection {
    pub message: String,
    /// Code, type and parameter of the error, separated by spaces.
    pub code: String,
}

impl Rejection {
    /// Returns the error that `body` contains, in any of the forms that servers use.
    pub(super) fn read(body: &Value) -> Option<Self> {
        // Google puts the error into a list.
        let body = body.get(0).unwrap_or(body);
        let error = &body["error"];
        if let Some(message) = error.as_str().filter(|message| !message.is_empty()) {
            return Some(Self { message: without_secrets(message.to_owned()), code: String::new() });
        }
        if error.is_object() {
            return Some(Self::from_object(error));
        }
        // A reply may also contain `message` or `detail`. It is an error only if it has no choices.
        if body.get("choices").is_some() {
            return None;
        }
        if body["object"] == "error" || body["message"].is_string() {
            return Some(Self::from_object(body));
        }
        Some(Self { message: without_secrets(detail(&body["detail"])?), code: String::new() })
    }

    fn from_object(error: &Value) -> Self {
        let code = ["code", "status", "type", "param"]
            .iter()
            .filter_map(|name| match &error[*name] {
                Value::String(text) => Some(text.clone()),
                Value::Number(number) => Some(number.to_string()),
                Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
            })
            .collect::<Vec<_>>()
            .join(" ");
        let message = detail(&error["message"]).map_or_else(|| "no message".to_owned(), without_secrets);
        Self { message, code: without_secrets(code) }
    }

    /// Returns the message and the code in lower case, for word searches.
    pub(super) fn text(&self) -> String {
        format!("{} {}", self.message, self.code).to_lowercase()
    }

    /// Returns the status of an error inside an answer with status 200, or 502 if the error contains none.
    pub(super) fn status(&self) -> u16 {
        let named = self.code.split(' ').filter_map(|word| word.parse().ok()).find(|code| (400..600).contains(code));
        let text = self.text();
        let by_word = [
            ("insufficient_quota", 429),
            ("rate_limit", 429),
            ("rate limit", 429),
            ("usage limit", 429),
            ("hit your limit", 429),
            ("overloaded", 529),
            ("api_key", 401),
            ("api key", 401),
            ("authentication", 401),
            ("not logged in", 401),
            ("permission", 403),
            ("not_found", 404),
            ("not found", 404),
            ("context_length", 400),
            ("invalid_request", 400),
        ];
        let guessed = || by_word.iter().find(|(word, _)| text.contains(word)).map(|(_, status)| *status);
        // If the error contains no status, a server error is assumed, so that the request is retried.
        named.or_else(guessed).unwrap_or(502)
    }

    /// Whether the key was rejected, which some servers report with status 400.
    pub(super) fn is_about_the_key(&self) -> bool {
        self.names(&["api key", "api_key"])
    }

    fn names(&self, words: &[&str]) -> bool {
        let text = self.text();
        words.iter().any(|word| text.contains(word))
    }
}

/// Returns a message, which may be a list of complaints about fields.
fn detail(message: &Value) -> Option<String> {
    match message {
        Value::String(text) => Some(text.clone()),
        // The entries also contain the rejected input, which is omitted.
        Value::Array(entries) => Some(entries.iter().map(complaint).collect::<Vec<_>>().join(", ")),
        Value::Object(fields) => detail(fields.get("detail")?),
        Value::Null | Value::Bool(_) | Value::Number(_) => None,
    }
}

/// Returns one complaint about a field: its path and the error.
fn complaint(entry: &Value) -> String {
    let place = entry["loc"].as_array().into_iter().flatten().filter_map(Value::as_str).collect::<Vec<_>>().join(".");
    format!("{place}: {}", entry["msg"].as_str().unwrap_or("not taken"))
}

const TOO_LONG: &[&str] = &[
    "context_length",
    "context length",
    "context window",
    "context size",
    "maximum context",
    "prompt is too long",
    "input is too long",
    "too many tokens",
    "request too large",
];
const NO_QUOTA: &[&str] = &["insufficient_quota", "exceeded your current quota", "billing"];
const NO_MODEL: &[&str] = &["model_not_found", "invalid_model", "invalid model", "unknown model"];

impl Fault {
    /// Returns the action to take after the fault.
    pub(super) fn verdict(&self) -> Verdict {
        match self {
            Self::Unreachable(_) | Self::TimedOut(_) | Self::Broken(_) => Verdict::Retry,
            Self::Unsendable(_) => Verdict::Permanent("check the base URL and the headers"),
            Self::NotStarted(_) => Verdict::Permanent("install it, or name another model with --model"),
            Self::Status { status, rejection, .. } => status_verdict(*status, rejection),
            // The output of a program is not a server's answer, so "not found" need not be about an address.
            Self::Declined(rejection) => match status_verdict(rejection.status(), rejection) {
                Verdict::Permanent(_) => Verdict::Permanent("check the program and the name of its model"),
                verdict => verdict,
            },
        }
    }

    /// Returns the wait that the server asks for.
    pub(super) fn wait(&self) -> Option<Duration> {
        match self {
            Self::Status { wait, .. } => *wait,
            Self::Unreachable(_)
            | Self::TimedOut(_)
            | Self::Broken(_)
            | Self::Unsendable(_)
            | Self::NotStarted(_)
            | Self::Declined(_) => None,
        }
    }

    /// Whether the fault means that the server is overloaded and needs fewer calls.
    pub(super) fn is_overload(&self) -> bool {
        let status = match self {
            Self::Status { status, .. } => *status,
            Self::Declined(rejection) => rejection.status(),
            _ => return false,
        };
        matches!(status, 429 | 503 | 529)
    }

    /// Returns the complaint if it is about the form of the request.
    pub(super) fn rejection(&self) -> Option<&Rejection> {
        self.complaint().filter(|_| self.verdict() != Verdict::TooLong)
    }

    /// Returns the complaint if it is about the form or the length of the request.
    pub(super) fn complaint(&self) -> Option<&Rejection> {
        match self {
            Self::Status { status: 400 | 422 | 501, rejection, .. } => Some(rejection),
            _ => None,
        }
    }
}

fn status_verdict(status: u16, rejection: &Rejection) -> Verdict {
    let names_model = rejection.names(&["model"]) && rejection.names(&["not found", "not exist", "not a valid"]);
    match status {
        413 => Verdict::TooLong,
        // Some servers report a request that is too long as a rate limit or an internal error.
        400 | 422 | 429 | 500 if rejection.names(TOO_LONG) => Verdict::TooLong,
        402 => Verdict::Permanent("check the account's credit"),
        // OpenAI reports an exhausted account with the same status as a rate limit, but waiting would not help.
        429 if rejection.names(NO_QUOTA) => Verdict::Permanent("check the account's plan and billing details"),
        // Gateways send 409 and 425 after a race condition, Cloudflare sends 520 to 524, and overloaded Anthropic
        // servers send 529.
        408 | 409 | 425 | 429 | 500 | 502..=504 | 520..=524 | 529 => Verdict::Retry,
        401 => Verdict::NoAccess,
        // Some servers reject a wrong key with 400 instead of 401.
        400 if rejection.names(&["api key", "api_key"]) => Verdict::NoAccess,
        403 => Verdict::Permanent("check that the key is allowed to use this model from this location"),
        400 | 404 | 422 if names_model || rejection.names(NO_MODEL) => {
            Verdict::Permanent("check the model name (--model or AFTERTHOUGHT_MODEL)")
        }
        404 | 405 => Verdict::Permanent("check the base URL (on most servers, it ends in /v1)"),
        300..=399 => Verdict::Permanent("set the base URL to the server's new address"),
        _ => Verdict::Permanent("the server does not accept this request; try another model or server"),
    }
}

impl From<OpenAIError> for Fault {
    fn from(error: OpenAIError) -> Self {
        match error {
            OpenAIError::Boxed(error) => match error.downcast::<Self>() {
                Ok(fault) => *fault,
                Err(error) => Self::Broken(error.to_string()),
            },
            OpenAIError::InvalidArgument(reason) => Self::Unsendable(reason),
            // The messages of other kinds of errors may quote the whole answer.
            _ => Self::Broken("the answer cannot be read".to_owned()),
        }
    }
}

/// Shortest wait before the first retry. The wait doubles each time, and a random wait of up to the same length is
/// added.
const FIRST_WAIT: Duration = Duration::from_secs(1);

/// Maximum wait, at which the doubling ends.
const LAST_WAIT: Duration = Duration::from_secs(30);

/// If a server asks for a longer wait than this, the error is reported instead.
const LONGEST_ASKED: Duration = Duration::from_mins(5);

/// Returns the waits before each of `retries`, with jitter from `seed` or, if it is `None`, from a random seed.
pub(super) fn waits(retries: u32, seed: Option<u64>) -> ExponentialBuilder {
    let waits = ExponentialBuilder::new()
        .with_jitter()
        .with_min_delay(FIRST_WAIT)
        .with_max_delay(LAST_WAIT)
        .with_max_times(retries as usize);
    match seed {
        Some(seed) => waits.with_jitter_seed(seed),
        None => waits,
    }
}

/// Returns the wait after `fault`, or `None` to give up. `planned` is the wait that the retry policy suggests.
pub(super) fn wait_after(fault: &Fault, planned: Option<Duration>) -> Option<Duration> {
    // Without a planned wait, the retries are used up, even if the server asks for a wait.
    let planned = planned?;
    let wait = fault.wait().unwrap_or(planned);
    (wait <= LONGEST_ASKED).then_some(wait)
}

/// Returns the wait that `headers` request in `retry-after-ms`, or in `retry-after` in seconds or as a date.
///
/// A date is compared with the server's own clock if the answer contains it, otherwise with `now`.
pub(super) fn asked_wait(headers: &HeaderMap, now: Timestamp) -> Option<Duration> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
    let number = |name: &str| text(name).and_then(|text| text.parse::<f64>().ok());
    // OpenAI's own header is more exact than the standard header.
    if let Some(wait) = number("retry-after-ms").and_then(|ms| Duration::try_from_secs_f64(ms / 1000.0).ok()) {
        return Some(wait);
    }
    // The standard allows only whole seconds, but some servers send fractions.
    if let Some(seconds) = number(RETRY_AFTER.as_str()) {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let until = http_date(text(RETRY_AFTER.as_str())?)?;
    let now = text(DATE.as_str()).and_then(http_date).unwrap_or(now);
    // A date in the past requests no wait.
    Some(Duration::try_from(until.duration_since(now)).unwrap_or(Duration::ZERO))
}

fn http_date(text: &str) -> Option<Timestamp> {
    jiff::fmt::rfc2822::parse(text).ok().map(|time| time.timestamp())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_error_text_shows_no_secret_that_the_server_repeats() {
        let token = "ghp_aB3dE5gH7jK9mN2pQ4rS6tV8wXyZaB3dE5gH";
        for body in [
            json!({"error": {"message": format!("upstream refused {token}"), "code": token}}),
            json!({"error": format!("upstream refused {token}")}),
            json!({"detail": format!("upstream refused {token}")}),
        ] {
            let read = Rejection::read(&body).unwrap();
            assert!(read.message.starts_with("upstream refused [redacted:"), "{}", read.message);
            assert!(!read.code.contains(token));
        }
    }

    #[test]
    fn errors_are_read_in_every_known_form() {
        let rows = [
            (json!({"error": {"message": "m", "type": "t", "code": "c", "param": "p"}}), Some(("m", "c t p"))),
            (json!({"error": {"message": "m", "code": 429}}), Some(("m", "429"))),
            (json!({"error": {}}), Some(("no message", ""))),
            (json!({"error": "model missing"}), Some(("model missing", ""))),
            (json!({"object": "error", "message": "m", "code": 404}), Some(("m", "404"))),
            (json!({"message": "m"}), Some(("m", ""))),
            (json!({"detail": "Not Found"}), Some(("Not Found", ""))),
            (json!({"detail": [{"loc": ["body", "x"], "msg": "bad", "input": "private"}]}), Some(("body.x: bad", ""))),
            (
                json!([{"error": {"code": 400, "message": "m", "status": "INVALID_ARGUMENT"}}]),
                Some(("m", "400 INVALID_ARGUMENT")),
            ),
            (
                json!({"object": "error", "message": {"detail": [{"loc": ["body", "n"], "msg": "Extra inputs are not permitted", "input": 1}]}}),
                Some(("body.n: Extra inputs are not permitted", "")),
            ),
            (json!({"error": null, "choices": []}), None),
            (json!({"error": "", "choices": [], "message": "m", "detail": []}), None),
            (json!([]), None),
        ];
        for (body, expected) in rows {
            let expected = expected.map(|(message, code)| Rejection { message: message.into(), code: code.into() });
            assert_eq!(Rejection::read(&body), expected, "{body}");
        }
    }

    #[test]
    fn errors_inside_a_good_answer_name_their_status() {
        let rows = [
            ("Provider returned error", "429", 429),
            ("slow down", "rate_limit_exceeded", 429),
            ("x", "insufficient_quota", 429),
            ("Overloaded", "", 529),
            ("No such key", "invalid_api_key", 401),
            ("model 'x' not found", "", 404),
            ("this model's maximum context length is 9", "context_length_exceeded", 400),
            ("boom", "7", 502),
        ];
        for (message, code, status) in rows {
            let rejection = Rejection { message: message.into(), code: code.into() };
            assert_eq!(rejection.status(), status, "{message} {code}");
        }
    }

    #[test]
    fn every_status_has_its_verdict() {
        let key = Verdict::NoAccess;
        let model = Verdict::Permanent("check the model name (--model or AFTERTHOUGHT_MODEL)");
        let rows = [
            (401, "no", key),
            (400, "API key not valid", key),
            (404, "The model `x` does not exist", model),
            (400, "x is not a valid model ID", model),
            (404, "no route", Verdict::Permanent("check the base URL (on most servers, it ends in /v1)")),
            (413, "", Verdict::TooLong),
            (400, "the request exceeds the available context size", Verdict::TooLong),
            (429, "Request too large for m on tokens per min", Verdict::TooLong),
            (
                429,
                "You exceeded your current quota",
                Verdict::Permanent("check the account's plan and billing details"),
            ),
            (408, "", Verdict::Retry),
            (409, "", Verdict::Retry),
            (425, "", Verdict::Retry),
            (429, "", Verdict::Retry),
            (500, "", Verdict::Retry),
            (502, "", Verdict::Retry),
            (503, "", Verdict::Retry),
            (504, "", Verdict::Retry),
            (529, "", Verdict::Retry),
        ];
        for (status, message, expected) in rows {
            let fault = Fault::Status {
                status,
                wait: None,
                rejection: Rejection { message: message.into(), code: String::new() },
            };
            assert_eq!(fault.verdict(), expected, "{status} {message}");
        }
    }
}

#[cfg(test)]
mod retry_tests {
    use backon::BackoffBuilder as _;

    use super::super::fault::Rejection;
    use super::*;

    #[test]
    fn waits_grow_and_are_the_same_for_the_same_seed() {
        let drawn: Vec<_> = waits(7, Some(7)).build().collect();
        assert_eq!(drawn, waits(7, Some(7)).build().collect::<Vec<_>>());
        let floors = [1, 2, 4, 8, 16, 30, 30].map(Duration::from_secs);
        assert_eq!(drawn.len(), floors.len());
        for (wait, floor) in drawn.into_iter().zip(floors) {
            assert!(wait >= floor && wait < floor * 2, "{wait:?} for {floor:?}");
        }
    }

    #[test]
    fn servers_ask_for_a_wait_in_several_ways() {
        type Headers = [(&'static str, &'static str)];
        let now: Timestamp = "2026-03-01T12:00:00Z".parse().unwrap();
        let rows: [(&Headers, Option<u64>); 9] = [
            (&[("retry-after", "3")], Some(3_000)),
            (&[("retry-after", " 1.5 ")], Some(1_500)),
            (&[("retry-after", "3"), ("retry-after-ms", "250")], Some(250)),
            (&[("retry-after", "Sun, 01 Mar 2026 12:00:20 GMT")], Some(20_000)),
            (&[("retry-after", "Sun, 01 Mar 2026 11:00:00 GMT")], Some(0)),
            (
                &[("retry-after", "Sun, 01 Mar 2026 13:00:07 GMT"), ("date", "Sun, 01 Mar 2026 13:00:00 GMT")],
                Some(7_000),
            ),
            (&[("retry-after", "-1")], None),
            (&[("retry-after", "soon")], None),
            (&[], None),
        ];
        for (pairs, expected) in rows {
            let headers = pairs
                .iter()
                .map(|(name, value)| (reqwest::header::HeaderName::from_static(name), value.parse().unwrap()));
            assert_eq!(asked_wait(&headers.collect(), now), expected.map(Duration::from_millis), "{pairs:?}");
        }
    }

    #[test]
    fn the_asked_wait_goes_before_the_planned_one_within_reason() {
        let fault = |seconds: Option<u64>| Fault::Status {
            status: 429,
            wait: seconds.map(Duration::from_secs),
            rejection: Rejection::default(),
        };
        let planned = Some(Duration::from_secs(2));
        assert_eq!(wait_after(&fault(None), planned), planned);
        assert_eq!(wait_after(&fault(Some(9)), planned), Some(Duration::from_secs(9)));
        assert_eq!(wait_after(&fault(Some(300)), planned), Some(LONGEST_ASKED));
        assert_eq!(wait_after(&fault(Some(301)), planned), None);
        assert_eq!(wait_after(&fault(Some(9)), None), None);
    }
}
