//! Questions: whether what comes holds all that the answer needs.

use futures::FutureExt as _;

use super::file::Placed;
use super::form::{QaCase, Question};
use super::home::Home;
use super::measure::Kind;
use super::retriever::{Asked, Retriever};
use crate::eval::draft::{Draft, fitting, number};
use crate::eval::matcher::compiled;
use crate::eval::place::Place;
use crate::eval::rows::{Row, Spent};
use crate::eval::text::{folded, normal};
use crate::eval::{EvalError, Prediction, RunOptions, Subject, Usage, inline, run_logs};
use crate::llm::Complete;
use crate::memory::Memory;
use crate::pipeline::Sources;
use crate::store::{Filter, Order, Store};
use crate::tokens;

/// Tokens of a context unless the question says otherwise.
const TOKENS: usize = 400;
/// Memories among which the context is taken.
const MOST: usize = 20;

/// The store that is asked: memories of the case, or what was made of its conversation.
struct Known {
    home: Option<Home>,
    store: Option<Store>,
    kept: Vec<Memory>,
    usage: Usage,
}

impl Known {
    const fn store(&self) -> Option<&Store> {
        match &self.home {
            Some(home) => Some(&home.store),
            None => self.store.as_ref(),
        }
    }
}

/// Asks every question of `case`, of the conversation extracted by `subject` if there is one.
///
/// # Errors
/// [`EvalError`] if the store cannot be used.
pub async fn run<C: Complete>(
    placed: &Placed,
    case: &QaCase,
    retriever: &Retriever<'_>,
    subject: Subject<'_, C>,
    options: &RunOptions<'_>,
) -> Result<Vec<Row>, EvalError> {
    let begin = |question: &Question| Draft::of(placed.row(Kind::Qa, &question.id, &question.ask, &question.phenomena));
    let place = Place::new(options.keep.as_deref(), &format!("{}/{}", placed.split, case.id))?;
    // Behind a box, since the types of nested futures grow beyond what the compiler follows.
    let known = match known(case, &place, subject, options).boxed_local().await {
        Ok(known) => known,
        Err(error) => {
            let why = error.to_string();
            return Ok(case.questions.iter().map(|question| begin(question).failed(why.clone())).collect());
        }
    };
    let Some(store) = known.store() else { return Ok(Vec::new()) };
    let model = retriever.prepare(store).await?;
    let mut rows = Vec::new();
    for question in &case.questions {
        let asked = Asked { query: &question.ask, namespaces: &question.namespaces, most: MOST, now: case.now.last() };
        let mut draft = begin(question);
        let found = retriever.ask(store, model.as_ref(), &asked).await?;
        draft.answered();
        let texts: Vec<&str> = found.iter().map(|memory| memory.claim.content.as_str()).collect();
        let context = &found[..fitting(&texts, question.tokens.unwrap_or(TOKENS))];
        score(question, context, &known, store, &mut draft)?;
        rows.push(draft.done());
    }
    // What was paid for the conversation is told once.
    if let Some(first) = rows.first_mut() {
        first.cost = Spent { ms: first.cost.ms, ..Spent::of(known.usage) };
    }
    Ok(rows)
}

async fn known<C: Complete>(
    case: &QaCase,
    place: &Place,
    subject: Subject<'_, C>,
    options: &RunOptions<'_>,
) -> Result<Known, EvalError> {
    if case.transcript.is_empty() {
        let home = Home::of(&case.id, &case.memories, case.now.last())?;
        let kept = recalled(&home.store)?;
        return Ok(Known { home: Some(home), store: None, kept, usage: Usage::default() });
    }
    let log = inline::write_log(&place.folder().join("logs"), &case.id, &case.transcript)?;
    let sources = Sources { paths: vec![log], format: Some(inline::FORMAT.to_owned()), ..Sources::default() };
    let database = place.folder().join("memories.db");
    let ran = run_logs(&sources, &database, subject, options).await?;
    let store = Store::open(&database)?;
    if store.count(&Filter::default())? == 0 {
        // A control keeps what it makes to itself.
        super::home::keep(&store, &ran.predictions, case.now.last())?;
    }
    let kept = recalled(&store)?;
    Ok(Known { home: None, store: Some(store), kept, usage: ran.usage })
}

fn recalled(store: &Store) -> Result<Vec<Memory>, EvalError> {
    Ok(store.list(&Filter::default(), Order::Id, usize::MAX >> 1, 0)?)
}

/// Returns what patterns are tried on.
fn searched<'a>(memories: impl IntoIterator<Item = &'a Memory>) -> String {
    let texts = memories.into_iter().map(|memory| Prediction::of(memory, Vec::new()).searched);
    texts.collect::<Vec<_>>().join("\n")
}

fn score(
    question: &Question,
    context: &[Memory],
    known: &Known,
    store: &Store,
    draft: &mut Draft,
) -> Result<(), EvalError> {
    let (text, kept) = (searched(context), searched(&known.kept));
    let misleads = compiled(&question.id, "must_not", &question.must_not).unwrap_or_default();
    let misled: Vec<&str> = misleads.iter().filter(|one| one.is_match(&text)).map(regex::Regex::as_str).collect();
    let cost: usize = context.iter().map(|memory| tokens::count(&memory.claim.content)).sum();
    draft.mean("tokens", number(cost));
    if !question.must_not.is_empty() {
        draft.yes("misled", !misled.is_empty());
    }
    misled.iter().for_each(|pattern| draft.fault("misled", pattern, "", "the context must not hold it"));
    if question.must.is_empty() {
        let is_silent = if question.must_not.is_empty() { context.is_empty() } else { misled.is_empty() };
        draft.yes("abstained", is_silent);
        if question.must_not.is_empty() {
            let came = context.iter().map(|memory| memory.claim.content.as_str());
            came.for_each(|text| draft.fault("came for nothing", text, text, "there is no answer"));
        }
        return Ok(());
    }
    let parts = compiled(&question.id, "must", &question.must).unwrap_or_default();
    let missing: Vec<&regex::Regex> = parts.iter().filter(|part| !part.is_match(&text)).collect();
    let is_kept = parts.iter().all(|part| part.is_match(&kept));
    draft.yes("complete", missing.is_empty());
    draft.add("parts", number(parts.len() - missing.len()), number(parts.len()));
    draft.yes("kept", is_kept);
    if is_kept {
        draft.yes("found of kept", missing.is_empty());
    }
    for part in missing {
        let why = if part.is_match(&kept) { "a memory holds it and did not come" } else { "no memory holds it" };
        draft.fault("missing", part.as_str(), &question.answer, why);
    }
    let rested = rested(question, context, known, store)?;
    draft.add("evidence", number(rested), number(question.evidence.len()));
    Ok(())
}

/// Returns how many pieces of evidence the context rests on: memories of the case by their ids, messages by their words.
fn rested(question: &Question, context: &[Memory], known: &Known, store: &Store) -> Result<usize, EvalError> {
    if let Some(home) = &known.home {
        let came = |id: &&String| context.iter().any(|memory| home.name(&memory.id) == id.as_str());
        return Ok(question.evidence.iter().filter(came).count());
    }
    let mut quotes = Vec::new();
    for memory in context {
        quotes.extend(store.evidence(&memory.id)?.into_iter().map(|piece| folded(&piece.quote)));
    }
    // A quote may be longer than the piece or a part of it.
    let rests = |piece: &&String| {
        let piece = folded(&normal(piece));
        quotes
            .iter()
            .any(|quote| normal(quote).contains(&piece) || (!quote.is_empty() && piece.contains(&normal(quote))))
    };
    Ok(question.evidence.iter().filter(rests).count())
}
