//! The rows of questions to the search.

use super::{Row, Turns};
use crate::eval::rows::{self, Better, Defined, Ratio, RowUnit};

/// Kind of the rows.
pub const KIND: &str = "recall";

/// Returns what the rows measure.
#[must_use]
pub fn defined() -> Vec<Defined> {
    [
        ("r@5", "turns that answer a question among the first 5", Better::Higher, RowUnit::Share),
        ("r@10", "among the first 10", Better::Higher, RowUnit::Share),
        ("r@20", "among the first 20", Better::Higher, RowUnit::Share),
        ("MRR", "one divided by the place of the first turn that answers", Better::Higher, RowUnit::Share),
        ("all@10", "questions of which all turns are among the first 10", Better::Higher, RowUnit::Share),
        ("tokens@10", "tokens of the first 10", Better::Lower, RowUnit::Number),
    ]
    .map(|(name, about, better, unit)| Defined::new(KIND, name, about, better, unit))
    .into()
}

/// Returns a row for each question that `arm` was asked; its suite is `suite` and the name of the arm.
pub fn rows<'a>(turns: &'a Turns, arm: &'a Row, suite: &str) -> impl Iterator<Item = rows::Row> + 'a {
    let suite = format!("{suite}: {}", arm.name);
    turns.asked.iter().zip(&arm.each).enumerate().map(move |(number, (asked, found))| {
        let share = |value: f64| Ratio::new(value, 1.0);
        let [five, ten, twenty] = found.recall;
        let all = f64::from(u8::from(ten >= 1.0));
        let measures = [
            ("r@5", five),
            ("r@10", ten),
            ("r@20", twenty),
            ("MRR", found.reciprocal),
            ("all@10", all),
            ("tokens@10", found.tokens_10),
        ];
        rows::Row {
            suite: suite.clone(),
            kind: KIND.to_owned(),
            case: format!("{}/{}", asked.namespace, number + 1),
            phenomena: vec![format!("category {}", asked.category)],
            repeat: 1,
            about: asked.question.clone(),
            measures: measures.map(|(name, value)| (name.to_owned(), share(value))).into(),
            ..rows::Row::default()
        }
    })
}
