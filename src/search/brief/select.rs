//! Which of the memories that may be told are told: no two that say the same, within quotas and budget. Pure.

use std::collections::HashMap;

use super::line::line;
use super::render::{between, closing, ending, heading, opening};
use super::request::{BriefRequest, Counting, MAX_CHARACTERS, Section};
use super::weigh::{Because, Candidate, Weighed};
use super::{Brief, LeftOut, Shown};
use crate::consolidate::compare::pair::{Pairing, pair};
use crate::consolidate::compare::view::View;
use crate::memory::{Memory, MemoryId};
use crate::tokens;

/// Shares of the room that each section has for certain, in the order of [`Section::ALL`]; what one leaves, others take.
const SHARES: [f64; 3] = [0.35, 0.45, 0.20];
/// As many as no store holds, for what the count of those left out may cost.
const MANY: usize = 999_999_999;

/// A memory that is told if there is room.
struct Elected {
    section: Section,
    candidate: Candidate,
    line: String,
    cost: Cost,
    pinned: bool,
    fits: bool,
}

/// What a text takes.
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
        Self { tokens, characters: text.encode_utf16().count() }
    }

    const fn plus(self, other: Self) -> Self {
        Self { tokens: self.tokens + other.tokens, characters: self.characters + other.characters }
    }

    const fn is_within(self, limit: Self) -> bool {
        self.tokens <= limit.tokens && self.characters <= limit.characters
    }

    /// Returns the share of it, rounded down.
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

/// Returns the brief of what was weighed. `texts` are the memories of the pool.
pub(super) fn select(mut weighed: Weighed, mut texts: HashMap<MemoryId, Memory>, request: &BriefRequest) -> Brief {
    let mut left_out = std::mem::take(&mut weighed.left_out);
    let elected = elect(&weighed, &texts, request, &mut left_out);
    let elected = within_budget(elected, request);
    let mut brief = Brief { left_out, ..Brief::default() };
    for one in elected {
        let Elected { section, candidate: Candidate { id, standing }, line, cost, fits, .. } = one;
        match texts.remove(&id) {
            Some(memory) if fits => {
                let separator = brief.shown.last().is_some_and(|last: &Shown| last.section == section);
                push(&mut brief, section, &line, separator, request);
                brief.shown.push(Shown { memory, section, standing, tokens: cost.tokens });
            }
            Some(_) | None => brief.left_out.push(LeftOut { id, section, standing, because: Because::OverBudget }),
        }
    }
    brief.left_out.sort_by(|a, b| b.standing.total.total_cmp(&a.standing.total).then_with(|| a.id.cmp(&b.id)));
    finish(brief, request)
}

/// Appends a memory's line, with what ends the section before it and begins its own.
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
    brief.text.push_str(&closing(left_out, request.format));
    let size = Cost::of(&brief.text, request.counting);
    Brief { tokens: size.tokens, characters: size.characters, ..brief }
}

/// Fills the sections with the best that say different things.
fn elect(
    weighed: &Weighed,
    texts: &HashMap<MemoryId, Memory>,
    request: &BriefRequest,
    left_out: &mut Vec<LeftOut>,
) -> Vec<Elected> {
    let mut chosen: Vec<(Section, Candidate, View<'_>)> = Vec::new();
    let mut overflow = Vec::new();
    for section in Section::ALL {
        let mut candidates = weighed.section(section).to_vec();
        if section == Section::LongTerm && request.query.is_none() {
            // What does not fit among the standing ones matters no less than the rest.
            candidates.append(&mut overflow);
            candidates.sort_by(|a, b| b.standing.total.total_cmp(&a.standing.total));
        }
        let mut places = request.quotas.of(section);
        for candidate in candidates {
            let Some(memory) = texts.get(&candidate.id).filter(|_| places > 0) else {
                overflow.push(candidate);
                continue;
            };
            let view = View::of(&memory.claim, &[]);
            match likeness(&view, &chosen, texts) {
                Likeness::Same(at) => {
                    let because = Because::SaysTheSame { other: chosen[at].1.id.clone() };
                    left_out.push(LeftOut { id: candidate.id, section, standing: candidate.standing, because });
                }
                Likeness::SaysMore(at) => {
                    let because = Because::SaysTheSame { other: candidate.id.clone() };
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
                because: Because::OverQuota,
            });
            left_out.extend(left);
        }
    }
    let chosen: Vec<_> = chosen.into_iter().map(|(section, candidate, _)| (section, candidate)).collect();
    let chosen = best_of_all(chosen, texts, request, left_out);
    let spelled = chosen.into_iter().map(|(section, candidate)| {
        let memory = &texts[&candidate.id];
        let (line, pinned) = (line(memory, request.format), memory.pinned);
        let cost = Cost::of(&line, request.counting).plus(Cost::of(between(request.format), request.counting));
        Elected { section, candidate, line, cost, pinned, fits: false }
    });
    spelled.collect()
}

/// Keeps at most as many as may be told in all. Half of the places are for the standing ones and half for the others, and
/// what one half leaves the other takes; in each the pinned ones stay, then the best.
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
        let (too_many_stand, too_many_others) = (standing > most / 2, chosen.len() - standing > most - most / 2);
        let worth = |(_, candidate): &(Section, Candidate)| {
            (texts.get(&candidate.id).is_some_and(|memory| memory.pinned), candidate.standing.total)
        };
        let order = |a: &(bool, f64), b: &(bool, f64)| a.0.cmp(&b.0).then_with(|| a.1.total_cmp(&b.1));
        let open = |at: &usize| if stands(&chosen[*at]) { too_many_stand } else { too_many_others };
        // Of equally good ones the last goes.
        let worst = (0..chosen.len()).rev().filter(open).min_by(|a, b| order(&worth(&chosen[*a]), &worth(&chosen[*b])));
        let Some(worst) = worst else { break };
        let (section, Candidate { id, standing }) = chosen.remove(worst);
        left_out.push(LeftOut { id, section, standing, because: Because::OverQuota });
    }
    chosen
}

/// Whether a memory says what is said already.
enum Likeness {
    /// It adds nothing to the one at this place.
    Same(usize),
    /// It says all that the one at this place does, and more.
    SaysMore(usize),
    None,
}

fn likeness(view: &View<'_>, chosen: &[(Section, Candidate, View<'_>)], texts: &HashMap<MemoryId, Memory>) -> Likeness {
    for (at, (_, candidate, known)) in chosen.iter().enumerate() {
        match pair(view, known, false).pairing {
            Pairing::Same => return Likeness::Same(at),
            Pairing::More if !texts.get(&candidate.id).is_some_and(|memory| memory.pinned) => {
                return Likeness::SaysMore(at);
            }
            Pairing::More | Pairing::Both | Pairing::Opposed | Pairing::Unsure | Pairing::Apart => {}
        }
    }
    Likeness::None
}

/// A turn at the room that there is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Turn {
    Pinned,
    WithinShare,
    Rest,
}

/// Marks what there is room for: what is pinned first, then each section within its share, then whatever still fits, in order.
fn within_budget(mut elected: Vec<Elected>, request: &BriefRequest) -> Vec<Elected> {
    let whole = Cost { tokens: request.max_tokens, characters: request.max_characters.min(MAX_CHARACTERS) };
    let of = |text: &str| Cost::of(text, request.counting);
    let frame = of(&opening(request.format)).plus(of(&closing(MANY, request.format)));
    let mut used = frame;
    let (mut begun, mut in_section) = ([false; 3], [Cost::default(); 3]);
    for turn in [Turn::Pinned, Turn::WithinShare, Turn::Rest] {
        for one in elected.iter_mut().filter(|one| !one.fits && (one.pinned || turn != Turn::Pinned)) {
            let place = one.section as usize;
            let around = if begun[place] { Cost::default() } else { around(one.section, request) };
            let cost = one.cost.plus(around);
            let shared = in_section[place].plus(cost);
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

/// What a section costs besides its memories.
fn around(section: Section, request: &BriefRequest) -> Cost {
    let of = |text: &str| Cost::of(text, request.counting);
    of(&heading(section, request, false)).plus(of(&ending(section, request.format)))
}
