//! What a conversation only repeats of what its agent is told at every start; pure.

use crate::extract::{DropReason, Dropped, Extraction, Outcome};
use crate::memory::Candidate;
use crate::store::{KnownLine, normalised};

/// A quote of fewer bytes stands in too many lines by chance.
const MIN_QUOTE_BYTES: usize = 8;
/// A line is repeated by a quote of which it is at least this part, in hundredths.
const MIN_SHARE: usize = 60;

/// Drops the candidates whose quotes all stand in a line that is known anyway.
pub(super) fn drop_restated(extraction: &mut Extraction, lines: &[KnownLine]) {
    if lines.is_empty() {
        return;
    }
    let plain: Vec<(String, &str)> = lines.iter().map(|line| (normalised(&line.text), line.origin.as_str())).collect();
    let before = extraction.candidates.len();
    let dropped = &mut extraction.dropped;
    extraction.candidates.retain(|candidate| {
        let origin = restated(candidate, &plain);
        dropped.extend(origin.map(|origin| Dropped {
            reason: DropReason::KnownContext,
            detail: format!("it only repeats {}", origin.rsplit('/').next().unwrap_or_default()),
        }));
        origin.is_none()
    });
    if before > 0 && extraction.candidates.is_empty() && extraction.outcome == Outcome::Ok {
        extraction.outcome = Outcome::OkEmpty;
    }
}

fn restated<'l>(candidate: &Candidate, lines: &[(String, &'l str)]) -> Option<&'l str> {
    let mut origins = candidate.evidence.iter().map(|evidence| {
        let quote = normalised(&evidence.quote);
        let repeats =
            |line: &str| line.contains(&quote) || quote.contains(line) && line.len() * 100 >= quote.len() * MIN_SHARE;
        let found = lines.iter().find(|(line, _)| quote.len() >= MIN_QUOTE_BYTES && repeats(line));
        found.map(|(_, origin)| *origin)
    });
    let first = origins.next()??;
    origins.all(|origin| origin.is_some()).then_some(first)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::extract::Spent;
    use crate::memory::{Audience, Claim, Evidence, MemoryType};

    fn evidence(quote: &str) -> Evidence {
        let (transcript, message) = ("t".to_owned(), "1".to_owned());
        Evidence {
            transcript,
            messages: vec![message],
            quote: quote.to_owned(),
            speaker: None,
            said_at: None,
            content_hash: String::new(),
        }
    }

    fn extraction(quotes: &[&str]) -> Extraction {
        let candidates = quotes.iter().map(|quote| Candidate {
            claim: Claim::new(MemoryType::Semantic, "convention", "t", *quote),
            audience: Audience::Project,
            evidence: vec![evidence(quote)],
            replaces: None,
            is_pasted: false,
        });
        Extraction {
            outcome: Outcome::Ok,
            candidates: candidates.collect(),
            dropped: Vec::new(),
            spent: Spent::default(),
            error: None,
            useless: Vec::new(),
        }
    }

    #[test]
    fn what_an_agent_is_told_anyway_is_not_learnt_from_its_repetition() {
        let lines = [KnownLine { origin: "AGENTS.md".into(), text: "Use tabs, never spaces.".into() }];
        for (quote, stays) in [
            ("use tabs, never spaces", false),
            ("Remember: use tabs, never spaces!", false),
            ("We use spaces now", true),
            ("tabs", true),
            ("Use tabs, never spaces. And from today on we deploy on Fridays, to Fly.io only", true),
        ] {
            let mut one = extraction(&[quote]);
            drop_restated(&mut one, &lines);
            assert_eq!(one.candidates.len() == 1, stays, "{quote}");
            assert_eq!(one.outcome == Outcome::Ok, stays, "{quote}");
            assert_eq!(one.dropped.len(), usize::from(!stays), "{quote}");
        }
    }
}
