//! Reads the list of memories in a model's reply, regardless of what surrounds it.

use std::borrow::Cow;
use std::iter::Peekable;
use std::str::CharIndices;

use serde_json::{Map, Value, json};
use transcripts::json as reader;

use super::offline::first_words;

/// Maximum depth of nesting that is read. The requested format has seven levels.
const MAX_DEPTH: usize = 100;
/// Maximum number of positions in a reply at which a document is searched for.
const MAX_STARTS: usize = 200;
/// Maximum number of nested texts that are unwrapped.
const MAX_LAYERS: u8 = 4;

/// The entries of a reply.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Entries {
    /// One unchecked value for each proposed memory.
    pub items: Vec<Value>,
    /// Whether the document is complete. If not, the last entry may be cut.
    pub whole: bool,
}

/// Returns the entries in `text`: bare, fenced, wrapped in prose or in a string, after reasoning, or cut short.
///
/// If there are several documents, the last one counts, since models write drafts before they answer. Returns `None` if
/// there is no list of memories at all, not even an empty one.
pub(super) fn entries(text: &str) -> Option<Entries> {
    let text = after_thoughts(text).trim();
    // The text is checked before it is parsed, because dropping a deeply nested `Value` recurses and would overflow the
    // stack.
    if is_too_deep(text) {
        return None;
    }
    let whole = |items| Entries { items, whole: true };
    if let Ok((value, _)) = reader::parse::<Value>(text) {
        return list(value, MAX_LAYERS).map(whole);
    }
    // If an answer with a superfluous comma were read piece by piece, only its last entry would be left.
    let meant = tidied(text).and_then(|tidy| reader::parse::<Value>(&tidy).ok()).map(|(value, _)| value);
    // A single entry here may be the first of several consecutive entries, all of which `last_document` reads.
    let meant = meant.filter(|value| !is_entry(value)).and_then(|value| list(value, MAX_LAYERS));
    let meant = meant.filter(|items| !items.is_empty());
    meant.map(whole).or_else(|| last_document(text))
}

/// Removes `<think>…</think>`. If the reasoning does not end, nothing is left.
fn after_thoughts(text: &str) -> &str {
    let start = text.trim_start();
    for (open, close) in [("<think>", "</think>"), ("<thinking>", "</thinking>"), ("<reasoning>", "</reasoning>")] {
        if start.starts_with(open) {
            // The reasoning may contain drafts of the list. If it is not closed, a draft must not be mistaken for the
            // answer.
            return start.split_once(close).map_or("", |(_, answer)| answer);
        }
    }
    // Some servers remove only the opening tag.
    match start.split_once("</think>") {
        // In a JSON document, the tag can only be part of a quote from the log.
        Some((_, answer)) if !start.starts_with(['{', '[']) => answer,
        _ => text,
    }
}

/// Whether brackets nest so deeply that dropping the value would overflow the stack.
fn is_too_deep(text: &str) -> bool {
    let mut depth = 0_usize;
    text.bytes().any(|byte| {
        match byte {
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth > MAX_DEPTH
    })
}

/// Finds the memories in a parsed document.
fn list(value: Value, layers: u8) -> Option<Vec<Value>> {
    let layers = layers.checked_sub(1)?;
    match value {
        Value::Object(mut object) => match object.remove("memories") {
            Some(Value::Array(items)) => Some(items),
            Some(other) => list(other, layers),
            // When asked for a list with a single entry, some models send the entry alone.
            None if object.contains_key("content") && object.contains_key("quote") => Some(vec![Value::Object(object)]),
            // Some models use a different name for the list. With two lists, it would be unclear which of them is the
            // answer.
            None if object.values().filter(|value| are_entries(value)).count() == 1 => {
                object.into_iter().find(|(_, value)| are_entries(value)).and_then(|(_, value)| list(value, layers))
            }
            None if object.len() == 1 => {
                let (_, inner) = object.into_iter().next()?;
                list(inner, layers).filter(|items| !items.is_empty() || layers < MAX_LAYERS - 2)
            }
            None => None,
        },
        Value::Array(items) if items.iter().all(Value::is_object) => Some(items),
        Value::String(text) if !is_too_deep(&text) => list(reader::parse(text.trim()).ok()?.0, layers),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => None,
    }
}

/// Whether a value is a list of objects that look like entries.
fn are_entries(value: &Value) -> bool {
    value.as_array().is_some_and(|items| !items.is_empty() && items.iter().all(|item| item.get("quote").is_some()))
}

/// Whether a value is itself an entry, without a list.
fn is_entry(value: &Value) -> bool {
    value.get("content").is_some() && value.get("quote").is_some()
}

/// Returns the last document in `text` that contains a list of memories. A document that is not closed before the end
/// of the text counts as cut.
///
/// Consecutive entries without a list are combined. If a list was begun, they do not count as a complete answer,
/// because the list around them may be broken.
fn last_document(text: &str) -> Option<Entries> {
    let (mut found, mut from, mut alone) = (None, 0, Vec::new());
    // Parsing from each bracket may read to the end of the text, so prose full of brackets would take quadratic time
    // without a bound.
    for _ in 0..MAX_STARTS {
        let Some(start) = text[from..].find(['{', '[']).map(|offset| from + offset) else { break };
        let mut stream = serde_json::Deserializer::from_str(&text[start..]).into_iter::<Value>();
        let value = stream.next();
        from = start + 1;
        match value {
            Some(Ok(value)) => {
                // Continuing the search within a parsed document would find its inner objects and mistake them for
                // documents.
                from = start + stream.byte_offset().max(1);
                if is_entry(&value) {
                    alone.push(value);
                    continue;
                }
                // A bare `[]` in prose is more often a code sample than an answer of "nothing".
                let is_empty_array = value.as_array().is_some_and(Vec::is_empty);
                let items = list(value, MAX_LAYERS).filter(|_| !is_empty_array);
                found = items.map(|items| Entries { items, whole: true }).or(found);
            }
            // A document that extends to the end of the text is the last document, so no better document can follow.
            Some(Err(error)) if error.is_eof() => {
                let Some(mut cut) = cut_document(&text[start..]) else { continue };
                cut.items.splice(0..0, alone);
                return Some(cut);
            }
            Some(Err(_)) | None => {}
        }
    }
    let is_list_begun = text.contains("memories") || text.starts_with('[');
    found.or((!alone.is_empty()).then_some(Entries { items: alone, whole: !is_list_begun }))
}

fn cut_document(text: &str) -> Option<Entries> {
    let items = list(reader::parse_prefix(text)?, MAX_LAYERS)?;
    // An empty list that is not closed is a cut reply, not an answer of "nothing".
    (!items.is_empty()).then_some(Entries { items, whole: false })
}

/// Returns `item` with common deviations corrected to match `schema`, the schema of one memory: numbers given as text,
/// a single number instead of a list, capitals in enums, and missing fields that may be `null`. Unknown fields are
/// removed.
///
/// In an entry that `may_be_cut`, missing fields are not filled in.
pub(super) fn normalised(item: Value, schema: &Value, may_be_cut: bool) -> Value {
    let (Value::Object(mut given), Some(properties)) = (item, schema["properties"].as_object()) else {
        return Value::Null;
    };
    let mut fields = Map::new();
    for (name, shape) in properties {
        let value = match taken(&mut given, name) {
            Some(value) => coerced(value, shape),
            // Filling in fields would turn an incomplete entry into a valid entry.
            None if may_be_cut => continue,
            // Strict mode requires every property, but on servers without strict mode, models omit properties that are
            // null.
            None if is_nullable(shape) => Value::Null,
            None if name == "tags" => json!([]),
            None => continue,
        };
        fields.insert(name.clone(), value);
    }
    Value::Object(fields)
}

/// Returns an entry with every field at the top level: the objects of `more` are merged into it. The first tag is the
/// subject, unless the entry specifies a subject.
pub(super) fn unfolded(item: Value) -> Value {
    let Value::Object(mut fields) = item else { return item };
    let more = match fields.remove("more") {
        Some(Value::Array(parts)) => parts,
        Some(part) => vec![part],
        // Some models still send every field, or leave out an empty list.
        None => Vec::new(),
    };
    for (name, value) in more.into_iter().filter_map(|part| Some(part.as_object()?.clone())).flatten() {
        fields.entry(name).or_insert(value);
    }
    if !fields.contains_key("subject")
        && let Some(Value::Array(tags)) = fields.get_mut("tags")
        && !tags.is_empty()
    {
        let subject = tags.remove(0);
        fields.insert("subject".into(), subject);
    }
    Value::Object(fields)
}

/// Returns an entry in which missing fields that follow from other fields are filled in.
pub(super) fn completed(mut item: Value) -> Value {
    let Some(fields) = item.as_object_mut() else { return item };
    let is_given = |name: &str| fields.get(name).is_some_and(|value| !value.is_null());
    let memory_type = match fields.get("category").and_then(Value::as_str) {
        _ if is_given("procedure") => "procedural",
        _ if is_given("episode") => "episodic",
        Some("solution" | "mistake" | "pattern") => "episodic",
        Some("convention" | "workflow") => "procedural",
        Some(_) | None => "semantic",
    };
    let content = fields.get("content").and_then(Value::as_str).unwrap_or_default().to_owned();
    let title = first_words(&content);
    for (name, value) in [("type", memory_type), ("basis", "stated"), ("audience", "project"), ("title", &title)] {
        fields.entry(name).or_insert_with(|| value.into());
    }
    let title = fields["title"].clone();
    if let Some(Value::Object(procedure)) = fields.get_mut("procedure") {
        procedure.entry("name").or_insert(title);
        procedure.entry("description").or_insert_with(|| content.into());
    }
    item
}

/// Alternative field names used by some models.
const OTHER_NAMES: [(&str, &[&str]); 6] = [
    ("content", &["text", "memory", "fact", "statement"]),
    ("quote", &["evidence", "excerpt", "citation"]),
    ("messages", &["messageids", "message", "messageid", "sources"]),
    ("type", &["memorytype", "kind"]),
    ("from", &["validfrom"]),
    ("to", &["validto", "validuntil"]),
];

/// Removes and returns the field `name` of `given`, regardless of case and of the separators between words.
fn taken(given: &mut Map<String, Value>, name: &str) -> Option<Value> {
    if let Some(value) = given.remove(name) {
        return Some(value);
    }
    let plain =
        |key: &str| key.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect::<String>();
    let others = OTHER_NAMES.iter().find(|(own, _)| *own == name).map_or(&[][..], |(_, others)| others);
    // The exact name was tried first, so an alias never hides a field that is present.
    let key = given.keys().find(|key| plain(key) == name || others.contains(&plain(key).as_str()))?.clone();
    given.remove(&key)
}

fn coerced(value: Value, shape: &Value) -> Value {
    match value {
        // Models write "None" or "n/a" for absent values. Such words would otherwise be stored as if somebody had said
        // them.
        Value::String(text) if is_nullable(shape) && is_nothing(&text) => Value::Null,
        Value::String(text) if wants(shape, "integer") => integer(&text).map_or(Value::String(text), Value::from),
        Value::String(text) if shape.get("enum").is_some() => Value::String(text.trim().to_lowercase()),
        Value::String(text) if wants(shape, "array") => coerced(json!([text]), shape),
        Value::Number(number) if wants(shape, "array") => json!([number]),
        #[expect(clippy::cast_possible_truncation, reason = "the value is whole and small")]
        Value::Number(number) if wants(shape, "integer") => match number.as_f64() {
            Some(float) if float.fract() == 0.0 && float.abs() < 1e9 => Value::from(float as i64),
            _ => Value::Number(number),
        },
        Value::Number(number) if wants(shape, "string") => Value::String(number.to_string()),
        Value::Bool(flag) if wants(shape, "string") => Value::String(flag.to_string()),
        Value::Array(items) if wants(shape, "array") => {
            items.into_iter().map(|item| coerced(item, &shape["items"])).collect()
        }
        Value::Object(fields) if fields.is_empty() && is_nullable(shape) => Value::Null,
        Value::Object(_) if shape.get("anyOf").is_some() => normalised(value, &shape["anyOf"][0], false),
        other => other,
    }
}

fn wants(shape: &Value, name: &str) -> bool {
    match &shape["type"] {
        Value::String(one) => one == name,
        Value::Array(several) => several.iter().any(|one| one == name),
        _ => false,
    }
}

fn is_nullable(shape: &Value) -> bool {
    wants(shape, "null") || shape["anyOf"].as_array().is_some_and(|all| all.iter().any(|one| wants(one, "null")))
}

fn is_nothing(text: &str) -> bool {
    let text = text.trim();
    text.is_empty() || ["null", "none", "n/a", "unknown"].iter().any(|word| text.eq_ignore_ascii_case(word))
}

/// Reads `4`, `[4]` and `K4`.
fn integer(text: &str) -> Option<i64> {
    let bare: Cow<'_, str> = text.trim().trim_matches(['[', ']']).trim_start_matches(['K', 'k', '#']).into();
    bare.parse().ok()
}

/// Returns `text`, from its first bracket to its last, as JSON, or `None` if it has no brackets.
///
/// Comments, and commas before a closing bracket, are removed. Single quotes become double quotes, `None` and `NaN`
/// become `null`, and `True` and `False` become lower case. Strings are not changed.
fn tidied(text: &str) -> Option<String> {
    let text = text.get(text.find(['{', '['])?..=text.rfind(['}', ']'])?)?;
    let mut tidy = String::with_capacity(text.len());
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => copy_text(&mut chars, &mut tidy),
            '\'' => copy_single_quoted(text, &mut chars, &mut tidy),
            '/' if text[at..].starts_with("//") => skip_until(&mut chars, text[at..].find('\n').map(|end| at + end)),
            '/' if text[at..].starts_with("/*") => {
                skip_until(&mut chars, text[at..].find("*/").map(|end| at + end + 2));
            }
            '}' | ']' => {
                // The comma is searched for in the output, in which comments between comma and bracket have already
                // been removed.
                if let Some(rest) = tidy.trim_end().strip_suffix(',') {
                    tidy.truncate(rest.len());
                }
                tidy.push(c);
            }
            c if c.is_alphabetic() => copy_word(text, at, &mut chars, &mut tidy),
            c => tidy.push(c),
        }
    }
    Some(tidy)
}

type Chars<'t> = Peekable<CharIndices<'t>>;

fn skip_until(chars: &mut Chars<'_>, end: Option<usize>) {
    while chars.next_if(|(at, _)| end.is_none_or(|end| *at < end)).is_some() {}
}

fn copy_text(chars: &mut Chars<'_>, tidy: &mut String) {
    tidy.push('"');
    let mut is_escaped = false;
    for (_, c) in chars.by_ref() {
        tidy.push(c);
        match c {
            '"' if !is_escaped => return,
            c => is_escaped = c == '\\' && !is_escaped,
        }
    }
}

/// Copies up to a quote that is followed by something that can follow a string. Other quotes are apostrophes.
fn copy_single_quoted(text: &str, chars: &mut Chars<'_>, tidy: &mut String) {
    tidy.push('"');
    while let Some((at, c)) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some((_, '\'')) => tidy.push('\''),
                Some((_, other)) => tidy.extend(['\\', other]),
                None => {}
            },
            '\'' if text[at + 1..].trim_start().starts_with([',', ':', ']', '}']) => break,
            '"' => tidy.push_str("\\\""),
            c => tidy.push(c),
        }
    }
    tidy.push('"');
}

fn copy_word(text: &str, at: usize, chars: &mut Chars<'_>, tidy: &mut String) {
    let end = text[at..].find(|c: char| !c.is_alphanumeric() && c != '_').map_or(text.len(), |length| at + length);
    skip_until(chars, Some(end));
    tidy.push_str(match &text[at..end] {
        "None" | "NaN" | "undefined" | "Infinity" | "nil" => "null",
        "True" => "true",
        "False" => "false",
        word => word,
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole(items: &Value) -> Entries {
        Entries { items: items.as_array().unwrap().clone(), whole: true }
    }

    #[test]
    fn every_wrapping_is_taken_off() {
        let one = json!([{"a": 1}]);
        let long = r#"{"memories":[{"a":1}]}"#;
        let encoded = serde_json::to_string(long).unwrap();
        for text in [
            long.to_owned(),
            format!("\u{feff} {long}\n").replace('\u{feff}', ""),
            format!("```json\n{long}\n```"),
            format!("Here you are:\n```\n{long}\n```\nAnything else? {{}}"),
            format!("Sure! {long} I left out the rest [1]."),
            format!("<think>First {{\"memories\":[]}} or not?</think>\n{long}"),
            format!("no opening tag {{\"memories\":[]}}</think>{long}"),
            format!("Draft {{\"memories\":[]}}, final {long}"),
            format!("{{\"memories\":{}}}", serde_json::to_string(r#"[{"a":1}]"#).unwrap()),
            format!("{{\"result\":{long}}}"),
            r#"{"reasoning":"r","memories":[{"a":1}]}"#.to_owned(),
            r#"[{"a":1}]"#.to_owned(),
            r#"{"facts":[{"a":1}]}"#.to_owned(),
            encoded.clone(),
            serde_json::to_string(&encoded).unwrap(),
        ] {
            assert_eq!(entries(&text), Some(whole(&one)), "{text}");
        }
        let single = r#"{"content":"c","quote":"q"}"#;
        assert_eq!(entries(single), Some(whole(&json!([{"content": "c", "quote": "q"}]))));
    }

    #[test]
    fn only_a_spelled_out_empty_list_is_an_empty_answer() {
        for text in [r#"{"memories":[]}"#, "[]", "```json\n{\"memories\": []}\n```", "Nothing: {\"memories\":[]}"] {
            assert_eq!(entries(text), Some(whole(&json!([]))), "{text}");
        }
        for text in [
            "",
            " ",
            "Nothing worth keeping.",
            "{}",
            "[1]",
            "see [] and {}",
            r#"{"memories":["#,
            "<think>hm",
            "null",
            "42",
        ] {
            assert_eq!(entries(text), None, "{text}");
        }
    }

    #[test]
    fn a_cut_document_keeps_its_entries_and_says_so() {
        let cut = r#"Sure: ```json {"memories":[{"a":1},{"a":2,"b":"cu"#;
        let items = vec![json!({"a": 1}), json!({"a": 2})];
        assert_eq!(entries(cut), Some(Entries { items, whole: false }));
    }

    #[test]
    fn hostile_replies_are_refused_quickly() {
        for text in ["[".repeat(200_000), "{\"a\":".repeat(100_000), "{".repeat(90) + &"[{\"".repeat(100_000)] {
            assert_eq!(entries(&text), None);
        }
    }

    #[test]
    fn a_lean_entry_is_a_whole_one() {
        let lean = json!({
            "messages": [4], "quote": "never push on Fridays", "category": "convention",
            "content": "Ana asks never to push on Fridays.", "tags": ["git", "release"], "importance": 8,
            "more": [{"from": "2026-02-27"}, {"procedure": {"triggers": ["about to push"], "steps": []}}],
        });
        let whole = json!({
            "messages": [4], "quote": "never push on Fridays", "category": "convention",
            "content": "Ana asks never to push on Fridays.", "subject": "git", "tags": ["release"], "importance": 8,
            "from": "2026-02-27", "type": "procedural", "basis": "stated", "audience": "project",
            "title": "Ana asks never to push on Fridays", "procedure": {
                "name": "Ana asks never to push on Fridays", "description": "Ana asks never to push on Fridays.",
                "triggers": ["about to push"], "steps": [],
            },
        });
        assert_eq!(completed(unfolded(lean)), whole);
        assert_eq!(completed(unfolded(whole.clone())), whole, "a model may still send every field");
        for (fields, expected) in [
            (json!({"category": "fact"}), "semantic"),
            (json!({"category": "mistake"}), "episodic"),
            (json!({"category": "fact", "more": [{"type": "episodic"}]}), "episodic"),
            (json!({"category": "fact", "more": {"episode": {"situation": "s"}}}), "episodic"),
        ] {
            assert_eq!(completed(unfolded(fields.clone()))["type"], expected, "{fields}");
        }
        assert_eq!(unfolded(json!({"subject": null, "tags": ["a"]})), json!({"subject": null, "tags": ["a"]}));
    }

    #[test]
    fn common_misspellings_of_values_are_understood() {
        let schema = json!({"properties": {
            "n": {"type": "integer"}, "k": {"type": ["integer", "null"]}, "m": {"type": "array", "items": {"type": "integer"}},
            "s": {"type": ["string", "null"]}, "e": {"type": "string", "enum": ["user"]}, "tags": {"type": "array"},
            "p": {"anyOf": [{"type": "object", "properties": {"x": {"type": ["string", "null"]}}}, {"type": "null"}]},
        }});
        let given = json!({"n": "7", "k": "K2", "m": "[4]", "s": " N/A ", "e": " User", "p": {"y": 1}, "extra": true});
        assert_eq!(
            normalised(given, &schema, false),
            json!({"n": 7, "k": 2, "m": [4], "s": null, "e": "user", "tags": [], "p": {"x": null}})
        );
        assert_eq!(normalised(json!({"n": 7.0}), &schema, true), json!({"n": 7}));
        assert_eq!(normalised(json!("words"), &schema, false), Value::Null);
    }

    #[test]
    fn entries_of_a_broken_list_are_not_taken_for_drafts() {
        let one = |n: u8| json!({"content": "c", "quote": "q", "n": n});
        let lines = format!("{}\n{}\n{}", one(1), one(2), one(3));
        assert_eq!(entries(&lines), Some(whole(&json!([one(1), one(2), one(3)]))));
        let broken = format!("{{\"memories\":[{},{{\"content\":oops}},{}]}}", one(1), one(3));
        assert_eq!(entries(&broken), Some(Entries { items: vec![one(1), one(3)], whole: false }));
        let cut = format!("{}\n{{\"content\":\"c\",\"quote\":\"q\",\"n\":2,\"x\":", one(1));
        assert_eq!(entries(&cut).map(|list| (list.items.len(), list.whole)), Some((2, false)));
        let named = json!({"reasoning": "r", "notes": [], "facts": [one(1)]}).to_string();
        assert_eq!(entries(&named), Some(whole(&json!([one(1)]))));
    }

    #[test]
    fn refusals_and_prose_are_no_empty_answer() {
        for text in [
            "I'm sorry, but I can't help with that.",
            "抱歉，我无法处理这段对话。",
            "Es tut mir leid, dabei kann ich nicht helfen.",
            "Lo siento, no puedo ayudar con eso.",
            "申し訳ありませんが、お手伝いできません。",
            r#"{"error":"I can't do that"}"#,
            r#"{"memories":null}"#,
            r#"{"memories":"none"}"#,
            r#"{"refusal":"no"}"#,
        ] {
            assert_eq!(entries(text), None, "{text}");
        }
    }

    #[test]
    fn fields_are_known_by_other_names() {
        let schema = json!({"properties": {
            "content": {"type": "string"}, "quote": {"type": "string"}, "messages": {"type": "array", "items": {"type": "integer"}},
            "type": {"type": "string"}, "from": {"type": ["string", "null"]},
        }});
        let given = json!({"Content": "c", "evidence": "q", "message_ids": ["4"], "memoryType": "semantic", "valid-from": "2025"});
        assert_eq!(
            normalised(given, &schema, false),
            json!({"content": "c", "quote": "q", "messages": [4], "type": "semantic", "from": "2025"})
        );
    }

    #[test]
    fn what_is_meant_as_json_is_read_as_json() {
        let meant = json!({"memories": [{"a": "it's 5, // or \"6\"", "b": null, "c": true}]});
        for text in [
            r#"{"memories": [{"a": "it's 5, // or \"6\"", "b": null, "c": true,},],}"#,
            "{ // the list\n\"memories\": [ /* one */ {\"a\": \"it's 5, // or \\\"6\\\"\", \"b\": NaN, \"c\": true}]}",
            r#"{'memories': [{'a': 'it\'s 5, // or "6"', 'b': None, 'c': True}]}"#,
            r#"Sure: {'memories': [{'a': 'it's 5, // or "6"', 'b': None, 'c': True}]} ok"#,
        ] {
            let tidy = tidied(text).unwrap();
            assert_eq!(serde_json::from_str::<Value>(&tidy).ok(), Some(meant.clone()), "{text} → {tidy}");
        }
        assert_eq!(tidied("no brackets"), None);
        assert_eq!(tidied("} {"), None);
    }
}
