//! Events of `OpenHands`: rows of an `output.jsonl`, each a run with its history, and trajectories as arrays of events.

use serde_json::Value;

use crate::agents::turn::{answer, call, user_words};
use crate::json::Json;
use crate::message::identity;
use crate::{Assembler, Head, IngestError, Ingestor, Input, Layout, Message, MessageTime, Object, Objects, Sink};

/// Name of the format, stored with each transcript.
const NAME: &str = "openhands";
/// Fields that describe an event rather than its action.
const ABOUT: &[&str] = &["id", "timestamp", "source", "message", "action", "observation", "cause", "thought"];

/// Reads events of `OpenHands`.
pub(crate) struct OpenHands;

impl Ingestor for OpenHands {
    named!(NAME);

    fn sniff(&self, head: &Head<'_>) -> bool {
        let of_array = head.document.as_ref().is_some_and(Value::is_array) && head.objects().any(is_sourced);
        let is_large = head.document.as_ref().is_some_and(is_run);
        of_array || is_large || head.most_lines(is_run)
    }

    fn read(&self, input: Input, sink: &mut Sink<'_>) -> Result<(), IngestError> {
        let path = input.path.display().to_string();
        let mut session: Option<Assembler> = None;
        Objects::each(input, sink, |Object { stem, layout, number, origin, value }, sink| {
            if is_run(&value) {
                read_run(&value, &stem, origin, sink);
            } else if layout == Layout::Elements {
                let draft = session.get_or_insert_with(|| titled(&stem, path.clone()));
                add(draft, &stem, &value, false, sink);
            } else {
                sink.skip(number, "no `history` of events");
            }
        })?;
        if let Some(draft) = session {
            draft.finish(sink);
        }
        Ok(())
    }
}

fn titled(title: &str, origin: String) -> Assembler {
    let mut draft = Assembler::new(NAME, "", origin);
    draft.meta().title = Some(title.to_owned());
    draft
}

/// A run stores each event as an object, or as a pair of an action and its observation.
fn is_run(row: &Value) -> bool {
    let events = row["history"].list().iter().flat_map(Json::items);
    events.take(20).any(is_event) && (row["instance_id"].is_string() || row["instruction"].is_string())
}

fn is_event(event: &Value) -> bool {
    event["action"].is_string() || event["observation"].is_string()
}

fn is_sourced(event: &Value) -> bool {
    is_event(event) && matches!(event["source"].string(), "user" | "agent" | "environment")
}

fn read_run(run: &Value, stem: &str, origin: String, sink: &mut Sink<'_>) {
    let issue = &run["issue"];
    let name = run["instance_id"].owned().or_else(|| issue["title"].owned());
    let mut draft = titled(name.as_deref().unwrap_or(stem), origin);
    let repository =
        run["instance"]["repo"].owned().or_else(|| Some([issue["owner"].text()?, issue["repo"].text()?].join("/")));
    draft.meta().repository =
        repository.filter(|name| name.contains('/')).map(|name| format!("https://github.com/{name}"));
    draft.meta().model = run["metadata"]["llm_config"]["model"].owned();
    if let Some(name) = name {
        draft.set_external_id(identity::of_parts(&[stem, &name]));
    }
    for event in run["history"].list().iter().flat_map(Json::items) {
        add(&mut draft, stem, event, true, sink);
    }
    draft.finish(sink);
}

/// Adds the messages of an event; in a run, the user's turns were written by a program as well.
fn add(draft: &mut Assembler, stem: &str, event: &Value, is_run: bool, sink: &mut Sink<'_>) {
    let time: Option<MessageTime> = identity::stamp(&event["timestamp"]);
    let id = event["id"].as_u64().map(|id| id.to_string()).unwrap_or_default();
    for message in messages(event, is_run) {
        draft.name_after(&message, || identity::of_file(stem, &message));
        draft.push(Message { id: id.clone(), time, ..message }, sink);
    }
}

fn messages(event: &Value, is_run: bool) -> Vec<Message> {
    let named = event["tool_call_metadata"]["tool_call_id"].text();
    if let Some(kind) = event["observation"].as_str() {
        let extras = &event["extras"];
        let exit = [&extras["metadata"]["exit_code"], &extras["exit_code"], &event["exit_code"]];
        let exit = exit.into_iter().find_map(Value::as_i64);
        let failed = (kind == "error").then_some(true).or(exit.map(|exit| exit != 0));
        return match kind {
            "null" | "agent_state_changed" => Vec::new(),
            // This event contains the program's notes about the project.
            "recall" => vec![Message::context(extras["repo_instructions"].string())],
            _ => vec![answer(event["content"].string()).ending(named, failed)],
        };
    }
    // Older versions put the arguments into the event itself.
    let arguments = if event["args"].is_object() { &event["args"] } else { event };
    let words = arguments["content"].text().or(event["message"].text()).unwrap_or_default();
    let thought = arguments["thought"].text();
    match event["action"].string() {
        "system" | "recall" | "change_agent_state" | "null" => vec![Message::context(arguments["content"].string())],
        "message" => match event["source"].as_str() {
            Some("user") if !is_run => user_words(words),
            Some("agent") => vec![Message::assistant(words)],
            // In files without sources, only the task precedes the agent's first action.
            _ => vec![Message::context(words)],
        },
        "think" => thought.map(Message::reasoning).into_iter().collect(),
        "condensation" => arguments["summary"].text().map(Message::summary).into_iter().collect(),
        "finish" | "reject" => {
            let last = arguments["final_thought"].text().or(arguments["outputs"]["content"].text()).or(thought);
            last.map(Message::assistant).into_iter().collect()
        }
        action => {
            let mut arguments = arguments.clone();
            arguments
                .as_object_mut()
                .into_iter()
                .for_each(|fields| fields.retain(|key, _| !ABOUT.contains(&key.as_str())));
            let acted = call(action, &arguments).called(named);
            thought.map(Message::assistant).into_iter().chain([acted]).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{lines, read, sniffs};
    use serde_json::json;

    fn events() -> Value {
        json!([
            {"id": 0, "source": "agent", "action": "system", "args": {"content": "You are OpenHands."}},
            {"id": 1, "timestamp": "2026-01-14T10:02:33.5", "source": "user", "action": "message", "args": {"content": "Fix the parser."}},
            {"id": 2, "source": "environment", "observation": "agent_state_changed", "content": ""},
            {"id": 3, "source": "agent", "action": "run", "args": {"command": "just test", "thought": "I test first."}, "tool_call_metadata": {"tool_call_id": "c1"}},
            {"id": 4, "source": "agent", "observation": "run", "content": "1 failed", "extras": {"metadata": {"exit_code": 1}}, "tool_call_metadata": {"tool_call_id": "c1"}},
            {"id": 5, "source": "agent", "action": "think", "args": {"thought": "hm"}},
            {"id": 6, "source": "agent", "action": "finish", "args": {"final_thought": "Done."}},
        ])
    }

    const AFTER: [&str; 5] = [
        "Assistant Prose I test first.", "Assistant ToolCall run just test", "Tool ToolResult 1 failed",
        "Assistant Reasoning hm", "Assistant Prose Done.",
    ];

    #[test]
    fn a_session_has_a_user_and_a_run_has_none() {
        let session = events().to_string();
        let row = json!({"instance_id": "a__b-1", "instance": {"repo": "a/b"}, "history": events()}).to_string();
        assert!(sniffs(&OpenHands, &session) && sniffs(&OpenHands, &row));
        let (seen, _) = read(&OpenHands, "x.json", &session);
        assert_eq!(lines(&seen[0])[..2], ["System Context You are OpenHands.", "User Prose Fix the parser."]);
        assert_eq!(lines(&seen[0])[2..], AFTER);
        assert_eq!(seen[0].messages[4].action.as_ref().and_then(|action| action.failed), Some(true));
        let (seen, _) = read(&OpenHands, "x.jsonl", &format!("{row}\n{}\n", row.replace("b-1", "b-2")));
        assert_eq!(lines(&seen[0])[1], "System Context Fix the parser.");
        assert_eq!((seen.len(), seen[1].title.as_deref()), (2, Some("a__b-2")));
        assert_eq!(seen[0].repository.as_deref(), Some("https://github.com/a/b"));
    }

    #[test]
    fn pairs_of_older_versions_are_read() {
        let row = json!({"instruction": "Fix it.", "history": [
            [{"action": "message", "content": "Fix it."}, {"observation": "null", "content": ""}],
            [{"action": "run", "command": "ls", "thought": "I look."}, {"observation": "run", "content": "a.py", "exit_code": 0}],
        ]});
        let (seen, _) = read(&OpenHands, "x.jsonl", &row.to_string());
        let expected =
            ["System Context Fix it.", "Assistant Prose I look.", "Assistant ToolCall run ls", "Tool ToolResult a.py"];
        assert_eq!(lines(&seen[0]), expected);
        assert!(!sniffs(&OpenHands, "[{\"action\": \"opened\", \"source\": \"web\"}]"));
    }
}
