//! A model that says what a memory is to a fact. Its prompt is fixed, and what it says never decides a measure.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde::Deserialize;
use serde_json::json;

use crate::guard::Guard;
use crate::llm::{Complete, Finish, ReplySchema, Request, Turn, TurnRole};

/// What is asked.
const PROMPT: &str = include_str!("../../../prompts/eval/judge.md");
/// Pairs in one request.
const BATCH: usize = 20;
/// Share of the wrong and of the vague texts that a judge must reject before its figures are shown.
pub const TRUSTED: f64 = 0.98;

/// What a memory is to a fact.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Judged {
    /// It says it.
    Says,
    /// It says some of it.
    Part,
    /// It says that it is otherwise.
    Contradicts,
    /// It is about something else.
    Other,
}

/// A model that judges.
#[derive(Debug)]
pub struct Judge<'a, C> {
    model: &'a C,
    guard: Guard,
}

#[derive(Deserialize)]
struct Answer {
    verdicts: Vec<Numbered>,
}

#[derive(Deserialize)]
struct Numbered {
    pair: usize,
    verdict: Judged,
}

impl<'a, C: Complete> Judge<'a, C> {
    /// Returns a judge that asks `model`.
    #[must_use]
    pub fn new(model: &'a C) -> Self {
        Self { model, guard: Guard::default() }
    }

    /// Returns what each memory is to its fact; `None` where the model did not answer, which counts for nothing.
    pub async fn judge(&self, pairs: &[(&str, &str)]) -> Vec<Option<Judged>> {
        let mut told = Vec::with_capacity(pairs.len());
        for batch in pairs.chunks(BATCH) {
            let answer = self.model.complete(&self.request(batch)).await;
            let found = match answer {
                Ok((reply, _)) if reply.finish != Finish::Refusal => read(&reply.text),
                Ok(_) | Err(_) => BTreeMap::new(),
            };
            told.extend((1..=batch.len()).map(|number| found.get(&number).copied()));
        }
        told
    }

    fn request(&self, pairs: &[(&str, &str)]) -> Request {
        let mut text = String::new();
        for (number, (fact, memory)) in (1..).zip(pairs) {
            // One line each, so that no text can pose as another pair.
            let plain = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
            let _ = writeln!(text, "{number}. fact: {}\n{number}. memory: {}", plain(fact), plain(memory));
        }
        let tokens = u32::try_from(pairs.len()).unwrap_or(u32::MAX).saturating_mul(30).saturating_add(100);
        Request {
            system: self.guard.redact(PROMPT.to_owned()).0,
            turns: vec![Turn { role: TurnRole::User, text: self.guard.redact(text).0 }],
            schema: ReplySchema { name: "verdicts".into(), schema: schema() },
            max_completion_tokens: tokens,
        }
    }
}

fn schema() -> serde_json::Value {
    let verdict = json!({"type": "string", "enum": ["says", "part", "contradicts", "other"]});
    let entry = json!({"type": "object", "additionalProperties": false, "required": ["pair", "verdict"],
        "properties": {"pair": {"type": "integer"}, "verdict": verdict}});
    json!({"type": "object", "additionalProperties": false, "required": ["verdicts"],
        "properties": {"verdicts": {"type": "array", "items": entry}}})
}

/// A pair that is judged twice counts by its last verdict; an answer that cannot be read judges nothing.
fn read(text: &str) -> BTreeMap<usize, Judged> {
    let answer = serde_json::from_str::<Answer>(text);
    answer.map(|answer| answer.verdicts.into_iter().map(|one| (one.pair, one.verdict)).collect()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::llm::{Cost, LlmError, Reply};

    /// Answers each request with the same text.
    struct Fixed(&'static str);

    impl Complete for Fixed {
        async fn complete(&self, request: &Request) -> Result<(Reply, Cost), LlmError> {
            assert!(request.turns[0].text.as_str().starts_with("1. fact: Ana sings.\n1. memory: Ana sings alto.\n"));
            let (text, model) = (self.0.to_owned(), "fixed".to_owned());
            Ok((Reply { text, finish: Finish::Stop, prompt_tokens: 1, completion_tokens: 1, model }, Cost::Call))
        }

        fn model(&self) -> &'static str {
            "fixed"
        }
    }

    #[test]
    fn what_is_not_judged_counts_for_nothing() {
        let judged = |answer: &'static str| {
            let pairs = [("Ana sings.", "Ana\nsings alto."), ("Ben rows.", "Ben is ill.")];
            futures::executor::block_on(Judge::new(&Fixed(answer)).judge(&pairs))
        };
        assert_eq!(
            judged(r#"{"verdicts": [{"pair": 2, "verdict": "other"}, {"pair": 1, "verdict": "says"}]}"#),
            [Some(Judged::Says), Some(Judged::Other)]
        );
        assert_eq!(judged(r#"{"verdicts": [{"pair": 1, "verdict": "part"}]}"#), [Some(Judged::Part), None]);
        assert_eq!(judged("yes, yes"), [None, None]);
    }
}
