//! The store of one case.

use std::collections::{BTreeMap, HashMap};

use jiff::{Timestamp, ToSpan as _};

use super::form::Kept;
use crate::eval::consolidation::Moment;
use crate::eval::{EvalError, Prediction};
use crate::guard::Guard;
use crate::memory::{Claim, Evidence, ExtractionMethod, Memory, MemoryId, MemoryType, Namespace, Scope, Status};
use crate::store::{Store, StoreError};
use transcripts::{Message, MessageTime};

/// Characters of the content that a title is made of, where there is none.
const TITLE: usize = 40;
/// How sure a memory is, where the case does not say.
const CONFIDENCE: f64 = 0.85;

/// A store that holds the memories of a case, and what the case calls them.
#[derive(Debug)]
pub struct Home {
    /// The store.
    pub store: Store,
    /// When it is asked.
    pub now: Timestamp,
    names: HashMap<MemoryId, String>,
}

impl Home {
    /// Writes `memories` into a new store.
    ///
    /// # Errors
    /// [`EvalError::Store`] if it cannot be written.
    pub fn of(case: &str, memories: &[Kept], now: Timestamp) -> Result<Self, EvalError> {
        let mut home = Self { store: Store::in_memory()?, now, names: HashMap::new() };
        let (guard, mut places) = (Guard::default(), BTreeMap::new());
        home.store.write(None, now, |writer| {
            for (index, kept) in memories.iter().enumerate() {
                let said = kept.said.map_or_else(|| before(now, memories.len() - index), Moment::said);
                let memory = memory(case, kept, said);
                let evidence = evidence(case, kept, said, &mut places);
                home.names.insert(memory.id.clone(), kept.id.clone());
                writer.insert(&guard.redact(memory).0, &guard.redact(vec![evidence]).0)?;
            }
            Ok::<_, StoreError>(())
        })?;
        Ok(home)
    }

    /// Returns what the case calls a memory.
    #[must_use]
    pub fn name<'a>(&'a self, id: &'a MemoryId) -> &'a str {
        self.names.get(id).map_or(id.as_str(), String::as_str)
    }
}

/// Returns a time for each of those without one, an hour apart, in the order of the case.
fn before(now: Timestamp, hours: usize) -> Timestamp {
    let hours = i64::try_from(hours).unwrap_or_default() + 30 * 24;
    now.checked_sub(hours.hours()).unwrap_or(now)
}

fn memory(case: &str, kept: &Kept, said: Timestamp) -> Memory {
    let title = kept.title.clone().unwrap_or_else(|| kept.content.chars().take(TITLE).collect());
    let claim = Claim {
        subject: kept.subject.clone(),
        scope: kept.scope.unwrap_or(Scope::LongTerm),
        importance: kept.importance.unwrap_or(0.5),
        confidence: kept.confidence.unwrap_or(CONFIDENCE),
        valid_from: kept.from.map(Moment::first),
        valid_to: kept.to.map(Moment::last),
        expires_at: kept.expires.map(Moment::first),
        ..Claim::new(
            kept.memory_type.unwrap_or(MemoryType::Semantic),
            kept.category.as_deref().unwrap_or("fact"),
            title,
            kept.content.clone(),
        )
    };
    let place = kept.namespace.clone().unwrap_or_else(Namespace::global);
    let memory = Memory::new(claim, place, conversation(case, kept), ExtractionMethod::Auto, said);
    Memory { status: kept.status.unwrap_or(Status::Active), pinned: kept.pinned, ..memory }
}

fn conversation(case: &str, kept: &Kept) -> String {
    format!("eval:{case}/{}", kept.source.as_deref().unwrap_or(&kept.id))
}

/// Returns what `kept` rests on: the next message of its conversation.
fn evidence(case: &str, kept: &Kept, said: Timestamp, places: &mut BTreeMap<String, usize>) -> Evidence {
    let transcript = conversation(case, kept);
    let place = places.entry(transcript.clone()).or_default();
    *place += 1;
    let quote = kept.quote.clone().unwrap_or_else(|| kept.content.clone());
    let message = Message { speaker: kept.speaker.clone(), ..Message::user(quote.clone()) };
    Evidence {
        transcript,
        messages: vec![place.to_string()],
        content_hash: message.content_hash(),
        quote,
        speaker: kept.speaker.clone(),
        said_at: Some(MessageTime::logged(said)),
    }
}

/// Writes what a control keeps into `store`.
///
/// # Errors
/// [`EvalError::Store`] if it cannot be written.
pub fn keep(store: &Store, predictions: &[Prediction], now: Timestamp) -> Result<(), EvalError> {
    let guard = Guard::default();
    store.write(None, now, |writer| {
        for prediction in predictions {
            let title: String = prediction.content.chars().take(TITLE).collect();
            let claim = Claim::new(prediction.memory_type, "fact", title, prediction.content.clone());
            let memory = Memory::new(claim, Namespace::global(), "eval:control", ExtractionMethod::Manual, now);
            let cited = prediction.evidence.iter().map(|cited| Evidence {
                transcript: cited.transcript.clone(),
                messages: cited.messages.clone(),
                quote: cited.quote.clone(),
                speaker: cited.speaker.clone(),
                said_at: None,
                content_hash: String::new(),
            });
            writer.insert(&guard.redact(memory).0, &guard.redact(cited.collect::<Vec<_>>()).0)?;
        }
        Ok::<_, StoreError>(())
    })?;
    Ok(())
}
