//! Looking again where something was taken out, since that can lay bare what stood beside it.

use std::ops::Range;

use super::Findings;
use super::scan::{self, Found, Replaced};

/// How much of the text on each side of a new marker is read again, in bytes.
const CONTEXT_BYTES: usize = 512;

/// How near to a cut of the text that is read again a find is not trusted, in bytes: more than a match may need of
/// what stands around it.
const EDGE_BYTES: usize = 160;

/// The row that may match less when the text behind it is cut; it waits for a reading of the whole text.
const READS_FAR: &str = "private-key";

/// Reads the surroundings of every marker again, and of the markers that this makes, until nothing is found.
///
/// The work is in proportion to the number of markers, however they lay one another bare. A secret that reaches out
/// of the surroundings is left, so the caller reads the whole once more.
pub(super) fn settle(replaced: &Replaced, find: impl Fn(&str) -> Vec<Found>, findings: &mut Findings) -> String {
    let total = replaced.text.len();
    let mut gap = Gap::new(&replaced.text);
    let mut waiting = Vec::new();
    wait(&mut waiting, &replaced.markers, total);
    while let Some(mut span) = waiting.pop() {
        while let Some(next) = waiting.pop_if(|next| next.start >= span.end) {
            (span.start, span.end) = (next.start.max(span.start), next.end.min(span.end));
        }
        let mut near = gap.take(&span);
        let last = if gap.after.is_empty() { near.len() } else { near.len().saturating_sub(EDGE_BYTES) };
        let first = if gap.before.is_empty() { 0 } else { EDGE_BYTES };
        let mut found = find(&near);
        found.retain(|found| {
            found.range.start >= first && found.range.end <= last && (found.name != READS_FAR || gap.after.is_empty())
        });
        if let Some(Replaced { text, markers }) = scan::replace(&near, found, findings) {
            wait(&mut waiting, &markers, gap.after.len() + text.len());
            near = text;
        }
        gap.before.push_str(&near);
    }
    gap.into_text()
}

/// A stretch of text whose bounds are counted from the end of the text, so that changes before it do not move it.
struct FromEnd {
    start: usize,
    end: usize,
}

/// Puts the surroundings of `markers` on the stack, the leftmost on top; `end` is how far position 0 is from the end.
fn wait(waiting: &mut Vec<FromEnd>, markers: &[Range<usize>], end: usize) {
    waiting.extend(markers.iter().rev().map(|marker| FromEnd {
        start: end - marker.start + CONTEXT_BYTES,
        end: (end - marker.end).saturating_sub(CONTEXT_BYTES),
    }));
}

/// A text with a gap that moves: what is left of it, and backwards what is right of it.
struct Gap {
    before: String,
    after: String,
}

impl Gap {
    fn new(text: &str) -> Self {
        Self { before: String::with_capacity(text.len()), after: text.chars().rev().collect() }
    }

    /// Moves the gap to `span` and takes the text out that stands there.
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
