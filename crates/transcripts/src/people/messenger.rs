//! Messenger and Instagram downloads: `message_1.json` and further parts, each with the newest messages first.

use serde_json::{Map, Value};

use crate::json::Json;
use crate::message::{identity, parts};
use crate::{Assembler, Folder, Head, IngestError, Ingestor, Input, Kind, Message, MessageTime, Records, Role, Sink};

/// Maximum number of parts.
const MOST_PARTS: usize = 10_000;
/// Fields that list attachments, and the types of the attachments.
const ATTACHED: &[(&str, &str)] = &[
    ("photos", "image"),
    ("videos", "video"),
    ("gifs", "image"),
    ("audio_files", "voice message"),
    ("files", "file"),
    ("media", "file"),
];

/// Words that follow a person's name in notices of the program.
const NOTED: &[&str] = &[
    "added ", "changed ", "created ", "joined ", "left the ", "missed ", "named the ", "pinned ", "reacted ",
    "removed ", "sent a ", "sent an ", "set ", "shared a ", "started ", "turned ", "unsent ",
];

/// Reads Messenger and Instagram downloads.
pub(crate) struct Messenger;

impl Ingestor for Messenger {
    named!("messenger");

    fn sniff(&self, head: &Head<'_>) -> bool {
        let is_message = |message: &Value| sender(message).is_some() && stamp(message).is_some();
        head.document.as_ref().is_some_and(|thread| {
            thread["participants"].is_array()
                && thread["messages"].as_array().is_some_and(|messages| messages.iter().take(50).any(is_message))
        })
    }

    fn read(&self, input: Input, sink: &mut Sink<'_>) -> Result<(), IngestError> {
        let origin = input.path.display().to_string();
        let part = |number: usize| input.sibling(&format!("message_{number}.json"));
        let first = input.path.file_name().and_then(|name| name.to_str()).and_then(part_number);
        if first.is_some_and(|first| first > 1 && part(first - 1).is_some()) {
            sink.skip(1, "a continuation of a conversation, which is read together with the previous part");
            return Ok(());
        }
        let further =
            first.map_or(0, |first| (first + 1..=MOST_PARTS).take_while(|number| part(*number).is_some()).count());
        let mut thread = Thread { origin, first: first.unwrap_or(1), draft: None };
        // The last part contains the oldest messages.
        for number in (1..=further).rev() {
            if let Some(input) = part(thread.first + number) {
                thread.add(input, sink)?;
            }
        }
        thread.add(input, sink)?;
        thread.draft.into_iter().for_each(|draft| draft.finish(sink));
        Ok(())
    }

    fn sniff_folder(&self, folder: &Folder) -> bool {
        // If there is only one part, there is nothing to join.
        folder.has("message_2.json") && folder.open("message_1.json").is_ok_and(|input| self.sniff(&Head::of(&input)))
    }

    fn read_folder(&self, folder: &Folder, sink: &mut Sink<'_>) -> Result<(), IngestError> {
        self.read(folder.open("message_1.json")?, sink)
    }
}

/// Returns the number of a part from the name of its file.
fn part_number(name: &str) -> Option<usize> {
    let number = name.strip_prefix("message_")?.strip_suffix(".json")?.parse().ok()?;
    (1..=MOST_PARTS).contains(&number).then_some(number)
}

/// The two generations of downloads use different names for the same fields.
fn sender(message: &Value) -> Option<&str> {
    message["sender_name"].as_str().or(message["senderName"].as_str())
}

fn stamp(message: &Value) -> Option<i64> {
    message["timestamp_ms"].as_i64().or(message["timestamp"].as_i64())
}

/// The state of a conversation that is being read part by part.
struct Thread {
    origin: String,
    /// The number of the newest part, which is 1 unless parts are missing.
    first: usize,
    draft: Option<Assembler>,
}

impl Thread {
    /// Adds the messages of a part, oldest first; each part is newer than the previous one.
    fn add(&mut self, part: Input, sink: &mut Sink<'_>) -> Result<(), IngestError> {
        let mut records = Records::elements_of(part, &["messages"]);
        let mut dated: Vec<(i64, Vec<Message>)> = Vec::new();
        while let Some((number, message)) = records.next_json::<Value>(sink)? {
            match stamp(&message).filter(|_| sender(&message).is_some()) {
                Some(at) => dated.push((at, sent(&message, at))),
                None => sink.skip(number, "not a message: it lacks a sender or a time"),
            }
        }
        // The file begins with the newest message, so reversing it preserves the order of messages with equal times.
        dated.reverse();
        dated.sort_by_key(|(at, _)| *at);
        let mut messages = dated.into_iter().flat_map(|(_, sent)| sent).peekable();
        let mut draft = self.draft.take().unwrap_or_else(|| self.begin(records.fields(), messages.peek()));
        draft.extend(messages, sink);
        self.draft = Some(draft);
        Ok(())
    }

    /// Starts the conversation that `fields` describe, identified by its path, or, failing that, by its title and
    /// oldest message.
    fn begin(&self, fields: &Map<String, Value>, oldest: Option<&Message>) -> Assembler {
        let field = |keys: &[&str]| keys.iter().find_map(|key| fields.get(*key).and_then(Value::as_str)).map(repaired);
        let title = field(&["title", "threadName"]);
        let own = field(&["thread_path", "threadName"]);
        let id = own.unwrap_or_else(|| {
            let oldest = oldest.map(Message::content_hash).unwrap_or_default();
            identity::of_parts(&[title.as_deref().unwrap_or_default(), &oldest])
        });
        // After a missing part, the remaining parts form a separate transcript.
        let id = if self.first == 1 { id } else { format!("{id}/{}", self.first) };
        let mut draft = Assembler::new("messenger", id, self.origin.as_str());
        draft.meta().title = title;
        draft
    }
}

/// Returns the contents of a message: files as placeholders, and the text.
fn sent(message: &Value, at: i64) -> Vec<Message> {
    let speaker = sender(message).map(repaired);
    let by = |kind: Kind, text: String| Message {
        // Messages have no ids, and their positions depend on the range of the download, but their times do not change.
        id: at.to_string(),
        kind,
        speaker: speaker.clone(),
        time: jiff::Timestamp::from_millisecond(at).ok().map(MessageTime::logged),
        ..Message::prose(Role::User, text)
    };
    let name = |file: &Value| file["uri"].as_str().map(|uri| repaired(uri.rsplit('/').next().unwrap_or(uri)));
    let listed = ATTACHED.iter().flat_map(|(key, kind)| {
        let files = message[*key].list().iter();
        files.map(move |file| parts::file_label(kind, name(file).as_deref()))
    });
    let sticker = message["sticker"].is_object().then(|| parts::file_label("sticker", None));
    let mut sent: Vec<Message> = listed.chain(sticker).map(|label| by(Kind::Attachment, label)).collect();
    let words = message["content"].as_str().or(message["text"].as_str()).map(repaired).unwrap_or_default();
    let is_note = is_note(message, &words, speaker.as_deref().unwrap_or_default());
    sent.push(by(if is_note { Kind::Context } else { Kind::Prose }, words));
    if let Some(link) = message["share"]["link"].as_str() {
        sent.push(by(Kind::Attachment, parts::file_label("link", Some(link))));
    }
    // Shared text was written by somebody else.
    if let Some(text) = message["share"]["share_text"].as_str() {
        sent.push(by(Kind::Context, format!("shared: {}", repaired(text))));
    }
    sent
}

/// Returns whether the program wrote `words`: notices about calls, members, reactions and names of the conversation.
fn is_note(message: &Value, words: &str, speaker: &str) -> bool {
    let is_kind = matches!(message["type"].as_str(), Some("Subscribe" | "Unsubscribe" | "Call"));
    let is_reaction = words.starts_with("Reacted ") && words.trim_end().ends_with(" to your message");
    // Notices are sentences that begin with a name: "Ana named the group Shed."
    // Instagram uses the first name, or "You", and writes some of them without a full stop.
    let names = [speaker, speaker.split(' ').next().unwrap_or_default(), "You"];
    let mut deeds =
        names.iter().filter(|name| !name.is_empty()).filter_map(|name| words.strip_prefix(name)?.strip_prefix(' '));
    let is_deed = deeds.any(|deed| {
        deed == "liked a message" || words.ends_with('.') && NOTED.iter().any(|start| deed.starts_with(start))
    });
    is_kind || is_reaction || is_deed || message.get("call_duration").is_some()
}

/// Reverses the damage that the download does to non-ASCII text: each byte of the UTF-8 encoding appears as a separate
/// character.
///
/// Undamaged text cannot be decoded in this way, and is left unchanged.
fn repaired(text: &str) -> String {
    let bytes: Option<Vec<u8>> = text.chars().map(|c| u8::try_from(u32::from(c)).ok()).collect();
    let repaired = bytes.filter(|_| !text.is_ascii()).and_then(|bytes| String::from_utf8(bytes).ok());
    repaired.unwrap_or_else(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Transcript;
    use serde_json::json;

    fn read(input: Input) -> (Vec<Transcript>, Vec<(usize, String)>) {
        let mut seen = Vec::new();
        let mut accept = |transcript| seen.push(transcript);
        let mut sink = Sink::new(&mut accept);
        Messenger.read(input, &mut sink).unwrap();
        let skipped = sink.skipped.iter().map(|skipped| (skipped.record, skipped.reason.clone())).collect();
        (seen, skipped)
    }

    fn thread(messages: &[Value]) -> Value {
        json!({"participants": [{"name": "Ana"}, {"name": "Bo"}], "messages": messages, "title": "Bo", "thread_path": "inbox/bo_1"})
    }

    fn message(at: i64, words: &str) -> Value {
        json!({"sender_name": "Ana", "timestamp_ms": at, "content": words})
    }

    fn pieces(messages: &[Value]) -> Vec<(Kind, String)> {
        let messages = read(Input::from_text("x.json", &thread(messages).to_string())).0.remove(0).messages;
        messages.into_iter().map(|one| (one.kind, one.text)).collect()
    }

    #[test]
    fn text_is_repaired_only_where_it_is_broken() {
        let rows = [
            ("\u{c3}\u{a9} isso \u{f0}\u{9f}\u{91}\u{8d}", "é isso 👍"),
            ("é isso 👍", "é isso 👍"),
            ("caf\u{e9}", "café"),
            ("plain", "plain"),
            ("Ã©, then 👍", "Ã©, then 👍"),
        ];
        for (text, expected) in rows {
            assert_eq!(repaired(text), expected, "{text}");
        }
    }

    #[test]
    fn messages_are_put_in_the_order_of_time_and_notes_apart() {
        let mut photo = message(2_000, "look");
        photo["photos"] = json!([{"uri": "messages/inbox/bo_1/photos/12.jpg", "creation_timestamp": 1}]);
        let mut share = message(3_000, "this one");
        share["share"] = json!({"link": "https://e.org", "share_text": "Their words"});
        let messages = [
            share,
            photo,
            message(1_500, "Ana named the group Trip."),
            message(1_000, "Ana and I agree."),
            message(900, "Reacted 👍 to your message"),
        ];
        let rows = [
            (Kind::Context, "Reacted 👍 to your message"),
            (Kind::Prose, "Ana and I agree."),
            (Kind::Context, "Ana named the group Trip."),
            (Kind::Attachment, "[image: 12.jpg]"),
            (Kind::Prose, "look"),
            (Kind::Prose, "this one"),
            (Kind::Attachment, "[link: https://e.org]"),
            (Kind::Context, "shared: Their words"),
        ];
        assert_eq!(pieces(&messages), rows.map(|(kind, text)| (kind, text.to_owned())));
    }

    #[test]
    fn notices_of_instagram_are_not_words_of_a_person() {
        let notices =
            ["Ana sent an attachment.", "Ana liked a message", "You sent an attachment.", "Ana shared a story."];
        for words in notices.into_iter().chain(["Ana reacted 👍 to your message."]) {
            let by = json!({"sender_name": "Ana Silva", "timestamp_ms": 1, "content": words});
            assert_eq!(pieces(&[by])[0], (Kind::Context, words.to_owned()));
        }
        for words in ["Ana liked a message that I sent", "Anabel sent an attachment.", "I sent an attachment."] {
            let by = json!({"sender_name": "Ana Silva", "timestamp_ms": 1, "content": words});
            assert_eq!(pieces(&[by])[0], (Kind::Prose, words.to_owned()));
        }
    }

    #[test]
    fn the_parts_of_a_conversation_are_one() {
        let folder = tempfile::tempdir().unwrap();
        for (part, at) in [(1, 3_000), (2, 2_000), (3, 1_000)] {
            let text = thread(&[message(at, &format!("part {part}"))]).to_string();
            std::fs::write(folder.path().join(format!("message_{part}.json")), text).unwrap();
        }
        let open = |part: u8| crate::open(&folder.path().join(format!("message_{part}.json"))).unwrap();
        assert!(Messenger.sniff_folder(&Folder::directory(folder.path())));
        let (seen, _) = read(open(1));
        let texts: Vec<_> = seen[0].messages.iter().map(|one| (one.id.as_str(), one.text.as_str())).collect();
        assert_eq!(texts, [("1000", "part 3"), ("2000", "part 2"), ("3000", "part 1")]);
        assert_eq!(seen[0].external_id, "inbox/bo_1");
        let (seen, skipped) = read(open(2));
        assert_eq!((seen.len(), skipped.len()), (0, 1));
        std::fs::remove_file(folder.path().join("message_2.json")).unwrap();
        assert_eq!(read(open(3)).0[0].external_id, "inbox/bo_1/3");
    }

    #[test]
    fn the_newer_spelling_is_read_and_what_is_no_message_reported() {
        let newer = json!({"participants": ["Ana", "Bo"], "threadName": "Bo_7", "messages": [
            {"isUnsent": false, "media": [], "senderName": "Ana", "text": "Olá", "timestamp": 1000, "type": "text"}, {"x": 1}]});
        let text = newer.to_string();
        assert!(Messenger.sniff(&Head::new(text.as_str().into(), true)));
        let (seen, skipped) = read(Input::from_text("Bo_7.json", &text));
        assert_eq!((seen[0].external_id.as_str(), seen[0].messages[0].text.as_str()), ("Bo_7", "Olá"));
        assert_eq!(skipped, [(2, "not a message: it lacks a sender or a time".to_owned())]);
    }
}
