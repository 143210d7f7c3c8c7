//! Scheduled maintenance: plans the actions that are due, applies them as one run, and counts the active memories.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use serde::Serialize;
use serde_json::json;

use crate::changeset::Action;
use crate::lifecycle::decay::{confidence_at, heat};
use crate::lifecycle::retention::{Act, RetirementReason, Rules, due, is_past, moves, worth};
use crate::memory::{Claim, Memory, MemoryId, MemoryType, Namespace, Relation, RelationType, Status, Tier};
use crate::store::{Database, Filter, NamespaceSubtree, Outline, RunId, RunStatus, Store, StoreError, Writer};

/// One action to be taken.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Step {
    /// The memory that the action applies to.
    pub memory: MemoryId,
    /// The namespace that the memory belongs to.
    pub namespace: Namespace,
    /// The action.
    #[serde(flatten)]
    pub act: Act,
}

/// Everything that maintenance has to do.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Upkeep {
    /// Actions that can be undone, by memory.
    pub steps: Vec<Step>,
    /// Ids of memories to be deleted permanently, because they were forgotten or retired long enough ago.
    pub purges: Vec<MemoryId>,
    /// Number of old model replies to be deleted permanently.
    pub replies: usize,
}

impl Upkeep {
    /// Whether there is nothing to do.
    pub(crate) const fn is_empty(&self) -> bool {
        self.steps.is_empty() && self.purges.is_empty() && self.replies == 0
    }

    /// Returns the number of steps of each kind, keyed by the name of the kind in the history.
    pub(crate) fn counts(&self) -> BTreeMap<&'static str, usize> {
        let mut counts = BTreeMap::new();
        for step in &self.steps {
            *counts.entry(step.act.action().as_str()).or_default() += 1;
        }
        counts
    }
}

/// Returns the actions that are due at `now`.
///
/// A memory that a person restored, directly or by undoing a run, is not removed again by the same rule.
///
/// # Errors
/// [`StoreError`] if the file cannot be read.
pub(crate) fn plan(store: &Database, rules: &Rules, now: Timestamp) -> Result<Upkeep, StoreError> {
    let statuses = vec![Status::Active, Status::Superseded, Status::Expired];
    let (mut steps, mut moving) = (BTreeMap::new(), Vec::new());
    let mut counts: BTreeMap<Namespace, usize> = BTreeMap::new();
    // Memories are read one by one, because a file may contain more of them than fit into memory.
    store.each_outline(&Filter { statuses, pinned: None, ..Filter::default() }, |memory| {
        let is_leaving = match due(&memory, rules, now) {
            Some(act) => add(store, &mut steps, &memory, act)?,
            None => false,
        };
        if is_leaving {
            return Ok(());
        }
        if memory.status == Status::Active {
            match counts.get_mut(&memory.namespace) {
                Some(count) => *count += 1,
                None => drop(counts.insert(memory.namespace.clone(), 1)),
            }
        }
        if let Some(act) = moves(&memory, now) {
            moving.push((memory, act));
        }
        Ok(())
    })?;
    // A memory that is about to be removed must not be the one that receives the evidence of its duplicate.
    for (lesser, into) in duplicates(store, &steps, rules, now)? {
        if add(store, &mut steps, &lesser, Act::Unite { into })?
            && let Some(count) = counts.get_mut(&lesser.namespace)
        {
            *count -= 1;
        }
    }
    // This rule runs last, because the other rules may already make enough room.
    crowded_out(store, &counts, rules, now, &mut steps)?;
    for (memory, act) in &moving {
        // A memory that is removed needs no tier, and one step per memory keeps the run's history readable.
        if !steps.contains_key(&memory.id) {
            add(store, &mut steps, memory, act.clone())?;
        }
    }
    let (purges, replies) = gone_for_good(store, rules, now)?;
    Ok(Upkeep { steps: steps.into_values().collect(), purges, replies })
}

/// Returns the due actions at `now` that are found quickly: memories to expire, recently used memories that change their
/// tier, and rows to delete permanently.
///
/// # Errors
/// [`StoreError`] if the file cannot be read.
pub(crate) fn plan_quickly(store: &Database, rules: &Rules, now: Timestamp) -> Result<Upkeep, StoreError> {
    let over = Filter { pinned: Some(false), expired_at: Some(now), ..Filter::default() };
    let mut steps = BTreeMap::new();
    for memory in &store.outlines(&over)? {
        add(store, &mut steps, memory, Act::Expire)?;
    }
    let used_from = now.checked_sub(SignedDuration::from_hours(1)).ok();
    for memory in &store.outlines(&Filter { used_from, ..Filter::default() })? {
        if let Some(act) = moves(memory, now) {
            add(store, &mut steps, memory, act)?;
        }
    }
    let (purges, replies) = gone_for_good(store, rules, now)?;
    Ok(Upkeep { steps: steps.into_values().collect(), purges, replies })
}

/// Returns the memories, and the number of replies, to be deleted permanently at `now`; none while the clock seems
/// wrong.
fn gone_for_good(store: &Database, rules: &Rules, now: Timestamp) -> Result<(Vec<MemoryId>, usize), StoreError> {
    let cutoff = purge_before(rules, now);
    if !store.believes(now)? {
        // All other effects of a wrong clock can be undone.
        return Ok((Vec::new(), 0));
    }
    Ok((store.forgotten_before(cutoff)?, store.replies_before(cutoff)?))
}

/// Returns the time before which a memory must have been forgotten to be purged at `now`.
pub(super) fn purge_before(rules: &Rules, now: Timestamp) -> Timestamp {
    now.checked_sub(SignedDuration::from_hours(24 * i64::from(rules.purge_days))).unwrap_or(Timestamp::MIN)
}

/// Adds a step and returns whether it was added. The step is not added if the memory already has a step, or if a person
/// rejected the step before. In a team, only memories whose end has passed are retired.
fn add(store: &Database, steps: &mut BTreeMap<MemoryId, Step>, memory: &Outline, act: Act) -> Result<bool, StoreError> {
    // The change would reach all members of a team, whose settings and uses differ.
    let is_own_rule = matches!(act, Act::Fade | Act::Retire { .. } | Act::Unite { .. });
    if is_own_rule && memory.namespace.is_team() {
        return Ok(false);
    }
    // The check is here rather than in the rules, because most memories do not need their history to be read.
    if steps.contains_key(&memory.id) || act.takes_away() && store.is_wanted(&memory.id, act.action())? {
        return Ok(false);
    }
    let step = Step { memory: memory.id.clone(), namespace: memory.namespace.clone(), act };
    steps.insert(memory.id.clone(), step);
    Ok(true)
}

/// Returns the active memories without a step that have the same words as another, each paired with the memory to keep:
/// the pinned memory, else the most valuable memory, else the oldest memory.
fn duplicates(
    store: &Database,
    steps: &BTreeMap<MemoryId, Step>,
    rules: &Rules,
    now: Timestamp,
) -> Result<Vec<(Outline, MemoryId)>, StoreError> {
    if rules.duplicate_days == 0 {
        return Ok(Vec::new());
    }
    let mut found = Vec::new();
    for alike in store.same_words()? {
        let staying = alike.iter().filter(|id| !steps.contains_key(id));
        let alike = staying.filter_map(|id| store.outline(id).transpose());
        let mut alike = alike.collect::<Result<Vec<Outline>, _>>()?;
        alike.sort_by(|a, b| {
            let by_worth = || worth(b, rules, now).total_cmp(&worth(a, rules, now));
            // Among equally valuable memories, the older memory is kept; the id makes the choice the same in every run.
            let by_age = || (a.created_at, &a.id).cmp(&(b.created_at, &b.id));
            b.pinned.cmp(&a.pinned).then_with(by_worth).then_with(by_age)
        });
        let mut alike = alike.into_iter();
        let Some(kept) = alike.next() else { continue };
        for other in alike.filter(|one| !one.pinned && is_past(rules.duplicate_days, one.created_at, now)) {
            // Both memories are read in full, because outlines contain no texts; few pairs have the same words.
            if is_same(&store.memory(&kept.id)?, &store.memory(&other.id)?) {
                found.push((other, kept.id.clone()));
            }
        }
    }
    Ok(found)
}

/// Whether two memories with the same words mean the same thing. An event on two different days happened twice.
fn is_same(a: &Memory, b: &Memory) -> bool {
    let (a, b) = (&a.claim, &b.claim);
    // `div_euclid` rounds down for times before 1970 as well.
    let day = |claim: &Claim| claim.valid_from.map(|at| at.as_second().div_euclid(86_400));
    let once = a.memory_type != MemoryType::Episodic || day(a) == day(b);
    a.memory_type == b.memory_type && a.key == b.key && a.value == b.value && a.valid_to == b.valid_to && once
}

/// Adds steps for the least valuable memories of namespaces that contain too many, according to the number of their
/// active memories without a step. The least valuable memories come first; among equally valuable memories, the older
/// comes first.
fn crowded_out(
    store: &Database,
    counts: &BTreeMap<Namespace, usize>,
    rules: &Rules,
    now: Timestamp,
    steps: &mut BTreeMap<MemoryId, Step>,
) -> Result<(), StoreError> {
    if rules.max_memories == 0 {
        return Ok(());
    }
    for (namespace, count) in counts {
        let mut over = count.saturating_sub(rules.max_memories);
        if over == 0 {
            continue;
        }
        let namespaces = vec![NamespaceSubtree::Exactly(namespace.clone())];
        let mut memories = store.outlines(&Filter { namespaces, ..Filter::default() })?;
        memories.retain(|memory| !steps.contains_key(&memory.id));
        // Pinned memories are removed after counting: they count towards the limit, but are never retired for it.
        memories.retain(|memory| !memory.pinned);
        memories.sort_by(|a, b| {
            let by_worth = worth(a, rules, now).total_cmp(&worth(b, rules, now));
            by_worth.then_with(|| a.updated_at.cmp(&b.updated_at)).then_with(|| a.id.cmp(&b.id))
        });
        for memory in &memories {
            if over == 0 {
                break;
            }
            // Memories that a person restored are skipped, so the next least valuable memory is retired instead.
            over -= usize::from(add(store, steps, memory, Act::Retire { because: RetirementReason::Count })?);
        }
    }
    Ok(())
}

/// Command name of maintenance runs.
pub(crate) const COMMAND: &str = "maintain";
/// Number of days for which the times at which a memory was read, found or shown are kept; use counts are kept
/// permanently.
const LOG_DAYS: u32 = 90;

/// The result of maintenance.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Report {
    /// The run, which can be undone; `None` if nothing was changed that can be undone.
    pub run: Option<RunId>,
    /// The actions that were taken.
    #[serde(flatten)]
    pub done: Upkeep,
}

/// Takes all actions that are due at `now` and returns them. A second call with the same `now` does nothing.
///
/// Pinned memories are never changed. Undoing the run reverts everything except the purge.
///
/// # Errors
/// [`StoreError`] if the file cannot be written.
pub fn maintain(store: &Store, rules: &Rules, now: Timestamp) -> Result<Report, StoreError> {
    carry_out(store, rules, now, plan)
}

/// Takes the actions due at `now` that can be found quickly: expires memories, moves recently used memories to their
/// tier, and deletes rows permanently. The function is meant for callers that run every minute; [`maintain`] takes all
/// actions about once an hour.
///
/// # Errors
/// [`StoreError`] if the file cannot be written.
pub(crate) fn tick(store: &Store, rules: &Rules, now: Timestamp) -> Result<Report, StoreError> {
    carry_out(store, rules, now, plan_quickly)
}

fn carry_out(
    store: &Store,
    rules: &Rules,
    now: Timestamp,
    plan: impl Fn(&Database, &Rules, Timestamp) -> Result<Upkeep, StoreError>,
) -> Result<Report, StoreError> {
    // Uses that had to wait for another process count before the rules are applied; if they still wait, the next round
    // counts them.
    let _ = store.record_use(&[], now);
    let mut report = Report { run: None, done: plan(store, rules, now)? };
    if !store.believes(now)? {
        tracing::warn!(
            "according to the clock, the file was not used for over 400 days, so nothing is deleted permanently until \
             a day has passed; if the clock is wrong, correct it"
        );
    }
    // Rows are purged before the steps are taken, so that only planned rows are deleted permanently.
    if !report.done.purges.is_empty() || report.done.replies > 0 {
        store.purge(rules.purge_days, now)?;
    }
    if !report.done.steps.is_empty() {
        // A run is begun only if there are steps, because runs without changes would fill the history every minute.
        let run = store.begin_run(COMMAND, &json!({}), now)?.id;
        // The steps are planned again within the transaction, since other processes may have written in the meantime.
        let done = store.write(Some(&run), now, |w| {
            let due = plan(w, rules, now)?;
            due.steps.iter().try_for_each(|step| take(w, step, now))?;
            Ok::<_, StoreError>(due)
        });
        let status = if done.is_ok() { RunStatus::Finished } else { RunStatus::Failed };
        let summary = done.as_ref().map_or_else(|error| json!({"error": error.to_string()}), |due| json!(due.counts()));
        // The run is ended even after a failure; otherwise it would appear to be still in progress.
        store.finish_run(&run, status, &summary, now)?;
        (report.run, report.done.steps) = (Some(run), done?.steps);
    }
    store.forget_accesses(LOG_DAYS, now)?;
    Ok(report)
}

fn take(w: &Writer<'_>, step: &Step, now: Timestamp) -> Result<(), StoreError> {
    let (id, reason) = (&step.memory, Some(step.act.reason().into()));
    let word = step.act.action();
    match &step.act {
        Act::Expire | Act::Fade => w.set_status(id, Status::Expired, word, reason).map(drop),
        Act::Retire { .. } => w.set_status(id, Status::Forgotten, word, reason).map(drop),
        Act::Unite { into } => unite(w, id, into, now),
        Act::Promote { to } | Act::Demote { to } => w.set_tier(id, *to, word, reason).map(drop),
    }
}

/// Supersedes a memory by another with the same words, which receives its evidence.
fn unite(w: &Writer<'_>, id: &MemoryId, into: &MemoryId, now: Timestamp) -> Result<(), StoreError> {
    let reason = "the same words";
    // The evidence is copied, not moved, so that an undo restores the other memory with its own evidence.
    w.take_over_evidence(into, id)?;
    let relation_type = RelationType::Supersedes;
    let link = Relation {
        from: into.clone(),
        to: id.clone(),
        relation_type,
        reason: Some(reason.to_owned()),
        created_at: now,
    };
    w.relate(&link)?;
    w.set_status(id, Status::Superseded, Action::Unite, Some(reason.into())).map(drop)
}

/// Days within which an expiry counts as near.
pub(crate) const NEAR_DAYS: i64 = 7;

/// Counts of active memories.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Census {
    /// Counts by tier.
    pub by_tier: BTreeMap<&'static str, usize>,
    /// Counts by heat.
    pub by_heat: BTreeMap<&'static str, usize>,
    /// Pinned memories.
    pub pinned: usize,
    /// Memories that expire within a week.
    pub near_expiry: usize,
    /// Memories whose end has passed, which the next maintenance marks as expired.
    pub over: usize,
    /// Memories whose confidence has fallen to half of the stored value, or lower.
    pub fading: usize,
}

/// Returns counts of the active memories at `now`.
///
/// # Errors
/// [`StoreError`] if the file cannot be read.
pub(crate) fn census(store: &Database, rules: &Rules, now: Timestamp) -> Result<Census, StoreError> {
    let soon = now + SignedDuration::from_hours(24 * NEAR_DAYS);
    let mut census = Census::default();
    store.each_outline(&Filter::default(), |memory| {
        let is_over = !memory.pinned && memory.expires_at.is_some_and(|at| at <= now);
        census.over += usize::from(is_over);
        let tier = if memory.pinned { Tier::L0 } else { memory.usage.tier };
        *census.by_tier.entry(tier.as_str()).or_default() += 1;
        *census.by_heat.entry(heat(&memory.usage, now).as_str()).or_default() += 1;
        census.pinned += usize::from(memory.pinned);
        census.near_expiry += usize::from(!memory.pinned && !is_over && memory.expires_at.is_some_and(|at| at <= soon));
        let is_fading = confidence_at(&memory, &rules.half_lives, now) <= memory.confidence / 2.0;
        census.fading += usize::from(is_fading && memory.confidence > 0.0);
        Ok(())
    })?;
    Ok(census)
}
