//! Runs each kind of suite: reads the cases, runs the program on them, and passes on the scores.

use std::cell::Cell;
use std::cmp::Reverse;
use std::path::{Path, PathBuf};
use std::time::Instant;

use crate::pipeline::Sources;
use crate::store::{Filter, Store};
use crate::tokens;
use afterthought_eval::compare::{arm_table, arms};
use afterthought_eval::consolidation::{Pair, Stream};
use afterthought_eval::extraction::{self, CaseMessage, DiscoveredCase, Extraction, LoadedCase, discover, has_cases};
use afterthought_eval::files::{LineCase, Placed, content_hash, has_files_of, read_cases};
use afterthought_eval::results::{Cost, Row};
use afterthought_eval::retrieval::{
    BriefCase, QA_LIMIT, QaCase, RECALL_LIMIT, RecallCase, score_brief, score_query, score_question,
};
use afterthought_eval::sets::locomo::{self, Answers, Corrections, Sample};
use afterthought_eval::sets::swecontextbench::Repository;
use afterthought_eval::sets::{
    ExternalSet, PublicSet, halumem, longmemeval, memorycode, precisionmembench, swecontextbench,
};
use afterthought_eval::vocabulary::Kind;
use anyhow::{Context as _, bail, ensure};
use futures::{FutureExt as _, StreamExt as _, stream};
use serde_json::json;

use super::args::ExtractorArg;
use super::consolidation;
use super::job::Job;
use super::search::{Ablation, BareFts5, CaseStore, Retriever, Turns, ablations};
use super::system::{CHANGED_AT, CaseFolder, inline_sources, run_case, run_logs};
use crate::cli::printer::{counted, set_message, spelled};

/// Runs all suites of a job; returns whether something failed.
pub(super) async fn run(job: &Job<'_>) -> anyhow::Result<bool> {
    let embedder = crate::api::embedder(&job.context.settings()?)?;
    let retriever = Retriever { kind: job.args.retriever, embedder: embedder.as_ref() };
    if job.args.recall {
        for path in &job.args.paths {
            run_ablations(job, path, job.args.corrections.as_deref(), &retriever).await?;
        }
        return Ok(false);
    }
    let (sets, suites): (Vec<PathBuf>, Vec<PathBuf>) =
        job.args.paths.iter().cloned().partition(|path| PublicSet::of(path).is_some());
    // A folder may contain cases of several kinds; a folder without cases is an error.
    let consolidates = |path: &Path| has_files_of::<Pair>(path) || has_files_of::<Stream>(path);
    let asks = |path: &Path| {
        has_files_of::<RecallCase>(path) || has_files_of::<BriefCase>(path) || has_files_of::<QaCase>(path)
    };
    let others = |path: &Path| consolidates(path) || asks(path) || !ExternalSet::files(path).is_empty();
    let conversations: Vec<PathBuf> = suites.iter().filter(|path| !others(path) || has_cases(path)).cloned().collect();
    ensure!(
        (conversations.is_empty() && sets.is_empty()) || job.args.extractor != Some(ExtractorArg::Similarity),
        "similarity extracts nothing from conversations; use --extractor similarity for *-pairs.jsonl and *-streams.jsonl"
    );
    let mut failed = false;
    if !conversations.is_empty() {
        failed |= run_extraction(job, &conversations).await?;
    }
    if suites.iter().any(|path| consolidates(path)) {
        failed |= consolidation::run(job, &suites).boxed_local().await?;
    }
    failed |= run_lines(job, &suites, Kind::Recall, &retriever.name(), async |placed: &Placed<RecallCase>| {
        let case = &placed.case;
        let mut store = CaseStore::of(&case.id, &case.memories, case.now.last())?;
        retriever.prepare(&mut store).await?;
        let mut rows = Vec::new();
        for query in &case.queries {
            let (started, limit) = (Instant::now(), query.most.unwrap_or(RECALL_LIMIT));
            let found = store.find(&retriever, &query.ask, &query.namespaces, limit).await?;
            rows.push(score_query(placed, query, &found, tokens::count).timed(started));
        }
        Ok(rows)
    })
    .await?;
    failed |= run_lines(job, &suites, Kind::Brief, &retriever.name(), async |placed: &Placed<BriefCase>| {
        let case = &placed.case;
        let store = CaseStore::of(&case.id, &case.memories, case.now.last())?;
        let mut rows = Vec::new();
        for situation in &case.situations {
            let started = Instant::now();
            let brief = store.brief(situation, &retriever)?;
            rows.push(score_brief(placed, situation, &brief).timed(started));
        }
        Ok(rows)
    })
    .await?;
    let label = format!("{} over {}", retriever.name(), job.label);
    failed |= run_lines(job, &suites, Kind::Qa, &label, async |placed| {
        Box::pin(run_questions(job, placed, &retriever)).await
    })
    .await?;
    for file in &sets {
        failed |= run_public_set(job, file, job.args.corrections.as_deref(), &retriever).await?;
    }
    for file in suites.iter().flat_map(|path| ExternalSet::files(path)) {
        let set = ExternalSet::read(&file)?;
        if let Some((path, corrections)) = set.locate(|name| std::env::var_os(name).map(PathBuf::from)) {
            failed |= run_public_set(job, &path, corrections.as_deref(), &retriever).await?;
        } else {
            let (name, variable, home) = (&set.name, &set.variable, &set.home);
            job.context.out.note(format_args!(
                "{name} is skipped: set {variable} to the path of the data set, which is available at {home}"
            ));
        }
    }
    Ok(failed)
}

/// Runs every case of one kind in `paths`. A case that cannot be run becomes a row with its error.
async fn run_lines<T: LineCase>(
    job: &Job<'_>,
    paths: &[PathBuf],
    kind: Kind,
    label: &str,
    run: impl AsyncFn(&Placed<T>) -> anyhow::Result<Vec<Row>>,
) -> anyhow::Result<bool> {
    let (cases, errors) = read_cases::<T>(paths);
    let mut rows = Vec::new();
    for placed in &cases {
        // The future is boxed, since the types of nested futures grow beyond what the compiler supports.
        let ran = run(placed).boxed_local().await;
        let ran = ran.unwrap_or_else(|error| vec![placed.row(kind).failed(spelled(&error))]);
        rows.extend(ran.into_iter().map(|row| (placed.file.clone(), row)));
    }
    job.take(label, rows, None, errors)
}

/// Runs the questions of a case as searches, either in the memories of the case or in memories extracted from its
/// conversation.
async fn run_questions(job: &Job<'_>, placed: &Placed<QaCase>, retriever: &Retriever<'_>) -> anyhow::Result<Vec<Row>> {
    let (case, now) = (&placed.case, placed.case.now.last());
    let folder = CaseFolder::new(job.options.keep.as_deref(), &placed.label())?;
    let mut used = Cost::default();
    let mut store = if case.transcript.is_empty() {
        CaseStore::of(&case.id, &case.memories, now)?
    } else {
        let sources = inline_sources(vec![folder.write_log(&case.id, &case.transcript)?]);
        let extraction = run_logs(&sources, &folder.database(), job.subject, job.options).await?;
        let mut store = CaseStore::around(Store::open(folder.database())?, now);
        // A control returns memories without storing them.
        if store.store.count(&Filter::default())? == 0 {
            store.insert_predictions(&extraction.predictions)?;
        }
        used = extraction.usage;
        store
    };
    let all = store.all()?;
    retriever.prepare(&mut store).await?;
    let mut rows = Vec::new();
    for question in &case.questions {
        let started = Instant::now();
        let found = store.find(retriever, &question.ask, &question.namespaces, QA_LIMIT).await?;
        rows.push(score_question(placed, question, &found, &all, tokens::count).timed(started));
    }
    // The requests for the conversation count once.
    if let Some(first) = rows.first_mut() {
        first.cost = Cost { ms: first.cost.ms, ..job.priced(used) };
    }
    Ok(rows)
}

async fn run_extraction(job: &Job<'_>, paths: &[PathBuf]) -> anyhow::Result<bool> {
    let found = discover(paths)?;
    let (bar, all, done) = (job.context.out.progress(), found.len(), Cell::new(0));
    let ran: Vec<anyhow::Result<Vec<(PathBuf, Row)>>> = stream::iter(found)
        .map(|found| async {
            let folder = found.0.clone();
            let label = found.1.as_ref().map(LoadedCase::label).unwrap_or_default();
            let content = content_hash(&folder).ok().map(|content| format!("{content} {} {label}", folder.display()));
            let run = run_one_case(job, found).boxed_local();
            let rows = job.gather.cached((Kind::Extraction, content.as_deref(), job.repeat), run).await?;
            done.set(done.get() + 1);
            set_message(&bar, &format!("{} of {all} cases", done.get()));
            Ok(rows.into_iter().map(|row| (folder.clone(), row)).collect())
        })
        .buffered(job.args.jobs)
        .collect()
        .await;
    bar.finish_and_clear();
    let rows = ran.into_iter().collect::<anyhow::Result<Vec<_>>>()?;
    job.take(&job.label, rows.into_iter().flatten().collect(), None, Vec::new())
}

async fn run_one_case(job: &Job<'_>, (folder, case): DiscoveredCase) -> Vec<Row> {
    let case = match case {
        Ok(case) => case,
        Err(error) => {
            return vec![Row::new(Kind::Extraction, folder.display().to_string()).failed(spelled(&error.into()))];
        }
    };
    // The row is created first, so that a case that cannot run still belongs to its groups.
    let empty = extraction::empty_row(&case);
    // Cases in progress may finish, but no further case starts after an interrupt.
    if job.options.cancel.is_cancelled() {
        return vec![empty.failed("interrupted before it began".to_owned())];
    }
    let started = Instant::now();
    vec![match run_case(&case, job.subject, job.options).boxed_local().await {
        Ok(extraction) => {
            let row = extraction::score(&case, &extraction);
            job.costed(row, extraction.usage, started)
        }
        Err(error) => empty.failed(spelled(&error)),
    }]
}

async fn run_public_set(
    job: &Job<'_>,
    file: &Path,
    corrections: Option<&Path>,
    retriever: &Retriever<'_>,
) -> anyhow::Result<bool> {
    match PublicSet::of(file) {
        Some(PublicSet::HaluMem) => run_halumem(job, file, retriever).await,
        Some(PublicSet::LongMemEval) => run_longmemeval(job, file, retriever).await,
        Some(PublicSet::Locomo) => run_locomo(job, file, corrections).await,
        Some(PublicSet::MemoryCode) => run_memorycode(job, file).await,
        Some(PublicSet::Realtalk | PublicSet::Beam) => {
            run_ablations(job, file, None, retriever).await?;
            Ok(false)
        }
        Some(PublicSet::PrecisionMemBench) => run_precisionmembench(job, file, retriever).await,
        Some(PublicSet::SweContextBench) => run_swecontextbench(job, file).await,
        None => bail!("{} is not from a known data set; see evals/README.md", file.display()),
    }
}

/// Collects rows of the cases of one file.
fn take_of(job: &Job<'_>, file: &Path, label: &str, rows: Vec<Row>) -> anyhow::Result<bool> {
    job.take(label, rows.into_iter().map(|row| (file.to_owned(), row)).collect(), None, Vec::new())
}

async fn run_longmemeval(job: &Job<'_>, file: &Path, retriever: &Retriever<'_>) -> anyhow::Result<bool> {
    let items = longmemeval::read(file)?;
    let (bar, mut rows) = (job.context.out.progress(), Vec::new());
    for (done, item) in items.iter().enumerate() {
        set_message(&bar, &format!("{done} of {} questions", items.len()));
        let mut found = Vec::new();
        let started = Instant::now();
        // The authors leave these questions out of retrieval, so no store is built for them.
        if !item.abstains() {
            let mut store = CaseStore::of(&item.id, &item.memories(), item.now())?;
            retriever.prepare(&mut store).await?;
            found = store.find(retriever, &item.question, &[], longmemeval::LIMIT).await?;
        }
        rows.push(longmemeval::score(item, &found, tokens::count).timed(started));
    }
    bar.finish_and_clear();
    take_of(job, file, &retriever.name(), rows)
}

/// Runs the pipeline for the users of a `HaluMem` file, and also searches a store that contains all memory points.
async fn run_halumem(job: &Job<'_>, file: &Path, retriever: &Retriever<'_>) -> anyhow::Result<bool> {
    let (mut users, mut questions, mut retrieval) = (Vec::new(), Vec::new(), Vec::new());
    for user in halumem::read(file)? {
        let memories = user.points_as_memories();
        let mut points = CaseStore::of(&user.uuid, &memories, user.now())?;
        retriever.prepare(&mut points).await?;
        let texts = memories.into_iter().map(|point| (point.id, point.content)).collect::<Vec<_>>();
        let bare = BareFts5::of(&texts)?;
        for (number, question) in user.questions() {
            let started = Instant::now();
            let found = points.find(retriever, &question.question, &[], halumem::PLACES).await?;
            let found = found.into_iter().map(|point| point.content).collect();
            let bare = bare.search(&question.question)?.into_iter().map(|(_, content)| content).collect();
            let row = halumem::score_retrieval(&user, number, question, &[("", found), ("FTS5 ", bare)]);
            retrieval.extend(row.map(|row| row.timed(started)));
        }
        let started = Instant::now();
        let extraction = match run_conversations(job, &user.uuid, &user.conversations()).boxed_local().await {
            Ok(extraction) => extraction,
            Err(error) => {
                users.push(Row::new(Kind::HaluMem, &user.uuid).failed(spelled(&error)));
                continue;
            }
        };
        let row = halumem::score_user(&user, &extraction.predictions);
        users.push(job.costed(row, extraction.usage, started));
        let mut store = CaseStore::empty(user.now())?;
        store.insert_predictions(&extraction.predictions)?;
        for (number, question) in user.questions() {
            let started = Instant::now();
            // The search uses only words, so that the figures of the extraction do not depend on an embedding server.
            let found = store.find(&Retriever::WORDS, &question.question, &[], halumem::LIMIT).await?;
            let row = halumem::score_question(&user, number, question, &found, tokens::count);
            questions.push(row.timed(started));
        }
    }
    // `||` would skip the other tables after a failure.
    let failed = take_of(job, file, &job.label, users)? | take_of(job, file, &job.label, questions)?;
    Ok(failed | take_of(job, file, &retriever.name(), retrieval)?)
}

/// Runs the pipeline on the conversations of the case `id`, in their order.
async fn run_conversations(
    job: &Job<'_>,
    id: &str,
    conversations: &[(String, Vec<CaseMessage>)],
) -> anyhow::Result<Extraction> {
    let folder = CaseFolder::new(job.options.keep.as_deref(), id)?;
    let logs = conversations.iter().map(|(id, messages)| folder.write_log(id, messages)).collect::<Result<_, _>>()?;
    run_logs(&inline_sources(logs), &folder.database(), job.subject, job.options).await
}

async fn run_memorycode(job: &Job<'_>, place: &Path) -> anyhow::Result<bool> {
    let (content, dialogues) = (&content_hash(place)?, memorycode::read(place)?);
    let ran: Vec<anyhow::Result<Vec<Row>>> = stream::iter(&dialogues)
        .map(|dialogue| async move {
            let content = format!("{content} {}", dialogue.id);
            let run = async {
                let started = Instant::now();
                vec![match run_conversations(job, &dialogue.id, &dialogue.conversations()).boxed_local().await {
                    Ok(extraction) => job.costed(memorycode::score(dialogue, &extraction), extraction.usage, started),
                    Err(error) => Row::new(Kind::MemoryCode, &dialogue.id).failed(spelled(&error)),
                }]
            };
            job.gather.cached((Kind::MemoryCode, Some(&content), job.repeat), run).await
        })
        .buffered(job.args.jobs)
        .collect()
        .await;
    take_of(job, place, &job.label, ran.into_iter().collect::<anyhow::Result<Vec<_>>>()?.concat())
}

/// Searches the beliefs of a `PrecisionMemBench` folder, before and after they are consolidated.
async fn run_precisionmembench(job: &Job<'_>, folder: &Path, retriever: &Retriever<'_>) -> anyhow::Result<bool> {
    let set = precisionmembench::read(folder)?;
    let mut store = CaseStore::of("beliefs", &set.memories(), CHANGED_AT)?;
    let mut consolidated = store.consolidated().boxed_local().await?;
    retriever.prepare(&mut store).await?;
    retriever.prepare(&mut consolidated).await?;
    let mut rows = Vec::new();
    for case in &set.cases {
        let (started, namespaces) = (Instant::now(), case.namespaces());
        let bare = BareFts5::of(&set.texts(case))?.search(&case.query)?;
        let mut ways = vec![("FTS5 ", bare.into_iter().map(|(content, _)| vec![content]).collect())];
        for (way, store) in [("", &store), ("consolidated ", &consolidated)] {
            let found = store.find(retriever, &case.query, &namespaces, precisionmembench::LIMIT).await?;
            ways.push((way, found.into_iter().map(|memory| memory.quotes).collect()));
        }
        rows.push(set.score(case, &ways).timed(started));
    }
    take_of(job, folder, &retriever.name(), rows)
}

/// Searches the memories and tasks of each repository's sessions for the issues of the repository.
async fn run_swecontextbench(job: &Job<'_>, place: &Path) -> anyhow::Result<bool> {
    let is_control = job.args.control().is_some();
    ensure!(
        !is_control,
        "a control stores no tasks, which SWE-ContextBench searches; use --extractor rules or a model"
    );
    let (content, mut rows) = (content_hash(place)?, Vec::new());
    for repository in swecontextbench::read(place)? {
        let content = format!("{content} {}", repository.name);
        let run = async {
            let failed =
                |error: anyhow::Error| vec![Row::new(Kind::SweContextBench, &repository.name).failed(spelled(&error))];
            run_repository(job, &repository).boxed_local().await.unwrap_or_else(failed)
        };
        rows.extend(job.gather.cached((Kind::SweContextBench, Some(&content), job.repeat), run).await?);
    }
    take_of(job, place, &job.label, rows)
}

async fn run_repository(job: &Job<'_>, repository: &Repository) -> anyhow::Result<Vec<Row>> {
    let started = Instant::now();
    let folder = CaseFolder::new(job.options.keep.as_deref(), &repository.name.replace('/', "-"))?;
    let mut paths = Vec::new();
    for (id, log) in repository.logs() {
        let path = folder.path().join(format!("{id}.jsonl"));
        std::fs::write(&path, log).with_context(|| format!("cannot write {}", path.display()))?;
        paths.push(path);
    }
    let sources = Sources { paths, ..Sources::default() };
    let extraction = run_logs(&sources, &folder.database(), job.subject, job.options).await?;
    let store = CaseStore::around(Store::open(folder.database())?, CHANGED_AT);
    let mut rows = Vec::new();
    for issue in &repository.issues {
        let found = store.find_work(&issue.text, swecontextbench::LIMIT)?;
        rows.push(swecontextbench::score(repository, issue, &found, tokens::count));
    }
    // The requests for the logs count once.
    let first = rows.remove(0);
    rows.insert(0, job.costed(first, extraction.usage, started));
    Ok(rows)
}

/// Reads a `LoCoMo` file, and applies the corrections of its labels, if there are any.
fn read_locomo(job: &Job<'_>, file: &Path, corrections: Option<&Path>) -> anyhow::Result<Vec<Sample>> {
    let mut samples = locomo::read(file)?;
    if let Some(path) = corrections {
        let found = Corrections::read(path)?;
        let counts = samples.iter_mut().map(|sample| found.apply(sample));
        let (citations, questions) = counts.fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
        let (citations, questions) = (counted(citations, "citation"), counted(questions, "question"));
        job.context.out.note(format_args!(
            "{citations} corrected; {questions} used for retrieval only, since the answer is wrong"
        ));
    }
    Ok(samples)
}

async fn run_locomo(job: &Job<'_>, file: &Path, corrections: Option<&Path>) -> anyhow::Result<bool> {
    let samples = read_locomo(job, file, corrections)?;
    // Corrected labels are a different test, so earlier rows must not be reused.
    let content = content_hash(file)? + &corrections.map(content_hash).transpose()?.unwrap_or_default();
    let content = &content;
    let ran: Vec<anyhow::Result<Vec<Row>>> = stream::iter(&samples)
        .map(|sample| async move {
            let content = format!("{content} {}", sample.id);
            let run = async {
                let failed = |error| vec![Row::new(Kind::Retention, &sample.id).failed(spelled(&error))];
                run_sample(job, sample).boxed_local().await.unwrap_or_else(failed)
            };
            job.gather.cached((Kind::Retention, Some(&content), job.repeat), run).await
        })
        .buffered(job.args.jobs)
        .collect()
        .await;
    let rows = ran.into_iter().collect::<anyhow::Result<Vec<_>>>()?.concat();
    let mut failed = false;
    for kind in [Kind::Retention, Kind::Locomo, Kind::LocomoObservations] {
        let own = rows.iter().filter(|row| row.kind == kind.as_str()).cloned().collect();
        failed |= take_of(job, file, &job.label, own)?;
    }
    Ok(failed)
}

async fn run_sample(job: &Job<'_>, sample: &Sample) -> anyhow::Result<Vec<Row>> {
    let started = Instant::now();
    let folder = CaseFolder::new(job.options.keep.as_deref(), &sample.id)?;
    let log = folder.path().join(format!("{}.json", sample.id.replace(['/', '\\'], "-")));
    // Only the conversation is written: the questions and facts in the file would reveal the answers.
    std::fs::write(&log, sample.conversation.to_string()).with_context(|| format!("cannot write {}", log.display()))?;
    let sources = Sources { paths: vec![log], format: Some("locomo".to_owned()), ..Sources::default() };
    let extraction = run_logs(&sources, &folder.database(), job.subject, job.options).await?;
    let row = locomo::score_retention(sample, &extraction, tokens::count);
    let mut rows = vec![job.costed(row, extraction.usage, started)];
    let turns = Turns::of(std::slice::from_ref(sample), false)?;
    let mut store = CaseStore::empty(turns.store.now)?;
    store.insert_predictions(&extraction.predictions)?;
    for question in sample.all_questions().enumerate() {
        let started = Instant::now();
        let ask = &question.1.question;
        let answers = Answers {
            turns: turns.search(0, ask, &Ablation::default(), &[])?,
            memories: store.find(&Retriever::WORDS, ask, &[], locomo::LIMIT).await?,
        };
        rows.push(locomo::score_answers(sample, question, &answers, &extraction, tokens::count).timed(started));
    }
    rows.push(locomo::score_facts(sample, &extraction));
    Ok(rows)
}

/// Search methods whose rows go into the result file; the others are ablations.
const KEPT: [&str; 3] = ["bare FTS5", "search", "search and vectors"];

/// Measures plain FTS5 and the search on the turns of a data set, with a table for each part of the set; with `--recall`,
/// also the search without each of its own parts.
async fn run_ablations(
    job: &Job<'_>,
    place: &Path,
    corrections: Option<&Path>,
    retriever: &Retriever<'_>,
) -> anyhow::Result<()> {
    let mut samples = match PublicSet::of(place) {
        Some(PublicSet::Locomo) => read_locomo(job, place, corrections)?,
        set => match set.and_then(|set| set.chats(place)) {
            Some(chats) => chats?,
            None => bail!("{} is not from LoCoMo, REALTALK or BEAM, which --recall measures", place.display()),
        },
    };
    samples.sort_by_key(|sample| Reverse(sample.split));
    for part in samples.chunk_by(|one, other| one.split == other.split) {
        run_searches(job, place, part, retriever).await?;
    }
    Ok(())
}

async fn run_searches(job: &Job<'_>, file: &Path, samples: &[Sample], retriever: &Retriever<'_>) -> anyhow::Result<()> {
    let mut turns = Turns::of(samples, false)?;
    retriever.prepare(&mut turns.store).await?;
    // Without --recall, only the complete search is measured, which takes a tenth of the time.
    let ablations = if job.args.recall { ablations() } else { vec![Ablation::default()] };
    let used = samples.iter().filter(|_| job.args.recall).map(|sample| Turns::of(std::slice::from_ref(sample), true));
    let used: Vec<Turns> = used.collect::<anyhow::Result<_>>()?;
    let (suite, out) = (job.gather.suite_of(file), job.context.out);
    let mut rows: Vec<Row> = Vec::new();
    for (place, sample) in samples.iter().enumerate() {
        let (namespace, said) = &turns.conversations[place];
        let bare = BareFts5::of(said)?;
        for (number, question) in sample.asked.iter().enumerate() {
            let ask = &question.question;
            let mut found = vec![("bare FTS5".to_owned(), bare.search(ask)?)];
            for ablation in &ablations {
                found.push((ablation.name.to_owned(), turns.search(place, ask, ablation, &[])?));
            }
            // Ids of turns are unique within a conversation only, so each conversation has its own store.
            if let Some(used) = used.get(place) {
                let again = used.search(0, ask, &Ablation::default(), &[])?;
                used.open(&again, &question.evidence);
                found.push(("search, with age and use".to_owned(), again));
            }
            if let Some((model, vector)) = turns.vector(retriever.embedder, ask).await? {
                found.push(("vectors alone".to_owned(), turns.nearest(place, model, &vector)?));
                for ablation in &ablations {
                    let channel = turns.channel(place, model, &vector)?;
                    let name = match ablation.name {
                        "search" => "search and vectors".to_owned(),
                        "words alone" => "words and vectors alone".to_owned(),
                        without => format!("and vectors, {without}"),
                    };
                    found.push((name, turns.search(place, ask, ablation, &[channel])?));
                }
            }
            for (name, found) in found {
                let case = format!("{namespace}/{}", number + 1);
                let mut row = locomo::score_search(sample, (case, question), &found, tokens::count);
                row.suite = format!("{suite}: {name}");
                if KEPT.contains(&name.as_str()) {
                    job.gather.row(row.clone(), file, job.repeat);
                }
                rows.push(row);
            }
        }
    }
    let memories: usize = samples.iter().map(|sample| sample.turns.len()).sum();
    let questions: usize = samples.iter().map(|sample| sample.asked.len()).sum();
    let arms = arms(rows);
    if out.is_json() {
        let conversations = samples.len();
        return Ok(out.json(&json!({
            "file": file, "split": samples[0].split, "conversations": conversations, "memories": memories, "questions": questions, "arms": arms,
        }))?);
    }
    out.line(format_args!(
        "{}, {}: {}, {memories} turns as memories, {}",
        file.display(),
        samples[0].split,
        counted(samples.len() as u64, "conversation"),
        counted(questions as u64, "question")
    ))?;
    super::results::print_blocks(&[arm_table(&arms)], out)
}
