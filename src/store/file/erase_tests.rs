use crate::changeset::Action;
use crate::memory::{Evidence, Memory, MemoryId, RelationType, Status};
use crate::store::testing::{clean, day, memory, quote, relation, shop};
use crate::store::{RewriteOutcome, Scope, Store, StoreError, Writer};

/// A quote from one of two conversations.
fn said(transcript: &str, text: &str) -> Evidence {
    Evidence { transcript: transcript.into(), ..quote(text) }
}

fn write(store: &Store, days: i64, change: impl FnOnce(&Writer<'_>) -> Result<(), StoreError>) {
    store.write(None, day(days), change).unwrap();
}

fn learnt(w: &Writer<'_>, memory: &Memory, from: &str) -> Result<(), StoreError> {
    let memory =
        Memory { source: from.into(), extraction_method: crate::memory::ExtractionMethod::Auto, ..memory.clone() };
    let words = said(from, &memory.claim.content);
    w.insert(&clean(memory), &clean(vec![words]))
}

fn reword(w: &Writer<'_>, id: &MemoryId, content: &str) -> Result<(), StoreError> {
    let mut memory = w.memory(id)?;
    memory.claim.content = content.into();
    w.update(&clean(memory), Action::Merge, None).map(drop)
}

fn session(id: &str) -> Scope {
    Scope::Session(id.into())
}

/// Returns the contents of all text columns.
fn texts(store: &Store) -> String {
    crate::store::testing::snapshot(store).join("\n") + &format!("{:?}", store.list_history())
}

impl Store {
    fn list_history(&self) -> Vec<(Option<String>, Option<String>, Option<String>)> {
        let mut statement = self.conn.prepare("SELECT before, after, reason FROM history").unwrap();
        let found = statement.query_map((), |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?))).unwrap();
        found.map(Result::unwrap).collect()
    }
}

#[test]
fn what_rests_on_a_conversation_alone_goes_and_what_it_had_replaced_holds_again() {
    let store = Store::in_memory().unwrap();
    let (old, new) = (memory("Home", "Ana lives in Riga."), memory("Home", "Ana lives in Zwickmuehl."));
    write(&store, 0, |w| learnt(w, &old, "chat:t"));
    write(&store, 1, |w| {
        learnt(w, &new, "chat:s")?;
        w.set_status(&old.id, Status::Superseded, Action::Contradict, Some("Zwickmuehl".into()))?;
        w.relate(&relation(&new.id, RelationType::Supersedes, &old.id)).map(drop)
    });
    let planned = store.would_erase(&session("s"), day(2)).unwrap();
    assert_eq!(store.memory(&new.id).unwrap().id, new.id, "looking changes nothing");
    let erased = store.erase(&session("s"), day(2)).unwrap();
    assert_eq!(erased, planned);
    assert_eq!((&erased.memories, &erased.restored), (&vec![new.id.clone()], &vec![old.id.clone()]));
    assert_eq!(store.memory(&old.id).unwrap().status, Status::Active);
    assert!(store.find(&new.id).unwrap().is_none());
    assert_eq!(store.check().unwrap().flaws, []);
    assert!(store.is_withdrawn("chat:s").unwrap() && !store.is_withdrawn("chat:t").unwrap());
    assert!(store.readmit("chat:s").unwrap() && !store.is_withdrawn("chat:s").unwrap());
}

#[test]
fn what_rests_on_others_too_says_again_what_it_said_before() {
    let store = Store::in_memory().unwrap();
    let kept = memory("Port", "The service listens on 4101.");
    write(&store, 0, |w| learnt(w, &kept, "chat:t"));
    write(&store, 1, |w| {
        reword(w, &kept.id, "The service listens on 4101, says Zwickmuehl.")?;
        w.add_evidence(&kept.id, &clean(vec![said("chat:s", "Zwickmuehl says 4101")])).map(drop)
    });
    let erased = store.erase(&session("chat:s"), day(2)).unwrap();
    assert_eq!(
        (erased.memories.len(), &erased.kept, &erased.reverted),
        (0, &vec![kept.id.clone()], &vec![kept.id.clone()])
    );
    assert_eq!(store.memory(&kept.id).unwrap().claim.content, "The service listens on 4101.");
    assert_eq!(store.evidence(&kept.id).unwrap().len(), 1);
    assert!(!texts(&store).to_lowercase().contains("zwickmuehl"), "{}", texts(&store));
    assert_eq!(store.check().unwrap().flaws, []);
}

#[test]
fn what_began_there_and_was_confirmed_elsewhere_keeps_its_words_and_is_named() {
    let store = Store::in_memory().unwrap();
    let shared = memory("Tea", "Ana drinks tea.");
    write(&store, 0, |w| learnt(w, &shared, "chat:s"));
    write(&store, 1, |w| w.add_evidence(&shared.id, &clean(vec![said("chat:t", "Ana drinks tea")])).map(drop));
    let erased = store.erase(&session("s"), day(2)).unwrap();
    assert_eq!((&erased.kept, &erased.mixed), (&vec![shared.id.clone()], &vec![shared.id.clone()]));
    let left = store.memory(&shared.id).unwrap();
    assert_eq!((left.claim.content.as_str(), left.source.as_str()), ("Ana drinks tea.", "chat:t"));
    assert_eq!(store.evidence(&shared.id).unwrap().len(), 1);
    assert_eq!(store.check().unwrap().flaws, []);
}

#[test]
fn what_was_undone_is_erased_from_the_history_too() {
    let store = Store::in_memory().unwrap();
    let (new, kept) = (memory("Home", "Ana lives in Zwickmuehl."), memory("Port", "The service listens on 4101."));
    write(&store, 0, |w| learnt(w, &kept, "chat:t"));
    let run = store.begin_run("run", &serde_json::json!([]), day(1)).unwrap();
    let in_run = |w: &Writer<'_>| {
        learnt(w, &new, "chat:s")?;
        reword(w, &kept.id, "The service listens on 4101, says Zwickmuehl.")?;
        w.add_evidence(&kept.id, &clean(vec![said("chat:s", "Zwickmuehl says 4101")])).map(drop)
    };
    store.write::<_, StoreError>(Some(&run.id), day(1), in_run).unwrap();
    store.finish_run(&run.id, crate::store::RunStatus::Finished, &serde_json::json!({}), day(1)).unwrap();
    store.undo_run(&run.id, day(2)).unwrap();
    assert!(texts(&store).to_lowercase().contains("zwickmuehl"), "the history keeps what was undone");
    let by_hand = memory("Tea", "Ana drinks tea.");
    write(&store, 3, |w| w.insert(&clean(by_hand.clone()), &clean(Vec::new())));
    store.erase(&Scope::Source("chat:s".into()), day(4)).unwrap();
    assert!(!texts(&store).to_lowercase().contains("zwickmuehl"), "{}", texts(&store));
    assert!(texts(&store).contains("Ana drinks tea."));
    assert_eq!(store.memory(&kept.id).unwrap().claim.content, "The service listens on 4101.");
    assert_eq!(store.check().unwrap().flaws, []);
}

#[test]
fn what_a_person_wrote_stays_though_a_conversation_confirmed_it() {
    let store = Store::in_memory().unwrap();
    let own = memory("Milk", "No milk.");
    write(&store, 0, |w| w.insert(&clean(own.clone()), &clean(Vec::new())));
    write(&store, 1, |w| w.add_evidence(&own.id, &clean(vec![said("chat:s", "no milk")])).map(drop));
    let erased = store.erase(&session("s"), day(2)).unwrap();
    assert_eq!((erased.memories.len(), &erased.kept), (0, &vec![own.id.clone()]));
    assert_eq!(store.memory(&own.id).unwrap().claim.content, "No milk.");
    let erased = store.would_erase(&Scope::Source("manual".into()), day(3)).unwrap();
    assert_eq!(erased.memories, std::slice::from_ref(&own.id), "who names it means it");
    // A project is erased as a whole, including memories that a person wrote.
    let erased = store.erase(&Scope::Project(shop()), day(3)).unwrap();
    assert_eq!(erased.memories, [own.id]);
}

#[test]
fn places_times_and_parts_of_sessions_are_told_apart() {
    let store = Store::in_memory().unwrap();
    for (number, key) in ["claude-code:s", "claude-code:s/agent-1", "claude-code:s2", "codex:s3"].iter().enumerate() {
        let number = i64::try_from(number).unwrap();
        let one = memory("Fact", &format!("Fact {number} of {key}."));
        write(&store, number, |w| {
            let mut words = said(key, &one.claim.content);
            words.said_at = Some(transcripts::MessageTime::logged(day(number)));
            let source = (*key).to_owned();
            let method = crate::memory::ExtractionMethod::Auto;
            w.insert(&clean(Memory { source, extraction_method: method, ..one.clone() }), &clean(vec![words]))
        });
    }
    let keys = |scope: &Scope| -> Vec<String> {
        let erased = store.would_erase(scope, day(9)).unwrap();
        erased.conversations.into_iter().map(|one| one.key).collect()
    };
    assert_eq!(keys(&session("s")), ["claude-code:s", "claude-code:s/agent-1"]);
    assert_eq!(keys(&Scope::Source("codex".into())), ["codex:s3"]);
    assert_eq!(keys(&Scope::Before(day(2))), ["claude-code:s", "claude-code:s/agent-1"]);
    assert_eq!(keys(&session("nobody")), Vec::<String>::new());
    assert_eq!(keys(&Scope::Project(shop())).len(), 4);
}

#[test]
fn nothing_is_erased_while_a_run_is_going() {
    let store = Store::in_memory().unwrap();
    store.begin_run("run", &serde_json::json!({}), day(0)).unwrap();
    assert!(matches!(store.erase(&session("s"), day(0)), Err(StoreError::RunInProgress { .. })));
}

#[test]
fn an_erasure_that_another_process_keeps_from_its_end_is_remembered() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m.db");
    let store = Store::open(&path).unwrap();
    write(&store, 0, |w| learnt(w, &memory("Tea", "Ana drinks tea."), "chat:s"));
    store.conn.busy_timeout(std::time::Duration::from_millis(20)).unwrap();
    let reader = Store::open(&path).unwrap();
    store.erase(&session("s"), day(1)).unwrap();
    reader.conn.execute_batch("BEGIN; SELECT count(*) FROM memories;").unwrap();
    assert_eq!(store.seal().unwrap(), RewriteOutcome::Waiting);
    assert!(store.is_unsealed().unwrap());
    reader.conn.execute_batch("COMMIT").unwrap();
    assert_eq!(store.seal().unwrap(), RewriteOutcome::Wholly);
    assert!(!store.is_unsealed().unwrap());
}
