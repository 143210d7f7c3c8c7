//! Cost of the offline rules.

use std::hint::black_box;

use afterthought::extract::{Span, Task, WindowBudget, offline, window};
use afterthought::guard::{Guard, Redacted};
use regex::Regex;
use transcripts::Input;
use transcripts::{Message, Transcript};

use super::generate::{Tools, prose, session_text};
use super::ingest::read;
use super::random::Random;
use super::report::{Report, Row, best_of, figure, ms};

const ROUNDS: usize = 3;
const SPOKEN: usize = 2_000;

/// Measures the rules on a coding session, and on messages that were all written by people.
pub fn measure(report: &mut Report) {
    let mut transcripts = Vec::new();
    let text = session_text(5, 16 << 20, Tools::Some);
    read(Input::from_text("a.jsonl", &text), &mut |transcript| transcripts.push(transcript));
    add(report, "coding session", transcripts);
    let mut random = Random::new(6);
    let message = |index| Message { id: format!("m{index}"), ..Message::user(prose(&mut random, 60)) };
    let messages = (0..SPOKEN).map(message).collect();
    add(report, "people's words only", vec![Transcript { messages, ..Transcript::default() }]);
}

fn add(report: &mut Report, name: &str, transcripts: Vec<Transcript>) {
    let guard = Guard::default();
    let cleaned: Vec<_> = transcripts.into_iter().map(|transcript| guard.clean_transcript(transcript).0).collect();
    let messages: usize = cleaned.iter().map(|transcript| transcript.messages.len()).sum();
    let words = Regex::new(r"\w+").unwrap();
    let thousand = figure(messages) / 1e3;
    let cut = best_of(ROUNDS, || (), |()| spans(&cleaned));
    let spans = spans(&cleaned);
    let own = best_of(ROUNDS, || (), |()| extract(&spans));
    let said = || cleaned.iter().flat_map(|t| &t.messages).filter(|message| message.is_human());
    let plain = best_of(ROUNDS, || (), |()| said().map(|m| words.find_iter(&m.text).count()).sum::<usize>());
    report.add(
        Row::new(format!("extraction, {name}"), ms(own) / thousand, "ms per 1,000 messages")
            .beside("finding the words that people said", ms(plain) / thousand),
    );
    report.add(Row::new(format!("cutting windows, {name}"), ms(cut) / thousand, "ms per 1,000 messages"));
}

type Spans<'t> = Vec<(&'t Redacted<Transcript>, Vec<Span>)>;

fn spans(transcripts: &[Redacted<Transcript>]) -> Spans<'_> {
    let cut = |one: &Transcript| window::windows(&one.messages, &[], WindowBudget::default());
    transcripts.iter().map(|one| (one, cut(one).into_iter().map(|window| window.span).collect())).collect()
}

fn extract(spans: &Spans<'_>) {
    for (transcript, span) in
        spans.iter().flat_map(|(transcript, spans)| spans.iter().map(move |span| (transcript, span)))
    {
        let task = Task { transcript, span: *span, known: &[], instructions: None, categories: &[] };
        black_box(offline::extract(&task));
    }
}
