//! `formats`: lists the log formats that can be read.

use serde_json::json;
use transcripts::{INGESTORS, Ingestor};

use super::args::Context;
use super::exit::ExitStatus;
use super::printer::DIM;

/// List supported log formats
///
/// With -v, also shows how each format is recognised. Formats are recognised by content, unless you pass `run --format
/// NAME`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  afterthought log formats -v")]
pub(crate) struct FormatsArgs {}

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

pub(crate) fn run(_: &FormatsArgs, context: &Context<'_>) -> anyhow::Result<ExitStatus> {
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
