//! Running streams: arrival by arrival, those of all streams together, and once more to see that nothing changes.

use std::collections::{BTreeMap, BTreeSet};

use super::decider::{Decided, Decider, Refusing};
use super::distract;
use super::file::Placed;
use super::form::{Act, Deed, Event, Stream};
use super::home::Home;
use super::run::{BATCH, Settling};
use super::stream_score::{DISTRACTOR, End, Left};
use super::words::{Conversations, Spot, namespace};
use crate::consolidate::Incoming;
use crate::consolidate::plan::Surrounded;
use crate::eval::EvalError;
use crate::llm::Complete;
use crate::memory::{Memory, MemoryId, Namespace, Status};
use crate::store::StoreError;

/// How a stream ended, and what a second run of it did.
#[derive(Debug)]
pub(super) struct Ended {
    pub(super) end: End,
    /// What was decided about each event, for people.
    pub(super) decided: Vec<String>,
    /// Memories that the second run made.
    pub(super) growth: u64,
    /// Memories that it changed.
    pub(super) changed: u64,
    pub(super) distractors_retired: u64,
}

/// A stream on its way.
struct Running<'a> {
    stream: &'a Stream,
    home: Home,
    /// Every event with what comes and where it was said, in the order of arrival.
    events: Vec<(&'a str, u32, Incoming, Spot)>,
    failed_acts: Vec<String>,
    decided: Vec<String>,
    made: u64,
    changed: u64,
}

/// Runs `streams` and returns how each ended, in order. `settling` counts what a second run would ask.
///
/// # Errors
/// [`EvalError`] if a store cannot be used.
pub(super) async fn run<C: Complete>(
    streams: &[Placed<Stream>],
    decider: Decider<'_, C>,
    settling: &mut Settling<'_>,
) -> Result<Vec<Ended>, EvalError> {
    let running = streams.iter().map(|placed| Running::new(placed, settling));
    let mut running = running.collect::<Result<Vec<_>, EvalError>>()?;
    let arrivals: BTreeSet<u32> = running.iter().flat_map(|one| one.stream.events.iter().map(Event::arrival)).collect();
    for &arrival in &arrivals {
        for one in &mut running {
            one.act(arrival)?;
        }
        arrive(&mut running, arrival, decider, settling).await?;
    }
    settling.incoming += running.iter().map(|one| one.events.len() as u64).sum::<u64>();
    let ends: Vec<(End, Vec<String>)> = running
        .iter_mut()
        .map(|one| Ok((one.end()?, std::mem::take(&mut one.decided))))
        .collect::<Result<_, StoreError>>()?;
    for one in &mut running {
        (one.made, one.changed) = (0, 0);
    }
    again(&mut running, &arrivals, decider, settling).await?;
    let ended = running.iter().zip(ends).map(|(one, (end, decided))| {
        let distractors_retired = one.home.retired_distractors()?;
        Ok(Ended { end, decided, growth: one.made, changed: one.changed, distractors_retired })
    });
    ended.collect()
}

/// Lets everything arrive once more. A model that is asked then answers nothing, and it counts as asked.
async fn again<C: Complete>(
    running: &mut [Running<'_>],
    arrivals: &BTreeSet<u32>,
    decider: Decider<'_, C>,
    settling: &mut Settling<'_>,
) -> Result<(), EvalError> {
    let refusing = Refusing::default();
    let decider = match decider {
        Decider::Model(_) | Decider::Rules => Decider::Model(&refusing),
        Decider::AlwaysNew => Decider::AlwaysNew,
        Decider::Likeness => Decider::Likeness,
    };
    let failed = settling.failed_calls;
    for &arrival in arrivals {
        arrive(running, arrival, decider, settling).await?;
    }
    settling.failed_calls = failed;
    settling.asked_again += refusing.asked();
    Ok(())
}

/// Settles what arrives in all streams: together for the rules and models, one by one for controls.
async fn arrive<C: Complete>(
    running: &mut [Running<'_>],
    arrival: u32,
    decider: Decider<'_, C>,
    settling: &mut Settling<'_>,
) -> Result<(), EvalError> {
    let (mut batch, mut size) = (Vec::new(), 0);
    let all = running.len();
    for (index, one) in running.iter_mut().enumerate() {
        let coming = one.coming(arrival);
        size += coming.len();
        batch.push((one, coming));
        if size >= BATCH || index + 1 == all {
            settle(std::mem::take(&mut batch), decider, settling, arrival).await?;
            size = 0;
        }
    }
    Ok(())
}

/// A stream with the events that arrive in it.
type Coming<'r, 'a> = (&'r mut Running<'a>, Vec<(String, Incoming)>);

async fn settle<C: Complete>(
    batch: Vec<Coming<'_, '_>>,
    decider: Decider<'_, C>,
    settling: &mut Settling<'_>,
    arrival: u32,
) -> Result<(), EvalError> {
    let now = Home::now(arrival);
    if decider.is_control() {
        for (one, coming) in batch {
            for (id, incoming) in coming {
                let cases = one.home.look(vec![incoming])?;
                let Decided { changes, .. } = decider.decide(&cases, settling.guard, now).await;
                one.apply(&[id], changes, arrival)?;
            }
        }
        return Ok(());
    }
    let mut cases: Vec<Surrounded> = Vec::new();
    let mut waiting = Vec::new();
    for (one, coming) in batch {
        let (ids, incoming): (Vec<String>, Vec<Incoming>) = coming.into_iter().unzip();
        cases.extend(one.home.look(incoming)?);
        waiting.push((one, ids));
    }
    let Decided { changes, failed_calls } = decider.decide(&cases, settling.guard, now).await;
    settling.failed_calls += failed_calls;
    let mut changes = changes.into_iter();
    for (one, ids) in waiting {
        let own = changes.by_ref().take(ids.len()).collect();
        one.apply(&ids, own, arrival)?;
    }
    Ok(())
}

impl<'a> Running<'a> {
    fn new(placed: &'a Placed<Stream>, settling: &mut Settling<'_>) -> Result<Self, EvalError> {
        let (stream, label) = (&placed.case, format!("{}-{}", placed.split, placed.case.id));
        let mut conversations = Conversations::default();
        let mut namespaces: Vec<Namespace> = Vec::new();
        let mut events: Vec<(&str, u32, Incoming, Spot)> = Vec::new();
        for event in &stream.events {
            match event {
                Event::Act(_) => {}
                Event::Again(again) => {
                    let said = events.iter().find(|(id, ..)| *id == again.again).cloned();
                    events
                        .extend(said.map(|(_, _, incoming, spot)| (again.id.as_str(), again.arrival, incoming, spot)));
                }
                Event::Memory(one) => {
                    let (incoming, spot) = conversations.incoming(&label, &one.id, &one.said);
                    namespaces.push(namespace(&one.said));
                    events.push((&one.id, one.arrival, incoming, spot));
                }
            }
        }
        let mut seen = BTreeSet::new();
        namespaces.retain(|namespace| seen.insert(namespace.to_string()));
        let home = settling.templates.home(&label, namespaces)?;
        Ok(Self { stream, home, events, failed_acts: Vec::new(), decided: Vec::new(), made: 0, changed: 0 })
    }

    /// Returns what arrives, in the order of the pipeline: as it was said, what has no time last.
    fn coming(&self, arrival: u32) -> Vec<(String, Incoming)> {
        let mut coming: Vec<_> = self.events.iter().filter(|(_, at, ..)| *at == arrival).collect();
        coming.sort_by_key(|(_, _, incoming, _)| {
            let said = incoming.candidate.evidence.first().and_then(|piece| piece.said_at).map(|said| said.at);
            (said.is_none(), said)
        });
        coming.into_iter().map(|(id, _, incoming, _)| ((*id).to_owned(), incoming.clone())).collect()
    }

    fn apply(
        &mut self,
        ids: &[String],
        changes: Vec<crate::consolidate::Change>,
        arrival: u32,
    ) -> Result<(), EvalError> {
        for (id, change) in ids.iter().zip(&changes) {
            let conflict = change.conflict.map_or_else(String::new, |conflict| format!(" ({})", conflict.as_str()));
            let late = if change.born_superseded { ", the older" } else { "" };
            let waits = if change.pending { ", waits" } else { "" };
            self.decided.push(format!("{id}: {}{conflict}{late}{waits}: {}", change.decision.as_str(), change.reason));
        }
        let pinned: Vec<usize> = self.pinned(ids);
        let new: Vec<Option<MemoryId>> = changes.iter().map(|change| change.new_id.clone()).collect();
        let applied = self.home.apply(changes, Home::now(arrival))?;
        self.made += applied.made.len() as u64;
        self.changed += applied.changed.len() as u64;
        for id in pinned.into_iter().filter_map(|place| new.get(place)?.clone()) {
            self.home
                .store()
                .write::<_, StoreError>(None, Home::now(arrival), |writer| writer.set_pinned(&id, true))?;
        }
        Ok(())
    }

    /// Returns the places of the events that a person fixed as soon as they were there.
    fn pinned(&self, ids: &[String]) -> Vec<usize> {
        let is_pinned = |id: &String| {
            let event = self.stream.events.iter().find(|event| event.id() == Some(id.as_str()));
            matches!(event, Some(Event::Memory(one)) if one.said.pinned)
        };
        ids.iter().enumerate().filter(|(_, id)| is_pinned(id)).map(|(place, _)| place).collect()
    }

    /// Does what a person does at the beginning of an arrival.
    fn act(&mut self, arrival: u32) -> Result<(), EvalError> {
        for event in &self.stream.events {
            if let Event::Act(act) = event
                && act.arrival == arrival
                && !self.done(act)?
            {
                self.failed_acts.push(format!("{:?} {}", act.act, act.target).to_lowercase());
            }
        }
        Ok(())
    }

    /// Returns whether there was a memory to which it could be done.
    fn done(&self, act: &Act) -> Result<bool, StoreError> {
        let fits: &[Status] = match act.act {
            Deed::Forget => &[Status::Active, Status::Pending],
            Deed::Restore => &[Status::Forgotten, Status::Superseded],
            Deed::Pin => &[Status::Active],
            Deed::Reject | Deed::Accept => &[Status::Pending],
        };
        let spot = self.events.iter().find(|(id, ..)| *id == act.target).map(|(.., spot)| spot);
        let state = self.home.state()?;
        let resting: Vec<&Memory> = state
            .iter()
            .filter(|(_, evidence)| spot.is_some_and(|spot| spot.is_in(evidence)))
            .map(|(memory, _)| memory)
            .collect();
        let find = |status| resting.iter().rev().find(|memory| memory.status == status);
        let Some(memory) = fits.iter().find_map(|&status| find(status)) else { return Ok(false) };
        self.home.store().write(None, Home::now(act.arrival), |writer| match act.act {
            Deed::Forget => writer.forget(&memory.id, None).map(|_| true),
            Deed::Restore => writer.restore(&memory.id).map(|_| true),
            Deed::Pin => writer.set_pinned(&memory.id, true).map(|_| true),
            Deed::Reject => writer.reject(&memory.id, None).map(|()| true),
            Deed::Accept => writer.accept(&memory.id).map(|_| true),
        })
    }

    fn end(&self) -> Result<End, StoreError> {
        let state = self.home.state()?;
        let places: BTreeMap<&MemoryId, usize> =
            state.iter().enumerate().map(|(place, (memory, _))| (&memory.id, place)).collect();
        let mut links = BTreeSet::new();
        for (memory, _) in &state {
            for relation in self.home.store().relations(&memory.id)? {
                if let Some((from, to)) = places.get(&relation.from).zip(places.get(&relation.to)) {
                    links.insert((*from, relation.relation_type.as_str(), *to));
                }
            }
        }
        let memories = state.iter().map(|(memory, evidence)| {
            let resting = self.events.iter().filter(|(.., spot)| spot.is_in(evidence));
            let mut events: BTreeSet<String> = resting.map(|(id, ..)| (*id).to_owned()).collect();
            if evidence.iter().any(|piece| piece.transcript.starts_with(distract::SOURCE)) {
                events.insert(DISTRACTOR.to_owned());
            }
            Left { status: memory.status, events }
        });
        Ok(End { memories: memories.collect(), links, failed_acts: self.failed_acts.clone() })
    }
}
