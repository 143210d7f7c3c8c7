//! Chat sessions of VS Code. A session is either one JSON document, as stored or as written by "Export Chat…", or a log
//! of changes, which newer versions write and which is replayed into such a document.

use std::collections::HashMap;

use serde_json::Value;

use crate::agents::turn::{self, answer, call, user_words};
use crate::json::Json;
use crate::message::identity;
use crate::message::parts::{file_label, without_data};
use crate::message::{asked, question};
use crate::{
    Assembler, Folder, Head, IngestError, Ingestor, Input, Kind, MAX_RECORD_BYTES, Message, MessageTime, Records, Role,
    Sink, folder_path,
};

/// Name of the format, stored with each transcript.
const NAME: &str = "copilot-chat";

/// Reads chat sessions of VS Code.
pub(crate) struct CopilotChat;

impl Ingestor for CopilotChat {
    named!(NAME);

    fn sniff(&self, head: &Head<'_>) -> bool {
        let is_log = head.any_line(is_start) && head.most_lines(is_change);
        is_log || head.document.as_ref().is_some_and(|one| is_session(one) || is_start(one))
    }

    fn read(&self, input: Input, sink: &mut Sink<'_>) -> Result<(), IngestError> {
        let origin = input.path.display().to_string();
        let file = File { stem: input.stem(), project: workspace(&input), origin };
        if Head::of(&input).document.as_ref().is_some_and(is_session) {
            let mut records = Records::elements(input);
            while let Some((number, session)) = records.next_json::<Value>(sink)? {
                read_session(&file, &session, number, sink);
            }
            return Ok(());
        }
        let mut records = Records::lines(input);
        let mut replay = Replay::default();
        while let Some((number, change)) = records.next_json::<Value>(sink)? {
            if let Err(reason) = replay.apply(change) {
                sink.skip(number, reason);
            }
        }
        read_session(&file, &replay.state, 1, sink);
        Ok(())
    }
}

fn is_session(document: &Value) -> bool {
    let names = ["requesterUsername", "responderUsername", "sessionId"];
    let is_request = |request: &Value| request["requestId"].is_string() || request.get("message").is_some();
    let requests = document["requests"].as_array();
    requests.is_some_and(|requests| requests.iter().take(50).all(is_request))
        && names.iter().any(|key| document[*key].is_string())
}

/// Information about a session from outside its document.
struct File {
    stem: String,
    origin: String,
    project: Option<String>,
}

/// Returns the workspace of the session, which a file in the parent folder contains.
fn workspace(input: &Input) -> Option<String> {
    let folder = input.path.parent().filter(|_| !input.is_in_archive())?;
    // Sessions of windows without a folder are stored elsewhere and have no workspace.
    let above = folder.parent().filter(|_| folder.ends_with("chatSessions"))?;
    // The name of a workspace's folder is a hash; this file contains the folder that the hash represents.
    let text = Folder::directory(above).open("workspace.json").ok()?.into_text(1 << 20).ok()??;
    let (value, _) = crate::json::parse::<Value>(&text).ok()?;
    let address = value["folder"].as_str().or_else(|| value["workspace"].as_str())?;
    Some(folder_path(address))
}

fn read_session(file: &File, session: &Value, number: usize, sink: &mut Sink<'_>) {
    let Some(requests) = session["requests"].as_array() else {
        return sink.skip(number, "a session without requests");
    };
    let mut draft = Assembler::new(NAME, file.stem.as_str(), file.origin.as_str());
    let meta = draft.meta();
    meta.title = session.first_owned(&["customTitle", "computedTitle", "name"]);
    meta.project.clone_from(&file.project);
    draft.start_at(identity::instant(&session["creationDate"]).map(MessageTime::logged));
    if let Some(id) = session["sessionId"].text() {
        draft.set_external_id(id);
    }
    for request in requests.iter().filter(|request| !is_taken_back(request)) {
        let model = request["modelId"].owned();
        draft.meta().model = draft.meta().model.take().or(model);
        let asked_at = draft.next_time(identity::stamp(&request["timestamp"]));
        // Only the request has a time; its answer follows some time later.
        let answered_at = asked_at.map(MessageTime::derived);
        let request_id = request["requestId"].text();
        let response_id = request["responseId"].text().or(request_id);
        let halves = [(request_id, asked_at, asked(request)), (response_id, answered_at, answered(request))];
        for (id, time, messages) in halves {
            for message in &messages {
                // An export contains no session id, but the ids of its requests do not occur in any other session.
                draft.name_after(message, || match request_id {
                    Some(id) => identity::of_parts(&[id]),
                    None => identity::of_file(&file.stem, message),
                });
            }
            draft.push_all(id.unwrap_or_default(), time, messages, sink);
        }
    }
    draft.finish(sink);
}

// The log of changes: an initial state, followed by values that were set, appended or deleted.

/// Maximum size of the document in memory, in bytes; changes that would exceed it are skipped.
const MAX_HELD_BYTES: usize = 4 * MAX_RECORD_BYTES;
/// Maximum length of the path to a changed value; actual paths have four steps.
const MAX_STEPS: usize = 32;

/// Returns whether `line` contains the state of a session.
fn is_start(line: &Value) -> bool {
    line["kind"] == 0 && line["v"]["requests"].is_array()
}

/// Returns whether `line` is a state or a change.
fn is_change(line: &Value) -> bool {
    let is_known = line["kind"].as_u64().is_some_and(|kind| kind <= 3);
    is_known && (line["k"].is_array() || line["v"].is_object())
}

/// The document that results from the changes so far.
struct Replay {
    state: Value,
    held: usize,
    most: usize,
}

impl Default for Replay {
    fn default() -> Self {
        Self { state: Value::Null, held: 0, most: MAX_HELD_BYTES }
    }
}

impl Replay {
    /// Applies the next change.
    ///
    /// # Errors
    /// The reason why the change cannot be applied; the document is then unchanged.
    fn apply(&mut self, mut change: Value) -> Result<(), &'static str> {
        let kind = change["kind"].as_u64().filter(|_| is_change(&change)).ok_or("not a change to a session")?;
        let value = change["v"].take();
        let added = match kind {
            // Only the elements of an appended list are retained.
            2 => weight(&value) - size_of::<Value>(),
            3 => 0,
            _ => weight(&value),
        };
        // From time to time, the log starts again with the complete state.
        if kind == 0 {
            (self.state, self.held) = (value, added);
            return Ok(());
        }
        if self.held.saturating_add(added) > self.most {
            return Err("a change to a session that is too large to be read");
        }
        let steps = change["k"].list();
        if steps.len() > MAX_STEPS {
            return Err("a change that is nested too deeply in the session");
        }
        let (last, way) = steps.split_last().ok_or("a change without a path")?;
        let parent = way.iter().try_fold(&mut self.state, child).ok_or("a change to a value that does not exist")?;
        let removed = match kind {
            1 => set(parent, last, value),
            2 => append(parent, last, value, change["i"].as_u64()),
            _ => delete(parent, last),
        }?;
        self.held = self.held.saturating_add(added).saturating_sub(removed);
        Ok(())
    }
}

fn child<'a>(parent: &'a mut Value, step: &Value) -> Option<&'a mut Value> {
    match parent {
        Value::Object(fields) => fields.get_mut(step.as_str()?),
        Value::Array(elements) => elements.get_mut(place(step)?),
        _ => None,
    }
}

fn place(step: &Value) -> Option<usize> {
    step.as_u64().and_then(|place| usize::try_from(place).ok())
}

/// Sets one field or element; returns the weight of the replaced value.
fn set(parent: &mut Value, step: &Value, value: Value) -> Result<usize, &'static str> {
    let old = match (parent, step.as_str(), place(step)) {
        (Value::Object(fields), Some(name), _) => fields.insert(name.to_owned(), value),
        (Value::Array(elements), _, Some(place)) if place < elements.len() => {
            Some(std::mem::replace(&mut elements[place], value))
        }
        (Value::Array(elements), _, Some(place)) if place == elements.len() => {
            elements.push(value);
            None
        }
        _ => return Err("a change to a value that does not exist"),
    };
    Ok(old.as_ref().map_or(0, weight))
}

/// Truncates a list to its first `kept` elements and appends the list `value`; returns the weight of the removed
/// elements.
fn append(parent: &mut Value, step: &Value, value: Value, kept: Option<u64>) -> Result<usize, &'static str> {
    let added = match value {
        Value::Array(added) => added,
        Value::Null => Vec::new(),
        _ => return Err("the appended value is not a list"),
    };
    if let (Value::Object(fields), Some(name)) = (&mut *parent, step.as_str()) {
        let there = fields.entry(name).or_insert_with(|| Value::Array(Vec::new()));
        if there.is_null() {
            *there = Value::Array(Vec::new());
        }
    }
    let Some(Value::Array(elements)) = child(parent, step) else {
        return Err("an item added to a value that is not a list");
    };
    let kept = kept.and_then(|kept| usize::try_from(kept).ok()).unwrap_or(elements.len()).min(elements.len());
    let removed = elements.drain(kept..).map(|element| weight(&element)).sum();
    elements.extend(added);
    Ok(removed)
}

/// Removes one field or element; returns its weight.
fn delete(parent: &mut Value, step: &Value) -> Result<usize, &'static str> {
    let old = match (parent, step.as_str(), place(step)) {
        (Value::Object(fields), Some(name), _) => fields.shift_remove(name),
        // As with `delete` in JavaScript, a gap remains: later changes refer to elements by their old positions.
        (Value::Array(elements), _, Some(place)) if place < elements.len() => Some(elements[place].take()),
        _ => return Err("a change to a value that does not exist"),
    };
    Ok(old.as_ref().map_or(0, weight))
}

/// Returns the approximate memory size of `value` in bytes.
fn weight(value: &Value) -> usize {
    let (mut bytes, mut open) = (0, vec![value]);
    while let Some(value) = open.pop() {
        bytes += size_of::<Value>();
        match value {
            Value::String(text) => bytes += text.len(),
            Value::Array(elements) => open.extend(elements),
            Value::Object(fields) => {
                bytes += fields.keys().map(|name| size_of::<String>() + name.len()).sum::<usize>();
                open.extend(fields.values());
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
    bytes
}

// One request of a chat: the user's prompt, and all parts of the answer.

/// Returns whether the request was undone and will be removed when the next request is sent.
fn is_taken_back(request: &Value) -> bool {
    request["shouldBeRemovedOnSend"].is_object() && request["shouldBeRemovedOnSend"]["afterUndoStop"].is_null()
}

fn asked(request: &Value) -> Vec<Message> {
    let words = request["message"]["text"].text().or_else(|| request["message"].text());
    let mut messages = words.map(user_words).unwrap_or_default();
    // The program itself sends a request, for example once a command in the terminal has ended or the user pressed a
    // button.
    let of_terminal = words.and_then(|words| words.strip_prefix("[Terminal ")?.split_once(' '));
    if request["isSystemInitiated"] == true
        || request["confirmation"].text().is_some()
        || of_terminal.is_some_and(|(_, text)| text.starts_with("notification:"))
    {
        for message in &mut messages {
            (message.role, message.kind) = (Role::System, Kind::Context);
        }
    }
    for variable in request["variableData"]["variables"].list() {
        let name = variable["name"].text();
        let label = match variable["kind"].as_str() {
            Some("image") => file_label("image", name),
            Some("file" | "directory") => file_label("file", name),
            _ => continue,
        };
        messages.push(Message::new(Role::User, Kind::Attachment, label));
    }
    messages
}

fn answered(request: &Value) -> Vec<Message> {
    let response = &request["response"];
    let items = response.items();
    // Each change of a call is logged as another entry; the first entry determines the position, the last the outcome.
    let mut last_calls: HashMap<&str, &Value> = HashMap::new();
    for item in items {
        if let Some(id) = call_id(item) {
            last_calls.insert(id, item);
        }
    }
    let mut answer = Answer::default();
    for item in items {
        match call_id(item) {
            Some(id) => {
                if let Some(last) = last_calls.remove(id) {
                    answer.add_all(tool(last));
                }
            }
            None => answer.take(item),
        }
    }
    if let Some(error) = request["result"]["errorDetails"]["message"].text() {
        answer.add_all(vec![Message::context(error)]);
    }
    answer.finish()
}

fn call_id(item: &Value) -> Option<&str> {
    item["toolCallId"].text().filter(|_| item["kind"] == "toolInvocationSerialized")
}

/// Collects an answer whose sentences are split across several items.
#[derive(Default)]
struct Answer {
    messages: Vec<Message>,
    words: String,
}

impl Answer {
    fn take(&mut self, item: &Value) {
        match item["kind"].as_str() {
            // An isolated code fence encloses an edit, which is handled at its own position.
            None | Some("markdownContent" | "markdownVuln") => {
                let words = markdown(item).filter(|words| words.trim() != "```");
                self.words.push_str(words.unwrap_or_default());
            }
            Some("inlineReference") => self.words.extend(reference_name(item).map(|name| format!("`{name}`"))),
            Some("thinking") => {
                let pieces = item["value"].list().iter().filter_map(Value::as_str);
                let thought = item["value"].text().map_or_else(|| pieces.collect::<Vec<_>>().join("\n"), str::to_owned);
                self.add_all(vec![Message::reasoning(thought)]);
            }
            Some("toolInvocationSerialized") => self.add_all(tool(item)),
            // The edits themselves are internal data of the editor; the path shows which file was changed.
            Some("textEditGroup" | "notebookEditGroup") => {
                let path = item["uri"]["path"].text().or_else(|| item["uri"]["fsPath"].text()).unwrap_or_default();
                self.add_all(vec![call("edit", &Value::String(path.to_owned()))]);
            }
            Some("confirmation") => {
                let parts = [item["title"].text(), markdown(&item["message"]).or_else(|| item["message"].text())];
                let asked: Vec<_> = parts.into_iter().flatten().collect();
                self.add_all(vec![Message::assistant(asked.join("\n"))]);
            }
            Some("warning") => {
                let warning = markdown(item).unwrap_or_default().to_owned();
                self.add_all(vec![Message::context(warning)]);
            }
            Some("questionCarousel") => self.add_all(questions(item)),
            // Progress, undo markers and buttons contain no text.
            Some(_) => {}
        }
    }

    fn add_all(&mut self, messages: Vec<Message>) {
        self.end_words();
        self.messages.extend(messages.into_iter().filter(|message| !message.text.is_empty()));
    }

    fn end_words(&mut self) {
        let words = std::mem::take(&mut self.words);
        if !words.trim().is_empty() {
            self.messages.push(Message::assistant(without_data(&words)));
        }
    }

    fn finish(mut self) -> Vec<Message> {
        self.end_words();
        self.messages
    }
}

/// Returns the text of an item, which older versions wrap in another object.
fn markdown(item: &Value) -> Option<&str> {
    [item, &item["value"], &item["content"], &item["content"]["value"]].into_iter().find_map(Value::as_str)
}

fn reference_name(item: &Value) -> Option<&str> {
    let target = &item["inlineReference"];
    let path = [&target["path"], &target["fsPath"], &target["uri"]["path"], &target["location"]["uri"]["path"]];
    let file = || path.into_iter().find_map(Json::text).and_then(|path| path.rsplit(['/', '\\']).next());
    item["name"].text().or_else(|| target["name"].text()).or_else(file)
}

fn tool(item: &Value) -> Vec<Message> {
    let (details, special) = (&item["resultDetails"], &item["toolSpecificData"]);
    let name = item["toolId"].text().unwrap_or("tool");
    let command = special["commandLine"]["original"].text().or_else(|| special["commandLine"].text());
    let command = command.or_else(|| special["command"].text());
    let found = item["invocationMessage"].text().or_else(|| item["invocationMessage"]["value"].text());
    let arguments = match (command, details["input"].text()) {
        (Some(command), _) => Value::String(command.to_owned()),
        (None, Some(input)) => Value::String(input.to_owned()),
        // A link without text, as shown for a file: `Reading [](file:///a.rs)`.
        (None, None) => Value::String(found.unwrap_or_default().replace("[](", "").replace(')', "")),
    };
    let mut messages = vec![call(name, &arguments)];
    let texts: Vec<_> = details["output"]
        .list()
        .iter()
        .filter(|one| one["isText"] != false)
        .filter_map(|one| one["value"].text())
        .collect();
    let output = details["output"].text().map_or_else(|| texts.join("\n"), str::to_owned);
    if !output.is_empty() {
        messages.push(answer(&output));
    }
    if item["subAgentInvocationId"].text().is_some() {
        turn::of_sub_agent(&mut messages);
    }
    messages
}

/// Returns the questions that the assistant asked in a form, and the user's answers to them.
fn questions(item: &Value) -> Vec<Message> {
    let replies = asked::conversation(
        &question::questions("askQuestions", item),
        &serde_json::json!({"answers": item["data"]}).to_string(),
    );
    if !replies.is_empty() {
        return replies;
    }
    let asked = item["questions"].list().iter().filter_map(|one| one.first_text(&["message", "title"]));
    vec![Message::assistant(asked.collect::<Vec<_>>().join("\n"))]
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::Skipped;
    use crate::Transcript;

    fn read(text: &str) -> (Vec<Transcript>, Vec<Skipped>) {
        let mut seen = Vec::new();
        let mut accept = |transcript| seen.push(transcript);
        let mut sink = Sink::new(&mut accept);
        assert!(CopilotChat.sniff(&Head::new(text.into(), true)), "{text}");
        CopilotChat.read(Input::from_text("chat.json", text), &mut sink).unwrap();
        let skipped = std::mem::take(&mut sink.skipped);
        (seen, skipped)
    }

    /// Formats each message of a session with one request as `Role Kind: text`.
    fn shown(request: &Value) -> Vec<String> {
        let (seen, skipped) = read(&json!({"sessionId": "s", "requests": [request]}).to_string());
        assert_eq!(skipped, []);
        let messages = seen.iter().flat_map(|one| &one.messages);
        messages.map(|message| format!("{:?} {:?}: {}", message.role, message.kind, message.text)).collect()
    }

    #[test]
    fn an_answer_is_put_together_from_its_pieces() {
        let request = json!({"message": {"text": "where is the fee?", "parts": []}, "response": [
        {"kind": "mcpServersStarting", "didStartServerIds": []},
        {"kind": "thinking", "value": ["look", "around"]},
        {"value": "It is in "},
        {"kind": "inlineReference", "inlineReference": {"path": "/srv/ferry/fee.py"}},
        {"value": "."},
        {"kind": "toolInvocationSerialized", "toolCallId": "t", "toolId": "run_in_terminal", "isComplete": false, "toolSpecificData": {"kind": "terminal", "commandLine": {"original": "pytest"}}},
        {"value": "```"},
        {"kind": "textEditGroup", "uri": {"path": "/srv/ferry/fee.py"}, "edits": []},
        {"value": "```"},
        {"kind": "toolInvocationSerialized", "toolCallId": "t", "toolId": "run_in_terminal", "isComplete": true, "toolSpecificData": {"kind": "terminal", "commandLine": {"original": "pytest"}}, "resultDetails": {"input": "pytest", "output": [{"type": "embed", "isText": true, "value": "3 passed"}]}},
        {"kind": "markdownContent", "content": {"value": "Done."}},
        {"kind": "warning", "content": {"value": "slow"}},
        "bare"],
        "result": {"errorDetails": {"message": "canceled"}}});
        assert_eq!(
            shown(&request),
            [
                "User Prose: where is the fee?",
                "Assistant Reasoning: look\naround",
                "Assistant Prose: It is in `fee.py`.",
                "Assistant ToolCall: run_in_terminal pytest",
                "Tool ToolResult: 3 passed",
                "Assistant ToolCall: edit /srv/ferry/fee.py",
                "Assistant Prose: Done.",
                "System Context: slow",
                "Assistant Prose: bare",
                "System Context: canceled",
            ]
        );
    }

    #[test]
    fn only_what_a_person_asked_is_the_users() {
        let by_itself = json!({"message": {"text": "the command ended"}, "isSystemInitiated": true, "response": []});
        assert_eq!(shown(&by_itself), ["System Context: the command ended"]);
        let undone = json!({"message": {"text": "gone"}, "shouldBeRemovedOnSend": {"requestId": "r"}});
        assert_eq!(shown(&undone), Vec::<String>::new());
        let attached = json!({"message": {"text": "look"}, "variableData": {"variables": [{"kind": "image", "name": "plan.png", "value": {"0": 137}}, {"kind": "file", "name": "fee.py"}, {"kind": "promptText", "name": "x"}]}});
        assert_eq!(
            shown(&attached),
            ["User Prose: look", "User Attachment: [image: plan.png]", "User Attachment: [file: fee.py]"]
        );
        for text in ["[Terminal 7 notification: the command ended]", "[Terminal 7] is what I see"] {
            let role = if text.ends_with("ended]") { "System Context" } else { "User Prose" };
            assert_eq!(shown(&json!({"message": {"text": text}, "response": []})), [format!("{role}: {text}")]);
        }
        let pressed =
            json!({"message": {"text": "@agent Continue: \"Run it?\""}, "confirmation": "Continue", "response": []});
        assert_eq!(shown(&pressed), ["System Context: @agent Continue: \"Run it?\""]);
    }

    #[test]
    fn answers_in_a_form_are_the_users_and_are_read_once() {
        let form = json!({"message": {"text": "go"}, "response": [{"kind": "questionCarousel", "questions": [{"message": "Which port?"}], "data": {"q:0": {"selectedValue": "Turku", "freeformValue": "the old one"}}}]});
        assert_eq!(shown(&form), ["User Prose: go", "Assistant Prose: Which port?", "User Prose: Turku, the old one"]);
        let questions = json!([
            {"id": "q:0", "type": "singleSelect", "title": "Port", "message": "Which port?", "options": [{"id": "o", "label": "Turku - the old one", "value": "Turku"}]},
            {"id": "q:1", "type": "text", "title": "Date", "message": "When?"}]);
        let asked =
            json!({"questions": [{"header": "Port", "question": "Which port?", "options": [{"label": "Turku"}]}]});
        let answers = r#"{"answers":{"Port":{"selected":["Turku"],"freeText":null,"skipped":false}}}"#;
        let said = |data: Value| {
            let form = json!({"message": {"text": "go"}, "response": [
                {"kind": "questionCarousel", "questions": questions, "resolveId": "q", "isUsed": true, "data": data},
                {"kind": "toolInvocationSerialized", "toolCallId": "q", "toolId": "vscode_askQuestions", "isComplete": true,
                    "resultDetails": {"input": asked.to_string(), "output": [{"type": "embed", "isText": true, "value": answers}]}}],
                "result": {"metadata": {"toolCallResults": {"q": {"content": [{"value": answers}]}}}}});
            let mut said = shown(&form);
            said.retain(|line| line.contains(" Prose"));
            said.split_off(1)
        };
        let port = "Assistant Prose: Which port?\n- Turku - the old one";
        assert_eq!(
            said(json!({"q:0": {"selectedValue": "Turku", "freeformValue": "the old one"}, "q:1": "on Monday"})),
            [port, "User Prose: Turku, the old one", "Assistant Prose: When?", "User Prose: on Monday"]
        );
        assert_eq!(said(json!({"q:0": {"selectedValues": ["Turku", "Oulu"]}})), [port, "User Prose: Turku, Oulu"]);
        let absent = "The user is not available to respond and will review your work later. Work autonomously and make good decisions.";
        for data in [json!({"q:0": {"freeformValue": absent}}), json!({"q:0": absent}), Value::Null] {
            assert_eq!(said(data), ["Assistant Prose: Which port?\nWhen?"]);
        }
    }

    #[test]
    fn a_log_of_changes_is_the_session_that_it_describes() {
        let lines = [
            json!({"kind": 0, "v": {"version": 3, "sessionId": "s1", "creationDate": 1_772_442_000_000_i64, "requests": []}}),
            json!({"kind": 2, "k": ["requests"], "v": [{"requestId": "r1", "timestamp": 1_772_442_010_000_i64, "message": {"text": "use euros"}, "response": []}]}),
            json!({"kind": 2, "k": ["requests", 0, "response"], "v": [{"value": "Euros."}]}),
            json!({"kind": 1, "k": ["requests", 7, "vote"], "v": 1}),
            json!({"kind": 1, "k": ["customTitle"], "v": "Money"}),
        ];
        let text: String = lines.iter().flat_map(|line| [line.to_string(), "\n".to_owned()]).collect();
        let (seen, skipped) = read(&format!("{text}{{\"kind\":1,\"k"));
        let (document, _) = read(
        &json!({"sessionId": "s1", "customTitle": "Money", "creationDate": 1_772_442_000_000_i64, "requests": [
        {"requestId": "r1", "timestamp": 1_772_442_010_000_i64, "message": {"text": "use euros"}, "response": [{"value": "Euros."}]}]})
        .to_string(),
    );
        assert_eq!(seen, document);
        assert_eq!((seen[0].title.as_deref(), seen[0].messages.len()), (Some("Money"), 2));
        let records: Vec<_> = skipped.iter().map(|skipped| skipped.record).collect();
        assert_eq!(records, [4, 6]);
    }

    #[test]
    fn an_export_is_known_by_its_requests_and_a_stored_session_by_its_folder() {
        let id = |request: &str| {
            let export =
                json!({"requesterUsername": "aino", "requests": [{"requestId": request, "message": {"text": "hi"}}]});
            read(&export.to_string()).0[0].external_id.clone()
        };
        assert_eq!(id("request_1"), id("request_1"));
        assert_ne!(id("request_1"), id("request_2"));

        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("chatSessions")).unwrap();
        std::fs::write(folder.path().join("workspace.json"), r#"{"folder":"file:///home/aino/ferry"}"#).unwrap();
        let path = folder.path().join("chatSessions/s1.json");
        std::fs::write(&path, r#"{"sessionId":"s1","requests":[{"message":"hi"}]}"#).unwrap();
        let mut seen = Vec::new();
        let mut accept = |transcript| seen.push(transcript);
        CopilotChat.read(crate::open(&path).unwrap(), &mut Sink::new(&mut accept)).unwrap();
        assert_eq!((seen[0].project.as_deref(), seen[0].messages.len()), (Some("/home/aino/ferry"), 1));
    }

    #[test]
    fn other_documents_with_requests_are_refused() {
        for other in [
            json!({"requests": [{"url": "/a"}], "sessionId": "s"}),
            json!({"requests": [{"message": "hi"}]}),
            json!({"requests": {}, "sessionId": "s"}),
            json!({"kind": 0, "v": {"apiVersion": "v1"}}),
        ] {
            assert!(!CopilotChat.sniff(&Head::new(other.to_string().into(), true)), "{other}");
        }
    }
}

#[cfg(test)]
mod changes_tests {
    use super::*;
    use serde_json::json;

    fn replayed(changes: &[Value]) -> (Value, Vec<&'static str>) {
        let mut replay = Replay::default();
        let failed = changes.iter().filter_map(|change| replay.apply(change.clone()).err()).collect();
        (replay.state, failed)
    }

    #[test]
    fn changes_set_append_cut_and_delete() {
        let (state, failed) = replayed(&[
            json!({"kind": 0, "v": {"requests": [], "customTitle": "a"}}),
            json!({"kind": 2, "k": ["requests"], "v": [{"id": 1}, {"id": 2}]}),
            json!({"kind": 2, "k": ["requests", 0, "response"], "v": ["x", "y"]}),
            json!({"kind": 2, "k": ["requests", 0, "response"], "v": ["z"], "i": 1}),
            json!({"kind": 1, "k": ["requests", 1, "id"], "v": 3}),
            json!({"kind": 1, "k": ["requests", 2], "v": {"id": 4}}),
            json!({"kind": 3, "k": ["customTitle"]}),
        ]);
        assert_eq!(failed, Vec::<&str>::new());
        assert_eq!(state, json!({"requests": [{"id": 1, "response": ["x", "z"]}, {"id": 3}, {"id": 4}]}));
    }

    #[test]
    fn a_document_grows_no_further_than_it_may() {
        let mut replay = Replay { most: 2_000, ..Replay::default() };
        let text = "x".repeat(500);
        let answer = |kept: Option<u64>| json!({"kind": 2, "k": ["requests"], "v": [text], "i": kept});
        replay.apply(json!({"kind": 0, "v": {"requests": []}})).unwrap();
        // A value that is overwritten repeatedly takes no additional memory.
        for _ in 0..20 {
            replay.apply(answer(Some(0))).unwrap();
            replay.apply(json!({"kind": 1, "k": ["title"], "v": text})).unwrap();
            replay.apply(json!({"kind": 3, "k": ["title"]})).unwrap();
        }
        let failed = (0..20).filter(|_| replay.apply(answer(None)).is_err()).count();
        assert_eq!(failed, 18);
        assert_eq!(replay.state["requests"].as_array().map(Vec::len), Some(3));
    }

    #[test]
    fn what_cannot_be_applied_changes_nothing() {
        let start = json!({"kind": 0, "v": {"requests": [], "title": "a"}});
        let (state, failed) = replayed(&[
            json!({"kind": 1, "k": ["requests", 0], "v": 1}),
            start.clone(),
            json!({"kind": 1, "k": [], "v": 1}),
            json!({"kind": 1, "k": ["requests", 9], "v": 1}),
            json!({"kind": 1, "k": ["requests", -1], "v": 1}),
            json!({"kind": 2, "k": ["title"], "v": [1]}),
            json!({"kind": 2, "k": ["requests"], "v": 1}),
            json!({"kind": 1, "k": vec!["requests"; 99], "v": 1}),
            json!({"kind": 9, "k": ["title"], "v": 1}),
            json!("line"),
        ]);
        assert_eq!((state, failed.len()), (start["v"].clone(), 9));
    }
}
