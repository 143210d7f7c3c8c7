//! Text that people can read: labelled speakers, Markdown.

mod actions;
pub mod plain;
mod template;
