//! Queries: which memories come, and in which order.

use super::file::Placed;
use super::form::{Query, RecallCase};
use super::home::Home;
use super::measure::Kind;
use super::retriever::{Asked, Retriever};
use crate::eval::EvalError;
use crate::eval::draft::{Draft, fitting, number};
use crate::eval::rows::Row;
use crate::memory::Memory;
use crate::tokens;

/// Memories that come back unless the query says otherwise.
const MOST: usize = 10;
/// Places that the measures look at.
const PLACES: usize = 10;

/// Asks every query of `case`.
///
/// # Errors
/// [`EvalError`] if the store cannot be used.
pub async fn run(placed: &Placed, case: &RecallCase, retriever: &Retriever<'_>) -> Result<Vec<Row>, EvalError> {
    let home = Home::of(&case.id, &case.memories, case.now.last())?;
    let model = retriever.prepare(&home.store).await?;
    let mut rows = Vec::new();
    for query in &case.queries {
        let asked =
            Asked { query: &query.ask, namespaces: &query.namespaces, most: query.most.unwrap_or(MOST), now: home.now };
        let mut draft = Draft::of(placed.row(Kind::Recall, &query.id, &query.ask, &query.phenomena));
        let found = retriever.ask(&home.store, model.as_ref(), &asked).await?;
        draft.answered();
        let came = Came { names: found.iter().map(|memory| home.name(&memory.id)).collect(), found: &found };
        score(case, query, &came, &mut draft);
        rows.push(draft.done());
    }
    Ok(rows)
}

/// What came, best first, with what the case calls it.
struct Came<'a> {
    names: Vec<&'a str>,
    found: &'a [Memory],
}

impl Came<'_> {
    fn says(&self, place: usize) -> &str {
        self.found.get(place).map_or("", |memory| memory.claim.content.as_str())
    }

    fn is_among(&self, k: usize, id: &str) -> bool {
        self.names.iter().take(k).any(|name| *name == id)
    }
}

fn score(case: &RecallCase, query: &Query, came: &Came<'_>, draft: &mut Draft) {
    draft.mean("returned", number(came.names.len()));
    let first = (0..came.names.len().min(PLACES)).map(|place| tokens::count(came.says(place)));
    draft.mean("tokens@10", number(first.sum()));
    if query.empty {
        draft.yes("empty kept", came.names.is_empty());
        for (place, name) in came.names.iter().enumerate() {
            draft.fault("came for nothing", name, came.says(place), "nothing in the store answers this");
        }
        return;
    }
    if !query.must.is_empty() {
        score_must(case, query, came, draft);
    }
    let stray = |place: usize, name: &str| (name.to_owned(), came.says(place).to_owned());
    if !query.must_not.is_empty() {
        let wrong =
            came.names.iter().take(PLACES).enumerate().filter(|(_, name)| query.must_not.iter().any(|id| id == *name));
        let wrong: Vec<_> = wrong.map(|(place, name)| stray(place, name)).collect();
        draft.yes("forbidden@10", !wrong.is_empty());
        wrong.iter().for_each(|(id, text)| draft.fault("forbidden", id, text, "it must not come"));
    }
    if let Some(only) = &query.only {
        let may = |name: &str| query.must.iter().chain(only).any(|id| id == name);
        let other = came.names.iter().enumerate().filter(|(_, name)| !may(name));
        let other: Vec<_> = other.map(|(place, name)| stray(place, name)).collect();
        draft.yes("only kept", other.is_empty());
        other.iter().for_each(|(id, text)| draft.fault("besides", id, text, "nothing but what is listed may come"));
    }
}

fn score_must(case: &RecallCase, query: &Query, came: &Came<'_>, draft: &mut Draft) {
    let all = number(query.must.len());
    let among = |k: usize| number(query.must.iter().filter(|id| came.is_among(k, id)).count());
    draft.mean("recall@1", among(1) / all);
    draft.mean("recall@5", among(5) / all);
    draft.mean("recall@10", among(PLACES) / all);
    draft.yes("all@10", among(PLACES) >= all);
    let is_right = |name: &&str| query.must.iter().any(|id| id == name);
    let first = came.names.iter().position(is_right);
    draft.mean("MRR", first.map_or(0.0, |place| 1.0 / number(place + 1)));
    draft.mean("NDCG@10", ndcg(query, &came.names));
    if let Some(budget) = query.tokens {
        let texts: Vec<&str> = (0..came.names.len()).map(|place| came.says(place)).collect();
        draft.mean("in budget", among(fitting(&texts, budget)) / all);
    }
    for id in query.must.iter().filter(|id| !came.is_among(PLACES, id)) {
        let text = case.memories.iter().find(|kept| kept.id == *id).map_or("", |kept| kept.content.as_str());
        let first: Vec<&str> = came.names.iter().take(3).copied().collect();
        draft.fault(
            "missed",
            id,
            text,
            &format!("first came {}", if first.is_empty() { "nothing".to_owned() } else { first.join(", ") }),
        );
    }
}

/// Each of what must come counts alike, and the less the later it stands.
fn ndcg(query: &Query, names: &[&str]) -> f64 {
    let gain = |place: usize| 1.0 / number(place + 2).log2();
    let found = names.iter().take(PLACES).enumerate().filter(|(_, name)| query.must.iter().any(|id| id == *name));
    let best: f64 = (0..query.must.len().min(PLACES)).map(gain).sum();
    found.map(|(place, _)| gain(place)).sum::<f64>() / best
}
