//! `eval`: how good extraction and consolidation are, on cases that say what is right.

mod args;
mod cases;
mod recall;
mod retention;
mod settling;
mod tell;
mod worst;

use std::path::PathBuf;

use afterthought::config::ExtractorChoice;
use afterthought::eval::{self, Control, RunOptions, Subject, Usage, consolidation, locomo};
use afterthought::extract::WindowBudget;
use afterthought::llm::{Budget, Complete as _, Limits, Price, Prices, Source};
use afterthought::pipeline;
use anyhow::ensure;
use tokio_util::sync::CancellationToken;

use super::args::Context;
use super::exit::ExitStatus;
use super::run::{Tape, exchange, guard_of, model_settings, runtime, stop_on_interrupt};
pub use args::EvalArgs;
use args::ExtractorArg;

pub fn run(args: &EvalArgs, context: &Context<'_>) -> anyhow::Result<ExitStatus> {
    if args.schema {
        context.out.line(serde_json::to_string_pretty(&schema())?)?;
        return Ok(ExitStatus::Success);
    }
    if args.recall {
        return recall::run(&args.paths, context);
    }
    ensure!(args.jobs > 0, "--jobs 0 would run nothing; give at least 1");
    let config = context.global.settings(args.partial()?)?;
    let guard = guard_of(&config);
    let settings = model_settings(&config)?;
    let control = args.control();
    let asks =
        control.is_none() && pipeline::choose(config.extractor.value, settings.is_some() || args.replay.is_some())?;
    let tape = Tape { record: args.record.as_deref(), replay: args.replay.as_deref() };
    let source = if asks { Some(exchange(tape, &config, settings, &guard)?) } else { None };
    let label = label(args, source.as_ref());
    let price = args.price.or_else(|| Prices::default().of(&label));
    let limits = Limits { max_cost: config.max_cost.value, max_tokens: config.max_tokens.value, ..Limits::default() };
    let budget = Budget::new(limits, price, &label)?;
    let cancel = CancellationToken::new();
    let options = RunOptions {
        guard: &guard,
        budget: &budget,
        namespace: config.namespace.value.clone(),
        categories: config.categories.value.clone(),
        instructions: config.instructions.value.clone(),
        window: WindowBudget { tokens: config.window_tokens.value, ..WindowBudget::default() },
        calls_in_flight: config.jobs.value,
        keep: args.keep.clone(),
        cancel: cancel.clone(),
    };
    let subject = match (control, &source) {
        (Some(control), _) => Subject::Control(control),
        (None, Some(source)) => Subject::Llm(source),
        (None, None) => Subject::Rules,
    };
    let job = Job { args, context, options: &options, subject, label, price: price.filter(|_| asks) };
    runtime()?.block_on(async {
        stop_on_interrupt(cancel);
        job.go().await
    })
}

/// Returns the form of a case in each kind of file.
fn schema() -> serde_json::Value {
    let mut schema = eval::schema();
    if let Some(fields) = schema.as_object_mut() {
        fields.insert("consolidation".to_owned(), consolidation::schemas());
    }
    schema
}

/// Returns the name of what is measured.
fn label(args: &EvalArgs, source: Option<&Source<'_>>) -> String {
    match (args.extractor, source) {
        (_, Some(source)) => source.model().to_owned(),
        (Some(ExtractorArg::None), None) => "none".to_owned(),
        (Some(ExtractorArg::EverySentence), None) => "every-sentence".to_owned(),
        (Some(ExtractorArg::FirstPerson), None) => "first-person".to_owned(),
        (Some(ExtractorArg::Similarity), None) => "similarity".to_owned(),
        (Some(ExtractorArg::Llm | ExtractorArg::Rules | ExtractorArg::Auto) | None, None) => {
            afterthought::extract::rules::VERSION.to_owned()
        }
    }
}

/// One evaluation that is about to begin.
struct Job<'a> {
    args: &'a EvalArgs,
    context: &'a Context<'a>,
    options: &'a RunOptions<'a>,
    subject: Subject<'a, Source<'a>>,
    label: String,
    /// What a model costs, where it is known.
    price: Option<Price>,
}

impl Job<'_> {
    async fn go(&self) -> anyhow::Result<ExitStatus> {
        let (files, suites): (Vec<PathBuf>, Vec<PathBuf>) =
            self.args.paths.iter().cloned().partition(|path| locomo::is_locomo(path));
        let settled: Vec<PathBuf> = suites.iter().flat_map(|path| consolidation::files(path)).collect();
        // A folder may hold cases of both kinds; one with neither is told of.
        let holds_cases = |path: &PathBuf| consolidation::files(path).is_empty() || eval::holds_cases(path);
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
        for file in &files {
            failed |= retention::run(self, file).await?;
        }
        Ok(if failed { ExitStatus::Failures } else { ExitStatus::Success })
    }

    fn cost(&self, usage: Usage) -> Option<f64> {
        self.price.map(|price| price.cost(usage.prompt_tokens, usage.completion_tokens))
    }
}

impl EvalArgs {
    const fn control(&self) -> Option<Control> {
        match self.extractor {
            Some(ExtractorArg::None) => Some(Control::Nothing),
            Some(ExtractorArg::EverySentence) => Some(Control::EverySentence),
            Some(ExtractorArg::FirstPerson) => Some(Control::FirstPerson),
            Some(ExtractorArg::Llm | ExtractorArg::Rules | ExtractorArg::Auto | ExtractorArg::Similarity) | None => {
                None
            }
        }
    }

    const fn choice(&self) -> Option<ExtractorChoice> {
        match self.extractor {
            Some(ExtractorArg::Llm) => Some(ExtractorChoice::Llm),
            Some(ExtractorArg::Auto) => Some(ExtractorChoice::Auto),
            // A control asks no model.
            Some(
                ExtractorArg::Rules
                | ExtractorArg::None
                | ExtractorArg::EverySentence
                | ExtractorArg::FirstPerson
                | ExtractorArg::Similarity,
            ) => Some(ExtractorChoice::Rules),
            None => None,
        }
    }
}
