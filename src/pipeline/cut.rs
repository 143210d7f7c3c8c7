//! Cutting conversations into windows, ahead of the calls.

use std::cell::RefCell;
use std::ops::Range;
use std::sync::Arc;

use futures::{Stream, StreamExt as _, TryStreamExt as _, stream};
use jiff::Timestamp;
use tokio::sync::mpsc::Receiver;
use tokio::task::JoinHandle;

use super::files::FileNumber;
use super::place::{Lookup, Place};
use super::setup::Pipeline;
use super::tally::Tally;
use super::{Event, Extractor, PipelineError, ReadEvent, known};
use crate::extract::window::WindowBudget;
use crate::extract::{Span, window};
use crate::guard::{Cleaned, Redacted};
use crate::llm::Complete;
use crate::store::TranscriptId;
use crate::transcript::{Message, Transcript};

/// Conversations that are cut into windows ahead of the calls.
const CUT_AHEAD: usize = 2;

/// A window to be extracted.
pub(super) struct Job {
    pub(super) transcript: Arc<Redacted<Transcript>>,
    pub(super) place: Place,
    pub(super) span: Span,
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
}

/// Yields the new windows of each conversation as it is read, and tallies what else the reader says.
pub(super) fn jobs<C: Complete>(
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
    let mut lookup = Lookup {
        store: pipeline.store,
        guard: pipeline.guard,
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

/// A conversation that is being cut into windows. Counting tokens takes long, so another thread does it, and replies
/// are taken in meanwhile.
struct Cutting {
    transcript: Arc<Redacted<Transcript>>,
    place: Place,
    row: TranscriptId,
    file: FileNumber,
    /// Windows that an earlier run has finished.
    known: usize,
    spans: JoinHandle<Vec<Span>>,
}

impl Cutting {
    /// Begins with what no earlier run has finished.
    fn begin<C: Complete>(pipeline: &Pipeline<'_, C>, wanted: Wanted) -> Result<Self, PipelineError> {
        let Wanted { transcript, place, file } = wanted;
        let row = pipeline.store.transcript_seen(&transcript, &place.project, Timestamp::now())?;
        let finished = pipeline.store.finished_windows(row, pipeline.extractor.kind())?;
        let done = known::still_there(&transcript.messages, &finished);
        let asked = match pipeline.extractor {
            Extractor::Llm(_) => {
                let asked = pipeline.store.batch_windows(row, pipeline.extractor.kind())?;
                known::asked_spans(&transcript.messages, &asked, &done)
            }
            Extractor::Rules => Vec::new(),
        };
        let (transcript, budget) = (Arc::new(transcript), pipeline.options.window);
        let (known, shared) = (done.len(), Arc::clone(&transcript));
        let spans = tokio::task::spawn_blocking(move || with_asked(asked, &shared.messages, done, budget));
        Ok(Self { transcript, place, row, file, known, spans })
    }

    /// Returns the windows that are wanted once all are cut, and tallies them.
    async fn jobs<C: Complete>(self, pipeline: &Pipeline<'_, C>, tally: &RefCell<Tally<'_>>) -> Vec<Job> {
        let mut spans = self.spans.await.expect("cutting does not panic, and nobody cancels it");
        let cut = spans.len();
        spans.retain(|span| pipeline.options.selection.takes(&self.transcript.messages[span.start..span.end]));
        let (known, new) = (self.known as u64, spans.len() as u64);
        let mut tally = tally.borrow_mut();
        tally.summary.filtered.windows_out_of_range += cut as u64 - new;
        tally.summary.windows.total += known + new;
        tally.summary.windows.known += known;
        if spans.len() < cut {
            tally.files.spoil(self.file);
        }
        pipeline.note(tally.files.cut(self.file, known, new));
        let job = |span| Job {
            transcript: Arc::clone(&self.transcript),
            place: self.place.clone(),
            span,
            row: self.row,
            file: self.file,
        };
        spans.into_iter().map(job).collect()
    }
}

/// Returns `asked`, which stay as they are because they are paid for, and the windows of what is left, by place.
fn with_asked(asked: Vec<Span>, messages: &[Message], mut done: Vec<Range<usize>>, budget: WindowBudget) -> Vec<Span> {
    done.extend(asked.iter().map(|span| span.start..span.end));
    done.sort_by_key(|range| range.start);
    let mut spans = window::spans(messages, &done, budget);
    spans.extend(asked);
    spans.sort_by_key(|span| span.start);
    spans
}
