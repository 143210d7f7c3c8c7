//! Finds secrets that people mention in a sentence, such as door codes and passwords, by a trained classifier, in twelve
//! languages.
//!
//! The other rules know the syntax around a secret or the words next to it. In prose, the classifier judges each value
//! that could be a secret by its shape and by the words around it. Code, tables and logs are left to the rules, because
//! they consist of values. The errors of the classifier are described in `docs/privacy.md`.

use std::ops::Range;

use crate::guard::scan::{self, Found, UNKNOWN_RANK};
use crate::guard::spelling::{is_unspaced_script, unaccented};
use crate::text::linear::{FeatureBuilder, Features, LinearModel, without_numbers};

/// The score above which a value is a secret. The test in `training` prints how many secrets a higher threshold misses,
/// and how many other values a lower one removes.
pub(super) const THRESHOLD: f32 = 12.0;

static MODEL: LinearModel<'static> = LinearModel::new(include_bytes!("prose.weights"));

/// Number of characters before and after a value that are read to judge it.
const CONTEXT_CHARS: [usize; 2] = [120, 60];

/// Minimum and maximum number of characters of a value.
const VALUE_CHARS: std::ops::RangeInclusive<usize> = 3..=64;

/// The name of the finding.
const NAME: &str = "prose-secret";

/// Number of bytes before and after a value that can change how it is judged.
const SURROUNDINGS_BYTES: [usize; 2] = [800, 400];

/// Returns the values of `text` that are secrets, in order.
///
/// Values near a secret that was removed before are left out. Otherwise each removal would change how the values around it
/// are judged, and a text would have to be read as many times as it contains values.
pub(super) fn find(text: &str) -> Vec<Found> {
    let removed: Vec<usize> = text.match_indices(NAME).map(|(at, _)| at).collect();
    let mut values = values(text);
    values.retain(|value| {
        let near = value.start.saturating_sub(SURROUNDINGS_BYTES[0])..value.end + SURROUNDINGS_BYTES[1];
        let is_judged = removed.partition_point(|at| *at < near.start) == removed.partition_point(|at| *at < near.end);
        if is_judged {
            scan::count_read(value.len() + CONTEXT_CHARS[0] + CONTEXT_CHARS[1]);
        }
        is_judged && MODEL.score(&features(text, value)) > THRESHOLD
    });
    let found = |range| Found { range, name: NAME, rank: UNKNOWN_RANK, is_token: false };
    scan::joined(values.into_iter().map(found).collect())
}

/// Returns the parts of the sentences of `text` that could be a secret: words that are not only letters, whatever follows
/// a quotation mark, a colon or an arrow, and groups of digits.
pub(super) fn values(text: &str) -> Vec<Range<usize>> {
    let (mut all, mut start, mut above) = (Vec::new(), 0, "");
    for part in text.split('\n') {
        let line = start..start + part.len();
        start = line.end + 1;
        if is_code(part) {
            above = "";
            continue;
        }
        let mut values = Vec::new();
        words(text, &line, &mut values);
        quoted(text, &line, &mut values);
        values.extend(rest(text, &line));
        digits(text, &line, &mut values);
        values.retain(|value| {
            let own = &text[value.clone()];
            let is_long_enough = VALUE_CHARS.contains(&own.chars().take(VALUE_CHARS.end() + 1).count());
            let is_amount = text[value.end..].trim_start_matches(' ').starts_with(is_unit);
            is_long_enough
                && !is_name(own)
                && !is_ordinary(own)
                && !is_amount
                && !text[..value.start].ends_with(['=', '$', '@', '+'])
        });
        if !values.is_empty() {
            let prose = Line::read(part);
            let is_below_sentence = part.len() < SHORT_BYTES && Line::read(above).is_sentence();
            values.retain(|value| {
                is_below_sentence || prose.is_sentence_around(&(value.start - line.start..value.end - line.start))
            });
            values.sort_unstable_by_key(|value| (value.start, value.end));
            values.dedup();
            all.append(&mut values);
        }
        above = part;
    }
    all
}

/// Whether a line looks like code, a table or a record of a program.
fn is_code(line: &str) -> bool {
    let trimmed = line.trim();
    trimmed.ends_with([';', '{', '}', ',', '\\'])
        || trimmed.starts_with(['{', '}', '<', '|', '$', '#', '/'])
        || ["::", "()", "=>"].iter().any(|sign| line.contains(sign))
        || line.matches('|').nth(1).is_some()
}

/// Whether a value is a name in code, a path, or a mark of what was removed.
fn is_name(value: &str) -> bool {
    let rest = value.trim_start_matches(|c: char| c.is_ascii_lowercase());
    let is_camel_case = rest.len() < value.len() && rest.starts_with(|c: char| c.is_ascii_uppercase());
    is_camel_case || value.contains(['_', '(', '/']) || value.contains("redacted:")
}

/// Number of bytes before and after a value within which a line must read like a sentence.
const SENTENCE_BYTES: [usize; 2] = [200, 100];

/// Minimum number of words, and of characters without spaces, of a sentence.
const SENTENCE: [usize; 2] = [3, 5];

/// Maximum number of bytes of a line that may consist of a value, if the line above it is a sentence.
const SHORT_BYTES: usize = 40;

/// What a line consists of, each with the positions at which it begins, in order.
#[derive(Debug)]
struct Line {
    /// Words of letters.
    words: Vec<usize>,
    /// Characters of scripts without spaces between words.
    letters: Vec<usize>,
    /// Characters that are common in code and rare in sentences.
    signs: Vec<usize>,
}

impl Line {
    fn read(line: &str) -> Self {
        let words = line.split_whitespace().filter(|word| is_prose_word(word));
        let words = words.map(|word| word.as_ptr().addr() - line.as_ptr().addr()).collect();
        let (mut letters, mut signs) = (Vec::new(), Vec::new());
        for (at, c) in line.char_indices() {
            if is_unspaced_script(c) {
                letters.push(at);
            } else if matches!(c, '{' | '}' | '<' | '>' | '=' | '_') {
                signs.push(at);
            }
        }
        Self { words, letters, signs }
    }

    /// Whether there is a sentence around a part of the line.
    fn is_sentence_around(&self, part: &Range<usize>) -> bool {
        let before = part.start.saturating_sub(SENTENCE_BYTES[0])..part.start;
        let after = part.end..part.end + SENTENCE_BYTES[1];
        let count = |places: &[usize], range: &Range<usize>| {
            places.partition_point(|at| *at < range.end) - places.partition_point(|at| *at < range.start)
        };
        let count = |places: &[usize]| count(places, &before) + count(places, &after);
        count(&self.signs) == 0 && (count(&self.words) >= SENTENCE[0] || count(&self.letters) >= SENTENCE[1])
    }

    /// Whether the whole line is a sentence.
    fn is_sentence(&self) -> bool {
        self.signs.is_empty() && (self.words.len() > SENTENCE[0] || self.letters.len() > SENTENCE[1])
    }
}

/// Whether a word consists of letters, with punctuation around them.
fn is_prose_word(word: &str) -> bool {
    let word = word.trim_matches(|c: char| c.is_ascii_punctuation() || is_quote(c));
    word.chars().nth(1).is_some() && word.chars().all(|c| c.is_alphabetic() || matches!(c, '-' | '\'' | '’'))
}

/// Characters that separate values.
fn is_separator(c: char) -> bool {
    c.is_whitespace() || is_quote(c) || "<>()[]{}|,;=→：，、。！？（）【】《》".contains(c)
}

const fn is_quote(c: char) -> bool {
    matches!(c, '"' | '\'' | '`' | '´' | '‘' | '’' | '“' | '”' | '„' | '«' | '»' | '「' | '」' | '『' | '』')
}

/// The closing quotation mark of each opening one.
const QUOTES: &[(char, char)] =
    &[('"', '"'), ('\'', '\''), ('`', '`'), ('“', '”'), ('„', '“'), ('«', '»'), ('「', '」'), ('『', '』')];

/// Adds the words of a line that are not only letters, or that follow a mark of a value.
fn words(text: &str, line: &Range<usize>, values: &mut Vec<Range<usize>>) {
    let mut start = line.start;
    for (at, c) in text[line.clone()].char_indices().chain([(line.len(), ' ')]) {
        let at = line.start + at;
        if is_separator(c) {
            if start < at {
                word(text, start..at, values);
            }
            start = at + c.len_utf8();
        }
    }
}

fn word(text: &str, range: Range<usize>, values: &mut Vec<Range<usize>>) {
    let whole = &text[range.clone()];
    if whole.contains("://") || whole.starts_with("www.") || whole.starts_with("redacted:") {
        return;
    }
    if whole.contains(is_unspaced_script) {
        // Between characters of these scripts, a value in other letters needs no spaces.
        let mut at = range.start;
        for part in whole.split(|c: char| !c.is_ascii_graphic()) {
            let start = at + text[at..range.end].find(part).unwrap_or(0);
            at = start + part.len();
            judged(text, start..at, values);
        }
        return;
    }
    let inner = whole.trim_start_matches(['.', ':', '!', '?', '*', '~', '-', '–', '—', '…', '#', '$', '&']);
    let start = range.end - inner.len();
    let inner = inner.trim_end_matches(['.', ':', '?', '…', '–', '—', '*']);
    let end = start + inner.len();
    judged(text, start..end, values);
    let label = inner.rfind(':').filter(|colon| inner[..*colon].chars().all(char::is_alphabetic));
    if let Some(colon) = label {
        judged(text, start + colon + 1..end, values);
    }
}

/// Adds a word if it could be a secret by its letters and by what precedes it.
fn judged(text: &str, range: Range<usize>, values: &mut Vec<Range<usize>>) {
    let value = &text[range.clone()];
    let before = &text[..range.start];
    let is_marked = before.ends_with(is_quote) || before.trim_end_matches(' ').ends_with([':', '：', '→']);
    let is_word = value.chars().all(char::is_alphabetic);
    if value.contains(char::is_alphanumeric) && (!is_word || is_marked) && !is_part_of_digits(text, &range) {
        values.push(range);
    }
}

/// Whether a number is one of several groups of digits, which are judged together.
fn is_part_of_digits(text: &str, range: &Range<usize>) -> bool {
    let bytes = text.as_bytes();
    let is_group = |gap: Option<usize>, next: Option<usize>| {
        let byte = |at: Option<usize>| at.and_then(|at| bytes.get(at));
        matches!(byte(gap), Some(b' ' | b'-')) && byte(next).is_some_and(u8::is_ascii_digit)
    };
    bytes[range.clone()].iter().all(u8::is_ascii_digit)
        && (is_group(range.start.checked_sub(1), range.start.checked_sub(2))
            || is_group(Some(range.end), Some(range.end + 1)))
}

/// Whether a value is a time, a date, a year or a share, or contains a version, as `Python3.12` does.
fn is_ordinary(value: &str) -> bool {
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let is_year = value.len() == 4 && is_number(value) && (value.starts_with("19") || value.starts_with("20"));
    let has_version = value.as_bytes().windows(3).any(|three| matches!(three, [b'0'..=b'9', b'.' | b':', b'0'..=b'9']));
    let is_day = value.len() == 10 && value.split('-').count() == 3 && value.split('-').all(is_number);
    let share = value.strip_suffix('%');
    is_year || has_version || is_day || share.is_some_and(|share| share.split(['.', ',']).all(is_number))
}

/// Whether a number before this sign is an amount.
const fn is_unit(c: char) -> bool {
    matches!(c, '%' | '°' | '€' | '£' | '¥' | '₽' | '元' | '块' | '円' | '원' | '度')
}

/// Adds what stands between quotation marks.
fn quoted(text: &str, line: &Range<usize>, values: &mut Vec<Range<usize>>) {
    for (open, close) in QUOTES {
        let mut from = line.start;
        while let Some(at) = text[from..line.end].find(*open) {
            let start = from + at + open.len_utf8();
            let limit = text.floor_char_boundary((start + 4 * VALUE_CHARS.end()).min(line.end));
            let Some(length) = text[start..limit].find(*close) else {
                from = start;
                continue;
            };
            values.push(start..start + length);
            from = start + length + close.len_utf8();
        }
    }
}

/// Returns the rest of the line after its last colon or arrow.
fn rest(text: &str, line: &Range<usize>) -> Option<Range<usize>> {
    let part = &text[line.clone()];
    let (at, mark) = part.char_indices().rev().take(VALUE_CHARS.end() + 2).find(|(at, c)| match c {
        // A colon in a time is followed by a digit.
        ':' => part[at + 1..].starts_with(char::is_whitespace),
        _ => matches!(c, '：' | '→'),
    })?;
    let rest = part[at + mark.len_utf8()..].trim_end().trim_end_matches(['.', '。']);
    let end = line.start + at + mark.len_utf8() + rest.len();
    Some(end - rest.trim_start().len()..end)
}

/// Adds groups of digits with single spaces or hyphens between them, of 4 to 12 digits.
fn digits(text: &str, line: &Range<usize>, values: &mut Vec<Range<usize>>) {
    let bytes = &text.as_bytes()[line.clone()];
    let mut at = 0;
    while at < bytes.len() {
        let (start, mut count, mut has_gap) = (at, 0, false);
        while at < bytes.len() {
            let is_gap =
                matches!(bytes[at], b' ' | b'-') && count > 0 && bytes.get(at + 1).is_some_and(u8::is_ascii_digit);
            if !bytes[at].is_ascii_digit() && !is_gap {
                break;
            }
            count += usize::from(!is_gap);
            has_gap |= is_gap;
            at += 1;
        }
        if has_gap && (4..=12).contains(&count) {
            values.push(line.start + start..line.start + at);
        }
        at += usize::from(at == start);
    }
}

/// Returns the features of a value: its shape, the words and marks next to it, and parts of the words around it.
pub(super) fn features(text: &str, value: &Range<usize>) -> Features {
    let mut features = FeatureBuilder::default();
    let own = &text[value.clone()];
    let class = shape(own, &mut features);
    let left = unaccented(last_chars(&text[..value.start], CONTEXT_CHARS[0]));
    let right = unaccented(first_chars(&text[value.end..], CONTEXT_CHARS[1]));
    let mut earlier = left.rsplit('\n');
    let (line, previous) = (earlier.next().unwrap_or(""), earlier.next().unwrap_or(""));
    let following = right.split('\n').next().unwrap_or("");
    let (before, after) = (tokens(line), tokens(following));
    let mut both = |kind: u8, place: usize, word: &str| {
        let place = ["0", "1", "2", "3"][place];
        features.add_all(kind, [place, word]);
        features.add_all(kind, [place, word, class]);
    };
    for (place, word) in before.iter().rev().take(6).enumerate() {
        both(b'l', place.min(3), &without_numbers(word));
    }
    for (place, word) in after.iter().take(4).enumerate() {
        both(b'r', place.min(2), &without_numbers(word));
    }
    both(b'y', 0, marks_at_end(&left));
    both(b'z', 0, marks_at_start(&right));
    parts(b'a', before.iter().rev().take(10), 1, &mut features);
    parts(b'b', after.iter().take(8), 2, &mut features);
    parts(b'p', tokens(previous).iter().rev().take(8), 2, &mut features);
    features.finish()
}

/// Adds parts of the words, of those that have at least `least` characters.
fn parts<'w>(kind: u8, words: impl Iterator<Item = &'w &'w str>, least: usize, features: &mut FeatureBuilder) {
    for word in words.filter(|word| word.starts_with(char::is_alphanumeric) && word.chars().count() >= least) {
        features.add_parts(kind, word, 3..=5);
        if word.contains(is_unspaced_script) {
            features.add_parts(kind, word, 2..=2);
        }
    }
}

/// Adds the features of the value itself, and returns its class: digits, one word, several words, or anything else.
fn shape(value: &str, features: &mut FeatureBuilder) -> &'static str {
    let has = |what: fn(char) -> bool| value.contains(what);
    let kinds = [
        ("d", has(|c| c.is_ascii_digit())),
        ("l", has(|c| c.is_ascii_lowercase())),
        ("U", has(|c| c.is_ascii_uppercase())),
        ("p", has(|c| !c.is_alphanumeric() && !c.is_whitespace())),
        ("s", has(char::is_whitespace)),
        ("u", has(|c| !c.is_ascii())),
    ];
    let kinds: String = kinds.iter().filter(|(_, has)| *has).map(|(name, _)| *name).collect();
    let length = match value.chars().count() {
        length @ 0..10 => length.to_string(),
        10..16 => "10".to_owned(),
        16..33 => "16".to_owned(),
        _ => "33".to_owned(),
    };
    features.add(b'K', &kinds);
    features.add(b'L', &length);
    features.add_all(b'M', [kinds.as_str(), &length]);
    let mut outline = String::new();
    for c in value.chars() {
        let kind = match c {
            'A'..='Z' => 'A',
            'a'..='z' => 'a',
            '0'..='9' => '0',
            _ if is_unspaced_script(c) => 'K',
            _ if c.is_alphabetic() => 'u',
            _ => c,
        };
        if !outline.ends_with(kind) {
            outline.push(kind);
        }
    }
    features.add(b'H', first_chars(&outline, 10));
    let plain = unaccented(value);
    features.add(b'v', first_chars(&plain, 24));
    features.add(b'f', first_chars(&plain, 3));
    features.add(b'e', last_chars(&plain, 3));
    match kinds.as_str() {
        "d" => "D",
        _ if kinds.contains('s') => "S",
        _ if !kinds.contains(['d', 'p']) => "W",
        _ => "X",
    }
}

/// Returns the words of a text, and each mark between them.
fn tokens(text: &str) -> Vec<&str> {
    let mut tokens = Vec::new();
    let mut start = None;
    for (at, c) in text.char_indices().chain([(text.len(), ' ')]) {
        if c.is_alphanumeric() {
            start.get_or_insert(at);
            continue;
        }
        if let Some(start) = start.take() {
            tokens.push(&text[start..at]);
        }
        if !c.is_whitespace() && at < text.len() {
            tokens.push(&text[at..at + c.len_utf8()]);
        }
    }
    tokens
}

fn marks_at_end(text: &str) -> &str {
    let words = text.trim_end_matches(|c: char| !c.is_alphanumeric());
    last_chars(&text[words.len()..], 4)
}

fn marks_at_start(text: &str) -> &str {
    let words = text.trim_start_matches(|c: char| !c.is_alphanumeric());
    first_chars(&text[..text.len() - words.len()], 4)
}

fn first_chars(text: &str, count: usize) -> &str {
    text.char_indices().nth(count).map_or(text, |(at, _)| &text[..at])
}

fn last_chars(text: &str, count: usize) -> &str {
    text.char_indices().rev().nth(count.saturating_sub(1)).map_or(text, |(at, _)| &text[at..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_in_a_sentence_is_found_and_other_values_are_not() {
        for (before, secret, after) in [
            ("The key box by the shed opens with ", "4471", ", please close it again."),
            ("Fürs Gartentor tippst du ", "2580", " und dann die Raute."),
            ("La alarma de la tienda se apaga con ", "7713", ", no se lo digas a nadie."),
            ("楼下大门的密码改成了", "9042", "，进门后记得关好。"),
        ] {
            let text = format!("{before}{secret}{after}");
            let found: Vec<&str> = find(&text).iter().map(|one| &text[one.range.clone()]).collect();
            assert_eq!(found, [secret], "{text}");
        }
        for text in [
            "The dev server of the shop listens on port 8080.",
            "We moved from PostgreSQL15 to PostgreSQL16 in March.",
            "Bus 4471 stops right in front of the shed.",
            "let code = \"4471\"; // opens the shed",
            "",
        ] {
            assert_eq!(find(text).len(), 0, "{text}");
        }
    }

    #[test]
    fn a_value_is_the_whole_number_or_word() {
        let values = |text: &str| values(text).iter().map(|value| text[value.clone()].to_owned()).collect::<Vec<_>>();
        assert_eq!(values("Please type 44 71 09 at the gate."), ["44 71 09"]);
        assert_eq!(values("The word for the school is \"Pfau\" this week."), ["Pfau"]);
        assert_eq!(values("大门的密码是Kx-9042，请记住。"), ["Kx-9042"]);
        assert_eq!(values("The meeting is at 10:30 on 2026-11-30 and took 85 %."), Vec::<String>::new());
        assert_eq!(values("It opens with this:\nabc9042\n"), ["abc9042"]);
        assert_eq!(values("[redacted:prose-secret] opens the gate of the house."), Vec::<String>::new());
    }
}
