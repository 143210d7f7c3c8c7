//! x
mod local;
pub use local::LocalModel;
use std::path::PathBuf;
/// e
#[derive(Debug, thiserror::Error)]
pub enum EmbedError {
    /// The folder holds no model that can be run here.
    #[error("cannot use the sentence model: {}: {reason}", .path.display())]
    Folder {
        /// The file at fault.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
}
