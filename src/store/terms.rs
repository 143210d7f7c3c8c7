//! The terms of a text: what stands for its words in the index.
//!
//! A word goes in by its English stem, and by the stem of the language that its text is in, where that is another one
//! that is known. A query does not tell its language, so its words are looked up by the stems of all those that the
//! index has seen. Terms are numbers: two words that meet in one by chance are one in 10^13.

use std::collections::HashMap;
use std::sync::LazyLock;

use rust_stemmers::{Algorithm, Stemmer};

use super::near_words::plain;
use super::words::{Piece, Sought, pieces};

/// Languages beside English, each with words that are frequent in it and rare in the others.
const LANGUAGES: &[(Algorithm, &[&str])] = &[
    (
        Algorithm::German,
        &[
            "der", "die", "das", "und", "ist", "nicht", "ein", "eine", "mit", "im", "auf", "wird", "werden", "für",
            "sich", "dem", "den", "wir", "er", "sie", "von", "zu", "nutzt", "hat",
        ],
    ),
    (
        Algorithm::French,
        &[
            "le", "la", "les", "des", "est", "une", "et", "du", "dans", "pour", "que", "sur", "avec", "il", "elle",
            "nous", "au", "aux", "pas", "sont", "l", "d", "qui", "utilise",
        ],
    ),
    (
        Algorithm::Spanish,
        &[
            "el", "los", "las", "una", "es", "y", "del", "que", "por", "con", "para", "se", "su", "al", "usuario",
            "en", "usuaria", "más", "está", "son", "la", "lo", "como",
        ],
    ),
    (
        Algorithm::Italian,
        &[
            "il", "gli", "di", "è", "che", "per", "una", "con", "non", "della", "del", "nel", "sono", "si", "lo",
            "utente", "alla", "dei", "le", "un", "e", "al",
        ],
    ),
    (
        Algorithm::Portuguese,
        &[
            "o", "os", "uma", "é", "do", "da", "em", "não", "que", "para", "com", "no", "na", "um", "dos", "usuário",
            "ao", "são", "mais", "seu", "e", "as",
        ],
    ),
    (
        Algorithm::Dutch,
        &[
            "het",
            "een",
            "van",
            "en",
            "niet",
            "de",
            "dat",
            "zijn",
            "op",
            "voor",
            "met",
            "wordt",
            "ook",
            "gebruiker",
            "aan",
            "bij",
            "naar",
            "wij",
            "hij",
            "zij",
            "ze",
            "te",
        ],
    ),
    (
        Algorithm::Swedish,
        &[
            "och",
            "att",
            "det",
            "är",
            "en",
            "som",
            "på",
            "för",
            "av",
            "med",
            "inte",
            "ett",
            "den",
            "till",
            "har",
            "användaren",
            "i",
            "om",
        ],
    ),
    (
        Algorithm::Russian,
        &[
            "и",
            "в",
            "не",
            "на",
            "что",
            "с",
            "по",
            "как",
            "для",
            "это",
            "он",
            "она",
            "мы",
            "у",
            "из",
            "к",
            "от",
            "пользователь",
            "их",
            "его",
        ],
    ),
];
/// Words of a text that tell its language, at least.
const TELLING: usize = 2;
/// Greatest number of half units in which the weight of a term is kept.
const MOST: u8 = u8::MAX;

/// A language of [`LANGUAGES`] by its place in a number's bits.
pub(super) type Languages = i64;

/// What of a memory goes into the index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Terms {
    /// How many words it has in all, those included that are not looked up.
    pub(super) length: u32,
    /// The languages by which its words went in.
    pub(super) languages: Languages,
    /// Each term with its weight in half units, by term.
    pub(super) weights: Vec<(i64, u8)>,
}

/// Turns words into terms; knows the words that it has seen.
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

/// Words whose terms are remembered at most.
const REMEMBERED: usize = 20_000;

impl Stems {
    pub(super) fn new() -> Self {
        Self {
            english: Stemmer::create(Algorithm::English),
            others: LANGUAGES.iter().map(|(algorithm, _)| Stemmer::create(*algorithm)).collect(),
            known: HashMap::new(),
        }
    }

    /// Returns the terms of a memory whose texts have these weights in half units.
    pub(super) fn of(&mut self, texts: &[(u8, &str)]) -> Terms {
        let texts: Vec<(u8, Vec<Piece>)> = texts.iter().map(|(weight, text)| (*weight, pieces(text))).collect();
        let languages = language(texts.iter().flat_map(|(_, pieces)| pieces));
        let mut weights: Vec<(i64, u32)> = Vec::new();
        let mut length = 0;
        for (weight, piece) in
            texts.iter().flat_map(|(weight, pieces)| pieces.iter().map(move |piece| (*weight, piece)))
        {
            length += 1;
            match piece {
                Piece::Stop(_) => {}
                Piece::Exact(word) => weights.push((hashed("", word), u32::from(weight))),
                Piece::Word(word) => {
                    weights.push((self.english(word), u32::from(weight)));
                    let others = self.others(word, languages);
                    weights.extend(others.into_iter().map(|term| (term, u32::from(weight))));
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

    /// Returns the terms under which what is sought may stand, in an index with these languages.
    pub(super) fn sought(&mut self, sought: &Sought, languages: Languages) -> Vec<i64> {
        match sought {
            Sought::Exact(word) => vec![hashed("", word)],
            Sought::Word(word) => {
                let mut terms = self.others(word, languages);
                terms.push(self.english(word));
                terms.sort_unstable();
                terms.dedup();
                terms
            }
        }
    }

    fn english(&mut self, word: &str) -> i64 {
        if let Some(term) = self.known.get(word) {
            return *term;
        }
        let plain = plain(word);
        let term = hashed("", &self.english.stem(&plain));
        if self.known.len() >= REMEMBERED {
            self.known.clear();
        }
        self.known.insert(word.to_owned(), term);
        term
    }

    fn others(&self, word: &str, languages: Languages) -> Vec<i64> {
        let wanted = self.others.iter().enumerate().filter(|(place, _)| languages & (1 << place) != 0);
        // Accents go last: stemmers go by them.
        wanted.map(|(place, stemmer)| hashed(&place.to_string(), &plain(&stemmer.stem(word)))).collect()
    }
}

/// The languages that a frequent word is of, as [`Languages`].
static FREQUENT: LazyLock<HashMap<&'static str, Languages>> = LazyLock::new(|| {
    let mut frequent = HashMap::new();
    for (place, (_, words)) in LANGUAGES.iter().enumerate() {
        for word in *words {
            *frequent.entry(*word).or_default() |= 1 << place;
        }
    }
    frequent
});

/// Returns the language other than English whose frequent words stand in a text more often than those of the others.
fn language<'p>(pieces: impl Iterator<Item = &'p Piece>) -> Languages {
    let mut counts = [0; LANGUAGES.len()];
    let mut english = 0;
    for piece in pieces {
        let (Piece::Word(word) | Piece::Stop(word)) = piece else { continue };
        english += usize::from(matches!(piece, Piece::Stop(_)));
        let languages = FREQUENT.get(word.as_str()).copied().unwrap_or_default();
        for (place, count) in counts.iter_mut().enumerate() {
            *count += usize::from(languages & (1 << place) != 0);
        }
    }
    let counts = counts.into_iter().enumerate().map(|(place, count)| (count, place));
    match counts.max_by_key(|(count, place)| (*count, std::cmp::Reverse(*place))) {
        Some((count, place)) if count >= TELLING && count > english => 1 << place,
        _ => 0,
    }
}

/// Names a term by a number.
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
        let sought = super::super::words::Query::of(query).sought;
        let mut all = sought.iter().flat_map(|sought| stems.sought(sought, terms.languages));
        all.any(|term| terms.weights.binary_search_by_key(&term, |(term, _)| *term).is_ok())
    }

    #[test]
    fn inflected_words_of_european_languages_meet() {
        let table = [
            ("The team deploys on Mondays.", "deployment deploying"),
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
