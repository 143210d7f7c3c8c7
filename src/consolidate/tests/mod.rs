//! The stage as a whole: rows of pairs, a crowd of memories, and stories over a store.

mod crowd;
mod found;
mod story;
mod table;
mod testing;
mod tongues;
mod unseen;
