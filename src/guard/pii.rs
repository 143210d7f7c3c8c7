//! Personal data: cards, account numbers, addresses and phone numbers, each controlled by its own setting.

use std::sync::LazyLock;

use regex::Regex;

use crate::config::{GuardSettings, Treatment};
use crate::guard::scan::Found;
use crate::text::pattern_set::pattern;

/// Beginning of the marker of dropped personal data. No memory is based on text with this marker.
pub(crate) const DROPPED_MARKER: &str = "[redacted:dropped-";

/// One kind of personal data: its name, the setting that controls it, its pattern, and the condition that a match must
/// fulfil.
struct Kind {
    name: &'static str,
    /// The name in the marker if text that contains the data must not be remembered.
    dropped_name: &'static str,
    treatment: fn(&GuardSettings) -> Treatment,
    /// Whether a text contains something that every match requires. Otherwise the pattern is not tried.
    sign: fn(&[u8]) -> bool,
    pattern: LazyLock<Regex>,
    holds: fn(&str, before: &str, after: &str) -> bool,
}

static KINDS: [Kind; 14] = [
    Kind {
        name: "card",
        dropped_name: "dropped-card",
        treatment: |settings| settings.cards,
        sign: |text| text.windows(4).any(|four| four.iter().all(u8::is_ascii_digit)),
        // American Express and Diners group digits as 4-6-5 and 4-6-4, and all others in groups of four.
        pattern: LazyLock::new(|| pattern(r"[2-6]\d{3}(?:[ -]?\d{4}){2}[ -]?\d{3,7}|3\d{3}[ -]?\d{6}[ -]?\d{4,5}")),
        holds: |text, before, after| stands_alone(before, after) && is_card(text),
    },
    Kind {
        name: "iban",
        dropped_name: "dropped-iban",
        treatment: |settings| settings.ibans,
        sign: |text| text.windows(4).any(|four| matches!(four, [b'A'..=b'Z', b'A'..=b'Z', b'0'..=b'9', b'0'..=b'9'])),
        pattern: LazyLock::new(|| pattern(r"[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?")),
        holds: |text, before, after| stands_alone(before, after) && is_iban(text),
    },
    Kind {
        name: "email",
        dropped_name: "dropped-email",
        treatment: |settings| settings.emails,
        sign: |text| text.contains(&b'@'),
        pattern: LazyLock::new(|| {
            pattern(r"[A-Za-z0-9._%+-]{1,64}@(?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.){1,8}[A-Za-z]{2,24}")
        }),
        // Addresses of repositories and versions of packages have a similar form, as in `git@host:path` and
        // `left-pad@1.3.0.tgz`.
        holds: |text, _, after| !text.starts_with("git@") && !after.starts_with(':') && !is_file_name(text),
    },
    Kind {
        name: "phone",
        dropped_name: "dropped-phone",
        treatment: |settings| settings.phones,
        sign: |text| text.iter().any(u8::is_ascii_digit),
        pattern: LazyLock::new(|| {
            pattern(
                r"\+\d{1,3}[ .-]?(?:\(0?\d{1,4}\)[ .-]?)?\d{1,4}(?:[ .-]?\d{2,4}){1,4}|\(\d{3}\) ?\d{3}[ .-]\d{4}|\d{3}[.-]\d{3}[.-]\d{4}|1[3-9]\d[ -]?\d{4}[ -]?\d{4}",
            )
        }),
        holds: |_, before, after| stands_alone(before, after),
    },
    Kind {
        name: "us-ssn",
        dropped_name: "dropped-us-ssn",
        treatment: |settings| settings.ids,
        sign: |text| text.iter().any(u8::is_ascii_digit),
        pattern: LazyLock::new(|| pattern(r"\d{3}-\d{2}-\d{4}|\d{3} \d{2} \d{4}")),
        holds: |text, before, after| {
            // With spaces, these digits may equally be a row of a table, so a label must be near.
            stands_alone(before, after) && is_ssn(text) && (text.contains('-') || is_named(before, &["ssn", "social"]))
        },
    },
    Kind {
        name: "cn-resident-id",
        dropped_name: "dropped-cn-resident-id",
        treatment: |settings| settings.ids,
        sign: |text| text.iter().any(u8::is_ascii_digit),
        pattern: LazyLock::new(|| pattern(r"[1-8]\d{5}(?:18|19|20)\d{9}[0-9Xx]")),
        holds: |text, before, after| stands_alone(before, after) && is_resident_id(text),
    },
    Kind {
        name: "de-steuer-id",
        dropped_name: "dropped-de-steuer-id",
        treatment: |settings| settings.ids,
        sign: |text| text.iter().any(u8::is_ascii_digit),
        pattern: LazyLock::new(|| pattern(r"\d{2} ?\d{3} ?\d{3} ?\d{3}")),
        holds: |text, before, after| {
            // The check digit accepts one random number in ten, and numbers with eleven digits are common, so a label
            // must be near.
            stands_alone(before, after) && is_steuer_id(text) && is_named(before, &["steuer", "idnr", "tin", "tax"])
        },
    },
    Kind {
        name: "es-dni",
        dropped_name: "dropped-es-dni",
        treatment: |settings| settings.ids,
        sign: |text| text.iter().any(u8::is_ascii_digit),
        pattern: LazyLock::new(|| pattern(r"(?:[XYZxyz]-?\d{7}|\d{8})-?[A-Za-z]")),
        holds: |text, before, after| stands_alone(before, after) && is_dni(text),
    },
    Kind {
        name: "gb-nino",
        dropped_name: "dropped-gb-nino",
        treatment: |settings| settings.ids,
        sign: |text| text.iter().any(u8::is_ascii_digit),
        pattern: LazyLock::new(|| pattern(r"[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z] ?\d{2} ?\d{2} ?\d{2} ?[A-D]")),
        holds: |text, before, after| {
            // The number has no check digit, so only prefixes that are never issued can be tested.
            let banned = ["BG", "GB", "NK", "KN", "TN", "NT", "ZZ"].iter().any(|start| text.starts_with(start));
            stands_alone(before, after) && !banned
        },
    },
    Kind {
        name: "fr-nir",
        dropped_name: "dropped-fr-nir",
        treatment: |settings| settings.ids,
        sign: |text| text.iter().any(u8::is_ascii_digit),
        pattern: LazyLock::new(|| pattern(r"[12] ?\d{2} ?(?:0[1-9]|1[0-2]) ?(?:\d{2}|2[AB]) ?\d{3} ?\d{3} ?\d{2}")),
        holds: |text, before, after| stands_alone(before, after) && is_nir(text),
    },
    Kind {
        name: "it-codice-fiscale",
        dropped_name: "dropped-it-codice-fiscale",
        treatment: |settings| settings.ids,
        sign: |text| text.iter().any(u8::is_ascii_digit),
        // The month is encoded as one of these twelve letters.
        pattern: LazyLock::new(|| pattern(r"[A-Za-z]{6}\d{2}[A-EHLMPR-Ta-ehlmpr-t]\d{2}[A-Za-z]\d{3}[A-Za-z]")),
        holds: |text, before, after| stands_alone(before, after) && is_codice_fiscale(text),
    },
    Kind {
        name: "br-cpf",
        dropped_name: "dropped-br-cpf",
        treatment: |settings| settings.ids,
        sign: |text| text.iter().any(u8::is_ascii_digit),
        // The number is matched only with its punctuation, because eleven digits alone may be a phone number.
        pattern: LazyLock::new(|| pattern(r"\d{3}\.\d{3}\.\d{3}-\d{2}")),
        holds: |text, before, after| stands_alone(before, after) && is_cpf(text),
    },
    Kind {
        name: "ch-ahv",
        dropped_name: "dropped-ch-ahv",
        treatment: |settings| settings.ids,
        sign: |text| text.iter().any(u8::is_ascii_digit),
        // 756 is Switzerland's code, and the last digit is the check digit of EAN-13.
        pattern: LazyLock::new(|| pattern(r"756\.\d{4}\.\d{4}\.\d{2}")),
        holds: |text, before, after| stands_alone(before, after) && is_ahv(text),
    },
    Kind {
        name: "address",
        dropped_name: "dropped-address",
        treatment: |settings| settings.addresses,
        sign: |text| text.iter().any(u8::is_ascii_digit),
        pattern: LazyLock::new(|| {
            pattern(concat!(
                r"\d{1,5}[a-z]? (?:[NSEW]\.? )?(?:[A-Z][a-z'’]{1,20} ){1,3}(?:Street|St|Avenue|Ave|Road|Rd|Boulevard|Blvd|Lane|Ln|Drive|Dr|Court|Ct|Square|Terrace|Crescent|Parkway|Pkwy|Highway|Hwy|Way|Circle|Grove|Gardens|Mews)(?-u:\b)(?:,? (?:Apt|Unit|Suite|#) ?\w{1,6})?",
                // The town, and the postcode in the form of the United Kingdom, Canada or the United States.
                r"(?:, [A-Z][a-z.'’-]{1,20}(?:(?: upon| on| of| under)? [A-Z][a-z.'’-]{1,20}){0,3})?(?:,? [A-Z]{1,2}\d[A-Z\d]? ?\d[A-Z]{2}(?-u:\b)|(?:,? [A-Z]{2}(?-u:\b))?(?: (?:\d{5}(?:-\d{4})?|[A-Z]\d[A-Z] ?\d[A-Z]\d)(?-u:\b))?)",
                r"|(?:[A-ZÄÖÜ][a-zäöüß-]{1,30}(?:straße|strasse|str\.|weg|allee|platz|gasse|damm|ufer)|(?:Am|An der|Im|Unter den) [A-ZÄÖÜ][a-zäöüß]{2,24}) \d{1,4} ?[a-z]?(?-u:\b)(?:,? \d{5} [A-ZÄÖÜ][a-zäöüß]{2,24})?",
                r"|(?:Calle|C/|Avenida|Avda\.|Plaza|Paseo) (?:[A-ZÁÉÍÓÚ]?[a-záéíóúñ]{1,20} ?){1,5},? (?:n\.?º ?)?\d{1,4}(?:,? \d{5} [A-ZÁ][a-záéíóúñ]{2,24})?",
                r"|\d{1,4}(?: bis| ter)?,? (?:rue|avenue|boulevard|place|chemin|allée|impasse) (?:[A-ZÉÈa-zéèêçà'’-]{1,20} ?){1,5}(?:,? \d{5} [A-ZÉ][a-zéèê]{2,24})?",
                r"|(?:\p{Han}{2,8}(?:省|市|区|县|镇)){0,3}\p{Han}{1,8}(?:路|街|大道|巷|胡同)\d{1,5}号(?:\p{Han}{0,6}\d{1,4}(?:号楼|栋|单元|室|层)){0,3}",
            ))
        }),
        holds: |_, before, _| !before.ends_with(|c: char| c.is_ascii_alphanumeric() || c == '-' || c == '.'),
    },
];

/// Rank of findings of personal data, after every row of the secrets.
const RANK: usize = usize::MAX;

/// Returns the personal data in `text` that must be removed according to `settings`.
pub(super) fn find(text: &str, settings: GuardSettings) -> Vec<Found> {
    let wanted = KINDS.iter().filter(|kind| (kind.treatment)(&settings) != Treatment::Keep);
    let mut found = Vec::new();
    for kind in wanted.filter(|kind| (kind.sign)(text.as_bytes())) {
        let matches = kind.pattern.find_iter(text).map(|found| found.range());
        let held = matches.filter(|range| {
            let (before, after) = (&text[..range.start], &text[range.end..]);
            (kind.holds)(&text[range.clone()], before, after)
        });
        // Later steps recognise the treatment by the name in the marker.
        let is_dropped = (kind.treatment)(&settings) == Treatment::Drop;
        let name = if is_dropped { kind.dropped_name } else { kind.name };
        found.extend(held.map(|range| Found { range, name, rank: RANK, is_token: false }));
    }
    found
}

/// Whether a finding is personal data rather than a secret.
pub(super) fn is_personal(found: &Found) -> bool {
    found.rank == RANK
}

/// Whether a number is not part of a longer number, word, path or decimal.
fn stands_alone(before: &str, after: &str) -> bool {
    let joined = |c: char| c.is_ascii_alphanumeric() || c == '_';
    // A long number in a path, a version or a hash is neither a card number nor a phone number.
    let before_ok = !before.ends_with(|c| joined(c) || matches!(c, '.' | '-' | '/' | '+'));
    let mut after = after.chars();
    let after_ok = match after.next() {
        Some('.' | '-' | '/') => !after.next().is_some_and(joined),
        Some(c) => !joined(c),
        None => true,
    };
    // In JSON inside a log, a line break before the number is the letters `\n`.
    (before_ok || ends_in_escape(before)) && after_ok
}

fn ends_in_escape(before: &str) -> bool {
    ["\\n", "\\r", "\\t"].iter().any(|escape| before.ends_with(escape))
}

/// Whether one of `names` occurs shortly before a number that cannot be recognised by itself.
fn is_named(before: &str, names: &[&str]) -> bool {
    // Only the text near the number is searched. Otherwise one mention of taxes would turn every later number of that
    // length into a tax number.
    let near = before[before.floor_char_boundary(before.len().saturating_sub(48))..].to_lowercase();
    names.iter().any(|name| near.contains(name))
}

/// Whether the part after the `@` ends like a file name.
fn is_file_name(text: &str) -> bool {
    let ending = text.rsplit('.').next().unwrap_or("").to_ascii_lowercase();
    matches!(
        ending.as_str(),
        "png" | "jpg" | "jpeg" | "svg" | "webp" | "gif" | "tgz" | "js" | "ts" | "css" | "json" | "html"
    )
}

/// Whether the number is a card number, with the first digits of an issuer, a length that the issuer uses, and the Luhn
/// digit.
fn is_card(text: &str) -> bool {
    let digits: Vec<u32> = text.chars().filter_map(|c| c.to_digit(10)).collect();
    let lead = digits.iter().take(4).fold(0, |lead, digit| lead * 10 + digit);
    let issued = match lead {
        // The Luhn digit alone accepts one random number in ten, so issuers and lengths narrow it down.
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

/// Whether the check digits of an account number are correct (ISO 13616: the rearranged number modulo 97 is 1).
fn is_iban(text: &str) -> bool {
    let text: String = text.chars().filter(|c| *c != ' ').collect();
    if !(15..=34).contains(&text.len()) {
        return false;
    }
    // The modulo is computed digit by digit, since a number of up to 68 digits does not fit any integer type.
    let rearranged = text[4..].chars().chain(text[..4].chars());
    let rest = rearranged
        .filter_map(|c| c.to_digit(36))
        .fold(0_u32, |rest, value| if value < 10 { (rest * 10 + value) % 97 } else { (rest * 100 + value) % 97 });
    rest == 1
}

// National identity, tax and insurance numbers, each with its own check.

/// Whether a number has the form of a United States social security number that may have been issued.
pub(super) fn is_ssn(text: &str) -> bool {
    let mut parts = text.split(['-', ' ']);
    let number = |part: Option<&str>| part.and_then(|part| part.parse::<u32>().ok()).unwrap_or(0);
    let (area, group, serial) = (number(parts.next()), number(parts.next()), number(parts.next()));
    // Areas 666 and from 900 on are never issued, and neither are parts that consist of zeros.
    area > 0 && area != 666 && area < 900 && group > 0 && serial > 0
}

/// Whether the number is a Chinese resident's number, with a valid date of birth and the check digit of GB 11643.
pub(super) fn is_resident_id(text: &str) -> bool {
    const WEIGHTS: [u32; 17] = [7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2];
    let digits: Vec<u32> = text.chars().take(17).filter_map(|c| c.to_digit(10)).collect();
    let day = |range: std::ops::Range<usize>| text.get(range).and_then(|part| part.parse::<i16>().ok()).unwrap_or(0);
    let (year, month, date) = (day(6..10), day(10..12), day(12..14));
    // The check digit alone would accept one number in eleven.
    let is_day = i8::try_from(month).ok().zip(i8::try_from(date).ok()).is_some_and(|(month, date)| {
        (1880..=2100).contains(&year) && jiff::civil::Date::new(year, month, date).is_ok()
    });
    let sum: u32 = digits.iter().zip(WEIGHTS).map(|(digit, weight)| digit * weight).sum();
    let check = b"10X98765432"[(sum % 11) as usize];
    digits.len() == 17 && is_day && text.bytes().last().is_some_and(|last| last.to_ascii_uppercase() == check)
}

/// Whether the number is a German tax number, with one digit that occurs two or three times among the first ten, and
/// the check digit of ISO 7064.
pub(super) fn is_steuer_id(text: &str) -> bool {
    let digits: Vec<u32> = text.chars().filter_map(|c| c.to_digit(10)).collect();
    if digits.len() != 11 || digits[0] == 0 {
        return false;
    }
    // In every such number, exactly one of the first ten digits occurs two or three times.
    let counts = (0..10).map(|digit| digits[..10].iter().filter(|one| **one == digit).count());
    let repeated: Vec<usize> = counts.filter(|count| *count > 1).collect();
    let mut product = 10;
    for digit in &digits[..10] {
        let sum = (digit + product) % 10;
        product = (if sum == 0 { 10 } else { sum }) * 2 % 11;
    }
    matches!(repeated[..], [2 | 3]) && digits[10] == (11 - product) % 10
}

/// Whether the text is a Spanish identity number of a citizen or a foreigner, whose letter is computed from the digits.
pub(super) fn is_dni(text: &str) -> bool {
    const LETTERS: &[u8; 23] = b"TRWAGMYFPDXBNJZSQVHLCKE";
    let plain: String = text.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_ascii_uppercase();
    let (body, letter) = plain.split_at(plain.len() - 1);
    let body = match body.as_bytes().first() {
        // A foreign resident's number begins with a letter that counts as a digit.
        Some(b'X') => format!("0{}", &body[1..]),
        Some(b'Y') => format!("1{}", &body[1..]),
        Some(b'Z') => format!("2{}", &body[1..]),
        _ => body.to_owned(),
    };
    let number = body.parse::<usize>().ok().filter(|_| body.len() == 8);
    number.is_some_and(|number| letter.as_bytes() == [LETTERS[number % 23]])
}

/// Whether the number is a French insurance number, whose key makes the whole number a multiple of 97.
pub(super) fn is_nir(text: &str) -> bool {
    // The departments of Corsica have letters, which 19 and 18 replace in the computation of the key.
    let plain: String = text.chars().filter(|c| *c != ' ').collect::<String>().replace("2A", "19").replace("2B", "18");
    let parts = plain.get(..13).zip(plain.get(13..15)).filter(|_| plain.len() == 15);
    let number = |part: &str| part.parse::<u64>().ok();
    parts.and_then(|(body, key)| Some(97 - number(body)? % 97 == number(key)?)).unwrap_or(false)
}

/// Whether the text is an Italian tax code, whose last letter is computed from the fifteen characters before it.
pub(super) fn is_codice_fiscale(text: &str) -> bool {
    const ODD: [u32; 26] =
        [1, 0, 5, 7, 9, 13, 15, 17, 19, 21, 2, 4, 18, 20, 11, 3, 6, 8, 12, 14, 16, 10, 22, 25, 24, 23];
    let bytes = text.to_ascii_uppercase().into_bytes();
    let value = |byte: u8| u32::from(if byte.is_ascii_digit() { byte - b'0' } else { byte - b'A' });
    let sum: u32 = bytes
        .iter()
        .take(15)
        .enumerate()
        // The rule counts positions from one, so its odd positions are the even positions here.
        .map(|(at, byte)| if at % 2 == 0 { ODD[value(*byte) as usize] } else { value(*byte) })
        .sum();
    bytes.len() == 16 && u32::from(bytes[15] - b'A') == sum % 26
}

/// Whether the number is a Brazilian tax number, with correct check digits and at least two different digits.
pub(super) fn is_cpf(text: &str) -> bool {
    let digits: Vec<u32> = text.chars().filter_map(|c| c.to_digit(10)).collect();
    let check = |count: usize| {
        let sum: u32 = (2..).zip(digits[..count].iter().rev()).map(|(weight, digit)| weight * digit).sum();
        sum * 10 % 11 % 10
    };
    digits.len() == 11
        // A number that repeats one digit passes both checks but is never issued.
        && digits.iter().any(|digit| *digit != digits[0])
        && digits[9] == check(9)
        && digits[10] == check(10)
}

/// Whether the number is a Swiss insurance number, with a correct check digit of EAN-13.
pub(super) fn is_ahv(text: &str) -> bool {
    let digits: Vec<u32> = text.chars().filter_map(|c| c.to_digit(10)).collect();
    let sum: u32 = digits.iter().enumerate().map(|(at, digit)| if at % 2 == 0 { *digit } else { digit * 3 }).sum();
    digits.len() == 13 && sum.is_multiple_of(10)
}
