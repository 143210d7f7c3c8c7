//! Cuts conversations into windows, ahead of the calls.

use std::cell::RefCell;
use std::ops::Range;
use std::sync::Arc;

use futures::{Stream, StreamExt as _, TryStreamExt as _, stream};
use jiff::Timestamp;
use tokio::sync::mpsc::Receiver;
use tokio::task::JoinHandle;

use super::Pipeline;
use super::packing::{Company, Load, Membership, Packer};
use super::place::{Lookup, Place};
use super::summary::FileNumber;
use super::summary::Tally;
use super::{Event, Extractor, PipelineError, ReadEvent, Reread, packing};
use crate::extract::Span;
use crate::extract::window::{self, Window, WindowBudget};
use crate::guard::{Cleaned, Redacted};
use crate::llm::Complete;
use crate::store::{OpenRequest, RequestId, Store, StoreError, TranscriptId, UnfinishedWindow};
use transcripts::{Message, Transcript, content_hash};

/// Conversations that are cut into windows ahead of the calls.
const CUT_AHEAD: usize = 2;

/// A window to be extracted.
pub(super) struct Job {
    pub(super) transcript: Arc<Redacted<Transcript>>,
    pub(super) place: Place,
    pub(super) span: Span,
    /// Its tokens in a prompt.
    tokens: usize,
    /// Whether it may be read together with others.
    company: Company,
    /// The transcript in the ledger.
    pub(super) row: TranscriptId,
    /// The log that it is from.
    pub(super) file: FileNumber,
}

impl Job {
    /// Returns the messages to extract from.
    pub(super) fn messages(&self) -> &[Message] {
        &self.transcript.messages[self.span.start..self.span.end]
    }

    /// Returns the stored request about it.
    pub(super) const fn stored(&self) -> Option<RequestId> {
        match self.company {
            Company::Stored(member) => Some(member.request),
            Company::Any | Company::None => None,
        }
    }

    /// Returns what decides where it is packed. The rules read window by window, and a window in which nobody says
    /// anything costs no request.
    fn load<C: Complete>(&self, extractor: Extractor<'_, C>) -> Load<'_> {
        let company = match extractor {
            Extractor::Rules => Company::None,
            Extractor::Llm(_) if !window::has_human_signal(self.messages()) => Company::None,
            Extractor::Llm(_) => self.company,
        };
        Load { place: &self.place, tokens: self.tokens, company }
    }
}

/// Yields the new windows as they are to be read: each pack in one request.
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
                let place = job.place.clone();
                let load = Load { place: &place, ..job.load(pipeline.extractor) };
                packer.push(&load, job)
            }
            None => packer.flush(),
        };
        stream::iter(full.into_iter().map(Ok))
    });
    full.try_flatten()
}

/// Yields the new windows of each conversation as it is read, and tallies what else the reader says.
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
            if let Some(wanted) = wanted(pipeline, transcript, &cleaned, tally).transpose() {
                return Some((wanted, reader));
            }
        }
    });
    transcripts
        .map(move |wanted| {
            let cutting = wanted.and_then(|wanted| Cutting::begin(pipeline, wanted));
            async move {
                Ok::<_, PipelineError>(stream::iter(
                    cutting?.jobs(pipeline, tally).await.into_iter().map(Ok),
                ))
            }
        })
        .buffered(CUT_AHEAD)
        .try_flatten()
}

/// A conversation that is asked for.
struct Wanted {
    transcript: Redacted<Transcript>,
    place: Place,
    file: FileNumber,
}

/// Returns a conversation with its place, if it is asked for, and tallies it.
fn wanted<C: Complete>(
    pipeline: &Pipeline<'_, C>,
    transcript: Redacted<Transcript>,
    cleaned: &Cleaned,
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
    let place = pipeline.places.of(&transcript, pipeline.options.namespace.as_ref(), &mut lookup)?;
    if let Some(reason) = pipeline.options.selection.leaves(&transcript, &place.project) {
        let mut tally = tally.borrow_mut();
        tally.summary.filtered.conversation(reason);
        tally.files.spoil_current();
        return Ok(None);
    }
    let file = tally.borrow_mut().wanted(&transcript, cleaned);
    Ok(Some(Wanted { transcript, place, file }))
}

/// Whether a person had the conversation erased, and has not asked for it again.
fn is_withdrawn<C: Complete>(pipeline: &Pipeline<'_, C>, key: &str) -> Result<bool, PipelineError> {
    if pipeline.options.reread == Reread::Erased {
        pipeline.store.readmit(key)?;
        return Ok(false);
    }
    Ok(pipeline.store.is_withdrawn(key)?)
}

/// A conversation that is being cut into windows. Counting tokens takes long, so another thread does it, and replies
/// are taken in meanwhile.
struct Cutting {
    transcript: Arc<Redacted<Transcript>>,
    place: Place,
    row: TranscriptId,
    file: FileNumber,
    /// Windows that an earlier run has finished.
    known: usize,
    windows: JoinHandle<Vec<(Window, Company)>>,
}

impl Cutting {
    /// Begins with what no earlier run has finished.
    fn begin<C: Complete>(pipeline: &Pipeline<'_, C>, wanted: Wanted) -> Result<Self, PipelineError> {
        let Wanted { transcript, place, file } = wanted;
        let row = pipeline.store.transcript_seen(&transcript, &place.project, Timestamp::now())?;
        let finished = pipeline.store.finished_windows(row, pipeline.extractor.kind())?;
        let done = packing::still_there(&transcript.messages, &finished);
        let open = match pipeline.extractor {
            Extractor::Llm(_) => pipeline.store.unfinished_windows(row, pipeline.extractor.kind())?,
            Extractor::Rules => Vec::new(),
        };
        let members = members(pipeline.store, &open)?;
        let (transcript, budget) = (Arc::new(transcript), pipeline.options.window);
        let (known, shared) = (done.len(), Arc::clone(&transcript));
        let windows = tokio::task::spawn_blocking(move || with_stored(&open, &members, &shared.messages, done, budget));
        Ok(Self { transcript, place, row, file, known, windows })
    }

    /// Returns the windows that are wanted once all are cut, and tallies them.
    async fn jobs<C: Complete>(mut self, pipeline: &Pipeline<'_, C>, tally: &RefCell<Tally<'_>>) -> Vec<Job> {
        let mut windows = (&mut self.windows).await.expect("cutting does not panic, and nobody cancels it");
        let cut = windows.len();
        windows.retain(|(one, _)| {
            pipeline.options.selection.takes(&self.transcript.messages[one.span.start..one.span.end])
        });
        let (known, new) = (self.known as u64, windows.len() as u64);
        let mut tally = tally.borrow_mut();
        tally.summary.filtered.windows_out_of_range += cut as u64 - new;
        tally.summary.windows.total += known + new;
        tally.summary.windows.known += known;
        if windows.len() < cut {
            tally.files.spoil(self.file);
        }
        pipeline.note(tally.files.cut(self.file, known, new));
        windows.into_iter().map(|window| self.job(window)).collect()
    }

    fn job(&self, (Window { span, tokens }, company): (Window, Company)) -> Job {
        Job {
            transcript: Arc::clone(&self.transcript),
            place: self.place.clone(),
            span,
            tokens,
            company,
            row: self.row,
            file: self.file,
        }
    }
}

/// Returns how each of `open` may be read: one that failed alone, so that it does not cost others their answer.
fn members(store: &Store, open: &[UnfinishedWindow]) -> Result<Vec<Company>, StoreError> {
    let company = |one: &UnfinishedWindow| {
        let Some((request, place)) = one.request else { return Ok(Company::None) };
        let stored = store.open_request(request)?;
        let member = |stored: OpenRequest| Company::Stored(Membership { request, place, windows: stored.windows });
        Ok(stored.map_or(Company::Any, member))
    };
    open.iter().map(company).collect()
}

/// Returns the windows that stored requests show, as they are there, and those of what is left, by place.
fn with_stored(
    open: &[UnfinishedWindow],
    members: &[Company],
    messages: &[Message],
    mut done: Vec<Range<usize>>,
    budget: WindowBudget,
) -> Vec<(Window, Company)> {
    let company_of = |window: &UnfinishedWindow| {
        let at = open.iter().position(|one| std::ptr::eq(one, window));
        at.map_or(Company::Any, |at| members[at])
    };
    let stored = packing::stored_windows(messages, open, &done);
    done.extend(stored.iter().map(|(span, _)| span.start..span.end));
    done.sort_by_key(|range| range.start);
    let mut windows: Vec<(Window, Company)> = window::windows(messages, &done, budget)
        .into_iter()
        .map(|window| {
            let hash = content_hash(&messages[window.span.start..window.span.end]);
            let is_it = |one: &&UnfinishedWindow| one.context.is_none() && one.window.content_hash == hash;
            let here = open.iter().filter(is_it).find(|one| one.window.start == window.span.start);
            (window, here.or_else(|| open.iter().find(is_it)).map_or(Company::Any, company_of))
        })
        .collect();
    // Should a request not be taken up as it is, its windows are large enough to go alone.
    let stored = stored.into_iter().map(|(span, one)| (Window { span, tokens: budget.tokens }, company_of(one)));
    windows.extend(stored);
    windows.sort_by_key(|(window, _)| window.span.start);
    windows
}
