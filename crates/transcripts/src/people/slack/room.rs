//! One channel, day by day: its own messages and the threads that are still open.

use std::collections::{BTreeMap, HashSet};

use serde_json::Value;

use super::names::Names;
use super::post::{self, Post, Stamp};
use crate::{Assembler, IngestError, MAX_PART_BYTES, Records, Sink, identity};

const SOURCE: &str = "slack";

/// Most text that open threads hold together before all of them hand over what they have, in bytes.
const MAX_OPEN_BYTES: usize = 4 * MAX_PART_BYTES;

/// Puts the messages of one channel together.
pub struct Room {
    names: Names,
    /// The channel's id; empty until the first message of a day whose channel nothing names.
    id: String,
    title: Option<String>,
    project: Option<String>,
    origin: String,
    draft: Assembler,
    threads: BTreeMap<Stamp, Thread>,
    open_bytes: usize,
    /// Threads that were handed over as complete.
    closed: HashSet<Stamp>,
    newest: Option<Stamp>,
}

/// A thread that may go on in a later day.
struct Thread {
    draft: Assembler,
    last_reply: Option<Stamp>,
    bytes: usize,
}

impl Room {
    /// Starts with nothing said in the channel known as `id`, or as its first message if that is empty.
    #[must_use]
    pub fn new(names: Names, id: String, origin: String) -> Self {
        let draft = Assembler::new(SOURCE, id.clone(), origin.clone());
        let (threads, closed) = (BTreeMap::new(), HashSet::new());
        Self { names, id, title: None, project: None, origin, draft, threads, open_bytes: 0, closed, newest: None }
    }

    /// Names the channel and what it is about.
    pub fn call(&mut self, title: String, project: Option<String>) {
        (self.title, self.project) = (Some(title), project);
        (self.draft.meta().title, self.draft.meta().project) = (self.title.clone(), self.project.clone());
    }

    /// Reads the messages of one day, which come after those of the days before.
    ///
    /// # Errors
    /// [`IngestError::Read`] if the file breaks off.
    pub fn read_day(&mut self, mut records: Records, sink: &mut Sink<'_>) -> Result<(), IngestError> {
        let (mut day, mut bytes, mut seen): (Vec<Post>, usize, HashSet<Stamp>) = (Vec::new(), 0, HashSet::new());
        loop {
            let record = records.next_json::<Value>(sink);
            let Ok(Some((number, value))) = record else {
                self.take(day, sink);
                self.close_finished(sink);
                return record.map(|_| ());
            };
            match post::read(&value, &self.names) {
                // An answer that was also sent to the channel stands there a second time.
                Ok(Some(post)) if seen.insert(post.stamp) => {
                    bytes += weight(&post);
                    day.push(post);
                }
                Ok(_) => {}
                Err(reason) => sink.skip(number, reason),
            }
            if bytes > MAX_PART_BYTES {
                self.take(std::mem::take(&mut day), sink);
                bytes = 0;
            }
        }
    }

    /// Hands over what is left, and returns the names for the next channel.
    pub fn finish(self, sink: &mut Sink<'_>) -> Names {
        self.draft.finish(sink);
        for thread in self.threads.into_values() {
            thread.draft.finish(sink);
        }
        self.names
    }

    fn take(&mut self, mut day: Vec<Post>, sink: &mut Sink<'_>) {
        day.sort_by_key(|post| post.stamp);
        for post in day {
            self.name_after(&post);
            self.newest = self.newest.max(Some(post.stamp));
            if post.thread.is_some() {
                self.answer(post, sink);
            } else {
                post.messages.into_iter().for_each(|message| self.draft.push(message, sink));
            }
        }
    }

    /// A day alone names no channel, so it is known by its first message.
    fn name_after(&mut self, post: &Post) {
        let first = post.messages.first();
        if let Some(first) = first.filter(|_| self.id.is_empty()) {
            self.id = identity::of_parts(&[SOURCE, &first.id, &first.content_hash()]);
            self.draft.set_external_id(self.id.clone());
        }
    }

    fn answer(&mut self, post: Post, sink: &mut Sink<'_>) {
        let bytes = weight(&post);
        let Some((opener, spelled)) = post.thread else { return };
        // What comes after the answer that was told to be the last must not take the place of those before.
        let late = if self.closed.contains(&opener) { "~2" } else { "" };
        let thread = self.threads.entry(opener).or_insert_with(|| {
            let mut draft = Assembler::new(SOURCE, format!("{}:{spelled}{late}", self.id), self.origin.clone());
            (draft.meta().title, draft.meta().project) = (self.title.clone(), self.project.clone());
            Thread { draft, last_reply: None, bytes: 0 }
        });
        thread.bytes += bytes;
        self.open_bytes += bytes;
        thread.last_reply = thread.last_reply.max(post.last_reply);
        post.messages.into_iter().for_each(|message| thread.draft.push(message, sink));
        if self.open_bytes > MAX_OPEN_BYTES {
            for thread in self.threads.values_mut() {
                thread.draft.hand_over(sink);
                thread.bytes = 0;
            }
            self.open_bytes = 0;
        }
    }

    /// Hands over the threads whose last answer has been read.
    fn close_finished(&mut self, sink: &mut Sink<'_>) {
        let newest = self.newest;
        let is_finished = |_: &Stamp, thread: &mut Thread| thread.last_reply.is_some() && thread.last_reply <= newest;
        for (opener, thread) in self.threads.extract_if(.., is_finished) {
            self.open_bytes -= thread.bytes;
            self.closed.insert(opener);
            thread.draft.finish(sink);
        }
    }
}

fn weight(post: &Post) -> usize {
    post.messages.iter().map(|message| message.text.len()).sum::<usize>() + size_of::<Post>()
}
