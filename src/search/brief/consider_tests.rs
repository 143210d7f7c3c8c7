//! Tests that briefs of random stores are the same as those computed from all memories.

use std::collections::HashSet;

use jiff::Timestamp;
use proptest::prelude::*;

use super::super::request::Quotas;
use super::super::select::{select, weigh};
use super::super::{Brief, compose, texts};
use super::*;
use crate::changeset::Action;
use crate::lifecycle::decay::last_sure;
use crate::memory::{Claim, Evidence, Memory, MemoryType, Scope, Status, Tier};
use crate::store::testing::{clean, day, memory_in, quote, shop, write};
use crate::store::{Filter, Outline, Store, stepped};
use transcripts::MessageTime;

/// Returns the row of a memory that the schema should contain.
fn row_of(memory: &Outline) -> BriefRow {
    let category = memory.category.as_str();
    let instructs =
        memory.memory_type == MemoryType::Procedural && matches!(category, "convention" | "workflow" | "note");
    let section = match memory.scope {
        _ if memory.pinned => Section::Standing,
        Scope::ShortTerm => Section::ShortTerm,
        Scope::LongTerm if instructs || matches!(category, "preference" | "profile") => Section::Standing,
        Scope::LongTerm => Section::LongTerm,
    };
    #[expect(clippy::cast_possible_truncation, reason = "a number of at most 20 steps")]
    let steps = |value: f64| (stepped(value) * 20.0).round() as i64;
    let digits = [
        (3, section as i64),
        (2, i64::from(memory.pinned)),
        (3, memory.memory_type as i64),
        (2, i64::from(memory.expires_at.is_some())),
        (21, steps(memory.importance)),
        (21, steps(memory.confidence)),
        (5, memory.usage.tier as i64),
        (11, i64::from(memory.usage.access_count.min(10))),
    ];
    let code = digits.into_iter().fold(0, |code, (base, digit)| code * base + digit);
    BriefRow { id: memory.id.clone(), group: BriefGroup::from_code(code), last_sure: last_sure(memory) }
}

/// Composes the brief from all memories: all memories are rated and sorted before the best ones are chosen.
fn from_all(store: &Store, request: &BriefRequest, now: Timestamp) -> Brief {
    let filter =
        Filter { types: request.types.clone(), unexpired_at: Some(now), ..Filter::exactly(&request.namespaces) };
    let all: Vec<BriefRow> = store.outlines(&filter).unwrap().iter().map(row_of).collect();
    let mut considered = ConsideredRows {
        as_of: all.iter().map(|row| row.last_sure).max().unwrap_or(Timestamp::UNIX_EPOCH),
        ..ConsideredRows::default()
    };
    for &section in Section::ALL {
        let rate = |row: &BriefRow| standing(row, None, &request.half_lives, considered.as_of);
        let mut rows: Vec<_> = all.iter().filter(|row| row.group.section == section as usize).collect();
        rows.sort_by(|a, b| order((&rate(a), a), (&rate(b), b)));
        let is_shown = |row: &BriefRow| floor(row, &rate(row), false, request).is_none();
        let (shown, others): (Vec<_>, Vec<_>) = rows.into_iter().partition(|row| is_shown(row));
        let limit = texts_of(section, request) + COUNTED;
        considered.has_more[section as usize] = shown.len() > limit;
        considered.rows.extend(shown.into_iter().chain(others).take(limit).cloned());
    }
    let weighed = weigh(&considered, None, &HashSet::new(), request);
    let texts = texts(store, &weighed, request).unwrap();
    select(weighed, texts, request, &|_| Vec::new())
}

/// Generates memories of every kind; `seed` determines the values that are not given.
fn any_memory() -> impl Strategy<Value = Memory> {
    let kinds = (0_usize..3, 0_usize..5, any::<bool>(), 0_u8..20, 0_u8..12);
    // Generates both values that many memories share and values that are almost unique.
    let share = prop_oneof![(0_u8..=10).prop_map(|tenths| f64::from(tenths) / 10.0), 0.0..=1.0];
    (kinds, share.clone(), share, -40_i64..1, any::<bool>(), 0_u32..1_000_000).prop_map(
        |((of_type, category, short, rare, status), importance, confidence, days, here, number)| {
            let categories = ["preference", "convention", "fact", "note", "solution"];
            let namespace = if here { shop() } else { Namespace::global() };
            let content = format!("The service s{number} listens on port {number}.");
            let memory = memory_in(&namespace, "", &content);
            Memory {
                claim: Claim {
                    memory_type: MemoryType::ALL[of_type],
                    category: categories[category].to_owned(),
                    importance,
                    confidence,
                    scope: if short { Scope::ShortTerm } else { Scope::LongTerm },
                    expires_at: (rare % 4 == 0).then(|| day(i64::from(rare) / 4)),
                    ..memory.claim
                },
                status: if status == 0 { Status::Superseded } else { Status::Active },
                pinned: rare == 1,
                // Many memories from one import have the same time.
                updated_at: if rare < 6 { day(-3) } else { day(days) },
                ..memory
            }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_brief_is_the_one_computed_from_all_memories(memories in prop::collection::vec(any_memory(), 0..900)) {
        let store = Store::in_memory().unwrap();
        write(&store, |w| memories.iter().try_for_each(|one| w.insert(&clean(one.clone()), &clean(Vec::new()))));
        let ids: Vec<_> = memories.iter().map(|memory| memory.id.clone()).collect();
        let every = |step: usize| ids.iter().step_by(step);
        for turn in 0..3 {
            for namespaces in [vec![shop()], vec![shop(), Namespace::global(), shop()]] {
                let usual = BriefRequest { namespaces, ..BriefRequest::default() };
                let requests = [
                    BriefRequest { quotas: Quotas { standing: 0, long_term: 1, short_term: 0 }, ..usual.clone() },
                    BriefRequest { min_importance: 0.72, types: vec![MemoryType::Episodic], ..usual.clone() },
                    usual,
                ];
                for request in requests {
                    let brief = compose(&store, &request, day(turn)).unwrap();
                    prop_assert_eq!(brief, from_all(&store, &request, day(turn)));
                }
            }
            // Makes all changes that affect the rating of a memory, in every possible way.
            write(&store, |w| {
                every(7).try_for_each(|id| w.set_status(id, Status::Forgotten, Action::Forget, None).map(drop))?;
                every(11).try_for_each(|id| w.set_tier(id, Tier::L1, Action::Promote, None).map(drop))?;
                every(13).try_for_each(|id| w.set_pinned(id, true).map(drop))?;
                every(17).try_for_each(|id| {
                    let said = Evidence { said_at: Some(MessageTime::logged(day(turn))), ..quote("port") };
                    w.add_evidence(id, &clean(vec![said])).map(drop)
                })
            });
            prop_assert!(store.record_use(&every(5).cloned().collect::<Vec<_>>(), day(turn - 9)));
        }
        prop_assert_eq!(store.check().unwrap().flaws, vec![]);
    }
}
