//! What a run would send, counted without sending it.
//!
//! The run is made as it is, on a copy of the database in memory and with a model that only counts what it is asked. So
//! windows and requests are the very ones of the run that follows, and what is in the ledger costs nothing.

use std::cell::RefCell;

use jiff::Timestamp;
use serde::Serialize;
use tokio_util::sync::CancellationToken;

use super::extraction::extract_all;
use super::setup::Pipeline;
use super::summary::{Failure, Files, Filtered, Summary};
use super::tally::Tally;
use super::{Event, Extractor, PipelineError, read};
use crate::llm::{Complete, Cost, Finish, LlmError, Price, Reply, Request};
use crate::store::Database;

/// Tokens of an answer, where the ledger holds too few to tell. Models that think before they answer take more.
pub const ASSUMED_COMPLETION_TOKENS: u64 = 1_000;
/// Calls from which on the ledger's own average is taken.
const MIN_CALLS: u64 = 5;

/// What a run would send, and what that would cost.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Estimate {
    /// The model, or the rules, which cost nothing.
    pub extractor: String,
    /// Files by what became of them.
    pub files: Files,
    /// What was left out because it was not asked for.
    pub filtered: Filtered,
    /// Conversations.
    pub transcripts: u64,
    /// Messages in them.
    pub messages: u64,
    /// Windows.
    pub windows: EstimatedWindows,
    /// Calls to the model. Second attempts, and questions about how memories relate, come on top.
    pub llm_calls: u64,
    /// Requests whose reply is known from before.
    pub cached_replies: u64,
    /// Tokens that would be sent.
    pub prompt_tokens: u64,
    /// Tokens that would be received, as far as can be told.
    pub completion_tokens: u64,
    /// Tokens that are expected of an answer.
    pub completion_tokens_per_call: u64,
    /// How that is known.
    pub completion_tokens_from: Basis,
    /// Dollars, where the price of the model is known.
    pub cost: Option<f64>,
    /// Whether an interrupt ended the count before all was counted.
    pub interrupted: bool,
    /// What could not be read.
    pub failures: Vec<Failure>,
}

/// Windows of the conversations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct EstimatedWindows {
    /// All.
    pub total: u64,
    /// Finished by an earlier run.
    pub known: u64,
    /// Without a person's words worth a call.
    pub no_signal: u64,
    /// To be read.
    pub new: u64,
}

/// How the length of answers is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Basis {
    /// It is the average of the answers in the ledger.
    Ledger,
    /// It is an assumption.
    Assumed,
}

/// Takes the place of a model, and counts.
#[derive(Debug)]
pub struct Gauge {
    model: String,
}

impl Gauge {
    /// Returns a gauge for what would be sent to `model`.
    #[must_use]
    pub fn new(model: impl Into<String>) -> Self {
        Self { model: model.into() }
    }
}

impl Complete for Gauge {
    async fn complete(&self, request: &Request) -> Result<(Reply, Cost), LlmError> {
        let reply = Reply {
            text: r#"{"memories":[]}"#.to_owned(),
            finish: Finish::Stop,
            prompt_tokens: request.prompt_tokens(),
            completion_tokens: 0,
            model: self.model.clone(),
        };
        Ok((reply, Cost::Call))
    }

    fn model(&self) -> &str {
        &self.model
    }
}

/// Returns what [`super::run()`] with the same options and `arguments` would send. Nothing is written and nothing is sent.
///
/// # Errors
/// As [`super::run()`].
pub async fn estimate(
    pipeline: Pipeline<'_, Gauge>,
    price: Option<Price>,
    arguments: &serde_json::Value,
    cancel: CancellationToken,
    watch: &mut dyn FnMut(&Event<'_>),
) -> Result<Estimate, PipelineError> {
    let copy = pipeline.store.copy_in_memory()?;
    let mut pipeline = Pipeline { store: &copy, ..pipeline };
    pipeline.look_up_projects()?;
    let reader = read::start(
        &pipeline.options.sources,
        &pipeline.options.selection,
        pipeline.finished()?,
        pipeline.guard.clone(),
    )?;
    // Takes an interrupted run up, as the run would: its claims are free, and it is shown the same known memories.
    let run = copy.begin_run("run", arguments, Timestamp::now())?;
    pipeline.owner = run.id.as_str().to_owned();
    pipeline.started_at = run.started_at;
    let model = pipeline.model();
    let tally = RefCell::new(Tally::new(Summary::default(), watch));
    extract_all(&pipeline, model.as_ref(), reader, cancel, &tally).await?;
    let asks = matches!(pipeline.extractor, Extractor::Llm(_));
    let label = pipeline.extractor.label();
    let price = if asks { price } else { Some(Price::new(0.0, 0.0)) };
    Estimate::of(tally.into_inner().summary, label, price, &copy)
}

impl Estimate {
    /// Returns what was counted, at `price` if it is known.
    fn of(summary: Summary, extractor: String, price: Option<Price>, ledger: &Database) -> Result<Self, PipelineError> {
        let (known, no_signal) = (summary.windows.known, summary.windows.no_signal);
        // The windows just counted got no answer and do not count among those of the ledger.
        let (calls, tokens) = ledger.completions_of_windows()?;
        let calls = calls.saturating_sub(summary.llm_calls);
        let (per_call, from) = match tokens.checked_div(calls) {
            Some(average) if calls >= MIN_CALLS && average > 0 => (average, Basis::Ledger),
            _ => (ASSUMED_COMPLETION_TOKENS, Basis::Assumed),
        };
        let completion_tokens = summary.llm_calls * per_call;
        let cost = price.map(|price| price.cost(summary.prompt_tokens, completion_tokens));
        Ok(Self {
            extractor,
            files: summary.files,
            filtered: summary.filtered,
            transcripts: summary.transcripts,
            messages: summary.messages,
            windows: EstimatedWindows {
                total: summary.windows.total,
                known,
                no_signal,
                new: summary.windows.total.saturating_sub(known + no_signal),
            },
            llm_calls: summary.llm_calls,
            cached_replies: summary.cached_replies,
            prompt_tokens: summary.prompt_tokens,
            completion_tokens,
            completion_tokens_per_call: per_call,
            completion_tokens_from: from,
            cost,
            interrupted: summary.interrupted,
            failures: summary.failures,
        })
    }
}
