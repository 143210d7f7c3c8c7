//! Compares two claims by their words, attributes and times only.

mod another;
mod attribute;
mod caution;
pub(in crate::consolidate) mod certainty;
pub(in crate::consolidate) mod ended;
pub(crate) mod features;
pub mod key;
mod lexicon;
mod marks;
mod order;
pub(in crate::consolidate) mod outdated;
pub(crate) mod pair;
mod slots;
pub(super) mod tokens;
mod topic;
pub(crate) mod view;
