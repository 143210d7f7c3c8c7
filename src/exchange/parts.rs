//! Reads the structured parts of a memory, in the spelling of this program or of another, and describes their faults.

use std::sync::LazyLock;

use serde_json::{Map, Value, json};

use crate::memory::{Blocker, Episode, PatternFields, Procedure, Structured};
use crate::schema::Schema;
use crate::text::normalise::snake_case;

/// A kind of structured parts.
struct Kind {
    name: &'static str,
    /// The name with its article.
    what: &'static str,
    /// The fields; none if any field is accepted.
    fields: &'static [&'static str],
}

const EPISODE: Kind =
    Kind { name: "episode", what: "an episode", fields: &["situation", "action", "outcome", "reasoning", "learnings"] };
const PROCEDURE: Kind =
    Kind { name: "procedure", what: "a procedure", fields: &["name", "description", "steps", "triggers", "priority"] };
const PATTERN: Kind = Kind {
    name: "pattern",
    what: "a pattern",
    fields: &[
        "description",
        "name",
        "code_snippet",
        "language",
        "framework",
        "use_case",
        "avoid_when",
        "effectiveness",
    ],
};
const BLOCKER: Kind = Kind { name: "blocker", what: "a blocker", fields: &["owner", "until"] };
const PROFILE: Kind = Kind { name: "profile", what: "a profile", fields: &[] };
const KINDS: [&Kind; 5] = [&EPISODE, &PROCEDURE, &PATTERN, &BLOCKER, &PROFILE];

static EPISODES: LazyLock<Schema> = LazyLock::new(Schema::of::<Episode>);
static PROCEDURES: LazyLock<Schema> = LazyLock::new(Schema::of::<Procedure>);
static PATTERNS: LazyLock<Schema> = LazyLock::new(Schema::of::<PatternFields>);
static BLOCKERS: LazyLock<Schema> = LazyLock::new(Schema::of::<Blocker>);

/// Fields of a profile that contain a string, and fields that contain a list of strings.
const PROFILE_TEXTS: &[&str] = &["name", "preferred_name", "coding_style"];
const PROFILE_LISTS: &[&str] = &["programming_languages", "languages", "frameworks"];
/// Allowed values of the profile fields that have a fixed set of values.
const PROFILE_VALUES: &[(&str, &[&str])] = &[
    ("response_preference", &["concise", "detailed", "balanced"]),
    ("language_preference", &["auto", "en", "zh", "de", "es", "fr", "it", "pt", "nl", "sv", "ru", "ja", "ko"]),
];

/// Whether a profile has a field of this name.
pub(super) fn is_of_profile(name: &str) -> bool {
    PROFILE_TEXTS.contains(&name)
        || PROFILE_LISTS.contains(&name)
        || PROFILE_VALUES.iter().any(|(known, _)| *known == name)
}

/// Whether an object looks like the structured parts of a memory.
pub(super) fn is_known(fields: &Map<String, Value>) -> bool {
    let has = |kind: &Kind| kind.fields.iter().any(|field| fields.contains_key(*field));
    KINDS.iter().any(|kind| fields.contains_key(kind.name)) || has(&EPISODE) || has(&PROCEDURE)
}

/// Returns the structured parts of a memory from the fields of an object: an episode or a procedure, or any kind under
/// its name. The names of fields may be written like `codeSnippet`.
///
/// # Errors
/// A description of the fault, if the fields are not those of one kind, or a value is not accepted.
pub(crate) fn structured(fields: Map<String, Value>) -> Result<Structured, String> {
    let mut fields = spelled(fields)?;
    let given = fields.keys().cloned().collect::<Vec<_>>().join(", ");
    let (kind, value) = match KINDS.iter().find(|kind| fields.contains_key(kind.name)) {
        Some(kind) if fields.len() == 1 => (*kind, fields.remove(kind.name).unwrap_or_default()),
        Some(_) => {
            return Err(format!(
                "its fields are {given}, but a memory can contain only one kind of parts; store the others as separate \
                 memories"
            ));
        }
        None if EPISODE.fields.iter().any(|field| fields.contains_key(*field)) => (&EPISODE, Value::Object(fields)),
        None if PROCEDURE.fields.iter().any(|field| fields.contains_key(*field)) => (&PROCEDURE, Value::Object(fields)),
        None => {
            return Err(format!(
                "its fields are {given}; give an episode (situation, action, outcome), a procedure (name, description), \
                 a pattern, a blocker or a profile"
            ));
        }
    };
    of_kind(kind, value).map_err(|reason| format!("{}: {reason}", kind.what))
}

/// Reads the parts of one kind.
fn of_kind(kind: &Kind, value: Value) -> Result<Structured, String> {
    let fields = match value {
        Value::Object(fields) => spelled(fields)?,
        Value::String(description) if kind.name == PATTERN.name => {
            Map::from_iter([("description".to_owned(), Value::String(description))])
        }
        _ => return Err("it is not an object".to_owned()),
    };
    // A field without a value states nothing.
    let mut fields: Map<String, Value> = fields.into_iter().filter(|(_, value)| !value.is_null()).collect();
    let unknown = fields.keys().find(|name| !kind.fields.is_empty() && !kind.fields.contains(&name.as_str()));
    if let Some(name) = unknown {
        return Err(format!("the field {name} is unknown; use {}", kind.fields.join(", ")));
    }
    let read = match kind.name {
        "episode" => EPISODES.read(Value::Object(fields)).map(Structured::Episode)?,
        "procedure" => PROCEDURES.read(Value::Object(fields)).map(Structured::Procedure)?,
        "pattern" => {
            let share = fields.get("effectiveness").and_then(Value::as_f64);
            if let Some(share) = share.filter(|share| !(0.0..=1.0).contains(share)) {
                return Err(format!("effectiveness {share} is out of range; use 0 to 1"));
            }
            Structured::Pattern { pattern: PATTERNS.read::<PatternFields>(Value::Object(fields))?.into() }
        }
        "blocker" => Structured::Blocker { blocker: BLOCKERS.read(Value::Object(fields))? },
        _ => {
            check_profile(&mut fields)?;
            Structured::Profile { profile: fields }
        }
    };
    Ok(read)
}

/// Returns the fields with names written like `code_snippet` instead of `codeSnippet`.
fn spelled(fields: Map<String, Value>) -> Result<Map<String, Value>, String> {
    let mut all = Map::new();
    for (name, value) in fields {
        let name = snake_case(&name);
        if all.contains_key(&name) {
            return Err(format!("the field {name} is given twice"));
        }
        all.insert(name, value);
    }
    Ok(all)
}

/// Rejects a profile value that its field does not accept. A single string becomes a list where a list is expected.
fn check_profile(fields: &mut Map<String, Value>) -> Result<(), String> {
    for (name, value) in fields {
        let field = name.as_str();
        if let Some((_, values)) = PROFILE_VALUES.iter().find(|(known, _)| *known == field)
            && !value.as_str().is_some_and(|value| values.contains(&value))
        {
            return Err(format!("the value of {name} is unknown; use one of {}", values.join(", ")));
        }
        if PROFILE_TEXTS.contains(&field) && !value.is_string() {
            return Err(format!("the value of {name} is not a string"));
        }
        if PROFILE_LISTS.contains(&field) {
            if value.is_string() {
                *value = json!([value.take()]);
            }
            if !value.as_array().is_some_and(|list| list.iter().all(Value::is_string)) {
                return Err(format!("the value of {name} is not a list of strings"));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Value, String> {
        structured(serde_json::from_str(text).unwrap()).map(|parts| serde_json::to_value(parts).unwrap())
    }

    #[test]
    fn parts_are_read_in_either_spelling_and_under_their_name() {
        let table = [
            (r#"{"pattern": "Retry once."}"#, r#"{"pattern": {"description": "Retry once."}}"#),
            (
                r#"{"pattern": {"description": "Retry.", "codeSnippet": "call()", "useCase": "a flaky network", "language": null}}"#,
                r#"{"pattern": {"description": "Retry.", "code_snippet": "call()", "use_case": "a flaky network"}}"#,
            ),
            (r#"{"blocker": {"owner": "Ana"}}"#, r#"{"blocker": {"owner": "Ana"}}"#),
            (
                r#"{"episode": {"situation": "s", "action": "a", "outcome": "success"}}"#,
                r#"{"situation": "s", "action": "a", "outcome": "success", "learnings": []}"#,
            ),
            (
                r#"{"procedure": {"name": "n", "description": "d", "priority": 100}}"#,
                r#"{"name": "n", "description": "d", "steps": [], "triggers": [], "priority": 100.0}"#,
            ),
            (
                r#"{"profile": {"name": "Ana", "programmingLanguages": "Rust", "languagePreference": "zh", "pets": 2}}"#,
                r#"{"profile": {"name": "Ana", "programming_languages": ["Rust"], "language_preference": "zh", "pets": 2}}"#,
            ),
        ];
        for (text, parts) in table {
            assert_eq!(read(text), Ok(serde_json::from_str(parts).unwrap()), "{text}");
        }
    }

    #[test]
    fn what_would_be_lost_or_is_not_accepted_is_named_with_its_field() {
        for (text, named) in [
            ("{}", "give an episode"),
            (r#"{"mood": "good"}"#, "mood"),
            (r#"{"situation": "x", "action": "y", "outcome": "maybe"}"#, "an episode: /outcome value is not one of"),
            (r#"{"situation": "x", "action": "y"}"#, "outcome"),
            (
                r#"{"situation": "x", "action": "y", "outcome": "success", "learning": ["l"]}"#,
                "an episode: the field learning is unknown",
            ),
            (
                r#"{"situation": "x", "action": "y", "outcome": "success", "pattern": {"description": "d"}}"#,
                "situation, action, outcome, pattern, but a memory can contain only one kind of parts",
            ),
            (r#"{"pattern": {"description": "d"}, "profile": {"name": "Ana"}}"#, "pattern, profile, but"),
            (r#"{"name": "n", "description": "d", "steps": "one"}"#, "a procedure: /steps"),
            (r#"{"name": "n", "description": "d", "priority": "high"}"#, "a procedure: /priority"),
            (r#"{"pattern": {"description": "d", "effectiveness": 8}}"#, "effectiveness 8 is out of range"),
            (r#"{"pattern": {"description": "d", "use": "x"}}"#, "the field use is unknown"),
            (r#"{"pattern": {"useCase": "x", "use_case": "x"}}"#, "use_case is given twice"),
            (r#"{"blocker": {"who": "Ana"}}"#, "who"),
            (r#"{"profile": "Ana"}"#, "a profile: it is not an object"),
            (r#"{"profile": {"name": 42}}"#, "the value of name is not a string"),
            (r#"{"profile": {"frameworks": {"a": 1}}}"#, "frameworks is not a list of strings"),
            (r#"{"profile": {"programmingLanguages": ["Rust", 1]}}"#, "programming_languages is not a list"),
            (r#"{"profile": {"responsePreference": "loud"}}"#, "response_preference is unknown; use one of concise"),
            (r#"{"profile": {"languagePreference": "klingon"}}"#, "language_preference is unknown"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(named) && !error.contains("maybe") && !error.contains("klingon"), "{text}: {error}");
        }
    }
}
