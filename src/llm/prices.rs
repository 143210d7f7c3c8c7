//! What models cost.

use std::collections::BTreeMap;

use serde::Deserialize;

/// The built-in table.
const DEFAULTS: &str = include_str!("prices.toml");

/// What a model costs, in US dollars for a million tokens.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Price {
    /// Of the request.
    pub prompt: f64,
    /// Of the answer, reasoning included.
    pub completion: f64,
    /// What of it is paid in a batch: 1 where the vendor grants no discount.
    #[serde(default = "undiscounted")]
    pub batch: f64,
}

const fn undiscounted() -> f64 {
    1.0
}

impl Price {
    /// Returns a price without a discount for batches.
    #[must_use]
    pub const fn new(prompt: f64, completion: f64) -> Self {
        Self { prompt, completion, batch: 1.0 }
    }

    /// Returns the price in a batch.
    #[must_use]
    pub fn in_batch(self) -> Self {
        Self::new(self.prompt * self.batch, self.completion * self.batch)
    }

    /// Returns what a call costs, in US dollars.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "no run comes near 2^53 tokens")]
    pub fn cost(&self, prompt_tokens: u64, completion_tokens: u64) -> f64 {
        (prompt_tokens as f64 * self.prompt + completion_tokens as f64 * self.completion) / 1e6
    }

    fn is_valid(&self) -> bool {
        [self.prompt, self.completion, self.batch].iter().all(|price| price.is_finite() && *price >= 0.0)
    }
}

/// Why a price table cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum PriceError {
    /// It does not have the form.
    #[error(
        "cannot read the price table; each line is \"MODEL\" = {{ prompt = 0.25, completion = 2.0 }}, with batch = 0.5 after them for a discount"
    )]
    Form(#[from] toml::de::Error),
    /// A price is negative or no number.
    #[error("the price of {model} is no amount of money; set it to zero or more")]
    Amount {
        /// The model.
        model: String,
    },
}

/// Prices by model.
#[derive(Debug, Clone, PartialEq)]
pub struct Prices(BTreeMap<String, Price>);

impl Default for Prices {
    /// Returns the built-in table.
    fn default() -> Self {
        Self::parse(DEFAULTS).expect("the built-in table is read by a test")
    }
}

impl Prices {
    /// Returns the table that `text`, in TOML, holds.
    ///
    /// # Errors
    /// [`PriceError`] if it has another form or a price is no amount of money.
    pub fn parse(text: &str) -> Result<Self, PriceError> {
        let table: BTreeMap<String, Price> = toml::from_str(text)?;
        match table.iter().find(|(_, price)| !price.is_valid()) {
            Some((model, _)) => Err(PriceError::Amount { model: model.clone() }),
            None => Ok(Self(table.into_iter().map(|(model, price)| (model.to_lowercase(), price)).collect())),
        }
    }

    /// Returns the built-in table with the prices of `own`, of the same form, in place of its own.
    ///
    /// # Errors
    /// [`PriceError`] as [`Prices::parse`].
    pub fn with(own: &toml::Table) -> Result<Self, PriceError> {
        Ok(Self::default().overridden_by(Self::parse(&own.to_string())?))
    }

    /// Returns this table with the prices of `stronger` in place of its own.
    #[must_use]
    pub fn overridden_by(mut self, stronger: Self) -> Self {
        self.0.extend(stronger.0);
        self
    }

    /// Returns the price of `model`: under its whole name, else without the provider before it and the date after it.
    #[must_use]
    pub fn of(&self, model: &str) -> Option<Price> {
        let name = model.to_lowercase();
        let bare = name.rsplit('/').next().unwrap_or_default();
        [name.as_str(), bare, without_date(bare)].iter().find_map(|name| self.0.get(*name)).copied()
    }

    /// Returns what a call to `model` costs, in US dollars, or `None` if its price is not known.
    #[must_use]
    pub fn cost(&self, model: &str, prompt_tokens: u64, completion_tokens: u64) -> Option<f64> {
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
    // The date is the end of the tail; what is before it, as in `-4-5-20250929`, belongs to the name.
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
