//! Assembles conversations from calls to a model in which each call repeats the history.
//!
//! A trace contains one record for each call, and most programs send the whole conversation with each call. If the
//! first message of a call is known, the call adds its new messages to that conversation. A call with another first
//! message continues the conversation if it belongs to a later trace; within a trace that has already begun, it belongs
//! to an agent.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use crate::{Assembler, Kind, MAX_RECORD_BYTES, Message, MessageTime, Role, Sink};

/// One call to a model.
#[derive(Default)]
pub(crate) struct Call {
    /// The conversation to which the call belongs.
    pub(crate) thread: String,
    /// The trace in which the call was made.
    pub(crate) trace: String,
    /// When the call was made.
    pub(crate) start: Option<MessageTime>,
    /// When the call was answered.
    pub(crate) end: Option<MessageTime>,
    /// The messages that were sent.
    pub(crate) input: Vec<Message>,
    /// The messages that were received.
    pub(crate) output: Vec<Message>,
    /// Title of the conversation.
    pub(crate) title: Option<String>,
    /// The application that made the call.
    pub(crate) project: Option<String>,
    /// The model that answered.
    pub(crate) model: Option<String>,
    /// The location of the call's record.
    pub(crate) origin: String,
}

/// A call whose messages are shared with the calls that repeat them.
struct Held {
    call: Call,
    input: Vec<Shared>,
    output: Vec<Shared>,
}

#[derive(Clone)]
struct Shared {
    hash: Rc<str>,
    message: Rc<Message>,
}

/// Collects the calls of a file, which may be in any order.
///
/// Repeated messages are stored once, so memory use depends on the amount of distinct text, not on the number of times
/// that it was sent.
#[derive(Default)]
pub(crate) struct Threads {
    source: &'static str,
    held: Vec<Held>,
    pool: HashMap<Rc<str>, Rc<Message>>,
    bytes: usize,
    open: Vec<Thread>,
    places: HashMap<String, usize>,
}

/// The known part of a conversation.
#[derive(Default)]
struct Thread {
    draft: Assembler,
    counts: HashMap<Rc<str>, usize>,
    traces: HashSet<String>,
    /// Whether a call began with a new message, which means that the program does not send earlier messages.
    is_without_history: bool,
}

impl Threads {
    /// Creates an empty collection for the format called `source`.
    pub(crate) fn new(source: &'static str) -> Self {
        Self { source, ..Self::default() }
    }

    /// Adds a call. Once [`MAX_RECORD_BYTES`] are stored, the calls so far are assembled without waiting for earlier
    /// calls.
    pub(crate) fn add(&mut self, mut call: Call, sink: &mut Sink<'_>) {
        let (input, output) = (std::mem::take(&mut call.input), std::mem::take(&mut call.output));
        self.bytes += size_of::<Held>();
        let input = input.into_iter().map(|message| self.shared(message)).collect();
        let output = output.into_iter().map(|message| self.shared(message)).collect();
        self.held.push(Held { call, input, output });
        if self.bytes >= MAX_RECORD_BYTES {
            self.assemble(sink);
        }
    }

    /// Passes the conversations to `sink`.
    pub(crate) fn finish(mut self, sink: &mut Sink<'_>) {
        self.assemble(sink);
        self.open.into_iter().for_each(|thread| thread.draft.finish(sink));
    }

    fn shared(&mut self, message: Message) -> Shared {
        let hash: Rc<str> = message.content_hash().into();
        self.bytes += size_of::<Shared>();
        if let Some(known) = self.pool.get(&hash) {
            return Shared { hash, message: Rc::clone(known) };
        }
        self.bytes += size_of::<Message>() + message.text.len();
        let message = Rc::new(message);
        self.pool.insert(Rc::clone(&hash), Rc::clone(&message));
        Shared { hash, message }
    }

    fn assemble(&mut self, sink: &mut Sink<'_>) {
        let mut held = std::mem::take(&mut self.held);
        self.bytes = 0;
        // Of calls that started at the same time, the one with the longest input contains most of the conversation.
        held.sort_by_key(|one| (one.call.start.map(|time| time.at), std::cmp::Reverse(one.input.len())));
        for one in held {
            let place = self.place_of(&one.call);
            self.open[place].take(one, sink);
        }
        // Each conversation retains its hashes; the messages themselves are no longer needed.
        self.pool.clear();
    }

    fn place_of(&mut self, call: &Call) -> usize {
        *self.places.entry(call.thread.clone()).or_insert_with(|| {
            let mut draft = Assembler::new(self.source, call.thread.as_str(), call.origin.as_str());
            draft.meta().created_at = call.start.map(|time| time.at);
            self.open.push(Thread { draft, ..Thread::default() });
            self.open.len() - 1
        })
    }
}

impl Thread {
    fn take(&mut self, held: Held, sink: &mut Sink<'_>) {
        let Held { call, input, output } = held;
        let meta = self.draft.meta();
        meta.title = meta.title.take().or(call.title);
        meta.project = meta.project.take().or(call.project);
        meta.model = call.model.or(meta.model.take());
        let derived = |time: MessageTime| time.derived();
        let (sent, answered) = (call.start.map(derived), call.end.or(call.start.map(derived)));
        let mut new = input.iter().chain(&output).filter(|shared| shared.message.kind != Kind::Context);
        let first = new.next();
        let is_later = !self.traces.contains(&call.trace);
        // Without a history, a repeated short text may have been said again. In that case, equal texts belong to the
        // same call only within one trace.
        let is_said_anew = self.is_without_history && is_later && new.count() <= output.len();
        let repeats = !is_said_anew && first.is_none_or(|shared| self.counts.contains_key(&shared.hash));
        let is_agents_own = !repeats && !is_later;
        self.is_without_history |= !repeats && is_later && !self.traces.is_empty();
        self.traces.insert(call.trace);
        let mut counted: HashMap<Rc<str>, usize> = HashMap::new();
        let timed = input.iter().map(|shared| (shared, sent)).chain(output.iter().map(|shared| (shared, answered)));
        for (Shared { hash, message }, time) in timed {
            let count = counted.entry(Rc::clone(hash)).or_insert(0);
            *count += 1;
            let known = self.counts.entry(Rc::clone(hash)).or_insert(0);
            // Prompts are sent with each call, even if the rest of the history is not.
            if (repeats || message.kind == Kind::Context) && *count <= *known {
                continue;
            }
            *known += 1;
            let mut message = Message { time: message.time.or(time), ..Message::clone(message) };
            if is_agents_own && matches!(message.role, Role::User | Role::Assistant) {
                message.role = Role::Other;
            }
            self.draft.push(message, sink);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(trace: &str, second: i64, input: &[&str], output: &str) -> Call {
        let at = jiff::Timestamp::from_second(second).unwrap();
        let side = |(place, words): (usize, &&str)| {
            if place % 2 == 0 { Message::user(*words) } else { Message::assistant(*words) }
        };
        Call {
            thread: "t".into(),
            trace: trace.into(),
            start: Some(MessageTime::logged(at)),
            input: input.iter().enumerate().map(side).collect(),
            output: vec![Message::assistant(output)],
            ..Call::default()
        }
    }

    fn pieces(calls: Vec<Call>) -> Vec<String> {
        let mut seen = Vec::new();
        let mut accept = |one| seen.extend(crate::testing::lines(&one));
        let mut sink = Sink::new(&mut accept);
        let mut threads = Threads::new("x");
        calls.into_iter().for_each(|call| threads.add(call, &mut sink));
        threads.finish(&mut sink);
        seen
    }

    #[test]
    fn a_repeated_history_is_yielded_once_whatever_the_order_of_the_calls() {
        let calls = vec![
            call("b", 9, &["hi", "ho", "yes", "ok", "yes"], "fine"),
            call("a", 5, &["hi", "ho", "yes"], "ok"),
            call("a", 1, &["hi"], "ho"),
        ];
        let expected = [
            "User Prose hi", "Assistant Prose ho", "User Prose yes", "Assistant Prose ok", "User Prose yes",
            "Assistant Prose fine",
        ];
        assert_eq!(pieces(calls), expected);
    }

    #[test]
    fn a_log_of_new_messages_only_is_yielded_whole() {
        let calls = vec![call("a", 1, &["hi"], "ho"), call("b", 2, &["yes"], "ok"), call("c", 3, &["bye"], "ok")];
        let expected = [
            "User Prose hi", "Assistant Prose ho", "User Prose yes", "Assistant Prose ok", "User Prose bye",
            "Assistant Prose ok",
        ];
        assert_eq!(pieces(calls), expected);
    }

    #[test]
    fn a_call_that_starts_anew_inside_a_trace_is_an_agents_own() {
        let calls = vec![
            call("a", 1, &["plan a trip"], "Let me ask."),
            call("a", 2, &["You find hotels."], "Three."),
            call("a", 3, &["plan a trip", "Let me ask."], "Done."),
        ];
        let expected = [
            "User Prose plan a trip", "Assistant Prose Let me ask.", "Other Prose You find hotels.",
            "Other Prose Three.", "Assistant Prose Done.",
        ];
        assert_eq!(pieces(calls), expected);
    }
}
