//! Counting and cutting by tokens; `tiktoken-rs` lives here only.

use tiktoken_rs::{CoreBPE, o200k_base_singleton};

fn encoding() -> &'static CoreBPE {
    o200k_base_singleton()
}

/// Counts the `o200k_base` tokens of `text`.
///
/// The encoding is loaded on the first call. Words of over 1,000 bytes without a break, such as base64, are estimated
/// at one token per two bytes, since encoding them takes quadratic time.
#[must_use]
pub fn count(text: &str) -> usize {
    let (mut counted, mut rest_start) = (0, 0);
    for word in text.split_ascii_whitespace().filter(|word| word.len() > 1_000) {
        let start = word.as_ptr() as usize - text.as_ptr() as usize;
        counted += encoding().count_ordinary(&text[rest_start..start]) + word.len() / 2;
        rest_start = start + word.len();
    }
    counted + encoding().count_ordinary(&text[rest_start..])
}
