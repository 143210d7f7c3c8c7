//! Messages from clients of the Model Context Protocol after the handshake.
#![no_main]

use afterthought::config::{Config, Partial};
use afterthought::memory::Namespace;
use afterthought::serve::mcp::{MemoryServer, Profile, TOOLS};
use afterthought::serve::{MemoryPool, Served};
use afterthought_fuzz::{ELSEWHERE, assert_whole, folder, folders};
use libfuzzer_sys::fuzz_target;
use rmcp::ServiceExt as _;
use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

const HELLO: &str = concat!(
    r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"f","version":"1"}}}"#,
    "\n",
    r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
    "\n"
);

/// Returns lines of input, either unchanged or as the arguments of a tool.
fn lines(bytes: &[u8]) -> Vec<u8> {
    let Some((tool, rest)) = bytes.split_first().filter(|(first, _)| usize::from(**first) < TOOLS.len()) else {
        return [HELLO.as_bytes(), bytes, b"\n"].concat();
    };
    let arguments: Value = serde_json::from_slice(rest).unwrap_or_default();
    let call = serde_json::json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"name": TOOLS[usize::from(*tool)].name, "arguments": arguments}});
    format!("{HELLO}{call}\n").into_bytes()
}

fuzz_target!(|bytes: &[u8]| {
    let folder = folder();
    let folders = folders(folder.path());
    let config = Config::load(&folders, folder.path(), None, &|_: &str| None, Partial::default()).unwrap();
    let server = MemoryServer::new(MemoryPool::new(config, Served::Namespace(Namespace::global())), Profile::default());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let answers = runtime.block_on(async {
        let (client, own) = tokio::io::duplex(1 << 20);
        let (mut out, mut input) = tokio::io::split(client);
        let said = lines(bytes);
        let talk = async {
            input.write_all(&said).await.ok();
            input.shutdown().await.ok();
            let mut answers = Vec::new();
            out.read_to_end(&mut answers).await.ok();
            answers
        };
        let served = async {
            if let Ok(running) = server.serve(own).await {
                running.waiting().await.ok();
            }
        };
        let both = futures::future::join(talk, served);
        tokio::time::timeout(std::time::Duration::from_secs(20), both).await.expect("the server ends with its input").0
    });
    drop(runtime);
    check(bytes, &answers);
    assert_whole(&folders.default_db);
});

/// Checks that every answer follows the protocol, that each call has exactly one answer, and that no answer contains
/// memories of another project.
fn check(bytes: &[u8], answers: &[u8]) {
    let lines = answers.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    let answers: Vec<Value> = lines.map(|line| serde_json::from_slice(line).expect("JSON")).collect();
    assert!(answers.iter().all(|answer| answer["jsonrpc"] == "2.0"), "{answers:?}");
    assert_eq!(answers.iter().filter(|answer| answer["id"] == 0 && !answer["result"].is_null()).count().min(1), 1);
    if bytes.first().is_some_and(|first| usize::from(*first) < TOOLS.len()) {
        let own: Vec<&Value> = answers.iter().filter(|answer| answer["id"] == 1).collect();
        assert_eq!(own.len(), 1, "a call has one answer: {answers:?}");
        assert!(own[0]["result"].is_object() ^ own[0]["error"].is_object());
    }
    let leaks = |answer: &Value| answer.to_string().contains("zanzibar");
    let is_asked = String::from_utf8_lossy(bytes).to_lowercase().contains("zanzibar");
    assert!(is_asked || !answers.iter().any(leaks), "{ELSEWHERE:?} is none of this project's");
}
