use super::*;
use transcripts::parse_rfc3339;
use transcripts::{MessageTime, TimeSource};

/// Returns the text with its dates resolved, as a message of this stamp would be read.
fn said_at(stamp: &str, text: &str) -> String {
    let (at, offset) = parse_rfc3339(stamp).unwrap();
    let time = MessageTime { at, offset_seconds: Some(offset), source: TimeSource::Log };
    let read = if text.is_ascii() { english } else { chinese };
    read(text, Some(time.civil())).text
}

/// A Wednesday noon in UTC.
const WEDNESDAY: &str = "2026-03-04T12:00:00Z";

#[test]
fn english_relative_dates_become_absolute() {
    for (text, expected) in [
        ("moved yesterday", "moved on 2026-03-03"),
        ("since yesterday", "since 2026-03-03"),
        ("today we decided", "on 2026-03-04 we decided"),
        ("tomorrow", "on 2026-03-05"),
        ("the day before yesterday", "on 2026-03-02"),
        ("the day after tomorrow", "on 2026-03-06"),
        ("yesterday evening", "in the evening of 2026-03-03"),
        ("tomorrow night", "on the night of 2026-03-05"),
        ("last night", "on the night of 2026-03-03"),
        ("tonight", "on the night of 2026-03-04"),
        ("this morning", "in the morning of 2026-03-04"),
        ("last week", "in the week of 2026-02-23"),
        ("earlier this week", "in the week of 2026-03-02"),
        ("over the weekend", "over the weekend"),
        ("last weekend", "on the weekend of 2026-02-28"),
        ("this weekend", "on the weekend of 2026-03-07"),
        ("next month", "in 2026-04"),
        ("last month", "in 2026-02"),
        ("last quarter", "in the 4. quarter of 2025"),
        ("next quarter", "in the 2. quarter of 2026"),
        ("last year", "in 2025"),
        ("next Friday", "on 2026-03-13"),
        ("this Friday", "on 2026-03-06"),
        ("on last Friday", "on 2026-02-27"),
        ("last Wednesday", "on 2026-02-25"),
        ("last March", "in 2025-03"),
        ("last January", "in 2026-01"),
        ("next March", "in 2027-03"),
        ("next May", "in 2026-05"),
        ("3 days ago", "on 2026-03-01"),
        ("two weeks ago", "around 2026-02-18"),
        ("a fortnight ago", "around 2026-02-18"),
        ("twelve months ago", "in 2025-03"),
        ("an hour ago", "on 2026-03-04"),
        ("thirteen hours ago", "thirteen hours ago"),
        ("13 hours ago", "on 2026-03-03"),
        ("in two days", "on 2026-03-06"),
        ("two days from now", "on 2026-03-06"),
        ("a week from today", "around 2026-03-11"),
        ("a year ago", "in 2025"),
        ("by next Friday", "by 2026-03-13"),
        ("since April 10", "since 2025-04-10"),
        ("since 10th of February", "since 2026-02-10"),
        ("until May 3rd", "until 2026-05-03"),
        ("by 1 March", "by 2027-03-01"),
        ("since October", "since 2025-10"),
        ("since Feb. 29", "since 2024-02-29"),
        ("on April 10, 2025", "on 2025-04-10"),
        ("2 Jan 2026", "on 2026-01-02"),
        // What could be meant in two ways stays as it was said.
        ("on April 10", "on April 10"),
        ("on Monday", "on Monday"),
        ("a few days ago", "a few days ago"),
        ("we may 2 of us", "we may 2 of us"),
        ("in March", "in March"),
        ("todays list", "todays list"),
        ("since February 30", "since February 30"),
    ] {
        assert_eq!(said_at(WEDNESDAY, text), expected, "{text}");
    }
}

#[test]
fn chinese_relative_dates_become_absolute() {
    for (text, expected) in [
        ("昨天搬家", "2026-03-03搬家"),
        ("明天上线", "2026-03-05上线"),
        ("前天", "2026-03-02"),
        ("大前天", "2026-03-01"),
        ("大后天", "2026-03-07"),
        ("昨晚加班", "2026-03-03晚上加班"),
        ("今早", "2026-03-04早上"),
        ("下周三发布", "2026-03-11发布"),
        ("上周五", "2026-02-27"),
        ("上上周一", "2026-02-16"),
        ("这周日", "2026-03-08"),
        ("下个星期天", "2026-03-15"),
        ("上周末", "2026-02-28那个周末"),
        ("上周", "2026-02-23那一周"),
        ("上个月", "2026年2月"),
        ("上个月5号", "2026-02-05"),
        ("下个月", "2026年4月"),
        ("去年", "2025年"),
        ("去年5月", "2025年5月"),
        ("后年", "2028年"),
        ("三天前", "2026-03-01"),
        ("二十天前", "2026-02-12"),
        ("十二天后", "2026-03-16"),
        ("13小时前", "2026-03-03"),
        ("两年前", "2024年"),
        ("两个月前", "2026年1月"),
        ("半年前", "2025年9月"),
        ("自4月10日以来", "自2025-04-10起"),
        ("十几天前", "十几天前"),
        ("周三", "周三"),
    ] {
        assert_eq!(said_at(WEDNESDAY, text), expected, "{text}");
    }
}

#[test]
fn the_day_is_the_one_on_the_speakers_clock() {
    for (stamp, text, expected) in [
        // The same instant is Sunday in London and already Monday in Tokyo.
        ("2026-03-01T23:30:00Z", "yesterday", "on 2026-02-28"),
        ("2026-03-02T08:30:00+09:00", "yesterday", "on 2026-03-01"),
        ("2026-03-01T18:30:00-05:00", "tomorrow", "on 2026-03-02"),
        ("2026-03-01T23:30:00Z", "last week", "in the week of 2026-02-16"),
        ("2026-03-02T08:30:00+09:00", "last week", "in the week of 2026-02-23"),
        ("2026-03-01T23:30:00Z", "this month", "in 2026-03"),
        ("2026-02-28T23:30:00-08:00", "this month", "in 2026-02"),
        ("2026-01-01T00:30:00+01:00", "an hour ago", "on 2025-12-31"),
        ("2025-12-31T23:30:00Z", "an hour ago", "on 2025-12-31"),
        ("2025-12-31T23:30:00Z", "next year", "in 2026"),
        ("2026-01-01T05:00:00+05:30", "last year", "in 2025"),
        ("2024-02-28T22:00:00Z", "tomorrow", "on 2024-02-29"),
        ("2026-03-31T12:00:00Z", "a month ago", "in 2026-02"),
        ("2026-03-02T07:00:00+08:00", "昨天", "2026-03-01"),
        ("2026-03-01T23:00:00Z", "昨天", "2026-02-28"),
        ("2026-01-01T00:10:00+08:00", "半个小时前和20分钟前", "半个小时前和2025-12-31"),
    ] {
        assert_eq!(said_at(stamp, text), expected, "{stamp} {text}");
    }
}

#[test]
fn what_ends_a_time_does_not_begin_it() {
    let now = Some(jiff::civil::date(2026, 3, 4).at(12, 0, 0, 0));
    for (text, first) in [
        ("since April 10", Some(jiff::civil::date(2025, 4, 10))),
        ("from tomorrow", Some(jiff::civil::date(2026, 3, 5))),
        ("until tomorrow", None),
        ("by next Friday", None),
    ] {
        assert_eq!(english(text, now).first, first, "{text}");
    }
}

#[test]
fn words_stay_where_the_day_is_not_known() {
    assert_eq!(english("yesterday", None), Dated { text: "yesterday".into(), first: None });
}

#[test]
fn the_end_of_the_calendar_is_survived() {
    for now in [DateTime::MAX, DateTime::MIN] {
        for text in
            ["in 900 years", "900 years ago", "tomorrow", "yesterday", "next week", "last week", "since May", "by May"]
        {
            english(text, Some(now));
        }
        chinese("三天后和三天前", Some(now));
    }
}

#[test]
fn spoken_dates_get_their_day_beside_them() {
    // A Wednesday.
    let now = Some(jiff::civil::date(2026, 3, 4).at(12, 0, 0, 0));
    for (tongue, text, expected) in [
        (Tongue::English, "due next Friday", "due next Friday (2026-03-13)"),
        (Tongue::English, "I sold it on Friday", "I sold it on Friday (2026-02-27)"),
        (Tongue::English, "the freeze ends on Sunday", "the freeze ends on Sunday (2026-03-08)"),
        (Tongue::English, "starts Monday the twenty-third", "starts Monday the twenty-third (2026-03-23)"),
        (Tongue::English, "is Saturday 28 Feb at 5", "is Saturday 28 Feb (2026-02-28) at 5"),
        (Tongue::English, "from the first of May", "from the first of May (2026-05-01)"),
        (Tongue::English, "Sundays are free", "Sundays are free"),
        (Tongue::German, "seit gestern am Montag", "seit gestern (2026-03-03) am Montag"),
        (Tongue::German, "am kommenden Montag", "am kommenden Montag (2026-03-09)"),
        (Tongue::German, "nächsten Montag", "nächsten Montag"),
        (Tongue::German, "vor zwei Tagen, Guten Morgen", "vor zwei Tagen (2026-03-02), Guten Morgen"),
        (Tongue::German, "letzte Woche", "letzte Woche (Woche ab 2026-02-23)"),
        (Tongue::Spanish, "ayer vendí el coche", "ayer (2026-03-03) vendí el coche"),
        (Tongue::Spanish, "desde el lunes pasado", "desde el lunes pasado (2026-03-02)"),
        (Tongue::Spanish, "el domingo que viene", "el domingo que viene (2026-03-08)"),
        (Tongue::Spanish, "el jueves que viene", "el jueves que viene"),
        (Tongue::Spanish, "hace dos meses", "hace dos meses (2026-01)"),
        (Tongue::Chinese, "下周三上线", "下周三（2026-03-11）上线"),
    ] {
        assert_eq!(noted(tongue, text, now).text, expected);
        assert_eq!(noted(tongue, text, None).text, text);
    }
}
