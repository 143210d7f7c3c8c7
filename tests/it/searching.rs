//! Tests of the commands `search` and `list`, and of measuring the search.

#![expect(clippy::unwrap_used, reason = "a panic here is a failed test")]

use serde_json::{Value, json};

use super::desk::Desk;

fn desk() -> Desk {
    let desk = Desk::new();
    let remember: &[&[&str]] = &[
        &["The shop deploys with Nomad.", "--namespace", "project/shop", "--importance", "0.3", "--tag", "deploy"],
        &["The shop's API deploys from Jenkins.", "--namespace", "project/shop/api", "--importance", "0.9"],
        &["The bakery deploys by courier.", "--namespace", "project/bakery"],
        &["Answers are to be in German.", "--namespace", "project/shop", "--category", "preference"],
    ];
    for args in remember {
        let told = desk.run(&[&["remember"], *args].concat());
        assert_eq!(told.code, 0, "{told:?}");
    }
    desk
}

fn contents(found: &[Value]) -> Vec<&str> {
    found.iter().map(|memory| memory["content"].as_str().unwrap()).collect()
}

#[test]
fn filters_order_and_pages_apply_to_searches_and_lists() {
    let desk = desk();
    let (nomad, jenkins) = ("The shop deploys with Nomad.", "The shop's API deploys from Jenkins.");
    let (courier, german) = ("The bakery deploys by courier.", "Answers are to be in German.");
    let table: &[(&[&str], &[&str])] = &[
        (&["--namespace", "project/shop", "--sort", "importance"], &[jenkins, nomad]),
        (&["--namespace", "project/shop", "--exact-namespace"], &[nomad]),
        (&["--sort", "importance", "--limit", "1", "--offset", "1"], &[courier]),
        (&["--tag", "deploy"], &[nomad]),
        (&["--min-importance", "0.8"], &[jenkins]),
        (&["--since", "1h", "--scope", "long_term", "--sort", "created"], &[courier, jenkins, nomad]),
    ];
    for (args, expected) in table {
        assert_eq!(contents(&desk.json(&[&["search", "deploying"], *args].concat())), *expected, "{args:?}");
    }
    for args in [["--until", "1h"], ["--since", "2999-01-01"], ["--scope", "short_term"]] {
        assert_eq!(desk.run(&["search", "deploy", args[0], args[1]]).code, 1, "{args:?}");
        assert_eq!(desk.run(&["memory", "list", args[0], args[1]]).code, 1, "{args:?}");
    }
    assert_eq!(desk.run(&["search", "deploy", "--pinned"]).code, 1);
    let listed =
        desk.json(&["memory", "list", "--namespace", "project/shop", "--exact-namespace", "--sort", "importance"]);
    assert_eq!(contents(&listed), [german, nomad]);
}

#[test]
fn what_holds_whatever_is_asked_and_what_is_linked_comes_besides() {
    let desk = desk();
    let ids = desk.json(&["search", "Nomad Jenkins", "--sort", "importance"]);
    let id = |at: usize| ids[at]["id"].as_str().unwrap();
    assert_eq!(desk.run(&["memory", "relate", id(1), "supports", id(0)]).code, 0);
    let found = desk.json(&["search", "Nomad", "--related", "--standing", "3"]);
    assert_eq!(contents(&found), ["The shop deploys with Nomad.", "Answers are to be in German."]);
    assert_eq!(found[0]["related"][0]["relation"], "supports");
    assert_eq!(found[0]["related"][0]["memory"]["content"], "The shop's API deploys from Jenkins.");
    assert_eq!((&found[0]["standing"], &found[1]["standing"]), (&Value::Null, &json!(true)));
    let told = desk.run(&["search", "Nomad", "--related", "--standing", "3", "--explain"]).out;
    for part in [
        "fit 1.00 = words 1.00 + 0.3 × neighbours 0.00 + 0.5 × conversation 0.00",
        "words: nomad",
        "→ supports The shop's API",
        "standing memories, shown for every query\n",
    ] {
        assert!(told.contains(part), "{part:?} is not in {told}");
    }
}

#[test]
fn the_search_is_measured_beside_bare_fts5() {
    let desk = Desk::new();
    let turn = |number: u32, speaker: &str, text: &str| json!({"speaker": speaker, "dia_id": format!("D1:{number}"), "text": text});
    let sample = json!([{"sample_id": "s", "conversation": {
        "speaker_a": "Ana", "speaker_b": "Ben", "session_1_date_time": "1:56 pm on 8 May, 2023",
        "session_1": [
            turn(1, "Ana", "Which instrument did you learn as a child?"), turn(2, "Ben", "The oboe."),
            turn(3, "Ana", "The garden is full of snails."), turn(4, "Ben", "We sold the boat last week.")]},
        "qa": [
            {"question": "What instrument did Ben learn?", "answer": "oboe", "evidence": ["D1:2"], "category": 4},
            {"question": "When was the boat sold?", "answer": "May 2023", "evidence": ["D1:4"], "category": 2},
            {"question": "Who was never there?", "evidence": [], "category": 5}]}]);
    desk.write("locomo.json", sample.to_string());
    let report = &desk.json(&["eval", "--recall", "locomo.json"])[0];
    assert_eq!((&report["memories"], &report["questions"]), (&json!(4), &json!(2)));
    let arms = report["arms"].as_array().unwrap();
    let names: Vec<&str> = arms.iter().map(|arm| arm["name"].as_str().unwrap()).collect();
    assert_eq!(
        names,
        [
            "bare FTS5",
            "search",
            "without memories found only through a neighbour",
            "without neighbours",
            "without conversation",
            "without speaker",
            "without date",
            "words alone",
            "search, with age and use"
        ]
    );
    assert_eq!(arms[1]["measures"]["r@5"], 1.0);
    let told = desk.run(&["eval", "--recall", "locomo.json"]);
    assert!(told.out.contains("r@10 minus first row"), "{told:?}");
    assert_eq!(desk.run(&["eval", "--recall", "nothing.json"]).code, 2);
}

#[test]
fn a_memory_is_found_by_the_title_of_its_conversation_if_no_memory_contains_the_words() {
    let desk = Desk::new();
    let chat = json!([{
        "uuid": "0198c0de-0000-7000-8000-000000000002", "name": "Questions about hosting", "created_at": "2026-03-02T09:00:00Z",
        "updated_at": "2026-03-02T09:00:00Z", "account": {"uuid": "a"}, "chat_messages": [
            {"uuid": "1", "sender": "human", "text": "We decided to deploy the shop with Fly.io.", "created_at": "2026-03-02T09:00:00Z"},
            {"uuid": "2", "sender": "assistant", "text": "Noted.", "created_at": "2026-03-02T09:01:00Z"}]
    }]);
    desk.write("conversations.json", chat.to_string());
    let read = desk.run(&["run", "conversations.json", "--extractor", "rules"]);
    assert_eq!(read.code, 0, "{read:?}");
    let found = desk.run(&["search", "hosting", "--everywhere"]);
    assert!(found.out.contains("Fly.io") && found.out.contains("but the title of its conversation does"), "{found:?}");
    assert_eq!(desk.run(&["search", "host", "questions", "--everywhere"]).code, 0);
    assert_eq!(
        desk.run(&["search", "osting", "--everywhere"]).code,
        1,
        "a title is matched by whole beginnings of words"
    );
    assert_eq!(desk.run(&["search", "hosting", "--namespace", "project/other"]).code, 1);
    assert_eq!(desk.run(&["remember", "The hosting costs 5 euros.", "--namespace", "global"]).code, 0);
    assert!(!desk.run(&["search", "hosting", "--everywhere"]).out.contains("Fly.io"));
}
