//! Stores for consolidation cases, with invented memories if requested, and the messages that memories are based on.

use std::collections::BTreeMap;

use crate::api::{NewMemory, incoming};
use crate::consolidate::compare::key::canonical;
use crate::consolidate::plan::CandidateContext;
use crate::consolidate::plan::apply::{Applied, apply, look_around};
use crate::consolidate::{Change, IncomingClaim, Plan};
use crate::guard::Guard;
use crate::memory::{Claim, Evidence, ExtractionMethod, Memory, MemoryId, Namespace};
use crate::store::{Filter, Order, Store, StoreError};
use afterthought_eval::consolidation::distractors;
use afterthought_eval::files::CaseMemory;
use jiff::{Timestamp, ToSpan as _};
use transcripts::{Message, MessageTime};

use crate::cli::eval::search::{claim_of, convert};

/// The time at which memories are written, which is later than all times in the cases: 2027-01-01.
const NOW: Timestamp = Timestamp::constant(1_798_761_600, 0);
/// The time at which distractors were written, before everything else: 2025-01-01.
const BEFORE: Timestamp = Timestamp::constant(1_735_689_600, 0);
/// Source of distractors.
pub(super) const DISTRACTORS: &str = "eval:distractor";
/// Separates the name of a case from an id that occurs in several cases.
const OF_CASE: char = '~';

/// The message in which something was said; it identifies an event in every memory that is based on the message.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Spot {
    /// Key of the transcript.
    transcript: String,
    /// Id of the message.
    message: String,
}

impl Spot {
    /// Whether a memory with this evidence is based on this message.
    pub(super) fn is_in(&self, evidence: &[Evidence]) -> bool {
        let here = |piece: &Evidence| {
            piece.transcript == self.transcript && piece.messages.first().is_some_and(|id| *id == self.message)
        };
        evidence.iter().any(here)
    }
}

/// The conversations of a case.
#[derive(Debug, Default)]
pub(super) struct Conversations {
    /// Quotes of each conversation, in order.
    quotes: BTreeMap<String, Vec<String>>,
}

impl Conversations {
    /// Returns a memory as an extractor would propose it, and the message that the memory is based on.
    pub(super) fn incoming(
        &mut self,
        case: &str,
        id: &str,
        said: &CaseMemory,
    ) -> anyhow::Result<(IncomingClaim, Spot)> {
        let quote = said.quote.clone().unwrap_or_else(|| said.content.clone());
        let transcript = format!("eval:{case}/{}", said.source.as_deref().unwrap_or(id));
        let quotes = self.quotes.entry(transcript.clone()).or_default();
        // According to the case format, the same words in the same conversation are one message.
        let place = quotes.iter().position(|known| *known == quote).unwrap_or_else(|| {
            quotes.push(quote.clone());
            quotes.len() - 1
        });
        let spot = Spot { message: (place + 1).to_string(), transcript };
        // The text contains the conversation as well as the quote, because the same words elsewhere are another
        // message.
        let text = format!("{}\n{quote}", spot.transcript);
        let message = Message { speaker: said.speaker.clone(), ..Message::user(text) };
        let evidence = Evidence {
            transcript: spot.transcript.clone(),
            messages: vec![spot.message.clone()],
            quote,
            speaker: said.speaker.clone(),
            said_at: said.said.flatten().map(|said| MessageTime::logged(said.noon())),
            content_hash: message.content_hash(),
        };
        let (claim, evidence) = (claim_of(said)?, vec![evidence]);
        let (namespace, source, method) = (namespace(said)?, spot.transcript.clone(), ExtractionMethod::Auto);
        let incoming = incoming(NewMemory { claim, namespace, source, method, evidence });
        Ok((incoming, spot))
    }
}

pub(super) fn namespace(said: &CaseMemory) -> anyhow::Result<Namespace> {
    convert(said.namespace.as_deref().unwrap_or("project/case"))
}

/// Stores that serve as templates, since copying a store is faster than inserting many memories.
pub(super) struct Templates {
    pub(super) distractors: usize,
    /// The stores; the index is the number of namespaces of a case, minus one.
    pub(super) stores: Vec<Store>,
}

impl Templates {
    /// Returns a store that contains only distractors, for a case with these namespaces.
    pub(super) fn home(&mut self, case: &str, namespaces: Vec<Namespace>) -> anyhow::Result<CaseHome> {
        while self.stores.len() < namespaces.len() {
            // A template for one more namespace starts as a copy of the last, so no distractor is inserted twice.
            let store = match self.stores.last() {
                Some(store) => store.copy_in_memory()?,
                None => Store::in_memory()?,
            };
            insert_distractors(&store, &inner(self.stores.len()), self.distractors)?;
            self.stores.push(store);
        }
        let store = match namespaces.len().checked_sub(1) {
            Some(last) => self.stores[last].copy_in_memory()?,
            None => Store::in_memory()?,
        };
        Ok(CaseHome { store, case: case.to_owned(), namespaces, revisions: Vec::new(), distractors: self.distractors })
    }
}

/// Returns the name of a case's namespace in its store.
fn inner(index: usize) -> Namespace {
    Namespace::project(&format!("case-{index}")).unwrap_or_else(|_| Namespace::global())
}

/// The store of one case.
pub(super) struct CaseHome {
    pub(super) store: Store,
    case: String,
    /// The namespaces as the case spells them, in order of appearance.
    namespaces: Vec<Namespace>,
    revisions: Vec<(Namespace, i64)>,
    distractors: usize,
}

impl CaseHome {
    /// Returns the time of the decisions about the memories of an arrival.
    pub(super) fn now(arrival: u32) -> Timestamp {
        NOW.checked_add((i64::from(arrival) * 24).hours()).unwrap_or(NOW)
    }

    /// Returns a memory of `claim` as it would have been stored.
    pub(super) fn memory(&self, claim: Claim, incoming: &IncomingClaim) -> Memory {
        let claim = Claim { key: claim.key.as_deref().map(canonical), ..claim };
        Memory::new(claim, self.inward(&incoming.namespace), &incoming.source, incoming.method, NOW)
    }

    /// Stores a known memory.
    pub(super) fn know(&self, memory: &Memory, evidence: &[Evidence], guard: &Guard) -> Result<(), StoreError> {
        self.store.write(None, NOW, |writer| {
            writer.insert(&guard.redact(memory.clone()).0, &guard.redact(evidence.to_vec()).0)
        })
    }

    /// Reads the memories with which `incoming` are compared. The namespaces and ids are renamed so that they are
    /// unique among all cases.
    pub(super) fn look(&mut self, incoming: Vec<IncomingClaim>) -> anyhow::Result<Vec<CandidateContext>> {
        // All stores use the same inner namespaces, so that copies of one template serve every case.
        let inside = incoming.into_iter().map(|one| IncomingClaim { namespace: self.inward(&one.namespace), ..one });
        let mut looked = look_around(&self.store, inside.collect())?;
        self.revisions = looked.revisions;
        for case in &mut looked.cases {
            case.incoming.namespace = self.outward(&case.incoming.namespace);
            for known in &mut case.known {
                known.memory.namespace = self.outward(&known.memory.namespace);
                if known.memory.source == DISTRACTORS {
                    let id = format!("{}{OF_CASE}{}", self.case, known.memory.id);
                    known.memory.id = MemoryId::from_stored(id);
                }
            }
        }
        Ok(looked.cases)
    }

    /// Applies changes that were decided about the memories last read.
    pub(super) fn apply(&self, changes: Vec<Change>, now: Timestamp) -> anyhow::Result<Applied> {
        let changes = changes.into_iter().map(|change| self.bring_in(change)).collect();
        let plan = Plan { changes, revisions: self.revisions.clone(), ..Plan::default() };
        Ok(apply(&self.store, &plan, None, now)?)
    }

    fn bring_in(&self, mut change: Change) -> Change {
        change.incoming.namespace = self.inward(&change.incoming.namespace);
        // The planned rows contain ids of the merged cases, so they are planned again from the memories in this store.
        change.rows.clear();
        for id in change.target.iter_mut().chain(&mut change.also).chain(&mut change.related) {
            if let Some((_, own)) = id.as_str().rsplit_once(OF_CASE) {
                *id = MemoryId::from_stored(own);
            }
        }
        change
    }

    /// Returns every memory with its evidence, except for unchanged distractors.
    pub(super) fn state(&self) -> Result<Vec<(Memory, Vec<Evidence>)>, StoreError> {
        // Distractors are older than `NOW`, so thousands of them need not be read after each case.
        let touched = Filter { statuses: Vec::new(), updated_from: Some(NOW), ..Filter::default() };
        let memories = self.store.list(&touched, Order::Id, usize::MAX >> 1, 0)?;
        let with_evidence = |memory: Memory| self.store.evidence(&memory.id).map(|evidence| (memory, evidence));
        memories.into_iter().map(with_evidence).collect()
    }

    /// Returns the number of distractors that are no longer active.
    pub(super) fn retired_distractors(&self) -> Result<u64, StoreError> {
        let recalled = Filter { source: Some(DISTRACTORS.to_owned()), ..Filter::default() };
        // The distractors that are missing from the active memories are counted, which avoids a list of thousands.
        let all = self.distractors * self.namespaces.len();
        Ok(all.saturating_sub(self.store.count(&recalled)?) as u64)
    }

    /// Returns the name in the store of a namespace, which is given by its name in the case or by its external name.
    fn inward(&self, namespace: &Namespace) -> Namespace {
        let place = self.namespaces.iter().position(|own| own == namespace || self.named(own) == *namespace);
        place.map_or_else(|| namespace.clone(), inner)
    }

    /// Returns the external name of a namespace, which no other case uses.
    fn outward(&self, namespace: &Namespace) -> Namespace {
        let own = (0..self.namespaces.len()).find(|&index| inner(index) == *namespace);
        own.map_or_else(|| namespace.clone(), |index| self.named(&self.namespaces[index]))
    }

    fn named(&self, own: &Namespace) -> Namespace {
        let parts = ["case".to_owned(), self.case.replace('/', "-"), own.parts().join("-")];
        Namespace::try_from(parts.to_vec()).unwrap_or_else(|_| own.clone())
    }
}

/// Stores invented memories in `namespace`, stated in the hours after [`BEFORE`].
fn insert_distractors(store: &Store, namespace: &Namespace, count: usize) -> anyhow::Result<()> {
    if count == 0 {
        return Ok(());
    }
    let (guard, claims) = (Guard::default(), distractors(count).iter().map(claim_of).collect::<Result<Vec<_>, _>>()?);
    store.write(None, BEFORE, |writer| {
        // 8,000 hours are less than a year, so all distractors are stated well before `NOW`.
        for (index, (claim, hour)) in claims.into_iter().zip((0..8_000).cycle()).enumerate() {
            let evidence = Evidence {
                transcript: format!("{DISTRACTORS}/{index}"),
                messages: vec!["1".to_owned()],
                content_hash: format!("{DISTRACTORS}/{index}"),
                quote: claim.content.clone(),
                speaker: None,
                said_at: Some(MessageTime::logged(BEFORE.checked_add(hour.hours()).unwrap_or(BEFORE))),
            };
            let memory = Memory::new(claim, namespace.clone(), DISTRACTORS, ExtractionMethod::Auto, BEFORE);
            writer.insert(&guard.redact(memory).0, &guard.redact(vec![evidence]).0)?;
        }
        Ok::<_, StoreError>(())
    })?;
    Ok(())
}
