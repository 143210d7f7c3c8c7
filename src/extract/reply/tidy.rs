//! What models write in the place of JSON and mean as JSON: comments, commas too many, Python's spelling.

use std::iter::Peekable;
use std::str::CharIndices;

/// Returns `text`, from its first bracket to its last, as JSON; `None` if it has no brackets.
///
/// Left out are comments and commas before a closing bracket; single quotes become double ones, `None` and `NaN`
/// become `null`, `True` and `False` lower case. Texts stay as they are.
pub(super) fn tidied(text: &str) -> Option<String> {
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

/// Copies up to a quote that something follows which may follow a text; others are apostrophes.
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
    use serde_json::{Value, json};

    use super::*;

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
