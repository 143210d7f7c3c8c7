//! Text that people can read: labelled speakers, Markdown.

pub mod plain;
