//! Words of texts about programs: whole names and their parts, and the folders of paths. The functions perform no I/O.

use super::script::Script;
use super::tokens::{is_stop, pairs_or_single};

/// Maximum length of a word that is considered, in bytes; longer words are data.
const MAX_WORD_BYTES: usize = 80;

/// Calls `take` with each word of `text` in lower case. A name is followed by its parts: `loadRows` and `load_rows`
/// also yield `load` and `rows`.
///
/// Function words and single characters are left out. Text in scripts without spaces is split into pairs of characters.
pub(crate) fn code_words(text: &str, mut take: impl FnMut(&str)) {
    let is_part = |character: char| character.is_alphanumeric() || character == '_';
    for run in text.split(|character| !is_part(character)).filter(|run| !run.is_empty() && run.len() <= MAX_WORD_BYTES)
    {
        if run.chars().any(|character| Script::of(character).is_some_and(|script| script != Script::Spaced)) {
            pairs_or_single(run).for_each(&mut take);
            continue;
        }
        let word = run.to_lowercase();
        let word = word.trim_matches('_');
        if word.len() > 1 && !is_stop(word) {
            take(word);
        }
        let parts = name_parts(run);
        if parts.len() > 1 {
            for part in parts {
                let part = part.to_lowercase();
                if part.len() > 1 && !is_stop(&part) {
                    take(&part);
                }
            }
        }
    }
}

/// Splits a name into its parts: at underscores, before capitals, and around digits.
fn name_parts(name: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    for word in name.split('_').filter(|word| !word.is_empty()) {
        let places: Vec<(usize, char)> = word.char_indices().collect();
        let mut begin = 0;
        for (place, pair) in places.windows(2).enumerate() {
            let ((_, before), (at, here)) = (pair[0], pair[1]);
            let next = places.get(place + 2).map(|(_, next)| *next);
            let begins_word = here.is_uppercase() && (before.is_lowercase() || next.is_some_and(char::is_lowercase));
            if begins_word && before.is_alphabetic() || before.is_ascii_digit() != here.is_ascii_digit() {
                parts.push(&word[begin..at]);
                begin = at;
            }
        }
        parts.push(&word[begin..]);
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        let mut found = Vec::new();
        code_words(text, |word| found.push(word.to_owned()));
        found
    }

    #[test]
    fn names_are_found_whole_and_by_their_parts() {
        assert_eq!(
            words("HTTPServer.load_rows2(the x)"),
            ["httpserver", "http", "server", "load_rows2", "load", "rows"]
        );
        assert_eq!(words("src/db/__init__.py"), ["src", "db", "init", "py"]);
        assert_eq!(words("camelCase"), ["camelcase", "camel", "case"]);
    }

    #[test]
    fn writing_without_spaces_is_cut_into_pairs() {
        assert_eq!(words("修复登录"), ["修复", "复登", "登录"]);
    }
}
