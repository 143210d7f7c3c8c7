//! Finds names in a claim that appear in no message.
//!
//! Only unmistakable names are checked: a given name, a capitalised word within an English or Spanish sentence, or a
//! Chinese, Japanese or Korean name next to a word that marks it as one. A word is accepted if it could be another form
//! of a word that was said, or if it needs no source.

use std::collections::HashSet;
use std::sync::LazyLock;

use regex::Regex;
use strsim::osa_distance;

use crate::text::language::{Language, READ, detect};
use crate::text::normalise::folded;
use crate::text::script::{is_latin, is_wide};
use crate::text::tokens::is_listed;

static GIVEN: LazyLock<HashSet<&'static str>> =
    LazyLock::new(|| include_str!("given.txt").split_whitespace().collect());

static CHINESE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(concat!(
        r"(?:^|[，。；、：！？“「\s和与跟给让由])(?P<name>(?:[王李张刘陈杨赵吴徐孙朱胡郭罗梁宋郑谢韩唐冯董萧曹袁邓傅沈彭吕苏卢蒋蔡贾丁魏薛阎潘杜戴汪姜廖邹熊秦邱]\p{Han}{1,2}?|[小老阿]\p{Han}))",
        r"(?:喜欢|不喜欢|住在|负责|表示|认为|希望|讨厌|想要|说|对.{1,6}过敏|的(?:妻子|丈夫|妈妈|爸爸|母亲|父亲|女儿|儿子|生日|同事|老板))",
    ))
    .expect("the pattern is constant and a test compiles it")
});
static HONORIFIC: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?P<ja>[\p{Han}\p{Katakana}ー]{1,6}?)(?:さん|ちゃん|くん|様)|(?P<ko>\p{Hangul}{2,4})\s?(?:씨|님)(?:[은는이가의을를도께]|\s|$)")
        .expect("the pattern is constant and a test compiles it")
});

/// A path or the name of a file.
static FILE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^(?:[\w.-]+/)+[\w-]+\.[a-z]{1,4}$|^[\w-]+\.(?:rs|py|ts|tsx|js|go|md|toml|json|yaml|yml|sh|sql|lock)$")
        .expect("the pattern is constant and a test compiles it")
});
/// Minimum length of a word between backticks that has to be known; shorter ones are flags and signs.
const MIN_CODE_CHARS: usize = 4;

/// The texts from which the names of a claim may be taken.
#[derive(Debug, Default)]
pub(super) struct Names {
    /// All texts, folded, one per line.
    text: String,
    words: HashSet<String>,
}

impl Names {
    /// Adds `text`, which may mention somebody or something by name.
    pub(super) fn add(&mut self, text: &str) {
        let folded = searchable(text);
        self.words
            .extend(folded.split(|c: char| !c.is_alphanumeric()).filter(|word| word.len() > 1).map(str::to_owned));
        self.text.push_str(&folded);
        self.text.push('\n');
    }

    /// Returns a name in the sentence `content` that has no source. `quote` shows the script of the conversation.
    pub(super) fn foreign<'t>(&self, content: &'t str, quote: &str) -> Option<&'t str> {
        // A name is spelled differently in another writing system.
        if quote.chars().any(|c| c.is_alphabetic() && !is_latin(c))
            != content.chars().any(|c| c.is_alphabetic() && !is_latin(c))
        {
            return None;
        }
        if content.chars().any(is_wide) {
            return self.foreign_wide(content).or_else(|| self.foreign_given(content));
        }
        if content.chars().any(|c| c.is_alphabetic() && !is_latin(c)) {
            return None;
        }
        self.foreign_given(content).or_else(|| {
            let foreign = capitalised(content).into_iter().find(|word| !self.is_known(word));
            // Detecting a language takes longer than looking for a name, and most claims have no foreign one.
            foreign.filter(|_| !is_german(content, quote))
        })
    }

    /// Returns a given name in `text` that has no source. The text may be just a heading.
    pub(super) fn foreign_given<'t>(&self, text: &'t str) -> Option<&'t str> {
        words(text).map(|(_, word)| word).find(|word| {
            word.starts_with(char::is_uppercase) && GIVEN.contains(fold_case(word).as_str()) && !self.is_known(word)
        })
    }

    /// Returns the first file, path or command in `text` that no source contains: a word between backticks, or a word
    /// with a slash or with a point before a file extension. A part of a known path is known.
    pub(super) fn foreign_code<'t>(&self, text: &'t str) -> Option<&'t str> {
        let is_known = |word: &str| {
            let word = searchable(word);
            let last = word.rsplit('/').find(|part| !part.is_empty()).unwrap_or(&word);
            let stem = last.trim_matches(|c: char| !c.is_alphanumeric());
            stem.chars().count() < MIN_CODE_CHARS
                || self.text.contains(stem)
                || self.words.iter().any(|said| is_form(stem, said, false))
        };
        let between = text.split('`').skip(1).step_by(2).flat_map(str::split_whitespace);
        let paths = text.split_whitespace().map(|word| word.trim_matches(|c: char| !c.is_alphanumeric()));
        let paths = paths.filter(|word| FILE.is_match(word));
        between.chain(paths).find(|word| !is_known(word))
    }

    fn foreign_wide<'t>(&self, content: &'t str) -> Option<&'t str> {
        let is_unknown = |name: &str| {
            let letters: Vec<char> = searchable(name).chars().collect();
            let has = |part: &[char]| self.text.contains(&part.iter().collect::<String>());
            match letters[..] {
                ['小' | '老' | '阿', rest] => !has(&[rest]),
                _ => !(letters.windows(2).any(has) || letters.len() == 1 && has(&letters)),
            }
        };
        let chinese = CHINESE.captures_iter(content).filter_map(|found| found.name("name"));
        let honoured = HONORIFIC.captures_iter(content).filter_map(|found| found.name("ja").or(found.name("ko")));
        // 皆さん and similar words are not names.
        let is_nobody =
            |name: &str| is_listed("皆 お客 奥 お母 お父 小时 小组 老师 老板 老人 小孩 고객 선생 사용자", name);
        chinese.chain(honoured).map(|found| found.as_str()).find(|name| !is_nobody(name) && is_unknown(name))
    }

    fn is_known(&self, word: &str) -> bool {
        let name = fold_case(word);
        // "Ana's" and, in German or after a typing error, "Anas" are forms of a name that was said.
        let stem = name.strip_suffix("'s").or_else(|| name.strip_suffix('s')).unwrap_or(&name);
        let is_given = GIVEN.contains(name.as_str());
        // The text is searched rather than its words, because a name may be part of a word, as in `PostgreSQL` or an
        // address.
        if self.text.contains(stem) || !is_given && (is_common(word, &name) || is_common(word, stem)) {
            return true;
        }
        let hints = |table: &str| {
            let pairs = table.split(' ').filter_map(|pair| pair.split_once('='));
            let mut pairs = pairs.flat_map(|(one, two)| [(one, two), (two, one)]);
            pairs.any(|(hint, full)| (full == stem || full == name) && self.words.contains(hint))
        };
        hints(NICKNAMES) || hints(TOOLS) || self.words.iter().any(|said| is_form(stem, said, is_given))
    }
}

/// Whether a claim is in German, which capitalises every noun.
fn is_german(content: &str, quote: &str) -> bool {
    // "Die" and "an" are English words, too, so the language of a short sentence may be undecided.
    const ARTICLES: &str = "der die das dem den ein eine einen einem im am zum zur ist sind wird werden";
    let both = format!("{content} {quote}");
    [content, quote, &both].iter().any(|text| detect(text, READ) == Some(Language::German))
        || detect(content, READ).is_none() && words(content).any(|(_, word)| is_listed(ARTICLES, &fold_case(word)))
}

/// Whether `said` is a different form of the word, or the word with a typing error.
fn is_form(name: &str, said: &str, is_given: bool) -> bool {
    let (length, other) = (name.chars().count(), said.chars().count());
    let shared = name.chars().zip(said.chars()).take_while(|(one, two)| one == two).count();
    if is_given {
        // Short forms share the beginning of the full name, as "Kris" and "Kristina" do.
        return shared >= 3 && shared * 3 >= length.min(other) * 2 || length >= 5 && osa_distance(name, said) <= 1;
    }
    let slips = if length >= 7 { 2 } else { usize::from(length >= 4) };
    shared >= 4 && shared * 5 >= length.min(other) * 3 || other + 2 >= length && osa_distance(name, said) <= slips
}

/// Returns the words with a capital that are not at the start of a sentence.
fn capitalised(content: &str) -> Vec<&str> {
    let mut is_start = true;
    let mut end = 0;
    let mut found = Vec::new();
    for (at, word) in words(content) {
        let between = &content[end..at];
        is_start |= between.contains([
            '.', '!', '?', ':', ';', '\n', '"', '“', '”', '«', '(', '‘', '\'', '/', '`', '…', '—', '–', '_', '#', '@',
        ]);
        end = at + word.len();
        // The first word of a sentence is capitalised anyway, and acronyms are often written out in the log.
        if !is_start && word.starts_with(char::is_uppercase) && word.chars().count() > 2 && !is_acronym(word) {
            found.push(word);
        }
        is_start = false;
    }
    found
}

fn is_acronym(word: &str) -> bool {
    let capitals = word.chars().filter(|c| c.is_uppercase() || c.is_numeric()).count();
    capitals == word.chars().count() || capitals >= 2 && word.chars().count() <= 5
}

fn words(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut from = 0;
    std::iter::from_fn(move || {
        let start = from + text[from..].find(|c: char| c.is_alphanumeric() && !is_wide(c))?;
        let is_end = |c: char| !(c.is_alphanumeric() && !is_wide(c) || matches!(c, '\'' | '’'));
        from = text[start..].find(is_end).map_or(text.len(), |length| start + length);
        Some((start, text[start..from].trim_end_matches(['\'', '’'])))
    })
}

fn fold_case(word: &str) -> String {
    word.replace('’', "'").to_lowercase()
}

fn searchable(text: &str) -> String {
    folded(text).replace('’', "'")
}

/// Given names and their common short forms.
const NICKNAMES: &str = "bob=robert rob=robert bill=william will=william mike=michael tom=thomas liz=elizabeth beth=elizabeth \
     kate=katherine kate=catherine jim=james joe=joseph dick=richard rick=richard tony=anthony jack=john \
     peggy=margaret ted=edward sepp=josef pepe=josé paco=francisco hans=johannes harry=henry steve=stephen";

/// Words that imply a tool, and the name of the tool.
const TOOLS: &str = "k8s=kubernetes kubectl=kubernetes helm=kubernetes rs=rust cargo=rust rustc=rust py=python pip=python \
     pytest=python js=javascript ts=typescript tsx=typescript npm=node npm=javascript pg=postgresql pg=postgres \
     psql=postgresql gh=github vscode=visual vscode=studio vscode=code tf=terraform gcp=google aws=amazon nyc=york \
     sf=francisco la=angeles rb=ruby golang=go kt=kotlin swiftui=swift jvm=java dockerfile=docker \
     tailwindcss=tailwind gha=github gha=actions ci=actions mac=macos osx=macos bday=birthday xmas=christmas \
     uk=britain us=states usa=states us=america usa=america";

const COMMON: &str = include_str!("common.txt");

/// Whether a capitalised word needs no source: a day, a language, a country, an abbreviation.
fn is_common(word: &str, folded: &str) -> bool {
    let is_of_a_place = ["ish", "ese", "ian", "ians", "ism", "ist"].iter().any(|ending| folded.ends_with(ending));
    is_listed(COMMON, folded)
        || is_of_a_place && word.chars().count() > 5
        // The word is an identifier, since a person's name has only one capital.
        || word.chars().skip(1).any(|c| c.is_numeric() || c == '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_and_commands_need_a_source() {
        let mut names = Names::default();
        names.add("Run make lint before you touch crates/store/src/a.rs; `pnpm test` and config.yaml are fine.");
        for known in ["`make lint`", "Edit src/a.rs.", "`pnpm test --run`", "config.yaml", "`a.rs`", "Use tabs/spaces."]
        {
            assert_eq!(names.foreign_code(known), None, "{known}");
        }
        for (text, foreign) in [
            ("Run `make clean` first.", "clean"),
            ("Edit src/other.rs.", "src/other.rs"),
            ("`yarn test`", "yarn"),
            ("It is in settings.toml.", "settings.toml"),
        ] {
            assert_eq!(names.foreign_code(text), Some(foreign), "{text}");
        }
    }

    #[test]
    fn given_names_are_lower_case_and_distinct() {
        let names: Vec<&str> = include_str!("given.txt").split_whitespace().collect();
        assert!(names.len() > 400 && names.iter().all(|name| name.to_lowercase() == *name));
        assert_eq!(GIVEN.len(), names.len());
    }

    #[test]
    fn a_name_needs_a_source_and_a_word_does_not() {
        let mut names = Names::default();
        names.add("my sister Kristina uses k8s and postgres at Hetznr, see main.rs; she speaks german");
        for known in [
            "The user's sister Kristina lives there.",
            "The sister runs Kubernetes.",
            "She uses PostgreSQL at Hetzner.",
            "The code is in Rust.",
            "She speaks German on Monday in March.",
            "Kristina's sister likes it.",
        ] {
            assert_eq!(names.foreign(known, "my sister"), None, "{known}");
        }
        for noun in ["Die Gruppe fängt freitags um halb acht an.", "Die Firma macht um acht auf."] {
            assert_eq!(names.foreign(noun, "Freitags fangen wir um halb acht an."), None, "{noun}");
        }
        for (made_up, name) in [
            ("The user's sister Martina lives there.", "Martina"),
            ("The sister moved to Lisbon.", "Lisbon"),
            ("John likes tea.", "John"),
            ("The team uses Nomad.", "Nomad"),
            ("Björn moved to Malmö.", "Björn"),
        ] {
            assert_eq!(names.foreign(made_up, "my sister"), Some(name), "{made_up}");
        }
    }
}
