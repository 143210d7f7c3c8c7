//! Names of channels, attached files and ids of messages, as all kinds of exports spell them.

use jiff::Timestamp;

use crate::Assembler;
use crate::message::parts;

/// Milliseconds from 1970 to 1 January 2015, from which Discord's ids are counted.
pub(super) const DISCORD_EPOCH_MS: i64 = 1_420_070_400_000;

/// Sets the names of the channel and its guild, as HTML and text exports spell them.
pub(super) fn set_names(draft: &mut Assembler, guild: &str, channel: &str) {
    let name = channel.rsplit(" / ").next().filter(|name| !name.is_empty());
    draft.meta().title = name.map(str::to_owned);
    draft.meta().project = Some(guild.to_owned()).filter(|guild| !guild.is_empty() && guild != "Direct Messages");
}

/// Returns the placeholder of an attached file.
pub(super) fn file_label(name: Option<&str>) -> String {
    let ending = name.and_then(|name| name.rsplit_once('.')).map(|(_, ending)| ending.to_lowercase());
    let is_image = matches!(ending.as_deref(), Some("png" | "jpg" | "jpeg" | "gif" | "webp" | "heic"));
    parts::file_label(if is_image { "image" } else { "file" }, name)
}

/// Returns the instant encoded in an id: all bits except the lowest 22 contain milliseconds.
pub(super) fn counted(id: &str) -> Option<Timestamp> {
    let id = id.parse::<i64>().ok().filter(|id| *id > 1 << 22)?;
    Timestamp::from_millisecond((id >> 22) + DISCORD_EPOCH_MS).ok()
}
