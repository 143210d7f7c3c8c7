//! Running pairs: every known memory is stored, all incoming ones are settled together, and the state is read.

use super::decider::{Decided, Decider};
use super::file::Placed;
use super::form::Pair;
use super::home::Home;
use super::pair_score::{After, Fate};
use super::run::{BATCH, Settling};
use super::words::{Conversations, Spot, namespace};
use crate::consolidate::plan::Surrounded;
use crate::consolidate::{Change, Incoming};
use crate::eval::EvalError;
use crate::llm::Complete;
use crate::memory::{Memory, MemoryId, Namespace};

/// Arrival in which all incoming memories of pairs come.
const ARRIVAL: u32 = 1;

/// A pair that was looked at.
struct Ready<'a> {
    pair: &'a Pair,
    known: Incoming,
    memory: Memory,
    incoming: Incoming,
    spots: [Spot; 2],
}

/// Runs `pairs` and returns what became of each with the reason that was given, in order.
///
/// # Errors
/// [`EvalError`] if a store cannot be used.
pub(super) async fn run<C: Complete>(
    pairs: &[Placed<Pair>],
    decider: Decider<'_, C>,
    settling: &mut Settling<'_>,
) -> Result<Vec<(Fate, String)>, EvalError> {
    let mut fates = Vec::with_capacity(pairs.len());
    for chunk in pairs.chunks(BATCH) {
        let mut ready = Vec::with_capacity(chunk.len());
        let mut cases = Vec::with_capacity(chunk.len());
        for one in chunk {
            let (one, case) = look(one, settling)?;
            ready.push(one);
            cases.push(case);
        }
        let Decided { changes, failed_calls } = decider.decide(&cases, settling.guard, Home::now(ARRIVAL)).await;
        settling.failed_calls += failed_calls;
        for ((one, case), change) in ready.iter().zip(&cases).zip(changes) {
            let reason = change.reason.clone();
            fates.push((finish(one, case, change, settling)?, reason));
        }
    }
    Ok(fates)
}

fn label(pair: &Placed<Pair>) -> String {
    format!("{}-{}", pair.split, pair.case.id)
}

fn look<'a>(placed: &'a Placed<Pair>, settling: &mut Settling<'_>) -> Result<(Ready<'a>, Surrounded), EvalError> {
    let (pair, label) = (&placed.case, label(placed));
    let mut conversations = Conversations::default();
    let (known, old) = conversations.incoming(&label, "known", &pair.known);
    let (incoming, new) = conversations.incoming(&label, "incoming", &pair.incoming);
    let mut home = settling.templates.home(&label, namespaces(pair))?;
    let memory = Memory { pinned: pair.known.pinned, ..home.memory(known.candidate.claim.clone(), &known) };
    home.know(&memory, &known.candidate.evidence, settling.guard)?;
    let case = home.look(vec![incoming.clone()])?.remove(0);
    Ok((Ready { pair, known, memory, incoming, spots: [old, new] }, case))
}

fn namespaces(pair: &Pair) -> Vec<Namespace> {
    let mut both = vec![namespace(&pair.known), namespace(&pair.incoming)];
    both.dedup();
    both
}

/// Makes the store once more, since keeping those of all pairs would take too much room, and writes the change.
fn finish(one: &Ready<'_>, case: &Surrounded, change: Change, settling: &mut Settling<'_>) -> Result<Fate, EvalError> {
    let label = case.incoming.namespace.parts().get(1).cloned().unwrap_or_default();
    let mut home = settling.templates.home(&label, namespaces(one.pair))?;
    home.know(&one.memory, &one.known.candidate.evidence, settling.guard)?;
    home.look(vec![one.incoming.clone()])?;
    let is_known = |id: &MemoryId| *id == one.memory.id;
    let mut fate = Fate {
        decision: change.decision,
        conflict: change.conflict,
        late: change.born_superseded,
        waits: change.pending,
        elsewhere: !change.target.as_ref().is_none_or(is_known) || !change.also.iter().all(is_known),
        found: (one.known.namespace == one.incoming.namespace)
            .then(|| case.known.iter().any(|known| is_known(&known.memory.id))),
        after: Vec::new(),
    };
    home.apply(vec![change], Home::now(ARRIVAL))?;
    settling.distractors_retired += home.retired_distractors()?;
    let [old, new] = &one.spots;
    let after = home.state()?.into_iter().map(|(memory, evidence)| After {
        status: memory.status,
        is_known: is_known(&memory.id),
        rests_on_known: old.is_in(&evidence),
        rests_on_incoming: new.is_in(&evidence) && new != old,
        content: memory.claim.content,
    });
    fate.after = after.collect();
    Ok(fate)
}
