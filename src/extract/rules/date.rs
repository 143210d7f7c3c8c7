//! Relative dates, resolved from the day on which they were said.

use std::sync::LazyLock;

use jiff::civil::{Date, Weekday};
use jiff::{Span, ToSpan};
use regex::{Captures, Regex};

/// A text with its relative dates put in place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Dated {
    /// The text.
    pub(super) text: String,
    /// First day that it names, where one was resolved.
    pub(super) first: Option<Date>,
}

/// What a relative date comes to.
struct Resolved {
    date: Date,
    words: String,
    /// Whether it can stand where "yesterday" stood, with "on" or "in" before it.
    preposition: &'static str,
}

static ENGLISH: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(?ix)\b(?:(?P<before>since|until|till|by|from|before|after|of|as\ of|starting|effective|on|in|during|about|around)\s+)?
        (?:(?P<day>the\ day\ before\ yesterday|the\ day\ after\ tomorrow|yesterday|tomorrow|today)
        |(?P<dir>last|next|this)\s+(?P<unit>week|month|year|monday|tuesday|wednesday|thursday|friday|saturday|sunday)
        |(?P<n>\d{1,3}|a|an|one|two|three|four|five|six|seven|eight|nine|ten)\s+(?P<span>day|week|month|year)s?\s+ago
        |in\s+(?P<m>\d{1,3}|a|an|one|two|three|four|five|six|seven|eight|nine|ten)\s+(?P<ahead>day|week|month|year)s?)\b",
    )
    .expect("the pattern is a constant")
});
static CHINESE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(?x)(?P<day>大前天|前天|昨天|今天|明天|后天|昨日|今日|明日)
        |(?P<week>上|下|这|本)(?:个)?(?:周|星期|礼拜)(?P<weekday>[一二三四五六日天])?
        |(?P<month>上|下|这|本)个?月
        |(?P<year>去年|今年|明年|前年)
        |(?P<n>\d{1,3}|[一两二三四五六七八九十])个?(?P<span>天|周|星期|月|年)(?P<way>前|后)",
    )
    .expect("the pattern is a constant")
});

/// Puts ISO dates in the place of English relative dates; `today` is the speaker's own day.
pub(super) fn english(text: &str, today: Option<Date>) -> Dated {
    replace(text, today, &ENGLISH, english_date, |found, resolved| match found.name("before") {
        Some(before) if !matches!(before.as_str().to_lowercase().as_str(), "on" | "in" | "about" | "around") => {
            format!("{} {}", before.as_str(), resolved.words)
        }
        Some(_) | None if resolved.preposition.is_empty() => resolved.words.clone(),
        Some(_) | None => format!("{} {}", resolved.preposition, resolved.words),
    })
}

/// Puts ISO dates in the place of Chinese relative dates; `today` is the speaker's own day.
pub(super) fn chinese(text: &str, today: Option<Date>) -> Dated {
    replace(text, today, &CHINESE, chinese_date, |_, resolved| resolved.words.clone())
}

fn replace(
    text: &str,
    today: Option<Date>,
    pattern: &Regex,
    resolve: fn(&Captures<'_>, Date) -> Option<Resolved>,
    spell: fn(&Captures<'_>, &Resolved) -> String,
) -> Dated {
    let Some(today) = today else { return Dated { text: text.to_owned(), first: None } };
    let mut first = None;
    let text = pattern.replace_all(text, |found: &Captures<'_>| match resolve(found, today) {
        Some(resolved) => {
            first.get_or_insert(resolved.date);
            spell(found, &resolved)
        }
        None => found[0].to_owned(),
    });
    Dated { text: text.into_owned(), first }
}

fn day(date: Date, preposition: &'static str) -> Resolved {
    Resolved { date, words: date.to_string(), preposition }
}

fn month(date: Date, preposition: &'static str) -> Resolved {
    Resolved { date: date.first_of_month(), words: date.strftime("%Y-%m").to_string(), preposition }
}

fn year(date: Date, preposition: &'static str) -> Resolved {
    Resolved { date: date.first_of_year(), words: date.year().to_string(), preposition }
}

fn monday(date: Date) -> Option<Date> {
    date.checked_sub(i32::from(date.weekday().to_monday_zero_offset()).days()).ok()
}

fn weekday_in(week: Date, weekday: Weekday) -> Option<Date> {
    monday(week)?.checked_add(i32::from(weekday.to_monday_zero_offset()).days()).ok()
}

fn english_date(found: &Captures<'_>, today: Date) -> Option<Resolved> {
    if let Some(word) = found.name("day") {
        let ahead = match word.as_str().to_lowercase().as_str() {
            "the day before yesterday" => -2,
            "yesterday" => -1,
            "tomorrow" => 1,
            "the day after tomorrow" => 2,
            _ => 0,
        };
        return Some(day(today.checked_add(ahead.days()).ok()?, "on"));
    }
    if let (Some(count), Some(unit)) = (found.name("n"), found.name("span")) {
        return shifted(today, -english_number(count.as_str())?, unit.as_str());
    }
    if let (Some(count), Some(unit)) = (found.name("m"), found.name("ahead")) {
        return shifted(today, english_number(count.as_str())?, unit.as_str());
    }
    let ahead = match found["dir"].to_lowercase().as_str() {
        "last" => -1,
        "next" => 1,
        _ => 0,
    };
    match found["unit"].to_lowercase().as_str() {
        "week" => {
            week(today, ahead).map(|date| Resolved { date, words: format!("the week of {date}"), preposition: "in" })
        }
        "month" => Some(month(today.first_of_month().checked_add(ahead.months()).ok()?, "in")),
        "year" => Some(year(today.first_of_year().checked_add(ahead.years()).ok()?, "in")),
        name => Some(day(english_weekday(name, ahead, today)?, "on")),
    }
}

/// "last Friday" is the latest one before today, "this" the one of this week, "next" the one of the next week.
fn english_weekday(name: &str, ahead: i32, today: Date) -> Option<Date> {
    let names = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];
    let offset = i8::try_from(names.iter().position(|&other| other == name)?).ok()?;
    let weekday = Weekday::from_monday_zero_offset(offset).ok()?;
    if ahead < 0 { today.nth_weekday(-1, weekday).ok() } else { weekday_in(week(today, ahead)?, weekday) }
}

fn week(today: Date, ahead: i32) -> Option<Date> {
    monday(today)?.checked_add(ahead.weeks()).ok()
}

fn shifted(today: Date, count: i32, unit: &str) -> Option<Resolved> {
    let span: Span = match unit.to_lowercase().as_str() {
        "day" | "天" => count.days(),
        "week" | "周" | "星期" => count.weeks(),
        "month" | "月" => count.months(),
        _ => count.years(),
    };
    let date = today.checked_add(span).ok()?;
    match unit.to_lowercase().as_str() {
        "day" | "天" => Some(day(date, "on")),
        "week" | "周" | "星期" => Some(day(date, "around")),
        "month" | "月" => Some(month(date, "in")),
        _ => Some(year(date, "in")),
    }
}

fn english_number(word: &str) -> Option<i32> {
    const WORDS: [&str; 10] = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"];
    let lower = word.to_lowercase();
    if lower == "a" || lower == "an" {
        return Some(1);
    }
    let position = WORDS.iter().position(|&other| other == lower);
    position.map_or_else(|| lower.parse().ok(), |at| i32::try_from(at + 1).ok())
}

fn chinese_number(word: &str) -> Option<i32> {
    let digits = "一二三四五六七八九十";
    if word == "两" {
        return Some(2);
    }
    let position = word.chars().next().and_then(|c| digits.chars().position(|other| other == c));
    position.map_or_else(|| word.parse().ok(), |at| i32::try_from(at + 1).ok())
}

fn chinese_date(found: &Captures<'_>, today: Date) -> Option<Resolved> {
    let way = |word: &str| match word {
        "上" => -1,
        "下" => 1,
        _ => 0,
    };
    if let Some(word) = found.name("day") {
        let ahead = match word.as_str() {
            "大前天" => -3,
            "前天" => -2,
            "昨天" | "昨日" => -1,
            "明天" | "明日" => 1,
            "后天" => 2,
            _ => 0,
        };
        return Some(day(today.checked_add(ahead.days()).ok()?, ""));
    }
    if let Some(word) = found.name("week") {
        let start = week(today, way(word.as_str()))?;
        return Some(match found.name("weekday").and_then(|name| chinese_weekday(name.as_str())) {
            Some(weekday) => day(weekday_in(start, weekday)?, ""),
            None => Resolved { date: start, words: format!("{start}那一周"), preposition: "" },
        });
    }
    if let Some(word) = found.name("month") {
        let date = today.first_of_month().checked_add(way(word.as_str()).months()).ok()?;
        return Some(Resolved { words: date.strftime("%Y年%-m月").to_string(), ..month(date, "") });
    }
    if let Some(word) = found.name("year") {
        let ahead = match word.as_str() {
            "前年" => -2,
            "去年" => -1,
            "明年" => 1,
            _ => 0,
        };
        let date = today.first_of_year().checked_add(ahead.years()).ok()?;
        return Some(Resolved { words: format!("{}年", date.year()), ..year(date, "") });
    }
    let count = chinese_number(&found["n"])?;
    let resolved = shifted(today, if &found["way"] == "前" { -count } else { count }, &found["span"])?;
    Some(match &found["span"] {
        "年" => Resolved { words: format!("{}年", resolved.words), ..resolved },
        _ => resolved,
    })
}

fn chinese_weekday(name: &str) -> Option<Weekday> {
    let at = "一二三四五六日".chars().position(|c| name.starts_with(c)).or((name == "天").then_some(6))?;
    Weekday::from_monday_zero_offset(i8::try_from(at).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::civil::date;

    #[test]
    fn english_relative_dates_become_absolute() {
        let today = Some(date(2026, 3, 4)); // a Wednesday
        for (text, expected) in [
            ("moved yesterday", "moved on 2026-03-03"),
            ("since yesterday", "since 2026-03-03"),
            ("today we decided", "on 2026-03-04 we decided"),
            ("tomorrow", "on 2026-03-05"),
            ("the day before yesterday", "on 2026-03-02"),
            ("last week", "in the week of 2026-02-23"),
            ("next month", "in 2026-04"),
            ("last year", "in 2025"),
            ("next Friday", "on 2026-03-13"),
            ("this Friday", "on 2026-03-06"),
            ("on last Friday", "on 2026-02-27"),
            ("last Wednesday", "on 2026-02-25"),
            ("3 days ago", "on 2026-03-01"),
            ("two weeks ago", "around 2026-02-18"),
            ("in two days", "on 2026-03-06"),
            ("a year ago", "in 2025"),
            ("by next Friday", "by 2026-03-13"),
            ("todays list", "todays list"),
        ] {
            assert_eq!(english(text, today).text, expected);
        }
    }

    #[test]
    fn chinese_relative_dates_become_absolute() {
        let today = Some(date(2026, 3, 4));
        for (text, expected) in [
            ("昨天搬家", "2026-03-03搬家"),
            ("明天上线", "2026-03-05上线"),
            ("下周三发布", "2026-03-11发布"),
            ("上周五", "2026-02-27"),
            ("这周日", "2026-03-08"),
            ("上周", "2026-02-23那一周"),
            ("上个月", "2026年2月"),
            ("去年", "2025年"),
            ("三天前", "2026-03-01"),
            ("两年前", "2024年"),
        ] {
            assert_eq!(chinese(text, today).text, expected);
        }
    }

    #[test]
    fn words_stay_where_the_day_is_not_known() {
        assert_eq!(english("yesterday", None), Dated { text: "yesterday".into(), first: None });
    }

    #[test]
    fn the_end_of_the_calendar_is_survived() {
        assert_eq!(english("in 900 years", Some(Date::MAX)).text, "in 900 years");
    }
}
