//! Combines values into growing lists: values of one attribute that are all said in the same sentence become one memory
//! that lists them all.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use super::acts::{all_evidence, new_evidence};
use super::field::{Field, arrived};
use crate::changeset::Action;
use crate::consolidate::Known;
use crate::consolidate::compare::features::Features;
use crate::consolidate::compare::key::{Arity, BETWEEN_VALUES as BETWEEN, arity, attribute};
use crate::consolidate::pass::field::PassChange;
use crate::memory::{Claim, ExtractionMethod, Memory, MemoryId, MemoryType, RelationType, Status};
use crate::text::normalise::{comparable, title_of};
use crate::text::tokens::stands_apart;

/// Minimum number of values for creating a list.
// Two memories are as easy to read as a list with two values.
const MIN_VALUES: usize = 3;

/// Maximum number of values in a list, so that it is readable at a glance.
const MAX_VALUES: usize = 12;

/// Maximum length of a value, in characters.
// A longer value is a sentence, which is better stored separately.
const MAX_VALUE: usize = 40;

/// Source of memories that consolidation creates from others.
pub(super) const SOURCE: &str = "consolidate";

/// A sentence with a gap for values, stored as the text before and after the gap.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Pattern {
    key: String,
    before: String,
    after: String,
    kind: MemoryType,
}

/// Joins values into lists, and returns the changes.
pub(super) fn join(field: &mut Field, now: Timestamp) -> Vec<PassChange> {
    let mut groups: BTreeMap<Pattern, Vec<MemoryId>> = BTreeMap::new();
    for id in field.in_order() {
        let known = &field.active[&id];
        if let Some(pattern) = pattern(known).filter(|_| !known.memory.pinned) {
            groups.entry(pattern).or_default().push(id);
        }
    }
    let changes = groups.into_iter().filter_map(|(pattern, ids)| {
        let members: Vec<&Known> = ids.iter().map(|id| &field.active[id]).collect();
        list_of(field, &pattern, &members, now)
    });
    let changes: Vec<PassChange> = changes.collect();
    changes.iter().for_each(|change| field.apply(change));
    changes
}

/// Whether two memories are values of one list, which the words alone do not show.
pub(super) fn is_for_lists(a: &Known, b: &Known) -> bool {
    let is_list = |known: &Known| known.memory.claim.value.as_deref().is_some_and(|value| value.contains(BETWEEN));
    (is_list(a) || is_list(b)) && pattern(a).is_some() && pattern(a) == pattern(b)
}

/// Returns the sentence of a memory that is a list or may become an item of a list.
fn pattern(known: &Known) -> Option<Pattern> {
    let claim = &known.memory.claim;
    let key = attribute(claim.key.as_deref()?)?;
    let value = claim.value.as_deref()?.trim();
    let is_plain = claim.expires_at.is_none()
        && claim.valid_to.is_none()
        && claim.structured.is_none()
        && claim.memory_type != MemoryType::Episodic;
    let items: Vec<&str> = value.split(BETWEEN).collect();
    let shown = if items.len() > 1 { spoken(&claim.content, &items)? } else { value.to_owned() };
    let fits = |item: &&str| !item.is_empty() && item.chars().count() <= MAX_VALUE && !item.contains([',', ';', '、']);
    if arity(&key) != Arity::Many || !is_plain || !items.iter().all(fits) {
        return None;
    }
    let mut places = claim.content.match_indices(&shown);
    // If the value occurs twice, the position of the list is unknown.
    let (at, _) = places.next().filter(|_| places.next().is_none())?;
    let (before, after) = (&claim.content[..at], &claim.content[at + shown.len()..]);
    let features = Features::of(&claim.content);
    // A reason, a time or a change applies to one value, not to all of them.
    let is_bare =
        features.cue.is_none() && !features.except && !before.trim().is_empty() && after.chars().count() <= 12;
    (is_bare && stands_apart(&claim.content, at..at + shown.len())).then(|| Pattern {
        key,
        before: before.to_owned(),
        after: after.to_owned(),
        kind: claim.memory_type,
    })
}

fn list_of(field: &Field, pattern: &Pattern, members: &[&Known], now: Timestamp) -> Option<PassChange> {
    let made = members.iter().copied().filter(|known| items(known).len() > 1).min_by_key(|known| arrived(known));
    let mut values: Vec<String> = made.map(items).unwrap_or_default();
    let mut seen: BTreeSet<String> = values.iter().map(|value| comparable(value)).collect();
    for value in members.iter().flat_map(|known| items(known)) {
        if seen.insert(comparable(&value)) {
            values.push(value);
        }
    }
    let joined: Vec<&Known> =
        members.iter().copied().filter(|known| made.is_none_or(|made| made.memory.id != known.memory.id)).collect();
    let fits = !joined.is_empty() && (MIN_VALUES..=MAX_VALUES).contains(&values.len());
    if !fits || joined.iter().any(|known| was_brought_back(field, known)) {
        return None;
    }
    let first = made.or_else(|| joined.first().copied())?;
    let content = format!("{}{}{}", pattern.before, enumerated(&pattern.before, &values), pattern.after);
    let claim = Claim {
        content: content.clone(),
        title: if made.is_some() { first.memory.claim.title.clone() } else { title(&content) },
        summary: None,
        value: Some(values.join(BETWEEN)),
        key: Some(pattern.key.clone()),
        importance: members.iter().map(|known| known.memory.claim.importance).fold(0.0, f64::max),
        // A list is only as certain as its least certain value.
        confidence: members.iter().map(|known| known.memory.claim.confidence).fold(1.0, f64::min),
        tags: tags_of(members),
        valid_from: members.iter().filter_map(|known| known.memory.claim.valid_from).max(),
        ..first.memory.claim.clone()
    };
    Some(write(made, &joined, claim, now))
}

/// Whether a person reactivated the memory after another memory had replaced it.
fn was_brought_back(field: &Field, known: &Known) -> bool {
    let links = field.taken_back.iter().chain(&field.links);
    links.into_iter().any(|(_, kind, to)| *kind == RelationType::Supersedes && *to == known.memory.id)
}

fn write(made: Option<&Known>, joined: &[&Known], claim: Claim, now: Timestamp) -> PassChange {
    let mut change = PassChange::new(
        Action::Listed,
        format!("{} values of one attribute", claim_values(&claim)),
        &claim.content,
        now,
    );
    let evidence = all_evidence(joined);
    let list = if let Some(known) = made {
        change.beside = Some(known.memory.claim.content.clone());
        change.change(known, Memory { claim, ..known.memory.clone() });
        change.gain(&known.memory.id, &new_evidence(&evidence, &known.evidence));
        known.memory.id.clone()
    } else {
        let namespace = joined[0].memory.namespace.clone();
        let memory = Memory::new(claim, namespace, SOURCE, ExtractionMethod::Auto, now);
        let id = memory.id.clone();
        change.make(memory, &evidence);
        id
    };
    for known in joined {
        change.change(known, Memory { status: Status::Superseded, ..known.memory.clone() });
        change.link(&list, RelationType::Supersedes, &known.memory.id);
    }
    change
}

fn claim_values(claim: &Claim) -> usize {
    claim.value.as_deref().map_or(0, |value| value.split(BETWEEN).count())
}

fn items(known: &Known) -> Vec<String> {
    let value = known.memory.claim.value.as_deref().unwrap_or_default();
    value.split(BETWEEN).map(|item| item.trim().to_owned()).collect()
}

fn tags_of(members: &[&Known]) -> Vec<String> {
    let mut tags: Vec<String> = Vec::new();
    for tag in members.iter().flat_map(|known| &known.memory.claim.tags) {
        if !tags.contains(tag) {
            tags.push(tag.clone());
        }
    }
    tags
}

/// Returns the values joined as in a sentence in the language of `text`.
fn enumerated(text: &str, values: &[String]) -> String {
    let (between, last) = joints(text);
    match values.split_last() {
        Some((end, rest)) if !rest.is_empty() => format!("{}{last}{end}", rest.join(between)),
        _ => values.join(between),
    }
}

/// Returns the values of a list as they appear in its content, if they appear there.
fn spoken(content: &str, items: &[&str]) -> Option<String> {
    let (end, rest) = items.split_last()?;
    let spellings = JOINTS.iter().map(|(between, last)| format!("{}{last}{end}", rest.join(between)));
    spellings.into_iter().find(|text| content.contains(text.as_str()))
}

/// The text between values, and the text before the last value.
const JOINTS: &[(&str, &str)] = &[("、", "、"), ("、", "和"), (", ", " and "), (", ", " und "), (", ", ", ")];

/// Returns the entry of [`JOINTS`] for the language of `text`.
fn joints(text: &str) -> (&'static str, &'static str) {
    let has = |range: std::ops::RangeInclusive<char>| text.chars().any(|c| range.contains(&c));
    let says = |words: &[&str]| text.split_whitespace().any(|word| words.contains(&word.to_lowercase().as_str()));
    JOINTS[if has('\u{3040}'..='\u{30FF}') {
        0
    } else if has('\u{4E00}'..='\u{9FFF}') {
        1
    } else if says(&["the", "user", "project", "is", "are"]) {
        2
    } else if says(&["der", "die", "das", "nutzer", "ist"]) {
        3
    } else {
        4
    }]
}

/// Returns a title for `content`.
pub(super) fn title(content: &str) -> String {
    title_of(content).trim_end_matches(['.', ',', '。']).to_owned()
}
