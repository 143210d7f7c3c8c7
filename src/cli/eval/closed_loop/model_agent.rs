//! A minimal agent around a model, which reads files, writes files and runs commands.

use std::borrow::Cow;
use std::fs;
use std::path::{Component, Path};
use std::time::Instant;

use crate::guard::Guard;
use crate::llm::{Complete, ReplySchema, Request, Turn, TurnRole};
use anyhow::{Context as _, bail};
use serde::Deserialize;
use serde_json::json;

use super::agent::AgentReport;
use super::workspace::{HookCalls, Workspace};
use crate::cli::eval::system::Meter;

/// Maximum number of steps.
const MAX_TURNS: u64 = 40;
/// Maximum number of characters of a file or an output that are returned to the model.
const MAX_SHOWN: usize = 12_000;
const MAX_COMPLETION_TOKENS: u32 = 8_000;

const SYSTEM: &str = "You are a coding agent. You work in a repository until the task of the user is done. \
Each of your replies is one action, and you get its result before the next action.\n\n\
Actions:\n\
- read: read the file `path`.\n\
- write: create or replace the file `path` with `content`.\n\
- run: run the shell command `command` in the root of the repository. There is no network.\n\
- finish: end your work. Do this only when the task is done.\n\n\
Paths are relative to the root of the repository. Leave the fields that an action does not use empty.";

/// An action of the model.
#[derive(Debug, Deserialize)]
struct Action {
    #[serde(rename = "action")]
    kind: String,
    #[serde(default)]
    path: String,
    #[serde(default)]
    content: String,
    #[serde(default)]
    command: String,
}

/// Uses a model to work on a prompt. `preamble` precedes the prompt.
pub(super) async fn work<C: Complete>(
    model: &C,
    guard: &Guard,
    prompt: &str,
    preamble: &[String],
    workspace: &Workspace,
    hooks: &HookCalls<'_>,
) -> anyhow::Result<AgentReport> {
    let (meter, begun) = (Meter::new(model), Instant::now());
    let mut report = AgentReport::default();
    // The path of the folder differs between runs, and a recorded reply is found only for an equal request.
    let folder = workspace.repository().to_string_lossy().into_owned();
    let redacted = |text: String| guard.redact(text.replace(&folder, ".")).0;
    let mut first: Vec<String> = preamble.to_vec();
    first.push(prompt.to_owned());
    let mut turns = vec![Turn { role: TurnRole::User, text: redacted(first.join("\n\n")) }];
    let mut steps = 0;
    while steps < MAX_TURNS && begun.elapsed() < workspace.limit() {
        let request = Request {
            system: redacted(SYSTEM.to_owned()),
            turns: turns.clone(),
            schema: ReplySchema { name: Cow::Borrowed("action"), schema: schema() },
            max_completion_tokens: MAX_COMPLETION_TOKENS,
        };
        let (reply, _) = meter.complete(&request).await.context("the model of the agent failed")?;
        steps += 1;
        let result = match serde_json::from_str::<Action>(reply.text.trim()) {
            Ok(action) if action.kind == "finish" => break,
            Ok(action) => perform(&action, workspace, hooks, &mut report)?,
            Err(error) => format!("The reply is not an action: {error}"),
        };
        turns.push(Turn { role: TurnRole::Assistant, text: redacted(reply.text) });
        turns.push(Turn { role: TurnRole::User, text: redacted(result) });
    }
    Ok(AgentReport { turns: Some(steps), cost: meter.used(), ..report })
}

/// Performs an action and returns its result, with the text that hooks have shown.
fn perform(
    action: &Action,
    workspace: &Workspace,
    hooks: &HookCalls<'_>,
    report: &mut AgentReport,
) -> anyhow::Result<String> {
    let mut parts = Vec::new();
    match action.kind.as_str() {
        "read" => parts.push(match inside(&action.path) {
            Ok(path) => match fs::read(workspace.repository().join(path)) {
                Ok(bytes) => shortened(&String::from_utf8_lossy(&bytes)),
                Err(error) => format!("The file cannot be read: {error}"),
            },
            Err(error) => error.to_string(),
        }),
        "write" => match inside(&action.path) {
            Ok(path) => {
                parts.extend(hooks.before_edit(&action.path)?);
                parts.push(match write(&workspace.repository().join(path), &action.content) {
                    Ok(()) => "The file was written.".to_owned(),
                    Err(error) => format!("The file cannot be written: {error}"),
                });
            }
            Err(error) => parts.push(error.to_string()),
        },
        "run" => {
            parts.extend(hooks.before_command(&action.command)?);
            let output = workspace.shell(&action.command, "")?;
            if !output.has_succeeded() {
                report.failed_commands.push(action.command.clone());
            }
            let code = output.code.map_or_else(|| "time limit reached".to_owned(), |code| format!("exit code {code}"));
            parts.push(format!("{code}\n{}", shortened(&output.printed())));
            parts.extend(hooks.after_command(&action.command, &output)?);
        }
        other => parts.push(format!("There is no action {other:?}.")),
    }
    Ok(parts.join("\n\n"))
}

fn write(path: &Path, content: &str) -> std::io::Result<()> {
    path.parent().map_or(Ok(()), fs::create_dir_all)?;
    fs::write(path, content)
}

/// Returns the path if it does not lead out of the repository.
fn inside(path: &str) -> anyhow::Result<&Path> {
    let path = Path::new(path);
    if path.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir)) {
        return Ok(path);
    }
    bail!("The path must be relative to the root of the repository, without `..`.")
}

/// Returns the beginning and the end of a long text.
fn shortened(text: &str) -> String {
    if text.len() <= MAX_SHOWN {
        return text.to_owned();
    }
    let (head, tail) = (text.floor_char_boundary(MAX_SHOWN / 2), text.ceil_char_boundary(text.len() - MAX_SHOWN / 2));
    format!("{}\n[…]\n{}", &text[..head], &text[tail..])
}

fn schema() -> serde_json::Value {
    json!({
        "type": "object",
        "properties": {
            "action": {"type": "string", "enum": ["read", "write", "run", "finish"]},
            "path": {"type": "string"},
            "content": {"type": "string"},
            "command": {"type": "string"},
        },
        "required": ["action", "path", "content", "command"],
        "additionalProperties": false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_does_not_lead_out_of_the_repository() {
        assert!(inside("src/./a.py").is_ok());
        for path in ["/etc/passwd", "../x", "a/../../b"] {
            assert!(inside(path).is_err(), "{path}");
        }
    }

    #[test]
    fn a_long_output_keeps_both_ends() {
        let text = format!("ä{}ß", "x".repeat(3 * MAX_SHOWN));
        let short = shortened(&text);
        assert!(short.len() < MAX_SHOWN + 20 && short.starts_with('ä') && short.ends_with('ß'));
    }
}
