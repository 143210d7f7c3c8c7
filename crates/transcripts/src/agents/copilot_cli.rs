//! Sessions of the Copilot command line: `events.jsonl`, with one event per line, most of which contain no messages.

use serde_json::Value;

use crate::agents::turn::{self, answer, call, user_words};
use crate::json::Json;
use crate::message::identity;
use crate::message::parts::{file_label, without_data};
use crate::{Assembler, Head, IngestError, Ingestor, Input, Kind, Message, Records, Role, Sink};

/// Name of the format, stored with each transcript.
const NAME: &str = "copilot-cli";
/// The tool that ends a turn; its argument is the answer shown to the user.
const CLOSING_TOOL: &str = "task_complete";
/// The tag that encloses text that another session wrote in this one.
const CROSS_SESSION: &str = "<cross_session_message>";
const NOTIFICATION: &str = "<system_notification>";

/// Reads sessions of the Copilot command line.
pub(crate) struct CopilotCli;

impl Ingestor for CopilotCli {
    named!(NAME);

    fn sniff(&self, head: &Head<'_>) -> bool {
        head.any_line(is_distinctive) && head.most_lines(is_event) || head.document.as_ref().is_some_and(is_distinctive)
    }

    fn read(&self, input: Input, sink: &mut Sink<'_>) -> Result<(), IngestError> {
        let mut session = Session::new(&input);
        let mut records = Records::lines(input);
        while let Some((number, event)) = records.next_json::<Value>(sink)? {
            if is_event(&event) {
                session.take(&event, sink);
            } else {
                sink.skip(number, "no event");
            }
        }
        session.draft.finish(sink);
        Ok(())
    }
}

fn is_event(line: &Value) -> bool {
    let is_named = line["type"].as_str().is_some_and(|kind| kind.contains('.') || kind == "abort");
    is_named && line["data"].is_object()
}

/// Returns whether `line` could not occur in any other kind of log.
fn is_distinctive(line: &Value) -> bool {
    let known = ["session.start", "session.resume", "user.message", "assistant.message", "assistant.turn_start"];
    is_event(line) && line["type"].as_str().is_some_and(|kind| known.contains(&kind))
}

/// The state of one session while it is being read.
struct Session {
    draft: Assembler,
    stem: String,
    /// The last system prompt, which is repeated in each turn.
    system: String,
}

impl Session {
    fn new(input: &Input) -> Self {
        let draft = Assembler::new(NAME, input.stem(), input.path.display().to_string());
        Self { draft, stem: input.stem(), system: String::new() }
    }

    fn take(&mut self, event: &Value, sink: &mut Sink<'_>) {
        let data = &event["data"];
        let kind = event["type"].string();
        self.learn(kind, data);
        if kind == "session.snapshot_rewind" {
            self.draft.rewind_to(data["upToEventId"].string());
        }
        let mut messages = messages_of(kind, data);
        if kind == "system.message" {
            // The prompt is repeated in each turn; only a changed prompt is of interest.
            let prompt = data["content"].text().unwrap_or_default();
            messages.retain(|_| prompt != self.system);
            prompt.clone_into(&mut self.system);
        }
        // Events of a sub-agent are interleaved with other events, and contain the id of the sub-agent or of the call
        // that started the sub-agent.
        if data["parentToolCallId"].text().is_some() || event["agentId"].text().is_some() {
            turn::of_sub_agent(&mut messages);
        }
        for message in messages.into_iter().filter(|message| !message.text.trim().is_empty()) {
            self.draft.name_after(&message, || identity::of_file(&self.stem, &message));
            let (id, time) = (event["id"].string().to_owned(), identity::stamp(&event["timestamp"]));
            self.draft.push(Message { id, time, ..message }, sink);
        }
    }

    /// Records information about the session itself from an event.
    fn learn(&mut self, kind: &str, data: &Value) {
        let meta = self.draft.meta();
        let owned = |value: &Value| value.text().map(str::to_owned);
        match kind {
            "session.start" => {
                let context = &data["context"];
                let place = [&context["cwd"], &context["gitRoot"], &context["repository"]].into_iter().find_map(owned);
                // Resuming a session in another folder logs another start; the first folder remains the project.
                meta.project = meta.project.take().or(place);
                meta.branch = meta.branch.take().or_else(|| owned(&context["branch"]));
                meta.created_at = meta.created_at.or_else(|| identity::instant(&data["startTime"]));
                meta.model = meta.model.take().or_else(|| owned(&data["selectedModel"]));
                if let Some(id) = data["sessionId"].text() {
                    self.draft.set_external_id_once(id);
                }
            }
            "session.title_changed" => meta.title = owned(&data["title"]).or(meta.title.take()),
            "session.model_change" => meta.model = owned(&data["newModel"]).or(meta.model.take()),
            "assistant.message" => meta.model = meta.model.take().or_else(|| owned(&data["model"])),
            _ => {}
        }
    }
}

/// Returns the messages in an event; lifecycle, hook, permission and count events contain none.
fn messages_of(kind: &str, data: &Value) -> Vec<Message> {
    let context = |key: &str| data[key].text().map(Message::context);
    let one = match kind {
        "user.message" => return user(data),
        "assistant.message" => return assistant(data),
        "assistant.reasoning" => data["content"].text().map(Message::reasoning),
        "tool.execution_complete" => {
            let pieces = [&data["result"]["content"], &data["error"]["message"]].into_iter().find_map(Json::text);
            pieces.map(|text| answer(text).ending(data["toolCallId"].text(), data["success"].as_bool().map(|ok| !ok)))
        }
        "session.compaction_complete" => data["summaryContent"].text().map(Message::summary),
        "session.handoff" => data["summary"].text().map(Message::summary),
        "system.message" | "system.notification" | "skill.invoked" => context("content"),
        "session.error" | "session.warning" => context("message"),
        _ => None,
    };
    one.into_iter().collect()
}

fn user(data: &Value) -> Vec<Message> {
    let words = data["content"].text().unwrap_or_default();
    let is_others = || {
        // The text sent to the model repeats the typed text, which may itself mention the tag.
        let sent = data["transformedContent"].text().unwrap_or_default();
        sent.replace(words, "").contains(CROSS_SESSION)
    };
    let mut messages = match data["source"].text().unwrap_or("user") {
        // The program writes its notifications in the user's turn, without a distinct source.
        "user" if words.starts_with(NOTIFICATION) => vec![Message::context(words)],
        "user" if is_others() => vec![Message::prose(Role::Other, words)],
        "user" => user_words(words),
        source if source.starts_with("agent-") => vec![Message::prose(Role::Other, words)],
        // The program wrote all other text, such as text for the autopilot, skills and instructions.
        _ => vec![Message::context(words)],
    };
    for attachment in data["attachments"].list() {
        let noun = if attachment["type"] == "image" { "image" } else { "file" };
        let path = attachment.first_text(&["displayName", "path", "filePath"]);
        let name = path.and_then(|path| path.rsplit(['/', '\\']).next());
        messages.push(Message::new(Role::User, Kind::Attachment, file_label(noun, name)));
    }
    messages
}

fn assistant(data: &Value) -> Vec<Message> {
    let reasoning = data["reasoningText"].text().map(Message::reasoning);
    let spoken = data["content"].text().map(|words| Message::assistant(without_data(words)));
    let mut messages: Vec<_> = reasoning.into_iter().chain(spoken).collect();
    for request in data["toolRequests"].list() {
        let name = request["name"].string();
        match request["arguments"]["summary"].text().filter(|_| name == CLOSING_TOOL) {
            Some(summary) => messages.push(Message::assistant(summary)),
            None => messages.push(call(name, &request["arguments"]).called(request["toolCallId"].text())),
        }
    }
    messages
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Transcript;
    use serde_json::json;

    fn read(lines: &[Value]) -> Transcript {
        let text: String = lines.iter().flat_map(|line| [line.to_string(), "\n".to_owned()]).collect();
        let (mut seen, skipped) = read_text(&text);
        assert_eq!((seen.len(), skipped), (1, vec![]));
        seen.remove(0)
    }

    fn read_text(text: &str) -> (Vec<Transcript>, Vec<usize>) {
        let mut seen = Vec::new();
        let mut accept = |transcript| seen.push(transcript);
        let mut sink = Sink::new(&mut accept);
        assert!(CopilotCli.sniff(&Head::new(text.into(), true)));
        CopilotCli.read(Input::from_text("events.jsonl", text), &mut sink).unwrap();
        let skipped = sink.skipped.iter().map(|skipped| skipped.record).collect();
        (seen, skipped)
    }

    fn shown(transcript: &Transcript) -> Vec<String> {
        let messages = transcript.messages.iter();
        messages.map(|message| format!("{:?} {:?}: {}", message.role, message.kind, message.text)).collect()
    }

    fn event(id: &str, kind: &str, data: impl Into<Value>) -> Value {
        let data = data.into();
        json!({"type": kind, "data": data, "id": id, "timestamp": "2026-03-02T09:00:10.000Z", "parentId": null})
    }

    fn start() -> Value {
        event(
            "e0",
            "session.start",
            json!({"sessionId": "s1", "context": {"cwd": "/home/aino/ferry"}, "startTime": "2026-03-02T09:00:00.000Z"}),
        )
    }

    #[test]
    fn who_wrote_into_the_users_turn_is_recognised_by_the_source() {
        let sent = |content: &str, extra: Value| {
            let mut data = json!({"content": content});
            data.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
            let seen = read(&[start(), event("e1", "user.message", data)]);
            shown(&seen).join(" | ")
        };
        let wrapped = |inner: &str| json!({"transformedContent": format!("<cross_session_message>\n{inner}\n</cross_session_message>")});
        let rows = [
            (
                "use tabs",
                json!({"transformedContent": "<current_datetime>x</current_datetime>\n\nuse tabs"}),
                "User Prose: use tabs",
            ),
            ("use tabs", json!({"source": "user"}), "User Prose: use tabs"),
            ("build ended", json!({"source": "autopilot"}), "System Context: build ended"),
            ("how to weld", json!({"source": "skill-weld"}), "System Context: how to weld"),
            ("find it", json!({"source": "agent-7"}), "Other Prose: find it"),
            ("hello", wrapped("hello"), "Other Prose: hello"),
            (
                "why <cross_session_message>?",
                json!({"transformedContent": "why <cross_session_message>?"}),
                "User Prose: why <cross_session_message>?",
            ),
            (
                "<system_notification>done</system_notification>",
                json!({}),
                "System Context: <system_notification>done</system_notification>",
            ),
            (
                "look",
                json!({"attachments": [{"type": "file", "path": "/srv/a.rs"}]}),
                "User Prose: look | User Attachment: [file: a.rs]",
            ),
        ];
        for (content, extra, expected) in rows {
            assert_eq!(sent(content, extra), expected);
        }
    }

    #[test]
    fn each_event_has_its_kind_and_bookkeeping_has_none() {
        let seen = read(&[
            start(),
            event("e1", "system.message", json!({"role": "system", "content": "be helpful"})),
            event("e2", "user.message", json!({"content": "add a fare"})),
            event("e3", "hook.start", json!({"hookType": "preToolUse"})),
            event("e4", "system.message", json!({"role": "system", "content": "be helpful"})),
            event(
                "e5",
                "assistant.message",
                json!({"content": "I look.", "reasoningText": "hm", "model": "gpt-5", "toolRequests": [{"name": "view", "arguments": {"path": "fares.py"}}, {"name": "apply_patch", "arguments": "*** Begin Patch\n*** End"}]}),
            ),
            event("e6", "tool.execution_start", json!({"toolName": "view"})),
            event(
                "e7",
                "tool.execution_complete",
                json!({"success": true, "result": {"content": "FARES = {}", "detailedContent": "long"}}),
            ),
            event("e8", "tool.execution_complete", json!({"success": false, "error": {"message": "no patch"}})),
            event("e9", "assistant.message", json!({"content": "found", "parentToolCallId": "call_1"})),
            event("f1", "session.compaction_complete", json!({"success": true, "summaryContent": "they add fares"})),
            event(
                "f2",
                "assistant.message",
                json!({"content": "", "toolRequests": [{"name": "task_complete", "arguments": {"summary": "Fare added."}}]}),
            ),
            event("f3", "session.title_changed", json!({"title": "Fares"})),
            event("f4", "abort", json!({"reason": "user"})),
        ]);
        assert_eq!(
            shown(&seen),
            [
                "System Context: be helpful",
                "User Prose: add a fare",
                "Assistant Reasoning: hm",
                "Assistant Prose: I look.",
                "Assistant ToolCall: view fares.py",
                "Assistant ToolCall: apply_patch *** Begin Patch",
                "Tool ToolResult: FARES = {}",
                "Tool ToolResult: no patch",
                "Other Prose: found",
                "System Summary: they add fares",
                "Assistant Prose: Fare added.",
            ]
        );
        let known = (seen.external_id.as_str(), seen.project.as_deref(), seen.title.as_deref(), seen.model.as_deref());
        assert_eq!(known, ("s1", Some("/home/aino/ferry"), Some("Fares"), Some("gpt-5")));
        assert_eq!(seen.created_at, "2026-03-02T09:00:00Z".parse().ok());
    }

    #[test]
    fn answers_to_the_agents_questions_are_the_users() {
        let asked = |arguments: &Value, result: &str| {
            let requests = json!([{"toolCallId": "t", "name": "ask_user", "arguments": arguments}]);
            let seen = read(&[
                start(),
                event("e1", "assistant.message", json!({"content": "", "toolRequests": requests})),
                event(
                    "e2",
                    "tool.execution_start",
                    json!({"toolCallId": "t", "toolName": "ask_user", "arguments": arguments}),
                ),
                event(
                    "e3",
                    "tool.execution_complete",
                    json!({"toolCallId": "t", "success": true, "result": {"content": result}}),
                ),
            ]);
            shown(&seen).split_off(2)
        };
        let choices = json!({"question": "Deploy now?", "choices": ["Yes", "No"], "allow_freeform": true});
        let form = json!({"message": "Where to?", "requestedSchema": {"properties": {"region": {"type": "string"}}}});
        let question = "Assistant Prose: Deploy now?\n- Yes\n- No";
        assert_eq!(asked(&choices, "User responded: after lunch"), [question, "User Prose: after lunch"]);
        assert_eq!(
            asked(&form, "User responded: region=eu, port=8080"),
            ["Assistant Prose: Where to?", "User Prose: region=eu, port=8080"]
        );
        let absent = "User responded: The user is not available to respond and will review your work later.";
        for result in [absent, "The request was cancelled."] {
            assert_eq!(asked(&choices, result), Vec::<String>::new());
        }
    }

    #[test]
    fn in_a_sub_agents_events_no_person_speaks() {
        let mut prompt = event("e1", "user.message", json!({"content": "find it"}));
        prompt["agentId"] = "a6".into();
        assert_eq!(shown(&read(&[start(), prompt])), ["Other Prose: find it"]);
    }

    #[test]
    fn what_was_rewound_is_gone() {
        let seen = read(&[
            start(),
            event("e1", "user.message", json!({"content": "one"})),
            event("e2", "user.message", json!({"content": "two"})),
            event("e3", "assistant.message", json!({"content": "2"})),
            event("e4", "session.snapshot_rewind", json!({"upToEventId": "e2", "eventsRemoved": 2})),
            event("e5", "user.message", json!({"content": "three"})),
        ]);
        assert_eq!(shown(&seen), ["User Prose: one", "User Prose: three"]);
    }

    #[test]
    fn garbage_before_the_first_event_costs_nothing_but_itself() {
        let [one, two] = ["hi", "ho"].map(|words| event(words, "user.message", json!({"content": words})));
        let (seen, skipped) = read_text(&format!("not json\n{}\n{one}\n{two}\n[]\n{{\"type\"", start()));
        assert_eq!((shown(&seen[0]).len(), skipped), (2, vec![1, 5, 6]));
    }

    #[test]
    fn a_session_without_its_start_is_known_by_its_first_message() {
        let id = |words: &str| read(&[event("e1", "user.message", json!({"content": words}))]).external_id;
        assert_eq!(id("hi"), id("hi"));
        assert_ne!(id("hi"), id("ho"));
    }
}
