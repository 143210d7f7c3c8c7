//! Targets that are full, read-only, gone, damaged or forged, and machines that do not fit to them: for each kind of
//! target, nothing is lost, nothing is applied twice, and one sentence says what happened and what to do.
//!
//! The sentences are in one snapshot, so that they can be read one after the other.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use regex::Regex;
use tempfile::TempDir;

use super::desk::{Desk, Told};

const LOGS: &str = "afterthought-log";

/// A target, and two machines that share it.
struct Shared {
    folder: TempDir,
    kind: &'static str,
    desks: [Desk; 2],
}

impl Shared {
    fn new(kind: &'static str) -> Self {
        let shared = Self { folder: TempDir::new().unwrap(), kind, desks: [Desk::new(), Desk::new()] };
        if kind == "repository" {
            git(shared.folder.path(), &["init", "--quiet", "--bare", "memories.git"]);
        }
        if kind == "encrypted folder" {
            good(&shared.desks[0].run(&["db", "sync", "key", shared.key(0).to_str().unwrap()]));
            fs::copy(shared.key(0), shared.key(1)).unwrap();
        }
        for at in [0, 1] {
            good(&shared.add(at));
        }
        shared.learn(0, "The shop sells tea.");
        shared.sync(0);
        shared.sync(1);
        shared
    }

    fn target(&self) -> PathBuf {
        self.folder.path().join(if self.kind == "repository" { "memories.git" } else { "shared" })
    }

    fn key(&self, at: usize) -> PathBuf {
        self.folder.path().join(format!("key-{at}"))
    }

    fn add(&self, at: usize) -> Told {
        let (target, key) = (self.target(), self.key(at));
        let mut words = vec!["db", "sync", "add", target.to_str().unwrap(), "--namespace", "project/*", "--manual"];
        words.extend(["--name", ["desk", "laptop"][at]]);
        if self.kind == "encrypted folder" {
            words.extend(["--key", key.to_str().unwrap()]);
        }
        self.desks[at].run(&words)
    }

    fn learn(&self, at: usize, text: &str) {
        good(&self.desks[at].run(&["remember", text, "--namespace", "project/shop"]));
    }

    fn try_sync(&self, at: usize) -> Told {
        self.desks[at].run(&["db", "sync", "now"])
    }

    fn sync(&self, at: usize) {
        good(&self.try_sync(at));
    }

    fn contents(&self, at: usize) -> Vec<String> {
        let mut all: Vec<String> = self.desks[at].memories().into_iter().map(|(_, content)| content).collect();
        all.sort();
        all
    }

    /// Changes the files in the target, as somebody who can write to it.
    fn tamper(&self, change: impl FnOnce(&Path)) {
        if self.kind != "repository" {
            return change(&self.target().join(LOGS));
        }
        let work = self.folder.path().join("work");
        let _ = fs::remove_dir_all(&work);
        let target = self.target();
        git(self.folder.path(), &["clone", "--quiet", "-b", "afterthought/log", target.to_str().unwrap(), "work"]);
        change(&work.join(LOGS));
        git(&work, &["add", "--all"]);
        git(&work, &["commit", "--quiet", "-m", "Change files"]);
        git(&work, &["push", "--quiet"]);
    }

    /// Runs a synchronisation of the first machine after the target was mounted in another way, which ends with it.
    fn sync_mounted(&self, script: &str) -> Option<Told> {
        let plain = self.desks[0].command(&["db", "sync", "now"]);
        let mut command = Command::new("unshare");
        let script = format!("set -e; {script}; shift; exec \"$@\"");
        command.args(["-rm", "sh", "-c", &script, "sh"]).arg(self.target()).arg(plain.get_program());
        command.args(plain.get_args()).env_clear().current_dir(plain.get_current_dir().unwrap());
        command.envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
        can_mount().then(|| self.desks[0].finish(command))
    }

    /// Lets both machines synchronise until nothing is left to do, and compares them.
    fn assert_equal(&self, memories: usize) {
        for at in [0, 1, 0, 1] {
            self.sync(at);
        }
        assert_eq!((self.contents(0).len(), self.contents(0)), (memories, self.contents(1)), "{}", self.kind);
        for desk in &self.desks {
            good(&desk.run(&["db", "check"]));
        }
    }

    /// Returns what a command printed, without what differs from run to run.
    fn said(&self, told: &Told) -> String {
        let text = told.err.replace(self.folder.path().to_str().unwrap(), "/media");
        let text = Regex::new("[0-9a-f]{64}").unwrap().replace_all(&text, "HASH").into_owned();
        let text = Regex::new(r"\b(desk|laptop)-[0-9a-f]{8}").unwrap().replace_all(&text, "$1-1a2b3c4d").into_owned();
        // The name of an encrypted log is only the end of the machine's name.
        let text = Regex::new(r"(/|machine |log )[0-9a-f]{8}([/:;\s])")
            .unwrap()
            .replace_all(&text, "${1}1a2b3c4d$2")
            .into_owned();
        format!("{} (exit {})", text.trim_end(), told.code)
    }
}

fn good(told: &Told) {
    assert_eq!(told.code, 0, "{told:?}");
}

fn git(folder: &Path, arguments: &[&str]) {
    let identity = ["-c", "user.name=A", "-c", "user.email=a@example.com"];
    let done: Output = Command::new("git").args(identity).args(arguments).current_dir(folder).output().unwrap();
    assert!(done.status.success(), "{arguments:?}: {done:?}");
}

/// Returns whether a process may mount file systems for itself, which some systems do not allow.
fn can_mount() -> bool {
    let script = "mount -t tmpfs tmpfs /tmp";
    Command::new("unshare").args(["-rm", "sh", "-c", script]).output().is_ok_and(|done| done.status.success())
}

/// Returns the files of the log of a machine; in an encrypted target, of the only machine that has written.
fn files(logs: &Path) -> Vec<PathBuf> {
    let files = walkdir::WalkDir::new(logs).sort_by_file_name().into_iter().map(Result::unwrap);
    files.filter(|entry| entry.file_type().is_file()).map(walkdir::DirEntry::into_path).collect()
}

fn hash(bytes: &[u8]) -> String {
    use sha2::Digest as _;
    transcripts::hex(&sha2::Sha256::digest(bytes))
}

fn put(beside: &Path, seq: u64, bytes: &[u8]) -> PathBuf {
    let path = beside.with_file_name(format!("{seq:08}-{}.change", hash(bytes)));
    fs::write(&path, bytes).unwrap();
    path
}

/// What was printed, by the name of the case.
type Sentences = BTreeMap<&'static str, String>;

fn places(shared: &Shared, said: &mut Sentences) {
    shared.learn(0, "The shop sells milk.");
    // A disk without room, whose files are those of the target.
    let full = "m=\"$1.full\"; mkdir -p \"$m\"; mount -t tmpfs -o size=2m tmpfs \"$m\"; cp -a \"$1/.\" \"$m\"; \
                cat /dev/zero > \"$m/filler\" 2>/dev/null || true; mount --bind \"$m\" \"$1\"";
    let read_only = "mount --bind \"$1\" \"$1\"; mount -o remount,bind,ro \"$1\"";
    for (name, script) in [("1 a full disk", full), ("2 a read-only disk", read_only)] {
        if let Some(told) = shared.sync_mounted(script) {
            assert_eq!(told.code, 2, "{name}: {told:?}");
            said.insert(name, shared.said(&told));
        }
    }
    let away = shared.folder.path().join("away");
    fs::rename(shared.target(), &away).unwrap();
    said.insert("3 a drive that is not there", shared.said(&shared.try_sync(0)));
    fs::rename(&away, shared.target()).unwrap();
    assert_eq!(shared.contents(1).len(), 1);
    shared.assert_equal(2);
}

fn items(shared: &Shared, said: &mut Sentences) {
    for text in ["The shop sells milk.", "The shop sells salt."] {
        shared.learn(0, text);
        shared.sync(0);
    }
    let mut kept = Vec::new();
    shared.tamper(|logs| {
        kept = files(logs).into_iter().map(|file| fs::read(file).unwrap()).collect();
        fs::remove_file(&files(logs)[1]).unwrap();
    });
    let case = |name, said: &mut Sentences| {
        let told = shared.try_sync(1);
        assert_eq!((told.code, shared.contents(1).len()), (3, 1), "{name}: {told:?}");
        said.insert(name, shared.said(&told));
    };
    case("4 a missing file", said);
    let cut = &kept[1][..kept[1].len() / 2];
    let mut path = PathBuf::new();
    shared.tamper(|logs| {
        path = put(&files(logs)[0], 2, &kept[1]);
        fs::write(&path, cut).unwrap();
    });
    case("5 a file that was cut off", said);
    shared.tamper(|logs| {
        fs::remove_file(&files(logs)[1]).unwrap();
        put(&files(logs)[0], 2, cut);
    });
    case("6 a forged file", said);
    shared.tamper(|logs| {
        fs::remove_file(&files(logs)[1]).unwrap();
        put(&files(logs)[0], 2, &kept[0]);
    });
    case("7 a file in the place of another", said);
    shared.tamper(|logs| {
        put(&files(logs)[0], 2, &kept[1]);
    });
    case("8 two files with one number", said);
    let newer = b"{\"afterthought_log\":2,\"device\":\"desk\",\"seq\":2,\"prev\":null,\"rows\":[]}\n";
    shared.tamper(|logs| {
        let found = files(logs);
        found[1..found.len() - 1].iter().for_each(|file| fs::remove_file(file).unwrap());
        put(&found[0], 2, newer);
    });
    case(if shared.kind == "encrypted folder" { "9 a file that is not encrypted" } else { "9 a newer version" }, said);
    shared.tamper(|logs| fs::remove_file(&files(logs)[1]).unwrap());
    good(&shared.desks[0].run(&["db", "sync", "now", "--whole"]));
    shared.assert_equal(3);
}

/// Copies the database of a machine.
fn copy_database(from: &Desk, to: &Path) {
    let backup = from.run(&["db", "backup", to.to_str().unwrap()]);
    good(&backup);
}

fn databases(shared: &Shared, said: &mut Sentences) {
    let backup = shared.folder.path().join("backup.db");
    copy_database(&shared.desks[0], &backup);
    shared.learn(0, "The shop sells milk.");
    shared.sync(0);
    good(&shared.desks[0].run(&["db", "restore", backup.to_str().unwrap(), "--yes"]));
    shared.learn(0, "The shop sells salt.");
    let told = shared.desks[0].run(&["db", "sync", "now"]);
    good(&told);
    said.insert("10 a database from an old backup", shared.said(&told));
    shared.assert_equal(3);
    // The same database on a second machine.
    let backup = shared.folder.path().join("copy.db");
    copy_database(&shared.desks[0], &backup);
    let third = Desk::new();
    good(&third.run(&["db", "restore", backup.to_str().unwrap(), "--yes"]));
    shared.learn(0, "The shop sells jam.");
    shared.sync(0);
    good(&third.run(&["remember", "The shop sells rice.", "--namespace", "project/shop"]));
    let told = third.run(&["db", "sync", "now"]);
    good(&told);
    said.insert("11 two machines with one name", shared.said(&told));
    shared.assert_equal(5);
}

fn keys(shared: &Shared, said: &mut Sentences) {
    if shared.kind != "encrypted folder" {
        return;
    }
    let right = fs::read(shared.key(1)).unwrap();
    let case = |name, said: &mut Sentences| {
        let told = shared.try_sync(1);
        assert_ne!(told.code, 0, "{name}: {told:?}");
        said.insert(name, shared.said(&told));
    };
    shared.learn(0, "The shop sells milk.");
    shared.sync(0);
    fs::remove_file(shared.key(1)).unwrap();
    case("12 a missing key", said);
    good(&shared.desks[1].run(&["db", "sync", "key", shared.key(1).to_str().unwrap()]));
    case("13 a wrong key", said);
    fs::write(shared.key(1), "age\n").unwrap();
    case("14 a key file that contains no key", said);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        fs::set_permissions(shared.key(1), fs::Permissions::from_mode(0o644)).unwrap();
        case("15 a key file that others can read", said);
        fs::set_permissions(shared.key(1), fs::Permissions::from_mode(0o600)).unwrap();
    }
    fs::write(shared.key(1), right).unwrap();
    // A machine that never had the key.
    let third = Desk::new();
    let target = shared.target();
    let told = third.run(&["db", "sync", "add", target.to_str().unwrap(), "--namespace", "project/*"]);
    assert_eq!(told.code, 2);
    said.insert("16 a new machine without a key", shared.said(&told));
    shared.assert_equal(2);
}

#[test]
fn every_fault_of_a_target_is_named_and_nothing_is_lost() {
    let mut page = String::new();
    for kind in ["folder", "encrypted folder", "repository"] {
        let mut said = Sentences::new();
        for walk in [places, items, databases, keys] {
            walk(&Shared::new(kind), &mut said);
        }
        let mut all: Vec<(u32, &str, String)> = said
            .into_iter()
            .map(|(name, text)| {
                let (number, name) = name.split_once(' ').unwrap();
                (number.parse().unwrap(), name, text)
            })
            .collect();
        all.sort();
        writeln!(page, "## {kind}\n").unwrap();
        for (_, name, text) in all {
            writeln!(page, "{name}\n  {}\n", text.replace('\n', "\n  ")).unwrap();
        }
    }
    if can_mount() {
        insta::assert_snapshot!(page);
    }
}
