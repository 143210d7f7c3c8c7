//! Numbers spelled in words: English, German, Spanish, Chinese.

use std::ops::Range;

use super::chinese::chinese;
use super::digits::{Number, noun};
use super::unit::unit;

const ONES: [&str; 20] = [
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
];
const TENS: [&str; 8] = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"];
const GERMAN: [&str; 20] = [
    "null",
    "ein",
    "zwei",
    "drei",
    "vier",
    "fünf",
    "sechs",
    "sieben",
    "acht",
    "neun",
    "zehn",
    "elf",
    "zwölf",
    "dreizehn",
    "vierzehn",
    "fünfzehn",
    "sechzehn",
    "siebzehn",
    "achtzehn",
    "neunzehn",
];
const GERMAN_TENS: [&str; 8] = ["zwanzig", "dreißig", "vierzig", "fünfzig", "sechzig", "siebzig", "achtzig", "neunzig"];
const SPANISH: [&str; 30] = [
    "cero",
    "uno",
    "dos",
    "tres",
    "cuatro",
    "cinco",
    "seis",
    "siete",
    "ocho",
    "nueve",
    "diez",
    "once",
    "doce",
    "trece",
    "catorce",
    "quince",
    "dieciséis",
    "diecisiete",
    "dieciocho",
    "diecinueve",
    "veinte",
    "veintiuno",
    "veintidós",
    "veintitrés",
    "veinticuatro",
    "veinticinco",
    "veintiséis",
    "veintisiete",
    "veintiocho",
    "veintinueve",
];
const SPANISH_TENS: [&str; 7] = ["treinta", "cuarenta", "cincuenta", "sesenta", "setenta", "ochenta", "noventa"];
const SPANISH_HUNDREDS: [&str; 8] =
    ["doscient", "trescient", "cuatrocient", "quinient", "seiscient", "setecient", "ochocient", "novecient"];

/// What a word does in a spelled number.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Part {
    /// Adds this much; 0–9, 10–19 and a whole German or Spanish word stand at the end of a group of hundreds.
    Value(u32),
    /// Multiplies what stands before it.
    Scale(u32),
    /// Stands by itself for any of these.
    Loose(&'static [f64]),
    /// Joins.
    And,
}

/// Returns the numbers of `text` that are spelled in words.
pub(super) fn in_words(text: &str) -> Vec<Number> {
    let mut found = Vec::new();
    let mut open: Vec<(Range<usize>, Part)> = Vec::new();
    let mut words = words(text).peekable();
    while let Some(at) = words.next() {
        let is_apart = open.last().is_some_and(|(last, _)| text[last.end..at.start].contains([',', ';', '.', ':']));
        let is_scaled = words.peek().is_some_and(|next| is_scale(&text[next.clone()]));
        // "forty thousand, three days early" tells two numbers, "one million, two hundred thousand" one.
        if is_apart && !is_scaled {
            found.extend(close(text, &mut open));
        }
        let part = part(&text[at.clone()].to_lowercase());
        match part {
            Some(Part::And) if open.is_empty() => {}
            Some(part) => open.push((at, part)),
            None => found.extend(close(text, &mut open)),
        }
    }
    found.extend(close(text, &mut open));
    found.extend(chinese(text));
    found
}

fn is_scale(word: &str) -> bool {
    matches!(part(&word.to_lowercase()), Some(Part::Scale(_)))
}

fn words(text: &str) -> impl Iterator<Item = Range<usize>> + '_ {
    let mut from = 0;
    std::iter::from_fn(move || {
        let start = from + text[from..].find(char::is_alphabetic)?;
        from = text[start..].find(|c: char| !c.is_alphabetic()).map_or(text.len(), |length| start + length);
        Some(start..from)
    })
}

fn position(table: &[&str], word: &str) -> Option<u32> {
    table.iter().position(|one| *one == word).and_then(|at| u32::try_from(at).ok())
}

fn part(word: &str) -> Option<Part> {
    if let Some(value) = position(&ONES, word).or_else(|| position(&TENS, word).map(|at| 20 + 10 * at)) {
        return Some(Part::Value(value));
    }
    Some(match word {
        "and" | "y" | "a" | "an" => Part::And,
        "oh" => Part::Value(0),
        "hundred" | "hundreds" => Part::Scale(100),
        "thousand" | "thousands" | "mil" | "tausend" => Part::Scale(1_000),
        "million" | "millions" | "millionen" | "millón" | "millones" => Part::Scale(1_000_000),
        "billion" | "milliarde" | "milliarden" => Part::Scale(1_000_000_000),
        "dozen" | "dozens" | "dutzend" | "docena" => Part::Scale(12),
        "cien" | "ciento" => Part::Value(100),
        "half" | "halbe" | "halben" | "halb" | "halbes" | "media" | "medio" | "mitad" | "hälfte" => {
            Part::Loose(&[0.5, 50.0, 30.0])
        }
        "quarter" | "viertel" | "cuarto" => Part::Loose(&[0.25, 25.0, 15.0, 4.0]),
        "once" | "einmal" => Part::Loose(&[1.0, 11.0]),
        "twice" | "double" | "couple" | "pair" | "both" | "doppelt" | "beide" | "zwo" | "doble" | "ambos" => {
            Part::Loose(&[2.0])
        }
        "triple" | "thrice" => Part::Loose(&[3.0]),
        "anderthalb" | "eineinhalb" => Part::Loose(&[1.5]),
        "decade" | "jahrzehnt" | "década" => Part::Loose(&[10.0]),
        "fortnight" => Part::Loose(&[2.0, 14.0]),
        word => Part::Value(ordinal(word).or_else(|| german(word)).or_else(|| spanish(word))?),
    })
}

fn ordinal(word: &str) -> Option<u32> {
    match word {
        "first" => Some(1),
        "second" => Some(2),
        "third" => Some(3),
        "fifth" => Some(5),
        "eighth" => Some(8),
        "ninth" => Some(9),
        "twelfth" => Some(12),
        word => {
            let stem = word.strip_suffix("th")?;
            let tens = stem.strip_suffix("tie").and_then(|stem| position(&TENS, &format!("{stem}ty")));
            position(&ONES, stem).or_else(|| tens.map(|at| 20 + 10 * at))
        }
    }
}

fn german(word: &str) -> Option<u32> {
    let plain = word.replace("dreissig", "dreißig").replace("fuenf", "fünf").replace("zwoelf", "zwölf");
    let word = plain.as_str();
    let tens = |word: &str| position(&GERMAN_TENS, word).map(|at| 20 + 10 * at);
    if let Some(value) = position(&GERMAN, word).or_else(|| tens(word)) {
        return Some(value);
    }
    if word == "eins" {
        return Some(1);
    }
    for (name, scale) in [("tausend", 1_000), ("hundert", 100)] {
        if let Some((many, rest)) = word.split_once(name) {
            let many = if many.is_empty() { 1 } else { german(many)? };
            let rest = rest.strip_prefix("und").unwrap_or(rest);
            return Some(many * scale + if rest.is_empty() { 0 } else { german(rest)? });
        }
    }
    let (ones, rest) = word.split_once("und")?;
    Some(position(&GERMAN, ones).filter(|value| *value < 10)? + tens(rest)?)
}

fn spanish(word: &str) -> Option<u32> {
    let stem = word.strip_suffix("os").or_else(|| word.strip_suffix("as"));
    position(&SPANISH, word)
        .or_else(|| position(&SPANISH_TENS, word).map(|at| 30 + 10 * at))
        .or_else(|| position(&SPANISH_HUNDREDS, stem?).map(|at| 200 + 100 * at))
}

/// Turns the words of one number into its readings.
fn close(text: &str, open: &mut Vec<(Range<usize>, Part)>) -> Option<Number> {
    while open.last().is_some_and(|(_, part)| *part == Part::And) {
        open.pop();
    }
    let (start, end) = (open.first()?.0.start, open.last()?.0.end);
    let mut readings = Vec::new();
    let (mut groups, mut total, mut group): (Vec<f64>, f64, f64) = (Vec::new(), 0.0, 0.0);
    let (mut smallest, mut is_and_a_half) = (f64::INFINITY, false);
    for (_, part) in open.drain(..) {
        match part {
            Part::And => {}
            Part::Loose(values) => {
                is_and_a_half = values.contains(&0.5);
                readings.extend(values);
            }
            Part::Value(value) => {
                let value = f64::from(value);
                // "twenty five" goes on, "two fifty" and "nineteen ninety" start anew.
                let fits = smallest >= 100.0 || smallest >= 20.0 && value < 10.0;
                if !fits {
                    groups.push(total + group);
                    (total, group) = (0.0, 0.0);
                }
                group += value;
                smallest = if value < 20.0 {
                    1.0
                } else if value < 100.0 {
                    20.0
                } else {
                    100.0
                };
            }
            Part::Scale(scale) if is_and_a_half => readings.push((total + group + 0.5) * f64::from(scale)),
            Part::Scale(scale) if scale > 100 => {
                total += group.max(1.0) * f64::from(scale);
                (group, smallest) = (0.0, f64::INFINITY);
            }
            Part::Scale(scale) => {
                group = group.max(1.0) * f64::from(scale);
                smallest = f64::INFINITY;
            }
        }
    }
    if total + group > 0.0 || readings.is_empty() {
        groups.push(total + group);
    }
    let joined: String = groups.iter().map(f64::to_string).collect();
    if let (true, Some(whole)) = (readings.contains(&0.5), groups.last()) {
        readings.push(whole + 0.5);
    }
    readings.splice(0..0, joined.parse::<f64>().ok().filter(|value| value.is_finite()));
    readings.extend(groups);
    let after = &text[end..];
    Some(Number {
        at: start..end,
        readings,
        chain: String::new(),
        unit: unit(after),
        noun: noun(after),
        is_scaled: false,
    })
}
