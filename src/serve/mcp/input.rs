//! The input of a server on standard input, with lines that only a lenient reader accepts repaired.
//!
//! Some clients cut a text within a character, which leaves half of an escape such as `\ud83d`. Such a line is no valid
//! JSON, and the client would wait for an answer forever.

use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncWriteExt as _, BufReader, DuplexStream, duplex};

/// Number of bytes that wait to be read.
const BUFFER_BYTES: usize = 64 << 10;

/// Returns the lines of `input`, repaired where necessary. Must be called within a runtime.
pub(super) fn repaired(input: impl AsyncRead + Send + Unpin + 'static) -> DuplexStream {
    let (mut into, from) = duplex(BUFFER_BYTES);
    tokio::spawn(async move {
        let (mut lines, mut line) = (BufReader::new(input), Vec::new());
        // At the end of the input, or when the server has ended, both sides are dropped.
        while lines.read_until(b'\n', &mut line).await.is_ok_and(|read| read > 0) {
            if into.write_all(&whole(std::mem::take(&mut line))).await.is_err() {
                break;
            }
        }
    });
    from
}

/// Returns a line as valid JSON, or unchanged if it is beyond repair.
fn whole(line: Vec<u8>) -> Vec<u8> {
    // Only an escape can be invalid in a way that a text of the protocol may contain. Parsing must build the value, since
    // serde_json does not check the escapes of what it skips.
    if !line.windows(2).any(|pair| pair == br"\u") || serde_json::from_slice::<Value>(&line).is_ok() {
        return line;
    }
    let Some((value, _)) =
        std::str::from_utf8(&line).ok().and_then(|text| transcripts::json::parse::<Value>(text).ok())
    else {
        return line;
    };
    let mut repaired = value.to_string().into_bytes();
    repaired.push(b'\n');
    repaired
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_a_character_is_replaced_and_other_lines_stay() {
        let cut = br#"{"id":1,"query":"tea \ud83d or \u00e9"}"#.to_vec();
        assert_eq!(String::from_utf8(whole(cut)).unwrap(), "{\"id\":1,\"query\":\"tea \u{fffd} or é\"}\n");
        for line in ["{\"id\":1,\"query\":\"\\ud83d\\ude00\"}\n", "{\"id\": \\ud83d", "no JSON", "\n", ""] {
            assert_eq!(whole(line.as_bytes().to_vec()), line.as_bytes(), "{line:?}");
        }
    }
}
