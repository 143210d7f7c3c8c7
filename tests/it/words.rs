//! Checks the words of code, help and documentation against the project's vocabulary.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use regex::Regex;

use super::layering::{production, sources};

/// Words that readers stumbled over, with what to write instead.
const RULED_OUT: &[(&str, &str)] = &[
    (r"(?i)\b(tell|tells|told|telling)\b", "say, show, print, report or distinguish"),
    (r"(?i)\bamiss\b", "wrong"),
    (r"(?i)\b(mend|mends|mended|mending)\b", "fix or repair"),
    (r"(?i)\bhangs? on nothing\b", "orphaned"),
    (r"(?i)\b(go|goes|going|went|gone) by\b", "use"),
];

/// Files in which such a word is a datum: a phrase that people say in logs, or one that a program writes.
const DATA: &[&str] = &[
    "src/extract/check/table.rs",
    "src/extract/offline/claims.rs",
    "src/extract/offline/language.rs",
    "src/extract/offline/sentence.rs",
    "src/guard/steering.rs",
    "src/search/brief/query.rs",
    "src/text/relative.rs",
    // Measured with its recorded replies, which a change of the prompt would make void.
    "prompts/extract/system.md",
    // Quotes an order that a conversation may contain.
    "docs/reference/mcp.md",
];

/// First words of a header that promise a question instead of saying what the file is.
const QUESTIONS: &[&str] = &["What", "Which", "Whether", "Who", "Whose", "Where", "When", "How", "Why"];

/// Verbs that open a line of help. A new one is added here on purpose.
const VERBS: &[&str] = &[
    "Accept", "Apply", "Back", "Cancel", "Check", "Compare", "Compute", "Decrypt", "Edit", "Encrypt", "Export", "Find",
    "Forget", "Import", "Install", "Link", "List", "Measure", "Merge", "Name", "Pin", "Print", "Process", "Reject",
    "Remove", "Repair", "Replace", "Restore", "Retry", "Review", "Run", "Search", "Serve", "Show", "Store", "Turn",
    "Undo", "Watch", "Write",
];

/// Nouns of programming that name types besides the terms of the glossary.
const NOUNS: &str = "act action adapter alias allowance amount answer arg args author backup basis batching budget \
    call capabilities certainty channel choice cleaning client command context contexts conversation conversations conversion cost \
    counter counts coverage data database details draft effect encryption end entity entry episode erasure \
    error estimate event extraction failure fault features files filter finding fingerprint finish firing fit \
    flaw folder folders health highlight hit home id import info input judgement layer likeness \
    limit limits line lives loss mark merge mode model options order outcome outline output \
    pair part parts pipeline placement polarity policy pool price prices printer procedure progress proposal \
    proposals provider query question quotas reason recorder redacted refusal registry remote replay report reporter \
    reservation result results row rules scan schema score secret section selection session set setting \
    settings source sources span spending stage stamp statistics stats step steps store strength subtree \
    summary survey suspicion target task terms text time totals treatment turn usage vector vectors \
    verbosity verdict view weights worker writer";

/// Names of before that are not nouns. The list may only shrink.
const NOT_YET_NOUNS: &[&str] = &[
    "Answered",
    "Applied",
    "Arity",
    "Around",
    "Ask",
    "Asked",
    "Budgeted",
    "By",
    "Census",
    "Checked",
    "Complete",
    "Counting",
    "Direct",
    "Dropped",
    "Embedded",
    "Erased",
    "Exported",
    "Extracted",
    "FilePlace",
    "Filled",
    "Filling",
    "FollowUp",
    "Found",
    "Gathered",
    "Global",
    "Imported",
    "Installed",
    "Kept",
    "KeyPlace",
    "LeftOut",
    "Named",
    "Near",
    "Purged",
    "Ranked",
    "Redact",
    "Related",
    "Remembered",
    "Rendered",
    "Repaired",
    "Restored",
    "Said",
    "Seq",
    "Served",
    "Sign",
    "Spent",
    "Standing",
    "Structured",
    "Upkeep",
    "Waiting",
];

fn rust_files() -> Vec<PathBuf> {
    let mut files = Vec::new();
    for folder in ["src", "crates"] {
        sources(Path::new(folder), &mut files);
    }
    files.retain(|file| {
        !file.components().any(|part| ["tests", "testing", "target"].map(AsRef::as_ref).contains(&part.as_os_str()))
    });
    files
}

fn pages() -> Vec<PathBuf> {
    let mut found = vec![PathBuf::from("README.md"), PathBuf::from("CHANGELOG.md")];
    let mut folders = vec![PathBuf::from("docs"), PathBuf::from("prompts")];
    while let Some(folder) = folders.pop() {
        for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            if path.is_dir() {
                folders.push(path);
            } else {
                found.push(path);
            }
        }
    }
    found
}

/// Identifiers are words too: `told_by` and `ToldBy` are read as `told by`.
fn words_of(line: &str) -> String {
    let mut words = String::with_capacity(line.len());
    for c in line.chars() {
        if c.is_uppercase() {
            words.push(' ');
        }
        words.push(if c == '_' { ' ' } else { c });
    }
    words
}

#[test]
fn no_line_uses_a_word_that_readers_stumble_over() {
    let ruled_out: Vec<(Regex, &str)> =
        RULED_OUT.iter().map(|(pattern, instead)| (Regex::new(pattern).unwrap(), *instead)).collect();
    let mut wrong = Vec::new();
    let mut look = |path: &Path, text: &str| {
        for (number, line) in text.lines().enumerate() {
            // A table of earlier schemas keeps its name.
            let words = words_of(&line.replace("hook_told", ""));
            let found = ruled_out.iter().find(|(pattern, _)| pattern.is_match(&words));
            wrong
                .extend(found.map(|(_, instead)| {
                    format!("{}:{}: write {instead}: {}", path.display(), number + 1, line.trim())
                }));
        }
    };
    let is_data = |path: &Path| DATA.iter().any(|data| path.ends_with(data));
    for file in rust_files().iter().filter(|file| !is_data(file)) {
        let text = production(file);
        look(file, text.split("\n#[cfg(test)]\nmod ").next().unwrap());
    }
    for page in pages().iter().filter(|page| !is_data(page)) {
        look(page, &fs::read_to_string(page).unwrap());
    }
    assert!(wrong.is_empty(), "{} lines\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn a_header_says_what_its_file_is() {
    let asks = |file: &PathBuf| {
        let text = fs::read_to_string(file).unwrap();
        let header = text.lines().next().and_then(|line| line.strip_prefix("//! ")).unwrap_or_default();
        QUESTIONS.contains(&header.split(|c: char| !c.is_alphabetic()).next().unwrap_or_default())
    };
    let asking: Vec<PathBuf> = rust_files().into_iter().filter(asks).collect();
    assert_eq!(asking, Vec::<PathBuf>::new());
}

#[test]
fn help_opens_with_an_imperative_verb() {
    let page = fs::read_to_string("docs/reference/commands.md").unwrap();
    let mut wrong = Vec::new();
    for section in page.split("\n## ").skip(1) {
        let about = section.lines().skip(1).find(|line| !line.is_empty() && !line.starts_with("```")).unwrap();
        let verb = about.split([' ', ',']).next().unwrap();
        if !VERBS.contains(&verb) {
            wrong.push(format!("{}: {about}", section.lines().next().unwrap()));
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
}

#[test]
fn types_are_named_by_nouns_of_the_glossary_or_of_programming() {
    let glossary = fs::read_to_string("docs/glossary.md").unwrap().to_lowercase();
    let bold = Regex::new(r"\*\*([^*]+)\*\*").unwrap();
    let mut nouns: BTreeSet<String> = bold
        .captures_iter(&glossary)
        .flat_map(|found| found[1].split([' ', ',']).map(str::to_owned).collect::<Vec<_>>())
        .collect();
    nouns.extend(NOUNS.split_whitespace().map(str::to_owned));
    let declared = Regex::new(r"(?m)^ *pub (?:struct|enum|trait) ([A-Z][A-Za-z0-9]*)").unwrap();
    let last = Regex::new(r"[A-Z][a-z0-9]+$").unwrap();
    let mut unknown = BTreeSet::new();
    for file in rust_files().iter().filter(|file| file.starts_with("src")) {
        for found in declared.captures_iter(&production(file)) {
            let name = &found[1];
            let noun = last.find(name).map_or(name, |noun| noun.as_str()).to_lowercase();
            let is_known = nouns.contains(&noun) || nouns.contains(noun.trim_end_matches('s'));
            if !is_known && !NOT_YET_NOUNS.contains(&name) {
                unknown.insert(format!("{name} in {}", file.display()));
            }
        }
    }
    assert_eq!(unknown, BTreeSet::new());
}
