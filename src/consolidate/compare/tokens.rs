//! The content words of a text, normalised so that inflected forms count as one word.

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::text::language::{Language, detect};
use crate::text::script::{Script, is_hiragana};
use crate::text::stem::{stem, without_korean_ending};
use crate::text::tokens::{Word, is_listed};

/// Returns the language of `text`, whose words are compared; `None` if no language is clearly detected.
pub(super) fn language_of(text: &str) -> Option<Language> {
    detect(text, &[Language::English, Language::Spanish, Language::German])
}

/// Splits a run of characters into the tokens that are counted: a stemmed word, a whole Katakana word, or pairs of
/// characters.
///
/// `language` is the language of the text, if it is known, and `ends` indicates that no word follows.
pub(super) fn tokens_of(word: &Word, language: Option<Language>, ends: bool, out: &mut Vec<String>) {
    let lower: String = word.text.to_lowercase();
    match word.script {
        Script::Spaced => {
            let token = stem(&lower, language.unwrap_or(Language::English));
            // `The locale is de` ends with a value, since neither an article nor a preposition ends a sentence.
            let is_value = ends && is_listed(LEADING, &lower);
            if (is_value || !is_stop_word_of(&lower, language)) && !token.is_empty() {
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
            let root = without_korean_ending(&lower);
            if !is_stop_word(&lower) && !is_stop_word(&root) {
                pairs(&root, out);
            }
        }
    }
}

/// Splits Japanese text into its Han runs, without the endings that follow them, and the longer words in Hiragana.
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

/// Removes `一` with its counter, since it means no more than `a`.
fn without_articles(run: &str) -> String {
    const COUNTERS: &str = "个只位名条件张台本家间辆份种";
    // Nearly every Chinese claim begins with "the user", which would make all of them appear similar.
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

/// Chinese characters with a grammatical function only.
fn is_glue(c: char) -> bool {
    matches!(c, '的' | '了' | '着' | '是' | '在' | '会' | '也' | '就' | '还' | '把' | '很')
}

fn pairs(part: &str, out: &mut Vec<String>) {
    let chars: Vec<char> = part.chars().collect();
    match chars.as_slice() {
        [] => {}
        // A noun of one character would otherwise produce no token at all.
        [one] => out.push(one.to_string()),
        more => out.extend(more.windows(2).map(|pair| pair.iter().collect::<String>())),
    }
}

/// Whether a word is a function word in any of the languages.
pub(in crate::consolidate) fn is_stop_word(word: &str) -> bool {
    is_stop_word_of(word, None)
}

/// Whether a word is a function word in `language`. If the language is unknown, the function words of all languages
/// count, since `de` and `en` are names of locales in an English text and prepositions in a Spanish one.
fn is_stop_word_of(word: &str, language: Option<Language>) -> bool {
    static WORDS: LazyLock<HashMap<&'static str, Vec<Language>>> = LazyLock::new(|| {
        let mut words: HashMap<&'static str, Vec<Language>> = HashMap::new();
        for (language, list) in STOP_WORDS {
            list.split_whitespace().for_each(|word| words.entry(word).or_default().push(*language));
        }
        words
    });
    WORDS.get(word).is_some_and(|languages| language.is_none_or(|language| languages.contains(&language)))
}

/// Articles, prepositions and conjunctions that do not end a sentence. German words that may end a sentence, as in
/// `kommt mit`, are not listed.
const LEADING: &str = "a an the to of in on at for by and or de del el la los las un una en y que con por para su der die das den \
    dem des eine und im am von";

/// Function words, and words for the user.
const STOP_WORDS: &[(Language, &str)] = &[
    (
        Language::English,
        "something someone a an the is are was were be been being am of to in on at for with by and or that this these those it \
         its as has have had do does did will would user user's users project project's their his her my our \
         your i he she they we you from into than so very which who where when there also uses using used use \
         sometimes occasionally now then since currently both still already too about around no possibly perhaps maybe probably",
    ),
    (
        Language::Spanish,
        "el la los las un una de del en y que es son su sus con por para al a usuario usuaria usuarios usuarias se lo le les nos \
         proyecto usa ha han está están fue era ser desde hasta muy más ya este esta estos estas a veces actualmente ahora no \
         quizá quizás posiblemente",
    ),
    (
        Language::German,
        "der die das den dem des ein eine einen einem einer und ist sind mit von zu im am auf für an bei nutzer benutzer nutzerin \
         nutzers nutzerin nutzerinnen er sie es sein seine ihr ihre seinen ihren ihrem seinem projekt hat wird zum zur nutzt \
         verwendet wurde wurden werden war waren seit bis nach aus in sehr mehr auch noch schon manchmal jetzt als wie so \
         vielleicht womöglich",
    ),
    (
        Language::Korean,
        "사용자 사용자는 사용자의 사용자가 모른다 아마 아마도 일지도 지도 이다 입니다 이었다 였다 있다 있습니다 한다 합니다 된다 있는 하는 \
         것 수 때 위해",
    ),
    (Language::Japanese, "ある いる する した して いた です ます まで から より ため こと もの ている という として"),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::tokens::words;

    fn cut(text: &str) -> Vec<String> {
        let (words, mut out) = (words(text), Vec::new());
        words.iter().for_each(|word| tokens_of(word, language_of(text), false, &mut out));
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
