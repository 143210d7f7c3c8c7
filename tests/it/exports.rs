//! Tests of complete exports of chat assistants, both as downloaded archives and unpacked into a folder.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tempfile::TempDir;
use transcripts::{Kind, Transcript};
use transcripts::{Logs, Sink, detect, detect_folder};

/// Writes `files` to a new folder, and packs them into an archive next to it, inside another folder.
fn laid_out(files: &[(&str, String)]) -> (TempDir, [PathBuf; 2]) {
    let place = tempfile::tempdir().unwrap();
    let (folder, packed) = (place.path().join("export"), place.path().join("export.zip"));
    let mut zip = zip::ZipWriter::new(std::fs::File::create(&packed).unwrap());
    let options = zip::write::SimpleFileOptions::default().compression_method(zip::CompressionMethod::Deflated);
    for (name, text) in files {
        std::fs::create_dir_all(folder.join(name).parent().unwrap()).unwrap();
        std::fs::write(folder.join(name), text).unwrap();
        zip.start_file(format!("user-export/{name}"), options).unwrap();
        zip.write_all(text.as_bytes()).unwrap();
    }
    zip.finish().unwrap();
    (place, [folder, packed])
}

/// Reads all logs in the folder or archive at `path`. Returns the format of each file, and the transcripts.
fn read(path: &Path) -> (Vec<(String, &'static str)>, Vec<Transcript>, Vec<String>) {
    let Logs::Folder(folder) = Logs::open(path).unwrap() else { panic!("{} is one file", path.display()) };
    assert!(detect_folder(&folder).is_none(), "its files are logs by themselves");
    let (mut taken, mut seen, mut skipped) = (Vec::new(), Vec::new(), Vec::new());
    for name in folder.all_files() {
        let input = folder.open(&name).unwrap();
        let Ok(ingestor) = detect(&input) else { continue };
        taken.push((name, ingestor.name()));
        let mut accept = |transcript| seen.push(transcript);
        let mut sink = Sink::new(&mut accept);
        ingestor.read(input, &mut sink).unwrap();
        skipped.extend(sink.skipped.into_iter().map(|skipped| skipped.reason));
    }
    (taken, seen, skipped)
}

/// Formats the messages, with the time of day, for a person to check.
fn told(transcripts: &[Transcript]) -> Vec<String> {
    let line = |one: &Transcript| {
        let words = one.messages.iter().filter(|message| message.kind == Kind::Prose).map(|message| {
            let time = message.time.map_or("-".to_owned(), |time| time.civil().strftime("%F %H:%M:%S").to_string());
            format!("{time} {:?}: {}", message.role, message.text)
        });
        format!("{} | {}", one.title.as_deref().unwrap_or("-"), words.collect::<Vec<_>>().join(" | "))
    };
    transcripts.iter().map(line).collect()
}

fn chatgpt_node(id: &str, parent: Option<&str>, role: &str, at: f64, words: &str) -> (String, Value) {
    let message = json!({"id": id, "author": {"role": role, "name": null, "metadata": {}}, "create_time": at,
        "content": {"content_type": "text", "parts": [words]}, "status": "finished_successfully", "weight": 1.0,
        "recipient": "all", "metadata": {}});
    (id.to_owned(), json!({"id": id, "parent": parent, "children": [], "message": message}))
}

fn chatgpt_conversation(id: &str, title: &str, current: &str, nodes: Vec<(String, Value)>) -> Value {
    let mapping: serde_json::Map<String, Value> = nodes.into_iter().collect();
    json!({"id": id, "conversation_id": id, "title": title, "create_time": 1_767_258_000.0, "mapping": mapping,
        "current_node": current, "is_archived": false})
}

#[test]
fn a_whole_chatgpt_export_is_read_from_its_shards_alone() {
    let edited = chatgpt_conversation(
        "c-pottery",
        "Pottery",
        "d",
        vec![
            chatgpt_node("d", Some("c"), "assistant", 1_767_258_130.5, "Then book the Friday class."),
            chatgpt_node("a", None, "user", 1_767_258_000.0, "I throw pots on Thursdays."),
            chatgpt_node("b", Some("a"), "assistant", 1_767_258_060.0, "Nice."),
            chatgpt_node("c", Some("a2"), "user", 1_767_258_120.0, "And I need a kiln."),
            chatgpt_node("a2", None, "user", 1_767_258_100.0, "I throw pots on Fridays."),
        ],
    );
    let private = json!({"id": "c-private", "title": "Private", "is_do_not_remember": true, "current_node": "p",
        "mapping": {"p": {"id": "p", "parent": null, "children": [], "message": {"author": {"role": "user"},
            "content": {"content_type": "text", "parts": ["between us"]}}}}});
    let later = chatgpt_conversation(
        "c-rowing",
        "Rowing",
        "r",
        vec![chatgpt_node("r", None, "user", 1_767_344_400.0, "We row at six.")],
    );
    let files = [
        ("conversations-000.json", json!([edited, private]).to_string()),
        ("conversations-001.json", json!([later]).to_string()),
        ("export_manifest.json", json!({"version": 1, "files": ["conversations-000.json"]}).to_string()),
        ("user.json", json!({"id": "user-1", "email": "ines@example.org", "chatgpt_plus_user": false}).to_string()),
        ("user_settings.json", json!([{"user_id": "user-1", "settings": {"theme": "dark"}}]).to_string()),
        (
            "message_feedback.json",
            json!([{"id": "f", "conversation_id": "c-rowing", "rating": "thumbs_up", "content": "{}"}]).to_string(),
        ),
        (
            "shared_conversations.json",
            json!([{"id": "s", "conversation_id": "c-rowing", "title": "Rowing", "is_anonymous": true}]).to_string(),
        ),
        (
            "model_comparisons.json",
            json!([{"id": "m", "conversation_id": "c-rowing", "input": {}, "output": {"feedback_step_1": {}}}]).to_string(),
        ),
        ("codex.json", json!([{"id": "task_1", "title": "Fix the build", "turns": []}]).to_string()),
        (
            "chat.html",
            "<html><body><div id=\"root\"></div><script>var jsonData = [{\"title\":\"Rowing\"}];</script></body></html>".to_owned(),
        ),
        ("dalle-generations/file-1.webp", "RIFF".to_owned()),
    ];
    let (_place, paths) = laid_out(&files);
    for path in paths {
        let (taken, seen, skipped) = read(&path);
        assert_eq!(
            taken,
            [("conversations-000.json".to_owned(), "chatgpt"), ("conversations-001.json".to_owned(), "chatgpt")]
        );
        assert_eq!(
            told(&seen),
            [
                "Pottery | 2026-01-01 09:01:40 User: I throw pots on Fridays. | 2026-01-01 09:02:00 User: And I need a kiln. | 2026-01-01 09:02:10 Assistant: Then book the Friday class.",
                "Rowing | 2026-01-02 09:00:00 User: We row at six.",
            ]
        );
        let left = "turns of the user on branches that are no longer shown: 1";
        assert_eq!(skipped, [left, "marked `is_do_not_remember`, so none of it is kept"]);
        let origin = path.join("conversations-001.json#1").display().to_string();
        assert_eq!((seen[0].key().as_str(), seen[1].origin.as_str()), ("chatgpt:c-pottery", origin.as_str()));
    }
}

#[test]
fn a_whole_claude_export_gives_its_conversations_and_design_sessions_alone() {
    let message = |id: &str, sender: &str, at: &str, words: &str| {
        json!({"uuid": id, "sender": sender, "text": words, "created_at": at, "attachments": [], "files": [],
            "content": [{"type": "text", "text": words, "citations": []}]})
    };
    let conversation = json!({"uuid": "c-tides", "name": "Tides", "created_at": "2026-01-05T07:00:00Z", "chat_messages": [
        message("1", "human", "2026-01-05T07:00:01Z", "When is high tide?"),
        message("2", "assistant", "2026-01-05T07:00:09Z", "At six.")]});
    let design = json!({"uuid": "d-flag", "project": {"name": "Club flag"}, "messages": [{"uuid": "1", "role": "user",
        "content": {"content": "A white flag.", "authorName": "Ines", "timestamp": "2026-01-06T07:00:00Z"}}]});
    let files = [
        ("conversations.json", json!([conversation]).to_string()),
        ("design_chats/d-flag.json", design.to_string()),
        ("memories.json", json!([{"account_uuid": "a", "conversations_memory": "**Rowing**\n\nInes rows.", "project_memories": {}}]).to_string()),
        ("projects.json", json!([{"uuid": "p", "name": "Club", "prompt_template": "", "docs": [{"uuid": "d", "filename": "rules.md", "content": "Rule one."}]}]).to_string()),
        ("users.json", json!([{"uuid": "u", "full_name": "Ines", "email_address": "ines@example.org"}]).to_string()),
    ];
    let (_place, paths) = laid_out(&files);
    for path in paths {
        let (taken, seen, skipped) = read(&path);
        let taken: Vec<_> = taken.iter().filter(|(_, format)| format.starts_with("claude")).collect();
        assert_eq!(
            taken,
            [
                &("conversations.json".to_owned(), "claude-ai"),
                &("design_chats/d-flag.json".to_owned(), "claude-design")
            ]
        );
        assert_eq!(
            told(&seen),
            [
                "Tides | 2026-01-05 07:00:01 User: When is high tide? | 2026-01-05 07:00:09 Assistant: At six.",
                "- | 2026-01-06 07:00:00 User: A white flag.",
            ]
        );
        assert_eq!(skipped, Vec::<String>::new());
    }
}

#[test]
fn of_other_exports_only_the_conversations_are_taken() {
    let activity = json!([{"header": "Gemini Apps", "title": "Prompted sow beans?", "time": "2026-01-02T08:00:00Z",
        "products": ["Gemini Apps"], "safeHtmlItem": [{"html": "<p>In May.</p>"}]}]);
    let search = json!([{"header": "Search", "title": "Searched for beans", "time": "2026-01-02T08:00:00Z", "products": ["Search"]}]);
    let grok = json!({"conversations": [{"conversation": {"id": "g", "title": "Beans", "create_time": "2026-01-02T08:00:00Z"},
        "responses": [{"sender": "human", "message": "sow beans?", "create_time": "2026-01-02T08:00:00Z"}]}]});
    let deepseek = json!([{"id": "d", "title": "Beans", "inserted_at": "2026-01-02T08:00:00+08:00", "mapping": {
        "root": {"id": "root", "parent": null, "children": ["1"], "message": null},
        "1": {"id": "1", "parent": "root", "children": [], "message": {"inserted_at": "2026-01-02T08:00:00+08:00",
            "fragments": [{"type": "REQUEST", "content": "sow beans?"}]}}}}]);
    let exports = [
        (
            vec![
                ("My Activity/Gemini Apps/MyActivity.json", activity.to_string()),
                ("My Activity/Search/MyActivity.json", search.to_string()),
                ("Gemini/gems.json", json!([{"name": "Gardener", "instructions": "Be kind."}]).to_string()),
                ("archive_browser.html", "<!DOCTYPE html><html><body>Gemini</body></html>".to_owned()),
            ],
            ("My Activity/Gemini Apps/MyActivity.json", "gemini-takeout"),
            "- | 2026-01-02 08:00:00 User: sow beans? | 2026-01-02 08:00:00 Assistant: In May.",
        ),
        (
            vec![
                ("prod-grok-backend.json", grok.to_string()),
                (
                    "prod-mc-auth-mgmt-api.json",
                    json!({"user": {"email": "ines@example.org"}, "sessions": []}).to_string(),
                ),
                ("prod-mc-billing.json", json!({"balance_map": {}}).to_string()),
            ],
            ("prod-grok-backend.json", "grok"),
            "Beans | 2026-01-02 08:00:00 User: sow beans?",
        ),
        (
            vec![
                ("conversations.json", deepseek.to_string()),
                ("user.json", json!({"user_id": "u", "email": "ines@example.org", "oauth_profiles": null}).to_string()),
            ],
            ("conversations.json", "deepseek"),
            "Beans | 2026-01-02 08:00:00 User: sow beans?",
        ),
    ];
    for (files, (name, format), said) in exports {
        let (_place, paths) = laid_out(&files);
        for path in paths {
            let (taken, seen, skipped) = read(&path);
            assert_eq!(taken, [(name.to_owned(), format)]);
            assert_eq!((told(&seen), skipped), (vec![said.to_owned()], vec![]));
        }
    }
}
