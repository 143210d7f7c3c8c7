use std::fmt;

/// Since 0.5 everything in this crate that can fail because of what somebody wrote into a settings
/// file returns this.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConfigError {
    /// A line without `=`; its number.
    NoValue(usize),
    /// A key that does not exist.
    UnknownKey(String),
    /// A value that cannot be read.
    BadValue(String),
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ConfigError::NoValue(n) => write!(f, "line {n}: no ="),
            ConfigError::UnknownKey(k) => write!(f, "unknown key {k:?}"),
            ConfigError::BadValue(v) => write!(f, "bad value {v:?}"),
        }
    }
}

impl std::error::Error for ConfigError {}
