//! Reads JSON from other programs, which may be deeply nested, damaged or incomplete.

use serde::de::DeserializeOwned;
use serde_json::Value;

/// Lenient access to the fields of a log record: a value of an unexpected type is treated as missing.
///
/// Programs change the types of their fields between versions, and a changed field must not make the whole record
/// unusable.
pub(crate) trait Json {
    /// Returns the elements of an array; an empty slice for any other value.
    fn list(&self) -> &[Value];
    /// Returns the elements of an array, or the value itself as the only one.
    fn items(&self) -> &[Value];
    /// Returns a string as written; an empty string for any other value.
    fn string(&self) -> &str;
    /// Returns a string without surrounding white space; `None` if it is blank or not a string.
    fn text(&self) -> Option<&str>;
    /// Returns the same as [`Json::text`], owned.
    fn owned(&self) -> Option<String> {
        self.text().map(str::to_owned)
    }
    /// Returns a string as written, nothing for null, and any other value as JSON.
    fn shown(&self) -> String;
    /// Returns the text of the first of the fields `keys` that has one.
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

    fn shown(&self) -> String {
        match self {
            Self::Null => String::new(),
            Self::String(text) => text.clone(),
            other => other.to_string(),
        }
    }

    fn first_text(&self, keys: &[&str]) -> Option<&str> {
        keys.iter().find_map(|key| self[*key].text())
    }
}

/// Maximum nesting that is parsed; dropping a value is recursive, so a deeper value could overflow the stack.
const MAX_DEPTH: usize = 2_000;
/// Length of `\u0000`.
const LONGEST_ESCAPE: usize = 6;

/// Parses `text`. If that fails, repairs faults that are known to occur in logs, and parses the result.
///
/// Unpaired surrogate escapes, `\x` escapes and raw control characters in strings are repaired. Nesting may be 2,000
/// levels deep. Returns the value, and whether a repair was needed.
///
/// # Errors
/// The first parse error, if the repaired text cannot be parsed either.
pub fn parse<T: DeserializeOwned>(text: &str) -> Result<(T, bool), serde_json::Error> {
    match parse_deep(text) {
        Ok(value) => Ok((value, false)),
        Err(error) => parse_deep(&repair(text)).map(|value| (value, true)).map_err(|_| error),
    }
}

/// Returns whether the nesting of `text` exceeds the limit.
fn is_too_deep(text: &str) -> bool {
    depth(text) > MAX_DEPTH
}

/// The reason for rejecting a record whose nesting exceeds the limit.
pub(crate) const TOO_DEEP: &str = "nested too deeply";

/// Returns why `text` cannot be used, without quoting any of it.
pub(crate) fn reason(text: &str, error: &serde_json::Error) -> String {
    if is_too_deep(text) {
        TOO_DEEP.to_owned()
    } else if error.is_data() {
        "not of the expected shape".to_owned()
    } else {
        format!("invalid JSON at column {}", error.column())
    }
}

/// Parses within the recursion limit of `serde_json`, and uses a growing stack only for more deeply nested text,
/// because measuring the depth of every record first would take as long as parsing it.
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

/// Returns whether parsing ended at the recursion limit of `serde_json`, which reports this only in its error message.
fn is_recursion(error: &serde_json::Error) -> bool {
    error.is_syntax() && error.to_string().starts_with("recursion limit exceeded")
}

/// Returns the maximum number of brackets that are open at the same time in `text`.
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

/// Replaces characters that JSON forbids inside strings with permitted characters.
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
            // JSON permits the control characters from U+007F on.
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
            // A truncated escape is not a character, so the replacement character takes its place.
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

/// Writes a surrogate pair if the low half follows, and the replacement character otherwise.
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

/// Parses an incomplete JSON document: containers that are open at the end of `text` are closed, and a truncated value
/// is dropped entirely, so that every returned value was complete in the text.
///
/// Returns `None` if not even the first container is open, as in prose.
#[must_use]
pub fn parse_prefix(text: &str) -> Option<Value> {
    closed(text, Cut::Dropped)
}

/// Parses the beginning of a JSON document to recognise its format, as [`parse_prefix`] does. A truncated string is
/// retained up to the end of the text, because a single value can be longer than the part that is examined.
pub(crate) fn parse_start(text: &str) -> Option<Value> {
    closed(text, Cut::Kept)
}

/// Handling of a truncated string.
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
    // The last positions may still be between a key and its value, but at least one of several consecutive positions is
    // not.
    cuts.iter().rev().take(8).find_map(|(end, closers)| {
        let closed: String = text[..*end].chars().chain(closers.chars().rev()).collect();
        parse(&closed).ok().map(|(value, _)| value)
    })
}

/// Finds the positions after which `text` can be cut, each with the closing brackets then required (innermost last).
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
            // Only the last few positions are ever tried.
            cuts.drain(..32);
        }
    }
    if in_string && string == Cut::Kept {
        // An escape may be split by the end of the text.
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
