//! Which model is asked, through what, and what it may cost: the same for every command that asks one.

use std::path::PathBuf;

use afterthought::api;
use afterthought::config::{Config, ExtractorChoice, Partial};
use afterthought::llm::{Budget, Price, Prices};
use afterthought::store::Store;
use clap::ValueEnum;

use crate::cli::spend::prices;

/// Options about the model.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Model options")]
pub(in crate::cli) struct Asking {
    /// Extract with a model, with the offline rules, or automatically
    #[arg(long, value_enum, value_name = "NAME")]
    pub(in crate::cli) extractor: Option<ExtractorArg>,
    /// Use this model [env: AFTERTHOUGHT_MODEL]
    #[arg(long, value_name = "NAME")]
    pub(in crate::cli) model: Option<String>,
    /// Use this OpenAI-compatible server [env: OPENAI_BASE_URL]
    #[arg(long, value_name = "URL")]
    pub(in crate::cli) base_url: Option<String>,
    /// Send this many requests at a time [default: 4]
    #[arg(long, value_name = "N")]
    pub(in crate::cli) jobs: Option<usize>,
    /// Spend at most this much [default: no limit]
    #[arg(long, value_name = "DOLLARS")]
    pub(in crate::cli) max_cost: Option<f64>,
    /// Use at most this many tokens [default: no limit]
    #[arg(long, value_name = "N")]
    pub(in crate::cli) max_tokens: Option<u64>,
    /// Spend at most this much a day in all runs [default: no limit]
    #[arg(long, value_name = "DOLLARS")]
    pub(in crate::cli) max_cost_per_day: Option<f64>,
    /// Price of a million tokens in dollars, e.g. 0.25,2.00
    #[arg(long, value_name = "PROMPT,COMPLETION", value_parser = price)]
    pub(in crate::cli) price: Option<Price>,
    /// Record all requests and replies in this folder
    #[arg(long, value_name = "DIR", conflicts_with = "replay")]
    pub(in crate::cli) record: Option<PathBuf>,
    /// Take replies from this folder of recordings, without a server
    #[arg(long, value_name = "DIR")]
    pub(in crate::cli) replay: Option<PathBuf>,
}

/// What reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(in crate::cli) enum ExtractorArg {
    /// The model where one is configured, else the rules
    Auto,
    /// The model
    Llm,
    /// The offline rules
    Rules,
}

impl Asking {
    /// Returns the options as the strongest layer of the settings.
    pub(in crate::cli) fn settings(&self) -> Partial {
        Partial {
            extractor: self.extractor.map(|choice| match choice {
                ExtractorArg::Auto => ExtractorChoice::Auto,
                ExtractorArg::Llm => ExtractorChoice::Llm,
                ExtractorArg::Rules => ExtractorChoice::Rules,
            }),
            model: self.model.clone().map(Some),
            base_url: self.base_url.clone().map(Some),
            jobs: self.jobs,
            max_cost: self.max_cost.map(Some),
            max_tokens: self.max_tokens.map(Some),
            max_cost_per_day: self.max_cost_per_day.map(Some),
            ..Partial::default()
        }
    }

    /// Returns what `model` costs, if that is known. The discount for batches is that of `prices`.
    pub(in crate::cli) fn price_of(&self, model: &str, prices: &Prices) -> Option<Price> {
        let listed = prices.of(model);
        let batch = listed.map_or(1.0, |price| price.batch);
        self.price.map(|price| Price { batch, ..price }).or(listed)
    }

    /// Returns what may be spent on `model`, with what other runs have spent today.
    pub(in crate::cli) fn budget(&self, config: &Config, model: &str, store: &Store) -> anyhow::Result<Budget> {
        let price = self.price_of(model, &prices(config)?);
        Ok(api::budget(config, model, price, store)?)
    }
}

/// Reads a price as it is written on a command line.
pub(in crate::cli) fn price(text: &str) -> Result<Price, String> {
    let amount = |text: &str| text.trim().trim_start_matches('$').parse::<f64>().ok();
    let amounts = text.split_once(',').and_then(|(prompt, completion)| Some((amount(prompt)?, amount(completion)?)));
    match amounts.filter(|(prompt, completion)| [prompt, completion].iter().all(|one| one.is_finite() && **one >= 0.0))
    {
        Some((prompt, completion)) => Ok(Price::new(prompt, completion)),
        None => Err("it is no price; write two amounts, such as 0.25,2.00".to_owned()),
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
