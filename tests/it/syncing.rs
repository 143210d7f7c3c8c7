//! Machines that share memories through a folder, as a person runs the commands.

use tempfile::TempDir;

use super::desk::Desk;

/// Two machines that share all projects through one folder.
fn two() -> (TempDir, Desk, Desk) {
    let folder = TempDir::new().unwrap();
    let desks = [Desk::new(), Desk::new()];
    for (desk, name) in desks.iter().zip(["desk", "laptop"]) {
        let added = desk.run(&["db", "sync", "add", path(&folder), "--namespace", "project/*", "--name", name]);
        assert_eq!(added.code, 0, "{added:?}");
    }
    let [one, other] = desks;
    (folder, one, other)
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
}
