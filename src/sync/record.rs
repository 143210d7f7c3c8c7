//! Records, the form in which rows are sent: the versions of a row that no machine has replaced yet, and a vector of
//! the known versions; the items that contain records; and the namespaces whose rows are sent.
//!
//! The union of two records of one row does not depend on the order or the number of deliveries. A change on one
//! machine is a record with one version; a snapshot is the list of all records. Both are therefore read in the same
//! way.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use transcripts::hex;

use crate::changeset::{Entity, Row, RowKey};
use crate::memory::{Memory, MemoryId, Namespace, Status};
use crate::store::StoredRecord;

use super::cipher::is_log_of;
use super::error::SyncError;
use super::log::LogItem;

/// A point in logical time: no clock is involved, so a wrong clock cannot affect which change takes precedence.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct Stamp {
    /// Counter that is larger than that of every change known to the machine.
    pub(crate) lamport: u64,
    /// The machine that made the change.
    pub(crate) device: String,
    /// The item of its log that contains the change.
    pub(crate) seq: u64,
}

/// One state of a row.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Version {
    /// Identity and order of the change.
    #[serde(flatten)]
    pub(crate) stamp: Stamp,
    /// Whether a synchronisation made the change, which therefore counts less than any change by a person or a run.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) derived: bool,
    /// The change that last changed the statement of a memory; `None` if it is this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) said: Option<Stamp>,
    /// The memories about the same attribute, or with the same words, that were known to whoever made the statement.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) knew: BTreeMap<MemoryId, Stamp>,
    /// The row; its `after` side is `None` if the change removed the row, and its `before` side is never used.
    pub(crate) state: Row,
}

/// Everything that is known about one row.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Record {
    /// Hash of the row's identity.
    pub(crate) key: String,
    pub(crate) entity: Entity,
    pub(crate) memory: MemoryId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) other: Option<MemoryId>,
    /// The last known change of each machine; earlier ones are known, too.
    pub(crate) vector: BTreeMap<String, u64>,
    /// The versions that no known change has replaced, sorted by stamp.
    #[serde(default)]
    pub(crate) versions: Vec<Version>,
    /// Whether the row was erased, which takes precedence over any other change.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) erased: bool,
}

impl Version {
    /// Returns the change that made the statement.
    pub(crate) fn said(&self) -> &Stamp {
        self.said.as_ref().unwrap_or(&self.stamp)
    }

    /// Returns the memory, if the row is one.
    pub(crate) fn memory(&self) -> Option<&Memory> {
        match &self.state {
            Row::Memory { after, .. } => after.as_deref(),
            Row::Evidence { .. } | Row::Relation { .. } | Row::Tombstone { .. } => None,
        }
    }

    /// Returns whether the version has no former state, as required.
    pub(crate) const fn is_sound(&self) -> bool {
        !exists(&self.state).0
    }

    /// Returns whether the row is gone, or the memory was forgotten.
    fn is_gone(&self) -> bool {
        match &self.state {
            Row::Memory { after, .. } => after.as_ref().is_none_or(|memory| memory.status == Status::Forgotten),
            row => is_none(row),
        }
    }

    /// Compares two versions that were made independently: the greater one takes precedence.
    fn rank(&self, other: &Self) -> Ordering {
        let class = |version: &Self| (!version.derived, version.is_gone());
        class(self)
            .cmp(&class(other))
            .then_with(|| self.stamp.cmp(&other.stamp))
            // Two copies of one database may use the same stamp for different changes.
            .then_with(|| self.fingerprint().cmp(&other.fingerprint()))
    }

    fn fingerprint(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    fn is_in(&self, vector: &BTreeMap<String, u64>) -> bool {
        vector.get(&self.stamp.device).is_some_and(|seq| *seq >= self.stamp.seq)
    }
}

impl Record {
    /// Returns a record without any version of the row.
    pub(crate) fn of(row: &Row) -> Option<Self> {
        let (memory, other) = row.memories()?;
        Some(Self {
            key: key_of(row)?,
            entity: row.entity(),
            memory: memory.clone(),
            other: other.cloned(),
            vector: BTreeMap::new(),
            versions: Vec::new(),
            erased: false,
        })
    }

    /// Returns the version that takes precedence.
    pub(crate) fn current(&self) -> Option<&Version> {
        self.versions.iter().max_by(|a, b| a.rank(b))
    }

    /// Returns the union of what two machines know about a row.
    pub(crate) fn join(self, other: Self) -> Self {
        let mut vector = self.vector.clone();
        for (device, seq) in &other.vector {
            let known = vector.entry(device.clone()).or_default();
            *known = (*known).max(*seq);
        }
        let erased = self.erased || other.erased;
        let mut versions: Vec<Version> = Vec::new();
        let same = |version: &Version, all: &[Version]| all.iter().any(|one| one.stamp == version.stamp);
        for version in &self.versions {
            // A version that the other record knows but does not contain was replaced.
            if same(version, &other.versions) || !version.is_in(&other.vector) {
                versions.push(version.clone());
            }
        }
        for version in other.versions {
            match versions.iter_mut().find(|one| one.stamp == version.stamp) {
                Some(twin) if twin.rank(&version).is_lt() => *twin = version,
                Some(_) => {}
                None if version.is_in(&self.vector) => {}
                None => versions.push(version),
            }
        }
        versions.sort_by(|a, b| a.stamp.cmp(&b.stamp));
        if erased {
            versions.clear();
        }
        Self { vector, versions, erased, ..self }
    }
}

/// Returns whether the row does not exist after the change.
pub(crate) const fn is_none(row: &Row) -> bool {
    !exists(row).1
}

/// Returns whether the row exists before and after the change.
const fn exists(row: &Row) -> (bool, bool) {
    match row {
        Row::Memory { before, after } => (before.is_some(), after.is_some()),
        Row::Evidence { before, after, .. } => (before.is_some(), after.is_some()),
        Row::Relation { before, after } => (before.is_some(), after.is_some()),
        Row::Tombstone { before, after } => (before.is_some(), after.is_some()),
    }
}

/// Returns a hash of the row's identity, because the identity of evidence contains its text.
pub(crate) fn key_of(row: &Row) -> Option<String> {
    row.key().map(hash_of_key)
}

/// Returns the key of the record of a memory.
pub(crate) fn memory_key(id: &MemoryId) -> String {
    hash_of_key((Entity::Memory, [id.as_str(), "", "", ""]))
}

fn hash_of_key((entity, parts): RowKey<'_>) -> String {
    let mut digest = Sha256::new();
    for part in std::iter::once(entity.as_str()).chain(parts) {
        digest.update(part.as_bytes());
        digest.update([0]);
    }
    hex(&digest.finalize())[..32].to_owned()
}

/// Reads a stored record.
pub(super) fn read_record(json: &str) -> Result<Record, SyncError> {
    serde_json::from_str(json).map_err(SyncError::BadRecord)
}

/// Returns a value as it is stored and sent.
pub(super) fn to_json(value: &impl Serialize) -> Result<String, SyncError> {
    serde_json::to_string(value).map_err(SyncError::BadRecord)
}

/// Returns a record in the form in which it is stored, with the columns used to find it.
pub(super) fn stored(record: &Record) -> Result<StoredRecord, SyncError> {
    Ok(StoredRecord {
        key: record.key.clone(),
        entity: record.entity,
        memory: record.memory.clone(),
        other: record.other.clone(),
        json: to_json(record)?,
    })
}

/// Version of the content; it increases whenever an older program could not apply an item correctly.
const VERSION: u64 = 1;

/// An item as it is written.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Item {
    afterthought_log: u64,
    pub(crate) device: String,
    seq: u64,
    /// Hash of the item before this one; a snapshot may follow any item.
    prev: Option<String>,
    pub(crate) records: Vec<Record>,
}

/// The part of an item that is the same in all versions of the format.
#[derive(Deserialize)]
struct Mark {
    afterthought_log: u64,
}

/// Returns the bytes of an item; `records` is a JSON list.
pub(crate) fn encode(device: &str, seq: u64, prev: Option<&str>, records: &str) -> Vec<u8> {
    let text = |value: &str| serde_json::Value::from(value).to_string();
    let prev = prev.map_or_else(|| "null".to_owned(), text);
    let device = text(device);
    format!(
        "{{\"afterthought_log\":{VERSION},\"device\":{device},\"seq\":{seq},\"prev\":{prev},\"records\":{records}}}\n"
    )
    .into_bytes()
}

/// Reads the item that the log `log` of the machine `device` contains as `stored`; `bytes` is its decrypted content,
/// and `prev` is the hash of the item before it, or `None` if this is not checked.
pub(crate) fn decode(
    (log, device): (&str, &str),
    stored: &LogItem,
    bytes: &[u8],
    prev: Option<&str>,
) -> Result<Item, SyncError> {
    let fault = |what: &'static str| SyncError::BadItem { device: device.to_owned(), seq: stored.seq, what };
    let mark: Mark = serde_json::from_slice(bytes).map_err(|_| fault("is not an item of a log"))?;
    if mark.afterthought_log > VERSION {
        return Err(SyncError::Newer { device: device.to_owned() });
    }
    let content: Item = serde_json::from_slice(bytes).map_err(|_| fault("cannot be read"))?;
    if !is_log_of(log, &content.device) || content.seq != stored.seq {
        return Err(fault("belongs to another place in the logs"));
    }
    if let (Some(prev), Some(named)) = (prev, &content.prev)
        && prev != named
    {
        return Err(fault("does not continue the item before it"));
    }
    // A record under a wrong key would replace a different row.
    let fits = |record: &Record| {
        record.versions.iter().all(|version| {
            version.is_sound() && (is_none(&version.state) || key_of(&version.state).as_ref() == Some(&record.key))
        })
    };
    if !content.records.iter().all(fits) {
        return Err(fault("contains a row with the key of another row"));
    }
    Ok(content)
}

/// Namespaces, each as a name, or as a name with `/*` for everything below it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NamespacePatterns(Vec<String>);

impl NamespacePatterns {
    /// Returns the patterns, or an error if one of them is invalid.
    pub(crate) fn new(patterns: &[String]) -> Result<Self, SyncError> {
        for pattern in patterns {
            let name = pattern.strip_suffix("/*").unwrap_or(pattern);
            if pattern != "*" && (name.contains('*') || name.parse::<Namespace>().is_err()) {
                return Err(SyncError::BadPattern { pattern: pattern.clone() });
            }
        }
        Ok(Self(patterns.to_vec()))
    }

    /// Returns a remark about each pattern of a kind that the program does not use, and that fits none of the namespaces
    /// in `used`.
    ///
    /// # Errors
    /// [`SyncError::BadPattern`] if such a pattern cannot be meant, because it contains white space.
    pub(crate) fn unused(&self, used: &[Namespace]) -> Result<Vec<String>, SyncError> {
        let mut notes = Vec::new();
        for pattern in &self.0 {
            let kind = pattern.split('/').next().unwrap_or_default();
            let alone = Self(vec![pattern.clone()]);
            if ["*", "global", "project", "team", "chat", "user"].contains(&kind)
                || used.iter().any(|namespace| alone.admits(namespace))
            {
                continue;
            }
            if kind.contains(char::is_whitespace) {
                return Err(SyncError::BadPattern { pattern: pattern.clone() });
            }
            notes.push(format!("no memory on this machine has a namespace {pattern}; check its spelling"));
        }
        Ok(notes)
    }

    /// Returns whether a namespace is synchronised.
    pub(crate) fn admits(&self, namespace: &Namespace) -> bool {
        let name = namespace.to_string();
        self.0.iter().any(|pattern| match pattern.strip_suffix("/*") {
            Some(above) => name.strip_prefix(above).is_some_and(|rest| rest.starts_with('/')),
            None => pattern == "*" || *pattern == name,
        })
    }

    /// Returns whether the row is in a synchronised namespace, or contains no namespace.
    pub(crate) fn admits_row(&self, row: &Row) -> bool {
        match row {
            Row::Memory { after: Some(memory), .. } => self.admits(&memory.namespace),
            Row::Tombstone { after: Some(tombstone), .. } => self.admits(&tombstone.namespace),
            Row::Memory { .. } | Row::Tombstone { .. } | Row::Evidence { .. } | Row::Relation { .. } => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::testing::memory;

    fn record(device: &str, seq: u64, lamport: u64, context: &[(&str, u64)]) -> Record {
        let mut memory = memory("Tea", &format!("{device} {seq}"));
        memory.id = MemoryId::from_stored("one");
        let row = Row::memory(None, Some(memory));
        let mut record = Record::of(&row).unwrap();
        record.vector = context.iter().map(|(device, seq)| ((*device).to_owned(), *seq)).collect();
        record.vector.insert(device.to_owned(), seq);
        let stamp = Stamp { lamport, device: device.into(), seq };
        record.versions = vec![Version { stamp, derived: false, said: None, knew: BTreeMap::new(), state: row }];
        record
    }

    #[test]
    fn a_union_does_not_depend_on_order_or_repetition() {
        let (a, b) = (record("a", 1, 1, &[]), record("b", 1, 1, &[]));
        let c = record("c", 1, 2, &[("a", 1)]);
        let all = [a, b, c];
        let orders = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];
        let join = |order: [usize; 3]| {
            let twice = order.iter().chain(&order).map(|at| all[*at].clone());
            twice.reduce(Record::join).unwrap()
        };
        let joined = join(orders[0]);
        assert!(orders.iter().all(|order| join(*order) == joined));
        // The change of c replaced the one of a; the one of b was made independently.
        let devices: Vec<&str> = joined.versions.iter().map(|version| version.stamp.device.as_str()).collect();
        assert_eq!((devices, joined.current().unwrap().stamp.device.as_str()), (vec!["b", "c"], "c"));
        let erased = Record { erased: true, versions: Vec::new(), ..all[0].clone() };
        assert!(joined.join(erased).current().is_none());
    }

    #[test]
    fn a_pattern_names_one_namespace_or_all_below_it() {
        let patterns = NamespacePatterns::new(&["global".into(), "project/*".into()]).unwrap();
        let admitted = |name: &str| patterns.admits(&name.parse().unwrap());
        for (name, expected) in [
            ("global", true),
            ("global/x", false),
            ("project", false),
            ("project/shop", true),
            ("project/shop/x", true),
            ("projects/shop", false),
            ("chat/ana", false),
        ] {
            assert_eq!(admitted(name), expected, "{name}");
        }
        assert!(NamespacePatterns::new(&["pro*".into()]).is_err());
    }
}
