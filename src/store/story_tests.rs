//! Test that follows the life of a memory, from the first conversation to its removal.

use super::testing::{clean, day, memory, quote, relation, shop};
use super::{Filter, RunStatus, Store, StoreError};
use crate::changeset::Action;
use crate::memory::{RelationType, Status};
use serde_json::json;

#[test]
fn a_memory_is_learnt_found_superseded_and_explained() {
    let store = Store::in_memory().unwrap();
    let run = store.begin_run("run", &json!(["logs"]), day(0)).unwrap();
    let old = memory("Deployment day", "The shop is deployed on Fridays.");
    store
        .write(Some(&run.id), day(0), |w| w.insert(&clean(old.clone()), &clean(vec![quote("we ship it every friday")])))
        .unwrap_or_else(|error: StoreError| panic!("{error}"));
    assert_eq!(store.memory(&old.id).unwrap(), old);
    assert_eq!(store.evidence(&old.id).unwrap(), [quote("we ship it every friday")]);

    let found = store.search_candidates("when do we ship?", &Filter::default(), 10).unwrap();
    assert_eq!(found.iter().map(|hit| &hit.memory).collect::<Vec<_>>(), [&old], "the quote is indexed");

    let new = memory("Deployment day", "The shop is deployed on Mondays.");
    let before = store.revision(&shop()).unwrap();
    store
        .write::<_, StoreError>(Some(&run.id), day(1), |w| {
            w.insert(&clean(new.clone()), &clean(vec![quote("no, on mondays")]))?;
            assert!(w.set_status(&old.id, Status::Superseded, Action::Supersede, Some("changed".into()))?);
            assert!(w.relate(&relation(&new.id, RelationType::Supersedes, &old.id))?);
            assert!(!w.relate(&relation(&new.id, RelationType::Supersedes, &old.id))?);
            Ok(())
        })
        .unwrap();
    assert!(store.revision(&shop()).unwrap() > before);
    let found = store.search_candidates("deployed", &Filter::default(), 10).unwrap();
    assert_eq!(found.into_iter().map(|hit| hit.memory.id).collect::<Vec<_>>(), std::slice::from_ref(&new.id));
    let lines: Vec<_> = store
        .history(&old.id)
        .unwrap()
        .into_iter()
        .map(|entry| (entry.action.as_str(), entry.entity.as_str()))
        .collect();
    let expected = [("add", "memory"), ("evidence", "evidence"), ("supersede", "memory"), ("relate", "relation")];
    assert_eq!(lines, expected);
    store.finish_run(&run.id, RunStatus::Finished, &json!({"added": 2}), day(1)).unwrap();
    assert_eq!(store.runs(9).unwrap()[0].summary, Some(json!({"added": 2})));
}
