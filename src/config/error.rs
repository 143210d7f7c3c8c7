//! Why settings cannot be used.

use std::path::PathBuf;

use super::Layer;

/// Why the settings cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// A settings file is there but cannot be read.
    #[error("cannot read settings {}; check the path and its permissions", .path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A settings file is no TOML, or sets something that does not exist.
    #[error("cannot understand settings {}: {reason}", .path.display())]
    Parse {
        /// The file.
        path: PathBuf,
        /// Where and what.
        reason: String,
    },
    /// A project file sets what only its user may set.
    #[error("{} must not set {key}: a project could send your logs elsewhere; set it in {}", .path.display(), .user.display())]
    NotForProjects {
        /// The project's file.
        path: PathBuf,
        /// The key.
        key: &'static str,
        /// The user's file.
        user: PathBuf,
    },
    /// A value is out of range.
    #[error("{key} is {value} ({layer}); it must be {allowed}")]
    OutOfRange {
        /// The key.
        key: &'static str,
        /// The value.
        value: String,
        /// Where it was set.
        layer: Layer,
        /// What is allowed.
        allowed: &'static str,
    },
    /// The platform has no home folder for us.
    #[error("cannot find your home folder; pass --db PATH")]
    NoHome,
}
