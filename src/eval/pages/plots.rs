//! The plots: quality against cost, and each phenomenon with its interval.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::svg::{Anchor, bar, figure, line, point, round_up, text};
use super::{Topic, cost_of, letter, number};
use crate::eval::interval::Interval;
use crate::eval::rows::{Better, RowUnit};
use crate::eval::tally::{By, CaseTally, Tally};

/// Measures that stand for a whole kind, the best first.
const PRINCIPAL: [&str; 5] = ["F1", "all right", "streams", "retention", "r@10"];
/// Colours there are.
const COLOURS: usize = 6;

/// Returns the place of the measure that stands for all of them.
pub(super) fn principal(tally: &Tally) -> Option<usize> {
    let named = |name: &str| tally.measures.iter().position(|measure| measure.name == name);
    let share = || tally.measures.iter().position(|one| one.unit == RowUnit::Share && one.better == Better::Higher);
    PRINCIPAL.iter().find_map(|name| named(name)).or_else(share)
}

pub(super) fn colour(run: usize) -> String {
    format!("run{}", run % COLOURS)
}

/// A value with its interval.
#[derive(Debug, Clone, Copy)]
struct Seen {
    value: Option<f64>,
    interval: Option<Interval>,
    cases: usize,
}

fn seen(tally: &Tally, at: usize, cases: &[&CaseTally]) -> Seen {
    let interval = tally.intervals(cases).get(at).copied().flatten();
    Seen { value: tally.over(cases).get(at).copied().flatten(), interval, cases: cases.len() }
}

fn told(name: &str, seen: &Seen) -> String {
    let bounds = seen.interval.map_or_else(String::new, |one| format!(" ({:.3} to {:.3})", one.low, one.high));
    let cases = if seen.cases == 1 { "1 case".to_owned() } else { format!("{} cases", seen.cases) };
    format!("{name}: {}{bounds}, {cases}", number(seen.value, RowUnit::Share))
}

/// What is on the axis of cost.
struct Costs {
    what: &'static str,
    each: Vec<f64>,
}

#[expect(clippy::cast_precision_loss, reason = "tokens and cases are far below 2^52")]
fn costs(topic: &Topic<'_>) -> Costs {
    let spent: Vec<_> = topic
        .runs
        .iter()
        .map(|(_, results, tally)| (cost_of(results, &tally.suite), tally.cases.len().max(1) as f64))
        .collect();
    if spent.iter().all(|(cost, _)| cost.money.is_some()) && spent.iter().any(|(cost, _)| cost.money > Some(0.0)) {
        let each = spent.iter().map(|(cost, cases)| cost.money.unwrap_or_default() / cases).collect();
        return Costs { what: "dollars a case", each };
    }
    let tokens = |cost: &crate::eval::rows::Spent| (cost.prompt_tokens + cost.completion_tokens) as f64;
    Costs { what: "tokens a case", each: spent.iter().map(|(cost, cases)| tokens(cost) / cases).collect() }
}

/// Returns each run as a point: what it costs and how good it is.
pub(super) fn against_cost(topic: &Topic<'_>, id: &str) -> Option<String> {
    let at = principal(&topic.runs.first()?.2)?;
    let measure = topic.runs.first()?.2.measures[at].name.clone();
    let costs = costs(topic);
    let end = round_up(costs.each.iter().copied().fold(0.0, f64::max));
    let (left, top, wide, high) = (48.0, 30.0, 530.0, 210.0);
    let x = |cost: f64| left + cost / end * wide;
    let y = |value: f64| top + (1.0 - value.clamp(0.0, 1.0)) * high;
    let mut drawn = String::new();
    for step in 0..=4 {
        let value = f64::from(step) / 4.0;
        drawn += &line((left, y(value)), (left + wide, y(value)), "grid");
        drawn += &text((left - 8.0, y(value) + 4.0), Anchor::End, "tick", &format!("{value:.2}"));
        let cost = end * value;
        drawn += &text((x(cost), top + high + 18.0), Anchor::Middle, "tick", &amount(cost));
    }
    drawn += &text((left + wide / 2.0, top + high + 38.0), Anchor::Middle, "axis", costs.what);
    drawn += &text((left, top - 14.0), Anchor::Start, "axis", &measure);
    let mut words = Vec::new();
    for ((run, results, tally), cost) in topic.runs.iter().zip(&costs.each) {
        let seen = seen(tally, principal(tally)?, &tally.everything());
        let Some(value) = seen.value else { continue };
        let name = format!("{} {}", letter(*run), results.manifest.label);
        let sentence = format!("{}, {} {}", told(&name, &seen), amount(*cost), costs.what);
        if let Some(bounds) = seen.interval {
            drawn += &line((x(*cost), y(bounds.low)), (x(*cost), y(bounds.high)), &format!("whisker {}", colour(*run)));
        }
        drawn += &point((x(*cost), y(value)), &colour(*run), &sentence);
        let (side, anchor) = if x(*cost) > left + wide * 0.7 { (-11.0, Anchor::End) } else { (11.0, Anchor::Start) };
        drawn += &text((x(*cost) + side, y(value) - 7.0), anchor, "label", &name);
        words.push(sentence);
    }
    let title = format!("{measure} against {}", costs.what);
    Some(figure(id, (600.0, 280.0), &title, &words.join("; "), &drawn))
}

fn amount(value: f64) -> String {
    match value {
        0.0 => "0".to_owned(),
        value if value < 0.01 => format!("{value:.4}"),
        value if value < 10.0 => format!("{value:.2}"),
        value => format!("{value:.0}"),
    }
}

/// Returns the principal measure by phenomenon, a bar for each run.
pub(super) fn by_phenomenon(topic: &Topic<'_>, id: &str) -> Option<String> {
    let at = principal(&topic.runs.first()?.2)?;
    let measure = topic.runs.first()?.2.measures[at].name.clone();
    let names: BTreeSet<String> = topic
        .runs
        .iter()
        .flat_map(|(_, _, tally)| tally.groups(By::Phenomenon).into_iter().map(|(name, _)| name))
        .collect();
    if names.is_empty() {
        return None;
    }
    let (left, wide, thick) = (200.0, 780.0, 11.0);
    let x = |value: f64| left + value.clamp(0.0, 1.0) * wide;
    let (mut drawn, mut words, mut y) = (String::new(), Vec::new(), 26.0);
    for name in &names {
        let begun = y;
        for (run, results, tally) in &topic.runs {
            let Some(at) = principal(tally) else { continue };
            let groups = tally.groups(By::Phenomenon);
            let Some((_, cases)) = groups.iter().find(|(group, _)| group == name) else { continue };
            let seen = seen(tally, at, cases);
            let who = if topic.runs.len() > 1 {
                format!("{name}, {} {}", letter(*run), results.manifest.label)
            } else {
                name.clone()
            };
            let sentence = told(&who, &seen);
            drawn += &bar((left, y), (x(seen.value.unwrap_or_default()) - left, thick), &colour(*run), &sentence);
            if let Some(bounds) = seen.interval {
                let middle = y + thick / 2.0;
                drawn += &line((x(bounds.low), middle), (x(bounds.high), middle), "whisker ink");
                for end in [bounds.low, bounds.high] {
                    drawn += &line((x(end), middle - 3.5), (x(end), middle + 3.5), "whisker ink");
                }
            }
            let told = format!("{}  n={}", number(seen.value, RowUnit::Share), seen.cases);
            drawn += &text((left + wide + 10.0, y + thick - 1.0), Anchor::Start, "tick", &told);
            words.push(sentence);
            y += thick + 2.0;
        }
        drawn += &text((left - 10.0, f64::midpoint(begun, y) + 3.0), Anchor::End, "label", &short(name));
        y += 7.0;
    }
    let mut grid = String::new();
    for step in 0..=4 {
        let value = f64::from(step) / 4.0;
        grid += &line((x(value), 18.0), (x(value), y), "grid");
        grid += &text((x(value), 12.0), Anchor::Middle, "tick", &format!("{value:.2}"));
    }
    let title = format!("{measure} by phenomenon, with 95 % intervals");
    Some(figure(id, (1090.0, y + 6.0), &title, &words.join("; "), &(grid + &drawn)))
}

/// Returns `name` as long as the plot has room for.
fn short(name: &str) -> String {
    const ROOM: usize = 30;
    if name.chars().count() <= ROOM { name.to_owned() } else { name.chars().take(ROOM - 1).chain(['…']).collect() }
}

/// Returns what stands for the runs in the plots.
pub(super) fn legend(topic: &Topic<'_>) -> String {
    let mut told = String::from("<p class=\"legend\">");
    for (run, results, _) in &topic.runs {
        let label = super::svg::escaped(&results.manifest.label);
        write!(told, "<span><i class=\"{}\"></i>{} {label}</span>", colour(*run), letter(*run))
            .expect("writing to a String cannot fail");
    }
    told + "</p>\n"
}
