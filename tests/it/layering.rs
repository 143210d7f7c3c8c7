//! Imports point down the flow: a module may only use those that stand above it in `lib.rs`.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
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
    let names = lib.lines().filter_map(|line| line.strip_prefix("pub mod ")?.strip_suffix(';'));
    names.enumerate().map(|(place, name)| (name.to_owned(), place)).collect()
}

/// Production lines of a file: everything before its test module; nothing of a file that is a test module itself.
fn production(file: &Path) -> String {
    let door = file.with_file_name("mod.rs");
    let declared = format!("#[cfg(test)]\nmod {};", file.file_stem().unwrap().to_string_lossy());
    let of_tests = file.parent().is_some_and(|folder| folder.file_name().is_some_and(|name| name == "tests"));
    if of_tests || fs::read_to_string(door).is_ok_and(|text| text.contains(&declared)) {
        return String::new();
    }
    let text = fs::read_to_string(file).unwrap();
    text.split("\n#[cfg(test)]\nmod tests").next().unwrap_or_default().to_owned()
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
