//! Stores with the memories of a case, and searches and briefs in these stores.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::api::{IdOrigin, Imported, arrival, consolidate_imported};
use crate::config::MemorySettings;
use crate::embed::{Embedder, Filling, fill};
use crate::guard::Guard;
use crate::llm::{Budget, Limits, Source};
use crate::memory::{
    CATEGORIES, Claim, Evidence, ExtractionMethod, Memory, MemoryId, MemoryType, Namespace, Scope, Status,
};
use crate::search::brief::{BriefRequest, compose};
use crate::search::{Channel, Search, Weights, by_vectors, search_tasks};
use crate::store::{Filter, Order, STOP_WORDS, Store, StoreError, VectorModel};
use crate::tokens;
use afterthought_eval::SplitMix;
use afterthought_eval::extraction::Prediction;
use afterthought_eval::files::{CaseMemory, Moment};
use afterthought_eval::retrieval::{BRIEF_TOKENS, ComposedBrief, FoundMemory, Situation};
use afterthought_eval::sets::locomo::{LIMIT, Sample};
use anyhow::{anyhow, ensure};
use jiff::{Timestamp, ToSpan as _};
use rusqlite::Connection;
use tokio_util::sync::CancellationToken;
use transcripts::{Message, MessageTime};

use super::args::{RetrieverArg, name_of};
use super::system::texts_of;

/// Number of characters of the content that serve as the title of a memory without a title.
const TITLE: usize = 40;
/// Seed of the random retriever.
const SEED: u64 = 0x0bad_5ea4_c4ed_0001;

/// Converts a term of the evaluation to the program's own type, or the reverse: both have the same spelling.
pub(super) fn convert<T: std::str::FromStr>(text: &str) -> anyhow::Result<T> {
    text.parse().map_err(|_| anyhow!("this version does not support {text:?}"))
}

/// Returns the claim of a memory in a case, with the defaults of the case format.
pub(super) fn claim_of(given: &CaseMemory) -> anyhow::Result<Claim> {
    let title = given.title.clone().unwrap_or_else(|| given.content.chars().take(TITLE).collect());
    let category = given.category.as_deref().unwrap_or("fact");
    // A typo would otherwise be stored as it is and silently change what filters and briefs select.
    ensure!(CATEGORIES.contains(&category), "{}.category: {category:?} is not allowed", given.id);
    let memory_type = given.memory_type.map_or(Ok(MemoryType::Semantic), |one| convert(one.as_str()))?;
    Ok(Claim {
        subject: given.subject.clone(),
        key: given.key.clone(),
        value: given.value.clone(),
        scope: given.scope.map_or(Ok(Scope::LongTerm), |one| convert(one.as_str()))?,
        importance: given.importance.unwrap_or(0.5),
        confidence: given.confidence.unwrap_or(0.85),
        valid_from: given.from.map(Moment::first),
        valid_to: given.to.map(Moment::last),
        expires_at: given.expires.map(Moment::first),
        ..Claim::new(memory_type, category, title, given.content.clone())
    })
}

/// A store with the memories of a case, and the names of these memories in the case.
pub(super) struct CaseStore {
    pub(super) store: Store,
    pub(super) now: Timestamp,
    // Ids differ in every run, so results are compared by the names in the case.
    names: HashMap<MemoryId, String>,
    /// The embedding model, once the vectors have been computed.
    model: Option<VectorModel>,
}

impl CaseStore {
    pub(super) fn around(store: Store, now: Timestamp) -> Self {
        Self { store, now, names: HashMap::new(), model: None }
    }

    pub(super) fn empty(now: Timestamp) -> anyhow::Result<Self> {
        Ok(Self::around(Store::in_memory()?, now))
    }

    /// Stores the memories of a case.
    pub(super) fn of(case: &str, memories: &[CaseMemory], now: Timestamp) -> anyhow::Result<Self> {
        let mut places: BTreeMap<String, usize> = BTreeMap::new();
        let mut made = Vec::new();
        for (index, given) in memories.iter().enumerate() {
            // Memories without a time are an hour apart, in the order of the case.
            let hours = i64::try_from(memories.len() - index).unwrap_or_default() + 30 * 24;
            let earlier = || now.checked_sub(hours.hours()).unwrap_or(now);
            let said = given.said.flatten().map_or_else(earlier, Moment::noon);
            let transcript = format!("eval:{case}/{}", given.source.as_deref().unwrap_or(&given.id));
            // Messages are numbered within their conversation, because the search gives a bonus to neighbours of a hit.
            let place = places.entry(transcript.clone()).or_default();
            *place += 1;
            let namespace = given.namespace.as_deref().map_or_else(|| Ok(Namespace::global()), convert)?;
            let memory = Memory::new(claim_of(given)?, namespace, &transcript, ExtractionMethod::Auto, said);
            let status = given.status.map_or(Ok(Status::Active), |one| convert(one.as_str()))?;
            let quote = given.quote.clone().unwrap_or_else(|| given.content.clone());
            let message = Message { speaker: given.speaker.clone(), ..Message::user(quote.clone()) };
            let evidence = Evidence {
                transcript,
                messages: vec![place.to_string()],
                content_hash: message.content_hash(),
                quote,
                speaker: given.speaker.clone(),
                said_at: Some(MessageTime::logged(said)),
            };
            made.push((given.id.clone(), Memory { status, pinned: given.pinned, ..memory }, vec![evidence]));
        }
        let mut store = Self::empty(now)?;
        store.insert(made)?;
        Ok(store)
    }

    /// Returns a store into which the active memories were imported, and compared by the rules.
    pub(super) async fn consolidated(&self) -> anyhow::Result<Self> {
        let own = Self::empty(self.now)?;
        let mut arrivals = Vec::new();
        for memory in self.store.list(&Filter::default(), Order::Id, usize::MAX >> 1, 0)? {
            let evidence = self.store.evidence(&memory.id)?;
            arrivals.push(arrival(Imported { evidence, ..Imported::new(memory, IdOrigin::New) }));
        }
        let run = own.store.begin_run("import", &serde_json::json!({}), self.now)?.id;
        consolidate_imported::<Source>(&own.store, &Guard::default(), None, arrivals, &run).await?;
        Ok(own)
    }

    /// Stores extracted memories, for controls that store none themselves.
    pub(super) fn insert_predictions(&mut self, predictions: &[Prediction]) -> anyhow::Result<()> {
        let made = predictions.iter().map(|prediction| {
            let title: String = prediction.content.chars().take(TITLE).collect();
            let memory_type = prediction.memory_type.as_str().parse().unwrap_or(MemoryType::Semantic);
            let claim = Claim::new(memory_type, "fact", title, prediction.content.clone());
            let memory = Memory::new(claim, Namespace::global(), "eval:control", ExtractionMethod::Manual, self.now);
            let evidence = prediction.evidence.iter().map(|cited| Evidence {
                transcript: cited.conversation.clone(),
                messages: cited.messages.clone(),
                quote: cited.quote.clone(),
                speaker: cited.speaker.clone(),
                said_at: None,
                content_hash: String::new(),
            });
            (memory.id.to_string(), memory, evidence.collect())
        });
        let made = made.collect();
        self.insert(made)
    }

    fn insert(&mut self, memories: Vec<(String, Memory, Vec<Evidence>)>) -> anyhow::Result<()> {
        let guard = Guard::default();
        // All memories are written in one transaction, since one commit per memory would dominate the running time of a
        // case.
        self.store.write(None, self.now, |writer| {
            for (name, memory, evidence) in memories {
                self.names.insert(memory.id.clone(), name);
                writer.insert(&guard.redact(memory).0, &guard.redact(evidence).0)?;
            }
            Ok::<_, StoreError>(())
        })?;
        Ok(())
    }

    fn name<'a>(&'a self, id: &'a MemoryId) -> &'a str {
        self.names.get(id).map_or(id.as_str(), String::as_str)
    }

    fn found(&self, memories: &[Memory]) -> anyhow::Result<Vec<FoundMemory>> {
        let found = |memory: &Memory| {
            let evidence = self.store.evidence(&memory.id)?;
            Ok(FoundMemory {
                id: self.name(&memory.id).to_owned(),
                content: memory.claim.content.clone(),
                texts: texts_of(memory).into_iter().map(|(_, text)| text.to_owned()).collect(),
                messages: evidence.iter().flat_map(|piece| piece.messages.clone()).collect(),
                quotes: evidence.into_iter().map(|piece| piece.quote).collect(),
            })
        };
        memories.iter().map(found).collect()
    }

    /// Returns all memories that may be recalled.
    pub(super) fn all(&self) -> anyhow::Result<Vec<FoundMemory>> {
        self.found(&self.store.list(&Filter::default(), Order::Id, usize::MAX >> 1, 0)?)
    }

    /// Returns at most `limit` memories in `namespaces` that `retriever` finds for `query`, best first.
    pub(super) async fn find(
        &self,
        retriever: &Retriever<'_>,
        query: &str,
        namespaces: &[String],
        limit: usize,
    ) -> anyhow::Result<Vec<FoundMemory>> {
        let namespaces: Vec<Namespace> = namespaces.iter().map(|path| convert(path)).collect::<Result<_, _>>()?;
        let filter = Filter::exactly(&namespaces);
        self.found(&match retriever.kind {
            RetrieverArg::Nothing => Vec::new(),
            RetrieverArg::Random => {
                let mut pool = list_all(&self.store)?;
                // The query is the seed, so that a control gives the same figures in every run.
                let seed = query.bytes().fold(SEED, |seed, byte| seed.rotate_left(5) ^ u64::from(byte));
                let mut random = SplitMix::new(seed);
                (0..limit.min(pool.len())).map(|_| pool.swap_remove(random.below(pool.len()))).collect()
            }
            RetrieverArg::Everything => {
                // Expired memories are left out, so that the control fails only because of its lack of ranking.
                let filter = Filter { unexpired_at: Some(self.now), ..filter };
                self.store.list(&filter, Order::Updated, limit, 0)?
            }
            RetrieverArg::Search => {
                let mut channels = Vec::new();
                if let (Some(embedder), Some(model)) = (retriever.embedder, &self.model)
                    && let Some(vector) = embedder.query(&Guard::default(), model, query).await?
                {
                    channels.push(by_vectors(&self.store, (model, &vector), &filter, limit, self.now)?);
                }
                let search = Search { limit, channels: &channels, ..Search::new(query, &filter, self.now) };
                search.run(&self.store)?.into_iter().map(|found| found.memory).collect()
            }
        })
    }

    /// Returns at most `limit` memories and tasks that are found for `query` by words, best first: the keys of the
    /// conversations from which each comes, and its text: for a task its goal, changed files and report.
    pub(super) fn find_work(&self, query: &str, limit: usize) -> anyhow::Result<Vec<(Vec<String>, String)>> {
        let (filter, mut found) = (Filter::default(), Vec::new());
        for hit in (Search { limit, ..Search::new(query, &filter, self.now) }).run(&self.store)? {
            let evidence = self.store.evidence(&hit.memory.id)?.into_iter().map(|piece| piece.transcript);
            found.push((
                hit.score.total,
                evidence.collect(),
                texts_of(&hit.memory).into_iter().map(|(_, text)| text).collect::<Vec<_>>().join("\n"),
            ));
        }
        for task in search_tasks(&self.store, query, &filter, limit)? {
            let report = task.report.map(|report| report.text);
            let lines: Vec<String> = std::iter::once(task.goal).chain(task.files).chain(report).collect();
            found.push((task.score.total, vec![task.transcript], lines.join("\n")));
        }
        // The sort is stable, so that a memory precedes a task with the same score, as in `search`.
        found.sort_by(|one, other| other.0.total_cmp(&one.0));
        found.truncate(limit);
        Ok(found.into_iter().map(|(_, keys, text)| (keys, text)).collect())
    }

    /// Composes the brief of a situation. Controls ignore the budget and return everything that they draw.
    pub(super) fn brief(&self, situation: &Situation, retriever: &Retriever<'_>) -> anyhow::Result<ComposedBrief> {
        let memories = match retriever.kind {
            RetrieverArg::Search => {
                let given = situation.namespaces.iter().map(|path| convert(path));
                let mut namespaces: Vec<Namespace> = given.collect::<Result<_, _>>()?;
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

/// The search, or a control that is expected to fail.
pub(super) struct Retriever<'a> {
    pub(super) kind: RetrieverArg,
    pub(super) embedder: Option<&'a Embedder>,
}

impl Retriever<'_> {
    /// The search by words only.
    pub(super) const WORDS: Self = Self { kind: RetrieverArg::Search, embedder: None };

    /// Returns the name of the retriever in reports.
    pub(super) fn name(&self) -> String {
        match (self.kind, self.embedder) {
            (RetrieverArg::Search, Some(embedder)) => format!("search with {}", embedder.name()),
            (kind, _) => name_of(&kind).unwrap_or_default(),
        }
    }

    /// Computes the missing vectors of a store without a limit, if the search uses vectors.
    pub(super) async fn prepare(&self, store: &mut CaseStore) -> anyhow::Result<()> {
        let (RetrieverArg::Search, Some(embedder)) = (self.kind, self.embedder) else { return Ok(()) };
        // There is no limit here: with only some of the vectors, the results would be those of a search that nobody
        // uses.
        let (guard, budget) = (Guard::default(), Budget::new(Limits::default(), None, embedder.name())?);
        let filling = Filling {
            store: &store.store,
            embedder,
            guard: &guard,
            budget: &budget,
            most: usize::MAX,
            cancel: CancellationToken::new(),
            clock: Timestamp::now,
        };
        fill(&filling, &mut |_| {}).await?;
        store.model = embedder.kept_model(&store.store)?;
        Ok(())
    }
}

/// The turns of `LoCoMo` conversations as memories; each conversation is a namespace of one store.
pub(super) struct Turns {
    pub(super) store: CaseStore,
    /// Namespaces of the conversations, with the ids and texts of their turns.
    pub(super) conversations: Vec<(Namespace, Vec<(String, String)>)>,
}

impl Turns {
    /// Counts a use of each turn that was found and answers the question, as if a person had opened it.
    pub(super) fn open(&self, found: &[(String, String)], answers: &BTreeSet<String>) {
        let opened = |name: &String| answers.contains(name) && found.iter().any(|(id, _)| id == name);
        let ids: Vec<MemoryId> =
            self.store.names.iter().filter(|(_, name)| opened(name)).map(|(id, _)| id.clone()).collect();
        let _ = self.store.store.record_use(&ids, self.store.now);
    }

    /// Stores the turns of `samples`: each learnt when it was said, so that they differ in age, or all learnt a day after
    /// the last turn, as when old logs are read.
    pub(super) fn of(samples: &[Sample], when_said: bool) -> anyhow::Result<Self> {
        let last = samples.iter().flat_map(|sample| &sample.turns).filter_map(|turn| turn.at).max();
        let last = last.unwrap_or(Timestamp::UNIX_EPOCH);
        // All memories are equally old, so recency cannot favour the turns that happen to be late.
        let now = last.checked_add(24.hours()).unwrap_or(last);
        let mut turns = Self { store: CaseStore::empty(now)?, conversations: Vec::new() };
        for (number, sample) in samples.iter().enumerate() {
            // The number distinguishes conversations with equal ids.
            let namespace = Namespace::try_from(vec!["conversation".to_owned(), format!("{}-{number}", sample.id)])
                .unwrap_or_else(|_| Namespace::global());
            let mut made = Vec::new();
            let mut said = Vec::new();
            for turn in &sample.turns {
                let photo = turn.photo.as_ref().map_or_else(String::new, |photo| format!(" [shares image: {photo}]"));
                let text = format!("{}{photo}", turn.said);
                let claim = Claim::new(MemoryType::Episodic, "fact", "", &text);
                let source = format!("locomo:{}", turn.id);
                let at = turn.at.filter(|_| when_said).unwrap_or(now);
                let memory = Memory::new(claim, namespace.clone(), source, ExtractionMethod::Imported, at);
                let evidence = Evidence {
                    transcript: format!("locomo:{}/session_{}", sample.id, turn.session),
                    messages: vec![turn.id.clone()],
                    quote: turn.said.clone(),
                    speaker: Some(turn.speaker.clone()),
                    said_at: turn.at.map(MessageTime::logged),
                    content_hash: String::new(),
                };
                made.push((turn.id.clone(), memory, vec![evidence]));
                said.push((turn.id.clone(), text));
            }
            turns.store.insert(made)?;
            turns.conversations.push((namespace, said));
        }
        Ok(turns)
    }

    fn filter(&self, conversation: usize) -> Filter {
        Filter::exactly(std::slice::from_ref(&self.conversations[conversation].0))
    }

    /// Searches the turns of a conversation with the given parts of the search.
    pub(super) fn search(
        &self,
        conversation: usize,
        question: &str,
        ablation: &Ablation,
        channels: &[Channel],
    ) -> anyhow::Result<Vec<(String, String)>> {
        let filter = self.filter(conversation);
        let search = Search {
            limit: LIMIT,
            weights: ablation.weights,
            channels,
            with_beside: ablation.with_beside,
            ..Search::new(question, &filter, self.store.now)
        };
        let found = search.run(&self.store.store)?.into_iter().map(|found| found.memory);
        Ok(found.map(|memory| (self.store.name(&memory.id).to_owned(), memory.claim.content)).collect())
    }

    /// Returns the vector of a question with its model, if the search uses vectors.
    pub(super) async fn vector(
        &self,
        embedder: Option<&Embedder>,
        question: &str,
    ) -> anyhow::Result<Option<(&VectorModel, Vec<f32>)>> {
        let (Some(embedder), Some(model)) = (embedder, &self.store.model) else { return Ok(None) };
        let vector = embedder.query(&Guard::default(), model, question).await?;
        Ok(Some((model, vector.unwrap_or_default())))
    }

    /// Returns the turns nearest to a vector as a channel of the search.
    pub(super) fn channel(&self, conversation: usize, model: &VectorModel, vector: &[f32]) -> anyhow::Result<Channel> {
        Ok(by_vectors(&self.store.store, (model, vector), &self.filter(conversation), LIMIT, self.store.now)?)
    }

    /// Returns the turns nearest to a vector, best first.
    pub(super) fn nearest(
        &self,
        conversation: usize,
        model: &VectorModel,
        vector: &[f32],
    ) -> anyhow::Result<Vec<(String, String)>> {
        let near = self.store.store.nearest(model, vector, &self.filter(conversation), LIMIT)?;
        let said = &self.conversations[conversation].1;
        let names = near.iter().map(|near| self.store.name(&near.id));
        Ok(names.filter_map(|name| said.iter().find(|(id, _)| id == name).cloned()).collect())
    }
}

/// The search with some of its parts switched off.
#[derive(Clone)]
pub(super) struct Ablation {
    pub(super) name: &'static str,
    weights: Weights,
    /// Whether a turn also counts as found if only a neighbouring turn was found.
    with_beside: bool,
}

impl Default for Ablation {
    fn default() -> Self {
        Self { name: "search", weights: Weights::default(), with_beside: true }
    }
}

/// Returns the complete search, the search without each of its parts in turn, and the search without any of them.
pub(super) fn ablations() -> Vec<Ablation> {
    let whole = Ablation::default();
    let with = |name, weights| Ablation { name, weights, ..whole.clone() };
    let weights = whole.weights;
    vec![
        whole.clone(),
        Ablation { name: "without memories found only through a neighbour", with_beside: false, ..whole.clone() },
        with("without neighbours", Weights { neighbours: 0.0, ..weights }),
        with("without conversation", Weights { conversation: 0.0, ..weights }),
        with("without speaker", Weights { speaker: 0.0, ..weights }),
        with("without date", Weights { date: 0.0, ..weights }),
        with("words alone", Weights { neighbours: 0.0, conversation: 0.0, speaker: 0.0, date: 0.0, ..weights }),
    ]
}

/// Plain FTS5 search in the turns of a conversation: the words of the question without stop words, joined by `OR`.
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
        // The words are quoted, since FTS5 would read bare words such as `AND`, `OR` and `NEAR` as operators.
        let words: Vec<String> =
            words.filter(|word| !STOP_WORDS.contains(word)).map(|word| format!("\"{word}\"")).collect();
        if words.is_empty() {
            return Ok(Vec::new());
        }
        // `rowid` breaks ties, so that the reference is the same in every run.
        let sql = format!("SELECT id, text FROM turns WHERE turns MATCH ?1 ORDER BY bm25(turns), rowid LIMIT {LIMIT}");
        let mut statement = self.0.prepare_cached(&sql)?;
        let rows = statement.query_map([words.join(" OR ")], |row| Ok((row.get(0)?, row.get(1)?)))?;
        Ok(rows.collect::<Result<_, _>>()?)
    }
}
