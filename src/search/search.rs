//! The search itself: what the words and other channels found, with what stands beside it, ranked.

use std::collections::HashMap;

use jiff::Timestamp;

use super::fuse::{Channel, Fit, Weights, spread};
use super::highlight::{Highlight, highlight};
use super::rank::{Parts, Score, relevances, score};
use super::related::related;
use super::when::Asked;
use super::{Found, named, unexpired};
use crate::lifecycle::decay::{Certainty, HalfLives};
use crate::memory::MemoryId;
use crate::store::{Database, Filter, Order, Ranked, Seq, StoreError};

/// How many candidates are ranked for each memory asked for.
const CANDIDATES_PER_RESULT: usize = 4;
/// Fewest candidates that are ranked.
const MIN_CANDIDATES: usize = 100;
/// Candidates whose neighbours in their conversations are looked up, the best first.
const WITH_NEIGHBOURS: usize = 40;
/// Neighbours that count for one memory, the best of them: what was said before it and after it.
const NEIGHBOURS: usize = 2;

/// What is looked for.
#[derive(Debug, Clone)]
pub struct Search<'a> {
    /// Any text.
    pub query: &'a str,
    /// Which memories are meant.
    pub filter: &'a Filter,
    /// Most memories that come back.
    pub limit: usize,
    /// How many of the first are left out.
    pub offset: usize,
    /// The order in which those found come; by their score where there is none.
    pub order: Option<Order>,
    /// What other ways of looking found.
    pub channels: &'a [Channel],
    /// How much each part counts.
    pub weights: Weights,
    /// Whether memories come, too, that no word and no channel found: those that were learnt next to one of the best.
    /// In what was said word for word, the answer often stands there. Not by default, since where memories are facts of
    /// their own, most of these have nothing to do with the query.
    pub with_beside: bool,
    /// Whether the memories that those found are linked to come with them.
    pub with_related: bool,
    /// How fast confidence fades.
    pub half_lives: HalfLives,
    /// The time of asking.
    pub now: Timestamp,
}

impl<'a> Search<'a> {
    /// Returns a search by words for the ten best.
    #[must_use]
    pub fn new(query: &'a str, filter: &'a Filter, now: Timestamp) -> Self {
        Self {
            query,
            filter,
            limit: 10,
            offset: 0,
            order: None,
            channels: &[],
            weights: Weights::default(),
            with_beside: false,
            with_related: false,
            half_lives: HalfLives::default(),
            now,
        }
    }

    /// Returns what is found, best first or in `order`; equally good ones by their last change and then by id.
    /// What is over at `now` is left out.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub fn run(&self, store: &Database) -> Result<Vec<Found>, StoreError> {
        if self.limit == 0 {
            return Ok(Vec::new());
        }
        let filter = unexpired(self.filter, self.now);
        store.at_once(|store| {
            let mut pool = self.pool(store, &filter)?;
            if self.weights.neighbours > 0.0 {
                self.look_beside(store, &filter, &mut pool)?;
            }
            self.shown(store, &filter, self.ranked(pool))
        })
    }

    /// Returns what the words and the channels found.
    fn pool(&self, store: &Database, filter: &Filter) -> Result<Pool, StoreError> {
        let wanted = self.limit.saturating_add(self.offset);
        let most = wanted.saturating_mul(CANDIDATES_PER_RESULT).max(MIN_CANDIDATES);
        let hits = store.word_hits(self.query, filter, most)?;
        let best = hits.iter().map(|(_, score)| *score).fold(0.0, f64::max);
        let words: HashMap<Seq, f64> =
            hits.into_iter().map(|(seq, score)| (seq, if best > 0.0 { score / best } else { 1.0 })).collect();
        let channels: Vec<HashMap<Seq, f64>> = self.channels.iter().map(spread_channel).collect();
        let mut fits: HashMap<Seq, Fit> = HashMap::new();
        for seq in words.keys().chain(channels.iter().flat_map(HashMap::keys)) {
            fits.entry(*seq).or_insert_with(|| Fit {
                words: words.get(seq).copied().unwrap_or_default(),
                channels: (self.channels.iter().zip(&channels))
                    .map(|(channel, scores)| (channel.name.clone(), scores.get(seq).copied().unwrap_or_default()))
                    .collect(),
                ..Fit::default()
            });
        }
        let mut pool = Pool::new(self);
        for memory in store.ranked_rows(&self.foremost(&fits, most), filter)? {
            let fit = fits.remove(&memory.seq).unwrap_or_default();
            pool.add(memory, fit);
        }
        Ok(pool)
    }

    /// Returns at most `most` of what was found, those that fit best by themselves, so that more channels bring others
    /// and not more.
    fn foremost(&self, fits: &HashMap<Seq, Fit>, most: usize) -> Vec<Seq> {
        let mut rows: Vec<(f64, Seq)> = fits.iter().map(|(seq, fit)| (fit.own(&self.weights), *seq)).collect();
        rows.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        rows.truncate(most);
        rows.into_iter().map(|(_, seq)| seq).collect()
    }

    /// Adds to each memory what its neighbours come to, and the neighbours themselves where those are wanted.
    fn look_beside(&self, store: &Database, filter: &Filter, pool: &mut Pool) -> Result<(), StoreError> {
        let own: Vec<f64> = pool.all.iter().map(|(_, fit)| fit.own(&self.weights)).collect();
        let mut best: Vec<usize> = (0..own.len()).filter(|index| own[*index] > 0.0).collect();
        best.sort_by(|a, b| own[*b].total_cmp(&own[*a]).then_with(|| pool.all[*a].0.seq.cmp(&pool.all[*b].0.seq)));
        best.truncate(WITH_NEIGHBOURS);
        let mut given: HashMap<Seq, Vec<f64>> = HashMap::new();
        for index in best {
            for beside in store.beside(&pool.all[index].0)? {
                given.entry(beside).or_default().push(own[index]);
            }
        }
        if self.with_beside {
            let missing: Vec<Seq> = given.keys().copied().filter(|seq| !pool.places.contains_key(seq)).collect();
            for memory in store.ranked_rows(&missing, filter)? {
                pool.add(memory, Fit::default());
            }
        }
        for (seq, mut scores) in given {
            let Some(place) = pool.places.get(&seq) else { continue };
            scores.sort_by(|a, b| b.total_cmp(a));
            pool.all[*place].1.neighbours = scores.into_iter().take(NEIGHBOURS).sum();
        }
        Ok(())
    }

    /// Returns the page that is asked for, each memory with its fit and its score.
    fn ranked(&self, pool: Pool) -> Vec<(Ranked, Fit, Score)> {
        let fits: Vec<(Ranked, Fit)> =
            pool.all.into_iter().map(|(memory, fit)| (memory, fit.summed(&self.weights))).collect();
        let totals: Vec<f64> = fits.iter().map(|(_, fit)| fit.total).collect();
        let mut scored: Vec<(Ranked, Fit, Score)> = fits
            .into_iter()
            .zip(relevances(&totals))
            .map(|((memory, fit), relevance)| {
                let score = score(&parts(&memory, relevance, &self.half_lives, self.now), self.now);
                (memory, fit, score)
            })
            .collect();
        scored.sort_by(|a, b| {
            let by_order = match self.order {
                None => b.2.total.total_cmp(&a.2.total),
                Some(Order::Updated) => std::cmp::Ordering::Equal,
                Some(Order::Created) => b.0.created_at.cmp(&a.0.created_at),
                Some(Order::Importance) => b.0.importance.total_cmp(&a.0.importance),
                Some(Order::Used) => b.0.access_count.cmp(&a.0.access_count),
                Some(Order::Confidence) => b.0.confidence.total_cmp(&a.0.confidence),
                Some(Order::Id) => a.0.id.cmp(&b.0.id),
            };
            let by_change = || b.0.updated_at.cmp(&a.0.updated_at);
            by_order.then_with(by_change).then_with(|| a.0.id.cmp(&b.0.id))
        });
        scored.into_iter().skip(self.offset).take(self.limit).collect()
    }

    fn shown(
        &self,
        store: &Database,
        filter: &Filter,
        chosen: Vec<(Ranked, Fit, Score)>,
    ) -> Result<Vec<Found>, StoreError> {
        let rows: Vec<Seq> = chosen.iter().map(|(memory, _, _)| memory.seq).collect();
        let mut found = Vec::new();
        for (memory, (_, fit, score)) in store.in_rows(&rows)?.into_iter().zip(chosen) {
            let matched = store.words_in(self.query, &memory);
            let highlight = highlight(&memory.claim.content, &matched);
            let quote = if highlight.marks.is_empty() { self.quote(store, &memory.id)? } else { None };
            let related = if self.with_related { related(store, &memory.id, filter)? } else { Vec::new() };
            found.push(Found { memory, score, fit, matched, highlight, quote, related });
        }
        Ok(found)
    }

    /// Returns the first of the words that the memory rests on in which words of the query stand.
    fn quote(&self, store: &Database, id: &MemoryId) -> Result<Option<Highlight>, StoreError> {
        let words = store.words_of(self.query);
        let quotes = store.evidence(id)?.into_iter().map(|piece| highlight(&piece.quote, &words));
        Ok(quotes.into_iter().find(|quote| !quote.marks.is_empty()))
    }
}

/// The memories that are ranked.
struct Pool {
    all: Vec<(Ranked, Fit)>,
    places: HashMap<Seq, usize>,
    asked: Asked,
    query: String,
}

impl Pool {
    fn new(search: &Search<'_>) -> Self {
        let asked = if search.weights.date > 0.0 { Asked::of(search.query, search.now) } else { Asked::default() };
        Self { all: Vec::new(), places: HashMap::new(), asked, query: search.query.to_lowercase() }
    }

    fn add(&mut self, memory: Ranked, fit: Fit) {
        let is_named =
            memory.said.iter().filter_map(|said| said.speaker.as_deref()).any(|name| named(&self.query, name));
        let date = if self.asked.is_open() { self.asked.fit(&memory.content, &times(&memory)) } else { 0.0 };
        self.places.insert(memory.seq, self.all.len());
        self.all.push((memory, Fit { speaker: f64::from(u8::from(is_named)), date, ..fit }));
    }
}

fn times(memory: &Ranked) -> Vec<Timestamp> {
    let said = memory.said.iter().filter_map(|said| said.at);
    let held = [memory.valid_from, memory.valid_to].into_iter().flatten();
    let times: Vec<Timestamp> = said.chain(held).collect();
    if times.is_empty() { vec![memory.created_at] } else { times }
}

fn parts(memory: &Ranked, relevance: f64, half_lives: &HalfLives, now: Timestamp) -> Parts {
    let certainty = Certainty {
        confidence: memory.confidence,
        memory_type: memory.memory_type,
        pinned: memory.pinned,
        access_count: memory.access_count,
        last_sure: memory.updated_at.max(memory.last_accessed_at.max(memory.confirmed_at).unwrap_or(memory.updated_at)),
    };
    Parts {
        relevance,
        importance: memory.importance,
        confidence: certainty.at(half_lives, now),
        updated_at: memory.updated_at,
        access_count: memory.access_count,
    }
}

fn spread_channel(channel: &Channel) -> HashMap<Seq, f64> {
    let scores: Vec<f64> = channel.scores.iter().map(|(_, score)| *score).collect();
    channel.scores.iter().map(|(row, _)| *row).zip(spread(&scores)).collect()
}
