//! The export of Chatbot UI: all chats in one object, without times.

use serde_json::Value;

use crate::assistants::export::role_and_kind;
use crate::json::Json;
use crate::message::identity;
use crate::message::parts::{file_label, without_data};
use crate::{Assembler, Head, IngestError, Ingestor, Input, Kind, Message, Records, Sink};

/// Minimum length, in bytes, of an id that serves as an identity; a shorter id is a counter, which the next export
/// reuses.
const SHORTEST_ID: usize = 8;

/// Reads the export of Chatbot UI.
pub(crate) struct ChatbotUi;

impl Ingestor for ChatbotUi {
    named!("chatbot-ui");

    fn sniff(&self, head: &Head<'_>) -> bool {
        head.objects().any(|value| value["history"].list().iter().any(is_chat))
    }

    fn read(&self, input: Input, sink: &mut Sink<'_>) -> Result<(), IngestError> {
        let path = input.path.display().to_string();
        let mut records = Records::elements_of(input, &["history"]);
        while let Some((number, chat)) = records.next_json::<Value>(sink)? {
            if chat["messages"].is_array() {
                read_chat(&chat, format!("{path}#{number}"), number, sink);
            } else {
                sink.skip(number, "not a chat: `messages` is missing");
            }
        }
        Ok(())
    }
}

fn is_chat(value: &Value) -> bool {
    let is_message = |message: &Value| message["role"].is_string() && message.get("content").is_some();
    value["name"].is_string()
        && value["messages"].as_array().is_some_and(|messages| messages.is_empty() || messages.iter().any(is_message))
}

fn read_chat(chat: &Value, origin: String, number: usize, sink: &mut Sink<'_>) {
    let messages: Vec<Message> =
        chat["messages"].list().iter().flat_map(|message| messages_of(message, number, sink)).collect();
    if messages.is_empty() {
        return sink.skip(number, "a chat without messages");
    }
    // Early versions number the chats from one.
    let id = chat["id"].owned().filter(|id| id.len() >= SHORTEST_ID).unwrap_or_else(|| {
        let first = messages.first().map(Message::content_hash).unwrap_or_default();
        identity::of_parts(&[&chat["id"].to_string(), &first])
    });
    let mut draft = Assembler::new("chatbot-ui", id, origin);
    draft.meta().title = chat["name"].owned();
    draft.meta().model = chat["model"]["id"].owned().or_else(|| chat["model"].owned());
    if let Some(prompt) = chat["prompt"].owned() {
        draft.push(Message::context(prompt), sink);
    }
    draft.extend(messages, sink);
    draft.finish(sink);
}

fn messages_of(message: &Value, number: usize, sink: &mut Sink<'_>) -> Vec<Message> {
    let Some((role, kind)) = role_and_kind(&message["role"]) else {
        sink.skip(number, "a message whose role is not known");
        return Vec::new();
    };
    let parts = message["content"].list();
    let words = match message["content"].as_str() {
        Some(words) => words.to_owned(),
        None => parts.iter().filter_map(|part| part["text"].as_str()).collect::<Vec<_>>().join("\n"),
    };
    let images = parts.iter().filter(|part| part["type"] == "image_url").map(|_| file_label("image", None));
    let images = images.map(|label| Message::new(role, Kind::Attachment, label));
    std::iter::once(Message::new(role, kind, without_data(&words))).chain(images).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Transcript;
    use crate::testing::read_input;
    use serde_json::json;

    fn read(value: &Value) -> (Vec<Transcript>, Vec<usize>) {
        let (seen, skipped) = read_input(&ChatbotUi, Input::from_text("history.json", &value.to_string()));
        (seen, skipped.into_iter().map(|(record, _)| record).collect())
    }

    #[test]
    fn each_chat_is_read_and_what_is_none_is_reported() {
        let chats = json!({"version": 4, "folders": [], "history": [
            {"id": "chat-0001-a", "name": "Tides", "prompt": "Be brief.", "model": {"id": "gpt-4"}, "messages": [
                {"role": "user", "content": "When?"}, {"role": "assistant", "content": "Six."}, {"role": "ghost", "content": "boo"}]},
            {"name": "Broken"}, 7], "prompts": []});
        let (seen, skipped) = read(&chats);
        let pieces: Vec<_> = seen[0].messages.iter().map(|message| (message.kind, message.text.as_str())).collect();
        assert_eq!(pieces, [(Kind::Context, "Be brief."), (Kind::Prose, "When?"), (Kind::Prose, "Six.")]);
        assert_eq!((seen[0].external_id.as_str(), skipped), ("chat-0001-a", vec![1, 2, 3]));
    }

    #[test]
    fn a_counter_is_no_identity() {
        let chat = |id: u32, words: &str| json!({"history": [{"id": id, "name": "x", "messages": [{"role": "user", "content": words}]}]});
        let id = |value: &Value| read(value).0[0].external_id.clone();
        assert_ne!(id(&chat(1, "a")), id(&chat(1, "b")));
        assert_eq!(id(&chat(1, "a")), id(&chat(1, "a")));
    }
}
