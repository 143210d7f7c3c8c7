//! What two claims are to each other, by their words, attributes and times alone.

pub(super) mod cues;
pub mod features;
mod figures;
mod frame;
pub(super) mod guards;
pub mod key;
pub mod language;
mod lexicon;
pub mod pair;
mod slots;
pub mod text;
mod tokens;
pub mod view;
pub(super) mod words;
