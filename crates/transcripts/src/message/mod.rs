//! Shared parts of the formats: turning the records of a log into messages.

pub(crate) mod assemble;
pub(crate) mod blocks;
pub(crate) mod chat;
pub(crate) mod exchange;
pub(crate) mod identity;
pub(crate) mod parts;
pub(crate) mod speaker;
