//! Measures systems that turn conversations into memories, without using a model as a judge.
//!
//! ```text
//! case files ─▶ cases ─▶ the program runs its system ─▶ plain results ─▶ scores ─▶ Row, one per case
//! rows ─▶ Results (a file) ─▶ Tally ─┬▶ report    text and Markdown
//!                                    ├▶ compare   two runs: intervals, tests, cases that changed
//!                                    ├▶ gate      a run against a stored baseline
//!                                    └▶ overview  a page with the figures of all suites
//! ```
//!
//! The crate reads cases and scores the results of a program. It never calls a model or opens a database. A program
//! passes plain data to one function for each kind of case:
//!
//! | module            | files                                | the program provides                   |
//! |-------------------|--------------------------------------|----------------------------------------|
//! | [`extraction`]    | `case.json`, `*-extraction.jsonl`    | memories extracted from a conversation |
//! | [`consolidation`] | `*-pairs.jsonl`, `*-streams.jsonl`   | decisions, and the memories afterwards |
//! | [`retrieval`]     | `*-recall.jsonl`, `*-brief.jsonl`, `*-qa.jsonl` | memories that were found    |
//! | [`sets`]          | public data sets                     | memories and search results            |
//! | [`closed_loop`]   | `task.toml`                          | an agent's work on a task              |
//!
//! [`results`] defines the result file and keeps finished cases, so that an interrupted run continues where it stopped.

#![expect(clippy::must_use_candidate, reason = "most functions return a value and do nothing else")]

mod blocks;
pub mod closed_loop;
pub mod compare;
pub mod consolidation;
pub mod extraction;
pub mod files;
pub mod gate;
mod measure;
pub mod overview;
pub mod report;
pub mod results;
pub mod retrieval;
pub mod sets;
mod tally;
mod text;
pub mod vocabulary;

pub use tally::{SEED, SplitMix, wilson};

use std::path::PathBuf;

/// Errors that prevent a measurement. Each variant calls for a different response from the user.
#[derive(Debug, thiserror::Error)]
pub enum EvalError {
    /// A file does not exist or cannot be read.
    #[error("cannot read {}; check the path and its permissions", .path.display())]
    Read {
        /// The path.
        path: PathBuf,
        /// The error of the operating system.
        source: std::io::Error,
    },
    /// A file does not have the expected format.
    #[error("{}: {place}{reason}; `afterthought eval --schema` prints the format", .path.display())]
    Format {
        /// The file.
        path: PathBuf,
        /// The line, entry and field, each followed by a colon; empty if the reason mentions the position.
        place: String,
        /// The fault.
        reason: String,
    },
    /// A file cannot be written.
    #[error("cannot write {}; check the folder, its permissions and the free space", .path.display())]
    Write {
        /// The path.
        path: PathBuf,
        /// The error of the operating system.
        source: std::io::Error,
    },
    /// A file or folder of a public data set does not have the layout of the set.
    #[error("{}: {reason}; obtain the data set again, or see evals/README.md for its layout", .path.display())]
    DataSet {
        /// The file or folder.
        path: PathBuf,
        /// The fault.
        reason: String,
    },
    /// A result file or a baseline cannot be used.
    #[error("{}: {reason}", .path.display())]
    Results {
        /// The file.
        path: PathBuf,
        /// The fault, and how to correct it.
        reason: String,
    },
    /// A path contains no case.
    #[error(
        "no case in or below {}: a folder with a case has a `case.json`, and the name of a file of cases ends in \
         `-extraction.jsonl`, `-pairs.jsonl`, `-streams.jsonl`, `-recall.jsonl`, `-brief.jsonl` or `-qa.jsonl`; see \
         evals/README.md",
        .path.display()
    )]
    NoCases {
        /// The path as specified by the user.
        path: PathBuf,
    },
    /// A case could not be run, or results could not be used together.
    #[error("{0}")]
    Failed(String),
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::consolidation::{Pair, Stream};
    use crate::extraction::ShortCase;
    use crate::files::LineCase;
    use crate::retrieval::{BriefCase, QaCase, RecallCase};

    #[test]
    fn the_error_about_a_path_without_cases_lists_the_names_of_all_files() {
        let error = EvalError::NoCases { path: PathBuf::from("cases") }.to_string();
        let ends = [ShortCase::ENDING, Pair::ENDING, Stream::ENDING, RecallCase::ENDING, BriefCase::ENDING];
        for end in ends.into_iter().chain([QaCase::ENDING]) {
            assert!(error.contains(&format!("`{end}`")), "{error}");
        }
    }
}
