//! Transcripts of Cursor's agents: JSONL files in which each line consists of a role and content blocks.

use serde_json::Value;

use crate::agents::turn::{self, answer, call, user_words};
use crate::json::Json;
use crate::message::identity;
use crate::message::parts::file_label;
use crate::message::speaker::between;
use crate::{Assembler, Head, IngestError, Ingestor, Input, Kind, Message, Records, Role, Sink};

/// Name of the format, stored with each transcript.
const NAME: &str = "cursor-agent";
/// The tag that encloses text typed by the user; all text outside the tag comes from the program.
const QUERY: &str = "user_query";
/// The line with the project in the program's note about the user.
const WORKSPACE: &str = "Workspace Path:";

/// Reads transcripts of Cursor's agents.
pub(crate) struct CursorAgent;

impl Ingestor for CursorAgent {
    named!(NAME);

    fn sniff(&self, head: &Head<'_>) -> bool {
        head.is_log_of(is_line)
    }

    fn read(&self, input: Input, sink: &mut Sink<'_>) -> Result<(), IngestError> {
        let origin = input.path.display().to_string();
        let stem = input.stem();
        let fallback = identity::file_time(&input);
        // Only the folder, not the file, shows that another agent wrote the prompts.
        let is_sub_agents = input.path.iter().any(|part| part == "subagents");
        let mut records = Records::lines(input);
        let mut draft = Assembler::new(NAME, "", origin);
        let mut project = None;
        while let Some((number, line)) = records.next_json::<Value>(sink)? {
            if !is_line(&line) {
                sink.skip(number, "the role or the message is missing");
                continue;
            }
            let mut messages = messages_of(&line);
            // Only the first note from the program to the agent contains the project.
            project = project.or_else(|| messages.iter().find_map(workspace));
            if is_sub_agents {
                turn::of_sub_agent(&mut messages);
            }
            let time = identity::stamp(&line["timestamp"]).or(fallback);
            for message in messages.into_iter().filter(|message| !message.text.trim().is_empty()) {
                draft.name_after(&message, || identity::of_file(&stem, &message));
                draft.meta().project.clone_from(&project);
                draft.push(Message { time, ..message }, sink);
            }
        }
        draft.finish(sink);
        Ok(())
    }
}

fn is_line(line: &Value) -> bool {
    let content = &line["message"]["content"];
    // Claude Code and other agents write the same two fields together with other fields.
    let is_foreign = ["uuid", "sessionId", "type", "mapping"].iter().any(|key| line.get(*key).is_some());
    line["role"].is_string() && (content.is_array() || content.is_string()) && !is_foreign
}

fn messages_of(line: &Value) -> Vec<Message> {
    let role = line["role"].string();
    let content = &line["message"]["content"];
    let blocks = content.items();
    blocks.iter().flat_map(|block| block_messages(role, block)).collect()
}

fn block_messages(role: &str, block: &Value) -> Vec<Message> {
    let speaker = if role == "user" { Role::User } else { Role::Assistant };
    let words = block.text().or_else(|| block["text"].text());
    match block["type"].as_str().unwrap_or("text") {
        "text" => words.map(|words| spoken(role, words)).unwrap_or_default(),
        "tool_use" => vec![call(block["name"].string(), &block["input"]).called(block["id"].text())],
        "tool_result" => {
            let inner = block["content"].list().iter().filter_map(|one| one["text"].text());
            let pieces = block["content"].text().map_or_else(|| inner.collect::<Vec<_>>().join("\n"), str::to_owned);
            vec![answer(&pieces).ending(block["tool_use_id"].text(), block["is_error"].as_bool())]
        }
        "thinking" => {
            let thought = block["thinking"].text().or(words);
            thought.map(Message::reasoning).into_iter().collect()
        }
        "image" => vec![Message::new(speaker, Kind::Attachment, file_label("image", None))],
        _ => Vec::new(),
    }
}

fn spoken(role: &str, words: &str) -> Vec<Message> {
    if role == "user" { typed(words) } else { turn::spoken(role, words) }
}

/// Separates the user's text from the text that the program put around it.
fn typed(text: &str) -> Vec<Message> {
    let Some(query) = between(text, QUERY) else { return user_words(text) };
    let (open, close) = (format!("<{QUERY}>"), format!("</{QUERY}>"));
    let before = text.split_once(&open).map_or("", |(before, _)| before);
    let after = text.split_once(&close).map_or("", |(_, after)| after);
    let note = |words: &str| Message::context(words.trim());
    [note(before), Message::user(query), note(after)].into_iter().filter(|message| !message.text.is_empty()).collect()
}

/// Returns the project from the program's note.
fn workspace(message: &Message) -> Option<String> {
    let mut lines = message.text.lines().filter(|_| message.kind == Kind::Context);
    let path = lines.find_map(|line| line.trim().strip_prefix(WORKSPACE))?.trim();
    (!path.is_empty()).then(|| path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Transcript;
    use crate::testing::read_input;

    fn read(name: &str, text: &str) -> (Vec<Transcript>, Vec<usize>) {
        let (seen, skipped) = read_input(&CursorAgent, Input::from_text(name, text));
        (seen, skipped.into_iter().map(|(record, _)| record).collect())
    }

    fn shown(transcript: &Transcript) -> Vec<String> {
        let messages = transcript.messages.iter();
        messages.map(|message| format!("{:?} {:?}: {}", message.role, message.kind, message.text)).collect()
    }

    #[test]
    fn what_was_typed_is_separated_from_what_stands_around_it() {
        let text = concat!(
            r#"{"role":"user","message":{"content":[{"type":"text","text":"<user_info>\nOS: linux\nWorkspace Path: /home/eli/loom\n</user_info>\n<user_query>\nuse wool only\n</user_query>\n<note>x</note>"}]}}"#,
            "\n",
            r#"{"role":"assistant","message":{"content":[{"type":"text","text":"ok"},{"type":"tool_use","name":"Shell","input":{"command":"ls"}}]}}"#,
            "\nnull\n",
            r#"{"role":"user","message":{"content":"<user_info>again</user_info>"}}"#,
            "\n",
            r#"{"role":"user","message":{"content":["and silk"]}}"#,
            "\n",
            r#"{"role":"user","mess"#,
        );
        assert!(CursorAgent.sniff(&Head::new(text.into(), true)));
        let (seen, skipped) = read("0c9d.jsonl", text);
        assert_eq!(
            shown(&seen[0]),
            [
                "System Context: <user_info>\nOS: linux\nWorkspace Path: /home/eli/loom\n</user_info>",
                "User Prose: use wool only",
                "System Context: <note>x</note>",
                "Assistant Prose: ok",
                "Assistant ToolCall: Shell ls",
                "System Context: <user_info>again</user_info>",
                "User Prose: and silk",
            ]
        );
        assert_eq!((seen[0].project.as_deref(), skipped), (Some("/home/eli/loom"), vec![3, 6]));
    }

    #[test]
    fn a_sub_agents_transcript_is_known_by_its_folder() {
        let line = r#"{"role":"user","message":{"content":"look"}}"#;
        assert_eq!(shown(&read("t/subagents/a.jsonl", line).0[0]), ["Other Prose: look"]);
        assert_eq!(shown(&read("t/a.jsonl", line).0[0]), ["User Prose: look"]);
    }

    #[test]
    fn lines_of_other_agents_are_refused() {
        let sniff = |text: &str| CursorAgent.sniff(&Head::new(text.into(), true));
        assert!(!sniff(r#"{"type":"user","role":"user","message":{"role":"user","content":"x"}}"#));
        assert!(!sniff(r#"{"role":"user","uuid":"u","message":{"content":"x"}}"#));
        assert!(!sniff(r#"{"role":"user","content":"x"}"#));
    }
}
