//! Facts about a project, as its people state them.

use super::build::{Finding, claim};
use super::product;
use super::read::{Hit, Voice};
use super::slot::{Slot, keyed, plain_value, project_key, slot_of, until_pointing, value};
use super::words::words;
use crate::memory::{Audience, MemoryType};

/// Returns what the project has, where the attribute is named or its value known.
pub(super) fn project_fact(hit: &Hit<'_>, voice: &Voice<'_>) -> Option<Finding> {
    let value = value(hit, "v")?;
    let what = hit.found.name("what").map_or("", |what| what.as_str());
    let how = hit.found.name("how").map_or("", |how| how.as_str());
    let slot = by_noun(hit, what, how, &value)?;
    let clause = until_pointing(hit)?;
    let mut claim = claim(MemoryType::Semantic, "project", words(hit.language, &clause, voice), hit.language, voice);
    claim.importance = 0.6;
    claim.confidence = hit.confidence;
    (claim.key, claim.value) =
        keyed(slot.attribute.as_deref().map(|attribute| project_key(hit, attribute)), slot.value);
    claim.subject = slot.attribute;
    Some(Finding { claim, audience: Audience::Project, since: None })
}

/// Returns what is stated as lasting, although nothing in it need be known by name.
pub(super) fn declared(hit: &Hit<'_>, voice: &Voice<'_>) -> Option<Finding> {
    let value = value(hit, "v")?;
    let what = hit.found.name("what").map_or("", |what| what.as_str());
    let chatter = voice.speaker.is_some() && !hit.language.about_project.is_match(hit.clause);
    // "We log the error, not the stack" is about the thing at hand.
    let at_hand = what.is_empty() && value.to_lowercase().starts_with("the ");
    if chatter || at_hand || product::is_elsewhere(what) {
        return None;
    }
    let content = words(hit.language, &until_pointing(hit)?, voice);
    let mut claim = claim(MemoryType::Semantic, "project", content, hit.language, voice);
    claim.importance = 0.6;
    claim.confidence = hit.confidence;
    claim.subject = slot_of(&value, "").attribute;
    Some(Finding { claim, audience: Audience::Project, since: None })
}

/// Returns the slot of "what is value", or none where that is nothing to keep.
fn by_noun(hit: &Hit<'_>, what: &str, how: &str, value: &str) -> Option<Slot> {
    let slot = slot_of(value, "");
    let placed = !how.is_empty() && !how.contains("use") && !how.contains('用');
    match (product::attribute(what), slot.attribute.as_deref()) {
        (Some(noun), Some(known)) if noun == known => Some(slot),
        // "Our database is hosted on AWS" gives the database no value, and the project no host.
        (Some(_), Some(_)) => Some(Slot::default()),
        (Some(noun), None) if !placed && product::is_plausible(noun, &plain_value(value)) => {
            Some(Slot { attribute: Some(noun.to_owned()), value: Some(plain_value(value)) })
        }
        // "The output is meant for Windows" is about the output.
        (None, Some(_)) => {
            let first = product::named(value).first().map_or(usize::MAX, |named| named.at);
            let own = hit.language.subject.is_match(what) || product::is_project(what);
            // "Maria uses Vim" is no project.
            let person = how == "uses" && slot.attribute.as_deref().is_some_and(is_personal_tool);
            let own = own && (!person || hit.language.subject.is_match(what));
            (own && (!how.is_empty() || first <= 4)).then_some(slot)
        }
        (_, None) => {
            let address = value.starts_with("http") || value.starts_with("localhost") || value.starts_with('`');
            (placed && address).then(Slot::default)
        }
    }
}

fn is_personal_tool(attribute: &str) -> bool {
    product::is_personal(attribute) || attribute == "language"
}
