//! WhatsApp chats exported as text: `_chat.txt` of iOS and `WhatsApp Chat with X.txt` of Android, alone or in their zip.
//!
//! A chat is one transcript, however many years it spans: an export always holds it from its start on, so message ids
//! by position stay true as it grows, and long chats are cut into parts and windows further on. Its identity is the
//! chat's name and first message.

mod body;
mod header;
mod order;
mod phrases;

use self::header::{Shape, Stamp};
use self::order::Order;
use crate::speaker::is_of_a_log;
use crate::{Assembler, Head, IngestError, Ingestor, Input, MAX_RECORD_BYTES, Sink, identity};
use crate::{Kind, Message, Role};

/// Lines that detection looks at.
const SNIFFED_LINES: usize = 200;

/// Reads exported WhatsApp chats.
pub struct WhatsApp;

impl Ingestor for WhatsApp {
    fn name(&self) -> &'static str {
        "whatsapp"
    }

    fn about(&self) -> &'static str {
        "WhatsApp chats exported as text, alone or in their zip"
    }

    fn rule(&self) -> &'static str {
        "from the first line on, `date, time - Name: text` or `[date, time] Name: text` in the spelling of a phone"
    }

    fn sniff(&self, head: &Head<'_>) -> bool {
        let mut lines = head.text.split('\n').map(|line| line.trim_end_matches('\r'));
        let lines = lines.by_ref().skip_while(|line| line.trim().is_empty()).take(SNIFFED_LINES);
        is_chat(&lines.collect::<Vec<_>>())
    }

    fn read(&self, input: Input, sink: &mut Sink<'_>) -> Result<(), IngestError> {
        let (name, origin) = (file_name(&input), input.path.display().to_string());
        let Some(text) = input.into_text(MAX_RECORD_BYTES)? else {
            sink.skip(1, format!("chat over the limit of {} MiB", MAX_RECORD_BYTES >> 20));
            return Ok(());
        };
        let entries = entries(&text, sink);
        let stamps: Vec<Stamp> = entries.iter().map(|entry| entry.stamp).collect();
        let order = Order::decide(&stamps);
        let title = chat_name(&entries, name);
        let mut draft = Assembler::new(self.name(), identity_of(title.as_deref(), &entries), origin);
        draft.meta().title = title;
        for (place, entry) in entries.iter().enumerate() {
            let time = order.time(&entry.stamp);
            for message in entry.messages(place, time) {
                draft.push(message, sink);
            }
        }
        draft.finish(sink);
        Ok(())
    }
}

/// One header and all that follows it up to the next.
struct Entry<'a> {
    stamp: Stamp,
    /// The rest of the header's line and the lines behind it, marks included.
    rest: &'a str,
}

impl Entry<'_> {
    fn messages(&self, place: usize, time: Option<crate::MessageTime>) -> Vec<Message> {
        let (mut author, mut text) = body::split_author(self.rest);
        // The notice stands in the name of the other person or of the group, neither of whom wrote it.
        if place < 3 && author.is_some() && phrases::is_encryption_notice(text) && text.starts_with(header::is_mark) {
            (author, text) = (None, text);
        }
        body::messages(author.as_deref(), text, time)
    }
}

/// Splits `text` at its headers, all of which have the shape of the first.
fn entries<'a>(text: &'a str, sink: &mut Sink<'_>) -> Vec<Entry<'a>> {
    let mut found: Vec<(usize, Stamp, &'a str)> = Vec::new();
    let mut shape: Option<Shape> = None;
    let (mut place, mut has_preamble) = (0, false);
    for line in text.split('\n') {
        match header::split(line).filter(|(stamp, _)| shape.is_none_or(|shape| shape == stamp.shape)) {
            Some((stamp, rest)) => {
                shape = shape.or(Some(stamp.shape));
                found.push((place, stamp, rest));
            }
            None => has_preamble |= found.is_empty() && !line.trim().is_empty(),
        }
        place += line.len() + 1;
    }
    if has_preamble {
        sink.skip(1, "text before the first date and time");
    }
    let ends: Vec<usize> = found.iter().skip(1).map(|(place, ..)| place - 1).chain([text.len()]).collect();
    let entry = |((place, stamp, rest), end): ((usize, Stamp, &'a str), usize)| {
        let line = text[place..].split('\n').next().unwrap_or_default();
        Entry { stamp, rest: &text[place + line.len() - rest.len()..end] }
    };
    found.into_iter().zip(ends).map(entry).collect()
}

fn is_chat(lines: &[&str]) -> bool {
    let Some((first, _)) = lines.first().and_then(|line| header::split(line)) else { return false };
    let of_shape = |line: &&str| {
        header::split(line).filter(|(stamp, _)| stamp.shape == first.shape).map(|(_, rest)| rest.to_owned())
    };
    let rests: Vec<String> = lines.iter().filter_map(of_shape).collect();
    let authors: Vec<String> = rests.iter().filter_map(|rest| body::split_author(rest).0).collect();
    let is_noticed = rests.iter().take(3).any(|rest| phrases::is_encryption_notice(rest));
    let is_marked = rests.iter().any(|rest| rest.contains(header::is_mark));
    // Without brackets or a dash, or dated as a computer dates, lines may as well be a program's log.
    let is_loggish =
        first.year_at == Some(0) && first.shape.has_seconds || !first.shape.is_bracketed && !first.shape.has_tail;
    let names_people = authors.iter().all(|author| !is_of_a_log(author)) && (!is_loggish || several(&authors));
    is_noticed || names_people && !authors.is_empty() && (authors.len() > 1 || is_marked)
}

fn several(authors: &[String]) -> bool {
    authors.iter().any(|author| *author != authors[0])
        && authors.iter().all(|author| !author.contains(['.', '/', '[', '=']))
}

/// Returns the chat's name as the file or its archive has it.
fn file_name(input: &Input) -> Option<String> {
    let stem = input.stem();
    let archive = || input.path.parent()?.file_stem().map(|name| name.to_string_lossy().into_owned());
    let name = if stem == "_chat" { archive().filter(|_| input.is_in_archive())? } else { stem };
    let name = Some(name).filter(|name| name != "-")?;
    Some(bare_name(&name))
}

/// Takes what the program writes around the chat's name off a file's name, and the number of a second download.
fn bare_name(name: &str) -> String {
    const BEFORE: &[&str] = &[
        "WhatsApp Chat with ",
        "WhatsApp Chat - ",
        "WhatsApp-Chat mit ",
        "WhatsApp Chat mit ",
        "Chat de WhatsApp con ",
        "Discussion WhatsApp avec ",
        "Chat WhatsApp con ",
        "Conversa do WhatsApp com ",
        "WhatsApp-chat met ",
        "WhatsApp-keskustelu: ",
        "WhatsApp Chat with",
    ];
    const AROUND: &[(&str, &str)] =
        &[("与", "的 WhatsApp 聊天"), ("与", "的WhatsApp聊天记录"), ("與", "的 WhatsApp 對話")];
    let name = name.trim();
    let copy = name.strip_suffix(')').and_then(|rest| rest.rsplit_once(" ("));
    let name = match copy {
        Some((before, number)) if number.bytes().all(|byte| byte.is_ascii_digit()) => before,
        Some(_) | None => name,
    };
    let around = AROUND.iter().find_map(|(open, close)| name.strip_prefix(open)?.strip_suffix(close));
    let bare = around.or_else(|| BEFORE.iter().find_map(|prefix| name.strip_prefix(prefix)));
    bare.unwrap_or(name).trim().to_owned()
}

/// Returns the chat's name: as the file has it, else in whose name the first notice stands.
fn chat_name(entries: &[Entry<'_>], file_name: Option<String>) -> Option<String> {
    let noticed = || {
        let (author, text) =
            entries.iter().take(3).map(|entry| body::split_author(entry.rest)).find(|(author, _)| author.is_some())?;
        author.filter(|_| phrases::is_encryption_notice(text))
    };
    file_name.or_else(noticed).filter(|name| !name.is_empty())
}

/// Derives the identity from the chat's name and the first thing that a person said; times would change with the zone of
/// the phone at the next export.
fn identity_of(name: Option<&str>, entries: &[Entry<'_>]) -> String {
    let is_said =
        |message: &Message| message.role == Role::User && message.kind != Kind::Context && !message.text.is_empty();
    let first =
        entries.iter().enumerate().find_map(|(place, entry)| entry.messages(place, None).into_iter().find(is_said));
    identity::of_file(name.unwrap_or_default(), &first.unwrap_or_else(|| Message::user("")))
}

#[cfg(test)]
mod tests;
