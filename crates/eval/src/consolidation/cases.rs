//! Consolidation cases: what should happen to incoming memories when other memories are already stored.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value, from_value};

use crate::files::CaseMemory;
use crate::files::LineCase;
use crate::vocabulary::{Action, Conflict, Decision, Hard, RelationType};

/// A stored memory, an incoming memory, and the right decision.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Pair {
    /// Id, unique among the cases of a split.
    pub id: String,
    /// What the case tests, in a word or two; results are grouped by this word.
    pub phenomenon: String,
    /// The reason why similarity alone would wrongly merge or retire a memory, if there is one.
    pub hard: Option<Hard>,
    /// The stored, active memory.
    pub known: CaseMemory,
    /// The incoming memory.
    pub incoming: CaseMemory,
    /// The right decision.
    pub expect: Decision,
    /// Other decisions that a careful person would accept.
    #[serde(default, rename = "or")]
    pub accepted: Vec<Decision>,
    /// The reason why a comparison by similarity alone would wrongly merge or retire a memory, if there is one.
    pub why: Option<Conflict>,
    /// For `contradict`: whether the incoming memory is the older one.
    #[serde(default)]
    pub late: bool,
    /// For `contradict`: whether it contradicts only a part of a compound memory.
    #[serde(default)]
    pub part: bool,
}

/// A series of incoming memories and actions of a person, and the memories expected at the end.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Stream {
    /// Id, unique among the cases of a split.
    pub id: String,
    /// What the case tests; results are grouped by each entry.
    pub phenomenon: Vec<String>,
    /// The events, in the order of arrival.
    pub events: Vec<Event>,
    /// Memories that are active at the end, each identified by the events that it is based on.
    pub active: Vec<Vec<String>>,
    /// Memories that are in the inbox at the end, identified in the same way.
    #[serde(default)]
    pub waiting: Vec<Vec<String>>,
    /// Events on which no active or waiting memory is based at the end.
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
    /// An action of a person, which precedes the memories of the same arrival.
    Act(Act),
    /// The memory of an earlier event arrives again.
    Again(Again),
    /// A memory arrives.
    Memory(Box<Arriving>),
}

/// An action of a person.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Act {
    /// The action.
    pub act: Action,
    /// The event that led to the memory which this action changes.
    pub target: String,
    /// Number of the import or run before which the action happens.
    pub arrival: u32,
}

/// An earlier memory that arrives again, quoted from the same message.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Again {
    /// Unique in the stream.
    pub id: String,
    /// Number of the import or run.
    pub arrival: u32,
    /// The id of the earlier event.
    pub again: String,
}

/// An incoming memory of a stream.
#[derive(Debug, Clone, PartialEq, JsonSchema)]
pub struct Arriving {
    /// Number of the import or run.
    pub arrival: u32,
    /// Whether the memory states several facts, one of which changes later. Such a memory counts as kept as long as any
    /// active memory is based on it.
    #[serde(default)]
    pub parts: bool,
    /// The memory, with the id of the event.
    #[serde(flatten)]
    pub memory: CaseMemory,
}

impl Event {
    /// Returns the id, or `None` for an action.
    pub fn id(&self) -> Option<&str> {
        match self {
            Self::Act(_) => None,
            Self::Again(again) => Some(&again.id),
            Self::Memory(arriving) => Some(&arriving.memory.id),
        }
    }

    /// Returns the number of the import or run.
    pub const fn arrival(&self) -> u32 {
        match self {
            Self::Act(act) => act.arrival,
            Self::Again(again) => again.arrival,
            Self::Memory(arriving) => arriving.arrival,
        }
    }

    /// Returns the id and the text of the event, or `None` for an action.
    pub(crate) fn text(&self) -> Option<(String, String)> {
        match self {
            Self::Act(_) => None,
            Self::Again(again) => Some((again.id.clone(), format!("{} again", again.again))),
            Self::Memory(arriving) => Some((arriving.memory.id.clone(), arriving.memory.content.clone())),
        }
    }
}

impl<'de> Deserialize<'de> for Event {
    /// Selects the variant by a field that only that variant has, so that an error describes the intended variant.
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let mut fields = Map::deserialize(from)?;
        let id = fields.get("id").and_then(Value::as_str).unwrap_or_default().to_owned();
        let fail = |error| <D::Error as serde::de::Error>::custom(format!("{id}: {error}"));
        if fields.contains_key("act") {
            return from_value(fields.into()).map(Self::Act).map_err(fail);
        }
        if fields.contains_key("again") {
            return from_value(fields.into()).map(Self::Again).map_err(fail);
        }
        // Parsed by hand, because serde cannot flatten a struct that denies unknown fields.
        let [arrival, parts] = ["arrival", "parts"].map(|name| fields.shift_remove(name).unwrap_or_default());
        let arrival = from_value(arrival).map_err(fail)?;
        let parts = from_value::<Option<bool>>(parts).map_err(fail)?.unwrap_or_default();
        let memory = from_value(fields.into()).map_err(fail)?;
        Ok(Self::Memory(Box::new(Arriving { arrival, parts, memory })))
    }
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
            return Err("why: required for a contradiction; write changed, corrected or conflict".to_owned());
        }
        let may_contradict = contradicts || self.accepted.contains(&Decision::Contradict);
        if !may_contradict && (self.why.is_some() || self.late || self.part) {
            return Err(
                "why, late, part: allowed only for contradictions; remove them, or set expect to contradict".to_owned()
            );
        }
        if self.hard.is_some() && joins(self.expect) {
            return Err("hard: a hard pair is never merged; set expect to add or contradict, or remove hard".to_owned());
        }
        Ok(())
    }
}

/// Returns whether a decision treats two memories as one.
pub(crate) const fn joins(decision: Decision) -> bool {
    match decision {
        Decision::Skip | Decision::Support | Decision::Merge | Decision::Refine => true,
        Decision::Add | Decision::Contradict => false,
    }
}

/// Checks a memory that an extractor would propose.
fn check_memory(field: &str, memory: &CaseMemory) -> Result<(), String> {
    if memory.said.is_none() {
        return Err(format!("{field}: missing field `said`; write null if the log has no times"));
    }
    memory.check(field)
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
                return Err(format!(
                    "{field}.arrival: arrivals must begin with 1 and never decrease; correct the order"
                ));
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
                return Err(format!(
                    "{field}.{name}: no earlier event has the id {id:?}; use the id of an earlier event"
                ));
            }
            if let Some(id) = event.id().filter(|id| !ids.insert(*id)) {
                return Err(format!("{id}.id: two events have this id; rename one of them"));
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
            Some(id) => {
                Err(format!("active, waiting, gone, links: no event has the id {id:?}; use the id of an event"))
            }
            None => Ok(()),
        }
    }
}

impl Stream {
    /// Checks that actions precede the memories of the same arrival.
    fn check_acts(&self) -> Result<(), String> {
        let mut started = 0;
        for (index, event) in self.events.iter().enumerate() {
            match event {
                Event::Act(act) if act.arrival == started => {
                    return Err(format!(
                        "events[{index}].arrival: an action must precede the memories with the same arrival; move the \
                         action"
                    ));
                }
                Event::Act(_) => {}
                Event::Again(_) | Event::Memory(_) => started = event.arrival(),
            }
        }
        Ok(())
    }
}
