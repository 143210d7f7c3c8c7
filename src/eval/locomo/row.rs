//! The rows of conversations whose answers should be left.

use super::measure::{Kept, Retention};
use crate::eval::rows::{Better, Defined, Found, Ratio, Row, RowUnit, Spent};

/// Kind of the rows.
pub const KIND: &str = "retention";

/// Returns what the rows measure.
#[must_use]
pub fn defined() -> Vec<Defined> {
    [
        ("retention", "answers that are left in the memories", Better::Higher, RowUnit::Share),
        ("ceiling", "answers that are left in the turns", Better::Higher, RowUnit::Share),
        ("tokens per token", "tokens of memories for each of the turns", Better::Lower, RowUnit::Number),
        ("open dates", "memories that leave a day, week or month open", Better::Lower, RowUnit::Share),
        ("vague dates", "memories that are vague about a time", Better::Lower, RowUnit::Share),
    ]
    .map(|(name, about, better, unit)| Defined::new(KIND, name, about, better, unit))
    .into()
}

impl Retention {
    /// Returns the row of a conversation called `id`, of which alone `self` tells; without suite, repeat, money and time.
    #[must_use]
    pub fn row(&self, id: &str) -> Row {
        let of = |name: &str| self.rows.iter().find(|row| row.name == name).cloned().unwrap_or_default();
        let (memories, turns): (Kept, Kept) = (of("memories"), of("turns"));
        let ratio = |part: usize, whole: usize| Ratio::of(part as u64, whole as u64);
        let measures = [
            ("retention", ratio(memories.answered, memories.questions)),
            ("ceiling", ratio(turns.answered, turns.questions)),
            ("tokens per token", ratio(memories.tokens, self.source_tokens)),
            ("open dates", ratio(memories.open_dates, memories.texts)),
            ("vague dates", ratio(memories.soft_dates, memories.texts)),
        ];
        let lost = self.lost.iter().map(|lost| Found {
            what: "lost answer".to_owned(),
            id: lost.question.clone(),
            text: format!("{} {}", lost.question, lost.answer),
            why: if lost.in_turns {
                "the turns have it".to_owned()
            } else {
                "the turns do not have it either".to_owned()
            },
            counts: lost.in_turns,
            evidence: Vec::new(),
        });
        let mut findings: Vec<Found> = lost.collect();
        findings.sort_by_key(|found| !found.counts);
        Row {
            kind: KIND.to_owned(),
            case: id.to_owned(),
            language: Some("en".to_owned()),
            format: Some("locomo".to_owned()),
            measures: measures.map(|(name, ratio)| (name.to_owned(), ratio)).into(),
            cost: Spent::of(self.usage),
            findings,
            ..Row::default()
        }
    }
}
