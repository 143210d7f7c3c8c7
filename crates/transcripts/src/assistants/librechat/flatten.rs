//! Taking a tree of messages apart without recursion, however deep it is.

use serde_json::Value;

use crate::Sink;
use crate::json;

/// Returns the conversations of `document`, each as its objects: the outermost, and after it each message that hangs
/// from it in the order in which they begin. What each one nests is taken out of it.
///
/// An object that cannot be parsed is reported; one that is cut off at the end of the text is, too.
pub fn conversations(document: &str, sink: &mut Sink<'_>) -> Vec<Vec<Value>> {
    let mut scan = Scan { document, at: 0, open: Vec::new(), found: Vec::new() };
    scan.run();
    let mut conversations: Vec<Vec<Value>> = Vec::new();
    for (index, found) in scan.found.into_iter().enumerate() {
        let object = match found.text.map(|text| json::parse::<Value>(&text)) {
            Some(Ok((value, repaired))) => {
                sink.repaired += usize::from(repaired);
                Some(value)
            }
            Some(Err(error)) => {
                sink.skip(index + 1, format!("invalid JSON at column {}", error.column()));
                None
            }
            None => {
                sink.skip(index + 1, "incomplete; it is read once it is whole");
                None
            }
        };
        match conversations.last_mut().filter(|_| !found.is_outermost) {
            Some(conversation) => conversation.extend(object),
            // Without the outermost object its messages still stand for themselves.
            None => conversations.push(vec![object.unwrap_or_default()]),
        }
    }
    conversations
}

/// An object that is being read.
struct Open {
    /// Its place among the objects found.
    place: usize,
    /// Its own text, without the messages that it nests.
    text: String,
    /// How many brackets of its own are open.
    depth: usize,
    /// Whether the list of nested messages is being read.
    in_list: bool,
}

struct Scan<'a> {
    document: &'a str,
    at: usize,
    open: Vec<Open>,
    found: Vec<Found>,
}

/// An object that was found.
struct Found {
    is_outermost: bool,
    /// Its text, once it is closed.
    text: Option<String>,
}

impl Scan<'_> {
    fn run(&mut self) {
        let bytes = self.document.as_bytes();
        while let Some(&byte) = bytes.get(self.at) {
            let is_between = self.open.last().is_none_or(|open| open.in_list);
            if is_between {
                self.between(byte);
            } else {
                self.inside(byte);
            }
        }
    }

    /// Reads what stands between objects: in a list of messages, or before and behind the outermost one.
    fn between(&mut self, byte: u8) {
        match byte {
            b'{' => {
                let open = Open { place: self.found.len(), text: "{".to_owned(), depth: 1, in_list: false };
                self.found.push(Found { is_outermost: self.open.is_empty(), text: None });
                self.open.push(open);
                self.at += 1;
            }
            b'"' => self.at = self.end_of_string(),
            b']' => {
                self.open.last_mut().into_iter().for_each(|open| open.in_list = false);
                self.at += 1;
            }
            _ => self.at += 1,
        }
    }

    /// Reads on in the innermost object.
    fn inside(&mut self, byte: u8) {
        let end = match byte {
            b'"' => self.end_of_string(),
            _ => self.at + self.document[self.at..].chars().next().map_or(1, char::len_utf8),
        };
        let piece = &self.document[self.at..end];
        let behind = self.nested_list(piece, end);
        self.at = end;
        let Some(open) = self.open.last_mut() else { return };
        match byte {
            b'{' | b'[' => open.depth += 1,
            b'}' | b']' => open.depth = open.depth.saturating_sub(1),
            _ => {}
        }
        open.text.push_str(piece);
        if let Some(behind) = behind {
            open.text.push_str(":[]");
            open.in_list = true;
            self.at = behind;
        } else if open.depth == 0
            && let Some(closed) = self.open.pop()
        {
            self.found[closed.place].text = Some(closed.text);
        }
    }

    /// Returns where the list of nested messages begins, if `key`, which ends at `end`, is its name.
    fn nested_list(&self, key: &str, end: usize) -> Option<usize> {
        let name = if self.open.len() == 1 { "\"messagesTree\"" } else { "\"children\"" };
        if key != name || self.open.last().is_none_or(|open| open.depth != 1) {
            return None;
        }
        let rest = self.document[end..].trim_start().strip_prefix(':')?.trim_start().strip_prefix('[')?;
        Some(self.document.len() - rest.len())
    }

    /// Returns where the string that begins here ends.
    fn end_of_string(&self) -> usize {
        let mut escaped = false;
        for (offset, byte) in self.document.bytes().enumerate().skip(self.at + 1) {
            match byte {
                _ if escaped => escaped = false,
                b'\\' => escaped = true,
                b'"' => return offset + 1,
                _ => {}
            }
        }
        self.document.len()
    }
}
