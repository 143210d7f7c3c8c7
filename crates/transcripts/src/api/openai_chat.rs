//! Chat messages in the format of the `OpenAI` API: an array, an object with `messages`, or JSONL of either.

use serde_json::Value;

use crate::json::Json;
use crate::message::chat::{is_item, is_message, messages_of};
use crate::message::exchange::{Conversation, Loose, own_id};
use crate::{Head, IngestError, Ingestor, Input, Message, Objects, Sink};

/// Keys that occur in other formats with a `messages` array, but never in this one.
const FOREIGN: &[&str] = &[
    "uuid", "sessionId", "projectHash", "guild", "chat_messages", "mapping", "participants", "messagesTree", "info",
    "system", "shared_conversation_id", "working_dir", "_type",
];

/// Reads chat messages in the format of the `OpenAI` API.
pub(crate) struct OpenAiChat;

impl Ingestor for OpenAiChat {
    named!("openai-chat");

    fn sniff(&self, head: &Head<'_>) -> bool {
        let is_ours = |value: &Value| is_bare(value) || conversation(value).is_some();
        let (ours, all) =
            head.objects().fold((0_usize, 0_usize), |(ours, all), value| (ours + usize::from(is_ours(value)), all + 1));
        (ours > 0 && ours * 2 >= all) || head.most_lines(is_ours) && !head.any_line(is_foreign)
    }

    fn read(&self, input: Input, sink: &mut Sink<'_>) -> Result<(), IngestError> {
        let mut loose = Loose::of(self.name(), &input);
        Objects::each(input, sink, |object, sink| {
            let value = &object.value;
            if let Some(items) = conversation(value) {
                let messages: Vec<Message> = items.iter().flat_map(|item| messages_of(item)).collect();
                let facts = vec![value, &value["response"], &value["request"]];
                let id = own_id(&facts, &["conversation_id", "session_id", "id"]);
                let pieces = Conversation { source: self.name(), id, facts, messages };
                pieces.hand_over(&object, sink);
            } else if is_message(value) {
                messages_of(value).into_iter().for_each(|message| loose.push(message, sink));
            } else {
                sink.skip(object.number, "neither a message nor a conversation");
            }
        })?;
        loose.draft.finish(sink);
        Ok(())
    }
}

/// Returns whether `value` is a message that no other format could contain.
fn is_bare(value: &Value) -> bool {
    // A `type` next to the role identifies an item in an agent's log.
    is_message(value) && value.get("type").is_none() && !is_foreign(value)
}

fn is_foreign(value: &Value) -> bool {
    FOREIGN.iter().any(|key| value.get(*key).is_some())
}

/// Returns the messages of a whole conversation, in chronological order.
fn conversation(value: &Value) -> Option<Vec<&Value>> {
    if is_foreign(value) {
        return None;
    }
    if let Some(preferred) = value["preferred_output"].as_array() {
        return value["input"]["messages"].as_array().map(|asked| asked.iter().chain(preferred).collect());
    }
    // Programs that log both halves of a call either store them side by side, or put the answer inside the request.
    let half = |key: &str| if value[key].is_object() { &value[key] } else { value };
    let (asked, choices) = (&half("request")["messages"], &half("response")["choices"]);
    if let Some(choices) = choices.as_array() {
        let answer = choices.iter().take(1).map(|choice| &choice["message"]).filter(|message| is_message(message));
        return Some(asked.list().iter().chain(answer).collect());
    }
    let items = asked.as_array()?;
    let known = items.iter().filter(|item| is_item(item)).count();
    (known > 0 && known * 2 >= items.len()).then(|| items.iter().collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Transcript;
    use crate::testing::read_input;
    use serde_json::json;

    fn read(name: &str, text: &str) -> (Vec<Transcript>, Vec<usize>) {
        let (seen, skipped) = read_input(&OpenAiChat, Input::from_text(name, text));
        (seen, skipped.into_iter().map(|(record, _)| record).collect())
    }

    fn texts(text: &str) -> Vec<Vec<String>> {
        let (seen, _) = read("log.json", text);
        seen.into_iter().map(|one| one.messages.into_iter().map(|message| message.text).collect()).collect()
    }

    fn sniffs(text: &str) -> bool {
        OpenAiChat.sniff(&Head::new(text.into(), true))
    }

    #[test]
    fn the_four_shapes_of_a_log_are_read_alike() {
        let (ask, reply) = (json!({"role": "user", "content": "hi"}), json!({"role": "assistant", "content": "yes?"}));
        let object = json!({"messages": [ask, reply]});
        for text in [
            json!([ask, reply]).to_string(),
            object.to_string(),
            serde_json::to_string_pretty(&object).unwrap(),
            format!("{ask}\n{reply}\n"),
            json!([object]).to_string(),
        ] {
            assert!(sniffs(&text), "{text}");
            assert_eq!(texts(&text), [["hi", "yes?"]], "{text}");
        }
        assert_eq!(texts(&format!("{object}\n\n{object}\n")), [["hi", "yes?"], ["hi", "yes?"]]);
    }

    #[test]
    fn preference_rows_take_the_preferred_answer() {
        let row = json!({"input": {"messages": [{"role": "user", "content": "q"}]},
            "preferred_output": [{"role": "assistant", "content": "good"}], "non_preferred_output": [{"role": "assistant", "content": "bad"}]});
        assert!(sniffs(&row.to_string()));
        assert_eq!(texts(&row.to_string()), [["q", "good"]]);
    }

    #[test]
    fn a_stored_answer_gives_the_first_of_its_choices() {
        let choice = |words: &str| json!({"message": {"role": "assistant", "content": words}});
        let stored =
            json!({"object": "chat.completion", "created": 1_767_312_000, "choices": [choice("a"), choice("b")]});
        assert!(sniffs(&stored.to_string()));
        assert_eq!(texts(&stored.to_string()), [["a"]]);
        let pair = json!({"request": {"messages": [{"role": "user", "content": "q"}]}, "response": stored});
        assert!(sniffs(&pair.to_string()));
        assert_eq!(texts(&pair.to_string()), [["q", "a"]]);
    }

    #[test]
    fn records_are_known_by_content_and_files_by_name_and_first_message() {
        let line = |words: &str| json!({"messages": [{"role": "user", "content": words}]}).to_string();
        let ids = |name: &str, text: &str| -> Vec<String> {
            read(name, text).0.into_iter().map(|one| one.external_id).collect()
        };
        let (a, b) = (line("a"), line("b"));
        let mut swapped = ids("y", &format!("{b}\n{a}\n"));
        swapped.reverse();
        assert_eq!(ids("x", &format!("{a}\n{b}\n")), swapped);
        let counted =
            |id: &str, words: &str| json!({"id": id, "messages": [{"role": "user", "content": words}]}).to_string();
        assert_ne!(ids("x", &counted("1", "a")), ids("y", &counted("1", "b")));
        assert_eq!(ids("x", &counted("chat-20260101", "a")), ["chat-20260101"]);
        let short = json!([{"role": "user", "content": "a"}]).to_string();
        let grown = json!([{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]).to_string();
        assert_eq!(ids("x.json", &short), ids("x.json", &grown));
        assert_ne!(ids("x.json", &short), ids("y.json", &short));
    }

    #[test]
    fn other_json_is_refused() {
        for other in [
            json!({"name": "x", "version": "1"}),
            json!([{"role": "admin", "content": "x"}]),
            json!({"messages": [{"uuid": "1"}]}),
            json!({"messages": [{"role": "user", "content": "x"}], "system": "be kind"}),
            json!([{"role": "user", "content": [{"type": "tool_result", "content": "x"}]}]),
            json!({"messages": "none"}),
            json!({"output": ["a"]}),
        ] {
            assert!(!sniffs(&other.to_string()), "{other}");
        }
    }

    #[test]
    fn a_bad_record_is_reported_and_the_rest_is_read() {
        let (seen, skipped) = read(
            "log.jsonl",
            "{\"role\":\"user\",\"content\":\"a\"}\n{\"x\":1}\nnonsense\n{\"role\":\"user\",\"content\":\"b\"}\n",
        );
        assert_eq!((seen[0].messages.len(), skipped), (2, vec![2, 3]));
    }
}
