//! Describes a run at its start: the program, its revision and prompts, and the model.

use std::collections::BTreeMap;
use std::process::Command;

use crate::prompts;
use afterthought_eval::SEED;
use afterthought_eval::results::Manifest;
use jiff::Timestamp;

/// Returns the description of a run that begins now, without its suites and options.
pub(super) fn manifest(label: &str, model: Option<String>, is_replayed: bool, repeat: u32) -> Manifest {
    Manifest {
        program: env!("CARGO_PKG_VERSION").to_owned(),
        revision: None,
        suites: Vec::new(),
        prompts: prompts::hash(),
        prompt_folder: None,
        extractor: String::new(),
        label: label.to_owned(),
        deterministic: model.is_none() || is_replayed,
        model,
        seed: SEED,
        repeat,
        options: BTreeMap::new(),
        started: Timestamp::now(),
        ms: 0,
        cache_hits: 0,
    }
}

/// Returns the Git revision of the working directory, with `+` if files were changed.
pub(super) fn revision() -> Option<String> {
    let git = |args: &[&str]| {
        let output = Command::new("git").args(args).output().ok().filter(|output| output.status.success())?;
        Some(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let revision = git(&["rev-parse", "--short=12", "HEAD"])?;
    // Untracked files, such as result files, do not change what is measured.
    let changed = git(&["status", "--porcelain", "--untracked-files=no"]).is_some_and(|changed| !changed.is_empty());
    Some(if changed { revision + "+" } else { revision })
}
