//! Standing instructions: what is always or never to be done.

use super::build::{Finding, claim};
use super::language::Compiled;
use super::product;
use super::read::{Hit, Voice};
use super::words::{capitalised, fill, title, who, words};
use crate::memory::{Audience, MemoryType, Procedure, Structured};

/// Returns the instruction that `hit` gives for good, or none where it is no order or leans on what was said before.
pub(super) fn standing(hit: &Hit<'_>, voice: &Voice<'_>) -> Option<Finding> {
    let language = hit.language;
    let step = hit.found.name("do")?.as_str().trim();
    let verb = hit.found.name("verb").map_or("", |verb| verb.as_str());
    let about_project = language.about_project.is_match(hit.clause) || !product::named(hit.clause).is_empty();
    if !is_imperative(verb) || (voice.speaker.is_some() && !about_project) || points_away(language, step) {
        return None;
    }
    let phrases = &language.language.phrases;
    let declared = step.to_lowercase().starts_with("we ");
    let content = if declared {
        words(language, hit.clause, voice)
    } else {
        fill(phrases.standing, &[("{who}", &who(language, voice)), ("{x}", hit.clause)])
    };
    let when = hit.found.name("when").map(|when| when.as_str().trim().to_owned());
    let workflow = when.is_some();
    let mut claim =
        claim(MemoryType::Procedural, if workflow { "workflow" } else { "convention" }, content, language, voice);
    claim.title = title(hit.clause, language, voice);
    claim.importance = 0.8;
    claim.confidence = hit.confidence;
    claim.structured = Some(Structured::Procedure(Procedure {
        name: claim.title.clone(),
        description: hit.clause.to_owned(),
        steps: vec![capitalised(step)],
        triggers: when.into_iter().collect(),
        priority: None,
    }));
    Some(Finding { claim, audience: if about_project { Audience::Project } else { Audience::User }, since: None })
}

/// Whether the word after "always" or "never" can be an order, not the rest of "never mind" or "always happy to".
fn is_imperative(verb: &str) -> bool {
    const OTHER: &[&str] = &[
        "mind",
        "heard",
        "seen",
        "been",
        "had",
        "thought",
        "knew",
        "a",
        "an",
        "the",
        "good",
        "nice",
        "happy",
        "fun",
        "great",
        "again",
        "too",
        "gonna",
        "ever",
        "something",
        "so",
        "been",
        "there",
        "here",
        "my",
        "your",
        "remember",
        "more",
        "better",
        "forget",
        "know",
        "say",
        "been",
        "be",
        "in",
        "on",
        "at",
        "and",
        "or",
        "have",
        "love",
        "knows",
        "best",
        "is",
        "was",
        "got",
        "did",
        "felt",
        "find",
        "fails",
        "gets",
        "works",
        "seems",
        "feel",
        "enjoy",
        "want",
        "need",
        "glad",
        "here's",
        "grateful",
        "up",
        "down",
        "going",
    ];
    const KEPT: &[&str] = &["embed", "feed", "seed", "bring", "ping", "string", "need"];
    let lower = verb.to_lowercase();
    let participle = (lower.ends_with("ed") || lower.ends_with("ing")) && !KEPT.contains(&lower.as_str());
    !OTHER.contains(&lower.as_str()) && !participle
}

/// Whether an instruction leans on words outside of it: "always do it like this".
fn points_away(language: &Compiled, step: &str) -> bool {
    let Some(found) = language.pointing(step) else { return false };
    let last = step[found.end()..].trim_matches(['.', '!', ' ']).is_empty();
    let early = step[..found.start()].split(' ').count() <= 3;
    let lower = found.as_str().to_lowercase();
    let far = ["this", "these", "those", "that's", "here", "above", "below", "following"].contains(&lower.as_str());
    let own = ["you", "your", "you're", "yours"].contains(&lower.as_str());
    !own && (early || far || (last && lower == "that"))
}
