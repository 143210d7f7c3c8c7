//! Answer retention, and what goes with it.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::dates::{Open, open_date};
use super::file::{Question, Sample, Turn};
use super::words::content_words;
use crate::eval::meter::Usage;
use crate::eval::place::{Place, prepare};
use crate::eval::prediction::Prediction;
use crate::eval::run::{RunOptions, Subject, run_logs};
use crate::eval::{EvalError, Ran};
use crate::llm::Complete;
use crate::pipeline::Sources;
use crate::tokens;

/// Share of an answer's content words that must be left, in hundredths.
pub(super) const LEAST_SHARE: usize = 67;

/// Texts with the turns that each rests on, and how many answers are left in them.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Kept {
    /// What they are.
    pub name: String,
    /// How many.
    pub texts: usize,
    /// Questions whose answer should be left.
    pub questions: usize,
    /// Questions whose answer is.
    pub answered: usize,
    /// `o200k_base` tokens of the texts.
    pub tokens: usize,
    /// Texts that leave a day, week or month open.
    pub open_dates: usize,
    /// Texts that are vague about a time.
    pub soft_dates: usize,
}

/// What the conversations of a file came to.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Retention {
    /// Conversations.
    pub conversations: usize,
    /// Turns in them.
    pub turns: usize,
    /// Tokens of the turns as `speaker: text`.
    pub source_tokens: usize,
    /// Questions that name no turn there is, and are left out.
    pub without_evidence: usize,
    /// The memories, then the observations of the file, then the turns themselves.
    pub rows: Vec<Kept>,
    /// What the model was asked, consolidation included.
    pub usage: Usage,
    /// Questions whose answer is not left in the memories, each with its answer and what rests on its evidence.
    pub lost: Vec<Lost>,
}

/// A question whose answer is not left.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Lost {
    /// The conversation.
    pub conversation: String,
    /// The question.
    pub question: String,
    /// Its answer.
    pub answer: String,
    /// Whether it is left in the turns.
    pub in_turns: bool,
    /// The memories that rest on its evidence.
    pub memories: Vec<String>,
}

/// Runs the pipeline over one conversation, into a store of its own.
///
/// # Errors
/// [`EvalError`] if it could not be run to its end.
pub async fn run_sample<C: Complete>(
    sample: &Sample,
    subject: Subject<'_, C>,
    options: &RunOptions<'_>,
) -> Result<Ran, EvalError> {
    let place = Place::new(options.keep.as_deref(), &sample.id)?;
    let log = place.folder().join(format!("{}.json", sample.id.replace(['/', '\\'], "-")));
    std::fs::write(&log, sample.conversation.to_string()).map_err(|source| prepare(&log, source))?;
    let sources = Sources { paths: vec![log], format: Some("locomo".to_owned()), ..Sources::default() };
    run_logs(&sources, &place.folder().join("memories.db"), subject, options).await
}

/// Measures what is left of the answers of `samples` in the memories of each.
#[must_use]
pub fn measure(samples: &[(Sample, Ran)]) -> Retention {
    let mut whole = Retention::default();
    let mut rows = ["memories", "observations", "turns"].map(|name| Kept { name: name.to_owned(), ..Kept::default() });
    for (sample, ran) in samples {
        whole.conversations += 1;
        whole.turns += sample.turns.len();
        whole.without_evidence += sample.without_evidence;
        whole.usage += ran.usage;
        let memories: Vec<Text> = ran.predictions.iter().map(of_memory).collect();
        let observations: Vec<Text> =
            sample.observations.iter().map(|(fact, turns)| Text::new(fact, turns.clone())).collect();
        let turns: Vec<Text> = sample.turns.iter().map(of_turn).collect();
        whole.source_tokens += turns.iter().map(|turn| tokens::count(turn.says)).sum::<usize>();
        for (row, texts) in rows.iter_mut().zip([&memories, &observations, &turns]) {
            row.add(texts, &sample.questions);
        }
        whole.lost.extend(sample.questions.iter().filter(|question| !is_left(question, &memories)).map(|question| {
            Lost {
                conversation: sample.id.clone(),
                question: question.question.clone(),
                answer: question.answer.clone(),
                in_turns: is_left(question, &turns),
                memories: resting_on(question, &memories).map(|text| text.says.to_owned()).collect(),
            }
        }));
    }
    whole.rows = rows.into();
    whole
}

/// A text with the turns that it rests on.
struct Text<'a> {
    says: &'a str,
    words: BTreeSet<String>,
    turns: BTreeSet<String>,
}

impl<'a> Text<'a> {
    fn new(says: &'a str, turns: BTreeSet<String>) -> Self {
        Self { says, words: content_words(says), turns }
    }
}

/// A turn with its photo; what the photo shows holds answers, but is not counted among the words that were said.
fn of_turn(turn: &Turn) -> Text<'_> {
    let mut text = Text::new(&turn.said, BTreeSet::from([turn.id.clone()]));
    text.words.extend(turn.photo.as_deref().map(content_words).unwrap_or_default());
    text
}

fn of_memory(memory: &Prediction) -> Text<'_> {
    let ids = memory.evidence.iter().flat_map(|cited| &cited.messages);
    // A photo is a message of its own beside its turn.
    let turns = ids.map(|id| id.split('/').next().unwrap_or(id).to_owned()).collect();
    Text::new(&memory.content, turns)
}

fn resting_on<'t, 'a>(question: &'t Question, texts: &'t [Text<'a>]) -> impl Iterator<Item = &'t Text<'a>> {
    texts.iter().filter(|text| !text.turns.is_disjoint(&question.evidence))
}

/// Whether enough of the answer's content words stand in the texts that rest on its evidence.
fn is_left(question: &Question, texts: &[Text<'_>]) -> bool {
    let wanted = content_words(&question.answer);
    let there: BTreeSet<&String> = resting_on(question, texts).flat_map(|text| &text.words).collect();
    let found = wanted.iter().filter(|word| there.contains(word)).count();
    !wanted.is_empty() && found * 100 >= wanted.len() * LEAST_SHARE
}

impl Retention {
    /// Returns what all of `found` come to together.
    #[must_use]
    pub fn sum(found: &[Self]) -> Self {
        let mut whole = Self::default();
        for one in found {
            whole.conversations += one.conversations;
            whole.turns += one.turns;
            whole.source_tokens += one.source_tokens;
            whole.without_evidence += one.without_evidence;
            whole.usage += one.usage;
            whole.lost.extend(one.lost.iter().cloned());
            for row in &one.rows {
                match whole.rows.iter_mut().find(|own| own.name == row.name) {
                    Some(own) => own.plus(row),
                    None => whole.rows.push(row.clone()),
                }
            }
        }
        whole
    }
}

impl Kept {
    fn plus(&mut self, other: &Self) {
        self.texts += other.texts;
        self.questions += other.questions;
        self.answered += other.answered;
        self.tokens += other.tokens;
        self.open_dates += other.open_dates;
        self.soft_dates += other.soft_dates;
    }

    fn add(&mut self, texts: &[Text<'_>], questions: &[Question]) {
        self.texts += texts.len();
        self.questions += questions.len();
        self.answered += questions.iter().filter(|question| is_left(question, texts)).count();
        self.tokens += texts.iter().map(|text| tokens::count(text.says)).sum::<usize>();
        let open = |kind: Open| texts.iter().filter(|text| open_date(text.says) == kind).count();
        self.open_dates += open(Open::Hard);
        self.soft_dates += open(Open::Soft);
    }

    /// Returns the share of questions whose answer is left.
    #[must_use]
    pub fn retention(&self) -> Option<f64> {
        share(self.answered, self.questions)
    }

    /// Returns the share of texts that leave a day, week or month open.
    #[must_use]
    pub fn open_share(&self) -> Option<f64> {
        share(self.open_dates, self.texts)
    }

    /// Returns the tokens for each token of `source`.
    #[must_use]
    pub fn tokens_per(&self, source: usize) -> Option<f64> {
        share(self.tokens, source)
    }
}

/// Returns `part` of `whole`; `None` where there is nothing.
#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
fn share(part: usize, whole: usize) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}
