//! `LongMemEval`: questions, each with the sessions of a user and an assistant in which its answer stands.

use jiff::civil::DateTime;
use jiff::fmt::strtime;
use jiff::tz::Offset;
use serde_json::Value;

use crate::chat::messages_of;
use crate::{Assembler, Head, IngestError, Ingestor, Input, Object, Objects, Sink, identity};
use crate::{Message, MessageTime, TimeSource};

/// Reads `LongMemEval`.
pub struct LongMemEval;

impl Ingestor for LongMemEval {
    fn name(&self) -> &'static str {
        "longmemeval"
    }

    fn about(&self) -> &'static str {
        "LongMemEval questions with their haystack of sessions; the questions are left alone"
    }

    fn rule(&self) -> &'static str {
        "objects with `question_id` and `haystack_sessions`"
    }

    fn sniff(&self, head: &Head<'_>) -> bool {
        head.objects().any(is_question) || head.most_lines(is_question)
    }

    fn read(&self, input: Input, sink: &mut Sink<'_>) -> Result<(), IngestError> {
        let mut objects = Objects::of(input);
        while let Some(object) = objects.next(sink)? {
            if object.value["haystack_sessions"].is_array() {
                read_question(&object, sink);
            } else {
                sink.skip(object.number, "no question: it has no `haystack_sessions`");
            }
        }
        Ok(())
    }

    fn is_dataset(&self) -> bool {
        true
    }
}

fn is_question(value: &Value) -> bool {
    value["haystack_sessions"].is_array() && value.get("question").is_some()
}

struct Session<'a> {
    id: Option<&'a str>,
    time: Option<MessageTime>,
    turns: &'a Value,
}

/// Returns the sessions in the order in which they were held, which the file does not always keep.
fn sessions<'a>(object: &'a Object, sink: &mut Sink<'_>) -> Vec<Session<'a>> {
    let array = |key: &str| object.value[key].as_array().map_or(&[][..], Vec::as_slice);
    let (ids, dates) = (array("haystack_session_ids"), array("haystack_dates"));
    let session = |(place, turns): (usize, &'a Value)| Session {
        id: ids.get(place).and_then(Value::as_str),
        time: dates.get(place).and_then(Value::as_str).and_then(session_start),
        turns,
    };
    let mut sessions: Vec<Session<'a>> = array("haystack_sessions").iter().enumerate().map(session).collect();
    let undated = sessions.iter().filter(|session| session.time.is_none()).count();
    if undated > 0 {
        sink.skip(object.number, format!("{undated} sessions have no date that can be read; they are kept without"));
    } else {
        sessions.sort_by_key(|session| session.time.map(|time| time.at));
    }
    sessions
}

fn read_question(object: &Object, sink: &mut Sink<'_>) {
    let question = object.value["question_id"].as_str();
    for (place, session) in sessions(object, sink).into_iter().enumerate() {
        let turns = session.turns.as_array().map_or(&[][..], Vec::as_slice);
        let messages: Vec<Message> = turns
            .iter()
            .flat_map(messages_of)
            .map(|message| Message { time: message.time.or(session.time), ..message })
            .collect();
        let Some(first) = messages.first() else {
            sink.skip(object.number, format!("session {} has no turns that can be read", place + 1));
            continue;
        };
        // The same session stands in the haystacks of many questions, with another date in each.
        let id = match (question, session.id) {
            (Some(question), Some(id)) => format!("{question}/{id}"),
            _ => identity::of_file(question.unwrap_or_default(), first),
        };
        let mut draft = Assembler::new("longmemeval", id, format!("{}/{}", object.origin, place + 1));
        draft.meta().project = question.map(str::to_owned);
        messages.into_iter().for_each(|message| draft.push(message, sink));
        draft.finish(sink);
    }
}

/// Reads `2023/05/20 (Sat) 02:21`; the day of the week says nothing new.
fn session_start(text: &str) -> Option<MessageTime> {
    let mut words = text.split_whitespace().filter(|word| !word.starts_with('('));
    let plain = format!("{} {}", words.next()?, words.next().unwrap_or("00:00"));
    let civil: DateTime = strtime::parse("%Y/%m/%d %H:%M", plain).ok()?.to_datetime().ok()?;
    Some(MessageTime { at: Offset::UTC.to_timestamp(civil).ok()?, offset_seconds: None, source: TimeSource::Derived })
}

#[cfg(test)]
mod tests {
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
                "3 sessions have no date that can be read; they are kept without",
                "session 3 has no turns that can be read",
                "session 4 has no turns that can be read"
            ]
        );
    }
}
