//! `import` and `export`: read memories that this or another program has exported, and write such files.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use serde_json::json;

use crate::api::{
    AuditChannel, Change, ConsolidatedImport, Decision, Exported, ExportedTask, FileImport, ImportChanges, ImportEvent,
    ImportOptions, ImportOutcome, ImportReport, Memories, PackImport, PackOptions, ReviewPolicy, is_part_of_repository,
    markdown, on_one_line,
};

use crate::config::Config;

use super::apply;
use super::args::{Context, arguments};
use super::exit::ExitStatus;
use super::list::Selection;
use super::model::{ModelArgs, runtime};
use super::printer::{DIM, Printer, can_ask, counted, is_yes, one_line};

/// Import memories that this or another program has exported
///
/// Reads JSONL exports of this program, and other JSONL files of objects with a "content" field; MEMORY.md and daily
/// notes; and memories of mem0, the MCP reference memory server, mcp-memory-service and Claude.ai. In a folder or zip
/// file, every such file is read. CLAUDE.md, AGENTS.md and similar files are recorded as instructions that agents
/// already see, so that runs do not learn them again; they become memories only with --instructions-as-memories.
/// Memories without a project belong to the project of the file, or else to all projects.
///
/// Importing a file again adds only what is new. An edited note, bullet or line with an id replaces its former text; if
/// a field was changed both here and in the file, the later change wins. Memories that were superseded, forgotten or
/// rejected here are not restored. A category that the settings do not allow becomes a tag. Secrets are redacted.
/// Memories that read like orders to an agent wait in the inbox.
///
/// A pack is checked as a whole: if its hash or signature is wrong, or one of its memories cannot be imported, nothing
/// is imported. Without --namespace, its memories belong to all projects. A later version of the pack updates or
/// retires the memories that an earlier version added, except for those that you edited, pinned or forgot. `undo`
/// reverts the import.
///
/// With --consolidate, memories are compared with the stored ones in chronological order. A model, if configured,
/// decides unclear cases. `undo` can revert the import as one run. Prints one line for each memory, in the order of the
/// file; with --json, `{"incoming", "decision", "target", "reason", "winner"}`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  afterthought export --all > memories.jsonl\n  afterthought --db other.db import memories.jsonl\n  afterthought import ~/assistant/workspace/memory\n  afterthought import AGENTS.md\n  afterthought import rust.pack --namespace project/shop"
)]
#[expect(clippy::struct_excessive_bools, reason = "each field is a separate flag")]
pub(crate) struct ImportArgs {
    /// Files, folders or zip files, or - for standard input
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Read every file as jsonl, notes, instructions, mem0, mem0-markdown, mcp-memory, mcp-memory-service or
    /// claude-ai-memories
    #[arg(long, value_name = "NAME")]
    format: Option<String>,
    /// Compare each memory with the stored ones
    #[arg(long)]
    consolidate: bool,
    /// Show what the import would do, but write no memories
    #[arg(long)]
    dry_run: bool,
    /// Save the plan of --consolidate --dry-run for `runs apply`
    #[arg(long, value_name = "FILE", requires_all = ["consolidate", "dry_run"])]
    out: Option<PathBuf>,
    #[command(flatten)]
    model: ModelArgs,
    /// Trust the files: store even memories that read like orders
    #[arg(long, conflicts_with = "consolidate")]
    trusted: bool,
    /// Put all memories from the files in the inbox
    #[arg(long, conflicts_with_all = ["consolidate", "trusted"])]
    review: bool,
    /// Turn the sections of CLAUDE.md and similar files into memories
    #[arg(long)]
    instructions_as_memories: bool,
}

impl ImportArgs {
    /// Whether the command writes memories.
    pub(crate) fn writes(&self) -> bool {
        !self.dry_run
    }

    fn policy(&self) -> ReviewPolicy {
        match (self.trusted, self.review) {
            (true, _) => ReviewPolicy::Nothing,
            (false, true) => ReviewPolicy::Everything,
            (false, false) => ReviewPolicy::Orders,
        }
    }
}

pub(crate) fn run(args: &ImportArgs, context: &Context<'_>) -> anyhow::Result<ExitStatus> {
    let mut config = context.global.settings(args.model.settings())?;
    config.deny_as_projects_do(&context.global.folders()?, &args.paths)?;
    let options = ImportOptions {
        format: args.format.clone(),
        namespace: config.namespace(),
        review: args.policy(),
        instructions_as_memories: args.instructions_as_memories,
        gather: args.consolidate,
        dry_run: args.dry_run,
    };
    let is_rehearsal = args.dry_run && !args.consolidate;
    let (memories, out) = (open(config, is_rehearsal)?, context.out);
    let mut trouble = Ok(());
    let report = memories.import(&args.paths, &options, &mut |event| {
        let printed = print_event(&event, is_rehearsal, out);
        // The import continues; a failure to print is reported at the end.
        trouble = std::mem::replace(&mut trouble, Ok(())).and(printed);
    })?;
    // Output errors are checked before consolidation, so that no model is used for results that cannot be printed.
    trouble?;
    let ImportReport { failed, gathered, .. } = report;
    // Without --consolidate, the memories have been stored by now; with it, they have only been collected.
    if !args.consolidate {
        if is_rehearsal {
            out.note("nothing was written");
        }
        return Ok(if failed > 0 { ExitStatus::Failures } else { ExitStatus::Success });
    }
    let runtime = runtime()?;
    let model = runtime.block_on(args.model.choose(memories.config(), out))?;
    let arguments = json!({ "paths": args.paths, "consolidate": true });
    let imported = runtime.block_on(memories.consolidate_imported(gathered, &model, &arguments, args.dry_run))?;
    if let Some(run) = &imported.run {
        out.note(format_args!("{DIM}`afterthought undo {}` reverts it{DIM:#}", run.short()));
    }
    // The plan is saved before the outcomes are printed: a closed pipe must not lose the plan.
    if let Some(path) = &args.out {
        apply::save(path, &imported.plan, out)?;
    }
    imported.outcomes.iter().try_for_each(|outcome| print_outcome(outcome, out))?;
    let waits = |one: &&ImportOutcome| matches!(one, ImportOutcome::Compared(change) if change.pending);
    note_waiting(imported.outcomes.iter().filter(waits).count(), "", out);
    // A failed request leaves both memories in place, so the import as a whole still succeeds, with exit code 3.
    let status = report_trouble(&imported, out);
    Ok(if failed > 0 { ExitStatus::Failures } else { status })
}

/// Opens the memories, or a copy in memory for a rehearsal, which neither creates nor changes a file.
fn open(config: Config, is_rehearsal: bool) -> anyhow::Result<Memories> {
    if !is_rehearsal {
        return Context::memories_of(config);
    }
    let exists = config.db.value.exists();
    let builder = Memories::builder().config(config).through(AuditChannel::Command);
    Ok(if exists { builder.read_only().open()?.copy_in_memory()? } else { builder.path("memory:").open()? })
}

/// Offers to import `MEMORY.md` and daily notes of the working directory, once for each folder, if a person can be asked.
/// Notes that are part of a repository, which anybody may have written, and links are not offered.
pub(super) fn offer_notes(context: &Context<'_>) -> anyhow::Result<()> {
    if !can_ask() || context.out.is_json() {
        return Ok(());
    }
    let folder = std::env::current_dir().context("cannot read the working directory")?;
    let notes: Vec<PathBuf> = [folder.join("MEMORY.md"), folder.join("memory")]
        .into_iter()
        .filter(|path| is_own(path) && holds_notes(path))
        .collect();
    let asked = context.global.folders()?.state.join("notes-offered");
    let before = std::fs::read_to_string(&asked).unwrap_or_default();
    let name = folder.display().to_string();
    if notes.is_empty() || before.lines().any(|line| line == name) {
        return Ok(());
    }
    // The answer is recorded first, so that the question is asked once even if the import fails.
    asked.parent().map(std::fs::create_dir_all).transpose().context("cannot create the state folder")?;
    std::fs::write(&asked, format!("{before}{name}\n")).with_context(|| format!("cannot write {}", asked.display()))?;
    let names: Vec<_> = notes.iter().filter_map(|path| path.file_name()?.to_str()).collect();
    if is_yes(&format!("Import the notes in this folder ({})?", names.join(", ")))? {
        let paths: Vec<_> = notes.iter().map(|path| path.to_string_lossy()).collect();
        run(&arguments(&paths.iter().map(AsRef::as_ref).collect::<Vec<_>>())?, context)?;
    }
    Ok(())
}

fn is_own(path: &Path) -> bool {
    !path.is_symlink() && !is_part_of_repository(path)
}

/// Returns whether a path is a file of notes, or a folder with `MEMORY.md` or daily notes.
fn holds_notes(path: &Path) -> bool {
    let is_day = |name: &str| name.strip_suffix(".md").is_some_and(|stem| stem.parse::<jiff::civil::Date>().is_ok());
    let is_note = |name: std::ffi::OsString| name.to_str().is_some_and(|name| name == "MEMORY.md" || is_day(name));
    path.is_file() || path.read_dir().into_iter().flatten().flatten().any(|entry| is_note(entry.file_name()))
}

/// Prints an event of an import, or of one that would happen.
fn print_event(event: &ImportEvent<'_>, is_rehearsal: bool, out: &Printer) -> std::io::Result<()> {
    match event {
        ImportEvent::Failed(path, skipped) => {
            out.warn(format_args!("{}:{}: {}", path.display(), skipped.record, skipped.reason));
        }
        ImportEvent::LeftOut(path, left_out) => {
            out.detail(format_args!("{}:{}: {}", path.display(), left_out.record, left_out.reason));
        }
        ImportEvent::WithoutProject(path) => out.warn(format_args!(
            "{} is in an archive, so its project is unknown; unpack it in the project's folder, or pass --namespace \
             project/NAME",
            path.display()
        )),
        ImportEvent::Adapted(path, adapted) => print_adapted(path, adapted, out),
        ImportEvent::Denied(path) => {
            out.note(format_args!("{}: not read, because the setting guard.deny excludes it", path.display()));
        }
        ImportEvent::Warning(text) => out.warn(on_one_line(text)),
        ImportEvent::Stored(file) => return print_file(file, is_rehearsal, out),
        ImportEvent::Pack(path, pack) => return print_pack(path, pack, is_rehearsal, out),
    }
    Ok(())
}

/// Reports fields that were left out and categories that were replaced.
fn print_adapted(path: &Path, adapted: &ImportChanges, out: &Printer) {
    let ImportChanges { left_out_fields, categories, category } = adapted;
    if !left_out_fields.is_empty() {
        out.note(format_args!(
            "{}: fields that memories do not have were left out: {}",
            path.display(),
            listed(left_out_fields)
        ));
    }
    if !categories.is_empty() {
        out.note(format_args!(
            "{}: the setting `categories` does not list {}; these memories have the category {category}, and the \
             former one as a tag",
            path.display(),
            listed(categories)
        ));
    }
}

/// Returns names with their counts, as text.
fn listed(counts: &BTreeMap<String, usize>) -> String {
    counts.iter().map(|(name, count)| format!("{name} ({count})")).collect::<Vec<_>>().join(", ")
}

fn print_file(file: &FileImport<'_>, is_rehearsal: bool, out: &Printer) -> std::io::Result<()> {
    let FileImport { path, format, counts, left_out, failed, namespace, adapted, unconnected } = file;
    if out.is_json() {
        return out.json(&json!({
            "file": path, "format": format, "added": counts.added, "changed": counts.changed,
            "known": counts.known, "waiting": counts.waiting, "known_context": counts.context, "tasks": counts.tasks, "left_out": left_out, "failed": failed,
            "left_out_fields": adapted.left_out_fields, "categories": adapted.categories, "unconnected": unconnected,
        }));
    }
    let context = match counts.context {
        0 => String::new(),
        count => format!(", {} of known context for {namespace}", counted(count, "line")),
    };
    let context = match counts.tasks {
        0 => context,
        count => format!("{context}, {} of the work ledger", counted(count, "task")),
    };
    out.line(format_args!(
        "{} ({format}): {} {}added, {} changed, {} already stored, {left_out} left out, {failed} failed{context}",
        path.display(),
        counts.added,
        if is_rehearsal { "would be " } else { "" },
        counts.changed,
        counts.known,
    ))?;
    for project in unconnected {
        let label = project.parts().last().map_or("", String::as_str);
        out.note(format_args!(
            "{project} is not connected with a folder yet: a repository with its remote is recognised; for any other \
             folder, use `afterthought project alias FOLDER {label}`"
        ));
    }
    note_waiting(counts.waiting, "; to restore an export of your own as it was, import it with --trusted", out);
    Ok(())
}

fn print_pack(path: &Path, pack: &PackImport, is_rehearsal: bool, out: &Printer) -> std::io::Result<()> {
    let PackImport { name, before, signer, namespace, template, run, .. } = pack;
    let PackImport { added, changed, retired, known, kept, waiting, left_out, .. } = pack;
    if out.is_json() {
        return out.json(&json!({
            "file": path, "format": "pack", "pack": name, "before": before, "signer": signer, "namespace": namespace,
            "added": added, "changed": changed, "retired": retired, "known": known, "kept": kept, "waiting": waiting,
            "left_out": left_out, "template": template, "run": run,
        }));
    }
    out.line(format_args!(
        "{} (pack {name}) into {namespace}: {added} {}added, {changed} changed, {retired} retired, {known} already \
         stored, {left_out} left out",
        path.display(),
        if is_rehearsal { "would be " } else { "" },
    ))?;
    match signer {
        Some(signer) => out.note(format_args!("signed by {signer}; compare it with the key of the author")),
        None => out.warn("the pack is not signed, so anybody may have written it"),
    }
    if *kept > 0 {
        out.note(format_args!(
            "{} stayed as you left {}: edited, pinned or forgotten here",
            counted(*kept, "memory"),
            if *kept == 1 { "it" } else { "them" }
        ));
    }
    note_waiting(*waiting, "", out);
    if let Some(template) = template {
        out.note(format_args!("the pack suggests these settings, which were not changed:\n{template}"));
    }
    if let Some(run) = run.as_ref().filter(|_| !is_rehearsal) {
        out.note(format_args!("{DIM}`afterthought undo {}` reverts it{DIM:#}", run.short()));
    }
    Ok(())
}

/// Reports memories that are waiting for review, and the next step.
fn note_waiting(count: usize, otherwise: &str, out: &Printer) {
    if count > 0 {
        let (memories, wait) = (counted(count, "memory"), if count == 1 { "waits" } else { "wait" });
        out.note(format_args!("{memories} {wait} in the inbox; see `afterthought inbox list`{otherwise}"));
    }
}

fn print_outcome(outcome: &ImportOutcome, out: &Printer) -> anyhow::Result<()> {
    match outcome {
        ImportOutcome::Inactive { content, status } => {
            let reason = format!("the memory is {status} in the file");
            print_decision(content, Decision::Skip, &reason, None, out)
        }
        ImportOutcome::Compared(change) => {
            let content = &change.incoming.candidate.claim.content;
            print_decision(content, change.decision, &change.reason, Some(change), out)
        }
    }
}

fn print_decision(
    content: &str,
    decision: Decision,
    reason: &str,
    change: Option<&Change>,
    out: &Printer,
) -> anyhow::Result<()> {
    if !out.is_json() {
        let line = one_line(content, 120);
        let waits = if change.is_some_and(|change| change.pending) { ", waits in the inbox" } else { "" };
        return Ok(out.line(format_args!("{:<10} {line} ({reason}{waits})", decision.as_str()))?);
    }
    let target = change.and_then(|change| change.target.as_ref());
    let mut value = json!({ "incoming": content, "decision": decision, "target": target, "reason": reason });
    if let Some(change) = change {
        if let Some(conflict) = change.conflict {
            value["conflict"] = json!(conflict);
        }
        for (name, is_so) in [("born_superseded", change.born_superseded), ("pending", change.pending)] {
            if is_so {
                value[name] = json!(true);
            }
        }
    }
    Ok(out.json(&value)?)
}

fn report_trouble(imported: &ConsolidatedImport, out: &Printer) -> ExitStatus {
    let (spent, failed) = (imported.settled.spent, imported.settled.failed_calls);
    if spent.calls > 0 {
        let tokens = spent.prompt_tokens + spent.completion_tokens;
        out.note(format_args!("{}, {tokens} tokens", counted(spent.calls, "call")));
    }
    if let Some(halted) = &imported.halted {
        out.error_text(&format!("no further requests were sent: {halted}"));
    }
    if failed > 0 {
        out.error_text(&format!(
            "{} about memories that are hard to distinguish failed; the rules decided alone, and what they are unsure of is kept and linked",
            counted(failed, "question")
        ));
    }
    if imported.halted.is_some() || failed > 0 { ExitStatus::Failures } else { ExitStatus::Success }
}

/// Export memories with their evidence and relations, oldest first
///
/// With --pack, writes the active memories as a pack for others: their statements and the links among them, without
/// quotes and sources. Secrets, e-mail addresses, phone numbers and other personal data are removed, regardless of the
/// settings. `import` checks the pack, and updates the memories that an earlier version of it added.
///
/// Exits 1 when there are no memories.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  afterthought export --all > memories.jsonl\n  afterthought export --format markdown --namespace project/shop\n  afterthought export --pack rust --version 1.2.0 --tag rust > rust.pack"
)]
pub(crate) struct ExportArgs {
    /// Export the tasks of the work ledger instead, as JSONL
    #[arg(long, conflicts_with_all = ["format"])]
    tasks: bool,
    /// Format
    #[arg(long, value_enum, default_value_t = Format::Jsonl)]
    format: Format,
    /// Write a pack with this name
    #[arg(long, value_name = "NAME", requires = "version", conflicts_with_all = ["format", "tasks"])]
    pack: Option<String>,
    /// Version of the pack, e.g. 1.2.0
    #[arg(long, value_name = "VERSION", requires = "pack")]
    version: Option<String>,
    /// Sign the pack with this Ed25519 key, using ssh-keygen
    #[arg(long, value_name = "KEYFILE", requires = "pack")]
    sign: Option<PathBuf>,
    /// Include your settings `categories` and `instructions`
    #[arg(long, requires = "pack")]
    template: bool,
    /// Not supported; only for the hint in its error
    #[arg(long, hide = true, value_name = "FILE")]
    out: Option<String>,
    #[command(flatten)]
    selection: Selection,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    Jsonl,
    Markdown,
}

pub(crate) fn export(args: &ExportArgs, context: &Context<'_>) -> anyhow::Result<ExitStatus> {
    if let Some(file) = &args.out {
        anyhow::bail!("export prints to standard output; redirect it, as in `afterthought export > {file}`");
    }
    let Some(memories) = context.existing_memories()? else { return Ok(ExitStatus::NoMatch) };
    if args.tasks {
        return export_tasks(&memories, context);
    }
    if let (Some(name), Some(version)) = (&args.pack, &args.version) {
        let (key, with_template) = (args.sign.as_deref(), args.template);
        return export_pack(PackOptions { name, version, with_template, key }, args, &memories, context);
    }
    let mut collected = Vec::new();
    let mut print = |memory: Exported| -> anyhow::Result<()> {
        match args.format {
            Format::Jsonl => context.out.json(&memory)?,
            // JSONL is streamed; Markdown is rendered from all memories at once.
            Format::Markdown => collected.push(memory),
        }
        Ok(())
    };
    let count = memories.export(args.selection.filter(context)?, &mut print)?;
    if !collected.is_empty() {
        context.out.line(markdown(&collected).trim_end())?;
    }
    if count == 0 {
        return context.nothing_in(&memories, args.selection.no_match());
    }
    Ok(ExitStatus::Success)
}

fn export_pack(
    options: PackOptions<'_>,
    args: &ExportArgs,
    memories: &Memories,
    context: &Context<'_>,
) -> anyhow::Result<ExitStatus> {
    let pack = memories.export_pack(options, args.selection.filter(context)?)?;
    if pack.memories == 0 {
        return context.nothing_in(memories, args.selection.no_match());
    }
    let out = context.out;
    out.line(pack.text.trim_end())?;
    let signed = options.key.map_or("not signed", |_| "signed");
    out.note(format_args!("{} {}: {}, {signed}", options.name, options.version, counted(pack.memories, "memory")));
    if !pack.removed.is_empty() {
        out.note(format_args!("removed from the texts: {}", Vec::from_iter(pack.removed).join(", ")));
    }
    Ok(ExitStatus::Success)
}

fn export_tasks(memories: &Memories, context: &Context<'_>) -> anyhow::Result<ExitStatus> {
    let namespaces: Vec<_> = context.settings()?.namespace().into_iter().collect();
    let mut print = |task: ExportedTask| -> anyhow::Result<()> { Ok(context.out.json(&task)?) };
    let count = memories.export_tasks(&namespaces, &mut print)?;
    let hint = "the work ledger contains no tasks; `afterthought run` reads the logs of coding agents";
    Ok(context.out.unless_empty(count == 0, hint))
}
