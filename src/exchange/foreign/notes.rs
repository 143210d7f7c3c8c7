//! `MEMORY.md` and the daily notes beside it, as assistants keep them: long-term sections and short-term days.

use jiff::ToSpan;
use jiff::civil::Date;
use jiff::tz::TimeZone;

use super::markdown::{Section, front_matter, sections};
use super::{Gathered, MemoryFormat, Terms, claim, text_of};
use crate::memory::{Claim, Scope};
use transcripts::{Head, IngestError, Input};

/// Days that what a daily note says is kept.
const DAILY_DAYS: i64 = 30;
/// Importance of what stands in a daily note.
const DAILY_IMPORTANCE: f64 = 0.4;

pub(super) const FORMAT: MemoryFormat = MemoryFormat {
    name: "notes",
    about: "MEMORY.md, its topic files, and daily notes such as 2026-01-31.md",
    rule: "named …MEMORY.md or YYYY-MM-DD.md, or Markdown in a folder called memory",
    sniff,
    read,
};

fn sniff(head: &Head<'_>) -> bool {
    let is_topic = head.name.strip_suffix(".md").is_some() && head.folder == "memory";
    head.name.ends_with("memory.md")
        || is_topic
        || head.name.strip_suffix(".md").is_some_and(|stem| day_of(stem).is_some())
}

fn day_of(stem: &str) -> Option<Date> {
    if stem.len() == 10 { stem.parse().ok() } else { None }
}

fn read(input: Input, terms: &Terms, gathered: &mut Gathered) -> Result<(), IngestError> {
    let stem = input.stem();
    let Some(text) = text_of(input, gathered)? else { return Ok(()) };
    match day_of(&stem) {
        Some(day) => read_day(&text, day, terms, gathered),
        None => read_sections(&text, &stem, terms, gathered),
    }
    Ok(())
}

/// Takes each section as a long-term memory that keeps its key when its words change.
fn read_sections(text: &str, stem: &str, terms: &Terms, gathered: &mut Gathered) {
    let (pairs, body) = front_matter(text).unwrap_or((Vec::new(), text));
    let described = pairs.iter().find(|(key, _)| *key == "description").map(|(_, value)| *value);
    let parts = sections(body);
    let has_headings = parts.iter().any(|part| part.level >= 2);
    for part in &parts {
        if part.body.is_empty() {
            continue;
        }
        if part.body.starts_with('(') && part.body.ends_with(')') {
            gathered.leave_out(part.line, format!("the section {:?} holds only a placeholder", part.heading));
        } else if has_headings && part.level < 2 {
            gathered.leave_out(part.line, "the text before the first section is no memory of its own");
        } else {
            let heading = if part.heading.is_empty() { described.unwrap_or(stem) } else { &part.heading };
            let scope =
                if stem.to_lowercase().ends_with("memory") { String::new() } else { format!("{}.", slug(stem)) };
            let key = format!("{}{scope}{}", terms.key("long_term"), slug(heading));
            gathered.add(section_claim(part, heading, key), terms.namespace.clone(), FORMAT.name, terms.now);
        }
    }
}

fn section_claim(part: &Section, heading: &str, key: String) -> Claim {
    Claim { title: heading.to_owned(), key: Some(key), ..claim("note", &part.body) }
}

/// Takes the note of a day, or each of its sections, as a short-term memory of that day.
fn read_day(text: &str, day: Date, terms: &Terms, gathered: &mut Gathered) {
    let start = day.to_zoned(TimeZone::UTC).map(|start| start.timestamp()).ok();
    let expires_at = terms.now.checked_add((DAILY_DAYS * 24).hours()).ok();
    for part in sections(text).iter().filter(|part| !part.body.is_empty()) {
        if part.body.starts_with('(') && part.body.ends_with(')') {
            gathered.leave_out(part.line, "the section holds only a placeholder");
            continue;
        }
        let title = if part.heading.is_empty() { day.to_string() } else { format!("{day}: {}", part.heading) };
        let claim = Claim {
            title,
            key: Some(format!("{}{day}.{}", terms.key("short_term"), slug(&part.heading))),
            scope: Scope::ShortTerm,
            importance: DAILY_IMPORTANCE,
            valid_from: start,
            expires_at,
            ..claim("note", &part.body)
        };
        gathered.add(claim, terms.namespace.clone(), FORMAT.name, start.unwrap_or(terms.now));
    }
}

/// Returns a heading as a part of a key: its letters and digits, with `_` between words.
pub(super) fn slug(heading: &str) -> String {
    let words = heading.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_lowercase).collect::<Vec<_>>().join("_")
}

#[cfg(test)]
mod tests {
    use super::super::samples::{contents, read, terms};
    use super::*;

    #[test]
    fn sections_become_long_term_memories_with_keys() {
        let text =
            "# Memory\nintro\n## About me\n- likes tea\n### Pets\na cat\n## Later\n(nothing yet)\n## 项目\n发布\n";
        let (format, gathered) = read("MEMORY.md", text);
        assert_eq!((format, contents(&gathered)), ("notes", vec!["- likes tea", "a cat", "发布"]));
        let keys: Vec<_> = gathered.memories.iter().filter_map(|one| one.memory.claim.key.as_deref()).collect();
        assert_eq!(keys, ["import.long_term.about_me", "import.long_term.pets", "import.long_term.项目"]);
        assert_eq!(gathered.left_out.iter().map(|skipped| skipped.record).collect::<Vec<_>>(), [1, 7]);
    }

    #[test]
    fn a_day_is_short_term_and_dated() {
        let (_, gathered) = read("2026-04-30.md", "Met Bo.\n## Work\nShipped 2.0\n");
        assert_eq!(contents(&gathered), ["Met Bo.", "Shipped 2.0"]);
        let claim = &gathered.memories[1].memory.claim;
        assert_eq!((claim.title.as_str(), claim.scope), ("2026-04-30: Work", Scope::ShortTerm));
        assert_eq!(claim.valid_from.unwrap().to_string(), "2026-04-30T00:00:00Z");
        assert_eq!(claim.expires_at, terms().now.checked_add(720.hours()).ok());
        assert!((claim.importance - 0.4).abs() < 1e-9);
    }

    #[test]
    fn notes_without_sections_are_one_memory() {
        let (_, gathered) = read("MEMORY.md", "Ana keeps bees.\n");
        assert_eq!(contents(&gathered), ["Ana keeps bees."]);
        let topic = read("memory/bees.md", "---\nname: bees\ndescription: The bees\n---\nTwo hives.\n").1;
        assert_eq!(topic.memories[0].memory.claim.title, "The bees");
        assert_eq!(topic.memories[0].memory.claim.key.as_deref(), Some("import.long_term.bees.the_bees"));
    }
}
