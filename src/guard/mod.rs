//! Removal of what must not be stored or sent: secrets, private spans, injected text, and orders to the reader.
//!
//! [`Guard::redact`] and [`Guard::clean_transcript`] are the only ways to make a [`Redacted`], and only a [`Redacted`]
//! reaches a model or the store. `secrets` is the table of known shapes, `scan` finds them, `values` and `named` judge
//! the value behind a name such as `PASSWORD=`; `pii` finds personal data, `steering` finds orders to the program.

mod clean;
mod named;
#[cfg(test)]
mod ordinary_tests;
mod pii;
#[cfg(test)]
mod pii_tests;
mod redaction;
#[cfg(test)]
mod said_tests;
mod scan;
mod secrets;
#[cfg(test)]
mod spoken_tests;
mod steering;
#[cfg(test)]
mod steering_tests;
#[cfg(test)]
mod tests;
mod values;

pub use crate::config::{GuardSettings, Treatment};
pub use clean::{Cleaning, INJECTED_MARKER, INJECTION_TAG, PRIVATE_MARKER};
pub use pii::DROPPED_MARKER;
pub use redaction::{CleanText, DENIED_MARKER, Guard, Redact, Redacted};
pub use scan::Findings;
pub use secrets::{Part, SECRETS, Secret};
pub use steering::{Suspicion, is_pasted};
pub(crate) use steering::{steers, suspicion};
pub use values::NameStrength;
