//! Time that the program adds to the response time of a model server.

use std::io::BufWriter;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::Duration;

use serde_json::Value;

use super::generate::{Session, Tools};
use super::process::{self, Used};
use super::random::Random;
use super::report::{Goal, Report, Row, figure, ms};
use super::server::Server;

const MESSAGES: usize = 6_000;
const FILES: usize = 12;
const PROJECTS: usize = 3;
const DELAY: Duration = Duration::from_secs(1);

/// Measures a run on 6,000 messages with four and with eight concurrent calls.
pub fn measure(report: &mut Report) {
    let folder = tempfile::tempdir().unwrap();
    let written = write_logs(&folder.path().join("logs"));
    for jobs in [4, 8] {
        let at = tempfile::tempdir().unwrap();
        let server = Server::start(DELAY);
        let used = run(&server, &folder.path().join("logs"), at.path(), jobs);
        add_rows(report, &server, &used, jobs, written);
    }
}

/// Writes the logs and returns the number of lines. Each line contains one message.
fn write_logs(folder: &Path) -> usize {
    std::fs::create_dir(folder).unwrap();
    let mut random = Random::new(1);
    let lines = (0..FILES).map(|number| {
        let mut out = BufWriter::new(std::fs::File::create(folder.join(format!("{number:02}.jsonl"))).unwrap());
        let project = format!("/home/ana/project-{}", number % PROJECTS);
        let mut session = Session::new(&mut random, number, &project, Tools::Some);
        let mut lines = 0;
        while lines < MESSAGES / FILES {
            lines += session.turn(&mut out);
        }
        lines
    });
    lines.sum()
}

fn run(server: &Server, logs: &Path, folder: &Path, jobs: usize) -> Used {
    let mut command = process::program(folder);
    command.args(["--json", "--quiet", "run", "--extractor", "llm", "--model", "fixed-delay"]);
    command.args(["--base-url", &server.base_url, "--jobs", &jobs.to_string()]).arg(logs);
    process::run(&mut command, folder)
}

fn add_rows(report: &mut Report, server: &Server, used: &Used, jobs: usize, written: usize) {
    let windows = server.asked.windows.load(Ordering::Relaxed);
    let relations = server.asked.relations.load(Ordering::Relaxed);
    let summary = used.printed.lines().rev().find_map(|line| serde_json::from_str::<Value>(line).ok()).unwrap();
    let messages = usize::try_from(find(&summary, "messages").unwrap().as_u64().unwrap()).unwrap();
    assert_eq!(messages, written, "every message is read");
    // Questions about uncertain pairs are asked at the end, one after another.
    let ideal = DELAY.as_secs_f64() * (figure(windows) / figure(jobs) + figure(relations));
    let seconds = DELAY.as_secs_f64();
    let calls = format!("{seconds} s × ({windows} windows ÷ {jobs} + {relations} grey questions)");
    let wall = used.wall.as_secs_f64();
    report.add(
        Row::new(format!("{messages} messages, --jobs {jobs}"), wall, "s")
            .goal(Goal::AtMost(1.1 * ideal))
            .beside(calls, ideal),
    );
    let cpu = ms(used.cpu) / figure(messages);
    report.add(Row::new(format!("own processor time, --jobs {jobs}"), cpu, "ms a message").goal(Goal::AtMost(1.0)));
    report.add(Row::new(format!("peak memory, --jobs {jobs}"), used.peak_mb, "MB").goal(Goal::AtMost(80.0)));
}

/// Returns the value called `name` in the object or in an object that it contains.
fn find<'v>(value: &'v Value, name: &str) -> Option<&'v Value> {
    value.get(name).or_else(|| value.as_object()?.values().find_map(|inner| find(inner, name)))
}
