//! Sessions of blockcell: JSONL files with a header line, followed by one message per line.

use serde_json::Value;

use crate::message::chat::messages_of;
use crate::message::identity;
use crate::{
    Assembler, Head, IngestError, Ingestor, Input, Kind, Message, MessageTime, Records, Role, Sink, TimeSource,
};

/// Name of the format, stored with each transcript.
const NAME: &str = "blockcell";

/// Reads sessions of blockcell.
pub(crate) struct Blockcell;

impl Ingestor for Blockcell {
    named!(NAME);

    fn sniff(&self, head: &Head<'_>) -> bool {
        let is_alone = head.document.as_ref().is_some_and(is_head);
        is_alone || head.any_line(is_head) && head.any_line(|line| line["role"].is_string())
    }

    fn read(&self, input: Input, sink: &mut Sink<'_>) -> Result<(), IngestError> {
        let (stem, origin) = (input.stem(), input.path.display().to_string());
        let mut draft = Assembler::new(NAME, stem.as_str(), origin);
        let (mut time, mut start) = (identity::file_time(&input), None);
        let mut records = Records::lines(input);
        while let Some((number, line)) = records.next_json::<Value>(sink)? {
            if is_head(&line) {
                let began = line["created_at"].as_str().and_then(|at| identity::written_time(at, TimeSource::Derived));
                draft.meta().created_at = began.map(|time| time.at);
                time = began.or(time);
                start = line["created_at"].as_str().map(str::to_owned);
                continue;
            }
            if !line["role"].is_string() {
                sink.skip(number, "neither a message nor the header of the session");
                continue;
            }
            for message in messages(&line, time) {
                // When the program rewrites the file, it preserves the session's start but not all messages.
                draft.name_after(&message, || match &start {
                    Some(start) => identity::of_parts(&[&stem, start]),
                    None => identity::of_file(&stem, &message),
                });
                draft.push(message, sink);
            }
        }
        draft.finish(sink);
        Ok(())
    }
}

fn is_head(line: &Value) -> bool {
    line["_type"] == "metadata" && line.get("role").is_none()
}

/// Returns the messages in one line: reasoning, text, files and calls. Lines have no times, so the time of the session
/// is used.
fn messages(line: &Value, time: Option<MessageTime>) -> Vec<Message> {
    let kind_of = |message: &Message| if message.role == Role::Other { Kind::Context } else { message.kind };
    messages_of(line).into_iter().map(|message| Message { kind: kind_of(&message), time, ..message }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Transcript;

    fn read(text: &str) -> (Vec<Transcript>, usize) {
        let mut seen = Vec::new();
        let mut accept = |transcript| seen.push(transcript);
        let mut sink = Sink::new(&mut accept);
        Blockcell.read(Input::from_text("cli_default.jsonl", text), &mut sink).unwrap();
        let skipped = sink.skipped.len();
        (seen, skipped)
    }

    const HEAD: &str = r#"{"_type":"metadata","created_at":"2026-01-02T03:04:05+08:00","updated_at":"2026-01-02T05:00:00+08:00","metadata":{}}"#;

    #[test]
    fn lines_say_words_reasoning_calls_and_answers() {
        let text = [
            HEAD,
            r#"{"role":"user","content":[{"type":"text","text":"look"},{"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA"}}]}"#,
            r#"{"role":"assistant","content":"","reasoning_content":"hm","tool_calls":[{"id":"1","name":"read","arguments":{"path":"a.rs"}},{"function":{"name":"ls","arguments":"{\"path\":\".\"}"}}]}"#,
            r#"{"role":"tool","content":{"ok":true},"tool_call_id":"1"}"#,
            "7",
            r#"{"role":"system","content":"be brief"}"#,
        ]
        .join("\n");
        let (seen, skipped) = read(&text);
        let show = |message: &Message| format!("{:?} {:?}: {}", message.role, message.kind, message.text);
        assert_eq!(
            seen[0].messages.iter().map(show).collect::<Vec<_>>(),
            [
                "User Prose: look", "User Attachment: [image]", "Assistant Reasoning: hm",
                "Assistant ToolCall: read a.rs", "Assistant ToolCall: ls .", "Tool ToolResult: {\"ok\":true}",
                "System Context: be brief",
            ]
        );
        let time = seen[0].messages[0].time.unwrap();
        assert_eq!((time.at.to_string().as_str(), time.offset_seconds), ("2026-01-01T19:04:05Z", Some(28_800)));
        assert_eq!((time.source, skipped), (TimeSource::Derived, 1));
    }

    #[test]
    fn a_session_keeps_its_identity_while_it_is_written_again() {
        let line = r#"{"role":"user","content":"hi"}"#;
        let (short, long) = (read(&format!("{HEAD}\n{line}\n")), read(&format!("{HEAD}\n{line}\n{line}\n")));
        assert_eq!(short.0[0].external_id, long.0[0].external_id);
    }

    #[test]
    fn only_a_session_with_a_head_is_recognised() {
        let sniff = |text: &str| Blockcell.sniff(&Head::new(text.into(), true));
        assert!(sniff(&format!("{HEAD}\n{{\"role\":\"user\",\"content\":\"hi\"}}\n")));
        assert!(sniff(HEAD));
        assert!(!sniff("{\"role\":\"user\",\"content\":\"hi\"}\n{\"role\":\"assistant\",\"content\":\"hi\"}\n"));
    }
}
