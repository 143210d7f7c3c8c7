//! Mail: mailbox files (`mbox`, as Gmail and Thunderbird export them) and single messages (`.eml`).
//!
//! Each thread is a transcript: the emails that Gmail assigned to one thread, or, failing that, the emails connected by
//! `References` and `In-Reply-To`. The emails of a thread may be in any order and far apart in a mailbox. The text of
//! each email, without attachments, is therefore stored until the whole mailbox has been read: in memory or, if there
//! is much of it, in an unnamed temporary file. Only then are the threads sorted by time. A file with a single email is
//! a separate transcript.
//!
//! Quoted text is context if the reply would make no sense without it: answered line by line, forwarded, or before the
//! first mail of a thread. The email that a reply repeats at its end is left out, since the thread contains it.
//! Signatures, mailing list footers and duplicate emails are left out, too. Spam, drafts and deleted emails are
//! skipped.

mod mail;

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, Hash, RandomState};
use std::io::{self, BufRead, Read, Seek, SeekFrom, Write};

use tempfile::SpooledTempFile;

use crate::message::identity;
use crate::people::mbox::mail::{Mail, Stretch};
use crate::{Assembler, Head, IngestError, Ingestor, Input, Kind, MAX_RECORD_BYTES, Message, Sink};

/// Size of the text, in bytes, that is kept in memory until the whole mailbox has been read.
const HELD_BYTES: usize = 64 << 20;

/// Reads mail.
pub(crate) struct Mbox;

impl Ingestor for Mbox {
    named!("mbox");

    fn sniff(&self, head: &Head<'_>) -> bool {
        let mut lines = head.text.split('\n').skip_while(|line| line.trim().is_empty()).peekable();
        lines.next_if(|line| is_separator(line.as_bytes()));
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
            draft.extend(spoken(mail, turn), sink);
        });
        draft.into_iter().for_each(|last| last.finish(sink));
        finished.map_err(failed)
    }
}

/// Returns whether the first paragraph consists of the headers of an email.
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
    // A version control patch also has a sender and a date, but was never sent.
    has(&["from"]) && has(&["date", "received"]) && has(&["message-id", "received", "x-gm-thrid", "delivered-to"])
}

/// Starts the transcript of a thread with its earliest email.
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

/// Converts an email to messages. Text that is quoted at the end of the email comes first, because it was said earlier.
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

// The messages of a mailbox file, one at a time.

/// One message as stored in the file.
#[derive(Debug, Default, PartialEq, Eq)]
struct Raw {
    /// Headers and body. Lines that were escaped because they resemble a separator are unescaped.
    bytes: Vec<u8>,
    /// The length of the message; if it exceeds [`MAX_RECORD_BYTES`], `bytes` lacks the end.
    total: usize,
}

/// Reads a mailbox, or a file with a single message.
struct Messages {
    reader: Box<dyn BufRead + Send>,
    /// Whether separators occur between messages, as determined by the first line.
    is_mailbox: Option<bool>,
    after_blank: bool,
}

impl Messages {
    /// Starts reading at the first line of `reader`.
    fn new(reader: Box<dyn BufRead + Send>) -> Self {
        Self { reader, is_mailbox: None, after_blank: true }
    }

    /// Returns whether separators occur between messages, which is known once the first message has been read.
    fn is_mailbox(&self) -> bool {
        self.is_mailbox == Some(true)
    }

    /// Returns the next message, keeping only one message in memory.
    ///
    /// # Errors
    /// Any error while reading the file.
    fn next(&mut self) -> io::Result<Option<Raw>> {
        let mut raw = Raw::default();
        let mut any = false;
        while let Some(line) = self.line()? {
            any = true;
            // Not all programs that write mailboxes escape such lines within a text.
            let is_separator = (self.after_blank || is_archived(&line)) && is_separator(&line);
            self.after_blank = line.iter().all(u8::is_ascii_whitespace);
            if self.is_mailbox.is_none() {
                if self.after_blank {
                    continue;
                }
                self.is_mailbox = Some(is_separator);
                if is_separator {
                    continue;
                }
            }
            if is_separator && self.is_mailbox() {
                return Ok(Some(raw));
            }
            raw.total += line.len();
            if raw.bytes.len() < MAX_RECORD_BYTES {
                raw.bytes.extend_from_slice(if self.is_mailbox() { unquoted(&line) } else { &line });
            }
        }
        Ok(any.then_some(raw))
    }

    /// Reads a line including its line break, or a piece of a line that exceeds the maximum length of a message.
    fn line(&mut self) -> io::Result<Option<Vec<u8>>> {
        let mut line = Vec::new();
        self.reader.by_ref().take(MAX_RECORD_BYTES as u64).read_until(b'\n', &mut line)?;
        Ok((!line.is_empty()).then_some(line))
    }
}

/// Returns whether `line` is `From sender date`: a time and a year distinguish it from a sentence that was not escaped.
fn is_separator(line: &[u8]) -> bool {
    let Some(rest) = line.strip_prefix(b"From ") else { return false };
    let mut words = rest.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()).skip(1).take(12);
    let digits = |word: &[u8]| word.iter().all(u8::is_ascii_digit);
    let is_clock = |word: &[u8]| word.len() >= 5 && word[2] == b':' && digits(&word[..2]) && digits(&word[3..5]);
    let is_year = |word: &[u8]| word.len() == 4 && digits(word) && (word.starts_with(b"19") || word.starts_with(b"20"));
    let (mut has_clock, mut has_year) = (false, false);
    words.by_ref().for_each(|word| {
        has_clock |= is_clock(word);
        has_year |= is_year(word);
    });
    has_clock && has_year
}

/// Returns whether `line` is a separator in the format of list archives, which needs no blank line before it: `From ana
/// at e.org  Mon May  3 07:20:24 2004`.
fn is_archived(line: &[u8]) -> bool {
    let mut words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    words.next() == Some(b"From") && words.nth(1) == Some(b"at") && words.count() == 6
}

/// Unescapes a line of the text that begins like a separator.
fn unquoted(line: &[u8]) -> &[u8] {
    // Mailboxes add one `>` to each such line, even if it already starts with `>`, so exactly one is removed.
    let quoted = line.iter().take_while(|byte| **byte == b'>').count();
    if quoted > 0 && line[quoted..].starts_with(b"From ") { &line[1..] } else { line }
}

// The assignment of emails to threads, and their text until all emails have been read.

/// Collects emails by thread. Each email uses a few hundred bytes of memory, regardless of its size.
struct Threads {
    spool: SpooledTempFile,
    end: u64,
    mails: Vec<Place>,
    /// For each group, the group that it was merged into, or the group itself.
    groups: Vec<usize>,
    by_id: HashMap<u64, usize>,
    seen: HashSet<u64>,
    hasher: RandomState,
}

/// The position of an email in the spool.
#[derive(Debug, Clone, Copy)]
struct Place {
    group: usize,
    at: i64,
    start: u64,
    length: usize,
}

impl Threads {
    /// Creates an empty collection; if the text exceeds `held` bytes, it is moved from memory to an unnamed temporary
    /// file.
    fn new(held: usize) -> Self {
        Self {
            spool: SpooledTempFile::new(held),
            end: 0,
            mails: Vec::new(),
            groups: Vec::new(),
            by_id: HashMap::new(),
            seen: HashSet::new(),
            hasher: RandomState::new(),
        }
    }

    /// Adds an email; a duplicate, such as a copy with another label, is left out.
    ///
    /// # Errors
    /// Any error while writing the temporary file.
    fn add(&mut self, mail: &Mail) -> io::Result<()> {
        if !self.seen.insert(self.hash(&(&mail.id, &mail.speaker, mail.time.map(|time| time.at), text_of(mail)))) {
            return Ok(());
        }
        let group = self.group_of(mail);
        // An email without a date is placed after the previous email.
        let before = self.mails.last().map_or(i64::MIN, |mail| mail.at);
        let at = mail.time.map_or(before, |time| time.at.as_millisecond());
        let bytes = serde_json::to_vec(mail)?;
        self.spool.seek(SeekFrom::Start(self.end))?;
        self.spool.write_all(&bytes)?;
        self.mails.push(Place { group, at, start: self.end, length: bytes.len() });
        self.end += bytes.len() as u64;
        Ok(())
    }

    /// Passes the emails to `take`, thread by thread in the order in which the threads begin in the file, and by time
    /// within each thread.
    ///
    /// # Errors
    /// Any error while reading the temporary file.
    fn each(mut self, mut take: impl FnMut(Turn, Mail)) -> io::Result<()> {
        let mut mails = std::mem::take(&mut self.mails);
        let mut order: HashMap<usize, usize> = HashMap::new();
        for (place, mail) in mails.iter_mut().enumerate() {
            mail.group = self.find(mail.group);
            order.entry(mail.group).or_insert(place);
        }
        mails.sort_by_key(|mail| (order[&mail.group], mail.at));
        let mut previous = None;
        for mail in mails {
            let mut bytes = vec![0; mail.length];
            self.spool.seek(SeekFrom::Start(mail.start))?;
            self.spool.read_exact(&mut bytes)?;
            let is_first = previous.replace(mail.group) != Some(mail.group);
            take(if is_first { Turn::First } else { Turn::Later }, serde_json::from_slice(&bytes)?);
        }
        Ok(())
    }

    /// Returns the group of an email, and merges the groups that the email connects.
    fn group_of(&mut self, mail: &Mail) -> usize {
        let mut group = None;
        let own = mail.id.iter();
        // If Gmail has assigned the email to a thread, the ids of ancestors could merge threads that Gmail separated.
        let keys: Vec<u64> = match &mail.gmail_thread {
            Some(thread) => own.map(|id| self.hash(id)).chain([self.hash(&("gmail", thread))]).collect(),
            None => own.chain(&mail.ancestors).map(|id| self.hash(id)).collect(),
        };
        for key in keys {
            let next = self.groups.len();
            let known = *self.by_id.entry(key).or_insert_with(|| group.unwrap_or(next));
            if known == next {
                self.groups.push(next);
            }
            let known = self.find(known);
            if let Some(group) = group.filter(|group| *group != known) {
                self.groups[known] = group;
            }
            group = group.or(Some(known));
        }
        group.unwrap_or_else(|| {
            self.groups.push(self.groups.len());
            self.groups.len() - 1
        })
    }

    fn find(&mut self, group: usize) -> usize {
        let mut root = group;
        while self.groups[root] != root {
            // Path halving makes later look-ups shorter.
            self.groups[root] = self.groups[self.groups[root]];
            root = self.groups[root];
        }
        root
    }

    fn hash(&self, value: &impl Hash) -> u64 {
        self.hasher.hash_one(value)
    }
}

/// Whether an email begins a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Turn {
    /// The email is the earliest of its thread.
    First,
    /// The email follows another email.
    Later,
}

fn text_of(mail: &Mail) -> Vec<&str> {
    mail.stretches.iter().map(|(_, text)| text.as_str()).collect()
}

#[cfg(test)]
mod split_tests {
    use super::*;

    fn split(text: &str) -> Vec<String> {
        let mut messages = Messages::new(Box::new(io::Cursor::new(text.as_bytes().to_vec())));
        let mut seen = Vec::new();
        while let Some(raw) = messages.next().unwrap() {
            assert!(raw.total >= raw.bytes.len());
            seen.push(String::from_utf8(raw.bytes).unwrap());
        }
        seen
    }

    #[test]
    fn separators_part_messages_and_quoted_ones_are_unquoted_once() {
        let text = "From a@e.org Thu Mar  5 10:00:00 2026\nA: 1\n\n>From here\n>>From there\n> From\n\nFrom - Thu Mar 05 10:00:00 +0000 2026\nA: 2\n\nFrom 10:30 we meet\n";
        assert_eq!(split(text), ["A: 1\n\nFrom here\n>From there\n> From\n\n", "A: 2\n\nFrom 10:30 we meet\n"]);
    }

    #[test]
    fn a_file_without_separators_is_one_message() {
        let text = "A: 1\n\n>From here\n\nFrom x Thu Mar  5 10:00:00 2026\n";
        assert_eq!(split(&format!("\r\n{text}")), [text]);
        assert_eq!(split(""), [""; 0]);
    }

    #[test]
    fn a_separator_in_the_middle_of_a_paragraph_is_text() {
        assert_eq!(split("From a Thu Mar 5 10:00:00 2026\nA: 1\n\nx\nFrom b Thu Mar 5 10:00:00 2026\n").len(), 1);
    }
}

#[cfg(test)]
mod threads_tests {
    use super::mail;
    use super::*;

    #[test]
    fn mails_come_back_whole_from_memory_and_from_a_file() {
        for held in [1_000_000, 100] {
            let mut threads = Threads::new(held);
            for number in [0, 1, 2] {
                let text = format!("Message-ID: <{number}>\nFrom: a@e.org\n\n{number} {}", "word ".repeat(100));
                threads.add(&mail::read(text.as_bytes()).unwrap()).unwrap();
            }
            let mut seen = Vec::new();
            threads.each(|turn, mail| seen.push((turn, mail.id.unwrap(), mail.stretches[0].1.len()))).unwrap();
            let expected = ["0", "1", "2"].map(|id| (Turn::First, id.to_owned(), 501));
            assert_eq!(seen, expected, "{held}");
        }
    }
}

#[cfg(test)]
mod tests;
