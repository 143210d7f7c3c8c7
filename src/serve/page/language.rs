//! The languages of the page, each with its catalogue of texts.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use axum::http::{HeaderMap, header};

use super::access::cookies;

/// The cookie that keeps a person's choice.
pub(super) const COOKIE: &str = "afterthought_language";

/// A language of the page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Language {
    English,
    Chinese,
}

type Catalogue = BTreeMap<String, String>;

static ENGLISH: LazyLock<Catalogue> = LazyLock::new(|| catalogue(include_str!("languages/en.toml")));
static CHINESE: LazyLock<Catalogue> = LazyLock::new(|| catalogue(include_str!("languages/zh.toml")));

impl Language {
    pub(super) const ALL: [Self; 2] = [Self::English, Self::Chinese];

    /// Returns its code, as in `Accept-Language`.
    pub(super) const fn code(self) -> &'static str {
        match self {
            Self::English => "en",
            Self::Chinese => "zh",
        }
    }

    /// Returns its code for the attribute `lang`, from which browsers also choose the shapes of characters.
    pub(super) const fn tag(self) -> &'static str {
        match self {
            Self::English => "en",
            Self::Chinese => "zh-Hans",
        }
    }

    /// Returns the language that has this code.
    pub(super) fn named(code: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|language| language.code() == code)
    }

    /// Returns the language that the person chose, or else the first one that the browser accepts.
    pub(super) fn of(headers: &HeaderMap) -> Self {
        let chosen = cookies(headers).find(|(name, _)| *name == COOKIE).and_then(|(_, code)| Self::named(code));
        chosen.or_else(|| accepted(headers.get(header::ACCEPT_LANGUAGE)?.to_str().ok()?)).unwrap_or(Self::English)
    }

    /// Returns the text that has this key.
    pub(super) fn text(self, key: &str) -> Option<&'static str> {
        let catalogue = match self {
            Self::English => &*ENGLISH,
            Self::Chinese => &*CHINESE,
        };
        catalogue.get(key).map(String::as_str)
    }

    /// Returns the key of the form of a text that goes with `count`: Chinese has only one.
    pub(super) const fn plural(self, count: i64) -> &'static str {
        match self {
            Self::English if count == 1 => "one",
            Self::English | Self::Chinese => "other",
        }
    }
}

/// Returns the known language with the highest weight in `Accept-Language`, the first of equal ones.
fn accepted(list: &str) -> Option<Language> {
    let weighted = list.split(',').filter_map(|entry| {
        let mut parts = entry.split(';');
        let name = parts.next()?.trim();
        let weight = parts.find_map(|part| part.trim().strip_prefix("q=")?.parse().ok()).unwrap_or(1.0);
        let language = Language::named(&name.split('-').next()?.to_ascii_lowercase())?;
        (weight > 0.0).then_some((weight, language))
    });
    // Of equal weights, `max_by` would return the last.
    weighted
        .fold(
            None,
            |best: Option<(f64, Language)>, one| if best.is_none_or(|best| one.0 > best.0) { Some(one) } else { best },
        )
        .map(|(_, language)| language)
}

/// Reads a catalogue, whose keys are spelled `table.name` in templates.
fn catalogue(text: &str) -> Catalogue {
    fn collect(prefix: &str, table: toml::Table, into: &mut Catalogue) {
        for (name, value) in table {
            let key = if prefix.is_empty() { name } else { format!("{prefix}.{name}") };
            match value {
                toml::Value::Table(table) => collect(&key, table, into),
                toml::Value::String(text) => drop(into.insert(key, text)),
                _ => {}
            }
        }
    }
    let mut catalogue = Catalogue::new();
    collect("", text.parse().expect("the catalogues are checked by tests"), &mut catalogue);
    catalogue
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_browser_chooses_until_the_person_does() {
        let choose = |accepted: &str, cookie: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::ACCEPT_LANGUAGE, accepted.parse().unwrap());
            headers.insert(header::COOKIE, cookie.parse().unwrap());
            Language::of(&headers).code()
        };
        for (accepted, cookie, chosen) in [
            ("", "", "en"),
            ("fr, zh-CN;q=0.9, en;q=0.8", "", "zh"),
            ("en-GB,zh", "", "en"),
            ("zh;q=0, en;q=0.1", "", "en"),
            ("fr", "", "en"),
            ("en", "a=b; afterthought_language=zh", "zh"),
            ("zh", "afterthought_language=xx", "zh"),
        ] {
            assert_eq!(choose(accepted, cookie), chosen, "{accepted:?} {cookie:?}");
        }
    }

    #[test]
    fn all_languages_have_the_same_texts_with_the_same_places() {
        let keys = |catalogue: &Catalogue| catalogue.keys().cloned().collect::<Vec<_>>();
        assert!(ENGLISH.len() > 100, "{}", ENGLISH.len());
        assert_eq!(keys(&ENGLISH), keys(&CHINESE));
        let places = |text: &str| {
            let mut places: Vec<String> =
                text.split('{').skip(1).filter_map(|rest| Some(rest.split_once('}')?.0.to_owned())).collect();
            places.sort();
            places
        };
        for (key, text) in &*ENGLISH {
            assert_eq!(places(text), places(&CHINESE[key]), "{key}");
            assert!(!text.trim().is_empty() && !CHINESE[key].trim().is_empty(), "{key}");
        }
    }

    #[test]
    fn no_text_was_left_untranslated() {
        // Names of the program, of its commands and of formats are the same in every language.
        let same: Vec<&str> =
            ENGLISH.iter().filter(|(key, text)| CHINESE[*key] == **text).map(|(key, _)| &**key).collect();
        assert_eq!(same, ["language.en", "language.zh", "layout.name"]);
    }
}
