//! Reading and cleaning logs on a thread of its own, ahead of the extraction.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use tokio::sync::mpsc;

use super::files::FileMark;
use super::select::{LeftOut, Selection};
use super::stamp::Stamp;
use crate::guard::{Cleaned, Guard, Redacted};
use crate::store::{FileOutcome, FileRead};
use transcripts::Transcript;
use transcripts::{self as ingest, Folder, Found, IngestError, Ingestor, Input, Logs, Sink, Skipped, true_path};

/// Transcripts that may wait to be extracted; more would only hold memory.
const READ_AHEAD: usize = 1;

/// What the reading thread says, file by file in the order given.
#[derive(Debug)]
pub enum ReadEvent {
    /// The reading of a file, a folder or an archive begins; what follows is from it.
    Begun(Option<FileMark>),
    /// It came to its end.
    Ended,
    /// An earlier run has finished it, and it has not changed.
    Unchanged(Box<FileRead>),
    /// A conversation, with what was taken out of it.
    Transcript(Box<Redacted<Transcript>>, Cleaned),
    /// A file was read to its end.
    FileRead(FileReport),
    /// A file could not be read.
    FileFailed(PathBuf, IngestError),
    /// A file is not wanted, and was not opened.
    FileLeftOut(LeftOut),
}

/// What came of one file.
#[derive(Debug)]
pub struct FileReport {
    /// The path as given.
    pub path: PathBuf,
    /// The ingestor that read it; `None` for a file in a folder that is no log of a known format.
    pub format: Option<&'static str>,
    /// Whether it was passed over because it is a dataset that nobody named.
    pub is_dataset: bool,
    /// Records that could not be used.
    pub skipped: Vec<Skipped>,
    /// Records that were repaired.
    pub repaired: usize,
}

/// What to read.
#[derive(Debug, Clone, Default)]
pub struct Sources {
    /// Files, folders, patterns, or `-`.
    pub paths: Vec<PathBuf>,
    /// Logs that were found already, such as those of known programs.
    pub found: Vec<Found>,
    /// Read everything as this format instead of recognising it.
    pub format: Option<String>,
    /// Conversations that a program holds already; they come before all others.
    pub transcripts: Vec<Transcript>,
}

/// The logs that earlier runs have finished, by the hash of their path.
pub type Finished = HashMap<String, FileRead>;

/// Starts reading `sources`, but for the logs in `finished` that have not changed; events arrive in order, and the
/// channel closes at the end.
///
/// Dropping the receiver stops the reading at the next transcript.
///
/// # Errors
/// [`IngestError`] if the format is unknown or nothing is found, before anything is read.
pub fn start(
    sources: &Sources,
    selection: &Selection,
    finished: Finished,
    guard: Guard,
) -> Result<mpsc::Receiver<ReadEvent>, IngestError> {
    let forced = sources.format.as_deref().map(ingest::by_name).transpose()?;
    let mut found = ingest::discover(&sources.paths)?;
    let mut seen: HashSet<PathBuf> = found.iter().map(|one| true_path(&one.path)).collect();
    found.extend(sources.found.iter().filter(|one| seen.insert(true_path(&one.path))).cloned());
    let (sender, receiver) = mpsc::channel(READ_AHEAD);
    let (selection, held) = (selection.clone(), sources.transcripts.clone());
    std::thread::spawn(move || {
        let reader = Reader { forced, selection, finished, guard, sender };
        for transcript in held {
            if reader.hand_over(transcript).is_err() {
                return;
            }
        }
        for found in found {
            if reader.read(found).is_err() {
                return;
            }
        }
    });
    Ok(receiver)
}

/// Nobody wants the rest.
struct Closed;

struct Reader {
    forced: Option<&'static dyn Ingestor>,
    selection: Selection,
    finished: Finished,
    guard: Guard,
    sender: mpsc::Sender<ReadEvent>,
}

impl Reader {
    fn hand_over(&self, transcript: Transcript) -> Result<(), Closed> {
        let (transcript, cleaned) = self.guard.clean_transcript(transcript);
        self.send(ReadEvent::Begun(None))?;
        self.send(ReadEvent::Transcript(Box::new(transcript), cleaned))?;
        self.send(ReadEvent::Ended)
    }

    fn read(&self, found: Found) -> Result<(), Closed> {
        let Found { path, named } = found;
        let stamp = Stamp::of(&path);
        if let Some(reason) = self.leaves(&path, stamp.as_ref().and_then(Stamp::changed_at)) {
            return self.send(ReadEvent::FileLeftOut(reason));
        }
        let mark = stamp.and_then(|stamp| stamp.mark(&path, Timestamp::now()));
        if let Some(file) = self.unchanged(mark.as_ref(), named) {
            return self.send(ReadEvent::Unchanged(Box::new(file)));
        }
        self.send(ReadEvent::Begun(mark))?;
        self.read_whole(path, named)?;
        self.send(ReadEvent::Ended)
    }

    /// Returns why a log is left out, however its path is spelled: a pattern of a folder holds for what is given
    /// relative to it, or through a link.
    fn leaves(&self, path: &Path, changed_at: Option<Timestamp>) -> Option<LeftOut> {
        let as_given = self.selection.leaves_file(path, changed_at);
        if as_given.is_some() || self.selection.exclude.is_empty() || path == Path::new("-") {
            return as_given;
        }
        let spellings = [std::path::absolute(path).ok(), Some(true_path(path))];
        spellings.iter().flatten().find_map(|spelled| self.selection.leaves_file(spelled, changed_at))
    }

    /// Returns what an earlier run made of a log that has not changed. A named one is read even if it is a dataset, and
    /// an error if it is of no format.
    fn unchanged(&self, mark: Option<&FileMark>, named: bool) -> Option<FileRead> {
        let (mark, file) = (mark?, self.finished.get(&mark?.path)?);
        let holds = file.stamp == mark.stamp && (!named || file.outcome == FileOutcome::Read);
        holds.then(|| file.clone())
    }

    fn read_whole(&self, path: PathBuf, named: bool) -> Result<(), Closed> {
        match Logs::open(&path) {
            Ok(Logs::File(input)) => self.tell(path, self.read_file(*input, named)),
            Ok(Logs::Folder(folder)) => self.read_folder(&folder, named),
            Err(error) => self.tell(path.clone(), passed_over(error, path, named)),
        }
    }

    /// Reads a directory or an archive: as a whole if a format takes it so, else file by file.
    fn read_folder(&self, folder: &Folder, named: bool) -> Result<(), Closed> {
        let path = folder.path().to_owned();
        if let Err(source) = std::fs::read_dir(&path)
            && path.is_dir()
        {
            return self.tell(path.clone(), Err(IngestError::Read { path, source }));
        }
        let taker = match self.forced {
            Some(forced) => Some(forced).filter(|ingestor| ingestor.sniff_folder(folder)),
            None => ingest::detect_folder(folder),
        };
        if let Some(ingestor) = taker {
            return self.tell(
                path,
                self.read_by(ingestor, folder.path().to_owned(), |sink| ingestor.read_folder(folder, sink)),
            );
        }
        let mut any = false;
        for name in folder.all_files() {
            let path = folder.path().join(&name);
            if let Some(reason) = self.leaves(&path, None) {
                any = true;
                self.send(ReadEvent::FileLeftOut(reason))?;
                continue;
            }
            let outcome = match folder.open(&name) {
                Ok(input) => self.read_file(input, false),
                Err(error) => passed_over(error, path.clone(), false),
            };
            any |= outcome.as_ref().map_or(true, |report| report.format.is_some() || report.is_dataset);
            self.tell(path, outcome)?;
        }
        if named && !any { self.tell(path.clone(), Err(IngestError::UnknownFormat { path })) } else { Ok(()) }
    }

    fn read_file(&self, input: Input, named: bool) -> Result<FileReport, IngestError> {
        let path = input.path.clone();
        let ingestor = match self.forced.map_or_else(|| ingest::detect(&input), Ok) {
            Ok(ingestor) => ingestor,
            Err(error) => return passed_over(error, path, named),
        };
        if ingestor.is_dataset() && !named && self.forced.is_none() {
            return Ok(FileReport { is_dataset: true, ..FileReport::unread(path) });
        }
        self.read_by(ingestor, path, |sink| ingestor.read(input, sink))
    }

    fn read_by(
        &self,
        ingestor: &'static dyn Ingestor,
        path: PathBuf,
        read: impl FnOnce(&mut Sink<'_>) -> Result<(), IngestError>,
    ) -> Result<FileReport, IngestError> {
        let mut accept = |transcript| {
            let (transcript, cleaned) = self.guard.clean_transcript(transcript);
            // A closed channel means that nobody wants the rest; the thread ends with the file.
            self.sender.blocking_send(ReadEvent::Transcript(Box::new(transcript), cleaned)).ok();
        };
        let mut sink = Sink::new(&mut accept);
        read(&mut sink)?;
        let Sink { skipped, repaired, .. } = sink;
        Ok(FileReport { format: Some(ingestor.name()), skipped, repaired, ..FileReport::unread(path) })
    }

    fn tell(&self, path: PathBuf, outcome: Result<FileReport, IngestError>) -> Result<(), Closed> {
        self.send(outcome.map_or_else(|error| ReadEvent::FileFailed(path, error), ReadEvent::FileRead))
    }

    fn send(&self, event: ReadEvent) -> Result<(), Closed> {
        self.sender.blocking_send(event).map_err(|_| Closed)
    }
}

impl FileReport {
    fn unread(path: PathBuf) -> Self {
        Self { path, format: None, is_dataset: false, skipped: Vec::new(), repaired: 0 }
    }
}

/// In a folder, an empty file or one of no known format is no mistake of anybody's.
fn passed_over(error: IngestError, path: PathBuf, named: bool) -> Result<FileReport, IngestError> {
    match error {
        IngestError::Empty { .. } | IngestError::UnknownFormat { .. } if !named => Ok(FileReport::unread(path)),
        error => Err(error),
    }
}
