//! Comparison of two claims by their words, attributes and times alone.

pub mod features;
pub mod key;
mod lexicon;
pub mod pair;
mod slots;
mod tokens;
pub mod view;
