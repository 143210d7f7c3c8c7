//! What a measure is, told in the file itself, so that a reader needs no list of its own.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize, Serializer};

/// A part and a whole. Over several cases both are added up.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Ratio {
    /// The part, such as the required memories that are there.
    #[serde(serialize_with = "plain")]
    pub numerator: f64,
    /// The whole, such as all that are required; 0 where the case has nothing to tell.
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

    /// Returns `sum` over `count` things, such as reciprocal ranks over questions.
    #[must_use]
    pub const fn new(sum: f64, count: f64) -> Self {
        Self { numerator: sum, denominator: count }
    }

    /// Returns both parts added up.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self { numerator: self.numerator + other.numerator, denominator: self.denominator + other.denominator }
    }

    /// Returns the value in `unit`; `None` where there is nothing to tell of.
    #[must_use]
    pub fn value(self, unit: RowUnit) -> Option<f64> {
        (self.denominator > 0.0).then_some(match unit {
            RowUnit::Share | RowUnit::Number => self.numerator / self.denominator,
            RowUnit::Count => self.numerator,
        })
    }
}

/// Writes a whole number without a point, so that files are short and differ only where numbers do.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes what it writes by reference")]
fn plain<S: Serializer>(number: &f64, to: S) -> Result<S::Ok, S::Error> {
    #[expect(clippy::cast_possible_truncation, reason = "checked to be whole and small")]
    if number.fract() == 0.0 && number.abs() < 1e15 {
        to.serialize_i64(*number as i64)
    } else {
        to.serialize_f64(*number)
    }
}

/// Which way a measure is good.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Better {
    /// The more the better.
    Higher,
    /// The less the better.
    Lower,
}

/// What the value of a measure is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RowUnit {
    /// A share of one: numerators over denominators.
    Share,
    /// A number for each of something: numerators over denominators.
    Number,
    /// How many in all: the numerators alone.
    Count,
}

/// A measure that rows of a kind carry, or that follows from two of them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Defined {
    /// The kind of the rows.
    pub kind: String,
    /// Its name, unique among those of its kind.
    pub name: String,
    /// What it is, in a few words.
    pub about: String,
    /// Which way it is good.
    pub better: Better,
    /// What its value is.
    pub unit: RowUnit,
    /// The two measures whose harmonic mean it is; rows do not carry it then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub harmonic_of: Option<[String; 2]>,
}

impl Defined {
    /// Returns a measure that rows carry.
    #[must_use]
    pub fn new(kind: &str, name: &str, about: &str, better: Better, unit: RowUnit) -> Self {
        let (kind, name, about) = (kind.to_owned(), name.to_owned(), about.to_owned());
        Self { kind, name, about, better, unit, harmonic_of: None }
    }
}

/// How a measure follows from counts of kind `C`.
#[derive(Debug, Clone, Copy)]
pub enum Formula<C: 'static> {
    /// A part of a whole.
    Ratio(fn(&C) -> Ratio),
    /// The harmonic mean of the two measures of these names.
    Harmonic([&'static str; 2]),
}

/// Returns the harmonic mean; `None` where one of the two has nothing to tell.
#[must_use]
pub fn harmonic(one: Option<f64>, other: Option<f64>) -> Option<f64> {
    let (one, other) = (one?, other?);
    Some(if one + other == 0.0 { 0.0 } else { 2.0 * one * other / (one + other) })
}
