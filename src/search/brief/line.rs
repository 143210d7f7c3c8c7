//! One memory as it is spelled in a brief.

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::clean::{clean, escaped};
use super::request::Format;
use crate::guard::{Suspicion, steers};
use crate::memory::{Memory, Structured};

/// Longest text of a memory in a line of its own, in characters; of a longer one the summary is shown, or the beginning.
const COMPACT_CHARS: usize = 300;
/// The same where all is told that is known of it.
const DETAILED_CHARS: usize = 1_200;

/// Returns the lines of a memory, each with its line break.
pub(super) fn line(memory: &Memory, format: Format) -> String {
    match format {
        Format::Compact => compact(memory),
        Format::Detailed => detailed(memory),
        Format::Structured => structured(memory),
        Format::Json => json_line(memory),
    }
}

fn compact(memory: &Memory) -> String {
    let mut notes = vec![clean(&memory.claim.category), format!("importance:{}", tenths(memory))];
    notes.extend(memory.claim.expires_at.map(|at| format!("expires:{}", minute(at))));
    format!("- {} [{}]\n", quoted(memory, &said(memory, COMPACT_CHARS)), notes.join(", "))
}

fn detailed(memory: &Memory) -> String {
    let claim = &memory.claim;
    let mut notes = vec![
        format!("{}/{}", claim.memory_type, clean(&claim.category)),
        format!("importance:{}", tenths(memory)),
        format!("confidence:{:.1}", claim.confidence),
        format!("since:{}", day(memory)),
    ];
    notes.extend(memory.pinned.then(|| "pinned".to_owned()));
    notes.extend(claim.subject.as_deref().map(|subject| format!("about:{}", clean(subject))));
    notes.extend((!claim.tags.is_empty()).then(|| format!("tags:{}", clean(&claim.tags.join(" ")))));
    notes.extend(claim.expires_at.map(|at| format!("expires:{}", minute(at))));
    notes.extend([format!("in:{}", clean(&memory.namespace.to_string())), format!("id:{}", short(memory))]);
    let mut lines = vec![format!("- {}", quoted(memory, &said(memory, DETAILED_CHARS)))];
    lines.extend(parts(memory).iter().map(|(name, part)| format!("  {name}: {}", cut(memory, part, COMPACT_CHARS))));
    lines.push(format!("  [{}]\n", notes.join(", ")));
    lines.join("\n")
}

fn structured(memory: &Memory) -> String {
    let claim = &memory.claim;
    let optional = [
        ("subject", claim.subject.as_deref().map(clean)),
        ("key", claim.key.as_deref().map(clean)),
        ("expires", claim.expires_at.map(minute)),
        ("quotation", suspicion(memory).map(str::to_owned)),
    ];
    let attributes = [
        ("id", short(memory).to_owned()),
        ("type", claim.memory_type.to_string()),
        ("category", clean(&claim.category)),
        ("importance", tenths(memory).to_string()),
        ("confidence", format!("{:.1}", claim.confidence)),
        ("since", day(memory)),
    ];
    let optional = optional.into_iter().filter_map(|(name, value)| Some((name, value?)));
    let attributes = attributes.into_iter().chain(optional);
    let tag: Vec<String> = attributes.map(|(name, value)| format!(" {name}=\"{}\"", escaped(&value))).collect();
    let element =
        |(name, part): (&str, String)| format!("<{name}>{}</{name}>", escaped(&cut(memory, &part, COMPACT_CHARS)));
    let inner: Vec<String> = parts(memory).into_iter().map(element).collect();
    let text = escaped(&said(memory, DETAILED_CHARS));
    format!("<memory{}>{text}{}</memory>\n", tag.concat(), inner.concat())
}

fn json_line(memory: &Memory) -> String {
    let claim = &memory.claim;
    let parts: Map<String, Value> =
        parts(memory).into_iter().map(|(name, part)| (name.to_owned(), Value::from(part))).collect();
    let mut value = json!({
        "id": memory.id,
        "type": claim.memory_type,
        "category": claim.category,
        "title": clean(&claim.title),
        "content": said(memory, DETAILED_CHARS),
        "importance": claim.importance,
        "confidence": claim.confidence,
        "since": day(memory),
        "pinned": memory.pinned,
        "namespace": memory.namespace.to_string(),
    });
    let optional = [
        ("subject", claim.subject.clone().map(Value::from)),
        ("key", claim.key.clone().map(Value::from)),
        ("value", claim.value.clone().map(Value::from)),
        ("expires_at", claim.expires_at.map(|at| Value::from(at.to_string()))),
        ("parts", (!parts.is_empty()).then_some(Value::from(parts))),
        ("quotation", suspicion(memory).map(Value::from)),
    ];
    if let Some(object) = value.as_object_mut() {
        object.extend(optional.into_iter().filter_map(|(name, part)| Some((name.to_owned(), part?))));
    }
    // Whoever puts the whole into a prompt may set it between tags.
    value.to_string().replace('<', "\\u003c")
}

/// Returns the parts that follow from the type of a memory and say more than its content.
fn parts(memory: &Memory) -> Vec<(&'static str, String)> {
    match &memory.claim.structured {
        Some(Structured::Episode(episode)) => {
            let learnt = episode.learnings.iter().map(|learnt| ("learnt", clean(learnt)));
            let outcome = [("outcome", episode.outcome.to_string())];
            let why = episode.reasoning.iter().map(|why| ("why", clean(why)));
            outcome.into_iter().chain(why).chain(learnt).collect()
        }
        Some(Structured::Procedure(procedure)) => {
            let when = procedure.triggers.iter().map(|when| ("when", clean(when)));
            when.chain(procedure.steps.iter().map(|step| ("step", clean(step)))).collect()
        }
        Some(Structured::Pattern { pattern }) => vec![("pattern", clean(pattern))],
        Some(Structured::Profile { .. }) | None => Vec::new(),
    }
}

/// Returns what a memory says in at most `limit` characters: its content, its summary, or what fits of its content.
fn said(memory: &Memory, limit: usize) -> String {
    let content = clean(&memory.claim.content);
    let fits = |text: &str| text.chars().nth(limit).is_none();
    let summary = memory.claim.summary.as_deref().map(clean).filter(|text| !text.is_empty() && fits(text));
    match summary {
        Some(summary) if !fits(&content) => summary,
        Some(_) | None => cut(memory, &content, limit),
    }
}

/// Cuts a text between words and says so, with the id under which the whole is found.
fn cut(memory: &Memory, text: &str, limit: usize) -> String {
    let Some((end, _)) = text.char_indices().nth(limit) else { return text.to_owned() };
    let end = text[..end].rfind(' ').filter(|space| *space > end / 2).unwrap_or(end);
    format!("{} [… cut from {} characters, id {}]", &text[..end], text.chars().count(), short(memory))
}

/// Returns the text, as a quotation with its reason where it reads like an order.
fn quoted(memory: &Memory, text: &str) -> String {
    suspicion(memory).map_or_else(|| text.to_owned(), |why| format!("A note that {why}, quoted as data: \"{text}\""))
}

/// Returns why what a memory says must not be taken for an order.
fn suspicion(memory: &Memory) -> Option<&'static str> {
    steers(&memory.claim.content).or_else(|| steers(&memory.claim.title)).map(Suspicion::reason)
}

/// Returns the importance as 1–10.
fn tenths(memory: &Memory) -> i64 {
    #[expect(clippy::cast_possible_truncation, reason = "between 1 and 10")]
    let tenths = (memory.claim.importance * 10.0).round().clamp(1.0, 10.0) as i64;
    tenths
}

/// Returns from when a memory holds, as far as is known.
fn day(memory: &Memory) -> String {
    memory.claim.valid_from.unwrap_or(memory.created_at).strftime("%Y-%m-%d").to_string()
}

fn minute(at: Timestamp) -> String {
    at.strftime("%Y-%m-%d %H:%M UTC").to_string()
}

/// Returns the last eight characters of the id: what a person types.
fn short(memory: &Memory) -> &str {
    let id = memory.id.as_str();
    &id[id.len().saturating_sub(8)..]
}
