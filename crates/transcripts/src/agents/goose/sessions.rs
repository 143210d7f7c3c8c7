//! `sessions.db`: the sessions of one computer, read one at a time.

use rusqlite::Row;
use serde_json::Value;

use super::{Author, Said, Session, is_programs};
use crate::agents::turn;
use crate::database::{self, Database};
use crate::{IngestError, Sink, identity};

/// Type of the sessions that are held with `--no-session`.
const HIDDEN: &str = "hidden";
/// Name of the sessions of an editor, to which earlier versions give the same type.
const EDITORS: &str = "ACP Session";

pub(super) fn read(database: &Database, origin: &str, sink: &mut Sink<'_>) -> Result<(), IngestError> {
    database.require("sessions", &["id", "working_dir"])?;
    database.require("messages", &["id", "session_id", "role", "content_json", "created_timestamp"])?;
    let column = |name| database.or_null("sessions", name);
    // The order of the columns is what `session_of` reads.
    let sql = format!(
        "SELECT id, working_dir, {}, {}, {} AS session_type, {} AS created_at, {} FROM sessions ORDER BY created_at, id",
        column("name"),
        column("description"),
        column("session_type"),
        column("created_at"),
        column("model_config_json"),
    );
    let mut statement = database.statement(&sql)?;
    let mut rows = database.rows(&mut statement, &[])?;
    let mut number = 0;
    while let Some(row) = database.next(&mut rows)? {
        number += 1;
        let Some(id) = database::text(row, 0) else {
            sink.skip(number, "a session without an id");
            continue;
        };
        let is_editors = [2, 3].iter().any(|column| database::text(row, *column).as_deref() == Some(EDITORS));
        if database::text(row, 4).as_deref() == Some(HIDDEN) && !is_editors {
            sink.skip(number, "a session that was not to be kept; nothing of it is read");
            continue;
        }
        read_messages(database, session_of(row, id, origin), sink)?;
    }
    tell_orphans(database, sink)
}

fn session_of(row: &Row<'_>, id: String, origin: &str) -> Session {
    let origin = format!("{origin}#{id}");
    let mut session = Session::new(id, origin);
    let meta = session.meta();
    meta.project = database::text(row, 1);
    meta.title = database::text(row, 2).or_else(|| database::text(row, 3));
    meta.created_at = database::text(row, 5).and_then(|text| identity::instant(&Value::String(text)));
    let model = database::json::<Value>(row, 6).ok();
    meta.model = model.and_then(|(config, _)| turn::text(&config["model_name"]).map(str::to_owned));
    if database::text(row, 4).as_deref().is_some_and(is_programs) {
        session.author = Author::Program;
    }
    session
}

fn read_messages(database: &Database, mut session: Session, sink: &mut Sink<'_>) -> Result<(), IngestError> {
    // A conversation that was edited is written anew in its order, so the row tells more than the second does.
    let sql = format!(
        "SELECT id, {}, role, content_json, created_timestamp, {} FROM messages WHERE session_id = ?1 ORDER BY id",
        database.or_null("messages", "message_id"),
        database.or_null("messages", "metadata_json"),
    );
    let mut statement = database.statement(&sql)?;
    let mut rows = database.rows(&mut statement, &[&session.id.clone()])?;
    while let Some(row) = database.next(&mut rows)? {
        let (content, repaired) = match database::json::<Value>(row, 3) {
            Ok(read) => read,
            Err(reason) => {
                sink.skip(database::record_number(row, 0), format!("row of messages: {reason}"));
                continue;
            }
        };
        sink.repaired += usize::from(repaired);
        let role = database::text(row, 2).unwrap_or_default();
        let metadata = database::json::<Value>(row, 5).map_or(Value::Null, |(metadata, _)| metadata);
        let said = Said {
            id: database::text(row, 1),
            role: &role,
            content: &content,
            metadata: &metadata,
            time: database::json::<Value>(row, 4).ok().and_then(|(value, _)| turn::time(&value)),
        };
        session.add(&said, sink);
    }
    session.finish(sink);
    Ok(())
}

fn tell_orphans(database: &Database, sink: &mut Sink<'_>) -> Result<(), IngestError> {
    let sql = "SELECT min(id), count(*) FROM messages WHERE session_id IS NULL OR session_id NOT IN (SELECT id FROM sessions WHERE id IS NOT NULL)";
    let mut statement = database.statement(sql)?;
    let mut rows = database.rows(&mut statement, &[])?;
    if let Some(row) = database.next(&mut rows)?
        && let Some(count) = database::text(row, 1).filter(|count| count != "0")
    {
        sink.skip(database::record_number(row, 0), format!("{count} messages of sessions that are not listed"));
    }
    Ok(())
}
