//! Dates of a claim that nobody said, and that do not follow from when something was said.
//!
//! What is looked for is the date that was counted from another day than that of the message: from today, when an old
//! conversation is read. A date within the reach of a word of time that was said is believed.

mod lapse;
mod range;
mod reach;
mod written;

use std::ops::Range;

use jiff::ToSpan;
use jiff::civil::Date;
use lapse::{Lapse, lapses};
use range::bare_months;
use reach::reach;
use written::{Days, Written, written};

use super::numbers::{counts, digit};

/// For how long something may be judged to matter without anybody saying so.
const MAX_JUDGED_DAYS: i32 = 400;

/// Longest reach of a word of time that counts beyond its session, in days.
const NEAR_DAYS: i32 = 9;
/// Days and spans of time that are counted from each other; of more, nothing would be foreign.
const MAX_COUNTED: usize = 200;

/// The days that a claim may name.
#[derive(Debug, Default)]
pub(super) struct Dates {
    spans: Vec<(Date, Date)>,
    /// Years of birth and the like that follow from an age.
    years: Vec<i16>,
    /// Days on which something was said.
    stamps: Vec<Date>,
    /// Days that were named, from which spans of time may be counted.
    named: Vec<(Date, Date)>,
    lapses: Vec<Lapse>,
    /// Whether words that reach far are left out.
    is_near: bool,
}

impl Dates {
    /// Returns no dates, to which what reaches far is not added.
    pub(super) fn near() -> Self {
        Self { is_near: true, ..Self::default() }
    }

    /// Adds what was said, and on which day of the speaker's calendar.
    pub(super) fn add(&mut self, text: &str, said_on: Option<Date>) {
        let dates = written(text);
        self.add_bare_years(text, &dates);
        let months = bare_months(text, &dates);
        for days in dates.into_iter().flat_map(|one| one.meanings).chain(months) {
            let named: Vec<_> = match (days.year, said_on) {
                (Some(year), _) => days.within(year).into_iter().collect(),
                (None, Some(today)) => {
                    (-1..=1).filter_map(|step| days.within(today.year().checked_add(step)?)).collect()
                }
                (None, None) => Vec::new(),
            };
            self.spans.extend(&named);
            self.add_named(named);
        }
        let mut lapses = lapses(text);
        lapses.retain(|one| one.days > 0 && !self.lapses.contains(one) && (!self.is_near || one.days <= NEAR_DAYS));
        self.lapses.extend(lapses);
        if let Some(today) = said_on {
            self.add_stamp(today);
            let is_near = |(from, to): &(Date, Date)| {
                !self.is_near || from.checked_add(NEAR_DAYS.days()).is_ok_and(|limit| *to <= limit)
            };
            self.spans.extend(reach(text, today).into_iter().filter(is_near));
            let ages = counts(text).filter(|_| !self.is_near);
            self.years.extend(ages.flat_map(|age| [today.year() - age, today.year() - age - 1]));
        }
    }

    fn add_named(&mut self, named: Vec<(Date, Date)>) {
        for days in named {
            // Nobody counts weeks from a year.
            let is_short = days.0.checked_add(31.days()).is_ok_and(|limit| days.1 <= limit);
            if is_short && !self.named.contains(&days) {
                self.named.push(days);
            }
        }
    }

    /// Adds a day on which something was said.
    pub(super) fn add_stamp(&mut self, today: Date) {
        if !self.stamps.contains(&today) {
            self.stamps.push(today);
            self.spans.extend(today.yesterday().ok().zip(today.tomorrow().ok()));
        }
    }

    /// A number that looks like a year may be one, however it is put.
    fn add_bare_years(&mut self, text: &str, dates: &[Written]) {
        let is_alone = |at: usize| !dates.iter().any(|date| date.at.contains(&at));
        let runs = text.split(|c| digit(c).is_none()).filter(|run| run.len() == 4);
        let runs = runs.filter(|run| is_alone(run.as_ptr() as usize - text.as_ptr() as usize));
        let years = runs.filter_map(|run| run.parse::<i16>().ok()).filter(|year| (1500..2200).contains(year));
        self.spans.extend(years.filter_map(|year| Some((Date::new(year, 1, 1).ok()?, Date::new(year, 12, 31).ok()?))));
    }

    /// Whether a number may be a year that can be traced to one of `sources`.
    pub(super) fn have_year(sources: &[&Self], number: &str) -> bool {
        let dates = written(&as_field(number));
        let is_traced = |days: &Days| sources.iter().any(|source| source.is_traced(*days));
        number.len() == 4 && dates.iter().any(|one| one.meanings.iter().any(is_traced))
    }

    /// Returns where dates stand in `content`.
    pub(super) fn places(content: &str) -> Vec<Range<usize>> {
        written(content).into_iter().map(|one| one.at).collect()
    }

    /// Returns the first date of `content` that can be traced to none of `sources`.
    pub(super) fn foreign<'t>(sources: &[&Self], content: &'t str) -> Option<&'t str> {
        let is_traced = |days: &Days| sources.iter().any(|source| source.is_traced(*days));
        written(content).into_iter().find(|one| !one.meanings.iter().any(is_traced)).map(|one| &content[one.at])
    }

    /// Whether `text`, the beginning or end of when something held, can be traced to one of `sources`.
    pub(super) fn may_hold(sources: &[&Self], text: &str) -> bool {
        Self::foreign(sources, &as_field(text)).is_none()
    }

    /// Whether `text`, the end of something's use, is traced or a judgement that stays near to when it was said.
    pub(super) fn may_expire(&self, text: &str) -> bool {
        let near = |days: &Days| {
            let Some((first, last)) = days.year.and_then(|year| days.within(year)) else { return false };
            self.stamps.iter().any(|stamp| {
                stamp.checked_add(MAX_JUDGED_DAYS.days()).is_ok_and(|limit| last >= *stamp && first <= limit)
            })
        };
        written(&as_field(text)).iter().all(|one| one.meanings.iter().any(|days| near(days) || self.is_traced(*days)))
    }

    /// Whether a span of time leads from a day that was named to one between `first` and `last`.
    fn is_counted(&self, first: Date, last: Date) -> bool {
        self.lapses.iter().take(MAX_COUNTED).any(|lapse| {
            self.named.iter().take(MAX_COUNTED).any(|&(from, to)| {
                [lapse.days, -lapse.days].into_iter().any(|days| {
                    let start = from.checked_add((days - lapse.slack()).days());
                    let end = to.checked_add((days + lapse.slack()).days());
                    start.is_ok_and(|start| start <= last) && end.is_ok_and(|end| first <= end)
                })
            })
        })
    }

    fn is_traced(&self, days: Days) -> bool {
        let meets = |year: i16| {
            days.within(year).is_some_and(|(first, last)| {
                self.spans.iter().any(|(from, to)| first <= *to && *from <= last) || self.is_counted(first, last)
            })
        };
        match days.year {
            Some(year) => meets(year) || days.is_year() && self.years.contains(&year),
            None if days.is_bare_month() => true,
            None => {
                let mut years: Vec<i16> = self.spans.iter().flat_map(|(from, to)| [from.year(), to.year()]).collect();
                years.sort_unstable();
                years.dedup();
                // Without any date to go by, a day without a year cannot be held against anything.
                years.is_empty() || years.into_iter().any(meets)
            }
        }
    }
}

/// A year that stands alone is read as one.
fn as_field(text: &str) -> String {
    format!("in {}", text.trim())
}
