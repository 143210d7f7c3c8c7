"""Runs the real Claude Code and Codex against a model on this machine, each in an empty home.

    npm install --prefix agents @anthropic-ai/claude-code @openai/codex
    python3 tests/agents/run.py agents/node_modules/.bin target/release/afterthought

Checks that both extract memories through `--model`, that `setup` and the plugin install hooks that run and a server
whose tool is called, and that requests for memories leave no session behind. Prints one line for each check.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import model

REPOSITORY = Path(__file__).resolve().parents[2]
ASK = "What do we deploy with? Use memory."
KNOWN = "The project deploys with Nomad."
CODEX = ["codex", "exec", "-m", "gpt-5", "--skip-git-repo-check", "--dangerously-bypass-hook-trust"]
CODEX += ["--dangerously-bypass-approvals-and-sandbox", ASK]


class Home:
    """An empty home with a project, in which only the agents and this program are installed."""

    def __init__(self, agents, program, address):
        self.kept = tempfile.TemporaryDirectory(prefix="agents-", ignore_cleanup_errors=True)
        self.folder = Path(self.kept.name)
        self.project = self.folder / "shop"
        programs = self.folder / "bin"
        programs.mkdir()
        self.project.mkdir()
        subprocess.run(["git", "init", "--quiet", "."], cwd=self.project, check=True)
        shutil.copy(program, programs / "afterthought")
        (programs / "claude").symlink_to(agents / "claude")
        provider = f'model_providers.here={{name="here",base_url="{address}/v1",wire_api="responses",env_key="HERE_KEY"}}'
        # Requests for memories ignore the settings of Codex, so the provider is added on the command line.
        script = (
            "#!/bin/sh\ncommand=$1; shift\n[ \"$command\" = exec ] || exec {0} \"$command\" \"$@\"\n"
            "exec {0} exec -c model_provider=here -c '{1}' \"$@\"\n"
        )
        (programs / "codex").write_text(script.format(agents / "codex", provider))
        (programs / "codex").chmod(0o755)
        self.environment = {
            "HOME": str(self.folder), "PATH": f"{programs}:/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8",
            "ANTHROPIC_BASE_URL": address, "HERE_KEY": "k", "IS_SANDBOX": "1", "DISABLE_AUTOUPDATER": "1",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        }

    def run(self, *words, **variables):
        done = subprocess.run(
            words, cwd=self.project, env=self.environment | variables, stdin=subprocess.DEVNULL, timeout=300,
            capture_output=True, text=True,
        )
        return done.stdout + done.stderr

    def claude(self, *words):
        # With a key in the environment, `claude` needs no login. `afterthought` would use it, too.
        return self.run("claude", "-p", ASK, "--model", "haiku", *words, ANTHROPIC_API_KEY="sk-ant-" + "here")

    def sessions(self):
        return [path for folder in (".claude/projects", ".codex/sessions") for path in (self.folder / folder).rglob("*.jsonl")]


def check(name, holds, printed):
    print(("ok      " if holds else "FAILED  ") + name, flush=True)
    if not holds:
        sys.exit(printed)


def extraction(home):
    log = home.folder / "talk.jsonl"
    said = {"role": "user", "content": f"For the record, {model.QUOTE} now.", "timestamp": "2026-11-20T10:00:00Z"}
    noted = {"role": "assistant", "content": "Noted.", "timestamp": "2026-11-20T10:00:05Z"}
    log.write_text(json.dumps(said) + "\n" + json.dumps(noted) + "\n")
    for name in ("claude-code", "codex/gpt-5"):
        database = str(home.folder / f"{name.split('/')[0]}.db")
        key = {"ANTHROPIC_API_KEY": "sk-ant-" + "here"} if name == "claude-code" else {}
        printed = home.run("afterthought", "run", str(log), "--model", name, "--db", database, **key)
        check(f"{name} extracts a memory", "1 added" in printed and "1 call to the model" in printed, printed)
    check("these requests leave no session behind", not home.sessions(), str(home.sessions()))


def session(home, how, tool):
    printed = home.run("afterthought", "remember", KNOWN)
    printed = home.claude("--allowedTools", tool)
    check(f"Claude Code, {how}: the tool is called", "The tool says" in printed and KNOWN in printed, printed)
    queue = home.run("afterthought", "runs", "queue", "--all")
    check(f"Claude Code, {how}: the hooks run", ".claude/projects" in queue, queue)
    printed = home.run(*CODEX)
    check(f"Codex, {how}: the tool is called", "The tool says" in printed and KNOWN in printed, printed)
    events = ["SessionStart", "UserPromptSubmit", "Stop"]
    check(f"Codex, {how}: the hooks run", all(f"hook: {event} Completed" in printed for event in events), printed)
    queue = home.run("afterthought", "runs", "queue", "--all")
    check(f"Codex, {how}: the session is queued", ".codex/sessions" in queue, queue)


def main():
    agents, program = (Path(word).resolve() for word in sys.argv[1:3])
    address = model.start()
    home = Home(agents, program, address)
    print(home.run("claude", "--version").strip(), home.run("codex", "--version").strip(), sep=", ")
    extraction(home)
    home.run("afterthought", "setup", "--yes")
    session(home, "setup", "mcp__afterthought__memory_recall")
    home.run("afterthought", "setup", "--undo")
    left = [path for path in (".claude/settings.json", ".codex/hooks.json", ".codex/config.toml") if (home.folder / path).exists()]
    check("undoing removes the hooks and the server", not any("afterthought" in (home.folder / path).read_text() for path in left), str(left))

    home = Home(agents, program, address)
    printed = home.run("claude", "plugin", "validate", "--strict", str(REPOSITORY))
    check("the marketplace file is valid", "Validation passed" in printed, printed)
    for words in (["claude", "plugin", "marketplace", "add"], ["codex", "plugin", "marketplace", "add"]):
        home.run(*words, str(REPOSITORY))
    printed = home.run("claude", "plugin", "install", "afterthought@afterthought")
    check("Claude Code installs the plugin", "Successfully installed" in printed, printed)
    home.run("codex", "plugin", "add", "afterthought@afterthought")
    session(home, "plugin", "mcp__plugin_afterthought_afterthought__memory_recall")


if __name__ == "__main__":
    main()
