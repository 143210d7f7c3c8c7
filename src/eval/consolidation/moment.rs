//! A day or an instant, as a case tells it.

use std::borrow::Cow;

use jiff::Timestamp;
use jiff::civil::{Date, Time, time};
use jiff::tz::Offset;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer};

/// A day or an instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// A day in UTC.
    Day(Date),
    /// An instant.
    Instant(Timestamp),
}

impl Moment {
    /// Returns the instant at which something of that day was said: noon.
    #[must_use]
    pub fn said(self) -> Timestamp {
        self.at(time(12, 0, 0, 0))
    }

    /// Returns the first instant.
    #[must_use]
    pub fn first(self) -> Timestamp {
        self.at(Time::MIN)
    }

    /// Returns the last instant, in whole seconds.
    #[must_use]
    pub fn last(self) -> Timestamp {
        self.at(time(23, 59, 59, 0))
    }

    fn at(self, clock: Time) -> Timestamp {
        match self {
            Self::Instant(at) => at,
            Self::Day(day) => Offset::UTC.to_timestamp(day.to_datetime(clock)).unwrap_or(Timestamp::MAX),
        }
    }
}

impl<'de> Deserialize<'de> for Moment {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        let day = text.len() == "2026-01-01".len();
        let parsed = if day { text.parse().map(Self::Day).ok() } else { text.parse().map(Self::Instant).ok() };
        parsed.ok_or_else(|| {
            let told = format!("{text:?} is no time; write a day such as 2026-03-04, or 2026-03-04T18:30:00Z");
            serde::de::Error::custom(told)
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
            "description": "A day such as 2026-03-04, or an instant such as 2026-03-04T18:30:00Z.",
            "pattern": r"^\d{4}-\d{2}-\d{2}(T.+)?$",
        })
    }
}
