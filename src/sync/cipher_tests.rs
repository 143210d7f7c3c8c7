//! Encrypted targets: what others can see of them, and keys that are missing, wrong, added or replaced.

use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::super::files::{LOGS, hash_of};
use super::super::testing::add_with;
use super::super::*;
use super::*;
use crate::store::testing::{clean, day, memory_in, quote};
use crate::store::{Filter, Order};

struct Machine {
    store: Store,
    target: i64,
    notes: Vec<String>,
}

impl Machine {
    fn new(folder: &Path, name: &str, key: Option<&Path>) -> Self {
        Self::try_new(folder, name, key).unwrap()
    }

    fn try_new(folder: &Path, name: &str, key: Option<&Path>) -> Result<Self, SyncError> {
        let store = Store::in_memory().unwrap();
        let key = key.map(|key| key.to_str().unwrap());
        let (target, notes) = add_with(&store, folder.to_str().unwrap(), &["project/*"], name, key, day(0))?;
        Ok(Self { store, target: target.id, notes })
    }

    /// Adds the target again, with a key.
    fn give(&mut self, key: &Path) -> &[String] {
        let target = target_of(&self.store, self.target).unwrap();
        let key = key.to_str().unwrap();
        self.notes = add_with(&self.store, &target.address, &["project/*"], "x", Some(key), day(0)).unwrap().1;
        &self.notes
    }

    fn learn(&self, text: &str) {
        let memory = memory_in(&"project/wombatshop".parse().unwrap(), "Note", text);
        let insert = |w: &Writer<'_>| w.insert(&clean(memory.clone()), &clean(vec![quote(text)]));
        self.store.write::<_, StoreError>(None, day(0), insert).unwrap();
    }

    fn sync(&self) -> Result<SyncReport, SyncError> {
        synchronise(&self.store, self.target, Extent::Changes, day(1))
    }

    fn problems(&self) -> Vec<String> {
        self.sync().unwrap().problems
    }

    fn contents(&self) -> Vec<String> {
        let all = self.store.list(&Filter::default(), Order::Id, 1000, 0).unwrap();
        let mut all: Vec<_> = all.into_iter().map(|one| one.claim.content).collect();
        all.sort();
        all
    }
}

/// Two folders: one for keys and one that is shared.
fn places() -> (TempDir, PathBuf, PathBuf) {
    let home = TempDir::new().unwrap();
    let (key, shared) = (home.path().join("sync.key"), home.path().join("shared"));
    create_key(&key, false).unwrap();
    (home, key, shared)
}

fn files(shared: &Path) -> Vec<PathBuf> {
    let files = walkdir::WalkDir::new(shared.join(LOGS)).sort_by_file_name().into_iter().map(Result::unwrap);
    files.filter(|entry| entry.file_type().is_file()).map(walkdir::DirEntry::into_path).collect()
}

/// Returns all names and bytes in a target.
fn every_byte(shared: &Path) -> String {
    let all = files(shared)
        .into_iter()
        .map(|file| format!("{} {}\n", file.display(), String::from_utf8_lossy(&fs::read(&file).unwrap())));
    all.collect::<String>().to_lowercase()
}

#[test]
fn no_byte_of_a_target_with_a_key_is_plain_text() {
    let (_home, key, shared) = places();
    let (a, b) = (Machine::new(&shared, "quokkadesk", Some(&key)), Machine::new(&shared, "laptop", Some(&key)));
    a.learn("The zanzibar deploys on Fridays.");
    a.sync().unwrap();
    assert_eq!((b.sync().unwrap().received, b.contents()), (2, a.contents()));
    b.learn("The zanzibar sells tea.");
    b.sync().unwrap();
    assert_eq!(a.sync().unwrap().received, 2);
    // The people see the names of their machines.
    let peers = b.store.sync_peers(b.target).unwrap();
    assert!(peers[0].device.starts_with("quokkadesk-"), "{peers:?}");
    let bytes = every_byte(&shared);
    for word in ["zanzibar", "wombatshop", "quokkadesk", "laptop", "project", "records", "memory"] {
        assert!(!bytes.contains(word), "{word}");
    }
    // Names of files are the hashes of encrypted bytes, and the same text is never encrypted to the same bytes.
    let [one, other] = [1, 2].map(|_| TargetKeys::open(key.to_str()).unwrap().seal(b"text".to_vec()).unwrap());
    assert_ne!(hash_of(&one), hash_of(&other));
    for file in files(&shared) {
        let name = file.file_name().unwrap().to_str().unwrap();
        assert!(name.contains(&hash_of(&fs::read(&file).unwrap())), "{name}");
    }
    // The database knows the path of the key, and not the key.
    let secret = fs::read_to_string(&key).unwrap();
    let target = target_of(&a.store, a.target).unwrap();
    assert_eq!(target.key.as_deref(), key.to_str());
    assert!(!secret.lines().any(|line| format!("{target:?}").contains(line)));
}

#[test]
fn a_key_file_that_cannot_be_used_stops_the_synchronisation() {
    let (_home, key, shared) = places();
    let a = Machine::new(&shared, "desk", Some(&key));
    a.learn("The shop sells tea.");
    a.sync().unwrap();
    a.learn("The shop sells milk.");
    let secret = fs::read_to_string(&key).unwrap();
    let refuse = |expected: &str| {
        let error = a.sync().unwrap_err().to_string();
        assert!(error.contains(expected) && error.contains(key.to_str().unwrap()), "{error}");
        assert!(error.contains("nothing was sent or applied") && !error.contains("AGE-SECRET-KEY-1Q"), "{error}");
        assert_eq!((files(&shared).len(), a.store.sync_outbox(a.target).unwrap().len()), (1, 0));
    };
    for (text, expected) in [
        ("hello\n", "line 1 is neither a secret key of age"),
        (&*secret.replace("AGE-SECRET-KEY-1", "AGE-SECRET-KEY-1Q"), "line 2 is neither"),
        ("# nothing\n\n", "contains no secret key"),
        (&*secret.lines().next().unwrap().replace("# public key: ", ""), "contains no secret key"),
    ] {
        fs::write(&key, text).unwrap();
        refuse(expected);
    }
    fs::remove_file(&key).unwrap();
    refuse("copy it from a machine that has it, or create the first key");
    fs::create_dir(&key).unwrap();
    refuse("not a small text file");
    fs::remove_dir(&key).unwrap();
    fs::write(&key, &secret).unwrap();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        fs::set_permissions(&key, fs::Permissions::from_mode(0o640)).unwrap();
        refuse("others can read it (640)");
        fs::set_permissions(&key, fs::Permissions::from_mode(0o600)).unwrap();
    }
    #[cfg(not(unix))]
    let _ = refuse;
    assert_eq!((a.sync().unwrap().sent, files(&shared).len()), (2, 2));
}

#[cfg(unix)]
#[test]
fn a_new_key_is_private_and_never_replaces_another() {
    use std::os::unix::fs::PermissionsExt as _;

    let (home, key, _) = places();
    let before = fs::read_to_string(&key).unwrap();
    assert_eq!(fs::metadata(&key).unwrap().permissions().mode() & 0o777, 0o600);
    let error = create_key(&key, false).unwrap_err().to_string();
    assert!(error.contains("already exists") && error.contains("--rotate"), "{error}");
    create_key(&key, true).unwrap();
    let after = fs::read_to_string(&key).unwrap();
    assert!(after.ends_with(&before) && after.matches("AGE-SECRET-KEY-1").count() == 2, "the former key is kept");
    assert_eq!(fs::metadata(&key).unwrap().permissions().mode() & 0o777, 0o600);
    assert!(matches!(create_key(&home.path().join("none"), true), Err(SyncError::MissingKey { .. })));
}

#[test]
fn a_wrong_key_applies_nothing_and_is_named() {
    let (home, key, shared) = places();
    let other = home.path().join("other.key");
    create_key(&other, false).unwrap();
    let a = Machine::new(&shared, "desk", Some(&key));
    a.learn("The shop sells tea.");
    a.sync().unwrap();
    // A new machine with a wrong key, or with none, is refused when it adds the target.
    let error = Machine::try_new(&shared, "laptop", Some(&other)).err().unwrap().to_string();
    assert!(error.contains("is encrypted with another key"), "{error}");
    let error = Machine::try_new(&shared, "laptop", None).err().unwrap().to_string();
    assert!(error.contains("copy the key file from that machine"), "{error}");
    // The key of a known machine is replaced by another.
    let b = Machine::new(&shared, "laptop", Some(&key));
    b.sync().unwrap();
    let right = fs::read(&key).unwrap();
    fs::write(&key, fs::read(&other).unwrap()).unwrap();
    b.learn("The shop sells milk.");
    b.sync().unwrap();
    fs::write(&key, right).unwrap();
    let problems = a.problems();
    assert!(problems[0].contains("change 1") && problems[0].contains("encrypted with another key"), "{problems:?}");
    assert_eq!(a.contents().len(), 1);
    // With the right key, everything is sent again.
    let mut b = b;
    b.give(&key);
    b.sync().unwrap();
    assert_eq!((a.problems(), a.contents()), (vec![], b.contents()));
}

#[test]
fn a_machine_without_the_key_neither_sends_nor_applies() {
    let (_home, key, shared) = places();
    let mut a = Machine::new(&shared, "desk", None);
    let mut b = Machine::new(&shared, "laptop", None);
    a.learn("The shop sells tea.");
    a.sync().unwrap();
    b.sync().unwrap();
    b.learn("The shop sells milk.");
    b.sync().unwrap();
    // One machine gets a key: its files are replaced, and those of the other one are named.
    let notes = a.give(&key).to_vec();
    assert!(notes.iter().any(|note| note.contains("replaces the files of this machine")), "{notes:?}");
    assert!(notes.iter().any(|note| note.contains("is not encrypted") && note.contains("laptop-")), "{notes:?}");
    a.learn("The shop sells salt.");
    let report = a.sync().unwrap();
    assert!(report.problems[0].contains("is not encrypted"), "{report:?}");
    assert_eq!(a.contents().len(), 2, "what is not encrypted is not applied");
    let bytes = every_byte(&shared);
    assert!(!bytes.contains("sells salt") && !bytes.contains("sells tea") && bytes.contains("sells milk"));
    let before = files(&shared);
    b.learn("The shop sells jam.");
    let error = b.sync().unwrap_err().to_string();
    assert!(error.contains("this machine has no key for them; nothing was sent or applied"), "{error}");
    assert_eq!((files(&shared), b.contents().len()), (before, 3));
    b.give(&key);
    b.sync().unwrap();
    a.sync().unwrap();
    assert_eq!((a.contents().len(), a.problems(), b.contents()), (4, vec![], a.contents()));
    let bytes = every_byte(&shared);
    assert!(["tea", "milk", "salt", "jam"].iter().all(|word| !bytes.contains(&format!("sells {word}"))));
}

#[test]
fn keys_are_rotated_one_machine_after_the_other() {
    let (home, key, shared) = places();
    let b_key = home.path().join("b.key");
    let copy = |from: &Path, to: &Path| {
        fs::remove_file(to).ok();
        fs::copy(from, to).unwrap();
    };
    copy(&key, &b_key);
    let mut a = Machine::new(&shared, "desk", Some(&key));
    let mut b = Machine::new(&shared, "laptop", Some(&b_key));
    a.learn("The shop sells tea.");
    a.sync().unwrap();
    b.sync().unwrap();
    b.learn("The shop sells milk.");
    b.sync().unwrap();
    let old = fs::read_to_string(&key).unwrap();
    create_key(&key, true).unwrap();
    a.give(&key);
    a.sync().unwrap();
    a.learn("The shop sells salt.");
    a.sync().unwrap();
    assert!(b.problems()[0].contains("encrypted with another key"));
    copy(&key, &b_key);
    b.give(&b_key);
    b.sync().unwrap();
    assert_eq!((a.problems(), b.problems(), a.contents()), (vec![], vec![], b.contents()));
    assert_eq!(a.contents().len(), 3);
    // The former key opens nothing any more.
    let former = home.path().join("former.key");
    private_copy(&former, &old);
    for file in files(&shared) {
        let item = LogItem { seq: 1, hash: String::new(), bytes: fs::read(&file).unwrap() };
        assert!(TargetKeys::open(former.to_str()).unwrap().unseal("desk", &item).is_err());
        assert!(TargetKeys::open(key.to_str()).unwrap().unseal("desk", &item).is_ok());
    }
}

fn private_copy(path: &Path, text: &str) {
    crate::private::replace(path, text).unwrap();
}

#[test]
fn persons_with_keys_of_their_own_name_each_others_public_keys() {
    let (home, ana, shared) = places();
    let bo = home.path().join("bo.key");
    create_key(&bo, false).unwrap();
    let texts = [&ana, &bo].map(|path| fs::read_to_string(path).unwrap());
    let public = |text: &str| text.lines().next().unwrap().replace("# public key: ", "");
    private_copy(&ana, &format!("{}{}\n", texts[0], public(&texts[1])));
    private_copy(&bo, &format!("{}\n{}", public(&texts[0]), texts[1]));
    let (a, b) = (Machine::new(&shared, "ana", Some(&ana)), Machine::new(&shared, "bo", Some(&bo)));
    a.learn("The shop sells tea.");
    b.learn("The shop sells milk.");
    for machine in [&a, &b, &a] {
        assert_eq!(machine.problems(), Vec::<String>::new());
    }
    assert_eq!((a.contents().len(), b.contents()), (2, a.contents()));
}

#[test]
fn every_changed_byte_of_an_encrypted_item_is_noticed() {
    let (_home, key, shared) = places();
    let a = Machine::new(&shared, "desk", Some(&key));
    let b = Machine::new(&shared, "laptop", Some(&key));
    a.learn("The shop sells tea.");
    a.sync().unwrap();
    let file = files(&shared).remove(0);
    let bytes = fs::read(&file).unwrap();
    for at in (0..bytes.len()).step_by(37) {
        let mut changed = bytes.clone();
        changed[at] ^= 1;
        // Whoever changes the bytes gives them a name that fits.
        let forged = file.with_file_name(format!("00000001-{}.change", hash_of(&changed)));
        fs::remove_file(&file).ok();
        fs::write(&forged, changed).unwrap();
        let problems = b.problems();
        let expected = ["was changed after it was encrypted", "another key", "is not encrypted"];
        assert!(expected.iter().any(|part| problems[0].contains(part)), "{at}: {problems:?}");
        assert_eq!(b.contents().len(), 0);
        fs::remove_file(&forged).unwrap();
    }
    // An item in place of another one, or cut short.
    fs::write(file.with_file_name(format!("00000002-{}.change", hash_of(&bytes))), &bytes).unwrap();
    fs::write(&file, &bytes).unwrap();
    assert!(b.problems()[0].contains("belongs to another place in the logs"));
    let short = &bytes[..bytes.len() - 20];
    fs::write(file.with_file_name(format!("00000001-{}.change", hash_of(short))), short).unwrap();
    fs::remove_file(&file).unwrap();
    assert!(b.problems()[0].contains("was changed after it was encrypted"));
    assert_eq!(b.contents().len(), 0);
}
