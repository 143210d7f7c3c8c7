//! Speed of reading logs.

use std::hint::black_box;
use std::time::Duration;

use serde::de::IgnoredAny;
use serde_json::Value;
use transcripts::Transcript;
use transcripts::{self, Input, Sink};

use super::generate::{Tools, session_text};
use super::report::{Goal, Report, Row, best_of, figure};

const BYTES: usize = 48 << 20;
const ROUNDS: usize = 3;

/// Measures the Claude Code reader against plain `serde_json` passes over the same bytes.
pub fn measure(report: &mut Report) {
    for (name, tools) in [("mostly tool output", Tools::Mostly), ("mixed", Tools::Some)] {
        let text = session_text(2, BYTES, tools);
        let speed = |time: Duration| figure(text.len()) / 1e6 / time.as_secs_f64();
        let own = best_of(ROUNDS, || Input::from_text("a.jsonl", &text), |input| read(input, &mut |_| {}));
        let values = best_of(ROUNDS, || (), |()| each_line(&text, |line| _ = black_box(value(line))));
        let ignored = best_of(ROUNDS, || (), |()| each_line(&text, |line| _ = black_box(ignore(line))));
        let row = || Row::new(format!("Claude Code JSONL, {name}"), speed(own), "MB/s");
        // The goal is 60 % of the speed of a plain pass, or 300 MB/s on one core for logs that consist mostly of tool
        // output.
        let floor = if tools == Tools::Mostly { f64::max(300.0, 0.6 * speed(values)) } else { 0.6 * speed(values) };
        report.add(row().goal(Goal::AtLeast(floor)).beside("serde_json::Value", speed(values)));
        report.add(row().beside("serde IgnoredAny", speed(ignored)));
    }
}

/// Reads a log and passes its transcripts to `accept`.
pub fn read(input: Input, accept: &mut dyn FnMut(Transcript)) {
    let mut sink = Sink::new(accept);
    transcripts::by_name("claude-code").unwrap().read(input, &mut sink).unwrap();
    assert!(sink.skipped.is_empty(), "every line is read");
}

fn each_line(text: &str, parse: impl Fn(&str)) {
    text.lines().for_each(parse);
}

fn value(line: &str) -> Value {
    serde_json::from_str(line).unwrap()
}

fn ignore(line: &str) -> IgnoredAny {
    serde_json::from_str(line).unwrap()
}
