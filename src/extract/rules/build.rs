//! From a recognised clause to a claim: whether it stands by itself, its key and value, its words.

use jiff::civil::Date;
use serde_json::{Map, Value};

use super::language::{Act, Compiled};
use super::product::{self, Named};
use super::read::{Hit, Voice};
use crate::memory::{Audience, Claim, MemoryType, Procedure, Structured};

/// Longest value that is kept under a key, in characters.
const MAX_VALUE_CHARS: usize = 80;

/// What a clause states.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Finding {
    pub(super) claim: Claim,
    pub(super) audience: Audience,
    /// First day that the sentence names.
    pub(super) since: Option<Date>,
}

/// Attribute and value, where they can be told.
#[derive(Default)]
struct Slot {
    attribute: Option<String>,
    value: Option<String>,
}

/// Returns the claim that `hit` makes, or none where it says nothing by itself.
pub(super) fn finding(hit: &Hit<'_>, voice: &Voice<'_>) -> Option<Finding> {
    let finding = match hit.act {
        Act::Preference | Act::Dislike => preference(hit, voice),
        Act::Wish => wish(hit, voice),
        Act::Habit => habit(hit, voice),
        Act::Decision | Act::NamedDecision | Act::Switch => decision(hit, voice),
        Act::ProjectFact => project_fact(hit, voice),
        Act::SelfFact(key) => self_fact(hit, voice, key),
        Act::Standing => standing(hit, voice),
        Act::Remember | Act::Mention => None,
    };
    finding.map(|mut finding| {
        if hit.asked {
            finding.claim.importance = finding.claim.importance.max(0.8);
        }
        finding
    })
}

/// Returns a note of what somebody asked to remember, in their words.
pub(super) fn note(language: &'static Compiled, rest: &str, voice: &Voice<'_>, confidence: f64) -> Option<Finding> {
    let rest = rest.trim_end_matches(['.', '!', '。', '！']);
    let too_short = if rest.is_ascii() { rest.split(' ').count() < 4 } else { rest.chars().count() < 4 };
    if too_short || language.empty_value.is_match(rest) || language.pointing.is_match(rest) || is_errand(rest) {
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

fn preference(hit: &Hit<'_>, voice: &Voice<'_>) -> Option<Finding> {
    let value = value(hit, "v")?;
    let shared = hit.act == Act::Preference;
    let over = hit.found.name("over").map_or("", |over| over.as_str());
    let mut slot = slot_of(&value, over);
    // What somebody dislikes is no value of theirs.
    if !shared {
        slot = Slot::default();
    }
    let clause = until_pointing(hit)?;
    let key = slot.attribute.as_deref().map(preference_key);
    let mut claim = claim(MemoryType::Semantic, "preference", words(hit.language, &clause, voice), hit.language, voice);
    claim.importance = 0.7;
    claim.confidence = hit.confidence;
    (claim.key, claim.value) = keyed(key, slot.value);
    claim.subject = slot.attribute;
    Some(Finding { claim, audience: Audience::User, since: None })
}

fn wish(hit: &Hit<'_>, voice: &Voice<'_>) -> Option<Finding> {
    let phrases = &hit.language.language.phrases;
    let unwanted = value(hit, "not");
    let frame = if unwanted.is_some() { phrases.unwanted } else { phrases.wish };
    let value = unwanted.or_else(|| value(hit, "v"))?;
    let over = hit.found.name("over").map_or("", |over| over.as_str().trim());
    let slot = slot_of(&value, over);
    slot.attribute.as_ref()?;
    if hit.language.pointing.is_match(&value) {
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
    if gone || is_negative(&value) {
        slot = Slot { attribute: None, value: None };
    }
    let clause = until_pointing(hit)?;
    let singular = is_singular(hit.clause);
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
        && !hit.language.pointing.is_match(old)
}

fn project_fact(hit: &Hit<'_>, voice: &Voice<'_>) -> Option<Finding> {
    let value = value(hit, "v")?;
    let what = hit.found.name("what").map_or("", |what| what.as_str());
    let how = hit.found.name("how").map_or("", |how| how.as_str());
    let mut slot = slot_of(&value, "");
    let by_noun = product::attribute(what);
    if let (Some(attribute), true) =
        (by_noun, how.is_empty() || how.ends_with("on") || how.ends_with("at") || how.contains("use"))
    {
        let same = slot.attribute.as_deref() == Some(attribute);
        let value = if same { slot.value } else { Some(plain_value(&value)) };
        slot = Slot { attribute: Some(attribute.to_owned()), value };
    }
    let address = value.contains("://") || value.contains("localhost") || value.starts_with('`');
    if slot.attribute.is_none() && !address {
        return None;
    }
    let clause = until_pointing(hit)?;
    let mut claim = claim(MemoryType::Semantic, "project", words(hit.language, &clause, voice), hit.language, voice);
    claim.importance = 0.6;
    claim.confidence = hit.confidence;
    (claim.key, claim.value) =
        keyed(slot.attribute.as_deref().map(|attribute| project_key(hit, attribute)), slot.value);
    claim.subject = slot.attribute;
    Some(Finding { claim, audience: Audience::Project, since: None })
}

fn self_fact(hit: &Hit<'_>, voice: &Voice<'_>, key: &str) -> Option<Finding> {
    let value = value(hit, "v").or_else(|| value(hit, "years"))?;
    if key == "user.residence" && !product::named(&value).is_empty() {
        return None;
    }
    let clause = until_pointing(hit)?;
    let category =
        if matches!(key, "user.name" | "user.role" | "user.pronouns" | "user.experience") { "profile" } else { "fact" };
    let mut claim = claim(MemoryType::Semantic, category, words(hit.language, &clause, voice), hit.language, voice);
    claim.importance = 0.7;
    claim.confidence = hit.confidence;
    let attribute = key.trim_start_matches("user.").to_owned();
    let profile: Map<String, Value> = [(attribute.clone(), Value::String(value.clone()))].into_iter().collect();
    claim.structured = Some(Structured::Profile { profile });
    // A person has one residence, but may have several pets, allergies and languages.
    let many = ["user.pet", "user.family", "user.allergy", "user.language", "user.diet", "user.study"].contains(&key);
    let key = if many { format!("{key}.{}", slug(&value, key == "user.family")) } else { key.to_owned() };
    (claim.key, claim.value) = keyed(Some(key), Some(value));
    claim.subject = Some(attribute);
    Some(Finding { claim, audience: Audience::User, since: None })
}

fn standing(hit: &Hit<'_>, voice: &Voice<'_>) -> Option<Finding> {
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
    let Some(found) = language.pointing.find(step) else { return false };
    let last = step[found.end()..].trim_matches(['.', '!', ' ']).is_empty();
    let early = step[..found.start()].split(' ').count() <= 3;
    let own = ["you", "your", "you're", "yours"].contains(&found.as_str().to_lowercase().as_str());
    !own && (early || (last && found.as_str().to_lowercase().starts_with("th") && found.as_str().len() == 4))
}

/// Returns the captured value `name` without its end matter, or none where it says nothing by itself.
fn value(hit: &Hit<'_>, name: &str) -> Option<String> {
    let text = hit.found.name(name)?.as_str();
    let end = hit.language.value_end.find(text).map_or(text.len(), |found| found.start());
    let value = text[..end].trim().trim_end_matches(['.', '!', ',', '。', '！', '，', ' ']);
    let says_nothing = value.is_empty() || hit.language.empty_value.is_match(value);
    let switched = hit.act == Act::Decision && hit.language.pointing.is_match(value);
    (!says_nothing && !switched && value.chars().count() <= 200).then(|| value.to_owned())
}

/// Returns the clause, cut before a side clause that points outside; none where the statement itself does.
fn until_pointing(hit: &Hit<'_>) -> Option<String> {
    let Some(pointing) = hit.language.pointing.find(hit.clause) else { return Some(hit.clause.to_owned()) };
    let cut = hit
        .language
        .value_end
        .find_iter(hit.clause)
        .map(|found| found.start())
        .filter(|&at| at < pointing.start())
        .last()?;
    let captured = ["v", "gone", "years"].iter().find_map(|name| hit.found.name(name))?;
    let kept = hit.clause[..cut].trim_end_matches([',', ' ', ';', '，']);
    (captured.start() < kept.len()).then(|| kept.to_owned())
}

/// Returns the attribute that the known names of `value` belong to; several values of one attribute tell nothing.
fn slot_of(value: &str, over: &str) -> Slot {
    let names = product::named(value);
    let Some(Named { attribute, value: first, .. }) = names.first() else {
        let attribute = product::named(over).first().map(|named| named.attribute.to_owned());
        return Slot { value: attribute.is_some().then(|| plain_value(value)), attribute };
    };
    let rest = alternatives_start(value);
    let others =
        names[1..].iter().any(|other| other.attribute == *attribute && other.value != *first && other.at < rest);
    if others {
        return Slot { attribute: Some((*attribute).to_owned()), value: None };
    }
    Slot { attribute: Some((*attribute).to_owned()), value: Some(first.clone()) }
}

/// Where in `value` the rejected alternatives begin: "X instead of Y".
fn alternatives_start(value: &str) -> usize {
    let lower = value.to_ascii_lowercase();
    ["instead of", " rather than", " over ", ", not ", " not ", "而不是", "代替", " from "]
        .iter()
        .filter_map(|word| lower.find(word))
        .min()
        .unwrap_or(value.len())
}

fn plain_value(value: &str) -> String {
    value[..alternatives_start(value)].trim().trim_matches(['`', '"', '\'', '“', '”', '「', '」']).to_owned()
}

fn preference_key(attribute: &str) -> String {
    if matches!(attribute, "os" | "timezone") {
        format!("user.{attribute}")
    } else {
        format!("user.preference.{attribute}")
    }
}

/// Returns the project's key; a part such as staging has a key of its own.
fn project_key(hit: &Hit<'_>, attribute: &str) -> String {
    let part = hit.language.parts.iter().find(|(pattern, _)| pattern.is_match(hit.clause)).map(|&(_, name)| name);
    let own = !matches!(
        attribute,
        "test_runner" | "e2e_tests" | "ci" | "linter" | "formatter" | "package_manager" | "issue_tracker"
    );
    match part {
        Some(part) if own => format!("project.{part}.{attribute}"),
        Some(_) | None => format!("project.{attribute}"),
    }
}

/// Returns key and value together or not at all: a key without a value compares with nothing.
fn keyed(key: Option<String>, value: Option<String>) -> (Option<String>, Option<String>) {
    match (key, value) {
        (Some(key), Some(value)) if !value.is_empty() && value.chars().count() <= MAX_VALUE_CHARS => {
            (Some(key), Some(value))
        }
        (_, _) => (None, None),
    }
}

/// Returns `value` as the end of a key: its first words, or with `last_word` only the noun that counts.
fn slug(value: &str, last_word: bool) -> String {
    let words = value.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).map(str::to_lowercase);
    let mut words: Vec<String> = words.collect();
    if last_word {
        words.drain(..words.len().saturating_sub(1));
    }
    words.truncate(4);
    words.join("_")
}

/// Returns `clause` as a sentence in the third person, or as a quotation where that is not safe.
pub(super) fn words(language: &Compiled, clause: &str, voice: &Voice<'_>) -> String {
    match (language.language.third_person)(clause, voice.speaker) {
        Some(turned) => finished(&turned, language),
        None => quoted(language, clause, voice),
    }
}

/// Returns `clause` as a quotation.
pub(super) fn quoted(language: &Compiled, clause: &str, voice: &Voice<'_>) -> String {
    fill(language.language.phrases.said, &[("{who}", &who(language, voice)), ("{x}", &clause.replace('"', "'"))])
}

/// Returns the speaker's name, or what the user is called.
pub(super) fn who(language: &Compiled, voice: &Voice<'_>) -> String {
    voice.speaker.unwrap_or(language.language.phrases.user).to_owned()
}

/// Fills the gaps of a sentence frame.
pub(super) fn fill(frame: &str, gaps: &[(&str, &str)]) -> String {
    let mut text = String::with_capacity(frame.len() + 64);
    let mut rest = frame;
    while let Some(open) = rest.find('{') {
        text.push_str(&rest[..open]);
        rest = &rest[open..];
        let gap = gaps.iter().find(|(name, _)| rest.starts_with(name));
        let (skip, filling) = gap.map_or((1, "{"), |(name, filling)| (name.len(), filling));
        text.push_str(filling);
        rest = &rest[skip..];
    }
    text.push_str(rest);
    text
}

/// Returns `text` with a capital and a full stop.
pub(super) fn finished(text: &str, language: &Compiled) -> String {
    let text = text.trim().trim_end_matches(['.', '!', ',', ';', '。', '！', '，', '；']);
    format!("{}{}", capitalised(text), language.language.phrases.stop)
}

fn capitalised(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

fn claim(memory_type: MemoryType, category: &str, content: String, language: &Compiled, voice: &Voice<'_>) -> Claim {
    let title = title(&content, language, voice);
    Claim::new(memory_type, category, title, content)
}

/// Returns the first few words of `content` without its subject.
pub(super) fn title(content: &str, language: &Compiled, voice: &Voice<'_>) -> String {
    let user = language.language.phrases.user;
    let bare = voice.speaker.map_or(content, |_| content).trim_end_matches(['.', '。', '"', '”']);
    let bare =
        bare.strip_prefix(user).map_or(bare, |rest| rest.trim_start_matches("'s ").trim_start_matches('的').trim());
    let mut title = String::new();
    for (count, word) in bare.split(' ').enumerate() {
        if count >= 8 || title.chars().count() + word.chars().count() > 60 {
            break;
        }
        if count > 0 {
            title.push(' ');
        }
        title.push_str(word);
    }
    if title.is_empty() {
        title = bare.chars().take(30).collect();
    }
    capitalised(without_dangling(&title))
}

/// Returns `title` without the little words at its end that wait for more.
fn without_dangling(title: &str) -> &str {
    const DANGLING: &[&str] = &[
        "a", "an", "and", "as", "at", "by", "for", "from", "in", "instead", "is", "of", "on", "or", "over", "than",
        "that", "the", "to", "with", "week",
    ];
    let mut title = title.trim_end_matches([',', ';', ':', ' ', '"', '“']);
    while let Some((head, last)) = title.rsplit_once(' ') {
        if !DANGLING.contains(&last) {
            break;
        }
        title = head.trim_end_matches([',', ';', ':']);
    }
    title
}
