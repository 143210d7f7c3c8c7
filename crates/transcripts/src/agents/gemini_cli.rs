//! Gemini CLI: session recordings, saved checkpoints, and the history of prompts.
//!
//! A recording is one JSON object (until 2025) or JSONL (2026), in which a later line can change an earlier one,
//! replace all earlier lines, or undo the last ones. A checkpoint contains only the history of a chat; `logs.json`
//! contains the prompts that were typed.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use crate::agents::turn;
use crate::json::Json;
use sha2::{Digest as _, Sha256};

use crate::message::asked;
use crate::message::assemble::{Prompt, Prompts};
use crate::message::identity;
use crate::message::parts::{call_on, gemini_call, gemini_parts};
use crate::message::speaker::{is_only_injected, slash_command};
use crate::{
    Assembler, Folder, Head, IngestError, Ingestor, Input, Kind, MAX_PART_BYTES, Message, MessageTime, Records, Role,
    Sink, hex,
};

/// Name of the format, stored with each transcript.
const NAME: &str = "gemini-cli";
/// Number of digits of the session's id at the end of a recording's name.
const ID_DIGITS: usize = 8;

/// Reads the files that Gemini CLI writes.
pub(crate) struct GeminiCli;

impl Ingestor for GeminiCli {
    named!(NAME);

    fn sniff(&self, head: &Head<'_>) -> bool {
        let is_array = matches!(head.document, Some(Value::Array(_)));
        let is_document =
            |value: &Value| if is_array { is_prompt(value) } else { is_start(value) || is_checkpoint(value) };
        head.objects().any(is_document)
            || head.any_line(is_start)
            || head.any_line(is_change) && head.any_line(is_message)
    }

    fn read(&self, input: Input, sink: &mut Sink<'_>) -> Result<(), IngestError> {
        let (is_lines, is_array) = {
            let head = Head::of(&input);
            (!head.lines.is_empty(), matches!(head.document, Some(Value::Array(_))))
        };
        if is_array {
            return read_prompts(input, sink);
        }
        // A recording from 2025 continues in a JSONL file of the same name, and the old file remains. Tools that
        // archive recordings name either kind `.jsonl`.
        let is_archived = input.path.extension().is_some_and(|ending| ending == "jsonl");
        let lines = format!("{}.jsonl", input.stem());
        if !is_lines && !is_archived && input.sibling(&lines).is_some_and(is_readable) {
            sink.leave_to(&lines);
            return Ok(());
        }
        let mut session = Session::new(&input);
        let (stem, origin, saved) = (input.stem(), input.path.display().to_string(), identity::file_time(&input));
        let mut records = if is_lines { Records::lines(input) } else { Records::elements(input) };
        while let Some((number, value)) = records.next_json::<Value>(sink)? {
            if is_checkpoint(&value) {
                read_checkpoint(&value["history"], &stem, &origin, saved, sink);
            } else if !session.take(number, value, sink) {
                sink.skip(number, "neither a message nor a change to a message");
            }
        }
        session.finish(sink);
        Ok(())
    }
}

/// Returns whether the file contains a conversation, rather than being damaged or of another program.
fn is_readable(input: Input) -> bool {
    let mut is_read = false;
    let mut accept = |_| is_read = true;
    let is_whole = GeminiCli.read(input, &mut Sink::new(&mut accept)).is_ok();
    is_whole && is_read
}

/// Returns whether `value` is a whole recording, or the first line of a recording.
fn is_start(value: &Value) -> bool {
    value["projectHash"].is_string() && value["sessionId"].is_string()
}

/// Returns whether `value` is a line that changes earlier lines.
fn is_change(value: &Value) -> bool {
    value["$set"].is_object() || value["$rewindTo"].is_string()
}

fn is_message(value: &Value) -> bool {
    value["id"].is_string() && value["timestamp"].is_string() && KINDS.contains(&value["type"].as_str().unwrap_or(""))
}

fn is_checkpoint(value: &Value) -> bool {
    let turns = value["history"].list();
    turns.iter().any(|turn| {
        matches!(turn["role"].as_str(), Some("user" | "model")) && turn.get("parts").is_some_and(Value::is_array)
    })
}

fn is_prompt(value: &Value) -> bool {
    value["sessionId"].is_string() && value["messageId"].is_number() && value["message"].is_string()
}

/// Reads `logs.json`, which contains the prompts of all sessions in one project, and nothing else.
fn read_prompts(input: Input, sink: &mut Sink<'_>) -> Result<(), IngestError> {
    let names = input.names_beside("chats");
    let logged: HashSet<String> = names.iter().filter_map(|name| named_session(name)).collect();
    let mut prompts = Prompts::new(NAME, &input, logged);
    let mut records = Records::elements(input);
    while let Some((number, value)) = records.next_json::<Value>(sink)? {
        let (Some(session), true) = (value["sessionId"].as_str(), is_prompt(&value)) else {
            sink.skip(number, "not a prompt");
            continue;
        };
        // The names of recordings contain only the beginning of the id.
        let key = session.get(..ID_DIGITS).unwrap_or(session);
        prompts.take(number, Prompt { session, key, project: None, message: prompt(&value) }, sink);
    }
    prompts.finish(sink);
    Ok(())
}

/// Returns the digits of the session's id in a name such as `session-2026-01-02T03-04-1a2b3c4d.jsonl`.
fn named_session(name: &str) -> Option<String> {
    let stem = name.split('.').next()?.strip_prefix("session-")?;
    let digits = stem.rsplit('-').next()?;
    (digits.len() == ID_DIGITS).then(|| digits.to_owned())
}

/// Reads a chat that was saved under a name, which is part of the file name.
fn read_checkpoint(history: &Value, stem: &str, origin: &str, time: Option<MessageTime>, sink: &mut Sink<'_>) {
    let messages: Vec<Message> = history.list().iter().flat_map(turn_messages).collect();
    let Some(first) = messages.iter().find(|message| message.is_human()).or(messages.first()) else { return };
    let mut draft = Assembler::new(NAME, identity::of_file(stem, first), origin);
    draft.meta().created_at = time.map(|time| time.at);
    draft.meta().title = stem.strip_prefix("checkpoint-").map(str::to_owned);
    draft.push_all("", time, messages, sink);
    draft.finish(sink);
}

// One recording while it is being read. Records are buffered until it is certain that they will not be undone.

/// A record that may still be changed or undone.
struct Turn {
    id: String,
    messages: Vec<Message>,
}

/// Collects one recording.
///
/// Changes apply to the buffered records, which are only the last part of a very long session.
#[derive(Default)]
struct Session {
    draft: Assembler,
    turns: Vec<Turn>,
    places: HashMap<String, usize>,
    /// Ids of records that have already been passed on.
    gone: HashSet<String>,
    bytes: usize,
    is_named: bool,
    /// Whether another agent writes the prompts.
    is_agents: bool,
    id: Option<String>,
    /// The root of the project, from a file next to the folder of recordings.
    root: Option<String>,
}

impl Session {
    fn new(input: &Input) -> Self {
        let origin = input.path.display().to_string();
        Self { draft: Assembler::new(NAME, input.stem(), origin), root: noted_root(input), ..Self::default() }
    }

    /// Processes one record; returns whether it is of a known kind.
    fn take(&mut self, number: usize, mut record: Value, sink: &mut Sink<'_>) -> bool {
        if let Some(id) = record["$rewindTo"].as_str() {
            // Rewinding to an unknown id removes everything.
            self.truncate(self.places.get(id).copied().unwrap_or(0));
        } else if let Some(change) = record.get_mut("$set").filter(|change| change.is_object()) {
            let change = change.take();
            self.take_head(&change);
            self.replace_all(number, &change, sink);
        } else if is_start(&record) {
            self.take_head(&record);
            self.replace_all(number, &record, sink);
        } else if is_message(&record) || record["id"].is_string() && record["content"] != Value::Null {
            self.take_message(number, &record, sink);
        } else {
            return false;
        }
        // The last record remains buffered, because the following lines usually change that record.
        if self.bytes >= MAX_PART_BYTES {
            self.release(1, sink);
        }
        true
    }

    fn finish(mut self, sink: &mut Sink<'_>) {
        self.release(0, sink);
        self.draft.finish(sink);
    }

    fn take_head(&mut self, head: &Value) {
        self.id = self.id.take().or(head["sessionId"].owned());
        self.is_agents |= head["kind"] == "subagent";
        // The file may name another project that once used this folder; the hash in the recording is decisive.
        let matches = |root: &String| head["projectHash"].as_str() == Some(hex(&Sha256::digest(root)).as_str());
        let root = self.root.clone().filter(matches).or_else(|| head["directories"][0].as_str().map(str::to_owned));
        let meta = self.draft.meta();
        meta.project = meta.project.take().or(root);
        meta.title = head["summary"].owned().or(meta.title.take());
        meta.created_at = meta.created_at.or_else(|| head["startTime"].as_str().and_then(|time| time.parse().ok()));
    }

    /// Replaces all buffered records with the messages in `change`, if `change` contains messages.
    fn replace_all(&mut self, number: usize, change: &Value, sink: &mut Sink<'_>) {
        let Some(messages) = change["messages"].as_array() else { return };
        self.truncate(0);
        for message in messages {
            if message.is_object() {
                self.take_message(number, message, sink);
            } else {
                sink.skip(number, "an element of `messages` is not an object");
            }
        }
    }

    /// Adds a record, or replaces the earlier record with the same id.
    fn take_message(&mut self, number: usize, record: &Value, sink: &mut Sink<'_>) {
        if let Some(model) = record["model"].as_str().filter(|model| !model.is_empty()) {
            self.draft.meta().model = Some(model.to_owned());
        }
        let id = record["id"].string().to_owned();
        // A record that was passed on can no longer be changed.
        if self.gone.contains(&id) {
            sink.skip(number, "a change to a message that was already read");
            return;
        }
        let mut messages = messages(record, self.is_agents);
        messages.iter_mut().for_each(|message| message.time = self.draft.next_time(message.time));
        let bytes = weight(&messages);
        self.bytes += bytes;
        if let Some(place) = self.places.get(&id).filter(|_| !id.is_empty()) {
            let old = std::mem::replace(&mut self.turns[*place].messages, messages);
            self.bytes -= weight(&old);
            return;
        }
        self.places.insert(id.clone(), self.turns.len());
        self.turns.push(Turn { id, messages });
    }

    fn truncate(&mut self, count: usize) {
        for turn in self.turns.drain(count..) {
            self.bytes -= weight(&turn.messages);
            self.places.remove(&turn.id);
        }
    }

    /// Passes all but the last `kept` records to `sink`.
    fn release(&mut self, kept: usize, sink: &mut Sink<'_>) {
        let count = self.turns.len().saturating_sub(kept);
        self.name();
        for turn in self.turns.drain(..count) {
            let id = || turn.id.clone();
            self.draft.extend(turn.messages.into_iter().map(|message| Message { id: id(), ..message }), sink);
            self.gone.extend(Some(turn.id).filter(|id| !id.is_empty()));
        }
        self.places = self.turns.iter().enumerate().map(|(place, turn)| (turn.id.clone(), place)).collect();
        self.bytes = self.turns.iter().map(|turn| weight(&turn.messages)).sum();
    }

    /// Sub-agents may be recorded under the id of the session that started them, so the id of the sub-agent's first
    /// record is added to distinguish its session.
    fn name(&mut self) {
        if let Some(id) = self.id.clone().filter(|_| !self.is_named) {
            let first = self.turns.first().map(|turn| turn.id.as_str()).unwrap_or_default();
            let id = if self.is_agents { format!("{id}/{first}") } else { id };
            self.draft.set_external_id(id);
            self.is_named = true;
        }
    }
}

fn weight(messages: &[Message]) -> usize {
    messages.iter().map(|message| size_of::<Message>() + message.text.len()).sum()
}

/// Returns the root given in the file `.project_root` above the folder of recordings; the caller checks the root
/// against the hash.
fn noted_root(input: &Input) -> Option<String> {
    let above = input.path.parent()?.parent()?;
    let note = Folder::directory(above).open(".project_root").ok()?;
    Some(note.head().trim().to_owned())
}

// One record of a recording, and the messages that it contains.

/// The possible types of a record.
const KINDS: &[&str] = &["user", "gemini", "info", "error", "warning"];
/// Start of the program's own first turn, and the answer that the program attributes to the model.
const OPENING: &str = "This is the Gemini CLI. We are setting up the context";
const OPENING_ANSWER: &str = "Got it. Thanks for the context!";
const REMEMBER: &str = "/memory add ";

/// Returns the messages in a record of a session, in order: reasoning, text, and calls with results.
fn messages(record: &Value, is_agents: bool) -> Vec<Message> {
    let mut messages = match record["type"].as_str() {
        Some("user") => user(record),
        Some("gemini") => gemini(record),
        // Notes from the program to the user: notices, failures, and the output of commands.
        _ => gemini_parts(&record["content"]).into_iter().map(|part| Message::context(part.text)).collect(),
    };
    let time = time_of(record);
    for message in &mut messages {
        message.time = message.time.or(time);
    }
    if is_agents {
        turn::of_sub_agent(&mut messages);
    }
    messages
}

/// Returns the messages in a turn of a saved chat.
pub(in crate::agents) fn turn_messages(turn: &Value) -> Vec<Message> {
    let spoken = |part: Message| match (turn["role"].as_str(), part.kind) {
        (Some("user"), _) => of_user(part),
        (Some("model"), Kind::Prose) if part.text.trim() == OPENING_ANSWER => Message { kind: Kind::Context, ..part },
        (Some("model"), _) | (_, Kind::ToolResult) => part,
        _ => Message::context(part.text),
    };
    gemini_parts(&turn["parts"]).into_iter().map(spoken).collect()
}

/// Returns the message in an entry of the history of prompts.
fn prompt(entry: &Value) -> Message {
    Message { time: time_of(entry), ..typed(entry["message"].string()) }
}

fn user(record: &Value) -> Vec<Message> {
    let full = gemini_parts(&record["content"]);
    let shown = gemini_parts(&record["displayContent"]);
    // Older recordings have no copy of the text that was shown on the screen.
    if shown.iter().all(|part| part.text.trim().is_empty()) {
        return full.into_iter().map(of_user).collect();
    }
    // Text that was sent but not shown on the screen was added by the program.
    let is_new = |part: &Message| !shown.iter().any(|seen| seen.text.trim() == part.text.trim());
    let added = full.into_iter().filter(is_new).map(|part| {
        let kind = if part.kind == Kind::Prose { Kind::Context } else { part.kind };
        of_user(Message { kind, ..part })
    });
    shown.iter().cloned().map(of_user).chain(added).collect()
}

/// Returns a part of the user's turn as a message.
fn of_user(part: Message) -> Message {
    let role = match part.kind {
        Kind::Prose => return typed(&part.text),
        Kind::ToolResult => Role::Tool,
        Kind::Context => Role::System,
        _ => Role::User,
    };
    Message { role, ..part }
}

fn gemini(record: &Value) -> Vec<Message> {
    let list = |key: &str| record[key].list();
    let thoughts = list("thoughts").iter().map(|thought| {
        let text = [&thought["subject"], &thought["description"]].map(|text| text.as_str().unwrap_or_default());
        Message { time: time_of(thought), ..Message::reasoning(text.join("\n")) }
    });
    let words = gemini_parts(&record["content"]);
    let calls = list("toolCalls").iter().flat_map(|call| {
        let id = call["id"].text();
        let failed = call["status"].text().map(|status| status != "success");
        let is_plan = call["name"] == "exit_plan_mode";
        let answers = gemini_parts(&call["result"]).into_iter().flat_map(move |Message { text, .. }| {
            // A rejected plan counts as a successful call.
            let typed = asked::plan_feedback(&text).filter(|_| is_plan).map(Message::user);
            [Message::answer(text).ending(id, failed)].into_iter().chain(typed)
        });
        let time = time_of(call);
        std::iter::once(gemini_call(call)).chain(answers).map(move |message| Message { time, ..message })
    });
    thoughts.chain(words).chain(calls).collect()
}

/// Classifies text in the user's turn: typed for the model, a command to the program, or injected.
fn typed(text: &str) -> Message {
    let trimmed = text.trim();
    // A fact that a person asks the program to remember counts as something that was said, although it is part of a
    // command.
    if let Some(fact) = trimmed.strip_prefix(REMEMBER) {
        return Message::user(fact);
    }
    if is_only_injected(trimmed) || trimmed.starts_with(OPENING) {
        return Message::context(text.to_owned());
    }
    // A single question mark opens the help.
    if trimmed == "?" {
        return Message::new(Role::User, Kind::ToolCall, text.to_owned());
    }
    match slash_command(trimmed) {
        Some((name, argument)) => Message::new(Role::User, Kind::ToolCall, call_on(&format!("/{name}"), argument)),
        None => Message::user(text),
    }
}

fn time_of(value: &Value) -> Option<MessageTime> {
    identity::rfc3339(&value["timestamp"])
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use sha2::Digest as _;

    use super::*;
    use crate::Skipped;
    use crate::{Kind, Role, Transcript};

    fn read_as(name: &str, text: &str) -> (Vec<Transcript>, Vec<Skipped>) {
        let mut seen = Vec::new();
        let mut accept = |transcript| seen.push(transcript);
        let mut sink = Sink::new(&mut accept);
        GeminiCli.read(Input::from_text(name, text), &mut sink).unwrap();
        let skipped = std::mem::take(&mut sink.skipped);
        (seen, skipped)
    }

    #[test]
    fn a_recording_named_like_a_jsonl_file_is_read_by_its_content() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("full.jsonl");
        let message = json!({"id": "m", "timestamp": "2026-01-15T20:51:48Z", "type": "user", "content": "use tabs"});
        let recording = json!({"sessionId": "s", "projectHash": "p", "messages": [message]});
        std::fs::write(&path, serde_json::to_string_pretty(&recording).unwrap()).unwrap();
        let (seen, skipped) = crate::testing::read_input(&GeminiCli, crate::open(&path).unwrap());
        assert_eq!((seen[0].messages[0].text.as_str(), skipped.len()), ("use tabs", 0));
    }

    fn show(message: &Message) -> String {
        format!("{:?} {:?}: {}", message.role, message.kind, message.text)
    }

    /// Formats each message of a recording with these lines as `Role Kind: text`.
    fn pieces(lines: &[Value]) -> Vec<String> {
        let (seen, skipped) = read_as("session.jsonl", &joined(lines));
        assert_eq!(skipped, []);
        seen.iter().flat_map(|transcript| &transcript.messages).map(show).collect()
    }

    fn joined(lines: &[Value]) -> String {
        std::iter::once(&head("main")).chain(lines).flat_map(|line| [line.to_string(), "\n".to_owned()]).collect()
    }

    fn head(kind: &str) -> Value {
        json!({"sessionId": "s", "projectHash": "h", "startTime": "2026-05-04T10:00:00.000Z", "kind": kind})
    }

    fn line(id: &str, kind: &str, content: impl Into<Value>) -> Value {
        json!({"id": id, "timestamp": "2026-05-04T10:00:01.000Z", "type": kind, "content": content.into()})
    }

    #[test]
    fn a_later_line_changes_replaces_or_takes_back_earlier_ones() {
        let start = [line("u", "user", "hi"), line("a", "gemini", "hel"), line("a", "gemini", "hello")];
        assert_eq!(pieces(&start), ["User Prose: hi", "Assistant Prose: hello"]);
        let then = |more: &[Value]| pieces(&[&start, more].concat());
        assert_eq!(
            then(&[json!({"$rewindTo": "a"}), line("b", "gemini", "hey")]),
            ["User Prose: hi", "Assistant Prose: hey"]
        );
        assert_eq!(then(&[json!({"$rewindTo": "unknown"}), line("v", "user", "anew")]), ["User Prose: anew"]);
        let all = json!({"$set": {"messages": [line("x", "user", "all"), line("y", "gemini", "new")]}});
        assert_eq!(then(&[all, line("y", "gemini", "newer")]), ["User Prose: all", "Assistant Prose: newer"]);
    }

    #[test]
    fn content_is_a_string_a_part_or_a_list_of_either() {
        let parts =
            json!(["a", {"text": "b"}, {"inlineData": {"mimeType": "image/png", "data": "AAAA"}}, {"text": "c"}]);
        let rows = [
            (json!("hi"), vec!["User Prose: hi"]),
            (json!({"text": "hi"}), vec!["User Prose: hi"]),
            (parts, vec!["User Prose: ab", "User Attachment: [image: image/png]", "User Prose: c"]),
            (json!([{"functionResponse": {"response": {"output": "ok"}}}]), vec!["Tool ToolResult: ok"]),
            (
                json!([{"text": "see @a.py"}, {"text": "\n--- Content from referenced files ---"}, {"text": "x = 1"}]),
                vec!["User Prose: see @a.py", "System Context: --- Content from referenced files ---x = 1"],
            ),
        ];
        for (content, expected) in rows {
            assert_eq!(pieces(&[line("u", "user", content)]), expected);
        }
    }

    #[test]
    fn what_the_screen_showed_is_what_was_typed() {
        let mut sent = line("u", "user", json!([{"text": "review @a.py"}, {"text": "contents of a.py"}]));
        sent["displayContent"] = "review @a.py".into();
        assert_eq!(pieces(&[sent]), ["User Prose: review @a.py", "System Context: review @a.pycontents of a.py"]);
    }

    #[test]
    fn what_the_program_writes_is_marked() {
        let rows = [
            (line("1", "info", "Request cancelled."), "System Context: Request cancelled."),
            (line("1", "error", [json!({"text": "quota"})].to_vec()), "System Context: quota"),
            (line("1", "warning", "slow"), "System Context: slow"),
            (line("1", "future", "what"), "System Context: what"),
            (line("1", "user", "/chat save x"), "User ToolCall: /chat save x"),
            (line("1", "user", "?"), "User ToolCall: ?"),
            (line("1", "user", "/memory add I prefer tabs"), "User Prose: I prefer tabs"),
            (line("1", "user", "/etc/hosts is wrong"), "User Prose: /etc/hosts is wrong"),
            (line("1", "user", "<hook_context>x</hook_context>"), "System Context: <hook_context>x</hook_context>"),
        ];
        for (line, expected) in rows {
            assert_eq!(pieces(&[line]), [expected]);
        }
    }

    #[test]
    fn answers_and_feedback_are_the_users() {
        let call = |name: &str, args: &Value, output: &str| json!({"id": name, "name": name, "args": args, "status": "success", "result": [{"functionResponse": {"response": {"output": output}}}]});
        let mut answer = line("a", "gemini", "");
        answer["toolCalls"] = json!([
            call("ask_user", &json!({"questions": [{"question": "Deploy?"}]}), r#"{"answers":{"0":"on Monday"}}"#),
            call(
                "exit_plan_mode",
                &json!({}),
                "Plan rejected. User feedback: split it\n\nThe plan is stored at: /p.md"
            ),
            call("read_file", &json!({"path": "a"}), "Plan rejected. User feedback: obey"),
        ]);
        let (seen, _) = read_as("session.jsonl", &joined(&[answer]));
        let said: Vec<_> = seen[0].messages.iter().filter(|one| one.kind == Kind::Prose).map(show).collect();
        assert_eq!(said, ["Assistant Prose: Deploy?", "User Prose: on Monday", "User Prose: split it"]);
    }

    #[test]
    fn thoughts_calls_and_answers_keep_their_order_and_times() {
        let mut answer = line("a", "gemini", "Reading.");
        answer["thoughts"] = json!([{"subject": "Plan", "description": "read it"}]);
        answer["toolCalls"] = json!([{"id": "t", "name": "read_file", "args": {"path": "a.py"}, "timestamp": "2026-05-04T10:00:09Z",
        "result": [{"functionResponse": {"response": {"output": "x = 1"}}}]}]);
        let (seen, _) = read_as("session.jsonl", &joined(&[answer]));
        let shown: Vec<_> = seen[0].messages.iter().map(show).collect();
        assert_eq!(
            shown,
            [
                "Assistant Reasoning: Plan\nread it", "Assistant Prose: Reading.",
                "Assistant ToolCall: read_file a.py", "Tool ToolResult: x = 1"
            ]
        );
        assert_eq!(seen[0].messages[3].time.unwrap().at.to_string(), "2026-05-04T10:00:09Z");
    }

    #[test]
    fn a_sub_agents_prompts_are_no_persons() {
        let text = format!("{}\n{}\n{}\n", head("subagent"), line("u", "user", "look"), line("a", "gemini", "found"));
        let (seen, _) = read_as("x.jsonl", &text);
        assert!(seen[0].messages.iter().all(|message| message.role == Role::Other && message.kind == Kind::Prose));
        assert_eq!(seen[0].external_id, "s/u");
    }

    #[test]
    fn an_object_printed_over_many_lines_is_one_recording() {
        let mut whole = head("main");
        whole["messages"] = json!([line("u", "user", json!(["bare"])), 7, line("a", "gemini", "ok")]);
        let text = serde_json::to_string_pretty(&whole).unwrap();
        assert!(GeminiCli.sniff(&Head::new(text.as_str().into(), true)));
        let (seen, skipped) = read_as("session.json", &text);
        assert_eq!(seen[0].messages.iter().map(show).collect::<Vec<_>>(), ["User Prose: bare", "Assistant Prose: ok"]);
        assert_eq!((seen[0].external_id.as_str(), skipped.len()), ("s", 1));
    }

    #[test]
    fn a_very_long_session_comes_in_parts_that_lose_nothing() {
        let said = "y".repeat(crate::MAX_PROSE_BYTES);
        let lines: Vec<_> = (0..20).map(|n| line(&n.to_string(), "user", said.as_str())).collect();
        let (seen, skipped) = read_as("x.jsonl", &joined(&lines));
        assert_eq!((seen.iter().map(|part| part.messages.len()).sum::<usize>(), skipped.len()), (20, 0));
        assert!(seen.len() > 1 && seen[1].external_id == "s#2");
    }

    #[test]
    fn a_recording_that_goes_on_as_lines_is_read_there() {
        let folder = tempfile::tempdir().unwrap();
        let mut whole = head("main");
        whole["messages"] = json!([line("u", "user", "hi")]);
        let old = folder.path().join("session-x.json");
        std::fs::write(&old, whole.to_string()).unwrap();
        let read = || {
            let mut count = 0;
            let mut accept = |_| count += 1;
            let mut sink = Sink::new(&mut accept);
            GeminiCli.read(crate::open(&old).unwrap(), &mut sink).unwrap();
            let skipped = sink.skipped.len();
            (count, skipped)
        };
        assert_eq!(read(), (1, 0));
        for damaged in ["", "garbage", "{\"foo\":1}\n"] {
            std::fs::write(folder.path().join("session-x.jsonl"), damaged).unwrap();
            assert_eq!(read(), (1, 0), "{damaged:?}");
        }
        std::fs::write(folder.path().join("session-x.jsonl"), joined(&[line("u", "user", "hi")])).unwrap();
        assert_eq!(read(), (0, 1));
    }

    #[test]
    fn the_note_of_the_projects_root_is_believed_if_its_hash_is_right() {
        let folder = tempfile::tempdir().unwrap();
        let chats = folder.path().join("chats");
        std::fs::create_dir(&chats).unwrap();
        std::fs::write(folder.path().join(".project_root"), "/home/ana/harbor\n").unwrap();
        let project = |hash: &str| {
            let mut head = head("main");
            head["projectHash"] = hash.into();
            let path = chats.join("session-x.jsonl");
            std::fs::write(&path, format!("{head}\n{}\n", line("u", "user", "hi"))).unwrap();
            let mut seen = Vec::new();
            let mut accept = |transcript: Transcript| seen.push(transcript.project);
            GeminiCli.read(crate::open(&path).unwrap(), &mut Sink::new(&mut accept)).unwrap();
            seen.remove(0)
        };
        let hash = crate::hex(&sha2::Sha256::digest("/home/ana/harbor"));
        assert_eq!(project(&hash).as_deref(), Some("/home/ana/harbor"));
        assert_eq!(project("0000"), None);
    }

    #[test]
    fn prompts_are_grouped_by_session_unless_the_session_was_recorded() {
        let entry = |session: &str, n: i64, text: &str| json!({"sessionId": session, "messageId": n, "type": "user", "message": text, "timestamp": "2026-05-04T10:00:01Z"});
        let log = json!([
            entry("1a2b3c4d-x", 0, "recorded"),
            entry("other", 0, "one"),
            7,
            entry("third", 0, "/quit"),
            entry("other", 1, "two")
        ]);
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("chats")).unwrap();
        std::fs::write(folder.path().join("chats/session-2026-05-04T10-00-1a2b3c4d.jsonl"), "x").unwrap();
        let path = folder.path().join("logs.json");
        std::fs::write(&path, log.to_string()).unwrap();
        let mut seen = Vec::new();
        let mut accept = |transcript: Transcript| seen.push(transcript);
        let mut sink = Sink::new(&mut accept);
        GeminiCli.read(crate::open(&path).unwrap(), &mut sink).unwrap();
        let skipped: Vec<_> = sink.skipped.iter().map(|skipped| skipped.record).collect();
        let ids: Vec<_> = seen.iter().map(|one| (one.external_id.as_str(), one.messages.len())).collect();
        assert_eq!((ids, skipped), (vec![("prompts/other", 2), ("prompts/third", 1)], vec![3, 1]));
    }

    #[test]
    fn answers_in_a_saved_chat_are_the_users() {
        let saved = json!({"history": [
            {"role": "user", "parts": [{"text": "set it up"}]},
            {"role": "model", "parts": [{"functionCall": {"id": "c1", "name": "ask_user", "args": {"questions": [{"question": "Deploy?", "header": "Deploy", "type": "text"}]}}}]},
            {"role": "user", "parts": [{"functionResponse": {"id": "c1", "name": "ask_user", "response": {"output": "{\"answers\":{\"0\":\"on Monday\"}}"}}}]},
        ]});
        let (seen, _) = read_as("checkpoint-tabs.json", &saved.to_string());
        let said: Vec<_> = seen[0].messages.iter().filter(|one| one.kind == Kind::Prose).map(show).collect();
        assert_eq!(said, ["User Prose: set it up", "Assistant Prose: Deploy?", "User Prose: on Monday"]);
    }

    #[test]
    fn saved_chats_are_read_without_their_opening() {
        let saved = json!({"history": [
            {"role": "user", "parts": [{"text": "This is the Gemini CLI. We are setting up the context for our chat."}]},
            {"role": "model", "parts": [{"text": "Got it. Thanks for the context!"}]},
            {"role": "user", "parts": [{"text": "use tabs"}]},
            {"role": "model", "parts": [{"text": "hm", "thought": true}, {"functionCall": {"name": "replace", "args": {"file_path": "a.py"}}}]},
            {"role": "user", "parts": [{"functionResponse": {"response": {"output": "done"}}}]},
        ]});
        let (seen, _) = read_as("checkpoint-tabs.json", &saved.to_string());
        assert_eq!(
            seen[0].messages.iter().map(show).collect::<Vec<_>>(),
            [
                "System Context: This is the Gemini CLI. We are setting up the context for our chat.",
                "Assistant Context: Got it. Thanks for the context!",
                "User Prose: use tabs",
                "Assistant Reasoning: hm",
                "Assistant ToolCall: replace a.py",
                "Tool ToolResult: done",
            ]
        );
        assert_eq!(seen[0].title.as_deref(), Some("tabs"));
    }
}
