//! Tests that every kind of fault is detected, and that correct outcomes have no faults.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::pairs::{MemoryAfter, PairOutcome, faults_of as pair_faults, score_pair};
use super::streams::{FinalMemory, StreamOutcome, faults_of as stream_faults, score_stream};
use super::{Event, Pair, Stream};
use crate::files::Placed;
use crate::results::Ratio;
use crate::vocabulary::{Conflict, Decision, PairFault, RelationType, Status, StreamFault};

fn placed<T>(case: T) -> Placed<T> {
    Placed { file: "en".into(), split: "dev".to_owned(), language: "en".to_owned(), case }
}

/// Contents of the two memories.
const KNOWN: &str = "The user has 2 cats.";
const INCOMING: &str = "The user has a dog in Riga.";
const JOINED: &str = "The user has 2 cats and a dog in Riga.";

fn pair(fields: &Value) -> Pair {
    let mut whole = json!({"id": "x", "phenomenon": "row", "known": {"content": KNOWN, "said": null},
                           "incoming": {"content": INCOMING, "said": null}});
    let object = whole.as_object_mut().unwrap();
    object.extend(fields.as_object().unwrap().clone());
    serde_json::from_value(whole).unwrap()
}

/// An outcome: the decision with its qualifiers, then the memories. Each memory is a letter for its status, letters for
/// the memories whose sources it quotes, and `=` followed by the content: `k`, `i` or both.
fn outcome(decided: &str, memories: &[&str]) -> PairOutcome {
    let mut words = decided.split(' ');
    let name = words.next().unwrap();
    let marks: Vec<&str> = words.collect();
    let conflict = [Conflict::Changed, Conflict::Corrected, Conflict::Conflict];
    PairOutcome {
        reason: String::new(),
        decision: *Decision::ALL.iter().find(|decision| decision.as_str() == name).unwrap(),
        conflict: conflict.into_iter().find(|conflict| marks.contains(&conflict.as_str())),
        late: marks.contains(&"late"),
        waits: marks.contains(&"waits"),
        elsewhere: marks.contains(&"elsewhere"),
        found: Some(true),
        after: memories.iter().map(|text| after(text)).collect(),
    }
}

fn after(text: &str) -> MemoryAfter {
    let (head, says) = text.split_once('=').unwrap();
    let content = match says {
        "k" => KNOWN,
        "i" => INCOMING,
        _ => JOINED,
    };
    MemoryAfter {
        status: status(head),
        content: content.to_owned(),
        is_known: head.contains('!'),
        rests_on_known: head.contains('k'),
        rests_on_incoming: head.contains('i'),
    }
}

fn status(head: &str) -> Status {
    match &head[..1] {
        "A" => Status::Active,
        "S" => Status::Superseded,
        "P" => Status::Pending,
        _ => Status::Forgotten,
    }
}

#[test]
fn every_fault_of_a_pair_is_found() {
    use PairFault as F;
    let changed = json!({"expect": "contradict", "why": "changed"});
    let late = json!({"expect": "contradict", "why": "changed", "late": true});
    let open = json!({"expect": "contradict", "why": "conflict"});
    let (add, hard) = (json!({"expect": "add"}), json!({"expect": "add", "hard": "number"}));
    let both: &[&str] = &["Ak!=k", "Ai=i"];
    let retired: &[&str] = &["Sk!=k", "Ai=i"];
    let rows: Vec<(&Value, &str, &[&str], &[F])> = vec![
        (&add, "add", both, &[]),
        (&changed, "contradict changed", retired, &[]),
        (&late, "contradict changed late", &["Ak!=k", "Si=i"], &[]),
        (&open, "contradict conflict waits", &["Ak!=k", "Pi=i"], &[]),
        // Merged although both are true.
        (&hard, "support", &["Aki!=k"], &[F::Decision, F::FalseMerge, F::LostIncoming]),
        (&add, "support", &["Aki!=k"], &[F::Decision, F::LostIncoming]),
        (&hard, "refine", &["Sk!=k", "Aki=i"], &[F::Decision, F::FalseMerge, F::LostKnown]),
        (&hard, "merge", &["Aki!=both"], &[F::Decision, F::FalseMerge]),
        (&hard, "skip", &["Ak!=k"], &[F::Decision, F::FalseMerge, F::LostIncoming]),
        // Retired although both are true, or the wrong memory retired.
        (&hard, "contradict changed", retired, &[F::Decision, F::WrongRetirement, F::LostKnown]),
        (&add, "contradict changed late", &["Ak!=k", "Si=i"], &[F::Decision, F::WrongRetirement, F::LostIncoming]),
        (&late, "contradict changed", retired, &[F::Late, F::WrongRetirement, F::LostKnown]),
        (&changed, "contradict changed late", &["Ak!=k", "Si=i"], &[F::Late, F::WrongRetirement, F::LostIncoming]),
        (&open, "contradict changed", retired, &[F::Why, F::WrongRetirement, F::LostKnown]),
        // A contradiction with the wrong reason, or with no reason.
        (&changed, "contradict corrected", retired, &[F::Why]),
        (&changed, "contradict conflict waits", &["Ak!=k", "Pi=i"], &[F::Why]),
        (&changed, "add", both, &[F::Decision, F::MissedContradiction]),
        (&changed, "support", &["Aki!=k"], &[F::Decision, F::MissedContradiction, F::LostIncoming]),
    ];
    for (fields, decided, memories, expected) in rows {
        let (pair, outcome) = (pair(fields), outcome(decided, memories));
        assert_eq!(pair_faults(&pair, &outcome), expected, "{fields} {decided} {memories:?}");
        let row = score_pair(&placed(pair), &outcome);
        assert_eq!(row.measures["all right"], Ratio::of(u64::from(expected.is_empty()), 1));
        let merged = row.measures["false merges"].numerator > 0.0;
        assert_eq!((merged, row.findings.len()), (expected.contains(&F::FalseMerge), expected.len()));
    }
}

#[test]
fn details_are_lost_apart_from_facts_and_a_second_right_answer_is_right() {
    use PairFault as F;
    let (merge, refine) = (json!({"expect": "merge"}), json!({"expect": "refine"}));
    let either = json!({"expect": "support", "or": ["add"]});
    let compound = json!({"expect": "contradict", "why": "changed", "part": true});
    let rows: Vec<(&Value, &str, &[&str], &[F])> = vec![
        (&merge, "merge", &["Aki!=both"], &[]),
        (&merge, "refine", &["Sk!=k", "Aki=i"], &[F::Decision, F::LostDetail]),
        (&merge, "support", &["Aki!=k"], &[F::Decision, F::LostDetail]),
        (&merge, "add", &["Ak!=k", "Ai=i"], &[F::Decision]),
        (&refine, "refine", &["Sk!=k", "Aki=i"], &[]),
        (&refine, "support", &["Aki!=k"], &[F::Decision, F::LostDetail]),
        (&either, "support", &["Aki!=k"], &[]),
        (&either, "add", &["Ak!=k", "Ai=i"], &[]),
        (&either, "support elsewhere", &["Ak!=k"], &[F::Decision]),
        // The rest of a compound memory remains, in whichever memory.
        (&compound, "contradict changed", &["Sk!=k", "Aki=both"], &[]),
        (&compound, "contradict changed", &["Sk!=k", "Ai=i"], &[F::WrongRetirement, F::LostKnown]),
    ];
    for (fields, decided, memories, expected) in rows {
        let faults = pair_faults(&pair(fields), &outcome(decided, memories));
        assert_eq!(faults, expected, "{fields} {decided} {memories:?}");
    }
}

/// A stream of events a, b, c and d, and optionally `p`, an event with several parts.
fn stream(fields: &Value) -> Stream {
    let event = |id: &str| json!({"id": id, "arrival": 1, "content": id, "said": null, "parts": id == "p"});
    let ids = ["a", "b", "c", "d"].into_iter().chain(fields.get("p").map(|_| "p"));
    let events: Vec<Value> = ids.map(event).collect();
    let mut whole = json!({"id": "x", "phenomenon": [], "events": events});
    let mut fields = fields.as_object().unwrap().clone();
    fields.remove("p");
    whole.as_object_mut().unwrap().extend(fields);
    serde_json::from_value(whole).unwrap()
}

/// Memories, each written as a letter for its status and the events that it is based on: `A:ab`.
fn end(memories: &[&str], links: &[(usize, &'static str, usize)]) -> StreamOutcome {
    let left = |text: &&str| {
        let (head, events) = text.split_once(':').unwrap();
        let events: BTreeSet<String> = events.chars().map(String::from).collect();
        FinalMemory { status: status(head), events }
    };
    let links = links.iter().map(|(from, name, to)| (*from, name.parse::<RelationType>().unwrap(), *to)).collect();
    StreamOutcome { memories: memories.iter().map(left).collect(), links, ..StreamOutcome::default() }
}

/// Fields of a stream, the memories and links at its end, and the expected faults.
type StreamRow<'a> = (&'a Value, &'a [&'a str], &'a [(usize, &'static str, usize)], &'a [(StreamFault, &'a str)]);

#[test]
fn every_fault_of_a_stream_is_found() {
    use StreamFault as F;
    let plain = json!({"active": [["a", "b"], ["c"]], "gone": ["d"], "links": [["c", "supersedes", "d"]]});
    let inbox = json!({"active": [["a"], ["b"]], "waiting": [["c"]], "gone": ["d"]});
    let parts = json!({"p": true, "active": [["a"], ["b"], ["p"]], "gone": ["c", "d"]});
    let linked: &[(usize, &str, usize)] = &[(1, "supersedes", 2)];
    let rows: Vec<StreamRow<'_>> = vec![
        (&plain, &["A:ab", "A:c", "S:d"], linked, &[]),
        // A chain of replacements counts as a link, and a memory may be based on more events than listed.
        (&plain, &["A:ab", "A:c", "S:", "S:d"], &[(1, "supersedes", 2), (2, "supersedes", 3)], &[]),
        (&plain, &["A:ab", "A:c", "S:d"], &[(1, "contradicts", 2)], &[(F::Unlinked, "c supersedes d")]),
        (&plain, &["S:ab", "A:c", "S:d"], linked, &[(F::Lost, "a"), (F::Lost, "b")]),
        (&plain, &["A:ab", "A:c", "A:d"], linked, &[(F::Alive, "d")]),
        (&plain, &["A:ab", "A:c", "P:d"], linked, &[(F::Waiting, "d")]),
        (&plain, &["A:ab", "P:c", "S:d"], linked, &[(F::Waiting, "c")]),
        (&plain, &["A:a", "A:c", "S:d", "A:b"], linked, &[(F::Apart, "a"), (F::Apart, "b")]),
        (&plain, &["A:abc", "S:c", "S:d"], linked, &[(F::Merged, "a"), (F::Merged, "b"), (F::Merged, "c")]),
        (&plain, &["A:ab", "A:c", "S:d", "A:c"], linked, &[(F::Apart, "c")]),
        (&inbox, &["A:a", "A:b", "P:c", "S:d"], &[], &[]),
        (&inbox, &["A:a", "A:b", "A:c", "S:d"], &[], &[(F::Alive, "c")]),
        (&inbox, &["A:a", "A:b", "S:c", "S:d"], &[], &[(F::Lost, "c")]),
        (&parts, &["A:a", "A:b", "A:p", "S:c", "S:d"], &[], &[]),
        (&parts, &["A:ap", "A:b", "S:p", "S:c", "S:d"], &[], &[]),
        (&parts, &["A:a", "A:b", "S:p", "S:c", "S:d"], &[], &[(F::Lost, "p")]),
    ];
    for (fields, memories, links, expected) in rows {
        let (stream, outcome) = (stream(fields), end(memories, links));
        let (faults, is_exact) = stream_faults(&stream, &outcome);
        let found: Vec<(F, &str)> = faults.iter().map(|(fault, event)| (*fault, event.as_str())).collect();
        assert_eq!(found, expected, "{memories:?}");
        assert_eq!(is_exact, expected.is_empty(), "{memories:?}");
        let row = score_stream(&placed(stream), &outcome);
        assert_eq!(row.measures["streams"], Ratio::of(u64::from(expected.is_empty()), 1), "{memories:?}");
    }
}

#[test]
fn a_memory_more_and_an_act_that_failed_spoil_a_stream() {
    let wanted = stream(&json!({"active": [["a"], ["b"], ["c"]], "gone": ["d"]}));
    let whole = ["A:a", "A:b", "A:c", "S:d"];
    assert!(stream_faults(&wanted, &end(&whole, &[])).1);
    let more = end(&["A:a", "A:b", "A:c", "S:d", "A:"], &[]);
    assert!(!stream_faults(&wanted, &more).1);
    let failed = StreamOutcome { failed_acts: vec!["accept d".to_owned()], ..end(&whole, &[]) };
    let (faults, is_exact) = stream_faults(&wanted, &failed);
    assert_eq!((faults[0].0, is_exact), (StreamFault::Act, false));
    assert_eq!(wanted.events.iter().filter_map(Event::id).count(), 4);
}
