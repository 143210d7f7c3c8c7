//! Candidates that are planned and written to a store, end to end.

use std::collections::BTreeSet;

use crate::changeset::Action;
use crate::memory::{Evidence, Memory, MemoryId, RelationType, Status};
use crate::store::{Filter, RunStatus, Store};
use proptest::prelude::*;

use super::scripted::{all, decisions, evidence_of, learn, plan, plan_with, with_status, write};
use super::testing::{at, incoming, now};
use crate::consolidate::plan::apply::{ApplyError, apply};
use crate::consolidate::{Conflict, Decision, Plan};

#[test]
fn a_decision_that_names_the_earlier_one_takes_its_place() {
    let key = "category=decision; key=project.deploy_target";
    let later = |said: &str, value: &str, text: &str| format!("said={said}; {key}; value={value} | {text}");
    let store = Store::in_memory().unwrap();
    learn(&store, &[&later("2026-03-02", "Heroku", "The team decided to host on Heroku.")]);
    learn(&store, &[&later("2026-04-14", "Fly.io", "The team decided to move from Heroku to Fly.io.")]);
    assert_eq!(with_status(&store, Status::Active), ["The team decided to move from Heroku to Fly.io."]);
    learn(&store, &[&later("2026-05-02", "Render", "The team decided to host the staging API on Render.")]);
    assert_eq!(with_status(&store, Status::Active).len(), 2, "it may be about something else");
}

#[test]
fn a_new_deploy_target_takes_the_place_of_the_old_one() {
    let store = Store::in_memory().unwrap();
    learn(&store, &["said=2026-01-10; key=project.deploy_target; value=Heroku | The project deploys to Heroku."]);
    let fly = "said=2026-03-02; key=project.deploy_target; value=Fly.io | The project moved its deployment from Heroku to Fly.io.";
    let planned = plan(&store, &[fly]);
    assert_eq!(with_status(&store, Status::Active), ["The project deploys to Heroku."], "planning writes nothing");
    let [change] = &planned.changes[..] else { panic!("one claim, one change") };
    assert_eq!(change.decision, Decision::Contradict);
    assert_eq!(change.before.as_deref(), Some("The project deploys to Heroku."));
    assert_eq!(change.incoming.candidate.claim.content, "The project moved its deployment from Heroku to Fly.io.");
    write(&store, &planned);
    assert_eq!(with_status(&store, Status::Active), ["The project moved its deployment from Heroku to Fly.io."]);
    let memories = all(&store);
    let (old, new) = (&memories[0], &memories[1]);
    assert_eq!((old.status, old.claim.valid_to), (Status::Superseded, Some(at("2026-03-02"))));
    let links: BTreeSet<_> =
        store.relations(&new.id).unwrap().into_iter().map(|r| (r.from, r.relation_type, r.to, r.reason)).collect();
    let link = |relation| (new.id.clone(), relation, old.id.clone(), Some("changed".to_owned()));
    assert_eq!(links, BTreeSet::from([link(RelationType::Contradicts), link(RelationType::Supersedes)]));
    let found: Vec<String> = store
        .search_candidates("deploy Heroku", &Filter::default(), 10)
        .unwrap()
        .into_iter()
        .map(|hit| hit.memory.claim.content)
        .collect();
    assert_eq!(found, ["The project moved its deployment from Heroku to Fly.io."]);
    assert!(
        store
            .history(&old.id)
            .unwrap()
            .iter()
            .any(|entry| entry.action == Action::Contradict && entry.before.is_some())
    );
    // The old log is read again: nothing is restored.
    let again = learn(
        &store,
        &["said=2026-01-10; key=project.deploy_target; value=Heroku | The project deploys to Heroku.", fly],
    );
    assert_eq!(decisions(&again), [Decision::Skip, Decision::Skip]);
    // An older log says the same in other words.
    let late =
        learn(&store, &["said=2025-12-01; key=project.hosting; value=heroku | The project is hosted on Heroku."]);
    assert_eq!(decisions(&late), [Decision::Support]);
    assert_eq!(with_status(&store, Status::Active), ["The project moved its deployment from Heroku to Fly.io."]);
}

#[test]
fn what_is_stated_again_expires_with_its_last_statement() {
    let ends = |lines: &[&str]| {
        let store = Store::in_memory().unwrap();
        for line in lines {
            learn(&store, &[line]);
        }
        let kept: Vec<_> = all(&store).into_iter().filter(|memory| memory.status == Status::Active).collect();
        assert_eq!(kept.len(), 1, "{kept:?}");
        kept[0].claim.expires_at
    };
    let first =
        "said=2026-01-10; words=a/1; expires=2026-02-01; key=user.guest; value=Mira | The user's guest is Mira.";
    let later =
        "said=2026-01-20; words=b/1; expires=2026-03-01; key=user.guest; value=mira | Mira is the user's guest.";
    let always = "said=2026-01-20; words=b/1; key=user.guest; value=mira | Mira is the user's guest.";
    assert_eq!(ends(&[first]), Some(at("2026-02-01")));
    assert_eq!(ends(&[first, later]), Some(at("2026-03-01")));
    assert_eq!(ends(&[first, always]), None);
    assert_eq!(ends(&[always, first]), None);
}

/// Five facts in three wordings each, with the keys that a careful extractor would choose.
const FIFTEEN: &[&str] = &[
    "key=user.residence; value=Berlin | The user lives in Berlin.",
    "key=user.employer; value=Acme | The user works at Acme.",
    "key=project.database; value=Postgres | The project uses Postgres.",
    "key=user.preference.indentation; value=tabs | The user prefers tabs.",
    "key=user.pet; value=dog | The user has a dog.",
    "key=user.city; value=Berlin | Berlin is where the user lives.",
    "key=user.company; value=Acme | The user's employer is Acme.",
    "key=project.db; value=postgres | Postgres is the project's database.",
    "key=user.preference.indent; value=Tabs | The user wants tabs for indentation.",
    "key=user.pet; value=a dog | A dog lives with the user.",
    "key=user.residence; value=Berlin | The user's home is in Berlin.",
    "key=user.employer; value=Acme | Acme employs the user.",
    "key=project.database; value=Postgres | Data of the project is kept in Postgres.",
    "key=user.preference.indentation; value=tabs | Tabs are what the user indents with.",
    "key=user.pet; value=dog | The user owns a dog.",
];

#[test]
fn five_facts_in_three_wordings_are_five_memories_with_fifteen_sources() {
    for batches in [vec![FIFTEEN.to_vec()], FIFTEEN.iter().map(|line| vec![*line]).collect()] {
        let store = Store::in_memory().unwrap();
        for batch in &batches {
            learn(&store, batch);
        }
        let active = with_status(&store, Status::Active);
        assert_eq!(active.len(), 5, "{active:#?}");
        let sources: usize = active.iter().map(|content| evidence_of(&store, content).len()).sum();
        assert_eq!((sources, all(&store).len()), (15, 5));
        let again = learn(&store, FIFTEEN);
        assert_eq!(decisions(&again), [Decision::Skip; 15]);
    }
}

#[test]
fn undoing_the_run_brings_back_what_was_there() {
    let store = Store::in_memory().unwrap();
    learn(&store, &FIFTEEN[..5]);
    let before = (all(&store), evidence_of(&store, "The user lives in Berlin."));
    let run = store.begin_run("run", &serde_json::json!({}), now()).unwrap();
    let lines = [
        "said=2026-04-01; key=user.residence; value=Oslo | The user moved from Berlin to Oslo.",
        FIFTEEN[6],
        "key=project.database; value=Postgres 16 | The project uses Postgres 16.",
        "The user plays chess.",
    ];
    let planned = plan(&store, &lines);
    apply(&store, &planned, Some(&run.id), now()).unwrap();
    assert_eq!(decisions(&planned), [Decision::Contradict, Decision::Support, Decision::Refine, Decision::Add]);
    store.finish_run(&run.id, RunStatus::Finished, &serde_json::json!({}), now()).unwrap();
    store.undo_run(&run.id, now()).unwrap();
    assert_eq!((all(&store), evidence_of(&store, "The user lives in Berlin.")), before);
}

#[test]
fn a_chain_in_one_batch_ends_with_one_active_memory() {
    let store = Store::in_memory().unwrap();
    let chain = [
        "said=2026-01-01; key=user.residence; value=Lyon | The user lives in Lyon.",
        "said=2026-02-01; key=user.residence; value=Oslo | The user moved to Oslo.",
        "said=2026-03-01; key=user.residence; value=Riga | The user moved to Riga.",
    ];
    learn(&store, &chain);
    assert_eq!(with_status(&store, Status::Active), ["The user moved to Riga."]);
    assert_eq!(with_status(&store, Status::Superseded), ["The user lives in Lyon.", "The user moved to Oslo."]);
    assert_eq!(decisions(&learn(&store, &chain)), [Decision::Skip; 3]);
}

#[test]
fn arrival_in_any_order_ends_alike() {
    let chain = [
        "said=2026-01-01; key=user.residence; value=Lyon | The user lives in Lyon.",
        "said=2026-02-01; key=user.residence; value=Oslo | The user moved to Oslo.",
        "said=2026-03-01; key=user.residence; value=Riga | The user moved to Riga.",
    ];
    for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
        let store = Store::in_memory().unwrap();
        for index in order {
            learn(&store, &[chain[index]]);
        }
        assert_eq!(with_status(&store, Status::Active), ["The user moved to Riga."], "{order:?}");
        assert_eq!(all(&store).len(), 3);
    }
}

#[test]
fn a_value_that_holds_again_comes_back_as_a_new_memory() {
    let store = Store::in_memory().unwrap();
    learn(&store, &["said=2026-01-01; key=user.residence; value=Lyon | The user lives in Lyon."]);
    learn(&store, &["said=2026-02-01; key=user.residence; value=Oslo | The user lives in Oslo."]);
    let back = learn(&store, &["words=b/1; said=2026-03-01; key=user.residence; value=Lyon | The user lives in Lyon."]);
    assert_eq!((back.changes[0].decision, back.changes[0].conflict), (Decision::Contradict, Some(Conflict::Changed)));
    assert_eq!(with_status(&store, Status::Active), ["The user lives in Lyon."]);
}

#[test]
fn a_correction_says_that_the_old_value_never_held() {
    let store = Store::in_memory().unwrap();
    learn(&store, &["from=2026-01-01; key=user.name; value=Jon | The user is called Jon."]);
    learn(&store, &["from=2026-01-01; said=2026-02-01; key=user.name; value=John | The user's name is actually John."]);
    let old = all(&store).remove(0);
    assert_eq!((old.status, old.claim.valid_to), (Status::Superseded, Some(at("2026-01-01"))));
    assert_eq!(store.relations(&old.id).unwrap()[0].reason.as_deref(), Some("corrected"));
}

#[test]
fn pinned_memories_stay_as_they_are_and_the_newcomer_waits() {
    let store = Store::in_memory().unwrap();
    learn(&store, &["key=user.residence; value=Lyon | The user lives in Lyon."]);
    let id = all(&store)[0].id.clone();
    store.write(None, now(), |writer| writer.set_pinned(&id, true)).unwrap();
    let before = store.memory(&id).unwrap();
    learn(
        &store,
        &[
            "said=2026-04-01; key=user.residence; value=Oslo | The user moved to Oslo.",
            "words=c/1; key=user.residence; value=Lyon | The user's home is Lyon.",
        ],
    );
    assert_eq!(store.memory(&id).unwrap(), before);
    assert_eq!(with_status(&store, Status::Pending), ["The user moved to Oslo."]);
    assert_eq!(store.evidence(&id).unwrap().len(), 2);
}

#[test]
fn rejected_values_stay_rejected() {
    let store = Store::in_memory().unwrap();
    learn(&store, &["key=user.pet; value=dog | The user has a dog."]);
    let id = all(&store)[0].id.clone();
    store
        .write(None, now(), |writer| {
            writer.tombstone(&id, Some("not so".into()))?;
            writer.set_status(&id, Status::Forgotten, Action::Forget, None)
        })
        .unwrap();
    let lines = [
        "words=b/1 | The user has a dog.",
        "words=c/1; key=user.pet; value=Dog | A dog is the user's pet.",
        "key=user.pet; value=cat | The user has a cat.",
    ];
    assert_eq!(decisions(&learn(&store, &lines)), [Decision::Skip, Decision::Skip, Decision::Add]);
    assert_eq!(with_status(&store, Status::Active), ["The user has a cat."]);
}

#[test]
fn namespaces_do_not_see_each_other() {
    let store = Store::in_memory().unwrap();
    learn(&store, &["ns=project/shop; key=project.database; value=MySQL | The project uses MySQL."]);
    let id = all(&store)[0].id.clone();
    let line = format!(
        "ns=project/blog; replaces={id}; said=2026-05-01; key=project.database; value=Postgres | The project uses Postgres."
    );
    assert_eq!(decisions(&learn(&store, &[&line])), [Decision::Add]);
    assert_eq!(with_status(&store, Status::Active).len(), 2);
}

#[test]
fn a_plan_goes_stale_when_its_namespace_moves_on_and_survives_being_saved() {
    let store = Store::in_memory().unwrap();
    let first = plan(&store, &["The user has a dog."]);
    let saved: Plan = serde_json::from_str(&serde_json::to_string(&first).unwrap()).unwrap();
    assert_eq!(saved, first);
    learn(&store, &["The user likes tea."]);
    assert!(matches!(apply(&store, &saved, None, now()), Err(ApplyError::Stale { .. })));
    assert_eq!(with_status(&store, Status::Active), ["The user likes tea."]);
}

#[test]
fn merging_keeps_both_wordings_and_lines_show_both_states() {
    let store = Store::in_memory().unwrap();
    learn(&store, &["key=user.employer; value=Acme | The user works at Acme in Paris."]);
    let merged = learn(&store, &["key=user.employer; value=Acme | The user joined Acme in 2021."]);
    let joined = "The user works at Acme in Paris. The user joined Acme in 2021.";
    assert_eq!(with_status(&store, Status::Active), [joined]);
    let [change] = &merged.changes[..] else { panic!("one claim, one change") };
    assert_eq!(change.before.as_deref(), Some("The user works at Acme in Paris."));
    assert_eq!(change.merged.as_ref().map(|claim| claim.content.as_str()), Some(joined));
    assert_eq!(change.reason, "the same value, but with different details");
    assert_eq!(merged.counts()[&Decision::Merge], 1);
}

/// A claim with one of a few subjects, values and days, so that claims often collide.
fn any_line() -> impl Strategy<Value = String> {
    let key =
        prop::sample::select(vec!["user.residence", "user.preference.food", "project.database", "project.api", ""]);
    let value = prop::sample::select(vec!["Lyon", "Oslo", "sushi", "tea", "用户", "x"]);
    let form = prop::sample::select(vec![
        "The user has {v}.",
        "The user does not have {v}.",
        "The user moved to {v}, actually.",
        "{v} is what it is in 2021.",
        "用户喜欢{v}。",
    ]);
    (key, value, form, 1..28_u8, 0..4_u8).prop_map(|(key, value, form, day, log)| {
        let attribute = if key.is_empty() { String::new() } else { format!("key={key}; value={value}; ") };
        format!("{attribute}words=log-{log}/{day}-{value}; said=2026-02-{day:02} | {}", form.replace("{v}", value))
    })
}

fn is_acyclic(store: &Store, memories: &[Memory]) -> bool {
    let next = |id: &MemoryId| {
        let links = store.relations(id).unwrap();
        links
            .into_iter()
            .filter(|link| link.from == *id && link.relation_type == RelationType::Supersedes)
            .map(|link| link.to)
            .collect::<Vec<_>>()
    };
    memories.iter().all(|start| {
        let (mut open, mut seen) = (next(&start.id), BTreeSet::new());
        while let Some(id) = open.pop() {
            if id == start.id {
                return false;
            }
            if seen.insert(id.clone()) {
                open.extend(next(&id));
            }
        }
        true
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_claim_is_lost_and_reading_again_changes_nothing(
        batches in prop::collection::vec(prop::collection::vec(any_line(), 1..6), 1..5),
    ) {
        let store = Store::in_memory().unwrap();
        for batch in &batches {
            learn(&store, &batch.iter().map(String::as_str).collect::<Vec<_>>());
        }
        let memories = all(&store);
        let kept: Vec<Evidence> = memories.iter().flat_map(|memory| store.evidence(&memory.id).unwrap()).collect();
        for line in batches.iter().flatten() {
            let claim = incoming(line).candidate;
            prop_assert!(claim.evidence.iter().all(|piece| kept.contains(piece)), "lost: {line}");
        }
        prop_assert!(is_acyclic(&store, &memories));
        for batch in &batches {
            let again = learn(&store, &batch.iter().map(String::as_str).collect::<Vec<_>>());
            prop_assert!(again.is_empty(), "{:#?}", again.changes);
        }
        prop_assert_eq!(all(&store), memories);
    }

    #[test]
    fn any_text_is_decided(text in ".{0,200}", other in "\\PC{0,200}") {
        let store = Store::in_memory().unwrap();
        let mut candidates = vec![incoming("a"), incoming("b")];
        candidates[0].candidate.claim.content = text;
        candidates[1].candidate.claim.content.clone_from(&other);
        candidates[1].candidate.claim.key = Some(other.clone());
        candidates[1].candidate.claim.value = Some(other);
        let planned = plan_with(&store, None, candidates);
        prop_assert_eq!(planned.changes.len(), 2);
        write(&store, &planned);
    }
}
