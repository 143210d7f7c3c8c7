//! Tests of logs that grow, are rewritten, or end in the middle of a line, and of unchanged logs, which are not opened.

#![expect(clippy::unwrap_used, reason = "a panic here is a failed test")]

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::time::{Duration, SystemTime};

use serde_json::Value;

use super::desk::Desk;
use super::sources::session;
use super::world::{FACTS, RUN, Server, World, spoken};

const RULES: &[&str] = &["run", "logs", "--extractor", "rules", "--json"];

fn run(world: &World, extra: &[&str]) -> Value {
    serde_json::from_str(world.good(&[RUN, extra].concat()).lines().last().unwrap()).unwrap()
}

fn rules(desk: &Desk, extra: &[&str]) -> Value {
    desk.json(&[&RULES[..4], extra].concat()).pop().unwrap()
}

/// Returns the number of requests about each fact.
fn times_asked(server: &Server) -> BTreeMap<String, usize> {
    let mut times = BTreeMap::new();
    for fact in server.asked().into_iter().flat_map(|asked| asked.facts) {
        *times.entry(fact).or_default() += 1;
    }
    times
}

/// Returns the counts `[read, unchanged, passed_over]`.
fn files(summary: &Value) -> [u64; 3] {
    ["read", "unchanged", "passed_over"].map(|name| summary["files"][name].as_u64().unwrap())
}

#[test]
fn a_log_that_grows_bit_by_bit_is_paid_for_once() {
    let server = Server::start(Duration::ZERO);
    let world = World::new(Some(&server));
    world.session("talk", 2, &FACTS[..2]);
    for told in 2..FACTS.len() {
        run(&world, &[]);
        world.append("talk", 2, told, &FACTS[told..=told]);
    }
    run(&world, &[]);
    let wanted: BTreeMap<_, _> = FACTS.iter().map(|&fact| (spoken(fact), 1)).collect();
    assert_eq!(times_asked(&server), wanted);
    assert_eq!(world.active().len(), FACTS.len());
}

#[test]
fn a_rewrite_in_the_middle_costs_what_changed() {
    let server = Server::start(Duration::ZERO);
    let world = World::new(Some(&server));
    world.session("talk", 2, &FACTS);
    let windows = run(&world, &[])["windows"]["total"].as_u64().unwrap();
    assert!(windows >= 4, "{windows}");
    let mut facts = FACTS;
    facts[3] = ("dahlia", 7999);
    world.session("talk", 2, &facts);
    let told = run(&world, &[]);
    assert_eq!(files(&told), [1, 0, 0]);
    assert_eq!(told["windows"]["known"], windows - 1, "{told:#}");
    let times = times_asked(&server);
    assert_eq!((times[&spoken(facts[3])], times[&spoken(FACTS[0])], times[&spoken(FACTS[7])]), (1, 1, 1));
}

#[test]
fn a_torn_last_line_is_read_when_it_is_whole() {
    let server = Server::start(Duration::ZERO);
    let world = World::new(Some(&server));
    world.session("talk", 2, &FACTS[..3]);
    let path = world.path("logs/talk.jsonl");
    let whole = fs::read_to_string(&path).unwrap();
    let lines: Vec<&str> = whole.lines().collect();
    let (before, last) = (lines[..4].join("\n") + "\n", lines[4]);
    fs::write(&path, before.clone() + &last[..last.len() / 2]).unwrap();
    let told = run(&world, &[]);
    assert_eq!(told["files"]["skipped_records"], 1, "{told:#}");
    assert!(!times_asked(&server).contains_key(&spoken(FACTS[2])));
    let mut file = fs::File::options().append(true).open(&path).unwrap();
    file.write_all((last[last.len() / 2..].to_owned() + "\n" + lines[5] + "\n").as_bytes()).unwrap();
    drop(file);
    let told = run(&world, &[]);
    assert_eq!((files(&told), &told["files"]["skipped_records"]), ([1, 0, 0], &0.into()));
    fs::write(world.path("logs/torn.jsonl"), before + &last[..last.len() / 2]).unwrap();
    let counts = |told: &Value| (files(told), told["files"]["skipped_records"].as_u64().unwrap());
    assert_eq!(counts(&run(&world, &[])), ([1, 1, 0], 1));
    assert_eq!(counts(&run(&world, &[])), ([0, 2, 0], 1), "the count of a closed log is told again");
    assert_eq!(counts(&run(&world, &["-v"])), ([1, 1, 0], 1), "and its records named where that is asked for");
    let wanted: BTreeMap<_, _> = FACTS[..3].iter().map(|&fact| (spoken(fact), 1)).collect();
    assert_eq!(times_asked(&server), wanted);
}

#[test]
fn a_growing_log_read_by_the_rules_comes_to_the_same_as_a_whole_one() {
    let words = [
        "I live in Lisbon.",
        "We always use tabs in this project.",
        "I work as a nurse.",
        "We decided to deploy the shop with Fly.io from now on.",
    ];
    let (growing, whole) = (Desk::new(), Desk::new());
    for count in 1..=words.len() {
        let text = session("one", 2, "/home/ana/shop", &words[..count]);
        // At first, only half of the last line has been written.
        growing.write("logs/one.jsonl", &text.as_bytes()[..text.len() - 40]);
        rules(&growing, &[]);
        growing.write("logs/one.jsonl", &text);
        rules(&growing, &[]);
    }
    whole.write("logs/one.jsonl", session("one", 2, "/home/ana/shop", &words));
    rules(&whole, &[]);
    assert_eq!(growing.memories(), whole.memories());
    assert!(growing.memories().len() >= 3, "{:?}", growing.memories());
}

#[test]
fn what_has_not_changed_stays_closed() {
    let desk = Desk::new();
    desk.write("logs/one.jsonl", session("one", 2, "/home/ana/shop", &["I live in Lisbon."]));
    desk.write("logs/two.jsonl", session("two", 3, "/home/ana/shop", &["I work as a nurse."]));
    desk.write("logs/notes.bin", [0, 159, 146, 150]);
    let first = rules(&desk, &[]);
    assert_eq!(files(&first), [2, 0, 1]);
    let second = rules(&desk, &[]);
    assert_eq!(files(&second), [0, 2, 1]);
    for field in ["transcripts", "messages"] {
        assert_eq!(first[field], second[field], "{field}");
    }
    assert_eq!(second["windows"]["known"], first["windows"]["total"]);
    assert_eq!(files(&rules(&desk, &["--reread"])), [2, 0, 1]);
    let told = desk.run(&RULES[..4]);
    assert!(
        told.err.contains("2 files unchanged since an earlier run, so not opened (use --reread to open them)"),
        "{told:?}"
    );
    // The log is also recognised by another spelling of its path.
    let told = desk.json(&["run", "./logs/../logs/one.jsonl", "--extractor", "rules"]).pop().unwrap();
    assert_eq!(files(&told), [0, 1, 0]);
}

#[test]
fn whatever_the_outcome_depends_on_opens_a_log_again() {
    let desk = Desk::new();
    let path = desk.path("logs/one.jsonl");
    let text = session("one", 2, "/home/ana/shop", &["I live in Lisbon."]);
    desk.write("logs/one.jsonl", &text);
    rules(&desk, &[]);
    for flags in [&["--window-tokens", "900"][..], &["--namespace", "project/x"], &["--format", "claude-code"]] {
        assert_eq!(files(&rules(&desk, flags)), [1, 0, 0], "{flags:?}");
    }
    assert_eq!(files(&rules(&desk, &[])), [1, 0, 0], "the last reading counts");
    assert_eq!(files(&rules(&desk, &[])), [0, 1, 0]);
    // The log is rewritten with the same length.
    let modified = fs::metadata(&path).unwrap().modified().unwrap();
    desk.write("logs/one.jsonl", text.replace("Lisbon", "Madrid"));
    fs::File::options().write(true).open(&path).unwrap().set_modified(modified + Duration::from_millis(5)).unwrap();
    assert_eq!(files(&rules(&desk, &[])), [1, 0, 0]);
    let told = desk.memories();
    assert!(told.iter().any(|(_, content)| content.contains("Madrid")), "{told:?}");
}

#[test]
fn a_log_that_was_not_finished_is_opened_again() {
    let server = Server::start(Duration::ZERO);
    let world = World::new(Some(&server));
    world.session("good", 2, &FACTS[..2]);
    world.session("bad", 3, &FACTS[4..6]);
    server.set(|manner| manner.refuses = Some((spoken(FACTS[4]), 400)));
    let output = world.done(RUN);
    assert!(!output.status.success());
    server.set(|manner| manner.refuses = None);
    let told = run(&world, &[]);
    assert_eq!(told["files"]["read"].as_u64().unwrap() + told["files"]["unchanged"].as_u64().unwrap(), 2);
    assert!(told["files"]["read"].as_u64().unwrap() >= 1, "{told:#}");
    assert_eq!(files(&run(&world, &[])), [0, 2, 0]);
    assert_eq!(world.active().len(), 4);
}

#[test]
fn a_log_of_which_a_part_was_left_out_is_opened_again() {
    let desk = Desk::new();
    desk.write("logs/one.jsonl", session("one", 2, "/home/ana/shop", &["I live in Lisbon."]));
    assert_eq!(files(&rules(&desk, &["--project", "other"])), [1, 0, 0]);
    assert_eq!(files(&rules(&desk, &[])), [1, 0, 0]);
    assert_eq!(files(&rules(&desk, &["--project", "other"])), [0, 1, 0], "there is nothing left to leave out");
    let old = SystemTime::now() - Duration::from_hours(1_000);
    desk.write("logs/two.jsonl", session("two", 2, "/home/ana/shop", &["I work as a nurse."]));
    fs::File::options().write(true).open(desk.path("logs/two.jsonl")).unwrap().set_modified(old).unwrap();
    rules(&desk, &["--since", "7d"]);
    assert_eq!(files(&rules(&desk, &[])), [1, 1, 0]);
}

#[test]
fn a_plan_finishes_no_log() {
    let desk = Desk::new();
    desk.write("logs/one.jsonl", session("one", 2, "/home/ana/shop", &["I live in Lisbon."]));
    desk.json(&["runs", "plan", "logs", "--extractor", "rules"]);
    assert_eq!(files(&rules(&desk, &[])), [1, 0, 0]);
    assert_eq!(desk.memories().len(), 1);
    desk.json(&["undo", "last", "--redo"]);
    assert_eq!(files(&rules(&desk, &[])), [1, 0, 0], "where it belongs may have changed");
    assert_eq!(desk.memories().len(), 1);
}

#[test]
fn a_conversation_in_two_logs_is_paid_for_once_and_a_log_in_two_spellings_is_one() {
    let server = Server::start(Duration::from_millis(150));
    let world = World::new(Some(&server));
    world.session("talk", 2, &FACTS);
    fs::create_dir(world.path("copies")).unwrap();
    fs::copy(world.path("logs/talk.jsonl"), world.path("copies/talk.jsonl")).unwrap();
    let windows = run(&world, &["copies", "--estimate"])["windows"].clone();
    let told = run(&world, &["copies", "./logs", "logs/../logs/talk.jsonl"]);
    assert_eq!(files(&told), [2, 0, 0]);
    assert_eq!(times_asked(&server).into_values().max(), Some(1), "{told:#}");
    assert_eq!((&told["windows"]["total"], &told["windows"]["known"]), (&windows["total"], &windows["known"]));
    let calls = |name: &str| told[name].as_u64().unwrap();
    assert_eq!(calls("llm_calls") - calls("relation_calls"), windows["new"].as_u64().unwrap(), "{told:#}");
    let again = run(&world, &["copies"]);
    assert_eq!((&again["llm_calls"], &again["windows"]["known"]), (&0.into(), &windows["total"]));
    assert_eq!(files(&run(&world, &["copies"])), [0, 2, 0], "and both are finished");
}

#[test]
fn a_log_of_which_a_limit_left_windows_is_opened_again() {
    let server = Server::start(Duration::ZERO);
    let world = World::new(Some(&server));
    world.session("talk", 2, &FACTS);
    let windows = run(&world, &["--estimate"])["windows"]["new"].as_u64().unwrap();
    let told = world.done(&[RUN, &["--max-tokens", "3000"]].concat());
    assert_eq!((told.status.code(), server.windows()), (Some(2), 0), "{told:?}");
    assert_eq!(files(&run(&world, &[])), [1, 0, 0]);
    assert_eq!((server.windows() as u64, world.active().len()), (windows, FACTS.len()));
    assert_eq!(files(&run(&world, &[])), [0, 1, 0]);
}

#[cfg(unix)]
#[test]
fn other_content_of_the_same_size_and_time_is_read() {
    let desk = Desk::new();
    let tell = |words: &str| desk.write("logs/a.jsonl", session("a", 2, "/home/ana/shop", &[words]));
    tell("We always use tabs in this project.");
    let path = desk.path("logs/a.jsonl");
    let then = path.metadata().unwrap().modified().unwrap();
    rules(&desk, &[]);
    tell("We never use tabs in this project.X");
    fs::File::options().write(true).open(&path).unwrap().set_modified(then).unwrap();
    let told = rules(&desk, &[]);
    assert_eq!((files(&told), &told["windows"]["known"]), ([1, 0, 0], &0.into()));
}

#[test]
fn a_restored_database_reads_again_what_it_does_not_know() {
    let desk = Desk::new();
    let tell = |name: &str, words: &str| {
        desk.write(&format!("logs/{name}.jsonl"), session(name, 2, "/home/ana/shop", &[words]));
    };
    tell("a", "We always use tabs in this project.");
    rules(&desk, &["--db", "m.db"]);
    fs::copy(desk.path("m.db"), desk.path("old.db")).unwrap();
    tell("b", "We use Redis 7.");
    rules(&desk, &["--db", "m.db"]);
    let whole = desk.memories_in("m.db").len();
    let told = rules(&desk, &["--db", "old.db"]);
    assert_eq!((files(&told), desk.memories_in("old.db").len()), ([1, 1, 0], whole));
}

/// Captions of a talk that name no speaker.
const TALK: &str = "1\n00:00:01,000 --> 00:00:04,000\nI live in Lisbon and I work as a nurse.\n\n2\n00:00:05,000 --> \
                    00:00:09,000\nI am allergic to peanuts.\n";

#[test]
fn another_speaker_replaces_what_the_first_attribution_stored() {
    let desk = Desk::new();
    desk.write("talk.srt", TALK);
    let run = |name: &str, extra: &[&str]| {
        let told = desk.run(&[&["run", "talk.srt", "--extractor", "rules", "--speaker", name], extra].concat());
        assert_eq!(told.code, 0, "{told:?}");
        told
    };
    let texts = || -> Vec<String> { desk.memories().into_iter().map(|(_, content)| content).collect() };
    run("Bob Stone", &[]);
    let first = desk.run(&["export", "--all"]).out;
    assert!(texts().len() == 3 && texts().iter().all(|text| text.contains("Bob")), "{:?}", texts());
    // A preview changes nothing, and a saved plan does what a run would do.
    let preview = run("Ana Lima", &["--dry-run", "--out", "plan.json"]);
    assert!(
        preview.err.contains("replaces 3 memories that an earlier run attributed to another speaker"),
        "{preview:?}"
    );
    assert_eq!(desk.run(&["export", "--all"]).out, first);
    assert_eq!(desk.run(&["runs", "apply", "plan.json", "--yes"]).code, 0);
    assert!(texts().len() == 3 && texts().iter().all(|text| text.contains("Ana")), "{:?}", texts());
    assert_eq!(desk.run(&["undo", "last"]).code, 0);
    assert_eq!(desk.run(&["export", "--all"]).out, first, "an undo restores the first attribution exactly");
    run("Ana Lima", &[]);
    assert!(texts().len() == 3 && texts().iter().all(|text| text.contains("Ana")), "{:?}", texts());
    assert_eq!(desk.run(&["search", "Bob", "--all", "--everywhere"]).code, 1);
    // The first name was right after all.
    run("Bob Stone", &[]);
    assert!(texts().len() == 3 && texts().iter().all(|text| text.contains("Bob")), "{:?}", texts());
    assert!(!run("Bob Stone", &[]).err.contains("replaces"));
    assert_eq!(texts().len(), 3);
}

#[test]
fn a_memory_that_a_person_edited_keeps_its_speaker_and_is_named() {
    let desk = Desk::new();
    desk.write("talk.srt", TALK);
    let run = |name: &str| desk.run(&["run", "talk.srt", "--extractor", "rules", "--speaker", name]);
    assert_eq!(run("Bob Stone").code, 0);
    let found = desk.json(&["search", "peanuts", "--everywhere"]);
    let id = found[0]["id"].as_str().unwrap();
    assert_eq!(desk.run(&["memory", "pin", id]).code, 0);
    let told = run("Ana Lima");
    assert!(told.err.contains("1 memory attributed to another speaker, but pinned or edited by hand"), "{told:?}");
    let texts: Vec<String> = desk.memories().into_iter().map(|(_, content)| content).collect();
    assert_eq!(texts.iter().filter(|text| text.contains("Bob")).count(), 1, "{texts:?}");
}
