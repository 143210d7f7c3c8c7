//! Finds numbers in a claim that appear in no message.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use crate::text::number::{Number, digit, in_digits, in_words};

/// Numbers up to this limit may result from counting a list, so they are only compared with other counts of the same
/// things.
const SMALL: f64 = 12.0;
/// Minimum number of digits for a number to be compared digit by digit, like a telephone number.
const LONG: usize = 7;

/// Words of languages whose numerals are not recognised, so that a number may be hidden in them.
static OTHER_NUMERAL: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(?i)\b(?:(?:quatre-)?vingts?|vingt-\w+|trente|quarante|cinquante|soixante|deux cents|trois cents|douzaine|duecento|trecento|venti|ventuno|trenta|quaranta|cinquanta|sessanta|settanta|ottanta|novanta|mila|vinte|trinta|quarenta|cinquenta|sessenta|setenta|oitenta|duzentos|trezentos|сто|двести|триста|пятьсот|тысяч\w*|(?:два|три|пять|шесть|семь|восемь)\w*десят\w*|сорок|девяносто)\b|[백천만십]\s?(?:개|명|원|년|월|일|번|시간|분)",
    )
    .expect("the pattern is constant and a test compiles it")
});

/// Names that contain digits but are not numbers.
const NAMES: [&str; 12] =
    ["i18n", "l10n", "a11y", "k8s", "base64", "sha256", "utf-8", "utf8", "utf-16", "x86", "h264", "md5"];

/// The numbers that a claim may use.
#[derive(Debug, Default)]
pub(super) struct Numbers {
    known: Vec<Number>,
    /// All digits of each text, without separators, to find rows of digits that are grouped differently.
    rows: Vec<String>,
    /// The texts in lower case.
    texts: Vec<String>,
    /// Whether a text has numbers that cannot be read.
    is_partial: bool,
}

impl Numbers {
    /// Adds the numbers in `text`.
    pub(super) fn add(&mut self, text: &str) {
        self.known.extend(in_digits(text));
        self.known.extend(in_words(text));
        self.rows.push(text.chars().filter_map(digit).filter_map(|d| char::from_digit(d, 10)).collect());
        self.texts.push(text.to_lowercase());
        self.is_partial |= OTHER_NUMERAL.is_match(text);
    }

    /// Returns the unknown numbers in `content`, except for those within `dates`: first those in digits, then those in
    /// words.
    pub(super) fn foreign<'t>(&self, content: &'t str, dates: &[Range<usize>]) -> Vec<&'t str> {
        let lower = content.to_lowercase();
        let is_name = |at: &Range<usize>| {
            NAMES.iter().any(|name| {
                lower.match_indices(name).any(|(start, _)| start <= at.start && at.end <= start + name.len())
            })
        };
        // Dates are checked separately, and the check of dates also accepts days that are counted from other days.
        let is_in_date = |at: &Range<usize>| dates.iter().any(|date| date.start < at.end && at.start < date.end);
        // A spelled-out number in a claim is only checked where it cannot be an article or an idiom.
        let spelled = in_words(content)
            .into_iter()
            .filter(|number| number.readings.iter().all(|value| *value > SMALL && *value < 1e9))
            .filter(|number| !self.is_spelled(&content[number.at.clone()]));
        in_digits(content)
            .into_iter()
            .chain(spelled)
            .filter(|number| !is_in_date(&number.at) && !is_name(&number.at) && !self.is_known(number))
            .map(|number| &content[number.at])
            .collect()
    }

    /// Whether a text contains the same words, perhaps as a part of a word such as "11-million-cell".
    fn is_spelled(&self, words: &str) -> bool {
        let words = words.to_lowercase();
        self.texts.iter().any(|text| text.contains(&words))
    }

    fn is_known(&self, number: &Number) -> bool {
        // A 12 that counts something else must not confirm "12k".
        let wanted = if number.is_scaled { &number.readings[..1] } else { &number.readings[..] };
        let same = |one: f64, two: f64| (one - two).abs() <= 1e-9 * two.abs().max(1.0);
        self.is_partial
            || self.known.iter().any(|known| {
                wanted.iter().any(|value| known.readings.iter().any(|other| same(*value, *other)))
                    || has_chain(number, known)
                    || converts(number, known)
            })
            || self.is_row(number)
            || is_clock(number) && self.is_time(number)
            || wanted.first().is_some_and(|value| {
                *value <= SMALL && value.fract() == 0.0 && !self.is_counted_otherwise(number, *value)
            })
    }

    /// Whether a long row of digits appears in a text, grouped in any way.
    fn is_row(&self, number: &Number) -> bool {
        // Telephone and account numbers are grouped in different ways, so only their digits can be compared.
        let row: String = number.readings.first().map(|value| format!("{value:.0}")).unwrap_or_default();
        row.len() >= LONG && self.rows.iter().any(|known| known.contains(&row))
    }

    /// Whether a clock time may have been said in a different form, such as "3 pm", "half past three" or 下午三点.
    fn is_time(&self, number: &Number) -> bool {
        let mut parts = number.chain.split(':').filter_map(|part| part.parse::<f64>().ok());
        let (Some(hour), Some(minute)) = (parts.next(), parts.next()) else { return false };
        let has = |wanted: f64| {
            self.known.iter().any(|known| {
                known.readings.iter().any(|value| (value - wanted).abs() < 1e-9)
                    || known.chain.split([':', '.']).any(|part| part.parse() == Ok(wanted))
            })
        };
        // The hour may differ by one, because "quarter to four" is 15:45, and people mix 12-hour and 24-hour clocks.
        let is_hour = [0.0, 1.0, -1.0].iter().any(|near| {
            has((hour + near).rem_euclid(12.0)) || has(hour + near) || has((hour + near).rem_euclid(12.0) + 12.0)
        });
        is_hour && (minute.rem_euclid(15.0) == 0.0 || has(minute))
    }

    /// Whether a text counts the same things, but with a different number.
    fn is_counted_otherwise(&self, number: &Number, value: f64) -> bool {
        // Without a counted noun, it is unknown whether two numbers count the same things.
        if number.noun.chars().count() < 2 && number.unit.is_none() {
            return false;
        }
        let others: Vec<f64> = self
            .known
            .iter()
            .filter(|known| known.noun == number.noun)
            .filter_map(|known| known.readings.first().copied())
            .collect();
        // "One more" and "two of these, three of those" allow for other counts.
        let sums = others
            .iter()
            .enumerate()
            .any(|(at, one)| others[at + 1..].iter().any(|two| (one + two - value).abs() < 1e-9));
        !others.is_empty() && !others.contains(&1.0) && !sums
    }
}

fn is_clock(number: &Number) -> bool {
    number.chain.contains(':')
}

/// Whether the parts of a version or a time appear in the same order in a known number, as 3.14 does in 3.14.2.
fn has_chain(number: &Number, known: &Number) -> bool {
    if known.chain.is_empty() {
        return false;
    }
    if number.chain.is_empty() {
        let mut parts = known.chain.split(['.', ':', ',']).filter_map(|part| part.parse::<f64>().ok());
        return parts.any(|part| number.readings.contains(&part));
    }
    known.chain == number.chain
        || known.chain.strip_prefix(&number.chain).is_some_and(|rest| rest.starts_with(['.', ':']))
        || known.chain.strip_suffix(&number.chain).is_some_and(|rest| rest.ends_with(['.', ':']))
        || is_clock(number)
            && known.chain.replace(['.', ','], ":").trim_start_matches('0') == number.chain.trim_start_matches('0')
}

/// Whether both numbers are the same quantity in different units, as in "two weeks" and "14 days".
fn converts(number: &Number, known: &Number) -> bool {
    let (Some(one), Some(two)) = (number.unit, known.unit) else { return false };
    number.readings.iter().any(|value| known.readings.iter().any(|other| one.converts(*value, two, *other)))
}

/// Text with at least this many values is considered a list, in which any number could be derived from two others.
const MAX_NUMBERS: usize = 60;

/// Words that mean a doubling.
static TWICE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)\b(?:twice|double[ds]?|doubling|both|pair|doppelt\w*|beide[nrs]?|verdoppel\w*|doble|ambos|ambas|duplic\w*)\b|两|双|倍")
        .expect("the pattern is constant and a test compiles it")
});

/// Whether `number` is the sum, difference or product of two numbers in `text`, or a year counted back from `year`.
pub(super) fn is_computed(number: &str, text: &str, year: Option<i16>) -> bool {
    let mut values = values(text);
    let same = |one: f64, two: f64| (one - two).abs() <= 1e-9 * two.abs().max(1.0);
    let wanted = self::values(number);
    let is = |value: f64| wanted.iter().any(|wanted| same(value, *wanted));
    // The difference may be a year of birth derived from an age, or the year in which something began.
    if year.is_some_and(|year| values.iter().any(|value| is(f64::from(year) - value))) {
        return true;
    }
    if TWICE.is_match(text) {
        values.push(2.0);
    }
    values.len() <= MAX_NUMBERS
        && values
            .iter()
            .enumerate()
            .any(|(at, one)| values[at + 1..].iter().any(|two| is(one + two) || is((one - two).abs()) || is(one * two)))
}

/// Returns the integers in `text` that may be an age or a count of years.
pub(super) fn counts(text: &str) -> impl Iterator<Item = i16> {
    #[expect(clippy::cast_possible_truncation, reason = "it is a whole number of at most 110")]
    values(text)
        .into_iter()
        .filter(|value| (1.0..=110.0).contains(value) && value.fract() == 0.0)
        .map(|value| value as i16)
}

fn values(text: &str) -> Vec<f64> {
    in_digits(text).into_iter().chain(in_words(text)).filter_map(|number| number.readings.first().copied()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn foreign<'t>(content: &'t str, sources: &[&str]) -> Option<&'t str> {
        let mut numbers = Numbers::default();
        sources.iter().for_each(|source| numbers.add(source));
        numbers.foreign(content, &[]).first().copied()
    }

    #[test]
    fn only_numbers_from_nowhere_are_foreign() {
        let sources = ["The pool has 250 connections since v3.14, limit 12k", "listening on 8080"];
        for content in [
            "250 connections",
            "version 3.14 is used",
            "a limit of 12,000",
            "port 8080",
            "three of 7",
            "２５０ connections",
            "no number",
        ] {
            assert_eq!(foreign(content, &sources), None, "{content}");
        }
        assert_eq!(foreign("The pool has 300 connections.", &sources), Some("300"));
        assert_eq!(foreign("The pool has 300 connections.", &["three hundred of them"]), None);
        let compound = "the three 11-million-cell tests swap for 25 minutes";
        assert_eq!(foreign("The 11-million-cell tests are heavy.", &[compound]), None);
        assert_eq!(foreign("The thousand tests are heavy.", &[compound]), Some("thousand"));
        assert_eq!(foreign("连接数是300", &["连接数是三百"]), None);
        assert_eq!(foreign("连接数是300", &["连接数是250"]), Some("300"));
    }

    #[test]
    fn spelled_numbers_are_the_same_as_digits() {
        for (spelled, digits) in [
            ("two hundred and fifty", "250"),
            ("twenty-five", "25"),
            ("two and a half thousand", "2"),
            ("seven and a half thousand", "7,500"),
            ("forty thousand, three days early", "40,000"),
            ("one million, two hundred thousand", "1,200,000"),
            ("nineteen ninety-eight", "1998"),
            ("eighty eighty", "8080"),
            ("four four three", "443"),
            ("fifteen hundred", "1500"),
            ("three million two hundred thousand", "3,200,000"),
            ("the twenty-first", "21"),
            ("a dozen", "12"),
            ("zweihundertfünfzig", "250"),
            ("fünfundzwanzig", "25"),
            ("dreissig", "30"),
            ("eintausendzweihundert", "1.200"),
            ("drei Millionen", "3.000.000"),
            ("treinta y cinco", "35"),
            ("doscientos cincuenta", "250"),
            ("mil quinientos", "1500"),
            ("veintitrés", "23"),
            ("三百二十", "320"),
            ("一万二", "12000"),
            ("三千五百万", "35000000"),
            ("二〇一九", "2019"),
            ("十五", "15"),
            ("三成", "30"),
            ("2.5万", "25000"),
            ("3亿", "300000000"),
            ("5k", "5000"),
            ("1.5 million", "1,500,000"),
        ] {
            assert_eq!(foreign(digits, &[spelled]), None, "{spelled} is {digits}");
            assert_eq!(foreign("777", &[spelled]), Some("777"), "{spelled} is not 777");
        }
    }

    #[test]
    fn a_number_is_held_to_its_grouping_and_its_unit() {
        for (content, source) in [
            ("14 days", "two weeks"),
            ("90 minutes", "an hour and a half, so 1.5 hours"),
            ("2048 MB", "2 GB"),
            ("1,234.5", "1234.5"),
            ("1.234,5", "1,234.5"),
            ("18 months", "a year and a half, 1.5 years"),
            ("at 15:30", "half past three"),
            ("at 15:00", "3 pm"),
            ("Node 18", "node v18.2.0"),
            ("3.14", "3.14.2"),
            ("call +4917112345678", "+49 171 1234 5678"),
            ("15:45", "下午3点45分"),
            ("2 cats", "a cat named Momo and a cat named Nala"),
            ("72.5 kg", "seventy-two point five kilos"),
            ("21,9 Euro", "einundzwanzig Komma neun Euro"),
            ("0.25", "zero point two five"),
            ("3.6 GB", "tres coma seis GB"),
        ] {
            assert_eq!(foreign(content, &[source]), None, "{content} of {source}");
        }
        for (content, source) in [
            ("16 days", "two weeks"),
            ("3.15", "3.14.2"),
            ("12k", "limit 12 per user"),
            ("5 retries", "3 retries are enough"),
            ("at 17:20", "3 pm"),
            ("512 MB", "500 MB"),
            ("40%", "30 percent"),
            ("3个月", "还有2个月"),
            ("thirty retries", "20 retries"),
            ("1080", "8080"),
            ("72.6 kg", "seventy-two point five kilos"),
        ] {
            assert!(foreign(content, &[source]).is_some(), "{content} of {source}");
        }
    }
}
