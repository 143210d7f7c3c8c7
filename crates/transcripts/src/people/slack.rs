//! The export of a Slack workspace: a folder or zip file with lists of people and channels, and one file per day and
//! channel; or the file of a single day.
//!
//! Each message is in exactly one transcript. A thread is one transcript, however many days it spans; the messages of a
//! channel outside its threads are another transcript, which spans all days. Ids come from the log: the id of the
//! channel, followed by the `ts` that opened the thread, and the `ts` of each message. Days are read one after another,
//! and threads are passed on once they are complete or a lot of text is buffered, so memory use does not grow with the
//! size of the channel.

use std::collections::{BTreeMap, HashMap, HashSet};

use jiff::Timestamp;
use regex::Captures;
use serde_json::Value;

use crate::json::Json;
use crate::message::identity;
use crate::message::parts::file_label;
use crate::{
    Assembler, Folder, Head, IngestError, Ingestor, Input, Kind, MAX_PART_BYTES, Message, MessageTime, Objects,
    Records, Role, Sink,
};

/// Maximum number of days that detection opens before it rejects a folder.
const SNIFFED_DAYS: usize = 5;

/// Reads exports of Slack workspaces.
pub(crate) struct Slack;

impl Ingestor for Slack {
    named!("slack");

    fn sniff(&self, head: &Head<'_>) -> bool {
        matches!(head.document, Some(Value::Array(_))) && head.objects().any(is_post)
    }

    fn sniff_folder(&self, folder: &Folder) -> bool {
        let lists_channels = CHANNELS.iter().any(|list| folder.has(list));
        let channels = || folder.folders("").into_iter().flat_map(|channel| days(folder, &channel));
        lists_channels && channels().take(SNIFFED_DAYS).any(|day| holds_posts(folder, &day))
    }

    fn read(&self, input: Input, sink: &mut Sink<'_>) -> Result<(), IngestError> {
        let origin = input.path.display().to_string();
        let names = Names::in_posts(&Head::of(&input));
        let mut room = Room::new(&names, String::new(), origin);
        room.read_day(Records::elements(input), sink)?;
        room.finish(sink);
        Ok(())
    }

    fn read_folder(&self, folder: &Folder, sink: &mut Sink<'_>) -> Result<(), IngestError> {
        let names = Names::of(folder, sink)?;
        for channel in folder.folders("") {
            let origin = folder.path().join(&channel).display().to_string();
            let known = names.channels.get(&channel);
            let id = known.map_or_else(|| identity::of_parts(&["slack", &channel]), |known| known.id.clone());
            let mut room = Room::new(&names, id, origin);
            let meta = room.draft.meta();
            meta.title = Some(known.map_or_else(|| format!("#{channel}"), |known| known.title.clone()));
            meta.project = known.is_none_or(|known| known.is_project).then(|| channel.clone());
            for day in days(folder, &channel) {
                let before = sink.skipped.len();
                match folder.open(&day).and_then(|input| room.read_day(Records::elements(input), sink)) {
                    Ok(()) | Err(IngestError::Empty { .. }) => {}
                    // If a day is damaged, the other days are still read.
                    Err(_) => sink.skip(1, "cannot be read completely"),
                }
                for skipped in &mut sink.skipped[before..] {
                    skipped.reason = format!("{day}: {}", skipped.reason);
                }
            }
            room.finish(sink);
        }
        Ok(())
    }
}

fn holds_posts(folder: &Folder, day: &str) -> bool {
    folder.open(day).is_ok_and(|input| Slack.sniff(&Head::of(&input)))
}

/// Returns the files of `channel`, one per day, earliest first.
fn days(folder: &Folder, channel: &str) -> Vec<String> {
    let is_day = |path: &str| {
        let name = path.rsplit('/').next().unwrap_or_default();
        let date = name.strip_suffix(".json").unwrap_or_default();
        date.len() == 10 && date.parse::<jiff::civil::Date>().is_ok()
    };
    folder.files(channel).into_iter().filter(|path| is_day(path)).collect()
}

// One channel, day by day: its messages outside threads, and the threads that are still open.

const SOURCE: &str = "slack";

/// Maximum size of the text in all open threads, in bytes. If it is exceeded, the messages of all threads are
/// passed to the reader of the log.
const MAX_OPEN_BYTES: usize = 4 * MAX_PART_BYTES;

/// Assembles the messages of one channel.
struct Room<'a> {
    names: &'a Names,
    /// The channel's id. If only a single day without a channel is given, the id is empty until the first message is
    /// read.
    id: String,
    origin: String,
    draft: Assembler,
    threads: BTreeMap<Timestamp, Thread>,
    open_bytes: usize,
    /// Threads that were passed on as complete.
    closed: HashSet<Timestamp>,
    newest: Option<Timestamp>,
}

/// A thread that may continue on a later day.
struct Thread {
    draft: Assembler,
    last_reply: Option<Timestamp>,
    bytes: usize,
}

impl<'a> Room<'a> {
    /// Creates an empty channel with the identity `id`; if `id` is empty, the first message determines the identity.
    fn new(names: &'a Names, id: String, origin: String) -> Self {
        let draft = Assembler::new(SOURCE, id.clone(), origin.clone());
        let (threads, closed) = (BTreeMap::new(), HashSet::new());
        Self { names, id, origin, draft, threads, open_bytes: 0, closed, newest: None }
    }

    /// Reads the messages of one day, which come after the messages of the previous days.
    ///
    /// # Errors
    /// [`IngestError::Read`] if the file cannot be read completely.
    fn read_day(&mut self, mut records: Records, sink: &mut Sink<'_>) -> Result<(), IngestError> {
        let (mut day, mut bytes, mut seen): (Vec<Post>, usize, HashSet<Timestamp>) = (Vec::new(), 0, HashSet::new());
        loop {
            let record = records.next_json::<Value>(sink);
            let Ok(Some((number, value))) = record else {
                self.take(day, sink);
                self.close_finished(sink);
                return record.map(|_| ());
            };
            match read(&value, self.names) {
                // A reply that was also sent to the channel occurs a second time in the channel.
                Ok(Some(post)) if seen.insert(post.stamp) => {
                    bytes += weight(&post);
                    day.push(post);
                }
                Ok(_) => {}
                Err(reason) => sink.skip(number, reason),
            }
            // Messages are sorted in batches, so only a day with more text than this may remain out of order.
            if bytes > MAX_PART_BYTES {
                self.take(std::mem::take(&mut day), sink);
                bytes = 0;
            }
        }
    }

    /// Passes the remaining messages to `sink`.
    fn finish(self, sink: &mut Sink<'_>) {
        self.draft.finish(sink);
        self.threads.into_values().for_each(|thread| thread.draft.finish(sink));
    }

    fn take(&mut self, mut day: Vec<Post>, sink: &mut Sink<'_>) {
        day.sort_by_key(|post| post.stamp);
        for post in day {
            self.name_after(&post);
            self.newest = self.newest.max(Some(post.stamp));
            if post.thread.is_some() {
                self.answer(post, sink);
            } else {
                self.draft.extend(post.messages, sink);
            }
        }
    }

    /// The file of a single day does not contain the name of its channel, so it is identified by its first message.
    fn name_after(&mut self, post: &Post) {
        let first = post.messages.first();
        if let Some(first) = first.filter(|_| self.id.is_empty()) {
            self.id = identity::of_parts(&[SOURCE, &first.id, &first.content_hash()]);
            self.draft.set_external_id(self.id.clone());
        }
    }

    fn answer(&mut self, post: Post, sink: &mut Sink<'_>) {
        let bytes = weight(&post);
        let Some((opener, spelled)) = post.thread else { return };
        // A reply that follows the supposedly last reply must not replace the earlier replies.
        let late = if self.closed.contains(&opener) { "~2" } else { "" };
        let thread = self.threads.entry(opener).or_insert_with(|| {
            let mut draft = Assembler::new(SOURCE, format!("{}:{spelled}{late}", self.id), self.origin.clone());
            let channel = self.draft.meta();
            (draft.meta().title, draft.meta().project) = (channel.title.clone(), channel.project.clone());
            Thread { draft, last_reply: None, bytes: 0 }
        });
        thread.bytes += bytes;
        self.open_bytes += bytes;
        thread.last_reply = thread.last_reply.max(post.last_reply);
        thread.draft.extend(post.messages, sink);
        if self.open_bytes > MAX_OPEN_BYTES {
            for thread in self.threads.values_mut() {
                thread.draft.hand_over(sink);
                thread.bytes = 0;
            }
            self.open_bytes = 0;
        }
    }

    /// Passes the threads whose last reply has been read to `sink`.
    fn close_finished(&mut self, sink: &mut Sink<'_>) {
        let newest = self.newest;
        let is_finished =
            |_: &Timestamp, thread: &mut Thread| thread.last_reply.is_some() && thread.last_reply <= newest;
        for (opener, thread) in self.threads.extract_if(.., is_finished) {
            self.open_bytes -= thread.bytes;
            self.closed.insert(opener);
            thread.draft.finish(sink);
        }
    }
}

fn weight(post: &Post) -> usize {
    post.messages.iter().map(|message| message.text.len()).sum::<usize>() + size_of::<Post>()
}

// One record of a day: its author, its content, its time, and its thread.

/// Records that only report that somebody joined or left, or that are repeated elsewhere.
const STRUCTURAL: &[&str] = &[
    "channel_join", "channel_leave", "group_join", "group_leave", "joiner_notification",
    "joiner_notification_for_inviter", "message_replied", "reply_broadcast",
];
/// Types of records that contain a person's or a bot's message; all other types are notices of the program.
const SPOKEN: &[&str] =
    &["", "bot_message", "me_message", "thread_broadcast", "file_share", "file_comment", "assistant_app_thread"];

/// Returns the time in `1709287200.000100`, which is the id of a message within its channel. It is compared by its
/// digits, never as a float.
fn stamp(text: &str) -> Option<Timestamp> {
    let (seconds, fraction) = text.split_once('.').unwrap_or((text, ""));
    let is_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    // A float would round the six digits that distinguish messages within the same second.
    let nanos = format!("{fraction:0<9}");
    let nanos = nanos.get(..9).filter(|_| is_digits(fraction) && is_digits(seconds))?.parse().ok()?;
    Timestamp::new(seconds.parse().ok()?, nanos).ok()
}

/// The content of one record.
#[derive(Debug)]
struct Post {
    /// Time and id of the record.
    stamp: Timestamp,
    /// The id, as spelled in the log, of the message that opened the thread, if the record is in a thread.
    thread: Option<(Timestamp, String)>,
    /// The time of the last reply in the thread, which only the message that opened the thread contains.
    last_reply: Option<Timestamp>,
    /// Messages of the record, in the order in which they are shown.
    messages: Vec<Message>,
}

/// Returns whether `value` is a message of a Slack export.
fn is_post(value: &Value) -> bool {
    let is_stamp = |text: &str| text.split_once('.').is_some_and(|(whole, part)| whole.len() >= 9 && part.len() == 6);
    value["type"] == "message" && value["ts"].as_str().is_some_and(|ts| is_stamp(ts) && stamp(ts).is_some())
}

/// Reads one record; `None` if the record contains nothing that was said.
///
/// # Errors
/// The reason why the record cannot be used.
fn read(value: &Value, names: &Names) -> Result<Option<Post>, &'static str> {
    let Some(id) = value["ts"].as_str() else { return Err("not a message: `ts` is missing") };
    let Some(at) = stamp(id) else { return Err("its `ts` is not a time") };
    let subtype = value["subtype"].string();
    if STRUCTURAL.contains(&subtype) {
        return Ok(None);
    }
    let (role, name, offset) = author(value, names);
    let time = MessageTime { offset_seconds: Some(offset), ..MessageTime::logged(at) };
    let mut messages = match subtype {
        _ if SPOKEN.contains(&subtype) => said(value, names, role, name.as_deref()),
        "tombstone" => vec![Message::context("[message deleted]")],
        _ => vec![Message::context(plain(value["text"].string(), names))],
    };
    for message in &mut messages {
        id.clone_into(&mut message.id);
        message.time = Some(time);
    }
    Ok(Some(Post { stamp: at, thread: thread(value, id), last_reply: stamp_of(&value["latest_reply"]), messages }))
}

fn stamp_of(value: &Value) -> Option<Timestamp> {
    value.as_str().and_then(stamp)
}

/// Returns the thread of a message: the thread in which it replies, or the thread that it opened if others replied.
fn thread(value: &Value, id: &str) -> Option<(Timestamp, String)> {
    let named = value["thread_ts"].as_str();
    let is_answered = value["reply_count"].as_u64().is_some_and(|count| count > 0);
    let opener = match named {
        // If all replies were deleted, there is no thread.
        Some(opener) if opener == id && value["reply_count"] == 0 => return None,
        Some(opener) => opener,
        None if is_answered => id,
        None => return None,
    };
    Some((stamp(opener)?, opener.to_owned()))
}

/// Returns the role and the name of the author of a record, and the offset of the author's clock.
fn author(value: &Value, names: &Names) -> (Role, Option<String>, i32) {
    let comment = &value["comment"]["user"];
    let id = comment.as_str().or(value["user"].as_str()).filter(|id| !id.is_empty());
    let known = id.and_then(|id| names.people.get(id));
    let is_bot = value["subtype"] == "bot_message"
        || known.is_some_and(|person| person.is_bot)
        || id.is_none() && value["bot_id"].is_string();
    let profile = if is_bot { &value["bot_profile"] } else { &value["user_profile"] };
    let given = || value["username"].as_str().filter(|name| !name.is_empty());
    let name = known.map(|person| person.name.as_str()).filter(|_| !is_bot || given().is_none());
    let name = name.or_else(|| name_of(profile)).or_else(given).or(id).or(value["bot_id"].as_str());
    let offset = known.and_then(|person| person.offset_seconds).unwrap_or_default();
    (if is_bot { Role::Other } else { Role::User }, name.map(str::to_owned), offset)
}

fn said(value: &Value, names: &Names, role: Role, name: Option<&str>) -> Vec<Message> {
    let made =
        |kind: Kind, text: String| Message { speaker: name.map(str::to_owned), ..Message::new(role, kind, text) };
    let mut text = plain(own_words(value), names);
    if text.trim().is_empty() {
        text = of_blocks(&value["blocks"], names);
    }
    let attachments = value["attachments"].list().iter();
    let shown: Vec<String> = attachments.map(|attachment| of_attachment(attachment, names)).collect();
    let mut messages = Vec::new();
    // Bots often put all their text into attachments, which then count as the bot's own text.
    if role == Role::Other && text.trim().is_empty() {
        messages.push(made(Kind::Prose, shown.join("\n")));
    } else {
        messages.push(made(Kind::Prose, text));
        // A preview of a link or a forwarded message is shown below the author's text, but was not written by the
        // author.
        messages.extend(shown.into_iter().map(|text| Message { speaker: None, ..made(Kind::Context, text) }));
    }
    messages.extend(files(value).map(|label| made(Kind::Attachment, label)));
    messages
}

/// Returns the text that the author typed, which older exports embed in a sentence about an attached file.
fn own_words(value: &Value) -> &str {
    let text = value["text"].string();
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
    value["files"].list().iter().chain(older).map(|file| {
        let name = file.first_text(&["name", "title"]);
        let kind = match file["mimetype"].string().split('/').next() {
            Some(kind @ ("image" | "audio" | "video")) => kind,
            Some(_) | None => "file",
        };
        file_label(kind, name)
    })
}

// The text of a message: markup with ids, or blocks of rich text, converted to the text that people saw.

/// Maximum nesting of blocks that is read.
const MAX_DEPTH: usize = 32;

/// Returns `text` with names instead of ids, and with links and special characters as plain text.
fn plain(text: &str, names: &Names) -> String {
    // Typed angle brackets are escaped, so an unclosed bracket is not markup.
    patterns! {
        REFERENCE = "<([^<>]*)>";
    }
    let shown = REFERENCE.replace_all(text, |found: &Captures<'_>| reference(&found[1], names));
    // The ampersand is replaced last, so that an escaped reference is decoded only once.
    shown.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
}

/// Returns the text that people saw instead of `<inside>`.
fn reference(inside: &str, names: &Names) -> String {
    let (target, label) = inside.split_once('|').map_or((inside, ""), |(target, label)| (target, label.trim()));
    if let Some(id) = target.strip_prefix('@') {
        let name = names.people.get(id).map(|person| person.name.as_str());
        return format!("@{}", name.unwrap_or(if label.is_empty() { id } else { label }));
    }
    if let Some(id) = target.strip_prefix('#') {
        let title = names.channel_title(id).map(|title| title.trim_start_matches('#'));
        return format!("#{}", if label.is_empty() { title.unwrap_or(id) } else { label });
    }
    if let Some(command) = target.strip_prefix('!') {
        // `<!here>` is a single word; `<!date^1709287200^{date}|1 March>` has fields after carets.
        let word = command.split('^').next().unwrap_or_default();
        return if label.is_empty() { format!("@{word}") } else { label.to_owned() };
    }
    link(target, label)
}

/// Returns a link as its label followed by the address, or as one of the two if they are equal.
fn link(address: &str, label: &str) -> String {
    let bare = ["mailto:", "tel:"].into_iter().find_map(|scheme| address.strip_prefix(scheme)).unwrap_or(address);
    let short = ["https://", "http://"].into_iter().find_map(|scheme| bare.strip_prefix(scheme)).unwrap_or(bare);
    if label.is_empty() || label == bare || label == short || label == short.trim_end_matches('/') {
        bare.to_owned()
    } else {
        format!("{label} ({bare})")
    }
}

/// Returns the text of blocks, for messages whose `text` is empty.
fn of_blocks(blocks: &Value, names: &Names) -> String {
    let mut shown = String::new();
    for block in blocks.list() {
        append(block, names, 0, &mut shown);
        end_line(&mut shown);
    }
    shown.trim().to_owned()
}

fn append(block: &Value, names: &Names, depth: usize, shown: &mut String) {
    if depth > MAX_DEPTH {
        return;
    }
    let text = |key: &str| block[key].string();
    match text("type") {
        "text" => shown.push_str(text("text")),
        "link" => shown.push_str(&link(text("url"), text("text"))),
        "user" => shown.push_str(&reference(&format!("@{}", text("user_id")), names)),
        "channel" => shown.push_str(&reference(&format!("#{}", text("channel_id")), names)),
        "emoji" => shown.extend([":", text("name"), ":"]),
        "broadcast" => shown.extend(["@", text("range")]),
        "date" => shown.push_str(text("fallback")),
        "mrkdwn" | "plain_text" => shown.push_str(&plain(text("text"), names)),
        "section" | "header" => append(&block["text"], names, depth + 1, shown),
        "rich_text_list" => each(block, names, depth, shown, "- "),
        "rich_text_quote" => each_quoted(block, names, depth, shown),
        "rich_text" => each(block, names, depth, shown, ""),
        // Sections, code and any unknown blocks contain a sequence of elements.
        _ => block["elements"].list().iter().for_each(|element| append(element, names, depth + 1, shown)),
    }
}

/// Appends the elements of `block` on separate lines.
fn each(block: &Value, names: &Names, depth: usize, shown: &mut String, bullet: &str) {
    for element in block["elements"].list() {
        end_line(shown);
        shown.push_str(bullet);
        append(element, names, depth + 1, shown);
    }
    end_line(shown);
}

fn each_quoted(block: &Value, names: &Names, depth: usize, shown: &mut String) {
    let mut quoted = String::new();
    for element in block["elements"].list() {
        append(element, names, depth + 1, &mut quoted);
    }
    end_line(shown);
    quoted.trim().lines().for_each(|line| shown.extend(["> ", line, "\n"]));
}

fn end_line(shown: &mut String) {
    if !shown.is_empty() && !shown.ends_with('\n') {
        shown.push('\n');
    }
}

/// Returns the text of an attachment: a preview of a link, a shared message, or the text of a bot.
fn of_attachment(attachment: &Value, names: &Names) -> String {
    let text = |key: &str| attachment[key].as_str().filter(|text| !text.trim().is_empty());
    let fields = attachment["fields"].list().iter().map(|field| {
        let (title, value) = (field["title"].string(), field["value"].string());
        format!("{title}: {value}")
    });
    let shown = ["pretext", "author_name", "title", "text"].into_iter().filter_map(text).map(str::to_owned);
    let mut lines: Vec<String> = shown.chain(fields).collect();
    if lines.is_empty() {
        lines.extend(text("fallback").map(str::to_owned));
    }
    let blocks = of_blocks(&attachment["blocks"], names);
    let lines = lines.iter().map(|line| plain(line, names));
    lines.chain((!blocks.is_empty()).then_some(blocks)).collect::<Vec<_>>().join("\n").trim().to_owned()
}

// The people, bots and channels that the ids in an export refer to.

/// Files that contain lists of people.
const PEOPLE: &[&str] = &["users.json", "org_users.json"];
/// Files that contain lists of conversations.
const CHANNELS: &[&str] = &["channels.json", "groups.json", "mpims.json", "dms.json"];
/// Maximum distance of a clock from UTC, in seconds.
const MAX_OFFSET: i32 = 18 * 3_600;

/// A person or bot.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Person {
    /// The name that is displayed with the person's messages.
    name: String,
    /// Offset of the person's clock from UTC at the time of the export, in seconds.
    offset_seconds: Option<i32>,
    /// Whether this account belongs to a program.
    is_bot: bool,
}

/// A conversation as listed in the export.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Channel {
    /// Id of the conversation in the log.
    id: String,
    /// The name of the channel; for private conversations, the names of the members.
    title: String,
    /// Whether the conversation has a subject, unlike a conversation between two people.
    is_project: bool,
}

/// The people and channels that are listed in an export.
#[derive(Debug, Default)]
struct Names {
    people: HashMap<String, Person>,
    /// The channels, indexed by the name of the folder with the channel's days.
    channels: HashMap<String, Channel>,
}

impl Names {
    /// Reads the lists in `folder`; if a list is missing or unusable, its ids are left as they are.
    ///
    /// # Errors
    /// [`IngestError::Read`] if a list cannot be read completely.
    fn of(folder: &Folder, sink: &mut Sink<'_>) -> Result<Self, IngestError> {
        let mut names = Self::default();
        for file in PEOPLE {
            listed(folder, file, sink)?.iter().for_each(|user| names.add_person(user));
        }
        // Two people with the same name would otherwise become one speaker.
        names.distinguish_namesakes();
        for file in CHANNELS {
            listed(folder, file, sink)?.iter().for_each(|channel| names.add_channel(file, channel));
        }
        Ok(names)
    }

    /// Returns the names that the first messages of a single day contain. Not every message has its author's name.
    fn in_posts(head: &Head<'_>) -> Self {
        let mut names = Self::default();
        for post in head.objects() {
            let (Some(id), Some(name)) = (post["user"].as_str(), name_of(&post["user_profile"])) else { continue };
            let person = Person { name: name.to_owned(), offset_seconds: None, is_bot: false };
            names.people.insert(id.to_owned(), person);
        }
        names.distinguish_namesakes();
        names
    }

    /// Returns the name of the channel with this id.
    fn channel_title(&self, id: &str) -> Option<&str> {
        self.channels.values().find(|channel| channel.id == id).map(|channel| channel.title.as_str())
    }

    fn add_person(&mut self, user: &Value) {
        let Some(id) = user["id"].as_str() else { return };
        let offset = user["tz_offset"].as_i64().and_then(|offset| i32::try_from(offset).ok());
        let person = Person {
            name: name_of(user).unwrap_or(id).to_owned(),
            offset_seconds: offset.filter(|offset| offset.abs() <= MAX_OFFSET),
            // Exports list Slackbot as a person, with `is_bot` false.
            is_bot: user["is_bot"] == true || id == "USLACKBOT",
        };
        self.people.insert(id.to_owned(), person);
    }

    /// Appends the id to each name that several people share.
    fn distinguish_namesakes(&mut self) {
        let mut bearers: HashMap<String, usize> = HashMap::new();
        self.people.values().for_each(|person| *bearers.entry(person.name.clone()).or_default() += 1);
        for (id, person) in &mut self.people {
            if bearers[&person.name] > 1 {
                person.name = format!("{} ({id})", person.name);
            }
        }
    }

    fn add_channel(&mut self, file: &str, channel: &Value) {
        let Some(id) = channel["id"].as_str() else { return };
        let name = channel["name"].as_str().filter(|name| !name.is_empty());
        let is_project = matches!(file, "channels.json" | "groups.json");
        let members = || {
            let ids = channel["members"].list().iter().filter_map(Value::as_str);
            ids.map(|id| self.people.get(id).map_or(id, |person| person.name.as_str())).collect::<Vec<_>>().join(", ")
        };
        let title = match name {
            Some(name) if is_project => format!("#{name}"),
            Some(_) | None => members(),
        };
        let channel = Channel { id: id.to_owned(), title, is_project };
        self.channels.insert(name.unwrap_or(id).to_owned(), channel.clone());
        // The folders of private conversations are named after the id.
        self.channels.insert(id.to_owned(), channel);
    }
}

/// Returns the name that people see: the display name, the full name or the account name, whichever is set first in
/// this order.
fn name_of(user: &Value) -> Option<&str> {
    let profile = &user["profile"];
    [&profile["display_name"], &profile["real_name"], &user["display_name"], &user["real_name"], &user["name"]]
        .into_iter()
        .find_map(Json::text)
}

fn listed(folder: &Folder, file: &str, sink: &mut Sink<'_>) -> Result<Vec<Value>, IngestError> {
    let mut values = Vec::new();
    match folder.has(file).then(|| folder.open(file)).transpose() {
        Ok(Some(input)) => Objects::each(input, sink, |object, _| values.push(object.value))?,
        Ok(None) | Err(IngestError::Empty { .. }) => {}
        Err(error) => return Err(error),
    }
    Ok(values)
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::path::Path;

    use serde_json::json;

    use super::*;
    use crate::Transcript;

    fn fixture() -> Folder {
        Folder::directory(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/slack/harbour-lights"))
    }

    fn read_folder(folder: &Folder) -> (Vec<Transcript>, Vec<String>) {
        let mut seen = Vec::new();
        let mut accept = |transcript| seen.push(transcript);
        let mut sink = Sink::new(&mut accept);
        Slack.read_folder(folder, &mut sink).unwrap();
        let skipped = sink.skipped.iter().map(|skipped| format!("{} {}", skipped.record, skipped.reason)).collect();
        (seen, skipped)
    }

    /// Creates an export of one channel and reads it.
    fn read_days(days: &[(&str, Value)]) -> (Vec<Transcript>, Vec<String>) {
        let place = tempfile::tempdir().unwrap();
        std::fs::create_dir(place.path().join("dev")).unwrap();
        std::fs::write(place.path().join("channels.json"), r#"[{"id":"C1","name":"dev"}]"#).unwrap();
        for (day, posts) in days {
            std::fs::write(place.path().join(format!("dev/{day}.json")), posts.to_string()).unwrap();
        }
        let folder = Folder::directory(place.path());
        assert!(Slack.sniff_folder(&folder));
        read_folder(&folder)
    }

    fn post(ts: &str, text: &str, thread: Option<&str>) -> Value {
        let mut post = json!({"type": "message", "user": "U1", "text": text, "ts": ts});
        thread.into_iter().for_each(|thread| post["thread_ts"] = json!(thread));
        post
    }

    fn outline(seen: &[Transcript]) -> Vec<(String, Vec<String>)> {
        let texts = |one: &Transcript| one.messages.iter().map(|message| message.text.clone()).collect();
        seen.iter().map(|one| (one.external_id.clone(), texts(one))).collect()
    }

    #[test]
    fn the_zip_of_an_export_reads_like_its_folder() {
        let (plain, place) = (fixture(), tempfile::tempdir().unwrap());
        let path = place.path().join("Harbour Lights export.zip");
        let mut zip = zip::ZipWriter::new(std::fs::File::create(&path).unwrap());
        for name in plain.all_files() {
            let options = zip::write::SimpleFileOptions::default().compression_method(zip::CompressionMethod::Deflated);
            zip.start_file(&name, options).unwrap();
            zip.write_all(&std::fs::read(plain.path().join(&name)).unwrap()).unwrap();
        }
        zip.finish().unwrap();
        let packed = Folder::archive(&path).unwrap();
        assert!(Slack.sniff_folder(&plain) && Slack.sniff_folder(&packed));
        let without_origin = |folder: &Folder| {
            let (seen, skipped) = read_folder(folder);
            let seen: Vec<_> = seen.into_iter().map(|one| Transcript { origin: String::new(), ..one }).collect();
            (seen, skipped)
        };
        let (seen, skipped) = without_origin(&plain);
        assert_eq!((seen.len(), skipped.len()), (4, 1));
        assert_eq!(without_origin(&packed), (seen, skipped));
    }

    #[test]
    fn a_thread_is_joined_over_days_and_stands_apart_from_its_channel() {
        let (opener, answer) = ("1772700000.000100", "1772900000.000100");
        let mut opened = post(opener, "which?", Some(opener));
        opened["reply_count"] = json!(1);
        opened["latest_reply"] = json!(answer);
        let (seen, skipped) = read_days(&[
            ("2026-03-05", json!([post("1772700001.000100", "b", None), opened])),
            ("2026-03-07", json!([post(answer, "this one", Some(opener)), post(answer, "this one", Some(opener))])),
            (
                "2026-03-08",
                json!([post("1772960000.000100", "c", None), post("1772960001.000100", "late", Some(opener))]),
            ),
        ]);
        let expected = [
            ("C1:1772700000.000100", vec!["which?", "this one"]),
            ("C1", vec!["b", "c"]),
            ("C1:1772700000.000100~2", vec!["late"]),
        ];
        let expected =
            expected.map(|(id, texts)| (id.to_owned(), texts.into_iter().map(str::to_owned).collect::<Vec<_>>()));
        assert_eq!((outline(&seen), skipped), (expected.to_vec(), vec![]));
    }

    #[test]
    fn messages_are_put_in_the_order_of_their_stamps_and_a_grown_channel_keeps_its_ids() {
        let first = json!([post("1772700000.000200", "b", None), post("1772700000.000100", "a", None)]);
        let second = json!([post("1772800000.000100", "c", None)]);
        let (early, _) = read_days(&[("2026-03-05", first.clone())]);
        let (later, _) = read_days(&[("2026-03-05", first), ("2026-03-06", second)]);
        assert_eq!(outline(&later), [("C1".to_owned(), vec!["a".to_owned(), "b".to_owned(), "c".to_owned()])]);
        assert_eq!(early[0].messages[..], later[0].messages[..2]);
    }

    #[test]
    fn damaged_days_and_records_are_reported_by_their_file_and_cost_nothing_else() {
        let (seen, skipped) = read_days(&[
            ("2026-03-05", json!([7, {"type": "message"}, {"ts": "soon"}, post("1772700000.000100", "a", None)])),
            ("2026-03-06", json!("")),
            ("2026-03-07", json!([post("1772900000.000100", "b", None)])),
        ]);
        assert_eq!(outline(&seen), [("C1".to_owned(), vec!["a".to_owned(), "b".to_owned()])]);
        let expected = [
            "1 dev/2026-03-05.json: not a message: `ts` is missing",
            "2 dev/2026-03-05.json: not a message: `ts` is missing",
            "3 dev/2026-03-05.json: its `ts` is not a time",
            "1 dev/2026-03-06.json: not a message: `ts` is missing",
        ];
        assert_eq!(skipped, expected);
    }

    #[test]
    fn people_of_one_name_are_distinguished() {
        let place = tempfile::tempdir().unwrap();
        let users = r#"[{"id":"U1","profile":{"display_name":"sam"}},{"id":"U2","profile":{"display_name":"sam"}}]"#;
        std::fs::write(place.path().join("users.json"), users).unwrap();
        let mut ignore = |_| {};
        let names = Names::of(&Folder::directory(place.path()), &mut Sink::new(&mut ignore)).unwrap();
        assert_eq!(["U1", "U2"].map(|id| names.people.get(id).unwrap().name.as_str()), ["sam (U1)", "sam (U2)"]);
    }

    #[test]
    fn other_folders_of_days_are_not_taken() {
        let place = tempfile::tempdir().unwrap();
        std::fs::create_dir(place.path().join("notes")).unwrap();
        std::fs::write(place.path().join("channels.json"), "[]").unwrap();
        std::fs::write(place.path().join("notes/2026-03-05.json"), r#"[{"mood":"fine"}]"#).unwrap();
        let folder = Folder::directory(place.path());
        assert!(!Slack.sniff_folder(&folder));
        let post = json!([post("1772700000.000100", "a", None)]).to_string();
        std::fs::write(place.path().join("notes/2026-03-06.json"), post).unwrap();
        assert!(Slack.sniff_folder(&folder));
    }

    #[test]
    fn a_day_alone_is_recognised_and_known_by_its_first_message() {
        let recognised = |text: &str| Slack.sniff(&Head::new(text.to_owned().into(), true));
        let text = json!([post("1772700000.000100", "a", None)]).to_string();
        assert!(recognised(&text));
        assert!(!recognised(r#"[{"type":"message","ts":"soon","role":"user"}]"#));
        assert!(!recognised(&post("1772700000.000100", "a", None).to_string()));
        let id = |text: &str| {
            let mut seen = Vec::new();
            let mut accept = |transcript: Transcript| seen.push(transcript.external_id);
            Slack.read(Input::from_text("2026-03-05.json", text), &mut Sink::new(&mut accept)).unwrap();
            seen.remove(0)
        };
        let grown = json!([post("1772700000.000100", "a", None), post("1772700001.000100", "b", None)]).to_string();
        assert_eq!((id(&text).len(), id(&text)), (32, id(&grown)));
    }
}

#[cfg(test)]
mod post_tests {
    use super::*;
    use serde_json::json;

    fn found(fields: &Value) -> Vec<(Role, Kind, String, String)> {
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
        let order = |a: &str, b: &str| stamp(a).unwrap().cmp(&stamp(b).unwrap());
        assert_eq!(order("1772700000.000100", "1772700000.000101"), std::cmp::Ordering::Less);
        assert_eq!(order("999999999.000000", "1772700000.000000"), std::cmp::Ordering::Less);
        for nonsense in ["", "soon", "-1.5", "1.x", "1.2.3", "99999999999999999999.1"] {
            assert_eq!(stamp(nonsense), None, "{nonsense}");
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
            assert_eq!(found(&fields), expected, "{fields}");
        }
    }

    #[test]
    fn previews_under_a_persons_words_are_context() {
        let fields = json!({"text": "<https://e.org>", "attachments": [{"title": "Example", "text": "A page"}]});
        let texts: Vec<_> = found(&fields).into_iter().map(|(_, kind, _, text)| (kind, text)).collect();
        let expected = [(Kind::Prose, "https://e.org".to_owned()), (Kind::Context, "Example\nA page".to_owned())];
        assert_eq!(texts, expected);
    }

    #[test]
    fn an_old_upload_with_words_keeps_the_words() {
        let text = "<@U1> uploaded a file: <https://e.org/f|Plan> and commented: please read";
        let fields = json!({"subtype": "file_share", "text": text, "file": {"name": "plan.pdf"}});
        let texts: Vec<_> = found(&fields).into_iter().map(|(_, _, _, text)| text).collect();
        assert_eq!(texts, ["please read", "[file: plan.pdf]"]);
    }
}

#[cfg(test)]
mod text_tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn mark_up_reads_as_people_saw_it() {
        let names = Names::default();
        let rows = [
            ("see <https://e.org/a|the plan> &amp; ask", "see the plan (https://e.org/a) & ask"),
            ("<https://e.org>", "https://e.org"),
            ("<http://e.org|e.org> <mailto:a@e.org|a@e.org>", "http://e.org a@e.org"),
            ("<#C1|general> <#C2> <@U1> <@U2|ana>", "#general #C2 @U1 @ana"),
            ("<!here> <!subteam^S1|@ops> <!date^1709287200^{date}|1 March>", "@here @ops 1 March"),
            ("1 &lt; 2 &amp;lt; <b", "1 < 2 &lt; <b"),
            ("a <b <https://e.org|x>", "a <b x (https://e.org)"),
        ];
        for (text, shown) in rows {
            assert_eq!(plain(text, &names), shown, "{text}");
        }
    }

    #[test]
    fn rich_text_keeps_lines_lists_and_quotes() {
        let text = |text: &str| json!({"type": "text", "text": text});
        let section = |elements: Value| json!({"type": "rich_text_section", "elements": elements});
        let blocks = json!([{"type": "rich_text", "elements": [
            section(json!([text("Plan for "), {"type": "user", "user_id": "U1"}, {"type": "emoji", "name": "tada"}])),
            {"type": "rich_text_list", "elements": [section(json!([text("one")])), section(json!([text("two")]))]},
            {"type": "rich_text_quote", "elements": [text("old\nwords")]},
            {"type": "rich_text_preformatted", "elements": [text("x = 1")]},
        ]}]);
        let shown = "Plan for @U1:tada:\n- one\n- two\n> old\n> words\nx = 1";
        assert_eq!(of_blocks(&blocks, &Names::default()), shown);
    }
}
