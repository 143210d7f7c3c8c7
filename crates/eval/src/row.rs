//! Rows: the outcome of one case, with measures that can be added up.

use std::collections::BTreeMap;
use std::time::Instant;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize, Serializer};

use crate::prediction::Usage;

/// A part and a whole. Over several cases both are added up.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Ratio {
    /// The part, such as the required memories that were found.
    #[serde(serialize_with = "plain")]
    pub numerator: f64,
    /// The whole, such as all required memories; 0 if the case does not measure it.
    #[serde(serialize_with = "plain")]
    pub denominator: f64,
}

impl Ratio {
    /// Returns `part` of `whole`.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
    pub const fn of(part: u64, whole: u64) -> Self {
        Self { numerator: part as f64, denominator: whole as f64 }
    }

    pub(crate) fn plus(self, other: Self) -> Self {
        Self { numerator: self.numerator + other.numerator, denominator: self.denominator + other.denominator }
    }

    /// Returns the value in `unit`; `None` if nothing was measured.
    #[must_use]
    pub fn value(self, unit: Unit) -> Option<f64> {
        (self.denominator > 0.0).then_some(match unit {
            Unit::Share | Unit::Number => self.numerator / self.denominator,
            Unit::Count => self.numerator,
        })
    }
}

/// Writes a whole number without a decimal point, so that files stay short and differ only where numbers do.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes the value by reference")]
fn plain<S: Serializer>(number: &f64, to: S) -> Result<S::Ok, S::Error> {
    #[expect(clippy::cast_possible_truncation, reason = "checked to be whole and small")]
    if number.fract() == 0.0 && number.abs() < 1e15 {
        to.serialize_i64(*number as i64)
    } else {
        to.serialize_f64(*number)
    }
}

/// Whether high or low values of a measure are good.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Better {
    /// High values are good.
    Higher,
    /// Low values are good.
    Lower,
}

/// Meaning of the value of a measure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Unit {
    /// A share of one: numerators over denominators.
    Share,
    /// A number for each of something: numerators over denominators.
    Number,
    /// A total: the numerators alone.
    Count,
}

impl Unit {
    /// Returns `value` with the digits that its unit needs; `–` if nothing was measured.
    #[must_use]
    pub fn format(self, value: Option<f64>) -> String {
        match (value, self) {
            (None, _) => "–".to_owned(),
            (Some(value), Self::Share) => format!("{value:.3}"),
            (Some(value), Self::Number) => format!("{value:.2}"),
            (Some(value), Self::Count) => format!("{value:.0}"),
        }
    }
}

/// A measure that rows of a kind contain, or that follows from two of them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Measure {
    /// The kind of the rows.
    pub kind: String,
    /// Its name, unique among those of its kind.
    pub name: String,
    /// A description in a few words.
    pub about: String,
    /// Whether high or low values are good.
    pub better: Better,
    /// Meaning of its value.
    pub unit: Unit,
    /// The two measures of which it is the harmonic mean; rows do not contain it then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub harmonic_of: Option<[String; 2]>,
}

impl Measure {
    /// Returns whether both are computed alike; a better description changes nothing.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        (&self.kind, &self.name, self.better, self.unit, &self.harmonic_of)
            == (&other.kind, &other.name, other.better, other.unit, &other.harmonic_of)
    }
}

/// A measure in a table of measures.
pub(crate) struct Definition(&'static str, &'static str, Better, Unit);

/// A share of which more is better.
pub(crate) const fn share(name: &'static str, about: &'static str) -> Definition {
    Definition(name, about, Better::Higher, Unit::Share)
}

/// A share of which less is better.
pub(crate) const fn fault(name: &'static str, about: &'static str) -> Definition {
    Definition(name, about, Better::Lower, Unit::Share)
}

/// A number for each case, of which less is better.
pub(crate) const fn number(name: &'static str, about: &'static str) -> Definition {
    Definition(name, about, Better::Lower, Unit::Number)
}

/// A total, of which less is better.
pub(crate) const fn count(name: &'static str, about: &'static str) -> Definition {
    Definition(name, about, Better::Lower, Unit::Count)
}

/// Returns the measures of `definitions` for rows of `kind`. `F1` is the harmonic mean of recall and precision.
pub(crate) fn measures_of(kind: &str, definitions: &[Definition]) -> Vec<Measure> {
    let measure = |Definition(name, about, better, unit): &Definition| Measure {
        kind: kind.to_owned(),
        name: (*name).to_owned(),
        about: (*about).to_owned(),
        better: *better,
        unit: *unit,
        harmonic_of: (*name == "F1").then(|| ["recall".to_owned(), "precision".to_owned()]),
    };
    definitions.iter().map(measure).collect()
}

/// Outcome of one run of one case.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Row {
    /// Name of its suite.
    pub suite: String,
    /// Kind of case: `extraction`, `pair`, `stream`, `recall` or any other. Rows of a kind have the same measures.
    pub kind: String,
    /// Its name, unique among those of its suite and kind.
    pub case: String,
    /// Its split, such as `dev`.
    pub split: String,
    /// Its language, where it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub language: Option<String>,
    /// Format of its logs, where it has some.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<String>,
    /// What it tests.
    #[serde(default)]
    pub phenomena: Vec<String>,
    /// Number of the run of this case, from 1.
    pub repeat: u32,
    /// Why it could not be run, if so; then it has no measures.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The measures. One that the case does not measure has a denominator of 0 or is missing.
    pub measures: BTreeMap<String, Ratio>,
    /// Totals behind the measures, such as the number of memories, for people.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub counts: BTreeMap<String, u64>,
    /// Expected and actual values, where there is a choice of few.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub confusion: Vec<Confusion>,
    /// Its cost.
    pub cost: Cost,
    /// What is hard about it, or what it asks, for people.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub about: String,
    /// What went wrong, the worst first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<Finding>,
    /// Faults of the case itself that its author should fix, and problems of the run that did not spoil it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// The messages around the findings, as the system saw them; long conversations are cut.
    #[serde(default, rename = "said", skip_serializing_if = "Vec::is_empty")]
    pub excerpts: Vec<Excerpt>,
}

/// An expected and an actual value.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Confusion {
    /// The choice, such as `type` or `decision`.
    pub of: String,
    /// The expected value.
    pub expected: String,
    /// The actual value.
    pub got: String,
    /// How often.
    pub count: u64,
}

/// Cost of a case or a suite.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Cost {
    /// Answered requests; a recorded reply counts as the call that it was.
    pub calls: u64,
    /// Failed requests.
    pub failed_calls: u64,
    /// Tokens sent.
    pub prompt_tokens: u64,
    /// Tokens received.
    pub completion_tokens: u64,
    /// Dollars, where the price is known.
    pub money: Option<f64>,
    /// Milliseconds.
    pub ms: u64,
}

impl Cost {
    /// Returns the cost of `usage`, without money and time.
    #[must_use]
    pub const fn of(usage: Usage) -> Self {
        Self {
            calls: usage.calls,
            failed_calls: usage.failed_calls,
            prompt_tokens: usage.prompt_tokens,
            completion_tokens: usage.completion_tokens,
            money: None,
            ms: 0,
        }
    }

    /// Returns it on one line for people.
    #[must_use]
    pub fn summary(&self) -> String {
        #[expect(clippy::cast_precision_loss, reason = "a duration")]
        let seconds = self.ms as f64 / 1_000.0;
        if self.calls + self.failed_calls == 0 {
            return format!("no call, {seconds:.1} s in total");
        }
        let money = self.money.map_or_else(String::new, |money| format!(", ${money:.4}"));
        format!(
            "{} {}, {} prompt tokens, {} completion tokens{money}, {seconds:.1} s in total",
            self.calls,
            if self.calls == 1 { "call" } else { "calls" },
            self.prompt_tokens,
            self.completion_tokens
        )
    }

    /// Returns the sum; money only if both know it, or one of them made no call.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            calls: self.calls + other.calls,
            failed_calls: self.failed_calls + other.failed_calls,
            prompt_tokens: self.prompt_tokens + other.prompt_tokens,
            completion_tokens: self.completion_tokens + other.completion_tokens,
            money: match (self.money, other.money) {
                (Some(one), Some(two)) => Some(one + two),
                (one, None) if other.calls == 0 => one,
                (None, two) if self.calls == 0 => two,
                (Some(_) | None, None) | (None, Some(_)) => None,
            },
            ms: self.ms + other.ms,
        }
    }

    /// Returns the sum of all `costs`.
    pub fn sum(costs: impl IntoIterator<Item = Self>) -> Self {
        costs.into_iter().fold(Self { money: Some(0.0), ..Self::default() }, Self::plus)
    }
}

/// Something that went wrong in a case.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Finding {
    /// The fault in a word or two: `missed`, `forbidden`, `unlisted`, `wrong decision`.
    pub what: String,
    /// Identifies it among the findings of the case in every run: the id of the gold memory, or the text.
    pub id: String,
    /// The text of the memory, as it is or should be.
    pub text: String,
    /// Why it is wrong, for people.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub why: String,
    /// Whether it lowers a measure of the case.
    pub counts: bool,
    /// The words that it cites, or should cite.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<Quote>,
}

/// Words of a message.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Quote {
    /// Id of the message among the excerpts, where it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The words.
    pub quote: String,
}

/// A message of a conversation, or a memory that was known or arrived.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Excerpt {
    /// Its id.
    pub id: String,
    /// Its speaker.
    pub speaker: String,
    /// The words.
    pub text: String,
}

impl Row {
    /// Returns the row of a case that could not be run, or clears the measures of one that may not count.
    #[must_use]
    pub fn failed(self, error: String) -> Self {
        Self { error: Some(error), measures: BTreeMap::new(), ..self }
    }

    pub(crate) fn ratio(&mut self, name: &str, part: u64, whole: u64) {
        self.measures.insert(name.to_owned(), Ratio::of(part, whole));
    }

    /// Adds `part` of `whole` to a measure.
    pub(crate) fn add(&mut self, name: &str, part: f64, whole: f64) {
        let ratio = self.measures.entry(name.to_owned()).or_default();
        *ratio = ratio.plus(Ratio { numerator: part, denominator: whole });
    }

    /// Adds the value of one question to a measure.
    pub(crate) fn mean(&mut self, name: &str, value: f64) {
        self.add(name, value, 1.0);
    }

    /// Adds a yes or a no to a measure.
    pub(crate) fn yes(&mut self, name: &str, is_so: bool) {
        self.mean(name, f64::from(u8::from(is_so)));
    }

    /// Adds a finding that lowers a measure.
    pub(crate) fn fault(&mut self, what: &str, id: &str, text: &str, why: &str) {
        self.findings.push(Finding {
            what: what.to_owned(),
            id: id.to_owned(),
            text: text.to_owned(),
            why: why.to_owned(),
            counts: true,
            evidence: Vec::new(),
        });
    }

    /// Notes the time since `started`.
    #[must_use]
    pub fn timed(mut self, started: Instant) -> Self {
        self.cost.ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
        self
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
pub(crate) const fn float(count: usize) -> f64 {
    count as f64
}

/// Returns the number of the first `texts` that fit into `budget` tokens together.
pub(crate) fn fitting(texts: &[&str], budget: usize, tokens: fn(&str) -> usize) -> usize {
    let mut left = budget;
    let mut fits = |text: &str| left.checked_sub(tokens(text)).map(|rest| left = rest).is_some();
    texts.iter().take_while(|text| fits(text)).count()
}

/// Returns the discounted gain of the places that `is_right` accepts, as a share of the best possible with `best` of them.
/// Only the first 10 places count.
pub(crate) fn ndcg(is_right: impl Iterator<Item = bool>, best: usize) -> f64 {
    let gain = |place: usize| 1.0 / float(place + 2).log2();
    let found: f64 = is_right.take(10).enumerate().filter(|(_, right)| *right).map(|(place, _)| gain(place)).sum();
    found / (0..best.min(10)).map(gain).sum::<f64>()
}

/// Returns one divided by the first place that `is_right` accepts; 0 if there is none.
pub(crate) fn reciprocal_rank(mut is_right: impl Iterator<Item = bool>) -> f64 {
    is_right.position(|right| right).map_or(0.0, |place| 1.0 / float(place + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_follow_their_unit() {
        assert_eq!(Ratio::of(3, 4).plus(Ratio::of(1, 4)).value(Unit::Share), Some(0.5));
        assert_eq!(Ratio::of(3, 4).value(Unit::Count), Some(3.0));
        assert_eq!(Ratio::of(0, 0).value(Unit::Count), None);
    }

    #[test]
    fn unknown_money_stays_unknown() {
        let known = Cost { calls: 1, money: Some(1.0), ..Cost::default() };
        let unknown = Cost { calls: 1, ..Cost::default() };
        assert_eq!(known.plus(known).money, Some(2.0));
        assert_eq!(known.plus(unknown).money, None);
        assert_eq!(known.plus(Cost::default()).money, Some(1.0));
    }

    #[test]
    fn ranks_count_the_less_the_later_they_come() {
        let close = |found: f64, expected: f64| assert!((found - expected).abs() < 1e-9, "{found} is not {expected}");
        close(ndcg([true, false, true].into_iter(), 2), (1.0 + 0.5) / (1.0 + 1.0 / 3f64.log2()));
        close(reciprocal_rank([false, true].into_iter()), 0.5);
        close(reciprocal_rank(std::iter::empty()), 0.0);
    }
}
