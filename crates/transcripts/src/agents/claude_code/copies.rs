//! Lines that the log of a resumed session repeats of the session that it goes on from.
//!
//! Depending on the version such lines keep the session id of the older log, name it as where they were forked from,
//! or are written under the new id and keep nothing but their uuids. Where the older log is still there it is what
//! they are read from; where it is gone, those that name it are read as a part of it.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use super::heads::{Id, logs_that_begin_with};
use super::line::Line;
use super::session::hash;
use crate::lenient::Object;
use crate::{Folder, Input, Records, Sink, open};

/// Tells a log's own lines from those of older logs beside it.
pub(super) struct Copies {
    /// The session that the log is named by.
    own_id: String,
    folder: Option<(Folder, String)>,
    /// Where the log is, unless it stands in an archive.
    path: Option<PathBuf>,
    /// Whether a session that the lines name has a log of its own.
    logged: HashMap<String, bool>,
    /// The lines of older logs that begin like this one, and the session that each stands in.
    older: Option<HashMap<u64, String>>,
    /// For each session that was repeated: the first line, and how many.
    passed: HashMap<String, (usize, usize)>,
}

impl Copies {
    /// Prepares for the log `input` of the session `own_id`.
    pub(super) fn new(own_id: &str, input: &Input) -> Self {
        Self {
            own_id: own_id.to_owned(),
            folder: input.place(),
            path: (!input.is_in_archive()).then(|| input.path.clone()),
            logged: HashMap::new(),
            older: None,
            passed: HashMap::new(),
        }
    }

    /// Whether `line` is read from an older log; it is counted then.
    pub(super) fn is_copy(&mut self, number: usize, line: &Line) -> bool {
        let named = line.session().filter(|id| *id != self.own_id).map(str::to_owned);
        let original = match named {
            Some(id) => Some(id.clone()).filter(|_| self.is_logged(&id)),
            None => line.uuid.0.as_deref().and_then(|uuid| self.older_line(uuid)),
        };
        if let Some(id) = &original {
            self.passed.entry(id.clone()).or_insert((number, 0)).1 += 1;
        }
        original.is_some()
    }

    /// Tells what was passed over.
    pub(super) fn finish(self, sink: &mut Sink<'_>) {
        let mut passed: Vec<_> = self.passed.into_iter().map(|(id, (number, count))| (number, count, id)).collect();
        passed.sort_unstable();
        for (number, count, id) in passed {
            let lines = if count == 1 { "line" } else { "lines" };
            sink.skip(
                number,
                format!("{count} {lines} from here on repeat the session {id}, which is read from its own log"),
            );
        }
    }

    fn is_logged(&mut self, id: &str) -> bool {
        if let Some(known) = self.logged.get(id) {
            return *known;
        }
        let is_name = uuid::Uuid::try_parse(id).is_ok();
        let beside = |(folder, parent): &(Folder, String)| folder.has(&format!("{parent}{id}.jsonl"));
        let is_logged = is_name && self.folder.as_ref().is_some_and(beside);
        self.logged.insert(id.to_owned(), is_logged);
        is_logged
    }

    /// Returns the older session in whose log the line `uuid` stands. The first line decides whether there is any.
    fn older_line(&mut self, uuid: &str) -> Option<String> {
        let path = self.path.as_deref();
        let older = self.older.get_or_insert_with(|| path.map(|path| older_lines(path, uuid)).unwrap_or_default());
        older.get(&hash(uuid)).cloned()
    }
}

/// Returns the lines of the logs beside `path` that begin with the line `first` and are shorter: a resumed session's
/// log is the older one and more.
fn older_lines(path: &Path, first: &str) -> HashMap<u64, String> {
    let mut lines = HashMap::new();
    let (Some(parent), Ok(own)) = (path.parent(), path.metadata()) else { return lines };
    let parent = if parent.as_os_str().is_empty() { Path::new(".") } else { parent };
    for other in logs_that_begin_with(first, parent) {
        if other.metadata().is_ok_and(|data| data.len() < own.len()) {
            let id = other.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            for uuid in uuids(&other) {
                lines.entry(uuid).or_insert_with(|| id.clone());
            }
        }
    }
    lines
}

/// Returns the hashes of all uuids in the log at `path`, as far as it can be read.
fn uuids(path: &Path) -> HashSet<u64> {
    let mut found = HashSet::new();
    let (mut ignore, Ok(input)) = (|_| {}, open(path)) else { return found };
    let (mut sink, mut records) = (Sink::new(&mut ignore), Records::lines(input));
    while let Ok(Some((_, line))) = records.next_json::<Object<Id>>(&mut sink) {
        found.extend(line.0.and_then(|line| line.uuid.0).map(hash));
    }
    found
}
