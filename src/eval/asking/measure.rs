//! The kinds of cases, and the measures of each.

use serde::Serialize;

use crate::eval::rows::{Better, Defined, RowUnit};

/// What a case asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Which memories a query brings.
    Recall,
    /// Which memories a brief holds.
    Brief,
    /// Whether a question can be answered from what comes.
    Qa,
}

impl Kind {
    /// Every kind, in the order in which they are told.
    pub const ALL: &[Self] = &[Self::Recall, Self::Brief, Self::Qa];

    /// Returns how the names of its files end.
    #[must_use]
    pub const fn ending(self) -> &'static str {
        match self {
            Self::Recall => "-recall.jsonl",
            Self::Brief => "-brief.jsonl",
            Self::Qa => "-qa.jsonl",
        }
    }

    /// Returns its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Recall => "recall",
            Self::Brief => "brief",
            Self::Qa => "qa",
        }
    }
}

/// Name, what it is, which way it is good, and what its values are.
type Told = (&'static str, &'static str, Better, RowUnit);

const fn share(name: &'static str, about: &'static str) -> Told {
    (name, about, Better::Higher, RowUnit::Share)
}

/// A share of which less is better.
const fn fault(name: &'static str, about: &'static str) -> Told {
    (name, about, Better::Lower, RowUnit::Share)
}

const fn number(name: &'static str, about: &'static str) -> Told {
    (name, about, Better::Lower, RowUnit::Number)
}

const RECALL: &[Told] = &[
    share("recall@1", "of what must come, the share that comes first"),
    share("recall@5", "among the first 5"),
    share("recall@10", "among the first 10"),
    share("all@10", "queries of which all that must come is among the first 10"),
    share("MRR", "one divided by the place of the first that must come"),
    share("NDCG@10", "how far up among the first 10 what must come stands"),
    share("in budget", "of what must come, the share that fits the tokens given"),
    fault("forbidden@10", "queries of which what must not come is among the first 10"),
    share("only kept", "queries that bring nothing but what may come"),
    share("empty kept", "queries without an answer that bring nothing"),
    number("returned", "memories a query brings"),
    number("tokens@10", "tokens of the first 10"),
];

const BRIEF: &[Told] = &[
    share("held", "of what a brief must hold, the share that it holds"),
    share("all held", "briefs that hold all that they must"),
    fault("leaks", "briefs that hold what they must not"),
    share("empty kept", "briefs of nothing that are empty"),
    share("in budget", "briefs within their tokens"),
    number("tokens", "tokens of a brief"),
];

const QA: &[Told] = &[
    share("complete", "contexts that hold every part of the answer"),
    share("parts", "parts of the answers that stand in the contexts"),
    share("kept", "questions of which every part stands in some memory"),
    share("found of kept", "of those, the share whose context is complete"),
    share("evidence", "pieces of evidence on which the contexts rest"),
    fault("misled", "contexts that hold what misleads"),
    share("abstained", "questions without an answer whose context holds none"),
    number("tokens", "tokens of a context"),
];

/// Returns the measures of a kind of case, in the order in which they are told.
#[must_use]
pub fn measures(kind: Kind) -> Vec<Defined> {
    let told = match kind {
        Kind::Recall => RECALL,
        Kind::Brief => BRIEF,
        Kind::Qa => QA,
    };
    told.iter().map(|(name, about, better, unit)| Defined::new(kind.name(), name, about, *better, *unit)).collect()
}
