//! Changes to other programs' files, shown as diffs. Each change is recorded, and the previous content is copied first,
//! so that every change can be reverted.

use std::fs;
use std::path::{Path, PathBuf};

use crate::private;
use anyhow::{Context as _, ensure};
use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstInputValue, CstNode, CstObject, CstObjectProp, CstRootNode};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};
use similar::{ChangeTag, TextDiff};
use transcripts::hex;

use super::printer::{ADDED, DIM, Printer, REMOVED};

/// A planned change to a file.
#[derive(Debug)]
pub(crate) struct Change {
    /// The file.
    pub(crate) path: PathBuf,
    /// Current content of the file; `None` if the file does not exist.
    pub(crate) before: Option<String>,
    /// New content of the file; `None` if the file is to be removed.
    pub(crate) after: Option<String>,
}

/// Checks that the file still has the content on which the change is based: an agent may write its settings while a
/// person reads the question.
fn check_unchanged(change: &Change) -> anyhow::Result<()> {
    // Some callers treat an empty file as a missing one.
    let is_same = text_of(&change.path)?.unwrap_or_default() == change.before.as_deref().unwrap_or_default();
    ensure!(is_same, "{} was changed meanwhile; run the command again", change.path.display());
    Ok(())
}

/// Writes a change, after copying the previous content of the file to a backup.
pub(crate) fn write(change: &Change, out: &Printer) -> anyhow::Result<()> {
    let path = &change.path;
    check_unchanged(change)?;
    let Some(after) = &change.after else {
        fs::remove_file(path).with_context(|| format!("cannot remove {}", path.display()))?;
        return report(out, path, "is removed", true);
    };
    // The file is copied before it is replaced: the settings belong to the person and may contain other programs'
    // hooks.
    let backup = change.before.as_ref().map(|_| back_up(path)).transpose()?;
    replace(path, after)?;
    if let Some(backup) = backup {
        out.note(format_args!("{DIM}previous version: {}{DIM:#}", backup.display()));
    }
    report(out, path, "is written", true)
}

/// Shows a change as a diff.
pub(crate) fn show(out: &Printer, change: &Change) -> anyhow::Result<()> {
    let [before, after] = [&change.before, &change.after].map(|text| text.as_deref().unwrap_or_default());
    out.line(format_args!("{DIM}{}{DIM:#}", change.path.display()))?;
    for change in TextDiff::from_lines(before, after).unified_diff().context_radius(2).iter_hunks().flat_map(|hunk| {
        hunk.iter_changes().map(|change| (change.tag(), change.value().trim_end().to_owned())).collect::<Vec<_>>()
    }) {
        match change {
            (ChangeTag::Insert, line) => out.line(format_args!("{ADDED}+ {line}{ADDED:#}"))?,
            (ChangeTag::Delete, line) => out.line(format_args!("{REMOVED}- {line}{REMOVED:#}"))?,
            (ChangeTag::Equal, line) => out.line(format_args!("  {line}"))?,
        }
    }
    Ok(())
}

/// Reports the outcome for a file.
pub(crate) fn report(out: &Printer, path: &Path, what: &str, wrote: bool) -> anyhow::Result<()> {
    let value = json!({"settings": path, "wrote": wrote, "state": what});
    Ok(out.show(&value, format_args!("{} {what}", path.display()))?)
}

/// Returns the path of a copy of a file.
pub(crate) fn backup_of(path: &Path, number: u32) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!("{name}.before-afterthought-{number}"))
}

/// Copies the file to the same folder, under a name that is not taken.
fn back_up(path: &Path) -> anyhow::Result<PathBuf> {
    let backups = (1..).map(|number| backup_of(path, number));
    let backup =
        backups.into_iter().find(|backup| !backup.exists()).context("cannot find an unused name for a backup")?;
    fs::copy(path, &backup).with_context(|| format!("cannot back up {}", path.display()))?;
    Ok(backup)
}

/// Replaces the content of the file with `text` atomically; a symbolic link is kept as a link.
pub(crate) fn replace(path: &Path, text: &str) -> anyhow::Result<()> {
    private::rewrite(path, text).with_context(|| format!("cannot write {}", path.display()))
}

/// A change that was written, with the data needed to revert it.
#[derive(Debug, Serialize, Deserialize)]
struct Record {
    path: PathBuf,
    before: Option<String>,
    /// SHA-256 of the content that was written.
    after: String,
    /// Folders that were created for the file, outermost first.
    folders: Vec<PathBuf>,
}

/// The outcome of reverting the change of a file.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum FileOutcome {
    /// The file is restored, byte for byte.
    Restored,
    /// The file did not exist before and is removed.
    Removed,
    /// The file was changed later, so the caller has to handle it.
    ChangedSince,
    /// The file no longer exists.
    Gone,
}

/// Writes the changes, and records each in the file `record` before it is made. If a change cannot be written, those
/// before it are reverted.
pub(crate) fn write_recorded(changes: &[Change], record: &Path, out: &Printer) -> anyhow::Result<()> {
    let earlier = text_of(record)?;
    let mut written = Vec::new();
    if let Err(error) = write_all(changes, record, &mut written) {
        let reverted = written.iter().rev().try_for_each(revert).and_then(|()| match &earlier {
            Some(text) => replace(record, text),
            None if record.exists() => fs::remove_file(record).context("cannot remove the record"),
            None => Ok(()),
        });
        reverted.with_context(|| format!("{error:#}; `afterthought setup --undo` restores the files"))?;
        return Err(error.context("nothing is changed"));
    }
    changes.iter().try_for_each(|change| report(out, &change.path, "is written", true))
}

/// Writes the changes, and adds each to `written`, with the folders that are created for it, before it is made.
fn write_all<'c>(
    changes: &'c [Change],
    record: &Path,
    written: &mut Vec<(&'c Change, Vec<PathBuf>)>,
) -> anyhow::Result<()> {
    let mut records = recorded(record)?;
    for change in changes {
        check_unchanged(change)?;
        let after = change.after.as_deref().unwrap_or_default();
        let missing = |folder: &&Path| !folder.as_os_str().is_empty() && !folder.exists();
        let mut folders: Vec<PathBuf> =
            change.path.ancestors().skip(1).take_while(missing).map(Path::to_owned).collect();
        folders.reverse();
        written.push((change, folders.clone()));
        match records.iter_mut().find(|one| one.path == change.path) {
            // An earlier setup wrote the file, and the file has not changed since, so the content before that setup is
            // the one to restore.
            Some(earlier) if Some(&earlier.after) == change.before.as_deref().map(hash).as_ref() => {
                earlier.after = hash(after);
            }
            _ => {
                records.retain(|one| one.path != change.path);
                let (path, before) = (change.path.clone(), change.before.clone());
                records.push(Record { path, before, after: hash(after), folders });
            }
        }
        let text = serde_json::to_string_pretty(&records).context("cannot serialise the record")?;
        // The record contains complete settings, which may contain keys.
        private::replace(record, &text).with_context(|| format!("cannot write {}", record.display()))?;
        replace(&change.path, after)?;
    }
    Ok(())
}

/// Restores the content of a file from before a change, and removes the folders that were created for it.
fn revert((change, folders): &(&Change, Vec<PathBuf>)) -> anyhow::Result<()> {
    let path = &change.path;
    match &change.before {
        // A file that could not be written still has its content.
        Some(before) if text_of(path)?.as_ref() != Some(before) => replace(path, before)?,
        None if path.exists() => fs::remove_file(path).with_context(|| format!("cannot remove {}", path.display()))?,
        Some(_) | None => {}
    }
    folders.iter().rev().for_each(|folder| drop(fs::remove_dir(folder)));
    Ok(())
}

/// Reverts the changes that the file `record` lists, most recent first. `changed` removes this program's parts from a
/// file that was changed later.
pub(crate) fn take_back(
    record: &Path,
    mut changed: impl FnMut(&Path) -> anyhow::Result<()>,
) -> anyhow::Result<Vec<(PathBuf, FileOutcome)>> {
    let mut done = Vec::new();
    for one in recorded(record)?.iter().rev() {
        let outcome = match text_of(&one.path)? {
            Some(text) if hash(&text) == one.after => {
                if let Some(before) = &one.before {
                    replace(&one.path, before)?;
                    FileOutcome::Restored
                } else {
                    fs::remove_file(&one.path).with_context(|| format!("cannot remove {}", one.path.display()))?;
                    FileOutcome::Removed
                }
            }
            Some(_) => {
                changed(&one.path)?;
                FileOutcome::ChangedSince
            }
            None => FileOutcome::Gone,
        };
        // Only empty folders can be removed this way; a folder that now contains other files is kept.
        one.folders.iter().rev().for_each(|folder| drop(fs::remove_dir(folder)));
        done.push((one.path.clone(), outcome));
    }
    if record.exists() {
        fs::remove_file(record).with_context(|| format!("cannot remove {}", record.display()))?;
    }
    Ok(done)
}

fn recorded(record: &Path) -> anyhow::Result<Vec<Record>> {
    let Some(text) = text_of(record)? else { return Ok(Vec::new()) };
    serde_json::from_str(&text).with_context(|| format!("{} is damaged; move it away", record.display()))
}

/// Returns the text of a file; `None` if the file does not exist.
pub(crate) fn text_of(path: &Path) -> anyhow::Result<Option<String>> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).with_context(|| format!("cannot read {}", path.display())),
    }
}

/// Returns the result of `edit`, with the byte order mark and the line endings of `text`. Editors on Windows write
/// both.
pub(crate) fn edited<E>(text: &str, edit: impl FnOnce(&str) -> Result<String, E>) -> Result<String, E> {
    let body = text.trim_start_matches('\u{feff}');
    let mark = &text[..text.len() - body.len()];
    let lines = body.matches('\n').count();
    // In a file with mixed line endings, none of them is changed.
    let is_crlf = lines > 0 && body.matches("\r\n").count() == lines;
    let after = if is_crlf { edit(&body.replace("\r\n", "\n"))?.replace('\n', "\r\n") } else { edit(body)? };
    Ok(format!("{mark}{after}"))
}

/// Returns the JSON in `text`, whose value is `before`, with the value `after`; everything else keeps its formatting.
pub(crate) fn patched(text: &str, before: &Value, after: &Value) -> anyhow::Result<String> {
    let (Value::Object(old), Value::Object(new), false) = (before, after, text.trim().is_empty()) else {
        return Ok(serde_json::to_string_pretty(after).context("cannot serialise the settings")? + "\n");
    };
    let root = CstRootNode::parse(text, &ParseOptions::default()).context("cannot parse the settings")?;
    patch(&root.object_value().context("the settings are not an object")?, old, new);
    let after = root.to_string();
    Ok(if after.ends_with('\n') { after } else { after + "\n" })
}

/// Changes `object` from the value `before` to the value `after`.
fn patch(object: &CstObject, before: &Map<String, Value>, after: &Map<String, Value>) {
    let removed = before.keys().filter(|name| !after.contains_key(*name));
    removed.filter_map(|name| object.get(name)).for_each(CstObjectProp::remove);
    for (name, value) in after.iter().filter(|(name, value)| before.get(*name) != Some(value)) {
        let Some(property) = object.get(name) else {
            object.append(name, input(value));
            continue;
        };
        match (before.get(name), value, property.object_value(), property.array_value()) {
            (Some(Value::Object(old)), Value::Object(new), Some(inner), _) => patch(&inner, old, new),
            (Some(Value::Array(old)), Value::Array(new), _, Some(list)) if new.starts_with(old) => {
                new[old.len()..].iter().for_each(|value| drop(list.append(input(value))));
            }
            (Some(Value::Array(old)), Value::Array(new), _, Some(list)) if old.starts_with(new) => {
                list.elements().into_iter().skip(new.len()).for_each(CstNode::remove);
            }
            _ => property.set_value(input(value)),
        }
    }
}

/// Returns `value` in the form in which an edit takes it.
pub(super) fn input(value: &Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(value) => CstInputValue::Bool(*value),
        Value::Number(value) => CstInputValue::Number(value.to_string()),
        Value::String(value) => CstInputValue::String(value.clone()),
        Value::Array(list) => CstInputValue::Array(list.iter().map(input).collect()),
        Value::Object(map) => {
            CstInputValue::Object(map.iter().map(|(name, value)| (name.clone(), input(value))).collect())
        }
    }
}

fn hash(text: &str) -> String {
    hex(&Sha256::digest(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_byte_order_mark_and_line_ends_are_kept() {
        let add = |text: &str| Ok::<_, ()>(format!("{text}b\n"));
        let table = [
            ("a\n", "a\nb\n"),
            ("a\r\n", "a\r\nb\r\n"),
            ("\u{feff}a\r\n", "\u{feff}a\r\nb\r\n"),
            ("a\r\nc\n", "a\r\nc\nb\n"),
            ("", "b\n"),
        ];
        for (before, after) in table {
            assert_eq!(edited(before, add).unwrap(), after, "{before:?}");
        }
        assert_eq!(edited("\u{feff}{}", |text| Err::<String, _>(text.to_owned())), Err("{}".to_owned()));
    }

    #[test]
    fn a_patch_keeps_the_formatting_of_everything_else() {
        let text = "{\n    \"model\": \"opus\",   \"list\": [ 1,2 ],\n    \"hooks\": {\n        \"Stop\": [{\"own\":  true}]\n    }\n}\n";
        let before: Value = serde_json::from_str(text).unwrap();
        let mut after = before.clone();
        after["hooks"]["Stop"].as_array_mut().unwrap().push(json!({"hooks": [{"command": "x"}]}));
        after["hooks"]["SessionEnd"] = json!([{"timeout": 3}]);
        let changed = patched(text, &before, &after).unwrap();
        assert_eq!(serde_json::from_str::<Value>(&changed).unwrap(), after, "{changed}");
        for part in ["    \"model\": \"opus\",   \"list\": [ 1,2 ],\n", "{\"own\":  true}", "        \"SessionEnd\""] {
            assert!(changed.contains(part), "{part}: {changed}");
        }
        let back = patched(&changed, &after, &before).unwrap();
        assert_eq!(serde_json::from_str::<Value>(&back).unwrap(), before, "{back}");
        assert!(back.contains("   \"list\": [ 1,2 ],\n"), "{back}");
    }

    #[test]
    fn if_one_change_cannot_be_written_none_is() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("own.json"), "{}").unwrap();
        fs::write(at("file"), "").unwrap();
        let out = Printer::new(super::super::printer::Output::Human, super::super::printer::Verbosity::Quiet);
        let change = |name: &str, before: Option<&str>| {
            let before = before.map(str::to_owned);
            Change { path: at(name), before, after: Some("new".to_owned()) }
        };
        // No file can be created below another file.
        let changes = [change("own.json", Some("{}")), change("sub/new.json", None), change("file/below.json", None)];
        let record = at("state/setup.json");
        let error = write_recorded(&changes, &record, &out).unwrap_err();
        assert!(format!("{error:#}").starts_with("nothing is changed: cannot "), "{error:#}");
        assert_eq!(fs::read_to_string(at("own.json")).unwrap(), "{}");
        assert!(!at("sub").exists() && !record.exists());
        fs::write(at("own.json"), "{\"theirs\": 1}").unwrap();
        let error = write_recorded(&changes[..1], &record, &out).unwrap_err();
        assert!(format!("{error:#}").contains("own.json was changed meanwhile"), "{error:#}");
        assert_eq!(fs::read_to_string(at("own.json")).unwrap(), "{\"theirs\": 1}");
        fs::write(at("own.json"), "{}").unwrap();
        write_recorded(&changes[..2], &record, &out).unwrap();
        let recorded = fs::read_to_string(&record).unwrap();
        write_recorded(&changes[2..], &record, &out).unwrap_err();
        assert_eq!(fs::read_to_string(&record).unwrap(), recorded, "an earlier setup can still be undone");
        assert_eq!(fs::read_to_string(at("sub/new.json")).unwrap(), "new");
    }

    #[test]
    fn a_backup_never_takes_the_place_of_another() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("settings.json");
        fs::write(&path, "{}").unwrap();
        assert!(back_up(&path).unwrap().ends_with("settings.json.before-afterthought-1"));
        assert!(back_up(&path).unwrap().ends_with("settings.json.before-afterthought-2"));
    }
}
