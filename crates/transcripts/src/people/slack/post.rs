//! One record of a day: who wrote what, when, and to which thread it belongs.

use jiff::Timestamp;
use serde_json::Value;

use super::names::{Names, name_of};
use super::text;
use crate::parts::file_label;
use crate::{Kind, Message, MessageTime, Role, TimeSource};

/// Records that say only that somebody came or went, or that stand a second time elsewhere.
const STRUCTURAL: &[&str] = &[
    "channel_join",
    "channel_leave",
    "group_join",
    "group_leave",
    "joiner_notification",
    "joiner_notification_for_inviter",
    "message_replied",
    "reply_broadcast",
];
/// Kinds of records in which somebody speaks; all others are notices of the program.
const SPOKEN: &[&str] =
    &["", "bot_message", "me_message", "thread_broadcast", "file_share", "file_comment", "assistant_app_thread"];

/// The time of a message, which is its id within the channel: compared by its digits, never as a float.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Stamp {
    seconds: i64,
    nanos: i32,
}

impl Stamp {
    /// Reads `1709287200.000100`.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (seconds, fraction) = text.split_once('.').unwrap_or((text, ""));
        let is_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
        let nanos = format!("{fraction:0<9}");
        let nanos = nanos.get(..9).filter(|_| is_digits(fraction))?.parse().ok()?;
        Some(Self { seconds: Some(seconds).filter(|seconds| is_digits(seconds))?.parse().ok()?, nanos })
    }

    fn at(self) -> Option<Timestamp> {
        Timestamp::new(self.seconds, self.nanos).ok()
    }
}

/// What is taken of one record.
#[derive(Debug)]
pub struct Post {
    /// Its time and id.
    pub stamp: Stamp,
    /// The id of the message that opened its thread, if it is in one; spelled as the log does.
    pub thread: Option<(Stamp, String)>,
    /// When its thread was last answered, which only the message that opened it tells.
    pub last_reply: Option<Stamp>,
    /// What was said, in the order shown.
    pub messages: Vec<Message>,
}

/// Whether `value` is a message of a Slack export.
#[must_use]
pub fn is_post(value: &Value) -> bool {
    let is_stamp = |text: &str| text.split_once('.').is_some_and(|(whole, part)| whole.len() >= 9 && part.len() == 6);
    value["type"] == "message" && value["ts"].as_str().is_some_and(|ts| is_stamp(ts) && Stamp::parse(ts).is_some())
}

/// Reads one record; `None` for one that holds nothing that was said.
///
/// # Errors
/// Why it cannot be used.
pub fn read(value: &Value, names: &Names) -> Result<Option<Post>, &'static str> {
    let Some(id) = value["ts"].as_str() else { return Err("no message: it has no `ts`") };
    let Some(stamp) = Stamp::parse(id) else { return Err("its `ts` is no time") };
    let subtype = value["subtype"].as_str().unwrap_or_default();
    if STRUCTURAL.contains(&subtype) {
        return Ok(None);
    }
    let author = Author::of(value, names);
    let time =
        stamp.at().map(|at| MessageTime { at, offset_seconds: Some(author.offset_seconds), source: TimeSource::Log });
    let mut messages =
        if SPOKEN.contains(&subtype) { said(value, names, author) } else { notice(value, subtype, names) };
    for message in &mut messages {
        id.clone_into(&mut message.id);
        message.time = time;
    }
    Ok(Some(Post { stamp, thread: thread(value, id), last_reply: stamp_of(&value["latest_reply"]), messages }))
}

fn stamp_of(value: &Value) -> Option<Stamp> {
    value.as_str().and_then(Stamp::parse)
}

/// Returns the thread of a message: that it answers, or that it opened and others answered.
fn thread(value: &Value, id: &str) -> Option<(Stamp, String)> {
    let named = value["thread_ts"].as_str();
    let is_answered = value["reply_count"].as_u64().is_some_and(|count| count > 0);
    let opener = match named {
        // Where all answers were deleted, the thread is none.
        Some(opener) if opener == id && value["reply_count"] == 0 => return None,
        Some(opener) => opener,
        None if is_answered => id,
        None => return None,
    };
    Some((Stamp::parse(opener)?, opener.to_owned()))
}

/// Who wrote a record.
struct Author {
    role: Role,
    name: Option<String>,
    offset_seconds: i32,
}

impl Author {
    fn of(value: &Value, names: &Names) -> Self {
        let comment = &value["comment"]["user"];
        let id = comment.as_str().or(value["user"].as_str()).filter(|id| !id.is_empty());
        let known = id.and_then(|id| names.person(id));
        let is_bot = value["subtype"] == "bot_message"
            || known.is_some_and(|person| person.is_bot)
            || id.is_none() && value["bot_id"].is_string();
        let profile = if is_bot { &value["bot_profile"] } else { &value["user_profile"] };
        let given = || value["username"].as_str().filter(|name| !name.is_empty());
        let name = known.map(|person| person.name.as_str()).filter(|_| !is_bot || given().is_none());
        let name = name.or_else(|| name_of(profile)).or_else(given).or(id).or(value["bot_id"].as_str());
        Self {
            role: if is_bot { Role::Other } else { Role::User },
            name: name.map(str::to_owned),
            offset_seconds: known.and_then(|person| person.offset_seconds).unwrap_or_default(),
        }
    }
}

fn notice(value: &Value, subtype: &str, names: &Names) -> Vec<Message> {
    let text = match subtype {
        "tombstone" => "[message deleted]".to_owned(),
        _ => text::plain(value["text"].as_str().unwrap_or_default(), names),
    };
    vec![Message { kind: Kind::Context, ..Message::prose(Role::System, text) }]
}

fn said(value: &Value, names: &Names, author: Author) -> Vec<Message> {
    let Author { role, name: speaker, .. } = author;
    let made = |kind: Kind, text: String| Message { kind, speaker: speaker.clone(), ..Message::prose(role, text) };
    let mut text = text::plain(own_words(value), names);
    if text.trim().is_empty() {
        text = text::of_blocks(&value["blocks"], names);
    }
    let attachments = value["attachments"].as_array().into_iter().flatten();
    let shown: Vec<String> = attachments.map(|attachment| text::of_attachment(attachment, names)).collect();
    let mut messages = Vec::new();
    if role == Role::Other && text.trim().is_empty() {
        messages.push(made(Kind::Prose, shown.join("\n")));
    } else {
        messages.push(made(Kind::Prose, text));
        // A preview of a link or a message passed on: shown under the author's words, but not said by the author.
        messages.extend(shown.into_iter().map(|text| Message { speaker: None, ..made(Kind::Context, text) }));
    }
    messages.extend(files(value).map(|label| made(Kind::Attachment, label)));
    messages
}

/// Returns what the author typed; older exports wrap it in a sentence about the file that it came with.
fn own_words(value: &Value) -> &str {
    let text = value["text"].as_str().unwrap_or_default();
    let comment = value["comment"]["comment"].as_str().or(value["file"]["initial_comment"]["comment"].as_str());
    if let Some(comment) = comment {
        return comment;
    }
    let is_wrapped = value["file"].is_object() && text.starts_with("<@");
    match text.split_once("> and commented: ") {
        Some((_, words)) if is_wrapped => words,
        None if is_wrapped && [" uploaded a file", " shared a file"].iter().any(|verb| text.contains(verb)) => "",
        Some(_) | None => text,
    }
}

fn files(value: &Value) -> impl Iterator<Item = String> {
    let older = Some(&value["file"]).filter(|file| file.is_object() && value["subtype"] == "file_share");
    value["files"].as_array().into_iter().flatten().chain(older).map(|file| {
        let name = ["name", "title"].into_iter().find_map(|key| file[key].as_str().filter(|name| !name.is_empty()));
        let kind = match file["mimetype"].as_str().unwrap_or_default().split('/').next() {
            Some(kind @ ("image" | "audio" | "video")) => kind,
            Some(_) | None => "file",
        };
        file_label(kind, name)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn told(fields: &Value) -> Vec<(Role, Kind, String, String)> {
        let mut value = json!({"type": "message", "ts": "1772700000.000100", "user": "U1"});
        value.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        let post = read(&value, &Names::default()).unwrap();
        let messages = post.into_iter().flat_map(|post| post.messages).filter(|message| !message.text.is_empty());
        messages.map(|one| (one.role, one.kind, one.speaker.unwrap_or_default(), one.text)).collect()
    }

    fn one(role: Role, kind: Kind, speaker: &str, text: &str) -> Vec<(Role, Kind, String, String)> {
        vec![(role, kind, speaker.to_owned(), text.to_owned())]
    }

    #[test]
    fn stamps_are_compared_by_their_digits() {
        let order = |a: &str, b: &str| Stamp::parse(a).unwrap().cmp(&Stamp::parse(b).unwrap());
        assert_eq!(order("1772700000.000100", "1772700000.000101"), std::cmp::Ordering::Less);
        assert_eq!(order("999999999.000000", "1772700000.000000"), std::cmp::Ordering::Less);
        for nonsense in ["", "soon", "-1.5", "1.x", "1.2.3", "99999999999999999999.1"] {
            assert_eq!(Stamp::parse(nonsense), None, "{nonsense}");
        }
    }

    #[test]
    fn each_subtype_is_said_marked_or_left_out() {
        let rows = [
            (json!({"text": "hi"}), one(Role::User, Kind::Prose, "U1", "hi")),
            (json!({"subtype": "me_message", "text": "waves"}), one(Role::User, Kind::Prose, "U1", "waves")),
            (json!({"subtype": "channel_join", "text": "<@U1> has joined"}), vec![]),
            (
                json!({"subtype": "channel_topic", "text": "<@U1> set the topic: beans"}),
                one(Role::System, Kind::Context, "", "@U1 set the topic: beans"),
            ),
            (
                json!({"subtype": "bot_add", "text": "added <https://e.org|ci>"}),
                one(Role::System, Kind::Context, "", "added ci (https://e.org)"),
            ),
            (
                json!({"subtype": "tombstone", "text": "This message was deleted."}),
                one(Role::System, Kind::Context, "", "[message deleted]"),
            ),
            (
                json!({"subtype": "bot_message", "user": null, "bot_id": "B1", "username": "deploy", "text": "", "attachments": [{"pretext": "Build 7", "fields": [{"title": "state", "value": "green"}]}]}),
                one(Role::Other, Kind::Prose, "deploy", "Build 7\nstate: green"),
            ),
            (
                json!({"user": "", "bot_id": "B1", "bot_profile": {"name": "Poll"}, "text": "Vote"}),
                one(Role::Other, Kind::Prose, "Poll", "Vote"),
            ),
            (
                json!({"text": "", "user_profile": {"display_name": "", "real_name": "Ana"}, "files": [{"name": "shed.png", "mimetype": "image/png"}]}),
                one(Role::User, Kind::Attachment, "Ana", "[image: shed.png]"),
            ),
            (
                json!({"subtype": "file_share", "text": "<@U1> uploaded a file: <https://e.org/f|Plan>", "file": {"name": "plan.pdf"}}),
                one(Role::User, Kind::Attachment, "U1", "[file: plan.pdf]"),
            ),
            (
                json!({"subtype": "file_comment", "user": null, "text": "<@U1> commented on <@U2>’s file: x", "comment": {"user": "U2", "comment": "nice"}}),
                one(Role::User, Kind::Prose, "U2", "nice"),
            ),
        ];
        for (fields, expected) in rows {
            assert_eq!(told(&fields), expected, "{fields}");
        }
    }

    #[test]
    fn previews_under_a_persons_words_are_context() {
        let fields = json!({"text": "<https://e.org>", "attachments": [{"title": "Example", "text": "A page"}]});
        let texts: Vec<_> = told(&fields).into_iter().map(|(_, kind, _, text)| (kind, text)).collect();
        let expected = [(Kind::Prose, "https://e.org".to_owned()), (Kind::Context, "Example\nA page".to_owned())];
        assert_eq!(texts, expected);
    }

    #[test]
    fn an_old_upload_with_words_keeps_the_words() {
        let text = "<@U1> uploaded a file: <https://e.org/f|Plan> and commented: please read";
        let fields = json!({"subtype": "file_share", "text": text, "file": {"name": "plan.pdf"}});
        let texts: Vec<_> = told(&fields).into_iter().map(|(_, _, _, text)| text).collect();
        assert_eq!(texts, ["please read", "[file: plan.pdf]"]);
    }
}
