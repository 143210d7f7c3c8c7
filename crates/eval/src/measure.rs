//! Measures: the quantities that rows of each kind record, their units, and whether high or low values are good.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::vocabulary::Kind;

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
}

/// A measure in a table of measures: name, description, direction and unit.
pub struct Definition(&'static str, &'static str, Better, Unit);

/// Defines a share for which high values are good.
pub(crate) const fn share(name: &'static str, about: &'static str) -> Definition {
    Definition(name, about, Better::Higher, Unit::Share)
}

/// Defines a share for which low values are good.
pub(crate) const fn fault(name: &'static str, about: &'static str) -> Definition {
    Definition(name, about, Better::Lower, Unit::Share)
}

/// Defines a number per case for which low values are good.
pub(crate) const fn number(name: &'static str, about: &'static str) -> Definition {
    Definition(name, about, Better::Lower, Unit::Number)
}

/// Defines a total for which low values are good.
pub(crate) const fn count(name: &'static str, about: &'static str) -> Definition {
    Definition(name, about, Better::Lower, Unit::Count)
}

/// Returns the measures of `definitions`. `F1` is the harmonic mean of recall and precision.
pub(crate) fn measures_of(kind: Kind, definitions: &[Definition]) -> Vec<Measure> {
    let measure = |Definition(name, about, better, unit): &Definition| Measure {
        kind: kind.to_string(),
        name: (*name).to_owned(),
        about: (*about).to_owned(),
        better: *better,
        unit: *unit,
        harmonic_of: (*name == "F1").then(|| ["recall".to_owned(), "precision".to_owned()]),
    };
    definitions.iter().map(measure).collect()
}
