//! Search: candidates from all channels, ranked by one score, each with an excerpt that shows why it was found.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use jiff::Timestamp;
use serde::Serialize;

use super::rank::{Channel, Parts, QueryFit, Score, Weights, relevances, score, spread};
use super::vectors::{by_meaning, standing_out};
use super::when::Asked;
use super::{Found, named, unexpired};
use crate::embed::{EmbedError, QueryVectors};
use crate::lifecycle::decay::{Certainty, HalfLives};
use crate::memory::{Evidence, Memory, MemoryId, RelationType};
use crate::store::{Database, Filter, Neighbour, Order, Ranked, Seq, StoreError, WordHit};
use crate::text::tokens::word_parts;

/// Number of candidates that are ranked for each requested memory.
// More candidates than results are ranked, because importance, recency and neighbours can lift a memory above a better
// match.
const CANDIDATES_PER_RESULT: usize = 4;
/// Minimum number of candidates that are ranked.
const MIN_CANDIDATES: usize = 100;
/// Number of candidates, best first, whose neighbours in their conversations are looked up.
// Each candidate requires a lookup in its conversations, and candidates further down contribute little to the scores.
const WITH_NEIGHBOURS: usize = 40;
/// The same number if neighbours that nothing else found are added.
const WITH_ADDED_NEIGHBOURS: usize = 100;
/// Number of neighbours, best first, that count for one memory, usually the memories immediately before and after it.
const NEIGHBOURS: usize = 2;
/// Share of the score of a memory two places away, relative to that of a memory immediately before or after.
// The share and the next constant were chosen on the LoCoMo conversations `conv-26` and `conv-30`.
const TWO_PLACES_AWAY: f64 = 0.5;
/// Number of times that the score of a question counts for its reply.
const REPLY: f64 = 2.0;
/// Number of other results from a memory's conversation, best first, whose scores count for the memory.
const FROM_CONVERSATION: usize = 2;

/// The query and the options of a search.
#[derive(Debug, Clone)]
pub struct Search<'a> {
    /// The query, which may be any text.
    pub query: &'a str,
    /// The filter that restricts the memories that are searched.
    pub filter: &'a Filter,
    /// Maximum number of memories returned.
    pub limit: usize,
    /// Number of results to skip.
    pub offset: usize,
    /// The order of the results; `None` orders by score.
    pub order: Option<Order>,
    /// The results of other search methods.
    pub channels: &'a [Channel],
    /// The weight of each component.
    pub weights: Weights,
    /// Whether the neighbours of the best memories are added even if no word and no channel found them. In verbatim
    /// conversations, a neighbour often contains the answer. The default is off, because neighbours of independent
    /// facts are mostly unrelated to the query.
    pub with_beside: bool,
    /// Whether memories that are linked to the results are included.
    pub with_related: bool,
    /// The speed at which confidence fades.
    pub half_lives: HalfLives,
    /// The time of the search.
    pub now: Timestamp,
}

impl<'a> Search<'a> {
    /// Returns a search by words for the ten best memories.
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

    /// Returns the memories found, best first or in `order`. Equally good memories are sorted by their last change and
    /// then by id. Memories that have expired at `now` are left out.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub fn run(&self, store: &Database) -> Result<Vec<Found>, StoreError> {
        if self.limit == 0 {
            return Ok(Vec::new());
        }
        let filter = unexpired(self.filter, self.now);
        // All reads see the same state of the file, because row numbers must refer to the same memories throughout the
        // search.
        store.at_once(|store| {
            let mut pool = self.pool(store, &filter)?;
            if self.weights.neighbours > 0.0 {
                self.look_beside(store, &filter, &mut pool)?;
            }
            if self.weights.conversation > 0.0 {
                self.add_conversations(&mut pool);
            }
            self.shown(store, &filter, self.ranked(pool))
        })
    }

    /// Returns the candidates that the words and the channels found.
    fn pool(&self, store: &Database, filter: &Filter) -> Result<Pool, StoreError> {
        let wanted = self.limit.saturating_add(self.offset);
        let most = wanted.saturating_mul(CANDIDATES_PER_RESULT).max(MIN_CANDIDATES);
        let mut hits = store.word_hits(self.query, filter, most)?;
        // Titles are not in the index, because each would be repeated in every memory of its conversation.
        if hits.is_empty() && self.channels.is_empty() {
            let titled = store.hits_by_title(self.query, filter, most)?.into_iter();
            hits = titled.map(|seq| WordHit::without_words(seq, 0.0)).collect();
        }
        // BM25 has no upper bound and depends on the corpus, but a score relative to the best hit can be combined with
        // channels.
        let best = hits.iter().map(|hit| hit.score).fold(0.0, f64::max);
        // A literal hit without words scores 0. If all hits are literal, they are equally good.
        let share = |score: f64| if best > 0.0 { score / best } else { 1.0 };
        let words: HashMap<Seq, f64> = hits.iter().map(|hit| (hit.seq, share(hit.score))).collect();
        let mut gains: HashMap<Seq, Vec<f64>> = hits
            .into_iter()
            .map(|hit| (hit.seq, hit.gains.into_iter().map(|gain| share(f64::from(gain))).collect()))
            .collect();
        let channels: Vec<HashMap<Seq, f64>> = self.channels.iter().map(spread_channel).collect();
        let mut fits: HashMap<Seq, QueryFit> = HashMap::new();
        for seq in words.keys().chain(channels.iter().flat_map(HashMap::keys)) {
            fits.entry(*seq).or_insert_with(|| QueryFit {
                words: words.get(seq).copied().unwrap_or_default(),
                channels: (self.channels.iter().zip(&channels))
                    .map(|(channel, scores)| (channel.name.clone(), scores.get(seq).copied().unwrap_or_default()))
                    .collect(),
                ..QueryFit::default()
            });
        }
        let mut pool = Pool::new(self);
        // The results are filtered again, because a channel may return memories that the filter excludes.
        for memory in store.ranked_rows(&self.foremost(&fits, most), filter)? {
            let fit = fits.remove(&memory.seq).unwrap_or_default();
            let gains = gains.remove(&memory.seq).unwrap_or_default();
            pool.add(memory, fit, gains);
        }
        Ok(pool)
    }

    /// Returns at most `most` of the candidates that match best on their own. Additional channels thus change the
    /// selection but not its size.
    fn foremost(&self, fits: &HashMap<Seq, QueryFit>, most: usize) -> Vec<Seq> {
        let mut rows: Vec<(f64, Seq)> = fits.iter().map(|(seq, fit)| (fit.own(&self.weights), *seq)).collect();
        rows.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        rows.truncate(most);
        rows.into_iter().map(|(_, seq)| seq).collect()
    }

    /// Adds the scores of neighbours to each memory's score, and adds the neighbours themselves if requested. The reply to
    /// a question takes over the score of the question, which is rarely an answer itself.
    fn look_beside(&self, store: &Database, filter: &Filter, pool: &mut Pool) -> Result<(), StoreError> {
        // The scores are computed before neighbours are counted, so that a score is passed on only once, not through a
        // chain of messages.
        let own = pool.own(&self.weights);
        let mut best: Vec<usize> = (0..own.len()).filter(|index| own[*index] > 0.0).collect();
        best.sort_by(|a, b| own[*b].total_cmp(&own[*a]).then_with(|| pool.all[*a].0.seq.cmp(&pool.all[*b].0.seq)));
        best.truncate(if self.with_beside { WITH_ADDED_NEIGHBOURS } else { WITH_NEIGHBOURS });
        let mut besides: HashMap<Seq, Vec<usize>> = HashMap::new();
        let mut given: HashMap<Seq, Vec<f64>> = HashMap::new();
        let mut replies: Vec<(usize, Seq)> = Vec::new();
        for index in best {
            let is_question = ends_with_question(&pool.all[index].0.content);
            for Neighbour { seq, is_reply } in store.beside(&pool.all[index].0)? {
                let is_answer = is_question && is_reply;
                replies.extend(is_answer.then_some((index, seq)));
                besides.entry(seq).or_default().push(index);
                given.entry(seq).or_default().push(own[index] * if is_answer { REPLY } else { 1.0 });
            }
        }
        for around in besides.into_values() {
            // Two memories on both sides of a third are two places apart, which requires no further lookup.
            for (index, other) in around.iter().flat_map(|one| around.iter().map(move |other| (*one, *other))) {
                if index != other {
                    given.entry(pool.all[index].0.seq).or_default().push(TWO_PLACES_AWAY * own[other]);
                }
            }
        }
        if self.with_beside {
            let missing: Vec<Seq> = given.keys().copied().filter(|seq| !pool.places.contains_key(seq)).collect();
            // Neighbours are also filtered, because a neighbour in the conversation may belong to another namespace.
            for memory in store.ranked_rows(&missing, filter)? {
                pool.add(memory, QueryFit::default(), Vec::new());
            }
        }
        for (seq, mut scores) in given {
            // A neighbour that was not found, or that the filter excludes, is not a result and gets no score.
            let Some(place) = pool.places.get(&seq) else { continue };
            scores.sort_by(|a, b| b.total_cmp(a));
            // At most two neighbours count, so that a memory within a long discussion is not favoured by its many
            // neighbours.
            pool.all[*place].1.neighbours = scores.into_iter().take(NEIGHBOURS).sum();
        }
        // A memory in several conversations may have several replies, but loses its score only once.
        replies.retain(|(_, reply)| pool.places.contains_key(reply));
        replies.dedup_by_key(|(question, _)| *question);
        for (question, _) in replies {
            pool.all[question].1.neighbours -= own[question];
        }
        Ok(())
    }

    /// Adds to each memory what the other results from the same conversation contribute: the scores of the best of them,
    /// and the words of the query that only they contain. A conversation with several results, which together contain
    /// the words of the query, is probably about its subject.
    fn add_conversations(&self, pool: &mut Pool) {
        let own = pool.own(&self.weights);
        let mut results: HashMap<&str, Vec<usize>> = HashMap::new();
        for (index, (memory, _)) in pool.all.iter().enumerate().filter(|(index, _)| own[*index] > 0.0) {
            for transcript in memory.said.iter().map(|said| said.transcript.as_str()) {
                let results = results.entry(transcript).or_default();
                if results.last() != Some(&index) {
                    results.push(index);
                }
            }
        }
        for results in results.values_mut() {
            results.sort_by(|a, b| own[*b].total_cmp(&own[*a]));
        }
        // The gains of words are relative to the best score of the words, which is only a part of `own` if there are
        // channels.
        let share = pool.all.first().map_or(1.0, |(_, fit)| fit.share_of_words(&self.weights));
        let gains: HashMap<&str, Vec<f64>> =
            results.iter().map(|(transcript, results)| (*transcript, pool.best_gains(results))).collect();
        let all = count(own.iter().filter(|own| **own > 0.0).count());
        let score = |index: usize, transcript: &str| {
            let results = results.get(transcript)?;
            let others = results.iter().filter(|other| **other != index).take(FROM_CONVERSATION);
            let mean = others.map(|other| own[*other]).sum::<f64>() / count(FROM_CONVERSATION);
            let mut gained = pool.gains[index].iter().copied().chain(std::iter::repeat(0.0));
            let lacking = |best: &f64| (best - gained.next().unwrap_or_default()).max(0.0);
            let lacking = share * gains.get(transcript)?.iter().map(lacking).sum::<f64>();
            // Results from a conversation from which most results come, such as a large import, have little in common.
            Some(f64::midpoint(mean, lacking) * (1.0 - count(results.len()) / all))
        };
        let scores: Vec<f64> = (pool.all.iter().enumerate())
            .map(|(index, (memory, _))| {
                let scores = memory.said.iter().filter_map(|said| score(index, &said.transcript));
                scores.fold(0.0, f64::max)
            })
            .collect();
        for ((_, fit), score) in pool.all.iter_mut().zip(scores) {
            fit.conversation = score;
        }
    }

    /// Returns the requested page, with the fit and the score of each memory.
    fn ranked(&self, pool: Pool) -> Vec<(Ranked, QueryFit, Score)> {
        let fits: Vec<(Ranked, QueryFit)> =
            pool.all.into_iter().map(|(memory, fit)| (memory, fit.summed(&self.weights))).collect();
        let totals: Vec<f64> = fits.iter().map(|(_, fit)| fit.total).collect();
        let mut scored: Vec<(Ranked, QueryFit, Score)> = fits
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
                Some(Order::Confidence) => b.2.confidence.total_cmp(&a.2.confidence),
                Some(Order::Id) => a.0.id.cmp(&b.0.id),
            };
            let by_change = || b.0.updated_at.cmp(&a.0.updated_at);
            // The ID comes last, so that equal hits keep their order, and pages neither overlap nor leave gaps.
            by_order.then_with(by_change).then_with(|| a.0.id.cmp(&b.0.id))
        });
        scored.into_iter().skip(self.offset).take(self.limit).collect()
    }

    fn shown(
        &self,
        store: &Database,
        filter: &Filter,
        chosen: Vec<(Ranked, QueryFit, Score)>,
    ) -> Result<Vec<Found>, StoreError> {
        let rows: Vec<Seq> = chosen.iter().map(|(memory, _, _)| memory.seq).collect();
        let mut found = Vec::new();
        // `in_rows` leaves out missing rows, but no row can be missing, because all rows were read in the same
        // transaction.
        let memories = store.in_rows(&rows)?;
        let said = store.last_said(memories.iter().map(|memory| &memory.id))?;
        for (memory, (_, fit, score)) in memories.into_iter().zip(chosen) {
            let matched = Database::words_in(self.query, &memory);
            let highlight = highlight(&memory.claim.content, &forms(&matched, &memory.claim.content));
            // Evidence is read only if the content contains no word of the query, because only such a hit needs a
            // further explanation.
            let quote = if highlight.marks.is_empty() { self.quote(store, &memory.id)? } else { None };
            let match_share = match_share(Some(store), self.query, &memory, &matched)?;
            let related = if self.with_related { related(store, &memory.id, filter)? } else { Vec::new() };
            let said = said.get(&memory.id);
            found.push(Found {
                memory,
                score,
                fit,
                matched,
                match_share,
                highlight,
                quote,
                related,
                said_at: said.map(|time| time.at),
                said_source: said.map(|time| time.source),
                freshness: Vec::new(),
            });
        }
        Ok(found)
    }

    /// Returns the first quote of the memory in which words of the query occur.
    fn quote(&self, store: &Database, id: &MemoryId) -> Result<Option<Highlight>, StoreError> {
        let words = Database::words_of(self.query);
        let marked = |piece: Evidence| highlight(&piece.quote, &forms(&words, &piece.quote));
        let quotes = store.evidence(id)?.into_iter().map(marked);
        Ok(quotes.into_iter().find(|quote| !quote.marks.is_empty()))
    }
}

/// Returns the share of the words of `query` that occur in a memory or in its evidence, between 0 and 1; `matched` are
/// the words that occur in the memory itself. In text without spaces, each pair of characters counts as a word.
///
/// # Errors
/// [`StoreError`] if the file cannot be read.
pub(crate) fn match_share(
    store: Option<&Database>,
    query: &str,
    memory: &Memory,
    matched: &[String],
) -> Result<f64, StoreError> {
    let (whole, others): (Vec<String>, Vec<String>) =
        Database::words_of(query).into_iter().partition(|word| matched.contains(word));
    let parts_of = |words: &[String]| words.iter().flat_map(|word| word_parts(word)).collect::<Vec<_>>();
    let (mut lacking, all) = (parts_of(&others), parts_of(&whole).len());
    let all = all + lacking.len();
    let leave_out = |text: &str, lacking: &mut Vec<String>| {
        let mut forms = Database::forms_in(lacking, text).into_iter();
        lacking.retain(|_| forms.next().is_none_or(|forms| forms.is_empty()));
    };
    // A whole word that does not occur in the memory cannot have parts that do, unless it was divided.
    if lacking.len() > others.len() {
        leave_out(&Database::own_text(&memory.claim), &mut lacking);
    }
    if let Some(store) = store.filter(|_| !lacking.is_empty()) {
        let quotes: Vec<String> = store.evidence(&memory.id)?.into_iter().map(|piece| piece.quote).collect();
        leave_out(&quotes.join("\n"), &mut lacking);
    }
    Ok(if all == 0 { 0.0 } else { 1.0 - count(lacking.len()) / count(all) })
}

fn count(of: usize) -> f64 {
    u32::try_from(of).map_or(f64::MAX, f64::from)
}

/// The memories that are ranked.
struct Pool {
    all: Vec<(Ranked, QueryFit)>,
    /// For each memory, the share of each word of the query in its score, relative to the best score. Empty if no word
    /// found the memory.
    gains: Vec<Vec<f64>>,
    places: HashMap<Seq, usize>,
    asked: Asked,
    query: String,
}

impl Pool {
    fn new(search: &Search<'_>) -> Self {
        let asked = if search.weights.date > 0.0 { Asked::of(search.query, search.now) } else { Asked::default() };
        Self { all: Vec::new(), gains: Vec::new(), places: HashMap::new(), asked, query: search.query.to_lowercase() }
    }

    fn add(&mut self, memory: Ranked, fit: QueryFit, gains: Vec<f64>) {
        let is_named =
            memory.said.iter().filter_map(|said| said.speaker.as_deref()).any(|name| named(&self.query, name));
        let date = if self.asked.is_open() { self.asked.fit(&memory.content, &times(&memory)) } else { 0.0 };
        self.places.insert(memory.seq, self.all.len());
        self.gains.push(gains);
        self.all.push((memory, QueryFit { speaker: f64::from(u8::from(is_named)), date, ..fit }));
    }
}

impl Pool {
    /// Returns the score of each memory without its surroundings.
    fn own(&self, weights: &Weights) -> Vec<f64> {
        self.all.iter().map(|(_, fit)| fit.own(weights)).collect()
    }

    /// Returns the best gain of each word among these memories.
    fn best_gains(&self, indices: &[usize]) -> Vec<f64> {
        let mut best: Vec<f64> = Vec::new();
        for gains in indices.iter().map(|index| &self.gains[*index]) {
            best.resize(best.len().max(gains.len()), 0.0);
            best.iter_mut().zip(gains).for_each(|(best, gain)| *best = best.max(*gain));
        }
        best
    }
}

/// Returns whether the last sentence with an end mark is a question.
fn ends_with_question(text: &str) -> bool {
    let end = text.rfind(['.', '!', '?', '…', '。', '！', '？', '؟']);
    end.is_some_and(|at| text[at..].starts_with(['?', '？', '؟']))
}

fn times(memory: &Ranked) -> Vec<Timestamp> {
    let said = memory.said.iter().filter_map(|said| said.at);
    let held = [memory.valid_from, memory.valid_to].into_iter().flatten();
    let times: Vec<Timestamp> = said.chain(held).collect();
    // The time of learning is used only if no better time is known, because an old log may have been imported only
    // recently.
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

/// The result of [`direct`].
#[derive(Debug, Default)]
pub(crate) struct Direct {
    /// The memories, best first.
    pub found: Vec<Found>,
    /// Memories that are much closer in meaning to the query than the others.
    pub stand_out: HashSet<MemoryId>,
    /// The reason why vectors were not used, if they are configured but were not used.
    pub without_meaning: Option<EmbedError>,
}

/// Returns at most `limit` memories that pass `filter` and match `query` by words or, if there are `vectors`, by
/// meaning. The best memory comes first. Only words are used if the vector of the query is not available in time.
///
/// # Errors
/// [`StoreError`] if the file cannot be read.
pub(crate) fn direct(
    store: &Database,
    query: &str,
    filter: &Filter,
    limit: usize,
    vectors: Option<&QueryVectors>,
    now: Timestamp,
) -> Result<Direct, StoreError> {
    direct_with(store, (query, Weights::default()), filter, limit, vectors, now)
}

/// Returns memories as [`direct`] does, with different weights for words and vectors.
///
/// # Errors
/// [`StoreError`] if the file cannot be read.
pub(crate) fn direct_with(
    store: &Database,
    (query, weights): (&str, Weights),
    filter: &Filter,
    limit: usize,
    vectors: Option<&QueryVectors>,
    now: Timestamp,
) -> Result<Direct, StoreError> {
    let vectors = vectors.filter(|_| weights.channels > 0.0);
    let (channel, without_meaning) = match vectors.map(|by| by_meaning(by, store, query, filter, limit, now)) {
        None => (None, None),
        Some(Ok(channel)) => (channel, None),
        // If the store cannot be read, the word search would fail, too. After any other failure, the search continues
        // without vectors.
        Some(Err(EmbedError::Store(error))) => return Err(error),
        Some(Err(error)) => (None, Some(error)),
    };
    let near = channel.as_ref().map(|channel| standing_out(&channel.scores)).unwrap_or_default();
    let stand_out = store.in_rows(&near)?.into_iter().map(|memory| memory.id).collect();
    let channels: Vec<_> = channel.into_iter().collect();
    let search = Search { limit, channels: &channels, weights, ..Search::new(query, filter, now) };
    let mut found = search.run(store)?;
    // One memory is always the nearest in meaning, even if it is not relevant.
    found.retain(|hit| hit.fit.own(&weights) > 0.0);
    Ok(Direct { found, stand_out, without_meaning })
}

/// A memory that another memory is linked to.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Related {
    /// The type of the link.
    pub relation: RelationType,
    /// Whether the link leads from the memory found to the linked memory, rather than in the reverse direction.
    pub outward: bool,
    /// The reason for the link, in a few words.
    pub reason: Option<String>,
    /// The linked memory.
    pub memory: Memory,
}

/// Returns the memories that pass `filter` and are linked with `id`. The targets of its outgoing links come first, and
/// both groups are sorted by time.
fn related(store: &Database, id: &MemoryId, filter: &Filter) -> Result<Vec<Related>, StoreError> {
    let links = store.relations(id)?;
    let others: Vec<&MemoryId> =
        links.iter().map(|link| if link.from == *id { &link.to } else { &link.from }).collect();
    let rows = store.rows_of(&others)?;
    let passed = store.ranked_rows(&rows.values().copied().collect::<Vec<_>>(), filter)?;
    let mut related = Vec::new();
    for (link, other) in links.iter().zip(&others) {
        let Some(found) = passed.iter().find(|memory| memory.id == **other) else { continue };
        related.extend(store.in_rows(&[found.seq])?.into_iter().map(|memory| Related {
            relation: link.relation_type,
            outward: link.from == *id,
            reason: link.reason.clone(),
            memory,
        }));
    }
    Ok(related)
}

/// Maximum length of an excerpt, in characters.
const MAX_CHARS: usize = 200;
/// Number of characters shown before the first matching word.
const LEAD_CHARS: usize = 40;

/// An excerpt, and the positions of words of the query in it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Highlight {
    /// At most 200 characters of the memory's content, with `…` where text is cut.
    pub text: String,
    /// Ranges of bytes in `text`, ascending and not overlapping.
    pub marks: Vec<Range<usize>>,
}

/// Returns the part of `content` around the first of `words`, with all occurrences of `words` marked. The words are in
/// lower case.
pub(crate) fn highlight(content: &str, words: &[String]) -> Highlight {
    let first = content.char_indices().map(|(at, _)| at).find(|at| longest_at(&content[*at..], words).is_some());
    let text = excerpt(content, first.unwrap_or(0));
    let mut marks: Vec<Range<usize>> = Vec::new();
    for (at, _) in text.char_indices() {
        let free = marks.last().is_none_or(|mark| mark.end <= at);
        if let Some(len) = longest_at(&text[at..], words).filter(|_| free) {
            marks.push(at..at + len);
        }
    }
    Highlight { text, marks }
}

/// Returns every form in which any of `words` appears in `text`.
pub(super) fn forms(words: &[String], text: &str) -> Vec<String> {
    Database::forms_in(words, text).into_iter().flatten().collect()
}

fn excerpt(content: &str, first: usize) -> String {
    let lead = content[..first].char_indices().rev().nth(LEAD_CHARS - 1).map_or(0, |(at, _)| at);
    let whole = content.chars().nth(MAX_CHARS).is_none();
    let start = if whole { 0 } else { lead };
    // Two characters are reserved for the ellipses.
    let end = content[start..].char_indices().nth(MAX_CHARS - 2).map_or(content.len(), |(at, _)| start + at);
    let (before, after) = (if start > 0 { "…" } else { "" }, if !whole && end < content.len() { "…" } else { "" });
    let end = if whole { content.len() } else { end };
    format!("{before}{}{after}", &content[start..end])
}

/// Returns the length in bytes of the longest word with which `text` begins.
fn longest_at(text: &str, words: &[String]) -> Option<usize> {
    words.iter().filter_map(|word| prefix_len(text, word)).max()
}

fn prefix_len(text: &str, word: &str) -> Option<usize> {
    let mut wanted = word.chars().peekable();
    let mut len = 0;
    for character in text.chars() {
        if wanted.peek().is_none() {
            break;
        }
        // One character may fold to several (`İ`), so the folded characters are consumed one by one.
        if !character.to_lowercase().all(|lower| wanted.next() == Some(lower)) {
            return None;
        }
        len += character.len_utf8();
    }
    (wanted.peek().is_none() && len > 0).then_some(len)
}

#[cfg(test)]
mod direct_tests {
    use super::*;
    use crate::memory::Evidence;
    use crate::store::Store;
    use crate::store::testing::{clean, day, memory, quote, write};

    #[test]
    fn what_was_only_said_beside_a_hit_is_left_out() {
        let store = Store::in_memory().unwrap();
        for (place, content) in
            ["The user drinks tea.", "The office moves in May.", "Tea comes from Assam."].iter().enumerate()
        {
            let evidence = Evidence { messages: vec![format!("m{place}")], ..quote(content) };
            write(&store, |w| w.insert(&clean(memory("", content)), &clean(vec![evidence])));
        }
        let filter = Filter::default();
        let contents = |limit| {
            let direct = direct(&store, "tea", &filter, limit, None, day(2)).unwrap();
            let mut contents: Vec<_> = direct.found.into_iter().map(|hit| hit.memory.claim.content).collect();
            contents.sort();
            contents
        };
        assert_eq!(contents(9), ["Tea comes from Assam.", "The user drinks tea."]);
        assert_eq!((contents(1).len(), contents(0).len()), (1, 0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marked(content: &str, words: &[&str]) -> String {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        let Highlight { text, marks } = highlight(content, &words);
        let mut shown = text.clone();
        for mark in marks.iter().rev() {
            shown.insert(mark.end, ']');
            shown.insert(mark.start, '[');
        }
        shown
    }

    #[test]
    fn words_are_marked_where_they_stand() {
        assert_eq!(marked("Deploy on Mondays, deploy early", &["deploy"]), "[Deploy] on Mondays, [deploy] early");
        assert_eq!(marked("在东京部署", &["东京"]), "在[东京]部署");
        assert_eq!(marked("ÉCOLE", &["école"]), "[ÉCOLE]");
        assert_eq!(marked("nothing here", &["deploy"]), "nothing here");
        assert_eq!(marked("", &["deploy"]), "");
        assert_eq!(marked("a", &[""]), "a");
    }

    #[test]
    fn a_long_text_is_cut_around_the_first_word() {
        let content = format!("{}needle{}", "x".repeat(300), "y".repeat(300));
        let shown = marked(&content, &["needle"]);
        assert!(shown.starts_with(&format!("…{}[needle]y", "x".repeat(40))), "{shown}");
        assert!(shown.ends_with("y…"), "{shown}");
        assert_eq!(shown.chars().count(), MAX_CHARS + 2, "{shown}");
    }
}
