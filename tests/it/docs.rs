//! Checks that the pages of the documentation are linked with each other and listed in the contents of the site.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use regex::Regex;

fn pages(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(pages(&path));
        } else if path.extension().is_some_and(|extension| extension == "md") {
            found.push(path);
        }
    }
    found
}

/// The anchors of a page, generated from its headings in the same way as by GitHub and mdBook.
fn anchors(text: &str) -> BTreeSet<String> {
    let is_kept = |c: &char| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_');
    let headings = text.lines().filter(|line| line.starts_with('#'));
    let slug =
        |line: &str| line.trim_start_matches('#').trim().to_lowercase().chars().filter(is_kept).collect::<String>();
    headings.map(|line| slug(line).replace(' ', "-")).collect()
}

#[test]
fn every_link_of_the_documentation_leads_somewhere() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let link = Regex::new(r"\]\(([^)\s]+)\)").unwrap();
    let mut files = pages(&root.join("docs"));
    files.extend(["README.md", "CHANGELOG.md", "crates/transcripts/README.md"].map(|name| root.join(name)));
    let (mut checked, mut broken) = (0, Vec::new());
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        for target in link.captures_iter(&text).map(|found| found.get(1).unwrap().as_str()) {
            if target.contains("://") || target.starts_with("mailto:") {
                continue;
            }
            checked += 1;
            let (path, anchor) = target.split_once('#').unwrap_or((target, ""));
            let to = if path.is_empty() { file.clone() } else { file.parent().unwrap().join(path) };
            let leads = match fs::read_to_string(&to) {
                Ok(text) if !anchor.is_empty() => anchors(&text).contains(anchor),
                _ => to.exists(),
            };
            if !leads {
                broken.push(format!("{}: {target}", file.strip_prefix(root).unwrap().display()));
            }
        }
    }
    assert!(checked > 50, "{checked}");
    assert!(broken.is_empty(), "{broken:#?}");
}

#[test]
fn the_contents_of_the_site_name_every_page() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs");
    let contents = fs::read_to_string(docs.join("SUMMARY.md")).unwrap();
    let name = |page: &PathBuf| page.strip_prefix(&docs).unwrap().to_string_lossy().replace('\\', "/");
    let missing: Vec<String> = pages(&docs)
        .iter()
        .map(name)
        .filter(|name| name != "SUMMARY.md" && !contents.contains(&format!("({name})")))
        .collect();
    assert!(missing.is_empty(), "docs/SUMMARY.md does not list {missing:?}");
}

#[test]
fn every_statement_of_the_specifications_names_a_state_and_a_test_that_exists() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = fs::read_to_string(root.join("docs/reference/specifications.md")).unwrap();
    let rows = page.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| statement"));
    let (mut checked, mut wrong) = (0, Vec::new());
    for row in rows {
        let cells: Vec<&str> = row.trim_matches('|').split(" | ").map(str::trim).collect();
        let named = cells.get(3).and_then(|cell| cell.trim_end_matches('|').trim().trim_matches('`').split_once("::"));
        let exists = named.is_some_and(|(file, test)| {
            let text = fs::read_to_string(root.join(file)).unwrap_or_default();
            text.split("fn ").skip(1).any(|rest| rest.starts_with(&format!("{test}(")))
        });
        checked += 1;
        if cells.len() != 4 || !["met", "otherwise", "not"].contains(&cells[1]) || !exists {
            wrong.push(row);
        }
    }
    assert!(checked > 70, "{checked}");
    assert!(wrong.is_empty(), "{wrong:#?}");
}
