//! Tests of the server's tables.

use std::borrow::Borrow;
use std::collections::BTreeSet;

use rmcp::model::Tool;

use super::*;
use crate::memory::CATEGORIES;

fn described(profile: Profile) -> Vec<Tool> {
    let categories: Vec<String> = CATEGORIES.iter().map(|&name| name.to_owned()).collect();
    TOOLS.iter().filter(|tool| tool.profiles.contains(&profile)).map(|tool| tool.described(&categories)).collect()
}

fn names(profile: Profile) -> Vec<String> {
    described(profile).into_iter().map(|tool| tool.name.into_owned()).collect()
}

#[test]
fn every_profile_has_the_tools_that_its_specification_names() {
    let base_coat = ["memory_store", "memory_recall", "memory_update", "memory_forget", "memory_list"];
    let blockcell = ["memory_forget", "memory_upsert", "memory_query"];
    let more = ["memory_brief", "memory_history", "memory_relate", "blame", "fix", "how"];
    assert_eq!(names(Profile::Basecoat), base_coat);
    assert_eq!(names(Profile::Blockcell), blockcell);
    assert_eq!(names(Profile::Standard), [&base_coat[..], &more].concat());
    let full = [&base_coat[..], &blockcell[1..], &more].concat();
    assert_eq!(names(Profile::Full), full);
}

#[test]
fn arguments_of_the_specifications_are_taken_and_only_theirs_are_required() {
    let table = [
        (Profile::Basecoat, "memory_store", "category subject content source", "category subject content"),
        (Profile::Basecoat, "memory_recall", "subject category query", ""),
        (Profile::Basecoat, "memory_forget", "id", "id"),
        (Profile::Basecoat, "memory_update", "id content", "id"),
        (Profile::Basecoat, "memory_list", "limit category", ""),
        (
            Profile::Blockcell,
            "memory_upsert",
            "title content type scope importance tags dedup_key expires_in_days",
            "content",
        ),
        (Profile::Blockcell, "memory_query", "query scope top_k type tags", ""),
        (Profile::Blockcell, "memory_forget", "action id scope type tags", ""),
    ];
    for (profile, name, arguments, required) in table {
        let tool = described(profile).into_iter().find(|tool| tool.name == name).unwrap();
        let properties = tool.input_schema["properties"].as_object().unwrap();
        for argument in arguments.split_whitespace() {
            assert!(properties.contains_key(argument), "{name} lacks {argument}");
        }
        let asked = tool.input_schema.get("required").and_then(Value::as_array).cloned().unwrap_or_default();
        let asked: BTreeSet<&str> = asked.iter().filter_map(Value::as_str).collect();
        assert_eq!(asked, required.split_whitespace().collect(), "{name}");
    }
}

#[test]
fn every_tool_says_what_it_does_and_every_argument_what_it_means() {
    for profile in Profile::ALL {
        let tools = described(*profile);
        let unique: BTreeSet<&str> = tools.iter().map(|tool| tool.name.as_ref()).collect();
        assert_eq!(unique.len(), tools.len(), "a name comes once in {profile}");
        for tool in &tools {
            let hints = tool.annotations.as_ref().unwrap();
            assert_eq!((hints.open_world_hint, hints.idempotent_hint), (Some(false), Some(true)), "{}", tool.name);
            assert!(hints.read_only_hint.is_some() && hints.destructive_hint.is_some(), "{}", tool.name);
            assert!(hints.read_only_hint == Some(false) || hints.destructive_hint == Some(false), "{}", tool.name);
            assert_eq!(tool.input_schema["additionalProperties"], false, "{}", tool.name);
            let text = serde_json::to_string(&tool.input_schema).unwrap();
            assert!(!["$ref", "$defs", "oneOf", "\"format\":\""].iter().any(|word| text.contains(word)), "{text}");
            for (name, property) in tool.input_schema["properties"].as_object().unwrap() {
                assert!(property["description"].is_string(), "{}: {name} says nothing", tool.name);
            }
        }
    }
}

#[test]
fn what_a_client_pays_to_see_the_tools_is_little() {
    let cost = |profile| crate::tokens::count(&serde_json::to_string(&described(profile)).unwrap());
    let [standard, full] = [Profile::Standard, Profile::Full].map(cost);
    assert!(standard <= 2_500 && full <= 3_300, "{standard} and {full} tokens");
}

#[test]
fn only_categories_that_are_allowed_can_be_chosen() {
    let tools: Vec<Tool> = TOOLS.iter().map(|tool| tool.described(&["fact".to_owned()])).collect();
    let chosen = |name: &str, argument: &str| {
        let tool = tools.iter().rfind(|tool| tool.name == name).unwrap();
        tool.input_schema["properties"][argument]["enum"].clone()
    };
    assert_eq!(chosen("memory_store", "category"), serde_json::json!(["fact"]));
    assert_eq!(chosen("memory_recall", "category"), serde_json::json!(["fact", null]));
    assert_eq!(chosen("memory_forget", "type"), serde_json::json!(["fact", null]));
}

fn answer(memories: &Memories, name: &str, arguments: impl Borrow<Value>) -> Result<Value, String> {
    let tool = TOOLS.iter().find(|tool| tool.name == name).unwrap();
    let mut answer = (tool.call)(memories, arguments.borrow()).map_err(|error| error_chain(&error))?;
    (tool.clean)(&mut answer);
    Ok(answer)
}

#[test]
fn structured_parts_are_returned_found_and_changed() {
    use serde_json::json;
    let memories = Memories::builder().path("memory:").open().unwrap();
    let parts = json!({"name": "drain", "description": "d", "steps": ["drain", "stop"], "triggers": ["leak alarm"]});
    let asked = json!({"category": "workflow", "subject": "ops", "content": "Restart the worker by draining first.",
        "structured": parts});
    let stored = answer(&memories, "memory_store", asked).unwrap();
    assert_eq!(stored["memory"]["structured"], parts);
    let id = stored["memory"]["id"].as_str().unwrap();
    let found = answer(&memories, "memory_recall", json!({"query": "a leak alarm"})).unwrap();
    assert_eq!(found["memories"][0]["structured"], parts, "found by its trigger");
    assert_eq!(answer(&memories, "memory_list", json!({})).unwrap()["memories"][0]["structured"], parts);
    let long = json!({"pattern": {"description": "d", "code_snippet": "x".repeat(700)}});
    let changed = answer(&memories, "memory_update", json!({"id": id, "structured": long})).unwrap();
    assert_eq!(
        (&changed["memory"]["structured"], &changed["memory"]["content"]),
        (&long, &stored["memory"]["content"])
    );
    let history = answer(&memories, "memory_history", json!({"id": id})).unwrap();
    assert_eq!(history["memory"]["structured"], long);
    assert_eq!(
        (&history["changes"][1]["structured_before"], &history["changes"][1]["structured_after"]),
        (&parts, &long)
    );
    let listed = answer(&memories, "memory_list", json!({})).unwrap();
    assert!(listed["memories"][0]["structured"].as_str().unwrap().contains("memory_history"), "{listed}");
    let text = format!("{:?}", resources::read(&memories, &format!("afterthought://memory/{id}")).unwrap().unwrap());
    assert!(text.contains("code_snippet"), "{text}");
}

#[test]
fn a_known_text_takes_over_the_attributes_given_with_it() {
    use serde_json::json;
    let memories = Memories::builder().path("memory:").open().unwrap();
    let store = |more: Value| {
        let mut asked = json!({"category": "convention", "subject": "style", "content": "Use early returns."});
        asked.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        answer(&memories, "memory_store", asked).unwrap()
    };
    let first = store(json!({"tags": ["go"], "importance": 0.6}));
    let again = store(json!({"tags": ["style"], "importance": 0.9}));
    assert_eq!((&again["decision"], &again["memory"]["id"]), (&json!("skip"), &first["memory"]["id"]));
    assert_eq!(again["memory"]["tags"], json!(["go", "style"]));
    assert_eq!(again["memory"]["importance"], 0.9);
    assert!(again["reason"].as_str().unwrap().contains("importance, tags"), "{again}");
    let third = store(json!({}));
    assert_eq!(third["memory"]["importance"], 0.9, "attributes that are not given stay: {third}");
    memories.pin(&[first["memory"]["id"].as_str().unwrap()], true).unwrap();
    let pinned = store(json!({"importance": 0.2}));
    assert_eq!(pinned["memory"]["importance"], 0.9);
    assert!(pinned["reason"].as_str().unwrap().contains("pinned"), "{pinned}");
}

#[test]
fn an_empty_brief_and_a_poor_match_are_explained() {
    use serde_json::json;
    let memories = Memories::builder().path("memory:").open().unwrap();
    let brief = |memories: &Memories, asked: Value| answer(memories, "memory_brief", asked).unwrap();
    assert_eq!(brief(&memories, json!({}))["reason"], "no memories are stored");
    let asked = json!({"category": "fact", "subject": "ops", "content": "The red service is owned by team red."});
    answer(&memories, "memory_store", asked).unwrap();
    assert_eq!(brief(&memories, json!({})).get("reason"), None);
    let small = brief(&memories, json!({"max_tokens": 5}));
    assert_eq!(small["reason"], "max_tokens is too small for any memory", "{small}");
    let query = |min_match: f64| {
        let asked = json!({"query": "how do I configure the owned dishwasher", "min_match": min_match});
        answer(&memories, "memory_query", asked).unwrap()
    };
    assert!(query(0.0)["memories"][0]["match_share"].as_f64().unwrap() < 0.5, "{}", query(0.0));
    assert_eq!(query(0.5)["count"], 0);
    let unnamed = answer(&memories, "memory_update", json!({"id": "12345678"})).unwrap_err();
    assert!(unnamed.contains("give the content or another field"), "{unnamed}");
}

#[test]
fn the_tools_of_the_ledger_answer_as_the_commands_do() {
    use crate::api::Filter;
    use crate::memory::{Remedy, TaskCommand, TaskError};
    use crate::store::testing::{put_tasks, task};

    let memories = Memories::builder().path("memory:").open().unwrap();
    let mut record = task("Fix the loader", &["src/loader.py"]);
    let line = "ModuleNotFoundError: No module named 'yaml'";
    record.errors.push(TaskError {
        signature: line.into(),
        line: line.into(),
        command: "pytest".into(),
        count: 1,
        message: "m2".into(),
        cleared: Some(Remedy {
            command: "pytest".into(),
            files: Vec::new(),
            commands: vec!["pip install pyyaml".into()],
            message: "m5".into(),
        }),
    });
    record.commands.push(TaskCommand {
        command: "pytest -q".into(),
        signature: Some("pytest".into()),
        folder: None,
        runs: 2,
        failed: 0,
        exit: Some(0),
        messages: vec!["m2".into()],
    });
    put_tasks(memories.storage().as_store().unwrap(), "claude-code:s1", "shop", &[record]);
    let answer = |name: &str, arguments: Value| answer(&memories, name, arguments).unwrap();
    let all = Filter::default();
    let blame = memories.blame("src/loader.py", None, &all).unwrap();
    let asked = answer("blame", serde_json::json!({"path": "src/loader.py"}));
    assert_eq!(asked["results"], serde_json::to_value(&blame).unwrap());
    assert_eq!(asked["results"][0]["goal"], "Fix the loader");
    let fix = answer("fix", serde_json::json!({"error": line}));
    assert_eq!(fix, serde_json::to_value(memories.fix(line, None, &all).unwrap()).unwrap());
    assert_eq!(fix["remedies"][0]["cleared"]["commands"][0], "pip install pyyaml");
    let how = answer("how", serde_json::json!({"command": "test"}));
    assert_eq!(how["results"], serde_json::to_value(memories.how("test", &all).unwrap()).unwrap());
    assert_eq!(how["results"][0]["command"], "pytest -q");
}
