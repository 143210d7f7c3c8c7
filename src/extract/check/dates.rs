//! Finds dates in a claim that do not appear in the conversation and cannot be derived from the time of a message.
//!
//! A common error is to resolve a relative date against a day other than that of the message, such as today when an old
//! conversation is read. A date is accepted if it lies within the range of a time expression that was used.

use std::ops::Range;
use std::sync::LazyLock;

use jiff::civil::{Date, date};
use jiff::tz::Offset;
use jiff::{Timestamp, ToSpan};
use regex::Regex;

use super::numbers::counts;
use crate::text::date::{Days, TimeSpan, Written, bare_months, lapses, written};
use crate::text::number::digit;

/// The model may judge that something matters for at most this many days without anybody having said so.
const MAX_JUDGED_DAYS: i32 = 400;

/// Maximum range, in days, of a time expression that is also used outside its session.
const NEAR_DAYS: i32 = 9;
/// Maximum number of days and spans that are combined. With more, almost any date could be derived.
const MAX_COUNTED: usize = 200;

/// The dates that a claim may mention.
#[derive(Debug, Default)]
pub(super) struct Dates {
    spans: Vec<(Date, Date)>,
    /// Years of birth and similar years that follow from an age.
    years: Vec<i16>,
    /// Days on which something was said.
    stamps: Vec<Date>,
    /// Days that were mentioned, which may be the starting points of time spans.
    named: Vec<(Date, Date)>,
    lapses: Vec<TimeSpan>,
    /// Whether time expressions with a long range are ignored.
    is_near: bool,
}

impl Dates {
    /// Returns an empty set that ignores time expressions with a long range.
    pub(super) fn near() -> Self {
        Self { is_near: true, ..Self::default() }
    }

    /// Adds a text, and the day on the speaker's calendar on which it was said.
    pub(super) fn add(&mut self, text: &str, said_on: Option<Date>) {
        let dates = written(text);
        self.add_bare_years(text, &dates);
        let months = bare_months(text, &dates);
        for days in dates.into_iter().flat_map(|one| one.meanings).chain(months) {
            let named: Vec<_> = match (days.year, said_on) {
                (Some(year), _) => days.within(year).into_iter().collect(),
                (None, Some(today)) => {
                    // "On 3 January" said in December refers to the next year, so the adjacent years count as well.
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
            // Whether this year's birthday has passed is unknown, so two years are possible.
            self.years.extend(ages.flat_map(|age| [today.year() - age, today.year() - age - 1]));
        }
    }

    fn add_named(&mut self, named: Vec<(Date, Date)>) {
        for days in named {
            // A span of weeks is never counted from a whole year.
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
            // Logs in UTC differ by a day for speakers far east or west.
            self.spans.extend(today.yesterday().ok().zip(today.tomorrow().ok()));
        }
    }

    /// Adds every number that looks like a year, whatever its context.
    fn add_bare_years(&mut self, text: &str, dates: &[Written]) {
        let is_alone = |at: usize| !dates.iter().any(|date| date.at.contains(&at));
        let runs = text.split(|c| digit(c).is_none()).filter(|run| run.len() == 4);
        let runs = runs.filter(|run| is_alone(run.as_ptr() as usize - text.as_ptr() as usize));
        // Other four-digit numbers are ports and amounts far more often than years.
        let years = runs.filter_map(|run| run.parse::<i16>().ok()).filter(|year| (1500..2200).contains(year));
        self.spans.extend(years.filter_map(|year| Some((Date::new(year, 1, 1).ok()?, Date::new(year, 12, 31).ok()?))));
    }

    /// Whether a number may be a year that can be traced to one of `sources`.
    pub(super) fn have_year(sources: &[&Self], number: &str) -> bool {
        let dates = written(&as_field(number));
        let is_traced = |days: &Days| sources.iter().any(|source| source.is_traced(*days));
        number.len() == 4 && dates.iter().any(|one| one.meanings.iter().any(is_traced))
    }

    /// Returns where dates appear in `content`.
    pub(super) fn places(content: &str) -> Vec<Range<usize>> {
        written(content).into_iter().map(|one| one.at).collect()
    }

    /// Returns the first date in `content` that can be traced to none of `sources`.
    pub(super) fn foreign<'t>(sources: &[&Self], content: &'t str) -> Option<&'t str> {
        let is_traced = |days: &Days| sources.iter().any(|source| source.is_traced(*days));
        written(content).into_iter().find(|one| !one.meanings.iter().any(is_traced)).map(|one| &content[one.at])
    }

    /// Whether `text`, the beginning or end of a period, can be traced to one of `sources`.
    pub(super) fn may_hold(sources: &[&Self], text: &str) -> bool {
        Self::foreign(sources, &as_field(text)).is_none()
    }

    /// Whether `text`, an expiry date, can be traced to a source, or is a judgement close to the time of the statement.
    pub(super) fn may_expire(&self, text: &str) -> bool {
        let near = |days: &Days| {
            let Some((first, last)) = days.year.and_then(|year| days.within(year)) else { return false };
            self.stamps.iter().any(|stamp| {
                stamp.checked_add(MAX_JUDGED_DAYS.days()).is_ok_and(|limit| last >= *stamp && first <= limit)
            })
        };
        written(&as_field(text)).iter().all(|one| one.meanings.iter().any(|days| near(days) || self.is_traced(*days)))
    }

    /// Whether a span of time leads from a mentioned day to a day between `first` and `last`.
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
                // Without any known date, a day without a year cannot be checked.
                years.is_empty() || years.into_iter().any(meets)
            }
        }
    }
}

/// Returns a field in a form in which a bare year is also recognised as a date.
fn as_field(text: &str) -> String {
    format!("in {}", text.trim())
}

/// Time expressions, and the first and last day that they may refer to, relative to the day of the message.
const REACHES: &[(&str, i32, i32)] = &[
    (
        r"\b(?:today|tonight|now|this (?:morning|afternoon|evening)|just|heute|jetzt|gerade|hoy|ahora|esta noche)\b|今天|今日|今晚|今早|现在|刚才|刚刚|目前",
        -1,
        1,
    ),
    (r"\b(?:yesterday|last night|gestern|ayer|anoche)\b|昨天|昨日|昨晚|昨夜", -2, 0),
    (
        r"\b(?:tomorrow|morgen|übermorgen|day after tomorrow|mañana|pasado mañana)\b|明天|明日|明晚|明早|后天|大后天",
        0,
        3,
    ),
    (
        r"\b(?:day before yesterday|the other day|vorgestern|neulich|anteayer|antier|el otro día)\b|前天|大前天|前几天|前些天|这几天",
        -21,
        1,
    ),
    (
        r"(?i)\b(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:days?)?\b|\b(?:montag|dienstag|mittwoch|donnerstag|freitag|samstag|sonnabend|sonntag|lunes|martes|miércoles|jueves|viernes|sábado|domingo)s?\b|(?-i:\b(?:Mo|Di|Mi|Do|Fr|Sa|So)\.?\s?(?:bis|und|oder|[-–/,+&])\s?(?:Mo|Di|Mi|Do|Fr|Sa|So)\b|\b(?:am|ab|bis|jeden|nächsten)\s(?:Mo|Di|Mi|Do|Fr|Sa|So)\b)|(?:周|星期|礼拜|週)[一二三四五六日天末]",
        -14,
        15,
    ),
    (
        r"\b(?:this|diese[rsn]?|esta|este|current|aktuelle[nr]?)\s+(?:week|weekend|woche|wochenende|semana|fin de semana|sprint)\b|\b(?:weekend|wochenende|fin de semana|finde)\b|[这本]个?(?:周|星期|礼拜)",
        -8,
        8,
    ),
    (
        r"\b(?:last|past|previous|earlier this|letzte[rsn]?|vorige[rsn]?|vergangene[rsn]?)\s+(?:week|weekend|woche|wochenende|few days)\b|semana pasada|fin de semana pasado|上+个?(?:周|星期|礼拜)",
        -23,
        1,
    ),
    (
        r"\b(?:next|coming|following|nächste[rsn]?|kommende[rsn]?|übernächste[rsn]?)\s+(?:week|weekend|woche|wochenende|sprint|few days)\b|(?:próxima semana|semana que viene|próximo fin de semana)|下+个?(?:周|星期|礼拜)",
        0,
        23,
    ),
    (
        r"\b(?:last|past|previous|letzte[rsn]?|vorige[rsn]?|vergangene[rsn]?)\s+(?:month|monat|few weeks|couple of weeks)\b|mes pasado|上+个?月|前几周|几周前",
        -93,
        0,
    ),
    (
        r"\b(?:next|coming|following|nächste[rsn]?|kommende[rsn]?)\s+(?:month|monat|few weeks)\b|próximo mes|mes que viene|下+个?月",
        0,
        93,
    ),
    (
        r"\b(?:this|diese[nrs]?|este|current)\s+(?:month|monat|mes)\b|(?:end|beginning|start|middle) of (?:the )?month|mid-month|mitte des monats|monatsanfang|anfang des monats|(?:a )?(?:principios|mediados) de(?:l)? mes|\beom\b|monatsende|ende des monats|fin(?:al|ales)? de(?:l)? mes|[这本]个?月|月底|月初|月末",
        -31,
        31,
    ),
    (
        r"\b(?:last|this|next|letzte[ns]?|nächste[ns]?|diese[ns]?|próximo|este)\s+(?:quarter|quartal|trimestre|semester|semestre)\b|\b(?:end|start|beginning) of (?:the )?quarter\b|quartalsende|ende des quartals|fin(?:al|ales)? de(?:l)? trimestre|季度|学期",
        -200,
        200,
    ),
    (
        r"\b(?:last|past|previous|letzte[ns]?|voriges|vergangene[ns]?)\s+(?:year|jahr)\b|año pasado|vorjahr|去年",
        -731,
        0,
    ),
    (r"前年|vorletztes jahr|year before last|antepasado", -1_100, -300),
    (r"大前年", -1_500, -700),
    (r"\b(?:next|coming|nächste[ns]?|kommende[ns]?)\s+(?:year|jahr)\b|próximo año|año que viene|明年|来年", 0, 731),
    (r"后年|year after next|übernächstes jahr", 300, 1_100),
    (
        r"\b(?:this|diese[sn]?|este)\s+(?:year|jahr|año)\b|\b(?:end|beginning|start|middle) of the year\b|jahresende|jahresanfang|ende des jahres|heuer|fin(?:al|ales)? de(?:l)? año|今年|本年|年底|年初|年末|年中",
        -366,
        366,
    ),
    (
        r"(?i)\b(?:last|letzte[nrs]?|vergangene[nrs]?)\s+(?:spring|summer|autumn|fall|winter|frühling|frühjahr|sommer|herbst)\b|(?:primavera|verano|otoño|invierno) pasad[oa]",
        -480,
        30,
    ),
    (
        r"(?i)\b(?:spring|summer|autumn|fall|winter|frühling|frühjahr|sommer|herbst|primavera|verano|otoño|invierno)s?\b|春天|夏天|秋天|冬天|春季|夏季|秋季|冬季|暑假|寒假|开春|入秋",
        -480,
        460,
    ),
    (
        r"(?i)christmas|xmas|easter|good friday|pentecost|whitsun|boxing day|passover|ramadan|\beid\b|diwali|hanukkah|lunar new year|mother's day|father's day|independence day|labou?r day|memorial day|karfreitag|himmelfahrt|fronleichnam|heiligabend|fasching|karneval|muttertag|tag der arbeit|tag der deutschen einheit|nochebuena|viernes santo|carnaval|san juan|año nuevo|jahrestag|hochzeitstag|jubiläum|thanksgiving|halloween|new year|holidays|black friday|valentine|birthday|anniversary|weihnacht|ostern|pfingsten|silvester|neujahr|advent|geburtstag|ferien|navidad|nochevieja|semana santa|reyes|cumpleaños|aniversario|vacaciones|春节|过年|国庆|中秋|端午|元旦|清明|五一|十一|圣诞|生日|周年|除夕|元宵|重阳|七夕|劳动节|母亲节|父亲节|情人节|儿童节|腊八|小年|纪念日",
        -400,
        400,
    ),
    (
        r"\b(?:recently|lately|newly|these days|kürzlich|vor kurzem|zuletzt|in letzter zeit|recientemente|últimamente|hace poco)\b|最近|近期|近来|不久前|前阵子|前段时间",
        -200,
        1,
    ),
    (r"\b(?:soon|shortly|upcoming|bald|demnächst|in kürze|pronto|dentro de poco)\b|马上|很快|即将|不久|快要", 0, 200),
    (
        r"\b(?:a few|few|several|couple(?: of)?|some|ein paar|einige[nr]?|mehrere[nr]?|un par de|unos|algunos|varios)\s+(?:days|tage[n]?|días)\b|几天|数天|几日",
        -21,
        21,
    ),
    (
        r"\b(?:a few|few|several|couple(?: of)?|some|ein paar|einige[nr]?|mehrere[nr]?|un par de|unas|algunas|varias)\s+(?:weeks|wochen|semanas)\b|几周|几个星期|数周",
        -90,
        90,
    ),
    (
        r"\b(?:a few|few|several|couple(?: of)?|some|ein paar|einige[nr]?|mehrere[nr]?|un par de|unos|algunos|varios)\s+(?:months|monate[n]?|meses)\b|几个月|数月|半年|half a year|half-year|halbes jahr|medio año",
        -400,
        400,
    ),
    (
        r"\b(?:a few|few|several|couple(?: of)?|some|many|ein paar|einige[nr]?|viele[nr]?|un par de|unos|algunos|varios|muchos)\s+(?:years|jahre[n]?|años)\b|几年|多年|数年|好几年|decades?|jahrzehnt",
        -12_000,
        4_000,
    ),
    (
        r"\b(?:childhood|as a (?:kid|child|teen)|teenager|growing up|back then|long ago|in my (?:twenties|thirties|teens)|kindheit|als kind|früher|de niñ[oa]|infancia|hace mucho)\b|小时候|童年|从小|很久以前|以前|当年",
        -36_500,
        0,
    ),
];

/// Writing systems of languages whose time expressions are not recognised.
const OTHER_LANGUAGE: &str = r"[\p{Cyrillic}\p{Hiragana}\p{Katakana}\p{Hangul}\p{Arabic}\p{Hebrew}\p{Thai}\p{Devanagari}\p{Greek}]|(?i)\b(?:hier|demain|aujourd|semaine|mois|année|depuis|prochaine?|dernière?|ieri|domani|oggi|settimana|mese|anno|prossim[ao]|scors[ao]|ontem|amanhã|hoje|mês|ano passado|próximo ano|gisteren|vandaag|volgende|vorige|igår|idag|wczoraj|jutro|dün|yarın)\b";

static TABLE: LazyLock<Vec<(Regex, i32, i32)>> = LazyLock::new(|| {
    let compile =
        |pattern: &str| Regex::new(&format!("(?i){pattern}")).expect("the pattern is constant and a test compiles it");
    let mut table: Vec<_> = REACHES.iter().map(|&(pattern, from, to)| (compile(pattern), from, to)).collect();
    // Words that are not recognised may refer to any day within about a year. A correct claim must not fail because of
    // them.
    table.push((compile(OTHER_LANGUAGE), -400, 400));
    table
});

/// Returns the spans of days that the time expressions in `text` may refer to when they are used on `today`.
fn reach(text: &str, today: Date) -> Vec<(Date, Date)> {
    let span = |from: i32, to: i32| Some((today.checked_add(from.days()).ok()?, today.checked_add(to.days()).ok()?));
    let named = TABLE.iter().filter(|(pattern, ..)| pattern.is_match(text)).filter_map(|&(_, from, to)| span(from, to));
    let mut spans: Vec<_> = named.collect();
    for one in lapses(text) {
        // People round numbers: the longer ago, the less exact. "Three weeks ago" may be off by a week.
        let slack = (one.days / 6).max(one.unit).min(500) + 1;
        spans.extend(span(-one.days - slack, (slack - one.days).min(1)).filter(|_| one.may_be_past));
        spans.extend(span((one.days - slack).max(-1), one.days + slack).filter(|_| one.may_be_ahead));
    }
    spans.extend(days_of_month(text, today));
    spans
}

static DAY_OF_MONTH: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)\b(?P<d>[12]?\d|3[01])(?:st|nd|rd|th)\b|\b(?:am|zum|bis|den|ab)\s+(?P<g>[12]?\d|3[01])\.|\b(?:el|día|hasta el)\s+(?P<s>[12]?\d|3[01])\b|(?P<c>[12]?\d|3[01])[号號日]")
        .expect("the pattern is constant and a test compiles it")
});

/// "On the 5th" is that day of this month or of an adjacent month.
fn days_of_month(text: &str, today: Date) -> Vec<(Date, Date)> {
    let numbers = DAY_OF_MONTH
        .captures_iter(text)
        .filter_map(|found| ["d", "g", "s", "c"].iter().find_map(|name| found.name(name))?.as_str().parse::<i8>().ok());
    numbers
        .flat_map(|day| {
            (-2..=2_i32).filter_map(move |months| {
                let month = today.first_of_month().checked_add(months.months()).ok()?;
                let date = Date::new(month.year(), month.month(), day).ok()?;
                Some((date, date))
            })
        })
        .collect()
}

/// The boundary of a year, month or day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::extract) enum Edge {
    /// The first second of the period.
    First,
    /// The last second of the period.
    Last,
}

/// Reads a year, a month, a day or a full time stamp as the instant of its `edge` on a clock at `offset_seconds`.
pub(in crate::extract) fn instant(text: &str, edge: Edge, offset_seconds: i32) -> Option<Timestamp> {
    let text = text.trim();
    if let Ok(at) = text.parse::<Timestamp>() {
        return Some(at);
    }
    // Anything after a day, such as a time without an offset, exceeds the requested precision.
    let day = text.get(..10).filter(|_| text.get(10..11).is_none_or(|next| next == "T" || next == " ")).unwrap_or(text);
    let parts: Vec<&str> = day.split('-').collect();
    let number = |part: &str, digits: usize| (part.len() == digits).then(|| part.parse::<i16>().ok()).flatten();
    let (first, next) = match parts[..] {
        [year] => {
            let first = Date::new(number(year, 4)?, 1, 1).ok()?;
            (first, first.checked_add(1.year()))
        }
        [year, month] => {
            let first = Date::new(number(year, 4)?, i8::try_from(number(month, 2)?).ok()?, 1).ok()?;
            (first, first.checked_add(1.month()))
        }
        [year, month, day] => {
            let (month, day) = (i8::try_from(number(month, 2)?).ok()?, i8::try_from(number(day, 2)?).ok()?);
            let first = Date::new(number(year, 4)?, month, day).ok()?;
            (first, first.checked_add(1.day()))
        }
        _ => return None,
    };
    // Memories do not contain dates outside this range, so such a date is an error.
    if !(date(1000, 1, 1)..date(4000, 1, 1)).contains(&first) {
        return None;
    }
    let offset = Offset::from_seconds(offset_seconds).unwrap_or(Offset::UTC);
    let at = |date: Date| offset.to_timestamp(date.to_datetime(jiff::civil::Time::midnight())).ok();
    match edge {
        Edge::First => at(first),
        Edge::Last => at(next.ok()?)?.checked_sub(1.second()).ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_of_three_precisions_cover_their_whole_span() {
        for (text, first, last) in [
            ("2026", "2025-12-31T22:00:00Z", "2026-12-31T21:59:59Z"),
            ("2026-02", "2026-01-31T22:00:00Z", "2026-02-28T21:59:59Z"),
            (" 2024-02-29 ", "2024-02-28T22:00:00Z", "2024-02-29T21:59:59Z"),
            ("2024-02-29T10:00", "2024-02-28T22:00:00Z", "2024-02-29T21:59:59Z"),
            ("2026-03-01T14:00:00+02:00", "2026-03-01T12:00:00Z", "2026-03-01T12:00:00Z"),
        ] {
            let at = |edge| instant(text, edge, 7_200).map(|at| at.to_string());
            assert_eq!((at(Edge::First).as_deref(), at(Edge::Last).as_deref()), (Some(first), Some(last)), "{text}");
        }
        for text in [
            "",
            "soon",
            "2026-13",
            "2026-02-30",
            "26",
            "2026-3-1",
            "0001",
            "9999",
            "2026-03-011",
            "March 2026",
            "去年",
            "-2026",
        ] {
            assert_eq!(instant(text, Edge::First, 0), None, "{text}");
        }
    }
}
