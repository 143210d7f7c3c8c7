//! Tests of a full consolidation by the real binary: which memories are merged and which are not, and the state after a
//! second pass, an undo or a kill.

use std::collections::BTreeSet;
use std::net::TcpListener;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};

use super::world::{World, completion, read_body, send};

const RULES: &[&str] = &["db", "consolidate", "--extractor", "rules", "--json"];

/// Five facts, each in three wordings from three conversations.
const FACTS: [(&str, &str, [&str; 3]); 5] = [
    (
        "project.database",
        "Postgres",
        [
            "The project uses Postgres as its database.",
            "The database of the project is Postgres.",
            "Postgres is the project's database.",
        ],
    ),
    (
        "user.residence",
        "Berlin",
        ["The user lives in Berlin.", "The user's home city is Berlin.", "The user resides in Berlin."],
    ),
    (
        "project.package_manager",
        "pnpm",
        [
            "The project uses pnpm as its package manager.",
            "pnpm is the package manager of the project.",
            "Packages of the project are managed with pnpm.",
        ],
    ),
    (
        "project.deploy_target",
        "Fly.io",
        [
            "The project is deployed to Fly.io.",
            "The project deploys to Fly.io.",
            "Fly.io is where the project is deployed.",
        ],
    ),
    (
        "user.employer",
        "Acme",
        ["The user works at Acme.", "The user is employed by Acme.", "Acme is the user's employer."],
    ),
];

/// Memories in the format of an export.
#[derive(Default)]
struct Lines(Vec<Value>);

impl Lines {
    /// Adds a memory that was said on `day`, with `fields` replacing the default fields.
    fn add(&mut self, content: &str, day: &str, fields: &Value) -> &mut Self {
        let number = self.0.len();
        let (said, learnt) =
            (format!("{day}T09:00:00Z"), format!("2026-05-01T10:{:02}:{:02}Z", number / 60, number % 60));
        let mut memory = json!({
            "id": format!("0190b0a0-0000-7000-8000-{number:012}"), "type": "semantic", "category": "fact", "title": content,
            "content": content, "summary": null, "subject": null, "key": null, "value": null, "structured": null,
            "scope": "long_term", "importance": 0.5, "confidence": 0.8, "tags": [], "valid_from": null, "valid_to": null,
            "expires_at": null, "namespace": ["project", "shop"], "status": "active", "pinned": false,
        });
        let rest = json!({
            "access_count": 0, "last_accessed_at": null, "tier": "l4", "promotion_count": 0, "last_promoted_at": null,
            "source": "log", "extraction_method": "auto", "deleted_at": null, "created_at": learnt, "updated_at": learnt,
            "sources": [], "relations": [],
        });
        let evidence = json!({"evidence": [{
            "transcript": format!("log:{number}"), "messages": ["1"], "quote": content, "speaker": null,
            "said_at": {"at": said, "offset_seconds": 0, "source": "log"}, "content_hash": format!("{number:04}"),
        }]});
        let fields = [&rest, &evidence, fields].into_iter().flat_map(|part| part.as_object().unwrap());
        for (name, value) in fields {
            memory[name] = value.clone();
        }
        self.0.push(memory);
        self
    }

    fn of_facts() -> Self {
        let mut lines = Self::default();
        for round in 0..3 {
            for (key, value, wordings) in FACTS {
                let day = format!("2026-01-{:02}", 10 + round);
                lines.add(wordings[round], &day, &json!({"key": key, "value": value}));
            }
        }
        lines
    }

    fn episodes(days: &[&str]) -> Self {
        let mut lines = Self::default();
        for day in days {
            let content = format!("On {day} the user restarted Redis to fix the flaky login test.");
            let fields = json!({"type": "episodic", "category": "solution", "valid_from": format!("{day}T09:00:00Z")});
            lines.add(&content, day, &fields);
        }
        lines
    }

    /// Returns a world in which these memories are stored.
    fn world(&self, base_url: Option<&str>) -> World {
        let world = base_url.map_or_else(|| World::new(None), World::at);
        self.import(&world);
        world
    }

    fn import(&self, world: &World) {
        let text: Vec<String> = self.0.iter().map(ToString::to_string).collect();
        std::fs::write(world.path("memories.jsonl"), text.join("\n")).unwrap();
        world.good(&["import", "memories.jsonl"]);
    }
}

fn summary(world: &World, arguments: &[&str]) -> Value {
    let printed = world.good(arguments);
    serde_json::from_str(printed.lines().last().unwrap()).unwrap()
}

fn exported(world: &World) -> Vec<Value> {
    world.export().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn find<'v>(memories: &'v [Value], content: &str) -> &'v Value {
    memories.iter().find(|memory| memory["content"] == content).unwrap_or_else(|| panic!("{content} is missing"))
}

#[test]
fn five_facts_in_three_wordings_become_five_with_the_sources_of_all() {
    let world = Lines::of_facts().world(None);
    let told = summary(&world, RULES);
    assert_eq!(
        (&told["memories"], &told["active"], &told["steps"]),
        (&json!(15), &json!(5), &json!({"duplicate": 10}))
    );
    let memories = exported(&world);
    let active: Vec<&Value> = memories.iter().filter(|memory| memory["status"] == "active").collect();
    let sources: BTreeSet<&str> = active
        .iter()
        .flat_map(|memory| memory["sources"].as_array().unwrap())
        .map(|source| source["transcript"].as_str().unwrap())
        .collect();
    assert_eq!((active.len(), sources.len()), (5, 15));
    // The first wording of each fact remains.
    let contents: BTreeSet<&str> = active.iter().map(|memory| memory["content"].as_str().unwrap()).collect();
    assert_eq!(contents, FACTS.iter().map(|(_, _, wordings)| wordings[0]).collect());
}

#[test]
fn a_second_pass_changes_nothing_and_an_undo_brings_all_back_for_good() {
    let mut lines = Lines::of_facts();
    lines.add("The user must file the VAT report by 2026-03-31.", "2026-02-01", &json!({"category": "task"}));
    lines.add("The API listens on port 8080.", "2026-01-01", &json!({"key": "project.api.port", "value": "8080"}));
    lines.add("The API listens on port 9090.", "2026-02-01", &json!({"key": "project.api.port", "value": "9090"}));
    for language in ["German", "English", "Spanish"] {
        let fields = json!({"key": "user.languages", "value": language});
        lines.add(&format!("The user speaks {language}."), "2026-01-03", &fields);
    }
    for episode in Lines::episodes(&["2026-01-05", "2026-01-12", "2026-02-02"]).0 {
        let day = &episode["valid_from"].as_str().unwrap()[..10];
        lines.add(
            episode["content"].as_str().unwrap(),
            day,
            &json!({
                "type": "episodic", "category": "solution", "valid_from": episode["valid_from"],
            }),
        );
    }
    let world = lines.world(None);
    let before = world.export();
    let first = summary(&world, RULES);
    let steps = json!({"task_closed": 1, "duplicate": 10, "contradicted": 1, "listed": 1, "derived": 1});
    assert_eq!(first["steps"], steps);
    let (after, changes) = (world.export(), world.changes());
    assert_ne!(after, before);

    let second = summary(&world, RULES);
    assert_eq!((&second["steps"], second["memories"] == first["active"]), (&json!({}), true));
    assert_eq!((world.export(), world.changes()), (after.clone(), changes));

    world.good(&["undo", first["run"].as_str().unwrap()]);
    assert_eq!(world.export(), before);
    // Merges that were undone are not repeated, but the copies may be linked as copies.
    let third = summary(&world, RULES);
    assert_eq!(third["active"], first["memories"]);
    assert_eq!(third["steps"].as_object().unwrap().keys().collect::<Vec<_>>(), ["linked"]);
    world.good(&["undo", third["run"].as_str().unwrap()]);
    // The merges can be repeated even if an intermediate pass found nothing left to do.
    summary(&world, RULES);
    assert_eq!(summary(&world, RULES)["steps"], json!({}));
    let again = summary(&world, &[RULES, &["--again"]].concat());
    assert_eq!(again["active"], first["active"]);
}

#[test]
fn what_a_shares_with_b_and_b_with_c_does_not_join_a_and_c() {
    let mut lines = Lines::default();
    let subject = json!({"subject": "staging server"});
    lines.add("The staging server runs nginx.", "2026-01-10", &subject);
    lines.add("The staging server runs nginx and caddy.", "2026-01-11", &subject);
    lines.add("The staging server runs caddy.", "2026-01-12", &subject);
    let world = lines.world(None);
    let told = summary(&world, RULES);
    assert_eq!(told["steps"]["refined"], 1);
    assert_eq!(world.active(), ["The staging server runs caddy.", "The staging server runs nginx and caddy."]);
    assert_eq!(summary(&world, RULES)["steps"], json!({}));
}

#[test]
fn pinned_memories_are_never_changed_and_that_is_told() {
    let mut lines = Lines::default();
    let fields = |value: &str, pinned: bool| json!({"key": "user.residence", "value": value, "pinned": pinned});
    lines.add("The user lives in Berlin.", "2026-01-10", &fields("Berlin", true));
    lines.add("The user lives in Munich.", "2026-02-10", &fields("Munich", false));
    let world = lines.world(None);
    let before = world.export();
    for _ in 0..2 {
        let told = summary(&world, RULES);
        assert_eq!((&told["held_by_pins"], &told["steps"]), (&json!(1), &json!({})));
    }
    assert_eq!(world.export(), before);
}

#[test]
fn where_no_time_tells_what_came_later_goes_to_the_inbox() {
    let mut lines = Lines::default();
    let fields = |value: &str| json!({"key": "user.residence", "value": value});
    lines.add("The user lives in Berlin.", "2026-01-10", &fields("Berlin"));
    lines.add("The user lives in Munich.", "2026-01-10", &fields("Munich"));
    let world = lines.world(None);
    assert_eq!(summary(&world, RULES)["steps"], json!({"conflict": 1}));
    let memories = exported(&world);
    assert_eq!(find(&memories, "The user lives in Munich.")["status"], "pending");
    assert_eq!(find(&memories, "The user lives in Munich.")["relations"][0]["type"], "contradicts");
    assert_eq!(find(&memories, "The user lives in Berlin.")["status"], "active");
}

#[test]
fn what_is_derived_from_episodes_is_counted_on_and_not_made_twice() {
    let mut days = vec!["2026-01-05", "2026-01-12"];
    let world = Lines::episodes(&days).world(None);
    assert_eq!(summary(&world, RULES)["steps"]["derived"], Value::Null);
    days.push("2026-02-02");
    Lines::episodes(&days).import(&world);
    assert_eq!(summary(&world, RULES)["steps"]["derived"], 1);
    days.push("2026-03-09");
    Lines::episodes(&days).import(&world);
    assert_eq!(summary(&world, RULES)["steps"]["recounted"], 1);
    let memories = exported(&world);
    let derived: Vec<&Value> = memories.iter().filter(|memory| memory["source"] == "consolidate").collect();
    assert_eq!(derived.len(), 1);
    let content = "The user restarted Redis to fix the flaky login test (4 times, 2026-01-05 to 2026-03-09).";
    assert_eq!((&derived[0]["content"], &derived[0]["type"]), (&json!(content), &json!("semantic")));
    assert_eq!(derived[0]["sources"].as_array().unwrap().len(), 4);
    let links = derived[0]["relations"].as_array().unwrap();
    assert!(links.len() == 4 && links.iter().all(|link| link["type"] == "derived_from"), "{links:?}");

    world.good(&["memory", "forget", derived[0]["id"].as_str().unwrap()]);
    assert_eq!(summary(&world, RULES)["steps"]["derived"], Value::Null);
}

#[test]
fn a_list_grows_and_loses_nothing() {
    let mut lines = Lines::default();
    let languages = ["German", "English", "Spanish", "Dutch"];
    for language in languages {
        let fields = json!({"key": "user.languages", "value": language});
        lines.add(&format!("The user speaks {language}."), "2026-01-03", &fields);
    }
    let last = lines.0.pop().unwrap();
    let world = lines.world(None);
    summary(&world, RULES);
    assert_eq!(world.active(), ["The user speaks German, English and Spanish."]);
    lines.0.push(last);
    lines.import(&world);
    assert_eq!(summary(&world, RULES)["steps"], json!({"listed": 1}));
    assert_eq!(world.active(), ["The user speaks German, English, Spanish and Dutch."]);
    let memories = exported(&world);
    let list = find(&memories, "The user speaks German, English, Spanish and Dutch.");
    assert_eq!(list["sources"].as_array().unwrap().len(), languages.len());
    assert_eq!(summary(&world, RULES)["steps"], json!({}));
    // Denying one value later does not affect the other values.
    let mut denial = Lines::default();
    denial.add("The user does not speak English.", "2026-06-01", &json!({}));
    std::fs::write(world.path("denial.jsonl"), denial.0[0].to_string()).unwrap();
    world.good(&["import", "--consolidate", "denial.jsonl"]);
    assert!(world.active().contains(&"The user speaks German, English, Spanish and Dutch.".to_owned()));
    summary(&world, RULES);
    assert!(world.active().contains(&"The user speaks German, English, Spanish and Dutch.".to_owned()));
}

#[test]
fn one_namespace_never_reaches_into_another() {
    let mut lines = Lines::default();
    let fact = json!({"key": "project.database", "value": "Postgres"});
    lines.add("The project uses Postgres as its database.", "2026-01-10", &fact);
    let elsewhere = json!({"key": "project.database", "value": "Postgres", "namespace": ["project", "blog"]});
    lines.add("The database of the project is Postgres.", "2026-01-11", &elsewhere);
    lines.add("Postgres is the project's database.", "2026-01-12", &elsewhere);
    let world = lines.world(None);
    let only = |namespace| summary(&world, &[RULES, &["--namespace", namespace]].concat());
    assert_eq!(only("project/shop")["steps"], json!({}));
    assert_eq!(only("conversation")["namespaces"], json!([]));
    let dry = world.good(&[RULES, &["--namespace", "project", "--dry-run"]].concat());
    assert_eq!(dry.lines().count(), 2);
    assert_eq!(world.active().len(), 3);
    assert_eq!(only("project")["steps"], json!({"duplicate": 1}));
    assert_eq!(world.active().len(), 2);
}

/// A server that reports the same relation for every pair and a pattern for every group, and counts the requests.
struct Judge {
    base_url: String,
    count: Arc<AtomicUsize>,
    bodies: Arc<Mutex<Vec<String>>>,
    relation: Arc<Mutex<&'static str>>,
}

impl Judge {
    fn start(delay: Duration) -> Self {
        Self::naming("complementary", delay)
    }

    fn naming(relation: &'static str, delay: Duration) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let base_url = format!("http://{}/v1", listener.local_addr().unwrap());
        let relation = Arc::new(Mutex::new(relation));
        let judge = Self { base_url, count: Arc::default(), bodies: Arc::default(), relation };
        let (count, bodies) = (Arc::clone(&judge.count), Arc::clone(&judge.bodies));
        let relation = Arc::clone(&judge.relation);
        std::thread::spawn(move || {
            for stream in listener.incoming().map(Result::unwrap) {
                let (count, bodies) = (Arc::clone(&count), Arc::clone(&bodies));
                let relation = *relation.lock().unwrap();
                std::thread::spawn(move || {
                    let body = read_body(&stream)?;
                    count.fetch_add(1, Ordering::SeqCst);
                    let answer = Self::answer(&body, relation);
                    bodies.lock().unwrap().push(body);
                    std::thread::sleep(delay);
                    send(&stream, 200, "", &completion(&answer))
                });
            }
        });
        judge
    }

    fn answer(body: &str, relation: &str) -> String {
        let value: Value = serde_json::from_str(body).unwrap();
        let prompt = value["messages"].as_array().unwrap().last().unwrap()["content"].as_str().unwrap();
        let numbers = |part: &str| {
            let lines = part.lines().filter_map(|line| line.strip_prefix('[')?.split_once(']')?.0.parse().ok());
            lines.collect::<Vec<usize>>()
        };
        if let Some((_, groups)) = prompt.split_once("<groups>") {
            let statement = "The user restarts Redis when the login test is flaky.";
            let entry = |group: &usize| json!({"group": group, "kind": "procedural", "title": "Flaky login test", "statement": statement});
            return json!({"patterns": numbers(groups).iter().map(entry).collect::<Vec<_>>()}).to_string();
        }
        let (_, questions) = prompt.split_once("<questions>").unwrap();
        let asked = questions.lines().filter_map(|line| {
            let (number, against) = line.split_once(": ")?;
            let first = against.split(',').next()?;
            Some((number.parse::<usize>().ok()?, first.parse::<usize>().ok()?))
        });
        let entry =
            |(memory, to)| json!({"memory": memory, "relation": relation, "to": to, "why": "unclear", "rest": ""});
        json!({"relations": asked.map(entry).collect::<Vec<_>>()}).to_string()
    }

    fn count(&self) -> usize {
        self.count.load(Ordering::SeqCst)
    }
}

/// Memories that cannot be distinguished by their words, and episodes.
fn doubtful() -> Lines {
    let mut lines = Lines::episodes(&["2026-01-05", "2026-01-12", "2026-02-02"]);
    for (number, service) in ["billing", "search", "login", "mail"].iter().enumerate() {
        let day = format!("2026-03-{:02}", number + 1);
        let subject = json!({"subject": service});
        lines.add(&format!("The {service} service caches its results in memory for speed."), &day, &subject);
        lines.add(
            &format!("The {service} service stores cached results in memory, which costs money."),
            &day,
            &subject,
        );
    }
    lines
}

const ASKS: &[&str] = &["db", "consolidate", "--json"];

#[test]
fn a_model_is_asked_once_about_what_words_do_not_tell() {
    let judge = Judge::start(Duration::ZERO);
    let world = doubtful().world(Some(&judge.base_url));
    let told = summary(&world, ASKS);
    let calls = judge.count();
    assert!(calls > 0 && told["llm_calls"] == calls, "{calls}: {told}");
    assert_eq!((&told["failed_calls"], &told["not_asked"]), (&json!(0), &json!(0)));
    let memories = exported(&world);
    let derived =
        find(&memories, "The user restarts Redis when the login test is flaky (3 times, 2026-01-05 to 2026-02-02).");
    assert_eq!((&derived["type"], &derived["category"]), (&json!("procedural"), &json!("workflow")));
    let before = world.export();
    let again = summary(&world, ASKS);
    assert_eq!((judge.count(), &again["asked"], &again["steps"]), (calls, &json!(0), &json!({})));
    assert_eq!(world.export(), before);
    assert!(calls <= 4, "{calls}");
}

/// Two memories that the word rules classify as rewordings.
fn reworded() -> Lines {
    let mut lines = Lines::default();
    let fact = json!({"key": "user.residence", "value": "Berlin"});
    lines.add("The user lives in Berlin.", "2026-01-10", &fact);
    lines.add("The user's home city is Berlin.", "2026-01-11", &fact);
    lines
}

#[test]
fn what_words_would_join_a_model_confirms_or_keeps_apart() {
    for (relation, active) in [("duplicate", 1), ("complementary", 2)] {
        let judge = Judge::naming(relation, Duration::ZERO);
        let world = reworded().world(Some(&judge.base_url));
        let told = summary(&world, ASKS);
        assert_eq!((&told["active"], judge.count()), (&json!(active), 1), "{told}");
        let again = summary(&world, ASKS);
        assert_eq!((&again["steps"], judge.count()), (&json!({}), 1), "{again}");
    }
}

#[test]
fn what_a_model_gives_no_answer_to_stays_apart_and_is_asked_again() {
    let judge = Judge::naming("no such relation", Duration::ZERO);
    let world = reworded().world(Some(&judge.base_url));
    let output = world.command(ASKS).output().unwrap();
    assert_eq!((output.status.code(), world.active().len()), (Some(3), 2));
    let told: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(told["failed_calls"].as_u64() > Some(0), "{told}");
    let calls = judge.count();
    *judge.relation.lock().unwrap() = "duplicate";
    let again = summary(&world, ASKS);
    assert_eq!((&again["steps"], &again["llm_calls"]), (&json!({"duplicate": 1}), &json!(1)), "{again}");
    assert_eq!(judge.count(), calls + 1, "an unusable reply is not used again");
}

#[test]
fn killed_at_any_moment_a_pass_comes_to_the_same_end_and_asks_nothing_twice() {
    let judge = Judge::start(Duration::from_millis(25));
    let wanted = {
        let world = doubtful().world(Some(&judge.base_url));
        world.good(ASKS);
        world.memories()
    };
    for pause in [5, 30, 60, 90, 120] {
        let world = doubtful().world(Some(&judge.base_url));
        let begun = judge.bodies.lock().unwrap().len();
        let mut kills = 0;
        for _ in 0..3 {
            let mut child = world.command(ASKS).spawn().unwrap();
            std::thread::sleep(Duration::from_millis(pause));
            kills += usize::from(child.try_wait().unwrap().is_none());
            child.kill().unwrap();
            child.wait().unwrap();
        }
        world.good(ASKS);
        assert_eq!(world.memories(), wanted, "killed after {pause} ms");
        // A call that was in flight when the process was killed is lost; no other call is repeated.
        let bodies = judge.bodies.lock().unwrap().split_off(begun);
        let different = bodies.iter().collect::<BTreeSet<_>>().len();
        assert!(bodies.len() <= different + kills, "{} for {different}, {kills} kills", bodies.len());
    }
}
