//! Reads conversation logs: bytes in, [`Transcript`]s out.
//!
//! 1. `discover` finds the logs at a path; [`known`] lists where programs store their logs.
//! 2. `reading` opens a file, an archive, a folder or a database, and yields its start ([`Head`]) and its [`Records`].
//! 3. `formats` contains the table [`INGESTORS`] and selects the format that recognises the start of the file.
//! 4. The formats are grouped in families, with one file each: `agents`, `assistants`, `api`, `people`, `datasets`,
//!    `text`. Each implements [`Ingestor`] and passes its transcripts to a [`Sink`].
//! 5. `message` contains the code with which all formats create messages: roles, content blocks, one-line calls, times,
//!    identities.
//!
//! Formats only parse. They call no model, store no state, and leave redaction to the caller.

#[macro_use]
mod ingestor;

mod agents;
mod api;
mod assistants;
mod datasets;
mod discover;
mod error;
mod formats;
pub mod json;
pub mod known;
mod message;
mod people;
mod reading;
mod sink;
mod text;
mod transcript;

pub use discover::{Found, discover, true_path};
pub use error::IngestError;
pub use formats::{INGESTORS, by_name, detect, detect_folder};
pub use ingestor::Ingestor;
pub use message::action::{Action, FileAccess, FileAction, changed_names};
pub(crate) use message::assemble::Assembler;
pub use message::identity::{FIRST_MODIFIED, instant};
pub use message::parts::folder_path;
pub use people::captions::UNNAMED_CAPTIONS;
pub use reading::head::Head;
pub(crate) use reading::input::MAX_RECORD_BYTES;
pub use reading::input::{Folder, Input, Logs, open};
pub(crate) use reading::records::{Layout, Object, Objects};
pub use reading::records::{Record, Records};
pub(crate) use sink::{MAX_PART_BYTES, MAX_TOOL_BYTES};
pub use sink::{MAX_PROSE_BYTES, Sink, Skipped};
pub use transcript::{Kind, Message, MessageTime, Role, TimeSource, Transcript, content_hash, hex, parse_rfc3339};

#[cfg(test)]
mod testing;
