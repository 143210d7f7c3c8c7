//! Points at which a test can end the process, to show that interrupted work leads to the same result.
//!
//! Release builds have no such points, and `point` does nothing. In other builds, `AFTERTHOUGHT_FAULT=NAME` ends the
//! process when it reaches the point `NAME`, and `NAME:3` when it reaches this point for the third time.

/// All points, in the order in which a run reaches them.
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
    // Requests in batches of a provider.
    "batch.planned",
    "batch.uploaded",
    "batch.submitted",
    "batch.fetched",
    "batch.ended",
    // Vectors.
    "vectors.asked",
    "vectors.kept",
    // Erasing, and the rewriting of the file that follows.
    "seal.begin",
    "seal.written",
    "seal.done",
    // Backups, restoring and repairing.
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

/// Points of `encrypt` and `decrypt`, in order.
#[cfg(any(test, debug_assertions))]
pub(crate) const CONVERTING: &[&str] = &["convert.copied", "convert.written", "convert.placed", "convert.wiped"];

/// Points of a worker that takes jobs from a queue, in order; builds without the feature `scale` reach none of them.
#[cfg(debug_assertions)]
pub const WORKING: &[&str] =
    &["job.claimed", "shard.ready", "shared.received", "shared.kept", "shard.worked", "shard.appended", "job.ended"];

/// Ends the process at this point as if it had been killed, if a test has requested this.
#[cfg(debug_assertions)]
pub(crate) fn point(name: &str) {
    use std::sync::LazyLock;
    use std::sync::atomic::{AtomicU32, Ordering};

    /// The requested point, and the number of times that it must still be reached.
    static WANTED: LazyLock<Option<(String, AtomicU32)>> = LazyLock::new(|| {
        let text = std::env::var("AFTERTHOUGHT_FAULT").ok()?;
        let (name, time) = text.split_once(':').unwrap_or((&text, "1"));
        Some((name.to_owned(), AtomicU32::new(time.parse().ok()?)))
    });
    let is_listed = [POINTS, CONVERTING, WORKING].iter().any(|points| points.contains(&name));
    debug_assert!(is_listed, "{name} is not listed");
    let Some((wanted, left)) = &*WANTED else { return };
    if wanted == name && left.fetch_sub(1, Ordering::SeqCst) == 1 {
        // The process aborts instead of exiting, so that no destructor runs, as after a kill.
        std::process::abort();
    }
}

/// Does nothing.
#[cfg(not(debug_assertions))]
pub(crate) const fn point(_: &str) {}
