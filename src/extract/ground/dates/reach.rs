//! How far the words of time in a message reach from the day on which they were said.

use std::sync::LazyLock;

use jiff::ToSpan;
use jiff::civil::Date;
use regex::Regex;

use super::lapse::lapses;

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

/// Whole languages whose words of time are not read here.
const OTHER_LANGUAGE: &str = r"[\p{Cyrillic}\p{Hiragana}\p{Katakana}\p{Hangul}\p{Arabic}\p{Hebrew}\p{Thai}\p{Devanagari}\p{Greek}]|(?i)\b(?:hier|demain|aujourd|semaine|mois|année|depuis|prochaine?|dernière?|ieri|domani|oggi|settimana|mese|anno|prossim[ao]|scors[ao]|ontem|amanhã|hoje|mês|ano passado|próximo ano|gisteren|vandaag|volgende|vorige|igår|idag|wczoraj|jutro|dün|yarın)\b";

static TABLE: LazyLock<Vec<(Regex, i32, i32)>> = LazyLock::new(|| {
    let compile =
        |pattern: &str| Regex::new(&format!("(?i){pattern}")).expect("the pattern is constant and a test compiles it");
    let mut table: Vec<_> = REACHES.iter().map(|&(pattern, from, to)| (compile(pattern), from, to)).collect();
    table.push((compile(OTHER_LANGUAGE), -400, 400));
    table
});

/// Returns the days that the words of time in `text` may mean when they are said on `today`, as spans.
pub(super) fn reach(text: &str, today: Date) -> Vec<(Date, Date)> {
    let span = |from: i32, to: i32| Some((today.checked_add(from.days()).ok()?, today.checked_add(to.days()).ok()?));
    let named = TABLE.iter().filter(|(pattern, ..)| pattern.is_match(text)).filter_map(|&(_, from, to)| span(from, to));
    let mut spans: Vec<_> = named.collect();
    for one in lapses(text) {
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
