//! Tests of runs that read only some of the logs, selected by time, project or exclusions. A later run reads the rest.

#![expect(clippy::unwrap_used, reason = "a panic here is a failed test")]

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::Value;

use super::desk::{Desk, Told};
use super::sources::session;
use super::world::{FACTS, Server, World, spoken};

const RULES: &[&str] = &["run", "logs", "--extractor", "rules"];

/// Three sessions on days of March 2026, in two projects, and a note without a time.
fn desk() -> Desk {
    let desk = Desk::new();
    let tell = |name: &str, day, project: &str, words: &str| {
        desk.write(&format!("logs/{name}.jsonl"), session(name, day, project, &[words]));
    };
    tell("early", 2, "/home/ana/shop", "I live in Lisbon.");
    tell("middle", 12, "/home/ana/shop", "We always use tabs in this project.");
    tell("late", 22, "/home/ana/secret-plan/web", "I work as a nurse.");
    desk
}

fn summary(desk: &Desk, extra: &[&str]) -> Value {
    desk.json(&[RULES, extra].concat()).pop().unwrap()
}

#[test]
fn only_what_lies_in_the_range_is_read() {
    let desk = desk();
    let table: &[(&[&str], u64)] = &[
        (&["--since", "2026-03-12"], 2),
        (&["--since", "2026-03-13"], 1),
        (&["--until", "2026-03-12"], 2),
        (&["--until", "2026-03-12T00:00:00Z"], 1),
        (&["--since", "2026-03-03", "--until", "2026-03-20"], 1),
        (&["--since", "yesterday"], 0),
    ];
    for (number, (range, read)) in table.iter().enumerate() {
        let database = format!("{number}.db");
        let told = summary(&desk, &[*range, &["--db", database.as_str()]].concat());
        assert_eq!(told["transcripts"], *read, "{range:?}");
        assert_eq!(told["filtered"]["conversations_out_of_range"], 3 - read, "{range:?}");
    }
}

#[test]
fn what_was_left_out_is_read_by_a_later_run() {
    let desk = desk();
    assert_eq!(summary(&desk, &["--since", "2026-03-12", "--project", "shop"])["transcripts"], 1);
    let rest = summary(&desk, &[]);
    assert_eq!((&rest["windows"]["known"], &rest["windows"]["total"]), (&1.into(), &3.into()), "{rest:#}");
    let parts = desk.memories().into_iter().collect::<BTreeSet<_>>();
    summary(&desk, &["--db", "whole.db"]);
    assert_eq!(parts, desk.memories_in("whole.db").into_iter().collect());
    assert_eq!(parts.len(), 3);
}

#[test]
fn old_files_are_not_opened() {
    let desk = desk();
    desk.write("logs/torn.jsonl", "{\"type\":\"user\"");
    let file = std::fs::File::options().write(true).open(desk.path("logs/torn.jsonl")).unwrap();
    file.set_modified(std::time::SystemTime::now() - Duration::from_hours(1_000)).unwrap();
    let told = summary(&desk, &["--since", "30d"]);
    assert_eq!(told["filtered"]["files_out_of_range"], 1, "{told:#}");
    assert_eq!(told["files"]["passed_over"], 0);
}

#[test]
fn a_pattern_that_keeps_nothing_out_is_pointed_out() {
    let desk = desk();
    let warning = "--exclude matched no file and no conversation; check the pattern";
    assert!(desk.run(&[RULES, &["--exclude", "sercet-*"]].concat()).err.contains(warning));
    for database in ["a.db", "a.db", "b.db"] {
        let run = desk.run(&[RULES, &["--exclude", "secret-*", "--db", database]].concat());
        assert!(run.code == 0 && !run.err.contains(warning), "{run:?}");
    }
}

#[test]
fn projects_and_patterns_choose() {
    let desk = desk();
    let table: &[(&[&str], u64, &str, u64)] = &[
        (&["--project", "shop"], 2, "conversations_of_other_projects", 1),
        (&["--project", "/home/ana/secret-plan"], 1, "conversations_of_other_projects", 2),
        (&["--project", "shop", "--project", "web"], 3, "conversations_of_other_projects", 0),
        (&["--exclude", "secret-*"], 2, "conversations_excluded", 1),
        (&["--exclude", "/home/ana/shop"], 1, "conversations_excluded", 2),
        (&["--exclude", "logs/ear*"], 2, "files_excluded", 1),
        (&["--exclude", "*.jsonl"], 0, "files_excluded", 3),
    ];
    for (number, (flags, read, left, count)) in table.iter().enumerate() {
        let database = format!("{number}.db");
        let told = summary(&desk, &[*flags, &["--db", database.as_str()]].concat());
        assert_eq!((&told["transcripts"], &told["filtered"][left]), (&(*read).into(), &(*count).into()), "{flags:?}");
    }
    let Told { code, err, .. } = desk.run(&[RULES, &["--exclude", "secret-*", "--since", "2026-03-10"]].concat());
    assert_eq!(code, 0);
    assert!(
        err.contains(
            "excluded by your options and settings: 1 conversation excluded, 1 conversation outside the time range"
        ),
        "{err}"
    );
    let unknown = desk.run(&[RULES, &["--project", "nobody", "--reread"]].concat());
    assert!(
        unknown.err.contains("no conversation belongs to the requested project; see `afterthought project list`"),
        "{unknown:?}"
    );
}

#[test]
fn a_filter_that_cannot_be_understood_is_an_error() {
    let desk = desk();
    let table: &[(&[&str], &str)] = &[
        (&["--since", "soon"], "--since \"soon\" is not a time; write it like 2027-01-31"),
        (
            &["--since", "2026-03-02", "--until", "2026-03-01"],
            "--since 2026-03-02 is not before --until 2026-03-01; swap the two times",
        ),
        (&["--project", ""], "--project is empty"),
        (&["--exclude", " "], "--exclude is empty"),
        (&["--from", "aider", "--below", "nowhere"], "--below nowhere: there is no such folder"),
        (&["--exclude", "a[b"], "cannot understand --exclude \"a[b\""),
    ];
    for (flags, error) in table {
        let told = desk.run(&[RULES, flags].concat());
        assert_eq!(told.code, 2);
        assert!(told.err.contains(error), "{}", told.err);
    }
}

#[test]
fn of_a_long_conversation_only_the_windows_in_the_range_are_paid_for() {
    let server = Server::start(Duration::ZERO);
    let world = World::new(Some(&server));
    world.session("talk", 2, &FACTS[..5]);
    world.append("talk", 19, 5, &FACTS[5..]);
    let run = ["run", "logs", "--window-tokens", "600", "--json"];
    let told = world.good(&[&run[..], &["--since", "2026-03-10"]].concat());
    let told: Value = serde_json::from_str(told.lines().last().unwrap()).unwrap();
    let asked: BTreeSet<String> = server.asked().iter().flat_map(|asked| asked.facts.clone()).collect();
    assert!(FACTS[5..].iter().all(|&fact| asked.contains(&spoken(fact))), "{asked:?}");
    assert!(!asked.contains(&spoken(FACTS[0])), "{asked:?}");
    let left = told["filtered"]["windows_out_of_range"].as_u64().unwrap();
    assert!(left >= 1, "{told:#}");
    let windows = server.windows() as u64;
    world.good(&run);
    assert_eq!(server.windows() as u64, windows + left);
    let parts = world.memories();
    world.forget();
    world.good(&run);
    assert_eq!(world.memories(), parts);
}

#[test]
fn what_the_settings_deny_is_never_opened() {
    let desk = Desk::new();
    let line = |cwd: &str, session: &str| {
        serde_json::json!({
            "type": "user", "uuid": "u1", "sessionId": session, "cwd": cwd, "timestamp": "2026-03-02T09:01:00.000Z",
            "userType": "external", "isSidechain": false, "message": {"role": "user", "content": "I prefer tabs over spaces."},
        })
        .to_string()
    };
    desk.write("clients/a.jsonl", line("/home/ana/shop", "5f0c2a9e-7d41-4c1b-9a55-2f6d0e8b1c01"));
    desk.write("logs/b.jsonl", line("/srv/client/app", "5f0c2a9e-7d41-4c1b-9a55-2f6d0e8b1c02"));
    desk.write("settings.toml", "[guard]\ndeny = [\"~/clients/**\", \"/srv/client\"]");
    let told = desk.run(&["run", "clients", "logs", "--extractor", "rules", "--json", "--config", "settings.toml"]);
    let summary = told.json().pop().unwrap();
    assert_eq!(summary["filtered"]["files_excluded"], 1, "{told:?}");
    assert_eq!(summary["filtered"]["conversations_excluded"], 1, "{told:?}");
    assert!(desk.memories().is_empty());
    let told = desk.run(&["run", "clients", "logs", "--extractor", "rules", "--pii", "mails=drop"]);
    assert!(told.code == 2 && told.err.contains("write KIND=redact"), "{told:?}");
}

#[cfg(unix)]
#[test]
fn a_denied_file_is_not_read_through_a_hard_link() {
    let desk = Desk::new();
    let log =
        |city: &str| format!("User: I live in {city}.\n\nAssistant: Noted.\n\nUser: Thanks.\n\nAssistant: Sure.\n");
    let note = "# Memory\n\n## Facts\n\nThe payroll runs in Payroller.\n";
    desk.write("clients/acme/talk.txt", log("Porto"));
    desk.write("clients/acme/MEMORY.md", note);
    desk.write("logs/own.txt", log("Lisbon"));
    let link = |from: &str, to: &str| std::fs::hard_link(desk.path(from), desk.path(to)).unwrap();
    link("clients/acme/talk.txt", "logs/talk.txt");
    link("clients/acme/MEMORY.md", "MEMORY.md");
    // A log with several names that is not in the denied folder is read.
    link("logs/own.txt", "logs-of-may.txt");
    for pattern in ["~/clients/**", "~/clients/*/"] {
        desk.write("settings.toml", format!("[guard]\ndeny = [\"{pattern}\"]"));
        let with = ["--config", "settings.toml"];
        let read = desk.run(&[&["run", "logs", "--extractor", "rules", "--json"][..], &with].concat());
        assert_eq!(read.json().pop().unwrap()["filtered"]["files_excluded"], 1, "{pattern}: {read:?}");
        let imported = desk.run(&[&["import", "MEMORY.md"][..], &with].concat());
        assert!(imported.err.contains("MEMORY.md: not read"), "{pattern}: {imported:?}");
    }
    let texts: Vec<String> = desk.memories().into_iter().map(|(_, text)| text).collect();
    assert!(texts.iter().any(|text| text.contains("Lisbon")), "{texts:?}");
    assert!(!texts.iter().any(|text| text.contains("Porto") || text.contains("Payroller")), "{texts:?}");
}

#[test]
fn imports_and_archives_keep_to_what_the_settings_deny() {
    let desk = Desk::new();
    desk.write("deny.toml", "[guard]\ndeny = [\"private/\"]\n");
    let bullet = |name: &str| format!("# Memory\n\n## Facts\n\nThe payroll runs in {name}.\n");
    desk.write("notes/MEMORY.md", bullet("Ledgerly"));
    desk.write("notes/private/MEMORY.md", bullet("Payroller"));
    let mut zip = zip::ZipWriter::new(std::fs::File::create(desk.path("notes.zip")).unwrap());
    for (name, person) in [("open.txt", "I live in Lisbon."), ("private/pay.txt", "I live in Porto.")] {
        zip.start_file(name, zip::write::SimpleFileOptions::default()).unwrap();
        let log = format!("User: {person}\n\nAssistant: Noted.\n\nUser: Thanks.\n\nAssistant: You are welcome.\n");
        std::io::Write::write_all(&mut zip, log.as_bytes()).unwrap();
    }
    zip.finish().unwrap();
    let run = |arguments: &[&str]| desk.run(&[&["--config", "deny.toml"], arguments].concat());
    for named in ["notes", "notes/private", "notes/private/MEMORY.md"] {
        let imported = run(&["import", named]);
        assert_eq!(imported.code, 0, "{imported:?}");
        let denied = "private/MEMORY.md: not read, because the setting guard.deny excludes it";
        assert!(imported.err.contains(denied), "{named}: {imported:?}");
    }
    let mut inside = desk.command(&["--config", "../../deny.toml", "import", "MEMORY.md"]);
    inside.current_dir(desk.path("notes/private"));
    assert!(desk.finish(inside).err.contains("MEMORY.md: not read"));
    let read = run(&["run", "notes.zip", "--extractor", "rules"]);
    assert_eq!(read.code, 0, "{read:?}");
    let texts: Vec<String> = desk.memories().into_iter().map(|(_, text)| text).collect();
    assert!(texts.iter().any(|text| text.contains("Ledgerly")), "{texts:?}");
    assert!(texts.iter().any(|text| text.contains("Lisbon")), "{texts:?}");
    assert!(!texts.iter().any(|text| text.contains("Payroller") || text.contains("Porto")), "{texts:?}");
    // Without the setting, everything is read.
    desk.run(&["import", "notes/private"]);
    desk.run(&["run", "notes.zip", "--extractor", "rules"]);
    let texts: Vec<String> = desk.memories().into_iter().map(|(_, text)| text).collect();
    assert!(texts.iter().any(|text| text.contains("Payroller")), "{texts:?}");
    assert!(texts.iter().any(|text| text.contains("Porto")), "{texts:?}");
}

#[test]
fn a_list_covers_the_project_of_the_folder_unless_everywhere_is_asked() {
    let desk = Desk::new();
    let (shop, web) = (desk.path("code/shop"), desk.path("code/web"));
    for (name, folder, words) in
        [("a", &shop, "We deploy the shop with Nomad."), ("b", &web, "We deploy the site on Fly.io.")]
    {
        std::fs::create_dir_all(folder).unwrap();
        desk.write(&format!("logs/{name}.jsonl"), session(name, 2, folder.to_str().unwrap(), &[words]));
    }
    desk.run(RULES);
    let listed = |args: &[&str], folder: &std::path::Path| {
        let mut command = desk.command(args);
        command.current_dir(folder);
        desk.finish(command)
    };
    for args in [&["memory", "list"][..], &["search", "deploy"]] {
        let here = listed(args, &shop);
        assert!(here.out.contains("Nomad") && !here.out.contains("Fly.io"), "{}", here.out);
        assert!(here.err.contains("--everywhere"), "{}", here.err);
        let everywhere = listed(&[args, &["--everywhere"]].concat(), &shop);
        assert!(everywhere.out.contains("Nomad") && everywhere.out.contains("Fly.io"), "{}", everywhere.out);
        let elsewhere = listed(args, &desk.path("logs"));
        assert!(elsewhere.out.contains("Nomad") && elsewhere.out.contains("Fly.io"), "{}", elsewhere.out);
        assert!(!elsewhere.err.contains("--everywhere"), "{}", elsewhere.err);
    }
    let missed = listed(&["search", "Fly.io"], &shop);
    assert_eq!(missed.code, 1);
    assert!(
        missed.err.contains("no memory of this project matches, but one elsewhere does; add --everywhere"),
        "{}",
        missed.err
    );
    let nowhere = listed(&["search", "bicycle"], &shop);
    assert!(nowhere.err.contains("no memory matches"), "{}", nowhere.err);
}

#[test]
fn everything_that_was_left_out_is_named_if_wanted() {
    let desk = desk();
    desk.write("logs/notes.txt", "nothing that anybody said\n");
    let extra = ["-v", "--exclude", "ear*", "--since", "2026-03-13"];
    // In the second run, the file of unknown format is known from the first.
    for _ in 0..2 {
        let told = desk.run(&[RULES, &extra].concat()).err;
        for part in ["early.jsonl: excluded", "notes.txt: unknown format", "middle: outside of the time range"] {
            assert!(told.contains(part), "{part}: {told}");
        }
    }
    assert!(!desk.run(&[RULES, &extra[1..]].concat()).err.contains("early.jsonl"));
}

#[test]
fn a_run_that_could_read_nothing_has_failed() {
    let desk = Desk::new();
    desk.write("notes.txt", "nothing that anybody said\n");
    assert_eq!(desk.run(&["run", "notes.txt", "--extractor", "rules"]).code, 2);
    assert_eq!(desk.json(&["runs", "list"])[0]["status"], "failed");
}

#[cfg(unix)]
#[test]
fn an_excluded_backup_of_hard_links_does_not_exclude_the_logs_themselves() {
    let desk = Desk::new();
    desk.write("live/a.txt", "User: I live in Lisbon.\n\nAssistant: Noted.\n\nUser: Thanks.\n\nAssistant: Sure.\n");
    std::fs::create_dir(desk.path("backup")).unwrap();
    std::fs::hard_link(desk.path("live/a.txt"), desk.path("backup/a.txt")).unwrap();
    let backup = desk.path("backup").display().to_string();
    let read = desk.run(&["run", "live", "backup", "--exclude", &backup, "--extractor", "rules", "--json"]);
    let summary = read.json().pop().unwrap();
    assert_eq!((&summary["files"]["read"], &summary["filtered"]["files_excluded"]), (&1.into(), &1.into()), "{read:?}");
    assert_eq!(desk.memories().len(), 1);
}

#[cfg(unix)]
#[test]
fn a_denied_file_is_recognised_by_a_pattern_without_a_full_path_or_a_warning_is_given() {
    let desk = Desk::new();
    let log =
        |city: &str| format!("User: I live in {city}.\n\nAssistant: Noted.\n\nUser: Thanks.\n\nAssistant: Sure.\n");
    desk.write("clients/talk.secret.txt", log("Porto"));
    desk.write("logs/own.txt", log("Lisbon"));
    std::fs::hard_link(desk.path("clients/talk.secret.txt"), desk.path("logs/talk.txt")).unwrap();
    std::fs::hard_link(desk.path("logs/own.txt"), desk.path("logs/same.txt")).unwrap();
    let warning = "has other names (hard links) in folders that were not searched";
    for pattern in ["clients/**", "./clients", "*.secret.txt"] {
        desk.write("settings.toml", format!("[guard]\ndeny = [\"{pattern}\"]"));
        let read = desk.run(&["run", "logs", "--extractor", "rules", "--json", "--config", "settings.toml"]);
        assert_eq!(read.json().pop().unwrap()["filtered"]["files_excluded"], 1, "{pattern}: {read:?}");
        assert!(!read.err.contains(warning), "{pattern}: {read:?}");
    }
    assert!(!desk.memories().iter().any(|(_, text)| text.contains("Porto")), "{:?}", desk.memories());
    // From another folder, nothing shows that the file is denied.
    desk.write("elsewhere/settings.toml", "[guard]\ndeny = [\"clients/**\"]");
    let mut command = desk.command(&["run", "../logs/talk.txt", "--extractor", "rules", "--config", "settings.toml"]);
    command.current_dir(desk.path("elsewhere"));
    let told = desk.finish(command);
    assert!(told.err.contains(warning) && told.err.contains("write clients/** with the full path"), "{told:?}");
}

#[test]
fn a_denied_folder_that_does_not_exist_is_a_fault() {
    let desk = Desk::new();
    desk.write("clients/a.txt", "");
    let missing = desk.path("clinets").display().to_string().replace('\\', "/");
    let deny = format!(
        "[guard]\ndeny = [\"~/clients/**\", \"~/./clients\", \"~/clinets/**\", \"{missing}/*/old\", \"private/\", \
         \"~/cl*\", \"$HOME/clients\", \"!~/clients\", \"~ana/clients\"]"
    );
    desk.write("settings.toml", deny);
    let told = desk.run(&["status", "--check", "--config", "settings.toml"]);
    assert_eq!(told.code, 3, "{told:?}");
    let faults: Vec<&str> = told.out.lines().filter(|line| line.contains("protects nothing")).collect();
    assert_eq!(faults.len(), 5, "{told:?}");
    assert!(faults[..2].iter().all(|line| line.contains("clinets") && line.contains("no such folder")), "{told:?}");
    for (fault, why) in faults[2..].iter().zip(["write ~/ or the full path", "has no meaning", "only ~/ stands for"]) {
        assert!(fault.contains(why), "{fault}");
    }
}
