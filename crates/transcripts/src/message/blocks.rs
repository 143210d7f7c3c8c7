//! Lenient field types, and the content blocks of coding agents built from them.
//!
//! A field takes the JSON shapes it understands and passes over the rest, so that a wrong type never costs a record.

use std::fmt;
use std::marker::PhantomData;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use crate::MessageTime;

/// What a type makes of each JSON shape; by default nothing.
pub(crate) trait Shape<'de>: Default {
    fn from_text(_text: &str) -> Self {
        Self::default()
    }
    fn from_flag(_flag: bool) -> Self {
        Self::default()
    }
    fn from_number(_number: i64) -> Self {
        Self::default()
    }
    fn from_seq<A: SeqAccess<'de>>(mut seq: A) -> Result<Self, A::Error> {
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Self::default())
    }
    fn from_map<A: MapAccess<'de>>(mut map: A) -> Result<Self, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Self::default())
    }
}

pub(crate) struct Any<T>(pub(crate) PhantomData<T>);

impl<'de, T: Shape<'de>> Visitor<'de> for Any<T> {
    type Value = T;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("any value")
    }
    fn visit_str<E>(self, text: &str) -> Result<T, E> {
        Ok(T::from_text(text))
    }
    fn visit_bool<E>(self, flag: bool) -> Result<T, E> {
        Ok(T::from_flag(flag))
    }
    fn visit_i64<E>(self, number: i64) -> Result<T, E> {
        Ok(T::from_number(number))
    }
    fn visit_u64<E>(self, number: u64) -> Result<T, E> {
        Ok(i64::try_from(number).map_or_else(|_| T::default(), T::from_number))
    }
    fn visit_i128<E>(self, _number: i128) -> Result<T, E> {
        Ok(T::default())
    }
    fn visit_u128<E>(self, _number: u128) -> Result<T, E> {
        Ok(T::default())
    }
    fn visit_f64<E>(self, _number: f64) -> Result<T, E> {
        Ok(T::default())
    }
    fn visit_unit<E>(self) -> Result<T, E> {
        Ok(T::default())
    }
    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<T, A::Error> {
        T::from_seq(seq)
    }
    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
        T::from_map(map)
    }
}

/// Makes types deserialise from any value by their [`Shape`].
macro_rules! deserialize_by_shape {
    ($($name:ty),*) => {$(
        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_any($crate::message::blocks::Any(std::marker::PhantomData))
            }
        }
    )*};
}
deserialize_by_shape!(Text, Flag, Number, Nothing, Argument, Target, Output, Inner, Content, Block);

/// A string, or nothing; an empty string is nothing.
#[derive(Debug, Default, Clone, PartialEq)]
pub(crate) struct Text(pub(crate) Option<String>);

impl Text {
    pub(crate) fn as_str(&self) -> &str {
        self.0.as_deref().unwrap_or_default()
    }

    /// Reads it as the RFC 3339 time of a message.
    pub(crate) fn time(&self) -> Option<MessageTime> {
        let (at, offset) = crate::parse_rfc3339(self.0.as_deref()?)?;
        Some(MessageTime { offset_seconds: Some(offset), ..MessageTime::logged(at) })
    }
}

impl Shape<'_> for Text {
    fn from_text(text: &str) -> Self {
        Self((!text.is_empty()).then(|| text.to_owned()))
    }
}

/// `true`, or anything else.
#[derive(Debug, Default, Clone, Copy, PartialEq)]
pub(crate) struct Flag(pub(crate) bool);

impl Shape<'_> for Flag {
    fn from_flag(flag: bool) -> Self {
        Self(flag)
    }
}

/// A whole number, or nothing.
#[derive(Debug, Default, Clone, Copy, PartialEq)]
pub(crate) struct Number(pub(crate) Option<i64>);

impl Shape<'_> for Number {
    fn from_number(number: i64) -> Self {
        Self(Some(number))
    }
}

/// Whatever stands there, passed over.
#[derive(Debug, Default, Clone, Copy, PartialEq)]
pub(crate) struct Nothing;

impl Shape<'_> for Nothing {}

/// An object read as `T`, or nothing.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Object<T>(pub(crate) Option<T>);

impl<T> Default for Object<T> {
    fn default() -> Self {
        Self(None)
    }
}

impl<'de, T: Deserialize<'de>> Shape<'de> for Object<T> {
    fn from_map<A: MapAccess<'de>>(map: A) -> Result<Self, A::Error> {
        T::deserialize(MapAccessDeserializer::new(map)).map(|value| Self(Some(value)))
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Any(PhantomData))
    }
}

/// Longest argument of a tool that is read, in bytes; a target is shown with far less.
const MAX_ARGUMENT_BYTES: usize = 512;

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
pub(crate) struct Target(pub(crate) String);

/// Arguments that say what a call is about, the most specific first.
const TARGET_KEYS: &[&str] = &[
    "file_path", "notebook_path", "command", "cmd", "pattern", "query", "url", "path", "skill", "description",
    "task_name", "name", "id",
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
pub(crate) struct Output(pub(crate) String);

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
pub(crate) struct Content(pub(crate) Vec<Block>);

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
pub(crate) struct Block {
    /// `text`, `tool_use`, `input_text` and so on.
    pub(crate) kind: String,
    /// The words, of whichever kind.
    pub(crate) text: Text,
    /// Name of the tool that is called.
    pub(crate) name: Text,
    /// What the call is about.
    pub(crate) input: Target,
    /// What the tool answered.
    pub(crate) content: Output,
    /// Whether the tool failed or was refused.
    pub(crate) is_error: Flag,
    /// Placeholder for the picture or document in it.
    pub(crate) attachment: Option<String>,
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

#[cfg(test)]
mod lenient_tests {
    use super::*;
    use crate::message::blocks::{Output, Target};

    #[derive(Debug, Default, PartialEq, serde::Deserialize)]
    #[serde(default)]
    struct Sample {
        text: Text,
        flag: Flag,
        number: Number,
        target: Target,
        output: Output,
        object: Object<Part>,
    }

    #[derive(Debug, Default, PartialEq, serde::Deserialize)]
    #[serde(default)]
    struct Part {
        text: Text,
    }

    #[test]
    fn a_wrong_type_reads_as_nothing_whatever_it_is() {
        for wrong in ["null", "1.5", "99999999999999999999", "[1,[2]]", r#"{"x":{"y":[]}}"#] {
            let json = format!(
                r#"{{"text":{wrong},"flag":{wrong},"number":{wrong},"target":{wrong},"output":{wrong},"object":{{"text":{wrong}}}}}"#
            );
            let expected = Sample { object: Object(Some(Part::default())), ..Sample::default() };
            assert_eq!(serde_json::from_str::<Sample>(&json).unwrap(), expected, "{wrong}");
        }
    }
}
