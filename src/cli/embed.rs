//! Vectors for search by meaning: `db embed`, and vectors of memories that other commands have written.

use crate::api::{Coverage, EMBEDDED_ASIDE, EmbedEvent, Filled, Memories, Progress, VectorStatus, vector_status};
use crate::config::Config;
use anyhow::bail;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::args::Context;
use super::exit::ExitStatus;
use super::model::{GRACE, runtime, stop_on_interrupt};
use super::printer::{Printer, counted, set_message, spelled};

/// Compute missing vectors for search by meaning
///
/// Requires an embedding server, set in the section `embedding` of the settings. You can stop and resume the command at
/// any time. If you change the model, all vectors are computed again.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  AFTERTHOUGHT_EMBEDDING_MODEL=text-embedding-3-small afterthought db embed")]
pub(crate) struct EmbedArgs {
    /// Retry memories that the server has rejected three times
    #[arg(long)]
    retry: bool,
    /// Compute at most this many vectors
    #[arg(short = 'n', long, value_name = "N", default_value_t = usize::MAX, hide_default_value = true)]
    limit: usize,
    /// Count memories with and without a vector, but compute nothing
    #[arg(long, conflicts_with = "retry")]
    dry_run: bool,
}

pub(crate) fn run(args: &EmbedArgs, context: &Context<'_>) -> anyhow::Result<ExitStatus> {
    let out = context.out;
    let memories = context.memories()?;
    let Some(status) = vector_status(memories.config(), Some(&memories))? else {
        bail!("search by meaning is off; set base_url and model under [embedding] in your settings");
    };
    if args.dry_run {
        return print_coverage(&status, out);
    }
    if args.retry {
        memories.retry_vectors()?;
    }
    let bar = out.progress();
    let mut watch = |event| match event {
        EmbedEvent::Progress(Progress { done, total }) => set_message(&bar, &format!("{done} of {total} memories")),
        EmbedEvent::Waits => bar.suspend(|| out.note("waiting for another process that is computing vectors")),
    };
    let filled = runtime()?.block_on(async {
        let cancel = CancellationToken::new();
        stop_on_interrupt(cancel.clone(), GRACE);
        memories.embed(args.limit, cancel, &mut watch).await
    });
    bar.finish_and_clear();
    // `None` would mean that vectors are off, which was ruled out above.
    let filled = filled?.unwrap_or_default();
    out.show(&filled, format_args!("{}{}", counted(filled.embedded, "vector"), details(&filled)))?;
    Ok(if filled.refused > 0 { ExitStatus::Failures } else { ExitStatus::Success })
}

fn details(filled: &Filled) -> String {
    let tokens = if filled.tokens > 0 { format!(" for {}", counted(filled.tokens, "token")) } else { String::new() };
    let refused = if filled.refused > 0 { format!(", {} refused by the model", filled.refused) } else { String::new() };
    let waiting =
        if filled.waiting > 0 { format!(", {} still without a vector", filled.waiting) } else { String::new() };
    format!("{tokens}{refused}{waiting}")
}

fn print_coverage(status: &VectorStatus, out: &Printer) -> anyhow::Result<ExitStatus> {
    let (coverage, name) = (status.coverage.unwrap_or_default(), &status.model);
    let mut value = serde_json::to_value(coverage)?;
    value["model"] = json!(name);
    let Coverage { embedded, waiting, given_up } = coverage;
    let (vectors, without) = (counted(embedded, "vector"), counted(waiting, "memory"));
    out.show(&value, format_args!("{vectors} of {name}, {without} without a vector, {given_up} refused"))?;
    Ok(ExitStatus::Success)
}

/// Computes vectors of memories that a command has just written, up to a limit. A failure is only reported: the
/// memories are stored, and wait for their vectors.
pub(crate) fn catch_up(context: &Context<'_>) {
    let out = context.out;
    match context.settings().and_then(|config| embed_aside(context, &config)) {
        Ok(Some(filled)) if filled.waiting > 0 => {
            out.note(format_args!(
                "{} without a vector; `afterthought db embed` computes them",
                counted(filled.waiting, "memory")
            ));
        }
        Ok(_) => {}
        Err(error) => out.warn(format_args!(
            "no vectors were computed ({}); the memories are stored, and `afterthought db embed` computes them later",
            spelled(&error)
        )),
    }
}

fn embed_aside(context: &Context<'_>, config: &Config) -> anyhow::Result<Option<Filled>> {
    if !config.recalls_by_meaning() || !config.db.value.exists() {
        return Ok(None);
    }
    // The number is limited, so that a small change does not wait for the vectors of a whole store.
    Ok(runtime()?.block_on(context.memories()?.embed_waiting(EMBEDDED_ASIDE, CancellationToken::new()))?)
}

/// Returns the state of vectors for `status --check`, or the fault. No server is contacted.
pub(crate) fn finding(config: &Config) -> Result<String, String> {
    let reader = Memories::builder().config(config.clone()).read_only();
    let memories = if config.db.value.exists() { reader.open().ok() } else { None };
    let status = vector_status(config, memories.as_ref()).map_err(|error| spelled(&error.into()))?;
    let Some(VectorStatus { model, address, coverage }) = status else {
        return Ok("none: search compares only words; `afterthought config init` explains [embedding]".to_owned());
    };
    let counts = coverage.map_or_else(String::new, |Coverage { embedded, waiting, given_up }| {
        let remedy = if waiting > 0 { "; `afterthought db embed` computes them" } else { "" };
        let refused = if given_up > 0 { format!(", {given_up} were refused") } else { String::new() };
        format!(", {}, {} without a vector{refused}{remedy}", counted(embedded, "vector"), counted(waiting, "memory"))
    });
    Ok(format!("{model} at {address}{counts}"))
}
