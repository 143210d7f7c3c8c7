//! Cursor's `state.vscdb`: the conversations of all projects in one key-value table.
//!
//! A conversation, which Cursor calls a composer, is a row that lists its messages, called bubbles, each of which has
//! its own row. Older versions store the bubbles inside the composer, and the oldest versions store chats in tabs, in
//! another table.

use std::collections::HashSet;

use jiff::Timestamp;
use serde_json::Value;

use crate::agents::turn::{self, answer, call, user_words};
use crate::json::Json;
use crate::message::identity;
use crate::message::parts::{file_label, without_data};
use crate::reading::database::{self, Database};
use crate::{Assembler, Head, IngestError, Ingestor, Input, Kind, Message, MessageTime, Role, Sink, folder_path};

/// Name of the format, stored with each transcript.
const NAME: &str = "cursor";
/// The key under which the oldest versions store all chats.
const TABS_KEY: &str = "workbench.panel.aichat.view.aichat.chatdata";

/// Reads Cursor's conversations.
pub(crate) struct Cursor;

impl Ingestor for Cursor {
    named!(NAME);

    fn sniff(&self, head: &Head<'_>) -> bool {
        let has = |name: &str| head.tables.iter().any(|table| table == name);
        has("cursorDiskKV") || has("ItemTable") && head.text.contains(TABS_KEY)
    }

    fn read(&self, input: Input, sink: &mut Sink<'_>) -> Result<(), IngestError> {
        let database = database::required(&input)?;
        let source = Source {
            origin: input.path.display().to_string(),
            project: input.sibling_json("workspace.json").first_text(&["folder", "workspace"]).map(folder_path),
            has_table: !database.columns("cursorDiskKV").is_empty(),
            database,
        };
        if source.has_table {
            source.database.require("cursorDiskKV", &["key", "value"])?;
            read_composers(&source, sink)?;
        }
        if !source.has_table || !source.database.columns("ItemTable").is_empty() {
            source.database.require("ItemTable", &["key", "value"])?;
            read_tabs(&source, sink)?;
        }
        Ok(())
    }
}

/// The database, and the information that applies to all its conversations.
struct Source {
    database: Database,
    origin: String,
    /// The folder of the workspace, if the database belongs to one; `None` for the database of all workspaces.
    project: Option<String>,
    has_table: bool,
}

// A conversation and its bubbles, in the table `cursorDiskKV`.

/// Prefix of the id in the key of a conversation.
const COMPOSER_KEY: &str = "composerData:";

/// Reads all conversations in the table.
fn read_composers(source: &Source, sink: &mut Sink<'_>) -> Result<(), IngestError> {
    // The upper bound of the key range is the character after the colon, so that the index is used and no other values
    // are read.
    let sql = "SELECT rowid, key, value FROM cursorDiskKV WHERE key >= 'composerData:' AND key < 'composerData;' ORDER BY key";
    let mut known = HashSet::new();
    source.database.each(sql, &[], |row| {
        let key = database::text(row, 1).unwrap_or_default();
        let id = key.strip_prefix(COMPOSER_KEY).unwrap_or_default().to_owned();
        if let Some(composer) = database::parsed(row, 2, "conversation", sink) {
            read_one(source, &id, &composer, database::record_number(row, 0), sink)?;
        }
        known.insert(id);
        Ok(())
    })?;
    report_orphans(source, &known, sink)
}

/// Reads one conversation; `number` is the number of its row.
fn read_one(
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
    // Newer versions list the bubbles and store each in a row; older versions store the bubbles inside the
    // conversation.
    match (listed, inside) {
        (Some(headers), _) => {
            for header in headers {
                let bubble_id = header["bubbleId"].string();
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
        sink.skip(number, format!("{missing} messages listed in the conversation do not exist"));
    }
    conversation.draft.finish(sink);
    Ok(())
}

/// Returns the information about a conversation from the table of newer versions.
fn header_of(source: &Source, id: &str) -> Result<Value, IngestError> {
    let mut header = Value::Null;
    let columns = source.database.columns("composerHeaders");
    if ["composerId", "value"].iter().all(|name| columns.iter().any(|column| column == name)) {
        let column = source.database.or_null("composerHeaders", &["isSubagent"]);
        let sql = format!("SELECT value, {column} FROM composerHeaders WHERE composerId = ?1 LIMIT 1");
        source.database.each(&sql, &[&id], |row| {
            header = database::value(row, 0);
            if let Some(fields) = header.as_object_mut() {
                fields.insert("isSubagent".to_owned(), (database::text(row, 1).as_deref() == Some("1")).into());
            }
            Ok(())
        })?;
    }
    Ok(header)
}

/// Returns the bubble that is stored in a separate row; an unreadable row is reported.
fn bubble_in_row(
    source: &Source,
    id: &str,
    bubble_id: &str,
    sink: &mut Sink<'_>,
) -> Result<Option<Value>, IngestError> {
    let mut bubble = None;
    let sql = "SELECT rowid, value FROM cursorDiskKV WHERE key = ?1 LIMIT 1";
    source.database.each(sql, &[&format!("bubbleId:{id}:{bubble_id}")], |row| {
        // An unreadable row has already been reported; it becomes an empty bubble, so that it is not also counted as
        // missing.
        bubble = Some(database::parsed(row, 1, "message", sink).unwrap_or_default());
        Ok(())
    })?;
    Ok(bubble)
}

/// Reads the bubbles of a conversation that lists none, in the order in which they were written.
fn read_unlisted(
    source: &Source,
    id: &str,
    conversation: &mut Conversation,
    sink: &mut Sink<'_>,
) -> Result<(), IngestError> {
    let sql = "SELECT rowid, value FROM cursorDiskKV WHERE key >= ?1 AND key < ?2 ORDER BY rowid";
    source.database.each(sql, &[&format!("bubbleId:{id}:"), &format!("bubbleId:{id};")], |row| {
        let bubble = database::parsed(row, 1, "message", sink).unwrap_or_default();
        conversation.take(&bubble, &Value::Null, sink);
        Ok(())
    })
}

/// Reports the number of bubbles of deleted conversations.
fn report_orphans(source: &Source, known: &HashSet<String>, sink: &mut Sink<'_>) -> Result<(), IngestError> {
    let sql = "SELECT rowid, key FROM cursorDiskKV WHERE key >= 'bubbleId:' AND key < 'bubbleId;' ORDER BY key";
    let (mut count, mut first) = (0_usize, 0);
    source.database.each(sql, &[], |row| {
        let key = database::text(row, 1).unwrap_or_default();
        if !key.split(':').nth(1).is_some_and(|id| known.contains(id)) {
            first = if count == 0 { database::record_number(row, 0) } else { first };
            count += 1;
        }
        Ok(())
    })?;
    if count > 0 {
        sink.skip(first, format!("{count} messages whose conversation does not exist"));
    }
    Ok(())
}

/// The state of one conversation while it is being read.
struct Conversation {
    draft: Assembler,
    is_sub_agents: bool,
    /// The calls that older versions store in the conversation, by bubble.
    tools: Value,
}

impl Conversation {
    fn new(source: &Source, id: &str, composer: &Value, header: &Value) -> Self {
        let spawned = &composer["subagentInfo"];
        let parent = spawned["parentComposerId"].text();
        let identity = parent.map_or_else(|| id.to_owned(), |parent| format!("{parent}/{id}"));
        let mut draft = Assembler::new(NAME, identity, format!("{}#{id}", source.origin));
        let title = composer["name"].text().or_else(|| header["name"].text());
        // Older versions do not store the workspace in the conversation.
        let folder = [composer, header].into_iter().find_map(|one| {
            let uri = &one["workspaceIdentifier"]["uri"];
            uri["fsPath"].text().or_else(|| uri["path"].text()).map(str::to_owned)
        });
        let meta = draft.meta();
        meta.title = title.map(str::to_owned);
        meta.project = folder.or_else(|| source.project.clone());
        meta.model = model(&composer["modelConfig"]);
        draft.start_at(identity::instant(&composer["createdAt"]).map(MessageTime::logged));
        let is_sub_agents = parent.is_some() || spawned.is_object() || header["isSubagent"] == true;
        Self { draft, is_sub_agents, tools: tools_of(composer) }
    }

    fn take(&mut self, bubble: &Value, header: &Value, sink: &mut Sink<'_>) {
        let id = bubble["bubbleId"].text().or_else(|| header["bubbleId"].text()).unwrap_or_default();
        let meta = self.draft.meta();
        meta.model = meta.model.take().or_else(|| model(&bubble["modelInfo"]));
        if meta.project.is_none() {
            meta.project = bubble["workspaceUris"].as_array().and_then(|all| all.first()?.text()).map(folder_path);
        }
        let time = self.draft.next_time(time_of(bubble));
        let mut messages = messages_of(bubble, header, &self.tools[id]);
        if self.is_sub_agents {
            turn::of_sub_agent(&mut messages);
        }
        self.draft.push_all(id, time, messages, sink);
    }
}

/// Returns the model in `value`; the placeholder of the model picker does not count.
fn model(value: &Value) -> Option<String> {
    value["modelName"].text().filter(|name| *name != "default").map(str::to_owned)
}

/// Returns the calls that the first versions store next to the bubbles, in an object or in JSON inside a string.
fn tools_of(composer: &Value) -> Value {
    let maps = composer["capabilities"].list().iter().map(|one| &one["data"]["bubbleDataMap"]);
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

// One bubble of a conversation: a prompt that the user typed, or one step of the assistant.

/// An earlier time, from before Cursor existed, is a duration since the start of the program.
const EARLIEST: Timestamp = Timestamp::constant(1_577_836_800, 0);

/// Returns the messages in a bubble. `header` is its entry in the list of the conversation, and `tool` the call that
/// older versions store separately; either may be null.
fn messages_of(bubble: &Value, header: &Value, tool: &Value) -> Vec<Message> {
    let kind = bubble["type"].as_i64().or_else(|| header["type"].as_i64());
    let mut messages = match kind {
        Some(1) => user(bubble),
        Some(2) => assistant(bubble, tool),
        _ => bubble["text"]
            .text()
            .map(|words| Message::new(Role::Other, Kind::Context, words))
            .into_iter()
            .collect::<Vec<_>>(),
    };
    // Cursor never displayed such a bubble.
    if header["grouping"]["isRenderable"] == false {
        for message in messages.iter_mut().filter(|message| message.kind == Kind::Prose) {
            (message.role, message.kind) = (Role::System, Kind::Context);
        }
    }
    messages
}

fn user(bubble: &Value) -> Vec<Message> {
    let mut messages = bubble["text"].text().or_else(|| bubble["rawText"].text()).map(user_words).unwrap_or_default();
    let images = [&bubble["images"], &bubble["context"]["selectedImages"]];
    for image in images.into_iter().filter_map(Value::as_array).flatten() {
        let path = image.first_text(&["path", "filename", "name"]);
        let name = path.map(turn::file_name);
        messages.push(Message::new(Role::User, Kind::Attachment, file_label("image", name)));
    }
    messages
}

fn assistant(bubble: &Value, tool: &Value) -> Vec<Message> {
    let thinking = bubble["thinking"]["text"].text().or_else(|| bubble["thinking"].text());
    let reasoning = thinking.map(Message::reasoning);
    let words = bubble["text"].text().or_else(|| bubble["rawText"].text());
    let spoken = words.map(|words| Message::assistant(without_data(words)));
    let data = if bubble["toolFormerData"].is_object() { &bubble["toolFormerData"] } else { tool };
    let used = if data.is_object() { tool_messages(data) } else { Vec::new() };
    reasoning.into_iter().chain(spoken).chain(used).collect()
}

fn tool_messages(data: &Value) -> Vec<Message> {
    let arguments = [&data["params"], &data["rawArgs"]].into_iter().find(|value| value.text().is_some());
    let id = data["toolCallId"].text();
    let mut messages = vec![call(data["name"].string(), arguments.unwrap_or(&Value::Null)).called(id)];
    let failed = data["status"].text().filter(|status| matches!(*status, "error" | "cancelled" | "rejected"));
    let pieces = data["result"].text().map(result_text).or_else(|| data["error"].owned());
    if let Some(pieces) = pieces.or_else(|| failed.map(str::to_owned)) {
        messages.push(answer(&pieces).ending(id, Some(failed.is_some())));
    }
    messages
}

/// Returns the output inside a result, which is a string or an object in JSON.
fn result_text(result: &str) -> String {
    let parsed = crate::json::parse::<Value>(result).map_or(Value::Null, |(value, _)| value);
    let output = parsed.first_text(&["output", "contents", "result"]);
    output.unwrap_or(result).to_owned()
}

/// Returns the time of a bubble: a date in newer versions, a number of milliseconds in older versions.
fn time_of(bubble: &Value) -> Option<MessageTime> {
    let timing = &bubble["timingInfo"];
    let counts = ["clientRpcSendTime", "clientSettleTime", "clientEndTime", "clientStartTime"];
    [&bubble["createdAt"]]
        .into_iter()
        .chain(counts.iter().map(|key| &timing[*key]))
        .filter_map(identity::stamp)
        .find(|time| time.at > EARLIEST)
}

// Older versions, which use the table `ItemTable`: chats in tabs, and conversations inside the list of all
// conversations.

const COMPOSERS_KEY: &str = "composer.composerData";

/// Reads the chats and conversations of the table.
fn read_tabs(source: &Source, sink: &mut Sink<'_>) -> Result<(), IngestError> {
    let mut number = 0;
    for tab in value_of(source, TABS_KEY, sink)?["tabs"].list() {
        number += 1;
        match tab["tabId"].text() {
            Some(id) => read_tab(source, id, tab, sink),
            None => sink.skip(number, "a chat without an id"),
        }
    }
    for (place, one) in value_of(source, COMPOSERS_KEY, sink)?["allComposers"].list().iter().enumerate() {
        // Newer versions list conversations here and store their messages in the other table.
        let Some(id) = one["composerId"].text().filter(|_| one["conversation"].is_array()) else { continue };
        read_one(source, id, one, place + 1, sink)?;
    }
    Ok(())
}

fn value_of(source: &Source, key: &str, sink: &mut Sink<'_>) -> Result<Value, IngestError> {
    let mut value = Value::Null;
    source.database.each("SELECT rowid, value FROM ItemTable WHERE key = ?1 LIMIT 1", &[&key], |row| {
        value = database::parsed(row, 1, "row of ItemTable", sink).unwrap_or_default();
        Ok(())
    })?;
    Ok(value)
}

fn read_tab(source: &Source, id: &str, tab: &Value, sink: &mut Sink<'_>) {
    let mut draft = Assembler::new(NAME, id, format!("{}#{id}", source.origin));
    draft.meta().title = tab["chatTitle"].owned();
    draft.meta().project.clone_from(&source.project);
    // The tab contains the time of the last message; the messages have no times.
    let sent = identity::instant(&tab["lastSendTime"]).map(|at| MessageTime::logged(at).derived());
    for bubble in tab["bubbles"].list() {
        // Tabs give the speaker as a word, composers as a number.
        let header = match bubble["type"].as_str() {
            Some("user") => serde_json::json!({"type": 1}),
            Some("ai") => serde_json::json!({"type": 2}),
            Some(_) | None => Value::Null,
        };
        let model = bubble["modelType"].owned();
        draft.meta().model = draft.meta().model.take().or(model);
        let id = bubble["id"].text().unwrap_or_default();
        draft.push_all(id, sent, messages_of(bubble, &header, &Value::Null), sink);
    }
    draft.finish(sink);
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::Skipped;
    use crate::{Message, TimeSource, Transcript};

    /// A database in a temporary folder.
    struct Sample {
        folder: tempfile::TempDir,
    }

    impl Sample {
        fn new(script: &str) -> Self {
            let folder = tempfile::tempdir().unwrap();
            let connection = rusqlite::Connection::open(folder.path().join("state.vscdb")).unwrap();
            connection.execute_batch(script).unwrap();
            Self { folder }
        }

        /// A database with `rows` of keys and values.
        fn of(rows: &[(&str, Value)]) -> Self {
            let sample = Self::new("CREATE TABLE cursorDiskKV (key TEXT UNIQUE ON CONFLICT REPLACE, value BLOB);");
            let connection = rusqlite::Connection::open(sample.folder.path().join("state.vscdb")).unwrap();
            for (key, value) in rows {
                let value = if value.is_null() { None } else { Some(value.to_string()) };
                connection.execute("INSERT INTO cursorDiskKV VALUES (?1, ?2)", (key, value)).unwrap();
            }
            sample
        }

        fn read(&self) -> (Vec<Transcript>, Vec<Skipped>) {
            let mut seen = Vec::new();
            let mut accept = |transcript| seen.push(transcript);
            let mut sink = Sink::new(&mut accept);
            let input = crate::open(&self.folder.path().join("state.vscdb")).unwrap();
            assert!(Cursor.sniff(&Head::of(&input)));
            Cursor.read(input, &mut sink).unwrap();
            let skipped = std::mem::take(&mut sink.skipped);
            (seen, skipped)
        }
    }

    fn shown(messages: &[Message]) -> Vec<String> {
        messages.iter().map(|message| format!("{:?} {:?}: {}", message.role, message.kind, message.text)).collect()
    }

    #[test]
    fn each_bubble_has_its_kind() {
        let pieces = |bubble: Value, header: Value| shown(&super::messages_of(&bubble, &header, &Value::Null));
        let user = json!({"type": 1, "text": "use tabs", "images": [{"path": "/tmp/plan.png", "data": "AAAA"}]});
        assert_eq!(pieces(user, Value::Null), ["User Prose: use tabs", "User Attachment: [image: plan.png]"]);
        let tool = json!({"type": 2, "capabilityType": 15, "toolFormerData": {"name": "read_file_v2", "params": "{\"targetFile\":\"src/a.rs\"}", "status": "completed", "result": "{\"contents\":\"fn a() {}\"}"}});
        assert_eq!(
            pieces(tool, Value::Null),
            ["Assistant ToolCall: read_file_v2 src/a.rs", "Tool ToolResult: fn a() {}"]
        );
        let refused = json!({"type": 2, "toolFormerData": {"name": "run_terminal_cmd", "rawArgs": "{\"command\":\"rm x\"}", "status": "rejected"}});
        assert_eq!(
            pieces(refused, Value::Null),
            ["Assistant ToolCall: run_terminal_cmd rm x", "Tool ToolResult: rejected"]
        );
        let thought = json!({"type": 2, "text": "", "thinking": {"text": "hm", "signature": "s"}});
        assert_eq!(pieces(thought, Value::Null), ["Assistant Reasoning: hm"]);
        let unseen = json!({"type": 1, "text": "continue"});
        assert_eq!(pieces(unseen, json!({"grouping": {"isRenderable": false}})), ["System Context: continue"]);
        assert_eq!(pieces(json!({"text": "?"}), Value::Null), ["Other Context: ?"]);
        assert_eq!(pieces(json!({"text": "by the header"}), json!({"type": 2})), ["Assistant Prose: by the header"]);
        assert_eq!(pieces(Value::Null, Value::Null), Vec::<String>::new());
    }

    #[test]
    fn times_come_in_both_forms_and_counts_since_the_start_are_none() {
        let at = |bubble: Value| super::time_of(&bubble).map(|time| time.at.to_string());
        assert_eq!(at(json!({"createdAt": "2026-03-02T09:00:10.500Z"})).as_deref(), Some("2026-03-02T09:00:10.5Z"));
        assert_eq!(
            at(json!({"timingInfo": {"clientStartTime": 8123.4, "clientEndTime": 1_772_442_010_500.25}})).as_deref(),
            Some("2026-03-02T09:00:10.5Z")
        );
        assert_eq!(at(json!({"timingInfo": {"clientStartTime": 8123.4}})), None);
    }

    #[test]
    fn a_conversation_is_read_in_its_listed_order_and_what_is_missing_is_reported() {
        let listed = json!({"createdAt": 1_772_442_000_000_i64, "name": "Loom", "modelConfig": {"modelName": "default"},
        "workspaceIdentifier": {"id": "w", "uri": {"fsPath": "/home/eli/loom"}},
        "fullConversationHeadersOnly": [{"bubbleId": "b2", "type": 1}, {"bubbleId": "b1", "type": 2}, {"bubbleId": "b0", "type": 1}, {"bubbleId": "b3", "type": 2}]});
        let (seen, skipped) = Sample::of(&[
            ("bubbleId:c1:b1", json!({"text": "second", "modelInfo": {"modelName": "gpt-5"}})),
            ("bubbleId:c1:b2", json!({"text": "first"})),
            ("bubbleId:c1:b3", Value::Null),
            ("bubbleId:gone:b1", json!({"text": "lost"})),
            ("checkpointId:c1:x", json!({"text": "not read"})),
            ("composerData:c1", listed),
            ("composerData:c2", Value::Null),
            ("composerData:c3", json!({})),
        ])
        .read();
        assert_eq!(shown(&seen[0].messages), ["User Prose: first", "Assistant Prose: second"]);
        let known = (seen[0].external_id.as_str(), seen[0].project.as_deref(), seen[0].model.as_deref());
        assert_eq!(known, ("c1", Some("/home/eli/loom"), Some("gpt-5")));
        let time = seen[0].messages[0].time.unwrap();
        assert_eq!((time.at, time.source), ("2026-03-02T09:00:00Z".parse().unwrap(), TimeSource::Derived));
        let mut reasons: Vec<_> = skipped.iter().map(|skipped| skipped.reason.as_str()).collect();
        reasons.sort_unstable();
        assert_eq!(
            (seen.len(), reasons),
            (
                1,
                vec![
                    "1 messages listed in the conversation do not exist",
                    "1 messages whose conversation does not exist",
                    "conversation: a row without a value",
                    "message: a row without a value"
                ]
            )
        );
    }

    #[test]
    fn older_conversations_hold_their_bubbles_and_calls() {
        let calls = json!({"b2": {"name": "grep", "params": "{\"query\":\"warp\"}", "result": "3 hits"}});
        let older = json!({"conversation": [{"bubbleId": "b1", "type": 1, "text": "find warp"}, {"bubbleId": "b2", "type": 2, "text": ""}],
        "capabilities": [{"type": 15, "data": {"bubbleDataMap": calls.to_string()}}]});
        let (seen, skipped) = Sample::of(&[("composerData:c1", older)]).read();
        assert_eq!(
            shown(&seen[0].messages),
            ["User Prose: find warp", "Assistant ToolCall: grep warp", "Tool ToolResult: 3 hits"]
        );
        assert_eq!(skipped, []);
    }

    #[test]
    fn answers_to_the_agents_questions_are_the_users() {
        let params = json!({"title": "Setup", "questions": [
            {"id": "db", "prompt": "Which database?", "options": [{"id": "a", "label": "SQLite"}], "allowMultiple": false},
            {"id": "when", "prompt": "Deploy when?", "options": [{"id": "a", "label": "Now"}]}]});
        let said = |answers: Value, status: &str| {
            let result = json!({"answers": answers}).to_string();
            let tool = json!({"name": "ask_question", "toolCallId": "t", "status": "completed", "params": params.to_string(),
                "result": result, "additionalData": {"status": status}});
            let bubble = json!({"bubbleId": "b1", "type": 2, "text": "", "toolFormerData": tool});
            let (seen, _) = Sample::of(&[("composerData:c1", json!({"conversation": [bubble]}))]).read();
            shown(&seen[0].messages).split_off(2)
        };
        let answers = json!([
            {"questionId": "db", "selectedOptionIds": ["a"], "freeformText": ""},
            {"questionId": "when", "selectedOptionIds": ["__freeform_other__"], "freeformText": "on Monday"}]);
        assert_eq!(
            said(answers, "submitted"),
            [
                "Assistant Prose: Which database?\n- SQLite",
                "User Prose: SQLite",
                "Assistant Prose: Deploy when?\n- Now",
                "User Prose: on Monday",
            ]
        );
        assert_eq!(said(json!([]), "cancelled"), Vec::<String>::new());
    }

    #[test]
    fn a_sub_agents_conversation_has_no_person_in_it() {
        let spawned =
            json!({"subagentInfo": {"parentComposerId": "c0"}, "conversation": [{"type": 1, "text": "look"}]});
        let (seen, _) = Sample::of(&[("composerData:c1", spawned)]).read();
        assert_eq!(
            (seen[0].external_id.as_str(), shown(&seen[0].messages)),
            ("c0/c1", vec!["Other Prose: look".to_owned()])
        );
    }

    #[test]
    fn the_oldest_chats_stand_in_tabs_of_a_workspace() {
        let tabs = json!({"tabs": [{"tabId": "t1", "chatTitle": "Warp", "lastSendTime": 1_700_000_000_000_i64,
        "bubbles": [{"type": "user", "id": "u", "text": "hi"}, {"type": "ai", "id": "a", "rawText": "hello", "modelType": "gpt-4"}]}, {}]});
        let inline = json!({"allComposers": [{"composerId": "c1"}, {"composerId": "c2", "conversation": [{"type": 1, "text": "and weft"}]}]});
        let sample = Sample::new(&format!(
        "CREATE TABLE ItemTable (key TEXT UNIQUE, value BLOB);
         INSERT INTO ItemTable VALUES ('{TABS_KEY}', CAST('{tabs}' AS BLOB)), ('composer.composerData', '{inline}'), ('other', NULL);"
    ));
        std::fs::write(sample.folder.path().join("workspace.json"), r#"{"folder":"file:///home/eli/my%20loom"}"#)
            .unwrap();
        let (seen, skipped) = sample.read();
        assert_eq!(shown(&seen[0].messages), ["User Prose: hi", "Assistant Prose: hello"]);
        assert_eq!((seen[0].project.as_deref(), seen[0].model.as_deref()), (Some("/home/eli/my loom"), Some("gpt-4")));
        assert_eq!(seen[0].messages[0].time.unwrap().source, TimeSource::Derived);
        assert_eq!(shown(&seen[1].messages), ["User Prose: and weft"]);
        assert_eq!(skipped, [Skipped { record: 2, reason: "a chat without an id".to_owned() }]);
    }

    #[test]
    fn another_layout_and_another_file_are_errors() {
        let outcome = |path: &std::path::Path| {
            let mut ignore = |_| {};
            Cursor.read(crate::open(path).unwrap(), &mut Sink::new(&mut ignore)).unwrap_err().to_string()
        };
        let sample = Sample::new("CREATE TABLE cursorDiskKV (name, value);");
        assert!(outcome(&sample.folder.path().join("state.vscdb")).contains("cursorDiskKV has no column key"));
        let sample = Sample::new("CREATE TABLE notes (key, value);");
        assert!(outcome(&sample.folder.path().join("state.vscdb")).contains("no table ItemTable"));
        let path = sample.folder.path().join("x.json");
        std::fs::write(&path, "{}").unwrap();
        assert!(outcome(&path).contains("not a SQLite database"));
    }
}
