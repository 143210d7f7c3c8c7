//! Scores search results, briefs, and contexts for questions, using cases that list what must and must not be found.
//!
//! ```text
//! *-recall.jsonl ─▶ memories ─▶ the program's search ─▶ which were found, in which order ┐
//! *-brief.jsonl ──▶ memories ─▶ the program's brief ──▶ which it contains                 ├▶ Row
//! *-qa.jsonl ─────▶ memories, or a conversation to extract ─▶ search ─▶ parts of answers  ┘
//! ```
//!
//! No model acts as a judge: memories are identified by their ids in the case, and parts of an answer by patterns.

use std::collections::BTreeSet;

use regex::Regex;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::extraction::{CaseMessage, compile};
use crate::files::{CaseMemory, Moment};
use crate::files::{LineCase, Placed};
use crate::results::{Row, fitting, float, ndcg, reciprocal_rank};
use crate::text::{fold, normalize};
use crate::vocabulary::Kind;

/// Token limit of a brief, unless the situation specifies one.
pub const BRIEF_TOKENS: usize = 2_000;
/// Number of memories from which the context of a question is chosen.
pub const QA_LIMIT: usize = 20;
/// Number of memories that a query returns, unless it specifies another number.
pub const RECALL_LIMIT: usize = 10;
/// Token limit of a context, unless the question specifies one.
const QA_TOKENS: usize = 400;
/// Number of results that the measures consider.
const PLACES: usize = 10;

/// A store and queries.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RecallCase {
    /// Id, unique among the cases of a split.
    pub id: String,
    /// The owner of the memories, described in one sentence.
    #[serde(default)]
    pub about: String,
    /// Time at which the queries are made.
    pub now: Moment,
    /// The stored memories.
    pub memories: Vec<CaseMemory>,
    /// The queries.
    pub queries: Vec<Query>,
}

/// A query, and the memories that must and must not be found.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Query {
    /// Id, unique within the case.
    pub id: String,
    /// The query, as a person or an agent would type it.
    pub ask: String,
    /// What the query tests; results are grouped by each entry.
    #[serde(default)]
    pub phenomena: Vec<String>,
    /// The namespaces to search, without nested namespaces; all by default.
    #[serde(default, rename = "in")]
    pub namespaces: Vec<String>,
    /// Ids of the memories that answer the query, the best first.
    #[serde(default)]
    pub must: Vec<String>,
    /// Ids of memories that must not be found.
    #[serde(default)]
    pub must_not: Vec<String>,
    /// Ids of further memories that may be found; if given, no others may be found.
    pub only: Option<Vec<String>>,
    /// Whether the search must find nothing, because nothing in the store answers the query.
    #[serde(default)]
    pub empty: bool,
    /// Maximum number of memories; 10 by default.
    pub most: Option<usize>,
    /// Maximum number of `o200k_base` tokens of content, counted in the order of the results; no limit by default.
    pub tokens: Option<usize>,
}

/// A store, and situations in which a conversation begins.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BriefCase {
    /// Id, unique among the cases of a split.
    pub id: String,
    /// The owner of the memories, described in one sentence.
    #[serde(default)]
    pub about: String,
    /// Time at which the conversations begin.
    pub now: Moment,
    /// The stored memories.
    pub memories: Vec<CaseMemory>,
    /// The situations.
    pub situations: Vec<Situation>,
}

/// The beginning of a conversation, and what its brief must and must not contain.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Situation {
    /// Id, unique within the case.
    pub id: String,
    /// The topic of the conversation; without a topic, the brief contains the memories that matter for every topic.
    pub ask: Option<String>,
    /// What the situation tests; results are grouped by each entry.
    #[serde(default)]
    pub phenomena: Vec<String>,
    /// The namespaces of the conversation; `global` is always included.
    #[serde(default, rename = "in")]
    pub namespaces: Vec<String>,
    /// Ids of the memories that the brief must contain.
    #[serde(default)]
    pub must: Vec<String>,
    /// Ids of memories that the brief must not contain.
    #[serde(default)]
    pub must_not: Vec<String>,
    /// Patterns that must not occur in the text of the brief, regardless of the memory that they come from.
    #[serde(default)]
    pub never: Vec<String>,
    /// Whether the brief must be empty.
    #[serde(default)]
    pub empty: bool,
    /// Maximum number of `o200k_base` tokens; 2,000 by default.
    pub tokens: Option<usize>,
}

/// A conversation or stored memories, and questions about them.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct QaCase {
    /// Id, unique among the cases of a split.
    pub id: String,
    /// The speakers and their topic, described in one sentence.
    #[serde(default)]
    pub about: String,
    /// Time at which the questions are asked.
    pub now: Moment,
    /// A conversation from which the extractor makes memories.
    #[serde(default)]
    pub transcript: Vec<CaseMessage>,
    /// The stored memories, for measuring retrieval alone.
    #[serde(default)]
    pub memories: Vec<CaseMemory>,
    /// The questions.
    pub questions: Vec<Question>,
}

/// A question, and the parts of its answer.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Question {
    /// Id, unique within the case.
    pub id: String,
    /// The question.
    pub ask: String,
    /// What the question tests; results are grouped by each entry.
    #[serde(default)]
    pub phenomena: Vec<String>,
    /// The namespaces to search; all by default.
    #[serde(default, rename = "in")]
    pub namespaces: Vec<String>,
    /// The answer, as shown to people.
    pub answer: String,
    /// Patterns that must all occur in a context from which the question can be answered. If there are none, the
    /// question has no answer.
    #[serde(default)]
    pub must: Vec<String>,
    /// Patterns of misleading text, such as the old value without the new one.
    #[serde(default)]
    pub must_not: Vec<String>,
    /// Verbatim parts of the messages, or ids of the memories, that contain the answer.
    #[serde(default)]
    pub evidence: Vec<String>,
    /// Maximum number of `o200k_base` tokens of context; 400 by default.
    pub tokens: Option<usize>,
}

impl LineCase for RecallCase {
    const ENDING: &'static str = "-recall.jsonl";

    fn id(&self) -> &str {
        &self.id
    }

    fn check(&self) -> Result<(), String> {
        let known = check_memories(&self.memories)?;
        check_unique("query", self.queries.iter().map(|query| query.id.as_str()))?;
        for query in &self.queries {
            let only = query.only.iter().flatten();
            check_known(&query.id, &known, query.must.iter().chain(&query.must_not).chain(only))?;
            check_sides(&query.id, &query.must, &query.must_not)?;
            check_purpose(&query.id, query.empty, !query.must.is_empty() || !query.must_not.is_empty())?;
        }
        Ok(())
    }
}

impl LineCase for BriefCase {
    const ENDING: &'static str = "-brief.jsonl";

    fn id(&self) -> &str {
        &self.id
    }

    fn check(&self) -> Result<(), String> {
        let known = check_memories(&self.memories)?;
        check_unique("situation", self.situations.iter().map(|situation| situation.id.as_str()))?;
        for situation in &self.situations {
            check_known(&situation.id, &known, situation.must.iter().chain(&situation.must_not))?;
            check_sides(&situation.id, &situation.must, &situation.must_not)?;
            let asks = !situation.must.is_empty() || !situation.must_not.is_empty() || !situation.never.is_empty();
            check_purpose(&situation.id, situation.empty, asks)?;
            patterns(&situation.id, "never", &situation.never)?;
        }
        Ok(())
    }
}

impl LineCase for QaCase {
    const ENDING: &'static str = "-qa.jsonl";

    fn id(&self) -> &str {
        &self.id
    }

    fn check(&self) -> Result<(), String> {
        if self.transcript.is_empty() == self.memories.is_empty() {
            return Err("give either a transcript or memories, not both".to_owned());
        }
        check_memories(&self.memories)?;
        check_unique("question", self.questions.iter().map(|question| question.id.as_str()))?;
        for question in &self.questions {
            patterns(&question.id, "must", &question.must)?;
            patterns(&question.id, "must_not", &question.must_not)?;
            let exists = |piece: &String| {
                self.transcript.iter().any(|message| message.text.contains(piece.as_str()))
                    || self.memories.iter().any(|memory| memory.id == *piece)
            };
            if let Some(piece) = question.evidence.iter().find(|piece| !exists(piece)) {
                return Err(format!(
                    "{}.evidence: {piece:?} occurs in no message and is not the id of a memory",
                    question.id
                ));
            }
            if question.must.is_empty() != question.evidence.is_empty() {
                return Err(format!(
                    "{}: must and evidence are required together; omit both if there is no answer",
                    question.id
                ));
            }
        }
        Ok(())
    }
}

fn check_memories(memories: &[CaseMemory]) -> Result<BTreeSet<&str>, String> {
    check_unique("memory", memories.iter().map(|memory| memory.id.as_str()))?;
    for memory in memories {
        if memory.id.is_empty() {
            return Err("missing field `id`; give the memory an id".to_owned());
        }
        memory.check(&memory.id)?;
    }
    Ok(memories.iter().map(|memory| memory.id.as_str()).collect())
}

/// Returns an error if two of `ids` are equal.
fn check_unique<'a>(what: &str, ids: impl Iterator<Item = &'a str>) -> Result<(), String> {
    let mut seen = BTreeSet::new();
    match ids.into_iter().find(|id| !seen.insert(*id)) {
        Some(id) => Err(format!("{id}: this id is used twice; change it in one {what}")),
        None => Ok(()),
    }
}

fn check_known<'a>(id: &str, known: &BTreeSet<&str>, named: impl Iterator<Item = &'a String>) -> Result<(), String> {
    match named.into_iter().find(|name| !known.contains(name.as_str())) {
        Some(name) => Err(format!("{id}: no memory has the id {name:?}; use the id of an existing memory")),
        None => Ok(()),
    }
}

fn check_sides(id: &str, must: &[String], must_not: &[String]) -> Result<(), String> {
    match must.iter().find(|name| must_not.contains(name)) {
        Some(name) => Err(format!("{id}: {name:?} is in both must and must_not; choose one")),
        None => Ok(()),
    }
}

fn check_purpose(id: &str, empty: bool, asks: bool) -> Result<(), String> {
    // A case with both expectations could never pass, and a case with neither could never fail.
    if empty == asks {
        return Err(format!("{id}: give must, must_not or both; or set only empty, if nothing should be found"));
    }
    Ok(())
}

fn patterns(id: &str, field: &str, patterns: &[String]) -> Result<Vec<Regex>, String> {
    compile(id, field, patterns).map_err(|(place, why)| format!("{place}{why}"))
}

fn question_row<T: LineCase>(placed: &Placed<T>, kind: Kind, id: &str, ask: &str, phenomena: &[String]) -> Row {
    let (case, phenomena, about) = (format!("{}/{id}", placed.label()), phenomena.to_vec(), ask.to_owned());
    Row { case, phenomena, about, ..placed.row(kind) }
}

/// A memory that was found or is in the store.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FoundMemory {
    /// Id of the memory in the case, if the memory comes from the case.
    pub id: String,
    /// Content of the memory.
    pub content: String,
    /// All texts of the memory: title, content, value and any other text that a reader sees.
    pub texts: Vec<String>,
    /// The quotes that the memory cites.
    pub quotes: Vec<String>,
    /// Ids of the messages that the memory cites.
    pub messages: Vec<String>,
}

/// A brief that was composed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ComposedBrief {
    /// Ids, from the case, of the memories in the brief.
    pub ids: Vec<String>,
    /// Text of the brief.
    pub text: String,
    /// Number of tokens of the brief.
    pub tokens: usize,
}

/// Scores the memories that a query found, best first.
pub fn score_query(
    placed: &Placed<RecallCase>,
    query: &Query,
    found: &[FoundMemory],
    tokens: fn(&str) -> usize,
) -> Row {
    let mut row = question_row(placed, Kind::Recall, &query.id, &query.ask, &query.phenomena);
    row.mean("returned", float(found.len()));
    row.mean("tokens@10", float(found.iter().take(PLACES).map(|one| tokens(&one.content)).sum()));
    if query.empty {
        row.yes("empty kept", found.is_empty());
        found.iter().for_each(|one| row.fault("unwanted", &one.id, &one.content, "nothing in the store answers this"));
        return row;
    }
    if !query.must.is_empty() {
        score_required(&placed.case, query, found, tokens, &mut row);
    }
    if !query.must_not.is_empty() {
        let wrong: Vec<_> = found.iter().take(PLACES).filter(|one| query.must_not.contains(&one.id)).collect();
        row.yes("forbidden@10", !wrong.is_empty());
        wrong.iter().for_each(|one| row.fault("forbidden", &one.id, &one.content, "it must not be found"));
    }
    if let Some(only) = &query.only {
        let other: Vec<_> = found.iter().filter(|one| !query.must.iter().chain(only).any(|id| *id == one.id)).collect();
        row.yes("only kept", other.is_empty());
        let why = "only the listed memories may be found";
        other.iter().for_each(|one| row.fault("besides", &one.id, &one.content, why));
    }
    row
}

fn score_required(case: &RecallCase, query: &Query, found: &[FoundMemory], tokens: fn(&str) -> usize, row: &mut Row) {
    // Without the division, recall at 1 could reach 1 only for queries with a single answer; shares are comparable.
    let all = float(query.must.len());
    let is_among = |k: usize, id: &String| found.iter().take(k).any(|one| one.id == *id);
    let among = |k: usize| float(query.must.iter().filter(|id| is_among(k, id)).count());
    row.mean("recall@1", among(1) / all);
    row.mean("recall@5", among(5) / all);
    row.mean("recall@10", among(PLACES) / all);
    row.yes("all@10", among(PLACES) >= all);
    let is_right = || found.iter().map(|one| query.must.contains(&one.id));
    row.mean("MRR", reciprocal_rank(is_right()));
    row.mean("NDCG@10", ndcg(is_right(), query.must.len()));
    if let Some(budget) = query.tokens {
        let texts: Vec<&str> = found.iter().map(|one| one.content.as_str()).collect();
        row.mean("in budget", among(fitting(&texts, budget, tokens)) / all);
    }
    let first: Vec<&str> = found.iter().take(3).map(|one| one.id.as_str()).collect();
    let why = format!("first found: {}", if first.is_empty() { "nothing".to_owned() } else { first.join(", ") });
    for id in query.must.iter().filter(|id| !is_among(PLACES, id)) {
        row.fault("missed", id, content_of(&case.memories, id), &why);
    }
}

fn content_of<'a>(memories: &'a [CaseMemory], id: &str) -> &'a str {
    memories.iter().find(|memory| memory.id == id).map_or("", |memory| memory.content.as_str())
}

/// Scores the brief of a situation.
pub fn score_brief(placed: &Placed<BriefCase>, situation: &Situation, brief: &ComposedBrief) -> Row {
    let ask = situation.ask.as_deref().unwrap_or_default();
    let mut row = question_row(placed, Kind::Brief, &situation.id, ask, &situation.phenomena);
    let text_of = |id: &str| content_of(&placed.case.memories, id);
    let contains = |id: &&String| brief.ids.contains(id);
    row.mean("tokens", float(brief.tokens));
    row.yes("in budget", brief.tokens <= situation.tokens.unwrap_or(BRIEF_TOKENS));
    if situation.empty {
        row.yes("empty kept", brief.text.is_empty());
        brief.ids.iter().for_each(|id| row.fault("unwanted", id, text_of(id), "the brief must be empty"));
        return row;
    }
    if !situation.must.is_empty() {
        let missing: Vec<&String> = situation.must.iter().filter(|id| !contains(id)).collect();
        let all = situation.must.len();
        row.mean("held", float(all - missing.len()) / float(all));
        row.yes("all held", missing.is_empty());
        missing.into_iter().for_each(|id| row.fault("missed", id, text_of(id), "the brief does not contain it"));
    }
    // The whole text is searched: a title or a heading can leak text that none of the listed memories contains.
    let text = normalize(&brief.text);
    let never = patterns(&situation.id, "never", &situation.never).unwrap_or_default();
    let leaked: Vec<&String> = situation.must_not.iter().filter(contains).collect();
    let said: Vec<&str> = never.iter().filter(|one| one.is_match(&text)).map(Regex::as_str).collect();
    if !situation.must_not.is_empty() || !situation.never.is_empty() {
        row.yes("leaks", !leaked.is_empty() || !said.is_empty());
    }
    leaked.into_iter().for_each(|id| row.fault("leaked", id, text_of(id), "the brief must not contain it"));
    said.into_iter().for_each(|pattern| row.fault("leaked", pattern, "", "the brief must not contain it"));
    row
}

/// Scores the memories found for a question, best first, against all memories of the store.
pub fn score_question(
    placed: &Placed<QaCase>,
    question: &Question,
    found: &[FoundMemory],
    all: &[FoundMemory],
    tokens: fn(&str) -> usize,
) -> Row {
    let mut row = question_row(placed, Kind::Qa, &question.id, &question.ask, &question.phenomena);
    // Only contents count towards the budget, because a context would contain nothing else; patterns also match titles
    // and values.
    let texts: Vec<&str> = found.iter().map(|memory| memory.content.as_str()).collect();
    let context = &found[..fitting(&texts, question.tokens.unwrap_or(QA_TOKENS), tokens)];
    let searched = |memories: &[FoundMemory]| {
        let lines = memories.iter().flat_map(|memory| memory.texts.iter().map(|text| normalize(text)));
        lines.filter(|line| !line.is_empty()).collect::<Vec<_>>().join("\n")
    };
    let (text, kept) = (searched(context), searched(all));
    let misleading = patterns(&question.id, "must_not", &question.must_not).unwrap_or_default();
    let misled: Vec<&str> = misleading.iter().filter(|one| one.is_match(&text)).map(Regex::as_str).collect();
    row.mean("tokens", float(context.iter().map(|memory| tokens(&memory.content)).sum()));
    if !question.must_not.is_empty() {
        row.yes("misled", !misled.is_empty());
    }
    misled.iter().for_each(|pattern| row.fault("misled", pattern, "", "the context must not contain it"));
    if question.must.is_empty() {
        // If misleading patterns are given, related memories may be found as long as none of them misleads.
        let is_silent = if question.must_not.is_empty() { context.is_empty() } else { misled.is_empty() };
        row.yes("abstained", is_silent);
        if question.must_not.is_empty() {
            let texts = context.iter().map(|memory| memory.content.as_str());
            texts.for_each(|text| row.fault("unwanted", text, text, "there is no answer"));
        }
        return row;
    }
    let parts = patterns(&question.id, "must", &question.must).unwrap_or_default();
    let missing: Vec<&Regex> = parts.iter().filter(|part| !part.is_match(&text)).collect();
    let is_kept = parts.iter().all(|part| part.is_match(&kept));
    row.yes("complete", missing.is_empty());
    row.add("parts", float(parts.len() - missing.len()), float(parts.len()));
    row.yes("kept", is_kept);
    if is_kept {
        row.yes("found of kept", missing.is_empty());
    }
    for part in missing {
        let why = if part.is_match(&kept) { "a memory contains it but was not found" } else { "no memory contains it" };
        row.fault("missing", part.as_str(), &question.answer, why);
    }
    let cited = question.evidence.iter().filter(|piece| cites(context, &placed.case, piece)).count();
    row.add("evidence", float(cited), float(question.evidence.len()));
    row
}

/// Returns whether the context contains a memory with this id, or quotes this part of a message.
fn cites(context: &[FoundMemory], case: &QaCase, piece: &str) -> bool {
    if case.transcript.is_empty() {
        return context.iter().any(|memory| memory.id == piece);
    }
    let piece = fold(&normalize(piece));
    // A quote may contain the piece, or be contained in it.
    let quotes = context.iter().flat_map(|memory| &memory.quotes).map(|quote| normalize(&fold(quote)));
    quotes.into_iter().any(|quote| quote.contains(&piece) || (!quote.is_empty() && piece.contains(&quote)))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use serde_json::{Value, json};

    use super::*;
    use crate::files::read_cases;

    fn shop() -> Value {
        json!({"id": "shop", "now": "2026-03-01", "memories": [
            {"id": "m1", "content": "The shop is deployed to Fly.io.", "in": "project/shop"},
            {"id": "m2", "content": "The shop was deployed to Heroku.", "in": "project/shop", "status": "superseded"},
            {"id": "m3", "content": "The blog is deployed to Netlify.", "in": "project/blog"}],
          "queries": [
            {"id": "q1", "ask": "where is the shop deployed", "in": ["project/shop"], "must": ["m1"],
             "must_not": ["m2", "m3"], "only": [], "tokens": 40},
            {"id": "q2", "ask": "Netlify", "in": ["project/shop"], "empty": true},
            {"id": "q3", "ask": "x", "must": ["m3", "m2"]}]})
    }

    fn placed<T: LineCase>(case: &Value) -> Placed<T> {
        let case: T = serde_json::from_value(case.clone()).unwrap();
        case.check().unwrap();
        Placed { file: "en".into(), split: "dev".into(), language: "en".into(), case }
    }

    fn found(ids: &[&str]) -> Vec<FoundMemory> {
        ids.iter()
            .map(|id| FoundMemory { id: (*id).to_owned(), content: format!("text of {id}"), ..FoundMemory::default() })
            .collect()
    }

    fn value(row: &Row, name: &str) -> Option<f64> {
        let ratio = row.measures.get(name)?;
        Some(ratio.numerator / ratio.denominator)
    }

    #[test]
    fn queries_count_what_is_found_and_what_must_not_be() {
        let case = placed::<RecallCase>(&shop());
        let score = |at: usize, ids: &[&str]| score_query(&case, &case.case.queries[at], &found(ids), str::len);
        let right = score(0, &["m1"]);
        for name in ["recall@1", "recall@10", "all@10", "MRR", "NDCG@10", "in budget", "only kept"] {
            assert_eq!(value(&right, name), Some(1.0), "{name}");
        }
        assert_eq!((value(&right, "forbidden@10"), value(&right, "empty kept")), (Some(0.0), None));
        assert!(right.findings.is_empty() && right.case == "dev/shop/q1");
        let wrong = score(0, &["m2", "m3"]);
        assert_eq!((value(&wrong, "recall@10"), value(&wrong, "forbidden@10")), (Some(0.0), Some(1.0)));
        assert_eq!(wrong.findings.iter().filter(|one| one.what == "forbidden").count(), 2);
        assert_eq!(value(&score(1, &[]), "empty kept"), Some(1.0));
        assert_eq!(value(&score(1, &["m3"]), "empty kept"), Some(0.0));
        let ranked = score(2, &["m3", "m1", "m2"]);
        let close = |name: &str, expected: f64| {
            let found = value(&ranked, name).unwrap();
            assert!((found - expected).abs() < 1e-9, "{name} is {found}");
        };
        close("recall@1", 0.5);
        close("recall@5", 1.0);
        close("MRR", 1.0);
        close("NDCG@10", (1.0 + 0.5) / (1.0 + 1.0 / 3f64.log2()));
    }

    #[test]
    fn a_brief_is_compared_with_what_it_must_and_must_not_contain() {
        let case = json!({"id": "b", "now": "2026-03-01", "memories": [
            {"id": "m1", "content": "The user prefers tabs."}, {"id": "m2", "content": "The user preferred spaces."},
            {"id": "m3", "content": "The blog uses Hugo."}],
          "situations": [
            {"id": "s1", "must": ["m1"], "must_not": ["m2", "m3"], "never": ["hugo"]}, {"id": "s2", "must": ["m3"]}]});
        let case = placed::<BriefCase>(&case);
        let brief = |ids: &[&str], text: &str| ComposedBrief {
            ids: ids.iter().map(|id| (*id).to_owned()).collect(),
            text: text.to_owned(),
            tokens: 5,
        };
        let good = score_brief(&case, &case.case.situations[0], &brief(&["m1"], "The user prefers tabs."));
        assert_eq!((value(&good, "held"), value(&good, "leaks")), (Some(1.0), Some(0.0)));
        let lacking = score_brief(&case, &case.case.situations[1], &brief(&["m1"], "The user prefers tabs."));
        assert_eq!((value(&lacking, "held"), lacking.findings[0].id.as_str()), (Some(0.0), "m3"));
        let all = brief(&["m1", "m2", "m3"], "Tabs. Spaces. The blog uses Hugo.");
        let leaking = score_brief(&case, &case.case.situations[0], &all);
        assert_eq!((value(&leaking, "held"), value(&leaking, "leaks")), (Some(1.0), Some(1.0)));
        assert_eq!(leaking.findings.len(), 3, "two memories and a pattern");
    }

    #[test]
    fn a_wrong_label_is_reported_with_its_line() {
        fn error_of<T: LineCase>(case: &Value) -> String {
            let folder = tempfile::tempdir().unwrap();
            let file = folder.path().join(format!("en{}", T::ENDING));
            std::fs::write(&file, format!("\n{case}\n")).unwrap();
            let (cases, errors) = read_cases::<T>(&[file]);
            assert!(cases.is_empty());
            errors[0].to_string()
        }
        let recall = |change: fn(&mut Value)| {
            let mut case = shop();
            change(&mut case);
            case
        };
        let qa = |question: &Value| json!({"id": "c", "now": "2026-01-01", "transcript": [{"text": "I live in Graz."}], "questions": [question]});
        let table = [
            (recall(|case| case["queries"][0]["must"] = json!(["m9"])), "q1: no memory has the id \"m9\""),
            (recall(|case| case["queries"][0]["must_not"] = json!(["m1"])), "q1: \"m1\" is in both must and must_not"),
            (
                recall(|case| case["queries"][1]["empty"] = json!(false)),
                "q2: give must, must_not or both; or set only empty, if nothing should be found",
            ),
            (
                recall(|case| case["memories"][1]["id"] = json!("m1")),
                "m1: this id is used twice; change it in one memory",
            ),
            (recall(|case| case["memories"][0]["contents"] = json!("x")), "unknown field `contents`"),
        ];
        for (case, expected) in table {
            let error = error_of::<RecallCase>(&case);
            assert!(error.contains(expected) && error.contains("line 2: "), "{error}");
        }
        let table = [
            (
                json!({"id": "q", "ask": "?", "answer": "Graz", "must": ["("], "evidence": ["Graz"]}),
                "q.must[0]: \"(\" is not a valid pattern",
            ),
            (
                json!({"id": "q", "ask": "?", "answer": "Graz", "must": ["graz"], "evidence": ["Linz"]}),
                "\"Linz\" occurs in no message",
            ),
            (
                json!({"id": "q", "ask": "?", "answer": "Graz", "must": ["graz"]}),
                "q: must and evidence are required together",
            ),
        ];
        for (question, expected) in table {
            let error = error_of::<QaCase>(&qa(&question));
            assert!(error.contains(expected) && error.contains("line 2: "), "{error}");
        }
    }

    #[test]
    fn the_suites_of_this_repository_can_be_read_and_are_large_enough() {
        fn of<T: LineCase>(suite: &str) -> Vec<T> {
            let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../evals").join(suite);
            let (cases, errors) = read_cases::<T>(&[folder]);
            assert!(errors.is_empty(), "{errors:?}");
            cases.into_iter().map(|placed| placed.case).collect()
        }
        let queries: Vec<Query> = of::<RecallCase>("recall").into_iter().flat_map(|case| case.queries).collect();
        assert!(queries.len() >= 120 && queries.iter().filter(|query| query.empty).count() >= 40);
        for phenomenon in ["cjk", "code-token", "scope", "superseded", "expired"] {
            assert!(queries.iter().filter(|query| query.phenomena.iter().any(|one| one == phenomenon)).count() >= 5);
        }
        let situations: usize = of::<BriefCase>("brief").iter().map(|case| case.situations.len()).sum();
        let questions: usize = of::<QaCase>("qa").iter().map(|case| case.questions.len()).sum();
        assert!(situations >= 20 && questions >= 30, "{situations} {questions}");
    }
}
