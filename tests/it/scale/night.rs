//! A night of a company: many people's conversations, four workers, two models that fail some of the time, and a budget
//! that runs out in the middle and is raised.
//!
//! The suite runs a short night. The command for a long one is
//! `AFTERTHOUGHT_NIGHT=20000 cargo test --features scale --test it scale::night -- --nocapture`.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use serde_json::json;

use super::super::world::{answer, completion, facts_of, read_body, send};
use super::*;

/// Conversations of each person, the last of which change what the first ones said.
const EACH: usize = 40;
const CHANGES: usize = 4;
/// Of this many requests, four fail: one is refused, one meets an error of the server, one gets a body that is no answer,
/// and one gets an answer that is garbage, which must be paid for.
const FAILING: usize = 25;
const REFUSED: usize = 0;
const ERROR: usize = 1;
const NO_ANSWER: usize = 2;
const GARBAGE: usize = 3;
/// What an answered request costs with the price of 1,1: it is 100 tokens long, and its answer is 10.
const COST: f64 = 110.0 / 1e6;

/// What two models were asked, without the texts, which would be too long.
#[derive(Default)]
struct Asked {
    /// How often each request got an answer. A request is identified by a hash of its text without its model.
    answers: BTreeMap<u64, usize>,
    /// The answered requests about each fact, as their numbers and the number of their messages.
    facts: BTreeMap<String, Vec<(usize, usize)>>,
    requests: usize,
    failures: [usize; 4],
}

impl Asked {
    /// Returns what both models charge.
    #[expect(clippy::cast_precision_loss, reason = "the numbers are small")]
    fn charged(&self) -> f64 {
        (self.answers.values().sum::<usize>() + self.failures[GARBAGE]) as f64 * COST
    }
}

/// A model that fails some of the time.
struct FailingModel {
    base_url: String,
}

impl FailingModel {
    fn start(asked: &Arc<Mutex<Asked>>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let base_url = format!("http://{}/v1", listener.local_addr().unwrap());
        let asked = Arc::clone(asked);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let asked = Arc::clone(&asked);
                std::thread::spawn(move || serve(&stream.unwrap(), &asked));
            }
        });
        Self { base_url }
    }
}

fn serve(stream: &TcpStream, asked: &Mutex<Asked>) -> Option<()> {
    let body = read_body(stream)?;
    let value: Value = serde_json::from_str(&body).unwrap();
    // A request for a correction ends with what was wrong, after the prompt and the garbage.
    let mut texts = value["messages"].as_array().unwrap().iter().map(|message| message["content"].as_str().unwrap());
    let is_prompt = |text: &&str| text.contains("<conversation>\n") || text.contains("<questions>\n");
    let prompt = texts.rfind(is_prompt).unwrap();
    let facts = facts_of(prompt);
    let mut noted = asked.lock().unwrap();
    noted.requests += 1;
    let failure = noted.requests * 7 % FAILING;
    if let Some(count) = noted.failures.get_mut(failure) {
        *count += 1;
    } else {
        *noted.answers.entry(hash(&value["messages"].to_string())).or_default() += 1;
        let one = (noted.requests, value["messages"].as_array().unwrap().len());
        for (_, fact) in &facts {
            noted.facts.entry(fact.clone()).or_default().push(one);
        }
    }
    drop(noted);
    let error = json!({"error": {"message": "not now", "type": "x", "code": "x"}});
    match failure {
        REFUSED => send(stream, 429, "retry-after-ms: 20\r\n", &error),
        ERROR => send(stream, 503, "", &error),
        NO_ANSWER => send(stream, 200, "", &json!({"choices": "%PDF-1.7"})),
        GARBAGE => send(stream, 200, "", &completion("%PDF-1.7")),
        _ => send(stream, 200, "", &completion(&answer(prompt, &facts))),
    }
}

fn hash(text: &str) -> u64 {
    use std::hash::{DefaultHasher, Hash as _, Hasher as _};
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}

/// Returns what is said in a conversation of a person, as in `the service called amber2 listens on port 20017`.
fn said(person: usize, number: usize) -> String {
    let service = if number < EACH - CHANGES { number } else { number - (EACH - CHANGES) };
    let (name, round) = (FACTS[service % FACTS.len()].0, service / FACTS.len());
    // No two conversations have a port in common.
    format!("the service called {name}{round} listens on port {}", 10_000 + person * EACH + number)
}

/// Writes the conversation of a person that has this number.
fn write_conversation(logs: &Path, person: usize, number: usize) {
    let session = format!("p{person}c{number}");
    let line = |role: &str, second: usize, parent: Value, text: &str| {
        json!({
            "type": role, "sessionId": session, "cwd": format!("/srv/people/person{person}"), "isSidechain": false,
            "uuid": format!("{session}-{role}"), "parentUuid": parent,
            "timestamp": format!("2026-03-{:02}T{:02}:00:{second:02}.000Z", 1 + number / 20, number % 20),
            "message": {"role": role, "content": text},
        })
    };
    let mut text = String::new();
    let statement = format!("From now on we know that {}. Please keep that in mind.", said(person, number));
    writeln!(text, "{}", line("user", 0, Value::Null, &statement)).unwrap();
    writeln!(text, "{}", line("assistant", 30, format!("{session}-user").into(), "Noted.")).unwrap();
    std::fs::write(logs.join(format!("{session}.jsonl")), text).unwrap();
}

#[test]
fn a_night_of_a_company_ends_with_every_conversation_done_once() {
    let Some(server) = server::shared() else { return };
    let wanted = std::env::var("AFTERTHOUGHT_NIGHT").ok().and_then(|text| text.parse().ok());
    let people = (wanted.unwrap_or(320_usize) / EACH).max(1);
    let conversations = people * EACH;
    let (world, address) = (World::new(None), server.database());
    std::fs::write(world.path("settings.toml"), SETTINGS).unwrap();
    for person in 0..people {
        let logs = world.path(&format!("logs/person{person}"));
        std::fs::create_dir(&logs).unwrap();
        (0..EACH).for_each(|number| write_conversation(&logs, person, number));
    }
    let begun = Instant::now();
    let asked = Arc::new(Mutex::new(Asked::default()));
    let models = [FailingModel::start(&asked), FailingModel::start(&asked)];
    let fill = |logs: &str, limit: f64| {
        world.good(&["run", logs, "--queue", &address, "--max-cost", &limit.to_string(), "--json"]);
    };
    let progress = || -> Value {
        let shown = world.done(&["runs", "queue", "--queue", &address, "--json"]);
        serde_json::from_slice(&shown.stdout).unwrap()
    };
    // Half of what the windows alone cost, and more than the worst case of a few calls.
    #[expect(clippy::cast_precision_loss, reason = "the numbers are small")]
    let limit = conversations as f64 * COST / 2.0 + 0.012;
    fill("logs", limit);
    let filled = begun.elapsed();
    let state = progress();
    assert_eq!(
        (state["waiting"].as_u64(), state["namespaces"].as_u64()),
        (Some(conversations as u64), Some(people as u64))
    );
    let start = |number: usize| {
        let arguments =
            ["serve", "worker", "--queue", &address, "--once", "--cache", "cache", "--price", "1,1", "--quiet"];
        let mut command = world.command(&[&arguments[..], &["--config", "settings.toml"]].concat());
        command.env("OPENAI_BASE_URL", &models[number % 2].base_url);
        command.env("AFTERTHOUGHT_MODEL", format!("m{}", number % 2));
        command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null()).spawn().unwrap()
    };
    let working = Instant::now();
    let mut workers: Vec<Child> = (0..4).map(start).collect();
    let (mut max_cost, mut raised, mut retries) = (limit, None, 0);
    while workers.iter_mut().any(|worker| worker.try_wait().unwrap().is_none()) {
        std::thread::sleep(Duration::from_millis(500));
        let before = asked.lock().unwrap().charged();
        let state = progress();
        let (spent, done) = (state["spent"].as_f64().unwrap(), state["done"].as_u64().unwrap());
        // The worst case of a call counts before it is sent, so not even calls in flight exceed the limit.
        assert!(spent <= max_cost + 1e-9, "{spent} of {max_cost}");
        let faults = state["faults"].as_array().unwrap();
        let is_spent = faults.iter().any(|fault| fault["error"].as_str().unwrap().contains("for the queue"));
        let charged = asked.lock().unwrap().charged();
        // No call is in flight, and none began meanwhile.
        let is_quiet = state["running"] == 0 && (before - charged).abs() < 1e-9;
        if is_spent && is_quiet && raised.is_none() {
            assert!((charged - spent).abs() < 1e-6, "{charged} {spent}");
            assert!(done > 0 && done < conversations as u64, "{done}");
            eprintln!("${spent:.4} of ${max_cost:.4} were spent on {done} conversations after {:?}", working.elapsed());
            (max_cost, raised) = (1000.0, Some(working.elapsed()));
            fill("logs/person0", max_cost);
        }
        // What failed too often is tried again, as its operator would.
        if state["failed"].as_u64().unwrap() > 0 {
            retries += 1;
            world.good(&["runs", "retry", "--queue", &address]);
        }
    }
    let worked = working.elapsed();
    let raised = raised.expect("the budget runs out");
    let state = progress();
    assert_eq!((state["done"].as_u64(), state["failed"].as_u64()), (Some(conversations as u64), Some(0)), "{state}");
    let asked = asked.lock().unwrap();
    let again = asked.answers.values().filter(|count| **count > 1).count();
    assert_eq!(again, 0, "an answered request was sent again");
    let facts: Vec<String> = (0..people).flat_map(|person| (0..EACH).map(move |number| said(person, number))).collect();
    for fact in &facts {
        let answered = asked.facts.get(fact).map_or(&[][..], Vec::as_slice);
        assert_eq!(answered.len(), 1, "{fact}: {answered:?}");
    }
    let charged = asked.charged();
    assert!((charged - state["spent"].as_f64().unwrap()).abs() < 1e-6, "{charged} {state}");
    check_shards(&world, &address, people);
    #[expect(clippy::cast_precision_loss, reason = "the numbers are small")]
    let speed = conversations as f64 / worked.as_secs_f64();
    let Asked { requests, failures: [refused, errors, no_answers, garbage], .. } = &*asked;
    eprintln!(
        "{conversations} conversations of {people} people: queued in {filled:?}, done by 4 workers in {worked:?}, \
         {speed:.1} a second; {requests} requests, of which {refused} were refused, {errors} met an error, {no_answers} \
         got no answer and {garbage} got garbage; the limit was raised after {raised:?}; {retries} retries of failed jobs; \
         ${charged:.4} spent"
    );
}

/// Checks that each shard is sound, and contains exactly what its person said.
fn check_shards(world: &World, address: &str, people: usize) {
    let folder = world.path("saved");
    world.good(&["runs", "queue", "--queue", address, "--save", folder.to_str().unwrap()]);
    let mut files: Vec<PathBuf> = std::fs::read_dir(&folder).unwrap().map(|one| one.unwrap().path()).collect();
    files.sort();
    assert_eq!(files.len(), people);
    let mut people_seen = BTreeSet::new();
    for file in files {
        let database = file.to_str().unwrap();
        let checked = world.done(&["db", "check", "--db", database]);
        assert_eq!(checked.status.code(), Some(0), "{checked:?}");
        let exported = world.done(&["export", "--all", "--db", database]);
        let text = String::from_utf8(exported.stdout).unwrap();
        let mut found: Vec<(String, String)> = text
            .lines()
            .map(|line| {
                let memory: Value = serde_json::from_str(line).unwrap();
                let field = |name: &str| memory[name].as_str().unwrap().to_owned();
                (field("content"), field("status"))
            })
            .collect();
        found.sort();
        let port = found[0].0.trim_end_matches('.').rsplit(' ').next().unwrap().parse::<usize>().unwrap();
        let person = (port - 10_000) / EACH;
        let mut wanted: Vec<(String, String)> = (0..EACH)
            .map(|number| {
                let status = if number < CHANGES { "superseded" } else { "active" };
                (format!("{}.", said(person, number).replacen("the", "The", 1)), status.to_owned())
            })
            .collect();
        wanted.sort();
        assert_eq!(found, wanted, "person {person}");
        assert!(people_seen.insert(person), "person {person}");
    }
}
