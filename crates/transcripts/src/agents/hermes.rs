//! Hermes Agent's `state.db`: the sessions of one profile, both from the terminal and from messengers.
//!
//! A session that was compacted continues in another session, which contains only later messages. A session that was
//! branched off begins with a copy of the original, which is not read twice. The session's source and settings
//! determine whether an agent or a schedule writes the user's turn.

use rusqlite::Row;
use serde_json::Value;

use crate::agents::turn::{self, call_of, spoken, words_of};
use crate::json::Json;
use crate::message::identity;
use crate::reading::database::{self, Database};
use crate::{Assembler, Head, IngestError, Ingestor, Input, Message, MessageTime, Sink};

/// Name of the format, stored with each transcript.
const NAME: &str = "hermes";
/// Prefix of content that is JSON rather than plain text.
const JSON_CONTENT: &str = "\0json:";
/// Sources of sessions that contain nothing typed by a person.
const PROGRAMS: &[&str] = &["tool", "cron", "subagent"];
/// Prefixes of a summary that replaces earlier messages.
const SUMMARIES: &[&str] = &["[CONTEXT COMPACTION", "[CONTEXT SUMMARY]"];

/// Reads sessions of Hermes Agent.
pub(crate) struct Hermes;

impl Ingestor for Hermes {
    named!(NAME);

    fn sniff(&self, head: &Head<'_>) -> bool {
        let has = |column: &&str| head.columns.iter().any(|there| there == column);
        ["sessions.system_prompt", "sessions.parent_session_id", "messages.tool_calls", "messages.timestamp"]
            .iter()
            .all(has)
    }

    fn read(&self, input: Input, sink: &mut Sink<'_>) -> Result<(), IngestError> {
        let (origin, database) = (input.path.display().to_string(), database::required(&input)?);
        database.require("sessions", &["id", "started_at"])?;
        database.require("messages", &["id", "session_id", "role", "content", "timestamp"])?;
        // The columns are in the order that `session_of` expects.
        let columns = ["title", "model", "cwd", "git_repo_root", "source", "model_config", "system_prompt"];
        let columns = database.or_null("sessions", &columns);
        let sql = format!("SELECT rowid, id, started_at, {columns} FROM sessions ORDER BY started_at, id");
        database.each(&sql, &[], |row| {
            match database::text(row, 1) {
                Some(id) => read_messages(&database, session_of(row, id, &origin, sink), sink)?,
                None => sink.skip(database::record_number(row, 0), "a session without an id"),
            }
            Ok(())
        })?;
        database.report_orphans(["messages", "session_id", "sessions"], "messages whose session does not exist", sink)
    }
}

/// Information about a session before its messages are read.
struct Session {
    id: String,
    draft: Assembler,
    is_programs: bool,
    /// The session whose messages are copied at the beginning of this one.
    branched_from: Option<String>,
    /// The start of the session, for messages without a time.
    began: Option<MessageTime>,
}

fn session_of(row: &Row<'_>, id: String, origin: &str, sink: &mut Sink<'_>) -> Session {
    let config = database::value(row, 8);
    let source = database::text(row, 7).unwrap_or_default();
    let delegated_by = config["_delegate_from"].text();
    // A sub-agent's run belongs to the session that delegated to it.
    let identity = delegated_by.map_or_else(|| id.clone(), |parent| format!("{parent}/{id}"));
    let mut draft = Assembler::new(NAME, identity, format!("{origin}#{id}"));
    let began = stamped(row, 2);
    let meta = draft.meta();
    meta.created_at = began.map(|time| time.at);
    meta.title = database::text(row, 3);
    meta.model = database::text(row, 4);
    meta.project = database::text(row, 5).or_else(|| database::text(row, 6));
    let began = began.map(MessageTime::derived);
    draft.push_all("system", began, vec![Message::context(database::text(row, 9).unwrap_or_default())], sink);
    Session {
        is_programs: delegated_by.is_some() || PROGRAMS.contains(&source.as_str()),
        branched_from: config["_branched_from"].owned(),
        id,
        draft,
        began,
    }
}

fn read_messages(database: &Database, mut session: Session, sink: &mut Sink<'_>) -> Result<(), IngestError> {
    // A branch starts with a copy of all rows of the original session.
    let copied = session.branched_from.take().map_or(Ok(0), |parent| shared(database, &session.id, &parent))?;
    // The columns are in the order that `messages_of` expects.
    let columns = ["tool_calls", "reasoning_content", "reasoning", "observed", "active", "compacted"];
    let columns = database.or_null("messages", &columns);
    let sql = format!("SELECT id, role, content, timestamp, {columns} FROM messages WHERE session_id = ?1 ORDER BY id");
    let mut place = 0;
    database.each(&sql, &[&session.id], |row| {
        place += 1;
        if place == copied {
            let reason = format!("{copied} messages up to here repeat the session from which this one was branched");
            sink.skip(database::record_number(row, 0), reason);
        }
        if place > copied && !is_taken_back(row) {
            let mut messages = messages_of(row);
            if session.is_programs {
                turn::of_sub_agent(&mut messages);
            }
            let (id, time) = (database::text(row, 0).unwrap_or_default(), stamped(row, 3).or(session.began));
            session.draft.push_all(&id, time, messages, sink);
        }
        Ok(())
    })?;
    session.draft.finish(sink);
    Ok(())
}

/// Returns the number of leading messages that the sessions `id` and `parent` have in common.
fn shared(database: &Database, id: &str, parent: &str) -> Result<i64, IngestError> {
    let said = "SELECT row_number() OVER (ORDER BY id) AS place, role, nullif(content, '') AS content FROM messages";
    let sql = format!(
        "WITH own AS ({said} WHERE session_id = ?1), other AS ({said} WHERE session_id = ?2)
        SELECT coalesce(min(place) FILTER (WHERE own.role IS NOT other.role OR own.content IS NOT other.content) - 1,
            count(*)) FROM own JOIN other USING (place)"
    );
    database.query_row(&sql, [id, parent], |row| row.get(0)).map_err(|error| database.error(error))
}

/// Returns whether the user undid the message by rewinding; a message that was only compacted still counts as something
/// that was said.
fn is_taken_back(row: &Row<'_>) -> bool {
    let is = |column, number: &str| database::text(row, column).as_deref() == Some(number);
    // Rows are never deleted: rewinding and compacting only mark them as inactive.
    is(8, "0") && !is(9, "1")
}

fn messages_of(row: &Row<'_>) -> Vec<Message> {
    let words = database::text(row, 2).map(|content| text_of(&content)).unwrap_or_default();
    let is_observed = database::text(row, 7).as_deref() == Some("1");
    let said = match database::text(row, 1).unwrap_or_default().as_str() {
        "user" | "assistant" if SUMMARIES.iter().any(|mark| words.trim_start().starts_with(mark)) => {
            vec![Message::summary(words)]
        }
        // A message that the agent overheard in a group, and that was not addressed to the agent.
        "user" if is_observed => vec![Message::context(words)],
        role => spoken(role, &words),
    };
    let thought = database::text(row, 5).or_else(|| database::text(row, 6));
    let calls = database::value(row, 4);
    thought.map(Message::reasoning).into_iter().chain(said).chain(calls.list().iter().map(call_of)).collect()
}

/// Returns plain text unchanged, or the text of a list of blocks.
fn text_of(content: &str) -> String {
    let Some(json) = content.strip_prefix(JSON_CONTENT) else { return content.to_owned() };
    crate::json::parse::<Value>(json).map_or_else(|_| json.to_owned(), |(blocks, _)| words_of(&blocks))
}

/// Reads the number of seconds since 1970 in a column.
fn stamped(row: &Row<'_>, column: usize) -> Option<MessageTime> {
    let seconds: Value = row.get::<_, f64>(column).ok()?.into();
    identity::instant(&seconds).map(MessageTime::logged)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TimeSource;
    use crate::Transcript;

    const TABLES: &str = "CREATE TABLE sessions (id TEXT PRIMARY KEY, source TEXT, model TEXT, model_config TEXT, system_prompt TEXT,
            parent_session_id TEXT, started_at REAL, title TEXT, cwd TEXT);
        CREATE TABLE messages (id INTEGER PRIMARY KEY, session_id TEXT, role TEXT, content TEXT, tool_calls TEXT, timestamp REAL,
            reasoning TEXT, observed INTEGER DEFAULT 0, active INTEGER DEFAULT 1, compacted INTEGER DEFAULT 0);";

    fn read(script: &str) -> (Result<(), IngestError>, Vec<Transcript>, Vec<String>) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("state.db");
        rusqlite::Connection::open(&path).unwrap().execute_batch(&format!("{TABLES}{script}")).unwrap();
        let mut seen = Vec::new();
        let mut accept = |transcript| seen.push(transcript);
        let mut sink = Sink::new(&mut accept);
        let input = crate::open(&path).unwrap();
        assert!(Hermes.sniff(&Head::of(&input)));
        let outcome = Hermes.read(input, &mut sink);
        let pieces = sink.skipped.iter().map(|skipped| format!("{}: {}", skipped.record, skipped.reason)).collect();
        (outcome, seen, pieces)
    }

    fn shown(transcript: &Transcript) -> Vec<String> {
        let messages = transcript.messages.iter();
        messages.map(|message| format!("{:?} {:?}: {}", message.role, message.kind, message.text)).collect()
    }

    #[test]
    fn each_row_says_what_its_role_and_its_marks_tell() {
        let (outcome, seen, pieces) = read(
            r#"INSERT INTO sessions VALUES ('s', 'cli', 'm', NULL, 'be kind', NULL, 1772442000.5, 'Kites', '/home/oda/kites');
            INSERT INTO messages VALUES
              (1, 's', 'user', 'use bamboo', NULL, 1772442001.25, NULL, 0, 1, 1),
              (2, 's', 'assistant', NULL, '[{"function":{"name":"terminal","arguments":"{\"command\":\"ls\"}"}}, 7]', 1772442002, 'hm', 0, 1, 0),
              (3, 's', 'tool', 'kite.py', NULL, NULL, NULL, 0, 1, 0),
              (4, 's', 'user', 'taken back', NULL, 1772442004, NULL, 0, 0, 0),
              (5, 's', 'user', 'said in the group', NULL, 1772442005, NULL, 1, 1, 0),
              (6, 's', 'user', '[CONTEXT COMPACTION] kites are built', NULL, 1772442006, NULL, 0, 1, 0),
              (7, 's', 'user', char(0) || 'json:[{"type":"text","text":"look"},{"type":"image_url","image_url":{"url":"data:x"}}]', NULL, 1772442007, NULL, 0, 1, 0),
              (8, 'gone', 'user', 'x', NULL, 1, NULL, 0, 1, 0);"#,
        );
        assert!(outcome.is_ok());
        assert_eq!(
            shown(&seen[0]),
            [
                "System Context: be kind",
                "User Prose: use bamboo",
                "Assistant Reasoning: hm",
                "Assistant ToolCall: terminal ls",
                "Assistant ToolCall: tool",
                "Tool ToolResult: kite.py",
                "System Context: said in the group",
                "System Summary: [CONTEXT COMPACTION] kites are built",
                "User Prose: look\n[image]",
            ]
        );
        assert_eq!(pieces, ["8: 1 messages whose session does not exist"]);
        assert_eq!((seen[0].external_id.as_str(), seen[0].project.as_deref()), ("s", Some("/home/oda/kites")));
        let times: Vec<_> = seen[0].messages[1..6].iter().map(|one| one.time.unwrap()).collect();
        assert_eq!((times[0].at.to_string().as_str(), times[0].offset_seconds), ("2026-03-02T09:00:01.25Z", Some(0)));
        assert_eq!((times[0].source, times[4].source), (TimeSource::Log, TimeSource::Derived));
    }

    #[test]
    fn agents_and_schedules_are_no_persons_and_a_branch_begins_where_it_left() {
        let (_, seen, pieces) = read(
            r#"INSERT INTO sessions VALUES ('a', 'cli', '', NULL, '', NULL, 1, '', ''), ('b', 'cli', '', '{"_branched_from":"a"}', '', 'a', 2, '', ''),
              ('c', 'cli', '', '{"_delegate_from":"a"}', '', 'a', 3, '', ''), ('d', 'cron', '', NULL, '', NULL, 4, '', '');
            INSERT INTO messages (session_id, role, content, timestamp) VALUES
              ('a', 'user', 'one', 1), ('a', 'assistant', '1', 1), ('a', 'user', 'two', 1),
              ('b', 'user', 'one', 2), ('b', 'assistant', '1', 2), ('b', 'user', 'three', 2),
              ('c', 'user', 'look', 3), ('d', 'user', 'each morning', 4);"#,
        );
        let ids: Vec<_> = seen.iter().map(|one| (one.external_id.as_str(), shown(one))).collect();
        let said = |lines: &[&str]| lines.iter().map(|line| (*line).to_owned()).collect::<Vec<_>>();
        assert_eq!(
            ids,
            [
                ("a", said(&["User Prose: one", "Assistant Prose: 1", "User Prose: two"])),
                ("b", said(&["User Prose: three"])),
                ("a/c", said(&["Other Prose: look"])),
                ("d", said(&["Other Prose: each morning"])),
            ]
        );
        assert_eq!(pieces, ["5: 2 messages up to here repeat the session from which this one was branched"]);
    }
}
