//! Withdraws what was learnt from a conversation while its words were attributed to another speaker.

use rusqlite::params;

use crate::changeset::{Action, Row, RowChange};
use crate::memory::{Evidence, Memory, MemoryId};
use crate::store::file::erase::{before_any, changed_only_with, put_back, texts_of};
use crate::store::history::HistoryEntry;
use crate::store::row::to_json;
use crate::store::writer::{Mark, Stale};
use crate::store::{Database, StoreError, Writer};

/// What changed because a conversation is now attributed to one speaker.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct AttributionChange {
    /// Memories that were removed, because they were based only on the words of another speaker.
    pub removed: Vec<MemoryId>,
    /// Memories that lost the quotes of another speaker, but are also based on other words.
    pub reduced: Vec<MemoryId>,
    /// Memories that a person wrote, pinned or edited, and that are unchanged.
    pub kept: Vec<MemoryId>,
}

/// `?1` is the key of a transcript, `?2` the speaker of all its words. A memory that a person has forgotten is left
/// alone.
const MISATTRIBUTED: &str = "
    SELECT m.id,
        EXISTS (SELECT 1 FROM evidence e WHERE e.memory_id = m.id AND NOT (e.transcript = ?1 AND e.speaker <> ?2)),
        m.pinned OR m.extraction_method <> 'auto' OR EXISTS (SELECT 1 FROM history h WHERE h.memory_id = m.id
            AND h.entity = 'memory' AND h.action = 'update' AND h.run_id IS NULL AND h.undone = 0)
    FROM memories m
    WHERE m.id IN (SELECT memory_id FROM evidence WHERE transcript = ?1 AND speaker <> ?2) AND m.status <> 'forgotten'
    ORDER BY m.id";

const REASON: &str = "a later run attributed the words to another speaker";

/// The speakers that the candidates of a window `w` cite.
const CITED: &str = "SELECT piece.value ->> '$.speaker' AS name
    FROM json_each(w.candidates) candidate, json_each(candidate.value, '$.evidence') piece";

impl Writer<'_> {
    /// Removes everything that was learnt from a conversation whose words were attributed to anyone but `speaker`, so
    /// that nothing names another speaker. Memories that such a memory had replaced are active again.
    ///
    /// The windows that were read with `speaker` and have one of the hashes in `current` are decided again, because
    /// their memories may have been removed when the conversation was attributed to somebody else in between.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be written.
    pub(crate) fn reattribute(
        &self,
        transcript: &str,
        speaker: &str,
        current: &[String],
    ) -> Result<AttributionChange, StoreError> {
        let mut done = AttributionChange::default();
        for (id, rests_elsewhere, is_by_hand) in self.misattributed(transcript, speaker)? {
            let list = match (is_by_hand, rests_elsewhere) {
                (true, _) => &mut done.kept,
                (false, true) => &mut done.reduced,
                (false, false) => &mut done.removed,
            };
            list.push(id);
        }
        let is_wrong = |piece: &Evidence| {
            piece.transcript == transcript && piece.speaker.as_deref().is_some_and(|name| name != speaker)
        };
        // The superseded memories are determined first, because the links to them are removed with the memories.
        let restored = self.superseded_by(&done.removed)?;
        let mut stale = Stale::default();
        for id in &done.removed {
            self.remove(id, &mut stale)?;
        }
        for id in &done.reduced {
            self.remove_evidence(id, &is_wrong, &mut stale)?;
        }
        self.index_stale(&stale)?;
        self.reactivate(&restored, "the memory that had replaced it was attributed to another speaker")?;
        // Candidates that wait to be written would store the other speaker again.
        let waiting = format!(
            "DELETE FROM windows AS w WHERE transcript_id = (SELECT id FROM transcripts WHERE key = ?1)
             AND status = 'done' AND applied_at IS NULL AND EXISTS (SELECT 1 FROM ({CITED}) WHERE name <> ?2)"
        );
        self.execute(&waiting, params![transcript, speaker])?;
        if !done.removed.is_empty() || !done.reduced.is_empty() {
            let known = format!(
                "UPDATE windows AS w SET applied_at = NULL, applied_run = NULL
                 WHERE transcript_id = (SELECT id FROM transcripts WHERE key = ?1) AND status = 'done'
                 AND candidates <> '[]' AND content_hash IN (SELECT value FROM json_each(?3))
                 AND NOT EXISTS (SELECT 1 FROM ({CITED}) WHERE name <> ?2)"
            );
            self.execute(&known, params![transcript, speaker, to_json(&current)?])?;
        }
        Ok(done)
    }

    /// Removes a memory with its evidence and its links; unlike a purge, the history keeps the rows, so that an undo
    /// restores them.
    fn remove(&self, id: &MemoryId, stale: &mut Stale) -> Result<(), StoreError> {
        for relation in self.relations(id)? {
            let row = Row::Relation { before: Some(relation), after: None };
            self.write_row(&withdrawal(row), Mark::Done, stale)?;
        }
        self.remove_evidence(id, &|_| true, stale)?;
        let row = Row::Memory { before: Some(Box::new(self.memory(id)?)), after: None };
        self.write_row(&withdrawal(row), Mark::Done, stale)
    }

    /// Removes pieces of a memory's evidence, and the text that the memory adopted together with them.
    fn remove_evidence(
        &self,
        id: &MemoryId,
        is_wrong: &dyn Fn(&Evidence) -> bool,
        stale: &mut Stale,
    ) -> Result<(), StoreError> {
        let entries: Vec<HistoryEntry> = self.history(id)?.into_iter().filter(|entry| entry.memory == *id).collect();
        let pieces = self.evidence(id)?;
        for piece in pieces.iter().filter(|piece| is_wrong(piece)) {
            let row = Row::Evidence { memory: id.clone(), before: Some(piece.clone()), after: None };
            self.write_row(&withdrawal(row), Mark::Done, stale)?;
        }
        let Some(rest) = pieces.iter().find(|piece| !is_wrong(piece)) else { return Ok(()) };
        let is_lost = |entry: &&HistoryEntry| {
            let state = entry.after.clone().or_else(|| entry.before.clone());
            state.and_then(|state| serde_json::from_value(state).ok()).is_some_and(|piece| is_wrong(&piece))
        };
        let lost: Vec<i64> = entries.iter().filter(is_lost).map(|entry| entry.id).collect();
        let memory = self.memory(id)?;
        let former = before_any(&entries, &lost)
            .filter(|former| texts_of(former) != texts_of(&memory.claim) && changed_only_with(&entries, &lost));
        let claim = former.map_or_else(|| memory.claim.clone(), |former| put_back(&memory.claim, former));
        let source = if pieces.iter().any(|piece| !is_wrong(piece) && piece.transcript == memory.source) {
            memory.source.clone()
        } else {
            rest.transcript.clone()
        };
        let after = Memory { claim, source, updated_at: self.now, ..memory };
        self.replace(after, Action::Withdraw, Some(REASON.into())).map(drop)
    }
}

impl Database {
    /// Returns the memories that quote this conversation as the words of anyone but `speaker`; each with whether it is
    /// also based on other words, and whether a person wrote, pinned or edited it.
    fn misattributed(&self, transcript: &str, speaker: &str) -> Result<Vec<(MemoryId, bool, bool)>, StoreError> {
        self.query_all(MISATTRIBUTED, [transcript, speaker], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
    }
}

fn withdrawal(row: Row) -> RowChange {
    RowChange::new(Action::Withdraw, row, Some(REASON))
}
