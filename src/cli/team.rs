//! `memory promote` and `project team`: share memories with a team.

use crate::api::{Promotion, QuotePolicy};
use crate::memory::{Memory, Namespace, Status};
use anyhow::Context as _;
use serde_json::json;

use super::args::Context;
use super::edit::report;
use super::exit::ExitStatus;
use super::printer::{BOLD, DIM, counted};
use crate::config::Partial;

/// Promote memories to a team
///
/// Copies memories into the namespace of a team, with your git user name as the author. Unless you are a maintainer of
/// the team, the copies wait in its inbox until they are accepted. The team sees the memories without their quotes.
/// Secrets, e-mail addresses, phone numbers and other personal data are removed from the copies, regardless of the
/// settings.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  afterthought memory promote 3fa2c1d9 --to team/shop")]
pub(crate) struct PromoteArgs {
    /// Ids of memories, or unique prefixes or suffixes of them
    #[arg(required = true)]
    ids: Vec<String>,
    /// Team, e.g. team/shop
    #[arg(long, value_name = "TEAM")]
    to: Namespace,
    /// Also share the quotes of the memories, and their speakers
    #[arg(long)]
    with_quotes: bool,
}

/// Show teams, or assign a project to a team
///
/// The memories of a team are in the namespace team/NAME, which `db sync add` shares. In a project of the team,
/// searches, briefs, hooks and servers show them together with your memories and those of the project. Without NAME,
/// shows the teams.
///
/// Maintainers accept the memories that others promote. If a team has no maintainers, every member may accept memories.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  afterthought project team shop\n  afterthought project team shop --maintainer Ana --maintainer Bo"
)]
pub(crate) struct TeamArgs {
    /// Name of the team
    #[arg(conflicts_with = "off")]
    name: Option<String>,
    /// Project [default: this folder's project]
    #[arg(long, value_name = "PROJECT")]
    project: Option<String>,
    /// Maintainer, by the name in `git config user.name`; replaces the current maintainers; may be repeated
    #[arg(long = "maintainer", value_name = "PERSON", requires = "name")]
    maintainers: Vec<String>,
    /// Remove the project from its team
    #[arg(long)]
    off: bool,
}

pub(crate) fn promote(args: &PromoteArgs, context: &Context<'_>) -> anyhow::Result<ExitStatus> {
    let quotes = if args.with_quotes { QuotePolicy::Share } else { QuotePolicy::Leave };
    let promotion = context.memories()?.promote(&args.ids, &args.to, quotes)?;
    let out = context.out;
    if out.is_json() {
        out.json(&promotion)?;
        return Ok(ExitStatus::Success);
    }
    let Promotion { run, author, promoted, known, removed, quotes } = promotion;
    let by_status = |all: Vec<Memory>| all.into_iter().partition(|memory| memory.status == Status::Pending);
    let (waiting, active): (Vec<Memory>, Vec<Memory>) = by_status(promoted);
    let (proposed, known): (Vec<Memory>, Vec<Memory>) = by_status(known);
    report(context, &active, "promoted")?;
    report(context, &waiting, "proposed")?;
    report(context, &proposed, "already proposed:")?;
    report(context, &known, "already in the team:")?;
    if !removed.is_empty() {
        out.note(format_args!("removed from the text for the team: {}", Vec::from_iter(removed).join(", ")));
    }
    if run.is_some() {
        let quotes = if quotes == 0 { "no quotes".to_owned() } else { counted(quotes, "quote") };
        out.note(format_args!("{} sees them as promoted by {author}, with {quotes}", args.to));
    }
    if !waiting.is_empty() || !proposed.is_empty() {
        out.note("a maintainer of the team accepts or rejects them after the next `afterthought db sync now`");
    }
    if let Some(run) = run {
        out.note(format_args!("{DIM}`afterthought undo {}` reverts it{DIM:#}", run.short()));
    }
    Ok(ExitStatus::Success)
}

pub(crate) fn team(args: &TeamArgs, context: &Context<'_>) -> anyhow::Result<ExitStatus> {
    let Some(name) = &args.name else {
        return if args.off { assign(None, args, context) } else { list(context) };
    };
    let team = if name.contains('/') { name.parse()? } else { format!("team/{name}").parse::<Namespace>()? };
    if args.maintainers.is_empty() {
        return assign(Some(&team), args, context);
    }
    let names = context.memories_with(Partial::default())?.set_maintainers(&team, &args.maintainers)?;
    let line = format_args!("the maintainers of {team} are {}", names.join(", "));
    context.out.show(&json!({ "team": team.to_string(), "maintainers": names }), line)?;
    // Without a project, only the maintainers are named.
    if args.project.is_some() { assign(Some(&team), args, context) } else { Ok(ExitStatus::Success) }
}

fn assign(team: Option<&Namespace>, args: &TeamArgs, context: &Context<'_>) -> anyhow::Result<ExitStatus> {
    let memories = context.memories_with(Partial::default())?;
    let project = if let Some(project) = &args.project {
        memories.project(project)?.namespace
    } else {
        let folder = std::env::current_dir().context("cannot read the working directory")?;
        let project = folder.to_str().map(|folder| memories.namespace_to_write(folder)).transpose()?.flatten();
        project.context("this folder belongs to no project; name one with --project")?
    };
    let is_changed = memories.assign_team(&project, team)?;
    let now = if is_changed { "now" } else { "already" };
    let line = match team {
        Some(team) => format!("{project} {now} belongs to {team}"),
        None => format!("{project} {now} belongs to no team"),
    };
    context.out.show(&json!({ "project": project.to_string(), "team": team.map(ToString::to_string) }), line)?;
    Ok(ExitStatus::Success)
}

fn list(context: &Context<'_>) -> anyhow::Result<ExitStatus> {
    let Some(memories) = context.existing_memories()? else { return Ok(ExitStatus::NoMatch) };
    let teams = memories.teams()?;
    for team in &teams {
        if context.out.is_json() {
            context.out.json(team)?;
            continue;
        }
        let named = |names: &[String], none: &str| if names.is_empty() { none.to_owned() } else { names.join(", ") };
        context.out.line(format_args!("{BOLD}{}{BOLD:#}", team.namespace))?;
        context
            .out
            .line(format_args!("  maintainers: {}", named(&team.maintainers, "none, so every member decides")))?;
        context.out.line(format_args!("  projects here: {}", named(&team.projects, "none")))?;
        context.out.line(format_args!("  {} in the inbox", counted(team.waiting, "memory")))?;
    }
    let hint = "no team is known; `afterthought project team NAME` assigns the project of this folder to one";
    Ok(context.out.unless_empty(teams.is_empty(), hint))
}
