//! Finds the commit that last changed a line, from what is committed.

use std::fs;
use std::path::Path;

use super::command::{GitCheckout, GitError};
use super::git::checkout;

/// Maximum size of a file whose lines are compared with those that are committed, in bytes.
const MAX_BYTES: u64 = 16 << 20;

/// Why the commit of a line is unknown.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LineError {
    /// The file does not exist, or it is not a regular file of a repository.
    #[error("{0} is not a file in a git repository")]
    NoFile(String),
    /// The file has fewer lines.
    #[error("{file} has only {lines} lines")]
    NoLine {
        /// The file.
        file: String,
        /// Its number of lines.
        lines: usize,
    },
    /// Git gave no answer.
    #[error(transparent)]
    Git(#[from] GitError),
}

/// Returns the commit that last changed a line, counted from 1; `None` if the line is not committed yet.
///
/// # Errors
/// [`LineError`].
pub(crate) fn commit_of_line(path: &Path, line: usize) -> Result<Option<String>, LineError> {
    let no_file = || LineError::NoFile(path.display().to_string());
    let is_read = |data: fs::Metadata| data.is_file() && data.len() <= MAX_BYTES;
    let whole = path.canonicalize().ok().filter(|path| fs::metadata(path).is_ok_and(is_read)).ok_or_else(no_file)?;
    let (root, git_folder, _) = checkout(&whole).ok_or_else(no_file)?;
    let inside = whole.strip_prefix(&root).map_err(|_| no_file())?.to_string_lossy().replace('\\', "/");
    let checkout = GitCheckout { root: &root, git: &git_folder };
    let git = |command, arguments: &[&str]| checkout.run(&root, command, arguments);
    let lines = |bytes: &[u8]| String::from_utf8_lossy(bytes).lines().map(str::to_owned).collect::<Vec<_>>();
    let now = lines(&fs::read(&whole).map_err(|_| no_file())?);
    if line == 0 || line > now.len() {
        return Err(LineError::NoLine { file: path.display().to_string(), lines: now.len() });
    }
    let committed = lines(&git("cat-file", &["blob", &format!("HEAD:{inside}")])?);
    let Some(number) = committed_number(&now, &committed, line) else { return Ok(None) };
    let range = format!("{number},{number}");
    let shown = git("blame", &["--no-textconv", "--porcelain", "-L", &range, "HEAD", "--", &inside])?;
    Ok(String::from_utf8_lossy(&shown).split_whitespace().next().map(str::to_owned))
}

/// Returns the number that a line has in the committed text. Lines before and after all changes keep their place; a line
/// between changes is found if there is only one like it.
fn committed_number(now: &[String], committed: &[String], line: usize) -> Option<usize> {
    let before = now.iter().zip(committed).take_while(|(a, b)| a == b).count();
    if line <= before {
        return Some(line);
    }
    let after = now[before..].iter().rev().zip(committed[before..].iter().rev()).take_while(|(a, b)| a == b).count();
    if line > now.len() - after {
        return Some(line + committed.len() - now.len());
    }
    let text = &now[line - 1];
    let mut places = (before..committed.len() - after).filter(|&at| committed[at] == *text);
    places.next().filter(|_| places.next().is_none()).map(|at| at + 1)
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn a_line_is_found_in_the_committed_text() {
        let lines = |text: &str| text.chars().map(String::from).collect::<Vec<_>>();
        for (now, committed, expected) in [
            ("abc", "abc", [Some(1), Some(2), Some(3)].as_slice()),
            ("xabc", "abc", &[None, Some(1), Some(2), Some(3)]),
            ("abxc", "abc", &[Some(1), Some(2), None, Some(3)]),
            ("axcyb", "abcb", &[Some(1), None, Some(3), None, Some(4)]),
            ("c", "abc", &[Some(3)]),
            ("", "abc", &[]),
        ] {
            let (now, committed) = (lines(now), lines(committed));
            let found: Vec<_> = (1..=now.len()).map(|line| committed_number(&now, &committed, line)).collect();
            assert_eq!(found, expected, "{now:?}");
        }
    }

    #[test]
    #[cfg(unix)]
    fn the_settings_of_a_repository_run_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let git = |arguments: &[&str]| {
            let done = Command::new("git").current_dir(&root).args(arguments).output().unwrap();
            assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        };
        git(&["init", "-q"]);
        fs::write(root.join("a.py"), "one\ntwo\n").unwrap();
        fs::write(root.join(".gitattributes"), "* diff=evil filter=evil\n").unwrap();
        git(&["add", "."]);
        git(&["-c", "user.name=Ana", "-c", "user.email=ana@x.example", "commit", "-qm", "Add"]);
        let ran = root.join("ran");
        let program = format!("touch {}; cat", ran.display());
        for key in ["core.fsmonitor", "diff.evil.textconv", "filter.evil.clean", "filter.evil.smudge"] {
            git(&["config", key, &program]);
        }
        fs::write(root.join("a.py"), "new\none\ntwo\n").unwrap();
        assert_eq!(commit_of_line(&root.join("a.py"), 1).unwrap(), None);
        assert_eq!(commit_of_line(&root.join("a.py"), 3).unwrap().unwrap().len(), 40);
        let error = commit_of_line(&root.join("a.py"), 9).unwrap_err();
        assert!(error.to_string().ends_with("a.py has only 3 lines"), "{error}");
        assert!(!ran.exists());
        // A folder that git would take for a bare repository does not count as one.
        let bare = root.join("docs");
        fs::create_dir_all(bare.join("objects")).unwrap();
        fs::create_dir_all(bare.join("refs")).unwrap();
        fs::write(bare.join("HEAD"), "ref: refs/heads/main\n").unwrap();
        fs::write(bare.join("config"), format!("[core]\nworktree = .\nfsmonitor = \"touch {}; :\"\n", ran.display()))
            .unwrap();
        fs::write(bare.join("b.py"), "one\n").unwrap();
        assert!(commit_of_line(&bare.join("b.py"), 1).is_err());
        assert!(!ran.exists());
    }
}
