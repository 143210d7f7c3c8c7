//! Whether a candidate's words come from what people said: numbers, dates, names, who said it, and whether it was
//! denied; and text that was injected.

mod injected;
mod instant;
mod numbers;
mod secret;

pub(super) use injected::Injected;
pub(super) use instant::{Edge, instant};
pub(super) use numbers::foreign_number;
pub(super) use secret::is_only_secret;
