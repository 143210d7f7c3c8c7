//! Links between separate memories on one topic.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use jiff::Timestamp;

use super::field::Field;
use super::judge::{COMPLEMENTARY, view};
use crate::changeset::Action;
use crate::consolidate::compare::pair::{ClaimRelation, pair};
use crate::consolidate::compare::view::View;
use crate::consolidate::compare::view::Words;
use crate::consolidate::pass::field::Around;
use crate::consolidate::pass::field::PassChange;
use crate::memory::{MemoryId, RelationType};

/// Maximum number of such links per memory; more would not be informative.
const MAX_LINKS: usize = 3;

/// Minimum ratio of shared content words to all content words for two memories without a common subject to count as
/// being on the same topic.
const MIN_COMMON: f64 = 0.5;

/// The types of links that the pass creates.
const MADE: &[RelationType] = &[RelationType::Supports, RelationType::Refines, RelationType::Related];

/// A link that may be created.
struct Proposed {
    from: MemoryId,
    to: MemoryId,
    kind: RelationType,
    why: &'static str,
    overlap: f64,
}

/// Links related memories, the closest first, and returns the changes.
pub(super) fn link(field: &mut Field, around: &Around, now: Timestamp) -> Vec<PassChange> {
    let mut proposed = proposals(field, around);
    proposed.sort_by(|a, b| b.overlap.total_cmp(&a.overlap).then_with(|| (&a.from, &a.to).cmp(&(&b.from, &b.to))));
    let mut counts = counts(field);
    let mut changes = Vec::new();
    for Proposed { from, to, kind, why, .. } in proposed {
        let full = |id: &MemoryId| counts.get(id).is_some_and(|count| *count >= MAX_LINKS);
        // A cycle of refinements would mean that each memory is more detailed than the other.
        let closes_ring = kind == RelationType::Refines && leads_to(field, &to, &from);
        if full(&from) || full(&to) || closes_ring {
            continue;
        }
        let content = |id: &MemoryId| field.active[id].memory.claim.content.clone();
        let mut change = PassChange::new(Action::Linked, why, &content(&from), now);
        change.beside = Some(content(&to));
        change.link(&from, kind, &to);
        field.apply(&change);
        *counts.entry(from).or_default() += 1;
        *counts.entry(to).or_default() += 1;
        changes.push(change);
    }
    changes
}

fn proposals(field: &Field, around: &Around) -> Vec<Proposed> {
    let order = field.in_order();
    let places: HashMap<&MemoryId, usize> = order.iter().enumerate().map(|(place, id)| (id, place)).collect();
    let mut views: HashMap<&MemoryId, View<'_>> = HashMap::new();
    let mut proposed = Vec::new();
    for (at, id) in order.iter().enumerate() {
        // Each pair is considered once, starting from the memory that was said later.
        for other in around.of(id).filter(|other| places.get(other).is_some_and(|place| *place < at)) {
            let (Some((id, one)), Some((other, two))) =
                (field.active.get_key_value(id), field.active.get_key_value(other))
            else {
                continue;
            };
            let is_linked = field.is_joined(id, other, RelationType::ALL);
            if is_linked || field.was_taken_back(id, other, RelationType::ALL) {
                continue;
            }
            for (id, known) in [(id, one), (other, two)] {
                views.entry(id).or_insert_with(|| view(known));
            }
            let said = || field.said_of(id, other);
            if let Some((kind, why, overlap)) = relation(&views[id], &views[other], said) {
                proposed.push(Proposed { from: id.clone(), to: other.clone(), kind, why, overlap });
            }
        }
    }
    proposed
}

/// Returns how the first of two memories, which was said later, relates to the other.
fn relation<'s>(
    a: &View<'_>,
    b: &View<'_>,
    said: impl Fn() -> Option<&'s str>,
) -> Option<(RelationType, &'static str, f64)> {
    let paired = pair(a, b, false);
    let kind = match paired.pairing {
        ClaimRelation::Same => (RelationType::Supports, "says the same"),
        ClaimRelation::More => (RelationType::Refines, "says it in more detail"),
        ClaimRelation::Both => (RelationType::Related, paired.why),
        ClaimRelation::Unsure => match said() {
            Some(COMPLEMENTARY) => (RelationType::Related, "on the same topic"),
            None if is_one_matter(a, b) => (RelationType::Related, paired.why),
            Some(_) | None => return None,
        },
        ClaimRelation::Apart if a.same_key(b) && paired.why == "one of several values" => {
            (RelationType::Related, "values of one attribute")
        }
        ClaimRelation::Opposed | ClaimRelation::Contested | ClaimRelation::Apart => return None,
    };
    Some((kind.0, kind.1, paired.overlap))
}

#[expect(clippy::cast_precision_loss, reason = "counts of words")]
fn is_one_matter(a: &View<'_>, b: &View<'_>) -> bool {
    let words = Words::of(a, b);
    let common = words.shared as f64 / (words.shared + words.incoming_only + words.known_only).max(1) as f64;
    a.same_key(b) || (a.subject.is_some() && a.subject == b.subject) || common >= MIN_COMMON
}

fn counts(field: &Field) -> BTreeMap<MemoryId, usize> {
    let mut counts = BTreeMap::new();
    let made = field.links.iter().filter(|(_, kind, _)| MADE.contains(kind));
    for (from, _, to) in made.filter(|(from, _, to)| field.active.contains_key(from) && field.active.contains_key(to)) {
        *counts.entry(from.clone()).or_default() += 1;
        *counts.entry(to.clone()).or_default() += 1;
    }
    counts
}

/// Whether `from` refines `to`, directly or indirectly.
fn leads_to(field: &Field, from: &MemoryId, to: &MemoryId) -> bool {
    let (mut seen, mut open) = (BTreeSet::new(), vec![from]);
    while let Some(id) = open.pop() {
        if id == to {
            return true;
        }
        if seen.insert(id) {
            open.extend(field.linked(id, RelationType::Refines));
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::consolidate::pass::UndonePolicy;
    use crate::store::testing::{day, insert, memory, relation, shop};
    use crate::store::{Store, StoreError};

    fn field(store: &Store) -> Field {
        Field::read(store, &shop(), UndonePolicy::Stays).unwrap()
    }

    #[tokio::test]
    async fn links_are_few_never_doubled_and_end() {
        let store = Store::in_memory().unwrap();
        let values = ["tea", "coffee", "milk", "juice", "water", "cocoa"];
        for value in values {
            let mut one = memory("Drink", &format!("The user likes to drink {value} in the morning."));
            (one.claim.key, one.claim.value) = (Some("user.preference.drink".into()), Some(value.into()));
            insert(&store, &one);
        }
        let (mut field, mut around) = (field(&store), Around::default());
        around.update(&store, &field, &|_| {}).await.unwrap();
        let made = link(&mut field, &around, day(1));
        assert!(!made.is_empty());
        assert!(counts(&field).values().all(|count| *count <= MAX_LINKS), "{:?}", counts(&field));
        assert_eq!(link(&mut field, &around, day(1)), []);
    }

    #[test]
    fn a_ring_of_refinements_is_seen() {
        let store = Store::in_memory().unwrap();
        let all = ["a", "b", "c"].map(|name| memory(name, &format!("The {name} is here.")));
        all.iter().for_each(|one| insert(&store, one));
        let links = [(0, 1), (1, 2)];
        store
            .write::<_, StoreError>(None, day(1), |w| {
                links.iter().try_for_each(|(from, to)| {
                    w.relate(&relation(&all[*from].id, RelationType::Refines, &all[*to].id)).map(drop)
                })
            })
            .unwrap();
        let field = field(&store);
        assert!(leads_to(&field, &all[0].id, &all[2].id));
        assert!(!leads_to(&field, &all[2].id, &all[0].id));
    }
}
