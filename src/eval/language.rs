//! In which language a memory is written.

use super::case::Language;

/// Frequent words that tell a language from the others.
const STOP_WORDS: [(Language, &[&str]); 3] = [
    (
        Language::En,
        &[
            "the", "and", "is", "are", "was", "were", "of", "to", "that", "with", "for", "has", "have", "not", "it",
            "by", "this", "from", "an", "be", "on", "as", "at", "which", "their", "his", "her", "should", "must",
            "after", "when",
        ],
    ),
    (
        Language::Es,
        &[
            "el", "la", "los", "las", "de", "que", "y", "en", "un", "una", "es", "son", "por", "con", "para", "del",
            "se", "su", "sus", "no", "al", "como", "más", "pero", "está", "fue", "desde", "cuando", "sin", "lo", "ha",
        ],
    ),
    (
        Language::De,
        &[
            "der", "die", "das", "und", "ist", "sind", "ein", "eine", "einen", "einem", "einer", "nicht", "mit", "für",
            "von", "den", "dem", "des", "im", "zu", "auf", "sich", "wird", "werden", "hat", "haben", "bei", "nach",
            "aus", "am",
        ],
    ),
];

/// Whether `text` is written in `language`, as far as script and frequent words tell; a text without any is taken to be.
pub(super) fn is_written_in(text: &str, language: Language) -> bool {
    let chinese = text.chars().filter(|&one| is_han(one)).count();
    let words: Vec<String> = text
        .split(|one: char| !one.is_alphabetic() || is_han(one))
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect();
    // Names and code stay in Latin letters, and one Chinese word has about two characters.
    let is_chinese = chinese > 0 && chinese >= words.len();
    if language == Language::Zh {
        return is_chinese;
    }
    let hits = |known: &[&str]| words.iter().filter(|word| known.contains(&word.as_str())).count();
    let own = STOP_WORDS.iter().find(|(one, _)| *one == language).map_or(0, |(_, known)| hits(known));
    !is_chinese && STOP_WORDS.iter().all(|(_, known)| hits(known) <= own)
}

const fn is_han(one: char) -> bool {
    matches!(one, '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3134f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_language_of_a_memory_is_told_by_its_script_and_its_small_words() {
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
}
