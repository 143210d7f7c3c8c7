//! The content of an item: records with the name of the log, the number, and the hash of the item before it.

use serde::{Deserialize, Serialize};

use super::error::SyncError;
use super::log::LogItem;
use super::record::{Record, is_none, key_of};

/// Version of the content; it increases whenever an older program could not apply an item correctly.
const VERSION: u64 = 1;

/// An item as it is written.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Item {
    afterthought_log: u64,
    device: String,
    seq: u64,
    /// Hash of the item before this one; a snapshot continues any item.
    prev: Option<String>,
    pub(crate) records: Vec<Record>,
}

/// The part of an item that all versions of the content have.
#[derive(Deserialize)]
struct Mark {
    afterthought_log: u64,
}

/// Returns the bytes of an item; `records` is a JSON list.
pub(crate) fn encode(device: &str, seq: u64, prev: Option<&str>, records: &str) -> Vec<u8> {
    let text = |value: &str| serde_json::Value::from(value).to_string();
    let prev = prev.map_or_else(|| "null".to_owned(), text);
    let device = text(device);
    format!(
        "{{\"afterthought_log\":{VERSION},\"device\":{device},\"seq\":{seq},\"prev\":{prev},\"records\":{records}}}\n"
    )
    .into_bytes()
}

/// Returns the records of an item of the log `device`, whose item before it has the hash `prev`; `None` for any.
pub(crate) fn decode(device: &str, item: &LogItem, prev: Option<&str>) -> Result<Vec<Record>, SyncError> {
    let fault = |what: &'static str| SyncError::BadItem { device: device.to_owned(), seq: item.seq, what };
    let mark: Mark = serde_json::from_slice(&item.bytes).map_err(|_| fault("is not an item of a log"))?;
    if mark.afterthought_log > VERSION {
        return Err(SyncError::Newer { device: device.to_owned() });
    }
    let content: Item = serde_json::from_slice(&item.bytes).map_err(|_| fault("cannot be read"))?;
    if content.device != device || content.seq != item.seq {
        return Err(fault("belongs to another place in the logs"));
    }
    if let (Some(prev), Some(named)) = (prev, &content.prev)
        && prev != named
    {
        return Err(fault("does not continue the item before it"));
    }
    // A record under a wrong key would replace the row of another.
    let fits = |record: &Record| {
        record.versions.iter().all(|version| {
            version.is_sound() && (is_none(&version.state) || key_of(&version.state).as_ref() == Some(&record.key))
        })
    };
    if !content.records.iter().all(fits) {
        return Err(fault("contains a row under the name of another"));
    }
    Ok(content.records)
}
