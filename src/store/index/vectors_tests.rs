use super::*;
use crate::changeset::Action;
use crate::memory::{Memory, Namespace, Status};
use crate::store::testing::{clean, day, insert, memory_in, shop, write};
use crate::store::{Filter, NamespaceSubtree, Store};

fn model() -> VectorModel {
    VectorModel { name: "m".into(), dimension: 3 }
}

fn other_model() -> VectorModel {
    VectorModel { name: "n".into(), dimension: 3 }
}

/// Stores a memory with the text `text` and a vector of [`model`].
fn kept(store: &Store, namespace: &Namespace, text: &str, vector: [f32; 3]) -> Memory {
    let memory = memory_in(namespace, text, text);
    insert(store, &memory);
    embed(store, &model(), text, vector);
    memory
}

fn embed(store: &Store, model: &VectorModel, title: &str, vector: [f32; 3]) -> usize {
    let waiting = store.without_vector(model, None, 100).unwrap();
    let of = waiting.iter().find(|one| one.title == title).unwrap();
    write(store, |w| w.put_vectors(model, &[NewVector { of, vector: &vector }]))
}

fn titles(store: &Store, query: [f32; 3], filter: &Filter, limit: usize) -> Vec<String> {
    let found = store.nearest(&model(), &query, filter, limit).unwrap();
    found.into_iter().map(|near| store.memory(&near.id).unwrap().claim.title).collect()
}

fn waiting(store: &Store, model: &VectorModel) -> Vec<String> {
    store.without_vector(model, None, 100).unwrap().into_iter().map(|one| one.title).collect()
}

#[test]
fn the_nearest_come_first_whatever_their_length() {
    let store = Store::in_memory().unwrap();
    let tea = kept(&store, &shop(), "tea", [2.0, 0.0, 0.0]);
    let milk = kept(&store, &shop(), "milk", [1.0, 1.0, 0.0]);
    kept(&store, &shop(), "rust", [0.0, 0.0, 9.0]);
    let found = store.nearest(&model(), &[5.0, 0.0, 0.0], &Filter::default(), 2).unwrap();
    assert_eq!(found.iter().map(|near| &near.id).collect::<Vec<_>>(), [&tea.id, &milk.id]);
    assert!((found[0].cosine - 1.0).abs() < 1e-6 && (found[1].cosine - 0.5_f64.sqrt()).abs() < 1e-6, "{found:?}");
    assert_eq!(titles(&store, [1.0, 0.0, 0.0], &Filter::default(), 0), [""; 0]);
    for nowhere in [&[0.0, 0.0, 0.0][..], &[1.0, 0.0], &[]] {
        assert_eq!(store.nearest(&model(), nowhere, &Filter::default(), 2).unwrap(), []);
    }
    assert_eq!(store.nearest(&other_model(), &[1.0, 0.0, 0.0], &Filter::default(), 2).unwrap(), []);
}

#[test]
fn a_filter_is_kept_even_where_the_nearest_do_not_pass_it() {
    let store = Store::in_memory().unwrap();
    let far: Namespace = "project/far".parse().unwrap();
    let below: Namespace = "project/shop/web".parse().unwrap();
    let beside: Namespace = "project/shop0".parse().unwrap();
    kept(&store, &far, "far", [0.0, 1.0, 0.0]);
    kept(&store, &below, "below", [0.1, 1.0, 0.0]);
    kept(&store, &beside, "beside", [0.0, 1.0, 0.0]);
    for count in 0..2_000 {
        kept(&store, &shop(), &format!("near {count}"), [1.0, 0.0, 0.0]);
    }
    let within = |namespaces| Filter { namespaces, ..Filter::default() };
    let near = [1.0, 0.0, 0.0];
    assert_eq!(titles(&store, near, &within(vec![NamespaceSubtree::Exactly(far.clone())]), 5), ["far"]);
    assert_eq!(
        titles(
            &store,
            near,
            &within(vec![NamespaceSubtree::Exactly(below.clone()), NamespaceSubtree::Exactly(far.clone())]),
            5
        ),
        ["below", "far"]
    );
    let under = titles(
        &store,
        [0.0, 1.0, 0.0],
        &within(vec![NamespaceSubtree::Under(shop()), NamespaceSubtree::Exactly(below)]),
        2,
    );
    assert_eq!(under, ["below", "near 0"]);
    // This filter is not by namespace, so all nearer memories have to be skipped.
    let tagged = Filter { subject: Some("none".into()), ..Filter::default() };
    assert_eq!(titles(&store, near, &tagged, 5), [""; 0]);
    let text = Filter { text: Some("FAR".into()), ..Filter::default() };
    assert_eq!(titles(&store, near, &text, 5), ["far"]);
}

#[test]
fn what_changes_loses_its_vector_and_what_moves_takes_it_along() {
    let store = Store::in_memory().unwrap();
    let mut tea = kept(&store, &shop(), "tea", [1.0, 0.0, 0.0]);
    let everything = |store: &Store| titles(store, [1.0, 0.0, 0.0], &Filter::default(), 9);
    tea.claim.importance = 0.9;
    write(&store, |w| w.update(&clean(tea.clone()), Action::Update, None));
    assert_eq!((everything(&store), waiting(&store, &model())), (vec!["tea".to_owned()], vec![]));

    let global = Namespace::global();
    write(&store, |w| w.set_namespace(&tea.id, &global, "moved".into()));
    assert_eq!(titles(&store, [1.0, 0.0, 0.0], &Filter::exactly(&[shop()]), 9), [""; 0]);
    assert_eq!(titles(&store, [1.0, 0.0, 0.0], &Filter::exactly(&[global]), 9), ["tea"]);

    tea.claim.content = "The user drinks coffee.".into();
    write(&store, |w| w.update(&clean(tea.clone()), Action::Update, None));
    assert_eq!((everything(&store), waiting(&store, &model())), (vec![], vec!["tea".to_owned()]));
}

#[test]
fn forgotten_memories_have_no_vector_and_restored_ones_wait_for_one() {
    let store = Store::in_memory().unwrap();
    let tea = kept(&store, &shop(), "tea", [1.0, 0.0, 0.0]);
    let milk = kept(&store, &shop(), "milk", [1.0, 0.0, 0.0]);
    write(&store, |w| w.forget(&tea.id, None));
    write(&store, |w| w.set_status(&milk.id, Status::Superseded, Action::Supersede, None));
    let any = Filter { statuses: Vec::new(), ..Filter::default() };
    assert_eq!(titles(&store, [1.0, 0.0, 0.0], &any, 9), ["milk"], "what was superseded can still be looked for");
    assert_eq!(waiting(&store, &model()), [""; 0]);
    write(&store, |w| w.restore(&tea.id, None));
    assert_eq!(waiting(&store, &model()), ["tea"]);
    write(&store, |w| w.forget(&tea.id, None));
    store.purge(0, day(9)).unwrap();
    let left =
        store.query_all("SELECT m.id FROM vectors v JOIN memories m USING (seq)", (), |row| row.get::<_, String>(0));
    assert_eq!(left.unwrap(), [milk.id.as_str()], "what is purged leaves no vector");
}

#[test]
fn a_vector_of_what_is_no_longer_said_is_not_kept() {
    let store = Store::in_memory().unwrap();
    let mut tea = memory_in(&shop(), "tea", "tea");
    insert(&store, &tea);
    let read = store.without_vector(&model(), None, 9).unwrap();
    tea.claim.content = "coffee".into();
    write(&store, |w| w.update(&clean(tea.clone()), Action::Update, None));
    let late = [NewVector { of: &read[0], vector: &[1.0, 0.0, 0.0] }];
    assert_eq!(write(&store, |w| w.put_vectors(&model(), &late)), 0);
    assert_eq!(waiting(&store, &model()), ["tea"]);
}

#[test]
fn another_model_makes_all_wait_and_leaves_what_is_not_done_yet() {
    let store = Store::in_memory().unwrap();
    kept(&store, &shop(), "tea", [1.0, 0.0, 0.0]);
    kept(&store, &shop(), "milk", [0.0, 1.0, 0.0]);
    assert_eq!(waiting(&store, &other_model()), ["milk", "tea"], "the last learnt comes first");
    embed(&store, &other_model(), "tea", [0.0, 0.0, 1.0]);
    assert_eq!(waiting(&store, &other_model()), ["milk"]);
    assert_eq!(waiting(&store, &model()), ["tea"]);
    assert_eq!(titles(&store, [1.0, 1.0, 0.0], &Filter::default(), 9), ["milk"]);
    let coverage = store.vector_coverage(&other_model()).unwrap();
    assert_eq!(coverage, Coverage { embedded: 1, waiting: 1, given_up: 0 });
}

#[test]
fn a_text_that_is_refused_is_tried_thrice_and_again_when_it_changes() {
    let store = Store::in_memory().unwrap();
    let mut tea = memory_in(&shop(), "tea", "tea");
    insert(&store, &tea);
    let refuse = || write(&store, |w| w.note_unembeddable(&model(), &tea.id, "too long".into()));
    refuse();
    refuse();
    assert_eq!(waiting(&store, &model()), ["tea"]);
    refuse();
    assert_eq!(waiting(&store, &model()), [""; 0]);
    assert_eq!(waiting(&store, &other_model()), ["tea"], "another model may take it");
    assert_eq!(store.vector_coverage(&model()).unwrap(), Coverage { embedded: 0, waiting: 0, given_up: 1 });
    let tried_again = write(&store, |w| {
        let again = w.retry_vectors()?;
        Ok(again)
    });
    assert_eq!(tried_again, 1);
    assert_eq!(waiting(&store, &model()), ["tea"]);
    (0..3).for_each(|_| write(&store, |w| w.note_unembeddable(&model(), &tea.id, "too long".into())));
    tea.claim.content = "less".into();
    write(&store, |w| w.update(&clean(tea), Action::Update, None));
    assert_eq!(waiting(&store, &model()), ["tea"]);
}

#[test]
fn what_another_connection_embeds_is_found_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m.db");
    let (one, other) = (Store::open(&path).unwrap(), Store::open(&path).unwrap());
    kept(&one, &shop(), "tea", [1.0, 0.0, 0.0]);
    assert_eq!(titles(&other, [1.0, 0.0, 0.0], &Filter::default(), 9), ["tea"]);
    kept(&one, &shop(), "milk", [1.0, 0.1, 0.0]);
    assert_eq!(titles(&other, [1.0, 0.0, 0.0], &Filter::default(), 9), ["tea", "milk"]);
}

#[test]
fn an_undone_run_leaves_no_vector_and_queues_what_it_brings_back() {
    let store = Store::in_memory().unwrap();
    let tea = kept(&store, &shop(), "tea", [1.0, 0.0, 0.0]);
    let run = store.begin_run("run", &serde_json::json!({}), day(1)).unwrap().id;
    let milk = memory_in(&shop(), "milk", "milk");
    store
        .write::<_, StoreError>(Some(&run), day(1), |w| {
            w.insert(&clean(milk.clone()), &clean(Vec::new()))?;
            let mut changed = tea.clone();
            changed.claim.content = "green tea".into();
            w.update(&clean(changed), Action::Refine, None)
        })
        .unwrap();
    embed(&store, &model(), "milk", [0.0, 1.0, 0.0]);
    embed(&store, &model(), "tea", [0.0, 1.0, 0.0]);
    store.finish_run(&run, crate::store::RunStatus::Finished, &serde_json::json!({}), day(1)).unwrap();
    store.undo_run(&run, day(2)).unwrap();
    assert_eq!(titles(&store, [0.0, 1.0, 0.0], &Filter { statuses: Vec::new(), ..Filter::default() }, 9), [""; 0]);
    assert_eq!(waiting(&store, &model()), ["tea"]);
}

#[test]
fn one_process_at_a_time_has_the_right_to_make_vectors() {
    let store = Store::in_memory().unwrap();
    let lease = |owner: &str, seconds: i64| {
        let now = day(0) + jiff::SignedDuration::from_secs(seconds);
        store.write::<_, StoreError>(None, now, |w| w.lease_vectors(owner)).unwrap()
    };
    assert!(lease("a", 0) && !lease("b", 1) && lease("a", 20));
    assert!(!lease("b", 49), "a sign of life keeps it");
    assert!(lease("b", 50) && !lease("a", 51));
    write(&store, |w| w.release_vectors("a"));
    assert!(!lease("a", 52), "only the owner gives it back");
    write(&store, |w| w.release_vectors("b"));
    assert!(lease("a", 53));
}

#[test]
fn what_vectors_took_is_spent() {
    let store = Store::in_memory().unwrap();
    write(&store, |w| w.note_embedding("m".into(), 70));
    write(&store, |w| w.note_embedding("m".into(), 7));
    let spent = store.spending("2026-03-01".parse().unwrap(), &jiff::tz::TimeZone::UTC).unwrap();
    let told: Vec<_> = spent.iter().map(|one| (one.model.as_str(), one.calls, one.prompt_tokens)).collect();
    assert_eq!(told, [("m", 2, 77)]);
}
