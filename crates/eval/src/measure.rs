//! Measures: the quantities that rows of each kind record, their units, and whether high or low values are good.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::vocabulary::Kind;

/// The measures of all kinds of rows.
const CATALOGUE: &str = include_str!("measures.txt");

/// Returns whether two values differ by more than the rounding of a file.
pub(crate) fn differ(was: Option<f64>, is: Option<f64>) -> bool {
    was != is && was.zip(is).is_none_or(|(was, is)| (was - is).abs() >= 1e-9)
}

/// Whether high or low values of a measure are good.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Better {
    /// High values are good.
    Higher,
    /// Low values are good.
    Lower,
}

/// Meaning of the value of a measure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Unit {
    /// A share from 0 to 1: the numerators divided by the denominators.
    Share,
    /// An average, such as a number per case: the numerators divided by the denominators.
    Number,
    /// A total: the numerators alone.
    Count,
}

impl Unit {
    /// Returns `value` with as many digits as its unit needs, or `–` if nothing was measured.
    pub(crate) fn format(self, value: Option<f64>) -> String {
        match (value, self) {
            (None, _) => "–".to_owned(),
            (Some(value), Self::Share) => format!("{value:.3}"),
            (Some(value), Self::Number) => format!("{value:.2}"),
            (Some(value), Self::Count) => format!("{value:.0}"),
        }
    }
}

/// A measure that rows of one kind contain, or that is derived from two of their measures.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Measure {
    /// The kind of the rows.
    pub(crate) kind: String,
    /// Name of the measure, unique among those of its kind.
    pub(crate) name: String,
    /// A description in a few words.
    pub(crate) about: String,
    /// Whether high or low values are good.
    pub(crate) better: Better,
    /// Meaning of the measure's value.
    pub(crate) unit: Unit,
    /// The two measures whose harmonic mean this measure is; rows do not contain such a measure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) harmonic_of: Option<[String; 2]>,
}

impl Measure {
    /// Returns whether both measures are computed in the same way; their descriptions may differ.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        // The description is left out, because rewording it does not change the measure.
        let key = |one: &Self| (one.kind.clone(), one.name.clone(), one.better, one.unit, one.harmonic_of.clone());
        key(self) == key(other)
    }

    /// Returns whether the second of two different values is better; `None` if one of them is missing, because another
    /// measure then shows the cause.
    pub(crate) fn is_better(&self, was: Option<f64>, is: Option<f64>) -> Option<bool> {
        was.zip(is).map(|(was, is)| (is > was) == (self.better == Better::Higher))
    }
}

impl Kind {
    /// Returns the measures of the rows of this kind, in the order in which reports list them.
    pub(crate) fn measures(self) -> Vec<Measure> {
        measures_in(CATALOGUE, self.as_str())
    }
}

/// Returns the measures that `catalogue` lists for a kind. `F1` is the harmonic mean of recall and precision.
pub(crate) fn measures_in(catalogue: &str, kind: &str) -> Vec<Measure> {
    let heading = format!("[{kind}]");
    let lines = catalogue.lines().skip_while(|line| *line != heading).skip(1).take_while(|line| !line.is_empty());
    let measure = |line: &str| {
        let (what, about) = line.split_once(": ")?;
        let (counted, name) = what.split_once(' ')?;
        let (better, unit) = match counted {
            "share" => (Better::Higher, Unit::Share),
            "fault" => (Better::Lower, Unit::Share),
            "number" => (Better::Lower, Unit::Number),
            _ => (Better::Lower, Unit::Count),
        };
        let [kind, name, about] = [kind, name.trim_start(), about].map(str::to_owned);
        let harmonic_of = (name == "F1").then(|| ["recall", "precision"].map(str::to_owned));
        Some(Measure { kind, name, about, better, unit, harmonic_of })
    };
    lines.filter_map(measure).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_the_catalogue_is_a_measure_of_a_kind() {
        let lines = CATALOGUE.lines().filter(|line| !line.is_empty() && !line.starts_with(['#', '[']));
        let (units, listed) = (["share ", "fault ", "number ", "count "], lines.clone().count());
        assert_eq!(lines.filter(|line| units.iter().any(|unit| line.starts_with(unit))).count(), listed);
        let measures: Vec<usize> = Kind::ALL.iter().map(|kind| kind.measures().len()).collect();
        assert_eq!(measures.iter().sum::<usize>(), listed);
        assert!(!measures.contains(&0), "{measures:?}");
    }
}
