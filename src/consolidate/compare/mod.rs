//! Compares two claims by their words, attributes and times only.

mod attribute;
pub(in crate::consolidate) mod ended;
pub(crate) mod features;
pub mod key;
mod lexicon;
mod order;
pub(crate) mod pair;
mod slots;
pub(super) mod tokens;
pub(crate) mod view;
