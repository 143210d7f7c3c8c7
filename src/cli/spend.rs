//! Spending by day and model, from the replies that are stored.

use afterthought::config::Config;
use afterthought::llm::Prices;
use afterthought::store::{Spent, days_before};
use anyhow::Context as _;
use jiff::Zoned;
use serde_json::json;

use super::args::Context;
use super::exit::ExitStatus;
use super::printer::{BOLD, counted};

/// Prints what models cost on each of the last `days` days, by this machine's clock and today's prices.
pub fn run(days: u32, context: &Context<'_>) -> anyhow::Result<ExitStatus> {
    let Some(store) = context.existing()? else { return Ok(ExitStatus::NoMatch) };
    let (prices, today) = (prices(&context.settings()?)?, Zoned::now());
    let spent = store.spending(days_before(today.date(), days), today.time_zone())?;
    if context.out.is_json() {
        for one in &spent {
            let mut line = serde_json::to_value(one).context("cannot serialise a day")?;
            line["cost"] = json!(cost(&prices, one));
            context.out.json(&line)?;
        }
    } else if !spent.is_empty() {
        let header = ["day", "model", "calls", "sent", "received", "cost"];
        context.out.table(header, spent.iter().map(|one| row(&prices, one)).collect())?;
        context.out.line(total(&prices, &spent))?;
    }
    if spent.is_empty() {
        context.out.note(format_args!("no model was asked in the last {}", counted(days, "day")));
        return Ok(ExitStatus::NoMatch);
    }
    Ok(ExitStatus::Success)
}

/// Returns the prices in force: the built-in ones, under those of the settings.
///
/// # Errors
/// Names what is amiss with the settings' own table.
pub fn prices(config: &Config) -> anyhow::Result<Prices> {
    Prices::with(&config.prices.value).with_context(|| format!("cannot use the prices set in {}", config.prices.layer))
}

fn cost(prices: &Prices, spent: &Spent) -> Option<f64> {
    prices.cost(&spent.model, spent.prompt_tokens, spent.completion_tokens)
}

/// Returns the cost of the models that have a price, and whether there are others.
pub fn known_cost(prices: &Prices, spent: &[Spent]) -> (f64, bool) {
    // A sum of nothing would be spelled with a minus.
    let known = spent.iter().filter_map(|one| cost(prices, one)).fold(0.0, |all, cost| all + cost);
    (known, spent.iter().any(|one| cost(prices, one).is_none()))
}

fn row(prices: &Prices, spent: &Spent) -> [String; 6] {
    [
        spent.day.to_string(),
        spent.model.clone(),
        spent.calls.to_string(),
        spent.prompt_tokens.to_string(),
        spent.completion_tokens.to_string(),
        cost(prices, spent).map_or_else(|| "no price".to_owned(), |cost| format!("${cost:.4}")),
    ]
}

fn total(prices: &Prices, spent: &[Spent]) -> String {
    let tokens: u64 = spent.iter().map(|one| one.prompt_tokens + one.completion_tokens).sum();
    let calls: u64 = spent.iter().map(|one| one.calls).sum();
    let (known, unknown) = known_cost(prices, spent);
    let unpriced = if unknown { ", without the models that have no price" } else { "" };
    format!("{BOLD}${known:.4}{BOLD:#} for {}, {}{unpriced}", counted(calls, "call"), counted(tokens, "token"))
}
