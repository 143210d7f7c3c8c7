//! Google Chat: the messages of a space or of a direct conversation, from Google Takeout.

use serde_json::Value;

use crate::json::Json;
use crate::message::dates::written_in;
use crate::message::{identity, parts};
use crate::{
    Assembler, Head, IngestError, Ingestor, Input, Kind, Message, MessageTime, Records, Role, Sink, TimeSource,
};

/// Texts that the program writes in the name of a person.
const NOTICES: &[&str] = &["Updated room membership.", "Updated room settings.", "Updated space settings."];

/// Reads messages of Google Chat.
pub(crate) struct GoogleChat;

impl Ingestor for GoogleChat {
    named!("google-chat");

    fn sniff(&self, head: &Head<'_>) -> bool {
        let is_message = |message: &Value| message["creator"].is_object() && is_dated(message);
        head.document.as_ref().is_some_and(|chat| chat["messages"].list().iter().take(50).any(is_message))
    }

    fn read(&self, input: Input, sink: &mut Sink<'_>) -> Result<(), IngestError> {
        // Every file has the same name; its folder is named after the space, with an id.
        let folder = input.path.parent().and_then(|folder| folder.file_name()).unwrap_or_default().to_string_lossy();
        let title = folder.strip_prefix("Space ").or_else(|| folder.strip_prefix("DM ")).map(str::to_owned);
        // The name of a space is in a file next to the messages.
        let named = input.sibling_json("group_info.json")["name"].owned();
        let title = named.or(title).unwrap_or_else(|| input.stem());
        let mut draft = Assembler::new("google-chat", "", input.path.display().to_string());
        draft.meta().title = Some(title.clone());
        let mut records = Records::elements_of(input, &["messages"]);
        while let Some((number, message)) = records.next_json::<Value>(sink)? {
            if !is_dated(&message) {
                sink.skip(number, "not a message: no `created_date`");
                continue;
            }
            for message in messages(&message, number) {
                draft.name_after(&message, || identity::of_parts(&[&title, &message.id, &message.content_hash()]));
                draft.push(message, sink);
            }
        }
        draft.finish(sink);
        Ok(())
    }
}

fn is_dated(message: &Value) -> bool {
    message["created_date"].is_string() || message["updated_date"].is_string()
}

fn messages(value: &Value, number: usize) -> Vec<Message> {
    let creator = &value["creator"];
    let speaker = creator.first_owned(&["name", "email"]);
    let role = if creator["user_type"] == "Bot" { Role::Other } else { Role::User };
    // Only newer exports have an id; its last part identifies the message.
    let id = value["message_id"].text().map_or_else(|| number.to_string(), str::to_owned);
    let time = ["created_date", "updated_date"].into_iter().find_map(|key| time(value[key].string()));
    let of = |kind: Kind, id: String, text: String| Message {
        id,
        time,
        speaker: speaker.clone(),
        ..Message::new(role, kind, text)
    };
    let text = value["text"].string();
    let quoted = value["quoted_message_metadata"]["text"].text();
    let reply = quoted.map(|quoted| of(Kind::Attachment, format!("{id}/reply"), format!("[in reply to: {quoted}]")));
    let kind = if NOTICES.contains(&text.trim()) { Kind::Context } else { Kind::Prose };
    let said = of(kind, id.clone(), text.to_owned());
    let files = value["attached_files"].list().iter().map(|file| {
        let name = file.first_text(&["original_name", "export_name"]);
        of(Kind::Attachment, format!("{id}/file"), parts::file_label("file", name))
    });
    reply.into_iter().chain([said]).chain(files).collect()
}

/// Reads `Friday, February 3, 2023 at 1:08:03 AM UTC`, where newer exports contain narrow spaces.
fn time(text: &str) -> Option<MessageTime> {
    let plain: String = text.chars().map(|c| if c.is_whitespace() { ' ' } else { c }).collect();
    written_in(&plain).map(|time| MessageTime { source: TimeSource::Log, ..time })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{lines, read, sniffs};
    use serde_json::json;

    #[test]
    fn words_notices_quotations_and_files_are_told_apart() {
        let message = |name: &str, more: &Value| {
            let mut message = json!({"creator": {"name": name, "user_type": "Human"}, "created_date": "Friday, February 13, 2026 at 1:08:03\u{202f}PM UTC", "topic_id": "t"});
            for (key, value) in more.as_object().unwrap() {
                message[key] = value.clone();
            }
            message
        };
        let text = json!({"messages": [
            message("Ana", &json!({"text": "It bakes.", "message_id": "s/t/m1"})),
            message("Ana", &json!({"text": "Updated room membership."})),
            message("Rui", &json!({"text": "Good.", "quoted_message_metadata": {"text": "It bakes."}, "attached_files": [{"original_name": "a.png"}]})),
            message("ci", &json!({"text": "Built.", "creator": {"name": "ci", "user_type": "Bot"}})),
            {"topic_id": "x"},
        ]});
        assert!(sniffs(&GoogleChat, &text.to_string()));
        let (seen, skipped) = read(&GoogleChat, "Groups/Space AAA/messages.json", &text.to_string());
        assert_eq!(
            lines(&seen[0]),
            [
                "User Prose It bakes.",
                "User Context Updated room membership.",
                "User Attachment [in reply to: It bakes.]",
                "User Prose Good.",
                "User Attachment [file: a.png]",
                "Other Prose Built.",
            ]
        );
        let time = seen[0].messages[0].time.unwrap();
        assert_eq!((time.at.to_string().as_str(), time.offset_seconds), ("2026-02-13T13:08:03Z", Some(0)));
        assert_eq!((seen[0].title.as_deref(), skipped.len()), (Some("AAA"), 1));
        assert!(!sniffs(&GoogleChat, "{\"messages\": [{\"role\": \"user\", \"content\": \"hi\"}]}"));
    }
    #[test]
    fn a_space_has_the_name_that_stands_beside_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("messages.json");
        let text = json!({"messages": [{"creator": {"name": "Ana"}, "created_date": "May 1, 2026", "text": "hi"}]});
        std::fs::write(&path, text.to_string()).unwrap();
        std::fs::write(folder.path().join("group_info.json"), "{\"name\": \"Bakers\"}").unwrap();
        let (seen, _) = crate::testing::read_input(&GoogleChat, crate::open(&path).unwrap());
        assert_eq!(seen[0].title.as_deref(), Some("Bakers"));
    }
}
