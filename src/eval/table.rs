//! What counts as what: one table of small cases.

use super::case::{Case, Language, Ruling, Verdict};
use super::matcher::Rules;
use super::prediction::{Cited, Messages, Prediction};
use super::score::{Scored, Standing, score};
use crate::memory::MemoryType;
use serde_json::{Value, json};
use transcripts::{Message, Transcript};

/// What was said, message 1 first.
const SAID: [&str; 4] = [
    "We moved deploys from Thursday to Tuesday.",
    "Ana owns billing, and Ben owns search.",
    "I never eat meat, except at my grandmother's.",
    "The upload limit is 20 MB — “hard”.",
];

/// Gold memories are written `all & all ! none @ message`, with `?` before an optional one; forbidden ones `all | unless`;
/// memories `content @ message`. Standings are told by their first letters, with `X` for distorted and `D` for a duplicate.
struct Row {
    golds: &'static [&'static str],
    forbidden: &'static [&'static str],
    memories: &'static [&'static str],
    standings: &'static str,
    recalled: &'static str,
}

const fn row(
    golds: &'static [&'static str],
    forbidden: &'static [&'static str],
    memories: &'static [&'static str],
    standings: &'static str,
    recalled: &'static str,
) -> Row {
    Row { golds, forbidden, memories, standings, recalled }
}

const DEPLOY: &str = "deploy & tuesday ! not? on tuesday|from tuesday @ 1";
const ANA: &str = "ana & billing @ 2";
const BEN: &str = "ben & search @ 2";
const MEAT: &str = "meat & grandmother @ 3";
const LIMIT: &str = "20 ?mb ! 20 ?gb @ 4";

const TABLE: &[Row] = &[
    // Matching one memory.
    row(&[DEPLOY], &[], &[], "", "0"),
    row(&[DEPLOY], &[], &["Deploys are on Tuesday. @ 1"], "R", "1"),
    row(&[DEPLOY], &[], &["DEPLOYS ARE ON TUESDAYS @ 1"], "R", "1"),
    row(&[DEPLOY], &[], &["Deploys are on Thursday. @ 1"], "U", "0"),
    row(&[DEPLOY], &[], &["Deploys moved from Tuesday to Thursday. @ 1"], "X", "0"),
    row(&[LIMIT], &[], &["The limit is 20 MB. @ 4"], "R", "1"),
    row(&[LIMIT], &[], &["The limit is 20MB. @ 4"], "R", "1"),
    row(&[LIMIT], &[], &["The limit is ２０ ＭＢ. @ 4"], "R", "1"),
    row(&[LIMIT], &[], &["The limit is 20\u{a0}MB. @ 4"], "R", "1"),
    row(&[LIMIT], &[], &["The limit is 20\nMB. @ 4"], "R", "1"),
    row(&[LIMIT], &[], &["The limit is 20 MB, that is 20 GB. @ 4"], "X", "0"),
    row(&["it's-hard @ 4"], &[], &["It’s‑hard. @ 4"], "R", "1"),
    row(&["it’s—hard @ 4"], &[], &["it's-hard @ 4"], "R", "1"),
    row(&["“hard” @ 4"], &[], &["The limit is \"hard\". @ 4"], "R", "1"),
    row(&["用户叫周岚，在杭州 @ 4"], &[], &["用户叫周岚,在杭州 @ 4"], "R", "1"),
    row(&["^20 mb$ @ 4"], &[], &["20 MB @ 4"], "R", "1"),
    row(&["straße @ 4"], &[], &["STRAßE @ 4"], "R", "1"),
    // One memory, several gold ones.
    row(&[ANA, BEN], &[], &["Ana owns billing, Ben owns search. @ 2"], "R", "11"),
    row(&[ANA, BEN], &[], &["Ana owns billing. @ 2", "Ben owns search. @ 2"], "RR", "11"),
    row(&[ANA, BEN], &[], &["Ana owns billing, Ben owns search. @ 2", "Ben owns search. @ 2"], "RR", "11"),
    row(&[ANA, BEN], &[], &["Ben owns search. @ 2", "Ana owns billing, Ben owns search. @ 2"], "RR", "11"),
    row(
        &[ANA, BEN],
        &[],
        &["Ana owns billing, Ben owns search. @ 2", "Ben owns search. @ 2", "Ana owns billing. @ 2"],
        "RRD",
        "11",
    ),
    // The same again.
    row(&[ANA], &[], &["Ana owns billing. @ 2", "Billing is Ana's. @ 2"], "RD", "1"),
    row(&[ANA], &[], &["Ana owns billing. @ 2", "Billing is Ana's. @ 2", "Ana: billing. @ 2"], "RDD", "1"),
    row(&["?ana & billing @ 2"], &[], &["Ana owns billing. @ 2", "Billing is Ana's. @ 2"], "OD", "1"),
    // What may be left out.
    row(&["?ana & billing @ 2"], &[], &["Ana owns billing. @ 2"], "O", "1"),
    row(&["?ana & billing @ 2"], &[], &[], "", "0"),
    row(&["?ana & billing @ 2", BEN], &[], &["Ana owns billing, Ben owns search. @ 2"], "R", "11"),
    row(&["?20 ?mb ! gb @ 4"], &[], &["20 MB, not 20 GB @ 4"], "X", "0"),
    // Distorted beside right.
    row(&[DEPLOY, LIMIT], &[], &["Deploys not on Tuesday; the limit is 20 MB. @ 4"], "R", "01"),
    row(&[DEPLOY], &[], &["Deploys are not on Tuesday. @ 1", "Deploys are on Tuesday. @ 1"], "XR", "1"),
    // Said together by memories that cite the evidence.
    row(&[MEAT], &[], &["The user eats no meat. @ 3", "The grandmother's is an exception. @ 3"], "RR", "1"),
    row(&[MEAT], &[], &["The user eats no meat. @ 3", "The grandmother's is an exception. @ 1"], "UU", "0"),
    row(&[MEAT], &[], &["The user eats no meat. @ 3"], "U", "0"),
    row(
        &[MEAT],
        &[],
        &["The user eats no meat. @ 3", "The grandmother's is an exception. @ 3", "Lunch is at noon. @ 3"],
        "RRU",
        "1",
    ),
    row(&["?meat & grandmother @ 3"], &[], &["No meat. @ 3", "Grandmother's excepted. @ 3"], "OO", "1"),
    row(&[MEAT, "?meat @ 3"], &[], &["No meat. @ 3", "Grandmother's excepted. @ 3"], "RR", "11"),
    row(&["meat & grandmother ! always @ 3"], &[], &["Always meat. @ 3", "Grandmother's excepted. @ 3"], "UU", "0"),
    // Forbidden.
    row(&[ANA], &["blue.?green"], &["They deploy blue-green. @ 1"], "F", "0"),
    row(&[ANA], &["blue.?green | not|never"], &["They do not deploy blue-green. @ 1"], "U", "0"),
    row(&[ANA], &["hunter2"], &["Ana owns billing; password hunter2. @ 2"], "F", "0"),
    row(&[ANA], &["hunter2"], &["Ana owns billing; password hunter2. @ 2", "Ana owns billing. @ 2"], "FR", "1"),
    row(&[MEAT], &["steak"], &["No meat, no steak. @ 3", "Grandmother's excepted. @ 3"], "FU", "0"),
    row(&[], &["a & b"], &["only a @ 1", "b, a @ 1"], "UF", ""),
    // Nothing to remember.
    row(&[], &[], &["Anything. @ 1"], "U", ""),
];

fn case(row: &Row) -> Rules {
    let list = |text: &str| text.split(" & ").map(str::trim).map(str::to_owned).collect::<Vec<_>>();
    let gold = |(at, text): (usize, &&str)| {
        let (text, message) = text.rsplit_once(" @ ").unwrap();
        let (all, none) = text.split_once(" ! ").unwrap_or((text, ""));
        let none: Vec<&str> = Some(none.trim()).filter(|one| !one.is_empty()).into_iter().collect();
        let message: usize = message.parse().unwrap();
        json!({"id": format!("m{at}"), "text": text, "type": ["semantic"], "importance": "high",
               "optional": all.starts_with('?'), "all": list(all.trim_start_matches('?')), "none": none,
               "evidence": [&SAID[message - 1][3..]]})
    };
    let forbidden = |(at, text): (usize, &&str)| {
        let (all, unless) = text.split_once(" | ").unwrap_or((text, ""));
        let unless: Vec<&str> = Some(unless).filter(|one| !one.is_empty()).into_iter().collect();
        json!({"id": format!("f{at}"), "kind": "denied", "all": list(all), "unless": unless})
    };
    let golds: Vec<Value> = row.golds.iter().enumerate().map(gold).collect();
    let forbidden: Vec<Value> = row.forbidden.iter().enumerate().map(forbidden).collect();
    let case = json!({"about": "a row", "language": "en", "format": "plain", "logs": ["x.txt"],
                      "memories": golds, "forbidden": forbidden});
    let case: Case = serde_json::from_value(case).unwrap();
    Rules::new(&case, "row".as_ref()).unwrap()
}

fn messages() -> Messages {
    let said = SAID.iter().enumerate().map(|(at, text)| Message { id: (at + 1).to_string(), ..Message::user(*text) });
    let transcript =
        Transcript { source: "t".into(), external_id: "x".into(), messages: said.collect(), ..Transcript::default() };
    Messages::of(&[transcript])
}

fn memory(text: &str) -> Prediction {
    let (content, message) = text.rsplit_once(" @ ").unwrap();
    let place: usize = message.parse().unwrap();
    Prediction::new(MemoryType::Semantic, content, vec![cited(message, SAID[place - 1])])
}

fn cited(message: &str, quote: &str) -> Cited {
    let (transcript, quote) = ("t:x".to_owned(), quote.to_owned());
    Cited { transcript, messages: vec![message.to_owned()], quote, speaker: None }
}

fn scored(row: &Row, verdicts: &[Verdict]) -> Scored {
    let memories: Vec<Prediction> = row.memories.iter().map(|text| memory(text)).collect();
    score(&case(row), Language::En, &memories, &messages(), verdicts)
}

fn letter(standing: Standing) -> char {
    match standing {
        Standing::Forbidden => 'F',
        Standing::Distorted => 'X',
        Standing::Unlisted => 'U',
        Standing::Duplicate => 'D',
        Standing::Right => 'R',
        Standing::Optional => 'O',
    }
}

#[test]
fn every_row_counts_as_it_says() {
    assert!(TABLE.len() >= 40, "{}", TABLE.len());
    for (at, row) in TABLE.iter().enumerate() {
        let found = scored(row, &[]);
        let standings: String = found.findings.iter().map(|finding| letter(finding.standing)).collect();
        let recalled: String = found.recalled.iter().map(|&there| if there { '1' } else { '0' }).collect();
        assert_eq!(
            (standings.as_str(), recalled.as_str()),
            (row.standings, row.recalled),
            "row {at}: {:?}",
            row.memories
        );
        let counts = found.counts;
        let parts = counts.counted() + counts.optional;
        assert_eq!((parts, counts.quotes, counts.quotes_found), (counts.memories, counts.memories, counts.memories));
    }
}

#[test]
fn a_verdict_saves_an_unlisted_memory_and_no_other() {
    let row = row(&[ANA], &[], &["Lunch is at noon. @ 2", "Rain fell. @ 2", "Ana owns billing. @ 2"], "UUR", "1");
    let verdict = |content: &str, verdict| Verdict { content: content.to_owned(), verdict, why: String::new() };
    let verdicts = [
        verdict("Lunch is at noon.", Ruling::Kept),
        verdict("Rain fell.", Ruling::Wrong),
        verdict("Ana owns billing.", Ruling::Wrong),
    ];
    let counts = scored(&row, &verdicts).counts;
    assert_eq!((counts.right, counts.unlisted, counts.unlisted_kept, counts.unlisted_unjudged), (1, 2, 1, 0));
    let measure = |name: &str| {
        let measure = super::MEASURES.iter().find(|measure| measure.name == name).unwrap();
        measure.of(&counts).map(|value| format!("{value:.3}"))
    };
    let measures = ["recall", "precision", "precision judged", "F1", "type", "recall low"].map(measure);
    let expected = [Some("1.000"), Some("0.333"), Some("0.667"), Some("0.500"), Some("1.000"), None];
    assert_eq!(measures.each_ref().map(Option::as_deref), expected);
}

#[test]
fn type_evidence_and_quotes_are_judged_of_what_is_right() {
    let rules = case(&row(&[ANA], &[], &[], "", ""));
    let table = [
        (MemoryType::Semantic, "2", "Ana owns billing", (Some(true), Some(true), 1)),
        (MemoryType::Episodic, "2", "ANA  owns\nbilling", (Some(false), Some(true), 1)),
        (MemoryType::Semantic, "1", "Ana owns billing", (Some(true), Some(false), 0)),
        (MemoryType::Semantic, "2", "Ana has billing", (Some(true), Some(true), 0)),
        (MemoryType::Semantic, "2", "", (Some(true), Some(true), 0)),
        (MemoryType::Semantic, "9", "Ana owns billing", (Some(true), Some(false), 0)),
    ];
    for (memory_type, message, quote, expected) in table {
        let memory = Prediction::new(memory_type, "Ana owns billing.", vec![cited(message, quote)]);
        let found = score(&rules, Language::En, &[memory], &messages(), &[]);
        let finding = &found.findings[0];
        assert_eq!((finding.type_right, finding.evidence_right, finding.quotes.0), expected, "{message} {quote}");
    }
    let other = Prediction::new(MemoryType::Semantic, "Lunch is at noon.", vec![cited("2", "Ana owns billing")]);
    let finding = &score(&rules, Language::En, &[other], &messages(), &[]).findings[0];
    assert_eq!((finding.type_right, finding.evidence_right), (None, None));
}

#[test]
fn mistakes_in_a_case_are_told_with_entry_and_field() {
    let whole = json!({"about": "a", "language": "en", "format": "plain", "logs": ["x"], "memories": [
        {"id": "m1", "text": "t", "type": ["semantic"], "importance": "high", "all": ["a"], "none": ["b"], "evidence": ["c"]}],
        "forbidden": [{"id": "f1", "kind": "secret", "all": ["x"]}]});
    let table = [
        ("/memories/0/all", json!(["(a"]), "case.json: m1.all[0]: \"(a\" is no pattern: unclosed group"),
        ("/memories/0/all", json!([]), "case.json: m1.all: no pattern is given, so everything would match"),
        ("/memories/0/all", json!(["a|"]), "case.json: m1.all[0]: \"a|\" matches everything"),
        (
            "/memories/0/none",
            json!(["b", "(?!c)"]),
            "look-around, including look-ahead and look-behind, is not supported",
        ),
        ("/memories/0/type", json!([]), "case.json: m1.type: no type is named"),
        ("/forbidden/0/id", json!("m1"), "case.json: m1: two entries have this id"),
        ("/forbidden/0/all", json!(["[z"]), "case.json: f1.all[0]: \"[z\" is no pattern: unclosed character class"),
        ("/logs", json!([]), "case.json: logs: no log is named"),
    ];
    for (place, value, told) in table {
        let mut case = whole.clone();
        *case.pointer_mut(place).unwrap() = value;
        let case: Case = serde_json::from_value(case).unwrap();
        let error = Rules::new(&case, "case.json".as_ref()).unwrap_err().to_string();
        assert!(error.contains(told), "{error}");
    }
}
