//! Marks of change: what the words of a clause say about earlier knowledge, such as that something has ended.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::rc::Rc;
use std::sync::LazyLock;

use regex::{Match, Regex};
use serde::Deserialize;

use super::features::{Features, Polarity};
use crate::text::pattern_set::PatternSet;
use crate::text::recent::RecentResults;
use crate::text::script::is_han;

/// What a clause says about earlier knowledge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Mark {
    /// Something in the clause has ended: "the server was switched off".
    Ended,
    /// Something in the clause was never true: "Fahrenheit was a slip".
    Denied,
    /// Something earlier was a mistake: "she had miscounted".
    Corrected,
    /// Something was moved, renamed or exchanged for something else.
    Moved,
    /// The clause has been true only for some time: "since May".
    Since,
    /// Something is named only as the earlier one: "the old line".
    Earlier,
    /// Something exists alongside others: "a second shop".
    Beside,
    /// The clause is supposed, planned, asked, proposed, refused, or true only for a time.
    Unreal,
    /// The change lies ahead, or something stays as it is.
    Doubtful,
}

/// A clause with its marks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Clause {
    pub(super) text: String,
    /// The text before the first word that is a mark; empty if there is none.
    pub(super) lead: String,
    /// The text between the words that are marks.
    pub(super) pieces: Vec<String>,
    /// The marks that may have other words inside them, as in "gave the flat up".
    pub(super) gaps: Vec<String>,
    pub(super) marks: BTreeSet<Mark>,
    /// The marks of the whole sentence.
    pub(super) around: BTreeSet<Mark>,
    /// Whether the clause is negated apart from words such as "no longer": "was not closed", "never moved".
    pub(super) is_negated: bool,
}

impl Clause {
    /// Whether the clause says that something ended, was never true, was a mistake, changed, or has begun.
    pub(super) fn is_marked(&self) -> bool {
        const OF_CHANGE: [Mark; 5] = [Mark::Ended, Mark::Denied, Mark::Corrected, Mark::Moved, Mark::Since];
        OF_CHANGE.iter().any(|mark| self.marks.contains(mark))
    }
}

/// The words of `marks.toml`.
#[derive(Deserialize)]
struct Lexicon {
    ended: Vec<String>,
    denied: Vec<String>,
    never: Vec<String>,
    past: Vec<String>,
    corrected: Vec<String>,
    moved: Vec<String>,
    since: Vec<String>,
    earlier: Vec<String>,
    beside: Vec<String>,
    unreal: Vec<String>,
    doubtful: Vec<String>,
    generic: String,
    relatives: Vec<String>,
}

/// What a word of the lexicon is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Word {
    Mark(Mark),
    /// A word such as "never".
    Never,
    /// A verb in the past.
    Past,
}

/// The lexicon, as patterns that are compiled when a text may match them.
struct Marks {
    words: PatternSet,
    /// What each word is.
    kinds: Vec<Word>,
    generic: BTreeSet<String>,
    relatives: PatternSet,
}

impl Lexicon {
    fn read() -> Self {
        toml::from_str(include_str!("marks.toml")).expect("the words are constants")
    }

    fn words(&self) -> [(Word, &[String]); 11] {
        [
            (Word::Mark(Mark::Ended), &self.ended),
            (Word::Mark(Mark::Denied), &self.denied),
            (Word::Mark(Mark::Corrected), &self.corrected),
            (Word::Mark(Mark::Moved), &self.moved),
            (Word::Mark(Mark::Since), &self.since),
            (Word::Mark(Mark::Earlier), &self.earlier),
            (Word::Mark(Mark::Beside), &self.beside),
            (Word::Mark(Mark::Unreal), &self.unreal),
            (Word::Mark(Mark::Doubtful), &self.doubtful),
            (Word::Never, &self.never),
            (Word::Past, &self.past),
        ]
    }
}

static MARKS: LazyLock<Marks> = LazyLock::new(|| {
    let words = Lexicon::read();
    let patterns = words.words().map(|(kind, lists)| patterns_of(lists).into_iter().map(move |one| (kind, one)));
    let (kinds, patterns): (Vec<Word>, Vec<String>) = patterns.into_iter().flatten().unzip();
    Marks {
        words: PatternSet::new(patterns),
        kinds,
        generic: words.generic.split_whitespace().map(str::to_owned).collect(),
        relatives: PatternSet::new(patterns_of(&words.relatives)),
    }
});

impl Marks {
    /// Returns the places of the words of each kind, in order.
    fn places(&self, text: &str) -> BTreeMap<Word, Vec<Range<usize>>> {
        let mut patterns: BTreeMap<Word, Vec<&Regex>> = BTreeMap::new();
        for (place, pattern) in self.words.candidates(text) {
            patterns.entry(self.kinds[place]).or_default().push(pattern);
        }
        patterns.into_iter().map(|(kind, patterns)| (kind, matches(&patterns, text))).collect()
    }
}

/// Returns the matches in `text` that one pattern with these alternatives would have.
fn matches(patterns: &[&Regex], text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut next: Vec<(&Regex, Match<'_>)> =
        patterns.iter().filter_map(|pattern| Some((*pattern, pattern.find(text)?))).collect();
    // The first of several alternatives at the same place counts.
    while let Some(first) = next.iter().map(|(_, found)| found.range()).min_by_key(|range| range.start) {
        // A match that begins later is still the next one of its pattern.
        next.retain_mut(|(pattern, found)| {
            if found.start() >= first.end {
                return true;
            }
            pattern.find_at(text, first.end).map(|later| *found = later).is_some()
        });
        found.push(first);
    }
    found
}

/// Returns a pattern for each alternative in `lists`: as whole words, except in scripts without spaces, which come last.
fn patterns_of(lists: &[String]) -> Vec<String> {
    let is_wide = |c: char| is_han(c) || matches!(c, '\u{3040}'..='\u{30ff}' | '\u{ac00}'..='\u{d7af}' | '？');
    let words = lists.iter().flat_map(|list| alternatives(list));
    let (wide, spaced): (Vec<&str>, Vec<&str>) = words.partition(|word| word.contains(is_wide));
    let spaced = spaced.into_iter().map(|word| format!(r"(?i)\b(?:{word})\b"));
    spaced.chain(wide.into_iter().map(|word| format!("(?i){word}"))).collect()
}

/// Splits a list at the bars outside parentheses and brackets.
fn alternatives(list: &str) -> Vec<&str> {
    let (mut depth, mut start, mut found) = (0_usize, 0, Vec::new());
    for (at, c) in list.char_indices() {
        match c {
            '(' | '[' => depth += 1,
            ')' | ']' => depth = depth.saturating_sub(1),
            '|' if depth == 0 => {
                found.push(&list[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    found.push(&list[start..]);
    found
}

/// Maximum length of a text that is examined, in bytes; statements of changes are short.
const MAX_BYTES: usize = 600;

/// Returns the clauses of `text` with their marks; none if no clause has a mark, or the text is too long.
pub(super) fn clauses(text: &str) -> Rc<[Clause]> {
    thread_local!(static RECENT: RecentResults<Rc<[Clause]>> = RecentResults::default());
    if text.len() > MAX_BYTES {
        return Rc::new([]);
    }
    RECENT.with(|recent| recent.get(text, || examine(&text.replace('’', "'")).into()))
}

/// Whether a word says little about the thing before or after it, as in "the guest option".
pub(super) fn is_generic(word: &str) -> bool {
    MARKS.generic.contains(word)
}

/// Number of letters at the start of a word for a person by which a form of it is recognised.
const PERSON_ROOT: usize = 5;

/// Returns the relatives, friends and colleagues that `text` mentions, each as the start of the word.
pub(super) fn relatives(text: &str) -> BTreeSet<String> {
    let found = places_of_relatives(text).into_iter();
    found.map(|word| text[word].to_lowercase().chars().take(PERSON_ROOT).collect()).collect()
}

fn places_of_relatives(text: &str) -> Vec<Range<usize>> {
    let patterns: Vec<&Regex> = MARKS.relatives.candidates(text).map(|(_, pattern)| pattern).collect();
    matches(&patterns, text)
}

fn examine(text: &str) -> Vec<Clause> {
    let mut found = Vec::new();
    for sentence in parts(text, ends_sentence) {
        let around = marks_of(sentence);
        let texts = parts(sentence, ends_clause);
        for (at, text) in texts.iter().enumerate() {
            let mut marks = marks_of(text);
            let next = texts.get(at + 1).map(|next| next.to_lowercase()).unwrap_or_default();
            if is_contrast(text, &next) {
                marks.insert(Mark::Denied);
            }
            let places = MARKS.places(text);
            let (pieces, gaps, lead) = pieces(text, &places);
            let is_negated = is_negated(text, &places);
            found.push(Clause {
                lead,
                pieces,
                gaps,
                text: (*text).to_owned(),
                marks,
                around: around.clone(),
                is_negated,
            });
        }
    }
    if found.iter().all(|clause| clause.marks.is_empty()) { Vec::new() } else { found }
}

fn marks_of(text: &str) -> BTreeSet<Mark> {
    let words = words_of(without_particle(text));
    let is_denied = words.contains(&Word::Never) && words.contains(&Word::Past);
    let mark = |word: Word| if let Word::Mark(mark) = word { Some(mark) } else { None };
    words.into_iter().filter_map(mark).chain(is_denied.then_some(Mark::Denied)).collect()
}

/// Returns what the words of a text are.
fn words_of(text: &str) -> BTreeSet<Word> {
    let found = MARKS.words.candidates(text).filter(|(_, pattern)| pattern.is_match(text));
    found.map(|(place, _)| MARKS.kinds[place]).collect()
}

/// Returns `text` without a German "statt" at its end, which belongs to a verb: "findet jeden Samstag statt".
fn without_particle(text: &str) -> &str {
    let words = text.trim_end_matches(['.', '!', '?', ' ']);
    words.strip_suffix(" statt").unwrap_or(text)
}

fn is_negated(text: &str, places: &BTreeMap<Word, Vec<Range<usize>>>) -> bool {
    let ended = places.get(&Word::Mark(Mark::Ended)).map_or(&[][..], Vec::as_slice);
    let (mut rest, mut start) = (String::new(), 0);
    for place in ended {
        rest.extend([&text[start..place.start], " | "]);
        start = place.end;
    }
    rest.push_str(&text[start..]);
    Features::of(&rest).polarity != Polarity::Positive
}

/// Whether a clause denies what it names in favour of something else: "not in May", or "it is not red, but green".
fn is_contrast(text: &str, next: &str) -> bool {
    const DENIALS: [&str; 14] = [
        "not ",
        "and not ",
        "nicht ",
        "und nicht ",
        "y no ",
        "no el ",
        "no la ",
        "no los ",
        "no en ",
        "no a ",
        "no con ",
        "pas ",
        "而不是",
        "不是",
    ];
    const TURNS: [&str; 6] = ["but ", "sondern ", "sino ", "mais ", "而是", "是"];
    const NEGATIONS: [&str; 10] =
        [" not ", "n't ", " nicht ", " kein", " no ", " pas ", "不是", "并非", "不在", "没有"];
    let text = text.to_lowercase();
    let padded = format!(" {text} ");
    DENIALS.iter().any(|denial| text.starts_with(denial))
        || TURNS.iter().any(|turn| next.starts_with(turn)) && NEGATIONS.iter().any(|negation| padded.contains(negation))
}

/// Returns the text of a clause between its marks, and the marks of several words.
fn pieces(text: &str, places: &BTreeMap<Word, Vec<Range<usize>>>) -> (Vec<String>, Vec<String>, String) {
    let is_named = |word: &Word| !matches!(word, Word::Mark(Mark::Beside | Mark::Unreal | Mark::Doubtful) | Word::Past);
    let named = places.iter().filter(|(word, _)| is_named(word));
    let mut cut: Vec<Range<usize>> = named.flat_map(|(_, places)| places.iter().cloned()).collect();
    cut.sort_by_key(|range| range.start);
    let gaps = cut.iter().map(|range| &text[range.clone()]).filter(|gap| gap.split(' ').count() > 2);
    let gaps = gaps.map(str::to_owned).collect();
    let lead = cut.first().map_or("", |range| &text[..range.start]).to_owned();
    let (mut pieces, mut end) = (Vec::new(), 0);
    for range in cut {
        if range.start > end {
            pieces.push(text[end..range.start].to_owned());
        }
        end = end.max(range.end);
    }
    pieces.push(text[end..].to_owned());
    (pieces, gaps, lead)
}

/// Splits `text` where `ends` finds a separator, given as its length.
fn parts(text: &str, ends: fn(&str) -> Option<usize>) -> Vec<&str> {
    let (mut found, mut start, mut at) = (Vec::new(), 0, 0);
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        if let Some(length) = ends(rest) {
            found.push(text[start..at].trim());
            start = at + length;
            at = start;
        } else {
            at += rest.chars().next().map_or(1, char::len_utf8);
        }
    }
    found.push(text.get(start..).unwrap_or_default().trim());
    found.retain(|part| !part.is_empty());
    found
}

fn ends_sentence(rest: &str) -> Option<usize> {
    let mut chars = rest.chars();
    let c = chars.next()?;
    let is_spaced = chars.next().is_none_or(char::is_whitespace);
    (matches!(c, '。' | '！' | '；') || (matches!(c, '.' | '!' | ';') && is_spaced)).then(|| c.len_utf8())
}

fn ends_clause(rest: &str) -> Option<usize> {
    const JOINTS: [&str; 22] = [
        " and ",
        " but ",
        " because ",
        " since ",
        " so ",
        " which ",
        " who ",
        " und ",
        " aber ",
        " weil ",
        " sondern ",
        " denn ",
        " y ",
        " e ",
        " pero ",
        " porque ",
        " sino ",
        " et ",
        " mais ",
        " parce ",
        " after ",
        " when ",
    ];
    let c = rest.chars().next()?;
    let after = rest[c.len_utf8()..].chars().next();
    if matches!(c, '，' | '：' | '、') || (matches!(c, ',' | ':') && after.is_none_or(char::is_whitespace)) {
        return Some(c.len_utf8());
    }
    if c == '后' && after.is_some_and(|next| "把就不改再停没都又".contains(next)) {
        return Some(c.len_utf8());
    }
    // The joint begins the next clause, whose meaning depends on it.
    JOINTS.iter().any(|joint| rest.starts_with(joint)).then_some(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marks(text: &str) -> BTreeSet<Mark> {
        clauses(text).iter().flat_map(|clause| clause.marks.clone()).collect()
    }

    /// Returns one pattern with all the alternatives.
    fn any_of(lists: &[String]) -> Regex {
        let patterns = patterns_of(lists);
        let wide = patterns.iter().filter(|pattern| !pattern.contains(r"\b(?:")).map(|pattern| &pattern[4..]);
        let wide = wide.fold(String::new(), |all, word| all + "|" + word);
        let spaced = lists.iter().flat_map(|list| alternatives(list)).filter(|word| !wide.contains(word));
        Regex::new(&format!(r"(?i)\b(?:{})\b{wide}", spaced.collect::<Vec<_>>().join("|"))).unwrap()
    }

    #[test]
    fn every_word_is_a_pattern_that_matches_something() {
        let words = Lexicon::read();
        for pattern in
            words.words().into_iter().flat_map(|(_, lists)| patterns_of(lists)).chain(patterns_of(&words.relatives))
        {
            assert!(!Regex::new(&pattern).unwrap().is_match(""), "{pattern}");
        }
    }

    #[test]
    fn words_are_found_as_by_one_pattern_with_all_of_them() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("evals/consolidation/changes/dev-2");
        // A published package has no evaluations.
        if !folder.exists() {
            return;
        }
        let read = |language| std::fs::read_to_string(folder.join(format!("{language}-pairs.jsonl"))).unwrap();
        let pairs = ["en", "de", "es", "zh"].map(read).join("\n");
        let texts: BTreeSet<&str> = pairs.split('"').filter(|text| text.len() > 20).collect();
        assert!(texts.len() > 200);
        let texts: Vec<String> = texts.iter().flat_map(|text| [(*text).to_owned(), text.to_uppercase()]).collect();
        let words = Lexicon::read();
        let of_marks = words.words().map(|(word, lists)| (Some(word), lists));
        let mut count = 0;
        for (word, lists) in of_marks.into_iter().chain([(None, &words.relatives[..])]) {
            let whole = any_of(lists);
            for text in &texts {
                let expected: Vec<Range<usize>> = whole.find_iter(text).map(|found| found.range()).collect();
                count += expected.len();
                let found = match word {
                    Some(word) => MARKS.places(text).remove(&word).unwrap_or_default(),
                    None => places_of_relatives(text),
                };
                assert_eq!(found, expected, "{word:?} {text}");
                assert!(word.is_none_or(|word| words_of(text).contains(&word) != expected.is_empty()), "{text}");
            }
        }
        assert!(count > 100);
    }

    #[test]
    fn each_mark_is_found_in_several_languages() {
        for (mark, texts) in [
            (
                Mark::Ended,
                ["The kiosk was demolished.", "Der Kiosk ist abgerissen.", "El quiosco cerró.", "报亭拆除了。"],
            ),
            (Mark::Denied, ["That was a mix-up.", "Das war ein Versehen.", "Fue un malentendido.", "这是误会。"]),
            (Mark::Denied, ["She never was ill.", "Sie war nie krank.", "Nunca estuvo enferma.", "她从未生病。"]),
            (Mark::Corrected, ["I misread it.", "Ich hatte mich verlesen.", "Lo leyó mal.", "我看错了。"]),
            (Mark::Moved, ["It was renamed.", "Es wurde umbenannt.", "Se renombró.", "已经更名。"]),
            (Mark::Since, ["It rains since May.", "Seit Mai regnet es.", "Llueve desde mayo.", "五月起下雨。"]),
            (Mark::Unreal, ["If it rained.", "Vielleicht regnet es.", "Quizá llueva.", "如果下雨。"]),
        ] {
            for text in texts {
                assert!(marks(text).contains(&mark), "{mark:?} in {text}: {:?}", marks(text));
            }
        }
        assert_eq!(marks("The kiosk is green."), BTreeSet::new());
    }

    #[test]
    fn clauses_keep_their_own_marks() {
        let found = clauses("The kiosk closed, the bakery is open; it never moved.");
        let ended: Vec<bool> = found.iter().map(|clause| clause.marks.contains(&Mark::Ended)).collect();
        assert_eq!(ended, [true, false, false]);
        assert_eq!(found[0].pieces.concat().trim(), "The kiosk");
        assert!(found[2].is_negated && !found[0].is_negated);
    }
}
