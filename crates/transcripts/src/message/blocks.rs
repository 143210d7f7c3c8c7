//! The content blocks of coding agents: text, calls, tool results, and images.
//!
//! A field of an unexpected type is treated as missing, so that the record remains usable.

use serde_json::Value;

use crate::json::Json;

/// Maximum number of bytes of a tool's argument that are examined; the displayed target is much shorter.
const MAX_ARGUMENT_BYTES: usize = 512;
/// Arguments that contain the target of a call, most specific first.
const TARGET_KEYS: &[&str] = &[
    "file_path", "notebook_path", "command", "cmd", "pattern", "query", "url", "path", "skill", "description",
    "task_name", "name", "id",
];

/// Returns the target of a tool call: its input if the input is plain text, and otherwise the first argument in the
/// order of [`TARGET_KEYS`].
pub(crate) fn target(input: &Value) -> String {
    let argument = |value: &Value| {
        // A command line may be a list of words.
        let words = value.list().iter().map(Json::string).collect::<Vec<_>>().join(" ");
        let text = value.as_str().unwrap_or(words.trim());
        text[..text.floor_char_boundary(MAX_ARGUMENT_BYTES)].to_owned()
    };
    let bare = input.as_str().map(|_| argument(input));
    let found = || TARGET_KEYS.iter().map(|key| argument(&input[*key])).find(|text| !text.is_empty());
    bare.or_else(found).unwrap_or_default()
}

/// Returns text unchanged, or the texts of a list of blocks on separate lines, with placeholders for images.
pub(crate) fn output(content: &Value) -> String {
    // Blocks are examined one level deep, so that malicious nesting cannot inflate a text.
    let shown = |block: &Value| words(block).map(str::to_owned).or_else(|| placeholder(block["type"].string(), ""));
    match content.as_str() {
        Some(text) => text.to_owned(),
        None => content.items().iter().filter_map(shown).collect::<Vec<_>>().join("\n"),
    }
}

/// Returns the type of a block; a bare string among the blocks is a text block.
pub(crate) fn kind(block: &Value) -> &str {
    if block.is_string() { "text" } else { block["type"].string() }
}

/// Returns the text of a block, if it has any.
pub(crate) fn words(block: &Value) -> Option<&str> {
    let texts = [block, &block["text"], &block["thinking"]];
    texts.into_iter().filter_map(Value::as_str).find(|text| !text.is_empty())
}

/// Returns the placeholder for the image, document or recording in a block.
pub(crate) fn attachment(block: &Value) -> Option<String> {
    let label = block["title"].as_str().filter(|title| !title.is_empty());
    placeholder(block["type"].string(), label.unwrap_or(block["source"]["media_type"].string()))
}

/// Returns a placeholder for content other than text, such as `[image: image/png]`.
fn placeholder(kind: &str, label: &str) -> Option<String> {
    let noun = match kind {
        "image" | "input_image" | "output_image" => "image",
        "document" | "input_file" => "document",
        "input_audio" | "audio" => "audio",
        _ => return None,
    };
    Some(if label.is_empty() { format!("[{noun}]") } else { format!("[{noun}: {label}]") })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_most_specific_argument_is_the_target() {
        assert_eq!(target(&json!({"name": "n", "command": ["bash", "-lc", "ls"], "timeout": 3})), "bash -lc ls");
        assert_eq!(target(&json!({"command": "cat x", "file_path": "src/a.rs"})), "src/a.rs");
        assert_eq!(target(&json!({"file_path": 3, "query": "q"})), "q");
    }

    #[test]
    fn blocks_bare_strings_and_pictures_are_read() {
        let blocks = json!(["bare", {"type": "thinking", "thinking": "hm"},
            {"type": "image", "source": {"media_type": "image/png", "data": "AAAA"}}, 7]);
        let read: Vec<_> =
            blocks.list().iter().map(|block| (words(block).unwrap_or_default(), attachment(block))).collect();
        let picture = Some("[image: image/png]".to_owned());
        assert_eq!(read, [("bare", None), ("hm", None), ("", picture), ("", None)]);
    }

    #[test]
    fn output_joins_its_texts_and_names_its_pictures() {
        assert_eq!(output(&json!([{"type": "text", "text": "a"}, {"type": "image"}, "b"])), "a\n[image]\nb");
        assert_eq!(output(&json!("a")), "a");
    }

    #[test]
    fn a_wrong_type_reads_as_nothing_whatever_it_is() {
        for wrong in ["null", "1.5", "99999999999999999999", "[1,[2]]", r#"{"x":{"y":[]}}"#, "true", "-7"] {
            let value: Value = serde_json::from_str(wrong).unwrap();
            assert_eq!((value.text(), value.string(), words(&value), attachment(&value)), (None, "", None, None));
            assert_eq!((target(&value), output(&value)), (String::new(), String::new()), "{wrong}");
        }
    }
}
