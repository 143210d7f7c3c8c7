//! A plan as people read it: the lines of a diff.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::consolidate::{Change, Conflict, Decision, Plan};
use crate::memory::MemoryId;

/// How a line of a plan changes what is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Sign {
    /// Becomes known.
    Added,
    /// Is reworded, or gains evidence.
    Changed,
    /// Is no longer recalled.
    Removed,
    /// Stays as it is.
    Same,
}

/// A line of a plan, to be coloured by its sign.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DiffLine {
    /// What happens.
    pub sign: Sign,
    /// The memory's words.
    pub text: String,
    /// The decision and its reason, on the line that carries the candidate.
    pub note: Option<String>,
    /// The memory's id, where it has one.
    pub id: Option<MemoryId>,
}

impl Plan {
    /// Returns the plan as lines of a diff, candidate by candidate: what goes, then what comes.
    #[must_use]
    pub fn lines(&self) -> Vec<DiffLine> {
        self.changes.iter().flat_map(Change::lines).collect()
    }

    /// Returns how often each decision was taken, those that were not taken included.
    #[must_use]
    pub fn counts(&self) -> BTreeMap<Decision, usize> {
        let mut counts: BTreeMap<Decision, usize> = Decision::ALL.iter().map(|decision| (*decision, 0)).collect();
        for change in &self.changes {
            *counts.entry(change.decision).or_default() += 1;
        }
        counts
    }

    /// Whether applying the plan would write anything.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.changes.iter().all(|change| change.decision == Decision::Skip)
    }
}

impl Change {
    fn lines(&self) -> Vec<DiffLine> {
        let content = self.incoming.candidate.claim.content.clone();
        let note = self.note();
        let old = |sign| DiffLine {
            sign,
            text: self.before.clone().unwrap_or_default(),
            note: None,
            id: self.target.clone(),
        };
        let new = |sign, text: String| DiffLine { sign, text, note: Some(note.clone()), id: self.new_id.clone() };
        let target = |sign, text: String| DiffLine { id: self.target.clone(), ..new(sign, text) };
        match self.decision {
            Decision::Add => vec![new(Sign::Added, content)],
            Decision::Skip => vec![target(Sign::Same, content)],
            Decision::Support => vec![target(Sign::Changed, self.before.clone().unwrap_or(content))],
            Decision::Merge | Decision::Refine | Decision::Contradict if self.pending => {
                vec![old(Sign::Same), new(Sign::Added, content)]
            }
            Decision::Contradict if self.born_superseded => vec![old(Sign::Same), new(Sign::Same, content)],
            Decision::Merge => {
                let merged = self.merged.as_ref().map_or(content, |claim| claim.content.clone());
                vec![old(Sign::Removed), target(Sign::Added, merged)]
            }
            Decision::Refine | Decision::Contradict => vec![old(Sign::Removed), new(Sign::Added, content)],
        }
    }

    fn note(&self) -> String {
        let conflict = self.conflict.map(|conflict: Conflict| format!(" ({})", conflict.as_str())).unwrap_or_default();
        let inbox = if self.pending { ", waits in the inbox" } else { "" };
        format!("{}{conflict}: {}{inbox}", self.decision.as_str(), self.reason)
    }
}
