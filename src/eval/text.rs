//! How texts are made comparable before they are searched.

use unicode_normalization::UnicodeNormalization as _;

/// Returns `text` as patterns see it: NFKC, lower case, plain quotes and dashes, and single spaces.
pub(super) fn normal(text: &str) -> String {
    let plain: String = text.nfkc().flat_map(char::to_lowercase).map(plain).collect();
    plain.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns `text` in lower case and with single spaces, and otherwise as it is.
pub(super) fn folded(text: &str) -> String {
    text.to_lowercase().split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns `pattern` with its literal characters made as plain as [`normal`] makes the text, its syntax left alone.
pub(super) fn normal_pattern(pattern: &str) -> String {
    let mut made = String::with_capacity(pattern.len());
    for one in pattern.nfc() {
        if one.is_ascii() {
            made.push(one);
            continue;
        }
        let seen: String = std::iter::once(one).nfkc().map(plain).collect();
        if seen.chars().eq([one]) {
            made.push(one);
        } else {
            made.push_str(&regex::escape(&seen));
        }
    }
    made
}

const fn plain(one: char) -> char {
    match one {
        '\u{2018}'..='\u{201b}' | '\u{2032}' | '\u{2039}' | '\u{203a}' => '\'',
        '\u{201c}'..='\u{201f}' | '\u{2033}' | '\u{ab}' | '\u{bb}' => '"',
        '\u{2010}'..='\u{2015}' | '\u{2212}' => '-',
        other => other,
    }
}

/// Returns the sentences of `text`, trimmed, in their order; a line break ends one.
pub(super) fn sentences(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    for line in text.lines() {
        let mut start = 0;
        let mut rest = line.char_indices().peekable();
        while let Some((at, one)) = rest.next() {
            let end = at + one.len_utf8();
            let breaks = match one {
                '。' | '！' | '？' => true,
                '.' | '!' | '?' => rest.peek().is_none_or(|(_, next)| next.is_whitespace()),
                _ => false,
            };
            if breaks {
                found.push(line[start..end].trim());
                start = end;
            }
        }
        found.push(line[start..].trim());
    }
    found.retain(|sentence| sentence.chars().any(char::is_alphanumeric));
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_that_read_alike_are_alike() {
        for (text, seen) in [
            ("“Don’t” — use\u{a0}TABS", "\"don't\" - use tabs"),
            ("ＰＮＰＭ，１０％", "pnpm,10%"),
            ("2026‑03‑16\n  UTC", "2026-03-16 utc"),
            ("Straße ÉTÉ", "straße été"),
            ("cafe\u{301}", "café"),
        ] {
            assert_eq!(normal(text), seen);
        }
    }

    #[test]
    fn patterns_keep_their_syntax() {
        for (pattern, made) in [
            (r"don’t|do not", "don't|do not"),
            ("（可选）", r"\(可选\)"),
            ("[–-]x", r"[\--]x"),
            (r"\bété\b.*", r"\bété\b.*"),
        ] {
            assert_eq!(normal_pattern(pattern), made);
        }
    }

    #[test]
    fn sentences_end_where_people_end_them() {
        let text = "Use v1.2 here. Really?\nYes!\n我们用 pnpm。好\n...\n";
        assert_eq!(sentences(text), ["Use v1.2 here.", "Really?", "Yes!", "我们用 pnpm。", "好"]);
    }
}
