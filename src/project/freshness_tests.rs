//! Tests of freshness with repositories created by git.

use std::process::Command;

use super::super::references::references;
use super::*;

struct Repo(tempfile::TempDir);

impl Repo {
    fn new() -> Self {
        let repo = Self(tempfile::tempdir().unwrap());
        repo.git(&["init", "-q", "-b", "main"], 0);
        repo
    }

    fn git(&self, arguments: &[&str], day: i64) {
        let at = format!("{} +0000", 1_700_000_000 + day * 86_400);
        let mut git = Command::new("git");
        git.current_dir(self.0.path())
            .args(["-c", "user.name=Ana", "-c", "user.email=ana@example.com"])
            .args(arguments);
        git.env("GIT_COMMITTER_DATE", &at).env("GIT_AUTHOR_DATE", &at).env("GIT_CONFIG_GLOBAL", "/dev/null");
        assert!(git.output().unwrap().status.success(), "{arguments:?}");
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.0.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn commit(&self, day: i64) {
        self.git(&["add", "-A"], day);
        self.git(&["commit", "-q", "-m", &format!("Day {day}")], day);
    }

    /// Returns the current states of everything that a text from that day mentions.
    fn states(&self, text: &str, day: i64) -> Vec<String> {
        let at = Timestamp::from_second(1_700_000_000 + day * 86_400 + 60).ok();
        let cited = CitedPart { references: references(text), at, is_change: false };
        let checkout = Checkout::of(self.0.path(), Duration::from_secs(20)).unwrap();
        checkout.check(&cited).into_iter().map(|one| format!("{}: {}", one.named, one.state)).collect()
    }
}

const ROWS: &str =
    "import os\n\ndef parse_rows(text):\n    return text.split()\n\ndef write_rows(rows):\n    return ' '.join(rows)\n";

fn repo() -> Repo {
    let repo = Repo::new();
    repo.write("src/rows.py", ROWS);
    repo.write("src/same.py", "A = 1\n");
    repo.write("src/old.py", "def removed_name():\n    pass\n");
    repo.write("lib/deep/tool.py", "TOOL = 1\n");
    repo.commit(1);
    repo.write("src/rows.py", &ROWS.replace("os", "re"));
    repo.commit(3);
    repo.git(&["mv", "src/rows.py", "src/table.py"], 5);
    repo.git(&["rm", "-q", "src/old.py"], 5);
    repo.git(&["mv", "lib/deep", "lib/tools"], 5);
    repo.commit(5);
    repo
}

#[test]
fn paths_are_fresh_changed_moved_or_gone() {
    for is_packed in [false, true] {
        let repo = repo();
        if is_packed {
            repo.git(&["gc", "-q", "--aggressive"], 6);
        }
        let states = repo.states("src/rows.py src/same.py src/old.py lib/deep/tool.py `lib/deep/` tool.py", 2);
        let expected = [
            "src/rows.py: moved to src/table.py",
            "src/same.py: fresh",
            "src/old.py: gone",
            "lib/deep/tool.py: moved to lib/tools/tool.py",
            "lib/deep/: moved to lib/tools",
            "tool.py: moved to lib/tools/tool.py",
        ];
        assert_eq!(states, expected, "packed: {is_packed}");
        repo.write("src/same.py", "A = 2\n");
        assert_eq!(repo.states("src/same.py", 2), ["src/same.py: changed since"]);
    }
}

#[test]
fn nothing_outside_the_repository_is_gone() {
    let repo = repo();
    let states = repo.states("/etc/no-such-file.conf ~/notes.md ../other/a.py build/out.bin src/never.py", 2);
    assert!(states.iter().all(|state| state.ends_with(": not verifiable")), "{states:?}");
    assert_eq!(states.len(), 5);
    assert_eq!(repo.states("src/rows.py", -9), ["src/rows.py: not verifiable"], "before the first commit");
}

#[test]
fn symbols_are_looked_for_where_they_were_and_elsewhere() {
    let repo = repo();
    let states = repo.states("`parse_rows` in src/rows.py, `removed_name()`, `never_there()`", 2);
    assert_eq!(
        states[1..],
        ["parse_rows: moved to src/table.py", "removed_name(): gone", "never_there(): not verifiable"]
    );
    let states = repo.states("`parse_rows` in src/table.py", 6);
    assert_eq!(states, ["src/table.py: fresh", "parse_rows: fresh"]);
}

#[test]
fn a_commit_is_found_again_on_another_base() {
    let repo = repo();
    let checkout = Checkout::of(repo.0.path(), Duration::from_secs(20)).unwrap();
    let id = transcripts::hex(&checkout.head);
    assert_eq!(repo.states(&id[..10], 6), [format!("{}: fresh", &id[..10])]);
    repo.git(&["commit", "-q", "--amend", "--no-edit", "--date=now", "--allow-empty"], 7);
    let states = repo.states(&id[..10], 6);
    assert!(states[0].ends_with("not verifiable"), "another author's time makes it another one: {states:?}");
    assert_eq!(repo.states("1a2b3c4d", 6), ["1a2b3c4d: not verifiable"]);
}

#[test]
fn the_commit_after_a_task_is_its_own() {
    let repo = Repo::new();
    repo.write("a.py", "A = 1\n");
    repo.commit(1);
    repo.write("a.py", "A = 2\n");
    repo.git(&["commit", "-aqm", "Two"], 2);
    let at = Timestamp::from_second(1_700_000_000 + 2 * 86_400 - 600).ok();
    let checkout = Checkout::of(repo.0.path(), Duration::from_secs(20)).unwrap();
    let state =
        |is_change| checkout.check(&CitedPart { references: references("./a.py"), at, is_change })[0].state.clone();
    assert_eq!((state(true), state(false)), (FreshnessState::Fresh, FreshnessState::ChangedSince));
}
