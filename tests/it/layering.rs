//! Checks the imports of modules. A module may use only the modules above it in `lib.rs`, and no file may import itself
//! through others.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use super::imports::{Imports, circles, flatten};

pub fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        if entry.path().is_dir() {
            sources(&entry.path(), found);
        } else if entry.path().extension().is_some_and(|ending| ending == "rs") {
            found.push(entry.path());
        }
    }
}

fn modules_in_flow_order() -> BTreeMap<String, usize> {
    let lib = fs::read_to_string("src/lib.rs").unwrap();
    let names = lib
        .lines()
        .filter_map(|line| line.strip_prefix("pub ").unwrap_or(line).strip_prefix("mod ")?.strip_suffix(';'));
    names.enumerate().map(|(place, name)| (name.to_owned(), place)).collect()
}

/// Returns the production lines of a file: everything before its inline test module, or nothing if the file itself is a
/// test module.
pub fn production(file: &Path) -> String {
    let door = file.with_file_name("mod.rs");
    let declared = format!("#[cfg(test)]\nmod {};", file.file_stem().unwrap().to_string_lossy());
    let of_tests = file.parent().is_some_and(|folder| folder.file_name().is_some_and(|name| name == "tests"))
        || file.file_stem().is_some_and(|stem| stem.to_string_lossy().ends_with("_tests"));
    if of_tests || fs::read_to_string(door).is_ok_and(|text| text.contains(&declared)) {
        return String::new();
    }
    let text = fs::read_to_string(file).unwrap();
    text.split("\n#[cfg(test)]\nmod tests {").next().unwrap_or_default().to_owned()
}

#[test]
fn no_module_imports_one_that_comes_later_in_the_flow() {
    let order = modules_in_flow_order();
    assert!(order.len() > 8, "lib.rs lists the modules one a line");
    let mut files = Vec::new();
    sources(Path::new("src"), &mut files);
    let mut wrong = Vec::new();
    for file in &files {
        let path = file.strip_prefix("src").unwrap();
        let first = path.components().next().unwrap().as_os_str().to_string_lossy().into_owned();
        let Some(own) = order.get(first.trim_end_matches(".rs")) else { continue };
        let text = production(file);
        for (name, place) in &order {
            if place > own && text.contains(&format!("crate::{name}")) {
                wrong.push(format!("{} uses {name}", path.display()));
            }
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
}

#[test]
fn the_library_does_not_know_the_command_line() {
    let mut files = Vec::new();
    sources(Path::new("src"), &mut files);
    files.retain(|file| !file.starts_with("src/cli") && file != Path::new("src/main.rs"));
    let knows = |file: &PathBuf| {
        let words = ["use clap", "use anstream", "use indicatif", "println!(", "eprintln!(", "print!("];
        production(file).lines().any(|line| words.iter().any(|word| line.trim_start().starts_with(word)))
    };
    assert_eq!(files.into_iter().filter(knows).collect::<Vec<_>>(), Vec::<PathBuf>::new());
}

/// Modules of the library that a command may import besides `api`, `config` and `memory`, because these files still
/// bypass the API. The list must only shrink.
const AROUND_THE_API: &[(&str, &str)] = &[
    ("src/cli/eval/args.rs", "llm"),
    ("src/cli/eval/closed_loop/mod.rs", "extract"),
    ("src/cli/eval/closed_loop/mod.rs", "guard"),
    ("src/cli/eval/closed_loop/mod.rs", "llm"),
    ("src/cli/eval/closed_loop/mod.rs", "pipeline"),
    ("src/cli/eval/closed_loop/mod.rs", "tokens"),
    ("src/cli/eval/closed_loop/model_agent.rs", "guard"),
    ("src/cli/eval/closed_loop/model_agent.rs", "llm"),
    ("src/cli/eval/consolidation/mod.rs", "consolidate"),
    ("src/cli/eval/consolidation/mod.rs", "guard"),
    ("src/cli/eval/consolidation/mod.rs", "llm"),
    ("src/cli/eval/consolidation/mod.rs", "store"),
    ("src/cli/eval/consolidation/store.rs", "consolidate"),
    ("src/cli/eval/consolidation/store.rs", "guard"),
    ("src/cli/eval/consolidation/store.rs", "store"),
    ("src/cli/eval/job.rs", "llm"),
    ("src/cli/eval/manifest.rs", "prompts"),
    ("src/cli/eval/search.rs", "embed"),
    ("src/cli/eval/search.rs", "guard"),
    ("src/cli/eval/search.rs", "llm"),
    ("src/cli/eval/search.rs", "search"),
    ("src/cli/eval/search.rs", "store"),
    ("src/cli/eval/search.rs", "tokens"),
    ("src/cli/eval/start.rs", "extract"),
    ("src/cli/eval/start.rs", "guard"),
    ("src/cli/eval/start.rs", "llm"),
    ("src/cli/eval/start.rs", "pipeline"),
    ("src/cli/eval/start.rs", "prompts"),
    ("src/cli/eval/suites.rs", "pipeline"),
    ("src/cli/eval/suites.rs", "store"),
    ("src/cli/eval/suites.rs", "tokens"),
    ("src/cli/eval/system.rs", "extract"),
    ("src/cli/eval/system.rs", "guard"),
    ("src/cli/eval/system.rs", "llm"),
    ("src/cli/eval/system.rs", "pipeline"),
    ("src/cli/eval/system.rs", "store"),
];

/// Modules that a command may import.
const OPEN_TO_COMMANDS: &[&str] = &["api", "cli", "config", "memory", "private", "serve"];

/// Returns the modules after each `prefix` in a text, such as `store` of `afterthought::store::Store`.
fn modules_after(text: &str, prefix: &str) -> BTreeSet<String> {
    let mut paths = Vec::new();
    for rest in text.split(prefix).skip(1) {
        // A tree such as `{api, store::Store}` ends with its statement.
        let tree = if rest.starts_with('{') { rest.split(';').next().unwrap_or_default() } else { rest };
        if tree.starts_with('{') { flatten("", tree, &mut paths) } else { paths.push(tree.to_owned()) }
    }
    let first = |path: &String| path.split(|c: char| !c.is_alphanumeric() && c != '_').next().map(str::to_owned);
    paths.iter().filter_map(first).collect()
}

#[test]
fn commands_reach_memories_through_the_api_alone() {
    let mut files = Vec::new();
    sources(Path::new("src/cli"), &mut files);
    let mut around = BTreeSet::new();
    for file in &files {
        let name = file.to_string_lossy().replace('\\', "/");
        let mut used = modules_after(&production(file), "crate::");
        used.retain(|module| !OPEN_TO_COMMANDS.contains(&module.as_str()));
        around.extend(used.into_iter().map(|module| (name.clone(), module)));
    }
    let listed = AROUND_THE_API.iter().map(|(file, module)| ((*file).to_owned(), (*module).to_owned())).collect();
    assert_eq!(around, listed, "commands call the API, except for the listed files");
}

#[test]
fn servers_reach_memories_through_the_api_alone() {
    let mut files = Vec::new();
    sources(Path::new("src/serve"), &mut files);
    let closed = ["store", "consolidate", "pipeline", "search", "lifecycle", "exchange"];
    let mut around = Vec::new();
    for file in &files {
        let name = file.to_string_lossy().replace('\\', "/");
        let text = production(file);
        let used = modules_after(&text, "crate::").iter().any(|module| closed.contains(&module.as_str()));
        if used {
            around.push(name);
        }
    }
    assert_eq!(around, Vec::<String>::new());
}

#[test]
fn no_file_imports_itself_through_others() {
    let arrows = Imports::of_all_crates().arrows();
    assert!(arrows.len() > 3_000, "the imports are read: {}", arrows.len());
    let circles = circles(&arrows);
    let advice = "move what they share to the file that owns its idea";
    assert!(circles.is_empty(), "{}\n{advice}", circles.join("\n"));
}
