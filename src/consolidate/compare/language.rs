//! Which of the languages that the guards listen to a text is written in.

/// A language by its usual code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    /// English.
    En,
    /// German.
    De,
    /// Spanish.
    Es,
    /// Chinese.
    Zh,
    /// Japanese.
    Ja,
    /// Korean.
    Ko,
}

/// Small words that stand in nearly every sentence of a language and in few of the others.
const SMALL_WORDS: &[(Language, &str)] = &[
    (Language::En, "the is are of and to for with that has was not on by from his her their it they every at"),
    (
        Language::De,
        "der die das und ist nicht ein eine mit von zu den dem im auf für wird seit hat sich bei nach am des sind",
    ),
    (Language::Es, "el la los las de del y que es en un una por para con su se al lo como desde más ha tiene"),
];

/// Returns the language of `text`, `None` where neither its script nor its small words tell.
#[must_use]
pub fn language(text: &str) -> Option<Language> {
    let (mut kana, mut han, mut hangul, mut latin) = (0, 0, 0, 0);
    for c in text.chars().take(400) {
        match c {
            '\u{3040}'..='\u{30FF}' => kana += 1,
            '\u{4E00}'..='\u{9FFF}' | '\u{3400}'..='\u{4DBF}' => han += 1,
            '\u{AC00}'..='\u{D7AF}' => hangul += 1,
            c if c.is_alphabetic() => latin += 1,
            _ => {}
        }
    }
    // A character of these scripts says about as much as three letters.
    match (kana, han, hangul) {
        (1.., ..) if (kana + han) * 3 >= latin => Some(Language::Ja),
        (0, 1.., 0) if han * 3 >= latin => Some(Language::Zh),
        (_, _, 1..) if hangul * 3 >= latin => Some(Language::Ko),
        _ => by_small_words(text),
    }
}

fn by_small_words(text: &str) -> Option<Language> {
    let lower = text.to_lowercase();
    let words: Vec<&str> =
        lower.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).take(80).collect();
    let count = |list: &str| words.iter().filter(|word| list.split(' ').any(|small| small == **word)).count();
    let mut counts: Vec<(usize, Language)> =
        SMALL_WORDS.iter().map(|(language, list)| (count(list), *language)).collect();
    counts.sort_by_key(|(count, _)| std::cmp::Reverse(*count));
    (counts[0].0 > counts[1].0).then_some(counts[0].1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn script_and_small_words_tell_the_language() {
        let rows = [
            ("The user lives in Berlin.", Some(Language::En)),
            ("Der Nutzer wohnt seit 2020 in Berlin.", Some(Language::De)),
            ("La usuaria vive en Berlín desde 2020.", Some(Language::Es)),
            ("用户住在柏林，用 Postgres。", Some(Language::Zh)),
            ("ユーザーはベルリンに住んでいる。", Some(Language::Ja)),
            ("사용자는 베를린에 산다.", Some(Language::Ko)),
            ("Postgres 16", None),
            ("", None),
        ];
        for (text, expected) in rows {
            assert_eq!(language(text), expected, "{text}");
        }
    }
}
