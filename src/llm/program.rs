//! Calls models through programs: Claude Code and Codex with the user's own login, and any command that reads a prompt
//! and prints a reply.
//!
//! The programs run in a folder that contains only the request. They run without tools where possible, and without the
//! user's hooks, servers and instructions. They keep no log of the session, so that it is never extracted.

use std::io;
use std::path::Path;
use std::process::{Output, Stdio};
use std::time::Duration;

use serde_json::Value;
use tokio::io::AsyncWriteExt as _;
use tokio::process::Command;

use super::fault::{Fault, Rejection};
use super::protocol::{Protocol, SHELL};
use super::wire::in_words;
use super::{Finish, Reply, Request, TurnRole};
#[cfg(windows)]
use crate::process::NEW_GROUP;
use crate::process::{ENVIRONMENT_MARK, on_path};
use crate::text::markup::without_control_tokens;
use crate::tokens;

/// Variables by which Claude Code recognises that it was started by another Claude Code, such as by one of its hooks.
const OWN_VARIABLES: [&str; 3] = ["CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_CODE_SSE_PORT"];

/// Features that would let Codex act, or that run commands which the user has configured for other work.
const CODEX_FEATURES: [&str; 7] =
    ["hooks", "shell_tool", "unified_exec", "plugins", "apps", "multi_agent", "image_generation"];

/// Runs the program of `protocol`, and returns its reply within `timeout`. `model` is the configured name, `PROVIDER`
/// or `PROVIDER/MODEL`.
pub(super) async fn ask(
    protocol: &Protocol,
    model: &str,
    request: &Request,
    timeout: Duration,
) -> Result<Reply, Fault> {
    let folder = tempfile::tempdir().map_err(|error| Fault::NotStarted(format!("no temporary folder: {error}")))?;
    let named = model.split_once('/').map(|(_, name)| name);
    let (mut command, prompt) = match protocol {
        Protocol::ClaudeCode => claude(folder.path(), named, request),
        Protocol::Codex => codex(folder.path(), named, request),
        Protocol::Command(line) => Ok((shell(line), format!("{}\n\n{}", whole_system(request), turns(request)))),
        Protocol::OpenAi | Protocol::Anthropic => {
            return Err(Fault::NotStarted("this is a server, not a program".to_owned()));
        }
    }
    .map_err(|error| Fault::NotStarted(format!("the temporary folder cannot be written: {error}")))?;
    command.current_dir(folder.path());
    let output = run(command, &prompt, timeout).await?;
    let read = match protocol {
        Protocol::ClaudeCode => claude_reply(&output),
        Protocol::Codex => codex_reply(&output),
        _ => plain_reply(&output),
    };
    let answer = read?;
    Ok(Reply {
        finish: answer.finish,
        prompt_tokens: answer.prompt_tokens.unwrap_or_else(|| request.prompt_tokens()),
        completion_tokens: answer.completion_tokens.unwrap_or_else(|| tokens::count(&answer.text) as u64),
        model: model.to_owned(),
        text: answer.text,
    })
}

/// Checks that the program of `protocol` can be started, which costs nothing.
pub(super) async fn check(protocol: &Protocol, timeout: Duration) -> Result<(), String> {
    let (Some(name), Protocol::ClaudeCode | Protocol::Codex) = (protocol.program(), protocol) else { return Ok(()) };
    let mut command = program(name);
    command.arg("--version");
    run(command, "", timeout).await.map(drop).map_err(|fault| format!("{name}: {fault}"))
}

fn claude(folder: &Path, model: Option<&str>, request: &Request) -> io::Result<(Command, String)> {
    let mut command = program("claude");
    command.args(["--print", "--output-format", "json", "--no-session-persistence", "--disable-slash-commands"]);
    // No tools, servers or settings: the conversations may contain instructions, and the person's hooks would run for
    // each request.
    command.args(["--tools", "", "--strict-mcp-config", "--setting-sources", ""]);
    command.arg("--json-schema").arg(request.schema.schema.to_string());
    // The prompt is written to a file, since other users of the machine can see the arguments of a process.
    let system = folder.join("system.txt");
    std::fs::write(&system, request.system.as_str())?;
    command.arg("--system-prompt-file").arg(system);
    if let Some(model) = model {
        command.args(["--model", model]);
    }
    OWN_VARIABLES.iter().for_each(|name| {
        command.env_remove(name);
    });
    Ok((command, turns(request)))
}

fn codex(folder: &Path, model: Option<&str>, request: &Request) -> io::Result<(Command, String)> {
    let mut command = program("codex");
    command.args(["exec", "--json", "--ephemeral", "--skip-git-repo-check", "--ignore-user-config"]);
    command.args(["--sandbox", "read-only", "-c", "project_doc_max_bytes=0", "-c", "web_search=\"disabled\""]);
    for feature in CODEX_FEATURES {
        // A version without the feature ignores this option, but would reject `--disable`.
        command.args(["-c", &format!("features.{feature}=false")]);
    }
    let schema = folder.join("schema.json");
    std::fs::write(&schema, request.schema.schema.to_string())?;
    command.arg("--output-schema").arg(schema).arg("--cd").arg(folder);
    if let Some(model) = model {
        command.args(["--model", model]);
    }
    command.arg("-");
    // Codex has no option for a different system prompt.
    Ok((command, format!("{}\n\n{}", request.system.as_str(), turns(request))))
}

/// Returns a command that starts the program with this name.
fn program(name: &str) -> Command {
    // Windows finds only files that end in `.exe` by their name alone.
    Command::new(on_path(name).unwrap_or_else(|| name.into()))
}

fn shell(line: &str) -> Command {
    let mut command = Command::new(SHELL.0);
    #[cfg(not(windows))]
    command.args([SHELL.1, line]);
    // `cmd` does not read quotation marks as other programs do. With `/S`, it removes only the outer ones.
    #[cfg(windows)]
    command.raw_arg(format!("/D /S {} \"{line}\"", SHELL.1));
    command
}

fn whole_system(request: &Request) -> String {
    format!("{}{}", request.system.as_str(), in_words(&request.schema))
}

/// Returns the turns as one text.
fn turns(request: &Request) -> String {
    let turns = request.turns.iter().map(|turn| match turn.role {
        TurnRole::User => without_control_tokens(&turn.text),
        TurnRole::Assistant => format!("Your answer was:\n\n{}", without_control_tokens(&turn.text)),
    });
    turns.collect::<Vec<_>>().join("\n\n")
}

/// Runs `command` with `prompt` as its input. It is killed if it takes longer than `timeout`.
async fn run(mut command: Command, prompt: &str, timeout: Duration) -> Result<Output, Fault> {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
    // An interrupt at the terminal reaches the whole process group, but a request in flight has been paid for and
    // should finish.
    #[cfg(unix)]
    command.process_group(0);
    #[cfg(windows)]
    command.creation_flags(NEW_GROUP);
    command.env(ENVIRONMENT_MARK, "1");
    let started = command.spawn();
    let mut child = started.map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => Fault::NotStarted("it is not installed, or not on the PATH".to_owned()),
        _ => Fault::NotStarted(error.to_string()),
    })?;
    let input = child.stdin.take();
    let exchange = async {
        let write = async {
            if let Some(mut input) = input {
                // A program may end without reading its input. Its output explains the reason.
                input.write_all(prompt.as_bytes()).await.ok();
            }
        };
        // Input and output are processed at the same time, since a program that prints while it reads would wait for
        // its output to be read.
        let ((), output) = tokio::join!(write, child.wait_with_output());
        output
    };
    match tokio::time::timeout(timeout, exchange).await {
        Ok(output) => output.map_err(|error| Fault::Broken(error.to_string())),
        Err(_) => Err(Fault::TimedOut(timeout)),
    }
}

/// The result in the output of a program, as far as it can be read.
#[derive(Debug, PartialEq)]
struct Answer {
    text: String,
    finish: Finish,
    prompt_tokens: Option<u64>,
    completion_tokens: Option<u64>,
}

fn claude_reply(output: &Output) -> Result<Answer, Fault> {
    let Ok(result) = serde_json::from_slice::<Value>(&output.stdout) else { return Err(said(output)) };
    let count = |names: &[&str]| {
        let counts: Vec<_> = names.iter().filter_map(|name| result["usage"][*name].as_u64()).collect();
        (!counts.is_empty()).then(|| counts.iter().sum())
    };
    if result["is_error"] == true || (result["result"].is_null() && result["structured_output"].is_null()) {
        let message = result["result"].as_str().or(result["subtype"].as_str()).unwrap_or("no message").to_owned();
        let code = result["api_error_status"].as_u64().map_or_else(String::new, |status| status.to_string());
        return Err(Fault::Declined(Rejection { message, code }));
    }
    let finish = match result["stop_reason"].as_str() {
        Some("max_tokens") => Finish::Length,
        Some("refusal") => Finish::Refusal,
        _ => Finish::Stop,
    };
    let text = match &result["structured_output"] {
        Value::Null => result["result"].as_str().unwrap_or_default().to_owned(),
        structured => structured.to_string(),
    };
    let prompt_tokens = count(&["input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"]);
    Ok(Answer { text, finish, prompt_tokens, completion_tokens: count(&["output_tokens"]) })
}

fn codex_reply(output: &Output) -> Result<Answer, Fault> {
    let printed = String::from_utf8_lossy(&output.stdout);
    let events: Vec<Value> = printed.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let last = |find: &dyn Fn(&Value) -> Option<String>| events.iter().rev().find_map(find);
    let failure = last(&|event| match event["type"].as_str()? {
        "turn.failed" => event["error"]["message"].as_str().map(str::to_owned),
        "error" => event["message"].as_str().map(str::to_owned),
        _ => None,
    });
    let message = last(&|event| {
        let item = &event["item"];
        (item["type"] == "agent_message").then(|| item["text"].as_str().map(str::to_owned))?
    });
    let Some(usage) = events.iter().rev().find(|event| event["type"] == "turn.completed") else {
        let decline = |message| Fault::Declined(Rejection { message, code: String::new() });
        return Err(failure.map_or_else(|| said(output), decline));
    };
    let count = |name: &str| usage["usage"][name].as_u64();
    let text = message.unwrap_or_default();
    let (prompt_tokens, completion_tokens) = (count("input_tokens"), count("output_tokens"));
    Ok(Answer { text, finish: Finish::Stop, prompt_tokens, completion_tokens })
}

fn plain_reply(output: &Output) -> Result<Answer, Fault> {
    if !output.status.success() {
        return Err(said(output));
    }
    let text = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    Ok(Answer { text, finish: Finish::Stop, prompt_tokens: None, completion_tokens: None })
}

/// Returns the error for a program that gave no reply, with the last part of its output.
fn said(output: &Output) -> Fault {
    let printed = |bytes: &[u8]| {
        let text = String::from_utf8_lossy(bytes).into_owned();
        text.lines().rev().map(str::trim).find(|line| !line.is_empty()).map(str::to_owned)
    };
    let words = printed(&output.stderr).or_else(|| printed(&output.stdout));
    let message = words.unwrap_or_else(|| format!("it printed nothing ({})", output.status));
    Fault::Declined(Rejection { message, code: String::new() })
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::process::ExitStatusExt as _;

    use super::super::wire::tests::request;
    use super::*;

    fn output(status: i32, stdout: &str, stderr: &str) -> Output {
        Output { status: std::process::ExitStatus::from_raw(status << 8), stdout: stdout.into(), stderr: stderr.into() }
    }

    fn declined(read: Result<Answer, Fault>) -> (String, String) {
        match read {
            Err(Fault::Declined(rejection)) => (rejection.message, rejection.code),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_result_of_claude_code_is_read() {
        let printed = r#"{"type":"result","is_error":false,"result":"{\"a\":1}","stop_reason":"tool_use",
            "usage":{"input_tokens":11,"cache_read_input_tokens":5,"output_tokens":7},"structured_output":{"a":1}}"#;
        let expected = Answer {
            text: "{\"a\":1}".to_owned(),
            finish: Finish::Stop,
            prompt_tokens: Some(16),
            completion_tokens: Some(7),
        };
        assert_eq!(claude_reply(&output(0, printed, "")), Ok(expected));
        let limit = r#"{"is_error":true,"api_error_status":429,"result":"You've hit your limit · resets 3pm"}"#;
        assert_eq!(
            declined(claude_reply(&output(1, limit, ""))),
            ("You've hit your limit · resets 3pm".to_owned(), "429".to_owned())
        );
        assert_eq!(declined(claude_reply(&output(1, "", "a\nno such option\n"))).0, "no such option");
    }

    #[test]
    fn events_of_codex_are_read() {
        let printed = concat!(
            "{\"type\":\"thread.started\"}\n{\"type\":\"error\",\"message\":\"Reconnecting... 1/5\"}\n",
            "{\"type\":\"item.completed\",\"item\":{\"type\":\"agent_message\",\"text\":\"{}\"}}\n",
            "{\"type\":\"turn.completed\",\"usage\":{\"input_tokens\":12,\"output_tokens\":7}}\n",
        );
        let expected =
            Answer { text: "{}".to_owned(), finish: Finish::Stop, prompt_tokens: Some(12), completion_tokens: Some(7) };
        assert_eq!(codex_reply(&output(0, printed, "")), Ok(expected));
        let failed = "{\"type\":\"turn.failed\",\"error\":{\"message\":\"usage limit reached\"}}";
        assert_eq!(declined(codex_reply(&output(1, failed, "noise"))).0, "usage limit reached");
        assert_eq!(declined(codex_reply(&output(1, "", "Not logged in"))).0, "Not logged in");
    }

    #[tokio::test]
    async fn a_command_reads_the_whole_prompt_and_prints_the_reply() {
        let ask = async |line: &str| {
            let protocol = Protocol::Command(line.to_owned());
            super::ask(&protocol, "command/x", &request("hi 用 tabs"), Duration::from_secs(5)).await
        };
        let reply = ask("cat").await.unwrap();
        assert!(reply.text.starts_with("Extract facts.\n\nAnswer with one JSON object"), "{}", reply.text);
        assert!(reply.text.ends_with("hi 用 tabs"), "{}", reply.text);
        assert_eq!(reply.model, "command/x");
        // The input is larger than a pipe's buffer, and the program does not read it.
        assert_eq!(ask("echo '{}'").await.unwrap().text, "{}");
        let failed = ask("echo 'no such model' >&2; exit 3").await;
        assert!(matches!(failed, Err(Fault::Declined(ref why)) if why.message == "no such model"), "{failed:?}");
    }

    #[tokio::test]
    async fn a_program_that_takes_too_long_is_ended_and_a_missing_one_is_named() {
        let protocol = Protocol::Command("sleep 30".to_owned());
        let late = ask(&protocol, "command/x", &request("hi"), Duration::from_millis(50)).await;
        assert_eq!(late, Err(Fault::TimedOut(Duration::from_millis(50))));
        let missing = run(Command::new("no-such-program-at-all"), "", Duration::from_secs(1)).await;
        assert!(matches!(missing, Err(Fault::NotStarted(ref why)) if why.contains("not installed")), "{missing:?}");
    }
}
