//! Qwen Code session recordings: JSONL in which each line refers to the previous one and wraps a message in Gemini's
//! format.

use std::collections::HashMap;

use serde_json::Value;

use crate::agents::{gemini_cli, turn};
use crate::json::Json;
use crate::message::identity;
use crate::message::parts::call_on;
use crate::{Assembler, Head, IngestError, Ingestor, Input, Kind, Message, Records, Role, Sink};

/// Name of the format, stored with each transcript.
const NAME: &str = "qwen-code";
/// Types of user records that a person typed; all other types come from notices, timers and other agents.
const TYPED: &[&str] = &["", "at_command", "mid_turn_user_message", "user_text_elements"];

/// Reads Qwen Code sessions.
pub(crate) struct QwenCode;

impl Ingestor for QwenCode {
    named!(NAME);

    fn sniff(&self, head: &Head<'_>) -> bool {
        head.any_line(is_message) || head.document.as_ref().is_some_and(is_message)
    }

    fn read(&self, input: Input, sink: &mut Sink<'_>) -> Result<(), IngestError> {
        let mut session = Session {
            draft: Assembler::new(NAME, input.stem(), input.path.display().to_string()),
            ends: HashMap::new(),
        };
        let mut records = Records::lines(input);
        while let Some((number, line)) = records.next_json::<Value>(sink)? {
            if line["uuid"].is_string() && line["type"].is_string() {
                session.take(&line, sink);
            } else {
                sink.skip(number, "not a record of a session");
            }
        }
        session.draft.finish(sink);
        Ok(())
    }
}

fn is_message(line: &Value) -> bool {
    line["uuid"].is_string() && line["sessionId"].is_string() && line["message"]["parts"].is_array()
}

/// The state of one session while it is being read.
struct Session {
    draft: Assembler,
    /// The number of buffered messages after each line.
    ends: HashMap<String, usize>,
}

impl Session {
    fn take(&mut self, line: &Value, sink: &mut Sink<'_>) {
        self.take_head(line);
        let messages = messages(line);
        // A tool result is also logged as a user line, and must not count as a rewind.
        if line["type"] == "user" && messages.iter().any(Message::is_human) {
            self.rewind(line["parentUuid"].as_str());
        }
        let id = line["uuid"].string();
        let time = self.draft.next_time(identity::rfc3339(&line["timestamp"]));
        for message in messages {
            self.draft.hold(Message { id: id.to_owned(), time, ..message });
        }
        self.ends.insert(id.to_owned(), self.draft.held());
        if self.draft.is_full() {
            self.draft.hand_over(sink);
            // Messages that were passed on can no longer be undone.
            self.ends.clear();
        }
    }

    fn take_head(&mut self, line: &Value) {
        if let Some(id) = line["sessionId"].owned().filter(|_| self.ends.is_empty() && self.draft.held() == 0) {
            self.draft.set_external_id(id);
        }
        let meta = self.draft.meta();
        meta.project = meta.project.take().or_else(|| line["cwd"].owned());
        meta.model = line["model"].owned().or(meta.model.take());
        if line["subtype"] == "custom_title" {
            meta.title = line["systemPayload"]["customTitle"].owned().or(meta.title.take());
        }
    }

    /// Removes the messages after the line that a new prompt refers to: the user rewound the conversation to that line.
    fn rewind(&mut self, parent: Option<&str>) {
        let end = parent.and_then(|parent| self.ends.get(parent)).copied();
        if let Some(end) = end.filter(|end| *end < self.draft.held()) {
            self.draft.truncate(end);
            self.ends.retain(|_, other| *other <= end);
        }
    }
}

fn messages(line: &Value) -> Vec<Message> {
    let subtype = line["subtype"].string();
    let mut messages = gemini_cli::turn_messages(&line["message"]);
    match line["type"].string() {
        "system" if subtype == "slash_command" => {
            let command = line["systemPayload"]["rawCommand"].string();
            let is_call = !command.is_empty() && line["systemPayload"]["phase"] != "result";
            let call = Message::new(Role::User, Kind::ToolCall, call_on(command, ""));
            messages.extend(is_call.then_some(call));
        }
        "user" => {
            let source = line["provenance"].as_str().unwrap_or("real_user");
            if !TYPED.contains(&subtype) || source != "real_user" {
                let human = messages.iter_mut().filter(|message| message.is_human());
                human.for_each(|message| (message.role, message.kind) = (Role::System, Kind::Context));
            }
        }
        "tool_result" => {
            let failed = line["toolCallResult"]["status"].text().map(|status| status != "success");
            for action in messages.iter_mut().filter_map(|message| message.action.as_mut()) {
                action.failed = failed.or(action.failed);
            }
        }
        _ => {}
    }
    if line["isSidechain"] == true {
        turn::of_sub_agent(&mut messages);
    }
    messages
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Transcript;
    use crate::testing::read_input;
    use serde_json::json;

    fn line(uuid: &str, parent: Option<&str>, kind: &str, parts: impl Into<Value>) -> Value {
        let role = if kind == "assistant" { "model" } else { "user" };
        json!({"uuid": uuid, "parentUuid": parent, "sessionId": "s", "timestamp": "2026-03-02T09:00:00.000Z", "type": kind,
            "cwd": "/home/wei/teahouse", "message": {"role": role, "parts": parts.into()}})
    }

    fn read(lines: &[Value]) -> Transcript {
        let text: String = lines.iter().flat_map(|line| [line.to_string(), "\n".to_owned()]).collect();
        assert!(QwenCode.sniff(&Head::new(text.as_str().into(), true)));
        read_input(&QwenCode, Input::from_text("s.jsonl", &text)).0.remove(0)
    }

    fn pieces(lines: &[Value]) -> Vec<String> {
        let show = |message: &Message| format!("{:?} {:?}: {}", message.role, message.kind, message.text);
        read(lines).messages.iter().map(show).collect()
    }

    #[test]
    fn records_say_words_thoughts_calls_and_answers() {
        let mut notice = line("n", Some("t"), "user", json!([{"text": "task done"}]));
        notice["subtype"] = "notification".into();
        let mut goal = line("g", Some("n"), "user", json!([{"text": "go on towards the goal"}]));
        goal["provenance"] = "goal_runtime".into();
        let command = json!({"uuid": "c", "sessionId": "s", "type": "system", "subtype": "slash_command", "systemPayload": {"phase": "invocation", "rawCommand": "/model"}});
        let lines = [
            line("u", None, "user", json!([{"text": "use tabs"}])),
            line(
                "a",
                Some("u"),
                "assistant",
                json!([{"text": "hm", "thought": true}, {"text": "ok"}, {"functionCall": {"name": "edit", "args": {"file_path": "a.py"}}}]),
            ),
            line("t", Some("a"), "tool_result", json!([{"functionResponse": {"response": {"output": "done"}}}])),
            notice,
            goal,
            command,
        ];
        assert_eq!(
            pieces(&lines),
            [
                "User Prose: use tabs", "Assistant Reasoning: hm", "Assistant Prose: ok",
                "Assistant ToolCall: edit a.py", "Tool ToolResult: done", "System Context: task done",
                "System Context: go on towards the goal", "User ToolCall: /model",
            ]
        );
        assert_eq!(read(&lines).project.as_deref(), Some("/home/wei/teahouse"));
    }

    #[test]
    fn answers_to_the_agents_questions_are_the_users() {
        let args = json!({"questions": [{"question": "Which database?", "header": "Database", "options": [{"label": "SQLite", "description": "one file"}]}]});
        let asked = |output: &str| {
            let call = json!([{"functionCall": {"id": "c1", "name": "ask_user_question", "args": args}}]);
            let response = json!([{"functionResponse": {"id": "c1", "name": "ask_user_question", "response": {"output": output}}}]);
            let mut result = line("t", Some("a"), "tool_result", response);
            result["toolCallResult"] = json!({"callId": "c1", "status": "success"});
            pieces(&[line("a", None, "assistant", call), result]).split_off(2)
        };
        assert_eq!(
            asked("User has provided the following answers:\n\n**Database**: DuckDB\nfor now"),
            ["Assistant Prose: Which database?\n- SQLite: one file", "User Prose: DuckDB\nfor now"]
        );
        assert_eq!(asked("User declined to answer the questions."), Vec::<String>::new());
    }

    #[test]
    fn calls_have_their_effect_and_results_how_they_ended() {
        let call = |name: &str, args: Value| json!([{"functionCall": {"id": "c1", "name": name, "args": args}}]);
        let result = |response: Value, status: &str| {
            let mut result =
                line("t", Some("a"), "tool_result", json!([{"functionResponse": {"id": "c1", "response": response}}]));
            result["toolCallResult"] = json!({"callId": "c1", "status": status});
            result
        };
        let shell = call("run_shell_command", json!({"command": "make"}));
        for (parts, result, failed) in [
            (shell.clone(), result(json!({"output": "done"}), "success"), Some(false)),
            (shell.clone(), result(json!({"error": "Exit Code: 2"}), "error"), Some(true)),
            (
                shell,
                line(
                    "t",
                    Some("a"),
                    "tool_result",
                    json!([{"functionResponse": {"id": "c1", "response": {"error": "none"}}}]),
                ),
                Some(true),
            ),
            (
                call("write_file", json!({"file_path": "a.py"})),
                result(json!({"output": "no"}), "cancelled"),
                Some(true),
            ),
        ] {
            let seen = read(&[line("a", None, "assistant", parts), result]);
            let actions: Vec<_> = seen.messages.iter().map(|one| one.action.clone().unwrap()).collect();
            assert!(actions[0].command.as_deref() == Some("make") || actions[0].files[0].path == "a.py");
            assert_eq!((actions[0].call.as_deref(), &actions[1].call), (Some("c1"), &actions[0].call));
            assert_eq!(actions[1].failed, failed);
        }
    }

    #[test]
    fn in_a_sub_agents_records_no_person_speaks() {
        let mut prompt = line("u", None, "user", json!([{"text": "look"}]));
        prompt["isSidechain"] = true.into();
        assert_eq!(pieces(&[prompt]), ["Other Prose: look"]);
    }

    #[test]
    fn a_prompt_that_follows_an_earlier_line_takes_back_what_came_after_it() {
        let say = |uuid: &str, parent, kind: &str| line(uuid, parent, kind, json!([{"text": uuid}]));
        let lines = [
            say("u1", None, "user"),
            say("a1", Some("u1"), "assistant"),
            say("u2", Some("a1"), "user"),
            say("a2", Some("u2"), "assistant"),
            say("u3", Some("a1"), "user"),
        ];
        assert_eq!(pieces(&lines), ["User Prose: u1", "Assistant Prose: a1", "User Prose: u3"]);
    }
}
