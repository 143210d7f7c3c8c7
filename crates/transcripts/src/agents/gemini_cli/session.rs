//! One recording while it is read: records are held until it is known that they stay.

use std::collections::{HashMap, HashSet};

use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::record::{self, Author};
use super::{NAME, is_message, is_start};
use crate::{Assembler, Folder, Input, MAX_PART_BYTES, Sink};
use crate::{Message, MessageTime, TimeSource, hex};

/// A record that may still be changed or taken back.
struct Turn {
    id: String,
    messages: Vec<Message>,
}

/// Collects one recording.
///
/// Changes reach what is held, i.e. the last part of a very long session.
pub(super) struct Session {
    draft: Assembler,
    turns: Vec<Turn>,
    places: HashMap<String, usize>,
    /// Ids of records that were handed over already.
    gone: HashSet<String>,
    bytes: usize,
    is_named: bool,
    author: Author,
    id: Option<String>,
    /// The root of the project, as a note beside the folder of recordings tells it.
    root: Option<String>,
    last_time: Option<MessageTime>,
}

impl Session {
    pub(super) fn new(input: &Input) -> Self {
        let origin = input.path.display().to_string();
        Self {
            draft: Assembler::new(NAME, input.stem(), origin),
            turns: Vec::new(),
            places: HashMap::new(),
            gone: HashSet::new(),
            bytes: 0,
            is_named: false,
            author: Author::Person,
            id: None,
            root: noted_root(input),
            last_time: None,
        }
    }

    /// Takes one record; returns whether it is of any known kind.
    pub(super) fn take(&mut self, number: usize, mut record: Value, sink: &mut Sink<'_>) -> bool {
        if let Some(id) = record["$rewindTo"].as_str() {
            self.rewind_to(id);
        } else if let Some(change) = record.get_mut("$set").filter(|change| change.is_object()) {
            let change = change.take();
            self.take_head(&change);
            self.replace_all(number, &change, sink);
        } else if is_start(&record) {
            self.take_head(&record);
            self.replace_all(number, &record, sink);
        } else if is_message(&record) || record["id"].is_string() && record["content"] != Value::Null {
            self.take_message(number, &record, sink);
        } else {
            return false;
        }
        if self.bytes >= MAX_PART_BYTES {
            self.release(1, sink);
        }
        true
    }

    pub(super) fn finish(mut self, sink: &mut Sink<'_>) {
        self.release(0, sink);
        self.draft.finish(sink);
    }

    fn take_head(&mut self, head: &Value) {
        let text = |key: &str| head[key].as_str().filter(|text| !text.is_empty()).map(str::to_owned);
        self.id = self.id.take().or(text("sessionId"));
        if head["kind"] == "subagent" {
            self.author = Author::Agent;
        }
        let matches = |root: &String| head["projectHash"].as_str() == Some(hex(&Sha256::digest(root)).as_str());
        let root = self.root.clone().filter(matches).or_else(|| head["directories"][0].as_str().map(str::to_owned));
        let meta = self.draft.meta();
        meta.project = meta.project.take().or(root);
        meta.title = text("summary").or(meta.title.take());
        meta.created_at = meta.created_at.or_else(|| head["startTime"].as_str().and_then(|time| time.parse().ok()));
    }

    /// Puts the messages of a checkpoint in the place of all that is held.
    fn replace_all(&mut self, number: usize, change: &Value, sink: &mut Sink<'_>) {
        let Some(messages) = change["messages"].as_array() else { return };
        self.truncate(0);
        for message in messages {
            if message.is_object() {
                self.take_message(number, message, sink);
            } else {
                sink.skip(number, "an element of `messages` is no object");
            }
        }
    }

    /// Takes in a record; one with an id that has come before replaces that.
    fn take_message(&mut self, number: usize, record: &Value, sink: &mut Sink<'_>) {
        if let Some(model) = record["model"].as_str().filter(|model| !model.is_empty()) {
            self.draft.meta().model = Some(model.to_owned());
        }
        let id = record["id"].as_str().unwrap_or_default().to_owned();
        if self.gone.contains(&id) {
            sink.skip(number, "changes a message of a part that was read already");
            return;
        }
        let mut messages = record::messages(record, self.author);
        self.date(&mut messages);
        let bytes = weight(&messages);
        self.bytes += bytes;
        if let Some(place) = self.places.get(&id).filter(|_| !id.is_empty()) {
            let old = std::mem::replace(&mut self.turns[*place].messages, messages);
            self.bytes -= weight(&old);
            return;
        }
        self.places.insert(id.clone(), self.turns.len());
        self.turns.push(Turn { id, messages });
    }

    /// Gives messages without a time that of the message before.
    fn date(&mut self, messages: &mut [Message]) {
        for message in messages {
            let before = self.last_time.map(|time| MessageTime { source: TimeSource::Derived, ..time });
            self.last_time = message.time.or(self.last_time);
            message.time = message.time.or(before);
        }
    }

    /// Takes back the record called `id` and all that follow it; an id that is not known takes back everything.
    fn rewind_to(&mut self, id: &str) {
        self.truncate(self.places.get(id).copied().unwrap_or(0));
    }

    fn truncate(&mut self, count: usize) {
        for turn in self.turns.drain(count..) {
            self.bytes -= weight(&turn.messages);
            self.places.remove(&turn.id);
        }
    }

    /// Hands over all but the last `kept` records.
    fn release(&mut self, kept: usize, sink: &mut Sink<'_>) {
        let count = self.turns.len().saturating_sub(kept);
        self.name();
        for turn in self.turns.drain(..count) {
            for message in turn.messages {
                self.draft.push(Message { id: turn.id.clone(), ..message }, sink);
            }
            self.gone.extend(Some(turn.id).filter(|id| !id.is_empty()));
        }
        self.places = self.turns.iter().enumerate().map(|(place, turn)| (turn.id.clone(), place)).collect();
        self.bytes = self.turns.iter().map(|turn| weight(&turn.messages)).sum();
    }

    /// Sub-agents may be recorded under the id of the session that started them, so their first record tells them
    /// apart.
    fn name(&mut self) {
        if let Some(id) = self.id.clone().filter(|_| !self.is_named) {
            let first = self.turns.first().map(|turn| turn.id.as_str()).unwrap_or_default();
            let id = if self.author == Author::Agent { format!("{id}/{first}") } else { id };
            self.draft.set_external_id(id);
            self.is_named = true;
        }
    }
}

fn weight(messages: &[Message]) -> usize {
    messages.iter().map(|message| size_of::<Message>() + message.text.len()).sum()
}

/// Returns what the file `.project_root` above the folder of recordings names; whether it is true, the hash tells.
fn noted_root(input: &Input) -> Option<String> {
    let above = input.path.parent()?.parent()?;
    let note = Folder::directory(above).open(".project_root").ok()?;
    Some(note.head().trim().to_owned())
}
