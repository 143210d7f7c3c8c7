//! The Devin command line's `sessions.db`: messages as nodes of a tree, of which one chain is the conversation.
//!
//! A message that is written anew gets a node of its own and keeps its id, so the last node of an id counts. A node
//! beside the chain that hangs on it was abandoned; one that does not hang on it came before a compaction, and stays.

use std::collections::{HashMap, HashSet};

use rusqlite::Row;
use serde_json::Value;

use crate::agents::turn::{answer, call, text, user_words};
use crate::message::identity;
use crate::message::parts::{file_label, without_data};
use crate::reading::database::{self, Database};
use crate::{Assembler, Head, IngestError, Ingestor, Input, Kind, Message, Role, Sink};

/// The ingestor's name, stored with each transcript.
const NAME: &str = "devin";

/// Reads sessions of the Devin command line.
pub(crate) struct Devin;

impl Ingestor for Devin {
    describe!(NAME, "Devin CLI sessions (sessions.db)", "SQLite with the tables `sessions` and `message_nodes`");

    fn sniff(&self, head: &Head<'_>) -> bool {
        let has = |name: &str| head.tables.iter().any(|table| table == name);
        has("sessions") && has("message_nodes")
    }

    fn read(&self, input: Input, sink: &mut Sink<'_>) -> Result<(), IngestError> {
        let origin = input.path.display().to_string();
        let Some(database) = database::of(&input)? else {
            let reason = "it is no SQLite database".to_owned();
            return Err(IngestError::Database { path: input.path, reason });
        };
        read_sessions(&database, &origin, sink)
    }
}

fn read_sessions(database: &Database, origin: &str, sink: &mut Sink<'_>) -> Result<(), IngestError> {
    database.require("sessions", &["id"])?;
    database.require("message_nodes", &["session_id", "node_id", "parent_node_id", "chat_message"])?;
    let column = |name| database.or_null("sessions", name);
    // The order of the columns is what `draft_of` reads.
    let sql = format!(
        "SELECT rowid, id, {}, {}, {}, {}, {} FROM sessions ORDER BY rowid",
        column("title"),
        column("working_directory"),
        column("model"),
        column("created_at"),
        column("main_chain_id"),
    );
    let mut statement = database.statement(&sql)?;
    let mut rows = database.rows(&mut statement, &[])?;
    while let Some(row) = database.next(&mut rows)? {
        match database::text(row, 1) {
            Some(id) => read_nodes(database, &id, draft_of(row, &id, origin), row.get(6).ok(), sink)?,
            None => sink.skip(database::record_number(row, 0), "a session without an id"),
        }
    }
    Ok(())
}

fn draft_of(row: &Row<'_>, id: &str, origin: &str) -> Assembler {
    let mut draft = Assembler::new(NAME, id, format!("{origin}#{id}"));
    let meta = draft.meta();
    meta.title = database::text(row, 2);
    meta.project = database::text(row, 3);
    meta.model = database::text(row, 4);
    let created = database::json::<Value>(row, 5).map_or(Value::Null, |(value, _)| value);
    meta.created_at = identity::instant(&created);
    draft
}

fn read_nodes(
    database: &Database,
    session_id: &str,
    mut draft: Assembler,
    leaf: Option<i64>,
    sink: &mut Sink<'_>,
) -> Result<(), IngestError> {
    let kept = kept_nodes(database, session_id, leaf)?;
    let sql = "SELECT rowid, node_id, chat_message FROM message_nodes WHERE session_id = ?1 ORDER BY node_id, rowid";
    let mut statement = database.statement(sql)?;
    let mut rows = database.rows(&mut statement, &[&session_id])?;
    while let Some(row) = database.next(&mut rows)? {
        let number = database::record_number(row, 0);
        match row.get::<_, i64>(1) {
            Ok(node) if kept.contains(&node) => {}
            Ok(_) => continue,
            Err(_) => {
                sink.skip(number, "row of message_nodes: a message without a number");
                continue;
            }
        }
        match database::json::<Value>(row, 2) {
            Ok((said, repaired)) => {
                sink.repaired += usize::from(repaired);
                let id = text(&said["message_id"]).unwrap_or_default();
                let time = identity::stamp(&said["metadata"]["created_at"]);
                for message in messages_of(&said) {
                    draft.push(Message { id: id.to_owned(), time, ..message }, sink);
                }
            }
            Err(reason) => sink.skip(number, format!("row of message_nodes: {reason}")),
        }
    }
    draft.finish(sink);
    Ok(())
}

/// Returns the nodes that count: the last of each message, without the branches that were left.
fn kept_nodes(database: &Database, session_id: &str, leaf: Option<i64>) -> Result<HashSet<i64>, IngestError> {
    let sql = "SELECT node_id, parent_node_id,
            CASE WHEN json_valid(chat_message) THEN json_extract(chat_message, '$.message_id') END
        FROM message_nodes WHERE session_id = ?1 ORDER BY node_id, rowid";
    let mut statement = database.statement(sql)?;
    let mut rows = database.rows(&mut statement, &[&session_id])?;
    let (mut parents, mut last) = (HashMap::new(), HashMap::new());
    while let Some(row) = database.next(&mut rows)? {
        let Ok(node) = row.get::<_, i64>(0) else { continue };
        parents.insert(node, row.get::<_, i64>(1).ok());
        let id = database::text(row, 2).unwrap_or_else(|| format!("node {node}"));
        last.insert(id, node);
    }
    let chain = chain_to(leaf, &parents);
    let mut left: HashMap<i64, bool> = chain.iter().map(|node| (*node, false)).collect();
    Ok(last.into_values().filter(|node| !is_left(*node, &parents, &chain, &mut left)).collect())
}

/// Returns the nodes from the root to `leaf`; empty if there is no such node.
fn chain_to(leaf: Option<i64>, parents: &HashMap<i64, Option<i64>>) -> HashSet<i64> {
    let mut chain = HashSet::new();
    let mut next = leaf.filter(|leaf| parents.contains_key(leaf));
    // A node that is there already closes a circle.
    while let Some(node) = next.filter(|node| chain.insert(*node)) {
        next = parents.get(&node).copied().flatten();
    }
    chain
}

/// Whether `node` hangs on the chain without being on it; `known` holds the answers found before.
fn is_left(
    node: i64,
    parents: &HashMap<i64, Option<i64>>,
    chain: &HashSet<i64>,
    known: &mut HashMap<i64, bool>,
) -> bool {
    let (mut way, mut next) = (Vec::new(), Some(node));
    let mut answer = false;
    while let Some(one) = next {
        if let Some(found) = known.get(&one) {
            answer = *found || chain.contains(&one) && !way.is_empty();
            break;
        }
        known.insert(one, false);
        way.push(one);
        next = parents.get(&one).copied().flatten();
    }
    for one in way {
        known.insert(one, answer);
    }
    answer
}

fn messages_of(said: &Value) -> Vec<Message> {
    let words = words_of(&said["content"]);
    let context = |words: String| Message::new(Role::System, Kind::Context, words);
    let mut messages = match said["role"].as_str() {
        // The program also writes into the user's turn, and says so.
        Some("user") if said["metadata"]["is_user_input"] == false => vec![context(words)],
        Some("user") => user_words(&words),
        Some("assistant") => {
            let thought = [&said["reasoning_content"], &said["thinking"], &said["thinking"]["thinking"]];
            let thought = thought.into_iter().find_map(text);
            let reasoning = thought.map(|thought| Message::new(Role::Assistant, Kind::Reasoning, thought));
            reasoning.into_iter().chain([Message::assistant(without_data(&words))]).collect()
        }
        Some("tool") => vec![answer(&words)],
        Some(_) | None => vec![context(words)],
    };
    for used in said["tool_calls"].as_array().into_iter().flatten() {
        let function = if used["function"].is_object() { &used["function"] } else { used };
        messages.push(call(function["name"].as_str().unwrap_or_default(), &function["arguments"]));
    }
    messages
}

/// Returns a text, or the texts of a list of blocks with its pictures named.
fn words_of(content: &Value) -> String {
    let blocks = content.as_array().map_or(std::slice::from_ref(content), Vec::as_slice);
    let shown = blocks.iter().filter_map(|block| match text(block).or_else(|| text(&block["text"])) {
        Some(words) => Some(words.to_owned()),
        None if block["type"].as_str().is_some_and(|kind| kind.contains("image")) => Some(file_label("image", None)),
        None => None,
    });
    shown.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Skipped;
    use crate::Transcript;

    fn read(script: &str) -> (Result<(), IngestError>, Vec<Transcript>, Vec<Skipped>) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sessions.db");
        rusqlite::Connection::open(&path).unwrap().execute_batch(script).unwrap();
        let mut seen = Vec::new();
        let mut accept = |transcript| seen.push(transcript);
        let mut sink = Sink::new(&mut accept);
        let input = crate::open(&path).unwrap();
        assert!(Devin.sniff(&Head::of(&input)));
        let outcome = Devin.read(input, &mut sink);
        let skipped = std::mem::take(&mut sink.skipped);
        (outcome, seen, skipped)
    }

    fn shown(transcript: &Transcript) -> Vec<String> {
        let messages = transcript.messages.iter();
        messages.map(|message| format!("{:?} {:?}: {}", message.role, message.kind, message.text)).collect()
    }

    const TABLES: &str = "CREATE TABLE sessions (id TEXT, title TEXT, working_directory TEXT, model TEXT, created_at INTEGER, main_chain_id INTEGER);
        CREATE TABLE message_nodes (session_id TEXT, node_id INTEGER, parent_node_id INTEGER, chat_message TEXT);";

    #[test]
    fn the_chain_is_read_and_what_was_left_or_written_anew_is_not() {
        let (outcome, seen, skipped) = read(&format!(
            r#"{TABLES} INSERT INTO sessions VALUES ('s', 'Hull', '/home/ben/hull', 'm', 1772442000, 5), (NULL, '', '', '', 0, 0);
            INSERT INTO message_nodes VALUES
              ('s', 0, NULL, '{{"role":"user","content":"before the compaction"}}'),
              ('s', 1, NULL, '{{"message_id":"a","role":"user","content":"use epoxy","metadata":{{"is_user_input":true,"created_at":"2026-03-02T09:00:10Z"}}}}'),
              ('s', 2, 1, '{{"message_id":"b","role":"assistant","content":"hm"}}'),
              ('s', 3, 2, '{{"message_id":"l","role":"user","content":"left"}}'),
              ('s', 4, 2, '{{"message_id":"b","role":"assistant","content":"ok","thinking":{{"thinking":"glue"}},"tool_calls":[{{"name":"exec","arguments":{{"command":"ls"}}}}]}}'),
              ('s', 5, 4, '{{"role":"tool","content":[{{"type":"text","text":"hull.rs"}},{{"type":"image_url"}}]}}'),
              ('s', 6, 99, '{{"role":"user","content":"reminder","metadata":{{"is_user_input":false}}}}'),
              ('s', 'x', 1, '{{"role":"user","content":"no number"}}'),
              ('s', 7, 7, '{{"ro');"#
        ));
        assert!(outcome.is_ok());
        assert_eq!(
            shown(&seen[0]),
            [
                "User Prose: before the compaction", "User Prose: use epoxy", "Assistant Reasoning: glue",
                "Assistant Prose: ok", "Assistant ToolCall: exec ls", "Tool ToolResult: hull.rs\n[image]",
                "System Context: reminder",
            ]
        );
        assert_eq!((seen[0].project.as_deref(), seen[0].title.as_deref()), (Some("/home/ben/hull"), Some("Hull")));
        let reasons: Vec<_> = skipped.iter().map(|skipped| skipped.reason.as_str()).collect();
        assert_eq!(
            reasons,
            [
                "row of message_nodes: invalid JSON at column 4",
                "row of message_nodes: a message without a number",
                "a session without an id"
            ]
        );
    }

    #[test]
    fn a_chain_that_runs_in_a_circle_ends() {
        let (outcome, seen, _) = read(&format!(
            r#"{TABLES} INSERT INTO sessions VALUES ('s', '', '', '', NULL, 2);
            INSERT INTO message_nodes VALUES ('s', 1, 2, '{{"role":"user","content":"a"}}'), ('s', 2, 1, '{{"role":"user","content":"b"}}'),
                ('s', 3, 4, '{{"role":"user","content":"c"}}'), ('s', 4, 3, '{{"role":"user","content":"d"}}');"#
        ));
        assert!(outcome.is_ok());
        assert_eq!(shown(&seen[0]).len(), 4);
    }

    #[test]
    fn another_layout_is_an_error() {
        let (outcome, ..) = read("CREATE TABLE sessions (id); CREATE TABLE message_nodes (session_id, node_id);");
        assert!(outcome.unwrap_err().to_string().contains("message_nodes has no column parent_node_id"));
    }
}
