//! Answers that are recorded beside a suite, which are taken where nothing else is asked for.

use std::fs;
use std::path::{Path, PathBuf};

use afterthought::eval::rows::REPLIES;

use super::args::EvalArgs;

/// A recording.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Recorded {
    /// Its folder.
    pub(super) folder: PathBuf,
    /// The model that answered.
    pub(super) model: String,
}

/// Returns the one recording that lies in each of the suites or beside it, unless the arguments say who answers.
pub(super) fn find(args: &EvalArgs) -> Option<Recorded> {
    if args.says_who_answers() {
        return None;
    }
    let mut found = args.paths.iter().map(|path| beside(path));
    let first = found.next()??;
    found.all(|other| other.is_some_and(|other| other == first)).then_some(first)
}

fn beside(suite: &Path) -> Option<Recorded> {
    let own = suite.join(REPLIES);
    let next = suite.parent().map(|folder| folder.join(REPLIES));
    let folder = std::iter::once(own).chain(next).find(|folder| folder.is_dir())?;
    let model = fs::read_dir(&folder).ok()?.flatten().find_map(|entry| model_of(&entry.path()))?;
    Some(Recorded { folder, model })
}

/// Returns the model that a recorded request was for.
fn model_of(file: &Path) -> Option<String> {
    let text = fs::read_to_string(file).ok().filter(|_| file.extension().is_some_and(|ending| ending == "json"))?;
    let recording: serde_json::Value = serde_json::from_str(&text).ok()?;
    Some(recording.pointer("/request/model")?.as_str()?.to_owned())
}
