//! The records of a log, one at a time: the lines of a JSONL file, or the elements of a JSON array.

use std::io::{self, BufRead};
use std::sync::LazyLock;

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::nested::{Nested, Stop};
use super::value::{Raw, read_value, skip_space};
use crate::json;
use crate::{IngestError, Input, MAX_RECORD_BYTES, Sink};

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

enum Shape {
    Lines,
    Elements,
    Nested(Box<Nested>, Place),
    Done,
}

/// Where the records of [`Records::elements_of`] stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Before the first object.
    Start,
    /// Behind an element.
    Inside,
    /// Before an element that was found already.
    Before,
    /// Behind the last element of an object.
    Behind,
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
        if skip_space(&mut records.reader).is_ok_and(|byte| byte == Some(b'[')) {
            records.reader.consume(1);
        }
        records
    }

    /// Reads the elements of the arrays at `paths` in one JSON document, object by object, holding one element at a
    /// time: `messages`, or `chats.list.messages` for the `messages` of each element of `list` in `chats`.
    ///
    /// [`Records::next`] ends with the elements of one object; [`Records::next_object`] goes on to the next that has
    /// such an array. A document with one needs no call of it.
    #[must_use]
    pub fn elements_of(input: Input, paths: &[&'static str]) -> Self {
        let shape = Shape::Nested(Box::new(Nested::new(paths)), Place::Start);
        Self { path: input.path.clone(), reader: input.into_reader(), shape, number: 0 }
    }

    /// Returns the other fields of the object whose elements are read, as far as they stand before the place that is
    /// reached: all of them once [`Records::next`] has ended. A field over 1 MiB is left out.
    #[must_use]
    pub fn fields(&self) -> &Map<String, Value> {
        static NONE: LazyLock<Map<String, Value>> = LazyLock::new(Map::new);
        match &self.shape {
            Shape::Nested(nested, _) => &nested.fields,
            Shape::Lines | Shape::Elements | Shape::Done => &NONE,
        }
    }

    /// Goes on to the next object that has one of the arrays of [`Records::elements_of`], passing over what is left of
    /// the current one; returns whether there is one.
    ///
    /// # Errors
    /// [`IngestError::Read`] if the file breaks off.
    pub fn next_object(&mut self) -> Result<bool, IngestError> {
        let failed = |source| IngestError::Read { path: self.path.clone(), source };
        let Shape::Nested(nested, place) = &mut self.shape else { return Ok(false) };
        while matches!(place, Place::Inside | Place::Before) {
            match nested.seek(&mut self.reader).map_err(failed)? {
                Stop::Element => drop(read_value(&mut self.reader, false, 0).map_err(failed)?),
                Stop::Holder => *place = Place::Behind,
                Stop::End => return Ok(false),
            }
        }
        let stop = nested.seek(&mut self.reader).map_err(failed)?;
        *place = if stop == Stop::Element { Place::Before } else { Place::Behind };
        Ok(stop != Stop::End)
    }

    /// Returns the next record, or `None` at the end; a record over [`MAX_RECORD_BYTES`] is reported and passed over.
    ///
    /// # Errors
    /// [`IngestError::Read`] if the file breaks off.
    pub fn next(&mut self, sink: &mut Sink<'_>) -> Result<Option<Record>, IngestError> {
        loop {
            let read = match &self.shape {
                Shape::Lines => self.read_line(),
                Shape::Elements => self.read_element(),
                Shape::Nested(..) => self.read_nested(),
                Shape::Done => return Ok(None),
            };
            let read = read.map_err(|source| IngestError::Read { path: self.path.clone(), source })?;
            let Some(Raw { mut bytes, complete, total, .. }) = read else { return Ok(None) };
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
        let mut raw = Raw { limit: MAX_RECORD_BYTES, ..Raw::default() };
        loop {
            let buffer = self.reader.fill_buf()?;
            if buffer.is_empty() {
                return Ok((raw.total > 0).then_some(raw));
            }
            let end = memchr::memchr(b'\n', buffer);
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

    fn read_element(&mut self) -> io::Result<Option<Raw>> {
        if matches!(skip_space(&mut self.reader)?, None | Some(b']')) {
            self.shape = Shape::Done;
            return Ok(None);
        }
        read_value(&mut self.reader, false, MAX_RECORD_BYTES)
    }

    fn read_nested(&mut self) -> io::Result<Option<Raw>> {
        let Shape::Nested(nested, place) = &mut self.shape else { return Ok(None) };
        let stop = match *place {
            Place::Start | Place::Inside => nested.seek(&mut self.reader)?,
            Place::Before => Stop::Element,
            Place::Behind => return Ok(None),
        };
        *place = if stop == Stop::Element { Place::Inside } else { Place::Behind };
        if stop == Stop::Element { read_value(&mut self.reader, false, MAX_RECORD_BYTES) } else { Ok(None) }
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
    fn documents_that_follow_each_other_are_elements_too() {
        let (seen, _) = all(Records::elements(Input::from_text("x", "{\"a\":[1]}\n{\"b\":\"}{\"} [2]")));
        let texts: Vec<_> = seen.iter().map(|(number, text, _)| (*number, text.trim())).collect();
        assert_eq!(texts, [(1, "{\"a\":[1]}"), (2, "{\"b\":\"}{\"}"), (3, "[2]")]);
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
    fn a_cut_array_yields_its_whole_elements_and_marks_the_last() {
        let (seen, _) = all(Records::elements(Input::from_text("x", r#"[{"a":1},{"a":"#)));
        assert_eq!(seen, [(1, r#"{"a":1}"#.to_owned(), true), (2, r#"{"a":"#.to_owned(), false)]);
    }

    /// Returns what each object holds: its elements, and its other fields.
    fn objects(paths: &[&'static str], text: &str) -> Vec<(Vec<String>, String)> {
        let mut records = Records::elements_of(Input::from_text("x", text), paths);
        let mut ignore = |_| {};
        let mut sink = Sink::new(&mut ignore);
        let mut seen = Vec::new();
        while records.next_object().unwrap() {
            let mut texts = Vec::new();
            while let Some(record) = records.next(&mut sink).unwrap() {
                texts.push(record.text.trim().to_owned());
            }
            seen.push((texts, serde_json::to_string(records.fields()).unwrap()));
        }
        seen
    }

    fn object(elements: &[&str], fields: &str) -> (Vec<String>, String) {
        (elements.iter().map(|text| (*text).to_owned()).collect(), fields.to_owned())
    }

    #[test]
    fn elements_inside_objects_come_with_the_fields_around_them() {
        const PATHS: &[&str] = &["messages", "chats.list.messages"];
        let rows = [
            (
                r#"{"name":"a","messages":[1,{"messages":[2]}],"id":7}"#,
                vec![object(&["1", r#"{"messages":[2]}"#], r#"{"name":"a","id":7}"#)],
            ),
            (
                r#"{"about":{"messages":[9]},"chats":{"messages":[9],"list":[{"id":1,"messages":[3]},8,{"id":2,"messages":[]},{"id":3}]},"left":{"list":[{"messages":[9]}]}}"#,
                vec![object(&["3"], r#"{"id":1}"#), object(&[], r#"{"id":2}"#)],
            ),
            (
                r#"[{"messages":["a","]"]},{"messages":["b"],"x":{"y":"}"}}]"#,
                vec![object(&[r#""a""#, r#""]""#], "{}"), object(&[r#""b""#], r#"{"x":{"y":"}"}}"#)],
            ),
            (r#"{"messages":{"a":[1]}}"#, vec![]),
            (r#""messages""#, vec![]),
        ];
        for (text, expected) in rows {
            assert_eq!(objects(PATHS, text), expected, "{text}");
        }
    }

    #[test]
    fn the_rest_of_an_object_can_be_passed_over_and_one_object_needs_no_call() {
        let two = r#"[{"messages":[1,2]},{"messages":[3]}]"#;
        let mut ignore = |_| {};
        let mut sink = Sink::new(&mut ignore);
        let mut records = Records::elements_of(Input::from_text("x", two), &["messages"]);
        assert_eq!(records.next(&mut sink).unwrap().unwrap().text, "1");
        assert!(records.next_object().unwrap() && records.next_object().is_ok_and(|more| !more));
        let (seen, _) = all(Records::elements_of(Input::from_text("x", two), &["messages"]));
        assert_eq!(
            seen.iter().map(|(number, text, _)| (*number, text.as_str())).collect::<Vec<_>>(),
            [(1, "1"), (2, "2")]
        );
    }

    #[test]
    fn damage_ends_no_walk_early_and_never_holds_it_up() {
        for text in [
            r#"{"messages":[1,}2]}"#,
            r#"{"a"]:1,"messages":[1,2]}"#,
            r#"{:,"x":}{"messages":[[1"#,
            r#"{"messages":[1,2"#,
            r#"{"mess"#,
            "}{[]",
            "{{[[",
        ] {
            assert!(objects(&["messages"], text).len() <= 1, "{text}");
        }
        let cut = all(Records::elements_of(Input::from_text("x", r#"{"messages":[{"a":1},{"a":"#), &["messages"])).0;
        assert_eq!(cut.iter().map(|(_, _, complete)| *complete).collect::<Vec<_>>(), [true, false]);
    }

    #[test]
    fn a_large_field_is_left_out_and_large_neighbours_cost_nothing() {
        let text = format!(r#"{{"big":"{}","id":1,"messages":[2]}}"#, "x".repeat(2 << 20));
        assert_eq!(objects(&["messages"], &text), [object(&["2"], r#"{"id":1}"#)]);
    }
}
