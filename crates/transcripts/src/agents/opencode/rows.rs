//! `opencode.db`: one session at a time, and of it one message at a time.

use rusqlite::Row;
use serde_json::{Value, json};

use super::session::{Said, Session};
use crate::database::{self, Database};
use crate::{IngestError, Sink};

pub(super) fn read(database: &Database, origin: &str, sink: &mut Sink<'_>) -> Result<(), IngestError> {
    database.require("session", &["id", "directory", "title", "time_created"])?;
    database.require("message", &["id", "session_id", "data"])?;
    database.require("part", &["id", "message_id", "data"])?;
    // The order of the columns is what `info_of` reads.
    let sql = format!(
        "SELECT id, directory, title, time_created, {}, {} FROM session ORDER BY time_created, id",
        database.or_null("session", "parent_id"),
        database.or_null("session", "revert"),
    );
    let mut statement = database.statement(&sql)?;
    let mut rows = database.rows(&mut statement, &[])?;
    let mut number = 0;
    while let Some(row) = database.next(&mut rows)? {
        number += 1;
        let info = info_of(row);
        let id = info["id"].as_str().unwrap_or_default();
        match Session::new(&info, format!("{origin}#{id}")) {
            Some(session) => read_messages(database, id, session, sink)?,
            None => sink.skip(number, "a session without an id"),
        }
    }
    tell_orphans(database, sink)
}

/// Spells a row as an export does.
fn info_of(row: &Row<'_>) -> Value {
    json!({
        "id": database::text(row, 0),
        "directory": database::text(row, 1),
        "title": database::text(row, 2),
        "time": {"created": database::json::<Value>(row, 3).map_or(Value::Null, |(time, _)| time)},
        "parentID": database::text(row, 4),
        "revert": database::json::<Value>(row, 5).map_or(Value::Null, |(revert, _)| revert),
    })
}

fn read_messages(
    database: &Database,
    session_id: &str,
    mut session: Session,
    sink: &mut Sink<'_>,
) -> Result<(), IngestError> {
    let sql = format!(
        "SELECT rowid, id, data FROM message WHERE session_id = ?1 ORDER BY {}, id",
        database.or_null("message", "time_created")
    );
    let mut statement = database.statement(&sql)?;
    let mut rows = database.rows(&mut statement, &[&session_id])?;
    while let Some(row) = database.next(&mut rows)? {
        let id = database::text(row, 1).unwrap_or_default();
        if let Some(info) = parsed(row, "message", sink) {
            let parts = parts_of(database, &id, sink)?;
            session.take(Said { id: &id, info: &info, parts }, sink);
        }
    }
    session.finish(sink);
    Ok(())
}

fn parts_of(database: &Database, message_id: &str, sink: &mut Sink<'_>) -> Result<Vec<Value>, IngestError> {
    let mut statement = database
        .prepare_cached("SELECT rowid, id, data FROM part WHERE message_id = ?1 ORDER BY id")
        .map_err(|error| database.error(error))?;
    let mut rows = database.rows(&mut statement, &[&message_id])?;
    let mut parts = Vec::new();
    while let Some(row) = database.next(&mut rows)? {
        if let Some(mut part) = parsed(row, "part", sink) {
            if let (Some(fields), Some(id)) = (part.as_object_mut(), database::text(row, 1)) {
                fields.insert("id".to_owned(), id.into());
            }
            parts.push(part);
        }
    }
    Ok(parts)
}

/// Parses the data of a row of `table`, or tells why it cannot be used.
fn parsed(row: &Row<'_>, table: &str, sink: &mut Sink<'_>) -> Option<Value> {
    match database::json::<Value>(row, 2) {
        Ok((value, repaired)) => {
            sink.repaired += usize::from(repaired);
            Some(value)
        }
        Err(reason) => {
            sink.skip(database::record_number(row, 0), format!("row of {table}: {reason}"));
            None
        }
    }
}

fn tell_orphans(database: &Database, sink: &mut Sink<'_>) -> Result<(), IngestError> {
    let tables = [("message", "session_id", "session"), ("part", "message_id", "message")];
    for (table, key, parent) in tables {
        let sql = format!(
            "SELECT min(rowid), count(*) FROM {table}
             WHERE {key} IS NULL OR {key} NOT IN (SELECT id FROM {parent} WHERE id IS NOT NULL)"
        );
        let mut statement = database.statement(&sql)?;
        let mut rows = database.rows(&mut statement, &[])?;
        if let Some(row) = database.next(&mut rows)?
            && let Some(count) = database::text(row, 1).filter(|count| count != "0")
        {
            let reason = format!("{count} rows of {table} whose {parent} is not there");
            sink.skip(database::record_number(row, 0), reason);
        }
    }
    Ok(())
}
