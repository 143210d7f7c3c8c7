//! Asks a model what groups of episodes have in common, several groups per call, and checks its statements.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, LazyLock};

use jiff::civil::Date;
use jiff::tz::Offset;
use minijinja::context;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use transcripts::json;

use crate::consolidate::Known;
use crate::consolidate::compare::features::{Features, Polarity};
use crate::consolidate::compare::view::{View, Words};
use crate::consolidate::pass::field::{Around, Field, said_at, said_hash};
use crate::consolidate::pass::judge::view;
use crate::consolidate::pass::lists::title;
use crate::extract::Spent;
use crate::guard::Guard;
use crate::llm::{Complete, Finish, ReplySchema, Request, Turn, TurnRole};
use crate::memory::{MemoryId, MemoryType, RelationType, Status, Structured};
use crate::prompts::Prompt;
use crate::schema::{Schema, schema_of};
use crate::store::HashPair;
use crate::text::markup::request_line;
use crate::text::normalise::normalised_hash;

/// Minimum number of episodes, on as many different days, for deriving a memory.
// Two episodes may be a coincidence.
pub(in super::super) const MIN_EPISODES: usize = 3;

/// Minimum ratio of shared content words to the content words of the shorter episode for two episodes to count as being
/// on the same topic.
const MIN_OVERLAP: f64 = 0.6;

/// Minimum ratio of shared content words for two episodes with a common subject to count as being on the same topic.
const MIN_OVERLAP_SAME_SUBJECT: f64 = 0.5;

/// Maximum number of members of a group that a new episode is compared with.
const MAX_COMPARED: usize = 30;

/// Episodes on one topic.
#[derive(Debug, Clone, Default)]
pub(in super::super) struct Group {
    /// The memory that was derived from the episodes, whatever its status.
    pub(in super::super) derived: Option<MemoryId>,
    pub(in super::super) episodes: Vec<MemoryId>,
}

impl Group {
    pub(super) fn members<'f>(&'f self, field: &'f Field) -> impl Iterator<Item = &'f Known> {
        self.episodes.iter().filter_map(|id| field.get(id))
    }

    /// Returns the episodes that count, which are active or expired, ordered by time.
    pub(super) fn counted<'f>(&'f self, field: &'f Field) -> Vec<&'f Known> {
        let counts = |known: &&Known| matches!(known.memory.status, Status::Active | Status::Expired);
        let mut counted: Vec<&Known> = self.members(field).filter(counts).collect();
        counted.sort_by_key(|known| (said_at(known), known.memory.id.clone()));
        counted
    }

    /// Whether the episodes happened often enough, on different days.
    pub(super) fn repeats(&self, field: &Field) -> bool {
        self.counted(field).into_iter().map(day).collect::<BTreeSet<_>>().len() >= MIN_EPISODES
    }

    /// Returns the hash that identifies the group in stored answers.
    pub(in super::super) fn hash(&self, field: &Field) -> HashPair {
        let hashes: BTreeSet<String> = self.members(field).map(said_hash).collect();
        let all: Vec<String> = hashes.into_iter().collect();
        HashPair::new(normalised_hash(&all.join(" ")), "episodes")
    }
}

/// Returns the day of an episode in the local time of the message.
pub(super) fn day(known: &Known) -> Date {
    let offset = known.evidence.first().and_then(|piece| piece.said_at?.offset_seconds).unwrap_or(0);
    Offset::from_seconds(offset).unwrap_or(Offset::UTC).to_datetime(said_at(known)).date()
}

/// Groups the episodes in a namespace by the memory that was derived from them before, and by topic.
pub(in super::super) fn groups(field: &Field, around: &Around) -> Vec<Group> {
    let mut groups = known_groups(field);
    let mut place: BTreeMap<MemoryId, usize> = BTreeMap::new();
    for (index, group) in groups.iter().enumerate() {
        place.extend(group.episodes.iter().map(|id| (id.clone(), index)));
    }
    for id in field.in_order() {
        let Some(episode) = field.active.get(&id).filter(|known| is_episode(known)) else { continue };
        if place.contains_key(&id) {
            continue;
        }
        let close: BTreeSet<usize> = around.of(&id).filter_map(|other| place.get(other).copied()).collect();
        let own = view(episode);
        let fits = |index: &usize| {
            groups[*index].members(field).take(MAX_COMPARED).all(|other| is_one_matter((episode, &own), other))
        };
        let index = close.into_iter().find(fits).unwrap_or_else(|| {
            groups.push(Group::default());
            groups.len() - 1
        });
        groups[index].episodes.push(id.clone());
        place.insert(id, index);
    }
    groups
}

/// Returns the groups from which a memory was derived, including memories that a person undid.
fn known_groups(field: &Field) -> Vec<Group> {
    let mut groups: BTreeMap<&MemoryId, Vec<MemoryId>> = BTreeMap::new();
    for (from, kind, to) in field.links.iter().chain(&field.taken_back) {
        let is_episode = field.get(to).is_some_and(is_episode);
        if *kind == RelationType::DerivedFrom && is_episode {
            groups.entry(from).or_default().push(to.clone());
        }
    }
    let known = groups.into_iter().map(|(id, episodes)| Group { derived: Some(id.clone()), episodes });
    known.collect()
}

fn is_episode(known: &Known) -> bool {
    known.memory.claim.memory_type == MemoryType::Episodic
}

fn is_one_matter((a, one): (&Known, &View<'_>), b: &Known) -> bool {
    let other = view(b);
    let words = Words::of(one, &other);
    let same_subject = one.subject.is_some() && one.subject == other.subject;
    let enough = if same_subject { MIN_OVERLAP_SAME_SUBJECT } else { MIN_OVERLAP };
    words.shared >= 2
        && words.overlap() >= enough
        && one.features.people == other.features.people
        && one.features.polarity == other.features.polarity
        && one.features.polarity != Polarity::Mixed
        && one.features.planned == other.features.planned
        && one.features.settings == other.features.settings
        && one.about == other.about
        && one.speakers == other.speakers
        && ends_alike(a, b)
}

/// Whether two episodes had the same outcome, if both outcomes are known.
fn ends_alike(a: &Known, b: &Known) -> bool {
    let outcome = |known: &Known| match &known.memory.claim.structured {
        Some(Structured::Episode(episode)) => Some(episode.outcome),
        _ => None,
    };
    outcome(a).zip(outcome(b)).is_none_or(|(a, b)| a == b)
}

/// Maximum number of groups in one call.
pub(in super::super) const MAX_GROUPS: usize = 12;

/// Maximum number of a group's episodes that are shown; the first and the last are used.
const MAX_SHOWN: usize = 8;

/// Maximum length of an episode that is shown, in characters.
const MAX_TEXT: usize = 400;

/// Maximum length of an accepted statement, in characters.
const MAX_STATEMENT: usize = 240;

/// Share of a statement's words that must appear in the episodes.
// The share is below 1, because a summary may add function words and general words, but no names or numbers.
const MIN_GROUNDED: f64 = 0.6;

/// A statement that episodes have in common.
#[derive(Debug, Clone, PartialEq)]
pub(in super::super) struct Pattern {
    pub(super) memory_type: MemoryType,
    pub(super) title: String,
    pub(super) statement: String,
}

impl Pattern {
    /// Returns the pattern for a sentence that all episodes of a group share.
    pub(super) fn of(statement: String) -> Self {
        Self { memory_type: MemoryType::Semantic, title: title(&statement), statement }
    }
}

/// Answers about groups, by the hash of the group; `None` if its episodes have nothing in common that is worth keeping.
pub(in super::super) type Patterns = BTreeMap<HashPair, Option<Pattern>>;

#[derive(Debug, Deserialize, JsonSchema)]
struct Entry {
    group: usize,
    kind: Kind,
    title: String,
    statement: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Kind {
    Semantic,
    Procedural,
    None,
}

/// The replies about all groups, and their cost.
#[derive(Debug, Default)]
pub(in super::super) struct PatternReplies {
    pub(in super::super) patterns: Patterns,
    pub(in super::super) spent: Spent,
    pub(in super::super) failed: u64,
}

/// Asks `model` what the members of each group have in common, for at most [`MAX_GROUPS`] groups in one call.
pub(in super::super) async fn ask_about<C: Complete>(
    field: &Field,
    groups: &[Group],
    guard: &Guard,
    model: &C,
) -> PatternReplies {
    let mut replies = PatternReplies::default();
    for chunk in groups.chunks(MAX_GROUPS) {
        let request = request(field, chunk, guard);
        match model.complete(&request).await {
            Ok((reply, cost)) => {
                replies.spent += Spent::of(&reply, cost);
                let found = if reply.finish == Finish::Refusal { BTreeMap::new() } else { read(&reply.text) };
                if found.is_empty() {
                    replies.failed += 1;
                    model.discard(&request);
                }
                for (number, pattern) in found {
                    // Groups are numbered from 1, so an invalid 0 wraps to an index that no chunk contains.
                    if let Some(group) = chunk.get(number.wrapping_sub(1)) {
                        replies.patterns.insert(group.hash(field), pattern);
                    }
                }
            }
            Err(_) => replies.failed += 1,
        }
    }
    replies
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
            context! { day => day(known).to_string(), text => request_line(&known.memory.claim.content, MAX_TEXT) }
        });
        context! { number => index + 1, episodes => lines.collect::<Vec<_>>() }
    });
    Prompt::ReflectUser.render(context! { groups => shown.collect::<Vec<_>>() })
}

/// The schema of an entry.
static SCHEMA: LazyLock<Schema> = LazyLock::new(Schema::of::<Entry>);

fn read(text: &str) -> BTreeMap<usize, Option<Pattern>> {
    let body = text.find('{').map_or("", |start| &text[start..]);
    let value = json::parse_prefix(body.trim_end().trim_end_matches("```"));
    let entries = value.as_ref().and_then(|value| value.get("patterns")?.as_array()).map_or(&[][..], Vec::as_slice);
    let entries = SCHEMA.entries::<Entry>(entries, "patterns").into_iter().flatten();
    entries.map(|entry| (entry.group, pattern(&entry))).collect()
}

fn pattern(entry: &Entry) -> Option<Pattern> {
    let memory_type = match entry.kind {
        Kind::Semantic => MemoryType::Semantic,
        Kind::Procedural => MemoryType::Procedural,
        Kind::None => return None,
    };
    let statement = entry.statement.split_whitespace().collect::<Vec<_>>().join(" ");
    let named = entry.title.split_whitespace().collect::<Vec<_>>().join(" ");
    let fits = !statement.is_empty() && statement.chars().count() <= MAX_STATEMENT;
    let title = if named.is_empty() || named.chars().count() > 80 { title(&statement) } else { named };
    fits.then_some(Pattern { memory_type, title, statement })
}

/// Whether the episodes contain everything in a statement: each number, each name, each person, and most words. A
/// negation must also appear in one of the episodes.
#[expect(clippy::cast_precision_loss, reason = "counts of words")]
pub(super) fn is_grounded(pattern: &Pattern, episodes: &[&str]) -> bool {
    let said: Vec<Arc<Features>> = episodes.iter().map(|text| Features::of(text)).collect();
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

/// Returns the schema of the reply, in the subset that strict mode accepts.
fn schema() -> serde_json::Value {
    let mut properties = schema_of::<Entry>()["properties"].take();
    for field in properties.as_object_mut().into_iter().flat_map(|fields| fields.values_mut()) {
        // Strict mode rejects these keywords.
        field.as_object_mut().into_iter().for_each(|field| field.retain(|name, _| name == "type" || name == "enum"));
    }
    let names: Vec<&String> = properties.as_object().into_iter().flat_map(|fields| fields.keys()).collect();
    let required = json!(names);
    json!({
        "type": "object",
        "properties": {
            "patterns": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": properties,
                    "required": required,
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
    fn the_schema_that_is_sent_does_not_change() {
        let sent = r#"{"type":"object","properties":{"patterns":{"type":"array","items":{"type":"object","properties":{"group":{"type":"integer"},"kind":{"type":"string","enum":["semantic","procedural","none"]},"title":{"type":"string"},"statement":{"type":"string"}},"required":["group","kind","title","statement"],"additionalProperties":false}}},"required":["patterns"],"additionalProperties":false}"#;
        assert_eq!(schema().to_string(), sent, "recorded requests contain it");
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
