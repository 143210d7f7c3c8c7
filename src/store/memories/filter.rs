//! Converts filters of memories to SQL. Every condition is part of the query, so code that reads the rows need not
//! check any condition.

use std::fmt::Write as _;

use jiff::Timestamp;
use memchr::memchr2_iter;
use rusqlite::Connection;
use rusqlite::functions::FunctionFlags;
use rusqlite::types::Value;

use crate::memory::fading::{Certainty, HalfLives};
use crate::memory::{MemoryType, Namespace, Scope, Status, string_enum};
use crate::text::normalise::caseless;

/// Conditions on memories. A memory must meet the conditions of all fields. The values of one field are alternatives,
/// except for `tags`, all of which a memory must have.
#[derive(Debug, Clone, PartialEq)]
pub struct Filter {
    /// The namespaces to search; if empty, all namespaces.
    pub namespaces: Vec<NamespaceSubtree>,
    /// The types of the memories; if empty, any type.
    pub types: Vec<MemoryType>,
    /// The categories of the memories; if empty, any category.
    pub categories: Vec<String>,
    /// The status of the memories: active by default; if empty, any status.
    pub statuses: Vec<Status>,
    /// The intended lifetime of the memories; if empty, any lifetime.
    pub scopes: Vec<Scope>,
    /// Tags that each memory must have.
    pub tags: Vec<String>,
    /// The subject of the memories, in upper or lower case.
    pub subject: Option<String>,
    /// The source that the memories were learnt from, or a conversation that they were learnt from or confirmed by.
    pub source: Option<String>,
    /// A part of the name of somebody who said them. Case is ignored only for the letters A to Z.
    pub speaker: Option<String>,
    /// The memories were last said or, if that time is unknown, learnt at this time or later.
    pub said_from: Option<Timestamp>,
    /// The memories were last said or, if that time is unknown, learnt before this time.
    pub said_before: Option<Timestamp>,
    /// Whether the memories are pinned.
    pub pinned: Option<bool>,
    /// Minimum importance.
    pub min_importance: Option<f64>,
    /// Maximum importance.
    pub max_importance: Option<f64>,
    /// Minimum confidence that remains at the time of the query.
    pub min_confidence: Option<f64>,
    /// The memories were learnt at this time or later.
    pub created_from: Option<Timestamp>,
    /// The memories were learnt before this time.
    pub created_before: Option<Timestamp>,
    /// The memories were changed at this time or later.
    pub updated_from: Option<Timestamp>,
    /// The memories were used at this time or later.
    pub used_from: Option<Timestamp>,
    /// The memories were true at this time, as far as is known.
    pub valid_at: Option<Timestamp>,
    /// The memories have expired at this time, even if they are not marked as expired. Memories that are marked as
    /// expired are included even if they have no expiry time, because these have faded.
    pub expired_at: Option<Timestamp>,
    /// The memories have not expired at this time.
    pub unexpired_at: Option<Timestamp>,
    /// Text that appears literally in the title, content, summary, subject or tags. Case is ignored only for the
    /// letters A to Z.
    pub text: Option<String>,
    /// A person must decide about the memories: they are pending, or active and linked as contradicting an active
    /// memory.
    pub undecided: bool,
}

impl Default for Filter {
    fn default() -> Self {
        Self {
            namespaces: Vec::new(),
            types: Vec::new(),
            categories: Vec::new(),
            statuses: vec![Status::Active],
            scopes: Vec::new(),
            tags: Vec::new(),
            subject: None,
            source: None,
            speaker: None,
            said_from: None,
            said_before: None,
            pinned: None,
            min_importance: None,
            max_importance: None,
            min_confidence: None,
            created_from: None,
            created_before: None,
            updated_from: None,
            used_from: None,
            valid_at: None,
            expired_at: None,
            unexpired_at: None,
            text: None,
            undecided: false,
        }
    }
}

impl Filter {
    /// Returns the filter for the active memories of exactly these namespaces.
    #[must_use]
    pub fn exactly(namespaces: &[Namespace]) -> Self {
        Self { namespaces: namespaces.iter().cloned().map(NamespaceSubtree::Exactly).collect(), ..Self::default() }
    }
}

/// A part of the tree of namespaces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NamespaceSubtree {
    /// Only this namespace.
    Exactly(Namespace),
    /// This namespace and all namespaces below it.
    Under(Namespace),
}

impl NamespaceSubtree {
    /// Returns whether the subtree contains a namespace.
    pub(crate) fn contains(&self, namespace: &Namespace) -> bool {
        match self {
            Self::Exactly(one) => one == namespace,
            Self::Under(one) => {
                let (one, namespace) = (one.to_string(), namespace.to_string());
                namespace.strip_prefix(&one).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            }
        }
    }
}

macro_rules! faded {
    () => {
        "(SELECT faded(m.confidence, m.type, m.pinned, u.access_count,
            max(m.updated_at, ifnull(u.last_accessed_at, 0), ifnull(u.confirmed_at, 0)),
            CAST(unixepoch('subsec') * 1000 AS INTEGER)) FROM memory_usage u WHERE u.memory_id = m.id)"
    };
}
/// The confidence of a memory `m` that remains at the time of the query.
const FADED: &str = faded!();

string_enum!(
    /// The sort order of a list.
    #[derive(Default)]
    Order, "an order", {
    /// By time of change, latest first.
    #[default]
    Updated = "updated",
    /// By time of learning, latest first.
    Created = "created",
    /// By the confidence that remains at the time of the query, highest first, then by time of change, latest first.
    Confidence = "confidence",
    /// By number of uses, highest first, then by time of change, latest first.
    Used = "used",
    /// By importance, highest first, then by time of change, latest first.
    Importance = "importance",
    /// By id, which is the order in which the memories were learnt.
    Id = "id",
});

impl Order {
    /// Returns the order in SQL, in reverse if `is_ascending`.
    pub(in crate::store) fn sql(self, is_ascending: bool) -> String {
        let order = match self {
            Self::Updated => "m.updated_at DESC, m.id DESC",
            Self::Created => "m.created_at DESC, m.id DESC",
            Self::Importance => "m.importance DESC, m.updated_at DESC, m.id DESC",
            Self::Used => "u.access_count DESC, m.updated_at DESC, m.id DESC",
            Self::Confidence => concat!(faded!(), " DESC, m.updated_at DESC, m.id DESC"),
            Self::Id => "m.id",
        };
        match (is_ascending, self) {
            (false, _) => order.to_owned(),
            (true, Self::Id) => "m.id DESC".to_owned(),
            (true, _) => order.replace(" DESC", ""),
        }
    }
}

/// Time at which a memory was last said or, if that is unknown, learnt.
const LAST_SAID: &str = "ifnull((SELECT max(e.said_at) FROM evidence e WHERE e.memory_id = m.id), m.created_at)";

/// Defines the SQL functions `faded`, `caseless` and `holds` on a connection; see [`Certainty::at`], [`caseless`] and
/// [`holds`].
pub(in crate::store) fn define_functions(conn: &Connection) -> rusqlite::Result<()> {
    let flags = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC;
    let plain = |text: Option<String>| text.map(|text| caseless(&text));
    conn.create_scalar_function("caseless", 1, flags, move |row| Ok(plain(row.get(0)?)))?;
    conn.create_scalar_function("holds", -1, flags, |row| {
        let text = |at| row.get_raw(at).as_bytes_or_null().map(Option::unwrap_or_default);
        let (wanted, mut found) = (text(0)?, false);
        for at in 1..row.len() {
            found = found || holds(text(at)?, wanted);
        }
        Ok(found)
    })?;
    conn.create_scalar_function("faded", 6, flags, |row| {
        let certainty = Certainty {
            confidence: row.get(0)?,
            memory_type: row.get::<String>(1)?.parse().unwrap_or(MemoryType::Semantic),
            pinned: row.get(2)?,
            access_count: row.get(3)?,
            last_sure: Timestamp::from_millisecond(row.get(4)?).unwrap_or(Timestamp::UNIX_EPOCH),
        };
        let now = Timestamp::from_millisecond(row.get(5)?).unwrap_or(Timestamp::UNIX_EPOCH);
        Ok(certainty.at(&HalfLives::default(), now))
    })
}

/// Returns whether `text` contains `wanted`, regardless of the case of the letters A to Z.
///
/// This takes half the time of `instr(lower(…), …)`, which copies each text.
fn holds(text: &[u8], wanted: &[u8]) -> bool {
    let Some(first) = wanted.first() else { return true };
    memchr2_iter(first.to_ascii_lowercase(), first.to_ascii_uppercase(), text)
        .any(|at| text[at..].get(..wanted.len()).is_some_and(|part| part.eq_ignore_ascii_case(wanted)))
}

/// Conditions in SQL, with the values that are bound to them in order.
#[derive(Debug, Default)]
pub(in crate::store) struct Clauses {
    conditions: Vec<String>,
    pub(in crate::store) values: Vec<Value>,
}

impl Clauses {
    pub(in crate::store) fn of(filter: &Filter) -> Self {
        let mut clauses = Self::default();
        clauses.within(&filter.namespaces);
        clauses.one_of("m.type", filter.types.iter().map(|value| value.as_str()));
        clauses.one_of("m.category", filter.categories.iter().map(String::as_str));
        clauses.one_of("m.status", filter.statuses.iter().map(|value| value.as_str()));
        clauses.one_of("m.scope", filter.scopes.iter().map(|value| value.as_str()));
        if let Some(subject) = &filter.subject {
            // Comparing the subjects alone leaves the index on subjects usable.
            let same =
                "m.subject IN (SELECT subject FROM memories WHERE subject IS NOT NULL AND caseless(subject) = ?)";
            clauses.push(same, [Value::from(caseless(subject.trim()))]);
        }
        if let Some(source) = &filter.source {
            // The sources of a memory include every conversation that confirmed it.
            let condition =
                "(m.source = ? OR EXISTS (SELECT 1 FROM evidence e WHERE e.memory_id = m.id AND e.transcript = ?))";
            clauses.push(condition, [Value::from(source.clone()), Value::from(source.clone())]);
        }
        if let Some(speaker) = &filter.speaker {
            // In most logs of coding agents, the user has no name.
            let condition = "EXISTS (SELECT 1 FROM evidence e WHERE e.memory_id = m.id
                AND instr(lower(ifnull(e.speaker, 'user')), ?) > 0)";
            clauses.push(condition, [Value::from(speaker.replace('\0', "").to_ascii_lowercase())]);
        }
        for tag in &filter.tags {
            // A memory that was also stored under another subject has that subject as a tag.
            let has = "EXISTS (SELECT 1 FROM json_each(m.tags) WHERE caseless(value) = ?)";
            clauses.push(has, [Value::from(caseless(tag.trim()))]);
        }
        clauses.compared(filter);
        if let Some(text) = &filter.text {
            clauses.containing(text);
        }
        if filter.undecided {
            // `CROSS JOIN` begins with the few contradictions instead of all active memories.
            let condition = "m.id IN (SELECT id FROM memories WHERE status = 'pending' UNION ALL
                SELECT r.from_id FROM relations r CROSS JOIN memories s CROSS JOIN memories o
                WHERE r.type = 'contradicts' AND s.id = r.from_id AND s.status = 'active'
                AND o.id = r.to_id AND o.status = 'active')";
            clauses.push(condition, []);
        }
        clauses
    }

    /// Returns only the conditions of `filter` on namespaces, for any table `m` with a column for namespaces.
    pub(in crate::store) fn within_alone(filter: &Filter) -> Self {
        let mut clauses = Self::default();
        clauses.within(&filter.namespaces);
        clauses
    }

    /// Keeps SQLite from choosing an index because it begins with the status.
    pub(in crate::store) fn ignore_index_of_status(&mut self) {
        let of_status = self.conditions.iter_mut().filter(|condition| condition.starts_with("m.status"));
        of_status.for_each(|condition| condition.insert(0, '+'));
    }

    /// Returns the conditions joined by `AND`, or a condition that is always true.
    pub(in crate::store) fn sql(&self) -> String {
        if self.conditions.is_empty() { "1".to_owned() } else { self.conditions.join(" AND ") }
    }

    pub(in crate::store) fn push(&mut self, condition: impl Into<String>, values: impl IntoIterator<Item = Value>) {
        self.conditions.push(condition.into());
        self.values.extend(values);
    }

    /// Adds the condition that the text occurs in the title, content, summary, subject or tags.
    ///
    /// The condition does not use `LIKE`, which rejects long patterns.
    pub(in crate::store) fn containing(&mut self, text: &str) {
        // Tags are stored as a JSON list, whose punctuation is not part of any tag.
        let tags = if text.contains(['"', '[', ']', ',', '\\']) {
            "(SELECT group_concat(value, char(10)) FROM json_each(m.tags))"
        } else {
            "m.tags"
        };
        let condition = format!("holds(?, m.title, m.content, m.summary, m.subject, {tags})");
        self.push(condition, [Value::from(text.replace('\0', ""))]);
    }

    fn within(&mut self, namespaces: &[NamespaceSubtree]) {
        let mut condition = String::new();
        let mut values = Vec::new();
        for within in namespaces {
            let joint = if condition.is_empty() { "(" } else { " OR " };
            match within {
                NamespaceSubtree::Exactly(namespace) => {
                    write!(condition, "{joint}m.namespace = ?").expect("writing to a String cannot fail");
                    values.push(Value::from(namespace.to_string()));
                }
                NamespaceSubtree::Under(namespace) => {
                    // '0' is the character after '/', so the range contains exactly the texts that begin with "path/".
                    write!(condition, "{joint}m.namespace = ? OR (m.namespace >= ? AND m.namespace < ?)")
                        .expect("writing to a String cannot fail");
                    values.push(Value::from(namespace.to_string()));
                    values.push(Value::from(format!("{namespace}/")));
                    values.push(Value::from(format!("{namespace}0")));
                }
            }
        }
        if !condition.is_empty() {
            self.push(condition + ")", values);
        }
    }

    fn one_of<'v>(&mut self, column: &str, values: impl IntoIterator<Item = &'v str>) {
        let values: Vec<Value> = values.into_iter().map(|value| Value::from(value.to_owned())).collect();
        if !values.is_empty() {
            self.push(format!("{column} IN ({})", vec!["?"; values.len()].join(", ")), values);
        }
    }

    fn compared(&mut self, filter: &Filter) {
        if let Some(pinned) = filter.pinned {
            self.push("m.pinned = ?", [Value::from(i64::from(pinned))]);
        }
        let shares = [
            ("m.importance >= ?".to_owned(), filter.min_importance),
            ("m.importance <= ?".to_owned(), filter.max_importance),
            (format!("{FADED} >= ?"), filter.min_confidence),
        ];
        for (condition, share) in shares {
            self.conditions.extend(share.is_some().then_some(condition));
            self.values.extend(share.map(Value::from));
        }
        // The condition on the end alone leaves its index usable.
        let is_marked_too = filter.statuses.contains(&Status::Expired);
        let over = if is_marked_too { "(m.status = 'expired' OR m.expires_at <= ?)" } else { "m.expires_at <= ?" };
        let times = [
            (&*format!("{LAST_SAID} >= ?"), filter.said_from),
            (&*format!("{LAST_SAID} < ?"), filter.said_before),
            ("m.created_at >= ?", filter.created_from),
            ("m.created_at < ?", filter.created_before),
            ("m.updated_at >= ?", filter.updated_from),
            ("m.id IN (SELECT memory_id FROM memory_usage WHERE last_accessed_at >= ?)", filter.used_from),
            (over, filter.expired_at),
            ("(m.expires_at IS NULL OR m.expires_at > ?)", filter.unexpired_at),
        ];
        for (condition, at) in times {
            if let Some(at) = at {
                self.push(condition, [Value::from(at.as_millisecond())]);
            }
        }
        if let Some(at) = filter.valid_at {
            let at = Value::from(at.as_millisecond());
            // If the start of a memory's validity is unknown, the memory counts as valid from the time when it was
            // learnt.
            let condition = "ifnull(m.valid_from, m.created_at) <= ? AND (m.valid_to IS NULL OR m.valid_to > ?)";
            self.push(condition, [at.clone(), at]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_holds_another_regardless_of_ascii_case() {
        let held = |text: &str, wanted: &str| holds(text.as_bytes(), wanted.as_bytes());
        assert!(held("the Port is 80", "port IS"));
        assert!(held("ab茶c", "茶C"));
        assert!(held("aab", "ab"));
        assert!(held("", ""));
        assert!(!held("por", "port"));
        assert!(!held("", "p"));
        assert!(!held("É", "é"), "only A to Z");
    }
}
