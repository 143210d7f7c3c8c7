//! Distinguishes logs that are part of a repository from the user's own.
//!
//! Whoever makes a repository may put logs into it, in which a "user" says whatever its maker wants. A log that git tracks
//! is therefore other people's text, and belongs to the repository that contains it.

use std::cell::{OnceCell, RefCell};
use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};

use transcripts::known::{KNOWN, Machine as Places, Platform};
use unicode_normalization::UnicodeNormalization as _;

use super::command::GitCheckout;
use super::git;

/// The repository that a log is part of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SourceRepository {
    /// The root of the working tree.
    pub root: PathBuf,
    /// Why it is not known whether the log is part of the repository, if that is not known; it is treated as a part then.
    pub doubt: Option<String>,
}

/// Finds logs that are part of a repository, asking git once for each folder.
#[derive(Debug, Default)]
pub(crate) struct ShippedLogs {
    home: Option<PathBuf>,
    /// Folders in which programs keep the user's own conversations, even if the user tracks them. They are looked up when
    /// the first log in a repository is met, because most logs are in none.
    own: OnceCell<Vec<PathBuf>>,
    folders: RefCell<HashMap<PathBuf, Tracked>>,
}

/// The files of a folder that git tracks.
#[derive(Debug)]
enum Tracked {
    /// The folder is in no working tree.
    Nothing,
    Names {
        root: PathBuf,
        /// The names of files, and the first parts of the paths of files below folders.
        names: HashSet<String>,
    },
    Unknown {
        root: PathBuf,
        why: String,
    },
}

impl ShippedLogs {
    /// Returns a search on the machine on which this process runs.
    pub(crate) fn on_this_machine() -> Self {
        let home = etcetera::home_dir().ok().and_then(|home| home.canonicalize().ok());
        Self { home, ..Self::default() }
    }

    /// Returns whether a program keeps the user's own conversations in this place.
    fn is_own(&self, place: &Path) -> bool {
        let known = || {
            let variable = |name: &str| std::env::var(name).ok();
            let places = Places { platform: Platform::this(), home: etcetera::home_dir().ok(), variable: &variable };
            let folders = KNOWN.iter().flat_map(|program| program.folders(&places, &[]));
            folders.filter_map(|folder| folder.path.canonicalize().ok()).collect()
        };
        self.own.get_or_init(known).iter().any(|own| place.starts_with(own))
    }

    /// Returns the repository that the log at `path` is part of: a file, a folder, or a file in an archive. Both a link
    /// and its target count.
    pub(crate) fn origin_of(&self, path: &Path) -> Option<SourceRepository> {
        let path = std::path::absolute(path).ok()?;
        let existing = path.ancestors().find(|place| fs::symlink_metadata(place).is_ok())?;
        // If something in a folder does not exist, it cannot be read either.
        if existing != path && existing.is_dir() {
            return None;
        }
        let target = existing.canonicalize().ok()?;
        let places = named_place(existing).into_iter().filter(|named| *named != target);
        let mut places = std::iter::once(target.clone()).chain(places);
        places.find_map(|place| self.origin_of_place(&place)).filter(|_| !self.is_own(&target))
    }

    /// Returns the file to which `path` points, if `path` is a link that is part of a repository and the file is not in
    /// that repository.
    pub(crate) fn target_outside(&self, path: &Path) -> Option<PathBuf> {
        let path = std::path::absolute(path).ok().filter(|path| path.is_symlink())?;
        let named = named_place(&path)?;
        let SourceRepository { root, .. } = self.origin_of_place(&named)?;
        let target = path.canonicalize().ok()?;
        (!target.starts_with(root.canonicalize().ok()?)).then_some(target)
    }

    fn origin_of_place(&self, place: &Path) -> Option<SourceRepository> {
        let is_folder = place.is_dir() && !place.is_symlink();
        let folder = if is_folder { place } else { place.parent()? };
        if !self.folders.borrow().contains_key(folder) {
            let tracked = self.tracked_in(folder);
            self.folders.borrow_mut().insert(folder.to_owned(), tracked);
        }
        match self.folders.borrow().get(folder)? {
            Tracked::Nothing => None,
            Tracked::Unknown { root, why } => Some(SourceRepository { root: root.clone(), doubt: Some(why.clone()) }),
            Tracked::Names { root, names } => {
                let is_tracked = if is_folder {
                    !names.is_empty()
                } else {
                    names.contains(&comparable(&place.file_name()?.to_string_lossy()))
                };
                is_tracked.then(|| SourceRepository { root: root.clone(), doubt: None })
            }
        }
    }

    fn tracked_in(&self, folder: &Path) -> Tracked {
        // A repository in the home folder, such as one for dotfiles, is the user's own.
        let below_home = |at: &&Path| at.parent().is_some() && self.home.as_deref() != Some(at);
        let mut above = folder.ancestors().take_while(below_home);
        let Some(root) = above.find(|at| fs::symlink_metadata(at.join(".git")).is_ok()) else {
            return Tracked::Nothing;
        };
        let unknown = |why: String| Tracked::Unknown { root: root.to_owned(), why };
        let Some((tree, git, _)) = git::checkout(folder).filter(|(tree, ..)| tree == root) else {
            return unknown(format!("{} is no repository that git would use", root.join(".git").display()));
        };
        let listed = GitCheckout { root: &tree, git: &git }.run(folder, "ls-files", &["-z"]);
        match listed {
            Ok(listed) => {
                let first = |path: &[u8]| {
                    let end = path.iter().position(|byte| *byte == b'/').unwrap_or(path.len());
                    comparable(&String::from_utf8_lossy(&path[..end]))
                };
                let names = listed.split(|byte| *byte == 0).filter(|path| !path.is_empty()).map(first).collect();
                Tracked::Names { root: tree, names }
            }
            Err(error) => unknown(error.to_string()),
        }
    }
}

/// Returns the actual place of a file or link itself, rather than that of its target.
fn named_place(path: &Path) -> Option<PathBuf> {
    Some(path.parent()?.canonicalize().ok()?.join(path.file_name()?))
}

/// Returns a name in a form that is the same for all spellings that a file system may treat as one.
fn comparable(name: &str) -> String {
    name.nfc().collect::<String>().to_lowercase()
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    struct Desk {
        _folder: tempfile::TempDir,
        root: PathBuf,
    }

    impl Desk {
        fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            let root = folder.path().canonicalize().unwrap();
            fs::create_dir(root.join("ana")).unwrap();
            Self { _folder: folder, root: root.join("ana") }
        }

        fn write(&self, name: &str) {
            fs::create_dir_all(self.root.join(name).parent().unwrap()).unwrap();
            fs::write(self.root.join(name), "x").unwrap();
        }

        fn git(&self, place: &str, arguments: &[&str]) {
            let mut git = Command::new("git");
            git.current_dir(self.root.join(place)).args(["-c", "user.name=Ana", "-c", "user.email=ana@x.example"]);
            let done = git.args(["-c", "protocol.file.allow=always"]).args(arguments).output().unwrap();
            assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        }

        fn repository(&self, place: &str, tracked: &[&str]) {
            tracked.iter().for_each(|name| self.write(&format!("{place}/{name}")));
            fs::create_dir_all(self.root.join(place)).unwrap();
            self.git(place, &["init", "-q"]);
            self.git(place, &["add", "-f", "."]);
            self.git(place, &["commit", "-qm", "Add", "--allow-empty"]);
        }

        fn logs(&self) -> ShippedLogs {
            let own = [".codex/sessions", "dotfiles/claude/projects"].map(|name| self.root.join(name));
            ShippedLogs { home: Some(self.root.clone()), own: OnceCell::from(own.to_vec()), ..ShippedLogs::default() }
        }

        /// Returns the repository that the log is part of, or `-`.
        fn origin(&self, name: &str) -> String {
            let found = self.logs().origin_of(&self.root.join(name));
            found.map_or_else(
                || "-".into(),
                |found| {
                    let doubt = if found.doubt.is_some() { "?" } else { "" };
                    format!("{}{doubt}", found.root.strip_prefix(&self.root).unwrap().display())
                },
            )
        }
    }

    #[test]
    fn a_log_that_git_tracks_is_part_of_its_repository() {
        let desk = Desk::new();
        desk.repository("shop", &[".aider.chat.history.md", ".specstory/history/a.md", "logs/b.jsonl", "logs/c.zip"]);
        desk.write("shop/app/.aider.chat.history.md");
        desk.write("shop/logs/mine.jsonl");
        desk.write("shop/own/session/a.json");
        desk.write("loose/a.jsonl");
        for (name, expected) in [
            ("shop/.aider.chat.history.md", "shop"),
            ("shop/.specstory/history/a.md", "shop"),
            ("shop/logs/b.jsonl", "shop"),
            ("shop/logs/c.zip/inner/d.jsonl", "shop"),
            ("shop/logs", "shop"),
            ("shop/own", "-"),
            ("shop/app/.aider.chat.history.md", "-"),
            ("shop/logs/mine.jsonl", "-"),
            ("shop/logs/missing.jsonl", "-"),
            ("loose/a.jsonl", "-"),
        ] {
            assert_eq!(desk.origin(name), expected, "{name}");
        }
        // A file counts once it is staged, and a log stays part of the repository if the user changes it.
        desk.git("shop", &["add", "logs/mine.jsonl"]);
        fs::write(desk.root.join("shop/logs/b.jsonl"), "y").unwrap();
        assert_eq!(["shop/logs/mine.jsonl", "shop/logs/b.jsonl"].map(|name| desk.origin(name)), ["shop", "shop"]);
    }

    #[test]
    fn worktrees_and_submodules_are_repositories_and_a_bare_one_tracks_nothing() {
        let desk = Desk::new();
        desk.repository("lib", &["talk.md"]);
        desk.repository("shop", &["a.jsonl"]);
        desk.git("shop", &["worktree", "add", "-q", "../tree"]);
        desk.git("shop", &["submodule", "--quiet", "add", "../lib", "vendor/lib"]);
        desk.git("", &["clone", "-q", "--bare", "shop", "bare.git"]);
        desk.write("bare.git/mine.jsonl");
        for (name, expected) in
            [("tree/a.jsonl", "tree"), ("shop/vendor/lib/talk.md", "shop/vendor/lib"), ("bare.git/mine.jsonl", "-")]
        {
            assert_eq!(desk.origin(name), expected, "{name}");
        }
        // Git would not use this folder, so it cannot be asked.
        fs::remove_dir_all(desk.root.join("shop/.git/worktrees")).unwrap();
        assert_eq!(desk.origin("tree/a.jsonl"), "tree?");
    }

    #[test]
    fn logs_of_programs_are_the_users_own_even_in_a_repository() {
        let desk = Desk::new();
        desk.repository("dotfiles", &["claude/projects/p/a.jsonl", "notes/b.jsonl"]);
        desk.git("", &["init", "-q"]);
        desk.write(".codex/sessions/c.jsonl");
        desk.write("d.jsonl");
        desk.git("", &["add", "d.jsonl", ".codex"]);
        let logs =
            ["dotfiles/claude/projects/p/a.jsonl", "dotfiles/notes/b.jsonl", ".codex/sessions/c.jsonl", "d.jsonl"];
        assert_eq!(logs.map(|name| desk.origin(name)), ["-", "dotfiles", "-", "-"]);
    }

    #[test]
    #[cfg(unix)]
    fn a_link_is_followed_in_both_directions() {
        use std::os::unix::fs::symlink;
        let desk = Desk::new();
        desk.write("own/real.jsonl");
        desk.repository("shop", &["logs/b.jsonl"]);
        symlink(desk.root.join("shop/logs/b.jsonl"), desk.root.join("own/link.jsonl")).unwrap();
        symlink(desk.root.join("shop/logs"), desk.root.join("own/folder")).unwrap();
        symlink(desk.root.join("own/real.jsonl"), desk.root.join("shop/planted.jsonl")).unwrap();
        desk.git("shop", &["add", "planted.jsonl"]);
        let logs = ["own/link.jsonl", "own/folder/b.jsonl", "shop/planted.jsonl", "own/real.jsonl"];
        assert_eq!(logs.map(|name| desk.origin(name)), ["shop", "shop", "shop", "-"]);
    }
}
