//! One thread while it is read: its head, and which lines are its own.

use std::collections::HashSet;

use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::item::{Item, Line, Record};
use super::turns::{Turns, Voice};
use crate::{Assembler, Input, Sink};
use crate::{Message, MessageTime};

/// Who began the thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Origin {
    /// A person, from nothing.
    Person,
    /// A person, from another thread; the file begins with a copy of that.
    Fork,
    /// Another agent, which also writes the prompts.
    Agent,
}

/// Where in the file the reading stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Lines of the thread itself.
    Own,
    /// Lines copied from the thread that this one was forked from.
    Replay,
}

/// Collects one thread.
pub(super) struct Thread {
    turns: Turns,
    own_id: Option<String>,
    started_at: Option<Timestamp>,
    origin: Origin,
    place: Place,
    replayed: Option<usize>,
    disabled_at: Option<usize>,
    zone: Option<TimeZone>,
    /// Hashes of the instructions that have come before.
    instructions: HashSet<String>,
}

impl Thread {
    pub(super) fn new(input: &Input) -> Self {
        let stem = input.stem();
        let stem = stem.strip_suffix(".jsonl").unwrap_or(&stem);
        Self {
            turns: Turns::new(Assembler::new(super::NAME, stem, input.path.display().to_string())),
            own_id: None,
            started_at: None,
            origin: Origin::Person,
            place: Place::Own,
            replayed: None,
            disabled_at: None,
            zone: None,
            instructions: HashSet::new(),
        }
    }

    pub(super) fn take(&mut self, number: usize, mut line: Line, sink: &mut Sink<'_>) {
        match line.payload.0.take() {
            Some(item) => self.take_envelope(number, &line, item),
            None => self.take_bare(number, line),
        }
        if self.turns.is_full() {
            self.release(sink);
        }
    }

    pub(super) fn finish(mut self, sink: &mut Sink<'_>) {
        if let Some(line) = self.disabled_at {
            sink.skip(line, "the thread's memory mode is disabled; nothing of it is read");
            return;
        }
        self.release(sink);
        if let Some(line) = self.replayed.filter(|_| !self.turns.said_anything) {
            sink.skip(line, "nothing but a copy of the thread that it was forked from");
        }
    }

    fn take_envelope(&mut self, number: usize, line: &Line, mut item: Item) {
        let time = self.time(line, &item);
        match line.kind.as_str() {
            "session_meta" => self.take_head(number, &item),
            "turn_context" => self.take_context(&mut item, time),
            "compacted" if !self.is_replay(number, time) => self.hold(Voice::Item, None, time, item.take_summary()),
            "event_msg" => {
                self.end_replay(&item, time);
                if !self.is_replay(number, time) {
                    self.take_event(item, time);
                }
            }
            "response_item" if !self.is_replay(number, time) => {
                let id = item.id.0.take();
                for message in item.take_item() {
                    self.hold(Voice::Item, id.as_deref(), time, message);
                }
            }
            _ => {}
        }
    }

    /// Reads a line of the time before envelopes: the head, or an item.
    fn take_bare(&mut self, number: usize, mut item: Line) {
        if item.kind.0.is_none() {
            if item.state.0.is_none() && item.id.0.is_some() {
                self.take_head(number, &item);
            }
            return;
        }
        let time = item.timestamp.time();
        let id = item.id.0.take();
        for message in item.take_item() {
            self.hold(Voice::Item, id.as_deref(), time, message);
        }
    }

    /// Reads the head of the thread; a second one with another id begins a copy of the thread it was forked from.
    fn take_head<P>(&mut self, number: usize, head: &Record<P>) {
        let Some(id) = &head.id.0 else { return };
        if self.own_id.as_ref().is_some_and(|own| own != id) {
            self.place = Place::Replay;
            self.replayed.get_or_insert(number);
            return;
        }
        match head.memory_mode.as_str() {
            "disabled" => self.disabled_at = Some(number),
            "enabled" => self.disabled_at = None,
            _ => {}
        }
        if self.own_id.replace(id.clone()).is_some() {
            return;
        }
        let parent = head.parent_id();
        self.origin = if head.is_agents() {
            Origin::Agent
        } else if parent.is_some() || head.forked_from_id.0.is_some() {
            Origin::Fork
        } else {
            Origin::Person
        };
        let external_id = match parent.filter(|_| self.origin == Origin::Agent) {
            Some(parent) => format!("{parent}/{id}"),
            None => id.clone(),
        };
        self.started_at = head.timestamp.time().map(|time| time.at);
        self.turns.draft.set_external_id(external_id);
        let url = head.git.0.as_ref().and_then(|git| git.repository_url.0.clone());
        let meta = self.turns.draft.meta();
        meta.created_at = self.started_at;
        meta.project = head.cwd.0.clone().or_else(|| url.clone());
        meta.repository = url;
        self.instruct(head, head.timestamp.time());
    }

    /// Takes in instructions, which are written anew in each turn, where they have not come before.
    fn instruct<P>(&mut self, record: &Record<P>, time: Option<MessageTime>) {
        for message in record.instructions() {
            if self.instructions.insert(message.content_hash()) {
                self.hold(Voice::Item, None, time, message);
            }
        }
    }

    fn take_context(&mut self, context: &mut Item, time: Option<MessageTime>) {
        let meta = self.turns.draft.meta();
        if meta.project.is_none() {
            meta.project = context.cwd.0.take();
        }
        if self.place == Place::Own {
            meta.model = context.model.0.take().or(meta.model.take());
            self.zone = context.timezone.0.as_deref().and_then(|name| TimeZone::get(name).ok()).or(self.zone.take());
            self.instruct(context, time);
        }
    }

    fn take_event(&mut self, mut event: Item, time: Option<MessageTime>) {
        match event.kind.as_str() {
            "thread_rolled_back" => self.turns.roll_back(event.num_turns.0.unwrap_or(1)),
            "thread_name_updated" => self.turns.draft.meta().title = event.thread_name.0.take(),
            _ => {
                for message in event.take_event() {
                    self.hold(Voice::Event, None, time, message);
                }
            }
        }
    }

    fn time(&self, line: &Line, item: &Item) -> Option<MessageTime> {
        let time = line.timestamp.time().or_else(|| item.timestamp.time())?;
        Some(self.zone.as_ref().map_or(time, |zone| in_zone(time, zone)))
    }

    /// Whether a line repeats the parent's: it stands in the copy, or was written before this thread began.
    fn is_replay(&mut self, number: usize, time: Option<MessageTime>) -> bool {
        let is_older = self.started_at.zip(time).is_some_and(|(start, time)| time.at < start);
        let is_replay = self.place == Place::Replay || self.origin != Origin::Person && is_older;
        if is_replay {
            self.replayed.get_or_insert(number);
        }
        is_replay
    }

    /// Ends the copy at the first turn that began after the thread did.
    fn end_replay(&mut self, event: &Item, time: Option<MessageTime>) {
        if self.place == Place::Own || !matches!(event.kind.as_str(), "task_started" | "turn_started") {
            return;
        }
        let began = event.started_at.0.map_or(time.map(|time| time.at.as_second()), Some);
        let start = self.started_at.map(Timestamp::as_second);
        if start.is_none_or(|start| began.is_some_and(|began| began >= start)) {
            self.place = Place::Own;
        }
    }

    fn hold(&mut self, voice: Voice, id: Option<&str>, time: Option<MessageTime>, message: Message) {
        let id = id.unwrap_or_default().to_owned();
        self.turns.hold(voice, self.origin, Message { id, time, ..message });
    }

    fn release(&mut self, sink: &mut Sink<'_>) {
        if self.disabled_at.is_some() {
            self.turns.clear();
        }
        self.turns.release(sink);
    }
}

fn in_zone(time: MessageTime, zone: &TimeZone) -> MessageTime {
    MessageTime { offset_seconds: Some(zone.to_offset(time.at).seconds()), ..time }
}
