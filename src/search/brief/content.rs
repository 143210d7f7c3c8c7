//! The memories that a brief shows or leaves out, each with its rating and the reason.

use std::collections::BTreeMap;

use serde::Serialize;

use super::request::Section;
use crate::memory::{Memory, MemoryId};

/// The context for a conversation, and the reason why each part of it was chosen.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Brief {
    /// The text for the prompt. It is empty if there is nothing to show.
    pub text: String,
    /// The size of the text in `o200k_base` tokens, counted by the requested method.
    pub tokens: usize,
    /// The length of the text in UTF-16 units, which agents count as characters.
    pub characters: usize,
    /// The memories in the brief, in order.
    pub shown: Vec<Shown>,
    /// Recalled memories that were considered but left out, best first.
    pub left_out: Vec<LeftOut>,
    /// Whether there are further memories that could be shown; only the best few hundred are considered.
    pub has_more: bool,
}

/// A memory in a brief.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Shown {
    /// The memory.
    #[serde(flatten)]
    pub memory: Memory,
    /// The section that contains it.
    pub section: Section,
    /// The rating of the memory, with its components.
    pub standing: Standing,
    /// Number of tokens of the memory's line.
    pub tokens: usize,
}

/// A memory that a brief does not contain.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LeftOut {
    /// The ID of the memory.
    pub id: MemoryId,
    /// The section that the memory would have belonged to.
    pub section: Section,
    /// The rating of the memory, with its components.
    pub standing: Standing,
    /// The reason why the memory was left out.
    #[serde(flatten)]
    pub because: ExclusionReason,
}

impl Brief {
    /// Returns the number of memories that were left out, by reason.
    pub(crate) fn reasons(&self) -> BTreeMap<&'static str, usize> {
        let mut reasons = BTreeMap::new();
        for one in &self.left_out {
            *reasons.entry(one.because.as_str()).or_default() += 1;
        }
        reasons
    }
}

/// The rating of a memory for a brief, and the unweighted components of the rating, each between 0 and 1.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Standing {
    /// The weighted sum.
    pub total: f64,
    /// The relevance to the question; `None` if there is no question or the memory is a standing memory.
    pub to_the_point: Option<f64>,
    /// The importance of the memory.
    pub importance: f64,
    /// The confidence after fading.
    pub confidence: f64,
    /// How recently the memory was changed, confirmed or used.
    pub recency: f64,
    /// The memory's level in the hierarchy: 1 for l0, 0 for l4.
    pub tier: f64,
    /// Whether the memory is a blocker or an open task, or is about the branch or the issue at hand, so that it comes
    /// before all others.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub at_hand: bool,
}

/// The reason why a recalled memory does not appear in a brief.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "because", rename_all = "snake_case")]
pub enum ExclusionReason {
    /// The importance of the memory is below the minimum.
    Unimportant,
    /// The memory was not confirmed or used for so long that its confidence is too low.
    Faded,
    /// The memory is not relevant to the question.
    BesideThePoint,
    /// Another memory in the brief contains the same information.
    SaysTheSame {
        /// The other memory.
        other: MemoryId,
    },
    /// The section of the memory is full.
    OverQuota,
    /// There was no room for the memory.
    OverBudget,
}

impl ExclusionReason {
    /// Returns the spelling used in JSON.
    pub(crate) const fn as_str(&self) -> &'static str {
        match self {
            Self::Unimportant => "unimportant",
            Self::Faded => "faded",
            Self::BesideThePoint => "beside_the_point",
            Self::SaysTheSame { .. } => "says_the_same",
            Self::OverQuota => "over_quota",
            Self::OverBudget => "over_budget",
        }
    }

    /// Returns whether the memory would be shown if there were room.
    pub(crate) const fn is_for_want_of_room(&self) -> bool {
        matches!(self, Self::OverQuota | Self::OverBudget)
    }
}
