//! Model options, shared by every command that uses a model, and the runtime of such commands.

use std::path::PathBuf;
use std::time::Duration;

use crate::api::{Model, ModelOptions, Price};
use crate::config::{Config, ExtractorChoice, Partial};
use anyhow::Context as _;
use tokio_util::sync::CancellationToken;

use super::exit::{ExitStatus, asked_to_end};
use super::printer::Printer;

/// Options about the model.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Model options")]
pub(crate) struct ModelArgs {
    /// Extract with a model (llm) or the offline rules (rules); auto uses a model if one is configured
    #[arg(long, value_enum, value_name = "NAME")]
    pub extractor: Option<ExtractorChoice>,
    /// Use this model, such as gpt-5-mini, anthropic/claude-haiku-4-5 or claude-code [env: AFTERTHOUGHT_MODEL]
    #[arg(long, value_name = "NAME")]
    pub model: Option<String>,
    /// Use this OpenAI-compatible server [env: OPENAI_BASE_URL]
    #[arg(long, value_name = "URL")]
    pub base_url: Option<String>,
    /// Send this many requests at a time [default: 4]
    #[arg(long, value_name = "N")]
    pub jobs: Option<usize>,
    /// Spend at most this many dollars [default: no limit]
    #[arg(long, value_name = "DOLLARS")]
    pub max_cost: Option<f64>,
    /// Use at most this many tokens [default: no limit]
    #[arg(long, value_name = "N")]
    pub max_tokens: Option<u64>,
    /// Spend at most this many dollars a day in all runs [default: no limit]
    #[arg(long, value_name = "DOLLARS")]
    pub max_cost_per_day: Option<f64>,
    /// Model prices, in dollars per million tokens, e.g. 0.25,2.00
    #[arg(long, value_name = "PROMPT,COMPLETION", value_parser = price)]
    pub price: Option<Price>,
    /// Record all requests and replies in this folder
    #[arg(long, value_name = "DIR", conflicts_with = "replay")]
    pub record: Option<PathBuf>,
    /// Use the replies recorded in this folder instead of a server
    #[arg(long, value_name = "DIR")]
    pub replay: Option<PathBuf>,
    /// After an interrupt, wait this many seconds for replies
    #[arg(long, value_name = "N", default_value_t = GRACE)]
    pub grace: u64,
}

/// Seconds to wait for replies after an interrupt.
pub(crate) const GRACE: u64 = 20;
/// Time after an interrupt at which the program says that work is still in progress.
const PATIENCE: Duration = Duration::from_secs(1);

impl ModelArgs {
    /// Returns the options as the strongest layer of the settings.
    pub(crate) fn settings(&self) -> Partial {
        Partial {
            extractor: self.extractor,
            model: self.model.clone().map(Some),
            base_url: self.base_url.clone().map(Some),
            jobs: self.jobs,
            max_cost: self.max_cost.map(Some),
            max_tokens: self.max_tokens.map(Some),
            max_cost_per_day: self.max_cost_per_day.map(Some),
            ..Partial::default()
        }
    }

    /// Returns the options that have no counterpart in the settings.
    pub(crate) fn options(&self) -> ModelOptions {
        ModelOptions { record: self.record.clone(), replay: self.replay.clone(), price: self.price }
    }

    /// Chooses the model from the settings and the options, and reports a model that was not configured.
    pub(crate) async fn choose(&self, config: &Config, out: &Printer) -> anyhow::Result<Model> {
        let model = Model::choose(config, &self.options()).await?;
        report_reason(&model, out);
        Ok(model)
    }
}

/// Reports why a model was chosen if nobody specified a model: the person should know where conversations are sent.
pub(crate) fn report_reason(model: &Model, out: &Printer) {
    if let Some(reason) = model.reason() {
        out.note(reason);
    }
}

/// Returns a runtime with one worker thread in addition to this thread, so that an interrupt is noticed while this
/// thread computes.
pub(crate) fn runtime() -> anyhow::Result<tokio::runtime::Runtime> {
    // A current-thread runtime would handle signals only between computations, so Ctrl-C would seem to do nothing.
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
    runtime.context("cannot start")
}

/// Lets paid work finish after the first interrupt or termination signal. Exits the process after `grace` seconds or at
/// the second signal, which loses nothing: the next run sends the requests again.
pub(crate) fn stop_on_interrupt(cancel: CancellationToken, grace: u64) {
    tokio::spawn(async move {
        // If no handler can be installed, the signal keeps its default action and ends the process.
        let Ok(asked) = asked_to_end() else { return };
        asked.await;
        cancel.cancel();
        let asked_again = async {
            asked_to_end()?.await;
            std::io::Result::Ok(())
        };
        let out_of_time = async {
            let grace = Duration::from_secs(grace);
            tokio::time::sleep(grace.min(PATIENCE)).await;
            tracing::warn!("work in progress is finished before the end; a second interrupt ends at once");
            tokio::time::sleep(grace.saturating_sub(PATIENCE)).await;
        };
        let status = tokio::select! {
            Ok(()) = asked_again => {
                tracing::warn!("interrupted again; finished work is stored, and the next run does the rest");
                130
            }
            () = out_of_time => {
                tracing::warn!(
                    "work in progress was not finished within {grace} s; finished work is stored, and the next run \
                     does the rest"
                );
                i32::from(ExitStatus::Failures.code())
            }
        };
        #[expect(clippy::exit, reason = "the user interrupted twice, or the time limit has passed")]
        std::process::exit(status);
    });
}

/// Parses a price as it is written on the command line.
pub(crate) fn price(text: &str) -> Result<Price, String> {
    let amount = |text: &str| text.trim().trim_start_matches('$').parse::<f64>().ok();
    let amounts = text.split_once(',').and_then(|(prompt, completion)| Some((amount(prompt)?, amount(completion)?)));
    // `f64` also parses "inf" and "nan", and a negative price would raise a budget instead of using it up.
    match amounts.filter(|(prompt, completion)| [prompt, completion].iter().all(|one| one.is_finite() && **one >= 0.0))
    {
        Some((prompt, completion)) => Ok(Price::new(prompt, completion)),
        None => Err("not a price; write two amounts, such as 0.25,2.00".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_price_is_two_amounts() {
        assert_eq!(price("0.25,2"), Ok(Price::new(0.25, 2.0)));
        assert_eq!(price("$1, $10"), Ok(Price::new(1.0, 10.0)));
        for text in ["", "1", "1,", "-1,2", "a,b", "1,inf", "1,2,3"] {
            assert!(price(text).is_err(), "{text}");
        }
    }
}
