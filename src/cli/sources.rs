//! `sources`: lists the logs of agents and assistants on this machine.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use serde_json::json;
use transcripts::known::KNOWN;
use transcripts::{INGESTORS, Ingestor};

use crate::api::{SourceTotals, Survey, survey};

use super::args::{Context, machine, must_be_folder};
use super::exit::ExitStatus;
use super::printer::{DIM, counted, day, size};

/// List conversation logs found on this machine
///
/// Looks in the folders where known programs keep their logs, without opening any log. To read the logs, use
/// `run --from NAME`. Exits 1 when there are no logs.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  afterthought log list\n  afterthought log list --below ~/src")]
pub(crate) struct SourcesArgs {
    /// Search this folder for logs that programs such as aider keep in project folders
    #[arg(long, value_name = "FOLDER")]
    below: Vec<PathBuf>,
}

pub(crate) fn run(args: &SourcesArgs, context: &Context<'_>) -> anyhow::Result<ExitStatus> {
    args.below.iter().try_for_each(|folder| must_be_folder("--below ", folder))?;
    let machine = machine();
    // The command works without a database, since people list their logs before the first run.
    let memories = context.memories_if_any()?;
    let found = survey(&machine, &args.below, memories.as_ref()).context("cannot determine which logs were read")?;
    let out = context.out;
    if out.is_narrow() && !out.is_json() {
        for one in &found {
            let [source, files, size, read, dates, folder] = row(one, machine.home.as_deref());
            out.line(format_args!("{source}: {files} files of {size}, read: {read}, {dates}  {DIM}{folder}{DIM:#}"))?;
        }
    } else {
        let header = ["source", "files", "size", "read", "dates", "folder"];
        out.list(&found, header, |one| row(one, machine.home.as_deref()))?;
    }
    if found.is_empty() {
        let names: Vec<_> = KNOWN.iter().map(|known| known.about).collect();
        out.note(format_args!(
            "found no conversations from {}; give the path of a log or of an export to `afterthought run`, and see \
             `afterthought log formats` for the supported formats",
            names.join(", ")
        ));
        return Ok(ExitStatus::NoMatch);
    }
    let unread: u64 = found.iter().map(|one| one.total.files_new + one.total.files_changed).sum();
    if unread > 0 {
        out.note(format_args!(
            "{DIM}`afterthought run --from NAME --estimate` shows the cost; `--from all` reads all logs{DIM:#}"
        ));
    }
    Ok(ExitStatus::Success)
}

fn row(survey: &Survey, home: Option<&Path>) -> [String; 6] {
    let total = &survey.total;
    let folder = survey.folders.first().map(|one| shown(&one.folder, home)).unwrap_or_default();
    let more = survey.folders.len().saturating_sub(1);
    [
        survey.source.to_owned(),
        total.files.to_string(),
        size(total.bytes),
        progress(total),
        dates(total),
        if more > 0 { format!("{folder} and {more} more") } else { folder },
    ]
}

/// Returns a description of how much was read.
fn progress(total: &SourceTotals) -> String {
    let conversations = counted(total.conversations, "conversation");
    match (total.files_new, total.files_changed) {
        // This arm comes first, because a total of zero files would also match the arms below.
        (new, _) if new == total.files => "nothing".to_owned(),
        (0, 0) => format!("all, {conversations}"),
        (new, 0) => format!("{conversations}, {} new", counted(new, "file")),
        (0, changed) => format!("{conversations}, {} changed", counted(changed, "file")),
        (new, changed) => format!("{conversations}, {} new, {changed} changed", counted(new, "file")),
    }
}

fn dates(total: &SourceTotals) -> String {
    match (total.from.map(day), total.to.map(day)) {
        (Some(from), Some(to)) if from == to => from,
        (Some(from), Some(to)) => format!("{from} – {to}"),
        (one, other) => one.or(other).unwrap_or_default(),
    }
}

/// Returns a path with `~` for the home folder.
fn shown(path: &Path, home: Option<&Path>) -> String {
    match home.and_then(|home| path.strip_prefix(home).ok()) {
        Some(rest) => Path::new("~").join(rest).display().to_string(),
        None => path.display().to_string(),
    }
}

/// The families with their titles, in the order in which they are listed.
const FAMILIES: &[(&str, &str)] = &[
    ("agents", "coding agents"),
    ("assistants", "assistants"),
    ("people", "people, meetings"),
    ("api", "model APIs, traces"),
    ("datasets", "datasets"),
    ("text", "text"),
];
/// Width of the longest name, so that the columns of all families are aligned.
const NAME_WIDTH: usize = 18;

pub(crate) fn formats(context: &Context<'_>) -> anyhow::Result<ExitStatus> {
    let out = context.out;
    if out.is_json() {
        for format in INGESTORS {
            out.json(&json!({
                "name": format.name(), "family": format.family(), "about": format.about(), "rule": format.rule(),
            }))?;
        }
        return Ok(ExitStatus::Success);
    }
    for (number, (family, title)) in FAMILIES.iter().enumerate() {
        if number > 0 {
            out.line("")?;
        }
        let about = |format: &dyn Ingestor| {
            let rule = if out.is_verbose() { format!("\nrecognised by: {}", format.rule()) } else { String::new() };
            format.about().to_owned() + &rule
        };
        // Every table is laid out separately, so names are padded to align the columns of all families.
        let of_family = INGESTORS.iter().filter(|format| format.family() == *family);
        let rows = of_family.map(|format| [format!("{:<NAME_WIDTH$}", format.name()), about(*format)]);
        out.table([*title, ""], rows)?;
    }
    if !out.is_verbose() {
        out.note(format_args!("{DIM}-v shows how each format is recognised{DIM:#}"));
    }
    Ok(ExitStatus::Success)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_home_folder_is_short() {
        let home = Path::new("/home/ana");
        let short = Path::new("~").join(".codex").display().to_string();
        assert_eq!(shown(&home.join(".codex"), Some(home)), short);
        assert_eq!(shown(Path::new("/data/x"), Some(home)), "/data/x");
    }

    #[test]
    fn every_format_is_of_a_family_that_is_listed_and_fits_the_column() {
        for format in INGESTORS {
            assert!(FAMILIES.iter().any(|(family, _)| *family == format.family()), "{}", format.name());
            assert!(format.name().len() <= NAME_WIDTH, "{}", format.name());
        }
        for (family, _) in FAMILIES {
            assert!(INGESTORS.iter().any(|format| format.family() == *family), "{family} is empty");
        }
    }
}
