//! Which memories may stand in a brief, where, and in which order. Pure.

use std::collections::HashMap;

use jiff::Timestamp;
use serde::Serialize;

use super::LeftOut;
use super::request::{BriefRequest, Section};
use crate::lifecycle::decay::{Certainty, HalfLives, days_between};
use crate::memory::{MemoryId, MemoryType, Scope, Tier};
use crate::search::RECENCY_HALF_LIFE_DAYS;
use crate::store::BriefRow;

/// Share of the importance in the standing. The first four weights add up to 1.
pub const WEIGHT_IMPORTANCE: f64 = 0.45;
/// Share of the confidence, as far as it has faded.
pub const WEIGHT_CONFIDENCE: f64 = 0.25;
/// Share of how lately it was changed, confirmed or used, beside the latest of all.
pub const WEIGHT_RECENCY: f64 = 0.20;
/// Share of its place in the hierarchy.
pub const WEIGHT_TIER: f64 = 0.10;
/// Share of how well it fits what was asked; the standing has the rest.
pub const WEIGHT_TO_THE_POINT: f64 = 0.70;
/// Least confidence, as far as it has faded, of what is told unpinned.
const MIN_CONFIDENCE: f64 = 0.15;
/// Memories whose texts are looked at, for each that a section may hold: some say the same, some are too long.
const TEXTS_PER_PLACE: usize = 3;
/// Further texts that are looked at in each section.
const MORE_TEXTS: usize = 20;

/// How good a memory is for a brief, and its parts, each between 0 and 1 and before its weight.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Standing {
    /// The weighted sum.
    pub total: f64,
    /// How well it fits what was asked; `None` where nothing was asked, or where it stands whatever is.
    pub to_the_point: Option<f64>,
    /// How much it matters.
    pub importance: f64,
    /// How sure it is, as far as that has faded.
    pub confidence: f64,
    /// How lately it was changed, confirmed or used.
    pub recency: f64,
    /// Its place in the hierarchy: 1 for l0, 0 for l4.
    pub tier: f64,
}

/// Why a memory that is recalled does not stand in a brief.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "because", rename_all = "snake_case")]
pub enum Because {
    /// It matters less than the least that is told.
    Unimportant,
    /// Nobody has confirmed or used it for so long that it is too unsure.
    Faded,
    /// It does not bear on what was asked.
    BesideThePoint,
    /// Another one that is told says the same.
    SaysTheSame {
        /// That one.
        other: MemoryId,
    },
    /// Its section is full.
    OverQuota,
    /// There was no room for it.
    OverBudget,
}

impl Because {
    /// Returns the spelling used in JSON.
    #[must_use]
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Unimportant => "unimportant",
            Self::Faded => "faded",
            Self::BesideThePoint => "beside_the_point",
            Self::SaysTheSame { .. } => "says_the_same",
            Self::OverQuota => "over_quota",
            Self::OverBudget => "over_budget",
        }
    }

    /// Whether it would be told if there were room.
    #[must_use]
    pub const fn is_for_want_of_room(&self) -> bool {
        matches!(self, Self::OverQuota | Self::OverBudget)
    }
}

/// A memory that may be told.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Candidate {
    pub(super) id: MemoryId,
    pub(super) standing: Standing,
}

/// What may be told, by section and best first, and what may not.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Weighed {
    sections: [Vec<Candidate>; 3],
    pub(super) left_out: Vec<LeftOut>,
}

impl Weighed {
    pub(super) fn section(&self, section: Section) -> &[Candidate] {
        &self.sections[section as usize]
    }

    /// Returns those whose texts decide the rest.
    pub(super) fn pool(&self, request: &BriefRequest) -> impl Iterator<Item = &MemoryId> {
        let quotas = request.quotas;
        Section::ALL.into_iter().flat_map(move |section| {
            // What is over the standing quota may stand with the long-term ones.
            let places = match (section, quotas.of(section)) {
                (Section::Standing, places) => places + quotas.long_term,
                (Section::LongTerm | Section::ShortTerm, places) => places,
            };
            let texts = if places == 0 { 0 } else { places * TEXTS_PER_PLACE + MORE_TEXTS };
            self.section(section).iter().take(texts).map(|candidate| &candidate.id)
        })
    }
}

/// Sorts memories into sections, best first; equally good ones by their last change and then by id.
///
/// Fading and recency are told from the latest event among `brief_rows` rather than from a clock, so that a brief does not
/// change while nothing else does. `to_the_point` says how well a memory fits what was asked, and leaves out what it does
/// not name, but for what stands whatever is asked.
pub(super) fn weigh(
    brief_rows: &[BriefRow],
    to_the_point: Option<&HashMap<MemoryId, f64>>,
    request: &BriefRequest,
) -> Weighed {
    let as_of = brief_rows.iter().map(|glance| glance.last_sure).max().unwrap_or(Timestamp::UNIX_EPOCH);
    let mut weighed = Weighed::default();
    let mut found: Vec<(&BriefRow, Section, Standing, Option<Because>)> = brief_rows
        .iter()
        .map(|glance| {
            let section = section_of(glance);
            let fit = to_the_point.filter(|_| section != Section::Standing);
            let fit = fit.map(|fits| fits.get(&glance.id).copied());
            let standing = standing(glance, fit.map(|fit| fit.unwrap_or(0.0)), &request.half_lives, as_of);
            (glance, section, standing, floor(glance, &standing, fit == Some(None), request))
        })
        .collect();
    found.sort_unstable_by(|(a, _, x, _), (b, _, y, _)| {
        let by_change = || b.updated_at.cmp(&a.updated_at);
        y.total.total_cmp(&x.total).then_with(by_change).then_with(|| a.id.cmp(&b.id))
    });
    for (glance, section, standing, because) in found {
        let id = glance.id.clone();
        match because {
            Some(because) => weighed.left_out.push(LeftOut { id, section, standing, because }),
            None => weighed.sections[section as usize].push(Candidate { id, standing }),
        }
    }
    weighed
}

/// Returns where a memory stands: with what holds whatever is asked, with what is kept, or with what is over soon.
fn section_of(glance: &BriefRow) -> Section {
    let category = glance.category.as_str();
    let instructs =
        glance.memory_type == MemoryType::Procedural && matches!(category, "convention" | "workflow" | "note");
    let standing = instructs || matches!(category, "preference" | "profile");
    match glance.scope {
        _ if glance.pinned => Section::Standing,
        Scope::ShortTerm => Section::ShortTerm,
        Scope::LongTerm if standing => Section::Standing,
        Scope::LongTerm => Section::LongTerm,
    }
}

fn standing(glance: &BriefRow, fit: Option<f64>, half_lives: &HalfLives, as_of: Timestamp) -> Standing {
    let certainty = Certainty {
        confidence: glance.confidence,
        memory_type: glance.memory_type,
        pinned: glance.pinned,
        access_count: glance.access_count,
        last_sure: glance.last_sure,
    };
    let confidence = certainty.at(half_lives, as_of);
    let recency = 0.5_f64.powf(days_between(glance.last_sure, as_of) / RECENCY_HALF_LIFE_DAYS);
    let tier = if glance.pinned { 1.0 } else { share_of(glance.tier) };
    let own = WEIGHT_IMPORTANCE * glance.importance
        + WEIGHT_CONFIDENCE * confidence
        + WEIGHT_RECENCY * recency
        + WEIGHT_TIER * tier;
    let total = fit.map_or(own, |fit| WEIGHT_TO_THE_POINT * fit + (1.0 - WEIGHT_TO_THE_POINT) * own);
    Standing { total, to_the_point: fit, importance: glance.importance, confidence, recency, tier }
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

/// Returns why a memory is not told however much room there is. What is pinned always may be.
fn floor(glance: &BriefRow, standing: &Standing, is_beside: bool, request: &BriefRequest) -> Option<Because> {
    match () {
        () if glance.pinned => None,
        () if glance.importance < request.min_importance => Some(Because::Unimportant),
        () if standing.confidence < MIN_CONFIDENCE => Some(Because::Faded),
        () if is_beside => Some(Because::BesideThePoint),
        () => None,
    }
}
