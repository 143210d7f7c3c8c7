//! Which windows of an earlier run a conversation still holds; pure.

use std::ops::Range;

use crate::extract::Span;
use crate::store::{DoneWindow, UnfinishedWindow};
use transcripts::{Message, content_hash};

/// Messages by which a window may have moved because others were put in or taken out before it.
const MAX_SHIFT: isize = 40;

/// Returns where the messages of `finished` windows stand now: sorted and disjoint.
///
/// A window whose messages were changed is not among them. One that has moved is found if it moved as far as the one
/// before it, or by at most [`MAX_SHIFT`] messages.
pub(super) fn still_there(messages: &[Message], finished: &[DoneWindow]) -> Vec<Range<usize>> {
    let mut found = Found { messages, ranges: Vec::new() };
    let moved: Vec<&DoneWindow> = finished.iter().filter(|window| !found.take(window, 0)).collect();
    let mut shift = 0;
    for window in moved {
        let near = (1..=MAX_SHIFT).flat_map(|distance| [distance, -distance]);
        if let Some(to) = std::iter::once(shift).chain(near).find(|&to| found.take(window, to)) {
            shift = to;
        }
    }
    found.ranges
}

/// Returns the windows that a stored request shows, where they stand now: sorted, disjoint from `done`, each with the
/// one of `open` that it is.
pub(super) fn stored_windows<'w>(
    messages: &[Message],
    open: &'w [UnfinishedWindow],
    done: &[Range<usize>],
) -> Vec<(Span, &'w UnfinishedWindow)> {
    let stored: Vec<&UnfinishedWindow> = open.iter().filter(|one| one.context.is_some()).collect();
    let windows: Vec<DoneWindow> = stored.iter().map(|one| one.window.clone()).collect();
    let mut ranges = still_there(messages, &windows);
    ranges.retain(|range| done.iter().all(|other| range.end <= other.start || other.end <= range.start));
    let span = |range: Range<usize>| {
        let hash = content_hash(&messages[range.clone()]);
        let is_it = |one: &&&UnfinishedWindow| one.window.content_hash == hash;
        let here = stored.iter().filter(is_it).find(|one| one.window.start == range.start);
        let window = here.or_else(|| stored.iter().find(is_it))?;
        let context = window.context.unwrap_or_default();
        Some((Span { context_start: range.start.saturating_sub(context), start: range.start, end: range.end }, *window))
    };
    ranges.into_iter().filter_map(span).collect()
}

struct Found<'m> {
    messages: &'m [Message],
    ranges: Vec<Range<usize>>,
}

impl Found<'_> {
    /// Takes the place of `window` moved by `shift`, if its messages stand there and in no other window.
    fn take(&mut self, window: &DoneWindow, shift: isize) -> bool {
        let Some(start) = window.start.checked_add_signed(shift) else { return false };
        let range = start..start.saturating_add(window.len);
        let at = self.ranges.partition_point(|other| other.start < range.start);
        let is_free = self.ranges.get(at).is_none_or(|next| range.end <= next.start)
            && at.checked_sub(1).is_none_or(|before| self.ranges[before].end <= range.start);
        let stands = |messages| content_hash(messages) == window.content_hash;
        if !is_free || !self.messages.get(range.clone()).is_some_and(stands) {
            return false;
        }
        self.ranges.insert(at, range);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn talk(words: &str) -> Vec<Message> {
        words.split(' ').map(Message::user).collect()
    }

    /// Returns where windows of two messages that were read in `before` stand in `after`.
    fn moved(before: &str, after: &str) -> Vec<Range<usize>> {
        let before = talk(before);
        let windows = before.chunks(2).enumerate().map(|(index, chunk)| DoneWindow {
            start: index * 2,
            len: chunk.len(),
            content_hash: content_hash(chunk),
        });
        still_there(&talk(after), &windows.collect::<Vec<_>>())
    }

    #[test]
    fn windows_are_found_where_they_stood_or_as_far_as_they_were_moved() {
        let table: &[(&str, &[Range<usize>])] = &[
            ("a b c d e f", &[0..2, 2..4, 4..6]),
            ("a b c d e f g", &[0..2, 2..4, 4..6]),
            ("a b c X e f", &[0..2, 4..6]),
            ("X a b c d e f", &[1..3, 3..5, 5..7]),
            ("a b c X d e f", &[0..2, 5..7]),
            ("b c d e f", &[1..3, 3..5]),
            ("a b e f c d", &[0..2, 2..4, 4..6]),
            ("a", &[]),
        ];
        for (after, ranges) in table {
            assert_eq!(moved("a b c d e f", after), *ranges, "{after}");
        }
    }

    #[test]
    fn the_same_words_are_not_counted_twice() {
        assert_eq!(moved("a b a b", "a b"), vec![0..2]);
        assert_eq!(moved("a b", "a b a b"), vec![0..2]);
    }
}
