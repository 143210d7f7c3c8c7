//! One call of an API beside chat, made again where that may help.

use std::time::Duration;

use async_openai::config::Config as _;
use backon::BackoffBuilder as _;
use reqwest::multipart::{Form, Part};
use reqwest::{Method, Url};
use serde_json::Value;

use super::super::fault::{Fault, Verdict};
use super::super::{Client, LlmError, endpoint, retry};

/// Longest answer that is no file.
const LONGEST_ANSWER: usize = 8 << 20;

pub(super) const NO_BATCHES: &str = "this server has no batch API; run without --batch-api";

/// One call.
pub(in crate::llm) struct Call<'c> {
    pub(in crate::llm) method: Method,
    pub(in crate::llm) path: &'c str,
    pub(in crate::llm) query: &'c [(&'c str, &'c str)],
    pub(in crate::llm) body: Body<'c>,
    pub(in crate::llm) timeout: Duration,
    pub(in crate::llm) longest: usize,
    /// What to do where the server knows no such path.
    pub(in crate::llm) if_missing: &'static str,
    /// Whether a second call does no harm where the first was taken and its answer lost.
    pub(in crate::llm) may_repeat: bool,
}

pub(in crate::llm) enum Body<'c> {
    None,
    Json(&'c Value),
    File { name: &'c str, content: &'c [u8] },
}

impl<'c> Call<'c> {
    pub(super) const fn get(path: &'c str, query: &'c [(&'c str, &'c str)], if_missing: &'static str) -> Self {
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

    pub(in crate::llm) fn post(path: &'c str, body: Body<'c>) -> Self {
        Self { method: Method::POST, body, ..Self::get(path, &[], NO_BATCHES) }
    }
}

impl Client {
    pub(super) async fn json(&self, call: Call<'_>) -> Result<Value, LlmError> {
        let body = self.call(call).await?;
        let broken = |_| self.permanent("the answer is no JSON".to_owned(), NO_BATCHES);
        serde_json::from_slice(&body).map_err(broken)
    }

    /// Calls until there is an answer or the retries are used up.
    pub(super) async fn call(&self, call: Call<'_>) -> Result<Vec<u8>, LlmError> {
        let mut waits = retry::waits(self.settings.max_retries, self.settings.jitter_seed).build();
        let mut attempts = 0;
        loop {
            attempts += 1;
            let fault = match self.attempt_call(&call).await {
                Ok(body) => return Ok(body),
                Err(fault) => fault,
            };
            if let Fault::Status { status: 404 | 405 | 501, .. } = fault {
                return Err(self.permanent(self.endpoint().clean(&fault.to_string()), call.if_missing));
            }
            let surely_not_taken =
                matches!(fault, Fault::Unreachable(_) | Fault::Status { status: 429, .. }) || call.may_repeat;
            let wait = match fault.verdict() {
                Verdict::Retry if surely_not_taken => retry::wait_after(&fault, waits.next()),
                Verdict::Retry | Verdict::Permanent(_) | Verdict::TooLong => None,
            };
            let Some(wait) = wait else { return Err(self.fault_error(&fault, attempts)) };
            (self.sleep)(wait).await;
        }
    }

    /// Makes one attempt.
    pub(in crate::llm) async fn attempt_call(&self, call: &Call<'_>) -> Result<Vec<u8>, Fault> {
        let request = self.built(call)?;
        let exchanged = tokio::time::timeout(call.timeout, endpoint::fetch(&self.http, request, call.longest)).await;
        exchanged.unwrap_or(Err(Fault::TimedOut(call.timeout)))
    }

    fn built(&self, call: &Call<'_>) -> Result<reqwest::Request, Fault> {
        let config = self.endpoint();
        let url = config.url(call.path);
        let mut url = Url::parse(&url).map_err(|error| Fault::Unsendable(error.to_string()))?;
        let own = config.query();
        let pairs: Vec<(&str, &str)> = own.into_iter().chain(call.query.iter().copied()).collect();
        if !pairs.is_empty() {
            url.query_pairs_mut().extend_pairs(pairs);
        }
        let builder = self.http.request(call.method.clone(), url).headers(config.headers());
        let builder = match &call.body {
            Body::None => builder,
            Body::Json(body) => builder.json(body),
            Body::File { name, content } => {
                let part = Part::bytes(content.to_vec()).file_name((*name).to_owned());
                let part = part.mime_str("application/jsonl").map_err(|error| Fault::Unsendable(error.to_string()))?;
                builder.multipart(Form::new().text("purpose", "batch").part("file", part))
            }
        };
        builder.build().map_err(|error| Fault::Unsendable(error.to_string()))
    }
}
