//! Markdown notes: `MEMORY.md`, daily notes, and instruction files such as `CLAUDE.md`.
//!
//! An agent reads instruction files at every start. They are stored as known lines, so that nothing is learnt from a
//! conversation that repeats them, and become memories only on request.

use jiff::ToSpan;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use transcripts::{Head, IngestError, Input};

use super::{Gathered, MemoryFormat, Terms, claim, text_of};
use crate::memory::{Claim, MemoryType, Scope};
use crate::store::KnownLine;

/// Number of days for which the content of a daily note is kept.
const DAILY_DAYS: i64 = 30;
/// Importance of the content of a daily note.
const DAILY_IMPORTANCE: f64 = 0.4;

pub(super) const NOTES: MemoryFormat = MemoryFormat {
    name: "notes",
    about: "MEMORY.md, its topic files, and daily notes such as 2026-01-31.md",
    rule: "named …MEMORY.md or YYYY-MM-DD.md, or Markdown in a folder called memory",
    sniff: sniff_notes,
    read: read_notes,
};

fn sniff_notes(head: &Head<'_>) -> bool {
    let is_topic = head.name.strip_suffix(".md").is_some() && head.folder == "memory";
    head.name.ends_with("memory.md")
        || is_topic
        || head.name.strip_suffix(".md").is_some_and(|stem| day_of(stem).is_some())
}

fn day_of(stem: &str) -> Option<Date> {
    // The parser also accepts compact dates such as `20260131`, which are common as plain file names.
    if stem.len() == 10 { stem.parse().ok() } else { None }
}

fn read_notes(input: Input, terms: &Terms, gathered: &mut Gathered) -> Result<(), IngestError> {
    let stem = input.stem();
    let Some(text) = text_of(input, gathered)? else { return Ok(()) };
    match day_of(&stem) {
        Some(day) => read_day(&text, day, terms, gathered),
        None => read_sections(&text, &stem, terms, gathered),
    }
    Ok(())
}

/// Adds each section as a long-term memory that keeps its key when its text changes, or each bullet of a section as a
/// separate memory.
fn read_sections(text: &str, stem: &str, terms: &Terms, gathered: &mut Gathered) {
    let (pairs, body) = front_matter(text).unwrap_or((Vec::new(), text));
    let described = pairs.iter().find(|(key, _)| *key == "description").map(|(_, value)| *value);
    let parts = sections(body);
    let has_headings = parts.iter().any(|part| part.level >= 2);
    let titles = parts.iter().filter(|part| part.level == 1).count();
    let mut above: Vec<&Section> = Vec::new();
    for part in &parts {
        above.retain(|heading| heading.level < part.level);
        above.push(part);
        if part.body.is_empty() {
            continue;
        }
        let (items, _) = bullets(&part.body);
        // The text before the headings, or below the only title, describes the file itself.
        let is_introduction = part.level == 0 || part.level == 1 && titles == 1;
        if is_placeholder(&part.body) {
            gathered.leave_out(part.line, format!("the section {:?} contains only a placeholder", part.heading));
        } else if has_headings && is_introduction && items.is_empty() {
            gathered.leave_out(part.line, "the text before the first section is not a separate memory");
        } else {
            let heading = if part.heading.is_empty() { described.unwrap_or(stem) } else { &part.heading };
            let key = format!("{}{}{}", terms.key("long_term"), scope_of(stem), slug(heading));
            let category = above.iter().rev().find_map(|section| category_of(&section.heading));
            let claim = |content: &str, key: String| {
                let claim = claim(category.unwrap_or("note"), content);
                Claim { title: heading.to_owned(), key: Some(key), ..claim }
            };
            let is_separate = !(has_headings && is_introduction);
            for (content, key) in memories_of(part, heading, &key, is_separate) {
                gathered.add(claim(&content, key), terms.namespace.clone(), NOTES.name, terms.now);
            }
        }
    }
    gathered.covered = Some(format!("{}{}", terms.key("long_term"), scope_of(stem)));
}

/// Returns the part of a key that distinguishes topic files, which may share headings. `MEMORY.md` is the main file.
fn scope_of(stem: &str) -> String {
    if stem.to_lowercase().ends_with("memory") { String::new() } else { format!("{}.", slug(stem)) }
}

/// Returns the text of each memory of a section with its key: the section itself, or each of its bullets and, if
/// `with_prose`, the text outside the bullets.
fn memories_of(part: &Section, heading: &str, key: &str, with_prose: bool) -> Vec<(String, String)> {
    let (items, prose) = bullets(&part.body);
    if items.is_empty() {
        let is_done = |line: &str| line.trim().is_empty() || line.trim_start().get(2..5).is_some_and(is_finished);
        // A list of finished tasks contains nothing to remember.
        return if part.body.lines().all(is_done) { Vec::new() } else { vec![(part.body.clone(), key.to_owned())] };
    }
    // A bullet such as "Deadline is in March" needs the heading, unless the heading only names a category.
    let is_topic = !part.heading.is_empty() && category_of(&part.heading).is_none();
    let content = |item: String| if is_topic { format!("{heading}: {item}") } else { item };
    let prose = prose.filter(|_| with_prose).map(|prose| (prose, key.to_owned()));
    let items = (1..).zip(items).map(|(at, item)| (content(item), format!("{key}{ITEM}{at}")));
    prose.into_iter().chain(items).collect()
}

/// Whether the box of a task is ticked.
fn is_finished(task: &str) -> bool {
    task.starts_with("[x]") || task.starts_with("[X]")
}

/// The part of a key before the number of a bullet.
pub(super) const ITEM: &str = ".item_";

/// Returns whether a section of a template was never filled in, such as "(nothing yet)".
fn is_placeholder(body: &str) -> bool {
    body.starts_with('(') && body.ends_with(')')
}

/// Words of headings, in lower case, and the category of the memories below.
const HEADINGS: &[(&str, &str)] = &[
    ("preference", "preference"),
    ("偏好", "preference"),
    ("decision", "decision"),
    ("决定", "decision"),
    ("convention", "convention"),
    ("guideline", "convention"),
    ("rule", "convention"),
    ("约定", "convention"),
    ("规则", "convention"),
    ("workflow", "workflow"),
    ("task", "task"),
    ("todo", "task"),
    ("to-do", "task"),
    ("任务", "task"),
    ("待办", "task"),
    ("blocker", "blocker"),
    ("project", "project"),
    ("项目", "project"),
    ("fact", "fact"),
    ("事实", "fact"),
    ("mistake", "mistake"),
    ("solution", "solution"),
];

/// Returns the category that a heading names.
fn category_of(heading: &str) -> Option<&'static str> {
    let heading = heading.to_lowercase();
    let words: Vec<&str> = heading.split(|c: char| !c.is_alphanumeric() && c != '-').collect();
    let names = |word: &str| {
        let is_word = |one: &&str| *one == word || one.strip_suffix('s') == Some(word);
        words.iter().any(is_word) || !word.is_ascii() && heading.contains(word)
    };
    HEADINGS.iter().find(|(word, _)| names(word)).map(|(_, category)| *category)
}

/// Returns the bullets of a section, each on one line, without those of finished tasks, and the text outside the
/// bullets. A section with a code block has no separate bullets.
fn bullets(body: &str) -> (Vec<String>, Option<String>) {
    let mut items: Vec<String> = Vec::new();
    let mut prose: Vec<&str> = Vec::new();
    if body.contains("```") || body.contains("~~~") {
        return (items, Some(body.to_owned()));
    }
    let mut is_in_item = false;
    for line in body.lines() {
        let trimmed = line.trim();
        let marked = ["- ", "* ", "+ "].iter().find_map(|mark| line.strip_prefix(mark)).or_else(|| numbered(line));
        match marked {
            Some(text) => items.push(text.trim().to_owned()),
            // Deeper bullets and continued lines belong to the bullet above.
            None if is_in_item && line.starts_with([' ', '\t']) && !trimmed.is_empty() => {
                let deeper = ["- ", "* ", "+ "].iter().find_map(|mark| trimmed.strip_prefix(mark));
                let (joint, text) = deeper.map_or((" ", trimmed), |text| ("; ", text));
                items.last_mut().into_iter().for_each(|item| item.extend([joint, text]));
            }
            None => prose.push(line),
        }
        is_in_item = marked.is_some() || is_in_item && !trimmed.is_empty() && line.starts_with([' ', '\t']);
    }
    items.retain(|item| !is_finished(item));
    let items =
        items.into_iter().map(|item| item.strip_prefix("[ ]").map_or(item.clone(), |task| task.trim().to_owned()));
    let items: Vec<String> = items.filter(|item| !item.is_empty()).collect();
    let prose = prose.join("\n").trim().to_owned();
    // A line such as "I like:" only introduces the bullets.
    let prose = Some(prose).filter(|text| !text.is_empty() && !text.ends_with([':', '：']));
    (items, prose)
}

/// Returns the text after a number such as `1. `.
fn numbered(line: &str) -> Option<&str> {
    let rest = line.trim_start_matches(|c: char| c.is_ascii_digit());
    if rest.len() == line.len() { None } else { rest.strip_prefix(". ").or_else(|| rest.strip_prefix(") ")) }
}

/// Adds each section of the note of a day, or each of its bullets, as a short-term memory of that day.
fn read_day(text: &str, day: Date, terms: &Terms, gathered: &mut Gathered) {
    let start = day.to_zoned(TimeZone::UTC).map(|start| start.timestamp()).ok();
    // The days are counted from the import, because an old note would otherwise expire as soon as it is read.
    let expires_at = terms.now.checked_add((DAILY_DAYS * 24).hours()).ok();
    let of_day = format!("{}{day}.", terms.key("short_term"));
    for part in sections(text).iter().filter(|part| !part.body.is_empty()) {
        if is_placeholder(&part.body) {
            gathered.leave_out(part.line, "the section contains only a placeholder");
            continue;
        }
        let title = if part.heading.is_empty() { day.to_string() } else { format!("{day}: {}", part.heading) };
        let category = category_of(&part.heading).unwrap_or("note");
        for (content, key) in memories_of(part, &part.heading, &format!("{of_day}{}", slug(&part.heading)), true) {
            let claim = Claim {
                title: title.clone(),
                key: Some(key),
                scope: Scope::ShortTerm,
                importance: DAILY_IMPORTANCE,
                valid_from: start,
                expires_at,
                ..claim(category, &content)
            };
            gathered.add(claim, terms.namespace.clone(), NOTES.name, start.unwrap_or(terms.now));
        }
    }
    gathered.covered = Some(of_day);
}

/// Returns a heading as a part of a key: its letters and digits, with `_` between words.
pub(super) fn slug(heading: &str) -> String {
    let words = heading.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_lowercase).collect::<Vec<_>>().join("_")
}

pub(super) const INSTRUCTIONS: MemoryFormat = MemoryFormat {
    name: "instructions",
    about: "CLAUDE.md, AGENTS.md, GEMINI.md and rules files: known context, not memories unless asked for",
    rule: "named CLAUDE.md, CLAUDE.local.md, AGENTS.md, GEMINI.md, .cursorrules, .windsurfrules, copilot-instructions.md or *.mdc",
    sniff: |head| NAMES.split(' ').any(|name| name == head.name) || head.name.strip_suffix(".mdc").is_some(),
    read: read_instructions,
};

const NAMES: &str = "claude.md claude.local.md agents.md gemini.md .cursorrules .windsurfrules .clinerules \
                     copilot-instructions.md";
/// Blocks that other programs write into these files for their own use.
const WRITTEN_BY_PROGRAMS: &[(&str, &str)] = &[
    ("<claude-mem-context>", "</claude-mem-context>"),
    ("<afterthought-memory", "</afterthought-memory>"),
    ("<!--", "-->"),
];
/// Minimum length of a known line; a shorter line is not distinctive.
// Nothing is learnt from text that matches a known line, so a short line would match too much.
const MIN_KNOWN_CHARS: usize = 8;

fn read_instructions(input: Input, terms: &Terms, gathered: &mut Gathered) -> Result<(), IngestError> {
    let name = input.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let origin = if terms.folder.is_empty() { name.clone() } else { format!("{}/{name}", terms.folder) };
    let Some(text) = text_of(input, gathered)? else { return Ok(()) };
    // Text that a memory program wrote there would otherwise be learnt as if the user had said it.
    let text = without_blocks(&text, WRITTEN_BY_PROGRAMS);
    for part in sections(&text).iter().filter(|part| !part.body.is_empty()) {
        if terms.instructions_as_memories {
            let heading = if part.heading.is_empty() { &name } else { &part.heading };
            let claim = Claim {
                memory_type: MemoryType::Procedural,
                title: heading.clone(),
                key: Some(format!("{}{}.{}", terms.key("instructions"), slug(&name), slug(&part.heading))),
                ..claim("convention", &part.body)
            };
            gathered.add(claim, terms.namespace.clone(), INSTRUCTIONS.name, terms.now);
        }
        gathered
            .known
            .extend(lines(&part.body).map(|text| KnownLine { origin: origin.clone(), text: text.to_owned() }));
    }
    Ok(())
}

/// Returns the lines of a section without list and quote markers.
fn lines(body: &str) -> impl Iterator<Item = &str> {
    // A conversation repeats the sentence, but not the bullet before it.
    let marks = |c: char| matches!(c, '-' | '*' | '+' | '>' | '.' | ')') || c.is_ascii_digit() || c.is_whitespace();
    body.lines()
        .map(move |line| line.trim_start_matches(marks).trim())
        .filter(|line| line.chars().count() >= MIN_KNOWN_CHARS)
}

/// The text under one heading, up to the next heading of any level.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Section {
    /// 1-based line of the heading; 1 for the text before the first heading.
    pub line: usize,
    /// The number of `#`; 0 for the text before the first heading.
    pub level: usize,
    /// The heading's text.
    pub heading: String,
    /// The text under the heading, without leading and trailing spaces.
    pub body: String,
}

/// Splits `text` at its headings; a `#` in a fenced code block is not a heading.
pub(super) fn sections(text: &str) -> Vec<Section> {
    let mut found = vec![Section { line: 1, ..Section::default() }];
    let mut fence = None;
    for (number, line) in (1..).zip(text.lines()) {
        let mark = ["```", "~~~"].into_iter().find(|mark| line.trim_start().starts_with(mark));
        fence = match (fence, mark) {
            (None, mark) => mark,
            // Only the marker that opened a fence closes it, because `~~~` may appear inside a block of backticks.
            (Some(open), Some(mark)) if open == mark => None,
            (open, _) => open,
        };
        match heading(line).filter(|_| fence.is_none()) {
            Some((level, heading)) => {
                found.push(Section { line: number, level, heading: heading.to_owned(), body: String::new() });
            }
            None => {
                if let Some(section) = found.last_mut() {
                    section.body.extend([line, "\n"]);
                }
            }
        }
    }
    for section in &mut found {
        section.body = section.body.trim().to_owned();
    }
    found
}

fn heading(line: &str) -> Option<(usize, &str)> {
    let level = line.bytes().take_while(|byte| *byte == b'#').count();
    // `#tag` is not a heading in CommonMark, so the space is required.
    let text = line.get(level..)?.strip_prefix(' ')?.trim().trim_end_matches('#').trim();
    ((1..=6).contains(&level) && !text.is_empty()).then_some((level, text))
}

/// Returns `text` without the blocks that other programs put between `<!-- … -->` or `<NAME>` and `</NAME>`.
pub(super) fn without_blocks(text: &str, blocks: &[(&str, &str)]) -> String {
    let mut kept = text.to_owned();
    for (open, close) in blocks {
        while let Some(start) = kept.find(open) {
            // A block that is not closed extends to the end, because injected text must not be mistaken for the user's.
            let end = kept[start..].find(close).map_or(kept.len(), |at| start + at + close.len());
            kept.replace_range(start..end, "");
        }
    }
    kept
}

/// Returns the front matter of `text`, as lines of `key: value`, and the text after the front matter.
pub(super) fn front_matter(text: &str) -> Option<(Vec<(&str, &str)>, &str)> {
    let rest = text.trim_start().strip_prefix("---\n")?;
    // No YAML parser is needed: these programs write flat `key: value` lines, and a value may contain further colons.
    let (head, body) = rest.split_once("\n---")?;
    let pairs = head.lines().filter_map(|line| line.split_once(':')).map(|(key, value)| (key.trim(), value.trim()));
    Some((pairs.collect(), body.trim_start_matches('-').trim()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exchange::formats::gather;
    use crate::exchange::formats::samples::{contents, read, terms};

    #[test]
    fn sections_become_long_term_memories_with_keys() {
        let text =
            "# Memory\nintro\n## About me\n- likes tea\n### Pets\na cat\n## Later\n(nothing yet)\n## 项目\n发布\n";
        let (format, gathered) = read("MEMORY.md", text);
        assert_eq!((format, contents(&gathered)), ("notes", vec!["About me: likes tea", "a cat", "发布"]));
        let keys: Vec<_> = gathered.memories.recent.iter().filter_map(|one| one.memory.claim.key.as_deref()).collect();
        assert_eq!(keys, ["import.long_term.about_me.item_1", "import.long_term.pets", "import.long_term.项目"]);
        assert_eq!(gathered.left_out.iter().map(|skipped| skipped.record).collect::<Vec<_>>(), [1, 7]);
    }

    #[test]
    fn each_bullet_is_a_memory_in_the_category_of_its_heading() {
        let text = "# Preferences\n- Prefers Python\n  over JavaScript\n- Drinks tea\n# Facts\nMoutai is 600519.\n# Projects\n\
            ## Stock Picker\nIt has these rules:\n1. Repo in ~/picker\n2. Deadline in March\n# Tasks\n- [ ] call Bo\n- [x] file taxes\n\
            # Snippets\n- one\n```sh\n- x\n```\n";
        let (_, gathered) = read("MEMORY.md", text);
        let found = gathered
            .memories
            .recent
            .iter()
            .map(|one| (one.memory.claim.category.as_str(), one.memory.claim.content.as_str()));
        assert_eq!(
            found.collect::<Vec<_>>(),
            [
                ("preference", "Prefers Python over JavaScript"),
                ("preference", "Drinks tea"),
                ("fact", "Moutai is 600519."),
                ("project", "Stock Picker: Repo in ~/picker"),
                ("project", "Stock Picker: Deadline in March"),
                ("task", "call Bo"),
                ("note", "- one\n```sh\n- x\n```"),
            ]
        );
    }

    #[test]
    fn a_day_is_short_term_and_dated() {
        let text = "Met Bo.\n## Work\nShipped 2.0\n## Standup\nWe said:\n- Ana is away\n- Bo tests\n## Tasks\n- [ ] call Cy\n## Done\n- [x] file taxes\n";
        let (_, gathered) = read("2026-04-30.md", text);
        let said = ["Met Bo.", "Shipped 2.0", "Standup: Ana is away", "Standup: Bo tests", "call Cy"];
        assert_eq!(contents(&gathered), said, "each bullet is a memory, and what is done is left out");
        let mut keys = gathered.memories.recent.iter().rev().filter_map(|one| one.memory.claim.key.as_deref());
        assert_eq!(keys.next(), Some("import.short_term.2026-04-30.tasks.item_1"));
        assert_eq!(gathered.memories.recent[4].memory.claim.category, "task");
        let claim = &gathered.memories.recent[1].memory.claim;
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
        assert_eq!(topic.memories.recent[0].memory.claim.title, "The bees");
        assert_eq!(topic.memories.recent[0].memory.claim.key.as_deref(), Some("import.long_term.bees.the_bees"));
    }

    const TEXT: &str =
        "# Shop\n<claude-mem-context>\nold news\n</claude-mem-context>\n## Style\n1. Use tabs everywhere.\n- ok\n";

    #[test]
    fn instructions_are_known_and_no_memories() {
        let (format, gathered) = read("CLAUDE.md", TEXT);
        assert_eq!((format, contents(&gathered)), ("instructions", vec![]));
        let known: Vec<_> = gathered.known.iter().map(|line| line.text.as_str()).collect();
        assert_eq!(known, ["Use tabs everywhere."]);
    }

    #[test]
    fn they_become_memories_where_that_is_asked_for() {
        let asked = Terms { instructions_as_memories: true, ..terms() };
        let (_, gathered) = gather(Input::from_text("AGENTS.md", TEXT), None, &asked).unwrap();
        assert_eq!(contents(&gathered), ["1. Use tabs everywhere.\n- ok"]);
        assert_eq!(
            gathered.memories.recent[0].memory.claim.key.as_deref(),
            Some("import.instructions.agents_md.style")
        );
    }

    #[test]
    fn headings_part_the_text_but_not_in_code() {
        let found = sections("pre\n# Title\n## A ##\nx\n```sh\n# comment\n```\n#tag\n### B\n\ny\n");
        let parts: Vec<_> =
            found.iter().map(|part| (part.line, part.level, part.heading.as_str(), part.body.as_str())).collect();
        assert_eq!(
            parts,
            [(1, 0, "", "pre"), (2, 1, "Title", ""), (3, 2, "A", "x\n```sh\n# comment\n```\n#tag"), (9, 3, "B", "y")]
        );
    }

    #[test]
    fn injected_blocks_go_even_when_they_are_not_closed() {
        let blocks = [("<ctx>", "</ctx>"), ("<!--", "-->")];
        assert_eq!(without_blocks("a<ctx>b</ctx>c<!--d-->e", &blocks), "ace");
        assert_eq!(without_blocks("a<ctx>b", &blocks), "a");
    }
}
