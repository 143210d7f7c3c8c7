//! Machines that share memories through a git repository.

use std::fs;
use std::path::Path;

use tempfile::TempDir;

use super::git::tests::{bare, every_object, git};
use super::testing::Machine;
use super::*;
use crate::store::Scope;
use crate::store::testing::{day, memory, memory_in};

fn machine(folder: &TempDir, address: &str, name: &str) -> Machine {
    let store = Store::open(folder.path().join(name).join("memories.db")).unwrap();
    Machine::with(store, address, name, &["project/*"])
}

impl Machine {
    fn clone(&self) -> PathBuf {
        clone_of(&self.store, &target_of(&self.store, self.target).unwrap())
    }
}

/// Two machines that share an empty repository.
fn two() -> (TempDir, String, Machine, Machine) {
    let folder = TempDir::new().unwrap();
    let address = bare(&folder);
    let (a, b) = (machine(&folder, &address, "desk"), machine(&folder, &address, "laptop"));
    (folder, address, a, b)
}

#[test]
fn memories_travel_through_a_repository_and_other_namespaces_leave_no_byte() {
    let (_folder, address, a, b) = two();
    a.insert(&memory("Tea", "The shop sells tea."));
    b.insert(&memory("Milk", "The shop sells milk."));
    for machine in [&a, &b] {
        machine.insert(&memory_in(&"global".parse().unwrap(), "Quokka", "The zanzibar quokka is a secret."));
    }
    for machine in [&a, &b, &a] {
        machine.sync();
    }
    assert_eq!((a.contents().len(), b.contents()), (3, a.contents()));
    assert_eq!((a.sync().sent, b.sync().received), (0, 0));
    for repository in [Path::new(&address), &a.clone(), &b.clone()] {
        let objects = every_object(repository).to_lowercase();
        let is_plain = testing::key().is_none();
        assert_eq!((objects.contains("sells tea"), objects.contains("sells milk")), (is_plain, is_plain));
        assert!(!objects.contains("quokka") && !objects.contains("zanzibar"));
    }
    // Removing the target removes the clone.
    let clone = a.clone();
    remove(&a.store, &address, day(2)).unwrap();
    assert!(!clone.exists());
}

#[test]
fn an_erasure_leaves_no_byte_in_any_commit_or_clone() {
    let (_folder, address, a, b) = two();
    let (gone, kept) = (memory("Quokka", "The quokka knows the code."), memory("Tea", "The shop sells tea."));
    [&gone, &kept].into_iter().for_each(|one| a.insert(one));
    a.sync();
    b.sync();
    b.insert(&memory("Milk", "The shop sells milk."));
    b.sync();
    assert_eq!(every_object(Path::new(&address)).contains("quokka"), testing::key().is_none());
    a.store.erase(&Scope::Memory(gone.id), day(2)).unwrap();
    a.sync();
    assert_eq!(b.sync().erased, 1);
    a.sync();
    assert_eq!((a.contents().len(), b.contents()), (2, a.contents()));
    for clone in [a.clone(), b.clone()] {
        assert!(!clone.exists() || !every_object(&clone).contains("quokka"));
    }
    // The server removes objects that no branch leads to when it collects garbage.
    git(Path::new(&address), &["reflog", "expire", "--expire=now", "--all"]);
    git(Path::new(&address), &["gc", "--quiet", "--prune=now"]);
    let objects = every_object(Path::new(&address));
    let is_plain = testing::key().is_none();
    assert_eq!((objects.contains("sells tea"), objects.contains("sells milk")), (is_plain, is_plain));
    assert!(!objects.contains("quokka"));
}

#[test]
fn a_repository_that_was_pushed_over_or_restored_gets_everything_again() {
    let (folder, address, a, b) = two();
    let repository = Path::new(&address);
    a.insert(&memory("Tea", "The shop sells tea."));
    b.insert(&memory("Milk", "The shop sells milk."));
    for machine in [&a, &b, &a] {
        machine.sync();
    }
    let before = String::from_utf8(git(repository, &["rev-parse", "afterthought/log"])).unwrap();
    git(repository, &["update-ref", "-d", "refs/heads/afterthought/log"]);
    a.insert(&memory("Salt", "The shop sells salt."));
    let report = a.sync();
    assert!(report.notes.iter().any(|note| note.contains("continues as desk-")), "{report:?}");
    for machine in [&b, &a] {
        machine.sync();
    }
    assert_eq!((a.contents().len(), b.contents()), (3, a.contents()));
    // An earlier state of the branch, as after a forced push or from a backup.
    git(repository, &["update-ref", "refs/heads/afterthought/log", before.trim()]);
    a.insert(&memory("Jam", "The shop sells jam."));
    for machine in [&a, &b, &a, &b] {
        machine.sync();
    }
    assert_eq!((a.contents().len(), b.contents()), (4, a.contents()));
    drop(folder);
}

#[test]
fn a_repository_that_is_full_or_closed_keeps_changes_for_later() {
    let (_folder, address, a, b) = two();
    let repository = Path::new(&address);
    let obstacle = repository.join("refs/heads/afterthought");
    a.insert(&memory("Tea", "The shop sells tea."));
    let refuse = |expected: &str| {
        let error = a.try_sync().unwrap_err().to_string();
        for part in [expected, &address, "`git ls-remote", "nothing was lost"] {
            assert!(error.contains(part), "{part}: {error}");
        }
    };
    // A server without room refuses the objects, and one without access the branch.
    git(repository, &["config", "receive.maxInputSize", "1"]);
    refuse("maximum allowed size");
    git(repository, &["config", "--unset", "receive.maxInputSize"]);
    fs::write(&obstacle, "").unwrap();
    refuse("refs/heads/afterthought");
    fs::remove_file(&obstacle).unwrap();
    a.insert(&memory("Milk", "The shop sells milk."));
    a.sync();
    b.sync();
    assert_eq!((b.contents().len(), b.contents()), (2, a.contents()));
}

#[test]
fn a_repository_that_is_gone_keeps_changes_for_later() {
    let (folder, address, a, b) = two();
    a.insert(&memory("Tea", "The shop sells tea."));
    let away = folder.path().join("away");
    fs::rename(&address, &away).unwrap();
    let error = a.try_sync().unwrap_err().to_string();
    assert!(error.contains(&address) && error.contains("does not appear to be a git repository"), "{error}");
    assert_eq!(a.store.sync_targets().unwrap()[0].error.as_deref(), Some(error.as_str()));
    fs::rename(away, &address).unwrap();
    a.sync();
    b.sync();
    assert_eq!((b.contents().len(), b.contents()), (1, a.contents()));
    let refused = testing::add_target(&a.store, "https://ana:pass@example.com/x.git", &["global"], "desk", day(0));
    assert!(matches!(refused, Err(SyncError::Password)));
    let missing = folder.path().join("missing.git");
    let missing = testing::add_target(&a.store, missing.to_str().unwrap(), &["global"], "desk", day(0));
    assert!(missing.unwrap_err().to_string().contains("does not appear to be a git repository"));
    assert_eq!(a.store.sync_targets().unwrap().len(), 1);
}

#[cfg(feature = "age")]
#[test]
fn everything_works_with_a_key_as_well() {
    testing::with_key(|| {
        memories_travel_through_a_repository_and_other_namespaces_leave_no_byte();
        an_erasure_leaves_no_byte_in_any_commit_or_clone();
        a_repository_that_was_pushed_over_or_restored_gets_everything_again();
        a_repository_that_is_full_or_closed_keeps_changes_for_later();
        a_repository_that_is_gone_keeps_changes_for_later();
    });
}
