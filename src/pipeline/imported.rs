//! Memories that another extractor made, settled with what is known, as a run settles what it has extracted.

use jiff::Timestamp;

use super::PipelineError;
use crate::consolidate::decide::order::When;
use crate::consolidate::{ApplyError, Change, Decision, Incoming, Plan, apply, consolidate};
use crate::extract::Spent;
use crate::guard::Guard;
use crate::llm::Complete;
use crate::memory::{Evidence, Memory, MemoryId, Status};
use crate::store::{Database, RunId, Store, StoreError, normalised_hash};
use crate::transcript::{MessageTime, TimeSource};

/// Memories that are settled together: enough for one question about many pairs, few enough for one transaction.
const BATCH: usize = 200;
/// Plans that are made again because another process wrote in between, before giving up.
const MAX_REPLANS: usize = 50;
/// Transcript that imported memories without evidence are said in.
const SAID_IN: &str = "import";

/// A memory of a file.
#[derive(Debug, Clone, PartialEq)]
pub struct Arrival {
    /// What it says, and where it belongs.
    pub incoming: Incoming,
    /// Its own id, where the file gives one.
    pub id: Option<MemoryId>,
    /// When it was learnt, where the file says so, else the time of the import.
    pub at: Timestamp,
}

/// What became of the memories of a file.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Settled {
    /// The place of each memory in what was given, with what was done, in the order in which it was decided.
    pub changes: Vec<(usize, Change)>,
    /// What it cost.
    pub spent: Spent,
    /// Questions to the model that failed; what they were about got the cautious choice.
    pub failed_calls: u64,
}

/// Settles memories with what is known, in the order of their time, and writes them as part of `run`, a batch in one
/// transaction. A process that ends in between has lost nothing: the same call goes on from there.
///
/// A memory without evidence rests on its own words, as said in `import`, so that none that was merged into another is
/// new to the next import. What was imported before is known without a question. Secrets are taken out first.
///
/// # Errors
/// [`PipelineError`] if the store cannot be used, or if other processes never leave it alone.
pub async fn settle_imported<C: Complete>(
    store: &Store,
    guard: &Guard,
    model: Option<&C>,
    arrivals: Vec<Arrival>,
    run: &RunId,
) -> Result<Settled, PipelineError> {
    let mut ordered: Vec<(usize, Arrival)> = Vec::with_capacity(arrivals.len());
    for (place, arrival) in arrivals.into_iter().enumerate() {
        ordered.push((place, with_evidence(store, guard, arrival)?));
    }
    ordered.sort_by_key(|(place, arrival)| (held_from(arrival), *place));
    let mut settled = Settled::default();
    for batch in ordered.chunks(BATCH) {
        settle_batch(store, guard, model, batch, run, &mut settled).await?;
    }
    Ok(settled)
}

async fn settle_batch<C: Complete>(
    store: &Store,
    guard: &Guard,
    model: Option<&C>,
    batch: &[(usize, Arrival)],
    run: &RunId,
    settled: &mut Settled,
) -> Result<(), PipelineError> {
    for _ in 0..MAX_REPLANS {
        let (mut done, mut open) = (Vec::new(), Vec::new());
        for (place, arrival) in batch {
            match known_before(store, arrival)? {
                Some(memory) => done.push((*place, known(arrival, &memory))),
                None => open.push((*place, arrival.incoming.clone())),
            }
        }
        let (places, incoming): (Vec<usize>, Vec<Incoming>) = open.into_iter().unzip();
        let (plan, spent) = consolidate(store, guard, model, incoming, Timestamp::now()).await?;
        settled.spent += spent;
        match apply(store, guard, &plan, Some(run), Timestamp::now()) {
            Ok(_) => {
                let Plan { changes, failed_calls, .. } = plan;
                settled.failed_calls += failed_calls;
                settled.changes.extend(done);
                settled.changes.extend(places.into_iter().zip(changes));
                return Ok(());
            }
            Err(ApplyError::Stale { .. }) => {}
            Err(ApplyError::Store(error)) => return Err(error.into()),
        }
    }
    Err(PipelineError::Contended { attempts: MAX_REPLANS })
}

/// Returns the memory that an earlier import made of this one, or put it into; the one that holds now, if one does.
fn known_before(db: &Database, arrival: &Arrival) -> Result<Option<Memory>, StoreError> {
    if let Some(id) = &arrival.id
        && let Some(memory) = db.find(id)?
    {
        return Ok(Some(memory));
    }
    let evidence = &arrival.incoming.candidate.evidence;
    let Some(own) = evidence.first().filter(|piece| piece.transcript == SAID_IN && evidence.len() == 1) else {
        return Ok(None);
    };
    let resting = db.resting_on(&arrival.incoming.namespace, own)?;
    Ok(resting.into_iter().min_by_key(|memory| memory.status != Status::Active))
}

fn known(arrival: &Arrival, memory: &Memory) -> Change {
    Change {
        incoming: arrival.incoming.clone(),
        decision: Decision::Skip,
        conflict: None,
        target: Some(memory.id.clone()),
        also: Vec::new(),
        related: None,
        new_id: None,
        merged: None,
        born_superseded: false,
        pending: false,
        reason: "imported before".to_owned(),
        before: Some(memory.claim.content.clone()),
        holds_from: held_from(arrival),
    }
}

fn held_from(arrival: &Arrival) -> Option<Timestamp> {
    let candidate = &arrival.incoming.candidate;
    When::of(&candidate.claim, &candidate.evidence, arrival.at).at
}

/// Lets a memory that rests on nothing rest on its own words. One that is here already in the same words, resting on
/// nothing either, stays so.
fn with_evidence(db: &Database, guard: &Guard, arrival: Arrival) -> Result<Arrival, StoreError> {
    let mut arrival = arrival;
    arrival.incoming.candidate = guard.redact(arrival.incoming.candidate).0.into_inner();
    let candidate = &mut arrival.incoming.candidate;
    if !candidate.evidence.is_empty() {
        return Ok(arrival);
    }
    for memory in db.by_content(&arrival.incoming.namespace, &candidate.claim.content)? {
        if db.evidence(&memory.id)?.is_empty() {
            return Ok(arrival);
        }
    }
    let content_hash = normalised_hash(&candidate.claim.content);
    candidate.evidence.push(Evidence {
        transcript: SAID_IN.to_owned(),
        messages: vec![content_hash.clone()],
        quote: candidate.claim.content.clone(),
        speaker: None,
        said_at: Some(MessageTime { at: arrival.at, offset_seconds: None, source: TimeSource::File }),
        content_hash,
    });
    Ok(arrival)
}
