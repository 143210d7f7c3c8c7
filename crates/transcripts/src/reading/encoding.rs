//! From bytes to text, for files whose encoding nothing declares.

/// What Windows-1252 has in the places from 0x80 to 0x9F; the five that it leaves open stay control characters.
const WINDOWS_1252: [char; 32] = [
    '€', '\u{81}', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\u{8d}', 'Ž', '\u{8f}', '\u{90}', '‘', '’',
    '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', '\u{9d}', 'ž', 'Ÿ',
];

/// Decodes `bytes` as UTF-8, or as Windows-1252 where not one character in them is UTF-8 beyond ASCII.
///
/// A text that is UTF-8 but for some damage keeps its characters, and U+FFFD stands where it is damaged.
pub fn decoded(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap_or_else(|error| {
        let bytes = error.as_bytes();
        let is_cut = error.utf8_error().error_len().is_none();
        let is_western = !is_cut && bytes.utf8_chunks().all(|chunk| chunk.valid().is_ascii());
        if is_western {
            bytes.iter().copied().map(western).collect()
        } else {
            String::from_utf8_lossy(bytes).into_owned()
        }
    })
}

fn western(byte: u8) -> char {
    let special = byte.checked_sub(0x80).and_then(|place| WINDOWS_1252.get(usize::from(place)));
    special.copied().unwrap_or(char::from(byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_that_is_no_utf_8_at_all_is_windows_1252() {
        let rows: [(&[u8], &str); 5] = [
            ("Luís: é — sim".as_bytes(), "Luís: é — sim"),
            (b"Lu\xEDs: \x93n\xE3o\x94 \x97 10 \x80", "Luís: “não” — 10 €"),
            (b"\xC3\xA9 and \xFF", "é and \u{fffd}"),
            (b"cut \xC3", "cut \u{fffd}"),
            (b"", ""),
        ];
        for (bytes, expected) in rows {
            assert_eq!(decoded(bytes.to_vec()), expected);
        }
    }
}
