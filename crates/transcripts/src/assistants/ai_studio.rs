//! Google AI Studio prompts, as stored in Google Drive: one file per chat, consisting of chunks.

use std::collections::HashMap;

use serde_json::Value;

use crate::json::Json;
use crate::message::assemble::Clock;
use crate::message::identity;
use crate::message::parts::{call_line, file_label, without_data};
use crate::{Assembler, Head, IngestError, Ingestor, Input, Kind, Message, MessageTime, Object, Objects, Role, Sink};

/// Types of files in a chunk: the field of a file is named after its storage location and its type, as in `driveImage`.
const FILES: &[&str] = &["File", "Document", "Image", "Audio", "Video"];

/// Reads prompts of Google AI Studio.
pub(crate) struct AiStudio;

impl Ingestor for AiStudio {
    named!("ai-studio");

    fn sniff(&self, head: &Head<'_>) -> bool {
        head.objects().any(|value| value["chunkedPrompt"]["chunks"].is_array())
    }

    fn read(&self, input: Input, sink: &mut Sink<'_>) -> Result<(), IngestError> {
        let (name, changed) = (name_of(&input), identity::file_time(&input));
        Objects::each(input, sink, |object, sink| {
            if object.value["chunkedPrompt"]["chunks"].is_array() {
                read_prompt(object, &name, changed, sink);
            } else {
                sink.skip(object.number, "not a prompt: `chunkedPrompt` is missing");
            }
        })
    }
}

/// Returns the name of the file, which is the title of the chat: Drive adds no extension, so a dot belongs to the
/// title.
fn name_of(input: &Input) -> String {
    let name = input.path.file_name().unwrap_or_default().to_string_lossy();
    name.strip_suffix(".json").unwrap_or(&name).to_owned()
}

fn read_prompt(object: Object, name: &str, changed: Option<MessageTime>, sink: &mut Sink<'_>) {
    let Object { number, origin, value: prompt, .. } = object;
    let chunks = shown(prompt["chunkedPrompt"]["chunks"].list());
    let started = identity::stamp(&prompt["createTime"]);
    let first_stamp = chunks.iter().find_map(|chunk| identity::stamp(&chunk["createTime"]));
    // Not every chunk has a time, and some prompts have no time at all.
    let mut clock = Clock::starting(started.or(first_stamp).or(changed));
    let mut messages = Vec::new();
    if let Some(words) = instruction(&prompt["systemInstruction"]) {
        messages.push(Message { time: clock.next(None), ..Message::context(words) });
    }
    for chunk in chunks {
        let time = clock.next(identity::stamp(&chunk["createTime"]));
        messages.extend(messages_of(chunk, time, number, sink));
    }
    // Text that was typed but never sent is not part of the conversation.
    let drafts = prompt["chunkedPrompt"]["pendingInputs"].list();
    if drafts.iter().any(|draft| !words(draft, false).trim().is_empty()) {
        sink.skip(number, "a draft that was not sent");
    }
    let first = messages.iter().find(|message| message.is_human()).or(messages.first());
    let id = prompt["id"].owned().or_else(|| first.map(|first| identity::of_file(name, first))).unwrap_or_default();
    let mut draft = Assembler::new("ai-studio", id, origin);
    draft.meta().title =
        prompt["displayName"].owned().or_else(|| Some(name.to_owned()).filter(|name| !name.is_empty()));
    // The field contains the prefix of the resource name, which is not part of the usual name.
    draft.meta().model = prompt["runSettings"]["model"].owned().map(|model| model.replacen("models/", "", 1));
    draft.meta().created_at = started.map(|time| time.at);
    draft.extend(messages, sink);
    draft.finish(sink);
}

/// Leaves out answers for which the chunks contain a newer version.
fn shown(chunks: &[Value]) -> Vec<&Value> {
    let parent = |chunk: &Value| chunk["branchParent"]["id"].as_str().map(str::to_owned);
    let parents: HashMap<&str, Option<String>> =
        chunks.iter().filter_map(|chunk| Some((chunk["id"].as_str()?, parent(chunk)))).collect();
    let is_replaced = |chunk: &Value| {
        let own = parent(chunk);
        let newer = chunk["branchChildren"].list().iter().filter_map(|child| parents.get(child["id"].as_str()?));
        own.is_some() && newer.into_iter().any(|other| *other == own)
    };
    chunks.iter().filter(|chunk| chunk.is_object() && !is_replaced(chunk)).collect()
}

fn instruction(value: &Value) -> Option<String> {
    let parts = value["parts"].list().iter().filter_map(|part| part["text"].as_str());
    let joined = parts.collect::<Vec<_>>().join("\n");
    value.owned().or_else(|| value["text"].owned()).or_else(|| Some(joined).filter(|words| !words.trim().is_empty()))
}

/// Returns the text or the thoughts of a chunk: from its text, or, failing that, from the parts in which it was
/// streamed.
fn words(chunk: &Value, of_thought: bool) -> String {
    let is_thought = |value: &Value| value["isThought"] == true || value["thought"] == true;
    let whole = chunk["text"].owned().filter(|_| is_thought(chunk) == of_thought);
    whole.unwrap_or_else(|| {
        let parts = chunk["parts"].list().iter().filter(|part| (is_thought(chunk) || is_thought(part)) == of_thought);
        parts.filter_map(|part| part["text"].as_str()).collect()
    })
}

fn messages_of(chunk: &Value, time: Option<MessageTime>, number: usize, sink: &mut Sink<'_>) -> Vec<Message> {
    let role = match chunk["role"].as_str() {
        Some("user") => Role::User,
        Some("model") => Role::Assistant,
        Some(_) | None => {
            sink.skip(number, "a chunk whose role is not known");
            return Vec::new();
        }
    };
    let code = &chunk["executableCode"];
    let language = code["language"].as_str().unwrap_or("code").to_lowercase();
    let call = code["code"].as_str().map(|code| call_line(&language, code)).unwrap_or_default();
    let output = chunk["codeExecutionResult"]["output"].string();
    let mut said = vec![
        (role, Kind::Reasoning, words(chunk, true)),
        (role, Kind::Prose, without_data(&words(chunk, false))),
        (role, Kind::ToolCall, call),
        (Role::Tool, Kind::ToolResult, without_data(output)),
        (role, Kind::Context, chunk["errorMessage"].string().to_owned()),
    ];
    for file in ["drive", "inline", "youtube"] {
        for noun in FILES {
            let file = &chunk[format!("{file}{noun}")];
            let is_image = file["mimeType"].string().starts_with("image/");
            let noun = if is_image { "image".to_owned() } else { noun.to_lowercase() };
            if file.is_object() {
                said.push((role, Kind::Attachment, file_label(&noun, file["name"].as_str())));
            }
        }
    }
    let id = chunk["id"].string();
    said.into_iter()
        .filter(|(_, _, text)| !text.trim().is_empty())
        .map(|(role, kind, text)| Message { id: id.to_owned(), kind, time, ..Message::prose(role, text) })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::read_input;
    use crate::{TimeSource, Transcript};
    use serde_json::json;

    fn read(name: &str, value: &Value) -> (Vec<Transcript>, Vec<String>) {
        let (seen, skipped) = read_input(&AiStudio, Input::from_text(name, &value.to_string()));
        (seen, skipped.into_iter().map(|(_, reason)| reason).collect())
    }

    fn said(chunks: &Value) -> Vec<(Role, Kind, String)> {
        let (seen, _) = read("chat", &json!({"chunkedPrompt": {"chunks": chunks}}));
        let messages = seen.into_iter().flat_map(|one| one.messages);
        messages.map(|message| (message.role, message.kind, message.text)).collect()
    }

    #[test]
    fn each_chunk_is_recognised_by_what_it_holds() {
        let chunks = json!([
            {"role": "user", "text": "Sum these.", "driveDocument": {"id": "d"}},
            {"role": "user", "inlineFile": {"mimeType": "image/png", "data": "iVBORw0KGgo="}},
            {"role": "model", "isThought": true, "text": "adding"},
            {"role": "model", "parts": [{"text": "more", "thought": true}, {"text": "It "}, {"text": "is 55."}],
                "executableCode": {"language": "PYTHON", "code": "print(55)"}, "codeExecutionResult": {"output": "55"}},
            {"role": "model", "text": "", "errorMessage": "stopped"}]);
        let expected = [
            (Role::User, Kind::Prose, "Sum these."),
            (Role::User, Kind::Attachment, "[document]"),
            (Role::User, Kind::Attachment, "[image]"),
            (Role::Assistant, Kind::Reasoning, "adding"),
            (Role::Assistant, Kind::Reasoning, "more"),
            (Role::Assistant, Kind::Prose, "It is 55."),
            (Role::Assistant, Kind::ToolCall, "python print(55)"),
            (Role::Tool, Kind::ToolResult, "55"),
            (Role::Assistant, Kind::Context, "stopped"),
        ];
        assert_eq!(said(&chunks), expected.map(|(role, kind, text)| (role, kind, text.to_owned())));
    }

    #[test]
    fn an_answer_with_a_newer_version_is_left_out_and_a_branch_to_another_file_is_not() {
        let chunks = json!([
            {"id": "u", "role": "user", "text": "ask", "branchChildren": [{"promptId": "prompts/1"}]},
            {"id": "1", "role": "model", "text": "old", "branchParent": {"id": "u"}, "branchChildren": [{"id": "2"}]},
            {"id": "2", "role": "model", "text": "new", "branchParent": {"id": "u"}}]);
        let words: Vec<_> = said(&chunks).into_iter().map(|(_, _, text)| text).collect();
        assert_eq!(words, ["ask", "new"]);
    }

    #[test]
    fn times_come_from_the_chunks_the_prompt_or_the_files_name() {
        let times = |name: &str, prompt: &Value| -> Vec<_> {
            let (seen, _) = read(name, prompt);
            seen[0].messages.iter().map(|message| message.time.map(|time| (time.at.to_string(), time.source))).collect()
        };
        let chunks = json!([{"role": "user", "text": "a"}, {"role": "model", "text": "b", "createTime": "2026-02-01T10:00:00Z"}]);
        let dated = json!({"createTime": "2026-02-01T09:00:00Z", "chunkedPrompt": {"chunks": chunks}});
        let (early, late) = ("2026-02-01T09:00:00Z".to_owned(), "2026-02-01T10:00:00Z".to_owned());
        assert_eq!(times("chat", &dated), [Some((early, TimeSource::Derived)), Some((late.clone(), TimeSource::Log))]);
        let stamped = json!({"chunkedPrompt": {"chunks": chunks}});
        assert_eq!(times("chat", &stamped), [Some((late.clone(), TimeSource::Derived)), Some((late, TimeSource::Log))]);
        let bare = json!({"chunkedPrompt": {"chunks": [{"role": "user", "text": "a"}]}});
        assert_eq!(times("plan 2026-01-31", &bare), [Some(("2026-01-31T00:00:00Z".to_owned(), TimeSource::File))]);
    }

    #[test]
    fn instructions_are_context_and_an_unsent_draft_is_reported() {
        for instruction in [json!({"text": "Be brief."}), json!({"parts": [{"text": "Be brief."}]}), json!("Be brief.")]
        {
            let prompt = json!({"systemInstruction": instruction, "runSettings": {"model": "models/gemini-2.5-pro"},
                "chunkedPrompt": {"chunks": [{"role": "user", "text": "hi"}], "pendingInputs": [{"role": "user", "text": "and"}]}});
            let (seen, skipped) = read("chat", &prompt);
            assert_eq!((seen[0].messages[0].kind, seen[0].messages[0].text.as_str()), (Kind::Context, "Be brief."));
            assert_eq!(
                (seen[0].model.as_deref(), skipped),
                (Some("gemini-2.5-pro"), vec!["a draft that was not sent".to_owned()])
            );
        }
    }
}
