//! Cuts conversations into windows ahead of the calls, finds windows of earlier runs, and groups new windows into
//! packs. The windows of a pack share one request.

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;
use std::sync::Arc;

use futures::{Stream, StreamExt as _, TryStreamExt as _, stream};
use jiff::Timestamp;
use tokio::sync::mpsc::Receiver;
use tokio::task::JoinHandle;
use transcripts::{Message, Transcript, content_hash};

use super::projects::{Lookup, Namespaces};
use super::read::attributed_to;
use super::summary::{FileNumber, Tally};
use super::{Event, Extractor, Pipeline, PipelineError, ReadEvent, RereadPolicy};
use crate::extract::Span;
use crate::extract::window::{self, Window, WindowBudget};
use crate::guard::{Cleaning, Redacted};
use crate::llm::Complete;
use crate::store::{DoneWindow, LogTasks, RequestId, RunId, Store, StoreError, TranscriptId, UnfinishedWindow, Writer};
use crate::work;

/// Number of conversations that are cut into windows ahead of the calls.
const CUT_AHEAD: usize = 2;

/// A window to extract from.
pub(super) struct Job {
    pub(super) transcript: Arc<Redacted<Transcript>>,
    pub(super) namespaces: Namespaces,
    pub(super) span: Span,
    /// Number of tokens of the window in a prompt.
    tokens: usize,
    /// The windows that may share a request with this window.
    company: Company,
    /// The transcript's row in the ledger.
    pub(super) row: TranscriptId,
    /// The log that contains the window.
    pub(super) file: FileNumber,
}

impl Job {
    /// Returns the messages to extract from.
    pub(super) fn messages(&self) -> &[Message] {
        &self.transcript.messages[self.span.start..self.span.end]
    }

    /// Returns the stored request about the window.
    pub(super) const fn stored(&self) -> Option<RequestId> {
        match self.company {
            Company::Stored(member) => Some(member.request),
            Company::Any | Company::None => None,
        }
    }

    /// Returns the properties that determine the pack of the window. The rules read each window separately, and a
    /// window without a person's message needs no request.
    fn load<C: Complete>(&self, extractor: Extractor<'_, C>) -> Load<'_> {
        let company = match extractor {
            Extractor::Rules => Company::None,
            Extractor::Llm(_) if !window::has_human_signal(self.messages()) => Company::None,
            Extractor::Llm(_) => self.company,
        };
        Load { namespaces: &self.namespaces, tokens: self.tokens, company }
    }
}

/// Yields the new windows grouped into packs, each for one request.
pub(super) fn packs<C: Complete>(
    pipeline: &Pipeline<'_, C>,
    reader: Receiver<ReadEvent>,
    tally: &RefCell<Tally<'_>>,
) -> impl Stream<Item = Result<Vec<Job>, PipelineError>> {
    let mut packer = Packer::new(pipeline.options.window.tokens);
    let end = stream::once(std::future::ready(Ok(None)));
    let full = jobs(pipeline, reader, tally).map_ok(Some).chain(end).map_ok(move |job| {
        let full = match job {
            Some(job) => {
                let namespaces = job.namespaces.clone();
                let load = Load { namespaces: &namespaces, ..job.load(pipeline.extractor) };
                packer.push(&load, job)
            }
            None => packer.flush(),
        };
        stream::iter(full.into_iter().map(Ok))
    });
    full.try_flatten()
}

/// Yields the new windows of each conversation as it is read, and tallies the other events of the reader.
fn jobs<C: Complete>(
    pipeline: &Pipeline<'_, C>,
    reader: Receiver<ReadEvent>,
    tally: &RefCell<Tally<'_>>,
) -> impl Stream<Item = Result<Job, PipelineError>> {
    let transcripts = stream::unfold(reader, move |mut reader| async move {
        loop {
            let event = reader.recv().await?;
            if matches!(event, ReadEvent::Ended) {
                let done = tally.borrow_mut().files.end();
                pipeline.note(done);
            }
            let read = tally.borrow_mut().read(event);
            let Some((transcript, cleaned)) = read else { continue };
            let wanted = wanted(pipeline, transcript, &cleaned, tally);
            if wanted.is_err() {
                // The stream reads ahead of the error, so the log's end may still arrive before the run stops. Without
                // this conversation, the log would be recorded as finished, and no later run would read it.
                tally.borrow_mut().files.spoil_current();
            }
            if let Some(wanted) = wanted.transpose() {
                return Some((wanted, reader));
            }
        }
    });
    // `buffered` preserves the order of the conversations, so that the same logs yield the same packs.
    transcripts
        .map(move |wanted| {
            let cutting = wanted.and_then(|wanted| Cutting::begin(pipeline, wanted, tally));
            async move {
                Ok::<_, PipelineError>(stream::iter(
                    cutting?.jobs(pipeline, tally).await.into_iter().map(Ok),
                ))
            }
        })
        .buffered(CUT_AHEAD)
        .try_flatten()
}

/// A selected conversation.
struct Wanted {
    transcript: Redacted<Transcript>,
    namespaces: Namespaces,
    file: FileNumber,
}

/// Returns a conversation with its namespaces if it is selected, and tallies it.
fn wanted<C: Complete>(
    pipeline: &Pipeline<'_, C>,
    transcript: Redacted<Transcript>,
    cleaned: &Cleaning,
    tally: &RefCell<Tally<'_>>,
) -> Result<Option<Wanted>, PipelineError> {
    if is_withdrawn(pipeline, &transcript.key())? {
        tally.borrow_mut().summary.filtered.conversations_erased += 1;
        return Ok(None);
    }
    let mut lookup = Lookup {
        store: pipeline.store,
        started_at: pipeline.started_at,
        warn: &mut |text| (tally.borrow_mut().watch)(&Event::Warning(text)),
    };
    let namespaces = pipeline.projects.namespaces_of(&transcript, pipeline.options.namespace.as_ref(), &mut lookup)?;
    let namespaces = namespaces.of_user(pipeline.options.user.as_ref());
    if let Some(reason) = pipeline.options.selection.leaves(&transcript, &namespaces.project) {
        let mut tally = tally.borrow_mut();
        tally.summary.filtered.conversation(reason);
        (tally.watch)(&Event::Detail(&format!("{}: {}", transcript.key(), reason.as_str())));
        tally.files.spoil_current();
        return Ok(None);
    }
    let file = tally.borrow_mut().wanted(&transcript, cleaned);
    Ok(Some(Wanted { transcript, namespaces, file }))
}

/// Returns whether a person erased the conversation and has not explicitly selected it again.
fn is_withdrawn<C: Complete>(pipeline: &Pipeline<'_, C>, key: &str) -> Result<bool, PipelineError> {
    if pipeline.options.reread == RereadPolicy::Erased {
        pipeline.store.readmit(key)?;
        return Ok(false);
    }
    Ok(pipeline.store.is_withdrawn(key)?)
}

/// A conversation that is being cut into windows. Counting tokens takes a long time, so another thread counts them
/// while replies are processed.
struct Cutting {
    transcript: Arc<Redacted<Transcript>>,
    namespaces: Namespaces,
    row: TranscriptId,
    file: FileNumber,
    /// Number of windows that an earlier run has finished.
    known: usize,
    /// Number of tasks in the conversation that are new or changed in the work ledger.
    tasks: usize,
    windows: JoinHandle<Vec<(Window, Company)>>,
}

impl Cutting {
    /// Starts cutting the part of the conversation that no earlier run has finished.
    fn begin<C: Complete>(
        pipeline: &Pipeline<'_, C>,
        wanted: Wanted,
        tally: &RefCell<Tally<'_>>,
    ) -> Result<Self, PipelineError> {
        let Wanted { transcript, namespaces, file } = wanted;
        let (home, user) = (&namespaces.project, pipeline.options.user.as_ref());
        let row = pipeline.store.transcript_seen(&transcript, home, user, Timestamp::now())?;
        let tasks = record_tasks(pipeline, &transcript, &namespaces)?;
        let finished = pipeline.store.finished_windows(row, pipeline.extractor.kind())?;
        let done = still_there(&transcript.messages, &finished);
        replace_attribution(pipeline, &transcript, &done, tally)?;
        let open = match pipeline.extractor {
            Extractor::Llm(_) => pipeline.store.unfinished_windows(row, pipeline.extractor.kind())?,
            Extractor::Rules => Vec::new(),
        };
        let begun = begun(pipeline.store, open)?;
        let (transcript, budget) = (Arc::new(transcript), pipeline.options.window);
        let (known, shared) = (done.len(), Arc::clone(&transcript));
        let windows = tokio::task::spawn_blocking(move || cut(&shared.messages, &begun, done, budget));
        Ok(Self { transcript, namespaces, row, file, known, tasks, windows })
    }

    /// Returns the selected windows once all windows are cut, and tallies them.
    async fn jobs<C: Complete>(mut self, pipeline: &Pipeline<'_, C>, tally: &RefCell<Tally<'_>>) -> Vec<Job> {
        let mut windows = (&mut self.windows).await.expect("cutting does not panic, and nothing cancels the task");
        let cut = windows.len();
        windows.retain(|(one, _)| {
            pipeline.options.selection.takes(&self.transcript.messages[one.span.start..one.span.end])
        });
        let (known, new) = (self.known as u64, windows.len() as u64);
        let mut tally = tally.borrow_mut();
        tally.summary.filtered.windows_out_of_range += cut as u64 - new;
        tally.summary.windows.total += known + new;
        tally.summary.windows.known += known;
        tally.summary.tasks += self.tasks as u64;
        // Windows that are left out keep the log unfinished, so that a run with a wider range reads them.
        if windows.len() < cut {
            tally.files.spoil(self.file);
        }
        pipeline.note(tally.files.cut(self.file, known, new));
        windows.into_iter().map(|window| self.job(window)).collect()
    }

    fn job(&self, (Window { span, tokens }, company): (Window, Company)) -> Job {
        Job {
            transcript: Arc::clone(&self.transcript),
            namespaces: self.namespaces.clone(),
            span,
            tokens,
            company,
            row: self.row,
            file: self.file,
        }
    }
}

/// Removes what earlier runs learnt from captions that they attributed to another speaker than this run. The windows in
/// `done` that were read with this speaker are decided again.
fn replace_attribution<C: Complete>(
    pipeline: &Pipeline<'_, C>,
    transcript: &Redacted<Transcript>,
    done: &[Range<usize>],
    tally: &RefCell<Tally<'_>>,
) -> Result<(), StoreError> {
    let Some(speaker) = attributed_to(transcript, &pipeline.options.sources, pipeline.guard) else { return Ok(()) };
    let (key, run) = (transcript.key(), RunId::from_stored(pipeline.owner.as_str()));
    let hashes: Vec<String> = done.iter().map(|range| content_hash(&transcript.messages[range.clone()])).collect();
    let write = |writer: &Writer<'_>| writer.reattribute(&key, speaker, &hashes);
    let changed = pipeline.store.write(Some(&run), Timestamp::now(), write)?;
    let mut tally = tally.borrow_mut();
    let origin = &transcript.origin;
    let memories = |count: usize| if count == 1 { "1 memory".to_owned() } else { format!("{count} memories") };
    let replaced = changed.removed.len() + changed.reduced.len();
    if replaced > 0 {
        let replaced = memories(replaced);
        let text = format!("{origin}: this run replaces {replaced} that an earlier run attributed to another speaker");
        (tally.watch)(&Event::Warning(&text));
    }
    if !changed.kept.is_empty() {
        let kept = memories(changed.kept.len());
        let text = format!(
            "{origin}: {kept} attributed to another speaker, but pinned or edited by hand, and therefore unchanged; \
             `afterthought memory update` changes them"
        );
        (tally.watch)(&Event::Warning(&text));
    }
    tally.summary.attributions.push((key, speaker.to_owned()));
    Ok(())
}

/// Adds the tasks of a conversation to the work ledger; returns the number of new or changed tasks.
fn record_tasks<C: Complete>(
    pipeline: &Pipeline<'_, C>,
    transcript: &Redacted<Transcript>,
    namespaces: &Namespaces,
) -> Result<usize, StoreError> {
    // The ledger suggests commands to agents, and nobody reviews it.
    let records = if transcript.shipped_by.is_some() { Vec::new() } else { work::tasks(transcript) };
    if records.is_empty() {
        return Ok(0);
    }
    let (key, parent) = (transcript.key(), work::parent_session(transcript));
    // Parts of redacted texts contain no secrets, but joining two parts may produce a secret.
    let records = pipeline.guard.redact(records).0;
    let log =
        LogTasks { transcript: &key, parent: parent.as_deref(), namespace: &namespaces.project, records: &records };
    let run = RunId::from_stored(pipeline.owner.as_str());
    pipeline.store.write(Some(&run), Timestamp::now(), |writer| writer.put_tasks(&log))
}

/// A window that an earlier run has started, and the other windows that may share a request with it.
type Begun = (UnfinishedWindow, Company);

/// Returns each window in `open` with the other windows that may share a request with it. A failed window is read
/// alone, so that it cannot affect the replies for other windows.
fn begun(store: &Store, open: Vec<UnfinishedWindow>) -> Result<Vec<Begun>, StoreError> {
    let company = |one: &UnfinishedWindow| {
        let Some((request, position)) = one.request else { return Ok(Company::None) };
        let stored = store.open_request(request)?;
        let member = |windows| Company::Stored(Membership { request, position, windows });
        Ok(stored.map_or(Company::Any, |stored| member(stored.windows)))
    };
    open.into_iter().map(|one| company(&one).map(|company| (one, company))).collect()
}

/// Returns the windows of the parts that are not `done`, indexed by position. Windows of stored requests keep their
/// boundaries; the other parts are cut again.
fn cut(
    messages: &[Message],
    begun: &[Begun],
    mut done: Vec<Range<usize>>,
    budget: WindowBudget,
) -> Vec<(Window, Company)> {
    let shown = |(one, _): &&Begun| one.context.is_some();
    let windows: Vec<DoneWindow> = begun.iter().filter(shown).map(|(one, _)| one.window.clone()).collect();
    let mut ranges = still_there(messages, &windows);
    // A stored request may include windows that have been finished in the meantime; they are not extracted twice.
    ranges.retain(|range| done.iter().all(|other| range.end <= other.start || other.end <= range.start));
    done.extend(ranges.iter().cloned());
    done.sort_by_key(|range| range.start);

    let find = |range: Range<usize>, is_shown: bool| {
        let (start, hash) = (range.start, content_hash(&messages[range]));
        let is_it = |(one, _): &&Begun| one.context.is_some() == is_shown && one.window.content_hash == hash;
        // Two windows may contain the same text, so the position is compared first.
        let here = begun.iter().filter(is_it).find(|(one, _)| one.window.start == start);
        here.or_else(|| begun.iter().find(is_it))
    };
    let stored = ranges.into_iter().filter_map(|range| {
        let (one, company) = find(range.clone(), true)?;
        let context_start = range.start.saturating_sub(one.context.unwrap_or_default());
        let span = Span { context_start, start: range.start, end: range.end };
        // If a request cannot be reused, its windows are treated as large enough to be sent alone.
        Some((Window { span, tokens: budget.tokens }, *company))
    });
    let new = window::windows(messages, &done, budget).into_iter().map(|window| {
        let company = find(window.span.start..window.span.end, false).map_or(Company::Any, |(_, company)| *company);
        (window, company)
    });
    let mut windows: Vec<_> = stored.chain(new).collect();
    windows.sort_by_key(|(window, _)| window.span.start);
    windows
}

/// Maximum number of windows in a pack.
const MAX_WINDOWS: usize = 32;
/// Maximum number of packs that are being filled; when there are more, the oldest pack is closed.
const MAX_OPEN: usize = 8;
/// Maximum number of incomplete packs from an earlier run.
const MAX_AWAITED: usize = 64;

/// The properties that determine the pack of a window.
#[derive(Debug, Clone, Copy)]
struct Load<'p> {
    /// The namespaces of the memories; windows of different namespaces never share a request.
    namespaces: &'p Namespaces,
    /// Number of tokens of the window in a prompt.
    tokens: usize,
    /// The windows that may share a request with this window.
    company: Company,
}

/// The windows that may share a request with a window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Company {
    /// Any windows that fit.
    Any,
    /// The windows of the same stored request.
    Stored(Membership),
    /// No other windows: the window is sent alone and immediately.
    None,
}

/// The position of a window among the windows of a stored request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Membership {
    /// The first request about the windows.
    request: RequestId,
    /// The position, from 0.
    position: usize,
    /// The number of windows.
    windows: usize,
}

/// Groups windows into packs of at most `budget` tokens.
///
/// A window that is larger than the budget, or nearly as large, forms a separate pack. Windows of a stored request are
/// grouped as in that request. No window is lost or duplicated.
#[derive(Debug)]
struct Packer<T> {
    budget: usize,
    open: VecDeque<Open<T>>,
    awaited: BTreeMap<RequestId, Awaited<T>>,
}

#[derive(Debug)]
struct Open<T> {
    namespaces: Namespaces,
    tokens: usize,
    windows: Vec<T>,
}

#[derive(Debug)]
struct Awaited<T> {
    namespaces: Namespaces,
    windows: BTreeMap<usize, T>,
}

impl<T> Packer<T> {
    /// Returns an empty packer.
    const fn new(budget: usize) -> Self {
        Self { budget, open: VecDeque::new(), awaited: BTreeMap::new() }
    }

    /// Adds a window; returns the packs that are full.
    fn push(&mut self, load: &Load<'_>, window: T) -> Vec<Vec<T>> {
        match load.company {
            Company::None => vec![vec![window]],
            Company::Any => self.fill(load, window),
            Company::Stored(member) => self.complete(load, member, window),
        }
    }

    /// Returns the remaining packs when there are no more windows.
    fn flush(&mut self) -> Vec<Vec<T>> {
        let awaited = std::mem::take(&mut self.awaited).into_values().map(Awaited::close);
        awaited.chain(std::mem::take(&mut self.open).into_iter().map(|pack| pack.windows)).collect()
    }

    fn fill(&mut self, load: &Load<'_>, window: T) -> Vec<Vec<T>> {
        // Keeping this pack open for a small remainder would only delay its request.
        if load.tokens >= self.enough() {
            return vec![vec![window]];
        }
        let Some(at) = self.open.iter().position(|open| open.namespaces == *load.namespaces) else {
            return self.open(load, window);
        };
        let open = &mut self.open[at];
        if open.tokens + load.tokens > self.budget {
            // The smaller of the two packs has more room.
            if load.tokens >= open.tokens {
                return vec![vec![window]];
            }
            let full = std::mem::replace(&mut open.windows, vec![window]);
            open.tokens = load.tokens;
            return vec![full];
        }
        open.tokens += load.tokens;
        open.windows.push(window);
        let is_full = open.tokens >= self.enough() || self.open[at].windows.len() == MAX_WINDOWS;
        let full = if is_full { self.open.remove(at) } else { None };
        full.into_iter().map(|pack| pack.windows).collect()
    }

    /// Opens a pack; returns the oldest pack if there are too many open packs.
    fn open(&mut self, load: &Load<'_>, window: T) -> Vec<Vec<T>> {
        let oldest = if self.open.len() < MAX_OPEN { None } else { self.open.pop_front() };
        self.open.push_back(Open { namespaces: load.namespaces.clone(), tokens: load.tokens, windows: vec![window] });
        oldest.into_iter().map(|pack| pack.windows).collect()
    }

    /// Returns the number of tokens at which a pack is closed, even if a little more would fit.
    const fn enough(&self) -> usize {
        self.budget - self.budget / 8
    }

    fn complete(&mut self, load: &Load<'_>, member: Membership, window: T) -> Vec<Vec<T>> {
        let pack = self
            .awaited
            .entry(member.request)
            .or_insert_with(|| Awaited { namespaces: load.namespaces.clone(), windows: BTreeMap::new() });
        // The same conversation also occurs in another log, or in a project that has been separated.
        if pack.windows.contains_key(&member.position) || pack.namespaces != *load.namespaces {
            return self.fill(load, window);
        }
        pack.windows.insert(member.position, window);
        let is_full = pack.windows.len() >= member.windows;
        let closed = if is_full { self.awaited.remove(&member.request) } else { None };
        // The other windows of the request may be missing, for example because a log was deleted.
        let oldest = if self.awaited.len() > MAX_AWAITED { self.awaited.pop_first() } else { None };
        closed.into_iter().chain(oldest.map(|(_, pack)| pack)).map(Awaited::close).collect()
    }
}

impl<T> Awaited<T> {
    fn close(self) -> Vec<T> {
        self.windows.into_values().collect()
    }
}

/// Maximum number of messages by which a window may be displaced after messages before it were inserted or removed.
const MAX_SHIFT: isize = 40;

/// Returns the current positions of the messages of `finished` windows, sorted and without overlaps.
///
/// A window with changed messages is omitted. A moved window is found if it moved by the same distance as the window
/// before it, or by at most [`MAX_SHIFT`] messages.
fn still_there(messages: &[Message], finished: &[DoneWindow]) -> Vec<Range<usize>> {
    let mut found = Found { messages, ranges: Vec::new() };
    // Windows that have not moved are placed first, so that a moved window cannot take their place.
    let moved: Vec<&DoneWindow> = finished.iter().filter(|window| !found.take(window, 0)).collect();
    let mut shift = 0;
    for window in moved {
        // Messages are inserted or removed at one position, so all windows after it move by the same distance.
        let near = (1..=MAX_SHIFT).flat_map(|distance| [distance, -distance]);
        if let Some(to) = std::iter::once(shift).chain(near).find(|&to| found.take(window, to)) {
            shift = to;
        }
    }
    found.ranges
}

struct Found<'m> {
    messages: &'m [Message],
    ranges: Vec<Range<usize>>,
}

impl Found<'_> {
    /// Claims the position of `window` moved by `shift`, if the messages of the window are there and no other window
    /// has claimed them.
    fn take(&mut self, window: &DoneWindow, shift: isize) -> bool {
        let Some(start) = window.start.checked_add_signed(shift) else { return false };
        let range = start..start.saturating_add(window.len);
        let at = self.ranges.partition_point(|other| other.start < range.start);
        let is_free = self.ranges.get(at).is_none_or(|next| range.end <= next.start)
            && at.checked_sub(1).is_none_or(|before| self.ranges[before].end <= range.start);
        let stands = |messages| content_hash(messages) == window.content_hash;
        if !is_free || !self.messages.get(range.clone()).is_some_and(stands) {
            return false;
        }
        self.ranges.insert(at, range);
        true
    }
}

#[cfg(test)]
mod pack_tests {
    use proptest::prelude::*;

    use super::*;
    use crate::memory::Namespace;

    fn namespaces(name: &str) -> Namespaces {
        Namespaces::of_project(Namespace::project(name).unwrap())
    }

    /// Packs windows specified as project, tokens and company; the result represents a window by its index in the list.
    fn packed(budget: usize, windows: &[(&str, usize, Company)]) -> Vec<Vec<usize>> {
        let mut packer = Packer::new(budget);
        let mut packs = Vec::new();
        for (window, (name, tokens, company)) in windows.iter().enumerate() {
            packs.extend(
                packer.push(&Load { namespaces: &namespaces(name), tokens: *tokens, company: *company }, window),
            );
        }
        packs.extend(packer.flush());
        packs
    }

    fn any(windows: &[(&'static str, usize)]) -> Vec<(&'static str, usize, Company)> {
        windows.iter().map(|&(name, tokens)| (name, tokens, Company::Any)).collect()
    }

    fn former(request: i64, position: usize, windows: usize) -> Company {
        Company::Stored(Membership { request: RequestId::from_stored(request), position, windows })
    }

    #[test]
    fn short_windows_of_one_project_go_together_up_to_the_budget() {
        assert_eq!(packed(10, &any(&[("a", 4), ("a", 4), ("a", 4), ("a", 6)])), [vec![0, 1], vec![2, 3]]);
        assert_eq!(packed(10, &any(&[("a", 4), ("a", 11), ("a", 4)])), [vec![1], vec![0, 2]]);
        assert_eq!(packed(10, &any(&[("a", 2), ("a", 9), ("a", 2)])), [vec![1], vec![0, 2]]);
        assert_eq!(packed(0, &any(&[("a", 2), ("a", 9)])), [vec![0], vec![1]]);
    }

    #[test]
    fn windows_of_two_projects_never_share_a_pack() {
        assert_eq!(packed(10, &any(&[("a", 1), ("b", 1), ("a", 1), ("b", 1)])), [vec![0, 2], vec![1, 3]]);
    }

    #[test]
    fn what_was_asked_about_is_packed_as_it_was() {
        let windows = [
            ("a", 4, former(7, 1, 2)),
            ("a", 4, Company::Any),
            ("a", 4, former(7, 0, 2)),
            ("a", 1, former(9, 0, 1)),
            ("a", 4, Company::Any),
        ];
        assert_eq!(packed(10, &windows), [vec![2, 0], vec![3], vec![1, 4]]);
        let gone = [("a", 4, former(7, 1, 3)), ("a", 4, former(7, 1, 3)), ("a", 4, former(7, 0, 3))];
        assert_eq!(
            packed(10, &gone),
            [vec![2, 0], vec![1]],
            "the queue does not wait forever for a window that is gone"
        );
        let moved = [("a", 4, former(7, 0, 2)), ("b", 4, former(7, 1, 2))];
        assert_eq!(packed(10, &moved), [vec![0], vec![1]]);
    }

    #[test]
    fn what_goes_alone_does_not_wait() {
        let mut packer = Packer::new(10);
        let namespaces = namespaces("a");
        let load = |company| Load { namespaces: &namespaces, tokens: 1, company };
        assert_eq!(packer.push(&load(Company::Any), 0), [] as [Vec<usize>; 0]);
        assert_eq!(packer.push(&load(Company::None), 1), [vec![1]]);
    }

    proptest! {
        #[test]
        fn every_window_is_in_one_pack_in_order_in_budget_and_among_its_own(
            windows in prop::collection::vec((0..12_usize, 1..120_usize), 0..120),
        ) {
            let names: Vec<String> = (0..12).map(|n| format!("p{n}")).collect();
            let mut packer = Packer::new(100);
            let (mut packs, mut most) = (Vec::new(), 0);
            for (window, &(name, tokens)) in windows.iter().enumerate() {
                let namespaces = namespaces(&names[name]);
                packs.extend(packer.push(&Load { namespaces: &namespaces, tokens, company: Company::Any }, window));
                most = most.max(packer.open.len());
            }
            packs.extend(packer.flush());
            let mut all: Vec<usize> = packs.concat();
            all.sort_unstable();
            prop_assert_eq!(all, (0..windows.len()).collect::<Vec<_>>());
            prop_assert!(most <= MAX_OPEN);
            for pack in packs {
                prop_assert!(pack.is_sorted() && pack.len() <= MAX_WINDOWS);
                prop_assert!(pack.iter().all(|&window| windows[window].0 == windows[pack[0]].0));
                let tokens: usize = pack.iter().map(|&window| windows[window].1).sum();
                prop_assert!(tokens <= 100 || pack.len() == 1);
            }
        }
    }
}

#[cfg(test)]
mod known_tests {
    use super::*;

    fn talk(words: &str) -> Vec<Message> {
        words.split(' ').map(Message::user).collect()
    }

    /// Returns the positions in `after` of windows of two messages that were read in `before`.
    fn moved(before: &str, after: &str) -> Vec<Range<usize>> {
        let before = talk(before);
        let windows = before.chunks(2).enumerate().map(|(index, chunk)| DoneWindow {
            start: index * 2,
            len: chunk.len(),
            content_hash: content_hash(chunk),
        });
        still_there(&talk(after), &windows.collect::<Vec<_>>())
    }

    #[test]
    fn windows_are_found_where_they_stood_or_as_far_as_they_were_moved() {
        let table: &[(&str, &[Range<usize>])] = &[
            ("a b c d e f", &[0..2, 2..4, 4..6]),
            ("a b c d e f g", &[0..2, 2..4, 4..6]),
            ("a b c X e f", &[0..2, 4..6]),
            ("X a b c d e f", &[1..3, 3..5, 5..7]),
            ("a b c X d e f", &[0..2, 5..7]),
            ("b c d e f", &[1..3, 3..5]),
            ("a b e f c d", &[0..2, 2..4, 4..6]),
            ("a", &[]),
        ];
        for (after, ranges) in table {
            assert_eq!(moved("a b c d e f", after), *ranges, "{after}");
        }
    }

    #[test]
    fn the_same_words_are_not_counted_twice() {
        assert_eq!(moved("a b a b", "a b"), vec![0..2]);
        assert_eq!(moved("a b", "a b a b"), vec![0..2]);
    }
}
