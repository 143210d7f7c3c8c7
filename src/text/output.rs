//! The output of a command as an agent stores it: the text that the agent added around it, and whether it reports a
//! failure. The functions perform no I/O.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::Regex;

use super::pattern_set::pattern;

/// Number of bytes at either end of an output that are searched for the text that an agent added.
const FRAME_BYTES: usize = 400;

/// Returns the output of a command without the JSON that an agent wrapped around it: `{"output":"…","metadata":{…}}`.
pub(crate) fn unframed(output: &str) -> Cow<'_, str> {
    let Some(rest) = output.trim_start().strip_prefix("{\"output\":").map(str::trim_start) else {
        return output.into();
    };
    let mut values = serde_json::Deserializer::from_str(rest).into_iter::<String>();
    match values.next() {
        Some(Ok(text)) => text.into(),
        // A long output may be clipped, in which case the string is not terminated.
        _ => rest.replace("\\n", "\n").replace("\\\"", "\"").into(),
    }
}

static EXIT: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r#"(?m)^(?:Error: )?(?:Exit code:?|Process exited with code|Command exited with code|exit status:?|Exit Code:) (-?\d{1,5})\b|"exit_code":\s*(-?\d{1,5})\b"#,
    )
});

/// Returns the exit status that an agent wrote around the output of a command.
pub(crate) fn exit_status(output: &str) -> Option<i32> {
    // Only the text around the output is searched, because the output of the command may also mention exit codes.
    let head = &output[..output.floor_char_boundary(FRAME_BYTES.min(output.len()))];
    let tail = &output[output.ceil_char_boundary(output.len().saturating_sub(FRAME_BYTES))..];
    let found = EXIT.captures(head).or_else(|| EXIT.captures(tail))?;
    found.get(1).or_else(|| found.get(2))?.as_str().parse().ok()
}

static LAST: LazyLock<Regex> = LazyLock::new(|| {
    let line = r"^(?:error|fatal|Error|ERROR)(?:\[\w+\])?: |^(?:[A-Za-z_][\w.]*)?[A-Z]\w*(?:Error|Exception)(?::.*)?$|command not found$";
    Regex::new(line).expect("the tests compile it")
});

/// Returns whether the last line of a command's output is an error, for use when the exit status is unknown.
pub(crate) fn looks_failed(printed: &str) -> bool {
    let last = printed.lines().rev().map(str::trim).find(|line| !line.is_empty());
    last.is_some_and(|line| LAST.is_match(line))
}

/// Returns whether a call failed: according to the log, to the exit status, or, if both are unknown, to the last line that
/// the call printed.
pub(crate) fn has_failed(failed: Option<bool>, exit: Option<i32>, printed: &str) -> bool {
    // Some logs count a call as successful although its command failed.
    failed == Some(true)
        || match exit.or_else(|| exit_status(printed)) {
            Some(exit) => exit != 0,
            None => failed.is_none() && looks_failed(&unframed(printed)),
        }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_exit_status_is_read_from_the_frame_of_an_agent() {
        let table = [
            ("Exit code 1\nboom", Some(1)),
            ("Chunk ID: x\nWall time: 1s\nProcess exited with code 0\nOutput:\nok", Some(0)),
            (r#"{"output":"x","metadata":{"exit_code":127,"duration_seconds":0.1}}"#, Some(127)),
            ("the exit code 3 is documented", None),
        ];
        for (output, expected) in table {
            assert_eq!(exit_status(output), expected, "{output}");
        }
    }

    #[test]
    fn what_was_printed_is_taken_out_of_its_frame() {
        assert_eq!(
            unframed(r#"{"output":"a\n[main 1a2b3c4] x\n","metadata":{"exit_code":0}}"#),
            "a\n[main 1a2b3c4] x\n"
        );
        assert_eq!(unframed(r#"{"output":"a\nb … c"#), "\"a\nb … c");
        assert_eq!(unframed("{\"a\":1}"), "{\"a\":1}");
    }
}
