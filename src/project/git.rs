//! Finds the repository that a folder belongs to by reading git's files. Git itself is never run, because a repository
//! from somebody else could make git run arbitrary commands.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};
use transcripts::hex;

use super::remote::{Address, Remote};

/// Maximum size of a git file that is read, in bytes; git itself writes no larger files.
const MAX_BYTES: u64 = 1 << 20;
/// Maximum number of local clones that are followed from one to the next.
// The number is limited, because two clones may refer to each other as their origin.
const MAX_CLONES: usize = 4;

/// A repository on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Repository {
    /// The folder of the repository: the folder that contains `.git`, or the git folder itself if the repository is
    /// bare or a submodule. All worktrees of one repository have the same folder.
    pub(super) root: PathBuf,
    /// The server that the repository was cloned from.
    pub(super) remote: Option<Remote>,
    /// Identifies the repository even if it has been moved. The mark is a hash of the first line of the repository's
    /// log, which contains the first commit, the author and the time.
    pub(super) mark: Option<String>,
}

/// Returns the repository that contains `path`, or that contained `path` before it was deleted.
///
/// Searches upwards from the nearest existing folder, but not in or above `home`, nor in a root folder.
pub(super) fn find(path: &Path, home: Option<&Path>) -> Option<Repository> {
    let start = path.ancestors().find_map(|folder| folder.canonicalize().ok())?;
    let home = home.and_then(|home| home.canonicalize().ok());
    // A repository in the home folder, such as one for dotfiles, would merge all projects into one.
    let below_home = |folder: &&Path| folder.parent().is_some() && home.as_deref() != Some(folder);
    let mut bare = None;
    for folder in start.ancestors().take_while(below_home) {
        if let Some(common) = working_tree(folder) {
            return Some(identify(&common, MAX_CLONES));
        }
        bare = bare.or_else(|| Some(folder).filter(|folder| is_repository(folder)));
    }
    // A bare repository is considered last, because any other repository may contain files that look like a bare
    // repository.
    bare.map(|folder| identify(folder, MAX_CLONES))
}

/// Returns whether exactly this folder contains a repository.
pub(super) fn stands_in(folder: &Path) -> bool {
    working_tree(folder).is_some() || is_repository(folder)
}

/// Returns the working folder that contains `path`, its git folder, and the folder that its worktrees share.
pub(super) fn checkout(path: &Path) -> Option<(PathBuf, PathBuf, PathBuf)> {
    let start = path.canonicalize().ok()?;
    start.ancestors().find_map(|folder| {
        let (git, common) = git_folders(folder)?;
        Some((folder.to_owned(), git, common))
    })
}

/// Returns the folder with the objects and settings of the repository that this folder is the working tree of.
fn working_tree(folder: &Path) -> Option<PathBuf> {
    git_folders(folder).map(|(_, common)| common).or_else(|| lost(&pointed_to(folder)?))
}

/// Returns the git folder of the working tree `folder`, and the folder that its worktrees share.
fn git_folders(folder: &Path) -> Option<(PathBuf, PathBuf)> {
    let dot = folder.join(".git");
    if dot.is_dir() {
        let git = dot.canonicalize().ok().filter(|git| is_repository(git))?;
        return (!dot.is_symlink() || leads_back(&git, folder)).then(|| (git.clone(), git));
    }
    let git = pointed_to(folder).filter(|git| leads_back(git, folder))?;
    let common = shared(&git)?;
    Some((git, common))
}

/// Returns the git folder that the file `.git` in `folder` names.
fn pointed_to(folder: &Path) -> Option<PathBuf> {
    Some(folder.join(read(&folder.join(".git"))?.strip_prefix("gitdir:")?.trim()))
}

/// Returns whether a git folder elsewhere belongs to the working tree `folder`: a worktree or a submodule of which it
/// knows, or a folder that contains only this repository. Otherwise, a file could claim any repository on this machine.
fn leads_back(git: &Path, folder: &Path) -> bool {
    let is_here =
        |path: PathBuf| path.canonicalize().ok().is_some_and(|path| folder.canonicalize().is_ok_and(|at| at == path));
    if git.join("commondir").exists() {
        let known = read(&git.join("gitdir")).map(|text| git.join(text.trim()));
        return known.and_then(|dot| dot.parent().map(Path::to_owned)).is_some_and(is_here);
    }
    let settings = read(&git.join("config")).unwrap_or_default();
    let worktree = settings.lines().find_map(|line| {
        let (key, value) = line.split_once('=')?;
        key.trim().eq_ignore_ascii_case("worktree").then(|| plain(value.trim()))
    });
    // `git init --separate-git-dir` records no way back, but its git folder is no other repository's own `.git`.
    worktree.map_or_else(|| !git.ends_with(".git"), |path| is_here(git.join(path)))
}

/// Returns the folder that the worktrees of a repository share; for any other git folder, returns the folder itself.
fn shared(git: &Path) -> Option<PathBuf> {
    let common = read(&git.join("commondir")).map_or_else(|| git.to_owned(), |text| git.join(text.trim()));
    common.canonicalize().ok().filter(|common| is_repository(common))
}

/// Returns the location of a worktree's repository before the repository was moved.
fn lost(git: &Path) -> Option<PathBuf> {
    let worktrees = git.parent().filter(|folder| folder.ends_with("worktrees"))?;
    worktrees.parent().filter(|common| common.is_absolute()).map(Path::to_owned)
}

fn is_repository(folder: &Path) -> bool {
    folder.join("HEAD").is_file() && folder.join("objects").is_dir()
}

fn identify(common: &Path, clones: usize) -> Repository {
    let lone = Repository { root: root_of(common), remote: None, mark: mark_of(common) };
    match read(&common.join("config")).and_then(|text| origin(&text)).as_deref().and_then(Address::parse) {
        Some(Address::Server(remote)) => Repository { remote: Some(remote), ..lone },
        Some(Address::Local(path)) if clones > 0 => {
            let path = lone.root.join(path);
            let names = [path.join(".git"), path.clone(), path.with_added_extension("git")];
            let origin = names.iter().filter(|path| !is_share(path)).find_map(|path| shared(path));
            // A clone whose remote is the clone itself identifies no other repository.
            let other = origin.filter(|origin| origin != common);
            other.map_or(lone, |other| identify(&other, clones - 1))
        }
        _ => lone,
    }
}

fn mark_of(common: &Path) -> Option<String> {
    let log = common.join("logs").join("HEAD");
    // Only a regular file is read, because any other file could block the reader.
    let file = fs::metadata(&log).ok().filter(fs::Metadata::is_file).and_then(|_| fs::File::open(log).ok())?;
    let mut line = Vec::new();
    BufReader::new(file.take(MAX_BYTES)).read_until(b'\n', &mut line).ok()?;
    (!line.is_empty()).then(|| hex(&Sha256::digest(&line)[..16]))
}

fn root_of(common: &Path) -> PathBuf {
    let is_inside = common.ends_with(".git") || common.ends_with(".bare");
    common.parent().filter(|_| is_inside).unwrap_or(common).to_owned()
}

/// Returns whether the path is on a network share of another machine: accessing it would reveal the user's name to that
/// machine.
pub(super) fn is_share(path: &Path) -> bool {
    let text = path.as_os_str().as_encoded_bytes();
    text.starts_with(b"\\\\") || text.starts_with(b"//")
}

/// Reads a small regular file; any other file could block the reader forever.
pub(super) fn read(path: &Path) -> Option<String> {
    let data = fs::metadata(path).ok()?;
    let is_small = data.is_file() && data.len() <= MAX_BYTES;
    is_small.then(|| fs::read(path).ok()).flatten().map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
}

/// Returns the address of the remote `origin`, or of the only remote.
pub(super) fn origin(settings: &str) -> Option<String> {
    let mut remotes: Vec<(String, String)> = Vec::new();
    let mut remote: Option<String> = None;
    // A backslash at the end of a line continues the value on the next line.
    let joined = settings.replace("\\\r\n", "").replace("\\\n", "");
    for line in joined.lines().map(str::trim) {
        let mut setting = line;
        if let Some(header) = line.strip_prefix('[') {
            let (section, rest) = header_and_rest(header);
            remote = remote_name(section);
            setting = rest.trim();
        }
        let Some((key, value)) = setting.split_once('=') else { continue };
        let Some(name) = remote.as_ref().filter(|_| key.trim().eq_ignore_ascii_case("url")) else { continue };
        // Git fetches from the first URL.
        if !remotes.iter().any(|(known, _)| known == name) {
            remotes.push((name.clone(), plain(value.trim())));
        }
    }
    let at = remotes.iter().position(|(name, _)| name == "origin");
    // If there are several remotes but no `origin`, none of them identifies the repository.
    let at = at.or_else(|| (remotes.len() == 1).then_some(0))?;
    Some(remotes.swap_remove(at).1).filter(|address| !address.is_empty())
}

/// Splits the text after `[` at the matching closing bracket, ignoring brackets in quotes.
fn header_and_rest(header: &str) -> (&str, &str) {
    let (mut quoted, mut escaped) = (false, false);
    for (at, letter) in header.char_indices() {
        match letter {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => quoted = !quoted,
            ']' if !quoted => return (&header[..at], &header[at + 1..]),
            _ => {}
        }
    }
    (header, "")
}

/// Returns the name in `remote "name"`.
fn remote_name(section: &str) -> Option<String> {
    let (kind, name) = section.split_once('"')?;
    let is_remote = kind.trim().eq_ignore_ascii_case("remote");
    let name = name.trim_end().strip_suffix('"')?;
    is_remote.then(|| name.replace("\\\"", "\"").replace("\\\\", "\\"))
}

/// Returns a value without its quotes, escapes and comment.
fn plain(value: &str) -> String {
    let (mut text, mut quoted) = (String::new(), false);
    let mut letters = value.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '"' => quoted = !quoted,
            '\\' => text.extend(letters.next()),
            '#' | ';' if !quoted => break,
            letter => text.push(letter),
        }
    }
    text.trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_of_origin_is_found_as_git_spells_it() {
        let table = [
            ("[remote \"origin\"]\n\turl = git@host:ana/shop.git\n\tfetch = +refs/*", Some("git@host:ana/shop.git")),
            ("[Remote \"origin\"]\r\n\tURL=\"https://host/a b\" ; mine\r\n", Some("https://host/a b")),
            ("[remote \"origin\"] url = https://host/x # comment", Some("https://host/x")),
            ("[remote \"origin\"]\nurl = https://ho\\\nst/x", Some("https://host/x")),
            ("[remote \"a\"]\nurl = x:a\n[remote \"origin\"]\nurl = x:o\nurl = x:p", Some("x:o")),
            ("[remote \"upstream\"]\nurl = x:u\npushurl = x:v", Some("x:u")),
            ("[remote \"a]b\"]\nurl = x:a", Some("x:a")),
            ("[remote \"a\"]\nurl = x:a\n[remote \"b\"]\nurl = x:b", None),
            ("[branch \"origin\"]\nurl = x:a\n[remote]\nurl = x:b", None),
            ("[remote \"Origin\"]\nurl = x:a\n[remote \"b\"]\nurl = x:b", None),
            ("[remote \"origin\"]\npushurl = x:a\n# url = x:b\nurl\nurl =", None),
            ("[remote \"origin\nurl = x", None),
            ("", None),
            ("\u{0}[[[\"\\", None),
        ];
        for (settings, expected) in table {
            assert_eq!(origin(settings).as_deref(), expected, "{settings:?}");
        }
    }
}
