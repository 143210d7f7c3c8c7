//! The conversations of logs as an extractor sees them.

use std::path::PathBuf;

use super::read::{self, Finished, ReadEvent};
use super::{Selection, Sources};
use crate::guard::Guard;
use transcripts::IngestError;
use transcripts::Transcript;

/// What was read of logs.
#[derive(Debug, Default)]
pub struct Conversations {
    /// The conversations, secrets and injected blocks taken out, in the order of the logs.
    pub transcripts: Vec<Transcript>,
    /// Logs that could not be read, and why.
    pub failed: Vec<(PathBuf, IngestError)>,
}

/// Reads every conversation of `sources`, as [`super::run()`] would.
///
/// # Errors
/// [`IngestError`] if the format is unknown or nothing is found.
pub async fn conversations(sources: &Sources, guard: &Guard) -> Result<Conversations, IngestError> {
    let mut reader = read::start(sources, &Selection::default(), Finished::new(), guard.clone())?;
    let mut read = Conversations::default();
    while let Some(event) = reader.recv().await {
        match event {
            ReadEvent::Transcript(transcript, _) => read.transcripts.push(transcript.into_inner()),
            ReadEvent::FileFailed(path, error) => read.failed.push((path, error)),
            ReadEvent::Begun(_)
            | ReadEvent::Ended
            | ReadEvent::Unchanged(_)
            | ReadEvent::FileRead(_)
            | ReadEvent::FileLeftOut(_) => {}
        }
    }
    Ok(read)
}
