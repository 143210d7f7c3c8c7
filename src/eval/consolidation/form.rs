//! The form of a consolidation case, as it stands on a line of a file.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

use super::moment::Moment;
use crate::consolidate::{Conflict, Decision};
use crate::memory::{MemoryType, Namespace, RelationType};

/// Two memories, and what should be done with the second where the first is known.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Pair {
    /// Unique among the cases of a split.
    pub id: String,
    /// What it tests, in a word or two; results are grouped by it.
    pub phenomenon: String,
    /// Why likeness alone would wrongly merge or retire, where it would.
    #[serde(default)]
    pub hard: Option<Hard>,
    /// What is stored and active.
    pub known: Said,
    /// What arrives then.
    pub incoming: Said,
    /// What should be done with it.
    pub expect: Decision,
    /// Further decisions that a careful person would call right.
    #[serde(default, rename = "or")]
    pub accepted: Vec<Decision>,
    /// For `contradict`: why both cannot hold.
    #[serde(default)]
    pub why: Option<Conflict>,
    /// For `contradict`: whether the incoming one is the older.
    #[serde(default)]
    pub late: bool,
    /// For `contradict`: whether only a part of a compound memory is met.
    #[serde(default)]
    pub part: bool,
}

/// Why likeness alone would wrongly merge or retire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[expect(missing_docs, reason = "evals/consolidation/README.md tells what each means")]
pub enum Hard {
    Person,
    Number,
    Unit,
    Version,
    Date,
    Name,
    Negation,
    Namespace,
    OnceHabit,
    Plan,
    PartWhole,
    Role,
    Order,
    ValueBeside,
    Exception,
    Surroundings,
    Homonym,
    Scope,
}

/// Memories that arrive one after the other, what a person does between, and what is left in the end.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Stream {
    /// Unique among the cases of a split.
    pub id: String,
    /// What it tests; results are grouped by each.
    pub phenomenon: Vec<String>,
    /// What happens, in the order of arrival.
    pub events: Vec<Event>,
    /// Memories that are recalled in the end, each told by the events that it rests on.
    pub active: Vec<Vec<String>>,
    /// Memories that wait in the inbox in the end.
    #[serde(default)]
    pub waiting: Vec<Vec<String>>,
    /// Events that no recalled or waiting memory rests on in the end.
    #[serde(default)]
    pub gone: Vec<String>,
    /// Links that must be there: from, what it is, to.
    #[serde(default)]
    pub links: Vec<(String, RelationType, String)>,
}

/// Something that happens in a stream.
#[derive(Debug, Clone, PartialEq, JsonSchema)]
#[serde(untagged)]
pub enum Event {
    /// A person does something, before the memories of its arrival come.
    Act(Act),
    /// The memory of an earlier event comes again.
    Again(Again),
    /// A memory comes.
    Memory(Box<Arriving>),
}

/// What a person does.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Act {
    /// What is done.
    pub act: Deed,
    /// The event whose memory it is done to.
    pub target: String,
    /// At the beginning of which arrival.
    pub arrival: u32,
}

/// What a person can do to a memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Deed {
    /// Forgets it.
    Forget,
    /// Makes it active again.
    Restore,
    /// Pins it.
    Pin,
    /// Rejects what waits.
    Reject,
    /// Accepts what waits.
    Accept,
}

/// The same words of the same message once more.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Again {
    /// Unique in the stream.
    pub id: String,
    /// In which import or run it comes.
    pub arrival: u32,
    /// The earlier event that it repeats.
    pub again: String,
}

/// A memory that comes in a stream.
#[derive(Debug, Clone, PartialEq, JsonSchema)]
pub struct Arriving {
    /// Unique in the stream.
    pub id: String,
    /// In which import or run it comes.
    pub arrival: u32,
    /// Whether it says several things, of which a later one changes one. It then counts as kept while any recalled memory
    /// rests on it.
    #[serde(default)]
    pub parts: bool,
    /// What it says.
    #[serde(flatten)]
    pub said: Said,
}

/// A memory as an extractor would propose it.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Said {
    /// One self-contained sentence or short paragraph.
    pub content: String,
    /// The kind of remembering; `semantic` by default.
    #[serde(default, rename = "type")]
    pub memory_type: Option<MemoryType>,
    /// One of the allowed categories; `fact` by default.
    #[serde(default)]
    pub category: Option<String>,
    /// A few words; the first ones of the content by default.
    #[serde(default)]
    pub title: Option<String>,
    /// Topic tag.
    #[serde(default)]
    pub subject: Option<String>,
    /// Attribute, such as `user.residence`.
    #[serde(default)]
    pub key: Option<String>,
    /// Value of the attribute.
    #[serde(default)]
    pub value: Option<String>,
    /// Day or instant at which it was said; `null` where the log has no times.
    #[serde(deserialize_with = "Option::deserialize")]
    #[schemars(required)]
    pub said: Option<Moment>,
    /// When it began to hold, where the words tell.
    #[serde(default)]
    pub from: Option<Moment>,
    /// When it ceased to hold, where the words tell.
    #[serde(default)]
    pub to: Option<Moment>,
    /// What was really said; the content by default.
    #[serde(default)]
    pub quote: Option<String>,
    /// Who said it, in a conversation of several people.
    #[serde(default)]
    pub speaker: Option<String>,
    /// Path of the namespace; `project/case` by default.
    #[serde(default, rename = "in", deserialize_with = "path")]
    #[schemars(with = "Option<String>")]
    pub namespace: Option<Namespace>,
    /// 0–1; 0.85 by default.
    #[serde(default)]
    pub confidence: Option<f64>,
    /// 0–1; 0.5 by default.
    #[serde(default)]
    pub importance: Option<f64>,
    /// Whether a person fixed it.
    #[serde(default)]
    pub pinned: bool,
    /// Name of the conversation; one of its own by default. One quote of one conversation is one message.
    #[serde(default)]
    pub source: Option<String>,
}

fn path<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Namespace>, D::Error> {
    let text = Option::<String>::deserialize(from)?;
    text.map(|text| text.parse().map_err(serde::de::Error::custom)).transpose()
}

impl Event {
    /// Returns the id, which an act has none of.
    #[must_use]
    pub fn id(&self) -> Option<&str> {
        match self {
            Self::Act(_) => None,
            Self::Again(again) => Some(&again.id),
            Self::Memory(arriving) => Some(&arriving.id),
        }
    }

    /// Returns the import or run in which it happens.
    #[must_use]
    pub const fn arrival(&self) -> u32 {
        match self {
            Self::Act(act) => act.arrival,
            Self::Again(again) => again.arrival,
            Self::Memory(arriving) => arriving.arrival,
        }
    }
}

impl Event {
    /// Returns the id with what the event says; nothing for an act.
    pub(super) fn told(&self) -> Option<(String, String)> {
        match self {
            Self::Act(_) => None,
            Self::Again(again) => Some((again.id.clone(), format!("{} again", again.again))),
            Self::Memory(arriving) => Some((arriving.id.clone(), arriving.said.content.clone())),
        }
    }
}

impl Hard {
    /// Returns the spelling in a case.
    pub(super) fn name(self) -> String {
        serde_json::to_value(self).ok().and_then(|name| name.as_str().map(str::to_owned)).unwrap_or_default()
    }
}

impl<'de> Deserialize<'de> for Event {
    /// Tells the three apart by a field that only one has, so that a mistake is told of the one that is meant.
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        use serde::de::Error as _;
        fn as_one<T: serde::de::DeserializeOwned, E: serde::de::Error>(
            fields: serde_json::Map<String, serde_json::Value>,
        ) -> Result<T, E> {
            serde_json::from_value(fields.into()).map_err(E::custom)
        }
        let mut fields = serde_json::Map::deserialize(from)?;
        if fields.contains_key("act") {
            return Ok(Self::Act(as_one(fields)?));
        }
        if fields.contains_key("again") {
            return Ok(Self::Again(as_one(fields)?));
        }
        let mut take = |name: &'static str| fields.shift_remove(name).ok_or_else(|| D::Error::missing_field(name));
        let id = take("id")?;
        let id = id.as_str().ok_or_else(|| D::Error::custom("id: not a string"))?.to_owned();
        let arrival = take("arrival")?.as_u64().and_then(|arrival| u32::try_from(arrival).ok());
        let arrival = arrival.ok_or_else(|| D::Error::custom(format!("{id}: arrival: not a whole number")))?;
        let parts = match take("parts") {
            Err(_) => false,
            Ok(parts) => parts.as_bool().ok_or_else(|| D::Error::custom(format!("{id}: parts: not true or false")))?,
        };
        let said = as_one(fields).map_err(|error: D::Error| D::Error::custom(format!("{id}: {error}")))?;
        Ok(Self::Memory(Box::new(Arriving { id, arrival, parts, said })))
    }
}

/// Returns the JSON Schema of a line of each kind of file.
#[must_use]
pub fn schemas() -> serde_json::Value {
    serde_json::json!({
        "pairs": schemars::schema_for!(Pair).to_value(),
        "streams": schemars::schema_for!(Stream).to_value(),
    })
}
