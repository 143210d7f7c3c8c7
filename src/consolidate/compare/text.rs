//! Text as it is compared: normalised, cut into words, in any script.

use std::collections::HashSet;
use std::sync::LazyLock;

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
            (None, Some((run, Script::Spaced))) if stays_inside(c, next) => run.push(c),
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

fn script_of(c: char) -> Option<Script> {
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

/// Cuts a run into the tokens that are counted: a stemmed word, a whole Katakana word, or pairs of characters.
pub(in crate::consolidate) fn tokens_of(word: &Word, out: &mut Vec<String>) {
    let lower: String = word.text.to_lowercase();
    match word.script {
        Script::Spaced => {
            let token = stem(&lower);
            if !is_stop_word(&lower) && !token.is_empty() {
                out.push(token);
            }
        }
        Script::Katakana => {
            if lower != "ユーザー" && lower != "ユーザ" {
                out.push(lower);
            }
        }
        Script::Han => lower.split(is_glue).for_each(|part| pairs(part, out)),
        Script::Hangul => pairs(without_ending(&lower), out),
    }
}

/// Particles that carry grammar, not matter.
fn is_glue(c: char) -> bool {
    matches!(c, '的' | '了' | '着' | '是' | '在' | 'は' | 'が' | 'を' | 'の' | 'に' | 'で' | 'と' | 'も' | 'へ')
}

fn pairs(part: &str, out: &mut Vec<String>) {
    let chars: Vec<char> = part.chars().collect();
    match chars.as_slice() {
        [] => {}
        [one] => out.push(one.to_string()),
        more => out.extend(more.windows(2).map(|pair| pair.iter().collect::<String>())),
    }
}

/// Endings and particles of Korean, longest first.
const HANGUL_ENDINGS: &str = "했습니다 합니다 입니다 습니다 에서는 으로는 하였다 해요 한다 했다 하는 에서 으로 에게 이다 까지 부터 은 는 이 가 을 를 에 의 로 와 과 도 다";

fn without_ending(word: &str) -> &str {
    HANGUL_ENDINGS
        .split(' ')
        .find_map(|ending| word.strip_suffix(ending).filter(|rest| rest.chars().count() >= 2))
        .unwrap_or(word)
}

/// Folds the commonest English endings, so that `uses`, `using` and `used` count as one word.
fn stem(word: &str) -> String {
    let plain = word.trim_end_matches("'s").trim_end_matches('\'');
    if plain.len() < 4 || !plain.bytes().all(|byte| byte.is_ascii_lowercase()) {
        return plain.to_owned();
    }
    let cut = ["ings", "ing", "edly", "ied", "ies", "ed", "es", "s", "e"]
        .iter()
        .find_map(|ending| plain.strip_suffix(ending).filter(|rest| rest.len() >= 3 && !plain.ends_with("ss")))
        .unwrap_or(plain);
    let mut root = cut.to_owned();
    let bytes = root.as_bytes();
    // `running` and `run`, `stopped` and `stop`; `call` keeps its two letters only together with `calls`.
    if bytes.len() >= 4 && bytes[bytes.len() - 1] == bytes[bytes.len() - 2] {
        root.pop();
    }
    if root.ends_with('y') || root.ends_with('i') {
        root.pop();
    }
    root
}

fn is_stop_word(word: &str) -> bool {
    static WORDS: LazyLock<HashSet<&'static str>> = LazyLock::new(|| STOP_WORDS.split(' ').collect());
    WORDS.contains(word)
}

/// Words that carry grammar, or name the person whom all is about, in the languages written with spaces.
const STOP_WORDS: &str = "something someone a an the is are was were be been being am of to in on at for with by and or that this these those it \
    its as has have had do does did will would user user's users project project's their his her my our \
    your i he she they we you from into than so very which who where when there also uses using used use \
    el la los las un una de del en y que es son su sus con por para al usuario usuaria se lo le proyecto \
    usa der die das den dem des ein eine einen einem einer und ist sind mit von zu im am auf für an bei \
    nutzer benutzer nutzerin er sie es sein ihr projekt hat wird zum zur nutzt verwendet 사용자 사용자는";

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(text: &str) -> Vec<String> {
        let mut out = Vec::new();
        words(text).iter().for_each(|word| tokens_of(word, &mut out));
        out
    }

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
    fn tokens_fold_inflection_and_cut_scripts_without_spaces() {
        assert_eq!(cut("The user prefers running tests"), cut("prefer run test"));
        assert_eq!(cut("用户住在柏林"), ["用户", "户住", "柏林"]);
        assert_eq!(cut("ユーザーはテストを書く"), ["テスト", "書く"]);
        assert_eq!(cut("커피를 좋아합니다"), ["커피", "좋아"]);
    }

    #[test]
    fn hostile_text_is_cut_short_and_does_not_panic() {
        let huge = "a\u{301}用가ア😀".repeat(50_000);
        assert!(words(&huge).len() <= MAX_CHARS);
        assert_eq!(words("\u{0}\u{FFFD}..--//"), []);
    }
}
