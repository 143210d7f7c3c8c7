//! Reading and cleaning logs on a thread of its own, ahead of the extraction.

use std::path::PathBuf;

use tokio::sync::mpsc;

use crate::guard::{Cleaned, Guard, Redacted};
use crate::ingest::{self, IngestError, Ingestor, Sink, Skipped};
use crate::transcript::Transcript;

/// Transcripts that may wait to be extracted; more would only hold memory.
const READ_AHEAD: usize = 1;

/// What the reading thread says, file by file in the order given.
#[derive(Debug)]
pub enum ReadEvent {
    /// A conversation, with what was taken out of it.
    Transcript(Box<Redacted<Transcript>>, Cleaned),
    /// A file was read to its end.
    FileRead(FileReport),
    /// A file could not be read.
    FileFailed(PathBuf, IngestError),
}

/// What came of one file.
#[derive(Debug)]
pub struct FileReport {
    /// The path as given.
    pub path: PathBuf,
    /// The ingestor that read it; `None` for a file in a folder that is no log of a known format.
    pub format: Option<&'static str>,
    /// Records that could not be used.
    pub skipped: Vec<Skipped>,
    /// Records that were repaired.
    pub repaired: usize,
}

/// What to read.
#[derive(Debug, Clone)]
pub struct Sources {
    /// Files, folders, patterns, or `-`.
    pub paths: Vec<PathBuf>,
    /// Read everything as this format instead of recognising it.
    pub format: Option<String>,
}

/// Starts reading `sources`; events arrive in order and the channel closes at the end.
///
/// Dropping the receiver stops the reading at the next transcript.
///
/// # Errors
/// [`IngestError`] if the format is unknown or nothing is found, before anything is read.
pub fn start(sources: &Sources, guard: Guard) -> Result<mpsc::Receiver<ReadEvent>, IngestError> {
    let forced = sources.format.as_deref().map(ingest::by_name).transpose()?;
    let found = ingest::discover(&sources.paths)?;
    let (sender, receiver) = mpsc::channel(READ_AHEAD);
    std::thread::spawn(move || {
        for (path, named) in found.files.into_iter().zip(found.named) {
            let outcome = read_file(path.clone(), named, forced, &guard, &sender);
            let event = outcome.map_or_else(|error| ReadEvent::FileFailed(path, error), ReadEvent::FileRead);
            if sender.blocking_send(event).is_err() {
                return;
            }
        }
    });
    Ok(receiver)
}

fn read_file(
    path: PathBuf,
    named: bool,
    forced: Option<&'static dyn Ingestor>,
    guard: &Guard,
    sender: &mpsc::Sender<ReadEvent>,
) -> Result<FileReport, IngestError> {
    let unread = |path| FileReport { path, format: None, skipped: Vec::new(), repaired: 0 };
    let input = match ingest::open(&path) {
        // In a folder, an empty file is no mistake of anybody's.
        Err(IngestError::Empty { .. }) if !named => return Ok(unread(path)),
        opened => opened?,
    };
    let ingestor = match forced.map_or_else(|| ingest::detect(&input), Ok) {
        Err(IngestError::UnknownFormat { .. }) if !named => return Ok(unread(path)),
        found => found?,
    };
    let mut accept = |transcript| {
        let (transcript, cleaned) = guard.clean_transcript(transcript);
        // A closed channel means that nobody wants the rest; the thread ends with the file.
        sender.blocking_send(ReadEvent::Transcript(Box::new(transcript), cleaned)).ok();
    };
    let mut sink = Sink::new(&mut accept);
    ingestor.read(input, &mut sink)?;
    let Sink { skipped, repaired, .. } = sink;
    Ok(FileReport { path, format: Some(ingestor.name()), skipped, repaired })
}
