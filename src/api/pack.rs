//! Exports memories as packs, and imports packs.
//!
//! The memories of a pack get ids that are derived from the pack, the namespace and their ids in the pack, so that the
//! next version of the pack finds them. The namespace is chosen by whoever imports the pack, never by the pack.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use jiff::Timestamp;
use serde_json::json;
use transcripts::Input;

use super::draft::refuse_secrets;
use super::team::strict_guard;
use super::{ApiError, Author, Memories};
use crate::changeset::{Action, Row, memory_as_stored};
use crate::exchange::pack::{
    MAX_PACK_BYTES, Pack, PackError, PackMemory, PackTemplate, PackVersion, SIGNED_FOR, checked_name, end, hash_of,
    read_pack, written,
};
use crate::exchange::{ExportedRelation, IdOrigin, Imported, ReviewPolicy, allow_categories, exported};
use crate::memory::{Claim, ExtractionMethod, Memory, MemoryId, Namespace, Relation, Status};
use crate::store::{AuditAction, Filter, Order, Run, RunId, RunStatus, StoreError, Writer};

/// Prefix of the source of a memory that came from a pack; the name of the pack follows it.
const FROM_PACK: &str = "pack:";

/// Options for writing a pack.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PackOptions<'o> {
    /// The name of the pack.
    pub name: &'o str,
    /// The version, such as 1.2.0.
    pub version: &'o str,
    /// Whether the categories and instructions of the settings are part of the pack.
    pub with_template: bool,
    /// The file of the SSH key that signs the pack.
    pub key: Option<&'o Path>,
}

/// The text of a pack, and what was left out of it.
#[derive(Debug)]
pub(crate) struct PackOutput {
    /// The whole file.
    pub text: String,
    /// Number of memories.
    pub memories: usize,
    /// The kinds of secrets and personal data that were removed.
    pub removed: BTreeSet<&'static str>,
}

/// The outcome of importing a pack.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PackImport {
    /// Name and version of the pack.
    pub name: String,
    /// The version that was imported before, if any.
    pub before: Option<String>,
    /// The fingerprint of the key with which the pack was signed.
    pub signer: Option<String>,
    /// The namespace of the memories.
    pub namespace: String,
    /// Memories that are new.
    pub added: usize,
    /// Memories of the previous version that the pack changed.
    pub changed: usize,
    /// Memories of the previous version that the pack no longer contains.
    pub retired: usize,
    /// Memories that were already stored with the same words.
    pub known: usize,
    /// Memories that the pack would change or retire, but that were edited, pinned or forgotten here.
    pub kept: usize,
    /// Memories that wait in the inbox, because they read like orders.
    pub waiting: usize,
    /// Memories of the pack that have expired.
    pub left_out: usize,
    /// The settings that the pack suggests, as lines for the settings file.
    pub template: Option<String>,
    /// The run, which can be undone; `None` if the version was imported before.
    pub run: Option<RunId>,
}

impl Memories {
    /// Writes the active memories that pass `filter` as a pack: their claims, and the links among them. Quotes, sources
    /// and use counts are left out, and secrets and personal data of every kind are removed.
    ///
    /// # Errors
    /// [`ApiError`] if the name or the version is not valid, the pack cannot be signed, or the database cannot be read.
    pub(crate) fn export_pack(&self, options: PackOptions<'_>, filter: Filter) -> Result<PackOutput, ApiError> {
        let (name, version) = (checked_name(options.name)?, options.version.parse::<PackVersion>()?);
        let now = Timestamp::now();
        let filter = Filter { statuses: vec![Status::Active], unexpired_at: Some(now), ..filter };
        let (filter, store, audit) = (self.confined(filter)?, self.ledger("export memories")?, self.audit()?);
        let found = store.list(&filter, Order::Id, usize::MAX >> 1, 0)?;
        let ids: BTreeSet<MemoryId> = found.iter().map(|memory| memory.id.clone()).collect();
        let (guard, mut removed, mut memories) = (strict_guard(), BTreeSet::new(), Vec::with_capacity(found.len()));
        for memory in found {
            let (id, claim) = (id_out(&name, &memory.id), memory.claim.clone());
            let mut relations = exported(store, memory)?.relations;
            relations.retain(|relation| ids.contains(&relation.to));
            relations.iter_mut().for_each(|relation| relation.to = id_out(&name, &relation.to));
            let (claim, findings) = guard.redact(claim);
            removed.extend(findings.into_keys());
            memories.push(PackMemory { id, claim: claim.into_inner(), relations });
        }
        let template = options.with_template.then(|| PackTemplate {
            categories: self.config.categories.value.clone(),
            instructions: self.config.instructions.value.clone(),
        });
        if let Some(text) = template.as_ref().and_then(|template| template.instructions.clone()) {
            refuse_secrets(text)?;
        }
        let text = written(&name, version, template, &memories, now)?;
        let signature = options.key.map(|key| signed(&hash_of(&text), key)).transpose()?;
        if let Some(mut log) = audit {
            log.count(AuditAction::Export, memories.len(), now)?;
        }
        Ok(PackOutput { text: format!("{text}{}", end(&text, signature)), memories: memories.len(), removed })
    }

    /// Imports a pack as one run that [`Memories::undo`] reverses. A later version changes and retires what an earlier
    /// one added, except for memories that were edited, pinned or forgotten since.
    ///
    /// # Errors
    /// [`ApiError::Pack`] if the pack cannot be trusted to be what it was when it was written, or contradicts an earlier
    /// import; nothing is written then.
    pub(super) fn import_pack(
        &self,
        input: Input,
        namespace: &Namespace,
        review: ReviewPolicy,
    ) -> Result<PackImport, ApiError> {
        let path = input.path.clone();
        let refused = |fault: PackError| {
            ApiError::Unusable(format!("nothing was imported from the pack {}: {fault}", path.display()))
        };
        let text = input.into_text(MAX_PACK_BYTES)?.ok_or_else(|| refused(PackError::TooLarge))?;
        let pack = read_pack(&text).map_err(refused)?;
        self.check_maintainer([namespace], Author::Person)?;
        let (store, now) = (self.ledger("import memories")?, Timestamp::now());
        let namespace = store.merged_into(namespace)?;
        let name = self.guard.redact(path.to_string_lossy().into_owned()).0.into_inner();
        let arguments = json!({
            "paths": [name], "pack": pack.head.pack, "version": pack.head.version,
            "sha256": pack.sha256, "signer": pack.signer, "into": namespace.to_string(),
        });
        let before = store.pack_imports(&pack.head.pack, &namespace)?.into_iter().next();
        let mut report = PackImport {
            name: format!("{} {}", pack.head.pack, pack.head.version),
            before: before.as_ref().and_then(|run| text_of(run, "version")).map(str::to_owned),
            signer: pack.signer.clone(),
            namespace: namespace.to_string(),
            template: pack.head.template.as_ref().filter(|template| self.differs(template)).map(settings_of),
            ..PackImport::default()
        };
        if let Some(before) = &before
            && check_successor(&pack, before).map_err(refused)?
        {
            (report.known, report.template) = (pack.memories.len(), None);
            return Ok(report);
        }
        let memories = self.memories_of(&pack, &namespace, now, &mut report).map_err(refused)?;
        let run = store.begin_run("import", &arguments, now)?.id;
        let imported = store.write::<_, StoreError>(Some(&run), now, |w| {
            write_pack(w, &pack, &namespace, memories, review, &mut report)
        });
        // The run is ended before an error is returned, so that it does not look interrupted.
        let status = if imported.is_ok() { RunStatus::Finished } else { RunStatus::Failed };
        let summary = json!({
            "decisions": { "add": report.added },
            "added": report.added, "changed": report.changed, "retired": report.retired,
        });
        store.finish_run(&run, status, &summary, Timestamp::now())?;
        imported?;
        report.run = Some(run);
        Ok(report)
    }

    /// Whether a template suggests settings other than those in force.
    fn differs(&self, template: &PackTemplate) -> bool {
        template.categories != self.config.categories.value || template.instructions != self.config.instructions.value
    }

    /// Returns the memories of a pack as they will be stored. An error names the line of the pack.
    fn memories_of(
        &self,
        pack: &Pack,
        namespace: &Namespace,
        now: Timestamp,
        report: &mut PackImport,
    ) -> Result<Vec<Memory>, PackError> {
        let mut memories = Vec::with_capacity(pack.memories.len());
        for (line, one) in (2..).zip(&pack.memories) {
            if one.claim.expires_at.is_some_and(|at| at <= now) {
                report.left_out += 1;
                continue;
            }
            let source = format!("{FROM_PACK}{}", pack.head.pack);
            let method = ExtractionMethod::Imported;
            let id = id_in(pack, namespace, &one.id);
            let memory = Memory::new(one.claim.clone(), namespace.clone(), source, method, now);
            let mut imported = [Imported::new(Memory { id, ..memory }, IdOrigin::New)];
            allow_categories(&mut imported, &self.config.categories.value);
            let [Imported { memory, .. }] = imported;
            let fault = |error: ApiError| PackError::Line { line, fault: format!("cannot be imported: {error}") };
            let claim = self.checked(memory.claim.clone(), "").map_err(fault)?;
            memories.push(Memory { claim, ..memory });
        }
        Ok(memories)
    }
}

/// Checks that a pack may be imported after an earlier one; returns whether it is the same version.
fn check_successor(pack: &Pack, before: &Run) -> Result<bool, PackError> {
    let known = text_of(before, "version").and_then(|text| text.parse::<PackVersion>().ok());
    let conflict = |reason: String| Err(PackError::Conflict { reason });
    let (name, undo) = (&pack.head.pack, format!("`afterthought undo {}` removes it", before.id.short()));
    let signer = text_of(before, "signer");
    if let Some(signer) = signer.filter(|signer| Some(*signer) != pack.signer.as_deref()) {
        let now = pack.signer.as_deref().map_or("is not signed".to_owned(), |other| format!("is signed by {other}"));
        return conflict(format!(
            "{name} was signed by {signer}, and this version {now}; {undo} if you trust the new one"
        ));
    }
    match known {
        Some(known) if known > pack.head.version => {
            conflict(format!("the newer version {known} is imported already; {undo}"))
        }
        Some(known) if known == pack.head.version && text_of(before, "sha256") != Some(&pack.sha256) => {
            conflict(format!("another pack with the name {name} and the version {known} is imported already; {undo}"))
        }
        known => Ok(known == Some(pack.head.version)),
    }
}

fn write_pack(
    w: &Writer<'_>,
    pack: &Pack,
    namespace: &Namespace,
    memories: Vec<Memory>,
    review: ReviewPolicy,
    report: &mut PackImport,
) -> Result<(), StoreError> {
    let mut left = BTreeSet::new();
    for memory in memories {
        let memory = w.redact(memory);
        left.insert(memory.id.clone());
        let found = w.find(&memory.id)?;
        let waits = review.applies_to(&memory.claim, &[], found.as_ref().map(|stored| &stored.claim));
        let Some(stored) = found else {
            let is_known = !w.by_content(namespace, &memory.claim.content)?.is_empty()
                || w.rejected_claim(namespace, &memory.claim)?.is_some();
            if is_known {
                report.known += 1;
                continue;
            }
            w.insert(&if waits { memory.waiting() } else { memory }, &w.redact(Vec::new()))?;
            report.added += 1;
            report.waiting += usize::from(waits);
            continue;
        };
        let claim = memory_as_stored(&memory).claim;
        // A memory that an earlier version had dropped may be contained in a later one.
        let is_gone = stored.status == Status::Expired;
        if claim == stored.claim && !is_gone {
            report.known += 1;
        } else if is_untouched(w, &stored)? {
            let status = if waits { Status::Pending } else { Status::Active };
            let why = Some("the pack has changed".into());
            w.update(&w.redact(Memory { claim, status, ..stored }), Action::Import, why)?;
            report.changed += 1;
            report.waiting += usize::from(waits);
        } else {
            report.kept += 1;
        }
    }
    let source = Some(format!("{FROM_PACK}{}", pack.head.pack));
    let statuses = vec![Status::Active, Status::Pending];
    let of_pack = Filter { statuses, source, ..Filter::exactly(std::slice::from_ref(namespace)) };
    for stored in w.list(&of_pack, Order::Id, usize::MAX >> 1, 0)? {
        if left.contains(&stored.id) {
            continue;
        }
        if is_untouched(w, &stored)? {
            w.set_status(&stored.id, Status::Expired, Action::Import, Some("the pack no longer contains it".into()))?;
            report.retired += 1;
        } else {
            report.kept += 1;
        }
    }
    for one in &pack.memories {
        let from = id_in(pack, namespace, &one.id);
        for ExportedRelation { to, relation_type } in &one.relations {
            let to = id_in(pack, namespace, to);
            if from != to && w.find(&from)?.is_some() && w.find(&to)?.is_some() {
                let relation_type = *relation_type;
                w.relate(&Relation { from: from.clone(), to, relation_type, reason: None, created_at: w.now() })?;
            }
        }
    }
    Ok(())
}

/// Whether a memory is unchanged since it was imported from a pack. A person's edits, pins and decisions take
/// precedence over a pack.
fn is_untouched(w: &Writer<'_>, stored: &Memory) -> Result<bool, StoreError> {
    let mut left: Option<(Claim, Status)> = None;
    for entry in w.history(&stored.id)?.into_iter().filter(|entry| !entry.undone) {
        let is_imported = matches!(entry.action, Action::Add | Action::Import);
        if let Row::Memory { after: Some(after), .. } = entry.change()?.row
            && is_imported
            && after.id == stored.id
        {
            left = Some((after.claim, after.status));
        }
    }
    // Accepting a pending memory does not count as an edit.
    let is_same = |(claim, status): (Claim, Status)| {
        claim == stored.claim
            && (status == stored.status || status == Status::Pending && stored.status == Status::Active)
    };
    Ok(!stored.pinned && left.is_some_and(is_same))
}

/// Returns the id that a memory has in all versions of a pack. Its original id would reveal when it was learnt.
fn id_out(name: &str, id: &MemoryId) -> MemoryId {
    MemoryId::from_stored(format!("{name} {id}")).into_uuid()
}

/// Returns the id of a memory of a pack in a namespace.
fn id_in(pack: &Pack, namespace: &Namespace, id: &MemoryId) -> MemoryId {
    MemoryId::from_stored(format!("{FROM_PACK}{} {namespace} {id}", pack.head.pack)).into_uuid()
}

fn text_of<'r>(run: &'r Run, name: &str) -> Option<&'r str> {
    run.arguments.get(name)?.as_str()
}

/// Returns the settings of a template as lines of a settings file.
fn settings_of(template: &PackTemplate) -> String {
    let text = |value: &str| json!(value).to_string();
    let categories: Vec<String> = template.categories.iter().map(|name| text(name)).collect();
    let instructions = template.instructions.as_ref().map(|value| format!("\ninstructions = {}", text(value)));
    format!("categories = [{}]{}", categories.join(", "), instructions.unwrap_or_default())
}

/// Signs a message with an SSH key. `ssh-keygen` reads the key, asks for its passphrase, or uses the agent.
fn signed(message: &str, key: &Path) -> Result<String, ApiError> {
    let failed = |reason: String| ApiError::Unusable(format!("cannot sign with {}: {reason}", key.display()));
    let mut command = Command::new("ssh-keygen");
    command.args(["-Y", "sign", "-n", SIGNED_FOR, "-f"]).arg(key);
    let started = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut child = started.map_err(|error| failed(format!("ssh-keygen cannot be started: {error}")))?;
    if let Some(mut stdin) = child.stdin.take() {
        // If the program exited early, its own message explains why.
        stdin.write_all(message.as_bytes()).ok();
    }
    let output = child.wait_with_output().map_err(|error| failed(error.to_string()))?;
    let signature = String::from_utf8_lossy(&output.stdout).into_owned();
    if !output.status.success() || signature.is_empty() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(failed(said.lines().last().unwrap_or("ssh-keygen failed").trim().to_owned()));
    }
    Ok(crate::exchange::pack::signer_of(&signature, message).map(|_| signature)?)
}
