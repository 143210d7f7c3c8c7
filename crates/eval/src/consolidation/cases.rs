//! Consolidation cases: what should happen to memories that arrive where others are known.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer};

use crate::case::Moment;
use crate::files::{LineCase, check_share};
use crate::vocabulary::{Conflict, Decision, MemoryType, RelationType, vocabulary};

/// A known memory, one that arrives, and the right decision.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Pair {
    /// Unique among the cases of a split.
    pub id: String,
    /// What it tests, in a word or two; results are grouped by it.
    pub phenomenon: String,
    /// Why similarity alone would wrongly merge or retire, if it would.
    #[serde(default)]
    pub hard: Option<Hard>,
    /// The stored, active memory.
    pub known: ProposedMemory,
    /// The memory that arrives.
    pub incoming: ProposedMemory,
    /// The right decision.
    pub expect: Decision,
    /// Other decisions that a careful person would accept.
    #[serde(default, rename = "or")]
    pub accepted: Vec<Decision>,
    /// For `contradict`: why both cannot be true.
    #[serde(default)]
    pub why: Option<Conflict>,
    /// For `contradict`: whether the incoming memory is the older one.
    #[serde(default)]
    pub late: bool,
    /// For `contradict`: whether it contradicts only a part of a compound memory.
    #[serde(default)]
    pub part: bool,
}

vocabulary! {
    /// Why similarity alone would wrongly merge or retire; `evals/consolidation/README.md` explains each.
    Hard {
        Person = "person",
        Number = "number",
        Unit = "unit",
        Version = "version",
        Date = "date",
        Name = "name",
        Negation = "negation",
        Namespace = "namespace",
        OnceHabit = "once-habit",
        Plan = "plan",
        PartWhole = "part-whole",
        Role = "role",
        Order = "order",
        ValueBeside = "value-beside",
        Exception = "exception",
        Surroundings = "surroundings",
        Homonym = "homonym",
        Scope = "scope",
    }
    /// What a person does to a memory.
    Action {
        /// Forgets it.
        Forget = "forget",
        /// Makes it active again.
        Restore = "restore",
        /// Pins it.
        Pin = "pin",
        /// Rejects what waits in the inbox.
        Reject = "reject",
        /// Accepts what waits in the inbox.
        Accept = "accept",
    }
}

/// Memories that arrive one after another, acts of a person between them, and the memories at the end.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Stream {
    /// Unique among the cases of a split.
    pub id: String,
    /// What it tests; results are grouped by each.
    pub phenomenon: Vec<String>,
    /// The events, in the order of arrival.
    pub events: Vec<Event>,
    /// Memories that are active at the end, each given by the events that it rests on.
    pub active: Vec<Vec<String>>,
    /// Memories that wait in the inbox at the end.
    #[serde(default)]
    pub waiting: Vec<Vec<String>>,
    /// Events that no active or waiting memory rests on at the end.
    #[serde(default)]
    pub gone: Vec<String>,
    /// Relations that must exist: from, type, to.
    #[serde(default)]
    pub links: Vec<(String, RelationType, String)>,
}

/// An event of a stream.
#[derive(Debug, Clone, PartialEq, JsonSchema)]
#[serde(untagged)]
pub enum Event {
    /// An act of a person, before the memories of the same arrival.
    Act(Act),
    /// The memory of an earlier event arrives again.
    Again(Again),
    /// A memory arrives.
    Memory(Box<Arriving>),
}

/// An act of a person.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Act {
    /// The act.
    pub act: Action,
    /// The event whose memory it changes.
    pub target: String,
    /// The arrival before which it happens.
    pub arrival: u32,
}

/// The same words of the same message again.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[expect(clippy::struct_field_names, reason = "the name that the case files use")]
pub struct Again {
    /// Unique in the stream.
    pub id: String,
    /// Number of the import or run.
    pub arrival: u32,
    /// The earlier event that it repeats.
    pub again: String,
}

/// A memory that arrives in a stream.
#[derive(Debug, Clone, PartialEq, JsonSchema)]
pub struct Arriving {
    /// Unique in the stream.
    pub id: String,
    /// Number of the import or run.
    pub arrival: u32,
    /// Whether it states several things, one of which changes later. It then counts as kept while any active memory rests
    /// on it.
    #[serde(default)]
    pub parts: bool,
    /// The memory.
    #[serde(flatten)]
    pub memory: ProposedMemory,
}

/// A memory as an extractor would propose it.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProposedMemory {
    /// One self-contained sentence or short paragraph.
    pub content: String,
    /// The type; `semantic` by default.
    #[serde(default, rename = "type")]
    pub memory_type: Option<MemoryType>,
    /// One of the allowed categories; `fact` by default.
    #[serde(default)]
    pub category: Option<String>,
    /// A few words; the beginning of the content by default.
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
    /// When it was said; `null` if the log has no times.
    #[serde(deserialize_with = "Option::deserialize")]
    #[schemars(required)]
    pub said: Option<Moment>,
    /// From when it was true, if the words say so.
    #[serde(default)]
    pub from: Option<Moment>,
    /// Until when it was true, if the words say so.
    #[serde(default)]
    pub to: Option<Moment>,
    /// The quoted words; the content by default.
    #[serde(default)]
    pub quote: Option<String>,
    /// The speaker, in a conversation of several people.
    #[serde(default)]
    pub speaker: Option<String>,
    /// Path of the namespace; `project/case` by default.
    #[serde(default, rename = "in")]
    pub namespace: Option<String>,
    /// 0–1; 0.85 by default.
    #[serde(default)]
    pub confidence: Option<f64>,
    /// 0–1; 0.5 by default.
    #[serde(default)]
    pub importance: Option<f64>,
    /// Whether a person pinned it.
    #[serde(default)]
    pub pinned: bool,
    /// Name of the conversation; one of its own by default. One quote of one conversation is one message.
    #[serde(default)]
    pub source: Option<String>,
}

impl Event {
    /// Returns the id; an act has none.
    #[must_use]
    pub fn id(&self) -> Option<&str> {
        match self {
            Self::Act(_) => None,
            Self::Again(again) => Some(&again.id),
            Self::Memory(arriving) => Some(&arriving.id),
        }
    }

    /// Returns the number of the import or run.
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
    /// Returns the id with the text of the event; nothing for an act.
    pub(crate) fn text(&self) -> Option<(String, String)> {
        match self {
            Self::Act(_) => None,
            Self::Again(again) => Some((again.id.clone(), format!("{} again", again.again))),
            Self::Memory(arriving) => Some((arriving.id.clone(), arriving.memory.content.clone())),
        }
    }
}

impl<'de> Deserialize<'de> for Event {
    /// Distinguishes the three by a field that only one has, so that an error is about the intended one.
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
        let memory = as_one(fields).map_err(|error: D::Error| D::Error::custom(format!("{id}: {error}")))?;
        Ok(Self::Memory(Box::new(Arriving { id, arrival, parts, memory })))
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

impl LineCase for Pair {
    const ENDING: &'static str = "-pairs.jsonl";

    fn id(&self) -> &str {
        &self.id
    }

    fn check(&self) -> Result<(), String> {
        check_memory("known", &self.known)?;
        check_memory("incoming", &self.incoming)?;
        let contradicts = self.expect == Decision::Contradict;
        if contradicts && self.why.is_none() {
            return Err("why: a contradiction needs it; write changed, corrected or conflict".to_owned());
        }
        let may_contradict = contradicts || self.accepted.contains(&Decision::Contradict);
        if !may_contradict && (self.why.is_some() || self.late || self.part) {
            return Err("why, late, part: only for contradictions; remove them, or expect contradict".to_owned());
        }
        if self.hard.is_some() && joins(self.expect) {
            return Err("hard: a hard pair is never joined; expect add or contradict, or remove hard".to_owned());
        }
        Ok(())
    }
}

/// Returns whether a decision takes two memories for one.
pub(crate) const fn joins(decision: Decision) -> bool {
    match decision {
        Decision::Skip | Decision::Support | Decision::Merge | Decision::Refine => true,
        Decision::Add | Decision::Contradict => false,
    }
}

fn check_memory(field: &str, memory: &ProposedMemory) -> Result<(), String> {
    if memory.content.trim().is_empty() {
        return Err(format!("{field}.content: empty; write what is remembered"));
    }
    check_share(&format!("{field}.confidence"), memory.confidence)?;
    check_share(&format!("{field}.importance"), memory.importance)
}

impl LineCase for Stream {
    const ENDING: &'static str = "-streams.jsonl";

    fn id(&self) -> &str {
        &self.id
    }

    fn check(&self) -> Result<(), String> {
        let mut ids = BTreeSet::new();
        let mut arrival = 0;
        for (index, event) in self.events.iter().enumerate() {
            let field = event.id().map_or_else(|| format!("events[{index}]"), str::to_owned);
            if event.arrival() < arrival || event.arrival() == 0 {
                return Err(format!("{field}.arrival: arrivals begin with 1 and never go back; correct the order"));
            }
            arrival = event.arrival();
            let earlier = match event {
                Event::Act(act) => Some((&act.target, "target")),
                Event::Again(again) => Some((&again.again, "again")),
                Event::Memory(arriving) => {
                    check_memory(&field, &arriving.memory)?;
                    None
                }
            };
            if let Some((id, name)) = earlier.filter(|(id, _)| !ids.contains(id.as_str())) {
                return Err(format!("{field}.{name}: no earlier event is called {id:?}; name one"));
            }
            if let Some(id) = event.id().filter(|id| !ids.insert(*id)) {
                return Err(format!("{id}.id: two events have it; rename one of them"));
            }
        }
        self.check_acts()?;
        let mut places: Vec<&str> = self.active.iter().chain(&self.waiting).flatten().map(String::as_str).collect();
        places.extend(self.gone.iter().map(String::as_str));
        for id in &ids {
            let count = places.iter().filter(|place| *place == id).count();
            if count != 1 {
                return Err(format!("active, waiting, gone: {id:?} is listed {count} times; list it once"));
            }
        }
        let linked = self.links.iter().flat_map(|(from, _, to)| [from.as_str(), to.as_str()]);
        match places.iter().copied().chain(linked).find(|id| !ids.contains(id)) {
            Some(id) => Err(format!("active, waiting, gone, links: no event is called {id:?}; name one")),
            None => Ok(()),
        }
    }
}

impl Stream {
    /// Checks that acts come at the beginning of their arrival.
    fn check_acts(&self) -> Result<(), String> {
        let mut started = 0;
        for (index, event) in self.events.iter().enumerate() {
            match event {
                Event::Act(act) if act.arrival == started => {
                    return Err(format!(
                        "events[{index}].arrival: an act comes before the memories of its arrival; move it"
                    ));
                }
                Event::Act(_) => {}
                Event::Again(_) | Event::Memory(_) => started = event.arrival(),
            }
        }
        Ok(())
    }
}
