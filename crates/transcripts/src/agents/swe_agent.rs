//! Trajectories of SWE-agent and mini-swe-agent.
//!
//! Nobody types anything in a run: the task is a template that contains the text of an issue, and every later turn of
//! the user is the output of a command.

use serde_json::Value;

use crate::agents::turn::{answer, call, call_of, words_of};
use crate::json::Json;
use crate::message::identity;
use crate::{Assembler, Head, IngestError, Ingestor, Input, Message, Object, Objects, Sink};

/// Name of the format, stored with each transcript.
const NAME: &str = "swe-agent";

/// Reads trajectories of SWE-agent.
pub(crate) struct SweAgent;

impl Ingestor for SweAgent {
    named!(NAME);

    fn sniff(&self, head: &Head<'_>) -> bool {
        head.document.as_ref().is_some_and(is_trajectory)
    }

    fn read(&self, input: Input, sink: &mut Sink<'_>) -> Result<(), IngestError> {
        let time = identity::file_time(&input);
        Objects::each(input, sink, |Object { stem, number, origin, value: run, .. }, sink| {
            if !is_trajectory(&run) {
                return sink.skip(number, "no trajectory");
            }
            let mut draft = Assembler::new(NAME, "", origin);
            draft.meta().title = Some(stem.to_string());
            draft.meta().created_at = time.map(|time| time.at);
            draft.meta().model = model(&run);
            for message in messages(&run) {
                draft.name_after(&message, || identity::of_file(&stem, &message));
                draft.push(Message { time, ..message }, sink);
            }
            draft.finish(sink);
        })
    }
}

fn is_trajectory(run: &Value) -> bool {
    let is_step = |step: &Value| step["action"].is_string() && !step["observation"].is_null();
    let is_turn =
        |turn: &Value| turn["role"].is_string() && turn["content"].is_string() && turn["message_type"].is_string();
    run["trajectory_format"].string().starts_with("mini-swe-agent")
        || run["trajectory"].list().iter().any(is_step)
        || run["history"].list().iter().any(is_turn)
}

fn model(run: &Value) -> Option<String> {
    let parsed = run["replay_config"].as_str().and_then(|text| serde_json::from_str::<Value>(text).ok());
    let config = parsed.as_ref().unwrap_or(&run["replay_config"]);
    config["agent"]["model"]["name"].owned().or_else(|| run["info"]["config"]["model"]["model_name"].owned())
}

fn messages(run: &Value) -> Vec<Message> {
    let turns = if run["history"].list().is_empty() { run["messages"].list() } else { run["history"].list() };
    if turns.is_empty() {
        return run["trajectory"].list().iter().flat_map(step).collect();
    }
    let mut has_acted = false;
    turns.iter().flat_map(|turn| of_turn(turn, &mut has_acted)).collect()
}

/// Returns the messages of a step in a trajectory that lacks its history.
fn step(step: &Value) -> Vec<Message> {
    let thought = step["thought"].text().or(step["response"].text()).map(Message::assistant);
    let acted = step["action"].text().map(|action| call("run", &shell(action)));
    thought.into_iter().chain(acted).chain([answer(step["observation"].string())]).collect()
}

fn of_turn(turn: &Value, has_acted: &mut bool) -> Vec<Message> {
    let words = words_of(&turn["content"]);
    match turn["role"].string() {
        // Demonstrations are examples that precede the task.
        _ if turn["is_demo"] == true => vec![Message::context(words)],
        "assistant" | "ai" => {
            *has_acted = true;
            // If the log separates the thought from the action, the content repeats both.
            let is_separate = turn["thought"].is_string() && turn["action"].is_string();
            let thought = if is_separate { turn["thought"].string().to_owned() } else { words };
            let calls: Vec<Message> = turn["tool_calls"].list().iter().map(call_of).collect();
            let acted = turn["action"].text().filter(|_| calls.is_empty()).map(|action| call("run", &shell(action)));
            [Message::assistant(thought)].into_iter().chain(calls).chain(acted).collect()
        }
        "tool" | "user" if *has_acted => {
            let named = turn["tool_call_ids"].list().first().and_then(Value::as_str).or(turn["tool_call_id"].text());
            vec![answer(&words).ending(named, None)]
        }
        _ => vec![Message::context(words)],
    }
}

fn shell(command: &str) -> Value {
    serde_json::json!({ "command": command })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{lines, read, sniffs};
    use serde_json::json;

    #[test]
    fn nobody_types_in_a_run() {
        let step = json!({"action": "ls", "observation": "a.py", "thought": "I look."});
        let history = json!([
            {"role": "system", "content": "Be careful."},
            {"role": "user", "content": "An example.", "is_demo": true},
            {"role": "user", "content": [{"type": "text", "text": "ISSUE: it breaks"}]},
            {"role": "assistant", "content": "I look.\n```\nls\n```", "thought": "I look.\n", "action": "ls\n"},
            {"role": "user", "content": "a.py"},
            {"role": "assistant", "content": "I open.", "tool_calls": [{"id": "c", "function": {"name": "open", "arguments": "{\"path\":\"a.py\"}"}}]},
            {"role": "tool", "content": "import b", "tool_call_ids": ["c"]},
        ]);
        let text = json!({"trajectory": [step], "history": history, "replay_config": "{\"agent\":{\"model\":{\"name\":\"o9\"}}}"});
        assert!(sniffs(&SweAgent, &text.to_string()));
        let (seen, _) = read(&SweAgent, "x.traj", &text.to_string());
        assert_eq!(
            lines(&seen[0]),
            [
                "System Context Be careful.", "System Context An example.", "System Context ISSUE: it breaks",
                "Assistant Prose I look.", "Assistant ToolCall run ls", "Tool ToolResult a.py",
                "Assistant Prose I open.", "Assistant ToolCall open a.py", "Tool ToolResult import b",
            ]
        );
        assert_eq!(seen[0].model.as_deref(), Some("o9"));
    }

    #[test]
    fn steps_alone_and_short_runs_are_read() {
        let text = json!({"trajectory": [{"action": "ls", "observation": "a.py", "thought": "I look."}]}).to_string();
        let expected = ["Assistant Prose I look.", "Assistant ToolCall run ls", "Tool ToolResult a.py"];
        assert_eq!(lines(&read(&SweAgent, "x", &text).0[0]), expected);
        let text = json!({"trajectory_format": "mini-swe-agent-1", "messages": [{"role": "user", "content": "Fix it."}, {"role": "assistant", "content": "I look."}]});
        let expected = ["System Context Fix it.", "Assistant Prose I look."];
        assert_eq!(lines(&read(&SweAgent, "x", &text.to_string()).0[0]), expected);
        assert!(!sniffs(&SweAgent, "{\"trajectory\": [[0.1, 0.2]], \"info\": {}}"));
    }
}
