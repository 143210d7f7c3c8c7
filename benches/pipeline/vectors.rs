//! Speed of searches by meaning, and how many of the nearest memories they find.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use afterthought::guard::Guard;
use afterthought::memory::{Claim, ExtractionMethod, Memory, MemoryId, MemoryType, Namespace};
use afterthought::search::{Channel, Search, by_vectors};
use afterthought::store::{Filter, NewVector, Store, StoreError, VectorModel};
use jiff::Timestamp;

use super::generate::prose;
use super::random::Random;
use super::report::{Goal, Report, Row, best_of, figure, ms};
use super::search::timed;

/// Total number of memories, and number of those in the namespace that is also searched separately.
const MEMORIES: usize = 100_000;
const IN_ONE: usize = 10_000;
/// The dimension of the vectors of all-MiniLM-L6-v2.
const DIMENSION: usize = 384;
/// Number of groups of similar vectors, which resemble topics, and of smaller groups within each.
const TOPICS: usize = 300;
const MATTERS: usize = 40;
/// Number of questions, each of which is near one of the memories.
const QUERIES: usize = 100;
/// Number of memories to search for.
const FIRST: usize = 10;
/// Number of memories that a search considers.
const MANY: usize = 200;

/// Measures a store of 100,000 memories with vectors.
pub fn measure(report: &mut Report) {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path().join("memories.db")).unwrap();
    let model = VectorModel { name: "bench".into(), dimension: DIMENSION };
    let mut random = Random::new(9);
    let drawn = Drawn::new(&mut random);
    write_memories(&store, &mut random);
    let begun = Instant::now();
    let vectors = write_vectors(&store, &model, &drawn, &mut random);
    let speed = figure(MEMORIES) / begun.elapsed().as_secs_f64();
    report.add(Row::new("vectors stored, with their memories read", speed, "a second"));

    let queries: Vec<Vec<f32>> = (0..QUERIES)
        .map(|number| {
            let near = &vectors[number * MEMORIES / QUERIES].1;
            mixed(near, 0.8, &mut random)
        })
        .collect();
    let everywhere = Filter::default();
    let one = Filter::exactly(&[place(0)]);
    for (name, filter, count) in [("100,000 memories", &everywhere, MEMORIES), ("10,000 of them", &one, IN_ONE)] {
        let exact: Vec<(Vec<usize>, Duration)> =
            queries.iter().map(|query| exact(&vectors[..count], query, FIRST)).collect();
        let found: Vec<(Vec<MemoryId>, Duration)> = queries
            .iter()
            .map(|query| {
                let begun = Instant::now();
                let near = store.nearest(&model, query, filter, FIRST).unwrap();
                (near.into_iter().map(|near| near.id).collect(), begun.elapsed())
            })
            .collect();
        let hits = exact
            .iter()
            .zip(&found)
            .map(|((places, _), (found, _))| places.iter().filter(|place| found.contains(&vectors[**place].0)).count());
        let share = figure(hits.sum()) / figure(QUERIES * FIRST);
        report.add(
            Row::new(format!("{name}: share of the 10 nearest that is found"), share, "").goal(Goal::AtLeast(0.95)),
        );
        report.add(Row::new(
            format!("{name}: share of the 200 nearest that is found"),
            of_many(&store, &model, &vectors[..count], &queries, filter),
            "",
        ));
        let (mut own, mut bare): (Vec<_>, Vec<_>) =
            (found.iter().map(|one| one.1).collect(), exact.iter().map(|one| one.1).collect());
        // The first search loads the vectors; later searches find them in memory.
        report.add(Row::new(format!("{name}: the first search"), ms(own.remove(0)), "ms"));
        let beside = p95(&mut bare);
        report.add(
            Row::new(format!("{name}: a search, p95"), p95(&mut own), "ms")
                .beside("all vectors in memory, one after another", beside),
        );
        hybrid(report, name, &store, (&model, &queries), filter);
    }
}

/// Measures searches by words, alternating with searches by words and meaning.
fn hybrid(
    report: &mut Report,
    name: &str,
    store: &Store,
    (model, queries): (&VectorModel, &[Vec<f32>]),
    filter: &Filter,
) {
    let mut random = Random::new(11);
    let now = Timestamp::now();
    let asked: Vec<String> = queries.iter().map(|_| prose(&mut random, 6)).collect();
    let clocked = |search: &dyn Fn(&str, &[f32])| {
        let each = || {
            let pairs = asked.iter().zip(queries);
            pairs.map(|(asked, query)| best_of(1, || (), |()| search(asked, query))).collect::<Vec<_>>()
        };
        let (mut each, all) = timed(each);
        (p95(&mut each), ms(all) / figure(queries.len()))
    };
    let words = |asked: &str, channels: &[Channel]| {
        Search { limit: FIRST, channels, with_beside: true, ..Search::new(asked, filter, now) }.run(store).unwrap();
    };
    let (alone, alone_on_processor) = clocked(&|asked, _| words(asked, &[]));
    let (both, on_processor) =
        clocked(&|asked, query| words(asked, &[by_vectors(store, (model, query), filter, FIRST, now).unwrap()]));
    report.add(
        Row::new(format!("{name}: words and meaning, p95"), both, "ms")
            .goal(Goal::AtMost(2.0 * alone))
            .beside("words alone", alone),
    );
    report.add(
        Row::new(format!("{name}: words and meaning, average processor time"), on_processor, "ms")
            .goal(Goal::AtMost(2.0 * alone_on_processor))
            .beside("words alone", alone_on_processor),
    );
}

fn p95(times: &mut [Duration]) -> f64 {
    times.sort();
    ms(times[times.len() * 95 / 100])
}

fn place(number: usize) -> Namespace {
    format!("project/p{}", number / IN_ONE).parse().unwrap()
}

fn write_memories(store: &Store, random: &mut Random) {
    let (guard, now) = (Guard::default(), Timestamp::now());
    let memory = |number| {
        let claim = Claim::new(MemoryType::Semantic, "fact", format!("Memory {number}"), prose(random, 15));
        Memory::new(claim, place(number), "bench", ExtractionMethod::Auto, now)
    };
    let memories: Vec<Memory> = (0..MEMORIES).map(memory).collect();
    let new = |memory: &Memory| (guard.redact(memory.clone()).0, guard.redact(Vec::new()).0);
    store.write::<_, StoreError>(None, now, |writer| writer.insert_all(&memories, new)).unwrap();
}

/// Returns the memories in the order in which they were written, each with its vector.
fn write_vectors(store: &Store, model: &VectorModel, drawn: &Drawn, random: &mut Random) -> Vec<(MemoryId, Vec<f32>)> {
    let mut last = None;
    let mut written = Vec::new();
    loop {
        let waiting = store.without_vector(model, last.as_ref(), 1_000).unwrap();
        let Some(end) = waiting.last() else { break };
        let vectors: Vec<Vec<f32>> = waiting.iter().map(|_| drawn.near_a_matter(random)).collect();
        let new: Vec<NewVector<'_>> =
            waiting.iter().zip(&vectors).map(|(of, vector)| NewVector { of, vector }).collect();
        store.write::<_, StoreError>(None, Timestamp::now(), |writer| writer.put_vectors(model, &new)).unwrap();
        last = Some(end.clone());
        written.extend(waiting.into_iter().map(|one| one.id).zip(vectors));
    }
    written.reverse();
    written
}

/// Vectors at the centres of the small groups.
struct Drawn {
    matters: Vec<Vec<f32>>,
}

impl Drawn {
    fn new(random: &mut Random) -> Self {
        let topics: Vec<Vec<f32>> = (0..TOPICS).map(|_| direction(random)).collect();
        let matters = (0..TOPICS * MATTERS).map(|number| mixed(&topics[number / MATTERS], 0.55, random)).collect();
        Self { matters }
    }

    fn near_a_matter(&self, random: &mut Random) -> Vec<f32> {
        let matter = random.below(self.matters.len());
        mixed(&self.matters[matter], 0.75, random)
    }
}

/// Returns a vector of length 1 whose cosine with `near` is about `cosine`.
fn mixed(near: &[f32], cosine: f32, random: &mut Random) -> Vec<f32> {
    let rest = (1.0 - cosine * cosine).sqrt();
    let vector: Vec<f32> =
        near.iter().zip(direction(random)).map(|(near, noise)| cosine * near + rest * noise).collect();
    unit(&vector)
}

/// Returns a vector of length 1 in a random direction.
fn direction(random: &mut Random) -> Vec<f32> {
    // The sum of four uniform numbers is close enough to a normal one.
    let mut even = || f32::from(u16::try_from(random.below(65_536)).unwrap()) / 65_536.0 - 0.5;
    let drawn: Vec<f32> = (0..DIMENSION).map(|_| even() + even() + even() + even()).collect();
    unit(&drawn)
}

fn unit(vector: &[f32]) -> Vec<f32> {
    let length = vector.iter().map(|number| number * number).sum::<f32>().sqrt();
    vector.iter().map(|number| number / length).collect()
}

/// Returns the share of the [`MANY`] nearest memories that a search finds.
fn of_many(
    store: &Store,
    model: &VectorModel,
    vectors: &[(MemoryId, Vec<f32>)],
    queries: &[Vec<f32>],
    filter: &Filter,
) -> f64 {
    let found = queries.iter().map(|query| {
        let near = store.nearest(model, query, filter, MANY).unwrap();
        let near: HashSet<&MemoryId> = near.iter().map(|near| &near.id).collect();
        exact(vectors, query, MANY).0.iter().filter(|place| near.contains(&vectors[**place].0)).count()
    });
    figure(found.sum()) / figure(queries.len() * MANY)
}

/// Returns the positions of the nearest vectors, found by comparison with all vectors, and the time that this took.
fn exact(vectors: &[(MemoryId, Vec<f32>)], query: &[f32], first: usize) -> (Vec<usize>, Duration) {
    let begun = Instant::now();
    let mut scored: Vec<(f32, usize)> = vectors
        .iter()
        .enumerate()
        .map(|(place, (_, vector))| (vector.iter().zip(query).map(|(a, b)| a * b).sum(), place))
        .collect();
    scored.select_nth_unstable_by(first, |a, b| b.0.total_cmp(&a.0));
    scored.truncate(first);
    (scored.into_iter().map(|(_, place)| place).collect(), begun.elapsed())
}
