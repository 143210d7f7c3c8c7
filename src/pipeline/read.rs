//! Reads the selected logs on a separate thread, ahead of the extraction.
//!
//! A conversation is selected if it has a message in the time range. Within it, the windows with such a message are
//! selected. Conversations are cut as if all windows were selected, so that a later run with a wider range reads the
//! other windows, and no window twice.

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::{HashMap, HashSet};
use std::fs::Metadata;
use std::path::{Path, PathBuf, is_separator};

use glob::{MatchOptions, Pattern};
use jiff::tz::{Offset, TimeZone};
use jiff::{SignedDuration, Timestamp};
use sha2::{Digest, Sha256};
use tokio::sync::mpsc;
use transcripts::{
    self as ingest, FIRST_MODIFIED, Folder, Found, IngestError, Ingestor, Input, Kind, Logs, Message, MessageTime,
    Role, Sink, Skipped, Transcript, UNNAMED_CAPTIONS, hex, true_path,
};

use crate::guard::{Cleaning, Guard, Redacted};
use crate::memory::{Namespace, string_enum};
use crate::project::{ShippedLogs, SourceRepository, identifying, plain};
use crate::store::{FileOutcome, FileRead};

/// Number of transcripts that may wait for extraction; a higher number would only use more memory.
const READ_AHEAD: usize = 1;

/// Events from the reading thread, file by file in the given order.
#[derive(Debug)]
pub(crate) enum ReadEvent {
    /// A file, folder or archive has been opened; the following events belong to it.
    Begun(Option<FileMark>),
    /// The reading of the file, folder or archive has ended.
    Ended,
    /// An earlier run has finished the log, and the log has not changed since.
    Unchanged(Box<FileRead>),
    /// A conversation, with counts of the removed parts.
    Transcript(Box<Redacted<Transcript>>, Cleaning),
    /// A file was read completely.
    FileRead(FileReport),
    /// A file could not be read.
    FileFailed(PathBuf, IngestError),
    /// A file was not selected and therefore not opened.
    FileLeftOut(PathBuf, LeftOut),
    /// A message that the user should see.
    Warning(String),
}

/// The result of reading one file.
#[derive(Debug)]
pub struct FileReport {
    /// The path as specified by the user.
    pub path: PathBuf,
    /// The format in which the file was read; `None` for a file in a folder that is not a log of a known format.
    pub format: Option<&'static str>,
    /// Whether the file was skipped because it is a dataset that was not specified explicitly.
    pub is_dataset: bool,
    /// Records that could not be used.
    pub skipped: Vec<Skipped>,
    /// Records that were repaired.
    pub repaired: usize,
}

/// The logs to read.
#[derive(Debug, Clone, Default)]
pub struct Sources {
    /// Files, folders, patterns, or `-`.
    pub paths: Vec<PathBuf>,
    /// Logs that were already found, such as those of known programs.
    pub found: Vec<Found>,
    /// The format in which all logs are read; if unset, the format of each log is recognised.
    pub format: Option<String>,
    /// The speaker of captions that name no speaker; if unset, their text is attributed to nobody.
    pub speaker: Option<String>,
    /// Conversations that the calling program already has in memory; they come before all others.
    pub transcripts: Vec<Transcript>,
    /// Whether the logs are the user's own, even those that are part of a repository.
    pub are_own: bool,
}

impl Sources {
    /// Returns all logs. A log that is both specified on the command line and found in a known folder is returned only
    /// once.
    pub(super) fn discover(&self) -> Result<Vec<Found>, IngestError> {
        let mut found = ingest::discover(&self.paths)?;
        let mut seen: HashSet<PathBuf> = found.iter().map(|one| true_path(&one.path)).collect();
        found.extend(self.found.iter().filter(|one| seen.insert(true_path(&one.path))).cloned());
        Ok(found)
    }
}

/// Time by which a clock may be ahead of this machine's.
const AHEAD: SignedDuration = SignedDuration::from_hours(24);

/// Removes the times of messages that cannot have been written yet, and returns whether there were any. The latest time of
/// all memories is the one that a brief measures their age from.
fn drop_times_ahead(transcript: &mut Transcript) -> bool {
    let latest = Timestamp::now().saturating_add(AHEAD).unwrap_or(Timestamp::MAX);
    let is_ahead = |at: Timestamp| at > latest;
    let messages = transcript.messages.iter_mut().map(|message| &mut message.time);
    let found = messages.filter(|time| time.is_some_and(|time| is_ahead(time.at))).map(|time| *time = None).count();
    let is_created_ahead = transcript.created_at.is_some_and(is_ahead);
    transcript.created_at = transcript.created_at.filter(|at| !is_ahead(*at));
    found > 0 || is_created_ahead
}

/// The logs that earlier runs have finished, indexed by the hash of the log's path.
type Finished = HashMap<String, FileRead>;

/// Starts reading `sources`, except for the logs in `finished` that have not changed. Events arrive in order, and the
/// channel closes at the end.
///
/// Logs that `shipped` finds to be part of a repository are marked. Dropping the receiver stops the reading at the next
/// transcript.
///
/// # Errors
/// [`IngestError`] if the format is unknown or nothing is found, before anything is read.
pub(super) fn start(
    sources: &Sources,
    selection: &Selection,
    finished: Finished,
    guard: Guard,
    shipped: Option<ShippedLogs>,
) -> Result<mpsc::Receiver<ReadEvent>, IngestError> {
    let forced = sources.format.as_deref().map(ingest::by_name).transpose()?;
    let found = sources.discover()?;
    let (sender, receiver) = mpsc::channel(READ_AHEAD);
    let (selection, held, speaker) = (selection.clone(), sources.transcripts.clone(), sources.speaker.clone());
    // Reading blocks on file access, so it runs on a thread instead of in a task.
    std::thread::spawn(move || {
        let linked = LinkedFiles::new(&selection.deny, found.iter().map(|one| one.path.as_path()));
        let is_warned = Cell::new(false);
        let named_roots = RefCell::default();
        let given = found.iter().map(|one| one.path.clone()).collect();
        let reader = Reader {
            forced,
            speaker,
            selection,
            linked,
            given,
            is_warned,
            finished,
            guard,
            sender,
            shipped,
            named_roots,
        };
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

/// Indicates that the receiver is closed, so that the remaining logs are not read.
struct Closed;

struct Reader {
    forced: Option<&'static dyn Ingestor>,
    speaker: Option<String>,
    selection: Selection,
    linked: LinkedFiles,
    /// The paths of all logs.
    given: HashSet<PathBuf>,
    /// Whether a warning about names that are unknown was sent.
    is_warned: Cell<bool>,
    finished: Finished,
    guard: Guard,
    sender: mpsc::Sender<ReadEvent>,
    /// Finds logs that are part of a repository; `None` if all logs are the user's own.
    shipped: Option<ShippedLogs>,
    /// The repositories that a warning has named.
    named_roots: RefCell<HashSet<PathBuf>>,
}

impl Reader {
    fn hand_over(&self, mut transcript: Transcript) -> Result<(), Closed> {
        drop_times_ahead(&mut transcript);
        let (transcript, cleaned) = self.guard.clean_transcript(transcript);
        self.send(ReadEvent::Begun(None))?;
        self.send(ReadEvent::Transcript(Box::new(transcript), cleaned))?;
        self.send(ReadEvent::Ended)
    }

    fn read(&self, found: Found) -> Result<(), Closed> {
        let Found { path, named } = found;
        // The stamp is determined before reading, so that a log that grows during reading counts as changed in the next
        // run.
        let stamp = Stamp::of(&path);
        if let Some(reason) = self.leaves(&path, stamp.as_ref().and_then(Stamp::changed_at)) {
            return self.send(ReadEvent::FileLeftOut(path, reason));
        }
        let mark = stamp.and_then(|stamp| stamp.mark(&path, Timestamp::now()));
        if let Some(file) = self.unchanged(mark.as_ref(), named) {
            return self.send(ReadEvent::Unchanged(Box::new(file)));
        }
        self.send(ReadEvent::Begun(mark))?;
        self.read_whole(path, named)?;
        self.send(ReadEvent::Ended)
    }

    /// Returns why a log is left out, regardless of the spelling of its path. A pattern for a folder also applies to
    /// relative paths and to paths through a link.
    fn leaves(&self, path: &Path, changed_at: Option<Timestamp>) -> Option<LeftOut> {
        let as_given = self.selection.leaves_file(path, changed_at);
        if as_given.is_some() || self.selection.excludes_nothing() || path == Path::new("-") {
            return as_given;
        }
        let spellings = [std::path::absolute(path).ok(), Some(true_path(path))];
        let left = spellings.iter().flatten().find_map(|spelled| self.selection.leaves_file(spelled, changed_at));
        left.or_else(|| (self.linked.other_names(path) == OtherNames::Denied).then_some(LeftOut::Excluded))
    }

    /// Returns the result of an earlier run for a log that has not changed. A log that the user specifies explicitly is
    /// read again if it is a dataset or has no known format, because such logs are then treated differently.
    fn unchanged(&self, mark: Option<&FileMark>, named: bool) -> Option<FileRead> {
        let (mark, file) = (mark?, self.finished.get(&mark?.path)?);
        let holds = file.stamp == mark.stamp && (!named || file.outcome == FileOutcome::Read);
        holds.then(|| file.clone())
    }

    fn read_whole(&self, path: PathBuf, named: bool) -> Result<(), Closed> {
        // A log elsewhere does not become a part of a repository that contains a link to it.
        let outside = self.shipped.as_ref().and_then(|shipped| shipped.target_outside(&path));
        let path = outside.unwrap_or(path);
        match Logs::open(&path) {
            Ok(Logs::File(input)) => self.send_outcome(path, self.read_file(*input, named)),
            Ok(Logs::Folder(folder)) => self.read_folder(&folder, named),
            Err(error) => self.send_outcome(path.clone(), passed_over(error, path, named)),
        }
    }

    /// Reads a directory or an archive, as a whole if a format accepts it as a whole, and otherwise file by file.
    fn read_folder(&self, folder: &Folder, named: bool) -> Result<(), Closed> {
        let path = folder.path().to_owned();
        // The folder is checked first, because a folder that cannot be listed would look like an empty folder.
        if let Err(source) = std::fs::read_dir(&path)
            && path.is_dir()
        {
            return self.send_outcome(path.clone(), Err(IngestError::Read { path, source }));
        }
        let taker = match self.forced {
            Some(forced) => Some(forced).filter(|ingestor| ingestor.sniff_folder(folder)),
            None => ingest::detect_folder(folder),
        };
        if let Some(ingestor) = taker {
            return self.send_outcome(
                path,
                self.read_by(ingestor, folder.path().to_owned(), |sink| ingestor.read_folder(folder, sink)),
            );
        }
        let mut any = false;
        for name in folder.all_files() {
            let path = folder.path().join(&name);
            if let Some(reason) = self.leaves(&path, None) {
                any = true;
                self.send(ReadEvent::FileLeftOut(path, reason))?;
                continue;
            }
            let outcome = match folder.open(&name) {
                Ok(input) => self.read_file(input, false),
                Err(error) => passed_over(error, path.clone(), false),
            };
            any |= outcome.as_ref().map_or(true, |report| report.format.is_some() || report.is_dataset);
            self.send_outcome(path, outcome)?;
        }
        if named && !any { self.send_outcome(path.clone(), Err(IngestError::UnknownFormat { path })) } else { Ok(()) }
    }

    fn read_file(&self, input: Input, named: bool) -> Result<FileReport, IngestError> {
        let path = input.path.clone();
        // One warning is enough, because a backup may consist of nothing but such files.
        if !self.is_warned.get() && self.linked.other_names(&path) == OtherNames::Unknown {
            self.is_warned.set(true);
            // A closed channel means that the remaining logs are not needed.
            self.sender.blocking_send(ReadEvent::Warning(self.linked.warning(&path))).ok();
        }
        let ingestor = match self.forced.map_or_else(|| ingest::detect(&input), Ok) {
            Ok(ingestor) => ingestor,
            Err(error) => return passed_over(error, path, named),
        };
        if ingestor.is_dataset() && !named && self.forced.is_none() {
            return Ok(FileReport { is_dataset: true, ..FileReport::unread(path) });
        }
        let outcome = self.read_by(ingestor, path.clone(), |sink| ingestor.read(input, sink));
        outcome.or_else(|error| {
            let is_given = |other: &str| self.given.contains(&path.with_file_name(other));
            let is_given = matches!(&error, IngestError::ReadElsewhere { other, .. } if is_given(other));
            passed_over(error, path, named && !is_given)
        })
    }

    fn read_by(
        &self,
        ingestor: &'static dyn Ingestor,
        path: PathBuf,
        read: impl FnOnce(&mut Sink<'_>) -> Result<(), IngestError>,
    ) -> Result<FileReport, IngestError> {
        let (mut is_attributed, mut is_read, mut is_dated_ahead) = (false, false, false);
        let shipped_by = self.shipped_by(&path);
        let mut accept = |mut transcript: Transcript| {
            transcript.shipped_by.clone_from(&shipped_by);
            is_dated_ahead |= drop_times_ahead(&mut transcript);
            is_read = true;
            is_attributed |= self.speaker.as_deref().is_some_and(|name| attribute_captions(&mut transcript, name));
            let (transcript, cleaned) = self.guard.clean_transcript(transcript);
            // A closed channel means that the remaining logs are not needed; the thread ends after this file.
            self.sender.blocking_send(ReadEvent::Transcript(Box::new(transcript), cleaned)).ok();
        };
        let mut sink = Sink::new(&mut accept);
        read(&mut sink)?;
        let Sink { mut skipped, repaired, read_from, .. } = sink;
        if is_dated_ahead {
            let warning = format!("{} has times after today, which count as unknown", plain(&path));
            // A closed channel means that the remaining logs are not needed.
            self.sender.blocking_send(ReadEvent::Warning(warning)).ok();
        }
        if let Some(other) = read_from.filter(|_| !is_read) {
            return Err(IngestError::ReadElsewhere { path, other, format: ingestor.name() });
        }
        // A format that the user chose may be the wrong one.
        if self.forced.is_some() && !is_read && !skipped.is_empty() {
            return Err(IngestError::OtherFormat { path, format: ingestor.name() });
        }
        skipped.retain(|one| !is_attributed || one.reason != UNNAMED_CAPTIONS);
        Ok(FileReport { format: Some(ingestor.name()), skipped, repaired, ..FileReport::unread(path) })
    }

    /// Returns the root of the repository that a log is part of, and says once what follows from it.
    fn shipped_by(&self, path: &Path) -> Option<String> {
        let SourceRepository { root, doubt } = self.shipped.as_ref()?.origin_of(path)?;
        let text = plain(&root);
        if self.named_roots.borrow_mut().insert(root) {
            let what = match doubt {
                None => format!("the logs in {text} that git tracks are part of the repository"),
                Some(why) => format!("the logs in {text} may be part of the repository ({why})"),
            };
            let warning = format!(
                "{what}, so anybody may have written them: their memories belong to that project, and what they say \
                 about you or ask for waits in the inbox; if they are your own logs, add --trusted"
            );
            // A closed channel means that the remaining logs are not needed.
            self.sender.blocking_send(ReadEvent::Warning(warning)).ok();
        }
        Some(text)
    }

    fn send_outcome(&self, path: PathBuf, outcome: Result<FileReport, IngestError>) -> Result<(), Closed> {
        self.send(outcome.map_or_else(|error| ReadEvent::FileFailed(path, error), ReadEvent::FileRead))
    }

    fn send(&self, event: ReadEvent) -> Result<(), Closed> {
        self.sender.blocking_send(event).map_err(|_| Closed)
    }
}

fn are_captions(transcript: &Transcript) -> bool {
    matches!(transcript.source.as_str(), "srt" | "webvtt")
}

/// Attributes captions to `speaker` if none of them names a speaker, and returns whether that is so.
fn attribute_captions(transcript: &mut Transcript, speaker: &str) -> bool {
    let is_unnamed = |message: &Message| message.kind == Kind::Prose && message.role == Role::Other;
    if !are_captions(transcript) || transcript.messages.iter().any(|message| message.speaker.is_some()) {
        return false;
    }
    for message in transcript.messages.iter_mut().filter(|message| is_unnamed(message)) {
        message.role = Role::User;
        message.speaker = Some(speaker.to_owned());
    }
    true
}

/// Returns the redacted name of the only speaker of captions, if it is the person whom the user named for captions
/// without speakers.
pub(super) fn attributed_to<'t>(transcript: &'t Transcript, sources: &Sources, guard: &Guard) -> Option<&'t str> {
    let named = sources.speaker.as_ref().filter(|_| are_captions(transcript))?;
    let mut names = transcript.messages.iter().filter_map(|message| message.speaker.as_deref());
    let first = names.next()?;
    let is_named = first == named || *first == **guard.redact(named.clone()).0;
    (is_named && names.all(|name| name == first)).then_some(first)
}

impl FileReport {
    fn unread(path: PathBuf) -> Self {
        Self { path, format: None, is_dataset: false, skipped: Vec::new(), repaired: 0 }
    }
}

/// In a folder, an empty file, a file of an unknown format and a part of another log are not errors.
fn passed_over(error: IngestError, path: PathBuf, named: bool) -> Result<FileReport, IngestError> {
    match error {
        IngestError::Empty { .. } | IngestError::UnknownFormat { .. } | IngestError::OtherFormat { .. } if !named => {
            Ok(FileReport::unread(path))
        }
        IngestError::ReadElsewhere { format, other, .. } if !named => {
            let reason = format!("the conversation is read from {other} in the same folder");
            let skipped = vec![Skipped { record: 1, reason }];
            Ok(FileReport { format: Some(format), skipped, ..FileReport::unread(path) })
        }
        error => Err(error),
    }
}

/// A log, identified by its path and its state at the start of reading.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FileMark {
    /// Hash of the log's path.
    pub path: String,
    /// Stamp of the log.
    pub stamp: String,
}

/// Size and modification time of a log, which reveal whether the log has changed.
#[derive(Debug, Clone)]
pub(crate) struct Stamp {
    hasher: Sha256,
    bytes: u64,
    changed_at: Option<Timestamp>,
}

/// Time within which a change may be invisible on a file system that stores times in steps of one or two seconds.
const COARSE: SignedDuration = SignedDuration::from_secs(2);

impl Stamp {
    /// Returns the stamp of the file or folder at `path`; `None` if neither exists, as for standard input.
    ///
    /// The stamp of a database includes its write-ahead log, and the stamp of a folder includes all of its contents.
    pub(crate) fn of(path: &Path) -> Option<Self> {
        let data = path.metadata().ok()?;
        let mut stamp = Self { hasher: Sha256::new(), bytes: 0, changed_at: None };
        if data.is_dir() {
            // The entries are sorted, because file systems list them in different orders, which must not affect the
            // stamp.
            for entry in walkdir::WalkDir::new(path).sort_by_file_name().into_iter().flatten() {
                // A file may disappear after it was listed; the stamp then covers the remaining files.
                if let Some(data) = entry.metadata().ok().filter(Metadata::is_file) {
                    stamp.add(entry.path(), &data);
                }
            }
        } else {
            stamp.add(Path::new(""), &data);
            let mut log = path.as_os_str().to_owned();
            // SQLite first writes new rows to this log and may leave the database file unchanged for hours.
            log.push("-wal");
            Path::new(&log).metadata().into_iter().for_each(|data| stamp.add(Path::new("-wal"), &data));
        }
        Some(stamp)
    }

    fn add(&mut self, name: &Path, data: &Metadata) {
        let changed_at = data.modified().ok().and_then(|at| Timestamp::try_from(at).ok());
        let nanosecond = changed_at.map_or(0, Timestamp::as_nanosecond);
        self.hasher.update(name.as_os_str().as_encoded_bytes());
        // The separators ensure that different names, sizes and times never produce the same input.
        self.hasher.update(format!("\u{1f}{}\u{1f}{nanosecond}\u{1f}{}\u{1e}", data.len(), noticed_at(data)));
        self.bytes += data.len();
        self.changed_at = self.changed_at.max(changed_at);
    }

    /// Returns the size of the log.
    pub(crate) const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns the modification time of the log.
    pub(crate) const fn changed_at(&self) -> Option<Timestamp> {
        self.changed_at
    }

    /// Returns the stamp as it is stored in the ledger.
    pub(crate) fn text(&self) -> String {
        hex(&self.hasher.clone().finalize()[..16])
    }

    /// Returns the mark that identifies a finished log; `None` if a later change might not affect the stamp.
    pub(crate) fn mark(&self, path: &Path, now: Timestamp) -> Option<FileMark> {
        let changed_at = self.changed_at?;
        let is_coarse = changed_at.subsec_nanosecond() == 0;
        let is_certain = !is_coarse || now.duration_since(changed_at) > COARSE;
        is_certain.then(|| FileMark { path: path_key(path), stamp: self.text() })
    }
}

/// Returns when the system last recorded a change of the file. Unlike the modification time, no program can set this
/// time, so it reveals changed content with the same size and modification time.
#[cfg(unix)]
fn noticed_at(data: &Metadata) -> i128 {
    use std::os::unix::fs::MetadataExt as _;
    i128::from(data.ctime()) * 1_000_000_000 + i128::from(data.ctime_nsec())
}

/// Returns zero, because this system does not record such a time.
#[cfg(not(unix))]
const fn noticed_at(_: &Metadata) -> i128 {
    0
}

/// Returns the key of a path: a hash that does not depend on the spelling of the path.
pub(crate) fn path_key(path: &Path) -> String {
    hex(&Sha256::digest(true_path(path).as_os_str().as_encoded_bytes())[..16])
}

/// The conversations that were read from logs.
#[derive(Debug, Default)]
pub(crate) struct Conversations {
    /// The conversations, without secrets and injected blocks, in the order of the logs.
    pub transcripts: Vec<Transcript>,
    /// Logs that could not be read, each with the reason.
    pub failed: Vec<(PathBuf, IngestError)>,
}

/// Reads every conversation of `sources`, as [`super::run()`] would.
///
/// # Errors
/// [`IngestError`] if the format is unknown or nothing is found.
pub(crate) async fn conversations(sources: &Sources, guard: &Guard) -> Result<Conversations, IngestError> {
    let shipped = (!sources.are_own).then(ShippedLogs::on_this_machine);
    let mut reader = start(sources, &Selection::default(), Finished::new(), guard.clone(), shipped)?;
    let mut read = Conversations::default();
    while let Some(event) = reader.recv().await {
        match event {
            ReadEvent::Transcript(transcript, _) => read.transcripts.push(transcript.into_inner()),
            ReadEvent::FileFailed(path, error) => read.failed.push((path, error)),
            ReadEvent::Begun(_)
            | ReadEvent::Ended
            | ReadEvent::Unchanged(_)
            | ReadEvent::FileRead(_)
            | ReadEvent::FileLeftOut(..)
            | ReadEvent::Warning(_) => {}
        }
    }
    Ok(read)
}

/// The conditions for selecting conversations; by default, all conversations are selected.
#[derive(Debug, Clone, Default)]
pub struct Selection {
    /// Earliest time of selected messages.
    pub since: Option<Timestamp>,
    /// End of the time range; messages from this time on are not selected.
    pub until: Option<Timestamp>,
    /// The time zone of logs that do not state a time zone; UTC if unset.
    pub zone: Option<TimeZone>,
    /// The projects to select, as names or as folders, each including all nested folders. If the list is empty, all
    /// projects are selected.
    pub projects: Vec<String>,
    /// The namespaces of selected projects with names that appear in no log.
    pub namespaces: Vec<Namespace>,
    /// Patterns of files and projects to leave out.
    pub exclude: Vec<Pattern>,
    /// Patterns of files and projects that must not be read. Unlike `exclude`, they also apply to the other names (hard
    /// links) of a matching file.
    pub deny: Vec<Pattern>,
}

string_enum!(
    /// The reason for leaving something out.
    LeftOut, "a reason for leaving something out", {
    /// The path or project of the log matches an exclude pattern.
    Excluded = "excluded",
    /// The conversation has no message in the time range.
    OutOfRange = "outside of the time range",
    /// The user specified a time range, but the time of the conversation is unknown.
    Undated = "without a time",
    /// The conversation belongs to none of the requested projects.
    OtherProject = "of another project",
});

// By default, paths on Windows and macOS are case-insensitive.
const MATCHING: MatchOptions =
    MatchOptions { case_sensitive: false, require_literal_separator: true, require_literal_leading_dot: false };

impl Selection {
    /// Returns why a file is left out without being opened. A file that was last modified before the time range
    /// contains no messages in the range.
    pub(crate) fn leaves_file(&self, path: &Path, changed_at: Option<Timestamp>) -> Option<LeftOut> {
        if self.excludes(&path.to_string_lossy()) {
            return Some(LeftOut::Excluded);
        }
        let known = changed_at.filter(|at| at.as_second() >= FIRST_MODIFIED);
        let is_older = self.since.is_some_and(|since| known.is_some_and(|at| at < since));
        is_older.then_some(LeftOut::OutOfRange)
    }

    /// Returns why a conversation that belongs to `namespace` is left out.
    pub(crate) fn leaves(&self, transcript: &Transcript, namespace: &Namespace) -> Option<LeftOut> {
        let project = transcript.project.as_deref().unwrap_or_default();
        // A log in an archive is known only by the origin of its conversations.
        if !project.is_empty() && self.excludes(project) || self.excludes_as_spelled(&transcript.origin) {
            return Some(LeftOut::Excluded);
        }
        let is_wanted = |wanted: &String| is_project(wanted, project, &namespace.to_string());
        let is_known_by_name = self.namespaces.contains(namespace);
        if !self.projects.is_empty() && !is_known_by_name && !self.projects.iter().any(is_wanted) {
            return Some(LeftOut::OtherProject);
        }
        if self.since.is_none() && self.until.is_none() {
            return None;
        }
        let mut times = transcript.messages.iter().filter_map(|message| message.time).peekable();
        if times.peek().is_none() {
            return match transcript.created_at {
                Some(at) => (!self.is_in_range(at)).then_some(LeftOut::OutOfRange),
                None => Some(LeftOut::Undated),
            };
        }
        (!times.any(|time| self.holds(&time))).then_some(LeftOut::OutOfRange)
    }

    /// Returns the projects requested by name. Projects requested by folder are not included, because a folder selects
    /// only conversations that took place in this folder.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.projects.iter().map(String::as_str).filter(|text| !is_absolute(text))
    }

    /// Returns whether a window of a selected conversation is selected. A window of unknown time is always selected.
    pub(crate) fn takes(&self, messages: &[Message]) -> bool {
        let mut times = messages.iter().filter_map(|message| message.time).peekable();
        times.peek().is_none() || times.any(|time| self.holds(&time))
    }

    fn holds(&self, time: &MessageTime) -> bool {
        let at = match (&self.zone, time.offset_seconds) {
            // The text is a local time without a time zone, and most logs were written in the time zone in which they
            // are read.
            (Some(zone), None) => {
                let reading = Offset::UTC.to_datetime(time.at);
                // A local time that a clock change skipped or repeated is resolved in the same way as in calendars (RFC
                // 5545).
                zone.to_ambiguous_timestamp(reading).compatible().unwrap_or(time.at)
            }
            _ => time.at,
        };
        self.is_in_range(at)
    }

    fn is_in_range(&self, at: Timestamp) -> bool {
        self.since.is_none_or(|since| at >= since) && self.until.is_none_or(|until| at < until)
    }

    const fn excludes_nothing(&self) -> bool {
        self.exclude.is_empty() && self.deny.is_empty()
    }

    /// Returns whether a path is excluded. A pattern without `/` matches any component of the path; any other pattern
    /// matches the path, the end of the path, or a folder above it.
    fn excludes(&self, path: &str) -> bool {
        // An excluded folder must not be read through a link.
        let real = || Path::new(path).is_absolute().then(|| Path::new(path).canonicalize().ok()).flatten();
        !self.excludes_nothing()
            && (self.excludes_as_spelled(path)
                || real().is_some_and(|real| self.excludes_as_spelled(&real.to_string_lossy())))
    }

    fn excludes_as_spelled(&self, path: &str) -> bool {
        // A log may come from another system, so both separators count.
        let path = path.replace('\\', "/");
        let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
        self.exclude.iter().chain(&self.deny).any(|pattern| {
            let text = pattern.as_str();
            if !text.trim_end_matches('/').contains('/') {
                return parts.iter().any(|part| matches(text.trim_end_matches('/'), part));
            }
            let root = if path.starts_with('/') { "/" } else { "" };
            let folders = (1..=parts.len()).map(|count| format!("{root}{}", parts[..count].join("/")));
            let whole = text.trim_end_matches('/');
            // Everything below an excluded folder is excluded as well, and `folder/**` includes the folder itself.
            let whole = whole.strip_suffix("/**").filter(|folder| !folder.is_empty()).unwrap_or(whole);
            let anywhere = if whole.starts_with('/') { whole.to_owned() } else { format!("**/{whole}") };
            folders.into_iter().any(|folder| matches(whole, &folder) || matches(&anywhere, &folder))
        })
    }
}

/// The denied files, by their inodes, so that such a file is not read under another of its names (hard links). The files
/// are listed only when the first file with several names is met, because few files have them.
pub(crate) struct LinkedFiles {
    /// Patterns with the full path of a folder.
    folders: Vec<String>,
    /// All patterns, if some of them have no full path and therefore match anywhere.
    anywhere: Option<Selection>,
    /// The folders below which files that match anywhere are looked for.
    roots: Vec<PathBuf>,
    files: OnceCell<Option<DeniedFiles>>,
}

/// The denied files that have several names.
#[derive(Default)]
struct DeniedFiles {
    ids: HashSet<FileId>,
    /// The number of names that files have below the roots.
    names: HashMap<FileId, u64>,
}

/// What is known about the other names of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OtherNames {
    /// None of them is denied.
    Allowed,
    /// One of them is denied.
    Denied,
    /// Some are in folders that were not searched for files that match a pattern without a full path.
    Unknown,
}

/// A device and an inode.
type FileId = (u64, u64);

/// Maximum number of files and folders that are listed below denied folders, and below the roots.
const MOST_LISTED: usize = 200_000;

impl LinkedFiles {
    /// Files that match a pattern without a full path are looked for below the folders of `logs` and the working
    /// directory, because they could be anywhere.
    pub(crate) fn new<'p>(deny: &[Pattern], logs: impl IntoIterator<Item = &'p Path>) -> Self {
        let whole = |pattern: &Pattern| {
            let text = pattern.as_str().trim_end_matches('/');
            Path::new(text).is_absolute().then(|| text.strip_suffix("/**").unwrap_or(text).to_owned())
        };
        let folders: Vec<String> = deny.iter().filter_map(whole).collect();
        let is_anywhere = folders.len() < deny.len();
        let anywhere = is_anywhere.then(|| Selection { deny: deny.to_vec(), ..Selection::default() });
        let roots = if is_anywhere { roots(logs) } else { Vec::new() };
        Self { folders, anywhere, roots, files: OnceCell::new() }
    }

    /// Returns whether another name of a file is denied. If there are too many files in denied folders to list, every
    /// file with several names counts as denied.
    pub(crate) fn other_names(&self, path: &Path) -> OtherNames {
        if self.folders.is_empty() && self.anywhere.is_none() {
            return OtherNames::Allowed;
        }
        let Some((id, names)) = std::fs::metadata(path).ok().as_ref().and_then(several_names) else {
            return OtherNames::Allowed;
        };
        match self.files.get_or_init(|| self.listed()) {
            None => OtherNames::Denied,
            Some(files) if files.ids.contains(&id) => OtherNames::Denied,
            Some(files) if self.anywhere.is_some() && files.names.get(&id).is_none_or(|seen| *seen < names) => {
                OtherNames::Unknown
            }
            Some(_) => OtherNames::Allowed,
        }
    }

    /// Returns the warning about a file some of whose names are unknown.
    pub(crate) fn warning(&self, path: &Path) -> String {
        let patterns = self.anywhere.iter().flat_map(|all| &all.deny).map(Pattern::as_str);
        let relative: Vec<&str> = patterns.filter(|text| !Path::new(text).is_absolute()).collect();
        format!(
            "{} has other names (hard links) in folders that were not searched, so it was read although guard.deny may \
             apply to one of them; write {} with the full path of a folder",
            path.display(),
            relative.join(", ")
        )
    }

    fn listed(&self) -> Option<DeniedFiles> {
        let mut files = DeniedFiles::default();
        let matched = |pattern: &String| glob::glob_with(pattern, MATCHING).ok();
        let found = self.folders.iter().filter_map(matched).flatten().flatten();
        let mut waiting: Vec<PathBuf> = found.take(MOST_LISTED).collect();
        let (mut folders, mut count) = (HashSet::new(), waiting.len());
        while let Some(path) = waiting.pop() {
            // Links are followed, because what they lead to is denied as well.
            let Ok(data) = path.metadata() else { continue };
            if data.is_dir() && path.canonicalize().is_ok_and(|path| folders.insert(path)) {
                let entries = std::fs::read_dir(&path).into_iter().flatten().flatten();
                waiting.extend(entries.map(|entry| entry.path()).inspect(|_| count += 1));
            }
            if count > MOST_LISTED {
                return None;
            }
            files.ids.extend(several_names(&data).map(|(id, _)| id));
        }
        if let Some(anywhere) = &self.anywhere {
            let entries = self.roots.iter().flat_map(walkdir::WalkDir::new).flatten().take(MOST_LISTED);
            for entry in entries.filter(|entry| entry.file_type().is_file()) {
                let Some((id, _)) = entry.metadata().ok().as_ref().and_then(several_names) else { continue };
                *files.names.entry(id).or_default() += 1;
                if anywhere.excludes_as_spelled(&entry.path().to_string_lossy()) {
                    files.ids.insert(id);
                }
            }
        }
        Some(files)
    }
}

/// Returns the folders of `logs` and the working directory, without the folders that are inside of others.
fn roots<'p>(logs: impl IntoIterator<Item = &'p Path>) -> Vec<PathBuf> {
    let folder = |path: &Path| if path.is_dir() { Some(path.to_owned()) } else { path.parent().map(Path::to_owned) };
    let folders = logs.into_iter().filter_map(folder).chain(std::env::current_dir().ok());
    let mut all: Vec<PathBuf> = folders.filter_map(|folder| folder.canonicalize().ok()).collect();
    // A folder sorts before the folders inside of it.
    all.sort();
    all.dedup_by(|inner, outer| inner.starts_with(outer));
    all
}

/// Returns the identity of a file that has more than one name, with the number of names.
#[cfg(unix)]
fn several_names(data: &Metadata) -> Option<(FileId, u64)> {
    use std::os::unix::fs::MetadataExt as _;
    (data.is_file() && data.nlink() > 1).then(|| ((data.dev(), data.ino()), data.nlink()))
}

/// On other systems, the number of names is unknown.
#[cfg(not(unix))]
fn several_names(_: &Metadata) -> Option<(FileId, u64)> {
    None
}

fn matches(pattern: &str, text: &str) -> bool {
    // The whole pattern was parsed earlier, and its parts are no more complex.
    Pattern::new(pattern).is_ok_and(|pattern| pattern.matches_with(text, MATCHING))
}

/// Returns whether `wanted` denotes the project of a conversation: its namespace, its folder or a folder above it, or
/// the last component of either.
fn is_project(wanted: &str, project: &str, namespace: &str) -> bool {
    let even = |text: &str| identifying(text.trim().trim_end_matches(['/', '\\'])).replace('\\', "/");
    let (wanted, project) = (even(wanted), even(project));
    if wanted.is_empty() || wanted == namespace {
        return !wanted.is_empty();
    }
    if wanted.contains('/') {
        return project.strip_prefix(&wanted).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    }
    let last = project.rsplit(['/', ':']).next().unwrap_or_default().trim_end_matches(".git");
    let id = namespace.strip_prefix("project/").unwrap_or_default();
    // The digits that distinguish projects with the same name are not part of the name.
    let is_hash = |digits: &str| digits.len() >= 6 && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    let name = id.rsplit_once('-').filter(|(_, digits)| is_hash(digits)).map_or(id, |(name, _)| name);
    [last, id, name].iter().any(|own| !own.is_empty() && own.to_lowercase() == wanted.to_lowercase())
}

/// Returns whether `text` is the absolute path of a folder, on this machine or on another machine.
fn is_absolute(text: &str) -> bool {
    text.starts_with(['/', '\\']) || text.get(1..3).is_some_and(|drive| drive == ":\\" || drive == ":/")
}

/// Returns the folder that a path from the user denotes, or the name unchanged.
pub(crate) fn named_project(text: &str, directory: &Path, home: Option<&Path>) -> String {
    let is_path = text == "." || text == ".." || text.contains(is_separator);
    if !is_path || text.starts_with("project/") {
        return text.to_owned();
    }
    let path = match (text.strip_prefix('~').and_then(|rest| rest.strip_prefix(is_separator)), home) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => directory.join(text),
    };
    // Dots in the path are resolved if the folder exists; the address of a repository is not changed.
    let known = path.canonicalize().ok();
    let is_address = !text.starts_with(['.', '/', '~']) && known.is_none();
    if is_address { text.to_owned() } else { plain(&known.unwrap_or(path)) }
}

#[cfg(test)]
mod stamp_tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_change_of_size_time_or_write_ahead_log_shows() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.db");
        fs::write(&path, "one").unwrap();
        let text = |path: &Path| Stamp::of(path).unwrap().text();
        let (file, whole) = (text(&path), text(folder.path()));
        assert_eq!((text(&path), text(folder.path())), (file.clone(), whole.clone()));
        fs::write(folder.path().join("a.db-wal"), "x").unwrap();
        assert_ne!(text(&path), file);
        assert_ne!(text(folder.path()), whole);
        fs::remove_file(folder.path().join("a.db-wal")).unwrap();
        assert_eq!(text(&path), file);
        let later = std::time::SystemTime::now() + std::time::Duration::from_secs(5);
        fs::File::options().write(true).open(&path).unwrap().set_modified(later).unwrap();
        assert_ne!(text(&path), file, "rewritten in the same length");
        assert!(Stamp::of(Path::new("-")).is_none());
    }

    #[cfg(unix)]
    #[test]
    fn other_content_of_the_same_size_and_time_shows() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.jsonl");
        fs::write(&path, "one").unwrap();
        let (text, at) = (Stamp::of(&path).unwrap().text(), path.metadata().unwrap().modified().unwrap());
        // The clock of a file system advances only every few milliseconds.
        std::thread::sleep(std::time::Duration::from_millis(30));
        fs::write(&path, "two").unwrap();
        fs::File::options().write(true).open(&path).unwrap().set_modified(at).unwrap();
        assert_ne!(Stamp::of(&path).unwrap().text(), text);
    }

    #[test]
    fn a_path_has_one_key_however_it_is_spelled() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("b")).unwrap();
        fs::write(folder.path().join("a"), "x").unwrap();
        assert_eq!(path_key(&folder.path().join("a")), path_key(&folder.path().join("b/../a")));
        assert_ne!(path_key(&folder.path().join("a")), path_key(&folder.path().join("b")));
    }

    #[test]
    fn a_file_just_written_on_a_coarse_clock_is_not_noted() {
        let at = |nanosecond| Timestamp::new(1_000, nanosecond).unwrap();
        let stamp = |changed_at| Stamp { hasher: Sha256::new(), bytes: 0, changed_at: Some(changed_at) };
        let path = Path::new("a");
        assert!(stamp(at(0)).mark(path, Timestamp::new(1_001, 0).unwrap()).is_none());
        assert!(stamp(at(0)).mark(path, Timestamp::new(1_003, 0).unwrap()).is_some());
        assert!(stamp(at(5)).mark(path, Timestamp::new(1_001, 0).unwrap()).is_some());
    }
}

#[cfg(test)]
mod select_tests {
    use super::*;
    use transcripts::TimeSource;

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    fn said(time: &str) -> Message {
        Message { time: Some(MessageTime::logged(at(time))), ..Message::user("x") }
    }

    fn talk(project: &str, messages: Vec<Message>) -> Transcript {
        Transcript { project: Some(project.to_owned()), messages, ..Transcript::default() }
    }

    fn excluding(pattern: &str) -> Selection {
        Selection { exclude: vec![Pattern::new(pattern).unwrap()], ..Selection::default() }
    }

    #[test]
    fn a_conversation_is_wanted_for_any_message_in_the_range() {
        let march = Selection {
            since: Some(at("2026-03-01T00:00:00Z")),
            until: Some(at("2026-04-01T00:00:00Z")),
            ..Selection::default()
        };
        let global = Namespace::global();
        let table: &[(&[&str], Option<LeftOut>)] = &[
            (&["2026-02-28T23:59:59Z"], Some(LeftOut::OutOfRange)),
            (&["2026-03-01T00:00:00Z"], None),
            (&["2026-02-01T00:00:00Z", "2026-03-15T00:00:00Z"], None),
            (&["2026-02-01T00:00:00Z", "2026-04-01T00:00:00Z"], Some(LeftOut::OutOfRange)),
            (&[], Some(LeftOut::Undated)),
        ];
        for (times, wanted) in table {
            let messages: Vec<_> = times.iter().map(|time| said(time)).collect();
            assert_eq!(march.leaves(&talk("", messages), &global), *wanted, "{times:?}");
        }
        assert_eq!(Selection::default().leaves(&talk("", Vec::new()), &global), None);
        let begun = Transcript { created_at: Some(at("2026-03-02T00:00:00Z")), ..Transcript::default() };
        assert_eq!(march.leaves(&begun, &global), None);
        assert!(march.takes(&[said("2026-02-01T00:00:00Z"), said("2026-03-02T00:00:00Z")]));
        assert!(!march.takes(&[said("2026-02-01T00:00:00Z")]) && march.takes(&[Message::user("undated")]));
    }

    #[test]
    fn a_clock_without_offset_is_read_where_the_person_is() {
        let reading = MessageTime { at: at("2026-03-01T08:00:00Z"), offset_seconds: None, source: TimeSource::Log };
        let message = Message { time: Some(reading), ..Message::user("x") };
        let tokyo = TimeZone::fixed(Offset::from_hours(9).unwrap());
        let since = Some(at("2026-03-01T00:00:00Z"));
        let here = Selection { since, zone: Some(tokyo), ..Selection::default() };
        assert!(!here.takes(std::slice::from_ref(&message)), "it was 23:00 of the day before in UTC");
        assert!(Selection { zone: None, ..here }.takes(&[message]));
    }

    #[test]
    fn projects_are_named_by_their_end_their_folder_or_their_namespace() {
        let namespace = Namespace::project("shop-1a2b3c").unwrap();
        let table = [
            ("shop", true),
            ("SHOP", true),
            ("shop-1a2b3c", true),
            ("project/shop-1a2b3c", true),
            ("/home/ana/shop", true),
            ("/home/ana/", true),
            ("/home/an", false),
            ("/home/ana/shop/web", false),
            ("ana", false),
            ("sho", false),
            ("", false),
        ];
        let named = Namespace::project("my-shop").unwrap();
        let selection = Selection { projects: vec!["my".to_owned()], ..Selection::default() };
        assert!(selection.leaves(&talk("", Vec::new()), &named).is_some(), "no part of a name is one");
        for (wanted, is_wanted) in table {
            let selection = Selection { projects: vec![wanted.to_owned()], ..Selection::default() };
            let left = selection.leaves(&talk("/home/ana/shop", Vec::new()), &namespace);
            assert_eq!(left.is_none(), is_wanted, "{wanted}");
        }
        let windows = talk("C:\\src\\Shop", Vec::new());
        let selection = |wanted: &str| Selection { projects: vec![wanted.to_owned()], ..Selection::default() };
        assert_eq!(selection("shop").leaves(&windows, &Namespace::global()), None);
        assert_eq!(selection("C:\\src").leaves(&windows, &Namespace::global()), None);
    }

    #[test]
    fn patterns_leave_out_parts_ends_and_whole_folders() {
        let path = "/home/ana/logs/secret-plan/2026/a.jsonl";
        let table = [
            ("secret-*", true),
            ("SECRET-*", true),
            ("secret", false),
            ("*.jsonl", true),
            ("*.json", false),
            ("logs/secret-plan", true),
            ("logs/*/2026", true),
            ("logs/*/a.jsonl", false),
            ("logs/**/a.jsonl", true),
            ("/home/ana/logs", true),
            ("/home/ana/logs/", true),
            ("/ana/logs", false),
            ("/home/ana/log", false),
        ];
        for (pattern, is_left) in table {
            let left = excluding(pattern).leaves_file(Path::new(path), None);
            assert_eq!(left, is_left.then_some(LeftOut::Excluded), "{pattern}");
        }
        let hidden = talk("/home/ana/secret-plan/web", Vec::new());
        assert_eq!(excluding("secret-*").leaves(&hidden, &Namespace::global()), Some(LeftOut::Excluded));
        assert_eq!(excluding("plan").leaves(&hidden, &Namespace::global()), None);
    }

    #[cfg(unix)]
    #[test]
    fn an_excluded_folder_is_left_out_itself_and_by_way_of_links() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        std::fs::create_dir_all(root.join("clients/acme")).unwrap();
        std::os::unix::fs::symlink(root.join("clients/acme"), root.join("work")).unwrap();
        let selection = excluding(&format!("{}/clients/**", root.display()));
        for (name, is_left) in [("clients", true), ("clients/acme", true), ("work", true), ("clients2", false)] {
            let held = talk(&root.join(name).to_string_lossy(), Vec::new());
            assert_eq!(selection.leaves(&held, &Namespace::global()).is_some(), is_left, "{name}");
            assert_eq!(selection.leaves_file(&root.join(name), None).is_some(), is_left, "{name}");
        }
    }

    #[test]
    fn a_file_that_was_last_changed_before_the_range_is_not_opened() {
        let selection = Selection { since: Some(at("2026-03-01T00:00:00Z")), ..Selection::default() };
        let left = |changed: &str| selection.leaves_file(Path::new("a"), Some(at(changed)));
        assert_eq!(left("2026-02-01T00:00:00Z"), Some(LeftOut::OutOfRange));
        assert_eq!(left("2026-03-01T00:00:00Z"), None);
        for packed in ["1970-01-01T00:00:00Z", "1980-01-01T00:00:00Z", "1985-10-26T08:15:00Z"] {
            assert_eq!(left(packed), None, "no time at all: {packed}");
        }
        assert_eq!(left("1990-01-01T00:00:00Z"), Some(LeftOut::OutOfRange));
        assert_eq!(selection.leaves_file(Path::new("a"), None), None);
    }

    #[test]
    fn a_path_is_told_from_a_name() {
        let folder = tempfile::tempdir().unwrap();
        let real = folder.path().canonicalize().unwrap();
        let named = |text: &str| named_project(text, folder.path(), Some(Path::new("/home/ana")));
        assert_eq!(named("."), real.to_string_lossy());
        assert_eq!(named("shop"), "shop");
        assert_eq!(named("~/none-such"), "/home/ana/none-such");
        assert_eq!(named("github.com/ana/shop"), "github.com/ana/shop");
        assert_eq!(named("project/shop-1a2b3c"), "project/shop-1a2b3c");
    }
}
