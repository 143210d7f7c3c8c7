//! `LangChain`: messages as dictionaries or as serialised objects, and the runs that `LangSmith` records.

use serde_json::Value;

use crate::api::threads::{Call, Threads};
use crate::json::Json;
use crate::message::chat::{is_langchain, messages_of};
use crate::message::exchange::{Conversation, Loose, answered, asked, own_id, without_repetition};
use crate::message::identity;
use crate::{Head, IngestError, Ingestor, Input, Object, Objects, Sink};

/// Metadata that identifies the runs of one conversation, most specific first.
const THREADS: &[&str] = &["thread_id", "session_id", "conversation_id"];

/// Reads `LangChain` messages and `LangSmith` runs.
pub(crate) struct LangChain;

impl Ingestor for LangChain {
    named!("langchain");

    fn sniff(&self, head: &Head<'_>) -> bool {
        head.objects().any(is_ours) || head.most_lines(is_ours)
    }

    fn read(&self, input: Input, sink: &mut Sink<'_>) -> Result<(), IngestError> {
        let (mut loose, mut threads) = (Loose::of(self.name(), &input), Threads::new(self.name()));
        Objects::each(input, sink, |object, sink| {
            let value = &object.value;
            if let Some(messages) = held(value) {
                let messages = messages.iter().flat_map(messages_of).collect();
                let id = own_id(&[value], &["conversation_id", "session_id", "thread_id"]);
                let pieces = Conversation { source: self.name(), id, facts: vec![value], messages };
                pieces.hand_over(&object, sink);
            } else if is_langchain(value) {
                messages_of(value).into_iter().for_each(|message| loose.push(message, sink));
            } else if let Some(runs) = value["runs"].as_array() {
                runs.iter().for_each(|run| read_run(run, &object, &mut threads, sink));
            } else if is_run(value) {
                read_run(value, &object, &mut threads, sink);
            } else {
                sink.skip(object.number, "neither a message nor a run");
            }
        })?;
        threads.finish(sink);
        loose.draft.finish(sink);
        Ok(())
    }
}

fn is_ours(value: &Value) -> bool {
    is_langchain(value)
        || held(value).is_some()
        || is_run(value)
        || value["runs"].as_array().is_some_and(|runs| runs.iter().any(is_run))
}

/// Returns the messages in a prompt, a history, or another object that contains messages.
fn held(value: &Value) -> Option<&Vec<Value>> {
    let messages = [&value["kwargs"]["messages"], &value["messages"]].into_iter().find_map(Value::as_array)?;
    messages.iter().any(is_langchain).then_some(messages)
}

fn is_run(value: &Value) -> bool {
    value["run_type"].is_string() && (value["inputs"].is_object() || value["outputs"].is_object())
}

/// Reads a run if it is a call to a model or the root of a trace, because a trace may contain no recorded model run.
fn read_run(run: &Value, object: &Object, threads: &mut Threads, sink: &mut Sink<'_>) {
    let is_root = run["parent_run_id"].is_null();
    // Chains and tools between the root and the model repeat the content of the model's run.
    if run["run_type"] != "llm" && !is_root {
        return;
    }
    let (input, output) = (asked(&run["inputs"]), answered(&run["outputs"]));
    if input.is_empty() && output.is_empty() {
        return sink.skip(object.number, "a run without messages");
    }
    let metadata = &run["extra"]["metadata"];
    let thread = metadata.first_text(THREADS);
    let trace = run.first_text(&["trace_id", "id"]).unwrap_or_default();
    threads.add(
        Call {
            thread: thread.unwrap_or(trace).to_owned(),
            trace: trace.to_owned(),
            start: identity::stamp(&run["start_time"]),
            end: identity::stamp(&run["end_time"]),
            // The output of a graph is its complete state, which repeats the input.
            output: without_repetition(&input, output),
            input,
            title: None,
            project: run["session_name"].owned(),
            model: metadata["ls_model_name"].owned(),
            origin: object.origin.clone(),
        },
        sink,
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{lines, read, sniffs};
    use serde_json::json;

    fn dumped(class: &str, words: &str) -> Value {
        json!({"lc": 1, "type": "constructor", "id": ["langchain", "schema", "messages", class], "kwargs": {"content": words, "type": "x"}})
    }

    #[test]
    fn dictionaries_and_dumps_of_messages_are_read_alike() {
        let dictionary = json!([
            {"type": "system", "data": {"content": "Be brief.", "type": "system"}},
            {"type": "human", "data": {"content": [{"type": "text", "text": "hi"}], "name": "Ana", "id": "m1"}},
            {"type": "ai", "data": {"content": "", "tool_calls": [{"name": "save", "args": {"name": "Ana"}, "id": "c1"}]}},
            {"type": "tool", "data": {"content": "ok", "name": "save", "tool_call_id": "c1"}},
            {"type": "AIMessageChunk", "data": {"content": "Hello."}},
        ]);
        assert!(sniffs(&LangChain, &dictionary.to_string()));
        let (seen, skipped) = read(&LangChain, "x.json", &dictionary.to_string());
        let expected = [
            "System Context Be brief.", "User Prose hi", "Assistant ToolCall save Ana", "Tool ToolResult ok",
            "Assistant Prose Hello.",
        ];
        assert_eq!((lines(&seen[0]), skipped), (expected.map(str::to_owned).to_vec(), vec![]));
        assert_eq!(seen[0].messages[1].speaker.as_deref(), Some("Ana"));
        let dumps = json!([dumped("HumanMessage", "hi"), dumped("AIMessage", "ho")]);
        let prompt = json!({"lc": 1, "type": "constructor", "id": ["langchain", "prompt_values", "ChatPromptValue"], "kwargs": {"messages": dumps}});
        for text in [dumps.to_string(), prompt.to_string()] {
            assert!(sniffs(&LangChain, &text));
            assert_eq!(lines(&read(&LangChain, "x.json", &text).0[0]), ["User Prose hi", "Assistant Prose ho"]);
        }
    }

    #[test]
    fn runs_of_one_thread_become_one_conversation() {
        let run = |id: &str, minute: u32, inputs: &Value, words: &str| {
            json!({"id": id, "trace_id": id, "run_type": "llm", "parent_run_id": null, "start_time": format!("2026-01-02T03:{minute:02}:00"), "inputs": {"messages": [inputs]},
                "outputs": {"generations": [[{"text": words, "message": dumped("AIMessage", words)}]]}, "extra": {"metadata": {"thread_id": "thread-1", "ls_model_name": "m"}}})
        };
        let first = run("a", 1, &json!([dumped("HumanMessage", "hi")]), "ho");
        let second = run(
            "b",
            2,
            &json!([dumped("HumanMessage", "hi"), dumped("AIMessage", "ho"), dumped("HumanMessage", "well?")]),
            "well.",
        );
        let tool = json!({"id": "t", "trace_id": "b", "parent_run_id": "b", "run_type": "tool", "inputs": {"input": "x"}, "outputs": {"output": "y"}});
        for text in [format!("{second}\n{tool}\n{first}\n"), json!({"runs": [second, tool, first]}).to_string()] {
            assert!(sniffs(&LangChain, &text));
            let (seen, skipped) = read(&LangChain, "runs.jsonl", &text);
            assert_eq!((seen.len(), seen[0].external_id.as_str(), skipped), (1, "thread-1", vec![]));
            assert_eq!(
                lines(&seen[0]),
                ["User Prose hi", "Assistant Prose ho", "User Prose well?", "Assistant Prose well."]
            );
            // The log contains no offset, and the reader must not invent one.
            assert_eq!(seen[0].messages[0].time.map(|time| time.offset_seconds), Some(None));
        }
    }

    #[test]
    fn the_same_words_said_twice_to_a_program_without_history_are_kept() {
        let run = |id: &str, words: &str, answer: &str| {
            json!({"id": id, "trace_id": id, "run_type": "llm", "inputs": {"messages": [{"type": "human", "content": words}]},
            "outputs": {"messages": [{"type": "ai", "content": answer}]}, "extra": {"metadata": {"thread_id": "thread-1"}}})
        };
        let runs = json!([run("a", "yes", "Booked."), run("b", "And a taxi?", "Shall I?"), run("c", "yes", "Done.")]);
        let (seen, _) = read(&LangChain, "runs.json", &runs.to_string());
        let expected = ["yes", "Booked.", "And a taxi?", "Shall I?", "yes", "Done."];
        let texts: Vec<_> = seen[0].messages.iter().map(|message| message.text.as_str()).collect();
        assert_eq!(texts, expected);
    }

    #[test]
    fn the_state_that_a_graph_returns_is_not_read_twice() {
        let (ask, answer) = (json!({"type": "human", "content": "hi"}), json!({"type": "ai", "content": "ho"}));
        let root = json!({"id": "r", "trace_id": "r", "run_type": "chain", "inputs": {"messages": [ask]}, "outputs": {"messages": [ask, answer]}});
        let (seen, _) = read(&LangChain, "run.json", &root.to_string());
        assert_eq!(lines(&seen[0]), ["User Prose hi", "Assistant Prose ho"]);
    }
}
