//! Which model a run asks, and through what.

use std::path::Path;

use afterthought::api;
use afterthought::config::Config;
use afterthought::guard::Guard;
use afterthought::llm::{Client, ModelSettings, Recorder, Replay, Source};
use anyhow::Context as _;

use super::asking::Asking;
use crate::cli::printer::Printer;

/// Returns where the replies of a run come from.
pub(in crate::cli) fn source<'g>(
    args: &Asking,
    config: &Config,
    settings: Option<ModelSettings>,
    guard: &'g Guard,
) -> anyhow::Result<Source<'g>> {
    exchange(Tape { record: args.record.as_deref(), replay: args.replay.as_deref() }, config, settings, guard)
}

/// Folders of recorded exchanges.
#[derive(Debug, Clone, Copy)]
pub(in crate::cli) struct Tape<'a> {
    /// To write into.
    pub record: Option<&'a Path>,
    /// To answer from.
    pub replay: Option<&'a Path>,
}

/// Returns where replies come from: a server, a server that is recorded, or a recording.
pub(in crate::cli) fn exchange<'g>(
    tape: Tape<'_>,
    config: &Config,
    settings: Option<ModelSettings>,
    guard: &'g Guard,
) -> anyhow::Result<Source<'g>> {
    if let Some(folder) = tape.replay {
        let named = config.model.value.clone().or(settings.map(|settings| settings.model));
        let model = named.context("a recording is told by its model; name it with --model")?;
        return Ok(Source::Replayed(Replay::new(folder, model)?));
    }
    let client = Client::new(settings.context("no model is configured")?)?;
    Ok(match tape.record {
        Some(folder) => Source::Recorded(Recorder::new(client, folder, guard)?),
        None => Source::Server(client),
    })
}

/// Returns how to reach the model: the configured one, else an Ollama on this machine, which is told; `None` if there is
/// neither.
pub(in crate::cli) async fn reachable(config: &Config, out: &Printer) -> anyhow::Result<Option<ModelSettings>> {
    let found = api::reachable(config, &variable).await?;
    if let Some(settings) = found.as_ref().filter(|_| model_settings(config).is_ok_and(|one| one.is_none())) {
        out.note(format_args!(
            "no model is configured; {} of the Ollama on this machine reads, --extractor rules does without",
            settings.model
        ));
    }
    Ok(found)
}

/// Returns how to reach the model; `None` if neither a key nor a server is configured.
pub(in crate::cli) fn model_settings(config: &Config) -> anyhow::Result<Option<ModelSettings>> {
    Ok(api::model_settings(config, &variable)?)
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}
