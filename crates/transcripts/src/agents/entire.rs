//! Compact transcripts that Entire commits beside the log of an agent: one line per message, in one layout for all
//! agents.

use serde_json::Value;

use crate::agents::claude_code::ClaudeCode;
use crate::agents::codex::Codex;
use crate::agents::gemini_cli::GeminiCli;
use crate::agents::turn::{answer, call, user_words};
use crate::json::Json;
use crate::message::identity;
use crate::{Assembler, Head, IngestError, Ingestor, Input, Message, Records, Sink};

/// Name of the format, stored with each transcript.
const NAME: &str = "entire";
/// The agent's own log in the same folder, which contains more.
const FULL_LOG: &str = "full.jsonl";

/// Reads compact transcripts of Entire.
pub(crate) struct Entire;

impl Ingestor for Entire {
    named!(NAME);

    fn sniff(&self, head: &Head<'_>) -> bool {
        head.is_log_of(is_line)
    }

    fn read(&self, input: Input, sink: &mut Sink<'_>) -> Result<(), IngestError> {
        // A log of another agent cannot be read, so the copy is all that there is.
        let is_read = |full: Input| {
            let head = Head::of(&full);
            ClaudeCode.sniff(&head) || Codex.sniff(&head) || GeminiCli.sniff(&head)
        };
        if input.sibling(FULL_LOG).is_some_and(is_read) {
            sink.leave_to(FULL_LOG);
            return Ok(());
        }
        let about = input.sibling_json("metadata.json");
        let stem = input.stem();
        let mut draft =
            Assembler::new(NAME, about["session_id"].as_str().unwrap_or_default(), input.path.display().to_string());
        draft.meta().model = about["model"].owned();
        draft.meta().branch = about["branch"].owned();
        let has_id = about["session_id"].text().is_some();
        let mut records = Records::lines(input);
        while let Some((number, line)) = records.next_json::<Value>(sink)? {
            if !is_line(&line) {
                sink.skip(number, "the type or the content is missing");
                continue;
            }
            let time = identity::rfc3339(&line["ts"]);
            for message in messages_of(&line) {
                let message = Message { time, ..message };
                if !has_id {
                    draft.name_after(&message, || identity::of_file(&stem, &message));
                }
                draft.push(message, sink);
            }
        }
        draft.finish(sink);
        Ok(())
    }
}

fn is_line(line: &Value) -> bool {
    let is_text = |key: &str| line[key].is_string();
    line["v"].is_number() && is_text("agent") && is_text("cli_version") && is_text("type") && line["content"].is_array()
}

fn messages_of(line: &Value) -> Vec<Message> {
    let blocks = line["content"].list().iter();
    if line["type"] == "user" {
        return blocks.filter_map(text_of).flat_map(user_words).collect();
    }
    blocks.flat_map(|block| answer_block(line["type"].string(), block)).collect()
}

/// Returns the text of a block, which may consist of nothing but its text.
fn text_of(block: &Value) -> Option<&str> {
    block.text().or_else(|| block["text"].text())
}

fn answer_block(role: &str, block: &Value) -> Vec<Message> {
    let text = text_of(block).or_else(|| block["thinking"].text()).unwrap_or_default();
    match (role, block["type"].string()) {
        ("assistant", "tool_use") => {
            let (id, result) = (block["id"].text(), &block["result"]);
            let failed = result["status"].text().map(|status| status == "error");
            let made = call(block["name"].string(), &block["input"]).called(id);
            let ended = result.is_object().then(|| answer(result["output"].string()).ending(id, failed));
            std::iter::once(made).chain(ended).collect()
        }
        ("assistant", "thinking") => vec![Message::reasoning(text)],
        ("assistant", _) => vec![Message::assistant(text)],
        _ => vec![Message::context(text)],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOG: &str = r#"{"v":1,"agent":"loom","cli_version":"1.0.0","type":"user","ts":"2026-03-02T09:00:00Z","content":[{"text":"I prefer tabs."}]}
"#;

    #[test]
    fn blocks_that_are_plain_text_are_read() {
        let line = |role: &str, content: &str| {
            format!(r#"{{"v":1,"agent":"loom","cli_version":"1.0.0","type":"{role}","content":{content}}}"#)
        };
        let texts = |line: &str| -> Vec<String> {
            messages_of(&serde_json::from_str(line).unwrap()).into_iter().map(|message| message.text).collect()
        };
        assert_eq!(
            texts(&line("user", r#"["I prefer tabs.", {"text":"And dark mode."}]"#)),
            ["I prefer tabs.", "And dark mode."]
        );
        assert_eq!(texts(&line("assistant", r#"["Noted."]"#)), ["Noted."]);
    }

    fn read(files: &[(&str, &str)]) -> (Vec<String>, usize) {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            std::fs::write(folder.path().join(name), text).unwrap();
        }
        let mut seen = Vec::new();
        let mut accept = |transcript: crate::Transcript| seen.push(transcript.external_id);
        let mut sink = Sink::new(&mut accept);
        Entire.read(crate::open(&folder.path().join("transcript.jsonl")).unwrap(), &mut sink).unwrap();
        let skipped = sink.skipped.len();
        (seen, skipped)
    }

    #[test]
    fn a_conversation_is_read_once_and_has_the_id_of_its_session() {
        let about = ("metadata.json", r#"{"session_id":"s-1"}"#);
        assert_eq!(read(&[("transcript.jsonl", LOG), about]), (vec!["s-1".to_owned()], 0));
        let full = r#"{"type":"user","sessionId":"s-1","uuid":"u","timestamp":"2026-03-02T09:00:00Z","message":{"role":"user","content":"I prefer tabs."}}"#;
        assert_eq!(read(&[("transcript.jsonl", LOG), about, ("full.jsonl", full)]), (vec![], 1));
        assert_eq!(read(&[("transcript.jsonl", LOG), about, ("full.jsonl", "{}\n")]), (vec!["s-1".to_owned()], 0));
        let (unnamed, _) = read(&[("transcript.jsonl", LOG)]);
        assert!(unnamed.len() == 1 && unnamed[0].len() > 8, "{unnamed:?}");
    }
}
