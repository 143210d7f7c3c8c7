//! Prepares text for the scores: normalisation, sentences, language, and the content words of facts.

use std::collections::BTreeSet;

use unicode_normalization::UnicodeNormalization as _;

use crate::results::{fitting, float};
use crate::tally::harmonic_mean;
use crate::vocabulary::Language;

/// Returns `text` in the form that is compared with patterns: NFKC, lower case, plain quotes and dashes, single spaces.
pub(crate) fn normalize(text: &str) -> String {
    // NFKC folds full-width letters and digits, which Chinese and Japanese texts mix with ASCII.
    let plain: String = text.nfkc().flat_map(char::to_lowercase).map(plain).collect();
    on_one_line(&plain)
}

/// Returns `text` in lower case with single spaces, and otherwise unchanged.
pub(crate) fn fold(text: &str) -> String {
    on_one_line(&text.to_lowercase())
}

/// Returns `text` with every run of white space replaced by one space.
pub(crate) fn on_one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns `pattern` with its literal characters normalised as in [`normalize`], and its syntax unchanged.
pub(crate) fn normalize_pattern(pattern: &str) -> String {
    let mut made = String::with_capacity(pattern.len());
    // The whole pattern is in NFC, because NFKC may produce characters with a special meaning.
    for one in pattern.nfc() {
        // Patterns have ASCII syntax, and converting it to lower case would turn `\S` into `\s`.
        if one.is_ascii() {
            made.push(one);
            continue;
        }
        let seen: String = std::iter::once(one).nfkc().map(plain).collect();
        if seen.chars().eq([one]) {
            made.push(one);
        } else {
            // For example `…` becomes three dots, each of which would match any character.
            made.push_str(&regex::escape(&seen));
        }
    }
    made
}

const fn plain(one: char) -> char {
    match one {
        '\u{2018}'..='\u{201b}' | '\u{2032}' | '\u{2039}' | '\u{203a}' => '\'',
        '\u{201c}'..='\u{201f}' | '\u{2033}' | '\u{ab}' | '\u{bb}' => '"',
        '\u{2010}'..='\u{2015}' | '\u{2212}' => '-',
        other => other,
    }
}

/// Returns the sentences of `text`, trimmed and in order; a line break ends a sentence.
pub(crate) fn sentences(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    for line in text.lines() {
        let mut start = 0;
        let mut rest = line.char_indices().peekable();
        while let Some((at, one)) = rest.next() {
            let end = at + one.len_utf8();
            let breaks = match one {
                '。' | '！' | '？' => true,
                // Sentences end only before white space: `3.14`, `v1.2` and `example.com` do not end sentences.
                '.' | '!' | '?' => rest.peek().is_none_or(|(_, next)| next.is_whitespace()),
                _ => false,
            };
            if breaks {
                found.push(line[start..end].trim());
                start = end;
            }
        }
        found.push(line[start..].trim());
    }
    // Lines of dashes and isolated emoji are not sentences.
    found.retain(|sentence| sentence.chars().any(char::is_alphanumeric));
    found
}

/// Common words that distinguish languages written in Latin letters.
const FREQUENT: [(Language, &str); 3] = [
    (
        Language::En,
        "the and is are was were of to that with for has have not it by this from an be on as at which their his her \
         should must after when",
    ),
    (
        Language::Es,
        "el la los las de que y en un una es son por con para del se su sus no al como más pero está fue desde cuando \
         sin lo ha",
    ),
    (
        Language::De,
        "der die das und ist sind ein eine einen einem einer nicht mit für von den dem des im zu auf sich wird werden \
         hat haben bei nach aus am",
    ),
];

/// Returns whether `text` appears to be written in `language`, judging by its script and common words. A text without
/// common words of any language counts as written in every language that uses Latin letters.
pub(crate) fn is_written_in(text: &str, language: Language) -> bool {
    let chinese = text.chars().filter(|&one| is_han(one)).count();
    let words: Vec<String> = text
        .split(|one: char| !one.is_alphabetic() || is_han(one))
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect();
    // Names and code are in Latin letters even in Chinese text, and a Chinese word has about two characters. A tie
    // counts as Chinese: a memory about code may name as many commands as it has characters.
    let is_chinese = chinese > 0 && chinese >= words.len();
    if language == Language::Zh {
        return is_chinese;
    }
    let hits = |known: &str| words.iter().filter(|word| known.split(' ').any(|one| one == *word)).count();
    let own = FREQUENT.iter().find(|(one, _)| *one == language).map_or(0, |(_, known)| hits(known));
    !is_chinese && FREQUENT.iter().all(|(_, known)| hits(known) <= own)
}

const fn is_han(one: char) -> bool {
    matches!(one, '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3134f}')
}

/// English words that add no content to an answer.
const STOP_WORDS: &str = "a an the and or but nor if because while until of to in on at by for from with about as into \
    through during before after between against above below under over up down out off again further once is are was \
    were be been being am do does did doing has have had having will would can could should may might must it its \
    itself this that these those he she they them his her hers their theirs him himself herself themselves i me my \
    myself we us our ours you your yours not no only so than then there here what which who whom when where why how \
    also some any all both each few more most other own same such too very just now s t re ve ll d m";

/// Small numbers, which people also write as words.
const NUMBERS: &str = "one two three four five six seven eight nine ten eleven twelve";

/// Returns the stems of the content words of `text`. Numbers are included, and `two` is treated as `2`.
pub(crate) fn content_words(text: &str) -> BTreeSet<String> {
    normalize(text)
        .split(|one: char| !one.is_alphanumeric())
        .filter(|word| !word.is_empty() && !STOP_WORDS.split_whitespace().any(|stop| stop == *word))
        .map(|word| {
            let number = NUMBERS.split(' ').position(|name| name == word);
            number.map_or_else(|| stem(word), |place| (place + 1).to_string())
        })
        .collect()
}

/// Removes common English endings that mark number, tense or comparison.
///
/// This is not a Porter stemmer, because the published figures of answer retention were measured with these stems.
fn stem(word: &str) -> String {
    /// `ies` and `ied` are replaced by `y`; the other endings are removed.
    const ENDINGS: [&str; 12] = ["ies", "ied", "ings", "ing", "ness", "edly", "ed", "ers", "er", "ly", "es", "s"];
    // Versions and ids such as `v2s` are names, and are not inflected.
    if word.chars().any(|one| one.is_ascii_digit()) {
        return word.to_owned();
    }
    let cut = ENDINGS.into_iter().find_map(|end| {
        let head = word.strip_suffix(end)?;
        // "bus" is not a plural, and "red" is not a past tense.
        let is_ending = head.chars().count() >= 3 && !(end == "s" && head.ends_with('s'));
        is_ending
            .then(|| format!("{head}{}", if end.starts_with('i') && end.len() == 3 && end != "ing" { "y" } else { "" }))
    });
    let stem = cut.unwrap_or_else(|| word.to_owned());
    let stem = stem.strip_suffix('e').filter(|head| head.len() >= 3).unwrap_or(&stem);
    // "planning" becomes "plann", so a doubled letter is reduced. The rule also shortens "class" to "clas". That is
    // harmless, because all forms of a word are shortened in the same way.
    let mut last = stem.chars().rev();
    let doubled = last.next().zip(last.next()).is_some_and(|(one, other)| one == other && one.is_ascii_alphabetic());
    if doubled && stem.len() > 3 { stem[..stem.len() - 1].to_owned() } else { stem.to_owned() }
}

/// Smallest share of a fact's words at which a text counts as stating the fact, determined from paraphrases and near
/// misses.
pub(crate) const LEAST_SHARE: f64 = 0.67;
/// Smallest value of [`token_f1`] at which a text counts as stating a fact.
pub(crate) const LEAST_F1: f64 = 0.5;

/// Returns the content words of `text`; in scripts without spaces, such as Chinese, pairs of characters instead.
pub(crate) fn fact_words(text: &str) -> BTreeSet<String> {
    let is_unspaced = |letter: &char| matches!(letter, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}');
    let mut words = BTreeSet::new();
    for word in content_words(text) {
        let letters: Vec<char> = word.chars().collect();
        if letters.len() > 2 && letters.iter().any(is_unspaced) {
            // Pairs of characters are used instead of words, so that the fact and the memory need not be segmented into
            // words in the same way.
            words.extend(letters.windows(2).map(|pair| pair.iter().collect::<String>()));
        } else {
            words.insert(word);
        }
    }
    words
}

/// Returns the share of the words of `fact` that `text` contains; 0 if `fact` has no words.
pub(crate) fn share_of(fact: &BTreeSet<String>, text: &BTreeSet<String>) -> f64 {
    float(fact.intersection(text).count()) / float(fact.len().max(1))
}

/// Returns whether at least two thirds of the words of an answer appear in the first `texts` that fit into `budget`
/// tokens; `None` for an answer without words.
pub(crate) fn is_complete(answer: &str, texts: &[&str], budget: usize, tokens: fn(&str) -> usize) -> Option<bool> {
    let wanted = fact_words(answer);
    let context = texts[..fitting(texts, budget, tokens)].join("\n");
    (!wanted.is_empty()).then(|| share_of(&wanted, &fact_words(&context)) >= LEAST_SHARE)
}

/// Returns whether `text` contains every number of `fact`: a similarity score does not distinguish 15 from 50.
pub(crate) fn numbers_agree(fact: &str, text: &str) -> bool {
    let digits = |text: &str| -> BTreeSet<String> {
        let text = normalize(text);
        let parts = text.split(|one: char| !one.is_ascii_digit()).filter(|part| !part.is_empty());
        // `05` and `5` are the same day or hour.
        parts.map(|part| part.trim_start_matches('0').to_owned()).collect()
    };
    digits(fact).is_subset(&digits(text))
}

/// Returns the harmonic mean of the share of the fact's words that occur in the text, and the share of the text's words
/// that occur in the fact.
pub(crate) fn token_f1(fact: &str, text: &str) -> f64 {
    let (fact, text) = (fact_words(fact), fact_words(text));
    let (recall, precision) = (share_of(&fact, &text), share_of(&text, &fact));
    harmonic_mean(Some(recall), Some(precision)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_that_read_alike_normalize_alike() {
        for (text, seen) in [
            ("“Don’t” — use\u{a0}TABS", "\"don't\" - use tabs"),
            ("ＰＮＰＭ，１０％", "pnpm,10%"),
            ("2026‑03‑16\n  UTC", "2026-03-16 utc"),
            ("Straße ÉTÉ", "straße été"),
            ("cafe\u{301}", "café"),
        ] {
            assert_eq!(normalize(text), seen);
        }
    }

    #[test]
    fn patterns_keep_their_syntax() {
        for (pattern, made) in [
            (r"don’t|do not", "don't|do not"),
            ("（可选）", r"\(可选\)"),
            ("[–-]x", r"[\--]x"),
            (r"\bété\b.*", r"\bété\b.*"),
        ] {
            assert_eq!(normalize_pattern(pattern), made);
        }
    }

    #[test]
    fn sentences_end_where_people_end_them() {
        let text = "Use v1.2 here. Really?\nYes!\n我们用 pnpm。好\n...\n";
        assert_eq!(sentences(text), ["Use v1.2 here.", "Really?", "Yes!", "我们用 pnpm。", "好"]);
    }

    #[test]
    fn script_and_frequent_words_show_the_language_of_a_memory() {
        let table = [
            ("The team deploys on Tuesdays.", Language::En),
            ("Ana prefers pnpm.", Language::En),
            ("用户在 GitHub Actions 里用 pnpm 构建前端。", Language::Zh),
            ("El equipo despliega los martes y no los jueves.", Language::Es),
            ("Das Team liefert dienstags aus, nicht donnerstags.", Language::De),
        ];
        for (text, language) in table {
            assert!(is_written_in(text, language), "{text}");
            let others =
                [Language::En, Language::Zh, Language::Es, Language::De].into_iter().filter(|one| *one != language);
            let others: Vec<_> = others.filter(|other| is_written_in(text, *other)).collect();
            let undecided = text.starts_with("Ana");
            assert_eq!(others.is_empty(), !undecided, "{text}: {others:?}");
        }
        assert!(!is_written_in("The user 住在 Berlin and works at the bank.", Language::Zh));
    }

    #[test]
    fn forms_of_one_word_have_one_stem() {
        let table = [
            ("dancing", "dance"),
            ("studies", "study"),
            ("planned", "planning"),
            ("agencies", "agency"),
            ("camped", "camping"),
            ("loves", "love"),
            ("classes", "class"),
            ("Two", "2"),
        ];
        for (one, other) in table {
            assert_eq!(content_words(one), content_words(other), "{one} {other}");
        }
        for (one, other) in [("red", "r"), ("bus", "bu"), ("2023", "202"), ("king", "k")] {
            assert_ne!(content_words(one), content_words(other), "{one} {other}");
        }
        let said: Vec<_> = content_words("What did she do at the 3 LGBTQ+ events?").into_iter().collect();
        assert_eq!(said, ["3", "event", "lgbtq"]);
    }

    #[test]
    fn paraphrases_are_similar_and_so_are_contradictions() {
        let fact = "Ana moved from Lyon to Porto in March.";
        for (text, alike) in [
            ("In March Ana moved to Porto from Lyon.", true),
            ("Ana moved from Porto to Lyon in March.", true),
            ("Ben keeps bees.", false),
        ] {
            assert_eq!(token_f1(fact, text) >= LEAST_F1, alike, "{text}");
            assert_eq!(share_of(&fact_words(fact), &fact_words(text)) >= LEAST_SHARE, alike, "{text}");
        }
        assert!(token_f1("用户住在杭州滨江区", "用户现在住在杭州滨江") > 0.5);
        assert!(token_f1("用户住在杭州滨江区", "日志平台换成了新的") < 0.1);
    }

    #[test]
    fn another_number_is_another_fact() {
        assert!(numbers_agree("The limit is 15 MB.", "15 MB is the limit, since 2026."));
        assert!(!numbers_agree("The limit is 15 MB.", "The limit is 50 MB."));
        assert!(numbers_agree("on 2026-03-09", "on 9/3/2026"));
    }
}
