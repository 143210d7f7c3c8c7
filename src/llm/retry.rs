//! When to try again, and how long to wait before.

use std::time::Duration;

use backon::ExponentialBuilder;
use jiff::Timestamp;
use reqwest::header::{DATE, HeaderMap, RETRY_AFTER};

use super::fault::Fault;

/// Shortest wait before the first retry; it doubles from one to the next, and up to as much again is added by chance.
const FIRST_WAIT: Duration = Duration::from_secs(1);

/// Where the doubling ends.
const LAST_WAIT: Duration = Duration::from_secs(30);

/// A server that asks for a longer wait is reported instead of waited for.
const LONGEST_ASKED: Duration = Duration::from_mins(5);

/// Returns the waits before each of `retries`, with chance drawn from `seed` or at random.
pub(super) fn waits(retries: u32, seed: Option<u64>) -> ExponentialBuilder {
    let waits = ExponentialBuilder::new()
        .with_jitter()
        .with_min_delay(FIRST_WAIT)
        .with_max_delay(LAST_WAIT)
        .with_max_times(retries as usize);
    match seed {
        Some(seed) => waits.with_jitter_seed(seed),
        None => waits,
    }
}

/// Returns how long to wait after `fault`, or `None` to give up; `planned` is the wait that the policy has in mind.
pub(super) fn wait_after(fault: &Fault, planned: Option<Duration>) -> Option<Duration> {
    let planned = planned?;
    let wait = fault.wait().unwrap_or(planned);
    (wait <= LONGEST_ASKED).then_some(wait)
}

/// Returns how long `headers` ask to wait: `retry-after-ms`, or `retry-after` in seconds or as a date.
///
/// A date is measured against the server's own clock where it tells it, else against `now`.
pub(super) fn asked_wait(headers: &HeaderMap, now: Timestamp) -> Option<Duration> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
    let number = |name: &str| text(name).and_then(|text| text.parse::<f64>().ok());
    if let Some(wait) = number("retry-after-ms").and_then(|ms| Duration::try_from_secs_f64(ms / 1000.0).ok()) {
        return Some(wait);
    }
    if let Some(seconds) = number(RETRY_AFTER.as_str()) {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let until = http_date(text(RETRY_AFTER.as_str())?)?;
    let now = text(DATE.as_str()).and_then(http_date).unwrap_or(now);
    Some(Duration::try_from(until.duration_since(now)).unwrap_or(Duration::ZERO))
}

fn http_date(text: &str) -> Option<Timestamp> {
    jiff::fmt::rfc2822::parse(text).ok().map(|time| time.timestamp())
}

#[cfg(test)]
mod tests {
    use backon::BackoffBuilder as _;

    use super::super::fault::Rejection;
    use super::*;

    #[test]
    fn waits_grow_and_are_the_same_for_the_same_seed() {
        let drawn: Vec<_> = waits(7, Some(7)).build().collect();
        assert_eq!(drawn, waits(7, Some(7)).build().collect::<Vec<_>>());
        let floors = [1, 2, 4, 8, 16, 30, 30].map(Duration::from_secs);
        assert_eq!(drawn.len(), floors.len());
        for (wait, floor) in drawn.into_iter().zip(floors) {
            assert!(wait >= floor && wait < floor * 2, "{wait:?} for {floor:?}");
        }
    }

    #[test]
    fn servers_ask_for_a_wait_in_several_ways() {
        type Headers = [(&'static str, &'static str)];
        let now: Timestamp = "2026-03-01T12:00:00Z".parse().unwrap();
        let rows: [(&Headers, Option<u64>); 9] = [
            (&[("retry-after", "3")], Some(3_000)),
            (&[("retry-after", " 1.5 ")], Some(1_500)),
            (&[("retry-after", "3"), ("retry-after-ms", "250")], Some(250)),
            (&[("retry-after", "Sun, 01 Mar 2026 12:00:20 GMT")], Some(20_000)),
            (&[("retry-after", "Sun, 01 Mar 2026 11:00:00 GMT")], Some(0)),
            (
                &[("retry-after", "Sun, 01 Mar 2026 13:00:07 GMT"), ("date", "Sun, 01 Mar 2026 13:00:00 GMT")],
                Some(7_000),
            ),
            (&[("retry-after", "-1")], None),
            (&[("retry-after", "soon")], None),
            (&[], None),
        ];
        for (pairs, expected) in rows {
            let headers = pairs
                .iter()
                .map(|(name, value)| (reqwest::header::HeaderName::from_static(name), value.parse().unwrap()));
            assert_eq!(asked_wait(&headers.collect(), now), expected.map(Duration::from_millis), "{pairs:?}");
        }
    }

    #[test]
    fn the_asked_wait_goes_before_the_planned_one_within_reason() {
        let fault = |seconds: Option<u64>| Fault::Status {
            status: 429,
            wait: seconds.map(Duration::from_secs),
            rejection: Rejection::default(),
        };
        let planned = Some(Duration::from_secs(2));
        assert_eq!(wait_after(&fault(None), planned), planned);
        assert_eq!(wait_after(&fault(Some(9)), planned), Some(Duration::from_secs(9)));
        assert_eq!(wait_after(&fault(Some(300)), planned), Some(LONGEST_ASKED));
        assert_eq!(wait_after(&fault(Some(301)), planned), None);
        assert_eq!(wait_after(&fault(Some(9)), None), None);
    }
}
