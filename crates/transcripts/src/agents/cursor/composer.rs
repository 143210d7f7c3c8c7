//! A conversation and its bubbles, in the table `cursorDiskKV`.

use std::collections::HashSet;

use serde_json::Value;

use super::bubble::{messages_of, time_of};
use super::{NAME, Source};
use crate::agents::turn;
use crate::{Assembler, IngestError, Sink, database, identity};
use crate::{Message, MessageTime, TimeSource};

/// What stands before the id in the key of a conversation.
const COMPOSER_KEY: &str = "composerData:";

/// Reads each conversation of the table.
pub(super) fn read_all(source: &Source, sink: &mut Sink<'_>) -> Result<(), IngestError> {
    // The character after the colon ends the range of keys, so that the index is used and no other value is touched.
    let sql = "SELECT rowid, key, value FROM cursorDiskKV WHERE key >= 'composerData:' AND key < 'composerData;' ORDER BY key";
    let mut statement = source.database.statement(sql)?;
    let mut rows = source.database.rows(&mut statement, &[])?;
    let mut known = HashSet::new();
    while let Some(row) = source.database.next(&mut rows)? {
        let number = database::record_number(row, 0);
        let key = database::text(row, 1).unwrap_or_default();
        let id = key.strip_prefix(COMPOSER_KEY).unwrap_or_default().to_owned();
        match database::json::<Value>(row, 2) {
            Ok((composer, repaired)) => {
                sink.repaired += usize::from(repaired);
                read_one(source, &id, &composer, number, sink)?;
            }
            Err(reason) => sink.skip(number, format!("conversation: {reason}")),
        }
        known.insert(id);
    }
    tell_orphans(source, &known, sink)
}

/// Reads one conversation; `number` is its row.
pub(super) fn read_one(
    source: &Source,
    id: &str,
    composer: &Value,
    number: usize,
    sink: &mut Sink<'_>,
) -> Result<(), IngestError> {
    let header = header_of(source, id)?;
    let mut conversation = Conversation::new(source, id, composer, &header);
    let listed = composer["fullConversationHeadersOnly"].as_array().filter(|headers| !headers.is_empty());
    let inside = composer["conversation"].as_array().filter(|bubbles| !bubbles.is_empty());
    let mut missing = 0;
    match (listed, inside) {
        (Some(headers), _) => {
            for header in headers {
                let bubble_id = header["bubbleId"].as_str().unwrap_or_default();
                let kept = &composer["conversationMap"][bubble_id];
                match bubble_in_row(source, id, bubble_id, sink)? {
                    Some(bubble) => conversation.take(&bubble, header, sink),
                    None if kept.is_object() => conversation.take(kept, header, sink),
                    None => missing += 1,
                }
            }
        }
        (None, Some(bubbles)) => {
            for bubble in bubbles {
                conversation.take(bubble, &Value::Null, sink);
            }
        }
        (None, None) if source.has_table => read_unlisted(source, id, &mut conversation, sink)?,
        (None, None) => {}
    }
    if missing > 0 {
        sink.skip(number, format!("{missing} messages that the conversation lists are not there"));
    }
    conversation.draft.finish(sink);
    Ok(())
}

/// Returns what the table of newer versions says of a conversation.
fn header_of(source: &Source, id: &str) -> Result<Value, IngestError> {
    let columns = source.database.columns("composerHeaders");
    let has = |name: &str| columns.iter().any(|column| column == name);
    if !has("composerId") || !has("value") {
        return Ok(Value::Null);
    }
    let sql = format!(
        "SELECT value, {} FROM composerHeaders WHERE composerId = ?1",
        if has("isSubagent") { "isSubagent" } else { "NULL" }
    );
    let mut statement = source.database.prepare_cached(&sql).map_err(|error| source.database.error(error))?;
    let mut rows = source.database.rows(&mut statement, &[&id])?;
    let Some(row) = source.database.next(&mut rows)? else { return Ok(Value::Null) };
    let mut header = database::json::<Value>(row, 0).map_or(Value::Null, |(header, _)| header);
    if let Some(fields) = header.as_object_mut() {
        fields.insert("isSubagent".to_owned(), (database::text(row, 1).as_deref() == Some("1")).into());
    }
    Ok(header)
}

/// Returns the bubble in its row; what stands there and cannot be read is told.
fn bubble_in_row(
    source: &Source,
    id: &str,
    bubble_id: &str,
    sink: &mut Sink<'_>,
) -> Result<Option<Value>, IngestError> {
    let sql = "SELECT rowid, value FROM cursorDiskKV WHERE key = ?1";
    let mut statement = source.database.prepare_cached(sql).map_err(|error| source.database.error(error))?;
    let mut rows = source.database.rows(&mut statement, &[&format!("bubbleId:{id}:{bubble_id}")])?;
    let Some(row) = source.database.next(&mut rows)? else { return Ok(None) };
    Ok(Some(parsed(row, 1, sink)))
}

/// Reads the bubbles of a conversation that lists none, in the order in which they were written.
fn read_unlisted(
    source: &Source,
    id: &str,
    conversation: &mut Conversation,
    sink: &mut Sink<'_>,
) -> Result<(), IngestError> {
    let sql = "SELECT rowid, value FROM cursorDiskKV WHERE key >= ?1 AND key < ?2 ORDER BY rowid";
    let mut statement = source.database.statement(sql)?;
    let mut rows = source.database.rows(&mut statement, &[&format!("bubbleId:{id}:"), &format!("bubbleId:{id};")])?;
    while let Some(row) = source.database.next(&mut rows)? {
        conversation.take(&parsed(row, 1, sink), &Value::Null, sink);
    }
    Ok(())
}

fn parsed(row: &rusqlite::Row<'_>, column: usize, sink: &mut Sink<'_>) -> Value {
    match database::json::<Value>(row, column) {
        Ok((bubble, repaired)) => {
            sink.repaired += usize::from(repaired);
            bubble
        }
        Err(reason) => {
            sink.skip(database::record_number(row, 0), format!("message: {reason}"));
            Value::Null
        }
    }
}

/// Tells how many bubbles belong to conversations that were deleted.
fn tell_orphans(source: &Source, known: &HashSet<String>, sink: &mut Sink<'_>) -> Result<(), IngestError> {
    let sql = "SELECT rowid, key FROM cursorDiskKV WHERE key >= 'bubbleId:' AND key < 'bubbleId;' ORDER BY key";
    let mut statement = source.database.statement(sql)?;
    let mut rows = source.database.rows(&mut statement, &[])?;
    let (mut count, mut first) = (0_usize, 0);
    while let Some(row) = source.database.next(&mut rows)? {
        let key = database::text(row, 1).unwrap_or_default();
        if !key.split(':').nth(1).is_some_and(|id| known.contains(id)) {
            first = if count == 0 { database::record_number(row, 0) } else { first };
            count += 1;
        }
    }
    if count > 0 {
        sink.skip(first, format!("{count} messages whose conversation is not there"));
    }
    Ok(())
}

/// One conversation while it is read.
struct Conversation {
    draft: Assembler,
    is_sub_agents: bool,
    /// The calls that older versions keep in the conversation, by bubble.
    tools: Value,
    /// When the last message was written, or else the conversation was begun.
    before: Option<MessageTime>,
}

impl Conversation {
    fn new(source: &Source, id: &str, composer: &Value, header: &Value) -> Self {
        let spawned = &composer["subagentInfo"];
        let parent = turn::text(&spawned["parentComposerId"]);
        let identity = parent.map_or_else(|| id.to_owned(), |parent| format!("{parent}/{id}"));
        let mut draft = Assembler::new(NAME, identity, format!("{}#{id}", source.origin));
        let title = turn::text(&composer["name"]).or_else(|| turn::text(&header["name"]));
        let folder = [composer, header].into_iter().find_map(|one| {
            let uri = &one["workspaceIdentifier"]["uri"];
            turn::text(&uri["fsPath"]).or_else(|| turn::text(&uri["path"])).map(str::to_owned)
        });
        let meta = draft.meta();
        meta.title = title.map(str::to_owned);
        meta.project = folder.or_else(|| source.project.clone());
        meta.model = model(&composer["modelConfig"]);
        meta.created_at = identity::instant(&composer["createdAt"]);
        let before = meta.created_at.map(MessageTime::logged);
        let is_sub_agents = parent.is_some() || spawned.is_object() || header["isSubagent"] == true;
        Self { draft, is_sub_agents, tools: tools_of(composer), before }
    }

    fn take(&mut self, bubble: &Value, header: &Value, sink: &mut Sink<'_>) {
        let id = turn::text(&bubble["bubbleId"]).or_else(|| turn::text(&header["bubbleId"])).unwrap_or_default();
        let meta = self.draft.meta();
        meta.model = meta.model.take().or_else(|| model(&bubble["modelInfo"]));
        if meta.project.is_none() {
            meta.project =
                bubble["workspaceUris"].as_array().and_then(|all| turn::text(all.first()?)).map(turn::folder_path);
        }
        let own = time_of(bubble);
        let derived = self.before.map(|time| MessageTime { source: TimeSource::Derived, ..time });
        self.before = own.or(self.before);
        let mut messages = messages_of(bubble, header, &self.tools[id]);
        if self.is_sub_agents {
            turn::of_sub_agent(&mut messages);
        }
        for message in messages {
            self.draft.push(Message { id: id.to_owned(), time: own.or(derived), ..message }, sink);
        }
    }
}

/// Returns the model that `value` names; the placeholder of the picker is none.
fn model(value: &Value) -> Option<String> {
    turn::text(&value["modelName"]).filter(|name| *name != "default").map(str::to_owned)
}

/// Returns the calls that the first versions keep beside the bubbles, in an object or in JSON inside a string.
fn tools_of(composer: &Value) -> Value {
    let maps = composer["capabilities"].as_array().into_iter().flatten().map(|one| &one["data"]["bubbleDataMap"]);
    for map in maps {
        match map {
            Value::Object(calls) if !calls.is_empty() => return map.clone(),
            Value::String(text) => {
                if let Ok((calls @ Value::Object(_), _)) = crate::json::parse::<Value>(text)
                    && calls.as_object().is_some_and(|calls| !calls.is_empty())
                {
                    return calls;
                }
            }
            _ => {}
        }
    }
    Value::Null
}
