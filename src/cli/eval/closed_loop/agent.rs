//! The agents of the second session: a scripted one, a loop around a model, and any agent with a command line.

use std::convert::Infallible;
use std::fs;
use std::path::Path;
use std::str::FromStr;

use afterthought_eval::closed_loop::{LoadedTask, failed_commands};
use afterthought_eval::results::Cost;
use afterthought_eval::vocabulary::{Arm, Solution};
use anyhow::{Context as _, ensure};
use serde_json::Value;

use super::workspace::{HOOK_LIMIT_MS, HookCalls, Workspace, context_in};

/// An agent, as it is named on the command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Agent {
    /// Applies prepared patches.
    Scripted,
    /// A loop around the configured model.
    Model,
    /// A command line that reads a prompt from standard input and works in the current folder.
    Command(String),
}

impl FromStr for Agent {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(match text {
            "scripted" => Self::Scripted,
            "model" => Self::Model,
            line => Self::Command(line.to_owned()),
        })
    }
}

impl Agent {
    pub(super) fn name(&self) -> &str {
        match self {
            Self::Scripted => "scripted",
            Self::Model => "model",
            Self::Command(line) => line,
        }
    }
}

/// An agent's own report of its work.
#[derive(Debug, Default)]
pub(super) struct AgentReport {
    /// Number of steps, if known.
    pub(super) turns: Option<u64>,
    pub(super) cost: Cost,
    pub(super) failed_commands: Vec<String>,
}

/// Behaves like an agent that looks at each file before editing it, and applies a prepared patch.
pub(super) fn work_scripted(
    loaded: &LoadedTask,
    workspace: &Workspace,
    hooks: &HookCalls<'_>,
) -> anyhow::Result<AgentReport> {
    let mut report = AgentReport::default();
    let mut turns = 1;
    hooks.before_prompt(&loaded.task.prompt)?;
    for file in loaded.files_of(Solution::Without) {
        hooks.before_edit(&file)?;
        turns += 1;
    }
    let knows = || loaded.choice_after(&hooks.shown()) == Solution::With;
    for command in loaded.commands() {
        if knows() {
            break;
        }
        hooks.before_command(command)?;
        if knows() {
            break;
        }
        let output = workspace.shell(command, "")?;
        hooks.after_command(command, &output)?;
        turns += 1;
        if !output.has_succeeded() {
            report.failed_commands.push(command.clone());
        }
    }
    workspace.apply(loaded.patch(loaded.choice_after(&hooks.shown())))?;
    Ok(AgentReport { turns: Some(turns), ..report })
}

/// Runs the command line of an agent, with the hooks of the arm in the settings of Claude Code and Codex.
pub(super) fn work_by_command(
    line: &str,
    prompt: &str,
    workspace: &Workspace,
    arm: Arm,
    hooks: &HookCalls<'_>,
) -> anyhow::Result<AgentReport> {
    let record = workspace.path("shown.jsonl");
    if arm.has_preamble() || arm.has_act() {
        ensure!(cfg!(unix), "hooks of a command can only be recorded on Unix; use --agent model");
        for (agent, settings) in [("claude-code", ".claude/settings.json"), ("codex", ".codex/hooks.json")] {
            workspace.program(&["agent", "install", agent, "--yes", "-q"], "")?;
            limit_hooks(&workspace.home().join(settings), arm, &record)?;
        }
    }
    let output = workspace.shell(line, prompt)?;
    let shown = fs::read_to_string(&record).unwrap_or_default();
    shown.lines().filter_map(context_in).for_each(|text| hooks.add_shown(text));
    let logs = walkdir::WalkDir::new(workspace.home().join(".claude/projects"));
    let logs = logs.into_iter().flatten().filter(|entry| entry.path().extension().is_some_and(|end| end == "jsonl"));
    let failed = logs.filter_map(|entry| fs::read_to_string(entry.path()).ok()).flat_map(|log| failed_commands(&log));
    Ok(AgentReport { failed_commands: failed.collect(), ..report_in(&output.stdout) })
}

/// Removes the hooks of other arms from the settings of an agent, and copies the output of the remaining hooks to
/// `record`.
fn limit_hooks(path: &Path, arm: Arm, record: &Path) -> anyhow::Result<()> {
    let text = fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    let mut settings: Value = serde_json::from_str(&text)?;
    let hooks = settings["hooks"].as_object_mut().context("the installed settings contain no hooks")?;
    hooks.retain(|event, _| match event.as_str() {
        "SessionStart" | "UserPromptSubmit" => arm.has_preamble(),
        "PreToolUse" | "PostToolUse" | "PostToolUseFailure" => arm.has_act(),
        // The second session is not read, so its end does not matter.
        _ => false,
    });
    let groups = hooks.values_mut().filter_map(Value::as_array_mut).flatten();
    for hook in groups.filter_map(|group| group["hooks"].as_array_mut()).flatten() {
        let command = hook["command"].as_str().unwrap_or_default();
        let place = record.display();
        hook["command"] = format!("{command} --limit-ms {HOOK_LIMIT_MS} | tee -a '{place}'").into();
    }
    fs::write(path, settings.to_string()).with_context(|| format!("cannot write {}", path.display()))
}

/// Reads turns, tokens and cost from the JSON that `claude --print --output-format json` prints. Other agents print
/// something else.
fn report_in(printed: &str) -> AgentReport {
    let result = printed.lines().rev().find_map(|line| serde_json::from_str::<Value>(line).ok()).unwrap_or_default();
    let usage = &result["usage"];
    let count = |name: &str| usage[name].as_u64().unwrap_or_default();
    let prompt_tokens = ["input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"];
    let turns = result["num_turns"].as_u64();
    let cost = Cost {
        calls: turns.unwrap_or_default(),
        prompt_tokens: prompt_tokens.into_iter().map(count).sum(),
        completion_tokens: count("output_tokens"),
        money: result["total_cost_usd"].as_f64(),
        ..Cost::default()
    };
    AgentReport { turns, cost, failed_commands: Vec::new() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cost_of_claude_code_is_read_and_other_output_is_unknown() {
        let printed = r#"warning
{"num_turns":7,"total_cost_usd":0.25,"usage":{"input_tokens":5,"cache_read_input_tokens":10,"output_tokens":3}}"#;
        let report = report_in(printed);
        assert_eq!((report.turns, report.cost.prompt_tokens, report.cost.completion_tokens), (Some(7), 15, 3));
        assert_eq!(report.cost.money, Some(0.25));
        assert_eq!(report_in("done\n").turns, None);
    }

    #[test]
    fn only_the_hooks_of_an_arm_remain_and_their_output_is_recorded() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("settings.json");
        let group = |name: &str| serde_json::json!([{"hooks": [{"type": "command", "command": name}]}]);
        let settings = serde_json::json!({"hooks": {
            "SessionStart": group("a start"), "PreToolUse": group("a before"), "Stop": group("a stop"),
        }});
        fs::write(&path, settings.to_string()).unwrap();
        limit_hooks(&path, Arm::Act, Path::new("/tmp/x")).unwrap();
        let left: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
        let events: Vec<&String> = left["hooks"].as_object().unwrap().keys().collect();
        assert_eq!(events, ["PreToolUse"]);
        let command = left["hooks"]["PreToolUse"][0]["hooks"][0]["command"].as_str().unwrap();
        assert_eq!(command, "a before --limit-ms 30000 | tee -a '/tmp/x'");
    }
}
