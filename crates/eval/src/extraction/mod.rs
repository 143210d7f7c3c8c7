//! Scores the memories extracted from a conversation against a case.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use regex::Regex;

use crate::files::Moment;
use crate::results::{Confusion, Finding, Quote, Row};
use crate::text::{is_written_in, normalize};
use crate::vocabulary::{Importance, Kind, Ruling};

mod case;
mod control;
mod prediction;

pub(crate) use case::compile;
pub use case::{
    Case, CaseMessage, DiscoveredCase, INLINE_FORMAT, LoadedCase, ShortCase, discover, has_cases, inline_log,
};
use case::{Match, Patterns, ReaderVerdict};

pub use control::Control;
use prediction::MessageTexts;
pub use prediction::{Citation, Conversation, Extraction, Message, Prediction};

/// Relation of a memory to the gold memories of its case, from worst to best.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Standing {
    /// The memory states a fact that must not be kept.
    Forbidden,
    /// The memory misstates a gold memory and states none correctly.
    Distorted,
    /// The memory states no gold memory.
    Unlisted,
    /// The memory repeats what another memory states.
    Duplicate,
    /// The memory states a required gold memory.
    Right,
    /// The memory states only gold memories that may be left out.
    Optional,
}

impl Standing {
    const fn is_right(self) -> bool {
        matches!(self, Self::Right | Self::Optional)
    }
}

/// The assessment of one memory. Gold and forbidden memories are given by their indices in [`Patterns`].
#[derive(Debug, Clone, PartialEq, Eq)]
struct Assessment {
    standing: Standing,
    /// The gold memories that the memory states, alone or together with others.
    golds: Vec<usize>,
    /// The gold memories that the memory distorts.
    distorts: Vec<usize>,
    forbidden: Vec<usize>,
    /// Whether the type is right; `None` unless the memory itself is right.
    type_right: Option<bool>,
    /// Whether the memory cites a message with gold evidence; `None` unless the memory itself is right.
    evidence_right: Option<bool>,
    /// Number of quotes that appear in the cited message.
    quotes_found: usize,
    in_language: bool,
    /// An independent reader's verdict, if the memory is unlisted.
    verdict: Option<Ruling>,
}

/// A scored case: an assessment for each memory, and whether each gold memory was found.
#[derive(Debug)]
struct Scored {
    assessments: Vec<Assessment>,
    found: Vec<bool>,
}

/// Returns the row of a case: measures, counts, findings and the messages around them. The caller adds the suite,
/// repetition, price and time.
pub fn score(case: &LoadedCase, extraction: &Extraction) -> Row {
    // The redacted texts are used, because quotes are compared with the text that the system received.
    let texts = MessageTexts::new(&extraction.conversations);
    let scored = assess(&case.patterns, case, &extraction.predictions, &texts);
    let mut row = Row { cost: extraction.usage, ..empty_row(case) };
    count_golds(&case.patterns, &scored, &mut row);
    count_memories(&case.patterns, extraction, &scored, &mut row);
    count_details(&case.patterns, &extraction.predictions, &scored, &mut row);
    let lost = count_retired(&case.patterns, &scored.found, &extraction.superseded, &mut row);
    let (before, grown) = extraction.reread.unwrap_or_default();
    row.ratio("growth", grown, before);
    if extraction.reread.is_some() {
        row.counts.extend([("before_again".to_owned(), before), ("grown".to_owned(), grown)]);
    }
    row.findings = findings(case, extraction, &scored, &lost);
    row.confusion = type_confusion(case, &extraction.predictions, &scored);
    row.warnings = case_faults(&case.case, &case.patterns, &texts);
    row.warnings.extend(extraction.notes.iter().cloned());
    row
}

/// Returns a row without measures for a case that could not be run.
pub fn empty_row(case: &LoadedCase) -> Row {
    Row {
        split: case.split.clone(),
        language: Some(case.case.language.to_string()),
        format: Some(case.case.format.clone()),
        phenomena: case.case.phenomena.clone(),
        about: case.case.about.clone(),
        ..Row::new(Kind::Extraction, case.label())
    }
}

/// Assesses `predictions`.
///
/// A forbidden memory counts only as forbidden. A gold memory is found if one memory states it, or if several memories
/// that cite its evidence state it together; each of them then counts as stating it. A memory that states one gold
/// memory correctly never counts as distorting another. Memories and gold memories are paired so that as few as
/// possible are duplicates.
fn assess(patterns: &Patterns, case: &LoadedCase, predictions: &[Prediction], texts: &MessageTexts) -> Scored {
    let mut assessments: Vec<Assessment> =
        predictions.iter().map(|prediction| first_assessment(patterns, case, prediction, texts)).collect();
    let mut found: Vec<bool> =
        (0..patterns.golds.len()).map(|gold| assessments.iter().any(|one| one.golds.contains(&gold))).collect();
    // Duplicates are marked before parts are joined: a memory that states a part is not a duplicate.
    mark_duplicates(patterns, &mut assessments);
    for (gold, is_found) in found.iter_mut().enumerate() {
        *is_found = *is_found || is_stated_together(patterns, gold, predictions, texts, &mut assessments);
    }
    for (assessment, prediction) in assessments.iter_mut().zip(predictions) {
        assess_details(patterns, assessment, prediction, texts);
        if assessment.standing == Standing::Unlisted {
            // The exact text is compared, because applying a verdict to other words would be a guess.
            let same = |verdict: &&ReaderVerdict| verdict.content.trim() == prediction.content.trim();
            assessment.verdict = case.verdicts.iter().find(same).map(|verdict| verdict.verdict);
        }
    }
    Scored { assessments, found }
}

/// Assesses a memory by itself, before it is compared with the others.
fn first_assessment(
    patterns: &Patterns,
    case: &LoadedCase,
    prediction: &Prediction,
    texts: &MessageTexts,
) -> Assessment {
    let text = &prediction.searched;
    let places = |wanted: Match| -> Vec<usize> {
        patterns.golds.iter().enumerate().filter(|(_, gold)| gold.compare(text) == wanted).map(|(at, _)| at).collect()
    };
    let forbidden: Vec<usize> =
        patterns.forbidden.iter().enumerate().filter(|(_, one)| one.matches(text)).map(|(at, _)| at).collect();
    // A forbidden memory never counts as stating a gold memory; otherwise a leaked secret could raise recall.
    let golds = if forbidden.is_empty() { places(Match::Stated) } else { Vec::new() };
    let distorts = places(Match::Distorted);
    let standing = if !forbidden.is_empty() {
        Standing::Forbidden
    } else if golds.iter().any(|&gold| !patterns.golds[gold].gold.optional) {
        Standing::Right
    } else if !golds.is_empty() {
        Standing::Optional
    } else if !distorts.is_empty() {
        Standing::Distorted
    } else {
        Standing::Unlisted
    };
    Assessment {
        standing,
        golds,
        distorts,
        forbidden,
        type_right: None,
        evidence_right: None,
        quotes_found: prediction.evidence.iter().filter(|cited| texts.has_quote(cited)).count(),
        in_language: is_written_in(&prediction.content, case.case.language),
        verdict: None,
    }
}

/// Pairs memories with gold memories; a memory that states a gold memory but remains unpaired is a duplicate.
fn mark_duplicates(patterns: &Patterns, assessments: &mut [Assessment]) {
    let choices: Vec<Vec<usize>> = assessments
        .iter()
        .map(|assessment| {
            // Required and important gold memories come first, so that no optional one is paired in their place.
            let mut golds = assessment.golds.clone();
            golds.sort_by_key(|&gold| (patterns.golds[gold].gold.optional, patterns.golds[gold].gold.importance));
            golds
        })
        .collect();
    for (assessment, paired) in assessments.iter_mut().zip(pair_up(&choices, patterns.golds.len())) {
        if paired.is_none() && !assessment.golds.is_empty() {
            assessment.standing = Standing::Duplicate;
        }
    }
}

/// Returns, for each left item, the right item that it is paired with, such that as many as possible are paired.
///
/// `choices` lists, for each left item, the right items that fit, in order of preference. The order of the left items
/// determines only which of them are paired, never how many.
pub(crate) fn pair_up(choices: &[Vec<usize>], rights: usize) -> Vec<Option<usize>> {
    // Pairing each item with the first that fits would depend on the order and could leave more items unpaired.
    let mut owners: Vec<Option<usize>> = vec![None; rights];
    for left in 0..choices.len() {
        place(left, choices, &mut owners, &mut vec![false; rights]);
    }
    let mut paired = vec![None; choices.len()];
    for (right, owner) in owners.into_iter().enumerate() {
        if let Some(left) = owner {
            paired[left] = Some(right);
        }
    }
    paired
}

/// Finds a right item for `left`, reassigning owners to other items where necessary (an augmenting path).
fn place(left: usize, choices: &[Vec<usize>], owners: &mut [Option<usize>], tried: &mut [bool]) -> bool {
    for &right in &choices[left] {
        // Without this mark, two owners could displace each other forever.
        if std::mem::replace(&mut tried[right], true) {
            continue;
        }
        if owners[right].is_none_or(|owner| place(owner, choices, owners, tried)) {
            owners[right] = Some(left);
            return true;
        }
    }
    false
}

/// Returns whether the memories that cite the evidence of `gold` state it together, and credits the memories that state
/// a part of it.
fn is_stated_together(
    patterns: &Patterns,
    gold: usize,
    predictions: &[Prediction],
    texts: &MessageTexts,
    assessments: &mut [Assessment],
) -> bool {
    let wanted = &patterns.golds[gold];
    let is_candidate = |at: &usize| {
        // Without the requirement of common evidence, unrelated memories could together match the patterns of one fact.
        assessments[*at].standing != Standing::Forbidden && cites(patterns, gold, &predictions[*at], texts)
    };
    let citing: Vec<usize> = (0..predictions.len()).filter(is_candidate).collect();
    let joined: Vec<&str> = citing.iter().map(|&at| predictions[at].searched.as_str()).collect();
    // The memories are joined by line breaks, so that `.*` does not match from the end of one memory into the next.
    if wanted.compare(&joined.join("\n")) != Match::Stated {
        return false;
    }
    for at in citing.into_iter().filter(|&at| wanted.touches(&predictions[at].searched)) {
        let assessment = &mut assessments[at];
        assessment.golds.push(gold);
        assessment.standing = match (assessment.standing, wanted.gold.optional) {
            (Standing::Unlisted, true) => Standing::Optional,
            (Standing::Unlisted | Standing::Optional | Standing::Duplicate, false) => Standing::Right,
            (standing, _) => standing,
        };
    }
    true
}

fn cites(patterns: &Patterns, gold: usize, prediction: &Prediction, texts: &MessageTexts) -> bool {
    prediction.evidence.iter().any(|cited| texts.cited(cited).any(|text| patterns.golds[gold].rests_on(text)))
}

/// Assesses the type and the evidence of a memory that is right or optional.
fn assess_details(patterns: &Patterns, assessment: &mut Assessment, prediction: &Prediction, texts: &MessageTexts) {
    if !assessment.standing.is_right() {
        return;
    }
    // A gold memory without a type accepts any type.
    if assessment.golds.iter().any(|&gold| !patterns.golds[gold].gold.types.is_empty()) {
        let is_right = |gold: &usize| patterns.golds[*gold].gold.types.contains(&prediction.memory_type);
        assessment.type_right = Some(assessment.golds.iter().any(is_right));
    }
    if assessment.golds.iter().any(|&gold| patterns.golds[gold].has_evidence()) {
        let is_cited = |gold: &usize| cites(patterns, *gold, prediction, texts);
        assessment.evidence_right = Some(assessment.golds.iter().any(is_cited));
    }
}

fn count_golds(patterns: &Patterns, scored: &Scored, row: &mut Row) {
    let golds = || patterns.golds.iter().zip(&scored.found).filter(|(gold, _)| !gold.gold.optional);
    let recall = |row: &mut Row, name: &str, weight: fn(Importance) -> u64, only: Option<Importance>| {
        let chosen = || golds().filter(|(gold, _)| only.is_none_or(|only| gold.gold.importance == only));
        let found = chosen().filter(|(_, found)| **found).map(|(gold, _)| weight(gold.gold.importance)).sum();
        row.ratio(name, found, chosen().map(|(gold, _)| weight(gold.gold.importance)).sum());
    };
    recall(row, "recall", |_| 1, None);
    for importance in Importance::ALL {
        recall(row, &format!("recall {importance}"), |_| 1, Some(*importance));
    }
    let weight = |importance| match importance {
        Importance::High => 3,
        Importance::Medium => 2,
        Importance::Low => 1,
    };
    recall(row, "recall weighted", weight, None);
}

fn count_memories(patterns: &Patterns, extraction: &Extraction, scored: &Scored, row: &mut Row) {
    let assessments = &scored.assessments;
    let count = |is_so: &dyn Fn(&Assessment) -> bool| assessments.iter().filter(|one| is_so(one)).count() as u64;
    let standing = |standing: Standing| count(&|one| one.standing == standing);
    let all = assessments.len() as u64;
    let (right, optional, unlisted) =
        (standing(Standing::Right), standing(Standing::Optional), standing(Standing::Unlisted));
    let kept = count(&|one| one.verdict == Some(Ruling::Kept));
    let unjudged = count(&|one| one.standing == Standing::Unlisted && one.verdict.is_none());
    // Optional memories are in neither the numerator nor the denominator: extracting them is neither right nor wrong.
    row.ratio("precision", right, all - optional);
    row.ratio("precision judged", right + kept, all - optional);
    row.ratio("type", count(&|one| one.type_right == Some(true)), count(&|one| one.type_right.is_some()));
    row.ratio("evidence", count(&|one| one.evidence_right == Some(true)), count(&|one| one.evidence_right.is_some()));
    let quotes = extraction.predictions.iter().map(|one| one.evidence.len() as u64).sum();
    row.ratio("quotes", assessments.iter().map(|one| one.quotes_found as u64).sum(), quotes);
    row.ratio("language", count(&|one| one.in_language), all);
    // Forbidden memories are counted per case and not per memory: storing more must not make a leak look smaller.
    row.ratio("forbidden", standing(Standing::Forbidden), 1);
    let counts = [
        ("memories", all),
        ("right", right),
        ("optional", optional),
        ("unlisted", unlisted),
        ("unlisted_kept", kept),
        ("unlisted_unjudged", unjudged),
        ("duplicates", standing(Standing::Duplicate)),
        ("distorted", standing(Standing::Distorted)),
        ("forbidden", standing(Standing::Forbidden)),
        ("superseded", extraction.superseded.len() as u64),
        ("pending", extraction.pending.len() as u64),
    ];
    row.counts.extend(counts.map(|(name, count)| (name.to_owned(), count)));
    for &one in assessments.iter().flat_map(|one| &one.forbidden) {
        *row.counts.entry(format!("forbidden {}", patterns.forbidden[one].entry.kind)).or_default() += 1;
    }
}

/// Counts the dates and importance of memories that are right or optional, and all memories that leave a date open.
fn count_details(patterns: &Patterns, predictions: &[Prediction], scored: &Scored, row: &mut Row) {
    let open = predictions.iter().filter(|one| date_openness(&one.content) == Openness::Relative).count();
    row.ratio("open dates", open as u64, predictions.len() as u64);
    let (mut dated, mut dates_right, mut classes_right) = (0, 0, 0);
    let mut ranked: Vec<(Importance, f64)> = Vec::new();
    for (prediction, assessment) in predictions.iter().zip(&scored.assessments) {
        if !assessment.standing.is_right() {
            continue;
        }
        let golds = || assessment.golds.iter().map(|&gold| &patterns.golds[gold]);
        let dates: Vec<Moment> = golds().filter_map(|gold| gold.gold.date).collect();
        if !dates.is_empty() {
            dated += 1;
            dates_right += u64::from(dates.iter().all(|date| names_date(prediction, *date)));
        }
        if let (Some(number), Some(expected)) = (prediction.importance, golds().map(|gold| gold.gold.importance).min())
        {
            classes_right += u64::from(importance_class(number) == expected);
            ranked.push((expected, number));
        }
    }
    row.ratio("dates", dates_right, dated);
    row.ratio("importance", classes_right, ranked.len() as u64);
    let (right, pairs) = count_order(&ranked);
    row.ratio("importance order", right, pairs);
}

fn importance_class(number: f64) -> Importance {
    match number {
        number if number >= 0.7 => Importance::High,
        number if number >= 0.4 => Importance::Medium,
        _ => Importance::Low,
    }
}

/// Returns whether a memory names the day or month, or has a validity that begins or ends in it.
fn names_date(prediction: &Prediction, date: Moment) -> bool {
    let (first, last) = (date.first(), date.last());
    // A validity that begins or ends on the date is equivalent to mentioning the date in the text.
    if prediction.valid.iter().any(|at| (first..=last).contains(at)) {
        return true;
    }
    // Cases give dates in UTC, whereas a memory states a calendar day without a time zone.
    let day = first.to_zoned(jiff::tz::TimeZone::UTC).date();
    let (year, month, number) = (day.year(), i32::from(day.month()), day.day());
    let spellings = if matches!(date, Moment::Month(_)) {
        vec![format!("{year}-{month:02}"), format!("{year}年{month}月"), day.strftime("%B %Y").to_string()]
    } else {
        vec![
            day.to_string(),
            format!("{month}月{number}日"),
            day.strftime("%B %-d").to_string(),
            day.strftime("%-d %B").to_string(),
            day.strftime("%-d. %B").to_string(),
        ]
    };
    spellings.iter().any(|date| prediction.searched.contains(&normalize(date)))
}

/// Compares all pairs of unequal importance. Returns twice the number of pairs in the right order, where a tie counts
/// half, and twice the number of all such pairs.
fn count_order(ranked: &[(Importance, f64)]) -> (u64, u64) {
    // All counts are doubled, so that a tie can count as half without fractions.
    let (mut right, mut pairs) = (0, 0);
    for (at, (one, first)) in ranked.iter().enumerate() {
        for (other, second) in ranked[at + 1..].iter().filter(|(other, _)| other != one) {
            // The enum lists the most important value first.
            let (upper, lower) = if one < other { (first, second) } else { (second, first) };
            pairs += 2;
            right += if upper > lower { 2 } else { u64::from((upper - lower).abs() < f64::EPSILON) };
        }
    }
    (right, pairs)
}

/// Counts memories that were extracted and then retired, and returns the ids of the gold memories that were lost as a
/// result.
///
/// A required gold memory is lost if a superseded memory states it and the active memories do not; that superseded
/// memory was wrongly retired.
fn count_retired(patterns: &Patterns, found: &[bool], retired: &[Prediction], row: &mut Row) -> BTreeSet<String> {
    let states = |gold: usize, memory: &Prediction| patterns.golds[gold].compare(&memory.searched) == Match::Stated;
    let required: Vec<usize> = (0..patterns.golds.len()).filter(|&gold| !patterns.golds[gold].gold.optional).collect();
    let was_stated = |gold: usize| retired.iter().any(|one| states(gold, one));
    // The share is relative to the extracted memories, because retiring cannot lose a memory that was never found.
    let extracted = required.iter().filter(|&&gold| found[gold] || was_stated(gold)).count();
    let lost: Vec<usize> = required.iter().copied().filter(|&gold| !found[gold] && was_stated(gold)).collect();
    let is_wrong = |one: &&Prediction| lost.iter().any(|&gold| states(gold, one));
    row.ratio("lost", lost.len() as u64, extracted as u64);
    row.ratio("wrong retire", retired.iter().filter(is_wrong).count() as u64, retired.len() as u64);
    lost.into_iter().map(|gold| patterns.golds[gold].gold.id.clone()).collect()
}

/// How precisely a text states its dates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Openness {
    /// The text names a day, week or month only relative to an unnamed day.
    Relative,
    /// The text is vague about time.
    Vague,
    /// The text states a date, or needs none.
    Closed,
}

static RELATIVE: LazyLock<Regex> = LazyLock::new(|| {
    date_pattern(
        r"\b(yesterday|today|tonight|tomorrow|the day (before|after)( yesterday| tomorrow| the)?|last night)\b|\b(last|next|this|coming|past) (week|month|year|weekend|morning|afternoon|evening|night|summer|winter|spring|autumn|fall|monday|tuesday|wednesday|thursday|friday|saturday|sunday|january|february|march|april|may|june|july|august|september|october|november|december|mon|tues?|wed|thurs?|fri|sat|sun)\b|\b(\d+|a|an|one|two|three|four|five|six|seven|eight|nine|ten|a few|few|several|a couple of) (days?|weeks?|months?|years?) ago\b|\bin (\d+|a|one|two|three|a few) (days?|weeks?|months?)\b",
    )
});

static VAGUE: LazyLock<Regex> = LazyLock::new(|| {
    date_pattern(
        r"\b(recent|recently|lately|soon|these days|nowadays|the other day|a while (ago|back)|earlier|currently|now|upcoming)\b",
    )
});

static ABSOLUTE: LazyLock<Regex> = LazyLock::new(|| {
    date_pattern(
        r"\b\d{4}-\d{2}(-\d{2})?\b|\b(january|february|march|april|may|june|july|august|september|october|november|december)( \d{1,2}(st|nd|rd|th)?)?,? \d{4}\b|\b(in|since|of|during) \d{4}\b",
    )
});

fn date_pattern(text: &str) -> Regex {
    Regex::new(&format!("(?i){text}")).expect("the pattern is a constant that compiles")
}

/// Returns how precisely an English text states its dates; a text that also states an absolute date is closed.
pub(crate) fn date_openness(text: &str) -> Openness {
    // Absolute dates are checked first: "last week (2026-03-02)" is as good as the date alone.
    if ABSOLUTE.is_match(text) {
        Openness::Closed
    } else if RELATIVE.is_match(text) {
        Openness::Relative
    } else if VAGUE.is_match(text) {
        Openness::Vague
    } else {
        Openness::Closed
    }
}

/// Returns the findings, missed gold memories and faulty memories, starting with those that lower a measure.
fn findings(case: &LoadedCase, extraction: &Extraction, scored: &Scored, lost: &BTreeSet<String>) -> Vec<Finding> {
    let conversations = &extraction.conversations;
    let missed = case.case.memories.iter().zip(&scored.found).filter(|(gold, found)| !**found && !gold.optional);
    let mut findings: Vec<Finding> = missed
        .map(|(gold, _)| Finding {
            what: "missed".to_owned(),
            id: gold.id.clone(),
            text: gold.text.clone(),
            why: format!(
                "{} importance{}",
                gold.importance,
                if lost.contains(&gold.id) { ", found and then retired" } else { "" }
            ),
            counts: true,
            evidence: gold
                .evidence
                .iter()
                .map(|quote| Quote { message: message_with(conversations, quote), quote: quote.clone() })
                .collect(),
        })
        .collect();
    let mut faulty: Vec<(Standing, Finding)> = Vec::new();
    for (prediction, assessment) in extraction.predictions.iter().zip(&scored.assessments) {
        if let Some((what, why)) = complaint(case, prediction, assessment) {
            let evidence = prediction.evidence.iter().map(|cited| quote(cited, conversations)).collect();
            let (id, text) = (prediction.content.clone(), prediction.content.clone());
            // Details of a correct memory have separate measures and must not look like missed memories.
            let counts = !assessment.standing.is_right();
            faulty.push((assessment.standing, Finding { what: what.to_owned(), id, text, why, counts, evidence }));
        }
    }
    // Both sorts are stable, so missed memories remain first, and faulty memories are ordered from worst to best.
    faulty.sort_by_key(|(standing, _)| *standing);
    findings.extend(faulty.into_iter().map(|(_, finding)| finding));
    findings.sort_by_key(|finding| !finding.counts);
    findings
}

/// Returns the fault of a memory and the reason for it, or `None` if there is no fault.
fn complaint(case: &LoadedCase, prediction: &Prediction, assessment: &Assessment) -> Option<(&'static str, String)> {
    let golds = |places: &[usize]| places.iter().map(|&at| &case.case.memories[at]).collect::<Vec<_>>();
    let ids = |places: &[usize]| golds(places).iter().map(|gold| gold.id.as_str()).collect::<Vec<_>>().join(", ");
    let reasons = |head: String, reasons: Vec<&str>| {
        let reasons: Vec<&str> = reasons.into_iter().filter(|reason| !reason.is_empty()).collect();
        if reasons.is_empty() { head } else { format!("{head}: {}", reasons.join("; ")) }
    };
    match assessment.standing {
        Standing::Forbidden => {
            let entries: Vec<_> = assessment.forbidden.iter().map(|&at| &case.case.forbidden[at]).collect();
            let names: Vec<String> = entries.iter().map(|one| format!("{} {}", one.id, one.kind)).collect();
            let patterns = assessment.forbidden.iter().flat_map(|&at| &case.patterns.forbidden[at].all);
            let why = reasons(names.join(", "), entries.iter().map(|one| one.why.as_str()).collect());
            Some(("forbidden", with_fields(why, &prediction.fields_with(patterns))))
        }
        Standing::Distorted => {
            let texts = golds(&assessment.distorts).iter().map(|gold| gold.text.as_str()).collect();
            let patterns = assessment.distorts.iter().flat_map(|&at| case.patterns.golds[at].all_and_none());
            let why = reasons(ids(&assessment.distorts), texts);
            Some(("distorted", with_fields(why, &prediction.fields_with(patterns))))
        }
        Standing::Unlisted => match assessment.verdict {
            Some(Ruling::Kept) => None,
            Some(Ruling::Wrong) => Some(("unlisted", "judged wrong".to_owned())),
            None => Some(("unlisted", String::new())),
        },
        Standing::Duplicate => Some(("duplicate", format!("repeats {}", ids(&assessment.golds)))),
        Standing::Right | Standing::Optional => {
            let of = ids(&assessment.golds);
            let why = if assessment.quotes_found < prediction.evidence.len() {
                "the quote does not occur in the message".to_owned()
            } else if assessment.evidence_right == Some(false) {
                format!("{of}: cites other evidence")
            } else if assessment.type_right == Some(false) {
                format!("{of}: not {}", prediction.memory_type)
            } else if !assessment.in_language {
                format!("{of}: in another language")
            } else {
                return None;
            };
            Some(("detail", why))
        }
    }
}

/// Returns a reason with the fields that match in place of the content, if there are any.
fn with_fields(why: String, fields: &[String]) -> String {
    if fields.is_empty() { why } else { format!("{why}; in {}", fields.join(", ")) }
}

/// Returns the expected and actual types of memories that state a gold memory.
fn type_confusion(case: &LoadedCase, predictions: &[Prediction], scored: &Scored) -> Vec<Confusion> {
    let mut counts: BTreeMap<(String, String), u64> = BTreeMap::new();
    for (prediction, assessment) in predictions.iter().zip(&scored.assessments) {
        if assessment.type_right.is_none() {
            continue;
        }
        let right: Vec<_> =
            assessment.golds.iter().flat_map(|&gold| &case.patterns.golds[gold].gold.types).copied().collect();
        let expected = right.iter().find(|one| **one == prediction.memory_type).or_else(|| right.first());
        if let Some(expected) = expected {
            *counts.entry((expected.to_string(), prediction.memory_type.to_string())).or_default() += 1;
        }
    }
    let each = counts.into_iter();
    each.map(|((expected, got), count)| Confusion { of: "type".to_owned(), expected, got, count }).collect()
}

/// Returns the faults in the case itself: gold texts that do not match their own patterns or are forbidden, and
/// evidence that does not occur in any message.
fn case_faults(case: &Case, patterns: &Patterns, texts: &MessageTexts) -> Vec<String> {
    let mut found = Vec::new();
    let messages = texts.all();
    for (gold, pattern) in case.memories.iter().zip(&patterns.golds) {
        let text = normalize(&gold.text);
        match pattern.compare(&text) {
            Match::Stated => {}
            Match::Absent => {
                let missing = pattern.all.iter().filter(|one| !one.is_match(&text));
                let missing: Vec<&str> = missing.map(Regex::as_str).collect();
                found.push(format!(
                    "{}: its text does not match the patterns in its own `all`: {}",
                    gold.id,
                    missing.join(" and ")
                ));
            }
            // If a gold text fails its own patterns, every correct memory would count as wrong.
            Match::Distorted => found.push(format!("{}: its text matches a pattern in its own `none`", gold.id)),
        }
        for forbidden in patterns.forbidden.iter().filter(|forbidden| forbidden.matches(&text)) {
            found.push(format!("{}: its text is forbidden by {}", gold.id, forbidden.entry.id));
        }
        if !pattern.has_evidence() {
            found.push(format!("{}: the memory has no evidence", gold.id));
        }
        for piece in pattern.missing_evidence(&messages) {
            found.push(format!("{}: no message contains its evidence {piece:?}", gold.id));
        }
    }
    found
}

/// Returns the id of a message, preceded by the number of its conversation if there is more than one.
fn label(conversations: &[Conversation], key: &str, id: &str) -> String {
    match conversations.iter().position(|conversation| conversation.key == key) {
        Some(at) if conversations.len() > 1 => format!("{}/{id}", at + 1),
        Some(_) | None => id.to_owned(),
    }
}

fn message_with(conversations: &[Conversation], quote: &str) -> Option<String> {
    let wanted = normalize(quote);
    let mut messages = conversations.iter().flat_map(|one| one.messages.iter().map(move |message| (one, message)));
    let (conversation, message) = messages.find(|(_, message)| normalize(&message.text).contains(&wanted))?;
    Some(label(conversations, &conversation.key, &message.id))
}

fn quote(cited: &Citation, conversations: &[Conversation]) -> Quote {
    let message = cited.messages.first().map(|id| label(conversations, &cited.conversation, id));
    Quote { message, quote: cited.quote.clone() }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use serde_json::{Value, json};

    use super::*;
    use crate::measure::Unit;
    use crate::results::{Manifest, Ratio, Results, float};
    use crate::tally::Tally;
    use crate::vocabulary::MemoryType;

    /// The messages, numbered from 1.
    const SAID: [&str; 4] = [
        "We moved deploys from Thursday to Tuesday.",
        "Ana owns billing, and Ben owns search.",
        "I never eat meat, except at my grandmother's.",
        "The upload limit is 20 MB — “hard”.",
    ];

    /// A row of the table. Gold memories have the form `all & all ! none @ message`, with `?` before an optional memory.
    /// Forbidden memories have the form `all | unless`, and extracted memories the form `content @ message`. Standings
    /// are represented by their first letters, but distorted memories by `X` and duplicates by `D`.
    struct TableRow {
        golds: &'static [&'static str],
        forbidden: &'static [&'static str],
        memories: &'static [&'static str],
        standings: &'static str,
        recalled: &'static str,
    }

    const fn row(
        golds: &'static [&'static str],
        forbidden: &'static [&'static str],
        memories: &'static [&'static str],
        standings: &'static str,
        recalled: &'static str,
    ) -> TableRow {
        TableRow { golds, forbidden, memories, standings, recalled }
    }

    const DEPLOY: &str = "deploy & tuesday ! not? on tuesday|from tuesday @ 1";
    const ANA: &str = "ana & billing @ 2";
    const BEN: &str = "ben & search @ 2";
    const MEAT: &str = "meat & grandmother @ 3";
    const LIMIT: &str = "20 ?mb ! 20 ?gb @ 4";

    const TABLE: &[TableRow] = &[
        // One memory that either matches or does not match.
        row(&[DEPLOY], &[], &[], "", "0"),
        row(&[DEPLOY], &[], &["Deploys are on Tuesday. @ 1"], "R", "1"),
        row(&[DEPLOY], &[], &["DEPLOYS ARE ON TUESDAYS @ 1"], "R", "1"),
        row(&[DEPLOY], &[], &["Deploys are on Thursday. @ 1"], "U", "0"),
        row(&[DEPLOY], &[], &["Deploys moved from Tuesday to Thursday. @ 1"], "X", "0"),
        row(&[LIMIT], &[], &["The limit is 20 MB. @ 4"], "R", "1"),
        row(&[LIMIT], &[], &["The limit is 20MB. @ 4"], "R", "1"),
        row(&[LIMIT], &[], &["The limit is ２０ ＭＢ. @ 4"], "R", "1"),
        row(&[LIMIT], &[], &["The limit is 20\u{a0}MB. @ 4"], "R", "1"),
        row(&[LIMIT], &[], &["The limit is 20\nMB. @ 4"], "R", "1"),
        row(&[LIMIT], &[], &["The limit is 20 MB, that is 20 GB. @ 4"], "X", "0"),
        row(&["it's-hard @ 4"], &[], &["It’s‑hard. @ 4"], "R", "1"),
        row(&["it’s—hard @ 4"], &[], &["it's-hard @ 4"], "R", "1"),
        row(&["“hard” @ 4"], &[], &["The limit is \"hard\". @ 4"], "R", "1"),
        row(&["用户叫周岚，在杭州 @ 4"], &[], &["用户叫周岚,在杭州 @ 4"], "R", "1"),
        row(&["^20 mb$ @ 4"], &[], &["20 MB @ 4"], "R", "1"),
        row(&["straße @ 4"], &[], &["STRAßE @ 4"], "R", "1"),
        // One memory that states several gold memories.
        row(&[ANA, BEN], &[], &["Ana owns billing, Ben owns search. @ 2"], "R", "11"),
        row(&[ANA, BEN], &[], &["Ana owns billing. @ 2", "Ben owns search. @ 2"], "RR", "11"),
        row(&[ANA, BEN], &[], &["Ana owns billing, Ben owns search. @ 2", "Ben owns search. @ 2"], "RR", "11"),
        row(&[ANA, BEN], &[], &["Ben owns search. @ 2", "Ana owns billing, Ben owns search. @ 2"], "RR", "11"),
        row(
            &[ANA, BEN],
            &[],
            &["Ana owns billing, Ben owns search. @ 2", "Ben owns search. @ 2", "Ana owns billing. @ 2"],
            "RRD",
            "11",
        ),
        // The same gold memory, stated twice.
        row(&[ANA], &[], &["Ana owns billing. @ 2", "Billing is Ana's. @ 2"], "RD", "1"),
        row(&[ANA], &[], &["Ana owns billing. @ 2", "Billing is Ana's. @ 2", "Ana: billing. @ 2"], "RDD", "1"),
        row(&["?ana & billing @ 2"], &[], &["Ana owns billing. @ 2", "Billing is Ana's. @ 2"], "OD", "1"),
        // A gold memory that may be left out.
        row(&["?ana & billing @ 2"], &[], &["Ana owns billing. @ 2"], "O", "1"),
        row(&["?ana & billing @ 2"], &[], &[], "", "0"),
        row(&["?ana & billing @ 2", BEN], &[], &["Ana owns billing, Ben owns search. @ 2"], "R", "11"),
        row(&["?20 ?mb ! gb @ 4"], &[], &["20 MB, not 20 GB @ 4"], "X", "0"),
        // A distorted memory next to a right memory.
        row(&[DEPLOY, LIMIT], &[], &["Deploys not on Tuesday; the limit is 20 MB. @ 4"], "R", "01"),
        row(&[DEPLOY], &[], &["Deploys are not on Tuesday. @ 1", "Deploys are on Tuesday. @ 1"], "XR", "1"),
        // Memories that cite the evidence and state a gold memory together.
        row(&[MEAT], &[], &["The user eats no meat. @ 3", "The grandmother's is an exception. @ 3"], "RR", "1"),
        row(&[MEAT], &[], &["The user eats no meat. @ 3", "The grandmother's is an exception. @ 1"], "UU", "0"),
        row(&[MEAT], &[], &["The user eats no meat. @ 3"], "U", "0"),
        row(
            &[MEAT],
            &[],
            &["The user eats no meat. @ 3", "The grandmother's is an exception. @ 3", "Lunch is at noon. @ 3"],
            "RRU",
            "1",
        ),
        row(&["?meat & grandmother @ 3"], &[], &["No meat. @ 3", "Grandmother's excepted. @ 3"], "OO", "1"),
        row(&[MEAT, "?meat @ 3"], &[], &["No meat. @ 3", "Grandmother's excepted. @ 3"], "RR", "11"),
        row(&["meat & grandmother ! always @ 3"], &[], &["Always meat. @ 3", "Grandmother's excepted. @ 3"], "UU", "0"),
        // A forbidden memory.
        row(&[ANA], &["blue.?green"], &["They deploy blue-green. @ 1"], "F", "0"),
        row(&[ANA], &["blue.?green | not|never"], &["They do not deploy blue-green. @ 1"], "U", "0"),
        row(&[ANA], &["hunter2"], &["Ana owns billing; password hunter2. @ 2"], "F", "0"),
        row(&[ANA], &["hunter2"], &["Ana owns billing; password hunter2. @ 2", "Ana owns billing. @ 2"], "FR", "1"),
        row(&[MEAT], &["steak"], &["No meat, no steak. @ 3", "Grandmother's excepted. @ 3"], "FU", "0"),
        row(&[], &["a & b"], &["only a @ 1", "b, a @ 1"], "UF", ""),
        // Nothing to remember.
        row(&[], &[], &["Anything. @ 1"], "U", ""),
    ];

    fn case(row: &TableRow) -> LoadedCase {
        let list = |text: &str| text.split(" & ").map(str::trim).map(str::to_owned).collect::<Vec<_>>();
        let gold = |(at, text): (usize, &&str)| {
            let (text, message) = text.rsplit_once(" @ ").unwrap();
            let (all, none) = text.split_once(" ! ").unwrap_or((text, ""));
            let none: Vec<&str> = Some(none.trim()).filter(|one| !one.is_empty()).into_iter().collect();
            let message: usize = message.parse().unwrap();
            json!({"id": format!("m{at}"), "text": text, "type": ["semantic"], "importance": "high",
                   "optional": all.starts_with('?'), "all": list(all.trim_start_matches('?')), "none": none,
                   "evidence": [&SAID[message - 1][3..]]})
        };
        let forbidden = |(at, text): (usize, &&str)| {
            let (all, unless) = text.split_once(" | ").unwrap_or((text, ""));
            let unless: Vec<&str> = Some(unless).filter(|one| !one.is_empty()).into_iter().collect();
            json!({"id": format!("f{at}"), "kind": "denied", "all": list(all), "unless": unless})
        };
        let golds: Vec<Value> = row.golds.iter().enumerate().map(gold).collect();
        let forbidden: Vec<Value> = row.forbidden.iter().enumerate().map(forbidden).collect();
        let case = json!({"about": "a row", "language": "en", "format": "plain", "logs": ["x.txt"],
                          "memories": golds, "forbidden": forbidden});
        loaded(serde_json::from_value(case).unwrap(), &[])
    }

    fn loaded(case: Case, verdicts: &[ReaderVerdict]) -> LoadedCase {
        let (folder, id, split) = (PathBuf::new(), "row".to_owned(), "table".to_owned());
        let patterns = Patterns::compile(&case).unwrap();
        LoadedCase { folder, id, split, case, patterns, verdicts: verdicts.to_vec(), conversation: None }
    }

    fn conversation() -> Conversation {
        let message = |(at, text): (usize, &&str)| Message {
            id: (at + 1).to_string(),
            text: (*text).to_owned(),
            is_prose: true,
            ..Message::default()
        };
        let messages = SAID.iter().enumerate().map(message).collect();
        Conversation { key: "t:x".to_owned(), format: "plain".to_owned(), messages }
    }

    fn memory(text: &str) -> Prediction {
        let (content, message) = text.rsplit_once(" @ ").unwrap();
        let place: usize = message.parse().unwrap();
        Prediction::new(MemoryType::Semantic, content, vec![cited(message, SAID[place - 1])])
    }

    fn cited(message: &str, quote: &str) -> Citation {
        let (conversation, quote) = ("t:x".to_owned(), quote.to_owned());
        Citation { conversation, messages: vec![message.to_owned()], quote, speaker: None }
    }

    fn scored(table_row: &TableRow, verdicts: &[ReaderVerdict]) -> (Scored, Row) {
        let case = LoadedCase { verdicts: verdicts.to_vec(), ..case(table_row) };
        of(&case, table_row.memories.iter().map(|text| memory(text)).collect())
    }

    fn of(case: &LoadedCase, predictions: Vec<Prediction>) -> (Scored, Row) {
        let conversations = vec![conversation()];
        let found = assess(&case.patterns, case, &predictions, &MessageTexts::new(&conversations));
        (found, score(case, &Extraction { predictions, conversations, ..Extraction::default() }))
    }

    fn letter(standing: Standing) -> char {
        match standing {
            Standing::Forbidden => 'F',
            Standing::Distorted => 'X',
            Standing::Unlisted => 'U',
            Standing::Duplicate => 'D',
            Standing::Right => 'R',
            Standing::Optional => 'O',
        }
    }

    #[test]
    fn every_row_of_the_table_counts_as_listed() {
        assert!(TABLE.len() >= 40, "{}", TABLE.len());
        for (at, row) in TABLE.iter().enumerate() {
            let (found, scored) = scored(row, &[]);
            let standings: String = found.assessments.iter().map(|one| letter(one.standing)).collect();
            let recalled: String = found.found.iter().map(|&there| if there { '1' } else { '0' }).collect();
            assert_eq!(
                (standings.as_str(), recalled.as_str()),
                (row.standings, row.recalled),
                "row {at}: {:?}",
                row.memories
            );
            let (counts, quotes) = (&scored.counts, scored.measures["quotes"]);
            let parts = ["right", "unlisted", "duplicates", "distorted", "forbidden", "optional"];
            assert_eq!(parts.iter().map(|part| counts[*part]).sum::<u64>(), counts["memories"]);
            let all = Ratio::of(counts["memories"], counts["memories"]);
            assert_eq!(quotes, all);
            let optional = float(usize::try_from(counts["optional"]).unwrap());
            let judged = scored.measures["precision"].denominator + optional;
            assert!((judged - all.denominator).abs() < f64::EPSILON, "{judged} is not {}", all.denominator);
        }
    }

    #[test]
    fn a_verdict_saves_an_unlisted_memory_and_no_other() {
        let row = row(&[ANA], &[], &["Lunch is at noon. @ 2", "Rain fell. @ 2", "Ana owns billing. @ 2"], "UUR", "1");
        let verdict =
            |content: &str, verdict| ReaderVerdict { content: content.to_owned(), verdict, why: String::new() };
        let verdicts = [
            verdict("Lunch is at noon.", Ruling::Kept),
            verdict("Rain fell.", Ruling::Wrong),
            verdict("Ana owns billing.", Ruling::Wrong),
        ];
        let scored = scored(&row, &verdicts).1;
        let counts = ["right", "unlisted", "unlisted_kept", "unlisted_unjudged"].map(|name| scored.counts[name]);
        assert_eq!(counts, [1, 2, 1, 0]);
        let value = |name: &str| scored.measures[name].value(Unit::Share).map(|value| format!("{value:.3}"));
        let found = ["recall", "precision", "precision judged", "type", "recall low"].map(value);
        let expected = [Some("1.000"), Some("0.333"), Some("0.667"), Some("1.000"), None];
        assert_eq!(found.each_ref().map(Option::as_deref), expected);
        let results = Results::new(Manifest::default(), vec![scored]);
        let f1 = Kind::Extraction.measures().iter().position(|one| one.name == "F1").unwrap();
        assert_eq!(Tally::all(&results)[0].totals()[f1].0.map(|value| format!("{value:.3}")).as_deref(), Some("0.500"));
    }

    #[test]
    fn type_evidence_and_quotes_are_assessed_for_what_is_right() {
        let case = case(&row(&[ANA], &[], &[], "", ""));
        let table = [
            (MemoryType::Semantic, "2", "Ana owns billing", (Some(true), Some(true), 1)),
            (MemoryType::Episodic, "2", "ANA  owns\nbilling", (Some(false), Some(true), 1)),
            (MemoryType::Semantic, "1", "Ana owns billing", (Some(true), Some(false), 0)),
            (MemoryType::Semantic, "2", "Ana has billing", (Some(true), Some(true), 0)),
            (MemoryType::Semantic, "2", "", (Some(true), Some(true), 0)),
            (MemoryType::Semantic, "9", "Ana owns billing", (Some(true), Some(false), 0)),
        ];
        for (memory_type, message, quote, expected) in table {
            let memory = Prediction::new(memory_type, "Ana owns billing.", vec![cited(message, quote)]);
            let found = of(&case, vec![memory]).0.assessments.remove(0);
            assert_eq!((found.type_right, found.evidence_right, found.quotes_found), expected, "{message} {quote}");
        }
        let other = Prediction::new(MemoryType::Semantic, "Lunch is at noon.", vec![cited("2", "Ana owns billing")]);
        let found = of(&case, vec![other]).0.assessments.remove(0);
        assert_eq!((found.type_right, found.evidence_right), (None, None));
    }

    #[test]
    fn mistakes_in_a_case_are_reported_with_entry_and_field() {
        let whole = json!({"about": "a", "language": "en", "format": "plain", "logs": ["x"], "memories": [
            {"id": "m1", "text": "t", "type": ["semantic"], "importance": "high", "all": ["a"], "none": ["b"], "evidence": ["c"]}],
            "forbidden": [{"id": "f1", "kind": "secret", "all": ["x"]}]});
        let table = [
            ("/memories/0/all", json!(["(a"]), "case.json: m1.all[0]: \"(a\" is not a valid pattern: unclosed group"),
            ("/memories/0/all", json!([]), "case.json: m1.all: no pattern is given, so everything would match"),
            ("/memories/0/all", json!(["a|"]), "case.json: m1.all[0]: \"a|\" matches everything"),
            (
                "/memories/0/none",
                json!(["b", "(?!c)"]),
                "look-around, including look-ahead and look-behind, is not supported",
            ),
            ("/memories/0/type", json!([]), "case.json: m1.type: no type is given"),
            ("/forbidden/0/id", json!("m1"), "case.json: m1: two entries have this id"),
            (
                "/forbidden/0/all",
                json!(["[z"]),
                "case.json: f1.all[0]: \"[z\" is not a valid pattern: unclosed character class",
            ),
            ("/logs", json!([]), "case.json: logs: no log is given"),
        ];
        for (place, value, expected) in table {
            let mut case = whole.clone();
            *case.pointer_mut(place).unwrap() = value;
            let folder = tempfile::tempdir().unwrap();
            std::fs::write(folder.path().join("x"), "").unwrap();
            std::fs::write(folder.path().join("case.json"), case.to_string()).unwrap();
            let error = discover(&[folder.path().join("case.json")]).unwrap().remove(0).1.unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }

    #[test]
    fn as_many_as_possible_are_paired_in_any_order() {
        let table: &[(&[&[usize]], usize)] = &[
            (&[], 0),
            (&[&[]], 0),
            (&[&[0], &[0]], 1),
            (&[&[0, 1], &[0]], 2),
            (&[&[0], &[0, 1]], 2),
            (&[&[0, 1], &[0], &[1]], 2),
            (&[&[0, 1], &[1, 2], &[0]], 3),
        ];
        for (choices, most) in table {
            let mut choices: Vec<Vec<usize>> = choices.iter().map(|rights| rights.to_vec()).collect();
            for _ in 0..choices.len().max(1) {
                let paired = pair_up(&choices, 3);
                assert_eq!(paired.iter().flatten().count(), *most, "{choices:?}");
                let mut rights: Vec<usize> = paired.into_iter().flatten().collect();
                rights.sort_unstable();
                rights.dedup();
                assert_eq!(rights.len(), *most);
                let step = choices.len().min(1);
                choices.rotate_left(step);
            }
        }
    }

    #[test]
    fn a_date_is_named_in_words_in_digits_or_by_the_validity_of_a_memory() {
        let day: Moment = serde_json::from_str("\"2026-03-09\"").unwrap();
        let month: Moment = serde_json::from_str("\"2026-03\"").unwrap();
        let memory = |content: &str| Prediction::new(MemoryType::Semantic, content, Vec::new());
        for (text, date, expected) in [
            ("Launch on 2026-03-09.", day, true),
            ("Launch on 9 March 2026.", day, true),
            ("Launch on March 9.", day, true),
            ("2026年3月9日上线。", day, true),
            ("Launch on 2026-03-10.", day, false),
            ("Launch in March 2026.", month, true),
            ("Launch in 2026-04.", month, false),
        ] {
            assert_eq!(names_date(&memory(text), date), expected, "{text}");
        }
        let valid = Prediction { valid: vec![day.noon()], ..memory("The launch.") };
        assert!(names_date(&valid, day) && names_date(&valid, month));
    }

    #[test]
    fn importance_in_the_wrong_order_counts_against_and_a_tie_half() {
        assert_eq!(count_order(&[(Importance::High, 0.9), (Importance::Low, 0.2), (Importance::Medium, 0.2)]), (5, 6));
        assert_eq!(count_order(&[(Importance::Low, 0.9), (Importance::High, 0.2)]), (0, 2));
    }

    #[test]
    fn a_date_is_open_if_it_depends_on_when_one_reads_it() {
        let table = [
            ("Caroline went to a support group yesterday.", Openness::Relative),
            ("Jon visits Rome last Saturday.", Openness::Relative),
            ("Melanie ran a race two weeks ago.", Openness::Relative),
            ("Gina plans a trip next month.", Openness::Relative),
            ("Caroline went to a support group on 2023-05-07, the day before 8 May 2023.", Openness::Closed),
            ("Last Saturday, 2023-05-20, Melanie ran a race.", Openness::Closed),
            ("Jon recently opened a studio.", Openness::Vague),
            ("Jon opened a studio in June 2023.", Openness::Closed),
            ("Melanie has been married for five years.", Openness::Closed),
        ];
        for (text, open) in table {
            assert_eq!(date_openness(text), open, "{text}");
        }
    }
}
