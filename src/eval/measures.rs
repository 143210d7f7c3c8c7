//! The measures that follow from counts.

use super::case::Importance;
use super::counts::Counts;
use super::rows::{Better, Defined, Formula, Ratio, RowUnit, harmonic};

/// Kind of the rows of conversations that were read.
pub const KIND: &str = "extraction";

/// A measure: a share, or a number for each case.
pub struct Measure {
    /// Its name, for people and in JSON.
    pub name: &'static str,
    /// What it is, in a few words.
    pub about: &'static str,
    /// What its numbers are.
    pub unit: Unit,
    /// How it follows from counts.
    pub formula: Formula<Counts>,
}

impl Measure {
    /// Returns its value for `counts`; `None` where there is nothing to tell of.
    #[must_use]
    pub fn of(&self, counts: &Counts) -> Option<f64> {
        let named = |name: &str| MEASURES.iter().find(|one| one.name == name)?.of(counts);
        match self.formula {
            Formula::Ratio(ratio) => ratio(counts).value(RowUnit::Share),
            Formula::Harmonic([one, other]) => harmonic(named(one), named(other)),
        }
    }

    /// Returns what files of results tell of it.
    #[must_use]
    pub fn defined(&self) -> Defined {
        let (better, unit) = match self.unit {
            Unit::Share => (Better::Higher, RowUnit::Share),
            Unit::Fault => (Better::Lower, RowUnit::Share),
            Unit::Number => (Better::Lower, RowUnit::Number),
        };
        let harmonic_of = match self.formula {
            Formula::Ratio(_) => None,
            Formula::Harmonic(names) => Some(names.map(str::to_owned)),
        };
        Defined { harmonic_of, ..Defined::new(KIND, self.name, self.about, better, unit) }
    }
}

/// What the numbers of a measure are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// A share of one, the more the better.
    Share,
    /// A share of one, the less the better.
    Fault,
    /// A number, the less the better.
    Number,
}

const fn share(name: &'static str, about: &'static str, of: fn(&Counts) -> Ratio) -> Measure {
    Measure { name, about, unit: Unit::Share, formula: Formula::Ratio(of) }
}

/// A share of which less is better.
const fn fault(name: &'static str, about: &'static str, of: fn(&Counts) -> Ratio) -> Measure {
    Measure { name, about, unit: Unit::Fault, formula: Formula::Ratio(of) }
}

/// Every measure, in the order in which it is told.
pub const MEASURES: &[Measure] = &[
    share("recall", "required memories that are there", |counts| {
        counts.recall_of(&[Importance::High, Importance::Medium, Importance::Low])
    }),
    share("recall high", "those of high importance", |counts| counts.recall_of(&[Importance::High])),
    share("recall medium", "those of medium importance", |counts| counts.recall_of(&[Importance::Medium])),
    share("recall low", "those of low importance", |counts| counts.recall_of(&[Importance::Low])),
    share("recall weighted", "the same, high counting three times and medium twice", Counts::weighted),
    share("precision", "memories that are right, all unlisted ones taken as wrong", |counts| {
        Ratio::of(counts.right, counts.counted())
    }),
    share("precision judged", "the same, with the verdicts on unlisted ones", |counts| {
        Ratio::of(counts.right + counts.unlisted_kept, counts.counted())
    }),
    Measure {
        name: "F1",
        about: "of recall and precision",
        unit: Unit::Share,
        formula: Formula::Harmonic(["recall", "precision"]),
    },
    share("type", "types that are right", |counts| Ratio::of(counts.type_right, counts.typed)),
    share("importance", "importance of the right kind: high from 0.7, medium from 0.4", |counts| {
        Ratio::of(counts.weighed_right, counts.weighed)
    }),
    share("importance order", "pairs of unlike importance in the right order", |counts| {
        Ratio::of(counts.order_right, counts.order_pairs)
    }),
    share("dates", "dates that matter and are told", |counts| Ratio::of(counts.date_right, counts.dated)),
    share("evidence", "memories that cite the right message", |counts| {
        Ratio::of(counts.evidence_right, counts.evidenced)
    }),
    share("quotes", "quotes that stand in the message cited", |counts| Ratio::of(counts.quotes_found, counts.quotes)),
    share("language", "memories in the language of the case", |counts| Ratio::of(counts.in_language, counts.memories)),
    Measure {
        name: "forbidden",
        about: "forbidden memories a case",
        unit: Unit::Number,
        formula: Formula::Ratio(|counts| Ratio::of(counts.forbidden, counts.cases)),
    },
    fault("open dates", "memories that leave a day, week or month open", |counts| {
        Ratio::of(counts.open_dates, counts.memories)
    }),
    fault("lost", "required memories that were found and then retired", |counts| {
        Ratio::of(counts.lost, counts.extracted)
    }),
    fault("wrong retire", "retired memories that say what no other does", |counts| {
        Ratio::of(counts.wrongly_retired, counts.retired)
    }),
    fault("growth", "memories that come of reading the same logs again", |counts| {
        Ratio::of(counts.grown, counts.before_again)
    }),
];
