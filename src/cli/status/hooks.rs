//! Whether the hooks are in the agents' settings, call a program that is there, and fire; and how the work behind them goes.

use std::fs;
use std::path::Path;

use afterthought::serve::hook::{Agent, HookLog, Installed, WATCH_LEASE, WORKER_LEASE, commands_in};
use afterthought::store::{Database, Fired, JobStatus};
use jiff::Timestamp;

use super::{Check, State};
use crate::cli::agent::{parsed, settings_of};
use crate::cli::health::age;
use crate::cli::printer::{counted, spelled};

/// Checks each agent whose settings are there, and what is behind the hooks.
pub(super) fn checks(database: Option<&Database>, path: &Path, now: Timestamp) -> Vec<Check> {
    let fired = database.and_then(|database| database.hooks_fired().ok()).unwrap_or_default();
    let mut checks: Vec<Check> =
        Agent::ALL.iter().copied().flat_map(|agent| agent_checks(agent, &fired, now)).collect();
    checks.extend(database.into_iter().flat_map(|database| work(database, now)));
    let log = HookLog::beside(path);
    if let Some(last) = fs::read_to_string(log.path()).ok().and_then(|text| text.lines().next_back().map(str::to_owned))
    {
        checks.push(Check::new("hook log", State::Note, format!("{}; last: {last}", log.path().display())));
    }
    checks
}

fn agent_checks(agent: Agent, fired: &[Fired], now: Timestamp) -> Vec<Check> {
    let name = if agent == Agent::ClaudeCode { "claude-code" } else { "codex" };
    let mut installed: Vec<Installed> = Vec::new();
    for is_project in [false, true] {
        let Ok(path) = settings_of(agent, is_project) else { continue };
        let Ok(text) = fs::read_to_string(&path) else { continue };
        match parsed(&text, &path) {
            Ok(settings) => installed.extend(commands_in(&settings)),
            Err(error) => return vec![Check::new(name, State::Bad, spelled(&error))],
        }
    }
    let fired: Vec<&Fired> = fired.iter().filter(|one| one.agent == agent.as_str()).collect();
    if installed.is_empty() {
        let finding = format!("no hooks; `afterthought agent install {}` puts them in", agent.as_str());
        return vec![Check::new(name, State::Note, finding)];
    }
    if let Some(gone) = installed.iter().find(|one| !is_there(&one.program)) {
        let finding = format!(
            "the hooks call {}, which is not there; run `afterthought agent install {}` again",
            gone.program,
            agent.as_str()
        );
        return vec![Check::new(name, State::Bad, finding)];
    }
    let missing: Vec<&str> = agent
        .events()
        .iter()
        .filter(|event| event.as_str() != "subagent-stop")
        .map(|event| event.wire())
        .filter(|event| installed.iter().all(|one| one.event != *event))
        .collect();
    let there = format!("{} in place", counted(installed.len(), "hook"));
    let state = if missing.is_empty() {
        Check::new(name, State::Good, there)
    } else {
        let finding = format!(
            "{there}, {} missing; run `afterthought agent install {}` again",
            missing.join(", "),
            agent.as_str()
        );
        Check::new(name, State::Note, finding)
    };
    vec![state, fires(agent, &fired, now)]
}

fn fires(agent: Agent, fired: &[&Fired], now: Timestamp) -> Check {
    if fired.is_empty() {
        let trust = if agent == Agent::Codex { "; Codex runs them only once you trust them with /hooks" } else { "" };
        return Check::new("fired", State::Note, format!("none of them yet; begin a session{trust}"));
    }
    let times = fired.iter().map(|one| format!("{} {} ago", one.event, age(one.at, now)));
    Check::new("fired", State::Good, times.collect::<Vec<_>>().join(", "))
}

fn work(database: &Database, now: Timestamp) -> Vec<Check> {
    let Ok(jobs) = database.jobs() else { return Vec::new() };
    let count = |status: JobStatus| jobs.iter().filter(|job| job.status == status).count();
    let (waiting, failed) = (count(JobStatus::Waiting), count(JobStatus::Failed));
    let last = jobs.iter().filter(|job| job.status == JobStatus::Done).map(|job| job.updated_at).max();
    let last = last.map_or_else(|| "none done yet".to_owned(), |last| format!("the last done {} ago", age(last, now)));
    let (state, remedy) = if failed > 0 {
        (State::Note, "; `afterthought runs queue` tells why, `runs retry` tries again")
    } else {
        (State::Good, "")
    };
    let mut checks = vec![Check::new("jobs", state, format!("{waiting} waiting, {failed} failed, {last}{remedy}"))];
    let holder = |lease: &str| database.lease_holder(lease, now).ok().flatten();
    checks.push(match (holder(WATCH_LEASE), holder(WORKER_LEASE)) {
        (Some(pid), _) => Check::new("worker", State::Good, format!("process {pid} watches")),
        (None, Some(pid)) => Check::new("worker", State::Good, format!("process {pid} works")),
        (None, None) => Check::new("worker", State::Good, "none; hooks start one when there is work"),
    });
    checks
}

fn is_there(program: &str) -> bool {
    let path = Path::new(program);
    if path.components().count() > 1 {
        return path.is_file();
    }
    let folders = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&folders).any(|folder| folder.join(path).is_file())
}
