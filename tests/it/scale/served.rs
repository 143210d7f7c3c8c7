//! Servers that answer from copies of shards, and the page with the state of the queue.

use std::time::Instant;

use serde_json::json;

use super::*;
use crate::desk::Desk;
use crate::mcp::client::{Answered, Http};
use crate::page::browser::Browser;

/// Time within which a change of a shard must appear; the servers check every two seconds.
const STALE: Duration = Duration::from_secs(20);

fn search(server: &Http, namespace: &str, query: &str) -> Answered {
    server.send("GET", &format!("/api/v1/search?namespace={namespace}&query={query}"), &[], "")
}

/// Returns the contents of the memories that a server finds.
fn found(server: &Http, namespace: &str, query: &str) -> Vec<String> {
    let answered = search(server, namespace, query);
    assert_eq!(answered.status, 200, "{answered:?}");
    let answer: Value = serde_json::from_str(&answered.body).unwrap();
    answer["memories"].as_array().unwrap().iter().map(|one| one["content"].as_str().unwrap().to_owned()).collect()
}

/// Returns the answer to a call of a method of MCP, with a namespace in the address.
fn call(server: &Http, namespace: &str, method: &str, parameters: &Value) -> Value {
    let message = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": parameters});
    let headers = ["Content-Type: application/json", "Accept: application/json, text/event-stream"];
    let answered = server.send("POST", &format!("/mcp?namespace={namespace}"), &headers, &message.to_string());
    assert_eq!(answered.status, 200, "{answered:?}");
    serde_json::from_str(&answered.body).unwrap()
}

/// Returns the files of the copies with the same ending.
fn copies(desk: &Desk, ending: &str) -> Vec<PathBuf> {
    let files = std::fs::read_dir(desk.path("copies/1")).unwrap().map(|one| one.unwrap().path());
    files.filter(|path| path.extension().is_some_and(|one| one == ending)).collect()
}

fn serve(desk: &Desk, crew: &Crew, keep: &str) -> Http {
    Http::start(desk, &["--shards", &crew.address, "--keep", keep, "--cache", "copies"], None)
}

#[test]
fn a_server_answers_for_every_namespace_and_keeps_few_copies() {
    let Some(server) = server::shared() else { return };
    let crew = Crew::new(server, 2, Duration::ZERO);
    crew.fill();
    crew.work(1);
    let desk = Desk::new();
    let http = serve(&desk, &crew, "1");
    assert_eq!(copies(&desk, "db").len(), 0);
    let mut seen = Vec::new();
    for number in [0, 1, 0] {
        // The ports of a namespace have a number of their own.
        let contents = found(&http, &format!("team/t{number}"), "which+service+listens+on+port");
        assert!(contents.len() > 3, "{contents:?}");
        let own = format!("port 20{number}");
        assert!(contents.iter().all(|content| content.contains(&own)), "{contents:?}");
        assert_eq!(copies(&desk, "db").len(), 1);
        seen.push(copies(&desk, "db"));
    }
    assert!(seen[0] == seen[2] && seen[0] != seen[1], "{seen:?}");
    #[cfg(unix)]
    for entry in walkdir::WalkDir::new(desk.path("copies")) {
        use std::os::unix::fs::PermissionsExt as _;
        let entry = entry.unwrap();
        let mode = entry.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, if entry.file_type().is_dir() { 0o700 } else { 0o600 }, "{}", entry.path().display());
    }
    // What a client gets wrong is named, and no copy is removed for it.
    let json = ["Content-Type: application/json"];
    let tea = json!({"category": "fact", "subject": "tea", "content": "Ana drinks tea."}).to_string();
    for (verb, path, body, status, what) in [
        ("GET", "/search?namespace=team/nobody&query=port", "", 404, "no memories of team/nobody"),
        ("GET", "/search?query=port", "", 422, "?namespace="),
        ("GET", "/search?namespace=a//b&query=port", "", 422, "is not a namespace"),
        ("POST", "/memories?namespace=team/t0", tea.as_str(), 403, "only reads"),
        ("GET", "/runs?namespace=team/t0", "", 403, "--owner"),
    ] {
        let answered = http.send(verb, &format!("/api/v1{path}"), &json, body);
        assert!(answered.status == status && answered.body.contains(what), "{path}: {answered:?}");
    }
    assert_eq!(copies(&desk, "db"), seen[0]);
    // Agents have the tools that read, for the namespace in the address.
    let tools = call(&http, "team/t1", "tools/list", &json!({})).to_string();
    assert!(tools.contains("memory_recall") && !tools.contains("memory_store"), "{tools}");
    let recall = json!({"name": "memory_recall", "arguments": {"query": "which service listens on port"}});
    let recalled = call(&http, "team/t1", "tools/call", &recall).to_string();
    assert!(recalled.contains("port 201") && !recalled.contains("port 200"), "{recalled}");
    let unknown = call(&http, "team/nobody", "tools/call", &recall).to_string();
    assert!(unknown.contains("no memories of team/nobody"), "{unknown}");
    // What another machine extracts appears in the copy.
    crew.world.append("one1", 2, 3, &[("nettle", 1234)]);
    crew.fill();
    crew.work(1);
    let begun = Instant::now();
    while !found(&http, "team/t1", "nettle").iter().any(|content| content.contains("port 1234")) {
        assert!(begun.elapsed() < STALE, "the change does not appear");
        std::thread::sleep(Duration::from_millis(100));
    }
    assert!(!found(&http, "team/t0", "nettle").iter().any(|content| content.contains("port 1234")));
    // A server that starts again does not trust what the last one left behind.
    drop(http);
    let left = copies(&desk, "db");
    let http = serve(&desk, &crew, "2");
    assert!(left.len() == 1 && copies(&desk, "db").is_empty(), "{left:?}");
    // A copy that somebody changed is read again, and never mixed with the changes of the log.
    found(&http, "team/t0", "port");
    let copy = copies(&desk, "db").remove(0);
    let writable = raw(&copy).unwrap();
    writable.execute("UPDATE memories SET content = 'Changed by hand.'", ()).unwrap();
    writable.close().unwrap();
    crew.world.append("one0", 2, 3, &[("sorrel", 4321)]);
    crew.fill();
    crew.work(1);
    let begun = Instant::now();
    while !found(&http, "team/t0", "sorrel").iter().any(|content| content.contains("port 4321")) {
        assert!(begun.elapsed() < STALE, "the change does not appear");
        std::thread::sleep(Duration::from_millis(100));
    }
    assert!(found(&http, "team/t0", "which+service+listens").iter().all(|content| content.contains("port")));
}

#[test]
fn many_requests_for_one_shard_check_it_out_once() {
    let Some(server) = server::shared() else { return };
    let crew = Crew::new(server, 1, Duration::ZERO);
    crew.fill();
    crew.work(1);
    let database = crew.address.strip_prefix("postgres:///").unwrap().split('?').next().unwrap();
    // The statistics of a connection are complete when it has ended.
    let scans = || -> i64 {
        let sql = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'afterthought'";
        let begun = Instant::now();
        while server.rows(database, sql) != ["0"] {
            assert!(begun.elapsed() < Duration::from_mins(1), "a connection stays open");
            std::thread::sleep(Duration::from_millis(100));
        }
        let sql = "SELECT seq_scan + idx_scan FROM pg_stat_user_tables WHERE relname = 'log_items'";
        server.rows(database, sql)[0].parse().unwrap()
    };
    let before = scans();
    let desk = Desk::new();
    let http = serve(&desk, &crew, "3");
    let answers: BTreeSet<Vec<String>> = std::thread::scope(|scope| {
        let asked: Vec<_> = (0..20).map(|_| scope.spawn(|| found(&http, "team/t0", "which+port"))).collect();
        asked.into_iter().map(|one| one.join().unwrap()).collect()
    });
    assert!(answers.len() == 1 && answers.iter().all(|contents| !contents.is_empty()), "{answers:?}");
    drop(http);
    assert_eq!(scans() - before, 1);
}

#[test]
fn without_its_log_a_server_answers_from_the_copies_that_it_has() {
    let Some(server) = server::Server::start() else { return };
    let crew = Crew::new(&server, 2, Duration::ZERO);
    crew.fill();
    crew.work(1);
    let desk = Desk::new();
    let http = serve(&desk, &crew, "2");
    let before = found(&http, "team/t0", "which+port");
    drop(server);
    std::thread::sleep(Duration::from_secs(3));
    for _ in 0..2 {
        assert_eq!(found(&http, "team/t0", "which+port"), before);
        let answered = search(&http, "team/t1", "which+port");
        assert_eq!(answered.status, 503, "{answered:?}");
        assert!(answered.body.contains("cannot use the PostgreSQL server"), "{answered:?}");
    }
    assert_eq!(copies(&desk, "db").len(), 1);
}

#[test]
fn the_page_shows_the_queue_in_both_languages() {
    let Some(server) = server::Server::start() else { return };
    let crew = Crew::new(&server, 2, Duration::ZERO);
    crew.fill();
    let gone = crew.world.path("logs/one0.jsonl");
    std::fs::remove_file(&gone).unwrap();
    let arguments = ["serve", "worker", "--queue", &crew.address, "--limit", "3", "--cache", "cache"];
    crew.world.done(&[&arguments[..], &["--config", "settings.toml"]].concat());
    let desk = Desk::new();
    let open = |language, options: &[&str]| {
        let browser = Browser::start_with(&desk, language, options);
        browser.enter();
        browser
    };
    let shows = |page: &str, parts: &[&str]| {
        let page = page.replace("&#x2f;", "/");
        for part in parts {
            assert!(page.contains(part), "{part}: {page}");
        }
    };
    let english = open("en", &["--queue", &crew.address]);
    shows(&english.page("/runs"), &["<a href=\"/queue\""]);
    let page = english.page("/queue");
    shows(
        &page,
        &[
            "<strong>2</strong> jobs waiting",
            "<strong>2</strong> jobs done",
            "<strong>0</strong> jobs failed",
            "<strong>2</strong> namespaces",
            "logs/one0.jsonl",
            "team/t0",
            "does not exist",
            "aria-current=\"page\">Queue",
            "<time datetime=",
        ],
    );
    let chinese = open("zh", &["--queue", &crew.address]);
    shows(
        &chinese.page("/queue"),
        &["队列", "<strong>2</strong> 个任务已完成", "最近的故障", "等待中", "logs/one0.jsonl"],
    );
    assert!(!chinese.page("/queue").contains("jobs"));
    // Without the option, the page has no queue.
    let none = open("en", &[]);
    assert_eq!(none.get("/queue").status, 404);
    assert!(!none.page("/runs").contains("/queue"));
    // A queue that does not answer does not affect the other pages.
    let without = open("zh", &["--queue", &crew.address]);
    drop(server);
    shows(&without.page("/queue"), &["无法使用 PostgreSQL 服务器"]);
    shows(&without.page("/runs"), &["运行"]);
}
