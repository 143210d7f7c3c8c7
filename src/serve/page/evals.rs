//! Results of evaluations: the files of a folder, one of them, or two compared.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use afterthought_eval::EvalError;
use afterthought_eval::compare::compare;
use afterthought_eval::report::{Block, Cell, Detail, blocks_of};
use afterthought_eval::results::Results;
use serde_json::{Value, json};

use super::language::{Language, Span};
use super::visit::{Reply, Visit};
use crate::api::Memories;

/// Maximum number of files on the page.
const SHOWN: usize = 200;
/// The folder next to the database.
const FOLDER: &str = "evals";
/// Text near the start of every result file, and the number of bytes that are searched for it.
const FORM: &str = "\"afterthought-eval-results\"";
const HEAD_BYTES: u64 = 256;

/// Shows the files, the report about one, or the comparison of two.
pub(super) fn show(memories: &Memories, visit: &Visit) -> Reply {
    let beside = || memories.config().db.value.with_file_name(FOLDER);
    let folder = visit.evals.clone().unwrap_or_else(beside);
    let files = files(&folder);
    let names: Vec<&str> = files.iter().map(|(name, _)| name.as_str()).collect();
    // Only files of the list are opened, so that no name can refer to a file outside the folder.
    let chosen = |field: &str| files.iter().find(|(name, _)| visit.asked(field) == Some(name));
    let detail = if visit.asked("all").is_some() { Detail::Full } else { Detail::Short };
    let (a, b) = (chosen("a"), chosen("b"));
    if (a.is_none() && visit.asked("a").is_some()) || (b.is_none() && visit.asked("b").is_some()) {
        return Reply::NotFound;
    }
    let mut page = json!({"folder": folder, "names": names, "a": a.map(|one| &one.0), "b": b.map(|one| &one.0)});
    let Some((_, first)) = a else {
        let mut rows: Vec<Value> =
            files.iter().map(|(name, path)| row(name, Results::read(path), visit.language)).collect();
        rows.sort_by(|x, y| y["started"].as_str().cmp(&x["started"].as_str()));
        page["rows"] = json!(rows);
        return Reply::Page("evals", page);
    };
    match report(first, b.map(|(_, path)| path.as_path()), detail) {
        Ok(blocks) => page["blocks"] = blocks.iter().map(|block| values(block, visit.language)).collect(),
        Err(error) => (page["blocks"], page["error"]) = (json!([]), json!(reason(&error, visit.language))),
    }
    page["is_whole"] = json!(detail == Detail::Full);
    Reply::Page("eval", page)
}

fn report(first: &Path, second: Option<&Path>, detail: Detail) -> Result<Vec<Block>, EvalError> {
    let a = Results::read(first)?;
    match second {
        Some(second) => Ok(compare(&a, &Results::read(second)?)?.blocks(detail)),
        None => Ok(blocks_of(&a, detail)),
    }
}

/// Returns the result files of a folder, by name.
fn files(folder: &Path) -> Vec<(String, PathBuf)> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
    let named = entries.filter_map(|entry| Some((entry.file_name().into_string().ok()?, entry.path())));
    let mut files: Vec<_> = named.filter(|(_, path)| path.extension().is_some_and(|end| end == "json")).collect();
    files.sort();
    files.into_iter().filter(|(_, path)| has_form(path)).take(SHOWN).collect()
}

fn has_form(path: &Path) -> bool {
    let mut head = Vec::new();
    let read = File::open(path).and_then(|file| file.take(HEAD_BYTES).read_to_end(&mut head));
    read.is_ok() && String::from_utf8_lossy(&head).contains(FORM)
}

fn row(name: &str, results: Result<Results, EvalError>, language: Language) -> Value {
    match results {
        Ok(results) => {
            let manifest = results.manifest;
            let suites: Vec<&str> = manifest.suites.iter().map(|suite| suite.name.as_str()).collect();
            json!({"name": name, "label": manifest.label, "started": manifest.started, "suites": suites, "cases": results.rows.len()})
        }
        Err(error) => json!({"name": name, "error": reason(&error, language)}),
    }
}

/// Returns why a file cannot be shown; the page names the file.
fn reason(error: &EvalError, language: Language) -> Vec<Span> {
    let reason = match error {
        EvalError::Results { reason, .. } => reason.clone(),
        _ => error.to_string(),
    };
    words(&reason, language)
}

/// Returns text of a report in this language.
fn words(text: &str, language: Language) -> Vec<Span> {
    language.evaluation(text).unwrap_or_else(|| vec![Span::words(text)])
}

/// Returns the values of a part of a report.
fn values(block: &Block, language: Language) -> Value {
    // The page has a link instead of the option.
    let line = |text: &str| words(text.strip_suffix("; -v shows all").unwrap_or(text), language);
    let cell = |cell: &Cell| json!({"spans": spans(cell, language), "tone": cell.tone});
    let cells = |cells: &[Cell]| cells.iter().map(cell).collect::<Vec<_>>();
    match block {
        Block::Heading(text) => json!({"heading": words(text, language)}),
        Block::Line(text) | Block::Note(text) => json!({"line": line(text)}),
        Block::Table(rows) => json!({"table": rows.iter().map(|row| cells(row)).collect::<Vec<_>>()}),
        Block::Case(name, about, lines) => json!({"case": name, "about": cell(about), "lines": cells(lines)}),
    }
}

/// Returns the parts of a cell.
fn spans(cell: &Cell, language: Language) -> Vec<Span> {
    let (mut spans, mut at) = (Vec::new(), 0);
    for part in cell.quoted.iter().cloned().chain(std::iter::once(cell.text.len()..cell.text.len())) {
        let own = &cell.text[at..part.start];
        let own = own.strip_suffix("; -v shows all").unwrap_or(own);
        // Next to quoted content, unknown text may be content as well, such as the reason for a finding.
        let unknown = if cell.quoted.is_empty() { Span::words(own) } else { Span::content(own) };
        spans.extend(language.evaluation(own).unwrap_or_else(|| vec![unknown]));
        at = part.end;
        spans.push(Span::content(&cell.text[part]));
    }
    spans.retain(|span| !span.text.is_empty());
    spans
}
