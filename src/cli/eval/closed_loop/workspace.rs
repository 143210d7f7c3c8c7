//! The folders of one run: a fresh copy of a repository, a home folder, and a database.

use std::cell::RefCell;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use afterthought_eval::closed_loop::LoadedTask;
use afterthought_eval::vocabulary::Arm;
use anyhow::{Context as _, ensure};
use serde_json::{Value, json};

use super::process::{ProcessOutput, run};
use crate::cli::eval::system::CaseFolder;

/// Time limit of a hook, in milliseconds. Hooks are normally stopped much earlier, but on a busy machine this would
/// make the results depend on the load.
pub(super) const HOOK_LIMIT_MS: u64 = 30_000;
/// Time limit of other calls of this program and of git.
const CALL_LIMIT: Duration = Duration::from_mins(2);
/// Date of the only commit in a repository.
const COMMITTED_AT: &str = "2026-01-05T09:00:00Z";
/// The id of the second session.
const SESSION: &str = "00000000-0000-4000-8000-00000000000b";

/// Folders that language tools expect in the home folder, each with the variable that names it.
const TOOL_HOMES: &[(&str, &str)] = &[
    ("CARGO_HOME", ".cargo"),
    ("RUSTUP_HOME", ".rustup"),
    ("PYENV_ROOT", ".pyenv"),
    ("NVM_DIR", ".nvm"),
    ("VOLTA_HOME", ".volta"),
];
/// Variables that keep package managers from using the network.
const OFFLINE: &[(&str, &str)] = &[
    ("CARGO_NET_OFFLINE", "true"),
    ("GOPROXY", "off"),
    ("GOTOOLCHAIN", "local"),
    ("PIP_NO_INDEX", "1"),
    ("npm_config_offline", "true"),
    ("PYTHONDONTWRITEBYTECODE", "1"),
];
/// Variables that would point agents to settings outside the home folder.
const FOREIGN: &[&str] = &["CLAUDE_CONFIG_DIR", "CODEX_HOME", "CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT"];

/// The folders of one run.
pub(super) struct Workspace {
    folder: CaseFolder,
    root: PathBuf,
    name: String,
    limit: Duration,
}

impl Workspace {
    /// Creates the folders in a temporary folder, or in the folder `label` below `keep`.
    pub(super) fn new(keep: Option<&Path>, label: &str, loaded: &LoadedTask) -> anyhow::Result<Self> {
        let folder = CaseFolder::new(keep, label)?;
        // Temporary folders may be behind a link, while git reports the real path.
        let root = folder.path().canonicalize()?;
        let limit = Duration::from_secs(loaded.task.time_limit_s);
        let workspace = Self { folder, root, name: loaded.task.repository.clone(), limit };
        copy_tree(&loaded.repository, &workspace.repository())?;
        fs::create_dir_all(workspace.home())?;
        let address = format!("https://example.com/loop/{}.git", workspace.name);
        // The remote gives all copies of a repository the same project.
        for arguments in [
            &["init", "-q", "-b", "main"][..],
            &["remote", "add", "origin", &address],
            &["add", "-A"],
            &["-c", "user.name=A", "-c", "user.email=a@example.com", "commit", "-q", "--allow-empty", "-m", "Start"],
        ] {
            let mut git = Command::new("git");
            git.args(arguments).env("GIT_AUTHOR_DATE", COMMITTED_AT).env("GIT_COMMITTER_DATE", COMMITTED_AT);
            let output = run(workspace.prepared(git), "", CALL_LIMIT)?;
            ensure!(output.has_succeeded(), "git {} failed: {}", arguments[0], output.stderr.trim());
        }
        Ok(workspace)
    }

    pub(super) fn repository(&self) -> PathBuf {
        self.root.join(&self.name)
    }

    pub(super) fn home(&self) -> PathBuf {
        self.root.join("home")
    }

    pub(super) fn database(&self) -> PathBuf {
        self.folder.database()
    }

    pub(super) const fn limit(&self) -> Duration {
        self.limit
    }

    /// Returns the path of a new file of this run outside the repository.
    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    /// Returns `command` with the repository as its working directory and with the home folder of this run.
    fn prepared(&self, mut command: Command) -> Command {
        let is_own = |name: &str| {
            (name.starts_with("AFTERTHOUGHT_") && name != "AFTERTHOUGHT_DB_KEY") || name.starts_with("XDG_")
        };
        for (name, _) in std::env::vars_os() {
            if name.to_str().is_some_and(|name| is_own(name) || FOREIGN.contains(&name) || name.starts_with("GIT_")) {
                command.env_remove(name);
            }
        }
        if let Ok(home) = etcetera::home_dir() {
            for (variable, folder) in TOOL_HOMES {
                let path = home.join(folder);
                if std::env::var_os(variable).is_none() && path.is_dir() {
                    command.env(variable, path);
                }
            }
        }
        command.envs(OFFLINE.iter().copied()).env("GIT_CONFIG_NOSYSTEM", "1");
        for name in ["HOME", "USERPROFILE", "APPDATA", "LOCALAPPDATA"] {
            command.env(name, self.home());
        }
        command.current_dir(self.repository());
        command
    }

    /// Runs a shell command line in the repository.
    pub(super) fn shell(&self, line: &str, input: &str) -> anyhow::Result<ProcessOutput> {
        let (shell, option) = if cfg!(windows) { ("cmd", "/C") } else { ("sh", "-c") };
        let mut command = Command::new(shell);
        command.args([option, line]);
        run(self.prepared(command), input, self.limit)
    }

    /// Runs this program with the database of this run.
    pub(super) fn program(&self, arguments: &[&str], input: &str) -> anyhow::Result<ProcessOutput> {
        let mut command = Command::new(std::env::current_exe().context("cannot find this program")?);
        command.arg("--db").arg(self.database()).args(arguments);
        let output = run(self.prepared(command), input, CALL_LIMIT)?;
        ensure!(output.has_succeeded(), "afterthought {} failed: {}", arguments.join(" "), output.stderr.trim());
        Ok(output)
    }

    /// Stores `text` as a memory of the project.
    pub(super) fn remember(&self, text: &str) -> anyhow::Result<()> {
        self.program(&["remember", "--json", "-q", "--", text], "").map(drop)
    }

    /// Applies a patch, which may be empty.
    pub(super) fn apply(&self, patch: &str) -> anyhow::Result<()> {
        if patch.trim().is_empty() {
            return Ok(());
        }
        let mut git = Command::new("git");
        git.args(["apply", "-p1", "-"]);
        let output = run(self.prepared(git), patch, CALL_LIMIT)?;
        ensure!(output.has_succeeded(), "a prepared patch does not apply: {}", output.stderr.trim());
        Ok(())
    }

    /// Copies the hidden files of a task into the repository and runs its test.
    pub(super) fn test(&self, loaded: &LoadedTask) -> anyhow::Result<ProcessOutput> {
        let hidden = loaded.folder.join("hidden");
        if hidden.is_dir() {
            copy_tree(&hidden, &self.repository())?;
        }
        let output = self.shell(&loaded.task.test, "")?;
        // A shell exits with 127 if it cannot find the program.
        ensure!(output.code != Some(127), "a program of the test is not installed: {}", output.printed().trim());
        Ok(output)
    }
}

/// Copies the files in or below `from`. Their modification time is the current time, because build tools would otherwise
/// not notice a replaced file.
fn copy_tree(from: &Path, to: &Path) -> anyhow::Result<()> {
    for entry in walkdir::WalkDir::new(from).sort_by_file_name() {
        let entry = entry?;
        let target = to.join(entry.path().strip_prefix(from).unwrap_or(Path::new("")));
        let copied = if entry.file_type().is_dir() {
            fs::create_dir_all(&target)
        } else {
            fs::copy(entry.path(), &target).map(drop)
        };
        copied.with_context(|| format!("cannot copy {} to {}", entry.path().display(), target.display()))?;
    }
    Ok(())
}

/// The hooks of the second session, limited to those of an arm.
pub(super) struct HookCalls<'a> {
    workspace: &'a Workspace,
    arm: Arm,
    shown: RefCell<Vec<String>>,
}

impl<'a> HookCalls<'a> {
    pub(super) const fn new(workspace: &'a Workspace, arm: Arm) -> Self {
        Self { workspace, arm, shown: RefCell::new(Vec::new()) }
    }

    /// Returns everything that has been shown so far.
    pub(super) fn shown(&self) -> Vec<String> {
        self.shown.borrow().clone()
    }

    /// Adds `text`, which was shown by means other than a hook.
    pub(super) fn add_shown(&self, text: String) {
        self.shown.borrow_mut().push(text);
    }

    /// Returns the texts that precede the prompt.
    pub(super) fn before_prompt(&self, prompt: &str) -> anyhow::Result<Vec<String>> {
        if !self.arm.has_preamble() {
            return Ok(Vec::new());
        }
        let brief = self.call("session-start", json!({"source": "startup"}))?;
        let found = self.call("user-prompt-submit", json!({"prompt": prompt}))?;
        Ok([brief, found].into_iter().flatten().collect())
    }

    /// Returns the text shown before a file is changed.
    pub(super) fn before_edit(&self, file: &str) -> anyhow::Result<Option<String>> {
        self.act("pre-tool-use", "Edit", json!({"file_path": self.workspace.repository().join(file)}), json!({}))
    }

    /// Returns the text shown before a command runs.
    pub(super) fn before_command(&self, command: &str) -> anyhow::Result<Option<String>> {
        self.act("pre-tool-use", "Bash", json!({"command": command}), json!({}))
    }

    /// Returns the text shown after a command has run.
    pub(super) fn after_command(&self, command: &str, output: &ProcessOutput) -> anyhow::Result<Option<String>> {
        let input = json!({"command": command});
        if output.has_succeeded() {
            let response = json!({"stdout": output.stdout, "stderr": output.stderr, "interrupted": false});
            return self.act("post-tool-use", "Bash", input, json!({"tool_response": response}));
        }
        let code = output.code.map_or_else(String::new, |code| format!("Exit code {code}\n"));
        self.act("post-tool-use-failure", "Bash", input, json!({"error": code + &output.printed()}))
    }

    fn act(&self, event: &str, tool: &str, input: Value, mut fields: Value) -> anyhow::Result<Option<String>> {
        if !self.arm.has_act() {
            return Ok(None);
        }
        fields["tool_name"] = tool.into();
        fields["tool_input"] = input;
        fields["tool_use_id"] = format!("toolu_{}", self.shown.borrow().len()).into();
        self.call(event, fields)
    }

    fn call(&self, event: &str, mut input: Value) -> anyhow::Result<Option<String>> {
        input["session_id"] = SESSION.into();
        input["cwd"] = self.workspace.repository().to_string_lossy().into();
        let limit = HOOK_LIMIT_MS.to_string();
        let output = self.workspace.program(&["hook", event, "--limit-ms", &limit], &input.to_string())?;
        let text = context_in(&output.stdout);
        self.shown.borrow_mut().extend(text.clone());
        Ok(text)
    }
}

/// Returns the text for the model in the output of a hook.
pub(super) fn context_in(output: &str) -> Option<String> {
    let value: Value = serde_json::from_str(output).ok()?;
    value["hookSpecificOutput"]["additionalContext"].as_str().map(str::to_owned)
}
