//! WhatsApp chats exported as text: `_chat.txt` from iOS and `WhatsApp Chat with X.txt` from Android, alone or in a zip
//! file.
//!
//! A chat is one transcript, however many years it spans. An export always contains the chat from its beginning, so
//! message ids based on position remain valid as it grows; long chats are divided into parts and windows later. The
//! identity consists of the chat's name and its first message.

mod phrases;

use std::sync::LazyLock;

use jiff::civil::{Date, DateTime, Time};
use regex::Regex;

use crate::message::identity;
use crate::message::parts::{file_label, on_one_line};
use crate::message::speaker::is_of_a_log;
use crate::{Assembler, Head, IngestError, Ingestor, Input, Kind, Message, MessageTime, Role, Sink, TimeSource};

/// Number of lines that detection examines.
const SNIFFED_LINES: usize = 200;

/// Reads exported WhatsApp chats.
pub(crate) struct WhatsApp;

impl Ingestor for WhatsApp {
    named!("whatsapp");

    fn sniff(&self, head: &Head<'_>) -> bool {
        let mut lines = head.text.split('\n').map(|line| line.trim_end_matches('\r'));
        let lines = lines.by_ref().skip_while(|line| line.trim().is_empty()).take(SNIFFED_LINES);
        is_chat(&lines.collect::<Vec<_>>())
    }

    fn read(&self, input: Input, sink: &mut Sink<'_>) -> Result<(), IngestError> {
        let (name, origin) = (file_name(&input), input.path.display().to_string());
        let Some(text) = sink.whole_text(input, "chat")? else { return Ok(()) };
        let entries = entries(&text, sink);
        let stamps: Vec<Stamp> = entries.iter().map(|entry| entry.stamp).collect();
        // The order of day and month depends on the phone's language, and cannot be derived from a single date.
        let order = Order::decide(&stamps);
        let title = chat_name(&entries, name);
        let mut draft = Assembler::new(self.name(), identity_of(title.as_deref(), &entries), origin);
        draft.meta().title = title;
        for (place, entry) in entries.iter().enumerate() {
            let time = order.time(&entry.stamp);
            draft.extend(entry.messages(place, time), sink);
        }
        draft.finish(sink);
        Ok(())
    }
}

/// One header and all text up to the next header.
struct Entry<'a> {
    stamp: Stamp,
    /// The rest of the header's line and the following lines, including invisible marks.
    rest: &'a str,
}

impl Entry<'_> {
    fn messages(&self, place: usize, time: Option<crate::MessageTime>) -> Vec<Message> {
        let (mut author, text) = split_author(self.rest);
        // The notice is attributed to the other person or to the group, neither of whom wrote it.
        if place < 3 && author.is_some() && phrases::is_encryption_notice(text) && text.starts_with(is_mark) {
            author = None;
        }
        messages(author.as_deref(), text, time)
    }
}

/// Splits `text` at its headers, all of which have the form of the first one.
fn entries<'a>(text: &'a str, sink: &mut Sink<'_>) -> Vec<Entry<'a>> {
    let mut found: Vec<(usize, Stamp, &'a str)> = Vec::new();
    let mut shape: Option<Shape> = None;
    let (mut place, mut has_preamble) = (0, false);
    for line in text.split('\n') {
        match split(line).filter(|(stamp, _)| shape.is_none_or(|shape| shape == stamp.shape)) {
            Some((stamp, rest)) => {
                shape = shape.or(Some(stamp.shape));
                found.push((place, stamp, rest));
            }
            None => has_preamble |= found.is_empty() && !line.trim().is_empty(),
        }
        place += line.len() + 1;
    }
    if has_preamble {
        sink.skip(1, "there is text before the first date and time");
    }
    let ends: Vec<usize> = found.iter().skip(1).map(|(place, ..)| place - 1).chain([text.len()]).collect();
    let entry = |((place, stamp, rest), end): ((usize, Stamp, &'a str), usize)| {
        let line = text[place..].split('\n').next().unwrap_or_default();
        Entry { stamp, rest: &text[place + line.len() - rest.len()..end] }
    };
    found.into_iter().zip(ends).map(entry).collect()
}

fn is_chat(lines: &[&str]) -> bool {
    let Some((first, _)) = lines.first().and_then(|line| split(line)) else { return false };
    let of_shape =
        |line: &&str| split(line).filter(|(stamp, _)| stamp.shape == first.shape).map(|(_, rest)| rest.to_owned());
    let rests: Vec<String> = lines.iter().filter_map(of_shape).collect();
    let authors: Vec<String> = rests.iter().filter_map(|rest| split_author(rest).0).collect();
    let is_noticed = rests.iter().take(3).any(|rest| phrases::is_encryption_notice(rest));
    let is_marked = rests.iter().any(|rest| rest.contains(is_mark));
    // Without brackets or a dash, or with dates in a technical format, lines may also be a program's log.
    let is_loggish =
        first.year_at == Some(0) && first.shape.has_seconds || !first.shape.is_bracketed && !first.shape.has_tail;
    let names_people = authors.iter().all(|author| !is_of_a_log(author)) && (!is_loggish || several(&authors));
    is_noticed || names_people && !authors.is_empty() && (authors.len() > 1 || is_marked)
}

fn several(authors: &[String]) -> bool {
    authors.iter().any(|author| *author != authors[0])
        && authors.iter().all(|author| !author.contains(['.', '/', '[', '=']))
}

/// Returns the chat's name from the name of the file or its archive.
fn file_name(input: &Input) -> Option<String> {
    let stem = input.stem();
    let archive = || input.path.parent()?.file_stem().map(|name| name.to_string_lossy().into_owned());
    let name = if stem == "_chat" { archive().filter(|_| input.is_in_archive())? } else { stem };
    // Standard input has no name.
    let name = Some(name).filter(|name| name != "-")?;
    Some(bare_name(&name))
}

/// Removes the text that the program adds around the chat's name in a file name, and the number of a repeated download.
fn bare_name(name: &str) -> String {
    const BEFORE: &[&str] = &[
        "WhatsApp Chat with ", "WhatsApp Chat - ", "WhatsApp-Chat mit ", "WhatsApp Chat mit ", "Chat de WhatsApp con ",
        "Discussion WhatsApp avec ", "Chat WhatsApp con ", "Conversa do WhatsApp com ", "WhatsApp-chat met ",
        "WhatsApp-keskustelu: ", "WhatsApp Chat with",
    ];
    const AROUND: &[(&str, &str)] =
        &[("与", "的 WhatsApp 聊天"), ("与", "的WhatsApp聊天记录"), ("與", "的 WhatsApp 對話")];
    let name = name.trim();
    // A repeated download of the same chat is called `… (1)`.
    let copy = name.strip_suffix(')').and_then(|rest| rest.rsplit_once(" ("));
    let name = match copy {
        Some((before, number)) if number.bytes().all(|byte| byte.is_ascii_digit()) => before,
        Some(_) | None => name,
    };
    let around = AROUND.iter().find_map(|(open, close)| name.strip_prefix(open)?.strip_suffix(close));
    let bare = around.or_else(|| BEFORE.iter().find_map(|prefix| name.strip_prefix(prefix)));
    bare.unwrap_or(name).trim().to_owned()
}

/// Returns the chat's name: from the file name, or, failing that, from the first notice.
fn chat_name(entries: &[Entry<'_>], file_name: Option<String>) -> Option<String> {
    let noticed = || {
        let (author, text) =
            entries.iter().take(3).map(|entry| split_author(entry.rest)).find(|(author, _)| author.is_some())?;
        author.filter(|_| phrases::is_encryption_notice(text))
    };
    file_name.or_else(noticed).filter(|name| !name.is_empty())
}

/// Derives the identity from the chat's name and the first message of a person. Times are left out, because they change
/// if the phone is in a different time zone at the next export.
fn identity_of(name: Option<&str>, entries: &[Entry<'_>]) -> String {
    let is_said =
        |message: &Message| message.role == Role::User && message.kind != Kind::Context && !message.text.is_empty();
    let first =
        entries.iter().enumerate().find_map(|(place, entry)| entry.messages(place, None).into_iter().find(is_said));
    identity::of_file(name.unwrap_or_default(), &first.unwrap_or_else(|| Message::user("")))
}

// The start of a message: date and time in the format of the exporting phone's locale.

/// One header; the number that is the day is known only once the whole file has been read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stamp {
    /// The three numbers of the date, in their original order.
    fields: [u16; 3],
    /// The index of the number that has four digits or is marked as the year.
    year_at: Option<usize>,
    /// Hour, minute and second on a 24-hour clock.
    clock: (u8, u8, u8),
    /// Whether the time is on a 12-hour clock with American-style AM or PM in capitals.
    is_american: bool,
    /// The form, which all headers of the file share.
    shape: Shape,
}

/// The form of a header, which is the same throughout one export.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Shape {
    /// Whether date and time appear in square brackets.
    is_bracketed: bool,
    /// Whether a dash or colon separates date and time from the following text.
    has_tail: bool,
    /// The character between day and month.
    separator: char,
    /// Whether the time includes seconds.
    has_seconds: bool,
}

/// Words for a time before noon, in lower case and without spaces and dots.
const BEFORE_NOON: &[&str] = &["am", "上午", "凌晨", "清晨", "早上", "午前", "오전", "ص", "πμ"];
/// Words for a time from noon on, in lower case and without spaces and dots.
const FROM_NOON: &[&str] = &["pm", "中午", "下午", "傍晚", "晚上", "午後", "오후", "م", "μμ"];

/// Returns whether `c` is invisible and merely controls the text direction.
const fn is_mark(c: char) -> bool {
    matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}

/// Returns `text` without invisible marks.
fn without_marks(text: &str) -> String {
    text.chars().filter(|c| !is_mark(*c)).collect()
}

/// Splits `line` into its header and the rest, which retains invisible marks: they distinguish the program's text from
/// typed text.
pub(crate) fn split(line: &str) -> Option<(Stamp, &str)> {
    patterns! {
        HEADER = concat!(
            r"^(?P<open>\[)?(?P<a>[0-9]{1,4})(?P<sep>[-/.年년]) ?(?P<b>[0-9]{1,4})[-/.月월] ?(?P<c>[0-9]{1,4})(?:[日일.]| г\.)?",
            r"[,،]? {1,2}(?:(?P<word>[\p{L}\p{M}]{1,10})\.? ?)?",
            r"(?P<h>[0-9]{1,2})[:.](?P<m>[0-9]{2})(?:[:.](?P<s>[0-9]{2}))?",
            r"(?: ?(?P<half>[aApP]\. ?[mM]\.|[aApP][mM]\b\.?|ص|م|[πμΠΜ]\.[μΜ]\.)| (?:Uhr|ч\.))?",
            r"(?P<close>\])?(?P<tail> [-–] | ?[:：] | )",
        );
    }
    if !line.trim_start_matches(is_mark).starts_with(|c: char| c == '[' || to_ascii_digit(c).is_ascii_digit()) {
        return None;
    }
    // A header is short, so the start of a long line is enough to detect a header.
    let plain: String = line.chars().filter(|c| !is_mark(*c)).take(80).map(plain).collect();
    let found = HEADER.captures(&plain)?;
    let stamp = stamp(&found)?;
    let taken = plain[..found.get(0)?.end()].chars().count();
    Some((stamp, behind(line, taken)))
}

/// Returns the text after the first `count` visible characters of `line`.
fn behind(line: &str, count: usize) -> &str {
    let last = line.char_indices().filter(|(_, c)| !is_mark(*c)).nth(count.saturating_sub(1));
    last.map_or("", |(place, c)| &line[place + c.len_utf8()..])
}

fn stamp(found: &regex::Captures<'_>) -> Option<Stamp> {
    let text = |name: &str| found.name(name).map(|part| part.as_str());
    let is_bracketed = text("open").is_some();
    if is_bracketed != text("close").is_some() {
        return None;
    }
    let written = [text("a")?, text("b")?, text("c")?];
    let fields = written.map(|field| field.parse::<u16>().unwrap_or_default());
    let names_year = matches!(text("sep"), Some("年" | "년")).then_some(0);
    let number = |name: &str| text(name).map_or(Some(0), |digits| digits.parse::<u8>().ok());
    let half = text("half").or(text("word")).unwrap_or_default();
    let hour = hour(number("h")?, half)?;
    let (minute, second) = (number("m")?, number("s")?);
    // iOS uses brackets, Android a dash, and some languages use neither.
    let tail = text("tail").unwrap_or_default().trim();
    let shape = Shape {
        is_bracketed,
        has_tail: !tail.is_empty(),
        separator: text("sep")?.chars().next()?,
        has_seconds: text("s").is_some(),
    };
    let is_american = matches!(half, "AM" | "PM");
    let is_time = minute < 60 && second < 60;
    let year_at = names_year.or_else(|| written.iter().position(|field| field.len() == 4));
    is_time.then_some(Stamp { fields, year_at, clock: (hour, minute, second), is_american, shape })
}

/// Returns the hour on a 24-hour clock; if `half` is not a word for a half of the day, `hour` is unchanged.
fn hour(hour: u8, half: &str) -> Option<u8> {
    let half: String = half.to_lowercase().chars().filter(|c| !matches!(c, '.' | ' ')).collect();
    let is_one_of = |words: &[&str]| words.contains(&half.as_str());
    let hour = if hour == 12 && is_one_of(BEFORE_NOON) {
        0
    } else if hour < 12 && is_one_of(FROM_NOON) {
        hour + 12
    } else {
        hour
    };
    (hour < 24).then_some(hour)
}

/// Replaces any white space with a space, and digits of other scripts that phones use with ASCII digits.
fn plain(c: char) -> char {
    if c.is_whitespace() { ' ' } else { to_ascii_digit(c) }
}

fn to_ascii_digit(c: char) -> char {
    [0x30_u32, 0x0660, 0x06F0, 0x0966]
        .into_iter()
        .find_map(|zero| char::from_digit(u32::from(c).checked_sub(zero).filter(|digit| *digit < 10)?, 10))
        .unwrap_or(c)
}

// The order of day and month, which is determined once per file from all of its dates.

/// Years in which a message could have been written.
const YEARS: std::ops::RangeInclusive<i16> = 2009..=2100;
/// The difference between years of the Thai calendar and years of the common era.
const BUDDHIST_ERA: i16 = 543;

/// The positions of year, month and day in the dates of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Order {
    year: usize,
    month: usize,
    day: usize,
}

impl Order {
    /// Determines the order from the dates of one file, which are in chronological order.
    ///
    /// The year has four digits; if no number has four digits, the year is the first number if the last number ever
    /// decreases, and otherwise the last. Of the other two numbers, the day is the number that exceeds twelve;
    /// otherwise the number that decreases more often within a year; otherwise the number that changes more often. If
    /// none of these criteria applies, the notation decides: the day is last if the year is first, and otherwise first
    /// except in American times.
    pub(crate) fn decide(stamps: &[Stamp]) -> Self {
        let year = year_place(stamps);
        let (first, second) = match year {
            0 => (1, 2),
            1 => (0, 2),
            _ => (0, 1),
        };
        let pairs = || stamps.windows(2).map(|pair| (pair[0].fields, pair[1].fields));
        let over = |place: usize| stamps.iter().filter(|stamp| stamp.fields[place] > 12).count();
        let falls = |place: usize| pairs().filter(|(a, b)| a[year] == b[year] && b[place] < a[place]).count();
        let changes = |place: usize| pairs().filter(|(a, b)| a[place] != b[place]).count();
        let pieces = [(over(first), over(second)), (falls(first), falls(second)), (changes(first), changes(second))];
        let american = stamps.first().is_some_and(|stamp| stamp.is_american && stamp.shape.separator == '/');
        let spelled = year != 0 && !american;
        let day_first = pieces.into_iter().find(|(a, b)| a != b).map_or(spelled, |(a, b)| a > b);
        let (day, month) = if day_first { (first, second) } else { (second, first) };
        Self { year, month, day }
    }

    /// Returns the time of `stamp`, on a clock in an unknown time zone; `None` for a date that does not exist.
    pub(crate) fn time(self, stamp: &Stamp) -> Option<MessageTime> {
        let field = |place: usize| i16::try_from(stamp.fields[place]).ok();
        // Two digits denote a year of this century, because WhatsApp was founded in 2009.
        let year = match field(self.year)? {
            short @ 0..100 => 2000 + short,
            // Phones with Thai settings use years of the Buddhist era.
            buddhist if YEARS.contains(&(buddhist - BUDDHIST_ERA)) => buddhist - BUDDHIST_ERA,
            year => year,
        };
        let small = |place: usize| i8::try_from(stamp.fields[place]).ok();
        let date = Date::new(year, small(self.month)?, small(self.day)?).ok().filter(|_| YEARS.contains(&year))?;
        let part = |part: u8| i8::try_from(part).ok();
        let (hour, minute, second) = stamp.clock;
        let time = Time::new(part(hour)?, part(minute)?, part(second)?, 0).ok()?;
        MessageTime::local(DateTime::from_parts(date, time), TimeSource::Log)
    }
}

fn year_place(stamps: &[Stamp]) -> usize {
    if let Some(place) = stamps.iter().find_map(|stamp| stamp.year_at) {
        return place;
    }
    let most = |place: usize| stamps.iter().map(|stamp| stamp.fields[place]).max().unwrap_or_default();
    let falls = |place: usize| stamps.windows(2).any(|pair| pair[1].fields[place] < pair[0].fields[place]);
    let is_first = most(0) > 31 || (most(2) <= 31 && falls(2) && !falls(0));
    if is_first { 0 } else { 2 }
}

// The text after a header: its author, and whether a person or the program wrote it.

/// A mark before text that the program inserts into a message; nobody types it.
const PROGRAM_MARK: char = '\u{200e}';
/// Maximum length of the text after the name of an omitted document, in bytes.
const LONGEST_NOTE: usize = 120;
/// The name of WhatsApp's assistant.
const ASSISTANT: &str = "Meta AI";

/// Splits `Author: text`; the author is `None` for a line from the program.
fn split_author(rest: &str) -> (Option<String>, &str) {
    let first_line = rest.split('\n').next().unwrap_or_default();
    let colon = first_line.find(": ").or_else(|| first_line.trim_end_matches(is_mark).strip_suffix(':').map(str::len));
    let Some(colon) = colon.filter(|colon| *colon <= 300) else { return (None, rest) };
    let name = author_name(&rest[..colon]);
    if name.is_empty() || phrases::is_no_author(&name) {
        return (None, rest);
    }
    let text = &rest[colon + 1..];
    (Some(name), text.strip_prefix(' ').unwrap_or(text))
}

/// Returns a name with ordinary spaces, without the tilde before a name that is not among the phone's contacts.
fn author_name(raw: &str) -> String {
    let name = on_one_line(&without_marks(raw));
    name.strip_prefix('~').map_or(name.as_str(), str::trim).to_owned()
}

/// Converts one entry to messages: typed text, placeholders for files, and the program's text as context.
fn messages(author: Option<&str>, raw: &str, time: Option<MessageTime>) -> Vec<Message> {
    let notice = |text: String| {
        let role = if author.is_some() { Role::User } else { Role::System };
        Message { kind: Kind::Context, speaker: author.map(str::to_owned), time, ..Message::prose(role, text) }
    };
    if author.is_none() {
        return vec![notice(without_marks(raw))];
    }
    let (raw, was_marked) = (without_edit_note(raw), raw.starts_with(PROGRAM_MARK));
    let text = without_marks(raw);
    let text = text.trim();
    if phrases::is_deleted(text) {
        return vec![notice("[message deleted]".to_owned())];
    }
    // Android writes `null` for messages that can be viewed only once.
    if text == "null" {
        return vec![notice("[not exported]".to_owned())];
    }
    let role = if author == Some(ASSISTANT) { Role::Assistant } else { Role::User };
    let said = |kind: Kind, text: &str| Message {
        kind,
        speaker: author.map(str::to_owned),
        time,
        ..Message::prose(role, text)
    };
    if was_marked && phrases::begins(text, "whatsapp location") {
        return vec![said(Kind::Attachment, &format!("[{}]", text.replace('\n', " ")))];
    }
    let (text, pasted) = split_pasted(text);
    let (labels, typed) = take_files(text);
    let mut messages: Vec<Message> = labels.iter().map(|label| said(Kind::Attachment, label)).collect();
    if was_marked && messages.is_empty() && !phrases::begins(text, "whatsapp poll") {
        // Nobody types the mark: the program wrote this text in the author's name, for example for a missed call.
        return vec![notice(text.to_owned())];
    }
    messages.push(said(Kind::Prose, &typed));
    // Pasted text that others wrote in another chat is not the author's text.
    messages.extend(pasted.map(|pasted| Message { speaker: None, ..said(Kind::Context, pasted) }));
    messages
}

/// Splits off messages copied from a chat into this one, which the program pastes with times and names.
fn split_pasted(text: &str) -> (&str, Option<&str>) {
    static PASTED: LazyLock<Regex> = LazyLock::new(|| {
        let (date, time) =
            (r"[0-9]{1,4}[-/.][0-9]{1,2}(?:[-/.][0-9]{1,4})?", r"[0-9]{1,2}[:.][0-9]{2}(?:[:.][0-9]{2})?");
        let half = r"(?:\s?[aApP]\.?\s?[mM]\.?)?";
        let pattern = format!(r"(?m)^\[(?:{time}{half},? {date}|{date},? {time}{half})\] [^:\n]{{1,80}}: ");
        Regex::new(&pattern).expect("the pattern is constant")
    });
    match PASTED.find(text) {
        Some(found) => (text[..found.start()].trim_end(), Some(&text[found.start()..])),
        None => (text, None),
    }
}

/// Removes the note that a message was edited.
fn without_edit_note(raw: &str) -> &str {
    let trimmed = raw.trim_end_matches(|c: char| is_mark(c) || c.is_whitespace());
    let Some(open) = trimmed.rfind('<').filter(|_| trimmed.ends_with('>')) else { return raw };
    let note = without_marks(&trimmed[open + 1..trimmed.len() - 1]);
    if phrases::is_edited(&note) { trimmed[..open].trim_end_matches(is_mark).trim_end() } else { raw }
}

/// Returns the placeholders for the files in `text`, and the text without the lines that represent them.
fn take_files(text: &str) -> (Vec<String>, String) {
    let (mut labels, mut typed) = (Vec::new(), Vec::new());
    for line in text.split('\n') {
        match file_of(line) {
            Some((before, label)) => {
                labels.push(label);
                typed.push(before);
            }
            None => typed.push(line),
        }
    }
    (labels, typed.join("\n").trim().to_owned())
}

/// Reads a line that represents a file; returns the text typed before it, and the placeholder.
fn file_of(line: &str) -> Option<(&str, String)> {
    let line = line.trim();
    if let Some(kind) = phrases::omitted(line) {
        return Some(("", file_label(kind, None)));
    }
    // iOS writes the name and the number of pages of a document before the note that it was omitted.
    if let Some((name, kind)) = omitted_document(line) {
        return Some(("", file_label(kind, Some(name))));
    }
    if let Some(inside) = line.strip_suffix('>') {
        let (before, inside) = inside.rsplit_once('<')?;
        let (_, name) = inside.split_once([':', '：'])?;
        let name = name.trim();
        // The name of a document may precede the note, and the number of its pages.
        let before = before.trim().trim_end_matches('\u{200e}').trim();
        let is_name = is_file_name(before) && name.ends_with(before);
        let before = if is_name || before.contains(" • ") { "" } else { before };
        return is_file_name(name).then(|| (before, file_label(kind_of(name), Some(name))));
    }
    let (name, note) = line.strip_suffix(')')?.rsplit_once(" (")?;
    (phrases::is_attached(note) && is_file_name(name)).then(|| ("", file_label(kind_of(name), Some(name))))
}

/// Reads `Plan.pdf • 3 pages document omitted`.
fn omitted_document(line: &str) -> Option<(&str, &'static str)> {
    let (name, note) = line.split_once(" • ").filter(|(_, note)| note.len() <= LONGEST_NOTE)?;
    let words: Vec<usize> = note.match_indices(' ').map(|(place, _)| place + 1).collect();
    let kind = words.into_iter().find_map(|place| phrases::omitted(&note[place..]));
    kind.filter(|_| is_file_name(name)).map(|kind| (name, kind))
}

fn is_file_name(name: &str) -> bool {
    let ending = name.rsplit_once('.').map(|(_, ending)| ending);
    ending.is_some_and(|ending| {
        (1..=5).contains(&ending.len()) && ending.bytes().all(|byte| byte.is_ascii_alphanumeric())
    })
}

fn kind_of(name: &str) -> &'static str {
    let upper = name.to_uppercase();
    let ending = name.rsplit_once('.').map(|(_, ending)| ending.to_lowercase()).unwrap_or_default();
    match ending.as_str() {
        _ if upper.contains("STICKER") || upper.starts_with("STK-") => "sticker",
        "jpg" | "jpeg" | "png" | "gif" | "webp" | "heic" => "image",
        "mp4" | "mov" | "3gp" => "video",
        "opus" | "m4a" | "mp3" | "aac" | "ogg" | "amr" => "audio",
        "vcf" => "contact",
        _ => "file",
    }
}

#[cfg(test)]
mod header_tests {
    use super::*;

    #[test]
    fn every_locale_splits_into_fields_clock_and_rest() {
        let rows = [
            ("3/6/18, 1:55 p.m. - a: m", [3, 6, 18], (13, 55, 0)),
            ("03-06-2018, 01.55 PM - a: m", [3, 6, 2018], (13, 55, 0)),
            ("13.06.18 21.25.15: a: m", [13, 6, 18], (21, 25, 15)),
            ("[06.13.18 21:25:15] a: m", [6, 13, 18], (21, 25, 15)),
            ("13.6.2018 klo 21.25.15 - a: m", [13, 6, 2018], (21, 25, 15)),
            ("13. 6. 2018. 21:25:15 a: m", [13, 6, 2018], (21, 25, 15)),
            ("[3/6/18 1:55:00 p.\u{a0}m.] a: m", [3, 6, 18], (13, 55, 0)),
            ("\u{200e}[3/6/18 1:55:00 p. m.] a: m", [3, 6, 18], (13, 55, 0)),
            ("[2018/06/13, 21:25:15] a: m", [2018, 6, 13], (21, 25, 15)),
            ("[06/2018/13, 21:25:15] a: m", [6, 2018, 13], (21, 25, 15)),
            ("3/6/2018 1:55 p.\u{a0}m. - a: m", [3, 6, 2018], (13, 55, 0)),
            ("3/6/18, 1:55\u{202f}PM - a: m", [3, 6, 18], (13, 55, 0)),
            ("3/6/18, 12:05\u{202f}AM - a: m", [3, 6, 18], (0, 5, 0)),
            ("2026/3/5 下午3:04 - a: m", [2026, 3, 5], (15, 4, 0)),
            ("2026年3月5日 上午12:04 - a: m", [2026, 3, 5], (0, 4, 0)),
            ("[2026/3/5 晚上9:04:11] a: m", [2026, 3, 5], (21, 4, 11)),
            ("2026. 3. 5. 오후 3:04 - a: m", [2026, 3, 5], (15, 4, 0)),
            ("5.3.26, 21:25 Uhr - a: m", [5, 3, 26], (21, 25, 0)),
            ("5.03.26 г., 21:25 ч. - a: m", [5, 3, 26], (21, 25, 0)),
            ("5/3/26 à 21:25 - a: m", [5, 3, 26], (21, 25, 0)),
            ("٥\u{200f}/٣\u{200f}/٢٠٢٦، ٣:٠٤ م - a: m", [5, 3, 2026], (15, 4, 0)),
        ];
        for (line, fields, clock) in rows {
            let (stamp, rest) = split(line).unwrap_or_else(|| panic!("{line}"));
            assert_eq!((stamp.fields, stamp.clock, rest), (fields, clock, "a: m"), "{line}");
        }
    }

    #[test]
    fn text_with_numbers_is_no_header() {
        for line in [
            "", "10:30 works", "1/2 cup of flour", "3/6/18", "[3/6/18 1:55 a: m", "3/6/18, 25:00 - a: m",
            "3/6/18, 1:75 - a: m", "2026-03-05T21:25:15Z start", "2026-03-05 21:25:15,123 - root: m",
        ] {
            assert_eq!(split(line), None, "{line}");
        }
    }

    #[test]
    fn marks_before_the_text_are_kept_for_the_reader_of_the_body() {
        let (_, rest) = split("\u{200e}[13/06/2018, 21:25:15] Ana: \u{200e}image omitted").unwrap();
        assert_eq!(rest, "Ana: \u{200e}image omitted");
    }
}

#[cfg(test)]
mod order_tests {
    use super::split;
    use super::*;

    fn dates(headers: &[&str]) -> Vec<String> {
        let stamps: Vec<_> = headers.iter().map(|header| split(&format!("{header} - a: m")).unwrap().0).collect();
        let order = Order::decide(&stamps);
        stamps
            .iter()
            .map(|stamp| order.time(stamp).map_or("none".to_owned(), |time| time.civil().date().to_string()))
            .collect()
    }

    #[test]
    fn the_day_is_found_by_each_step_in_turn() {
        let rows: [(&str, &[&str], &[&str]); 10] = [
            ("over twelve", &["3/4/26, 21:00", "3/13/26, 21:00"], &["2026-03-04", "2026-03-13"]),
            ("over twelve", &["3/4/26, 9:00 PM", "13/4/26, 9:00 PM"], &["2026-04-03", "2026-04-13"]),
            ("falls", &["9/3/26, 21:00", "2/4/26, 21:00"], &["2026-03-09", "2026-04-02"]),
            ("falls", &["3/9/26, 21:00", "4/2/26, 21:00"], &["2026-03-09", "2026-04-02"]),
            ("changes", &["3/4/26, 21:00", "3/5/26, 21:00"], &["2026-03-04", "2026-03-05"]),
            ("changes over years", &["2/1/25, 21:00", "3/1/26, 21:00"], &["2025-01-02", "2026-01-03"]),
            ("spelling", &["3/4/26, 21:00"], &["2026-04-03"]),
            ("American spelling", &["3/4/26, 9:00\u{202f}PM"], &["2026-03-04"]),
            ("year first", &["2026/3/4 21:00"], &["2026-03-04"]),
            ("short year first", &["25/12/30, 21:00", "26/01/02, 21:00"], &["2025-12-30", "2026-01-02"]),
        ];
        for (step, headers, expected) in rows {
            assert_eq!(dates(headers), expected, "{step}: {headers:?}");
        }
    }

    #[test]
    fn calendars_are_converted_and_dates_that_do_not_exist_are_no_time() {
        assert_eq!(dates(&["5/1/2569 21:00"]), ["2026-01-05"]);
        assert_eq!(dates(&["31.02.2026, 21:00", "0.0.2026, 21:00", "5.1.1403, 21:00"]), ["none", "none", "none"]);
    }
}

#[cfg(test)]
mod body_tests {
    use super::*;

    fn pieces(raw: &str) -> Vec<(Kind, String)> {
        messages(Some("Ana"), raw, None).into_iter().map(|message| (message.kind, message.text)).collect()
    }

    #[test]
    fn authors_are_distinguished_from_the_lines_of_the_program() {
        let rows = [
            ("Ana: note: x", Some("Ana"), "note: x"),
            ("\u{202a}+351 912\u{a0}345 678\u{202c}: x", Some("+351 912 345 678"), "x"),
            ("~\u{202f}Luís: x", Some("Luís"), "x"),
            ("Luís ~ Work: x", Some("Luís ~ Work"), "x"),
            ("Ana:", Some("Ana"), ""),
            ("张三: 好的", Some("张三"), "好的"),
            ("Maria \"Mia\" Lopez: x", Some("Maria \"Mia\" Lopez"), "x"),
            ("Jo „Mia“ Berg: x", Some("Jo „Mia“ Berg"), "x"),
            ("Ana hat den Betreff zu „b: c“ geändert", None, "Ana hat den Betreff zu „b: c“ geändert"),
            ("Ana created group \"Trip\"", None, "Ana created group \"Trip\""),
            ("Ana changed the subject from \"a\" to \"b: c\"", None, "Ana changed the subject from \"a\" to \"b: c\""),
            ("You added Ana", None, "You added Ana"),
        ];
        for (rest, author, text) in rows {
            assert_eq!(split_author(rest), (author.map(str::to_owned), text), "{rest}");
        }
    }

    #[test]
    fn messages_copied_from_a_chat_are_not_the_words_of_who_pasted_them() {
        let pasted = "[10:02, 3/4/2026] Bob: I hate fish.\n[10:03, 3/4/2026] Bob: And rice.";
        let expected = [(Kind::Prose, "Look:".to_owned()), (Kind::Context, pasted.to_owned())];
        assert_eq!(pieces(&format!("Look:\n{pasted}")), expected);
        let older = "[04/03, 10:02 PM] +351 912 345 678: I hate fish.";
        let said: Vec<_> = pieces(older).into_iter().filter(|(_, text)| !text.is_empty()).collect();
        assert_eq!(said, [(Kind::Context, older.to_owned())]);
        assert_eq!(pieces("[10:02] we meet: or not"), [(Kind::Prose, "[10:02] we meet: or not".to_owned())]);
    }

    #[test]
    fn files_become_placeholders_in_any_language() {
        let rows = [
            ("<Media omitted>", "[media]"),
            ("<Medien ausgeschlossen>", "[media]"),
            ("<省略多媒体文件>", "[media]"),
            ("\u{200e}Bild weggelassen", "[image]"),
            ("\u{200e}image omitted", "[image]"),
            (
                "\u{200e}<attached: 00000042-PHOTO-2026-03-05-21-25-15.jpg>",
                "[image: 00000042-PHOTO-2026-03-05-21-25-15.jpg]",
            ),
            ("\u{200e}<Anhang: 00000043-AUDIO-2026.opus>", "[audio: 00000043-AUDIO-2026.opus]"),
            ("\u{200e}<附件：00000044-STICKER-2026.webp>", "[sticker: 00000044-STICKER-2026.webp]"),
            ("\u{200e}IMG-20260305-WA0001.jpg (file attached)", "[image: IMG-20260305-WA0001.jpg]"),
            ("VID-20260305-WA0001.mp4 (archivo adjunto)", "[video: VID-20260305-WA0001.mp4]"),
            ("Plan.pdf • \u{200e}3 pages \u{200e}document omitted", "[file: Plan.pdf]"),
            ("Plan.pdf • \u{200e}3 pages \u{200e}<attached: 00000045-Plan.pdf>", "[file: 00000045-Plan.pdf]"),
            ("Plan.xlsx \u{200e}<attached: 00000046-Plan.xlsx>", "[file: 00000046-Plan.xlsx]"),
            ("\u{200e}Location: https://maps.example/?q=1,2", "[Location: https://maps.example/?q=1,2]"),
        ];
        for (raw, label) in rows {
            let said: Vec<_> = pieces(raw).into_iter().filter(|(_, text)| !text.is_empty()).collect();
            assert_eq!(said, [(Kind::Attachment, label.to_owned())], "{raw}");
        }
    }

    #[test]
    fn captions_stay_the_authors_words() {
        let expected = [(Kind::Attachment, "[image: a.jpg]".to_owned()), (Kind::Prose, "The new shed".to_owned())];
        assert_eq!(pieces("a.jpg (file attached)\nThe new shed"), expected);
        assert_eq!(pieces("The new shed \u{200e}<attached: a.jpg>"), expected);
    }

    #[test]
    fn what_the_program_writes_in_an_authors_name_is_context() {
        let rows = [
            ("\u{200e}This message was deleted.", "[message deleted]"),
            ("Diese Nachricht wurde gelöscht.", "[message deleted]"),
            ("此消息已删除", "[message deleted]"),
            ("This message was deleted by admin Ana", "[message deleted]"),
            ("null", "[not exported]"),
            ("\u{200e}Missed voice call", "Missed voice call"),
        ];
        for (raw, text) in rows {
            assert_eq!(pieces(raw), [(Kind::Context, text.to_owned())], "{raw}");
        }
    }

    #[test]
    fn typed_words_keep_everything_but_marks_and_the_note_of_an_edit() {
        let rows = [
            ("At nine \u{200e}<This message was edited>", "At nine"),
            ("Um neun <Diese Nachricht wurde bearbeitet.>", "Um neun"),
            ("I <3 it, use <b>", "I <3 it, use <b>"),
            ("see a.jpg (old)", "see a.jpg (old)"),
            ("a\u{2066}@Luís\u{2069} b", "a@Luís b"),
            (
                "\u{200e}POLL:\nWhen?\n\u{200e}OPTION: Monday (\u{200e}2 votes)",
                "POLL:\nWhen?\nOPTION: Monday (2 votes)",
            ),
            ("This message was deleted, was it not?", "This message was deleted, was it not?"),
        ];
        for (raw, text) in rows {
            assert_eq!(pieces(raw), [(Kind::Prose, text.to_owned())], "{raw}");
        }
    }
}

#[cfg(test)]
mod tests;
