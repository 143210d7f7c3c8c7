//! Replies of models, kept so that no question is paid for twice.

use jiff::Timestamp;
use rusqlite::{OptionalExtension, params};

use super::row::json;
use super::writer::to_json;
use super::{Database, Store, StoreError};
use crate::guard::Redacted;
use crate::llm::Reply;

impl Database {
    /// Returns the reply that was kept under `key`, the hash of the request.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub fn reply(&self, key: &str) -> Result<Option<Reply>, StoreError> {
        self.read(|conn| {
            Ok(conn
                .prepare_cached(
                    "SELECT text, finish, prompt_tokens, completion_tokens, model FROM replies WHERE key = ?1",
                )?
                .query_row([key], |row| {
                    Ok(Reply {
                        text: row.get(0)?,
                        finish: json(row.get_ref(1)?.as_str()?, 1)?,
                        prompt_tokens: row.get(2)?,
                        completion_tokens: row.get(3)?,
                        model: row.get(4)?,
                    })
                })
                .optional()?)
        })
    }
}

impl Store {
    /// Forgets the replies under `keys`; one that is not there is no error.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be written.
    pub fn forget_replies(&self, keys: &[String]) -> Result<(), StoreError> {
        self.read(|conn| {
            let mut statement = conn.prepare_cached("DELETE FROM replies WHERE key = ?1")?;
            keys.iter().try_for_each(|key| statement.execute([key]).map(|_| ()))?;
            Ok(())
        })
    }

    /// Keeps a reply under `key`, with `text` in the place of its own.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be written.
    pub fn save_reply(
        &self,
        key: &str,
        text: &Redacted<String>,
        reply: &Reply,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let finish = to_json(&reply.finish)?;
        self.read(|conn| {
            conn.prepare_cached(
                "INSERT OR REPLACE INTO replies (key, model, text, finish, prompt_tokens, completion_tokens, created_at)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
            )?
            .execute(params![
                key,
                reply.model,
                text.as_str(),
                finish,
                reply.prompt_tokens,
                reply.completion_tokens,
                now.as_millisecond(),
            ])?;
            Ok(())
        })
    }
}
