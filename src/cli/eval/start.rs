//! Starts an evaluation: settings, the model or its recording, and one run for each repetition.

use std::fs;
use std::path::{Path, PathBuf};

use crate::config::Config;
use crate::extract::offline;
use crate::guard::Guard;
use crate::llm::{Budget, Complete as _, Limits, Prices, Replay, Source};
use crate::{pipeline, prompts};
use afterthought_eval::files::REPLIES;
use anyhow::ensure;
use tokio_util::sync::CancellationToken;

use super::args::EvalArgs;
use super::job::{Gather, Job};
use super::suites;
use super::system::{RunOptions, Subject};
use crate::api::{model_settings, source_of};
use crate::cli::args::Context;
use crate::cli::exit::ExitStatus;
use crate::cli::model::{GRACE, runtime, stop_on_interrupt};

pub(super) fn run(args: &EvalArgs, context: &Context<'_>) -> anyhow::Result<ExitStatus> {
    ensure!(args.jobs > 0, "--jobs 0 would run nothing; give at least 1");
    ensure!(args.repeat > 0, "--repeat 0 would run nothing; give at least 1");
    // A recorded reply is found by its request, so the replies of several runs would overwrite each other.
    let once = args.repeat == 1 || args.record.is_none();
    ensure!(
        once,
        "a recording contains one reply to each request; record without --repeat, or keep the runs with --out"
    );
    // The folder is set before any prompt is rendered, since the manifest contains the hash of the prompts.
    if let Some(folder) = &args.prompt {
        prompts::use_folder(folder)?;
    }
    let recorded = find_recording(args);
    if let Some((folder, model)) = &recorded {
        let folder = folder.display();
        context.out.note(format_args!(
            "using the replies of {model} recorded in {folder}; --extractor or --model selects another model"
        ));
    }
    let config = context.global.settings(args.partial(recorded.as_ref().map(|(_, model)| model.as_str()))?)?;
    let guard = Guard::from(&config.guard);
    let replay = args.replay.as_deref().or(recorded.as_ref().map(|(folder, _)| folder.as_path()));
    let asks = !args.recall
        && args.control().is_none()
        && pipeline::choose(config.extractor.value, model_settings(&config)?.is_some() || replay.is_some())?;
    let label = if asks {
        answering(args, &config, replay, None)?.model().to_owned()
    } else if args.recall {
        "search".to_owned()
    } else {
        args.control_name().unwrap_or_else(|| offline::VERSION.to_owned())
    };
    let price = args.price.or_else(|| Prices::default().of(&label)).filter(|_| asks);
    let limits = Limits { max_cost: config.max_cost.value, max_tokens: config.max_tokens.value, ..Limits::default() };
    // All cases and repetitions share one budget: `--max-cost` limits the command and not each case.
    let budget = Budget::new(limits, price, &label)?;
    let gather = Gather::new(args, &config, &label, asks, replay.is_some())?;
    let cancel = CancellationToken::new();
    let options = RunOptions {
        namespace: config.namespace(),
        again: args.again,
        keep: args.keep.clone(),
        ..RunOptions::of(&config, &guard, &budget, cancel.clone())
    };
    let failed = runtime()?.block_on(async {
        stop_on_interrupt(cancel, GRACE);
        let mut failed = false;
        for repeat in 1..=args.repeat {
            // Each repetition has its own replies; shared replies would hide the variation that repetitions measure.
            let kept = gather.calls(repeat).filter(|_| args.record.is_none());
            let source = if asks { Some(answering(args, &config, replay, kept.as_deref())?) } else { None };
            let subject = match (args.control(), &source) {
                (Some(control), _) => Subject::Control(control),
                (None, Some(source)) => Subject::Llm(source),
                (None, None) => Subject::Rules,
            };
            let (options, label) = (&options, label.clone());
            let job = Job { args, context, options, subject, label, price, gather: &gather, repeat };
            failed |= suites::run(&job).await?;
        }
        anyhow::Ok(failed)
    })?;
    gather.finish(context.out)?;
    Ok(if failed { ExitStatus::Failures } else { ExitStatus::Success })
}

/// Returns the source of replies: a recording, a server, or a server for requests that `kept` does not answer.
fn answering(args: &EvalArgs, config: &Config, replay: Option<&Path>, kept: Option<&Path>) -> anyhow::Result<Source> {
    let source = source_of(config, model_settings(config)?, args.record.as_deref().or(kept), replay)?;
    Ok(match (source, kept) {
        // Requests of an interrupted run are answered from disk, so continuing it does not pay for them again.
        (Source::Recorded(recorder), Some(folder)) => {
            Source::Kept(Replay::new(folder, recorder.model().to_owned())?, recorder)
        }
        (source, _) => source,
    })
}

/// A recording's folder, and the model that replied.
type Recording = (PathBuf, String);

/// Returns the one recording that is in or beside every suite, unless the arguments specify an extractor or a model.
fn find_recording(args: &EvalArgs) -> Option<Recording> {
    if args.says_who_answers() {
        return None;
    }
    // Only a recording that all suites share is used, because a run with two models could not be compared with others.
    let mut found = args.paths.iter().map(|path| recording_beside(path));
    let first = found.next()??;
    found.all(|other| other.is_some_and(|other| other == first)).then_some(first)
}

fn recording_beside(suite: &Path) -> Option<Recording> {
    let own = suite.join(REPLIES);
    let next = suite.parent().map(|folder| folder.join(REPLIES));
    let folder = std::iter::once(own).chain(next).find(|folder| folder.is_dir())?;
    // One file is enough, since a recording is made with one model.
    let model = fs::read_dir(&folder).ok()?.flatten().find_map(|entry| model_of(&entry.path()))?;
    Some((folder, model))
}

/// Returns the model that a recorded request was for.
fn model_of(file: &Path) -> Option<String> {
    let text = fs::read_to_string(file).ok().filter(|_| file.extension().is_some_and(|ending| ending == "json"))?;
    let recording: serde_json::Value = serde_json::from_str(&text).ok()?;
    Some(recording.pointer("/request/model")?.as_str()?.to_owned())
}
