//! What a run came to, as one object that adds up.

use std::collections::BTreeMap;

use serde::Serialize;

use super::batch::BatchCounts;
use super::select::LeftOut;
use crate::consolidate::Decision;
use crate::extract::{DropReason, Outcome, Spent};

/// What a run came to. `run --json` ends with it.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Summary {
    /// Id of the run, for `undo`.
    pub run: Option<String>,
    /// `rules-…` or the model's name.
    pub extractor: String,
    /// Files by what became of them.
    pub files: Files,
    /// What was left out because it was not asked for, and waits for a run that asks for it.
    pub filtered: Filtered,
    /// Conversations read.
    pub transcripts: u64,
    /// Messages in them.
    pub messages: u64,
    /// Secrets and injected blocks taken out, by kind.
    pub redacted: BTreeMap<String, u64>,
    /// Windows by what became of them.
    pub windows: Windows,
    /// Calls to the model.
    pub llm_calls: u64,
    /// Those of the calls that asked how memories relate to each other.
    pub relation_calls: u64,
    /// Replies that were known from before and cost nothing.
    pub cached_replies: u64,
    /// Tokens sent.
    pub prompt_tokens: u64,
    /// Tokens received.
    pub completion_tokens: u64,
    /// Dollars, where the price of the model is known.
    pub cost: Option<f64>,
    /// Candidates that were judged.
    pub candidates: u64,
    /// Proposals of the extractor that were not taken, by reason.
    pub dropped: BTreeMap<DropReason, u64>,
    /// Candidates by decision.
    pub decisions: BTreeMap<Decision, u64>,
    /// Candidates that wait in the inbox for a person, whatever was decided about them.
    pub waiting: u64,
    /// What became of batches, where there were any.
    #[serde(skip_serializing_if = "BatchCounts::is_nothing")]
    pub batches: BatchCounts,
    /// Why the model was not asked to the end, if so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub halted: Option<String>,
    /// Whether an interrupt kept windows from being started.
    pub interrupted: bool,
    /// What went wrong, in the order in which it did.
    pub failures: Vec<Failure>,
}

/// Files by what became of them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Files {
    /// Read as a known format.
    pub read: u64,
    /// Finished by an earlier run and not changed since, so not opened; what is in them is counted as known.
    pub unchanged: u64,
    /// In a folder, but no log of a known format.
    pub passed_over: u64,
    /// In a folder, and a dataset, which is only read where it is named.
    pub datasets: u64,
    /// Could not be read.
    pub failed: u64,
    /// Records in the files that could not be used.
    pub skipped_records: u64,
    /// Records that were used after a repair.
    pub repaired_records: u64,
}

impl Files {
    /// Returns how many were looked into without an error.
    #[must_use]
    pub const fn seen(&self) -> u64 {
        self.read + self.unchanged + self.passed_over + self.datasets
    }
}

/// What was left out because it was not asked for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Filtered {
    /// Files that match `--exclude`.
    pub files_excluded: u64,
    /// Files that were last changed before `--since`.
    pub files_out_of_range: u64,
    /// Conversations of projects that match `--exclude`.
    pub conversations_excluded: u64,
    /// Conversations without a message in the range of time.
    pub conversations_out_of_range: u64,
    /// Conversations of unknown time, where a range was asked for.
    pub conversations_undated: u64,
    /// Conversations of other projects than those asked for.
    pub conversations_of_other_projects: u64,
    /// Conversations that a person had erased.
    #[serde(skip_serializing_if = "is_none")]
    pub conversations_erased: u64,
    /// Windows without a message in the range of time, of conversations that were read.
    pub windows_out_of_range: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the form that serde asks for")]
const fn is_none(count: &u64) -> bool {
    *count == 0
}

impl Filtered {
    /// Counts a file that was left out.
    pub const fn file(&mut self, reason: LeftOut) {
        *match reason {
            LeftOut::Excluded | LeftOut::OtherProject => &mut self.files_excluded,
            LeftOut::OutOfRange | LeftOut::Undated => &mut self.files_out_of_range,
        } += 1;
    }

    /// Counts a conversation that was left out.
    pub const fn conversation(&mut self, reason: LeftOut) {
        *match reason {
            LeftOut::Excluded => &mut self.conversations_excluded,
            LeftOut::OutOfRange => &mut self.conversations_out_of_range,
            LeftOut::Undated => &mut self.conversations_undated,
            LeftOut::OtherProject => &mut self.conversations_of_other_projects,
        } += 1;
    }

    /// Whether anything was left out.
    #[must_use]
    pub fn any(&self) -> bool {
        *self != Self::default()
    }
}

/// Windows by what became of them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Windows {
    /// All windows of the conversations read.
    pub total: u64,
    /// Finished by an earlier run.
    pub known: u64,
    /// Without a person's words worth a call.
    pub no_signal: u64,
    /// Read whole, with candidates.
    pub ok: u64,
    /// Read whole; nothing worth keeping.
    pub ok_empty: u64,
    /// Part of the reply was used.
    pub partial: u64,
    /// Nothing could be used; the next run tries again.
    pub failed: u64,
    /// Held by another process at this moment.
    pub held: u64,
    /// Asked about in a batch of the provider that has not come back; a later run with `--batch-api` takes the answer.
    pub in_batch: u64,
}

/// Something that went wrong without ending the run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Failure {
    /// A path, or the transcript and messages of a window.
    pub what: String,
    /// Why, with the remedy.
    pub why: String,
}

impl Summary {
    /// Counts a window that was extracted now.
    pub fn count(&mut self, outcome: Outcome, spent: Spent) {
        *match outcome {
            Outcome::Ok => &mut self.windows.ok,
            Outcome::OkEmpty => &mut self.windows.ok_empty,
            Outcome::Partial => &mut self.windows.partial,
            Outcome::Failed => &mut self.windows.failed,
        } += 1;
        self.spend(spent);
    }

    /// Adds what calls have cost.
    pub fn spend(&mut self, spent: Spent) {
        self.llm_calls += spent.calls;
        self.cached_replies += spent.cached;
        self.prompt_tokens += spent.prompt_tokens;
        self.completion_tokens += spent.completion_tokens;
    }

    /// Notes something that went wrong.
    pub fn fail(&mut self, what: impl Into<String>, why: impl Into<String>) {
        self.failures.push(Failure { what: what.into(), why: why.into() });
    }

    /// Whether part of the work is left for another run.
    #[must_use]
    pub fn has_failures(&self) -> bool {
        self.interrupted
            || !self.failures.is_empty()
            || self.halted.is_some()
            || self.windows.in_batch > 0
            || self.windows.failed > 0
            || self.files.failed > 0
    }

    /// Returns the number of memories that changed or came to be.
    #[must_use]
    pub fn changes(&self) -> u64 {
        let skipped = self.decisions.get(&Decision::Skip).copied().unwrap_or(0);
        self.decisions.values().sum::<u64>() - skipped
    }
}
