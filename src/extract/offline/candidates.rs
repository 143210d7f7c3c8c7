//! The candidates of one window, each with its evidence. Repeated candidates are merged.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::{Offset, TimeZone};

use super::clause::Finding;
use super::product;
use crate::extract::Task;
use crate::memory::{Candidate, Claim, Evidence, MemoryType, Structured};
use transcripts::{Message, MessageTime};

/// Maximum number of known names used as tags of a memory.
const MAX_NAMES: usize = 3;

/// The candidates, in the order in which they were found.
pub(super) struct Gathered<'a> {
    task: Task<'a>,
    key: String,
    candidates: Vec<Candidate>,
    /// Position of each candidate, by its normalised statement.
    known: BTreeMap<String, usize>,
    /// Changes to memories that may already be stored. They come last, so that the statements of the window are stored
    /// before the changes are compared.
    updates: Vec<Candidate>,
    /// The last message that was cited, and its hash.
    hashed: Option<(&'a Message, String)>,
}

impl<'a> Gathered<'a> {
    /// Returns an empty collection for `task`.
    pub(super) fn new(task: &Task<'a>) -> Self {
        Self {
            task: *task,
            key: task.transcript.key(),
            candidates: Vec::new(),
            known: BTreeMap::new(),
            updates: Vec::new(),
            hashed: None,
        }
    }

    /// Adds a finding, with the quotes of `sources` as evidence. The message that confirms it comes first.
    pub(super) fn add(&mut self, finding: Finding, sources: &[(&'a Message, &str)]) {
        let Some((first, _)) = sources.first() else { return };
        let categories = self.task.categories;
        if !categories.is_empty() && !categories.contains(&finding.claim.category) {
            return;
        }
        let evidence: Vec<Evidence> = sources.iter().map(|(message, quote)| self.evidence(message, quote)).collect();
        if matches!(finding.claim.structured, Some(Structured::Episode(_))) {
            self.take_back(|candidate| quotes_part_of(candidate, sources));
        }
        let mut claim = finding.claim;
        claim.valid_from = first.time.and_then(|time| valid_from(time, finding.since));
        claim.tags = tags(&claim);
        // People repeat themselves with different capitals and punctuation. One candidate then cites every occurrence.
        let says = says(&claim);
        if let Some(&at) = self.known.get(&says) {
            let known = &mut self.candidates[at].evidence;
            let fresh = evidence.into_iter().filter(|piece| !known.contains(piece)).collect::<Vec<_>>();
            known.extend(fresh);
            return;
        }
        self.known.insert(says, self.candidates.len());
        self.candidates.push(Candidate::new(claim, finding.audience, evidence));
    }

    /// Adds a change that is kept only if it ends or changes a known memory.
    pub(super) fn add_update(&mut self, finding: Finding, message: &'a Message, quote: &str) {
        let evidence = vec![self.evidence(message, quote)];
        let mut claim = finding.claim;
        claim.valid_from = message.time.and_then(|time| valid_from(time, finding.since));
        self.updates.push(Candidate { updates_only: true, ..Candidate::new(claim, finding.audience, evidence) });
    }

    /// The candidates found so far.
    pub(super) fn candidates(&self) -> &[Candidate] {
        &self.candidates
    }

    /// Removes the candidates for which `is_replaced` is true, because a later statement replaces them.
    pub(super) fn take_back(&mut self, is_replaced: impl Fn(&Candidate) -> bool) {
        if !self.candidates.iter().any(&is_replaced) {
            return;
        }
        self.candidates.retain(|candidate| !is_replaced(candidate));
        self.index();
    }

    /// Removes the candidates at `places`.
    pub(super) fn remove(&mut self, places: &BTreeSet<usize>) {
        let mut at = 0..;
        self.candidates.retain(|_| at.next().is_none_or(|at| !places.contains(&at)));
        self.index();
    }

    /// Recomputes the positions after candidates were removed.
    fn index(&mut self) {
        let says = self.candidates.iter().enumerate().map(|(at, candidate)| (says(&candidate.claim), at));
        self.known = says.collect();
    }

    /// Returns the candidates.
    pub(super) fn finish(self) -> Vec<Candidate> {
        self.candidates.into_iter().chain(self.updates).collect()
    }

    fn evidence(&mut self, message: &'a Message, quote: &str) -> Evidence {
        // A long message is hashed once, and not for each of its statements.
        let content_hash = match &self.hashed {
            Some((hashed, hash)) if std::ptr::eq(*hashed, message) => hash.clone(),
            _ => self.hashed.insert((message, message.content_hash())).1.clone(),
        };
        Evidence {
            transcript: self.key.clone(),
            messages: vec![message.id.clone()],
            quote: quote.to_owned(),
            speaker: message.speaker.clone(),
            said_at: message.time,
            content_hash,
        }
    }
}

/// Whether `candidate` only quotes a sentence of an episode that is based on `sources`.
fn quotes_part_of(candidate: &Candidate, sources: &[(&Message, &str)]) -> bool {
    let [piece] = &candidate.evidence[..] else { return false };
    let quotes =
        |(message, quote): &(&Message, &str)| piece.messages == [message.id.clone()] && piece.quote.contains(quote);
    candidate.claim.memory_type == MemoryType::Episodic
        && candidate.claim.structured.is_none()
        && sources.iter().any(quotes)
}

/// Returns the statement of a claim, ignoring capitals and punctuation.
fn says(claim: &Claim) -> String {
    claim.content.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// Returns the topic of a claim as people would search for it: its subject, and the names it contains.
fn tags(claim: &Claim) -> Vec<String> {
    let known = product::named(&claim.content);
    let names = known.iter().take(MAX_NAMES).flat_map(|one| [one.attribute.to_owned(), one.value.to_lowercase()]);
    let mut tags: Vec<String> = Vec::new();
    for tag in claim.subject.iter().cloned().chain(names) {
        if !tags.contains(&tag) {
            tags.push(tag);
        }
    }
    tags
}

/// Returns the time from which a claim is true: the day it mentions, or when it was said.
fn valid_from(time: MessageTime, since: Option<Date>) -> Option<Timestamp> {
    match since {
        Some(date) if date != time.civil().date() => {
            let offset =
                time.offset_seconds.and_then(|seconds| Offset::from_seconds(seconds).ok()).unwrap_or(Offset::UTC);
            date.to_zoned(TimeZone::fixed(offset)).ok().map(|start| start.timestamp())
        }
        Some(_) | None => Some(time.at),
    }
}
