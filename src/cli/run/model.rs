//! Which model a run asks, and through what.

use std::path::Path;

use afterthought::config::{Config, ExtractorChoice};
use afterthought::guard::Guard;
use afterthought::llm::{Client, ModelSettings, Recorder, Replay, Source, find_ollama};
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

/// Returns how to reach the model: the configured one, else an Ollama on this machine; `None` if there is neither.
pub(in crate::cli) async fn reachable(config: &Config, out: &Printer) -> anyhow::Result<Option<ModelSettings>> {
    let configured = model_settings(config)?;
    if configured.is_some() || config.extractor.value == ExtractorChoice::Rules {
        return Ok(configured);
    }
    let host = std::env::var("OLLAMA_HOST").ok().filter(|host| !host.trim().is_empty());
    let found = find_ollama(host.as_deref(), config.model.value.as_deref()).await?;
    if let Some(settings) = &found {
        out.note(format_args!(
            "no model is configured; {} of the Ollama on this machine reads, --extractor rules does without",
            settings.model
        ));
    }
    Ok(found.map(|settings| tuned(config, settings)))
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
    Ok(settings.map(|settings| tuned(config, settings)))
}

fn tuned(config: &Config, settings: ModelSettings) -> ModelSettings {
    ModelSettings {
        temperature: Some(config.temperature.value),
        timeout: std::time::Duration::from_secs(config.timeout_seconds.value),
        ..settings
    }
}
