//! Settings with the layer of each value, and the macro that declares a table of settings.

use std::fmt;
use std::path::PathBuf;

use serde_json::Value;

use crate::text::address::printable_address;

/// The layer that sets a value, from weakest to strongest.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Layer {
    /// The built-in default.
    Default,
    /// The user's own file.
    User(PathBuf),
    /// The project's file.
    Project(PathBuf),
    /// The environment variable of this name.
    Environment(&'static str),
    /// The command line.
    Flag,
}

impl fmt::Display for Layer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::User(path) | Self::Project(path) => write!(f, "{}", path.display()),
            Self::Environment(name) => write!(f, "${name}"),
            Self::Flag => f.write_str("command line"),
        }
    }
}

/// Returns the value of a setting as it may be printed. The name, the password and the query of an address are left out,
/// because they may contain keys.
pub(crate) fn printable(value: Value) -> Value {
    match value {
        Value::String(text) if text.contains("://") => Value::String(printable_address(&text)),
        Value::Array(values) => Value::Array(values.into_iter().map(printable).collect()),
        value => value,
    }
}

/// A setting and the layer that sets its value.
#[derive(Debug, Clone, PartialEq)]
pub struct Setting<T> {
    /// The value in force.
    pub value: T,
    /// The layer that sets the value.
    pub layer: Layer,
}

impl<T> Setting<T> {
    pub(super) const fn default(value: T) -> Self {
        Self { value, layer: Layer::Default }
    }

    pub(super) fn set(&mut self, value: Option<T>, layer: &Layer) {
        if let Some(value) = value {
            *self = Self { value, layer: layer.clone() };
        }
    }

    /// Checks the value of the setting `key`.
    pub(super) fn must(&self, key: &'static str, is_valid: bool, allowed: &'static str) -> Result<(), ConfigError>
    where
        T: serde::Serialize,
    {
        if is_valid {
            return Ok(());
        }
        let value = match serde_json::to_value(&self.value).unwrap_or_default() {
            Value::String(text) => text,
            other => other.to_string(),
        };
        Err(ConfigError::OutOfRange { key, value, layer: self.layer.clone(), allowed })
    }
}

/// The full name of a setting, its value as JSON, and the layer that sets it.
pub(crate) type Listed<'a> = (&'static str, Value, &'a Layer);

/// Documentation of one setting.
#[derive(Debug, Clone)]
pub(crate) struct SettingInfo {
    /// Full name, e.g. `memory.brief.max_tokens`.
    pub key: &'static str,
    /// A value as TOML: the default, or an example if there is no default.
    pub value: String,
    /// Whether `value` is the default.
    #[cfg_attr(
        not(any(test, feature = "serve")),
        expect(dead_code, reason = "for the reference page, which a test generates")
    )]
    pub is_default: bool,
    /// One line about the effect of the setting.
    pub about: &'static str,
}

/// Reasons why settings cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// A settings file exists but cannot be read.
    #[error("cannot read settings {}; check the path and its permissions", .path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Error from the operating system.
        source: std::io::Error,
    },
    /// A settings file cannot be written.
    #[error("cannot write settings {}; check the path and its permissions", .path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// Error from the operating system.
        source: std::io::Error,
    },
    /// A settings file is not TOML, or contains an unknown setting.
    #[error("cannot understand settings {}: {reason}", .path.display())]
    Parse {
        /// The file.
        path: PathBuf,
        /// The line, and the error in it.
        reason: String,
    },
    /// A project's file contains a setting that is only allowed in the user's own file.
    #[error("{} must not set {key}: a project could send your logs elsewhere; set it in {}", .path.display(), .user.display())]
    NotForProjects {
        /// The project's file.
        path: PathBuf,
        /// The key.
        key: String,
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
        /// The layer that sets the value.
        layer: Layer,
        /// The values that are allowed.
        allowed: &'static str,
    },
    /// The platform does not provide a home folder.
    #[error("cannot find your home folder; pass --db PATH")]
    NoHome,
}

/// Declares one table of settings: the struct of effective values, the struct of values from one layer, and the
/// documentation.
///
/// The doc comment of a field is also its line in the generated reference. A setting without a default has an example.
macro_rules! settings {
    ($(#[$meta:meta])* $name:ident, $partial:ident, $prefix:literal, {
        $(#[doc = $about:literal] $field:ident: $kind:ty = $default:expr $(, like $example:literal)?;)+
    } $({ $(#[doc = $table_about:literal] $table:ident: $table_kind:ident / $table_partial:ident,)+ })?) => {
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq)]
        pub struct $name {
            $(#[doc = $about] pub $field: $crate::config::Setting<$kind>,)+
            $($(#[doc = $table_about] pub $table: $table_kind,)+)?
        }

        impl Default for $name {
            fn default() -> Self {
                Self {
                    $($field: $crate::config::Setting::default($default),)+
                    $($($table: $table_kind::default(),)+)?
                }
            }
        }

        impl $name {
            /// Applies one layer on top of the previous layers.
            pub(super) fn apply(&mut self, partial: $partial, layer: &$crate::config::Layer) {
                $(self.$field.set(partial.$field, layer);)+
                $($(self.$table.apply(partial.$table, layer);)+)?
            }

            /// Returns the full name of every setting, its value as JSON without the secrets in addresses, and the layer
            /// that sets it.
            #[must_use]
            pub fn each(&self) -> Vec<$crate::config::setting::Listed<'_>> {
                #[allow(unused_mut, reason = "a table may contain no other tables")]
                let mut all = vec![$((
                    concat!($prefix, stringify!($field)),
                    $crate::config::setting::printable(serde_json::to_value(&self.$field.value).unwrap_or_default()),
                    &self.$field.layer,
                )),+];
                $($(all.extend(self.$table.each());)+)?
                all
            }

            /// Returns the documentation of every setting, in the order of the reference.
            pub(crate) fn documentation() -> Vec<$crate::config::SettingInfo> {
                #[allow(unused_mut, reason = "a table may contain no other tables")]
                let mut all = vec![$({
                    let example: Option<&str> = None$(.or(Some($example)))?;
                    let default: $kind = $default;
                    $crate::config::SettingInfo {
                        key: concat!($prefix, stringify!($field)),
                        value: example.map_or_else(|| $crate::config::setting::as_toml(&default), str::to_owned),
                        is_default: example.is_none(),
                        about: $about.trim_ascii(),
                    }
                }),+];
                $($(all.extend($table_kind::documentation());)+)?
                all
            }
        }

        #[doc = concat!("Values of [`", stringify!($name), "`] that one layer sets; unknown keys are errors.")]
        #[derive(Debug, Clone, Default, PartialEq, serde::Deserialize)]
        #[serde(default, deny_unknown_fields)]
        pub struct $partial {
            $(#[doc = concat!("See `", stringify!($name), "::", stringify!($field), "`.")] pub $field: Option<$kind>,)+
            $($(#[doc = concat!("See [`", stringify!($name), "::", stringify!($table), "`].")] pub $table: $table_partial,)+)?
        }
    };
}
pub(super) use settings;

/// Returns a default as it is written in a settings file.
pub(super) fn as_toml(value: &impl serde::Serialize) -> String {
    toml::Value::try_from(value).map(|value| value.to_string()).unwrap_or_default()
}
