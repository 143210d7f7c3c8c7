//! Which model a run asks, and through what.

use std::path::Path;

use afterthought::config::Config;
use afterthought::guard::Guard;
use afterthought::llm::{Client, ModelSettings, Recorder, Replay, Source};
use anyhow::Context as _;

use super::shared::Shared;

/// Returns where the replies of a run come from.
pub(super) fn source<'g>(
    args: &Shared,
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

/// Returns how to reach the model; `None` if neither a key nor a server is configured.
pub(in crate::cli) fn model_settings(config: &Config) -> anyhow::Result<Option<ModelSettings>> {
    let lookup = |name: &str| match name {
        "OPENAI_API_KEY" => std::env::var(&config.api_key_env.value).ok(),
        "OPENAI_BASE_URL" => config.base_url.value.clone(),
        "AFTERTHOUGHT_MODEL" => config.model.value.clone(),
        _ => std::env::var(name).ok(),
    };
    let settings = ModelSettings::from_env(lookup)?;
    Ok(settings.map(|settings| ModelSettings {
        temperature: Some(config.temperature.value),
        timeout: std::time::Duration::from_secs(config.timeout_seconds.value),
        ..settings
    }))
}
