//! `LoCoMo`: conversations of two people with questions, evidence and facts.
//!
//! Three things are measured without a judge. Retention: the share of answers whose content words survive in the
//! memories that are based on the evidence. Retrieval: whether turns and memories that contain the answer are found.
//! Facts: how the memories compare with the facts in the file. The turns themselves set the upper limit for all three.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use jiff::Timestamp;
use regex::Regex;
use serde_json::Value;

use super::published::{FINAL, TUNE, time};
use crate::EvalError;
use crate::extraction::{Extraction, Openness, Prediction, date_openness, pair_up};
use crate::files::{format_error, last_part, read_json, walk};
use crate::results::{Finding, Row, fitting, float, reciprocal_rank};
use crate::retrieval::FoundMemory;
use crate::text::{LEAST_F1, LEAST_SHARE, content_words, fact_words, numbers_agree, share_of, token_f1};
use crate::vocabulary::Kind;

/// Number of turns or memories to search for.
pub const LIMIT: usize = 50;
/// Share of an answer's content words that must survive, in hundredths.
const LEAST_HUNDREDTHS: usize = 67;
/// Token limit of a context.
const TOKENS: usize = 400;
/// Number of results that the measures consider.
const PLACES: usize = 10;
/// Categories of questions whose answers appear in the turns: in several turns (1) or in one turn (4).
const CATEGORIES: [u64; 2] = [1, 4];
/// Categories of questions that have evidence.
const WITH_EVIDENCE: std::ops::RangeInclusive<u64> = 1..=4;
/// Category of questions about things that nobody said.
const ADVERSARIAL: u64 = 5;
/// Conversations on which the search was tuned; the others are the final part.
const TUNED: [&str; 2] = ["conv-26", "conv-30"];
/// Format of the start time of a session, which has no time zone.
const START: &str = "%I:%M %p on %d %B, %Y";

/// One conversation with its questions.
#[derive(Debug)]
pub struct Sample {
    /// Id of the sample in the file.
    pub id: String,
    /// The part of the set: `tune` or `final`.
    pub split: &'static str,
    /// The log that the system reads: the conversation without questions, observations and summaries.
    pub conversation: Value,
    /// The turns, in order.
    pub turns: Vec<Turn>,
    /// The questions of categories 1 to 4 that have evidence.
    pub asked: Vec<Question>,
    /// The questions of category 5, about things that nobody said, each with the wrong answer.
    adversarial: Vec<Question>,
    /// Number of questions in categories 1 to 4 that do not cite any existing turn.
    without_evidence: usize,
    /// The facts in the file, each with the turns on which it is based.
    observations: Vec<(String, BTreeSet<String>)>,
}

/// A turn of a conversation.
#[derive(Debug)]
pub struct Turn {
    /// Id of the turn, such as `D1:3`.
    pub id: String,
    /// The number of the turn's session.
    pub session: u32,
    /// The start of the turn's session.
    pub at: Option<Timestamp>,
    /// The speaker.
    pub speaker: String,
    /// `speaker: text`.
    pub said: String,
    /// A description of the turn's photo, if there is one.
    pub photo: Option<String>,
}

/// A question with the turns that answer it.
#[derive(Debug, Clone)]
pub struct Question {
    /// The question.
    pub question: String,
    /// The gold answer; empty if there is none.
    answer: String,
    /// 1 for several turns, 2 for times, 3 for inferences, 4 for one turn, 5 for things that nobody said.
    category: u64,
    /// Name of the question's category in reports.
    group: String,
    /// The turns that contain the answer.
    pub evidence: BTreeSet<String>,
}

/// Returns whether the file at `path` is a `LoCoMo` file.
pub(super) fn is_locomo(path: &Path) -> bool {
    let is_named_so = path.is_file() && path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("json"));
    is_named_so && read_samples(path).is_ok_and(|samples| samples.iter().any(is_sample))
}

/// Reads the conversations of the file at `path`.
///
/// # Errors
/// [`EvalError::Read`] if the file cannot be read, or [`EvalError::Format`] if the file is not a `LoCoMo` file.
pub fn read(path: &Path) -> Result<Vec<Sample>, EvalError> {
    let samples: Vec<Sample> = read_samples(path)?.iter().filter(|value| is_sample(value)).map(sample).collect();
    if samples.is_empty() {
        return Err(format_error(path, "", "no conversation with questions"));
    }
    Ok(samples)
}

fn read_samples(path: &Path) -> Result<Vec<Value>, EvalError> {
    Ok(match read_json(path)? {
        Value::Array(samples) => samples,
        other => vec![other],
    })
}

fn is_sample(value: &Value) -> bool {
    value["conversation"]["speaker_a"].is_string() && value["qa"].is_array()
}

fn sample(value: &Value) -> Sample {
    let all_asked: Vec<Question> = value["qa"].as_array().into_iter().flatten().filter_map(question).collect();
    let (asked, adversarial): (Vec<_>, Vec<_>) =
        all_asked.into_iter().partition(|question| WITH_EVIDENCE.contains(&question.category));
    let id = value["sample_id"].as_str().unwrap_or("sample");
    Sample {
        split: if TUNED.contains(&id) { TUNE } else { FINAL },
        conversation: serde_json::json!({"sample_id": id, "conversation": value["conversation"]}),
        adversarial,
        observations: observations(&value["observation"]),
        ..Sample::of(id, turns(&value["conversation"]), asked)
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
    // The sessions are sorted by number, because as text `session_10` comes before `session_2`.
    sessions.sort_by_key(|(number, _)| *number);
    let text = |turn: &Value, name: &str| turn[name].as_str().unwrap_or_default().to_owned();
    let start = |session: u32| time(START, conversation[format!("session_{session}_date_time")].as_str()?);
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
    // For a question about something that nobody said, the file contains only the wrong answer.
    let given = if category == ADVERSARIAL { &value["adversarial_answer"] } else { &value["answer"] };
    let answer = match given {
        Value::String(answer) => answer.clone(),
        // The file writes years and counts as bare numbers.
        Value::Number(answer) => answer.to_string(),
        _ => String::new(),
    };
    Some(Question { answer, category, ..Question::of(value, format!("category {category}"), ids(&value["evidence"]))? })
}

/// Returns the ids of turns in a text or a list of texts. One text may contain several, or a range such as `D1:2-D1:4`;
/// `D30:05` becomes `D30:5`, and anything else is left out.
pub(super) fn ids(value: &Value) -> BTreeSet<String> {
    static ID: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"D(\d+):(\d+)(?:\s*-\s*D(\d+):(\d+))?").expect("the pattern is valid"));
    let texts: Vec<&str> = match value {
        Value::String(text) => vec![text],
        Value::Array(texts) => texts.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    let mut ids = BTreeSet::new();
    for parts in texts.into_iter().flat_map(|text| ID.captures_iter(text)) {
        let number = |at: usize| parts.get(at)?.as_str().parse::<u32>().ok();
        let (Some(session), Some(first)) = (number(1), number(2)) else { continue };
        let last = number(4).filter(|_| number(3) == Some(session)).unwrap_or(first);
        ids.extend((first..=last).map(|turn| format!("D{session}:{turn}")));
        ids.extend(number(3).zip(number(4)).map(|(session, turn)| format!("D{session}:{turn}")));
    }
    ids
}

fn observations(value: &Value) -> Vec<(String, BTreeSet<String>)> {
    let sessions = value.as_object().into_iter().flatten().map(|(_, speakers)| speakers);
    let facts = sessions.filter_map(Value::as_object).flatten().filter_map(|(_, facts)| facts.as_array()).flatten();
    facts.filter_map(|fact| Some((fact[0].as_str()?.to_owned(), ids(&fact[1])))).collect()
}

/// Published corrections of the labels, indexed by question.
#[derive(Debug, Default)]
pub struct Corrections {
    entries: BTreeMap<String, Correction>,
}

#[derive(Debug)]
struct Correction {
    kind: String,
    answer: Option<String>,
    evidence: Value,
}

impl Corrections {
    /// Reads the corrections at `path`: a JSON array of objects with `question`, `error_type`, `correct_evidence` and
    /// `correct_answer`, or a folder with such files named `errors*.json` in or below it.
    ///
    /// # Errors
    /// [`EvalError`] if a file cannot be read or contains no corrections.
    pub fn read(path: &Path) -> Result<Self, EvalError> {
        let mut corrections = Self::default();
        for file in files(path) {
            let value: Value = read_json(&file)?;
            let fail = |reason: &str| format_error(&file, "", reason);
            let entries = value.as_array().ok_or_else(|| fail("expected an array of corrections"))?;
            for entry in entries {
                let Some(question) = entry["question"].as_str() else {
                    return Err(fail("a correction does not name its question"));
                };
                let corrected = Correction {
                    kind: entry["error_type"].as_str().unwrap_or_default().to_owned(),
                    answer: entry["correct_answer"].as_str().map(str::to_owned),
                    evidence: entry["correct_evidence"].clone(),
                };
                corrections.entries.insert(question.to_owned(), corrected);
            }
        }
        Ok(corrections)
    }

    /// Corrects the evidence of the questions of `sample`. If an answer is wrong, its question is used for retrieval
    /// only, because the corrected answer is an explanation and not a text to search for. Returns the number of
    /// corrected citations and the number of such questions.
    pub fn apply(&self, sample: &mut Sample) -> (u64, u64) {
        let (mut citations, mut answers) = (0, 0);
        let known: Vec<String> = sample.turns.iter().map(|turn| turn.id.clone()).collect();
        let mut correct = |question: &mut Question| {
            let Some(corrected) = self.entries.get(&question.question) else { return };
            let mut evidence = ids(&corrected.evidence);
            evidence.retain(|id| known.contains(id));
            // A correction that does not cite any known turn is ignored, because a question needs some evidence.
            if !evidence.is_empty() && evidence != question.evidence {
                question.evidence = evidence;
                citations += 1;
            }
            // A correction may change only the citation and leave the answer unchanged.
            let same = corrected.answer.as_deref() == Some(question.answer.as_str());
            if !same && corrected.kind != "WRONG_CITATION" {
                // Without an answer, the question counts for retrieval only.
                question.answer.clear();
                answers += 1;
            }
        };
        sample.asked.iter_mut().for_each(&mut correct);
        (citations, answers)
    }
}

fn files(path: &Path) -> Vec<PathBuf> {
    if path.is_file() {
        return vec![path.to_owned()];
    }
    let is_one = |path: &PathBuf| {
        path.extension().is_some_and(|ending| ending == "json") && last_part(path).starts_with("errors")
    };
    walk(path).filter(is_one).collect()
}

/// A piece of text, and the turns that it is based on.
struct SourcedText<'a> {
    text: &'a str,
    words: BTreeSet<String>,
    turns: BTreeSet<String>,
}

impl<'a> SourcedText<'a> {
    fn new(text: &'a str, turns: BTreeSet<String>) -> Self {
        Self { text, words: content_words(text), turns }
    }

    /// Returns a turn with its photo. A photo contains answers, but does not count among the spoken words.
    fn of_turn(turn: &'a Turn) -> Self {
        let mut text = Self::new(&turn.said, BTreeSet::from([turn.id.clone()]));
        // Captions were written by a model rather than spoken, but some questions are about them.
        text.words.extend(turn.photo.as_deref().map(content_words).unwrap_or_default());
        text
    }
}

/// Returns the turns that a memory cites. The log stores a photo as a separate message next to the turn that it belongs to.
fn turns_of<'a>(messages: impl IntoIterator<Item = &'a String>) -> BTreeSet<String> {
    // The reader identifies a photo by the id of its turn with a suffix.
    messages.into_iter().map(|id| id.split('/').next().unwrap_or(id).to_owned()).collect()
}

fn cited_turns(prediction: &Prediction) -> BTreeSet<String> {
    turns_of(prediction.evidence.iter().flat_map(|cited| &cited.messages))
}

fn resting_on<'t, 'a>(
    question: &'t Question,
    texts: &'t [SourcedText<'a>],
) -> impl Iterator<Item = &'t SourcedText<'a>> {
    texts.iter().filter(|text| !text.turns.is_disjoint(&question.evidence))
}

/// Returns whether enough of the answer's content words appear in the texts that are based on the evidence for the
/// answer.
fn is_left(question: &Question, texts: &[SourcedText<'_>]) -> bool {
    let there: BTreeSet<String> = resting_on(question, texts).flat_map(|text| text.words.iter().cloned()).collect();
    has_answer(&question.answer, &there)
}

fn has_answer(answer: &str, there: &BTreeSet<String>) -> bool {
    let wanted = content_words(answer);
    let found = wanted.intersection(there).count();
    !wanted.is_empty() && found * 100 >= wanted.len() * LEAST_HUNDREDTHS
}

/// Scores how many answers survive in the memories of a conversation, in the facts of the file, and in the turns.
pub fn score_retention(sample: &Sample, extraction: &Extraction, tokens: fn(&str) -> usize) -> Row {
    let memories: Vec<SourcedText<'_>> =
        extraction.predictions.iter().map(|one| SourcedText::new(&one.content, cited_turns(one))).collect();
    let facts: Vec<SourcedText<'_>> =
        sample.observations.iter().map(|(fact, turns)| SourcedText::new(fact, turns.clone())).collect();
    let turns: Vec<SourcedText<'_>> = sample.turns.iter().map(SourcedText::of_turn).collect();
    let mut row = Row {
        language: Some("en".to_owned()),
        format: Some("locomo".to_owned()),
        cost: extraction.usage,
        ..Row::new(Kind::Retention, &sample.id)
    };
    let left = |texts: &[SourcedText<'_>]| sample.questions().filter(|question| is_left(question, texts)).count();
    let open = |texts: &[SourcedText<'_>], openness: Openness| {
        texts.iter().filter(|text| date_openness(text.text) == openness).count() as u64
    };
    let all_tokens = |texts: &[SourcedText<'_>]| texts.iter().map(|text| tokens(text.text) as u64).sum::<u64>();
    for (suffix, open_suffix, texts) in
        [("retention", "", &memories), ("retention of facts", " of facts", &facts), ("ceiling", " of turns", &turns)]
    {
        row.ratio(suffix, left(texts) as u64, sample.questions().count() as u64);
        row.ratio(&format!("open dates{open_suffix}"), open(texts, Openness::Relative), texts.len() as u64);
    }
    row.ratio("vague dates", open(&memories, Openness::Vague), memories.len() as u64);
    row.ratio("tokens per token", all_tokens(&memories), all_tokens(&turns));
    row.ratio("memories per fact", memories.len() as u64, facts.len() as u64);
    row.counts.insert("turns".to_owned(), turns.len() as u64);
    row.counts.insert("questions".to_owned(), sample.questions().count() as u64);
    row.counts.insert("questions without evidence".to_owned(), sample.without_evidence as u64);
    row.warnings.clone_from(&extraction.notes);
    for question in sample.questions().filter(|question| !is_left(question, &memories)) {
        let in_turns = is_left(question, &turns);
        let resting: Vec<&str> = resting_on(question, &memories).map(|text| text.text).collect();
        let why = if in_turns { "the turns contain it" } else { "the turns do not contain it either" };
        row.findings.push(Finding {
            what: "lost answer".to_owned(),
            id: question.question.clone(),
            text: format!("{} {}", question.question, question.answer),
            why: if resting.is_empty() { why.to_owned() } else { format!("{why}; memories: {}", resting.join(" ")) },
            counts: in_turns,
            evidence: Vec::new(),
        });
    }
    // The sort is stable, so each half retains the order of the questions.
    row.findings.sort_by_key(|finding| !finding.counts);
    row
}

/// Search results for one question.
#[derive(Debug, Clone, Default)]
pub struct Answers {
    /// Ids and texts of the turns that were found, best first.
    pub turns: Vec<(String, String)>,
    /// The extracted memories that were found, best first.
    pub memories: Vec<FoundMemory>,
}

impl Question {
    /// Returns the question of an entry of a file, without its answer.
    pub(super) fn of(entry: &Value, group: String, evidence: BTreeSet<String>) -> Option<Self> {
        let question = entry["question"].as_str()?.to_owned();
        Some(Self { question, answer: String::new(), category: 0, group, evidence })
    }

    /// Returns whether the memories should retain the answer to this question.
    fn should_be_left(&self) -> bool {
        CATEGORIES.contains(&self.category) && !self.answer.is_empty()
    }
}

impl Sample {
    /// Returns a conversation of the final part that is only searched, with the questions that cite an existing turn.
    pub(super) fn of(id: impl Into<String>, turns: Vec<Turn>, mut asked: Vec<Question>) -> Self {
        let known: BTreeSet<&str> = turns.iter().map(|turn| turn.id.as_str()).collect();
        for question in &mut asked {
            // Some questions cite turns that do not exist, which no search could find.
            question.evidence.retain(|id| known.contains(id.as_str()));
        }
        let is_lost = |question: &&Question| question.should_be_left() && question.evidence.is_empty();
        let without_evidence = asked.iter().filter(is_lost).count();
        asked.retain(|question| !question.evidence.is_empty());
        let (id, conversation) = (id.into(), Value::Null);
        let (adversarial, observations) = (Vec::new(), Vec::new());
        Self { id, split: FINAL, conversation, turns, asked, adversarial, without_evidence, observations }
    }

    /// Returns the questions whose answers the memories should retain.
    fn questions(&self) -> impl Iterator<Item = &Question> {
        self.asked.iter().filter(|question| question.should_be_left())
    }

    /// Returns all questions to search for, with those about things that nobody said last.
    pub fn all_questions(&self) -> impl Iterator<Item = &Question> {
        self.asked.iter().chain(&self.adversarial)
    }
}

/// Scores the search results for the question with this number.
///
/// Questions of category 5 have no answer; the search only checks whether the wrong answer is found.
pub fn score_answers(
    sample: &Sample,
    (index, question): (usize, &Question),
    answers: &Answers,
    extraction: &Extraction,
    tokens: fn(&str) -> usize,
) -> Row {
    let mut row = Row {
        split: sample.id.clone(),
        phenomena: vec![category_name(question.category).to_owned()],
        about: question.question.clone(),
        ..Row::new(Kind::Locomo, format!("{}/{index}", sample.id))
    };
    let context = |texts: &[&str]| content_words(&texts[..fitting(texts, TOKENS, tokens)].join("\n"));
    let of_turns = context(&answers.turns.iter().map(|(_, text)| text.as_str()).collect::<Vec<_>>());
    let of_memories = context(&answers.memories.iter().map(|one| one.content.as_str()).collect::<Vec<_>>());
    if question.category == ADVERSARIAL {
        if !question.answer.is_empty() {
            row.yes("turns trap", has_answer(&question.answer, &of_turns));
            row.yes("memories trap", has_answer(&question.answer, &of_memories));
        }
        return row;
    }
    let all = float(question.evidence.len().max(1));
    let is_right = || answers.turns.iter().map(|(id, _)| question.evidence.contains(id));
    row.mean("turns recall@10", float(is_right().take(PLACES).filter(|right| *right).count()) / all);
    row.mean("turns MRR", reciprocal_rank(is_right()));
    let cited = turns_of(answers.memories.iter().take(PLACES).flat_map(|one| &one.messages));
    row.mean("memories recall@10", float(question.evidence.intersection(&cited).count()) / all);
    if question.answer.is_empty() {
        return row;
    }
    let resting = extraction.predictions.iter().filter(|one| !cited_turns(one).is_disjoint(&question.evidence));
    let resting: Vec<&str> = resting.map(|one| one.content.as_str()).collect();
    let is_kept = has_answer(&question.answer, &content_words(&resting.join("\n")));
    let complete = has_answer(&question.answer, &of_memories);
    row.yes("turns complete", has_answer(&question.answer, &of_turns));
    row.yes("memories complete", complete);
    row.yes("kept", is_kept);
    // A fact that extraction missed cannot be found, so it does not count against the search.
    if is_kept {
        row.yes("complete of kept", complete);
    }
    if !complete {
        let why =
            if is_kept { "a memory contains it but was not found" } else { "no memory from these turns contains it" };
        row.fault("incomplete", &question.question, &question.answer, why);
    }
    row
}

const fn category_name(number: u64) -> &'static str {
    match number {
        1 => "1 multi-hop",
        2 => "2 temporal",
        3 => "3 open-domain",
        4 => "4 single-hop",
        _ => "5 adversarial",
    }
}

/// Scores the turns, as ids and texts, that one way of searching found for a question of `sample`, best first.
pub fn score_search(
    sample: &Sample,
    (case, question): (String, &Question),
    found: &[(String, String)],
    tokens: fn(&str) -> usize,
) -> Row {
    let mut row = Row {
        split: sample.split.to_owned(),
        phenomena: vec![question.group.clone()],
        about: question.question.clone(),
        ..Row::new(Kind::LocomoSearch, case)
    };
    let is_right = || found.iter().map(|(id, _)| question.evidence.contains(id));
    let recall =
        |k: usize| float(is_right().take(k).filter(|right| *right).count()) / float(question.evidence.len().max(1));
    row.mean("r@5", recall(5));
    row.mean("r@10", recall(10));
    row.mean("r@20", recall(20));
    row.mean("MRR", reciprocal_rank(is_right()));
    row.yes("all@10", recall(10) >= 1.0);
    row.mean("tokens@10", float(found.iter().take(10).map(|(_, text)| tokens(text)).sum()));
    row.mean("chars/4@10", float(found.iter().take(10).map(|(_, text)| text.chars().count()).sum()) / 4.0);
    row
}

/// Compares the memories of a conversation with the facts in the file.
pub fn score_facts(sample: &Sample, extraction: &Extraction) -> Row {
    let mut row = Row { split: sample.id.clone(), ..Row::new(Kind::LocomoObservations, &sample.id) };
    let facts = &sample.observations;
    let choices: Vec<Vec<usize>> = extraction
        .predictions
        .iter()
        .map(|memory| {
            // A fact is often requested in one turn and stated in the next, so a citation of either turn is accepted.
            let turns = with_adjacent(&cited_turns(memory));
            let is_stated = |(fact, evidence): &(String, BTreeSet<String>)| {
                !turns.is_disjoint(evidence) && is_similar(fact, &memory.content)
            };
            facts.iter().enumerate().filter(|(_, fact)| is_stated(fact)).map(|(at, _)| at).collect()
        })
        .collect();
    let memories = choices.len() as u64;
    let stated: BTreeSet<usize> = choices.iter().flatten().copied().collect();
    // Memories and facts are paired one to one, so that repeating a fact does not raise the precision.
    let paired = pair_up(&choices, facts.len()).into_iter().flatten().count();
    row.ratio("recall", stated.len() as u64, facts.len() as u64);
    row.ratio("precision", paired as u64, memories);
    let wanted: BTreeSet<&String> = facts.iter().flat_map(|(_, evidence)| evidence).collect();
    let cited: BTreeSet<String> = extraction.predictions.iter().flat_map(cited_turns).collect();
    let covered = wanted.iter().filter(|turn| cited.contains(**turn)).count();
    row.ratio("evidence", covered as u64, wanted.len() as u64);
    let is_open = |text: &str| date_openness(text) == Openness::Relative;
    let open = extraction.predictions.iter().filter(|one| is_open(&one.content)).count();
    row.ratio("open dates", open as u64, memories);
    row.ratio("open dates of facts", facts.iter().filter(|(fact, _)| is_open(fact)).count() as u64, facts.len() as u64);
    row
}

/// Returns whether a memory states a fact in similar words. A memory may state several facts, so it may contain further
/// words.
fn is_similar(fact: &str, text: &str) -> bool {
    let is_similar = share_of(&fact_words(fact), &fact_words(text)) >= LEAST_SHARE || token_f1(fact, text) >= LEAST_F1;
    is_similar && numbers_agree(fact, text)
}

/// Returns `turns`, and the turns immediately before and after each of them.
fn with_adjacent(turns: &BTreeSet<String>) -> BTreeSet<String> {
    let mut all = turns.clone();
    for (session, turn) in turns.iter().filter_map(|id| id.strip_prefix('D')?.split_once(':')) {
        if let Ok(turn) = turn.parse::<u32>() {
            all.extend([turn.saturating_sub(1), turn + 1].map(|turn| format!("D{session}:{turn}")));
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn ids_of_turns_are_separated_and_invalid_ones_left_out() {
        let table = [
            (json!(["D8:6; D9:17"]), vec!["D8:6", "D9:17"]),
            (json!(["D", "D:11:26", "D30:05"]), vec!["D30:5"]),
            (json!("D1:3"), vec!["D1:3"]),
            (json!(["D15:3, D15:5"]), vec!["D15:3", "D15:5"]),
            (json!(["D1:9-D1:11; D2:4."]), vec!["D1:10", "D1:11", "D1:9", "D2:4"]),
            (json!(["D1:9-D2:1"]), vec!["D1:9", "D2:1"]),
            (json!(7), vec![]),
        ];
        for (value, expected) in table {
            assert_eq!(ids(&value).into_iter().collect::<Vec<_>>(), expected, "{value}");
        }
    }
}
