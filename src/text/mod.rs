//! The language layer: scripts, normalised forms, words, stems, languages, numbers, dates, negation and
//! shell commands.
//!
//! Extraction, checks, comparison and search all use this module, so that they treat texts in the same way.

pub(crate) mod address;
pub(crate) mod change;
pub(crate) mod code;
pub(crate) mod date;
pub(crate) mod language;
pub(crate) mod linear;
pub(crate) mod markup;
pub(crate) mod negation;
pub(crate) mod normalise;
pub(crate) mod number;
pub(crate) mod output;
pub(crate) mod pattern_set;
pub(crate) mod person;
pub(crate) mod recent;
pub(crate) mod relative;
mod required;
pub(crate) mod script;
pub(crate) mod shell;
pub(crate) mod stem;
pub(crate) mod tokens;
pub(crate) mod visible;
