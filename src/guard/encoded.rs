//! Finds secrets in base64, in hexadecimal digits and in percent-encoding, by decoding the text and searching it.

use std::ops::Range;

use base64::Engine;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

use crate::guard::scan::{self, Found};

/// Length of the shortest run that is decoded, in bytes.
const MIN_BYTES: usize = 24;

/// Length of the longest run that is decoded, in bytes. Longer runs are files.
const MAX_BYTES: usize = 16_384;

/// Number of bytes that are decoded to see whether a run contains text. It is a multiple of four.
const SAMPLE_BYTES: usize = 24;

/// Maximum number of positions in a run at which the encoded text may begin, since it may follow a name or a path.
const MAX_STARTS: usize = 4;

/// Maximum number of times that a text is decoded.
const MAX_DEPTH: usize = 2;

/// Maximum distance between a percent sign and the beginning of its run, in bytes.
const BEFORE_BYTES: usize = 512;

const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_allow_trailing_bits(true)
        .with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// Returns the encoded secrets in `text`.
pub(super) fn secrets(text: &str) -> Vec<Found> {
    let mut found = at_depth(text, 0);
    found.extend(percent_encoded(text));
    found
}

fn at_depth(text: &str, depth: usize) -> Vec<Found> {
    let mut found = Vec::new();
    let bytes = text.as_bytes();
    let mut at = 0;
    while at + MIN_BYTES <= bytes.len() {
        // Shorter runs are skipped from their ends, so that most bytes are not read.
        if let Some(other) = bytes[at..at + MIN_BYTES].iter().rposition(|byte| !is_encoded(*byte)) {
            at += other + 1;
            continue;
        }
        let run = MIN_BYTES + bytes[at + MIN_BYTES..].iter().take_while(|byte| is_encoded(**byte)).count();
        if run <= MAX_BYTES {
            found.extend(in_run(text, at..at + run, depth));
        }
        at += run;
    }
    found
}

const fn is_encoded(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'-' | b'_')
}

/// Returns the part of a run that is an encoded secret.
fn in_run(text: &str, run: Range<usize>, depth: usize) -> Option<Found> {
    let whole = &text[run.clone()];
    let after = |at: usize| matches!(whole.as_bytes()[at], b'/' | b'-' | b'_').then_some(at + 1);
    let mut starts = std::iter::once(0).chain((0..whole.len()).filter_map(after)).take(MAX_STARTS);
    starts.find_map(|start| {
        let decoded = decoded(&whole[start..])?;
        let one = secret_in(&decoded, depth)?;
        let padding = text[run.end..].bytes().take(2).take_while(|byte| *byte == b'=').count();
        Some(Found { range: run.start + start..run.end + padding, ..one })
    })
}

/// Returns the text that a run encodes, if it is text.
fn decoded(run: &str) -> Option<String> {
    let sample = run.get(..SAMPLE_BYTES)?;
    let is_text = |bytes: &[u8]| bytes.iter().all(|byte| matches!(byte, b' '..=b'~' | b'\n' | b'\r' | b'\t'));
    let in_base64 = |part: &str| {
        let part = part.replace('-', "+").replace('_', "/");
        // A run that a limit cut may end within a group.
        let part = if part.len() % 4 == 1 { &part[..part.len() - 1] } else { &part };
        BASE64.decode(part).ok()
    };
    let in_digits = |part: &str| {
        let pairs = part.as_bytes().chunks_exact(2);
        pairs.map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()).collect::<Option<Vec<u8>>>()
    };
    let decode = |decoder: &dyn Fn(&str) -> Option<Vec<u8>>| {
        let bytes = decoder(sample).filter(|bytes| is_text(bytes)).and_then(|_| decoder(run))?;
        String::from_utf8(bytes).ok()
    };
    if run.bytes().all(|byte| byte.is_ascii_hexdigit()) { decode(&in_digits) } else { decode(&in_base64) }
}

/// Returns the first finding in a decoded text that is a secret by its form or its name.
fn secret_in(decoded: &str, depth: usize) -> Option<Found> {
    let mut found = scan::secrets(decoded);
    if depth + 1 < MAX_DEPTH {
        found.extend(at_depth(decoded, depth + 1));
    }
    found.into_iter().filter(is_certain).min_by_key(|one| one.rank)
}

/// Whether a finding in a decoded text is a secret by its form or its name, since random bytes may look like text.
fn is_certain(found: &Found) -> bool {
    found.is_token || scan::names_secret(found)
}

/// Returns the secrets that appear when percent signs with two digits are decoded.
fn percent_encoded(text: &str) -> Vec<Found> {
    let (mut found, mut read_to) = (Vec::new(), 0);
    for percent in memchr::memchr_iter(b'%', text.as_bytes()) {
        if percent < read_to || escaped(text, percent).is_none() {
            continue;
        }
        let ends = |c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '`' | '<' | '>' | '&' | '\\');
        let from = text.ceil_char_boundary(percent.saturating_sub(BEFORE_BYTES).max(read_to));
        let start = from + text[from..percent].rfind(ends).map_or(0, |at| at + 1);
        let start = text.ceil_char_boundary(start);
        let to = text.floor_char_boundary(percent + MAX_BYTES);
        let end = percent + text[percent..to].find(ends).unwrap_or(to - percent);
        read_to = end;
        let (mut bytes, mut places, mut at) = (Vec::new(), Vec::new(), start);
        while at < end {
            let byte = escaped(text, at);
            places.push(at);
            bytes.push(byte.unwrap_or(text.as_bytes()[at]));
            at += if byte.is_some() { 3 } else { 1 };
        }
        places.push(end);
        let Ok(decoded) = String::from_utf8(bytes) else { continue };
        let secrets = scan::secrets(&decoded).into_iter().filter(is_certain);
        found.extend(secrets.map(|one| Found { range: places[one.range.start]..places[one.range.end], ..one }));
    }
    found
}

/// Returns the byte that a percent sign at `at` and two digits encode.
fn escaped(text: &str, at: usize) -> Option<u8> {
    let digits = text.as_bytes().get(at..at + 3)?.strip_prefix(b"%")?;
    digits.iter().all(u8::is_ascii_hexdigit).then_some(())?;
    u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

#[cfg(test)]
mod tests {
    use base64::Engine;
    use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};

    use crate::guard::Guard;

    fn redacted(text: &str) -> String {
        Guard::default().redact(text.to_owned()).0.into_inner()
    }

    #[test]
    fn encoded_secrets_go() {
        let token = format!("ghp_{}", "aB3dE6gH9".repeat(4));
        let address = "postgres://shop:Maple9Syrup@db.internal:5432/shop";
        let hex = token.bytes().fold(String::new(), |hex, byte| format!("{hex}{byte:02x}"));
        let percent = address.replace(':', "%3A").replace('/', "%2F").replace('@', "%40");
        let twice = STANDARD.encode(STANDARD.encode(&token));
        let line = format!("TOKEN_OF_SHOP={token}\nPORT=80\n");
        let cases = [
            STANDARD.encode(&token),
            URL_SAFE_NO_PAD.encode(&token),
            STANDARD.encode(address),
            STANDARD.encode(line),
            STANDARD.encode("DB_PASSWORD=Maple9Syrup\nPORT=80\n"),
            hex.to_uppercase(),
            hex,
            percent,
            twice,
        ];
        for text in
            ["it is stored as X.", "data: { field: X }", "\"field\":\"X\"", "https://shop.example/v?state=X&n=1", "a/X"]
        {
            for secret in &cases {
                let clean = redacted(&text.replace('X', secret));
                assert!(!clean.contains(secret.as_str()) && clean.contains("[redacted:"), "{secret}: {clean}");
            }
        }
    }

    #[test]
    fn encoded_texts_without_a_secret_stay() {
        let encoded = STANDARD.encode("The shop opens at nine and closes at six, except on Sundays.");
        let picture = STANDARD.encode((0..200_u8).collect::<Vec<_>>());
        for text in
            [encoded.as_str(), picture.as_str(), "https://shop.example/a%20b?x=1%2F2", "100% of 20%25", "%zz%e4%b8"]
        {
            assert_eq!(redacted(text), text);
        }
    }
}
