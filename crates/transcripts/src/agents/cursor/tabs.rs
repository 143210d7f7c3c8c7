//! What older versions keep in `ItemTable`: chats in tabs, and conversations inside the list of all.

use serde_json::Value;

use super::bubble::messages_of;
use super::{NAME, Source, TABS_KEY, composer};
use crate::agents::turn;
use crate::{Assembler, IngestError, Sink, database, identity};
use crate::{Message, MessageTime, TimeSource};

const COMPOSERS_KEY: &str = "composer.composerData";

/// Reads the chats and conversations of the table.
pub(super) fn read_all(source: &Source, sink: &mut Sink<'_>) -> Result<(), IngestError> {
    let mut number = 0;
    for tab in value_of(source, TABS_KEY, sink)?["tabs"].as_array().into_iter().flatten() {
        number += 1;
        match turn::text(&tab["tabId"]) {
            Some(id) => read_tab(source, id, tab, sink),
            None => sink.skip(number, "a chat without an id"),
        }
    }
    for (place, one) in
        value_of(source, COMPOSERS_KEY, sink)?["allComposers"].as_array().into_iter().flatten().enumerate()
    {
        // Newer versions list them here and keep what was said in the other table.
        let Some(id) = turn::text(&one["composerId"]).filter(|_| one["conversation"].is_array()) else { continue };
        composer::read_one(source, id, one, place + 1, sink)?;
    }
    Ok(())
}

fn value_of(source: &Source, key: &str, sink: &mut Sink<'_>) -> Result<Value, IngestError> {
    let mut statement = source.database.statement("SELECT rowid, value FROM ItemTable WHERE key = ?1")?;
    let mut rows = source.database.rows(&mut statement, &[&key])?;
    let Some(row) = source.database.next(&mut rows)? else { return Ok(Value::Null) };
    Ok(match database::json::<Value>(row, 1) {
        Ok((value, _)) => value,
        Err(reason) => {
            sink.skip(database::record_number(row, 0), format!("row of ItemTable: {reason}"));
            Value::Null
        }
    })
}

fn read_tab(source: &Source, id: &str, tab: &Value, sink: &mut Sink<'_>) {
    let mut draft = Assembler::new(NAME, id, format!("{}#{id}", source.origin));
    draft.meta().title = turn::text(&tab["chatTitle"]).map(str::to_owned);
    draft.meta().project.clone_from(&source.project);
    // The tab says when the last message was sent, and the messages say nothing.
    let sent = identity::instant(&tab["lastSendTime"])
        .map(|at| MessageTime { source: TimeSource::Derived, ..MessageTime::logged(at) });
    for bubble in tab["bubbles"].as_array().into_iter().flatten() {
        let header = match bubble["type"].as_str() {
            Some("user") => serde_json::json!({"type": 1}),
            Some("ai") => serde_json::json!({"type": 2}),
            Some(_) | None => Value::Null,
        };
        let model = turn::text(&bubble["modelType"]).map(str::to_owned);
        draft.meta().model = draft.meta().model.take().or(model);
        let id = turn::text(&bubble["id"]).unwrap_or_default();
        for message in messages_of(bubble, &header, &Value::Null) {
            draft.push(Message { id: id.to_owned(), time: sent, ..message }, sink);
        }
    }
    draft.finish(sink);
}
