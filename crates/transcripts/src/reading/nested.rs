//! Finding the elements of arrays that stand inside the objects of one large JSON document, without holding it.

use std::io::{self, BufRead};

use serde_json::{Map, Value};

use super::value::{Raw, read_value, skip_space};
use crate::json;

/// Longest field beside the elements that is kept, in bytes.
const MAX_FIELD_BYTES: usize = 1 << 20;
/// Longest key that is compared with a path, in bytes.
const MAX_KEY_BYTES: usize = 256;
/// Deepest nesting that is walked into.
const MAX_FRAMES: usize = 64;

/// Where a walk stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// Before an element of a wanted array.
    Element,
    /// Behind an object that had a wanted array; its other fields are all known.
    Holder,
    /// At the end of the document, or where it is cut off.
    End,
}

/// An object or array that is open.
struct Frame {
    is_array: bool,
    /// Keys that lead here.
    depth: usize,
    /// Whether it is an object in which a wanted array was found.
    holds: bool,
}

/// Walks through a document to the elements of the arrays at some paths.
///
/// A path is the keys from the outermost object to the array, parted by dots; arrays on the way do not count, so that
/// `chats.list.messages` leads to the `messages` of each element of `list`.
pub struct Nested {
    paths: Vec<Vec<&'static str>>,
    keys: Vec<String>,
    frames: Vec<Frame>,
    started: bool,
    /// The other fields of the innermost object that has a wanted array, as far as they have been read.
    pub fields: Map<String, Value>,
}

impl Nested {
    pub fn new(paths: &[&'static str]) -> Self {
        let paths = paths.iter().map(|path| path.split('.').collect()).collect();
        Self { paths, keys: Vec::new(), frames: Vec::new(), started: false, fields: Map::new() }
    }

    /// Walks on to the next stop.
    pub fn seek(&mut self, reader: &mut dyn BufRead) -> io::Result<Stop> {
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

    /// Reads a key and its value: walks into it, keeps it or passes it over.
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
        // Only an array can be the wanted one; an object in its place is a field.
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

    /// Whether the keys are a wanted path.
    fn is_path(&self) -> bool {
        self.paths.iter().any(|path| leads(&self.keys, path) && path.len() == self.keys.len())
    }

    /// Whether the innermost frame is a wanted array, and not an array inside one.
    fn is_wanted(&self) -> bool {
        let outer = self.frames.iter().rev().nth(1);
        self.frames.last().is_some_and(|frame| frame.is_array)
            && outer.is_none_or(|frame| !frame.is_array)
            && self.is_path()
    }

    /// Whether an object here would have the array of `path` as a field.
    fn holds_last_of(&self, path: &[&str]) -> bool {
        path.len() == self.keys.len() + 1 && leads(&self.keys, path)
    }
}

fn leads(keys: &[String], path: &[&str]) -> bool {
    path.len() >= keys.len() && keys.iter().zip(path).all(|(key, step)| key == step)
}

/// Reads a key in quotes; a long one is cut, since it is nobody's.
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
