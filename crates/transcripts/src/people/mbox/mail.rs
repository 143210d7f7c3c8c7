//! One email: its decoded headers and its text.

use jiff::Timestamp;
use mail_parser::{HeaderValue, Message as Parsed, MessageParser, MessagePart, MimeHeaders, PartType};
use serde::{Deserialize, Serialize};

use crate::message::dates::printed;
use crate::message::parts::{file_label, on_one_line};
use crate::people::html;
use crate::{MessageTime, Role, TimeSource};

/// Maximum distance of a clock from UTC, in seconds.
// No place has an offset of more than 14 hours; the rest is a margin for clocks that are set incorrectly.
const MAX_OFFSET: i32 = 18 * 3_600;
/// Labels, in Gmail's export, of mail that is spam, was deleted or was never sent.
const UNWANTED: &[(&str, &str)] =
    &[("Spam", "spam"), ("Trash", "thrown away"), ("Drafts", "a draft"), ("Draft", "a draft")];
/// The part before the `@` in addresses of automatic senders.
const MACHINES: &[&str] = &[
    "noreply", "no-reply", "donotreply", "do-not-reply", "mailer-daemon", "postmaster", "notifications", "newsletter",
];

/// The data of an email that is stored until its thread is complete.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Mail {
    /// Id of the email, without brackets.
    pub(crate) id: Option<String>,
    /// The ids of the earlier emails in the thread, oldest first.
    pub(crate) ancestors: Vec<String>,
    /// The id that Gmail assigned to the email's thread.
    pub(crate) gmail_thread: Option<String>,
    /// The subject without `Re:` and similar prefixes.
    pub(crate) subject: Option<String>,
    /// The sender of the email.
    pub(crate) speaker: Option<String>,
    /// A person, or `Role::Other` for bulk mail from machines.
    pub(crate) role: Role,
    /// Time at which the email was sent, on the sender's clock.
    pub(crate) time: Option<MessageTime>,
    /// The text, divided into sections by author.
    pub(crate) stretches: Vec<(Stretch, String)>,
    /// Placeholders for the attached files.
    pub(crate) files: Vec<String>,
}

/// Reads an email.
///
/// # Errors The reason why the email is skipped.
pub(crate) fn read(bytes: &[u8]) -> Result<Mail, String> {
    // The parser accepts any text as an email without headers, so at least one of the usual headers is required.
    let parsed = MessageParser::default().parse(bytes).filter(|parsed| {
        parsed.from().is_some()
            || parsed.date().is_some()
            || parsed.subject().is_some()
            || parsed.message_id().is_some()
    });
    let Some(parsed) = parsed else { return Err("not a mail message: it has no headers".to_owned()) };
    if let Some(mark) = unwanted(&parsed) {
        return Err(format!("marked as {mark}, so none of it is kept"));
    }
    let subject = parsed.subject().map(str::trim).filter(|subject| !subject.is_empty());
    let mut stretches = stretches(&text(&parsed));
    // Some programs give forwarded mail the same header lines as replies; only the subject distinguishes them.
    if subject.is_some_and(is_forward) {
        stretches
            .iter_mut()
            .filter(|(stretch, _)| *stretch == Stretch::Trailing)
            .for_each(|(stretch, _)| *stretch = Stretch::Forwarded);
    }
    let files: Vec<String> = parsed.attachments().map(label).collect();
    // If an email has no text, its subject serves as the text.
    if let Some(subject) = subject.filter(|_| stretches.is_empty() && files.is_empty()) {
        stretches.push((Stretch::Own, subject.to_owned()));
    }
    // Some programs list only the email that is being replied to, others the whole thread.
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

/// Returns the label with which Gmail or a filter excluded the email.
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

/// Removes equivalents of `Re:` and `Fwd:` that the parser does not recognise.
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

/// Returns whether a program sent the email, as with a newsletter, a receipt or an out-of-office note.
fn is_automatic(parsed: &Parsed<'_>) -> bool {
    let header = |name| raw_header(parsed, name).map(|value| value.to_ascii_lowercase());
    // A discussion list has an address for posting; a newsletter has only one for unsubscribing.
    let is_newsletter = header("List-Unsubscribe").is_some() && header("List-Post").is_none();
    let is_bulk = header("Precedence").is_some_and(|value| matches!(value.as_str(), "bulk" | "junk"));
    let is_made = header("Auto-Submitted").is_some_and(|value| value.starts_with("auto-"));
    let address = parsed.from().and_then(|from| from.first()).and_then(|from| from.address()).unwrap_or_default();
    let local = address.split('@').next().unwrap_or_default().to_ascii_lowercase();
    is_newsletter || is_bulk && header("List-Post").is_none() || is_made || MACHINES.contains(&local.as_str())
}

fn speaker(parsed: &Parsed<'_>) -> Option<String> {
    // Mailing list archives obscure addresses and append the name: `jdoe at example.org (Jane Doe)`.
    let hidden = raw_header(parsed, "From").and_then(|from| {
        let (address, name) = from.trim().strip_suffix(')')?.split_once(" (")?;
        let name = name.trim().trim_matches(['"', '\'']).trim();
        (address.contains(" at ") && !name.is_empty()).then(|| decoded(name))
    });
    if hidden.is_some() {
        return hidden;
    }
    let from = parsed.from().or(parsed.sender())?.first()?;
    let name = from.name().map(on_one_line);
    let name = name.map(|name| {
        // Mailing lists write `'Ana Vos' via Sheds` for senders whose addresses they replace.
        let name = name.split(" via ").next().unwrap_or(&name);
        name.trim_matches(['\'', '"', ' ']).to_owned()
    });
    name.filter(|name| !name.is_empty()).or_else(|| from.address().map(str::to_owned)).filter(|name| !name.is_empty())
}

/// Decodes the encoded words of a comment, which the parser leaves as they are.
fn decoded(text: &str) -> String {
    let header = format!("Subject: {text}\n\n");
    let parsed = mail_parser::MessageParser::default().parse(header.as_bytes());
    parsed.and_then(|parsed| parsed.subject().map(str::to_owned)).unwrap_or_else(|| text.to_owned())
}

/// Returns the time in the `Date` header, or, failing that, the time at which the last server received the email.
fn time(parsed: &Parsed<'_>) -> Option<MessageTime> {
    let of = |date: &mail_parser::DateTime, source: TimeSource| {
        // An impossible date comes from a broken clock; in that case the server's time of receipt is used.
        let at = Timestamp::from_second(date.to_timestamp())
            .ok()
            .filter(|_| date.is_valid() && (1970..=2100).contains(&date.year))?;
        let offset = i32::from(date.tz_hour) * 3_600 + i32::from(date.tz_minute) * 60;
        let offset = if date.tz_before_gmt { -offset } else { offset };
        Some(MessageTime { at, offset_seconds: Some(offset).filter(|offset| offset.abs() <= MAX_OFFSET), source })
    };
    let received = || of(&parsed.received()?.date()?, TimeSource::Derived);
    // Mailing list archives print the time without a time zone.
    let printed = || MessageTime::local(printed(&raw_header(parsed, "Date")?)?, TimeSource::Log);
    parsed.date().and_then(|date| of(date, TimeSource::Log)).or_else(printed).or_else(received)
}

/// Returns the text, preferably from the plain-text alternative.
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

/// Joins lines that were wrapped to the width of a screen; such lines end with a space.
fn unflowed(text: &str, drops_space: bool) -> String {
    let mut joined = String::with_capacity(text.len());
    for line in text.split('\n') {
        let is_quoted = line.starts_with('>');
        // Programs insert a space before lines that begin with a space, `>` or `From ` (space-stuffing, RFC 3676).
        let line = line.strip_prefix(' ').unwrap_or(line);
        joined.push_str(line);
        // The line that starts a signature also ends in a space.
        // A quoted line must not be joined with the reply below it.
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

// The text of an email, divided into the author's own text, and quoted, forwarded or appended text.

/// Maximum number of lines across which a mail program wraps `On … X wrote:`.
const ATTRIBUTION_LINES: usize = 3;
/// Maximum length of an attribution such as `On … X wrote:`, in bytes.
const LONGEST_ATTRIBUTION: usize = 400;
/// Number of lines that are searched for the headers of a fully quoted email.
const HEADER_LINES: usize = 6;

/// The type of a section of text in an email.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) enum Stretch {
    /// The author's own text.
    Own,
    /// Text by somebody else that the author answers line by line; without it, the answers would make no sense.
    Quoted,
    /// Text by somebody else after the author's own text: the email being answered, which is part of the thread anyway.
    Trailing,
    /// An email by somebody else that the author forwards.
    Forwarded,
}

/// Divides `text` into sections; signatures and the footers of mailing lists are left out.
pub(crate) fn stretches(text: &str) -> Vec<(Stretch, String)> {
    let lines: Vec<&str> = text.split('\n').map(str::trim_end).collect();
    let mut found = Found::default();
    let mut place = 0;
    while let Some(line) = lines.get(place) {
        let rest = &lines[place..];
        place += 1;
        if let Some(count) = attribution(rest) {
            let answered = rest[count..].iter().find(|line| !line.is_empty());
            if !answered.is_none_or(|line| line.starts_with('>')) {
                found.rest(Stretch::Trailing, &rest[count..]);
                break;
            }
            rest[..count].iter().for_each(|line| found.add(Stretch::Quoted, line));
            place += count - 1;
        } else if line.starts_with('>') {
            found.add(Stretch::Quoted, unquoted(line));
        } else if *line == "--" {
            place += rest[1..].iter().take_while(|line| !line.starts_with('>') && !is_cut(line)).count();
        } else if is_footer(rest) {
            break;
        } else if FORWARD.is_match(line) {
            found.rest(Stretch::Forwarded, &rest[1..]);
            break;
        } else if ORIGINAL.is_match(line) || is_header_block(rest) {
            found.rest(Stretch::Trailing, rest);
            break;
        } else {
            found.add(Stretch::Own, line);
        }
    }
    found.finish()
}

#[derive(Default)]
struct Found {
    stretches: Vec<(Stretch, String)>,
}

impl Found {
    fn add(&mut self, stretch: Stretch, line: &str) {
        match self.stretches.last_mut() {
            Some((last, text)) if *last == stretch || line.is_empty() => {
                text.push('\n');
                text.push_str(line);
            }
            Some(_) | None => self.stretches.push((stretch, line.to_owned())),
        }
    }

    fn rest(&mut self, stretch: Stretch, lines: &[&str]) {
        let text: Vec<&str> = lines.iter().map(|line| unquoted(line)).collect();
        self.stretches.push((stretch, text.join("\n")));
    }

    fn finish(mut self) -> Vec<(Stretch, String)> {
        for (stretch, text) in &mut self.stretches {
            if *stretch == Stretch::Own {
                without_last_rules(text);
            }
            *text = text.trim().to_owned();
        }
        self.stretches.retain(|(_, text)| !text.is_empty());
        // A quotation without the author's text below it is the previous email, repeated at the end.
        let answered = self.stretches.iter().any(|(stretch, _)| *stretch == Stretch::Own);
        if let Some((last @ Stretch::Quoted, _)) = self.stretches.last_mut().filter(|_| answered) {
            *last = Stretch::Trailing;
        }
        self.stretches
    }
}

/// Removes the lines that a phone appends, and the rules above a quoted email.
fn without_last_rules(text: &mut String) {
    loop {
        let kept = text.trim_end().len();
        text.truncate(kept);
        let start = text.rfind('\n').map_or(0, |place| place + 1);
        let last = text[start..].trim();
        let is_rule = last.len() >= 10 && last.chars().all(|c| matches!(c, '_' | '-' | '=' | '*'));
        if last.is_empty() || !is_rule && !PHONE.is_match(last) {
            return;
        }
        text.truncate(start);
    }
}

fn unquoted(line: &str) -> &str {
    line.strip_prefix('>').map_or(line, |rest| rest.strip_prefix(' ').unwrap_or(rest))
}

/// Returns whether `line` is the start of an email by somebody else, regardless of the following lines.
fn is_cut(line: &str) -> bool {
    FORWARD.is_match(line) || ORIGINAL.is_match(line) || attribution(&[line]).is_some()
}

/// Returns the number of leading lines that state who wrote the text below.
fn attribution(lines: &[&str]) -> Option<usize> {
    let is_short = |line: &str| {
        line.len() <= LONGEST_ATTRIBUTION && (SHORT_ATTRIBUTION.is_match(line) || ADDRESS_ATTRIBUTION.is_match(line))
    };
    let quotes = |from: usize| {
        let next = lines.get(from..).and_then(|lines| lines.iter().find(|line| !line.is_empty()));
        next.is_some_and(|line| line.starts_with('>'))
    };
    if lines.first().is_some_and(|line| is_short(line)) && quotes(1) {
        return Some(1);
    }
    if let [first, second, ..] = lines
        && second.len() <= LONGEST_ATTRIBUTION
        && first.len() <= LONGEST_ATTRIBUTION
        && quotes(2)
        && ADDRESS_ATTRIBUTION.is_match(&format!("{first} {second}"))
    {
        return Some(2);
    }
    let mut joined = String::new();
    for (place, line) in lines.iter().take(ATTRIBUTION_LINES).enumerate() {
        if line.is_empty() || line.starts_with('>') || joined.len() + line.len() > LONGEST_ATTRIBUTION {
            return None;
        }
        joined.push_str(line);
        joined.push(' ');
        let has_date = joined.bytes().any(|byte| byte.is_ascii_digit());
        if has_date && ATTRIBUTION.is_match(joined.trim_end()) {
            return Some(place + 1);
        }
    }
    None
}

/// Returns whether `lines` begin with the headers of an email, in the form in which Outlook quotes them.
fn is_header_block(lines: &[&str]) -> bool {
    SENDER.is_match(lines[0])
        && lines.iter().skip(1).take(HEADER_LINES).filter(|line| FIELD.is_match(line)).count() >= 2
}

/// Returns whether `lines` begin with the footer of a mailing list.
fn is_footer(lines: &[&str]) -> bool {
    // Mailing list archives remove attachments and leave a note in their place.
    let is_removed = SCRUBBED.is_match(lines[0])
        && lines.get(1).is_none_or(|next| next.is_empty() || next.starts_with("URL: ") || next.starts_with("Name: "));
    if is_removed || lines[0].starts_with("-------------- next part --------------") {
        return true;
    }
    let is_rule = lines[0].len() >= 20 && lines[0].bytes().all(|byte| byte == b'_' || byte == b'-');
    let next =
        || lines.iter().skip(1).take(2).any(|line| line.contains("mailing list") || line.contains("unsubscribe"));
    is_rule && next()
}

patterns! {
    SCRUBBED = r"^(?:An? [\w./+-]+ attachment was scrubbed\.\.\.|Skipped content of type \S+)$";
    /// `On 5 March 2026, X wrote:` in the languages that mail programs support.
    ATTRIBUTION = concat!(
        r"(?i)^\W{0,2}(?:on|am|le|el|em|il|op|den|pe|dnia|在|于|於|[0-9]{4}[年/-]).{5,}",
        r"(?:wrote|writes|schrieb|schreef|skrev|(?:a|à) écrit|escribió|escreveu|ha scritto|napisał|写道|寫道)[^:：]* ?[:：]\W{0,2}$",
    );
    /// `X wrote:`, which counts only before quoted lines.
    SHORT_ATTRIBUTION = r"(?i)^[^>].*(?: wrote| writes| schrieb| écrit| escribió|写道|寫道) ?[:：]$";
    /// A date and an address before a colon, in any language; this also counts only before quoted lines.
    ADDRESS_ATTRIBUTION = r"^[^>].*[0-9].*<[^<>\s]+@[^<>\s]+>.{0,12}[:：]$";
    FORWARD = concat!(
        r"(?i)^(?:-{2,} ?(?:forwarded message|weitergeleitete nachricht|message transféré|mensaje reenviado|messaggio inoltrato|",
        r"mensagem encaminhada|doorgestuurd bericht|转发的邮件|forwarded by .{1,80}) ?-{2,}|",
        r"begin forwarded message:|anfang der weitergeleiteten nachricht:)$",
    );
    ORIGINAL = concat!(
        r"(?i)^-{2,} ?(?:original message|ursprüngliche nachricht|original-nachricht|message d'origine|mensaje original|",
        r"messaggio originale|mensagem original|oorspronkelijk bericht|原始邮件|原始郵件|邮件原件) ?-{2,}$",
    );
    SENDER = r"^\*?(?:From|Von|De|Da|Van|Från|Fra|发件人|寄件者|差出人|보낸 사람|От) ?[:：]";
    FIELD = concat!(
        r"^\*?(?:Sent|Date|To|Subject|Cc|Gesendet|Datum|An|Betreff|Envoyé|À|Objet|Enviado(?: el)?|Fecha|Para|Asunto|Inviato|",
        r"Oggetto|A|Verzonden|Aan|Onderwerp|发送时间|日期|收件人|主题|抄送|寄件日期|收件者|主旨|副本|送信日時|日時|宛先|件名|",
        r"보낸 날짜|받는 사람|제목|참조|Отправлено|Дата|Кому|Тема) ?[:：]",
    );
    /// Lines that phones and programs append automatically.
    PHONE = concat!(
        r"^(?:Sent from my .{1,40}|Sent from Mail for .{1,20}|Get Outlook for .{1,40}|Von meinem .{1,40} gesendet\.?|",
        r"Gesendet mit .{1,60}|Envoyé de mon .{1,40}|Enviado desde mi .{1,40}|Inviato da .{1,40}|Enviado do meu .{1,40}|",
        r"发自我的.{1,20}|從我的 ?.{1,20}傳送)$",
    );
}

#[cfg(test)]
mod body_tests {
    use super::Stretch::{Forwarded, Own, Quoted, Trailing};
    use super::*;

    fn cut(text: &str) -> Vec<(Stretch, String)> {
        stretches(text)
    }

    fn rows(rows: &[(Stretch, &str)]) -> Vec<(Stretch, String)> {
        rows.iter().map(|(stretch, text)| (*stretch, (*text).to_owned())).collect()
    }

    #[test]
    fn the_mail_that_is_answered_is_cut_off_in_each_spelling() {
        let quotes = [
            "On Thu, 5 Mar 2026 at 10:00, Ana Vos <ana@e.org> wrote:\n> Shall we?",
            "On Thu, 5 Mar 2026 at 10:00, Ana Vos\n<ana.with.a.long.address@e.org> wrote:\n\n> Shall we?",
            "Am 05.03.2026 um 10:00 schrieb Ana Vos <ana@e.org>:\n> Shall we?",
            "Le 5 mars 2026 à 10:00, Ana a écrit :\n> Shall we?",
            "在 2026年3月5日，上午10:00，Ana <ana@e.org> 写道：\n\n> Shall we?",
            "Ana wrote:\n> Shall we?",
            "2026年3月5日(木) 10:00 Ana Vos <ana@e.org>:\n\n> Shall we?",
            "2026년 3월 5일 (목) 오전 10:00, Ana Vos <ana@e.org>님이 작성:\n\n> Shall we?",
            "чт, 5 мар. 2026 г. в 10:00, Ana Vos\n<ana@e.org>:\n\n> Shall we?",
            "________________________________\n差出人: Ana\n送信日時: 木曜日\n宛先: Luís\n件名: Plan\n\nShall we?",
            "보낸 사람: Ana\n보낸 날짜: 목요일\n받는 사람: Luís\n제목: Plan\n\nShall we?",
            "-----Original Message-----\nFrom: Ana\nShall we?",
            "________________________________\nVon: Ana\nGesendet: Donnerstag\nAn: Luís\nBetreff: Plan\n\nShall we?",
            "On Thu, 5 Mar 2026 at 10:00, Ana wrote:\n\nShall we?\n\nAna",
        ];
        for quote in quotes {
            let found = cut(&format!("Yes.\nMonday then.\n\n{quote}"));
            let kinds: Vec<_> = found.iter().map(|(stretch, _)| *stretch).collect();
            assert_eq!((kinds, found[0].1.as_str()), (vec![Own, Trailing], "Yes.\nMonday then."), "{quote}");
            assert!(found[1].1.contains("Shall we?") && !found[1].1.contains("> Shall"), "{quote}");
        }
    }

    #[test]
    fn answers_between_the_lines_keep_what_they_answer() {
        let text = "Ana wrote:\n> Which day?\nMonday.\n\n> Where?\n> Here?\nAt mine.\n> Bye\n> Ana";
        let expected = [
            (Quoted, "Ana wrote:\nWhich day?"),
            (Own, "Monday."),
            (Quoted, "Where?\nHere?"),
            (Own, "At mine."),
            (Trailing, "Bye\nAna"),
        ];
        assert_eq!(cut(text), rows(&expected));
    }

    #[test]
    fn signatures_and_footers_are_left_out() {
        let texts = [
            "Yes.\n-- \nLuís\nHead of Sheds",
            "Yes.\n\nSent from my iPhone",
            "Yes.\n\nVon meinem iPhone gesendet\n",
            "Yes.\n_______________________________________________\nsheds mailing list\nsheds@e.org",
        ];
        for text in texts {
            assert_eq!(cut(text), rows(&[(Own, "Yes.")]), "{text}");
        }
        assert_eq!(cut("Yes.\n-- \nLuís\n> Shall we?"), rows(&[(Own, "Yes."), (Trailing, "Shall we?")]));
    }

    #[test]
    fn what_is_passed_on_is_not_the_authors() {
        let text = "See below.\n\n---------- Forwarded message ---------\nFrom: Ana\n\nThe lease ends.";
        assert_eq!(cut(text), rows(&[(Own, "See below."), (Forwarded, "From: Ana\n\nThe lease ends.")]));
    }

    #[test]
    fn ordinary_sentences_are_the_authors_own() {
        for text in [
            "From: the look of it, we can.\nGood.", "On 5 March she told me what he wrote", "a -- b\n--- c", "x\n\n\ny",
        ] {
            assert_eq!(cut(text), rows(&[(Own, text)]));
        }
        assert_eq!(cut("> only this"), rows(&[(Quoted, "only this")]));
    }
}
