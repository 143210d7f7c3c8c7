//! Determines the relation of two memories. A pass consults the rules and the model only here.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use jiff::Timestamp;

use crate::consolidate::ask::{Asked, MAX_CANDIDATES, MAX_MEMORIES, ask};
use crate::consolidate::compare::features::{Features, Polarity};
use crate::consolidate::compare::key::{Values, compare};
use crate::consolidate::compare::pair::{ClaimRelation, pair};
use crate::consolidate::compare::view::Words;
use crate::consolidate::compare::view::{About, View};
use crate::consolidate::compare::view::{extra, guard};
use crate::consolidate::decide::named::{Named, resolve, veto};
use crate::consolidate::decide::{Verdict, decide_again};
use crate::consolidate::plan::{Answer, CandidateContext, Question};
use crate::consolidate::{Decision, IncomingClaim, Known, Ruling};
use crate::extract::Spent;
use crate::guard::{Guard, suspicion};
use crate::llm::Complete;
use crate::memory::{ExtractionMethod, MemoryId};

/// A memory and the memories that it may be related to, the closest first.
pub(super) type Doubt = (MemoryId, Vec<MemoryId>);

/// A model's answers about memories.
pub(super) type Said = BTreeMap<MemoryId, Answer>;

/// Returns how `memory` relates to the `others`, as if it were a new candidate.
pub(super) fn judge(memory: &Known, others: &[Known], now: Timestamp) -> Verdict {
    let verdict = decide_again(&as_incoming(memory), others, now);
    if verdict.ruling.decision != Decision::Add {
        return verdict;
    }
    let own = view(memory);
    match others.iter().find(|other| is_reordered(&own, &view(other))) {
        Some(twin) => {
            let ruling = Ruling::about(Decision::Support, twin, "the same value in the same words");
            Verdict { ruling, open: false, asks: Vec::new() }
        }
        None => verdict,
    }
}

/// Memories prepared for comparison; each is prepared only once.
pub(super) struct Views<'a> {
    memories: &'a BTreeMap<MemoryId, Known>,
    made: HashMap<&'a MemoryId, View<'a>>,
}

impl<'a> Views<'a> {
    pub(super) fn of(memories: &'a BTreeMap<MemoryId, Known>) -> Self {
        Self { memories, made: HashMap::new() }
    }

    /// Whether the words of `memory` are unrelated to those of all other memories, so that the rules would decide
    /// nothing.
    pub(super) fn are_apart(&mut self, memory: &Known, others: &[Known]) -> bool {
        for known in std::iter::once(memory).chain(others) {
            let Some((id, found)) = self.memories.get_key_value(&known.memory.id) else { return false };
            // The memory was changed in this sweep, so its earlier view is out of date.
            if found != known {
                return false;
            }
            self.made.entry(id).or_insert_with(|| view(found));
        }
        let of = |known: &Known| &self.made[&known.memory.id];
        others.iter().all(|other| pair(of(memory), of(other), false).pairing == ClaimRelation::Apart)
    }
}

/// Returns the memories to ask a model about: those for which the words are not sufficient to decide, and those that
/// the rules would merge or retire without being certain.
pub(super) fn to_ask(memory: &Known, verdict: &Verdict, others: &[Known]) -> Vec<MemoryId> {
    let matters = verdict.open || verdict.ruling.decision != Decision::Add;
    if !matters || !may_be_shown(memory) {
        return Vec::new();
    }
    let shown = |id: &MemoryId| others.iter().any(|other| other.memory.id == *id && may_be_shown(other));
    verdict.asks.iter().map(|ask| ask.id.clone()).filter(shown).collect()
}

/// Returns the ruling that follows from all of a model's answers about one memory.
pub(super) fn by_names(memory: &Known, named: &[(&Known, &Named)], now: Timestamp) -> Ruling {
    resolve(&as_incoming(memory), named, now)
}

/// Whether the words of two memories allow a merge.
pub(super) fn may_merge(a: &Known, b: &Known) -> bool {
    let (one, other) = (view(a), view(b));
    let says_part = |paired| matches!(paired, ClaimRelation::Same | ClaimRelation::More | ClaimRelation::Both);
    let same_way = one.features.polarity == other.features.polarity;
    same_way
        && veto(&one, &other).is_none()
        && (says_part(pair(&one, &other, false).pairing)
            || says_part(pair(&other, &one, false).pairing)
            || is_reordered(&one, &other))
}

/// Whether both memories say in exactly the same words that one attribute has one value, and one begins with the end of
/// the other, as in `Postgres is the database`. If there is a second name, the order might change the meaning.
fn is_reordered(a: &View<'_>, b: &View<'_>) -> bool {
    let (left, right) = (&a.features, &b.features);
    let words = Words::of(a, b);
    a.same_key(b)
        && compare(a.claim.value.as_deref(), b.claim.value.as_deref()) == Some(Values::Equal)
        && guard(a, b).is_none()
        && words.shared >= 2
        && words.incoming_only + words.known_only == 0
        && !extra(a, b).any()
        && !extra(b, a).any()
        && left.entities.len().max(right.entities.len()) <= 1
        && (left.polarity, right.polarity) == (Polarity::Positive, Polarity::Positive)
        && (left.except, &left.settings) == (right.except, &right.settings)
}

/// Whether it is safe to treat the content of one memory as a part of another.
///
/// All words of the memory must appear in one clause of the other: "Ole plays the bass" is not part of "Ole sings, and
/// Eva plays the bass". Both must also have the same beginning: "Apple takes two days" is a separate fact from "Milo
/// waits because Apple takes two days".
pub(super) fn is_part_of(part: &Known, whole: &Known) -> bool {
    let (short, long) = (view(part), view(whole));
    if !short.same_key(&long) && !begin_with_same(&short, &long) {
        return false;
    }
    let clauses =
        whole.memory.claim.content.split([',', ';', ':', '.', '(', ')', '，', '；', '：', '。', '、', '（', '）']);
    let holds = |text: &str| short.features.tokens.is_subset(&Features::of(text).tokens);
    short.same_key(&long) || clauses.into_iter().any(holds)
}

fn begin_with_same(a: &View<'_>, b: &View<'_>) -> bool {
    match (&a.about, &b.about) {
        (About::Other(x), About::Other(y)) => {
            // In scripts without spaces, a name has at least two characters.
            let root = if x.is_ascii() { 4 } else { 2 };
            let first = |text: &str| text.chars().take(root).collect::<String>();
            x == y || (x.chars().count() >= root && first(x) == first(y))
        }
        (one, other) => one == other,
    }
}

/// Whether both are about the same attribute.
pub(super) fn is_one_attribute(a: &Known, b: &Known) -> bool {
    view(a).same_key(&view(b))
}

/// Whether one memory may replace the other: they have the same attribute or the same subject, or one mentions
/// everything in the other.
pub(super) fn is_one_matter(a: &Known, b: &Known) -> bool {
    let (one, other) = (view(a), view(b));
    let words = Words::of(&one, &other);
    one.may_retire(&other) || words.shared > 0 && words.incoming_only.min(words.known_only) == 0
}

/// Whether neither memory says more than the other.
pub(super) fn is_same_both_ways(a: &Known, b: &Known) -> bool {
    let (one, other) = (view(a), view(b));
    [pair(&one, &other, false), pair(&other, &one, false)].iter().all(|paired| paired.pairing == ClaimRelation::Same)
}

pub(super) fn view(known: &Known) -> View<'_> {
    View::of(&known.memory.claim, &known.evidence)
}

/// Whether a memory may be shown to a model. Memories with instructions to the model are never shown, not even as one
/// of two texts to compare.
pub(super) fn may_be_shown(memory: &Known) -> bool {
    memory.memory.extraction_method == ExtractionMethod::Manual || suspicion(&as_incoming(memory).candidate).is_none()
}

/// Returns how many of `doubts`, in order, each call contains.
pub(super) fn spread(doubts: &[Doubt]) -> Vec<usize> {
    let (mut calls, mut count, mut shown) = (Vec::new(), 0, BTreeSet::new());
    for (id, others) in doubts {
        let ids: BTreeSet<&MemoryId> = others.iter().chain([id]).collect();
        if count == MAX_CANDIDATES || (count > 0 && shown.union(&ids).count() > MAX_MEMORIES) {
            calls.push(count);
            (count, shown) = (0, BTreeSet::new());
        }
        count += 1;
        shown.extend(ids);
    }
    calls.extend(Some(count).filter(|count| *count > 0));
    calls
}

/// Asks a model how each memory relates to the memories that it may be related to.
pub(super) async fn ask_about<C: Complete>(
    doubts: &[(Known, Vec<Known>)],
    guard: &Guard,
    model: &C,
) -> (Said, Spent, u64) {
    let case = |(memory, _): &(Known, Vec<Known>)| CandidateContext {
        incoming: as_incoming(memory),
        id: memory.memory.id.clone(),
        known: Vec::new(),
        rejected: Vec::new(),
        settled: None,
    };
    let cases: Vec<CandidateContext> = doubts.iter().map(case).collect();
    let questions: Vec<Question> = doubts
        .iter()
        .enumerate()
        .map(|(index, (_, others))| Question { index, known: others.clone(), closeness: 1.0, open: true })
        .collect();
    let Asked { answers, spent, failed } = ask(&cases, &questions, guard, model).await;
    let said = answers.into_iter().map(|(index, answer)| (cases[index].id.clone(), answer)).collect();
    (said, spent, failed)
}

/// Returns the word with which an answer is stored.
pub(super) const fn spelled(named: Option<&Named>) -> &'static str {
    match named {
        Some(Named::Duplicate) => "duplicate",
        Some(Named::MoreDetail) => "more_detail",
        Some(Named::Complementary) => COMPLEMENTARY,
        Some(Named::Overlapping) => "overlapping",
        Some(Named::Contradicts { .. }) => "contradicts",
        Some(Named::Unrelated) | None => UNRELATED,
    }
}

/// Whether an answer of the model leaves both memories unchanged.
pub(super) fn says_apart(said: &str) -> bool {
    [COMPLEMENTARY, UNRELATED, NONE].contains(&said)
}

const UNRELATED: &str = "unrelated";

/// Stored judgement of a group of episodes that have nothing in common.
pub(super) const NONE: &str = "none";

/// The stored word for two memories on one topic that are both true.
pub(super) const COMPLEMENTARY: &str = "complementary";

fn as_incoming(known: &Known) -> IncomingClaim {
    IncomingClaim::of(&known.memory, known.evidence.clone(), &known.memory.namespace)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::consolidate::tests::testing::known;

    #[test]
    fn a_part_stands_in_one_clause_of_the_whole() {
        let rows = [
            ("Ole spielt Bass.", "Während Fraukes Pause singt Ole, und Henrike spielt den Bass auf dem Nord.", false),
            ("Fermín es el socio de Nerea.", "Nerea lleva el taller Pedal Norte con su socio Fermín.", false),
            ("Apple review takes two days.", "Milo freezes the app because Apple review takes two days.", false),
            ("Priya wants no em dashes.", "Priya wants British spelling and no em dashes in all texts.", true),
            ("苏敏不吃香菜。", "苏敏不吃香菜，但在潮汕牛肉火锅里可以。", true),
            ("The daughter has a parrot.", "The user's daughter is Carys, 14, who has a parrot.", false),
            ("岑雨是客服主管。", "任何发给家长的文案都要客服主管岑雨过目。", false),
        ];
        for (part, whole, expected) in rows {
            assert_eq!(is_part_of(&known("a", part), &known("b", whole)), expected, "{part}");
        }
        let keyed = |text| known("a", &format!("key=user.pet;value=parrot | {text}"));
        assert!(is_part_of(&keyed("A parrot lives there."), &keyed("The user has a bird, a parrot.")));
    }
}
