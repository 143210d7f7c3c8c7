//! Mail: mailbox files (`mbox`, as Gmail and Thunderbird export them) and single messages (`.eml`).
//!
//! A thread is a transcript: what Gmail says belongs together, else what `References` and `In-Reply-To` connect. Its
//! mails stand in a mailbox in any order and far apart, so the text of each, without attachments, waits in memory, or in
//! a nameless temporary file once it is much, until the mailbox has been read once; only then are threads put in the
//! order of time. A mail that stands alone in a file is a transcript by itself.
//!
//! What a mail quotes is context where it gives the answer its sense: between the lines, passed on, or above the first
//! mail of a thread. The mail that an answer repeats at its end is left out, since the thread holds it, and so are
//! signatures, the footers of lists, and second copies of a mail. Spam, drafts and what was thrown away are skipped.

mod body;
mod html;
mod mail;
mod split;
mod threads;

use self::body::Stretch;
use self::mail::Mail;
use self::split::Messages;
use self::threads::{Threads, Turn};
use crate::{Assembler, Head, IngestError, Ingestor, Input, MAX_RECORD_BYTES, Sink, identity};
use crate::{Kind, Message};

/// Text of mails that waits in memory until all of a mailbox has been read, in bytes.
const HELD_BYTES: usize = 64 << 20;

/// Reads mail.
pub struct Mbox;

impl Ingestor for Mbox {
    fn name(&self) -> &'static str {
        "mbox"
    }

    fn about(&self) -> &'static str {
        "mail: mailbox files and single .eml messages"
    }

    fn rule(&self) -> &'static str {
        "headers with `From:`, `Date:` and `Message-ID:` or `Received:`, behind a `From ` line with a date or none"
    }

    fn sniff(&self, head: &Head<'_>) -> bool {
        let mut lines = head.text.split('\n').skip_while(|line| line.trim().is_empty()).peekable();
        lines.next_if(|line| split::is_separator(line.as_bytes()));
        begins_with_headers(lines)
    }

    fn read(&self, input: Input, sink: &mut Sink<'_>) -> Result<(), IngestError> {
        let path = input.path.clone();
        let failed = |source| IngestError::Read { path: path.clone(), source };
        let origin = path.display().to_string();
        let (mut messages, mut threads, mut number) = (Messages::new(input.into_reader()), Threads::new(HELD_BYTES), 0);
        while let Some(raw) = messages.next().map_err(failed)? {
            number += 1;
            if raw.total > raw.bytes.len() && raw.total > MAX_RECORD_BYTES {
                sink.skip(number, format!("over the limit of {} MiB; only its start was read", MAX_RECORD_BYTES >> 20));
            }
            match mail::read(&raw.bytes) {
                Ok(mail) => threads.add(&mail).map_err(failed)?,
                Err(reason) => sink.skip(number, reason),
            }
        }
        let is_mailbox = messages.is_mailbox();
        let mut draft: Option<Assembler> = None;
        let finished = threads.each(|turn, mail| {
            if turn == Turn::First {
                let next = start(&mail, is_mailbox, &origin);
                draft.replace(next).into_iter().for_each(|complete| complete.finish(sink));
            }
            let Some(draft) = &mut draft else { return };
            spoken(mail, turn).into_iter().for_each(|message| draft.push(message, sink));
        });
        draft.into_iter().for_each(|last| last.finish(sink));
        finished.map_err(failed)
    }
}

/// Whether the first paragraph is the headers of a mail.
fn begins_with_headers<'a>(lines: impl Iterator<Item = &'a str>) -> bool {
    let mut names = Vec::new();
    for line in lines.map(|line| line.trim_end_matches('\r')).take_while(|line| !line.is_empty()) {
        if line.starts_with([' ', '\t']) && !names.is_empty() || line.starts_with(">From ") {
            continue;
        }
        match line.split_once(':') {
            Some((name, _)) if !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_graphic()) => {
                names.push(name.to_ascii_lowercase());
            }
            Some(_) | None => return false,
        }
    }
    let has = |wanted: &[&str]| names.iter().any(|name| wanted.contains(&name.as_str()));
    // A patch of version control has a sender and a date too, but was not sent.
    has(&["from"]) && has(&["date", "received"]) && has(&["message-id", "received", "x-gm-thrid", "delivered-to"])
}

/// Starts the transcript of a thread with its earliest mail.
fn start(first: &Mail, is_mailbox: bool, origin: &str) -> Assembler {
    let root = first.gmail_thread.as_ref().or(first.ancestors.first()).filter(|_| is_mailbox);
    let derived = || {
        let texts = first.stretches.iter().map(|(_, text)| text.as_str());
        let texts: Vec<&str> = first.speaker.as_deref().into_iter().chain(texts).collect();
        identity::of_parts(&texts)
    };
    let id = root.or(first.id.as_ref()).cloned().unwrap_or_else(derived);
    let mut draft = Assembler::new("mbox", id, origin);
    draft.meta().title.clone_from(&first.subject);
    draft
}

/// Turns a mail into messages; what it quotes at its end comes first, as it was said before.
fn spoken(mail: Mail, turn: Turn) -> Vec<Message> {
    let Mail { id, speaker, role, time, stretches, files, .. } = mail;
    let made = |kind: Kind, text: String| Message {
        id: id.clone().unwrap_or_default(),
        kind,
        speaker: speaker.clone(),
        time,
        ..Message::prose(role, text)
    };
    let of_others = |text: String| Message { speaker: None, ..made(Kind::Context, text) };
    let (trailing, shown): (Vec<_>, Vec<_>) =
        stretches.into_iter().partition(|(stretch, _)| *stretch == Stretch::Trailing);
    let quoted = trailing.into_iter().filter(|_| turn == Turn::First).map(|(_, text)| of_others(text));
    let said = shown.into_iter().map(|(stretch, text)| match stretch {
        Stretch::Own => made(Kind::Prose, text),
        Stretch::Quoted | Stretch::Trailing | Stretch::Forwarded => of_others(text),
    });
    quoted.chain(said).chain(files.into_iter().map(|label| made(Kind::Attachment, label))).collect()
}

#[cfg(test)]
mod tests;
