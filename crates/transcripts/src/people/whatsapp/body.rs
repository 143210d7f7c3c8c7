//! What follows a header: who wrote it, and whether a person or the program did.

use std::sync::LazyLock;

use regex::Regex;

use super::header::{is_mark, without_marks};
use super::phrases;
use crate::parts::file_label;
use crate::{Kind, Message, MessageTime, Role};

/// Stands before what the program writes into a message; nobody types it.
const PROGRAM_MARK: char = '\u{200e}';
/// Longest text behind the name of a document that was left out, in bytes.
const LONGEST_NOTE: usize = 120;
/// The name of the program's own assistant.
const ASSISTANT: &str = "Meta AI";

/// Splits `Author: text`; the author is `None` for a line of the program.
#[must_use]
pub fn split_author(rest: &str) -> (Option<String>, &str) {
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

/// Returns a name with plain spaces, and without the tilde before one that the phone's owner has not saved.
fn author_name(raw: &str) -> String {
    let name = without_marks(raw).split_whitespace().collect::<Vec<_>>().join(" ");
    name.strip_prefix('~').map_or(name.as_str(), str::trim).to_owned()
}

/// Turns one entry into messages: what was typed, files as placeholders, and the program's own words as context.
#[must_use]
pub fn messages(author: Option<&str>, raw: &str, time: Option<MessageTime>) -> Vec<Message> {
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
    if was_marked && phrases::is_location(text) {
        return vec![said(Kind::Attachment, &format!("[{}]", text.replace('\n', " ")))];
    }
    let (text, pasted) = split_pasted(text);
    let (labels, typed) = take_files(text);
    let mut messages: Vec<Message> = labels.iter().map(|label| said(Kind::Attachment, label)).collect();
    if was_marked && messages.is_empty() && !phrases::is_poll(text) {
        // Nobody types the mark: the program wrote this in the author's name, such as a missed call.
        return vec![notice(text.to_owned())];
    }
    messages.push(said(Kind::Prose, &typed));
    // What others wrote in another chat is not what the author says.
    messages.extend(pasted.map(|pasted| Message { speaker: None, ..said(Kind::Context, pasted) }));
    messages
}

/// Splits off the messages of a chat that were copied into this one, which the program pastes with time and name.
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

/// Takes off the note that a message was edited.
fn without_edit_note(raw: &str) -> &str {
    let trimmed = raw.trim_end_matches(|c: char| is_mark(c) || c.is_whitespace());
    let Some(open) = trimmed.rfind('<').filter(|_| trimmed.ends_with('>')) else { return raw };
    let note = without_marks(&trimmed[open + 1..trimmed.len() - 1]);
    if phrases::is_edited(&note) { trimmed[..open].trim_end_matches(is_mark).trim_end() } else { raw }
}

/// Returns the placeholders of the files in `text`, and the text without the lines that stood for them.
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

/// Reads a line that stands for a file; returns what was typed before it, and the placeholder.
fn file_of(line: &str) -> Option<(&str, String)> {
    let line = line.trim();
    if let Some(kind) = phrases::omitted(line) {
        return Some(("", file_label(kind, None)));
    }
    // iOS names the document, and its pages, before it says that it was left out.
    if let Some((name, kind)) = omitted_document(line) {
        return Some(("", file_label(kind, Some(name))));
    }
    if let Some(inside) = line.strip_suffix('>') {
        let (before, inside) = inside.rsplit_once('<')?;
        let (_, name) = inside.split_once([':', '：'])?;
        let name = name.trim();
        let before = if before.contains(" • ") { "" } else { before.trim() };
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
mod tests {
    use super::*;

    fn told(raw: &str) -> Vec<(Kind, String)> {
        messages(Some("Ana"), raw, None).into_iter().map(|message| (message.kind, message.text)).collect()
    }

    #[test]
    fn authors_are_told_from_the_lines_of_the_program() {
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
        assert_eq!(told(&format!("Look:\n{pasted}")), expected);
        let older = "[04/03, 10:02 PM] +351 912 345 678: I hate fish.";
        let said: Vec<_> = told(older).into_iter().filter(|(_, text)| !text.is_empty()).collect();
        assert_eq!(said, [(Kind::Context, older.to_owned())]);
        assert_eq!(told("[10:02] we meet: or not"), [(Kind::Prose, "[10:02] we meet: or not".to_owned())]);
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
            ("\u{200e}Location: https://maps.example/?q=1,2", "[Location: https://maps.example/?q=1,2]"),
        ];
        for (raw, label) in rows {
            let said: Vec<_> = told(raw).into_iter().filter(|(_, text)| !text.is_empty()).collect();
            assert_eq!(said, [(Kind::Attachment, label.to_owned())], "{raw}");
        }
    }

    #[test]
    fn captions_stay_the_authors_words() {
        let expected = [(Kind::Attachment, "[image: a.jpg]".to_owned()), (Kind::Prose, "The new shed".to_owned())];
        assert_eq!(told("a.jpg (file attached)\nThe new shed"), expected);
        assert_eq!(told("The new shed \u{200e}<attached: a.jpg>"), expected);
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
            assert_eq!(told(raw), [(Kind::Context, text.to_owned())], "{raw}");
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
            assert_eq!(told(raw), [(Kind::Prose, text.to_owned())], "{raw}");
        }
    }
}
