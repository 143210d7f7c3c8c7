//! Tests of the whole stage: tables of pairs, many memories at once, and longer sequences of changes to a store.

mod asked;
mod changes;
mod contended;
mod crowd;
mod found;
mod plain;
mod scripted;
mod story;
mod table;
pub(super) mod testing;
mod tongues;
mod unseen;
