//! goose sessions: the JSONL files of old, `sessions.db`, and one session as `goose session export` writes it.
//!
//! The number of a session in the database is a counter of the day, which two computers share, so its identity takes
//! the first message in; a file that was later moved into the database keeps its identity that way.

mod content;
mod sessions;

use serde_json::Value;

use self::content::{is_content, is_hidden_from_agent, messages_of};
use super::turn;
use crate::{Assembler, Head, IngestError, Ingestor, Input, Records, Sink, database, identity};
use crate::{Message, MessageTime, Transcript};

/// The ingestor's name, stored with each transcript.
const NAME: &str = "goose";

/// Reads goose sessions.
pub struct Goose;

impl Ingestor for Goose {
    fn name(&self) -> &'static str {
        NAME
    }

    fn about(&self) -> &'static str {
        "goose sessions: sessions.db, older JSONL files, and exported JSON"
    }

    fn rule(&self) -> &'static str {
        "SQLite with the tables `sessions` and `messages`, the latter with `content_json`; or JSONL after a line with `working_dir`"
    }

    fn sniff(&self, head: &Head<'_>) -> bool {
        let has = |column: &str| head.columns.iter().any(|there| there == column);
        has("messages.content_json") && has("sessions.id")
            || head.any_line(is_header)
            || head.most_lines(is_message)
            || head.document.as_ref().is_some_and(|one| is_header(one) || is_export(one) || is_message(one))
    }

    fn read(&self, input: Input, sink: &mut Sink<'_>) -> Result<(), IngestError> {
        let origin = input.path.display().to_string();
        if let Some(database) = database::of(&input)? {
            return sessions::read(&database, &origin, sink);
        }
        let stem = input.stem();
        let is_export = Head::of(&input).document.as_ref().is_some_and(is_export);
        let mut records = if is_export { Records::elements(input) } else { Records::lines(input) };
        let mut session = Session::new(stem, origin);
        while let Some((number, record)) = records.next_json::<Value>(sink)? {
            if is_export && record["conversation"].is_array() {
                session.describe(&record);
                session.id = record["id"].as_str().map_or(session.id, str::to_owned);
                for message in record["conversation"].as_array().into_iter().flatten() {
                    session.take(message, sink);
                }
            } else if is_message(&record) {
                session.take(&record, sink);
            } else if is_header(&record) {
                session.describe(&record);
            } else {
                sink.skip(number, "neither the session's head nor a message");
            }
        }
        session.finish(sink);
        Ok(())
    }
}

/// The first line of a file: what the session was about and where.
fn is_header(line: &Value) -> bool {
    let counts = ["description", "message_count", "total_tokens", "schedule_id"];
    line["working_dir"].is_string() && line.get("role").is_none() && counts.iter().any(|key| line.get(*key).is_some())
}

fn is_message(line: &Value) -> bool {
    line["role"].is_string() && line["created"].is_number() && is_content(&line["content"])
}

fn is_export(document: &Value) -> bool {
    document["working_dir"].is_string() && document["conversation"].is_array()
}

/// Who writes the user's turn of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Author {
    Person,
    /// Another agent, or a schedule.
    Program,
}

/// One of goose's messages.
struct Said<'a> {
    id: Option<String>,
    role: &'a str,
    content: &'a Value,
    metadata: &'a Value,
    time: Option<MessageTime>,
}

/// One session while it is read.
struct Session {
    id: String,
    author: Author,
    is_compacted: bool,
    draft: Assembler,
    is_known: bool,
}

impl Session {
    fn new(id: String, origin: String) -> Self {
        let draft = Assembler::new(NAME, id.as_str(), origin);
        Self { id, author: Author::Person, is_compacted: false, draft, is_known: false }
    }

    fn meta(&mut self) -> &mut Transcript {
        self.draft.meta()
    }

    fn describe(&mut self, header: &Value) {
        let meta = self.draft.meta();
        let named = ["name", "description"].into_iter().find_map(|key| turn::text(&header[key]));
        meta.title = named.map(str::to_owned);
        meta.project = turn::text(&header["working_dir"]).map(str::to_owned);
        meta.created_at = identity::instant(&header["created_at"]);
        if header["session_type"].as_str().is_some_and(is_programs) || turn::text(&header["schedule_id"]).is_some() {
            self.author = Author::Program;
        }
    }

    /// Takes a message as files spell it.
    fn take(&mut self, record: &Value, sink: &mut Sink<'_>) {
        let said = Said {
            id: record["id"].as_str().map(str::to_owned),
            role: record["role"].as_str().unwrap_or_default(),
            content: &record["content"],
            metadata: &record["metadata"],
            time: turn::time(&record["created"]),
        };
        self.add(&said, sink);
    }

    fn add(&mut self, said: &Said<'_>, sink: &mut Sink<'_>) {
        self.is_compacted |= is_hidden_from_agent(said.metadata);
        let mut messages = messages_of(said.role, said.content, said.metadata, self.is_compacted);
        if self.author == Author::Program {
            turn::of_sub_agent(&mut messages);
        }
        for message in messages {
            let message = Message { id: said.id.clone().unwrap_or_default(), time: said.time, ..message };
            if !self.is_known && !message.text.trim().is_empty() {
                self.is_known = true;
                let first: String = message.content_hash().chars().take(12).collect();
                self.draft.set_external_id(format!("{}-{first}", self.id));
            }
            self.draft.push(message, sink);
        }
    }

    fn finish(self, sink: &mut Sink<'_>) {
        self.draft.finish(sink);
    }
}

/// Whether no person types in sessions of this type.
fn is_programs(session_type: &str) -> bool {
    matches!(session_type, "sub_agent" | "subagent" | "scheduled")
}

#[cfg(test)]
mod tests;
