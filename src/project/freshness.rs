//! Compares the paths, symbols and commits that a memory or a task mentions with the current files and history of a
//! repository.

use std::cell::{Cell, RefCell};
use std::collections::{BinaryHeap, HashMap, HashSet};
use std::fmt;
use std::fs;
use std::path::{Component, Path, PathBuf};
use std::rc::Rc;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use memchr::memmem;
use serde::{Serialize, Serializer};

use super::git::{checkout, read};
use super::objects::{Entry, Id, Objects, id_of};
use super::references::References;

/// Maximum number of commits and files that are examined.
const MAX_COMMITS: usize = 20_000;
const MAX_LATER: usize = 2_000;
const MAX_LISTED: usize = 20_000;
const MAX_SEARCHED: usize = 4_000;
/// Maximum size of a file that is compared, in bytes.
const MAX_FILE: u64 = 2 << 20;
/// Maximum number of files that are compared with a missing file, to find the file that it became.
const MAX_COMPARED: usize = 200;
const MIN_SHARE: f64 = 0.5;
/// Maximum number of names whose state is described.
const SHOWN_STATES: usize = 4;
/// Time after a task within which its changes are expected to be committed, in seconds.
const COMMITTED_WITHIN: i64 = 24 * 3600;

/// Current state of a path, symbol or commit, compared with its state when it was mentioned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FreshnessState {
    /// The referenced item has not changed.
    Fresh,
    /// The referenced item exists, but it has changed.
    ChangedSince,
    /// The referenced item was moved to another place.
    Moved(String),
    /// The referenced item existed in the repository, but no longer exists.
    Gone,
    /// The repository does not show the state of the referenced item, which is elsewhere, was never committed, or is too
    /// old.
    NotVerifiable,
}

impl fmt::Display for FreshnessState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fresh => f.write_str("fresh"),
            Self::ChangedSince => f.write_str("changed since"),
            Self::Moved(to) => write!(f, "moved to {to}"),
            Self::Gone => f.write_str("gone"),
            Self::NotVerifiable => f.write_str("not verifiable"),
        }
    }
}

impl Serialize for FreshnessState {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// A path, symbol or commit that was mentioned, and its current state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Freshness {
    /// The path, symbol or commit, as it was mentioned.
    pub named: String,
    /// The current state.
    pub state: FreshnessState,
}

/// Returns a description of the current state of the names that a text mentions, starting with those that have changed.
/// Names that cannot be verified are left out, unless there are no others.
pub(crate) fn spelled_states(named: &[Freshness]) -> Option<String> {
    let mut shown: Vec<&Freshness> = named.iter().filter(|one| one.state != FreshnessState::NotVerifiable).collect();
    if shown.is_empty() {
        return (!named.is_empty()).then(|| FreshnessState::NotVerifiable.to_string());
    }
    shown.sort_by_key(|one| one.state == FreshnessState::Fresh);
    let shown: Vec<String> =
        shown.iter().take(SHOWN_STATES).map(|one| format!("{} {}", one.named, one.state)).collect();
    Some(shown.join(" · "))
}

/// A text or an action that mentions parts of a repository.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct CitedPart {
    /// The paths, symbols and commits that it mentions.
    pub(crate) references: References,
    /// Time at which it was said or done.
    pub(crate) at: Option<Timestamp>,
    /// Whether it changed the paths, so that their next commit contains its own change.
    pub(crate) is_change: bool,
}

/// Files and their object ids.
type Files = Rc<Vec<(String, Id)>>;

/// A commit in the history of the current commit.
#[derive(Debug)]
struct Past {
    at: i64,
    id: Id,
    tree: Id,
    mark: String,
}

/// The ancestors of the current commit, newest first, as far as they have been examined.
#[derive(Debug, Default)]
struct Walk {
    waiting: BinaryHeap<(i64, Id)>,
    seen: HashSet<Id>,
    past: Vec<Past>,
}

/// A working folder with its repository.
#[derive(Debug)]
pub(crate) struct Checkout {
    root: PathBuf,
    git: PathBuf,
    objects: Objects,
    head: Id,
    head_tree: Id,
    walk: RefCell<Walk>,
    /// Files of the trees that have been listed, by the id of the tree.
    listed: RefCell<HashMap<Id, Files>>,
    until: Instant,
    is_late: Cell<bool>,
}

impl Checkout {
    /// Opens the repository that contains a folder; once `limit` has elapsed, nothing more can be verified.
    pub(crate) fn of(folder: &Path, limit: Duration) -> Option<Self> {
        let (root, git, common) = checkout(folder)?;
        let head = resolved(&git, &common)?;
        let objects = Objects::open(&common);
        let commit = objects.commit(&head)?;
        let mut walk = Walk::default();
        walk.waiting.push((commit.at, head));
        walk.seen.insert(head);
        Some(Self {
            root,
            git,
            objects,
            head,
            head_tree: commit.tree,
            walk: RefCell::new(walk),
            listed: RefCell::default(),
            until: Instant::now() + limit,
            is_late: Cell::new(false),
        })
    }

    /// Returns the current state of everything that `cited` mentions: paths, then symbols, then commits.
    pub(crate) fn check(&self, cited: &CitedPart) -> Vec<Freshness> {
        let References { paths, symbols, commits } = &cited.references;
        let base = self.base(cited);
        let state = |named: &String, state| Freshness {
            named: named.clone(),
            state: if self.is_over() { FreshnessState::NotVerifiable } else { state },
        };
        let mut found = Vec::new();
        let base = base.as_ref();
        found.extend(paths.iter().map(|path| state(path, self.path(path, base, cited.is_change))));
        found.extend(symbols.iter().map(|symbol| state(symbol, self.symbol(symbol, paths, base))));
        found.extend(commits.iter().map(|commit| state(commit, self.commit(commit))));
        found
    }

    /// Whether the time is over.
    pub(crate) fn is_over(&self) -> bool {
        if !self.is_late.get() && Instant::now() > self.until {
            self.is_late.set(true);
        }
        self.is_late.get()
    }

    /// Returns the position of the newest commit that existed at a time; `None` if the known history does not reach
    /// back that far.
    fn place_at(&self, at: i64) -> Option<usize> {
        let mut walk = self.walk.borrow_mut();
        while walk.past.last().is_none_or(|last| last.at > at) && walk.past.len() < MAX_COMMITS && !self.is_over() {
            let (_, id) = walk.waiting.pop()?;
            // A shallow clone lacks the parents of its oldest commits.
            let Some(commit) = self.objects.commit(&id) else { continue };
            for parent in commit.parents {
                if walk.seen.insert(parent) {
                    let at = self.objects.commit(&parent).map_or(i64::MIN, |commit| commit.at);
                    walk.waiting.push((at, parent));
                }
            }
            walk.past.push(Past { at: commit.at, id, tree: commit.tree, mark: commit.mark });
        }
        walk.past.iter().position(|past| past.at <= at)
    }

    /// Returns the state of the repository at the time of `cited`: the commit that it made, or the newest commit at
    /// that time.
    fn base(&self, cited: &CitedPart) -> Option<Base> {
        let own = cited.is_change.then(|| cited.references.commits.last()).flatten();
        if let Some(commit) = own.and_then(|digits| self.objects.commit_with_prefix(digits)) {
            let commit = self.objects.commit(&commit)?;
            return Some(Base { tree: commit.tree, at: commit.at, later: self.place_at(commit.at).unwrap_or(0) });
        }
        let at = cited.at?.as_second();
        let place = self.place_at(at)?;
        let walk = self.walk.borrow();
        Some(Base { tree: walk.past[place].tree, at, later: place })
    }

    /// Returns the first version of a path in a commit after the base that differs from `than`, up to a time.
    fn later(&self, base: &Base, path: &str, than: Option<&Entry>, until: i64) -> Option<(Entry, Id)> {
        let walk = self.walk.borrow();
        let later = walk.past[..base.later].iter().rev().take(MAX_LATER).take_while(|past| past.at <= until);
        let mut versions = later
            .take_while(|_| !self.is_over())
            .filter_map(|past| Some((self.objects.entry(&past.tree, path)?, past.tree)));
        versions.find(|(entry, _)| Some(entry) != than)
    }

    fn path(&self, path: &str, base: Option<&Base>, is_change: bool) -> FreshnessState {
        let (Some(path), Some(base)) = (self.inside(path), base) else { return FreshnessState::NotVerifiable };
        let Some((path, was, tree)) = self.version(&path, base, is_change) else { return self.untracked(&path, base) };
        let Ok(now) = fs::symlink_metadata(self.root.join(&path)) else {
            return self.moved(&path, &was, &tree);
        };
        let is_same = if was.is_tree && now.is_dir() {
            self.objects.entry(&self.head_tree, &path).is_some_and(|entry| entry.id == was.id)
        } else if was.is_file && now.is_file() {
            let (Some(was), Some(now)) = (self.objects.blob(&was.id), self.content(&path)) else {
                return FreshnessState::NotVerifiable;
            };
            is_same_text(&was, &now)
        } else {
            return FreshnessState::NotVerifiable;
        };
        if is_same { FreshnessState::Fresh } else { FreshnessState::ChangedSince }
    }

    /// Returns the version of a path that was meant, with its path in the repository and the tree that contains it.
    fn version(&self, path: &str, base: &Base, is_change: bool) -> Option<(String, Entry, Id)> {
        let owned = |(entry, tree)| (path.to_owned(), entry, tree);
        if let Some(was) = self.objects.entry(&base.tree, path) {
            // The next commit contains the changes that a task left uncommitted.
            let own = is_change.then(|| self.later(base, path, Some(&was), base.at.saturating_add(COMMITTED_WITHIN)));
            return Some(own.flatten().map_or_else(|| (path.to_owned(), was, base.tree), owned));
        }
        if let Some(made) = self.later(base, path, None, i64::MAX) {
            return Some(owned(made));
        }
        // The path may be the end of a longer path, if only one file matches.
        let files = self.files(&base.tree)?;
        let ends = |file: &str| file.strip_suffix(path).is_some_and(|rest| rest.ends_with('/'));
        let mut found = files.iter().filter(|(file, _)| ends(file));
        let (file, _) = found.next().filter(|_| found.next().is_none())?;
        Some((file.clone(), self.objects.entry(&base.tree, file)?, base.tree))
    }

    /// Returns the state of a file that was never committed; only the modification time shows whether it has changed.
    fn untracked(&self, path: &str, base: &Base) -> FreshnessState {
        let Ok(now) = fs::symlink_metadata(self.root.join(path)) else { return FreshnessState::NotVerifiable };
        let changed = now.modified().ok().and_then(|at| Timestamp::try_from(at).ok());
        match changed {
            Some(at) if now.is_file() && at.as_second() <= base.at.saturating_add(60) => FreshnessState::Fresh,
            Some(_) if now.is_file() => FreshnessState::ChangedSince,
            _ => FreshnessState::NotVerifiable,
        }
    }

    /// Returns the new location of a path that no longer exists.
    fn moved(&self, path: &str, was: &Entry, tree: &Id) -> FreshnessState {
        // In a sparse checkout, files that are missing from the folder may still exist in the repository.
        if self.objects.entry(&self.head_tree, path).is_some() && self.git.join("info/sparse-checkout").is_file() {
            return FreshnessState::NotVerifiable;
        }
        let mut added = Vec::new();
        if !was.is_tree {
            self.added(Some(tree), &self.head_tree, "", &mut added);
            added.retain(|(file, _)| self.root.join(file).exists());
            let name = path.rsplit('/').next();
            let same: Vec<&(String, Id)> = added.iter().filter(|(_, id)| *id == was.id).collect();
            let best = same.iter().find(|(file, _)| file.rsplit('/').next() == name).or_else(|| same.first());
            if let Some((file, _)) = best {
                return FreshnessState::Moved(file.clone());
            }
            return self.most_like(path, was, &added).map_or(FreshnessState::Gone, FreshnessState::Moved);
        }
        // A folder counts as moved to the folder that now contains most of its files.
        let inside = self.files(&was.id).unwrap_or_default();
        let mut folders: HashMap<String, usize> = HashMap::new();
        self.added(Some(tree), &self.head_tree, "", &mut added);
        for (file, id) in inside.iter().take(MAX_COMPARED) {
            let to = added.iter().find(|(other, one)| one == id && other.ends_with(&format!("/{file}")));
            if let Some((to, _)) = to {
                *folders.entry(to[..to.len() - file.len() - 1].to_owned()).or_default() += 1;
            }
        }
        let best = folders.into_iter().max_by(|(a, x), (b, y)| x.cmp(y).then_with(|| b.cmp(a)));
        let most = best.filter(|(_, count)| 2 * count > inside.len().min(MAX_COMPARED));
        most.map_or(FreshnessState::Gone, |(folder, _)| FreshnessState::Moved(folder))
    }

    /// Returns the new file that shares the most lines with a missing file, if it shares at least half of them.
    fn most_like(&self, path: &str, was: &Entry, added: &[(String, Id)]) -> Option<String> {
        let content = self.objects.blob(&was.id)?;
        let ending = path.rsplit('/').next()?.rsplit_once('.').map(|(_, ending)| ending);
        let is_alike =
            |file: &str| file.rsplit('/').next().and_then(|name| name.rsplit_once('.')).map(|(_, one)| one) == ending;
        let name = path.rsplit('/').next();
        let mut others: Vec<&(String, Id)> = added.iter().filter(|(file, _)| is_alike(file)).collect();
        others.sort_by_key(|(file, _)| file.rsplit('/').next() != name);
        let share = |(file, id): &(String, Id)| {
            let other = (!self.is_over()).then(|| self.objects.blob(id)).flatten()?;
            Some((shared(&content, &other), file.clone()))
        };
        let best = others.into_iter().take(MAX_COMPARED).filter_map(share).max_by(|a, b| a.0.total_cmp(&b.0));
        best.filter(|(share, _)| *share >= MIN_SHARE).map(|(_, file)| file)
    }

    fn symbol(&self, symbol: &str, paths: &[String], base: Option<&Base>) -> FreshnessState {
        let plain = symbol.trim_end_matches("()");
        let word = plain.rsplit(['.', ':']).next().unwrap_or(plain);
        let Some(base) = base else { return FreshnessState::NotVerifiable };
        // The symbol is looked up in the files that are mentioned with it, or otherwise in all files that have changed
        // since then.
        let named = paths.iter().filter_map(|path| self.version(&self.inside(path)?, base, false));
        let mut was_in = named.filter_map(|(path, was, _)| Some((path, self.objects.blob(&was.id)?)));
        if let Some((path, was)) = was_in.find(|(_, was)| has_word(was, word)) {
            let now = self.content(&path).unwrap_or_default();
            let is_there = if defines(&was, word) { defines(&now, word) } else { has_word(&now, word) };
            if is_there {
                return FreshnessState::Fresh;
            }
            return match self.found(word) {
                (Some(file), _) => FreshnessState::Moved(file),
                (None, true) => FreshnessState::ChangedSince,
                (None, false) if self.is_over() => FreshnessState::NotVerifiable,
                (None, false) => FreshnessState::Gone,
            };
        }
        match self.found(word) {
            (_, true) => FreshnessState::Fresh,
            _ if self.is_over() => FreshnessState::NotVerifiable,
            _ => {
                let mut removed = Vec::new();
                self.added(Some(&self.head_tree), &base.tree, "", &mut removed);
                self.replaced(&base.tree, &self.head_tree, &mut removed);
                let was = |(_, id): &(String, Id)| self.objects.blob(id).is_some_and(|was| has_word(&was, word));
                let is_gone = removed.len() <= MAX_SEARCHED && removed.iter().take_while(|_| !self.is_over()).any(was);
                if is_gone { FreshnessState::Gone } else { FreshnessState::NotVerifiable }
            }
        }
    }

    /// Returns a file that defines a word, and whether any file contains the word.
    fn found(&self, word: &str) -> (Option<String>, bool) {
        let Some(files) = self.files(&self.head_tree).filter(|files| files.len() <= MAX_SEARCHED) else {
            return (None, false);
        };
        let mut is_there = false;
        for (file, _) in files.iter().take_while(|_| !self.is_over()) {
            let Some(content) = self.content(file).filter(|content| has_word(content, word)) else { continue };
            is_there = true;
            if defines(&content, word) {
                return (Some(file.clone()), true);
            }
        }
        (None, is_there)
    }

    fn commit(&self, digits: &str) -> FreshnessState {
        let Some(id) = self.objects.commit_with_prefix(digits) else { return FreshnessState::NotVerifiable };
        let Some(commit) = self.objects.commit(&id) else { return FreshnessState::NotVerifiable };
        // Clocks differ, so the walk goes back one more day.
        let _ = self.place_at(commit.at.saturating_sub(COMMITTED_WITHIN));
        let walk = self.walk.borrow();
        if walk.past.iter().any(|past| past.id == id) || id == self.head {
            return FreshnessState::Fresh;
        }
        let moved = walk.past.iter().find(|past| past.mark == commit.mark);
        moved.map_or(FreshnessState::NotVerifiable, |past| {
            FreshnessState::Moved(transcripts::hex(&past.id).chars().take(digits.len().max(7)).collect())
        })
    }

    /// Returns a path relative to the folder of the repository; `None` if the path is outside the folder or inside
    /// `.git`.
    fn inside(&self, path: &str) -> Option<String> {
        let path = Path::new(path.strip_prefix("./").unwrap_or(path));
        let path = if path.is_absolute() { path.strip_prefix(&self.root).ok()? } else { path };
        let mut parts = Vec::new();
        for part in path.components() {
            match part {
                Component::Normal(name) => parts.push(name.to_str()?),
                Component::CurDir => {}
                _ => return None,
            }
        }
        let is_known = parts.first().is_some_and(|first| !matches!(*first, ".git" | "~"));
        is_known.then(|| parts.join("/"))
    }

    /// Returns the current content of a file in the folder.
    fn content(&self, path: &str) -> Option<Vec<u8>> {
        let path = self.root.join(path);
        // Anything but a regular file could block the reader, or lead out of the folder.
        let is_small = |data: &fs::Metadata| data.is_file() && data.len() <= MAX_FILE;
        fs::symlink_metadata(&path).ok().filter(is_small).and_then(|_| fs::read(path).ok())
    }

    /// Returns the files of a tree; `None` if there are too many.
    fn files(&self, tree: &Id) -> Option<Files> {
        if let Some(known) = self.listed.borrow().get(tree) {
            return Some(Rc::clone(known));
        }
        let mut files = Vec::new();
        self.added(None, tree, "", &mut files);
        let files = Rc::new(files);
        self.listed.borrow_mut().insert(*tree, Rc::clone(&files));
        (files.len() < MAX_LISTED && !self.is_over()).then_some(files)
    }

    /// Adds the files of `new` whose paths are not in `old`.
    fn added(&self, old: Option<&Id>, new: &Id, above: &str, found: &mut Vec<(String, Id)>) {
        if old == Some(new) || found.len() >= MAX_LISTED || self.is_over() {
            return;
        }
        let before = old.and_then(|old| self.objects.tree(old));
        for entry in self.objects.tree(new).iter().flat_map(|entries| entries.iter()) {
            let known = before.as_ref().and_then(|before| before.iter().find(|one| one.name == entry.name));
            let path = format!("{above}{}", entry.name);
            if entry.is_tree {
                self.added(known.filter(|one| one.is_tree).map(|one| &one.id), &entry.id, &format!("{path}/"), found);
            } else if known.is_none_or(|one| one.is_tree) && entry.is_file {
                found.push((path, entry.id));
            }
        }
    }

    /// Adds the old versions of the files that differ between two trees.
    fn replaced(&self, old: &Id, new: &Id, found: &mut Vec<(String, Id)>) {
        if old == new || found.len() >= MAX_LISTED || self.is_over() {
            return;
        }
        let (Some(before), Some(after)) = (self.objects.tree(old), self.objects.tree(new)) else { return };
        for was in before.iter() {
            let Some(now) = after.iter().find(|one| one.name == was.name && one.id != was.id) else { continue };
            if was.is_tree && now.is_tree {
                self.replaced(&was.id, &now.id, found);
            } else if was.is_file {
                found.push((was.name.clone(), was.id));
            }
        }
    }
}

/// The state of the repository that is the basis of the comparison.
struct Base {
    tree: Id,
    at: i64,
    /// Number of commits after this state.
    later: usize,
}

/// Returns the id of the current commit.
fn resolved(git: &Path, common: &Path) -> Option<Id> {
    let mut text = read(&git.join("HEAD"))?;
    // A reference may refer to another reference.
    for _ in 0..5 {
        let Some(name) = text.trim().strip_prefix("ref: ").map(str::to_owned) else { break };
        let is_plain = Path::new(&name).components().all(|part| matches!(part, Component::Normal(_)));
        let own = is_plain.then(|| read(&git.join(&name)).or_else(|| read(&common.join(&name)))).flatten();
        text = own.or_else(|| packed(common, &name))?;
    }
    id_of(text.trim())
}

fn packed(common: &Path, name: &str) -> Option<String> {
    let all = fs::read_to_string(common.join("packed-refs")).ok()?;
    let line = all.lines().find(|line| line.split_once(' ').is_some_and(|(_, one)| one == name))?;
    line.split(' ').next().map(str::to_owned)
}

/// Returns whether two texts are the same, apart from line endings.
fn is_same_text(a: &[u8], b: &[u8]) -> bool {
    let plain = |text: &[u8]| -> Vec<u8> { text.iter().copied().filter(|byte| *byte != b'\r').collect() };
    a == b || a.len() != b.len() && plain(a) == plain(b)
}

/// Returns the number of bytes, in whole lines, that both texts share, as a fraction of the longer text.
fn shared(a: &[u8], b: &[u8]) -> f64 {
    let mut lines: HashMap<&[u8], usize> = HashMap::new();
    for line in a.split(|byte| *byte == b'\n') {
        *lines.entry(line.trim_ascii()).or_default() += 1;
    }
    let mut common = 0;
    for line in b.split(|byte| *byte == b'\n') {
        if let Some(left) = lines.get_mut(line.trim_ascii()).filter(|left| **left > 0) {
            *left -= 1;
            common += line.len() + 1;
        }
    }
    #[expect(clippy::cast_precision_loss, reason = "a share needs no more digits")]
    let share = common as f64 / (a.len().max(b.len()) + 1) as f64;
    share
}

/// Returns the positions at which a word occurs as a whole word.
fn places<'t>(text: &'t [u8], word: &'t str) -> impl Iterator<Item = usize> + 't {
    let is_part = |byte: Option<&u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
    memmem::find_iter(text, word).filter(move |at| {
        let before = at.checked_sub(1).and_then(|before| text.get(before));
        !is_part(before) && !is_part(text.get(at + word.len()))
    })
}

fn has_word(text: &[u8], word: &str) -> bool {
    places(text, word).next().is_some()
}

/// Returns whether `text` defines a name, in the syntax of most languages.
fn defines(text: &[u8], word: &str) -> bool {
    const KEYWORDS: &str = "class const def define enum fn func function interface let macro_rules! mod module static \
                            struct trait type union val var";
    places(text, word).any(|at| {
        let from = text[..at].iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        let before = String::from_utf8_lossy(&text[from..at]);
        let last = before.split(|letter: char| letter.is_whitespace() || letter == '#').rfind(|word| !word.is_empty());
        // In `func (r *Row) Parse`, the receiver is between the keyword and the name.
        let is_method = before.trim_start().starts_with("func (");
        let is_assigned = before.is_empty() && text[at + word.len()..].trim_ascii_start().starts_with(b"=");
        last.is_some_and(|last| KEYWORDS.split(' ').any(|keyword| keyword == last)) || is_method || is_assigned
    })
}

#[cfg(test)]
#[path = "freshness_tests.rs"]
mod tests;
