//! What is found for one question.

use std::collections::BTreeSet;

use jiff::Timestamp;

use super::file::Item;
use crate::eval::EvalError;
use crate::eval::asking::{Asked, Home, Kept, Retriever};
use crate::eval::consolidation::Moment;
use crate::eval::draft::{Draft, fitting, number};
use crate::eval::matchers::{Likeness, share, words};
use crate::eval::rows::{Better, Defined, Row, RowUnit};

/// Kind of the rows.
pub const KIND: &str = "longmemeval";
/// Turns that are found; sessions are told by them.
const MOST: usize = 50;
/// Tokens of a context.
const TOKENS: usize = 1_000;

/// Returns what the rows measure.
#[must_use]
pub fn defined() -> Vec<Defined> {
    let share = |name, about| Defined::new(KIND, name, about, Better::Higher, RowUnit::Share);
    vec![
        share("session any@5", "questions of which a session that answers is among the first 5"),
        share("session any@10", "among the first 10"),
        share("session all@10", "questions of which all sessions that answer are among the first 10"),
        share("session NDCG@10", "how far up among the first 10 sessions those that answer stand"),
        share("turn recall@10", "turns that answer, among the first 10 turns"),
        share("complete", "contexts of 1,000 tokens that hold two thirds of the answer's words"),
    ]
}

/// Asks the question of `item` of its haystack.
///
/// # Errors
/// [`EvalError`] if a store cannot be used.
pub async fn row(item: &Item, retriever: &Retriever<'_>) -> Result<Row, EvalError> {
    let mut draft = Draft::of(Row {
        kind: KIND.to_owned(),
        case: item.id.clone(),
        split: if item.abstains() { "abstention" } else { "answered" }.to_owned(),
        phenomena: vec![item.kind.clone()],
        about: item.question.clone(),
        ..Row::default()
    });
    if item.abstains() {
        return Ok(draft.done());
    }
    let last = item.sessions.iter().filter_map(|session| session.at).max();
    let now = item.asked.or(last).unwrap_or(Timestamp::UNIX_EPOCH);
    let kept = memories(item);
    let home = Home::of(&item.id, &kept, now)?;
    let model = retriever.prepare(&home.store).await?;
    let asked = Asked { query: &item.question, namespaces: &[], most: MOST, now };
    let found = retriever.ask(&home.store, model.as_ref(), &asked).await?;
    draft.answered();
    let turns: Vec<&str> = found.iter().map(|memory| home.name(&memory.id)).collect();
    let mut sessions: Vec<&str> = Vec::new();
    for session in turns.iter().filter_map(|turn| turn.rsplit_once('#')).map(|(session, _)| session) {
        if !sessions.contains(&session) {
            sessions.push(session);
        }
    }
    count_sessions(item, &sessions, &mut draft);
    let gold: BTreeSet<String> = answering(item);
    if !gold.is_empty() {
        let right = turns.iter().take(10).filter(|turn| gold.contains(**turn)).count();
        draft.mean("turn recall@10", number(right) / number(gold.len()));
    }
    let texts: Vec<&str> = found.iter().map(|memory| memory.claim.content.as_str()).collect();
    let context = texts[..fitting(&texts, TOKENS)].join("\n");
    let wanted = words(&item.answer);
    if !wanted.is_empty() {
        draft.yes("complete", share(&wanted, &words(&context)) >= Likeness::Content.least());
    }
    Ok(draft.done())
}

fn count_sessions(item: &Item, sessions: &[&str], draft: &mut Draft) {
    let is_right = |session: &&&str| item.answers.contains(**session);
    let among = |k: usize| sessions.iter().take(k).filter(is_right).count();
    draft.yes("session any@5", among(5) > 0);
    draft.yes("session any@10", among(10) > 0);
    draft.yes("session all@10", among(10) >= item.answers.len());
    let gain = |place: usize| 1.0 / number(place + 2).log2();
    let found = sessions.iter().take(10).enumerate().filter(|(_, session)| item.answers.contains(**session));
    let best: f64 = (0..item.answers.len().min(10)).map(gain).sum();
    if best > 0.0 {
        draft.mean("session NDCG@10", found.map(|(place, _)| gain(place)).sum::<f64>() / best);
    }
    if among(10) == 0 {
        draft.fault("missed", &item.id, &item.answer, "no session that answers is among the first 10");
    }
}

/// Returns the turns as memories, called `session#number`.
fn memories(item: &Item) -> Vec<Kept> {
    let mut kept = Vec::new();
    for session in &item.sessions {
        let turns = session.turns.iter().enumerate().filter(|(_, turn)| !turn.content.trim().is_empty());
        kept.extend(turns.map(|(number, turn)| Kept {
            id: format!("{}#{number}", session.id),
            content: format!("{}: {}", turn.role, turn.content),
            speaker: Some(turn.role.clone()),
            said: session.at.map(Moment::Instant),
            source: Some(session.id.clone()),
            ..Kept::default()
        }));
    }
    kept
}

fn answering(item: &Item) -> BTreeSet<String> {
    let sessions = item.sessions.iter();
    let turns = sessions.flat_map(|session| session.turns.iter().enumerate().map(move |turn| (session, turn)));
    turns.filter(|(_, (_, turn))| turn.has_answer).map(|(session, (at, _))| format!("{}#{at}", session.id)).collect()
}
