//! One request for a page, and the reply to it.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::PathBuf;
use std::str::FromStr;

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan as _};
use serde_json::{Value, json};

use super::language::Language;
use crate::api::{Filter, Memories, NamespaceSubtree};
use crate::memory::{CATEGORIES, Memory, MemoryType, Namespace, Status};

/// An admitted request.
#[derive(Debug)]
pub(super) struct Visit {
    pub path: String,
    pub query: Vec<(String, String)>,
    /// The fields of a form, if one was sent.
    pub form: Option<Vec<(String, String)>>,
    pub form_token: String,
    pub language: Language,
    /// The user's settings file.
    pub settings_file: PathBuf,
    /// The folder with results of evaluations; next to the database by default.
    pub evals: Option<PathBuf>,
}

/// The reply to a request.
#[derive(Debug)]
pub(super) enum Reply {
    /// A template and its values.
    Page(&'static str, Value),
    /// The values of the page that compares an outdated form with the memory.
    Conflict(Value),
    /// After a change: the page that shows it.
    SeeOther(String),
    /// After a change of the settings, which are then read again: the page that shows the change.
    SettingsChanged(String),
    /// The person chose a language on the page with this URL.
    Language(Language, String),
    NotFound,
}

/// Reads the fields of a form or of a URL.
pub(super) fn fields(encoded: &[u8]) -> Vec<(String, String)> {
    form_urlencoded::parse(encoded).into_owned().collect()
}

impl Visit {
    /// Returns a field of the URL, unless it is blank.
    pub(super) fn asked(&self, name: &str) -> Option<&str> {
        value(&self.query, name)
    }

    /// Returns a field of the form, unless it is blank.
    pub(super) fn sent(&self, name: &str) -> Option<&str> {
        value(self.form.as_deref().unwrap_or_default(), name)
    }

    /// Returns every value of a field of the form.
    pub(super) fn sent_all(&self, name: &str) -> impl Iterator<Item = &str> {
        let fields = self.form.as_deref().unwrap_or_default();
        fields.iter().filter(move |(field, _)| field == name).map(|(_, value)| value.as_str())
    }

    /// Returns a field of the URL, if it is a value of an enumeration.
    pub(super) fn asked_as<T: FromStr>(&self, name: &str) -> Option<T> {
        self.asked(name)?.parse().ok()
    }

    /// Returns the URL of the page with its query, except for parameters that are used only once.
    pub(super) fn here(&self) -> String {
        let lasting = self.query.iter().filter(|(name, _)| !matches!(name.as_str(), "done" | "run" | "token"));
        let query = form_urlencoded::Serializer::new(String::new()).extend_pairs(lasting).finish();
        if query.is_empty() { self.path.clone() } else { format!("{}?{query}", self.path) }
    }

    /// Returns the chosen language, and the page to return to.
    pub(super) fn chosen_language(&self) -> Reply {
        let Some(language) = self.sent("language").and_then(|code| code.parse::<Language>().ok()) else {
            return Reply::NotFound;
        };
        Reply::Language(language, self.back("/"))
    }

    /// Returns the page that a form was on, or otherwise `other`.
    pub(super) fn back(&self, other: &str) -> String {
        // Browsers treat `//name` and `/\name` as other sites.
        let is_ours = |path: &&str| {
            path.starts_with('/') && !path.starts_with("//") && path.bytes().all(|b| b.is_ascii_graphic() && b != b'\\')
        };
        self.sent("back").filter(is_ours).unwrap_or(other).to_owned()
    }

    /// Returns to the page that a form was on, or else to `other`, which then shows what was done.
    pub(super) fn done(&self, other: &str, done: &str) -> Reply {
        let back = self.back(other);
        let joint = if back.contains('?') { '&' } else { '?' };
        Reply::SeeOther(format!("{back}{joint}done={done}"))
    }

    /// Returns the filter in the URL.
    pub(super) fn filter(&self) -> Filter {
        let statuses = match self.asked("status") {
            Some("any") => Vec::new(),
            Some(status) => vec![status.parse().unwrap_or(Status::Active)],
            None => vec![Status::Active],
        };
        // The page uses this word for the user of a log without names.
        let speaker = self.asked("speaker").map(|name| {
            let is_user = Language::ALL.iter().any(|one| one.text("memory.speaker").is_some_and(|user| user == name));
            if is_user { "user".to_owned() } else { name.to_owned() }
        });
        let midnight = |day: Date| -> Option<Timestamp> { Some(day.to_zoned(TimeZone::system()).ok()?.timestamp()) };
        let until = self.asked_as::<Date>("to").and_then(|day| day.checked_add(1.day()).ok());
        Filter {
            speaker,
            said_from: self.asked_as::<Date>("from").and_then(midnight),
            said_before: until.and_then(midnight),
            namespaces: self.asked_as::<Namespace>("namespace").map(NamespaceSubtree::Exactly).into_iter().collect(),
            types: self.asked_as::<MemoryType>("kind").into_iter().collect(),
            categories: self.asked("category").map(str::to_owned).into_iter().collect(),
            tags: self.asked("tag").map(str::to_owned).into_iter().collect(),
            statuses,
            ..Filter::default()
        }
    }
}

fn value<'a>(fields: &'a [(String, String)], name: &str) -> Option<&'a str> {
    fields.iter().find(|(field, _)| field == name).map(|(_, value)| value.trim()).filter(|value| !value.is_empty())
}

/// Returns the namespaces that have memories or projects, with the names of projects, for a list of choices.
pub(super) fn namespaces(memories: &Memories) -> Result<Vec<Value>, crate::api::ApiError> {
    let projects = memories.projects()?;
    let mut found: Vec<String> = projects.iter().map(|project| project.namespace.to_string()).collect();
    found.extend(memories.namespaces_in_use()?.iter().map(ToString::to_string));
    found.sort();
    found.dedup();
    let name = |namespace: &str| {
        let project = projects.iter().find(|project| project.namespace.to_string() == namespace);
        project.map_or_else(|| namespace.to_owned(), |project| project.name.clone())
    };
    Ok(found.iter().map(|namespace| json!({"namespace": namespace, "name": name(namespace)})).collect())
}

/// Returns the categories in the settings, or otherwise the default categories.
pub(super) fn categories(memories: &Memories) -> Vec<String> {
    let own = &memories.config().categories.value;
    if own.is_empty() { CATEGORIES.iter().map(ToString::to_string).collect() } else { own.clone() }
}

/// Returns the template values of a memory.
pub(super) fn values_of(memory: &Memory) -> Value {
    let mut values = json!(memory);
    values["namespace"] = json!(memory.namespace.to_string());
    values["status"] = json!(memory.status_at(Timestamp::now()));
    values["version"] = json!(version_of(memory));
    values
}

/// Returns a number that differs whenever a field of the edit form differs, to find out whether a form is outdated.
pub(super) fn version_of(memory: &Memory) -> String {
    let (claim, mut hasher) = (&memory.claim, DefaultHasher::new());
    (&claim.content, &claim.title, &claim.category, &claim.tags, claim.importance.to_bits()).hash(&mut hasher);
    format!("{:x}", hasher.finish())
}
