//! Which tools a client sees.

use std::fmt;
use std::str::FromStr;

use crate::memory::ParseError;

/// A set of tools. Every one of them is coherent: no two tools of it do the same, but for [`Profile::Full`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Profile {
    /// The five verbs store, recall, update, forget and list, with brief, history and relate; forgetting takes filters,
    /// and can be taken back.
    #[default]
    Standard,
    /// The five tools of the Base Coat specification alone, with its arguments.
    Basecoat,
    /// The three tools of blockcell alone, with its arguments.
    Blockcell,
    /// Everything there is.
    Full,
}

impl Profile {
    /// Every profile.
    pub const ALL: &[Self] = &[Self::Standard, Self::Basecoat, Self::Blockcell, Self::Full];

    /// Returns the spelling used on the command line.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Standard => "standard",
            Self::Basecoat => "basecoat",
            Self::Blockcell => "blockcell",
            Self::Full => "full",
        }
    }
}

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for Profile {
    type Err = ParseError;
    fn from_str(text: &str) -> Result<Self, ParseError> {
        Self::ALL.iter().copied().find(|profile| profile.as_str() == text).ok_or_else(|| ParseError {
            value: text.to_owned(),
            what: "a profile",
            allowed: "standard, basecoat, blockcell or full",
        })
    }
}
