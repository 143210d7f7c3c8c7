//! Whether a candidate's words come from what people said: numbers, dates, names, who said it, and whether it was
//! denied; and text that was injected.

mod dates;
mod evidence;
mod injected;
mod instant;
mod names;
mod numbers;
mod polarity;
mod pool;
mod secret;
mod speaker;
#[cfg(test)]
mod table;

pub(super) use evidence::{Citation, Ground};
pub(super) use injected::Injected;
pub(super) use instant::{Edge, instant};
pub(super) use pool::Pool;
pub(super) use secret::is_only_secret;
