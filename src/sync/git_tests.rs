//! Logs in a git repository: concurrent pushes, hostile repositories, and erased text.

use std::fs;
use std::process::Command;

use tempfile::TempDir;

use super::super::files::{FileLog, hash_of};
use super::super::log::{AppendOutcome, ChangeLog as _};
use super::*;

/// Runs git, and returns what it prints.
pub(crate) fn git(folder: &Path, arguments: &[&str]) -> Vec<u8> {
    let identity = ["-c", "user.name=A", "-c", "user.email=a@example.com"];
    let done = Command::new("git").args(identity).args(arguments).current_dir(folder).output().unwrap();
    assert!(done.status.success(), "{arguments:?}: {done:?}");
    done.stdout
}

/// Creates an empty bare repository, and returns its address.
pub(crate) fn bare(folder: &TempDir) -> String {
    let path = folder.path().join("memories.git");
    git(folder.path(), &["init", "--quiet", "--bare", path.to_str().unwrap()]);
    path.to_str().unwrap().to_owned()
}

/// Returns every object of a repository, decompressed, whether or not a branch leads to it.
pub(crate) fn every_object(repository: &Path) -> String {
    let objects = git(repository, &["cat-file", "--batch", "--batch-all-objects"]);
    String::from_utf8_lossy(&objects).into_owned()
}

pub(crate) fn log_in(address: &str, folder: &TempDir, name: &str) -> FileLog<Repository> {
    FileLog::new(Repository::new(address, &folder.path().join(name)))
}

fn append(log: &mut FileLog<Repository>, name: &str, expected: u64, text: &str) -> AppendOutcome {
    log.append(name, expected, &[text.as_bytes().to_vec()]).unwrap()
}

#[test]
fn a_repository_is_recognised_by_its_address() {
    let folder = TempDir::new().unwrap();
    let plain = folder.path().join("plain");
    git(folder.path(), &["init", "--quiet", "--bare", "plain"]);
    for (address, remote, repository) in [
        ("git+ssh://git@example.com/ana/memories.git", true, true),
        ("https://example.com/ana/memories", true, true),
        ("file:///srv/memories.git", true, true),
        ("git@example.com:ana/memories", true, true),
        ("/srv/memories.git", false, true),
        ("/srv/memories.git/", false, true),
        (plain.to_str().unwrap(), false, true),
        ("C:\\memories", false, false),
        ("/home/ana/Sync/memories", false, false),
        ("./notes:2026", false, false),
    ] {
        assert_eq!((is_remote(address), is_repository(address)), (remote, repository), "{address}");
    }
    assert!(check_address("https://ana:secret@example.com/x.git").is_err());
    assert!(check_address("ssh://git@example.com:2222/x.git").is_ok());
}

#[test]
fn pushes_of_two_clones_at_once_lose_nothing() {
    let folder = TempDir::new().unwrap();
    let address = bare(&folder);
    let (mut a, mut b) = (log_in(&address, &folder, "a"), log_in(&address, &folder, "b"));
    a.heads().unwrap();
    b.heads().unwrap();
    // Neither knows of the pushes of the other, and both begin with an empty repository.
    for seq in 0..3 {
        assert!(matches!(append(&mut a, "a", seq, "of a"), AppendOutcome::Done(_)));
        assert!(matches!(append(&mut b, "b", seq, "of b"), AppendOutcome::Done(_)));
    }
    b.put_snapshot("b", 3, 4, b"all of b").unwrap();
    assert!(matches!(append(&mut a, "a", 3, "of a"), AppendOutcome::Done(_)));
    let ends = a.heads().unwrap();
    let ends: Vec<_> = ends.iter().map(|head| (head.name.as_str(), head.seq, head.snapshot)).collect();
    assert_eq!(ends, [("a", 4, None), ("b", 4, Some(4))]);
    assert_eq!((a.heads().unwrap(), a.read_since("a", 0).unwrap().len()), (b.heads().unwrap(), 4));
    // Two machines with one name: the second one finds the item of the first one.
    assert!(matches!(append(&mut a, "c", 0, "of a"), AppendOutcome::Done(_)));
    assert_eq!(append(&mut b, "c", 0, "of b"), AppendOutcome::Moved);
}

#[test]
fn a_snapshot_forgets_earlier_commits_where_the_repository_allows_it() {
    for denies in [false, true] {
        let folder = TempDir::new().unwrap();
        let address = bare(&folder);
        git(Path::new(&address), &["config", "receive.denyNonFastForwards", &denies.to_string()]);
        let mut log = log_in(&address, &folder, "clone");
        append(&mut log, "a", 0, "the quokka");
        append(&mut log, "b", 0, "the wombat");
        log.put_snapshot("a", 1, 2, b"nothing").unwrap();
        assert_eq!(log.take_notes().len(), usize::from(denies));
        let commits = git(Path::new(&address), &["rev-list", "--objects", "--all"]);
        assert_eq!(String::from_utf8(commits).unwrap().contains(&hash_of(b"the quokka")), denies);
        assert!(!every_object(Path::new(&address)).is_empty());
        // The clone does not contain the text, either.
        let heads = log.heads().unwrap();
        assert_eq!(heads.iter().map(|head| head.seq).collect::<Vec<_>>(), [2, 1]);
        assert_eq!(every_object(&folder.path().join("clone")).contains("quokka"), denies);
    }
}

#[test]
fn links_submodules_and_foreign_files_in_a_repository_are_ignored() {
    let folder = TempDir::new().unwrap();
    let address = bare(&folder);
    let mut log = log_in(&address, &folder, "clone");
    append(&mut log, "a", 0, "one");
    let secret = folder.path().join("secret");
    fs::write(&secret, "secret").unwrap();
    let work = folder.path().join("work");
    git(folder.path(), &["clone", "--quiet", "-b", "afterthought/log", &address, "work"]);
    let head = String::from_utf8(git(&work, &["rev-parse", "HEAD"])).unwrap();
    let blob = String::from_utf8(git(&work, &["hash-object", "-w", secret.to_str().unwrap()])).unwrap();
    // The content of a link is the path that it leads to.
    let link = format!("00000002-{}.change", hash_of(b"secret"));
    for (mode, id, path) in [
        ("120000", blob.trim(), format!("{LOGS}/a/{link}")),
        ("160000", head.trim(), format!("{LOGS}/b")),
        ("100644", blob.trim(), format!("{LOGS}/a/below/{link}")),
        ("100755", blob.trim(), format!("{LOGS}/a/{}", link.replace("02-", "03-"))),
        ("100644", blob.trim(), "README".to_owned()),
        ("100644", blob.trim(), format!("{LOGS}/a/notes.txt")),
    ] {
        git(&work, &["update-index", "--add", "--cacheinfo", &format!("{mode},{id},{path}")]);
    }
    git(&work, &["commit", "--quiet", "-m", "Add files"]);
    git(&work, &["push", "--quiet"]);
    let heads = log.heads().unwrap();
    assert_eq!(heads.iter().map(|head| (head.name.as_str(), head.seq)).collect::<Vec<_>>(), [("a", 1)]);
    assert_eq!(log.read_since("a", 0).unwrap().len(), 1);
    let notes = log.take_notes();
    assert!(notes.len() == 1 && notes[0].contains("ignored") && notes[0].contains("notes.txt"), "{notes:?}");
    // The files of others are kept.
    append(&mut log, "a", 1, "two");
    let kept = git(Path::new(&address), &["ls-tree", "--name-only", "afterthought/log"]);
    assert!(String::from_utf8(kept).unwrap().contains("README"));
}

#[cfg(unix)]
#[test]
fn nothing_that_a_repository_names_is_run() {
    use std::os::unix::fs::PermissionsExt as _;

    let folder = TempDir::new().unwrap();
    let address = bare(&folder);
    let repository = Path::new(&address);
    let proof = folder.path().join("proof");
    let script = format!("touch {}", proof.display());
    let hooks = ["pre-receive", "update", "post-receive", "post-update", "reference-transaction", "proc-receive"];
    for hook in hooks {
        let path = repository.join("hooks").join(hook);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    git(folder.path(), &["init", "--quiet", "--bare", "other.git"]);
    fs::write(repository.join("objects/info/alternates"), folder.path().join("other.git/objects").to_str().unwrap())
        .unwrap();
    for name in ["core.alternateRefsCommand", "core.fsmonitor", "uploadpack.packObjectsHook", "gc.recentObjectsHook"] {
        git(repository, &["config", name, &format!("{script};")]);
    }
    let mut log = log_in(&address, &folder, "clone");
    for seq in 0..3 {
        append(&mut log, "a", seq, "one");
    }
    log.put_snapshot("a", 3, 4, b"all").unwrap();
    assert_eq!(log.heads().unwrap()[0].seq, 4);
    assert!(!proof.exists());
    let error = log_in(&format!("ext::sh -c \"{script}\""), &folder, "ext").heads().unwrap_err().to_string();
    assert!(error.contains("transport 'ext' not allowed") && !proof.exists(), "{error}");
    // Without our options, git runs the hooks.
    git(&folder.path().join("clone"), &["push", "--quiet", "--force", &address, "refs/target/log:refs/heads/other"]);
    assert!(proof.exists());
}

#[test]
fn faults_of_repositories_are_named_with_a_remedy() {
    let folder = TempDir::new().unwrap();
    let error = |address: &str| log_in(address, &folder, "clone").heads().unwrap_err().to_string();
    let none = folder.path().join("none.git");
    for (address, expected) in [
        (none.to_str().unwrap(), "does not appear to be a git repository"),
        ("https://memories.invalid/x.git", "unable to access"),
        ("ssh://-oProxyCommand=x/x.git", "strange hostname"),
    ] {
        let error = error(address);
        assert!(error.contains(expected) && error.contains(&format!("`git ls-remote {address}`")), "{error}");
    }
    // A server that refuses pushes says why.
    let address = bare(&folder);
    git(Path::new(&address), &["config", "receive.denyCurrentBranch", "refuse"]);
    git(Path::new(&address), &["config", "core.bare", "false"]);
    git(Path::new(&address), &["symbolic-ref", "HEAD", BRANCH]);
    let refused = log_in(&address, &folder, "clone").append("a", 0, &[b"one".to_vec()]).unwrap_err().to_string();
    assert!(
        refused.contains("refusing to update checked out branch") && refused.contains("nothing was lost"),
        "{refused}"
    );
}

#[test]
fn a_repository_that_vanishes_midway_is_named() {
    let folder = TempDir::new().unwrap();
    let address = bare(&folder);
    let mut log = log_in(&address, &folder, "clone");
    append(&mut log, "a", 0, "one");
    log.heads().unwrap();
    let away = folder.path().join("away");
    fs::rename(&address, &away).unwrap();
    let error = log.append("a", 1, &[b"two".to_vec()]).unwrap_err().to_string();
    assert!(error.contains(&address) && error.contains("nothing was lost"), "{error}");
    fs::rename(away, &address).unwrap();
    append(&mut log, "a", 1, "two");
    assert_eq!(log.read_since("a", 0).unwrap().len(), 2);
}

#[test]
fn a_clone_that_a_killed_process_left_behind_is_created_anew() {
    let folder = TempDir::new().unwrap();
    let address = bare(&folder);
    append(&mut log_in(&address, &folder, "clone"), "a", 0, "one");
    let clone = folder.path().join("clone");
    assert!(!clone.join(IN_USE).exists());
    for lock in [IN_USE, "packed-refs.lock", "config.lock", "HEAD.lock"] {
        fs::write(clone.join(lock), "").unwrap();
    }
    fs::create_dir_all(clone.join("refs/target")).unwrap();
    fs::write(clone.join("refs/target/log.lock"), "").unwrap();
    let mut log = log_in(&address, &folder, "clone");
    append(&mut log, "a", 1, "two");
    assert_eq!(log.heads().unwrap()[0].seq, 2);
}
