//! Scans again around each marker, since the removal of one secret can complete another secret next to it.

use std::ops::Range;

use crate::guard::scan::{Findings, Found, Replaced, replace};

/// Number of bytes on each side of a new marker that are read again.
const CONTEXT_BYTES: usize = 512;

/// Distance, in bytes, from the edge of the text that is read again, within which findings are ignored. The distance is
/// greater than the context that a match may need.
const EDGE_BYTES: usize = 160;

/// The row that may match less if the text after it is cut. It is only searched in the whole text.
const READS_FAR: &str = "private-key";

/// Reads the surroundings of every marker again, and of the markers that this adds, until nothing is found.
///
/// The work is proportional to the number of markers, even if one removal exposes another secret many times. A secret
/// that extends beyond the surroundings is not removed, so the caller scans the whole text once more.
pub(super) fn rescan(replaced: &Replaced, find: impl Fn(&str) -> Vec<Found>, findings: &mut Findings) -> String {
    let total = replaced.text.len();
    let mut gap = Gap::new(&replaced.text);
    let mut waiting = Vec::new();
    queue(&mut waiting, &replaced.markers, total);
    while let Some(mut span) = waiting.pop() {
        // Overlapping surroundings are read together, only once.
        while let Some(next) = waiting.pop_if(|next| next.start >= span.end) {
            (span.start, span.end) = (next.start.max(span.start), next.end.min(span.end));
        }
        let mut near = gap.take(&span);
        // At the real ends of the text, nothing was cut, so findings there are valid.
        let last = if gap.after.is_empty() { near.len() } else { near.len().saturating_sub(EDGE_BYTES) };
        let first = if gap.before.is_empty() { 0 } else { EDGE_BYTES };
        let mut found = find(&near);
        found.retain(|found| {
            found.range.start >= first && found.range.end <= last && (found.name != READS_FAR || gap.after.is_empty())
        });
        if let Some(Replaced { text, markers }) = replace(&near, found, findings) {
            queue(&mut waiting, &markers, gap.after.len() + text.len());
            near = text;
        }
        gap.before.push_str(&near);
    }
    gap.into_text()
}

/// A range of text whose bounds are counted from the end of the text, so that changes before the range do not move it.
struct FromEnd {
    start: usize,
    end: usize,
}

/// Pushes the surroundings of `markers` on the stack, with the leftmost on top. `end` is the distance of position 0
/// from the end.
fn queue(waiting: &mut Vec<FromEnd>, markers: &[Range<usize>], end: usize) {
    waiting.extend(markers.iter().rev().map(|marker| FromEnd {
        start: end - marker.start + CONTEXT_BYTES,
        end: (end - marker.end).saturating_sub(CONTEXT_BYTES),
    }));
}

/// Text with a movable gap: the text to its left, and the text to its right in reverse.
struct Gap {
    before: String,
    after: String,
}

impl Gap {
    fn new(text: &str) -> Self {
        Self { before: String::with_capacity(text.len()), after: text.chars().rev().collect() }
    }

    /// Moves the gap to `span` and removes and returns the text there.
    fn take(&mut self, span: &FromEnd) -> String {
        while self.after.len() > span.start {
            let Some(c) = self.after.pop() else { break };
            self.before.push(c);
        }
        while self.after.len() < span.start {
            let Some(c) = self.before.pop() else { break };
            self.after.push(c);
        }
        let mut near = String::new();
        while self.after.len() > span.end {
            let Some(c) = self.after.pop() else { break };
            near.push(c);
        }
        near
    }

    fn into_text(mut self) -> String {
        self.before.extend(self.after.chars().rev());
        self.before
    }
}
