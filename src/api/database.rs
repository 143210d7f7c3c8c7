//! The database as a file: backup, restore, check, repair and encryption; also its runs, queue, batches and spending.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use jiff::{Timestamp, Zoned};
use serde::Serialize;

use transcripts::known::Machine;

use super::storage::SqliteStorage;
use super::{ApiError, Memories, prices};
use crate::changeset::{Action, Entity};
use crate::config::Config;
use crate::memory::MemoryId;
use crate::pipeline::{self, Survey};
use crate::store::{
    AuditAction, AuditEntry, AuditLog, Backup, Batch, Checked, Conversion, FailedWindow, Flaw, HistoryEntry,
    HookFiring, Job, KeyHome, KeyPlace, Repaired, Restored as RestoredBackup, Run, RunId, Spent, Store, days_before,
    key_given,
};

/// Tokens and calls of one model on one day, with their cost.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct DaySpending {
    /// Tokens and calls.
    #[serde(flatten)]
    pub spent: Spent,
    /// US dollars at the current prices; `None` if the model has no price.
    pub cost: Option<f64>,
}

/// Encryption of a database file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Encryption {
    /// The database is encrypted; the key comes from this place, or from the system's keyring if no place is given.
    Encrypted(Option<KeyPlace>),
    /// The database is not encrypted, even if a key is given.
    Plain(Option<KeyPlace>),
}

impl Memories {
    /// Copies the database to the file `path`, which must not exist. Other processes can continue using the database.
    ///
    /// # Errors
    /// [`ApiError`] if the copy cannot be written.
    pub(crate) fn backup(&self, path: &Path) -> Result<Backup, ApiError> {
        let (store, audit) = (self.ledger("back up memories")?, self.audit()?);
        let made = store.backup(path, Timestamp::now())?;
        count(audit, AuditAction::Backup, made.memories)?;
        Ok(made)
    }

    /// Replaces the database of `config` with the backup `from`, after making a copy beside it.
    ///
    /// # Errors
    /// [`ApiError`] if `from` is not a backup, or the database cannot be written.
    pub(crate) fn restore_backup(config: &Config, from: &Path) -> Result<RestoredBackup, ApiError> {
        let audit = audit_of(config)?;
        let restored = Store::restore_backup(&config.db.value, from, Timestamp::now())?;
        count(audit, AuditAction::RestoreBackup, restored.memories)?;
        Ok(restored)
    }

    /// Checks pages, links, indexes and history of the database.
    ///
    /// # Errors
    /// [`ApiError`] if the database cannot be read.
    pub(crate) fn check(&self) -> Result<Checked, ApiError> {
        Ok(self.ledger(CHECK)?.check()?)
    }

    /// Checks only the pages of the database, which takes about a second per gigabyte.
    ///
    /// # Errors
    /// [`ApiError`] if the database cannot be read.
    pub(crate) fn check_pages(&self) -> Result<Vec<Flaw>, ApiError> {
        Ok(self.ledger(CHECK)?.check_quickly()?)
    }

    /// Whether freed parts of the file may still contain erased text, which [`Memories::compact`] removes.
    ///
    /// # Errors
    /// [`ApiError`] if the database cannot be read.
    pub(crate) fn needs_compaction(&self) -> Result<bool, ApiError> {
        Ok(self.ledger(CHECK)?.is_unsealed()?)
    }

    /// Repairs the database of `config`, after making a copy beside it.
    ///
    /// # Errors
    /// [`ApiError`] if nothing can be read, or the copy cannot be written.
    pub(crate) fn repair(config: &Config) -> Result<Repaired, ApiError> {
        Ok(Store::repair_file(&config.db.value, Timestamp::now())?)
    }

    /// Encrypts the database of `config` with the key in `key_file`, or else from the environment, the default key file
    /// or the keyring; returns `None` if it is already encrypted.
    ///
    /// # Errors
    /// [`ApiError`] if there is no key, or the file cannot be written.
    pub(crate) fn encrypt(config: &Config, key_file: Option<&Path>) -> Result<Option<Conversion>, ApiError> {
        let audit = audit_of(config)?;
        let done = Store::encrypt(&config.db.value, key_file, Timestamp::now())?;
        done.as_ref().map_or(Ok(()), |done| count(audit, AuditAction::Encrypt, done.memories))?;
        Ok(done)
    }

    /// Decrypts the database of `config`; returns `None` if it is not encrypted.
    ///
    /// # Errors
    /// [`ApiError`] if there is no key, or the file cannot be written.
    pub(crate) fn decrypt(config: &Config) -> Result<Option<Conversion>, ApiError> {
        let audit = audit_of(config)?;
        let done = Store::decrypt(&config.db.value, Timestamp::now())?;
        done.as_ref().map_or(Ok(()), |done| count(audit, AuditAction::Decrypt, done.memories))?;
        Ok(done)
    }

    /// Generates a random key for [`Memories::encrypt`].
    ///
    /// # Errors
    /// [`ApiError`] if there is already a key, or the new key cannot be written.
    pub(crate) fn make_key(home: &KeyHome) -> Result<KeyPlace, ApiError> {
        Ok(home.make_key()?)
    }

    /// Returns the default path of the key file; `None` if the platform has no folder for settings.
    pub(crate) fn default_key_file() -> Option<PathBuf> {
        KeyHome::default_key_file()
    }

    /// Returns whether the database is encrypted, and where its key comes from.
    ///
    /// # Errors
    /// [`ApiError`] if the file, or the key, cannot be read.
    pub(crate) fn encryption(&self) -> Result<Encryption, ApiError> {
        // If an encrypted file is open, its key is known, wherever it came from.
        Ok(if self.ledger(CHECK)?.is_encrypted()? {
            Encryption::Encrypted(key_given().ok().flatten())
        } else {
            Encryption::Plain(key_given()?)
        })
    }

    /// Returns the files that an interrupted encryption or decryption left beside the database.
    pub(crate) fn half_converted(config: &Config) -> Vec<PathBuf> {
        Store::half_converted(&config.db.value)
    }

    /// Returns the lines of the audit log of `config`, and the number of lines that cannot be read.
    ///
    /// # Errors
    /// [`ApiError`] if the log cannot be read.
    pub(crate) fn audit_log(config: &Config) -> Result<(Vec<AuditEntry>, usize), ApiError> {
        Ok(AuditLog::read(&config.db.value)?)
    }

    /// Returns at most `limit` runs, newest first.
    ///
    /// # Errors
    /// [`ApiError`] if the database cannot be read.
    pub(crate) fn runs(&self, limit: usize) -> Result<Vec<Run>, ApiError> {
        Ok(self.ledger("list runs")?.runs(limit)?)
    }

    /// Returns every change of a run, in order. If no reason is recorded for a memory or a quote that the run added,
    /// the reason is the quote on which it is based.
    ///
    /// # Errors
    /// [`ApiError`] if the database cannot be read.
    pub(crate) fn changes_of(&self, run: &RunId) -> Result<Vec<HistoryEntry>, ApiError> {
        let mut changes = self.ledger("show a run")?.history_of_run(run)?;
        let quoted = |change: &HistoryEntry| {
            let quote = change.after.as_ref().filter(|_| change.entity == Entity::Evidence)?["quote"].as_str()?;
            Some((change.memory.clone(), format!("“{quote}”")))
        };
        let mut quotes: HashMap<MemoryId, String> = HashMap::new();
        for (memory, quote) in changes.iter().filter_map(quoted) {
            quotes.entry(memory).or_insert(quote);
        }
        for change in changes.iter_mut().filter(|change| change.reason.is_none()) {
            change.reason = match (change.action, change.entity) {
                (Action::Add, Entity::Memory) => {
                    Some(quotes.get(&change.memory).map_or_else(|| "new".to_owned(), |quote| format!("new; {quote}")))
                }
                _ => quoted(change).map(|(_, quote)| quote),
            };
        }
        Ok(changes)
    }

    /// Returns the cost of model replies on each of the last `days` days in local time, newest day first.
    ///
    /// # Errors
    /// [`ApiError`] if the prices or the database cannot be read.
    pub(crate) fn spending(&self, days: u32) -> Result<Vec<DaySpending>, ApiError> {
        let (prices, today) = (prices(&self.config)?, Zoned::now());
        // The ledger counts tokens, not dollars, so that a price that is set later also applies to past days.
        let spent = self.ledger("show spending")?.spending(days_before(today.date(), days), today.time_zone())?;
        let priced = spent.into_iter().map(|spent| {
            let cost = prices.cost(&spent.model, spent.prompt_tokens, spent.completion_tokens);
            DaySpending { spent, cost }
        });
        Ok(priced.collect())
    }

    /// Returns the open batches of providers, oldest first.
    ///
    /// # Errors
    /// [`ApiError`] if the database cannot be read.
    pub(crate) fn open_batches(&self) -> Result<Vec<Batch>, ApiError> {
        Ok(self.ledger(BATCHES)?.open_batches()?)
    }

    /// Abandons the open batch with this id, which may be this program's id or the provider's. Returns the number of
    /// its requests, which will be paid for again; `None` if there is no such batch.
    ///
    /// # Errors
    /// [`ApiError`] if the database cannot be written.
    pub(crate) fn give_up_batch(&self, id: &str) -> Result<Option<usize>, ApiError> {
        let store = self.ledger(BATCHES)?;
        let open = store.open_batches()?.into_iter();
        let Some(batch) = open.rev().find(|batch| batch.id == id || batch.remote_id.as_deref() == Some(id)) else {
            return Ok(None);
        };
        // When a batch ends without replies, the requests in it count as failed, and the next run may send them again.
        store.end_batch(&batch.id, "given_up", &[], Timestamp::now())?;
        Ok(Some(batch.waiting))
    }

    /// Returns the queue of logs, including finished ones.
    ///
    /// # Errors
    /// [`ApiError`] if the database cannot be read.
    pub(crate) fn jobs(&self) -> Result<Vec<Job>, ApiError> {
        Ok(self.ledger(QUEUE)?.jobs()?)
    }

    /// Returns the windows that could not be extracted.
    ///
    /// # Errors
    /// [`ApiError`] if the database cannot be read.
    pub(crate) fn failed_windows(&self) -> Result<Vec<FailedWindow>, ApiError> {
        Ok(self.ledger(QUEUE)?.failed_windows()?)
    }

    /// Removes a log from the queue until it grows; returns whether it was waiting or had failed.
    ///
    /// # Errors
    /// [`ApiError`] if the database cannot be written.
    pub(crate) fn cancel_job(&self, id: i64) -> Result<bool, ApiError> {
        Ok(self.ledger(QUEUE)?.cancel_job(id, Timestamp::now())?)
    }

    /// Returns a failed log to the queue, or, with `None`, all failed logs and windows; returns the number of logs and
    /// of windows.
    ///
    /// # Errors
    /// [`ApiError`] if the database cannot be written.
    pub(crate) fn retry(&self, id: Option<i64>) -> Result<(usize, usize), ApiError> {
        let store = self.ledger(QUEUE)?;
        let due = store.retry_jobs(id, Timestamp::now())?;
        // Windows are not logs and have no id in the queue, so they are included only if everything is retried.
        let windows = if id.is_none() { store.reset_failed_windows()? } else { 0 };
        Ok((due, windows))
    }

    /// Returns a copy in memory, for trying out a change.
    ///
    /// # Errors
    /// [`ApiError`] if the database cannot be read.
    pub(crate) fn copy_in_memory(&self) -> Result<Self, ApiError> {
        let store = self.ledger("try out a change")?.copy_in_memory()?;
        // The copy does not compute vectors, because trying out a change must not send text to a server.
        let storage = Box::new(SqliteStorage { store, vectors: None });
        let builder = Self::builder().config(self.config.clone()).vectors(None).through(self.through);
        Ok(Self { namespaces: self.namespaces.clone(), ..builder.storage(storage).open()? })
    }

    /// Returns when hooks last fired, by agent and event.
    ///
    /// # Errors
    /// [`ApiError`] if the database cannot be read.
    pub(crate) fn hooks_fired(&self) -> Result<Vec<HookFiring>, ApiError> {
        Ok(self.ledger("look at hooks")?.hooks_fired()?)
    }
}

const CHECK: &str = "check memories";
const BATCHES: &str = "look at batches";
const QUEUE: &str = "look at the queue";

/// Returns the logs that each known program has on this machine, and how many of them were read into `memories`.
///
/// `below` lists folders that contain projects, for programs that keep their logs there. No log is opened.
///
/// # Errors
/// [`ApiError`] if the database cannot be read.
pub(crate) fn survey(
    machine: &Machine<'_>,
    below: &[PathBuf],
    memories: Option<&Memories>,
) -> Result<Vec<Survey>, ApiError> {
    let store = memories.map(|memories| memories.ledger("list logs")).transpose()?;
    Ok(pipeline::survey(machine, below, store.map(|store| &**store))?)
}

/// Opens the audit log, if the settings enable it. The log is opened before an action, so that no action is performed
/// that cannot be recorded.
fn audit_of(config: &Config) -> Result<Option<AuditLog>, ApiError> {
    Ok(if config.audit.value { Some(AuditLog::open(&config.db.value)?) } else { None })
}

fn count(log: Option<AuditLog>, action: AuditAction, memories: usize) -> Result<(), ApiError> {
    Ok(log.map_or(Ok(()), |mut log| log.count(action, memories, Timestamp::now()))?)
}
