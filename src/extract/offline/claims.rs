//! Turns recognised clauses into claims, with one function for each kind of statement.

use std::sync::LazyLock;

use regex::Regex;
use serde_json::{Map, Value};

use super::clause::{
    Finding, Hit, Slot, Voice, breaks_off, claim, fill, finished, keyed, plain_value, preference_key, project_key,
    slot_of, slug, until_pointing, value, who, words,
};
use super::language::{Act, LanguageRules};
use super::product;
use super::standing::{is_announcement, is_order, points_away, standing};
use crate::memory::{Audience, MemoryType, Structured};
use crate::text::person::is_about_this_project;
use crate::text::tokens::is_listed;

/// Returns the claim that `hit` makes, or `None` if it is not meaningful on its own.
pub(super) fn finding(hit: &Hit<'_>, voice: &Voice<'_>) -> Option<Finding> {
    let finding = match hit.act {
        Act::Preference | Act::Dislike => preference(hit, voice),
        Act::Wish => wish(hit, voice),
        Act::Habit => habit(hit, voice),
        Act::Decision | Act::NamedDecision | Act::Switch => decision(hit, voice),
        Act::ProjectFact => project_fact(hit, voice),
        Act::Declared => declared(hit, voice),
        Act::SelfFact(key) => self_fact(hit, voice, key),
        Act::Standing => standing(hit, voice),
        Act::Remember | Act::Mention => None,
    };
    finding.map(|mut finding| {
        if is_about_this_project(hit.clause) {
            finding.audience = Audience::Project;
        }
        if let Some((name, key)) = voice.speaker.zip(finding.claim.key.as_mut()) {
            *key = of_person(name, key);
        }
        if hit.asked {
            finding.claim.importance = finding.claim.importance.max(0.8);
        }
        finding
    })
}

/// Returns `key` for the person `name`, so that in a meeting one person's residence does not conflict with another's.
fn of_person(name: &str, key: &str) -> String {
    match (key.strip_prefix("user."), slug(name, false)) {
        (Some(rest), name) if !name.is_empty() => format!("person.{name}.{rest}"),
        (Some(_) | None, _) => key.to_owned(),
    }
}

fn preference(hit: &Hit<'_>, voice: &Voice<'_>) -> Option<Finding> {
    let value = value(hit, "v")?;
    let shared = *hit.act == Act::Preference;
    // Among people, "I like" and "I hate" are small talk or a lecturer's invented example, but "I prefer" is a real
    // preference.
    let clause = hit.clause.to_lowercase();
    let prefers = ["prefer", "更", "偏好", "比起"].iter().any(|word| clause.contains(word));
    let is_small_talk = voice.speaker.is_some() && !prefers;
    if is_of_the_moment(&value, hit) || is_small_talk || is_bare_measure(&value) {
        return None;
    }
    let over = hit.found.name("over").map_or("", |over| over.as_str());
    let mut slot = slot_of(&value, over);
    // Something that a person dislikes is not the value of one of their attributes.
    if !shared {
        slot = Slot::default();
    }
    let clause = hit.language.alone(&until_pointing(hit)?);
    if let (Some(topic), None) = (hit.found.name("topic"), &slot.attribute) {
        slot = Slot { attribute: Some(format!("favorite_{}", slug(topic.as_str(), false))), value: Some(value) };
    }
    // "I'd prefer a map here" is about the current task, unless it names something that people choose once.
    if slot.attribute.is_none() && hit.clause.to_lowercase().starts_with("i'd ") {
        return None;
    }
    let key = slot.attribute.as_deref().map(preference_key);
    Some(found(hit, voice, ("preference", 0.7), words(hit.language, &clause, voice), (key, slot), Audience::User))
}

/// Returns a finding with this category, importance and content about the attribute of `slot`.
fn found(
    hit: &Hit<'_>,
    voice: &Voice<'_>,
    (category, importance): (&str, f64),
    content: String,
    (key, slot): (Option<String>, Slot),
    audience: Audience,
) -> Finding {
    let mut claim = claim(MemoryType::Semantic, category, content, hit.language, voice);
    claim.importance = importance;
    claim.confidence = hit.confidence;
    (claim.key, claim.value) = keyed(key, slot.value);
    claim.subject = slot.attribute;
    Finding { claim, audience, since: None }
}

/// Whether `value` is a number with at most a unit. It says nothing without what it measures: "I prefer 3hrs".
fn is_bare_measure(value: &str) -> bool {
    let digits = value.trim_start_matches(['~', '<', '>', ' ']);
    let rest = digits.trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, '.' | ',' | '-' | '–' | ':'));
    rest.len() < digits.len() && !rest.trim().contains(' ') && rest.trim().chars().count() <= 7
}

/// Whether the person likes something in the current task: "I love the new layout".
fn is_of_the_moment(value: &str, hit: &Hit<'_>) -> bool {
    let lower = hit.clause.to_lowercase();
    let fond = ["like", "love", "enjoy", "adore", "i find"].iter().any(|verb| lower.contains(verb));
    let value = value.to_lowercase();
    fond && !lower.contains("prefer") && ["the ", "all the ", "a lot"].iter().any(|start| value.starts_with(start))
}

fn wish(hit: &Hit<'_>, voice: &Voice<'_>) -> Option<Finding> {
    // In a conversation among people, a wish concerns only the day.
    if voice.speaker.is_some() {
        return None;
    }
    let phrases = &hit.language.phrases;
    let unwanted = value(hit, "not");
    let frame = if unwanted.is_some() { &phrases.unwanted } else { &phrases.wish };
    let value = unwanted.or_else(|| value(hit, "v"))?;
    let over = hit.found.name("over").map_or("", |over| over.as_str().trim());
    let slot = slot_of(&value, over);
    // Most wishes are temporary, such as one for a break, but wishes about a known tool or format last. Text in
    // backticks that replaces something is also a name.
    let is_code = !over.is_empty() && value.starts_with('`') && value.ends_with('`');
    if slot.attribute.is_none() && !is_code {
        return None;
    }
    if hit.language.points(&value) {
        return None;
    }
    let wanted = if over.is_empty() { value } else { format!("{value}{}{over}", phrases.over) };
    let content = fill(frame, &[("{who}", &who(hit.language, voice)), ("{x}", &wanted)]);
    // Something that a person does not want is not a value of the attribute.
    let is_wanted = hit.found.name("not").is_none();
    let key = slot.attribute.as_deref().filter(|_| is_wanted).map(preference_key);
    let personal = slot.attribute.as_deref().is_some_and(product::is_personal);
    let audience = if personal { Audience::User } else { Audience::Project };
    Some(found(hit, voice, ("preference", 0.7), finished(&content, hit.language), (key, slot), audience))
}

fn habit(hit: &Hit<'_>, voice: &Voice<'_>) -> Option<Finding> {
    let value = value(hit, "v")?;
    let what = hit.found.name("what").map_or("", |what| what.as_str());
    let mut slot = slot_of(&value, "");
    if let Some(attribute) = product::attribute(what) {
        slot = Slot { attribute: Some(attribute.to_owned()), value: slot.value.or(Some(value)) };
    }
    // "I use it a lot" is not meaningful, because the thing used has to be known.
    slot.attribute.as_ref()?;
    let clause = until_pointing(hit)?;
    let key = slot.attribute.as_deref().map(preference_key);
    Some(found(hit, voice, ("fact", 0.6), words(hit.language, &clause, voice), (key, slot), Audience::User))
}

fn decision(hit: &Hit<'_>, voice: &Voice<'_>) -> Option<Finding> {
    if is_announcement(hit.clause) {
        return None;
    }
    let gone = hit.found.name("gone").is_some();
    let value = value(hit, if gone { "gone" } else { "v" })?;
    let old = hit.found.name("old").map_or("", |old| old.as_str());
    let mut slot = slot_of(&value, old);
    let named = slot.attribute.is_some() || !product::named(old).is_empty();
    if (*hit.act == Act::NamedDecision && !named)
        || (*hit.act == Act::Switch && !named && !is_switch_of_tools(hit, old))
    {
        return None;
    }
    let chosen = ["chose", "opted", "resolved", "voted"].iter().any(|verb| hit.clause.to_lowercase().contains(verb));
    let chatter = voice.speaker.is_some() && !hit.language.about_project.is_match(hit.clause);
    let singular = is_singular(hit.clause);
    // In a conversation with only an assistant, "I decided to rewrite it all" is about the current task.
    let at_hand = singular && (chosen || voice.speaker.is_none());
    if !named && (at_hand || (chatter && !singular)) {
        return None;
    }
    let denies = [" against ", " not to "].iter().any(|word| hit.clause.to_lowercase().contains(word));
    if gone || is_negative(&value) || denies {
        slot = Slot { attribute: None, value: None };
    }
    let clause = until_pointing(hit)?;
    let personal = singular && slot.attribute.as_deref().is_some_and(product::is_personal);
    let content = match hit.found.name("do") {
        Some(done) => {
            let phrases = &hit.language.phrases;
            let text = fill(&phrases.decided, &[("{who}", &who(hit.language, voice)), ("{x}", done.as_str())]);
            finished(&text, hit.language)
        }
        None => words(hit.language, &clause, voice),
    };
    let name = |attribute: &str| if personal { preference_key(attribute) } else { project_key(hit, attribute) };
    let key = slot.attribute.as_deref().map(name);
    let audience = if personal { Audience::User } else { Audience::Project };
    Some(found(hit, voice, ("decision", 0.7), content, (key, slot), audience))
}

fn is_singular(clause: &str) -> bool {
    let lower = clause.to_lowercase();
    lower.starts_with("i ") || lower.starts_with("i'") || (lower.starts_with('我') && !lower.starts_with("我们"))
}

fn is_negative(value: &str) -> bool {
    let lower = value.to_lowercase();
    ["not ", "against ", "to not ", "不"].iter().any(|start| lower.starts_with(start)) || lower.contains(" not to ")
}

/// Whether "from A to B" is about a way of working, even if neither is a known name.
fn is_switch_of_tools(hit: &Hit<'_>, old: &str) -> bool {
    let verb = hit.clause.to_lowercase();
    ["switch", "migrat", "convert", "port", "replac", "transition", "迁移", "切换", "改用"]
        .iter()
        .any(|stem| verb.contains(stem))
        && old.split(' ').count() <= 5
        && !hit.language.points(old)
}

/// Attributes that can have several values or that change by themselves. Their values are not compared.
const OPEN: &[&str] =
    &["relatives", "responsibility", "plan", "learning", "routine", "possession", "writing", "transport", "signature"];

fn self_fact(hit: &Hit<'_>, voice: &Voice<'_>, key: &str) -> Option<Finding> {
    // In a meeting, the names of the speakers are already known.
    if (key == "user.name" && (voice.speaker.is_some() || !product::is_name(&value(hit, "v")?)))
        || (key == "user.responsibility" && product::is_elsewhere(&value(hit, "v")?))
    {
        return None;
    }
    let mut value = value(hit, "v").or_else(|| value(hit, "years"))?;
    // A budget without a currency does not even say that it is money.
    if key == "user.budget" && !value.contains(|c: char| c.is_alphabetic() || "€$£¥₹".contains(c)) {
        return None;
    }
    if key == "user.os" {
        value = slot_of(&value, "").value.unwrap_or(value);
    }
    // "I live in Vim" mentions a product, not a place.
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
    // Information about a relative is not an attribute of the user.
    (claim.key, claim.value) = keyed((!OPEN.contains(&attribute.as_str())).then_some(key), Some(value));
    claim.subject = Some(attribute);
    Some(Finding { claim, audience: Audience::User, since: None })
}

/// Returns the name that a person wants to be called, if the clause contains it.
fn called(hit: &Hit<'_>, voice: &Voice<'_>, name: &str) -> Option<String> {
    let clause = hit.clause.to_lowercase();
    let phrases = &hit.language.phrases;
    let asked = ["call me", "叫我", "称呼我"].iter().any(|ask| clause.contains(ask));
    asked.then(|| {
        let text = fill(&phrases.called, &[("{who}", &who(hit.language, voice)), ("{x}", name)]);
        finished(&text, hit.language)
    })
}

/// Returns a fact about what the project has, if the clause mentions the attribute or the value is a known name.
pub(super) fn project_fact(hit: &Hit<'_>, voice: &Voice<'_>) -> Option<Finding> {
    let value = value(hit, "v")?;
    let what = hit.found.name("what").map_or("", |what| what.as_str());
    let how = hit.found.name("how").map_or("", |how| how.as_str());
    // Among people, "the dygraphs package is …" describes something that everybody can look up.
    if voice.speaker.is_some() && what.to_lowercase().starts_with("the ") && !product::is_project(what) {
        return None;
    }
    let slot = by_noun(hit, what, how, &value)?;
    let clause = until_pointing(hit)?;
    let key = slot.attribute.as_deref().map(|attribute| project_key(hit, attribute));
    Some(found(hit, voice, ("project", 0.6), words(hit.language, &clause, voice), (key, slot), Audience::Project))
}

/// Returns a fact that is stated as lasting, even if none of its words are known names.
pub(super) fn declared(hit: &Hit<'_>, voice: &Voice<'_>) -> Option<Finding> {
    let value = value(hit, "v")?;
    let what = hit.found.name("what").map_or("", |what| what.as_str());
    let chatter = voice.speaker.is_some() && !hit.language.about_project.is_match(hit.clause);
    // "We log the error, not the stack" is about the current task.
    let at_hand = what.is_empty() && value.to_lowercase().starts_with("the ");
    if chatter || at_hand || product::is_elsewhere(what) {
        return None;
    }
    let content = words(hit.language, &until_pointing(hit)?, voice);
    Some(found(hit, voice, ("project", 0.6), content, (None, slot_of(&value, "")), Audience::Project))
}

/// Returns the slot for a clause such as "the database is Postgres", or `None` if the clause is not worth keeping.
fn by_noun(hit: &Hit<'_>, what: &str, how: &str, value: &str) -> Option<Slot> {
    let slot = slot_of(value, "");
    let placed = !how.is_empty() && !how.contains("use") && !how.contains('用');
    match (product::attribute(what), slot.attribute.as_deref()) {
        (Some(noun), Some(known)) if noun == known => Some(slot),
        // "Our database is hosted on AWS" gives neither a value for the database nor a host for the project.
        (Some(_), Some(_)) => Some(Slot::default()),
        (Some(noun), None) if !placed && product::is_plausible(noun, &plain_value(value)) => {
            Some(Slot { attribute: Some(noun.to_owned()), value: Some(plain_value(value)) })
        }
        // "The output is meant for Windows" is about the output, not about the project.
        (None, Some(_)) => {
            let first = product::named(value).first().map_or(usize::MAX, |named| named.at);
            let own = hit.language.subject.is_match(what) || product::is_project(what);
            // "Maria uses Vim" is not about a project.
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

/// Whether `rest` is about the task at hand: a single order, or the state of the work.
fn is_of_the_task(language: &LanguageRules, rest: &str) -> bool {
    const STATES: &str = "now just already yet currently still next again so";
    let lower = rest.to_lowercase();
    let is_state = lower.split(' ').take(5).any(|word| is_listed(STATES, word));
    is_state || (!language.is_chinese() && is_order(rest) && !language.is_lasting(rest))
}

/// Returns a note of what a person asked to remember, in their words.
pub(super) fn note(
    language: &'static LanguageRules,
    rest: &str,
    voice: &Voice<'_>,
    confidence: f64,
) -> Option<Finding> {
    let rest = rest.trim_end_matches(['.', '!', '。', '！']);
    let too_short = if rest.is_ascii() { rest.split(' ').count() < 4 } else { rest.chars().count() < 4 };
    let chatter =
        voice.speaker.is_some() && (!language.about_project.is_match(rest) || !is_particular(rest) || is_truism(rest));
    if too_short
        || chatter
        || breaks_off(rest)
        || language.empty_value.is_match(rest)
        || points_away(language, rest)
        || is_errand(rest)
        || is_of_the_task(language, rest)
    {
        return None;
    }
    let content = words(language, rest, voice);
    let audience = if is_of_the_speaker(rest) { Audience::User } else { Audience::Project };
    let mut claim = claim(MemoryType::Semantic, "note", content, language, voice);
    claim.importance = 0.8;
    claim.confidence = confidence;
    Some(Finding { claim, audience, since: None })
}

/// Whether `rest` only says in general how important or hard something is, without naming anything in particular.
fn is_truism(rest: &str) -> bool {
    static TRUISM: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(concat!(
            r"(?i)\b(?:is|are|be|isn't|aren't)\s+(?:\w+ly |an? |the |about |not |just |all |as |more |also |one of )*",
            r"(?:crucial|essential|important|vital|critical|key|necessary|okay|fundamental|valuable|process|journey|hallmark|goal|foundation|matter|skill|part|tool|place|built|read|read more|maintainable)\b|\bthe goal\b|\bgoes? hand in hand\b|\b(?:occurs?|happens?) when you\b"
        ))
        .expect("the pattern is constant")
    });
    !rest.contains(['`', '\'', '"']) && !rest.chars().any(|c| c.is_ascii_digit()) && TRUISM.is_match(rest)
}

/// Whether `rest` names something in particular: a name, a number, a quotation, or words that are not English.
fn is_particular(rest: &str) -> bool {
    let names = rest
        .split(' ')
        .skip(1)
        .any(|word| word.starts_with(char::is_uppercase) && !word.starts_with("I'") && word != "I");
    names || !rest.is_ascii() || rest.contains(['`', '"', '/', '_']) || rest.contains(|c: char| c.is_ascii_digit())
}

/// Whether `rest` begins with "I" or "my".
fn is_of_the_speaker(rest: &str) -> bool {
    let lower = rest.to_lowercase();
    ["i ", "i'", "my "].iter().any(|start| lower.starts_with(start))
        || (lower.starts_with('我') && !lower.starts_with("我们"))
}

/// Whether the text to be remembered is only a task to be done once.
fn is_errand(rest: &str) -> bool {
    let lower = rest.to_lowercase();
    ["to ", "the milk", "about ", "when ", "how ", "what ", "why ", "me ", "要", "去"]
        .iter()
        .any(|start| lower.starts_with(start))
}
