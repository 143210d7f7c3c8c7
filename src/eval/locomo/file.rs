//! Reading a `LoCoMo` file: conversations with questions, evidence and observations.

use std::collections::BTreeSet;
use std::path::Path;

use jiff::Timestamp;
use jiff::fmt::strtime;
use jiff::tz::TimeZone;
use serde_json::Value;

use crate::eval::EvalError;

/// Questions whose answers stand in the turns: several turns (1) and one (4).
const CATEGORIES: [u64; 2] = [1, 4];
/// Questions that have evidence.
const WITH_EVIDENCE: std::ops::RangeInclusive<u64> = 1..=4;
/// Questions about what nobody said.
const ADVERSARIAL: u64 = 5;
/// How the start of a session is written, without a time zone.
const START: &str = "%I:%M %p on %d %B, %Y";

/// One conversation with its questions.
#[derive(Debug)]
pub struct Sample {
    /// Its id in the file.
    pub id: String,
    /// What is given to the pipeline: the conversation without questions, observations and summaries.
    pub conversation: Value,
    /// The turns, in their order.
    pub turns: Vec<Turn>,
    /// The questions of categories 1 and 4 that have an answer and evidence.
    pub questions: Vec<Question>,
    /// The questions of categories 1 to 4 that have evidence.
    pub asked: Vec<Question>,
    /// The questions of category 5, of which nothing is true: each with the answer that would be wrong.
    pub adversarial: Vec<Question>,
    /// Questions of these categories that name no turn there is.
    pub without_evidence: usize,
    /// The facts that come with the file, each with the turns that it rests on.
    pub observations: Vec<(String, BTreeSet<String>)>,
}

/// What somebody said.
#[derive(Debug)]
pub struct Turn {
    /// Its id, e.g. `D1:3`.
    pub id: String,
    /// The number of its session.
    pub session: u32,
    /// When that began.
    pub at: Option<Timestamp>,
    /// Who said it.
    pub speaker: String,
    /// `speaker: text`.
    pub said: String,
    /// What the photo shows that comes with it.
    pub photo: Option<String>,
}

/// A question with the turns that answer it.
#[derive(Debug, Clone)]
pub struct Question {
    /// The question.
    pub question: String,
    /// The gold answer; empty where there is none.
    pub answer: String,
    /// 1 for several turns, 2 for times, 3 for what follows from them, 4 for one turn, 5 for what nobody said.
    pub category: u64,
    /// The turns that hold the answer.
    pub evidence: BTreeSet<String>,
}

/// Whether the file at `path` is a `LoCoMo` file.
#[must_use]
pub fn is_locomo(path: &Path) -> bool {
    let is_named_so = path.is_file() && path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("json"));
    is_named_so && read_samples(path).is_ok_and(|samples| samples.iter().any(is_sample))
}

/// Reads the conversations of the file at `path`.
///
/// # Errors
/// [`EvalError::Read`], or [`EvalError::Form`] if it is no `LoCoMo` file.
pub fn read(path: &Path) -> Result<Vec<Sample>, EvalError> {
    let samples: Vec<Sample> = read_samples(path)?.iter().filter(|value| is_sample(value)).map(sample).collect();
    if samples.is_empty() {
        let reason = "no conversation with questions".to_owned();
        return Err(EvalError::Form { path: path.to_owned(), place: String::new(), reason });
    }
    Ok(samples)
}

fn read_samples(path: &Path) -> Result<Vec<Value>, EvalError> {
    let text = std::fs::read_to_string(path).map_err(|source| EvalError::Read { path: path.to_owned(), source })?;
    let value: Value = serde_json::from_str(&text).map_err(|error| EvalError::Form {
        path: path.to_owned(),
        place: String::new(),
        reason: error.to_string(),
    })?;
    Ok(match value {
        Value::Array(samples) => samples,
        other => vec![other],
    })
}

fn is_sample(value: &Value) -> bool {
    value["conversation"]["speaker_a"].is_string() && value["qa"].is_array()
}

fn sample(value: &Value) -> Sample {
    let turns = turns(&value["conversation"]);
    let known: BTreeSet<&str> = turns.iter().map(|turn| turn.id.as_str()).collect();
    let all_asked: Vec<Question> = value["qa"].as_array().into_iter().flatten().filter_map(question).collect();
    let (mut asked, mut adversarial): (Vec<_>, Vec<_>) =
        all_asked.into_iter().partition(|question| WITH_EVIDENCE.contains(&question.category));
    let should_be_left = |question: &&Question| CATEGORIES.contains(&question.category) && !question.answer.is_empty();
    let all = asked.iter().filter(should_be_left).count();
    for question in &mut asked {
        question.evidence.retain(|id| known.contains(id.as_str()));
    }
    for question in &mut adversarial {
        question.evidence.retain(|id| known.contains(id.as_str()));
    }
    asked.retain(|question| !question.evidence.is_empty());
    let questions: Vec<Question> = asked.iter().filter(should_be_left).cloned().collect();
    let id = value["sample_id"].as_str().unwrap_or("sample").to_owned();
    Sample {
        conversation: serde_json::json!({"sample_id": id, "conversation": value["conversation"]}),
        id,
        without_evidence: all - questions.len(),
        questions,
        asked,
        adversarial,
        observations: observations(&value["observation"]),
        turns,
    }
}

fn turns(conversation: &Value) -> Vec<Turn> {
    let number = |name: &str| name.strip_prefix("session_")?.parse::<u32>().ok();
    let mut sessions: Vec<(u32, &Vec<Value>)> = conversation
        .as_object()
        .into_iter()
        .flatten()
        .filter_map(|(name, turns)| Some((number(name)?, turns.as_array()?)))
        .collect();
    sessions.sort_by_key(|(number, _)| *number);
    let text = |turn: &Value, name: &str| turn[name].as_str().unwrap_or_default().to_owned();
    let start = |session: u32| {
        let text = conversation[format!("session_{session}_date_time")].as_str()?;
        Some(strtime::parse(START, text).ok()?.to_datetime().ok()?.to_zoned(TimeZone::UTC).ok()?.timestamp())
    };
    let turn = |session: u32, turn: &Value| Turn {
        id: text(turn, "dia_id"),
        session,
        at: start(session),
        speaker: text(turn, "speaker"),
        said: format!("{}: {}", text(turn, "speaker"), text(turn, "text")),
        photo: turn["blip_caption"].as_str().map(str::to_owned),
    };
    sessions
        .into_iter()
        .flat_map(|(session, turns)| turns.iter().map(move |said| (session, said)))
        .map(|(session, said)| turn(session, said))
        .collect()
}

fn question(value: &Value) -> Option<Question> {
    let category = value["category"].as_u64().filter(|category| (1..=ADVERSARIAL).contains(category))?;
    let told = if category == ADVERSARIAL { &value["adversarial_answer"] } else { &value["answer"] };
    let answer = match told {
        Value::String(answer) => answer.clone(),
        Value::Number(answer) => answer.to_string(),
        _ => String::new(),
    };
    let question = value["question"].as_str()?.to_owned();
    Some(Question { question, answer, category, evidence: ids(&value["evidence"]) })
}

/// Returns the turns named by a text or a list of texts. Several in one text are taken apart, `D30:05` is `D30:5`, and
/// what is no id of a turn is left out.
pub(super) fn ids(value: &Value) -> BTreeSet<String> {
    let texts: Vec<&str> = match value {
        Value::String(text) => vec![text],
        Value::Array(texts) => texts.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    let parts =
        texts.into_iter().flat_map(|text| text.split(|one: char| one == ';' || one == ',' || one.is_whitespace()));
    parts.filter_map(id).collect()
}

fn id(text: &str) -> Option<String> {
    let (session, turn) = text.strip_prefix('D')?.split_once(':')?;
    Some(format!("D{}:{}", session.parse::<u32>().ok()?, turn.parse::<u32>().ok()?))
}

fn observations(value: &Value) -> Vec<(String, BTreeSet<String>)> {
    let sessions = value.as_object().into_iter().flatten().map(|(_, speakers)| speakers);
    let facts = sessions.filter_map(Value::as_object).flatten().filter_map(|(_, facts)| facts.as_array()).flatten();
    facts.filter_map(|fact| Some((fact[0].as_str()?.to_owned(), ids(&fact[1])))).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn ids_of_turns_are_taken_apart_and_what_is_none_is_left_out() {
        let table = [
            (json!(["D8:6; D9:17"]), vec!["D8:6", "D9:17"]),
            (json!(["D", "D:11:26", "D30:05"]), vec!["D30:5"]),
            (json!("D1:3"), vec!["D1:3"]),
            (json!(["D15:3, D15:5"]), vec!["D15:3", "D15:5"]),
            (json!(7), vec![]),
        ];
        for (value, expected) in table {
            assert_eq!(ids(&value).into_iter().collect::<Vec<_>>(), expected, "{value}");
        }
    }
}
