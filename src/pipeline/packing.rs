//! Groups windows into requests, and finds the windows of earlier runs in a transcript; pure.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;

use transcripts::{Message, content_hash};

use super::Place;
use crate::extract::Span;
use crate::store::{DoneWindow, RequestId, UnfinishedWindow};

/// Most windows in a pack.
const MAX_WINDOWS: usize = 32;
/// Most packs that are being filled; the oldest is closed for another.
const MAX_OPEN: usize = 8;
/// Most packs of an earlier run that are waited for.
const MAX_AWAITED: usize = 64;

/// What decides where a window goes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Load<'p> {
    /// Where its memories belong; windows of different places never share a request.
    pub place: &'p Place,
    /// Its tokens in a prompt.
    pub tokens: usize,
    /// Whether it may be read together with others.
    pub company: Company,
}

/// Whether a window may be read together with others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Company {
    /// With whatever fits.
    Any,
    /// With those that a stored request is about.
    Stored(Membership),
    /// It goes alone, and at once.
    None,
}

/// The place of a window among those that a stored request is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Membership {
    /// The first request about them.
    pub request: RequestId,
    /// The place, from 0.
    pub place: usize,
    /// How many there are.
    pub windows: usize,
}

/// Puts windows into packs of at most `budget` tokens.
///
/// A window that is larger, or nearly as large, is a pack of its own. Windows that a stored request is about are put
/// together as it shows them. Nothing that passes through is lost or doubled.
#[derive(Debug)]
pub(super) struct Packer<T> {
    budget: usize,
    open: VecDeque<Open<T>>,
    awaited: BTreeMap<RequestId, Awaited<T>>,
}

#[derive(Debug)]
struct Open<T> {
    place: Place,
    tokens: usize,
    windows: Vec<T>,
}

#[derive(Debug)]
struct Awaited<T> {
    place: Place,
    windows: BTreeMap<usize, T>,
}

impl<T> Packer<T> {
    /// Begins without any pack.
    pub(super) const fn new(budget: usize) -> Self {
        Self { budget, open: VecDeque::new(), awaited: BTreeMap::new() }
    }

    /// Takes a window in; returns the packs that are full.
    pub(super) fn push(&mut self, load: &Load<'_>, window: T) -> Vec<Vec<T>> {
        match load.company {
            Company::None => vec![vec![window]],
            Company::Any => self.fill(load, window),
            Company::Stored(member) => self.complete(load, member, window),
        }
    }

    /// Returns what is left when no window comes any more.
    pub(super) fn flush(&mut self) -> Vec<Vec<T>> {
        let awaited = std::mem::take(&mut self.awaited).into_values().map(Awaited::close);
        awaited.chain(std::mem::take(&mut self.open).into_iter().map(|pack| pack.windows)).collect()
    }

    fn fill(&mut self, load: &Load<'_>, window: T) -> Vec<Vec<T>> {
        if load.tokens >= self.enough() {
            return vec![vec![window]];
        }
        let Some(at) = self.open.iter().position(|open| open.place == *load.place) else {
            return self.open(load, window);
        };
        let open = &mut self.open[at];
        if open.tokens + load.tokens > self.budget {
            // The smaller of the two has room for more.
            if load.tokens >= open.tokens {
                return vec![vec![window]];
            }
            let full = std::mem::replace(&mut open.windows, vec![window]);
            open.tokens = load.tokens;
            return vec![full];
        }
        open.tokens += load.tokens;
        open.windows.push(window);
        let is_full = open.tokens >= self.enough() || self.open[at].windows.len() == MAX_WINDOWS;
        let full = if is_full { self.open.remove(at) } else { None };
        full.into_iter().map(|pack| pack.windows).collect()
    }

    /// Begins a pack; returns the oldest if there are too many.
    fn open(&mut self, load: &Load<'_>, window: T) -> Vec<Vec<T>> {
        let oldest = if self.open.len() < MAX_OPEN { None } else { self.open.pop_front() };
        self.open.push_back(Open { place: load.place.clone(), tokens: load.tokens, windows: vec![window] });
        oldest.into_iter().map(|pack| pack.windows).collect()
    }

    /// Returns the tokens from which a pack is not kept open for the little that may still fit.
    const fn enough(&self) -> usize {
        self.budget - self.budget / 8
    }

    fn complete(&mut self, load: &Load<'_>, member: Membership, window: T) -> Vec<Vec<T>> {
        let pack = self
            .awaited
            .entry(member.request)
            .or_insert_with(|| Awaited { place: load.place.clone(), windows: BTreeMap::new() });
        // The same conversation in another log, or in a project that was told apart since.
        if pack.windows.contains_key(&member.place) || pack.place != *load.place {
            return self.fill(load, window);
        }
        pack.windows.insert(member.place, window);
        let is_full = pack.windows.len() >= member.windows;
        let closed = if is_full { self.awaited.remove(&member.request) } else { None };
        let oldest = if self.awaited.len() > MAX_AWAITED { self.awaited.pop_first() } else { None };
        closed.into_iter().chain(oldest.map(|(_, pack)| pack)).map(Awaited::close).collect()
    }
}

impl<T> Awaited<T> {
    fn close(self) -> Vec<T> {
        self.windows.into_values().collect()
    }
}

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
mod pack_tests {
    use proptest::prelude::*;

    use super::*;
    use crate::memory::Namespace;

    fn place(name: &str) -> Place {
        Place::of_project(Namespace::project(name).unwrap())
    }

    /// Packs windows told as place, tokens and company; a window is its place in the list.
    fn packed(budget: usize, windows: &[(&str, usize, Company)]) -> Vec<Vec<usize>> {
        let mut packer = Packer::new(budget);
        let mut packs = Vec::new();
        for (window, (name, tokens, company)) in windows.iter().enumerate() {
            packs.extend(packer.push(&Load { place: &place(name), tokens: *tokens, company: *company }, window));
        }
        packs.extend(packer.flush());
        packs
    }

    fn any(windows: &[(&'static str, usize)]) -> Vec<(&'static str, usize, Company)> {
        windows.iter().map(|&(name, tokens)| (name, tokens, Company::Any)).collect()
    }

    fn former(request: i64, place: usize, windows: usize) -> Company {
        Company::Stored(Membership { request: RequestId::from_stored(request), place, windows })
    }

    #[test]
    fn short_windows_of_one_place_go_together_up_to_the_budget() {
        assert_eq!(packed(10, &any(&[("a", 4), ("a", 4), ("a", 4), ("a", 6)])), [vec![0, 1], vec![2, 3]]);
        assert_eq!(packed(10, &any(&[("a", 4), ("a", 11), ("a", 4)])), [vec![1], vec![0, 2]]);
        assert_eq!(packed(10, &any(&[("a", 2), ("a", 9), ("a", 2)])), [vec![1], vec![0, 2]]);
        assert_eq!(packed(0, &any(&[("a", 2), ("a", 9)])), [vec![0], vec![1]]);
    }

    #[test]
    fn windows_of_two_places_never_meet() {
        assert_eq!(packed(10, &any(&[("a", 1), ("b", 1), ("a", 1), ("b", 1)])), [vec![0, 2], vec![1, 3]]);
    }

    #[test]
    fn what_was_asked_about_is_packed_as_it_was() {
        let windows = [
            ("a", 4, former(7, 1, 2)),
            ("a", 4, Company::Any),
            ("a", 4, former(7, 0, 2)),
            ("a", 1, former(9, 0, 1)),
            ("a", 4, Company::Any),
        ];
        assert_eq!(packed(10, &windows), [vec![2, 0], vec![3], vec![1, 4]]);
        let gone = [("a", 4, former(7, 1, 3)), ("a", 4, former(7, 1, 3)), ("a", 4, former(7, 0, 3))];
        assert_eq!(packed(10, &gone), [vec![2, 0], vec![1]], "a window that is gone is not waited for for ever");
        let moved = [("a", 4, former(7, 0, 2)), ("b", 4, former(7, 1, 2))];
        assert_eq!(packed(10, &moved), [vec![0], vec![1]]);
    }

    #[test]
    fn what_goes_alone_does_not_wait() {
        let mut packer = Packer::new(10);
        let place = place("a");
        let load = |company| Load { place: &place, tokens: 1, company };
        assert_eq!(packer.push(&load(Company::Any), 0), [] as [Vec<usize>; 0]);
        assert_eq!(packer.push(&load(Company::None), 1), [vec![1]]);
    }

    proptest! {
        #[test]
        fn every_window_is_in_one_pack_in_order_in_budget_and_among_its_own(
            windows in prop::collection::vec((0..12_usize, 1..120_usize), 0..120),
        ) {
            let names: Vec<String> = (0..12).map(|n| format!("p{n}")).collect();
            let mut packer = Packer::new(100);
            let (mut packs, mut most) = (Vec::new(), 0);
            for (window, &(name, tokens)) in windows.iter().enumerate() {
                let place = place(&names[name]);
                packs.extend(packer.push(&Load { place: &place, tokens, company: Company::Any }, window));
                most = most.max(packer.open.len());
            }
            packs.extend(packer.flush());
            let mut all: Vec<usize> = packs.concat();
            all.sort_unstable();
            prop_assert_eq!(all, (0..windows.len()).collect::<Vec<_>>());
            prop_assert!(most <= MAX_OPEN);
            for pack in packs {
                prop_assert!(pack.is_sorted() && pack.len() <= MAX_WINDOWS);
                prop_assert!(pack.iter().all(|&window| windows[window].0 == windows[pack[0]].0));
                let tokens: usize = pack.iter().map(|&window| windows[window].1).sum();
                prop_assert!(tokens <= 100 || pack.len() == 1);
            }
        }
    }
}

#[cfg(test)]
mod known_tests {
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
