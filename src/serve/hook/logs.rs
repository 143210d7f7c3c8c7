//! The logs of sessions, as work that waits.

use std::path::Path;

use jiff::{SignedDuration, Timestamp};

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

#[cfg(test)]
mod tests {
    use super::*;

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
}
