//! Shared parts of the formats, which convert the records of a log to messages.

pub(crate) mod action;
pub(crate) mod asked;
pub(crate) mod assemble;
pub(crate) mod blocks;
pub(crate) mod chat;
pub(crate) mod dates;
pub(crate) mod exchange;
pub(crate) mod identity;
pub(crate) mod parts;
pub(crate) mod program;
pub(crate) mod question;
pub(crate) mod speaker;
pub(crate) mod words;
