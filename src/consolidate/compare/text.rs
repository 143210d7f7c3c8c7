//! Text as it is compared: normalised, cut into words, in any script.

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

/// Longest text that is looked at word by word, in characters; more of one memory does not change what it is about.
const MAX_CHARS: usize = 2_000;

/// Returns `text` as it is compared for identity: compatibility-composed, lower-case, straight quotes, single spaces,
/// without punctuation at its ends.
#[must_use]
pub fn normalise(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.nfkc().flat_map(char::to_lowercase).map(plain_quote) {
        if c.is_whitespace() {
            if !out.ends_with(' ') {
                out.push(' ');
            }
        } else if !is_invisible(c) {
            out.push(c);
        }
    }
    out.trim_matches(|c: char| c.is_whitespace() || is_edge(c)).to_owned()
}

fn plain_quote(c: char) -> char {
    match c {
        '‘' | '’' | 'ʼ' | '`' | '´' => '\'',
        '“' | '”' | '„' | '«' | '»' | '「' | '」' | '『' | '』' => '"',
        '‐' | '‑' | '–' | '—' => '-',
        _ => c,
    }
}

/// Zero-width and direction marks, which people do not see.
fn is_invisible(c: char) -> bool {
    matches!(c, '\u{200B}'..='\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2060}' | '\u{FEFF}' | '\u{00AD}')
}

fn is_edge(c: char) -> bool {
    matches!(c, '.' | ',' | ';' | ':' | '!' | '?' | '"' | '\'' | '。' | '、' | '，' | '！' | '？' | '；' | '：' | '…')
}

/// How a run of characters is written, which decides how it is cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Script {
    /// Words stand apart: Latin, Cyrillic, Arabic and others.
    Spaced,
    /// Han and Hiragana: no spaces between words.
    Han,
    /// Katakana: mostly names and loan words, taken whole.
    Katakana,
    /// Korean: spaced, with particles glued to the words.
    Hangul,
}

/// A run of characters of one script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Word {
    /// As it stands in the text.
    pub text: String,
    /// How it is written.
    pub script: Script,
    /// Whether a sentence begins with it, where a capital letter says nothing.
    pub first: bool,
}

/// Cuts `text` into runs of one script; `.`, `-`, `/` and their like stay inside of words such as `Fly.io`.
#[must_use]
pub fn words(text: &str) -> Vec<Word> {
    let chars: Vec<char> = text.nfkc().map(plain_quote).filter(|c| !is_invisible(*c)).take(MAX_CHARS).collect();
    let mut words: Vec<Word> = Vec::new();
    let (mut current, mut first) = (None::<(String, Script)>, true);
    for (index, &c) in chars.iter().enumerate() {
        let next = chars.get(index + 1).copied();
        match (script_of(c), &mut current) {
            (Some(script), Some((run, running))) if *running == script => run.push(c),
            (None, Some((run, Script::Spaced))) if stays_inside(c, next) || joins_digits(run, c, next) => run.push(c),
            (script, _) => {
                flush(&mut words, current.take(), &mut first);
                first |= script.is_none() && matches!(c, '.' | '!' | '?' | '\n' | '。' | '！' | '？' | ':' | '"');
                current = match (script, next) {
                    (Some(script), _) => Some((c.to_string(), script)),
                    (None, Some(after)) if starts_word(c, after) => Some((c.to_string(), Script::Spaced)),
                    (None, _) => None,
                };
            }
        }
    }
    flush(&mut words, current, &mut first);
    words
}

fn flush(words: &mut Vec<Word>, run: Option<(String, Script)>, first: &mut bool) {
    if let Some((text, script)) = run {
        words.push(Word { text, script, first: std::mem::replace(first, false) });
    }
}

pub(super) fn script_of(c: char) -> Option<Script> {
    match c {
        '\u{30A0}'..='\u{30FF}' => Some(Script::Katakana),
        '\u{3040}'..='\u{309F}'
        | '々'
        | '〇'
        | '\u{3400}'..='\u{4DBF}'
        | '\u{4E00}'..='\u{9FFF}'
        | '\u{F900}'..='\u{FAFF}'
        | '\u{20000}'..='\u{3FFFF}' => Some(Script::Han),
        '\u{AC00}'..='\u{D7AF}' | '\u{1100}'..='\u{11FF}' => Some(Script::Hangul),
        c if c.is_alphanumeric() || is_combining_mark(c) || is_emoji(c) => Some(Script::Spaced),
        _ => None,
    }
}

/// Pictures carry meaning (`👍` and `👎` are not the same answer), so they count as words.
fn is_emoji(c: char) -> bool {
    matches!(c, '\u{1F300}'..='\u{1FAFF}' | '\u{2600}'..='\u{27BF}')
}

/// A comma within a number, as in `1,450`.
fn joins_digits(run: &str, c: char, next: Option<char>) -> bool {
    c == ',' && run.ends_with(|c: char| c.is_ascii_digit()) && next.is_some_and(|c| c.is_ascii_digit())
}

fn stays_inside(c: char, next: Option<char>) -> bool {
    match c {
        '+' | '#' | '%' => true,
        '.' | '-' | '/' | '\'' | '_' | '@' | ':' | '\\' => {
            next.is_some_and(|n| script_of(n) == Some(Script::Spaced) || n == '_')
        }
        _ => false,
    }
}

/// A sign that begins a word: `.env`, `/etc`, `--flag`, `@scope`, `$10`.
fn starts_word(c: char, next: char) -> bool {
    matches!(c, '/' | '@' | '$' | '€' | '£' | '¥' | '_' | '~') && (next.is_alphanumeric() || (c == '~' && next == '/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identity_sees_through_width_case_quotes_and_marks() {
        let same = ["Don’t  use\u{200B} Ｔabs.", "don't use tabs", "Don't use tabs!"];
        for text in same {
            assert_eq!(normalise(text), "don't use tabs");
        }
        assert_eq!(normalise("Cafe\u{301} à la carte。"), normalise("Café à la carte"));
        assert_eq!(normalise("。。。"), "");
        assert_ne!(normalise("用户住在柏林"), normalise("用户住在慕尼黑"));
    }

    #[test]
    fn words_keep_names_paths_and_versions_whole() {
        let texts: Vec<String> = words("Deploys to Fly.io with C++ 1.95 from ~/src/app, not node-18; 👍")
            .into_iter()
            .map(|w| w.text)
            .collect();
        assert_eq!(
            texts,
            ["Deploys", "to", "Fly.io", "with", "C++", "1.95", "from", "~/src/app", "not", "node-18", "👍"]
        );
    }

    #[test]
    fn sentence_starts_are_marked() {
        let first: Vec<bool> = words("Ana sings. Bob dances").iter().map(|word| word.first).collect();
        assert_eq!(first, [true, false, true, false]);
    }

    #[test]
    fn hostile_text_is_cut_short_and_does_not_panic() {
        let huge = "a\u{301}用가ア😀".repeat(50_000);
        assert!(words(&huge).len() <= MAX_CHARS);
        assert_eq!(words("\u{0}\u{FFFD}..--//"), []);
    }
}
