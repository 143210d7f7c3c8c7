//! `import`: memories from a file.

mod settle;

use std::path::{Path, PathBuf};

use afterthought::exchange::{
    FilePlace, Gathered, Imported, MEMORY_FORMATS, Terms, gather, import_as_is, place_of, recognise,
};
use afterthought::guard::Guard;
use afterthought::memory::Namespace;
use afterthought::pipeline::{path_key, project_at};
use afterthought::store::Store;
use anyhow::bail;
use serde_json::json;
use transcripts::{Folder, Head, IngestError, Input, Skipped, open};

use crate::cli::args::{Context, now};
use crate::cli::exit::ExitStatus;
use crate::cli::printer::counted;
use crate::cli::run::Asking;

/// Import memories from files of this and other programs
///
/// Reads JSONL exports of this program, or of objects with "content"; MEMORY.md and daily notes; memories of mem0, the MCP
/// reference memory server, mcp-memory-service and Claude.ai. Of a folder or zip file, every such file is read. CLAUDE.md,
/// AGENTS.md and the like are recorded as instructions that agents already see, so that runs do not learn them again; they
/// become memories only with --instructions-as-memories. Memories that name no project go to that of the file, else to all.
///
/// Importing a file again changes only what was edited. What was superseded, forgotten or rejected here stays so. Secrets are
/// redacted.
///
/// With --consolidate, each memory is compared with those that are stored, in order of time, as a run that `undo` takes back;
/// a configured model decides the unclear cases. Prints one line a memory in the order of the file; with --json
/// `{"incoming", "decision", "target", "reason", "winner"}`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  afterthought export --all > memories.jsonl\n  afterthought --db other.db import memories.jsonl\n  afterthought import ~/assistant/workspace/memory\n  afterthought import AGENTS.md"
)]
pub struct ImportArgs {
    /// Files, folders or zip files, or - for standard input
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Read every file as jsonl, notes, instructions, mem0, mem0-markdown, mcp-memory, mcp-memory-service or
    /// claude-ai-memories
    #[arg(long, value_name = "NAME")]
    format: Option<String>,
    /// Compare each memory with those that are stored
    #[arg(long)]
    consolidate: bool,
    /// Show what --consolidate would do, and write no memory
    #[arg(long, requires = "consolidate")]
    dry_run: bool,
    /// Save the plan that --dry-run shows, for `runs apply`
    #[arg(long, value_name = "FILE", requires = "dry_run")]
    out: Option<PathBuf>,
    #[command(flatten)]
    asking: Asking,
    /// Turn the sections of CLAUDE.md, AGENTS.md and the like into memories
    #[arg(long)]
    instructions_as_memories: bool,
}

impl ImportArgs {
    /// Whether it writes, rather than to tell what it would.
    pub fn writes(&self) -> bool {
        !self.dry_run
    }
}

pub fn run(args: &ImportArgs, context: &Context<'_>) -> anyhow::Result<ExitStatus> {
    let config = context.global.settings(args.asking.settings())?;
    let (forced, guard) = (config.namespace.value.clone(), super::run::guard_of(&config));
    let (store, gathered) = (Store::open(&config.db.value)?.with_guard(guard.clone()), Vec::new());
    let mut job = Job { args, context, forced, store, guard, failed: 0, files: 0, gathered };
    for path in &args.paths {
        if path.is_dir() || is_zip(path) {
            job.folder(path)?;
        } else {
            let input = open(path)?;
            job.file(input)?;
        }
    }
    let settled = if args.consolidate { settle::settle(&mut job, &config)? } else { ExitStatus::Success };
    Ok(if job.failed > 0 { ExitStatus::Failures } else { settled })
}

fn is_zip(path: &Path) -> bool {
    path != Path::new("-") && open(path).is_ok_and(|input| input.head().starts_with("PK\u{3}\u{4}"))
}

/// One command.
struct Job<'a> {
    args: &'a ImportArgs,
    context: &'a Context<'a>,
    forced: Option<Namespace>,
    store: Store,
    guard: Guard,
    /// Records that could not be taken.
    failed: usize,
    /// Files that were read.
    files: usize,
    /// Memories that are settled when all files were read.
    gathered: Vec<Imported>,
}

impl Job<'_> {
    /// Reads the files of a directory or archive that hold memories; there must be one at least.
    fn folder(&mut self, path: &Path) -> anyhow::Result<()> {
        let folder = if path.is_dir() { Folder::directory(path) } else { Folder::archive(path)? };
        let before = self.files;
        for name in folder.all_files() {
            let input = match folder.open(&name) {
                Err(IngestError::Empty { .. }) => continue,
                opened => opened?,
            };
            if self.args.format.is_some() || recognise(&Head::of(&input)).is_some() {
                self.file(input)?;
            }
        }
        if self.files == before {
            bail!("{} holds no memories of a form that is known; see `afterthought import --help`", path.display());
        }
        Ok(())
    }

    fn file(&mut self, input: Input) -> anyhow::Result<()> {
        let (path, is_in_archive) = (input.path.clone(), input.is_in_archive());
        let terms = Terms {
            namespace: self.forced.clone().unwrap_or_else(Namespace::global),
            is_forced: self.forced.is_some(),
            now: now(),
            instructions_as_memories: self.args.instructions_as_memories,
            folder: folder_digits(&path),
        };
        let (format, mut gathered) = gather(input, self.args.format.as_deref(), &terms).map_err(|error| match error {
            IngestError::UnknownFormat { path } => anyhow::anyhow!(
                "{} holds no memories of a form that is known; see `afterthought import --help`, or pass --format NAME",
                path.display()
            ),
            IngestError::NoSuchFormat { name } => {
                let known: Vec<_> = MEMORY_FORMATS.iter().map(|format| format.name).collect();
                anyhow::anyhow!("no format of memories is called {name:?}; known are {}", known.join(", "))
            }
            other => other.into(),
        })?;
        self.files += 1;
        if is_in_archive && self.forced.is_none() && !gathered.known.is_empty() {
            // Its folder in the archive is none of this machine, and no conversation was held there.
            self.context.out.warn(format_args!(
                "{} is in an archive, so it is not known for which project it is written; unpack it in the project's \
                 folder, or pass --namespace project/NAME",
                path.display()
            ));
            gathered = Gathered { left_out: vec![skipped_whole()], ..Gathered::default() };
        }
        for skipped in &gathered.skipped {
            self.context.out.warn(format_args!("{}:{}: {}", path.display(), skipped.record, skipped.reason));
        }
        for left_out in &gathered.left_out {
            self.context.out.detail(format_args!("{}:{}: {}", path.display(), left_out.record, left_out.reason));
        }
        let skipped = gathered.skipped.len();
        self.failed += skipped;
        self.keep(&path, format.name, gathered, skipped)
    }

    /// Returns where what stands in `path` holds, if it does not say so itself.
    fn place_of(&self, path: &Path, gathered: &Gathered) -> anyhow::Result<Namespace> {
        let mut warn = |told: &str| self.context.out.warn(format_args!("{told}"));
        if let Some(forced) = &self.forced {
            return Ok(forced.clone());
        }
        match place_of(path, !gathered.known.is_empty()) {
            FilePlace::Anywhere => Ok(Namespace::global()),
            FilePlace::Project(namespace) => Ok(namespace),
            FilePlace::Folder(folder) => Ok(project_at(&self.store, &folder, &mut warn)?),
        }
    }

    /// Lets each memory go where its project's memories are: what names no project is for the one whose file it is, and
    /// what was merged away goes to what it was merged into.
    fn place(&self, gathered: &mut Gathered, place: &Namespace) -> anyhow::Result<()> {
        for imported in &mut gathered.memories {
            let names_none = !imported.has_id && imported.memory.namespace == Namespace::global();
            let own = if names_none { place } else { &imported.memory.namespace };
            imported.memory.namespace = self.store.merged_into(own)?;
        }
        Ok(())
    }

    fn keep(&mut self, path: &Path, format: &str, mut gathered: Gathered, skipped: usize) -> anyhow::Result<()> {
        let left_out = gathered.left_out.len();
        let place = self.place_of(path, &gathered)?;
        self.place(&mut gathered, &place)?;
        if self.args.consolidate {
            self.gathered.append(&mut gathered.memories);
            if gathered.known.is_empty() || self.args.dry_run {
                return Ok(());
            }
        }
        let counts = import_as_is(&self.store, gathered, &place, now())?;
        if self.context.out.is_json() {
            let value = json!({
                "file": path, "format": format, "added": counts.added, "changed": counts.changed,
                "known": counts.known, "known_context": counts.context, "left_out": left_out, "failed": skipped,
            });
            return Ok(self.context.out.json(&value)?);
        }
        let context = match counts.context {
            0 => String::new(),
            count => format!(", {} of known context for {place}", counted(count, "line")),
        };
        Ok(self.context.out.line(format_args!(
            "{} ({format}): {} added, {} changed, {} known already, {left_out} left out, {skipped} failed{context}",
            path.display(),
            counts.added,
            counts.changed,
            counts.known,
        ))?)
    }
}

/// Returns digits that tell the folder of a file from others; none for standard input.
fn folder_digits(path: &Path) -> String {
    let folder = std::path::absolute(path).ok().filter(|_| path != Path::new("-"));
    let folder = folder.as_deref().and_then(Path::parent);
    folder.map(|folder| path_key(folder)[..8].to_owned()).unwrap_or_default()
}

fn skipped_whole() -> Skipped {
    Skipped { record: 1, reason: "it is not known for which project it is written".to_owned() }
}
