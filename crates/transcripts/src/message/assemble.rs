//! Assembles a transcript message by message, using bounded memory.

use std::collections::{HashMap, HashSet, VecDeque};

use crate::message::action::Action;
use crate::message::asked;
use crate::message::identity;
use crate::message::parts::on_one_line;
use crate::{
    Input, Kind, MAX_PART_BYTES, MAX_PROSE_BYTES, MAX_TOOL_BYTES, Message, MessageTime, Role, Sink, TimeSource,
    Transcript,
};

/// Maximum number of calls that wait for the user.
const MAX_WAITING: usize = 256;

/// Collects the messages of one conversation and passes them on in parts of at most [`MAX_PART_BYTES`].
///
/// If the log assigns no id to a message, the position of the message serves as its id; a repeated id gets the suffix
/// `~2`. The text is trimmed, clipped to the limit of its kind, and dropped if it is empty.
#[derive(Default)]
pub(crate) struct Assembler {
    transcript: Transcript,
    base_id: String,
    /// Whether the identity was set after construction.
    is_named: bool,
    /// Number of parts that were passed on.
    part: usize,
    bytes: usize,
    count: usize,
    ids: HashMap<String, usize>,
    clock: Clock,
    /// Calls that asked the user and have not ended.
    waiting: VecDeque<Action>,
    /// Results that contained replies of the user, with the ids of their calls.
    replied: HashSet<String>,
}

impl Assembler {
    /// Starts a conversation of `source` with the identity `external_id`, read from `origin`.
    pub(crate) fn new(source: &str, external_id: impl Into<String>, origin: impl Into<String>) -> Self {
        let base_id = external_id.into();
        let transcript = Transcript {
            source: source.to_owned(),
            external_id: base_id.clone(),
            origin: origin.into(),
            ..Transcript::default()
        };
        Self { transcript, base_id, ..Self::default() }
    }

    /// Returns a mutable reference to the title, project, model and start of the conversation.
    pub(crate) fn meta(&mut self) -> &mut Transcript {
        &mut self.transcript
    }

    /// Sets the start of the conversation, which is also the time of its first messages if they have none.
    pub(crate) fn start_at(&mut self, start: Option<MessageTime>) {
        self.transcript.created_at = start.map(|time| time.at);
        self.clock = Clock::starting(start);
    }

    /// Returns the time of the next record, which has the time `stamped` in the log. A record without a time gets the
    /// time of the previous record, or the start of the conversation if there is none.
    pub(crate) fn next_time(&mut self, stamped: Option<MessageTime>) -> Option<MessageTime> {
        self.clock.next(stamped)
    }

    /// Changes the identity, for logs that contain it only after the first messages.
    pub(crate) fn set_external_id(&mut self, external_id: impl Into<String>) {
        self.base_id = external_id.into();
        self.is_named = true;
        self.transcript.external_id = part_id(&self.base_id, self.part);
    }

    /// Sets the identity unless it has already been set.
    pub(crate) fn set_external_id_once(&mut self, external_id: &str) {
        if !self.is_named {
            self.set_external_id(external_id);
        }
    }

    /// Sets the identity to `id`, which is derived from the `first` message, for a conversation whose log contains
    /// none.
    ///
    /// Does nothing if there is already an identity, or if the message is empty and therefore dropped.
    pub(crate) fn name_after(&mut self, first: &Message, id: impl FnOnce() -> String) {
        if !self.is_named && !first.text.trim().is_empty() {
            self.set_external_id(id());
        }
    }

    /// Adds the next message, and passes a part to `sink` when it is full.
    pub(crate) fn push(&mut self, message: Message, sink: &mut Sink<'_>) {
        self.hold(message);
        if self.is_full() {
            self.hand_over(sink);
        }
    }

    /// Adds `messages` as [`Assembler::push`] does.
    pub(crate) fn extend(&mut self, messages: impl IntoIterator<Item = Message>, sink: &mut Sink<'_>) {
        messages.into_iter().for_each(|message| self.push(message, sink));
    }

    /// Adds the messages of one record, all of which get its id and time.
    pub(crate) fn push_all(
        &mut self,
        id: &str,
        time: Option<MessageTime>,
        messages: impl IntoIterator<Item = Message>,
        sink: &mut Sink<'_>,
    ) {
        self.extend(messages.into_iter().map(|message| Message { id: id.to_owned(), time, ..message }), sink);
    }

    /// Adds the next message without passing a part to a sink. Returns how many messages were retained: none if the
    /// message is empty, and more than one if it is the result of a tool through which the user replied.
    ///
    /// For formats in which a later record can undo an earlier record: the caller checks [`Assembler::is_full`] and
    /// then calls [`Assembler::hand_over`].
    pub(crate) fn hold(&mut self, message: Message) -> usize {
        let call = self.call_of(&message);
        let replies = self.replies(call.as_ref(), &message);
        std::iter::once(message).chain(replies).filter_map(|one| self.hold_one(one).then_some(())).count()
    }

    /// Returns the call that asked the user and that ended with this result. A call that asks the user is recorded.
    fn call_of(&mut self, message: &Message) -> Option<Action> {
        let action = message.action.as_deref()?;
        let id = action.call.as_ref();
        match message.kind {
            Kind::ToolCall => {
                // Some programs use an id again.
                self.waiting.retain(|call| id.is_none() || call.call.as_ref() != id);
                if !action.questions.is_empty() {
                    self.waiting.truncate(MAX_WAITING - 1);
                    self.waiting.push_front(action.clone());
                }
                None
            }
            Kind::ToolResult => {
                let place = self.waiting.iter().position(|call| call.call.as_ref() == id)?;
                self.waiting.remove(place)
            }
            _ => None,
        }
    }

    /// Returns what the user replied to the agent through a tool, which the log contains only in the tool's `result`.
    ///
    /// The messages have an action, because they are parts of the result: unlike other prose, they do not end the group
    /// of calls that were made together.
    fn replies(&mut self, call: Option<&Action>, result: &Message) -> Vec<Message> {
        if result.kind != Kind::ToolResult {
            return Vec::new();
        }
        let id = result.action.as_ref().and_then(|action| action.call.clone());
        let has_failed = result.action.as_ref().is_some_and(|action| action.failed == Some(true));
        let typed = asked::feedback(&result.text).filter(|_| has_failed).map(Message::user);
        let answered = call.map(|call| asked::conversation(&call.questions, &result.text)).unwrap_or_default();
        let replies: Vec<Message> = typed.into_iter().chain(answered).collect();
        // Some agents write old lines again, with the same ids of calls.
        if replies.is_empty() || id.is_some() && !self.replied.insert(format!("{id:?}{}", result.text)) {
            return Vec::new();
        }
        let part = |reply| Message {
            id: result.id.clone(),
            time: result.time,
            action: Some(Box::new(Action { call: id.clone(), ..Action::default() })),
            ..reply
        };
        replies.into_iter().map(part).collect()
    }

    fn hold_one(&mut self, mut message: Message) -> bool {
        let limit = match message.kind {
            Kind::ToolCall | Kind::ToolResult | Kind::Context | Kind::Reasoning => MAX_TOOL_BYTES,
            Kind::Prose | Kind::Summary | Kind::Attachment => MAX_PROSE_BYTES,
        };
        message.text = clip(message.text, limit);
        if message.text.is_empty() {
            self.note_silent_result(&message);
            return false;
        }
        self.count += 1;
        message.id = self.unique_id(message.id);
        self.bytes += weight(&message);
        self.transcript.messages.push(message);
        true
    }

    /// If a result has no text to store, records on the result's call how the call ended.
    fn note_silent_result(&mut self, result: &Message) {
        let Some(ended) = result.action.as_ref().filter(|_| result.kind == Kind::ToolResult) else { return };
        let calls = self.transcript.messages.iter_mut().rev().filter_map(|message| message.action.as_mut());
        let mut calls = calls.filter(|call| call.call.is_some());
        if let Some(call) = calls.find(|call| call.call == ended.call) {
            call.failed = Some(ended.failed == Some(true));
            call.exit = ended.exit;
        }
    }

    /// Returns the number of buffered messages.
    pub(crate) fn held(&self) -> usize {
        self.transcript.messages.len()
    }

    /// Returns whether the buffered messages fill a part.
    pub(crate) fn is_full(&self) -> bool {
        self.bytes >= MAX_PART_BYTES
    }

    /// Retains only the buffered messages that `keep` accepts. `keep` may change messages, but not their ids.
    pub(crate) fn retain(&mut self, keep: impl FnMut(&mut Message) -> bool) {
        self.transcript.messages.retain_mut(keep);
        self.bytes = self.transcript.messages.iter().map(weight).sum();
    }

    /// Removes all but the first `count` buffered messages.
    pub(crate) fn truncate(&mut self, count: usize) {
        let count = count.min(self.transcript.messages.len());
        self.bytes -= self.transcript.messages.drain(count..).map(|message| weight(&message)).sum::<usize>();
    }

    /// Removes the message called `id` and all later messages; returns whether it was still buffered.
    pub(crate) fn rewind_to(&mut self, id: &str) -> bool {
        let place = self.transcript.messages.iter().position(|message| message.id == id);
        if let Some(place) = place {
            self.truncate(place);
        }
        place.is_some()
    }

    /// Passes the remaining messages to `sink`.
    pub(crate) fn finish(mut self, sink: &mut Sink<'_>) {
        self.hand_over(sink);
    }

    fn unique_id(&mut self, id: String) -> String {
        let id = if id.is_empty() { self.count.to_string() } else { id };
        // The messages of one record share its id, but evidence must identify exactly one message.
        let seen = self.ids.entry(id.clone()).or_insert(0);
        *seen += 1;
        if *seen == 1 { id } else { format!("{id}~{seen}") }
    }

    /// Passes the buffered messages to `sink` as a separate part.
    pub(crate) fn hand_over(&mut self, sink: &mut Sink<'_>) {
        let Some(first) = self.transcript.messages.first() else { return };
        if self.base_id.trim().is_empty() {
            // A log may contain no identity, or an empty identity. Without a substitute, all such logs would form one
            // conversation.
            let id = identity::of_parts(&[&self.transcript.source, &first.content_hash()]);
            self.set_external_id(id);
        }
        let messages = std::mem::take(&mut self.transcript.messages);
        sink.transcript(Transcript { messages, ..self.transcript.clone() });
        self.part += 1;
        self.transcript.external_id = part_id(&self.base_id, self.part);
        self.bytes = 0;
    }
}

/// The weight of a message in a part. Without a fixed amount per message, a part could contain any number of short
/// messages.
fn weight(message: &Message) -> usize {
    let action = message.action.as_ref();
    let words = action.map_or(0, |action| action.command.as_ref().map_or(0, String::len) + 64 * action.files.len());
    size_of::<Message>() + message.text.len() + words
}

fn part_id(base: &str, part: usize) -> String {
    if part == 0 { base.to_owned() } else { format!("{base}#{}", part + 1) }
}

/// Returns `text` without surrounding white space and without NUL, within `limit` bytes: its beginning and end, with a
/// note about the removed middle. Text is copied only if it has to be changed; the removed part is never copied.
fn clip(text: String, limit: usize) -> String {
    let trimmed = text.trim();
    if trimmed.len() <= limit {
        return if trimmed.contains('\0') {
            trimmed.replace('\0', "").trim().to_owned()
        } else if trimmed.len() == text.len() {
            text
        } else {
            trimmed.to_owned()
        };
    }
    let head = trimmed.floor_char_boundary(limit * 3 / 4);
    let tail = trimmed.ceil_char_boundary(trimmed.len() - limit / 4);
    let clipped = format!("{}\n[… {} bytes cut …]\n{}", &trimmed[..head], tail - head, &trimmed[tail..]);
    if clipped.contains('\0') { clipped.replace('\0', "") } else { clipped }
}

/// Gives each message without a time the time of the previous message, or the start of the conversation if there is
/// none.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Clock(Option<MessageTime>);

impl Clock {
    /// Starts at the start time of the conversation.
    pub(crate) fn starting(start: Option<MessageTime>) -> Self {
        Self(start)
    }

    /// Returns the time of the next message, which has the time `stamped` in the log.
    pub(crate) fn next(&mut self, stamped: Option<MessageTime>) -> Option<MessageTime> {
        // The modification time of a file is not the time of a message, so it does not become a derived time.
        self.0 = stamped.or(self.0.map(|time| if time.source == TimeSource::File { time } else { time.derived() }));
        self.0
    }
}

// Prompt histories: the prompts that a person typed in many sessions, without the answers.

/// A prompt in a history.
pub(crate) struct Prompt<'a> {
    /// The session in which the prompt was typed.
    pub(crate) session: &'a str,
    /// The key that the log of the session would have in [`Prompts`].
    pub(crate) key: &'a str,
    /// The folder in which the prompt was typed.
    pub(crate) project: Option<&'a str>,
    /// The text of the prompt.
    pub(crate) message: Message,
}

/// Collects the prompts of each session whose log no longer exists.
pub(crate) struct Prompts {
    source: &'static str,
    origin: String,
    /// The keys of the logs in the folder of the history.
    logged: HashSet<String>,
    index: HashMap<String, usize>,
    open: Vec<Assembler>,
    /// The first prompt that was skipped because its session has a log, and the number of such prompts.
    passed: Option<(usize, usize)>,
}

impl Prompts {
    /// Starts reading the history `input` of the agent `source`; `logged` contains the keys of existing logs.
    pub(crate) fn new(source: &'static str, input: &Input, logged: HashSet<String>) -> Self {
        let origin = input.path.display().to_string();
        Self { source, origin, logged, index: HashMap::new(), open: Vec::new(), passed: None }
    }

    /// Adds a prompt, unless the session has a log.
    pub(crate) fn take(&mut self, number: usize, prompt: Prompt<'_>, sink: &mut Sink<'_>) {
        let Prompt { session, key, project, message } = prompt;
        if self.logged.contains(key) {
            let (_, count) = self.passed.get_or_insert((number, 0));
            *count += 1;
            return;
        }
        let place = *self.index.entry(session.to_owned()).or_insert_with(|| {
            self.open.push(Assembler::new(self.source, format!("prompts/{session}"), self.origin.as_str()));
            self.open.len() - 1
        });
        let draft = &mut self.open[place];
        let meta = draft.meta();
        meta.project = meta.project.take().or(project.map(str::to_owned));
        draft.push(message, sink);
    }

    /// Passes the collected prompts to `sink`, and reports the prompts that other logs contain.
    pub(crate) fn finish(self, sink: &mut Sink<'_>) {
        if let Some((number, count)) = self.passed {
            let reason = format!("{count} prompts from here on belong to sessions that have their own logs");
            sink.skip(number, reason);
        }
        for draft in self.open {
            draft.finish(sink);
        }
    }
}

// The message that a reply refers to, unless it is the previous message.

/// Number of messages that are searched for the message that a reply refers to.
// Replies refer to recent messages, and a chat that spans years must not be kept in memory for rare exceptions.
const REMEMBERED: usize = 2_000;
/// Maximum length of the quoted part of this message, in characters.
const SHOWN_CHARS: usize = 80;

/// The last messages of a conversation, in the form in which they are shown above a reply.
#[derive(Default)]
pub(crate) struct Replies {
    shown: HashMap<String, String>,
    order: VecDeque<String>,
}

impl Replies {
    /// Records that `message` was said.
    pub(crate) fn note(&mut self, message: &Message) {
        let line = on_one_line(&message.text);
        let mut start: String = line.chars().take(SHOWN_CHARS).collect();
        if start.len() < line.len() {
            start.push('…');
        }
        let shown = format!("[in reply to {}: {start}]", message.speaker.as_deref().unwrap_or("somebody"));
        if self.shown.insert(message.id.clone(), shown).is_none() {
            self.order.push_back(message.id.clone());
        }
        // A channel may have millions of messages; replies refer only to recent messages.
        if self.order.len() > REMEMBERED {
            let oldest = self.order.pop_front();
            oldest.and_then(|id| self.shown.remove(&id));
        }
    }

    /// Returns the placeholder before a reply of `speaker` to the message called `id`; `None` if that is the previous
    /// message, because then nothing is ambiguous.
    ///
    /// The placeholder is not [`Kind::Context`], because that would prevent memories about the quoted statement.
    pub(crate) fn mark(&self, id: &str, speaker: Option<&str>) -> Option<Message> {
        if id.is_empty() || self.order.back().is_some_and(|last| last == id) {
            return None;
        }
        let shown =
            self.shown.get(id).cloned().unwrap_or_else(|| "[in reply to a message that is not here]".to_owned());
        let speaker = speaker.map(str::to_owned);
        Some(Message { kind: Kind::Attachment, speaker, ..Message::prose(Role::User, shown) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn collect(run: impl FnOnce(&mut Sink<'_>)) -> Vec<Transcript> {
        let mut seen = Vec::new();
        let mut accept = |transcript| seen.push(transcript);
        run(&mut Sink::new(&mut accept));
        seen
    }

    #[test]
    fn ids_are_made_unique_and_empty_messages_dropped() {
        let seen = collect(|sink| {
            let mut draft = Assembler::new("x", "c", "f");
            for (id, text) in [("", "a"), ("m", "b"), ("m", "c"), ("", "  \0")] {
                draft.push(Message { id: id.into(), ..Message::user(text) }, sink);
            }
            draft.finish(sink);
        });
        let ids: Vec<_> = seen[0].messages.iter().map(|message| message.id.as_str()).collect();
        assert_eq!(ids, ["1", "m", "m~2"]);
    }

    #[test]
    fn a_conversation_whose_log_names_none_gets_an_identity_from_its_first_words() {
        let id = |given: &str, words: &[&str]| {
            let seen = collect(|sink| {
                let mut draft = Assembler::new("x", given, "f");
                words.iter().for_each(|words| draft.push(Message::user(*words), sink));
                draft.finish(sink);
            });
            seen[0].external_id.clone()
        };
        assert_eq!(id("", &["a"]), id(" ", &["a", "b"]));
        assert_ne!(id("", &["a"]), id("", &["b"]));
        assert_eq!(id("", &["a"]).len(), 32);
    }

    #[test]
    fn a_long_conversation_comes_in_parts_with_ids_of_their_own() {
        let seen = collect(|sink| {
            let mut draft = Assembler::new("x", "c", "f");
            draft.meta().title = Some("t".into());
            for _ in 0..20 {
                draft.push(Message::user("y".repeat(MAX_PROSE_BYTES)), sink);
            }
            draft.finish(sink);
        });
        let ids: Vec<_> = seen.iter().map(|part| (part.external_id.as_str(), part.messages.len())).collect();
        assert_eq!(ids, [("c", 8), ("c#2", 8), ("c#3", 4)]);
        assert_eq!(seen[2].title.as_deref(), Some("t"));
        assert_eq!(seen[2].messages[0].id, "17");
    }

    #[test]
    fn clipping_keeps_both_ends_on_character_boundaries() {
        let text = "é".repeat(4_000);
        let clipped = clip(text, 1_000);
        assert!(clipped.starts_with("éé") && clipped.ends_with("éé") && clipped.contains("bytes cut"));
        assert!(clipped.len() < 1_100);
    }

    #[test]
    fn space_around_a_text_and_nul_in_it_are_dropped() {
        for (text, kept) in [(" a b \n", "a b"), ("a\0b", "ab"), ("\0 \0", ""), ("ab", "ab")] {
            assert_eq!(clip(text.to_owned(), 100), kept);
        }
        assert!(!clip("a\0".repeat(1_000), 100).contains('\0'));
    }
}

#[cfg(test)]
mod replies_tests {
    use super::*;

    #[test]
    fn a_reply_shows_the_start_of_an_earlier_message_only() {
        let mut replies = Replies::default();
        for (id, text) in [("1", "We ship on\nMonday."), ("2", "ok")] {
            let speaker = Some("Ana".to_owned());
            replies.note(&Message { id: id.to_owned(), speaker, ..Message::user(text) });
        }
        let shown = |id: &str| replies.mark(id, Some("Luís")).map(|mark| (mark.kind, mark.text));
        assert_eq!(shown("1"), Some((Kind::Attachment, "[in reply to Ana: We ship on Monday.]".to_owned())));
        assert_eq!(shown("2"), None);
        assert_eq!(shown(""), None);
        assert_eq!(shown("9"), Some((Kind::Attachment, "[in reply to a message that is not here]".to_owned())));
    }

    #[test]
    fn long_messages_are_cut_and_old_ones_forgotten() {
        let mut replies = Replies::default();
        for number in 0..=REMEMBERED {
            replies.note(&Message { id: number.to_string(), ..Message::user("é".repeat(200)) });
        }
        assert_eq!(replies.shown.len(), REMEMBERED);
        assert!(replies.mark("0", None).unwrap().text.contains("not here"));
        assert!(replies.mark("7", None).unwrap().text.ends_with("é…]"));
    }
}

#[cfg(test)]
mod clock_tests {
    use super::*;
    use crate::TimeSource;
    use crate::message::identity;
    use serde_json::json;

    #[test]
    fn a_message_without_a_time_has_that_of_the_one_before() {
        let mut clock = Clock::starting(identity::stamp(&json!("2026-01-02T03:04:05+08:00")));
        let stamps = [json!(null), json!(1_767_400_000), json!("soon")];
        let pieces = stamps.map(|stamp| {
            let time = clock.next(identity::stamp(&stamp)).unwrap();
            (time.at.to_string(), time.offset_seconds, time.source)
        });
        let expected = [
            ("2026-01-01T19:04:05Z", Some(28_800), TimeSource::Derived),
            ("2026-01-03T00:26:40Z", Some(0), TimeSource::Log),
            ("2026-01-03T00:26:40Z", Some(0), TimeSource::Derived),
        ];
        assert_eq!(pieces, expected.map(|(at, offset, source)| (at.to_owned(), offset, source)));
    }
}
