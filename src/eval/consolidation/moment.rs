//! A day, a month or an instant, as a case tells it.

use std::borrow::Cow;
use std::fmt;

use jiff::Timestamp;
use jiff::civil::{Date, Time, time};
use jiff::tz::Offset;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

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
    /// Returns the instant at which something of that day was said: noon, of a month's first day.
    #[must_use]
    pub fn said(self) -> Timestamp {
        self.at(time(12, 0, 0, 0), |month| month)
    }

    /// Returns the first instant.
    #[must_use]
    pub fn first(self) -> Timestamp {
        self.at(Time::MIN, |month| month)
    }

    /// Returns the last instant, in whole seconds.
    #[must_use]
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
            let told = format!("{text:?} is no time; write a day such as 2026-03-04, or 2026-03-04T18:30:00Z");
            serde::de::Error::custom(told)
        })
    }
}

impl Serialize for Moment {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Month(first) => write!(f, "{}", first.strftime("%Y-%m")),
            Self::Day(day) => write!(f, "{day}"),
            Self::Instant(at) => write!(f, "{at}"),
        }
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
