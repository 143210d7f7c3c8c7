//! The terms of a text, which represent its words in the index.
//!
//! A word is indexed by its English stem and, if its text is in another known language, by its stem in that language.
//! The language of a query is unknown, so its words are looked up using their stems in all languages of the index.
//! Terms are numbers. The probability that two words have the same number is 1 in 10^13.

use std::collections::HashMap;
use std::sync::LazyLock;

use rust_stemmers::{Algorithm, Stemmer};

use crate::text::language::{Language, detect};
use crate::text::normalise::folded;
use crate::text::stem::{plain, snowball};
use crate::text::tokens::{Piece, Sought, pieces};

/// Languages, other than English, whose stems are indexed. The position of each language is part of the terms in
/// existing databases.
// Appending a language is safe, but reordering them would change the meaning of stored terms.
const LANGUAGES: [Language; 8] = [
    Language::German,
    Language::French,
    Language::Spanish,
    Language::Italian,
    Language::Portuguese,
    Language::Dutch,
    Language::Swedish,
    Language::Russian,
];

/// A set of [`LANGUAGES`], with one bit for each position.
pub(super) type Languages = i64;

/// Returns the language of `text`, if it is one of [`LANGUAGES`].
fn language(text: &str) -> Languages {
    let among: Vec<Language> = LANGUAGES.into_iter().chain([Language::English]).collect();
    let found = detect(text, &among).and_then(|found| LANGUAGES.iter().position(|one| *one == found));
    found.map_or(0, |place| 1 << place)
}

/// Forms of one word that have different stems, one word per line.
const IRREGULAR: &str = include_str!("../text/irregular.txt");

/// The terms of the other forms of a word with [`IRREGULAR`] forms, by each of its terms.
// A text is indexed by its own forms, and only queries look up the others, so that the list may change.
static OTHER_FORMS: LazyLock<HashMap<i64, Vec<i64>>> = LazyLock::new(|| {
    let stemmer = Stemmer::create(Algorithm::English);
    let mut others = HashMap::new();
    for line in IRREGULAR.lines().filter(|line| !line.starts_with('#')) {
        let mut terms: Vec<i64> = line.split(' ').map(|form| hashed("", &stemmer.stem(form))).collect();
        terms.sort_unstable();
        terms.dedup();
        others.extend(terms.iter().map(|term| (*term, terms.clone())));
    }
    others
});

/// Maximum stored weight of a term, in half units.
const MOST: u8 = u8::MAX;

/// The indexed terms of a memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Terms {
    /// Total number of words, including words that are not looked up.
    pub(super) length: u32,
    /// The languages whose stems were used to index the words.
    pub(super) languages: Languages,
    /// Each term with its weight in half units, sorted by term.
    pub(super) weights: Vec<(i64, u8)>,
}

/// Turns words into terms, and caches the terms of recent words.
pub(super) struct Stems {
    english: Stemmer,
    others: Vec<Stemmer>,
    known: HashMap<String, i64>,
}

impl std::fmt::Debug for Stems {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Stems").field("known", &self.known.len()).finish_non_exhaustive()
    }
}

impl Default for Stems {
    fn default() -> Self {
        Self::new()
    }
}

/// Maximum number of words whose terms are cached.
const REMEMBERED: usize = 20_000;

impl Stems {
    pub(super) fn new() -> Self {
        Self {
            english: Stemmer::create(Algorithm::English),
            others: LANGUAGES.into_iter().filter_map(snowball).map(Stemmer::create).collect(),
            known: HashMap::new(),
        }
    }

    /// Returns the terms of a memory whose texts have these weights in half units.
    pub(super) fn of(&mut self, texts: &[(u8, &str)]) -> Terms {
        let texts: Vec<(u8, String)> = texts.iter().map(|(weight, text)| (*weight, folded(text))).collect();
        let mut all: Vec<(u32, Piece<'_>)> = Vec::new();
        for (weight, text) in &texts {
            pieces(text, |piece| all.push((u32::from(*weight), piece)));
        }
        let languages = language(&texts.iter().map(|(_, text)| text.as_str()).collect::<Vec<_>>().join(" "));
        let length = u32::try_from(all.len()).unwrap_or(u32::MAX);
        let mut weights: Vec<(i64, u32)> = Vec::with_capacity(all.len());
        for (weight, piece) in &all {
            match piece {
                // Stop words are not looked up, but are included in the length above.
                Piece::Stop(_) => {}
                Piece::Exact(word) => weights.push((hashed("", word), *weight)),
                Piece::Word(word) => {
                    weights.push((self.english(word), *weight));
                    weights.extend(self.others(word, languages).map(|term| (term, *weight)));
                }
            }
        }
        weights.sort_unstable();
        weights.dedup_by(|next, kept| {
            let same = next.0 == kept.0;
            kept.1 += if same { next.1 } else { 0 };
            same
        });
        let weights = weights.into_iter().map(|(term, weight)| (term, u8::try_from(weight).unwrap_or(MOST))).collect();
        Terms { length, languages, weights }
    }

    /// Returns the terms that may represent the searched word in an index with these languages.
    pub(super) fn sought(&mut self, sought: &Sought, languages: Languages) -> Vec<i64> {
        match sought {
            Sought::Exact(word) => vec![hashed("", word)],
            Sought::Word(word) => {
                let mut terms: Vec<i64> = self.others(word, languages).collect();
                let english = self.english(word);
                match OTHER_FORMS.get(&english) {
                    Some(forms) => terms.extend(forms),
                    None => terms.push(english),
                }
                terms.sort_unstable();
                terms.dedup();
                terms
            }
        }
    }

    /// Returns for each of `words` its other forms in `text`, all in lower case.
    pub(super) fn forms(&mut self, words: &[&str], text: &str) -> Vec<Vec<String>> {
        let languages = language(text);
        let mut sought = |word: &str| self.sought(&Sought::Word(word.to_owned()), languages);
        let wanted: Vec<Vec<i64>> = words.iter().map(|word| sought(word)).collect();
        let mut found = vec![Vec::new(); words.len()];
        pieces(text, |piece| {
            let Piece::Word(other) = piece else { return };
            let terms = sought(other);
            for (wanted, found) in wanted.iter().zip(&mut found) {
                if terms.iter().any(|term| wanted.contains(term)) {
                    found.push(other.to_owned());
                }
            }
        });
        found
    }

    fn english(&mut self, word: &str) -> i64 {
        if let Some(term) = self.known.get(word) {
            return *term;
        }
        // The English stemmer does not handle accents, so they are removed first.
        let plain = plain(word);
        let term = hashed("", &self.english.stem(&plain));
        // The cache is emptied completely: current words are soon cached again, and their usage need not be recorded.
        if self.known.len() >= REMEMBERED {
            self.known.clear();
        }
        self.known.insert(word.to_owned(), term);
        term
    }

    fn others(&self, word: &str, languages: Languages) -> impl Iterator<Item = i64> {
        let wanted = self.others.iter().enumerate().filter(move |(place, _)| languages & (1 << place) != 0);
        // Accents are removed last, because stemmers use them.
        wanted.map(move |(place, stemmer)| hashed(&place.to_string(), &plain(&stemmer.stem(word))))
    }
}

/// Returns the number of a term.
fn hashed(language: &str, word: &str) -> i64 {
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
    for byte in language.bytes().chain([0]).chain(word.bytes()) {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }
    hash.cast_signed()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str, query: &str) -> bool {
        let mut stems = Stems::new();
        let terms = stems.of(&[(2, text)]);
        let sought = crate::text::tokens::Query::of(query).sought;
        let mut all = sought.iter().flat_map(|sought| stems.sought(sought, terms.languages));
        all.any(|term| terms.weights.binary_search_by_key(&term, |(term, _)| *term).is_ok())
    }

    #[test]
    fn inflected_words_of_european_languages_meet() {
        let table = [
            ("The team deploys on Mondays.", "deployment deploying"),
            ("Ana went home and bought bread for the children.", "going"),
            ("Ana went home and bought bread for the children.", "buys"),
            ("Ana went home and bought bread for the children.", "child"),
            ("Ana writes a letter.", "written"),
            ("Die Häuser der Stadt sind alt und nicht schön.", "Haus"),
            ("Das Team nutzt die Datenbanken im Keller.", "Datenbank"),
            ("Les serveurs sont dans la cave.", "serveur"),
            ("Elle préfère les journaux du matin.", "journal"),
            ("La usuaria prefiere las reuniones por la mañana.", "reunión"),
            ("El equipo despliega los servicios los lunes.", "servicio"),
            ("Il team preferisce le riunioni di lunedì.", "riunione"),
            ("O usuário não gosta dos livros da escola.", "livro"),
            ("De gebruiker heeft een hekel aan vergaderingen.", "vergadering"),
            ("Пользователь любит книги и не любит газеты.", "книга"),
        ];
        for (text, query) in table {
            assert!(found(text, query), "{text} / {query}");
        }
    }

    #[test]
    fn a_text_goes_in_by_one_language_besides_english() {
        let languages = |text: &str| Stems::new().of(&[(2, text)]).languages;
        assert_eq!(languages("The user drinks tea in the morning."), 0);
        assert_eq!(languages("Die Nutzerin trinkt Tee und nicht Kaffee."), 1);
        assert_eq!(languages("用户喝茶"), 0);
        assert_eq!(languages(""), 0);
    }
}
