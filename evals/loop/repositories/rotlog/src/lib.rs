//! Settings and decisions for log rotation.

pub mod config;
pub mod error;
pub mod retention;

pub use config::Config;
pub use error::ConfigError;
