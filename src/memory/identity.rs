//! Memory ids and namespaces.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::ParseError;

/// Identity of a memory: a `UUIDv7` in hyphenated form, so that ids sort by creation time.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct MemoryId(String);

impl MemoryId {
    /// Returns a new id.
    #[must_use]
    pub fn new() -> Self {
        Self(uuid::Uuid::now_v7().to_string())
    }

    /// Returns the id itself if it is a UUID; otherwise a UUID derived from it, so that any text from a file becomes a
    /// safe id and references to it still match.
    pub(crate) fn into_uuid(self) -> Self {
        if uuid::Uuid::try_parse(&self.0).is_ok() {
            return self;
        }
        // The same id from another program always becomes the same UUID, so that a second import finds the same memory.
        let digest = Sha256::digest(self.0.as_bytes());
        let start: [u8; 16] = digest[..16].try_into().expect("a digest has 32 bytes");
        Self(uuid::Builder::from_custom_bytes(start).into_uuid().to_string())
    }

    /// Whether [`MemoryId::into_uuid`] derived the id from a text. Such a text may be a number that other files use, too.
    pub(crate) fn is_derived(&self) -> bool {
        uuid::Uuid::try_parse(&self.0).is_ok_and(|id| id.get_version() == Some(uuid::Version::Custom))
    }

    /// Wraps an id as it appears in the database or an export.
    #[must_use]
    pub fn from_stored(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// Returns the id's text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the last eight characters, which are shown to people and which they type.
    #[must_use]
    pub fn short(&self) -> &str {
        short(&self.0)
    }
}

/// Returns the end of an id. A `UUIDv7` begins with the time, which all ids of one run share, and ends with random
/// digits.
pub(crate) fn short(id: &str) -> &str {
    id.char_indices().nth_back(7).map_or(id, |(start, _)| &id[start..])
}

impl Default for MemoryId {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Display for MemoryId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// The set of memories that a memory belongs to: a path such as `project/shop`. Nothing is shared between two
/// namespaces.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "Vec<String>", into = "Vec<String>")]
pub struct Namespace(Vec<String>);

impl Namespace {
    /// Returns the namespace of memories that apply to the user everywhere.
    #[must_use]
    pub fn global() -> Self {
        Self(vec!["global".into()])
    }

    /// Returns the namespace of one project.
    ///
    /// # Errors
    /// [`ParseError`] if `id` is empty or contains a control character.
    pub fn project(id: &str) -> Result<Self, ParseError> {
        // A slash would start another part of the path.
        Self::try_from(vec!["project".to_owned(), id.replace('/', "-")])
    }

    /// Returns the namespace of the memories about one user, where several users share a database.
    ///
    /// # Errors
    /// [`ParseError`] if `id` is empty or contains a control character.
    pub fn user(id: &str) -> Result<Self, ParseError> {
        Self::try_from(vec!["user".to_owned(), id.replace('/', "-")])
    }

    /// Returns the namespace of one conversation among people.
    ///
    /// # Errors
    /// [`ParseError`] if `id` is empty or contains a control character.
    pub(crate) fn chat(id: &str) -> Result<Self, ParseError> {
        Self::try_from(vec!["chat".to_owned(), id.replace('/', "-")])
    }

    /// Whether the namespace is that of a conversation among people.
    pub(crate) fn is_chat(&self) -> bool {
        self.0.first().is_some_and(|part| part == "chat")
    }

    /// Whether the namespace is that of a team.
    pub(crate) fn is_team(&self) -> bool {
        self.0.len() > 1 && self.0[0] == "team"
    }

    /// Whether the namespace is that of one of several users.
    pub(crate) fn is_user(&self) -> bool {
        self.0.first().is_some_and(|part| part == "user")
    }

    /// Returns the path's parts, outermost first.
    #[must_use]
    pub fn parts(&self) -> &[String] {
        &self.0
    }
}

impl TryFrom<Vec<String>> for Namespace {
    type Error = ParseError;
    fn try_from(parts: Vec<String>) -> Result<Self, ParseError> {
        let sound = |part: &String| {
            !part.is_empty() && part.len() <= 200 && !part.contains('/') && !part.chars().any(char::is_control)
        };
        if parts.is_empty() || parts.len() > 8 || !parts.iter().all(sound) {
            return Err(ParseError {
                value: parts.join("/"),
                what: "a namespace",
                allowed: "one to eight non-empty names joined by '/', e.g. global or project/shop".to_owned(),
            });
        }
        Ok(Self(parts))
    }
}

impl From<Namespace> for Vec<String> {
    fn from(namespace: Namespace) -> Self {
        namespace.0
    }
}

impl fmt::Display for Namespace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0.join("/"))
    }
}

impl FromStr for Namespace {
    type Err = ParseError;
    fn from_str(text: &str) -> Result<Self, ParseError> {
        // The JSON of a memory writes its namespace as an array.
        let listed = if text.starts_with('[') { serde_json::from_str::<Vec<String>>(text).ok() } else { None };
        Self::try_from(listed.unwrap_or_else(|| text.split('/').map(str::to_owned).collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn namespace_round_trips_and_names_what_is_wrong() {
        let namespace: Namespace = "project/shop".parse().unwrap();
        assert_eq!(namespace.parts(), ["project", "shop"]);
        assert_eq!(namespace.to_string(), "project/shop");
        assert_eq!(serde_json::to_string(&namespace).unwrap(), r#"["project","shop"]"#);
        assert_eq!(r#"["project","shop"]"#.parse::<Namespace>().unwrap(), namespace);
        let error = "a//b".parse::<Namespace>().unwrap_err().to_string();
        assert_eq!(
            error,
            r#""a//b" is not a namespace; use one to eight non-empty names joined by '/', e.g. global or project/shop"#
        );
    }
}
