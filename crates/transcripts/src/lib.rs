//! Reads conversation logs: bytes in, [`Transcript`]s out.

#[macro_use]
mod ingestor;

mod agents;
mod api;
mod assistants;
mod datasets;
mod discover;
mod formats;
pub mod json;
pub mod known;
mod message;
mod people;
mod reading;
#[cfg(test)]
mod testing;
mod text;
mod transcript;

pub use discover::{Discovered, Found, discover, true_path};
pub use formats::{INGESTORS, by_name, detect, detect_folder};
pub use ingestor::{
    IngestError, Ingestor, MAX_PART_BYTES, MAX_PROSE_BYTES, MAX_RECORD_BYTES, MAX_TOOL_BYTES, Sink, Skipped,
};
pub use message::identity::instant;
pub use reading::head::Head;
pub use reading::input::{Folder, Input, Logs, open};
pub use reading::records::{Record, Records};
pub use transcript::{Kind, Message, MessageTime, Role, TimeSource, Transcript, content_hash, hex, parse_rfc3339};

use message::assemble::Assembler;
use reading::records::{Layout, Object, Objects};
