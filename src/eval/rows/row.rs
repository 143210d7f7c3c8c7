//! What one case came to.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::define::Ratio;
use crate::eval::Usage;

/// What one run of one case came to.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Row {
    /// Name of its suite.
    pub suite: String,
    /// What kind of case it is: `extraction`, `pair`, `stream`, `retention`, `recall`, or any other. Rows of a kind have the same measures.
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
    /// Which run of it this is, from 1.
    pub repeat: u32,
    /// Why it could not be run, if so; then it has no measures.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// What was counted, by measure. One that has nothing to tell of this case has a denominator of 0.
    pub measures: BTreeMap<String, Ratio>,
    /// What should have been and what was, where there is a choice of few.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub confusion: Vec<Confusion>,
    /// What it cost.
    pub cost: Spent,
    /// What is hard about it, or what it asks, for people.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub about: String,
    /// What went wrong, the worst first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<Found>,
    /// What was said, as the extractor saw it, where something went wrong; long conversations are cut.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub said: Vec<Spoken>,
}

/// What should have been, and what was.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Confusion {
    /// What the choice is between, such as `type` or `decision`.
    pub of: String,
    /// What should have been.
    pub expected: String,
    /// What was.
    pub got: String,
    /// How often.
    pub count: u64,
}

/// What a case cost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Spent {
    /// Requests that were answered; a recorded answer counts as the call that it was.
    pub calls: u64,
    /// Requests that were not.
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

impl Spent {
    /// Returns what a meter has counted, without money and time.
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

    /// Returns it for people, on one line.
    #[must_use]
    pub fn spelled(&self) -> String {
        #[expect(clippy::cast_precision_loss, reason = "a time since the run began")]
        let seconds = self.ms as f64 / 1_000.0;
        if self.calls + self.failed_calls == 0 {
            return format!("no call, {seconds:.1} s in all cases added up");
        }
        let money = self.money.map_or_else(String::new, |money| format!(", ${money:.4}"));
        format!(
            "{} {}, {} prompt tokens, {} completion tokens{money}, {seconds:.1} s in all cases added up",
            self.calls,
            if self.calls == 1 { "call" } else { "calls" },
            self.prompt_tokens,
            self.completion_tokens
        )
    }

    /// Returns both added up; money only where both know it, or the other has cost nothing.
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
}

/// What was asked for several cases of a suite together, and so is in no row.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Shared {
    /// The suite.
    pub suite: String,
    /// Which run of it, from 1.
    pub repeat: u32,
    /// What it cost.
    pub cost: Spent,
}

/// Something that went wrong in a case.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Found {
    /// What it is, in a word or two: `missed`, `forbidden`, `unlisted`, `wrong decision`.
    pub what: String,
    /// What tells it from others of the case in every run: the id of the gold memory, or the text.
    pub id: String,
    /// What the memory says, or should have said.
    pub text: String,
    /// Why it is wrong, for people.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub why: String,
    /// Whether a measure of the case suffers from it.
    pub counts: bool,
    /// The words that it rests on, or should rest on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<Quoted>,
}

/// Words of a message.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Quoted {
    /// Id of the message among what was said; `None` where it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The words.
    pub quote: String,
}

/// A message of a conversation, or a memory that was known or came.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Spoken {
    /// Its id.
    pub id: String,
    /// Who said it.
    pub speaker: String,
    /// The words.
    pub text: String,
}
