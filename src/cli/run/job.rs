//! One run or plan from its settings to its exit code.

use std::path::Path;

use afterthought::config::{Config, ExtractorChoice};
use afterthought::consolidate::SavedPlan;
use afterthought::guard::Guard;
use afterthought::llm::Source;
use afterthought::pipeline::{self, Batching, Event, Extractor, Pipeline, Planned, Summary};
use afterthought::store::{RunId, Store};
use anyhow::{Context as _, ensure};
use indicatif::ProgressBar;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::model::{model_settings, reachable, source};
use super::shared::Shared;
use crate::cli::apply;
use crate::cli::args::{Context, now};
use crate::cli::exit::ExitStatus;
use crate::cli::printer::Printer;
use crate::cli::report;

/// Whether memories are written, and how a model is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    Write,
    /// Written, with questions answered in batches.
    Batches {
        /// Whether the run waits for the answers.
        waits: bool,
    },
    Plan,
}

pub(super) fn start(
    args: &Shared,
    mode: Mode,
    out: Option<&Path>,
    context: &Context<'_>,
) -> anyhow::Result<ExitStatus> {
    let config = args.settings(context)?;
    let guard = guard_of(&config);
    let job = Job { args, mode, out, config: &config, context, guard: &guard };
    let runtime = runtime()?;
    let replays = args.asking.replay.is_some();
    let settings =
        if replays { model_settings(&config)? } else { runtime.block_on(reachable(&config, context.out))? };
    let with_model = pipeline::choose(config.extractor.value, settings.is_some() || replays)?;
    let source = if with_model { Some(source(&args.asking, &config, settings, &guard)?) } else { None };
    let extractor = source.as_ref().map_or(Extractor::Rules, Extractor::Llm);
    ensure!(
        !matches!(mode, Mode::Batches { .. }) || with_model,
        "--batch-api needs a model; set OPENAI_API_KEY or OPENAI_BASE_URL, or leave it out for the offline rules"
    );
    runtime.block_on(job.go(extractor))
}

/// Returns the guard that the settings ask for.
pub(in crate::cli) fn guard_of(config: &Config) -> Guard {
    Guard::from(&config.guard)
}

/// Returns a runtime with one worker beside this thread, so that an interrupt is seen while this one computes.
pub(in crate::cli) fn runtime() -> anyhow::Result<tokio::runtime::Runtime> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
    runtime.context("cannot start")
}

/// One run or plan that is about to begin.
pub(super) struct Job<'a> {
    pub(super) args: &'a Shared,
    pub(super) mode: Mode,
    /// Where a plan is saved.
    pub(super) out: Option<&'a Path>,
    pub(super) config: &'a Config,
    pub(super) context: &'a Context<'a>,
    pub(super) guard: &'a Guard,
}

impl Job<'_> {
    async fn go(&self, extractor: Extractor<'_, Source<'_>>) -> anyhow::Result<ExitStatus> {
        // A mistake in what to read is told before a database is made.
        let options = self.args.options(self.config, self.context.out.is_verbose())?;
        let store = self.store(extractor)?;
        let budget = self.args.asking.budget(self.config, &extractor.label(), &store)?;
        let pipeline = Pipeline::new(&store, self.guard, extractor, &budget, options);
        let pipeline = match batching(self.mode, extractor) {
            Some(batching) => pipeline.in_batches(batching),
            None => pipeline,
        };
        let (cancel, out) = (CancellationToken::new(), self.context.out);
        stop_on_interrupt(cancel.clone());
        let bar = out.progress();
        let mut reporter = report::RunReporter::new(out, &store, self.mode == Mode::Plan);
        let mut hint = self.without_model(pipeline.extractor);
        let mut changes = Vec::new();
        let mut watch = |event: &Event<'_>| {
            if let (Event::Consolidated(plan), Some(_)) = (event, self.out) {
                changes.extend(plan.changes.iter().cloned());
            }
            let is_under_way = !matches!(event, Event::Failure(_));
            if let Some(hint) = hint.take_if(|_| is_under_way) {
                bar.suspend(|| out.note(hint));
            }
            follow(event, &bar, out, &mut reporter);
        };
        let (summary, planned) = match self.mode {
            Mode::Write | Mode::Batches { .. } => {
                (pipeline::run(pipeline, &self.arguments(), cancel, &mut watch).await?, None)
            }
            Mode::Plan => {
                let Planned { summary, seen, ledger } =
                    pipeline::plan(pipeline, &self.arguments(), cancel, &mut watch).await?;
                (summary, Some((seen, ledger)))
            }
        };
        bar.finish_and_clear();
        let run = summary.run.clone().map(|run| store.short_run_id(&RunId::from_stored(run))).transpose()?;
        reporter.print_summary(&summary, run.as_deref())?;
        if let Some((path, (seen, ledger))) = self.out.zip(planned) {
            let plan = SavedPlan::new(store.identity()?, seen, changes, ledger, now());
            apply::save(path, &plan, out)?;
        }
        Ok(exit_status(&summary))
    }

    /// Returns what to tell, once there is something to read, where only the lack of a model made the rules read.
    fn without_model(&self, extractor: Extractor<'_, Source<'_>>) -> Option<&'static str> {
        let fell_back = matches!(extractor, Extractor::Rules) && self.config.extractor.value == ExtractorChoice::Auto;
        fell_back
            .then_some("no model is configured and no Ollama answers, so the offline rules read; `afterthought status --check` tells how to set one")
    }

    /// Opens the database. A plan by rules that is not saved has nothing to keep, so it does not make one.
    fn store(&self, extractor: Extractor<'_, Source<'_>>) -> anyhow::Result<Store> {
        let path = &self.config.db.value;
        let makes_none =
            self.mode == Mode::Plan && self.out.is_none() && matches!(extractor, Extractor::Rules) && !path.exists();
        let store = if makes_none { Store::in_memory()? } else { Store::open(path)? };
        Ok(store.with_guard(guard_of(self.config)))
    }

    /// What tells one run from another when an interrupted one is looked for.
    pub(super) fn arguments(&self) -> serde_json::Value {
        json!({
            "paths": self.args.paths,
            "from": self.args.from,
            "since": self.args.since,
            "until": self.args.until,
            "project": self.args.project,
            "exclude": self.args.exclude,
            "format": self.args.format,
            "namespace": self.config.namespace.value,
        })
    }
}

fn batching<'a>(mode: Mode, extractor: Extractor<'a, Source<'_>>) -> Option<Batching<'a>> {
    match (mode, extractor) {
        (Mode::Batches { waits }, Extractor::Llm(source)) => Some(Batching { client: source.server()?, waits }),
        _ => None,
    }
}

fn exit_status(summary: &Summary) -> ExitStatus {
    let nothing_was_read = summary.files.failed > 0 && summary.files.read + summary.files.unchanged == 0;
    let read_windows = summary.windows.ok + summary.windows.ok_empty + summary.windows.partial;
    let nothing_was_answered = summary.halted.is_some() && read_windows == 0;
    if nothing_was_read || nothing_was_answered {
        ExitStatus::Error
    } else if summary.has_failures() {
        ExitStatus::Failures
    } else {
        ExitStatus::Success
    }
}

/// Lets the first interrupt, or the system's request to end, finish what is paid for, and the second end the process.
pub(in crate::cli) fn stop_on_interrupt(cancel: CancellationToken) {
    tokio::spawn(async move {
        if asked_to_end().await.is_ok() {
            cancel.cancel();
        }
        if asked_to_end().await.is_ok() {
            #[expect(clippy::exit, reason = "the person asked twice")]
            std::process::exit(130);
        }
    });
}

#[cfg(unix)]
async fn asked_to_end() -> std::io::Result<()> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut terminate = signal(SignalKind::terminate())?;
    tokio::select! {
        ended = tokio::signal::ctrl_c() => ended,
        _ = terminate.recv() => Ok(()),
    }
}

#[cfg(not(unix))]
async fn asked_to_end() -> std::io::Result<()> {
    tokio::signal::ctrl_c().await
}

/// Tells an event. The bar is out of the way while a line is printed; to move it meanwhile would wait for ever.
pub(super) fn follow(event: &Event<'_>, bar: &ProgressBar, out: &Printer, reporter: &mut report::RunReporter<'_>) {
    match event {
        Event::File(report) => bar.suspend(|| {
            for skipped in &report.skipped {
                out.detail(format_args!("{}:{}: {}", report.path.display(), skipped.record, skipped.reason));
            }
        }),
        Event::Window(summary) => bar.set_message(format!(
            "{} conversations, {} messages, {} windows, {} calls",
            summary.transcripts, summary.messages, summary.windows.total, summary.llm_calls
        )),
        Event::Consolidated(plan) => bar.suspend(|| reporter.print_changes(plan)),
        Event::Batch(text) => bar.suspend(|| out.note(text)),
        Event::Warning(text) => bar.suspend(|| out.warn(text)),
        Event::Failure(failure) => bar.suspend(|| {
            if failure.why.contains(&failure.what) {
                out.error_text(&failure.why);
            } else {
                out.error_text(&format!("{}: {}", failure.what, failure.why));
            }
        }),
    }
}
