//! Dates of a claim that nobody said, and that do not follow from when something was said.
//!
//! What is looked for is the date that was counted from another day than that of the message: from today, when an old
//! conversation is read. A date within the reach of a word of time that was said is believed.

mod reach;
mod written;

use std::ops::Range;

use jiff::ToSpan;
use jiff::civil::Date;
use reach::reach;
use written::{Days, Written, written};

use super::numbers::digit;

/// For how long something may be judged to matter without anybody saying so.
const MAX_JUDGED_DAYS: i32 = 400;

/// The days that a claim may name.
#[derive(Debug, Default)]
pub(super) struct Dates {
    spans: Vec<(Date, Date)>,
    /// Years of birth and the like that follow from an age.
    years: Vec<i16>,
    /// Days on which something was said.
    stamps: Vec<Date>,
}

impl Dates {
    /// Adds what was said, and on which day of the speaker's calendar.
    pub(super) fn add(&mut self, text: &str, said_on: Option<Date>) {
        let dates = written(text);
        self.add_bare_years(text, &dates);
        for days in dates.into_iter().flat_map(|one| one.meanings) {
            match (days.year, said_on) {
                (Some(year), _) => self.spans.extend(days.within(year)),
                (None, Some(today)) => {
                    self.spans.extend((-1..=1).filter_map(|step| days.within(today.year().checked_add(step)?)));
                }
                (None, None) => {}
            }
        }
        if let Some(today) = said_on {
            self.add_stamp(today);
            self.spans.extend(reach(text, today));
            self.years.extend(small_numbers(text).flat_map(|age| [today.year() - age, today.year() - age - 1]));
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

    /// Whether a number may be a year that can be traced.
    pub(super) fn has_year(&self, number: &str) -> bool {
        let dates = written(&as_field(number));
        number.len() == 4 && dates.iter().any(|one| one.meanings.iter().any(|days| self.is_traced(*days)))
    }

    /// Returns where dates stand in `content`.
    pub(super) fn places(content: &str) -> Vec<Range<usize>> {
        written(content).into_iter().map(|one| one.at).collect()
    }

    /// Returns the first date of `content` that cannot be traced.
    pub(super) fn foreign<'t>(&self, content: &'t str) -> Option<&'t str> {
        let dates = written(content);
        dates.into_iter().find(|one| !one.meanings.iter().any(|days| self.is_traced(*days))).map(|one| &content[one.at])
    }

    /// Whether `text`, the beginning or end of when something held, can be traced.
    pub(super) fn may_hold(&self, text: &str) -> bool {
        self.foreign(&as_field(text)).is_none()
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

    fn is_traced(&self, days: Days) -> bool {
        let meets = |year: i16| {
            days.within(year)
                .is_some_and(|(first, last)| self.spans.iter().any(|(from, to)| first <= *to && *from <= last))
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

fn small_numbers(text: &str) -> impl Iterator<Item = i16> + '_ {
    let runs = text.split(|c| digit(c).is_none()).filter(|run| (1..=3).contains(&run.len()));
    runs.filter_map(|run| run.parse::<i16>().ok()).filter(|age| (13..=110).contains(age))
}

/// A year that stands alone is read as one.
fn as_field(text: &str) -> String {
    format!("in {}", text.trim())
}
