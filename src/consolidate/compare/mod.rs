//! What two claims are to each other, by their words, attributes and times alone.

pub(super) mod cues;
pub mod features;
pub(super) mod guards;
pub mod key;
pub mod language;
pub mod pair;
pub mod text;
pub mod view;
pub(super) mod words;
