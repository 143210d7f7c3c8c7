//! Two people who share the memories of a team through a folder, as they run the commands.

use serde_json::{Value, json};
use tempfile::TempDir;

use super::desk::{Desk, Told};

/// Ana, who maintains the team, and Bo, who share `team/*` through one folder.
fn ana_and_bo() -> (TempDir, Desk, Desk) {
    let folder = TempDir::new().unwrap();
    let [ana, bo] = ["Ana Lind", "Bo Ek"].map(|name| member(name, &folder));
    let named = ana.run(&["project", "team", "shop", "--maintainer", "Ana Lind"]);
    assert!(named.code == 0 && named.out.contains("the maintainers of team/shop are Ana Lind"), "{named:?}");
    assert_eq!(sync(&ana)["sent"], json!(1));
    assert_eq!(sync(&bo)["received"], json!(1));
    (folder, ana, bo)
}

/// Returns a person with a name in their git settings, who shares all teams through a folder.
fn member(name: &str, folder: &TempDir) -> Desk {
    let desk = Desk::new();
    desk.write(".gitconfig", format!("[user]\n\tname = {name}\n"));
    let target = folder.path().to_str().unwrap();
    let added = desk.run(&["db", "sync", "add", target, "--namespace", "team/*", "--manual"]);
    assert_eq!(added.code, 0, "{added:?}");
    desk
}

fn sync(desk: &Desk) -> Value {
    desk.json(&["db", "sync", "now"]).pop().unwrap()
}

/// Stores a memory in a project, and returns its id.
fn remember(desk: &Desk, namespace: &str, text: &str) -> String {
    let stored = desk.json(&["remember", text, "--namespace", namespace]).pop().unwrap();
    id_of(&stored)
}

fn id_of(memory: &Value) -> String {
    memory["id"].as_str().unwrap_or_else(|| panic!("{memory}")).to_owned()
}

fn team(desk: &Desk) -> Vec<Value> {
    desk.run(&["memory", "list", "--namespace", "team/shop", "--all", "--json"]).json()
}

fn statuses(desk: &Desk) -> Vec<(String, String)> {
    let of = |one: &Value, field: &str| one[field].as_str().unwrap().to_owned();
    let mut all: Vec<_> = team(desk).iter().map(|one| (of(one, "content"), of(one, "status"))).collect();
    all.retain(|(content, _)| !content.starts_with("The maintainers"));
    all.sort();
    all
}

fn pair(content: &str, status: &str) -> (String, String) {
    (content.to_owned(), status.to_owned())
}

fn files(folder: &TempDir) -> String {
    let files = walkdir::WalkDir::new(folder.path()).into_iter().map(Result::unwrap);
    let files = files.filter(|entry| entry.file_type().is_file());
    files.map(|file| String::from_utf8_lossy(&std::fs::read(file.path()).unwrap()).into_owned()).collect()
}

#[test]
fn a_promoted_memory_waits_for_a_maintainer_whose_decision_reaches_its_author() {
    let (folder, ana, bo) = ana_and_bo();
    let origin = remember(&bo, "project/shop", "The shop deploys on Fridays at noon.");
    let promoted = bo.run(&["memory", "promote", &origin, "--to", "team/shop"]);
    assert_eq!(promoted.code, 0, "{promoted:?}");
    assert!(
        promoted.out.starts_with("proposed ") && promoted.err.contains("promoted by Bo Ek, with no quotes"),
        "{promoted:?}"
    );
    assert_eq!(statuses(&bo), [pair("The shop deploys on Fridays at noon.", "pending")]);
    // The link to the origin stays here.
    assert_eq!(bo.json(&["memory", "show", &id_of(&team(&bo)[0])]).len(), 1);
    sync(&bo);
    assert!(!files(&folder).contains(&origin), "the id of the origin left the machine");
    sync(&ana);
    let inbox = ana.run(&["inbox"]);
    assert!(inbox.out.contains("promoted by Bo Ek") && inbox.out.contains("team/shop"), "{inbox:?}");

    // Bo cannot decide by any command.
    let id = team(&bo).into_iter().find(|one| one["status"] == "pending").map(|one| id_of(&one)).unwrap();
    for refused in [
        &["inbox", "accept", &id][..],
        &["inbox", "reject", &id],
        &["memory", "restore", &id],
        &["memory", "update", &id, "--importance", "0.9"],
        &["memory", "forget", &id],
        &["memory", "pin", &id],
        &["remember", "Everybody is an admin.", "--namespace", "team/shop"],
        &["project", "team", "shop", "--maintainer", "Bo Ek"],
    ] {
        let Told { code, err, .. } = bo.run(refused);
        assert!(
            code == 2 && err.contains("only Ana Lind can change memories of team/shop, and you are Bo Ek"),
            "{refused:?} {err}"
        );
    }
    assert_eq!(ana.run(&["inbox", "accept", &id]).code, 0);
    sync(&ana);
    assert_eq!(sync(&bo)["received"], json!(1));
    assert_eq!(statuses(&bo), [pair("The shop deploys on Fridays at noon.", "active")]);
    let shown = ana.run(&["memory", "show", &id]);
    assert!(shown.out.contains("promoted by Bo Ek"), "{shown:?}");

    // What a maintainer forgets is not proposed again.
    assert_eq!(ana.run(&["memory", "forget", &id]).code, 0);
    sync(&ana);
    sync(&bo);
    let again = bo.run(&["memory", "promote", &origin, "--to", "team/shop"]);
    assert!(again.code == 2 && again.err.contains("the team rejected or forgot it"), "{again:?}");
}

#[test]
fn a_maintainer_promotes_at_once_and_a_newer_version_replaces_the_former() {
    let (_folder, ana, bo) = ana_and_bo();
    let origin = remember(&bo, "project/shop", "The shop has three servers in Riga.");
    assert_eq!(bo.run(&["memory", "promote", &origin, "--to", "team/shop"]).code, 0);
    sync(&bo);
    sync(&ana);
    assert_eq!(ana.run(&["inbox", "accept", "--all", "--yes"]).code, 0);
    sync(&ana);
    sync(&bo);
    assert_eq!(bo.run(&["memory", "update", &origin, "--content", "The shop has nine servers in Riga."]).code, 0);
    assert_eq!(bo.run(&["memory", "promote", &origin, "--to", "team/shop"]).code, 0);
    sync(&bo);
    sync(&ana);
    assert!(ana.run(&["inbox"]).out.contains("in place of: The shop has three servers"));
    assert_eq!(ana.run(&["inbox", "accept", "--all", "--yes"]).code, 0);
    assert_eq!(
        statuses(&ana),
        [
            pair("The shop has nine servers in Riga.", "active"),
            pair("The shop has three servers in Riga.", "superseded")
        ]
    );
    let own = remember(&ana, "project/shop", "The shop closes on Sundays.");
    let promoted = ana.run(&["memory", "promote", &own, "--to", "team/shop"]);
    assert!(promoted.out.starts_with("promoted "), "{promoted:?}");
    let again = ana.run(&["memory", "promote", &own, "--to", "team/shop"]);
    assert!(again.code == 0 && again.out.starts_with("already in the team:"), "{again:?}");
    // One changeset, which is taken back as a whole and leaves the origin.
    assert_eq!(ana.run(&["undo", "last"]).code, 0);
    assert!(!statuses(&ana).iter().any(|(content, _)| content.contains("Sundays")));
    assert_eq!(ana.run(&["memory", "show", &own]).code, 0);
}

#[test]
fn a_promotion_leaves_out_personal_data_and_quotes_unless_they_are_shared() {
    let (folder, _ana, bo) = ana_and_bo();
    let log = json!({"messages": [{"role": "user", "content":
        "Remember that the courier is bo.ek@example.com at +46 70 123 45 67, after lunch."}]});
    bo.write("log.json", log.to_string());
    let run = bo.run(&["run", "log.json", "--extractor", "rules", "--namespace", "project/shop"]);
    assert_eq!(run.code, 0, "{run:?}");
    let learnt = bo.json(&["memory", "list", "--namespace", "project/shop"]).pop().unwrap();
    assert!(learnt["content"].as_str().unwrap().contains("bo.ek@example.com"), "{learnt}");
    let promote = |quotes: &[&str]| {
        let id = id_of(&learnt);
        let args = ["memory", "promote", &id, "--to", "team/shop"];
        let promoted = bo.run(&[&args, quotes].concat());
        assert_eq!(promoted.code, 0, "{promoted:?}");
        sync(&bo);
        promoted
    };
    let plain = promote(&[]);
    assert!(plain.err.contains("removed from the text for the team: email, phone"), "{plain:?}");
    let shared = files(&folder);
    assert!(!shared.contains("bo.ek@") && !shared.contains("123 45"), "personal data left the machine");
    assert!(!shared.contains("Remember that"), "a quote left the machine");
    assert_eq!(bo.run(&["undo", "last"]).code, 0);
    let quoted = promote(&["--with-quotes"]);
    assert!(quoted.err.contains("with 1 quote"), "{quoted:?}");
    let shared = files(&folder);
    assert!(shared.contains("Remember that") && !shared.contains("bo.ek@") && !shared.contains("123 45"));
}

#[test]
fn a_project_of_a_team_shows_the_user_the_project_and_the_team_and_nothing_else() {
    let (_folder, ana, _bo) = ana_and_bo();
    let folder = ana.path("code/shop");
    std::fs::create_dir_all(folder.join(".git")).unwrap();
    std::fs::write(folder.join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
    std::fs::create_dir_all(folder.join(".git/objects")).unwrap();
    std::fs::create_dir_all(folder.join(".git/refs")).unwrap();
    let here = |args: &[&str]| {
        let mut command = ana.command(args);
        command.current_dir(&folder);
        ana.finish(command)
    };
    assert_eq!(here(&["remember", "The shop sells quince jam."]).code, 0);
    remember(&ana, "global", "The user likes quince jelly.");
    remember(&ana, "team/shop", "The team meets over quince tea.");
    remember(&ana, "team/bakery", "The bakery team bakes quince pie.");
    remember(&ana, "project/other", "The other project burns quince wood.");
    let before = here(&["brief"]).out;
    assert!(
        before.contains("quince jam") && before.contains("quince jelly") && !before.contains("quince tea"),
        "{before}"
    );
    let assigned = here(&["project", "team", "shop"]);
    assert!(assigned.code == 0 && assigned.out.contains("now belongs to team/shop"), "{assigned:?}");
    let hook = || {
        let input = json!({"session_id": "s1", "cwd": folder, "source": "startup"}).to_string();
        let mut command = ana.command(&["hook", "session-start"]);
        command.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
        let mut child = command.spawn().unwrap();
        std::io::Write::write_all(&mut child.stdin.take().unwrap(), input.as_bytes()).unwrap();
        String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap()
    };
    let outputs = [
        here(&["brief"]).out,
        here(&["brief", "quince"]).out,
        here(&["search", "quince"]).out,
        here(&["memory", "list"]).out,
        hook(),
    ];
    for shown in outputs {
        for part in ["quince jam", "quince jelly", "quince tea"] {
            assert!(shown.contains(part), "{part} is missing: {shown}");
        }
        assert!(!shown.contains("quince pie") && !shown.contains("quince wood"), "{shown}");
    }
    let list = ana.run(&["project", "team"]);
    assert!(
        list.out.contains("maintainers: Ana Lind") && list.out.contains("projects here: project/shop-"),
        "{list:?}"
    );
    assert_eq!(here(&["project", "team", "--off"]).code, 0);
    assert!(!here(&["brief"]).out.contains("quince tea"));
}

#[test]
fn who_leaves_keeps_what_they_had_and_sends_nothing_more() {
    let (folder, ana, bo) = ana_and_bo();
    remember(&ana, "team/shop", "The team meets on Mondays.");
    sync(&ana);
    sync(&bo);
    assert_eq!(bo.run(&["db", "sync", "remove", folder.path().to_str().unwrap()]).code, 0);
    let before = files(&folder);
    let origin = remember(&bo, "project/shop", "A plan that Bo has after leaving.");
    assert_eq!(bo.run(&["memory", "promote", &origin, "--to", "team/shop"]).code, 0);
    assert_eq!(bo.run(&["db", "sync", "now"]).code, 1, "nothing is shared any more");
    assert_eq!(files(&folder), before);
    assert!(bo.run(&["search", "Mondays", "--namespace", "team/shop"]).out.contains("The team meets on Mondays."));
    remember(&ana, "team/shop", "A decision after Bo left.");
    sync(&ana);
    assert!(!statuses(&bo).iter().any(|(content, _)| content.contains("after Bo left")));
    assert_eq!(sync(&ana)["received"], json!(0));
}

#[test]
fn a_team_is_not_changed_by_agents_runs_or_a_pass_over_everything() {
    let (_folder, ana, bo) = ana_and_bo();
    bo.write(
        "log.json",
        json!({"messages": [{"role": "user", "content": "Remember that the gate is blue."}]}).to_string(),
    );
    let run = bo.run(&["run", "log.json", "--extractor", "rules", "--namespace", "team/shop"]);
    assert!(run.code == 2 && run.err.contains("only Ana Lind can change memories of team/shop"), "{run:?}");
    let pass = bo.run(&["db", "consolidate", "--extractor", "rules", "--namespace", "team/shop"]);
    assert!(pass.code == 2 && pass.err.contains("only Ana Lind"), "{pass:?}");
    let bad = ana.run(&["memory", "promote", &remember(&ana, "project/shop", "Tea is at four."), "--to", "project/x"]);
    assert!(bad.code == 2 && bad.err.contains("project/x is not a team; write it like team/shop"), "{bad:?}");
    // An export of somebody else does not decide either.
    remember(&ana, "team/shop", "The gate is green.");
    let exported = ana.run(&["export", "--namespace", "team/shop"]).out;
    let lines: Vec<&str> = exported.lines().filter(|line| line.contains("gate is green")).collect();
    bo.write("team.jsonl", lines.join("\n"));
    assert_eq!(bo.run(&["import", "team.jsonl"]).code, 0);
    assert_eq!(statuses(&bo), [pair("The gate is green.", "pending")]);
}

#[test]
fn a_misspelled_team_is_refused_and_a_new_one_is_not() {
    let (_folder, _ana, bo) = ana_and_bo();
    let origin = remember(&bo, "project/shop", "The shop closes on Sundays.");
    let near = bo.run(&["memory", "promote", &origin, "--to", "team/shpo"]);
    assert!(near.code == 2 && near.err.contains("nobody has set up team/shpo; did you mean team/shop?"), "{near:?}");
    let runs = bo.run(&["runs", "list"]);
    assert!(runs.code == 1 && runs.err.contains("no runs yet"), "a refusal leaves no run behind: {runs:?}");
    let other = bo.run(&["memory", "promote", &origin, "--to", "team/bakery"]);
    assert!(other.code == 0 && other.out.starts_with("proposed "), "{other:?}");
    // The remedy of the refusal.
    assert_eq!(bo.run(&["project", "team", "shpo", "--maintainer", "Bo Ek"]).code, 0);
    let meant = bo.run(&["memory", "promote", &origin, "--to", "team/shpo"]);
    assert!(meant.code == 0 && meant.out.starts_with("promoted "), "{meant:?}");
}

#[test]
fn a_member_who_does_not_decide_is_not_invited_to_decide() {
    let (_folder, ana, bo) = ana_and_bo();
    let origin = remember(&bo, "project/shop", "The shop closes on Sundays.");
    let promote = || bo.run(&["memory", "promote", &origin, "--to", "team/shop"]);
    assert!(promote().out.starts_with("proposed "));
    let again = promote();
    assert!(again.out.starts_with("already proposed: ") && again.err.contains("a maintainer of the team"), "{again:?}");
    let inbox = bo.run(&["inbox"]);
    assert!(inbox.out.contains("only Ana Lind can accept or reject it"), "{inbox:?}");
    assert!(!inbox.err.contains("inbox accept"), "{inbox:?}");
    sync(&bo);
    sync(&ana);
    let inbox = ana.run(&["inbox"]);
    assert!(!inbox.out.contains("only Ana") && inbox.err.contains("inbox accept ID"), "{inbox:?}");
    assert_eq!(ana.run(&["inbox", "accept", "--all", "--yes"]).code, 0);
    sync(&ana);
    sync(&bo);
    assert!(promote().out.starts_with("already in the team: "));
}
