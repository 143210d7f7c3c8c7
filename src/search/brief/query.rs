//! Memories that are relevant to a question, with their relevance.

use std::collections::{BTreeSet, HashMap};

use jiff::Timestamp;

use crate::embed::{EmbedError, QueryVectors};
use crate::memory::{Claim, Evidence, Memory, MemoryId};
use crate::search::{Direct, Found, direct};
use crate::store::{Database, Filter, StoreError};

/// Number of hits that are considered.
// Rarity is measured among the hits, so there must be enough hits to distinguish common words from rare words.
const HITS: usize = 100;
/// Minimum share of a question's information that a memory must contain to be relevant.
// The share is low enough for a long question, but high enough that one shared place name is not sufficient.
const MIN_SHARE: f64 = 0.35;
/// Weight of a pair of characters that occurs in no memory, relative to a word that occurs in no memory, since most
/// pairs are not words.
const UNSEEN_PAIR: f64 = 0.3;
/// Number of leading letters of a word that are compared, so that endings are ignored.
const STEM_CHARS: usize = 5;
/// Words that do not indicate the subject of a question.
const EMPTY_WORDS: &[&str] = &[
    "about", "after", "again", "also", "and", "any", "are", "been", "before", "but", "can", "could", "did", "does",
    "done", "for", "from", "get", "give", "had", "has", "have", "her", "here", "him", "his", "how", "into", "its",
    "just", "let", "make", "may", "more", "not", "now", "our", "out", "over", "please", "put", "she", "should", "some",
    "tell", "than", "that", "the", "their", "them", "then", "there", "these", "they", "this", "those", "use", "using",
    "want", "was", "were", "what", "when", "where", "which", "who", "why", "will", "with", "would", "you", "your",
];

/// Returns the memories that are relevant to `query`, with a rating of 0–1. Half of the rating is the share of the
/// query's information that the memory contains, and half is the memory's relevance among the hits. Memories that
/// contain too little of the information are left out, unless their similarity in meaning stands out, so the list may
/// be empty. The second value is the reason why vectors were not used, if they were not.
pub(super) fn to_the_point(
    store: &Database,
    query: &str,
    filter: &Filter,
    vectors: Option<&QueryVectors>,
    now: Timestamp,
) -> Result<(HashMap<MemoryId, f64>, Option<EmbedError>), StoreError> {
    let Direct { found, stand_out, without_meaning } = direct(store, query, filter, HITS, vectors, now)?;
    let memories: Vec<_> = found.iter().map(|found| found.memory.clone()).collect();
    let evidence = store.evidence_of(&memories)?;
    let held = |memory: &Memory| words_of(&memory.claim, evidence.get(&memory.id).map_or(&[], Vec::as_slice));
    let shares = shares(&words(query), &memories.iter().map(held).collect::<Vec<_>>());
    // For a hit by meaning alone, shared words are not informative.
    let by_words = found.iter().zip(shares).map(|(hit, share)| if hit.fit.words > 0.0 { share } else { 0.0 });
    let shares: Vec<f64> = by_words.collect();
    let bears = |hit: &Found, share: f64| share >= MIN_SHARE || stand_out.contains(&hit.memory.id);
    let fits = found.into_iter().zip(shares).filter(|(hit, share)| bears(hit, *share));
    let fits = fits.map(|(hit, share)| (hit.memory.id, f64::midpoint(share, hit.score.relevance)));
    Ok((fits.collect(), without_meaning))
}

/// Returns the share of the question's words that each memory contains. The fewer memories contain a word, the more it
/// counts. A word that no memory contains counts as much as the rarest other word.
fn shares(asked: &BTreeSet<String>, held: &[BTreeSet<String>]) -> Vec<f64> {
    let rarity = |word: &&String| {
        let holding = held.iter().filter(|words| words.contains(*word)).count();
        let without = number(held.len() - holding);
        // The weight is the inverse document frequency of BM25, computed for the hits instead of the whole store.
        (holding > 0).then(|| ((without + 0.5) / (number(holding) + 0.5)).ln_1p())
    };
    let most = asked.iter().filter_map(|word| rarity(&word)).fold(0.0, f64::max);
    let unseen = |word: &str| if word.chars().any(is_unspaced) { most * UNSEEN_PAIR } else { most };
    let weights: Vec<(&String, f64)> =
        asked.iter().map(|word| (word, rarity(&word).unwrap_or_else(|| unseen(word)))).collect();
    let whole: f64 = weights.iter().map(|(_, weight)| weight).sum();
    let share = |words: &BTreeSet<String>| {
        let part: f64 = weights.iter().filter(|(word, _)| words.contains(*word)).map(|(_, weight)| weight).sum();
        // A question without usable words, such as mere punctuation, accepts all hits.
        if whole <= 0.0 { 1.0 } else { part / whole }
    };
    held.iter().map(share).collect()
}

fn number(count: usize) -> f64 {
    f64::from(u32::try_from(count).unwrap_or(u32::MAX))
}

/// Returns the distinctive words of a memory and of its evidence.
fn words_of(claim: &Claim, evidence: &[Evidence]) -> BTreeSet<String> {
    let parts = [&claim.summary, &claim.subject, &claim.key, &claim.value].map(|part| part.as_deref().unwrap_or(""));
    let quotes = evidence.iter().map(|piece| piece.quote.as_str());
    let texts = [claim.title.as_str(), &claim.content].into_iter().chain(parts);
    let all: Vec<&str> = texts.chain(claim.tags.iter().map(String::as_str)).chain(quotes).collect();
    words(&all.join(" "))
}

/// Returns the prefixes of the distinctive words of a text, and pairs of characters for scripts without spaces.
fn words(text: &str) -> BTreeSet<String> {
    let mut words = BTreeSet::new();
    for word in text.to_lowercase().split(|c: char| !c.is_alphanumeric()) {
        let letters: Vec<char> = word.chars().collect();
        if letters.iter().copied().any(is_unspaced) {
            // Without spaces, there are no word boundaries, but pairs of characters match a word wherever it occurs.
            words.extend(letters.windows(2).map(|pair| pair.iter().collect::<String>()));
        } else if letters.len() > 2 && !EMPTY_WORDS.contains(&word) {
            // Prefixes do not require language detection, which is unreliable for a short question.
            words.insert(letters.iter().take(STEM_CHARS).collect());
        }
    }
    words
}

/// Returns whether a character belongs to Chinese, Japanese or Korean writing.
const fn is_unspaced(letter: char) -> bool {
    matches!(letter, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}' | '\u{20000}'..='\u{3ffff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(query: &str, contents: &[&str]) -> Vec<bool> {
        let held: Vec<_> = contents.iter().map(|content| words(content)).collect();
        shares(&words(query), &held).into_iter().map(|share| share >= MIN_SHARE).collect()
    }

    #[test]
    fn a_memory_bears_on_a_question_if_it_holds_enough_of_what_that_tells() {
        for (query, content, expected) in [
            ("How do we deploy?", "The shop deploys with Nomad.", true),
            ("deploy target", "The shop deploys with Nomad.", true),
            ("What is the weather in Paris like today?", "The office is in Paris.", false),
            ("Which tests run before we merge the parser?", "Tests run before every merge.", true),
            ("我们怎么部署商店?", "商店用 Nomad 部署。", true),
            ("我们什么时候去北京出差开会?", "北京的办公室在朝阳区。", false),
            ("C++?", "The parser is in C++.", true),
        ] {
            assert_eq!(found(query, &[content]), [expected], "{query}");
        }
    }

    #[test]
    fn a_word_that_every_memory_holds_tells_little() {
        let shop = ["The shop deploys with Nomad.", "The shop sells coffee.", "The shop is open on Mondays."];
        assert_eq!(found("How does the shop deploy?", &shop), [true, false, false]);
    }
}
