//! Differences that no similarity bridges: person, plan, time, surroundings, names and numbers.

use std::collections::BTreeSet;

use crate::memory::MemoryType;

use super::features::TimeScope;
use super::view::{About, View};

/// Names the difference that no similarity bridges.
pub(in crate::consolidate) fn guard(a: &View<'_>, b: &View<'_>) -> Option<&'static str> {
    let (left, right) = (&a.features, &b.features);
    if !are_same_people(&left.people, &right.people) || speakers_differ(a, b) || subjects_differ(a, b) {
        return Some("about another person");
    }
    if left.planned != right.planned {
        return Some("one is a plan, the other a fact");
    }
    if (left.time == TimeScope::Once) != (right.time == TimeScope::Once) {
        return Some("one happened once, the other is usual");
    }
    if is_event(a) && is_event(b) && days_differ(a, b) {
        return Some("happened on different days");
    }
    if !left.settings.is_empty() && !right.settings.is_empty() && left.settings != right.settings {
        return Some("in other surroundings");
    }
    None
}

/// Whether two claims name different people by what they are to the user, or two speakers speak of themselves.
pub(in crate::consolidate) fn other_people(a: &View<'_>, b: &View<'_>) -> bool {
    let (left, right) = (&a.features.people, &b.features.people);
    let any_alike = left.iter().any(|name| right.iter().any(|other| is_same_person(name, other)));
    (!left.is_empty() && !right.is_empty() && !any_alike) || speakers_differ(a, b)
}

fn are_same_people(a: &BTreeSet<&str>, b: &BTreeSet<&str>) -> bool {
    let within = |a: &BTreeSet<&str>, b: &BTreeSet<&str>| a.iter().all(|x| b.iter().any(|y| is_same_person(x, y)));
    within(a, b) && within(b, a)
}

/// Whether two relations may be one: `sister` is the elder one or the younger one.
fn is_same_person(a: &str, b: &str) -> bool {
    let holds = |whole: &str, part: &str| part.strip_prefix(whole).is_some_and(|rest| rest.starts_with('.'));
    a == b || holds(a, b) || holds(b, a)
}

fn speakers_differ(a: &View<'_>, b: &View<'_>) -> bool {
    let alike = |x: &String| b.speakers.iter().any(|y| x.contains(y.as_str()) || y.contains(x.as_str()));
    a.about == About::User
        && b.about == About::User
        && !b.speakers.is_empty()
        && !a.speakers.is_empty()
        && !a.speakers.iter().any(alike)
}

/// Whether the first words name different subjects. A common key settles it; else a first word that the other claim
/// does not hold is somebody or something else.
fn subjects_differ(a: &View<'_>, b: &View<'_>) -> bool {
    if tags_differ(a, b) {
        return true;
    }
    if a.same_key(b) {
        return false;
    }
    match (&a.about, &b.about) {
        (About::Other(name), About::User | About::Project) => !b.features.text.contains(name.as_str()),
        (About::User | About::Project, About::Other(name)) => !a.features.text.contains(name.as_str()),
        (About::User, About::Project) | (About::Project, About::User) => true,
        (About::User, About::User) | (About::Project, About::Project) | (About::Other(_), About::Other(_)) => false,
    }
}

/// Whether each claim's subject tag stands in its own words and not in the other's, in much the same sentence.
fn tags_differ(a: &View<'_>, b: &View<'_>) -> bool {
    let (Some(x), Some(y)) = (&a.subject, &b.subject) else { return false };
    let (left, right) = (&a.features, &b.features);
    let own = left.text.contains(x.as_str()) && right.text.contains(y.as_str());
    let other = left.text.contains(y.as_str()) || right.text.contains(x.as_str());
    // Without a common word they may be two languages' words for one thing.
    own && !other && !left.tokens.is_disjoint(&right.tokens)
}

pub(in crate::consolidate) fn is_episode(view: &View<'_>) -> bool {
    view.claim.memory_type == MemoryType::Episodic
}

fn is_event(view: &View<'_>) -> bool {
    is_episode(view) || view.features.time == TimeScope::Once
}

fn days_differ(a: &View<'_>, b: &View<'_>) -> bool {
    let day = |view: &View<'_>| view.claim.valid_from.map(|at| at.as_second().div_euclid(86_400));
    day(a).zip(day(b)).is_some_and(|(a, b)| a != b)
}

/// Which kinds of names and numbers one claim has that the other lacks.
pub(in crate::consolidate) struct Extra {
    pub(in crate::consolidate) figures: bool,
    pub(in crate::consolidate) entities: bool,
}

impl Extra {
    pub(in crate::consolidate) const fn any(&self) -> bool {
        self.figures || self.entities
    }
}

pub(in crate::consolidate) fn extra(a: &View<'_>, b: &View<'_>) -> Extra {
    Extra {
        figures: !a.features.figures.is_subset(&b.features.figures),
        entities: a.features.entities.iter().any(|name| !b.features.text.contains(name.as_str())),
    }
}
