//! Charts as lists of shapes, which a template draws as SVG; nothing is drawn in the browser.

use serde_json::{Value, json};

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

/// Returns rows of a table with bars, of which the longest fills the cell.
pub(super) fn bars(values: Vec<(String, usize)>) -> Vec<Value> {
    let most = values.iter().map(|(_, count)| *count).max().unwrap_or(0).max(1);
    #[expect(clippy::cast_precision_loss, reason = "counts of memories, far below 2^52")]
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

fn rounded(value: f64) -> f64 {
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
