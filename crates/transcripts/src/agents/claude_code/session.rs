//! One session while it is read: what is held back until it is known to stay.

use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use super::branches::{Node, abandoned};
use super::line::Line;
use crate::{Assembler, Sink};
use crate::{Kind, Message, MessageTime, Role, TimeSource};

/// A title that the log gives to the session in which `leaf` is found, which may be another file's.
#[derive(Debug)]
pub(super) struct Summary {
    pub(super) text: String,
    pub(super) leaf: String,
}

/// Titles in their order of precedence; the last of each kind wins.
#[derive(Default)]
struct Titles {
    custom: Option<String>,
    agent: Option<String>,
    generated: Option<String>,
}

/// Collects one session.
///
/// Rewinds and queued input are sorted out over what is held, i.e. over the last part of a very long session.
pub(super) struct Session {
    draft: Assembler,
    /// For each message held, its line in `nodes`.
    places: Vec<usize>,
    nodes: Vec<Node>,
    /// Lines that turned out to repeat another.
    void: HashSet<usize>,
    /// Queued texts that no later line has delivered, with the line that queued them.
    queued: HashMap<u64, usize>,
    ever_queued: HashSet<u64>,
    seen: HashSet<u64>,
    said: HashSet<u64>,
    titles: Titles,
    last_time: Option<MessageTime>,
}

impl Session {
    pub(super) fn new(id: &str, origin: &str) -> Self {
        Self {
            draft: Assembler::new(super::NAME, id, origin),
            places: Vec::new(),
            nodes: Vec::new(),
            void: HashSet::new(),
            queued: HashMap::new(),
            ever_queued: HashSet::new(),
            seen: HashSet::new(),
            said: HashSet::new(),
            titles: Titles::default(),
            last_time: None,
        }
    }

    pub(super) fn take(&mut self, mut line: Line, summaries: &[Summary], sink: &mut Sink<'_>) {
        self.take_meta(&mut line);
        let time = self.time_of(&line);
        let (uuid, place) = (line.uuid.0.take(), self.nodes.len());
        if uuid.as_ref().is_some_and(|uuid| self.seen.contains(&hash(uuid))) {
            return;
        }
        let parent = line.parent_uuid.0.as_ref().map(hash);
        let is_prompt = line.is_prompt();
        let is_queued = line.operation.0.is_some();
        if let Some(command) = line.typed_command().filter(|_| !is_queued) {
            self.deliver(&command);
        }
        let messages = if is_queued { self.take_queued(&line) } else { line.take_messages() };
        let mut typed = false;
        let mut held = false;
        for message in messages {
            if self.is_replay(&message, time) {
                continue;
            }
            typed |= is_prompt && message.is_human();
            if !is_queued && matches!(message.role, Role::User | Role::System) {
                self.deliver(&message.text);
            }
            if self.draft.hold(Message { id: uuid.clone().unwrap_or_default(), time, ..message }) {
                self.places.push(place);
                held = true;
            }
        }
        // A line without text keeps its place in the tree, but a later one under its id may still say something.
        let id = uuid.as_ref().map(hash);
        if let Some(id) = id.filter(|_| held) {
            self.seen.insert(id);
        }
        let typed_at = time.filter(|time| typed && time.source == TimeSource::Log).map(|time| time.at);
        self.nodes.push(Node { id: id.unwrap_or_default(), parent, typed_at });
        if self.draft.is_full() {
            self.release(summaries, sink);
        }
    }

    pub(super) fn finish(mut self, summaries: &[Summary], sink: &mut Sink<'_>) {
        self.release(summaries, sink);
    }

    fn take_meta(&mut self, line: &mut Line) {
        self.titles.custom = line.custom_title.0.take().or(self.titles.custom.take());
        if line.kind.as_str() == "agent-name" {
            self.titles.agent = line.agent_name.0.take().or(self.titles.agent.take());
        }
        self.titles.generated = line.ai_title.0.take().or(self.titles.generated.take());
        let meta = self.draft.meta();
        if meta.project.is_none() {
            meta.project = line.cwd.0.take();
        }
        if let Some(model) = line.model() {
            meta.model = Some(model.to_owned());
        }
    }

    fn time_of(&mut self, line: &Line) -> Option<MessageTime> {
        let before = self.last_time.map(|time| MessageTime { source: TimeSource::Derived, ..time });
        let time = line.time();
        self.last_time = time.or(self.last_time);
        time.or(before)
    }

    /// Whether the same words were said at the same instant: compaction writes old lines again under new ids.
    fn is_replay(&mut self, message: &Message, time: Option<MessageTime>) -> bool {
        let stamp = time.filter(|time| time.source == TimeSource::Log && message.kind == Kind::Prose);
        let key = stamp.map(|time| hash(format!("{} {:?} {}", time.at, message.role, message.text)));
        key.is_some_and(|key| !self.said.insert(key))
    }

    /// Takes in what happened to the input queue: a text that nobody delivers was said all the same.
    fn take_queued(&mut self, line: &Line) -> Vec<Message> {
        let queued = line.queued();
        let key = hash(folded(&queued.text));
        match line.operation.as_str() {
            "enqueue" => {}
            // Consumed while the agent ran; mostly it was queued before, and then it is held already.
            "remove" if !self.ever_queued.contains(&key) => {}
            // Taken back into the input field.
            "popAll" => {
                self.void.extend(self.queued.remove(&key));
                return Vec::new();
            }
            _ => return Vec::new(),
        }
        self.ever_queued.insert(key);
        self.queued.insert(key, self.nodes.len());
        vec![queued]
    }

    /// Drops the queued copy of a text that has now arrived.
    fn deliver(&mut self, text: &str) {
        if !self.queued.is_empty() {
            self.void.extend(self.queued.remove(&hash(folded(text))));
        }
    }

    /// Hands over what is held, without abandoned branches and repeated input.
    fn release(&mut self, summaries: &[Summary], sink: &mut Sink<'_>) {
        let dead = abandoned(&self.nodes);
        let mut places = self.places.drain(..);
        let void = &self.void;
        self.draft.retain(|_| {
            let place = places.next().expect("each message held has a place");
            !dead[place] && !void.contains(&place)
        });
        drop(places);
        self.name(summaries);
        self.draft.hand_over(sink);
        self.nodes.clear();
        self.void.clear();
        self.queued.clear();
    }

    fn name(&mut self, summaries: &[Summary]) {
        let Titles { custom, agent, generated } = &self.titles;
        let summary = || summaries.iter().rev().find(|summary| self.seen.contains(&hash(&summary.leaf)));
        let title = custom.clone().or(agent.clone()).or(generated.clone()).or_else(|| Some(summary()?.text.clone()));
        self.draft.meta().title = title;
    }
}

fn folded(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Hashes an id or a text, so that a long log's need not all be kept.
pub(super) fn hash(text: impl AsRef<str>) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.as_ref().hash(&mut hasher);
    hasher.finish()
}
