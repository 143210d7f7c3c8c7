//! The blocks that messages and tool answers of coding agents are made of, read leniently.

use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, IgnoredAny, MapAccess, SeqAccess};

use super::lenient::{Flag, Object, Shape, Text, deserialize_by_shape};

/// Longest argument of a tool that is read, in bytes; a target is shown with far less.
const MAX_ARGUMENT_BYTES: usize = 512;

deserialize_by_shape!(Argument, Target, Output, Inner, Content, Block);

/// One argument of a tool: a string, or a list of strings joined by spaces; only its start.
#[derive(Debug, Default, Clone, PartialEq)]
struct Argument(String);

impl<'de> Shape<'de> for Argument {
    fn from_text(text: &str) -> Self {
        Self(text[..text.floor_char_boundary(MAX_ARGUMENT_BYTES)].to_owned())
    }
    fn from_seq<A: SeqAccess<'de>>(mut seq: A) -> Result<Self, A::Error> {
        let mut joined = String::new();
        while let Some(Text(word)) = seq.next_element()? {
            if joined.len() < MAX_ARGUMENT_BYTES {
                joined.extend([" ", word.as_deref().unwrap_or_default()]);
            }
        }
        Ok(Self::from_text(joined.trim()))
    }
}

/// What a tool call is about: the first argument in the order of [`TARGET_KEYS`].
#[derive(Debug, Default, Clone, PartialEq)]
pub struct Target(pub String);

/// Arguments that say what a call is about, the most telling first.
const TARGET_KEYS: &[&str] = &[
    "file_path",
    "notebook_path",
    "command",
    "cmd",
    "pattern",
    "query",
    "url",
    "path",
    "skill",
    "description",
    "task_name",
    "name",
    "id",
];

impl<'de> Shape<'de> for Target {
    fn from_text(text: &str) -> Self {
        Self(Argument::from_text(text).0)
    }
    fn from_map<A: MapAccess<'de>>(mut map: A) -> Result<Self, A::Error> {
        let mut best = (TARGET_KEYS.len(), String::new());
        while let Some(key) = map.next_key::<String>()? {
            match TARGET_KEYS.iter().position(|known| *known == key) {
                Some(rank) if rank < best.0 => {
                    let Argument(value) = map.next_value()?;
                    if !value.is_empty() {
                        best = (rank, value);
                    }
                }
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(Self(best.1))
    }
}

/// Text as a string or as a list of blocks, whose texts are joined by line ends and whose pictures are named.
#[derive(Debug, Default, Clone, PartialEq)]
pub struct Output(pub String);

impl<'de> Shape<'de> for Output {
    fn from_text(text: &str) -> Self {
        Self(text.to_owned())
    }
    fn from_seq<A: SeqAccess<'de>>(mut seq: A) -> Result<Self, A::Error> {
        let mut texts = Vec::new();
        while let Some(Inner(text)) = seq.next_element()? {
            texts.extend(text);
        }
        Ok(Self(texts.join("\n")))
    }
    fn from_map<A: MapAccess<'de>>(map: A) -> Result<Self, A::Error> {
        Ok(Self(Inner::from_map(map)?.0.unwrap_or_default()))
    }
}

/// The blocks of a message; a plain string, and a bare string among the blocks, counts as a text block.
#[derive(Debug, Default, PartialEq)]
pub struct Content(pub Vec<Block>);

impl<'de> Shape<'de> for Content {
    fn from_text(text: &str) -> Self {
        Self(vec![Block::from_text(text)])
    }
    fn from_seq<A: SeqAccess<'de>>(mut seq: A) -> Result<Self, A::Error> {
        let mut blocks = Vec::new();
        while let Some(block) = seq.next_element()? {
            blocks.push(block);
        }
        Ok(Self(blocks))
    }
    fn from_map<A: MapAccess<'de>>(map: A) -> Result<Self, A::Error> {
        Ok(Self(vec![Block::from_map(map)?]))
    }
}

/// One block of a message.
#[derive(Debug, Default, PartialEq)]
pub struct Block {
    /// `text`, `tool_use`, `input_text` and so on.
    pub kind: String,
    /// The words, of whichever kind.
    pub text: Text,
    /// Name of the tool that is called.
    pub name: Text,
    /// What the call is about.
    pub input: Target,
    /// What the tool answered.
    pub content: Output,
    /// Whether the tool failed or was refused.
    pub is_error: Flag,
    /// Placeholder for the picture or document in it.
    pub attachment: Option<String>,
}

#[derive(Default, serde::Deserialize)]
#[serde(default)]
struct RawBlock {
    #[serde(rename = "type")]
    kind: Text,
    text: Text,
    thinking: Text,
    name: Text,
    title: Text,
    input: Target,
    content: Output,
    is_error: Flag,
    source: Object<Source>,
}

#[derive(Default, serde::Deserialize)]
#[serde(default)]
struct Source {
    media_type: Text,
}

/// The text of a block inside a block; one level deep, so that hostile nesting cannot grow a value as deep as itself.
#[derive(Default)]
struct Inner(Option<String>);

#[derive(Default, serde::Deserialize)]
#[serde(default)]
struct RawInner {
    #[serde(rename = "type")]
    kind: Text,
    text: Text,
}

impl<'de> Shape<'de> for Inner {
    fn from_text(text: &str) -> Self {
        Self(Some(text.to_owned()))
    }
    fn from_map<A: MapAccess<'de>>(map: A) -> Result<Self, A::Error> {
        let block = RawInner::deserialize(MapAccessDeserializer::new(map))?;
        Ok(Self(block.text.0.or_else(|| placeholder(block.kind.as_str(), "", ""))))
    }
}

impl<'de> Shape<'de> for Block {
    fn from_text(text: &str) -> Self {
        Self { kind: "text".to_owned(), text: Text::from_text(text), ..Self::default() }
    }
    fn from_map<A: MapAccess<'de>>(map: A) -> Result<Self, A::Error> {
        let raw = RawBlock::deserialize(MapAccessDeserializer::new(map))?;
        let media = raw.source.0.map(|source| source.media_type).unwrap_or_default();
        Ok(Self {
            attachment: placeholder(raw.kind.as_str(), raw.title.as_str(), media.as_str()),
            kind: raw.kind.0.unwrap_or_default(),
            text: Text(raw.text.0.or(raw.thinking.0)),
            name: raw.name,
            input: raw.input,
            content: raw.content,
            is_error: raw.is_error,
        })
    }
}

/// Names what cannot be read as text, e.g. `[image: image/png]`.
fn placeholder(kind: &str, title: &str, media: &str) -> Option<String> {
    let noun = match kind {
        "image" | "input_image" | "output_image" => "image",
        "document" | "input_file" => "document",
        "input_audio" | "audio" => "audio",
        _ => return None,
    };
    let label = if title.is_empty() { media } else { title };
    Some(if label.is_empty() { format!("[{noun}]") } else { format!("[{noun}: {label}]") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_telling_argument_is_the_target() {
        let target = |json| serde_json::from_str::<Target>(json).unwrap().0;
        assert_eq!(target(r#"{"name":"n","command":["bash","-lc","ls"],"timeout":3}"#), "bash -lc ls");
        assert_eq!(target(r#"{"command":"cat x","file_path":"src/a.rs"}"#), "src/a.rs");
        assert_eq!(target(r#"{"file_path":3,"query":"q"}"#), "q");
    }

    #[test]
    fn blocks_bare_strings_and_pictures_are_read() {
        let Content(blocks) = serde_json::from_str(
            r#"["bare",{"type":"thinking","thinking":"hm"},{"type":"image","source":{"media_type":"image/png","data":"AAAA"}},7]"#,
        )
        .unwrap();
        let read: Vec<_> = blocks.iter().map(|block| (block.text.as_str(), block.attachment.as_deref())).collect();
        assert_eq!(read, [("bare", None), ("hm", None), ("", Some("[image: image/png]")), ("", None)]);
    }

    #[test]
    fn output_joins_its_texts_and_names_its_pictures() {
        let output = |json| serde_json::from_str::<Output>(json).unwrap().0;
        assert_eq!(output(r#"[{"type":"text","text":"a"},{"type":"image"},"b"]"#), "a\n[image]\nb");
        assert_eq!(output(r#""a""#), "a");
    }
}
