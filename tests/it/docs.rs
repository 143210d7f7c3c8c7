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
