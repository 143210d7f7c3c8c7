//! Spans of time in a message, counted or named: six weeks, 半年, anderthalb Jahre.

use std::sync::LazyLock;

use regex::Regex;

use super::written::chinese;

/// A span of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Lapse {
    /// Its length.
    pub days: i32,
    /// Days of the unit that it is counted in.
    pub unit: i32,
    /// Whether it may lead back from when it was said.
    pub may_be_past: bool,
    /// Whether it may lead on from when it was said.
    pub may_be_ahead: bool,
}

impl Lapse {
    /// By how many days an end that is counted from a day may be off: calendars have months of several lengths, and a
    /// first or last day counts or not.
    pub(super) fn slack(self) -> i32 {
        match self.unit {
            ..=14 => 1,
            _ => 4,
        }
    }
}

/// Halves, each with its days and those of its unit.
const HALVES: &[(&str, i32, i32)] = &[
    (r"half a year|half-year|halbe[sn]? jahr|medio año|半年", 182, 30),
    (r"half a month|half-month|halbe[nr]? monat|medio mes|半个月", 15, 7),
    (r"anderthalb jahre|eineinhalb jahre|year and a half|año y medio|一年半", 548, 30),
    (r"anderthalb monate|eineinhalb monate|month and a half|mes y medio|一个半月", 46, 7),
    (r"anderthalb wochen|eineinhalb wochen|week and a half|semana y media|一周半", 11, 2),
];

static HALF: LazyLock<Vec<(Regex, i32, i32)>> = LazyLock::new(|| {
    let compile =
        |pattern: &str| Regex::new(&format!("(?i){pattern}")).expect("the pattern is constant and a test compiles it");
    HALVES.iter().map(|&(pattern, days, unit)| (compile(pattern), days, unit)).collect()
});

static COUNTED: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(concat!(
        r"(?i)(?P<n>\d{1,3}|\b(?:an?|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen|seventeen|eighteen|nineteen|twenty|thirty|forty|fifty",
        r"|eine[rmn]?|ein|zwei|drei|vier|fünf|sechs|sieben|acht|neun|zehn|elf|zwölf|dreizehn|vierzehn|fünfzehn|sechzehn|siebzehn|achtzehn|neunzehn|zwanzig|dreißig",
        r"|una?|dos|tres|cuatro|cinco|seis|siete|ocho|nueve|diez|once|doce|trece|catorce|quince|dieciséis|diecisiete|dieciocho|diecinueve|veinte|treinta)|[一两俩二三四五六七八九十]{1,3})",
        r"(?:\s+and a half|\s+more|\s+weitere[n]?|\s+full)?[\s-]*(?:个半?)?",
        r"(?P<unit>minute|minuto|hour|stunde|hora|day|tag|día|week|woche|semana|fortnight|month|monat|mes|quarter|quartal|trimestre|year|jahr|año|分钟|小时|钟头|天|日|周|星期|礼拜|季度|月|年)",
    ))
    .expect("the pattern is constant and a test compiles it")
});

/// Returns the spans of time in `text`.
pub(super) fn lapses(text: &str) -> Vec<Lapse> {
    let lapse = |at: std::ops::Range<usize>, days, unit| {
        let (may_be_past, may_be_ahead) = directions(&text[..at.start], &text[at.end..]);
        Lapse { days, unit, may_be_past, may_be_ahead }
    };
    let counted = COUNTED.captures_iter(text).map(|found| {
        let (count, days) = (count(&found["n"]), days(&found["unit"].to_lowercase()));
        let length =
            if days == 365 { (count * 1_461 + 2) / 4 } else { count * days + count * i32::from(days == 30) / 2 };
        lapse(found.get(0).map_or(0..0, |whole| whole.range()), length, days)
    });
    let halves = HALF
        .iter()
        .flat_map(|(pattern, days, unit)| pattern.find_iter(text).map(|found| lapse(found.range(), *days, *unit)));
    counted.chain(halves).collect()
}

static PAST: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)(?:\b(?:for|since|vor|seit|hace|past|last|after|letzten|vergangenen|últimos)\s+(?:the\s+|den\s+)?(?:last\s+|past\s+)?|已经|过去|工作了|住了|用了)$")
        .expect("the pattern is constant and a test compiles it")
});
static AHEAD: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)(?:\b(?:in|within|next|innerhalb von|nächsten|dentro de|en|próximos)\s+(?:the\s+|den\s+)?(?:next\s+)?|未来|再过)$")
        .expect("the pattern is constant and a test compiles it")
});
static SINCE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)^\w{0,3}(?:\s+(?:ago|old|alt|earlier|früher|atrás|before)\b|之?前|以前|了)")
        .expect("the pattern is constant and a test compiles it")
});
static LATER: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)^\w{0,3}(?:\s+(?:from now|from today|later|später|después)\b|之?后|以后)")
        .expect("the pattern is constant and a test compiles it")
});

/// Whether a span of time between these words may lie in the past, and ahead.
fn directions(before: &str, after: &str) -> (bool, bool) {
    let (past, ahead) =
        (PAST.is_match(before) || SINCE.is_match(after), AHEAD.is_match(before) || LATER.is_match(after));
    if past == ahead { (true, true) } else { (past, ahead) }
}

fn days(unit: &str) -> i32 {
    match unit {
        "minute" | "minuto" | "hour" | "stunde" | "hora" | "分钟" | "小时" | "钟头" => 0,
        "day" | "tag" | "día" | "天" | "日" => 1,
        "week" | "woche" | "semana" | "周" | "星期" | "礼拜" => 7,
        "fortnight" => 14,
        "month" | "monat" | "mes" | "月" => 30,
        "quarter" | "quartal" | "trimestre" | "季度" => 91,
        _ => 365,
    }
}

/// Small numbers by their value, from one.
const WORDS: [&str; 20] = [
    "a an one ein eine einem einen einer un una 一",
    "two zwei dos 两 俩",
    "three drei tres",
    "four vier cuatro",
    "five fünf cinco",
    "six sechs seis",
    "seven sieben siete",
    "eight acht ocho",
    "nine neun nueve",
    "ten zehn diez",
    "eleven elf once",
    "twelve zwölf doce",
    "thirteen dreizehn trece",
    "fourteen vierzehn catorce",
    "fifteen fünfzehn quince",
    "sixteen sechzehn dieciséis",
    "seventeen siebzehn diecisiete",
    "eighteen achtzehn dieciocho",
    "nineteen neunzehn diecinueve",
    "twenty zwanzig veinte",
];

fn count(word: &str) -> i32 {
    let word = word.to_lowercase();
    if let Some(number) = word.parse().ok().or_else(|| chinese(&word).map(i32::from)) {
        return number;
    }
    let named = WORDS.iter().position(|names| names.split(' ').any(|name| name == word));
    named.and_then(|at| i32::try_from(at + 1).ok()).unwrap_or(match word.as_str() {
        "thirty" | "dreißig" | "treinta" => 30,
        "forty" => 40,
        "fifty" => 50,
        _ => 1,
    })
}
