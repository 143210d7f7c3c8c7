//! The content words of a text, folded so that inflected forms count as one.

use std::collections::HashSet;
use std::sync::LazyLock;

use super::text::{Script, Word};

/// The language that a text is most likely written in, among those with spaces whose endings are folded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tongue {
    English,
    Spanish,
    German,
}

/// Tells the language by its commonest small words; English where none stands out.
pub(super) fn tongue_of(words: &[Word]) -> Tongue {
    const SPANISH: &[&str] =
        &["el", "la", "los", "las", "de", "del", "en", "y", "que", "un", "una", "su", "con", "por", "es", "se", "al"];
    const GERMAN: &[&str] = &[
        "der", "die", "das", "und", "ist", "nicht", "ein", "eine", "einen", "den", "dem", "für", "mit", "von", "im",
        "wird", "des", "zu", "wohnt", "auf", "sich", "seit", "am",
    ];
    const ENGLISH: &[&str] =
        &["the", "of", "and", "is", "to", "a", "with", "for", "are", "on", "by", "at", "has", "that", "user's"];
    let spaced = words.iter().filter(|word| word.script == Script::Spaced).take(60);
    let (mut english, mut spanish, mut german) = (0, 0, 0);
    for word in spaced {
        let lower = word.text.to_lowercase();
        english += usize::from(ENGLISH.contains(&lower.as_str()));
        spanish += usize::from(SPANISH.contains(&lower.as_str()));
        german += usize::from(GERMAN.contains(&lower.as_str()));
    }
    if german > english && german >= spanish {
        Tongue::German
    } else if spanish > english {
        Tongue::Spanish
    } else {
        Tongue::English
    }
}

/// Cuts a run into the tokens that are counted: a stemmed word, a whole Katakana word, or pairs of characters.
pub(super) fn tokens_of(word: &Word, tongue: Tongue, out: &mut Vec<String>) {
    let lower: String = word.text.to_lowercase();
    match word.script {
        Script::Spaced => {
            let token = stem(&lower, tongue);
            if !is_stop_word(&lower) && !token.is_empty() {
                out.push(token);
            }
        }
        Script::Katakana => {
            if lower != "ユーザー" && lower != "ユーザ" {
                out.push(lower);
            }
        }
        Script::Han if lower.chars().any(is_hiragana) => japanese(&lower, out),
        Script::Han => without_articles(&lower).split(is_glue).for_each(|part| pairs(part, out)),
        Script::Hangul => {
            let root = without_ending(&lower);
            if !is_stop_word(&lower) && !is_stop_word(&root) {
                pairs(&root, out);
            }
        }
    }
}

fn is_hiragana(c: char) -> bool {
    matches!(c, '\u{3040}'..='\u{309F}')
}

/// Cuts Japanese into its Han stretches, without the endings that follow them, and the longer words in Hiragana.
fn japanese(run: &str, out: &mut Vec<String>) {
    for part in run.split(is_particle) {
        let (mut stretch, mut kana) = (String::new(), String::new());
        for c in part.chars() {
            if is_hiragana(c) {
                kana.push(c);
            } else {
                if !kana.is_empty() && !stretch.is_empty() {
                    pairs(&std::mem::take(&mut stretch), out);
                }
                kana.clear();
                stretch.push(c);
            }
        }
        if stretch.is_empty() {
            if kana.chars().count() >= 2 && !is_stop_word(&kana) {
                out.push(kana);
            }
        } else {
            pairs(&stretch, out);
        }
    }
}

/// Takes out `一` with its counter, which says no more than `a` does.
fn without_articles(run: &str) -> String {
    const COUNTERS: &str = "个只位名条件张台本家间辆份种";
    let mut out = run.replace("用户", "的");
    while let Some((at, counter)) = out.match_indices('一').find_map(|(at, one)| {
        let counter = out[at + one.len()..].chars().next().filter(|next| COUNTERS.contains(*next))?;
        Some((at, counter))
    }) {
        out.replace_range(at..at + '一'.len_utf8() + counter.len_utf8(), "的");
    }
    out
}

fn is_particle(c: char) -> bool {
    matches!(c, 'は' | 'が' | 'を' | 'の' | 'に' | 'で' | 'と' | 'も' | 'へ')
}

/// Characters of Chinese that carry grammar, not matter.
fn is_glue(c: char) -> bool {
    matches!(c, '的' | '了' | '着' | '是' | '在' | '会' | '也' | '就' | '还' | '把' | '很')
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
const HANGUL_ENDINGS: &str = "했습니다 하였습니다 됩니다 합니다 입니다 습니다 하고있다 에서는 으로는 까지는 하였다 했다 한다 하다 된다 되다 였다 \
    해요 하는 하고 해서 하며 에서 으로 에게 이다 까지 부터 마다 처럼 보다 이며 이고 는다 었다 았다 니다 지 은 는 이 가 을 를 에 의 로 와 과 도 만 다 고 째";

fn without_ending(word: &str) -> String {
    const OF_SHORT_VERBS: &[&str] = &["습니다", "는다", "었다", "았다", "지"];
    let least = |ending: &str| if OF_SHORT_VERBS.contains(&ending) { 1 } else { 2 };
    let cut = HANGUL_ENDINGS
        .split_whitespace()
        .find_map(|ending| word.strip_suffix(ending).filter(|rest| rest.chars().count() >= least(ending)));
    let Some(root) = cut else { return word.to_owned() };
    if word.ends_with('다') { open_syllable(root) } else { root.to_owned() }
}

/// Takes the tense off the last syllable of a verb, as in `마신` of `마신다`.
fn open_syllable(root: &str) -> String {
    const FIRST: u32 = 0xAC00;
    const FINALS: u32 = 28;
    let Some(last) = root.chars().next_back() else { return String::new() };
    let final_sound = u32::from(last).checked_sub(FIRST).map_or(0, |at| at % FINALS);
    let open = matches!(final_sound, 4 | 17 | 20).then(|| char::from_u32(u32::from(last) - final_sound)).flatten();
    let mut out = root.to_owned();
    if let Some(open) = open {
        out.pop();
        out.push(open);
    }
    out
}

/// Folds the commonest endings, so that `uses`, `using` and `used` count as one word.
fn stem(word: &str, tongue: Tongue) -> String {
    let plain = word.trim_end_matches("'s").trim_end_matches('\'');
    if plain.len() < 4 || !plain.chars().all(|c| c.is_lowercase() && (c.is_ascii() || c < '\u{250}')) {
        return plain.to_owned();
    }
    match tongue {
        Tongue::English => english_stem(plain),
        Tongue::Spanish => folded(
            plain,
            &[
                "aciones", "ación", "mente", "ados", "adas", "ado", "ada", "ando", "aban", "aba", "idos", "idas",
                "ido", "ida", "iendo", "aron", "ieron", "ar", "er", "ir", "an", "en", "os", "as", "es", "o", "a", "e",
                "s", "n",
            ],
        ),
        Tongue::German => {
            folded(plain, &["ungen", "ung", "ern", "em", "en", "er", "es", "et", "te", "ten", "st", "e", "s", "n", "t"])
        }
    }
}

fn english_stem(plain: &str) -> String {
    if !plain.is_ascii() {
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

/// Cuts the first ending that leaves a root of four letters, and writes the root without accents.
fn folded(plain: &str, endings: &[&str]) -> String {
    let cut = endings
        .iter()
        .find_map(|ending| plain.strip_suffix(ending).filter(|rest| rest.chars().count() >= 4))
        .unwrap_or(plain);
    cut.chars().map(unaccented).collect()
}

const fn unaccented(c: char) -> char {
    match c {
        'á' | 'à' | 'â' | 'ä' => 'a',
        'é' | 'è' | 'ê' | 'ë' => 'e',
        'í' | 'ì' | 'î' | 'ï' => 'i',
        'ó' | 'ò' | 'ô' | 'ö' => 'o',
        'ú' | 'ù' | 'û' | 'ü' => 'u',
        _ => c,
    }
}

pub(super) fn is_stop_word(word: &str) -> bool {
    static WORDS: LazyLock<HashSet<&'static str>> = LazyLock::new(|| STOP_WORDS.split_whitespace().collect());
    WORDS.contains(word)
}

/// Words that carry grammar, or name the person whom all is about, in the languages written with spaces.
const STOP_WORDS: &str = "something someone a an the is are was were be been being am of to in on at for with by and or that this these those it \
    its as has have had do does did will would user user's users project project's their his her my our \
    your i he she they we you from into than so very which who where when there also uses using used use \
    el la los las un una de del en y que es son su sus con por para al usuario usuaria se lo le proyecto \
    usa der die das den dem des ein eine einen einem einer und ist sind mit von zu im am auf für an bei \
    nutzer benutzer nutzerin er sie es sein ihr projekt hat wird zum zur nutzt verwendet 사용자 사용자는 사용자의 사용자가 \
    sometimes occasionally now then since currently both still already too about around been being no \
    usuaria usuarios nos les le ha han está están fue era ser desde hasta muy más ya este esta estos estas \
    a veces actualmente ahora desde usuario's nutzers nutzerin nutzerinnen seine ihre seinen ihren ihrem seinem \
    wurde wurden werden war waren seit bis nach bei aus sehr mehr auch noch schon manchmal jetzt als wie \
    possibly perhaps maybe probably vielleicht womöglich quizá quizás posiblemente 모른다 아마 아마도 일지도 지도 \
    이다 입니다 이었다 였다 있다 있습니다 한다 합니다 된다 있는 하는 것 수 때 위해 \
    ある いる する した して いた です ます まで から より ため こと もの ている という として";

#[cfg(test)]
mod tests {
    use super::super::text::words;
    use super::*;

    fn cut(text: &str) -> Vec<String> {
        let (words, mut out) = (words(text), Vec::new());
        words.iter().for_each(|word| tokens_of(word, tongue_of(&words), &mut out));
        out
    }

    #[test]
    fn tokens_fold_inflection_and_cut_scripts_without_spaces() {
        let rows = [
            ("The user prefers running tests", "prefer run test"),
            ("Las usuarias prefieren reuniones cortas", "La usuaria prefiere una reunión corta"),
            ("Der Nutzer löscht alte Dateien", "Dem Nutzer wird die alte Datei gelöscht"),
            ("用户住在柏林", "住 柏林"),
            ("ユーザーはテストを書く", "テストを書いている"),
            ("ユーザーはそばを食べる", "そばを食べた"),
            ("커피를 좋아합니다", "커피 좋아한다"),
        ];
        for (a, b) in rows.iter().take(1).chain(rows.iter().skip(3)) {
            assert_eq!(cut(a), cut(b), "{a}");
        }
        assert_eq!(cut("Los servidores caros y los discos"), cut("El servidor caro y el disco"));
        assert_eq!(cut("Die Dateien und die Häuser"), cut("Die Datei und das Haus"));
    }
}
