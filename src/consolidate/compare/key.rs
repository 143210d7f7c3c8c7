//! Keys and values: which attribute a claim is about, and whether it can have several values at the same time.

use super::features::Features;
use crate::memory::{Claim, ExtractionMethod};
use crate::text::normalise::comparable;
use crate::text::tokens::{contains_word, is_listed};

/// The number of values that an attribute has at the same time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Arity {
    /// One value at a time; a different value contradicts the known value.
    Single,
    /// Several values at a time, so a different value may exist alongside the known one.
    Many,
    /// An unknown number of values: a different value is examined more closely.
    Open,
}

/// Spellings of one attribute; the first one is used in comparisons.
#[rustfmt::skip]
const ALIASES: &[&[&str]] = &[
    &["residence", "location", "city", "home_city", "lives_in", "place_of_residence", "current_city", "hometown_current", "wohnort", "ciudad", "residencia", "domicilio"],
    &["name", "nombre"],
    &["count", "headcount", "number", "number_of"],
    &["cost", "price", "precio", "coste", "kosten", "preis"],
    &["deadline", "due_date", "frist", "plazo"],
    &["port", "puerto"],
    &["age", "edad", "alter"],
    &["provider", "proveedor", "anbieter"],
    &["employer", "company", "workplace", "works_at", "works_for"],
    &["job_title", "job", "role", "occupation", "profession", "position"],
    &["timezone", "time_zone", "tz"],
    &["deploy_target", "deployment_target", "deployed_to", "deployed_on", "host", "hosted_on", "hosting", "deployment_platform", "deploys_to", "hosting_provider", "deployment"],
    &["database", "db", "database_engine"],
    &["package_manager", "pkg_manager"],
    &["indentation", "indent", "indent_style"],
    &["birthday", "birth_date", "date_of_birth", "birthdate"],
    &["language", "programming_language", "main_language"],
];

/// Attributes that have only one value at a time.
const SINGLE: &str = "residence employer job_title name full_name nickname age birthday gender nationality timezone email phone \
    marital_status native_language deploy_target database package_manager build_tool framework web_framework \
    test_runner test_framework ci ci_provider license default_branch version port runtime node_version \
    rust_version python_version msrv edition formatter linter line_length indentation owner deadline \
    release_date launch_date status repository rate_limit timeout auth_method cloud_provider height pronouns \
    origin weight manager os editor shell theme cache queue orm region capacity size volume count cost grade \
    provider schedule lead start_time start end_time retention interval duration limit max_nodes dose dosage \
    color colour branch state level leader chair landlord \
    headquarters venue room day time frequency speed temperature budget salary rent fee so herkunft birthplace \
    birth_place birth_year birth_date approver maintainer format prefix suffix case usage";

/// Attributes that have several values, identified by their last part or by any part before it.
const MANY: &str = "preference family study preferences like dislike interest hobby language languages pet pets skill tool \
    goal task convention decision lesson bug note habit event friend allergy constraint library dependency \
    feature child sibling project favorite favourite contact member rule todo issue";

/// Start of the placeholder that the guard substitutes for a secret.
const REDACTED: &str = "[redacted:";

/// Returns the key in the form used in comparisons: lower case, with `_` within parts and the usual name for the last
/// part.
#[must_use]
pub fn canonical(key: &str) -> String {
    /// Keys whose last part alone does not identify the attribute.
    const WHOLE: &[&str] = &["deploy.target", "deployment.target", "deployment.platform", "hosting.provider"];
    let plain: String = comparable(key).chars().map(|c| if matches!(c, ' ' | '-' | '/') { '_' } else { c }).collect();
    if WHOLE.contains(&plain.as_str()) {
        return "project.deploy_target".to_owned();
    }
    let (head, tail) = plain.rsplit_once('.').map_or(("", plain.as_str()), |(head, tail)| (head, tail));
    let tail = ALIASES.iter().find(|names| names.contains(&tail)).map_or(tail, |names| names[0]);
    let head = if head == "db" { "database" } else { head };
    if head.is_empty() { tail.to_owned() } else { format!("{head}.{tail}") }
}

/// Returns the key of a memory if it was given by hand and names no attribute with a value. Such a key identifies one
/// memory, and is compared exactly as it was given.
pub(in crate::consolidate) fn own_key(claim: &Claim, method: ExtractionMethod) -> Option<&str> {
    claim.key.as_deref().filter(|_| claim.value.is_none() && method == ExtractionMethod::Manual)
}

/// Returns the attribute that `key` names, in the form used in comparisons; `None` if the key does not specify an
/// attribute.
///
/// A key from which the guard removed a secret equals every other redacted key, so it does not identify an attribute.
#[must_use]
pub(crate) fn attribute(key: &str) -> Option<String> {
    let key = canonical(key);
    (!key.is_empty() && !key.contains(REDACTED)).then_some(key)
}

/// Returns the spellings of the attribute that `key` names, starting with the spelling used in comparisons; empty if
/// the key does not specify an attribute.
#[must_use]
pub(crate) fn spellings(key: &str) -> Vec<String> {
    let Some(key) = attribute(key) else { return Vec::new() };
    let (head, tail) = key.rsplit_once('.').map_or(("", key.as_str()), |(head, tail)| (head, tail));
    let names = ALIASES.iter().find(|names| names[0] == tail).copied().unwrap_or_default();
    let joined = |name: &&str| if head.is_empty() { (*name).to_owned() } else { format!("{head}.{name}") };
    // The first spelling is the canonical one, which is `key` itself.
    let others: Vec<String> = names.iter().skip(1).map(joined).collect();
    std::iter::once(key).chain(others).collect()
}

/// Beginnings of keys that have one value: a person has one preferred editor and a project one default branch.
const ONLY: &[&str] = &["preferred_", "favourite_", "favorite_", "default_", "primary_", "current_"];

/// Returns how many values a canonical `key` has at the same time.
///
/// A key has one value if its last part is in the list of such names. A preference is an exception, since
/// `user.preference.editor` may well be about two editors. A key has several values if any part is in the other list or
/// the last part is a plural. All other keys are open.
#[must_use]
pub(crate) fn arity(key: &str) -> Arity {
    let mut parts = key.split('.').rev();
    let last = parts.next().unwrap_or_default();
    let head = key.split_once('.').map_or("", |(head, _)| head);
    // At the start of a key, `project` states what the key is about, and does not indicate several values.
    let under_many = parts.any(|part| part != "project" && is_listed(MANY, part));
    if ONLY.iter().any(|start| last.strip_prefix(start).is_some_and(|rest| !is_plural(rest))) {
        return Arity::Single;
    }
    // A thing has a single language, but people and projects may have several.
    let of_a_thing = last == "language" && !matches!(head, "" | "user" | "project");
    let single = is_listed(SINGLE, last) || of_a_thing;
    if single {
        return if under_many { Arity::Open } else { Arity::Single };
    }
    if under_many || is_listed(MANY, last) || is_plural(last) { Arity::Many } else { Arity::Open }
}

/// Separator of the values of a list. The separator is not a comma, because a comma separates the parts of one value.
pub(in crate::consolidate) const BETWEEN_VALUES: &str = "; ";

/// Whether a value is a list of several values.
pub(in crate::consolidate) fn is_list(value: &str) -> bool {
    value.contains(BETWEEN_VALUES)
}

fn is_plural(name: &str) -> bool {
    name.len() > 3 && name.ends_with('s') && !["ss", "us", "is", "os"].iter().any(|ending| name.ends_with(ending))
}

/// The relation of one value to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::consolidate) enum Values {
    /// Both values are the same.
    Equal,
    /// The first value is more specific: for example, it adds a version, or the country of a city.
    More,
    /// The first value is less specific.
    Less,
    /// The values are not the same.
    Different,
    /// One value contains the other's words but may mean something else, such as `React` and `React Native`.
    Unclear,
}

/// Compares two values of one attribute; `None` if either is missing.
pub(in crate::consolidate) fn compare(incoming: Option<&str>, known: Option<&str>) -> Option<Values> {
    let (a, b) = (incoming?, known?);
    let (a_text, b_text) = (value_text(a), value_text(b));
    if a_text.is_empty() || b_text.is_empty() {
        return None;
    }
    if a_text == b_text {
        return Some(Values::Equal);
    }
    let (left, right) = (Features::of(a), Features::of(b));
    // "not Vim" contains the words of "Vim" but means the opposite.
    if left.polarity != right.polarity {
        return Some(Values::Different);
    }
    let same_words = left.tokens == right.tokens && !left.tokens.is_empty();
    if same_words && left.settings == right.settings {
        return Some(match (left.figures.is_superset(&right.figures), right.figures.is_superset(&left.figures)) {
            (true, true) => Values::Equal,
            (true, false) => Values::More,
            (false, true) => Values::Less,
            (false, false) => Values::Different,
        });
    }
    // With equal numbers and names, more words mean more detail: `5 retries` and `5 retries with backoff`.
    let same_figures = !left.figures.is_empty() && left.figures == right.figures && left.entities == right.entities;
    if same_figures && left.tokens.is_superset(&right.tokens) {
        return Some(Values::More);
    }
    if same_figures && left.tokens.is_subset(&right.tokens) {
        return Some(Values::Less);
    }
    Some(if starts_list(&a_text, &b_text) {
        Values::More
    } else if starts_list(&b_text, &a_text) {
        Values::Less
    } else if contains_word(&a_text, &b_text) || contains_word(&b_text, &a_text) {
        Values::Unclear
    } else {
        Values::Different
    })
}

fn value_text(value: &str) -> String {
    let text = comparable(value);
    // Values are often copied from a sentence with its article.
    ["the ", "a ", "an "].iter().find_map(|article| text.strip_prefix(article)).unwrap_or(&text).to_owned()
}

/// Whether two values, such as `50 mg` and `75 mg`, are quantities of the same thing: equal except for their figures.
pub(in crate::consolidate) fn are_numbers(a: &str, b: &str) -> bool {
    let (a, b) = (Features::of(a), Features::of(b));
    let numbers = !a.figures.is_empty() && !b.figures.is_empty() && a.figures != b.figures;
    numbers && (a.tokens.is_subset(&b.tokens) || b.tokens.is_subset(&a.tokens)) && a.entities == b.entities
}

/// Whether `long` consists of `short` and an addition after a comma or in brackets, as in `Berlin, Germany`.
fn starts_list(long: &str, short: &str) -> bool {
    long.strip_prefix(short).is_some_and(|rest| rest.trim_start().starts_with([',', '(', '，', '（', '、']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_compared_by_attribute_and_know_their_arity() {
        let rows = [
            ("user.residence", "user.residence", Arity::Single),
            ("User.City", "user.residence", Arity::Single),
            ("project.deploy-target", "project.deploy_target", Arity::Single),
            ("project.hosting", "project.deploy_target", Arity::Single),
            ("user.preference.food", "user.preference.food", Arity::Many),
            ("user.preference.editor", "user.preference.editor", Arity::Open),
            ("user.languages", "user.languages", Arity::Many),
            ("user.pets", "user.pets", Arity::Many),
            ("project.api", "project.api", Arity::Open),
            ("project.status", "project.status", Arity::Single),
            ("user.address", "user.address", Arity::Open),
            // A title may be that of a book.
            ("ana.title", "ana.title", Arity::Open),
        ];
        for (key, expected, expected_arity) in rows {
            assert_eq!((canonical(key).as_str(), arity(&canonical(key))), (expected, expected_arity), "{key}");
        }
    }

    #[test]
    fn a_key_without_its_words_names_no_attribute() {
        let rows = [
            ("Project.DB", Some("project.database")),
            ("[redacted:spoken-key]", None),
            ("project.[redacted:secret]_port", None),
            (" ", None),
        ];
        for (key, expected) in rows {
            assert_eq!(attribute(key).as_deref(), expected, "{key}");
        }
    }

    #[test]
    fn values_are_compared_by_what_they_name() {
        let rows = [
            ("Berlin", "berlin.", Some(Values::Equal)),
            ("Berlin, Germany", "Berlin", Some(Values::More)),
            ("Postgres", "Postgres 16", Some(Values::Less)),
            ("Postgres 16", "Postgres 17", Some(Values::Different)),
            ("React Native", "React", Some(Values::Unclear)),
            ("Heroku", "Fly.io", Some(Values::Different)),
            ("pnpm", "npm", Some(Values::Different)),
            ("柏林", "慕尼黑", Some(Values::Different)),
            ("８０８０", "8080", Some(Values::Equal)),
            ("", "8080", None),
        ];
        for (a, b, expected) in rows {
            assert_eq!(compare(Some(a), Some(b)), expected, "{a} / {b}");
        }
        assert_eq!(compare(None, Some("x")), None);
    }
}
