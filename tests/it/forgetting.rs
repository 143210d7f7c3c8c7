//! Tests that memories that a person has forgotten, rejected, restored or pinned remain so, even if they are extracted
//! or imported again.

use serde_json::{Value, json};

use super::desk::{Desk, Told};

fn chat(day: &str, text: &str) -> String {
    let line = |role: &str, text: &str, minute: u32| json!({"role": role, "content": text, "timestamp": format!("2026-{day}T10:{minute:02}:00Z")});
    json!([line("user", text, 0), line("assistant", "Noted.", 1)]).to_string()
}

fn memory(content: &str, key: &str, value: &str, day: &str) -> Value {
    let at = format!("2026-{day}T10:00:00Z");
    json!({"content": content, "key": key, "value": value, "valid_from": at, "created_at": at})
}

/// Imports one memory and returns the decision about it.
fn settle(desk: &Desk, memory: &Value) -> Value {
    desk.write("one.jsonl", memory.to_string());
    desk.json(&["import", "one.jsonl", "--consolidate"]).remove(0)
}

fn id_of(desk: &Desk, words: &str) -> String {
    let listed = desk.json(&["memory", "list", "--all"]);
    let found = listed.iter().find(|memory| memory["content"].as_str().unwrap().contains(words));
    found.unwrap_or_else(|| panic!("{words}: {listed:#?}"))["id"].as_str().unwrap().to_owned()
}

fn good(desk: &Desk, args: &[&str]) -> Told {
    let told = desk.run(args);
    assert_eq!(told.code, 0, "{args:?}: {told:?}");
    told
}

fn active(desk: &Desk) -> Vec<String> {
    let held = desk.memories().into_iter().filter(|(status, _)| status == "active");
    held.map(|(_, content)| content).collect()
}

#[test]
fn a_forgotten_value_comes_back_on_no_way_but_by_restoring_it() {
    let desk = Desk::new();
    desk.write("a.json", chat("01-05", "I live in Riga."));
    good(&desk, &["run", "-q", "a.json"]);
    assert_eq!(active(&desk).len(), 1);
    let id = id_of(&desk, "Riga");
    good(&desk, &["memory", "forget", &id, "--reason", "wrong"]);
    // The value is repeated in the same words in another conversation, in other words, and with another spelling of the
    // key.
    desk.write("b.json", chat("02-05", "I live in Riga."));
    good(&desk, &["run", "-q", "b.json"]);
    for (content, key) in [
        ("Riga is where the user is at home.", "user.residence"),
        ("The home town of Ana is Riga.", "user.lives_in"),
        ("The user lives in Riga.", "user.city"),
    ] {
        let told = settle(&desk, &memory(content, key, "Riga", "03-01"));
        assert_eq!((&told["decision"], &told["reason"]), (&json!("skip"), &json!("rejected before")), "{content}");
        desk.write("as-is.jsonl", memory(content, key, "Riga", "03-01").to_string());
        assert_eq!(desk.json(&["import", "as-is.jsonl"])[0]["added"], 0, "{content}");
    }
    assert_eq!(active(&desk), Vec::<String>::new());
    assert_eq!(desk.memories().len(), 1);

    good(&desk, &["memory", "restore", &id]);
    assert_eq!(active(&desk).len(), 1);
    let told = settle(&desk, &memory("Riga is where the user is at home.", "user.residence", "Riga", "03-01"));
    assert_ne!(told["reason"], "rejected before", "what is restored may be learnt again");
    let actions: Vec<Value> =
        desk.json(&["memory", "history", &id]).into_iter().map(|entry| entry["action"].clone()).collect();
    let in_order = ["add", "forget", "reject", "admit", "restore"].map(Value::from);
    assert_eq!(actions.iter().filter(|action| in_order.contains(action)).cloned().collect::<Vec<_>>(), in_order);
}

#[test]
fn a_rejected_memory_does_not_come_back_in_other_words() {
    let desk = Desk::new();
    good(&desk, &["remember", "The user lives in Oslo.", "--key", "user.residence", "--value", "Oslo"]);
    good(&desk, &["memory", "pin", &id_of(&desk, "Oslo")]);
    let waits = settle(&desk, &memory("The user lives in Rome now.", "user.residence", "Rome", "12-01"));
    assert_eq!(waits["pending"], true, "{waits}");
    let id = id_of(&desk, "Rome");
    good(&desk, &["inbox", "reject", &id]);
    for content in ["The user lives in Rome now.", "The user has moved to Rome.", "Rome is the home of the user."] {
        let told = settle(&desk, &memory(content, "user.residence", "Rome", "12-20"));
        assert_eq!(told["decision"], "skip", "{content}: {told}");
    }
    assert_eq!(desk.run(&["inbox", "list"]).code, 1);
    assert_eq!(active(&desk), ["The user lives in Oslo."]);
}

#[test]
fn restoring_what_was_replaced_names_what_replaced_it_and_leaves_one_that_holds() {
    let desk = Desk::new();
    for (city, day) in [("Riga", "01-01"), ("Oslo", "02-01"), ("Rome", "03-01")] {
        settle(&desk, &memory(&format!("The user lives in {city}."), "user.residence", city, day));
    }
    assert_eq!(active(&desk), ["The user lives in Rome."]);
    let riga = id_of(&desk, "Riga");
    let told = good(&desk, &["memory", "restore", &riga]);
    assert!(told.err.contains("The user lives in Rome.") && told.err.contains("is now superseded"), "{told:?}");
    assert_eq!(active(&desk), ["The user lives in Riga."]);
    let links = desk.json(&["memory", "show", &riga])[0]["relations"].clone();
    let over = |link: &Value| link["type"] == "supersedes";
    let over: Vec<&Value> = links.as_array().unwrap().iter().filter(|link| over(link)).collect();
    assert!(!over.is_empty() && over.iter().all(|link| link["from"] == riga.as_str()), "{links}");

    let both = good(&desk, &["memory", "restore", &id_of(&desk, "Rome"), "--keep-both"]);
    assert!(both.err.contains("is kept as well"), "{both:?}");
    assert_eq!(active(&desk).len(), 2);
}

#[test]
fn restoring_against_a_pinned_memory_waits_for_an_answer() {
    let desk = Desk::new();
    for (city, day) in [("Riga", "01-01"), ("Oslo", "02-01")] {
        settle(&desk, &memory(&format!("The user lives in {city}."), "user.residence", city, day));
    }
    good(&desk, &["memory", "pin", &id_of(&desk, "Oslo")]);
    let told = good(&desk, &["memory", "restore", &id_of(&desk, "Riga")]);
    assert!(told.err.contains("waits in the inbox"), "{told:?}");
    assert_eq!(active(&desk), ["The user lives in Oslo."]);
    good(&desk, &["inbox", "accept", &id_of(&desk, "Riga")]);
    assert_eq!(active(&desk), ["The user lives in Riga."]);
}

#[test]
fn a_forgotten_memory_is_restored_in_place_of_what_was_learnt_meanwhile() {
    let desk = Desk::new();
    settle(&desk, &memory("The user lives in Riga.", "user.residence", "Riga", "01-01"));
    let riga = id_of(&desk, "Riga");
    good(&desk, &["memory", "forget", &riga]);
    settle(&desk, &memory("The user lives in Oslo.", "user.residence", "Oslo", "02-01"));
    let told = good(&desk, &["memory", "restore", &riga]);
    assert!(told.err.contains("Oslo"), "{told:?}");
    assert_eq!(active(&desk), ["The user lives in Riga."]);
}

#[test]
fn a_pinned_memory_is_changed_by_nothing_but_a_person() {
    let rows = [
        ("The user lives in Oslo.", "Oslo", "said again, in the same words"),
        ("The user's home is in Oslo.", "Oslo", "in other words"),
        ("The user lives in Oslo, in the old town near the harbour.", "Oslo", "in more detail"),
        ("The user lives in Oslo with two cats.", "Oslo", "with something else"),
        ("The user lives in Rome.", "Rome", "another value"),
        ("The user moved from Oslo to Rome.", "Rome", "a change"),
        ("The user does not live in Oslo any more.", "Oslo", "its contrary"),
        ("Correction: the user never lived in Oslo, but in Rome.", "Rome", "a correction"),
    ];
    for (content, value, what) in rows {
        let desk = Desk::new();
        good(&desk, &["remember", "The user lives in Oslo.", "--key", "user.residence", "--value", "Oslo"]);
        let id = id_of(&desk, "Oslo");
        good(&desk, &["memory", "pin", &id]);
        let whole = || {
            let mut exported = desk.json(&["export"]).into_iter().find(|memory| memory["id"] == id.as_str()).unwrap();
            // The fields that confirm it are removed, because they may differ.
            for field in ["sources", "evidence", "relations"] {
                exported.as_object_mut().unwrap().remove(field);
            }
            exported
        };
        let before = whole();
        desk.write("one.jsonl", memory(content, "user.residence", value, "12-01").to_string());
        good(&desk, &["import", "one.jsonl", "--consolidate", "--dry-run", "--out", "plan.json"]);
        good(&desk, &["runs", "apply", "plan.json"]);
        assert_eq!(whole(), before, "{what}, applied");
        let run = desk.json(&["runs", "list", "-n", "1"]).remove(0);
        let undone = desk.run(&["undo", run["id"].as_str().unwrap()]);
        assert_eq!(undone.code, 0, "{undone:?}");
        assert_eq!(whole(), before, "{what}, undone");
        good(&desk, &["import", "one.jsonl", "--consolidate"]);
        assert_eq!(whole(), before, "{what}, imported");
        good(&desk, &["import", "one.jsonl"]);
        assert_eq!(whole(), before, "{what}, imported as it is");
        // A line of the plan was edited by hand so that it would change the memory.
        let text = std::fs::read_to_string(desk.path("plan.json")).unwrap();
        let forced = text.replace("\"pending\":true", "\"pending\":false").replacen("\"id\": \"", "\"id\": \"x", 1);
        desk.write("forced.json", forced);
        desk.run(&["runs", "apply", "forced.json"]);
        assert_eq!(whole(), before, "{what}, forced");
    }
}

#[test]
fn accepting_what_waits_replaces_the_pinned_memory_only_then() {
    let desk = Desk::new();
    good(&desk, &["remember", "The user lives in Oslo.", "--key", "user.residence", "--value", "Oslo"]);
    good(&desk, &["memory", "pin", &id_of(&desk, "Oslo")]);
    settle(&desk, &memory("The user moved from Oslo to Rome.", "user.residence", "Rome", "12-01"));
    assert_eq!(active(&desk), ["The user lives in Oslo."]);
    good(&desk, &["inbox", "accept", &id_of(&desk, "Rome")]);
    assert_eq!(active(&desk), ["The user moved from Oslo to Rome."]);
}

#[test]
fn a_weak_claim_never_retires_a_sure_one_of_the_same_time() {
    for content in ["The user lives in Rome.", "The user lives in Rome now.", "Actually, the user lives in Rome."] {
        let desk = Desk::new();
        let with = |mut memory: Value, confidence: f64| {
            memory["confidence"] = json!(confidence);
            memory
        };
        settle(&desk, &with(memory("The user lives in Oslo.", "user.residence", "Oslo", "02-01"), 0.95));
        let told = settle(&desk, &with(memory(content, "user.residence", "Rome", "02-01"), 0.4));
        assert_eq!((&told["decision"], &told["pending"]), (&json!("contradict"), &json!(true)), "{content}: {told}");
        assert_eq!(active(&desk), ["The user lives in Oslo."], "{content}");
    }
}

#[test]
fn remember_reports_what_was_known_and_brings_back_what_was_forgotten() {
    let desk = Desk::new();
    let text = "The shop deploys with Nomad.";
    assert!(good(&desk, &["remember", text]).out.contains(text));
    let known = good(&desk, &["remember", text]);
    assert!(known.out.starts_with("already stored: ") && known.out.contains(text), "{known:?}");
    let id = id_of(&desk, "Nomad");
    good(&desk, &["memory", "forget", &id]);
    assert_eq!(active(&desk), Vec::<String>::new());
    let restored = good(&desk, &["remember", text]);
    assert!(restored.out.starts_with("restored ") && restored.out.contains(text), "{restored:?}");
    assert_eq!(active(&desk), [text]);
    assert_eq!(id_of(&desk, "Nomad"), id);
}

#[test]
fn minor_details_of_a_chat_expire_and_everything_else_stays() {
    let desk = Desk::new();
    let chat = "3/13/26, 9:50 PM - Dana: The sauna was full again.\n\
        3/13/26, 9:52 PM - Asha: My sister Mira moved to Ghent.\n\
        3/13/26, 9:53 PM - Asha: Always bring the blue key.\n";
    let session = concat!(
        r#"{"role":"user","content":"My canoe is green.","timestamp":"2026-03-13T21:50:00Z"}"#,
        "\n",
        r#"{"role":"assistant","content":"A lovely colour.","timestamp":"2026-03-13T21:51:00Z"}"#,
        "\n"
    );
    let entry = |message: u8, quote: &str, category: &str, content: &str, importance: u8| {
        json!({"messages": [message], "quote": quote, "category": category, "content": content, "tags": ["club"],
            "importance": importance, "more": []})
    };
    let read = |name: &str, log: &str, entries: Value| {
        desk.write(name, log);
        desk.write("reply.json", json!({"memories": entries}).to_string());
        desk.write(
            "model.sh",
            "if grep -c '<conversation>' >/dev/null; then cat reply.json; else echo '{\"relations\":[]}'; fi",
        );
        let model = format!("command/cd '{}'; . ./model.sh", desk.path("").display());
        let told = desk.run(&["run", desk.path(name).to_str().unwrap(), "--extractor", "llm", "--model", &model]);
        assert_eq!(told.code, 0, "{told:?}");
    };
    let of_chat = json!([
        entry(1, "The sauna was full again", "fact", "Dana found the sauna full.", 3),
        entry(2, "My sister Mira moved to Ghent", "fact", "Mira moved to Ghent.", 5),
        entry(3, "Always bring the blue key", "convention", "The blue key is always to be brought.", 3)
    ]);
    read("WhatsApp Chat with Asha.txt", chat, of_chat);
    read("alone.jsonl", session, json!([entry(1, "My canoe is green", "fact", "The user has a green canoe.", 3)]));
    let kept = desk.json(&["export", "--all"]);
    let mut kept: Vec<_> = kept
        .iter()
        .map(|memory| {
            let text = |field: &str| memory[field].as_str().unwrap_or("-").to_owned();
            let place = memory["namespace"][0].as_str().unwrap().to_owned();
            [text("content"), place, text("status"), text("expires_at")]
        })
        .collect();
    kept.sort();
    let rows = [
        ["Dana found the sauna full.", "chat", "expired", "2026-06-11T21:50:00Z"],
        ["Mira moved to Ghent.", "chat", "active", "-"],
        ["The blue key is always to be brought.", "chat", "active", "-"],
        ["The user has a green canoe.", "global", "active", "-"],
    ];
    assert_eq!(kept, rows.map(|row| row.map(str::to_owned)));
    assert_eq!(desk.run(&["search", "sauna"]).code, 1);
    assert!(desk.run(&["search", "sauna", "--all"]).out.contains("Dana found the sauna full."));
}

#[test]
fn a_change_in_a_chat_is_one_memory_and_not_also_a_quotation() {
    let desk = Desk::new();
    let line = |minute: u32, who: &str, text: &str| format!("28/05/2026, 09:{minute:02} - {who}: {text}\n");
    let chat = [
        line(1, "Ana", "Morning all"),
        line(3, "Bo", "Morning, where is everybody now?"),
        line(5, "Tom", "I moved from Leeds to Bristol last week."),
        line(7, "Ana", "Nice"),
    ];
    desk.write("WhatsApp Chat with Crew.txt", chat.concat());
    assert_eq!(desk.run(&["run", "WhatsApp Chat with Crew.txt", "--extractor", "rules"]).code, 0);
    let text = "Tom moved from Leeds to Bristol in the week of 2026-05-18.";
    assert_eq!(desk.memories(), [("active".to_owned(), text.to_owned())]);
}

#[test]
fn what_was_refined_and_then_forgotten_can_be_remembered_again() {
    let desk = Desk::new();
    good(&desk, &["remember", "The shop deploys with Nomad."]);
    good(&desk, &["remember", "The shop deploys with Nomad in three regions."]);
    // The memory with more detail says it, so it gets the tag.
    good(&desk, &["remember", "The shop deploys with Nomad.", "--tag", "infra"]);
    assert_eq!(desk.json(&["search", "Nomad", "--tag", "infra"]).len(), 1);
    good(&desk, &["memory", "forget", &id_of(&desk, "regions")]);
    assert!(active(&desk).is_empty());
    good(&desk, &["remember", "The shop deploys with Nomad."]);
    assert_eq!(active(&desk), ["The shop deploys with Nomad."]);
}

#[test]
fn without_the_link_a_superseded_memory_is_active_again() {
    let desk = Desk::new();
    for text in ["We use yarn for the shop.", "We use npm for the till.", "Package manager of the clinic is pnpm."] {
        good(&desk, &["remember", text]);
    }
    let (yarn, npm, pnpm) = (id_of(&desk, "yarn"), id_of(&desk, "npm for"), id_of(&desk, "pnpm"));
    good(&desk, &["memory", "relate", &pnpm, "supersedes", &yarn]);
    good(&desk, &["memory", "relate", &npm, "supersedes", &yarn]);
    good(&desk, &["memory", "relate", &pnpm, "supersedes", &yarn, "--off"]);
    assert_eq!(active(&desk).len(), 2, "another memory still supersedes it");
    let told = good(&desk, &["memory", "relate", &npm, "supersedes", &yarn, "--off"]);
    assert!(told.err.contains("is active again, because no other memory supersedes it"), "{told:?}");
    assert_eq!(active(&desk).len(), 3);
}

#[test]
fn a_correction_by_hand_outlives_what_was_said_before_it_and_states_only_what_it_says() {
    let desk = Desk::new();
    desk.write("a.json", chat("01-05", "I live in Bergen."));
    good(&desk, &["run", "-q", "a.json"]);
    good(&desk, &["memory", "update", &id_of(&desk, "Bergen"), "--content", "The user lives in Trondheim."]);
    desk.write("b.json", chat("02-05", "I live in Bergen."));
    good(&desk, &["run", "-q", "b.json"]);
    assert_eq!(active(&desk), ["The user lives in Trondheim."]);
    let id = id_of(&desk, "Trondheim");
    good(&desk, &["memory", "update", &id, "--content", "The user no longer lives in Trondheim."]);
    let memory = desk.json(&["memory", "show", &id]).remove(0);
    assert!(!memory.to_string().contains("\"value\":\"Trondheim\""), "{memory}");
}
