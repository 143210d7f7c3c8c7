//! Antigravity: the transcript of steps that it stores for each conversation, and conversations saved as Markdown.

use serde_json::Value;

use crate::agents::turn::user_words;
use crate::json::Json;
use crate::message::identity;
use crate::message::parts::{call_line, without_data};
use crate::message::speaker::between;
use crate::{Assembler, Head, IngestError, Ingestor, Input, Kind, Message, Records, Role, Sink, TimeSource};

/// Name of the format, stored with each transcript.
const NAME: &str = "antigravity";
/// The version of the transcript in which no text is truncated.
const FULL: &str = "transcript_full.jsonl";
const REQUEST: &str = "USER_REQUEST";
/// Headings in a saved conversation, each with the role of the text below it.
const HEADINGS: &[(&str, Role)] = &[("### User Input", Role::User), ("### Planner Response", Role::Assistant)];

/// Reads Antigravity's conversations.
pub(crate) struct Antigravity;

impl Ingestor for Antigravity {
    named!(NAME);

    fn sniff(&self, head: &Head<'_>) -> bool {
        head.most_lines(is_step) || head.document.as_ref().is_some_and(|value| is_step(value) || is_saved(value))
    }

    fn read(&self, input: Input, sink: &mut Sink<'_>) -> Result<(), IngestError> {
        let name = input.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        // The short transcript truncates long texts.
        if name == "transcript.jsonl" && input.sibling(FULL).is_some() {
            sink.leave_to(FULL);
            return Ok(());
        }
        let origin = input.path.display().to_string();
        let is_lines = !Head::of(&input).lines.is_empty();
        let mut steps = Steps { draft: Assembler::new(NAME, "", origin.as_str()), last: (None, 0) };
        let mut records = if is_lines { Records::lines(input) } else { Records::elements(input) };
        while let Some((number, value)) = records.next_json::<Value>(sink)? {
            if is_saved(&value) {
                read_saved(&value, &origin, sink);
            } else if value["type"].is_string() {
                steps.take(&value, sink);
            } else {
                sink.skip(number, "not a step of a conversation");
            }
        }
        steps.draft.finish(sink);
        Ok(())
    }
}

fn is_step(value: &Value) -> bool {
    let is_loud = |kind: &str| kind.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_');
    value["step_index"].is_number() && value["type"].as_str().is_some_and(is_loud)
}

fn is_saved(value: &Value) -> bool {
    value["cascadeId"].is_string() && value["markdown"].is_string()
}

/// The state of one conversation while its steps are being read.
struct Steps {
    draft: Assembler,
    /// The last step, and the number of messages before it; a step is logged again when it ends.
    last: (Option<i64>, usize),
}

impl Steps {
    fn take(&mut self, step: &Value, sink: &mut Sink<'_>) {
        let index = step["step_index"].as_i64();
        // A step is logged when it starts and again when it ends; only the last version is complete.
        if index.is_some() && index == self.last.0 {
            self.draft.truncate(self.last.1);
        } else if self.draft.is_full() {
            self.draft.hand_over(sink);
        }
        self.last = (index, self.draft.held());
        let created = step["created_at"].string();
        let time = self.draft.next_time(identity::written_time(created, TimeSource::Log));
        if let Some(model) = chosen_model(step["content"].string()) {
            self.draft.meta().model = Some(model);
        }
        for message in messages(step) {
            // A step has no id except its number, so the conversation is identified by the text and time of its first
            // message.
            self.draft.name_after(&message, || identity::of_parts(&[created, message.text.trim()]));
            let id = index.map(|index| index.to_string()).unwrap_or_default();
            self.draft.hold(Message { id, time, ..message });
        }
    }
}

/// Returns the model in a note such as `Model Selection from None to Gemini 3 Pro`.
fn chosen_model(text: &str) -> Option<String> {
    let (_, change) = between(text, "USER_SETTINGS_CHANGE")?.split_once("Model Selection")?;
    let (_, model) = change.split_once(" to ")?;
    // Model names contain dots, so only a dot before a space ends the sentence.
    let end = model.find(". ").or(model.find('\n')).unwrap_or(model.len());
    Some(model[..end].trim().trim_end_matches('.').to_owned()).filter(|model| !model.is_empty())
}

fn messages(step: &Value) -> Vec<Message> {
    let text = |key: &str| without_data(step[key].string());
    let content = text("content");
    let source = step["source"].string();
    match step["type"].string() {
        "USER_INPUT" if source.is_empty() || source.starts_with("USER") => typed(&content),
        "PLANNER_RESPONSE" | "GENERATE_RESPONSE" => {
            let calls = step["tool_calls"].list();
            let calls = calls.iter().map(|call| Message::call(call_of(call)));
            let said = [Message::reasoning(text("thinking")), Message::assistant(content)];
            said.into_iter().chain(calls).collect()
        }
        _ if matches!(source, "MODEL" | "TOOL") => vec![Message::answer(content)],
        _ => vec![Message::context(content)],
    }
}

/// Separates the typed text from the text that the program put around it.
fn typed(content: &str) -> Vec<Message> {
    let Some(request) = between(content, REQUEST) else { return user_words(content) };
    let around = content.replacen(request, "", 1).replacen("<USER_REQUEST>", "", 1).replacen("</USER_REQUEST>", "", 1);
    vec![Message::user(request), Message::context(around)]
}

fn call_of(call: &Value) -> String {
    let name = call["name"].as_str().unwrap_or("tool");
    // Antigravity's tools capitalise the names of their arguments, unlike the tools of any other agent.
    let target = ["CommandLine", "TargetFile", "AbsolutePath", "SearchPath", "Query", "Url"];
    match target.into_iter().find_map(|key| call["args"][key].as_str()) {
        Some(target) => call_line(name, target),
        None => call_line(name, &call["args"].to_string()),
    }
}

/// Reads a conversation that was saved as Markdown with headings.
fn read_saved(value: &Value, origin: &str, sink: &mut Sink<'_>) {
    let text = |key: &str| value[key].owned();
    let time = text("lastModifiedTime").and_then(|time| identity::written_time(&time, TimeSource::Derived));
    let mut draft = Assembler::new(NAME, text("cascadeId").unwrap_or_default(), origin);
    draft.meta().title = text("title");
    draft.meta().project = text("workspaceName");
    draft.meta().created_at = time.map(|time| time.at);
    let (mut voice, mut said) = (None, String::new());
    let markdown = text("markdown").unwrap_or_default();
    // The extra heading at the end flushes the text below the last real heading.
    for line in markdown.lines().chain([HEADINGS[0].0]) {
        if let Some((_, role)) = HEADINGS.iter().find(|(heading, _)| line.trim_end() == *heading) {
            let before = std::mem::take(&mut said);
            let message = match voice.replace(*role) {
                Some(role) => Message::prose(role, before),
                None => Message::new(Role::Other, Kind::Context, before),
            };
            draft.push(Message { time, ..message }, sink);
        } else {
            said.extend([line, "\n"]);
        }
    }
    draft.finish(sink);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Transcript;
    use crate::testing::read_input;
    use serde_json::json;

    fn read(text: &str) -> Transcript {
        assert!(Antigravity.sniff(&Head::new(text.into(), true)));
        read_input(&Antigravity, Input::from_text("log.jsonl", text)).0.remove(0)
    }

    fn pieces(transcript: &Transcript) -> Vec<String> {
        let show = |message: &Message| format!("{:?} {:?}: {}", message.role, message.kind, message.text);
        transcript.messages.iter().map(show).collect()
    }

    fn step(index: i64, source: &str, kind: &str, content: &str) -> Value {
        json!({"step_index": index, "source": source, "type": kind, "created_at": "2026-08-20T10:00:00Z", "content": content})
    }

    #[test]
    fn steps_are_distinguished_and_one_written_again_counts_once() {
        let asked = "<USER_REQUEST>\nuse tabs\n</USER_REQUEST>\n<USER_SETTINGS_CHANGE>Model Selection from None to Gemini 3.6 Pro. Note it.</USER_SETTINGS_CHANGE>";
        let mut planned = step(1, "MODEL", "PLANNER_RESPONSE", "I look.");
        planned["thinking"] = "hm".into();
        planned["tool_calls"] = json!([{"name": "run_command", "args": {"CommandLine": "make test"}}]);
        let lines = [
            step(0, "USER_EXPLICIT", "USER_INPUT", asked),
            planned,
            step(2, "MODEL", "RUN_COMMAND", "running"),
            step(2, "MODEL", "RUN_COMMAND", "all passed"),
            step(3, "SYSTEM", "SYSTEM_MESSAGE", "done"),
            step(4, "SYSTEM", "USER_INPUT", "not typed"),
        ];
        let text: String = lines.iter().flat_map(|line| [line.to_string(), "\n".to_owned()]).collect();
        let seen = read(&text);
        assert_eq!(
            pieces(&seen),
            [
                "User Prose: use tabs",
                "System Context: <USER_SETTINGS_CHANGE>Model Selection from None to Gemini 3.6 Pro. Note it.</USER_SETTINGS_CHANGE>",
                "Assistant Reasoning: hm",
                "Assistant Prose: I look.",
                "Assistant ToolCall: run_command make test",
                "Tool ToolResult: all passed",
                "System Context: done",
                "System Context: not typed",
            ]
        );
        assert_eq!(seen.model.as_deref(), Some("Gemini 3.6 Pro"));
    }

    #[test]
    fn what_a_program_put_before_the_typed_words_is_context() {
        let seen = read(&step(0, "USER_EXPLICIT", "USER_INPUT", "<user_info>x</user_info>\nuse tabs").to_string());
        assert_eq!(pieces(&seen), ["System Context: <user_info>x</user_info>", "User Prose: use tabs"]);
    }

    #[test]
    fn a_saved_conversation_is_split_at_its_headings() {
        let saved = json!({"cascadeId": "c", "title": "Tabs", "workspaceName": "harbor", "lastModifiedTime": "2026-08-01T10:00:02Z",
            "markdown": "### User Input\n\nuse tabs\n\n### Planner Response\n\n### Plan\nok\n"});
        let seen = read(&saved.to_string());
        assert_eq!(pieces(&seen), ["User Prose: use tabs", "Assistant Prose: ### Plan\nok"]);
        assert_eq!((seen.external_id.as_str(), seen.project.as_deref()), ("c", Some("harbor")));
    }
}
