//! Checks the words of code, help and documentation against the project's vocabulary.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use regex::Regex;

use super::layering::{production, sources};

/// Words that are hard to understand, each with a better alternative.
const RULED_OUT: &[(&str, &str)] = &[
    (r"(?i)\b(tell|tells|told|telling)\b", "say, show, print, report or distinguish"),
    (r"(?i)\bamiss\b", "wrong"),
    (r"(?i)\b(mend|mends|mended|mending)\b", "fix or repair"),
    (r"(?i)\bhangs? on nothing\b", "orphaned"),
    (r"(?i)\b(go|goes|going|went|gone) by\b", "use"),
];

/// Files in which such a word is data: a phrase that people use in logs, or that a program writes.
const DATA: &[&str] = &[
    "src/extract/check/table_tests.rs",
    "src/extract/offline/claims.rs",
    "src/extract/offline/language.rs",
    "src/extract/offline/sentence.rs",
    "src/guard/orders.rs",
    "src/guard/steering.rs",
    "src/search/brief/query.rs",
    "src/text/change.rs",
    "src/text/relative.rs",
    // The prompt was measured with recorded replies, which any change of it would invalidate.
    "prompts/extract/system.md",
    // The page quotes an instruction that a conversation may contain.
    "docs/reference/mcp.md",
    // Cites tests by their names.
    "docs/reference/specifications.md",
];

/// First words of a header that introduce a question instead of describing the file.
const QUESTIONS: &[&str] = &["What", "Which", "Whether", "Who", "Whose", "Where", "When", "How", "Why"];

/// Verbs that begin a line of help. New verbs are added here deliberately.
const VERBS: &[&str] = &[
    "Accept", "Apply", "Back", "Cancel", "Check", "Compare", "Compute", "Connect", "Decrypt", "Edit", "Encrypt",
    "Export", "Find", "Forget", "Import", "Install", "Judge", "Keep", "Link", "List", "Measure", "Merge", "Name",
    "Pin", "Print", "Process", "Promote", "Reject", "Remove", "Repair", "Replace", "Restore", "Retry", "Review", "Run",
    "Search", "Send", "Serve", "Share", "Show", "Stop", "Store", "Trust", "Turn", "Undo", "Watch", "Write",
];

/// Programming nouns that may be names of types, in addition to the terms of the glossary.
const NOUNS: &str = "ablation access act action adapter address admission agent alias allowance amount answer arg args \
    arguments author backup basis batching budget builder cache call capabilities certainty channel checkout choice \
    clause cleaning client clock column command commit comparison conflict connection context contexts conversation \
    conversations conversion correction cost counter counts coverage cue data database dates days definition details \
    dialect draft effect embedder encryption end endpoint entity entries entry episode erasure error estimate event \
    extent extraction failure fault features field file files filter finding fingerprint finish firing fit flaw folder \
    folders forms freshness group head health highlight hit home id identity import info input item judgement language \
    layer likeness limit limits line list lives lookup loss machine mark memories merge meter mode model names \
    neighbour number numbers objects options order origin outcome outline output overlay page pair part parts pass \
    passage phrases piece pipeline place placement polarity policy pool price prices printer procedure progress prompt \
    proposal proposals provider query question queue quotas reason recorder redacted references refusal registry \
    rejection remote replay report reporter repository reservation resolver result results retriever row rows rules \
    ruling scan scenes schema score script secret section selection server session set setting settings sheet shelf \
    sight sighting slot source sources span spending stage stamp state statistics stats stems step steps storage store \
    strength subject subtree summary survey suspicion table tally tape target task template term terms text time tool \
    totals treatment turn unit usage vector vectors verbosity verdict version view visit vocabulary voice weights word \
    worker workspace wrappers writer";

/// Existing names that are not nouns. The list must only shrink.
const NOT_YET_NOUNS: &[&str] = &[
    "Answered",
    "Applied",
    "Arity",
    "Around",
    "Ask",
    "Asked",
    "BareFts5",
    "Budgeted",
    "By",
    "Census",
    "Checked",
    "Claimed",
    "Complete",
    "Counting",
    "Dated",
    "Denied",
    "Direct",
    "Dropped",
    "Embedded",
    "Erased",
    "Exported",
    "Extracted",
    "FilePlace",
    "FileRead",
    "FilesUnderWay",
    "Filled",
    "Filling",
    "Finished",
    "Folded",
    "FollowUp",
    "Forget",
    "ForgetOne",
    "Found",
    "Gather",
    "Gathered",
    "Global",
    "Gone",
    "Imported",
    "InFlight",
    "Injected",
    "Installed",
    "Kept",
    "KeyPlace",
    "Known",
    "Left",
    "LeftOut",
    "Legible",
    "Named",
    "Near",
    "One",
    "Place",
    "Purged",
    "Quiet",
    "Ranked",
    "Recall",
    "Redact",
    "Rejected",
    "Relate",
    "Related",
    "Remembered",
    "Rendered",
    "Repaired",
    "Replaced",
    "Rest",
    "Restored",
    "Said",
    "Seq",
    "Served",
    "Several",
    "Shown",
    "Sign",
    "Sought",
    "Spent",
    "Spot",
    "Stale",
    "Standing",
    "Stored",
    "Stripped",
    "Structured",
    "Swept",
    "Update",
    "Upkeep",
    "Upsert",
    "Waiting",
    "Working",
    "Written",
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
            } else if path.extension().is_none_or(|ending| ending != "png") {
                found.push(path);
            }
        }
    }
    found
}

/// Identifiers also count as words: `told_by` and `ToldBy` are read as `told by`.
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
            // A table of earlier schemas retains its name.
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
    let declared = Regex::new(r"(?m)^ *pub(?:\([a-z ]+\))? (?:struct|enum|trait) ([A-Z][A-Za-z0-9]*)").unwrap();
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
