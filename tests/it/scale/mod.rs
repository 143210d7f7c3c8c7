//! Workers that take logs from a queue in PostgreSQL. The tests are skipped where PostgreSQL is not installed, unless
//! `AFTERTHOUGHT_POSTGRES=required`.

// Only debug builds have fault points.
#[cfg(debug_assertions)]
mod campaign;
mod measured;
mod night;
mod served;
#[path = "../../../src/postgresql/server_tests.rs"]
mod server;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Child, Output};
use std::time::{Duration, SystemTime};

use serde_json::Value;

use super::world::{Fact, MANY_FACTS as FACTS, Server, World, raw};

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

/// Returns the status and the body with which a worker answers.
fn get(address: &str, path: &str) -> Option<(u16, String)> {
    use std::io::{Read as _, Write as _};
    let mut stream = std::net::TcpStream::connect(address).ok()?;
    write!(stream, "GET {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n").ok()?;
    let mut text = String::new();
    stream.read_to_string(&mut text).ok()?;
    let status = text.split(' ').nth(1)?.parse().ok()?;
    Some((status, text.split_once("\r\n\r\n")?.1.to_owned()))
}

/// Waits until a worker gives an answer that `is_met` accepts, and returns its body.
fn wait_for(address: &str, path: &str, is_met: impl Fn(u16, &str) -> bool) -> String {
    let begun = std::time::Instant::now();
    loop {
        let answer = get(address, path);
        match &answer {
            Some((status, body)) if is_met(*status, body) => return body.clone(),
            _ => assert!(begun.elapsed() < Duration::from_mins(1), "{path}: {answer:?}"),
        }
        std::thread::sleep(Duration::from_millis(200));
    }
}

#[test]
fn a_worker_shows_its_health_and_its_figures() {
    use std::io::{BufRead as _, BufReader};
    let Some(server) = server::Server::start() else { return };
    let crew = Crew::new(&server, 2, Duration::from_millis(20));
    crew.fill();
    let arguments = ["serve", "worker", "--queue", &crew.address, "--cache", "cache", "--price", "1,1"];
    let mut command = crew.world.command(&[&arguments[..], &["--config", "settings.toml"]].concat());
    let mut worker = command.args(["--addr", "127.0.0.1:0"]).spawn().unwrap();
    let mut lines = BufReader::new(worker.stderr.take().unwrap()).lines().map(Result::unwrap);
    let line = lines.find(|line| line.ends_with("/metrics")).unwrap();
    let address = line.trim_start_matches("http://").trim_end_matches("/metrics").to_owned();
    let rest = std::thread::spawn(move || lines.count());
    assert_eq!(wait_for(&address, "/readyz", |status, _| status == 200), "ok\n");
    // The counts of the queue are up to 15 seconds old.
    let text = wait_for(&address, "/metrics", |_, body| {
        body.contains("afterthought_jobs_ended_total{result=\"done\"} 4\n")
            && body.contains("afterthought_queue_jobs{status=\"done\"} 4\n")
    });
    let calls = crew.model.count();
    for line in [
        "afterthought_jobs_claimed_total 4".to_owned(),
        "afterthought_jobs_ended_total{result=\"failed\"} 0".to_owned(),
        "afterthought_lease_age_seconds 0.0".to_owned(),
        format!("afterthought_model_call_seconds_count {calls}"),
        format!("afterthought_model_tokens_total{{kind=\"prompt\"}} {}", calls * 100),
        format!("afterthought_model_tokens_total{{kind=\"completion\"}} {}", calls * 10),
        "afterthought_queue_namespaces 2".to_owned(),
        "afterthought_queue_up 1".to_owned(),
    ] {
        assert!(text.lines().any(|one| one == line), "{line}: {text}");
    }
    let value = |name: &str| -> f64 {
        let line = text.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        line.trim().parse().unwrap()
    };
    #[expect(clippy::cast_precision_loss, reason = "few requests are sent")]
    let cost = calls as f64 * 110.0 / 1e6;
    for name in ["afterthought_model_cost_dollars_total", "afterthought_queue_spent_dollars"] {
        assert!((value(name) - cost).abs() < 1e-9, "{name} {cost}: {text}");
    }
    assert!(value("afterthought_model_call_seconds_sum") > 0.02 * f64::from(u32::try_from(calls).unwrap()));
    assert_eq!(get(&address, "/").unwrap().0, 404);
    // Without its queue, a worker is alive and not ready, and its own figures can still be read.
    drop(server);
    assert!(wait_for(&address, "/readyz", |status, _| status == 503).contains("does not answer"));
    assert_eq!(get(&address, "/healthz"), Some((200, "ok\n".to_owned())));
    wait_for(&address, "/metrics", |_, body| {
        body.contains("queue_up 0\n") && !body.contains("queue_jobs") && body.contains("jobs_claimed_total 4\n")
    });
    worker.kill().unwrap();
    worker.wait().unwrap();
    rest.join().unwrap();
}

/// Needs a server with the bucket `memories`, as the tests of `sync::objects` do.
#[test]
fn logs_in_an_object_storage_are_queued_once_and_extracted() {
    use object_store::ObjectStoreExt as _;
    use object_store::aws::AmazonS3Builder;
    use std::process::Command;
    let Some(server) = server::shared() else { return };
    let Ok(endpoint) = std::env::var("AFTERTHOUGHT_TEST_S3") else {
        eprintln!("skipped, because AFTERTHOUGHT_TEST_S3 is not set");
        return;
    };
    let crew = Crew::new(server, 2, Duration::ZERO);
    let prefix = format!("logs-{}", uuid::Uuid::now_v7());
    let secret = "quokka-of-the-bucket";
    // Another test of this process may have chosen it already.
    rustls::crypto::ring::default_provider().install_default().ok();
    let storage = AmazonS3Builder::new().with_url("s3://memories").with_endpoint(&endpoint).with_allow_http(true);
    let storage = storage.with_access_key_id("ana").with_secret_access_key(secret).with_region("us-east-1");
    let (storage, runtime) = (storage.build().unwrap(), tokio::runtime::Runtime::new().unwrap());
    let put = |key: &str, content: &[u8]| {
        let path = object_store::path::Path::from(format!("{prefix}/{key}"));
        runtime.block_on(storage.put(&path, content.to_vec().into())).unwrap();
    };
    let log = |name: &str| std::fs::read(crew.world.path(&format!("logs/{name}.jsonl"))).unwrap();
    let with_credentials = |mut command: Command| {
        command.envs([
            ("AWS_ENDPOINT_URL", endpoint.as_str()),
            ("AWS_ALLOW_HTTP", "true"),
            ("AWS_REGION", "us-east-1"),
            ("AWS_ACCESS_KEY_ID", "ana"),
            ("AWS_SECRET_ACCESS_KEY", secret),
        ]);
        command.args(["--config", "settings.toml"]);
        command
    };
    let fill = |address: &str| -> Value {
        let arguments = ["run", address, "--queue", &crew.address, "--namespace", "team/t0", "--json"];
        let done = with_credentials(crew.world.command(&arguments)).output().unwrap();
        assert_eq!(done.status.code(), Some(0), "{done:?}");
        let mut work: Value = serde_json::from_slice(&done.stdout).unwrap();
        work["failed"] = Value::Null;
        work
    };
    let worker = || {
        let arguments = ["serve", "worker", "--queue", &crew.address, "--once", "--cache", "cache"];
        let done = with_credentials(crew.world.command(&arguments)).output().unwrap();
        assert!(done.status.success(), "{done:?}");
        done
    };
    let queued = |logs: u64, jobs: u64| serde_json::json!({"logs": logs, "jobs": jobs, "failed": null});
    put("a/one0.jsonl", &log("one0"));
    put("b/two0.jsonl", &log("two0"));
    put("b/picture.png", b"\x89PNG no log");
    let address = format!("s3://memories/{prefix}");
    // A file that is no log becomes no job, and what has not changed is neither read nor queued again.
    assert_eq!(fill(&address), queued(3, 2));
    assert_eq!(fill(&format!("{address}/a/")), queued(0, 0));
    worker();
    let wanted: BTreeSet<String> = crew.on_one_machine().into_iter().filter(|one| one.starts_with("team/t0")).collect();
    assert_eq!(crew.in_shards(), wanted);
    // Another machine would find the log at its address, and not where this worker has put it for a moment.
    let folder = crew.world.path("saved");
    crew.good(&["runs", "queue", "--queue", &crew.address, "--save", folder.to_str().unwrap()]);
    let saved = raw(&folder.join("team.t0.db")).unwrap();
    let mut asked = saved.prepare("SELECT origin FROM transcripts ORDER BY origin").unwrap();
    let origins: Vec<String> = asked.query_map((), |row| row.get(0)).unwrap().map(Result::unwrap).collect();
    assert_eq!(origins, [format!("{address}/a/one0.jsonl"), format!("{address}/b/two0.jsonl")]);
    assert!(
        !walkdir::WalkDir::new(crew.world.path("cache")).into_iter().any(|one| one.unwrap().path().ends_with("object"))
    );
    // A log that grew costs only its new messages.
    crew.world.append("two0", 6, 3, &[("nettle", 1234)]);
    put("b/two0.jsonl", &log("two0"));
    let windows = crew.model.windows();
    assert_eq!(fill(&format!("{address}/b/two0.jsonl")), queued(1, 1));
    worker();
    assert_eq!(crew.model.windows() - windows, 1);
    assert!(crew.in_shards().iter().any(|memory| memory.contains("nettle listens on port 1234")));
    // Nothing at an address, and a storage that does not answer, are named.
    for (address, endpoint, what) in [
        (format!("{address}/none"), endpoint.as_str(), "no objects at"),
        ("s3://nowhere/x".to_owned(), endpoint.as_str(), "cannot use the object storage s3://nowhere/x"),
    ] {
        let mut command = crew.world.command(&["run", &address, "--queue", &crew.address]);
        command.env("AWS_ENDPOINT_URL", endpoint);
        let done = with_credentials(command).output().unwrap();
        let shown = String::from_utf8_lossy(&done.stderr).into_owned();
        assert!(done.status.code() == Some(2) && shown.contains(what), "{shown}");
    }
}
