//! `project`: lists, names and merges projects.

use std::path::{Component, Path, PathBuf, is_separator};

use crate::api::{Decision, Project, on_one_line};
use anyhow::Context as _;
use clap::Subcommand;

use super::args::Context;
use super::exit::ExitStatus;
use super::printer::{BOLD, DIM, Printer, can_ask, counted, is_yes};
use super::team::{TeamArgs, team};
use crate::config::{Layer, PROJECT_FILE, Partial, ProjectFile, TrustedFiles};

/// Commands about projects.
#[derive(Debug, Subcommand)]
pub(crate) enum ProjectCommand {
    /// List known projects
    ///
    /// All worktrees, clones and folders of a repository belong to one project. A project is recognised by `project =
    /// "name"` in the nearest afterthought.toml, or else by an alias, the remote of its repository, the folder of its
    /// repository, or the folder given in the log. Exits 1 when there are no projects.
    #[command(after_help = "Example:\n  afterthought project list")]
    List,
    /// Name a project, or assign a folder and its subfolders to a project
    ///
    /// If the folder contains all folders of its current project, that project gets the new name; otherwise, the folder
    /// becomes a separate project. Memories are not moved; `project merge` moves them.
    #[command(after_help = "Example:\n  afterthought project alias ~/old/checkout shop")]
    Alias {
        /// Folder, or a project's name, namespace or repository address
        #[arg(value_name = "PATH-OR-NAME")]
        what: String,
        /// New name
        name: String,
    },
    /// Merge one project into another
    ///
    /// The memories of the first project are compared with those of the second, as if they were new. Later
    /// conversations of the first project belong to the second. `undo` reverts the merge.
    #[command(after_help = "Example:\n  afterthought project merge shop-1f3a9c shop-77b0e2")]
    Merge {
        /// Project to merge; it is removed
        from: String,
        /// Project to keep
        into: String,
    },
    /// Trust the settings file of a project
    ///
    /// An afterthought.toml is part of a repository that somebody else may have written, so it has no effect until you
    /// trust it. If the file changes, you must trust it again. Shows what the file would change, and asks for
    /// confirmation.
    #[command(after_help = "Example:\n  afterthought project trust ~/src/shop")]
    Trust {
        /// Folder of the project [default: the working directory]
        #[arg(value_name = "PATH")]
        path: Option<PathBuf>,
        /// Trust the file without asking
        #[arg(long)]
        yes: bool,
    },
    Team(TeamArgs),
}

pub(crate) fn run(command: &ProjectCommand, context: &Context<'_>) -> anyhow::Result<ExitStatus> {
    match command {
        ProjectCommand::List => list(context),
        ProjectCommand::Alias { what, name } => alias(what, name, context),
        ProjectCommand::Merge { from, into } => merge(from, into, context),
        ProjectCommand::Trust { path, yes } => trust(path.as_deref(), *yes, context),
        ProjectCommand::Team(args) => team(args, context),
    }
}

fn trust(path: Option<&Path>, is_agreed: bool, context: &Context<'_>) -> anyhow::Result<ExitStatus> {
    let (out, here) = (context.out, std::env::current_dir().context("cannot read the working directory")?);
    let start = here.join(path.unwrap_or(Path::new("")));
    // The argument may also be the path of the file itself.
    let folder = if start.ends_with(PROJECT_FILE) { start.parent().unwrap_or(&start) } else { &start };
    // A file that cannot be reached is not replaced with that of a folder above it.
    let own = folder.join(PROJECT_FILE);
    if let Err(error) = own.symlink_metadata()
        && error.kind() == std::io::ErrorKind::PermissionDenied
    {
        return Err(error)
            .with_context(|| format!("cannot read {}; check the permissions of its folders", own.display()));
    }
    let found = folder.ancestors().find_map(|folder| Some((folder, ProjectFile::of(folder)?)));
    let Some((place, found)) = found else {
        anyhow::bail!(
            "no {PROJECT_FILE} in {} or above it; see `afterthought config init --project`",
            folder.display()
        );
    };
    let named = place.join(PROJECT_FILE);
    let file = found.map_err(|reason| anyhow::anyhow!("cannot trust {}: {reason}", named.display()))?;
    let folders = context.global.folders()?;
    // The settings are read without any project's file, so that the changes of this file are visible.
    let root = folder.ancestors().last().unwrap_or(folder);
    let mut config = context.global.settings_at(root, Partial::default())?;
    config.add_project(&file, &folders.user_file)?;
    let trusted = TrustedFiles::in_state(&folders.state);
    let was_trusted = trusted.contains(&file);
    let changes = config.each().into_iter().filter(|(.., layer)| matches!(layer, Layer::Project(_)));
    let changes: serde_json::Map<_, _> = changes.map(|(name, value, _)| (name.to_owned(), value)).collect();
    if !out.is_json() {
        out.line(format_args!("{}\nsha256 {}", file.path.display(), file.hash()))?;
        for (name, value) in &changes {
            out.line(format_args!("  {name} = {value}"))?;
        }
        if changes.is_empty() {
            out.line("  changes nothing: a project's file can only make your settings stricter")?;
        }
    }
    if !was_trusted && !is_agreed {
        anyhow::ensure!(can_ask(), "nothing was trusted; read the file, then pass --yes");
        if !is_yes("Trust this file until it changes?")? {
            return Ok(out.nothing("nothing was trusted"));
        }
    }
    trusted.add(&file).with_context(|| format!("cannot write in {}", folders.state.display()))?;
    if out.is_json() {
        let path = file.path.display().to_string();
        out.json(&serde_json::json!({"file": path, "sha256": file.hash(), "changes": changes, "new": !was_trusted}))?;
    } else {
        out.line(if was_trusted { "already trusted" } else { "trusted until it changes" })?;
    }
    Ok(ExitStatus::Success)
}

fn list(context: &Context<'_>) -> anyhow::Result<ExitStatus> {
    let Some(memories) = context.existing_memories()? else { return Ok(ExitStatus::NoMatch) };
    let memories = memories.into_writable()?;
    std::env::current_dir()
        .ok()
        .and_then(|folder| folder.to_str().map(|folder| memories.connect(folder)))
        .transpose()?;
    let projects = memories.projects()?;
    let known_by = |project: &Project| match &project.merged_into {
        Some(into) => format!("merged into {into}"),
        None => project.identities.first().cloned().unwrap_or_default(),
    };
    if context.out.is_narrow() && !context.out.is_json() {
        for project in &projects {
            lines(&shown(project, &projects), &known_by(project), project, context.out)?;
        }
    } else {
        context.out.list(&projects, ["project", "memories", "known by", "folders", "namespace"], |project| {
            [
                shown(project, &projects),
                project.memories.to_string(),
                known_by(project),
                project.paths.join("\n"),
                project.namespace.to_string(),
            ]
        })?;
    }
    let hint = "no projects yet; `afterthought run PATH` creates them from the logs that it reads";
    Ok(context.out.unless_empty(projects.is_empty(), hint))
}

/// Prints a project on several lines. Each name and path is on a line of its own, so that it can be copied.
fn lines(name: &str, known_by: &str, project: &Project, out: &Printer) -> anyhow::Result<()> {
    out.line(format_args!("{BOLD}{name}{BOLD:#}  {}", counted(project.memories, "memory")))?;
    let namespace = project.namespace.to_string();
    for text in [&namespace, known_by].into_iter().chain(project.paths.iter().map(String::as_str)) {
        if !text.is_empty() {
            out.line(format_args!("  {DIM}{}{DIM:#}", on_one_line(text)))?;
        }
    }
    Ok(())
}

/// Returns the name of a project, with its label if another project has the same name.
fn shown(project: &Project, all: &[Project]) -> String {
    let is_shared = all.iter().any(|other| other.namespace != project.namespace && other.name == project.name);
    if is_shared { project.label() } else { project.name.clone() }
}

fn alias(what: &str, name: &str, context: &Context<'_>) -> anyhow::Result<ExitStatus> {
    let memories = context.memories_with(Partial::default())?;
    let aliased = match folder(what) {
        Some(path) => memories.give_folder(&path, name)?,
        None => memories.name_project(what, name)?,
    };
    let what = aliased.path.as_deref().unwrap_or(what);
    let line = format_args!("{what} is now project {} ({})", aliased.name, aliased.namespace);
    context.out.show(&aliased, line)?;
    if let Some(left) = aliased.left.as_ref().filter(|_| !context.out.is_json()) {
        context.out.note(format_args!(
            "earlier memories stay in {left}; `afterthought project merge {left} {}` moves them",
            aliased.name
        ));
    }
    Ok(ExitStatus::Success)
}

/// Returns the folder that `what` names, made absolute if it is on this machine; `None` for a name or an address.
fn folder(what: &str) -> Option<String> {
    // A path from another machine must not be resolved here; logs copied from Windows keep their drive letters.
    let is_elsewhere =
        what.starts_with(['/', '\\']) || what.get(1..3).is_some_and(|rest| rest == ":\\" || rest == ":/");
    if is_elsewhere {
        return Some(what.to_owned());
    }
    // `shop/api` may be a namespace or an address, so it is a folder only if one exists.
    let is_near = what.starts_with('.')
        || what.ends_with(is_separator)
        || (what.contains(is_separator) && Path::new(what).is_dir());
    let path = is_near.then(|| std::path::absolute(what).ok())??;
    // `std::path::absolute` keeps `..` on Unix, and the folder need not exist, so `canonicalize` cannot be used.
    let clean = path.components().fold(PathBuf::new(), |folder, part| match part {
        Component::CurDir => folder,
        Component::ParentDir => folder.parent().map(Path::to_owned).unwrap_or(folder),
        part => folder.join(part),
    });
    Some(clean.to_string_lossy().into_owned())
}

fn merge(from: &str, into: &str, context: &Context<'_>) -> anyhow::Result<ExitStatus> {
    let memories = context.memories()?;
    let merged = memories.merge_projects(from, into)?;
    let settled: usize =
        merged.moved.decisions.iter().filter(|(decision, _)| **decision != Decision::Add).map(|(_, count)| count).sum();
    let (moved, from, into) = (merged.moved.moved, &merged.from, &merged.into);
    let line =
        format_args!("memories moved from {from} to {into}: {moved}, of which {settled} matched existing memories");
    context.out.show(&merged, line)?;
    if !context.out.is_json() {
        context.out.note(format_args!("`afterthought undo {}` reverts it", merged.run.short()));
    }
    Ok(ExitStatus::Success)
}
