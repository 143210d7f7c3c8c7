//! What one node of a `ChatGPT` conversation says, and what kind of message that makes it.

use std::sync::LazyLock;

use regex::{Captures, Regex};
use serde_json::Value;

use crate::parts::{call_line, file_label};
use crate::{Kind, Message, MessageTime, Role};

/// Kinds of content that may be empty without anything being lost.
const KNOWN: &[&str] = &[
    "citable_code_output",
    "code",
    "computer_output",
    "execution_output",
    "model_editable_context",
    "reasoning_recap",
    "sonic_webpage",
    "system_error",
    "tether_browsing_display",
    "tether_quote",
    "user_editable_context",
];

/// What a node's message comes to.
pub enum Placed {
    /// The messages it makes, in order; none if it is empty.
    Said(Vec<Message>),
    /// It has a kind of content that is not known, and no text beside.
    Unknown,
}

/// Returns what `message` says, at `time`.
#[must_use]
pub fn messages_of(message: &Value, time: Option<MessageTime>) -> Placed {
    let role = role_of(message);
    let content = &message["content"];
    let Some(text) = text_of(content) else {
        return Placed::Unknown;
    };
    let kind = kind_of(message, role);
    let text = match kind {
        Kind::ToolCall => call(message, &text),
        Kind::Context => with_profile(message, &text),
        Kind::Prose | Kind::ToolResult | Kind::Reasoning | Kind::Summary | Kind::Attachment => text,
    };
    let speaker = message["author"]["name"].as_str().filter(|name| !name.is_empty()).map(str::to_owned);
    let made = |kind, text| Message {
        id: message["id"].as_str().unwrap_or_default().to_owned(),
        kind,
        speaker: speaker.clone(),
        time,
        ..Message::prose(role, text)
    };
    let said = (!text.trim().is_empty()).then(|| made(kind, without_marks(&text)));
    let files = attachments(message).into_iter().map(|label| made(Kind::Attachment, label));
    Placed::Said(said.into_iter().chain(files).collect())
}

/// Returns on whose behalf `message` stands; old exports and shared pages write it without the `author` around it.
#[must_use]
pub fn role_of(message: &Value) -> Role {
    match message["author"]["role"].as_str().or_else(|| message["role"].as_str()) {
        Some("user") => Role::User,
        Some("assistant") => Role::Assistant,
        Some("system" | "developer") => Role::System,
        Some("tool") => Role::Tool,
        Some(_) | None => Role::Other,
    }
}

fn kind_of(message: &Value, role: Role) -> Kind {
    let metadata = &message["metadata"];
    let hidden = message["weight"].as_f64() == Some(0.0) || metadata["is_visually_hidden_from_conversation"] == true;
    let recipient = message["recipient"].as_str().unwrap_or("all");
    let content_type = message["content"]["content_type"].as_str().unwrap_or("text");
    match (role, content_type) {
        (_, "user_editable_context" | "model_editable_context") => Kind::Context,
        (_, "thoughts" | "reasoning_recap") => Kind::Reasoning,
        (Role::Tool, _) => Kind::ToolResult,
        (Role::System, _) => Kind::Context,
        // What the assistant wrote into its own memory is its reading of the user, not the user's words.
        (Role::Assistant, _) if recipient == "bio" => Kind::Context,
        (Role::Assistant, _) if recipient != "all" => Kind::ToolCall,
        _ if hidden || metadata["is_user_system_message"] == true => Kind::Context,
        (Role::Assistant, _) if matches!(message["channel"].as_str(), Some("analysis" | "commentary")) => {
            Kind::Reasoning
        }
        (_, "text" | "multimodal_text") => Kind::Prose,
        (Role::Assistant, "code") => Kind::ToolCall,
        (Role::User | Role::Assistant | Role::Other, _) => Kind::ToolResult,
    }
}

/// Returns the text of any known kind of content; `None` for a kind that is not known and has none.
fn text_of(content: &Value) -> Option<String> {
    if let Some(text) = content.as_str() {
        return Some(text.to_owned());
    }
    let fields: &[&str] = match content["content_type"].as_str().unwrap_or("text") {
        "text" | "multimodal_text" => return Some(parts(content)),
        "thoughts" => return Some(thoughts(content)),
        "user_editable_context" => &["user_profile", "user_instructions"],
        "model_editable_context" => &["model_set_context"],
        "reasoning_recap" => &["content"],
        "tether_browsing_display" => &["summary", "result"],
        "tether_quote" | "sonic_webpage" => &["title", "text"],
        "citable_code_output" => &["output_str"],
        "system_error" => &["name", "text"],
        _ => &["text", "output_str", "result", "content"],
    };
    let found: Vec<&str> = fields.iter().filter_map(|field| content[*field].as_str()).collect();
    let text = if found.is_empty() { parts(content) } else { found.join("\n") };
    let is_known = KNOWN.contains(&content["content_type"].as_str().unwrap_or("text"));
    (!text.trim().is_empty() || is_known).then_some(text)
}

/// Joins the parts that are words: strings, and what was heard in a recording.
fn parts(content: &Value) -> String {
    let parts = content["parts"].as_array().map_or(&[][..], Vec::as_slice);
    let words = parts.iter().filter_map(|part| part.as_str().or_else(|| part["text"].as_str()));
    words.collect::<Vec<_>>().join("\n")
}

fn thoughts(content: &Value) -> String {
    let thoughts = content["thoughts"].as_array().map_or(&[][..], Vec::as_slice);
    let words = thoughts.iter().flat_map(|thought| [thought["summary"].as_str(), thought["content"].as_str()]);
    let words = words.flatten().collect::<Vec<_>>().join("\n");
    if words.is_empty() { parts(content) } else { words }
}

/// Adds the profile that older exports keep beside the content.
fn with_profile(message: &Value, text: &str) -> String {
    let profile = &message["metadata"]["user_context_message_data"];
    let fields = ["about_user_message", "about_model_message"].map(|field| profile[field].as_str().unwrap_or_default());
    let extra = fields.into_iter().filter(|field| !field.is_empty() && !text.contains(*field));
    extra.fold(text.to_owned(), |text, field| format!("{text}\n{field}"))
}

fn call(message: &Value, text: &str) -> String {
    let tool = message["recipient"].as_str().filter(|recipient| *recipient != "all").unwrap_or("code");
    call_line(tool, text)
}

/// Returns a placeholder for each picture, recording and file.
fn attachments(message: &Value) -> Vec<String> {
    let files = message["metadata"]["attachments"].as_array().map_or(&[][..], Vec::as_slice);
    let mut labels: Vec<String> = files
        .iter()
        .map(|file| {
            let is_image = file["mime_type"].as_str().is_some_and(|kind| kind.starts_with("image/"));
            file_label(if is_image { "image" } else { "file" }, file["name"].as_str())
        })
        .collect();
    let parts = message["content"]["parts"].as_array().map_or(&[][..], Vec::as_slice);
    let count = |name: &str| parts.iter().filter(|part| part["content_type"] == name).count();
    let named_images = labels.iter().filter(|label| label.starts_with("[image")).count();
    let images = count("image_asset_pointer").saturating_sub(named_images);
    labels.extend((0..images).map(|_| file_label("image", None)));
    // A recording that was written down is there as words already.
    let heard = count("audio_transcription");
    let recordings = count("audio_asset_pointer") + count("real_time_user_audio_video_asset_pointer");
    labels.extend((0..recordings.saturating_sub(heard)).map(|_| file_label("audio", None)));
    labels
}

/// Takes out citation marks; a mark that carries shown words leaves them.
fn without_marks(text: &str) -> String {
    static MARKS: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new("\u{e200}([^\u{e200}\u{e201}]{0,800})\u{e201}|[\u{e200}-\u{e202}]|【[0-9:]+†[^】\n]{0,200}】")
            .expect("the pattern is constant")
    });
    MARKS
        .replace_all(text, |found: &Captures<'_>| {
            found.get(1).and_then(|body| shown(body.as_str())).unwrap_or_default()
        })
        .into_owned()
}

/// Returns the words that a mark shows: an entity's name, a link's title.
fn shown(body: &str) -> Option<String> {
    let (kind, rest) = body.split_once('\u{e202}')?;
    match kind {
        "entity" => serde_json::from_str::<Value>(rest).ok()?.get(1)?.as_str().map(str::to_owned),
        "url" => rest.split('\u{e202}').next().map(str::to_owned),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn placed(message: &Value) -> Vec<(Kind, String)> {
        match messages_of(message, None) {
            Placed::Said(messages) => messages.into_iter().map(|message| (message.kind, message.text)).collect(),
            Placed::Unknown => vec![(Kind::Context, "unknown".to_owned())],
        }
    }

    #[test]
    fn each_kind_of_node_has_its_kind_of_message() {
        let text = json!({"content_type": "text", "parts": ["words"]});
        let rows = [
            (json!({"author": {"role": "user"}, "content": text}), Kind::Prose, "words"),
            (
                json!({"author": {"role": "assistant"}, "recipient": "all", "channel": "final", "content": text}),
                Kind::Prose,
                "words",
            ),
            (
                json!({"author": {"role": "assistant"}, "channel": "commentary", "content": text}),
                Kind::Reasoning,
                "words",
            ),
            (json!({"author": {"role": "system"}, "content": text}), Kind::Context, "words"),
            (
                json!({"author": {"role": "tool"}, "content": {"content_type": "execution_output", "text": "42"}}),
                Kind::ToolResult,
                "42",
            ),
            (
                json!({"author": {"role": "assistant"}, "recipient": "python", "content": {"content_type": "code", "text": "print(42)\nx"}}),
                Kind::ToolCall,
                "python print(42)",
            ),
            (
                json!({"author": {"role": "assistant"}, "content": {"content_type": "thoughts", "thoughts": [{"summary": "s", "content": "c"}]}}),
                Kind::Reasoning,
                "s\nc",
            ),
            (
                json!({"author": {"role": "user"}, "content": {"content_type": "hologram", "blob": 1}}),
                Kind::Context,
                "unknown",
            ),
        ];
        for (message, kind, words) in rows {
            assert_eq!(placed(&message), [(kind, words.to_owned())], "{message}");
        }
    }

    #[test]
    fn pictures_files_and_recordings_become_placeholders() {
        let message = json!({"author": {"role": "user"}, "content": {"content_type": "multimodal_text", "parts": [
            "look", null, {"content_type": "image_asset_pointer"}, {"content_type": "image_asset_pointer"},
            {"content_type": "audio_asset_pointer"}, {"content_type": "audio_transcription", "text": "and listen"}]},
            "metadata": {"attachments": [{"name": "plan.png", "mime_type": "image/png"}, {"name": "a.txt"}]}});
        let told = placed(&message);
        let expected = [
            (Kind::Prose, "look\nand listen"),
            (Kind::Attachment, "[image: plan.png]"),
            (Kind::Attachment, "[file: a.txt]"),
            (Kind::Attachment, "[image]"),
        ];
        assert_eq!(told, expected.map(|(kind, text)| (kind, text.to_owned())));
    }

    #[test]
    fn citation_marks_go_and_the_words_they_show_stay() {
        let text = "Go\u{e200}cite\u{e202}turn0\u{e201} to \u{e200}entity\u{e202}[\"city\",\"Lisbon\"]\u{e201}【4†source】 now\u{e202}.";
        assert_eq!(without_marks(text), "Go to Lisbon now.");
    }
}
