//! The content words that two claims share.

use super::view::View;

/// Pairs of words that are compared letter by letter at most; longer texts are compared by whole words.
const MAX_COMPARED: usize = 4_096;

/// The content words of two claims, set against each other.
pub(in crate::consolidate) struct Words {
    pub(in crate::consolidate) shared: usize,
    pub(in crate::consolidate) incoming_only: usize,
    pub(in crate::consolidate) known_only: usize,
}

impl Words {
    pub(in crate::consolidate) fn of(incoming: &View<'_>, known: &View<'_>) -> Self {
        let (a, b) = (&incoming.features.tokens, &known.features.tokens);
        let fuzzy = a.len() * b.len() <= MAX_COMPARED;
        let mut unmatched: Vec<&String> = b.difference(a).collect();
        let incoming_only = a.difference(b).filter(|token| {
            let twin = unmatched.iter().position(|other| fuzzy && is_variant(token, other));
            twin.map(|at| unmatched.swap_remove(at)).is_none()
        });
        // Where the known claim is contained whole, a pair of characters that only came to stand together is no news.
        let rejoined = |token: &&&String| {
            let wide = token.chars().count() == 2 && !token.is_ascii();
            wide && token.chars().all(|c| known.features.text.contains(c))
        };
        let incoming_only: Vec<&String> = incoming_only.collect();
        // A noun of one character stands in a longer one: `猫` in `橘猫`.
        let incoming_text = &incoming.features.text;
        let stands = |token: &str| token.chars().count() == 1 && !token.is_ascii() && incoming_text.contains(token);
        unmatched.retain(|token| !stands(token));
        let news = incoming_only.iter().filter(|token| !unmatched.is_empty() || !rejoined(token)).count();
        let incoming_only = news;
        Self { shared: a.len() - incoming_only, incoming_only, known_only: unmatched.len() }
    }

    /// Whether a claim of few words stands whole in the other, as `smokes` in `no longer smokes`.
    pub(in crate::consolidate) fn is_all_shared(&self, incoming: &View<'_>) -> bool {
        let all_but = self.incoming_only.min(self.known_only);
        !incoming.features.tokens.is_empty()
            && self.shared > 0
            && all_but == 0
            && self.incoming_only + self.known_only <= 1
    }

    pub(in crate::consolidate) fn overlap(&self) -> f64 {
        part(self.shared, self.shared + self.incoming_only.min(self.known_only))
    }
}

/// Returns `part` over `whole`, 0 of nothing.
#[expect(clippy::cast_precision_loss, reason = "counts of words, far below 2^52")]
pub(super) fn part(part: usize, whole: usize) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

/// Whether two words are spellings of one: long, alike in nearly every letter, beginning alike.
fn is_variant(a: &str, b: &str) -> bool {
    let letters =
        |word: &str| word.len() >= 5 && word.len() <= 40 && word.bytes().all(|byte| byte.is_ascii_alphabetic());
    a.as_bytes().first() == b.as_bytes().first()
        && letters(a)
        && letters(b)
        && strsim::normalized_levenshtein(a, b) >= 0.8
}
