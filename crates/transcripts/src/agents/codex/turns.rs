//! What was said in a thread, held until copies and turns taken back are sorted out.

use std::hash::{DefaultHasher, Hash, Hasher};

use super::thread::Origin;
use crate::{Assembler, Sink};
use crate::{Kind, Message, MessageTime, Role, TimeSource};

/// Messages looked back over for the other copy of one; the two stand milliseconds apart.
const COPY_DISTANCE: usize = 24;

/// Which of the log's two voices a message came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Voice {
    /// `event_msg`, for the screen.
    Event,
    /// `response_item`, for the model.
    Item,
    /// Both copies have been seen.
    Both,
}

/// What is known of a message that is held.
#[derive(Debug, Clone, PartialEq)]
struct Held {
    voice: Voice,
    kind: Kind,
    role: Role,
    /// Hash of the words, for finding copies.
    words: u64,
}

/// The messages of a thread.
///
/// Copies, and turns taken back, are sorted out over what is held, i.e. over the last part of a very long thread.
pub(super) struct Turns {
    pub(super) draft: Assembler,
    held: Vec<Held>,
    /// How many of the first messages held are known to begin no turn, so that rolling back stays cheap.
    barren: usize,
    has_events: bool,
    pub(super) said_anything: bool,
    last_time: Option<MessageTime>,
}

impl Turns {
    pub(super) fn new(draft: Assembler) -> Self {
        Self { draft, held: Vec::new(), barren: 0, has_events: false, said_anything: false, last_time: None }
    }

    pub(super) fn is_full(&self) -> bool {
        self.draft.is_full()
    }

    /// Forgets what is held.
    pub(super) fn clear(&mut self) {
        self.held.clear();
        self.draft.truncate(0);
    }

    /// Adds what was said, unless it is a copy.
    pub(super) fn hold(&mut self, voice: Voice, origin: Origin, mut message: Message) {
        self.has_events |= voice == Voice::Event && message.is_human();
        let words = hash_words(&message.text);
        let new = Held { voice, kind: message.kind, role: message.role, words };
        if self.is_copy(&new) {
            return;
        }
        let before = self.last_time.map(|time| MessageTime { source: TimeSource::Derived, ..time });
        self.last_time = message.time.or(self.last_time);
        message.time = message.time.or(before);
        if origin == Origin::Agent && message.role != Role::Tool && message.role != Role::System {
            message.role = Role::Other;
        }
        if self.draft.hold(message) {
            self.held.push(new);
        }
    }

    /// Whether `new` is the other voice's copy of a message that is held.
    fn is_copy(&mut self, new: &Held) -> bool {
        if !matches!(new.kind, Kind::Prose | Kind::Reasoning | Kind::Context) {
            return false;
        }
        let copy = self.held.iter_mut().rev().take(COPY_DISTANCE).find(|held| {
            let is_other = held.voice != Voice::Both && held.voice != new.voice;
            is_other && held.kind == new.kind && held.role == new.role && held.words == new.words
        });
        copy.map(|held| held.voice = Voice::Both).is_some()
    }

    /// Removes the last `turns` turns of the user, with all that follows them.
    pub(super) fn roll_back(&mut self, turns: i64) {
        let mut left = turns;
        let mut start = None;
        let mut place = self.held.len();
        while left > 0 && place > self.barren {
            place -= 1;
            if self.is_turn(&self.held[place]) {
                (left, start) = (left - 1, Some(place));
            }
        }
        if left > 0 {
            self.barren = start.unwrap_or(self.held.len());
        }
        if let Some(start) = start {
            self.held.truncate(start);
            self.draft.truncate(start);
        }
    }

    fn is_turn(&self, held: &Held) -> bool {
        held.role == Role::User && held.kind == Kind::Prose && (!self.has_events || held.voice != Voice::Item)
    }

    /// Hands over what is held; the user's words that the screen never showed were not typed.
    pub(super) fn release(&mut self, sink: &mut Sink<'_>) {
        let mut held = self.held.drain(..);
        let has_events = self.has_events;
        self.draft.retain(|message| {
            let held = held.next().expect("each message held is known");
            if has_events && held.role == Role::User && held.kind == Kind::Prose && held.voice == Voice::Item {
                (message.role, message.kind) = (Role::System, Kind::Context);
            }
            self.said_anything = true;
            true
        });
        drop(held);
        self.barren = 0;
        self.draft.hand_over(sink);
    }
}

fn hash_words(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.split_whitespace().for_each(|word| word.hash(&mut hasher));
    hasher.finish()
}
