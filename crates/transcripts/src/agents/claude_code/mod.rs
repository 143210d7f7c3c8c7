//! Claude Code session logs: one JSONL file a session, and one for each of its sub-agents.
//!
//! Each block of a log line becomes a message of its own, under the line's uuid; the lines of one answer follow each
//! other. A resumed session's log begins with a copy of the one before, which is not read twice (`copies`). What the
//! user typed is told apart from what the program wrote into the user's turn (`words`), and of a
//! conversation that was rewound only the newest branch is kept (`branches`).

mod branches;
mod copies;
mod heads;
mod history;
mod line;
mod session;
mod words;

use std::collections::HashMap;

use serde_json::Value;

use self::copies::Copies;
use self::line::Line;
use self::session::{Session, Summary};
use crate::lenient::Object;
use crate::{Head, IngestError, Ingestor, Input, Records, Sink};

/// The ingestor's name, stored with each transcript.
const NAME: &str = "claude-code";

/// Line types beside messages; with a session id they are Claude Code's own.
const BOOKKEEPING_TYPES: &[&str] = &[
    "agent-name",
    "agent-setting",
    "ai-title",
    "attachment",
    "custom-title",
    "last-prompt",
    "mode",
    "permission-mode",
    "pr-link",
    "progress",
    "queue-operation",
    "system",
];

/// Reads Claude Code sessions.
pub struct ClaudeCode;

impl Ingestor for ClaudeCode {
    fn name(&self) -> &'static str {
        NAME
    }

    fn about(&self) -> &'static str {
        "Claude Code session and sub-agent logs, and its history of prompts"
    }

    fn rule(&self) -> &'static str {
        "JSONL; lines with `message.role` and `uuid` or `sessionId`, or its own line types with `sessionId`; or lines with `display` and `timestamp`"
    }

    fn sniff(&self, head: &Head<'_>) -> bool {
        let is_ours = |line: &Value| is_own_line(line) || history::is_entry(line);
        let is_foreign = |line: &Value| line.pointer("/message/parts").is_some();
        head.most_lines(is_ours) && !head.any_line(is_foreign) || head.document.as_ref().is_some_and(is_ours)
    }

    fn read(&self, input: Input, sink: &mut Sink<'_>) -> Result<(), IngestError> {
        let is_history = {
            let head = Head::of(&input);
            head.most_lines(history::is_entry) || head.document.as_ref().is_some_and(history::is_entry)
        };
        if is_history {
            return history::read(input, sink);
        }
        let mut sessions = Sessions::new(&input);
        let mut records = Records::lines(input);
        while let Some((number, line)) = records.next_json::<Object<Line>>(sink)? {
            match line.0 {
                Some(line) if line.is_broken() => sink.skip(number, "the line holds no message object"),
                Some(line) => sessions.take(number, line, sink),
                None => sink.skip(number, "not a JSON object"),
            }
        }
        sessions.finish(sink);
        Ok(())
    }
}

fn is_own_line(line: &Value) -> bool {
    let is_text = |key: &str| line.get(key).is_some_and(Value::is_string);
    let kind = line.get("type").and_then(Value::as_str).unwrap_or_default();
    match kind {
        "user" | "assistant" => {
            let role = line.pointer("/message/role").and_then(Value::as_str);
            // Qwen Code writes lines like these around messages in the shape of Gemini's.
            let is_ours = role == Some(kind) && line.pointer("/message/parts").is_none();
            is_ours && (is_text("uuid") || is_text("sessionId"))
        }
        "summary" => is_text("leafUuid"),
        "started" | "result" => is_text("agentId"),
        "file-history-snapshot" | "file-history-delta" => is_text("messageId"),
        _ => is_text("sessionId") && BOOKKEEPING_TYPES.contains(&kind),
    }
}

/// The sessions of one file: one, unless it begins with lines of another, or several logs were joined into it.
struct Sessions {
    /// Name of the file, if it is a session's uuid.
    file_id: Option<String>,
    copies: Option<Copies>,
    stem: String,
    origin: String,
    open: Vec<Session>,
    index: HashMap<String, usize>,
    last: usize,
    summaries: Vec<Summary>,
    journal: Option<usize>,
}

impl Sessions {
    fn new(input: &Input) -> Self {
        let stem = input.stem();
        let stem = stem.strip_suffix(".jsonl").unwrap_or(&stem).to_owned();
        let file_id = uuid::Uuid::try_parse(&stem).is_ok().then(|| stem.clone());
        Self {
            copies: file_id.as_ref().map(|id| Copies::new(id, input)),
            file_id,
            stem,
            origin: input.path.display().to_string(),
            open: Vec::new(),
            index: HashMap::new(),
            last: 0,
            summaries: Vec::new(),
            journal: None,
        }
    }

    fn take(&mut self, number: usize, mut line: Line, sink: &mut Sink<'_>) {
        if let (Some(text), Some(leaf)) = (line.summary.0.take(), line.leaf_uuid.0.take()) {
            self.summaries.push(Summary { text, leaf });
        } else if line.is_journal() {
            self.journal.get_or_insert(number);
        } else if !self.copies.as_mut().is_some_and(|copies| copies.is_copy(number, &line)) {
            self.last = self.place(&line);
            self.open[self.last].take(line, &self.summaries, sink);
        }
    }

    /// Finds the session of `line`, or opens it; a line that names none belongs to the one before it.
    fn place(&mut self, line: &Line) -> usize {
        let id = match (&self.file_id, line.session()) {
            (Some(file_id), Some(id)) if file_id == id => id.to_owned(),
            (_, Some(id)) if line.is_agents_own() => format!("{id}/{}", line.agent_id.as_str()),
            (_, Some(id)) => id.to_owned(),
            (_, None) if self.open.is_empty() => self.stem.clone(),
            (_, None) => return self.last,
        };
        *self.index.entry(id).or_insert_with_key(|id| {
            self.open.push(Session::new(id, &self.origin));
            self.open.len() - 1
        })
    }

    fn finish(self, sink: &mut Sink<'_>) {
        if let Some(copies) = self.copies {
            copies.finish(sink);
        }
        if let Some(line) = self.journal {
            sink.skip(line, "a workflow's journal holds no conversation; its agents have logs of their own");
        }
        for session in self.open {
            session.finish(&self.summaries, sink);
        }
    }
}

#[cfg(test)]
mod tests;
