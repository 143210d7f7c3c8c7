//! `ShareGPT`: conversations as `from` and `value`, the shape in which many training sets are written; some of them
//! write `role` and `content` in the same place.

use serde_json::{Value, json};

use crate::chat::messages_of;
use crate::exchange::{Conversation, own_id, preamble};
use crate::parts::file_label;
use crate::{Head, IngestError, Ingestor, Input, Objects, Sink};
use crate::{Kind, Message};

/// Reads `ShareGPT` rows.
pub struct ShareGpt;

impl Ingestor for ShareGpt {
    fn name(&self) -> &'static str {
        "sharegpt"
    }

    fn about(&self) -> &'static str {
        "ShareGPT rows: conversations as `from` and `value`"
    }

    fn rule(&self) -> &'static str {
        "objects with `conversations` of `from` and `value`, or of `role` and `content`"
    }

    fn sniff(&self, head: &Head<'_>) -> bool {
        head.objects().any(is_row) || head.most_lines(is_row)
    }

    fn read(&self, input: Input, sink: &mut Sink<'_>) -> Result<(), IngestError> {
        let stem = input.stem();
        let mut objects = Objects::of(input);
        while let Some(object) = objects.next(sink)? {
            let row = &object.value;
            let Some(turns) = row["conversations"].as_array() else {
                sink.skip(object.number, "no row: it has no `conversations`");
                continue;
            };
            let mut messages: Vec<Message> = preamble(&row["system"]).into_iter().collect();
            messages.extend(turns.iter().flat_map(turn_messages));
            let unread = turns.iter().filter(|turn| turn_messages(turn).is_empty()).count();
            if unread > 0 {
                sink.skip(object.number, format!("{unread} turns without a speaker or text"));
            }
            if let Some(path) = row["image"].as_str().filter(|_| !messages.is_empty()) {
                let label = file_label("image", path.rsplit('/').next());
                let first = messages.iter().position(|message| message.kind != Kind::Context).unwrap_or(messages.len());
                messages.insert(first, Message { kind: Kind::Attachment, ..Message::user(label) });
            }
            let told = Conversation { source: self.name(), id: own_id(&[row], &["id"]), facts: vec![row], messages };
            told.hand_over(&object, objects.layout, &stem, sink);
        }
        Ok(())
    }

    fn is_dataset(&self) -> bool {
        true
    }
}

fn is_row(value: &Value) -> bool {
    let turns = value["conversations"].as_array().map_or(&[][..], Vec::as_slice);
    let is_turn = |turn: &Value| {
        turn["from"].is_string() && (turn.get("value").is_some() || turn["content"].is_string())
            || turn["role"].is_string() && turn["content"].is_string()
    };
    turns.iter().any(is_turn)
}

fn turn_messages(turn: &Value) -> Vec<Message> {
    if turn["role"].is_string() {
        return messages_of(turn);
    }
    let value = turn["value"].as_str().or_else(|| turn["content"].as_str());
    let (Some(from), Some(value)) = (turn["from"].as_str(), value) else { return Vec::new() };
    match from {
        "function_call" => messages_of(&json!({"type": "function_call", "name": "function_call", "arguments": value})),
        _ => messages_of(&json!({"role": from, "content": value})),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{lines, read, sniffs};

    #[test]
    fn each_speaker_has_a_role_whatever_the_set_calls_it() {
        let turn = |from: &str| json!({"from": from, "value": from});
        let from = ["system", "human", "function_call", "observation", "gpt", "user", "bard", "narrator"];
        let row = json!({"id": "identity_0", "conversations": from.map(turn)});
        for text in [json!([row]).to_string(), format!("{row}\n{row}\n")] {
            assert!(sniffs(&ShareGpt, &text));
            let (seen, skipped) = read(&ShareGpt, "x.json", &text);
            let expected = [
                "System Context system",
                "User Prose human",
                "Assistant ToolCall function_call function_call",
                "Tool ToolResult observation",
                "Assistant Prose gpt",
                "User Prose user",
                "Assistant Prose bard",
                "Other Prose narrator",
            ];
            assert_eq!(
                (lines(&seen[0]), seen[0].external_id.as_str(), skipped),
                (expected.map(str::to_owned).to_vec(), "identity_0", vec![])
            );
        }
    }

    #[test]
    fn turns_may_be_spelled_as_chat_messages() {
        for row in [
            json!({"conversations": [{"role": "user", "content": "q"}, {"role": "assistant", "content": "a"}]}),
            json!({"conversations": [{"from": "human", "content": "q"}, {"from": "gpt", "content": "a"}]}),
        ] {
            assert!(sniffs(&ShareGpt, &format!("{row}\n{row}\n")));
            assert_eq!(lines(&read(&ShareGpt, "x", &row.to_string()).0[0]), ["User Prose q", "Assistant Prose a"]);
        }
    }

    #[test]
    fn short_ids_count_for_nothing_and_broken_turns_are_told() {
        let row =
            |words: &str| json!({"id": "0", "conversations": [{"from": "gpt", "value": words}, {"from": "human"}]});
        let (seen, skipped) = read(&ShareGpt, "x.json", &json!([row("a"), row("b"), {"id": "1"}]).to_string());
        assert_ne!(seen[0].external_id, seen[1].external_id);
        assert_eq!(skipped.iter().map(|(number, _)| *number).collect::<Vec<_>>(), [1, 2, 3]);
    }
}
