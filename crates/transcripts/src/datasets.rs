//! Conversations collected to train or evaluate models.

use std::collections::{HashMap, HashSet};

use jiff::fmt::strtime;
use serde_json::{Value, json};

use crate::json::Json;
use crate::message::chat::{messages_of, role_named};
use crate::message::exchange::{Conversation, answered, asked, own_id, preamble, without_repetition};
use crate::message::identity;
use crate::message::parts::file_label;
use crate::{
    Assembler, Head, IngestError, Ingestor, Input, Kind, Layout, Message, MessageTime, Object, Objects, Role, Sink,
    TimeSource,
};

// Training sets of chats: preferences (`prompt`, `chosen`, `rejected`), prompts with their completions,
// and messages with columns that identify a set.
//
// A row that contains only `messages` looks like a line of a program's log, so `openai-chat` reads such a row.

/// Columns that accompany messages only in training sets.
const MARKS: &[&str] = &["prompt_id", "score_chosen", "score_rejected", "messages_length", "num_turns"];

/// Reads rows of chats.
pub(crate) struct HfChat;

impl Ingestor for HfChat {
    named!("hf-chat");

    fn sniff(&self, head: &Head<'_>) -> bool {
        // A file may mix preferences with rows that could belong to other formats.
        head.objects().any(is_chat_row)
            || head.any_line(is_chat_row) && head.most_lines(|row| is_chat_row(row) || row["messages"].is_array())
    }

    read_each!(|object, sink| read_chat_row(&object, sink));
}

fn read_chat_row(object: &Object, sink: &mut Sink<'_>) {
    let row = &object.value;
    if row.get("chosen").is_none() && !is_completion(row) && !row["messages"].is_array() {
        return sink.skip(object.number, "not a row: neither `chosen` nor `completion` nor `messages`");
    }
    let id = own_id(&[row], &["prompt_id", "id"]);
    let pieces = Conversation { source: "hf-chat", id, facts: vec![row], messages: row_messages(row) };
    pieces.hand_over(object, sink);
}

fn is_chat_row(value: &Value) -> bool {
    let is_preference =
        value.get("chosen").is_some_and(|chosen| chosen.is_array() || chosen.is_string() || chosen.is_object());
    let is_marked = MARKS.iter().any(|mark| value.get(*mark).is_some());
    is_preference && (value.get("rejected").is_some() || value.get("prompt").is_some())
        || value["messages"].is_array() && is_marked
        || is_completion(value)
}

/// Returns whether `value` is a prompt with its completion, both as text or both as messages. The log of a program that
/// sends such prompts also contains the model.
fn is_completion(value: &Value) -> bool {
    let (prompt, completion) = (&value["prompt"], &value["completion"]);
    let alike = prompt.is_string() && completion.is_string() || prompt.is_array() && completion.is_array();
    alike && value.get("model").is_none()
}

fn row_messages(row: &Value) -> Vec<Message> {
    if row["chosen"].is_null() && is_completion(row) {
        return asked(&row["prompt"]).into_iter().chain(answered(&row["completion"])).collect();
    }
    if row["chosen"].is_null() {
        return asked(&row["messages"]);
    }
    let chosen = match &row["chosen"] {
        Value::String(text) if text.starts_with("\n\nHuman:") => split_text(text),
        chosen => answered(chosen),
    };
    let prompt = asked(&row["prompt"]);
    // Some sets repeat the prompt at the beginning of the answer.
    let added = without_repetition(&prompt, chosen);
    prompt.into_iter().chain(added).collect()
}

/// Splits `\n\nHuman: …\n\nAssistant: …`.
fn split_text(text: &str) -> Vec<Message> {
    patterns! {
        TURN = "\n\n(Human|Assistant):";
    }
    let mut messages: Vec<Message> = Vec::new();
    let mut turns = TURN.captures_iter(text).peekable();
    while let Some(turn) = turns.next() {
        let end = turns.peek().map_or(text.len(), |next| next.get_match().start());
        let role = if &turn[1] == "Human" { Role::User } else { Role::Assistant };
        messages.push(Message::prose(role, text[turn.get_match().end()..end].trim()));
    }
    messages
}

// `LoCoMo`: long conversations between two people over many sessions, with questions about them.

/// Format of the start time of a session, which has no time zone.
const START: &str = "%I:%M %p on %d %B, %Y";

/// Reads `LoCoMo`.
pub(crate) struct Locomo;

impl Ingestor for Locomo {
    named!("locomo");

    fn sniff(&self, head: &Head<'_>) -> bool {
        head.objects().any(is_sample) || head.most_lines(is_sample)
    }

    read_each!(|object, sink| read_sample(&object, sink));
}

fn is_sample(value: &Value) -> bool {
    value["conversation"]["speaker_a"].is_string() && value["conversation"].get("speaker_b").is_some()
}

fn read_sample(object: &Object, sink: &mut Sink<'_>) {
    let conversation = &object.value["conversation"];
    if !conversation.is_object() {
        return sink.skip(object.number, "not a sample: `conversation` is missing");
    }
    let sample = object.value["sample_id"].as_str();
    let sessions = locomo_sessions(conversation);
    if sessions.is_empty() {
        return sink.skip(object.number, "a sample without sessions");
    }
    for (number, turns) in sessions {
        let start = conversation[format!("session_{number}_date_time")].as_str();
        let time = start.and_then(|start| start_of(START, start));
        if time.is_none() {
            sink.skip(object.number, format!("session {number} has no readable date; it is read without one"));
        }
        let messages: Vec<Message> = turns.iter().flat_map(|turn| locomo_messages(turn, time)).collect();
        let unread = turns.iter().filter(|turn| locomo_messages(turn, time).is_empty()).count();
        if unread > 0 {
            sink.skip(object.number, format!("session {number} has {unread} turns without speaker or text"));
        }
        let Some(first) = messages.first() else { continue };
        let id = match sample {
            Some(sample) => format!("{sample}/session_{number}"),
            None => identity::of_file(&format!("session_{number}"), first),
        };
        let record = if object.layout == Layout::One { "#" } else { "/" };
        let mut draft = Assembler::new("locomo", id, format!("{}{record}session_{number}", object.origin));
        let speaker = |key: &str| conversation[key].as_str().unwrap_or("?").to_owned();
        draft.meta().title = Some(format!("{} and {}, session {number}", speaker("speaker_a"), speaker("speaker_b")));
        draft.meta().project = sample.map(str::to_owned);
        draft.extend(messages, sink);
        draft.finish(sink);
    }
}

/// Returns the sessions in order. A sample may contain dates of sessions that do not exist, so only existing sessions
/// are used.
fn locomo_sessions(conversation: &Value) -> Vec<(u32, &Vec<Value>)> {
    let mut sessions: Vec<(u32, &Vec<Value>)> = conversation
        .as_object()
        .into_iter()
        .flatten()
        .filter_map(|(key, turns)| Some((key.strip_prefix("session_")?.parse().ok()?, turns.as_array()?)))
        .collect();
    // The sessions are sorted by number, because as text `session_10` comes before `session_2`.
    sessions.sort_by_key(|(number, _)| *number);
    sessions
}

/// Reads a time in the format `form`, which has no time zone.
fn start_of(form: &str, text: &str) -> Option<MessageTime> {
    MessageTime::local(strtime::parse(form, text.trim()).ok()?.to_datetime().ok()?, TimeSource::Derived)
}

/// Returns the text of a turn and the description of its photo.
fn locomo_messages(turn: &Value, time: Option<MessageTime>) -> Vec<Message> {
    let Some(speaker) = turn["speaker"].as_str() else { return Vec::new() };
    let id = turn["dia_id"].string();
    let said = |kind, text: String, id: String| Message {
        id,
        kind,
        speaker: Some(speaker.to_owned()),
        time,
        ..Message::prose(Role::User, text)
    };
    let photo = turn["blip_caption"].as_str().map(|caption| {
        let id = if id.is_empty() { String::new() } else { format!("{id}/photo") };
        said(Kind::Attachment, file_label("photo", Some(caption)), id)
    });
    let words = turn["text"].as_str().filter(|text| !text.trim().is_empty());
    words.map(|text| said(Kind::Prose, text.to_owned(), id.to_owned())).into_iter().chain(photo).collect()
}

// `LongMemEval`: questions, each with the sessions of a user and an assistant that contain the answer.

/// Reads `LongMemEval`.
pub(crate) struct LongMemEval;

impl Ingestor for LongMemEval {
    named!("longmemeval");

    fn sniff(&self, head: &Head<'_>) -> bool {
        head.objects().any(is_question) || head.most_lines(is_question)
    }

    read_each!(|object, sink| read_question(&object, sink));
}

fn is_question(value: &Value) -> bool {
    value["haystack_sessions"].is_array() && value.get("question").is_some()
}

struct Session<'a> {
    id: Option<&'a str>,
    time: Option<MessageTime>,
    turns: &'a Value,
}

/// Returns the sessions in chronological order, which is not always the order in the file.
fn longmemeval_sessions<'a>(object: &'a Object, sink: &mut Sink<'_>) -> Vec<Session<'a>> {
    let array = |key: &str| object.value[key].list();
    let (ids, dates) = (array("haystack_session_ids"), array("haystack_dates"));
    let session = |(place, turns): (usize, &'a Value)| Session {
        id: ids.get(place).and_then(Value::as_str),
        time: dates.get(place).and_then(Value::as_str).and_then(longmemeval_start),
        turns,
    };
    let mut sessions: Vec<Session<'a>> = array("haystack_sessions").iter().enumerate().map(session).collect();
    let undated = sessions.iter().filter(|session| session.time.is_none()).count();
    if undated > 0 {
        sink.skip(object.number, format!("{undated} sessions have no readable date; they are read without one"));
    } else {
        sessions.sort_by_key(|session| session.time.map(|time| time.at));
    }
    sessions
}

fn read_question(object: &Object, sink: &mut Sink<'_>) {
    if !object.value["haystack_sessions"].is_array() {
        return sink.skip(object.number, "not a question: `haystack_sessions` is missing");
    }
    let question = object.value["question_id"].as_str();
    for (place, session) in longmemeval_sessions(object, sink).into_iter().enumerate() {
        let turns = session.turns.list();
        let messages: Vec<Message> = turns
            .iter()
            .flat_map(messages_of)
            .map(|message| Message { time: message.time.or(session.time), ..message })
            .collect();
        let Some(first) = messages.first() else {
            sink.skip(object.number, format!("session {} has no turns that can be read", place + 1));
            continue;
        };
        // The same session occurs in the haystacks of many questions, with a different date in each.
        let id = match (question, session.id) {
            (Some(question), Some(id)) => format!("{question}/{id}"),
            _ => identity::of_file(question.unwrap_or_default(), first),
        };
        let mut draft = Assembler::new("longmemeval", id, format!("{}/{}", object.origin, place + 1));
        draft.meta().project = question.map(str::to_owned);
        draft.extend(messages, sink);
        draft.finish(sink);
    }
}

/// Reads `2023/05/20 (Sat) 02:21`; the day of the week is redundant.
fn longmemeval_start(text: &str) -> Option<MessageTime> {
    let mut words = text.split_whitespace().filter(|word| !word.starts_with('('));
    let plain = format!("{} {}", words.next()?, words.next().unwrap_or("00:00"));
    start_of("%Y/%m/%d %H:%M", &plain)
}

// `OpenAssistant`: trees of messages by volunteers, as whole trees or as flat rows. Only the path with the best ranks
// is read.

/// Reads `OpenAssistant`.
pub(crate) struct Oasst;

impl Ingestor for Oasst {
    named!("oasst");

    fn sniff(&self, head: &Head<'_>) -> bool {
        let is_row = |value: &Value| is_tree(value) || is_flat(value);
        head.objects().any(is_row) || head.most_lines(is_row)
    }

    fn read(&self, input: Input, sink: &mut Sink<'_>) -> Result<(), IngestError> {
        let mut objects = Objects::of(input);
        // The rows of a tree are adjacent.
        let mut group: Vec<Value> = Vec::new();
        let (mut origin, mut ended) = (String::new(), HashSet::new());
        while let Some(object) = objects.next(sink)? {
            let tree = object.value["message_tree_id"].clone();
            if is_tree(&object.value) {
                read_tree(&object.value, object.origin, object.number, sink);
            } else if !is_flat(&object.value) {
                sink.skip(object.number, "neither a tree nor a message");
            } else if group.first().is_some_and(|first| first["message_tree_id"] == tree) {
                group.push(object.value);
            } else {
                ended.extend(read_group(&std::mem::take(&mut group), std::mem::take(&mut origin), object.number, sink));
                if tree.as_str().is_some_and(|tree| ended.contains(tree)) {
                    sink.skip(object.number, "a message of a tree whose other rows came earlier");
                } else {
                    group.push(object.value);
                    origin = object.origin;
                }
            }
        }
        read_group(&group, origin, 0, sink);
        Ok(())
    }
}

fn is_tree(value: &Value) -> bool {
    value["message_tree_id"].is_string() && value["prompt"]["text"].is_string()
}

fn is_flat(value: &Value) -> bool {
    value["message_tree_id"].is_string() && value["message_id"].is_string() && value["text"].is_string()
}

/// Returns the best of `replies` that was not deleted; replies without a rank come last.
fn best<'a>(replies: impl Iterator<Item = &'a Value>) -> Option<&'a Value> {
    replies
        .filter(|reply| reply["deleted"] != true && reply["text"].is_string())
        .min_by_key(|reply| reply["rank"].as_u64().unwrap_or(u64::MAX))
}

fn read_tree(tree: &Value, origin: String, number: usize, sink: &mut Sink<'_>) {
    let mut path = Vec::new();
    let mut next = best(std::iter::once(&tree["prompt"]));
    while let Some(message) = next {
        path.push(message);
        next = message["replies"].as_array().and_then(|replies| best(replies.iter()));
    }
    hand_over(&tree["message_tree_id"], &path, origin, number, sink);
}

/// Reads the rows of one tree, and returns the id of the tree.
fn read_group(rows: &[Value], origin: String, number: usize, sink: &mut Sink<'_>) -> Option<String> {
    let tree = rows.first()?["message_tree_id"].clone();
    let mut replies: HashMap<&str, Vec<&Value>> = HashMap::new();
    for row in rows {
        replies.entry(row["parent_id"].string()).or_default().push(row);
    }
    let (mut path, mut seen) = (Vec::new(), HashSet::new());
    // The root is the row without a parent or, if there is none, the first row.
    let root = replies.get("").and_then(|roots| best(roots.iter().copied()));
    let mut next = root.or_else(|| best(rows.iter().take(1)));
    while let Some(message) = next.filter(|message| seen.insert(message["message_id"].string())) {
        path.push(message);
        let below = message["message_id"].as_str().and_then(|id| replies.get(id));
        next = below.and_then(|below| best(below.iter().copied()));
    }
    hand_over(&tree, &path, origin, number.saturating_sub(1).max(1), sink);
    tree.as_str().map(str::to_owned)
}

fn hand_over(tree: &Value, path: &[&Value], origin: String, number: usize, sink: &mut Sink<'_>) {
    if path.is_empty() {
        return sink.skip(number, "a tree whose first message was deleted");
    }
    let mut draft = Assembler::new("oasst", tree.as_str().unwrap_or_default(), origin);
    draft.meta().created_at = path.first().and_then(|message| identity::instant(&message["created_date"]));
    for message in path {
        let text = |key: &str| message[key].string();
        let said = Message {
            id: text("message_id").to_owned(),
            time: identity::stamp(&message["created_date"]),
            ..Message::prose(role_named(text("role")), text("text"))
        };
        draft.push(said, sink);
    }
    draft.finish(sink);
}

// `ShareGPT`: conversations of `from` and `value`, the format of many training sets.
// Some sets have `role` and `content` instead.

/// Reads `ShareGPT` rows.
pub(crate) struct ShareGpt;

impl Ingestor for ShareGpt {
    named!("sharegpt");

    fn sniff(&self, head: &Head<'_>) -> bool {
        head.objects().any(is_sharegpt_row) || head.most_lines(is_sharegpt_row)
    }

    read_each!(|object, sink| read_sharegpt_row(&object, sink));
}

fn read_sharegpt_row(object: &Object, sink: &mut Sink<'_>) {
    let row = &object.value;
    let Some(turns) = row["conversations"].as_array() else {
        return sink.skip(object.number, "not a row: `conversations` is missing");
    };
    let mut messages: Vec<Message> = preamble(&row["system"]).into_iter().collect();
    messages.extend(turns.iter().flat_map(sharegpt_messages));
    let unread = turns.iter().filter(|turn| sharegpt_messages(turn).is_empty()).count();
    if unread > 0 {
        sink.skip(object.number, format!("{unread} turns without a speaker or text"));
    }
    if let Some(path) = row["image"].as_str().filter(|_| !messages.is_empty()) {
        let label = file_label("image", path.rsplit('/').next());
        let first = messages.iter().position(|message| message.kind != Kind::Context).unwrap_or(messages.len());
        messages.insert(first, Message { kind: Kind::Attachment, ..Message::user(label) });
    }
    let pieces = Conversation { source: "sharegpt", id: own_id(&[row], &["id"]), facts: vec![row], messages };
    pieces.hand_over(object, sink);
}

fn is_sharegpt_row(value: &Value) -> bool {
    let turns = value["conversations"].list();
    let is_turn = |turn: &Value| {
        turn["from"].is_string() && (turn.get("value").is_some() || turn["content"].is_string())
            || turn["role"].is_string() && turn["content"].is_string()
    };
    turns.iter().any(is_turn)
}

fn sharegpt_messages(turn: &Value) -> Vec<Message> {
    if turn["role"].is_string() {
        return messages_of(turn);
    }
    let value = turn["value"].as_str().or_else(|| turn["content"].as_str());
    let (Some(from), Some(value)) = (turn["from"].as_str(), value) else { return Vec::new() };
    match from {
        "function_call" => messages_of(&json!({"type": "function_call", "name": "function_call", "arguments": value})),
        _ => messages_of(&json!({"role": from, "content": value})),
    }
}

// Logs of public chat sites, one conversation per row: `WildChat` and LMSYS.

/// Reads rows of `WildChat` and LMSYS.
pub(crate) struct WildChat;

impl Ingestor for WildChat {
    named!("wildchat");

    fn sniff(&self, head: &Head<'_>) -> bool {
        head.objects().any(is_wildchat_row) || head.most_lines(is_wildchat_row)
    }

    read_each!(|object, sink| read_wildchat_row(&object, sink));
}

fn read_wildchat_row(object: &Object, sink: &mut Sink<'_>) {
    let row = &object.value;
    let Some(turns) = row["conversation"].as_array() else {
        return sink.skip(object.number, "not a row: `conversation` is missing");
    };
    let messages: Vec<Message> = turns.iter().flat_map(messages_of).collect();
    let id = own_id(&[row], &["conversation_hash", "conversation_id"]);
    let pieces = Conversation { source: "wildchat", id, facts: vec![row], messages };
    pieces.hand_over(object, sink);
}

fn is_wildchat_row(value: &Value) -> bool {
    let turns = value["conversation"].list();
    let named = value.get("conversation_hash").is_some()
        || value.get("conversation_id").is_some() && (value.get("model").is_some() || value.get("turn").is_some());
    named && turns.iter().any(|turn| turn["role"].is_string() && turn.get("content").is_some())
}

#[cfg(test)]
mod hf_chat_tests {
    use super::*;
    use crate::testing::{lines, read, sniffs};
    use serde_json::json;

    #[test]
    fn the_chosen_answer_is_read_after_its_prompt_in_each_spelling() {
        let (ask, good, bad) = (
            json!({"role": "user", "content": "q"}),
            json!({"role": "assistant", "content": "good"}),
            json!({"role": "assistant", "content": "bad"}),
        );
        for row in [
            json!({"prompt": [ask], "chosen": [good], "rejected": [bad]}),
            json!({"prompt": "q", "chosen": "good", "rejected": "bad"}),
            json!({"prompt": "q", "chosen": [ask, good], "rejected": [ask, bad], "messages": [ask, good]}),
            json!({"chosen": [ask, good], "rejected": [ask, bad]}),
            json!({"prompt": [ask], "chosen": good, "rejected": bad}),
            json!({"chosen": "\n\nHuman: q\n\nAssistant: good", "rejected": "\n\nHuman: q\n\nAssistant: bad"}),
            json!({"prompt_id": "0a1b2c3d4e", "prompt": "q", "messages": [ask, good]}),
            json!({"prompt": [ask], "completion": [good], "label": true}),
            json!({"prompt": "q", "completion": "good"}),
        ] {
            for text in [row.to_string(), format!("{row}\n{row}\n"), json!([row]).to_string()] {
                assert!(sniffs(&HfChat, &text), "{text}");
                assert_eq!(lines(&read(&HfChat, "x", &text).0[0]), ["User Prose q", "Assistant Prose good"], "{text}");
            }
        }
    }

    #[test]
    fn a_text_of_very_many_turns_is_split_in_one_pass() {
        let turns = 100_000;
        let text = "\n\nHuman: q".repeat(turns);
        assert_eq!(split_text(&text).len(), turns);
        let texts: Vec<_> =
            split_text("\n\nHuman: a\n\n\nAssistant: b\n\nc").into_iter().map(|said| said.text).collect();
        assert_eq!(texts, ["a", "b\n\nc"]);
    }

    #[test]
    fn rows_of_messages_alone_are_left_to_the_general_format() {
        let row = json!({"messages": [{"role": "user", "content": "q"}]});
        assert!(!sniffs(&HfChat, &format!("{row}\n{row}\n")));
        assert!(!sniffs(&HfChat, &json!({"chosen": true}).to_string()));
    }
}

#[cfg(test)]
mod locomo_tests {
    use super::*;
    use crate::testing::{lines, read, sniffs};
    use serde_json::json;

    #[test]
    fn each_session_is_a_transcript_of_named_people_at_a_naive_time() {
        let text = json!([{"sample_id": "conv-1", "qa": [], "conversation": {
            "speaker_a": "Ana", "speaker_b": "Ben",
            "session_10": [{"speaker": "Ben", "dia_id": "D10:1", "text": "ten"}], "session_10_date_time": "12:09 am on 3 June, 2024",
            "session_2": [{"speaker": "Ana", "dia_id": "D2:1", "text": "two", "blip_caption": "a red kite", "img_url": ["https://e.org/x.jpg"]}, {"speaker": "Ben"}],
            "session_2_date_time": "1:56 pm on 8 May, 2024", "session_99_date_time": "1:00 pm on 1 July, 2024"}}])
        .to_string();
        assert!(sniffs(&Locomo, &text));
        let (seen, skipped) = read(&Locomo, "x.json", &text);
        let pieces: Vec<_> = seen
            .iter()
            .map(|one| {
                (one.external_id.as_str(), one.messages[0].time.map(|time| (time.at.to_string(), time.offset_seconds)))
            })
            .collect();
        assert_eq!(
            pieces,
            [
                ("conv-1/session_2", Some(("2024-05-08T13:56:00Z".to_owned(), None))),
                ("conv-1/session_10", Some(("2024-06-03T00:09:00Z".to_owned(), None))),
            ]
        );
        assert_eq!(lines(&seen[0]), ["User Prose two", "User Attachment [photo: a red kite]"]);
        let ids: Vec<_> =
            seen[0].messages.iter().map(|message| (message.id.as_str(), message.speaker.as_deref())).collect();
        assert_eq!(ids, [("D2:1", Some("Ana")), ("D2:1/photo", Some("Ana"))]);
        assert_eq!(skipped, [(1, "session 2 has 1 turns without speaker or text".to_owned())]);
    }
}

#[cfg(test)]
mod longmemeval_tests {
    use super::*;
    use crate::testing::{lines, read, sniffs};
    use serde_json::json;

    fn question(ids: &[&str], dates: &[&str], sessions: &Value) -> String {
        json!([{"question_id": "q_1_abs", "question": "?", "answer": 3, "haystack_session_ids": ids, "haystack_dates": dates, "haystack_sessions": sessions}]).to_string()
    }

    #[test]
    fn sessions_are_put_in_the_order_of_their_naive_dates() {
        let turn = |words: &str| json!([{"role": "user", "content": words, "has_answer": true}]);
        let dates = ["2023/05/20 (Sat) 02:21", "2023/05/19 (Fri) 10:00"];
        let text = question(&["answer_1", "sharegpt_x_0"], &dates, &json!([turn("later"), turn("earlier")]));
        assert!(sniffs(&LongMemEval, &text));
        let (seen, skipped) = read(&LongMemEval, "x.json", &text);
        assert_eq!(
            (lines(&seen[0]), seen[0].external_id.as_str()),
            (vec!["User Prose earlier".to_owned()], "q_1_abs/sharegpt_x_0")
        );
        let time = seen[1].messages[0].time.unwrap();
        assert_eq!(
            (time.at.to_string().as_str(), time.offset_seconds, skipped.len()),
            ("2023-05-20T02:21:00Z", None, 0)
        );
    }

    #[test]
    fn arrays_of_unequal_length_lose_no_session() {
        let turns = json!([[{"role": "user", "content": "a"}], [{"role": "user", "content": "b"}], [], "x"]);
        let (seen, skipped) = read(&LongMemEval, "x.json", &question(&["s1"], &["2023/05/20 (Sat) 02:21"], &turns));
        assert_eq!((seen.len(), seen[1].messages[0].time), (2, None));
        let reasons: Vec<_> = skipped.iter().map(|(_, reason)| reason.as_str()).collect();
        assert_eq!(
            reasons,
            [
                "3 sessions have no readable date; they are read without one",
                "session 3 has no turns that can be read",
                "session 4 has no turns that can be read"
            ]
        );
    }
}

#[cfg(test)]
mod oasst_tests {
    use super::*;
    use crate::testing::{lines, read, sniffs};
    use serde_json::json;

    fn row(id: &str, parent: Option<&str>, role: &str, rank: Option<u32>) -> Value {
        json!({"message_id": id, "parent_id": parent, "message_tree_id": "t1", "text": id, "role": role, "rank": rank,
            "deleted": false, "created_date": "2023-02-05T14:23:50.983374+00:00"})
    }

    fn expected() -> Vec<String> {
        ["User Prose t1", "Assistant Prose good", "User Prose more"].map(str::to_owned).to_vec()
    }

    #[test]
    fn the_best_path_of_a_tree_is_read() {
        let mut good = row("good", Some("t1"), "assistant", Some(0));
        good["replies"] = json!([row("more", Some("good"), "prompter", None)]);
        let mut gone = row("gone", Some("t1"), "assistant", Some(0));
        gone["deleted"] = json!(true);
        let mut root = row("t1", None, "prompter", None);
        root["replies"] = json!([row("bad", Some("t1"), "assistant", Some(1)), gone, good]);
        let tree = json!({"message_tree_id": "t1", "tree_state": "ready_for_export", "prompt": root});
        assert!(sniffs(&Oasst, &tree.to_string()));
        let (seen, _) = read(&Oasst, "x", &tree.to_string());
        assert_eq!((lines(&seen[0]), seen[0].external_id.as_str()), (expected(), "t1"));
    }

    #[test]
    fn flat_rows_make_the_same_tree_and_circles_end() {
        let rows = [
            row("t1", None, "prompter", None),
            row("bad", Some("t1"), "assistant", Some(2)),
            row("good", Some("t1"), "assistant", Some(0)),
            row("more", Some("good"), "prompter", None),
            row("good", Some("more"), "assistant", None),
        ];
        let text = rows.map(|row| row.to_string()).join("\n");
        assert!(sniffs(&Oasst, &text));
        let (seen, _) = read(&Oasst, "x", &text);
        assert_eq!(lines(&seen[0]), expected());
    }

    #[test]
    fn a_tree_may_be_hundreds_of_messages_deep() {
        let mut node = row("leaf", None, "assistant", None);
        for _ in 0..700 {
            let mut above = row("turn", None, "prompter", None);
            above["replies"] = json!([node]);
            node = above;
        }
        let (seen, skipped) = read(&Oasst, "x", &json!({"message_tree_id": "t1", "prompt": node}).to_string());
        assert_eq!((seen[0].messages.len(), skipped), (701, vec![]));
    }
}

#[cfg(test)]
mod sharegpt_tests {
    use super::*;
    use crate::testing::{lines, read, sniffs};

    #[test]
    fn each_speaker_has_a_role_whatever_the_set_calls_it() {
        let turn = |from: &str| json!({"from": from, "value": from});
        let from = ["system", "human", "function_call", "observation", "gpt", "user", "bard", "narrator"];
        let row = json!({"id": "identity_0", "conversations": from.map(turn)});
        for text in [json!([row]).to_string(), format!("{row}\n{row}\n")] {
            assert!(sniffs(&ShareGpt, &text));
            let (seen, skipped) = read(&ShareGpt, "x.json", &text);
            let expected = [
                "System Context system",
                "User Prose human",
                "Assistant ToolCall function_call function_call",
                "Tool ToolResult observation",
                "Assistant Prose gpt",
                "User Prose user",
                "Assistant Prose bard",
                "Other Prose narrator",
            ];
            assert_eq!(
                (lines(&seen[0]), seen[0].external_id.as_str(), skipped),
                (expected.map(str::to_owned).to_vec(), "identity_0", vec![])
            );
        }
    }

    #[test]
    fn turns_may_be_spelled_as_chat_messages() {
        for row in [
            json!({"conversations": [{"role": "user", "content": "q"}, {"role": "assistant", "content": "a"}]}),
            json!({"conversations": [{"from": "human", "content": "q"}, {"from": "gpt", "content": "a"}]}),
        ] {
            assert!(sniffs(&ShareGpt, &format!("{row}\n{row}\n")));
            assert_eq!(lines(&read(&ShareGpt, "x", &row.to_string()).0[0]), ["User Prose q", "Assistant Prose a"]);
        }
    }

    #[test]
    fn short_ids_count_for_nothing_and_broken_turns_are_reported() {
        let row =
            |words: &str| json!({"id": "0", "conversations": [{"from": "gpt", "value": words}, {"from": "human"}]});
        let (seen, skipped) = read(&ShareGpt, "x.json", &json!([row("a"), row("b"), {"id": "1"}]).to_string());
        assert_ne!(seen[0].external_id, seen[1].external_id);
        assert_eq!(skipped.iter().map(|(number, _)| *number).collect::<Vec<_>>(), [1, 2, 3]);
    }
}

#[cfg(test)]
mod wildchat_tests {
    use super::*;
    use crate::testing::{lines, read, sniffs};
    use serde_json::json;

    #[test]
    fn rows_of_both_sites_are_read_with_the_times_they_have() {
        let turns = json!([{"role": "user", "content": "q", "timestamp": null}, {"role": "assistant", "content": "a", "timestamp": "2023-04-09T00:02:53+00:00"}]);
        for row in [
            json!({"conversation_hash": "0123456789abcdef", "model": "m", "timestamp": "2023-04-09T00:02:53+00:00", "conversation": turns}),
            json!({"conversation_id": "0123456789abcdef", "model": "m", "conversation": turns, "turn": 1, "redacted": false}),
        ] {
            assert!(sniffs(&WildChat, &row.to_string()));
            let (seen, _) = read(&WildChat, "x", &format!("{row}\n{row}\n"));
            assert_eq!((seen[0].external_id.as_str(), seen[0].model.as_deref()), ("0123456789abcdef", Some("m")));
            assert_eq!(lines(&seen[0]), ["User Prose q", "Assistant Prose a"]);
            let times: Vec<_> =
                seen[0].messages.iter().map(|message| message.time.map(|time| time.at.to_string())).collect();
            assert_eq!(times, [None, Some("2023-04-09T00:02:53Z".to_owned())]);
        }
        assert!(!sniffs(&WildChat, &json!({"conversation": [{"role": "user", "content": "q"}]}).to_string()));
    }
}
