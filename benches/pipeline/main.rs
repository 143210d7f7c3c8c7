//! Measures the program against its goals, and shows each figure next to a reference from the same run.
//!
//! `cargo bench --bench pipeline` measures everything except `search-million`, which takes a long time. `-- startup
//! guard` selects these two parts, and `-- --json` prints JSON.

#![expect(unreachable_pub, reason = "modules of one binary share their helpers")]
#![expect(clippy::unwrap_used, reason = "a panic ends the measurement, which is what it should do")]
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "this is a program for people to read")]

mod claims;
mod consolidation;
mod generate;
mod guard;
mod ingest;
mod lines;
mod memory;
mod million;
mod overhead;
mod process;
mod random;
mod report;
mod rules;
mod search;
mod server;
mod startup;
mod store;
mod sync;
mod vectors;

use report::Report;

/// A part of the measurement: its name, and the function that adds its rows.
type Part = (&'static str, fn(&mut Report));

const PARTS: &[Part] = &[
    ("overhead", overhead::measure),
    ("startup", startup::measure),
    ("ingest", ingest::measure),
    ("guard", guard::measure),
    ("rules", rules::measure),
    ("store", store::measure),
    ("sync", sync::measure),
    ("vectors", vectors::measure),
    ("consolidation", consolidation::measure),
    ("search", search::measure),
    ("search-million", million::measure),
    ("memory", memory::measure),
];

/// Parts that run only if they are named on the command line.
const LONG: &[&str] = &["search-million"];

fn main() {
    // Cargo passes `--bench`; `cargo test` also runs this program, but names no part.
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    let as_json = arguments.iter().any(|argument| argument == "--json");
    let wanted: Vec<&String> = arguments.iter().filter(|argument| !argument.starts_with("--")).collect();
    let mut report = Report::default();
    let is_wanted = |name: &str| {
        if wanted.is_empty() { !LONG.contains(&name) } else { wanted.iter().any(|part| *part == name) }
    };
    for (name, measure) in PARTS.iter().filter(|(name, _)| is_wanted(name)) {
        eprintln!("measuring {name} …");
        report.begin(name);
        measure(&mut report);
    }
    if as_json {
        println!("{}", report.json());
    } else {
        println!("{}", report.table());
    }
}
