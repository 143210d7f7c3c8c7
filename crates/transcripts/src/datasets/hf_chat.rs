//! Training sets of chats: preferences (`prompt`, `chosen`, `rejected`), prompts with their completion, and messages
//! with the marks of a set.
//!
//! A row of nothing but `messages` is the same bytes as a line of a program's own log, so `openai-chat` reads those.

use std::sync::LazyLock;

use regex::Regex;
use serde_json::Value;

use crate::exchange::{Conversation, answered, asked, own_id};
use crate::{Head, IngestError, Ingestor, Input, Objects, Sink};
use crate::{Message, Role};

/// Columns that only a set has beside its messages.
const MARKS: &[&str] = &["prompt_id", "score_chosen", "score_rejected", "messages_length", "num_turns"];

/// Reads rows of chats.
pub struct HfChat;

impl Ingestor for HfChat {
    fn name(&self) -> &'static str {
        "hf-chat"
    }

    fn about(&self) -> &'static str {
        "chat training sets: preferences, of which the chosen answer is read, completions, and messages with a set's marks"
    }

    fn rule(&self) -> &'static str {
        "rows with `chosen` and `rejected`, with `prompt` and `completion`, or `messages` beside columns such as `prompt_id`"
    }

    fn sniff(&self, head: &Head<'_>) -> bool {
        // A file may mix preferences with rows that could be anybody's.
        head.objects().any(is_row)
            || head.any_line(is_row) && head.most_lines(|row| is_row(row) || row["messages"].is_array())
    }

    fn read(&self, input: Input, sink: &mut Sink<'_>) -> Result<(), IngestError> {
        let stem = input.stem();
        let mut objects = Objects::of(input);
        while let Some(object) = objects.next(sink)? {
            let row = &object.value;
            if row.get("chosen").is_none() && !is_completion(row) && !row["messages"].is_array() {
                sink.skip(object.number, "no row: neither `chosen` nor `completion` nor `messages`");
                continue;
            }
            let id = own_id(&[row], &["prompt_id", "id"]);
            let told = Conversation { source: self.name(), id, facts: vec![row], messages: row_messages(row) };
            told.hand_over(&object, objects.layout, &stem, sink);
        }
        Ok(())
    }

    fn is_dataset(&self) -> bool {
        true
    }
}

fn is_row(value: &Value) -> bool {
    let is_preference =
        value.get("chosen").is_some_and(|chosen| chosen.is_array() || chosen.is_string() || chosen.is_object());
    let is_marked = MARKS.iter().any(|mark| value.get(*mark).is_some());
    is_preference && (value.get("rejected").is_some() || value.get("prompt").is_some())
        || value["messages"].is_array() && is_marked
        || is_completion(value)
}

/// Whether `value` is a prompt with what completes it, both as text or both as messages; the log of a program that
/// sends such prompts names its model.
fn is_completion(value: &Value) -> bool {
    let (prompt, completion) = (&value["prompt"], &value["completion"]);
    let alike = prompt.is_string() && completion.is_string() || prompt.is_array() && completion.is_array();
    alike && value.get("model").is_none()
}

fn row_messages(row: &Value) -> Vec<Message> {
    if row["chosen"].is_null() && is_completion(row) {
        return asked(&row["prompt"]).into_iter().chain(answered(&row["completion"])).collect();
    }
    if row["chosen"].is_null() {
        return asked(&row["messages"]);
    }
    let chosen = match &row["chosen"] {
        Value::String(text) if text.starts_with("\n\nHuman:") => split_text(text),
        chosen => answered(chosen),
    };
    let prompt = asked(&row["prompt"]);
    // Some sets repeat the prompt at the start of the answer.
    let said = |message: &Message| message.content_hash();
    if chosen.len() >= prompt.len() && prompt.iter().zip(&chosen).all(|(one, other)| said(one) == said(other)) {
        return chosen;
    }
    prompt.into_iter().chain(chosen).collect()
}

/// Splits `\n\nHuman: …\n\nAssistant: …`.
fn split_text(text: &str) -> Vec<Message> {
    static TURN: LazyLock<Regex> =
        LazyLock::new(|| Regex::new("\n\n(Human|Assistant):").expect("the pattern is constant"));
    let mut messages: Vec<Message> = Vec::new();
    let mut turns = TURN.captures_iter(text).peekable();
    while let Some(turn) = turns.next() {
        let end = turns.peek().map_or(text.len(), |next| next.get_match().start());
        let role = if &turn[1] == "Human" { Role::User } else { Role::Assistant };
        messages.push(Message::prose(role, text[turn.get_match().end()..end].trim()));
    }
    messages
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{lines, read, sniffs};
    use serde_json::json;

    #[test]
    fn the_chosen_answer_is_read_after_its_prompt_in_each_spelling() {
        let (ask, good, bad) = (
            json!({"role": "user", "content": "q"}),
            json!({"role": "assistant", "content": "good"}),
            json!({"role": "assistant", "content": "bad"}),
        );
        for row in [
            json!({"prompt": [ask], "chosen": [good], "rejected": [bad]}),
            json!({"prompt": "q", "chosen": "good", "rejected": "bad"}),
            json!({"prompt": "q", "chosen": [ask, good], "rejected": [ask, bad], "messages": [ask, good]}),
            json!({"chosen": [ask, good], "rejected": [ask, bad]}),
            json!({"prompt": [ask], "chosen": good, "rejected": bad}),
            json!({"chosen": "\n\nHuman: q\n\nAssistant: good", "rejected": "\n\nHuman: q\n\nAssistant: bad"}),
            json!({"prompt_id": "0a1b2c3d4e", "prompt": "q", "messages": [ask, good]}),
            json!({"prompt": [ask], "completion": [good], "label": true}),
            json!({"prompt": "q", "completion": "good"}),
        ] {
            for text in [row.to_string(), format!("{row}\n{row}\n"), json!([row]).to_string()] {
                assert!(sniffs(&HfChat, &text), "{text}");
                assert_eq!(lines(&read(&HfChat, "x", &text).0[0]), ["User Prose q", "Assistant Prose good"], "{text}");
            }
        }
    }

    #[test]
    fn a_text_of_very_many_turns_is_split_in_one_pass() {
        let turns = 100_000;
        let text = "\n\nHuman: q".repeat(turns);
        assert_eq!(split_text(&text).len(), turns);
        let texts: Vec<_> =
            split_text("\n\nHuman: a\n\n\nAssistant: b\n\nc").into_iter().map(|said| said.text).collect();
        assert_eq!(texts, ["a", "b\n\nc"]);
    }

    #[test]
    fn rows_of_messages_alone_are_left_to_the_general_format() {
        let row = json!({"messages": [{"role": "user", "content": "q"}]});
        assert!(!sniffs(&HfChat, &format!("{row}\n{row}\n")));
        assert!(!sniffs(&HfChat, &json!({"chosen": true}).to_string()));
    }
}
