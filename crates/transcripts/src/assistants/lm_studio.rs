//! LM Studio conversations: one file per conversation, with all versions of each message.

use serde_json::Value;

use crate::assistants::export::{self, role_and_kind};
use crate::json::Json;
use crate::message::identity;
use crate::message::parts::{call_line, file_label, without_data};
use crate::{Assembler, Head, Ingestor, Kind, Message, Object, Sink};

/// Reads conversations from LM Studio.
pub(crate) struct LmStudio;

impl Ingestor for LmStudio {
    named!("lm-studio");

    fn sniff(&self, head: &Head<'_>) -> bool {
        let is_message = |message: &Value| message["versions"].is_array() && message.get("currentlySelected").is_some();
        head.objects().any(|value| value["messages"].list().iter().any(is_message))
    }

    read_each!(read_conversation);
}

fn read_conversation(Object { stem, number, origin, value: conversation, .. }: Object, sink: &mut Sink<'_>) {
    let mut said: Vec<Message> = system_prompt(&conversation).map(Message::context).into_iter().collect();
    let mut model = conversation["lastUsedModel"]["identifier"].owned();
    let Some(messages) = conversation["messages"].as_array() else {
        return sink.skip(number, "not a conversation: `messages` is missing");
    };
    for message in messages {
        // Regenerating an answer adds a version; only one version is shown.
        let Some(version) = selected(message) else {
            sink.skip(number, "a message without a version");
            continue;
        };
        // The model can be changed within a conversation; the last model that answered is recorded.
        model = version["senderInfo"]["senderName"].owned().or(model);
        said.extend(messages_of(version, number, sink));
    }
    let first = said.iter().find(|message| message.is_human()).or(said.first()).map(Message::content_hash);
    // A file is named after its creation time and can be renamed; the time inside the file remains.
    let created = conversation["createdAt"].as_u64().map_or_else(|| stem.to_string(), |millis| millis.to_string());
    let id = identity::of_parts(&[&created, &first.unwrap_or_default()]);
    let mut draft = Assembler::new("lm-studio", id, origin);
    draft.meta().title = conversation["name"].owned();
    draft.meta().model = model;
    draft.start_at(identity::stamp(&conversation["createdAt"]));
    let time = draft.next_time(None);
    draft.push_all("", time, said, sink);
    draft.finish(sink);
}

fn system_prompt(conversation: &Value) -> Option<String> {
    let fields = conversation["perChatPredictionConfig"]["fields"].list();
    let field = fields.iter().find(|field| field["key"] == "llm.prediction.systemPrompt");
    conversation["systemPrompt"].owned().or_else(|| field?["value"].owned())
}

/// Returns the version that is shown, or, failing that, the last version.
fn selected(message: &Value) -> Option<&Value> {
    let versions = message["versions"].list();
    let selected = message["currentlySelected"].as_u64().and_then(|place| usize::try_from(place).ok());
    selected.and_then(|place| versions.get(place)).or(versions.last())
}

fn messages_of(version: &Value, number: usize, sink: &mut Sink<'_>) -> Vec<Message> {
    let Some((role, kind)) = role_and_kind(&version["role"]) else {
        sink.skip(number, "a message whose role is not known");
        return Vec::new();
    };
    let mut said: Vec<(Kind, String)> = Vec::new();
    if let Some(words) = version["content"].as_str() {
        said.push((kind, words.to_owned()));
    }
    said.extend(version["content"].list().iter().filter_map(|part| of_part(part, kind)));
    for step in version["steps"].list() {
        let kind = if step["style"]["type"] == "thinking" { Kind::Reasoning } else { kind };
        said.extend(step["content"].list().iter().filter_map(|part| of_part(part, kind)));
    }
    export::messages(role, said)
}

/// Returns the content of a part of a step; `None` if it contains no text, as with a note about the speed.
fn of_part(part: &Value, kind: Kind) -> Option<(Kind, String)> {
    Some(match part["type"].as_str()? {
        "text" => (kind, without_data(part["text"].as_str()?)),
        "file" => {
            let noun = if part["fileType"] == "image" { "image" } else { "file" };
            (Kind::Attachment, file_label(noun, part["name"].as_str()))
        }
        "toolCallRequest" => {
            (Kind::ToolCall, call_line(part["name"].as_str().unwrap_or("tool"), &part["parameters"].to_string()))
        }
        "toolCallResult" => (Kind::ToolResult, without_data(&part["content"].shown())),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Input;
    use crate::testing::read_input;
    use crate::{TimeSource, Transcript};
    use serde_json::json;

    fn read(name: &str, value: &Value) -> (Vec<Transcript>, Vec<String>) {
        let (seen, skipped) = read_input(&LmStudio, Input::from_text(name, &value.to_string()));
        (seen, skipped.into_iter().map(|(_, reason)| reason).collect())
    }

    fn conversation() -> Value {
        let typed =
            |words: &str| json!({"type": "singleStep", "role": "user", "content": [{"type": "text", "text": words}]});
        let step = |style: &str, content: &Value| json!({"type": "contentBlock", "style": {"type": style}, "content": content});
        json!({"name": "Tides", "createdAt": 1_767_312_000_000_u64, "systemPrompt": "Be brief.", "messages": [
            {"versions": [typed("Wehn?"), typed("When?"), typed("Later?")], "currentlySelected": 1},
            {"versions": [{"type": "multiStep", "role": "assistant", "senderInfo": {"senderName": "qwen3-8b"}, "steps": [
                step("thinking", &json!([{"type": "text", "text": "hm"}])),
                step("default", &json!([{"type": "toolCallRequest", "name": "tides", "parameters": {"query": "Faro"}},
                    {"type": "toolCallResult", "content": "six"}])),
                {"type": "debugInfoBlock", "debugInfo": "fast"},
                step("default", &json!([{"type": "text", "text": "Six."}]))]}], "currentlySelected": 9},
            {"versions": []}]})
    }

    #[test]
    fn the_selected_versions_are_read_step_by_step() {
        let (seen, skipped) = read("1767312000000.conversation.json", &conversation());
        let pieces: Vec<_> = seen[0].messages.iter().map(|message| (message.kind, message.text.as_str())).collect();
        let expected = [
            (Kind::Context, "Be brief."),
            (Kind::Prose, "When?"),
            (Kind::Reasoning, "hm"),
            (Kind::ToolCall, "tides Faro"),
            (Kind::ToolResult, "six"),
            (Kind::Prose, "Six."),
        ];
        assert_eq!((pieces, skipped), (expected.to_vec(), vec!["a message without a version".to_owned()]));
        assert_eq!((seen[0].model.as_deref(), seen[0].title.as_deref()), (Some("qwen3-8b"), Some("Tides")));
        assert!(seen[0].messages.iter().all(|message| message.time.unwrap().source == TimeSource::Derived));
    }

    #[test]
    fn a_file_that_is_renamed_keeps_its_identity() {
        let id = |name| read(name, &conversation()).0[0].external_id.clone();
        assert_eq!(id("a.json"), id("b.json"));
        let mut other = conversation();
        other["createdAt"] = json!(1_767_312_000_001_u64);
        assert_ne!(id("a.json"), read("a.json", &other).0[0].external_id);
    }
}
