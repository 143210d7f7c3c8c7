//! Checks the imports of modules. A module may use only the modules above it in `lib.rs`.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;
use std::path::{Path, PathBuf};

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
    ("src/cli/eval/job.rs", "prompts"),
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

/// The path of a module, starting with its crate.
type Module = Vec<String>;

/// The files of every crate, indexed by module, and the imports and re-exports of each.
#[derive(Default)]
struct Imports {
    files: HashMap<Module, PathBuf>,
    imported: Vec<(Module, Module)>,
    reexported: HashMap<(Module, String), Module>,
}

impl Imports {
    fn of_all_crates() -> Self {
        let mut imports = Self::default();
        let mut crates = vec![(PathBuf::from("src"), "afterthought".to_owned())];
        for entry in fs::read_dir("crates").unwrap().map(Result::unwrap) {
            crates.push((entry.path().join("src"), entry.file_name().to_string_lossy().into_owned()));
        }
        for (folder, name) in &crates {
            let mut files = Vec::new();
            sources(folder, &mut files);
            for file in files.into_iter().filter(|file| !file.ends_with("src/main.rs")) {
                let inside = file.strip_prefix(folder).unwrap().with_extension("");
                let mut parts: Module = inside.iter().map(|part| part.to_string_lossy().into_owned()).collect();
                if parts.last().is_some_and(|last| last == "mod" || last == "lib") {
                    parts.pop();
                }
                // The command line is a separate crate, which the library cannot import.
                let own = if name == "afterthought" && parts.first().is_some_and(|first| first == "cli") {
                    "command line"
                } else {
                    name
                };
                parts.insert(0, own.to_owned());
                imports.files.insert(parts, file);
            }
        }
        let modules: Vec<(Module, PathBuf)> =
            imports.files.iter().map(|(module, file)| (module.clone(), file.clone())).collect();
        for (module, file) in modules {
            imports.read(&module, &production(&file));
        }
        imports
    }

    fn read(&mut self, own: &Module, text: &str) {
        let statement = regex::Regex::new(r"(?m)^(pub(?:\([^)]*\))? )?use ([^;]*);").unwrap();
        for found in statement.captures_iter(text) {
            let mut paths = Vec::new();
            flatten("", &found[2].split_whitespace().collect::<Vec<_>>().join(" "), &mut paths);
            let paths: Vec<Module> = paths.iter().filter_map(|path| self.absolute(path, own)).collect();
            for path in paths {
                if found.get(1).is_some() {
                    self.reexported.insert((own.clone(), path.last().unwrap().clone()), path);
                } else {
                    self.imported.push((own.clone(), path));
                }
            }
        }
    }

    fn absolute(&self, path: &str, own: &Module) -> Option<Module> {
        let path = path.split(" as ").next()?.trim();
        let parts: Module = path.split("::").map(str::to_owned).collect();
        let ups = parts.iter().take_while(|part| *part == "super").count();
        let start = match parts.first()?.as_str() {
            "crate" => own[..1].to_vec(),
            "super" => own[..own.len().checked_sub(ups)?].to_vec(),
            "self" => own.clone(),
            "afterthought" | "transcripts" | "eval" => Vec::new(),
            first => {
                let child: Module = own.iter().cloned().chain([first.to_owned()]).collect();
                return self.files.contains_key(&child).then(|| own.iter().cloned().chain(parts).collect());
            }
        };
        let skipped = if start.is_empty() { 0 } else { ups.max(1) };
        Some(start.into_iter().chain(parts.into_iter().skip(skipped)).collect())
    }

    /// Returns the file that defines an imported item, following re-exports.
    fn file_of(&self, path: &Module) -> Option<&PathBuf> {
        let mut path = path.clone();
        for _ in 0..6 {
            let length = (1..=path.len()).rev().find(|length| self.files.contains_key(&path[..*length]))?;
            let module = path[..length].to_vec();
            let further = path.get(length).and_then(|name| self.reexported.get(&(module.clone(), name.clone())));
            match further.filter(|further| **further != path) {
                Some(further) => path = further.iter().chain(&path[length + 1..]).cloned().collect(),
                None => return self.files.get(&module),
            }
        }
        None
    }
}

/// Splits `a::{b, c::d}` into `a::b` and `a::c::d`.
fn flatten(prefix: &str, tree: &str, paths: &mut Vec<String>) {
    let Some(open) = tree.find('{') else {
        if !tree.trim().is_empty() {
            paths.push(format!("{prefix}{}", tree.trim()));
        }
        return;
    };
    let prefix = format!("{prefix}{}", tree[..open].trim());
    let (mut depth, mut begin) = (0, open + 1);
    let end = tree.rfind('}').unwrap();
    for (at, letter) in tree.char_indices().filter(|(at, _)| (open + 1..end).contains(at)) {
        match letter {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                flatten(&prefix, &tree[begin..at], paths);
                begin = at + 1;
            }
            _ => {}
        }
    }
    flatten(&prefix, &tree[begin..end], paths);
}

#[test]
fn no_two_files_import_each_other() {
    let imports = Imports::of_all_crates();
    let spelled = |path: &PathBuf| path.to_string_lossy().replace('\\', "/");
    let edges: BTreeSet<(String, String)> = (imports.imported.iter())
        .filter_map(|(own, path)| Some((spelled(&imports.files[own]), spelled(imports.file_of(path)?))))
        .filter(|(from, to)| from != to)
        .collect();
    assert!(edges.len() > 500, "the imports are read: {}", edges.len());
    let circles = edges.iter().filter(|(from, to)| from < to && edges.contains(&(to.clone(), from.clone())));
    assert_eq!(circles.collect::<Vec<_>>(), Vec::<&(String, String)>::new());
}
