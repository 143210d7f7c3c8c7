//! Scoring one case: what each memory is to the gold memories.

use super::assign::pairs;
use super::case::{Language, Ruling, Verdict};
use super::counts::Counts;
use super::details::count_details;
use super::language::is_written_in;
use super::matcher::{Match, Rules};
use super::prediction::{Messages, Prediction};

/// What a memory is to the gold memories of its case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Standing {
    /// It says what must not be kept.
    Forbidden,
    /// It says a gold memory wrongly, and none rightly.
    Distorted,
    /// It says nothing that is gold.
    Unlisted,
    /// It says only what another memory says already.
    Duplicate,
    /// It says something required.
    Right,
    /// It says only what may be left out.
    Optional,
}

/// What was found of one memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// What it is.
    pub standing: Standing,
    /// The gold memories that it says, alone or together with others: places in [`Rules::golds`].
    pub golds: Vec<usize>,
    /// The gold memories that it says wrongly.
    pub distorts: Vec<usize>,
    /// Why it is forbidden: places in [`Rules::forbidden`].
    pub forbidden: Vec<usize>,
    /// Whether its type is a gold one, where it is right or optional.
    pub type_right: Option<bool>,
    /// Whether it cites a message with gold evidence, where it is right or optional and there is such.
    pub evidence_right: Option<bool>,
    /// Its quotes that stand in the message cited, and all.
    pub quotes: (usize, usize),
    /// Whether it is in the language of the case.
    pub in_language: bool,
    /// What an independent reader says of it, where it is unlisted.
    pub verdict: Option<Ruling>,
}

/// A case that was scored.
#[derive(Debug, Clone, PartialEq)]
pub struct Scored {
    /// A finding for each memory, in their order.
    pub findings: Vec<Finding>,
    /// For each gold memory, whether it is there.
    pub recalled: Vec<bool>,
    /// The numbers.
    pub counts: Counts,
}

/// Scores `predictions` of a case in `language`.
///
/// A memory that is forbidden is nothing else. A gold memory is recalled if a memory says it, or if those that cite its
/// evidence say it together; these then count as saying it. A memory that says a gold memory rightly is not distorted by
/// another. Memories and gold memories are paired so that as few as possible are duplicates.
#[must_use]
pub fn score(
    rules: &Rules,
    language: Language,
    predictions: &[Prediction],
    messages: &Messages,
    verdicts: &[Verdict],
) -> Scored {
    let mut findings: Vec<Finding> =
        predictions.iter().map(|prediction| first_look(rules, language, prediction, messages)).collect();
    let mut recalled: Vec<bool> =
        (0..rules.golds.len()).map(|gold| findings.iter().any(|finding| finding.golds.contains(&gold))).collect();
    mark_duplicates(rules, &mut findings);
    for (gold, there) in recalled.iter_mut().enumerate() {
        *there = *there || say_together(rules, gold, predictions, messages, &mut findings);
    }
    for (finding, prediction) in findings.iter_mut().zip(predictions) {
        judge_details(rules, finding, prediction, messages);
        if finding.standing == Standing::Unlisted {
            let said = verdicts.iter().find(|verdict| verdict.content.trim() == prediction.content.trim());
            finding.verdict = said.map(|verdict| verdict.verdict);
        }
    }
    let mut counts = count(rules, &findings, &recalled);
    count_details(rules, predictions, &findings, &mut counts);
    Scored { findings, recalled, counts }
}

/// Says what a memory is by itself, before it is compared with the others.
fn first_look(rules: &Rules, language: Language, prediction: &Prediction, messages: &Messages) -> Finding {
    let text = &prediction.searched;
    let places = |wanted: Match| -> Vec<usize> {
        rules.golds.iter().enumerate().filter(|(_, gold)| gold.matches(text) == wanted).map(|(at, _)| at).collect()
    };
    let forbidden: Vec<usize> =
        rules.forbidden.iter().enumerate().filter(|(_, one)| one.matches(text)).map(|(at, _)| at).collect();
    let golds = if forbidden.is_empty() { places(Match::Yes) } else { Vec::new() };
    let distorts = places(Match::Distorted);
    let standing = if !forbidden.is_empty() {
        Standing::Forbidden
    } else if golds.iter().any(|&gold| !rules.golds[gold].optional) {
        Standing::Right
    } else if !golds.is_empty() {
        Standing::Optional
    } else if !distorts.is_empty() {
        Standing::Distorted
    } else {
        Standing::Unlisted
    };
    let found = prediction.evidence.iter().filter(|cited| messages.holds_quote(cited)).count();
    Finding {
        standing,
        golds,
        distorts,
        forbidden,
        type_right: None,
        evidence_right: None,
        quotes: (found, prediction.evidence.len()),
        in_language: is_written_in(&prediction.content, language),
        verdict: None,
    }
}

/// Pairs memories with gold memories; who says something gold and is left over is a duplicate.
fn mark_duplicates(rules: &Rules, findings: &mut [Finding]) {
    let choices: Vec<Vec<usize>> = findings
        .iter()
        .map(|finding| {
            let mut golds = finding.golds.clone();
            golds.sort_by_key(|&gold| (rules.golds[gold].optional, rules.golds[gold].importance));
            golds
        })
        .collect();
    for (finding, paired) in findings.iter_mut().zip(pairs(&choices, rules.golds.len())) {
        if paired.is_none() && !finding.golds.is_empty() {
            finding.standing = Standing::Duplicate;
        }
    }
}

/// Whether the memories that cite the evidence of `gold` say it together; notes those that say a part of it.
fn say_together(
    rules: &Rules,
    gold: usize,
    predictions: &[Prediction],
    messages: &Messages,
    findings: &mut [Finding],
) -> bool {
    let rule = &rules.golds[gold];
    let citing: Vec<usize> = (0..predictions.len())
        .filter(|&at| findings[at].standing != Standing::Forbidden && cites(rules, gold, &predictions[at], messages))
        .collect();
    let texts: Vec<&str> = citing.iter().map(|&at| predictions[at].searched.as_str()).collect();
    if rule.matches(&texts.join("\n")) != Match::Yes {
        return false;
    }
    for at in citing.into_iter().filter(|&at| rule.touches(&predictions[at].searched)) {
        let finding = &mut findings[at];
        finding.golds.push(gold);
        finding.standing = match (finding.standing, rule.optional) {
            (Standing::Unlisted, true) => Standing::Optional,
            (Standing::Unlisted | Standing::Optional | Standing::Duplicate, false) => Standing::Right,
            (standing, _) => standing,
        };
    }
    true
}

fn cites(rules: &Rules, gold: usize, prediction: &Prediction, messages: &Messages) -> bool {
    prediction.evidence.iter().any(|cited| messages.cited(cited).any(|text| rules.golds[gold].rests_on(text)))
}

/// Notes whether type and evidence are right, of a memory that is.
fn judge_details(rules: &Rules, finding: &mut Finding, prediction: &Prediction, messages: &Messages) {
    if !matches!(finding.standing, Standing::Right | Standing::Optional) {
        return;
    }
    // A case that names no type takes any.
    if finding.golds.iter().any(|&gold| !rules.golds[gold].types.is_empty()) {
        let is_right = |gold: &usize| rules.golds[*gold].types.contains(&prediction.memory_type);
        finding.type_right = Some(finding.golds.iter().any(is_right));
    }
    if finding.golds.iter().any(|&gold| rules.golds[gold].has_evidence()) {
        finding.evidence_right = Some(finding.golds.iter().any(|&gold| cites(rules, gold, prediction, messages)));
    }
}

fn count(rules: &Rules, findings: &[Finding], recalled: &[bool]) -> Counts {
    let mut counts = Counts { cases: 1, memories: findings.len() as u64, ..Counts::default() };
    for (gold, &is_there) in rules.golds.iter().zip(recalled).filter(|(gold, _)| !gold.optional) {
        *counts.required.entry(gold.importance).or_default() += 1;
        *counts.recalled.entry(gold.importance).or_default() += u64::from(is_there);
    }
    for finding in findings {
        *match finding.standing {
            Standing::Forbidden => &mut counts.forbidden,
            Standing::Distorted => &mut counts.distorted,
            Standing::Unlisted => &mut counts.unlisted,
            Standing::Duplicate => &mut counts.duplicates,
            Standing::Right => &mut counts.right,
            Standing::Optional => &mut counts.optional,
        } += 1;
        for &one in &finding.forbidden {
            *counts.forbidden_kinds.entry(rules.forbidden[one].kind).or_default() += 1;
        }
        counts.typed += u64::from(finding.type_right.is_some());
        counts.type_right += u64::from(finding.type_right == Some(true));
        counts.evidenced += u64::from(finding.evidence_right.is_some());
        counts.evidence_right += u64::from(finding.evidence_right == Some(true));
        counts.quotes += finding.quotes.1 as u64;
        counts.quotes_found += finding.quotes.0 as u64;
        counts.in_language += u64::from(finding.in_language);
        counts.unlisted_kept += u64::from(finding.verdict == Some(Ruling::Kept));
        counts.unlisted_unjudged += u64::from(finding.standing == Standing::Unlisted && finding.verdict.is_none());
    }
    counts
}
