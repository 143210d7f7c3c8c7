//! Redoes a run that was undone, from the rows that its history records.

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::undo::{KeepReason, Kept, UndoReport};
use crate::changeset::RowChange;
use crate::memory::MemoryId;
use crate::store::{Run, RunId, RunStatus, Store, StoreError};

impl Store {
    /// Makes the undone changes of a run again, as a new run with the same command and arguments. Returns the new run,
    /// and the memories that are again as the undone run had left them. A memory that has been changed since the undo is
    /// kept. Nothing is written if there is nothing to redo.
    ///
    /// # Errors
    /// [`StoreError::RunNotUndone`], [`StoreError::MergeUndone`], or [`StoreError::NothingToRedo`] if no change can be
    /// made.
    pub(crate) fn redo_run(&self, run: &Run, now: Timestamp) -> Result<(RunId, UndoReport), StoreError> {
        if run.status != RunStatus::Undone {
            return Err(StoreError::RunNotUndone { id: run.id.short().to_owned() });
        }
        let text = |name: &str| run.arguments.get(name).and_then(Value::as_str).map(str::to_owned);
        // The record that later conversations of one project belong to the other is not part of the history.
        if run.command == "projects merge"
            && let Some((from, into)) = text("from").zip(text("into"))
        {
            return Err(StoreError::MergeUndone { from, into });
        }
        self.together(|| {
            let again = self.begin_run(&run.command, &run.arguments, now)?.id;
            let report = self.write(Some(&again), now, |writer| {
                let undone = writer.history_of_run(&run.id)?.into_iter().filter(|entry| entry.undone);
                let changes: Vec<RowChange> = undone.map(|entry| entry.change()).collect::<Result<_, _>>()?;
                let applied = writer.apply(&changes)?;
                let ids = |changes: &[RowChange]| -> BTreeSet<MemoryId> {
                    // The rows of a purged memory are gone.
                    changes.iter().filter_map(|change| Some(change.row.memories()?.0.clone())).collect()
                };
                let kept = ids(&applied.conflicts);
                let restored = ids(&changes).into_iter().filter(|id| !kept.contains(id)).collect();
                let tasks = writer.redo_tasks(&run.id)?;
                if applied.written == 0 && tasks == 0 {
                    return Err(StoreError::NothingToRedo { id: run.id.short().to_owned() });
                }
                let kept = kept.into_iter().map(|memory| Kept { memory, because: KeepReason::ChangedSince }).collect();
                Ok(UndoReport { restored, kept, tasks, ..UndoReport::default() })
            })?;
            let summary = json!({ "redo": run.id, "memories": report.restored.len() });
            self.finish_run(&again, RunStatus::Finished, &summary, now)?;
            Ok((again, report))
        })
    }
}
