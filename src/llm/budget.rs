//! The budget of a run, and the prices of models.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::Deserialize;
use tokio::sync::Notify;

use super::{Complete, Cost, LlmError, Reply, Request};

/// The maximum amounts that a run may spend, where `None` means no limit.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Limits {
    /// Maximum cost in US dollars.
    pub max_cost: Option<f64>,
    /// Maximum sum of the tokens sent and received.
    pub max_tokens: Option<u64>,
    /// The limit that all runs of one day share, if there is one.
    pub day: Option<DayLimit>,
}

/// A limit on the dollars of one day.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct DayLimit {
    /// Maximum US dollars for the whole day.
    pub max_cost: f64,
    /// US dollars spent on that day before this run.
    pub spent: f64,
}

/// An amount spent or to be spent.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Amount {
    /// US dollars; zero if the price is unknown.
    pub cost: f64,
    /// Sum of the tokens sent and received.
    pub tokens: u64,
}

impl Amount {
    fn plus(self, other: Self) -> Self {
        Self { cost: self.cost + other.cost, tokens: self.tokens.saturating_add(other.tokens) }
    }
}

/// The limits of a run, the amount that it has spent, and the amount that its calls in flight may still spend.
#[derive(Debug)]
pub struct Budget {
    limits: Limits,
    price: Option<Price>,
    ledger: Mutex<Ledger>,
    released: Notify,
}

#[derive(Debug, Default)]
struct Ledger {
    spent: Amount,
    /// The maximum cost of each call in flight. There are few calls, and adding up their costs each time avoids
    /// accumulating rounding errors.
    reserved: Vec<(u64, Amount)>,
    next_id: u64,
}

impl Budget {
    /// Returns a budget of `limits` for calls to `model`, at `price` if it is known.
    ///
    /// # Errors
    /// [`LlmError::Permanent`] if the cost is limited but the price is not known.
    pub fn new(limits: Limits, price: Option<Price>, model: &str) -> Result<Self, LlmError> {
        if (limits.max_cost.is_some() || limits.day.is_some()) && price.is_none() {
            return Err(LlmError::permanent(
                model,
                "the price of this model is not known, so a limit on its cost cannot be enforced",
                "set its price with --price PROMPT,COMPLETION, or limit the run by --max-tokens",
            ));
        }
        Ok(Self { limits, price, ledger: Mutex::default(), released: Notify::new() })
    }

    /// Returns the amount spent so far.
    #[must_use]
    pub fn spent(&self) -> Amount {
        self.ledger().spent
    }

    /// Returns the dollars spent so far, or `None` if the price is unknown.
    pub(crate) fn spent_cost(&self) -> Option<f64> {
        self.price.map(|_| self.spent().cost)
    }

    /// Whether any limit is set.
    pub(crate) const fn is_limited(&self) -> bool {
        self.limits.max_cost.is_some() || self.limits.max_tokens.is_some() || self.limits.day.is_some()
    }

    /// Returns a reservation of the maximum cost of a call.
    ///
    /// If the limit allows the call on its own but not in addition to the calls in flight, this function waits for
    /// them, since most calls cost less than their maximum.
    ///
    /// # Errors
    /// [`LlmError::Budget`] if the call could exceed a limit even on its own.
    pub(crate) async fn reserve(
        &self,
        prompt_tokens: u64,
        completion_tokens: u64,
    ) -> Result<Reservation<'_>, LlmError> {
        let worst = amount(self.price, prompt_tokens, completion_tokens);
        loop {
            // The future is created before the ledger is read, so that no change in between is missed.
            let released = self.released.notified();
            if let Some(reservation) = self.try_reserve(worst, self.price)? {
                return Ok(reservation);
            }
            released.await;
        }
    }

    /// Returns a reservation of the maximum cost of a request in a batch, or `None` if calls in flight have to end
    /// first.
    ///
    /// # Errors
    /// [`LlmError::Budget`] if the request could exceed a limit even on its own.
    pub(crate) fn reserve_in_batch(&self, prompt: u64, completion: u64) -> Result<Option<Reservation<'_>>, LlmError> {
        let price = self.price.map(Price::in_batch);
        self.try_reserve(amount(price, prompt, completion), price)
    }

    /// Counts an answer from a batch for which nothing was reserved, because another run submitted it.
    pub(crate) fn charge_in_batch(&self, prompt_tokens: u64, completion_tokens: u64) {
        // The other run has already paid for it, so no limit is checked.
        let used = amount(self.price.map(Price::in_batch), prompt_tokens, completion_tokens);
        let mut ledger = self.ledger();
        ledger.spent = ledger.spent.plus(used);
    }

    /// Returns a reservation, or `None` if calls in flight have to end first.
    fn try_reserve(&self, worst: Amount, price: Option<Price>) -> Result<Option<Reservation<'_>>, LlmError> {
        let mut ledger = self.ledger();
        // A call that exceeds the limit on its own will never fit. A call that exceeds it only together with others may
        // fit if they turn out to cost less.
        let alone = ledger.spent.plus(worst);
        if let Some(limit) = self.exceeded(alone) {
            return Err(LlmError::Budget { limit });
        }
        let together = ledger.reserved.iter().fold(alone, |sum, (_, amount)| sum.plus(*amount));
        if self.exceeded(together).is_some() {
            return Ok(None);
        }
        let id = ledger.next_id;
        ledger.next_id += 1;
        // A reservation is identified by a number, because two calls may have the same maximum cost.
        ledger.reserved.push((id, worst));
        Ok(Some(Reservation { budget: self, id, price }))
    }

    /// Returns the limit that `amount` exceeds, if any.
    fn exceeded(&self, amount: Amount) -> Option<String> {
        if let Some(max) = self.limits.max_tokens.filter(|max| amount.tokens > *max) {
            return Some(format!("{max} tokens"));
        }
        // A limit of NaN allows nothing.
        let is_over = |cost: f64, max: f64| max.is_nan() || cost > max;
        if let Some(max) = self.limits.max_cost.filter(|max| is_over(amount.cost, *max)) {
            return Some(format!("${max}"));
        }
        let day = self.limits.day.filter(|day| is_over(day.spent + amount.cost, day.max_cost))?;
        Some(format!("${} a day, of which ${:.4} were spent before this run", day.max_cost, day.spent))
    }

    fn ledger(&self) -> MutexGuard<'_, Ledger> {
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn amount(price: Option<Price>, prompt_tokens: u64, completion_tokens: u64) -> Amount {
    Amount {
        cost: price.map_or(0.0, |price| price.cost(prompt_tokens, completion_tokens)),
        tokens: prompt_tokens.saturating_add(completion_tokens),
    }
}

/// The maximum cost of one call, reserved until this value is dropped.
#[derive(Debug)]
pub(crate) struct Reservation<'a> {
    budget: &'a Budget,
    id: u64,
    price: Option<Price>,
}

impl Reservation<'_> {
    /// Replaces the maximum cost with the actual cost.
    pub(crate) fn pay(self, prompt_tokens: u64, completion_tokens: u64) {
        let used = amount(self.price, prompt_tokens, completion_tokens);
        // The cost is counted before the reservation is dropped, so that no other call fits in between.
        let mut ledger = self.budget.ledger();
        ledger.spent = ledger.spent.plus(used);
    }
}

impl Drop for Reservation<'_> {
    fn drop(&mut self) {
        self.budget.ledger().reserved.retain(|(id, _)| *id != self.id);
        self.budget.released.notify_waiters();
    }
}

/// Forwards requests to `C` as long as the budget allows this.
///
/// A call that fails is not counted, since servers rarely charge for failed calls and never report such charges. If a
/// server counts more prompt tokens than this program, a run can exceed its limit by this difference, once for each
/// call in flight.
#[derive(Debug)]
pub struct Budgeted<'b, C> {
    inner: C,
    budget: &'b Budget,
}

impl<'b, C: Complete> Budgeted<'b, C> {
    /// Returns `inner` with the limits of `budget`.
    pub const fn new(inner: C, budget: &'b Budget) -> Self {
        Self { inner, budget }
    }
}

impl<C: Complete> Complete for Budgeted<'_, C> {
    async fn complete(&self, request: &Request) -> Result<(Reply, Cost), LlmError> {
        // Counting takes milliseconds, during which no other reply is processed.
        let prompt_tokens = if self.budget.is_limited() { request.prompt_tokens() } else { 0 };
        let reservation = self.budget.reserve(prompt_tokens, u64::from(request.max_completion_tokens)).await?;
        let (reply, cost) = self.inner.complete(request).await?;
        match cost {
            Cost::Call => reservation.pay(reply.prompt_tokens, reply.completion_tokens),
            Cost::Cached => drop(reservation),
        }
        Ok((reply, cost))
    }

    fn model(&self) -> &str {
        self.inner.model()
    }
}

/// The built-in price table.
const DEFAULTS: &str = include_str!("prices.toml");

/// The price of a model, in US dollars per million tokens.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Price {
    /// Price of the request.
    pub prompt: f64,
    /// Price of the answer, including reasoning.
    pub completion: f64,
    /// Share of the price that is paid in a batch: 1 if the vendor grants no discount.
    #[serde(default = "undiscounted")]
    pub batch: f64,
}

const fn undiscounted() -> f64 {
    1.0
}

impl Price {
    /// Returns a price without a discount for batches.
    pub(crate) const fn new(prompt: f64, completion: f64) -> Self {
        Self { prompt, completion, batch: 1.0 }
    }

    /// Returns the price in a batch.
    pub(crate) fn in_batch(self) -> Self {
        Self::new(self.prompt * self.batch, self.completion * self.batch)
    }

    /// Returns the cost of a call in US dollars.
    #[expect(clippy::cast_precision_loss, reason = "no run uses 2^53 tokens")]
    pub(crate) fn cost(&self, prompt_tokens: u64, completion_tokens: u64) -> f64 {
        (prompt_tokens as f64 * self.prompt + completion_tokens as f64 * self.completion) / 1e6
    }

    fn is_valid(&self) -> bool {
        [self.prompt, self.completion, self.batch].iter().all(|price| price.is_finite() && *price >= 0.0)
    }
}

/// The reason why a price table cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum PriceError {
    /// The table does not have the expected form.
    #[error(
        "cannot read the price table; write each line as \"MODEL\" = {{ prompt = 0.25, completion = 2.0 }}, and add \
         batch = 0.5 for a batch discount"
    )]
    Form(#[from] toml::de::Error),
    /// A price is negative or not a number.
    #[error("the price of {model} is not an amount of money; set it to zero or more")]
    Amount {
        /// The model.
        model: String,
    },
}

/// Prices by model.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Prices(BTreeMap<String, Price>);

impl Default for Prices {
    /// Returns the built-in table.
    fn default() -> Self {
        Self::parse(DEFAULTS).expect("the built-in table is read by a test")
    }
}

impl Prices {
    /// Returns the table that `text`, in TOML, contains.
    ///
    /// # Errors
    /// [`PriceError`] if the table has a different form, or if a price is not an amount of money.
    pub(crate) fn parse(text: &str) -> Result<Self, PriceError> {
        let table: BTreeMap<String, Price> = toml::from_str(text)?;
        match table.iter().find(|(_, price)| !price.is_valid()) {
            Some((model, _)) => Err(PriceError::Amount { model: model.clone() }),
            // Names are converted to lower case, since servers spell the same name in different ways.
            None => Ok(Self(table.into_iter().map(|(model, price)| (model.to_lowercase(), price)).collect())),
        }
    }

    /// Returns the built-in table, in which prices in `own`, a table of the same form, replace the built-in prices.
    ///
    /// # Errors
    /// [`PriceError`] as [`Prices::parse`].
    pub(crate) fn with(own: &toml::Table) -> Result<Self, PriceError> {
        Ok(Self::default().overridden_by(Self::parse(&own.to_string())?))
    }

    /// Returns this table with the prices of all models in `stronger` added or replaced.
    pub(crate) fn overridden_by(mut self, stronger: Self) -> Self {
        self.0.extend(stronger.0);
        self
    }

    /// Returns the price of `model`. The whole name is looked up first, then the name without the provider's prefix,
    /// then also without the date at the end.
    pub(crate) fn of(&self, model: &str) -> Option<Price> {
        let name = model.to_lowercase();
        // Routers put the vendor in front, as in `openai/gpt-5-mini`.
        let bare = name.rsplit('/').next().unwrap_or_default();
        // The exact name is tried first, so that one version of a model can have its own price.
        [name.as_str(), bare, without_date(bare)].iter().find_map(|name| self.0.get(*name)).copied()
    }

    /// Returns the cost of a call to `model` in US dollars, or `None` if its price is not known.
    pub(crate) fn cost(&self, model: &str, prompt_tokens: u64, completion_tokens: u64) -> Option<f64> {
        self.of(model).map(|price| price.cost(prompt_tokens, completion_tokens))
    }
}

/// Returns `name` without `-latest`, `-20250929` or `-2025-09-29` at its end.
fn without_date(name: &str) -> &str {
    if let Some(name) = name.strip_suffix("-latest") {
        return name;
    }
    let start = name.trim_end_matches(|c: char| c == '-' || c.is_ascii_digit());
    let tail = &name[start.len()..];
    let digits = |text: &str, lengths: &[usize]| {
        let parts: Vec<_> = text.split('-').map(str::len).collect();
        parts == lengths
    };
    // Only the date at the end is removed. The part before it, such as `-4-5` in `-4-5-20250929`, belongs to the name.
    for (length, lengths) in [(8, &[8][..]), (10, &[4, 2, 2][..])] {
        let Some(cut) = tail.len().checked_sub(length + 1) else { continue };
        if tail[cut..].starts_with('-') && digits(&tail[cut + 1..], lengths) {
            return &name[..start.len() + cut];
        }
    }
    name
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use futures::FutureExt as _;

    use super::super::wire::tests::request;
    use super::*;
    use crate::llm::Finish;

    const PRICE: Price = Price { prompt: 1.0, completion: 10.0, batch: 0.5 };

    fn budget(max_cost: Option<f64>, max_tokens: Option<u64>) -> Budget {
        Budget::new(Limits { max_cost, max_tokens, day: None }, Some(PRICE), "m").unwrap()
    }

    /// After a pause, replies with 10 tokens to a prompt of 20 tokens, and counts the calls.
    struct Counted(AtomicU64, Cost);

    impl Complete for Counted {
        async fn complete(&self, _: &Request) -> Result<(Reply, Cost), LlmError> {
            self.0.fetch_add(1, Ordering::Relaxed);
            tokio::task::yield_now().await;
            let (text, model) = ("{}".to_owned(), "m".to_owned());
            Ok((Reply { text, finish: Finish::Stop, prompt_tokens: 20, completion_tokens: 10, model }, self.1))
        }

        fn model(&self) -> &'static str {
            "m"
        }
    }

    #[test]
    fn a_call_whose_worst_case_is_over_a_limit_is_refused_before_it_is_sent() {
        for (budget, limit) in [(budget(None, Some(50)), "50 tokens"), (budget(Some(0.000_5), None), "$0.0005")] {
            let model = Counted(AtomicU64::new(0), Cost::Call);
            let error = Budgeted::new(&model, &budget).complete(&request("hi")).now_or_never().unwrap().unwrap_err();
            let text = format!("the limit of {limit} has been reached; raise it to continue (finished work is kept)");
            assert_eq!(error.to_string(), text);
            assert_eq!((model.0.into_inner(), budget.spent()), (0, Amount::default()));
        }
    }

    #[tokio::test]
    async fn calls_at_the_same_time_cannot_go_over_the_limit() {
        // In the worst case, a call takes 100 tokens for the answer and about 20 for the prompt; an actual call takes
        // 30.
        let budget = budget(None, Some(300));
        let model = Counted(AtomicU64::new(0), Cost::Call);
        let budgeted = Budgeted::new(&model, &budget);
        let request = request("hi");
        let calls = futures::future::join_all((0..20).map(|_| budgeted.complete(&request))).await;
        let made = calls.iter().filter(|call| call.is_ok()).count() as u64;
        assert_eq!(made, model.0.load(Ordering::Relaxed));
        assert_eq!(budget.spent().tokens, 30 * made);
        assert!((6..=8).contains(&made), "{made}");
        assert!(calls.iter().all(|call| matches!(call, Ok(_) | Err(LlmError::Budget { .. }))));
    }

    #[tokio::test]
    async fn replies_from_before_cost_nothing() {
        let budget = budget(Some(1.0), None);
        let model = Counted(AtomicU64::new(0), Cost::Cached);
        Budgeted::new(&model, &budget).complete(&request("hi")).await.unwrap();
        assert_eq!(budget.spent(), Amount::default());
        assert_eq!(budget.ledger().reserved, []);
    }

    #[test]
    fn usage_replaces_the_worst_case() {
        let budget = budget(Some(1.0), Some(1_000));
        let reservation = budget.reserve(500, 500).now_or_never().unwrap().unwrap();
        assert!(budget.reserve(1, 0).now_or_never().is_none());
        reservation.pay(100, 20);
        assert_eq!(budget.spent(), Amount { cost: 0.000_3, tokens: 120 });
        assert!(budget.reserve(800, 80).now_or_never().unwrap().is_ok());
        assert!(matches!(budget.reserve(800, 81).now_or_never(), Some(Err(LlmError::Budget { .. }))));
    }

    #[test]
    fn a_day_counts_what_was_spent_before() {
        let day = |spent| Some(DayLimit { max_cost: 0.01, spent });
        let budget = |spent| Budget::new(Limits { day: day(spent), ..Limits::default() }, Some(PRICE), "m").unwrap();
        // A call of 1,000 + 900 tokens costs $0.01.
        assert!(budget(0.0).reserve(1_000, 900).now_or_never().unwrap().is_ok());
        let error = budget(0.001).reserve(1_000, 900).now_or_never().unwrap().unwrap_err().to_string();
        assert!(error.contains("$0.01 a day, of which $0.0010 were spent before this run"), "{error}");
        assert!(Budget::new(Limits { day: day(0.0), ..Limits::default() }, None, "llama").is_err());
    }

    #[test]
    fn a_batch_is_reserved_and_paid_at_its_discount() {
        let budget = budget(Some(0.001), None);
        let reservation = budget.reserve_in_batch(100, 100).unwrap().unwrap();
        assert!(budget.reserve_in_batch(100, 100).unwrap().is_none());
        reservation.pay(100, 20);
        budget.charge_in_batch(100, 10);
        let spent = budget.spent();
        assert!((spent.cost - 0.000_25).abs() < 1e-12, "{spent:?}");
        assert_eq!(spent.tokens, 230);
        assert!(matches!(budget.reserve_in_batch(100, 150), Err(LlmError::Budget { .. })));
    }

    #[test]
    fn an_unknown_price_allows_no_limit_on_cost() {
        let limits = Limits { max_cost: Some(1.0), ..Limits::default() };
        let error = Budget::new(limits, None, "llama").unwrap_err().to_string();
        assert_eq!(
            error,
            "llama: the price of this model is not known, so a limit on its cost cannot be enforced; set its price with --price PROMPT,COMPLETION, or limit the run by --max-tokens"
        );
        assert!(Budget::new(Limits { max_tokens: Some(1), ..Limits::default() }, None, "llama").is_ok());
    }
}

#[cfg(test)]
mod prices_tests {
    use super::*;

    #[test]
    fn names_are_found_with_provider_and_date() {
        let prices = Prices::default();
        let rows = [
            ("gpt-5-mini", Some(0.25)),
            ("GPT-5-mini", Some(0.25)),
            ("openai/gpt-5-mini", Some(0.25)),
            ("gpt-4o-2024-08-06", Some(2.5)),
            ("anthropic/claude-sonnet-4-5-20250929", Some(3.0)),
            ("claude-sonnet-5-latest", Some(2.0)),
            ("gpt-5-mini:free", None),
            ("gpt-5-mini-2025", None),
            ("llama3.2:3b", None),
            ("", None),
            ("/", None),
            ("-20250929", None),
            ("模型-20250929", None),
        ];
        for (model, prompt) in rows {
            assert_eq!(prices.of(model).map(|price| price.prompt), prompt, "{model}");
        }
    }

    #[test]
    fn a_table_of_ones_own_goes_first() {
        let own = Prices::parse(
            "\"llama3.2:3b\" = { prompt = 0, completion = 0 }\n\"gpt-5\" = { prompt = 1, completion = 2 }",
        );
        let prices = Prices::default().overridden_by(own.unwrap());
        assert_eq!(prices.cost("llama3.2:3b", 5_000, 5_000), Some(0.0));
        assert_eq!(prices.cost("gpt-5", 1_000_000, 500_000), Some(2.0));
        assert_eq!(prices.cost("gpt-5-mini", 1_000_000, 1_000_000), Some(2.25));
        assert_eq!(prices.cost("none", 1, 1), None);
    }

    #[test]
    fn other_tables_are_refused() {
        for text in ["x", "\"m\" = 3", "\"m\" = { prompt = 1 }", "\"m\" = { prompt = 1, completion = 1, x = 1 }"] {
            assert!(matches!(Prices::parse(text), Err(PriceError::Form(_))), "{text}");
        }
        for text in ["\"m\" = { prompt = -1, completion = 1 }", "\"m\" = { prompt = 1, completion = nan }"] {
            assert!(matches!(Prices::parse(text), Err(PriceError::Amount { model }) if model == "m"), "{text}");
        }
    }
}
