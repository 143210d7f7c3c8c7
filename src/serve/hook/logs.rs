//! Queues session logs for extraction: the log of an event, and the logs of sessions whose end was missed.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use jiff::{SignedDuration, Timestamp};

use super::{Agent, Event, HookCall, HookError};
use crate::api::{Memories, Stamp, is_subagents, path_key, request_for};
use crate::config::ExtractionMode;

/// Time for which a conversation must have been inactive before it is extracted, unless its end was reported.
pub(super) const IDLE: SignedDuration = SignedDuration::from_mins(10);

/// Queues the log of the event, and returns whether a log is now waiting.
///
/// At the end of a session, its log is due immediately. During the session, each answer from the agent postpones the
/// log. Before a compaction, the log is due immediately, so that the agent can be reminded of the text that it is about
/// to lose.
pub(super) fn enqueue(memories: &Memories, call: &HookCall, now: Timestamp) -> Result<bool, HookError> {
    let input = &call.input;
    let is_subagent = call.event == Event::SubagentStop || input.subagent.is_some();
    if is_subagent && !call.subagents || !reads(call) {
        return Ok(false);
    }
    let log = if is_subagent { input.subagent_transcript.as_ref() } else { input.transcript.as_ref() };
    let mode = call.config.memory.extraction.extraction_mode.value;
    let is_due = matches!(call.event, Event::SessionEnd | Event::PreCompact | Event::SubagentStop)
        || call.event == Event::Stop && mode == ExtractionMode::DuringConversation;
    let not_before = if is_due { now } else { now + IDLE };
    let request = log.and_then(|log| request_for(call.agent.as_str(), log, input.cwd.as_deref(), not_before));
    let Some(request) = request else { return Ok(false) };
    Ok(memories.enqueue(&request, now)?)
}

/// Returns whether conversations are read automatically.
pub(super) const fn reads(call: &HookCall) -> bool {
    call.config.memory.enabled.value && call.config.memory.extraction.auto_extract.value
}

/// Maximum age of a session that is queued; older sessions are extracted only by `run`.
const MAX_AGE: SignedDuration = SignedDuration::from_hours(24 * 14);
/// Maximum number of sessions that one sweep queues.
const MAX_SESSIONS: usize = 10;
/// Maximum number of files that one sweep inspects.
const MAX_FILES: usize = 2_000;
/// Maximum duration of one sweep.
// The agent waits for the hook during the sweep.
const MAX_TIME: Duration = Duration::from_millis(150);
/// Number of bytes of a log that are read to find its working directory.
const HEAD: usize = 8 * 1024;

/// Queues missed sessions of the same project, and returns the number of queued sessions.
pub(super) fn missed(memories: &Memories, call: &HookCall, now: Timestamp) -> Result<usize, HookError> {
    let begun = Instant::now();
    let Some(current) = call.input.transcript.as_deref() else { return Ok(0) };
    let mut found = 0;
    for (log, changed) in candidates(call.agent, current) {
        if found >= MAX_SESSIONS || begun.elapsed() > MAX_TIME {
            break;
        }
        let age = Timestamp::try_from(changed).map_or(SignedDuration::ZERO, |changed| now.duration_since(changed));
        // Two paths may refer to the same log, so their keys are compared.
        let is_wanted = (IDLE..MAX_AGE).contains(&age)
            && path_key(&log) != path_key(current)
            && (call.subagents || !is_subagents(call.agent.as_str(), &log));
        let stamp = if is_wanted && is_of_project(call, &log) { Stamp::of(&log) } else { None };
        if let Some(stamp) = stamp
            && memories.is_unread(&log, &stamp)?
        {
            let request = request_for(call.agent.as_str(), &log, call.input.cwd.as_deref(), now);
            if let Some(request) = request
                && memories.enqueue(&request, now)?
            {
                found += 1;
            }
        }
    }
    Ok(found)
}

/// Returns the logs next to the current log, most recently modified first.
fn candidates(agent: Agent, current: &Path) -> Vec<(PathBuf, SystemTime)> {
    let Some(folder) = current.parent() else { return Vec::new() };
    let folders = match agent {
        // Claude Code has a folder for each project.
        Agent::ClaudeCode => vec![folder.to_owned()],
        // Codex has a folder for each day, inside folders for months and years.
        Agent::Codex => days(folder),
    };
    let mut found: Vec<(PathBuf, SystemTime)> = folders
        .iter()
        .flat_map(|folder| fs::read_dir(folder).into_iter().flatten().flatten())
        .take(MAX_FILES)
        .filter(|entry| entry.path().extension().is_some_and(|ending| ending == "jsonl"))
        .filter_map(|entry| Some((entry.path(), entry.metadata().ok()?.modified().ok()?)))
        .collect();
    // The newest come first, because the number of queued logs is limited.
    found.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    found
}

/// Returns the folders of the most recent days, up to the day of the current session.
fn days(day: &Path) -> Vec<PathBuf> {
    // The folder of a day is in the folder of its month, which is in the folder of its year.
    let Some(root) = day.ancestors().nth(3) else { return vec![day.to_owned()] };
    let names = |folder: &Path| {
        let mut below: Vec<PathBuf> = fs::read_dir(folder)
            .into_iter()
            .flatten()
            .flatten()
            .map(|entry| entry.path())
            .filter(|path| path.is_dir())
            .collect();
        // Years, months and days are padded with zeros, so the order of names is chronological.
        below.sort_by(|a, b| b.cmp(a));
        below
    };
    // The last fourteen days may begin in the previous month or year.
    let years = names(root).into_iter().take(2);
    let months = years.flat_map(|year| names(&year)).take(2);
    months.flat_map(|month| names(&month)).take(14).collect()
}

/// Returns whether the session belongs to the project. For agents with one folder per project, the folder shows this.
fn is_of_project(call: &HookCall, log: &Path) -> bool {
    // Codex keeps the sessions of all projects together, so only their content shows the project.
    let Some(cwd) = call.input.cwd.as_deref().and_then(Path::to_str).filter(|_| call.agent == Agent::Codex) else {
        return true;
    };
    let mut head = vec![0; HEAD];
    let read = fs::File::open(log).and_then(|mut file| std::io::Read::read(&mut file, &mut head)).unwrap_or(0);
    // The head may end inside a character, which does not matter here.
    let head = String::from_utf8_lossy(&head[..read]);
    // The path is compared in its JSON spelling, because the log escapes backslashes and quotes.
    serde_json::to_string(cwd).is_ok_and(|cwd| head.contains(&format!("\"cwd\":{cwd}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Config, Folders, Partial};
    use crate::serve::hook::Input;

    fn call(agent: Agent, current: &Path, cwd: &str) -> HookCall {
        let input = Input { transcript: Some(current.to_owned()), cwd: Some(cwd.into()), ..Input::default() };
        let folders = Folders {
            user_file: "/nowhere/config.toml".into(),
            default_db: "memory:".into(),
            state: "/nowhere".into(),
        };
        let config = Config::load(&folders, Path::new("/nowhere"), None, &|_| None, Partial::default()).unwrap();
        HookCall { agent, event: Event::SessionStart, input, config, vectors: None, subagents: false }
    }

    fn memories(call: &HookCall) -> Memories {
        Memories::builder().config(call.config.clone()).open().unwrap()
    }

    fn write(path: &Path, text: &str, minutes: u64) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        let at = SystemTime::now() - Duration::from_secs(minutes * 60);
        fs::File::options().write(true).open(path).unwrap().set_modified(at).unwrap();
    }

    fn found(memories: &Memories) -> Vec<String> {
        let name = |path: String| Path::new(&path).file_stem().unwrap().to_str().unwrap().to_owned();
        let mut names: Vec<String> =
            memories.storage().as_store().unwrap().jobs().unwrap().into_iter().map(|job| name(job.path)).collect();
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
        let call = call(Agent::Codex, &current, "/home/ana/shop");
        let memories = memories(&call);
        assert_eq!(missed(&memories, &call, Timestamp::now()).unwrap(), 2);
        assert_eq!(found(&memories), ["a", "b"]);
    }

    #[test]
    fn only_so_many_sessions_are_taken_at_once_and_the_last_ones_first() {
        let folder = tempfile::tempdir().unwrap();
        for number in 0..15 {
            write(&folder.path().join(format!("s{number:02}.jsonl")), "x", 20 + number);
        }
        let call = call(Agent::ClaudeCode, &folder.path().join("now.jsonl"), "/home/ana/shop");
        let memories = memories(&call);
        assert_eq!(missed(&memories, &call, Timestamp::now()).unwrap(), MAX_SESSIONS);
        assert_eq!(found(&memories).first().map(String::as_str), Some("s00"));
        assert!(!found(&memories).contains(&"s14".to_owned()));
        let nobody = HookCall { input: Input::default(), ..call };
        assert_eq!(missed(&memories, &nobody, Timestamp::now()).unwrap(), 0);
    }
}
