//! The rows of pairs and streams.

use super::counts::{Counts, MEASURES, PAIR, STREAM};
use super::report::{PairReport, Report, StreamReport};
use crate::eval::rows::{Confusion, Defined, Found, Row, Spoken};

/// Returns what rows of pairs and streams measure.
#[must_use]
pub fn defined() -> Vec<Defined> {
    MEASURES.iter().map(super::Measure::defined).collect()
}

impl Report {
    /// Returns a row for each pair and stream, without suite, repeat and cost: many are asked about in one call.
    pub fn rows(&self) -> impl Iterator<Item = Row> {
        self.pairs.iter().map(pair).chain(self.streams.iter().map(stream))
    }
}

fn row(kind: &str, split: &str, id: &str, language: &str, counts: &Counts) -> Row {
    let measures = MEASURES.iter().filter(|measure| measure.kind == kind);
    Row {
        kind: kind.to_owned(),
        case: format!("{split}/{id}"),
        split: split.to_owned(),
        language: Some(language.to_owned()),
        measures: measures.map(|measure| (measure.name.to_owned(), (measure.ratio)(counts))).collect(),
        confusion: confusion(counts),
        ..Row::default()
    }
}

fn confusion(counts: &Counts) -> Vec<Confusion> {
    let each =
        counts.confusion.iter().flat_map(|(expected, got)| got.iter().map(move |(got, count)| (expected, got, count)));
    each.map(|(expected, got, &count)| Confusion {
        of: "decision".to_owned(),
        expected: (*expected).to_owned(),
        got: (*got).to_owned(),
        count,
    })
    .collect()
}

fn spoken(id: &str, speaker: &str, text: &str) -> Spoken {
    Spoken { id: id.to_owned(), speaker: speaker.to_owned(), text: text.to_owned() }
}

fn pair(pair: &PairReport) -> Row {
    let why = format!("expected {}, got {}: {}", pair.expected, pair.got, pair.reason);
    let found = |fault: &super::PairFault| Found {
        what: fault.as_str().to_owned(),
        id: fault.as_str().to_owned(),
        text: pair.incoming.clone(),
        why: why.clone(),
        counts: true,
        evidence: Vec::new(),
    };
    let findings: Vec<Found> = pair.faults.iter().rev().map(found).collect();
    let said = [spoken("known", "known", &pair.known), spoken("incoming", "incoming", &pair.incoming)];
    Row {
        phenomena: std::iter::once(pair.phenomenon.clone()).chain(pair.hard.clone()).collect(),
        said: if findings.is_empty() { Vec::new() } else { said.into() },
        findings,
        ..row(PAIR, &pair.split, &pair.id, &pair.language, &pair.counts)
    }
}

fn stream(stream: &StreamReport) -> Row {
    let why = format!("expected {}, got {}", stream.expected, stream.got);
    let said = |id: &str| stream.events.iter().find(|(event, _)| event == id).map(|(_, said)| said.clone());
    let mut findings: Vec<Found> = stream
        .faults
        .iter()
        .map(|one| Found {
            what: one.fault.as_str().to_owned(),
            id: format!("{} {}", one.event, one.fault.as_str()),
            text: said(&one.event).unwrap_or_else(|| one.event.clone()),
            why: why.clone(),
            counts: true,
            evidence: Vec::new(),
        })
        .collect();
    if stream.growth > 0 {
        findings.push(Found {
            what: "grows".to_owned(),
            id: "grows".to_owned(),
            text: format!("a second run of the same makes {} memories", stream.growth),
            counts: true,
            ..Found::default()
        });
    }
    let events = stream.events.iter().map(|(id, said)| spoken(id, id, said));
    let decided = stream.decided.iter().map(|decided| spoken("", "decided", decided));
    Row {
        phenomena: stream.phenomena.clone(),
        said: if findings.is_empty() { Vec::new() } else { events.chain(decided).collect() },
        findings,
        ..row(STREAM, &stream.split, &stream.id, &stream.language, &stream.counts)
    }
}
