//! A Discord channel exported to text.

use jiff::civil::{Date, DateTime, Time};

use super::spelling::{file_label, set_names};
use crate::message::dates::{hour_of_day, month_of};
use crate::message::{identity, parts};
use crate::people::whatsapp::{Order, Stamp, split};
use crate::{Assembler, Kind, Message, MessageTime, Role, Sink, TimeSource};

patterns! {
    /// A date with the name of the month, as in older versions.
    NAMED = r"^\[(\d{1,2})[-. ]([A-Za-z]{3})[a-z]*[-. ](\d{2,4}),? (\d{1,2}):(\d\d) ?([AaPp][Mm])?\] (.+)$";
    /// Notices from Discord, which the exporter formats like messages of a person.
    NOTICE = r"^(?:Joined the server|Pinned a message|Started a call|Started a thread|Added .{1,60} to the group|Removed .{1,60} from the group|Left the group|Changed the channel (?:name|icon))\b";
}

/// Returns whether `text` is the start of an export.
pub(super) fn is_written(text: &str) -> bool {
    let mut lines = text.trim_start_matches('\u{feff}').lines();
    let is_ruled = lines.next().is_some_and(is_rule);
    let guild = lines.next().is_some_and(|line| line.starts_with("Guild: "));
    is_ruled && guild && lines.next().is_some_and(|line| line.starts_with("Channel: "))
}

fn is_rule(line: &str) -> bool {
    let line = line.trim_end();
    line.len() >= 30 && line.bytes().all(|byte| byte == b'=')
}

/// The time at which a message was sent, as far as a single line determines it.
enum When {
    Known(Option<MessageTime>),
    /// A date in numbers, whose order of day and month is derived from all lines.
    Numbers(Stamp),
}

/// One message, in its exported form.
struct Sent<'a> {
    when: When,
    author: &'a str,
    lines: Vec<&'a str>,
}

/// Reads the export `text`.
pub(super) fn read(text: &str, origin: String, sink: &mut Sink<'_>) {
    let lines: Vec<&str> = text.trim_start_matches('\u{feff}').lines().map(str::trim_end).collect();
    let field = |name: &str| lines.iter().take(4).find_map(|line| line.strip_prefix(name)).unwrap_or_default().trim();
    let (guild, channel) = (field("Guild: "), field("Channel: "));
    let end = lines.iter().rposition(|line| line.starts_with("Exported ")).filter(|end| is_rule(lines[end - 1]));
    let body = &lines[..end.map_or(lines.len(), |end| end - 1)];
    let sent = messages(body);
    let stamps: Vec<Stamp> =
        sent.iter().filter_map(|one| if let When::Numbers(stamp) = one.when { Some(stamp) } else { None }).collect();
    let order = Order::decide(&stamps);
    let mut draft = Assembler::new("discord", "", origin);
    set_names(&mut draft, guild, channel);
    for one in sent {
        let time = match one.when {
            When::Known(time) => time,
            When::Numbers(stamp) => order.time(&stamp),
        };
        for message in contents(&one.lines) {
            let message = Message { speaker: Some(one.author.to_owned()), time, ..message };
            // A long channel is exported in parts, so the identity includes the first message.
            let at = time.map(|time| time.at.to_string()).unwrap_or_default();
            draft.name_after(&message, || identity::of_parts(&[guild, channel, &at, &message.content_hash()]));
            draft.push(message, sink);
        }
    }
    draft.finish(sink);
}

fn messages<'a>(lines: &[&'a str]) -> Vec<Sent<'a>> {
    let mut sent: Vec<Sent<'a>> = Vec::new();
    // The text above the first message describes the channel.
    for (number, line) in lines.iter().enumerate() {
        let follows_blank = number == 0 || lines[number - 1].is_empty();
        match (header(line).filter(|_| follows_blank), sent.last_mut()) {
            (Some((when, author)), _) => sent.push(Sent { when, author, lines: Vec::new() }),
            (None, Some(last)) => last.lines.push(line),
            (None, None) => {}
        }
    }
    sent
}

fn header(line: &str) -> Option<(When, &str)> {
    if !line.starts_with('[') {
        return None;
    }
    let (when, author) = if let Some(found) = NAMED.captures(line) {
        let [day, month, year, hour, minute, half, author] =
            [1, 2, 3, 4, 5, 6, 7].map(|group| found.get(group).map_or("", |group| group.as_str()));
        let half = Some(half).filter(|half| !half.is_empty());
        let time = named(day, month, year).and_then(|date| {
            let hour = hour_of_day(hour.parse().ok()?, half);
            let time = Time::new(hour, minute.parse().ok()?, 0, 0).ok()?;
            MessageTime::local(DateTime::from_parts(date, time), TimeSource::Log)
        });
        (When::Known(time), author)
    } else {
        let (stamp, author) = split(line)?;
        (When::Numbers(stamp), author)
    };
    let author = author.trim().trim_end_matches(" (pinned)");
    // Older accounts have a number after their name.
    let bare = author
        .rsplit_once('#')
        .filter(|(_, digits)| digits.len() == 4 && digits.bytes().all(|byte| byte.is_ascii_digit()));
    let author = bare.map_or(author, |(name, _)| name);
    (!author.is_empty()).then_some((when, author))
}

fn named(day: &str, month: &str, year: &str) -> Option<Date> {
    let year: i16 = year.parse().ok()?;
    Date::new(if year < 100 { 2000 + year } else { year }, month_of(month)?, day.parse().ok()?).ok()
}

/// Returns the text, the files and the previews of a message.
fn contents(lines: &[&str]) -> Vec<Message> {
    let mut sections: Vec<(&str, Vec<&str>)> = vec![("", Vec::new())];
    for line in lines {
        match line.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')) {
            Some(name @ ("Attachments" | "Embed" | "Stickers" | "Reactions" | "Forwarded Message")) => {
                sections.push((name, Vec::new()));
            }
            _ => sections.last_mut().into_iter().for_each(|(_, lines)| lines.push(line)),
        }
    }
    let mut messages = Vec::new();
    for (name, lines) in sections {
        let text = lines.join("\n").trim().to_owned();
        let of = |kind: Kind, text: String| Message::new(Role::User, kind, text);
        let files = lines.iter().filter(|line| !line.is_empty());
        match name {
            "" if NOTICE.is_match(&text) => messages.push(of(Kind::Context, text)),
            "" => messages.push(of(Kind::Prose, text)),
            "Attachments" => {
                messages.extend(files.map(|file| of(Kind::Attachment, file_label(parts::address_name(file)))));
            }
            "Stickers" => messages.extend(
                files.map(|file| of(Kind::Attachment, parts::file_label("sticker", parts::address_name(file)))),
            ),
            "Reactions" => {}
            _ => messages.push(of(Kind::Context, text)),
        }
    }
    messages
}

#[cfg(test)]
mod tests {
    use super::super::Discord;
    use crate::testing::{lines, read, sniffs};

    const RULE: &str = "==============================================================";

    #[test]
    fn both_notations_of_dates_are_read() {
        for (first, second, at) in [
            ("29-Oct-16 11:58 PM", "30-Oct-16 12:01 AM", "2016-10-30T00:01:00Z"),
            ("29/10/2016 23:58", "30/10/2016 00:01", "2016-10-30T00:01:00Z"),
            ("10/29/2016 11:58 PM", "10/30/2016 12:01 AM", "2016-10-30T00:01:00Z"),
        ] {
            let text = format!(
                "{RULE}\nGuild: Makers\nChannel: Text / general\nTopic: all\nand more\n{RULE}\n\n[{first}] ana#1234\none\n\ntwo\n\n{{Attachments}}\nhttps://cdn.example/a/plan.png\n\n{{Embed}}\nPreview\n\n{{Reactions}}\n👋 (2)\n\n[{second}] bo (pinned)\nJoined the server.\n\n{RULE}\nExported 2 message(s)\n{RULE}\n"
            );
            assert!(sniffs(&Discord, &text));
            let (seen, _) = read(&Discord, "x.txt", &text);
            assert_eq!(
                lines(&seen[0]),
                [
                    "User Prose one\n\ntwo", "User Attachment [image: plan.png]", "User Context Preview",
                    "User Context Joined the server.",
                ]
            );
            let speakers: Vec<_> = seen[0].messages.iter().map(|one| one.speaker.as_deref().unwrap()).collect();
            assert_eq!(speakers, ["ana", "ana", "ana", "bo"]);
            assert_eq!(seen[0].messages[3].time.unwrap().at.to_string(), at);
            assert_eq!((seen[0].title.as_deref(), seen[0].project.as_deref()), (Some("general"), Some("Makers")));
        }
        assert!(!sniffs(&Discord, &format!("{RULE}\nGuild: a\n")));
    }
}
