//! The records of a log, one at a time: the lines of a JSONL file, or the elements of a JSON array.

use std::io::{self, BufRead};
use std::rc::Rc;
use std::sync::LazyLock;

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::{Head, IngestError, Input, MAX_RECORD_BYTES, Sink, json};

/// One record's text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// 1-based number of the line, or of the element of the array.
    pub number: usize,
    /// The decoded text, with U+FFFD in place of invalid UTF-8.
    pub text: String,
    /// Whether the record was terminated: by a line end, or by the next comma or bracket of the array.
    pub complete: bool,
}

impl Record {
    /// Parses the text as `T`; an unusable record is reported.
    pub(crate) fn parse<T: DeserializeOwned>(&self, sink: &mut Sink<'_>) -> Option<T> {
        match json::parse(&self.text) {
            Ok((value, repaired)) => {
                sink.repaired += usize::from(repaired);
                return Some(value);
            }
            Err(error) => {
                let reason = json::reason(&self.text, &error);
                // The agent may be appending to the log during reading, so the last line is often incomplete.
                let is_cut = !self.complete && reason != json::TOO_DEEP;
                let cut = "incomplete last record; it will be read once it is complete";
                sink.skip(self.number, if is_cut { cut.to_owned() } else { reason });
            }
        }
        None
    }
}

/// Reads records in file order, with one record in memory at a time.
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

/// The current position for [`Records::elements_of`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Before the first object.
    Start,
    /// After an element.
    Inside,
    /// Before an element that has already been found.
    Before,
    /// After the last element of an array.
    Behind,
}

impl Records {
    /// Reads the lines of `input`; blank lines are skipped but counted.
    #[must_use]
    pub fn lines(input: Input) -> Self {
        Self { path: input.path.clone(), reader: input.into_reader(), shape: Shape::Lines, number: 0 }
    }

    /// Reads the elements of a JSON array, or the single value of a document that is not an array.
    #[must_use]
    pub fn elements(input: Input) -> Self {
        let mut records =
            Self { path: input.path.clone(), reader: input.into_reader(), shape: Shape::Elements, number: 0 };
        if skip_space(&mut records.reader).is_ok_and(|byte| byte == Some(b'[')) {
            records.reader.consume(1);
        }
        records
    }

    /// Reads the elements of the arrays at `paths` in one JSON document, object by object, with one element in memory
    /// at a time. An example of a path is `messages`; another is `chats.list.messages`, which denotes the `messages` of
    /// each element of `list` in `chats`.
    ///
    /// [`Records::next`] ends after the elements of one object; [`Records::next_object`] continues to the next object
    /// that has such an array. For a document with a single array, there is no need to call it.
    pub(crate) fn elements_of(input: Input, paths: &[&'static str]) -> Self {
        let shape = Shape::Nested(Box::new(Nested::new(paths)), Place::Start);
        Self { path: input.path.clone(), reader: input.into_reader(), shape, number: 0 }
    }

    /// Returns the other fields of the object whose elements are being read, up to the current position. Once
    /// [`Records::next`] has returned `None`, these are all other fields. Fields over 1 MiB are left out.
    pub(crate) fn fields(&self) -> &Map<String, Value> {
        static NONE: LazyLock<Map<String, Value>> = LazyLock::new(Map::new);
        match &self.shape {
            Shape::Nested(nested, _) => &nested.fields,
            Shape::Lines | Shape::Elements | Shape::Done => &NONE,
        }
    }

    /// Skips the rest of the current object, and continues to the next object with an array at a path given to
    /// [`Records::elements_of`]; returns whether there is such an object.
    ///
    /// # Errors
    /// [`IngestError::Read`] if the file cannot be read completely.
    pub(crate) fn next_object(&mut self) -> Result<bool, IngestError> {
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

    /// Returns the next record, or `None` at the end; a record larger than the bound on records is reported and
    /// skipped.
    ///
    /// # Errors
    /// [`IngestError::Read`] if the file cannot be read completely.
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
                // A final `\r` means that the line was saved on Windows; within a JSON record, `\r` is always escaped.
                if bytes.last() == Some(&b'\r') {
                    bytes.pop();
                }
                let text = String::from_utf8(bytes)
                    .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned());
                return Ok(Some(Record { number: self.number, text, complete }));
            }
        }
    }

    /// Returns the next record that can be parsed as `T`, with its number; invalid records are reported and skipped.
    ///
    /// # Errors
    /// The same errors as [`Records::next`].
    pub fn next_json<T: DeserializeOwned>(&mut self, sink: &mut Sink<'_>) -> Result<Option<(usize, T)>, IngestError> {
        while let Some(record) = self.next(sink)? {
            if let Some(value) = record.parse(sink) {
                return Ok(Some((record.number, value)));
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
                // A blank line has no bytes, but it is a line and must not be mistaken for the end.
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

// The JSON values of a log that may be JSONL, an array or a single document, read one at a time.

/// The layout of the records in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Layout {
    /// One record on each line.
    Lines,
    /// The elements of one array.
    Elements,
    /// The file is a single record.
    One,
}

impl Layout {
    /// Returns the layout of the records in the file that begins with `head`.
    pub(crate) fn of(head: &Head<'_>) -> Self {
        if !head.lines.is_empty() {
            Self::Lines
        } else if head.text.trim_start().starts_with('[') {
            Self::Elements
        } else {
            Self::One
        }
    }
}

/// One record and its location.
pub(crate) struct Object {
    /// Name of the file, without folders and extension.
    pub(crate) stem: Rc<str>,
    /// The layout of the file, as far as it has been read.
    pub(crate) layout: Layout,
    /// 1-based number of the line, or of the element of the array.
    pub(crate) number: usize,
    /// The path, followed by the number if the file contains several records.
    pub(crate) origin: String,
    /// The content of the record.
    pub(crate) value: Value,
}

/// Reads the records of a file in any layout, with one record in memory at a time.
pub(crate) struct Objects {
    layout: Layout,
    stem: Rc<str>,
    path: String,
    records: Records,
}

impl Objects {
    /// Determines the layout from the start of `input`, and reads its records.
    pub(crate) fn of(input: Input) -> Self {
        let (path, layout) = (input.path.display().to_string(), Layout::of(&Head::of(&input)));
        let stem = input.stem().into();
        let records = if layout == Layout::Lines { Records::lines(input) } else { Records::elements(input) };
        Self { layout, stem, path, records }
    }

    /// Passes each record of `input` to `read`.
    ///
    /// # Errors
    /// The same errors as [`Records::next`].
    pub(crate) fn each(
        input: Input,
        sink: &mut Sink<'_>,
        mut read: impl FnMut(Object, &mut Sink<'_>),
    ) -> Result<(), IngestError> {
        let mut objects = Self::of(input);
        while let Some(object) = objects.next(sink)? {
            read(object, sink);
        }
        Ok(())
    }

    /// Returns the next record; records that are not JSON are reported and skipped.
    ///
    /// # Errors
    /// The same errors as [`Records::next`].
    pub(crate) fn next(&mut self, sink: &mut Sink<'_>) -> Result<Option<Object>, IngestError> {
        let next = self.records.next_json::<Value>(sink)?;
        Ok(next.map(|(number, value)| {
            // If the first line is longer than the examined start, the file appears to be a document until the next
            // line is read.
            if number > 1 && self.layout == Layout::One {
                self.layout = Layout::Lines;
            }
            let several = self.layout != Layout::One;
            let origin = if several { format!("{}#{number}", self.path) } else { self.path.clone() };
            Object { stem: Rc::clone(&self.stem), layout: self.layout, number, origin, value }
        }))
    }
}

// Finds the elements of arrays inside the objects of one large JSON document, without keeping the document in memory.

/// Maximum size of a field next to the elements, in bytes; larger fields are left out.
const MAX_FIELD_BYTES: usize = 1 << 20;
/// Maximum length of a key that is compared with a path, in bytes.
const MAX_KEY_BYTES: usize = 256;
/// Maximum nesting that is searched.
const MAX_FRAMES: usize = 64;

/// The position at which the search stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stop {
    /// Before an element of a wanted array.
    Element,
    /// After an object with a wanted array; all other fields of the object have been read.
    Holder,
    /// At the end of the document, even if it is incomplete.
    End,
}

/// An object or array that has not been closed.
struct Frame {
    is_array: bool,
    /// Number of keys on the path to the object or array.
    depth: usize,
    /// Whether this is an object in which a wanted array was found.
    holds: bool,
}

/// Searches a document for the elements of the arrays at the given paths.
///
/// A path consists of the keys from the outermost object to the array, separated by dots. Intermediate arrays have no
/// key, so `chats.list.messages` leads to the `messages` of each element of `list`.
struct Nested {
    paths: Vec<Vec<&'static str>>,
    keys: Vec<String>,
    frames: Vec<Frame>,
    started: bool,
    /// The other fields of the innermost object that has a wanted array, as far as they have been read.
    fields: Map<String, Value>,
}

impl Nested {
    fn new(paths: &[&'static str]) -> Self {
        let paths = paths.iter().map(|path| path.split('.').collect()).collect();
        Self { paths, keys: Vec::new(), frames: Vec::new(), started: false, fields: Map::new() }
    }

    /// Continues to the next position at which the search stops.
    fn seek(&mut self, reader: &mut dyn BufRead) -> io::Result<Stop> {
        loop {
            let Some(byte) = skip_space(reader)? else { return Ok(Stop::End) };
            let Some(frame) = self.frames.last() else {
                if self.started || !matches!(byte, b'{' | b'[') {
                    return Ok(Stop::End);
                }
                self.started = true;
                self.enter(reader, byte);
                continue;
            };
            match (frame.is_array, byte) {
                (true, b']') | (false, b'}') => {
                    reader.consume(1);
                    if self.leave() {
                        return Ok(Stop::Holder);
                    }
                }
                (true, _) if self.is_wanted() => return Ok(Stop::Element),
                (true, b'{' | b'[') if self.frames.len() < MAX_FRAMES => self.enter(reader, byte),
                // A stray bracket in damaged JSON must not end the search.
                (true, b'}') => reader.consume(1),
                (true, _) => drop(read_value(reader, false, 0)?),
                (false, b'"') => self.field(reader)?,
                (false, _) => reader.consume(1),
            }
        }
    }

    fn enter(&mut self, reader: &mut dyn BufRead, byte: u8) {
        reader.consume(1);
        self.frames.push(Frame { is_array: byte == b'[', depth: self.keys.len(), holds: false });
        // The fields of the previous object, such as its title, must not be attributed to this one.
        if byte == b'{' && self.paths.iter().any(|path| self.holds_last_of(path)) {
            self.fields.clear();
        }
        if byte == b'[' && self.is_wanted() {
            let holder = self.frames.iter_mut().rev().find(|frame| !frame.is_array);
            holder.into_iter().for_each(|frame| frame.holds = true);
        }
    }

    /// Closes the innermost object or array; returns whether it was an object with a wanted array.
    fn leave(&mut self) -> bool {
        let left = self.frames.pop();
        self.keys.truncate(self.frames.last().map_or(0, |frame| frame.depth.min(self.keys.len())));
        left.is_some_and(|frame| frame.holds)
    }

    /// Reads a key and its value: enters the value, stores it or skips it.
    fn field(&mut self, reader: &mut dyn BufRead) -> io::Result<()> {
        let key = read_key(reader)?;
        if skip_space(reader)? != Some(b':') {
            return Ok(());
        }
        reader.consume(1);
        let opens = skip_space(reader)?.filter(|byte| matches!(byte, b'{' | b'['));
        let is_kept = self.paths.iter().any(|path| self.holds_last_of(path));
        self.keys.push(key);
        let leads = self.paths.iter().any(|path| leads(&self.keys, path));
        // Only an array can be a wanted array; an object in its place is an ordinary field.
        let opens = opens.filter(|byte| leads && (*byte == b'[' || !self.is_path()));
        if let (Some(byte), true) = (opens, self.frames.len() < MAX_FRAMES) {
            self.enter(reader, byte);
            return Ok(());
        }
        let limit = if is_kept { MAX_FIELD_BYTES } else { 0 };
        let value = read_value(reader, true, limit)?;
        let key = self.keys.pop().unwrap_or_default();
        if let Some(Raw { bytes, total, .. }) = value.filter(|_| is_kept)
            && total <= limit
            && let Ok((value, _)) = json::parse(&String::from_utf8_lossy(&bytes))
        {
            self.fields.insert(key, value);
        }
        Ok(())
    }

    /// Returns whether the current keys are a wanted path.
    fn is_path(&self) -> bool {
        self.paths.iter().any(|path| leads(&self.keys, path) && path.len() == self.keys.len())
    }

    /// Returns whether the innermost frame is a wanted array, and not an array inside a wanted array.
    fn is_wanted(&self) -> bool {
        let outer = self.frames.iter().rev().nth(1);
        self.frames.last().is_some_and(|frame| frame.is_array)
            && outer.is_none_or(|frame| !frame.is_array)
            && self.is_path()
    }

    /// Returns whether an object at this position would have the array of `path` as a field.
    fn holds_last_of(&self, path: &[&str]) -> bool {
        path.len() == self.keys.len() + 1 && leads(&self.keys, path)
    }
}

fn leads(keys: &[String], path: &[&str]) -> bool {
    path.len() >= keys.len() && keys.iter().zip(path).all(|(key, step)| key == step)
}

/// Reads a quoted key; a long key is truncated, because no path contains it.
fn read_key(reader: &mut dyn BufRead) -> io::Result<String> {
    reader.consume(1);
    let (mut key, mut escaped) = (Vec::new(), false);
    loop {
        let buffer = reader.fill_buf()?;
        let Some(&byte) = buffer.first() else { break };
        reader.consume(1);
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => break,
            _ => {}
        }
        if key.len() < MAX_KEY_BYTES {
            key.push(byte);
        }
    }
    Ok(String::from_utf8_lossy(&key).into_owned())
}

// One JSON value in a stream. Its end is found by tracking only brackets and strings, without parsing the value.

/// Skips white space and commas, and returns the byte after them without consuming it.
fn skip_space(reader: &mut dyn BufRead) -> io::Result<Option<u8>> {
    loop {
        let buffer = reader.fill_buf()?;
        let Some(&first) = buffer.first() else { return Ok(None) };
        // Commas count as white space: if one is missing or repeated, the adjacent values can still be read.
        if !first.is_ascii_whitespace() && first != b',' {
            return Ok(Some(first));
        }
        reader.consume(1);
    }
}

/// Reads one JSON value up to the next comma, bracket or document, which is not consumed. If the value exceeds `limit`,
/// only its length is retained.
fn read_value(reader: &mut dyn BufRead, is_field: bool, limit: usize) -> io::Result<Option<Raw>> {
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
        // At the end of a file, no comma or bracket follows. There, a value is complete once its own brackets are
        // closed.
        if end.is_some() || scan.closed() && reader.fill_buf()?.is_empty() {
            raw.complete = true;
            return Ok(Some(raw));
        }
    }
}

/// The bytes of a record or field.
#[derive(Default)]
struct Raw {
    bytes: Vec<u8>,
    complete: bool,
    total: usize,
    limit: usize,
}

impl Raw {
    fn extend(&mut self, bytes: &[u8]) {
        self.total += bytes.len();
        if self.total <= self.limit {
            self.bytes.extend_from_slice(bytes);
        } else {
            // The bytes read so far are freed, because a record that exceeds the limit is not used.
            self.bytes = Vec::new();
        }
    }
}

/// Tracks brackets and strings in the bytes of one array element or field.
struct Scan {
    /// The bytes that end the value outside the value's own brackets.
    ends: &'static [u8],
    depth: usize,
    in_string: bool,
    escaped: bool,
    reached: Reached,
}

/// The part of a value that has been read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reached {
    Nothing,
    Something,
    /// The bracket that closes the value.
    End,
}

impl Default for Scan {
    /// Starts tracking at the beginning of an array element.
    fn default() -> Self {
        Self { ends: b",]", depth: 0, in_string: false, escaped: false, reached: Reached::Nothing }
    }
}

impl Scan {
    /// Returns the position in `buffer`, the next bytes, at which the element ends; `None` if the element continues
    /// after them.
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

    /// Skips to the end of the current string or of `buffer`, and returns the number of bytes skipped.
    fn rest_of_string(&mut self, buffer: &[u8]) -> usize {
        let mut place = usize::from(std::mem::take(&mut self.escaped));
        while let Some(found) = buffer.get(place..).and_then(|rest| memchr::memchr2(b'"', b'\\', rest)) {
            place += found + 1;
            if buffer[place - 1] == b'"' {
                self.in_string = false;
                return place;
            }
            // The backslash may be the last byte of this buffer, and the escaped byte the first byte of the next
            // buffer.
            self.escaped = place == buffer.len();
            place += 1;
        }
        buffer.len()
    }

    /// Processes the next byte outside strings, and returns whether the element ended before it.
    fn ends_before(&mut self, byte: u8) -> bool {
        match byte {
            _ if self.depth == 0 && self.ends.contains(&byte) => return true,
            // Documents may follow each other without a comma, as in a JSONL file.
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

    /// Returns the contents of each object: its elements, and its other fields.
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
            r#"{"messages":[1,}2]}"#, r#"{"a"]:1,"messages":[1,2]}"#, r#"{:,"x":}{"messages":[[1"#,
            r#"{"messages":[1,2"#, r#"{"mess"#, "}{[]", "{{[[",
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

#[cfg(test)]
mod value_tests {
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
