//! What identifies or pays for a person: cards, account numbers, addresses, phones; each by its own setting.

use std::sync::LazyLock;

use regex::Regex;
use serde::{Deserialize, Serialize};

use super::scan::Found;

/// What is done with one kind of personal data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Treatment {
    /// Replaced by `[redacted:<kind>]`.
    Redact,
    /// Left as it stands.
    Keep,
}

/// What the guard takes out beside secrets, which always go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct GuardSettings {
    /// Payment card numbers with a valid check digit.
    pub cards: Treatment,
    /// International bank account numbers with valid check digits.
    pub ibans: Treatment,
    /// E-mail addresses; kept unless asked, since people want them remembered.
    pub emails: Treatment,
    /// Phone numbers written with a country code or in groups; kept unless asked, like e-mail addresses.
    pub phones: Treatment,
}

impl Default for GuardSettings {
    fn default() -> Self {
        Self { cards: Treatment::Redact, ibans: Treatment::Redact, emails: Treatment::Keep, phones: Treatment::Keep }
    }
}

/// One kind of personal data: its name, the setting that rules it, its shape, and what a match must fulfil.
struct Kind {
    name: &'static str,
    treatment: fn(&GuardSettings) -> Treatment,
    /// Whether a text holds what every match begins with or needs; where it does not the pattern is not tried.
    sign: fn(&[u8]) -> bool,
    pattern: LazyLock<Regex>,
    holds: fn(&str, before: &str, after: &str) -> bool,
}

static KINDS: [Kind; 4] = [
    Kind {
        name: "card",
        treatment: |settings| settings.cards,
        sign: |text| text.windows(4).any(|four| four.iter().all(u8::is_ascii_digit)),
        pattern: LazyLock::new(|| pattern(r"[2-6]\d{3}(?:[ -]?\d{4}){2}[ -]?\d{3,7}|3\d{3}[ -]?\d{6}[ -]?\d{4,5}")),
        holds: |text, before, after| stands_alone(before, after) && is_card(text),
    },
    Kind {
        name: "iban",
        treatment: |settings| settings.ibans,
        sign: |text| text.windows(4).any(|four| matches!(four, [b'A'..=b'Z', b'A'..=b'Z', b'0'..=b'9', b'0'..=b'9'])),
        pattern: LazyLock::new(|| pattern(r"[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?")),
        holds: |text, before, after| stands_alone(before, after) && is_iban(text),
    },
    Kind {
        name: "email",
        treatment: |settings| settings.emails,
        sign: |text| text.contains(&b'@'),
        pattern: LazyLock::new(|| {
            pattern(r"[A-Za-z0-9._%+-]{1,64}@(?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.){1,8}[A-Za-z]{2,24}")
        }),
        holds: |_, _, _| true,
    },
    Kind {
        name: "phone",
        treatment: |settings| settings.phones,
        sign: |text| text.iter().any(u8::is_ascii_digit),
        pattern: LazyLock::new(|| {
            pattern(
                r"\+\d{1,3}[ .-]?(?:\(0?\d{1,4}\)[ .-]?)?\d{1,4}(?:[ .-]?\d{2,4}){1,4}|\(\d{3}\) ?\d{3}[ .-]\d{4}|\d{3}[.-]\d{3}[.-]\d{4}|1[3-9]\d[ -]?\d{4}[ -]?\d{4}",
            )
        }),
        holds: |_, before, after| stands_alone(before, after),
    },
];

fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("the tests compile every pattern")
}

/// Rank of what is found here: after every row of the secrets.
const RANK: usize = usize::MAX;

/// Returns the personal data in `text` that `settings` want out.
pub(super) fn find(text: &str, settings: GuardSettings) -> Vec<Found> {
    let wanted = KINDS.iter().filter(|kind| (kind.treatment)(&settings) == Treatment::Redact);
    let mut found = Vec::new();
    for kind in wanted.filter(|kind| (kind.sign)(text.as_bytes())) {
        let matches = kind.pattern.find_iter(text).map(|found| found.range());
        let held = matches.filter(|range| {
            let (before, after) = (&text[..range.start], &text[range.end..]);
            (kind.holds)(&text[range.clone()], before, after)
        });
        found.extend(held.map(|range| Found { range, name: kind.name, rank: RANK }));
    }
    found
}

/// Whether a number is no part of a longer number, word, path or decimal.
fn stands_alone(before: &str, after: &str) -> bool {
    let joined = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let before_ok = !before.ends_with(|c| joined(c) || matches!(c, '.' | '-' | '/' | '+'));
    let mut after = after.chars();
    let after_ok = match after.next() {
        Some('.' | '-' | '/') => !after.next().is_some_and(joined),
        Some(c) => !joined(c),
        None => true,
    };
    (before_ok || ends_in_escape(before)) && after_ok
}

fn ends_in_escape(before: &str) -> bool {
    ["\\n", "\\r", "\\t"].iter().any(|escape| before.ends_with(escape))
}

/// Whether it is a card number: an issuer's first digits, a length that issuer uses, and the Luhn digit.
fn is_card(text: &str) -> bool {
    let digits: Vec<u32> = text.chars().filter_map(|c| c.to_digit(10)).collect();
    let lead = digits.iter().take(4).fold(0, |lead, digit| lead * 10 + digit);
    let issued = match lead {
        4000..=4999 | 2221..=2720 | 5100..=5599 | 3528..=3589 | 6011 | 6440..=6599 => digits.len() == 16,
        3400..=3499 | 3700..=3799 => digits.len() == 15,
        3000..=3059 | 3600..=3699 | 3800..=3999 => digits.len() == 14,
        6200..=6299 => (16..=19).contains(&digits.len()),
        _ => false,
    };
    issued && luhn(&digits)
}

fn luhn(digits: &[u32]) -> bool {
    let doubled = |digit: u32| if digit > 4 { digit * 2 - 9 } else { digit * 2 };
    let sum: u32 =
        digits.iter().rev().enumerate().map(|(at, &digit)| if at % 2 == 1 { doubled(digit) } else { digit }).sum();
    sum.is_multiple_of(10)
}

/// Whether the check digits of an account number hold (ISO 13616: the rearranged number modulo 97 is 1).
fn is_iban(text: &str) -> bool {
    let text: String = text.chars().filter(|c| *c != ' ').collect();
    if !(15..=34).contains(&text.len()) {
        return false;
    }
    let rearranged = text[4..].chars().chain(text[..4].chars());
    let rest = rearranged
        .filter_map(|c| c.to_digit(36))
        .fold(0_u32, |rest, value| if value < 10 { (rest * 10 + value) % 97 } else { (rest * 100 + value) % 97 });
    rest == 1
}

#[cfg(test)]
mod tests {
    use super::super::Guard;
    use super::*;

    const ALL: GuardSettings = GuardSettings {
        cards: Treatment::Redact,
        ibans: Treatment::Redact,
        emails: Treatment::Redact,
        phones: Treatment::Redact,
    };

    fn redact(settings: GuardSettings, text: &str) -> String {
        Guard::new(&settings).redact(text.to_owned()).0.into_inner()
    }

    #[test]
    fn cards_and_accounts_go_by_default_and_addresses_stay() {
        let text = "card 4111 1111 1111 1111, amex 3782-822463-10005, iban DE89 3704 0044 0532 0130 00; ana@shop.example, +49 30 901820";
        assert_eq!(
            redact(GuardSettings::default(), text),
            "card [redacted:card], amex [redacted:card], iban [redacted:iban]; ana@shop.example, +49 30 901820"
        );
        assert_eq!(
            redact(ALL, text),
            "card [redacted:card], amex [redacted:card], iban [redacted:iban]; [redacted:email], [redacted:phone]"
        );
    }

    #[test]
    fn numbers_without_a_valid_check_digit_stay() {
        let text = "4111 1111 1111 1112, DE88 3704 0044 0532 0130 00, 1700000000000, 0.4111111111111111, id-4111111111111111, 4111111111111111111";
        assert_eq!(redact(ALL, text), text);
    }

    #[test]
    fn phones_and_addresses_go_where_they_stand_between_chinese() {
        assert_eq!(
            redact(ALL, "电话13812345678，邮箱ana@shop.example。"),
            "电话[redacted:phone]，邮箱[redacted:email]。"
        );
        assert_eq!(redact(ALL, "call (555) 010-4477 or 555-010-4478"), "call [redacted:phone] or [redacted:phone]");
    }

    #[test]
    fn settings_are_read_with_defaults_and_unknown_names_are_refused() {
        let settings: GuardSettings = toml::from_str("emails = \"redact\"").unwrap();
        assert_eq!(settings, GuardSettings { emails: Treatment::Redact, ..GuardSettings::default() });
        assert!(toml::from_str::<GuardSettings>("email = \"redact\"").is_err());
    }
}
