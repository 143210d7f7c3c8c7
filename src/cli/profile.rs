//! `memory profile`: shows the profiles of the user and of a project.

use crate::api::Profile;
use crate::memory::Namespace;

use super::args::Context;
use super::exit::ExitStatus;
use super::list::project_of_folder;
use super::printer::{BOLD, DIM, one_line};

/// Show the profile of the user, and that of the project
///
/// A profile is assembled from memories: attributes such as languages and tools, preferences, conventions and decisions.
/// Each value names its memory and a quote. Shows the user and the project of this folder; --namespace selects another
/// project or user. Exits 1 when nothing is known.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  afterthought memory profile --namespace project/shop")]
pub(crate) struct ProfileArgs {}

pub(crate) fn run(context: &Context<'_>) -> anyhow::Result<ExitStatus> {
    let Some(memories) = context.existing_memories()? else { return Ok(ExitStatus::NoMatch) };
    let namespaces = match context.settings()?.namespace() {
        Some(namespace) => vec![namespace],
        None => [Some(Namespace::global()), project_of_folder(&memories)?].into_iter().flatten().collect(),
    };
    let mut is_empty = true;
    for namespace in &namespaces {
        let profile = memories.profile(namespace)?;
        is_empty &= profile.fields.is_empty();
        print(&profile, context)?;
    }
    Ok(if is_empty { context.out.nothing("no memory belongs to a profile here") } else { ExitStatus::Success })
}

fn print(profile: &Profile, context: &Context<'_>) -> anyhow::Result<()> {
    let out = context.out;
    if out.is_json() {
        return Ok(out.json(profile)?);
    }
    if profile.fields.is_empty() {
        return Ok(());
    }
    out.line(format_args!("{BOLD}{}{BOLD:#}", profile.namespace))?;
    for (name, values) in &profile.fields {
        for one in values {
            let value = one.value.as_str().map_or_else(|| one.value.to_string(), str::to_owned);
            out.line(format_args!("  {name}: {}  {DIM}{}{DIM:#}", one_line(&value, 200), one.memory.short()))?;
            for piece in one.evidence.iter().take(1) {
                out.line(format_args!("    {DIM}“{}”{DIM:#}", one_line(&piece.quote, 160)))?;
            }
        }
    }
    Ok(())
}
