//! `REALTALK`: chats of real people over three weeks, with questions and the messages that answer them.
//!
//! The messages are searched in the same way as the turns of `LoCoMo`. Nothing may be tuned on this set.

use std::path::Path;

use serde_json::Value;

use super::locomo::{Question, Sample, Turn, ids};
use super::published::{children, read_part, time, unusable};
use crate::EvalError;
use crate::files::last_part;

/// Folder of the chats.
const CHATS: &str = "data";
/// Format of the time of a message, which has no time zone.
const SENT: &str = "%d.%m.%Y, %H:%M:%S";

/// Returns whether `folder` contains this data set.
pub(super) fn is_realtalk(folder: &Path) -> bool {
    children(&folder.join(CHATS)).iter().any(|path| is_chat(path))
}

fn is_chat(path: &Path) -> bool {
    last_part(path).starts_with("Chat_") && path.extension().is_some_and(|ending| ending == "json")
}

/// Reads the chats of the data set in `folder`, sorted by the names of their files.
///
/// # Errors
/// [`EvalError::Read`] if a file cannot be read, or [`EvalError::DataSet`] with the invalid file.
pub(crate) fn read(folder: &Path) -> Result<Vec<Sample>, EvalError> {
    children(&folder.join(CHATS)).iter().filter(|path| is_chat(path)).map(|path| read_chat(path)).collect()
}

fn read_chat(path: &Path) -> Result<Sample, EvalError> {
    let chat: Value = read_part(path)?;
    let sessions = chat.as_object().into_iter().flatten().filter_map(|(name, messages)| {
        Some((name.strip_prefix("session_")?.parse::<u32>().ok()?, messages.as_array()?))
    });
    // As text, `session_10` comes before `session_2`.
    let mut sessions: Vec<(u32, &Vec<Value>)> = sessions.collect();
    sessions.sort_by_key(|(number, _)| *number);
    let turns = sessions.into_iter().flat_map(|(session, messages)| messages.iter().map(move |one| turn(session, one)));
    let asked = chat["qa"].as_array().into_iter().flatten();
    let asked =
        asked.filter_map(|one| Question::of(one, format!("category {}", one["category"]), ids(&one["evidence"])));
    let sample = Sample::of(path.file_stem().unwrap_or_default().to_string_lossy(), turns.collect(), asked.collect());
    if sample.asked.is_empty() {
        return Err(unusable(path, "it has no question whose evidence is a message"));
    }
    Ok(sample)
}

fn turn(session: u32, message: &Value) -> Turn {
    let text = |name: &str| message[name].as_str().unwrap_or_default();
    Turn {
        id: text("dia_id").to_owned(),
        session,
        at: time(SENT, text("date_time")),
        speaker: text("speaker").to_owned(),
        said: format!("{}: {}", text("speaker"), text("clean_text")),
        photo: message["blip_caption"].as_str().map(str::to_owned),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use serde_json::json;

    use super::super::PublicSet;
    use super::*;

    #[test]
    fn messages_and_questions_are_read_in_order_and_an_unusable_chat_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let data = folder.path().join(CHATS);
        fs::create_dir_all(data.join("other")).unwrap();
        fs::write(data.join("other/Chat_9_A_B.json"), "[]").unwrap();
        assert_eq!(PublicSet::of(folder.path()), None);
        let message = |id: &str, text: &str| json!({"clean_text": text, "speaker": "Ana", "date_time": "29.12.2023, 22:42:04", "dia_id": id});
        let chat = json!({"name": {"speaker_1": "Ana", "speaker_2": "Ben"}, "events_session_1": {},
            "session_10": [message("D10:1", "The kite is torn.")],
            "session_2": [message("D2:1", "I sew kites."), message("D2:2", "Red ones.")],
            "qa": [{"question": "What does Ana sew?", "answer": "kites", "evidence": ["D2:1-D2:2."], "category": 1},
                {"question": "Who?", "answer": "", "evidence": ["D7:1"], "category": 3}]});
        let path = data.join("Chat_1_Ana_Ben.json");
        fs::write(&path, chat.to_string()).unwrap();
        assert_eq!(PublicSet::of(folder.path()), Some(PublicSet::Realtalk));
        let samples = read(folder.path()).unwrap();
        let [sample] = &samples[..] else { panic!("one chat") };
        assert_eq!((sample.id.as_str(), sample.split), ("Chat_1_Ana_Ben", "final"));
        let turns: Vec<_> =
            sample.turns.iter().map(|turn| (turn.id.as_str(), turn.session, turn.said.as_str())).collect();
        assert_eq!(turns[0], ("D2:1", 2, "Ana: I sew kites."));
        assert_eq!((turns.len(), turns[2].1, sample.asked.len()), (3, 10, 1));
        assert_eq!(sample.turns[0].at.unwrap().to_string(), "2023-12-29T22:42:04Z");
        assert!(sample.asked[0].evidence.iter().eq(["D2:1", "D2:2"]));

        fs::write(&path, json!({"session_1": [], "qa": []}).to_string()).unwrap();
        let error = || read(folder.path()).unwrap_err().to_string();
        assert!(error().contains("Chat_1_Ana_Ben.json: it has no question"), "{}", error());
        fs::write(&path, "{").unwrap();
        assert!(error().contains("Chat_1_Ana_Ben.json: EOF"), "{}", error());
    }
}
