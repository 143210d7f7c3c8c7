//! Finds tokens with a vendor's prefix, such as `ghp_…`, even if a line break divides the token.
//!
//! The templates are in `tokens.txt` and are matched without regular expressions. A template is compared from its
//! prefix on, and a line break within a token is skipped if the template requires more characters.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::LazyLock;

use crate::guard::broken::{
    MAX_LINES, REST_BYTES, SHORT_REST_BYTES, continues, ends, ends_line, line_start, stands_apart,
};

/// One template, with the name for the marker.
pub(super) struct Template {
    pub name: &'static str,
    parts: Vec<Part>,
}

enum Part {
    Literal(String),
    /// From `min` to `max` characters of the set, which is a mask of ASCII.
    Class {
        set: u128,
        letter: char,
        min: usize,
        max: usize,
    },
}

/// All templates, ordered by their prefixes.
pub(super) struct VendorTable {
    pub templates: Vec<Template>,
    /// Each prefix, with the templates that begin with it.
    pub prefixes: Vec<(String, Range<usize>)>,
}

pub(super) static VENDORS: LazyLock<VendorTable> = LazyLock::new(|| {
    let rows = include_str!("tokens.txt").lines().filter(|row| !row.is_empty() && !row.starts_with('#'));
    let rows = rows.map(|row| row.split_once(' ').expect("a test reads every row"));
    let mut templates: Vec<Template> = rows
        .flat_map(|(name, template)| expanded(template).into_iter().map(move |one| Template::read(name, &one)))
        .collect();
    templates.sort_by(|a, b| a.prefix().cmp(b.prefix()));
    let mut prefixes: Vec<(String, Range<usize>)> = Vec::new();
    for (at, template) in templates.iter().enumerate() {
        match prefixes.last_mut() {
            Some((prefix, range)) if prefix == template.prefix() => range.end = at + 1,
            _ => prefixes.push((template.prefix().to_owned(), at..at + 1)),
        }
    }
    VendorTable { templates, prefixes }
});

/// Returns one template for each combination of the alternatives.
fn expanded(template: &str) -> Vec<String> {
    let Some((before, rest)) = template.split_once('(') else { return vec![template.to_owned()] };
    let (choices, after) = rest.split_once(')').expect("a test reads every row");
    choices.split('|').flat_map(|choice| expanded(&format!("{before}{choice}{after}"))).collect()
}

impl Template {
    fn read(name: &'static str, template: &str) -> Self {
        let template = template.replace("{U}", "{h8}-{h4}-{h4}-{h4}-{h12}");
        let mut parts = Vec::new();
        for (at, piece) in template.split(['{', '}']).enumerate().filter(|(_, piece)| !piece.is_empty()) {
            parts.push(if at % 2 == 0 { Part::Literal(piece.to_owned()) } else { Part::class(piece) });
        }
        Self { name, parts }
    }

    fn prefix(&self) -> &str {
        match self.parts.first() {
            Some(Part::Literal(prefix)) => prefix,
            _ => unreachable!("a test reads every row"),
        }
    }

    /// Whether the length of a token is known. If so, its end is certain even if a line breaks.
    fn is_bounded(&self) -> bool {
        self.parts.iter().all(|part| !matches!(part, Part::Class { max: usize::MAX, .. }))
    }

    /// Returns an example in the notation of `Secret::example`.
    pub(super) fn example(&self) -> String {
        let piece = |part: &Part| match part {
            Part::Literal(text) => text.clone(),
            Part::Class { letter: '=', .. } => String::new(),
            Part::Class { letter, min, .. } => {
                let class = match letter {
                    'h' | 'x' | 'l' => 'h',
                    'd' | 'u' => *letter,
                    _ => 'a',
                };
                format!("{{{class}{min}}}")
            }
        };
        self.parts.iter().map(piece).collect()
    }
}

impl Part {
    fn class(piece: &str) -> Self {
        let letter = piece.chars().next().expect("a class has a letter");
        let number = |text: &str| text.parse().expect("a test reads every row");
        let (min, max) = match piece[1..].split_once(['-', '+']) {
            None => (number(&piece[1..]), number(&piece[1..])),
            Some((min, "")) => (number(min), usize::MAX),
            Some((min, max)) => (number(min), number(max)),
        };
        let ranges: &[&str] = match letter {
            'd' => &["09"],
            'h' => &["09", "af"],
            'x' => &["09", "af", "AF"],
            'l' => &["09", "az"],
            'u' => &["09", "AZ"],
            'c' => &["az", "AZ"],
            '5' => &["19", "AH", "JN", "PZ", "ak", "mz"],
            'a' => &["09", "az", "AZ"],
            '_' => &["09", "az", "AZ", "__"],
            'w' => &["09", "az", "AZ", "__", "--"],
            's' => &["09", "az", "AZ", "__", "--", "=="],
            't' => &["09", "az", "AZ", "__", "--", ".."],
            'b' => &["09", "az", "AZ", "++", "//"],
            'p' => &["09", "az", "AZ", "++", "//", "__", "--", "=="],
            ',' => &["09", "az", "AZ", "++", "//", "__", "--", "==", ",,"],
            '.' => &["09", "az", "AZ", "++", "//", "--", "..", "%%"],
            '%' => &["09", "az", "AZ", "%%"],
            '=' => &["=="],
            _ => unreachable!("a test reads every row"),
        };
        let bits =
            |range: &&str| (u128::MAX >> (127 - (range.as_bytes()[1] - range.as_bytes()[0]))) << range.as_bytes()[0];
        Self::Class { set: ranges.iter().fold(0, |set, range| set | bits(range)), letter, min, max }
    }
}

const fn holds(set: u128, byte: u8) -> bool {
    byte < 128 && set >> byte & 1 == 1
}

/// Prefixes shorter than this also occur in names, so the following text must look random.
const CLEAR_PREFIX_BYTES: usize = 4;

/// Length of a token's random part that is too long for a name.
const LONG_BODY_BYTES: usize = 44;

/// Returns the longest token that begins at `start` with a prefix, and its name. A token of known length is preferred.
pub(super) fn find(text: &str, start: usize, prefix: usize) -> Option<(&'static str, Range<usize>)> {
    let (prefix, range) = &VENDORS.prefixes[prefix];
    let is_clear = prefix.len() >= CLEAR_PREFIX_BYTES;
    if !text[start..].starts_with(prefix.as_str()) {
        return None;
    }
    let is_inside_name = !is_clear && text[..start].ends_with(['_', '-', '.', '/']);
    let matched = VENDORS.templates[range.clone()].iter().filter_map(|template| {
        let end = Reader { text, start, at: start + prefix.len(), lines: 0 }.read(&template.parts[1..])?;
        let broken = !text[start..end].bytes().all(|byte| byte > b' ' && byte != b'\\');
        let body = &text[start + prefix.len()..end];
        // Names are not that long.
        let is_long = body.len() >= LONG_BODY_BYTES
            && template.is_bounded()
            && body.bytes().all(|byte| byte.is_ascii_alphanumeric());
        // In a path or the name of a branch, words after a short prefix are more frequent than tokens.
        if is_inside_name && !(is_long || is_random_run(body)) {
            return None;
        }
        let is_certain = (is_clear || is_long) && (!broken || template.is_bounded());
        let is_made = is_certain
            || is_machine_made(body)
                && (prefix.len() > 2 || is_mixed(body.as_bytes()) || has_digits(body.as_bytes(), 8));
        (is_made && !is_specimen(body)).then_some((template, start..end))
    });
    let best = matched.max_by_key(|(template, range)| (template.is_bounded(), range.end));
    best.map(|(template, range)| (template.name, range))
}

/// Length of a run of letters and digits that is too long for a word.
const RUN_BYTES: usize = 20;

/// Whether a text contains a long run of letters and digits that alternate as in a random value.
fn is_random_run(body: &str) -> bool {
    let is_other = |byte: &u8| !byte.is_ascii_alphanumeric();
    let longest = body.as_bytes().split(is_other).max_by_key(|run| run.len()).unwrap_or_default();
    // In names, few letters are capitals.
    let count = |class: fn(&u8) -> bool| 3 * longest.iter().filter(|byte| class(byte)).count() > longest.len();
    let is_cased = || count(u8::is_ascii_uppercase) && count(u8::is_ascii_lowercase);
    let is_random = is_mixed(longest) && has_digits(longest, 2) || has_digits(longest, 8) || is_cased();
    longest.len() >= RUN_BYTES && is_random
}

/// Whether a text contains digits or changes of case that do not occur in words and names.
fn is_machine_made(body: &str) -> bool {
    let digits = body.bytes().filter(u8::is_ascii_digit).count();
    let letters = || body.as_bytes().windows(2).filter(|pair| pair.iter().all(u8::is_ascii_alphabetic));
    let turns = || letters().filter(|pair| pair[0].is_ascii_uppercase() != pair[1].is_ascii_uppercase()).count();
    digits >= 2 || turns() >= 6
}

/// Whether a token is only an example of the format, as in documentation.
fn is_specimen(body: &str) -> bool {
    let mut bytes = body.bytes();
    let first = bytes.next();
    let stands = ["EXAMPLE", "your-", "your_", "-here"].iter().any(|part| body.contains(part));
    stands || body.len() >= 8 && bytes.all(|byte| Some(byte) == first)
}

struct Reader<'t> {
    text: &'t str,
    start: usize,
    at: usize,
    lines: usize,
}

impl Reader<'_> {
    /// Returns the end of the token, if the text after the prefix matches `parts`.
    fn read(mut self, parts: &[Part]) -> Option<usize> {
        for (index, part) in parts.iter().enumerate() {
            let is_followed = parts[index + 1..].iter().any(Part::is_needed);
            match part {
                Part::Literal(literal) => literal.bytes().try_for_each(|byte| self.take(1 << byte, true))?,
                Part::Class { set, min, max, .. } => {
                    let mut count = 0;
                    while count < *max && self.take(*set, count < *min || is_followed).is_some() {
                        count += 1;
                    }
                    if count < *min {
                        return None;
                    }
                    if count < *max && !is_followed {
                        self.go_on(*set, *max - count);
                    }
                }
            }
        }
        // A token that continues is part of a longer identifier.
        let next = self.text.as_bytes().get(self.at);
        let is_apart = self.lines == 0 || stands_apart(&self.text[self.at..]);
        (is_apart && !next.is_some_and(u8::is_ascii_alphanumeric)).then_some(self.at)
    }

    /// Reads one character of `set`, on the next line if the template needs it and this line ends.
    fn take(&mut self, set: u128, is_needed: bool) -> Option<()> {
        let bytes = self.text.as_bytes();
        if !bytes.get(self.at).is_some_and(|byte| holds(set, *byte)) {
            let next = Some(self.at).filter(|_| is_needed && self.lines < MAX_LINES);
            let next = next.and_then(|at| line_start(self.text, at))?;
            if !bytes.get(next).is_some_and(|byte| holds(set, *byte)) {
                return None;
            }
            self.lines += 1;
            self.at = next;
        }
        self.at += 1;
        Some(())
    }

    /// Reads the next lines of a token whose length is not known, up to `most` characters.
    fn go_on(&mut self, set: u128, mut most: usize) {
        while self.lines < MAX_LINES
            && let Some(next) = line_start(self.text, self.at)
        {
            let rest = &self.text.as_bytes()[next..];
            let run = rest.iter().take(most).take_while(|byte| holds(set, **byte)).count();
            let behind = &self.text[next + run..];
            let token = seen(&self.text[self.start..self.at]);
            let alone = ends_line(behind);
            let (token, run_bytes) = (token.as_bytes(), &rest[..run]);
            let is_short_end = (SHORT_REST_BYTES..=2 * REST_BYTES).contains(&run) && alone && ends(token, run_bytes);
            let is_rest = is_short_end || run >= REST_BYTES && continues(token, run_bytes, alone);
            if run == 0 || !stands_apart(behind) || !is_rest {
                return;
            }
            self.lines += 1;
            self.at = next + run;
            most -= run;
        }
    }
}

/// Returns a token without the line breaks in it.
fn seen(token: &str) -> Cow<'_, str> {
    if token.contains(['\n', '\\']) {
        Cow::Owned(token.split(|c: char| c.is_whitespace() || c == '\\').collect())
    } else {
        Cow::Borrowed(token)
    }
}

impl Part {
    fn is_needed(&self) -> bool {
        match self {
            Self::Literal(_) => true,
            Self::Class { min, .. } => *min > 0,
        }
    }
}

// The following functions find secrets of vendors without a template.

/// Minimum length of the random part. The identifiers of objects, such as calls, messages and runs, are shorter.
const RANDOM_BYTES: usize = 32;

/// Minimum length of two random parts that are joined.
const PAIR_BYTES: usize = 20;

/// Returns the ranges that look like a vendor's token: a short name such as `acme_` before 32 mixed letters and digits,
/// or two random parts joined by a separator. The flag is true for two random parts, which are as distinctive as a
/// vendor's prefix.
pub(super) fn unknown(text: &str) -> Vec<(Range<usize>, bool)> {
    let bytes = text.as_bytes();
    let (mut found, mut at) = (Vec::new(), 0);
    while at + PAIR_BYTES <= bytes.len() {
        // Shorter runs are skipped from their ends, so that most bytes are not read.
        let other = bytes[at..at + PAIR_BYTES].iter().rposition(|byte| !byte.is_ascii_alphanumeric());
        if let Some(other) = other {
            at += other + 1;
            continue;
        }
        let run = PAIR_BYTES + bytes[at + PAIR_BYTES..].iter().take_while(|byte| byte.is_ascii_alphanumeric()).count();
        if run >= HEX_BYTES
            && let Some(range) = shaped(bytes, at, run)
        {
            found.push((range, true));
        }
        if is_mixed(&bytes[at..at + run])
            && let Some((start, is_pair)) = named_from(bytes, at, run)
        {
            let start = start + escape_len(bytes, start);
            let end = at + run + bytes[at + run..].iter().take_while(|byte| is_inside(**byte)).count();
            // Base64 and the names of files continue with these characters.
            let next = &bytes[end..bytes.len().min(end + 2)];
            let continues = next.first().is_some_and(|byte| b"+/=".contains(byte))
                || matches!(next, [b'.', after] if after.is_ascii_alphanumeric());
            // The modulus of a public key is longer than any secret.
            let begin = start - bytes[..start].iter().rev().take_while(|byte| is_inside(**byte)).count();
            let is_modulus = [&b"\"n\":\""[..], b"\"n\": \""].iter().any(|name| bytes[..begin].ends_with(name));
            if !continues && !is_modulus {
                found.push((start..end, is_pair));
            }
        }
        at += run;
    }
    found
}

/// Returns the length of the rest of an escape in JSON, such as `\u003d`, whose backslash is before `at`.
fn escape_len(bytes: &[u8], at: usize) -> usize {
    let is_escape = bytes[..at].ends_with(b"\\")
        && matches!(&bytes[at..], [b'u', digits @ ..] if digits.iter().take_while(|byte| byte.is_ascii_hexdigit()).count() >= 4);
    if is_escape { 5 } else { 0 }
}

/// Length of the shortest key that [`shaped`] recognises.
const HEX_BYTES: usize = 24;

/// Returns the key of a known shape that contains the run of `run` letters and digits at `at`: a key of Bitcoin, Ripple
/// or Stellar, or hexadecimal parts of the lengths that two vendors use.
fn shaped(bytes: &[u8], at: usize, run: usize) -> Option<Range<usize>> {
    let (part, before, after) = (&bytes[at..at + run], &bytes[..at], &bytes[at + run..]);
    let is_base58 = || part.iter().all(|byte| !b"0OIl".contains(byte)) && is_mixed(part);
    let is_base32 = || part.iter().all(|byte| byte.is_ascii_uppercase() || (b'2'..=b'7').contains(byte));
    let is_hex = |part: &[u8]| part.iter().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(byte));
    let is_alone = before.last().is_none_or(|byte| !is_inside(*byte) || matches!(before, [.., b'a'..=b'z', b'-']));
    match (run, part[0]) {
        (52, b'K' | b'L') | (51, b'5') | (29, b's') => (is_alone && is_base58()).then_some(at..at + run),
        (56, b'S') => (is_alone && is_base32() && has_digits(part, 3)).then_some(at..at + run),
        (32, _) if after.first() == Some(&b'.') => {
            let secret = after[1..].iter().take_while(|byte| byte.is_ascii_alphanumeric()).count();
            (is_alone && secret == 16 && is_hex(part) && is_mixed(&after[1..17])).then_some(at..at + run + 17)
        }
        (32, _) => {
            let (first, second) = after.get(..18)?.split_at(9);
            let is_tail = |tail: &[u8]| tail[0] == b'-' && is_hex(&tail[1..]);
            let is_key = is_alone && is_hex(part) && is_tail(first) && is_tail(second);
            is_key.then_some(at..at + run + 18)
        }
        (24, _) => {
            let name = before.strip_suffix(b"-")?;
            let digits = name.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
            let start = name.len().checked_sub(digits + 1)?;
            let is_key = (5..=9).contains(&digits) && matches!(name[start], b'u' | b'm' | b'r') && is_hex(part);
            is_key.then_some(start..at + run)
        }
        _ => None,
    }
}

fn has_digits(run: &[u8], least: usize) -> bool {
    run.iter().filter(|byte| byte.is_ascii_digit()).count() >= least
}

const fn is_inside(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
}

/// Returns the start of the token with a random part of `run` bytes at `at`, and whether another random part precedes
/// it.
fn named_from(bytes: &[u8], at: usize, run: usize) -> Option<(usize, bool)> {
    let length = bytes[..at].iter().rev().take(64).take_while(|byte| is_inside(**byte)).count();
    let name = &bytes[at - length..at];
    let [start @ .., letter, b'_' | b'-'] = name else { return None };
    // Checksums and public keys begin like this.
    let is_known = name.len() >= 3 && [b"sha", b"md5"].iter().any(|sum| name[..3].eq_ignore_ascii_case(*sum))
        || matches!(name, b"pk_live_" | b"pk_test_") && bytes[at..].starts_with(b"51");
    let is_in_path = at > length && b"/+=.".contains(&bytes[at - length - 1]);
    if !letter.is_ascii_alphanumeric() || is_known || is_in_path {
        return None;
    }
    let pair = start.iter().rev().take_while(|byte| byte.is_ascii_alphanumeric()).count() + 1;
    let is_pair = pair >= PAIR_BYTES && is_mixed(&name[length - 1 - pair..length - 1]);
    let is_name = run >= RANDOM_BYTES && name[0].is_ascii_alphabetic() && (3..=24).contains(&length);
    if is_name { Some((at - length, false)) } else { is_pair.then_some((at - 1 - pair, true)) }
}

fn is_mixed(run: &[u8]) -> bool {
    let count = |class: fn(&u8) -> bool| run.iter().filter(|byte| class(byte)).count();
    let few = run.len() / 8;
    count(u8::is_ascii_digit) >= 2 && count(u8::is_ascii_uppercase) > few && count(u8::is_ascii_lowercase) > few
}

/// Number of bytes in a key pair of Ed25519, which wallets write as a list of numbers.
const KEY_BYTES: usize = 64;

/// Number of groups of six digits in a recovery key of `BitLocker`.
const DIGIT_GROUPS: usize = 8;

/// Returns the recovery keys of `BitLocker`.
pub(super) fn digit_keys(text: &str) -> Vec<Range<usize>> {
    let bytes = text.as_bytes();
    let is_group = |at: usize| bytes.get(at..at + 6).is_some_and(|group| group.iter().all(u8::is_ascii_digit));
    let is_digit = |at: Option<usize>| at.and_then(|at| bytes.get(at)).is_some_and(u8::is_ascii_digit);
    let key = |hyphen: usize| {
        let start = hyphen.checked_sub(6)?;
        let end = start + DIGIT_GROUPS * 7 - 1;
        let is_key = (0..DIGIT_GROUPS).all(|group| {
            let at = start + group * 7;
            is_group(at) && (group == 0 || bytes[at - 1] == b'-')
        });
        let is_longer = is_digit(start.checked_sub(1)) || bytes.get(end) == Some(&b'-') || is_digit(Some(end));
        (is_key && !is_longer).then_some(start..end)
    };
    memchr::memchr_iter(b'-', bytes).filter_map(key).collect()
}

/// Returns the tokens of applications at Facebook: the number of the application, a line, and its secret.
pub(super) fn numbered_tokens(text: &str) -> Vec<Range<usize>> {
    let bytes = text.as_bytes();
    let token = |line: usize| {
        let digits = bytes[..line].iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
        let rest = bytes[line + 1..].iter().take_while(|byte| is_inside(**byte)).count();
        let secret = &bytes[line + 1..line + 1 + rest];
        let is_token = (15..=16).contains(&digits) && (27..=32).contains(&rest) && is_mixed(secret);
        is_token.then_some(line - digits..line + 1 + rest)
    };
    memchr::memchr_iter(b'|', bytes).filter_map(token).collect()
}

/// Returns the lists of numbers that are the bytes of a key.
pub(super) fn key_bytes(text: &str) -> Vec<Range<usize>> {
    let lists = memchr::memchr_iter(b'[', text.as_bytes()).filter_map(|open| {
        let near = &text[open + 1..text.floor_char_boundary(open + 1 + 8 * KEY_BYTES)];
        let list = near.split_once(']')?.0;
        let numbers = || list.split(',').map(|number| number.trim().parse::<u8>());
        let is_key = numbers().flatten().count() == KEY_BYTES && numbers().count() == KEY_BYTES;
        // The counts in a histogram contain more repetitions.
        let distinct = || numbers().flatten().collect::<std::collections::BTreeSet<u8>>().len();
        (is_key && distinct() > KEY_BYTES * 2 / 3).then_some(open..open + list.len() + 2)
    });
    lists.collect()
}
