//! The words of a text, for comparison and for the word index.
//!
//! For the index, runs of letters and digits count as words. Two kinds of text are treated differently. Text without
//! spaces (Chinese, Japanese, Thai, and also Korean) is split into single characters and overlapping pairs. Names that
//! contain symbols (`C++`, `.env`, `bun-sqlite`) are indexed both by their parts and as one artificial word of letters
//! and digits, such as `zqcz2bzz2bz` for `c++`. An emoji becomes a separate artificial word. Both indexing and queries
//! use this module.

use std::collections::HashSet;
use std::ops::Range;

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

use super::normalise::{Folded, folded, is_invisible, plain_quote, trimmed};
use super::script::{Script, is_unspaced, is_wide};

/// Whether a part of `text` is not joined to an ASCII letter or digit. In scripts without spaces, every word has
/// letters on both sides, so these do not count.
pub(crate) fn stands_apart(text: &str, part: Range<usize>) -> bool {
    let joins = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
    !joins(text[..part.start].chars().next_back()) && !joins(text[part.end..].chars().next())
}

/// Whether `text` contains a word, and not only as a part of other words, as `pnpm` contains `npm`.
pub(crate) fn contains_word(text: &str, word: &str) -> bool {
    text.match_indices(word).any(|(at, _)| stands_apart(text, at..at + word.len()))
}

/// Maximum number of characters that are examined word by word. Further text rarely changes the topic of a memory.
const MAX_CHARS: usize = 2_000;

/// A run of characters of one script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Word {
    /// The characters, as they appear in the text.
    pub(crate) text: String,
    /// The script of the characters.
    pub(crate) script: Script,
    /// Whether the run begins a sentence, so that a capital letter is not significant.
    pub(crate) first: bool,
}

/// Splits `text` into runs of one script. `.`, `-`, `/` and similar characters are kept inside words such as `Fly.io`.
pub(crate) fn words(text: &str) -> Vec<Word> {
    // The text is converted to NFKC first, so that full-width letters and ligatures count as the letters that people
    // search for.
    let chars: Vec<char> = text.nfkc().map(plain_quote).filter(|c| !is_invisible(*c)).take(MAX_CHARS).collect();
    let mut words: Vec<Word> = Vec::new();
    let (mut current, mut first) = (None::<(String, Script)>, true);
    for (index, &c) in chars.iter().enumerate() {
        let next = chars.get(index + 1).copied();
        match (Script::of(c), &mut current) {
            (Some(script), Some((run, running))) if *running == script => run.push(c),
            (None, Some((run, Script::Spaced))) if stays_inside(c, next) || joins_digits(run, c, next) => run.push(c),
            (script, _) => {
                flush(&mut words, current.take(), &mut first);
                // After a colon or a quotation mark, a capital letter may also be the beginning of a sentence.
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

/// Returns whether `c` is a comma within a number, as in `1,450`.
fn joins_digits(run: &str, c: char, next: Option<char>) -> bool {
    c == ',' && run.ends_with(|c: char| c.is_ascii_digit()) && next.is_some_and(|c| c.is_ascii_digit())
}

fn stays_inside(c: char, next: Option<char>) -> bool {
    match c {
        '+' | '#' | '%' => true,
        '.' | '-' | '/' | '\'' | '_' | '@' | ':' | '\\' => {
            next.is_some_and(|n| Script::of(n) == Some(Script::Spaced) || n == '_')
        }
        _ => false,
    }
}

/// Returns whether `c` is a symbol that begins a word: `.env`, `/etc`, `--flag`, `@scope`, `$10`.
fn starts_word(c: char, next: char) -> bool {
    matches!(c, '/' | '@' | '$' | '€' | '£' | '¥' | '_' | '~') && (next.is_alphanumeric() || (c == '~' && next == '/'))
}

/// Splits `text` into the units used in comparisons: folded words, and single Chinese or Japanese characters.
pub(crate) fn units(text: &str) -> Vec<String> {
    let mut units = Vec::new();
    let mut word = String::new();
    for c in Folded::new(text).text.chars() {
        if !c.is_alphanumeric() || is_wide(c) {
            if !word.is_empty() {
                units.push(std::mem::take(&mut word));
            }
            if is_wide(c) && c.is_alphanumeric() {
                units.push(c.to_string());
            }
        } else {
            word.push(c);
        }
    }
    if !word.is_empty() {
        units.push(word);
    }
    units
}

/// Maximum length, in characters, of a name with symbols that is indexed as a whole. Longer names are found by their
/// parts.
const MAX_SIGNED_CHARS: usize = 64;
/// Maximum number of terms of a query that are looked up; the first terms are used.
// Otherwise, a pasted page would cause thousands of lookups.
const MAX_TERMS: usize = 48;
/// Maximum number of phrases of a query that are looked up, since each lookup may read all memories.
const MAX_PHRASES: usize = 4;
/// Maximum number of characters of a query that are examined.
const MAX_QUERY_CHARS: usize = 4_000;
/// Function words, sorted. They are ignored in a query that also contains other words.
pub const STOP_WORDS: &[&str] = &[
    "a", "about", "am", "an", "and", "are", "as", "at", "be", "been", "by", "can", "could", "did", "do", "does", "for",
    "from", "had", "has", "have", "he", "her", "his", "how", "i", "if", "in", "is", "it", "its", "me", "my", "of",
    "on", "or", "our", "she", "should", "so", "that", "the", "their", "them", "they", "this", "to", "was", "we",
    "were", "what", "when", "where", "which", "who", "will", "with", "would", "you", "your",
];

/// Length of the longest function word, in bytes.
const LONGEST_STOP: usize = 6;

/// Returns whether a word, in lower case, is one of [`STOP_WORDS`].
pub(crate) fn is_stop(word: &str) -> bool {
    word.len() <= LONGEST_STOP && STOP_WORDS.binary_search(&word).is_ok()
}

/// Words of requests on any subject, which do not show that two texts have the same subject.
const GENERAL: &str = "able actually add added again all also already always another any anything app back because before \
    better branch bug build built but call called change check class code command commit config copy correct create \
    current data default delete different doc docs done each edit else error even every everything example existing \
    export fail failed feature file files find first fix folder follow full function get give go going good great handle \
    hello help here implement import improve include instead into issue just keep know last later let like line lines \
    list little load look lot main make many maybe mean method miss missing module more most much must name need never \
    new next nice no not note now number object ok old once one only open option order other out over own page part pass \
    path people person place please point possible problem program project pull push put question read ready real really refactor \
    remove rename replace repo report repository request return review right run same save say script second see set \
    should show simple since small some something soon source start step still stop string support sure table take \
    task test thank than then there these thing think those three time today tool too try turn two type under \
    until up update use used user using value variable version very via view wait want warning way well while why word \
    work working write written wrong yes yet 查看 所有 代码 文件 问题 一个 这个 那个 可以 需要 使用 修改 添加 增加 实现 功能 测试 运行 \
    错误 项目 现在 没有 什么 怎么 如何 为什 告诉 哪些 进行 必要 日志 信息 当前 刚才";

/// Whether a word, in lower case, occurs in requests on any subject.
pub(crate) fn is_general(word: &str) -> bool {
    GENERAL.split_ascii_whitespace().any(|general| general == word)
}

/// A part that results from splitting a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Piece<'t> {
    /// A word, whose inflected forms also match.
    Word(&'t str),
    /// A function word, which counts only towards the length.
    Stop(&'t str),
    /// Characters of a script without spaces, or an artificial word, either of which requires an exact match.
    Exact(String),
}

/// Calls `take` with the pieces of a [`folded`] text, in unspecified order.
pub(crate) fn pieces<'t>(folded: &'t str, mut take: impl FnMut(Piece<'t>)) {
    for chunk in folded.split_whitespace().map(trimmed).map(owned_by_none) {
        split_runs(chunk, |run| match run {
            Run::Word(word) if is_stop(word) => take(Piece::Stop(word)),
            Run::Word(word) => take(Piece::Word(word)),
            Run::Unspaced(characters) => {
                // Pairs identify words; single characters are also indexed, for one-character queries.
                pairs(characters).chain(singles(characters)).for_each(|part| take(Piece::Exact(part.to_owned())));
            }
        });
        signed_words(chunk).into_iter().for_each(|word| take(Piece::Exact(word)));
    }
}

/// A term that a query searches for.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Sought {
    /// A word, which matches in any of its forms.
    Word(String),
    /// See [`Piece::Exact`].
    Exact(String),
}

/// The terms that a query searches for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Query {
    /// The terms, without duplicates. Each term is matched separately.
    pub(crate) sought: Vec<Sought>,
    /// The words of the query in lower case, for reporting which of them a memory contains.
    pub(crate) words: Vec<String>,
    /// Function words that are names here, each with the text next to it, in lower case: `vitamin a` and `a股`. No index
    /// contains function words.
    pub(crate) phrases: Vec<String>,
}

impl Query {
    /// Interprets any text as a query; there is no query syntax.
    pub(crate) fn of(text: &str) -> Self {
        let text: String = text.chars().take(MAX_QUERY_CHARS).collect();
        let mut query = Self { phrases: phrases(&text), ..Self::default() };
        let text = folded(&text);
        let chunks = text.split_whitespace().map(trimmed).map(owned_by_none);
        let mut seen = HashSet::new();
        for chunk in chunks.filter(|chunk| !is_stop(chunk)) {
            let sought = sought_by(chunk);
            if !sought.is_empty() {
                query.words.push(chunk.to_owned());
            }
            query.sought.extend(sought.into_iter().filter(|sought| seen.insert(sought.clone())));
        }
        // Each term requires a lookup, and a pasted text may contain hundreds.
        query.sought.truncate(MAX_TERMS);
        query.words.truncate(MAX_TERMS);
        query
    }
}

/// Returns the phrases of a query; see [`Query::phrases`].
fn phrases(text: &str) -> Vec<String> {
    let words: Vec<&str> = text.split_whitespace().map(trimmed).collect();
    let lower: Vec<String> = words.iter().map(|word| folded(word)).collect();
    // In a title or in a text of capital letters, a capital letter is not significant.
    let is_title = words.len() > 2 && !words.iter().any(|word| word.starts_with(char::is_lowercase));
    let has_case = !is_title && text.contains(char::is_lowercase);
    let mut phrases = Vec::new();
    for (at, word) in words.iter().enumerate() {
        if lower[at].contains(is_unspaced) {
            phrases.extend(names_beside_unspaced(&lower[at]));
            continue;
        }
        let is_capital = has_case && lower[at] != "i" && word.chars().all(|c| c.is_ascii_uppercase());
        // A sentence may begin with `A`.
        if !is_capital || !is_stop(&lower[at]) || (at == 0 && word.len() == 1) {
            continue;
        }
        let beside = |place: Option<usize>| {
            place.and_then(|place| lower.get(place)).filter(|word| !is_stop(word) && !word.is_empty())
        };
        if let Some(before) = beside(at.checked_sub(1)) {
            phrases.push(format!("{before} {}", lower[at]));
        } else if let Some(after) = beside(Some(at + 1)) {
            phrases.push(format!("{} {after}", lower[at]));
        }
    }
    phrases.truncate(MAX_PHRASES);
    phrases
}

/// Returns the function words in a chunk that touch a character of a script without spaces, each with that character.
fn names_beside_unspaced(chunk: &str) -> Vec<String> {
    let (mut phrases, mut before) = (Vec::new(), None);
    split_runs(chunk, |run| {
        let phrase = match (before.replace(run), run) {
            (Some(Run::Word(word)), Run::Unspaced(characters)) if is_stop(word) => {
                characters.chars().next().map(|first| format!("{word}{first}"))
            }
            (Some(Run::Unspaced(characters)), Run::Word(word)) if is_stop(word) => {
                characters.chars().next_back().map(|last| format!("{last}{word}"))
            }
            _ => None,
        };
        // There may be a symbol between the two runs.
        phrases.extend(phrase.filter(|phrase| chunk.contains(phrase.as_str())));
    });
    phrases
}

/// Whether `text`, in lower case, contains `phrase` in a position where it neither begins nor ends within a word.
pub(crate) fn contains_phrase(text: &str, phrase: &str) -> bool {
    let joins = |a: Option<char>, b: Option<char>| {
        a.zip(b).is_some_and(|(a, b)| [a, b].iter().all(|c| c.is_alphanumeric() && !is_unspaced(*c)))
    };
    text.match_indices(phrase).any(|(at, _)| {
        let (before, after) = (&text[..at], &text[at + phrase.len()..]);
        !joins(before.chars().next_back(), phrase.chars().next())
            && !joins(phrase.chars().next_back(), after.chars().next())
    })
}

/// Returns the parts of a query's word that a text may contain individually: the pairs of characters of text without
/// spaces, and otherwise the whole word.
pub(crate) fn word_parts(word: &str) -> Vec<String> {
    if !word.contains(is_unspaced) {
        return vec![word.to_owned()];
    }
    let mut parts = Vec::new();
    split_runs(word, |run| match run {
        Run::Word(word) => parts.push(word.to_owned()),
        Run::Unspaced(characters) => parts.extend(pairs_or_single(characters).map(str::to_owned)),
    });
    parts
}

/// Removes a possessive ending.
fn owned_by_none(chunk: &str) -> &str {
    chunk.strip_suffix("'s").or_else(|| chunk.strip_suffix("’s")).unwrap_or(chunk)
}

/// Returns the terms for a chunk: its words and its artificial words.
fn sought_by(chunk: &str) -> Vec<Sought> {
    let signed = signed_words(chunk);
    let mut sought = Vec::new();
    split_runs(chunk, |run| match run {
        // The single letter in `c++` and function words appear in too many texts to be useful.
        Run::Word(word) if !signed.is_empty() && is_lean(word) => {}
        Run::Word(word) => sought.push(Sought::Word(word.to_owned())),
        Run::Unspaced(characters) => {
            sought.extend(pairs_or_single(characters).map(|part| Sought::Exact(part.to_owned())));
        }
    });
    sought.extend(signed.into_iter().map(Sought::Exact));
    sought
}

fn is_lean(word: &str) -> bool {
    word.chars().nth(1).is_none() || is_stop(word)
}

/// A run of characters of one kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Run<'t> {
    /// Letters and digits.
    Word(&'t str),
    /// Text without spaces.
    Unspaced(&'t str),
}

/// Calls `take` with the runs of a chunk, in order.
pub(crate) fn split_runs<'t>(chunk: &'t str, mut take: impl FnMut(Run<'t>)) {
    // This is a shortcut for nearly all words in Latin text.
    if !chunk.is_empty() && chunk.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        return take(Run::Word(chunk));
    }
    // The start of the current run, and whether it consists of text without spaces.
    let mut open: Option<(usize, bool)> = None;
    let mut end = |open: &mut Option<(usize, bool)>, at: usize| match open.take() {
        Some((from, true)) => take(Run::Unspaced(&chunk[from..at])),
        Some((from, false)) => take(Run::Word(&chunk[from..at])),
        None => {}
    };
    for (at, character) in chunk.char_indices() {
        let kind = if is_unspaced(character) {
            Some(true)
        } else if character.is_alphanumeric() {
            Some(false)
        } else if open.is_some() && is_combining_mark(character) {
            // A combining character after unspaced text begins a separate word.
            Some(false)
        } else {
            None
        };
        if open.map(|(_, unspaced)| unspaced) != kind {
            end(&mut open, at);
            open = kind.map(|unspaced| (at, unspaced));
        }
    }
    end(&mut open, chunk.len());
}

/// Returns all pairs of adjacent characters.
pub(crate) fn pairs(characters: &str) -> impl Iterator<Item = &str> {
    let (starts, seconds) = (characters.char_indices(), characters.char_indices().skip(1));
    starts.zip(seconds).map(|((from, _), (at, second))| &characters[from..at + second.len_utf8()])
}

fn singles(characters: &str) -> impl Iterator<Item = &str> {
    characters.char_indices().map(|(at, character)| &characters[at..at + character.len_utf8()])
}

/// Returns all pairs of adjacent characters, or the only character.
pub(crate) fn pairs_or_single(characters: &str) -> impl Iterator<Item = &str> {
    let single = characters.chars().nth(1).is_none().then_some(characters);
    single.into_iter().chain(pairs(characters))
}

/// Returns the artificial words for a chunk with symbols: the whole chunk, its parts that contain symbols, and its
/// emoji.
pub(crate) fn signed_words(chunk: &str) -> Vec<String> {
    let mut words = Vec::new();
    if chunk.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        return words;
    }
    let parts = chunk.split(|c: char| is_unspaced(c) || is_part_border(c)).map(trimmed);
    let unspaced = chunk.contains(is_unspaced);
    for part in (!unspaced).then_some(chunk).into_iter().chain(parts) {
        if is_signed(part) && part.chars().count() <= MAX_SIGNED_CHARS {
            let word = spelled_out(part);
            if !words.contains(&word) && words.len() < MAX_TERMS {
                words.push(word);
            }
        }
    }
    for symbol in chunk.chars().filter(|c| is_symbol(*c)) {
        let word = spelled_out(symbol.encode_utf8(&mut [0; 4]));
        if !words.contains(&word) && words.len() < MAX_TERMS {
            words.push(word);
        }
    }
    words
}

fn is_signed(part: &str) -> bool {
    let sign = |c: char| !c.is_alphanumeric() && !is_combining_mark(c);
    part.contains(sign) && part.contains(char::is_alphanumeric)
}

fn is_symbol(c: char) -> bool {
    let joiner = matches!(c, '\u{200b}'..='\u{200f}' | '\u{2060}'..='\u{2064}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}');
    let punctuation = matches!(c, '\u{80}'..='\u{bf}' | '\u{2000}'..='\u{206f}' | '\u{3000}'..='\u{303f}');
    !c.is_ascii() && !c.is_alphanumeric() && !is_combining_mark(c) && !joiner && !punctuation
}

const fn is_part_border(c: char) -> bool {
    matches!(
        c,
        '/' | ',' | ';' | ':' | '(' | ')' | '[' | ']' | '{' | '}' | '<' | '>' | '"' | '\'' | '|' | '=' | '\\' | '&'
    )
}

fn spelled_out(part: &str) -> String {
    use std::fmt::Write as _;
    // Almost no natural word has this prefix, so an artificial word does not match ordinary text.
    let mut word = String::from("zq");
    for c in part.chars() {
        if c.is_alphanumeric() || is_combining_mark(c) {
            word.push(c);
        } else {
            write!(word, "z{:x}z", u32::from(c)).expect("writing to a String cannot fail");
        }
    }
    word
}

/// Whether `word` is one of `words`, which are separated by ASCII white space.
pub(crate) fn is_listed(words: &str, word: &str) -> bool {
    let bytes = words.as_bytes();
    let is_edge = |at: Option<usize>| at.and_then(|at| bytes.get(at)).is_none_or(u8::is_ascii_whitespace);
    let is_word = !word.is_empty() && !word.contains(char::is_whitespace);
    is_word && words.match_indices(word).any(|(at, _)| is_edge(at.checked_sub(1)) && is_edge(Some(at + word.len())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listed_word_is_a_whole_word() {
        for (words, word, is_in) in [
            ("uno dos\n    tres", "dos", true),
            ("uno dos tres", "uno", true),
            ("uno dos tres", "tres", true),
            ("unos dos tres", "uno", false),
            ("uno dos tres", "uno dos", false),
            ("uno  dos", "", false),
            ("一个 一次", "一", false),
            ("papapa pa", "pa", true),
            ("", "uno", false),
        ] {
            assert_eq!(is_listed(words, word), is_in, "{word} in {words}");
        }
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

    #[test]
    fn units_are_words_and_wide_characters() {
        assert_eq!(units("Use pnpm-9, 不要npm!"), ["use", "pnpm", "9", "不", "要", "npm"]);
    }

    #[test]
    fn function_words_that_are_names_are_found_with_their_neighbours() {
        let rows: [(&str, &[&str]); 12] = [
            ("A股", &["a股"]),
            ("a股市场", &["a股"]),
            ("我买A股的IT基金", &["买a", "a股", "的it", "it基"]),
            ("维生素A", &["素a"]),
            ("vitamin A", &["vitamin a"]),
            ("Vitamin A", &["vitamin a"]),
            ("WHO guidelines", &["who guidelines"]),
            ("is A better", &["a better"]),
            ("what should I do", &[]),
            ("A list of names", &[]),
            ("How To Bake A Cake", &[]),
            ("WHO IS IT", &[]),
        ];
        for (text, expected) in rows {
            assert_eq!(phrases(text), expected, "{text}");
        }
        assert!(contains_phrase("takes vitamin a.", "vitamin a") && contains_phrase("买了a股票", "a股"));
        assert!(!contains_phrase("vitamin and salt", "vitamin a") && !contains_phrase("usa股", "a股"));
    }

    #[test]
    fn words_that_tell_little_are_in_order() {
        assert!(STOP_WORDS.is_sorted());
        assert!(STOP_WORDS.iter().all(|word| is_stop(word)) && !is_stop("deploy"));
    }
}
