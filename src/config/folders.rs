//! Where the platform keeps our files.

use std::path::PathBuf;

use super::ConfigError;

/// Where the platform keeps our files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Folders {
    /// The user's settings file.
    pub user_file: PathBuf,
    /// The database unless another is named.
    pub default_db: PathBuf,
}

impl Folders {
    /// Returns the folders of the current user: XDG on Linux, `Application Support` on macOS, `AppData` on Windows.
    ///
    /// # Errors
    /// [`ConfigError::NoHome`].
    pub fn of_platform() -> Result<Self, ConfigError> {
        use etcetera::app_strategy::{AppStrategy, AppStrategyArgs, choose_native_strategy};
        let arguments = AppStrategyArgs {
            top_level_domain: "dev".into(),
            author: "afterthought".into(),
            app_name: "afterthought".into(),
        };
        let strategy = choose_native_strategy(arguments).map_err(|_| ConfigError::NoHome)?;
        Ok(Self {
            user_file: strategy.config_dir().join("config.toml"),
            default_db: strategy.data_dir().join("memories.db"),
        })
    }
}
