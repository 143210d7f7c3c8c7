//! Renders the templates. All values are escaped, and all text of the templates comes from a catalogue.

use std::sync::LazyLock;

use minijinja::value::Kwargs;
use minijinja::{AutoEscape, Environment, Error, ErrorKind, State, UndefinedBehavior};

use super::language::Language;

/// Lists the templates of these names with their texts.
macro_rules! templates {
    ($($name:literal),+ $(,)?) => { &[$(($name, include_str!(concat!("templates/", $name, ".html")))),+] };
}

/// The templates, indexed by name.
#[rustfmt::skip]
const TEMPLATES: &[(&str, &str)] = templates![
    "layout", "bare", "row", "quotes", "change", "message", "entered", "search", "memory", "inbox", "runs", "run",
    "projects", "project", "file", "conflict", "edit", "evals", "choose_evals", "spans", "eval", "list", "choose",
    "timeline", "brief", "health", "failed", "merge", "erase", "quote", "settings", "chart", "bars", "analytics",
    "graph", "queue",
];

static ENVIRONMENT: LazyLock<Environment<'static>> = LazyLock::new(|| environment(TEMPLATES));

/// Renders a page.
///
/// # Errors
/// The error in the template, which is a defect of the program.
pub(super) fn render(template: &str, values: &serde_json::Value) -> Result<String, Error> {
    ENVIRONMENT.get_template(template)?.render(minijinja::value::Serde(values))
}

fn environment(templates: &[(&'static str, &'static str)]) -> Environment<'static> {
    let mut environment = Environment::new();
    environment.set_auto_escape_callback(|_| AutoEscape::Html);
    environment.set_undefined_behavior(UndefinedBehavior::SemiStrict);
    environment.add_function("t", text);
    environment.add_function("n", counted);
    environment.add_function("named", named);
    for form in ["time", "day"] {
        environment.add_filter(form, move |state: &State<'_, '_>, at: &str| language(state).time(at, form));
    }
    environment.add_filter("error", |state: &State<'_, '_>, message: &str| language(state).error(message));
    environment.add_filter("percent", |share: f64| format!("{:.0}%", share * 100.0));
    environment.add_filter("short", |id: String| crate::memory::short(&id).to_owned());
    environment
        .add_filter("encode", |text: String| form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>());
    for (name, source) in templates {
        environment.add_template(name, source).unwrap_or_else(|error| panic!("the template {name}: {error:#}"));
    }
    environment
}

/// Returns text from the catalogue, with its `{placeholders}` filled in.
#[expect(clippy::needless_pass_by_value, reason = "template functions receive their arguments by value")]
fn text(state: &State<'_, '_>, key: &str, values: Kwargs) -> Result<String, Error> {
    let missing = || Error::new(ErrorKind::InvalidOperation, format!("there is no text called {key:?}"));
    let mut text = language(state).text(key).ok_or_else(missing)?.to_owned();
    for name in values.args() {
        let value: minijinja::Value = values.get(name)?;
        text = text.replace(&format!("{{{name}}}"), &value.to_string());
    }
    Ok(text)
}

/// Returns a number with its noun.
fn counted(state: &State<'_, '_>, noun: &str, count: i64) -> Result<String, Error> {
    let key = format!("count.{noun}.{}", language(state).plural(count));
    let found = language(state).text(&key);
    let missing = || Error::new(ErrorKind::InvalidOperation, format!("there is no text called {key:?}"));
    Ok(found.ok_or_else(missing)?.replace("{n}", &count.to_string()))
}

/// Returns the name of a value of an enumeration. A value without a name, such as a user-defined category, is returned
/// unchanged.
fn named(state: &State<'_, '_>, table: &str, value: &str) -> String {
    language(state).text(&format!("{table}.{value}")).unwrap_or(value).to_owned()
}

fn language(state: &State<'_, '_>) -> Language {
    let code = state.lookup("language");
    code.as_ref().and_then(|code| code.as_str()?.parse().ok()).unwrap_or(Language::English)
}

#[cfg(test)]
mod tests {
    use regex::Regex;

    use super::*;

    fn pattern(text: &str) -> Regex {
        Regex::new(text).unwrap()
    }

    #[test]
    fn templates_contain_no_words_of_their_own() {
        let code = pattern(r"(?s)\{\{.*?\}\}|\{%.*?%\}|\{#.*?#\}");
        let (tag, letter) = (pattern(r"(?s)<[^>]*>"), pattern(r"\p{L}"));
        let shown = pattern(r#"(?:aria-label|title|placeholder|alt|value)="([^"]*)""#);
        for (name, source) in TEMPLATES {
            let bare = code.replace_all(source, "");
            let text = tag.replace_all(&bare, "");
            assert!(!letter.is_match(&text), "{name}: {}", text.split_whitespace().collect::<Vec<_>>().join(" "));
            for attribute in shown.captures_iter(&bare) {
                // Values of fields that the server reads are not display text; they are in lower case and contain no
                // spaces.
                let value = attribute[1].trim();
                let is_word =
                    value.chars().all(|c| c.is_ascii_lowercase() || "_-=,.0123456789;".contains(c) || c == ' ');
                assert!(is_word, "{name}: {value:?}");
            }
        }
    }

    #[test]
    fn every_text_that_a_template_shows_exists() {
        let (text, noun) = (pattern(r#"\bt\("([^"]+)"[,)]"#), pattern(r#"\bn\("([^"]+)","#));
        let mut seen = 0;
        for (name, source) in TEMPLATES {
            for found in text.captures_iter(source) {
                seen += 1;
                assert!(Language::English.text(&found[1]).is_some(), "{name}: {}", &found[1]);
            }
            for found in noun.captures_iter(source) {
                seen += 1;
                assert!(Language::English.text(&format!("count.{}.one", &found[1])).is_some(), "{name}: {}", &found[1]);
            }
        }
        assert!(seen > 50, "{seen}");
    }
}
