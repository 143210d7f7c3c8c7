//! Measures ways to tell whether a memory states a fact.
//!
//! Every suite counts by the patterns of its cases. The ways here are only compared with the patterns, and with triples of
//! known truth: a fact with a text that states it, one that states something else in the same words, and one that is too
//! vague to state it.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::case::LoadedCase;
use crate::files::{LineCase, Placed};
use crate::patterns::Match;
use crate::prediction::Prediction;
use crate::row::{Better, Measure, Ratio, Row, Unit};
use crate::text::{content_words, normalize};

/// Kind of the rows of triples.
pub const TRIPLES: &str = "matchers";
/// Kind of the rows that compare ways of matching with the patterns of a case.
pub const AGREEMENT: &str = "agreement";
/// Share of the wrong and of the vague texts that a judge must reject before its figures are shown.
pub const TRUSTED: f64 = 0.98;
/// Share of a fact's words that a memory must contain for the two to be compared: all others are far apart.
const NEAR: f64 = 0.3;
/// Share of content words from which on a text counts as stating a fact, measured on paraphrases and near misses.
pub(crate) const LEAST_SHARE: f64 = 0.67;
/// Cosine from which on two texts count as stating the same.
const LEAST_COSINE: f64 = 0.75;
const COSINE: &str = "cosine";
const JUDGE: &str = "judge";

/// A similarity of two texts that needs no model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Similarity {
    /// Equality except for case, width, quotes and spaces.
    Exact,
    /// Harmonic mean of the shares of content words that each has of the other.
    TokenF1,
    /// Share of the fact's content words.
    Content,
    /// Edit distance of the sorted words.
    Fuzzy,
}

impl Similarity {
    const ALL: [Self; 4] = [Self::Exact, Self::TokenF1, Self::Content, Self::Fuzzy];

    const fn name(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::TokenF1 => "token-f1",
            Self::Content => "content",
            Self::Fuzzy => "fuzzy",
        }
    }

    /// Returns the similarity from which on a text counts as stating a fact.
    pub(crate) const fn least(self) -> f64 {
        match self {
            Self::Exact => 1.0,
            Self::TokenF1 => 0.5,
            Self::Content => LEAST_SHARE,
            Self::Fuzzy => 0.6,
        }
    }

    /// Returns the similarity of `text` to `fact`, from 0 to 1.
    pub(crate) fn of(self, fact: &str, text: &str) -> f64 {
        match self {
            Self::Exact => f64::from(u8::from(normalize(fact) == normalize(text))),
            Self::TokenF1 => {
                let (fact, text) = (words(fact), words(text));
                let (recall, precision) = (share(&fact, &text), share(&text, &fact));
                if recall + precision == 0.0 { 0.0 } else { 2.0 * recall * precision / (recall + precision) }
            }
            Self::Content => share(&words(fact), &words(text)),
            Self::Fuzzy => {
                let sorted = |text: &str| words(text).into_iter().collect::<Vec<_>>().join(" ");
                strsim::normalized_levenshtein(&sorted(fact), &sorted(text))
            }
        }
    }
}

/// Returns the content words of `text`; in scripts without spaces, such as Chinese, its pairs of characters.
pub(crate) fn words(text: &str) -> BTreeSet<String> {
    let is_unspaced = |letter: &char| matches!(letter, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}');
    let mut words = BTreeSet::new();
    for word in content_words(text) {
        let letters: Vec<char> = word.chars().collect();
        if letters.len() > 2 && letters.iter().any(is_unspaced) {
            words.extend(letters.windows(2).map(|pair| pair.iter().collect::<String>()));
        } else {
            words.insert(word);
        }
    }
    words
}

/// Returns the share of the words of `fact` that `text` contains; 0 if it has none.
pub(crate) fn share(fact: &BTreeSet<String>, text: &BTreeSet<String>) -> f64 {
    let found = u32::try_from(fact.intersection(text).count()).unwrap_or(u32::MAX);
    f64::from(found) / f64::from(u32::try_from(fact.len().max(1)).unwrap_or(u32::MAX))
}

/// Returns whether `text` contains every number of `fact`: a similarity does not distinguish 15 from 50.
pub(crate) fn numbers_agree(fact: &str, text: &str) -> bool {
    let digits = |text: &str| -> BTreeSet<String> {
        let text = normalize(text);
        let parts = text.split(|one: char| !one.is_ascii_digit()).filter(|part| !part.is_empty());
        parts.map(|part| part.trim_start_matches('0').to_owned()).collect()
    };
    digits(fact).is_subset(&digits(text))
}

/// A fact with three texts.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Triple {
    /// Unique within the file.
    pub id: String,
    /// The fact.
    pub fact: String,
    /// States it in other words.
    pub says: String,
    /// States something false in much the same words: another number, name, direction or sense.
    pub wrong: String,
    /// Is about it and does not state it.
    pub vague: String,
}

impl LineCase for Triple {
    const ENDING: &'static str = "-triples.jsonl";
    const IDS_PER_LANGUAGE: bool = true;

    fn id(&self) -> &str {
        &self.id
    }

    fn check(&self) -> Result<(), String> {
        Ok(())
    }
}

/// A judge's verdict on a memory and a fact.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Judgement {
    /// The memory states the fact.
    Says,
    /// The memory states a part of the fact.
    Part,
    /// The memory states the opposite.
    Contradicts,
    /// The memory is about something else.
    Other,
}

/// Verdicts of models on pairs of a fact and a text, in the order of the pairs.
#[derive(Debug, Default)]
pub struct ModelVerdicts {
    /// Cosine of the sentence vectors, if there is a model for them.
    pub cosines: Option<Vec<f64>>,
    /// Verdicts of a judge, if there is one; `None` for a pair that it did not answer, which counts for nothing.
    pub judgements: Option<Vec<Option<Judgement>>>,
}

/// A pair of a fact and a text.
pub type FactPair<'a> = (&'a str, &'a str);

/// Returns the pairs of `triples`, three for each.
#[must_use]
pub fn pairs_of(triples: &[Placed<Triple>]) -> Vec<FactPair<'_>> {
    triples
        .iter()
        .flat_map(|placed| {
            let one = &placed.case;
            [&one.says, &one.wrong, &one.vague].map(|text| (one.fact.as_str(), text.as_str()))
        })
        .collect()
}

/// Returns whether each way accepts `text` as stating `fact`, by name.
fn verdicts(pair: FactPair<'_>, at: usize, models: &ModelVerdicts) -> Vec<(&'static str, bool)> {
    let mut found: Vec<(&'static str, bool)> =
        Similarity::ALL.iter().map(|one| (one.name(), one.of(pair.0, pair.1) >= one.least())).collect();
    if let Some(cosine) = models.cosines.as_ref().and_then(|cosines| cosines.get(at)) {
        found.push((COSINE, *cosine >= LEAST_COSINE));
    }
    let judgement = models.judgements.as_ref().and_then(|all| all.get(at).copied().flatten());
    found.extend(judgement.map(|judgement| (JUDGE, judgement == Judgement::Says)));
    found
}

fn measures_of_ways(kind: &str, with_cosine: bool, with_judge: bool, what: [(&str, &str, Better); 3]) -> Vec<Measure> {
    let mut names: Vec<&str> = Similarity::ALL.iter().map(|one| one.name()).collect();
    names.extend(with_cosine.then_some(COSINE));
    names.extend(with_judge.then_some(JUDGE));
    let of = |name: &str| {
        what.map(|(what, about, better)| Measure {
            kind: kind.to_owned(),
            name: format!("{name} {what}"),
            about: about.to_owned(),
            better,
            unit: Unit::Share,
            harmonic_of: None,
        })
    };
    names.into_iter().flat_map(of).collect()
}

/// Returns the measures of the rows of triples.
#[must_use]
pub fn triple_measures(with_cosine: bool, with_judge: bool) -> Vec<Measure> {
    let what = [
        ("says", "texts that state the fact and are accepted", Better::Higher),
        ("wrong", "texts that state something else and are accepted", Better::Lower),
        ("vague", "texts that are too vague and are accepted", Better::Lower),
    ];
    measures_of_ways(TRIPLES, with_cosine, with_judge, what)
}

/// Tries every way of matching on `triples`; `models` has a verdict for each of [`pairs_of`] them.
#[must_use]
pub fn score_triples(triples: &[Placed<Triple>], models: &ModelVerdicts) -> Vec<Row> {
    let pairs = pairs_of(triples);
    let row = |(number, placed): (usize, &Placed<Triple>)| {
        let mut row = Row {
            kind: TRIPLES.to_owned(),
            case: format!("{}/{}", placed.language, placed.case.id),
            language: Some(placed.language.clone()),
            about: placed.case.fact.clone(),
            ..Row::default()
        };
        for (place, what) in ["says", "wrong", "vague"].into_iter().enumerate() {
            let at = number * 3 + place;
            for (name, accepts) in verdicts(pairs[at], at, models) {
                row.yes(&format!("{name} {what}"), accepts);
                if name == JUDGE && accepts != (what == "says") {
                    row.fault("misjudged", what, pairs[at].1, "the judge decided otherwise");
                }
            }
        }
        row
    };
    triples.iter().enumerate().map(row).collect()
}

/// Returns whether the judge rejects enough of the wrong and of the vague texts for its figures to be shown.
#[must_use]
pub fn is_judge_trusted(rows: &[Row]) -> bool {
    let rejects = |what: &str| {
        let name = format!("{JUDGE} {what}");
        let ratios = rows.iter().filter_map(|row| row.measures.get(&name));
        let sum = ratios.fold(Ratio::default(), |sum, one| sum.plus(*one));
        sum.value(Unit::Share).is_some_and(|accepted| 1.0 - accepted >= TRUSTED)
    };
    rejects("wrong") && rejects("vague")
}

/// Removes the judge's figures and findings from `row`.
pub fn remove_judge(row: &mut Row) {
    row.measures.retain(|name, _| !name.starts_with(JUDGE));
    row.findings.retain(|finding| finding.what != "misjudged");
}

/// Returns the measures of the rows that compare ways of matching with patterns.
#[must_use]
pub fn agreement_measures(with_cosine: bool, with_judge: bool) -> Vec<Measure> {
    let what = [
        ("agrees", "pairs of a fact and a similar memory with the same verdict as the patterns", Better::Higher),
        ("right", "memories that state the fact by the patterns and are accepted", Better::Higher),
        ("distorted", "memories that distort it by the patterns and are accepted", Better::Lower),
    ];
    measures_of_ways(AGREEMENT, with_cosine, with_judge, what)
}

/// Returns the facts of a case with the memories that are similar to each, and what the patterns say of each pair.
#[must_use]
pub fn similar_pairs<'a>(case: &'a LoadedCase, predictions: &'a [Prediction]) -> Vec<(FactPair<'a>, Match)> {
    let mut near = Vec::new();
    for gold in &case.patterns.golds {
        let wanted = words(&gold.text);
        for memory in predictions {
            let found = gold.compare(&memory.searched);
            if found != Match::Absent || share(&wanted, &words(&memory.content)) >= NEAR {
                near.push(((gold.text.as_str(), memory.content.as_str()), found));
            }
        }
    }
    near
}

/// Compares every way of matching with the patterns on the pairs of a case.
#[must_use]
pub fn score_agreement(case: &str, pairs: &[(FactPair<'_>, Match)], models: &ModelVerdicts) -> Row {
    let mut row = Row { kind: AGREEMENT.to_owned(), case: case.to_owned(), ..Row::default() };
    for (at, (pair, by_patterns)) in pairs.iter().enumerate() {
        for (name, accepts) in verdicts(*pair, at, models) {
            row.yes(&format!("{name} agrees"), accepts == (*by_patterns == Match::Stated));
            match by_patterns {
                Match::Stated => row.yes(&format!("{name} right"), accepts),
                Match::Distorted => row.yes(&format!("{name} distorted"), accepts),
                Match::Absent => {}
            }
        }
    }
    row
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::files::{files_of, read_cases};

    #[test]
    fn paraphrases_are_similar_and_so_are_contradictions() {
        let fact = "Ana moved from Lyon to Porto in March.";
        for (text, alike) in [
            ("In March Ana moved to Porto from Lyon.", true),
            ("Ana moved from Porto to Lyon in March.", true),
            ("Ben keeps bees.", false),
        ] {
            for similarity in [Similarity::TokenF1, Similarity::Content, Similarity::Fuzzy] {
                assert_eq!(similarity.of(fact, text) >= similarity.least(), alike, "{} {text}", similarity.name());
            }
            assert!(Similarity::Exact.of(fact, text) < 1.0);
        }
        assert!(Similarity::Exact.of("Use “tabs”", "use \"TABS\"") >= 1.0);
        assert!(Similarity::TokenF1.of("用户住在杭州滨江区", "用户现在住在杭州滨江") > 0.5);
        assert!(Similarity::TokenF1.of("用户住在杭州滨江区", "日志平台换成了新的") < 0.1);
    }

    #[test]
    fn another_number_is_another_fact() {
        assert!(numbers_agree("The limit is 15 MB.", "15 MB is the limit, since 2026."));
        assert!(!numbers_agree("The limit is 15 MB.", "The limit is 50 MB."));
        assert!(numbers_agree("on 2026-03-09", "on 9/3/2026"));
    }

    #[test]
    fn no_similarity_of_words_can_be_trusted_with_wrong_texts() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../evals/matchers");
        let (triples, errors) = read_cases::<Triple>(&files_of::<Triple>(&folder));
        assert!(triples.len() >= 40 && errors.is_empty(), "{errors:?}");
        let rows = score_triples(&triples, &ModelVerdicts::default());
        let share = |name: &str| {
            let sum = rows.iter().fold(Ratio::default(), |sum, row| sum.plus(row.measures[name]));
            sum.value(Unit::Share).unwrap()
        };
        assert!(share("token-f1 wrong") > share("token-f1 says"), "contradictions keep the words, paraphrases do not");
        assert!(share("exact wrong") < 0.01 && share("exact says") < 0.01);
        assert!(!is_judge_trusted(&rows), "a judge that was not asked is not trusted");
    }
}
