//! Memories and changes as a person or an agent writes them, and the checks of what may be written.

use jiff::Timestamp;
use serde_json::Value;

use super::ApiError;
use super::scale::{PAST, wrong_expiry};
use crate::consolidate::compare::features::Features;
use crate::consolidate::{Author, supported};
use crate::guard::{Redact, order_from_elsewhere, secret_in};
use crate::memory::{Audience, Claim, Memory, MemoryType, Namespace, Scope, Structured};
use crate::text::change::phrases;
use crate::text::normalise::title_of;
use crate::text::script::is_unspaced;
use crate::text::tokens::{is_listed, is_stop};
use crate::text::visible::visible;

/// Maximum length of the content of a memory that a person or an agent writes, in characters.
pub(super) const MAX_CONTENT_CHARS: usize = 8_000;
/// Maximum number of tags of a memory.
const MAX_TAGS: usize = 100;

/// A memory as a person or an agent writes it, before it is compared with the known memories.
#[derive(Debug, Clone, PartialEq)]
pub struct MemoryDraft {
    /// One self-contained sentence, or a short paragraph.
    pub text: String,
    /// The type: a fact, an event or a way of doing something.
    pub memory_type: MemoryType,
    /// One of the allowed categories.
    pub category: String,
    /// A few words; by default, the first words of the text.
    pub title: Option<String>,
    /// Topic tag.
    pub subject: Option<String>,
    /// Attribute that the memory sets.
    pub key: Option<String>,
    /// Value of the attribute.
    pub value: Option<String>,
    /// A shorter wording for briefs.
    pub summary: Option<String>,
    /// Structured parts, which depend on the type.
    pub structured: Option<Structured>,
    /// The id of the memory if it is new, a UUID that no memory has; by default, an id is assigned.
    pub id: Option<String>,
    /// The intended lifetime.
    pub scope: Scope,
    /// Importance, from 0 to 1.
    pub importance: f64,
    /// Free tags.
    pub tags: Vec<String>,
    /// Time at which the memory expires and is no longer recalled.
    pub expires_at: Option<Timestamp>,
    /// The people or projects to which the memory applies.
    pub audience: Audience,
    /// Source of the memory.
    pub source: String,
    /// The author of a memory.
    pub author: Author,
}

impl MemoryDraft {
    /// Returns a long-term fact written by a person.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            memory_type: MemoryType::Semantic,
            category: "fact".to_owned(),
            title: None,
            subject: None,
            key: None,
            value: None,
            summary: None,
            structured: None,
            id: None,
            scope: Scope::LongTerm,
            importance: 0.7,
            tags: Vec::new(),
            expires_at: None,
            audience: Audience::Project,
            source: "remember".to_owned(),
            author: Author::Person,
        }
    }

    /// Returns the draft with the values of a change, except for its content.
    pub(crate) fn with(self, change: &MemoryChange) -> Self {
        let change = change.clone();
        Self {
            memory_type: change.memory_type.unwrap_or(self.memory_type),
            category: change.category.unwrap_or(self.category),
            title: change.title.or(self.title),
            subject: change.subject.or(self.subject),
            value: change.value.or(self.value),
            summary: change.summary.or(self.summary),
            structured: change.structured.or(self.structured),
            scope: change.scope.unwrap_or(self.scope),
            importance: change.importance.unwrap_or(self.importance),
            tags: change.tags.unwrap_or(self.tags),
            expires_at: change.expires_at.or(self.expires_at),
            ..self
        }
    }

    pub(super) fn claim(&self, now: Timestamp) -> Claim {
        let text = self.text.trim();
        let title = self.title.as_deref().and_then(given).unwrap_or_else(|| title_of(text));
        Claim {
            subject: self.subject.as_deref().and_then(given),
            key: self.key.clone(),
            value: self.value.clone(),
            summary: self.summary.clone().filter(|summary| !summary.trim().is_empty()),
            structured: self.structured.clone(),
            // A memory that expires is short-term, regardless of the scope given.
            scope: if self.expires_at.is_some() { Scope::ShortTerm } else { self.scope },
            importance: self.importance,
            tags: tidy(&self.tags),
            expires_at: self.expires_at,
            valid_from: Some(now),
            ..Claim::new(self.memory_type, &self.category, title, text)
        }
    }
}

/// New values for the fields of a memory; `None` leaves a field unchanged.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct MemoryChange {
    /// The content. If the title, summary, value or a structured part was derived from the former content, it is updated
    /// as well.
    pub content: Option<String>,
    /// A few words; an empty text derives them from the content.
    pub title: Option<String>,
    /// A shorter wording for briefs; an empty text removes it.
    pub summary: Option<String>,
    /// Value of the attribute that the memory sets.
    pub value: Option<String>,
    /// Category of the memory.
    pub category: Option<String>,
    /// Topic of the memory; an empty text removes it.
    pub subject: Option<String>,
    /// The importance, from 0 to 1; numbers from 2 to 10 count as tenths.
    pub importance: Option<f64>,
    /// New tags, which replace the current tags.
    pub tags: Option<Vec<String>>,
    /// The type: a fact, an event or a way of doing something.
    pub memory_type: Option<MemoryType>,
    /// The confidence, from 0 to 1.
    pub confidence: Option<f64>,
    /// Time at which the memory expires and is no longer recalled; it makes the memory short-term.
    pub expires_at: Option<Timestamp>,
    /// The intended lifetime; a memory that becomes long-term does not expire.
    pub scope: Option<Scope>,
    /// Structured parts.
    pub structured: Option<Structured>,
}

impl MemoryChange {
    /// Returns `claim` with the change applied.
    pub(super) fn applied_to(&self, claim: &Claim) -> Claim {
        let change = self.clone();
        let content = change.content.map_or_else(|| claim.content.clone(), |text| text.trim().to_owned());
        let is_same = content == claim.content;
        let known = claim.value.as_ref();
        let value =
            known.and_then(|value| if is_same { Some(value.clone()) } else { value_in(&content, claim, value) });
        let title = if claim.title == title_of(&claim.content) {
            title_of(&content)
        } else {
            // A title that the person wrote is kept, but the new value replaces the former value in it. A very short
            // value may be part of a word, so it is not replaced.
            match (&claim.value, &value) {
                (Some(old), Some(new)) if old.chars().count() > 2 => claim.title.replace(old.as_str(), new),
                (Some(old), None) if claim.title.contains(old.as_str()) => title_of(&content),
                (Some(_) | None, Some(_) | None) => claim.title.clone(),
            }
        };
        let title = change.title.map_or(title, |text| given(&text).unwrap_or_else(|| title_of(&content)));
        let value = change.value.or(value);
        let is_revised = !is_same || value != claim.value;
        let derived = |mut parts: Structured| {
            if !is_revised {
                return Some(parts);
            }
            let of_value = claim.value.as_ref().zip(value.as_ref());
            parts.edit_texts(&mut |text| restate(text, (&claim.content, &content), of_value));
            let Structured::Profile { mut profile } = parts else { return Some(parts) };
            profile.retain(|_, stated| states(stated, |text| content.contains(text) || !claim.content.contains(text)));
            (!profile.is_empty()).then_some(Structured::Profile { profile })
        };
        Claim {
            // Otherwise, a summary of the former content would be recalled instead of the new content.
            summary: match change.summary {
                Some(summary) => Some(summary).filter(|summary| !summary.trim().is_empty()),
                None => claim.summary.clone().filter(|_| is_same),
            },
            category: change.category.unwrap_or_else(|| claim.category.clone()),
            subject: change.subject.map_or_else(|| claim.subject.clone(), |text| given(&text)),
            importance: change.importance.unwrap_or(claim.importance),
            confidence: change.confidence.unwrap_or_else(|| {
                if self.content.is_some() { supported(claim.confidence, 1.0, true) } else { claim.confidence }
            }),
            memory_type: change.memory_type.unwrap_or(claim.memory_type),
            tags: change.tags.map_or_else(|| claim.tags.clone(), |tags| tidy(&tags)),
            scope: if change.expires_at.is_some() { Scope::ShortTerm } else { change.scope.unwrap_or(claim.scope) },
            expires_at: change.expires_at.or(claim.expires_at.filter(|_| change.scope != Some(Scope::LongTerm))),
            structured: change.structured.or_else(|| claim.structured.clone().and_then(derived)),
            title,
            value,
            content,
            ..claim.clone()
        }
    }
}

/// Returns the value that `content` states where the claim stated `value`: the same value if it still appears, and
/// otherwise the text between the same words. Returns `None` if the value cannot be determined, for example since
/// `content` says that it no longer applies.
fn value_in(content: &str, claim: &Claim, value: &str) -> Option<String> {
    let former = claim.content.as_str();
    if content.contains(value) {
        let is_turned = Features::of(content).polarity != Features::of(former).polarity;
        let still_applies = !is_turned && phrases(content).len() <= phrases(former).len();
        return still_applies.then(|| value.to_owned());
    }
    let (before, after) = former.split_once(value)?;
    let rest = content.strip_prefix(before).or_else(|| after_other_subject(content, before, claim))?;
    let found = rest.strip_suffix(after)?.trim();
    (!found.is_empty()).then(|| found.to_owned())
}

/// Subjects that mean the person whose attribute a memory sets, in lower case.
const PERSON: &str = "the user i he she they der die benutzer nutzer ich er sie el la usuario yo él ella 用户 我 他 她";

/// Returns what follows in `content` after the words with which `before` ends, if only the subject before these words
/// differs, as in "The user lives in" and "Zoë lives in". The new subject must be the person in the claim's key.
fn after_other_subject<'c>(content: &'c str, before: &str, claim: &Claim) -> Option<&'c str> {
    let begins = |text: &str, at: usize| {
        let (before, after) = (text[..at].chars().next_back(), text[at..].chars().next());
        before.is_none_or(char::is_whitespace) || after.is_some_and(is_unspaced)
    };
    let known = [claim.key.as_deref(), claim.subject.as_deref()].into_iter().flatten().collect::<Vec<_>>().join(" ");
    let known = known.to_lowercase();
    let named: Vec<&str> = known.split(|letter: char| !letter.is_alphanumeric()).collect();
    let is_person = |subject: &str| {
        let subject = subject.to_lowercase();
        let mut words = subject.split_whitespace().peekable();
        words.peek().is_some() && words.all(|word| named.contains(&word) || is_listed(PERSON, word))
    };
    // The longest end of the text comes first. A function word alone, such as "in", is not enough.
    let ends = before.char_indices().map(|(at, _)| at).filter(|&at| at > 0 && begins(before, at));
    let mut ends = ends.map(|at| &before[at..]).filter(|end| {
        let says = end.split_whitespace().any(|word| !is_stop(&word.to_lowercase()));
        says && (!end.starts_with(is_unspaced) || end.chars().count() > 1)
    });
    ends.find_map(|end| {
        let at = content.find(end)?;
        (begins(content, at) && is_person(&content[..at])).then(|| &content[at + end.len()..])
    })
}

/// Changes a part of a memory that repeats its content to the new content, and replaces its value, where it stands as a
/// word of its own, with the new value.
fn restate(text: &mut String, content: (&String, &String), value: Option<(&String, &String)>) {
    if text == content.0 {
        content.1.clone_into(text);
    } else if let Some((old, new)) = value.filter(|(old, new)| old != new && !old.is_empty()) {
        let is_edge = |c: Option<char>| c.is_none_or(|c| !c.is_alphanumeric());
        let places: Vec<usize> = text.match_indices(old.as_str()).map(|(at, _)| at).collect();
        for at in places.into_iter().rev() {
            let (before, after) = (&text[..at], &text[at + old.len()..]);
            if is_edge(before.chars().next_back()) && is_edge(after.chars().next()) {
                text.replace_range(at..at + old.len(), new);
            }
        }
    }
}

/// Removes the items of a list of which `is_kept` is false, and returns whether anything of the value remains.
fn states(value: &mut Value, is_kept: impl Fn(&str) -> bool + Copy) -> bool {
    match value {
        Value::String(text) => is_kept(text),
        Value::Number(number) => is_kept(&number.to_string()),
        Value::Array(values) => {
            values.retain_mut(|value| states(value, is_kept));
            !values.is_empty()
        }
        Value::Null | Value::Bool(_) | Value::Object(_) => true,
    }
}

pub(super) fn check_content(content: &str) -> Result<(), ApiError> {
    let chars = content.chars().count();
    // A text of invisible characters counts as empty, too.
    match visible(content, true).trim() {
        "" => Err(ApiError::Invalid("there is no text to remember; give a sentence".to_owned())),
        _ if chars > MAX_CONTENT_CHARS => Err(ApiError::TooLong { chars, most: MAX_CONTENT_CHARS }),
        _ => Ok(()),
    }
}

/// Rejects fields that are too long to be read by a person or a model.
pub(super) fn check_sizes(claim: &Claim, source: &str) -> Result<(), ApiError> {
    let fields = [
        ("title", Some(claim.title.as_str()), 500),
        ("summary", claim.summary.as_deref(), MAX_CONTENT_CHARS),
        ("subject", claim.subject.as_deref(), 200),
        ("key", claim.key.as_deref(), 500),
        ("value", claim.value.as_deref(), MAX_CONTENT_CHARS),
        ("source", Some(source), 2_000),
    ];
    let tags = claim.tags.iter().map(|tag| ("tag", Some(tag.as_str()), 200));
    for (field, text, most) in fields.into_iter().chain(tags) {
        if text.is_some_and(|text| text.chars().nth(most).is_some()) {
            return Err(ApiError::Invalid(format!("the {field} is longer than {most} characters; shorten it")));
        }
    }
    if claim.tags.len() > MAX_TAGS {
        return Err(ApiError::Invalid(format!("a memory has at most {MAX_TAGS} tags; leave some out")));
    }
    Ok(())
}

/// Rejects a key that looks like another one, or that the guard changed from `given` to `stored`, because two keys
/// could become one.
pub(super) fn check_key(given: Option<&str>, stored: Option<&str>) -> Result<(), ApiError> {
    let Some(key) = given else { return Ok(()) };
    let why = if visible(key, false).trim() != key {
        "has white space at its start or end, or invisible characters; remove them"
    } else if stored != given {
        "contains personal data, which would be redacted; choose another key"
    } else {
        return Ok(());
    };
    Err(ApiError::Invalid(format!("the key {why}")))
}

pub(super) fn refuse_pinned(memory: &Memory, author: Author) -> Result<(), ApiError> {
    let is_refused = author == Author::Agent && memory.pinned;
    if is_refused { Err(ApiError::Pinned { id: memory.id.to_string() }) } else { Ok(()) }
}

/// Rejects an expiry in the past.
pub(super) fn refuse_past(at: Option<Timestamp>) -> Result<(), ApiError> {
    match at.filter(|at| *at <= Timestamp::now()) {
        Some(at) => Err(wrong_expiry(&at.to_string(), PAST)),
        None => Ok(()),
    }
}

/// Rejects values that contain a secret; personal data is not a secret.
pub(super) fn refuse_secrets<T: Redact>(value: T) -> Result<(), ApiError> {
    secret_in(value).map_or(Ok(()), |name| Err(ApiError::Secret { name }))
}

/// Rejects namespaces that contain a secret, because namespaces are stored and shown like texts. They are not redacted,
/// because two namespaces could become one.
pub(crate) fn refuse_secret_namespace(namespace: &Namespace) -> Result<(), ApiError> {
    secret_in(namespace.to_string()).map_or(Ok(()), |name| {
        Err(ApiError::Invalid(format!(
            "the namespace contains a secret ({name}), which is never kept; choose another name"
        )))
    })
}

/// Whether a claim would act as an instruction to a model that recalls it, in which case only a person may store it.
pub(crate) fn reads_like_an_order(claim: &Claim) -> bool {
    refuse_orders(claim, None).is_err()
}

/// Rejects text that would act as an instruction to a model that recalls it. The classifier does not judge the texts of
/// `known`, the form of the memory so far, again.
pub(super) fn refuse_orders(claim: &Claim, known: Option<&Claim>) -> Result<(), ApiError> {
    order_from_elsewhere(claim, &[], known).map_or(Ok(()), |order| {
        Err(ApiError::Invalid(format!(
            "the text {}, and only a person may store such a memory; state a fact instead of an instruction",
            order.reason()
        )))
    })
}

/// Returns the trimmed text; `None` if it is empty, because an empty text counts as not given.
fn given(text: &str) -> Option<String> {
    Some(text.trim()).filter(|text| !text.is_empty()).map(str::to_owned)
}

/// Returns the tags trimmed, without empty tags and duplicates.
fn tidy(tags: &[String]) -> Vec<String> {
    let mut kept: Vec<String> = Vec::with_capacity(tags.len());
    for tag in tags.iter().map(|tag| tag.trim()).filter(|tag| !tag.is_empty()) {
        if !kept.iter().any(|known| known == tag) {
            kept.push(tag.to_owned());
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_edit_may_name_the_person_of_the_key() {
        let claim = |content: &str, value: &str| Claim {
            key: Some("person.zoë.residence".into()),
            value: Some(value.into()),
            ..Claim::new(MemoryType::Semantic, "person", "Residence", content)
        };
        let table = [
            ("The user lives in Lisbon.", "Lisbon", "Zoë lives in Porto.", Some("Porto")),
            ("Zoë lives in Lisbon.", "Lisbon", "The user lives in Porto.", Some("Porto")),
            ("The user lives in Lisbon.", "Lisbon", "The user lives in Porto.", Some("Porto")),
            ("用户住在里斯本。", "里斯本", "她住在波尔图。", Some("波尔图")),
            ("The user lives in Lisbon.", "Lisbon", "Zoë no longer lives in Porto.", None),
            ("The user lives in Lisbon.", "Lisbon", "The sister of the user lives in Porto.", None),
            ("The user lives in Lisbon.", "Lisbon", "Zoë is in Porto.", None),
        ];
        for (former, value, content, expected) in table {
            assert_eq!(value_in(content, &claim(former, value), value).as_deref(), expected, "{content}");
        }
    }
}
