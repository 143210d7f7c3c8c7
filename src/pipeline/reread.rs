//! Reads a conversation again, to show a quote in its context.

use std::path::Path;

use transcripts::{self as ingest, Logs, Sink, Transcript};

use crate::guard::{Guard, Redacted};

/// Returns the conversation `key` of the log `origin`, if the log still exists and contains it. A folder or an archive
/// that forms one log is not read.
pub(crate) fn conversation(origin: &str, key: &str, guard: &Guard) -> Option<Redacted<Transcript>> {
    // Several conversations in one file are distinguished by a number after `#`.
    let file = origin.rsplit_once('#').map_or(origin, |(file, _)| file);
    let path = [origin, file].into_iter().map(Path::new).find(|path| path.is_file())?;
    let Logs::File(input) = Logs::open(path).ok()? else { return None };
    let ingestor = ingest::detect(&input).ok()?;
    let mut found = None;
    let mut accept = |transcript: Transcript| {
        if transcript.key() == key {
            found = Some(transcript);
        }
    };
    ingestor.read(*input, &mut Sink::new(&mut accept)).ok()?;
    // The guard is as strict as in the first reading, because a secret in the log must not reach the page.
    Some(guard.clean_transcript(found?).0)
}
