//! The search over a perfect store: all points as memories, the interference among them.

use std::collections::BTreeMap;

use super::file::{Point, User, time};
use super::measure::draft;
use crate::eval::EvalError;
use crate::eval::asking::{Asked, Home, Kept, Retriever};
use crate::eval::draft::number;
use crate::eval::rows::{Better, Defined, Row, RowUnit};

/// Kind of the rows.
pub const RETRIEVAL: &str = "halumem-retrieval";
/// Places that are looked at.
const PLACES: usize = 10;

/// Returns what the rows measure.
#[must_use]
pub fn defined() -> Vec<Defined> {
    let of = |name, about, better| Defined::new(RETRIEVAL, name, about, better, RowUnit::Share);
    vec![
        of("recall@10", "points that answer, among the first 10", Better::Higher),
        of("MRR", "one divided by the place of the first point that answers", Better::Higher),
        of("interference@10", "of the first 10, the share that is interference", Better::Lower),
    ]
}

/// Asks the questions of a user of a store that holds every point, in the order of the sessions.
///
/// # Errors
/// [`EvalError`] if a store cannot be used.
pub async fn retrieval(user: &User, retriever: &Retriever<'_>) -> Result<Vec<Row>, EvalError> {
    let mut points: BTreeMap<&str, &Point> = BTreeMap::new();
    for point in user.sessions.iter().flat_map(|session| &session.points) {
        points.entry(&point.content).or_insert(point);
    }
    let kept: Vec<Kept> = points
        .keys()
        .enumerate()
        .map(|(number, content)| Kept { id: format!("p{number}"), content: (*content).to_owned(), ..Kept::default() })
        .collect();
    let now = user.sessions.iter().flat_map(|session| &session.turns).filter_map(|turn| time(&turn.timestamp)).max();
    let home = Home::of(&user.uuid, &kept, now.unwrap_or(jiff::Timestamp::UNIX_EPOCH))?;
    let model = retriever.prepare(&home.store).await?;
    let mut rows = Vec::new();
    let questions = user.sessions.iter().flat_map(|session| &session.questions);
    for (number, question) in questions.enumerate() {
        let gold: Vec<String> =
            question.evidence().into_iter().filter(|one| points.contains_key(one.as_str())).collect();
        if gold.is_empty() {
            continue;
        }
        let kind = std::slice::from_ref(&question.kind);
        let mut draft = draft(RETRIEVAL, user, format!("{}/{number}", user.uuid), kind, &question.question);
        let asked = Asked { query: &question.question, namespaces: &[], most: PLACES, now: home.now };
        let found = retriever.ask(&home.store, model.as_ref(), &asked).await?;
        draft.answered();
        count(&gold, &found.iter().map(|one| one.claim.content.as_str()).collect::<Vec<_>>(), &points, &mut draft);
        rows.push(draft.done());
    }
    Ok(rows)
}

fn count(gold: &[String], found: &[&str], points: &BTreeMap<&str, &Point>, draft: &mut crate::eval::draft::Draft) {
    let is_right = |text: &&&str| gold.iter().any(|one| one == **text);
    draft.mean("recall@10", number(found.iter().filter(is_right).count()) / number(gold.len()));
    let first = found.iter().position(|text| is_right(&text));
    draft.mean("MRR", first.map_or(0.0, |place| 1.0 / number(place + 1)));
    let lies = found.iter().filter(|text| points.get(**text).is_some_and(|point| point.is_interference())).count();
    draft.add("interference@10", number(lies), number(found.len()));
}
