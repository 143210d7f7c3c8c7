//! Charts of the stored memories and of costs, each with a table. A template draws them as SVG; nothing is drawn in the
//! browser.

use std::collections::BTreeMap;

use jiff::civil::Date;
use jiff::{ToSpan as _, Zoned};
use serde_json::{Value, json};

use crate::api::{AGES, ApiError, DaySpending, Filter, Memories, USES};

use super::visit::{Reply, Visit, namespaces, values_of};

/// Number of days in the chart of costs.
const SPENDING_DAYS: u32 = 90;
/// Number of weeks in the chart of growth.
const WEEKS: i64 = 52;
/// Maximum number of rows of a table.
const MAX_ROWS: usize = 12;
/// Number of unused memories that are shown.
const MAX_UNUSED: usize = 10;

/// Shows the charts of all memories, or of one namespace.
pub(super) fn show(memories: &Memories, visit: &Visit) -> Result<Reply, ApiError> {
    let filter = Filter { namespaces: visit.filter().namespaces, ..Filter::default() };
    let (figures, language) = (memories.figures(filter.clone())?, visit.language);
    let named = |table: &str, name: &str| language.text(&format!("{table}.{name}")).unwrap_or(name).to_owned();
    let most = |counts: &BTreeMap<String, usize>, table: &str| {
        let mut counts: Vec<_> = counts.iter().map(|(name, count)| (named(table, name), *count)).collect();
        counts.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        counts.truncate(MAX_ROWS);
        bars(counts)
    };
    let classes = |counts: &[usize], table: &str, ends: Vec<String>| {
        let name = |at: usize| match ends.get(at) {
            Some(end) => named(table, if at == 0 { "first" } else { "up_to" }).replace("{n}", end),
            None => named(table, "more").replace("{n}", ends.last().map_or("", String::as_str)),
        };
        bars(counts.iter().enumerate().map(|(at, count)| (name(at), *count)).collect())
    };
    let spending = memories.spending(SPENDING_DAYS)?;
    Ok(Reply::Page(
        "analytics",
        json!({
            "namespaces": namespaces(memories)?, "namespace": visit.asked("namespace"),
            "total": figures.kinds.values().sum::<usize>(),
            "kinds": most(&figures.kinds, "kind"), "categories": most(&figures.categories, "category"),
            "by_namespace": most(&figures.namespaces, "namespace"),
            "growth": growth(&figures.learnt, |day| language.time(&day.to_string(), "day")),
            "uses": classes(&figures.uses, "uses", USES.map(|end| end.to_string()).to_vec()),
            "ages": classes(&figures.ages, "ages", AGES.map(|end| end.to_string()).to_vec()),
            "unused": memories.never_used(filter, MAX_UNUSED)?.iter().map(|memory| json!({"memory": values_of(memory)})).collect::<Vec<_>>(),
            "unused_total": figures.uses[0],
            "spending": spending_chart(&spending, |day| language.time(&day.to_string(), "day")),
            "models": models(&spending),
            "failures": failures(memories)?,
        }),
    ))
}

/// Returns the chart of the memories that were learnt in each of the last weeks.
fn growth(learnt: &BTreeMap<i64, usize>, spell: impl Fn(Date) -> String) -> Value {
    let epoch = Date::constant(1970, 1, 1);
    // Days since 1970 began on a Thursday; weeks begin on Monday.
    let week = |day: i64| (day + 3).div_euclid(7);
    let today = i64::from((Zoned::now().date() - epoch).get_days());
    let mut weeks: BTreeMap<i64, usize> = (week(today) - WEEKS + 1..=week(today)).map(|week| (week, 0)).collect();
    for (day, count) in learnt {
        if let Some(known) = weeks.get_mut(&week(*day)) {
            *known += count;
        }
    }
    // A year of empty weeks before the first memory would be uninformative.
    let first = weeks.iter().find(|(_, count)| **count > 0).map_or(week(today), |(week, _)| *week);
    let first = first.min(week(today) - 7);
    #[expect(clippy::cast_precision_loss, reason = "memory counts are far below 2^52")]
    let value = |(week, count): (i64, usize)| (spell(epoch.saturating_add((week * 7 - 3).days())), count as f64);
    let values: Vec<(String, f64)> = weeks.into_iter().filter(|(week, _)| *week >= first).map(value).collect();
    columns(&values, |value| format!("{value:.0}"))
}

/// Returns the chart of the cost of each day, in dollars, or in tokens if no price is known.
fn spending_chart(spending: &[DaySpending], spell: impl Fn(Date) -> String) -> Value {
    if spending.is_empty() {
        return Value::Null;
    }
    let has_prices = spending.iter().any(|day| day.cost.is_some());
    let mut days: BTreeMap<Date, f64> = BTreeMap::new();
    for day in spending {
        #[expect(clippy::cast_precision_loss, reason = "the number of tokens in a day is far below 2^52")]
        let tokens = (day.spent.prompt_tokens + day.spent.completion_tokens) as f64;
        *days.entry(day.spent.day).or_default() += if has_prices { day.cost.unwrap_or(0.0) } else { tokens };
    }
    let values: Vec<(String, f64)> = days.into_iter().map(|(day, value)| (spell(day), value)).collect();
    let chart = columns(&values, |value| if has_prices { format!("${value:.2}") } else { format!("{value:.0}") });
    json!({"chart": chart, "has_prices": has_prices})
}

/// Returns the calls, tokens and cost of each model.
fn models(spending: &[DaySpending]) -> Vec<Value> {
    let mut models: BTreeMap<&str, (u64, u64, Option<f64>)> = BTreeMap::new();
    for day in spending {
        let known = models.entry(&day.spent.model).or_default();
        known.0 += day.spent.calls;
        known.1 += day.spent.prompt_tokens + day.spent.completion_tokens;
        known.2 = day.cost.map(|cost| known.2.unwrap_or(0.0) + cost).or(known.2);
    }
    let row = |(model, (calls, tokens, cost)): (&str, (u64, u64, Option<f64>))| json!({"model": model, "calls": calls, "tokens": tokens, "cost": cost});
    models.into_iter().map(row).collect()
}

/// Returns the errors of extraction, the most frequent first.
fn failures(memories: &Memories) -> Result<Vec<Value>, ApiError> {
    let mut failures: BTreeMap<String, usize> = BTreeMap::new();
    for window in memories.failed_windows()? {
        *failures.entry(window.error.unwrap_or_default()).or_default() += 1;
    }
    let mut failures: Vec<_> = failures.into_iter().collect();
    failures.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    failures.truncate(MAX_ROWS);
    Ok(failures.into_iter().map(|(error, count)| json!({"error": error, "count": count})).collect())
}

/// Size of the drawing, in SVG units.
const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 180.0;
/// Room for the numbers on the left and for the labels below.
const LEFT: f64 = 44.0;
const BELOW: f64 = 22.0;
const ABOVE: f64 = 8.0;
/// Maximum number of labels below the columns.
// A Chinese date takes up an eighth of the width.
const LABELS: usize = 6;

/// Returns a chart of columns, one for each value, in the given order. `spell` formats the numbers of the scale.
pub(super) fn columns(values: &[(String, f64)], spell: impl Fn(f64) -> String) -> Value {
    let most = values.iter().map(|(_, value)| *value).fold(0.0, f64::max);
    let top = round_up(most);
    let (inner, floor) = (WIDTH - LEFT, HEIGHT - BELOW);
    #[expect(clippy::cast_precision_loss, reason = "a chart has few columns")]
    let (place, step) = (|at: usize| at as f64, inner / values.len().max(1) as f64);
    let bar = |(at, (label, value)): (usize, &(String, f64))| {
        let height = if top > 0.0 { (floor - ABOVE) * value / top } else { 0.0 };
        // A small value must not look like zero.
        let height = if *value > 0.0 { height.max(1.5) } else { 0.0 };
        json!({
            "x": rounded(LEFT + step * place(at) + step * 0.1), "y": rounded(floor - height),
            "width": rounded((step * 0.8).min(48.0)), "height": rounded(height), "label": label, "value": spell(*value),
        })
    };
    let every = values.len().div_ceil(LABELS).max(1);
    let labels: Vec<Value> = values
        .iter()
        .enumerate()
        .step_by(every)
        .map(|(at, (label, _))| json!({"x": rounded(LEFT + step * place(at) + step * 0.1), "text": label}))
        .collect();
    let tick = |share: f64| json!({"y": rounded(floor - (floor - ABOVE) * share), "text": spell(top * share)});
    let ticks = [0.0, 0.5, 1.0].map(tick);
    json!({
        "width": WIDTH, "height": HEIGHT, "left": LEFT, "floor": floor,
        "bars": values.iter().enumerate().map(bar).collect::<Vec<_>>(),
        "labels": labels, "ticks": ticks,
    })
}

/// Returns rows of a table with bars, the longest of which fills its cell.
pub(super) fn bars(values: Vec<(String, usize)>) -> Vec<Value> {
    let most = values.iter().map(|(_, count)| *count).max().unwrap_or(0).max(1);
    #[expect(clippy::cast_precision_loss, reason = "memory counts are far below 2^52")]
    let share = |count: usize| rounded(100.0 * count as f64 / most as f64);
    values.into_iter().map(|(name, count)| json!({"name": name, "count": count, "share": share(count)})).collect()
}

/// Returns the smallest even number not less than `most` that has one or two digits before its zeros.
fn round_up(most: f64) -> f64 {
    if most <= 0.0 {
        return 0.0;
    }
    let unit = 10_f64.powf(most.log10().floor());
    [1.0, 2.0, 4.0, 6.0, 8.0, 10.0].into_iter().map(|digit| digit * unit).find(|top| *top >= most).unwrap_or(most)
}

pub(super) fn rounded(value: f64) -> f64 {
    (value * 10.0).round() / 10.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_reach_from_the_floor_to_a_round_number_above_the_highest() {
        let values = [("a".to_owned(), 0.0), ("b".to_owned(), 3.0), ("c".to_owned(), 1.5)];
        let chart = columns(&values, |value| format!("{value}"));
        assert_eq!(chart["ticks"][2]["text"], "4");
        let bars = chart["bars"].as_array().unwrap();
        assert_eq!(bars[0]["height"], json!(0.0));
        assert_eq!(bars[1]["height"], json!(112.5));
        assert_eq!((&bars[1]["y"], &chart["floor"]), (&json!(45.5), &json!(158.0)));
        assert_eq!(columns(&[], |value| format!("{value}"))["bars"], json!([]));
        assert_eq!(bars[2]["label"], "c");
        let tops = [3.0, 11.0, 0.07, 4_100.0].map(|most| round_up(most).to_string());
        assert_eq!(tops, ["4", "20", "0.08", "6000"]);
    }
}
