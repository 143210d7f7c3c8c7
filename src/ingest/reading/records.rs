//! The records of a log, one at a time: the lines of a JSONL file, or the elements of one JSON array or object.

use std::io::{self, BufRead};

use serde::de::DeserializeOwned;

use crate::ingest::{IngestError, Input, MAX_RECORD_BYTES, Sink};
use crate::json;

/// One record's text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// 1-based line, or element of the array.
    pub number: usize,
    /// The text, decoded; invalid UTF-8 became U+FFFD.
    pub text: String,
    /// Whether the record was closed: by a line end, or by the array's next comma or bracket.
    pub complete: bool,
}

/// Reads records in file order, holding one at a time.
pub struct Records {
    reader: Box<dyn BufRead + Send>,
    shape: Shape,
    number: usize,
    path: std::path::PathBuf,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shape {
    Lines,
    Elements,
    Done,
}

impl Records {
    /// Reads the lines of `input`; blank lines are passed over but counted.
    #[must_use]
    pub fn lines(input: Input) -> Self {
        Self { path: input.path.clone(), reader: input.into_reader(), shape: Shape::Lines, number: 0 }
    }

    /// Reads the elements of a JSON array, or the one value of a document that is no array.
    #[must_use]
    pub fn elements(input: Input) -> Self {
        let mut records =
            Self { path: input.path.clone(), reader: input.into_reader(), shape: Shape::Elements, number: 0 };
        if records.skip_space().is_ok_and(|byte| byte == Some(b'[')) {
            records.reader.consume(1);
        }
        records
    }

    /// Reads the elements of the array called `key` in the one JSON object that `input` holds; none if there is no such
    /// array.
    #[must_use]
    pub fn within(input: Input, key: &str) -> Self {
        let mut records =
            Self { path: input.path.clone(), reader: input.into_reader(), shape: Shape::Elements, number: 0 };
        if !matches!(records.seek_array(key), Ok(true)) {
            records.shape = Shape::Done;
        }
        records
    }

    /// Reads on to the first element of the array called `key` in the outermost object; returns whether there is one.
    fn seek_array(&mut self, key: &str) -> io::Result<bool> {
        let (mut scan, mut name, mut is_named) = (Scan::default(), Vec::new(), false);
        while let Some(byte) = self.next_byte()? {
            let (was_in_string, depth) = (scan.in_string, scan.depth);
            scan.ends_before(byte);
            match byte {
                _ if scan.in_string && !was_in_string => name.clear(),
                _ if scan.in_string => {
                    // One byte more than the name is enough to tell it from a longer one.
                    if name.len() <= key.len() {
                        name.push(byte);
                    }
                }
                b'"' | b' ' | b'\t' | b'\r' | b'\n' => {}
                b':' => is_named = depth == 1 && name == key.as_bytes(),
                b'[' if is_named => return Ok(true),
                _ => is_named = false,
            }
        }
        Ok(false)
    }

    fn next_byte(&mut self) -> io::Result<Option<u8>> {
        let byte = self.reader.fill_buf()?.first().copied();
        self.reader.consume(usize::from(byte.is_some()));
        Ok(byte)
    }

    /// Returns the next record, or `None` at the end; a record over [`MAX_RECORD_BYTES`] is reported and passed over.
    ///
    /// # Errors
    /// [`IngestError::Read`] if the file breaks off.
    pub fn next(&mut self, sink: &mut Sink<'_>) -> Result<Option<Record>, IngestError> {
        loop {
            let read = match self.shape {
                Shape::Lines => self.read_line(),
                Shape::Elements => self.read_element(),
                Shape::Done => return Ok(None),
            };
            let read = read.map_err(|source| IngestError::Read { path: self.path.clone(), source })?;
            let Some(Raw { mut bytes, complete, total }) = read else { return Ok(None) };
            self.number += 1;
            if total > MAX_RECORD_BYTES {
                let (size, limit) = (total >> 20, MAX_RECORD_BYTES >> 20);
                sink.skip(self.number, format!("record of {size} MiB is over the limit of {limit} MiB"));
            } else if !bytes.iter().all(u8::is_ascii_whitespace) {
                if bytes.last() == Some(&b'\r') {
                    bytes.pop();
                }
                let text = String::from_utf8(bytes)
                    .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned());
                return Ok(Some(Record { number: self.number, text, complete }));
            }
        }
    }

    /// Returns the next record that parses as `T`, with its number; the others are reported and passed over.
    ///
    /// # Errors
    /// As [`Records::next`].
    pub fn next_json<T: DeserializeOwned>(&mut self, sink: &mut Sink<'_>) -> Result<Option<(usize, T)>, IngestError> {
        while let Some(record) = self.next(sink)? {
            match json::parse(&record.text) {
                Ok((value, repaired)) => {
                    sink.repaired += usize::from(repaired);
                    return Ok(Some((record.number, value)));
                }
                Err(_) if json::is_too_deep(&record.text) => sink.skip(record.number, "nested too deeply"),
                // The agent appends while we read, so the last line is often half-written.
                Err(_) if !record.complete => {
                    sink.skip(record.number, "incomplete last record; it is read once it is whole");
                }
                Err(error) if error.is_data() => sink.skip(record.number, "not of the expected shape"),
                Err(error) => sink.skip(record.number, format!("invalid JSON at column {}", error.column())),
            }
        }
        Ok(None)
    }

    fn read_line(&mut self) -> io::Result<Option<Raw>> {
        let mut raw = Raw::default();
        loop {
            let buffer = self.reader.fill_buf()?;
            if buffer.is_empty() {
                return Ok((raw.total > 0).then_some(raw));
            }
            let end = buffer.iter().position(|byte| *byte == b'\n');
            let taken = end.unwrap_or(buffer.len());
            raw.extend(&buffer[..taken]);
            self.reader.consume(taken + usize::from(end.is_some()));
            if end.is_some() {
                raw.complete = true;
                // A blank line has no bytes but is a line, and must not look like the end.
                return Ok(Some(raw));
            }
        }
    }

    fn skip_space(&mut self) -> io::Result<Option<u8>> {
        loop {
            let buffer = self.reader.fill_buf()?;
            let Some(&first) = buffer.first() else { return Ok(None) };
            if !first.is_ascii_whitespace() && first != b',' {
                return Ok(Some(first));
            }
            self.reader.consume(1);
        }
    }

    fn read_element(&mut self) -> io::Result<Option<Raw>> {
        if matches!(self.skip_space()?, None | Some(b']')) {
            self.shape = Shape::Done;
            return Ok(None);
        }
        let (mut raw, mut scan) = (Raw::default(), Scan::default());
        loop {
            let buffer = self.reader.fill_buf()?;
            if buffer.is_empty() {
                return Ok((raw.total > 0).then_some(raw));
            }
            let end = buffer.iter().position(|byte| scan.ends_before(*byte));
            let taken = end.unwrap_or(buffer.len());
            raw.extend(&buffer[..taken]);
            self.reader.consume(taken);
            if end.is_some() || scan.closed() && self.reader.fill_buf()?.is_empty() {
                raw.complete = true;
                return Ok(Some(raw));
            }
        }
    }
}

#[derive(Default)]
struct Raw {
    bytes: Vec<u8>,
    complete: bool,
    total: usize,
}

impl Raw {
    fn extend(&mut self, bytes: &[u8]) {
        self.total += bytes.len();
        if self.total <= MAX_RECORD_BYTES {
            self.bytes.extend_from_slice(bytes);
        } else {
            self.bytes = Vec::new();
        }
    }
}

/// Follows brackets and strings through the bytes of one array element.
#[derive(Default)]
struct Scan {
    depth: usize,
    in_string: bool,
    escaped: bool,
    seen: bool,
}

impl Scan {
    /// Takes the next byte, and says whether the element ended before it.
    fn ends_before(&mut self, byte: u8) -> bool {
        if self.in_string {
            match byte {
                _ if self.escaped => self.escaped = false,
                b'\\' => self.escaped = true,
                b'"' => self.in_string = false,
                _ => {}
            }
            return false;
        }
        match byte {
            b',' | b']' if self.depth == 0 => return true,
            b'{' | b'[' => self.depth += 1,
            b'}' | b']' => self.depth = self.depth.saturating_sub(1),
            b'"' => self.in_string = true,
            _ => {}
        }
        self.seen = true;
        false
    }

    fn closed(&self) -> bool {
        self.seen && self.depth == 0 && !self.in_string
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(mut records: Records) -> (Vec<(usize, String, bool)>, usize) {
        let mut ignore = |_| {};
        let mut sink = Sink::new(&mut ignore);
        let mut seen = Vec::new();
        while let Some(record) = records.next(&mut sink).unwrap() {
            seen.push((record.number, record.text, record.complete));
        }
        (seen, sink.skipped.len())
    }

    #[test]
    fn lines_keep_their_numbers_and_lose_their_ends() {
        let (seen, _) = all(Records::lines(Input::from_text("x", "\u{feff}one\r\n\n  \ntwo\u{2028}x\nthr")));
        assert_eq!(
            seen,
            [(1, "one".to_owned(), true), (4, "two\u{2028}x".to_owned(), true), (5, "thr".to_owned(), false)]
        );
    }

    #[test]
    fn elements_are_split_at_the_top_level_only() {
        let text = r#" [ {"a":"],[{","b":[1,2]} , 3, "x,y" ] "#;
        let (seen, _) = all(Records::elements(Input::from_text("x", text)));
        let texts: Vec<_> = seen.iter().map(|(_, text, _)| text.trim()).collect();
        assert_eq!(texts, [r#"{"a":"],[{","b":[1,2]}"#, "3", r#""x,y""#]);
    }

    #[test]
    fn a_document_that_is_no_array_is_one_element() {
        let (seen, _) = all(Records::elements(Input::from_text("x", "{\"a\":[1,2]}\n")));
        assert_eq!(seen.len(), 1);
        assert_eq!((seen[0].1.trim(), seen[0].2), ("{\"a\":[1,2]}", true));
    }

    #[test]
    fn an_array_inside_an_object_is_found_by_its_name_at_the_top_alone() {
        let text = r#"{"version":"items","x":{"items":[0]},"y":["items",":"], "items" : [ {"a":[1]} , 2 ],"z":[3]}"#;
        let (seen, _) = all(Records::within(Input::from_text("x", text), "items"));
        let texts: Vec<_> = seen.iter().map(|(_, text, _)| text.trim()).collect();
        assert_eq!(texts, [r#"{"a":[1]}"#, "2"]);
        for other in [r#"{"items":7,"more":[1]}"#, r#"[{"items":[1]}]"#, r#"{"items2":[1]}"#, "{\"items"] {
            assert!(all(Records::within(Input::from_text("x", other), "items")).0.is_empty(), "{other}");
        }
    }

    #[test]
    fn a_cut_array_yields_its_whole_elements_and_marks_the_last() {
        let (seen, _) = all(Records::elements(Input::from_text("x", r#"[{"a":1},{"a":"#)));
        assert_eq!(seen, [(1, r#"{"a":1}"#.to_owned(), true), (2, r#"{"a":"#.to_owned(), false)]);
    }
}
