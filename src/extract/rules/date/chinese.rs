//! Chinese relative dates.

use std::sync::LazyLock;

use jiff::ToSpan;
use jiff::civil::{Date, DateTime, Weekday};
use regex::{Captures, Regex};

use super::{Dated, Resolved, Unit, nearest, replace, shifted, week, weekday_in};

static PATTERN: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(?x)(?P<day>大前天|大后天|前天|昨天|今天|明天|后天|昨日|今日|明日)
        |(?P<night>昨晚|昨夜|今晚|今早|今晨|明早|明晚)
        |(?P<week>上上|下下|上|下|这|本)个?(?:周|星期|礼拜)(?P<weekday>[一二三四五六日天末])?
        |(?P<month>上上|下下|上|下|这|本)个?月(?:(?P<date>\d{1,2})[日号])?
        |(?P<year>大前年|前年|去年|今年|明年|后年)
        |(?P<half>半年)(?P<halfway>之?前|以前|之?后|以后)
        |(?P<n>\d{1,3}|[一两二三四五六七八九十]{1,3})个?(?P<span>分钟|小时|钟头|天|日|周|星期|礼拜|月|年)(?P<way>之?前|以前|之?后|以后)
        |自从?(?P<cm>\d{1,2})月(?P<cd>\d{1,2})[日号](?:以来|起|开始)?",
    )
    .expect("the pattern is a constant")
});

/// Puts ISO dates in the place of Chinese relative dates; `now` is the reading of the speaker's own clock.
pub(in super::super) fn chinese(text: &str, now: Option<DateTime>) -> Dated {
    replace(text, now, &PATTERN, resolve, |_, resolved| resolved.words.clone(), |_| false)
}

/// Puts ISO dates beside Chinese relative dates; `now` is the reading of the speaker's own clock.
pub(super) fn noted(text: &str, now: Option<DateTime>) -> Dated {
    replace(text, now, &PATTERN, resolve, |found, resolved| format!("{}（{}）", &found[0], resolved.words), |_| false)
}

fn resolve(found: &Captures<'_>, now: DateTime) -> Option<Resolved> {
    let (today, named) = (now.date(), |name: &str| found.name(name).map(|word| word.as_str()));
    if let Some(word) = named("day") {
        return Some(Resolved::day(today.checked_add(days_ahead(word).days()).ok()?, ""));
    }
    if let Some(word) = named("night") {
        let date = today.checked_add(days_ahead(word).days()).ok()?;
        let part = if word.ends_with(['早', '晨']) { "早上" } else { "晚上" };
        return Some(Resolved { date, words: format!("{date}{part}"), preposition: "" });
    }
    if let Some(word) = named("week") {
        return in_week(week(today, steps(word))?, named("weekday"));
    }
    if let Some(word) = named("month") {
        return in_month(today.first_of_month().checked_add(steps(word).months()).ok()?, named("date"));
    }
    if let Some(word) = named("year") {
        let date = today.first_of_year().checked_add(years_ahead(word).years()).ok()?;
        return Some(Resolved { words: format!("{}年", date.year()), ..Resolved::year(date, "") });
    }
    if named("half").is_some() {
        return in_month(shifted(now, 6 * sign(named("halfway")?), Unit::Month)?.date, None);
    }
    if let (Some(month), Some(day)) = (named("cm"), named("cd")) {
        let date = nearest(today, month.parse().ok()?, day.parse().ok()?, false)?;
        return Some(Resolved { date, words: format!("自{date}起"), preposition: "" });
    }
    counted(now, number(named("n")?)? * sign(named("way")?), named("span")?)
}

fn days_ahead(word: &str) -> i32 {
    match word {
        "大前天" => -3,
        "前天" => -2,
        "后天" => 2,
        "大后天" => 3,
        word if word.starts_with('昨') => -1,
        word if word.starts_with('明') => 1,
        _ => 0,
    }
}

fn years_ahead(word: &str) -> i32 {
    match word {
        "大前年" => -3,
        "前年" => -2,
        "去年" => -1,
        "明年" => 1,
        "后年" => 2,
        _ => 0,
    }
}

/// Returns how many weeks or months "上", "上上", "下" and so on go.
fn steps(word: &str) -> i32 {
    let count = |c: char| i32::try_from(word.chars().filter(|other| *other == c).count()).unwrap_or_default();
    count('下') - count('上')
}

fn sign(way: &str) -> i32 {
    if way.ends_with('前') { -1 } else { 1 }
}

fn in_week(monday: Date, weekday: Option<&str>) -> Option<Resolved> {
    let Some(name) = weekday else {
        return Some(Resolved { date: monday, words: format!("{monday}那一周"), preposition: "" });
    };
    if name == "末" {
        let date = weekday_in(monday, Weekday::Saturday)?;
        return Some(Resolved { date, words: format!("{date}那个周末"), preposition: "" });
    }
    let at = "一二三四五六日".chars().position(|c| name.starts_with(c)).or((name == "天").then_some(6))?;
    let weekday = Weekday::from_monday_zero_offset(i8::try_from(at).ok()?).ok()?;
    Some(Resolved::day(weekday_in(monday, weekday)?, ""))
}

fn in_month(month: Date, day: Option<&str>) -> Option<Resolved> {
    if let Some(day) = day {
        return Some(Resolved::day(Date::new(month.year(), month.month(), day.parse().ok()?).ok()?, ""));
    }
    Some(Resolved { words: month.strftime("%Y年%-m月").to_string(), ..Resolved::month(month, "") })
}

fn counted(now: DateTime, count: i32, span: &str) -> Option<Resolved> {
    let unit = match span {
        "分钟" => Unit::Minute,
        "小时" | "钟头" => Unit::Hour,
        "天" | "日" => Unit::Day,
        "周" | "星期" | "礼拜" => Unit::Week,
        "月" => Unit::Month,
        _ => Unit::Year,
    };
    let resolved = shifted(now, count, unit)?;
    Some(match unit {
        Unit::Year => Resolved { words: format!("{}年", resolved.words), ..resolved },
        Unit::Month => in_month(resolved.date, None)?,
        _ => resolved,
    })
}

/// Reads `7`, `两`, `十`, `十二`, `二十` and `二十五`.
fn number(word: &str) -> Option<i32> {
    if let Ok(number) = word.parse() {
        return Some(number);
    }
    let digit = |c: char| match c {
        '两' => Some(2),
        c => "一二三四五六七八九".chars().position(|other| other == c).and_then(|at| i32::try_from(at + 1).ok()),
    };
    let Some((tens, ones)) = word.split_once('十') else {
        let mut digits = word.chars();
        return digit(digits.next()?).filter(|_| digits.next().is_none());
    };
    let side = |text: &str, empty: i32| match text.chars().count() {
        0 => Some(empty),
        1 => digit(text.chars().next()?),
        _ => None,
    };
    Some(side(tens, 1)? * 10 + side(ones, 0)?)
}
