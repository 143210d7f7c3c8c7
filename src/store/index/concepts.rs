//! Thesaurus: the concepts that a text names, so that claims that say one thing in other words or in another
//! language find each other. It brings them together and decides nothing.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, MatchKind};

use crate::store::near_words::{Cut, cut};
use crate::text::normalise::folded;

/// One concept a line: its spellings, divided by `|`. The first one names it in the index, so it must not change.
const THESAURUS: &str = include_str!("concepts.txt");

/// Letters from which a spelling is also heard inside of a longer word, as in German compounds.
const INSIDE: usize = 6;

/// The compiled thesaurus: one automaton, and the concept of each of its patterns.
struct Ear {
    automaton: AhoCorasick,
    names: Vec<&'static str>,
}

static EAR: LazyLock<Ear> = LazyLock::new(|| {
    let lines = THESAURUS.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let spellings = lines.flat_map(|line| {
        let name = line.split('|').next().unwrap_or(line);
        line.split('|').map(move |spelling| (spelling, name))
    });
    let (patterns, names): (Vec<String>, Vec<&str>) = spellings
        .map(|(spelling, name)| (pattern(spelling), name))
        .filter(|(pattern, _)| !pattern.trim().is_empty())
        .unzip();
    let automaton = AhoCorasick::builder()
        .match_kind(MatchKind::LeftmostLongest)
        .build(&patterns)
        .expect("the table is far below the automaton's size limit");
    Ear { automaton, names }
});

/// Returns the names of the concepts that `text` speaks of.
#[must_use]
pub fn concepts(text: &str) -> BTreeSet<&'static str> {
    heard([&cut(&folded(text))]).collect()
}

/// Returns the names of the concepts that texts speak of, each once and in their order.
pub(in crate::store) fn heard<const N: usize>(texts: [&Vec<Cut<'_>>; N]) -> impl Iterator<Item = &'static str> {
    let heard = heard_form(texts.into_iter().flatten());
    let ear = &*EAR;
    let mut found: Vec<&str> =
        ear.automaton.find_iter(&heard).map(|found| ear.names[found.pattern().as_usize()]).collect();
    found.sort_unstable();
    found.dedup();
    found.into_iter()
}

/// Long spellings are heard anywhere, short ones as whole words; writing without spaces stands in its run.
fn pattern(spelling: &str) -> String {
    let heard = heard_form(&cut(&folded(spelling)));
    let single = !heard.trim().contains(' ');
    if single && heard.trim().chars().count() >= INSIDE { heard.trim().to_owned() } else { heard }
}

/// Words by their roots, each with a space on either side; characters without spaces as they are.
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

    #[test]
    fn a_spelling_stands_in_one_line_only() {
        let mut seen = BTreeSet::new();
        for spelling in THESAURUS.lines().filter(|line| !line.starts_with('#')).flat_map(|line| line.split('|')) {
            assert!(seen.insert(spelling), "{spelling} stands twice");
            assert!(!spelling.trim().is_empty() || spelling.is_empty(), "a spelling is blank");
        }
    }
}
