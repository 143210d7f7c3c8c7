//! A row in the making.

use std::time::Instant;

use super::rows::{Found, Ratio, Row, Spent};
use crate::tokens;

/// A row in the making.
#[derive(Debug)]
pub struct Draft {
    row: Row,
    begun: Instant,
}

impl Draft {
    /// Begins with what is known of the case; its time runs from now on.
    #[must_use]
    pub fn of(row: Row) -> Self {
        Self { row: Row { repeat: 1, ..row }, begun: Instant::now() }
    }

    /// Adds `part` of one question to the measure called `name`.
    pub fn mean(&mut self, name: &str, part: f64) {
        self.add(name, part, 1.0);
    }

    /// Adds `part` of `whole` to the measure called `name`.
    pub fn add(&mut self, name: &str, part: f64, whole: f64) {
        let ratio = self.row.measures.entry(name.to_owned()).or_default();
        *ratio = ratio.plus(Ratio::new(part, whole));
    }

    /// Adds whether something is so.
    pub fn yes(&mut self, name: &str, is_so: bool) {
        self.mean(name, f64::from(u8::from(is_so)));
    }

    /// Notes what went wrong: `what` with the memory or part `id`, which says `text`.
    pub fn fault(&mut self, what: &str, id: &str, text: &str, why: &str) {
        let (what, id, text, why) = (what.to_owned(), id.to_owned(), text.to_owned(), why.to_owned());
        self.row.findings.push(Found { what, id, text, why, counts: true, evidence: Vec::new() });
    }

    /// Notes how long the answer took, since the row was begun.
    pub fn answered(&mut self) {
        let ms = u64::try_from(self.begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.row.cost = Spent { ms, ..self.row.cost };
    }

    /// Returns the row.
    #[must_use]
    pub fn done(self) -> Row {
        self.row
    }

    /// Returns the row of what could not be run.
    #[must_use]
    pub fn failed(self, error: String) -> Row {
        Row { error: Some(error), measures: std::collections::BTreeMap::new(), ..self.row }
    }
}

/// Returns a count as a number to reckon with.
#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
pub const fn number(count: usize) -> f64 {
    count as f64
}

/// Returns how many of the first `texts` fit into `budget` tokens together.
#[must_use]
pub fn fitting(texts: &[&str], budget: usize) -> usize {
    let mut left = budget;
    let mut fits = |text: &str| left.checked_sub(tokens::count(text)).map(|rest| left = rest).is_some();
    texts.iter().take_while(|text| fits(text)).count()
}
