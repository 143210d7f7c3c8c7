//! Finds the paths, symbols and commits that a text mentions. Performs no I/O.

use std::sync::LazyLock;

use regex::Regex;

use crate::text::pattern_set::pattern;

/// Maximum number of references in one text.
const MAX_REFERENCES: usize = 12;
const MAX_BYTES: usize = 200;

/// The parts of a repository that a memory or a task mentions.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct References {
    /// Paths of files and folders.
    pub(crate) paths: Vec<String>,
    /// Identifiers in code.
    pub(crate) symbols: Vec<String>,
    /// Commits, by the first digits of their ids.
    pub(crate) commits: Vec<String>,
}

impl References {
    /// Returns whether there are no references.
    pub(crate) fn is_empty(&self) -> bool {
        self.paths.is_empty() && self.symbols.is_empty() && self.commits.is_empty()
    }
}

static PATH: LazyLock<Regex> = LazyLock::new(|| {
    // Matches a name with a folder, or with a suffix of letters; `e.g.` and `1.5` do not match.
    pattern(
        r"^(?:~?/|\./|\.\./)?(?:[\w.@+-]+/)+[\w.@+-]*$|^(?:~?/|\./|\.\./)[\w.@+-]+$|^[\w@+-][\w.@+-]*\.[A-Za-z][A-Za-z0-9]{0,5}$|^\.[a-z][\w.-]+$",
    )
});
static SYMBOL: LazyLock<Regex> = LazyLock::new(|| pattern(r"^[A-Za-z_]\w*(?:(?:\.|::)[A-Za-z_]\w*)*(?:\(\))?$"));
static COMMIT: LazyLock<Regex> = LazyLock::new(|| pattern(r"^[0-9a-f]{7,40}$"));

/// Returns the references in `text`. Words in backticks may be symbols; other words only if marked as such, for example
/// by `()`.
pub(crate) fn references(text: &str) -> References {
    let mut found = References::default();
    let is_between = |letter: char| letter.is_whitespace() || ",;\"'“”‘’<>[]{}|=".contains(letter);
    for (place, piece) in text.split('`').enumerate() {
        // The text between a pair of backticks is code.
        piece.split(is_between).for_each(|word| note(word, place % 2 == 1, &mut found));
    }
    found
}

fn note(word: &str, is_quoted: bool, found: &mut References) {
    let word = word.trim_start_matches('(').trim_end_matches(['.', ':', '!', '?', ',']);
    let word = if word.ends_with("()") { word } else { word.trim_end_matches(')') };
    if word.len() < 4 || word.len() > MAX_BYTES || word.contains("://") || word.contains("//") {
        return;
    }
    // `loader.py:120` refers to a line of the file.
    let path = word
        .rsplit_once(':')
        .filter(|(_, line)| line.bytes().all(|byte| byte.is_ascii_digit()))
        .map_or(word, |(path, _)| path);
    let is_digits =
        word.bytes().any(|byte| byte.is_ascii_digit()) && word.bytes().any(|byte| byte.is_ascii_lowercase());
    let (list, name) = if COMMIT.is_match(word) && is_digits {
        (&mut found.commits, word)
    } else if PATH.is_match(path) && is_path(path, is_quoted) {
        (&mut found.paths, path)
    } else if SYMBOL.is_match(word) && is_symbol(word, is_quoted) {
        (&mut found.symbols, word)
    } else {
        return;
    };
    if list.len() < MAX_REFERENCES && !list.iter().any(|known| known == name) {
        list.push(name.to_owned());
    }
}

/// Returns whether a word with slashes or a dot is a path, unlike `and/or` and `example.com`.
fn is_path(word: &str, is_quoted: bool) -> bool {
    let name = word.trim_end_matches('/').rsplit('/').next().unwrap_or(word);
    let has_ending = name.trim_start_matches('.').contains('.');
    let is_rooted = word.starts_with(['/', '~', '.']) || word.ends_with('/');
    if word.contains('/') {
        return is_quoted || has_ending || is_rooted || word.matches('/').count() > 1;
    }
    let ending = name.rsplit('.').next().unwrap_or_default();
    let is_host = matches!(ending, "com" | "org" | "net" | "io" | "dev" | "app" | "ai" | "uk" | "de");
    // `node.js` and `Vue.js` are names of programs, not files.
    let is_program = ending == "js" && !is_quoted;
    // `self.value` and `np.array` are code rather than file names.
    !is_host && !is_program && (!is_quoted || ending.len() <= 4 || name.starts_with('.'))
}

/// Returns whether a word is an identifier: a compound word, or a word in backticks.
fn is_symbol(word: &str, is_quoted: bool) -> bool {
    let plain = word.trim_end_matches("()");
    let inner_upper = plain.chars().skip(1).any(char::is_uppercase) && plain.chars().any(char::is_lowercase);
    let has_parts = plain.trim_matches('_').contains('_') || inner_upper || plain.contains("::");
    word.ends_with("()") || plain.contains("::") || has_parts && (is_quoted || plain.contains('_'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_symbols_and_commits_of_a_text_are_found() {
        let found = references(
            "The loader in `src/db/loader.py:120` calls `parse_rows()` and (since 1a2b3c4) reads .env.local and Makefile.am; \
             see https://example.com/a/b.py, and/or example.com, 1.5 and e.g. Vue.js. `RowReader` is in lib/rows.",
        );
        assert_eq!(found.paths, ["src/db/loader.py", ".env.local", "Makefile.am"]);
        assert_eq!(found.symbols, ["parse_rows()", "RowReader"]);
        assert_eq!(found.commits, ["1a2b3c4"]);
    }

    #[test]
    fn plain_words_name_nothing() {
        for text in ["Use tabs, not spaces; the deadline is 2026-03-01.", "deadbeef cafe", "they asked him/her", ""] {
            assert!(references(text).is_empty(), "{text}: {:?}", references(text));
        }
    }
}
