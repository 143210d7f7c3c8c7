//! Prints the changes of a run as they happen, and its summary.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;
use std::io;
use std::ops::Add;

use crate::api::{Change, Decision, Failure, Files, Memories, Plan, SelectionCounts, Summary, on_one_line};
use crate::memory::{Evidence, MemoryId, Namespace};
use serde_json::json;
use transcripts::TimeSource;

use super::list::{FolderScope, reach_of_folder};
use super::printer::{ADDED, BOLD, CHANGED, DIM, Printer, REMOVED, counted, one_line};

/// Number of changes that are shown; further changes are only counted, and `memory list` shows them all.
const SHOWN: usize = 200;

/// Maximum number of undone runs that are mentioned when a run adds nothing.
const NAMED_UNDONE: usize = 3;

/// Prints the changes and the summary of a run.
pub(crate) struct RunReporter<'a> {
    out: &'a Printer,
    memories: &'a Memories,
    is_plan: bool,
    shown: usize,
    hidden: usize,
    /// The namespaces of the changes.
    namespaces: BTreeSet<Namespace>,
    /// Number of failures that were not printed, by their reason, which was printed once.
    repeated: BTreeMap<String, usize>,
    trouble: io::Result<()>,
}

impl<'a> RunReporter<'a> {
    /// Returns a reporter for a run, or for a plan.
    pub(crate) const fn new(out: &'a Printer, memories: &'a Memories, is_plan: bool) -> Self {
        Self {
            out,
            memories,
            is_plan,
            shown: 0,
            hidden: 0,
            namespaces: BTreeSet::new(),
            repeated: BTreeMap::new(),
            trouble: Ok(()),
        }
    }

    /// Prints the changes of a plan. A failure to print is returned at the end, since the work continues.
    pub(crate) fn print_changes(&mut self, plan: &Plan) {
        for change in &plan.changes {
            if change.decision != Decision::Skip {
                self.namespaces.insert(change.incoming.namespace.clone());
            }
            // After a broken pipe the run continues, since its requests are paid for; only the printing stops.
            if self.trouble.is_err() || (change.decision == Decision::Skip && !self.out.is_verbose()) {
                continue;
            }
            self.trouble = self.print_change(change);
        }
    }

    fn print_change(&mut self, change: &Change) -> io::Result<()> {
        if self.out.is_json() {
            return self.out.json(&as_json(change));
        }
        // A plan is for review, so all of it is shown.
        if self.shown >= SHOWN && !self.is_plan {
            self.hidden += 1;
            return Ok(());
        }
        self.shown += 1;
        for line in lines(change) {
            self.out.text(line)?;
        }
        if change.decision == Decision::Contradict && change.before.is_some() {
            self.print_old_quote(change)?;
        }
        Ok(())
    }

    /// Prints a failure. Of several failures with the same reason, only the first is printed immediately.
    pub(crate) fn print_failure(&mut self, failure: &Failure) {
        if let Some(count) = self.repeated.get_mut(&failure.why) {
            *count += 1;
            return;
        }
        self.repeated.insert(failure.why.clone(), 0);
        // Many errors already contain the path of the file; printing it twice would only hide the reason.
        let text = if failure.why.contains(&failure.what) {
            failure.why.clone()
        } else {
            format!("{}: {}", failure.what, failure.why)
        };
        // A line break in the name of a file must not look like the output of the run.
        self.out.error_text(&on_one_line(&text));
    }

    /// Prints the quote for the text that a change replaces, so that the old and new quotes can be compared.
    fn print_old_quote(&self, change: &Change) -> io::Result<()> {
        // The quote is optional, and in a plan the memory may not be stored yet.
        let details = change.target.as_ref().and_then(|id| self.memories.details(&id.to_string()).ok());
        match details.as_ref().and_then(|details| details.evidence.first()) {
            Some(evidence) => self.out.text(quoted(evidence)),
            None => Ok(()),
        }
    }

    /// Ends the report without a summary.
    ///
    /// # Errors
    /// The first failure to print.
    pub(crate) fn end(self) -> io::Result<()> {
        self.trouble
    }

    /// Returns the command that lists the memories of the run: outside of the project of this folder, `memory list` needs
    /// an option.
    fn list_command(&self) -> &'static str {
        // The hint is optional; if the database cannot be read, the run has already reported this.
        let reach = reach_of_folder(self.memories).ok().flatten();
        let is_elsewhere = reach.is_some_and(|FolderScope { project, reach, .. }| {
            let is_listed = |one: &Namespace| reach.contains(one) || one.parts().starts_with(project.parts());
            !self.namespaces.iter().all(is_listed)
        });
        if is_elsewhere { "afterthought memory list --everywhere" } else { "afterthought memory list" }
    }

    /// Prints the summary; `run` is the short id of the run.
    ///
    /// # Errors
    /// The first failure to print.
    pub(crate) fn print_summary(self, summary: &Summary, run: Option<&str>) -> io::Result<()> {
        let list = self.list_command();
        self.trouble?;
        if self.out.is_json() {
            if summary.interrupted {
                print_interruption(self.out, summary, self.is_plan);
            }
            return self.out.json(summary);
        }
        if self.hidden > 0 {
            self.out.line(format_args!("{DIM}… and {} more; see `{list}`{DIM:#}", self.hidden))?;
        }
        for (why, count) in self.repeated.iter().filter(|(_, count)| **count > 0) {
            self.out.error_text(&format!("{count} more for the same reason: {why}"));
        }
        if let Some(halted) = &summary.halted {
            // Usually a window has failed for the same reason, which is then printed above.
            let is_printed = summary.failures.iter().any(|failure| failure.why == *halted);
            let why = if is_printed { String::new() } else { format!(": {halted}") };
            self.out.error_text(&format!("no further requests were sent{why}"));
        }
        // If no file could be read, the errors printed above are enough.
        if summary.files.seen() > 0 || summary.filtered.any() || summary.windows.total > 0 {
            print_summary(self.out, summary, self.is_plan, run.map(|run| (run, list)));
            print_undone(self.out, self.memories, summary);
        }
        if summary.interrupted {
            print_interruption(self.out, summary, self.is_plan);
        }
        Ok(())
    }
}

/// Reports that memories are missing because their run was undone, if that may be why nothing was added.
fn print_undone(out: &Printer, memories: &Memories, summary: &Summary) {
    if summary.windows.known == 0 || summary.changes() > 0 {
        return;
    }
    // The hint is optional; if the database cannot be read, the run has already reported this.
    for (run, windows) in memories.undone_windows().unwrap_or_default().into_iter().take(NAMED_UNDONE) {
        let id = run.short();
        out.note(format_args!(
            "memories from {} are missing, because run {id} was undone; to restore them, run `afterthought undo {id} \
             --redo` and then `run`",
            counted(windows, "window")
        ));
    }
}

pub(super) fn as_json(change: &Change) -> serde_json::Value {
    let candidate = &change.incoming.candidate;
    json!({
        "decision": change.decision,
        "conflict": change.conflict,
        "id": change.new_id,
        "target": change.target,
        "type": candidate.claim.memory_type,
        "category": candidate.claim.category,
        "content": change.merged.as_ref().map_or(&candidate.claim.content, |claim| &claim.content),
        "namespace": change.incoming.namespace,
        "quote": candidate.evidence.first().map(|evidence| &evidence.quote),
        "transcript": change.incoming.source,
        "born_superseded": change.born_superseded,
        "pending": change.pending,
        "reason": change.reason,
    })
}

/// Returns the lines that describe a change to a person: its sign, the memory, and the replaced text, if any.
pub(super) fn lines(change: &Change) -> Vec<String> {
    let claimant = &change.incoming.candidate;
    let claim = &claimant.claim;
    let content = one_line(&change.merged.as_ref().unwrap_or(claim).content, 160);
    let (sign, style) = match change.decision {
        Decision::Add => ("+", ADDED),
        Decision::Merge | Decision::Refine | Decision::Contradict => ("~", CHANGED),
        Decision::Support => ("=", DIM),
        Decision::Skip => (" ", DIM),
    };
    // A new memory has its own id; any other decision is about the memory that it targets.
    let id = change.new_id.as_ref().or(change.target.as_ref()).map_or("", MemoryId::short);
    let kind = format!("{}/{}", claim.memory_type, claim.category);
    let space = &change.incoming.namespace;
    let mut lines = vec![format!("{style}{sign} {content}{style:#}  {DIM}{kind} · {space} · {id}{DIM:#}")];
    if let Some(evidence) = claimant.evidence.first().filter(|_| change.decision == Decision::Contradict) {
        lines.push(quoted(evidence));
    }
    if let Some(before) =
        change.before.as_deref().filter(|_| !matches!(change.decision, Decision::Support | Decision::Skip))
    {
        // A late memory was superseded on arrival, so it is shown with the text that is still valid.
        let word = if change.born_superseded { "newer" } else { "was" };
        lines.push(format!("  {REMOVED}{word}: {}{REMOVED:#}", one_line(before, 160)));
    }
    if change.pending {
        lines.push(format!("  {CHANGED}pending: {}{CHANGED:#}", change.reason));
    }
    lines
}

/// Returns the line that shows the quote of a piece of evidence, and its day if known.
fn quoted(evidence: &Evidence) -> String {
    let day = evidence.said_at.map_or_else(String::new, |time| {
        let source = if time.source == TimeSource::File { "file dated " } else { "" };
        format!(" {source}{}", time.civil().date())
    });
    format!("  {DIM}“{}”{day}{DIM:#}", one_line(&evidence.quote, 160))
}

/// Prints how often each decision was taken, or would be.
pub(super) fn print_decisions<N: Display + Add<Output = N>>(
    out: &Printer,
    count: impl Fn(Decision) -> N,
    is_plan: bool,
) {
    let would = if is_plan { "would be " } else { "" };
    out.note(format_args!(
        "{BOLD}{} {would}added{BOLD:#}, {} merged or refined, {} contradicted, {} confirmed, {} already stored",
        count(Decision::Add),
        count(Decision::Merge) + count(Decision::Refine),
        count(Decision::Contradict),
        count(Decision::Support),
        count(Decision::Skip),
    ));
}

/// Prints a summary, and the commands about the memories of a run: its id, and the command that lists them.
fn print_summary(out: &Printer, summary: &Summary, is_plan: bool, run: Option<(&str, &str)>) {
    let would = if is_plan { "would be " } else { "" };
    print_decisions(out, |decision| summary.decisions.get(&decision).copied().unwrap_or(0), is_plan);
    let windows = summary.windows;
    let parts = [
        (windows.known, "extracted before"),
        (windows.no_signal, "without a person's words"),
        (windows.ok_empty, "without memories"),
        (windows.failed, "failed"),
    ];
    let parts: Vec<_> =
        parts.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}")).collect();
    out.note(format_args!(
        "{}, {}, {}{}; extractor: {}",
        counted(summary.transcripts, "conversation"),
        counted(summary.messages, "message"),
        counted(windows.total, "window"),
        if parts.is_empty() { String::new() } else { format!(" ({})", parts.join(", ")) },
        summary.extractor,
    ));
    if summary.waiting > 0 {
        let count = summary.waiting;
        out.note(format_args!(
            "{count} of them {would}pending, and not recalled until you accept them; see `afterthought inbox list`"
        ));
    }
    if summary.tasks > 0 {
        out.note(format_args!(
            "{} of coding agents {would}recorded; `afterthought blame`, `fix` and `how` search them",
            counted(summary.tasks, "task")
        ));
    }
    print_cost(out, summary);
    print_losses(out, summary);
    if let Some((id, list)) = run.filter(|_| summary.changes() > 0) {
        out.note(format_args!("{DIM}`{list}` shows them, `afterthought undo {id}` reverts them{DIM:#}"));
    }
}

fn print_cost(out: &Printer, summary: &Summary) {
    if summary.llm_calls + summary.cached_replies == 0 {
        return;
    }
    let cost = summary.cost.map_or_else(|| "price unknown".to_owned(), |cost| format!("${cost:.4}"));
    out.note(format_args!(
        "{} to the model ({} answered by stored replies), {} tokens sent, {} received, {cost}",
        counted(summary.llm_calls, "call"),
        summary.cached_replies,
        summary.prompt_tokens,
        summary.completion_tokens,
    ));
}

/// Prints everything that was read but not kept, so that no loss goes unnoticed.
fn print_losses(out: &Printer, summary: &Summary) {
    let files = summary.files;
    print_files(out, files, summary.filtered, summary.transcripts);
    note_counts(
        out,
        &[
            (files.skipped_records, "record", "skipped as unusable (-v lists them)"),
            (
                files.unnamed_captions,
                "file",
                "with captions that name no speaker, so the text is attributed to nobody; if one person speaks, pass \
                 --speaker NAME",
            ),
        ],
    );
    let taken = |map: &std::collections::BTreeMap<String, u64>| {
        map.iter().map(|(kind, count)| format!("{count} {kind}")).collect::<Vec<_>>().join(", ")
    };
    if !summary.redacted.is_empty() {
        out.note(format_args!("removed before extraction: {}", taken(&summary.redacted)));
    }
    if !summary.dropped.is_empty() {
        let dropped = summary.dropped.iter().map(|(reason, count)| {
            let reason = serde_json::to_value(reason).ok();
            (reason.and_then(|value| value.as_str().map(str::to_owned)).unwrap_or_default(), *count)
        });
        out.note(format_args!("candidates dropped: {}", taken(&dropped.collect())));
    }
    print_batches(out, summary);
    if windows_left(summary) > 0 {
        let rest = if summary.halted.is_some() { ", and everything after them" } else { "" };
        out.note(format_args!(
            "not extracted yet: {}{rest}; run the same command again",
            counted(windows_left(summary), "window")
        ));
    }
}

/// Reports an interrupt, and what it leaves.
fn print_interruption(out: &Printer, summary: &Summary, is_plan: bool) {
    if is_plan {
        out.warn("interrupted: this plan covers only a part; run the same command again for all of it");
        return;
    }
    let windows = summary.windows;
    let done = windows.ok + windows.ok_empty + windows.partial + windows.no_signal + windows.known;
    if done == 0 && summary.changes() == 0 {
        out.warn("interrupted: no window was finished, so nothing is stored yet; the same command continues");
        return;
    }
    let (windows, memories) = (counted(done, "window"), counted(summary.changes(), "memory"));
    out.warn(format_args!(
        "interrupted: {windows} done and {memories} stored or changed; the same command continues with the rest"
    ));
}

/// Prints the outcome of batches, and how to collect outstanding replies.
fn print_batches(out: &Printer, summary: &Summary) {
    let (batches, waiting) = (summary.batches, summary.windows.in_batch);
    let losses = [
        (batches.asked_again, "asked again"),
        (batches.failed, "without an answer"),
        (batches.broken_lines, "in lines that could not be read"),
    ];
    let named = losses.iter().filter(|(count, _)| *count > 0);
    let named: Vec<_> = named.map(|(count, what)| format!(", {count} {what}")).collect();
    if batches.submitted + batches.collected > 0 {
        out.note(format_args!(
            "in batches: {} submitted, {} received{}",
            counted(batches.requests, "request"),
            counted(batches.answered, "answer"),
            named.concat(),
        ));
    }
    if waiting > 0 {
        out.note(format_args!(
            "{BOLD}{} waiting for batches of the provider{BOLD:#}; the same command with --batch-api collects the \
             replies, and `afterthought runs batches` lists the open batches",
            counted(waiting, "window")
        ));
    }
}

/// Prints the numbers of files that were ignored and left out.
pub(crate) fn print_files(out: &Printer, files: Files, filtered: SelectionCounts, conversations: u64) {
    note_counts(
        out,
        &[
            (files.unchanged, "file", "unchanged since an earlier run, so not opened (use --reread to open them)"),
            (files.passed_over, "file", "of an unknown format skipped"),
            (files.datasets, "dataset", "skipped; to read one, pass the path of its file"),
        ],
    );
    print_filtered(out, filtered);
    if conversations == 0 && filtered.conversations_of_other_projects > 0 {
        out.note("no conversation belongs to the requested project; see `afterthought project list`");
    }
}

/// Prints what the selection excluded, so that nobody assumes that it was read.
fn print_filtered(out: &Printer, filtered: SelectionCounts) {
    let parts = [
        (filtered.files_excluded, "file", "excluded"),
        (filtered.files_out_of_range, "file", "older than --since"),
        (filtered.conversations_excluded, "conversation", "excluded"),
        (filtered.conversations_out_of_range, "conversation", "outside the time range"),
        (filtered.conversations_of_other_projects, "conversation", "of other projects"),
        (filtered.windows_out_of_range, "window", "outside the time range in conversations that were read"),
    ];
    let named = parts.iter().filter(|(count, ..)| *count > 0);
    let named: Vec<_> = named.map(|(count, noun, why)| format!("{} {why}", counted(*count, noun))).collect();
    if !named.is_empty() {
        out.note(format_args!("excluded by your options and settings: {}", named.join(", ")));
    }
    let undated = "without a known time left out; to read them, run without --since and --until";
    note_counts(
        out,
        &[
            (
                filtered.conversations_erased,
                "conversation",
                "skipped, because you erased them (use --reread-erased to read them)",
            ),
            (filtered.conversations_undated, "conversation", undated),
        ],
    );
}

/// Prints a note for each count that is not zero.
fn note_counts(out: &Printer, counts: &[(u64, &str, &str)]) {
    for (count, noun, rest) in counts.iter().filter(|(count, ..)| *count > 0) {
        out.note(format_args!("{} {rest}", counted(*count, noun)));
    }
}

const fn windows_left(summary: &Summary) -> u64 {
    summary.windows.failed + summary.windows.held
}
