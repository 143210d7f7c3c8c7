//! Counting tokens; `tiktoken-rs` lives here only.

use tiktoken_rs::{CoreBPE, o200k_base_singleton};

fn encoding() -> &'static CoreBPE {
    o200k_base_singleton()
}

/// Counts the `o200k_base` tokens of `text`.
///
/// The encoding is loaded on the first call: about 0.1 s and 50 MB, so nothing on the way to a search may count.
#[must_use]
pub fn count(text: &str) -> usize {
    encoding().count_ordinary(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_those_of_o200k_base() {
        assert_eq!(count(""), 0);
        assert_eq!(count("hello world"), 2);
        assert_eq!(count("<|endoftext|>"), 7);
    }
}
