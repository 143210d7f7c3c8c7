//! Stores with the memories of a case, and the searches and briefs over them.

use std::collections::{BTreeMap, HashMap};

use afterthought::config::MemorySettings;
use afterthought::embed::{Embedder, Filling, fill};
use afterthought::guard::Guard;
use afterthought::llm::{Budget, Limits};
use afterthought::memory::{
    CATEGORIES, Claim, Evidence, ExtractionMethod, Memory, MemoryId, MemoryType, Namespace, Scope, Status,
};
use afterthought::search::brief::{BriefRequest, compose};
use afterthought::search::{Channel, Search, Weights, by_vectors};
use afterthought::store::{Filter, Order, STOP_WORDS, Store, StoreError, VectorModel};
use afterthought::tokens;
use afterthought_eval::case::Moment;
use afterthought_eval::locomo::{LIMIT, Sample};
use afterthought_eval::prediction::Prediction;
use afterthought_eval::retrieval::{BRIEF_TOKENS, ComposedBrief, FoundMemory, Situation, StoredMemory};
use afterthought_eval::tally::SplitMix;
use anyhow::{anyhow, ensure};
use jiff::{Timestamp, ToSpan as _};
use rusqlite::Connection;
use tokio_util::sync::CancellationToken;
use transcripts::{Message, MessageTime};

use super::args::RetrieverArg;

/// Characters of the content that serve as a title, if there is none.
const TITLE: usize = 40;
/// Seed of the random retriever.
const SEED: u64 = 0x0bad_5ea4_c4ed_0001;

/// Returns a term of the evaluation in the program's own type, or the reverse: both have the same spelling.
pub(super) fn convert<T: std::str::FromStr>(text: &str) -> anyhow::Result<T> {
    text.parse().map_err(|_| anyhow!("{text:?} is not known to this version"))
}

/// Returns the namespaces with these paths.
pub(super) fn namespaces(paths: &[String]) -> anyhow::Result<Vec<Namespace>> {
    paths.iter().map(|path| convert(path)).collect()
}

/// A store with the memories of a case, and their names in the case.
pub(super) struct CaseStore {
    pub(super) store: Store,
    pub(super) now: Timestamp,
    names: HashMap<MemoryId, String>,
}

impl CaseStore {
    pub(super) fn empty(now: Timestamp) -> anyhow::Result<Self> {
        Ok(Self { store: Store::in_memory()?, now, names: HashMap::new() })
    }

    /// Stores the memories of a case.
    pub(super) fn of(case: &str, memories: &[StoredMemory], now: Timestamp) -> anyhow::Result<Self> {
        let mut places = BTreeMap::new();
        let mut made = Vec::new();
        for (index, stored) in memories.iter().enumerate() {
            // Memories without a time are an hour apart, in the order of the case.
            let hours = i64::try_from(memories.len() - index).unwrap_or_default() + 30 * 24;
            let said = stored.said.map_or_else(|| now.checked_sub(hours.hours()).unwrap_or(now), Moment::noon);
            let evidence = evidence(case, stored, said, &mut places);
            made.push((stored.id.clone(), memory(case, stored, said)?, evidence));
        }
        let mut store = Self::empty(now)?;
        store.insert(made)?;
        Ok(store)
    }

    /// Stores the memories of a control, which keeps none itself.
    pub(super) fn insert_predictions(&mut self, predictions: &[Prediction]) -> anyhow::Result<()> {
        insert_predictions(&self.store, predictions, self.now)
    }

    fn insert(&mut self, memories: Vec<(String, Memory, Evidence)>) -> anyhow::Result<()> {
        let guard = Guard::default();
        self.store.write(None, self.now, |writer| {
            for (name, memory, evidence) in memories {
                self.names.insert(memory.id.clone(), name);
                writer.insert(&guard.redact(memory).0, &guard.redact(vec![evidence]).0)?;
            }
            Ok::<_, StoreError>(())
        })?;
        Ok(())
    }

    /// Returns the name of a memory in the case.
    pub(super) fn name<'a>(&'a self, id: &'a MemoryId) -> &'a str {
        self.names.get(id).map_or(id.as_str(), String::as_str)
    }

    pub(super) fn found(&self, memories: &[Memory]) -> Vec<FoundMemory> {
        let found = |memory: &Memory| FoundMemory {
            id: self.name(&memory.id).to_owned(),
            content: memory.claim.content.clone(),
        };
        memories.iter().map(found).collect()
    }

    /// Composes the brief of a situation. Controls give all that they draw, whatever it costs.
    pub(super) fn brief(&self, situation: &Situation, retriever: &Retriever<'_>) -> anyhow::Result<ComposedBrief> {
        let memories = match retriever.kind {
            RetrieverArg::Search => {
                let mut namespaces = namespaces(&situation.namespaces)?;
                if !namespaces.contains(&Namespace::global()) {
                    namespaces.push(Namespace::global());
                }
                let query = situation.ask.clone().filter(|ask| !ask.trim().is_empty());
                let mut request = BriefRequest::of(&MemorySettings::default(), namespaces, query);
                request.max_tokens = situation.tokens.unwrap_or(BRIEF_TOKENS);
                let brief = compose(&self.store, &request, self.now)?;
                let ids = brief.shown.iter().map(|shown| self.name(&shown.memory.id).to_owned()).collect();
                return Ok(ComposedBrief { ids, tokens: brief.tokens, text: brief.text });
            }
            RetrieverArg::Nothing => Vec::new(),
            RetrieverArg::Random => list_all(&self.store)?.into_iter().step_by(2).collect(),
            RetrieverArg::Everything => list_all(&self.store)?,
        };
        let text = memories.iter().map(|memory| memory.claim.content.as_str()).collect::<Vec<_>>().join("\n");
        let ids = memories.iter().map(|memory| self.name(&memory.id).to_owned()).collect();
        Ok(ComposedBrief { ids, tokens: tokens::count(&text), text })
    }
}

fn list_all(store: &Store) -> anyhow::Result<Vec<Memory>> {
    let all = Filter { statuses: Vec::new(), ..Filter::default() };
    Ok(store.list(&all, Order::Id, usize::MAX >> 1, 0)?)
}

fn memory(case: &str, stored: &StoredMemory, said: Timestamp) -> anyhow::Result<Memory> {
    let title = stored.title.clone().unwrap_or_else(|| stored.content.chars().take(TITLE).collect());
    let category = stored.category.as_deref().unwrap_or("fact");
    ensure!(CATEGORIES.contains(&category), "{}.category: {category:?} is not allowed", stored.id);
    let memory_type = stored.memory_type.map_or(Ok(MemoryType::Semantic), |one| convert(one.as_str()))?;
    let claim = Claim {
        subject: stored.subject.clone(),
        scope: stored.scope.map_or(Ok(Scope::LongTerm), |one| convert(one.as_str()))?,
        importance: stored.importance.unwrap_or(0.5),
        confidence: stored.confidence.unwrap_or(0.85),
        valid_from: stored.from.map(Moment::first),
        valid_to: stored.to.map(Moment::last),
        expires_at: stored.expires.map(Moment::first),
        ..Claim::new(memory_type, category, title, stored.content.clone())
    };
    let namespace = stored.namespace.as_deref().map_or_else(|| Ok(Namespace::global()), convert)?;
    let memory = Memory::new(claim, namespace, conversation(case, stored), ExtractionMethod::Auto, said);
    let status = stored.status.map_or(Ok(Status::Active), |one| convert(one.as_str()))?;
    Ok(Memory { status, pinned: stored.pinned, ..memory })
}

fn conversation(case: &str, stored: &StoredMemory) -> String {
    format!("eval:{case}/{}", stored.source.as_deref().unwrap_or(&stored.id))
}

/// Returns the evidence of a memory: the next message of its conversation.
fn evidence(case: &str, stored: &StoredMemory, said: Timestamp, places: &mut BTreeMap<String, usize>) -> Evidence {
    let transcript = conversation(case, stored);
    let place = places.entry(transcript.clone()).or_default();
    *place += 1;
    let quote = stored.quote.clone().unwrap_or_else(|| stored.content.clone());
    let message = Message { speaker: stored.speaker.clone(), ..Message::user(quote.clone()) };
    Evidence {
        transcript,
        messages: vec![place.to_string()],
        content_hash: message.content_hash(),
        quote,
        speaker: stored.speaker.clone(),
        said_at: Some(MessageTime::logged(said)),
    }
}

/// Stores `predictions`, for controls that keep none themselves.
pub(super) fn insert_predictions(store: &Store, predictions: &[Prediction], now: Timestamp) -> anyhow::Result<()> {
    let guard = Guard::default();
    store.write(None, now, |writer| {
        for prediction in predictions {
            let title: String = prediction.content.chars().take(TITLE).collect();
            let memory_type = prediction.memory_type.as_str().parse().unwrap_or(MemoryType::Semantic);
            let claim = Claim::new(memory_type, "fact", title, prediction.content.clone());
            let memory = Memory::new(claim, Namespace::global(), "eval:control", ExtractionMethod::Manual, now);
            let evidence = prediction.evidence.iter().map(|cited| Evidence {
                transcript: cited.conversation.clone(),
                messages: cited.messages.clone(),
                quote: cited.quote.clone(),
                speaker: cited.speaker.clone(),
                said_at: None,
                content_hash: String::new(),
            });
            writer.insert(&guard.redact(memory).0, &guard.redact(evidence.collect::<Vec<_>>()).0)?;
        }
        Ok::<_, StoreError>(())
    })?;
    Ok(())
}

/// Makes the missing vectors of a store without a limit; returns the model if the store has any memory.
async fn fill_vectors(store: &Store, embedder: &Embedder) -> anyhow::Result<Option<VectorModel>> {
    let (guard, budget) = (Guard::default(), Budget::new(Limits::default(), None, embedder.name())?);
    let filling = Filling {
        store,
        embedder,
        guard: &guard,
        budget: &budget,
        most: usize::MAX,
        cancel: CancellationToken::new(),
        clock: Timestamp::now,
    };
    fill(&filling, &mut |_| {}).await?;
    Ok(embedder.kept_model(store)?)
}

/// Returns the cosine of each pair of texts, if there is an embedder that knows the length of its vectors.
pub(super) async fn cosines(embedder: Option<&Embedder>, pairs: &[(&str, &str)]) -> anyhow::Result<Option<Vec<f64>>> {
    let (guard, store) = (Guard::default(), Store::in_memory()?);
    let Some(embedder) = embedder else { return Ok(None) };
    let Some(model) = embedder.kept_model(&store)? else { return Ok(None) };
    let mut found = Vec::with_capacity(pairs.len());
    for (one, other) in pairs {
        let one = embedder.query(&guard, &model, one).await?.unwrap_or_default();
        let other = embedder.query(&guard, &model, other).await?.unwrap_or_default();
        let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(x, y)| f64::from(*x) * f64::from(*y)).sum::<f64>();
        let length = (dot(&one, &one) * dot(&other, &other)).sqrt();
        found.push(if length > 0.0 { dot(&one, &other) / length } else { 0.0 });
    }
    Ok(Some(found))
}

/// The search, or a control that must fail.
pub(super) struct Retriever<'a> {
    pub(super) kind: RetrieverArg,
    pub(super) embedder: Option<&'a Embedder>,
}

impl Retriever<'_> {
    /// Returns its name in reports.
    pub(super) fn name(&self) -> String {
        match (self.kind, self.embedder) {
            (RetrieverArg::Search, Some(embedder)) => format!("search with {}", embedder.name()),
            (kind, _) => kind.name().to_owned(),
        }
    }

    /// Makes the vectors of a store, if the search uses any.
    pub(super) async fn prepare(&self, store: &Store) -> anyhow::Result<Option<VectorModel>> {
        match (self.kind, self.embedder) {
            (RetrieverArg::Search, Some(embedder)) => fill_vectors(store, embedder).await,
            _ => Ok(None),
        }
    }

    /// Returns at most `limit` memories for `query`, best first.
    pub(super) async fn find(
        &self,
        store: &Store,
        model: Option<&VectorModel>,
        (query, namespaces): (&str, &[Namespace]),
        limit: usize,
        now: Timestamp,
    ) -> anyhow::Result<Vec<Memory>> {
        let filter = Filter::exactly(namespaces);
        match self.kind {
            RetrieverArg::Nothing => Ok(Vec::new()),
            RetrieverArg::Random => {
                let mut pool = list_all(store)?;
                let seed = query.bytes().fold(SEED, |seed, byte| seed.rotate_left(5) ^ u64::from(byte));
                let mut random = SplitMix::new(seed);
                let count = limit.min(pool.len());
                Ok((0..count).map(|_| pool.swap_remove(random.below(pool.len()))).collect())
            }
            RetrieverArg::Everything => {
                let filter = Filter { unexpired_at: Some(now), ..filter };
                Ok(store.list(&filter, Order::Updated, limit, 0)?)
            }
            RetrieverArg::Search => {
                let mut channels = Vec::new();
                if let (Some(embedder), Some(model)) = (self.embedder, model)
                    && let Some(vector) = embedder.query(&Guard::default(), model, query).await?
                {
                    channels.push(by_vectors(store, (model, &vector), &filter, limit, now)?);
                }
                let search = Search { limit, channels: &channels, ..Search::new(query, &filter, now) };
                Ok(search.run(store)?.into_iter().map(|found| found.memory).collect())
            }
        }
    }
}

/// The turns of `LoCoMo` conversations as memories; each conversation is a namespace of one store.
pub(super) struct Turns {
    store: CaseStore,
    /// Namespaces of the conversations, with ids and texts of their turns.
    pub(super) conversations: Vec<(Namespace, Vec<(String, String)>)>,
}

impl Turns {
    /// Stores the turns of `samples`, all learnt a day after the last of them, as when old logs are read.
    pub(super) fn of(samples: &[Sample]) -> anyhow::Result<Self> {
        let last = samples.iter().flat_map(|sample| &sample.turns).filter_map(|turn| turn.at).max();
        let last = last.unwrap_or(Timestamp::UNIX_EPOCH);
        let now = last.checked_add(24.hours()).unwrap_or(last);
        let mut turns = Self { store: CaseStore::empty(now)?, conversations: Vec::new() };
        for (number, sample) in samples.iter().enumerate() {
            let namespace = Namespace::try_from(vec!["conversation".to_owned(), format!("{}-{number}", sample.id)])
                .unwrap_or_else(|_| Namespace::global());
            let mut made = Vec::new();
            let mut said = Vec::new();
            for turn in &sample.turns {
                let photo = turn.photo.as_ref().map_or_else(String::new, |photo| format!(" [shares image: {photo}]"));
                let text = format!("{}{photo}", turn.said);
                let claim = Claim::new(MemoryType::Episodic, "fact", "", &text);
                let source = format!("locomo:{}", turn.id);
                let memory = Memory::new(claim, namespace.clone(), source, ExtractionMethod::Imported, now);
                let evidence = Evidence {
                    transcript: format!("locomo:{}/session_{}", sample.id, turn.session),
                    messages: vec![turn.id.clone()],
                    quote: turn.said.clone(),
                    speaker: Some(turn.speaker.clone()),
                    said_at: turn.at.map(MessageTime::logged),
                    content_hash: String::new(),
                };
                made.push((turn.id.clone(), memory, evidence));
                said.push((turn.id.clone(), text));
            }
            turns.store.insert(made)?;
            turns.conversations.push((namespace, said));
        }
        Ok(turns)
    }

    pub(super) const fn now(&self) -> Timestamp {
        self.store.now
    }

    /// Searches the turns of a conversation with the given parts of the search.
    pub(super) fn search(
        &self,
        conversation: usize,
        question: &str,
        ablation: &Ablation,
        channels: &[Channel],
    ) -> anyhow::Result<Vec<(String, String)>> {
        let filter = Filter::exactly(std::slice::from_ref(&self.conversations[conversation].0));
        let search = Search {
            limit: LIMIT,
            weights: ablation.weights,
            channels,
            with_beside: ablation.with_beside,
            ..Search::new(question, &filter, self.now())
        };
        let found = search.run(&self.store.store)?.into_iter().map(|found| found.memory).collect::<Vec<_>>();
        Ok(self.store.found(&found).into_iter().map(|one| (one.id, one.content)).collect())
    }

    /// Makes vectors of the turns.
    pub(super) async fn embed(&self, embedder: &Embedder) -> anyhow::Result<VectorModel> {
        let unknown = || VectorModel { name: embedder.name().to_owned(), dimension: 0 };
        Ok(fill_vectors(&self.store.store, embedder).await?.unwrap_or_else(unknown))
    }

    /// Returns the turns nearest to a vector as a channel of the search.
    pub(super) fn channel(&self, conversation: usize, model: &VectorModel, vector: &[f32]) -> anyhow::Result<Channel> {
        let filter = Filter::exactly(std::slice::from_ref(&self.conversations[conversation].0));
        Ok(by_vectors(&self.store.store, (model, vector), &filter, LIMIT, self.now())?)
    }

    /// Returns the turns nearest to a vector, best first.
    pub(super) fn nearest(
        &self,
        conversation: usize,
        model: &VectorModel,
        vector: &[f32],
    ) -> anyhow::Result<Vec<(String, String)>> {
        let (namespace, said) = &self.conversations[conversation];
        let filter = Filter::exactly(std::slice::from_ref(namespace));
        let near = self.store.store.nearest(model, vector, &filter, LIMIT)?;
        let names: Vec<&str> = near.iter().map(|near| self.store.name(&near.id)).collect();
        Ok(names.into_iter().filter_map(|name| said.iter().find(|(id, _)| id == name).cloned()).collect())
    }
}

/// The search with some of its parts switched off.
#[derive(Clone)]
pub(super) struct Ablation {
    pub(super) name: &'static str,
    weights: Weights,
    /// Whether turns count that only a neighbour was found for.
    with_beside: bool,
}

impl Default for Ablation {
    fn default() -> Self {
        Self { name: "search", weights: Weights::default(), with_beside: true }
    }
}

/// Returns the whole search, then the search without each of its parts, then without all of them.
pub(super) fn ablations() -> Vec<Ablation> {
    let whole = Ablation::default();
    let with = |name, weights| Ablation { name, weights, ..whole.clone() };
    let weights = whole.weights;
    vec![
        whole.clone(),
        Ablation { name: "without what only a neighbour found", with_beside: false, ..whole.clone() },
        with("without neighbours", Weights { neighbours: 0.0, ..weights }),
        with("without speaker", Weights { speaker: 0.0, ..weights }),
        with("without date", Weights { date: 0.0, ..weights }),
        with("words alone", Weights { neighbours: 0.0, speaker: 0.0, date: 0.0, ..weights }),
    ]
}

/// Bare FTS5 over the turns of a conversation: the words of the question without stop words, joined by `OR`.
pub(super) struct BareFts5(Connection);

impl BareFts5 {
    pub(super) fn of(turns: &[(String, String)]) -> anyhow::Result<Self> {
        let conn = Connection::open_in_memory()?;
        conn.execute_batch(
            "CREATE VIRTUAL TABLE turns USING fts5 (id UNINDEXED, text, tokenize = 'porter unicode61')",
        )?;
        for (id, text) in turns {
            conn.execute("INSERT INTO turns (id, text) VALUES (?1, ?2)", [id, text])?;
        }
        Ok(Self(conn))
    }

    pub(super) fn search(&self, question: &str) -> anyhow::Result<Vec<(String, String)>> {
        let question = question.to_lowercase();
        let words = question.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
        let words: Vec<String> =
            words.filter(|word| !STOP_WORDS.contains(word)).map(|word| format!("\"{word}\"")).collect();
        if words.is_empty() {
            return Ok(Vec::new());
        }
        let sql = format!("SELECT id, text FROM turns WHERE turns MATCH ?1 ORDER BY bm25(turns), rowid LIMIT {LIMIT}");
        let mut statement = self.0.prepare_cached(&sql)?;
        let rows = statement.query_map([words.join(" OR ")], |row| Ok((row.get(0)?, row.get(1)?)))?;
        Ok(rows.collect::<Result<_, _>>()?)
    }
}
