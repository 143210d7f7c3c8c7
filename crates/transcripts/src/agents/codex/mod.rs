//! Codex rollouts, one file per thread: the single JSON object of spring 2025, the bare items of later versions, and
//! the envelopes of current versions; also the output of `codex exec --json`, and the history of prompts.
//!
//! The log contains most messages twice, as a `response_item` for the model and as an `event_msg` for the screen; each
//! message is read once. The screen's copy contains only text that the user typed, so in a file with such copies, any
//! other text in the user's turn counts as injected.

mod item;
mod prompts;

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};

use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::Value;

use self::prompts::Templates;
use crate::json::Json;
use crate::message::action;
use crate::message::assemble::{Prompt, Prompts};
use crate::message::identity;
use crate::message::parts::call_on;
use crate::message::speaker::slash_command;
use crate::{Assembler, Head, IngestError, Ingestor, Input, Kind, Message, MessageTime, Records, Role, Sink};

/// Name of the format, stored with each transcript.
const NAME: &str = "codex";

const ENVELOPE_TYPES: &[&str] = &[
    "session_meta", "response_item", "event_msg", "turn_context", "compacted", "world_state",
    "inter_agent_communication", "inter_agent_communication_metadata",
];

/// Reads Codex threads.
pub(crate) struct Codex;

impl Ingestor for Codex {
    named!(NAME);

    fn sniff(&self, head: &Head<'_>) -> bool {
        head.is_log_of(is_envelope)
            || head.any_line(is_bare_head) && head.any_line(is_bare_message)
            || head.document.as_ref().is_some_and(is_document)
            || head.is_log_of(is_stream_event)
            || head.is_log_of(is_history_entry)
    }

    fn read(&self, input: Input, sink: &mut Sink<'_>) -> Result<(), IngestError> {
        let head = Head::of(&input);
        let is_document = head.document.as_ref().is_some_and(is_document);
        let (is_stream, is_history) = (head.is_log_of(is_stream_event), head.is_log_of(is_history_entry));
        drop(head);
        if is_stream {
            return read_stream(input, sink);
        } else if is_history {
            return read_history(input, sink);
        }
        let mut thread = Thread::new(&input);
        let mut records = if is_document { Records::elements(input) } else { Records::lines(input) };
        while let Some((number, record)) = records.next_json::<Value>(sink)? {
            if !is_document {
                thread.take(number, number, &record, sink);
                continue;
            }
            for (place, line) in std::iter::once(&record["session"]).chain(record["items"].list()).enumerate() {
                thread.take(number, place, line, sink);
            }
        }
        thread.finish(sink);
        Ok(())
    }
}

/// Returns whether `value` is a rollout of spring 2025, which is a single object.
fn is_document(value: &Value) -> bool {
    value["session"]["id"].is_string() && value["session"]["timestamp"].is_string() && value["items"].is_array()
}

fn is_envelope(line: &Value) -> bool {
    let kind = line.get("type").and_then(Value::as_str).unwrap_or_default();
    ENVELOPE_TYPES.contains(&kind) && line.get("payload").is_some_and(Value::is_object)
}

/// Returns whether `line` is the first line of a bare log: it has an id and a time, but no type.
fn is_bare_head(line: &Value) -> bool {
    let is_text = |key: &str| line.get(key).is_some_and(Value::is_string);
    is_text("id") && is_text("timestamp") && line.get("type").is_none()
        || line.get("record_type").and_then(Value::as_str) == Some("state")
}

fn is_bare_message(line: &Value) -> bool {
    let block = line.pointer("/content/0/type").and_then(Value::as_str);
    line.get("type").and_then(Value::as_str) == Some("message")
        && line.get("uuid").is_none()
        && matches!(block, Some("input_text" | "output_text"))
}

// One thread while it is being read: its head, and which lines belong to it.

/// The initiator of the thread.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Origin {
    /// A person started the thread, without copying earlier messages.
    #[default]
    Person,
    /// A person forked the thread from another thread; the file begins with a copy of that thread.
    Fork,
    /// Another agent started the thread and writes the prompts.
    Agent,
}

/// Collects one thread.
#[derive(Default)]
struct Thread {
    turns: Turns,
    own_id: Option<String>,
    started_at: Option<Timestamp>,
    origin: Origin,
    /// Whether the current lines are copied from the thread that this one was forked from.
    in_copy: bool,
    replayed: Option<usize>,
    disabled_at: Option<usize>,
    zone: Option<TimeZone>,
    /// Hashes of the instructions that have already occurred.
    instructions: HashSet<String>,
    templates: Templates,
}

impl Thread {
    fn new(input: &Input) -> Self {
        let stem = input.stem();
        // For a compressed rollout, the stem still ends in `.jsonl`.
        let stem = stem.strip_suffix(".jsonl").unwrap_or(&stem);
        let draft = Assembler::new(NAME, stem, input.path.display().to_string());
        let turns = Turns { draft, ..Turns::default() };
        Self { turns, templates: Templates::beside(input), ..Self::default() }
    }

    /// Reads one line; `place` is its number in reports, and `number` its number in the rest of the thread.
    fn take(&mut self, number: usize, place: usize, line: &Value, sink: &mut Sink<'_>) {
        if line["payload"].is_object() {
            self.take_envelope(number, line);
        } else if line.is_object() {
            self.take_bare(number, line);
        } else {
            sink.skip(place, "not a JSON object");
        }
        if self.turns.draft.is_full() {
            self.release(sink);
        }
    }

    fn finish(mut self, sink: &mut Sink<'_>) {
        if let Some(line) = self.disabled_at {
            sink.skip(line, "the thread's memory mode is disabled, so the thread is not read");
            return;
        }
        self.release(sink);
        if let Some(line) = self.replayed.filter(|_| !self.turns.said_anything) {
            sink.skip(line, "only a copy of the thread from which it was forked");
        }
    }

    fn take_envelope(&mut self, number: usize, line: &Value) {
        let item = &line["payload"];
        let time = self.time(line, item);
        match line["type"].string() {
            "session_meta" => self.take_head(number, item),
            "turn_context" => self.take_context(item, time),
            "compacted" if !self.is_replay(number, time) => {
                self.hold_all(Voice::Item, "", time, vec![Message::summary(item["message"].string())]);
            }
            "event_msg" => {
                self.end_replay(item, time);
                if !self.is_replay(number, time) {
                    self.take_event(item, time);
                }
            }
            "response_item" if !self.is_replay(number, time) => {
                self.hold_all(Voice::Item, item["id"].string(), time, item::item_messages(item));
            }
            _ => {}
        }
    }

    /// Reads a line from versions without envelopes: the head or an item.
    fn take_bare(&mut self, number: usize, item: &Value) {
        if item["type"].text().is_some() {
            let time = identity::rfc3339(&item["timestamp"]);
            self.hold_all(Voice::Item, item["id"].string(), time, item::item_messages(item));
        } else if item["record_type"].text().is_none() {
            self.take_head(number, item);
        }
    }

    /// Reads the head of the thread; a second head with another id begins a copy of the thread that this one was forked
    /// from.
    fn take_head(&mut self, number: usize, head: &Value) {
        let Some(id) = head["id"].text() else { return };
        if self.own_id.as_ref().is_some_and(|own| own != id) {
            self.in_copy = true;
            self.replayed.get_or_insert(number);
            return;
        }
        match head["memory_mode"].string() {
            // The setting can be changed during the thread; the last value counts.
            "disabled" => self.disabled_at = Some(number),
            "enabled" => self.disabled_at = None,
            _ => {}
        }
        let is_later = self.own_id.replace(id.to_owned()).is_some();
        // A thread that a program began can be resumed by a person, and the reverse.
        if !is_later || head["source"].text().is_some() || head["originator"].text().is_some() {
            self.turns.is_of_program = item::is_of_program(head);
        }
        if is_later {
            return;
        }
        let parent = item::parent_id(head);
        self.origin = if item::is_agents(head) {
            Origin::Agent
        } else if parent.is_some() || head["forked_from_id"].text().is_some() {
            Origin::Fork
        } else {
            Origin::Person
        };
        let external_id = match parent.filter(|_| self.origin == Origin::Agent) {
            Some(parent) => format!("{parent}/{id}"),
            None => id.to_owned(),
        };
        let time = identity::rfc3339(&head["timestamp"]);
        self.started_at = time.map(|time| time.at);
        self.turns.draft.set_external_id(external_id);
        let url = head["git"]["repository_url"].owned();
        let meta = self.turns.draft.meta();
        meta.created_at = self.started_at;
        meta.project = head["cwd"].owned().or_else(|| url.clone());
        meta.repository = url;
        meta.branch = head["git"]["branch"].owned();
        self.instruct(head, time);
    }

    /// Adds the instructions that have not occurred before; each turn repeats its instructions.
    fn instruct(&mut self, record: &Value, time: Option<MessageTime>) {
        let mut messages = item::instructions(record);
        messages.retain(|message| self.instructions.insert(message.content_hash()));
        self.hold_all(Voice::Item, "", time, messages);
    }

    fn take_context(&mut self, context: &Value, time: Option<MessageTime>) {
        let meta = self.turns.draft.meta();
        meta.project = meta.project.take().or_else(|| context["cwd"].owned());
        if !self.in_copy {
            meta.model = context["model"].owned().or(meta.model.take());
            self.zone = context["timezone"].text().and_then(|name| TimeZone::get(name).ok()).or(self.zone.take());
            self.instruct(context, time);
        }
    }

    fn take_event(&mut self, event: &Value, time: Option<MessageTime>) {
        match event["type"].string() {
            // Undone turns remain in the log, which is append-only; this line contains the number of undone turns.
            "thread_rolled_back" => self.turns.roll_back(event["num_turns"].as_i64().unwrap_or(1)),
            "thread_name_updated" => self.turns.draft.meta().title = event["thread_name"].owned(),
            _ => self.hold_all(Voice::Event, "", time, item::event_messages(event)),
        }
    }

    fn time(&self, line: &Value, item: &Value) -> Option<MessageTime> {
        let time = identity::rfc3339(&line["timestamp"]).or_else(|| identity::rfc3339(&item["timestamp"]))?;
        let offset = self.zone.as_ref().map(|zone| zone.to_offset(time.at).seconds());
        Some(MessageTime { offset_seconds: offset.or(time.offset_seconds), ..time })
    }

    /// Returns whether a line repeats the parent thread: it is in the copy, or was written before this thread began.
    fn is_replay(&mut self, number: usize, time: Option<MessageTime>) -> bool {
        let is_older = self.started_at.zip(time).is_some_and(|(start, time)| time.at < start);
        let is_replay = self.in_copy || self.origin != Origin::Person && is_older;
        if is_replay {
            self.replayed.get_or_insert(number);
        }
        is_replay
    }

    /// Ends the copy at the first turn that began after this thread.
    fn end_replay(&mut self, event: &Value, time: Option<MessageTime>) {
        if !self.in_copy || !matches!(event["type"].string(), "task_started" | "turn_started") {
            return;
        }
        let began = event["started_at"].as_i64().map_or(time.map(|time| time.at.as_second()), Some);
        // The event's time is in whole seconds, so a start time in milliseconds would seem later than the thread's
        // first turn.
        let start = self.started_at.map(Timestamp::as_second);
        if start.is_none_or(|start| began.is_some_and(|began| began >= start)) {
            self.in_copy = false;
        }
    }

    fn hold_all(&mut self, voice: Voice, id: &str, time: Option<MessageTime>, messages: Vec<Message>) {
        let messages = messages.into_iter().flat_map(|message| self.templates.split(message));
        for (place, message) in messages.enumerate() {
            // An event that is not the assistant's contains the user's turn, which may begin with a template.
            let begins_turn = voice == Voice::Event && place == 0 && message.role != Role::Assistant;
            self.turns.hold(voice, begins_turn, self.origin, Message { id: id.to_owned(), time, ..message });
        }
    }

    fn release(&mut self, sink: &mut Sink<'_>) {
        if self.disabled_at.is_some() {
            self.turns.held.clear();
            self.turns.draft.truncate(0);
        }
        self.turns.release(sink);
    }
}

// The messages of a thread, buffered until copies and undone turns are resolved.

/// Number of preceding messages that are searched for the other copy; the two copies are milliseconds apart.
const COPY_DISTANCE: usize = 24;

/// The kind of log entry that a message comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Voice {
    /// `event_msg`, for the screen.
    Event,
    /// `response_item`, for the model.
    Item,
    /// Both copies have been seen.
    Both,
}

/// Information about a buffered message.
#[derive(Debug, Clone, PartialEq)]
struct Held {
    voice: Voice,
    begins_turn: bool,
    kind: Kind,
    role: Role,
    /// Hash of the words, used to find copies.
    words: u64,
}

/// The messages of a thread.
///
/// Copies and undone turns are resolved among the buffered messages, which are only the last part of a very long
/// thread.
#[derive(Default)]
struct Turns {
    draft: Assembler,
    held: Vec<Held>,
    /// Number of leading buffered messages that do not begin a turn; skipping them keeps rolling back cheap.
    barren: usize,
    has_events: bool,
    said_anything: bool,
    /// Whether a program writes the prompts, according to the last head.
    is_of_program: bool,
}

impl Turns {
    /// Adds a message, unless it is a copy.
    fn hold(&mut self, voice: Voice, begins_turn: bool, origin: Origin, mut message: Message) {
        self.has_events |= begins_turn;
        // The two copies may differ in white space.
        let words = hash_words(&message.text);
        let new = Held { voice, begins_turn, kind: message.kind, role: message.role, words };
        if self.is_copy(&new) {
            return;
        }
        message.time = self.draft.next_time(message.time);
        let is_others = match message.role {
            Role::User => self.is_of_program || origin == Origin::Agent,
            Role::Tool | Role::System => false,
            Role::Assistant | Role::Other => origin == Origin::Agent,
        };
        if is_others {
            message.role = Role::Other;
        }
        // Replies through a tool count like the tool's result: they begin no turn and are shown only as a result.
        let count = self.draft.hold(message);
        self.held.extend(std::iter::repeat_n(new, count));
    }

    /// Returns whether `new` is the other copy of a buffered message.
    fn is_copy(&mut self, new: &Held) -> bool {
        if !matches!(new.kind, Kind::Prose | Kind::Reasoning | Kind::Context) {
            return false;
        }
        let copy = self.held.iter_mut().rev().take(COPY_DISTANCE).find(|held| {
            let is_other = held.voice != Voice::Both && held.voice != new.voice;
            is_other && held.kind == new.kind && held.role == new.role && held.words == new.words
        });
        let mark = |held: &mut Held| {
            held.voice = Voice::Both;
            held.begins_turn |= new.begins_turn;
        };
        copy.map(mark).is_some()
    }

    /// Removes the user's last `turns` turns and everything that follows them.
    fn roll_back(&mut self, turns: i64) {
        let mut left = turns;
        let mut start = None;
        let mut place = self.held.len();
        while left > 0 && place > self.barren {
            place -= 1;
            if self.is_turn(&self.held[place]) {
                (left, start) = (left - 1, Some(place));
            }
        }
        if left > 0 {
            self.barren = start.unwrap_or(self.held.len());
        }
        if let Some(start) = start {
            self.held.truncate(start);
            self.draft.truncate(start);
        }
    }

    fn is_turn(&self, held: &Held) -> bool {
        held.begins_turn || !self.has_events && held.role == Role::User && held.kind == Kind::Prose
    }

    /// Passes the buffered messages to `sink`; user messages that were never shown on the screen were not typed.
    fn release(&mut self, sink: &mut Sink<'_>) {
        let mut held = self.held.drain(..);
        let has_events = self.has_events;
        // Typed text can be identified only once all events have been read.
        self.draft.retain(|message| {
            let held = held.next().expect("there is one entry per buffered message");
            if has_events && held.role == Role::User && held.kind == Kind::Prose && held.voice == Voice::Item {
                (message.role, message.kind) = (Role::System, Kind::Context);
            }
            self.said_anything = true;
            true
        });
        drop(held);
        self.barren = 0;
        self.draft.hand_over(sink);
    }
}

fn hash_words(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.split_whitespace().for_each(|word| word.hash(&mut hasher));
    hasher.finish()
}

// The output of `codex exec --json`: the agent's part of a thread, without the prompt and without times.

/// Returns whether `line` is an event of such a stream.
fn is_stream_event(line: &Value) -> bool {
    let kind = line["type"].string();
    match kind.split_once('.') {
        Some(("thread", _)) => line["thread_id"].is_string(),
        Some(("item", "started" | "updated" | "completed")) => line["item"]["type"].is_string(),
        Some(("turn", "started" | "completed" | "failed")) => {
            line.get("payload").is_none() && line.get("data").is_none()
        }
        _ => false,
    }
}

/// Reads a stream. The stream gets a separate identity, because the thread's rollout has the same id and contains more.
fn read_stream(input: Input, sink: &mut Sink<'_>) -> Result<(), IngestError> {
    let (stem, origin, time) = (input.stem(), input.path.display().to_string(), identity::file_time(&input));
    let new = |id: &str| {
        let mut draft = Assembler::new(NAME, format!("exec/{id}"), origin.as_str());
        draft.meta().created_at = time.map(|time| time.at);
        draft
    };
    let mut draft = new(&stem);
    let mut records = Records::lines(input);
    while let Some((number, line)) = records.next_json::<Value>(sink)? {
        match line["type"].string() {
            // Several streams may be appended to one file.
            "thread.started" => {
                let id = line["thread_id"].as_str().unwrap_or(&stem);
                std::mem::replace(&mut draft, new(id)).finish(sink);
            }
            // An item is printed when it starts, changes and ends; the last version is complete.
            "item.completed" => {
                draft.push_all("", time, stream_messages(&line["item"]), sink);
            }
            "error" | "turn.failed" => {
                let text = line["message"].as_str().or(line["error"]["message"].as_str()).unwrap_or_default();
                draft.push(Message { time, ..Message::context(text) }, sink);
            }
            _ if is_stream_event(&line) => {}
            _ => sink.skip(number, "not an event of `codex exec`"),
        }
    }
    draft.finish(sink);
    Ok(())
}

fn stream_messages(item: &Value) -> Vec<Message> {
    let text = |key: &str| item[key].string();
    let call = |name: &str, target: &str| Message::call(call_on(name, target));
    match text("type") {
        // The first versions called this item `assistant_message`.
        "agent_message" | "assistant_message" => vec![Message::assistant(text("text"))],
        "reasoning" => vec![Message::reasoning(text("text"))],
        "command_execution" => {
            let (id, exit) = (item["id"].text(), item["exit_code"].as_i64());
            let mut ended = Message::answer(text("aggregated_output"));
            ended.action = action::of_result(id, None, exit);
            vec![call("shell", text("command")).doing("shell", item).called(id), ended]
        }
        "file_change" => {
            let changes = item["changes"].list();
            let changed = |change: &Value| {
                let tool = match change["kind"].string() {
                    "add" => "create_file",
                    "delete" => "delete_file",
                    _ => "edit_file",
                };
                call("file_change", change["path"].string()).doing(tool, change)
            };
            changes.iter().map(changed).collect()
        }
        "mcp_tool_call" => vec![call(text("tool"), text("server"))],
        "web_search" => vec![call("web_search", text("query"))],
        "error" => vec![Message::context(text("message"))],
        "todo_list" => {
            let plan = item["items"].list();
            let plan: Vec<_> = plan.iter().filter_map(|step| step["text"].as_str()).collect();
            vec![Message::new(Role::Assistant, Kind::Context, plan.join("\n"))]
        }
        _ => vec![Message::new(Role::Other, Kind::Context, text("text"))],
    }
}

// `history.jsonl`: the prompts that were typed in all threads, without the answers.

/// Length of the thread's id at the end of a rollout's name.
const ID_LENGTH: usize = 36;

/// Returns whether `line` is an entry of the history.
fn is_history_entry(line: &Value) -> bool {
    line["session_id"].is_string() && line["ts"].is_number() && line["text"].is_string() && line.get("type").is_none()
}

/// Reads the history. Prompts of a thread that has a rollout are read from that rollout instead.
fn read_history(input: Input, sink: &mut Sink<'_>) -> Result<(), IngestError> {
    // Archiving a thread moves its rollout, but the history still contains its prompts.
    let rollouts = ["sessions", "archived_sessions"].into_iter().flat_map(|folder| input.names_beside(folder));
    let logged: HashSet<String> = rollouts.filter_map(|name| named_thread(&name)).collect();
    let templates = Templates::beside(&input);
    let mut prompts = Prompts::new(NAME, &input, logged);
    let mut records = Records::lines(input);
    while let Some((number, entry)) = records.next_json::<Value>(sink)? {
        let (Some(session), true) = (entry["session_id"].as_str(), is_history_entry(&entry)) else {
            sink.skip(number, "not a history entry");
            continue;
        };
        let time = identity::instant(&entry["ts"]).map(MessageTime::logged);
        let messages = typed_messages(entry["text"].string()).into_iter();
        for message in messages.flat_map(|message| templates.split(message)) {
            let message = Message { time, ..message };
            prompts.take(number, Prompt { session, key: session, project: None, message }, sink);
        }
    }
    prompts.finish(sink);
    Ok(())
}

fn typed_messages(text: &str) -> Vec<Message> {
    match slash_command(text) {
        Some((name, argument)) => {
            let call = call_on(&format!("/{name}"), argument);
            vec![Message::new(Role::User, Kind::ToolCall, call)]
        }
        None => item::user_words(text),
    }
}

/// Returns the id of the thread in a name such as `2026/01/02/rollout-2026-01-02T03-04-05-<id>.jsonl.zst`.
fn named_thread(name: &str) -> Option<String> {
    let stem = name.rsplit('/').next()?.split('.').next()?;
    let id = stem.get(stem.len().checked_sub(ID_LENGTH)?..)?;
    uuid::Uuid::try_parse(id).ok().map(|_| id.to_owned())
}

#[cfg(test)]
mod tests;
