//! The grey zone: a model names how candidates relate to known memories, many in one call.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use jiff::Timestamp;
use jiff::tz::Offset;
use minijinja::{Environment, Value, context};
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::{Deserialize, Serialize};

use crate::extract::Spent;
use crate::guard::Guard;
use crate::json;
use crate::llm::{Complete, Cost, Finish, LlmError, ReplySchema, Request, Turn, TurnRole};
use crate::memory::{Claim, Evidence, MemoryId};

use crate::consolidate::compare::features;
use crate::consolidate::decide::order::When;
use crate::consolidate::decide::ruling::Named;
use crate::consolidate::plan::{Answers, Question, Surrounded};

/// Candidates in one call at most.
pub const MAX_CANDIDATES: usize = 40;

/// Tokens that the answer about one candidate takes at most, with room to spare.
const TOKENS_A_CANDIDATE: u32 = 60;

/// Longest text of one memory shown, in characters.
const MAX_SHOWN: usize = 600;

/// The constant first part of every request.
const SYSTEM: &str = include_str!("../../../prompts/consolidate/system.md");

static TEMPLATES: LazyLock<Environment<'static>> = LazyLock::new(|| {
    let mut templates = Environment::new();
    templates
        .add_template("user", include_str!("../../../prompts/consolidate/user.md"))
        .expect("the template is embedded and a test renders it");
    templates
});

/// What a model answered about all questions.
#[derive(Debug, Default)]
pub struct Asked {
    /// Relations by index of the candidate.
    pub answers: Answers,
    /// What it cost.
    pub spent: Spent,
    /// Calls that gave nothing usable.
    pub failed: u64,
}

/// The reply's shape.
#[derive(Debug, Deserialize, Serialize, JsonSchema)]
struct Relations {
    relations: Vec<Entry>,
}

#[derive(Debug, Deserialize, Serialize, JsonSchema)]
struct Entry {
    candidate: usize,
    relation: RelationName,
    known: Option<usize>,
    why: Why,
}

#[derive(Debug, Clone, Copy, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum RelationName {
    Duplicate,
    MoreDetail,
    Contradicts,
    Complementary,
    // Models like to call it so.
    #[serde(alias = "new")]
    Unrelated,
}

#[derive(Debug, Clone, Copy, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Why {
    Changed,
    Corrected,
    Unclear,
}

/// One call's worth of questions, with the numbers that they are given in it.
struct Sheet<'a> {
    cases: &'a [Surrounded],
    questions: &'a [Question],
    /// Known memories by number, from 1.
    known: Vec<&'a crate::consolidate::Known>,
    numbers: BTreeMap<&'a MemoryId, usize>,
}

/// A memory or candidate as it is shown.
struct Shown {
    number: usize,
    attribute: Option<String>,
    time: Option<String>,
    text: String,
    quote: Option<String>,
    against: Vec<usize>,
}

/// Asks `model` about all `questions`, at most [`MAX_CANDIDATES`] in a call, and returns what it said.
///
/// A call that fails or cannot be read is counted and leaves its questions without answer; after an error that the
/// next call would meet too, no more are made.
pub async fn ask<C: Complete>(cases: &[Surrounded], questions: &[Question], guard: &Guard, model: &C) -> Asked {
    let mut asked = Asked::default();
    let mut sheets = questions.chunks(MAX_CANDIDATES);
    for chunk in sheets.by_ref() {
        let sheet = Sheet::new(cases, chunk);
        match model.complete(&sheet.request(guard)).await {
            Ok((reply, cost)) => {
                match cost {
                    Cost::Call => {
                        asked.spent += Spent {
                            calls: 1,
                            prompt_tokens: reply.prompt_tokens,
                            completion_tokens: reply.completion_tokens,
                            ..Spent::default()
                        };
                    }
                    Cost::Cached => asked.spent.cached += 1,
                }
                let found = if reply.finish == Finish::Refusal { Vec::new() } else { sheet.read(&reply.text) };
                asked.failed += u64::from(found.is_empty());
                asked.answers.extend(found);
            }
            Err(error) => {
                asked.failed += 1;
                if is_lasting(&error) {
                    break;
                }
            }
        }
    }
    asked.failed += u64::try_from(sheets.len()).unwrap_or(u64::MAX);
    asked
}

const fn is_lasting(error: &LlmError) -> bool {
    match error {
        LlmError::Permanent { .. } | LlmError::Budget { .. } | LlmError::Cassette { .. } => true,
        LlmError::Transient { .. } | LlmError::TooLong { .. } | LlmError::InBatch | LlmError::NotRecorded { .. } => {
            false
        }
    }
}

impl<'a> Sheet<'a> {
    fn new(cases: &'a [Surrounded], questions: &'a [Question]) -> Self {
        let (mut known, mut numbers) = (Vec::new(), BTreeMap::new());
        for memory in questions.iter().flat_map(|question| &question.known) {
            if !numbers.contains_key(&memory.memory.id) {
                known.push(memory);
                numbers.insert(&memory.memory.id, known.len());
            }
        }
        Self { cases, questions, known, numbers }
    }

    fn request(&self, guard: &Guard) -> Request {
        let candidates = u32::try_from(self.questions.len()).unwrap_or(u32::MAX);
        Request {
            system: guard.redact(SYSTEM.to_owned()).0,
            turns: vec![Turn { role: TurnRole::User, text: guard.redact(self.render()).0 }],
            schema: ReplySchema { name: "relations", schema: schema() },
            max_completion_tokens: candidates.saturating_mul(TOKENS_A_CANDIDATE).saturating_add(200),
        }
    }

    fn render(&self) -> String {
        let known = self.known.iter().enumerate().map(|(index, known)| {
            let memory = &known.memory;
            Shown::of(index + 1, &memory.claim, &known.evidence, memory.created_at)
        });
        let candidates = self.questions.iter().enumerate().map(|(index, question)| {
            let candidate = &self.cases[question.index].incoming.candidate;
            let against = question.known.iter().map(|known| self.numbers[&known.memory.id]).collect();
            let quote = candidate.evidence.first().map(|piece| one_line(&piece.quote));
            // Without evidence there is no time to show: when the plan is made says nothing.
            let shown = Shown::of(index + 1, &candidate.claim, &candidate.evidence, Timestamp::UNIX_EPOCH);
            Shown { against, quote: quote.filter(|quote| *quote != shown.text), ..shown }
        });
        let values = context! {
            known => known.map(Shown::value).collect::<Vec<_>>(),
            candidates => candidates.map(Shown::value).collect::<Vec<_>>(),
        };
        let template = TEMPLATES.get_template("user").expect("the template is added above");
        template.render(values).expect("the template is embedded and a test renders it")
    }

    /// Reads the relations that can be used: a candidate that was asked about, and a memory it was compared with.
    fn read(&self, text: &str) -> Vec<(usize, (MemoryId, Named))> {
        let body = text.find('{').map_or("", |start| &text[start..]);
        let value = json::parse_prefix(body.trim_end().trim_end_matches("```"));
        let entries = value.as_ref().and_then(|value| value.get("relations")?.as_array());
        let entries = entries.into_iter().flatten().filter_map(|entry| serde_json::from_value(entry.clone()).ok());
        let found: BTreeMap<usize, _> = entries.filter_map(|entry| self.answer(&entry)).collect();
        found.into_iter().collect()
    }

    fn answer(&self, entry: &Entry) -> Option<(usize, (MemoryId, Named))> {
        let question = self.questions.get(entry.candidate.checked_sub(1)?)?;
        let asked = |number: usize| {
            let known = self.known.get(number.checked_sub(1)?)?;
            question.known.iter().find(|listed| listed.memory.id == known.memory.id)
        };
        let target = match (entry.relation, entry.known) {
            (RelationName::Unrelated, _) => question.known.first()?,
            (_, Some(number)) => asked(number)?,
            (_, None) if question.known.len() == 1 => &question.known[0],
            (_, None) => return None,
        };
        Some((question.index, (target.memory.id.clone(), named(entry.relation, entry.why))))
    }
}

const fn named(relation: RelationName, why: Why) -> Named {
    match relation {
        RelationName::Unrelated => Named::Unrelated,
        RelationName::Duplicate => Named::Duplicate,
        RelationName::MoreDetail => Named::MoreDetail,
        RelationName::Complementary => Named::Complementary,
        RelationName::Contradicts => Named::Contradicts(match why {
            Why::Changed => Some(features::Turn::Changed),
            Why::Corrected => Some(features::Turn::Corrected),
            Why::Unclear => None,
        }),
    }
}

impl Shown {
    fn of(number: usize, claim: &Claim, evidence: &[Evidence], written_at: Timestamp) -> Self {
        let at = When::of(claim, evidence, written_at).at.filter(|at| *at != Timestamp::UNIX_EPOCH);
        // Days are those of the clock by which they were said.
        let clock = evidence.first().and_then(|piece| piece.said_at?.offset_seconds).unwrap_or(0);
        let clock = Offset::from_seconds(clock).unwrap_or(Offset::UTC);
        let attribute = claim.key.as_deref().map(|key| match &claim.value {
            Some(value) => one_line(&format!("{key} = {value}")),
            None => one_line(key),
        });
        Self {
            number,
            attribute,
            time: at.map(|at| clock.to_datetime(at).strftime("%Y-%m-%d").to_string()),
            text: one_line(&claim.content),
            quote: None,
            against: Vec::new(),
        }
    }
}

impl Shown {
    fn value(self) -> Value {
        context! {
            number => self.number,
            attribute => self.attribute,
            time => self.time,
            text => self.text,
            quote => self.quote,
            against => self.against,
        }
    }
}

/// Puts a text on one line, cut short, so that it cannot pose as another line or close the fence.
fn one_line(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ").replace("</", "< /");
    match line.char_indices().nth(MAX_SHOWN) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

/// The schema in the subset that strict mode accepts: no references, every field required, nothing else allowed.
fn schema() -> serde_json::Value {
    let mut generator =
        SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = true).into_generator();
    let mut schema = generator.root_schema_for::<Relations>().to_value();
    close(&mut schema);
    schema
}

fn close(schema: &mut serde_json::Value) {
    let Some(object) = schema.as_object_mut() else { return };
    for name in ["$schema", "title", "format", "minimum", "description", "default"] {
        object.remove(name);
    }
    if let Some(fields) = object.get("properties").and_then(|properties| properties.as_object()) {
        let required: Vec<serde_json::Value> = fields.keys().map(|name| name.clone().into()).collect();
        object.insert("required".into(), required.into());
        object.insert("additionalProperties".into(), false.into());
    }
    for nested in ["properties", "items"] {
        match object.get_mut(nested) {
            Some(items) if nested == "items" => close(items),
            Some(fields) => fields.as_object_mut().into_iter().flatten().for_each(|(_, field)| close(field)),
            None => {}
        }
    }
}
