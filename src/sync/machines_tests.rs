//! Two machines and a folder: what travels, what does not, and what goes wrong.

use std::fs;

use tempfile::TempDir;

use super::files::{LOGS, hash_of};
use super::testing::Machine;
use super::*;
use crate::changeset::Action;
use crate::memory::{Claim, Memory, MemoryId, RelationType, Status};
use crate::store::testing::{clean, day, memory, memory_in, quote, shop};
use crate::store::{Filter, Scope};

impl Machine {
    fn new(folder: &TempDir, name: &str, namespaces: &[&str]) -> Self {
        Self::with(Store::in_memory().unwrap(), folder.path().to_str().unwrap(), name, namespaces)
    }

    fn edit(&self, id: &MemoryId, content: &str) {
        self.write(day(0), |w| {
            let memory = w.memory(id)?;
            let claim = Claim { content: content.to_owned(), ..memory.claim.clone() };
            w.update(&clean(Memory { claim, ..memory }), Action::Update, None)
        });
    }

    fn device(&self) -> String {
        target_of(&self.store, self.target).unwrap().device
    }

    /// Returns the folder of the log in a target.
    fn log(&self, folder: &TempDir) -> PathBuf {
        folder.path().join(LOGS).join(testing::log_of(&self.device()))
    }
}

/// Two machines that share a folder.
fn two(namespaces: &[&str]) -> (TempDir, Machine, Machine) {
    let folder = TempDir::new().unwrap();
    let (a, b) = (Machine::new(&folder, "desk", namespaces), Machine::new(&folder, "laptop", namespaces));
    (folder, a, b)
}

fn residence(city: &str) -> Memory {
    let mut memory = memory("Residence", &format!("The user lives in {city}."));
    memory.claim.key = Some("user.residence".into());
    memory.claim.value = Some(city.into());
    memory
}

fn every_byte(folder: &TempDir) -> String {
    let mut all = String::new();
    for file in files_of(folder) {
        all += &file.display().to_string();
        all += &String::from_utf8_lossy(&fs::read(&file).unwrap());
    }
    all
}

fn files_of(folder: &TempDir) -> Vec<std::path::PathBuf> {
    let logs = fs::read_dir(folder.path().join(LOGS)).unwrap();
    let mut files: Vec<_> =
        logs.flat_map(|log| fs::read_dir(log.unwrap().path()).unwrap()).map(|file| file.unwrap().path()).collect();
    files.sort();
    files
}

#[test]
fn memories_travel_with_evidence_links_and_rejections() {
    let (_folder, a, b) = two(&["project/*"]);
    let (tea, milk) = (memory("Tea", "The shop sells tea."), memory("Milk", "The shop sells milk."));
    [&tea, &milk].into_iter().for_each(|one| a.insert(one));
    a.write(day(0), |w| w.relate(&crate::store::testing::relation(&tea.id, RelationType::Related, &milk.id)));
    assert_eq!((a.sync().sent, b.sync().received), (5, 5));
    assert_eq!((b.contents(), b.store.evidence(&tea.id).unwrap().len()), (a.contents(), 1));
    assert_eq!(b.store.relations(&tea.id).unwrap(), a.store.relations(&tea.id).unwrap());
    b.write(day(2), |w| w.forget(&tea.id, Some("wrong".into())));
    b.sync();
    a.sync();
    assert_eq!(a.store.find(&tea.id).unwrap().unwrap().status, Status::Forgotten);
    assert!(a.store.tombstone_of(&tea.id).unwrap().is_some());
    let history = a.store.history(&tea.id).unwrap();
    assert!(history.iter().any(|entry| entry.action == Action::Forget), "{history:#?}");
    assert_eq!((a.sync().sent, b.sync().sent), (0, 0));
    // What another machine did is not the last change that a person can undo here.
    assert!(matches!(a.store.newest_change(), Ok(crate::store::LastChange::ByHand { at, .. }) if at == day(0)));
}

#[test]
fn a_namespace_that_is_not_named_leaves_no_byte() {
    let (folder, a, b) = two(&["project/shop"]);
    let private = memory_in(&"project/diary".parse().unwrap(), "Quokka", "Zanzibar quokka diary.");
    let (open, moved) = (memory("Tea", "The shop sells tea."), memory("Wombat", "The shop plans a wombat."));
    [&private, &open, &moved].into_iter().for_each(|one| a.insert(one));
    // A link may quote both of its ends.
    let mut link = crate::store::testing::relation(&open.id, RelationType::Related, &private.id);
    link.reason = Some("zanzibar".into());
    a.write(day(0), |w| w.relate(&link));
    a.sync();
    b.sync();
    assert_eq!(b.all().len(), 2);
    // A memory that moves away is removed elsewhere, and what it says from then on stays here.
    a.write(day(1), |w| w.set_namespace(&moved.id, &"project/diary".parse().unwrap(), "by hand".into()));
    a.edit(&moved.id, "The wombat knows zanzibar.");
    a.sync();
    b.sync();
    assert_eq!(b.contents(), [("The shop sells tea.".to_owned(), Status::Active)]);
    // Former states of a memory that moves here stay here.
    let late = memory_in(&"project/diary".parse().unwrap(), "Page", "Zanzibar plans a page.");
    a.write(day(2), |w| w.insert(&clean(late.clone()), &clean(Vec::new())));
    a.edit(&late.id, "The shop has an open page.");
    a.write(day(2), |w| w.set_namespace(&late.id, &shop(), "by hand".into()));
    a.sync();
    b.sync();
    assert_eq!(b.all().len(), 2);
    let bytes = every_byte(&folder).to_lowercase();
    assert_eq!(bytes.contains("open page"), testing::key().is_none());
    assert!(!bytes.contains("zanzibar") && !bytes.contains("diary"), "{bytes}");
}

#[test]
fn contradicting_statements_of_two_machines_go_to_the_inbox() {
    let (_folder, a, b) = two(&["project/*"]);
    let (riga, oslo) = (residence("Riga"), residence("Oslo"));
    a.insert(&riga);
    b.insert(&oslo);
    assert_eq!((a.sync().conflicts, b.sync().conflicts), (0, 1));
    a.sync();
    assert_eq!(a.contents(), b.contents());
    let statuses: Vec<Status> = a.all().into_iter().map(|memory| memory.status).collect();
    assert!(statuses.contains(&Status::Active) && statuses.contains(&Status::Pending), "{statuses:?}");
    let waiting = a.store.waiting(&Filter::default()).unwrap();
    assert_eq!((waiting.len(), waiting[0].replaces.len()), (1, 1));
    // A person decides once, on either machine.
    a.write(day(3), |w| w.accept(&waiting[0].memory.id));
    a.sync();
    b.sync();
    assert_eq!((a.sync().conflicts, b.contents()), (0, a.contents()));
    assert_eq!(b.store.find(&waiting[0].memory.id).unwrap().unwrap().status, Status::Active);
    assert!(b.store.waiting(&Filter::default()).unwrap().is_empty());
}

#[test]
fn of_two_changes_of_one_memory_one_counts_and_the_other_is_kept() {
    let (_folder, a, b) = two(&["project/*"]);
    let home = residence("Riga");
    a.insert(&home);
    a.sync();
    b.sync();
    for (machine, city) in [(&a, "Oslo"), (&b, "Lyon")] {
        machine.write(day(1), |w| {
            let memory = w.memory(&home.id)?;
            let claim = residence(city).claim;
            w.update(
                &clean(Memory { claim: Claim { scope: memory.claim.scope, ..claim }, ..memory }),
                Action::Update,
                None,
            )
        });
    }
    a.sync();
    b.sync();
    a.sync();
    b.sync();
    assert_eq!(a.contents(), b.contents());
    let waiting = a.store.waiting(&Filter::default()).unwrap();
    assert_eq!((a.all().len(), waiting.len(), waiting[0].replaces.len()), (2, 1, 1), "{:#?}", a.contents());
    // Both machines know both states.
    for machine in [&a, &b] {
        let history = format!("{:?}", machine.store.history(&home.id).unwrap());
        assert!(history.contains("Oslo") && history.contains("Lyon"), "{history}");
    }
}

#[test]
fn the_same_words_on_two_machines_are_recalled_once() {
    let (_folder, a, b) = two(&["project/*"]);
    [&a, &b].into_iter().for_each(|machine| machine.insert(&memory("Tea", "The shop sells tea.")));
    for machine in [&a, &b, &a] {
        machine.sync();
    }
    let statuses: Vec<_> = a.contents().into_iter().map(|(_, status)| status).collect();
    assert_eq!((statuses, b.contents()), (vec![Status::Active, Status::Superseded], a.contents()));
}

#[test]
fn an_erasure_reaches_all_machines_and_all_files() {
    let (folder, a, b) = two(&["project/*"]);
    let (gone, kept) = (memory("Quokka", "The quokka knows the code."), memory("Tea", "The shop sells tea."));
    [&gone, &kept].into_iter().for_each(|one| a.insert(one));
    a.sync();
    b.sync();
    // Both logs contain the text.
    b.edit(&gone.id, "The quokka knows the other code.");
    b.sync();
    a.sync();
    a.store.erase(&Scope::Memory(gone.id.clone()), day(2)).unwrap();
    assert!(!a.store.sync_records(a.target).unwrap().concat().contains("quokka"));
    a.sync();
    assert_eq!(b.sync().erased, 1);
    assert_eq!((a.all().len(), b.contents()), (1, a.contents()));
    assert!(!every_byte(&folder).to_lowercase().contains("quokka"));
    assert!(!format!("{:?}", b.store.history(&gone.id).unwrap()).contains("quokka"));
    assert!(!b.store.sync_records(b.target).unwrap().concat().contains("quokka"));
    assert_eq!((a.sync().sent, b.sync().sent), (0, 0));
}

#[test]
fn evidence_of_an_erased_conversation_is_erased_everywhere() {
    let (folder, a, b) = two(&["project/*"]);
    let tea = memory("Tea", "The shop sells tea.");
    a.insert(&tea);
    let other = crate::memory::Evidence { transcript: "jsonl:talk-2".into(), ..quote("the quokka drinks tea") };
    a.write(day(0), |w| w.add_evidence(&tea.id, &clean(vec![other])));
    a.sync();
    b.sync();
    assert_eq!(b.store.evidence(&tea.id).unwrap().len(), 2);
    a.store.erase(&Scope::Session("talk-2".into()), day(2)).unwrap();
    a.sync();
    b.sync();
    a.sync();
    assert_eq!(b.store.evidence(&tea.id).unwrap().len(), 1);
    assert_eq!(a.contents(), b.contents());
    assert!(!every_byte(&folder).contains("quokka"));
    assert!(!format!("{:?}", b.store.history(&tea.id).unwrap()).contains("quokka"));
}

#[test]
fn forged_and_damaged_items_are_refused_and_named() {
    let (folder, a, b) = two(&["project/*"]);
    a.insert(&memory("Tea", "The shop sells tea."));
    a.sync();
    let log = a.log(&folder);
    let put = |seq: u64, text: &str| {
        let bytes = testing::sealed(text);
        let path = log.join(format!("{seq:08}-{}.change", hash_of(&bytes)));
        fs::write(&path, bytes).unwrap();
        path
    };
    let device = a.device();
    let item = |version: u64, seq: u64, prev: &str, records: &str| {
        format!(
            r#"{{"afterthought_log":{version},"device":"{device}","seq":{seq},"prev":"{prev}","records":{records}}}"#
        )
    };
    let bytes = fs::read(&files_of(&folder)[0]).unwrap();
    let hash = hash_of(&bytes);
    let text = testing::text_of(bytes);
    let records = &text[text.find("\"records\":").unwrap() + 10..text.trim_end().len() - 1];
    for (forged, expected) in [
        ("not an item".to_owned(), "is not an item of a log"),
        (item(1, 2, "0000", records), "does not continue the item before it"),
        (item(1, 9, &hash, records), "belongs to another place"),
        (item(1, 2, &hash, &records.replacen("\"key\":\"", "\"key\":\"0", 1)), "with the key of another"),
        (item(2, 2, &hash, "[{}]"), "uses a newer version of afterthought"),
    ] {
        let path = put(2, &forged);
        let report = b.sync();
        assert!(report.problems.iter().any(|problem| problem.contains(expected)), "{expected}: {report:?}");
        assert_eq!((report.received, b.all().len()), (0, 0), "nothing of a log with a fault is applied");
        fs::remove_file(path).unwrap();
    }
    assert_eq!((b.sync().received, b.sync().received), (2, 0));
}

#[test]
fn a_copied_database_continues_under_a_name_of_its_own() {
    let folder = TempDir::new().unwrap();
    let a = Machine::new(&folder, "desk", &["project/*"]);
    a.insert(&memory("Tea", "The shop sells tea."));
    a.sync();
    // The copy is either a backup of yesterday or the same database on a new machine.
    let copy = Machine { store: a.store.copy_in_memory().unwrap(), target: a.target };
    a.insert(&memory("Milk", "The shop sells milk."));
    a.sync();
    copy.insert(&memory("Salt", "The shop sells salt."));
    let report = copy.sync();
    assert!(report.notes.iter().any(|note| note.contains("continues as desk-")), "{report:?}");
    assert_ne!(copy.device(), a.device());
    a.sync();
    copy.sync();
    assert_eq!((a.all().len(), copy.contents()), (3, a.contents()));
}

#[test]
fn two_machines_with_one_log_lose_nothing() {
    let (one, two) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let a = Machine::new(&one, "desk", &["project/*"]);
    a.insert(&memory("Tea", "The shop sells tea."));
    a.sync();
    // Both write offline, as in a folder that is copied only later.
    let b = Machine { store: a.store.copy_in_memory().unwrap(), target: a.target };
    fs::create_dir_all(a.log(&two)).unwrap();
    let copy = |from: &TempDir, to: &TempDir| {
        for file in files_of(from) {
            let to = to.path().join(file.strip_prefix(from.path()).unwrap());
            fs::create_dir_all(to.parent().unwrap()).unwrap();
            fs::copy(&file, to).unwrap();
        }
    };
    copy(&one, &two);
    b.write(day(0), |w| w.move_sync_target(b.target, two.path().to_str().unwrap()));
    a.insert(&memory("Milk", "The shop sells milk."));
    b.insert(&memory("Salt", "The shop sells salt."));
    a.sync();
    b.sync();
    for _ in 0..3 {
        copy(&one, &two);
        copy(&two, &one);
        a.sync();
        b.sync();
    }
    assert_eq!((a.all().len(), b.contents()), (3, a.contents()));
    assert_ne!(a.device(), b.device());
}

#[test]
fn a_target_that_lost_files_gets_everything_again() {
    let (folder, a, b) = two(&["project/*"]);
    a.insert(&memory("Tea", "The shop sells tea."));
    a.sync();
    fs::remove_dir_all(folder.path().join(LOGS)).unwrap();
    let error = a.try_sync().unwrap_err().to_string();
    assert!(error.contains("check that the drive or the shared folder is there"), "{error}");
    assert_eq!(a.store.sync_targets().unwrap()[0].error.as_deref(), Some(error.as_str()));
    fs::create_dir_all(folder.path().join(LOGS)).unwrap();
    a.sync();
    b.sync();
    assert_eq!((b.contents(), a.sync().sent), (a.contents(), 0));
}

#[test]
fn a_target_that_cannot_be_written_keeps_changes_for_later() {
    let (folder, a, b) = two(&["project/*"]);
    a.insert(&memory("Tea", "The shop sells tea."));
    // A file in place of the folder is an obstacle even for a privileged user.
    let obstacle = a.log(&folder);
    fs::write(&obstacle, "").unwrap();
    let error = a.try_sync().unwrap_err().to_string();
    assert!(error.contains("nothing was lost, and the next synchronisation tries again"), "{error}");
    fs::remove_file(&obstacle).unwrap();
    a.sync();
    b.sync();
    assert_eq!((b.contents(), b.all().len()), (a.contents(), 1));
}

#[test]
fn a_process_that_ended_after_sending_sends_nothing_twice() {
    let (folder, a, b) = two(&["project/*"]);
    a.insert(&memory("Tea", "The shop sells tea."));
    let before = a.store.copy_in_memory().unwrap();
    a.sync();
    let outbox: Vec<(u64, String)> = {
        let text = testing::text_of(fs::read(&files_of(&folder)[0]).unwrap());
        let records = &text[text.find("\"records\":").unwrap() + 10..text.trim_end().len() - 1];
        vec![(1, records.to_owned())]
    };
    drop(before);
    // The state of the database when the item was written and not yet noted.
    a.write(day(1), |w| {
        let target = w.sync_targets()?.remove(0);
        w.put_sync_target(&SyncTarget { seq: 0, hash: String::new(), ..target })?;
        w.put_sync_outbox(a.target, outbox[0].0, &outbox[0].1)
    });
    let device = a.device();
    a.sync();
    assert_eq!((a.device(), files_of(&folder).len()), (device, 1));
    b.sync();
    assert_eq!(b.contents(), a.contents());
}

#[test]
fn a_long_log_is_replaced_by_a_snapshot() {
    let (folder, a, b) = two(&["project/*"]);
    let tea = memory("Tea", "The shop sells tea.");
    a.insert(&tea);
    for number in 0..ITEMS_BEFORE_SNAPSHOT + 2 {
        a.edit(&tea.id, &format!("The shop sells tea {number}."));
        a.sync();
    }
    assert!(files_of(&folder).len() < 5);
    b.sync();
    assert_eq!(b.contents(), a.contents());
}

#[test]
fn many_changes_arrive_within_seconds() {
    let (_folder, a, b) = two(&["project/*"]);
    let all: Vec<Memory> =
        (0..500).map(|n| memory("Tea", &format!("The shop number {n} sells tea of kind {}.", n * 7))).collect();
    let clean = |one: &Memory| (clean(one.clone()), clean(vec![quote(&one.claim.content)]));
    a.write(day(0), |w| w.insert_all(&all, clean));
    let begin = std::time::Instant::now();
    assert_eq!(a.sync().sent, 1_000);
    let sent = begin.elapsed();
    let begin = std::time::Instant::now();
    assert_eq!(b.sync().received, 1_000);
    let received = begin.elapsed();
    a.edit(&all[7].id, "The shop closed.");
    let begin = std::time::Instant::now();
    a.sync();
    let one_sent = begin.elapsed();
    b.sync();
    let one = begin.elapsed();
    eprintln!("sent {sent:?}, received {received:?}; one sent {one_sent:?}, both {one:?}");
    // A generous limit, because tests are not optimised and run beside each other.
    assert!(received.as_secs() < 120 && one.as_secs() < 5);
}

#[test]
fn a_rejection_reaches_a_machine_that_moved_the_memory_away() {
    let (_folder, a, b) = two(&["project/*"]);
    let tea = memory("Tea", "The shop sells tea.");
    a.insert(&tea);
    a.sync();
    b.sync();
    a.write(day(1), |w| w.set_namespace(&tea.id, &"global".parse().unwrap(), "by hand".into()));
    b.write(day(1), |w| w.forget(&tea.id, None));
    for machine in [&a, &b, &a, &b] {
        machine.sync();
    }
    assert!(a.store.tombstone_of(&tea.id).unwrap().is_some());
    assert_eq!(a.store.tombstone_of(&tea.id).unwrap(), b.store.tombstone_of(&tea.id).unwrap());
    assert_eq!(a.store.find(&tea.id).unwrap().unwrap().namespace, "global".parse().unwrap());
}

#[cfg(feature = "age")]
#[test]
fn everything_works_with_a_key_as_well() {
    testing::with_key(|| {
        memories_travel_with_evidence_links_and_rejections();
        a_namespace_that_is_not_named_leaves_no_byte();
        contradicting_statements_of_two_machines_go_to_the_inbox();
        of_two_changes_of_one_memory_one_counts_and_the_other_is_kept();
        the_same_words_on_two_machines_are_recalled_once();
        an_erasure_reaches_all_machines_and_all_files();
        evidence_of_an_erased_conversation_is_erased_everywhere();
        forged_and_damaged_items_are_refused_and_named();
        a_copied_database_continues_under_a_name_of_its_own();
        two_machines_with_one_log_lose_nothing();
        a_target_that_lost_files_gets_everything_again();
        a_target_that_cannot_be_written_keeps_changes_for_later();
        a_process_that_ended_after_sending_sends_nothing_twice();
        a_long_log_is_replaced_by_a_snapshot();
        a_rejection_reaches_a_machine_that_moved_the_memory_away();
    });
}
