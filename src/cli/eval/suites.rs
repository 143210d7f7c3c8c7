//! Runs each kind of suite: reads the cases, runs the program on them, and hands the scores on.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::Instant;

use afterthought::embed::Embedder;
use afterthought::guard::Guard;
use afterthought::llm::{Budgeted, Complete, Finish, ReplySchema, Request, Turn, TurnRole};
use afterthought::memory::Memory;
use afterthought::pipeline::Sources;
use afterthought::search::search;
use afterthought::store::{Filter, Order, Store};
use afterthought::tokens;
use afterthought_eval::case::{DiscoveredCase, LoadedCase, discover, has_cases};
use afterthought_eval::consolidation::{Pair, Stream, pair_measures, stream_measures};
use afterthought_eval::control::Control;
use afterthought_eval::files::{ExternalSet, LineCase, Placed, content_hash, files_of, read_cases};
use afterthought_eval::locomo::{Answers, Corrections, FoundWithMessages, Sample};
use afterthought_eval::matching::{self, FactPair, Judgement, ModelVerdicts, TRUSTED, Triple};
use afterthought_eval::prediction::Extraction;
use afterthought_eval::report::Report;
use afterthought_eval::results::{Manifest, Results};
use afterthought_eval::retrieval::{
    self, BriefCase, KnownMemory, QA_LIMIT, QaCase, Question, RECALL_LIMIT, RecallCase,
};
use afterthought_eval::row::{Cost, Measure, Row};
use afterthought_eval::{EvalError, extraction, halumem, locomo, longmemeval};
use anyhow::{Context as _, bail, ensure};
use futures::{FutureExt as _, StreamExt as _, stream};
use serde::Deserialize;
use serde_json::json;

use super::args::ExtractorArg;
use super::consolidation::{self, Decider};
use super::job::Job;
use super::search::{
    Ablation, BareFts5, CaseStore, Retriever, Turns, ablations, cosines, insert_predictions, namespaces,
};
use super::system::{CaseFolder, InFlight, Meter, Subject, inline_sources, run_case, run_logs, texts_of};
use crate::cli::embed::embedder;
use crate::cli::printer::{counted, spelled};

/// Runs all suites of a job; returns whether something failed.
pub(super) async fn run(job: &Job<'_>) -> anyhow::Result<bool> {
    let embedder = embedder(&job.context.settings()?)?;
    let retriever = Retriever { kind: job.args.retriever, embedder: embedder.as_ref() };
    if job.args.recall {
        for path in &job.args.paths {
            ensure!(
                locomo::is_locomo(path),
                "{} is no LoCoMo file; --recall takes conversations with questions",
                path.display()
            );
            run_ablations(job, path, embedder.as_ref()).await?;
        }
        return Ok(false);
    }
    let is_set = |path: &PathBuf| {
        path.is_file() && (halumem::is_halumem(path) || longmemeval::is_longmemeval(path) || locomo::is_locomo(path))
    };
    let (sets, suites): (Vec<PathBuf>, Vec<PathBuf>) = job.args.paths.iter().cloned().partition(is_set);
    let files =
        |find: fn(&Path) -> Vec<PathBuf>| -> Vec<PathBuf> { suites.iter().flat_map(|path| find(path)).collect() };
    let (pairs, streams) = (files(files_of::<Pair>), files(files_of::<Stream>));
    let (recall, brief, qa) = (files(files_of::<RecallCase>), files(files_of::<BriefCase>), files(files_of::<QaCase>));
    let (triples, external) = (files(files_of::<Triple>), files(ExternalSet::files));
    // A folder may contain cases of several kinds; one with none is an error.
    let others = [&pairs, &streams, &recall, &brief, &qa, &triples, &external];
    let has_others = |path: &PathBuf| others.iter().any(|files| files.iter().any(|file| file.starts_with(path)));
    let conversations: Vec<PathBuf> =
        suites.iter().filter(|path| !has_others(path) || has_cases(path)).cloned().collect();
    ensure!(
        (conversations.is_empty() && sets.is_empty()) || job.args.extractor != Some(ExtractorArg::Similarity),
        "similarity extracts nothing from conversations; use --extractor similarity for *-pairs.jsonl and *-streams.jsonl"
    );
    let mut failed = false;
    if !conversations.is_empty() {
        failed |= run_extraction(job, &conversations, embedder.as_ref()).await?;
    }
    if !(pairs.is_empty() && streams.is_empty()) {
        failed |= run_consolidation(job, &pairs, &streams).await?;
    }
    failed |= run_recall(job, &recall, &retriever).await?;
    failed |= run_brief(job, &brief, &retriever)?;
    failed |= run_qa(job, &qa, &retriever).await?;
    if !triples.is_empty() {
        failed |= run_triples(job, &triples, embedder.as_ref()).await?;
    }
    for file in &sets {
        failed |= run_public_set(job, file, job.args.corrections.as_deref(), &retriever).await?;
    }
    for file in &external {
        let set = ExternalSet::read(file)?;
        if let Some((path, corrections)) = set.locate(|name| std::env::var_os(name).map(PathBuf::from)) {
            failed |= run_public_set(job, &path, corrections.as_deref(), &retriever).await?;
        } else {
            let (name, variable, home) = (&set.name, &set.variable, &set.home);
            job.context.out.note(format_args!("{name} is skipped: {variable} names no file; it is at {home}"));
        }
    }
    Ok(failed)
}

/// Prints what could not be read; returns whether there was anything.
fn print_errors(job: &Job<'_>, errors: Vec<EvalError>) -> bool {
    let failed = !errors.is_empty();
    errors.into_iter().for_each(|error| job.context.out.error_text(&spelled(&error.into())));
    failed
}

async fn run_extraction(job: &Job<'_>, paths: &[PathBuf], embedder: Option<&Embedder>) -> anyhow::Result<bool> {
    let found = discover(paths)?;
    let (bar, all, done) = (job.context.out.progress(), found.len(), Cell::new(0));
    let ran: Vec<(PathBuf, anyhow::Result<Vec<Row>>)> = stream::iter(found)
        .map(|found| async {
            let folder = found.0.clone();
            let label = found.1.as_ref().map(LoadedCase::label).unwrap_or_default();
            // Agreement depends on models of its own.
            let content = content_hash(&folder).ok().filter(|_| !job.args.agreement);
            let content = content.map(|content| format!("{content} {} {label}", folder.display()));
            let run = run_one_case(job, found, embedder).boxed_local();
            let rows = job.gather.cached((extraction::KIND, content.as_deref(), job.repeat), run).await;
            done.set(done.get() + 1);
            bar.set_message(format!("{} of {all} cases", done.get()));
            (folder, rows)
        })
        .buffered(job.args.jobs)
        .collect()
        .await;
    bar.finish_and_clear();
    let (mut rows, mut agreement, mut unlisted) = (Vec::new(), Vec::new(), Vec::new());
    for (folder, ran) in ran {
        for row in ran? {
            if row.kind == matching::AGREEMENT {
                agreement.push(row);
                continue;
            }
            let open = row.findings.iter().filter(|finding| finding.what == "unlisted" && finding.why.is_empty());
            unlisted.extend(open.map(|finding| {
                json!({"case": row.case, "folder": folder, "content": finding.text, "evidence": finding.evidence})
            }));
            job.gather.row(row.clone(), &folder, job.repeat);
            rows.push(row);
        }
    }
    if let Some(path) = &job.args.unlisted {
        let text = serde_json::to_string_pretty(&unlisted)? + "\n";
        std::fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))?;
        job.context.out.note(format_args!("{} memories without a verdict are in {}", unlisted.len(), path.display()));
    }
    let measures = extraction::measures();
    let mut failed = job.report(Report::new(&job.label, measures.clone(), rows, None), measures)?;
    if let Some(place) = paths.first().filter(|_| job.args.agreement) {
        let measures = matching::agreement_measures(embedder.is_some(), job.judge.is_some());
        failed |= job.take(place, &job.label, measures, agreement)?;
    }
    Ok(failed)
}

async fn run_one_case(job: &Job<'_>, (folder, case): DiscoveredCase, embedder: Option<&Embedder>) -> Vec<Row> {
    let case = match case {
        Ok(case) => case,
        Err(error) => {
            let row = Row { kind: extraction::KIND.to_owned(), case: folder.display().to_string(), ..Row::default() };
            return vec![row.failed(spelled(&error.into()))];
        }
    };
    if job.options.cancel.is_cancelled() {
        return vec![extraction::empty_row(&case).failed("interrupted before it began".to_owned())];
    }
    let started = Instant::now();
    // Boxed, since the types of nested futures grow beyond what the compiler follows.
    match run_case(&case, job.subject, job.options).boxed_local().await {
        Ok(extraction) => {
            let mut rows = vec![job.priced(extraction::score(&case, &extraction), started)];
            if job.args.agreement {
                let pairs = matching::similar_pairs(&case, &extraction.predictions);
                let facts: Vec<FactPair<'_>> = pairs.iter().map(|(pair, _)| *pair).collect();
                // Verdicts of a model that fails count for nothing.
                let models = model_verdicts(job, embedder, &facts).await.unwrap_or_default();
                rows.push(matching::score_agreement(&case.label(), &pairs, &models));
            }
            rows
        }
        Err(error) => vec![extraction::empty_row(&case).failed(spelled(&error))],
    }
}

async fn run_triples(job: &Job<'_>, files: &[PathBuf], embedder: Option<&Embedder>) -> anyhow::Result<bool> {
    let (triples, errors) = read_cases::<Triple>(files);
    let models = model_verdicts(job, embedder, &matching::pairs_of(&triples)).await?;
    let mut rows = matching::score_triples(&triples, &models);
    let is_trusted = job.judge.is_some() && matching::is_judge_trusted(&rows);
    if let (Some(judge), false) = (job.judge, is_trusted) {
        job.context.out.warn(format_args!(
            "{} accepts too much as a judge: it must reject {TRUSTED} of the wrong and of the vague texts; its figures are not shown",
            judge.model()
        ));
        rows.iter_mut().for_each(matching::remove_judge);
    }
    let measures = matching::triple_measures(models.cosines.is_some(), is_trusted);
    let place = files.first().map_or(Path::new("."), PathBuf::as_path);
    Ok(print_errors(job, errors) | job.take(place, &job.label, measures, rows)?)
}

async fn model_verdicts(
    job: &Job<'_>,
    embedder: Option<&Embedder>,
    pairs: &[FactPair<'_>],
) -> anyhow::Result<ModelVerdicts> {
    let judgements = match job.judge {
        Some(model) => Some(judge(model, pairs).await),
        None => None,
    };
    Ok(ModelVerdicts { cosines: cosines(embedder, pairs).await?, judgements })
}

/// Prompt of the judge, which is fixed.
const JUDGE_PROMPT: &str = include_str!("../../../prompts/eval/judge.md");
/// Pairs in one request to the judge.
const JUDGE_BATCH: usize = 20;

#[derive(Deserialize)]
struct JudgeReply {
    verdicts: Vec<JudgedPair>,
}

#[derive(Deserialize)]
struct JudgedPair {
    pair: usize,
    verdict: Judgement,
}

/// Asks a model about each pair; `None` for a pair that it did not answer.
async fn judge<C: Complete>(model: &C, pairs: &[FactPair<'_>]) -> Vec<Option<Judgement>> {
    let guard = Guard::default();
    let mut judgements = Vec::with_capacity(pairs.len());
    for batch in pairs.chunks(JUDGE_BATCH) {
        let reply = match model.complete(&judge_request(&guard, batch)).await {
            Ok((reply, _)) if reply.finish != Finish::Refusal => serde_json::from_str::<JudgeReply>(&reply.text).ok(),
            Ok(_) | Err(_) => None,
        };
        let verdicts = reply.into_iter().flat_map(|reply| reply.verdicts);
        let found: BTreeMap<usize, Judgement> = verdicts.map(|one| (one.pair, one.verdict)).collect();
        judgements.extend((1..=batch.len()).map(|number| found.get(&number).copied()));
    }
    judgements
}

fn judge_request(guard: &Guard, pairs: &[FactPair<'_>]) -> Request {
    let mut text = String::new();
    for (number, (fact, memory)) in (1..).zip(pairs) {
        // One line each, so that no text can pose as another pair.
        let plain = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        let _ = writeln!(text, "{number}. fact: {}\n{number}. memory: {}", plain(fact), plain(memory));
    }
    let verdict = json!({"type": "string", "enum": ["says", "part", "contradicts", "other"]});
    let entry = json!({"type": "object", "additionalProperties": false, "required": ["pair", "verdict"],
        "properties": {"pair": {"type": "integer"}, "verdict": verdict}});
    let schema = json!({"type": "object", "additionalProperties": false, "required": ["verdicts"],
        "properties": {"verdicts": {"type": "array", "items": entry}}});
    Request {
        system: guard.redact(JUDGE_PROMPT.to_owned()).0,
        turns: vec![Turn { role: TurnRole::User, text: guard.redact(text).0 }],
        schema: ReplySchema { name: "verdicts".into(), schema },
        max_completion_tokens: u32::try_from(pairs.len()).unwrap_or(u32::MAX).saturating_mul(30).saturating_add(100),
    }
}

async fn run_consolidation(job: &Job<'_>, pairs: &[PathBuf], streams: &[PathBuf]) -> anyhow::Result<bool> {
    let (pair_cases, mut errors) = read_cases::<Pair>(pairs);
    let (stream_cases, more) = read_cases::<Stream>(streams);
    errors.extend(more);
    let (bar, started) = (job.context.out.progress(), Instant::now());
    bar.set_message(format!("{} pairs and {} streams", pair_cases.len(), stream_cases.len()));
    let cases = (&pair_cases[..], &stream_cases[..]);
    let (distractors, guard) = (job.args.distractors, job.options.guard);
    let mut refused = None;
    let mut usage = afterthought_eval::prediction::Usage::default();
    let (mut rows, totals) = match (job.args.extractor, job.subject) {
        (Some(ExtractorArg::Similarity), _) => {
            consolidation::run::<Meter<'_, Budgeted<'_, afterthought::llm::Source<'_>>>>(
                cases,
                Decider::Similarity,
                distractors,
                guard,
            )
            .boxed_local()
            .await?
        }
        (_, Subject::Llm(source)) => {
            let model = InFlight::new(Budgeted::new(source, job.options.budget), job.args.jobs);
            let meter = Meter::new(&model);
            let ran = consolidation::run(cases, Decider::Model(&meter), distractors, guard).boxed_local().await?;
            (refused, usage) = (model.refused(), meter.used());
            ran
        }
        (_, Subject::Rules) => {
            consolidation::run::<afterthought::llm::Source<'_>>(cases, Decider::Rules, distractors, guard)
                .boxed_local()
                .await?
        }
        (_, Subject::Control(Control::Nothing)) => {
            consolidation::run::<afterthought::llm::Source<'_>>(cases, Decider::AlwaysNew, distractors, guard)
                .boxed_local()
                .await?
        }
        (_, Subject::Control(_)) => bail!("consolidation has no such control; use --extractor none or similarity"),
    };
    bar.finish_and_clear();
    if let Some(why) = &refused {
        rows = rows.into_iter().map(|row| row.failed(why.clone())).collect();
        job.context
            .out
            .error_text(&format!("the model was not asked about everything, so this measures nothing: {why}"));
    }
    let totals = [
        ("incoming", totals.incoming),
        ("failed_calls", totals.failed_calls),
        ("asked_again", totals.asked_again),
        ("distractors_retired", totals.distractors_retired),
    ];
    // The totals are of all cases together; the first row of each kind carries them.
    for kind in ["pair", "stream"] {
        if let Some(row) = rows.iter_mut().find(|row| row.kind == kind) {
            row.counts.extend(totals.map(|(name, count)| (name.to_owned(), count)));
        }
    }
    let place_of = |row: &Row| {
        let pair = pair_cases.iter().find(|one| one.label() == row.case).map(|one| &one.file);
        pair.or_else(|| stream_cases.iter().find(|one| one.label() == row.case).map(|one| &one.file))
    };
    for row in &rows {
        if let Some(place) = place_of(row) {
            job.gather.row(row.clone(), place, job.repeat);
        }
    }
    let ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
    let cost = Cost { money: job.money(usage), ms, ..Cost::of(usage) };
    if let Some(place) = pairs.first().or(streams.first()) {
        job.gather.shared(cost, place, job.repeat);
    }
    let label = match (job.args.extractor, job.subject) {
        (Some(ExtractorArg::Similarity), _) => "similarity",
        (_, Subject::Rules) => "rules",
        (_, Subject::Llm(_) | Subject::Control(_)) => &job.label,
    };
    let measures: Vec<Measure> = pair_measures().into_iter().chain(stream_measures()).collect();
    let failed = job.report(Report::new(label, measures.clone(), rows, Some(cost)), measures)?;
    Ok(print_errors(job, errors) | failed | refused.is_some())
}

/// Collects the rows of cases by their files.
fn take_by_file<T: LineCase>(
    job: &Job<'_>,
    label: &str,
    measures: Vec<Measure>,
    rows: Vec<(&Placed<T>, Row)>,
) -> anyhow::Result<bool> {
    rows.iter().for_each(|(placed, row)| job.gather.row(row.clone(), &placed.file, job.repeat));
    let rows = rows.into_iter().map(|(_, row)| row).collect();
    job.report(Report::new(label, measures.clone(), rows, None), measures)
}

async fn run_recall(job: &Job<'_>, files: &[PathBuf], retriever: &Retriever<'_>) -> anyhow::Result<bool> {
    let (cases, errors) = read_cases::<RecallCase>(files);
    let mut rows = Vec::new();
    for placed in &cases {
        let case = &placed.case;
        let store = CaseStore::of(&case.id, &case.memories, case.now.last())?;
        let model = retriever.prepare(&store.store).await?;
        for query in &case.queries {
            let (started, asked) = (Instant::now(), namespaces(&query.namespaces)?);
            let limit = query.most.unwrap_or(RECALL_LIMIT);
            let asked = (query.ask.as_str(), &asked[..]);
            let found = retriever.find(&store.store, model.as_ref(), asked, limit, store.now).await?;
            let row = retrieval::score_query(placed, query, &store.found(&found), tokens::count);
            rows.push((placed, row.timed(started)));
        }
    }
    Ok(print_errors(job, errors) | take_by_file(job, &retriever.name(), retrieval::recall_measures(), rows)?)
}

fn run_brief(job: &Job<'_>, files: &[PathBuf], retriever: &Retriever<'_>) -> anyhow::Result<bool> {
    let (cases, errors) = read_cases::<BriefCase>(files);
    let mut rows = Vec::new();
    for placed in &cases {
        let case = &placed.case;
        let store = CaseStore::of(&case.id, &case.memories, case.now.last())?;
        for situation in &case.situations {
            let started = Instant::now();
            let brief = store.brief(situation, retriever)?;
            rows.push((placed, retrieval::score_brief(placed, situation, &brief).timed(started)));
        }
    }
    Ok(print_errors(job, errors) | take_by_file(job, &retriever.name(), retrieval::brief_measures(), rows)?)
}

async fn run_qa(job: &Job<'_>, files: &[PathBuf], retriever: &Retriever<'_>) -> anyhow::Result<bool> {
    let (cases, errors) = read_cases::<QaCase>(files);
    let mut rows = Vec::new();
    for placed in &cases {
        match run_qa_case(job, placed, retriever).boxed_local().await {
            Ok(own) => rows.extend(own.into_iter().map(|row| (placed, row))),
            Err(error) => rows.extend(placed.case.questions.iter().map(|question| {
                let row = retrieval::empty_row(placed, retrieval::QA, &question.id, &question.ask, &question.phenomena);
                (placed, row.failed(spelled(&error)))
            })),
        }
    }
    let label = format!("{} over {}", retriever.name(), job.label);
    Ok(print_errors(job, errors) | take_by_file(job, &label, retrieval::qa_measures(), rows)?)
}

async fn run_qa_case(job: &Job<'_>, placed: &Placed<QaCase>, retriever: &Retriever<'_>) -> anyhow::Result<Vec<Row>> {
    let (case, now) = (&placed.case, placed.case.now.last());
    let mut usage = afterthought_eval::prediction::Usage::default();
    let folder = CaseFolder::new(job.options.keep.as_deref(), &placed.label())?;
    let own = if case.transcript.is_empty() { Some(CaseStore::of(&case.id, &case.memories, now)?) } else { None };
    let extracted = if own.is_none() {
        let sources = inline_sources(vec![folder.write_log(&case.id, &case.transcript)?]);
        let extraction = run_logs(&sources, &folder.database(), job.subject, job.options).await?;
        let store = Store::open(folder.database())?;
        if store.count(&Filter::default())? == 0 {
            insert_predictions(&store, &extraction.predictions, now)?;
        }
        usage = extraction.usage;
        Some(store)
    } else {
        None
    };
    let Some(store) = own.as_ref().map(|own| &own.store).or(extracted.as_ref()) else { return Ok(Vec::new()) };
    let known = |memories: &[Memory]| -> anyhow::Result<Vec<KnownMemory>> {
        let known = |memory: &Memory| {
            let name = own.as_ref().map_or(memory.id.as_str(), |own| own.name(&memory.id));
            let evidence = store.evidence(&memory.id)?;
            Ok(KnownMemory {
                id: name.to_owned(),
                content: memory.claim.content.clone(),
                texts: texts_of(memory).into_iter().map(str::to_owned).collect(),
                quotes: evidence.into_iter().map(|piece| piece.quote).collect(),
            })
        };
        memories.iter().map(known).collect()
    };
    let all = known(&store.list(&Filter::default(), Order::Id, usize::MAX >> 1, 0)?)?;
    let model = retriever.prepare(store).await?;
    let mut rows = Vec::new();
    for question in &case.questions {
        let (started, asked) = (Instant::now(), namespaces(&question.namespaces)?);
        let asked = (question.ask.as_str(), &asked[..]);
        let found = known(&retriever.find(store, model.as_ref(), asked, QA_LIMIT, now).await?)?;
        rows.push(score_qa(placed, question, &found, &all).timed(started));
    }
    // The requests for the conversation count once.
    if let Some(first) = rows.first_mut() {
        first.cost = Cost { ms: first.cost.ms, money: job.money(usage), ..Cost::of(usage) };
    }
    Ok(rows)
}

fn score_qa(placed: &Placed<QaCase>, question: &Question, found: &[KnownMemory], all: &[KnownMemory]) -> Row {
    retrieval::score_question(placed, question, found, all, tokens::count)
}

async fn run_public_set(
    job: &Job<'_>,
    file: &Path,
    corrections: Option<&Path>,
    retriever: &Retriever<'_>,
) -> anyhow::Result<bool> {
    if halumem::is_halumem(file) {
        run_halumem(job, file, retriever).await
    } else if longmemeval::is_longmemeval(file) {
        run_longmemeval(job, file, retriever).await
    } else if locomo::is_locomo(file) {
        run_locomo(job, file, corrections).await
    } else {
        bail!("{} belongs to no known set; see evals/README.md", file.display())
    }
}

async fn run_longmemeval(job: &Job<'_>, file: &Path, retriever: &Retriever<'_>) -> anyhow::Result<bool> {
    let items = longmemeval::read(file)?;
    let (bar, mut rows) = (job.context.out.progress(), Vec::new());
    for (done, item) in items.iter().enumerate() {
        bar.set_message(format!("{done} of {} questions", items.len()));
        let mut found = Vec::new();
        let started = Instant::now();
        if !item.abstains() {
            let store = CaseStore::of(&item.id, &item.memories(), item.now())?;
            let model = retriever.prepare(&store.store).await?;
            let asked = (item.question.as_str(), &[][..]);
            let memories = retriever.find(&store.store, model.as_ref(), asked, longmemeval::LIMIT, store.now).await?;
            found = store.found(&memories);
        }
        rows.push(longmemeval::score(item, &found, tokens::count).timed(started));
    }
    bar.finish_and_clear();
    job.take(file, &retriever.name(), longmemeval::measures(), rows)
}

/// Runs the pipeline over the users of a `HaluMem` file, and searches a store of all points besides.
async fn run_halumem(job: &Job<'_>, file: &Path, retriever: &Retriever<'_>) -> anyhow::Result<bool> {
    let (mut users, mut questions, mut retrieval, mut failed) = (Vec::new(), Vec::new(), Vec::new(), false);
    for user in halumem::read(file)? {
        let points = CaseStore::of(&user.uuid, &user.points_as_memories(), user.now())?;
        let model = retriever.prepare(&points.store).await?;
        for (number, question) in user.questions() {
            let started = Instant::now();
            let asked = (question.question.as_str(), &[][..]);
            let found = retriever.find(&points.store, model.as_ref(), asked, 10, points.now).await?;
            let row = halumem::score_retrieval(&user, number, question, &points.found(&found));
            retrieval.extend(row.map(|row| row.timed(started)));
        }
        let started = Instant::now();
        let extraction = match run_user(job, &user).boxed_local().await {
            Ok(extraction) => extraction,
            Err(error) => {
                failed = true;
                job.context.out.error_text(&format!("{}: {}; it is left out", user.uuid, spelled(&error)));
                continue;
            }
        };
        let row = Row { cost: Cost::of(extraction.usage), ..halumem::score_user(&user, &extraction.predictions) };
        users.push(job.priced(row, started));
        let mut store = CaseStore::empty(user.now())?;
        store.insert_predictions(&extraction.predictions)?;
        for (number, question) in user.questions() {
            let started = Instant::now();
            let found = search(&store.store, &question.question, &Filter::default(), halumem::LIMIT, store.now)?;
            let found: Vec<Memory> = found.into_iter().map(|found| found.memory).collect();
            let row = halumem::score_question(&user, number, question, &store.found(&found), tokens::count);
            questions.push(row.timed(started));
        }
    }
    failed |= job.take(file, &job.label, halumem::measures(halumem::KIND), users)?;
    failed |= job.take(file, &job.label, halumem::measures(halumem::QUESTIONS), questions)?;
    Ok(failed | job.take(file, &retriever.name(), halumem::measures(halumem::RETRIEVAL), retrieval)?)
}

async fn run_user(job: &Job<'_>, user: &halumem::User) -> anyhow::Result<Extraction> {
    let folder = CaseFolder::new(job.options.keep.as_deref(), &user.uuid)?;
    let logs =
        user.conversations().iter().map(|(id, messages)| folder.write_log(id, messages)).collect::<Result<_, _>>()?;
    run_logs(&inline_sources(logs), &folder.database(), job.subject, job.options).await
}

async fn run_locomo(job: &Job<'_>, file: &Path, corrections: Option<&Path>) -> anyhow::Result<bool> {
    let mut samples = locomo::read(file)?;
    let mut content = content_hash(file)?;
    if let Some(path) = corrections {
        let found = Corrections::read(path)?;
        let counts = samples.iter_mut().map(|sample| found.apply(sample));
        let (citations, questions) = counts.fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
        let (citations, questions) = (counted(citations, "citation"), counted(questions, "question"));
        job.context.out.note(format_args!(
            "{citations} corrected; {questions} used for retrieval only, since the answer is wrong"
        ));
        content.push_str(&content_hash(path)?);
    }
    let content = &content;
    let ran: Vec<anyhow::Result<Vec<Row>>> = stream::iter(&samples)
        .map(|sample| async move {
            let content = format!("{content} {}", sample.id);
            let run = async {
                run_sample(job, sample).boxed_local().await.unwrap_or_else(|error| {
                    let (kind, case) = (locomo::RETENTION.to_owned(), sample.id.clone());
                    vec![Row { kind, case, ..Row::default() }.failed(spelled(&error))]
                })
            };
            job.gather.cached((locomo::RETENTION, Some(&content), job.repeat), run).await
        })
        .buffered(job.args.jobs)
        .collect()
        .await;
    let mut rows = Vec::new();
    for ran in ran {
        rows.extend(ran?);
    }
    let mut failed = false;
    for kind in [locomo::RETENTION, locomo::QUESTIONS, locomo::FACTS] {
        let own = rows.iter().filter(|row| row.kind == kind).cloned().collect();
        failed |= job.take(file, &job.label, locomo::measures(kind), own)?;
    }
    Ok(failed)
}

async fn run_sample(job: &Job<'_>, sample: &Sample) -> anyhow::Result<Vec<Row>> {
    let started = Instant::now();
    let folder = CaseFolder::new(job.options.keep.as_deref(), &sample.id)?;
    let log = folder.path().join(format!("{}.json", sample.id.replace(['/', '\\'], "-")));
    std::fs::write(&log, sample.conversation.to_string()).with_context(|| format!("cannot write {}", log.display()))?;
    let sources = Sources { paths: vec![log], format: Some("locomo".to_owned()), ..Sources::default() };
    let extraction = run_logs(&sources, &folder.database(), job.subject, job.options).await?;
    let mut rows = vec![job.priced(locomo::score_retention(sample, &extraction, tokens::count), started)];
    let turns = Turns::of(std::slice::from_ref(sample))?;
    let mut store = CaseStore::empty(turns.now())?;
    store.insert_predictions(&extraction.predictions)?;
    for question in sample.all_questions().enumerate() {
        let started = Instant::now();
        let ask = &question.1.question;
        let mut answers = Answers { turns: turns.search(0, ask, &Ablation::default(), &[])?, memories: Vec::new() };
        for found in search(&store.store, ask, &Filter::default(), locomo::LIMIT, store.now)? {
            let evidence = store.store.evidence(&found.memory.id)?;
            let messages = evidence.into_iter().flat_map(|piece| piece.messages).collect();
            answers.memories.push(FoundWithMessages { content: found.memory.claim.content, messages });
        }
        rows.push(locomo::score_answers(sample, question, &answers, &extraction, tokens::count).timed(started));
    }
    rows.push(locomo::score_facts(sample, &extraction));
    Ok(rows)
}

/// Ways of searching whose rows go into the result file; the others are ablations.
const KEPT: [&str; 3] = ["bare FTS5", "search", "search and vectors"];

/// Measures bare FTS5, the search, and the search without each of its parts on the turns of a file.
async fn run_ablations(job: &Job<'_>, file: &Path, embedder: Option<&Embedder>) -> anyhow::Result<()> {
    let samples = locomo::read(file)?;
    let turns = Turns::of(&samples)?;
    let model = match embedder {
        Some(embedder) => Some((embedder, turns.embed(embedder).await?)),
        None => None,
    };
    let (suite, guard) = (job.gather.suite_of(file), Guard::default());
    let mut rows: Vec<Row> = Vec::new();
    for (place, sample) in samples.iter().enumerate() {
        let (namespace, said) = &turns.conversations[place];
        let bare = BareFts5::of(said)?;
        for (number, question) in sample.asked.iter().enumerate() {
            let ask = &question.question;
            let mut found = vec![("bare FTS5".to_owned(), bare.search(ask)?)];
            for ablation in ablations() {
                found.push((ablation.name.to_owned(), turns.search(place, ask, &ablation, &[])?));
            }
            if let Some((embedder, model)) = &model {
                let vector = embedder.query(&guard, model, ask).await?.unwrap_or_default();
                found.push(("vectors alone".to_owned(), turns.nearest(place, model, &vector)?));
                for ablation in ablations() {
                    let channel = turns.channel(place, model, &vector)?;
                    let name = match ablation.name {
                        "search" => "search and vectors".to_owned(),
                        "words alone" => "words and vectors alone".to_owned(),
                        without => format!("and vectors, {without}"),
                    };
                    found.push((name, turns.search(place, ask, &ablation, &[channel])?));
                }
            }
            for (name, found) in found {
                let case = format!("{namespace}/{}", number + 1);
                let row = locomo::score_search(case, question, &found, tokens::count);
                rows.push(Row { suite: format!("{suite}: {name}"), ..row });
            }
        }
    }
    let kept = |row: &Row| KEPT.iter().any(|name| row.suite.ends_with(&format!(": {name}")));
    rows.iter().filter(|row| kept(row)).for_each(|row| job.gather.row(row.clone(), file, job.repeat));
    print_ablations(job, file, &samples, rows)
}

/// Prints a line for each way of searching, with its gain over the first in the share of turns among the first 10.
fn print_ablations(job: &Job<'_>, file: &Path, samples: &[Sample], rows: Vec<Row>) -> anyhow::Result<()> {
    let (out, measures) = (job.context.out, locomo::measures(locomo::SEARCH));
    let turns: usize = samples.iter().map(|sample| sample.turns.len()).sum();
    let questions: usize = samples.iter().map(|sample| sample.asked.len()).sum();
    let results = Results::new(Manifest::default(), measures.clone(), rows);
    let arms = afterthought_eval::compare::arms(&results);
    job.gather.define(measures.clone());
    if out.is_json() {
        let arm = |arm: &afterthought_eval::compare::Arm| {
            let name = arm.suite.rsplit_once(": ").map_or(arm.suite.as_str(), |(_, name)| name);
            json!({"name": name, "measures": arm.values, "gain": arm.gain})
        };
        let arms: Vec<_> = arms.iter().map(arm).collect();
        return Ok(out.json(&json!({
            "file": file, "conversations": samples.len(), "memories": turns, "questions": questions, "arms": arms,
        }))?);
    }
    out.line(format_args!(
        "{}: {}, {turns} turns as memories, {}",
        file.display(),
        counted(samples.len() as u64, "conversation"),
        counted(questions as u64, "question")
    ))?;
    let mut table = vec![
        std::iter::once(String::new())
            .chain(measures.iter().map(|measure| measure.name.clone()))
            .chain(std::iter::once("r@10 above the first, 95 %".to_owned()))
            .collect::<Vec<_>>(),
    ];
    for arm in &arms {
        let name = arm.suite.rsplit_once(": ").map_or(arm.suite.as_str(), |(_, name)| name).to_owned();
        let values =
            measures.iter().map(|measure| measure.unit.format(arm.values.get(&measure.name).copied().flatten()));
        let gain = arm.gain.as_ref().and_then(|gain| Some((gain.difference?, gain.interval?)));
        let gain = gain.map(|(gain, bounds)| format!("{gain:+.3} ({:+.3} to {:+.3})", bounds.low, bounds.high));
        table.push(std::iter::once(name).chain(values).chain(std::iter::once(gain.unwrap_or_default())).collect());
    }
    Ok(out.rows(table)?)
}
