//! Which language a text is in, by the frequent words in it.

use std::collections::HashMap;
use std::sync::LazyLock;

use rust_stemmers::Algorithm;

use super::words::Piece;

/// Languages beside English, each with words that are frequent in it and rare in the others.
pub(super) const LANGUAGES: &[(Algorithm, &[&str])] = &[
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
/// A language of [`LANGUAGES`] by its place in a number's bits.
pub(super) type Languages = i64;

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
pub(super) fn language<'p>(pieces: impl Iterator<Item = &'p Piece<'p>>) -> Languages {
    let mut counts = [0; LANGUAGES.len()];
    let mut english = 0;
    for piece in pieces {
        let (Piece::Word(word) | Piece::Stop(word)) = piece else { continue };
        english += usize::from(matches!(piece, Piece::Stop(_)));
        let languages = FREQUENT.get(word).copied().unwrap_or_default();
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
