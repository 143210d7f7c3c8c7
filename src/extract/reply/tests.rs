//! Tests of what is found in an answer.

use serde_json::json;

use super::*;

fn whole(items: &Value) -> Entries {
    Entries { items: items.as_array().unwrap().clone(), whole: true }
}

#[test]
fn every_wrapping_is_taken_off() {
    let one = json!([{"a": 1}]);
    let long = r#"{"memories":[{"a":1}]}"#;
    let encoded = serde_json::to_string(long).unwrap();
    for text in [
        long.to_owned(),
        format!("\u{feff} {long}\n").replace('\u{feff}', ""),
        format!("```json\n{long}\n```"),
        format!("Here you are:\n```\n{long}\n```\nAnything else? {{}}"),
        format!("Sure! {long} I left out the rest [1]."),
        format!("<think>First {{\"memories\":[]}} or not?</think>\n{long}"),
        format!("no opening tag {{\"memories\":[]}}</think>{long}"),
        format!("Draft {{\"memories\":[]}}, final {long}"),
        format!("{{\"memories\":{}}}", serde_json::to_string(r#"[{"a":1}]"#).unwrap()),
        format!("{{\"result\":{long}}}"),
        r#"{"reasoning":"r","memories":[{"a":1}]}"#.to_owned(),
        r#"[{"a":1}]"#.to_owned(),
        r#"{"facts":[{"a":1}]}"#.to_owned(),
        encoded.clone(),
        serde_json::to_string(&encoded).unwrap(),
    ] {
        assert_eq!(entries(&text), Some(whole(&one)), "{text}");
    }
    let single = r#"{"content":"c","quote":"q"}"#;
    assert_eq!(entries(single), Some(whole(&json!([{"content": "c", "quote": "q"}]))));
}

#[test]
fn only_a_spelled_out_empty_list_is_an_empty_answer() {
    for text in [r#"{"memories":[]}"#, "[]", "```json\n{\"memories\": []}\n```", "Nothing: {\"memories\":[]}"] {
        assert_eq!(entries(text), Some(whole(&json!([]))), "{text}");
    }
    for text in
        ["", " ", "Nothing worth keeping.", "{}", "[1]", "see [] and {}", r#"{"memories":["#, "<think>hm", "null", "42"]
    {
        assert_eq!(entries(text), None, "{text}");
    }
}

#[test]
fn a_cut_document_keeps_its_entries_and_says_so() {
    let cut = r#"Sure: ```json {"memories":[{"a":1},{"a":2,"b":"cu"#;
    let items = vec![json!({"a": 1}), json!({"a": 2})];
    assert_eq!(entries(cut), Some(Entries { items, whole: false }));
}

#[test]
fn hostile_replies_are_refused_quickly() {
    for text in ["[".repeat(200_000), "{\"a\":".repeat(100_000), "{".repeat(90) + &"[{\"".repeat(100_000)] {
        assert_eq!(entries(&text), None);
    }
}

#[test]
fn common_misspellings_of_values_are_understood() {
    let schema = json!({"properties": {
        "n": {"type": "integer"}, "k": {"type": ["integer", "null"]}, "m": {"type": "array", "items": {"type": "integer"}},
        "s": {"type": ["string", "null"]}, "e": {"type": "string", "enum": ["user"]}, "tags": {"type": "array"},
        "p": {"anyOf": [{"type": "object", "properties": {"x": {"type": ["string", "null"]}}}, {"type": "null"}]},
    }});
    let given = json!({"n": "7", "k": "K2", "m": "[4]", "s": " N/A ", "e": " User", "p": {"y": 1}, "extra": true});
    assert_eq!(
        normalised(given, &schema, false),
        json!({"n": 7, "k": 2, "m": [4], "s": null, "e": "user", "tags": [], "p": {"x": null}})
    );
    assert_eq!(normalised(json!({"n": 7.0}), &schema, true), json!({"n": 7}));
    assert_eq!(normalised(json!("words"), &schema, false), Value::Null);
}

#[test]
fn entries_of_a_broken_list_are_not_taken_for_drafts() {
    let one = |n: u8| json!({"content": "c", "quote": "q", "n": n});
    let lines = format!("{}\n{}\n{}", one(1), one(2), one(3));
    assert_eq!(entries(&lines), Some(whole(&json!([one(1), one(2), one(3)]))));
    let broken = format!("{{\"memories\":[{},{{\"content\":oops}},{}]}}", one(1), one(3));
    assert_eq!(entries(&broken), Some(Entries { items: vec![one(1), one(3)], whole: false }));
    let cut = format!("{}\n{{\"content\":\"c\",\"quote\":\"q\",\"n\":2,\"x\":", one(1));
    assert_eq!(entries(&cut).map(|list| (list.items.len(), list.whole)), Some((2, false)));
    let named = json!({"reasoning": "r", "notes": [], "facts": [one(1)]}).to_string();
    assert_eq!(entries(&named), Some(whole(&json!([one(1)]))));
}

#[test]
fn refusals_and_prose_are_no_empty_answer() {
    for text in [
        "I'm sorry, but I can't help with that.",
        "抱歉，我无法处理这段对话。",
        "Es tut mir leid, dabei kann ich nicht helfen.",
        "Lo siento, no puedo ayudar con eso.",
        "申し訳ありませんが、お手伝いできません。",
        r#"{"error":"I can't do that"}"#,
        r#"{"memories":null}"#,
        r#"{"memories":"none"}"#,
        r#"{"refusal":"no"}"#,
    ] {
        assert_eq!(entries(text), None, "{text}");
    }
}

#[test]
fn fields_are_known_by_other_names() {
    let schema = json!({"properties": {
        "content": {"type": "string"}, "quote": {"type": "string"}, "messages": {"type": "array", "items": {"type": "integer"}},
        "type": {"type": "string"}, "from": {"type": ["string", "null"]},
    }});
    let given =
        json!({"Content": "c", "evidence": "q", "message_ids": ["4"], "memoryType": "semantic", "valid-from": "2025"});
    assert_eq!(
        normalised(given, &schema, false),
        json!({"content": "c", "quote": "q", "messages": [4], "type": "semantic", "from": "2025"})
    );
}
