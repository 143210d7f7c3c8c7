//! Determines, from its path, the project for which a file of memories or instructions is written.

use std::ffi::OsStr;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::memory::Namespace;
use transcripts::json;

/// Maximum number of log lines that are searched for the folder of the conversation.
const MAX_LINES: usize = 50;

/// The project to which a file belongs, according to its path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum FilePlace {
    /// The file belongs to no particular project.
    Anywhere,
    /// The file belongs to the project in this folder.
    Folder(String),
    /// The file belongs to a project that is known only by name.
    Project(Namespace),
}

/// Returns the project to which the file at `path` belongs.
///
/// Instructions for agents belong to the folder that contains them. If that is an agent's settings folder, such as
/// `.claude`, they belong to its parent folder. Notes that Claude Code stores next to its logs belong to the folder of
/// those conversations.
pub(crate) fn place_of(path: &Path, are_instructions: bool) -> FilePlace {
    // The path is made absolute without the disk: `canonicalize` would fail on a missing file and resolve symlinks.
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    if are_instructions {
        // `.claude/CLAUDE.md` and `.cursor/rules/*.mdc` apply to the project that contains these folders.
        let folder = path.ancestors().skip(1).find(|folder| !folder.file_name().is_some_and(is_agents_own));
        return folder.map_or(FilePlace::Anywhere, |folder| FilePlace::Folder(folder.to_string_lossy().into_owned()));
    }
    let Some(logs) = folder_of_logs(&path) else { return FilePlace::Anywhere };
    let held_in = logs_in(logs).iter().find_map(|log| folder_of(log));
    // The folder's name is the project's path with `-` for `/`, which cannot be reversed, so a log is read instead.
    let name = || logs.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    held_in
        .map_or_else(|| Namespace::project(&name()).map_or(FilePlace::Anywhere, FilePlace::Project), FilePlace::Folder)
}

fn is_agents_own(name: &OsStr) -> bool {
    [".claude", ".github", ".cursor", "rules"].iter().any(|own| name == *own)
}

/// Returns the folder with the logs of a project, if `path` is in its subfolder `memory`.
fn folder_of_logs(path: &Path) -> Option<&Path> {
    let memory = path.ancestors().skip(1).find(|folder| folder.file_name().is_some_and(|name| name == "memory"))?;
    let logs = memory.parent()?;
    logs.parent()?.file_name().is_some_and(|name| name == "projects").then_some(logs)
}

fn logs_in(folder: &Path) -> Vec<PathBuf> {
    // A folder that cannot be read is treated as a folder without logs, because the project's name is still known.
    let entries = folder.read_dir().into_iter().flatten().flatten().map(|entry| entry.path());
    let mut logs: Vec<_> = entries.filter(|path| path.extension().is_some_and(|ending| ending == "jsonl")).collect();
    // `read_dir` has no fixed order, and the result must not depend on the file system.
    logs.sort();
    logs
}

/// Returns the folder of the first conversation of a log.
fn folder_of(log: &Path) -> Option<String> {
    let lines = BufReader::new(std::fs::File::open(log).ok()?).lines().take(MAX_LINES);
    // A read error ends the search, because further reads of the same file would most likely fail, too.
    lines.map_while(Result::ok).find_map(|line| {
        let (value, _) = json::parse::<Value>(&line).ok()?;
        value["cwd"].as_str().map(str::to_owned)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instructions_are_for_the_folder_that_they_stand_in() {
        let table = [
            ("/src/shop/CLAUDE.md", "/src/shop"),
            ("/src/shop/.claude/CLAUDE.md", "/src/shop"),
            ("/src/shop/.cursor/rules/style.mdc", "/src/shop"),
        ];
        for (path, folder) in table {
            let wanted = std::path::absolute(folder).unwrap().to_string_lossy().into_owned();
            assert_eq!(place_of(Path::new(path), true), FilePlace::Folder(wanted), "{path}");
        }
    }

    #[test]
    fn notes_beside_logs_are_for_the_project_of_the_logs() {
        let home = tempfile::tempdir().unwrap();
        let logs = home.path().join(".claude/projects/-home-ana-shop");
        std::fs::create_dir_all(logs.join("memory")).unwrap();
        let notes = logs.join("memory/MEMORY.md");
        let unknown = Namespace::project("-home-ana-shop").unwrap();
        assert_eq!(place_of(&notes, false), FilePlace::Project(unknown), "never everybody's");
        std::fs::write(logs.join("a.jsonl"), "no JSON\n{\"type\":\"x\"}\n{\"cwd\":\"/home/ana/shop\"}\n").unwrap();
        assert_eq!(place_of(&notes, false), FilePlace::Folder("/home/ana/shop".into()));
        assert_eq!(place_of(&home.path().join("memory/MEMORY.md"), false), FilePlace::Anywhere);
    }
}
