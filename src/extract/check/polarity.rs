//! Finds claims that say the opposite of their quotes: a negation was lost or invented.
//!
//! Only clear cases are judged. All words that the quote denies appear in the claim, the claim does not deny them in
//! any other way, and no other sentence of the evidence states them without a negation. The reverse case is judged in
//! the same way.

use crate::text::negation::{first_denial, is_negative, plain};
use crate::text::script::is_wide;
use crate::text::tokens::{is_listed, units};

/// Words that carry no meaning in a comparison.
const EMPTY: &str = "
    the a an to of in on at for with by from and or is are was were be been am do does did will would shall should can could may
    might must have has had it its this that these those i we you he she they my our your his her their me us them any all ever
    please so very really just also too as than then there here user
    der die das den dem des ein eine einen einem einer zu in im an am auf für mit von bei und oder ist sind war waren sein wird
    werden hat haben ich wir du er sie es mein unser dein ihr mich uns sich bitte auch so sehr man
    el la los las un una unos unas de del a en por para con y o es son era fue ser estar está he ha han yo nosotros tú él ella
    mi mis nuestro tu su me te se lo le que por favor muy también";

/// Words that introduce a reported statement.
const REPORTS: &str = "
    say says said saying think thought believe believed mean meant claim claimed suggest suggested agree agreed true case
    suppose know knew whether if";

/// How a claim contradicts its quote.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Change {
    /// The quote denies what the claim says.
    Lost,
    /// The claim denies what the quote says.
    Invented,
}

/// Returns how `content` reverses its evidence: the quote, which appears in `sentence`, and the text `cited` of all
/// cited messages.
pub(super) fn change(content: &str, sentence: &str, cited: &str) -> Option<Change> {
    // Idioms such as "don't forget" contain a negation but deny nothing.
    let (claim, said, all) = (plain(content), plain(sentence), plain(cited));
    if states_a_change(&claim) {
        return None;
    }
    // "Don't you use tabs?" expects a yes, so a negation in a question may deny nothing.
    if !is_negative(&claim) && !sentence.contains(['?', '？']) {
        return ((!is_averse(&claim) || is_averse(&said)) && lost(&claim, &said, &all)).then_some(Change::Lost);
    }
    (!is_negative(&all) && invented(&claim, &said, &all)).then_some(Change::Invented)
}

/// Whether a claim states both what was true before and what is true now. Such a claim may state what its quote denies.
fn states_a_change(claim: &str) -> bool {
    const WORDS: &str = "changed|moved|switched|replaced|instead|rather than|former|used to|statt|gewechselt|umgestellt|früher|\
        ersetzt|cambi|en vez de|en lugar de|pasó de|antes|改|换|替代|取代";
    WORDS.split('|').any(|word| claim.contains(word))
}

/// Whether a text says without a negation that somebody does not want or do something: "frei von Arbeit". Such words do
/// not count as negations elsewhere, because they deny only some of what follows.
fn is_averse(text: &str) -> bool {
    const WORDS: &str = "avoids|avoid|meidet|meide|vermeidet|frei von|erst ab|erst nach|free of|libre de|evita|避免";
    let padded = format!(" {} ", text.replace(|c: char| c.is_ascii_punctuation(), " "));
    WORDS.split('|').any(|word| {
        // Chinese has no spaces between words.
        if word.starts_with(is_wide) { padded.contains(word) } else { padded.contains(&format!(" {word} ")) }
    })
}

fn lost(claim: &str, said: &str, all: &str) -> bool {
    let Some((denial, is_doubled)) = first_denial(said) else { return false };
    let denied = clause_after(said, denial.end);
    // Japanese and Korean put the negation at the end of the clause.
    let denied = if denied.trim().chars().filter(|c| c.is_alphanumeric()).count() < 2 {
        clause_before(said, denial.start)
    } else {
        denied
    };
    // "I never said that we use tabs" denies what follows the reporting verb.
    let words: Vec<String> = content_words(denied).into_iter().skip_while(|word| is_report(word)).collect();
    // Two negations may or may not cancel each other, and a wrong guess would reject a true claim.
    if is_doubled || !says_enough(&words) {
        return false;
    }
    let claimed = content_words(claim);
    has_all(&claimed, &words)
        && !clauses(all).any(|clause| first_denial(clause).is_none() && has_all(&content_words(clause), &words))
}

fn invented(claim: &str, said: &str, all: &str) -> bool {
    let Some((denial, is_doubled)) = first_denial(claim) else { return false };
    let words = content_words(clause_after(claim, denial.end));
    let source = if is_contrast(&claim[..denial.start], said) { said } else { all };
    !is_doubled && says_enough(&words) && has_all(&content_words(source), &words)
}

/// Whether a claim that begins with `before` contrasts the quote with what somebody else said: "uses A, not B" after
/// "So you use B?" and "A". The negated part then belongs to the other person.
fn is_contrast(before: &str, said: &str) -> bool {
    let said = content_words(said);
    before.trim_end().ends_with([',', ';', '(', '—', '，', '；', '（', '、', '而'])
        && content_words(before).iter().any(|word| said.contains(word))
}

/// Whether words are enough to identify a statement: two words, one long word, or two Chinese characters.
fn says_enough(words: &[String]) -> bool {
    words.len() > 1 || words.iter().any(|word| word.chars().count() >= 5 || word.chars().all(is_wide))
}

fn has_all(words: &[String], wanted: &[String]) -> bool {
    wanted.iter().all(|word| words.contains(word))
}

const ENDS: [char; 17] = ['.', ',', ';', ':', '!', '?', '\n', '。', '，', '；', '：', '！', '？', '、', '(', '（', '—'];

fn clauses(text: &str) -> impl Iterator<Item = &str> {
    text.split(ENDS).flat_map(|part| part.split(" but ").flat_map(|part| part.split(" and ")))
}

fn clause_after(text: &str, from: usize) -> &str {
    let clause = clauses(&text[from..]).next().unwrap_or_default();
    clause.trim_start_matches(['要', '能', '会', '想', '得', '再', '可', '以', '用'])
}

fn clause_before(text: &str, to: usize) -> &str {
    text[..to].rsplit(ENDS).next().unwrap_or_default()
}

/// Returns the stems of the content words or, in Chinese and Japanese, every pair of adjacent characters.
fn content_words(text: &str) -> Vec<String> {
    let units = units(text);
    let is_wide_unit = |unit: &String| unit.chars().all(is_wide);
    // Single characters are too common to identify a statement.
    let pairs = units.windows(2).filter(|pair| pair.iter().all(is_wide_unit)).map(<[String]>::concat);
    let words = units
        .iter()
        .filter(|unit| !is_wide_unit(unit) && unit.chars().count() > 1 && !is_listed(EMPTY, unit))
        .map(|unit| stem(unit));
    words.chain(pairs).collect()
}

/// Whether denying a word means denying what follows it, as in "never said that".
fn is_report(stemmed: &str) -> bool {
    REPORTS.split_whitespace().any(|one| stem(one) == stemmed)
}

/// Returns the beginning of a word that all its forms share.
fn stem(word: &str) -> String {
    let endings = ["amos", "emos", "imos", "ing", "ies", "ed", "es", "s", "en", "t", "e", "o", "a", "y"];
    let mut stem = word;
    // Endings are removed repeatedly, since a word may have several: "meetings" loses "s" and then "ing".
    while let Some(shorter) =
        endings.iter().find_map(|ending| stem.strip_suffix(ending).filter(|rest| rest.chars().count() >= 3))
    {
        stem = shorter;
    }
    let mut letters: Vec<char> = stem.chars().collect();
    if letters.len() > 3 && letters[letters.len() - 1] == letters[letters.len() - 2] {
        letters.pop();
    }
    letters.into_iter().collect()
}
