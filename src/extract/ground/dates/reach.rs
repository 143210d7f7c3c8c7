//! How far the words of time in a message reach from the day on which they were said.

use std::sync::LazyLock;

use jiff::ToSpan;
use jiff::civil::Date;
use regex::Regex;

/// Words of time, and the first and last day that they may mean, counted from the day of the message.
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
        r"(?i)\b(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:days?)?\b|\b(?:montag|dienstag|mittwoch|donnerstag|freitag|samstag|sonnabend|sonntag|lunes|martes|miércoles|jueves|viernes|sábado|domingo)s?\b|(?:周|星期|礼拜|週)[一二三四五六日天末]",
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
        r"\b(?:this|diese[nrs]?|este|current)\s+(?:month|monat|mes)\b|end of (?:the )?month|\beom\b|monatsende|ende des monats|fin(?:ales)? de mes|[这本]个?月|月底|月初|月末",
        -31,
        31,
    ),
    (
        r"\b(?:last|this|next|letzte[ns]?|nächste[ns]?|diese[ns]?|próximo|este)\s+(?:quarter|quartal|trimestre|semester|semestre)\b|\bend of (?:the )?quarter\b|季度|学期",
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
        r"\b(?:this|diese[sn]?|este)\s+(?:year|jahr|año)\b|\b(?:end|beginning|start|middle) of the year\b|jahresende|jahresanfang|ende des jahres|heuer|fin(?:ales)? de año|今年|本年|年底|年初|年末|年中",
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
        r"(?i)christmas|xmas|easter|thanksgiving|halloween|new year|holidays|black friday|valentine|birthday|anniversary|weihnacht|ostern|pfingsten|silvester|neujahr|advent|geburtstag|ferien|navidad|nochevieja|semana santa|reyes|cumpleaños|aniversario|vacaciones|春节|过年|国庆|中秋|端午|元旦|清明|五一|十一|圣诞|生日|周年|除夕",
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

/// Whole languages whose words of time are not read here.
const OTHER_LANGUAGE: &str = r"[\p{Cyrillic}\p{Hiragana}\p{Katakana}\p{Hangul}\p{Arabic}\p{Hebrew}\p{Thai}\p{Devanagari}\p{Greek}]|(?i)\b(?:hier|demain|aujourd|semaine|mois|année|depuis|prochaine?|dernière?|ieri|domani|oggi|settimana|mese|anno|prossim[ao]|scors[ao]|ontem|amanhã|hoje|mês|ano passado|próximo ano|gisteren|vandaag|volgende|vorige|igår|idag|wczoraj|jutro|dün|yarın)\b";

static TABLE: LazyLock<Vec<(Regex, i32, i32)>> = LazyLock::new(|| {
    let compile =
        |pattern: &str| Regex::new(&format!("(?i){pattern}")).expect("the pattern is constant and a test compiles it");
    let mut table: Vec<_> = REACHES.iter().map(|&(pattern, from, to)| (compile(pattern), from, to)).collect();
    table.push((compile(OTHER_LANGUAGE), -400, 400));
    table
});

static COUNTED: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(concat!(
        r"(?i)(?P<n>\d{1,3}|\b(?:an?|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|fifteen|twenty|thirty|forty|fifty",
        r"|eine[rmn]?|zwei|drei|vier|fünf|sechs|sieben|acht|neun|zehn|elf|zwölf|zwanzig|dreißig",
        r"|una?|dos|tres|cuatro|cinco|seis|siete|ocho|nueve|diez|once|doce|quince|veinte|treinta)|[一两二三四五六七八九十]{1,3})",
        r"(?:\s+and a half|\s+more|\s+weitere[n]?|\s+full)?[\s-]*(?:个半?)?",
        r"(?P<unit>minute|minuto|hour|stunde|hora|day|tag|día|week|woche|semana|fortnight|month|monat|mes|quarter|year|jahr|año|分钟|小时|钟头|天|日|周|星期|礼拜|月|年)",
    ))
    .expect("the pattern is constant and a test compiles it")
});

/// Returns the days that the words of time in `text` may mean when they are said on `today`, as spans.
pub(super) fn reach(text: &str, today: Date) -> Vec<(Date, Date)> {
    let span = |from: i32, to: i32| Some((today.checked_add(from.days()).ok()?, today.checked_add(to.days()).ok()?));
    let named = TABLE.iter().filter(|(pattern, ..)| pattern.is_match(text)).filter_map(|&(_, from, to)| span(from, to));
    let mut spans: Vec<_> = named.collect();
    for found in COUNTED.captures_iter(text) {
        let (count, days) = (count(&found["n"]), days(&found["unit"].to_lowercase()));
        let (middle, slack) = (count * days, (count * days / 6).max(days).min(500) + 1);
        let whole = found.get(0).map_or(0..0, |whole| whole.range());
        let (may_be_past, may_be_ahead) = directions(&text[..whole.start], &text[whole.end..]);
        spans.extend(span(-middle - slack, (slack - middle).min(1)).filter(|_| may_be_past));
        spans.extend(span((middle - slack).max(-1), middle + slack).filter(|_| may_be_ahead));
    }
    spans.extend(days_of_month(text, today));
    spans
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
        "quarter" => 91,
        _ => 365,
    }
}

fn count(word: &str) -> i32 {
    const WORDS: [&[&str]; 13] = [
        &[],
        &["a", "an", "one", "un", "una", "一"],
        &["two", "zwei", "dos", "两", "二"],
        &["three", "drei", "tres", "三"],
        &["four", "vier", "cuatro", "四"],
        &["five", "fünf", "cinco", "五"],
        &["six", "sechs", "seis", "六"],
        &["seven", "sieben", "siete", "七"],
        &["eight", "acht", "ocho", "八"],
        &["nine", "neun", "nueve", "九"],
        &["ten", "zehn", "diez", "十"],
        &["eleven", "elf", "once", "十一"],
        &["twelve", "zwölf", "doce", "十二"],
    ];
    let word = word.to_lowercase();
    if let Ok(number) = word.parse() {
        return number;
    }
    let named = WORDS.iter().position(|names| names.contains(&word.as_str())).and_then(|at| i32::try_from(at).ok());
    named.unwrap_or(match word.as_str() {
        "fifteen" | "quince" | "十五" => 15,
        "twenty" | "zwanzig" | "veinte" | "二十" => 20,
        "thirty" | "dreißig" | "treinta" | "三十" => 30,
        "forty" | "四十" => 40,
        "fifty" | "五十" => 50,
        _ => 1,
    })
}

static DAY_OF_MONTH: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)\b(?P<d>[12]?\d|3[01])(?:st|nd|rd|th)\b|\b(?:am|zum|bis|den|ab)\s+(?P<g>[12]?\d|3[01])\.|\b(?:el|día|hasta el)\s+(?P<s>[12]?\d|3[01])\b|(?P<c>[12]?\d|3[01])[号號日]")
        .expect("the pattern is constant and a test compiles it")
});

/// "On the 5th" is that day of this month or of a neighbour.
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
