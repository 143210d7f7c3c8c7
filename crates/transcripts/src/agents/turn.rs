//! The parts of a message that agents' logs have in common: the typed text, the text that the agent wraps around it,
//! and the speaker.

use serde_json::Value;

use crate::json::Json;
use crate::message::parts;
use crate::message::speaker::without_leading_block;
use crate::{Message, Role};

/// Returns the contents of the user's turn: leading blocks from a program, and the typed text.
pub(super) fn user_words(text: &str) -> Vec<Message> {
    let (mut messages, mut rest) = (Vec::new(), text.trim());
    // Only blocks at the start come from the program; the user may have pasted a later block.
    while let Some(after) = without_leading_block(rest) {
        messages.push(Message::context(&rest[..rest.len() - after.len()]));
        rest = after.trim_start();
    }
    if !rest.is_empty() {
        messages.push(Message::user(parts::without_data(rest)));
    }
    messages
}

/// Returns a call of `tool` with its arguments: JSON, a string that contains JSON, or any other text.
pub(super) fn call(tool: &str, arguments: &Value) -> Message {
    let name = if tool.is_empty() { "tool" } else { tool };
    Message::call(parts::call_line(name, &arguments.shown())).doing(tool, arguments)
}

/// Returns a call in the format of a model: its name and arguments, either bare or inside `function`.
pub(super) fn call_of(used: &Value) -> Message {
    let function = if used["function"].is_object() { &used["function"] } else { used };
    call(function["name"].string(), &function["arguments"]).called(used["id"].text())
}

/// Returns a message of `role`; text with an unknown role counts as written by a program.
pub(super) fn spoken(role: &str, words: &str) -> Vec<Message> {
    match role {
        "user" => user_words(words),
        "assistant" => vec![Message::assistant(parts::without_data(words))],
        "tool" => vec![answer(words)],
        _ => vec![Message::context(words)],
    }
}

/// Returns the text of a string, or the joined texts of a list of blocks with placeholders for images.
pub(super) fn words_of(content: &Value) -> String {
    let shown = content.items().iter().filter_map(|block| match block.text().or_else(|| block["text"].text()) {
        Some(words) => Some(words.to_owned()),
        None => block["type"].string().contains("image").then(|| parts::file_label("image", None)),
    });
    shown.collect::<Vec<_>>().join("\n")
}

/// Returns the last part of a path in the notation of any system, including Windows.
pub(super) fn file_name(path: &str) -> &str {
    path.rsplit(['/', '\\']).next().unwrap_or(path)
}

/// Returns a tool result.
pub(super) fn answer(text: &str) -> Message {
    Message::answer(parts::without_data(text))
}

/// Attributes messages to an agent that another agent started, because neither a person nor the assistant wrote them.
pub(super) fn of_sub_agent(messages: &mut [Message]) {
    for message in messages {
        if matches!(message.role, Role::User | Role::Assistant) {
            message.role = Role::Other;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Kind;
    use crate::message::identity;
    use serde_json::json;

    #[test]
    fn blocks_before_the_typed_words_are_context() {
        let pieces = |text: &str| -> Vec<(Kind, String)> {
            user_words(text).into_iter().map(|message| (message.kind, message.text)).collect()
        };
        assert_eq!(
            pieces("<system-reminder>a</system-reminder>\n<user_info>b</user_info> use tabs"),
            [
                (Kind::Context, "<system-reminder>a</system-reminder>".to_owned()),
                (Kind::Context, "<user_info>b</user_info>".to_owned()),
                (Kind::Prose, "use tabs".to_owned())
            ]
        );
        assert_eq!(pieces("<T> is generic"), [(Kind::Prose, "<T> is generic".to_owned())]);
        assert_eq!(pieces("  "), []);
    }

    #[test]
    fn calls_and_times_are_read_in_each_spelling() {
        assert_eq!(call("Read", &json!({"filePath": "a.rs"})).text, "Read a.rs");
        assert_eq!(call("Read", &json!("{\"path\":\"a.rs\"}")).text, "Read a.rs");
        assert_eq!(call("", &Value::Null).text, "tool");
        let at = |value| identity::stamp(&value).map(|time| (time.at.to_string(), time.offset_seconds));
        let expected = Some(("2026-01-02T00:00:00Z".to_owned(), Some(0)));
        assert_eq!(at(json!(1_767_312_000)), expected);
        assert_eq!(at(json!(1_767_312_000_000_i64)), expected);
        assert_eq!(at(json!("2026-01-02T00:00:00.000Z")), expected);
        assert_eq!(at(json!("2026-01-02 00:00:00")), Some(("2026-01-02T00:00:00Z".to_owned(), None)));
        assert_eq!(at(json!({})), None);
    }
}
