//! Which known memories a model is asked about: those that may be of the same matter, the closest first.

use std::collections::{BTreeMap, BTreeSet};

use crate::consolidate::Known;
use crate::consolidate::compare::features::Features;
use crate::consolidate::compare::view::View;
use crate::memory::{MemoryId, Status};
use crate::store::concepts;

/// Known memories that one candidate is asked about at most. The one that is replaced is the closest by words in only
/// half of the cases, and among ten in nine of ten.
pub const MAX_ASKED: usize = 10;

/// Weighted part of the shorter claim's terms that is shared by what is asked about in any case.
const FLOOR: f64 = 0.2;

/// What is asked about even if it shares less, as long as it shares something: other words for one thing have little
/// in common.
const LEAST: usize = 3;

/// Part that a forgotten memory must share: it is not put before a model without need.
const FLOOR_FORGOTTEN: f64 = 0.3;

/// What a memory in another language is given, with which few words can be shared, and how many of them come at most.
const FOREIGN: f64 = 0.2;
const MAX_FOREIGN: usize = 6;

/// What a common attribute, a common last part of an attribute, and a common subject add.
const SAME_KEY: f64 = 1.0;
const SAME_ATTRIBUTE: f64 = 0.25;
const SAME_SUBJECT: f64 = 0.15;

/// Letters by which long words of one family are taken to be alike, such as `migrated` and `migration`.
const STEM: usize = 6;

/// A known memory that a model should be asked about.
#[derive(Debug, Clone, PartialEq)]
pub struct Ask {
    /// The memory.
    pub id: MemoryId,
    /// How close it is: the shared part of the rarer terms, more for a common attribute or subject.
    pub closeness: f64,
}

/// Returns whom to ask about; each known memory comes with whether the extractor named it as the one that is replaced.
///
/// A term counts the more the fewer of the known memories hold it, so that what they all share brings none of them up.
pub(super) fn choose<'a>(
    incoming: &View<'_>,
    known: impl Iterator<Item = (&'a Known, &'a View<'a>, bool)>,
) -> Vec<Ask> {
    let own = terms(incoming);
    let known: Vec<_> = known.map(|(known, view, hinted)| (known, view, hinted, terms(view))).collect();
    let mut holders: BTreeMap<&str, usize> = BTreeMap::new();
    for term in known.iter().flat_map(|(.., terms)| terms) {
        *holders.entry(term).or_default() += 1;
    }
    let weight = |term: &String| weight(holders.get(term.as_str()).copied().unwrap_or(0), known.len());
    let all_own: f64 = own.iter().map(weight).sum();
    let mut asks: Vec<(Ask, Status, bool)> = known
        .iter()
        .map(|(known, view, hinted, theirs)| {
            let shared: f64 = own.intersection(theirs).map(weight).sum();
            let whole = all_own.min(theirs.iter().map(weight).sum());
            let alike = if whole > 0.0 { shared / whole } else { 0.0 };
            let closeness = alike + kinship(incoming, view) + if *hinted { SAME_KEY } else { 0.0 };
            (Ask { id: known.memory.id.clone(), closeness }, known.memory.status, is_foreign(incoming, view))
        })
        .filter(|(ask, status, _)| *status != Status::Forgotten || ask.closeness >= FLOOR_FORGOTTEN)
        .collect();
    asks.sort_by(|(a, ..), (b, ..)| b.closeness.total_cmp(&a.closeness).then_with(|| a.id.cmp(&b.id)));
    let mut foreign = 0;
    let mut chosen: Vec<Ask> = Vec::new();
    for (ask, _, is_foreign) in asks {
        foreign += usize::from(is_foreign);
        let as_foreign = is_foreign && foreign <= MAX_FOREIGN;
        if ask.closeness >= FLOOR || (chosen.len() < LEAST && ask.closeness > 0.0) || as_foreign {
            let closeness = if as_foreign { ask.closeness.max(FOREIGN) } else { ask.closeness };
            chosen.push(Ask { closeness, ..ask });
        }
    }
    chosen.truncate(MAX_ASKED);
    chosen
}

fn is_foreign(a: &View<'_>, b: &View<'_>) -> bool {
    a.language.zip(b.language).is_some_and(|(a, b)| a != b)
}

#[expect(clippy::cast_precision_loss, reason = "counts of memories, far below 2^52")]
fn weight(holders: usize, all: usize) -> f64 {
    (1.0 + all as f64 / holders.max(1) as f64).ln()
}

fn kinship(a: &View<'_>, b: &View<'_>) -> f64 {
    let last = |view: &View<'_>| view.key.as_deref().map(|key| key.rsplit('.').next().unwrap_or(key).to_owned());
    let key = match (last(a), last(b)) {
        _ if a.same_key(b) => SAME_KEY,
        (Some(x), Some(y)) if x == y => SAME_ATTRIBUTE,
        _ => 0.0,
    };
    let subject = a.subject.is_some() && a.subject == b.subject;
    key + if subject { SAME_SUBJECT } else { 0.0 }
}

/// The terms by which two claims are brought together: words, names and numbers of content, attribute and subject.
fn terms(view: &View<'_>) -> BTreeSet<String> {
    let claim = view.claim;
    let aside = [claim.key.as_deref(), claim.value.as_deref(), claim.subject.as_deref()];
    let aside = aside.into_iter().flatten().map(|text| text.replace(['.', '_', '-', '/'], " ")).collect::<Vec<_>>();
    let aside = Features::of(&aside.join(" "));
    let own = &view.features;
    let sets = [&own.tokens, &own.figures, &own.entities, &aside.tokens, &aside.figures, &aside.entities];
    let words = sets.into_iter().flatten().map(|term| folded(term));
    words.chain(concepts(&claim.content).into_iter().map(|name| format!("={name}"))).collect()
}

fn folded(term: &str) -> String {
    if term.is_ascii() || term.chars().all(|c| c.is_alphabetic() && c < '\u{0250}') {
        term.chars().take(STEM).collect()
    } else {
        term.to_owned()
    }
}
