//! Asking a model what groups of episodes have in common, many in one call, and how far it may be believed.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use minijinja::{Environment, context};
use serde::Deserialize;
use serde_json::json;

use super::super::field::Field;
use super::group::{Group, day};
use crate::consolidate::compare::features::{Features, Polarity};
use crate::extract::Spent;
use crate::guard::Guard;
use crate::llm::{Complete, Cost, Finish, ReplySchema, Request, Turn, TurnRole};
use crate::memory::MemoryType;
use crate::prompts::Prompt;
use crate::store::HashPair;
use transcripts::json;

/// Groups in one call at most.
pub(in super::super) const MAX_GROUPS: usize = 12;

/// Episodes of a group that are shown at most: the first and the last.
const MAX_SHOWN: usize = 8;

/// Longest episode shown, in characters.
const MAX_TEXT: usize = 400;

/// Longest statement taken, in characters.
const MAX_STATEMENT: usize = 240;

/// Part of a statement's words that stand in the episodes.
const MIN_GROUNDED: f64 = 0.6;

static TEMPLATES: LazyLock<Environment<'static>> = LazyLock::new(|| {
    let mut templates = Environment::new();
    templates
        .add_template("user", Prompt::ReflectUser.text())
        .expect("the template is embedded, or was rendered when it was read");
    templates
});

/// What episodes have in common.
#[derive(Debug, Clone, PartialEq)]
pub(in super::super) struct Pattern {
    pub(super) memory_type: MemoryType,
    pub(super) title: String,
    pub(super) statement: String,
}

impl Pattern {
    /// Returns what a sentence says that all of them share.
    pub(super) fn of(statement: String) -> Self {
        let words: Vec<&str> = statement.split_whitespace().take(8).collect();
        let title = words.join(" ").trim_end_matches(['.', ',', '。']).to_owned();
        Self { memory_type: MemoryType::Semantic, title, statement }
    }
}

/// What was said about groups, by their hash; `None` where they have nothing in common that is worth keeping.
pub(in super::super) type Patterns = BTreeMap<HashPair, Option<Pattern>>;

#[derive(Debug, Deserialize)]
struct Entry {
    group: usize,
    kind: Kind,
    title: String,
    statement: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Kind {
    Semantic,
    Procedural,
    None,
}

/// What asking came to.
#[derive(Debug, Default)]
pub(in super::super) struct Told {
    pub(in super::super) patterns: Patterns,
    pub(in super::super) spent: Spent,
    pub(in super::super) failed: u64,
}

/// Asks `model` what each of `groups` has in common, at most [`MAX_GROUPS`] in a call.
pub(in super::super) async fn ask_about<C: Complete>(
    field: &Field,
    groups: &[Group],
    guard: &Guard,
    model: &C,
) -> Told {
    let mut told = Told::default();
    for chunk in groups.chunks(MAX_GROUPS) {
        match model.complete(&request(field, chunk, guard)).await {
            Ok((reply, cost)) => {
                match cost {
                    Cost::Call => {
                        told.spent += Spent {
                            calls: 1,
                            prompt_tokens: reply.prompt_tokens,
                            completion_tokens: reply.completion_tokens,
                            ..Spent::default()
                        };
                    }
                    Cost::Cached => told.spent.cached += 1,
                }
                let found = if reply.finish == Finish::Refusal { BTreeMap::new() } else { read(&reply.text) };
                told.failed += u64::from(found.is_empty());
                for (number, pattern) in found {
                    if let Some(group) = chunk.get(number.wrapping_sub(1)) {
                        told.patterns.insert(group.hash(field), pattern);
                    }
                }
            }
            Err(_) => told.failed += 1,
        }
    }
    told
}

fn request(field: &Field, groups: &[Group], guard: &Guard) -> Request {
    let tokens = u32::try_from(groups.len()).unwrap_or(u32::MAX).saturating_mul(150).saturating_add(200);
    Request {
        system: guard.redact(Prompt::ReflectSystem.text().to_owned()).0,
        turns: vec![Turn { role: TurnRole::User, text: guard.redact(render(field, groups)).0 }],
        schema: ReplySchema { name: "patterns".into(), schema: schema() },
        max_completion_tokens: tokens,
    }
}

fn render(field: &Field, groups: &[Group]) -> String {
    let shown = groups.iter().enumerate().map(|(index, group)| {
        let episodes = group.counted(field);
        let skipped = episodes.len().saturating_sub(MAX_SHOWN);
        let half = MAX_SHOWN / 2;
        let chosen = episodes.iter().enumerate().filter(|(place, _)| *place < half || *place >= half + skipped);
        let lines = chosen.map(|(_, known)| {
            context! { day => day(known).to_string(), text => one_line(&known.memory.claim.content) }
        });
        context! { number => index + 1, episodes => lines.collect::<Vec<_>>() }
    });
    let template = TEMPLATES.get_template("user").expect("the template is added above");
    let values = context! { groups => shown.collect::<Vec<_>>() };
    template.render(values).expect("the template is embedded and a test renders it")
}

/// Puts a text on one line, cut short, so that it cannot pose as another line or close the fence.
fn one_line(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ").replace("</", "< /");
    match line.char_indices().nth(MAX_TEXT) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

fn read(text: &str) -> BTreeMap<usize, Option<Pattern>> {
    let body = text.find('{').map_or("", |start| &text[start..]);
    let value = json::parse_prefix(body.trim_end().trim_end_matches("```"));
    let entries = value.as_ref().and_then(|value| value.get("patterns")?.as_array());
    let entries = entries.into_iter().flatten().filter_map(|entry| serde_json::from_value::<Entry>(entry.clone()).ok());
    entries.map(|entry| (entry.group, pattern(&entry))).collect()
}

fn pattern(entry: &Entry) -> Option<Pattern> {
    let memory_type = match entry.kind {
        Kind::Semantic => MemoryType::Semantic,
        Kind::Procedural => MemoryType::Procedural,
        Kind::None => return None,
    };
    let statement = entry.statement.split_whitespace().collect::<Vec<_>>().join(" ");
    let title = entry.title.split_whitespace().collect::<Vec<_>>().join(" ");
    let fits = !statement.is_empty() && statement.chars().count() <= MAX_STATEMENT;
    let title =
        if title.is_empty() || title.chars().count() > 80 { Pattern::of(statement.clone()).title } else { title };
    fits.then_some(Pattern { memory_type, title, statement })
}

/// Whether all that a statement names stands in the episodes: each number, each name, each person, and most words. What it
/// denies, one of them denies.
#[expect(clippy::cast_precision_loss, reason = "counts of words")]
pub(super) fn is_grounded(pattern: &Pattern, episodes: &[&str]) -> bool {
    let said: Vec<Features> = episodes.iter().map(|text| Features::of(text)).collect();
    let holds = |text: &str| {
        let features = Features::of(text);
        let names = features.entities.iter().all(|name| said.iter().any(|one| one.text.contains(name.as_str())));
        let figures = features.figures.iter().all(|figure| said.iter().any(|one| one.figures.contains(figure)));
        let people = features.people.iter().all(|person| said.iter().any(|one| one.people.contains(person)));
        let turn = features.polarity == Polarity::Positive
            || said.iter().any(|one| one.polarity == features.polarity || one.polarity == Polarity::Mixed);
        let known = features.tokens.iter().filter(|word| said.iter().any(|one| one.tokens.contains(*word))).count();
        let grounded = known as f64 >= features.tokens.len() as f64 * MIN_GROUNDED;
        names && figures && people && turn && grounded
    };
    holds(&pattern.statement) && holds(&pattern.title)
}

/// The reply's shape, in the subset that strict mode accepts.
fn schema() -> serde_json::Value {
    json!({
        "type": "object",
        "properties": {
            "patterns": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {
                        "group": {"type": "integer"},
                        "kind": {"type": "string", "enum": ["semantic", "procedural", "none"]},
                        "title": {"type": "string"},
                        "statement": {"type": "string"},
                    },
                    "required": ["group", "kind", "title", "statement"],
                    "additionalProperties": false,
                },
            },
        },
        "required": ["patterns"],
        "additionalProperties": false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_names_nothing_that_no_episode_names() {
        let episodes = [
            "The user fixed the flaky login test by restarting Redis.",
            "The login test was flaky again; the user restarted Redis 2 times.",
            "The user restarted Redis because the login test was flaky.",
        ];
        let rows = [
            ("The user restarts Redis when the login test is flaky.", true),
            ("The user restarts Postgres when the login test is flaky.", false),
            ("The user restarted Redis 7 times when the login test was flaky.", false),
            ("The user never restarts Redis when the login test is flaky.", false),
            ("The user's sister restarts Redis when the login test is flaky.", false),
            ("The user enjoys debugging legacy systems late at night.", false),
        ];
        for (statement, expected) in rows {
            assert_eq!(is_grounded(&Pattern::of(statement.to_owned()), &episodes), expected, "{statement}");
        }
    }

    #[test]
    fn what_cannot_be_read_is_left_out() {
        let text = r#"{"patterns":[{"group":1,"kind":"semantic","title":"T","statement":"S s."},{"group":"x"},
            {"group":2,"kind":"none","title":"","statement":""}]}"#;
        let found = read(text);
        assert_eq!(found.len(), 2);
        assert_eq!(found[&1].as_ref().map(|pattern| pattern.statement.as_str()), Some("S s."));
        assert_eq!(found[&2], None);
        assert!(read("no").is_empty());
    }
}
