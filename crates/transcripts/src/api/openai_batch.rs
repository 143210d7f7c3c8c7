//! The `OpenAI` Batch API: files of requests, and files of their results, which may be in any order.

use serde_json::Value;

use crate::api::batch::{self, Line};
use crate::{Head, IngestError, Ingestor, Input, Sink};

/// Reads the `OpenAI` Batch API.
pub(crate) struct OpenAiBatch;

impl Ingestor for OpenAiBatch {
    named!("openai-batch");

    fn sniff(&self, head: &Head<'_>) -> bool {
        let is_line = |value: &Value| line(value).is_some();
        head.most_lines(is_line) || head.objects().count() == 1 && head.objects().any(is_line)
    }

    fn read(&self, input: Input, sink: &mut Sink<'_>) -> Result<(), IngestError> {
        batch::read(self.name(), line, input, sink)
    }
}

fn line(value: &Value) -> Option<(&str, Line<'_>)> {
    let id = value["custom_id"].as_str()?;
    let response = &value["response"];
    let pieces = if value["body"].is_object() && (value["url"].is_string() || value["method"].is_string()) {
        Line::Request(&value["body"])
    } else if value["error"].is_object() {
        Line::Failed("the request failed, so there is no answer".to_owned())
    } else if response["body"].is_object() && response["status_code"].as_u64().is_some_and(|code| code >= 400) {
        // A reply with an error status also has a body, which does not come from a model.
        Line::Failed(format!("the request was answered with status {}", response["status_code"]))
    } else if response["body"].is_object() {
        Line::Reply(&response["body"])
    } else {
        return None;
    };
    Some((id, pieces))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::open;
    use crate::testing::{lines, read, read_input, sniffs};
    use serde_json::json;

    fn request(id: &str, words: &str) -> String {
        json!({"custom_id": id, "method": "POST", "url": "/v1/chat/completions", "body": {"model": "m", "messages": [{"role": "user", "content": words}]}}).to_string()
    }

    fn reply(id: &str, words: &str) -> String {
        json!({"id": "batch_req_1", "custom_id": id, "error": null, "response": {"status_code": 200, "request_id": "r",
            "body": {"id": "chatcmpl-12345", "object": "chat.completion", "created": 1_767_312_000, "model": "m-2026", "choices": [{"message": {"role": "assistant", "content": words}}]}}}).to_string()
    }

    #[test]
    fn both_files_of_a_folder_give_the_same_conversations() {
        let folder = tempfile::tempdir().unwrap();
        let files = [
            ("in.jsonl", format!("{}\n{}\n", request("a", "first?"), request("b", "second?"))),
            ("out.jsonl", format!("{}\n{}\n", reply("b", "second."), reply("a", "first."))),
            ("notes.jsonl", "{\"x\":1}\n".to_owned()),
        ];
        for (name, text) in &files {
            std::fs::write(folder.path().join(name), text).unwrap();
        }
        let [asked, answered] = ["in.jsonl", "out.jsonl"].map(|name| {
            let (seen, skipped) = read_input(&OpenAiBatch, open(&folder.path().join(name)).unwrap());
            assert_eq!(skipped, []);
            let mut pieces: Vec<_> =
                seen.iter().map(|one| (one.external_id.clone(), lines(one), one.model.clone())).collect();
            pieces.sort();
            pieces
        });
        assert_eq!(asked, answered);
        let words: Vec<_> = asked.iter().flat_map(|(_, lines, _)| lines).map(String::as_str).collect();
        assert_eq!(words.len(), 4);
        assert!(words.windows(2).any(|pair| pair == ["User Prose first?", "Assistant Prose first."]));
        assert_eq!(asked[0].2.as_deref(), Some("m-2026"));
    }

    #[test]
    fn one_file_alone_is_read_for_what_it_holds_and_failures_are_reported() {
        let failed = json!({"id": "x", "custom_id": "c", "response": null, "error": {"code": "batch_expired"}});
        let refused = json!({"id": "x", "custom_id": "d", "error": null, "response": {"status_code": 429, "body": {"error": {}}}});
        let text = format!("{}\n{failed}\n{refused}\n{}\n", reply("a", "yes"), request("b", "no?"));
        assert!(sniffs(&OpenAiBatch, &text));
        let (seen, skipped) = read(&OpenAiBatch, "out.jsonl", &text);
        let pieces: Vec<_> = seen.iter().flat_map(lines).collect();
        assert_eq!(pieces, ["Assistant Prose yes", "User Prose no?"]);
        let reasons: Vec<_> = skipped.iter().map(|(number, reason)| (*number, reason.as_str())).collect();
        assert_eq!(
            reasons,
            [(2, "the request failed, so there is no answer"), (3, "the request was answered with status 429")]
        );
    }

    #[test]
    fn an_id_that_two_files_answer_differently_is_not_joined() {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in
            [("in.jsonl", request("a", "q?")), ("one.jsonl", reply("a", "1")), ("two.jsonl", reply("a", "2"))]
        {
            std::fs::write(folder.path().join(name), text + "\n").unwrap();
        }
        let (seen, skipped) = read_input(&OpenAiBatch, open(&folder.path().join("in.jsonl")).unwrap());
        assert_eq!((lines(&seen[0]), skipped.len()), (vec!["User Prose q?".to_owned()], 1));
    }
}
