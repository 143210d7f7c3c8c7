//! Finds memories, and renders them for a prompt.

use jiff::{SignedDuration, Timestamp};

use super::storage::weights_of;
use super::{ApiError, Memories, Query, SearchOptions, SearchResult};
use crate::embed::{EmbedError, QueryVectors};
use crate::lifecycle::Rules;
use crate::lifecycle::decay::{Certainty, HalfLives};
use crate::memory::{Memory, MemoryId, Namespace};
use crate::search::brief::{self, Brief, BriefRequest, Format};
use crate::search::{self, Channel, Found, Parts, Search, by_meaning, score, unexpired};
use crate::store::{Database, Filter, Order, Store};

/// Number of memories that are ranked if there is no query text.
const MAX_RANKED: usize = 1_000;

/// Number of results that are compared with the minimum share of matching words.
const MAX_MATCHED: usize = 200;

/// Options for retrieving memories.
#[derive(Debug, Clone, PartialEq)]
pub struct RetrievalOptions {
    /// The maximum number of memories.
    pub limit: usize,
    /// Restricts the memories, for example by type, namespace or minimum importance.
    pub filter: Filter,
    /// Only memories that changed within this period.
    pub recent_within: Option<SignedDuration>,
    /// The weight of vectors relative to words; see [`SearchOptions::hybrid_weight`].
    pub hybrid_weight: Option<f64>,
    /// Whether the results contain vectors; see [`SearchOptions::include_embedding`].
    pub include_embedding: bool,
}

impl Default for RetrievalOptions {
    /// Returns options for the ten best active memories.
    fn default() -> Self {
        Self {
            limit: 10,
            filter: Filter::default(),
            recent_within: None,
            hybrid_weight: None,
            include_embedding: false,
        }
    }
}

/// A search by words and, if there are vectors, by meaning.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SearchRequest {
    /// The text to search for; any text is safe.
    pub text: String,
    /// Restricts the memories that are searched.
    pub filter: Filter,
    /// The maximum number of memories.
    pub limit: usize,
    /// The number of results to skip.
    pub offset: usize,
    /// The order of the results; by default, the best come first.
    pub order: Option<Order>,
    /// The weight of vectors relative to words; see [`SearchOptions::hybrid_weight`].
    pub hybrid_weight: Option<f64>,
    /// Minimum share of the words of the text that a memory or its evidence must contain, between 0 and 1.
    pub min_match: f64,
    /// Maximum number of memories that apply to every query, such as instructions, preferences and pinned memories.
    pub standing: usize,
    /// Whether memories linked to the found ones are included.
    pub related: bool,
}

/// The results of a [`SearchRequest`].
#[derive(Debug)]
pub struct SearchResults {
    /// The memories that were found, best first.
    pub found: Vec<Found>,
    /// Memories that were not found but apply to every query.
    pub standing: Vec<Found>,
    /// The reason why the search used words alone although vectors are configured.
    pub fallback: Option<EmbedError>,
}

impl Memories {
    /// Returns the memories that are relevant to `text`, best first. Any text is safe. For a blank text, the most
    /// important memories are returned, ranked by importance, confidence, recency and frequency of use.
    ///
    /// # Errors
    /// [`ApiError`] if the memories cannot be read, or none of the requested namespaces can be accessed.
    pub fn retrieve_memories(&self, text: &str, options: &RetrievalOptions) -> Result<Vec<SearchResult>, ApiError> {
        let now = Timestamp::now();
        let since = options.recent_within.map(|within| now - within);
        let updated_from = options.filter.updated_from.max(since);
        let filter = self.confined(Filter { updated_from, ..unexpired(&options.filter, now) })?;
        if text.trim().is_empty() {
            return self.foremost(filter, options.limit, now);
        }
        let RetrievalOptions { limit, hybrid_weight, include_embedding, .. } = *options;
        let options = SearchOptions { filter, limit, hybrid_weight, include_embedding, ..SearchOptions::default() };
        self.storage.search(text, &options)
    }

    fn foremost(&self, filter: Filter, limit: usize, now: Timestamp) -> Result<Vec<SearchResult>, ApiError> {
        let half_lives = Rules::from(&self.config.memory).half_lives;
        // The score is computed here and not in SQL, so the number of rows is limited.
        let query = Query { filter, limit: MAX_RANKED.max(limit), ..Query::default() };
        let mut found: Vec<SearchResult> =
            self.storage.query(&query)?.into_iter().map(|one| unasked(one, &half_lives, now)).collect();
        // The id is compared last, so that memories with equal scores always have the same order.
        found.sort_by(|a, b| {
            let by_change = || b.memory.updated_at.cmp(&a.memory.updated_at);
            b.score.total_cmp(&a.score).then_with(by_change).then_with(|| a.memory.id.cmp(&b.memory.id))
        });
        found.truncate(limit);
        Ok(found)
    }

    /// Returns the memories that are useful in a conversation in `namespace`, best first. The result contains the
    /// memories of a brief, which leaves out duplicates. No use is counted, and nothing is logged.
    ///
    /// # Errors
    /// [`ApiError`] if the memories cannot be read, or the namespace cannot be accessed.
    pub fn memories_for_prompt(
        &self,
        namespace: &Namespace,
        options: &RetrievalOptions,
    ) -> Result<Vec<Memory>, ApiError> {
        self.admitted(namespace)?;
        let asked = BriefRequest::of(&self.config.memory, vec![namespace.clone()], None);
        let request = BriefRequest {
            max_memories: Some(options.limit),
            min_importance: options.filter.min_importance.unwrap_or(asked.min_importance),
            types: if options.filter.types.is_empty() { asked.types.clone() } else { options.filter.types.clone() },
            ..asked
        };
        Ok(self.brief(&request)?.shown.into_iter().map(|shown| shown.memory).collect())
    }

    /// Returns the section of a prompt with `memories` in the given order, enclosed in tags that mark them as data.
    /// Without memories, the text is empty.
    #[must_use]
    pub fn build_memory_prompt(&self, memories: &[Memory], format: Format) -> String {
        brief::spell(memories, format)
    }

    /// Returns the request for a brief according to the settings. If access is limited, the brief covers all accessible
    /// namespaces, and otherwise the home namespace, its team and `global`. If memory is switched off, the request contains no
    /// namespace.
    ///
    /// # Errors
    /// [`ApiError`] if the database cannot be read.
    pub(crate) fn brief_request(&self, query: Option<String>) -> Result<BriefRequest, ApiError> {
        let within = self.namespaces.clone().map_or_else(|| self.reach_of(self.home()), Ok)?;
        Ok(BriefRequest::of(&self.config.memory, within.as_slice().to_vec(), query))
    }

    /// Returns the brief for a conversation, within the request's budget.
    ///
    /// # Errors
    /// [`ApiError`] if the brief cannot be read, or a namespace cannot be accessed.
    pub fn brief(&self, request: &BriefRequest) -> Result<Brief, ApiError> {
        let (brief, fallback) = self.brief_with_fallback(request)?;
        if let Some(error) = fallback {
            tracing::warn!("the memories for the brief were found by words alone: {error}");
        }
        Ok(brief)
    }

    /// Returns a brief as [`Memories::brief`] does, and, if its query was searched by words alone, the reason.
    ///
    /// # Errors
    /// As for [`Memories::brief`].
    pub(crate) fn brief_with_fallback(&self, request: &BriefRequest) -> Result<(Brief, Option<EmbedError>), ApiError> {
        for namespace in &request.namespaces {
            self.admitted(namespace)?;
        }
        let store = self.ledger("compose a brief")?;
        self.composed(store, request, self.vectors.as_deref(), Timestamp::now())
    }

    /// Composes a brief, and compares its memories with the repository of the folder.
    pub(super) fn composed(
        &self,
        store: &Store,
        request: &BriefRequest,
        vectors: Option<&QueryVectors>,
        now: Timestamp,
    ) -> Result<(Brief, Option<EmbedError>), ApiError> {
        let here = self.brief_folder()?;
        let changes = |chosen: &[&Memory]| here.as_ref().map_or_else(Vec::new, |here| here.changes(store, chosen));
        let folder = brief::Folder { changes: &changes, at_hand: self.at_hand(store, &request.namespaces, now)? };
        Ok(brief::compose_with(store, request, vectors, &folder, now)?)
    }

    /// Returns the memories that were last shown to a model, and when they were shown.
    ///
    /// # Errors
    /// [`ApiError`] if the database cannot be read.
    pub(crate) fn last_shown(&self) -> Result<Option<(Timestamp, Vec<MemoryId>)>, ApiError> {
        Ok(self.ledger("show the last brief")?.last_shown()?)
    }

    /// Searches memories, and returns every component of their scores.
    ///
    /// # Errors
    /// [`ApiError`] if the memories cannot be read, or none of the requested namespaces can be accessed.
    pub fn search(&self, request: &SearchRequest) -> Result<SearchResults, ApiError> {
        let _span = self.span("search_memory", None);
        let (store, now) = (self.ledger("explain a search")?, Timestamp::now());
        let (text, filter) = (request.text.as_str(), self.confined(request.filter.clone())?);
        let most = request.limit.saturating_add(request.offset);
        let weights = weights_of(request.hybrid_weight)?;
        let vectors = self.vectors.as_deref().filter(|_| weights.channels > 0.0);
        let channel = vectors.map(|by| by_meaning(by, store, text, &filter, most, now)).transpose();
        let (channel, fallback) = match channel {
            Ok(channel) => (channel.flatten(), None),
            Err(error) => (None, Some(error)),
        };
        let channels: Vec<Channel> = channel.into_iter().collect();
        // The share is known only for results, so more results are fetched, and the page is taken from them.
        let (limit, offset) =
            if request.min_match > 0.0 { (most.max(MAX_MATCHED), 0) } else { (request.limit, request.offset) };
        let search = Search {
            limit,
            channels: &channels,
            offset,
            order: request.order,
            weights,
            with_beside: true,
            with_related: request.related,
            ..Search::new(text, &filter, now)
        };
        let mut found = search.run(store)?;
        if request.min_match > 0.0 {
            found.retain(|hit| hit.match_share >= request.min_match);
            found = found.into_iter().skip(request.offset).take(request.limit).collect();
        }
        let mut standing = Vec::new();
        if request.standing > 0 {
            // More memories are requested than needed, since memories that the search finds anyway are dropped below.
            standing = search::standing(store, text, &filter, request.standing.saturating_add(found.len()), now)?;
            standing.retain(|one| found.iter().all(|hit| hit.memory.id != one.memory.id));
            standing.truncate(request.standing);
        }
        Ok(SearchResults { found, standing, fallback })
    }

    /// Returns the share of the words of `text` that occur in a memory or in its evidence, between 0 and 1. Unlike a score,
    /// it does not depend on other memories.
    ///
    /// # Errors
    /// [`ApiError`] if the evidence cannot be read.
    pub(crate) fn match_share(&self, text: &str, memory: &Memory) -> Result<f64, ApiError> {
        let matched = Database::words_in(text, memory);
        // Only the database has evidence.
        let store = self.storage.as_store().map(|store| &**store);
        Ok(search::match_share(store, text, memory, &matched)?)
    }

    /// Records that a brief was shown to a model.
    pub(crate) fn note_shown(&self, brief: &Brief) {
        if let Some(store) = self.storage.as_store() {
            // The caller must get the brief even if its use cannot be recorded.
            let _ = brief::note_shown(store, brief, Timestamp::now());
        }
    }

    /// Returns a page of the memories that pass a filter. This does not count as a use of the memories.
    ///
    /// # Errors
    /// [`ApiError`] if the memories cannot be read, or none of the requested namespaces can be accessed.
    pub fn list_memories(
        &self,
        filter: Filter,
        order: Order,
        limit: usize,
        offset: usize,
    ) -> Result<Vec<Memory>, ApiError> {
        self.query_memories(&Query { filter, order, limit, offset, ..Query::default() })
    }

    /// Returns a page of memories as [`Memories::list_memories`] does, in either sort direction.
    ///
    /// # Errors
    /// As for [`Memories::list_memories`].
    pub fn query_memories(&self, query: &Query) -> Result<Vec<Memory>, ApiError> {
        let filter = self.confined(query.filter.clone())?;
        self.storage.query(&Query { filter, ..query.clone() })
    }

    /// Returns how many memories pass a filter.
    ///
    /// # Errors
    /// As for [`Memories::list_memories`].
    pub fn count_memories(&self, filter: Filter) -> Result<usize, ApiError> {
        self.storage.count(&self.confined(filter)?)
    }

    /// Counts a use of memories that a person or an agent opened, if the adapter supports counting. If a use cannot be
    /// counted, the read still succeeds. Searches and briefs do not count uses.
    pub(crate) fn note_use(&self, ids: &[MemoryId]) {
        if let Some(store) = self.storage.as_store() {
            let _ = store.record_use(ids, Timestamp::now());
        }
    }
}

/// Returns a memory with its score for a blank query, to which all memories are equally relevant.
fn unasked(memory: Memory, half_lives: &HalfLives, now: Timestamp) -> SearchResult {
    let parts = Parts {
        relevance: 1.0,
        importance: memory.claim.importance,
        confidence: Certainty::from(&memory).at(half_lives, now),
        updated_at: memory.updated_at,
        access_count: memory.usage.access_count,
    };
    let highlight = crate::search::highlight(&memory.claim.content, &[]);
    SearchResult { score: score(&parts, now).total, highlight, memory, embedding: None }
}
