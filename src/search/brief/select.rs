//! Selection of a brief's memories, with their sections and order, within quotas and budget. The functions perform no
//! I/O.

use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};

use jiff::Timestamp;

use super::content::{Brief, ExclusionReason, LeftOut, Shown, Standing};
use super::render::{between, closing, ending, heading, line, opening};
use super::request::{BriefRequest, Counting, MAX_CHARACTERS, Section};
use crate::consolidate::compare::pair::{ClaimRelation, repeated};
use crate::consolidate::compare::view::View;
use crate::lifecycle::decay::{Certainty, HalfLives, days_between};
use crate::memory::{Memory, MemoryId, Structured, Tier};
use crate::search::RECENCY_HALF_LIFE_DAYS;
use crate::store::{BriefRow, stepped};
use crate::tokens;

/// Weight of the importance in the rating. The first four weights add up to 1.
pub(crate) const WEIGHT_IMPORTANCE: f64 = 0.45;
/// Weight of the faded confidence.
pub(crate) const WEIGHT_CONFIDENCE: f64 = 0.25;
/// Weight of how recently the memory was changed, confirmed or used, compared with the most recent of all.
pub(crate) const WEIGHT_RECENCY: f64 = 0.20;
/// Weight of the memory's level in the hierarchy.
pub(crate) const WEIGHT_TIER: f64 = 0.10;
/// Weight of the relevance to the question. The remainder is the weight of the other components.
pub(crate) const WEIGHT_TO_THE_POINT: f64 = 0.70;
/// Minimum faded confidence of an unpinned memory that is shown.
// The limit is above the 0.05 at which maintenance lets a memory fade. Nobody requests a brief, so its memories should
// be more certain.
const MIN_CONFIDENCE: f64 = 0.15;
/// Number of memories whose texts are read for each place in a section, because some memories are duplicates or too
/// long.
const TEXTS_PER_PLACE: usize = 3;
/// Number of additional texts that are read in each section.
const MORE_TEXTS: usize = 20;

/// For each of the given memories, returns a description of what has changed among the files, symbols and commits that
/// it mentions.
pub(crate) type Changes<'c> = &'c dyn Fn(&[&Memory]) -> Vec<Option<String>>;

/// The memories that a brief considers.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct ConsideredRows {
    pub(super) rows: Vec<BriefRow>,
    /// The latest event among all memories, which serves as the reference time.
    pub(super) as_of: Timestamp,
    /// For each section, whether further memories could be shown.
    pub(super) has_more: [bool; 3],
}

/// A memory that may be shown.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Candidate {
    pub(super) id: MemoryId,
    pub(super) standing: Standing,
}

/// Memories that may be shown, by section and best first, and memories that may not be shown.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct BriefSelection {
    sections: [Vec<Candidate>; 3],
    /// For each section, whether further memories could be shown.
    has_more: [bool; 3],
    pub(super) left_out: Vec<LeftOut>,
}

impl BriefSelection {
    pub(super) fn section(&self, section: Section) -> &[Candidate] {
        &self.sections[section as usize]
    }

    /// Returns the candidates whose texts must be read for the final selection.
    pub(super) fn pool(&self, request: &BriefRequest) -> impl Iterator<Item = &MemoryId> {
        let of = |section| self.section(section).iter().take(texts_of(section, request));
        Section::ALL.iter().copied().flat_map(of).map(|candidate| &candidate.id)
    }
}

/// Returns the number of candidates of a section whose texts may be needed.
pub(super) const fn texts_of(section: Section, request: &BriefRequest) -> usize {
    let quotas = &request.quotas;
    // Standing memories beyond their quota may be shown with the long-term memories.
    let places = match section {
        Section::Standing => quotas.standing + quotas.long_term,
        Section::LongTerm => quotas.long_term,
        Section::ShortTerm => quotas.short_term,
    };
    if places == 0 { 0 } else { places * TEXTS_PER_PLACE + MORE_TEXTS }
}

/// Sorts memories into sections, best first; equally rated memories by the time at which they were last certain, and
/// then by id.
///
/// Fading and recency are measured from the latest event among all memories rather than from a clock, so that a brief
/// changes only if the store changes. `to_the_point` contains the relevance of each memory to the question; all other
/// memories are left out, except standing memories.
pub(super) fn weigh(
    considered: &ConsideredRows,
    to_the_point: Option<&HashMap<MemoryId, f64>>,
    at_hand: &HashSet<MemoryId>,
    request: &BriefRequest,
) -> BriefSelection {
    let mut weighed = BriefSelection { has_more: considered.has_more, ..BriefSelection::default() };
    if to_the_point.is_some() {
        // No further memories were searched for, except standing memories, so it is not known whether they are
        // relevant.
        (weighed.has_more[1], weighed.has_more[2]) = (false, false);
    }
    let mut found: Vec<(&BriefRow, Section, Standing, Option<ExclusionReason>)> = considered
        .rows
        .iter()
        .map(|row| {
            let section = Section::ALL[row.group.section];
            // A standing preference is not rated by the question, because it shares no words with most questions.
            let fit = to_the_point.filter(|_| section != Section::Standing);
            let fit = fit.map(|fits| fits.get(&row.id).copied());
            let fitting = fit.map(|fit| fit.unwrap_or(0.0));
            // The clock is not used: a brief that changed every day would defeat its reader's prompt cache.
            let standing = standing(row, fitting, &request.half_lives, considered.as_of);
            let standing = Standing { at_hand: at_hand.contains(&row.id), ..standing };
            (row, section, standing, floor(row, &standing, fit == Some(None), request))
        })
        .collect();
    found.sort_unstable_by(|(a, _, x, _), (b, _, y, _)| order((x, a), (y, b)));
    for (row, section, standing, because) in found {
        let id = row.id.clone();
        match because {
            Some(because) => weighed.left_out.push(LeftOut { id, section, standing, because }),
            None => weighed.sections[section as usize].push(Candidate { id, standing }),
        }
    }
    weighed
}

/// Orders two ratings, the better one first.
fn by_standing(x: &Standing, y: &Standing) -> Ordering {
    y.at_hand.cmp(&x.at_hand).then_with(|| y.total.total_cmp(&x.total))
}

/// Orders two memories, the better one first.
// The id comes last, so that the same memories always yield the same brief.
pub(super) fn order((x, a): (&Standing, &BriefRow), (y, b): (&Standing, &BriefRow)) -> Ordering {
    by_standing(x, y).then_with(|| b.last_sure.cmp(&a.last_sure)).then_with(|| a.id.cmp(&b.id))
}

/// Returns the rating of a memory; `fit` is its relevance to the question.
pub(super) fn standing(row: &BriefRow, fit: Option<f64>, half_lives: &HalfLives, as_of: Timestamp) -> Standing {
    let certainty = Certainty {
        confidence: row.group.confidence,
        memory_type: row.group.memory_type,
        pinned: row.group.pinned,
        access_count: row.group.access_count,
        last_sure: row.last_sure,
    };
    let confidence = certainty.at(half_lives, as_of);
    let recency = 0.5_f64.powf(days_between(row.last_sure, as_of) / RECENCY_HALF_LIFE_DAYS);
    let tier = if row.group.pinned { 1.0 } else { share_of(row.group.tier) };
    let importance = row.group.importance;
    let own =
        WEIGHT_IMPORTANCE * importance + WEIGHT_CONFIDENCE * confidence + WEIGHT_RECENCY * recency + WEIGHT_TIER * tier;
    let total = fit.map_or(own, |fit| WEIGHT_TO_THE_POINT * fit + (1.0 - WEIGHT_TO_THE_POINT) * own);
    Standing { total, to_the_point: fit, importance, confidence, recency, tier, at_hand: false }
}

const fn share_of(tier: Tier) -> f64 {
    match tier {
        Tier::L0 => 1.0,
        Tier::L1 => 0.75,
        Tier::L2 => 0.5,
        Tier::L3 => 0.25,
        Tier::L4 => 0.0,
    }
}

/// Returns the reason why a memory may not be shown, regardless of the available room. Pinned memories are always
/// allowed.
pub(super) fn floor(
    row: &BriefRow,
    standing: &Standing,
    is_beside: bool,
    request: &BriefRequest,
) -> Option<ExclusionReason> {
    match () {
        () if row.group.pinned => None,
        () if row.group.importance < stepped(request.min_importance) => Some(ExclusionReason::Unimportant),
        () if standing.confidence < MIN_CONFIDENCE => Some(ExclusionReason::Faded),
        () if is_beside => Some(ExclusionReason::BesideThePoint),
        () => None,
    }
}

/// Shares of the budget that are reserved for each section, in the order of [`Section::ALL`]. Other sections may use
/// the unused part of a share.
const SHARES: [f64; 3] = [0.35, 0.45, 0.20];
/// A number greater than the number of memories in any store, used to reserve room for the number of omitted memories.
// The closing line is written last, when this number is known, so room for the longest number is reserved.
const MANY: usize = 999_999_999;

/// A memory that is shown if there is room.
struct Elected {
    section: Section,
    candidate: Candidate,
    line: String,
    cost: Cost,
    /// Whether the memory gets room before all others.
    comes_first: bool,
    fits: bool,
}

/// The size of a text.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Cost {
    tokens: usize,
    characters: usize,
}

impl Cost {
    fn of(text: &str, counting: Counting) -> Self {
        let tokens = match counting {
            Counting::Exact => tokens::count(text),
            Counting::Estimated => tokens::estimate(text),
        };
        // Agents count in UTF-16 units. If `char`s were counted, emoji could exceed the limit.
        Self { tokens, characters: text.encode_utf16().count() }
    }

    const fn plus(self, other: Self) -> Self {
        Self { tokens: self.tokens + other.tokens, characters: self.characters + other.characters }
    }

    const fn is_within(self, limit: Self) -> bool {
        self.tokens <= limit.tokens && self.characters <= limit.characters
    }

    /// Returns the given share of the size, rounded down.
    fn share(self, share: f64) -> Self {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            clippy::cast_precision_loss,
            reason = "a share of a small number, rounded down"
        )]
        let part = |whole: usize| (whole as f64 * share) as usize;
        Self { tokens: part(self.tokens), characters: part(self.characters) }
    }
}

/// Returns the brief composed from the weighed candidates. `texts` contains the memories of the pool.
pub(super) fn select(
    mut weighed: BriefSelection,
    mut texts: HashMap<MemoryId, Memory>,
    request: &BriefRequest,
    changes: Changes<'_>,
) -> Brief {
    let mut left_out = std::mem::take(&mut weighed.left_out);
    let chosen = elect(&weighed, &texts, request, &mut left_out);
    let elected = spelled(chosen, &texts, request, changes);
    let has_more = weighed.has_more.contains(&true);
    let elected = within_budget(elected, has_more, request);
    let mut brief = Brief { left_out, has_more, ..Brief::default() };
    for one in elected {
        let Elected { section, candidate: Candidate { id, standing }, line, cost, fits, .. } = one;
        match texts.remove(&id) {
            Some(memory) if fits => {
                let separator = brief.shown.last().is_some_and(|last: &Shown| last.section == section);
                push(&mut brief, section, &line, separator, request);
                brief.shown.push(Shown { memory, section, standing, tokens: cost.tokens });
            }
            Some(_) | None => {
                brief.left_out.push(LeftOut { id, section, standing, because: ExclusionReason::OverBudget });
            }
        }
    }
    // The reasons are found in several passes, so the list is sorted again. Sorting by id makes the order reproducible.
    brief.left_out.sort_by(|a, b| b.standing.total.total_cmp(&a.standing.total).then_with(|| a.id.cmp(&b.id)));
    finish(brief, request)
}

/// Appends a memory's line, preceded where necessary by the end of the previous section and the heading of the next.
fn push(brief: &mut Brief, section: Section, line: &str, continues: bool, request: &BriefRequest) {
    if continues {
        brief.text.push_str(between(request.format));
    } else {
        match brief.shown.last() {
            Some(last) => brief.text.push_str(&ending(last.section, request.format)),
            None => brief.text.push_str(&opening(request.format)),
        }
        brief.text.push_str(&heading(section, request, brief.shown.is_empty()));
    }
    brief.text.push_str(line);
}

fn finish(mut brief: Brief, request: &BriefRequest) -> Brief {
    let Some(last) = brief.shown.last() else { return brief };
    let left_out = brief.left_out.iter().filter(|one| one.because.is_for_want_of_room()).count();
    brief.text.push_str(&ending(last.section, request.format));
    brief.text.push_str(&closing(left_out, brief.has_more, request.format));
    let size = Cost::of(&brief.text, request.counting);
    Brief { tokens: size.tokens, characters: size.characters, ..brief }
}

/// Fills the sections with the best candidates that do not duplicate each other.
fn elect(
    weighed: &BriefSelection,
    texts: &HashMap<MemoryId, Memory>,
    request: &BriefRequest,
    left_out: &mut Vec<LeftOut>,
) -> Vec<(Section, Candidate)> {
    let mut chosen: Vec<(Section, Candidate, View<'_>)> = Vec::new();
    let mut overflow = Vec::new();
    for &section in Section::ALL {
        let mut candidates = weighed.section(section).to_vec();
        if section == Section::LongTerm && request.query.is_none() {
            // Standing memories beyond the quota are as important as the others.
            candidates.append(&mut overflow);
            // The sort is stable, so equally good memories remain in the order of `weigh`.
            candidates.sort_by(|a, b| by_standing(&a.standing, &b.standing));
        }
        order_by_priority(&mut candidates, texts);
        let mut places = request.quotas.of(section);
        for candidate in candidates {
            // Either the section is full, or the candidate is not in the pool, which contains only the texts that may
            // be needed.
            let Some(memory) = texts.get(&candidate.id).filter(|_| places > 0) else {
                overflow.push(candidate);
                continue;
            };
            let view = View::of(&memory.claim, &[]);
            match likeness(&view, &chosen, texts) {
                Likeness::Same(at) => {
                    let because = ExclusionReason::SaysTheSame { other: chosen[at].1.id.clone() };
                    left_out.push(LeftOut { id: candidate.id, section, standing: candidate.standing, because });
                }
                Likeness::SaysMore(at) => {
                    let because = ExclusionReason::SaysTheSame { other: candidate.id.clone() };
                    // The memory replaces a less detailed memory in the same section, so no quota changes.
                    let (section, place) = (chosen[at].0, &mut chosen[at]);
                    let shorter = std::mem::replace(place, (section, candidate, view)).1;
                    left_out.push(LeftOut { id: shorter.id, section, standing: shorter.standing, because });
                }
                Likeness::None => {
                    chosen.push((section, candidate, view));
                    places -= 1;
                }
            }
        }
        if section != Section::Standing || request.query.is_some() {
            let left = overflow.drain(..).map(|Candidate { id, standing }| LeftOut {
                id,
                section,
                standing,
                because: ExclusionReason::OverQuota,
            });
            left_out.extend(left);
        }
    }
    let chosen: Vec<_> = chosen.into_iter().map(|(section, candidate, _)| (section, candidate)).collect();
    best_of_all(chosen, texts, request, left_out)
}

/// Puts procedures with a higher priority first among the procedures that have a priority. All other memories keep their
/// places.
fn order_by_priority(candidates: &mut [Candidate], texts: &HashMap<MemoryId, Memory>) {
    let priority = |candidate: &Candidate| match &texts.get(&candidate.id)?.claim.structured {
        Some(Structured::Procedure(procedure)) => procedure.priority,
        _ => None,
    };
    let ranked = candidates.iter().enumerate().filter_map(|(place, one)| Some((place, priority(one)?, one.clone())));
    let mut ranked: Vec<_> = ranked.collect();
    let places: Vec<usize> = ranked.iter().map(|(place, ..)| *place).collect();
    // The sort is stable, so procedures with the same priority remain in the order of their ratings.
    ranked.sort_by(|(_, a, _), (_, b, _)| b.total_cmp(a));
    for (place, (_, _, candidate)) in places.into_iter().zip(ranked) {
        candidates[place] = candidate;
    }
}

/// Returns the chosen memories with their lines.
fn spelled(
    chosen: Vec<(Section, Candidate)>,
    texts: &HashMap<MemoryId, Memory>,
    request: &BriefRequest,
    changes: Changes<'_>,
) -> Vec<Elected> {
    let memories: Vec<&Memory> = chosen.iter().map(|(_, candidate)| &texts[&candidate.id]).collect();
    let changes = changes(&memories);
    let spelled = chosen.into_iter().enumerate().map(|(place, (section, candidate))| {
        let (memory, now) = (memories[place], changes.get(place).and_then(Option::as_deref));
        let line = line(memory, now, request.format);
        let cost = Cost::of(&line, request.counting).plus(Cost::of(between(request.format), request.counting));
        let comes_first = memory.pinned || candidate.standing.at_hand;
        Elected { section, candidate, line, cost, comes_first, fits: false }
    });
    spelled.collect()
}

/// Limits the total number of memories. Half of the places are for standing memories and half for other memories, and
/// each half may use unused places of the other half. In each half, pinned memories take precedence, followed by those
/// about the work at hand and then by the best memories.
fn best_of_all(
    mut chosen: Vec<(Section, Candidate)>,
    texts: &HashMap<MemoryId, Memory>,
    request: &BriefRequest,
    left_out: &mut Vec<LeftOut>,
) -> Vec<(Section, Candidate)> {
    let most = request.max_memories.unwrap_or(usize::MAX);
    while chosen.len() > most {
        let stands = |(section, _): &(Section, Candidate)| *section == Section::Standing;
        let standing = chosen.iter().filter(|one| stands(one)).count();
        // While there are too many memories in total, at least one half exceeds its limit, so a memory can be removed
        // from that half.
        let (too_many_stand, too_many_others) = (standing > most / 2, chosen.len() - standing > most - most / 2);
        let worth = |(_, candidate): &(Section, Candidate)| {
            (texts.get(&candidate.id).is_some_and(|memory| memory.pinned), candidate.standing)
        };
        let order = |a: &(bool, Standing), b: &(bool, Standing)| a.0.cmp(&b.0).then_with(|| by_standing(&b.1, &a.1));
        let open = |at: &usize| if stands(&chosen[*at]) { too_many_stand } else { too_many_others };
        // Among equally good memories, the last is removed.
        let worst = (0..chosen.len()).rev().filter(open).min_by(|a, b| order(&worth(&chosen[*a]), &worth(&chosen[*b])));
        let Some(worst) = worst else { break };
        let (section, Candidate { id, standing }) = chosen.remove(worst);
        left_out.push(LeftOut { id, section, standing, because: ExclusionReason::OverQuota });
    }
    chosen
}

/// The relation of a memory to the memories already chosen.
enum Likeness {
    /// The memory adds nothing to the chosen memory at this index.
    Same(usize),
    /// The memory contains everything that the chosen memory at this index contains, and more.
    SaysMore(usize),
    None,
}

fn likeness(view: &View<'_>, chosen: &[(Section, Candidate, View<'_>)], texts: &HashMap<MemoryId, Memory>) -> Likeness {
    for (at, (_, candidate, known)) in chosen.iter().enumerate() {
        match repeated(view, known) {
            Some(ClaimRelation::Same) => return Likeness::Same(at),
            // A pinned memory keeps its place even if another memory has more detail.
            Some(_) if !texts.get(&candidate.id).is_some_and(|memory| memory.pinned) => {
                return Likeness::SaysMore(at);
            }
            Some(_) | None => {}
        }
    }
    Likeness::None
}

/// A pass that allocates room to memories.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Turn {
    First,
    WithinShare,
    Rest,
}

/// Marks the memories that there is room for: first pinned memories and memories about the work at hand, then the
/// memories of each section within its share, then any memories that still fit, in order.
fn within_budget(mut elected: Vec<Elected>, has_more: bool, request: &BriefRequest) -> Vec<Elected> {
    let whole = Cost { tokens: request.max_tokens, characters: request.max_characters.min(MAX_CHARACTERS) };
    let of = |text: &str| Cost::of(text, request.counting);
    // The fence is counted before any memory: if the end of the fence were cut off, the data could look like
    // instructions.
    let frame = of(&opening(request.format)).plus(of(&closing(MANY, has_more, request.format)));
    let mut used = frame;
    let (mut begun, mut in_section) = ([false; 3], [Cost::default(); 3]);
    for turn in [Turn::First, Turn::WithinShare, Turn::Rest] {
        for one in elected.iter_mut().filter(|one| !one.fits && (one.comes_first || turn != Turn::First)) {
            let place = one.section as usize;
            let around = if begun[place] { Cost::default() } else { around(one.section, request) };
            let cost = one.cost.plus(around);
            let shared = in_section[place].plus(cost);
            // The loop continues after a memory that does not fit, because a shorter memory further down may still fit.
            if turn == Turn::WithinShare && !shared.is_within(whole.share(SHARES[place]))
                || !used.plus(cost).is_within(whole)
            {
                continue;
            }
            (one.fits, begun[place], in_section[place], used) = (true, true, shared, used.plus(cost));
        }
    }
    elected
}

/// Returns the cost of a section without its memories.
fn around(section: Section, request: &BriefRequest) -> Cost {
    let of = |text: &str| Cost::of(text, request.counting);
    of(&heading(section, request, false)).plus(of(&ending(section, request.format)))
}
