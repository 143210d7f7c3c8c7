//! The words under which a claim is indexed, so that claims with a similar meaning in the same namespace find it.
//!
//! Words are normalised more than for search: without accents, endings and common words. Text without spaces is indexed
//! as pairs of characters. A thesaurus adds the concepts that a text mentions, so that claims with the same meaning in
//! different words or languages find each other. The thesaurus only proposes pairs and makes no decisions.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::ops::Range;
use std::sync::LazyLock;

use crate::memory::{Claim, Namespace};
use crate::text::normalise::{folded, normalised, trimmed};
use crate::text::stem::{plain, root};
use crate::text::tokens::{Run, is_stop, pairs_or_single, signed_words, split_runs};

/// Maximum number of words of one claim. The first words are used; words of the subject, key and value come before the
/// rest.
// Without a limit, every claim would find a pasted page, and indexing the page would cost as much as indexing many
// claims.
const MAX_WORDS: usize = 160;
/// Number of words of a claim that are combined into pairs.
const PAIRED: usize = 7;
/// Minimum number of words for which a claim is also indexed as a whole.
const WHOLE: usize = 2;

/// Words that occur in many claims, with the share of claims that contain them; the share is estimated from the first
/// few of these claims.
pub(in crate::store) type CommonWords = HashMap<Name, f64>;

/// The names of a claim in the index of near claims.
pub(super) struct NearForms {
    /// The words of the claim; the first is the subject, if the claim has one.
    pub(super) words: Vec<Name>,
    /// The concepts that the words mention.
    pub(super) concepts: Vec<Name>,
    /// Pairs of words in its text, which are rare even if each word is common. The spelling of the words alone
    /// determines the pairs, so that claims with other words in between have the same pairs.
    pub(super) pairs: Vec<Name>,
    /// The whole text as one name, independent of word order. Claims with the same words, or with the same characters
    /// in scripts without spaces, share this name even if each word is common. `None` if the text is very short.
    pub(super) whole: Option<Name>,
}

impl NearForms {
    /// Returns the index names of `claim` in `namespace`, without duplicates.
    pub(super) fn of(namespace: &Namespace, claim: &Claim) -> Self {
        let place = Place::of(namespace);
        let texts = [
            claim.subject.as_deref().unwrap_or_default(),
            claim.value.as_deref().unwrap_or_default(),
            claim.key.as_deref().unwrap_or_default(),
            &claim.title,
            &claim.content,
        ];
        let texts = texts.map(folded);
        let cuts = texts.each_ref().map(|text| cut(text));
        let mut filed = Filed::new(&place);
        filed.words.extend(claim.subject.as_deref().and_then(|subject| place.about(subject)));
        cuts.iter().for_each(|text| filed.take(text));
        let [_, value, _, title, content] = &cuts;
        // No word begins with this character, so a concept is never confused with a word.
        let concepts = heard([value, title, content]).map(|name| place.named([b"=", name.as_bytes()])).collect();
        Self { words: filed.words, concepts, pairs: pairs_of(&place, content), whole: whole(&place, content) }
    }

    /// Returns all names as one text, separated by spaces.
    pub(super) fn spelled(&self) -> String {
        let all = [&self.words, &self.concepts, &self.pairs].into_iter().flatten().chain(&self.whole);
        let mut text = String::with_capacity((self.words.len() + self.concepts.len() + self.pairs.len() + 1) * 13);
        for name in all {
            if !text.is_empty() {
                text.push(' ');
            }
            text.extend(name.digits().map(char::from));
        }
        text
    }
}

/// Returns the words by which claims similar to `claim` are found in `namespace`: twelve hex digits each, without
/// duplicates. The first word is the subject of the claim, if the claim has a subject. Claims in different namespaces
/// have no words in common.
pub(crate) fn near_words(namespace: &Namespace, claim: &Claim) -> Vec<String> {
    let NearForms { words, concepts, .. } = NearForms::of(namespace, claim);
    words.into_iter().chain(concepts).map(|name| name.to_string()).collect()
}

fn pairs_of(place: &Place, content: &[Cut<'_>]) -> Vec<Name> {
    let mut filed = Filed::new(place);
    filed.take(content);
    let mut words = filed.words;
    // The words are sorted by name, so that claims with the same words in different orders choose the same words.
    words.sort_unstable();
    words.truncate(PAIRED);
    let pairs = words.iter().enumerate().flat_map(|(at, a)| {
        let first = Place(after(after(SEED, a.digits()), [0]));
        words[at + 1..].iter().map(move |b| first.named([&b.digits()[..]]))
    });
    pairs.collect()
}

fn whole(place: &Place, content: &[Cut<'_>]) -> Option<Name> {
    let mut said: Vec<&str> = Vec::with_capacity(content.len());
    for piece in content {
        match piece {
            Cut::Stop(_) | Cut::Signed(_) => {}
            Cut::Word(root) => said.push(root),
            Cut::Unspaced(characters) => {
                said.extend(characters.char_indices().map(|(at, one)| &characters[at..at + one.len_utf8()]));
            }
        }
    }
    // The words are sorted, so that the same words in any order yield the same name.
    said.sort_unstable();
    said.dedup();
    // No word contains a space.
    let spelled = said.iter().flat_map(|word| [b" ", word.as_bytes()]);
    (said.len() >= WHOLE).then(|| place.named(std::iter::once(&b"all"[..]).chain(spelled)))
}

/// Returns the word for a whole subject; `None` if the subject is blank.
pub(super) fn subject_word(namespace: &Namespace, subject: &str) -> Option<Name> {
    Place::of(namespace).about(subject)
}

/// A piece of a text, in the order in which the text is cut.
pub(in crate::store) enum Cut<'t> {
    /// The root of a word.
    Word(Cow<'t, str>),
    /// The root of a word that occurs in almost every sentence.
    Stop(&'t str),
    /// Characters of a script without spaces.
    Unspaced(&'t str),
    /// A synthetic word for a name with special characters; it follows the parts of the name.
    Signed(String),
}

/// Cuts a [`folded`] text.
pub(super) fn cut(folded: &str) -> Vec<Cut<'_>> {
    let mut pieces = Vec::with_capacity(folded.len() / 6);
    for chunk in folded.split_whitespace() {
        split_runs(chunk, |run| {
            pieces.push(match run {
                Run::Word(word) if is_stop(word) => Cut::Stop(root(word)),
                Run::Word(word) => Cut::Word(match plain(word) {
                    Cow::Borrowed(plain) => Cow::Borrowed(root(plain)),
                    Cow::Owned(plain) => Cow::Owned(root(&plain).to_owned()),
                }),
                Run::Unspaced(characters) => Cut::Unspaced(characters),
            });
        });
        pieces.extend(signed_words(trimmed(chunk)).into_iter().map(Cut::Signed));
    }
    pieces
}

struct Filed<'p> {
    place: &'p Place,
    /// The full hash of each word; there are few enough words for a linear search.
    seen: Vec<u64>,
    words: Vec<Name>,
}

impl<'p> Filed<'p> {
    const fn new(place: &'p Place) -> Self {
        Self { place, seen: Vec::new(), words: Vec::new() }
    }

    fn take(&mut self, text: &[Cut<'_>]) {
        for piece in text {
            match piece {
                Cut::Stop(_) => {}
                Cut::Word(word) => self.add(word),
                Cut::Signed(word) => self.add(word),
                Cut::Unspaced(characters) => pairs_or_single(characters).for_each(|part| self.add(part)),
            }
        }
    }

    fn add(&mut self, word: &str) {
        let hash = after(self.place.0, word.bytes());
        if self.words.len() < MAX_WORDS && !self.seen.contains(&hash) {
            self.seen.push(hash);
            self.words.push(Name::of(hash));
        }
    }
}

/// A word of the index, in any script, as twelve hex digits. If the names of two words collide, a claim may appear to
/// share more words than it does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(in crate::store) struct Name(u64);

impl Name {
    const fn of(hash: u64) -> Self {
        Self((hash ^ (hash >> 48)) & 0xffff_ffff_ffff)
    }

    fn digits(self) -> [u8; 12] {
        std::array::from_fn(|place| HEX[(self.0 >> ((11 - place) * 4) & 0xf) as usize])
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:012x}", self.0)
    }
}

/// The hash of a namespace, which is the start of the name of each word in this namespace.
struct Place(u64);

impl Place {
    fn of(namespace: &Namespace) -> Self {
        Self(after(after(SEED, namespace.to_string().bytes()), [0]))
    }

    fn about(&self, subject: &str) -> Option<Name> {
        let subject = normalised(subject);
        // No word contains a space, so subjects and words are never confused.
        (!subject.is_empty()).then(|| self.named([b"about ", subject.as_bytes()]))
    }

    /// Returns the name of the word that consists of these parts.
    fn named<'b>(&self, parts: impl IntoIterator<Item = &'b [u8]>) -> Name {
        Name::of(parts.into_iter().fold(self.0, |hash, part| after(hash, part.iter().copied())))
    }
}

// The numbers are the constants of FNV-1a. The names of words are stored, so these numbers must never change.
const SEED: u64 = 0xcbf2_9ce4_8422_2325;
const HEX: &[u8; 16] = b"0123456789abcdef";

fn after(hash: u64, bytes: impl IntoIterator<Item = u8>) -> u64 {
    bytes.into_iter().fold(hash, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// The thesaurus as it is searched: in each line the name of a concept and the patterns of its spellings, separated by
/// `|`. A test compares it with `concepts.txt`, because stemming all spellings takes longer than most commands; with
/// `AFTERTHOUGHT_UPDATE` set, the test writes it.
const PATTERNS: &str = include_str!("concepts.patterns");

/// Number of leading bytes by which patterns are looked up; no pattern is shorter.
const START_BYTES: usize = 3;

/// The patterns of all spellings. An automaton would find them faster, but takes longer to build than most commands run.
struct Thesaurus {
    /// The patterns in byte order, each with the name of its concept.
    patterns: Vec<(&'static [u8], &'static str)>,
    /// The places in `patterns` of those that begin with the same bytes.
    starts: HashMap<[u8; START_BYTES], Range<usize>>,
}

static THESAURUS: LazyLock<Thesaurus> = LazyLock::new(|| {
    let mut patterns: Vec<(&[u8], &str)> = patterns().map(|(pattern, name)| (pattern.as_bytes(), name)).collect();
    // The sort is stable, so that the first of several concepts with the same pattern comes first.
    patterns.sort_by_key(|(pattern, _)| *pattern);
    patterns.dedup_by_key(|(pattern, _)| *pattern);
    let mut starts: HashMap<[u8; START_BYTES], Range<usize>> = HashMap::new();
    for (place, (pattern, _)) in patterns.iter().enumerate() {
        if let Some(start) = pattern.first_chunk() {
            starts.entry(*start).or_insert(place..place).end = place + 1;
        }
    }
    Thesaurus { patterns, starts }
});

/// Returns the patterns of all spellings, each with the name of its concept.
fn patterns() -> impl Iterator<Item = (&'static str, &'static str)> {
    let lines = PATTERNS.lines().filter_map(|line| line.split_once('|'));
    lines.flat_map(|(name, patterns)| patterns.split('|').map(move |pattern| (pattern, name)))
}

impl Thesaurus {
    /// Returns the names of the concepts whose patterns occur in `text`. Of overlapping patterns, the one that begins
    /// first counts, and of those the longest.
    fn mentioned(&self, text: &str) -> Vec<&'static str> {
        let (mut rest, mut names) = (text.as_bytes(), Vec::new());
        while let Some(start) = rest.first_chunk() {
            let places = self.starts.get(start).cloned().unwrap_or_default();
            // A pattern comes before those that continue it, so the last one that fits is the longest.
            let longest = self.patterns[places].iter().rev().find(|(pattern, _)| rest.starts_with(pattern));
            rest = &rest[longest.map_or(1, |(pattern, _)| pattern.len())..];
            names.extend(longest.map(|(_, name)| *name));
        }
        names
    }
}

/// Returns the names of the concepts that `text` mentions.
pub(crate) fn concepts(text: &str) -> BTreeSet<&'static str> {
    heard([&cut(&folded(text))]).collect()
}

/// Returns the names of the concepts that the texts mention, in order and without duplicates.
pub(in crate::store) fn heard<const N: usize>(texts: [&Vec<Cut<'_>>; N]) -> impl Iterator<Item = &'static str> {
    let mut found = THESAURUS.mentioned(&heard_form(texts.into_iter().flatten()));
    found.sort_unstable();
    found.dedup();
    found.into_iter()
}

/// Returns the text to search: the root of each word between spaces, and text in scripts without spaces unchanged.
fn heard_form<'c>(pieces: impl IntoIterator<Item = &'c Cut<'c>>) -> String {
    let mut heard = String::new();
    for piece in pieces {
        match piece {
            Cut::Word(root) => heard.extend([" ", root, " "]),
            Cut::Stop(root) => heard.extend([" ", root, " "]),
            Cut::Unspaced(characters) => heard.push_str(characters),
            Cut::Signed(_) => {}
        }
    }
    heard
}

#[cfg(test)]
mod tests {
    use aho_corasick::{AhoCorasick, MatchKind};
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn one_thing_in_other_words_and_languages_is_one_concept() {
        let rows = [
            ("Snapshots of the live Postgres", "Backups of the production database"),
            ("Die Vereinswebsite ist umgezogen", "网站搬家了"),
            ("She waits thirty days", "30 天"),
            ("La madre de la usuaria", "用户的母亲"),
        ];
        for (a, b) in rows {
            assert!(!concepts(a).is_disjoint(&concepts(b)), "{a}: {:?} / {b}: {:?}", concepts(a), concepts(b));
        }
        assert!(concepts("").is_empty());
    }

    /// One concept per line: its spellings, separated by `|`. The first spelling is the name of the concept in the
    /// index, so it must not change.
    const CONCEPTS: &str = include_str!("concepts.txt");

    /// Minimum number of letters of a spelling that is also matched inside a longer word, as in German compounds.
    const INSIDE: usize = 6;

    /// Returns the search pattern of a spelling. Long spellings match anywhere, and short spellings only as whole words.
    /// In scripts without spaces, spellings match anywhere in a run of characters.
    fn pattern(spelling: &str) -> String {
        let heard = heard_form(&cut(&folded(spelling)));
        let single = !heard.trim().contains(' ');
        if single && heard.trim().chars().count() >= INSIDE { heard.trim().to_owned() } else { heard }
    }

    fn lines() -> impl Iterator<Item = Vec<&'static str>> {
        let lines = CONCEPTS.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
        lines.map(|line| line.split('|').collect())
    }

    #[test]
    fn the_patterns_are_those_of_the_spellings() {
        let mut expected = String::new();
        for spellings in lines() {
            let mut patterns: Vec<String> = spellings.iter().map(|spelling| pattern(spelling)).collect();
            patterns.retain(|pattern| !pattern.trim().is_empty());
            assert!(patterns.iter().all(|pattern| pattern.len() >= START_BYTES), "{patterns:?}");
            expected.extend([spellings[0], "|", &patterns.join("|"), "\n"]);
        }
        if std::env::var_os("AFTERTHOUGHT_UPDATE").is_some() {
            let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/store/index/concepts.patterns");
            return std::fs::write(path, &expected).unwrap();
        }
        let first = PATTERNS.lines().zip(expected.lines()).find(|(stored, computed)| stored != computed);
        assert!(PATTERNS == expected, "run the test with AFTERTHOUGHT_UPDATE=1; the first difference: {first:?}");
    }

    static AUTOMATON: LazyLock<(AhoCorasick, Vec<&str>)> = LazyLock::new(|| {
        let (patterns, names): (Vec<&str>, Vec<&str>) = patterns().unzip();
        (AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).build(patterns).unwrap(), names)
    });

    proptest! {
        #[test]
        fn patterns_are_found_as_by_an_automaton(
            words in proptest::collection::vec((any::<prop::sample::Index>(), "[a-z]{0,2}| |，|の"), 0..8),
        ) {
            let spellings: Vec<&str> = lines().flatten().collect();
            let words = words.iter().map(|(at, between)| format!("{}{between}", at.get(&spellings)));
            let text = heard_form(&cut(&folded(&words.collect::<String>())));
            let (automaton, names) = &*AUTOMATON;
            let expected: Vec<&str> = automaton.find_iter(&text).map(|found| names[found.pattern()]).collect();
            prop_assert_eq!(THESAURUS.mentioned(&text), expected);
        }
    }

    #[test]
    fn a_spelling_stands_in_one_line_only() {
        let mut seen = BTreeSet::new();
        for spelling in lines().flatten() {
            assert!(seen.insert(spelling), "{spelling} stands twice");
            assert!(!spelling.trim().is_empty() || spelling.is_empty(), "a spelling is blank");
        }
    }
}
