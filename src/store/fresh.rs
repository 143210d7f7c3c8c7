//! What a new memory is written as, as far as that can be told without the file. Pure.

use jiff::Timestamp;

use super::StoreError;
use super::evidence::place;
use super::index::near::filed;
use super::index::search::entry;
use super::index::words::Entry;
use super::row::Spelled;
use super::terms::Stems;
use super::writer::{New, to_json};
use crate::changeset::{Action, Entity, evidence_as_stored, memory_as_stored};
use crate::memory::{Evidence, Memory};

/// A memory that is about to be written.
#[derive(Debug)]
pub(super) struct Fresh {
    pub(super) memory: Memory,
    pub(super) spelled: Spelled,
    /// The whole of it, for the history.
    pub(super) json: String,
    /// What it rests on, each piece once.
    pub(super) evidence: Vec<FreshPiece>,
    /// What people search it by.
    pub(super) entry: Entry,
    /// What other claims find it by.
    pub(super) near: String,
}

/// A piece of evidence that is about to be written.
#[derive(Debug)]
pub(super) struct FreshPiece {
    pub(super) piece: Evidence,
    /// The messages in which it stands.
    pub(super) messages: String,
    /// The whole of it, for the history.
    pub(super) json: String,
}

impl Fresh {
    pub(super) fn of(memory: &Memory, evidence: &[Evidence], stems: &mut Stems) -> Result<Self, StoreError> {
        let memory = memory_as_stored(memory);
        let mut pieces: Vec<FreshPiece> = Vec::with_capacity(evidence.len());
        for (at, piece) in evidence.iter().enumerate() {
            if !evidence[..at].iter().any(|before| place(before) == place(piece)) {
                let piece = evidence_as_stored(piece);
                pieces.push(FreshPiece { messages: to_json(&piece.messages)?, json: to_json(&piece)?, piece });
            }
        }
        let quotes: Vec<&str> = pieces.iter().map(|fresh| fresh.piece.quote.as_str()).collect();
        Ok(Self {
            spelled: Spelled::of(&memory)?,
            json: to_json(&memory)?,
            entry: entry(&memory, &quotes, stems),
            near: filed(&memory.namespace, &memory.claim),
            evidence: pieces,
            memory,
        })
    }

    /// Returns when what it rests on was last said, as far as that is known.
    pub(super) fn confirmed_at(&self) -> Option<Timestamp> {
        self.evidence.iter().filter_map(|fresh| fresh.piece.said_at).map(|said| said.at).max()
    }

    /// Returns its lines in the history: what was done to make it, and why.
    pub(super) fn history<'n>(&'n self, action: Action, reason: Option<&'n str>) -> impl Iterator<Item = New<'n>> {
        let memory = self.memory.id.as_str();
        let add = New { memory, action: action.as_str(), entity: Entity::Memory.as_str(), after: &self.json, reason };
        let piece = move |fresh: &'n FreshPiece| New {
            memory,
            action: Action::Evidence.as_str(),
            entity: Entity::Evidence.as_str(),
            after: &fresh.json,
            reason: None,
        };
        std::iter::once(add).chain(self.evidence.iter().map(piece))
    }
}
