//! Logs of public chat sites, one conversation a row: `WildChat` and LMSYS.

use serde_json::Value;

use crate::Message;
use crate::chat::messages_of;
use crate::exchange::{Conversation, own_id};
use crate::{Head, IngestError, Ingestor, Input, Objects, Sink};

/// Reads rows of `WildChat` and LMSYS.
pub struct WildChat;

impl Ingestor for WildChat {
    fn name(&self) -> &'static str {
        "wildchat"
    }

    fn about(&self) -> &'static str {
        "WildChat and LMSYS rows as JSON; Parquet is not read"
    }

    fn rule(&self) -> &'static str {
        "rows with `conversation` of `role` and `content`, and `conversation_hash`, or `conversation_id` with `model`"
    }

    fn sniff(&self, head: &Head<'_>) -> bool {
        head.objects().any(is_row) || head.most_lines(is_row)
    }

    fn read(&self, input: Input, sink: &mut Sink<'_>) -> Result<(), IngestError> {
        let stem = input.stem();
        let mut objects = Objects::of(input);
        while let Some(object) = objects.next(sink)? {
            let row = &object.value;
            let Some(turns) = row["conversation"].as_array() else {
                sink.skip(object.number, "no row: it has no `conversation`");
                continue;
            };
            let messages: Vec<Message> = turns.iter().flat_map(messages_of).collect();
            let id = own_id(&[row], &["conversation_hash", "conversation_id"]);
            let told = Conversation { source: self.name(), id, facts: vec![row], messages };
            told.hand_over(&object, objects.layout, &stem, sink);
        }
        Ok(())
    }

    fn is_dataset(&self) -> bool {
        true
    }
}

fn is_row(value: &Value) -> bool {
    let turns = value["conversation"].as_array().map_or(&[][..], Vec::as_slice);
    let named = value.get("conversation_hash").is_some()
        || value.get("conversation_id").is_some() && (value.get("model").is_some() || value.get("turn").is_some());
    named && turns.iter().any(|turn| turn["role"].is_string() && turn.get("content").is_some())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{lines, read, sniffs};
    use serde_json::json;

    #[test]
    fn rows_of_both_sites_are_read_with_the_times_they_have() {
        let turns = json!([{"role": "user", "content": "q", "timestamp": null}, {"role": "assistant", "content": "a", "timestamp": "2023-04-09T00:02:53+00:00"}]);
        for row in [
            json!({"conversation_hash": "0123456789abcdef", "model": "m", "timestamp": "2023-04-09T00:02:53+00:00", "conversation": turns}),
            json!({"conversation_id": "0123456789abcdef", "model": "m", "conversation": turns, "turn": 1, "redacted": false}),
        ] {
            assert!(sniffs(&WildChat, &row.to_string()));
            let (seen, _) = read(&WildChat, "x", &format!("{row}\n{row}\n"));
            assert_eq!((seen[0].external_id.as_str(), seen[0].model.as_deref()), ("0123456789abcdef", Some("m")));
            assert_eq!(lines(&seen[0]), ["User Prose q", "Assistant Prose a"]);
            let times: Vec<_> =
                seen[0].messages.iter().map(|message| message.time.map(|time| time.at.to_string())).collect();
            assert_eq!(times, [None, Some("2023-04-09T00:02:53Z".to_owned())]);
        }
        assert!(!sniffs(&WildChat, &json!({"conversation": [{"role": "user", "content": "q"}]}).to_string()));
    }
}
