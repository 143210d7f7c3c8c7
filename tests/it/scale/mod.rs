//! Workers that take logs from a queue in PostgreSQL. The tests are skipped where PostgreSQL is not installed, unless
//! `AFTERTHOUGHT_POSTGRES=required`.

mod campaign;
mod measured;
#[path = "../../../src/postgresql/server_tests.rs"]
mod server;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Child, Output};
use std::time::{Duration, SystemTime};

use serde_json::Value;

use super::world::{Fact, MANY_FACTS as FACTS, Server, World};

/// Settings of all runs: windows so small that a few messages fill each window.
const SETTINGS: &str = "window_tokens = 600\njobs = 4\n";
/// Seconds after which the job of a killed worker is continued.
const LEASE: &str = "2";

/// Logs of several namespaces, a model, and a queue.
struct Crew {
    world: World,
    model: Server,
    address: String,
    /// Each log with its namespace, in the order of time.
    logs: Vec<(String, String)>,
}

impl Crew {
    /// Returns a crew with this many namespaces, each of which has two logs that contradict each other in one fact.
    fn new(server: &server::Server, namespaces: usize, delay: Duration) -> Self {
        let model = Server::start(delay);
        let world = World::new(Some(&model));
        std::fs::write(world.path("settings.toml"), SETTINGS).unwrap();
        let mut logs = Vec::new();
        for number in 0..namespaces {
            // No two namespaces have a fact in common, so that equal replies answer equal requests.
            let port = |at: usize| u32::try_from(20_000 + number * 100 + at).unwrap();
            let fact = |at: usize| -> Fact { (FACTS[(number + at) % FACTS.len()].0, port(at)) };
            let changed: Fact = (fact(1).0, port(50));
            world.session(&format!("one{number}"), 2, &[fact(0), fact(1), fact(2)]);
            world.session(&format!("two{number}"), 5, &[fact(3), changed, fact(4)]);
            for name in ["one", "two"] {
                logs.push((format!("logs/{name}{number}.jsonl"), format!("team/t{number}")));
            }
        }
        Self { world, model, address: server.database(), logs }
    }

    fn good(&self, arguments: &[&str]) -> String {
        self.world.good(&[arguments, &["--config", "settings.toml"]].concat())
    }

    /// Adds all logs to the queue.
    fn fill(&self) {
        for (log, namespace) in &self.logs {
            self.good(&["run", log, "--queue", &self.address, "--namespace", namespace, "--quiet"]);
        }
    }

    /// Starts a worker that ends when no job is left.
    fn worker(&self, fault: Option<&str>) -> Child {
        let arguments = ["serve", "worker", "--queue", &self.address, "--once", "--lease", LEASE, "--cache", "cache"];
        let mut command = self.world.command(&[&arguments[..], &["--config", "settings.toml"]].concat());
        command.envs(fault.map(|fault| ("AFTERTHOUGHT_FAULT", fault)));
        command.spawn().unwrap()
    }

    /// Lets workers finish all jobs, and returns their outputs.
    fn work(&self, workers: usize) -> Vec<Output> {
        let workers: Vec<Child> = (0..workers).map(|_| self.worker(None)).collect();
        let ended: Vec<_> = workers.into_iter().map(|worker| worker.wait_with_output().unwrap()).collect();
        assert!(ended.iter().all(|output| output.status.success()), "{ended:?}");
        ended
    }

    fn progress(&self) -> Value {
        let shown = self.world.done(&["runs", "queue", "--queue", &self.address, "--json"]);
        serde_json::from_slice(&shown.stdout).unwrap()
    }

    /// Returns the memories that one machine extracts from the logs of each namespace, one log after another.
    fn on_one_machine(&self) -> BTreeSet<String> {
        for (log, namespace) in &self.logs {
            self.good(&["run", log, "--namespace", namespace, "--db", "single.db", "--quiet"]);
        }
        self.memories_in(&self.world.path("single.db"))
    }

    /// Returns the memories of all shards, each of which must be sound.
    fn in_shards(&self) -> BTreeSet<String> {
        let folder = tempfile::tempdir_in(self.world.path("")).unwrap();
        let target = folder.path().to_str().unwrap();
        self.good(&["runs", "queue", "--queue", &self.address, "--save", target]);
        let mut files: Vec<PathBuf> =
            std::fs::read_dir(folder.path()).unwrap().map(|one| one.unwrap().path()).collect();
        files.sort();
        let mut all = BTreeSet::new();
        for file in files {
            let checked = self.world.done(&["db", "check", "--db", file.to_str().unwrap()]);
            assert_eq!(checked.status.code(), Some(0), "{checked:?}");
            let memories = self.memories_in(&file);
            let name = file.file_stem().unwrap().to_str().unwrap().replace('.', "/");
            assert!(memories.iter().all(|memory| memory.starts_with(&name)), "{name}: {memories:?}");
            all.extend(memories);
        }
        all
    }

    /// Returns each memory of a database as its namespace, status and content, with what it supersedes.
    fn memories_in(&self, database: &Path) -> BTreeSet<String> {
        let exported = self.world.done(&["export", "--all", "--db", database.to_str().unwrap()]);
        let text = String::from_utf8(exported.stdout).unwrap();
        let memories: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let content = |id: &Value| {
            let found = memories.iter().find(|memory| memory["id"] == *id);
            found.map_or_else(String::new, |memory| memory["content"].to_string())
        };
        let shown = memories.iter().map(|memory| {
            let parts = memory["namespace"].as_array().unwrap().iter().map(|part| part.as_str().unwrap());
            let relations = memory["relations"].as_array().unwrap().iter();
            let mut relations: Vec<String> =
                relations.map(|one| format!("{} {}", one["type"], content(&one["to"]))).collect();
            relations.sort();
            let namespace = parts.collect::<Vec<_>>().join("/");
            format!("{namespace} {} {} {relations:?}", memory["status"], memory["content"])
        });
        let set: BTreeSet<String> = shown.collect();
        assert_eq!(set.len(), memories.len(), "no memory is there twice");
        set
    }
}

#[test]
fn workers_extract_what_one_machine_would() {
    let Some(server) = server::shared() else { return };
    let crew = Crew::new(server, 3, Duration::from_millis(5));
    let wanted = crew.on_one_machine();
    assert!(wanted.iter().any(|memory| memory.contains("superseded")), "{wanted:?}");
    let asked = crew.model.count();
    crew.fill();
    assert_eq!((crew.progress()["waiting"].as_i64(), crew.progress()["done"].as_i64()), (Some(6), Some(0)));
    crew.work(2);
    assert_eq!(crew.in_shards(), wanted);
    assert_eq!(crew.model.count() - asked, asked, "as many requests as on one machine");
    let progress = crew.progress();
    assert_eq!((progress["done"].as_i64(), progress["failed"].as_i64()), (Some(6), Some(0)), "{progress}");
    // Logs that did not change are not queued again, and a log that grew costs only its new messages.
    let again = crew.good(&["run", "logs/one0.jsonl", "--queue", &crew.address, "--namespace", "team/t0", "--json"]);
    assert_eq!(serde_json::from_str::<Value>(&again).unwrap()["jobs"], 0);
    crew.world.append("one0", 2, 3, &[("nettle", 1234)]);
    crew.fill();
    let asked = crew.model.windows();
    crew.work(1);
    assert_eq!(crew.model.windows() - asked, 1);
    assert!(crew.in_shards().iter().any(|memory| memory.contains("nettle listens on port 1234")));
    // Consolidation and maintenance are jobs, too; after maintenance, the log is one snapshot.
    for verb in ["consolidate", "maintain"] {
        crew.good(&["db", verb, "--queue", &crew.address]);
    }
    let before = crew.in_shards();
    crew.work(2);
    assert_eq!((crew.progress()["done"].as_i64(), crew.in_shards()), (Some(12), before));
}

#[test]
fn logs_of_projects_go_to_the_shard_of_their_project() {
    let Some(server) = server::shared() else { return };
    let crew = Crew::new(server, 2, Duration::ZERO);
    crew.good(&["run", "logs", "--db", "single.db", "--quiet"]);
    crew.good(&["run", "logs", "--queue", &crew.address]);
    assert_eq!(crew.progress()["namespaces"], 1);
    crew.work(2);
    let wanted = crew.memories_in(&crew.world.path("single.db"));
    let folder = crew.world.path("saved");
    crew.good(&["runs", "queue", "--queue", &crew.address, "--save", folder.to_str().unwrap()]);
    let files: Vec<_> = std::fs::read_dir(&folder).unwrap().map(|one| one.unwrap().path()).collect();
    assert_eq!(files.len(), 1);
    assert!(files[0].to_str().unwrap().contains("project.shop"), "{files:?}");
    let contents = |memories: BTreeSet<String>| memories.len();
    assert_eq!(contents(crew.memories_in(&files[0])), contents(wanted));
}

#[test]
fn a_fault_is_shown_and_retried_and_other_namespaces_go_on() {
    let Some(server) = server::shared() else { return };
    let crew = Crew::new(server, 2, Duration::ZERO);
    crew.fill();
    let gone = crew.world.path("logs/one0.jsonl");
    let text = std::fs::read(&gone).unwrap();
    std::fs::remove_file(&gone).unwrap();
    let arguments = ["serve", "worker", "--queue", &crew.address, "--limit", "3", "--cache", "cache"];
    let worked = crew.world.done(&[&arguments[..], &["--config", "settings.toml"]].concat());
    assert_eq!(worked.status.code(), Some(3), "{worked:?}");
    let progress = crew.progress();
    assert_eq!(progress["done"].as_i64(), Some(2), "{progress}");
    assert!(progress["faults"][0]["error"].as_str().unwrap().contains("does not exist"), "{progress}");
    std::fs::write(&gone, text).unwrap();
    crew.good(&["runs", "retry", "--queue", &crew.address]);
    crew.work(1);
    assert_eq!(crew.progress()["done"].as_i64(), Some(4));
    assert_eq!(crew.in_shards(), crew.on_one_machine());
}

#[test]
fn a_limit_on_cost_holds_for_all_workers_and_can_be_raised() {
    let Some(server) = server::shared() else { return };
    let crew = Crew::new(server, 3, Duration::from_millis(20));
    let wanted = crew.on_one_machine();
    let whole = crew.model.count();
    crew.fill();
    // A reply costs 0.00011 dollars, and a request could cost much more.
    crew.good(&["run", "logs/one0.jsonl", "--queue", &crew.address, "--namespace", "team/t0", "--max-cost", "0.0001"]);
    let arguments = ["serve", "worker", "--queue", &crew.address, "--cache", "cache", "--price", "1,1"];
    let start = || crew.world.command(&[&arguments[..], &["--config", "settings.toml"]].concat()).spawn().unwrap();
    let (mut workers, begun) = ([start(), start()], std::time::Instant::now());
    // All namespaces wait for money.
    let waits = |progress: &Value| progress["faults"].as_array().is_some_and(|faults| faults.len() == 3);
    while !waits(&crew.progress()) && begun.elapsed() < Duration::from_mins(1) {
        std::thread::sleep(Duration::from_millis(200));
    }
    let progress = crew.progress();
    assert!(waits(&progress), "{progress}");
    assert!(progress["faults"][0]["error"].as_str().unwrap().contains("for the queue"), "{progress}");
    for worker in &mut workers {
        worker.kill().unwrap();
        worker.wait().unwrap();
    }
    assert_eq!((progress["spent"].as_f64(), crew.model.count()), (Some(0.0), whole), "{progress}");
    let raised = ["run", "logs/one0.jsonl", "--queue", &crew.address, "--namespace", "team/t0", "--max-cost", "100"];
    crew.good(&raised);
    let arguments = ["serve", "worker", "--queue", &crew.address, "--cache", "cache", "--price", "1,1", "--once"];
    let ended = crew.world.done(&[&arguments[..], &["--config", "settings.toml"]].concat());
    assert!(ended.status.success(), "{ended:?}");
    assert_eq!((crew.in_shards(), crew.model.count()), (wanted, 2 * whole));
    let spent = crew.progress()["spent"].as_f64().unwrap();
    #[expect(clippy::cast_precision_loss, reason = "few requests are sent")]
    let paid = whole as f64 * 110.0 / 1e6;
    assert!((spent - paid).abs() < 1e-9, "{spent} {paid}");
}

#[test]
fn tokens_a_minute_are_shared_by_all_workers() {
    let Some(server) = server::shared() else { return };
    let crew = Crew::new(server, 1, Duration::ZERO);
    crew.fill();
    let arguments =
        ["serve", "worker", "--queue", &crew.address, "--cache", "cache", "--once", "--tokens-per-minute", "1"];
    let mut worker = crew.world.command(&[&arguments[..], &["--config", "settings.toml"]].concat()).spawn().unwrap();
    assert!(crew.model.wait_for(1, Duration::from_mins(1)));
    std::thread::sleep(Duration::from_secs(2));
    // The first request of a minute is always sent, whatever its size.
    assert!(worker.try_wait().unwrap().is_none());
    assert!((1..=2).contains(&crew.model.count()), "{}", crew.model.count());
    worker.kill().unwrap();
    worker.wait().unwrap();
}

#[test]
fn a_password_in_the_address_is_refused_and_shown_nowhere() {
    let world = World::new(None);
    let secret = ["correct", "horse"].join("-");
    let address = format!("postgres://ana:{secret}@127.0.0.1:9/x");
    std::fs::write(world.path("logs/a.txt"), "x").unwrap();
    for arguments in [
        vec!["run", "logs", "--queue", &address],
        vec!["serve", "worker", "--queue", &address, "--once"],
        vec!["runs", "queue", "--queue", &address],
        vec!["db", "sync", "add", &address, "--namespace", "team/*"],
    ] {
        let done = world.done(&arguments);
        let shown = format!("{}{}", String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
        assert!(done.status.code() == Some(2) && shown.contains("PGPASSWORD"), "{shown}");
        assert!(!shown.contains(&secret), "{shown}");
    }
}
