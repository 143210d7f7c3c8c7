//! opencode sessions: `opencode.db`, the folder `storage` of earlier versions, and the output of `opencode export`. All
//! have the same three layers: sessions, messages, and parts of messages.

use std::collections::HashSet;

use rusqlite::Row;
use serde_json::{Value, json};

use crate::agents::turn::{self, answer, call, user_words};
use crate::json::Json;
use crate::message::action;
use crate::message::identity;
use crate::message::parts::{address_name, file_label, without_data};
use crate::reading::database::{self, Database};
use crate::{
    Assembler, Folder, Head, IngestError, Ingestor, Input, Kind, MAX_RECORD_BYTES, Message, MessageTime, Records, Role,
    Sink, json,
};

/// Name of the format, stored with each transcript.
const NAME: &str = "opencode";

/// Reads opencode sessions.
pub(crate) struct OpenCode;

impl Ingestor for OpenCode {
    named!(NAME);

    fn sniff(&self, head: &Head<'_>) -> bool {
        let has = |column: &str| head.columns.iter().any(|there| there == column);
        let is_database = has("session.id") && has("message.data") && has("part.data");
        is_database || head.document.as_ref().is_some_and(is_export)
    }

    fn read(&self, input: Input, sink: &mut Sink<'_>) -> Result<(), IngestError> {
        let origin = input.path.display().to_string();
        if let Some(database) = database::of(&input)? {
            return read_database(&database, &origin, sink);
        }
        let mut records = Records::elements(input);
        while let Some((number, export)) = records.next_json::<Value>(sink)? {
            let Some(mut session) = Session::new(&export["info"], origin.clone()) else {
                sink.skip(number, "a session without an id");
                continue;
            };
            for entry in export["messages"].list() {
                let parts = entry["parts"].list().to_vec();
                let id = entry["info"]["id"].string();
                session.take(id, &entry["info"], parts, sink);
            }
            session.draft.finish(sink);
        }
        Ok(())
    }

    fn sniff_folder(&self, folder: &Folder) -> bool {
        // Another program could have folders with these three names, but without such files in them.
        let is_session = |name: &String| name.rsplit('/').next().is_some_and(|file| file.starts_with("ses_"));
        ["session", "message", "part"].iter().all(|name| folder.has(name))
            && folder.folders("session").iter().any(|project| folder.files(project).iter().any(is_session))
    }

    fn read_folder(&self, folder: &Folder, sink: &mut Sink<'_>) -> Result<(), IngestError> {
        read_files(folder, sink);
        Ok(())
    }
}

fn is_export(document: &Value) -> bool {
    let is_entry = |entry: &Value| entry["info"]["role"].is_string() && entry["parts"].is_array();
    let messages = document["messages"].as_array();
    document["info"]["id"].is_string() && messages.is_some_and(|messages| messages.iter().take(50).any(is_entry))
}

// One session while it is being read, and the point from which it was undone.

/// Prefixes of the titles that a session has until a title is generated for it.
const PLACEHOLDER_TITLES: &[&str] = &["New session - ", "Child session - "];

/// A session; everything after the point from which it was undone is left out.
struct Session {
    draft: Assembler,
    is_sub_agents: bool,
    /// The message, and possibly the part of the message, from which everything is undone.
    undone_from: Option<(String, Option<String>)>,
    is_undone: bool,
}

impl Session {
    /// Starts the session that `info` describes; `None` if `info` contains no id.
    fn new(info: &Value, origin: String) -> Option<Self> {
        let id = info["id"].text()?;
        let parent = info["parentID"].text();
        // The identity includes the parent's id, so that erasing a session also erases the sessions of its agents.
        let identity = parent.map_or_else(|| id.to_owned(), |parent| format!("{parent}/{id}"));
        let mut draft = Assembler::new(NAME, identity, origin);
        // Until a title is generated, the title contains the start date instead.
        let is_own = |title: &&str| !PLACEHOLDER_TITLES.iter().any(|start| title.starts_with(start));
        let meta = draft.meta();
        meta.title = info["title"].text().filter(is_own).map(str::to_owned);
        meta.project = info["directory"].owned();
        meta.created_at = identity::instant(&info["time"]["created"]);
        let revert = &info["revert"];
        let undone_from = revert["messageID"].text().map(|message| (message.to_owned(), revert["partID"].owned()));
        Some(Self { draft, is_sub_agents: parent.is_some(), undone_from, is_undone: false })
    }

    /// Adds the next message.
    fn take(&mut self, id: &str, info: &Value, parts: Vec<Value>, sink: &mut Sink<'_>) {
        let Some(parts) = self.kept(id, parts) else { return };
        if self.draft.meta().model.is_none() {
            let model = info["modelID"].text().or_else(|| info["model"]["modelID"].text());
            self.draft.meta().model = model.map(str::to_owned);
        }
        let head = MessageHead::of(id, info);
        let mut messages: Vec<_> = parts.iter().flat_map(|part| messages_of(part, &head)).collect();
        // An error from the server, not something that a participant in the conversation said.
        if let Some(error) = info["error"]["data"]["message"].text() {
            let failed = Message::context(error);
            messages.push(Message { id: id.to_owned(), time: head.time, ..failed });
        }
        if self.is_sub_agents {
            turn::of_sub_agent(&mut messages);
        }
        self.draft.extend(messages, sink);
    }

    /// Returns the parts that were not undone.
    fn kept(&mut self, id: &str, mut parts: Vec<Value>) -> Option<Vec<Value>> {
        // Undoing records only the point from which it applies; the messages remain.
        if self.is_undone {
            return None;
        }
        if let Some((message, part)) = &self.undone_from
            && message == id
        {
            self.is_undone = true;
            let part = part.as_deref()?;
            // If the part is missing, only the messages after this one are undone.
            let first = parts.iter().position(|one| one["id"] == part).unwrap_or(parts.len());
            parts.truncate(first);
        }
        Some(parts)
    }
}

// `opencode.db`: one session at a time, and within it one message at a time.

fn read_database(database: &Database, origin: &str, sink: &mut Sink<'_>) -> Result<(), IngestError> {
    database.require("session", &["id", "directory", "title", "time_created"])?;
    database.require("message", &["id", "session_id", "data"])?;
    database.require("part", &["id", "message_id", "data"])?;
    // The columns are in the order that `info_of` expects.
    let columns = database.or_null("session", &["parent_id", "revert"]);
    let sql = format!("SELECT id, directory, title, time_created, {columns} FROM session ORDER BY time_created, id");
    let mut number = 0;
    database.each(&sql, &[], |row| {
        number += 1;
        let info = info_of(row);
        let id = info["id"].string();
        match Session::new(&info, format!("{origin}#{id}")) {
            Some(session) => read_messages(database, id, session, sink)?,
            None => sink.skip(number, "a session without an id"),
        }
        Ok(())
    })?;
    // Rows without a session do not belong to any project, so they are counted but not read.
    for [table, key, parent] in [["message", "session_id", "session"], ["part", "message_id", "message"]] {
        database.report_orphans(
            [table, key, parent],
            &format!("rows of {table} whose {parent} does not exist"),
            sink,
        )?;
    }
    Ok(())
}

/// Converts a row to the format of an export.
fn info_of(row: &Row<'_>) -> Value {
    json!({
        // The column names differ from the field names of an export, which the rest of this file expects.
        "id": database::text(row, 0),
        "directory": database::text(row, 1),
        "title": database::text(row, 2),
        "time": {"created": database::value(row, 3)},
        "parentID": database::text(row, 4),
        "revert": database::value(row, 5),
    })
}

fn read_messages(
    database: &Database,
    session_id: &str,
    mut session: Session,
    sink: &mut Sink<'_>,
) -> Result<(), IngestError> {
    let order = database.or_null("message", &["time_created"]);
    let sql = format!("SELECT rowid, id, data FROM message WHERE session_id = ?1 ORDER BY {order}, id");
    database.each(&sql, &[&session_id], |row| {
        let id = database::text(row, 1).unwrap_or_default();
        if let Some(info) = database::parsed(row, 2, "row of message", sink) {
            let parts = parts_of(database, &id, sink)?;
            session.take(&id, &info, parts, sink);
        }
        Ok(())
    })?;
    session.draft.finish(sink);
    Ok(())
}

fn parts_of(database: &Database, message_id: &str, sink: &mut Sink<'_>) -> Result<Vec<Value>, IngestError> {
    let mut parts = Vec::new();
    let sql = "SELECT rowid, id, data FROM part WHERE message_id = ?1 ORDER BY id";
    database.each(sql, &[&message_id], |row| {
        if let Some(mut part) = database::parsed(row, 2, "row of part", sink) {
            // The stored document lacks its id, which an undo uses to refer to the part.
            if let (Some(fields), Some(id)) = (part.as_object_mut(), database::text(row, 1)) {
                fields.insert("id".to_owned(), id.into());
            }
            parts.push(part);
        }
        Ok(())
    })?;
    Ok(parts)
}

// The folder `storage`: `session/<project>/<session>.json`, `message/<session>/<message>.json`,
// and `part/<message>/<part>.json`.

/// A folder and its sorted file names, listed once because each look-up in an archive would search the whole archive.
struct Listing<'a> {
    folder: &'a Folder,
    names: Vec<String>,
}

fn read_files(folder: &Folder, sink: &mut Sink<'_>) {
    // Ids increase over time, so sorting by name also sorts by time.
    let mut names = folder.all_files();
    names.sort();
    let listing = Listing { folder, names };
    let mut known = HashSet::new();
    for place in listing.below("session/") {
        let name = &listing.names[place];
        known.insert(stem(name));
        let Some(info) = listing.parsed(place, sink) else { continue };
        let origin = folder.path().join(name).display().to_string();
        let Some(mut session) = Session::new(&info, origin) else {
            sink.skip(place + 1, format!("{name}: a session without an id"));
            continue;
        };
        for place in listing.below(&format!("message/{}/", stem(name))) {
            let Some(info) = listing.parsed(place, sink) else { continue };
            let id = stem(&listing.names[place]);
            let below = listing.below(&format!("part/{id}/"));
            let parts = below.into_iter().filter_map(|place| listing.parsed(place, sink)).collect();
            session.take(id, &info, parts, sink);
        }
        session.draft.finish(sink);
    }
    let is_orphan =
        |place: &usize| listing.names[*place].split('/').nth(1).is_some_and(|session| !known.contains(session));
    let orphans: Vec<_> = listing.below("message/").into_iter().filter(is_orphan).collect();
    if let Some(first) = orphans.first() {
        sink.skip(first + 1, format!("{} messages whose session does not exist", orphans.len()));
    }
}

impl Listing<'_> {
    /// Returns the indices of the JSON files whose names begin with `prefix`, in the order of their names.
    fn below(&self, prefix: &str) -> Vec<usize> {
        // The names are sorted, so those with the same prefix are adjacent.
        let start = self.names.partition_point(|name| name.as_str() < prefix);
        let count = self.names[start..].iter().take_while(|name| name.starts_with(prefix)).count();
        (start..start + count).filter(|place| self.names[*place].strip_suffix(".json").is_some()).collect()
    }

    /// Parses the file at index `place`; if it cannot be used, reports the reason.
    fn parsed(&self, place: usize, sink: &mut Sink<'_>) -> Option<Value> {
        let name = &self.names[place];
        let text = self.folder.open(name).and_then(|input| input.into_text(MAX_RECORD_BYTES));
        let reason = match text {
            Ok(Some(text)) => match json::parse(&text) {
                Ok((value, repaired)) => {
                    sink.repaired += usize::from(repaired);
                    return Some(value);
                }
                Err(error) => format!("{name}: invalid JSON at line {}", error.line()),
            },
            Ok(None) => format!("{name}: over the limit of {} MiB", MAX_RECORD_BYTES >> 20),
            Err(_) => format!("{name}: empty or not readable"),
        };
        sink.skip(place + 1, reason);
        None
    }
}

fn stem(name: &str) -> &str {
    let file = name.rsplit('/').next().unwrap_or_default();
    file.strip_suffix(".json").unwrap_or(file)
}

// The parts of a message.

/// The properties of a message that apply to all parts of the message.
struct MessageHead {
    id: String,
    role: Role,
    is_summary: bool,
    time: Option<MessageTime>,
}

impl MessageHead {
    fn of(id: &str, info: &Value) -> Self {
        let role = match info["role"].as_str() {
            Some("user") => Role::User,
            Some("assistant") => Role::Assistant,
            Some("system") => Role::System,
            Some(_) | None => Role::Other,
        };
        // In a user's message, `summary` is an object that contains a generated title.
        let is_summary = info["summary"] == true;
        Self { id: id.to_owned(), role, is_summary, time: identity::stamp(&info["time"]["created"]) }
    }

    fn spoken(&self, words: &str) -> Vec<Message> {
        match self.role {
            _ if self.is_summary => vec![Message::summary(words)],
            Role::User => user_words(words),
            Role::System => vec![Message::context(words)],
            Role::Assistant | Role::Tool | Role::Other => vec![Message::prose(self.role, without_data(words))],
        }
    }
}

/// Returns the messages in one part; steps, snapshots and patches are internal data and contain none.
fn messages_of(part: &Value, head: &MessageHead) -> Vec<Message> {
    let mut messages = match part["type"].string() {
        "text" => match part["text"].text() {
            // Text that the program wrote, or that it does not show to the agent.
            Some(words) if part["synthetic"] == true || part["ignored"] == true => {
                vec![Message::context(without_data(words))]
            }
            Some(words) => head.spoken(words),
            None => Vec::new(),
        },
        "reasoning" => {
            part["text"].text().map(|words| Message::new(head.role, Kind::Reasoning, words)).into_iter().collect()
        }
        "file" => vec![Message::new(head.role, Kind::Attachment, label(part))],
        "tool" => tool(part),
        // The template of a command, followed by the text that the user typed; the sub-agent receives nothing else.
        "subtask" => part["prompt"].text().map(Message::context).into_iter().collect(),
        _ => Vec::new(),
    };
    let own_time = [&part["time"]["start"], &part["state"]["time"]["start"]].into_iter().find_map(identity::stamp);
    for message in &mut messages {
        part["id"].text().unwrap_or(&head.id).clone_into(&mut message.id);
        message.time = own_time.or(head.time);
    }
    messages
}

fn label(part: &Value) -> String {
    let media = part["mime"].string();
    let noun = if media.starts_with("image/") { "image" } else { "file" };
    let named = part["filename"].text().or_else(|| part["url"].as_str().and_then(address_name));
    file_label(noun, named.or(Some(media)))
}

fn tool(part: &Value) -> Vec<Message> {
    let state = &part["state"];
    let id = part["callID"].text();
    let mut messages = vec![call(part["tool"].string(), &state["input"]).called(id)];
    let output = state["output"].text().or_else(|| state["error"].text());
    let attached = state["attachments"].list().iter().map(label);
    let pieces: Vec<_> = output.map(str::to_owned).into_iter().chain(attached).collect();
    if !pieces.is_empty() {
        let mut ended = answer(&pieces.join("\n"));
        let failed = state["status"].text().map(|status| status == "error");
        ended.action = action::of_result(id, failed, state["metadata"]["exit"].as_i64());
        messages.push(ended);
    }
    messages
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use serde_json::json;

    use super::*;
    use crate::Skipped;
    use crate::Transcript;

    fn collect(read: impl FnOnce(&mut Sink<'_>) -> Result<(), IngestError>) -> (Vec<Transcript>, Vec<Skipped>) {
        let mut seen = Vec::new();
        let mut accept = |transcript| seen.push(transcript);
        let mut sink = Sink::new(&mut accept);
        read(&mut sink).unwrap();
        let skipped = std::mem::take(&mut sink.skipped);
        (seen, skipped)
    }

    fn exported(export: &Value) -> Transcript {
        let text = serde_json::to_string_pretty(export).unwrap();
        assert!(OpenCode.sniff(&Head::new(text.as_str().into(), true)));
        let (mut seen, skipped) = collect(|sink| OpenCode.read(Input::from_text("x.json", &text), sink));
        assert_eq!(skipped, []);
        seen.remove(0)
    }

    /// Formats each message as `Role Kind: text`.
    fn shown(transcript: &Transcript) -> Vec<String> {
        let messages = transcript.messages.iter();
        messages.map(|message| format!("{:?} {:?}: {}", message.role, message.kind, message.text)).collect()
    }

    fn entry(id: &str, role: &str, parts: &[Value]) -> Value {
        let info = json!({"id": id, "role": role, "time": {"created": 1_772_442_010_000_i64}, "modelID": "sonnet"});
        json!({"info": info, "parts": parts})
    }

    fn words(id: &str, text: &str) -> Value {
        json!({"id": id, "type": "text", "text": text})
    }

    fn export(info: &Value, entries: &[Value]) -> Value {
        let mut whole = json!({"id": "ses_1", "directory": "/home/noor/atlas", "title": "Tiles"});
        whole.as_object_mut().unwrap().extend(info.as_object().unwrap().clone());
        json!({"info": whole, "messages": entries})
    }

    #[test]
    fn each_part_has_its_kind() {
        let asked = entry(
            "msg_1",
            "user",
            &[
                words("prt_1", "use tiles of 256 pixels"),
                json!({"id": "prt_2", "type": "text", "text": "Called the Read tool", "synthetic": true}),
                json!({"id": "prt_3", "type": "text", "text": "shown only", "ignored": true}),
                json!({"type": "file", "mime": "image/png", "filename": "map.png", "url": "data:image/png;base64,iVBO"}),
                json!({"type": "subtask", "prompt": "review", "agent": "review"}),
            ],
        );
        let state = json!({"status": "completed", "input": {"filePath": "src/tile.rs"}, "output": "const SIZE", "time": {"start": 1_772_442_011_000_i64}});
        let answered = entry(
            "msg_2",
            "assistant",
            &[
                json!({"type": "step-start"}),
                json!({"type": "reasoning", "text": "hm"}),
                json!({"id": "prt_6", "type": "tool", "tool": "read", "state": state}),
                json!({"type": "tool", "tool": "bash", "state": {"status": "error", "input": {"command": "ls"}, "error": "denied"}}),
                json!({"type": "tool", "tool": "bash", "state": {"status": "running", "input": {"command": "sleep 9"}}}),
                words("prt_8", "Done."),
                json!({"type": "patch", "files": []}),
                json!("text"),
            ],
        );
        let mut summary = entry("msg_3", "assistant", &[words("prt_9", "They use 256.")]);
        summary["info"]["summary"] = true.into();
        let seen = exported(&export(&json!({}), &[asked, answered, summary]));
        assert_eq!(
            shown(&seen),
            [
                "User Prose: use tiles of 256 pixels", "System Context: Called the Read tool",
                "System Context: shown only", "User Attachment: [image: map.png]", "System Context: review",
                "Assistant Reasoning: hm", "Assistant ToolCall: read src/tile.rs", "Tool ToolResult: const SIZE",
                "Assistant ToolCall: bash ls", "Tool ToolResult: denied", "Assistant ToolCall: bash sleep 9",
                "Assistant Prose: Done.", "System Summary: They use 256.",
            ]
        );
        assert_eq!((seen.messages[6].id.as_str(), seen.messages[7].id.as_str()), ("prt_6", "prt_6~2"));
        assert_eq!(seen.messages[6].time.unwrap().at, "2026-03-02T09:00:11Z".parse().unwrap());
        assert_eq!((seen.model.as_deref(), seen.title.as_deref()), (Some("sonnet"), Some("Tiles")));
    }

    #[test]
    fn answers_to_the_agents_questions_are_the_users() {
        let input = json!({"questions": [{"question": "Which size?", "options": [{"label": "256"}]}]});
        let output = "User has answered your questions: \"Which size?\"=\"512\". You can now continue with the user's answers in mind.";
        let state = json!({"status": "completed", "input": input, "output": output});
        let asked = json!({"id": "p", "type": "tool", "tool": "question", "callID": "c", "state": state});
        let seen = exported(&export(&json!({}), &[entry("msg_1", "assistant", &[asked])]));
        assert_eq!(shown(&seen)[2..], ["Assistant Prose: Which size?\n- 256", "User Prose: 512"]);
    }

    #[test]
    fn what_was_taken_back_is_gone() {
        let entries = [
            entry("msg_1", "user", &[words("prt_1", "a"), words("prt_2", "b")]),
            entry("msg_2", "user", &[words("prt_3", "c"), words("prt_4", "d")]),
            entry("msg_3", "user", &[words("prt_5", "e")]),
        ];
        let kept = |revert: Value| -> Vec<String> {
            let seen = exported(&export(&json!({"revert": revert}), &entries));
            seen.messages.into_iter().map(|message| message.text).collect()
        };
        assert_eq!(kept(Value::Null), ["a", "b", "c", "d", "e"]);
        assert_eq!(kept(json!({"messageID": "msg_2"})), ["a", "b"]);
        assert_eq!(kept(json!({"messageID": "msg_2", "partID": "prt_4"})), ["a", "b", "c"]);
        assert_eq!(kept(json!({"messageID": "msg_2", "partID": "gone"})), ["a", "b", "c", "d"]);
        assert_eq!(kept(json!({"messageID": "gone"})), ["a", "b", "c", "d", "e"]);
    }

    #[test]
    fn in_a_sub_agents_session_no_person_speaks() {
        let entries =
            [entry("msg_1", "user", &[words("p", "look")]), entry("msg_2", "assistant", &[words("q", "seen")])];
        let info = json!({"parentID": "ses_0", "title": "New session - 2026-03-02T09:00:00.000Z"});
        let seen = exported(&export(&info, &entries));
        assert_eq!((seen.external_id.as_str(), seen.title.as_deref()), ("ses_0/ses_1", None));
        assert_eq!(shown(&seen), ["Other Prose: look", "Other Prose: seen"]);
    }

    fn write(root: &Path, name: &str, text: &str) {
        let path = root.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    #[test]
    fn the_folder_and_the_database_hold_the_same_session() {
        let place = tempfile::tempdir().unwrap();
        let root = place.path().join("storage");
        write(&root, "session/global/ses_1.json", r#"{"id":"ses_1","directory":"/w","title":"T"}"#);
        write(&root, "message/ses_1/msg_1.json", r#"{"id":"msg_1","role":"user","time":{"created":1772442010000}}"#);
        write(&root, "message/ses_1/msg_2.json", r#"{"id":"msg_2","ro"#);
        write(&root, "message/ses_9/msg_9.json", r#"{"id":"msg_9","role":"user"}"#);
        write(&root, "part/msg_1/prt_1.json", r#"{"id":"prt_1","type":"text","text":"hi"}"#);
        let folder = Folder::directory(&root);
        assert!(OpenCode.sniff_folder(&folder));
        assert!(!OpenCode.sniff_folder(&Folder::directory(place.path())));
        let (stored, skipped) = collect(|sink| OpenCode.read_folder(&folder, sink));
        let reasons: Vec<_> = skipped.iter().map(|skipped| skipped.reason.as_str()).collect();
        assert_eq!(
            reasons,
            ["message/ses_1/msg_2.json: invalid JSON at line 1", "1 messages whose session does not exist"]
        );

        let path = place.path().join("opencode.db");
        let script = r#"
        CREATE TABLE session (id TEXT, parent_id TEXT, directory TEXT, title TEXT, revert TEXT, time_created INTEGER);
        CREATE TABLE message (id TEXT, session_id TEXT, time_created INTEGER, data TEXT);
        CREATE TABLE part (id TEXT, message_id TEXT, session_id TEXT, data TEXT);
        INSERT INTO session VALUES ('ses_1', NULL, '/w', 'T', NULL, NULL), (NULL, NULL, NULL, NULL, '{', 'x');
        INSERT INTO message VALUES ('msg_1', 'ses_1', 1, '{"role":"user","time":{"created":1772442010000}}'),
            ('msg_2', 'ses_1', 2, NULL), ('msg_9', 'gone', 3, '{}');
        INSERT INTO part VALUES ('prt_1', 'msg_1', 'ses_1', '{"type":"text","text":"hi"}'), ('prt_2', 'msg_1', '', '[');"#;
        rusqlite::Connection::open(&path).unwrap().execute_batch(script).unwrap();
        let input = crate::open(&path).unwrap();
        assert!(OpenCode.sniff(&Head::of(&input)));
        let (listed, skipped) = collect(|sink| OpenCode.read(input, sink));
        let mut reasons: Vec<_> = skipped.iter().map(|skipped| skipped.reason.as_str()).collect();
        reasons.sort_unstable();
        assert_eq!(
            reasons,
            [
                "1 rows of message whose session does not exist",
                "a session without an id",
                "row of message: a row without a value",
                "row of part: invalid JSON at column 1"
            ]
        );
        let bare = |one: &Transcript| Transcript { origin: String::new(), ..one.clone() };
        assert_eq!((stored.len(), listed.len()), (1, 1));
        assert_eq!(bare(&stored[0]), bare(&listed[0]));
    }

    #[test]
    fn another_layout_is_an_error_and_not_an_empty_log() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("opencode.db");
        let script = "CREATE TABLE session (id, title); CREATE TABLE message (id, data); CREATE TABLE part (id, data);";
        rusqlite::Connection::open(&path).unwrap().execute_batch(script).unwrap();
        let mut ignore = |_| {};
        let outcome = OpenCode.read(crate::open(&path).unwrap(), &mut Sink::new(&mut ignore));
        assert!(outcome.unwrap_err().to_string().contains("session has no column directory"));
    }
}
