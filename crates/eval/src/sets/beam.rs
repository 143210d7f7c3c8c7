//! `BEAM` with chats of 100,000 tokens: long work with an assistant, and questions about ten abilities.
//!
//! The user's messages are searched, and the messages that a question cites are its evidence. The assistant's messages
//! are left out, because their long code would be most of the index. Questions that cite no message of the user are left
//! out too, such as those about things that nobody said.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde::Deserialize;
use serde_json::Value;

use super::locomo::{Question, Sample, Turn};
use super::published::{children, read_part, time, unusable};
use crate::EvalError;
use crate::files::last_part;

/// Folder of the chats of 100,000 tokens.
const CHATS: &str = "chats/100K";
/// Format of the day of a batch.
const DAY: &str = "%B-%d-%Y";

/// A part of a chat, which is a conversation of its own.
#[derive(Deserialize)]
struct Batch {
    batch_number: u32,
    turns: Vec<Vec<Message>>,
}

#[derive(Deserialize)]
struct Message {
    id: u64,
    role: String,
    content: String,
    #[serde(default)]
    time_anchor: Option<String>,
}

/// Returns whether `folder` contains this data set.
pub(super) fn is_beam(folder: &Path) -> bool {
    folder.join(CHATS).is_dir()
}

/// Reads the chats of the data set in `folder`, sorted by the names of their folders.
///
/// # Errors
/// [`EvalError::Read`] if a file cannot be read, or [`EvalError::DataSet`] with the invalid file or folder.
pub(crate) fn read(folder: &Path) -> Result<Vec<Sample>, EvalError> {
    let folder = folder.join(CHATS);
    let chats = children(&folder).into_iter().filter(|path| path.is_dir());
    let samples = chats.map(|chat| read_chat(&chat)).collect::<Result<Vec<_>, _>>()?;
    if samples.is_empty() { Err(unusable(&folder, "it contains no chat")) } else { Ok(samples) }
}

fn read_chat(folder: &Path) -> Result<Sample, EvalError> {
    let (batches, asked) = (folder.join("chat.json"), folder.join("probing_questions/probing_questions.json"));
    let turns = read_part::<Vec<Batch>>(&batches)?.into_iter().flat_map(turns_of).collect();
    let abilities: BTreeMap<String, Vec<Value>> = read_part(&asked)?;
    let questions = abilities.iter().flat_map(|(ability, entries)| entries.iter().map(move |entry| (ability, entry)));
    let questions = questions.filter_map(|(ability, entry)| {
        let mut evidence = BTreeSet::new();
        add_ids(&entry["source_chat_ids"], &mut evidence);
        Question::of(entry, ability.clone(), evidence)
    });
    let sample = Sample::of(format!("100K-{}", last_part(folder)), turns, questions.collect());
    if sample.asked.is_empty() {
        return Err(unusable(&asked, "no question cites a message of the user"));
    }
    Ok(sample)
}

/// Returns the user's messages of a batch. Only the first one names its day, which is that of all.
fn turns_of(batch: Batch) -> Vec<Turn> {
    let messages: Vec<Message> = batch.turns.into_iter().flatten().filter(|one| one.role == "user").collect();
    let at = messages.iter().find_map(|message| time(DAY, message.time_anchor.as_deref()?));
    let turn = |message: Message| Turn {
        id: message.id.to_string(),
        session: batch.batch_number,
        at,
        speaker: message.role,
        said: message.content,
        photo: None,
    };
    messages.into_iter().map(turn).collect()
}

/// Adds the ids of messages in `value`: a list, or an object of lists.
fn add_ids(value: &Value, to: &mut BTreeSet<String>) {
    match value {
        Value::Number(id) => drop(to.insert(id.to_string())),
        Value::Array(parts) => parts.iter().for_each(|part| add_ids(part, to)),
        Value::Object(parts) => parts.values().for_each(|part| add_ids(part, to)),
        Value::Null | Value::Bool(_) | Value::String(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use serde_json::json;

    use super::super::PublicSet;
    use super::*;

    #[test]
    fn questions_cite_messages_of_the_user_and_an_unusable_chat_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let chat = folder.path().join(CHATS).join("7");
        fs::create_dir_all(chat.join("probing_questions")).unwrap();
        let message = |id: u64, role: &str, text: &str, day: Option<&str>| json!({"role": role, "id": id, "time_anchor": day, "content": text});
        let batches = json!([{"batch_number": 1, "time_anchor": null, "turns": [
            [message(0, "user", "I build a kite shop.", Some("March-15-2024")), message(1, "assistant", "Use code.", None)],
            [message(2, "user", "It sells in euros.", None)]]}]);
        fs::write(chat.join("chat.json"), batches.to_string()).unwrap();
        let asked = json!({"abstention": [{"question": "Who paid?"}],
            "information_extraction": [{"question": "What does it sell in?", "source_chat_ids": [2]}, {"question": "What code?", "source_chat_ids": [1]}],
            "knowledge_update": [{"question": "What do I build?", "source_chat_ids": {"original_info": [0], "updated_info": [[2]]}}]});
        let path = chat.join("probing_questions/probing_questions.json");
        fs::write(&path, asked.to_string()).unwrap();
        assert_eq!(PublicSet::of(folder.path()), Some(PublicSet::Beam));
        let samples = read(folder.path()).unwrap();
        let [sample] = &samples[..] else { panic!("one chat") };
        assert_eq!((sample.id.as_str(), sample.split, sample.turns.len()), ("100K-7", "final", 2));
        assert!(sample.turns.iter().all(|turn| turn.at.unwrap().to_string() == "2024-03-15T00:00:00Z"));
        let asked: Vec<_> = sample.asked.iter().map(|one| (one.question.as_str(), one.evidence.len())).collect();
        assert_eq!(asked, [("What does it sell in?", 1), ("What do I build?", 2)]);

        let error = || read(folder.path()).unwrap_err().to_string();
        fs::write(&path, "{}").unwrap();
        assert!(error().contains("probing_questions.json: no question cites a message of the user"), "{}", error());
        fs::remove_file(&path).unwrap();
        assert!(error().contains("probing_questions.json; check the path"), "{}", error());
        fs::remove_dir_all(&chat).unwrap();
        assert!(error().contains("100K: it contains no chat; obtain the data set again"), "{}", error());
    }
}
