//! Errors from opening and reading logs.

use std::path::{Path, PathBuf};

/// The reason why a transcript could not be read. Callers handle each variant differently.
#[derive(Debug, thiserror::Error)]
pub enum IngestError {
    /// The path does not exist, is not readable, or could not be read to its end.
    #[error("cannot read {}; check the path and its permissions", spelled(.path))]
    Read {
        /// The path as specified by the user.
        path: PathBuf,
        /// The error of the operating system.
        source: std::io::Error,
    },
    /// No row of [`INGESTORS`](crate::INGESTORS) recognises the content.
    #[error("the format of {} is unknown; see `afterthought log formats`, or pass --format NAME", spelled(.path))]
    UnknownFormat {
        /// The path as specified by the user.
        path: PathBuf,
    },
    /// No record of the file has the format that `--format` names.
    #[error("{} contains nothing in the format {format}; leave out --format, or see `afterthought log formats`", spelled(.path))]
    OtherFormat {
        /// The path as specified by the user.
        path: PathBuf,
        /// The name of the format.
        format: &'static str,
    },
    /// Another file in the same folder contains the whole conversation.
    #[error("{} is not read, because {other} beside it contains the whole conversation; run on {other} or on the folder", spelled(.path))]
    ReadElsewhere {
        /// The path as specified by the user.
        path: PathBuf,
        /// The name of the other file.
        other: String,
        /// The name of the format.
        format: &'static str,
    },
    /// The argument of `--format` is not the name of any row of [`INGESTORS`](crate::INGESTORS).
    #[error("no format is called {name:?}; see `afterthought log formats`")]
    NoSuchFormat {
        /// The name as specified by the user.
        name: String,
    },
    /// A database cannot be read, or does not have the expected tables.
    #[error("cannot read the database {}: {reason}; close the program that writes to it, or copy the file and read the copy", .path.display())]
    Database {
        /// The path as specified by the user.
        path: PathBuf,
        /// The fault in the database.
        reason: String,
    },
    /// A file has no content.
    #[error("{} is empty; nothing to read", spelled(.path))]
    Empty {
        /// The path as specified by the user.
        path: PathBuf,
    },
    /// A folder contains no files, or a pattern matches none.
    #[error("no files under {}; give a log file, a folder of logs, or a pattern such as 'logs/**/*.jsonl'", .path.display())]
    NothingThere {
        /// The path or pattern as specified by the user.
        path: PathBuf,
    },
    /// The argument of `--from` is not the name of a known program.
    #[error("no known program is called {name:?}; known programs are {known}, and `all`")]
    NoSuchSource {
        /// The name as specified by the user.
        name: String,
        /// The known names.
        known: String,
    },
    /// No conversations of a program were found in any of the places where it stores them.
    #[error(
        "no conversations from {name} on this machine ({expected}); `afterthought log list` lists the existing ones"
    )]
    NothingOf {
        /// The name as specified by the user.
        name: String,
        /// The places where the conversations would be.
        expected: String,
    },
    /// A program stores its logs in project folders, so a folder must be specified.
    #[error("{name} stores its histories in project folders; pass a folder that contains them with --below FOLDER")]
    NeedsBelow {
        /// The name as specified by the user.
        name: String,
    },
    /// A pattern is invalid.
    #[error(
        "cannot understand the pattern {pattern:?}: {reason}; write * for any name, ** for any folders, and [[] for a bracket"
    )]
    Pattern {
        /// The pattern as specified by the user.
        pattern: String,
        /// The fault in the pattern.
        reason: String,
    },
}

fn spelled(path: &Path) -> String {
    if path == Path::new("-") { "standard input".to_owned() } else { path.display().to_string() }
}
