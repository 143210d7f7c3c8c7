//! Situations: what a brief holds.

use super::file::Placed;
use super::form::{BriefCase, Situation};
use super::home::Home;
use super::measure::Kind;
use super::retriever::Retriever;
use crate::eval::EvalError;
use crate::eval::draft::{Draft, number};
use crate::eval::matcher::compiled;
use crate::eval::rows::Row;
use crate::eval::text::normal;
use crate::memory::Namespace;
use crate::search::brief::{BriefRequest, compose};
use crate::store::{Filter, Order};
use crate::tokens;

/// Tokens that a brief may have unless the situation says otherwise.
const TOKENS: usize = 2_000;

/// What a conversation is told: the memories by the names of the case, and the text.
struct Told {
    names: Vec<String>,
    text: String,
    tokens: usize,
}

/// Composes the brief of every situation of `case`. The controls tell of all that they draw, whatever it costs.
///
/// # Errors
/// [`EvalError`] if the store cannot be used.
pub fn run(placed: &Placed, case: &BriefCase, retriever: &Retriever<'_>) -> Result<Vec<Row>, EvalError> {
    let home = Home::of(&case.id, &case.memories, case.now.last())?;
    let mut rows = Vec::new();
    for situation in &case.situations {
        let ask = situation.ask.as_deref().unwrap_or_default();
        let mut draft = Draft::of(placed.row(Kind::Brief, &situation.id, ask, &situation.phenomena));
        let told = told(&home, situation, retriever)?;
        draft.answered();
        score(case, situation, &told, &mut draft);
        rows.push(draft.done());
    }
    Ok(rows)
}

fn told(home: &Home, situation: &Situation, retriever: &Retriever<'_>) -> Result<Told, EvalError> {
    let memories = match retriever {
        Retriever::Search(_) => {
            let brief = compose(&home.store, &request(situation), home.now)?;
            let names = brief.shown.iter().map(|shown| home.name(&shown.memory.id).to_owned()).collect();
            return Ok(Told { names, tokens: brief.tokens, text: brief.text });
        }
        Retriever::Nothing => Vec::new(),
        Retriever::Random | Retriever::Everything => {
            let all = Filter { statuses: Vec::new(), ..Filter::default() };
            let mut all = home.store.list(&all, Order::Id, usize::MAX >> 1, 0)?;
            if matches!(retriever, Retriever::Random) {
                all = all.into_iter().step_by(2).collect();
            }
            all
        }
    };
    let text = memories.iter().map(|memory| memory.claim.content.as_str()).collect::<Vec<_>>().join("\n");
    let names = memories.iter().map(|memory| home.name(&memory.id).to_owned()).collect();
    Ok(Told { names, tokens: tokens::count(&text), text })
}

fn request(situation: &Situation) -> BriefRequest {
    let mut namespaces = situation.namespaces.clone();
    if !namespaces.contains(&Namespace::global()) {
        namespaces.push(Namespace::global());
    }
    let query = situation.ask.clone().filter(|ask| !ask.trim().is_empty());
    let mut request = BriefRequest::of(&crate::config::MemorySettings::default(), namespaces, query);
    request.max_tokens = situation.tokens.unwrap_or(TOKENS);
    request
}

fn score(case: &BriefCase, situation: &Situation, told: &Told, draft: &mut Draft) {
    let says = |id: &str| case.memories.iter().find(|kept| kept.id == id).map_or("", |kept| kept.content.as_str());
    let holds = |id: &String| told.names.contains(id);
    draft.mean("tokens", number(told.tokens));
    draft.yes("in budget", told.tokens <= situation.tokens.unwrap_or(TOKENS));
    if situation.empty {
        draft.yes("empty kept", told.text.is_empty());
        told.names.iter().for_each(|id| draft.fault("told for nothing", id, says(id), "there is nothing to tell"));
        return;
    }
    if !situation.must.is_empty() {
        let missing: Vec<&String> = situation.must.iter().filter(|id| !holds(id)).collect();
        let all = situation.must.len();
        draft.mean("held", number(all - missing.len()) / number(all));
        draft.yes("all held", missing.is_empty());
        missing.into_iter().for_each(|id| draft.fault("missed", id, says(id), "the brief lacks it"));
    }
    let text = normal(&told.text);
    let never = compiled(&situation.id, "never", &situation.never).unwrap_or_default();
    let leaked: Vec<&String> = situation.must_not.iter().filter(|id| holds(id)).collect();
    let said: Vec<&str> = never.iter().filter(|one| one.is_match(&text)).map(regex::Regex::as_str).collect();
    if !situation.must_not.is_empty() || !situation.never.is_empty() {
        draft.yes("leaks", !leaked.is_empty() || !said.is_empty());
    }
    leaked.into_iter().for_each(|id| draft.fault("leaked", id, says(id), "the brief must not hold it"));
    said.into_iter().for_each(|pattern| draft.fault("leaked", pattern, "", "the brief must not say it"));
}
