//! Queues session logs for extraction: the log of an event, idle logs, and sessions whose end was missed.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use jiff::{SignedDuration, Timestamp};
use transcripts::Found;

use super::{Agent, Call, Event, HookError};
use crate::config::ExtractionMode;
use crate::pipeline::{Stamp, path_key};
use crate::store::{EXTRACT, Enqueued, JobRequest, Store, StoreError};

/// How long a conversation must have been still before it is extracted, unless its end was told.
pub(super) const IDLE: SignedDuration = SignedDuration::from_mins(10);

/// Returns the work that a log is, due at `not_before`; `None` where there is no such file.
#[must_use]
pub fn request_for(agent: &str, log: &Path, project: Option<&Path>, not_before: Timestamp) -> Option<JobRequest> {
    let changed = log.metadata().ok().filter(std::fs::Metadata::is_file)?.modified().ok()?;
    Some(JobRequest {
        kind: EXTRACT.to_owned(),
        key: path_key(log),
        agent: agent.to_owned(),
        path: log.to_str()?.to_owned(),
        project: project.and_then(Path::to_str).map(str::to_owned),
        watermark: Timestamp::try_from(changed).ok()?.as_millisecond(),
        not_before,
    })
}

/// Puts the log that the event is about in line; returns whether there is one that waits now.
///
/// At its end a session is due at once. While it goes on it is put off each time that the agent has answered; before it
/// is compacted it is due at once, so that what the agent is about to lose can be told it again.
pub(super) fn enqueue(store: &Store, call: &Call, now: Timestamp) -> Result<bool, HookError> {
    let input = &call.input;
    let is_subagent = call.event == Event::SubagentStop || input.subagent.is_some();
    if is_subagent && !call.subagents || !reads(call) {
        return Ok(false);
    }
    let log = if is_subagent { input.subagent_transcript.as_ref() } else { input.transcript.as_ref() };
    let not_before = match call.event {
        Event::SessionEnd | Event::PreCompact | Event::SubagentStop => now,
        Event::Stop if call.memory.extraction.extraction_mode.value == ExtractionMode::DuringConversation => now,
        Event::Stop
        | Event::SessionStart
        | Event::UserPromptSubmit
        | Event::PreToolUse
        | Event::PostToolUse
        | Event::PostToolUseFailure => now + IDLE,
    };
    let request = log.and_then(|log| request_for(call.agent.as_str(), log, input.cwd.as_deref(), not_before));
    let Some(request) = request else { return Ok(false) };
    Ok(store.enqueue(&request, now)? == Enqueued::Waiting)
}

/// Whether conversations are read without being asked.
pub(super) const fn reads(call: &Call) -> bool {
    call.memory.enabled.value && call.memory.extraction.auto_extract.value
}

/// Whether neither a job nor a run has read the log as it is now.
pub(super) fn is_new(store: &Store, log: &Path, stamp: &Stamp) -> Result<bool, StoreError> {
    let key = path_key(log);
    let changed = stamp.changed_at().map_or(0, Timestamp::as_millisecond);
    let is_done = store.extracted_until(&key)?.is_some_and(|until| until >= changed);
    Ok(!is_done && !store.was_read(&key, &stamp.text())?)
}

/// Whether a log is that of a sub-agent.
pub(super) fn is_subagents(agent: Agent, log: &Path) -> bool {
    let name = log.file_name().unwrap_or_default().to_string_lossy();
    let folder = log.parent().and_then(Path::file_name).unwrap_or_default();
    agent == Agent::ClaudeCode && (name.starts_with("agent-") || folder == "subagents")
}

/// Which logs are taken.
#[derive(Debug, Clone)]
pub struct Scan {
    /// How long a log must have been still.
    pub idle: SignedDuration,
    /// Logs that have been still for longer are left to `run`.
    pub max_age: SignedDuration,
    /// Whether logs of sub-agents are taken, too.
    pub subagents: bool,
}

/// Puts the logs in line that have come to rest and are not extracted as they are now; returns how many that are.
/// `logs` come with the name of the program that keeps them.
///
/// # Errors
/// [`StoreError`] if the file cannot be read or written.
pub fn scan(
    store: &Store,
    logs: impl IntoIterator<Item = (String, Found)>,
    scan: &Scan,
    now: Timestamp,
) -> Result<usize, StoreError> {
    let mut waiting = 0;
    for (agent, log) in logs {
        let Some(stamp) = Stamp::of(&log.path) else { continue };
        let Some(changed) = stamp.changed_at() else { continue };
        let age = now.duration_since(changed);
        let is_wanted =
            (scan.idle..scan.max_age).contains(&age) && (scan.subagents || !is_of_subagent(&agent, &log.path));
        if !is_wanted || !is_new(store, &log.path, &stamp)? {
            continue;
        }
        if let Some(request) = request_for(&agent, &log.path, None, now) {
            waiting += usize::from(store.enqueue(&request, now)? == Enqueued::Waiting);
        }
    }
    Ok(waiting)
}

fn is_of_subagent(agent: &str, log: &Path) -> bool {
    agent.parse::<Agent>().is_ok_and(|agent| is_subagents(agent, log))
}

/// Sessions that are older than this are left to `run`.
const MAX_AGE: SignedDuration = SignedDuration::from_hours(24 * 14);
/// Most sessions that one sweep puts in line.
const MAX_SESSIONS: usize = 10;
/// Most files that one sweep looks at.
const MAX_FILES: usize = 2_000;
/// Most time that one sweep takes.
const MAX_TIME: Duration = Duration::from_millis(150);
/// How much of a log is read to tell where it was held, in bytes.
const HEAD: usize = 8 * 1024;

/// Puts the sessions of the same project in line that were missed; returns how many.
pub(super) fn missed(store: &Store, call: &Call, now: Timestamp) -> Result<usize, HookError> {
    let begun = Instant::now();
    let Some(current) = call.input.transcript.as_deref() else { return Ok(0) };
    let mut found = 0;
    for (log, changed) in candidates(call.agent, current) {
        if found >= MAX_SESSIONS || begun.elapsed() > MAX_TIME {
            break;
        }
        let age = Timestamp::try_from(changed).map_or(SignedDuration::ZERO, |changed| now.duration_since(changed));
        let is_wanted = (IDLE..MAX_AGE).contains(&age)
            && path_key(&log) != path_key(current)
            && (call.subagents || !is_subagents(call.agent, &log));
        let stamp = if is_wanted && is_of_project(call, &log) { Stamp::of(&log) } else { None };
        if let Some(stamp) = stamp
            && is_new(store, &log, &stamp)?
        {
            let request = request_for(call.agent.as_str(), &log, call.input.cwd.as_deref(), now);
            if let Some(request) = request
                && store.enqueue(&request, now)? == Enqueued::Waiting
            {
                found += 1;
            }
        }
    }
    Ok(found)
}

/// Returns logs beside the current one, the last changed first.
fn candidates(agent: Agent, current: &Path) -> Vec<(PathBuf, SystemTime)> {
    let Some(folder) = current.parent() else { return Vec::new() };
    let folders = match agent {
        // A folder for each project.
        Agent::ClaudeCode => vec![folder.to_owned()],
        // A folder for each day, below those of months and years.
        Agent::Codex => days(folder),
    };
    let mut found: Vec<(PathBuf, SystemTime)> = folders
        .iter()
        .flat_map(|folder| fs::read_dir(folder).into_iter().flatten().flatten())
        .take(MAX_FILES)
        .filter(|entry| entry.path().extension().is_some_and(|ending| ending == "jsonl"))
        .filter_map(|entry| Some((entry.path(), entry.metadata().ok()?.modified().ok()?)))
        .collect();
    found.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    found
}

/// Returns the folders of the last days up to that of the current session.
fn days(day: &Path) -> Vec<PathBuf> {
    let Some(root) = day.ancestors().nth(3) else { return vec![day.to_owned()] };
    let names = |folder: &Path| {
        let mut below: Vec<PathBuf> = fs::read_dir(folder)
            .into_iter()
            .flatten()
            .flatten()
            .map(|entry| entry.path())
            .filter(|path| path.is_dir())
            .collect();
        below.sort_by(|a, b| b.cmp(a));
        below
    };
    let years = names(root).into_iter().take(2);
    let months = years.flat_map(|year| names(&year)).take(2);
    months.flat_map(|month| names(&month)).take(14).collect()
}

/// Whether the session was held in the project; agents that keep a folder for each project say so by the folder.
fn is_of_project(call: &Call, log: &Path) -> bool {
    let Some(cwd) = call.input.cwd.as_deref().and_then(Path::to_str).filter(|_| call.agent == Agent::Codex) else {
        return true;
    };
    let mut head = vec![0; HEAD];
    let read = fs::File::open(log).and_then(|mut file| std::io::Read::read(&mut file, &mut head)).unwrap_or(0);
    let head = String::from_utf8_lossy(&head[..read]);
    serde_json::to_string(cwd).is_ok_and(|cwd| head.contains(&format!("\"cwd\":{cwd}")))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::config::MemorySettings;
    use crate::guard::Guard;
    use crate::serve::hook::{Event, Input};
    use crate::store::{JobEnd, JobStatus};

    #[test]
    fn logs_of_subagents_are_told_by_their_names() {
        let is = |path: &str| is_subagents(Agent::ClaudeCode, Path::new(path));
        assert!(is("/p/agent-a1b2.jsonl") && is("/p/5f0c/subagents/x.jsonl"));
        assert!(!is("/p/5f0c2a9e.jsonl") && !is_subagents(Agent::Codex, Path::new("/p/agent-a.jsonl")));
    }

    #[test]
    fn a_log_that_is_not_there_is_no_work() {
        assert_eq!(request_for("codex", Path::new("/none/such.jsonl"), None, Timestamp::UNIX_EPOCH), None);
        assert_eq!(request_for("codex", &std::env::temp_dir(), None, Timestamp::UNIX_EPOCH), None);
    }

    #[test]
    fn a_log_is_taken_once_it_has_come_to_rest_and_again_when_it_grew() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("a.jsonl");
        let store = Store::in_memory().unwrap();
        let terms =
            Scan { idle: SignedDuration::from_mins(10), max_age: SignedDuration::from_hours(24), subagents: false };
        let set = |text: &str, minutes: u64| {
            fs::write(&log, text).unwrap();
            let at = std::time::SystemTime::now() - std::time::Duration::from_secs(minutes * 60);
            fs::File::options().write(true).open(&log).unwrap().set_modified(at).unwrap();
        };
        let look = || {
            let logs = vec![("claude-code".to_owned(), Found { path: log.clone(), named: false })];
            scan(&store, logs, &terms, Timestamp::now()).unwrap()
        };
        set("a", 5);
        assert_eq!(look(), 0, "it may go on");
        set("a", 60 * 30);
        assert_eq!(look(), 0, "of long ago");
        set("a", 15);
        assert_eq!(look(), 1);
        let held = store.claim_job(Timestamp::now()).unwrap().unwrap();
        store.finish_job(&held, JobEnd::Done, Timestamp::now()).unwrap();
        assert_eq!(look(), 0, "it is done");
        set("ab", 11);
        assert_eq!(look(), 1);
        assert_eq!(store.jobs().unwrap()[0].status, JobStatus::Waiting);
        fs::rename(&log, folder.path().join("agent-a.jsonl")).unwrap();
        let logs = vec![("claude-code".to_owned(), Found { path: folder.path().join("agent-a.jsonl"), named: false })];
        assert_eq!(scan(&store, logs, &terms, Timestamp::now()).unwrap(), 0, "of a sub-agent");
    }

    fn call(agent: Agent, current: &Path, cwd: &str) -> Call {
        let input = Input { transcript: Some(current.to_owned()), cwd: Some(cwd.into()), ..Input::default() };
        Call {
            agent,
            event: Event::SessionStart,
            input,
            database: PathBuf::new(),
            namespace: None,
            categories: Vec::new(),
            memory: MemorySettings::default(),
            guard: Guard::default(),
            vectors: None,
            subagents: false,
        }
    }

    fn write(path: &Path, text: &str, minutes: u64) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        let at = SystemTime::now() - Duration::from_secs(minutes * 60);
        fs::File::options().write(true).open(path).unwrap().set_modified(at).unwrap();
    }

    fn found(store: &Store) -> Vec<String> {
        let name = |path: String| Path::new(&path).file_stem().unwrap().to_str().unwrap().to_owned();
        let mut names: Vec<String> = store.jobs().unwrap().into_iter().map(|job| name(job.path)).collect();
        names.sort();
        names
    }

    #[test]
    fn sessions_of_other_days_are_found_by_the_folder_in_their_first_line() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join("sessions").join(name);
        let head =
            |cwd: &str| format!("{{\"type\":\"session_meta\",\"payload\":{{\"id\":\"1\",\"cwd\":\"{cwd}\"}}}}\n");
        write(&at("2026/10/31/a.jsonl"), &head("/home/ana/shop"), 60);
        write(&at("2026/11/02/b.jsonl"), &head("/home/ana/shop"), 30);
        write(&at("2026/11/02/other.jsonl"), &head("/home/ana/shop-2"), 30);
        write(&at("2026/11/02/old.jsonl"), &head("/home/ana/shop"), 60 * 24 * 20);
        write(&at("2026/11/02/fresh.jsonl"), &head("/home/ana/shop"), 3);
        let current = at("2026/11/03/now.jsonl");
        write(&current, &head("/home/ana/shop"), 0);
        let store = Store::in_memory().unwrap();
        let call = call(Agent::Codex, &current, "/home/ana/shop");
        assert_eq!(missed(&store, &call, Timestamp::now()).unwrap(), 2);
        assert_eq!(found(&store), ["a", "b"]);
    }

    #[test]
    fn only_so_many_sessions_are_taken_at_once_and_the_last_ones_first() {
        let folder = tempfile::tempdir().unwrap();
        for number in 0..15 {
            write(&folder.path().join(format!("s{number:02}.jsonl")), "x", 20 + number);
        }
        let store = Store::in_memory().unwrap();
        let call = call(Agent::ClaudeCode, &folder.path().join("now.jsonl"), "/home/ana/shop");
        assert_eq!(missed(&store, &call, Timestamp::now()).unwrap(), MAX_SESSIONS);
        assert_eq!(found(&store).first().map(String::as_str), Some("s00"));
        assert!(!found(&store).contains(&"s14".to_owned()));
        let nobody = Call { input: Input::default(), ..call };
        assert_eq!(missed(&store, &nobody, Timestamp::now()).unwrap(), 0);
    }
}
