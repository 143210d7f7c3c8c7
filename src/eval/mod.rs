//! How good extraction and consolidation are: cases that say what is right, and a scoring without any judge.
//!
//! ```text
//! case.json ─▶ Case ─▶ Rules (compiled) ┐
//! logs ─▶ pipeline ─▶ Predictions ──────┴▶ score ─▶ Counts ─▶ Measures, with intervals ─▶ Report
//! ```
//!
//! A case is a conversation with the memories that a careful person would keep of it, each told by regular expressions
//! that a right memory matches and a distorted one does not. The pipeline runs as a person would run it, into a store of
//! its own for each case, and what is active afterwards is scored. Extractors that must fail go through the same scoring.

pub mod asking;
mod assign;
mod case;
mod case_report;
mod case_row;
mod check;
pub mod compare;
pub mod consolidation;
mod control;
mod counts;
mod details;
mod draft;
pub mod external;
pub mod gate;
pub mod halumem;
mod filled;
mod in_flight;
pub mod inline;
mod interval;
mod language;
pub mod locomo;
pub mod longmemeval;
mod markdown;
mod matcher;
pub mod matchers;
mod measures;
mod meter;
pub mod pages;
mod place;
mod prediction;
pub mod recall;
mod report;
pub mod rows;
mod run;
mod said;
mod score;
pub mod short;
mod suite;
mod tally;
mod text;

#[cfg(test)]
mod table;

use std::path::PathBuf;

pub use asking::keep;
pub use case::{Case, Forbidden, ForbiddenKind, Gold, Importance, Language, Ruling, Verdict, schema};
pub use case_report::{CaseReport, Entry, Missed};
pub use case_row::case_row;
pub use check::flaws;
pub use control::Control;
pub use counts::Counts;
pub use in_flight::InFlight;
pub use interval::{Interval, intervals};
pub use markdown::markdown;
pub use matcher::Rules;
pub use measures::{KIND, MEASURES, Measure, Unit};
pub use meter::{Meter, Usage};
pub use prediction::{Cited, Messages, Prediction};
pub use report::{Group, Measured, Report, Unlisted};
pub use run::{Ran, RunOptions, Subject, run_case, run_logs};
pub use score::{Finding, Scored, Standing, score};
pub use suite::{Discovered, Loaded, discover, holds_cases};
pub use tally::{By, CaseTally, Tally};

/// Why something could not be measured; one variant for each thing a person does differently.
#[derive(Debug, thiserror::Error)]
pub enum EvalError {
    /// A file is not there or cannot be read.
    #[error("cannot read {}; check the path and its permissions", .path.display())]
    Read {
        /// The path.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A file does not have the form that is asked for.
    #[error("{}: {place}{reason}; `afterthought eval --schema` prints the form", .path.display())]
    Form {
        /// The file.
        path: PathBuf,
        /// The memory or entry and its field, with a colon; empty where the reason tells the place.
        place: String,
        /// What is wrong.
        reason: String,
    },
    /// A file cannot be written.
    #[error("cannot write {}; check the folder, its permissions and the space there", .path.display())]
    Write {
        /// The path.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A file of results cannot be used.
    #[error("{}: {reason}", .path.display())]
    Results {
        /// The file.
        path: PathBuf,
        /// What is wrong, and what helps.
        reason: String,
    },
    /// No case lies below a path.
    #[error("no case.json in or below {}; see evals/README.md for the form of a case", .path.display())]
    NoCases {
        /// The path as given.
        path: PathBuf,
    },
    /// A case could not be run.
    #[error("{0}")]
    Failed(String),
    /// The logs cannot be read.
    #[error(transparent)]
    Ingest(#[from] transcripts::IngestError),
    /// The run could not be done.
    #[error(transparent)]
    Pipeline(#[from] crate::pipeline::PipelineError),
    /// The store of the case cannot be used.
    #[error(transparent)]
    Store(#[from] crate::store::StoreError),
    /// The sentence model fails.
    #[error(transparent)]
    Embed(#[from] crate::embed::EmbedError),
    /// A folder for the case cannot be made or written.
    #[error("cannot prepare a folder for the case at {}; check the space and the permissions there", .path.display())]
    Prepare {
        /// The path.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
}
