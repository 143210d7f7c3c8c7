//! Dates that a memory leaves for its reader to work out.

use std::sync::LazyLock;

use regex::Regex;

/// How a text leaves a date open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::eval) enum Open {
    /// It names a day, week or month by its distance from an unnamed day.
    Hard,
    /// It is vague.
    Soft,
    /// It does not.
    No,
}

static HARD: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"\b(yesterday|today|tonight|tomorrow|the day (before|after)( yesterday| tomorrow| the)?|last night)\b|\b(last|next|this|coming|past) (week|month|year|weekend|morning|afternoon|evening|night|summer|winter|spring|autumn|fall|monday|tuesday|wednesday|thursday|friday|saturday|sunday|january|february|march|april|may|june|july|august|september|october|november|december|mon|tues?|wed|thurs?|fri|sat|sun)\b|\b(\d+|a|an|one|two|three|four|five|six|seven|eight|nine|ten|a few|few|several|a couple of) (days?|weeks?|months?|years?) ago\b|\bin (\d+|a|one|two|three|a few) (days?|weeks?|months?)\b",
    )
});

static SOFT: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"\b(recent|recently|lately|soon|these days|nowadays|the other day|a while (ago|back)|earlier|currently|now|upcoming)\b",
    )
});

static DATE: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"\b\d{4}-\d{2}(-\d{2})?\b|\b(january|february|march|april|may|june|july|august|september|october|november|december)( \d{1,2}(st|nd|rd|th)?)?,? \d{4}\b|\b(in|since|of|during) \d{4}\b",
    )
});

fn pattern(text: &str) -> Regex {
    Regex::new(&format!("(?i){text}")).expect("the pattern is a constant that compiles")
}

/// Returns how `text` leaves a date open; one that names a date besides does not.
pub(in crate::eval) fn open_date(text: &str) -> Open {
    if DATE.is_match(text) {
        Open::No
    } else if HARD.is_match(text) {
        Open::Hard
    } else if SOFT.is_match(text) {
        Open::Soft
    } else {
        Open::No
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_date_is_open_if_it_depends_on_when_one_reads_it() {
        let table = [
            ("Caroline went to a support group yesterday.", Open::Hard),
            ("Jon visits Rome last Saturday.", Open::Hard),
            ("Melanie ran a race two weeks ago.", Open::Hard),
            ("Gina plans a trip next month.", Open::Hard),
            ("Caroline went to a support group on 2023-05-07, the day before 8 May 2023.", Open::No),
            ("Last Saturday, 2023-05-20, Melanie ran a race.", Open::No),
            ("Jon recently opened a studio.", Open::Soft),
            ("Jon opened a studio in June 2023.", Open::No),
            ("Melanie has been married for five years.", Open::No),
        ];
        for (text, open) in table {
            assert_eq!(open_date(text), open, "{text}");
        }
    }
}
