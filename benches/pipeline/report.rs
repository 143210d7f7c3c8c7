//! Results, shown as a table for people or as JSON.

use std::hint::black_box;
use std::time::{Duration, Instant};

use comfy_table::presets::ASCII_MARKDOWN;
use comfy_table::{CellAlignment, Table};
use serde_json::{Value, json};

/// The range in which a figure should lie.
#[derive(Debug, Clone, Copy)]
pub enum Goal {
    /// At most this value.
    AtMost(f64),
    /// At least this value.
    AtLeast(f64),
}

/// One figure.
#[derive(Debug, Default)]
pub struct Row {
    /// Name of the measured quantity.
    pub what: String,
    /// The figure.
    pub value: f64,
    /// Unit of the figure.
    pub unit: &'static str,
    /// The range in which the figure should lie, if a goal was set.
    pub goal: Option<Goal>,
    /// The name and value of a reference, in the same unit.
    pub beside: Option<(String, f64)>,
}

/// All figures, grouped by part.
#[derive(Default)]
pub struct Report {
    part: &'static str,
    rows: Vec<(&'static str, Row)>,
}

impl Row {
    /// Returns a figure without a reference.
    pub fn new(what: impl Into<String>, value: f64, unit: &'static str) -> Self {
        Self { what: what.into(), value, unit, ..Self::default() }
    }

    /// Returns the row with a goal.
    pub fn goal(self, goal: Goal) -> Self {
        Self { goal: Some(goal), ..self }
    }

    /// Returns the row with a reference.
    pub fn beside(self, what: impl Into<String>, value: f64) -> Self {
        Self { beside: Some((what.into(), value)), ..self }
    }

    fn verdict(&self) -> &'static str {
        let met = match self.goal {
            None => return "",
            Some(Goal::AtMost(limit)) => self.value <= limit,
            Some(Goal::AtLeast(limit)) => self.value >= limit,
        };
        if met { "met" } else { "MISSED" }
    }

    fn ratio(&self) -> Option<f64> {
        self.beside.as_ref().map(|(_, reference)| self.value / reference)
    }

    fn cells(&self, part: &str) -> [String; 7] {
        let goal = self.goal.map(|goal| match goal {
            Goal::AtMost(limit) => format!("≤ {}", short(limit)),
            Goal::AtLeast(limit) => format!("≥ {}", short(limit)),
        });
        let beside = self.beside.as_ref().map(|(what, value)| format!("{what}: {}", short(*value)));
        [
            part.to_owned(),
            self.what.clone(),
            format!("{} {}", short(self.value), self.unit),
            goal.unwrap_or_default(),
            self.verdict().to_owned(),
            beside.unwrap_or_default(),
            self.ratio().map(|ratio| format!("{ratio:.2}")).unwrap_or_default(),
        ]
    }

    fn json(&self, part: &str) -> Value {
        let goal = self.goal.map(|goal| match goal {
            Goal::AtMost(limit) => json!({"at_most": limit}),
            Goal::AtLeast(limit) => json!({"at_least": limit}),
        });
        let beside = self.beside.as_ref().map(|(what, value)| json!({"what": what, "value": value}));
        json!({
            "part": part, "what": self.what, "value": self.value, "unit": self.unit, "goal": goal,
            "met": self.goal.map(|_| self.verdict() == "met"), "beside": beside, "ratio": self.ratio(),
        })
    }
}

impl Report {
    /// Sets the part to which the following rows belong.
    pub fn begin(&mut self, part: &'static str) {
        self.part = part;
    }

    /// Adds a figure.
    pub fn add(&mut self, row: Row) {
        self.rows.push((self.part, row));
    }

    /// Returns the figures as a Markdown table.
    pub fn table(&self) -> Table {
        let mut table = Table::new();
        table.load_style(ASCII_MARKDOWN).set_header(["part", "figure", "value", "goal", "", "beside it", "ratio"]);
        for (part, row) in &self.rows {
            table.add_row(row.cells(part));
        }
        for index in [2, 3, 6] {
            if let Some(column) = table.column_mut(index) {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
        table
    }

    /// Returns the figures as a JSON array.
    pub fn json(&self) -> Value {
        self.rows.iter().map(|(part, row)| row.json(part)).collect()
    }
}

/// Formats a figure with about three digits.
fn short(value: f64) -> String {
    match value.abs() {
        magnitude if magnitude >= 100.0 => format!("{value:.0}"),
        magnitude if magnitude >= 10.0 => format!("{value:.1}"),
        magnitude if magnitude >= 1.0 => format!("{value:.2}"),
        _ => format!("{value:.3}"),
    }
}

/// Returns the shortest time of `work` in `rounds` rounds; the time of `prepare` is not counted.
pub fn best_of<T, R>(rounds: usize, mut prepare: impl FnMut() -> T, mut work: impl FnMut(T) -> R) -> Duration {
    let mut once = || {
        let prepared = prepare();
        let started = Instant::now();
        let result = work(prepared);
        let taken = started.elapsed();
        // The result must not be optimised away, and the time of dropping it does not count.
        black_box(result);
        taken
    };
    (0..rounds).map(|_| once()).min().unwrap_or_default()
}

/// Returns a duration in milliseconds.
pub fn ms(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}

/// Returns a count as a figure.
#[expect(clippy::cast_precision_loss, reason = "no count here comes near 2^52")]
pub fn figure(count: usize) -> f64 {
    count as f64
}
