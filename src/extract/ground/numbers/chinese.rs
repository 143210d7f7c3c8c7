//! Numbers spelled in Chinese, as a whole or with digits before them.

use super::digits::{Number, noun};
use super::unit::unit;

/// Returns the Chinese numbers of `text`.
pub(super) fn chinese(text: &str) -> Vec<Number> {
    let is_part = |c: char| numeral(c).is_some() || power(c).is_some() || c == '半';
    let (mut found, mut from) = (Vec::new(), 0);
    while let Some(start) = text[from..].find(is_part).map(|offset| from + offset) {
        let end = text[start..].find(|c| !is_part(c)).map_or(text.len(), |length| start + length);
        from = end;
        let after = &text[end..];
        let mut readings = chinese_readings(&text[start..end]);
        if after.starts_with('成') {
            readings.extend(readings.clone().iter().map(|value| value * 10.0));
        }
        found.push(Number {
            at: start..end,
            readings,
            chain: String::new(),
            unit: unit(after),
            noun: noun(after),
            is_scaled: false,
        });
    }
    found
}

fn numeral(c: char) -> Option<u32> {
    match c {
        '〇' | '零' => Some(0),
        '两' | '兩' | '俩' => Some(2),
        '仨' => Some(3),
        c => "一二三四五六七八九".chars().position(|other| other == c).and_then(|at| u32::try_from(at + 1).ok()),
    }
}

fn power(c: char) -> Option<f64> {
    Some(match c {
        '十' => 10.0,
        '百' => 100.0,
        '千' => 1_000.0,
        '万' | '萬' => 10_000.0,
        '亿' | '億' => 100_000_000.0,
        _ => return None,
    })
}

/// Reads 三百二十, 一万二 (12,000), 二〇二五 and 两个半's 半.
fn chinese_readings(run: &str) -> Vec<f64> {
    let (mut total, mut section, mut open, mut last) = (0.0, 0.0, None::<f64>, 1.0);
    let mut is_after_zero = false;
    for c in run.chars() {
        if let Some(value) = numeral(c) {
            is_after_zero = value == 0;
            open = Some(f64::from(value)).filter(|value| *value > 0.0);
        } else if let Some(power) = power(c) {
            if power >= 10_000.0 {
                total = (total + section + open.take().unwrap_or(0.0)).max(1.0) * power;
                section = 0.0;
            } else {
                section += open.take().unwrap_or(1.0) * power;
            }
            (last, is_after_zero) = (power, false);
        }
    }
    let tail = open.unwrap_or(0.0);
    let mut readings = vec![total + section + tail];
    if last > 10.0 && tail > 0.0 && !is_after_zero {
        readings.push(total + section + tail * last / 10.0);
    }
    let digits: String = run.chars().filter_map(numeral).filter_map(|d| char::from_digit(d, 10)).collect();
    if digits.len() > 1 && digits.len() == run.chars().count() {
        readings.extend(digits.parse::<f64>().ok());
    }
    if run.contains('半') {
        readings.extend([0.5, readings[0] + 0.5]);
    }
    readings
}
