//! Cost of removing secrets from ordinary text.

use std::time::Duration;

use afterthought::guard::{Guard, GuardSettings};
use regex::Regex;
use transcripts::Input;

use super::generate::{Tools, code, prose, session_text};
use super::ingest::read;
use super::random::Random;
use super::report::{Report, Row, best_of, figure};

const TEXTS: usize = 500;
const TEXT_BYTES: usize = 4 << 10;
const ROUNDS: usize = 5;
/// A simple pattern for a named secret, as a reference.
const PLAIN: &str = r"(?i)\b(?:password|secret|token|api[_-]?key)\b\s*[:=]\s*\S+";

/// Measures the redaction of prose and code in texts of 4 KB, and the whole cleaning of a session.
pub fn measure(report: &mut Report) {
    let guard = Guard::new(&GuardSettings::default());
    let plain = Regex::new(PLAIN).unwrap();
    let mut random = Random::new(3);
    let texts = |make: &mut dyn FnMut() -> String| (0..TEXTS).map(|_| make()).collect::<Vec<_>>();
    let kinds = [
        ("prose", texts(&mut || prose(&mut random, TEXT_BYTES / 5))),
        ("code and tool output", texts(&mut || code(&mut random, TEXT_BYTES))),
    ];
    for (name, texts) in kinds {
        let bytes = texts.iter().map(String::len).sum();
        let own = best_of(ROUNDS, || texts.clone(), |texts| guard.redact(texts));
        let matches = |texts: &[String]| texts.iter().map(|text| plain.find_iter(text).count()).sum::<usize>();
        let regex = best_of(ROUNDS, || (), |()| matches(&texts));
        report.add(Row::new(name, per_kb(own, bytes), "µs/KB").beside("one plain regex", per_kb(regex, bytes)));
    }
    whole_session(report, &guard, &plain);
}

fn whole_session(report: &mut Report, guard: &Guard, plain: &Regex) {
    let mut transcripts = Vec::new();
    let text = session_text(4, 8 << 20, Tools::Some);
    read(Input::from_text("a.jsonl", &text), &mut |transcript| transcripts.push(transcript));
    let texts = || transcripts.iter().flat_map(|transcript| &transcript.messages).map(|message| &message.text);
    let bytes = texts().map(String::len).sum();
    let clean = |transcripts: Vec<_>| {
        transcripts.into_iter().map(|transcript| guard.clean_transcript(transcript)).collect::<Vec<_>>()
    };
    let own = best_of(ROUNDS, || transcripts.clone(), clean);
    let regex = best_of(ROUNDS, || (), |()| texts().map(|text| plain.find_iter(text).count()).sum::<usize>());
    report.add(
        Row::new("a whole session, injected text included", per_kb(own, bytes), "µs/KB")
            .beside("one plain regex", per_kb(regex, bytes)),
    );
}

fn per_kb(time: Duration, bytes: usize) -> f64 {
    time.as_secs_f64() * 1e6 / (figure(bytes) / 1e3)
}
