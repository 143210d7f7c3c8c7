//! Tests of the whole stage: tables of pairs, many memories at once, and longer sequences of changes to a store.

mod asked;
pub(super) mod changes;
mod contended;
mod crowd;
mod found;
pub(super) mod plain;
mod scripted;
mod story;
pub(super) mod table;
pub(super) mod testing;
pub(super) mod tongues;
mod unseen;
