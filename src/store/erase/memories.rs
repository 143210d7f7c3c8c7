//! What becomes of memories when conversations are erased on which they rest.

use rusqlite::params;

use super::{Erased, Scope};
use crate::changeset::{Action, Entity};
use crate::memory::{Claim, Memory, MemoryId, Status, Structured};
use crate::store::history::HistoryEntry;
use crate::store::row::to_json;
use crate::store::{Database, StoreError, Writer};

/// `?1` is a list of keys in JSON, `?2` the namespace of a project that goes as a whole.
const RESTING: &str = "
    SELECT m.id,
        EXISTS (SELECT 1 FROM evidence e WHERE e.memory_id = m.id
            AND e.transcript NOT IN (SELECT value FROM json_each(?1))),
        m.extraction_method = 'auto' OR m.source IN (SELECT value FROM json_each(?1)),
        m.namespace = ?2 OR substr(m.namespace, 1, length(?2) + 1) = ?2 || '/'
    FROM memories m
    WHERE m.source IN (SELECT value FROM json_each(?1))
        OR m.id IN (SELECT memory_id FROM evidence WHERE transcript IN (SELECT value FROM json_each(?1)))
        OR m.namespace = ?2 OR substr(m.namespace, 1, length(?2) + 1) = ?2 || '/'
    ORDER BY m.id";

impl Database {
    /// Returns the memories that rest on these conversations alone, and those that rest on others, too: on other words,
    /// or on what a person wrote or imported. What lies in a project that goes as a whole goes with it.
    pub(super) fn resting_on_any(
        &self,
        keys: &str,
        scope: &Scope,
    ) -> Result<(Vec<MemoryId>, Vec<MemoryId>), StoreError> {
        let space = if let Scope::Project(namespace) = scope { Some(namespace.to_string()) } else { None };
        self.read(|conn| {
            let mut statement = conn.prepare(RESTING)?;
            let mut rows = statement.query(params![keys, space])?;
            let (mut alone, mut others) = (Vec::new(), Vec::new());
            while let Some(row) = rows.next()? {
                let (elsewhere, extracted, within): (bool, bool, Option<bool>) =
                    (row.get(1)?, row.get(2)?, row.get(3)?);
                let goes = !elsewhere && (extracted || within == Some(true));
                if goes { &mut alone } else { &mut others }.push(MemoryId::from_stored(row.get::<_, String>(0)?));
            }
            Ok((alone, others))
        })
    }

    /// Returns the superseded memories whose place only memories of `gone` have taken.
    pub(super) fn held_down_by(&self, gone: &[MemoryId]) -> Result<Vec<MemoryId>, StoreError> {
        let gone = to_json(&gone)?;
        self.read(|conn| {
            let mut statement = conn.prepare(
                "SELECT m.id FROM memories m WHERE m.status = 'superseded'
                 AND m.id NOT IN (SELECT value FROM json_each(?1))
                 AND m.id IN (SELECT to_id FROM relations WHERE type = 'supersedes'
                    AND from_id IN (SELECT value FROM json_each(?1)))
                 AND NOT EXISTS (SELECT 1 FROM relations WHERE type = 'supersedes' AND to_id = m.id
                    AND from_id NOT IN (SELECT value FROM json_each(?1)))
                 ORDER BY m.id",
            )?;
            let found = statement.query_map([gone], |row| row.get::<_, String>(0).map(MemoryId::from_stored))?;
            Ok(found.collect::<Result<_, _>>()?)
        })
    }
}

impl Writer<'_> {
    /// Makes memories active again whose successors are gone.
    pub(super) fn let_hold_again(&self, held: Vec<MemoryId>) -> Result<Vec<MemoryId>, StoreError> {
        for id in &held {
            let mut memory = self.memory(id)?;
            memory.claim.valid_to = None;
            let reason = Some("what had taken its place was erased");
            self.replace(Memory { status: Status::Active, updated_at: self.now, ..memory }, Action::Restore, reason)?;
        }
        Ok(held)
    }

    /// Takes conversations from what a memory rests on, and their words from what it says, as far as these can be told.
    pub(super) fn take_from(&self, id: &MemoryId, keys: &str, erased: &mut Erased) -> Result<(), StoreError> {
        self.bump(id)?;
        let entries: Vec<_> = self.history(id)?.into_iter().filter(|entry| entry.memory == *id).collect();
        let lost: Vec<i64> = self.evidence_entries(id, keys)?;
        erased.evidence += self.read(|conn| {
            let sql = "DELETE FROM evidence WHERE memory_id = ?1 AND transcript IN (SELECT value FROM json_each(?2))";
            Ok(conn.prepare_cached(sql)?.execute(params![id.as_str(), keys])?)
        })?;
        let memory = self.memory(id)?;
        if let Some(former) = before_any(&entries, &lost) {
            if says(&former) != says(&memory.claim) {
                if changed_only_with(&entries, &lost) {
                    let claim = put_back(&memory.claim, former);
                    self.replace(Memory { claim, updated_at: self.now, ..memory.clone() }, Action::Withdraw, None)?;
                    erased.reverted.push(id.clone());
                } else {
                    erased.mixed.push(id.clone());
                }
            }
        } else {
            erased.mixed.push(id.clone());
        }
        self.rest_on_what_is_left(id, keys)?;
        self.scrub(id, &entries, &lost)?;
        self.index(id)
    }

    /// Returns the lines of history in which a memory came to rest on these conversations, the first one first.
    fn evidence_entries(&self, id: &MemoryId, keys: &str) -> Result<Vec<i64>, StoreError> {
        self.read(|conn| {
            let mut statement = conn.prepare_cached(
                "SELECT id FROM history WHERE memory_id = ?1 AND entity = 'evidence'
                 AND coalesce(after ->> '$.transcript', before ->> '$.transcript') IN (SELECT value FROM json_each(?2))
                 ORDER BY id",
            )?;
            let found = statement.query_map(params![id.as_str(), keys], |row| row.get(0))?;
            Ok(found.collect::<Result<_, _>>()?)
        })
    }

    /// Names another source of a memory whose own is gone.
    fn rest_on_what_is_left(&self, id: &MemoryId, keys: &str) -> Result<(), StoreError> {
        let memory = self.memory(id)?;
        let is_gone = self.read(|conn| {
            Ok(conn
                .prepare_cached("SELECT 1 FROM json_each(?1) WHERE value = ?2")?
                .exists(params![keys, memory.source])?)
        })?;
        let source = self.evidence(id)?.into_iter().next().map(|piece| piece.transcript);
        match source.filter(|_| is_gone) {
            Some(source) => self.replace(Memory { source, ..memory }, Action::Withdraw, None).map(drop),
            None => Ok(()),
        }
    }

    /// Empties what the history of a memory says since it first rested on these conversations. What else it says of them, such
    /// as the word that it was changed, stays.
    fn scrub(&self, id: &MemoryId, entries: &[HistoryEntry], lost: &[i64]) -> Result<(), StoreError> {
        let Some(from) = first_write(entries, lost) else { return Ok(()) };
        self.read(|conn| {
            conn.prepare_cached(
                "UPDATE history SET before = NULL, after = NULL, reason = NULL
                 WHERE (memory_id = ?1 AND entity = 'memory' AND id >= ?2) OR (other_id = ?1 AND id >= ?2)",
            )?
            .execute(params![id.as_str(), from])?;
            Ok(())
        })
    }
}

/// Returns where the write begins in which a memory first came to rest on what is gone. A write has one time and one run.
fn first_write(entries: &[HistoryEntry], lost: &[i64]) -> Option<i64> {
    let first = entries.iter().find(|entry| Some(&entry.id) == lost.first())?;
    let settled = entries.iter().rev().find(|entry| entry.entity == Entity::Evidence && entry.id < first.id);
    let same = |entry: &&HistoryEntry| entry.at == first.at && entry.run == first.run;
    let begun = entries.iter().filter(same).map(|entry| entry.id).min().unwrap_or(first.id);
    Some(settled.map_or(begun, |settled| begun.max(settled.id + 1)))
}

/// Returns what the memory said before it rested on what is gone; `None` if it began with that.
fn before_any(entries: &[HistoryEntry], lost: &[i64]) -> Option<Claim> {
    let Some(from) = first_write(entries, lost) else {
        // Nothing tells when it came to rest on it: what it says is taken for its own.
        let last = entries.iter().rev().find(|entry| entry.entity == Entity::Memory)?;
        return claim_of(last);
    };
    claim_of(entries.iter().rev().find(|entry| entry.entity == Entity::Memory && entry.id < from)?)
}

fn claim_of(entry: &HistoryEntry) -> Option<Claim> {
    serde_json::from_value::<Memory>(entry.after.clone()?).ok().map(|memory| memory.claim)
}

/// Whether what the memory says has changed since then only in writes that brought what is gone.
fn changed_only_with(entries: &[HistoryEntry], lost: &[i64]) -> bool {
    let Some(from) = first_write(entries, lost) else { return true };
    let brought = |entry: &HistoryEntry| {
        entries.iter().any(|other| lost.contains(&other.id) && other.at == entry.at && other.run == entry.run)
    };
    let texts = |value: &Option<serde_json::Value>| {
        let memory: Option<Memory> = value.clone().and_then(|value| serde_json::from_value(value).ok());
        memory.map(|memory| memory.claim)
    };
    entries.iter().filter(|entry| entry.entity == Entity::Memory && entry.id >= from).all(|entry| {
        match (texts(&entry.before), texts(&entry.after)) {
            (Some(before), Some(after)) => says(&before) == says(&after) || brought(entry),
            _ => false,
        }
    })
}

/// The words of a claim.
fn says(claim: &Claim) -> (&str, &str, &[String], [Option<&str>; 4], Option<&Structured>) {
    let others = [&claim.summary, &claim.subject, &claim.key, &claim.value].map(Option::as_deref);
    (&claim.title, &claim.content, &claim.tags, others, claim.structured.as_ref())
}

/// Returns the claim with the words of an earlier one.
fn put_back(claim: &Claim, former: Claim) -> Claim {
    Claim { importance: claim.importance, confidence: claim.confidence, scope: claim.scope, ..former }
}
