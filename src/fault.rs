//! Places at which a test lets a process die, to show that whatever was begun there comes to the same end.
//!
//! A build for release has none of them: [`point`] is empty there. In others, `AFTERTHOUGHT_FAULT=NAME` ends the process
//! when it comes to the place called `NAME`, and `NAME:3` when it comes there for the third time.

/// All places, in the order in which a run meets them.
pub const POINTS: &[&str] = &[
    "migrate.begin",
    "migrate.step",
    "migrate.done",
    "run.begun",
    "window.claimed",
    "request.rendered",
    "reply.received",
    "reply.kept",
    "window.finish",
    "window.finished",
    "write.begin",
    "write.commit",
    "write.done",
    "file.noted",
    "run.finish",
    // Questions in batches of a provider.
    "batch.planned",
    "batch.uploaded",
    "batch.submitted",
    "batch.fetched",
    "batch.ended",
    // Vectors.
    "vectors.asked",
    "vectors.kept",
    // Erasing, and writing the file anew after it.
    "seal.begin",
    "seal.written",
    "seal.done",
    // Copies, taking one back, and mending.
    "copy.begin",
    "copy.made",
    "copy.placed",
    "restore.begin",
    "restore.placed",
    "repair.begin",
    "repair.filled",
    "repair.placed",
    // Between two pages of an export.
    "export.page",
];

/// Places on the way of `encrypt` and `decrypt`, in their order.
pub const CONVERTING: &[&str] = &["convert.copied", "convert.written", "convert.placed", "convert.wiped"];

/// Ends the process here, as if it had been killed, where a test has asked for it.
#[cfg(debug_assertions)]
pub fn point(name: &str) {
    use std::sync::LazyLock;
    use std::sync::atomic::{AtomicU32, Ordering};

    /// The place that was asked for, and how often it is passed before.
    static WANTED: LazyLock<Option<(String, AtomicU32)>> = LazyLock::new(|| {
        let text = std::env::var("AFTERTHOUGHT_FAULT").ok()?;
        let (name, time) = text.split_once(':').unwrap_or((&text, "1"));
        Some((name.to_owned(), AtomicU32::new(time.parse().ok()?)))
    });
    debug_assert!(POINTS.contains(&name) || CONVERTING.contains(&name), "{name} is not listed");
    let Some((wanted, left)) = &*WANTED else { return };
    if wanted == name && left.fetch_sub(1, Ordering::SeqCst) == 1 {
        std::process::abort();
    }
}

/// Does nothing.
#[cfg(not(debug_assertions))]
pub const fn point(_: &str) {}
