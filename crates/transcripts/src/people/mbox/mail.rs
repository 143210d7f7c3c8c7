//! One mail: its headers, decoded, and its text.

use jiff::Timestamp;
use mail_parser::{HeaderValue, Message as Parsed, MessageParser, MessagePart, MimeHeaders, PartType};
use serde::{Deserialize, Serialize};

use super::body::{self, Stretch};
use super::html;
use crate::parts::file_label;
use crate::{MessageTime, Role, TimeSource};

/// Furthest that a clock is from UTC, in seconds.
const MAX_OFFSET: i32 = 18 * 3_600;
/// Labels of what its owner did not receive, keep or send, as Gmail's export spells them.
const UNWANTED: &[(&str, &str)] =
    &[("Spam", "spam"), ("Trash", "thrown away"), ("Drafts", "a draft"), ("Draft", "a draft")];
/// Senders that no person writes as, before the `@`.
const MACHINES: &[&str] = &[
    "noreply",
    "no-reply",
    "donotreply",
    "do-not-reply",
    "mailer-daemon",
    "postmaster",
    "notifications",
    "newsletter",
];

/// What is kept of a mail until its thread is complete.
#[derive(Debug, Serialize, Deserialize)]
pub struct Mail {
    /// Its own id, without brackets.
    pub id: Option<String>,
    /// The ids of the mails before it, the oldest first.
    pub ancestors: Vec<String>,
    /// The id that Gmail gives to its thread.
    pub gmail_thread: Option<String>,
    /// The subject without `Re:` and the like.
    pub subject: Option<String>,
    /// Who sent it.
    pub speaker: Option<String>,
    /// A person, or for what machines send to many, another.
    pub role: Role,
    /// When it was sent, on the sender's clock.
    pub time: Option<MessageTime>,
    /// The text.
    pub stretches: Vec<(Stretch, String)>,
    /// Placeholders of the files that came with it.
    pub files: Vec<String>,
}

/// Reads a mail.
///
/// # Errors
/// Why it is not taken.
pub fn read(bytes: &[u8]) -> Result<Mail, String> {
    let parsed = MessageParser::default().parse(bytes).filter(|parsed| {
        parsed.from().is_some()
            || parsed.date().is_some()
            || parsed.subject().is_some()
            || parsed.message_id().is_some()
    });
    let Some(parsed) = parsed else { return Err("no mail: it has no headers".to_owned()) };
    if let Some(mark) = unwanted(&parsed) {
        return Err(format!("marked as {mark}, so nothing of it is kept"));
    }
    let subject = parsed.subject().map(str::trim).filter(|subject| !subject.is_empty());
    let mut stretches = body::stretches(&text(&parsed));
    if subject.is_some_and(is_forward) {
        stretches
            .iter_mut()
            .filter(|(stretch, _)| *stretch == Stretch::Trailing)
            .for_each(|(stretch, _)| *stretch = Stretch::Forwarded);
    }
    let files: Vec<String> = parsed.attachments().map(label).collect();
    if let Some(subject) = subject.filter(|_| stretches.is_empty() && files.is_empty()) {
        stretches.push((Stretch::Own, subject.to_owned()));
    }
    let mut ancestors = ids(parsed.references());
    let answered = ids(parsed.in_reply_to());
    ancestors.extend(answered.into_iter().filter(|id| !ancestors.contains(id)).collect::<Vec<_>>());
    let bare = parsed.thread_name().map(bare_subject).filter(|name| !name.is_empty());
    Ok(Mail {
        id: parsed.message_id().map(str::to_owned),
        ancestors,
        gmail_thread: raw_header(&parsed, "X-GM-THRID"),
        subject: bare.or(subject).map(str::to_owned),
        speaker: speaker(&parsed),
        role: if is_automatic(&parsed) { Role::Other } else { Role::User },
        time: time(&parsed),
        stretches,
        files,
    })
}

fn raw_header(parsed: &Parsed<'_>, name: &'static str) -> Option<String> {
    parsed.header_raw(name).map(str::trim).filter(|value| !value.is_empty()).map(str::to_owned)
}

fn ids(value: &HeaderValue<'_>) -> Vec<String> {
    match value {
        HeaderValue::Text(id) => vec![id.to_string()],
        HeaderValue::TextList(ids) => ids.iter().map(ToString::to_string).collect(),
        _ => Vec::new(),
    }
}

/// Returns as what Gmail or a filter has put a mail aside.
fn unwanted(parsed: &Parsed<'_>) -> Option<&'static str> {
    if raw_header(parsed, "X-Spam-Flag").is_some_and(|flag| flag.eq_ignore_ascii_case("yes")) {
        return Some("spam");
    }
    let labels = raw_header(parsed, "X-Gmail-Labels")?;
    let labels: Vec<&str> = labels.split(',').map(str::trim).collect();
    UNWANTED.iter().find(|(label, _)| labels.contains(label)).map(|(_, mark)| *mark)
}

fn is_forward(subject: &str) -> bool {
    const PREFIXES: &[&str] = &["fwd:", "fw:", "wg:", "tr:", "rv:", "i:", "enc:", "转发:", "转发：", "轉寄:"];
    let subject = subject.to_lowercase();
    PREFIXES.iter().any(|prefix| subject.starts_with(prefix))
}

/// Takes off what the parser does not know to stand for `Re:` and `Fwd:`.
fn bare_subject(name: &str) -> &str {
    const PREFIXES: &[&str] = &["答复", "回复", "回覆", "转发", "轉寄"];
    let strip = |name: &str| {
        let rest = PREFIXES.iter().find_map(|prefix| name.strip_prefix(prefix))?.strip_prefix([':', '：'])?;
        Some(name.len() - rest.trim_start().len())
    };
    let mut name = name.trim();
    while let Some(taken) = strip(name) {
        name = &name[taken..];
    }
    name
}

/// Whether a program sent it: a newsletter, a receipt, an absence note.
fn is_automatic(parsed: &Parsed<'_>) -> bool {
    let header = |name| raw_header(parsed, name).map(|value| value.to_ascii_lowercase());
    // A list to which people write has an address to write to; a newsletter has only one to leave by.
    let is_newsletter = header("List-Unsubscribe").is_some() && header("List-Post").is_none();
    let is_bulk = header("Precedence").is_some_and(|value| matches!(value.as_str(), "bulk" | "junk"));
    let is_made = header("Auto-Submitted").is_some_and(|value| value.starts_with("auto-"));
    let address = parsed.from().and_then(|from| from.first()).and_then(|from| from.address()).unwrap_or_default();
    let local = address.split('@').next().unwrap_or_default().to_ascii_lowercase();
    is_newsletter || is_bulk && header("List-Post").is_none() || is_made || MACHINES.contains(&local.as_str())
}

fn speaker(parsed: &Parsed<'_>) -> Option<String> {
    let from = parsed.from().or(parsed.sender())?.first()?;
    let name = from.name().map(|name| name.split_whitespace().collect::<Vec<_>>().join(" "));
    let name = name.map(|name| {
        // Lists write `'Ana Vos' via Sheds` for senders whose address they replace.
        let name = name.split(" via ").next().unwrap_or(&name);
        name.trim_matches(['\'', '"', ' ']).to_owned()
    });
    name.filter(|name| !name.is_empty()).or_else(|| from.address().map(str::to_owned)).filter(|name| !name.is_empty())
}

/// Returns the time of the `Date` header, else when the last server received the mail.
fn time(parsed: &Parsed<'_>) -> Option<MessageTime> {
    let of = |date: &mail_parser::DateTime, source: TimeSource| {
        let at = Timestamp::from_second(date.to_timestamp())
            .ok()
            .filter(|_| date.is_valid() && (1970..=2100).contains(&date.year))?;
        let offset = i32::from(date.tz_hour) * 3_600 + i32::from(date.tz_minute) * 60;
        let offset = if date.tz_before_gmt { -offset } else { offset };
        Some(MessageTime { at, offset_seconds: Some(offset).filter(|offset| offset.abs() <= MAX_OFFSET), source })
    };
    let received = || of(&parsed.received()?.date()?, TimeSource::Derived);
    parsed.date().and_then(|date| of(date, TimeSource::Log)).or_else(received)
}

/// Returns the text, from the plain alternative where there is one.
fn text(parsed: &Parsed<'_>) -> String {
    let shown: Vec<String> = parsed.text_bodies().filter_map(text_of).collect();
    shown.join("\n\n")
}

fn text_of(part: &MessagePart<'_>) -> Option<String> {
    match &part.body {
        PartType::Text(text) => {
            let text = text.replace("\r\n", "\n");
            let format = |name: &str, value: &str| {
                let found = part.content_type().and_then(|kind| kind.attribute(name));
                found.is_some_and(|found| found.eq_ignore_ascii_case(value))
            };
            Some(if format("format", "flowed") { unflowed(&text, format("delsp", "yes")) } else { text })
        }
        PartType::Html(html) => Some(html::to_text(html)),
        PartType::Binary(_) | PartType::InlineBinary(_) | PartType::Message(_) | PartType::Multipart(_) => None,
    }
}

/// Joins lines that were broken for the width of a screen: those that end in a space.
fn unflowed(text: &str, drops_space: bool) -> String {
    let mut joined = String::with_capacity(text.len());
    for line in text.split('\n') {
        let is_quoted = line.starts_with('>');
        let line = line.strip_prefix(' ').unwrap_or(line);
        joined.push_str(line);
        if line.ends_with(' ') && line != "-- " && !is_quoted {
            if drops_space {
                joined.pop();
            }
        } else {
            joined.push('\n');
        }
    }
    joined
}

fn label(part: &MessagePart<'_>) -> String {
    let kind = part.content_type().map(|kind| kind.ctype().to_ascii_lowercase());
    let kind = match kind.as_deref() {
        Some("image") => "image",
        Some("audio") => "audio",
        Some("video") => "video",
        Some("message") => "mail",
        Some(_) | None => "file",
    };
    let subject = || part.message().and_then(|message| message.subject());
    file_label(kind, part.attachment_name().or_else(subject))
}
