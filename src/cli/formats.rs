//! `formats`: what can be read.

use afterthought::ingest::INGESTORS;
use serde_json::json;

use super::args::Context;
use super::exit::ExitStatus;

/// List the log formats that can be read, and how each is recognised
#[derive(Debug, clap::Args)]
pub struct FormatsArgs {}

pub fn run(_: &FormatsArgs, context: &Context<'_>) -> anyhow::Result<ExitStatus> {
    if context.out.is_json() {
        for format in INGESTORS {
            context.out.json(&json!({"name": format.name(), "about": format.about(), "rule": format.rule()}))?;
        }
        return Ok(ExitStatus::Success);
    }
    let rows = INGESTORS
        .iter()
        .map(|format| [format.name().to_owned(), format.about().to_owned(), format.rule().to_owned()])
        .collect();
    context.out.table(["format", "what it is", "recognised by"], rows)?;
    Ok(ExitStatus::Success)
}
