//! Conversion of a checked proposal into a claim: dates, parts by type, and confidence. The functions are pure.

use serde_json::Value;

use super::check::dates::{Edge, instant};
use super::schema::{Basis, Proposal};
use super::{DropReason, Dropped};
use crate::memory::{Claim, MemoryType, Pattern, Procedure, Scope, Structured};
use transcripts::Message;

/// Maximum number of tags kept.
const MAX_TAGS: usize = 8;

/// Returns the claim of `proposal`, with its dates in the time zone of the message that it quotes.
pub(super) fn claim(proposal: &Proposal, quoted: &Message) -> Result<Claim, Dropped> {
    // "Until Friday" ends at the speaker's midnight, which may be on a different day in UTC.
    let offset = quoted.time.and_then(|time| time.offset_seconds).unwrap_or(0);
    let date = |name: &str, text: Option<&String>, edge| match text {
        None => Ok(None),
        Some(text) => instant(text, edge, offset)
            .map(Some)
            .ok_or_else(|| invalid(format!("{name} is not a date as YYYY, YYYY-MM or YYYY-MM-DD"))),
    };
    let valid_from = date("from", proposal.from.as_ref(), Edge::First)?;
    let valid_to = date("to", proposal.to.as_ref(), Edge::Last)?;
    let expires_at = date("expires", proposal.expires.as_ref(), Edge::Last)?;
    if valid_from.zip(valid_to).is_some_and(|(from, to)| from > to) {
        return Err(invalid("to is before from"));
    }
    let trimmed = |text: &Option<String>| text.as_deref().map(|text| text.trim().to_owned());
    Ok(Claim {
        subject: trimmed(&proposal.subject),
        // Key and value are compared as a pair, so a key without a value, or a value without a key, has no meaning.
        key: trimmed(&proposal.key).filter(|_| proposal.value.is_some()),
        value: trimmed(&proposal.value).filter(|_| proposal.key.is_some()),
        structured: structured(proposal),
        // The model is not asked for the scope, because two fields with the same meaning could disagree.
        scope: if expires_at.is_some() { Scope::ShortTerm } else { Scope::LongTerm },
        #[expect(clippy::cast_precision_loss, reason = "it is at most 10")]
        importance: proposal.importance as f64 / 10.0,
        confidence: confidence(proposal.basis, quoted),
        tags: tags(&proposal.tags),
        valid_from,
        valid_to,
        expires_at,
        ..Claim::new(proposal.memory_type, &proposal.category, proposal.title.trim(), proposal.content.trim())
    })
}

fn invalid(detail: impl Into<String>) -> Dropped {
    Dropped { reason: DropReason::Invalid, detail: detail.into() }
}

fn confidence(basis: Basis, quoted: &Message) -> f64 {
    match basis {
        Basis::Stated if quoted.is_human() => 0.9,
        // An assistant's statement passes the checks only if a person confirmed it, so both are equally certain.
        Basis::Stated | Basis::Confirmed => 0.8,
        Basis::Implied => 0.6,
    }
}

fn tags(given: &[String]) -> Vec<String> {
    let mut tags: Vec<String> = Vec::new();
    for tag in given.iter().map(|tag| tag.trim().trim_start_matches('#').to_lowercase()) {
        if !tag.is_empty() && !tags.contains(&tag) && tags.len() < MAX_TAGS {
            tags.push(tag);
        }
    }
    tags
}

/// Returns the parts that belong to the memory's type. Parts of other types are omitted.
fn structured(proposal: &Proposal) -> Option<Structured> {
    match proposal.memory_type {
        MemoryType::Semantic => profile(proposal),
        MemoryType::Episodic => match &proposal.episode {
            Some(episode) => Some(Structured::Episode(episode.clone())),
            None if proposal.category == "pattern" => {
                Some(Structured::Pattern { pattern: Pattern::of(&proposal.content) })
            }
            None => None,
        },
        MemoryType::Procedural => Some(Structured::Procedure(match &proposal.procedure {
            Some(steps) => Procedure {
                name: steps.name.clone(),
                description: steps.description.clone(),
                steps: steps.steps.clone(),
                triggers: steps.triggers.clone(),
                priority: None,
            },
            // Every procedural memory gets a structured part, so that readers need not handle its absence.
            None => Procedure {
                name: proposal.title.clone(),
                description: proposal.content.clone(),
                steps: Vec::new(),
                triggers: Vec::new(),
                priority: None,
            },
        })),
    }
}

fn profile(proposal: &Proposal) -> Option<Structured> {
    let attribute = proposal.key.as_deref()?.trim().strip_prefix("user.")?;
    if proposal.category != "profile" || attribute.is_empty() {
        return None;
    }
    let value = Value::String(proposal.value.as_deref()?.trim().to_owned());
    Some(Structured::Profile { profile: serde_json::Map::from_iter([(attribute.to_owned(), value)]) })
}
