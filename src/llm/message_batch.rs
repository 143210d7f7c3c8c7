//! Anthropic's Message Batches API: its addresses, the body of a submission, and how a batch is found again. The
//! functions perform no I/O.
//!
//! The fields follow Anthropic's API reference, version `2023-06-01`. A batch contains its requests instead of the name
//! of a file, and it cannot contain an id that this program has chosen. If the answer to a submission is lost, the
//! batch is therefore found by its position in the server's list and by its number of requests.

use std::fmt;

use serde_json::Value;

/// The path of all batches, below the base URL.
pub(super) const PATH: &str = "/messages/batches";

/// Returns the path of the results of a batch.
pub(super) fn results(id: &str) -> String {
    format!("{PATH}/{id}/results")
}

/// Returns the body that submits the requests in `lines`, one JSON value per line.
pub(super) fn creation(lines: &str) -> String {
    let requests: Vec<&str> = lines.lines().filter(|line| !line.is_empty()).collect();
    format!("{{\"requests\":[{}]}}", requests.join(","))
}

/// The position of a submitted batch in the server's list. It is newer than the batch that was the newest before, and
/// it has a certain number of requests.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ListSlot {
    newest: Option<String>,
    requests: usize,
}

impl ListSlot {
    /// Returns the slot of a batch that is about to be submitted. `list` is the start of the server's list.
    pub(super) fn new(list: &Value, content: &[u8]) -> Self {
        let newest = list["data"][0]["id"].as_str().map(str::to_owned);
        Self { newest, requests: content.split_inclusive(|&byte| byte == b'\n').count() }
    }

    /// Reads a slot in the form that [`fmt::Display`] writes.
    pub(super) fn read(text: &str) -> Option<Self> {
        let (requests, newest) = text.split_once(" after ")?;
        let newest = Some(newest).filter(|newest| *newest != "none").map(str::to_owned);
        Some(Self { newest, requests: requests.parse().ok()? })
    }

    /// Whether `entry` is the batch that was the newest before. No later entry of the list can be the submitted batch.
    pub(super) fn is_reached(&self, entry: &Value) -> bool {
        self.newest.is_some() && entry["id"].as_str() == self.newest.as_deref()
    }

    /// Whether `entry` has as many requests as the submitted batch.
    pub(super) fn fits(&self, entry: &Value) -> bool {
        let counts = entry["request_counts"].as_object();
        let total: Option<u64> = counts.map(|counts| counts.values().filter_map(Value::as_u64).sum());
        total == Some(self.requests as u64)
    }
}

impl fmt::Display for ListSlot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} after {}", self.requests, self.newest.as_deref().unwrap_or("none"))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_lost_batch_is_found_behind_the_newest_of_before_by_its_size() {
        let entry = |id: &str, ended: u64, open: u64| json!({"id": id, "request_counts": {"processing": open, "succeeded": ended}});
        let list = json!({"data": [entry("b7", 0, 3)]});
        let slot = ListSlot::new(&list, b"{}\n{}\n");
        assert_eq!(ListSlot::read(&slot.to_string()), Some(slot));
        let slot = ListSlot::read("2 after b7").unwrap();
        assert!(slot.is_reached(&entry("b7", 0, 3)) && !slot.is_reached(&entry("b8", 1, 1)));
        assert!(slot.fits(&entry("b8", 1, 1)) && !slot.fits(&entry("b8", 1, 2)) && !slot.fits(&json!({})));
        let first = ListSlot::new(&json!({"data": []}), b"{}\n");
        assert_eq!(first.to_string(), "1 after none");
        assert!(!ListSlot::read("1 after none").unwrap().is_reached(&entry("none", 0, 1)));
        assert_eq!(ListSlot::read("file-7"), None);
    }

    #[test]
    fn a_submission_contains_its_requests() {
        let body: Value = serde_json::from_str(&creation("{\"custom_id\":\"a\"}\n{\"custom_id\":\"b\"}\n")).unwrap();
        assert_eq!(body, json!({"requests": [{"custom_id": "a"}, {"custom_id": "b"}]}));
    }
}
