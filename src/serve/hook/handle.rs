//! Handles each hook event.

use std::cell::RefCell;
use std::path::Path;

use jiff::Timestamp;

use super::input::Answer;
use super::worker::WORKER_LEASE;
use super::{Call, Event, HookError, LINGER, Session, fixes, logs, prompt};
use crate::embed::EmbedError;
use crate::memory::Namespace;
use crate::project::Machine;
use crate::search::brief::{BriefRequest, Counting, compose, note_shown};
use crate::store::{Database, Store, StoreError};

/// What is left to the caller.
#[derive(Debug, Default)]
pub struct After {
    /// Whether there is work and nobody at it.
    pub wants_worker: bool,
    /// Why something was looked for by words alone though vectors are configured.
    pub without_meaning: Option<EmbedError>,
}

/// Does what an event leads to. `say` is told the answer, if there is one, as soon as it is known; what comes after that
/// may be cut short without harm.
///
/// # Errors
/// [`HookError`] if something could not be done; what was said holds.
pub fn handle(call: &Call, now: Timestamp, say: &mut dyn FnMut(Answer)) -> Result<After, HookError> {
    // Of a sub-agent, only the end is of interest, and only by option.
    let is_subagents = call.input.subagent.is_some() && call.event != Event::SubagentStop;
    if is_subagents && !call.subagents {
        return Ok(After::default());
    }
    let store = match Store::open(&call.database) {
        Ok(store) => store.with_guard(call.guard.clone()),
        Err(error) => return without_writing(call, now, say, error),
    };
    let mut has_decided = false;
    let done = answer(&store, call, now, &mut |answer| {
        has_decided = matches!(answer, Answer::Block(_));
        say(answer);
    });
    if !has_decided {
        // Notes only, for which nobody waits until a disk has them. What a person has decided is made sure.
        store.leave_log()?;
    }
    // Notes are made after what matters, and are no reason to fail.
    let noted = store.hook_fired(call.agent.as_str(), call.event.as_str(), now);
    let after = done?;
    noted?;
    let wants_worker = match call.event {
        Event::SessionStart | Event::Stop | Event::SubagentStop | Event::PreCompact | Event::SessionEnd => {
            is_unattended(&store, now)?
        }
        Event::UserPromptSubmit => after.wants_worker && store.lease_holder(WORKER_LEASE, now)?.is_none(),
        Event::PreToolUse | Event::PostToolUse | Event::PostToolUseFailure => false,
    };
    Ok(After { wants_worker, ..after })
}

fn answer(store: &Store, call: &Call, now: Timestamp, say: &mut dyn FnMut(Answer)) -> Result<After, HookError> {
    let id = call.input.session.as_deref().unwrap_or_default();
    let session = || -> Result<Session<'_>, HookError> {
        let (namespaces, without_meaning) = (namespaces(store, call)?, RefCell::default());
        Ok(Session { store, call, id, namespaces, now, without_meaning })
    };
    let mut after = After::default();
    let said = match call.event {
        Event::SessionStart => {
            session_start(store, call, id, now, say)?;
            None
        }
        Event::UserPromptSubmit => {
            let session = session()?;
            let said = prompt::submitted(&session)?;
            // What was just remembered waits for its vector.
            let has_new = matches!(said, Some(Answer::Block(_))) && call.vectors.is_some();
            after = After { wants_worker: has_new, without_meaning: session.without_meaning.into_inner() };
            said
        }
        // What a person asks for is done all the same.
        Event::PreToolUse | Event::PostToolUse | Event::PostToolUseFailure if !call.memory.enabled.value => None,
        Event::PreToolUse => fixes::about_to_be_used(&session()?)?,
        Event::PostToolUse | Event::PostToolUseFailure => fixes::used(&session()?)?,
        Event::Stop | Event::SubagentStop | Event::PreCompact | Event::SessionEnd => {
            logs::enqueue(store, call, now)?;
            None
        }
    };
    said.into_iter().for_each(say);
    Ok(after)
}

/// Tells the brief, then puts sessions in line that were missed.
fn session_start(
    store: &Store,
    call: &Call,
    session: &str,
    now: Timestamp,
    say: &mut dyn FnMut(Answer),
) -> Result<(), HookError> {
    let told = brief(store, call, now, say)?;
    if call.input.source.as_deref().is_some_and(|source| matches!(source, "clear" | "compact")) {
        store.forget_told(session)?;
    }
    let ids: Vec<_> = told.shown.iter().map(|shown| shown.memory.id.clone()).collect();
    store.told(session, &ids, now)?;
    // A log of what was told that cannot be written is no reason to stop.
    let _ = note_shown(store, &told, now);
    if logs::reads(call) {
        logs::missed(store, call, now)?;
    }
    Ok(())
}

fn brief(
    db: &Database,
    call: &Call,
    now: Timestamp,
    say: &mut dyn FnMut(Answer),
) -> Result<crate::search::brief::Brief, HookError> {
    // To load the encoding would take longer than all else together.
    let counting = Counting::Estimated;
    let request = BriefRequest { counting, ..BriefRequest::of(&call.memory, namespaces(db, call)?, None) };
    let brief = compose(db, &request, now)?;
    if !brief.text.is_empty() {
        say(Answer::Context(brief.text.clone()));
    }
    Ok(brief)
}

/// Where nothing can be written, what is known can still be told.
fn without_writing(
    call: &Call,
    now: Timestamp,
    say: &mut dyn FnMut(Answer),
    error: StoreError,
) -> Result<After, HookError> {
    if call.event == Event::SessionStart && matches!(error, StoreError::Unwritable { .. } | StoreError::Folder { .. }) {
        brief(&*Store::open_read_only(&call.database)?, call, now, say)?;
    }
    Err(error.into())
}

/// Returns where the memories of a session lie: its project and what holds everywhere. Nothing is remembered of a folder
/// that is seen for the first time.
fn namespaces(db: &Database, call: &Call) -> Result<Vec<Namespace>, StoreError> {
    if let Some(namespace) = &call.namespace {
        return Ok(vec![namespace.clone()]);
    }
    let global = Namespace::global();
    let folder = call.input.cwd.as_deref().and_then(Path::to_str);
    let Some(sighting) = folder.and_then(|folder| Machine::this().sight_path(folder)) else {
        return Ok(vec![global]);
    };
    Ok(vec![db.placement(&sighting)?.namespace, global])
}

/// Whether work comes up within the time that a worker stays for, and nobody is at it.
fn is_unattended(store: &Store, now: Timestamp) -> Result<bool, StoreError> {
    let soon = store.next_job_at(now)?.is_some_and(|at| at <= now + LINGER);
    Ok(soon && store.lease_holder(WORKER_LEASE, now)?.is_none())
}
