//! What two memories are to each other: the one place where a pass asks the rules and the model.

use std::collections::BTreeMap;

use jiff::Timestamp;

use crate::consolidate::ask::{Asked, MAX_CANDIDATES, ask};
use crate::consolidate::compare::features::Features;
use crate::consolidate::compare::pair::{Pairing, pair};
use crate::consolidate::compare::view::View;
use crate::consolidate::decide::decide;
use crate::consolidate::decide::named::{Named, resolve, veto};
use crate::consolidate::plan::{Question, Surrounded};
use crate::consolidate::{Incoming, Known, Ruling};
use crate::extract::Spent;
use crate::guard::{Guard, suspicion};
use crate::llm::Complete;
use crate::memory::{Audience, Candidate, ExtractionMethod, MemoryId};

/// What the rules make of a memory among others.
pub(super) enum Judged {
    /// They settle it.
    Ruled(Box<Ruling>),
    /// The words do not tell what it is to these, the closest first.
    Open(Vec<MemoryId>),
}

/// A memory, and those that it may be the same as.
pub(super) type Doubt = (MemoryId, Vec<MemoryId>);

/// What a model said, by the two memories in the order in which they were put.
pub(super) type Said = BTreeMap<(MemoryId, MemoryId), Named>;

/// Returns what `memory`, as if it came in now, is to the `others`.
pub(super) fn judge(memory: &Known, others: &[Known], now: Timestamp) -> Judged {
    let verdict = decide(&as_incoming(memory), others, &[], now);
    if verdict.open && !verdict.asks.is_empty() {
        Judged::Open(verdict.asks.into_iter().map(|ask| ask.id).collect())
    } else {
        Judged::Ruled(Box::new(verdict.ruling))
    }
}

/// Returns what follows from what a model said.
pub(super) fn by_name(memory: &Known, other: &Known, named: &Named, now: Timestamp) -> Ruling {
    resolve(&as_incoming(memory), &[(other, named)], now)
}

/// Whether the words of two memories allow that they become one.
pub(super) fn may_merge(a: &Known, b: &Known) -> bool {
    let (one, other) = (view(a), view(b));
    let says_part = |paired| matches!(paired, Pairing::Same | Pairing::More | Pairing::Both);
    let same_way = one.features.polarity == other.features.polarity;
    same_way
        && veto(&one, &other).is_none()
        && (says_part(pair(&one, &other, false).pairing) || says_part(pair(&other, &one, false).pairing))
}

/// Whether it is safe to take one memory for a part of what another says.
///
/// All its words stand in one clause of the other: "Ole plays the bass" is no part of "Ole sings, and Eva plays the bass".
pub(super) fn is_part_of(part: &Known, whole: &Known) -> bool {
    let (short, long) = (view(part), view(whole));
    let clauses =
        whole.memory.claim.content.split([',', ';', ':', '.', '(', ')', '，', '；', '：', '。', '、', '（', '）']);
    let holds = |text: &str| short.features.tokens.is_subset(&Features::of(text).tokens);
    short.same_key(&long) || clauses.into_iter().any(holds)
}

/// Whether neither says more than the other.
pub(super) fn is_same_both_ways(a: &Known, b: &Known) -> bool {
    let (one, other) = (view(a), view(b));
    [pair(&one, &other, false), pair(&other, &one, false)].iter().all(|paired| paired.pairing == Pairing::Same)
}

pub(super) fn view(known: &Known) -> View<'_> {
    View::of(&known.memory.claim, &known.evidence)
}

/// Whether a memory may be put before a model: an order is not, not even as one of two texts to compare.
pub(super) fn may_be_shown(memory: &Known) -> bool {
    memory.memory.extraction_method == ExtractionMethod::Manual || suspicion(&as_incoming(memory).candidate).is_none()
}

/// What a model said about doubts.
#[derive(Default)]
pub(super) struct Answered {
    pub(super) said: Said,
    /// Doubts about which something was said.
    pub(super) settled: Vec<Doubt>,
    pub(super) spent: Spent,
    pub(super) failed: u64,
}

/// Returns how many calls so many doubts take.
pub(super) const fn calls_for(doubts: usize) -> usize {
    doubts.div_ceil(MAX_CANDIDATES)
}

/// Returns how many doubts so many calls take.
pub(super) const fn doubts_in(calls: usize) -> usize {
    calls.saturating_mul(MAX_CANDIDATES)
}

/// Asks what each memory is to those that it may be the same as.
pub(super) async fn ask_about<C: Complete>(doubts: &[(Known, Vec<Known>)], guard: &Guard, model: &C) -> Answered {
    let cases: Vec<Surrounded> = doubts
        .iter()
        .map(|(memory, _)| Surrounded {
            incoming: as_incoming(memory),
            id: memory.memory.id.clone(),
            known: Vec::new(),
            rejected: Vec::new(),
            settled: None,
        })
        .collect();
    let questions: Vec<Question> = doubts
        .iter()
        .enumerate()
        .map(|(index, (_, others))| Question { index, known: others.clone(), closeness: 1.0, open: true })
        .collect();
    let Asked { answers, spent, failed } = ask(&cases, &questions, guard, model).await;
    let mut answered = Answered { spent, failed, ..Answered::default() };
    for (index, (memory, others)) in doubts.iter().enumerate() {
        let Some(answer) = answers.get(&index) else { continue };
        let id = &memory.memory.id;
        for (target, named) in &answer.named {
            answered.said.insert((id.clone(), target.clone()), named.clone());
        }
        answered.settled.push((id.clone(), others.iter().map(|other| other.memory.id.clone()).collect()));
    }
    answered
}

/// Returns the spelling under which an answer is kept.
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

/// Whether an answer leaves what it is about as it is.
pub(super) fn says_apart(said: &str) -> bool {
    [COMPLEMENTARY, UNRELATED, super::reflect::NONE].contains(&said)
}

const UNRELATED: &str = "unrelated";

/// The spelling of two memories of one matter that both hold.
pub(super) const COMPLEMENTARY: &str = "complementary";

fn as_incoming(known: &Known) -> Incoming {
    let memory = &known.memory;
    Incoming {
        candidate: Candidate {
            claim: memory.claim.clone(),
            audience: Audience::Project,
            evidence: known.evidence.clone(),
            replaces: None,
            is_pasted: false,
        },
        namespace: memory.namespace.clone(),
        source: memory.source.clone(),
        method: memory.extraction_method,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::consolidate::tests::testing::known;

    #[test]
    fn a_part_stands_in_one_clause_of_the_whole() {
        let rows = [
            ("Ole spielt Bass.", "Während Fraukes Pause singt Ole, und Henrike spielt den Bass auf dem Nord.", false),
            ("Fermín es el socio de Nerea.", "Nerea lleva el taller Pedal Norte con su socio Fermín.", true),
            ("The daughter has a parrot.", "The user's daughter is Carys, 14, who has a parrot.", false),
            ("岑雨是客服主管。", "任何发给家长的文案都要客服主管岑雨过目。", true),
        ];
        for (part, whole, expected) in rows {
            assert_eq!(is_part_of(&known("a", part), &known("b", whole)), expected, "{part}");
        }
        let keyed = |text| known("a", &format!("key=user.pet;value=parrot | {text}"));
        assert!(is_part_of(&keyed("A parrot lives there."), &keyed("The user has a bird, a parrot.")));
    }
}
