//! Running suites: what is asked for them, and the order in which their parts run.

use std::path::{Path, PathBuf};

use afterthought::eval::external::Set;
use afterthought::eval::{self, RunOptions, Subject, Usage, asking, consolidation, external, matchers};
use afterthought::extract::{WindowBudget, rules};
use afterthought::guard::Guard;
use afterthought::llm::{Budget, Complete as _, Limits, Price, Prices, Replay, Source};
use afterthought::{config::Config, pipeline, prompts};
use anyhow::ensure;
use tokio_util::sync::CancellationToken;

use super::args::{EvalArgs, ExtractorArg};
use super::gather::{Gather, Told};
use super::{cases, imported, replies, settling};
use crate::cli::args::Context;
use crate::cli::exit::ExitStatus;
use crate::cli::run::{Tape, exchange, guard_of, model_settings, runtime, stop_on_interrupt};

pub(super) fn run(args: &EvalArgs, context: &Context<'_>) -> anyhow::Result<ExitStatus> {
    ensure!(args.jobs > 0, "--jobs 0 would run nothing; give at least 1");
    ensure!(args.repeat > 0, "--repeat 0 would run nothing; give at least 1");
    let once = args.repeat == 1 || args.record.is_none();
    ensure!(once, "a recording holds one answer to each request; record without --repeat, or keep the runs with --out");
    if let Some(folder) = &args.prompt {
        prompts::use_folder(folder)?;
    }
    let recorded = replies::find(args);
    if let Some(found) = &recorded {
        let (folder, model) = (found.folder.display(), &found.model);
        context.out.note(format_args!(
            "the model's answers are those of {model} that are recorded in {folder}; --extractor or --model asks another"
        ));
    }
    let config = context.global.settings(args.partial(recorded.as_ref().map(|found| found.model.as_str()))?)?;
    let guard = guard_of(&config);
    let replay = args.replay.as_deref().or(recorded.as_ref().map(|found| found.folder.as_path()));
    let asks = args.control().is_none()
        && pipeline::choose(config.extractor.value, model_settings(&config)?.is_some() || replay.is_some())?;
    let label = if asks {
        answering(args, &config, replay, None, &guard)?.model().to_owned()
    } else {
        args.control_name().unwrap_or(rules::VERSION).to_owned()
    };
    let price = args.price.or_else(|| Prices::default().of(&label)).filter(|_| asks);
    let limits = Limits { max_cost: config.max_cost.value, max_tokens: config.max_tokens.value, ..Limits::default() };
    let budget = Budget::new(limits, price, &label)?;
    let told = Told { asks, replayed: replay.is_some(), label: &label, config: &config };
    let gather = Gather::new(args, &told)?;
    let cancel = CancellationToken::new();
    let options = RunOptions {
        guard: &guard,
        budget: &budget,
        namespace: config.namespace.value.clone(),
        categories: config.categories.value.clone(),
        instructions: config.instructions.value.clone(),
        window: WindowBudget { tokens: config.window_tokens.value, ..WindowBudget::default() },
        calls_in_flight: config.jobs.value,
        again: args.again,
        keep: args.keep.clone(),
        cancel: cancel.clone(),
    };
    let failed = runtime()?.block_on(async {
        stop_on_interrupt(cancel);
        let mut failed = false;
        for repeat in 1..=args.repeat {
            let kept = gather.calls(repeat).filter(|_| args.record.is_none());
            let source = if asks || args.judge {
                Some(answering(args, &config, replay, kept.as_deref(), &guard)?)
            } else {
                None
            };
            let subject = match (args.control(), &source) {
                (Some(control), _) => Subject::Control(control),
                (None, Some(source)) if asks => Subject::Llm(source),
                (None, Some(_) | None) => Subject::Rules,
            };
            let judge = source.as_ref().filter(|_| args.judge);
            let (options, label) = (&options, label.clone());
            let job = Job { args, context, options, subject, judge, label, price, gather: &gather, repeat };
            failed |= job.go().await?;
        }
        anyhow::Ok(failed)
    })?;
    gather.finish(context.out)?;
    Ok(if failed { ExitStatus::Failures } else { ExitStatus::Success })
}

/// Returns where answers come from: a recording, a server, or a server behind the answers that are kept in `kept`.
fn answering<'g>(
    args: &EvalArgs,
    config: &Config,
    replay: Option<&Path>,
    kept: Option<&Path>,
    guard: &'g Guard,
) -> anyhow::Result<Source<'g>> {
    let record = args.record.as_deref().or(kept);
    let source = exchange(Tape { record, replay }, config, model_settings(config)?, guard)?;
    Ok(match (source, kept) {
        (Source::Recorded(recorder), Some(folder)) => {
            Source::Kept(Replay::new(folder, recorder.model().to_owned())?, recorder)
        }
        (source, _) => source,
    })
}

/// One run of all suites.
pub(super) struct Job<'a> {
    pub(super) args: &'a EvalArgs,
    pub(super) context: &'a Context<'a>,
    pub(super) options: &'a RunOptions<'a>,
    pub(super) subject: Subject<'a, Source<'a>>,
    /// The model that judges, where one is asked to.
    pub(super) judge: Option<&'a Source<'a>>,
    pub(super) label: String,
    /// What a model costs, where it is known.
    pub(super) price: Option<Price>,
    pub(super) gather: &'a Gather,
    /// Which run it is, from 1.
    pub(super) repeat: u32,
}

impl Job<'_> {
    /// Returns whether something failed.
    async fn go(&self) -> anyhow::Result<bool> {
        let (files, suites): (Vec<PathBuf>, Vec<PathBuf>) =
            self.args.paths.iter().cloned().partition(|path| Set::of(path).is_some());
        let settled: Vec<PathBuf> = suites.iter().flat_map(|path| consolidation::files(path)).collect();
        let asked: Vec<PathBuf> = suites.iter().flat_map(|path| asking::files(path)).collect();
        let triples: Vec<PathBuf> = suites.iter().flat_map(|path| matchers::files(path)).collect();
        let sets: Vec<PathBuf> = suites.iter().flat_map(|path| external::files(path)).collect();
        // A folder may hold cases of several kinds; one with none is told of.
        let holds_cases = |path: &PathBuf| {
            let others =
                [consolidation::files(path), asking::files(path), matchers::files(path), external::files(path)];
            others.iter().all(Vec::is_empty) || eval::holds_cases(path)
        };
        let suites: Vec<PathBuf> = suites.into_iter().filter(holds_cases).collect();
        let conversations = !suites.is_empty() || !files.is_empty();
        ensure!(
            !conversations || self.args.extractor != Some(ExtractorArg::Similarity),
            "likeness extracts nothing from conversations; use --extractor similarity for *-pairs.jsonl and *-streams.jsonl"
        );
        let mut failed = false;
        if !suites.is_empty() {
            failed |= cases::run(self, &suites).await?;
        }
        if !settled.is_empty() {
            failed |= settling::run(self, &settled, suites.is_empty()).await?;
        }
        if !asked.is_empty() {
            failed |= super::asking::run(self, &asked).await?;
        }
        if !triples.is_empty() {
            failed |= super::matching::run(self, &triples).await?;
        }
        for file in &files {
            failed |= imported::run(self, file, self.args.corrections.as_deref()).await?;
        }
        for set in &sets {
            failed |= imported::look(self, set).await?;
        }
        Ok(failed)
    }

    pub(super) fn cost(&self, usage: Usage) -> Option<f64> {
        self.price.map(|price| price.cost(usage.prompt_tokens, usage.completion_tokens))
    }

    /// Whether what came of it is told; of several runs the first is, and all together at the end.
    pub(super) fn is_told(&self) -> bool {
        self.repeat == 1 || self.context.out.is_json() || self.context.out.is_verbose()
    }
}
