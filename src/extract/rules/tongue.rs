//! Which language a sentence is in, by its characters and its little words.

/// A language that statements are read in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tongue {
    English,
    Chinese,
    Spanish,
    German,
}

const ENGLISH: &[&str] = &[
    "the", "is", "are", "and", "of", "to", "i", "you", "we", "it", "for", "on", "my", "with", "not", "at", "that",
    "this", "from", "our", "have", "i'm", "don't", "be", "by", "as", "or", "but", "your", "please", "only", "never",
    "always", "can", "his", "her", "he", "she",
];
const SPANISH: &[&str] = &[
    "el", "la", "los", "las", "de", "que", "y", "un", "una", "con", "por", "para", "se", "es", "mi", "lo", "del", "al",
    "pero", "como", "más", "está", "son", "su", "ya", "yo", "te", "le", "nos", "muy", "sin", "si", "ha", "he", "hay",
    "porque", "también", "nunca", "siempre", "a", "en", "tengo", "soy", "esta", "este", "cuando", "mis", "nuestro",
    "nuestra", "tu", "vivo", "uso", "estoy", "era", "eso", "todo", "hoy", "mañana", "ahora", "solo", "les", "nada",
    "desde",
];
const GERMAN: &[&str] = &[
    "der",
    "die",
    "das",
    "und",
    "ist",
    "nicht",
    "ich",
    "wir",
    "ein",
    "eine",
    "mit",
    "auf",
    "für",
    "bei",
    "im",
    "am",
    "zum",
    "den",
    "dem",
    "auch",
    "noch",
    "nur",
    "immer",
    "bitte",
    "kein",
    "keine",
    "es",
    "er",
    "sie",
    "von",
    "zu",
    "hab",
    "habe",
    "hat",
    "sind",
    "aber",
    "wenn",
    "wie",
    "dann",
    "mein",
    "meine",
    "einen",
    "ab",
    "aus",
    "ja",
    "nein",
    "doch",
    "mal",
    "nie",
    "ihr",
    "bin",
    "seit",
    "mag",
    "übrigens",
    "uns",
    "unser",
    "unsere",
    "heißt",
    "wird",
    "war",
    "wohne",
    "vom",
    "nach",
    "jetzt",
    "schon",
    "oder",
    "kann",
    "muss",
    "hier",
    "alle",
    "dir",
    "mir",
    "dich",
    "mich",
    "keinen",
    "so",
];

/// Returns the language of `text`, or `usual` where it says too little to tell; none where it is in another script.
pub(super) fn of(text: &str, usual: Option<Tongue>) -> Option<Tongue> {
    let mut han = 0_usize;
    for c in text.chars() {
        match c {
            '\u{4e00}'..='\u{9fff}' => han += 1,
            _ if c.is_alphabetic() && !c.is_ascii() && !('\u{c0}'..='\u{24f}').contains(&c) => return None,
            _ => {}
        }
    }
    if han >= 2 {
        return Some(Tongue::Chinese);
    }
    let mut counts = [(0_usize, Tongue::English), (0, Tongue::Spanish), (0, Tongue::German)];
    for word in text.split(|c: char| !(c.is_alphanumeric() || c == '\'' || c == '’')).filter(|word| !word.is_empty())
    {
        let word = word.to_lowercase().replace('’', "'");
        for (count, words) in counts.iter_mut().zip([ENGLISH, SPANISH, GERMAN]) {
            count.0 += usize::from(words.contains(&word.as_str()));
        }
    }
    let best = counts.iter().max_by_key(|(count, tongue)| (*count, Some(*tongue) == usual, *tongue == Tongue::English));
    match best {
        Some(&(count, tongue)) if count >= 1 => Some(tongue),
        Some(_) | None => Some(usual.unwrap_or(Tongue::English)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn languages_are_told_by_their_little_words() {
        for (text, tongue) in [
            ("I never eat pork", Some(Tongue::English)),
            ("Yo los miércoles no puedo nunca", Some(Tongue::Spanish)),
            ("Der Pi bleibt bei der Feuerwehr", Some(Tongue::German)),
            ("以后都用中文", Some(Tongue::Chinese)),
            ("汤圆先留在我姐姐那里 until April", Some(Tongue::Chinese)),
            ("Meine Schwester wohnt in Ulm", Some(Tongue::German)),
            ("Я живу в Москве", None),
        ] {
            assert_eq!(of(text, None), tongue, "{text}");
        }
        assert_eq!(of("Calle Tejedores 14", Some(Tongue::Spanish)), Some(Tongue::Spanish));
    }
}
