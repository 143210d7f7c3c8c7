//! The stage as a whole: rows of pairs, a crowd of memories, and stories over a store.

mod asked;
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
