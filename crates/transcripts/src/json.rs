//! Reading JSON that came from outside: deep, damaged or cut short.

use serde::de::DeserializeOwned;
use serde_json::Value;

/// Lenient access to the fields of a log's record: a value of another type than expected reads as missing.
///
/// Programs change the types of their fields between versions, and one such field must not cost the whole record.
pub(crate) trait Json {
    /// Returns the elements of an array; none of anything else.
    fn list(&self) -> &[Value];
    /// Returns the elements of an array, or the value itself as the only one.
    fn items(&self) -> &[Value];
    /// Returns a string as written; of anything else, an empty one.
    fn string(&self) -> &str;
    /// Returns a string without the space around it, unless it is blank.
    fn text(&self) -> Option<&str>;
    /// Returns the same as [`Json::text`], owned.
    fn owned(&self) -> Option<String> {
        self.text().map(str::to_owned)
    }
    /// Returns the text of the first of the fields `keys` that has any.
    fn first_text(&self, keys: &[&str]) -> Option<&str>;
    /// Returns the same as [`Json::first_text`], owned.
    fn first_owned(&self, keys: &[&str]) -> Option<String> {
        self.first_text(keys).map(str::to_owned)
    }
}

impl Json for Value {
    fn list(&self) -> &[Value] {
        self.as_array().map_or(&[], Vec::as_slice)
    }

    fn items(&self) -> &[Value] {
        self.as_array().map_or(std::slice::from_ref(self), Vec::as_slice)
    }

    fn string(&self) -> &str {
        self.as_str().unwrap_or_default()
    }

    fn text(&self) -> Option<&str> {
        self.as_str().map(str::trim).filter(|text| !text.is_empty())
    }

    fn first_text(&self, keys: &[&str]) -> Option<&str> {
        keys.iter().find_map(|key| self[*key].text())
    }
}

/// Deepest nesting that is parsed; dropping a value recurses, so a deeper one could overflow the stack.
const MAX_DEPTH: usize = 2_000;
/// Length of `\u0000`.
const LONGEST_ESCAPE: usize = 6;

/// Parses `text`, repairing what logs are known to break when a plain parse fails.
///
/// Repaired are unpaired surrogate escapes, `\x` escapes and raw control characters in strings. Nesting may be
/// 2 000 levels deep. Returns the value and whether a repair was needed.
///
/// # Errors
/// The first parse error, if the repaired text does not parse either.
pub fn parse<T: DeserializeOwned>(text: &str) -> Result<(T, bool), serde_json::Error> {
    match parse_deep(text) {
        Ok(value) => Ok((value, false)),
        Err(error) => parse_deep(&repair(text)).map(|value| (value, true)).map_err(|_| error),
    }
}

/// Whether `text` is nested deeper than is parsed.
fn is_too_deep(text: &str) -> bool {
    depth(text) > MAX_DEPTH
}

/// The reason for refusing a record that is nested deeper than is parsed.
pub(crate) const TOO_DEEP: &str = "nested too deeply";

/// Returns why `text` cannot be used, in words that repeat none of it.
pub(crate) fn reason(text: &str, error: &serde_json::Error) -> String {
    if is_too_deep(text) {
        TOO_DEEP.to_owned()
    } else if error.is_data() {
        "not of the expected shape".to_owned()
    } else {
        format!("invalid JSON at column {}", error.column())
    }
}

/// Parses with the recursion that `serde_json` allows by itself, and only what is nested more deeply with a growing
/// stack: measuring the depth of every record first would cost as much as parsing it.
fn parse_deep<T: DeserializeOwned>(text: &str) -> Result<T, serde_json::Error> {
    match serde_json::from_str(text) {
        Err(error) if is_recursion(&error) => {}
        outcome => return outcome,
    }
    if is_too_deep(text) {
        return Err(serde::de::Error::custom("nested too deeply"));
    }
    let mut reader = serde_json::Deserializer::from_str(text);
    reader.disable_recursion_limit();
    let value = T::deserialize(serde_stacker::Deserializer::new(&mut reader))?;
    reader.end()?;
    Ok(value)
}

/// Whether parsing ended at the limit of `serde_json`, which reports it in words alone.
fn is_recursion(error: &serde_json::Error) -> bool {
    error.is_syntax() && error.to_string().starts_with("recursion limit exceeded")
}

/// Returns how many brackets are open at once in `text` at most.
fn depth(text: &str) -> usize {
    let (mut open, mut most, mut in_string, mut escaped) = (0_usize, 0, false, false);
    for byte in text.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b'{' | b'[' if !in_string => open += 1,
            b'}' | b']' if !in_string => open = open.saturating_sub(1),
            _ => {}
        }
        most = most.max(open);
    }
    most
}

/// Replaces what JSON forbids inside strings by what it allows.
fn repair(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let (mut chars, mut in_string) = (text.chars().peekable(), false);
    while let Some(c) = chars.next() {
        match c {
            '"' => in_string = !in_string,
            '\\' if in_string => {
                repair_escape(&mut chars, &mut out);
                continue;
            }
            // JSON allows the control characters from U+007F on.
            c if in_string && c.is_control() && (c as u32) < 0x20 => {
                push_escape(&mut out, c as u32);
                continue;
            }
            _ => {}
        }
        out.push(c);
    }
    out
}

fn push_escape(out: &mut String, unit: u32) {
    use std::fmt::Write as _;
    write!(out, "\\u{unit:04x}").expect("writing to a String cannot fail");
}

fn repair_escape(chars: &mut std::iter::Peekable<std::str::Chars<'_>>, out: &mut String) {
    match chars.next() {
        Some('x') => push_escape(out, hex_digits(chars, 2).unwrap_or(0xFFFD)),
        Some('u') => {
            // A cut escape is not a character, so the replacement character stands for it.
            let Some(unit) = hex_digits(chars, 4) else { return push_escape(out, 0xFFFD) };
            match unit {
                0xD800..=0xDBFF => repair_pair(chars, out, unit),
                0xDC00..=0xDFFF => push_escape(out, 0xFFFD),
                _ => push_escape(out, unit),
            }
        }
        Some(c) => out.extend(['\\', c]),
        None => out.push('\\'),
    }
}

/// Writes a surrogate pair if the low half follows, or the replacement character if it does not.
fn repair_pair(chars: &mut std::iter::Peekable<std::str::Chars<'_>>, out: &mut String, high: u32) {
    let mut ahead = chars.clone();
    let low = (ahead.next() == Some('\\') && ahead.next() == Some('u')).then(|| hex_digits(&mut ahead, 4)).flatten();
    match low {
        Some(low @ 0xDC00..=0xDFFF) => {
            push_escape(out, high);
            push_escape(out, low);
            *chars = ahead;
        }
        _ => push_escape(out, 0xFFFD),
    }
}

fn hex_digits(chars: &mut std::iter::Peekable<std::str::Chars<'_>>, count: usize) -> Option<u32> {
    let mut value = 0;
    for _ in 0..count {
        value = value * 16 + chars.peek()?.to_digit(16)?;
        chars.next();
    }
    Some(value)
}

/// Parses as much of a JSON document as is there: what is open at the end of `text` is closed, and a value that is
/// cut in the middle is dropped whole, so that every returned value was complete in the text.
///
/// Returns `None` if not even the first container is open, e.g. for prose.
#[must_use]
pub fn parse_prefix(text: &str) -> Option<Value> {
    closed(text, Cut::Dropped)
}

/// Parses the beginning of a JSON document to recognise its form: as [`parse_prefix`], but a string that is cut in its
/// middle ends where the text does, since one value can be longer than all that is looked at.
pub(crate) fn parse_start(text: &str) -> Option<Value> {
    closed(text, Cut::Kept)
}

/// What becomes of a string that is cut in the middle.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Cut {
    Dropped,
    Kept,
}

fn closed(text: &str, string: Cut) -> Option<Value> {
    if let Ok((value, _)) = parse(text) {
        return Some(value);
    }
    let cuts = safe_cuts(text, string);
    // The last cuts can still end between a key and its value; the ones before them cannot all.
    cuts.iter().rev().take(8).find_map(|(end, closers)| {
        let closed: String = text[..*end].chars().chain(closers.chars().rev()).collect();
        parse(&closed).ok().map(|(value, _)| value)
    })
}

/// Finds the places after which `text` can be cut, each with the closers that are then owed (innermost last).
fn safe_cuts(text: &str, string: Cut) -> Vec<(usize, String)> {
    let (mut cuts, mut stack, mut in_string, mut escaped) = (Vec::new(), String::new(), false, false);
    let mut escape = 0;
    for (index, byte) in text.bytes().enumerate() {
        if in_string {
            match byte {
                _ if escaped => escaped = false,
                b'\\' => (escaped, escape) = (true, index),
                b'"' => in_string = false,
                _ => {}
            }
            continue;
        }
        match byte {
            b'"' => in_string = true,
            b'{' | b'[' => {
                stack.push(if byte == b'{' { '}' } else { ']' });
                cuts.push((index + 1, stack.clone()));
            }
            b'}' | b']' => {
                stack.pop();
                cuts.push((index + 1, stack.clone()));
            }
            b',' => cuts.push((index, stack.clone())),
            _ => {}
        }
        if stack.len() > MAX_DEPTH {
            break;
        }
        if cuts.len() > 64 {
            // Only the last few cuts are ever tried.
            cuts.drain(..32);
        }
    }
    if in_string && string == Cut::Kept {
        // An escape may be cut in two.
        let end = if text.len() - escape < LONGEST_ESCAPE { escape } else { text.len() };
        cuts.push((end, stack + "\""));
    }
    cuts
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_string_that_is_cut_off_ends_where_the_text_does() {
        let rows = [
            (r#"{"a":[{"b":"long wor"#, json!({"a": [{"b": "long wor"}]})),
            (r#"{"a":"long \"wor\u00e"#, json!({"a": "long \"wor"})),
            (r#"{"a":"long wor\"#, json!({"a": "long wor"})),
            (r#"{"a":1,"lon"#, json!({"a": 1})),
        ];
        for (text, expected) in rows {
            assert_eq!(parse_start(text), Some(expected), "{text}");
        }
    }

    #[test]
    fn damaged_strings_are_repaired_and_reported() {
        assert_eq!(parse::<Value>(r#"{"a":"\ud83d"}"#).unwrap(), (json!({"a": "\u{fffd}"}), true));
        assert_eq!(parse::<Value>(r#"{"a":"\x1f"}"#).unwrap(), (json!({"a": "\u{1f}"}), true));
        assert_eq!(parse::<Value>("{\"a\":\"x\ty\"}").unwrap(), (json!({"a": "x\ty"}), true));
        assert_eq!(parse::<Value>(r#"{"a":"\ud83d\ude00"}"#).unwrap(), (json!({"a": "😀"}), false));
    }

    #[test]
    fn nesting_is_parsed_up_to_its_limit_and_refused_beyond() {
        let nested = |depth: usize| format!("{}1{}", "{\"a\":[".repeat(depth / 2), "]}".repeat(depth / 2));
        assert!(parse::<Value>(&nested(MAX_DEPTH)).is_ok());
        assert!(parse::<Value>(&nested(MAX_DEPTH + 2)).is_err());
        assert_eq!(parse::<Value>(r#""[[[\"[[""#).unwrap(), (json!("[[[\"[["), false));
    }

    #[test]
    fn a_cut_document_keeps_its_whole_values_only() {
        assert_eq!(
            parse_prefix(r#"{"memories":[{"a":1},{"a":2},{"a":"cu"#),
            Some(json!({"memories":[{"a":1},{"a":2},{}]}))
        );
        assert_eq!(parse_prefix(r#"[{"a":1},{"b":"#), Some(json!([{"a":1},{}])));
        assert_eq!(parse_prefix("just words"), None);
    }
}
