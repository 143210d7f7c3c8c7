//! The Devin command line's `sessions.db`: messages are nodes of a tree, in which one chain is the conversation.
//!
//! A rewritten message gets a new node but keeps its id, so only the last node with each id is used. A node that
//! descends from the chain without being part of it was abandoned. A node that does not descend from the chain precedes
//! a compaction, and is retained.

use std::collections::{HashMap, HashSet};

use rusqlite::Row;
use serde_json::Value;

use crate::agents::turn::{call_of, spoken, words_of};
use crate::json::Json;
use crate::message::identity;
use crate::reading::database::{self, Database};
use crate::{Assembler, Head, IngestError, Ingestor, Input, Message, Sink};

/// Name of the format, stored with each transcript.
const NAME: &str = "devin";

/// Reads sessions of the Devin command line.
pub(crate) struct Devin;

impl Ingestor for Devin {
    named!(NAME);

    fn sniff(&self, head: &Head<'_>) -> bool {
        let has = |name: &str| head.tables.iter().any(|table| table == name);
        has("sessions") && has("message_nodes")
    }

    fn read(&self, input: Input, sink: &mut Sink<'_>) -> Result<(), IngestError> {
        let (origin, database) = (input.path.display().to_string(), database::required(&input)?);
        database.require("sessions", &["id"])?;
        database.require("message_nodes", &["session_id", "node_id", "parent_node_id", "chat_message"])?;
        // The columns are in the order that `draft_of` expects.
        let columns = ["title", "working_directory", "model", "created_at", "main_chain_id"];
        let columns = database.or_null("sessions", &columns);
        database.each(&format!("SELECT rowid, id, {columns} FROM sessions ORDER BY rowid"), &[], |row| {
            match database::text(row, 1) {
                Some(id) => read_nodes(&database, &id, draft_of(row, &id, &origin), row.get(6).ok(), sink)?,
                None => sink.skip(database::record_number(row, 0), "a session without an id"),
            }
            Ok(())
        })
    }
}

fn draft_of(row: &Row<'_>, id: &str, origin: &str) -> Assembler {
    let mut draft = Assembler::new(NAME, id, format!("{origin}#{id}"));
    let meta = draft.meta();
    meta.title = database::text(row, 2);
    meta.project = database::text(row, 3);
    meta.model = database::text(row, 4);
    meta.created_at = identity::instant(&database::value(row, 5));
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
    database.each(sql, &[&session_id], |row| {
        let Ok(node) = row.get::<_, i64>(1) else {
            sink.skip(database::record_number(row, 0), "row of message_nodes: a message without a number");
            return Ok(());
        };
        if kept.contains(&node)
            && let Some(said) = database::parsed(row, 2, "row of message_nodes", sink)
        {
            let time = identity::stamp(&said["metadata"]["created_at"]);
            draft.push_all(said["message_id"].text().unwrap_or_default(), time, messages_of(&said), sink);
        }
        Ok(())
    })?;
    draft.finish(sink);
    Ok(())
}

/// Returns the nodes that belong to the conversation: the last node of each message, without abandoned branches.
fn kept_nodes(database: &Database, session_id: &str, leaf: Option<i64>) -> Result<HashSet<i64>, IngestError> {
    // The database extracts the id, so that messages need not be kept in memory to read the id.
    let sql = "SELECT node_id, parent_node_id,
            CASE WHEN json_valid(chat_message) THEN json_extract(chat_message, '$.message_id') END
        FROM message_nodes WHERE session_id = ?1 ORDER BY node_id, rowid";
    let (mut parents, mut last) = (HashMap::new(), HashMap::new());
    database.each(sql, &[&session_id], |row| {
        if let Ok(node) = row.get::<_, i64>(0) {
            parents.insert(node, row.get::<_, i64>(1).ok());
            // A rewritten message keeps its id and gets a later node.
            last.insert(database::text(row, 2).unwrap_or_else(|| format!("node {node}")), node);
        }
        Ok(())
    })?;
    let chain = chain_to(leaf, &parents);
    // Results are cached, because the same nodes of a long session are visited repeatedly.
    let mut left: HashMap<i64, bool> = chain.iter().map(|node| (*node, false)).collect();
    Ok(last.into_values().filter(|node| !is_left(*node, &parents, &chain, &mut left)).collect())
}

/// Returns the nodes from the root to `leaf`; empty if there is no such node.
fn chain_to(leaf: Option<i64>, parents: &HashMap<i64, Option<i64>>) -> HashSet<i64> {
    let mut chain = HashSet::new();
    let mut next = leaf.filter(|leaf| parents.contains_key(leaf));
    // A node that was already visited closes a cycle.
    while let Some(node) = next.filter(|node| chain.insert(*node)) {
        next = parents.get(&node).copied().flatten();
    }
    chain
}

/// Returns whether `node` descends from the chain without being part of it; `known` contains earlier results.
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
    let mut messages = match said["role"].string() {
        // The program also writes in the user's turn, and marks such messages.
        "user" if said["metadata"]["is_user_input"] == false => vec![Message::context(words)],
        role => spoken(role, &words),
    };
    if said["role"] == "assistant" {
        let thought = [&said["reasoning_content"], &said["thinking"], &said["thinking"]["thinking"]];
        messages.splice(..0, thought.into_iter().find_map(Json::text).map(Message::reasoning));
    }
    messages.extend(said["tool_calls"].list().iter().map(call_of));
    messages
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
