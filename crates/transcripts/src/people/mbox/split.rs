//! The messages of a mailbox file, one at a time.

use std::io::{self, BufRead};

use crate::MAX_RECORD_BYTES;

/// One message as it stands in the file.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Raw {
    /// Headers and body; lines that were quoted against being taken for a separator are as they were written.
    pub bytes: Vec<u8>,
    /// How long it is; beyond [`MAX_RECORD_BYTES`] the end is missing from `bytes`.
    pub total: usize,
}

/// Reads a mailbox, or a file that is one message.
pub struct Messages {
    reader: Box<dyn BufRead + Send>,
    /// Whether separators stand between messages, which the first line tells.
    is_mailbox: Option<bool>,
    after_blank: bool,
}

impl Messages {
    /// Starts at the first line of `reader`.
    #[must_use]
    pub fn new(reader: Box<dyn BufRead + Send>) -> Self {
        Self { reader, is_mailbox: None, after_blank: true }
    }

    /// Whether separators stand between messages; known after the first message was read.
    #[must_use]
    pub fn is_mailbox(&self) -> bool {
        self.is_mailbox == Some(true)
    }

    /// Returns the next message, holding no other.
    ///
    /// # Errors
    /// What reading gives.
    pub fn next(&mut self) -> io::Result<Option<Raw>> {
        let mut raw = Raw::default();
        let mut any = false;
        while let Some(line) = self.line()? {
            any = true;
            let is_separator = self.after_blank && is_separator(&line);
            self.after_blank = line.iter().all(u8::is_ascii_whitespace);
            if self.is_mailbox.is_none() {
                if self.after_blank {
                    continue;
                }
                self.is_mailbox = Some(is_separator);
                if is_separator {
                    continue;
                }
            }
            if is_separator && self.is_mailbox() {
                return Ok(Some(raw));
            }
            raw.total += line.len();
            if raw.bytes.len() < MAX_RECORD_BYTES {
                raw.bytes.extend_from_slice(if self.is_mailbox() { unquoted(&line) } else { &line });
            }
        }
        Ok(any.then_some(raw))
    }

    /// Reads a line with its end; of a line that is longer than any message may be, a piece.
    fn line(&mut self) -> io::Result<Option<Vec<u8>>> {
        let mut line = Vec::new();
        loop {
            let buffer = self.reader.fill_buf()?;
            if buffer.is_empty() || line.len() > MAX_RECORD_BYTES {
                return Ok((!line.is_empty()).then_some(line));
            }
            let end = buffer.iter().position(|byte| *byte == b'\n').map(|end| end + 1);
            let taken = end.unwrap_or(buffer.len());
            line.extend_from_slice(&buffer[..taken]);
            self.reader.consume(taken);
            if end.is_some() {
                return Ok(Some(line));
            }
        }
    }
}

/// Whether `line` is `From sender date`: a clock and a year tell it from a sentence that was not quoted.
#[must_use]
pub fn is_separator(line: &[u8]) -> bool {
    let Some(rest) = line.strip_prefix(b"From ") else { return false };
    let mut words = rest.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()).skip(1).take(12);
    let digits = |word: &[u8]| word.iter().all(u8::is_ascii_digit);
    let is_clock = |word: &[u8]| word.len() >= 5 && word[2] == b':' && digits(&word[..2]) && digits(&word[3..5]);
    let is_year = |word: &[u8]| word.len() == 4 && digits(word) && (word.starts_with(b"19") || word.starts_with(b"20"));
    let (mut has_clock, mut has_year) = (false, false);
    words.by_ref().for_each(|word| {
        has_clock |= is_clock(word);
        has_year |= is_year(word);
    });
    has_clock && has_year
}

/// Takes back the quoting of a line of the text that begins like a separator.
fn unquoted(line: &[u8]) -> &[u8] {
    let quoted = line.iter().take_while(|byte| **byte == b'>').count();
    if quoted > 0 && line[quoted..].starts_with(b"From ") { &line[1..] } else { line }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(text: &str) -> Vec<String> {
        let mut messages = Messages::new(Box::new(io::Cursor::new(text.as_bytes().to_vec())));
        let mut seen = Vec::new();
        while let Some(raw) = messages.next().unwrap() {
            assert!(raw.total >= raw.bytes.len());
            seen.push(String::from_utf8(raw.bytes).unwrap());
        }
        seen
    }

    #[test]
    fn separators_part_messages_and_quoted_ones_are_unquoted_once() {
        let text = "From a@e.org Thu Mar  5 10:00:00 2026\nA: 1\n\n>From here\n>>From there\n> From\n\nFrom - Thu Mar 05 10:00:00 +0000 2026\nA: 2\n\nFrom 10:30 we meet\n";
        assert_eq!(split(text), ["A: 1\n\nFrom here\n>From there\n> From\n\n", "A: 2\n\nFrom 10:30 we meet\n"]);
    }

    #[test]
    fn a_file_without_separators_is_one_message() {
        let text = "A: 1\n\n>From here\n\nFrom x Thu Mar  5 10:00:00 2026\n";
        assert_eq!(split(&format!("\r\n{text}")), [text]);
        assert_eq!(split(""), [""; 0]);
    }

    #[test]
    fn a_separator_in_the_middle_of_a_paragraph_is_text() {
        assert_eq!(split("From a Thu Mar 5 10:00:00 2026\nA: 1\n\nx\nFrom b Thu Mar 5 10:00:00 2026\n").len(), 1);
    }
}
