//! `run --estimate`: the price before paying.

use afterthought::config::ExtractorChoice;
use afterthought::llm::{Budget, DEFAULT_MODEL, Limits};
use afterthought::pipeline::{self, Basis, Estimate, Event, Extractor, Pipeline, RequestCounter};
use afterthought::store::Store;
use anyhow::Context as _;
use tokio_util::sync::CancellationToken;

use super::job::{Job, Mode, follow, guard_of, runtime, stop_on_interrupt};
use super::model::model_settings;
use super::shared::Shared;
use crate::cli::args::Context;
use crate::cli::exit::ExitStatus;
use crate::cli::printer::{BOLD, Printer, counted};
use crate::cli::report;
use crate::cli::spend::prices;

/// Tells what the run would send and cost. No key is needed, and a model without a server can be named.
pub(super) fn start(args: &Shared, in_batches: bool, context: &Context<'_>) -> anyhow::Result<ExitStatus> {
    let config = args.settings(context)?;
    let guard = guard_of(&config);
    count(&Job { args, mode: Mode::Plan, out: None, config: &config, context, guard: &guard }, in_batches)
}

fn count(job: &Job<'_>, in_batches: bool) -> anyhow::Result<ExitStatus> {
    let options = job.args.options(job.config, false)?;
    let path = &job.config.db.value;
    let store = if path.exists() { Store::open_read_only(path)? } else { Store::in_memory()? };
    let asks = job.config.extractor.value != ExtractorChoice::Rules;
    let (model, is_named) = if asks { model(job)? } else { (String::new(), true) };
    let price = job
        .args
        .asking
        .price_of(&model, &prices(job.config)?)
        .map(|price| if in_batches { price.in_batch() } else { price });
    let (counter, budget) = (RequestCounter::new(&model), Budget::new(Limits::default(), price, &model)?);
    let extractor = if asks { Extractor::Llm(&counter) } else { Extractor::Rules };
    let pipeline = Pipeline::new(&store, job.guard, extractor, &budget, options);
    let (cancel, out) = (CancellationToken::new(), job.context.out);
    let bar = out.progress();
    let mut reporter = report::RunReporter::new(out, &store, true);
    let mut watch = |event: &Event<'_>| follow(event, &bar, out, &mut reporter);
    let arguments = job.arguments();
    let counting = async {
        stop_on_interrupt(cancel.clone());
        pipeline::estimate(pipeline, price, &arguments, cancel.clone(), &mut watch).await
    };
    let estimate = runtime()?.block_on(counting)?;
    bar.finish_and_clear();
    reporter.end().context("cannot write the output")?;
    if asks && !is_named {
        out.note(format_args!("no model is configured, so this is for {DEFAULT_MODEL}; --model names another"));
    }
    tell(&estimate, out)?;
    let nothing_was_read = estimate.files.failed > 0 && estimate.files.seen() == 0;
    Ok(match (nothing_was_read, estimate.interrupted || !estimate.failures.is_empty()) {
        (true, _) => ExitStatus::Error,
        (_, true) => ExitStatus::Failures,
        (false, false) => ExitStatus::Success,
    })
}

/// Returns the model that the run would ask, and whether it was named.
fn model(job: &Job<'_>) -> anyhow::Result<(String, bool)> {
    let configured = model_settings(job.config)?.map(|settings| settings.model);
    let named = configured.or_else(|| job.config.model.value.clone());
    let is_named = named.is_some();
    Ok((named.unwrap_or_else(|| DEFAULT_MODEL.to_owned()), is_named))
}

fn tell(estimate: &Estimate, out: &Printer) -> anyhow::Result<()> {
    if out.is_json() {
        return Ok(out.json(estimate)?);
    }
    let windows = estimate.windows;
    out.line(format_args!(
        "{}, {}, {}: {} to read, {} known, {} without a person's words",
        counted(estimate.transcripts, "conversation"),
        counted(estimate.messages, "message"),
        counted(windows.total, "window"),
        windows.new,
        windows.known,
        windows.no_signal,
    ))?;
    report::print_files(out, estimate.files, estimate.filtered, estimate.transcripts);
    if estimate.interrupted {
        out.warn("interrupted; the rest is not counted");
    }
    if estimate.llm_calls + estimate.cached_replies == 0 {
        out.line(format_args!("{BOLD}no call{BOLD:#}: {} would send nothing", estimate.extractor))?;
        return Ok(());
    }
    let basis = match estimate.completion_tokens_from {
        Basis::Ledger => "the average so far",
        Basis::Assumed => "an assumption",
    };
    out.line(format_args!(
        "{} ({} answered from the ledger), {} tokens to send, about {} to receive ({} an answer, {basis})",
        counted(estimate.llm_calls, "call"),
        estimate.cached_replies,
        estimate.prompt_tokens,
        estimate.completion_tokens,
        estimate.completion_tokens_per_call,
    ))?;
    match estimate.cost {
        Some(cost) => out.line(format_args!("{BOLD}about ${cost:.4}{BOLD:#} with {}", estimate.extractor))?,
        None => out.line(format_args!(
            "the price of {} is not known; --price PROMPT,COMPLETION sets it, in dollars for a million tokens",
            estimate.extractor
        ))?,
    }
    out.note("second attempts come on top, and about one call for every 20 to 40 memories that are found, on how they relate");
    Ok(())
}
