//! An agent's session: the memories shown in it, and the records about it.

use std::path::Path;

use jiff::Timestamp;

use crate::embed::EmbedError;
#[cfg(any(feature = "cli", feature = "serve"))]
use crate::memory::Task;
use crate::memory::{Memory, MemoryId};
use crate::pipeline::{Stamp, is_unread};
use crate::search::brief::{self, Brief, BriefRequest, Counting};
use crate::search::{Direct, Found, FoundTask, direct, search_tasks};
use crate::store::{
    Database, EnqueueOutcome, FailedCommand, Filter, JobRequest, NamespaceSubtree, Step, Store, StoreError,
};
use crate::text::shell::signature;
use crate::text::tokens::is_general;
use crate::work::act::{ACTION_TOKENS, Fact, PROMPT_TOKENS, few};
use crate::work::command::{error_line, tidied};
use crate::work::{self, FileUsage, KnownError, Usage, fixes};

use super::{ApiError, Memories};

/// Maximum number of memories that are shown with a prompt.
// Every line takes up space in the agent's context with each prompt.
const MAX_SHOWN: usize = 5;
/// Minimum number of words that a memory must share with a prompt to be shown with it.
// In a prompt of dozens of words, a single word in common may be a coincidence.
const MIN_SHARED: usize = 2;
/// Maximum number of words to search for in a short prompt, and minimum share of them that a memory must contain.
// "Where is our API deployed?" has two words to search for. A memory with both answers the question.
const SHORT_PROMPT: usize = 6;
const MIN_SHARE: f64 = 0.66;
/// Minimum relevance, relative to the best hit, whose relevance is 1.
const MIN_RELEVANCE: f64 = 0.35;
/// Maximum length of a query, in bytes; only the beginning of a longer prompt is used.
// For a pasted log, thousands of words would otherwise be looked up while the person waits.
const MAX_QUERY: usize = 2_000;

/// An agent's session, with memories that are limited to the session's namespaces.
#[derive(Debug)]
pub(crate) struct Session<'a> {
    memories: &'a Memories,
    store: &'a Store,
    agent: &'a str,
    id: &'a str,
    now: Timestamp,
}

impl Memories {
    /// Returns the session of `agent` with the id `id`, at the time `now`.
    ///
    /// # Errors
    /// [`ApiError::NoLedger`] if the storage is not a database.
    pub(crate) fn session<'a>(&'a self, agent: &'a str, id: &'a str, now: Timestamp) -> Result<Session<'a>, ApiError> {
        Ok(Session { memories: self, store: self.ledger("follow a session")?, agent, id, now })
    }

    /// Queues the log of a conversation for extraction, and returns whether the log is now waiting.
    ///
    /// # Errors
    /// [`ApiError`] if the database cannot be written.
    pub(crate) fn enqueue(&self, request: &JobRequest, now: Timestamp) -> Result<bool, ApiError> {
        Ok(self.ledger(QUEUE)?.enqueue(request, now)? == EnqueueOutcome::Waiting)
    }

    /// Whether neither a job nor a run has read the log in its current state.
    ///
    /// # Errors
    /// [`ApiError`] if the database cannot be read.
    pub(crate) fn is_unread(&self, log: &Path, stamp: &Stamp) -> Result<bool, ApiError> {
        Ok(is_unread(self.ledger(QUEUE)?, log, stamp)?)
    }

    /// Returns when the next job is due.
    ///
    /// # Errors
    /// [`ApiError`] if the database cannot be read.
    pub(crate) fn next_job_at(&self, now: Timestamp) -> Result<Option<Timestamp>, ApiError> {
        Ok(self.ledger(QUEUE)?.next_job_at(now)?)
    }

    /// Returns the process that has the lease `name`.
    ///
    /// # Errors
    /// [`ApiError`] if the database cannot be read.
    pub(crate) fn lease_holder(&self, name: &str, now: Timestamp) -> Result<Option<u32>, ApiError> {
        Ok(self.ledger(QUEUE)?.lease_holder(name, now)?)
    }
}

const QUEUE: &str = "queue conversations";

impl Session<'_> {
    /// Returns the brief with which the session begins.
    ///
    /// # Errors
    /// [`ApiError`] if the database cannot be read.
    pub(crate) fn brief(&self) -> Result<Brief, ApiError> {
        // Loading the token encoding would take longer than all other steps together.
        let request = BriefRequest { counting: Counting::Estimated, ..self.memories.brief_request(None)? };
        Ok(self.memories.composed(self.store, &request, None, self.now)?.0)
    }

    /// Records that a brief was shown. If the context was `cleared`, memories shown before no longer count as shown.
    ///
    /// # Errors
    /// [`ApiError`] if the database cannot be written.
    pub(crate) fn brief_shown(&self, brief: &Brief, cleared: bool) -> Result<(), ApiError> {
        // The model no longer sees the memories shown before, so they may be shown again.
        if cleared {
            self.store.forget_shown(self.id)?;
        }
        let ids: Vec<MemoryId> = brief.shown.iter().map(|shown| shown.memory.id.clone()).collect();
        self.store.memories_shown(self.id, &ids, self.now)?;
        // A failure to log the brief is ignored.
        let _ = brief::note_shown(self.store, brief, self.now);
        Ok(())
    }

    /// Returns the memories, often none, that are relevant to a prompt and have not been shown in the session yet, and
    /// records them as shown. If the search used words alone, the reason is returned as well.
    ///
    /// # Errors
    /// [`ApiError`] if the memories cannot be read or recorded as shown.
    pub(crate) fn relevant(&self, prompt: &str) -> Result<(Vec<Memory>, Option<EmbedError>), ApiError> {
        let query = &prompt[..prompt.floor_char_boundary(MAX_QUERY)];
        let shown = self.store.shown_in(self.id, Timestamp::UNIX_EPOCH)?;
        let retrieval = &self.memories.config.memory.retrieval;
        let most = match retrieval.max_memories_in_prompt.value {
            0 => MAX_SHOWN,
            most => most.min(MAX_SHOWN),
        };
        let filter = self.memories.confined(Filter {
            types: retrieval.included_types.value.clone(),
            min_importance: Some(retrieval.min_importance_for_retrieval.value),
            ..Filter::default()
        })?;
        let vectors = self.memories.vectors.as_deref();
        // More memories are requested than will be shown, since memories that were shown before are left out below.
        let Direct { found, stand_out, without_meaning } =
            direct(self.store, query, &filter, MAX_SHOWN * 2 + shown.len(), vectors, self.now)?;
        let asked = Database::words_of(query).len();
        let answers = |hit: &Found| asked <= SHORT_PROMPT && has_most_words(hit, asked);
        let names_subject = |hit: &Found| hit.matched.iter().any(|word| is_counted(word, 3) && !is_general(word));
        let by_words = |hit: &Found| {
            let is_similar = shared(hit, 4) >= MIN_SHARED && hit.score.relevance >= MIN_RELEVANCE;
            (is_similar || answers(hit)) && names_subject(hit)
        };
        let bears = |hit: &Found| by_words(hit) || stand_out.contains(&hit.memory.id);
        let found = found.into_iter().filter(|hit| bears(hit) && !shown.contains(&hit.memory.id));
        let fresh: Vec<Memory> = found.take(most).map(|hit| hit.memory).collect();
        self.record_shown(&fresh)?;
        Ok((fresh, without_meaning))
    }

    /// Returns memories that match a query, best first. If the search used words alone, the reason is returned as well.
    ///
    /// # Errors
    /// [`ApiError`] if the memories cannot be read.
    pub(crate) fn recall(&self, query: &str, limit: usize) -> Result<(Vec<Memory>, Option<EmbedError>), ApiError> {
        let filter = self.memories.confined(Filter::default())?;
        let vectors = self.memories.vectors.as_deref();
        let Direct { found, without_meaning, .. } = direct(self.store, query, &filter, limit, vectors, self.now)?;
        Ok((found.into_iter().map(|hit| hit.memory).collect(), without_meaning))
    }

    /// Returns memories that contain the words of `text`, best first. Only words are searched, because the person did
    /// not name memories with merely a similar meaning.
    ///
    /// # Errors
    /// [`ApiError`] if the memories cannot be read.
    pub(crate) fn matching(&self, text: &str, limit: usize) -> Result<Vec<Memory>, ApiError> {
        let filter = self.memories.confined(Filter::default())?;
        let found = direct(self.store, text, &filter, limit, None, self.now)?.found;
        Ok(found.into_iter().map(|hit| hit.memory).collect())
    }

    /// Records that a command failed, with its output, and returns what resolved such a failure before.
    ///
    /// # Errors
    /// [`ApiError`] if the failure cannot be written or its remedies cannot be read.
    pub(crate) fn command_failed(&self, command: &str, printed: &str, call: &str) -> Result<Vec<String>, ApiError> {
        let Some(error) = error_line(printed) else { return Ok(Vec::new()) };
        let Some((signature, shown)) = signature(command).zip(tidied(command)) else { return Ok(Vec::new()) };
        let failed =
            FailedCommand { signature, command: shown, error, call: call.to_owned(), steps: Vec::new(), at: self.now };
        // The command and its output are stored, and either may contain a secret.
        let (failed, _) = self.memories.guard.redact(failed);
        let error = work::error_signature(&failed.error);
        self.store.acted(self.id, &failed.signature, Some(&error))?;
        self.store.command_failed(self.id, &failed, self.now)?;
        let shown = self.store.shown_in(self.id, self.now - fixes::COOLDOWN)?;
        let remedies = self.with(|session| fixes::known(self.store, session.namespaces, &failed, &shown, self.now))?;
        self.record_shown(&remedies)?;
        let (mut ids, mut lines): (Vec<MemoryId>, Vec<String>) =
            remedies.into_iter().map(|memory| (memory.id, memory.claim.content)).unzip();
        if lines.is_empty() {
            let known = self.with(|session| session.after_failure(command, printed))?;
            let facts = self.unseen(known.into_iter().collect(), ACTION_TOKENS)?;
            (ids, lines) = facts.into_iter().map(|fact| (fact.id(), fact.text)).unzip();
        }
        if !ids.is_empty() {
            self.store.advised(self.id, &ids, &failed.signature, &error)?;
        }
        Ok(lines)
    }

    /// Records that a command succeeded and, if it is clear what resolved its earlier failure, stores the remedy.
    ///
    /// # Errors
    /// [`ApiError`] if the database cannot be written.
    pub(crate) fn command_succeeded(&self, command: &str) -> Result<(), ApiError> {
        let open = self.store.failed_commands(self.id)?;
        let Some(command) = tidied(command).filter(|_| !open.is_empty()) else { return Ok(()) };
        let (command, _) = self.memories.guard.redact(command);
        let (name, categories) = (signature(&command), &self.memories.config.categories.value);
        for failed in open.iter().filter(|failed| Some(&failed.signature) == name.as_ref()) {
            self.store.acted(self.id, &failed.signature, None)?;
            self.with(|session| fixes::store_remedy(session, categories, failed, &command))?;
            // The failure is closed once it is resolved, so that a later success does not store the remedy again.
            self.store.close_failure(self.id, &failed.signature)?;
        }
        self.record_step(Step::Ran(command.into_inner()))
    }

    /// Records that a file was edited.
    ///
    /// # Errors
    /// [`ApiError`] if the database cannot be written.
    pub(crate) fn file_edited(&self, file: &str) -> Result<(), ApiError> {
        self.record_step(Step::Edited(file.to_owned()))
    }

    /// Returns warnings about a command that is about to run: that it fails, what works instead, or a convention.
    ///
    /// # Errors
    /// [`ApiError`] if the facts cannot be read or recorded as shown.
    pub(crate) fn warnings(&self, command: &str) -> Result<Vec<String>, ApiError> {
        let mut lines = Vec::new();
        if let Some(command) = tidied(command) {
            let shown = self.store.shown_in(self.id, self.now - fixes::COOLDOWN)?;
            let known =
                self.with(|session| fixes::warnings(self.store, session.namespaces, &command, &shown, self.now))?;
            self.record_shown(&known)?;
            lines.extend(known.into_iter().map(|memory| memory.claim.content));
        }
        if lines.is_empty() {
            let facts = self.unseen(self.with(|session| session.before_command(command))?, ACTION_TOKENS)?;
            lines.extend(facts.into_iter().map(|fact| fact.text));
        }
        Ok(lines)
    }

    /// Returns what earlier sessions learnt about a file that is about to be changed.
    ///
    /// # Errors
    /// [`ApiError`] if the facts cannot be read or recorded as shown.
    pub(crate) fn before_edit(&self, file: &str, folder: Option<&Path>) -> Result<Vec<String>, ApiError> {
        let paths = spellings(file, folder);
        let facts = self.unseen(self.with(|session| session.before_edit(&paths))?, ACTION_TOKENS)?;
        Ok(facts.into_iter().map(|fact| fact.text).collect())
    }

    /// Returns how earlier sessions called the programs that a shell script calls.
    ///
    /// # Errors
    /// [`ApiError`] if the facts cannot be read or recorded as shown.
    pub(crate) fn before_script(&self, script: &str) -> Result<Vec<String>, ApiError> {
        let facts = self.unseen(self.with(|session| session.on_script(script))?, PROMPT_TOKENS)?;
        Ok(facts.into_iter().map(|fact| fact.text).collect())
    }

    /// Returns what the ledger contains about a prompt: how earlier sessions called the programs that it names, and
    /// what was said about its subject.
    ///
    /// # Errors
    /// [`ApiError`] if the facts cannot be read or recorded as shown.
    pub(crate) fn on_prompt(&self, prompt: &str) -> Result<Vec<String>, ApiError> {
        let known = self.with(|session| -> Result<_, StoreError> {
            let mut facts = session.on_prompt(prompt)?;
            facts.extend(session.on_subject(prompt)?);
            Ok(facts)
        })?;
        let facts = self.unseen(known, PROMPT_TOKENS)?;
        Ok(facts.into_iter().map(|fact| fact.text).collect())
    }

    /// Returns the facts that have not been shown in the session yet, at most `most` tokens, and records them as shown.
    fn unseen(&self, facts: Vec<Fact>, most: usize) -> Result<Vec<Fact>, ApiError> {
        if facts.is_empty() {
            return Ok(Vec::new());
        }
        let shown = self.store.shown_in(self.id, Timestamp::UNIX_EPOCH)?;
        let ids: Vec<MemoryId> = facts.iter().map(Fact::id).collect();
        let advice = self.store.advice(&ids)?;
        let is_refuted = |fact: &Fact| advice.get(&fact.id()).is_some_and(|outcome| outcome.is_refuted());
        let facts = facts.into_iter().filter(|fact| !shown.contains(&fact.id()) && !is_refuted(fact));
        let facts = few(facts.collect(), most);
        self.store.memories_shown(self.id, &facts.iter().map(Fact::id).collect::<Vec<_>>(), self.now)?;
        Ok(facts)
    }

    /// Records that the agent called the hook for `event`. With `lasting`, the record survives a power failure;
    /// otherwise the call does not wait for the disk, since the record is not essential.
    ///
    /// # Errors
    /// [`ApiError`] if the database cannot be written.
    pub(crate) fn hook_fired(&self, event: &str, lasting: bool) -> Result<(), ApiError> {
        if !lasting {
            self.store.leave_log()?;
        }
        Ok(self.store.hook_fired(self.agent, event, self.now)?)
    }

    fn with<T, E>(&self, work: impl FnOnce(&work::Session<'_>) -> Result<T, E>) -> Result<T, E> {
        let home = [self.memories.home()];
        let namespaces = self.memories.namespaces.as_ref().map_or(&home[..], |namespaces| namespaces.as_slice());
        let (guard, now) = (&self.memories.guard, self.now);
        work(&work::Session { store: self.store, guard, agent: self.agent, id: self.id, namespaces, now })
    }

    fn record_step(&self, step: Step) -> Result<(), ApiError> {
        Ok(self.store.step_taken(self.id, &self.memories.guard.redact(step).0)?)
    }

    fn record_shown(&self, memories: &[Memory]) -> Result<(), ApiError> {
        let ids: Vec<MemoryId> = memories.iter().map(|memory| memory.id.clone()).collect();
        self.store.memories_shown(self.id, &ids, self.now)?;
        // A failure to log the memories is ignored.
        let _ = self.store.log_shown(&ids, self.now);
        Ok(())
    }
}

/// Returns the paths under which the ledger may contain the file: relative to the repository, relative to the folder,
/// and absolute.
fn spellings(file: &str, folder: Option<&Path>) -> Vec<String> {
    let whole = folder.map_or_else(|| Path::new(file).to_owned(), |folder| folder.join(file));
    let root = whole.ancestors().skip(1).find(|above| above.join(".git").exists());
    let below = |root: Option<&Path>| whole.strip_prefix(root?).ok().map(Path::to_owned);
    let found = [below(root), below(folder), Some(whole.clone())];
    let mut paths: Vec<String> =
        found.into_iter().flatten().filter_map(|path| Some(path.to_str()?.replace('\\', "/"))).collect();
    paths.dedup();
    paths
}

/// Returns whether a memory contains at least two of the `asked` words of a short prompt, and most of them.
#[expect(clippy::cast_precision_loss, reason = "a short prompt has few words")]
fn has_most_words(hit: &Found, asked: usize) -> bool {
    let words = shared(hit, 3);
    words >= MIN_SHARED && words as f64 >= asked as f64 * MIN_SHARE
}

/// Returns the number of words of a prompt that a memory contains, without words of fewer than `least` letters, which
/// occur everywhere.
fn shared(hit: &Found, least: usize) -> usize {
    hit.matched.iter().filter(|word| is_counted(word, least)).count()
}

fn is_counted(word: &str, least: usize) -> bool {
    // Words of Chinese or Japanese are short, so only ASCII words are left out because of their length.
    word.chars().count() >= least || !word.is_ascii()
}

impl Memories {
    /// Returns the tasks that are relevant to `text`, best first. The result is empty if the filter has conditions
    /// other than projects and times.
    ///
    /// # Errors
    /// [`ApiError`] if the tasks cannot be read, or none of the requested namespaces can be accessed.
    pub fn search_tasks(&self, text: &str, filter: &Filter, limit: usize) -> Result<Vec<FoundTask>, ApiError> {
        let filter = self.confined(filter.clone())?;
        Ok(search_tasks(self.ledger("search tasks")?, text, &filter, limit)?)
    }

    /// Returns the task with this id; a unique prefix or suffix of the id is enough.
    ///
    /// # Errors
    /// [`ApiError`] if the tasks cannot be read, or several match.
    #[cfg(feature = "cli")]
    pub(crate) fn task(&self, id: &str) -> Result<Option<Task>, ApiError> {
        let mut found = self.ledger("show a task")?.tasks_like(id.trim())?;
        found.retain(|task| self.reaches(&task.namespace));
        if found.len() > 1 && found[0].id != id.trim() {
            return Err(StoreError::AmbiguousTask { id: id.trim().to_owned() }.into());
        }
        Ok(found.into_iter().next())
    }

    /// Returns the tasks that touched a file; tasks that changed the file come first. `commit` is the commit that last
    /// changed one line of the file.
    ///
    /// # Errors
    /// As for [`Memories::search_tasks`].
    pub fn blame(&self, path: &str, commit: Option<&str>, filter: &Filter) -> Result<Vec<FileUsage>, ApiError> {
        Ok(work::blame(self.ledger("look up a file")?, path, commit, &self.projects_of(filter)?)?)
    }

    /// Returns the remedies that resolved an error before, in the logs of agents and as hooks recorded them; if the failed
    /// command is given, the remedies that fit it come first.
    ///
    /// # Errors
    /// As for [`Memories::search_tasks`].
    pub fn fix(&self, printed: &str, command: Option<&str>, filter: &Filter) -> Result<KnownError, ApiError> {
        let within = self.projects_of(filter)?;
        Ok(work::fix_typed(self.ledger("look up an error")?, printed, command, &within, Timestamp::now())?)
    }

    /// Returns the calls of a command, or of the commands that a topic names, successful ones first.
    ///
    /// # Errors
    /// As for [`Memories::search_tasks`].
    pub fn how(&self, asked: &str, filter: &Filter) -> Result<Vec<Usage>, ApiError> {
        Ok(work::how(self.ledger("look up a command")?, asked, &self.projects_of(filter)?)?)
    }

    /// Returns the tasks of the projects in a filter, by log and position.
    ///
    /// # Errors
    /// As for [`Memories::search_tasks`].
    #[cfg(feature = "serve")]
    pub(crate) fn tasks(&self, filter: &Filter) -> Result<Vec<Task>, ApiError> {
        Ok(self.ledger("list tasks")?.tasks(&self.projects_of(filter)?)?)
    }

    fn projects_of(&self, filter: &Filter) -> Result<Vec<NamespaceSubtree>, ApiError> {
        Ok(self.confined(filter.clone())?.namespaces)
    }
}
