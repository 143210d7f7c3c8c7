//! The chat of a Zoom meeting: saved by a participant with times of day, or saved with the recording.

use jiff::SignedDuration;

use crate::message::dates::{Days, clock};
use crate::message::identity;
use crate::message::speaker::{is_of_a_log, looks_like_name};
use crate::{Assembler, Head, IngestError, Ingestor, Input, Kind, Message, MessageTime, Role, Sink};

patterns! {
    SAVED = r"^(?:\d{4}-\d\d-\d\d )?(\d{1,2}:\d\d:\d\d)\s+(?:From|De|Von|Da|Van)\s+(.{1,200}?)\s*:(?:\s+(.*))?$";
    ADDRESSEE = r"\s{2,}(?:a|à|an|para|pour|aan)\s{2,}";
    RECORDED = r"^(\d\d:\d\d:\d\d)\t([^\t:]{1,100}):\t(.*)$";
    PRIVATE = r"(?i)\s*\((?:direct message|privately|mensaje directo|en privado|mensagem direta|em privado|message direct|en privé|direktnachricht|privat|messaggio diretto)\)$";
}

/// Reads the chats of Zoom meetings.
pub(crate) struct ZoomChat;

impl Ingestor for ZoomChat {
    named!("zoom-chat");

    fn sniff(&self, head: &Head<'_>) -> bool {
        head.text.lines().find(|line| !line.trim().is_empty()).is_some_and(|line| header(line.trim_end()).is_some())
    }

    fn read(&self, input: Input, sink: &mut Sink<'_>) -> Result<(), IngestError> {
        let (stem, origin) = (input.stem(), input.path.display().to_string());
        // Zoom gives every chat the same file name, and names the folder after the day and the meeting.
        let folder = input.path.parent().and_then(|folder| folder.file_name()).unwrap_or_default().to_string_lossy();
        let named = identity::named_time(&stem).map(|time| (stem.clone(), time));
        let named = named.or_else(|| identity::named_time(&folder).map(|time| (folder.into_owned(), time)));
        let Some(text) = sink.whole_text(input, "text")? else { return Ok(()) };
        let lines = lines(&text, sink);
        let Some(first) = lines.first() else { return Ok(()) };
        // People use the same greetings in every meeting. The identity therefore includes the time of the first line,
        // as it appears in the text.
        let id = identity::of_parts(&[&stem, first.time, first.from, &first.words]);
        let mut draft = Assembler::new(self.name(), id, origin);
        let (title, start) = named.map_or((stem, None), |(name, time)| (name, Some(time)));
        draft.meta().title = Some(title);
        draft.meta().created_at = start.map(|time| time.at);
        let mut days = Days::starting(start);
        for line in lines {
            let time = line.time(start, &mut days);
            line.messages().into_iter().for_each(|message| draft.push(Message { time, ..message }, sink));
        }
        draft.finish(sink);
        Ok(())
    }
}

/// One entry of the chat.
struct Line<'a> {
    /// The time, as it appears in the line.
    time: &'a str,
    is_time_of_day: bool,
    from: &'a str,
    /// The addressee, if not everybody could read the line.
    only_to: Option<&'a str>,
    words: String,
}

fn header(line: &str) -> Option<Line<'_>> {
    if let Some(found) = RECORDED.captures(line) {
        let [time, from, words] = [1, 2, 3].map(|group| found.get(group).map_or("", |group| group.as_str()));
        // The lines of a program's log look the same, but without names of people.
        if is_of_a_log(from) {
            return None;
        }
        return Some(Line { time, is_time_of_day: false, from, only_to: None, words: words.to_owned() });
    }
    let found = SAVED.captures(line)?;
    let [time, names, words] = [1, 2, 3].map(|group| found.get(group).map_or("", |group| group.as_str()));
    // The note about a direct message follows the name and would otherwise be part of the name.
    let public = PRIVATE.find(names).map_or(names, |mark| &names[..mark.start()]);
    // In other languages, the word between the names is short, but has two spaces on both sides.
    let other = || ADDRESSEE.find(public).map(|word| (&public[..word.start()], &public[word.end()..]));
    let (from, to) = match public.rsplit_once(" to ").or_else(|| public.rsplit_once(" To ")).or_else(other) {
        Some((from, to)) => (from.trim(), Some(to.trim())),
        None => (public, None),
    };
    // Without an addressee, only Zoom's own spacing or the name distinguishes the line from a line of a log.
    let is_spaced =
        line.contains("\t From ") && found.get(2).is_some_and(|names| line[names.end()..].starts_with(" : "));
    if to.is_none() && !is_spaced && !looks_like_name(from) {
        return None;
    }
    let only_to = if public == names { None } else { Some(to.unwrap_or("one person")) };
    Some(Line { time, is_time_of_day: true, from, only_to, words: words.to_owned() })
}

fn lines<'a>(text: &'a str, sink: &mut Sink<'_>) -> Vec<Line<'a>> {
    let mut lines: Vec<Line<'a>> = Vec::new();
    for (index, text) in text.lines().enumerate() {
        match (header(text.trim_end()), lines.last_mut()) {
            (Some(line), _) => lines.push(line),
            // A message of several lines has a header only on the first line.
            (None, Some(last)) => last.words.extend(["\n", text.trim()]),
            (None, None) if text.trim().is_empty() => {}
            (None, None) => sink.skip(index + 1, "text before the first name"),
        }
    }
    lines
}

impl Line<'_> {
    fn time(&self, start: Option<MessageTime>, days: &mut Days) -> Option<MessageTime> {
        let clock = SignedDuration::try_from(clock(self.time)?).ok()?;
        if self.is_time_of_day {
            return days.time_of_day(clock);
        }
        let start = start?;
        Some(MessageTime { at: start.at.checked_add(clock).ok()?, ..start })
    }

    /// Returns the text, separated from the program's additions: quotes, reactions and the addressee.
    fn messages(&self) -> Vec<Message> {
        let by = |kind: Kind, text: String| Message {
            kind,
            speaker: Some(self.from.to_owned()),
            ..Message::prose(Role::User, text)
        };
        let words = self.words.trim();
        let is_reaction = (words.starts_with("Reacted to \"") && words.contains("\" with "))
            || (words.starts_with("Removed a ") && words.contains(" reaction from \""));
        if is_reaction {
            return vec![by(Kind::Attachment, format!("[{words}]"))];
        }
        let mut messages = Vec::new();
        if let Some(to) = self.only_to {
            messages.push(by(Kind::Attachment, format!("[direct message to {to}]")));
        }
        let (quote, own) = split_quote(words);
        if let Some(quote) = quote {
            messages.push(by(Kind::Attachment, format!("[in reply to: {quote}]")));
        }
        messages.push(by(Kind::Prose, own.to_owned()));
        messages
    }
}

/// Separates `Replying to "…"` on the first line from the sender's own text.
fn split_quote(words: &str) -> (Option<&str>, &str) {
    let Some(rest) = words.strip_prefix("Replying to \"") else { return (None, words) };
    let (quote, own) = rest.split_once('\n').unwrap_or((rest, ""));
    (Some(quote.trim_end().trim_end_matches('"')), own.trim())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Transcript;

    fn read(name: &str, text: &str) -> (Transcript, Vec<usize>) {
        let mut seen = Vec::new();
        let mut accept = |transcript| seen.push(transcript);
        let mut sink = Sink::new(&mut accept);
        ZoomChat.read(Input::from_text(name, text), &mut sink).unwrap();
        let skipped = sink.skipped.iter().map(|skipped| skipped.record).collect();
        (seen.remove(0), skipped)
    }

    fn pieces(text: &str) -> Vec<(Kind, String, String)> {
        let messages = read("chat.txt", text).0.messages;
        messages.into_iter().map(|one| (one.kind, one.speaker.unwrap_or_default(), one.text)).collect()
    }

    fn said(from: &str, words: &str) -> (Kind, String, String) {
        (Kind::Prose, from.to_owned(), words.to_owned())
    }

    #[test]
    fn every_generation_of_the_program_is_read() {
        let rows = [
            ("10:02:33\t From Ana Silva to Everyone:\n\tone\n\ttwo\n", "one\ntwo"),
            ("10:02:33 From  Ana Silva  to  Everyone : one: two\n", "one: two"),
            ("10:02:33\t From Ana Silva : one", "one"),
            ("2026-03-04 10:02:33 From Ana Silva to Everyone:\n\tone", "one"),
            ("00:02:33\tAna Silva:\tone", "one"),
            ("10:02:33 De  Ana Silva  a  Todos:\r\n\tone", "one"),
            ("10:02:33 Von  Ana Silva  an  Alle : one", "one"),
        ];
        for (text, words) in rows {
            assert!(ZoomChat.sniff(&Head::new(text.into(), true)), "{text}");
            assert_eq!(pieces(text), [said("Ana Silva", words)], "{text}");
        }
    }

    #[test]
    fn direct_messages_quotes_and_reactions_are_distinguished_from_words() {
        let text = "10:00:00\t From Luís to Ana (Ext)(Direct Message):\n\tthanks\n10:01:00\t From Ana to Everyone:\n\tReplying to \"link is https...\"\n\t\n\tIt works.\n10:02:00\t From Rui to Everyone:\n\tReacted to \"It works.\" with 👍\n10:03:00 From Rui to Ana (Privately) : bye\n";
        let row = |kind, from: &str, words: &str| (kind, from.to_owned(), words.to_owned());
        assert_eq!(
            pieces(text),
            [
                row(Kind::Attachment, "Luís", "[direct message to Ana (Ext)]"),
                said("Luís", "thanks"),
                row(Kind::Attachment, "Ana", "[in reply to: link is https...]"),
                said("Ana", "It works."),
                row(Kind::Attachment, "Rui", "[Reacted to \"It works.\" with 👍]"),
                row(Kind::Attachment, "Rui", "[direct message to Ana]"),
                said("Rui", "bye"),
            ]
        );
    }

    #[test]
    fn the_folder_dates_the_chat_and_midnight_starts_a_day() {
        let text = "23:59:00\t From Ana to Everyone:\n\tone\n00:01:00\t From Ana to Everyone:\n\ttwo\n";
        let (chat, _) = read("2026-03-04 23.30.00 Late sync 890/meeting_saved_chat.txt", text);
        let times: Vec<_> = chat.messages.iter().map(|one| one.time.unwrap()).collect();
        let pieces: Vec<_> = times.iter().map(|time| (time.at.to_string(), time.offset_seconds)).collect();
        let expected = ["2026-03-04T23:59:00Z", "2026-03-05T00:01:00Z"];
        assert_eq!(pieces, expected.map(|at| (at.to_owned(), None)));
        assert_eq!(chat.title.as_deref(), Some("2026-03-04 23.30.00 Late sync 890"));
        let (recorded, _) = read("GMT20260304-233000_chat.txt", "00:45:00\tAna:\tone\n");
        assert_eq!(recorded.messages[0].time.unwrap().at.to_string(), "2026-03-05T00:15:00Z");
        assert_eq!(read("chat.txt", text).0.messages[0].time, None);
    }

    #[test]
    fn participants_call_themselves_as_they_like() {
        for from in ["Ana Silva - Porto, PT", "ana (she/her) Orchard Lab / orchard.example / seeds", "Bo's i'pad 2"] {
            assert_eq!(
                pieces(&format!("10:02:33\t From {from} : good morning: all")),
                [said(from, "good morning: all")]
            );
        }
    }

    #[test]
    fn what_stands_before_the_first_name_is_reported() {
        assert_eq!(read("chat.txt", "lost\n10:02:33\t From Ana to Everyone:\n\tone").1, [1]);
    }

    #[test]
    fn logs_are_refused() {
        for text in [
            "10:02:33 From here on nothing works", "10:02:33\t From now on: nothing", "10:02:33 From now on: nothing",
            "10:02:33\tINFO\tstarted", "10:02:33\tINFO:\tstarted", "10:02:33\tWorker 2:\tstarted",
            "Ana: hi\nLuís: ho\n",
        ] {
            assert!(!ZoomChat.sniff(&Head::new(text.into(), true)), "{text}");
        }
    }
}
