//! Machines that share memories through a folder or a git repository, as a person runs the commands.
//!
//! In the suite, concurrent machines run for some seconds. To start a longer run, use `AFTERTHOUGHT_SYNC_SECONDS=300
//! cargo test --test it syncing -- --nocapture`.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

use super::desk::Desk;

/// Two machines that share all projects through one folder.
fn two() -> (TempDir, Desk, Desk) {
    let folder = TempDir::new().unwrap();
    let [one, other] = two_with(path(&folder));
    (folder, one, other)
}

fn two_with(target: &str) -> [Desk; 2] {
    two_with_key(target, None)
}

/// Returns two machines that encrypt what they write to the target with a key, if one is given.
fn two_with_key(target: &str, key: Option<&str>) -> [Desk; 2] {
    let desks = [Desk::new(), Desk::new()];
    let key: Vec<&str> = key.into_iter().flat_map(|key| ["--key", key]).collect();
    for (desk, name) in desks.iter().zip(["desk", "laptop"]) {
        let words = ["db", "sync", "add", target, "--namespace", "project/*", "--name", name];
        let added = desk.run(&[&words[..], &key].concat());
        assert_eq!(added.code, 0, "{added:?}");
    }
    desks
}

/// Calls a hook of Claude Code, and returns how long it took.
fn hook(desk: &Desk, event: &str, environment: &[(&str, &str)]) -> Duration {
    let begun = Instant::now();
    let input = serde_json::json!({"session_id": "s1", "cwd": desk.path(""), "source": "startup"}).to_string();
    let mut command = desk.command(&["hook", event]);
    command.stdin(Stdio::piped()).envs(environment.iter().copied());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    assert!(child.wait().unwrap().success());
    begun.elapsed()
}

/// Waits until a condition is met, which another process brings about.
fn wait_until(what: &str, is_met: impl Fn() -> bool) {
    let begun = Instant::now();
    while !is_met() {
        assert!(begun.elapsed() < Duration::from_mins(1), "{what}");
        std::thread::sleep(Duration::from_millis(100));
    }
}

fn status(desk: &Desk) -> serde_json::Value {
    desk.json(&["db", "sync", "status"]).pop().unwrap()
}

/// Creates an empty bare repository in a folder.
fn bare(folder: &TempDir) -> String {
    let path = folder.path().join("memories.git").to_str().unwrap().to_owned();
    assert!(Command::new("git").args(["init", "--quiet", "--bare", &path]).status().unwrap().success());
    path
}

fn path(folder: &TempDir) -> &str {
    folder.path().to_str().unwrap()
}

fn sync(desk: &Desk) -> serde_json::Value {
    let done = desk.run(&["db", "sync", "now", "--json"]);
    assert_eq!(done.code, 0, "{done:?}");
    done.json().pop().unwrap()
}

fn remember(desk: &Desk, namespace: &str, text: &str) {
    let done = desk.run(&["remember", text, "--namespace", namespace]);
    assert_eq!(done.code, 0, "{done:?}");
}

fn contents(desk: &Desk) -> Vec<String> {
    let mut all: Vec<String> = desk.memories().into_iter().map(|(_, content)| content).collect();
    all.sort();
    all
}

#[test]
fn two_homes_share_a_project_and_nothing_else() {
    let (folder, one, other) = two();
    remember(&one, "project/shop", "The shop deploys on Fridays.");
    remember(&one, "global", "The quokka is a secret.");
    remember(&other, "project/shop", "The shop sells tea.");
    assert_eq!(sync(&one)["sent"].as_u64().unwrap(), 1);
    let second = sync(&other);
    assert_eq!((second["sent"].as_u64(), second["received"].as_u64()), (Some(1), Some(1)));
    assert_eq!(sync(&one)["received"].as_u64().unwrap(), 1);
    assert_eq!(contents(&other), ["The shop deploys on Fridays.", "The shop sells tea."]);
    assert_eq!(contents(&one).len(), 3);
    let files = walkdir::WalkDir::new(folder.path()).into_iter().map(Result::unwrap);
    let files: Vec<_> = files.filter(|entry| entry.file_type().is_file()).collect();
    assert_eq!(files.len(), 2);
    for file in files {
        assert!(!String::from_utf8_lossy(&std::fs::read(file.path()).unwrap()).contains("quokka"));
    }
    let status = one.run(&["db", "sync", "status"]);
    assert!(status.out.contains("laptop-") && status.out.contains("this machine is desk-"), "{status:?}");
    // What arrived is found like everything else.
    assert!(other.run(&["search", "deploys", "--namespace", "project/shop"]).out.contains("Fridays"));
    assert_eq!(one.run(&["db", "sync", "remove", path(&folder)]).code, 0);
    assert_eq!(one.run(&["db", "sync", "now"]).code, 1);
}

#[test]
fn a_target_that_is_gone_or_unknown_is_named_with_its_remedy() {
    let (folder, one, _) = two();
    remember(&one, "project/shop", "The shop deploys on Fridays.");
    std::fs::remove_dir_all(folder.path().join("afterthought-log")).unwrap();
    let failed = one.run(&["db", "sync", "now"]);
    assert!(
        failed.code == 2 && failed.err.contains("check that the drive or the shared folder is there"),
        "{failed:?}"
    );
    let unknown = one.run(&["db", "sync", "remove", "/no/such/folder"]);
    assert!(unknown.code == 2 && unknown.err.contains("is not synchronised"), "{unknown:?}");
    let pattern = one.run(&["db", "sync", "add", path(&folder), "--namespace", "pro*"]);
    assert!(pattern.code == 2 && pattern.err.contains("write it like global"), "{pattern:?}");
    let pattern = one.run(&["db", "sync", "add", path(&folder), "--namespace", "tea m"]);
    assert!(pattern.code == 2 && pattern.err.contains("\"tea m\" is not a namespace"), "{pattern:?}");
    let unused = one.run(&["db", "sync", "add", path(&folder), "--namespace", "projct/*"]);
    assert!(unused.code == 0 && unused.err.contains("has a namespace projct/*; check its spelling"), "{unused:?}");
    remember(&one, "tea m", "Ana drinks tea.");
    assert_eq!(one.run(&["db", "sync", "add", path(&folder), "--namespace", "tea m"]).code, 0);
}

/// Returns all memories by id, without their uses, which each machine counts for itself.
fn rows(desk: &Desk) -> BTreeMap<String, Value> {
    let all = desk.run(&["export", "--all", "-q"]).json().into_iter().map(|mut memory| {
        for use_of in ["access_count", "last_accessed_at", "tier", "promotion_count", "last_promoted_at"] {
            memory[use_of] = Value::Null;
        }
        // Links and evidence have no order.
        for list in ["sources", "relations", "evidence"] {
            if let Some(list) = memory[list].as_array_mut() {
                list.sort_by_key(ToString::to_string);
            }
        }
        (memory["id"].as_str().unwrap().to_owned(), memory)
    });
    all.collect()
}

/// Lets two machines write, edit, forget and synchronise at the same time, and returns the ids of what they learnt.
#[expect(clippy::print_stderr, reason = "a longer run is measured")]
fn work_at_once(desks: &[Desk; 2]) -> Vec<String> {
    let seconds = std::env::var("AFTERTHOUGHT_SYNC_SECONDS").ok().and_then(|text| text.parse().ok()).unwrap_or(4.0);
    let (begun, limit) = (Instant::now(), Duration::from_secs_f64(seconds));
    let learnt = Mutex::new(Vec::new());
    let write = |desk: &Desk, name: &str| {
        for number in 0.. {
            if begun.elapsed() > limit {
                break;
            }
            let text = format!("Shelf {name}{number} of the shop contains box {}{name}.", number * 31);
            let added = desk.run(&["remember", &text, "--namespace", "project/shop", "--json"]);
            assert_eq!(added.code, 0, "{added:?}");
            let id = added.json()[0]["id"].as_str().unwrap().to_owned();
            learnt.lock().unwrap().push(id);
            let any = |step: usize| {
                let learnt = learnt.lock().unwrap();
                learnt[number * step % learnt.len()].clone()
            };
            // The memory may be on the other machine, and not here yet.
            if number % 3 == 0 {
                let text = format!("Shelf {} of the shop contains box {number}{name}.", number * 7);
                assert!(desk.run(&["memory", "update", &any(17), "--content", &text]).code <= 2);
            }
            if number % 5 == 0 {
                assert!(desk.run(&["memory", "forget", &any(13)]).code <= 2);
            }
        }
    };
    let mut waits = Vec::new();
    std::thread::scope(|scope| {
        let syncs = [("a", &desks[0]), ("b", &desks[1])].map(|(name, desk)| {
            scope.spawn(move || write(desk, name));
            scope.spawn(move || {
                let mut waits = Vec::new();
                while begun.elapsed() < limit {
                    let started = Instant::now();
                    sync(desk);
                    waits.push(started.elapsed());
                }
                waits
            })
        });
        waits.extend(syncs.into_iter().flat_map(|sync| sync.join().unwrap()));
    });
    waits.sort();
    let (median, longest) = (waits[waits.len() / 2], waits.last().unwrap());
    let learnt = learnt.into_inner().unwrap();
    eprintln!("{} memories, {} synchronisations, median {median:?}, longest {longest:?}", learnt.len(), waits.len());
    learnt
}

#[expect(clippy::print_stderr, reason = "a longer run is measured")]
fn assert_equal_after(desks: &[Desk; 2], learnt: &[String]) {
    let counts = |desk: &Desk| ["sent", "received"].map(|name| sync(desk)[name].as_u64().unwrap());
    let mut rounds = 0;
    while desks.iter().map(counts).collect::<Vec<_>>() != [[0, 0], [0, 0]] {
        rounds += 1;
        assert!(rounds < 10, "the machines do not come to rest");
    }
    let [one, other] = [&desks[0], &desks[1]].map(rows);
    assert!(learnt.iter().all(|id| one.contains_key(id)), "a memory is lost");
    assert!(one == other, "{:#?}", one.values().zip(other.values()).find(|(one, other)| one != other));
    for desk in desks {
        assert_eq!(desk.run(&["db", "check"]).code, 0);
    }
    eprintln!("{} rows on both machines after {rounds} more rounds", one.len());
}

/// Asserts that every path belongs to a log, and not to a conflict between copies.
fn assert_no_conflict(paths: &[String]) {
    assert!(!paths.is_empty());
    for path in paths {
        let name = Path::new(path).file_name().unwrap().to_str().unwrap();
        let is_item = name.len() > 73 && (name.ends_with(".change") || name.ends_with(".snapshot"));
        assert!(is_item && path.split('/').count() == 3, "{path}");
    }
}

/// Lets two machines use a folder at the same time, and returns the content of all files in it.
fn use_folder_at_once(key: Option<&str>) -> Vec<u8> {
    let folder = TempDir::new().unwrap();
    let desks = two_with_key(path(&folder), key);
    let learnt = work_at_once(&desks);
    assert_equal_after(&desks, &learnt);
    let files = walkdir::WalkDir::new(folder.path()).into_iter().map(Result::unwrap);
    let files: Vec<_> = files.filter(|entry| entry.file_type().is_file()).collect();
    let below = |entry: &walkdir::DirEntry| {
        let path = entry.path().strip_prefix(folder.path()).unwrap();
        path.to_str().unwrap().replace('\\', "/")
    };
    assert_no_conflict(&files.iter().map(below).collect::<Vec<_>>());
    files.iter().flat_map(|entry| std::fs::read(entry.path()).unwrap()).collect()
}

#[test]
fn two_homes_and_a_folder_in_concurrent_use_lose_nothing() {
    use_folder_at_once(None);
}

/// Lets two machines use a repository at the same time, and returns the content of all its objects.
fn use_repository_at_once(key: Option<&str>) -> Vec<u8> {
    let folder = TempDir::new().unwrap();
    let repository = bare(&folder);
    let desks = two_with_key(&repository, key);
    let learnt = work_at_once(&desks);
    assert_equal_after(&desks, &learnt);
    let run = |arguments: &[&str]| {
        let output = Command::new("git").arg("--git-dir").arg(&repository).args(arguments).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        output.stdout
    };
    let git =
        |arguments: &[&str]| String::from_utf8(run(arguments)).unwrap().lines().map(str::to_owned).collect::<Vec<_>>();
    assert_no_conflict(&git(&["ls-tree", "-r", "--name-only", "afterthought/log"]));
    // There is one branch without a merge, and the repository is sound.
    assert_eq!(git(&["for-each-ref", "--format=%(refname)"]), ["refs/heads/afterthought/log"]);
    assert_eq!(git(&["rev-list", "--merges", "--all"]), Vec::<String>::new());
    git(&["fsck", "--strict", "--no-dangling"]);
    run(&["cat-file", "--batch-all-objects", "--batch"])
}

#[test]
fn two_homes_and_a_repository_in_concurrent_use_lose_nothing() {
    use_repository_at_once(None);
}

/// With a key, no byte of what both machines wrote can be read in the target.
#[cfg(feature = "age")]
#[test]
fn two_homes_with_a_key_in_concurrent_use_lose_nothing_and_show_nothing() {
    let desk = Desk::new();
    let key = desk.path("sync.key");
    let key = key.to_str().unwrap();
    assert_eq!(desk.run(&["db", "sync", "key", key]).code, 0);
    for content in [use_folder_at_once(Some(key)), use_repository_at_once(Some(key))] {
        assert!(content.len() > 1000);
        for word in ["Shelf", "shelf", "contains box", "project/shop"] {
            let at = content.windows(word.len()).position(|bytes| bytes == word.as_bytes());
            assert_eq!(at, None, "{word} is in the target");
        }
    }
}

#[test]
fn sessions_and_runs_synchronise_without_a_command() {
    let (_folder, one, other) = two();
    remember(&one, "project/shop", "The shop deploys on Fridays.");
    hook(&one, "session-end", &[]);
    wait_until("the end of a session sends", || !status(&one)["synced_at"].is_null());
    hook(&other, "session-start", &[]);
    wait_until("the start of a session receives", || contents(&other) == ["The shop deploys on Fridays."]);
    remember(&other, "project/shop", "The shop sells tea.");
    let log = "fixtures/claude-code/5f0c2a9e-7d41-4c1b-9a55-2f6d0e8b1c34.jsonl";
    other.write("session.jsonl", std::fs::read(log).unwrap());
    let run = other.run(&["run", "session.jsonl", "--extractor", "rules"]);
    assert_eq!(run.code, 0, "{run:?}");
    wait_until("a run sends", || status(&other)["waiting"] == 0 && sync(&one)["received"] != 0);
    assert!(contents(&one).contains(&"The shop sells tea.".to_owned()));
}

#[test]
fn a_target_that_was_added_as_manual_waits_for_the_command() {
    let (folder, one, _) = two();
    let again = one.run(&["db", "sync", "add", path(&folder), "--namespace", "project/*", "--manual"]);
    assert_eq!(again.code, 0, "{again:?}");
    remember(&one, "project/shop", "The shop deploys on Fridays.");
    hook(&one, "session-end", &[]);
    hook(&one, "session-start", &[]);
    let background = one.run(&["db", "sync", "now", "--background"]);
    assert_eq!((background.code, background.out.as_str(), background.err.as_str()), (0, "", ""));
    assert!(status(&one)["synced_at"].is_null() && status(&one)["automatic"] == false);
    assert_eq!(sync(&one)["sent"], 1);
}

/// A program in place of `ssh`, which reaches this machine, slowly or not at all.
#[cfg(unix)]
fn ssh(folder: &TempDir) -> String {
    use std::os::unix::fs::PermissionsExt as _;
    let path = folder.path().join("ssh");
    let script =
        "#!/bin/sh\n[ -z \"$SSH_FAILS\" ] || { sleep 6; echo 'no route to host' >&2; exit 255; }\neval \"$2\"\n";
    std::fs::write(&path, script).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    path.to_str().unwrap().to_owned()
}

#[cfg(unix)]
#[test]
fn a_slow_server_delays_no_hook_and_status_names_its_failure() {
    let folder = TempDir::new().unwrap();
    let (program, repository) = (ssh(&folder), bare(&folder));
    let address = format!("git+ssh://server{repository}");
    let ssh = [("GIT_SSH", program.as_str()), ("GIT_SSH_VARIANT", "simple")];
    let one = Desk::new();
    let with_ssh = |args: &[&str]| {
        let mut command = one.command(args);
        command.envs(ssh);
        one.finish(command)
    };
    let added = with_ssh(&["db", "sync", "add", &address, "--namespace", "project/*"]);
    assert_eq!(added.code, 0, "{added:?}");
    remember(&one, "project/shop", "The shop deploys on Fridays.");
    for event in ["session-start", "session-end"] {
        let duration = hook(&one, event, &[ssh[0], ssh[1], ("SSH_FAILS", "1")]);
        assert!(duration < Duration::from_secs(5), "{event}: {duration:?}");
    }
    wait_until("the failure is recorded", || !status(&one)["error"].is_null());
    let (overview, known) = (one.run(&["status"]).out, one.run(&["db", "sync", "status"]).out);
    for text in [&overview, &known] {
        assert!(text.contains("git+ssh://server") && text.contains("git ls-remote"), "{text}");
    }
    assert!(overview.contains("not synchronised"), "{overview}");
    // The next synchronisation sends what waited.
    wait_until("the hooks' synchronisations are over", || with_ssh(&["db", "sync", "now"]).code == 0);
    assert!(status(&one)["error"].is_null());
    assert!(!one.run(&["status"]).out.contains("not synchronised"));
    let other = Desk::new();
    assert_eq!(other.run(&["db", "sync", "add", &repository, "--namespace", "project/*"]).code, 0);
    assert_eq!(sync(&other)["received"], 1);
}

#[cfg(not(feature = "scale"))]
#[test]
fn a_build_without_object_storage_names_the_feature() {
    let added = Desk::new().run(&["db", "sync", "add", "s3://memories/ana", "--namespace", "project/*"]);
    let expected = "cannot use object storage; install one that can with `cargo install --path . --features scale` in a clone of the repository";
    assert!(added.code == 2 && added.err.contains(expected), "{added:?}");
}

/// Needs a server with the bucket `memories`, as the tests of `sync::objects` do.
#[cfg(feature = "scale")]
#[test]
fn two_homes_share_a_project_through_object_storage() {
    let Ok(endpoint) = std::env::var("AFTERTHOUGHT_TEST_S3") else {
        eprintln!("skipped, because AFTERTHOUGHT_TEST_S3 is not set");
        return;
    };
    let secret = "quokka-of-the-bucket";
    let with_credentials = |desk: &Desk, args: &[&str]| {
        let mut command = desk.command(args);
        command.envs([
            ("AWS_ENDPOINT_URL", endpoint.as_str()),
            ("AWS_ALLOW_HTTP", "true"),
            ("AWS_REGION", "us-east-1"),
        ]);
        command.envs([("AWS_ACCESS_KEY_ID", "ana"), ("AWS_SECRET_ACCESS_KEY", secret)]);
        desk.finish(command)
    };
    let address = format!("s3://memories/{}", uuid::Uuid::now_v7());
    let desks = [Desk::new(), Desk::new()];
    let [one, other] = &desks;
    let key = one.path("sync.key");
    assert_eq!(one.run(&["db", "sync", "key", key.to_str().unwrap()]).code, 0);
    for desk in &desks {
        let words =
            ["db", "sync", "add", &address, "--namespace", "project/*", "--manual", "--key", key.to_str().unwrap()];
        let added = with_credentials(desk, &words);
        assert_eq!(added.code, 0, "{added:?}");
    }
    let sync = |desk: &Desk| {
        let done = with_credentials(desk, &["db", "sync", "now", "--json"]);
        assert_eq!(done.code, 0, "{done:?}");
        let report = done.json().pop().unwrap();
        ["sent", "received"].map(|name| report[name].as_u64().unwrap())
    };
    remember(one, "project/shop", "The shop deploys on Fridays.");
    remember(other, "project/shop", "The shop sells tea.");
    assert_eq!([sync(one), sync(other), sync(one), sync(other)], [[1, 0], [1, 1], [0, 1], [0, 0]]);
    assert_eq!((contents(one).len(), contents(other)), (2, contents(one)));
    let all = with_credentials(one, &["db", "sync", "now", "--whole"]);
    assert_eq!((all.code, sync(other)), (0, [0, 0]), "{all:?}");
    // Without credentials or a bucket, nothing is lost.
    let missing = with_credentials(one, &["db", "sync", "add", "s3://nowhere/x", "--namespace", "global"]);
    assert!(missing.code == 2 && missing.err.contains("cannot use the object storage s3://nowhere/x"), "{missing:?}");
    let typed = one.run(&["db", "sync", "add", "s3://ana:pass@memories/x", "--namespace", "global"]);
    assert!(typed.code == 2 && typed.err.contains("contains a password"), "{typed:?}");
    // Credentials are never stored.
    let files = walkdir::WalkDir::new(one.path("")).into_iter().map(Result::unwrap);
    for file in files.filter(|entry| entry.file_type().is_file()) {
        assert!(!String::from_utf8_lossy(&std::fs::read(file.path()).unwrap()).contains(secret), "{file:?}");
    }
}

#[test]
fn the_status_says_what_is_left_to_send() {
    let (_folder, one, _) = two();
    let line = || {
        let told = one.run(&["db", "sync", "status"]).out;
        told.lines().find(|line| line.contains("last synchronised")).unwrap().to_owned()
    };
    assert!(line().contains("never; nothing to send"), "{}", line());
    remember(&one, "project/shop", "The shop deploys on Fridays.");
    remember(&one, "global", "Ana drinks tea.");
    assert!(line().contains("1 memory to send"), "{}", line());
    sync(&one);
    assert!(line().contains("; nothing to send"), "{}", line());
}
