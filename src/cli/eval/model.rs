//! The model of an evaluation, and the recordings that may replace it.

use std::path::Path;

use crate::api;
use crate::config::Config;
use crate::guard::Guard;
use crate::llm::{Client, ModelSettings, Recorder, Replay, Source};
use anyhow::Context as _;

/// Folders of recorded exchanges.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tape<'a> {
    /// Folder into which exchanges are recorded.
    pub record: Option<&'a Path>,
    /// Folder of recorded exchanges that provide the replies.
    pub replay: Option<&'a Path>,
}

/// Returns the source of replies: a server, a recorded server, or a recording.
pub(super) fn exchange(
    tape: Tape<'_>,
    config: &Config,
    settings: Option<ModelSettings>,
    guard: &Guard,
) -> anyhow::Result<Source> {
    if let Some(folder) = tape.replay {
        // A recording needs neither key nor server, so the settings may be missing here.
        let named = config.model.value.clone().or(settings.map(|settings| settings.model));
        let model = named.context("a recording requires a specific model; choose one with --model")?;
        return Ok(Source::Replayed(Replay::new(folder, model)?));
    }
    let client = Client::new(settings.context("no model is configured")?)?;
    Ok(match tape.record {
        Some(folder) => Source::Recorded(Recorder::new(client, folder, guard)?),
        None => Source::Server(client),
    })
}

/// Returns the settings of the model; `None` if neither a key nor a server is configured.
pub(super) fn model_settings(config: &Config) -> anyhow::Result<Option<ModelSettings>> {
    Ok(api::model_settings(config, &variable)?)
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// Returns the guard that follows the settings.
pub(super) fn guard_of(config: &Config) -> Guard {
    Guard::from(&config.guard)
}
