//! Tests of files that are encrypted at rest, through the command line. Tests that need encryption are left out of
//! builds without it.

use std::fs;
use std::process::Output;

use super::world::World;

const KEY: &str = "ffeeddccbbaa99887766554433221100ffeeddccbbaa99887766554433221100";

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Runs the binary with a key in the environment, or without a key.
fn with_key(world: &World, key: Option<&str>, arguments: &[&str]) -> Output {
    let mut command = world.command(arguments);
    command.env_remove("AFTERTHOUGHT_DB_KEY").envs(key.map(|key| ("AFTERTHOUGHT_DB_KEY", key))).output().unwrap()
}

fn plain() -> World {
    let world = World::new(None);
    for text in ["The user keeps bees in zanzibar.", "The shop in zanzibar deploys with Nomad."] {
        let output = with_key(&world, None, &["remember", text]);
        assert!(output.status.success(), "{output:?}");
    }
    world
}

#[cfg(not(feature = "encryption"))]
#[test]
fn a_build_without_encryption_names_the_file_and_the_remedy_and_touches_nothing() {
    let world = plain();
    let remedy =
        "install one that can with `cargo install --path . --features encryption` in a clone of the repository";
    let before = fs::read(world.database()).unwrap();
    let refused = with_key(&world, Some(KEY), &["db", "encrypt"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(said(&refused).contains(&format!("this build cannot encrypt {}; {remedy}", world.database().display())));
    let listed = with_key(&world, Some(KEY), &["memory", "list"]);
    assert!(listed.status.success(), "a file that is not encrypted is read as ever: {listed:?}");
    assert!(fs::read(world.database()).unwrap() == before);
    // This imitates a file written by SQLCipher, whose pages are indistinguishable from random data.
    let mut chance = super::world::Chance(7);
    let random: Vec<u8> = (0..8_192).map(|_| u8::try_from(chance.below(256)).unwrap()).collect();
    let sealed = world.path("sealed.db");
    fs::write(&sealed, &random).unwrap();
    for command in ["memory list", "status", "remember", "db check", "db repair", "export", "status --check"] {
        let mut arguments = vec!["--db", "sealed.db"];
        arguments.extend(command.split(' '));
        arguments.extend((command == "remember").then_some("The user drinks tea."));
        let output = with_key(&world, None, &arguments);
        let code = if command == "status --check" { 3 } else { 2 };
        assert_eq!(output.status.code(), Some(code), "{command}: {output:?}");
        let told = said(&output) + &String::from_utf8_lossy(&output.stdout);
        assert!(told.contains("sealed.db is encrypted, and this build cannot read such files"), "{command}: {told}");
        assert!(told.contains(remedy), "{command}: {told}");
    }
    assert!(fs::read(&sealed).unwrap() == random);
    let refused = with_key(&world, Some(KEY), &["--db", "new.db", "remember", "The user drinks tea."]);
    assert_eq!(refused.status.code(), Some(2), "a key is given, so nothing is written in the open");
    assert!(said(&refused).contains("$AFTERTHOUGHT_DB_KEY contains a key"), "{}", said(&refused));
}

#[cfg(feature = "encryption")]
mod sealed {
    use std::io::{BufRead as _, BufReader, Write as _};
    use std::path::Path;

    use afterthought::fault::CONVERTING;

    use super::*;
    use crate::world::Chance;

    const PHRASE: &str = "zanzibar";

    /// Returns the files in a folder and its subfolders that contain the phrase, either unchanged or in UTF-16.
    fn telling(folder: &Path) -> Vec<String> {
        let wide: Vec<u8> = PHRASE.encode_utf16().flat_map(u16::to_le_bytes).collect();
        let mut found = Vec::new();
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                found.extend(telling(&path));
                continue;
            }
            let bytes = fs::read(&path).unwrap();
            if [PHRASE.as_bytes(), &wide].into_iter().any(|part| memchr::memmem::find(&bytes, part).is_some()) {
                found.push(path.file_name().unwrap().to_string_lossy().into_owned());
            }
        }
        found.sort();
        found
    }

    fn good(world: &World, key: Option<&str>, arguments: &[&str]) -> String {
        let output = with_key(world, key, arguments);
        assert!(output.status.success(), "{arguments:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    fn is_open(world: &World) -> bool {
        fs::read(world.database()).unwrap().starts_with(b"SQLite format 3")
    }

    #[test]
    fn everything_works_on_an_encrypted_file_and_nothing_of_it_can_be_read() {
        let world = plain();
        let folder = world.path("");
        let exported = good(&world, None, &["export", "--all"]);
        good(&world, None, &["db", "backup", "old.copy"]);
        let made = with_key(&world, None, &["db", "encrypt", "--new-key", "keys/mine.key"]);
        assert!(made.status.success(), "{made:?}");
        let told = said(&made);
        assert!(told.contains("the new key is in the file keys/mine.key; without it the memories are lost"), "{told}");
        assert!(told.contains("AFTERTHOUGHT_DB_KEY_FILE="), "{told}");
        assert!(told.contains("old.copy was not changed; run `afterthought db encrypt --db"), "{told}");
        let key = fs::read_to_string(world.path("keys/mine.key")).unwrap().trim().to_owned();
        assert_eq!(key.len(), 64);
        assert!(!told.contains(&key) && !String::from_utf8_lossy(&made.stdout).contains(&key));
        good(&world, Some(&key), &["db", "encrypt", "--db", "old.copy"]);
        assert_eq!(telling(&folder), [""; 0]);

        let do_it = |arguments: &[&str]| good(&world, Some(&key), arguments);
        assert_eq!(do_it(&["export", "--all"]), exported);
        assert!(do_it(&["search", "bees"]).contains("zanzibar"));
        do_it(&["remember", "The user also keeps goats in zanzibar."]);
        for arguments in [
            &["db", "check"][..],
            &["db", "repair"],
            &["db", "maintain"],
            &["status"],
            &["brief"],
            &["db", "backup", "new.copy"],
            &["runs", "plan", "logs", "--extractor", "rules"],
        ] {
            with_key(&world, Some(&key), arguments);
            let output = with_key(&world, Some(&key), arguments);
            assert!(!said(&output).contains("encrypted"), "{arguments:?}: {output:?}");
        }
        let doctor = do_it(&["status", "--check"]);
        assert!(doctor.contains("encrypted, key from $AFTERTHOUGHT_DB_KEY"), "{doctor}");
        do_it(&["db", "restore", "new.copy"]);
        assert!(do_it(&["export"]).contains("goats"));
        assert_eq!(telling(&folder), [""; 0], "nor in copies, logs and what commands left");

        do_it(&["db", "decrypt"]);
        assert!(good(&world, None, &["export"]).contains("goats"));
    }

    #[test]
    fn without_its_key_the_file_and_the_remedy_are_named_and_nothing_is_touched() {
        let world = plain();
        let missing = with_key(&world, None, &["db", "encrypt"]);
        assert!(said(&missing).contains("create one with `afterthought db encrypt --new-key keyring`"), "{missing:?}");
        good(&world, Some(KEY), &["db", "encrypt"]);
        let before = fs::read(world.database()).unwrap();
        for command in
            ["memory list", "status", "db check", "db repair", "export", "status --check", "db maintain", "db decrypt"]
        {
            let arguments: Vec<&str> = command.split(' ').collect();
            let none = with_key(&world, None, &arguments);
            let told = said(&none) + &String::from_utf8_lossy(&none.stdout);
            let code = if command == "status --check" { 3 } else { 2 };
            assert_eq!(none.status.code(), Some(code), "{command}: {none:?}");
            assert!(told.contains("no key for ") && told.contains("memories.db: set AFTERTHOUGHT_DB_KEY"), "{told}");
            let wrong = with_key(&world, Some("another passphrase"), &arguments);
            let told = said(&wrong) + &String::from_utf8_lossy(&wrong.stdout);
            assert_eq!(wrong.status.code(), Some(2), "{command}: {wrong:?}");
            assert!(told.contains("the key from $AFTERTHOUGHT_DB_KEY does not decrypt it"), "{command}: {told}");
            assert!(!told.contains("another passphrase"));
        }
        assert!(fs::read(world.database()).unwrap() == before);
        // A hook cannot report to anybody, and must not delay the agent.
        let hook = with_key(&world, None, &["hook", "session-start"]);
        assert_eq!(hook.status.code(), Some(0), "{hook:?}");
    }

    #[test]
    fn wherever_it_ends_one_of_both_files_stands_whole() {
        for (command, other) in [("encrypt", "decrypt"), ("decrypt", "encrypt")] {
            for point in CONVERTING {
                let world = plain();
                if command == "decrypt" {
                    good(&world, Some(KEY), &["db", "encrypt"]);
                }
                let exported = good(&world, Some(KEY), &["export", "--all"]);
                let was_open = is_open(&world);
                let died = world
                    .command(&["db", command])
                    .env("AFTERTHOUGHT_DB_KEY", KEY)
                    .env("AFTERTHOUGHT_FAULT", point)
                    .output()
                    .unwrap();
                assert!(died.status.code().is_none(), "{command} {point}: {died:?}");
                let is_new = is_open(&world) != was_open;
                assert_eq!(is_new, ["convert.placed", "convert.wiped"].contains(point), "{command} {point}");
                assert_eq!(good(&world, Some(KEY), &["export", "--all"]), exported, "{command} {point}");
                good(&world, Some(KEY), &["db", "check"]);
                good(&world, Some(KEY), &["db", if is_new { other } else { command }]);
                assert_eq!(good(&world, Some(KEY), &["export", "--all"]), exported, "{command} {point}");
                let left = fs::read_dir(world.path("")).unwrap().map(|entry| entry.unwrap().file_name());
                let left: Vec<_> = left.filter(|name| name.to_string_lossy().ends_with("crypting")).collect();
                assert_eq!(left, [""; 0], "{command} {point}");
            }
        }
    }

    #[test]
    fn killed_at_any_moment_it_loses_nothing() {
        let world = plain();
        let exported = good(&world, Some(KEY), &["export", "--all"]);
        let seed = u64::from(std::process::id());
        let mut chance = Chance(seed);
        for round in 0..super::super::world::kills_wanted(20) {
            let command = if is_open(&world) { "encrypt" } else { "decrypt" };
            let mut child = world.command(&["db", command]).env("AFTERTHOUGHT_DB_KEY", KEY).spawn().unwrap();
            std::thread::sleep(std::time::Duration::from_micros(chance.below(60_000)));
            child.kill().unwrap();
            child.wait().unwrap();
            assert_eq!(good(&world, Some(KEY), &["export", "--all"]), exported, "seed {seed}, round {round}");
        }
        good(&world, Some(KEY), &["db", "check"]);
    }

    #[test]
    fn a_file_that_another_process_has_open_is_left_alone() {
        let world = plain();
        let mut other = world.command(&["serve", "mcp"]).stdin(std::process::Stdio::piped()).spawn().unwrap();
        let hello = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"2025-06-18\",\
                     \"capabilities\":{},\"clientInfo\":{\"name\":\"t\",\"version\":\"1\"}}}\n";
        other.stdin.as_mut().unwrap().write_all(hello.as_bytes()).unwrap();
        let mut line = String::new();
        BufReader::new(other.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        let hold = super::super::world::raw(&world.database()).unwrap();
        hold.execute_batch("BEGIN; SELECT count(*) FROM memories;").unwrap();
        let refused = with_key(&world, Some(KEY), &["db", "encrypt"]);
        assert_eq!(refused.status.code(), Some(2), "{refused:?}");
        assert!(said(&refused).contains("is open in another process"), "{refused:?}");
        drop(hold);
        drop(other.stdin.take());
        other.wait().unwrap();
        assert!(is_open(&world));
        good(&world, Some(KEY), &["db", "encrypt"]);
        assert!(!is_open(&world));
    }
}
