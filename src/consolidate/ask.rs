//! Asks a model how candidates relate to known memories; one call contains many candidates, and several calls run in
//! parallel.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use futures::{StreamExt, stream};
use jiff::Timestamp;
use jiff::tz::Offset;
use minijinja::{Value, context};
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::{Deserialize, Serialize};
use serde_json::json;
use transcripts::json as reader;

use crate::consolidate::compare::features::{Features, Turn as Direction};
use crate::consolidate::decide::named::Named;
use crate::consolidate::decide::ruling::ValidTime;
use crate::consolidate::plan::{Answer, Answers, CandidateContext, Question};
use crate::extract::Spent;
use crate::guard::Guard;
use crate::llm::{Complete, Cost, Finish, LlmError, Reply, ReplySchema, Request, Turn, TurnRole};
use crate::memory::{Claim, Evidence, MemoryId};
use crate::prompts::Prompt;
use crate::schema::Schema;
use crate::text::markup::request_line;

/// Maximum number of candidates in one call, not counting a small remainder.
pub(crate) const MAX_CANDIDATES: usize = 150;

/// Maximum remainder that is added to a full call, because a separate call would show most memories again.
pub(crate) const MAX_REST: usize = 15;

/// Maximum number of memories shown in one call, unless a single candidate is compared with more memories.
pub(crate) const MAX_MEMORIES: usize = 300;

/// Maximum number of calls for one sheet if it has to be split.
const MAX_CALLS_A_SHEET: usize = 8;

/// Number of calls in progress at the same time.
const SIDE_BY_SIDE: usize = 4;

/// A model's answers to all questions.
#[derive(Debug, Default)]
pub(crate) struct Asked {
    /// The named relations, by index of the candidate. Candidates that the model omitted are not included.
    pub answers: Answers,
    /// Cost of the calls.
    pub spent: Spent,
    /// Calls without a usable reply.
    pub failed: u64,
}

/// Asks `model` about all `questions` and returns its answers. A call contains at most [`MAX_CANDIDATES`] questions,
/// and the last call up to [`MAX_REST`] more.
///
/// A sheet that is too long for the model is split in halves. If a reply is cut off, its remaining questions are asked
/// again. A call that fails, or whose reply cannot be read, is counted, and its questions are left unanswered. After an
/// error that would also affect the next call, no further calls are made.
pub(crate) async fn ask<C: Complete>(
    cases: &[CandidateContext],
    questions: &[Question],
    guard: &Guard,
    model: &C,
) -> Asked {
    let sheets = Sheet::fill(cases, questions);
    let count = sheets.len();
    let (mut asked, mut done) = (Asked::default(), 0);
    let calls = sheets.into_iter().map(|sheet| fill_in(sheet, guard, model));
    // The calls are processed in order, so that the count of failures after a lasting error does not depend on timing.
    let mut calls = stream::iter(calls).buffered(SIDE_BY_SIDE);
    while let Some((of_sheet, goes_on)) = calls.next().await {
        done += 1;
        asked.add(of_sheet);
        if !goes_on {
            break;
        }
    }
    // Sheets that were not sent count as failed, so that the run reports candidates without an answer.
    asked.failed += u64::try_from(count - done).unwrap_or(u64::MAX);
    asked
}

/// Returns the answers for one sheet, in as many calls as necessary, and whether it makes sense to send further sheets.
async fn fill_in<C: Complete>(sheet: Sheet<'_>, guard: &Guard, model: &C) -> (Asked, bool) {
    let (mut asked, mut open) = (Asked::default(), vec![sheet]);
    for _ in 0..MAX_CALLS_A_SHEET {
        let Some(sheet) = open.pop() else { break };
        let request = sheet.request(guard);
        match model.complete(&request).await {
            Ok((reply, cost)) => {
                let is_cut = reply.finish == Finish::Length;
                if !asked.take(&sheet, &reply, cost) {
                    model.discard(&request);
                }
                open.extend(is_cut.then(|| sheet.unanswered(&asked.answers)).flatten());
            }
            // Only the provider has the model's tokenizer, so splitting after the error is more exact than an estimate.
            Err(LlmError::TooLong { .. }) if sheet.halves().is_some() => {
                open.extend(sheet.halves().into_iter().flatten());
            }
            Err(error) => {
                asked.failed += 1;
                if is_lasting(&error) {
                    asked.failed += u64::try_from(open.len()).unwrap_or(u64::MAX);
                    return (asked, false);
                }
            }
        }
    }
    asked.failed += u64::try_from(open.len()).unwrap_or(u64::MAX);
    (asked, true)
}

impl Asked {
    fn add(&mut self, other: Self) {
        self.answers.extend(other.answers);
        self.spent += other.spent;
        self.failed += other.failed;
    }

    /// Counts a reply and reads its answers. Returns whether it contained any.
    fn take(&mut self, sheet: &Sheet<'_>, reply: &Reply, cost: Cost) -> bool {
        self.spent += Spent::of(reply, cost);
        // A refusal may quote the memories and even look like JSON.
        let found = if reply.finish == Finish::Refusal { Answers::new() } else { sheet.read(reply) };
        // The call is paid for in either case, so its cost is counted before this check.
        let is_useful = !found.is_empty();
        self.failed += u64::from(!is_useful);
        self.answers.extend(found);
        is_useful
    }
}

const fn is_lasting(error: &LlmError) -> bool {
    match error {
        LlmError::Permanent { .. } | LlmError::Budget { .. } | LlmError::Cassette { .. } => true,
        LlmError::Transient { .. } | LlmError::TooLong { .. } | LlmError::InBatch | LlmError::NotRecorded { .. } => {
            false
        }
    }
}

/// Upper limit for the tokens of the answer about one candidate, including a margin.
const TOKENS_A_CANDIDATE: u32 = 90;

/// Maximum length of a memory's text in a request, in characters.
const MAX_SHOWN: usize = 600;

/// The questions of one call, and the numbers of the memories in it.
pub(super) struct Sheet<'a> {
    questions: &'a [Question],
    cases: &'a [CandidateContext],
    /// The memories and candidates that are shown, by number from 1.
    shown: Vec<Shown>,
    numbers: BTreeMap<&'a MemoryId, usize>,
}

/// A memory or candidate as it is shown.
struct Shown {
    attribute: Option<String>,
    /// The day on which the memory or candidate was last said, if known.
    time: Option<String>,
    /// The day from which it is true, if known and different.
    from: Option<String>,
    text: String,
    quote: Option<String>,
}

impl<'a> Sheet<'a> {
    /// Distributes `questions` over as few sheets as possible, keeping their order.
    pub(super) fn fill(cases: &'a [CandidateContext], questions: &'a [Question]) -> Vec<Self> {
        let (mut sheets, mut start, mut shown) = (Vec::new(), 0, BTreeSet::new());
        for (index, question) in questions.iter().enumerate() {
            let ids: BTreeSet<&MemoryId> = mentioned(cases, question).collect();
            let many = index - start >= MAX_CANDIDATES && questions.len() - index > MAX_REST;
            // Each memory is counted once, since candidates on one topic are compared with mostly the same memories.
            let full = many || shown.union(&ids).count() > MAX_MEMORIES;
            // A single question is never split, even if it alone shows more memories than a sheet should contain.
            if full && index > start {
                sheets.push(Self::new(cases, &questions[start..index]));
                (start, shown) = (index, BTreeSet::new());
            }
            shown.extend(ids);
        }
        if start < questions.len() {
            sheets.push(Self::new(cases, &questions[start..]));
        }
        sheets
    }

    fn new(cases: &'a [CandidateContext], questions: &'a [Question]) -> Self {
        let mut sheet = Self { cases, questions, shown: Vec::new(), numbers: BTreeMap::new() };
        for question in questions {
            for known in &question.known {
                let memory = &known.memory;
                sheet.show(&memory.id, || Shown::of(&memory.claim, &known.evidence, Some(memory.created_at)));
            }
            let case = &cases[question.index];
            let candidate = &case.incoming.candidate;
            // Without evidence, no time is shown: the time of planning does not show when the claim was true.
            sheet.show(&case.id, || Shown::of(&candidate.claim, &candidate.evidence, None));
        }
        sheet.in_order_of_time()
    }

    /// Renumbers the memories and candidates, so that those of one day are listed together in the request.
    fn in_order_of_time(mut self) -> Self {
        let mut order: Vec<usize> = (0..self.shown.len()).collect();
        // The sort is stable, so that memories of one day keep their order and the request does not change.
        order.sort_by(|a, b| self.shown[*a].time.cmp(&self.shown[*b].time));
        let mut numbers = vec![0; order.len()];
        order.iter().enumerate().for_each(|(at, before)| numbers[*before] = at + 1);
        self.numbers.values_mut().for_each(|number| *number = numbers[*number - 1]);
        let mut shown: Vec<Option<Shown>> = self.shown.into_iter().map(Some).collect();
        self.shown = order.into_iter().filter_map(|before| shown[before].take()).collect();
        self
    }

    /// Returns two sheets with half of the questions each, starting with the second half; `None` for a single question.
    pub(super) fn halves(&self) -> Option<[Self; 2]> {
        let (first, second) = self.questions.split_at(self.questions.len() / 2);
        (!first.is_empty()).then(|| [Self::new(self.cases, second), Self::new(self.cases, first)])
    }

    /// Returns a sheet with the questions from the first one that `answers` does not contain; `None` if all questions
    /// or none are answered.
    pub(super) fn unanswered(&self, answers: &Answers) -> Option<Self> {
        let from = self.questions.iter().position(|question| !answers.contains_key(&question.index))?;
        // The result is `None` if the first question is unanswered: the sheet would be cut off at the same point again.
        (from > 0).then(|| Self::new(self.cases, &self.questions[from..]))
    }

    fn show(&mut self, id: &'a MemoryId, shown: impl FnOnce() -> Shown) {
        if !self.numbers.contains_key(id) {
            self.shown.push(shown());
            self.numbers.insert(id, self.shown.len());
        }
    }

    pub(super) fn request(&self, guard: &Guard) -> Request {
        let candidates = u32::try_from(self.questions.len()).unwrap_or(u32::MAX);
        Request {
            system: guard.redact(Prompt::ConsolidateSystem.text().to_owned()).0,
            turns: vec![Turn { role: TurnRole::User, text: guard.redact(self.render()).0 }],
            schema: ReplySchema { name: "relations".into(), schema: schema() },
            max_completion_tokens: candidates.saturating_mul(TOKENS_A_CANDIDATE).saturating_add(200),
        }
    }

    fn render(&self) -> String {
        let memories = self.shown.iter().enumerate().map(|(index, shown)| shown.value(index + 1));
        let questions = self.questions.iter().map(|question| {
            let against: Vec<usize> = question.known.iter().map(|known| self.numbers[&known.memory.id]).collect();
            context! { number => self.numbers[&self.cases[question.index].id], against }
        });
        let values = context! {
            memories => memories.collect::<Vec<_>>(),
            questions => questions.collect::<Vec<_>>(),
        };
        Prompt::ConsolidateUser.render(values)
    }

    /// Reads the usable relations, each from a candidate of this sheet to a memory that it is compared with.
    ///
    /// A candidate that a complete reply does not name is unrelated to all memories that it is compared with. In a
    /// truncated reply, this applies only to the candidates before the last one that the reply names. If the reply
    /// lists unrelated memories, or an entry cannot be read, an omitted candidate counts as unanswered.
    pub(super) fn read(&self, reply: &Reply) -> Answers {
        let mut answers = Answers::new();
        let Some(Entries { named: entries, whole, unread }) = entries(&reply.text) else { return answers };
        let is_lean = !unread && !entries.iter().any(Entry::is_unrelated);
        let (mut named, mut dropped) = (None, BTreeSet::new());
        for entry in entries {
            // A reply may contain any number; only candidates of this sheet count.
            let asked = self.questions.iter().position(|one| self.numbers[&self.cases[one.index].id] == entry.memory);
            let Some(place) = asked else { continue };
            let question = &self.questions[place];
            let about = || question.known.iter().map(|known| &known.memory.id);
            let to = match entry.to {
                Some(number) => about().find(|id| self.numbers[id] == number),
                // With only one memory to compare, it is clear which memory is meant.
                None => about().next().filter(|_| question.known.len() == 1),
            };
            // A relation to an unknown number is dropped, and its question counts as unanswered.
            if to.is_none() && !entry.is_unrelated() {
                dropped.insert(question.index);
                continue;
            }
            named = named.max(Some(place));
            let answer = answers.entry(question.index).or_insert_with(|| question.unrelated());
            if let Some(to) = to.filter(|_| !entry.is_unrelated()) {
                answer.named.push((to.clone(), entry.named()));
            }
        }
        let until = if whole && reply.finish == Finish::Stop { self.questions.len() } else { named.unwrap_or(0) };
        for question in self.questions[..until].iter().filter(|one| is_lean && !dropped.contains(&one.index)) {
            answers.entry(question.index).or_insert_with(|| question.unrelated());
        }
        answers
    }
}

impl Question {
    /// Returns the answer for a candidate that is unrelated to all of the memories.
    fn unrelated(&self) -> Answer {
        Answer { about: self.known.iter().map(|known| known.memory.id.clone()).collect(), named: Vec::new() }
    }
}

fn mentioned<'a>(cases: &'a [CandidateContext], question: &'a Question) -> impl Iterator<Item = &'a MemoryId> {
    question.known.iter().map(|known| &known.memory.id).chain([&cases[question.index].id])
}

impl Shown {
    fn of(claim: &Claim, evidence: &[Evidence], written_at: Option<Timestamp>) -> Self {
        let when = ValidTime::of(claim, evidence, written_at.unwrap_or(Timestamp::UNIX_EPOCH));
        // Days are in the speaker's local time. In UTC, an evening message could contradict its own "today".
        let clock = evidence.first().and_then(|piece| piece.said_at?.offset_seconds).unwrap_or(0);
        let clock = Offset::from_seconds(clock).unwrap_or(Offset::UTC);
        let attribute = claim.key.as_deref().map(|key| match &claim.value {
            Some(value) => request_line(&format!("{key} = {value}"), MAX_SHOWN),
            None => request_line(key, MAX_SHOWN),
        });
        let day = |at: Timestamp| clock.to_datetime(at).strftime("%Y-%m-%d").to_string();
        let time = when.said.filter(|said| *said != Timestamp::UNIX_EPOCH).map(day);
        Self {
            attribute,
            from: claim.valid_from.map(day).filter(|from| Some(from) != time.as_ref()),
            time,
            text: request_line(&claim.content, MAX_SHOWN),
            quote: turning_words(claim, evidence),
        }
    }

    fn value(&self, number: usize) -> Value {
        let Self { attribute, time, from, text, quote } = self;
        let time = time.as_deref().unwrap_or("no date");
        context! { number, attribute, time, from, text, quote }
    }
}

/// Returns the original words if they mention a change or a correction and the claim does not.
fn turning_words(claim: &Claim, evidence: &[Evidence]) -> Option<String> {
    let turns = |text: &str| Features::of(text).cue.is_some();
    let quote = evidence.iter().map(|piece| piece.quote.as_str()).find(|quote| turns(quote))?;
    (!turns(&claim.content)).then(|| request_line(quote, MAX_SHOWN))
}

#[derive(Debug, Deserialize, Serialize, JsonSchema)]
struct Relations {
    relations: Vec<Entry>,
}

/// A relation that the model named.
#[derive(Debug, Deserialize, Serialize, JsonSchema)]
pub(super) struct Entry {
    /// Number of the candidate.
    pub(super) memory: usize,
    relation: RelationName,
    /// Number of the known memory that the candidate relates to, if any.
    pub(super) to: Option<usize>,
    #[serde(default)]
    why: Why,
    #[serde(default)]
    rest: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum RelationName {
    Duplicate,
    MoreDetail,
    Overlapping,
    Contradicts,
    Complementary,
    Unrelated,
}

#[derive(Debug, Clone, Copy, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Why {
    Changed,
    Corrected,
    #[default]
    Unclear,
}

impl Entry {
    pub(super) fn named(&self) -> Named {
        match self.relation {
            RelationName::Unrelated => Named::Unrelated,
            RelationName::Duplicate => Named::Duplicate,
            RelationName::MoreDetail => Named::MoreDetail,
            RelationName::Overlapping => Named::Overlapping,
            RelationName::Complementary => Named::Complementary,
            RelationName::Contradicts => Named::Contradicts {
                turn: match self.why {
                    Why::Changed => Some(Direction::Changed),
                    Why::Corrected => Some(Direction::Corrected),
                    Why::Unclear => None,
                },
                rest: Some(self.rest.trim()).filter(|rest| !rest.is_empty()).map(str::to_owned),
            },
        }
    }

    pub(super) fn is_unrelated(&self) -> bool {
        self.relation == RelationName::Unrelated
    }
}

/// The relations in a reply.
pub(super) struct Entries {
    pub(super) named: Vec<Entry>,
    /// Whether the list is complete.
    whole: bool,
    /// Whether an entry before the end could not be read.
    unread: bool,
}

/// The schema of an entry.
static SCHEMA: LazyLock<Schema> = LazyLock::new(Schema::of::<Entry>);

/// Returns an entry in which the other name that models use for unrelated memories is replaced.
fn with_usual_name(mut entry: serde_json::Value) -> serde_json::Value {
    if entry["relation"] == "new" {
        entry["relation"] = json!(RelationName::Unrelated);
    }
    entry
}

/// Reads all complete relations in `text`, regardless of the surrounding text; a truncated relation is ignored. Returns
/// `None` if there is no list of relations.
pub(super) fn entries(text: &str) -> Option<Entries> {
    // Some models surround the object with prose or a code fence.
    let body = text.find('{').map_or("", |start| &text[start..]);
    let value = reader::parse_prefix(body.trim_end().trim_end_matches("```"));
    let listed = value.as_ref().and_then(|value| value.get("relations")?.as_array())?;
    let listed: Vec<serde_json::Value> = listed.iter().cloned().map(with_usual_name).collect();
    let mut documents = serde_json::Deserializer::from_str(body).into_iter::<serde_json::Value>();
    let whole = matches!(documents.next(), Some(Ok(_)));
    // The last entry of a truncated list is incomplete.
    let (ended, cut) = listed.split_at(if whole { listed.len() } else { listed.len().saturating_sub(1) });
    let mut read: Vec<Option<Entry>> = SCHEMA.entries(ended, "relations");
    let unread = read.iter().any(Option::is_none);
    read.extend(cut.iter().map(|entry| SCHEMA.read(entry.clone()).ok()));
    Some(Entries { named: read.into_iter().flatten().collect(), whole, unread })
}

/// Returns the schema in the subset that strict mode accepts: no references, every field required, and no additional
/// fields. Only a contradiction has further fields, so each shape of a relation is an alternative.
pub(super) fn schema() -> serde_json::Value {
    let mut generator =
        SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = true).into_generator();
    let mut schema = generator.root_schema_for::<Relations>().to_value();
    close(&mut schema);
    let entry = &mut schema["properties"]["relations"]["items"];
    let fields = entry["properties"].take();
    let shape = |relations: &[RelationName], further: &[&str]| {
        let mut properties = json!({"memory": fields["memory"], "relation": {"type": "string", "enum": relations}});
        properties["to"] = json!({"type": "integer"});
        further.iter().for_each(|name| properties[*name] = fields[*name].clone());
        let mut shape = json!({"type": "object", "properties": properties});
        close(&mut shape);
        shape
    };
    let plain =
        [RelationName::Duplicate, RelationName::MoreDetail, RelationName::Overlapping, RelationName::Complementary];
    let contradiction = [RelationName::Contradicts];
    let shapes = [shape(&plain, &[]), shape(&contradiction, &["why"]), shape(&contradiction, &["why", "rest"])];
    *entry = json!({"anyOf": shapes});
    schema
}

fn close(schema: &mut serde_json::Value) {
    let Some(object) = schema.as_object_mut() else { return };
    // The strict mode of some providers rejects these keywords; the prompt explains the fields instead.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::consolidate::tests::testing::{incoming, known};

    #[test]
    fn a_last_few_questions_get_no_sheet_of_their_own() {
        let against = known("old", "The shop is in Riga.");
        let surrounded = |index: usize| CandidateContext {
            incoming: incoming(&format!("The shop is in street {index}.")),
            id: MemoryId::from_stored(format!("new-{index}")),
            known: vec![against.clone()],
            rejected: Vec::new(),
            settled: None,
        };
        let cases: Vec<CandidateContext> = (0..320).map(surrounded).collect();
        let question = |index| Question { index, known: vec![against.clone()], closeness: 1.0, open: true };
        for (count, expected) in [
            (1, vec![1]),
            (150, vec![150]),
            (165, vec![165]),
            (166, vec![150, 16]),
            (315, vec![150, 165]),
            (316, vec![150, 150, 16]),
        ] {
            let questions: Vec<Question> = (0..count).map(question).collect();
            let sheets = Sheet::fill(&cases, &questions);
            let sizes: Vec<usize> = sheets.iter().map(|sheet| sheet.questions.len()).collect();
            assert_eq!(sizes, expected);
        }
    }
}
