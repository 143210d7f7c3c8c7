//! Memories and times as case files write them.

use std::borrow::Cow;

use jiff::Timestamp;
use jiff::civil::{Date, Time, time};
use jiff::tz::Offset;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer};

use crate::vocabulary::{MemoryType, Scope, Status};

/// A memory of a case: stored before anything is asked, or as an extractor would propose it.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct CaseMemory {
    /// Unique within a case that asks a store; in a stream, the id of the event.
    pub id: String,
    /// One self-contained sentence or short paragraph.
    #[schemars(required)]
    pub content: String,
    /// A few words; the beginning of the content by default.
    pub title: Option<String>,
    /// The type; `semantic` by default.
    #[serde(rename = "type")]
    pub memory_type: Option<MemoryType>,
    /// One of the allowed categories; `fact` by default.
    pub category: Option<String>,
    /// Topic tag.
    pub subject: Option<String>,
    /// Attribute, such as `user.residence`.
    pub key: Option<String>,
    /// Value of the attribute.
    pub value: Option<String>,
    /// Path of the namespace; by default `global` in a store, and `project/case` in a pair or stream.
    #[serde(rename = "in")]
    pub namespace: Option<String>,
    /// The state in a store; `active` by default.
    pub status: Option<Status>,
    /// The intended lifetime; `long_term` by default.
    pub scope: Option<Scope>,
    /// 0–1; 0.5 by default.
    pub importance: Option<f64>,
    /// 0–1; 0.85 by default.
    pub confidence: Option<f64>,
    /// Whether a person pinned it.
    pub pinned: bool,
    /// When it was said; `null` if the log has no times. In a store, in the month before `now` by default.
    #[serde(deserialize_with = "given")]
    #[schemars(with = "Option<Moment>")]
    pub said: Option<Option<Moment>>,
    /// When it expires.
    pub expires: Option<Moment>,
    /// From when it was true.
    pub from: Option<Moment>,
    /// Until when it was true.
    pub to: Option<Moment>,
    /// The quoted words; the content by default.
    pub quote: Option<String>,
    /// The speaker, in a conversation of several people.
    pub speaker: Option<String>,
    /// Name of the conversation; one of its own by default. One quote of one conversation is one message.
    pub source: Option<String>,
}

/// Distinguishes a `null` from a field that is missing.
fn given<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Option<Moment>>, D::Error> {
    Option::deserialize(from).map(Some)
}

impl CaseMemory {
    /// Checks the fields that every case needs; `field` names the memory in the case.
    pub(crate) fn check(&self, field: &str) -> Result<(), String> {
        if self.content.trim().is_empty() {
            return Err(format!("{field}.content: empty; write what is remembered"));
        }
        for (name, share) in [("importance", self.importance), ("confidence", self.confidence)] {
            if share.is_some_and(|share| !(0.0..=1.0).contains(&share)) {
                return Err(format!("{field}.{name}: not a number from 0 to 1"));
            }
        }
        Ok(())
    }
}

/// A day, a month or an instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// A month in UTC, by its first day.
    Month(Date),
    /// A day in UTC.
    Day(Date),
    /// An instant.
    Instant(Timestamp),
}

impl Moment {
    /// Returns noon of the day, or of the month's first day.
    pub fn noon(self) -> Timestamp {
        self.at(time(12, 0, 0, 0), |month| month)
    }

    /// Returns the first instant.
    pub fn first(self) -> Timestamp {
        self.at(Time::MIN, |month| month)
    }

    /// Returns the last instant, in whole seconds.
    pub fn last(self) -> Timestamp {
        self.at(time(23, 59, 59, 0), Date::last_of_month)
    }

    fn at(self, clock: Time, of_month: fn(Date) -> Date) -> Timestamp {
        let day = match self {
            Self::Instant(at) => return at,
            Self::Month(first) => of_month(first),
            Self::Day(day) => day,
        };
        Offset::UTC.to_timestamp(day.to_datetime(clock)).unwrap_or(Timestamp::MAX)
    }
}

impl<'de> Deserialize<'de> for Moment {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        let parsed = match text.len() {
            7 => format!("{text}-01").parse().map(Self::Month).ok(),
            10 => text.parse().map(Self::Day).ok(),
            _ => text.parse().map(Self::Instant).ok(),
        };
        parsed.ok_or_else(|| {
            serde::de::Error::custom(format!(
                "{text:?} is no time; write a day such as 2026-03-04, or 2026-03-04T18:30:00Z"
            ))
        })
    }
}

impl JsonSchema for Moment {
    fn schema_name() -> Cow<'static, str> {
        "Moment".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "description": "A day such as 2026-03-04, a month such as 2026-03, or an instant such as 2026-03-04T18:30:00Z.",
            "pattern": r"^\d{4}-\d{2}(-\d{2}(T.+)?)?$",
        })
    }
}
