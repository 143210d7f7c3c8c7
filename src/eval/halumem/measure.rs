//! What an extractor makes of a user's sessions.

use super::file::{Point, Question, User, time};
use crate::eval::consolidation::Moment;
use crate::eval::draft::{Draft, fitting, number};
use crate::eval::inline::{self, Role, Turn};
use crate::eval::matchers::{Likeness, numbers_agree, share, words};
use crate::eval::place::Place;
use crate::eval::rows::{Better, Defined, Row, RowUnit, Spent};
use crate::eval::{EvalError, Prediction, Ran, RunOptions, Subject, keep, run_logs};
use crate::llm::Complete;
use crate::pipeline::Sources;
use crate::search::search;
use crate::store::{Filter, Store};

/// Kind of the rows of extraction and update.
pub const KIND: &str = "halumem";
/// Kind of the rows of questions.
pub const QUESTIONS: &str = "halumem-questions";
/// Tokens of a context.
const TOKENS: usize = 1_000;
/// Places in which evidence is looked for.
const PLACES: usize = 10;

/// Returns what the rows of both kinds measure.
#[must_use]
pub fn defined() -> Vec<Defined> {
    let of = |kind, name, about, better| Defined::new(kind, name, about, better, RowUnit::Share);
    let share = |name, about| of(KIND, name, about, Better::Higher);
    let fault = |name, about| of(KIND, name, about, Better::Lower);
    vec![
        share("recall", "points that hold in the end and that a memory says"),
        share("recall weighted", "the same, each by its importance"),
        share("precision", "memories that say a point, and no interference more closely"),
        fault("interference", "points of interference that a memory says more closely than what is true"),
        share("updated", "updates that are said, and what they replace is not"),
        fault("stale", "updates of which what they replace is still said"),
        fault("omitted", "updates that no memory says"),
        of(QUESTIONS, "evidence@10", "points that answer and are said by the first 10 memories found", Better::Higher),
        of(
            QUESTIONS,
            "complete",
            "contexts of 1,000 tokens that hold two thirds of the answer's words",
            Better::Higher,
        ),
    ]
}

/// Runs the pipeline over the sessions of one user, into a store of its own.
///
/// # Errors
/// [`EvalError`] if it could not be run to its end.
pub async fn run_user<C: Complete>(
    user: &User,
    subject: Subject<'_, C>,
    options: &RunOptions<'_>,
) -> Result<Ran, EvalError> {
    let place = Place::new(options.keep.as_deref(), &user.uuid)?;
    let mut paths = Vec::new();
    for (number, session) in user.sessions.iter().enumerate().filter(|(_, session)| !session.turns.is_empty()) {
        let said = session.turns.iter().map(|turn| Turn {
            role: if turn.role == "assistant" { Role::Assistant } else { Role::User },
            speaker: None,
            at: time(&turn.timestamp).map(Moment::Instant),
            text: turn.content.clone(),
        });
        let id = format!("{}-session-{number:03}", user.uuid);
        paths.push(inline::write_log(&place.folder().join("logs"), &id, &said.collect::<Vec<_>>())?);
    }
    let sources = Sources { paths, format: Some(inline::FORMAT.to_owned()), ..Sources::default() };
    run_logs(&sources, &place.folder().join("memories.db"), subject, options).await
}

/// Compares what `ran` made of a user's sessions with the points, and asks the questions of it.
///
/// # Errors
/// [`EvalError`] if a store cannot be used.
pub fn rows(user: &User, ran: &Ran) -> Result<Vec<Row>, EvalError> {
    let points: Vec<&Point> = user.sessions.iter().flat_map(|session| &session.points).collect();
    let mut draft = draft(KIND, user, user.uuid.clone(), &[], "");
    extraction(&points, &ran.predictions, &mut draft);
    updates(&points, &ran.predictions, &mut draft);
    let first = draft.done();
    let mut rows = vec![Row { cost: Spent { ms: first.cost.ms, ..Spent::of(ran.usage) }, ..first }];
    let store = Store::in_memory()?;
    let now = user.sessions.iter().flat_map(|session| &session.turns).filter_map(|turn| time(&turn.timestamp)).max();
    let now = now.unwrap_or(jiff::Timestamp::UNIX_EPOCH);
    keep(&store, &ran.predictions, now)?;
    let questions = user.sessions.iter().flat_map(|session| &session.questions);
    for (number, question) in questions.enumerate().filter(|(_, question)| !question.evidence().is_empty()) {
        let kind = std::slice::from_ref(&question.kind);
        let mut draft = self::draft(QUESTIONS, user, format!("{}/{number}", user.uuid), kind, &question.question);
        ask(question, &store, now, &mut draft)?;
        rows.push(draft.done());
    }
    Ok(rows)
}

pub(super) fn draft(kind: &str, user: &User, case: String, phenomena: &[String], about: &str) -> Draft {
    Draft::of(Row {
        kind: kind.to_owned(),
        case,
        split: user.uuid.clone(),
        phenomena: phenomena.to_vec(),
        about: about.to_owned(),
        ..Row::default()
    })
}

/// Returns how closely a memory says a text: 0 where a number is another or too few of its words are there.
fn closeness(text: &str, memory: &str) -> f64 {
    let (gold, said) = (words(text), words(memory));
    let (recall, precision) = (share(&gold, &said), share(&said, &gold));
    if recall < Likeness::Content.least() || !numbers_agree(text, memory) {
        return 0.0;
    }
    recall + precision
}

fn extraction(points: &[&Point], memories: &[Prediction], draft: &mut Draft) {
    let (lies, said): (Vec<&Point>, Vec<&Point>) = points.iter().partition(|point| point.is_interference());
    // What was replaced is no longer to be said; `updates` looks at it.
    let replaced =
        |point: &&Point| said.iter().any(|other| other.is_update() && other.originals.contains(&point.content));
    let truths: Vec<&Point> = said.iter().copied().filter(|point| !replaced(point)).collect();
    let best = |points: &[&Point], memory: &Prediction| {
        points.iter().map(|point| closeness(&point.content, &memory.content)).fold(0.0, f64::max)
    };
    let true_of: Vec<f64> = memories.iter().map(|memory| best(&truths, memory)).collect();
    let false_of: Vec<f64> = memories.iter().map(|memory| best(&lies, memory)).collect();
    for point in &truths {
        let is_said = memories.iter().any(|memory| closeness(&point.content, &memory.content) > 0.0);
        draft.yes("recall", is_said);
        draft.add("recall weighted", if is_said { point.importance } else { 0.0 }, point.importance);
        if !is_said {
            draft.fault("missed", &point.content, &point.content, &point.kind);
        }
    }
    for (one, other) in true_of.iter().zip(&false_of) {
        draft.yes("precision", *one > 0.0 && one >= other);
    }
    for point in &lies {
        let accepts = |at: usize, memory: &Prediction| {
            let close = closeness(&point.content, &memory.content);
            close > 0.0 && close > true_of[at]
        };
        let is_accepted = memories.iter().enumerate().any(|(at, memory)| accepts(at, memory));
        draft.yes("interference", is_accepted);
        if is_accepted {
            draft.fault("interference", &point.content, &point.content, "the assistant said it, and it is not so");
        }
    }
}

fn updates(points: &[&Point], memories: &[Prediction], draft: &mut Draft) {
    for point in points.iter().filter(|point| point.is_update() && !point.is_interference()) {
        let new = |memory: &&Prediction| closeness(&point.content, &memory.content);
        let is_said = memories.iter().any(|memory| new(&memory) > 0.0);
        let is_stale = memories
            .iter()
            .any(|memory| point.originals.iter().any(|old| closeness(old, &memory.content) > new(&memory)));
        draft.yes("updated", is_said && !is_stale);
        draft.yes("stale", is_stale);
        draft.yes("omitted", !is_said);
    }
}

fn ask(question: &Question, store: &Store, now: jiff::Timestamp, draft: &mut Draft) -> Result<(), EvalError> {
    let found = search(store, &question.question, &Filter::default(), PLACES * 2, now)?;
    draft.answered();
    let texts: Vec<&str> = found.iter().map(|found| found.memory.claim.content.as_str()).collect();
    let evidence = question.evidence();
    let is_there = |piece: &&String| texts.iter().take(PLACES).any(|text| closeness(piece, text) > 0.0);
    draft.mean("evidence@10", number(evidence.iter().filter(is_there).count()) / number(evidence.len()));
    let wanted = words(&question.answer());
    if !wanted.is_empty() {
        let context = texts[..fitting(&texts, TOKENS)].join("\n");
        draft.yes("complete", share(&wanted, &words(&context)) >= Likeness::Content.least());
    }
    Ok(())
}
