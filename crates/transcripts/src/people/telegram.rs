//! Telegram Desktop exports in JSON: one chat, or the whole account.

use jiff::civil::DateTime;
use serde_json::{Map, Value};

use crate::json::Json;
use crate::message::assemble::Replies;
use crate::message::{identity, parts};
use crate::{
    Assembler, Head, IngestError, Ingestor, Input, Kind, Message, MessageTime, Records, Role, Sink, TimeSource,
};

/// Paths in the JSON: the messages of a single chat, and the messages of all chats in an account.
const PATHS: &[&str] = &["messages", "chats.list.messages", "left_chats.list.messages"];

/// Reads exports of Telegram Desktop.
pub(crate) struct Telegram;

impl Ingestor for Telegram {
    named!("telegram");

    fn sniff(&self, head: &Head<'_>) -> bool {
        head.document.as_ref().is_some_and(|export| {
            let listed = |key: &str| export[key]["list"].list().iter();
            // In the export of a large account, the lists before the chats fill the examined start of the file.
            let is_account = export["personal_information"]["user_id"].is_i64() && export["about"].is_string();
            is_account || is_chat(export) || listed("chats").chain(listed("left_chats")).any(is_chat)
        })
    }

    fn read(&self, input: Input, sink: &mut Sink<'_>) -> Result<(), IngestError> {
        let path = input.path.display().to_string();
        let is_account = Head::of(&input).document.is_some_and(|export| !export["messages"].is_array());
        let mut records = Records::elements_of(input, PATHS);
        while records.next_object()? {
            let mut chat: Option<Chat> = None;
            while let Some((number, entry)) = records.next_json::<Value>(sink)? {
                // The name and type of the chat precede its messages, so they are known at this point.
                let chat = chat.get_or_insert_with(|| Chat::new(records.fields(), &entry, &path, is_account));
                chat.add(number, &entry, sink);
            }
            if let Some(chat) = chat {
                chat.draft.finish(sink);
            }
        }
        Ok(())
    }
}

fn is_chat(chat: &Value) -> bool {
    let is_entry = |entry: &Value| {
        entry["id"].is_i64()
            && entry["date"].is_string()
            && matches!(entry["type"].as_str(), Some("message" | "service" | "unsupported"))
            && ["from", "actor", "from_id", "actor_id"].iter().any(|key| entry.get(key).is_some())
    };
    chat["messages"].as_array().is_some_and(|messages| messages.iter().take(50).any(is_entry))
}

/// The state of a chat that is being read.
struct Chat {
    draft: Assembler,
    /// The sender, if it is a program.
    bot: Option<String>,
    replies: Replies,
}

impl Chat {
    fn new(fields: &Map<String, Value>, first: &Value, path: &str, is_one_of_many: bool) -> Self {
        let field = |key: &str| fields.get(key).and_then(Value::as_str).filter(|text| !text.is_empty());
        let (name, kind) = (field("name"), field("type").unwrap_or_default());
        // People, groups and channels are numbered separately, so a number alone could refer to two chats.
        let (class, is_shared) = match kind {
            "private_group" => ("chat", true),
            kind if kind.ends_with("group") || kind.ends_with("channel") => ("channel", true),
            _ => ("user", false),
        };
        let own = fields.get("id").and_then(Value::as_i64).map(|id| format!("{class}{id}"));
        let id = own.unwrap_or_else(|| {
            identity::of_parts(&[name.unwrap_or_default(), kind, &first["id"].to_string(), &words(&first["text"])])
        });
        let bot = (kind == "bot_chat").then(|| id.clone());
        let origin = if is_one_of_many { format!("{path}#{id}") } else { path.to_owned() };
        let mut draft = Assembler::new("telegram", id, origin);
        let saved = (kind == "saved_messages").then_some("Saved Messages");
        draft.meta().title = name.or(saved).map(str::to_owned);
        draft.meta().project = name.filter(|_| is_shared).map(str::to_owned);
        Self { draft, bot, replies: Replies::default() }
    }

    fn add(&mut self, number: usize, entry: &Value, sink: &mut Sink<'_>) {
        let time = time(entry);
        let message = match entry["type"].as_str() {
            Some("service") => service(entry),
            Some("message") => self.said(entry),
            Some("unsupported") => return sink.skip(number, "a message that Telegram could not export"),
            Some(_) | None => return sink.skip(number, "not a message: its `type` is not known"),
        };
        let id = entry["id"].to_string();
        let speaker = message.speaker.clone();
        let beside = |name: &str, role: Role, text: String| Message {
            id: format!("{id}/{name}"),
            kind: Kind::Attachment,
            speaker: speaker.clone(),
            time,
            ..Message::prose(role, text)
        };
        if let Some(answered) = answered(entry)
            && let Some(mark) = self.replies.mark(&answered, speaker.as_deref())
        {
            self.draft.push(beside("reply", message.role, mark.text), sink);
        }
        if let Some(file) = file(entry) {
            self.draft.push(beside("file", message.role, file), sink);
        }
        let message = Message { id: id.clone(), time, ..message };
        self.replies.note(&message);
        self.draft.push(message, sink);
    }

    fn said(&self, entry: &Value) -> Message {
        // Ids were numbers before the introduction of prefixes such as `user`.
        let id = entry["from_id"].as_str().map_or_else(|| entry["from_id"].to_string(), str::to_owned);
        // For a deleted account, only the number remains.
        let speaker = entry["from"].as_str().map(str::to_owned).or_else(|| (id != "null").then(|| id.clone()));
        let role = if self.bot.as_deref() == Some(id.as_str()) { Role::Other } else { Role::User };
        let text = words(&entry["text"]);
        let source = entry.get("forwarded_from").or(entry.get("saved_from"));
        // The original author may also be known only by a number.
        let source = source.or(entry
            .get("forwarded_from_id")
            .filter(|source| source.as_str() != Some(id.as_str()))
            .map(|_| &Value::Null));
        let (kind, text) = match source {
            // A forwarded text was written by somebody else, unless people forward their own messages.
            Some(source) if source.as_str().is_none_or(|source| Some(source) != speaker.as_deref()) => {
                (Kind::Context, format!("forwarded from {}: {text}", source.as_str().unwrap_or("somebody")))
            }
            _ if text.is_empty() => (Kind::Prose, text),
            _ => match entry["via_bot"].as_str() {
                Some(bot) => (Kind::Context, format!("via {bot}: {text}")),
                None => (Kind::Prose, text),
            },
        };
        Message { kind, speaker, ..Message::prose(role, text) }
    }
}

/// Returns a notice from Telegram itself: somebody joined, made a call, pinned a message or renamed the chat.
fn service(entry: &Value) -> Message {
    let actor = entry["actor"].as_str();
    let action = entry["action"].as_str().unwrap_or("service").replace('_', " ");
    let title = entry["title"].as_str().or(entry["new_title"].as_str()).unwrap_or_default();
    let text = format!("{}: {action} {title}", actor.unwrap_or("Telegram"));
    Message { kind: Kind::Context, speaker: actor.map(str::to_owned), ..Message::prose(Role::Other, text) }
}

/// Returns the id of the message to which `entry` replies. If that message is in another chat, the id is modified so
/// that it does not match any message of this chat.
fn answered(entry: &Value) -> Option<String> {
    let id = entry["reply_to_message_id"].as_i64()?;
    Some(if entry.get("reply_to_peer_id").is_some() { format!("elsewhere {id}") } else { id.to_string() })
}

/// Joins the pieces of `text`; a link keeps its address, and a quoted block is marked.
fn words(text: &Value) -> String {
    let piece = |piece: &Value| {
        let words = piece.as_str().or(piece["text"].as_str()).unwrap_or_default();
        match (piece["type"].as_str(), piece["href"].as_str()) {
            (Some("text_link"), Some(address)) if address != words => format!("{words} ({address})"),
            (Some("blockquote"), _) => format!("\n> {}\n", words.replace('\n', "\n> ")),
            _ => words.to_owned(),
        }
    };
    match text {
        Value::Array(pieces) => pieces.iter().map(piece).collect(),
        other => piece(other),
    }
}

/// Returns the placeholder of an attachment.
fn file(entry: &Value) -> Option<String> {
    let name = |key: &str| {
        // If a file was not exported, a note in parentheses takes the place of its path.
        let path = entry[key].as_str().filter(|path| !path.starts_with('('));
        entry["file_name"].as_str().or_else(|| path.map(|path| path.rsplit('/').next().unwrap_or(path)))
    };
    let label = |kind: &str, key: &str| Some(parts::file_label(kind, name(key)));
    match entry["media_type"].as_str() {
        Some("sticker") => return Some(parts::file_label("sticker", entry["sticker_emoji"].as_str())),
        Some("voice_message") => return label("voice message", ""),
        Some("video_message") => return label("video message", ""),
        Some("audio_file") => return Some(parts::file_label("audio", entry["title"].as_str().or(name("file")))),
        Some("video_file") => return label("video", "file"),
        Some(other) => return label(&other.replace('_', " "), "file"),
        None => {}
    }
    if entry["photo"].is_string() {
        return label("image", "photo");
    }
    if entry["file"].is_string() {
        return label("file", "file");
    }
    if entry["poll"].is_object() {
        return Some(parts::file_label("poll", entry["poll"]["question"].as_str()));
    }
    if entry["contact_information"].is_object() {
        let contact = ["first_name", "last_name"].map(|key| entry["contact_information"][key].as_str().unwrap_or(""));
        return Some(parts::file_label("contact", Some(&contact.join(" "))));
    }
    let is_place = entry["location_information"].is_object() || entry["place_name"].is_string();
    is_place.then(|| parts::file_label("location", entry["place_name"].as_str()))
}

/// Returns the instant, and the exporter's offset as the difference between the local time and the instant; older
/// exports contain only the local time.
fn time(entry: &Value) -> Option<MessageTime> {
    let local: Option<DateTime> = entry["date"].as_str().and_then(|date| date.parse().ok());
    if let Some(at) = identity::instant(&entry["date_unixtime"]) {
        let offset_seconds = local.and_then(|local| identity::offset_of_clock(local, at)).or(Some(0));
        return Some(MessageTime { at, offset_seconds, source: TimeSource::Log });
    }
    MessageTime::local(local?, TimeSource::Log)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Transcript;
    use serde_json::json;

    fn read(text: &str) -> (Vec<Transcript>, Vec<(usize, String)>) {
        let mut seen = Vec::new();
        let mut accept = |transcript| seen.push(transcript);
        let mut sink = Sink::new(&mut accept);
        Telegram.read(Input::from_text("result.json", text), &mut sink).unwrap();
        let skipped = sink.skipped.iter().map(|skipped| (skipped.record, skipped.reason.clone())).collect();
        (seen, skipped)
    }

    fn chat(entries: &[Value]) -> Value {
        json!({"name": "Ana", "type": "personal_chat", "id": 42, "messages": entries})
    }

    fn entry(id: u32, from: &str, text: &Value) -> Value {
        json!({"id": id, "type": "message", "date": "2026-03-04T11:00:00", "from": from, "from_id": "user1", "text": text})
    }

    fn shown(chat: &Value) -> Vec<(String, Kind, Role, String)> {
        let messages = read(&chat.to_string()).0.remove(0).messages;
        messages.into_iter().map(|one| (one.id, one.kind, one.role, one.text)).collect()
    }

    fn row(id: &str, kind: Kind, role: Role, text: &str) -> (String, Kind, Role, String) {
        (id.to_owned(), kind, role, text.to_owned())
    }

    #[test]
    fn text_comes_in_pieces_and_files_as_placeholders() {
        let mut file = entry(2, "Ana", &json!(""));
        file["file"] = json!("(File not included. Change data exporting settings to download.)");
        file["file_name"] = json!("plan.pdf");
        let mut sticker = entry(3, "Ana", &json!("and this"));
        sticker["media_type"] = json!("sticker");
        sticker["sticker_emoji"] = json!("🐈");
        let pieces = json!(["see ", {"type": "text_link", "text": "here", "href": "https://e.org"}, 7, {"type": "blockquote", "text": "a\nb"}, {"type": "bold", "text": "now"}]);
        assert_eq!(
            shown(&chat(&[entry(1, "Ana", &pieces), file, sticker])),
            [
                row("1", Kind::Prose, Role::User, "see here (https://e.org)\n> a\n> b\nnow"),
                row("2/file", Kind::Attachment, Role::User, "[file: plan.pdf]"),
                row("3/file", Kind::Attachment, Role::User, "[sticker: 🐈]"),
                row("3", Kind::Prose, Role::User, "and this"),
            ]
        );
    }

    #[test]
    fn forwarded_texts_are_nobodys_words_here_unless_they_are_the_senders_own() {
        let with = |id: u32, key: &str, value: Value| {
            let mut entry = entry(id, "Ana", &json!("We moved to Porto."));
            entry[key] = value;
            entry
        };
        let entries = [
            with(1, "forwarded_from", json!("News")),
            with(2, "forwarded_from", json!(null)),
            with(3, "forwarded_from", json!("Ana")),
            with(4, "via_bot", json!("@wiki")),
            with(5, "forwarded_from_id", json!("user7")),
            with(6, "forwarded_from_id", json!("user1")),
            with(7, "saved_from", json!("News")),
        ];
        let kinds: Vec<_> = shown(&chat(&entries)).into_iter().map(|(_, kind, _, text)| (kind, text)).collect();
        let expected = [
            (Kind::Context, "forwarded from News: We moved to Porto."),
            (Kind::Context, "forwarded from somebody: We moved to Porto."),
            (Kind::Prose, "We moved to Porto."),
            (Kind::Context, "via @wiki: We moved to Porto."),
            (Kind::Context, "forwarded from somebody: We moved to Porto."),
            (Kind::Prose, "We moved to Porto."),
            (Kind::Context, "forwarded from News: We moved to Porto."),
        ];
        assert_eq!(kinds, expected.map(|(kind, text)| (kind, text.to_owned())));
    }

    #[test]
    fn replies_name_what_they_answer_and_bots_are_no_people() {
        let mut late = entry(3, "Ana", &json!("Yes."));
        late["reply_to_message_id"] = json!(1);
        let mut bot = entry(4, "Helper", &json!("Booked."));
        bot["from_id"] = json!("user42");
        bot["reply_to_message_id"] = json!(3);
        let mut bot_chat = chat(&[entry(1, "Ana", &json!("Shall we?")), entry(2, "Ana", &json!("ok")), late, bot]);
        bot_chat["type"] = json!("bot_chat");
        assert_eq!(
            shown(&bot_chat)[2..],
            [
                row("3/reply", Kind::Attachment, Role::User, "[in reply to Ana: Shall we?]"),
                row("3", Kind::Prose, Role::User, "Yes."),
                row("4", Kind::Prose, Role::Other, "Booked."),
            ]
        );
    }

    #[test]
    fn two_clocks_tell_the_offset_and_one_tells_none() {
        let at = |unix: Value| {
            let mut entry = entry(1, "Ana", &json!("x"));
            entry["date_unixtime"] = unix;
            time(&entry).map(|time| (time.at.to_string(), time.offset_seconds))
        };
        let utc = "2026-03-04T10:00:00Z".to_owned();
        assert_eq!(at(json!("1772618400")), Some((utc.clone(), Some(3_600))));
        assert_eq!(at(json!(1_772_618_400)), Some((utc, Some(3_600))));
        assert_eq!(at(json!(null)), Some(("2026-03-04T11:00:00Z".to_owned(), None)));
    }

    #[test]
    fn an_account_is_read_chat_by_chat_and_a_broken_escape_is_repaired() {
        let group = json!({"name": "Rowers", "type": "private_supergroup", "id": 42, "messages": [entry(1, "Bo", &json!("hi"))]});
        let account = json!({"about": "x", "chats": {"about": "y", "list": [chat(&[entry(1, "Ana", &json!("BAD"))]), group]}, "left_chats": {"list": [{"type": "saved_messages", "id": 7, "messages": [7, entry(1, "Ana", &json!("note"))]}]}});
        let text = account.to_string().replace("BAD", r"a \x1F b");
        assert!(Telegram.sniff(&Head::new(text.as_str().into(), true)));
        let (seen, skipped) = read(&text);
        let shown: Vec<_> = seen
            .iter()
            .map(|one| {
                (one.external_id.as_str(), one.title.as_deref().unwrap(), one.project.as_deref(), one.origin.as_str())
            })
            .collect();
        assert_eq!(
            shown,
            [
                ("user42", "Ana", None, "result.json#user42"),
                ("channel42", "Rowers", Some("Rowers"), "result.json#channel42"),
                ("user7", "Saved Messages", None, "result.json#user7"),
            ]
        );
        assert_eq!(seen[0].messages[0].text, "a \u{1f} b");
        assert_eq!(skipped, [(3, "not a message: its `type` is not known".to_owned())]);
    }
}
