//! Tasks of Cline, and of Roo Code and Kilo Code, which are based on it: two files per task.
//!
//! `api_conversation_history.json` contains the messages sent to the model, in the format of the Anthropic API with the
//! user's text in tags; `ui_messages.json` contains the messages shown on the screen. If both exist, the first is read.

use std::collections::HashMap;

use serde_json::Value;

use crate::json::Json;
use crate::message::action;
use crate::message::blocks::attachment;
use crate::message::identity;
use crate::message::parts::{call_line, without_data};
use crate::{Assembler, Folder, Head, IngestError, Ingestor, Input, Kind, Message, MessageTime, Records, Role, Sink};

/// Name of the format, stored with each transcript.
const NAME: &str = "cline";
/// The file with the messages that were sent to the model.
const HISTORY: &str = "api_conversation_history.json";
/// The copy of the task as shown on the screen.
const SCREEN: &str = "ui_messages.json";

/// Reads tasks of Cline, Roo Code and Kilo Code.
pub(crate) struct Cline;

impl Ingestor for Cline {
    named!(NAME);

    fn sniff(&self, head: &Head<'_>) -> bool {
        matches!(head.document, Some(Value::Array(_)))
            && head.objects().any(|value| is_history(value) || is_shown(value))
    }

    fn read(&self, input: Input, sink: &mut Sink<'_>) -> Result<(), IngestError> {
        let is_screen = Head::of(&input).objects().any(is_shown);
        // The screen's copy omits the environment details, which contain the folder and the time zone.
        if is_screen && input.sibling(HISTORY).is_some_and(|other| Head::of(&other).objects().any(is_history)) {
            sink.leave_to(HISTORY);
            return Ok(());
        }
        let mut task = Task::new(&input);
        let (mut history, mut is_first) = (HistoryReader::default(), true);
        let mut records = Records::elements(input);
        while let Some((number, value)) = records.next_json::<Value>(sink)? {
            let messages = if is_screen { shown_messages(&value, is_first) } else { history.messages(&value) };
            let Some(messages) = messages else {
                sink.skip(number, "not a message of a task");
                continue;
            };
            // In early versions, which had no type for the task, the task was the first text.
            is_first = false;
            task.note(&history.place);
            for message in messages {
                task.push(message, value["ts"].as_i64(), sink);
            }
        }
        task.draft.finish(sink);
        Ok(())
    }

    fn sniff_folder(&self, folder: &Folder) -> bool {
        log_of(folder).is_some()
    }

    fn read_folder(&self, folder: &Folder, sink: &mut Sink<'_>) -> Result<(), IngestError> {
        match log_of(folder) {
            Some(input) => self.read(input, sink),
            None => Err(IngestError::UnknownFormat { path: folder.path().to_owned() }),
        }
    }
}

/// Returns the file from which the task in `folder` is read.
fn log_of(folder: &Folder) -> Option<Input> {
    [HISTORY, SCREEN].into_iter().filter(|name| folder.has(name)).find_map(|name| {
        let input = folder.open(name).ok()?;
        let is_ours = Cline.sniff(&Head::of(&input));
        is_ours.then_some(input)
    })
}

/// The folder and the clock of a task, as stated in the environment details.
#[derive(Debug, Default, Clone, PartialEq)]
struct Place {
    folder: Option<String>,
    /// Offset of the user's clock from UTC.
    offset_seconds: Option<i32>,
}

/// The state of one task while it is being read.
struct Task {
    draft: Assembler,
    offset_seconds: i32,
}

impl Task {
    fn new(input: &Input) -> Self {
        let mut draft = Assembler::new(NAME, "", input.path.display().to_string());
        let item = input.sibling_json("history_item.json");
        draft.meta().title = item["task"].text().and_then(|task| task.lines().next()).map(str::to_owned);
        draft.meta().project = item.first_owned(&["workspace", "cwdOnTaskInitialization"]);
        let metadata = input.sibling_json("task_metadata.json");
        draft.meta().model = metadata["model_usage"].list().last().and_then(|used| used["model_id"].owned());
        // Before messages had times, the screen's copy of the first message contained the start of the task.
        let began = input.sibling(SCREEN).and_then(|screen| {
            let began = Head::of(&screen).objects().find_map(|shown| shown["ts"].as_i64());
            jiff::Timestamp::from_millisecond(began?).ok()
        });
        draft.start_at(began.map(|at| MessageTime::logged(at).derived()));
        Self { draft, offset_seconds: 0 }
    }

    fn note(&mut self, place: &Place) {
        self.offset_seconds = place.offset_seconds.unwrap_or(self.offset_seconds);
        let meta = self.draft.meta();
        meta.project = meta.project.take().or_else(|| place.folder.clone());
    }

    fn push(&mut self, message: Message, ts: Option<i64>, sink: &mut Sink<'_>) {
        let at = ts.filter(|ts| *ts > 0).and_then(|ts| jiff::Timestamp::from_millisecond(ts).ok());
        let logged = at.map(|at| MessageTime { offset_seconds: Some(self.offset_seconds), ..MessageTime::logged(at) });
        let time = self.draft.next_time(logged);
        // A task has no id except the name of its folder, which is the time of its start.
        // Both of its files contain that time and begin with the same words.
        let start = self.draft.meta().created_at.or(at).map_or(String::new(), |at| at.as_millisecond().to_string());
        self.draft.name_after(&message, || identity::of_parts(&[&start, message.text.trim()]));
        self.draft.push(Message { time, ..message }, sink);
    }
}

// The history sent to the model: messages in the format of the Anthropic API.

/// Tools that older versions called with a tag of this name in the text of an answer.
const TOOLS: &[&str] = &[
    "access_mcp_resource", "apply_diff", "ask_followup_question", "attempt_completion", "browser_action",
    "codebase_search", "condense", "execute_command", "fetch_instructions", "insert_content",
    "list_code_definition_names", "list_files", "load_mcp_documentation", "new_task", "plan_mode_respond", "read_file",
    "replace_in_file", "search_and_replace", "search_files", "switch_mode", "update_todo_list", "use_mcp_tool",
    "web_fetch", "write_to_file",
];
/// Those of the tools above whose argument is a file or part of a file.
const WRITING: &[&str] = &["write_to_file", "replace_in_file", "apply_diff", "insert_content", "search_and_replace"];
/// Maximum length of a tag, in bytes.
const LONGEST_TAG: usize = 40;
/// Arguments that are addressed to the user.
const SPOKEN: &[&str] = &["result", "question", "response"];
const SPEAKING: &[&str] = &["attempt_completion", "ask_followup_question", "plan_mode_respond", "act_mode_respond"];

/// Returns whether `value` is a message that only Cline and its derivatives write.
fn is_history(value: &Value) -> bool {
    let content = &value["content"];
    let said = content.items().iter().any(|block| is_wrapped(text(block)));
    let is_message = matches!(value["role"].as_str(), Some("user" | "assistant"));
    is_message && (said && value["role"] == "user" || value["ts"].is_i64() && content.is_array())
}

fn text(block: &Value) -> &str {
    block.as_str().or_else(|| block["text"].as_str()).unwrap_or_default()
}

/// Reads one message after another; tool results are recognised by the preceding messages.
#[derive(Default)]
struct HistoryReader {
    /// Names of the called tools, by the id of the call.
    calls: HashMap<String, String>,
    place: Place,
}

impl HistoryReader {
    /// Returns the contents of one message; `None` if `value` is not a message.
    fn messages(&mut self, value: &Value) -> Option<Vec<Message>> {
        let blocks = value["content"].items();
        match value["role"].as_str()? {
            "user" => Some(self.user(blocks)),
            "assistant" => Some(blocks.iter().flat_map(|block| self.assistant(block)).collect()),
            _ => None,
        }
    }

    fn user(&mut self, blocks: &[Value]) -> Vec<Message> {
        let mut messages = Vec::new();
        // The tool whose result was announced and follows in the next block.
        let mut announcing: Option<String> = None;
        for block in blocks {
            let said = text(block);
            if block["type"] == "tool_result" {
                let id = block["tool_use_id"].string();
                let tool = self.calls.get(id).map_or("", String::as_str);
                let from = messages.len();
                let parts = block["content"].items().iter();
                let parts = parts.map(|part| attachment(part).unwrap_or_else(|| text(part).to_owned()));
                messages.extend(parts.flat_map(|text| answered(tool, &text)));
                // A result may have several parts; the first part ends the call.
                if let Some(first) = messages.get_mut(from).filter(|first| first.kind == Kind::ToolResult) {
                    first.action = action::of_result(block["tool_use_id"].text(), block["is_error"].as_bool(), None);
                }
            } else if let Some(label) = attachment(block) {
                messages.push(Message::new(Role::User, Kind::Attachment, &label));
            } else if let Some((tool, answer)) = announced(said) {
                messages.push(Message::answer(said.split_once('\n').map_or(said, |(head, _)| head)));
                let answer = answer.trim();
                announcing = answer.is_empty().then(|| tool.to_owned());
                if !answer.is_empty() {
                    messages.extend(answered(tool, answer));
                }
            } else if let Some(tool) = announcing.take().filter(|_| !is_wrapped(said)) {
                messages.extend(answered(&tool, said));
            } else {
                let place = surroundings(said);
                self.place.folder = self.place.folder.take().or(place.folder);
                self.place.offset_seconds = place.offset_seconds.or(self.place.offset_seconds);
                messages.extend(stated(said));
            }
        }
        for message in &mut messages {
            message.text = without_data(&message.text);
        }
        messages
    }

    fn assistant(&mut self, block: &Value) -> Vec<Message> {
        match block["type"].as_str() {
            Some("tool_use") => {
                let name = block["name"].as_str().unwrap_or("tool");
                let id = block["id"].string();
                // A result contains only the id of its call, but the name of the tool determines whether the result
                // comes from the user.
                self.calls.insert(id.to_owned(), name.to_owned());
                let spoken = SPOKEN.iter().find_map(|key| block["input"][*key].as_str());
                if let Some(words) = spoken.filter(|_| SPEAKING.contains(&name)) {
                    return vec![Message::assistant(words)];
                }
                let call = Message::call(call_line(name, &block["input"].to_string()));
                vec![call.doing(name, &block["input"]).called(block["id"].text())]
            }
            Some("thinking" | "reasoning") => {
                let thought = block["thinking"].as_str().unwrap_or_else(|| text(block));
                vec![Message::reasoning(thought)]
            }
            _ => match attachment(block) {
                Some(label) => vec![Message::new(Role::Assistant, Kind::Attachment, &label)],
                None => tagged(text(block)),
            },
        }
    }
}

/// Returns the contents of an answer whose reasoning and calls are tags in the text.
pub(crate) fn tagged(text: &str) -> Vec<Message> {
    let mut messages = Vec::new();
    let mut rest = text;
    while let Some((start, tag)) = next_call(rest) {
        messages.push(Message::assistant(&rest[..start]));
        let inner = &rest[start + tag.len() + 2..];
        // The content of a written file may include the closing tag, so such a call ends at the last closing tag.
        let close = format!("</{tag}>");
        let end = if WRITING.contains(&tag) { inner.rfind(&close) } else { inner.find(&close) };
        let (inner, after) = end.map_or((inner, ""), |end| (&inner[..end], &inner[end + close.len()..]));
        messages.push(call(tag, inner));
        rest = after;
    }
    messages.push(Message::assistant(rest));
    messages.retain(|message| !message.text.trim().is_empty());
    messages
}

/// Finds the first tag at the beginning of a line.
fn next_call(text: &str) -> Option<(usize, &'static str)> {
    text.match_indices('<').find_map(|(start, _)| {
        let begins_line =
            text[..start].trim_end_matches([' ', '\t']).ends_with('\n') || text[..start].trim().is_empty();
        // Only the text immediately after the bracket is examined: a file in the text may contain thousands of
        // brackets.
        let near = &text.as_bytes()[start + 1..text.len().min(start + LONGEST_TAG)];
        let name = &near[..near.iter().position(|byte| *byte == b'>').filter(|_| begins_line)?];
        let tag = TOOLS.iter().chain(&["thinking"]).find(|tag| tag.as_bytes() == name)?;
        Some((start, *tag))
    })
}

fn call(tag: &str, inner: &str) -> Message {
    let argument = |name: &str| {
        let (_, after) = inner.split_once(&format!("<{name}>"))?;
        // The value ends at the last closing tag, because it may contain the tag itself.
        Some(after.rsplit_once(&format!("</{name}>")).map_or(after, |(value, _)| value).trim())
    };
    if tag == "thinking" {
        return Message::reasoning(inner);
    }
    if let Some(words) = SPOKEN.iter().find_map(|name| argument(name)).filter(|_| SPEAKING.contains(&tag)) {
        return Message::assistant(words);
    }
    let target = ["path", "command", "regex", "query", "url", "tool_name", "uri"].into_iter().find_map(argument);
    let arguments = ["path", "command", "content", "diff"].map(|name| (name.to_owned(), argument(name).into()));
    let arguments = Value::Object(arguments.into_iter().filter(|(_, value): &(_, Value)| !value.is_null()).collect());
    Message::call(call_line(tag, target.unwrap_or_default())).doing(tag, &arguments)
}

// The copy of the task as shown on the screen.

/// Returns whether `value` is an entry that was shown on the screen.
fn is_shown(value: &Value) -> bool {
    let kind = value["type"].as_str().filter(|kind| matches!(*kind, "say" | "ask"));
    kind.is_some_and(|kind| value[kind].is_string()) && value["ts"].is_i64()
}

/// Returns the messages in an entry that was shown on the screen; `None` if `value` is not such an entry.
fn shown_messages(value: &Value, is_first: bool) -> Option<Vec<Message>> {
    if !is_shown(value) {
        return None;
    }
    let mut messages = vec![shown(value, is_first, &without_data(value["text"].string()))];
    messages.extend(value["images"].list().iter().map(|_| Message::new(Role::User, Kind::Attachment, "[image]")));
    messages.retain(|message| !message.text.trim().is_empty());
    Some(messages)
}

fn shown(value: &Value, is_first: bool, text: &str) -> Message {
    let details: Value = serde_json::from_str(text).unwrap_or_default();
    let field = |keys: &[&str]| keys.iter().find_map(|key| details[*key].as_str()).unwrap_or(text);
    let kind = value["say"].as_str().or(value["ask"].as_str()).unwrap_or_default();
    match kind {
        "task" | "user_feedback" => Message::user(text),
        "text" if is_first => Message::user(text),
        "text" | "completion_result" => Message::assistant(text),
        "followup" | "plan_mode_respond" => Message::assistant(field(&["question", "response"])),
        "reasoning" => Message::reasoning(text),
        "command" => {
            let arguments = serde_json::json!({ "command": text });
            Message::call(call_line("execute_command", text)).doing("execute_command", &arguments)
        }
        "tool" | "use_mcp_server" | "browser_action" | "browser_action_launch" => {
            let name = ["tool", "toolName", "action"].iter().find_map(|key| details[*key].as_str()).unwrap_or(kind);
            let target = ["path", "regex", "url", "serverName"].iter().find_map(|key| details[*key].as_str());
            // Only the screen's copy uses the names `newFileCreated` and `editedExistingFile`.
            Message::call(call_line(name, target.unwrap_or_default())).doing(name, &details)
        }
        "command_output" | "mcp_server_response" | "browser_action_result" => Message::answer(text),
        // Token counts, and questions that concern only the program, contain no text.
        _ if kind.starts_with("api_req") && kind != "api_req_failed" || kind.starts_with("resume_") => {
            Message::prose(Role::System, "")
        }
        _ => Message::context(text),
    }
}

// The user's turn: the user's text in tags, the text that the program added, and tool results.

/// Tags that enclose the user's text.
const TYPED: &[&str] = &["task", "user_message", "feedback", "answer"];
/// Tools whose result comes from the user.
const ASKING: &[&str] =
    &["ask_followup_question", "attempt_completion", "plan_mode_respond", "act_mode_respond", "new_task", "condense"];
/// Prefixes of the text that the program itself writes in the user's turn.
const NOTES: &[&str] =
    &["[ERROR]", "[TASK RESUMPTION]", "[NOTE]", "# Reminder", "[PLAN MODE", "[ACT MODE", "The user "];
/// Prefixes of results in which the program reports the user's reaction to a call.
const FEEDBACK: &[&str] = &[
    "The user denied this operation and provided the following feedback:",
    "The user provided the following feedback:",
    "The user has provided feedback on the results.",
];
/// Maximum number of pieces that a text is split into, which limits the time for texts with many tags.
const MOST_PIECES: usize = 400;
const SURROUNDINGS: &str = "environment_details";

/// Returns whether `text` has one of the tags in which only Cline and its derivatives enclose the user's text.
fn is_wrapped(text: &str) -> bool {
    let text = text.trim_start();
    text.starts_with("<task>\n")
        || text.starts_with("<environment_details>")
        || text.contains("\n<environment_details>\n")
}

/// Returns the tool whose result is announced by `text`, such as `[read_file for 'a.py'] Result:`, and the result.
fn announced(text: &str) -> Option<(&str, &str)> {
    let (head, answer) = text.trim_start().strip_prefix('[')?.split_once("] Result:")?;
    let name = head.split_whitespace().next().filter(|_| !head.contains('\n'))?;
    Some((name, answer))
}

/// Returns the messages in `text` other than a tool result.
pub(crate) fn stated(text: &str) -> Vec<Message> {
    let mut messages = Vec::new();
    let mut rest = text;
    while let Some((before, tag, inner, after)) = next_tag(rest).filter(|_| messages.len() < MOST_PIECES) {
        messages.push(Message::context(before));
        messages.push(if tag == SURROUNDINGS {
            Message::context(format!("<{tag}>{inner}</{tag}>"))
        } else {
            Message::user(inner.trim())
        });
        rest = after;
    }
    let is_bare = messages.iter().all(|message| !message.is_human());
    let is_note = NOTES.iter().any(|note| rest.trim_start().starts_with(note));
    let is_typed = is_bare && !is_note && !crate::message::speaker::is_only_injected(rest);
    messages.push(if is_typed { Message::user(rest.trim()) } else { Message::context(rest) });
    // If the user's text has no tags, it is the text before the environment details.
    if let [first, ..] = messages.as_mut_slice()
        && is_bare
        && !crate::message::speaker::is_only_injected(&first.text)
        && !NOTES.iter().any(|note| first.text.trim_start().starts_with(note))
        && !first.text.trim().is_empty()
        && !first.text.trim_start().starts_with('<')
    {
        (first.role, first.kind) = (Role::User, Kind::Prose);
    }
    messages.retain(|message| !message.text.trim().is_empty());
    messages
}

/// Returns the messages in a result of `tool`; if the tool asks a question, the result is the user's answer.
fn answered(tool: &str, answer: &str) -> Vec<Message> {
    let trimmed = answer.trim();
    let is_passed_on = FEEDBACK.iter().any(|opening| trimmed.starts_with(opening));
    let is_asked = ASKING.contains(&tool) && trimmed.starts_with('<');
    let words = next_tag(trimmed).filter(|(_, tag, ..)| *tag != SURROUNDINGS && (is_passed_on || is_asked));
    match words {
        Some((before, _, inner, after)) => {
            vec![Message::answer(before), Message::user(inner.trim()), Message::context(after)]
        }
        None => vec![Message::answer(answer)],
    }
}

/// Splits `text` at its first tag into the text before it, its name, its contents and the text after it.
fn next_tag(text: &str) -> Option<(&str, &'static str, &str, &str)> {
    // All tags are searched for from the same position, because the first tag is wanted.
    let tags = TYPED.iter().chain(&[SURROUNDINGS]);
    let (start, tag) = tags.filter_map(|tag| Some((text.find(&format!("<{tag}>"))?, *tag))).min()?;
    let inner = &text[start + tag.len() + 2..];
    let close = format!("</{tag}>");
    let (inner, after) = inner.split_once(&close).unwrap_or((inner, ""));
    Some((&text[..start], tag, inner, after))
}

/// Reads the folder and the clock from the environment details.
fn surroundings(text: &str) -> Place {
    patterns! {
        FOLDER = r"# Current (?:Working|Workspace) Directory \((.{1,1000}?)\) Files";
        CLOCK = r"\bUTC([+-])(\d{1,2})(?::(\d{2}))?\b";
    }
    let Some((_, text)) = text.split_once("<environment_details>") else { return Place::default() };
    let time = text.split_once("# Current Time").map(|(_, time)| time.lines().take(4).collect::<Vec<_>>().join("\n"));
    let offset = time.as_deref().and_then(|time| CLOCK.captures(time)).and_then(|found| {
        let hours: i32 = found[2].parse().ok()?;
        let minutes: i32 = found.get(3).map_or(Some(0), |minutes| minutes.as_str().parse().ok())?;
        let seconds = (hours * 60 + minutes) * 60;
        (hours <= 14).then_some(if &found[1] == "-" { -seconds } else { seconds })
    });
    Place { folder: FOLDER.captures(text).map(|found| found[1].to_owned()), offset_seconds: offset }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::Skipped;
    use crate::Transcript;

    fn read_as(name: &str, value: &Value) -> (Vec<Transcript>, Vec<Skipped>) {
        let mut seen = Vec::new();
        let mut accept = |transcript| seen.push(transcript);
        let mut sink = Sink::new(&mut accept);
        Cline.read(Input::from_text(name, &value.to_string()), &mut sink).unwrap();
        let skipped = std::mem::take(&mut sink.skipped);
        (seen, skipped)
    }

    fn show(message: &Message) -> String {
        format!("{:?} {:?}: {}", message.role, message.kind, message.text)
    }

    fn stated(value: &Value) -> Vec<String> {
        let (seen, skipped) = read_as(HISTORY, value);
        assert_eq!(skipped, []);
        seen.iter().flat_map(|transcript| &transcript.messages).map(show).collect()
    }

    fn user(texts: &[&str]) -> Value {
        let blocks: Vec<_> = texts.iter().map(|text| json!({"type": "text", "text": text})).collect();
        json!({"role": "user", "content": blocks, "ts": 1_770_641_100_123_i64})
    }

    fn assistant(text: &str) -> Value {
        json!({"role": "assistant", "content": [{"type": "text", "text": text}]})
    }

    #[test]
    fn the_users_words_are_unwrapped_and_the_rest_is_marked() {
        let rows: &[(&[&str], &[&str])] = &[
            (&["<task>\nadd tests\n</task>"], &["User Prose: add tests"]),
            (
                &["<task>\nfix @a.py\n</task>\n\n<file_content path=\"a.py\">\nx\n</file_content>"],
                &["User Prose: fix @a.py", "System Context: <file_content path=\"a.py\">\nx\n</file_content>"],
            ),
            (
                &["<environment_details>\nx\n</environment_details>"],
                &["System Context: <environment_details>\nx\n</environment_details>"],
            ),
            (&["bare words"], &["User Prose: bare words"]),
            (
                &["bare words\n<environment_details>\nx\n</environment_details>"],
                &["User Prose: bare words", "System Context: <environment_details>\nx\n</environment_details>"],
            ),
            (&["[ERROR] You did not use a tool"], &["System Context: [ERROR] You did not use a tool"]),
            (
                &["[TASK RESUMPTION] It was interrupted.\n<user_message>\ngo on\n</user_message>"],
                &["System Context: [TASK RESUMPTION] It was interrupted.", "User Prose: go on"],
            ),
        ];
        for (texts, expected) in rows {
            assert_eq!(stated(&json!([user(texts)])), *expected);
        }
    }

    #[test]
    fn answers_of_tools_are_the_users_only_where_the_user_was_asked() {
        let file = "<feedback>\nnot the user's\n</feedback>";
        let rows: &[(&[&str], &[&str])] = &[
            (
                &["[read_file for 'a.md'] Result:", file],
                &[
                    "Tool ToolResult: [read_file for 'a.md'] Result:",
                    "Tool ToolResult: <feedback>\nnot the user's\n</feedback>",
                ],
            ),
            (
                &["[ask_followup_question for 'Which?'] Result:", "<answer>\nthe second\n</answer>"],
                &["Tool ToolResult: [ask_followup_question for 'Which?'] Result:", "User Prose: the second"],
            ),
            (
                &[
                    "[execute_command for 'rm x'] Result:",
                    "The user denied this operation and provided the following feedback:\n<feedback>\nnever delete\n</feedback>",
                ],
                &[
                    "Tool ToolResult: [execute_command for 'rm x'] Result:",
                    "Tool ToolResult: The user denied this operation and provided the following feedback:",
                    "User Prose: never delete",
                ],
            ),
            (
                &["[list_files for '.'] Result:\na.py"],
                &["Tool ToolResult: [list_files for '.'] Result:", "Tool ToolResult: a.py"],
            ),
        ];
        for (texts, expected) in rows {
            assert_eq!(stated(&json!([user(texts)])), *expected);
        }
    }

    #[test]
    fn calls_are_read_from_blocks_and_from_tags() {
        let blocks = json!([
            {"role": "assistant", "content": [
                {"type": "thinking", "thinking": "hm"},
                {"type": "tool_use", "id": "1", "name": "read_file", "input": {"path": "a.py"}},
                {"type": "tool_use", "id": "2", "name": "ask_followup_question", "input": {"question": "Which?"}}]},
            {"role": "user", "ts": 1, "content": [
                {"type": "tool_result", "tool_use_id": "1", "content": "<answer>x</answer>"},
                {"type": "tool_result", "tool_use_id": "2", "content": [{"type": "text", "text": "<answer>the first</answer>"}]}]},
        ]);
        assert_eq!(
            stated(&blocks),
            [
                "Assistant Reasoning: hm", "Assistant ToolCall: read_file a.py", "Assistant Prose: Which?",
                "Tool ToolResult: <answer>x</answer>", "User Prose: the first"
            ]
        );
        let tags = "<thinking>hm</thinking>\n\nI write.\n<write_to_file>\n<path>a.html</path>\n<content>\n<b>x</b>\n</content>\n</write_to_file>";
        assert_eq!(
            stated(&json!([assistant(tags)])),
            ["Assistant Reasoning: hm", "Assistant Prose: I write.", "Assistant ToolCall: write_to_file a.html"]
        );
        let two = "<read_file>\n<path>a</path>\n</read_file>\nand\n<read_file>\n<path>b</path>\n</read_file>";
        assert_eq!(
            stated(&json!([assistant(two)])),
            ["Assistant ToolCall: read_file a", "Assistant Prose: and", "Assistant ToolCall: read_file b"]
        );
        for cut in ["<read_file", "<read_file>", "<", "x\n<thinking"] {
            assert!(stated(&json!([assistant(cut)])).len() <= 1, "{cut}");
        }
        let done = "<attempt_completion>\n<result>\nAll done.\n</result>\n</attempt_completion>";
        assert_eq!(stated(&json!([assistant(done)])), ["Assistant Prose: All done."]);
        assert_eq!(
            stated(&json!([assistant("Use `<read_file>` in text.")])),
            ["Assistant Prose: Use `<read_file>` in text."]
        );
    }

    #[test]
    fn the_surroundings_tell_folder_and_clock() {
        let details = "<environment_details>\n# Current Time\n2/9/2026, 6:05:00 PM (Asia/Kolkata, UTC+5:30)\n\n# Current Working Directory (/home/ravi/mandi) Files\na.py\n</environment_details>";
        let (seen, _) = read_as(HISTORY, &json!([user(&["<task>\nhi\n</task>", details])]));
        assert_eq!(seen[0].project.as_deref(), Some("/home/ravi/mandi"));
        assert_eq!(seen[0].messages[0].time.unwrap().offset_seconds, Some(19_800));
    }

    #[test]
    fn the_screen_is_read_where_it_is_alone_and_has_the_same_identity() {
        let say =
            |kind: &str, text: &str| json!({"ts": 1_770_641_100_123_i64, "type": "say", "say": kind, "text": text});
        let shown = json!([
            say("text", "add tests"), say("api_req_started", "{\"request\":\"x\"}"), say("text", "I do."), say("reasoning", "hm"),
            say("tool", "{\"tool\":\"readFile\",\"path\":\"a.py\"}"), say("command_output", "ok"), say("user_feedback", "use pytest"),
            {"ts": 2, "type": "ask", "ask": "followup", "text": "{\"question\":\"Which?\",\"options\":[]}"},
            {"ts": 3, "type": "ask", "ask": "completion_result", "text": ""}, say("error", "bad"),
        ]);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ui_messages.json");
        std::fs::write(&path, shown.to_string()).unwrap();
        let read = |path: &std::path::Path| {
            let mut seen: Vec<Transcript> = Vec::new();
            let mut accept = |transcript| seen.push(transcript);
            let mut sink = Sink::new(&mut accept);
            Cline.read(crate::open(path).unwrap(), &mut sink).unwrap();
            let skipped = sink.skipped.len();
            (seen, skipped)
        };
        let (alone, _) = read(&path);
        assert_eq!(
            alone[0].messages.iter().map(show).collect::<Vec<_>>(),
            [
                "User Prose: add tests", "Assistant Prose: I do.", "Assistant Reasoning: hm",
                "Assistant ToolCall: readFile a.py", "Tool ToolResult: ok", "User Prose: use pytest",
                "Assistant Prose: Which?", "System Context: bad"
            ]
        );
        let history = folder.path().join(HISTORY);
        std::fs::write(&history, json!([{"role": "user", "content": "<task>\nadd tests\n</task>"}]).to_string())
            .unwrap();
        assert_eq!((read(&path).0.len(), read(&path).1), (0, 1));
        let task = Folder::directory(folder.path());
        let mut whole = 0;
        let mut accept = |_| whole += 1;
        assert!(Cline.sniff_folder(&task) && !Cline.sniff_folder(&Folder::directory(std::path::Path::new("src"))));
        Cline.read_folder(&task, &mut Sink::new(&mut accept)).unwrap();
        assert_eq!(whole, 1);
        let (both, _) = read(&history);
        assert_eq!(both[0].external_id, alone[0].external_id);
        assert_eq!(both[0].messages[0].time.unwrap().at.as_millisecond(), 1_770_641_100_123);
    }

    #[test]
    fn plain_messages_of_the_api_are_not_claimed() {
        let sniff = |value: Value| Cline.sniff(&Head::new(value.to_string().into(), true));
        assert!(sniff(json!([user(&["hi"])])));
        assert!(sniff(json!([{"role": "user", "content": "<task>\nhi\n</task>"}])));
        assert!(sniff(json!([{"ts": 1, "type": "say", "say": "text", "text": "hi"}])));
        assert!(!sniff(json!([{"role": "user", "content": [{"type": "text", "text": "hi"}]}])));
        assert!(!sniff(json!({"role": "user", "content": "<task>\nhi\n</task>"})));
        assert!(!sniff(json!([{"ts": "1.0", "type": "message", "text": "hi"}])));
    }
}
