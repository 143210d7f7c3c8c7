//! Tables of the closed loop: the figures of each arm, and the comparisons of the protocol.

use crate::blocks::{Block, Cell, Rating, table};
use crate::compare::{Difference, differences, holm};
use crate::measure::Unit;
use crate::results::{Results, float};
use crate::tally::{Tally, wilson};
use crate::vocabulary::{Arm, Kind, TaskKind};

/// The comparisons of an arm with a reference arm, each with the hypothesis that it tests. The p-values of hypotheses
/// about lesson tasks are corrected together.
const COMPARISONS: &[(Arm, Arm, [&str; 2])] = &[
    (Arm::Both, Arm::None, ["H1", "H3"]),
    (Arm::Act, Arm::Preamble, ["H2", ""]),
    (Arm::Preamble, Arm::None, ["", ""]),
    (Arm::Act, Arm::None, ["", ""]),
    (Arm::Ceiling, Arm::None, ["", ""]),
    (Arm::Harm, Arm::None, ["", ""]),
    (Arm::Random, Arm::None, ["control", "control"]),
    (Arm::All, Arm::None, ["control", "control"]),
    (Arm::Other, Arm::None, ["control", "control"]),
    (Arm::NoHint, Arm::None, ["control", "control"]),
];

/// Returns the tables for the rows of the closed loop, if there are any.
pub(crate) fn tables(results: &Results) -> Vec<Block> {
    let tallies: Vec<Tally> =
        Tally::all(results).into_iter().filter(|tally| tally.kind == Kind::Loop.as_str()).collect();
    if tallies.is_empty() {
        return Vec::new();
    }
    let of = |kind: TaskKind, arm: Arm| tallies.iter().find(|tally| tally.suite == format!("{kind}: {arm}"));
    let mut blocks = Vec::new();
    for (place, &kind) in TaskKind::ALL.iter().enumerate() {
        let arms: Vec<(Arm, &Tally)> = Arm::ALL.iter().filter_map(|&arm| Some((arm, of(kind, arm)?))).collect();
        if arms.is_empty() {
            continue;
        }
        blocks.push(Block::Heading(format!("{kind} tasks by arm")));
        blocks.push(arm_table(&arms));
        let compared = COMPARISONS.iter().filter_map(|(arm, reference, names)| {
            Some((names[place], *arm, *reference, solved(of(kind, *reference)?, of(kind, *arm)?)?))
        });
        blocks.extend(comparison_table(compared.collect()));
    }
    // H4 covers all tasks together.
    let together = |arm: Arm| {
        let mut parts = TaskKind::ALL.iter().filter_map(|&kind| of(kind, arm)).cloned();
        let mut all = parts.next()?;
        parts.for_each(|part| all.cases.extend(part.cases));
        Some(all)
    };
    if let (Some(none), Some(harm)) = (together(Arm::None), together(Arm::Harm))
        && let Some(compared) = solved(&none, &harm)
    {
        blocks.push(Block::Heading("all tasks".to_owned()));
        blocks.extend(comparison_table(vec![("H4", Arm::Harm, Arm::None, compared)]));
    }
    blocks
}

fn arm_table(arms: &[(Arm, &Tally)]) -> Block {
    let names = arms[0].1.measures.iter().map(|measure| measure.name.clone());
    let header: Vec<String> = ["arm".to_owned(), "tasks".to_owned()].into_iter().chain(names).collect();
    let row = |(arm, tally): &(Arm, &Tally)| {
        let tasks = tally.cases.len();
        let values = tally.over(&tally.everything());
        let cells = tally.measures.iter().zip(values).enumerate().map(|(at, (measure, value))| {
            let text = measure.unit.format(value);
            // Repetitions do not make the interval narrower, because they are not independent.
            let measured = tally.cases.iter().filter(|case| case.ratios[at].denominator > 0.0).count();
            match value.filter(|_| measure.unit == Unit::Share) {
                Some(value) => {
                    let (low, high) = wilson(value, float(measured));
                    Cell::plain(format!("{text} ({low:.2}–{high:.2})"))
                }
                None => Cell::plain(text),
            }
        });
        [Cell::plain(arm.as_str()), Cell::plain(tasks.to_string())].into_iter().chain(cells).collect()
    };
    table(&header, arms.iter().map(row))
}

/// A comparison of the share of solved tasks.
type Compared = (usize, Difference);

/// Returns the difference in solved tasks between two arms, and the number of tasks that both arms have.
fn solved(reference: &Tally, arm: &Tally) -> Option<Compared> {
    let pairs = reference.pairs(arm);
    let found = differences(reference, arm, &pairs).into_iter().find(|difference| difference.name == "solved")?;
    Some((pairs.len(), found))
}

fn comparison_table(compared: Vec<(&str, Arm, Arm, Compared)>) -> Option<Block> {
    if compared.is_empty() {
        return None;
    }
    let tested = |name: &str| matches!(name, "H1" | "H2");
    let chances: Vec<Option<f64>> =
        compared.iter().map(|(name, _, _, (_, found))| found.p.filter(|_| tested(name))).collect();
    let corrected = holm(&chances);
    let row = |((name, arm, reference, (tasks, found)), corrected): ((&str, Arm, Arm, Compared), Option<f64>)| {
        let number = |value: Option<f64>| value.map_or_else(|| "–".to_owned(), |value| format!("{value:.3}"));
        let signed = |value: Option<f64>| value.map_or_else(|| "–".to_owned(), |value| format!("{value:+.3}"));
        let interval = found
            .interval
            .map_or_else(|| "–".to_owned(), |interval| format!("{:+.3} to {:+.3}", interval.low, interval.high));
        [
            name.to_owned(),
            format!("{arm} − {reference}"),
            tasks.to_string(),
            signed(found.difference),
            interval,
            number(found.p),
            number(corrected),
            number(found.least),
        ]
        .into_iter()
        .map(|text| Cell::new(text, Rating::Plain))
        .collect()
    };
    let header = ["", "solved", "tasks", "difference", "95 % interval", "p", "p of H1, H2", "detectable"];
    Some(table(&header, compared.into_iter().zip(corrected).map(row)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::{Manifest, Row};

    #[test]
    fn arms_are_compared_by_task_and_kinds_are_kept_apart() {
        let mut rows = Vec::new();
        for (kind, arm, right) in [
            (TaskKind::Lesson, Arm::None, 0),
            (TaskKind::Lesson, Arm::Both, 6),
            (TaskKind::Stale, Arm::None, 6),
            (TaskKind::Stale, Arm::Both, 6),
        ] {
            for at in 0..6 {
                let mut row = Row { suite: format!("{kind}: {arm}"), ..Row::new(Kind::Loop, format!("{kind}-{at}")) };
                row.yes("solved", at < right);
                rows.push(row);
            }
        }
        let blocks = tables(&Results::new(Manifest::default(), rows));
        let text = format!("{blocks:?}");
        assert!(text.contains("0.000 (0.00–0.39)") && text.contains("1.000 (0.61–1.00)"), "{text}");
        let of = |at: usize| match &blocks[at] {
            Block::Table(rows) => rows[1].iter().map(|cell| cell.text.clone()).collect::<Vec<_>>(),
            other => panic!("{other:?}"),
        };
        let expected = ["H1", "both − none", "6", "+1.000", "+1.000 to +1.000", "0.031", "0.031", "–"];
        assert_eq!(of(2), expected);
        assert_eq!(of(5)[..4], ["H3", "both − none", "6", "+0.000"]);
        assert_eq!(tables(&Results::new(Manifest::default(), Vec::new())), []);
    }
}
