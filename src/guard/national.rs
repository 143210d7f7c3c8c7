//! National identity, tax and insurance numbers, each held to its own check.

/// Whether a number has the form of a United States social security number that can have been given out.
pub(super) fn is_ssn(text: &str) -> bool {
    let mut parts = text.split(['-', ' ']);
    let number = |part: Option<&str>| part.and_then(|part| part.parse::<u32>().ok()).unwrap_or(0);
    let (area, group, serial) = (number(parts.next()), number(parts.next()), number(parts.next()));
    area > 0 && area != 666 && area < 900 && group > 0 && serial > 0
}

/// Whether it is a Chinese resident's number: a day of birth that is one, and the check digit of GB 11643.
pub(super) fn is_resident_id(text: &str) -> bool {
    const WEIGHTS: [u32; 17] = [7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2];
    let digits: Vec<u32> = text.chars().take(17).filter_map(|c| c.to_digit(10)).collect();
    let day = |range: std::ops::Range<usize>| text.get(range).and_then(|part| part.parse::<i16>().ok()).unwrap_or(0);
    let (year, month, date) = (day(6..10), day(10..12), day(12..14));
    let is_day = i8::try_from(month).ok().zip(i8::try_from(date).ok()).is_some_and(|(month, date)| {
        (1880..=2100).contains(&year) && jiff::civil::Date::new(year, month, date).is_ok()
    });
    let sum: u32 = digits.iter().zip(WEIGHTS).map(|(digit, weight)| digit * weight).sum();
    let check = b"10X98765432"[(sum % 11) as usize];
    digits.len() == 17 && is_day && text.bytes().last().is_some_and(|last| last.to_ascii_uppercase() == check)
}

/// Whether it is a German tax number: one digit twice or thrice in the first ten, and the check digit of ISO 7064.
pub(super) fn is_steuer_id(text: &str) -> bool {
    let digits: Vec<u32> = text.chars().filter_map(|c| c.to_digit(10)).collect();
    if digits.len() != 11 || digits[0] == 0 {
        return false;
    }
    let counts = (0..10).map(|digit| digits[..10].iter().filter(|one| **one == digit).count());
    let repeated: Vec<usize> = counts.filter(|count| *count > 1).collect();
    let mut product = 10;
    for digit in &digits[..10] {
        let sum = (digit + product) % 10;
        product = (if sum == 0 { 10 } else { sum }) * 2 % 11;
    }
    matches!(repeated[..], [2 | 3]) && digits[10] == (11 - product) % 10
}

/// Whether it is a Spanish number of a citizen or a foreigner: the letter follows from the digits.
pub(super) fn is_dni(text: &str) -> bool {
    const LETTERS: &[u8; 23] = b"TRWAGMYFPDXBNJZSQVHLCKE";
    let plain: String = text.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_ascii_uppercase();
    let (body, letter) = plain.split_at(plain.len() - 1);
    let body = match body.as_bytes().first() {
        Some(b'X') => format!("0{}", &body[1..]),
        Some(b'Y') => format!("1{}", &body[1..]),
        Some(b'Z') => format!("2{}", &body[1..]),
        _ => body.to_owned(),
    };
    let number = body.parse::<usize>().ok().filter(|_| body.len() == 8);
    number.is_some_and(|number| letter.as_bytes() == [LETTERS[number % 23]])
}

/// Whether it is a French insurance number: its key makes the whole a multiple of 97.
pub(super) fn is_nir(text: &str) -> bool {
    let plain: String = text.chars().filter(|c| *c != ' ').collect::<String>().replace("2A", "19").replace("2B", "18");
    let parts = plain.get(..13).zip(plain.get(13..15)).filter(|_| plain.len() == 15);
    let number = |part: &str| part.parse::<u64>().ok();
    parts.and_then(|(body, key)| Some(97 - number(body)? % 97 == number(key)?)).unwrap_or(false)
}

/// Whether it is an Italian tax code: the last letter follows from the fifteen before it.
pub(super) fn is_codice_fiscale(text: &str) -> bool {
    const ODD: [u32; 26] =
        [1, 0, 5, 7, 9, 13, 15, 17, 19, 21, 2, 4, 18, 20, 11, 3, 6, 8, 12, 14, 16, 10, 22, 25, 24, 23];
    let bytes = text.to_ascii_uppercase().into_bytes();
    let value = |byte: u8| u32::from(if byte.is_ascii_digit() { byte - b'0' } else { byte - b'A' });
    let sum: u32 = bytes
        .iter()
        .take(15)
        .enumerate()
        .map(|(at, byte)| if at % 2 == 0 { ODD[value(*byte) as usize] } else { value(*byte) })
        .sum();
    bytes.len() == 16 && u32::from(bytes[15] - b'A') == sum % 26
}

/// Whether it is a Brazilian tax number: both check digits hold, and not all digits are one.
pub(super) fn is_cpf(text: &str) -> bool {
    let digits: Vec<u32> = text.chars().filter_map(|c| c.to_digit(10)).collect();
    let check = |count: usize| {
        let sum: u32 = (2..).zip(digits[..count].iter().rev()).map(|(weight, digit)| weight * digit).sum();
        sum * 10 % 11 % 10
    };
    digits.len() == 11
        && digits.iter().any(|digit| *digit != digits[0])
        && digits[9] == check(9)
        && digits[10] == check(10)
}

/// Whether it is a Swiss insurance number: the check digit of EAN-13 holds.
pub(super) fn is_ahv(text: &str) -> bool {
    let digits: Vec<u32> = text.chars().filter_map(|c| c.to_digit(10)).collect();
    let sum: u32 = digits.iter().enumerate().map(|(at, digit)| if at % 2 == 0 { *digit } else { digit * 3 }).sum();
    digits.len() == 13 && sum.is_multiple_of(10)
}
