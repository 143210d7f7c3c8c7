//! What stands in the fields of exports, and the times of messages that have none of their own.

use serde_json::Value;

use crate::identity;
use crate::{Kind, Message, MessageTime, Role, TimeSource};

/// Returns the trimmed text of a string that is not blank.
#[must_use]
pub fn text(value: &Value) -> Option<String> {
    value.as_str().map(str::trim).filter(|text| !text.is_empty()).map(str::to_owned)
}

/// Returns the elements of an array; none of anything else.
#[must_use]
pub fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// Returns the time that a number since 1970 or a written date stands for.
#[must_use]
pub fn time(value: &Value) -> Option<MessageTime> {
    match value.as_str() {
        Some(written) => identity::written_time(written, TimeSource::Log),
        None => identity::instant(value).map(MessageTime::logged),
    }
}

/// Returns on whose behalf a message of `role` stands, and what its words are; `None` for a role that is not known.
#[must_use]
pub fn role_and_kind(role: &Value) -> Option<(Role, Kind)> {
    Some(match role.as_str()? {
        "user" => (Role::User, Kind::Prose),
        "assistant" => (Role::Assistant, Kind::Prose),
        "system" => (Role::System, Kind::Context),
        "tool" => (Role::Tool, Kind::ToolResult),
        _ => return None,
    })
}

/// Returns the messages called `id` that one of `role` consists of; what a tool answered is the tool's.
#[must_use]
pub fn messages(id: &str, role: Role, time: Option<MessageTime>, said: Vec<(Kind, String)>) -> Vec<Message> {
    let made = |(kind, text)| {
        let role = if kind == Kind::ToolResult { Role::Tool } else { role };
        Message { id: id.to_owned(), kind, time, ..Message::prose(role, text) }
    };
    said.into_iter().map(made).collect()
}

/// Gives a message without a time that of the message before it, and the first ones that of the conversation.
#[derive(Debug, Clone, Copy)]
pub struct Clock(Option<MessageTime>);

impl Clock {
    /// Starts at the time at which the conversation began.
    #[must_use]
    pub fn starting(start: Option<MessageTime>) -> Self {
        Self(start)
    }

    /// Returns the time of the next message, whose own time is `stamped`.
    pub fn next(&mut self, stamped: Option<MessageTime>) -> Option<MessageTime> {
        self.0 = stamped.or(self.0.map(|time| match time.source {
            TimeSource::Log | TimeSource::Derived => MessageTime { source: TimeSource::Derived, ..time },
            TimeSource::File => time,
        }));
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_message_without_a_time_has_that_of_the_one_before() {
        let mut clock = Clock::starting(time(&json!("2026-01-02T03:04:05+08:00")));
        let stamps = [json!(null), json!(1_767_400_000), json!("soon")];
        let told = stamps.map(|stamp| {
            let time = clock.next(time(&stamp)).unwrap();
            (time.at.to_string(), time.offset_seconds, time.source)
        });
        let expected = [
            ("2026-01-01T19:04:05Z", Some(28_800), TimeSource::Derived),
            ("2026-01-03T00:26:40Z", Some(0), TimeSource::Log),
            ("2026-01-03T00:26:40Z", Some(0), TimeSource::Derived),
        ];
        assert_eq!(told, expected.map(|(at, offset, source)| (at.to_owned(), offset, source)));
    }
}
