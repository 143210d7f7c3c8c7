//! Imports memories from files and exports them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde_json::{Value, json};
use transcripts::{Folder, Head, IngestError, Input, Skipped, detect, open};

use super::remember::stated;
use super::run::denied_paths;
use super::{ApiError, Memories, Model, PackImport, refuse_secret_namespace};
use crate::changeset::Changeset;
use crate::config::Config;
use crate::consolidate::{Change, Decision, ImportedState, IncomingClaim, SavedPlan};
use crate::exchange::pack::is_pack;
use crate::exchange::{
    Counts, Exported, ExportedRelation, ExportedTask, FilePlace, Gathered, IdOrigin, Imported, MEMORY_FORMATS,
    ReviewPolicy, Terms, exported, fallback_category, gather, import_as_is, place_of, recognise,
};
use crate::fault::point;
use crate::guard::order_from_elsewhere;
use crate::memory::{ExtractionMethod, Memory, Namespace, Status};
use crate::pipeline::{
    CachedModel, ImportResult, ImportedMemory, LinkedFiles, OtherNames, Selection, consolidate_imported, path_key,
};
use crate::store::{Applied, AuditAction, Filter, NamespaceSubtree, PlanLedger, Project, RunId, RunStatus, StoreError};

/// Number of memories that an export reads at a time.
const PAGE: usize = 500;

/// Options for importing files.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ImportOptions {
    /// Format of every file; by default, each file's format is recognised by its content.
    pub format: Option<String>,
    /// Namespace for all memories, regardless of the file that they come from.
    pub namespace: Option<Namespace>,
    /// The memories that wait for review.
    pub review: ReviewPolicy,
    /// Whether sections of instruction files become memories as well.
    pub instructions_as_memories: bool,
    /// Whether memories are returned for consolidation instead of being stored directly.
    pub gather: bool,
    /// Whether the import is a dry run, which writes nothing.
    pub dry_run: bool,
}

/// One file that was imported.
#[derive(Debug)]
pub struct FileImport<'a> {
    /// The file.
    pub path: &'a Path,
    /// Name of the file's format.
    pub format: &'static str,
    /// Number of memories and lines that were written.
    pub counts: Counts,
    /// Number of records that were left out deliberately.
    pub left_out: usize,
    /// Records that could not be used.
    pub failed: usize,
    /// The namespace of memories that specify no namespace.
    pub namespace: &'a Namespace,
    /// Fields that were left out, and categories that were replaced.
    pub adapted: &'a ImportChanges,
    /// Projects of the memories that are not connected with any repository or folder.
    pub unconnected: Vec<Namespace>,
}

/// Fields that were left out, and categories that were replaced, when a file was imported.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ImportChanges {
    /// Fields that memories do not have, with the number of lines that contain them.
    pub left_out_fields: BTreeMap<String, usize>,
    /// Categories that the settings do not allow, with the number of memories that had them.
    pub categories: BTreeMap<String, usize>,
    /// The category that these memories have instead; their original category becomes a tag.
    pub category: String,
}

/// An event during an import.
#[derive(Debug)]
pub enum ImportEvent<'a> {
    /// A record could not be used.
    Failed(&'a Path, &'a Skipped),
    /// A record was left out deliberately.
    LeftOut(&'a Path, &'a Skipped),
    /// An instruction file in an archive was left out, because its project is unknown.
    WithoutProject(&'a Path),
    /// Fields were left out, or categories replaced.
    Adapted(&'a Path, &'a ImportChanges),
    /// A file was not read, because the setting `guard.deny` excludes it.
    Denied(&'a Path),
    /// A message that the user should see.
    Warning(&'a str),
    /// A file was stored.
    Stored(FileImport<'a>),
    /// A pack was imported.
    Pack(&'a Path, &'a PackImport),
}

/// The files that the setting `guard.deny` excludes.
struct DeniedFiles {
    selection: Selection,
    linked: LinkedFiles,
}

impl DeniedFiles {
    fn of(config: &Config, paths: &[PathBuf]) -> Result<Self, ApiError> {
        let deny = denied_paths(config)?;
        let linked = LinkedFiles::new(&deny, paths.iter().map(PathBuf::as_path));
        Ok(Self { linked, selection: Selection { deny, ..Selection::default() } })
    }

    /// Whether a file, which may be in an archive, is excluded; warns if this is uncertain.
    fn contains(&self, path: &Path, watch: &mut dyn FnMut(ImportEvent<'_>)) -> bool {
        // The patterns may name folders above the working directory.
        let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        if self.selection.leaves_file(&path, None).is_some() {
            return true;
        }
        let names = self.linked.other_names(&path);
        if names == OtherNames::Unknown {
            watch(ImportEvent::Warning(&self.linked.warning(&path)));
        }
        names == OtherNames::Denied
    }
}

/// The outcome of [`Memories::import`].
#[derive(Debug, Default)]
pub struct ImportReport {
    /// Memories that were added.
    pub added: usize,
    /// Records that could not be used.
    pub failed: usize,
    /// Files that were read.
    pub files: usize,
    /// Files that were not read, because the setting `guard.deny` excludes them.
    pub denied: usize,
    /// Memories to be consolidated, if that was requested.
    pub gathered: Vec<Imported>,
    /// The run that stored memories, which can be undone.
    pub run: Option<RunId>,
    arguments: Value,
}

/// The outcome for an imported memory.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum ImportOutcome {
    /// According to the file, the memory is no longer active.
    Inactive {
        /// Content of the memory.
        content: String,
        /// Status of the memory in the file.
        status: Status,
    },
    /// The memory was compared with the known memories.
    Compared(Box<Change>),
}

/// The outcome of [`Memories::consolidate_imported`].
#[derive(Debug)]
pub(crate) struct ConsolidatedImport {
    /// The outcome for each memory, in the order of the files.
    pub outcomes: Vec<ImportOutcome>,
    /// The run, which can be undone; `None` if it changed nothing.
    pub run: Option<RunId>,
    /// The plan of a dry run, to be saved.
    pub plan: SavedPlan,
    /// Decisions, calls and tokens.
    pub settled: ImportResult,
    /// The reason why the model was no longer used; `None` if it was used throughout.
    pub halted: Option<String>,
}

impl Memories {
    /// Returns the changesets after entry number `since` of the history, in the order in which they were written.
    /// Applying these changesets to another file gives that file the same memories.
    ///
    /// # Errors
    /// [`ApiError`] for storage without history, if access is limited to some namespaces, and if the file cannot be
    /// read.
    pub fn changesets(&self, since: i64) -> Result<Vec<Changeset>, ApiError> {
        self.unconfined()?;
        Ok(self.ledger("read changesets")?.changesets(since)?)
    }

    /// Applies a changeset in one transaction. Changes that are already present are not written again, so applying a
    /// changeset twice has the same effect as applying it once.
    ///
    /// # Errors
    /// [`ApiError`] for storage without history, if access is limited to some namespaces, and if the file cannot be
    /// written.
    pub fn apply_changeset(&self, changeset: &Changeset) -> Result<Applied, ApiError> {
        self.unconfined()?;
        Ok(self.ledger("apply changesets")?.apply(changeset)?)
    }

    /// Imports files, folders and zip files, and reports each file and record.
    ///
    /// # Errors
    /// [`ApiError`] if the format of a file is unknown, a file cannot be read, or the memories cannot be written.
    pub fn import(
        &self,
        paths: &[PathBuf],
        options: &ImportOptions,
        watch: &mut dyn FnMut(ImportEvent<'_>),
    ) -> Result<ImportReport, ApiError> {
        options.namespace.as_ref().map_or(Ok(()), refuse_secret_namespace)?;
        let names: Vec<String> = paths.iter().map(|path| path.to_string_lossy().into_owned()).collect();
        let arguments = json!({ "paths": names });
        let mut report = ImportReport { arguments, ..ImportReport::default() };
        let denied = DeniedFiles::of(&self.config, paths)?;
        let imported = paths.iter().try_for_each(|path| {
            if path.is_dir() || is_zip(path) {
                self.import_folder(path, options, &denied, &mut report, watch)
            } else if denied.contains(path, watch) {
                report.denied += 1;
                watch(ImportEvent::Denied(path));
                Ok(())
            } else {
                self.import_file(open(path)?, options, &mut report, watch)
            }
        });
        // The run is ended before an error is returned, so that it does not look interrupted.
        if let Some(run) = &report.run {
            let status = if imported.is_ok() { RunStatus::Finished } else { RunStatus::Failed };
            let summary =
                json!({ "files": report.files, "failed": report.failed, "decisions": { "add": report.added } });
            self.ledger(IMPORT)?.finish_run(run, status, &summary, Timestamp::now())?;
        }
        imported.map(|()| report)
    }

    /// Imports the files of a directory or archive that contain memories; there must be at least one such file.
    fn import_folder(
        &self,
        path: &Path,
        options: &ImportOptions,
        denied: &DeniedFiles,
        report: &mut ImportReport,
        watch: &mut dyn FnMut(ImportEvent<'_>),
    ) -> Result<(), ApiError> {
        let folder = if path.is_dir() {
            // A folder that cannot be listed would look like an empty folder.
            path.read_dir().map_err(|source| IngestError::Read { path: path.to_owned(), source })?;
            Folder::directory(path)
        } else {
            Folder::archive(path)?
        };
        let before = report.files + report.denied;
        for name in folder.all_files() {
            let path = path.join(&name);
            if denied.contains(&path, watch) {
                report.denied += 1;
                watch(ImportEvent::Denied(&path));
                continue;
            }
            // An empty file in a folder is not an error, and must not stop the import.
            let input = match folder.open(&name) {
                Err(IngestError::Empty { .. }) => continue,
                opened => opened?,
            };
            let head = Head::of(&input);
            if options.format.is_some() || is_pack(&head) || recognise(&head).is_some() {
                self.import_file(input, options, report, watch)?;
            }
        }
        if report.files + report.denied == before {
            return Err(ApiError::Unusable(format!(
                "{} contains no memories in a known format; see `afterthought import --help`",
                path.display()
            )));
        }
        Ok(())
    }

    fn import_file(
        &self,
        input: Input,
        options: &ImportOptions,
        report: &mut ImportReport,
        watch: &mut dyn FnMut(ImportEvent<'_>),
    ) -> Result<(), ApiError> {
        let (path, is_in_archive) = (input.path.clone(), input.is_in_archive());
        let head = Head::of(&input);
        let is_log = options.format.is_none() && recognise(&head).is_none() && detect(&input).is_ok();
        if options.format.is_none() && is_pack(&head) {
            if options.gather {
                return Err(ApiError::Unusable(format!(
                    "{} is a pack, which is imported as it is; leave out --consolidate",
                    path.display()
                )));
            }
            let namespace = options.namespace.clone().unwrap_or_else(Namespace::global);
            report.files += 1;
            watch(ImportEvent::Pack(&path, &self.import_pack(input, &namespace, options.review)?));
            return Ok(());
        }
        let terms = Terms {
            namespace: options.namespace.clone().unwrap_or_else(Namespace::global),
            is_forced: options.namespace.is_some(),
            now: Timestamp::now(),
            instructions_as_memories: options.instructions_as_memories,
            folder: folder_digits(&path),
        };
        let gathered = gather(input, options.format.as_deref(), &terms);
        let (format, mut gathered) = gathered.map_err(|error| not_memories(error, is_log))?;
        gathered.review = options.review;
        report.files += 1;
        if is_in_archive && options.namespace.is_none() && !gathered.known.is_empty() {
            // A folder in an archive does not exist on this machine, so it does not identify a project.
            watch(ImportEvent::WithoutProject(&path));
            let reason = "the project that the file belongs to is unknown".to_owned();
            gathered = Gathered { left_out: vec![Skipped { record: 1, reason }], ..Gathered::default() };
        }
        gathered.skipped.iter().for_each(|skipped| watch(ImportEvent::Failed(&path, skipped)));
        gathered.left_out.iter().for_each(|left_out| watch(ImportEvent::LeftOut(&path, left_out)));
        let (failed, left_out) = (gathered.skipped.len(), gathered.left_out.len());
        report.failed += failed;
        let namespace = match &options.namespace {
            Some(namespace) => namespace.clone(),
            None => self.namespace_of_file(&path, !gathered.known.is_empty())?,
        };
        let store = self.ledger(IMPORT)?;
        let adaptation = &mut gathered.adaptation;
        for (own, is_exported) in gathered.memories.places() {
            // A memory without a project belongs to the project of the file.
            let names_none = !is_exported && *own == Namespace::global();
            let place = store.merged_into(if names_none { &namespace } else { own })?;
            adaptation.places.insert((own.clone(), *is_exported), place);
        }
        let places: BTreeSet<Namespace> = adaptation.places.values().cloned().collect();
        if options.review != ReviewPolicy::Nothing {
            adaptation.waiting = self.left_to_maintainers(&places)?;
        }
        for task in &mut gathered.tasks {
            task.namespace = store.merged_into(&task.namespace)?;
        }
        // Anybody may have written the file, so the list of categories applies to it as well.
        let allowed = &self.config.categories.value;
        adaptation.categories = Some(allowed.clone());
        let categories = gathered.memories.categories().iter().filter(|(name, _)| !allowed.contains(name));
        let categories = categories.map(|(name, count)| (name.clone(), *count)).collect();
        let category = fallback_category(allowed).to_owned();
        let left_out_fields = std::mem::take(&mut gathered.left_out_fields);
        let adapted = &ImportChanges { left_out_fields, categories, category };
        watch(ImportEvent::Adapted(&path, adapted));
        if options.gather {
            std::mem::take(&mut gathered.memories).each(|mut imported| {
                gathered.adaptation.apply(&mut imported);
                report.gathered.push(imported);
                Ok::<_, StoreError>(())
            })?;
            // Lines of instruction files are not consolidated, so they are stored now.
            if (gathered.known.is_empty() && gathered.tasks.is_empty()) || options.dry_run {
                return Ok(());
            }
        }
        if report.run.is_none() {
            report.run = Some(store.begin_run("import", &report.arguments, Timestamp::now())?.id);
        }
        let counts = import_as_is(store, gathered, &namespace, report.run.as_ref(), Timestamp::now())?;
        report.added += counts.added;
        let is_unconnected = |project: &Project| {
            places.contains(&project.namespace) && project.identities.is_empty() && project.paths.is_empty()
        };
        let projects = if counts.added > 0 { store.projects()? } else { Vec::new() };
        let unconnected = projects.into_iter().filter(is_unconnected).map(|project| project.namespace).collect();
        let namespace = &namespace;
        watch(ImportEvent::Stored(FileImport {
            path: &path,
            format: format.name,
            counts,
            left_out,
            failed,
            namespace,
            adapted,
            unconnected,
        }));
        Ok(())
    }

    /// Returns the teams whose memories wait in the inbox, because this person is not a maintainer: a file that another
    /// member exported must not pre-empt the decision of the maintainers.
    fn left_to_maintainers(&self, places: &BTreeSet<Namespace>) -> Result<BTreeSet<Namespace>, ApiError> {
        let mut refused = BTreeSet::new();
        for team in places.iter().filter(|namespace| namespace.is_team()) {
            match self.check_maintainer([team], super::Author::Person) {
                Err(ApiError::NotMaintainer { .. }) => drop(refused.insert(team.clone())),
                checked => checked?,
            }
        }
        Ok(refused)
    }

    fn namespace_of_file(&self, path: &Path, are_instructions: bool) -> Result<Namespace, ApiError> {
        match place_of(path, are_instructions) {
            FilePlace::Anywhere => Ok(Namespace::global()),
            FilePlace::Project(namespace) => Ok(namespace),
            FilePlace::Folder(folder) => self.namespace_of(&folder),
        }
    }

    /// Compares imported memories with the known ones, in chronological order, and writes them as a run that
    /// [`Memories::undo`] reverses. A dry run compares and writes the memories in a copy of the file. `arguments`
    /// identify the run.
    ///
    /// # Errors
    /// [`ApiError`] if the database cannot be used.
    pub(crate) async fn consolidate_imported(
        &self,
        imported: Vec<Imported>,
        model: &Model,
        arguments: &Value,
        dry_run: bool,
    ) -> Result<ConsolidatedImport, ApiError> {
        let own = self.ledger("consolidate memories")?;
        // Replies are stored in the database itself, even in a dry run, so that they can be reused.
        let budget = self.budget_of(model)?;
        let model = model.source.as_ref().map(|source| CachedModel::new(source, own, &self.guard, &budget));
        let copy = if dry_run { Some(own.copy_in_memory()?) } else { None };
        let store = copy.as_ref().unwrap_or(own);
        let seen = store.last_change()?;
        let (mut inactive, mut arrivals) = (Vec::new(), Vec::new());
        for (place, one) in imported.into_iter().enumerate() {
            // A memory that was superseded or forgotten in its source must not become active here.
            if one.memory.status == Status::Active {
                arrivals.push((place, arrival(one)));
            } else {
                let content = self.guard.redact(one.memory.claim.content).0.into_inner();
                inactive.push((place, ImportOutcome::Inactive { content, status: one.memory.status }));
            }
        }
        let (places, arrivals): (Vec<usize>, Vec<ImportedMemory>) = arrivals.into_iter().unzip();
        let run = store.begin_run("import", arguments, Timestamp::now())?.id;
        let settled = consolidate_imported(store, &self.guard, model.as_ref(), arrivals, &run).await;
        let (status, summary) = match &settled {
            Ok(settled) => (RunStatus::Finished, summary(settled)),
            Err(_) => (RunStatus::Failed, json!({})),
        };
        // The run is ended before an error is returned, so that it does not look interrupted.
        store.finish_run(&run, status, &summary, Timestamp::now())?;
        let settled = settled?;
        let compared = settled.changes.iter().map(|(place, change)| (places[*place], change.clone()));
        let mut outcomes: Vec<(usize, ImportOutcome)> = compared
            .map(|(place, change)| (place, ImportOutcome::Compared(Box::new(change))))
            .chain(inactive)
            .collect();
        outcomes.sort_by_key(|(place, _)| *place);
        let changes = settled.changes.iter().map(|(_, change)| change.clone()).collect();
        let plan = SavedPlan::new(store.identity()?, seen, changes, PlanLedger::default(), Timestamp::now());
        let has_changed = !dry_run && settled.changes.iter().any(|(_, change)| change.decision != Decision::Skip);
        Ok(ConsolidatedImport {
            outcomes: outcomes.into_iter().map(|(_, outcome)| outcome).collect(),
            run: has_changed.then_some(run),
            plan,
            settled,
            halted: model.and_then(|model| model.halted()).map(|error| error.to_string()),
        })
    }

    /// Calls `each` with every task in the work ledger whose namespace is in `namespaces`, or in all namespaces if the
    /// list is empty. Returns the number of tasks.
    ///
    /// # Errors
    /// [`ApiError`] if the database cannot be read, or the error of `each`.
    pub(crate) fn export_tasks<E: From<ApiError>>(
        &self,
        namespaces: &[Namespace],
        each: &mut dyn FnMut(ExportedTask) -> Result<(), E>,
    ) -> Result<usize, E> {
        self.unconfined()?;
        let within: Vec<_> = namespaces.iter().cloned().map(NamespaceSubtree::Under).collect();
        let tasks = self.ledger("export tasks")?.tasks(&within).map_err(ApiError::from)?;
        let count = tasks.len();
        for task in tasks {
            each(ExportedTask { task })?;
        }
        Ok(count)
    }

    /// Calls `each` with every memory that passes `filter`, oldest first, with its sources and relations. Returns the
    /// number of memories.
    ///
    /// # Errors
    /// [`ApiError`] if the database cannot be read, or the error of `each`.
    pub fn export<E: From<ApiError>>(
        &self,
        filter: Filter,
        each: &mut dyn FnMut(Exported) -> Result<(), E>,
    ) -> Result<usize, E> {
        let filter = self.confined(filter)?;
        let (store, audit) = (self.ledger("export memories")?, self.audit()?);
        let (mut count, now) = (0, Timestamp::now());
        // A link to a forgotten memory is exported only together with that memory.
        let has_forgotten = filter.statuses.is_empty() || filter.statuses.contains(&Status::Forgotten);
        let is_shown = |relation: &ExportedRelation| -> Result<bool, StoreError> {
            let to = if has_forgotten { None } else { store.find(&relation.to)? };
            Ok(to.is_none_or(|memory| memory.status != Status::Forgotten))
        };
        let mut last = None;
        loop {
            // Ids sort by creation time, so memories that are added in the meantime appear on later pages.
            let page = store.list_after(&filter, last.as_ref(), PAGE).map_err(ApiError::from)?;
            last = page.last().map(|memory| memory.id.clone());
            let is_last = page.len() < PAGE;
            count += page.len();
            point("export.page");
            for memory in page {
                let mut line = exported(store, memory.printed_at(now)).map_err(ApiError::from)?;
                let mut relations = Vec::with_capacity(line.relations.len());
                for relation in line.relations {
                    if is_shown(&relation).map_err(ApiError::from)? {
                        relations.push(relation);
                    }
                }
                line.relations = relations;
                each(line)?;
            }
            if is_last {
                break;
            }
        }
        if let Some(mut log) = audit {
            log.count(AuditAction::Export, count, Timestamp::now()).map_err(ApiError::from)?;
        }
        Ok(count)
    }
}

const IMPORT: &str = "import memories";

/// Returns why a file cannot be imported. The user may have passed conversations to the wrong command.
fn not_memories(error: IngestError, is_log: bool) -> ApiError {
    match error {
        IngestError::UnknownFormat { path } if is_log => ApiError::Unusable(format!(
            "{0} contains conversations, not memories; read them with `afterthought run {0}`",
            path.display()
        )),
        IngestError::UnknownFormat { path } => ApiError::Unusable(format!(
            "{} contains no memories in a known format; see `afterthought import --help`, or pass --format NAME",
            path.display()
        )),
        IngestError::NoSuchFormat { name } => {
            let known = MEMORY_FORMATS.iter().map(|one| one.name).collect::<Vec<_>>().join(", ");
            ApiError::Unusable(format!("there is no memory format {name:?}; use one of {known}"))
        }
        other => other.into(),
    }
}

fn is_zip(path: &Path) -> bool {
    // Standard input can be read only once, so it is not inspected here.
    path != Path::new("-") && open(path).is_ok_and(|input| input.head().starts_with("PK\u{3}\u{4}"))
}

/// Returns digits that identify the folder of a file; empty for standard input.
fn folder_digits(path: &Path) -> String {
    let folder = std::path::absolute(path).ok().filter(|_| path != Path::new("-"));
    let folder = folder.as_deref().and_then(Path::parent);
    folder.map(|folder| path_key(folder)[..8].to_owned()).unwrap_or_default()
}

/// Returns an imported memory as it is compared with the known ones.
pub(crate) fn arrival(imported: Imported) -> ImportedMemory {
    let Imported { memory, id, evidence, .. } = imported;
    // Text that reads like an order waits for review, even if a person wrote it according to the file.
    let is_order = order_from_elsewhere(&memory.claim, &evidence, None).is_some();
    let method = if is_order { ExtractionMethod::Imported } else { memory.extraction_method };
    let Memory { created_at, updated_at, pinned, usage, .. } = memory;
    let candidate = stated(memory.claim, evidence);
    let incoming = IncomingClaim {
        candidate,
        namespace: memory.namespace,
        source: memory.source,
        method,
        id: None,
        past: Some(ImportedState { created_at, updated_at, pinned, usage }),
        needs_review: is_order,
        is_later: false,
    };
    ImportedMemory { incoming, id: (id == IdOrigin::Export).then_some(memory.id), at: created_at }
}

fn summary(settled: &ImportResult) -> Value {
    let count = |decision: &Decision| settled.changes.iter().filter(|(_, one)| one.decision == *decision).count();
    let decisions: BTreeMap<Decision, usize> =
        Decision::ALL.iter().map(|decision| (*decision, count(decision))).collect();
    let spent = settled.spent;
    json!({
        "decisions": decisions, "llm_calls": spent.calls, "cached_replies": spent.cached,
        "prompt_tokens": spent.prompt_tokens, "completion_tokens": spent.completion_tokens,
        "failed_calls": settled.failed_calls,
    })
}
