//! `embed`: vectors for memories that have none; and what other commands need of vectors.

use afterthought::api::{embed_waiting, embedding_budget};
use afterthought::config::{Config, EmbeddingProvider};
use afterthought::embed::{EmbedError, Embedder, Filled, Filling, Progress, fill};
use afterthought::store::{Coverage, Store};
use anyhow::{Context as _, bail};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::args::{Context, now};
use super::exit::ExitStatus;
use super::printer::{Printer, counted, spelled};
use super::run::{guard_of, runtime, stop_on_interrupt};

/// Memories that a command embeds beside what it was asked for; the rest waits for `embed`.
pub const BESIDE: usize = 256;
/// Time between two looks at whether another process has finished.
const PAUSE: std::time::Duration = std::time::Duration::from_millis(500);

/// Compute missing vectors for search by meaning
///
/// Needs a server under [embedding] in the settings. Can be stopped and resumed at any time. After a change of the model,
/// all vectors are computed again.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  AFTERTHOUGHT_EMBEDDING_MODEL=text-embedding-3-small afterthought db embed")]
pub struct EmbedArgs {
    /// Retry memories that the model has refused three times
    #[arg(long)]
    retry: bool,
    /// Compute at most this many
    #[arg(short = 'n', long, value_name = "N", default_value_t = usize::MAX, hide_default_value = true)]
    limit: usize,
    /// Count vectors and memories without one, and compute none
    #[arg(long, conflicts_with = "retry")]
    dry_run: bool,
}

pub fn run(args: &EmbedArgs, context: &Context<'_>) -> anyhow::Result<ExitStatus> {
    let config = context.settings()?;
    let Some(embedder) = embedder(&config)? else {
        bail!("no vectors are made; set base_url and model under [embedding] in your settings");
    };
    let store = context.store()?;
    if args.dry_run {
        return told(coverage(&store, &embedder)?, &embedder, context.out);
    }
    if args.retry {
        store.write::<_, anyhow::Error>(None, now(), |w| Ok(w.retry_vectors()?))?;
    }
    let filled = runtime()?.block_on(filled(&config, &store, &embedder, args.limit, context.out))?;
    if context.out.is_json() {
        context.out.json(&filled)?;
    } else {
        context.out.line(format_args!("{}{}", counted(filled.embedded, "vector"), left(&filled)))?;
    }
    Ok(if filled.refused > 0 { ExitStatus::Failures } else { ExitStatus::Success })
}

fn left(filled: &Filled) -> String {
    let tokens = if filled.tokens > 0 { format!(" for {}", counted(filled.tokens, "token")) } else { String::new() };
    let refused = if filled.refused > 0 { format!(", {} refused by the model", filled.refused) } else { String::new() };
    let waiting = if filled.waiting > 0 { format!(", {} still wait", filled.waiting) } else { String::new() };
    format!("{tokens}{refused}{waiting}")
}

fn told(coverage: Coverage, embedder: &Embedder, out: &Printer) -> anyhow::Result<ExitStatus> {
    if out.is_json() {
        let mut line = serde_json::to_value(coverage).context("cannot spell counts")?;
        line["model"] = json!(embedder.name());
        out.json(&line)?;
    } else {
        let Coverage { embedded, waiting, given_up } = coverage;
        let name = embedder.name();
        out.line(format_args!(
            "{} of {name}, {} without one, {given_up} refused",
            counted(embedded, "vector"),
            counted(waiting, "memory")
        ))?;
    }
    Ok(ExitStatus::Success)
}

fn coverage(store: &Store, embedder: &Embedder) -> anyhow::Result<Coverage> {
    let unknown = || afterthought::store::VectorModel { name: embedder.name().to_owned(), dimension: 0 };
    Ok(store.vector_coverage(&embedder.kept_model(store)?.unwrap_or_else(unknown))?)
}

/// Makes vectors, and waits for another process that is at it.
async fn filled(
    config: &Config,
    store: &Store,
    embedder: &Embedder,
    most: usize,
    out: &Printer,
) -> anyhow::Result<Filled> {
    let cancel = CancellationToken::new();
    stop_on_interrupt(cancel.clone());
    let (guard, budget) = (guard_of(config), embedding_budget(config, embedder, store)?);
    let filling = Filling { store, embedder, guard: &guard, budget: &budget, most, cancel: cancel.clone(), clock: now };
    let bar = out.progress();
    let mut watch = |Progress { done, total }: Progress| bar.set_message(format!("{done} of {total} memories"));
    let mut is_told = false;
    loop {
        let filled = fill(&filling, &mut watch).await;
        match filled {
            Ok(Filled { elsewhere: true, .. }) if !cancel.is_cancelled() => {
                if !is_told {
                    bar.suspend(|| out.note("another process makes vectors; waiting for it"));
                    is_told = true;
                }
                tokio::time::sleep(PAUSE).await;
            }
            other => {
                bar.finish_and_clear();
                return Ok(other?);
            }
        }
    }
}

/// Returns what makes vectors by the settings; `None` where they are off.
pub fn embedder(config: &Config) -> Result<Option<Embedder>, EmbedError> {
    afterthought::api::embedder(config, &|name| std::env::var(name).ok())
}

/// Makes vectors of what a command has just written, as far as that is soon done. What fails is told and nothing more:
/// the memories are there, and wait.
pub fn catch_up(context: &Context<'_>) {
    let out = context.out;
    match context.settings().and_then(|config| beside(&config)) {
        Ok(Some(filled)) if filled.waiting > 0 => {
            out.note(format_args!(
                "{} without a vector; `afterthought db embed` computes them",
                counted(filled.waiting, "memory")
            ));
        }
        Ok(_) => {}
        Err(error) => out.warn(format_args!(
            "no vectors were made ({}); the memories are kept, and `afterthought db embed` makes them later",
            spelled(&error)
        )),
    }
}

fn beside(config: &Config) -> anyhow::Result<Option<Filled>> {
    let is_off = config.embedding.provider() == EmbeddingProvider::None;
    if is_off || !config.db.value.exists() {
        return Ok(None);
    }
    let store = Store::open(&config.db.value)?.with_guard(super::run::guard_of(config));
    Ok(runtime()?.block_on(embed_waiting(config, &store, BESIDE, CancellationToken::new()))?)
}

/// Returns how `doctor` tells of vectors; `Err` what is amiss. No server is asked.
pub fn finding(config: &Config) -> Result<String, String> {
    let embedder = embedder(config).map_err(|error| spelled(&error.into()))?;
    let Some(embedder) = embedder else {
        return Ok("none: search is by words; `afterthought config init` explains [embedding]".to_owned());
    };
    let path = &config.db.value;
    let counts = Store::open_read_only(path).ok().and_then(|store| coverage(&store, &embedder).ok());
    let counts = counts.map_or_else(String::new, |Coverage { embedded, waiting, given_up }| {
        let remedy = if waiting > 0 { "; `afterthought db embed` makes them" } else { "" };
        let refused = if given_up > 0 { format!(", {given_up} were refused") } else { String::new() };
        format!(": {}, {} without one{refused}{remedy}", counted(embedded, "vector"), counted(waiting, "memory"))
    });
    Ok(format!("{} at {}{counts}", embedder.name(), embedder.address()))
}
