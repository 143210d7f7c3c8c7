//! Going through an export conversation by conversation.

use serde_json::Value;

use crate::{Head, IngestError, Input, Records, Sink};

/// Gives `read` each conversation of `input`, with where it was read and its number: the elements of an array, the lines
/// of a JSONL file, or the one object that is the file.
///
/// # Errors
/// [`IngestError::Read`] if the file breaks off.
pub fn each(
    input: Input,
    sink: &mut Sink<'_>,
    mut read: impl FnMut(&Value, String, usize, &mut Sink<'_>),
) -> Result<(), IngestError> {
    let path = input.path.display().to_string();
    let (is_array, is_lines) = {
        let head = Head::of(&input);
        (head.text.trim_start().starts_with('['), !head.lines.is_empty())
    };
    let mut records = if is_lines { Records::lines(input) } else { Records::elements(input) };
    while let Some((number, value)) = records.next_json::<Value>(sink)? {
        let origin = if is_array || is_lines { format!("{path}#{number}") } else { path.clone() };
        read(&value, origin, number, sink);
    }
    Ok(())
}
