//! Products and settings with known names, each with the attribute whose value it is.

use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, MatchKind};
use regex::Regex;
use serde::Deserialize;

use crate::text::pattern_set::Anywhere;
use crate::text::tokens::is_listed;

/// How strictly the case of a name is compared.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Spelling {
    /// Case is ignored.
    Any,
    /// The capitals must match the table, since the lower-case word is a common word.
    Exact,
}

/// The names in `product.toml`, and words that are not names.
#[derive(Deserialize)]
struct Products {
    /// The attribute, its names in any case, and its names with exactly these capitals.
    attributes: Vec<(String, String, String)>,
    /// Words for an attribute at the end of a phrase, and the attribute.
    nouns: Vec<(Anywhere, String)>,
    elsewhere: String,
    pronouns: String,
    feelings: String,
    people: String,
    states: String,
}

static PRODUCTS: LazyLock<Products> =
    LazyLock::new(|| toml::from_str(include_str!("product.toml")).expect("the table is a constant"));

/// Attributes of a person rather than of a project.
const PERSONAL: &[&str] = &["editor", "os", "shell", "theme", "timezone"];

/// A known name in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Named {
    /// The attribute that has the name as its value, such as `database`.
    pub(super) attribute: &'static str,
    /// The usual spelling of the name, with the version that follows it in the text.
    pub(super) value: String,
    /// The position of the name in the text.
    pub(super) at: usize,
}

struct Name {
    text: &'static str,
    canonical: &'static str,
    attribute: &'static str,
    spelling: Spelling,
}

struct Table {
    names: Vec<Name>,
    finder: AhoCorasick,
}

static TABLE: LazyLock<Table> = LazyLock::new(|| {
    let mut names = Vec::new();
    for (attribute, any, exact) in &PRODUCTS.attributes {
        for (entries, spelling) in [(any, Spelling::Any), (exact, Spelling::Exact)] {
            for entry in entries.split('|').filter(|entry| !entry.is_empty()) {
                let canonical = entry.split('=').next().unwrap_or(entry);
                names.extend(entry.split('=').map(|text| Name { text, canonical, attribute, spelling }));
            }
        }
    }
    let finder = AhoCorasick::builder()
        .ascii_case_insensitive(true)
        .match_kind(MatchKind::LeftmostLongest)
        .build(names.iter().map(|name| name.text))
        .expect("the names are a short list of constants");
    Table { names, finder }
});

/// Returns the known names in `text`, in order.
pub(super) fn named(text: &str) -> Vec<Named> {
    let table = &*TABLE;
    let found = table.finder.find_iter(text).filter_map(|found| {
        let name = &table.names[found.pattern().as_usize()];
        let spelled = &text[found.range()];
        let exact = name.spelling == Spelling::Any || spelled == name.text;
        (exact && stands_alone(text, found.start(), found.end())).then(|| Named {
            attribute: name.attribute,
            value: format!("{}{}", name.canonical, version(&text[found.end()..])),
            at: found.start(),
        })
    });
    found.collect()
}

fn stands_alone(text: &str, start: usize, end: usize) -> bool {
    let joins = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '/' | '@');
    let before = text[..start].chars().next_back();
    let mut after = text[end..].chars();
    let next = after.next();
    // `go.mod` does not name Go, and `react-router` does not name React.
    let dotted = matches!(next, Some('.' | '-' | '+' | '#')) && after.next().is_some_and(|c| c.is_ascii_alphanumeric());
    !before.is_some_and(|c| joins(c) || matches!(c, '-' | '.'))
        && !next.is_some_and(|c| joins(c) || matches!(c, '\'' | '’' | '<'))
        && !dotted
}

/// Returns the version number that `rest` begins with, with its space, or an empty string.
fn version(rest: &str) -> &str {
    static VERSION: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"^ v?\d{1,4}(?:\.\d{1,4}){0,3}\b").expect("the pattern is a constant"));
    // In `Rust 90%` and `Go 10:30`, the number is not a version.
    let end = VERSION.find(rest).map_or(0, |found| found.end());
    if rest[end..].starts_with(['%', '0', ':']) { "" } else { &rest[..end] }
}

/// Returns the attribute that the last words of `text` name, such as `deploy_target` for "our deploy target".
pub(super) fn attribute(text: &str) -> Option<&'static str> {
    let text = text.trim_end();
    let ends = |pattern: &Regex| pattern.find_iter(text).last().is_some_and(|found| found.end() == text.len());
    PRODUCTS.nouns.iter().find(|(pattern, _)| ends(pattern)).map(|(_, attribute)| attribute.as_str())
}

/// Whether `value` may be a value of `attribute`, although it is not a known name.
///
/// If most values of the attribute are known names, any other value must at least look like a name.
pub(super) fn is_plausible(attribute: &str, value: &str) -> bool {
    let listed = PRODUCTS.attributes.iter().any(|(name, ..)| name == attribute);
    let words = value.split(' ').count();
    let first = value.split(' ').next().unwrap_or("");
    let name = !value.is_ascii() || value.starts_with(|c: char| c.is_uppercase() || c.is_ascii_digit() || c == '`');
    let state =
        is_listed(&PRODUCTS.states, first) || (first.len() > 3 && (first.ends_with("ed") || first.ends_with("ing")));
    words <= 6 && !state && (!listed || name)
}

/// Whether `what` begins with the name of something that does not belong to the user.
pub(super) fn is_elsewhere(what: &str) -> bool {
    let first = what.split([' ', '\'', '’']).next().unwrap_or("");
    let capital = first.starts_with(char::is_uppercase);
    is_listed(&PRODUCTS.elsewhere, first) || (capital && named(what).first().is_some_and(|named| named.at == 0))
}

/// Whether `what` may be the name of the user's own project, or of a part of it: "Marlin", "Marlin's staging".
pub(super) fn is_project(what: &str) -> bool {
    let first = what.split([' ', '\'', '’']).next().unwrap_or("");
    let long = first.chars().count() >= 3 && first.starts_with(char::is_uppercase);
    long && !is_listed(&PRODUCTS.pronouns, first) && !is_elsewhere(what) && !is_people(first)
}

/// Whether `value` can be a person's name after "I'm".
pub(super) fn is_name(value: &str) -> bool {
    let first = value.split(' ').next().unwrap_or("");
    !is_people(first)
        && !is_listed(&PRODUCTS.feelings, first)
        && !is_listed(&PRODUCTS.pronouns, first)
        && !is_elsewhere(value)
}

/// Whether `word` says where somebody is from, or what they believe in.
fn is_people(word: &str) -> bool {
    is_listed(&PRODUCTS.people, word)
}

/// Whether `attribute` belongs to the person rather than to the project.
pub(super) fn is_personal(attribute: &str) -> bool {
    PERSONAL.contains(&attribute)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn pairs(text: &str) -> Vec<(&'static str, String)> {
        named(text).into_iter().map(|named| (named.attribute, named.value)).collect()
    }

    #[test]
    fn names_are_found_in_any_capitals_with_their_version() {
        assert_eq!(
            pairs("postgres 16 on fly.io, with nextjs"),
            [
                ("database", "PostgreSQL 16".to_owned()),
                ("deploy_target", "Fly.io".to_owned()),
                ("framework", "Next.js".to_owned())
            ]
        );
    }

    #[test]
    fn everyday_words_and_parts_of_words_are_no_names() {
        assert_eq!(pairs("I go and express a swift reaction to rusty cursors; render it in src/vim.rs"), []);
    }

    #[test]
    fn every_name_finds_itself_and_stands_once() {
        let mut seen = BTreeSet::new();
        for name in &TABLE.names {
            assert_eq!(pairs(name.text), [(name.attribute, name.canonical.to_owned())], "{}", name.text);
            let fresh = seen.insert(name.text.to_lowercase());
            assert!(fresh || name.spelling == Spelling::Exact, "{} stands twice", name.text);
        }
    }

    #[test]
    fn unknown_values_must_look_like_one() {
        assert!(is_plausible("default_branch", "trunk") && is_plausible("database", "FooDB"));
        assert!(!is_plausible("database", "slow") && !is_plausible("minimum_version", "bumped to 1.49"));
    }

    #[test]
    fn nouns_name_their_attribute() {
        assert_eq!(attribute("Our deploy target"), Some("deploy_target"));
        assert_eq!(attribute("the package manager"), Some("package_manager"));
        assert_eq!(attribute("生产数据库"), Some("database"));
        assert_eq!(attribute("our lunch"), None);
    }
}
