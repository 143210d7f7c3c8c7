//! What maintenance would do: read from the store, changed nowhere.

use std::collections::{BTreeMap, HashMap, HashSet};

use jiff::{SignedDuration, Timestamp};
use serde::Serialize;

use super::retention::{Act, Retired, due, is_past, moves, worth};
use super::rules::Rules;
use crate::memory::{Claim, Memory, MemoryId, MemoryType, Namespace, Status};
use crate::store::{Database, Filter, Outline, StoreError};

/// One thing to be done.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Step {
    /// To which memory.
    pub memory: MemoryId,
    /// Where it belongs.
    pub namespace: Namespace,
    /// What.
    #[serde(flatten)]
    pub act: Act,
}

/// Everything that is to be done.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Upkeep {
    /// What can be undone, by memory.
    pub steps: Vec<Step>,
    /// Memories that go for good, by id: what was forgotten or given up long enough ago.
    pub purges: Vec<MemoryId>,
    /// Old replies of models that go for good.
    pub replies: usize,
}

impl Upkeep {
    /// Whether there is nothing to do.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.steps.is_empty() && self.purges.is_empty() && self.replies == 0
    }

    /// Returns how many steps there are of each kind, by its word in the history.
    #[must_use]
    pub fn counts(&self) -> BTreeMap<&'static str, usize> {
        let mut counts = BTreeMap::new();
        for step in &self.steps {
            *counts.entry(step.act.action().as_str()).or_default() += 1;
        }
        counts
    }
}

/// Returns what is to be done at `now`.
///
/// What a person restored, or took back with an undo, is not taken away again by the same rule.
///
/// # Errors
/// [`StoreError`] if the file cannot be read.
pub fn plan(store: &Database, rules: &Rules, now: Timestamp) -> Result<Upkeep, StoreError> {
    let statuses = vec![Status::Active, Status::Superseded, Status::Expired];
    let outlines = store.outlines(&Filter { statuses, pinned: None, ..Filter::default() })?;
    let mut steps: BTreeMap<MemoryId, Step> = BTreeMap::new();
    for memory in &outlines {
        if let Some(act) = due(memory, rules, now) {
            add(store, &mut steps, memory, act)?;
        }
    }
    let staying = outlines.iter().filter(|memory| !steps.contains_key(&memory.id));
    for (lesser, into) in duplicates(store, &staying.collect::<Vec<_>>(), rules, now)? {
        add(store, &mut steps, lesser, Act::Unite { into })?;
    }
    crowded_out(store, &outlines, rules, now, &mut steps)?;
    for memory in &outlines {
        if let Some(act) = moves(memory, now).filter(|_| !steps.contains_key(&memory.id)) {
            add(store, &mut steps, memory, act)?;
        }
    }
    let (purges, replies) = gone_for_good(store, rules, now)?;
    Ok(Upkeep { steps: steps.into_values().collect(), purges, replies })
}

/// Returns what is to be done at `now` as far as an index tells it at once: what is over, and what goes for good.
///
/// # Errors
/// [`StoreError`] if the file cannot be read.
pub(crate) fn plan_quickly(store: &Database, rules: &Rules, now: Timestamp) -> Result<Upkeep, StoreError> {
    let over = Filter { pinned: Some(false), expired_at: Some(now), ..Filter::default() };
    let mut steps = BTreeMap::new();
    for memory in &store.outlines(&over)? {
        add(store, &mut steps, memory, Act::Expire)?;
    }
    let (purges, replies) = gone_for_good(store, rules, now)?;
    Ok(Upkeep { steps: steps.into_values().collect(), purges, replies })
}

/// Returns the memories and the number of replies that go for good at `now`: none while the clock is doubted.
fn gone_for_good(store: &Database, rules: &Rules, now: Timestamp) -> Result<(Vec<MemoryId>, usize), StoreError> {
    let cutoff = purge_before(rules, now);
    if !store.believes(now)? {
        return Ok((Vec::new(), 0));
    }
    Ok((store.forgotten_before(cutoff)?, store.replies_before(cutoff)?))
}

/// Returns the moment up to which what was forgotten goes for good at `now`.
pub(super) fn purge_before(rules: &Rules, now: Timestamp) -> Timestamp {
    now.checked_sub(SignedDuration::from_hours(24 * i64::from(rules.purge_days))).unwrap_or(Timestamp::MIN)
}

/// Notes a step, unless the memory has one already or a person does not want it.
fn add(store: &Database, steps: &mut BTreeMap<MemoryId, Step>, memory: &Outline, act: Act) -> Result<bool, StoreError> {
    if steps.contains_key(&memory.id) || act.takes_away() && store.is_wanted(&memory.id, act.action())? {
        return Ok(false);
    }
    let step = Step { memory: memory.id.clone(), namespace: memory.namespace.clone(), act };
    steps.insert(memory.id.clone(), step);
    Ok(true)
}

/// Returns the active memories that have the same words as another one, with that: the pinned one, else the one that is
/// worth most, else the first.
fn duplicates<'o>(
    store: &Database,
    outlines: &[&'o Outline],
    rules: &Rules,
    now: Timestamp,
) -> Result<Vec<(&'o Outline, MemoryId)>, StoreError> {
    if rules.duplicate_days == 0 {
        return Ok(Vec::new());
    }
    let by_id: HashMap<&MemoryId, &Outline> = outlines.iter().map(|memory| (&memory.id, *memory)).collect();
    let mut found = Vec::new();
    for alike in store.same_words()? {
        let mut alike: Vec<&Outline> = alike.iter().filter_map(|id| by_id.get(id).copied()).collect();
        alike.sort_by(|a, b| {
            let by_worth = || worth(b, rules, now).total_cmp(&worth(a, rules, now));
            let by_age = || (a.created_at, &a.id).cmp(&(b.created_at, &b.id));
            b.pinned.cmp(&a.pinned).then_with(by_worth).then_with(by_age)
        });
        let Some((kept, others)) = alike.split_first() else { continue };
        for other in others.iter().filter(|one| !one.pinned && is_past(rules.duplicate_days, one.created_at, now)) {
            if is_same(&store.memory(&kept.id)?, &store.memory(&other.id)?) {
                found.push((*other, kept.id.clone()));
            }
        }
    }
    Ok(found)
}

/// Whether two memories with the same words say the same: what happened on two days happened twice.
fn is_same(a: &Memory, b: &Memory) -> bool {
    let (a, b) = (&a.claim, &b.claim);
    let day = |claim: &Claim| claim.valid_from.map(|at| at.as_second().div_euclid(86_400));
    let once = a.memory_type != MemoryType::Episodic || day(a) == day(b);
    a.memory_type == b.memory_type && a.key == b.key && a.value == b.value && a.valid_to == b.valid_to && once
}

/// Adds what is worth least in namespaces that hold too many, the worst first and of equally good ones the older.
fn crowded_out(
    store: &Database,
    outlines: &[Outline],
    rules: &Rules,
    now: Timestamp,
    steps: &mut BTreeMap<MemoryId, Step>,
) -> Result<(), StoreError> {
    if rules.max_memories == 0 {
        return Ok(());
    }
    let leaving: HashSet<MemoryId> = steps.keys().cloned().collect();
    let mut places: BTreeMap<&Namespace, Vec<&Outline>> = BTreeMap::new();
    for memory in outlines.iter().filter(|one| one.status == Status::Active && !leaving.contains(&one.id)) {
        places.entry(&memory.namespace).or_default().push(memory);
    }
    for mut memories in places.into_values() {
        let mut over = memories.len().saturating_sub(rules.max_memories);
        if over == 0 {
            continue;
        }
        memories.retain(|memory| !memory.pinned);
        memories.sort_by(|a, b| {
            let by_worth = worth(a, rules, now).total_cmp(&worth(b, rules, now));
            by_worth.then_with(|| a.updated_at.cmp(&b.updated_at)).then_with(|| a.id.cmp(&b.id))
        });
        for memory in memories {
            if over == 0 {
                break;
            }
            over -= usize::from(add(store, steps, memory, Act::Retire { because: Retired::Count })?);
        }
    }
    Ok(())
}
