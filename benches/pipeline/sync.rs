//! Time in which two machines exchange changes through a folder, with and without a key.

use std::path::Path;
use std::time::Duration;

use super::process;
use super::report::{Goal, Report, Row, ms};
use super::store;

/// Memories, each with one piece of evidence, so that twice as many changes travel.
const MEMORIES: usize = 5_000;
const ROUNDS: usize = 9;

/// Measures the whole process of `db sync now`.
pub fn measure(report: &mut Report) {
    for (name, is_encrypted) in [("plain", false), ("with a key", true)] {
        let home = tempfile::tempdir().unwrap();
        let [one, other] = ["one", "other"].map(|name| home.path().join(name));
        let key = home.path().join("sync.key");
        run(home.path(), &["db", "sync", "key", key.to_str().unwrap()]);
        let target = home.path().join("shared");
        for folder in [&one, &other] {
            std::fs::create_dir(folder).unwrap();
            let mut words = vec!["db", "sync", "add", target.to_str().unwrap(), "--namespace", "global", "--manual"];
            if is_encrypted {
                words.extend(["--key", key.to_str().unwrap()]);
            }
            run(folder, &words);
        }
        store::fill(&one.join("memories.db"), MEMORIES);
        let sent = sync(&one, 2 * MEMORIES, 0);
        let received = sync(&other, 0, 2 * MEMORIES);
        let add = |what: String, time: Duration, goal: f64| {
            Row::new(format!("{what}, {name}"), ms(time), "ms").goal(Goal::AtMost(goal))
        };
        report.add(Row::new(format!("10,000 changes out of a machine, {name}"), ms(sent), "ms"));
        report.add(add("10,000 changes into an empty machine".to_owned(), received, 10_000.0));
        let (mut out, mut into) = (Vec::new(), Vec::new());
        for number in 0..ROUNDS {
            let text = format!("The shop has {number} shelves for tea.");
            run(&one, &["remember", &text, "--namespace", "global"]);
            out.push(sync(&one, 1, 0));
            into.push(sync(&other, 0, 1));
        }
        for (what, mut times) in [("one change out of a machine", out), ("one change into a machine", into)] {
            times.sort();
            report.add(add(format!("{what}, p50"), times[ROUNDS / 2], 100.0));
        }
    }
}

fn run(folder: &Path, words: &[&str]) {
    process::run(process::program(folder).args(words), folder);
}

/// Returns how long a synchronisation took, which sent and received at least so many changes.
fn sync(folder: &Path, sent: usize, received: usize) -> Duration {
    let used = process::run(process::program(folder).args(["db", "sync", "now", "--json"]), folder);
    let report: serde_json::Value = serde_json::from_str(&used.printed).unwrap();
    let count = |name: &str| usize::try_from(report[name].as_u64().unwrap()).unwrap();
    assert!(count("sent") >= sent && count("received") >= received, "{report}");
    used.wall
}
