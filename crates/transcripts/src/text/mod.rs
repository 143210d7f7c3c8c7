//! Text that people can read: labelled speakers, Markdown.

mod actions;
mod template;

pub mod plain;
