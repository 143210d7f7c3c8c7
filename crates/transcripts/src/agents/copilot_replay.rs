//! Replays of Copilot chats, which VS Code's chat debug view exports with every request to a model.

use serde_json::Value;

use crate::agents::turn::{answer, call, user_words, words_of};
use crate::json::Json;
use crate::message::{identity, parts};
use crate::{Assembler, Head, IngestError, Ingestor, Input, Message, MessageTime, Records, Role, Sink};

/// Name of the format, stored with each transcript.
const NAME: &str = "copilot-replay";
/// Text that precedes the folder in the program's note about the workspace.
const WORKSPACE: &str = "workspace with the following folders:";

/// Reads replays of Copilot chat.
pub(crate) struct CopilotReplay;

impl Ingestor for CopilotReplay {
    named!(NAME);

    fn sniff(&self, head: &Head<'_>) -> bool {
        head.document.as_ref().is_some_and(|replay| is_prompt(replay) || replay["prompts"].list().iter().any(is_prompt))
    }

    fn read(&self, input: Input, sink: &mut Sink<'_>) -> Result<(), IngestError> {
        let (stem, origin) = (input.stem(), input.path.display().to_string());
        let mut draft = Assembler::new(NAME, "", origin);
        draft.meta().title = Some(stem.trim_end_matches(".chatreplay").to_owned());
        let mut replay = Replay { draft, stem, last: String::new() };
        let mut records = Records::elements(input);
        while let Some((number, value)) = records.next_json::<Value>(sink)? {
            let prompts = if is_prompt(&value) { std::slice::from_ref(&value) } else { value["prompts"].list() };
            if prompts.is_empty() {
                sink.skip(number, "not a prompt with its log");
            }
            prompts.iter().for_each(|prompt| replay.add(prompt, sink));
        }
        replay.draft.finish(sink);
        Ok(())
    }
}

fn is_prompt(value: &Value) -> bool {
    value["prompt"].is_string() && value["logs"].is_array()
}

struct Replay {
    draft: Assembler,
    stem: String,
    /// The last prompt, which the log repeats for each round of tool calls.
    last: String,
}

impl Replay {
    fn add(&mut self, prompt: &Value, sink: &mut Sink<'_>) {
        let logs = prompt["logs"].list();
        let typed = prompt["prompt"].string();
        if prompt["hasSeen"] != true || typed != self.last {
            let time = logs.iter().find_map(time);
            user_words(typed).into_iter().for_each(|message| self.say(Message { time, ..message }, sink));
            typed.clone_into(&mut self.last);
        }
        for log in logs {
            let time = time(log);
            let id = log["id"].string();
            for message in self.messages(log) {
                self.say(Message { id: id.to_owned(), time, ..message }, sink);
            }
        }
    }

    fn say(&mut self, message: Message, sink: &mut Sink<'_>) {
        self.draft.name_after(&message, || identity::of_file(&self.stem, &message));
        self.draft.push(message, sink);
    }

    fn messages(&mut self, log: &Value) -> Vec<Message> {
        let result = words(&log["response"]);
        match log["kind"].string() {
            "toolCall" => {
                let named = log["id"].text();
                let acted = call(log["tool"].string(), &log["args"]).called(named);
                let thought = words(&log["thinking"]["text"]);
                [Message::reasoning(thought), acted, answer(&result).ending(named, None)].into()
            }
            "request" => {
                self.note_workspace(&log["requestMessages"]["messages"]);
                let said = Message::assistant(parts::without_data(&words(&log["response"]["message"])));
                let name = log["name"].string();
                if name.starts_with("panel/") || name.starts_with("inline/") {
                    let model = log["metadata"]["model"].owned();
                    self.draft.meta().model = model.or(self.draft.meta().model.take());
                    vec![said]
                } else if name.starts_with("tool/") {
                    vec![Message { role: Role::Other, ..said }]
                } else {
                    // Titles and summaries, which the program requests for itself.
                    vec![Message::context(said.text)]
                }
            }
            // Elements of a prompt, which the request also contains.
            _ => Vec::new(),
        }
    }

    fn note_workspace(&mut self, messages: &Value) {
        if self.draft.meta().project.is_none() {
            let texts = messages.list().iter().map(|message| words_of(&message["content"]));
            let folder = texts.into_iter().find_map(|text| {
                let (_, rest) = text.split_once(WORKSPACE)?;
                rest.lines().find_map(|line| line.strip_prefix("- ")).map(|folder| folder.trim().to_owned())
            });
            self.draft.meta().project = folder;
        }
    }
}

/// Returns the text of a string, or the joined texts of a list.
fn words(value: &Value) -> String {
    value.items().iter().filter_map(Value::as_str).collect::<Vec<_>>().join("\n")
}

fn time(log: &Value) -> Option<MessageTime> {
    identity::rfc3339(&log["time"]).or_else(|| identity::rfc3339(&log["metadata"]["startTime"]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{lines, read, sniffs};
    use serde_json::json;

    #[test]
    fn a_prompt_is_said_once_and_only_the_panel_answers() {
        let request = |name: &str, said: &str| {
            json!({"id": "r", "kind": "request", "name": name,
                "metadata": {"model": "m", "startTime": "2026-01-14T10:02:33.5Z"},
                "requestMessages": {"messages": [{"role": 1, "content": [{"type": 1, "text": "I am working in a workspace with the following folders:\n- /home/ana/oven \n"}]}]},
                "response": {"type": "success", "message": [said]}})
        };
        let tool = json!({"id": "t", "kind": "toolCall", "tool": "read_file", "args": "{\"filePath\":\"a.rs\"}", "time": "2026-01-14T10:02:34Z", "response": ["ok"]});
        let prompt =
            |seen: bool, logs: &[Value]| json!({"prompt": "use tabs", "hasSeen": seen, "logCount": 1, "logs": logs});
        let text = json!({"exportedAt": "2026-01-14T11:00:00Z", "prompts": [
            prompt(false, &[json!({"kind": "element", "name": "x"}), request("title", "Tabs"), request("panel/editAgent", "I look."), tool]),
            prompt(true, &[request("tool/runSubagent", "Found."), request("panel/editAgent", "Done.")]),
        ]});
        assert!(sniffs(&CopilotReplay, &text.to_string()));
        let (seen, _) = read(&CopilotReplay, "x.chatreplay.json", &text.to_string());
        assert_eq!(
            lines(&seen[0]),
            [
                "User Prose use tabs", "System Context Tabs", "Assistant Prose I look.",
                "Assistant ToolCall read_file a.rs", "Tool ToolResult ok", "Other Prose Found.",
                "Assistant Prose Done.",
            ]
        );
        assert_eq!((seen[0].project.as_deref(), seen[0].model.as_deref()), (Some("/home/ana/oven"), Some("m")));
        let one = prompt(false, &[]).to_string();
        assert_eq!(lines(&read(&CopilotReplay, "x.json", &one).0[0]), ["User Prose use tabs"]);
        assert!(sniffs(&CopilotReplay, &one) && !sniffs(&CopilotReplay, "{\"prompts\": [\"a\"]}"));
    }

    #[test]
    fn answers_to_the_agents_questions_are_the_users() {
        let args =
            json!({"questions": [{"header": "Port", "question": "Which port?", "options": [{"label": "Turku"}]}]});
        let said = |selected: &[&str], typed: Value| {
            let answers = json!({"answers": {"Port": {"selected": selected, "freeText": typed, "skipped": false}}});
            let tool = json!({"id": "t", "kind": "toolCall", "tool": "vscode_askQuestions", "args": args.to_string(),
                "response": [answers.to_string()]});
            let prompt = json!({"prompt": "go", "hasSeen": false, "logs": [tool]}).to_string();
            lines(&read(&CopilotReplay, "x.json", &prompt).0[0]).split_off(3)
        };
        assert_eq!(
            said(&["Turku"], "the old one".into()),
            ["Assistant Prose Which port?\n- Turku", "User Prose Turku, the old one"]
        );
        let absent = "The user is not available to respond and will review your work later.";
        assert_eq!(said(&[], absent.into()), Vec::<String>::new());
        assert_eq!(said(&[], Value::Null), Vec::<String>::new());
    }
}
