//! Reads one conversation again, to show a quote among the words around it.

use std::path::Path;

use transcripts::{self as ingest, Logs, Sink, Transcript};

use crate::guard::{Guard, Redacted};

/// Returns the conversation `key` of the log `origin`, if the log is still there and still contains it. A folder or an
/// archive that is one log is not read.
pub(crate) fn conversation(origin: &str, key: &str, guard: &Guard) -> Option<Redacted<Transcript>> {
    // Several conversations in one file differ in a number after `#`.
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
    // As strictly as on the first reading: a secret in the log must not reach the page.
    Some(guard.clean_transcript(found?).0)
}
