//! Models that answer questions about the relations of memories: correctly, at random, or not at all.

use std::cell::Cell;

use afterthought::llm::{Complete, Cost, Finish, LlmError, Reply, Request};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::facts::{Arity, TOPICS, recognise};

/// The kind of model that answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Who {
    Nobody,
    /// A model that knows the right answer for every topic.
    Faithful,
    /// A model that answers at random, and occasionally stops early, refuses or fails.
    Random(u64),
}

pub fn anybody() -> impl Strategy<Value = Who> {
    prop_oneof![2 => Just(Who::Nobody), 2 => Just(Who::Faithful), 3 => any::<u64>().prop_map(Who::Random)]
}

/// A model that counts the requests to it.
pub struct Model {
    who: Who,
    state: Cell<u64>,
    pub calls: Cell<usize>,
}

impl Model {
    pub fn new(who: Who) -> Option<Self> {
        let Who::Random(seed) = who else {
            return (who == Who::Faithful).then(|| Self { who, state: Cell::new(0), calls: Cell::new(0) });
        };
        Some(Self { who, state: Cell::new(seed), calls: Cell::new(0) })
    }

    /// Returns a pseudo-random number below `limit`.
    fn roll(&self, limit: usize) -> usize {
        let next = self.state.get().wrapping_add(0x9e37_79b9_7f4a_7c15);
        self.state.set(next);
        let mixed = (next ^ (next >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((mixed ^ (mixed >> 31)) % u64::try_from(limit).unwrap()).unwrap()
    }
}

/// The content of a request: texts by number, and the numbers that each candidate is compared with.
struct Sheet {
    texts: Vec<String>,
    questions: Vec<(usize, Vec<usize>)>,
}

impl Sheet {
    fn of(request: &Request) -> Self {
        let text: &str = &request.turns[0].text;
        let numbered = |line: &str| {
            let end = line.find(|c: char| !c.is_ascii_digit())?;
            Some((line[..end].parse::<usize>().ok()?, line[end..].to_owned()))
        };
        let (memories, questions) = text.split_once("</memories>").unwrap();
        let texts = memories.lines().filter_map(numbered).map(|(_, text)| text).collect();
        let questions = questions.lines().filter_map(numbered).map(|(number, against)| {
            let against = against.trim_start_matches(": ").split(',').map(|number| number.parse().unwrap());
            (number, against.collect())
        });
        let sheet = Self { texts, questions: questions.collect() };
        assert!(!sheet.questions.is_empty(), "nothing is asked: {text}");
        sheet
    }

    fn text(&self, number: usize) -> &str {
        &self.texts[number - 1]
    }
}

fn entry(memory: usize, relation: &str, to: Option<usize>, why: &str, rest: &str) -> Value {
    json!({"memory": memory, "relation": relation, "to": to, "why": why, "rest": rest})
}

fn faithful(sheet: &Sheet) -> Vec<Value> {
    let mut entries = Vec::new();
    for (number, against) in &sheet.questions {
        let own = recognise(sheet.text(*number));
        let related = against.iter().filter_map(|other| {
            let ((topic, value), (other_topic, other_value)) = (own?, recognise(sheet.text(*other))?);
            let relation = match (topic == other_topic, value == other_value, TOPICS[topic].arity) {
                (false, ..) => None,
                (true, true, _) => Some("duplicate"),
                (true, false, Arity::One) => Some("contradicts"),
                (true, false, Arity::Many) => Some("complementary"),
            };
            Some(entry(*number, relation?, Some(*other), "unclear", ""))
        });
        let related: Vec<Value> = related.collect();
        entries.extend(if related.is_empty() {
            vec![entry(*number, "unrelated", None, "unclear", "")]
        } else {
            related
        });
    }
    entries
}

impl Model {
    fn random(&self, sheet: &Sheet) -> Vec<Value> {
        const RELATIONS: &[&str] = &[
            "duplicate",
            "duplicate",
            "more_detail",
            "overlapping",
            "contradicts",
            "contradicts",
            "contradicts",
            "complementary",
            "unrelated",
            "new",
            "opposes",
        ];
        let mut entries = Vec::new();
        for (number, against) in &sheet.questions {
            for _ in 0..self.roll(4) {
                let to = match self.roll(10) {
                    0 => None,
                    1 => Some(self.roll(sheet.texts.len() + 3)),
                    _ => Some(against[self.roll(against.len())]),
                };
                let number = if self.roll(12) == 0 { self.roll(sheet.texts.len() + 3) } else { *number };
                let why = ["changed", "corrected", "unclear"][self.roll(3)];
                let rest = match to.filter(|to| *to > 0 && *to <= sheet.texts.len()) {
                    Some(to) if self.roll(3) == 0 => {
                        let words: Vec<_> = sheet.text(to).split(": ").last().unwrap_or("").split(' ').collect();
                        words[..=self.roll(words.len())].join(" ")
                    }
                    _ if self.roll(8) == 0 => "The user owns seven castles.".to_owned(),
                    _ => String::new(),
                };
                entries.push(entry(number, RELATIONS[self.roll(RELATIONS.len())], to, why, &rest));
            }
        }
        entries
    }

    fn reply(&self, sheet: &Sheet) -> Result<(String, Finish), LlmError> {
        if self.who == Who::Faithful {
            return Ok((json!({"relations": faithful(sheet)}).to_string(), Finish::Stop));
        }
        let whole = json!({"relations": self.random(sheet)}).to_string();
        match self.roll(14) {
            0 => Ok((whole.chars().take(self.roll(whole.len())).collect(), Finish::Length)),
            1 => Ok(("I cannot help with that.".into(), Finish::Refusal)),
            2 => Ok(("[]".into(), Finish::Stop)),
            3 => Err(LlmError::Transient { endpoint: "test".into(), reason: "timeout".into(), attempts: 3 }),
            4 => Ok((format!("Surely.\n```json\n{whole}\n```"), Finish::Stop)),
            _ => Ok((whole, Finish::Stop)),
        }
    }
}

impl Complete for Model {
    async fn complete(&self, request: &Request) -> Result<(Reply, Cost), LlmError> {
        self.calls.set(self.calls.get() + 1);
        let (text, finish) = self.reply(&Sheet::of(request))?;
        Ok((Reply { text, finish, prompt_tokens: 1, completion_tokens: 1, model: "made up".into() }, Cost::Call))
    }

    fn model(&self) -> &'static str {
        "made up"
    }
}
