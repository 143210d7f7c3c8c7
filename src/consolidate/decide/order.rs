//! Which of two claims holds later, by the world's time and not by arrival.

use std::cmp::Ordering;

use jiff::Timestamp;

use crate::memory::{Claim, Evidence};

/// When a claim held, as far as it is known.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct When {
    /// From when it held; else when it was last said; for a claim without evidence, when it was written.
    pub at: Option<Timestamp>,
    /// Transcripts in which it was said, each with the last message's position where messages are numbered.
    places: Vec<(String, u64)>,
}

impl When {
    /// Returns when `claim` held. `written_at` counts only where there is no evidence, since arrival of a log says
    /// nothing about what it tells.
    #[must_use]
    pub fn of(claim: &Claim, evidence: &[Evidence], written_at: Timestamp) -> Self {
        let said = evidence.iter().filter_map(|piece| piece.said_at.map(|time| time.at)).max();
        let written = evidence.is_empty().then_some(written_at);
        let places = evidence.iter().filter_map(|piece| {
            let position = piece.messages.first()?.parse().ok()?;
            Some((piece.transcript.clone(), position))
        });
        Self { at: claim.valid_from.or(said).or(written), places: places.collect() }
    }

    /// Compares two times; where they are equal or missing, the place in a common transcript decides. `None` if
    /// neither tells.
    #[must_use]
    pub fn compare(&self, other: &Self) -> Option<Ordering> {
        let by_time = self.at.zip(other.at).map(|(a, b)| a.cmp(&b)).filter(|order| order.is_ne());
        by_time.or_else(|| self.compare_places(other))
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
    use crate::transcript::MessageTime;

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
