//! Finds the sentence that several episodes share, and counts how often and when it was true.

use std::sync::LazyLock;

use jiff::civil::Date;
use regex::Regex;

use crate::consolidate::Known;
use crate::consolidate::compare::features::{Features, Polarity};
use crate::consolidate::pass::reflect::model::day;
use crate::text::language::{COMPARED, Language, detect};
use crate::text::normalise::comparable;

/// Minimum number of content words in a shared sentence.
// One shared word, such as a name, does not make a statement.
const MIN_WORDS: usize = 2;

/// Dates as they appear in an episode.
static DAYS: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(?ix) (?P<lead> \b(?:on|am|el|el\ día|vom) \s+ )?
            (?: (?:mon|tues|wednes|thurs|fri|satur|sun)day,? \s+ )?
            (?: \d{4}-\d{2}-\d{2}
              | \d{4}年\d{1,2}月\d{1,2}日 | \d{1,2}月\d{1,2}日 | \d{4}년\s*\d{1,2}월\s*\d{1,2}일
              | (?:january|february|march|april|may|june|july|august|september|october|november|december)
                \s+ \d{1,2} (?:st|nd|rd|th)? (?:,? \s+ \d{4})? \b
              | \b\d{1,2}\.? \s+ (?:january|february|march|april|may|june|july|august|september|october|november
                |december|januar|februar|märz|mai|juni|juli|oktober|dezember|de\ \p{L}+) (?: \s+ (?:de\s+)? \d{4})? \b )
            (?: \s+ (?:at|um|a\ las) \s+ \d{1,2}:\d{2} )?
            (?: [に、，] | 에 | ,\s )? \s*",
    )
    .expect("the pattern is a constant that a test uses")
});

/// Words after which a date is part of the statement.
const NEEDS_DAY: &[&str] = &[
    "by", "until", "till", "since", "from", "before", "after", "to", "between", "and", "than", "for", "of", "bis",
    "seit", "ab", "vor", "nach", "zum", "hasta", "desde", "antes", "después", "para", "de",
];

/// Words that may follow a sentence and introduce a part that can be omitted.
const ADJUNCTS: &[&str] = &[
    "because", "after", "when", "while", "since", "during", "due", "by", "weil", "nachdem", "wegen", "während",
    "durch", "porque", "después", "cuando", "mientras", "debido",
];

/// The possible forms of an ending such as `(3 times, …)`.
static COUNT: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"\s?[(（]\d+(?: times, | 次，|回、|회, |-mal, | veces, )\d{4}-\d{2}-\d{2}[^()（）]*\d{4}-\d{2}-\d{2}[)）][.。]?$")
        .expect("the pattern is a constant that a test uses")
});

/// The number of times that something happened, with the first and the last day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) struct Span {
    times: usize,
    first: Date,
    last: Date,
}

impl Span {
    pub(super) fn of(episodes: &[&Known]) -> Option<Self> {
        let days = || episodes.iter().map(|known| day(known));
        Some(Self { times: episodes.len(), first: days().min()?, last: days().max()? })
    }

    /// Returns `statement` followed by the count; `None` if its language is unknown.
    pub(super) fn after(&self, statement: &str) -> Option<String> {
        let bare = statement.trim().trim_end_matches(['.', '。', '!', '！']);
        let Self { times, first, last } = self;
        Some(match detect(bare, COMPARED)? {
            Language::English => format!("{bare} ({times} times, {first} to {last})."),
            Language::German => format!("{bare} ({times}-mal, {first} bis {last})."),
            Language::Spanish => format!("{bare} ({times} veces, {first} a {last})."),
            Language::Chinese => format!("{bare}（{times} 次，{first} 至 {last}）。"),
            Language::Japanese => format!("{bare}（{times}回、{first} から {last}）。"),
            Language::Korean => format!("{bare} ({times}회, {first} ~ {last})."),
            _ => return None,
        })
    }

    /// Returns `content` with the count at its end replaced by this count, if it ends with a count.
    pub(super) fn instead_of_old(&self, content: &str) -> Option<String> {
        let old = COUNT.find(content.trim_end())?;
        self.after(&content[..old.start()])
    }
}

/// Returns a sentence that each of the episodes contains, apart from its date.
///
/// Either the episodes contain nothing else, or each continues with a part that can be omitted, which states why, when,
/// or how.
pub(super) fn shared(episodes: &[&str]) -> Option<String> {
    let bare: Vec<String> = episodes.iter().map(|text| without_days(text)).collect();
    let last = bare.last()?;
    let is_said_by_all = bare.iter().all(|text| comparable(text) == comparable(last));
    let sentence = if is_said_by_all { last.clone() } else { common_start(&bare)? };
    (Features::of(&sentence).tokens.len() >= MIN_WORDS).then_some(sentence)
}

/// Returns `text` without the dates of the event.
fn without_days(text: &str) -> String {
    let mut bare = String::with_capacity(text.len());
    let mut from = 0;
    for found in DAYS.captures_iter(text) {
        let Some(whole) = found.get(0) else { continue };
        let before = text[..whole.start()].split_whitespace().next_back().unwrap_or_default().to_lowercase();
        if found.name("lead").is_none() && NEEDS_DAY.contains(&before.as_str()) {
            continue;
        }
        bare.push_str(&text[from..whole.start()]);
        bare.push(' ');
        from = whole.end();
    }
    bare.push_str(&text[from..]);
    let wide = |c: char| ('\u{2E80}'..='\u{9FFF}').contains(&c);
    let words = bare.split_whitespace().collect::<Vec<_>>().join(" ").replace(" .", ".").replace(" ,", ",");
    let words = words.trim_end_matches(',').trim();
    let mut chars = words.chars();
    match chars.next() {
        Some(first) if !wide(first) => first.to_uppercase().chain(chars).collect(),
        _ => words.to_owned(),
    }
}

/// Returns the words with which all texts begin, if each text ends there or continues with a part that can be omitted.
fn common_start(texts: &[String]) -> Option<String> {
    let is_plain = |text: &String| {
        let features = Features::of(text);
        features.polarity == Polarity::Positive && !features.except && !features.planned
    };
    let spaced = matches!(detect(texts.first()?, COMPARED)?, Language::English | Language::German | Language::Spanish);
    if !spaced || !texts.iter().all(is_plain) {
        return None;
    }
    let split: Vec<Vec<&str>> = texts.iter().map(|text| text.split_whitespace().collect()).collect();
    let plain = |word: &str| word.trim_end_matches(['.', ',', ';', ':', '!']).to_lowercase();
    let mut length = 0;
    while split.iter().all(|words| words.get(length).is_some_and(|word| plain(word) == plain(split[0][length]))) {
        length += 1;
        if split[0].len() == length {
            break;
        }
    }
    let ends_there = |words: &Vec<&str>, length: usize| {
        words.len() == length
            || words[length - 1].ends_with([';', '.'])
            || ADJUNCTS.contains(&plain(words[length]).as_str())
    };
    let length = (3..=length).rev().find(|length| split.iter().all(|words| ends_there(words, *length)))?;
    let sentence = split[0][..length].join(" ");
    Some(sentence.trim_end_matches(['.', ',', ';', ':', '!']).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_all_say_is_said_without_their_days() {
        let rows: &[(&[&str], Option<&str>)] = &[
            (
                &[
                    "On 2026-01-05 the user restarted Redis to fix the login test.",
                    "The user restarted Redis to fix the login test on 2026-01-12.",
                    "On Monday, 2026-02-02 the user restarted Redis to fix the login test.",
                ],
                Some("The user restarted Redis to fix the login test."),
            ),
            (
                &[
                    "The nightly deploy failed because the disk was full.",
                    "The nightly deploy failed after a certificate had expired on 2026-02-01.",
                    "The nightly deploy failed.",
                ],
                Some("The nightly deploy failed"),
            ),
            (&["The user likes to run in the park.", "The user likes to run in town."], None),
            (&["The team met until 2026-01-05.", "The team met until 2026-01-06."], None),
            (&["2026年1月5日用户重启了缓存服务。", "2026年1月9日，用户重启了缓存服务。"], Some("用户重启了缓存服务。")),
            (&["The user did not sleep because of noise.", "The user did not sleep after work."], None),
        ];
        for (texts, expected) in rows {
            assert_eq!(shared(texts).as_deref(), *expected, "{texts:?}");
        }
    }

    #[test]
    fn a_count_is_said_in_the_language_and_replaced_by_the_next() {
        let day = |text: &str| text.parse().unwrap();
        let span = Span { times: 3, first: day("2026-01-05"), last: day("2026-02-02") };
        let more = Span { times: 4, last: day("2026-03-03"), ..span };
        let texts = [
            ("The deploy failed.", "The deploy failed (3 times, 2026-01-05 to 2026-02-02)."),
            ("Der Nutzer war krank.", "Der Nutzer war krank (3-mal, 2026-01-05 bis 2026-02-02)."),
            ("El usuario fue al gimnasio.", "El usuario fue al gimnasio (3 veces, 2026-01-05 a 2026-02-02)."),
            ("用户重启了缓存服务。", "用户重启了缓存服务（3 次，2026-01-05 至 2026-02-02）。"),
            ("ユーザーはサーバーを再起動した。", "ユーザーはサーバーを再起動した（3回、2026-01-05 から 2026-02-02）。"),
            ("사용자가 서버를 재시작했다.", "사용자가 서버를 재시작했다 (3회, 2026-01-05 ~ 2026-02-02)."),
        ];
        for (statement, expected) in texts {
            let content = span.after(statement).unwrap();
            assert_eq!(content, expected);
            assert_eq!(more.instead_of_old(&content), more.after(statement), "{content}");
        }
        assert_eq!(span.after("Пользователь перезапустил сервер."), None);
        assert_eq!(span.instead_of_old("The deploy failed often."), None);
    }
}
