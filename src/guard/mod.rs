//! Removal of what must not be stored or sent: secrets, private spans, injected text, and instructions to the reader.
//!
//! [`Guard::redact`] and [`Guard::clean_transcript`] are the only ways to create a [`Redacted`], and only a
//! [`Redacted`] reaches a model or the store. `vendors` reads the templates of vendors' tokens in `tokens.txt`,
//! `secrets` is the table of all other secrets, and `scan` finds both. `values` and `named` judge the value after a
//! name such as `PASSWORD=`, `near` judges values near a word for a secret, `compound` reads names of several words,
//! `veiled` finds secrets that marks interrupt, `encoded` finds secrets in base64 and similar codes, and `mnemonic` finds
//! the recovery phrases of wallets. `pii` finds personal data. `steering` and `orders` find instructions to the program.

mod broken;
mod chat;
mod clean;
mod columns;
mod compound;
mod encoded;
mod hints;
mod mnemonic;
mod named;
mod near;
mod order_model;
mod orders;
mod pii;
mod prose;
mod redaction;
mod rescan;
mod rule;
mod scan;
mod secrets;
mod shapes;
mod spelling;
mod steering;
mod strips;
mod suspicion;
mod task;
mod values;
mod veiled;
mod vendors;
mod words;
mod work;

pub use crate::config::{GuardSettings, Treatment};
pub use clean::Cleaning;
pub(crate) use clean::{INJECTION_TAG, clean_id};
pub(crate) use pii::DROPPED_MARKER;
pub use redaction::{CleanText, Guard, Redact, Redacted};
pub(crate) use redaction::{secret_in, without_secrets};
pub use secrets::secret_examples;
pub(crate) use steering::{is_pasted, order_from_elsewhere, reason_to_wait, steers, suspicion};
pub(crate) use suspicion::Suspicion;

#[cfg(test)]
mod compound_tests;
#[cfg(test)]
mod ordinary_tests;
#[cfg(test)]
mod pii_tests;
#[cfg(test)]
mod said_tests;
#[cfg(test)]
mod spoken_tests;
#[cfg(test)]
mod steering_tests;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod told_tests;
#[cfg(test)]
mod training;
