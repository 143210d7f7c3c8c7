//! Numbers as people write them: in digits, in English, German, Spanish and Chinese words, and with their units.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::LazyLock;

use serde::Deserialize;

use super::script::is_wide;

/// The quantity that a unit measures, if amounts in this unit can be converted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Measure {
    Time,
    Data,
    Length,
    Mass,
    Share,
    /// The unit is only a counter or label, and cannot be converted.
    None,
}

/// A unit with its canonical spelling and its size.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Unit {
    /// The spelling that is used to compare units, such as `min`.
    pub(crate) name: &'static str,
    measure: Measure,
    size: f64,
}

impl Unit {
    /// Returns whether the unit can be converted to other units.
    pub(crate) fn is_measure(self) -> bool {
        self.measure != Measure::None
    }

    /// Returns whether `value` in this unit equals `other_value` in `other`, with a tolerance for calendars and powers
    /// of two.
    pub(crate) fn converts(self, value: f64, other: Self, other_value: f64) -> bool {
        // Months and years do not have a fixed length. For data, 1,024³ and 1,000³ bytes differ by 7.4 %.
        let tolerance = match self.measure {
            Measure::Time => 0.03,
            Measure::Data => 0.08,
            Measure::Length | Measure::Mass | Measure::Share => 1e-6,
            Measure::None => return false,
        };
        let (one, two) = (value * self.size, other_value * other.size);
        self.measure == other.measure
            // Two different values in the same unit are a contradiction rather than a conversion.
            && (self.size - other.size).abs() > f64::EPSILON
            && (one - two).abs() <= tolerance * two.abs()
    }
}

/// Units with their spellings in all languages.
static UNITS: LazyLock<Vec<(String, Measure, f64, String)>> = LazyLock::new(|| {
    #[derive(Deserialize)]
    struct Table {
        units: Vec<(String, Measure, f64, String)>,
    }
    let table: Table = toml::from_str(include_str!("units.toml")).expect("the table is a constant");
    table.units
});

/// Units of labels, which measure nothing, as in `No. 3` and `version 5`.
pub(crate) const LABELS: &[&str] = &["no", "ver"];

/// Returns the unit with this spelling, which must be in lower case.
pub(crate) fn unit(spelling: &str) -> Option<Unit> {
    static BY_SPELLING: LazyLock<HashMap<&'static str, Unit>> = LazyLock::new(|| {
        // The order is reversed, because the last insertion into a map wins, whereas the first row with a spelling must
        // take precedence.
        let all = UNITS.iter().rev().flat_map(|(name, measure, size, spellings)| {
            spellings.split(' ').map(|word| (word, Unit { name, measure: *measure, size: *size }))
        });
        all.collect()
    });
    BY_SPELLING.get(spelling).copied()
}

/// Maximum length, in characters, of a unit's spelling in scripts without spaces.
const MAX_WIDE_UNIT: usize = 4;

/// Returns the unit at the start of `text` and the length of its spelling. In scripts without spaces, text may follow
/// the unit immediately.
pub(crate) fn leading_wide_unit(text: &str) -> Option<(Unit, usize)> {
    let ends = text.char_indices().skip(1).map(|(at, _)| at).chain([text.len()]).take(MAX_WIDE_UNIT);
    // The longest unit is tried first, because `个月` is a month, whereas `个` alone is a piece.
    ends.collect::<Vec<_>>().into_iter().rev().find_map(|end| Some((unit(&text[..end])?, end)))
}

/// Returns the unit that follows a number in `after`, if it can be converted.
fn measure_after(after: &str) -> Option<Unit> {
    let after = after.trim_start_matches([' ', '-', '\u{a0}', '个', '個']);
    let found = match after.chars().next()? {
        sign @ ('%' | '％') => unit(sign.encode_utf8(&mut [0; 4])),
        // "Por ciento" consists of two words, because "por" alone is a preposition, as in "el día 25 por
        // transferencia".
        'p' if after.starts_with("por cien") => unit("%"),
        c if is_wide(c) => leading_wide_unit(after).map(|(unit, _)| unit),
        _ => unit(&after.chars().take_while(|c| c.is_alphabetic()).collect::<String>().to_lowercase()),
    };
    found.filter(|unit| unit.is_measure())
}

/// A number in a text.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Number {
    /// The byte range of the number, without the unit.
    pub(crate) at: Range<usize>,
    /// The possible values of the number. "1,234" has two readings, and a version or a clock time may have none.
    pub(crate) readings: Vec<f64>,
    /// The digits of a version with points between its parts, or of a clock time with colons; otherwise empty.
    pub(crate) chain: String,
    /// The unit of the number, if it is a unit of time, data, length or mass, or a percentage.
    pub(crate) unit: Option<Unit>,
    /// The word after the number, without its ending.
    pub(crate) noun: String,
    /// Whether the number was scaled by a word or character, as in "12k". In that case, only its first reading counts.
    pub(crate) is_scaled: bool,
}

impl Number {
    /// Returns the number in words at `at`, with the unit or the noun after it.
    fn spelled(text: &str, at: Range<usize>, readings: Vec<f64>) -> Self {
        let after = &text[at.end..];
        Self { at, readings, chain: String::new(), unit: measure_after(after), noun: noun(after), is_scaled: false }
    }
}

/// Returns the value of a digit: ASCII, full-width, Arabic or Devanagari.
pub(crate) fn digit(c: char) -> Option<u32> {
    let code = u32::from(c);
    // The zeros of ASCII, full-width, Arabic, Persian and Devanagari digits, each followed by the other nine.
    [u32::from('0'), 0xff10, 0x660, 0x6f0, 0x966]
        .into_iter()
        .find_map(|zero| code.checked_sub(zero).filter(|d| *d < 10))
}

/// Returns the numbers in `text` that are written in digits, in order.
pub(crate) fn in_digits(text: &str) -> Vec<Number> {
    let (mut found, mut from) = (Vec::new(), 0);
    while let Some(offset) = text[from..].find(|c| digit(c).is_some()) {
        let run = Run::at(text, from + offset);
        from = run.end;
        found.push(run.number(text));
    }
    found
}

/// Groups of digits and the characters that join them.
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
            // A space or an apostrophe joins only groups of three digits. Other adjacent numbers are separate.
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
            // The scaled value comes before the plain readings, because only the first reading counts if `is_scaled` is
            // set.
            readings.splice(0..0, scaled);
        }
        // The 2 in `v2` or the 264 in `H264` is not a count of the following word.
        let is_part_of_word = before.is_some_and(|c| c.is_alphabetic() && !is_wide(c));
        let after = if is_part_of_word { "" } else { &after[scale.map_or(0, |(_, length)| length)..] };
        Number {
            at: self.start..self.end,
            chain: self.chain(),
            unit: measure_after(after),
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
        // In `1.234,5` and `1,234.5`, the last mark differs from the others and is the decimal mark.
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

/// Returns the multiplier that the start of `after` represents, and its length in bytes.
fn scale(after: &str) -> Option<(f64, usize)> {
    let trimmed = after.strip_prefix([' ', '-']).unwrap_or(after);
    let skipped = after.len() - trimmed.len();
    // Longer words come before their own prefixes: `百万` before `百`.
    if let Some((word, factor)) = WORDS.wide_scales.iter().find(|(word, _)| after.starts_with(word)) {
        return Some((*factor, word.len()));
    }
    let word: String = trimmed.chars().take_while(|c| c.is_alphabetic() && !is_wide(*c)).collect();
    let letters = || WORDS.letter_scales.get(&word).filter(|_| skipped == 0);
    let factor = *letters().or_else(|| WORDS.written_scales.get(&word.to_lowercase()))?;
    Some((factor, skipped + word.len()))
}

/// Returns the word at the start of `after`, without its ending.
fn noun(after: &str) -> String {
    let after = after.trim_start_matches([' ', '-', '\u{a0}']);
    if after.starts_with(is_wide) {
        return after.trim_start_matches(['个', '個']).chars().take_while(|c| is_wide(*c)).take(2).collect();
    }
    let word: String = after.chars().take_while(|c| c.is_alphabetic()).collect::<String>().to_lowercase();
    // As a result, `retry` and `retries` count as the same noun.
    word.strip_suffix("ies").or(word.strip_suffix('s')).unwrap_or(&word).trim_end_matches('y').to_owned()
}

/// Words for numbers.
#[derive(Deserialize)]
struct Words {
    /// Words for consecutive numbers: the first number, the distance to the next, and the words.
    counted: Vec<(u32, u32, String)>,
    /// Words between the parts of a number.
    and: Vec<String>,
    /// Words between the whole part of a number and its decimals.
    decimal_marks: Vec<String>,
    scales: HashMap<String, u32>,
    /// Words with several meanings.
    loose: HashMap<String, Vec<f64>>,
    wide_scales: Vec<(String, f64)>,
    letter_scales: HashMap<String, f64>,
    written_scales: HashMap<String, f64>,
}

static WORDS: LazyLock<Words> =
    LazyLock::new(|| toml::from_str(include_str!("number.toml")).expect("the table is a constant"));
static VALUES: LazyLock<HashMap<&'static str, u32>> = LazyLock::new(|| {
    let words = WORDS.counted.iter();
    words
        .flat_map(|(first, step, words)| words.split(' ').zip(0..).map(move |(word, at)| (word, first + step * at)))
        .collect()
});

/// Pattern of the words that [`count`] reads, including articles. Each match must be a whole word.
pub(crate) const COUNT_PATTERN: &str = r"\d{1,3}|\b(?:an?|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen|seventeen|eighteen|nineteen|twenty|thirty|forty|fifty|eine[rmn]?|ein|zwei|drei|vier|fünf|sechs|sieben|acht|neun|zehn|elf|zwölf|dreizehn|vierzehn|fünfzehn|sechzehn|siebzehn|achtzehn|neunzehn|zwanzig|dreißig|una?|dos|tres|cuatro|cinco|seis|siete|ocho|nueve|diez|once|doce|trece|catorce|quince|dieciséis|diecisiete|dieciocho|diecinueve|veinte|treinta)|[一两俩二三四五六七八九十]{1,3}";

/// Returns the small integer that `word` represents, in digits or in words. An article counts as one.
pub(crate) fn count(word: &str) -> Option<i32> {
    let word = word.to_lowercase();
    let article = matches!(word.as_str(), "a" | "an" | "eine" | "einem" | "einen" | "einer" | "un" | "una");
    let spelled = || {
        let value = small(&word).or_else(|| chinese_count(&word))?;
        i32::try_from(value).ok()
    };
    if article { Some(1) } else { word.parse().ok().or_else(spelled) }
}

/// Returns the number up to 99 that a single English, German or Spanish word represents.
fn small(word: &str) -> Option<u32> {
    VALUES.get(word).copied()
}

/// Returns the value of `一` to `九十九`.
pub(crate) fn chinese_count(text: &str) -> Option<u32> {
    let digit = |text: &str| {
        let mut chars = text.chars();
        numeral(chars.next()?).filter(|value| *value > 0 && chars.next().is_none())
    };
    let Some((tens, ones)) = text.split_once('十') else { return digit(text) };
    let tens = if tens.is_empty() { 1 } else { digit(tens)? };
    Some(tens * 10 + if ones.is_empty() { 0 } else { digit(ones)? })
}

/// The function of a word in a spelled-out number.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Part {
    /// The word adds this value. 0–9, 10–19 and complete German or Spanish words end a group of hundreds.
    Value(u32),
    /// The word multiplies the number before it.
    Scale(u32),
    /// The word alone represents any of these values.
    Loose(&'static [f64]),
    /// The word joins two parts.
    And,
}

/// Returns the numbers in `text` that are spelled out in words.
pub(crate) fn in_words(text: &str) -> Vec<Number> {
    let mut found = Vec::new();
    let mut open: Vec<(Range<usize>, Part)> = Vec::new();
    let mut words = words(text).peekable();
    while let Some(at) = words.next() {
        let is_apart = open.last().is_some_and(|(last, _)| text[last.end..at.start].contains([',', ';', '.', ':']));
        let is_scaled = words.peek().is_some_and(|next| is_scale(&text[next.clone()]));
        // "forty thousand, three days early" contains two numbers, whereas "one million, two hundred thousand" is one
        // number.
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
    let decimals: Vec<Number> = found.windows(2).filter_map(|pair| decimal(text, &pair[0], &pair[1])).collect();
    found.extend(decimals);
    found.extend(chinese(text));
    found
}

/// Returns the number that `whole` and `fraction` form with a word such as "point" between them.
fn decimal(text: &str, whole: &Number, fraction: &Number) -> Option<Number> {
    let between = text[whole.at.end..fraction.at.start].trim().to_lowercase();
    let (whole_value, digits) = (whole.readings.first()?, fraction.readings.first()?);
    let is_decimal = WORDS.decimal_marks.contains(&between) && whole_value.fract() == 0.0 && digits.fract() == 0.0;
    let value = is_decimal.then(|| format!("{whole_value}.{digits}").parse().ok()).flatten()?;
    Some(Number::spelled(text, whole.at.start..fraction.at.end, vec![value]))
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

fn part(word: &str) -> Option<Part> {
    if WORDS.and.iter().any(|and| and == word) {
        return Some(Part::And);
    }
    let loose = WORDS.loose.get(word).map(|values| Part::Loose(values));
    let scale = || WORDS.scales.get(word).map(|scale| Part::Scale(*scale));
    loose.or_else(scale).or_else(|| ordinal(word).or_else(|| german(word)).map(Part::Value))
}

fn ordinal(word: &str) -> Option<u32> {
    let stem = word.strip_suffix("th")?;
    small(stem).or_else(|| small(&format!("{}ty", stem.strip_suffix("tie")?)))
}

fn german(word: &str) -> Option<u32> {
    // Some people write German without `ß` and umlauts.
    let plain = word.replace("dreissig", "dreißig").replace("fuenf", "fünf").replace("zwoelf", "zwölf");
    let word = plain.as_str();
    if let Some(value) = small(word) {
        return Some(value);
    }
    for (name, scale) in [("tausend", 1_000), ("hundert", 100)] {
        if let Some((many, rest)) = word.split_once(name) {
            let many = if many.is_empty() { 1 } else { german(many)? };
            let rest = rest.strip_prefix("und").unwrap_or(rest);
            return Some(many * scale + if rest.is_empty() { 0 } else { german(rest)? });
        }
    }
    // German puts the units digit first: `fünfundzwanzig` is five and twenty.
    let (ones, rest) = word.split_once("und")?;
    Some(small(ones).filter(|value| *value < 10)? + small(rest).filter(|value| *value >= 20)?)
}

/// Converts the words of one number to its possible values.
fn close(text: &str, open: &mut Vec<(Range<usize>, Part)>) -> Option<Number> {
    // "Five and" is a five followed by something else.
    while open.last().is_some_and(|(_, part)| *part == Part::And) {
        open.pop();
    }
    let (start, end) = (open.first()?.0.start, open.last()?.0.end);
    let mut readings = Vec::new();
    // Numbers spoken in groups, such as "two fifty" or "nineteen ninety", are kept both separately and as one joined
    // number.
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
                // "twenty five" continues a number, whereas "two fifty" and "nineteen ninety" start another group.
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
    Some(Number::spelled(text, start..end, readings))
}

/// Returns the Chinese numbers in `text`.
fn chinese(text: &str) -> Vec<Number> {
    let is_part = |c: char| numeral(c).is_some() || power(c).is_some() || c == '半';
    let (mut found, mut from) = (Vec::new(), 0);
    while let Some(start) = text[from..].find(is_part).map(|offset| from + offset) {
        let end = text[start..].find(|c| !is_part(c)).map_or(text.len(), |length| start + length);
        from = end;
        let after = &text[end..];
        let mut readings = chinese_readings(&text[start..end]);
        // `三成` means three tenths, or 30 %.
        if after.starts_with('成') {
            readings.extend(readings.clone().iter().map(|value| value * 10.0));
        }
        found.push(Number::spelled(text, start..end, readings));
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

/// Reads 三百二十, 一万二 (12,000), 二〇二五, and the 半 in 两个半.
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
    // A digit after a power of ten has the next lower power, as in 一万二, unless a zero is in between, as in 一万零二.
    if last > 10.0 && tail > 0.0 && !is_after_zero {
        readings.push(total + section + tail * last / 10.0);
    }
    // Years and room numbers are spoken digit by digit: `二〇二六`.
    let digits: String = run.chars().filter_map(numeral).filter_map(|d| char::from_digit(d, 10)).collect();
    if digits.len() > 1 && digits.len() == run.chars().count() {
        readings.extend(digits.parse::<f64>().ok());
    }
    if run.contains('半') {
        readings.extend([0.5, readings[0] + 0.5]);
    }
    readings
}
