//! Time until `search` prints its first line, and until a hook of an agent ends.

use std::io::{Read as _, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rusqlite::{Connection, OpenFlags};

use super::process;
use super::report::{Goal, Report, Row, ms};
use super::store;

const MEMORIES: usize = 10_000;
const STARTS: usize = 20;
const QUERY: [&str; 2] = ["cache", "bakeli"];
/// The query that the program runs, applied to an index of the same texts.
const BARE: &str = "SELECT rowid, bm25(words, 3.0, 2.0) AS score FROM words
    WHERE words MATCH 'cache OR bakeli' ORDER BY score LIMIT 10";

/// An event, further fields of its input, and the beginning of the expected output.
type Hook = (&'static str, &'static str, &'static str);

/// The hooks that an agent waits for.
const HOOKS: [Hook; 5] = [
    ("session-start", r#""source":"startup""#, "{\"hookSpecificOutput\""),
    ("user-prompt-submit", r#""prompt":"How does the cache treat bakeli?""#, ""),
    ("pre-tool-use", r#""tool_name":"Bash","tool_input":{"command":"npm test"}"#, ""),
    ("post-tool-use", r#""tool_name":"Bash","tool_input":{"command":"npm test"},"tool_response":{"stdout":"ok"}"#, ""),
    (
        "post-tool-use-failure",
        r#""tool_name":"Bash","tool_input":{"command":"npm test"},"error":"Exit code 1\nError: Cannot find module 'a'""#,
        "",
    ),
];

/// Measures starts of `search` and of a hook with 10,000 memories, alternating with the references.
pub fn measure(report: &mut Report) {
    let folder = tempfile::tempdir().unwrap();
    let database = folder.path().join("memories.db");
    store::fill(&database, MEMORIES);
    let index = folder.path().join("bare.db");
    index_bare(&database, &index);
    let (mut search, mut version, mut bare) = (Vec::new(), Vec::new(), Vec::new());
    let mut hooks = HOOKS.map(|_| Vec::new());
    for _ in 0..STARTS {
        for (times, hook) in hooks.iter_mut().zip(HOOKS) {
            times.push(called(folder.path(), hook));
        }
        search.push(first_output(process::program(folder.path()).arg("search").args(QUERY)));
        version.push(first_output(process::program(folder.path()).arg("--version")));
        bare.push(bare_query(&index));
    }
    [&mut search, &mut version, &mut bare].into_iter().chain(&mut hooks).for_each(|times| times.sort());
    for (name, at) in [("p50", STARTS / 2), ("p95", STARTS * 95 / 100 - 1)] {
        let row = |beside: &str, value: Duration| {
            Row::new(format!("first output of search, {name}"), ms(search[at]), "ms").beside(beside, ms(value))
        };
        report.add(row("--version", version[at]).goal(Goal::AtMost(30.0)));
        report.add(row("bare FTS5 query in a running process", bare[at]));
        for (times, (event, ..)) in hooks.iter().zip(HOOKS) {
            let row = Row::new(format!("hook {event}, whole process, {name}"), ms(times[at]), "ms");
            let row = row.beside("--version", ms(version[at]));
            report.add(if event == "session-start" { row.goal(Goal::AtMost(40.0)) } else { row });
        }
    }
}

/// Returns the time from the start of the program to its first byte of output.
fn first_output(command: &mut Command) -> Duration {
    let started = Instant::now();
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut output = child.stdout.take().unwrap();
    output.read_exact(&mut [0]).unwrap();
    let waited = started.elapsed();
    std::io::copy(&mut output, &mut std::io::sink()).unwrap();
    assert!(child.wait().unwrap().success());
    waited
}

/// Indexes the titles and contents of the memories in a separate database.
fn index_bare(database: &Path, index: &Path) {
    let conn = Connection::open(index).unwrap();
    conn.execute("ATTACH ?1 AS own", [database.display().to_string()]).unwrap();
    conn.execute_batch(
        "CREATE VIRTUAL TABLE words USING fts5 (title, content, content = '', tokenize = 'porter unicode61');
         INSERT INTO words (rowid, title, content) SELECT seq, title, content FROM own.memories;",
    )
    .unwrap();
}

/// Returns the time from the start of a hook to its end. Each call uses a new session.
fn called(folder: &Path, (event, rest, says): Hook) -> Duration {
    let input = format!(r#"{{"session_id":"{}","cwd":"{}",{rest}}}"#, uuid::Uuid::now_v7(), folder.display());
    let started = Instant::now();
    let mut command = process::program(folder);
    let mut child = command.args(["hook", event]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let waited = started.elapsed();
    assert!(output.status.success() && output.stdout.starts_with(says.as_bytes()), "{event}: {output:?}");
    waited
}

fn bare_query(database: &Path) -> Duration {
    let started = Instant::now();
    let conn = Connection::open_with_flags(database, OpenFlags::SQLITE_OPEN_READ_ONLY).unwrap();
    let mut statement = conn.prepare(BARE).unwrap();
    let found = statement.query_map((), |row| row.get::<_, i64>(0)).unwrap().count();
    assert_eq!(found, 10);
    started.elapsed()
}
