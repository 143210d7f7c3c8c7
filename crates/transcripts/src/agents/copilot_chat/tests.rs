use serde_json::json;

use super::*;
use crate::Skipped;
use crate::Transcript;

fn read(text: &str) -> (Vec<Transcript>, Vec<Skipped>) {
    let mut seen = Vec::new();
    let mut accept = |transcript| seen.push(transcript);
    let mut sink = Sink::new(&mut accept);
    assert!(CopilotChat.sniff(&Head::new(text.into(), true)), "{text}");
    CopilotChat.read(Input::from_text("chat.json", text), &mut sink).unwrap();
    let skipped = std::mem::take(&mut sink.skipped);
    (seen, skipped)
}

/// Writes each message of a session with one request as `Role Kind: text`.
fn shown(request: &Value) -> Vec<String> {
    let (seen, skipped) = read(&json!({"sessionId": "s", "requests": [request]}).to_string());
    assert_eq!(skipped, []);
    let messages = seen.iter().flat_map(|one| &one.messages);
    messages.map(|message| format!("{:?} {:?}: {}", message.role, message.kind, message.text)).collect()
}

#[test]
fn an_answer_is_put_together_from_its_pieces() {
    let request = json!({"message": {"text": "where is the fee?", "parts": []}, "response": [
        {"kind": "mcpServersStarting", "didStartServerIds": []},
        {"kind": "thinking", "value": ["look", "around"]},
        {"value": "It is in "},
        {"kind": "inlineReference", "inlineReference": {"path": "/srv/ferry/fee.py"}},
        {"value": "."},
        {"kind": "toolInvocationSerialized", "toolCallId": "t", "toolId": "run_in_terminal", "isComplete": false, "toolSpecificData": {"kind": "terminal", "commandLine": {"original": "pytest"}}},
        {"value": "```"},
        {"kind": "textEditGroup", "uri": {"path": "/srv/ferry/fee.py"}, "edits": []},
        {"value": "```"},
        {"kind": "toolInvocationSerialized", "toolCallId": "t", "toolId": "run_in_terminal", "isComplete": true, "toolSpecificData": {"kind": "terminal", "commandLine": {"original": "pytest"}}, "resultDetails": {"input": "pytest", "output": [{"type": "embed", "isText": true, "value": "3 passed"}]}},
        {"kind": "markdownContent", "content": {"value": "Done."}},
        {"kind": "warning", "content": {"value": "slow"}},
        "bare"],
        "result": {"errorDetails": {"message": "canceled"}}});
    assert_eq!(
        shown(&request),
        [
            "User Prose: where is the fee?",
            "Assistant Reasoning: look\naround",
            "Assistant Prose: It is in `fee.py`.",
            "Assistant ToolCall: run_in_terminal pytest",
            "Tool ToolResult: 3 passed",
            "Assistant ToolCall: edit /srv/ferry/fee.py",
            "Assistant Prose: Done.",
            "System Context: slow",
            "Assistant Prose: bare",
            "System Context: canceled",
        ]
    );
}

#[test]
fn only_what_a_person_asked_is_the_users() {
    let by_itself = json!({"message": {"text": "the command ended"}, "isSystemInitiated": true, "response": []});
    assert_eq!(shown(&by_itself), ["System Context: the command ended"]);
    let undone = json!({"message": {"text": "gone"}, "shouldBeRemovedOnSend": {"requestId": "r"}});
    assert_eq!(shown(&undone), Vec::<String>::new());
    let attached = json!({"message": {"text": "look"}, "variableData": {"variables": [{"kind": "image", "name": "plan.png", "value": {"0": 137}}, {"kind": "file", "name": "fee.py"}, {"kind": "promptText", "name": "x"}]}});
    assert_eq!(
        shown(&attached),
        ["User Prose: look", "User Attachment: [image: plan.png]", "User Attachment: [file: fee.py]"]
    );
    let form = json!({"message": {"text": "go"}, "response": [{"kind": "questionCarousel", "questions": [{"message": "Which port?"}], "data": {"q:0": {"selectedValue": "Turku", "freeformValue": "the old one"}}}]});
    assert_eq!(shown(&form), ["User Prose: go", "Assistant Prose: Which port?", "User Prose: Turku\nthe old one"]);
}

#[test]
fn a_log_of_changes_is_the_session_that_it_describes() {
    let lines = [
        json!({"kind": 0, "v": {"version": 3, "sessionId": "s1", "creationDate": 1_772_442_000_000_i64, "requests": []}}),
        json!({"kind": 2, "k": ["requests"], "v": [{"requestId": "r1", "timestamp": 1_772_442_010_000_i64, "message": {"text": "use euros"}, "response": []}]}),
        json!({"kind": 2, "k": ["requests", 0, "response"], "v": [{"value": "Euros."}]}),
        json!({"kind": 1, "k": ["requests", 7, "vote"], "v": 1}),
        json!({"kind": 1, "k": ["customTitle"], "v": "Money"}),
    ];
    let text: String = lines.iter().flat_map(|line| [line.to_string(), "\n".to_owned()]).collect();
    let (seen, skipped) = read(&format!("{text}{{\"kind\":1,\"k"));
    let (document, _) = read(
        &json!({"sessionId": "s1", "customTitle": "Money", "creationDate": 1_772_442_000_000_i64, "requests": [
        {"requestId": "r1", "timestamp": 1_772_442_010_000_i64, "message": {"text": "use euros"}, "response": [{"value": "Euros."}]}]})
        .to_string(),
    );
    assert_eq!(seen, document);
    assert_eq!((seen[0].title.as_deref(), seen[0].messages.len()), (Some("Money"), 2));
    let records: Vec<_> = skipped.iter().map(|skipped| skipped.record).collect();
    assert_eq!(records, [4, 6]);
}

#[test]
fn an_export_is_known_by_its_requests_and_a_stored_session_by_its_folder() {
    let id = |request: &str| {
        let export =
            json!({"requesterUsername": "aino", "requests": [{"requestId": request, "message": {"text": "hi"}}]});
        read(&export.to_string()).0[0].external_id.clone()
    };
    assert_eq!(id("request_1"), id("request_1"));
    assert_ne!(id("request_1"), id("request_2"));

    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("chatSessions")).unwrap();
    std::fs::write(folder.path().join("workspace.json"), r#"{"folder":"file:///home/aino/ferry"}"#).unwrap();
    let path = folder.path().join("chatSessions/s1.json");
    std::fs::write(&path, r#"{"sessionId":"s1","requests":[{"message":"hi"}]}"#).unwrap();
    let mut seen = Vec::new();
    let mut accept = |transcript| seen.push(transcript);
    CopilotChat.read(crate::open(&path).unwrap(), &mut Sink::new(&mut accept)).unwrap();
    assert_eq!((seen[0].project.as_deref(), seen[0].messages.len()), (Some("/home/aino/ferry"), 1));
}

#[test]
fn other_documents_with_requests_are_refused() {
    for other in [
        json!({"requests": [{"url": "/a"}], "sessionId": "s"}),
        json!({"requests": [{"message": "hi"}]}),
        json!({"requests": {}, "sessionId": "s"}),
        json!({"kind": 0, "v": {"apiVersion": "v1"}}),
    ] {
        assert!(!CopilotChat.sniff(&Head::new(other.to_string().into(), true)), "{other}");
    }
}
