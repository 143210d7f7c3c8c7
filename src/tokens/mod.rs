//! Counts tokens.

mod o200k;

use std::borrow::Cow;

/// Counts the `o200k_base` tokens of `text`.
#[must_use]
pub fn count(text: &str) -> usize {
    let mut tokens = 0;
    o200k::encode(text, |_| tokens += 1);
    tokens
}

/// Returns the end of each token of `text`, in bytes. A token may end inside a character.
fn ends(text: &str) -> Vec<usize> {
    let mut ends = Vec::new();
    o200k::encode(text, |length| ends.push(ends.last().unwrap_or(&0) + length));
    ends
}

/// Returns the number of bytes of the first `count` tokens.
fn bytes_of(ends: &[usize], count: usize) -> usize {
    count.checked_sub(1).map_or(0, |last| ends[last])
}

/// Returns an estimate of the number of `o200k_base` tokens in `text`, without loading the encoding. The estimate is
/// rarely too low. It counts a third of a token for a character of Latin, Greek or Cyrillic script, and one token for
/// any other character.
pub(crate) fn estimate(text: &str) -> usize {
    let (mut few, mut many) = (0, 0);
    text.chars().for_each(|letter| *if (letter as u32) < 0x0530 { &mut few } else { &mut many } += 1_usize);
    few.div_ceil(3) + many
}

/// Number of bytes that are examined for each requested token. A token is rarely longer.
const BYTES_PER_TOKEN: usize = 16;

/// Returns the longest beginning of `text` that has about `limit` tokens.
///
/// The time depends on `limit`, not on the length of `text`.
pub(crate) fn head(text: &str, limit: usize) -> &str {
    // Encoding takes time in proportion to its input, which may be megabytes.
    let near = &text[..text.floor_char_boundary(limit.saturating_mul(BYTES_PER_TOKEN))];
    let ends = ends(near);
    let end = if ends.len() < limit { near.len() } else { bytes_of(&ends, limit) };
    &text[..text.floor_char_boundary(end)]
}

/// Returns the longest ending of `text` that has about `limit` tokens.
pub(crate) fn tail(text: &str, limit: usize) -> &str {
    let from = text.len().saturating_sub(limit.saturating_mul(BYTES_PER_TOKEN));
    let near = &text[text.ceil_char_boundary(from)..];
    let ends = ends(near);
    let cut = bytes_of(&ends, ends.len().saturating_sub(limit));
    &near[near.ceil_char_boundary(cut)..]
}

/// Returns `text`, or its beginning and end around `[… n tokens cut …]` if it has over `limit` tokens.
///
/// Two thirds of the result are from the beginning. If the text is far longer than the limit, `n` is estimated.
pub(crate) fn clip_middle(text: &str, limit: usize) -> Cow<'_, str> {
    let (kept_first, kept_last) = (limit - limit / 3, limit / 3);
    // Encoding takes time in proportion to the text, so only the ends of a very long text are encoded.
    let (total, first, last) = if text.len() > limit.saturating_mul(4 * BYTES_PER_TOKEN) {
        (text.len() / 4, head(text, kept_first), tail(text, kept_last))
    } else {
        let ends = ends(text);
        if ends.len() <= limit {
            return Cow::Borrowed(text);
        }
        let end = bytes_of(&ends, kept_first);
        let start = bytes_of(&ends, ends.len() - kept_last);
        (ends.len(), &text[..text.floor_char_boundary(end)], &text[text.ceil_char_boundary(start)..])
    };
    // If the ends meet, there is nothing to cut.
    if first.len() + last.len() >= text.len() {
        return Cow::Borrowed(text);
    }
    Cow::Owned(format!("{}\n[… {} tokens cut …]\n{}", first.trim_end(), total - limit, last.trim_start()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_estimate_is_seldom_too_low() {
        for text in [
            "The shop deploys with Nomad to the Frankfurt cluster; `cargo test --lib jobs` takes 90 s.",
            "用户偏好Python并关注A股科技,茅台。",
            "Die Bestellungen werden freitags um 17 Uhr abgeschlossen.",
            "",
        ] {
            let (estimated, counted) = (estimate(text), count(text));
            assert!(estimated >= counted && estimated <= counted * 2, "{text}: {estimated} for {counted}");
        }
    }

    #[test]
    fn counts_are_those_of_o200k_base() {
        assert_eq!(count(""), 0);
        assert_eq!(count("hello world"), 2);
        assert_eq!(count("<|endoftext|>"), 7);
    }

    #[test]
    fn heads_and_tails_end_at_character_boundaries() {
        let text = "记忆提取会在会话结束之后进行。👩‍👩‍👧‍👦 e\u{301}".repeat(40);
        for limit in 0..60 {
            let (first, last) = (head(&text, limit), tail(&text, limit));
            assert!(text.starts_with(first) && text.ends_with(last));
            assert!(count(first) <= limit + 2 && count(last) <= limit + 4, "{limit}");
        }
        assert_eq!((head("short", 9), tail("short", 9)), ("short", "short"));
    }

    #[test]
    fn only_the_middle_of_a_long_text_is_clipped() {
        let text = (0..300).map(|n| format!("w{n}")).collect::<Vec<_>>().join(" ");
        let clipped = clip_middle(&text, 60);
        assert!(clipped.starts_with("w0 w1 ") && clipped.ends_with(" w299"), "{clipped}");
        assert!(clipped.contains(" tokens cut …]") && count(&clipped) < 75, "{clipped}");
        assert_eq!(clip_middle("as it is", 60), "as it is");
    }

    #[test]
    fn a_huge_text_is_clipped_at_once() {
        let started = std::time::Instant::now();
        for text in ["a".repeat(5_000_000), " ".repeat(5_000_000), "{}[]".repeat(1_000_000)] {
            assert!(clip_middle(&text, 120).len() < 5_000);
        }
        assert!(started.elapsed().as_secs() < 5);
    }
}
