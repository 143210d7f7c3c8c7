//! Numbers written in digits, in every way in which people group, scale and join them.

use std::ops::Range;

use super::super::super::quote::is_wide;
use super::unit::{Unit, unit};

/// A number in a text.
#[derive(Debug, Clone, PartialEq)]
pub(in super::super) struct Number {
    /// Where it stands, without its unit.
    pub(in super::super) at: Range<usize>,
    /// What it may come to; "1,234" has two readings, a version or a clock time possibly none.
    pub(super) readings: Vec<f64>,
    /// Its digits with points between the parts of a version and colons between those of a time; else empty.
    pub(super) chain: String,
    /// What is counted, where that is a unit of time, data, length, mass or a share.
    pub(super) unit: Option<Unit>,
    /// The word that follows, without its ending.
    pub(super) noun: String,
    /// Whether it was scaled by a word or sign as in "12k", so that its first reading is the one that counts.
    pub(super) is_scaled: bool,
}

/// Returns the value of a digit: ASCII, full width, Arabic or Devanagari.
pub(in super::super) fn digit(c: char) -> Option<u32> {
    let code = u32::from(c);
    [u32::from('0'), 0xff10, 0x660, 0x6f0, 0x966]
        .into_iter()
        .find_map(|zero| code.checked_sub(zero).filter(|d| *d < 10))
}

/// Returns the numbers of `text` that are written in digits, in order.
pub(super) fn in_digits(text: &str) -> Vec<Number> {
    let (mut found, mut from) = (Vec::new(), 0);
    while let Some(offset) = text[from..].find(|c| digit(c).is_some()) {
        let run = Run::at(text, from + offset);
        from = run.end;
        found.push(run.number(text));
    }
    found
}

/// Groups of digits and what joins them.
struct Run {
    start: usize,
    end: usize,
    groups: Vec<String>,
    joints: Vec<char>,
}

impl Run {
    fn at(text: &str, start: usize) -> Self {
        let mut run = Self { start, end: start, groups: Vec::new(), joints: Vec::new() };
        loop {
            let group: String =
                text[run.end..].chars().map_while(digit).filter_map(|d| char::from_digit(d, 10)).collect();
            run.end += text[run.end..].chars().take_while(|&c| digit(c).is_some()).map(char::len_utf8).sum::<usize>();
            run.groups.push(group);
            let mut rest = text[run.end..].chars();
            let Some(joint) = rest
                .next()
                .filter(|c| matches!(c, '.' | ',' | ':' | '_' | '\'' | '’' | ' ' | '\u{a0}' | '\u{202f}' | '：'))
            else {
                break;
            };
            let next = rest.as_str().chars().take_while(|&c| digit(c).is_some()).count();
            let is_thousands = next == 3 && run.groups.iter().all(|group| group.len() <= 3) && run.groups[0] != "0";
            if next == 0 || (!matches!(joint, '.' | ',' | ':' | '：') && !is_thousands) {
                break;
            }
            run.joints.push(if joint == '：' { ':' } else { joint });
            run.end += joint.len_utf8();
        }
        run
    }

    fn number(self, text: &str) -> Number {
        let (before, after) = (text[..self.start].chars().next_back(), &text[self.end..]);
        let mut readings = self.readings();
        let scale = scale(after);
        if let Some((factor, _)) = scale {
            let scaled: Vec<f64> = readings.iter().map(|value| value * factor).collect();
            readings.splice(0..0, scaled);
        }
        let is_part_of_word = before.is_some_and(|c| c.is_alphabetic() && !is_wide(c));
        let after = if is_part_of_word { "" } else { &after[scale.map_or(0, |(_, length)| length)..] };
        Number {
            at: self.start..self.end,
            chain: self.chain(),
            unit: unit(after),
            noun: noun(after),
            is_scaled: scale.is_some(),
            readings,
        }
    }

    fn readings(&self) -> Vec<f64> {
        let value = |text: String| text.parse::<f64>().ok();
        let Some(last) = self.joints.last() else { return value(self.groups[0].clone()).into_iter().collect() };
        let (head, tail) = self.groups.split_at(self.groups.len() - 1);
        let are_thousands = |groups: &[String], joints: &[char]| {
            groups[0].len() <= 3
                && groups[1..].iter().all(|group| group.len() == 3)
                && joints.iter().all(|joint| *joint == joints[0] && *joint != ':')
        };
        let mut readings = Vec::new();
        if are_thousands(&self.groups, &self.joints) {
            readings.extend(value(self.groups.concat()));
        }
        let is_grouped =
            head.len() == 1 || are_thousands(head, &self.joints[..head.len() - 1]) && self.joints[0] != *last;
        if matches!(last, '.' | ',') && is_grouped {
            readings.extend(value(format!("{}.{}", head.concat(), tail[0])));
        }
        readings
    }

    fn chain(&self) -> String {
        let is_chain = !self.joints.is_empty() && self.joints.iter().all(|joint| matches!(joint, '.' | ':' | ','));
        let mut chain = String::new();
        for (place, group) in self.groups.iter().enumerate().filter(|_| is_chain) {
            if let Some(before) = place.checked_sub(1) {
                chain.push(self.joints[before]);
            }
            chain.push_str(group);
        }
        chain
    }
}

/// Returns by what a number that `after` follows is multiplied, and the bytes of the word that says so.
fn scale(after: &str) -> Option<(f64, usize)> {
    let trimmed = after.strip_prefix([' ', '-']).unwrap_or(after);
    let skipped = after.len() - trimmed.len();
    for (word, factor) in [
        ("百万", 1e6),
        ("千万", 1e7),
        ("百萬", 1e6),
        ("千萬", 1e7),
        ("万亿", 1e12),
        ("万", 1e4),
        ("萬", 1e4),
        ("亿", 1e8),
        ("億", 1e8),
        ("千", 1e3),
        ("百", 1e2),
        ("만", 1e4),
        ("억", 1e8),
    ] {
        if after.starts_with(word) {
            return Some((factor, word.len()));
        }
    }
    let word: String = trimmed.chars().take_while(|c| c.is_alphabetic() && !is_wide(*c)).collect();
    let factor = match word.as_str() {
        "k" | "K" if skipped == 0 => 1e3,
        "M" | "mn" if skipped == 0 => 1e6,
        "B" | "bn" if skipped == 0 => 1e9,
        _ => match word.to_lowercase().as_str() {
            "hundred" | "hundert" => 1e2,
            "thousand" | "thousands" | "tausend" | "tsd" | "mil" | "mille" => 1e3,
            "lakh" => 1e5,
            "million" | "millions" | "mio" | "millionen" | "millón" | "millones" => 1e6,
            "crore" => 1e7,
            "billion" | "billions" | "milliarde" | "milliarden" | "mrd" => 1e9,
            _ => return None,
        },
    };
    Some((factor, skipped + word.len()))
}

/// Returns the word that `after` starts with, without its ending.
pub(super) fn noun(after: &str) -> String {
    let after = after.trim_start_matches([' ', '-', '\u{a0}']);
    if after.starts_with(is_wide) {
        return after.trim_start_matches(['个', '個']).chars().take_while(|c| is_wide(*c)).take(2).collect();
    }
    let word: String = after.chars().take_while(|c| c.is_alphabetic()).collect::<String>().to_lowercase();
    word.strip_suffix("ies").or(word.strip_suffix('s')).unwrap_or(&word).trim_end_matches('y').to_owned()
}
