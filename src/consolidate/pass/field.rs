//! All active memories in a namespace, in their state after the changes so far.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Deref;

use jiff::Timestamp;

use crate::changeset::{Action, Row, Rows};
use crate::consolidate::Known;
use crate::consolidate::compare::key::{attribute, spellings};
use crate::consolidate::decide::ruling::ValidTime;
use crate::consolidate::overlay::{Link, Overlay};
use crate::consolidate::pass::judge::says_apart;
use crate::consolidate::pass::{Event, UndonePolicy};
use crate::consolidate::plan::neighbours::{MAX_NEIGHBOURS, SMALL};
use crate::memory::{Evidence, Memory, MemoryId, Namespace, RelationType, Status};
use crate::store::{Around as Looked, Database, Filter, HashPair, Order, StoreError};
use crate::text::language::{COMPARED, detect};
use crate::text::normalise::{comparable, normalised_hash};

/// All active memories in a namespace, with the memories that they are linked to.
#[derive(Debug, Clone)]
pub(super) struct Field {
    pub(super) namespace: Namespace,
    /// The revision of the namespace when it was read.
    pub(super) revision: i64,
    /// The active memories, the memories linked to them directly or indirectly, and their links.
    overlay: Overlay,
    /// Links that a person undid.
    pub(super) taken_back: BTreeSet<Link>,
    /// The replacements of memories that a person undid.
    gave_way: BTreeMap<MemoryId, BTreeSet<MemoryId>>,
    /// Tasks that a person reopened.
    pub(super) reopened: BTreeSet<MemoryId>,
    /// A model's answers about pairs of memories.
    pub(super) judged: BTreeMap<HashPair, String>,
    hashes: BTreeMap<MemoryId, String>,
}

impl Deref for Field {
    type Target = Overlay;
    fn deref(&self) -> &Overlay {
        &self.overlay
    }
}

impl Field {
    pub(super) fn read(db: &Database, namespace: &Namespace, taken_back: UndonePolicy) -> Result<Self, StoreError> {
        // The revision is read first: if the namespace changes between the two reads, it is processed again.
        let revision = db.revision(namespace)?;
        let mut field = Self {
            namespace: namespace.clone(),
            revision,
            overlay: Overlay::default(),
            taken_back: BTreeSet::new(),
            gave_way: BTreeMap::new(),
            reopened: BTreeSet::new(),
            judged: db.judged(namespace)?,
            hashes: BTreeMap::new(),
        };
        if taken_back == UndonePolicy::Stays {
            field.taken_back = db.links_taken_back(namespace)?;
            for (by, _, gone) in field.taken_back.iter().filter(|(_, kind, _)| *kind == RelationType::Supersedes) {
                field.gave_way.entry(gone.clone()).or_default().insert(by.clone());
            }
            field.reopened = db.steps_taken_back(namespace, Action::TaskClosed)?;
        }
        if taken_back == UndonePolicy::Again {
            // The effects of these answers were undone, so they are requested again; most replies are in the ledger.
            field.judged.retain(|_, said| says_apart(said));
        }
        let filter = Filter::exactly(std::slice::from_ref(namespace));
        for memory in db.list(&filter, Order::Id, usize::MAX, 0)? {
            let evidence = db.evidence(&memory.id)?;
            let known = Known { memory, evidence, fresh: true };
            field.hashes.insert(known.memory.id.clone(), said_hash(&known));
            field.overlay.insert(known);
        }
        // Past memories are included: whether two memories may merge depends on all memories they replaced.
        field.follow_links(db)?;
        Ok(field)
    }

    /// Reads the links of active memories, and of the past memories that they lead to.
    fn follow_links(&mut self, db: &Database) -> Result<(), StoreError> {
        let mut open: Vec<MemoryId> = self.active.keys().cloned().collect();
        while let Some(id) = open.pop() {
            for link in db.relations(&id)? {
                for end in [&link.from, &link.to] {
                    if !self.active.contains_key(end) && !self.past.contains_key(end) {
                        let Some(memory) = db.find(end)? else { continue };
                        let evidence = db.evidence(end)?;
                        self.overlay.insert(Known { memory, evidence, fresh: true });
                        open.push(end.clone());
                    }
                }
                self.overlay.links.insert((link.from, link.relation_type, link.to));
            }
        }
        Ok(())
    }

    /// Returns the hash of the content of an active memory, which identifies it in stored judgements.
    pub(super) fn hash(&self, id: &MemoryId) -> &str {
        self.hashes.get(id).map_or("", String::as_str)
    }

    /// Returns a model's answer about the relation of two active memories.
    pub(super) fn said_of(&self, a: &MemoryId, b: &MemoryId) -> Option<&str> {
        if self.judged.is_empty() {
            return None;
        }
        self.judged.get(&HashPair::new(self.hash(a).to_owned(), self.hash(b).to_owned())).map(String::as_str)
    }

    /// Returns the active memories in the order in which they became true or were said.
    pub(super) fn in_order(&self) -> Vec<MemoryId> {
        let mut all: Vec<_> = self.active.values().map(|known| (said_at(known), arrived(known))).collect();
        all.sort();
        all.into_iter().map(|(_, (_, id))| id).collect()
    }

    /// Returns a memory with all memories that it replaced, directly or indirectly, because they said the same thing.
    pub(super) fn cluster(&self, id: &MemoryId) -> Vec<&Known> {
        let (mut seen, mut open) = (BTreeSet::from([id.clone()]), vec![id.clone()]);
        let mut members = Vec::new();
        while let Some(id) = open.pop() {
            members.extend(self.get(&id));
            for to in self.linked(&id, RelationType::Supersedes) {
                let is_opposed = self.links.contains(&(id.clone(), RelationType::Contradicts, to.clone()));
                let is_past = self.past.get(to).is_some_and(|known| known.memory.status == Status::Superseded);
                // A contradicted memory said something else, so its replacement need not agree with it.
                if !is_opposed && is_past && seen.insert(to.clone()) {
                    open.push(to.clone());
                }
            }
        }
        members
    }

    /// Returns the memories to which `from` has links of this type.
    pub(super) fn linked<'a>(
        &'a self,
        from: &'a MemoryId,
        relation_type: RelationType,
    ) -> impl Iterator<Item = &'a MemoryId> {
        // The empty id sorts before every other id, so the range starts at the first link of this type.
        let first = (from.clone(), relation_type, MemoryId::from_stored(""));
        let links = self.links.range(first..);
        links.take_while(move |(one, kind, _)| one == from && *kind == relation_type).map(|(_, _, to)| to)
    }

    /// Whether a link of one of these types connects the two memories, in either direction.
    pub(super) fn is_joined(&self, a: &MemoryId, b: &MemoryId, kinds: &[RelationType]) -> bool {
        joins(&self.links, a, b, kinds)
    }

    /// Whether a person undid a link of one of these types between the two memories.
    pub(super) fn was_taken_back(&self, a: &MemoryId, b: &MemoryId, kinds: &[RelationType]) -> bool {
        joins(&self.taken_back, a, b, kinds)
    }

    /// Whether a person undid the replacement of both memories by the same memory.
    pub(super) fn were_parted(&self, a: &MemoryId, b: &MemoryId) -> bool {
        let gave_way = |id| self.gave_way.get(id).filter(|by| !by.is_empty());
        gave_way(a).zip(gave_way(b)).is_some_and(|(a, b)| !a.is_disjoint(b))
    }

    /// Applies a change, so that later steps see it.
    pub(super) fn apply(&mut self, change: &PassChange) {
        for row in change.rows.changes() {
            self.overlay.apply(row);
            if let Row::Memory { after: Some(memory), .. } = &row.row
                && let Some(known) = self.overlay.get(&memory.id)
            {
                self.hashes.insert(memory.id.clone(), said_hash(known));
            }
        }
    }
}

fn joins(links: &BTreeSet<Link>, a: &MemoryId, b: &MemoryId, kinds: &[RelationType]) -> bool {
    kinds
        .iter()
        .any(|kind| links.contains(&(a.clone(), *kind, b.clone())) || links.contains(&(b.clone(), *kind, a.clone())))
}

/// Returns the time from which a memory was true; if unknown, the time when it was last said; otherwise, the time when
/// it was learnt.
pub(super) fn said_at(known: &Known) -> Timestamp {
    ValidTime::known(known).at.unwrap_or(known.memory.created_at)
}

/// Returns the time when a memory was learnt, with its id to order memories learnt at the same time.
pub(super) fn arrived(known: &Known) -> (Timestamp, MemoryId) {
    (known.memory.created_at, known.memory.id.clone())
}

/// Returns the hash of a memory's content, which identifies it in stored judgements.
pub(super) fn said_hash(known: &Known) -> String {
    let claim = &known.memory.claim;
    let attribute = [&claim.key, &claim.value].map(|part| part.as_deref().unwrap_or_default());
    normalised_hash(&[claim.memory_type.as_str(), attribute[0], attribute[1], &claim.content].join(" \u{1f} "))
}

/// Maximum number of memories with the same attribute that are all compared with each other. In a larger group, only
/// the memories closest by words are compared.
const MAX_OF_KEY: usize = 30;

/// Number of memories to look up before the pass yields to other tasks.
const GIVES_WAY: usize = 64;

/// The neighbours of each memory. The neighbours are kept from round to round, so that unchanged memories are not
/// looked up again.
#[derive(Debug, Default)]
pub(super) struct Around {
    found: HashMap<MemoryId, (String, Vec<MemoryId>)>,
    pairs: BTreeMap<MemoryId, BTreeSet<MemoryId>>,
}

impl Around {
    /// Looks up the neighbours of memories that are new or have changed.
    ///
    /// Yields from time to time, so that other tasks can renew the heartbeat, and reports its progress to `watch`.
    pub(super) async fn update(
        &mut self,
        db: &Database,
        field: &Field,
        watch: &dyn Fn(&Event<'_>),
    ) -> Result<(), StoreError> {
        let is_new = |(id, _): &(&MemoryId, &Known)| {
            self.found.get(*id).is_none_or(|(looked_up, _)| looked_up != field.hash(id))
        };
        let new: Vec<(&MemoryId, &Known)> = field.active.iter().filter(is_new).collect();
        for (turn, some) in new.chunks(GIVES_WAY).enumerate() {
            watch(&Event::LookedUp(&field.namespace, turn * GIVES_WAY, new.len()));
            // Lookups are synchronous; without yielding, no timer or other namespace could run in between.
            tokio::task::yield_now().await;
            let found = db.at_once(|db| some.iter().map(|(id, known)| close(db, field, id, known)).collect());
            let found: Vec<Vec<MemoryId>> = found?;
            let hashes = some.iter().map(|(id, _)| ((*id).clone(), field.hash(id).to_owned()));
            self.found.extend(hashes.zip(found).map(|((id, hash), close)| (id, (hash, close))));
        }
        // Memories that were replaced are dropped, since their neighbours are no longer needed.
        self.found.retain(|id, _| field.active.contains_key(id));
        self.pairs = BTreeMap::new();
        for (id, (_, close)) in &self.found {
            close.iter().for_each(|other| join(&mut self.pairs, id, other));
        }
        self.join_alike(field);
        self.join_foreign(field);
        Ok(())
    }

    /// Connects memories with the same attribute or the same words, even if many other memories are closer.
    fn join_alike(&mut self, field: &Field) {
        let mut alike: BTreeMap<String, Vec<&MemoryId>> = BTreeMap::new();
        for (id, known) in &field.active {
            let claim = &known.memory.claim;
            alike.entry(format!("\u{2}{}", comparable(&claim.content))).or_default().push(id);
            if let Some(key) = claim.key.as_deref().and_then(attribute) {
                alike.entry(format!("\u{1}{key}")).or_default().push(id);
            }
        }
        // The number of pairs grows with the square of the group's size, so larger groups use only neighbours by words.
        for ids in alike.values().filter(|ids| ids.len() <= MAX_OF_KEY) {
            for (place, id) in ids.iter().enumerate() {
                ids[..place].iter().for_each(|other| join(&mut self.pairs, id, other));
            }
        }
    }

    /// In a small set, connects all memories in different languages, which share hardly any words.
    fn join_foreign(&mut self, field: &Field) {
        // With many memories, nearly all pairs would be connected.
        if field.active.len() > SMALL {
            return;
        }
        let spoken =
            field.active.iter().filter_map(|(id, known)| Some((id, detect(&known.memory.claim.content, COMPARED)?)));
        let spoken: Vec<_> = spoken.collect();
        for (place, (id, own)) in spoken.iter().enumerate() {
            let others = spoken[..place].iter().filter(|(_, other)| other != own);
            others.for_each(|(other, _)| join(&mut self.pairs, id, other));
        }
    }

    /// Returns the memories close to this one, regardless of the direction in which they were found.
    pub(super) fn of(&self, id: &MemoryId) -> impl Iterator<Item = &MemoryId> {
        self.pairs.get(id).into_iter().flatten()
    }
}

fn close(db: &Database, field: &Field, id: &MemoryId, known: &Known) -> Result<Vec<MemoryId>, StoreError> {
    let claim = &known.memory.claim;
    let keys = claim.key.as_deref().map(spellings).unwrap_or_default();
    // The lookup finds the memory itself first.
    let found = db.around(&Looked { namespace: &field.namespace, claim, keys: &keys }, MAX_NEIGHBOURS + 1)?;
    let others = found.into_iter().map(|memory| memory.id).filter(|other| other != id);
    Ok(others.filter(|other| field.active.contains_key(other)).collect())
}

fn join(pairs: &mut BTreeMap<MemoryId, BTreeSet<MemoryId>>, a: &MemoryId, b: &MemoryId) {
    pairs.entry(a.clone()).or_default().insert(b.clone());
    pairs.entry(b.clone()).or_default().insert(a.clone());
}

/// One change made by a pass: an action, its description for people, and the rows that it changes.
#[derive(Debug, Clone, PartialEq)]
pub struct PassChange {
    /// The action.
    pub action: Action,
    /// A short reason.
    pub reason: String,
    /// The content of the memory that the action is about.
    pub about: String,
    /// The content of the other memory, or the previous content of this one.
    pub beside: Option<String>,
    pub(super) rows: Rows,
}

impl PassChange {
    pub(super) fn new(action: Action, reason: impl Into<String>, about: &str, now: Timestamp) -> Self {
        let reason = reason.into();
        let rows = Rows::new(action, reason.clone(), now);
        Self { action, reason, about: about.to_owned(), beside: None, rows }
    }

    pub(super) fn make(&mut self, memory: Memory, evidence: &[Evidence]) {
        self.rows.make(memory, evidence, Some(&self.reason));
    }

    pub(super) fn change(&mut self, before: &Known, after: Memory) {
        self.rows.change(&before.memory, after);
    }

    pub(super) fn gain(&mut self, id: &MemoryId, evidence: &[Evidence]) {
        self.rows.gain(id, evidence);
    }

    pub(super) fn link(&mut self, from: &MemoryId, relation_type: RelationType, to: &MemoryId) {
        self.rows.link(from, relation_type, to, None);
    }
}
