//! `remember`: stores a memory by hand.

use anyhow::Context as _;
use clap::builder::TypedValueParser;
use serde_json::json;

use crate::api::{Decision, Memories, MemoryChange, MemoryDraft, Plan, Remembered, structured};
use crate::memory::{Memory, MemoryType, Namespace, Structured};

use super::args::{Context, expires};
use super::exit::ExitStatus;
use super::printer::{Printer, one_line};
use super::report::{RunReporter, as_json};
use crate::config::Partial;

/// Store a memory
///
/// If the memory is already stored, it is confirmed and updated with the given options; tags are added to the existing
/// ones. Memories that the new one contradicts are superseded. Text that contains a secret is rejected. In a
/// repository, or in the folder of a project whose logs have been read, the memory is stored for that project.
/// With --global, or in any other folder, the memory applies to all projects. --namespace selects another project from
/// `project list`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  afterthought remember 'The shop deploys with Nomad.' --tag deploy")]
pub(crate) struct RememberArgs {
    /// Text of the memory: one self-contained sentence
    #[arg(required = true)]
    text: Vec<String>,
    /// Type: semantic, episodic or procedural [default: semantic]
    #[arg(long = "type", value_name = "TYPE")]
    memory_type: Option<MemoryType>,
    /// Category [default: fact]
    #[arg(long, value_name = "NAME")]
    category: Option<String>,
    /// Title [default: the first words of the text]
    #[arg(long)]
    title: Option<String>,
    /// Shorter wording for briefs, if the text is long
    #[arg(long)]
    summary: Option<String>,
    /// Subject, e.g. auth
    #[arg(long)]
    subject: Option<String>,
    /// Key of the attribute, e.g. user.residence
    #[arg(long, requires = "value")]
    key: Option<String>,
    /// Value of the attribute
    #[arg(long, requires = "key")]
    value: Option<String>,
    /// Importance, 0 to 1 (or 2 to 10) [default: 0.7]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    importance: Option<f64>,
    /// Tag; may be repeated
    #[arg(long = "tag", value_name = "TAG")]
    tags: Vec<String>,
    /// Expiry time of the memory, e.g. 2h, 7d, 2027-01-31
    #[arg(long, value_name = "TIME", value_parser = expires)]
    expires: Option<jiff::Timestamp>,
    /// Structured parts of the memory as a JSON object, e.g.
    /// '{"blocker": {"owner": "Ana", "until": "the licence is paid"}}'
    #[arg(long, value_name = "JSON", value_parser = StructuredArg)]
    structured: Option<Structured>,
    /// UUID for the new memory [default: generated]
    #[arg(long, value_name = "UUID")]
    id: Option<String>,
    /// Store the memory for all projects, not just this one
    #[arg(long)]
    global: bool,
}

pub(crate) fn run(args: &RememberArgs, context: &Context<'_>) -> anyhow::Result<ExitStatus> {
    let memories = context.memories_with(Partial::default())?;
    let project = home(args, &memories, context)?;
    let chosen = if args.global { Some(Namespace::global()) } else { project.clone() };
    let memories = match chosen {
        Some(namespace) => {
            context.memories_with(Partial { namespace: Some(Some(namespace.to_string())), ..Partial::default() })?
        }
        None => memories,
    };
    let (key, value, id) = (args.key.clone(), args.value.clone(), args.id.clone());
    let draft = MemoryDraft { key, value, id, ..MemoryDraft::new(args.text.join(" ")) };
    let given = args.given();
    let Remembered { change, memory, restored, updated, near } = memories.remember_with(&draft.with(&given), &given)?;
    let out = context.out;
    match memory {
        Some(memory) if restored && !out.is_json() => {
            let content = one_line(&memory.claim.content, 160);
            let with = if updated.is_empty() { String::new() } else { format!(" ({} updated)", updated.join(", ")) };
            out.line(format_args!("restored {}{with} {content}", memory.id.short()))?;
        }
        Some(memory) if change.decision == Decision::Skip && !out.is_json() => {
            let content = one_line(&memory.claim.content, 160);
            let with = if updated.is_empty() { String::new() } else { format!(" ({} updated)", updated.join(", ")) };
            out.line(format_args!("already stored{with}: {} {content}", memory.id.short()))?;
            if args.key.is_some() && (&args.key, &args.value) != (&memory.claim.key, &memory.claim.value) {
                out.note("the key of a memory that is already stored does not change, so --key was ignored");
            }
        }
        None if !out.is_json() => out.note(format_args!(
            "not remembered: {}; find it with `afterthought memory list --status forgotten`, and `afterthought memory \
             restore ID` restores it",
            change.reason
        )),
        Some(_) | None => {
            if out.is_json() {
                let mut value = as_json(&change);
                value["near"] =
                    near.iter().map(|near| json!({ "id": near.id, "content": near.claim.content })).collect();
                return Ok(out.json(&value).map(|()| ExitStatus::Success)?);
            }
            let new_id = change.new_id.clone();
            let mut reporter = RunReporter::new(out, &memories, true);
            reporter.print_changes(&Plan { changes: vec![change], ..Plan::default() });
            reporter.end()?;
            if let Some((new_id, closest)) = new_id.zip(near.first()) {
                print_near(&near, new_id.short(), closest.id.short(), out);
            }
        }
    }
    if let Some(project) = project {
        out.note(format_args!(
            "stored for {project}, the project of this folder; --global stores a memory for all projects"
        ));
    }
    Ok(ExitStatus::Success)
}

/// Lists the known memories about the same topic, since only the author can judge whether the new memory replaces one.
fn print_near(near: &[Memory], new_id: &str, closest: &str, out: &Printer) {
    for memory in near {
        out.note(format_args!(
            "possibly about the same thing: {} {}",
            memory.id.short(),
            one_line(&memory.claim.content, 120)
        ));
    }
    out.note(format_args!("if the new memory replaces it: `afterthought memory relate {new_id} supersedes {closest}`"));
}

/// Returns the project of the working directory if nothing else selects a namespace.
fn home(args: &RememberArgs, memories: &Memories, context: &Context<'_>) -> anyhow::Result<Option<Namespace>> {
    if args.global || context.settings()?.namespace().is_some() {
        return Ok(None);
    }
    let folder = std::env::current_dir().context("cannot read the working directory")?;
    Ok(folder.to_str().map(|folder| memories.namespace_to_write(folder)).transpose()?.flatten())
}

/// Reads the value of `--structured`. Unlike a function, it can leave the value out of the message about a fault.
#[derive(Clone)]
pub(super) struct StructuredArg;

impl TypedValueParser for StructuredArg {
    type Value = Structured;

    fn parse_ref(
        &self,
        command: &clap::Command,
        _: Option<&clap::Arg>,
        value: &std::ffi::OsStr,
    ) -> Result<Structured, clap::Error> {
        parts(&value.to_string_lossy()).map_err(|fault| {
            let message = format!("invalid value for '--structured <JSON>': {fault}\n");
            clap::Error::raw(clap::error::ErrorKind::ValueValidation, message).with_cmd(command)
        })
    }
}

fn parts(text: &str) -> Result<Structured, String> {
    let value = serde_json::from_str(text).map_err(|error| format!("it is not JSON: {error}"))?;
    let serde_json::Value::Object(fields) = value else { return Err("it is not a JSON object".to_owned()) };
    structured(fields).map_err(|error| error.to_string())
}

impl RememberArgs {
    /// Returns the options that were given, which are applied to a memory that is already stored.
    fn given(&self) -> MemoryChange {
        MemoryChange {
            title: self.title.clone(),
            summary: self.summary.clone(),
            category: self.category.clone(),
            subject: self.subject.clone(),
            importance: self.importance,
            tags: Some(self.tags.clone()),
            expires_at: self.expires,
            memory_type: self.memory_type,
            structured: self.structured.clone(),
            ..MemoryChange::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_structured_part_is_not_repeated() {
        for value in [
            r#""Maple9Syrup""#,
            r#"["Maple9Syrup"]"#,
            r#"{"blocker": "Maple9Syrup"}"#,
            r#"{"episode": {"situation": ["Maple9Syrup"]}}"#,
            "Maple9Syrup",
        ] {
            let parsed = StructuredArg.parse_ref(&clap::Command::new("x"), None, std::ffi::OsStr::new(value));
            let message = parsed.unwrap_err().to_string();
            assert!(message.contains("--structured") && !message.contains("Maple9"), "{value}: {message}");
        }
    }
}
