//! A request to a model and its reply, in any of the envelopes that programs use to store them.

use serde_json::Value;

use crate::message::chat::{messages_of, plain};
use crate::message::identity;
use crate::{Assembler, Input, Layout, Message, Object, Role, Sink, content_hash, json};

/// Minimum length, in bytes, of a record id that serves as an identity. A shorter id is a counter that other files
/// reuse, so it does not distinguish conversations.
const SHORTEST_ID: usize = 8;
/// Maximum number of nested envelopes that are searched for messages.
const MAX_ENVELOPES: usize = 6;

/// Fields in which a request contains its prompt outside the messages.
const PREAMBLES: &[&str] = &["system", "instructions", "system_instruction"];
/// Fields in which a request contains the question, most specific first.
const ASKED: &[&str] =
    &["messages", "input", "inputs", "prompt", "body", "params", "request", "kwargs", "question", "query", "text"];
/// Fields in which a reply contains the answer, most specific first.
const ANSWERED: &[&str] = &[
    "choices", "generations", "messages", "message", "output", "outputs", "body", "response", "result", "content",
    "answer", "completion", "text",
];

/// The half of an exchange that is being read.
#[derive(Clone, Copy)]
enum Half {
    Question,
    Answer,
}

/// Returns the messages of a request: its prompt, followed by the conversation so far; plain text counts as a message
/// of the user.
pub(crate) fn asked(request: &Value) -> Vec<Message> {
    spoken(request, Half::Question, MAX_ENVELOPES)
}

/// Returns the messages of a reply, or of its first alternative; plain text counts as a message of the assistant.
pub(crate) fn answered(reply: &Value) -> Vec<Message> {
    spoken(reply, Half::Answer, MAX_ENVELOPES)
}

fn spoken(value: &Value, half: Half, depth: usize) -> Vec<Message> {
    let Some(depth) = depth.checked_sub(1) else { return Vec::new() };
    match value {
        Value::String(text) => match embedded(text) {
            Some(inner) => spoken(&inner, half, depth),
            None => vec![said(half, text)],
        },
        Value::Array(items) => items.iter().flat_map(|item| spoken(item, half, depth)).collect(),
        Value::Object(_) => {
            let direct = messages_of(value);
            // A message without text is still a message, and its fields are not envelopes.
            if direct.is_empty() && value.get("role").is_none() { enveloped(value, half, depth) } else { direct }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => Vec::new(),
    }
}

fn enveloped(value: &Value, half: Half, depth: usize) -> Vec<Message> {
    let mut pieces = Vec::new();
    let keys = match half {
        Half::Question => {
            pieces.extend(PREAMBLES.iter().filter_map(|key| preamble(&value[*key])));
            ASKED
        }
        Half::Answer => ANSWERED,
    };
    for key in keys {
        let inner = match (*key, &value[*key]) {
            // The elements after the first are alternative answers.
            ("choices" | "generations", Value::Array(tries)) => {
                let first = tries.first().unwrap_or(&Value::Null);
                first.as_array().map_or(first, |tries| tries.first().unwrap_or(&Value::Null))
            }
            (_, inner) => inner,
        };
        let mut found = spoken(inner, half, depth);
        if let Value::String(text) = inner
            && found.is_empty()
            && value["model"].is_string()
        {
            // Text that is sent to a model counts as something that was said, even if it is JSON, such as data pasted
            // into the prompt.
            found.push(said(half, text));
        }
        if !found.is_empty() {
            pieces.extend(found);
            // The first key with text is enough, because programs repeat the same messages under several keys.
            break;
        }
    }
    pieces
}

/// Returns the prompt that a request contains outside its messages.
pub(crate) fn preamble(value: &Value) -> Option<Message> {
    let text = plain(value);
    let has_text = !text.trim().is_empty();
    has_text.then(|| Message::context(text))
}

/// Parses text that is itself JSON, as in messages logged by telemetry.
pub(crate) fn embedded(text: &str) -> Option<Value> {
    // Examining the first character is much faster than trying to parse every text.
    let starts = text.trim_start().starts_with(['{', '[']);
    let value = if starts { json::parse::<Value>(text).ok()?.0 } else { return None };
    (value.is_object() || value.as_array().is_some_and(|items| items.iter().any(Value::is_object))).then_some(value)
}

fn said(half: Half, text: &str) -> Message {
    let (name, role) = match half {
        Half::Question => ("user", Role::User),
        Half::Answer => ("assistant", Role::Assistant),
    };
    let said = messages_of(&serde_json::json!({"role": name, "content": text})).pop();
    said.unwrap_or_else(|| Message::prose(role, ""))
}

/// Returns the part that `output` adds, if `output` begins by repeating all of `input`.
pub(crate) fn without_repetition(input: &[Message], mut output: Vec<Message>) -> Vec<Message> {
    let repeats = |(one, other): (&Message, &Message)| one.content_hash() == other.content_hash();
    if !input.is_empty() && output.len() >= input.len() && input.iter().zip(&output).all(repeats) {
        output.drain(..input.len());
    }
    output
}

/// Returns the first id in `facts` that is long enough to distinguish conversations.
pub(crate) fn own_id(facts: &[&Value], keys: &[&str]) -> Option<String> {
    let texts = keys.iter().flat_map(|key| facts.iter().filter_map(|fact| fact[*key].as_str()));
    texts.filter(|id| id.len() >= SHORTEST_ID).map(str::to_owned).next()
}

/// The conversation formed by messages outside any request, identified by the file.
pub(crate) struct Loose {
    /// The messages.
    pub(crate) draft: Assembler,
    stem: String,
    is_known: bool,
}

impl Loose {
    /// Creates an empty conversation for the format `source` and the file `input`.
    pub(crate) fn of(source: &'static str, input: &Input) -> Self {
        let draft = Assembler::new(source, "", input.path.display().to_string());
        Self { draft, stem: input.stem(), is_known: false }
    }

    /// Adds the next message; the identity is derived from the first message of a person, or, if there is none, from
    /// the first message.
    pub(crate) fn push(&mut self, message: Message, sink: &mut Sink<'_>) {
        let id = || identity::of_file(&self.stem, &message);
        if message.is_human() && !std::mem::replace(&mut self.is_known, true) {
            self.draft.set_external_id(id());
        }
        self.draft.name_after(&message, id);
        self.draft.push(message, sink);
    }
}

/// A conversation whose messages are all known.
pub(crate) struct Conversation<'a> {
    /// Name of the format.
    pub(crate) source: &'a str,
    /// Identity of the conversation, if the log contains one.
    pub(crate) id: Option<String>,
    /// Objects that may contain the title, model and time of the conversation, most specific first.
    pub(crate) facts: Vec<&'a Value>,
    /// Messages of the conversation.
    pub(crate) messages: Vec<Message>,
}

impl Conversation<'_> {
    /// Passes the conversation in the record `object` to `sink`.
    pub(crate) fn hand_over(self, object: &Object, sink: &mut Sink<'_>) {
        let Self { source, id, facts, messages } = self;
        let pieces = || messages.iter().filter(|message| !message.text.trim().is_empty());
        // A program sends the same prompt before each conversation, so conversations begin to differ only at the first
        // message of a person.
        let Some(first) = pieces().find(|message| message.is_human()).or_else(|| pieces().next()) else {
            return sink.skip(object.number, "a conversation without any text");
        };
        let id = id.unwrap_or_else(|| match object.layout {
            Layout::One => identity::of_file(&object.stem, first),
            Layout::Lines | Layout::Elements => content_hash(&messages),
        });
        let mut draft = Assembler::new(source, id, object.origin.as_str());
        let text = |key: &str| facts.iter().find_map(|fact| fact[key].as_str()).map(str::to_owned);
        let times = ["created_at", "created", "create_time", "timestamp"];
        draft.meta().created_at = times
            .into_iter()
            .flat_map(|key| facts.iter().map(move |fact| &fact[key]).collect::<Vec<_>>())
            .find_map(identity::instant);
        draft.meta().title = text("title");
        draft.meta().model = text("model");
        draft.extend(messages, sink);
        draft.finish(sink);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Ingestor;
    use serde_json::json;

    fn texts(messages: &[Message]) -> Vec<(Role, &str)> {
        messages.iter().map(|message| (message.role, message.text.as_str())).collect()
    }

    #[test]
    fn requests_are_read_out_of_their_envelopes() {
        let rows = [
            (json!("hi"), vec![(Role::User, "hi")]),
            (
                json!({"system": "be kind", "messages": [{"role": "user", "content": "hi"}]}),
                vec![(Role::System, "be kind"), (Role::User, "hi")],
            ),
            (
                json!({"instructions": [{"type": "text", "text": "be kind"}], "input": "hi"}),
                vec![(Role::System, "be kind"), (Role::User, "hi")],
            ),
            (json!("{\"messages\": [{\"role\": \"user\", \"content\": \"hi\"}]}"), vec![(Role::User, "hi")]),
            (
                json!({"messages": [[{"lc": 1, "id": ["HumanMessage"], "kwargs": {"content": "hi"}}]]}),
                vec![(Role::User, "hi")],
            ),
            (json!("[1] is a footnote"), vec![(Role::User, "[1] is a footnote")]),
            (json!({"temperature": 1}), vec![]),
            (json!("{\"temperature\": 1}"), vec![]),
            (json!({"model": "m", "input": "{\"city\": \"Faro\"}"}), vec![(Role::User, "{\"city\": \"Faro\"}")]),
        ];
        for (request, expected) in rows {
            assert_eq!(texts(&asked(&request)), expected, "{request}");
        }
    }

    #[test]
    fn two_files_of_one_name_and_prompt_are_distinguished_by_what_a_person_said() {
        let id = |words: &str, text: &str| {
            let mut seen = Vec::new();
            let mut accept = |one: crate::Transcript| seen.push(one.external_id);
            let text = text.replace("WORDS", words);
            let ingestor = &crate::api::openai_chat::OpenAiChat;
            ingestor.read(Input::from_text("chat.json", &text), &mut Sink::new(&mut accept)).unwrap();
            seen
        };
        let turns = r#"[{"role":"system","content":"Be kind."},{"role":"user","content":"WORDS"}]"#;
        for text in [turns.to_owned(), format!(r#"{{"messages":{turns}}}"#)] {
            assert_ne!(id("cats", &text), id("dogs", &text));
        }
    }

    #[test]
    fn replies_give_the_first_of_their_tries() {
        let rows = [
            json!("yes"),
            json!({"choices": [{"message": {"role": "assistant", "content": "yes"}}, {"message": {"role": "assistant", "content": "no"}}]}),
            json!({"generations": [[{"message": {"lc": 1, "id": ["AIMessage"], "kwargs": {"content": "yes"}}}, {"text": "no"}]]}),
            json!({"object": "response", "instructions": "be kind", "output": [{"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "yes"}]}]}),
            json!({"type": "message", "role": "assistant", "content": [{"type": "text", "text": "yes"}]}),
            json!({"answer": "yes"}),
        ];
        for reply in rows {
            assert_eq!(texts(&answered(&reply)), [(Role::Assistant, "yes")], "{reply}");
        }
    }
}
