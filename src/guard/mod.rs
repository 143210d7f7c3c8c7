//! Keeping out what must not be kept: secrets, private spans, and text that our own or other tools injected.
//!
//! Only this module can make a [`Redacted`], and only a [`Redacted`] reaches a model or the store.

mod about;
mod assigned;
mod clean;
mod feedback;
mod denied;
mod judge;
mod national;
#[cfg(test)]
mod ordinary;
mod pii;
#[cfg(test)]
mod pii_tests;
mod private;
mod said;
#[cfg(test)]
mod said_tests;
mod scan;
mod secrets;
mod settle;
mod shape;
mod spoken;
#[cfg(test)]
mod spoken_tests;
mod steering;
mod steering_hints;
#[cfg(test)]
mod steering_tests;
mod steering_words;
#[cfg(test)]
mod tests;
mod texts;
mod value;
mod words;
mod wrapped;

use std::ops::Deref;

pub use crate::config::{GuardSettings, Treatment};
pub use clean::Cleaned;
pub use denied::DENIED_MARKER;
pub use feedback::{INJECTED_MARKER, INJECTION_TAG};
pub use pii::DROPPED_MARKER;
pub use private::PRIVATE_MARKER;
pub use secrets::SECRETS;
pub use shape::{Part, Secret};
pub use steering::{Suspicion, is_pasted, steers, suspicion};
pub use texts::Redact;
pub use value::Naming;

/// A value from whose every text the secrets were taken.
#[derive(Debug, Clone, PartialEq)]
pub struct Redacted<T = String>(T);

impl<T> Redacted<T> {
    /// Takes a value as it was read from the store, which holds nothing that was not redacted.
    pub(crate) const fn from_stored(value: T) -> Self {
        Self(value)
    }

    /// Returns the value; from here on nothing keeps it clean.
    pub fn into_inner(self) -> T {
        self.0
    }
}

impl Redacted {
    /// Returns the text up to byte `end`, or to the character before it; it holds no secret either.
    #[must_use]
    pub fn beginning(&self, end: usize) -> Self {
        Self(self.0[..self.0.floor_char_boundary(end)].to_owned())
    }
}

impl<T> Deref for Redacted<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.0
    }
}

/// What was taken out: how often, by the name of the secret's row.
pub type Findings = std::collections::BTreeMap<&'static str, usize>;

/// Takes out what must not be kept.
///
/// The secrets of [`SECRETS`] always go; what else goes is in its settings. Cheap to make: the patterns are compiled
/// once in a process, and each only when a text first holds one of its hints.
#[derive(Debug, Clone, Default)]
pub struct Guard {
    settings: GuardSettings,
    denied: denied::Denied,
}

impl Guard {
    /// Returns a guard that follows `settings`.
    #[must_use]
    pub fn new(settings: &GuardSettings) -> Self {
        Self { settings: *settings, denied: denied::Denied::default() }
    }

    /// Returns the guard that lets no content of files through whose names match `patterns`, such as `*.pem`, instead of
    /// those in [`crate::config::DENIED_FILES`]. A pattern that cannot be read stands for itself.
    #[must_use]
    pub fn denying(self, patterns: &[String]) -> Self {
        Self { denied: denied::Denied::new(patterns), ..self }
    }

    /// Takes the secrets out of every text of `value`; a second pass over the result changes nothing.
    pub fn redact<T: Redact>(&self, mut value: T) -> (Redacted<T>, Findings) {
        let mut findings = Findings::new();
        value.edit_texts(&mut |text| self.redact_text(text, &mut findings));
        (Redacted(value), findings)
    }

    fn redact_text(&self, text: &mut String, findings: &mut Findings) {
        // What was taken out can lay bare what stood beside it, so look there again, and then at the whole until
        // nothing is found. Each find takes out at least four characters that are never read again, so this ends.
        while let Some(replaced) = scan::replace(text, self.find(text), findings) {
            *text = settle::settle(&replaced, |near| self.find(near), findings);
        }
    }

    fn find(&self, text: &str) -> Vec<scan::Found> {
        let mut found = scan::secrets(text);
        found.extend(wrapped::across_lines(text, &found));
        found.extend(pii::find(text, self.settings));
        scan::joined(found)
    }
}
