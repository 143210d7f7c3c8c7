//! Files in a branch of a git repository, written and read by the program `git`.
//!
//! Nothing is ever checked out: files are read as objects, and a commit is made from a list of changed files. A push
//! counts only if the branch has not changed since it was fetched; otherwise the clone is updated and the files are
//! written again. Machines write different files, so that nothing has to be merged.
//!
//! The repository may belong to somebody else. Its hooks and commands in its configuration are not run, and links and
//! submodules in it are ignored.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::time::{Duration, Instant, SystemTime};

use super::error::SyncError;
use super::files::{Files, LOGS, MAX_FILE, PutOutcome};
use super::log::LogError;
use crate::private;
use crate::process::{in_own_group, kill_group};

/// Branch with the files.
const BRANCH: &str = "refs/heads/afterthought/log";
/// The branch as it was fetched, and the commit that is pushed.
const FETCHED: &str = "refs/target/log";
const OUTGOING: &str = "refs/outgoing";
/// Maximum duration of one git command.
const TIME_LIMIT: Duration = Duration::from_mins(2);
/// Maximum size of the clone, and of the output of a command, in bytes. A malicious repository may grow without limit
/// when it is read.
const SIZE_LIMIT: u64 = 2 << 30;
/// Interval between checks of the size of the clone.
const SIZE_CHECK: Duration = Duration::from_millis(500);
/// File in the clone that exists while a process uses it. A process that was killed may leave locks behind.
const IN_USE: &str = "in-use";

/// Settings for every command; they precede the settings of the user and of any repository.
const SETTINGS: [&str; 7] = [
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.alternateRefsCommand=true",
    "transfer.fsckObjects=true",
    "gc.autoDetach=false",
    "maintenance.autoDetach=false",
    "advice.pushUpdateRejected=false",
];
/// Git options for a repository on this machine, whose hooks and settings git would otherwise trust.
const UPLOAD: &str = "--upload-pack=git -c core.hooksPath=/dev/null -c core.alternateRefsCommand=true upload-pack";
const RECEIVE: &str = "--receive-pack=git -c core.hooksPath=/dev/null -c core.alternateRefsCommand=true \
                       -c receive.autogc=false receive-pack";
/// Environment variables with which another git command would redirect ours, e.g. if a hook of a repository started
/// this program.
const REDIRECTING: &str = "GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE GIT_OBJECT_DIRECTORY GIT_ALTERNATE_OBJECT_DIRECTORIES \
                           GIT_COMMON_DIR GIT_NAMESPACE GIT_PREFIX GIT_SHALLOW_FILE GIT_GRAFT_FILE GIT_CONFIG \
                           GIT_CONFIG_PARAMETERS GIT_CONFIG_COUNT";

/// Returns whether a target is a repository; other targets are folders.
pub(crate) fn is_repository(address: &str) -> bool {
    let path = Path::new(address);
    let is_bare = || path.join("HEAD").is_file() && path.join("objects").is_dir() && path.join("refs").is_dir();
    is_remote(address) || path.extension().is_some_and(|ending| ending == "git") || is_bare()
}

/// Returns whether a target is the address of a repository rather than a path.
pub(crate) fn is_remote(address: &str) -> bool {
    // `ana@example.com:memories.git`, but not `C:\memories.git`.
    let is_scp = || {
        let host = address.split_once(':').map_or("", |(host, _)| host);
        host.len() > 1 && !host.contains(['/', '\\']) && !Path::new(address).exists()
    };
    address.contains("://") || is_scp()
}

/// Refuses an address that contains a password, which would be stored and shown.
pub(crate) fn check_address(address: &str) -> Result<(), SyncError> {
    let server = address.split_once("://").map_or("", |(_, rest)| rest.split('/').next().unwrap_or_default());
    if server.rsplit_once('@').is_some_and(|(user, _)| user.contains(':')) {
        return Err(SyncError::Password);
    }
    Ok(())
}

/// A repository with logs, and its clone on this machine.
#[derive(Debug)]
pub(crate) struct Repository {
    address: String,
    clone: PathBuf,
    /// Whether this process uses the clone.
    is_open: bool,
    state: Option<State>,
    /// Whether the repository refuses to discard earlier commits.
    keeps_history: bool,
}

/// The branch as it was fetched.
#[derive(Debug, Default)]
struct State {
    /// The commit and its tree; `None` if there is no branch yet.
    tip: Option<(String, String)>,
    /// The files of each log.
    logs: BTreeMap<String, BTreeMap<String, Blob>>,
}

#[derive(Debug)]
struct Blob {
    id: String,
    bytes: u64,
}

/// The end of a git command.
#[derive(Debug)]
struct Output {
    status: ExitStatus,
    stdout: Vec<u8>,
    stderr: String,
}

impl Repository {
    /// Returns the repository with this address, whose clone is in the folder `clone`. Nothing is touched yet.
    pub(crate) fn new(address: &str, clone: &Path) -> Self {
        let (address, clone) = (address.to_owned(), clone.to_owned());
        Self { address, clone, is_open: false, state: None, keeps_history: false }
    }

    /// Returns the address as git understands it.
    fn url(&self) -> &str {
        self.address.strip_prefix("git+").unwrap_or(&self.address)
    }

    fn is_here(&self) -> bool {
        self.url().starts_with("file://") || !is_remote(&self.address)
    }

    /// Creates the clone if it is missing or may be damaged.
    fn prepare(&mut self) -> Result<(), LogError> {
        let mark = self.clone.join(IN_USE);
        let at = |source| LogError::File { path: self.clone.clone(), source };
        if mark.exists() && !self.is_open {
            fs::remove_dir_all(&self.clone).map_err(at)?;
        }
        self.is_open = true;
        if !self.clone.join("HEAD").is_file() {
            private::create_folder(&self.clone).map_err(at)?;
            self.checked(&["init", "--quiet", "--bare", "--template="], &[])?;
        }
        fs::write(mark, "").map_err(at)
    }

    /// Updates the clone to the current state of the repository.
    fn fetch(&mut self) -> Result<&State, LogError> {
        self.prepare()?;
        let refs = "+refs/heads/afterthought/*:refs/target/*";
        let mut fetch = vec!["fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--prune"];
        fetch.push("--no-recurse-submodules");
        fetch.extend(self.is_here().then_some(UPLOAD));
        fetch.extend(["--", self.url(), refs]);
        self.checked(&fetch, &[])?;
        let listed = self.checked(&["for-each-ref", "--format=%(objectname) %(tree)", FETCHED], &[])?;
        let listed = String::from_utf8_lossy(&listed);
        let mut state = State::default();
        if let Some((commit, tree)) = listed.trim().split_once(' ') {
            let files = self.checked(&["ls-tree", "-r", "-z", "-l", "--full-tree", tree, "--", LOGS], &[])?;
            state.logs = read_tree(&files);
            state.tip = Some((commit.to_owned(), tree.to_owned()));
        }
        Ok(self.state.insert(state))
    }

    fn fetched(&mut self) -> Result<&State, LogError> {
        if self.state.is_none() {
            self.fetch()?;
        }
        Ok(self.state.get_or_insert_default())
    }

    /// Makes a commit with the new files and without the old ones. A commit that deletes files has no parent, so that
    /// the repository does not keep their content, unless it `keeps_history`.
    fn commit(&self, log: &str, new: &[(String, &[u8])], old: &[String]) -> Result<(), LogError> {
        let tip = self.state.as_ref().and_then(|state| state.tip.as_ref());
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |time| time.as_secs());
        let mut lines = vec![format!(
            "commit {OUTGOING}\ncommitter afterthought <afterthought@localhost> {now} +0000\ndata {}\n{log}\n",
            log.len()
        )];
        match tip {
            Some((_, tree)) if !old.is_empty() && !self.keeps_history => lines.push(format!("M 040000 {tree} \"\"\n")),
            Some((commit, _)) => lines.push(format!("from {commit}\n")),
            None => {}
        }
        let mut input = lines.concat().into_bytes();
        for (name, bytes) in new {
            input.extend(format!("M 100644 inline {LOGS}/{log}/{name}\ndata {}\n", bytes.len()).into_bytes());
            input.extend_from_slice(bytes);
            input.push(b'\n');
        }
        for name in old {
            input.extend(format!("D {LOGS}/{log}/{name}\n").into_bytes());
        }
        input.extend_from_slice(b"done\n");
        self.checked(&["fast-import", "--quiet", "--force", "--done"], &input).map(drop)
    }

    /// Pushes the commit if the branch has not changed since it was fetched.
    fn push(&self) -> Result<Output, LogError> {
        let tip = self.state.as_ref().and_then(|state| state.tip.as_ref()).map_or("", |(commit, _)| commit);
        let (lease, refs) = (format!("--force-with-lease={BRANCH}:{tip}"), format!("{OUTGOING}:{BRANCH}"));
        let mut push = vec!["push", "--quiet", "--no-verify", "--no-signed", "--no-follow-tags"];
        push.extend(["--recurse-submodules=no", &lease]);
        push.extend(self.is_here().then_some(RECEIVE));
        push.extend(["--", self.url(), &refs]);
        self.git(&push, &[])
    }

    /// Runs git in the clone, and returns its output if it succeeds.
    fn checked(&self, arguments: &[&str], input: &[u8]) -> Result<Vec<u8>, LogError> {
        let output = self.git(arguments, input)?;
        if output.status.success() { Ok(output.stdout) } else { Err(self.fault(reason(&output.stderr))) }
    }

    fn git(&self, arguments: &[&str], input: &[u8]) -> Result<Output, LogError> {
        let mut command = Command::new("git");
        command.arg("--git-dir=.").args(SETTINGS.iter().flat_map(|setting| ["-c", *setting])).args(arguments);
        command.current_dir(&self.clone).env("GIT_ALLOW_PROTOCOL", "file:git:http:https:ssh");
        command.env("GIT_TERMINAL_PROMPT", "0").env("SSH_ASKPASS_REQUIRE", "never").env("LC_ALL", "C");
        // An incomplete repository on this machine could name a command that fetches the rest.
        command.env("GIT_NO_LAZY_FETCH", "1");
        for name in REDIRECTING.split(' ') {
            command.env_remove(name);
        }
        let at = |source| LogError::File { path: self.clone.clone(), source };
        // With files instead of pipes, a process that is left behind cannot keep an output open.
        let file = || tempfile::tempfile_in(&self.clone).map_err(at);
        let (mut stdin, mut stdout, mut stderr) = (file()?, file()?, file()?);
        stdin.write_all(input).and_then(|()| stdin.rewind()).map_err(at)?;
        command.stdin(stdin);
        command.stdout(stdout.try_clone().map_err(at)?).stderr(stderr.try_clone().map_err(at)?);
        in_own_group(&mut command);
        let mut child = command.spawn().map_err(LogError::NoGit)?;
        let begun = Instant::now();
        let mut next_check = SIZE_CHECK;
        let status = loop {
            if let Some(status) = child.try_wait().map_err(at)? {
                break status;
            }
            let elapsed = begun.elapsed();
            let is_large = elapsed > next_check && {
                next_check = elapsed + SIZE_CHECK;
                size_of(&self.clone) + stdout.metadata().map_or(0, |data| data.len()) > SIZE_LIMIT
            };
            if is_large || elapsed > TIME_LIMIT {
                kill_group(&mut child);
                child.wait().map_err(at)?;
                // The command may have left locks behind, so the next synchronisation begins with a new clone.
                fs::remove_dir_all(&self.clone).ok();
                let fault = if is_large { "it is larger than 2 GB" } else { "it did not answer within two minutes" };
                return Err(self.fault(fault.to_owned()));
            }
            // Most commands take a few milliseconds.
            std::thread::sleep((elapsed / 10).clamp(Duration::from_micros(200), Duration::from_millis(20)));
        };
        Ok(Output {
            status,
            stdout: from_start(&mut stdout).map_err(at)?,
            stderr: String::from_utf8_lossy(&from_start(&mut stderr).map_err(at)?).into_owned(),
        })
    }

    fn fault(&self, what: String) -> LogError {
        LogError::Repository { address: self.address.clone(), what }
    }
}

impl Files for Repository {
    fn logs(&mut self) -> Result<Vec<String>, LogError> {
        Ok(self.fetch()?.logs.keys().cloned().collect())
    }

    fn names(&mut self, log: &str) -> Result<Vec<String>, LogError> {
        Ok(self.fetched()?.logs.get(log).into_iter().flat_map(|files| files.keys().cloned()).collect())
    }

    fn read(&mut self, log: &str, names: &[String]) -> Result<Vec<Option<Vec<u8>>>, LogError> {
        self.fetched()?;
        let files = self.state.as_ref().and_then(|state| state.logs.get(log));
        let blobs: Vec<Option<&Blob>> = names.iter().map(|name| files?.get(name)).collect();
        if let Some(at) = blobs.iter().position(|blob| blob.is_some_and(|blob| blob.bytes > MAX_FILE)) {
            return Err(self.fault(format!("{} is too large for a log", self.shown(log, &names[at]))));
        }
        let ids: Vec<&str> = blobs.iter().flatten().map(|blob| blob.id.as_str()).collect();
        if ids.is_empty() {
            return Ok(vec![None; names.len()]);
        }
        let output = self.checked(&["cat-file", "--batch"], (ids.join("\n") + "\n").as_bytes())?;
        let mut rest = output.as_slice();
        Ok(blobs.into_iter().map(|blob| blob.and_then(|_| next_object(&mut rest))).collect())
    }

    fn put(&mut self, log: &str, new: &[(String, &[u8])], old: &[String]) -> Result<PutOutcome, LogError> {
        let before = self.fetched()?.tip.clone();
        self.commit(log, new, old)?;
        let output = self.push()?;
        if output.status.success() {
            // The next use fetches what was pushed.
            self.state = None;
            if !old.is_empty() {
                // The objects may contain text that was erased.
                fs::remove_dir_all(&self.clone)
                    .map_err(|source| LogError::File { path: self.clone.clone(), source })?;
            }
            return Ok(PutOutcome::Done);
        }
        let is_new = self.fetch()?.tip != before;
        // Two pushes that arrive at the same moment compete for the lock file of the branch.
        if is_new || output.stderr.contains("File exists") {
            return Ok(PutOutcome::Raced);
        }
        if !old.is_empty() && !self.keeps_history && output.stderr.contains("rejected") {
            self.keeps_history = true;
            return self.put(log, new, old);
        }
        Err(self.fault(reason(&output.stderr)))
    }

    fn shown(&self, log: &str, name: &str) -> String {
        format!("{LOGS}/{log}/{name} in {}", self.address)
    }

    fn take_notes(&mut self) -> Vec<String> {
        let note = || {
            format!(
                "{} does not allow earlier commits to be removed, and they may contain erased text; to remove them, delete \
                 the branch afterthought/log there, and run `afterthought db sync now` on each machine",
                self.address
            )
        };
        std::mem::take(&mut self.keeps_history).then(note).into_iter().collect()
    }
}

impl Drop for Repository {
    fn drop(&mut self) {
        if self.is_open {
            fs::remove_file(self.clone.join(IN_USE)).ok();
        }
    }
}

/// Returns the regular files in a listing of `ls-tree -r -z -l`, by log and name.
fn read_tree(listing: &[u8]) -> BTreeMap<String, BTreeMap<String, Blob>> {
    let mut logs: BTreeMap<String, BTreeMap<String, Blob>> = BTreeMap::new();
    for line in listing.split(|byte| *byte == 0) {
        let Some((about, path)) = std::str::from_utf8(line).ok().and_then(|line| line.split_once('\t')) else {
            continue;
        };
        let parts: Vec<&str> = path.split('/').collect();
        let about: Vec<&str> = about.split_whitespace().collect();
        // Links and submodules have other modes.
        if let (["100644", "blob", id, bytes], [LOGS, log, name]) = (about.as_slice(), parts.as_slice())
            && let Ok(bytes) = bytes.parse()
        {
            logs.entry((*log).to_owned()).or_default().insert((*name).to_owned(), Blob { id: (*id).to_owned(), bytes });
        }
    }
    logs
}

/// Returns the next object in the output of `cat-file --batch`: a line with its length, and its bytes.
fn next_object(rest: &mut &[u8]) -> Option<Vec<u8>> {
    let end = rest.iter().position(|byte| *byte == b'\n')?;
    let line = std::str::from_utf8(&rest[..end]).ok()?;
    let length: usize = line.split(' ').nth(2)?.parse().ok()?;
    let bytes = rest.get(end + 1..end + 1 + length)?;
    *rest = rest.get(end + length + 2..)?;
    Some(bytes.to_vec())
}

/// Returns the line in which git states why it failed.
fn reason(stderr: &str) -> String {
    // The messages of the server are more informative than the outcome, which follows them.
    let lines =
        || stderr.lines().map(|line| line.trim().trim_start_matches("remote: ")).filter(|line| !line.is_empty());
    let is_cause = |line: &&str| ["! [", "fatal:", "error:"].iter().any(|start| line.starts_with(start));
    let line = lines().find(is_cause).or_else(|| lines().next()).unwrap_or("git failed without an explanation");
    line.trim_start_matches("fatal: ").trim_start_matches("error: ").chars().take(300).collect()
}

fn from_start(file: &mut File) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.rewind()?;
    file.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Returns the size of all files in a folder.
fn size_of(folder: &Path) -> u64 {
    let files = walkdir::WalkDir::new(folder).into_iter().filter_map(Result::ok);
    files.filter_map(|entry| entry.metadata().ok()).map(|data| data.len()).sum()
}

#[cfg(test)]
#[path = "git_tests.rs"]
pub(crate) mod tests;
