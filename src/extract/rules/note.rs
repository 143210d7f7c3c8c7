//! Notes: what somebody asked to remember and no other cue understands.

use super::build::{Finding, claim};
use super::language::Compiled;
use super::read::{Voice, breaks_off};
use super::slot::slot_of;
use super::words::words;
use crate::memory::{Audience, MemoryType};

/// Returns a note of what somebody asked to remember, in their words.
pub(super) fn note(language: &'static Compiled, rest: &str, voice: &Voice<'_>, confidence: f64) -> Option<Finding> {
    let rest = rest.trim_end_matches(['.', '!', '。', '！']);
    let too_short = if rest.is_ascii() { rest.split(' ').count() < 4 } else { rest.chars().count() < 4 };
    let chatter = voice.speaker.is_some() && !language.about_project.is_match(rest);
    if too_short
        || chatter
        || breaks_off(rest)
        || language.empty_value.is_match(rest)
        || language.points(rest)
        || is_errand(rest)
    {
        return None;
    }
    let content = words(language, rest, voice);
    let slot = slot_of(rest, "");
    let audience = if slot.attribute.is_some() || language.about_project.is_match(rest) {
        Audience::Project
    } else {
        Audience::User
    };
    let mut claim = claim(MemoryType::Semantic, "note", content, language, voice);
    claim.importance = 0.8;
    claim.confidence = confidence;
    Some(Finding { claim, audience, since: None })
}

/// Whether what shall be remembered is only something to be done once.
fn is_errand(rest: &str) -> bool {
    let lower = rest.to_lowercase();
    ["to ", "the milk", "about ", "when ", "how ", "what ", "why ", "me ", "要", "去"]
        .iter()
        .any(|start| lower.starts_with(start))
}
