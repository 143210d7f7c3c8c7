//! A conversation as plain data, as produced by every format.

use jiff::Timestamp;
use jiff::tz::Offset;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::message::action::{self, Action};

/// One conversation, or one part of a very long conversation, in chronological order.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Transcript {
    /// Name of the format from which the transcript was read, such as `claude-code`.
    pub source: String,
    /// Identity within `source`; it does not change when the file is moved or grows.
    pub external_id: String,
    /// The location that the transcript was read from: a path or `-`, followed by the record if the file contains
    /// several.
    pub origin: String,
    /// Title of the conversation, from the log.
    pub title: Option<String>,
    /// Working directory, repository or channel, from the log.
    pub project: Option<String>,
    /// URL of the repository, such as `https://github.com/ana/shop`, if the log also contains it.
    pub repository: Option<String>,
    /// URL of the only repository to which the conversation submitted pull requests. This may be another repository
    /// than that of the folder, so it is weaker evidence of the project than the other fields.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub linked_repository: Option<String>,
    /// Branch of the repository on which the work was done, if the log contains it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// Folder of the repository that the log is part of, if its caller has found that the log is a file of a repository
    /// rather than the user's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shipped_by: Option<String>,
    /// Model that answered, if the log contains it.
    pub model: Option<String>,
    /// The start of the conversation according to the log, for logs whose messages have no time.
    pub created_at: Option<Timestamp>,
    /// Messages in conversation order.
    pub messages: Vec<Message>,
}

/// Something said, done or injected in a conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Message {
    /// The id in the log, or the 1-based position in the transcript if there is none.
    pub id: String,
    /// The part that the message plays in the conversation.
    pub role: Role,
    /// The nature of the message; only [`Kind::Prose`] can be evidence of what somebody said.
    pub kind: Kind,
    /// Name of the person or agent, if several could have spoken.
    pub speaker: Option<String>,
    /// Time of the message, and the source of that time.
    pub time: Option<MessageTime>,
    /// The decoded text; messages with an empty text are dropped.
    pub text: String,
    /// The effect of a tool call, or how the call ended. The action is not part of the text, so
    /// [`Message::content_hash`] ignores it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action: Option<Box<Action>>,
    /// Paths and patterns of files that a search was limited to, which the text may leave out. They are not serialised: they
    /// only show whose content the result of the search contains.
    #[serde(skip)]
    pub searched: Vec<String>,
}

/// The part that a message plays in a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// A person: the user of an assistant, or anyone in a conversation among people.
    User,
    /// The assistant.
    Assistant,
    /// The system or developer prompt.
    System,
    /// A tool result.
    Tool,
    /// Another agent, or a role that the log does not explain.
    Other,
}

/// The nature of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Text that a participant addressed to the others.
    Prose,
    /// A tool call, as one short line: the tool's name and its main target.
    ToolCall,
    /// A tool result, clipped.
    ToolResult,
    /// The assistant's hidden reasoning.
    Reasoning,
    /// Injected text: system prompts, boot files, reminders, hook output, recalled memory.
    Context,
    /// A summary of earlier messages, written when a session was compacted.
    Summary,
    /// A placeholder for a file or image, such as `[image: plan.png]`.
    Attachment,
}

/// When a message was said: an instant, the offset of the speaker's clock, and the source of both.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct MessageTime {
    /// The instant. If `offset_seconds` is unknown, this is the local time treated as UTC.
    pub at: Timestamp,
    /// Offset of the clock from UTC, in seconds; `None` if the log contains none.
    pub offset_seconds: Option<i32>,
    /// The source of the time.
    pub source: TimeSource,
}

/// The source of a message's time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TimeSource {
    /// The log contains a time for the message.
    Log,
    /// The time is derived from an adjacent message or from the start of the conversation.
    Derived,
    /// The time is taken from the file's name or modification time.
    File,
}

impl MessageTime {
    /// Returns a time that the log contains for the message, in UTC.
    #[must_use]
    pub const fn logged(at: Timestamp) -> Self {
        Self { at, offset_seconds: Some(0), source: TimeSource::Log }
    }

    /// Returns the same time, marked as derived from an adjacent message or from the start of the conversation.
    pub(crate) const fn derived(self) -> Self {
        Self { source: TimeSource::Derived, ..self }
    }

    /// Returns the instant at which a clock in an unknown time zone shows `local`, treating it as UTC.
    pub(crate) fn local(local: jiff::civil::DateTime, source: TimeSource) -> Option<Self> {
        Some(Self { at: Offset::UTC.to_timestamp(local).ok()?, offset_seconds: None, source })
    }

    /// Returns the time on the speaker's own clock, for example to resolve "yesterday".
    #[must_use]
    pub fn civil(&self) -> jiff::civil::DateTime {
        let offset = self.offset_seconds.and_then(|seconds| Offset::from_seconds(seconds).ok());
        offset.unwrap_or(Offset::UTC).to_datetime(self.at)
    }
}

impl Message {
    /// Returns a message of the user, without time or speaker; the caller sets `id`.
    #[must_use]
    pub fn user(text: impl Into<String>) -> Self {
        Self::prose(Role::User, text)
    }

    /// Returns a message of the assistant, without time or speaker; the caller sets `id`.
    #[must_use]
    pub fn assistant(text: impl Into<String>) -> Self {
        Self::prose(Role::Assistant, text)
    }

    /// Returns a message in `role`, without id, time or speaker.
    #[must_use]
    pub fn prose(role: Role, text: impl Into<String>) -> Self {
        Self {
            id: String::new(),
            role,
            kind: Kind::Prose,
            speaker: None,
            time: None,
            text: text.into(),
            action: None,
            searched: Vec::new(),
        }
    }

    /// Returns a message of any kind, without id, time or speaker.
    pub(crate) fn new(role: Role, kind: Kind, text: impl Into<String>) -> Self {
        Self { kind, ..Self::prose(role, text) }
    }

    /// Returns text that a program inserted into the conversation.
    pub(crate) fn context(text: impl Into<String>) -> Self {
        Self::new(Role::System, Kind::Context, text)
    }

    /// Returns a summary of earlier messages.
    pub(crate) fn summary(text: impl Into<String>) -> Self {
        Self::new(Role::System, Kind::Summary, text)
    }

    /// Returns the assistant's hidden reasoning.
    pub(crate) fn reasoning(text: impl Into<String>) -> Self {
        Self::new(Role::Assistant, Kind::Reasoning, text)
    }

    /// Returns a tool call of the assistant, described by `line`.
    pub(crate) fn call(line: impl Into<String>) -> Self {
        Self::new(Role::Assistant, Kind::ToolCall, line)
    }

    /// Adds the action of a call of `tool` with these arguments.
    #[must_use]
    pub(crate) fn doing(self, tool: &str, arguments: &serde_json::Value) -> Self {
        let (action, searched) = (action::of_call(tool, arguments), action::searched(arguments));
        Self { action: action.map(Box::new), searched, ..self }
    }

    /// Adds an action that records how the call with the id `call` ended.
    #[must_use]
    pub(crate) fn ending(self, call: Option<&str>, failed: Option<bool>) -> Self {
        Self { action: action::of_result(call, failed, None), ..self }
    }

    /// Adds the id with which the result of the call refers to it.
    #[must_use]
    pub(crate) fn called(mut self, id: Option<&str>) -> Self {
        if let (Some(action), Some(id)) = (&mut self.action, id) {
            action.call = Some(id.to_owned());
        }
        self
    }

    /// Returns a tool result.
    pub(crate) fn answer(text: impl Into<String>) -> Self {
        Self::new(Role::Tool, Kind::ToolResult, text)
    }

    /// Returns whether a person is speaking. A window is worth a request only if it contains such a message.
    #[must_use]
    pub fn is_human(&self) -> bool {
        self.role == Role::User && self.kind == Kind::Prose
    }

    /// Hashes the text and its author: 32 hexadecimal digits. Ids and times are left out, because forks change them.
    #[must_use]
    pub fn content_hash(&self) -> String {
        let mut hasher = Sha256::new();
        self.hash_into(&mut hasher);
        hex(&hasher.finalize()[..16])
    }

    fn hash_into(&self, hasher: &mut Sha256) {
        let head = format!("{:?}\u{1f}{:?}\u{1f}{}\u{1f}", self.role, self.kind, self.speaker.as_deref().unwrap_or(""));
        hasher.update(head.as_bytes());
        hasher.update(self.text.as_bytes());
        // Separators ensure that `ab` + `c` and `a` + `bc` have different hashes.
        hasher.update(b"\x1e");
    }
}

impl Transcript {
    /// Returns `source:external_id`, which identifies the transcript in the store.
    #[must_use]
    pub fn key(&self) -> String {
        format!("{}:{}", self.source, self.external_id)
    }

    /// Returns whether people talk to each other: there are two named people, or one named person and no assistant.
    #[must_use]
    pub fn is_among_people(&self) -> bool {
        let mut first = None;
        let mut is_answered = false;
        for message in &self.messages {
            is_answered |= message.role == Role::Assistant && message.kind == Kind::Prose;
            let Some(name) = message.speaker.as_deref().filter(|_| message.is_human()) else { continue };
            match first {
                None => first = Some(name),
                Some(other) if other != name => return true,
                Some(_) => {}
            }
        }
        first.is_some() && !is_answered
    }

    /// Returns the earliest known time in the conversation.
    #[must_use]
    pub fn started_at(&self) -> Option<Timestamp> {
        self.times().chain(self.created_at).min()
    }

    /// Returns the latest known time in the conversation.
    #[must_use]
    pub fn ended_at(&self) -> Option<Timestamp> {
        self.times().chain(self.created_at).max()
    }

    fn times(&self) -> impl Iterator<Item = Timestamp> + '_ {
        self.messages.iter().filter_map(|message| message.time.map(|time| time.at))
    }
}

/// Hashes a sequence of messages as one text: 32 hexadecimal digits.
#[must_use]
pub fn content_hash(messages: &[Message]) -> String {
    let mut hasher = Sha256::new();
    for message in messages {
        message.hash_into(&mut hasher);
    }
    hex(&hasher.finalize()[..16])
}

/// Returns `bytes` in lower-case hexadecimal notation.
#[must_use]
pub fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        write!(text, "{byte:02x}").expect("writing to a String cannot fail");
        text
    })
}

/// Parses an RFC 3339 time into an instant and its offset from UTC in seconds; `Z` is offset 0.
#[must_use]
pub fn parse_rfc3339(text: &str) -> Option<(Timestamp, i32)> {
    // jiff drops the offset when it parses an instant, so the pieces are parsed separately.
    let pieces = jiff::fmt::temporal::DateTimeParser::new().parse_pieces(text).ok()?;
    let offset = pieces.to_numeric_offset().map_or(0, jiff::tz::Offset::seconds);
    text.parse().ok().map(|at| (at, offset))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_hash_ignores_ids_and_times_but_not_words_or_speakers() {
        let plain = Message::user("use tabs");
        let stamped =
            Message { id: "m9".into(), time: Some(MessageTime::logged(Timestamp::UNIX_EPOCH)), ..plain.clone() };
        let spoken = Message { speaker: Some("Ana".into()), ..plain.clone() };
        assert_eq!(plain.content_hash(), stamped.content_hash());
        assert_ne!(plain.content_hash(), spoken.content_hash());
        assert_ne!(plain.content_hash(), Message::assistant("use tabs").content_hash());
    }

    #[test]
    fn people_are_among_themselves_where_two_are_named_or_nobody_answers() {
        let named = |name: &str| Message { speaker: Some(name.into()), ..Message::user("hi") };
        let table = [
            (vec![named("Ana"), named("Bo")], true),
            (vec![named("Ana")], true),
            (vec![named("Ana"), Message::assistant("Hello.")], false),
            (vec![named("Ana"), named("Bo"), Message::assistant("Hello.")], true),
            (vec![Message::user("hi"), Message::assistant("Hello.")], false),
            (vec![Message { role: Role::Other, ..named("Ana") }], false),
        ];
        for (messages, expected) in table {
            let transcript = Transcript { messages, ..Transcript::default() };
            assert_eq!(transcript.is_among_people(), expected, "{:?}", transcript.messages);
        }
    }

    #[test]
    fn joined_messages_do_not_hash_like_one_message() {
        let split = [Message::user("a"), Message::user("b")];
        assert_ne!(content_hash(&split), content_hash(&[Message::user("ab")]));
    }

    #[test]
    fn civil_time_is_the_speakers_own() {
        let time = MessageTime {
            at: "2026-03-01T23:30:00Z".parse().unwrap(),
            offset_seconds: Some(9 * 3600),
            source: TimeSource::Log,
        };
        assert_eq!(time.civil().date(), jiff::civil::date(2026, 3, 2));
    }
}
