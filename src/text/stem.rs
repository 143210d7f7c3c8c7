//! Stemming, which makes the inflected forms of a word count as the same word.

use std::borrow::Cow;

use rust_stemmers::Algorithm;
use unicode_normalization::char::decompose_canonical;

use super::language::Language;

/// Returns the Snowball stemmer for a language, if there is one.
pub(crate) const fn snowball(language: Language) -> Option<Algorithm> {
    Some(match language {
        Language::English => Algorithm::English,
        Language::German => Algorithm::German,
        Language::Spanish => Algorithm::Spanish,
        Language::French => Algorithm::French,
        Language::Italian => Algorithm::Italian,
        Language::Portuguese => Algorithm::Portuguese,
        Language::Dutch => Algorithm::Dutch,
        Language::Swedish => Algorithm::Swedish,
        Language::Russian => Algorithm::Russian,
        Language::Chinese | Language::Japanese | Language::Korean => return None,
    })
}

/// Removes the most common endings, so that `uses`, `using` and `used` count as one word.
pub(crate) fn stem(word: &str, language: Language) -> String {
    // Shorter words, code and other scripts have no ending that could be removed safely.
    let plain = word.trim_end_matches("'s").trim_end_matches('\'');
    if plain.len() < 4 || !plain.chars().all(|c| c.is_lowercase() && (c.is_ascii() || c < '\u{250}')) {
        return plain.to_owned();
    }
    match language {
        Language::English => english_stem(plain),
        Language::Spanish => folded(
            plain,
            &[
                "aciones", "ación", "mente", "ados", "adas", "ado", "ada", "ando", "aban", "aba", "idos", "idas",
                "ido", "ida", "iendo", "aron", "ieron", "ar", "er", "ir", "an", "en", "os", "as", "es", "o", "a", "e",
                "s", "n",
            ],
        ),
        Language::German => {
            folded(plain, &["ungen", "ung", "ern", "em", "en", "er", "es", "et", "te", "ten", "st", "e", "s", "n", "t"])
        }
        _ => plain.to_owned(),
    }
}

fn english_stem(plain: &str) -> String {
    if !plain.is_ascii() {
        return plain.to_owned();
    }
    // The final `e` is also removed, because it is missing before `ing` and `ed`. The last `s` in `class` is not a
    // plural ending.
    let cut = ["ings", "ing", "edly", "ied", "ies", "ed", "es", "s", "e"]
        .iter()
        .find_map(|ending| plain.strip_suffix(ending).filter(|rest| rest.len() >= 3 && !plain.ends_with("ss")))
        .unwrap_or(plain);
    let mut root = cut.to_owned();
    let bytes = root.as_bytes();
    // Removing one letter makes `running` equal to `run`, and `stopped` to `stop`. `call` and `calls` also lose a
    // letter.
    if bytes.len() >= 4 && bytes[bytes.len() - 1] == bytes[bytes.len() - 2] {
        root.pop();
    }
    // `studies` and `studied` lose the `i` with the ending, so `study` must lose its `y`.
    if root.ends_with('y') || root.ends_with('i') {
        root.pop();
    }
    root
}

/// Removes the first ending that leaves a root of four letters, and returns the root without accents.
fn folded(plain: &str, endings: &[&str]) -> String {
    let cut = endings
        .iter()
        .find_map(|ending| plain.strip_suffix(ending).filter(|rest| rest.chars().count() >= 4))
        .unwrap_or(plain);
    self::plain(cut).into_owned()
}

/// Endings that are removed from English words, the longest first.
const ENDINGS: &[&str] =
    &["ations", "ation", "ments", "ment", "ings", "ing", "edly", "ied", "ies", "ed", "es", "ly", "s", "e"];
/// Minimum number of letters that must remain when an ending is removed.
// With fewer letters, unrelated words would become equal.
const MIN_ROOT: usize = 3;

/// Removes the accents from Latin letters.
pub(crate) fn plain(word: &str) -> Cow<'_, str> {
    if word.is_ascii() {
        return Cow::Borrowed(word);
    }
    let base = |c: char| {
        let mut base = None;
        // Canonical decomposition returns the base letter first, followed by its marks.
        decompose_canonical(c, |part| base = base.or(Some(part)));
        // Only Latin letters are changed, because a Hangul syllable would otherwise be reduced to its first sound.
        base.filter(char::is_ascii_alphabetic).unwrap_or(c)
    };
    Cow::Owned(word.chars().map(base).collect())
}

/// Removes one ending from an English word, and a doubled letter before it.
pub(crate) fn root(word: &str) -> &str {
    if !word.bytes().all(|byte| byte.is_ascii_lowercase()) {
        return word;
    }
    let cut = ENDINGS.iter().filter(|_| !word.ends_with("ss"));
    let root = cut.filter_map(|ending| word.strip_suffix(ending)).find(|root| root.len() >= MIN_ROOT).unwrap_or(word);
    match root.as_bytes() {
        [.., a, b] if a == b && root.len() > MIN_ROOT => &root[..root.len() - 1],
        [.., b'y' | b'i'] if root.len() > MIN_ROOT => &root[..root.len() - 1],
        _ => root,
    }
}

/// Endings and particles of Korean, longest first.
const HANGUL_ENDINGS: &str = "했습니다 하였습니다 됩니다 합니다 입니다 습니다 하고있다 에서는 으로는 까지는 하였다 했다 한다 하다 된다 되다 였다 \
    해요 하는 하고 해서 하며 에서 으로 에게 이다 까지 부터 마다 처럼 보다 이며 이고 는다 었다 았다 니다 지 은 는 이 가 을 를 에 의 로 와 과 도 만 다 고 째";

pub(crate) fn without_korean_ending(word: &str) -> String {
    // Verbs such as `먹다` have a stem of one syllable. For nouns, a single remaining syllable is usually an error.
    const OF_SHORT_VERBS: &[&str] = &["습니다", "는다", "었다", "았다", "지"];
    let least = |ending: &str| if OF_SHORT_VERBS.contains(&ending) { 1 } else { 2 };
    let cut = HANGUL_ENDINGS
        .split_whitespace()
        .find_map(|ending| word.strip_suffix(ending).filter(|rest| rest.chars().count() >= least(ending)));
    let Some(root) = cut else { return word.to_owned() };
    if word.ends_with('다') { open_syllable(root) } else { root.to_owned() }
}

/// Removes the tense from the last syllable of a verb, as in `마신` from `마신다`.
fn open_syllable(root: &str) -> String {
    // Unicode orders Hangul syllables by their initial sounds. For each initial sound and vowel, there is one syllable
    // without a final consonant and 27 with one.
    const FIRST: u32 = 0xAC00;
    const FINALS: u32 = 28;
    let Some(last) = root.chars().next_back() else { return String::new() };
    let final_sound = u32::from(last).checked_sub(FIRST).map_or(0, |at| at % FINALS);
    // Syllables are encoded by their sounds. These three final consonants, ㄴ, ㅂ and ㅆ, express tense or politeness.
    let open = matches!(final_sound, 4 | 17 | 20).then(|| char::from_u32(u32::from(last) - final_sound)).flatten();
    let mut out = root.to_owned();
    if let Some(open) = open {
        out.pop();
        out.push(open);
    }
    out
}
