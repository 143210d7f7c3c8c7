//! Determines the project that a conversation belongs to, using the log and the repositories on this machine.
//!
//! ```text
//! folder or address in the log ─▶ name in afterthought.toml ─┐
//!                                ─▶ repository: its remote ──┼─▶ Identity ─▶ stored in the database
//!                                ─▶ repository: its folder ──┤
//!                                ─▶ the folder as text ──────┘
//! ```
//!
//! Worktrees and clones of one repository, and all folders in it, have the same identity. The identity is the same on
//! every machine if the repository has a remote or a name. The path of a folder is used only as a last resort, because
//! the same path on another machine may be another project. For this reason, an address that the log itself contains
//! takes precedence over the repositories on this machine.

mod branch;
mod command;
mod freshness;
mod git;
mod line;
mod objects;
mod references;
mod remote;
mod shipped;

use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};
use transcripts::{Transcript, folder_path, hex};

use crate::config::{Folders, TrustedFiles};
use crate::memory::{Namespace, string_enum};
use crate::text::address::without_credentials;

pub(crate) use branch::BranchNames;
pub(crate) use freshness::{Checkout, CitedPart, spelled_states};
pub use freshness::{Freshness, FreshnessState};
pub(crate) use line::commit_of_line;
pub(crate) use references::{References, references};
pub(crate) use remote::Remote;
pub(crate) use shipped::{ShippedLogs, SourceRepository};

/// Maximum length of a part of a namespace, in bytes.
const MAX_PART: usize = 200;

string_enum!(
    /// The basis of an identity, from the weakest to the strongest.
    Basis, "the basis of a project's identity", {
    /// The text from the log: a folder that does not exist or no longer exists, or the name of a channel.
    Text = "text",
    /// A repository on this machine.
    Folder = "folder",
    /// A repository on a server.
    Remote = "remote",
    /// A name that a person gave.
    Name = "name",
});

/// Possible numbers of hash bytes after the name of a project.
const HASHED: &[usize] = &[3, 6, 16];

/// The data that distinguishes a project from all other projects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Identity {
    /// The basis of the identity.
    pub basis: Basis,
    /// The text, folder, address or name.
    pub key: String,
    /// The name shown to people.
    pub name: String,
}

impl Identity {
    fn new(basis: Basis, key: impl Into<String>, name: &str) -> Option<Self> {
        let name = name.trim_end_matches(".git").trim();
        let name: String = name.chars().filter(|letter| !letter.is_control()).take(60).collect();
        (!name.is_empty()).then(|| Self { basis, key: key.into(), name })
    }

    /// Returns the identity of a project that a person specified by its name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        checked(name).map(|name| Self { basis: Basis::Name, key: name.clone(), name })
    }

    /// Returns the identity of a repository on a server.
    pub(crate) fn remote(remote: &Remote) -> Option<Self> {
        Self::new(Basis::Remote, &remote.key, &remote.name)
    }

    fn text(text: &str) -> Option<Self> {
        Self::new(Basis::Text, text, text.rsplit(['/', '\\', ':']).next()?)
    }

    fn folder(root: &Path) -> Option<Self> {
        let root = plain(root);
        Self::new(Basis::Folder, identifying(&root), root.rsplit(['/', '\\']).next()?)
    }

    /// Reads an identity as it appears in the database.
    pub(crate) fn from_stored(id: &str, name: String) -> Option<Self> {
        let (basis, key) = id.split_once(':')?;
        let basis = basis.parse().ok()?;
        Some(Self { basis, key: key.to_owned(), name })
    }

    /// Returns the form stored in the database, such as `remote:github.com/ana/shop`.
    pub(crate) fn id(&self) -> String {
        format!("{}:{}", self.basis.as_str(), self.key)
    }

    /// Returns the namespaces that the project may have, in order of preference; the project gets the first free
    /// namespace. Each namespace consists of the project's name and, unless a person chose the name, hash digits that
    /// distinguish the project from others with the same name.
    pub(crate) fn namespaces(&self) -> impl Iterator<Item = Namespace> + '_ {
        self.spelled_with(if self.basis == Basis::Name { &[0] } else { HASHED })
    }

    /// Returns the namespaces that the project may have if the name chosen for it belongs to another project.
    pub(crate) fn namespaces_apart(&self) -> impl Iterator<Item = Namespace> + '_ {
        self.spelled_with(HASHED)
    }

    fn spelled_with(&self, digits: &'static [usize]) -> impl Iterator<Item = Namespace> + '_ {
        let hash = Sha256::digest(self.key.as_bytes());
        digits.iter().filter_map(move |&count| {
            let hash = if count == 0 { String::new() } else { format!("-{}", hex(&hash[..count])) };
            let name = &self.name[..self.name.floor_char_boundary(MAX_PART - hash.len())];
            Namespace::project(&format!("{name}{hash}")).ok()
        })
    }
}

/// The information about a conversation's project that is available without the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ProjectSighting {
    /// The folder as spelled in the log, which identifies the project in the store. `None` if the log contains only an
    /// address, or if the folder is on another machine.
    pub path: Option<String>,
    /// The identity of the project.
    pub identity: Identity,
    /// The folder of the project's repository on this machine.
    pub root: Option<String>,
    /// The mark that identifies this repository even if it is moved.
    pub mark: Option<String>,
    /// Whether the folder in the log exists.
    pub is_here: bool,
    /// Whether the only information about a missing folder is the repository address in the log.
    pub is_claim: bool,
    /// The identity derived only from the log's text, which is all that earlier versions used.
    pub text: Option<Identity>,
    /// The settings file that was ignored, and the reason.
    pub warning: Option<String>,
}

/// The machine that the program runs on.
#[derive(Debug, Clone, Default)]
pub(crate) struct Machine {
    /// The user's home folder, which is not a project.
    pub home: Option<PathBuf>,
    /// The project files that the user has trusted.
    pub trusted: TrustedFiles,
}

impl Machine {
    /// Returns the machine that this process runs on.
    pub(crate) fn this() -> Self {
        // Without a home folder, no project file is trusted.
        let trusted = Folders::of_platform().map(|folders| TrustedFiles::in_state(&folders.state));
        Self { home: etcetera::home_dir().ok(), trusted: trusted.unwrap_or_default() }
    }

    /// Returns the project that `transcript` belongs to; `None` if the transcript contains no project.
    pub(crate) fn sight(&self, transcript: &Transcript) -> Option<ProjectSighting> {
        // A log that is part of a repository says nothing about its project, because anybody may have written it.
        if let Some(root) = &transcript.shipped_by {
            return self.sight_repository(root);
        }
        let address = transcript.repository.as_deref().and_then(Remote::parse);
        let project = place_of(transcript).as_deref().map(without_credentials);
        let address = address.or_else(|| project.as_deref().and_then(Remote::named));
        let linked = transcript.linked_repository.as_deref().and_then(Remote::parse);
        let text = project.as_deref().map(tidied).filter(|text| !text.is_empty());
        match text {
            Some(text) => self.sight_folder(&text, address, linked),
            None => Self::sight_address(&address.or(linked)?, None),
        }
    }

    /// Returns the project of the repository in this folder, even if it is a home folder.
    pub(crate) fn sight_repository(&self, root: &str) -> Option<ProjectSighting> {
        self.sight_path(root).or_else(|| {
            Some(ProjectSighting {
                path: Some(identifying(root)),
                identity: Identity::folder(Path::new(root))?,
                root: Some(identifying(root)),
                mark: None,
                is_here: true,
                is_claim: false,
                text: None,
                warning: None,
            })
        })
    }

    /// Returns the project that a folder on this machine belongs to; `None` if it belongs to no project.
    pub(crate) fn sight_path(&self, path: &str) -> Option<ProjectSighting> {
        self.sight_folder(&tidied(path), None, None)
    }

    /// Returns the project of the folder `path` in a log that also contains the repository `address`. The repository
    /// `linked` to the log counts only if the folder is not on this machine and nothing else is known.
    fn sight_folder(&self, path: &str, address: Option<Remote>, linked: Option<Remote>) -> Option<ProjectSighting> {
        let text = Identity::text(path);
        let place = Some(Path::new(path)).filter(|place| place.is_absolute() && !git::is_share(place));
        if self.is_home(path) {
            return Self::sight_address(&address.or(linked)?, None);
        }
        let here = place.and_then(|place| git::find(place, self.home.as_deref()));
        let is_gone = here.is_none() && !place.is_some_and(Path::is_dir);
        let is_linked = address.is_none() && linked.is_some();
        let address = address.or(linked.filter(|_| is_gone));
        // If the address differs from that of the repository here, the log is from another machine.
        let elsewhere = address.is_some() && here.as_ref().is_none_or(|here| here.remote != address);
        if let Some(address) = address.filter(|_| elsewhere) {
            let is_free = here.is_none() && place.is_some_and(Path::is_dir);
            let named = if is_free { self.named(place) } else { Named::default() };
            // A pull request may be to another repository, so it says nothing about other logs of the folder.
            let is_claim = is_gone && !is_linked && Remote::named(path).is_none();
            let sighting = ProjectSighting { is_claim, ..Self::sight_address(&address, text)? };
            return Some(sighting.renamed(named));
        }
        let root = here.as_ref().map(|here| identifying(&plain(&here.root)));
        let remote = here.as_ref().and_then(|here| here.remote.as_ref()).and_then(Identity::remote);
        let folder = || here.as_ref().and_then(|here| Identity::folder(&here.root));
        let is_here = place.is_some_and(Path::is_dir);
        let mark = here.as_ref().and_then(|here| here.mark.clone());
        let spelled = || text.clone().map(|text| Identity { key: identifying(&text.key), ..text });
        let identity = remote.or_else(folder).or_else(spelled)?;
        let sighting = ProjectSighting {
            path: Some(identifying(path)),
            identity,
            root,
            mark,
            is_here,
            is_claim: false,
            text,
            warning: None,
        };
        Some(sighting.renamed(self.named(place.filter(|_| is_here))))
    }

    fn sight_address(address: &Remote, text: Option<Identity>) -> Option<ProjectSighting> {
        Some(ProjectSighting {
            path: None,
            identity: Identity::remote(address)?,
            root: None,
            mark: None,
            is_here: false,
            is_claim: false,
            text,
            warning: None,
        })
    }

    fn named(&self, place: Option<&Path>) -> Named {
        place.map(|place| nearest(place, self.home.as_deref(), &self.trusted)).unwrap_or_default()
    }

    /// Returns whether the path is a home folder or a root folder, on this machine or any other.
    fn is_home(&self, path: &str) -> bool {
        let parts: Vec<&str> = path.split(['/', '\\']).filter(|part| !part.is_empty()).collect();
        let is_rooted = path.starts_with(['/', '\\']);
        // A log may come from another system, so the home folders of all systems are recognised.
        let by_shape = match parts.as_slice() {
            ["root" | "home" | "Users"] | ["home" | "Users", _] => is_rooted,
            [drive] => is_drive(drive),
            [drive, users] | [drive, users, _] => is_drive(drive) && users.eq_ignore_ascii_case("users"),
            _ => false,
        };
        by_shape || self.home.as_deref().is_some_and(|home| identifying(path) == identifying(&plain(home)))
    }
}

impl ProjectSighting {
    fn renamed(self, named: Named) -> Self {
        let identity = named.name.as_deref().and_then(Identity::named).unwrap_or(self.identity);
        Self { identity, warning: named.warning, ..self }
    }
}

fn is_drive(part: &str) -> bool {
    part.len() == 2 && part.starts_with(|letter: char| letter.is_ascii_alphabetic()) && part.ends_with(':')
}

/// Returns the project that the log contains, or otherwise the folder in which a program that keeps its logs in the
/// project wrote it: aider beside the files, `SpecStory` in `.specstory`.
pub(crate) fn place_of(transcript: &Transcript) -> Option<String> {
    let folder = || {
        let path = std::path::absolute(&transcript.origin).ok()?;
        let is_named = |place: &Path, name: &str| place.file_name().is_some_and(|own| own == name);
        let below = path.ancestors().find(|place| is_named(place, ".specstory"));
        let log = below.or_else(|| Some(path.as_path()).filter(|path| is_named(path, ".aider.chat.history.md")))?;
        // The log may be part of an archive, whose folders are not on this machine.
        Some(plain(log.parent().filter(|folder| folder.is_dir())?))
    };
    transcript.project.clone().or_else(folder)
}

/// Returns whether exactly this folder contains a repository or a worktree of a repository.
pub(crate) fn is_repository(folder: &str) -> bool {
    git::stands_in(Path::new(folder))
}

/// Returns `text`, which comes from the log, without a meaningless suffix; the URL of a local folder becomes its path.
fn tidied(text: &str) -> String {
    let text = text.trim();
    plain(Path::new(&folder_path(text))).trim_end_matches(['/', '\\']).to_owned()
}

/// Returns a path in the usual notation.
pub(crate) fn plain(path: &Path) -> String {
    // On Windows, `canonicalize` adds a prefix that is not part of the usual notation. Some agents log such paths.
    let text = path.to_string_lossy();
    text.strip_prefix(r"\\?\").filter(|rest| !rest.starts_with("UNC")).unwrap_or(&text).to_owned()
}

/// Returns the spelling of a path that identifies it. Windows ignores case and accepts both separators, so a Windows
/// path is in lower case with `\`, even if its log is read on another system. Any other path is unchanged.
pub(crate) fn identifying(path: &str) -> String {
    let is_below_drive = path.get(..2).is_some_and(is_drive) && path[2..].chars().next().is_none_or(is_any_separator);
    let is_windows = is_below_drive || path.starts_with(r"\\");
    if is_windows { path.replace('/', r"\").to_lowercase() } else { path.to_owned() }
}

fn is_any_separator(letter: char) -> bool {
    matches!(letter, '/' | '\\')
}

/// Maximum length of a project's name, in bytes.
const MAX_NAME: usize = 100;

/// The result of reading the nearest settings file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Named {
    /// The name of the project.
    pub(super) name: Option<String>,
    /// The reason why the file was ignored.
    pub(super) warning: Option<String>,
}

/// Reads the nearest trusted settings file at or above `path`, but not in `home` or above it. Only its `project` is
/// used; no other setting is read from a file in a repository.
pub(super) fn nearest(path: &Path, home: Option<&Path>, trusted: &TrustedFiles) -> Named {
    // The home folder may be a link, and `path` may contain either the link or its target.
    let homes = [home.map(Path::to_owned), home.and_then(|home| home.canonicalize().ok())];
    let below_home =
        |folder: &&Path| folder.parent().is_some() && !homes.iter().any(|home| home.as_deref() == Some(folder));
    let (file, warning) = trusted.nearest(path.ancestors().take_while(below_home));
    let Some(file) = file else { return Named { name: None, warning } };
    match name_in(&file.text) {
        Ok(name) => Named { name, warning },
        Err(reason) => Named { name: None, warning: Some(format!("ignored {}: {reason}", file.path.display())) },
    }
}

fn name_in(text: &str) -> Result<Option<String>, String> {
    let table: toml::Table = text.parse().map_err(|error: toml::de::Error| {
        let line = error.span().map_or(1, |span| text[..span.start.min(text.len())].matches('\n').count() + 1);
        format!("line {line}: {}", error.message())
    })?;
    match table.get("project") {
        None => Ok(None),
        Some(toml::Value::String(name)) => match checked(name) {
            Some(name) if is_derived(&name) => {
                Err(format!("project = {name:?} ends like a generated project name; choose another name"))
            }
            Some(name) => Ok(Some(name)),
            None => Err(format!("project = {name:?} is not a valid name; {ALLOWED}")),
        },
        Some(_) => Err("project must be a name in quotes".to_owned()),
    }
}

/// Returns whether a name ends like the namespaces of projects that nobody has named.
fn is_derived(name: &str) -> bool {
    name.rsplit_once('-').is_some_and(|(_, end)| {
        HASHED.iter().any(|bytes| end.len() == 2 * bytes) && end.bytes().all(|byte| byte.is_ascii_hexdigit())
    })
}

/// The rules for project names, for use in messages.
pub(crate) const ALLOWED: &str = "use up to 100 letters, digits and symbols other than / and \\";

/// Returns the name if it is allowed for a project.
pub(crate) fn checked(name: &str) -> Option<String> {
    let name = name.trim();
    let sound = !name.is_empty() && name.len() <= MAX_NAME && !name.contains(['/', '\\']);
    (sound && !name.chars().any(char::is_control)).then(|| name.to_owned())
}

#[cfg(test)]
mod tests;
