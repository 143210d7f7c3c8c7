//! One request of a chat: what the user asked, and all that came back.

use std::collections::HashMap;

use serde_json::Value;

use crate::agents::turn::{self, answer, call, message, text, user_words};
use crate::parts::{file_label, without_data};
use crate::{Kind, Message, Role};

/// A message, and whether it is the asking or the answering.
pub(super) struct Said {
    pub(super) is_asked: bool,
    pub(super) message: Message,
}

/// Whether the request was undone, and will be gone once the next one is sent.
pub(super) fn is_taken_back(request: &Value) -> bool {
    request["shouldBeRemovedOnSend"].is_object() && request["shouldBeRemovedOnSend"]["afterUndoStop"].is_null()
}

/// Returns what was asked and what was answered.
pub(super) fn messages_of(request: &Value) -> Vec<Said> {
    let said = |is_asked: bool, id: &str, message: Message| Said {
        is_asked,
        message: Message { id: id.to_owned(), ..message },
    };
    let request_id = text(&request["requestId"]).unwrap_or_default();
    let response_id = text(&request["responseId"]).unwrap_or(request_id);
    let asked = asked(request).into_iter().map(|message| said(true, request_id, message));
    asked.chain(answered(request).into_iter().map(|message| said(false, response_id, message))).collect()
}

fn asked(request: &Value) -> Vec<Message> {
    let words = text(&request["message"]["text"]).or_else(|| text(&request["message"]));
    let mut messages = words.map(user_words).unwrap_or_default();
    // The program asks by itself, e.g. once a command in the terminal has ended.
    if request["isSystemInitiated"] == true {
        for message in &mut messages {
            (message.role, message.kind) = (Role::System, Kind::Context);
        }
    }
    for variable in request["variableData"]["variables"].as_array().into_iter().flatten() {
        let name = text(&variable["name"]);
        let label = match variable["kind"].as_str() {
            Some("image") => file_label("image", name),
            Some("file" | "directory") => file_label("file", name),
            _ => continue,
        };
        messages.push(message(Role::User, Kind::Attachment, label));
    }
    messages
}

fn answered(request: &Value) -> Vec<Message> {
    let response = &request["response"];
    let items = response.as_array().map_or(std::slice::from_ref(response), Vec::as_slice);
    // Each change of a call is written once more; the first stands where it was made, the last knows its end.
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
    if let Some(error) = text(&request["result"]["errorDetails"]["message"]) {
        answer.add_all(vec![message(Role::System, Kind::Context, error)]);
    }
    answer.finish()
}

fn call_id(item: &Value) -> Option<&str> {
    text(&item["toolCallId"]).filter(|_| item["kind"] == "toolInvocationSerialized")
}

/// Collects an answer whose sentences come in pieces.
#[derive(Default)]
struct Answer {
    messages: Vec<Message>,
    words: String,
}

impl Answer {
    fn take(&mut self, item: &Value) {
        match item["kind"].as_str() {
            // A lone fence stands around an edit, which is shown in its place.
            None | Some("markdownContent" | "markdownVuln") => {
                let words = markdown(item).filter(|words| words.trim() != "```");
                self.words.push_str(words.unwrap_or_default());
            }
            Some("inlineReference") => self.words.extend(reference_name(item).map(|name| format!("`{name}`"))),
            Some("thinking") => {
                let pieces = item["value"].as_array().into_iter().flatten().filter_map(Value::as_str);
                let thought = text(&item["value"]).map_or_else(|| pieces.collect::<Vec<_>>().join("\n"), str::to_owned);
                self.add_all(vec![message(Role::Assistant, Kind::Reasoning, thought)]);
            }
            Some("toolInvocationSerialized") => self.add_all(tool(item)),
            Some("textEditGroup" | "notebookEditGroup") => {
                let path = text(&item["uri"]["path"]).or_else(|| text(&item["uri"]["fsPath"])).unwrap_or_default();
                self.add_all(vec![call("edit", &Value::String(path.to_owned()))]);
            }
            Some("confirmation") => {
                let parts = [text(&item["title"]), markdown(&item["message"]).or_else(|| text(&item["message"]))];
                let asked: Vec<_> = parts.into_iter().flatten().collect();
                self.add_all(vec![Message::assistant(asked.join("\n"))]);
            }
            Some("warning") => {
                let warning = markdown(item).unwrap_or_default().to_owned();
                self.add_all(vec![message(Role::System, Kind::Context, warning)]);
            }
            Some("questionCarousel") => self.add_all(questions(item)),
            // Progress, undo marks, buttons and the like.
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

/// Returns the words of a piece, which older versions wrap once more.
fn markdown(item: &Value) -> Option<&str> {
    [item, &item["value"], &item["content"], &item["content"]["value"]].into_iter().find_map(Value::as_str)
}

fn reference_name(item: &Value) -> Option<&str> {
    let target = &item["inlineReference"];
    let path = [&target["path"], &target["fsPath"], &target["uri"]["path"], &target["location"]["uri"]["path"]];
    let file = || path.into_iter().find_map(text).and_then(|path| path.rsplit(['/', '\\']).next());
    text(&item["name"]).or_else(|| text(&target["name"])).or_else(file)
}

fn tool(item: &Value) -> Vec<Message> {
    let (details, special) = (&item["resultDetails"], &item["toolSpecificData"]);
    let name = text(&item["toolId"]).unwrap_or("tool");
    let command = text(&special["commandLine"]["original"]).or_else(|| text(&special["commandLine"]));
    let command = command.or_else(|| text(&special["command"]));
    let told = text(&item["invocationMessage"]).or_else(|| text(&item["invocationMessage"]["value"]));
    let arguments = match (command, text(&details["input"])) {
        (Some(command), _) => Value::String(command.to_owned()),
        (None, Some(input)) => Value::String(input.to_owned()),
        // A link without words, as the screen shows a file: `Reading [](file:///a.rs)`.
        (None, None) => Value::String(told.unwrap_or_default().replace("[](", "").replace(')', "")),
    };
    let mut messages = vec![call(name, &arguments)];
    let outputs = details["output"].as_array().map(Vec::as_slice).unwrap_or_default();
    let texts: Vec<_> =
        outputs.iter().filter(|one| one["isText"] != false).filter_map(|one| text(&one["value"])).collect();
    let output = text(&details["output"]).map_or_else(|| texts.join("\n"), str::to_owned);
    if !output.is_empty() {
        messages.push(answer(&output));
    }
    if text(&item["subAgentInvocationId"]).is_some() {
        turn::of_sub_agent(&mut messages);
    }
    messages
}

/// Returns questions that the assistant put as a form, and the user's answers to them.
fn questions(item: &Value) -> Vec<Message> {
    let asked = item["questions"].as_array().into_iter().flatten();
    let asked: Vec<_> = asked.filter_map(|one| text(&one["message"]).or_else(|| text(&one["title"]))).collect();
    let answers = item["data"].as_object().into_iter().flat_map(|answers| answers.values());
    let chosen = answers.flat_map(|answer| {
        let many = answer["selectedValues"].as_array().into_iter().flatten();
        [answer, &answer["selectedValue"], &answer["freeformValue"]].into_iter().chain(many).filter_map(text)
    });
    let chosen: Vec<_> = chosen.collect();
    vec![Message::assistant(asked.join("\n")), Message::user(chosen.join("\n"))]
}
