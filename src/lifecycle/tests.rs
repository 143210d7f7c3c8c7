#![expect(clippy::float_cmp, reason = "what is compared is rounded, or a power of two")]

use super::decay::{HalfLives, confidence_at, last_sure};
use super::*;
use crate::changeset::Action;
use crate::lifecycle::decay::{Heat, heat, tier_at, warmth};
use crate::memory::{Claim, Memory, MemoryId, MemoryType, Namespace, RelationType, Scope, Status, Tier, Usage};
use crate::store::testing::{clean, day, insert, memory, memory_in, quote, shop, write};
use crate::store::{Filter, Outline, Store};
use jiff::Timestamp;
use proptest::prelude::*;

fn outline(memory_type: MemoryType, uses: u32) -> Outline {
    Outline {
        id: MemoryId::from_stored("m"),
        namespace: shop(),
        memory_type,
        category: "fact".into(),
        scope: Scope::LongTerm,
        status: Status::Active,
        importance: 0.5,
        confidence: 0.8,
        pinned: false,
        usage: Usage { access_count: uses, ..Usage::default() },
        confirmed_at: None,
        expires_at: None,
        deleted_at: None,
        created_at: day(0),
        updated_at: day(0),
    }
}

fn rounded(share: f64) -> f64 {
    (share * 1e4).round() / 1e4
}

/// The table of `docs/reference/lifecycle.md`.
#[test]
fn confidence_fades_by_type_and_more_slowly_with_use() {
    use MemoryType::{Episodic, Procedural, Semantic};
    for (memory_type, uses, days, expected) in [
        (Semantic, 0, 0, 0.8),
        (Semantic, 0, 30, 0.7127),
        (Semantic, 0, 180, 0.4),
        (Semantic, 0, 360, 0.2),
        (Semantic, 5, 270, 0.4),
        (Semantic, 10, 360, 0.4),
        (Semantic, 900, 360, 0.4),
        (Episodic, 0, 30, 0.4),
        (Episodic, 0, 90, 0.1),
        (Episodic, 10, 60, 0.4),
        (Procedural, 0, 365, 0.4),
        (Procedural, 0, -9, 0.8),
    ] {
        let found = confidence_at(&outline(memory_type, uses), &HalfLives::default(), day(days));
        assert_eq!(rounded(found), expected, "{memory_type} {uses} {days}");
    }
}

#[test]
fn use_and_confirmation_bring_confidence_back_and_what_is_pinned_never_fades() {
    let base = outline(MemoryType::Episodic, 0);
    let faded = |memory: &Outline| rounded(confidence_at(memory, &HalfLives::default(), day(60)));
    assert_eq!(faded(&base), 0.2);
    assert_eq!(faded(&Outline { confirmed_at: Some(day(30)), ..base.clone() }), 0.4);
    let used = Usage { last_accessed_at: Some(day(60)), ..Usage::default() };
    assert_eq!(faded(&Outline { usage: used, confirmed_at: Some(day(-90)), ..base.clone() }), 0.8);
    assert_eq!(faded(&Outline { pinned: true, ..base.clone() }), 0.8);
    let never = HalfLives { episodic: 0.0, ..HalfLives::default() };
    assert_eq!(confidence_at(&base, &never, day(9_000)), 0.8);
    assert_eq!(last_sure(&Outline { confirmed_at: Some(day(-90)), ..base }), day(0));
}

/// The table of `docs/reference/lifecycle.md`.
#[test]
fn warmth_and_heat_follow_from_uses_and_the_time_since() {
    for (uses, idle, expected, expected_heat) in [
        (0, 0, 0.0, Heat::Cold),
        (2, 0, 2.0, Heat::Cold),
        (3, 0, 3.0, Heat::Warm),
        (9, 0, 9.0, Heat::Warm),
        (10, 0, 10.0, Heat::Hot),
        (10, 30, 5.0, Heat::Warm),
        (12, 60, 3.0, Heat::Warm),
        (12, 90, 1.5, Heat::Cold),
    ] {
        let usage = Usage { access_count: uses, last_accessed_at: Some(day(0)), ..Usage::default() };
        assert_eq!(warmth(&usage, day(idle)), expected, "{uses} {idle}");
        assert_eq!(warmth(&usage, day(idle) + jiff::SignedDuration::from_hours(23)), expected, "{uses} {idle}");
        assert_eq!(heat(&usage, day(idle)), expected_heat, "{uses} {idle}");
    }
}

/// The table of `docs/reference/lifecycle.md`.
#[test]
fn a_memory_rises_at_once_and_sinks_once_it_is_half_as_warm() {
    use Tier::{L0, L1, L2, L3, L4};
    for (warmth, from_l0, from_l1, from_l2, from_l3, from_l4) in [
        (0.0, L4, L4, L4, L4, L4),
        (1.4, L4, L4, L4, L4, L4),
        (1.5, L3, L3, L3, L3, L4),
        (2.9, L3, L3, L3, L3, L4),
        (3.0, L2, L2, L2, L3, L3),
        (4.9, L2, L2, L2, L3, L3),
        (5.0, L1, L1, L2, L3, L3),
        (6.0, L1, L1, L2, L2, L2),
        (10.0, L1, L1, L1, L1, L1),
    ] {
        let expected = [from_l0, from_l1, from_l2, from_l3, from_l4];
        assert_eq!([L0, L1, L2, L3, L4].map(|tier| tier_at(tier, warmth)), expected, "{warmth}");
    }
}

fn changed(mut change: impl FnMut(&mut Memory)) -> Memory {
    let mut memory = memory("", "The shop sells coffee.");
    change(&mut memory);
    memory
}

fn acts(store: &Store, rules: &Rules, now: Timestamp) -> Vec<&'static str> {
    plan(store, rules, now).unwrap().steps.iter().map(|step| step.act.reason()).collect()
}

#[test]
fn each_rule_acts_on_its_day_and_not_before() {
    let ever = Rules { auto_delete_days: 50, ..Rules::default() };
    for (name, memory, rules, due_on) in [
        ("its lifetime has ended", changed(|m| m.claim.expires_at = Some(day(5))), Rules::default(), 5),
        (
            "nobody has used or confirmed it for a long time",
            changed(|m| m.claim.memory_type = MemoryType::Episodic),
            Rules::default(),
            130,
        ),
        (
            "it matters little, and nobody has used or confirmed it for a long time",
            changed(|m| m.claim.importance = 0.2),
            ever,
            50,
        ),
        ("another memory replaced it long ago", changed(|m| m.status = Status::Superseded), Rules::default(), 180),
        (
            "it expired long ago",
            changed(|m| (m.status, m.claim.scope) = (Status::Expired, Scope::ShortTerm)),
            Rules::default(),
            30,
        ),
    ] {
        let store = Store::in_memory().unwrap();
        insert(&store, &memory);
        let mut pinned = Memory { id: MemoryId::new(), pinned: true, ..memory.clone() };
        pinned.claim.content = "pinned".into();
        insert(&store, &pinned);
        assert_eq!(acts(&store, &rules, day(due_on - 1)), [""; 0], "{name}");
        assert_eq!(acts(&store, &rules, day(due_on)), [name]);
    }
}

#[test]
fn of_too_many_the_ones_worth_least_go_but_never_what_is_pinned() {
    let store = Store::in_memory().unwrap();
    let weak = changed(|m| m.claim.importance = 0.1);
    for memory in [
        changed(|m| m.claim.content = "one".into()),
        weak.clone(),
        Memory { pinned: true, ..changed(|m| (m.claim.importance, m.claim.content) = (0.0, "two".into())) },
        memory_in(&Namespace::global(), "", "elsewhere"),
    ] {
        insert(&store, &memory);
    }
    let rules = |max_memories| Rules { max_memories, ..Rules::default() };
    assert_eq!(plan(&store, &rules(3), day(1)).unwrap().steps, []);
    let steps = plan(&store, &rules(2), day(1)).unwrap().steps;
    assert_eq!(steps.iter().map(|step| &step.memory).collect::<Vec<_>>(), [&weak.id]);
    assert_eq!(plan(&store, &rules(1), day(1)).unwrap().steps.len(), 2);
    assert_eq!(plan(&store, &rules(0), day(1)).unwrap().steps, []);
}

#[test]
fn of_two_with_the_same_words_one_gives_way_with_what_it_rests_on() {
    let store = Store::in_memory().unwrap();
    let (first, later) = (changed(|_| ()), Memory { created_at: day(1), ..changed(|m| m.claim.content += " ") });
    insert(&store, &first);
    insert(&store, &later);
    write(&store, |w| w.add_evidence(&later.id, &clean(vec![quote("We sell coffee.")])));
    assert!(plan(&store, &Rules::default(), day(7)).unwrap().is_empty());
    let report = maintain(&store, &Rules::default(), day(8)).unwrap();
    assert_eq!(report.done.counts(), [("unite", 1)].into());
    assert_eq!(store.memory(&later.id).unwrap().status, Status::Superseded);
    assert_eq!(store.evidence(&first.id).unwrap().len(), 1);
    assert_eq!(store.relations(&first.id).unwrap()[0].relation_type, RelationType::Supersedes);
    store.undo_run(&report.run.unwrap(), day(9)).unwrap();
    assert_eq!(store.memory(&later.id).unwrap(), later);
    assert!(store.evidence(&first.id).unwrap().is_empty());
    assert_eq!(maintain(&store, &Rules::default(), day(10)).unwrap().done.steps, [], "what was taken back stays so");
}

#[test]
fn what_happened_twice_and_what_is_over_unites_with_nothing() {
    let store = Store::in_memory().unwrap();
    let event = |on| {
        changed(|m| {
            (m.claim.memory_type, m.claim.valid_from, m.updated_at) = (MemoryType::Episodic, Some(day(on)), day(9));
        })
    };
    insert(&store, &event(1));
    insert(&store, &event(2));
    assert_eq!(plan(&store, &Rules::default(), day(10)).unwrap().steps, []);
    let over =
        changed(|m| (m.claim.content, m.claim.expires_at, m.claim.importance) = ("over".into(), Some(day(1)), 1.0));
    insert(&store, &over);
    insert(&store, &changed(|m| m.claim.content = "over".into()));
    let steps = plan(&store, &Rules::default(), day(10)).unwrap().steps;
    assert_eq!(steps.iter().map(|step| (&step.memory, &step.act)).collect::<Vec<_>>(), [(&over.id, &Act::Expire)]);
}

#[test]
fn a_purge_takes_nothing_that_was_given_up_in_the_same_pass() {
    let store = Store::in_memory().unwrap();
    insert(&store, &changed(|m| m.status = Status::Superseded));
    let rules = Rules { purge_days: 0, ..Rules::default() };
    let report = maintain(&store, &rules, day(200)).unwrap();
    assert_eq!((report.done.counts(), report.done.purges), ([("retire", 1)].into(), vec![]));
    assert_eq!(store.count(&Filter { statuses: vec![Status::Forgotten], ..Filter::default() }).unwrap(), 1);
}

#[test]
fn use_raises_a_memory_and_idleness_lets_it_sink_without_making_it_newer() {
    let store = Store::in_memory().unwrap();
    let tea = changed(|_| ());
    insert(&store, &tea);
    for _ in 0..10 {
        assert!(store.record_use(std::slice::from_ref(&tea.id), day(1)));
    }
    let revision = store.revision(&shop()).unwrap();
    let tier_after = |on| {
        maintain(&store, &Rules::default(), day(on)).unwrap();
        let memory = store.memory(&tea.id).unwrap();
        assert_eq!(memory.updated_at, tea.updated_at);
        (memory.usage.tier, memory.usage.promotion_count)
    };
    assert_eq!(tier_after(1), (Tier::L1, 1));
    assert_eq!(tier_after(31), (Tier::L1, 1));
    assert_eq!(tier_after(32), (Tier::L2, 1));
    assert_eq!(tier_after(80), (Tier::L3, 1));
    assert_eq!(tier_after(90), (Tier::L4, 1));
    assert_eq!(store.revision(&shop()).unwrap(), revision, "no plan becomes stale by it");
}

#[test]
fn a_move_does_not_stand_in_the_way_of_undoing_what_came_before() {
    let store = Store::in_memory().unwrap();
    let tea = changed(|_| ());
    let run = store.begin_run("run", &serde_json::Value::Null, day(0)).unwrap().id;
    store.write(Some(&run), day(0), |w| w.insert(&clean(tea.clone()), &clean(vec![]))).unwrap();
    store.finish_run(&run, crate::store::RunStatus::Finished, &serde_json::Value::Null, day(0)).unwrap();
    for _ in 0..3 {
        assert!(store.record_use(std::slice::from_ref(&tea.id), day(1)));
    }
    let moved = maintain(&store, &Rules::default(), day(1)).unwrap().run.unwrap();
    assert_eq!(store.built_upon(&run).unwrap(), []);
    let undone = store.undo_run(&run, day(2)).unwrap();
    assert_eq!((undone.removed, undone.kept), (vec![tea.id.clone()], vec![]));
    store.undo_run(&moved, day(3)).unwrap();
    assert_eq!(store.find(&tea.id).unwrap(), None, "an undone move brings nothing back");
}

#[test]
fn what_was_given_up_can_be_restored_until_it_is_purged_and_is_then_left_alone() {
    let store = Store::in_memory().unwrap();
    let old = changed(|m| m.status = Status::Superseded);
    insert(&store, &old);
    let rules = Rules::default();
    maintain(&store, &rules, day(180)).unwrap();
    assert_eq!(store.memory(&old.id).unwrap().deleted_at, Some(day(180)));
    assert!(store.rejected(&shop(), "The shop sells coffee.", None).unwrap().is_none(), "it may be learnt again");
    write(&store, |w| w.restore(&old.id, None).map(drop));
    write(&store, |w| w.set_status(&old.id, Status::Superseded, Action::Supersede, None).map(drop));
    assert_eq!(maintain(&store, &rules, day(900)).unwrap().done.steps, []);

    let other = Memory { updated_at: day(700), ..changed(|m| m.status = Status::Superseded) };
    insert(&store, &other);
    maintain(&store, &rules, day(900)).unwrap();
    assert_eq!(maintain(&store, &rules, day(929)).unwrap().done.purges, []);
    assert_eq!(maintain(&store, &rules, day(930)).unwrap().done.purges, std::slice::from_ref(&other.id));
    assert_eq!(store.find(&other.id).unwrap(), None);
}

#[test]
fn a_faded_memory_keeps_its_low_confidence_until_it_is_restored() {
    let store = Store::in_memory().unwrap();
    let event = changed(|m| (m.claim.memory_type, m.claim.confidence) = (MemoryType::Episodic, 1.0));
    let never_sure = changed(|m| (m.claim.content, m.claim.confidence) = ("The shop sells rum.".into(), 0.0));
    insert(&store, &event);
    insert(&store, &never_sure);
    assert_eq!(maintain(&store, &Rules::default(), day(1)).unwrap().done.counts(), [("fade", 1)].into());
    assert_eq!(store.memory(&never_sure.id).unwrap().status, Status::Expired);
    maintain(&store, &Rules::default(), day(150)).unwrap();
    let now = |memory: &Memory| super::decay::confidence_now(memory, day(150));
    let faded = store.memory(&event.id).unwrap();
    assert!(faded.status == Status::Expired && now(&faded) < 0.05, "{faded:?}");
    store.write::<_, crate::store::StoreError>(None, day(150), |w| w.restore(&event.id, None)).unwrap();
    assert_eq!(now(&store.memory(&event.id).unwrap()), 1.0);
    assert_eq!(maintain(&store, &Rules::default(), day(900)).unwrap().done.steps, [], "a person restored it");
}

#[test]
fn only_minor_details_without_an_expiry_of_their_own_get_one() {
    let minor = |change: fn(&mut Claim)| {
        let mut claim = Claim::new(MemoryType::Semantic, "fact", "t", "The sauna was full.");
        claim.importance = 0.3;
        change(&mut claim);
        minor_expiry(&claim, day(10))
    };
    assert_eq!(minor(|_| {}), Some(day(100)));
    assert_eq!(minor(|claim| claim.importance = 0.1), Some(day(100)));
    assert_eq!(minor(|claim| claim.importance = 0.4), None);
    assert_eq!(minor(|claim| claim.memory_type = MemoryType::Procedural), None);
    assert_eq!(minor(|claim| claim.key = Some("user.residence".into())), None);
    assert_eq!(minor(|claim| claim.expires_at = Some(day(12))), None);
    assert_eq!(minor_expiry(&Claim::new(MemoryType::Semantic, "fact", "t", "x"), Timestamp::MAX), None);
}

#[test]
fn a_tick_expires_and_purges_and_leaves_the_rest_to_maintenance() {
    let store = Store::in_memory().unwrap();
    let over = changed(|m| m.claim.expires_at = Some(day(1)));
    let used = changed(|m| m.claim.content = "The shop sells tea.".into());
    insert(&store, &over);
    insert(&store, &used);
    for _ in 0..10 {
        assert!(store.record_use(std::slice::from_ref(&used.id), day(899) + jiff::SignedDuration::from_hours(23)));
    }
    insert(&store, &changed(|m| (m.claim.content, m.claim.memory_type) = ("faded".into(), MemoryType::Episodic)));
    assert_eq!(
        tick(&store, &Rules::default(), day(900)).unwrap().done.counts(),
        [("expire", 1), ("promote", 1)].into()
    );
    assert_eq!(tick(&store, &Rules::default(), day(900)).unwrap(), Report::default());
    assert_eq!(maintain(&store, &Rules::default(), day(900)).unwrap().done.counts(), [("fade", 1)].into());
}

fn any_memory() -> impl Strategy<Value = Memory> {
    let times = (-400_i64..400, -400_i64..400, prop::option::of(-400_i64..400), prop::option::of(-400_i64..400));
    let traits = (0..3_usize, 0..5_usize, 0..5_usize, any::<bool>(), any::<bool>());
    let shares = (0.0..1.0_f64, 0.0..1.0_f64, 0..30_u32, 0..4_u32, any::<bool>());
    (times, traits, shares).prop_map(|(times, traits, shares)| {
        let (created, updated, expires, used) = times;
        let (memory_type, status, tier, pinned, short) = traits;
        let (importance, confidence, uses, words, elsewhere) = shares;
        let namespace = if elsewhere { Namespace::global() } else { shop() };
        let mut memory = memory_in(&namespace, "", &format!("The shop sells things of kind {words}."));
        memory.claim.memory_type = MemoryType::ALL[memory_type];
        memory.claim.scope = if short { Scope::ShortTerm } else { Scope::LongTerm };
        (memory.claim.importance, memory.claim.confidence) = (importance, confidence);
        memory.claim.expires_at = expires.map(day);
        memory.status = Status::ALL[status];
        memory.deleted_at = (memory.status == Status::Forgotten).then(|| day(updated));
        (memory.pinned, memory.created_at, memory.updated_at) = (pinned, day(created), day(updated));
        memory.usage =
            Usage { access_count: uses, last_accessed_at: used.map(day), tier: Tier::ALL[tier], ..Usage::default() };
        memory
    })
}

fn everything(store: &Store) -> (Vec<Memory>, usize) {
    let all = Filter { statuses: vec![], ..Filter::default() };
    let memories = store.list(&all, crate::store::Order::Id, usize::MAX, 0).unwrap();
    let history = memories.iter().map(|memory| store.history(&memory.id).unwrap().len()).sum();
    (memories, history)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]
    #[test]
    fn maintenance_is_done_once_spares_what_is_pinned_and_is_undone_whole(
        memories in prop::collection::vec(any_memory(), 1..25),
        max_memories in 0..6_usize,
        auto_delete_days in 0..90_u32,
        passes in prop::collection::vec(0..300_i64, 1..4),
    ) {
        let store = Store::in_memory().unwrap();
        memories.iter().for_each(|memory| insert(&store, memory));
        let rules = Rules { max_memories, auto_delete_days, ..Rules::default() };
        let mut passes = passes;
        passes.sort_unstable();
        for on in passes {
            let (before, _) = everything(&store);
            let foreseen = plan(&store, &rules, day(on)).unwrap();
            let report = maintain(&store, &rules, day(on)).unwrap();
            prop_assert_eq!(&report.done, &foreseen, "a preview tells what is done");
            let once = everything(&store);
            prop_assert_eq!(maintain(&store, &rules, day(on)).unwrap(), Report::default());
            prop_assert_eq!(&everything(&store), &once, "a second pass changes nothing");
            for memory in before.iter().filter(|memory| memory.pinned && memory.status != Status::Forgotten) {
                prop_assert_eq!(&store.memory(&memory.id).unwrap(), memory);
            }
            for memory in &before {
                let after = store.find(&memory.id).unwrap();
                prop_assert!(after.is_none_or(|after| after.claim == memory.claim), "nothing is said differently");
            }
            if let Some(run) = report.run {
                store.undo_run(&run, day(on)).unwrap();
                let gone = |memory: &&Memory| !report.done.purges.contains(&memory.id);
                prop_assert_eq!(everything(&store).0, before.iter().filter(gone).cloned().collect::<Vec<_>>());
            }
        }
    }
}

#[test]
fn each_setting_of_the_life_of_memories_does_what_it_says() {
    use MemoryType::{Episodic, Procedural, Semantic};
    let root = tempfile::tempdir().unwrap();
    let folders = crate::config::Folders {
        user_file: root.path().join("user.toml"),
        default_db: "m.db".into(),
        state: root.path().join("state"),
    };
    let store = Store::in_memory().unwrap();
    let of = |content: &str, memory_type, status: Status| {
        changed(|m| {
            m.claim.content = content.into();
            (m.claim.memory_type, m.status, m.claim.importance) = (memory_type, status, 0.2);
            m.deleted_at = (status == Status::Forgotten).then(|| day(0));
        })
    };
    for (content, memory_type, status) in [
        ("fact", Semantic, Status::Active),
        ("fact", Semantic, Status::Active),
        ("event", Episodic, Status::Active),
        ("way", Procedural, Status::Active),
        ("old", Semantic, Status::Superseded),
        ("gone", Semantic, Status::Forgotten),
    ] {
        insert(&store, &of(content, memory_type, status));
    }
    insert(
        &store,
        &changed(|m| (m.status, m.claim.scope, m.claim.content) = (Status::Expired, Scope::ShortTerm, "was".into())),
    );
    let due = |text: &str| {
        std::fs::write(&folders.user_file, format!("[memory.{text}")).unwrap();
        let flags = crate::config::Partial::default();
        let config = crate::config::Config::load(&folders, root.path(), None, &|_| None, flags).unwrap();
        let upkeep = plan(&store, &Rules::from(&config.memory), day(20)).unwrap();
        let count = |act: &str| upkeep.counts().get(act).copied().unwrap_or(0);
        [count("unite"), count("fade"), count("retire"), upkeep.purges.len()]
    };
    for (text, expected) in [
        ("retention]", [1, 0, 0, 0]),
        ("retention]\nsuperseded_days = 20", [1, 0, 1, 0]),
        ("retention]\npurge_days = 20", [1, 0, 0, 1]),
        ("retention]\nauto_delete_after_days = 20", [0, 0, 4, 0]),
        ("retention]\nauto_delete_after_days = 20\nauto_delete_min_importance = 0.1", [1, 0, 0, 0]),
        ("retention]\nmax_memories_per_namespace = 1", [1, 0, 2, 0]),
    ] {
        assert_eq!(due(text), expected, "{text}");
    }
}

#[test]
fn the_settings_of_one_member_retire_nothing_from_a_team() {
    let (store, team) = (Store::in_memory().unwrap(), "team/shop".parse::<Namespace>().unwrap());
    for namespace in [&shop(), &team] {
        (0..3).for_each(|number| insert(&store, &memory_in(namespace, "", &format!("Shelf {number} has tea."))));
    }
    let mut sale = memory_in(&team, "", "The sale lasts until Friday.");
    sale.claim.expires_at = Some(day(2));
    insert(&store, &sale);
    let of = |namespace: &Namespace, rules: &Rules, at: i64| {
        let steps = plan(&store, rules, day(at)).unwrap().steps.into_iter();
        let mut actions: Vec<_> =
            steps.filter(|step| step.namespace == *namespace).map(|step| step.act.action()).collect();
        actions.retain(|action| !matches!(action, Action::Promote | Action::Demote));
        actions
    };
    let few = Rules { max_memories: 1, ..Rules::default() };
    assert_eq!((of(&shop(), &few, 3).len(), of(&team, &few, 3)), (2, vec![Action::Expire]));
    let old = Rules::default();
    assert_eq!((of(&shop(), &old, 3_000), of(&team, &old, 3_000)), (vec![Action::Fade; 3], vec![Action::Expire]));
}
