//! Merges two projects that are the same: moves the memories of the first and consolidates them with those of the
//! second.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::changeset::{Action, Row, RowChange, Rows};
use crate::guard::CleanText;
use crate::memory::{Memory, Namespace, RelationType, Status};
use crate::store::{Filter, NamespaceSubtree, Order, StoreError, Writer};

use super::plan::apply::look_around;
use super::plan::{Answers, Stage, draft};
use super::{Change, Decision, IncomingClaim};

/// Number of memories that are consolidated together.
const BATCH: usize = 200;

/// Counts of the memories that were moved.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct MoveReport {
    /// Memories of every status that are now in the other namespace.
    pub moved: usize,
    /// Decisions about the active memories, compared with the memories of the other namespace.
    pub decisions: BTreeMap<Decision, usize>,
    /// Tombstones that now apply to the other namespace.
    pub rejections: usize,
}

/// Moves every memory from `from` to `into`, with its id, evidence, links and history, and redirects later memories of
/// `from` there.
///
/// Active memories are consolidated by the rules with those in `into`, as if they were new. If two memories say the
/// same thing, the existing memory is kept and gains the evidence. Pinned memories are moved unchanged.
///
/// # Errors
/// [`StoreError`] if the file cannot be written.
pub fn merge_projects(writer: &Writer<'_>, from: &Namespace, into: &Namespace) -> Result<MoveReport, StoreError> {
    let all =
        Filter { namespaces: vec![NamespaceSubtree::Exactly(from.clone())], statuses: Vec::new(), ..Filter::default() };
    let memories = writer.list(&all, Order::Id, usize::MAX, 0)?;
    let mut moved = MoveReport { moved: memories.len(), ..MoveReport::default() };
    // Pinned memories are kept unchanged, because only a person may reword or retire them.
    let (settled, kept): (Vec<_>, Vec<_>) =
        memories.into_iter().partition(|memory| memory.status == Status::Active && !memory.pinned);
    let reason = writer.redact(format!("{from} was merged into {into}"));
    for batch in settled.chunks(BATCH) {
        settle_batch(writer, batch, into, (&reason).into(), &mut moved)?;
    }
    // Past memories come last, because they must not influence what is current in the other project.
    for memory in kept {
        writer.set_namespace(&memory.id, into, (&reason).into())?;
        let waits = memory.status == Status::Pending && !memory.pinned;
        if waits && writer.rejected_claim(into, &memory.claim)?.is_some() {
            writer.set_status(&memory.id, Status::Superseded, Action::Skip, Some("rejected before".into()))?;
        }
    }
    moved.rejections = writer.move_tombstones(from, into)?;
    writer.note_merge(from, into)?;
    Ok(moved)
}

fn settle_batch(
    writer: &Writer<'_>,
    memories: &[Memory],
    into: &Namespace,
    reason: CleanText<'_>,
    moved: &mut MoveReport,
) -> Result<(), StoreError> {
    let incoming = |memory: &Memory| Ok(IncomingClaim::of(memory, writer.evidence(&memory.id)?, into));
    let incoming = memories.iter().map(incoming).collect::<Result<_, StoreError>>()?;
    let mut cases = look_around(writer, incoming)?.cases;
    for (case, memory) in cases.iter_mut().zip(memories) {
        // Moved memories keep their ids, so that links, history and references to them remain valid.
        case.id = memory.id.clone();
    }
    let (changes, _) = draft(&cases, &Answers::new(), Stage::Last, writer.now());
    for (change, memory) in changes.iter().zip(memories) {
        *moved.decisions.entry(change.decision).or_default() += 1;
        // The memory is moved first, because the rows below were planned for a memory in the other namespace.
        writer.set_namespace(&memory.id, into, reason)?;
        settle(writer, change, memory)?;
    }
    Ok(())
}

/// Writes the changes to a moved memory and to the existing memories.
fn settle(writer: &Writer<'_>, change: &Change, memory: &Memory) -> Result<(), StoreError> {
    let moved = Memory { namespace: change.incoming.namespace.clone(), ..memory.clone() };
    let mut rows = Rows::new(change.decision.action(), change.reason.clone(), writer.now());
    let is_own =
        |row: &RowChange| matches!(&row.row, Row::Memory { before: None, after: Some(made) } if made.id == moved.id);
    let made = change.rows.iter().find(|row| is_own(row));
    if let Some(Row::Memory { after: Some(made), .. }) = made.map(|change| &change.row) {
        rows.change(&moved, Memory { claim: made.claim.clone(), status: made.status, ..moved.clone() });
    } else {
        // An existing memory already contains the statement, or a person rejected it there.
        rows.change(&moved, Memory { status: Status::Superseded, ..moved.clone() });
        if let Some(target) = &change.target {
            rows.link(target, RelationType::Supersedes, &moved.id, None);
        }
    }
    let mut rows = rows.into_changes();
    // The row that would create the memory is omitted, since the memory already exists and was changed above.
    rows.extend(change.rows.iter().filter(|row| !is_own(row)).cloned());
    writer.apply(&rows).map(drop)
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use serde_json::json;

    use super::*;
    use crate::memory::{Claim, MemoryId};
    use crate::store::testing::{clean, day, memory_in, quote};
    use crate::store::{RunStatus, Store};

    fn shop() -> Namespace {
        "project/shop".parse().unwrap()
    }

    fn old() -> Namespace {
        "project/old".parse().unwrap()
    }

    /// Stores a memory that has its own words as evidence.
    fn keep(store: &Store, namespace: &Namespace, content: &str, edit: impl FnOnce(&mut Memory)) -> MemoryId {
        let mut memory = memory_in(namespace, "Title", content);
        edit(&mut memory);
        let (transcript, content_hash) = (namespace.to_string(), namespace.to_string());
        let evidence = crate::memory::Evidence { transcript, content_hash, ..quote(content) };
        let insert = |w: &Writer<'_>| w.insert(&clean(memory.clone()), &clean(vec![evidence]));
        store.write::<_, StoreError>(None, day(0), insert).unwrap();
        memory.id
    }

    fn merge(store: &Store, at: Timestamp) -> (crate::store::RunId, MoveReport) {
        let run = store.begin_run("projects merge", &json!({}), at).unwrap().id;
        let moved = store.write(Some(&run), at, |w| merge_projects(w, &old(), &shop())).unwrap();
        store.finish_run(&run, RunStatus::Finished, &json!({}), at).unwrap();
        (run, moved)
    }

    fn says(key: &str, value: &str, valid: i64) -> impl FnOnce(&mut Memory) {
        let (key, value) = (key.to_owned(), value.to_owned());
        move |memory| {
            memory.claim =
                Claim { key: Some(key), value: Some(value), valid_from: Some(day(valid)), ..memory.claim.clone() };
        }
    }

    #[test]
    fn every_memory_moves_and_what_both_know_is_settled() {
        let store = Store::in_memory().unwrap();
        let there = keep(&store, &shop(), "The team uses Redis 7.", |_| {});
        let newer = keep(&store, &shop(), "The team deploys on Fly.io.", says("project.deploy_target", "Fly.io", 0));
        let same = keep(&store, &old(), "The team uses Redis 7.", |_| {});
        let older = keep(&store, &old(), "The team deploys on Heroku.", says("project.deploy_target", "Heroku", -9));
        let new = keep(&store, &old(), "The invoices are written by Ana on Fridays.", |_| {});
        let pinned = keep(&store, &old(), "The team uses Redis 7.", |memory| memory.pinned = true);
        let past = keep(&store, &old(), "The team uses Redis 6.", |memory| memory.status = Status::Superseded);
        let (_, moved) = merge(&store, day(3));
        assert_eq!(moved.moved, 5);
        assert_eq!(moved.decisions.values().sum::<usize>(), 3);
        let status = |id: &MemoryId| {
            let memory = store.memory(id).unwrap();
            assert_eq!(memory.namespace, shop(), "{}", memory.claim.content);
            memory.status
        };
        for (id, expected) in [
            (&there, Status::Active),
            (&newer, Status::Active),
            (&same, Status::Superseded),
            (&older, Status::Superseded),
            (&new, Status::Active),
            (&pinned, Status::Active),
            (&past, Status::Superseded),
        ] {
            assert_eq!(status(id), expected, "{}", store.memory(id).unwrap().claim.content);
        }
        assert_eq!(store.evidence(&there).unwrap().len(), 2, "it rests on the words of both");
        assert!(store.relations(&same).unwrap().iter().any(|relation| relation.from == there));
        assert_eq!(store.memory(&new).unwrap().updated_at, day(0), "a move makes nothing newer");
        assert_eq!(store.history(&new).unwrap().iter().map(|one| one.action).next_back(), Some(Action::Move));
        assert_eq!(store.count(&Filter { statuses: vec![], ..Filter::exactly(&[old()]) }).unwrap(), 0);
    }

    #[test]
    fn what_was_rejected_stays_rejected_on_both_sides() {
        let store = Store::in_memory().unwrap();
        let gone = keep(&store, &old(), "The office is in Lyon.", |_| {});
        let wrong = keep(&store, &shop(), "The release is on Mondays.", |_| {});
        let known = keep(&store, &old(), "The release is on Mondays.", |_| {});
        let waits = keep(&store, &old(), "The release is on Mondays.", |memory| memory.status = Status::Pending);
        for id in [&gone, &wrong] {
            store.write::<_, StoreError>(None, day(1), |w| w.forget(id, None)).unwrap();
        }
        let (run, moved) = merge(&store, day(2));
        assert_eq!((moved.moved, moved.rejections), (3, 1));
        assert!(store.rejected(&shop(), "The office is in Lyon.", None).unwrap().is_some());
        assert_eq!(store.memory(&known).unwrap().status, Status::Superseded);
        assert_eq!(store.memory(&waits).unwrap().status, Status::Superseded, "nobody is asked a second time");
        store.undo_run(&run, day(3)).unwrap();
        assert!(store.rejected(&shop(), "The office is in Lyon.", None).unwrap().is_none());
        assert!(store.rejected(&old(), "The office is in Lyon.", None).unwrap().is_some());
        assert_eq!(store.memory(&known).unwrap().status, Status::Active);
        assert_eq!(store.merged_into(&old()).unwrap(), old());
    }

    #[test]
    fn of_two_linked_memories_neither_goes_back_without_the_other() {
        let store = Store::in_memory().unwrap();
        let one = keep(&store, &old(), "The team reviews every change.", |_| {});
        let other = keep(&store, &old(), "Releases are tagged by Ana.", |_| {});
        let alone = keep(&store, &old(), "Invoices are archived quarterly.", |_| {});
        let link = crate::store::testing::relation(&other, RelationType::Related, &one);
        store.write::<_, StoreError>(None, day(1), |w| w.relate(&link)).unwrap();
        let (run, _) = merge(&store, day(2));
        store.write::<_, StoreError>(None, day(3), |w| w.set_pinned(&one, true)).unwrap();
        let undone = store.undo_run(&run, day(4)).unwrap();
        assert_eq!(undone.kept.iter().map(|kept| &kept.memory).collect::<Vec<_>>(), [&one, &other]);
        let places = [&one, &other, &alone].map(|id| store.memory(id).unwrap().namespace);
        assert_eq!(places, [shop(), shop(), old()]);
    }
}
