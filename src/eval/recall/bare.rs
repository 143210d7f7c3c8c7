//! What SQLite does by itself: a table of texts, the words of the question without stop words, joined by `OR`.

use std::collections::HashMap;

use rusqlite::Connection;

use super::{Asked, DEPTH, Turns};
use crate::eval::EvalError;
use crate::memory::Namespace;
use crate::store::{STOP_WORDS, StoreError};

/// A bare FTS5 index of each conversation.
#[derive(Debug)]
pub struct Bare {
    tables: HashMap<Namespace, Connection>,
}

impl Bare {
    /// Indexes the turns.
    ///
    /// # Errors
    /// [`EvalError::Store`] if SQLite refuses.
    pub fn of(turns: &Turns) -> Result<Self, EvalError> {
        let mut tables = HashMap::new();
        for (namespace, said) in &turns.said {
            tables.insert(namespace.clone(), table(said).map_err(StoreError::from)?);
        }
        Ok(Self { tables })
    }

    /// Returns the turns that hold any word of the question, by BM25.
    ///
    /// # Errors
    /// [`EvalError::Store`] if SQLite refuses.
    pub fn ask(&self, asked: &Asked) -> Result<Vec<String>, EvalError> {
        let Some(table) = self.tables.get(&asked.namespace) else { return Ok(Vec::new()) };
        Ok(found(table, &expression(&asked.question)).map_err(StoreError::from)?)
    }
}

fn table(said: &[(String, String)]) -> rusqlite::Result<Connection> {
    let conn = Connection::open_in_memory()?;
    conn.execute_batch("CREATE VIRTUAL TABLE turns USING fts5 (id UNINDEXED, text, tokenize = 'porter unicode61')")?;
    let mut insert = conn.prepare("INSERT INTO turns (id, text) VALUES (?1, ?2)")?;
    for (id, text) in said {
        insert.execute([id, text])?;
    }
    drop(insert);
    Ok(conn)
}

fn found(table: &Connection, expression: &str) -> rusqlite::Result<Vec<String>> {
    if expression.is_empty() {
        return Ok(Vec::new());
    }
    let sql = format!("SELECT id FROM turns WHERE turns MATCH ?1 ORDER BY bm25(turns), rowid LIMIT {DEPTH}");
    table.prepare_cached(&sql)?.query_map([expression], |row| row.get(0))?.collect()
}

fn expression(question: &str) -> String {
    let question = question.to_lowercase();
    let words = question.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    let telling: Vec<String> =
        words.filter(|word| !STOP_WORDS.contains(word)).map(|word| format!("\"{word}\"")).collect();
    telling.join(" OR ")
}
