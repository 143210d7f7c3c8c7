//! When messages were said, in a prompt: a line where the clock has moved.

use jiff::civil::Date;

use transcripts::{Message, MessageTime, TimeSource};

/// Upper bound of the tokens of a stamp's line.
pub(super) const STAMP_TOKENS: usize = 24;

/// The stamp that the messages shown so far stand under.
///
/// A new one is due with each half hour, date or offset of the speaker's clock, so that no message is further than half
/// an hour from its stamp. Whether it is due depends on the message before alone, wherever a window begins.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Clock {
    last: Option<Mark>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Mark {
    date: Date,
    /// Half hour of the day; `None` where only the date is known.
    half_hour: Option<i8>,
    offset_seconds: Option<i32>,
}

impl Clock {
    /// Whether a stamp is due before `message`, which is shown next.
    pub(super) fn moves(&mut self, message: &Message) -> bool {
        // What has no time of its own was said with what stands before it.
        let Some(mark) = message.time.as_ref().map(mark) else { return false };
        self.last.replace(mark) != Some(mark)
    }

    /// Returns the line that is due before `message`, which is shown next.
    pub(super) fn line(&mut self, message: &Message) -> Option<String> {
        let time = message.time.filter(|_| self.moves(message))?;
        Some(format!("@ {}", stamp(&time)))
    }
}

fn mark(time: &MessageTime) -> Mark {
    let civil = time.civil();
    let half_hour = match time.source {
        TimeSource::File => None,
        TimeSource::Log | TimeSource::Derived => Some(2 * civil.hour() + civil.minute() / 30),
    };
    Mark { date: civil.date(), half_hour, offset_seconds: time.offset_seconds }
}

/// Returns weekday, date, time and offset as the speaker's own clock showed them.
fn stamp(time: &MessageTime) -> String {
    let civil = time.civil();
    match time.source {
        TimeSource::File => civil.strftime("about %a %Y-%m-%d (a guess from the file, no time of day)").to_string(),
        TimeSource::Log | TimeSource::Derived => {
            let offset = time.offset_seconds.map(offset).unwrap_or_default();
            format!("{}{offset}", civil.strftime("%a %Y-%m-%d %H:%M"))
        }
    }
}

/// Returns ` +02:00` for 7,200 seconds.
fn offset(seconds: i32) -> String {
    let minutes = seconds.abs() / 60;
    format!(" {}{:02}:{:02}", if seconds < 0 { '-' } else { '+' }, minutes / 60, minutes % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn time(at: &str, offset_seconds: Option<i32>, source: TimeSource) -> MessageTime {
        MessageTime { at: at.parse().unwrap(), offset_seconds, source }
    }

    #[test]
    fn stamps_show_the_speakers_clock_and_say_when_it_is_a_guess() {
        let shown = |offset, source| stamp(&time("2026-03-01T23:02:00Z", offset, source));
        assert_eq!(shown(Some(7_200), TimeSource::Log), "Mon 2026-03-02 01:02 +02:00");
        assert_eq!(shown(Some(-12_600), TimeSource::Derived), "Sun 2026-03-01 19:32 -03:30");
        assert_eq!(shown(None, TimeSource::Log), "Sun 2026-03-01 23:02");
        let guess = shown(None, TimeSource::File);
        assert_eq!(guess, "about Sun 2026-03-01 (a guess from the file, no time of day)");
        for text in [shown(Some(-12_600), TimeSource::Log), guess] {
            assert!(crate::tokens::count(&format!("@ {text}\n")) <= STAMP_TOKENS, "{text}");
        }
    }

    #[test]
    fn a_stamp_is_due_where_the_clock_has_moved() {
        let said = |at: &str, offset| Message { time: Some(time(at, offset, TimeSource::Log)), ..Message::user("x") };
        let mut clock = Clock::default();
        let due = [
            (said("2026-03-01T09:01:00Z", Some(0)), true),
            (said("2026-03-01T09:29:00Z", Some(0)), false),
            (Message::user("undated"), false),
            (said("2026-03-01T09:30:00Z", Some(0)), true),
            (said("2026-03-01T09:31:00Z", Some(3_600)), true),
            (said("2026-03-02T09:31:00Z", Some(3_600)), true),
        ];
        for (message, is_due) in due {
            assert_eq!(clock.line(&message).is_some(), is_due, "{message:?}");
        }
    }
}
