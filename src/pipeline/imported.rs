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
use transcripts::{MessageTime, TimeSource};

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
        rest: None,
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

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::collections::{BTreeMap, BTreeSet};

    use serde_json::json;

    use super::*;
    use crate::llm::{Cost, Finish, LlmError, Reply, Request};
    use crate::memory::{Audience, Candidate, Claim, ExtractionMethod, MemoryType, Namespace};
    use crate::store::{Filter, Order};

    const FACTS: [[&str; 3]; 5] = [
        ["Ana drinks green tea.", "It is green tea that Ana drinks.", "Green tea is the drink of Ana."],
        ["Bo keeps bees behind the barn.", "Behind the barn Bo keeps bees.", "Bees are what Bo keeps behind the barn."],
        ["Caro rides a red bicycle to work.", "To work Caro takes a red bicycle.", "A red bicycle takes Caro to work."],
        ["Dan plays the cello on Sundays.", "On Sundays Dan plays cello.", "The cello is what Dan plays on Sundays."],
        ["Eve grows roses by the wall.", "By the wall Eve grows roses.", "Roses by the wall are grown by Eve."],
    ];

    /// Says that two claims about the same person are one.
    struct Persons(Cell<usize>);

    impl Complete for Persons {
        async fn complete(&self, request: &Request) -> Result<(Reply, Cost), LlmError> {
            self.0.set(self.0.get() + 1);
            let text = &*request.turns[0].text;
            let (memories, questions) = text.split_once("<questions>").unwrap();
            let number = |line: &str| line.split([':', ' ']).next().unwrap().parse::<usize>().unwrap();
            let numbered = |text: &'_ str| -> Vec<String> {
                text.lines().filter(|line| line.starts_with(|c: char| c.is_ascii_digit())).map(str::to_owned).collect()
            };
            let person = |line: &String| {
                let names = ["Ana", "Bo", "Caro", "Dan", "Eve"].into_iter();
                let mut named = names.filter(|one| line.split_whitespace().any(|word| word.trim_matches('.') == *one));
                Some((number(line), named.next()?))
            };
            let people: BTreeMap<usize, &str> = numbered(memories).iter().filter_map(person).collect();
            let entry = |line: String| {
                let against = line.split_once(": ").unwrap().1.split(',');
                let mut against = against.map(|to| to.parse::<usize>().unwrap());
                let same = against.find(|to| people.get(to) == people.get(&number(&line)));
                let relation = if same.is_some() { "duplicate" } else { "unrelated" };
                json!({"memory": number(&line), "relation": relation, "to": same, "why": "unclear", "rest": ""})
            };
            let relations: Vec<_> = numbered(questions).into_iter().map(entry).collect();
            let reply = Reply {
                text: json!({ "relations": relations }).to_string(),
                model: "m".into(),
                prompt_tokens: 1,
                completion_tokens: 1,
                finish: Finish::Stop,
            };
            Ok((reply, Cost::Call))
        }

        fn model(&self) -> &'static str {
            "m"
        }
    }

    fn arrival(content: &str) -> Arrival {
        let claim = Claim::new(MemoryType::Semantic, "fact", "t", content);
        let candidate =
            Candidate { claim, audience: Audience::Project, evidence: Vec::new(), replaces: None, is_pasted: false };
        let incoming = Incoming {
            candidate,
            namespace: Namespace::global(),
            source: "import".into(),
            method: ExtractionMethod::Imported,
        };
        Arrival { incoming, id: None, at: "2026-01-01T00:00:00Z".parse().unwrap() }
    }

    #[tokio::test]
    async fn wordings_that_come_together_end_as_one_memory_each() {
        let (store, guard, model) = (Store::in_memory().unwrap(), Guard::default(), Persons(Cell::new(0)));
        let run = store.begin_run("import", &json!([]), Timestamp::now()).unwrap().id;
        let all = || (0..3).flat_map(|wording| FACTS.map(|fact| arrival(fact[wording]))).collect();
        settle_imported(&store, &guard, Some(&model), all(), &run).await.unwrap();
        let active = store.list(&Filter::default(), Order::Id, 99, 0).unwrap();
        let sources: usize = active.iter().map(|one| store.evidence(&one.id).unwrap().len()).sum();
        assert_eq!((active.len(), sources, model.0.get()), (5, 15, 1), "{active:#?}");
        settle_imported(&store, &guard, Some(&model), all(), &run).await.unwrap();
        assert_eq!((store.list(&Filter::default(), Order::Id, 99, 0).unwrap().len(), model.0.get()), (5, 1));
    }

    #[tokio::test]
    async fn wordings_that_were_merged_keep_their_sources_and_are_known_the_next_time() {
        let (store, guard, model) = (Store::in_memory().unwrap(), Guard::default(), Persons(Cell::new(0)));
        let import = |model: &'static str| store.begin_run("import", &json!(model), Timestamp::now()).unwrap().id;
        // One wording of each after the other, as three files would bring them.
        for wording in 0..3 {
            let arrivals = FACTS.iter().map(|fact| arrival(fact[wording])).collect();
            settle_imported(&store, &guard, Some(&model), arrivals, &import("first")).await.unwrap();
        }
        let active = store.list(&Filter::default(), Order::Id, 99, 0).unwrap();
        assert_eq!(active.len(), 5, "{:#?}", active.iter().map(|one| &one.claim.content).collect::<Vec<_>>());
        let quotes: BTreeSet<String> =
            active.iter().flat_map(|one| store.evidence(&one.id).unwrap()).map(|piece| piece.quote).collect();
        assert_eq!(quotes, FACTS.iter().flatten().map(|&text| text.to_owned()).collect());

        let (asked, changes) = (model.0.get(), store.last_change().unwrap());
        let all: Vec<Arrival> = FACTS.iter().flatten().map(|text| arrival(text)).collect();
        let again = settle_imported(&store, &guard, Some(&model), all, &import("again")).await.unwrap();
        assert!(again.changes.iter().all(|(_, change)| change.decision == Decision::Skip && change.target.is_some()));
        assert_eq!((model.0.get(), store.last_change().unwrap()), (asked, changes));
    }
}
