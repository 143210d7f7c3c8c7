//! One JSON value of a stream, found by its brackets and strings alone, without parsing it.

use std::io::{self, BufRead};

/// Passes over white space and commas, and returns the byte behind them without taking it.
pub fn skip_space(reader: &mut dyn BufRead) -> io::Result<Option<u8>> {
    loop {
        let buffer = reader.fill_buf()?;
        let Some(&first) = buffer.first() else { return Ok(None) };
        if !first.is_ascii_whitespace() && first != b',' {
            return Ok(Some(first));
        }
        reader.consume(1);
    }
}

/// Reads one JSON value up to the comma, bracket or next document behind it, which stays; of one over `limit` only the length is kept.
pub fn read_value(reader: &mut dyn BufRead, is_field: bool, limit: usize) -> io::Result<Option<Raw>> {
    let (mut raw, mut scan) = (Raw { limit, ..Raw::default() }, Scan::default());
    if is_field {
        scan.ends = b",}]";
    }
    loop {
        let buffer = reader.fill_buf()?;
        if buffer.is_empty() {
            return Ok((raw.total > 0).then_some(raw));
        }
        let end = scan.end_in(buffer);
        let taken = end.unwrap_or(buffer.len());
        raw.extend(&buffer[..taken]);
        reader.consume(taken);
        if end.is_some() || scan.closed() && reader.fill_buf()?.is_empty() {
            raw.complete = true;
            return Ok(Some(raw));
        }
    }
}

/// The bytes of a record or field.
#[derive(Default)]
pub struct Raw {
    pub bytes: Vec<u8>,
    pub complete: bool,
    pub total: usize,
    pub limit: usize,
}

impl Raw {
    pub fn extend(&mut self, bytes: &[u8]) {
        self.total += bytes.len();
        if self.total <= self.limit {
            self.bytes.extend_from_slice(bytes);
        } else {
            self.bytes = Vec::new();
        }
    }
}

/// Follows brackets and strings through the bytes of one array element or field.
struct Scan {
    /// The bytes that end the value outside its own brackets.
    ends: &'static [u8],
    depth: usize,
    in_string: bool,
    escaped: bool,
    reached: Reached,
}

/// How far a value was followed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reached {
    Nothing,
    Something,
    /// The bracket that closed it.
    End,
}

impl Default for Scan {
    /// Follows an element of an array from its start.
    fn default() -> Self {
        Self { ends: b",]", depth: 0, in_string: false, escaped: false, reached: Reached::Nothing }
    }
}

impl Scan {
    /// Returns where in `buffer`, the next bytes, the element ends; `None` if it goes on behind them.
    fn end_in(&mut self, buffer: &[u8]) -> Option<usize> {
        let mut place = 0;
        while place < buffer.len() {
            if self.in_string {
                place += self.rest_of_string(&buffer[place..]);
            } else if self.ends_before(buffer[place]) {
                return Some(place);
            } else {
                place += 1;
            }
        }
        None
    }

    /// Goes to the end of the string it is in, or of `buffer`, and returns how many bytes that took.
    fn rest_of_string(&mut self, buffer: &[u8]) -> usize {
        let mut place = usize::from(std::mem::take(&mut self.escaped));
        while let Some(found) = buffer.get(place..).and_then(|rest| memchr::memchr2(b'"', b'\\', rest)) {
            place += found + 1;
            if buffer[place - 1] == b'"' {
                self.in_string = false;
                return place;
            }
            self.escaped = place == buffer.len();
            place += 1;
        }
        buffer.len()
    }

    /// Takes the next byte outside strings, and says whether the element ended before it.
    fn ends_before(&mut self, byte: u8) -> bool {
        match byte {
            _ if self.depth == 0 && self.ends.contains(&byte) => return true,
            // Documents may follow each other without a comma, as the lines of a JSONL file do.
            b'{' | b'[' if self.reached == Reached::End => return true,
            b'{' | b'[' => self.depth += 1,
            b'}' | b']' => {
                self.depth = self.depth.saturating_sub(1);
                self.reached = if self.depth == 0 { Reached::End } else { Reached::Something };
                return false;
            }
            b'"' => self.in_string = true,
            _ => {}
        }
        if self.reached == Reached::Nothing {
            self.reached = Reached::Something;
        }
        false
    }

    fn closed(&self) -> bool {
        self.reached != Reached::Nothing && self.depth == 0 && !self.in_string
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_element_ends_at_the_same_place_wherever_the_buffer_does() {
        let text = br#"{"a\\":"]\",[\\","b":[{}],"c":"\\\""},2"#;
        let mut whole = Scan::default();
        assert_eq!(whole.end_in(text), Some(text.len() - 2));
        for cut in 0..text.len() - 1 {
            let mut scan = Scan::default();
            let first = scan.end_in(&text[..cut]);
            assert_eq!(first.or_else(|| scan.end_in(&text[cut..]).map(|end| end + cut)), Some(text.len() - 2), "{cut}");
        }
    }
}
