//! Reads which files import which, and finds circles among them.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;
use std::path::Path;
use std::sync::LazyLock;

use regex::Regex;

use super::layering::{production, sources};

/// The path of a module, starting with its crate.
type Module = Vec<String>;

/// The names through which a file, the first, imports another.
type Arrows = BTreeMap<(String, String), BTreeSet<String>>;

/// Production code of a module.
struct Part {
    module: Module,
    file: String,
    code: String,
}

/// The imports and re-exports of modules.
#[derive(Default)]
pub struct Imports {
    files: HashMap<Module, String>,
    /// The importing module, the imported item, and its spelling.
    imported: Vec<(Module, Module, String)>,
    reexported: HashMap<(Module, String), Module>,
}

impl Imports {
    /// Reads the production code of all crates.
    pub fn of_all_crates() -> Self {
        let mut crates = vec![("src".into(), "afterthought".to_owned())];
        for entry in fs::read_dir("crates").unwrap().map(Result::unwrap) {
            let manifest = fs::read_to_string(entry.path().join("Cargo.toml")).unwrap();
            let name = manifest.split('"').nth(1).unwrap().replace('-', "_");
            crates.push((entry.path().join("src"), name));
        }
        let mut parts = Vec::new();
        for (folder, name) in &crates {
            let mut files = Vec::new();
            sources(folder, &mut files);
            for file in files.into_iter().filter(|file| !file.ends_with("src/main.rs")) {
                let path = file.to_string_lossy().replace('\\', "/");
                parts.push((module_of(name, file.strip_prefix(folder).unwrap()), path, production(&file)));
            }
        }
        Self::of(parts)
    }

    /// Reads modules, each with its file and text.
    fn of(texts: Vec<(Module, String, String)>) -> Self {
        let mut parts = Vec::new();
        for (module, file, text) in texts {
            divide(module, &file, without_tests(&code_of(&text)), &mut parts);
        }
        let files = parts.iter().map(|part| (part.module.clone(), part.file.clone())).collect();
        let mut imports = Self { files, ..Self::default() };
        for part in &parts {
            imports.read(part);
        }
        imports
    }

    fn read(&mut self, part: &Part) {
        static VISIBILITY: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"\bpub\s*\([^)]*\)").unwrap());
        static STATEMENT: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"(?m)^\s*(pub )?use\s([^;]*);").unwrap());
        static INLINE: LazyLock<Regex> =
            LazyLock::new(|| Regex::new(r"(?:^|[^\w:$])((?:[a-z_]\w*::)+[A-Za-z_]\w*)").unwrap());
        let (own, code) = (&part.module, VISIBILITY.replace_all(&part.code, "pub"));
        let mut local = HashMap::new();
        for found in STATEMENT.captures_iter(&code) {
            let mut paths = Vec::new();
            flatten("", &found[2].split_whitespace().collect::<Vec<_>>().join(" "), &mut paths);
            for path in paths {
                let (path, alias) = path.split_once(" as ").unwrap_or((&path, ""));
                let path = path.trim().trim_end_matches("::self");
                let Some(item) = self.absolute(path, own) else { continue };
                let name = if alias.is_empty() { item.last().unwrap() } else { alias };
                local.insert(name.to_owned(), item.clone());
                if found.get(1).is_some() {
                    self.reexported.insert((own.clone(), name.to_owned()), item);
                } else {
                    self.imported.push((own.clone(), item, path.to_owned()));
                }
            }
        }
        for found in INLINE.captures_iter(&STATEMENT.replace_all(&code, "")) {
            let (first, rest) = found[1].split_once("::").unwrap();
            let item = match local.get(first) {
                Some(module) => Some(module.iter().cloned().chain(rest.split("::").map(str::to_owned)).collect()),
                None => self.absolute(&found[1], own),
            };
            self.imported.extend(item.map(|item| (own.clone(), item, found[1].to_owned())));
        }
    }

    fn absolute(&self, path: &str, own: &Module) -> Option<Module> {
        let parts: Module = path.split("::").map(str::to_owned).collect();
        let ups = parts.iter().take_while(|part| *part == "super").count();
        let child = || own.iter().cloned().chain(parts.first().cloned()).collect::<Module>();
        let (start, skipped) = match parts.first()?.as_str() {
            "crate" => (own[..1].to_vec(), 1),
            "super" => (own[..own.len().checked_sub(ups)?].to_vec(), ups),
            "self" => (own.clone(), 1),
            _ if self.files.contains_key(&child()) => (own.clone(), 0),
            _ if self.files.contains_key(&parts[..1]) => (Vec::new(), 0),
            _ => return None,
        };
        Some(start.into_iter().chain(parts.into_iter().skip(skipped)).collect())
    }

    /// Returns the file that defines an imported item, following re-exports.
    fn file_of(&self, path: &Module) -> Option<&String> {
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

    /// Returns which files import which others.
    pub fn arrows(&self) -> Arrows {
        let mut arrows = Arrows::new();
        for (own, item, spelled) in &self.imported {
            let (from, to) = (&self.files[own], self.file_of(item));
            if let Some(to) = to.filter(|to| *to != from) {
                arrows.entry((from.clone(), to.clone())).or_default().insert(spelled.clone());
            }
        }
        arrows
    }
}

/// Returns the module in `file`, a path below the folder of its crate.
fn module_of(name: &str, file: &Path) -> Module {
    let inside = file.with_extension("");
    let parts = inside.iter().map(|part| part.to_string_lossy().into_owned());
    let mut module: Module = [name.to_owned()].into_iter().chain(parts).collect();
    module.pop_if(|last| last == "mod" || last == "lib");
    module
}

/// Returns `text` without comments, and with empty strings and characters.
fn code_of(text: &str) -> String {
    static SKIPPED: LazyLock<Regex> = LazyLock::new(|| {
        let raw = (0..4).rev().map(|count| "#".repeat(count)).map(|marks| format!(r#"\bb?r{marks}"(?s:.*?)"{marks}"#));
        let raw = raw.collect::<Vec<_>>().join("|");
        Regex::new(&format!(r#"//[^\n]*|/\*(?s:.*?)\*/|{raw}|"(?s:\\.|[^"\\])*"|'(?:\\[^\n]{{1,9}}?|[^'\\\n])'"#))
            .unwrap()
    });
    SKIPPED.replace_all(text, "\"\"").into_owned()
}

/// Returns `code` without the items that exist only in tests.
fn without_tests(code: &str) -> String {
    static TEST: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"#\[cfg\((?:test|all\(test\b[^\n]*)\)\]\s*(?:#\[[^\n]*\]\s*)*").unwrap());
    let (mut kept, mut rest) = (String::new(), code);
    while let Some(found) = TEST.find(rest) {
        kept.push_str(&rest[..found.start()]);
        rest = &rest[found.end()..];
        let is_use = rest.trim_start_matches("pub ").starts_with("use ");
        let end = if is_use { rest.find(';').map(|at| at + 1) } else { item_end(rest) };
        rest = &rest[end.unwrap_or(rest.len())..];
    }
    kept + rest
}

/// Returns the end of the item at the start of `code`: after its first `;`, or the brace that closes its body.
fn item_end(code: &str) -> Option<usize> {
    let open = code.find(['{', ';'])?;
    if code[open..].starts_with(';') {
        return Some(open + 1);
    }
    let mut depth = 0_usize;
    let closing = code[open..].char_indices().find(|(_, letter)| {
        depth = match letter {
            '{' => depth + 1,
            '}' => depth - 1,
            _ => depth,
        };
        depth == 0
    });
    closing.map(|(at, _)| open + at + 1)
}

/// Divides the code of a file into its own and that of the modules with their body in the file.
fn divide(module: Module, file: &str, mut code: String, parts: &mut Vec<Part>) {
    static INNER: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"(?m)^[ \w()]*\bmod (\w+) \{").unwrap());
    while let Some(found) = INNER.captures(&code) {
        let (whole, name) = (found.get(0).unwrap().range(), found[1].to_owned());
        let end = item_end(&code[whole.start..]).map_or(code.len(), |end| whole.start + end);
        let body = code[whole.end..end].to_owned();
        code.replace_range(whole.start..end, "");
        divide(module.iter().cloned().chain([name]).collect(), file, body, parts);
    }
    parts.push(Part { module, file: file.to_owned(), code });
}

/// Splits `a::{b, c::d}` into `a::b` and `a::c::d`.
pub fn flatten(prefix: &str, tree: &str, paths: &mut Vec<String>) {
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

/// Describes each circle of files that import each other, directly or through others, with the arrows that form it.
pub fn circles(arrows: &Arrows) -> Vec<String> {
    let mut left: BTreeSet<&str> = arrows.keys().flat_map(|(from, to)| [from.as_str(), to]).collect();
    loop {
        let inside = arrows.keys().map(|(from, to)| (from.as_str(), to.as_str()));
        let inside = inside.filter(|(from, to)| left.contains(from) && left.contains(to));
        let (importing, imported): (BTreeSet<&str>, BTreeSet<&str>) = inside.unzip();
        let before = left.len();
        // A file that imports none of the others, or that none of them imports, is in no circle.
        left.retain(|file| importing.contains(file) && imported.contains(file));
        if left.len() == before {
            break;
        }
    }
    let mut described = Vec::new();
    while let Some(first) = left.first().copied() {
        let after = reached(first, &left, arrows.keys().map(|(from, to)| (from.as_str(), to.as_str())));
        let before = reached(first, &left, arrows.keys().map(|(from, to)| (to.as_str(), from.as_str())));
        let circle: BTreeSet<&str> = after.intersection(&before).copied().collect();
        if !circle.is_empty() {
            let mut lines = vec![format!("{} files import each other:", circle.len())];
            for ((from, to), names) in arrows {
                if circle.contains(from.as_str()) && circle.contains(to.as_str()) {
                    let names = names.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
                    lines.push(format!("  {from} -> {to}: {names}"));
                }
            }
            described.push(lines.join("\n"));
        }
        left.remove(first);
        left.retain(|file| !circle.contains(file));
    }
    described
}

/// Returns the files among `left` to which arrows lead from `start`, over any number of files.
fn reached<'f>(
    start: &'f str,
    left: &BTreeSet<&'f str>,
    arrows: impl Iterator<Item = (&'f str, &'f str)>,
) -> BTreeSet<&'f str> {
    let mut next: HashMap<&str, Vec<&str>> = HashMap::new();
    arrows.filter(|(_, to)| left.contains(to)).for_each(|(from, to)| next.entry(from).or_default().push(to));
    let (mut found, mut open) = (BTreeSet::new(), vec![start]);
    while let Some(file) = open.pop() {
        open.extend(next.get(file).into_iter().flatten().filter(|file| found.insert(**file)));
    }
    found
}

#[test]
fn a_circle_through_paths_within_code_is_found() {
    let files = [
        ("lib.rs", "pub mod cart;\npub mod price;\npub mod shelf;\nmod label;\npub use shelf::Shelf;\n"),
        ("cart.rs", "use crate::price::{self, Price};\nfn due() { price::of(\"{\") }\n"),
        ("price.rs", "use crate::Shelf;\n\n/// See `crate::cart::due`.\nfn of(_: &Shelf) -> char { '\"' }\n"),
        (
            "shelf/mod.rs",
            "pub struct Shelf;\nmod stock {\n    fn count() -> u32 { super::super::cart::due() }\n}\n\
             #[cfg(all(test, unix))]\nmod tests {\n    use crate::label::Label;\n}\n",
        ),
        (
            "label.rs",
            "pub(in crate::cart) struct Label;\n/* crate::price::of */\nfn of() { print(\"crate::price::of\", crate::Shelf) }\n",
        ),
    ];
    let of = |(file, text): &(&str, &str)| (module_of("shop", Path::new(file)), (*file).to_owned(), (*text).to_owned());
    let expected = "3 files import each other:\n  cart.rs -> price.rs: crate::price, crate::price::Price, price::of\n  \
                    price.rs -> shelf/mod.rs: crate::Shelf\n  shelf/mod.rs -> cart.rs: super::super::cart::due";
    assert_eq!(circles(&Imports::of(files.iter().map(of).collect()).arrows()), [expected]);
    // Without the path within code, there is no circle.
    let files = files.map(|(file, text)| (file, text.replace("super::super::cart::due()", "0")));
    let arrows = Imports::of(files.iter().map(|(file, text)| of(&(file, text))).collect()).arrows();
    assert_eq!((arrows.len(), circles(&arrows)), (3, Vec::new()));
}
