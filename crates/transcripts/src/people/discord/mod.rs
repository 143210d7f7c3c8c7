//! Discord channels, as exported by `DiscordChatExporter` to JSON; the submodules read HTML and text exports.

mod page;
mod spelling;
mod written;

use std::collections::HashMap;

use jiff::civil::DateTime;
use regex::Captures;
use serde_json::{Map, Value};

use crate::json::Json;
use crate::message::assemble::Replies;
use crate::message::{identity, parts};
use crate::{
    Assembler, Head, IngestError, Ingestor, Input, Kind, Message, MessageTime, Records, Role, Sink, TimeSource,
    parse_rfc3339,
};
use spelling::{counted, file_label};

/// Maximum difference, in seconds, for the time encoded in an id and the time in the text to count as equal.
const SAME_SECONDS: i64 = 60;
/// Types of messages that contain a person's own words; all other types are notices from Discord.
const SAID: &[&str] = &["Default", "Reply", "ThreadStarterMessage", "0", "19", "21"];
/// Types of messages that are replies of programs to a command.
const ANSWERED: &[&str] = &["ChatInputCommand", "ApplicationCommand", "ContextMenuCommand", "20", "23"];

patterns! {
    REFERENCE = r"<@!?(\d{1,20})>|<a?(:\w{1,64}:)\d{1,20}>";
}

/// Reads Discord channels.
pub(crate) struct Discord;

impl Ingestor for Discord {
    named!("discord");

    fn sniff(&self, head: &Head<'_>) -> bool {
        let is_export = |export: &Value| {
            export["guild"].is_object() && export["channel"].is_object() && export["messages"].is_array()
        };
        head.document.as_ref().is_some_and(is_export) || page::is_page(&head.text) || written::is_written(&head.text)
    }

    fn read(&self, input: Input, sink: &mut Sink<'_>) -> Result<(), IngestError> {
        let path = input.path.display().to_string();
        let start = input.head();
        let is_page = page::is_page(&start);
        if is_page || written::is_written(&start) {
            drop(start);
            let Some(text) = sink.whole_text(input, "text")? else { return Ok(()) };
            if is_page {
                page::read(&text, path, sink);
            } else {
                written::read(&text, path, sink);
            }
            return Ok(());
        }
        drop(start);
        let mut records = Records::elements_of(input, &["messages"]);
        let mut channel: Option<Channel> = None;
        while let Some((number, message)) = records.next_json::<Value>(sink)? {
            if message["id"].as_str().is_none() && message["content"].as_str().is_none() {
                sink.skip(number, "not a message: neither `id` nor `content`");
                continue;
            }
            channel.get_or_insert_with(|| Channel::new(records.fields(), &message, &path)).add(&message, sink);
        }
        if let Some(channel) = channel {
            channel.draft.finish(sink);
        }
        Ok(())
    }
}

/// The state of a channel that is being read.
struct Channel {
    draft: Assembler,
    replies: Replies,
}

impl Channel {
    /// A long channel is exported in parts, one per file, so the identity includes the first message.
    fn new(fields: &Map<String, Value>, first: &Value, path: &str) -> Self {
        let text = |object: &str, key: &str| {
            let text = fields.get(object).and_then(|object| object[key].as_str());
            text.filter(|text| !text.is_empty()).map(str::to_owned)
        };
        let first = first["id"].as_str().or(first["content"].as_str()).unwrap_or_default();
        let id = match text("channel", "id") {
            Some(channel) => format!("{channel}/{first}"),
            None => identity::of_parts(&[&text("guild", "name").unwrap_or_default(), first]),
        };
        let mut draft = Assembler::new("discord", id, path);
        draft.meta().title = text("channel", "name");
        // Direct messages belong to a guild with the number 0.
        draft.meta().project = text("guild", "name").filter(|_| text("guild", "id").is_none_or(|id| id != "0"));
        Self { draft, replies: Replies::default() }
    }

    fn add(&mut self, value: &Value, sink: &mut Sink<'_>) {
        let author = &value["author"];
        let speaker = author["nickname"].as_str().filter(|name| !name.is_empty()).or(author["name"].as_str());
        let kind = value["type"].as_str().unwrap_or("Default");
        let is_answer = ANSWERED.contains(&kind);
        // The reply to a command comes from a program, even if a person's name is attached to it.
        let role = if author["isBot"] == true || is_answer { Role::Other } else { Role::User };
        let id = value["id"].string();
        let by = |kind: Kind, id: String, text: String| Message {
            id,
            kind,
            speaker: speaker.map(str::to_owned),
            time: time(value),
            ..Message::prose(role, text)
        };
        let answered = value["reference"]["messageId"].as_str().filter(|_| kind == "Reply" || kind == "19");
        if let Some(mark) = answered.and_then(|answered| self.replies.mark(answered, speaker)) {
            self.draft.push(by(Kind::Attachment, format!("{id}/reply"), mark.text), sink);
        }
        let content = readable(value["content"].string(), &value["mentions"]);
        let is_said = is_answer || SAID.contains(&kind);
        let said = by(if is_said { Kind::Prose } else { Kind::Context }, id.to_owned(), content);
        self.replies.note(&said);
        self.draft.push(said, sink);
        let forwarded = value["forwardedMessage"]["content"].as_str().filter(|text| !text.is_empty());
        if let Some(text) = forwarded {
            let text = format!("forwarded: {}", readable(text, &value["mentions"]));
            self.draft.push(by(Kind::Context, format!("{id}/forwarded"), text), sink);
        }
        for (place, label) in files(value).into_iter().chain(files(&value["forwardedMessage"])).enumerate() {
            self.draft.push(by(Kind::Attachment, format!("{id}/file{}", place + 1), label), sink);
        }
        // A preview of a linked page was not said by the person.
        for (place, embed) in value["embeds"].list().iter().enumerate() {
            self.draft.push(by(Kind::Context, format!("{id}/embed{}", place + 1), embed_text(embed)), sink);
        }
    }
}

/// Returns placeholders for the attachments.
fn files(message: &Value) -> Vec<String> {
    let file =
        |file: &Value| file_label(file["fileName"].as_str().or_else(|| parts::address_name(file["url"].as_str()?)));
    let sticker = |sticker: &Value| parts::file_label("sticker", sticker["name"].as_str());
    message["attachments"].list().iter().map(file).chain(message["stickers"].list().iter().map(sticker)).collect()
}

fn embed_text(embed: &Value) -> String {
    let fields = embed["fields"].list().iter().flat_map(|field| [&field["name"], &field["value"]]);
    let texts = [&embed["author"]["name"], &embed["title"], &embed["description"]].into_iter().chain(fields);
    texts.filter_map(Value::as_str).filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n")
}

/// Replaces ids that the exporter left in the text with names, and removes the ids of custom emoji.
fn readable(content: &str, mentions: &Value) -> String {
    let name_of = |person: &Value| person["nickname"].as_str().or(person["name"].as_str()).map(str::to_owned);
    let names: HashMap<&str, String> =
        mentions.list().iter().filter_map(|person| Some((person["id"].as_str()?, name_of(person)?))).collect();
    let put = |found: &Captures<'_>| match (found.get(1), found.get(2)) {
        (Some(id), _) => names.get(id.as_str()).map_or_else(|| found[0].to_owned(), |name| format!("@{name}")),
        (None, Some(emoji)) => emoji.as_str().to_owned(),
        (None, None) => found[0].to_owned(),
    };
    REFERENCE.replace_all(content, put).into_owned()
}

/// Returns the instant encoded in the id, with the offset of the exporter's clock.
///
/// If the id and the time in the text disagree, the text takes precedence, because not every id was assigned by
/// Discord.
fn time(message: &Value) -> Option<MessageTime> {
    let written = message["timestamp"].string();
    let counted = message["id"].as_str().and_then(counted);
    let logged = |at, offset_seconds| MessageTime { at, offset_seconds, source: TimeSource::Log };
    match (counted, parse_rfc3339(written)) {
        (Some(counted), Some((at, offset))) if (counted.as_second() - at.as_second()).abs() <= SAME_SECONDS => {
            Some(logged(counted, Some(offset)))
        }
        (_, Some((at, offset))) => Some(logged(at, Some(offset))),
        (Some(counted), None) => {
            let offset = written.parse::<DateTime>().ok().and_then(|local| identity::offset_of_clock(local, counted));
            Some(logged(counted, offset.or(Some(0))))
        }
        (None, None) => identity::written_time(written, TimeSource::Log),
    }
}

#[cfg(test)]
mod tests {
    use super::spelling::DISCORD_EPOCH_MS;
    use super::*;
    use crate::Transcript;
    use crate::testing::read_input;
    use serde_json::json;

    fn read(value: &Value) -> (Vec<Transcript>, Vec<usize>) {
        let (seen, skipped) = read_input(&Discord, Input::from_text("general.json", &value.to_string()));
        (seen, skipped.into_iter().map(|(record, _)| record).collect())
    }

    fn export(messages: &[Value]) -> Value {
        json!({"guild": {"id": "1", "name": "Makers"}, "channel": {"id": "2", "name": "general"}, "messages": messages, "messageCount": 1})
    }

    fn message(id: &str, content: &str, more: &Value) -> Value {
        let mut message = json!({"id": id, "type": "Default", "timestamp": "2026-03-04T11:00:00+01:00", "content": content, "author": {"id": "9", "name": "ana", "nickname": "Ana", "isBot": false}});
        for (key, value) in more.as_object().unwrap() {
            message[key] = value.clone();
        }
        message
    }

    fn pieces(messages: &[Value]) -> Vec<(String, Kind, Role, String)> {
        let messages = read(&export(messages)).0.remove(0).messages;
        messages.into_iter().map(|one| (one.id, one.kind, one.role, one.text)).collect()
    }

    fn row(id: &str, kind: Kind, role: Role, text: &str) -> (String, Kind, Role, String) {
        (id.to_owned(), kind, role, text.to_owned())
    }

    #[test]
    fn programs_notes_forwards_and_previews_are_nobodys_words() {
        let messages = [
            message("a", "Joined the server.", &json!({"type": "GuildMemberJoin"})),
            message("b", "Built.", &json!({"author": {"name": "ci", "isBot": true}})),
            message(
                "c",
                "",
                &json!({"forwardedMessage": {"content": "We move.", "attachments": [{"fileName": "x.PNG"}]}}),
            ),
            message(
                "d",
                "see",
                &json!({"embeds": [{"title": "Page", "description": "Words", "fields": [{"name": "n", "value": "v"}]}], "stickers": [{"name": "cat"}]}),
            ),
        ];
        assert_eq!(
            pieces(&messages),
            [
                row("a", Kind::Context, Role::User, "Joined the server."),
                row("b", Kind::Prose, Role::Other, "Built."),
                row("c/forwarded", Kind::Context, Role::User, "forwarded: We move."),
                row("c/file1", Kind::Attachment, Role::User, "[image: x.PNG]"),
                row("d", Kind::Prose, Role::User, "see"),
                row("d/file1", Kind::Attachment, Role::User, "[sticker: cat]"),
                row("d/embed1", Kind::Context, Role::User, "Page\nWords\nn\nv"),
            ]
        );
    }

    #[test]
    fn replies_and_mentions_are_resolved() {
        let reply = json!({"type": "Reply", "reference": {"messageId": "a"}, "mentions": [{"id": "7", "name": "bo"}]});
        let messages = [
            message("a", "Ship it?", &json!({})),
            message("b", "Hm.", &json!({})),
            message("c", "<@!7> yes <a:wave:12> <@8>", &reply),
        ];
        assert_eq!(
            pieces(&messages)[2..],
            [
                row("c/reply", Kind::Attachment, Role::User, "[in reply to Ana: Ship it?]"),
                row("c", Kind::Prose, Role::User, "@bo yes :wave: <@8>"),
            ]
        );
    }

    #[test]
    fn the_instant_is_the_ids_and_the_offset_the_exporters() {
        let at = |id: &str, written: &str| {
            time(&json!({"id": id, "timestamp": written})).map(|time| (time.at.to_string(), time.offset_seconds))
        };
        // Created on 4 March 2026 at 10:00:00.250 UTC.
        let id = ((1_772_618_400_250_i64 - DISCORD_EPOCH_MS) << 22).to_string();
        let rows = [
            (id.as_str(), "2026-03-04T11:00:00.25+01:00", Some(("2026-03-04T10:00:00.25Z", Some(3_600)))),
            (id.as_str(), "2026-03-04T11:00:00", Some(("2026-03-04T10:00:00.25Z", Some(3_600)))),
            (id.as_str(), "", Some(("2026-03-04T10:00:00.25Z", Some(0)))),
            (id.as_str(), "2024-01-01T00:00:00+00:00", Some(("2024-01-01T00:00:00Z", Some(0)))),
            ("x", "2026-03-04T11:00:00", Some(("2026-03-04T11:00:00Z", None))),
            ("x", "soon", None),
        ];
        for (id, written, expected) in rows {
            assert_eq!(at(id, written), expected.map(|(at, offset)| (at.to_owned(), offset)), "{id} {written}");
        }
    }

    #[test]
    fn parts_of_a_channel_are_distinguished_and_what_is_no_message_is_reported() {
        let (first, skipped) = read(&export(&[json!(7), message("a", "one", &json!({}))]));
        let (second, _) = read(&export(&[message("b", "two", &json!({}))]));
        assert_eq!((first[0].external_id.as_str(), second[0].external_id.as_str()), ("2/a", "2/b"));
        assert_eq!((first[0].project.as_deref(), first[0].title.as_deref()), (Some("Makers"), Some("general")));
        assert_eq!(skipped, [1]);
    }
}
