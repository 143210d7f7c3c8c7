//! Units that a number can be converted between without anybody calling it a calculation.

use super::super::super::quote::is_wide;

/// What a unit measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Measure {
    Time,
    Data,
    Length,
    Mass,
    Share,
}

/// A unit by its size.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Unit {
    measure: Measure,
    size: f64,
}

impl Unit {
    /// Whether `value` of these is `other_value` of the `other`; calendars and powers of two are read generously.
    pub(super) fn same(self, value: f64, other: Self, other_value: f64) -> bool {
        let tolerance = match self.measure {
            Measure::Time => 0.03,
            Measure::Data => 0.08,
            Measure::Length | Measure::Mass | Measure::Share => 1e-6,
        };
        let (one, two) = (value * self.size, other_value * other.size);
        self.measure == other.measure
            && (self.size - other.size).abs() > f64::EPSILON
            && (one - two).abs() <= tolerance * two.abs()
    }
}

/// Returns the unit that `after` starts with.
pub(super) fn unit(after: &str) -> Option<Unit> {
    use Measure::{Data, Length, Mass, Share, Time};
    let after = after.trim_start_matches([' ', '-', '\u{a0}', '个', '個']);
    let word: String = match after.chars().next()? {
        '%' | '％' => "%".to_owned(),
        c if is_wide(c) => return wide_unit(after),
        _ => after.chars().take_while(|c| c.is_alphabetic()).collect::<String>().to_lowercase(),
    };
    let (measure, size) = match word.as_str() {
        "ms" | "millisecond" | "milliseconds" | "millisekunden" | "milisegundos" => (Time, 1e-3),
        "s" | "sec" | "secs" | "second" | "seconds" | "sekunde" | "sekunden" | "segundo" | "segundos" => (Time, 1.0),
        "min" | "mins" | "minute" | "minutes" | "minuten" | "minuto" | "minutos" => (Time, 60.0),
        "h" | "hr" | "hrs" | "hour" | "hours" | "stunde" | "stunden" | "hora" | "horas" => (Time, 3_600.0),
        "d" | "day" | "days" | "tag" | "tage" | "tagen" | "día" | "días" | "dia" | "dias" => (Time, 86_400.0),
        "week" | "weeks" | "woche" | "wochen" | "semana" | "semanas" => (Time, 604_800.0),
        "fortnight" | "fortnights" => (Time, 1_209_600.0),
        "month" | "months" | "monat" | "monate" | "monaten" | "mes" | "meses" => (Time, 2_629_800.0),
        "quarter" | "quarters" => (Time, 7_889_400.0),
        "year" | "years" | "jahr" | "jahre" | "jahren" | "año" | "años" => (Time, 31_557_600.0),
        "kb" | "kib" | "kilobyte" | "kilobytes" => (Data, 1e3),
        "mb" | "mib" | "megabyte" | "megabytes" => (Data, 1e6),
        "gb" | "gib" | "gigabyte" | "gigabytes" => (Data, 1e9),
        "tb" | "tib" | "terabyte" | "terabytes" => (Data, 1e12),
        "mm" => (Length, 1e-3),
        "cm" => (Length, 1e-2),
        "m" | "meter" | "meters" | "metre" | "metres" | "metern" | "metro" | "metros" => (Length, 1.0),
        "km" | "kilometer" | "kilometers" | "kilometre" | "kilometres" | "kilometern" | "kilómetros" => (Length, 1e3),
        "mg" => (Mass, 1e-6),
        "g" | "gram" | "grams" | "gramm" | "gramos" => (Mass, 1e-3),
        "kg" | "kilo" | "kilos" | "kilogram" | "kilograms" | "kilogramm" => (Mass, 1.0),
        "%" | "percent" | "prozent" | "por" => (Share, 1e-2),
        _ => return None,
    };
    Some(Unit { measure, size })
}

fn wide_unit(after: &str) -> Option<Unit> {
    use Measure::{Length, Mass, Time};
    let table = [
        ("毫秒", Time, 1e-3),
        ("秒", Time, 1.0),
        ("分钟", Time, 60.0),
        ("分鐘", Time, 60.0),
        ("小时", Time, 3_600.0),
        ("小時", Time, 3_600.0),
        ("钟头", Time, 3_600.0),
        ("天", Time, 86_400.0),
        ("日", Time, 86_400.0),
        ("周", Time, 604_800.0),
        ("星期", Time, 604_800.0),
        ("礼拜", Time, 604_800.0),
        ("月", Time, 2_629_800.0),
        ("季度", Time, 7_889_400.0),
        ("年", Time, 31_557_600.0),
        ("公里", Length, 1e3),
        ("千米", Length, 1e3),
        ("厘米", Length, 1e-2),
        ("米", Length, 1.0),
        ("公斤", Mass, 1.0),
        ("千克", Mass, 1.0),
        ("斤", Mass, 0.5),
        ("克", Mass, 1e-3),
    ];
    table.iter().find(|(word, ..)| after.starts_with(word)).map(|&(_, measure, size)| Unit { measure, size })
}
