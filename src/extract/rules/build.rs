//! From a recognised clause to a claim, one function an act.

use jiff::civil::Date;
use serde_json::{Map, Value};

use super::language::{Act, Compiled};
use super::product;
use super::project::{declared, project_fact};
use super::read::{Hit, Voice};
use super::slot::{Slot, keyed, preference_key, project_key, slot_of, slug, until_pointing, value};
use super::standing::standing;
use super::words::{fill, finished, title, who, words};
use crate::memory::{Audience, Claim, MemoryType, Structured};

/// What a clause states.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Finding {
    pub(super) claim: Claim,
    pub(super) audience: Audience,
    /// First day that the sentence names.
    pub(super) since: Option<Date>,
}

/// Returns the claim that `hit` makes, or none where it says nothing by itself.
pub(super) fn finding(hit: &Hit<'_>, voice: &Voice<'_>) -> Option<Finding> {
    let finding = match hit.act {
        Act::Preference | Act::Dislike => preference(hit, voice),
        Act::Wish => wish(hit, voice),
        Act::Habit => habit(hit, voice),
        Act::Decision | Act::NamedDecision | Act::Switch => decision(hit, voice),
        Act::ProjectFact => project_fact(hit, voice),
        Act::Declared => declared(hit, voice),
        Act::SelfFact(key) => self_fact(hit, voice, key),
        Act::Event => event(hit, voice),
        Act::Standing => standing(hit, voice),
        Act::Remember | Act::Mention => None,
    };
    finding.map(|mut finding| {
        if let Some((name, key)) = voice.speaker.zip(finding.claim.key.as_mut()) {
            *key = of_person(name, key);
        }
        if hit.asked {
            finding.claim.importance = finding.claim.importance.max(0.8);
        }
        finding
    })
}

/// Returns `key` as one of the person `name`: in a meeting, one's residence says nothing against another's.
fn of_person(name: &str, key: &str) -> String {
    match (key.strip_prefix("user."), slug(name, false)) {
        (Some(rest), name) if !name.is_empty() => format!("person.{name}.{rest}"),
        (Some(_) | None, _) => key.to_owned(),
    }
}

fn preference(hit: &Hit<'_>, voice: &Voice<'_>) -> Option<Finding> {
    let value = value(hit, "v")?;
    let shared = hit.act == Act::Preference;
    if is_of_the_moment(&value, hit) {
        return None;
    }
    let over = hit.found.name("over").map_or("", |over| over.as_str());
    let mut slot = slot_of(&value, over);
    // What somebody dislikes is no value of theirs.
    if !shared {
        slot = Slot::default();
    }
    let clause = hit.language.alone(&until_pointing(hit)?);
    if let (Some(topic), None) = (hit.found.name("topic"), &slot.attribute) {
        slot = Slot { attribute: Some(format!("favorite_{}", slug(topic.as_str(), false))), value: Some(value) };
    }
    let key = slot.attribute.as_deref().map(preference_key);
    let mut claim = claim(MemoryType::Semantic, "preference", words(hit.language, &clause, voice), hit.language, voice);
    claim.importance = 0.7;
    claim.confidence = hit.confidence;
    (claim.key, claim.value) = keyed(key, slot.value);
    claim.subject = slot.attribute;
    Some(Finding { claim, audience: Audience::User, since: None })
}

/// Whether what somebody likes is the thing at hand: "I love the new layout".
fn is_of_the_moment(value: &str, hit: &Hit<'_>) -> bool {
    let lower = hit.clause.to_lowercase();
    let fond = ["like", "love", "enjoy", "adore", "i find"].iter().any(|verb| lower.contains(verb));
    let value = value.to_lowercase();
    fond && !lower.contains("prefer") && ["the ", "all the ", "a lot"].iter().any(|start| value.starts_with(start))
}

fn wish(hit: &Hit<'_>, voice: &Voice<'_>) -> Option<Finding> {
    let phrases = &hit.language.language.phrases;
    let unwanted = value(hit, "not");
    let frame = if unwanted.is_some() { phrases.unwanted } else { phrases.wish };
    let value = unwanted.or_else(|| value(hit, "v"))?;
    let over = hit.found.name("over").map_or("", |over| over.as_str().trim());
    let slot = slot_of(&value, over);
    slot.attribute.as_ref()?;
    if hit.language.points(&value) {
        return None;
    }
    let wanted = if over.is_empty() { value } else { format!("{value}{}{over}", phrases.over) };
    let content = fill(frame, &[("{who}", &who(hit.language, voice)), ("{x}", &wanted)]);
    let mut claim = claim(MemoryType::Semantic, "preference", finished(&content, hit.language), hit.language, voice);
    claim.importance = 0.7;
    claim.confidence = hit.confidence;
    if hit.found.name("not").is_none() {
        (claim.key, claim.value) = keyed(slot.attribute.as_deref().map(preference_key), slot.value);
    }
    claim.subject = slot.attribute;
    Some(Finding { claim, audience: Audience::User, since: None })
}

fn habit(hit: &Hit<'_>, voice: &Voice<'_>) -> Option<Finding> {
    let value = value(hit, "v")?;
    let what = hit.found.name("what").map_or("", |what| what.as_str());
    let mut slot = slot_of(&value, "");
    if let Some(attribute) = product::attribute(what) {
        slot = Slot { attribute: Some(attribute.to_owned()), value: slot.value.or(Some(value)) };
    }
    slot.attribute.as_ref()?;
    let clause = until_pointing(hit)?;
    let mut claim = claim(MemoryType::Semantic, "fact", words(hit.language, &clause, voice), hit.language, voice);
    claim.importance = 0.6;
    claim.confidence = hit.confidence;
    (claim.key, claim.value) = keyed(slot.attribute.as_deref().map(preference_key), slot.value);
    claim.subject = slot.attribute;
    Some(Finding { claim, audience: Audience::User, since: None })
}

fn decision(hit: &Hit<'_>, voice: &Voice<'_>) -> Option<Finding> {
    let gone = hit.found.name("gone").is_some();
    let value = value(hit, if gone { "gone" } else { "v" })?;
    let old = hit.found.name("old").map_or("", |old| old.as_str());
    let mut slot = slot_of(&value, old);
    let named = slot.attribute.is_some() || !product::named(old).is_empty();
    if (hit.act == Act::NamedDecision && !named) || (hit.act == Act::Switch && !named && !is_switch_of_tools(hit, old))
    {
        return None;
    }
    let chosen = ["chose", "opted", "resolved", "voted"].iter().any(|verb| hit.clause.to_lowercase().contains(verb));
    let chatter = voice.speaker.is_some() && !hit.language.about_project.is_match(hit.clause);
    let singular = is_singular(hit.clause);
    // Alone with an assistant, "I decided to rewrite it all" is about the work at hand.
    let at_hand = singular && (chosen || voice.speaker.is_none());
    if !named && (at_hand || (chatter && !singular)) {
        return None;
    }
    if gone || is_negative(&value) || hit.clause.contains(" against ") {
        slot = Slot { attribute: None, value: None };
    }
    let clause = until_pointing(hit)?;
    let personal = singular && slot.attribute.as_deref().is_some_and(product::is_personal);
    let content = match hit.found.name("do") {
        Some(done) => {
            let phrases = &hit.language.language.phrases;
            let text = fill(phrases.decided, &[("{who}", &who(hit.language, voice)), ("{x}", done.as_str())]);
            finished(&text, hit.language)
        }
        None => words(hit.language, &clause, voice),
    };
    let mut claim = claim(MemoryType::Semantic, "decision", content, hit.language, voice);
    claim.importance = 0.7;
    claim.confidence = hit.confidence;
    let key = slot
        .attribute
        .as_deref()
        .map(|attribute| if personal { preference_key(attribute) } else { project_key(hit, attribute) });
    (claim.key, claim.value) = keyed(key, slot.value);
    claim.subject = slot.attribute;
    let audience = if personal || (singular && claim.key.is_none()) { Audience::User } else { Audience::Project };
    Some(Finding { claim, audience, since: None })
}

fn is_singular(clause: &str) -> bool {
    let lower = clause.to_lowercase();
    lower.starts_with("i ") || lower.starts_with("i'") || (lower.starts_with('我') && !lower.starts_with("我们"))
}

fn is_negative(value: &str) -> bool {
    let lower = value.to_lowercase();
    ["not ", "against ", "to not ", "不"].iter().any(|start| lower.starts_with(start)) || lower.contains(" not to ")
}

/// Whether "from A to B" is about a way of working although neither is known by name.
fn is_switch_of_tools(hit: &Hit<'_>, old: &str) -> bool {
    let verb = hit.clause.to_lowercase();
    ["switch", "migrat", "convert", "port", "replac", "transition", "迁移", "切换", "改用"]
        .iter()
        .any(|stem| verb.contains(stem))
        && old.split(' ').count() <= 5
        && !hit.language.points(old)
}

/// What a person has several of, or what changes by itself: it compares with nothing.
const OPEN: &[&str] =
    &["relatives", "responsibility", "plan", "learning", "routine", "possession", "writing", "transport", "signature"];

fn self_fact(hit: &Hit<'_>, voice: &Voice<'_>, key: &str) -> Option<Finding> {
    if (key == "user.name" && (voice.speaker.is_some() || !product::is_name(&value(hit, "v")?)))
        || (key == "user.responsibility" && product::is_elsewhere(&value(hit, "v")?))
    {
        return None;
    }
    let mut value = value(hit, "v").or_else(|| value(hit, "years"))?;
    if key == "user.os" {
        value = slot_of(&value, "").value.unwrap_or(value);
    }
    if key == "user.residence" && !product::named(&value).is_empty() {
        return None;
    }
    let content = called(hit, voice, &value)
        .or_else(|| Some(words(hit.language, &hit.language.alone(&until_pointing(hit)?), voice)))?;
    let category = if matches!(
        key,
        "user.name" | "user.role" | "user.pronouns" | "user.experience" | "user.responsibility" | "user.manager"
    ) {
        "profile"
    } else {
        "fact"
    };
    let mut claim = claim(MemoryType::Semantic, category, content, hit.language, voice);
    claim.importance = 0.7;
    claim.confidence = hit.confidence;
    if key == "user.name" {
        claim.title.clone_from(&value);
    }
    let attribute = key.trim_start_matches("user.").to_owned();
    let profile: Map<String, Value> = [(attribute.clone(), Value::String(value.clone()))].into_iter().collect();
    claim.structured = Some(Structured::Profile { profile });
    // A person has one residence, but may have several pets, allergies and languages.
    let many = ["user.pet", "user.family", "user.allergy", "user.language", "user.diet", "user.study"].contains(&key);
    let key = if many { format!("{key}.{}", slug(&value, key == "user.family")) } else { key.to_owned() };
    // What is known of a relative is no single attribute of the user.
    (claim.key, claim.value) = keyed((!OPEN.contains(&attribute.as_str())).then_some(key), Some(value));
    claim.subject = Some(attribute);
    Some(Finding { claim, audience: Audience::User, since: None })
}

/// Returns how somebody wants to be called, where the clause asks for that.
fn called(hit: &Hit<'_>, voice: &Voice<'_>, name: &str) -> Option<String> {
    let clause = hit.clause.to_lowercase();
    let phrases = &hit.language.language.phrases;
    let asked = ["call me", "叫我", "称呼我"].iter().any(|ask| clause.contains(ask));
    asked.then(|| {
        let text = fill(phrases.called, &[("{who}", &who(hit.language, voice)), ("{x}", name)]);
        finished(&text, hit.language)
    })
}

/// Among people, what somebody did on a day that can be named is worth keeping; with an assistant it is work.
fn event(hit: &Hit<'_>, voice: &Voice<'_>) -> Option<Finding> {
    voice.speaker?;
    value(hit, "v")?;
    let clause = until_pointing(hit)?;
    if !clause.contains(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let content = (hit.language.language.third_person)(&clause, voice.speaker)?;
    let mut claim = claim(MemoryType::Episodic, "fact", finished(&content, hit.language), hit.language, voice);
    claim.importance = 0.5;
    claim.confidence = hit.confidence;
    Some(Finding { claim, audience: Audience::User, since: None })
}

/// Returns a claim with a title from its content.
pub(super) fn claim(
    memory_type: MemoryType,
    category: &str,
    content: String,
    language: &Compiled,
    voice: &Voice<'_>,
) -> Claim {
    let title = title(&content, language, voice);
    Claim::new(memory_type, category, title, content)
}
