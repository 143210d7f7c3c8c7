//! Tests of the checks on a model's entries.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::super::answer::Answer;
use super::super::schema::reply_schema;
use super::super::{Span, Task};
use super::*;
use crate::extract::prompt::user;
use crate::extract::window::View;
use crate::memory::{Audience, Claim, Evidence, ExtractionMethod, Memory, MemoryType, Namespace, Scope};
use transcripts::{Action, Kind, Message, MessageTime, Role, TimeSource, Transcript};

/// Prompt numbers: 1 assistant, 2 user (both read before), 3 assistant, 4 user Ana, 5 tool result, 6 assistant.
fn transcript() -> Transcript {
    let at = |minute: i64| MessageTime {
        at: format!("2026-03-01T12:{minute:02}:00Z").parse().unwrap(),
        offset_seconds: Some(3600),
        source: TimeSource::Log,
    };
    let boot = "Run the whole test suite before each commit and never skip the linter.";
    let mut messages = vec![
        Message { kind: Kind::Context, ..Message::prose(Role::System, boot) },
        Message::assistant("Where do you live?"),
        Message::user("I live in Split and run the whole test suite before each commit."),
        Message::assistant("Shall we always use pnpm instead of npm?"),
        Message {
            speaker: Some("Ana".into()),
            ..Message::user("Yes please. I'm allergic to “peanuts”,\nand the limit is 250 MB.")
        },
        Message { kind: Kind::ToolResult, ..Message::prose(Role::Tool, "pnpm 9.1 installed everywhere") },
        Message::assistant("pnpm is the fastest package manager."),
    ];
    for (minute, message) in (0..).zip(&mut messages) {
        message.id = format!("m{minute}");
        message.time = Some(at(minute));
    }
    Transcript { source: "test".into(), external_id: "t1".into(), messages, ..Transcript::default() }
}

fn known() -> Memory {
    let claim = Claim::new(MemoryType::Semantic, "fact", "t", "The user uses npm.");
    let now = "2026-01-01T00:00:00Z".parse().unwrap();
    Memory::new(claim, Namespace::global(), "manual", ExtractionMethod::Manual, now)
}

fn answer(text: &str, known: &[Memory]) -> Answer {
    let transcript = transcript();
    let span = Span { context_start: 0, start: 3, end: 7 };
    let categories = ["fact", "preference", "profile", "pattern"].map(str::to_owned);
    let task = Task { transcript: &transcript, span, known, instructions: None, categories: &categories };
    let shown = user(&[task], &View::of(span)).sessions;
    Answer::read(text, &[task], &shown, &reply_schema(&categories))
}

fn checked(text: &str, known: &[Memory]) -> Checked {
    answer(text, known).sessions.remove(0)
}

/// A valid entry, with `changes` made to it.
fn entry(changes: &Value) -> Value {
    let mut entry = json!({
        "type": "semantic", "category": "fact", "title": "Peanut allergy", "content": "Ana is allergic to peanuts.",
        "subject": "health", "key": "user.allergy", "value": "peanuts", "audience": "user", "basis": "stated",
        "importance": 9, "from": null, "to": null, "expires": null, "messages": [4],
        "quote": "I'm allergic to \"peanuts\"", "replaces": null, "tags": ["Health", "#health", "food"],
        "episode": null, "procedure": null,
    });
    for (name, value) in changes.as_object().unwrap() {
        entry[name] = value.clone();
    }
    entry
}

fn reply(entries: &[Value]) -> String {
    json!({"memories": entries}).to_string()
}

fn only_drop(changes: &Value) -> Dropped {
    let mut checked = checked(&reply(&[entry(changes)]), &[known()]);
    assert_eq!((checked.candidates.len(), checked.dropped.len()), (0, 1), "{changes}");
    checked.dropped.remove(0).1
}

fn only_candidate(changes: &Value) -> Candidate {
    let mut checked = checked(&reply(&[entry(changes)]), &[known()]);
    assert_eq!(checked.dropped, [], "{changes}");
    checked.candidates.remove(0)
}

#[test]
fn a_sound_entry_becomes_a_candidate_with_evidence() {
    let transcript = transcript();
    let message = &transcript.messages[4];
    let candidate = only_candidate(&json!({"from": "2026", "expires": "2026-03-05"}));
    let expected = Candidate {
        claim: Claim {
            subject: Some("health".into()),
            key: Some("user.allergy".into()),
            value: Some("peanuts".into()),
            scope: Scope::ShortTerm,
            importance: 0.9,
            confidence: 0.9,
            tags: vec!["health".into(), "food".into()],
            valid_from: Some("2025-12-31T23:00:00Z".parse().unwrap()),
            expires_at: Some("2026-03-05T22:59:59Z".parse().unwrap()),
            ..Claim::new(MemoryType::Semantic, "fact", "Peanut allergy", "Ana is allergic to peanuts.")
        },
        audience: Audience::User,
        evidence: vec![Evidence {
            transcript: "test:t1".into(),
            messages: vec!["m4".into()],
            quote: "I'm allergic to “peanuts”".into(),
            speaker: Some("Ana".into()),
            said_at: message.time,
            content_hash: message.content_hash(),
        }],
        replaces: None,
        is_pasted: false,
        is_shipped: false,
        updates_only: false,
    };
    assert_eq!(candidate, expected);
}

#[test]
fn every_fault_is_dropped_for_its_reason() {
    for (changes, reason, detail) in [
        (json!({"type": "opinion"}), DropReason::Invalid, "/type"),
        (json!({"category": "gossip"}), DropReason::Invalid, "/category"),
        (json!({"quote": null}), DropReason::Invalid, "/quote"),
        (json!({"importance": 11}), DropReason::Invalid, "importance is not from 1 to 10"),
        (json!({"importance": 0.7}), DropReason::Invalid, "/importance"),
        (json!({"content": " … "}), DropReason::Invalid, "content is empty"),
        (json!({"from": "last May"}), DropReason::Invalid, "from is not a date"),
        (json!({"from": "2026-03", "to": "2026-02"}), DropReason::Invalid, "to is before from"),
        (json!({"messages": [4, 99]}), DropReason::WrongMessage, "message 99 was not shown"),
        (json!({"messages": [0]}), DropReason::WrongMessage, "message 0 was not shown"),
        (json!({"messages": [-1]}), DropReason::WrongMessage, "message -1 was not shown"),
        (
            json!({"messages": [2], "quote": "I live in Split", "content": "The user lives in Split."}),
            DropReason::WrongMessage,
            "no cited message of a person is in <conversation>",
        ),
        (json!({"messages": []}), DropReason::QuoteNotFound, "messages is empty"),
        (json!({"quote": "I am allergic to nuts"}), DropReason::QuoteNotFound, "quote does not stand"),
        (json!({"messages": [3]}), DropReason::QuoteNotFound, "quote does not stand"),
        (
            json!({"messages": [6], "quote": "pnpm is the fastest", "content": "pnpm is the fastest tool."}),
            DropReason::NotSaid,
            "no person said or confirmed it",
        ),
        (
            json!({"messages": [6, 4], "quote": "pnpm is the fastest", "content": "pnpm is the fastest tool."}),
            DropReason::NotSaid,
            "no person confirmed it afterwards",
        ),
        (json!({"messages": [5, 4], "quote": "pnpm 9.1 installed"}), DropReason::NotSaid, "not what a participant"),
        (
            json!({"content": "Run the whole test suite before each commit, never skip the linter."}),
            DropReason::NotSaid,
            "it restates injected text",
        ),
        (json!({"content": "The limit is 512 MB."}), DropReason::NumberNotSaid, "the number 512 stands in no message"),
    ] {
        let dropped = only_drop(&changes);
        assert_eq!(dropped.reason, reason, "{changes}: {}", dropped.detail);
        assert!(dropped.detail.contains(detail), "{changes}: {}", dropped.detail);
    }
}

#[test]
fn what_a_picture_shows_counts_beside_its_senders_words() {
    let mut transcript = transcript();
    let ana = Some("Ana".to_owned());
    transcript.messages[5] = Message {
        kind: Kind::Attachment,
        speaker: ana,
        id: "m5".into(),
        ..Message::user("[image: a red boat on a lake]")
    };
    let categories = ["fact".to_owned()];
    let span = Span { context_start: 0, start: 3, end: 7 };
    let task = Task { transcript: &transcript, span, known: &[], instructions: None, categories: &categories };
    let shown = user(&[task], &View::of(span)).sessions;
    let reason = |messages: Value| {
        let entry = entry(
            &json!({"messages": messages, "quote": "a red boat on a lake", "content": "Ana has a picture of a red boat."}),
        );
        let text = json!({"memories": [entry]}).to_string();
        let answer = Answer::read(&text, &[task], &shown, &reply_schema(&categories));
        answer.sessions[0].dropped.first().map(|(_, one)| one.reason)
    };
    assert_eq!(reason(json!([5, 4])), None);
    assert_eq!(reason(json!([5])), Some(DropReason::NotSaid));
    assert_eq!(reason(json!([5, 3])), Some(DropReason::NotSaid));
}

#[test]
fn what_a_command_printed_counts_for_an_episode_that_a_person_saw_end() {
    let action = |command: Option<&str>| {
        let command = command.map(str::to_owned);
        Some(Box::new(Action { call: Some("c1".into()), command, ..Action::default() }))
    };
    let mut transcript = transcript();
    let printed = "push refused: pos is not an integer";
    transcript.messages[4] = Message { kind: Kind::ToolCall, ..Message::prose(Role::Assistant, "push sheet.json") };
    transcript.messages[5] = Message { kind: Kind::ToolResult, ..Message::prose(Role::Tool, printed) };
    transcript.messages[6] = Message::user("Great, it is on the screen now.");
    transcript.messages[5].action = action(None);
    let reason = |command: Option<&str>, messages: Value, episode: Value| {
        let mut transcript = transcript.clone();
        transcript.messages[4].action = action(command);
        let categories = ["fact".to_owned()];
        let span = Span { context_start: 0, start: 2, end: 7 };
        let task = Task { transcript: &transcript, span, known: &[], instructions: None, categories: &categories };
        let shown = user(&[task], &View::of(span)).sessions;
        let content = "A sheet whose pos is not an integer is refused by push.";
        let entry = entry(&json!({"messages": messages, "quote": printed, "content": content, "episode": episode}));
        let text = json!({"memories": [entry]}).to_string();
        let answer = Answer::read(&text, &[task], &shown, &reply_schema(&categories));
        answer.sessions[0].dropped.first().map(|(_, one)| one.reason)
    };
    let episode = json!({"situation": "A sheet was pushed.", "action": "It was rounded.", "outcome": "success",
        "reasoning": null, "learnings": []});
    assert_eq!(reason(Some("push sheet.json"), json!([5, 6]), episode.clone()), None);
    // A page that was fetched, a fact without an episode, and an outcome that nobody saw do not count.
    assert_eq!(reason(None, json!([5, 6]), episode.clone()), Some(DropReason::NotSaid));
    assert_eq!(reason(Some("push sheet.json"), json!([5, 6]), json!(null)), Some(DropReason::NotSaid));
    assert_eq!(reason(Some("push sheet.json"), json!([5, 2]), episode), Some(DropReason::NotSaid));
}

#[test]
fn errors_do_not_repeat_what_was_said() {
    let dropped = only_drop(&json!({"category": "peanuts", "audience": "Ana", "messages": "all of Ana's"}));
    assert!(!dropped.detail.contains("peanuts") && !dropped.detail.contains("Ana"), "{}", dropped.detail);
}

#[test]
fn an_assistants_proposal_counts_once_a_person_confirms_it() {
    let changes = json!({
        "content": "Ana wants pnpm instead of npm to be used.", "messages": [3, 4],
        "quote": "always use pnpm instead of npm", "basis": "stated", "replaces": 1,
    });
    let candidate = only_candidate(&changes);
    assert_eq!(candidate.evidence[0].messages, ["m3", "m4"]);
    assert!((candidate.claim.confidence - 0.8).abs() < f64::EPSILON);
    assert!(candidate.replaces.is_some());
    assert_eq!(only_candidate(&json!({"replaces": 7})).replaces, None);
}

#[test]
fn the_quoted_message_comes_first_wherever_it_is_cited() {
    assert_eq!(only_candidate(&json!({"messages": [6, 3, 4, 4]})).evidence[0].messages, ["m4", "m3", "m6"]);
}

#[test]
fn parts_follow_the_type() {
    let episode = json!({"situation": "s", "action": "a", "outcome": "failure", "reasoning": null, "learnings": ["l"]});
    let steps = json!({"name": "n", "description": "d", "triggers": ["t"], "steps": ["s"]});
    let parts = |changes: &Value| serde_json::to_value(only_candidate(changes).claim.structured).unwrap();
    assert_eq!(
        parts(&json!({"type": "episodic", "episode": episode, "procedure": steps})),
        json!({"situation": "s", "action": "a", "outcome": "failure", "learnings": ["l"]})
    );
    assert_eq!(
        parts(&json!({"type": "procedural", "procedure": steps})),
        json!({"name": "n", "description": "d", "steps": ["s"], "triggers": ["t"]})
    );
    assert_eq!(parts(&json!({"type": "procedural"}))["name"], "Peanut allergy");
    assert_eq!(
        parts(&json!({"type": "episodic", "category": "pattern"})),
        json!({"pattern": {"description": "Ana is allergic to peanuts."}})
    );
    assert_eq!(parts(&json!({"category": "profile"})), json!({"profile": {"allergy": "peanuts"}}));
    assert_eq!(parts(&json!({"episode": episode})), Value::Null);
}

#[test]
fn a_long_quote_is_shortened_at_a_word() {
    let long = "peanut ".repeat(200);
    let short = shortened(long.trim());
    assert!(short.len() <= MAX_QUOTE_BYTES && long.starts_with(&short) && short.ends_with("peanut"), "{short}");
    assert_eq!(shortened(&"花".repeat(400)), "花".repeat(200));
}

#[test]
fn every_entry_of_a_list_is_accounted_for() {
    let mut cut = reply(&[entry(&json!({})), entry(&json!({"quote": "no such words"})), entry(&json!({}))]);
    cut.truncate(cut.len() - 40);
    let mut answer = answer(&cut, &[]);
    let checked = answer.sessions.remove(0);
    assert_eq!((answer.legible, checked.candidates.len()), (Legible::Cut, 1));
    let dropped: Vec<_> =
        checked.dropped.iter().map(|(place, one)| (*place, one.reason, one.detail.as_str())).collect();
    assert_eq!(
        dropped,
        [
            (2, DropReason::QuoteNotFound, "quote does not stand in the cited messages"),
            (3, DropReason::Invalid, "is cut short"),
        ]
    );
}

#[test]
fn repairs_are_wanted_for_shape_and_for_citations_only() {
    let good = entry(&json!({}));
    let bad = |changes: Value| entry(&changes);
    for (text, wanted) in [
        ("no list".to_owned(), true),
        (reply(&[]), false),
        (reply(&[good.clone(), bad(json!({"importance": 0}))]), true),
        (reply(&[bad(json!({"quote": "not there"}))]), true),
        (reply(&[good, bad(json!({"quote": "not there"}))]), false),
        (reply(&[bad(json!({"messages": [6], "quote": "pnpm is the fastest"}))]), false),
    ] {
        assert_eq!(answer(&text, &[]).wants_repair(), wanted, "{text}");
    }
}

#[test]
fn a_candidate_that_is_only_a_secret_is_dropped() {
    let mut candidate = only_candidate(&json!({}));
    assert_eq!(without_secret(candidate.clone()), Ok(candidate.clone()));
    candidate.claim.content = format!("The key is [{}:api_key].", "REDACTED");
    assert_eq!(without_secret(candidate).unwrap_err().reason, DropReason::Secret);
}

proptest! {
    /// However an entry is changed, it is returned either as a candidate or as dropped.
    #[test]
    fn nothing_proposed_is_lost_in_silence(
        changes in prop::collection::vec((0_usize..19, 0_usize..8), 0..12),
        cut in prop::option::of(0_usize..3_000),
    ) {
        let values = [
            json!(null), json!(7), json!("x"), json!([]), json!({"a": [1]}), json!(true), json!("2031-01-01"),
            json!("Bob never said 4711"),
        ];
        let mut entries = vec![entry(&json!({})); 4];
        for (place, (field, value)) in changes.into_iter().enumerate() {
            let object = entries[place % 4].as_object_mut().unwrap();
            let name = object.keys().nth(field).unwrap().clone();
            object.insert(name, values[value].clone());
        }
        let whole = reply(&entries);
        let text = &whole[..whole.floor_char_boundary(cut.unwrap_or(whole.len()))];
        let proposed = super::super::reply::entries(text).map_or(0, |list| list.items.len());
        let checked = checked(text, &[known()]);
        prop_assert_eq!(checked.candidates.len() + checked.dropped.len(), proposed);
        prop_assert!(cut.is_some() || proposed == 4);
        prop_assert!(checked.dropped.iter().all(|(place, one)| (1..=proposed).contains(place) && !one.detail.is_empty()));
    }
}

#[test]
fn the_examples_of_the_prompt_do_not_become_memories() {
    let prompt = crate::extract::prompt::system(&["decision".to_owned(), "convention".to_owned()]);
    let starts: Vec<usize> = prompt.match_indices("{\"memories\":[{").map(|(at, _)| at).collect();
    assert!(!starts.is_empty());
    for start in starts {
        let example = serde_json::Deserializer::from_str(&prompt[start..]).into_iter::<Value>().next();
        let checked = checked(&example.unwrap().unwrap().to_string(), &[]);
        assert!(checked.candidates.is_empty() && !checked.dropped.is_empty(), "{checked:?}");
    }
}
