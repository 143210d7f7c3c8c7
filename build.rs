//! Hashes the code that decides what is read from a log, so that a changed program reads again what it has read before.

use std::collections::hash_map::DefaultHasher;
use std::fs;
use std::hash::{Hash as _, Hasher as _};
use std::path::{Path, PathBuf};

/// Everything between a file and its windows.
const READING: &[&str] = &["crates/transcripts/src", "src/guard", "src/extract", "src/tokens"];

fn main() {
    let mut files = Vec::new();
    for path in READING {
        println!("cargo::rerun-if-changed={path}");
        gather(Path::new(path), &mut files);
    }
    files.sort();
    let mut hasher = DefaultHasher::new();
    for file in files {
        file.to_string_lossy().replace('\\', "/").hash(&mut hasher);
        fs::read(&file).unwrap_or_default().hash(&mut hasher);
    }
    println!("cargo::rustc-env=AFTERTHOUGHT_READING_CODE={:016x}", hasher.finish());
}

fn gather(path: &Path, files: &mut Vec<PathBuf>) {
    match fs::read_dir(path) {
        Ok(entries) => entries.flatten().for_each(|entry| gather(&entry.path(), files)),
        Err(_) => files.push(path.to_owned()),
    }
}
