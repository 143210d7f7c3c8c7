//! Numbers, versions and dates, each in one spelling.

use super::text::{Script, Word};
use super::tokens::Tongue;

/// A number as it stands in a text.
pub(super) enum Figure {
    /// Without a unit; the next word may be one.
    Bare(String),
    /// With its unit, or a date.
    Whole(String),
}

/// Units that tell one thing from its like and measure nothing: `No. 3`, `version 5`.
const LABELS: &[&str] = &["no", "ver"];

/// Returns the unit of a figure: a unit's one spelling, `:` for a time of day, `-` for a date; empty for a bare number.
pub(super) fn unit(figure: &str) -> &str {
    let rest = figure.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    match rest.chars().next() {
        Some(':') => ":",
        Some('-' | '/') => "-",
        _ => rest,
    }
}

/// Whether a figure says how much, how long or when, and does not merely number a thing.
pub(super) fn is_measured(figure: &str) -> bool {
    let unit = unit(figure);
    !unit.is_empty() && !LABELS.contains(&unit)
}

/// Takes the unit off the beginning of the word after a number; scripts without spaces go on after it.
pub(super) fn leading_unit(word: &mut Word) -> Option<&'static str> {
    let lower = word.text.to_lowercase();
    let length = match word.script {
        Script::Spaced => lower.len(),
        Script::Han | Script::Katakana | Script::Hangul => (1..=4)
            .rev()
            .filter_map(|count| lower.char_indices().nth(count).map_or(Some(lower.len()), |(at, _)| Some(at)))
            .find(|at| unit_of(&lower[..*at]).is_some())?,
    };
    let unit = unit_of(&lower[..length])?;
    lower[length..].clone_into(&mut word.text);
    Some(unit)
}

/// Returns the canonical spelling of a number, version or date.
pub(super) fn figure(text: &str, tongue: Tongue) -> Option<Figure> {
    let lower = ungrouped(&text.to_lowercase(), tongue);
    if let Some((sign, digits)) = currency(&lower) {
        return is_number(digits).then(|| Figure::Whole(format!("{digits}{sign}")));
    }
    let plain = lower.strip_prefix('v').filter(|rest| rest.starts_with(|c: char| c.is_ascii_digit())).unwrap_or(&lower);
    if is_number(plain) {
        return Some(Figure::Bare(plain.trim_end_matches(".0").to_owned()));
    }
    let split = plain.find(|c: char| !c.is_ascii_digit() && c != '.')?;
    let (digits, suffix) = plain.split_at(split);
    let unit = unit_of(suffix.trim_start_matches('-'))?;
    digits.starts_with(|c: char| c.is_ascii_digit()).then(|| Figure::Whole(format!("{digits}{unit}")))
}

fn is_number(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_digit())
        && text.chars().all(|c| c.is_ascii_digit() || matches!(c, '.' | '-' | '/' | ':'))
}

fn currency(text: &str) -> Option<(&'static str, &str)> {
    [('$', "usd"), ('€', "eur"), ('£', "gbp"), ('¥', "cny")]
        .iter()
        .find_map(|(sign, name)| text.strip_prefix(*sign).map(|digits| (*name, digits)))
}

/// Writes `1,450` and, where a point groups digits, `1.450` as `1450`; a comma before decimals as a point.
fn ungrouped(text: &str, tongue: Tongue) -> String {
    let grouped = |mark: char| {
        let mut groups = text.split(mark);
        let head = groups.next().unwrap_or_default().trim_start_matches(|c: char| !c.is_ascii_digit());
        (1..=3).contains(&head.len())
            && !head.starts_with('0')
            && head.bytes().all(|byte| byte.is_ascii_digit())
            && text.contains(mark)
            && groups.all(|group| {
                let digits = group.trim_end_matches(|c: char| !c.is_ascii_digit());
                digits.len() == 3 && digits.bytes().all(|byte| byte.is_ascii_digit())
            })
    };
    let points_group = matches!(tongue, Tongue::Spanish | Tongue::German);
    if grouped(',') {
        text.replace(',', "")
    } else if points_group && grouped('.') {
        text.replace('.', "")
    } else {
        text.replace(',', ".")
    }
}

/// Spellings of each unit, whatever the language.
const UNITS: &[(&str, &str)] = &[
    ("ms", "ms millisecond milliseconds 毫秒 ミリ秒 밀리초"),
    ("s", "s sec secs second seconds 秒 秒钟 秒間 초 segundo segundos sekunde sekunden"),
    ("min", "min mins minute minutes 分钟 分 分間 분 minuto minutos minuten"),
    ("h", "h hr hrs hour hours 小时 个小时 時間 시간 hora horas stunde stunden"),
    ("d", "d day days 天 日 日間 일 día días tag tage tagen"),
    ("w", "week weeks 周 个星期 週間 주 주일 semana semanas woche wochen"),
    ("mo", "month months 个月 ヶ月 か月 개월 mes meses monat monate monaten"),
    ("y", "y year years 年 年間 年来 岁 歳 년 년째 살 año años jahr jahre jahren"),
    ("month", "月 월 月份"),
    (":", "uhr 点 点钟 時 시 am pm"),
    ("kb", "kb kib"),
    ("mb", "mb mib"),
    ("gb", "gb gib"),
    ("tb", "tb tib"),
    ("%", "% percent pct prozent 퍼센트"),
    ("mm", "mm millimetres millimeters 毫米"),
    ("cm", "cm centimetres centimeters 厘米 公分 센티미터 センチ"),
    ("m", "m meters metres metros meter 米 メートル 미터"),
    ("km", "km kilometers kilometres kilómetros kilometer 公里 キロ 킬로미터"),
    ("m²", "m2 平方米 平米 제곱미터"),
    ("g", "g gram grams gramos gramm 克 グラム 그램"),
    ("mg", "mg milligrams 毫克 ミリグラム 밀리그램"),
    ("µg", "µg μg mcg microgram micrograms 微克"),
    ("kg", "kg kilo kilos 公斤 キログラム 킬로그램"),
    ("l", "l litre litres liter liters litro litros 升 リットル 리터"),
    ("ml", "ml millilitres milliliters 毫升 ミリリットル"),
    ("gal", "gal gallon gallons"),
    ("°", "°c c grad grados degrees 度 도 摄氏度"),
    ("w", "watt watts"),
    ("kw", "kw"),
    ("kwh", "kwh"),
    ("kva", "kva"),
    ("v", "volt volts voltios"),
    ("hz", "hz"),
    ("mhz", "mhz"),
    ("ghz", "ghz"),
    ("bpm", "bpm"),
    ("usd", "usd dollar dollars dólares 美元 ドル 달러"),
    ("eur", "eur € euro euros 欧元 ユーロ 유로"),
    ("gbp", "gbp pound pounds libras pfund 英镑 ポンド 파운드"),
    ("cny", "cny yuan 元 块 块钱"),
    ("jpy", "jpy yen 円 日元"),
    ("krw", "krw won 원"),
    ("people", "people persons members employees personas personen leute miembros mitglieder 人 名 位 명"),
    ("nodes", "nodes 个节点 节点 nodos knoten 노드 ノード"),
    ("times", "times times/day veces mal 次 回 회"),
    ("piece", "个 颗 只 台 本 枚 杯 片 件 匹 頭 個 개 마리 잔 대 포기"),
    ("sp", "space spaces 个空格 空格"),
    ("k", "k"),
    ("no", "号 番 번 号线 号楼 번째 호"),
    ("ver", "版 バージョン 버전"),
];

/// Returns the one spelling of a unit, whatever the language.
fn unit_of(word: &str) -> Option<&'static str> {
    UNITS.iter().find_map(|(unit, spellings)| spellings.split(' ').any(|spelling| spelling == word).then_some(*unit))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spelled(text: &str, tongue: Tongue) -> Option<String> {
        figure(text, tongue).map(|(Figure::Bare(text) | Figure::Whole(text))| text)
    }

    #[test]
    fn numbers_are_read_as_their_language_groups_them() {
        let rows = [
            ("1,450", Tongue::English, "1450"),
            ("62.000", Tongue::Spanish, "62000"),
            ("62.000", Tongue::English, "62.000"),
            ("2,5", Tongue::German, "2.5"),
            ("1.95", Tongue::German, "1.95"),
            ("$1,200", Tongue::English, "1200usd"),
            ("v2.1", Tongue::English, "2.1"),
            ("15min", Tongue::English, "15min"),
            ("1,000,000", Tongue::English, "1000000"),
        ];
        for (text, tongue, expected) in rows {
            assert_eq!(spelled(text, tongue).as_deref(), Some(expected), "{text}");
        }
        assert_eq!(spelled("node-18", Tongue::English), None);
    }

    #[test]
    fn measures_are_told_from_labels() {
        for measured in ["30min", "18:30", "2026-05-08", "40l"] {
            assert!(is_measured(measured), "{measured}");
        }
        for label in ["8080", "3no", "5.2ver"] {
            assert!(!is_measured(label), "{label}");
        }
    }
}
