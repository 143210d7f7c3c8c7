//! Which of two claims holds later, by the world's time and not by arrival.

use std::cmp::Ordering;

use jiff::{SignedDuration, Timestamp};

use crate::memory::{Claim, Evidence};

/// When a claim held, as far as it is known.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct When {
    /// From when it held; else when it was last said; for a claim without evidence, when it was written.
    pub at: Option<Timestamp>,
    from: Option<Timestamp>,
    to: Option<Timestamp>,
    /// When it was last said, or written.
    said: Option<Timestamp>,
    /// Transcripts in which it was said, each with the last message's position where messages are numbered.
    places: Vec<(String, u64)>,
}

impl When {
    /// Returns when `claim` held. `written_at` counts only where there is no evidence, since arrival of a log says
    /// nothing about what it tells.
    #[must_use]
    pub fn of(claim: &Claim, evidence: &[Evidence], written_at: Timestamp) -> Self {
        let said = evidence.iter().filter_map(|piece| piece.said_at.map(|time| time.at)).max();
        let said = said.or(evidence.is_empty().then_some(written_at));
        let places = evidence.iter().filter_map(|piece| {
            let position = piece.messages.first()?.parse().ok()?;
            Some((piece.transcript.clone(), position))
        });
        let (from, to) = (claim.valid_from, claim.valid_to);
        Self { at: from.or(said), from, to, said, places: places.collect() }
    }

    /// Compares which of two claims that cannot both hold is the later state of the world.
    ///
    /// Two beginnings are compared as they are. Of one that has a beginning and one that was only said, the one said
    /// before the other began is earlier, and within the other's time, the one said last stands. One that is over
    /// counts by its end. Where times are equal or missing, the place in a common transcript decides. `None` if
    /// neither tells.
    #[must_use]
    pub fn compare(&self, other: &Self) -> Option<Ordering> {
        self.compare_times(other).filter(|order| order.is_ne()).or_else(|| self.compare_places(other))
    }

    fn compare_times(&self, other: &Self) -> Option<Ordering> {
        if self.to.is_some() || other.to.is_some() {
            return Some(self.last()?.cmp(&other.last()?));
        }
        match (self.from, other.from) {
            (Some(_), None) => self.compare_begun(other),
            (None, Some(_)) => other.compare_begun(self).map(Ordering::reverse),
            (Some(_), Some(_)) | (None, None) => Some(self.at?.cmp(&other.at?)),
        }
    }

    /// Compares a claim of known beginning with one that was only said.
    fn compare_begun(&self, other: &Self) -> Option<Ordering> {
        let (from, theirs) = (self.from?, other.said?);
        Some(if theirs < from { Ordering::Greater } else { self.said.unwrap_or(from).cmp(&theirs) })
    }

    /// Whether both were said, or began to hold, less than a day apart.
    #[must_use]
    pub(crate) fn is_within_a_day(&self, other: &Self) -> bool {
        self.at.zip(other.at).is_some_and(|(a, b)| a.duration_since(b).abs() < SignedDuration::from_hours(24))
    }

    /// The last moment at which it is known to have held.
    fn last(&self) -> Option<Timestamp> {
        self.to.or_else(|| self.said.max(self.from))
    }

    fn compare_places(&self, other: &Self) -> Option<Ordering> {
        let last = |when: &Self, transcript: &str| {
            when.places.iter().filter(|(name, _)| name == transcript).map(|(_, position)| *position).max()
        };
        self.places.iter().find_map(|(transcript, _)| {
            let order = last(self, transcript)?.cmp(&last(other, transcript)?);
            order.is_ne().then_some(order)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::MemoryType;
    use transcripts::MessageTime;

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    fn said(transcript: &str, message: &str, time: Option<&str>) -> Evidence {
        Evidence {
            transcript: transcript.into(),
            messages: vec![message.into()],
            quote: "q".into(),
            speaker: None,
            said_at: time.map(|time| MessageTime::logged(at(time))),
            content_hash: "h".into(),
        }
    }

    #[test]
    fn valid_time_beats_saying_and_saying_beats_writing() {
        let now = at("2026-06-01T00:00:00Z");
        let mut claim = Claim::new(MemoryType::Semantic, "fact", "t", "c");
        assert_eq!(When::of(&claim, &[], now).at, Some(now));
        let evidence = [said("a", "1", Some("2026-01-01T00:00:00Z")), said("a", "2", Some("2026-02-01T00:00:00Z"))];
        assert_eq!(When::of(&claim, &evidence, now).at, Some(at("2026-02-01T00:00:00Z")));
        claim.valid_from = Some(at("2020-01-01T00:00:00Z"));
        assert_eq!(When::of(&claim, &evidence, now).at, Some(at("2020-01-01T00:00:00Z")));
    }

    #[test]
    fn the_later_state_of_the_world_is_told_by_beginnings_ends_and_words() {
        let when = |said: &str, from: Option<&str>, to: Option<&str>| {
            let time = |day: &str| at(&format!("{day}T00:00:00Z"));
            let mut claim = Claim::new(MemoryType::Semantic, "fact", "t", "c");
            (claim.valid_from, claim.valid_to) = (from.map(time), to.map(time));
            When::of(&claim, &[said_on(said)], at("2026-06-01T00:00:00Z"))
        };
        let rows = [
            // Both only said.
            (("2026-04-01", None, None), ("2026-03-01", None, None), Some(Ordering::Greater)),
            // Said last, of a time that began before the other was said.
            (("2026-04-01", Some("2025-12-01"), None), ("2026-03-01", None, None), Some(Ordering::Greater)),
            (("2026-02-01", Some("2025-12-01"), None), ("2026-03-01", None, None), Some(Ordering::Less)),
            // Announced before it began.
            (("2026-02-01", Some("2026-05-01"), None), ("2026-03-01", None, None), Some(Ordering::Greater)),
            (("2026-04-01", Some("2024-01-01"), None), ("2026-03-01", Some("2025-01-01"), None), Some(Ordering::Less)),
            // Over before the other was said.
            (("2026-04-01", None, Some("2019-01-01")), ("2026-03-01", None, None), Some(Ordering::Less)),
            (("2026-04-01", Some("2026-01-01"), None), ("2026-03-01", Some("2026-01-01"), None), None),
        ];
        for ((said_a, from_a, to_a), (said_b, from_b, to_b), expected) in rows {
            let (a, b) = (when(said_a, from_a, to_a), when(said_b, from_b, to_b));
            assert_eq!(a.compare(&b), expected, "{a:?} / {b:?}");
            assert_eq!(b.compare(&a), expected.map(Ordering::reverse), "{b:?} / {a:?}");
        }
    }

    fn said_on(day: &str) -> Evidence {
        Evidence { messages: vec!["x".into()], ..said("log", "x", Some(&format!("{day}T00:00:00Z"))) }
    }

    #[test]
    fn undated_claims_are_ordered_within_one_transcript_only() {
        let claim = Claim::new(MemoryType::Semantic, "fact", "t", "c");
        let when = |transcript: &str, message: &str| {
            When::of(&claim, &[said(transcript, message, None)], at("2026-06-01T00:00:00Z"))
        };
        assert_eq!(when("a", "10").compare(&when("a", "9")), Some(Ordering::Greater));
        assert_eq!(when("a", "9").compare(&when("b", "10")), None);
        assert_eq!(when("a", "x").compare(&when("a", "y")), None);
        assert_eq!(when("a", "9").compare(&when("a", "9")), None);
    }
}
