//! Scales of the values that people and programs give: importance, confidence, expiry and ids.

use jiff::tz::TimeZone;
use jiff::{Span, Timestamp};

use serde_json::{Map, Value};

use super::ApiError;
use crate::exchange;
use crate::memory::{MemoryId, Structured};

/// Returns the importance on a scale from 0 to 1; numbers from 2 to 10 count as tenths, since both scales are in use.
///
/// # Errors
/// [`ApiError::Invalid`] for any other number.
pub(crate) fn unit_importance(value: f64) -> Result<f64, ApiError> {
    match value {
        value if (0.0..=1.0).contains(&value) => Ok(value),
        // A number between the scales is a mistake, since 1 is the maximum of the first scale and not a tenth.
        value if (2.0..=10.0).contains(&value) => Ok(value / 10.0),
        value => Err(wrong_importance(value, "0 to 1, or tenths from 2 to 10")),
    }
}

/// Converts an importance on a scale from 1 to 10 to the scale from 0 to 1; fractions from 0.1 are returned unchanged.
///
/// # Errors
/// [`ApiError::Invalid`] for any other number.
pub(crate) fn importance_of_tenths(value: f64) -> Result<f64, ApiError> {
    match value {
        // On this scale 1 is the minimum, not the maximum.
        value if (1.0..=10.0).contains(&value) => Ok(value / 10.0),
        value if (0.1..1.0).contains(&value) => Ok(value),
        value => Err(wrong_importance(value, "1 to 10")),
    }
}

/// Returns a confidence from 0 to 1 unchanged.
///
/// # Errors
/// [`ApiError::Invalid`] for any other number.
pub(crate) fn unit_confidence(value: f64) -> Result<f64, ApiError> {
    if (0.0..=1.0).contains(&value) {
        return Ok(value);
    }
    Err(ApiError::Invalid(format!("confidence {value} is out of range; use 0 to 1")))
}

/// The fault of an expiry that has passed, and the remedy.
pub(crate) const PAST: &str = "is in the past; give a later time";

/// Returns the error for the expiry `text` with the fault and remedy `reason`.
pub(crate) fn wrong_expiry(text: &str, reason: &str) -> ApiError {
    ApiError::Invalid(format!("the expiry {text:?} {reason}"))
}

/// Returns the time that `text` denotes: an RFC 3339 time, the beginning of a day in UTC, or a period from `now` on,
/// such as `30m`, `2h`, `7d`, `2w`, `3mo` or `1y`.
///
/// # Errors
/// [`ApiError::Invalid`] if the text has none of these forms, or the time is not later than `now`.
pub(crate) fn expiry(text: &str, now: Timestamp) -> Result<Timestamp, ApiError> {
    let text = text.trim();
    let day = || Some(text.parse::<jiff::civil::Date>().ok()?.to_zoned(TimeZone::UTC).ok()?.timestamp());
    let period = || Some(now.to_zoned(TimeZone::UTC).checked_add(period(text)?).ok()?.timestamp());
    let at = text.parse().ok().or_else(period).or_else(day);
    let at = at.ok_or_else(|| wrong_expiry(text, "is not a time; write it like 30m, 2h, 7d or 2027-01-31"))?;
    if at > now { Ok(at) } else { Err(wrong_expiry(text, PAST)) }
}

/// Returns the period of a number and a unit, such as `30m`, `12h`, `7d`, `2w`, `3mo` or `1y`.
pub(crate) fn period(text: &str) -> Option<Span> {
    // A sign is not a digit, so `-7d` has no count and is rejected rather than read as a time in the other direction.
    let unit = text.trim_start_matches(|c: char| c.is_ascii_digit());
    let count: i64 = text[..text.len() - unit.len()].parse().ok()?;
    let span = Span::new();
    match unit.trim() {
        "m" | "min" | "minute" | "minutes" => span.try_minutes(count),
        "h" | "hour" | "hours" => span.try_hours(count),
        "d" | "day" | "days" => span.try_days(count),
        "w" | "week" | "weeks" => span.try_weeks(count),
        "mo" | "month" | "months" => span.try_months(count),
        "y" | "year" | "years" => span.try_years(count),
        _ => return None,
    }
    .ok()
}

/// Returns the structured part of a memory from the fields of an object; see [`exchange::structured`].
///
/// # Errors
/// [`ApiError::Invalid`] if the fields are not those of one kind of parts, or a value is not accepted.
pub(crate) fn structured(fields: Map<String, Value>) -> Result<Structured, ApiError> {
    exchange::structured(fields).map_err(|why| ApiError::Invalid(format!("the structured part is wrong: {why}")))
}

/// Returns the id for a new memory that a caller chose.
///
/// # Errors
/// [`ApiError::Conflict`] if the text is not a UUID.
pub(crate) fn own_id(text: &str) -> Result<MemoryId, ApiError> {
    let id = MemoryId::from_stored(text.trim().to_ascii_lowercase());
    if id.clone().into_uuid() == id && id.as_str().len() == 36 {
        return Ok(id);
    }
    Err(wrong_id(text, "is not a UUID such as 018f6b2e-0000-7000-8000-000000000001"))
}

/// Returns the error for an id of a caller's choice with the fault `reason`.
pub(super) fn wrong_id(id: &str, reason: &str) -> ApiError {
    ApiError::Conflict(format!("the id {id:?} {reason}"))
}

fn wrong_importance(value: f64, scale: &str) -> ApiError {
    ApiError::Invalid(format!("importance {value} is out of range; use {scale}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_outside_its_scale_is_an_error() {
        for (value, unit, tenths) in
            [(0.1, 0.1, 0.1), (0.5, 0.5, 0.5), (1.0, 1.0, 0.1), (2.0, 0.2, 0.2), (10.0, 1.0, 1.0)]
        {
            assert_eq!(
                (unit_importance(value).unwrap(), importance_of_tenths(value).unwrap()),
                (unit, tenths),
                "{value}"
            );
        }
        assert!(unit_importance(1.5).is_err() && importance_of_tenths(1.5).is_ok());
        assert!(unit_importance(0.0).is_ok() && importance_of_tenths(0.0).is_err());
        for value in [-0.1, 10.1, f64::NAN, f64::INFINITY] {
            assert!(unit_importance(value).is_err() && importance_of_tenths(value).is_err(), "{value}");
            assert!(unit_confidence(value).is_err(), "{value}");
        }
        assert!(unit_confidence(1.1).is_err() && unit_confidence(1.0).is_ok());
    }

    #[test]
    fn an_expiry_is_a_time_or_a_period_and_never_past() {
        let now: Timestamp = "2026-03-15T12:30:00Z".parse().unwrap();
        let table = [
            ("2h", "2026-03-15T14:30:00Z"),
            ("7d", "2026-03-22T12:30:00Z"),
            ("2 weeks", "2026-03-29T12:30:00Z"),
            ("1mo", "2026-04-15T12:30:00Z"),
            ("2027-01-31", "2027-01-31T00:00:00Z"),
            ("2027-01-31T18:00:00+02:00", "2027-01-31T16:00:00Z"),
        ];
        for (text, at) in table {
            assert_eq!(expiry(text, now).unwrap().to_string(), at, "{text}");
        }
        for text in ["2026-03-15", "2026-03-15T12:30:00Z", "0h", "-2h", "2x", "soon", "", "99999999999999999999d"] {
            let error = expiry(text, now).unwrap_err().to_string();
            assert!(error.contains("is in the past") || error.contains("is not a time"), "{text}: {error}");
        }
    }

    #[test]
    fn an_id_of_a_caller_is_a_uuid() {
        assert_eq!(own_id(" 018F6B2E-0000-7000-8000-000000000001").unwrap().as_str().len(), 36);
        for text in ["", "42", "018f6b2e00007000800000000000001", "018f6b2e00007000800000000000000001"] {
            assert!(own_id(text).is_err(), "{text}");
        }
    }
}
