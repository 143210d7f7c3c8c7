//! Indexes of memories: words and letters for search, near claims for consolidation, and vectors for search by meaning.

pub(in crate::store) mod letters;
pub(in crate::store) mod near;
pub(in crate::store) mod near_words;
pub(in crate::store) mod ranking;
pub(in crate::store) mod search;
pub(in crate::store) mod vectors;
pub(in crate::store) mod words;

#[cfg(test)]
mod near_tests;
#[cfg(test)]
mod search_tests;
#[cfg(test)]
mod words_tests;
