//! A table of the folders in which agents and assistants store their conversations, and a search for these folders on
//! this machine.
//!
//! This module opens no files. It recognises files by folder and extension; the ingestors examine the content.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use crate::IngestError;
use crate::discover::{Found, is_without_logs, walk};

/// A program that stores conversations on this machine.
#[derive(Debug)]
pub struct Known {
    /// The spelling used by `--from`, such as `claude-code`.
    pub name: &'static str,
    /// A description of the program, for display.
    pub about: &'static str,
}

/// An existing folder of a known program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownFolder {
    /// The folder, or the single database.
    pub path: PathBuf,
    /// The possible suffixes of the names of its logs; empty if any name is possible.
    pub endings: &'static [&'static str],
}

impl Known {
    /// Returns the places in which the program stores its conversations.
    fn places(&self) -> impl Iterator<Item = &'static Place> {
        PLACES.iter().filter(|place| place.program == self.name)
    }

    /// Returns whether the program's logs are in project folders, so that they are found only below folders that the
    /// user specifies.
    #[must_use]
    pub(crate) fn is_in_projects(&self) -> bool {
        self.places().any(Place::is_in_projects)
    }

    /// Returns the program's existing folders, each once; `below` are folders that contain projects.
    #[must_use]
    pub fn folders(&self, machine: &Machine<'_>, below: &[PathBuf]) -> Vec<KnownFolder> {
        let (mut folders, mut seen) = (Vec::new(), HashSet::new());
        for place in self.places() {
            for path in place.paths(machine, below) {
                // On file systems that ignore case, a folder has several valid spellings.
                let Ok(real) = path.canonicalize() else { continue };
                if seen.insert(real) {
                    folders.push(KnownFolder { path, endings: place.endings });
                }
            }
        }
        folders
    }

    /// Returns the places where the program's logs would be, for the message that no logs were found.
    #[must_use]
    pub(crate) fn expected(&self, machine: &Machine<'_>) -> Vec<PathBuf> {
        self.places().flat_map(|place| place.patterns(machine)).collect()
    }
}

impl KnownFolder {
    /// Returns the logs in the folder, sorted by path, and any folders that cannot be opened.
    #[must_use]
    pub fn files(&self) -> Vec<Found> {
        let ends = |path: &Path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
            self.endings.is_empty() || self.endings.iter().any(|ending| name.ends_with(ending))
        };
        if self.path.is_file() {
            return vec![Found { path: self.path.clone(), named: false }];
        }
        walk(&self.path).filter(|found| found.path.is_dir() || ends(&found.path)).collect()
    }
}

/// Returns the known program called `name`.
///
/// # Errors
/// [`IngestError::NoSuchSource`], which lists the known names.
pub fn by_name(name: &str) -> Result<&'static Known, IngestError> {
    KNOWN.iter().find(|known| known.name == name).ok_or_else(|| IngestError::NoSuchSource {
        name: name.to_owned(),
        known: KNOWN.iter().map(|known| known.name).collect::<Vec<_>>().join(", "),
    })
}

/// Returns the logs of the programs called `names`, or of every known program if the name is `all`; each file once.
///
/// # Errors
/// [`IngestError::NoSuchSource`] for an unknown name; [`IngestError::NothingOf`] for a program without logs on this
/// machine, and for `all` if no program has any.
pub fn logs_of(names: &[String], machine: &Machine<'_>, below: &[PathBuf]) -> Result<Vec<Found>, IngestError> {
    let mut found: Vec<Found> = Vec::new();
    for name in names {
        let before = found.len();
        let (wanted, expected): (Vec<&Known>, _) = if name == "all" {
            (KNOWN.iter().collect(), "no known folder".to_owned())
        } else {
            let known = by_name(name)?;
            if known.is_in_projects() && below.is_empty() {
                return Err(IngestError::NeedsBelow { name: name.clone() });
            }
            (vec![known], spelled(&known.expected(machine)))
        };
        found.extend(wanted.iter().flat_map(|known| known.folders(machine, below)).flat_map(|folder| folder.files()));
        if found.len() == before {
            return Err(IngestError::NothingOf { name: name.clone(), expected });
        }
    }
    let mut seen = HashSet::new();
    found.retain(|one| seen.insert(one.path.clone()));
    Ok(found)
}

fn spelled(paths: &[PathBuf]) -> String {
    paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ")
}

// The location of a folder on a machine: its root, which depends on platform and environment, and the path below it.

/// An operating system, which determines where programs store their files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Platform {
    /// Linux and other Unixes.
    Unix,
    /// macOS.
    Mac,
    /// Windows.
    Windows,
}

impl Platform {
    /// Returns the platform that this program was built for.
    #[must_use]
    pub const fn this() -> Self {
        if cfg!(windows) {
            Self::Windows
        } else if cfg!(target_os = "macos") {
            Self::Mac
        } else {
            Self::Unix
        }
    }
}

/// The properties of a machine that determine the locations of folders.
pub struct Machine<'a> {
    /// The operating system.
    pub platform: Platform,
    /// The home folder; `None` if it is unknown.
    pub home: Option<PathBuf>,
    /// Reads an environment variable.
    pub variable: &'a dyn Fn(&str) -> Option<String>,
}

impl Machine<'_> {
    /// Returns the folder in the environment variable `name`; an empty value counts as unset.
    fn set(&self, name: &str) -> Option<PathBuf> {
        let value = (self.variable)(name).filter(|value| !value.trim().is_empty())?;
        // A shell does not expand a tilde inside quotes, but people write it there anyway.
        Some(match (value.strip_prefix("~/"), &self.home) {
            (Some(rest), Some(home)) => home.join(rest),
            _ => PathBuf::from(value),
        })
    }

    fn below_home(&self, name: &str) -> Option<PathBuf> {
        Some(self.home.as_ref()?.join(name))
    }
}

/// The beginning of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Root {
    /// The home folder.
    Home,
    /// The folder in an environment variable, or, if it is unset, a folder below the home folder.
    Variable(&'static str, &'static str),
    /// The folder in which programs store settings: `~/.config`, `Application Support` or `%APPDATA%`.
    Config,
    /// The folder in which programs store data: `~/.local/share`, `Application Support` or `%LOCALAPPDATA%`.
    Data,
    /// `~/.local/share`, even on macOS and Windows.
    XdgData,
    /// The folders of editors based on VS Code, both local folders and those of remote connections to this machine.
    Editors,
    /// Folders that the user specifies, and all folders below them.
    Projects,
}

/// Folder names of editors based on VS Code.
const EDITORS: &[&str] = &["Code", "Code - Insiders", "VSCodium", "Cursor", "Windsurf"];
/// Folders of the server components of these editors, on machines that are used remotely.
const SERVERS: &[&str] = &[".vscode-server/data", ".vscode-server-insiders/data", ".cursor-server/data"];

impl Root {
    fn paths(self, machine: &Machine<'_>) -> Vec<PathBuf> {
        let (platform, home) = (machine.platform, |name: &str| machine.below_home(name));
        let support = || home("Library/Application Support");
        let one = match self {
            Self::Home => home(""),
            Self::Variable(name, default) => machine.set(name).or_else(|| home(default)),
            Self::Config => match platform {
                Platform::Unix => machine.set("XDG_CONFIG_HOME").or_else(|| home(".config")),
                Platform::Mac => support(),
                Platform::Windows => machine.set("APPDATA").or_else(|| home("AppData/Roaming")),
            },
            Self::Data => match platform {
                Platform::Unix => machine.set("XDG_DATA_HOME").or_else(|| home(".local/share")),
                Platform::Mac => support(),
                Platform::Windows => machine.set("LOCALAPPDATA").or_else(|| home("AppData/Local")),
            },
            Self::XdgData => machine.set("XDG_DATA_HOME").or_else(|| home(".local/share")),
            Self::Editors => {
                let local = Self::Config.paths(machine).into_iter();
                let local = local.flat_map(|folder| EDITORS.iter().map(move |editor| folder.join(editor)));
                return local.chain(SERVERS.iter().filter_map(|server| home(server))).collect();
            }
            Self::Projects => None,
        };
        one.into_iter().collect()
    }
}

/// A folder of logs, or the database that contains them.
#[derive(Debug)]
struct Place {
    /// Name of the program.
    program: &'static str,
    root: Root,
    /// The path below the root, with `/` between its parts; `*` matches any name.
    below: &'static str,
    /// The possible suffixes of the names of logs, in lower case; empty if any name is possible.
    endings: &'static [&'static str],
}

impl Place {
    const fn is_in_projects(&self) -> bool {
        matches!(self.root, Root::Projects)
    }

    /// Returns the possible paths, with `*` unexpanded.
    fn patterns(&self, machine: &Machine<'_>) -> Vec<PathBuf> {
        let roots = self.root.paths(machine).into_iter();
        roots.map(|root| self.below.split('/').fold(root, |path, part| path.join(part))).collect()
    }

    /// Returns the matching paths; paths without `*` need not exist.
    fn paths(&self, machine: &Machine<'_>, below: &[PathBuf]) -> Vec<PathBuf> {
        if self.is_in_projects() {
            return below.iter().flat_map(|folder| called(folder, self.below)).collect();
        }
        let roots = self.root.paths(machine).into_iter();
        roots.flat_map(|root| expanded(root, self.below)).collect()
    }
}

/// Returns the paths below `root` that match `pattern`.
fn expanded(root: PathBuf, pattern: &str) -> Vec<PathBuf> {
    let mut paths = vec![root];
    for part in pattern.split('/') {
        paths = match part {
            "*" => paths.iter().flat_map(|path| children(path)).collect(),
            name => paths.into_iter().map(|path| path.join(name)).collect(),
        };
    }
    paths
}

fn children(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut folders: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(|path| path.is_dir()).collect();
    folders.sort();
    folders
}

/// Maximum depth of the search below a folder that the user specifies.
const MAX_DEPTH: usize = 8;

/// Returns the files called `name` below `folder`, skipping dependencies and version control.
fn called(folder: &Path, name: &str) -> Vec<PathBuf> {
    // Projects may be nested deeply, but a whole disk must not be searched.
    let walk = walkdir::WalkDir::new(folder).max_depth(MAX_DEPTH).sort_by_file_name().into_iter();
    let entries = walk.filter_entry(|entry| !is_without_logs(entry));
    let files = entries.flatten().filter(|entry| entry.file_type().is_file() && entry.file_name() == name);
    files.map(walkdir::DirEntry::into_path).collect()
}

// The table of known programs.

const fn known(name: &'static str, about: &'static str) -> Known {
    Known { name, about }
}

const fn place(program: &'static str, root: Root, below: &'static str, endings: &'static [&'static str]) -> Place {
    Place { program, root, below, endings }
}

const JSONL: &[&str] = &[".jsonl"];
const JSON: &[&str] = &[".json"];
const EITHER: &[&str] = &[".json", ".jsonl"];
const ROLLOUTS: &[&str] = &[".jsonl", ".jsonl.zst"];
const ANY: &[&str] = &[];

/// Every known program, in the order in which they are listed.
pub const KNOWN: &[Known] = &[
    known("claude-code", "Claude Code"),
    known("claude-desktop", "Claude Desktop"),
    known("codex", "Codex"),
    known("gemini-cli", "Gemini CLI"),
    known("qwen-code", "Qwen Code"),
    known("cursor", "Cursor"),
    known("cursor-agent", "Cursor agents"),
    known("copilot", "GitHub Copilot"),
    known("copilot-cli", "Copilot CLI"),
    known("cline", "Cline"),
    known("roo-code", "Roo Code"),
    known("kilo-code", "Kilo Code"),
    known("continue", "Continue"),
    known("opencode", "opencode"),
    known("goose", "goose"),
    known("hermes", "Hermes Agent"),
    known("zed", "Zed"),
    known("devin", "Devin CLI"),
    known("grok", "Grok Build"),
    known("pi", "pi"),
    known("open-interpreter", "Open Interpreter"),
    known("lm-studio", "LM Studio"),
    known("aider", "aider"),
];

const PLACES: &[Place] = &[
    place("claude-code", Root::Variable("CLAUDE_CONFIG_DIR", ".claude"), "projects", JSONL),
    place("claude-desktop", Root::Config, "Claude/local-agent-mode-sessions", JSONL),
    // Rollouts are compressed after a week.
    place("codex", Root::Variable("CODEX_HOME", ".codex"), "sessions", ROLLOUTS),
    place("codex", Root::Variable("CODEX_HOME", ".codex"), "archived_sessions", ROLLOUTS),
    place("gemini-cli", Root::Home, ".gemini/tmp/*/chats", EITHER),
    place("qwen-code", Root::Home, ".qwen/projects/*/chats", JSONL),
    place("cursor", Root::Config, "Cursor/User/globalStorage/state.vscdb", ANY),
    place("cursor", Root::Home, ".cursor-server/data/User/globalStorage/state.vscdb", ANY),
    place("cursor-agent", Root::Home, ".cursor/projects/*/agent-transcripts", JSONL),
    place("cursor-agent", Root::Home, ".cursor/chats", &["store.db"]),
    place("copilot", Root::Editors, "User/workspaceStorage/*/chatSessions", EITHER),
    place("copilot", Root::Editors, "User/globalStorage/emptyWindowChatSessions", EITHER),
    place("copilot-cli", Root::Home, ".copilot/session-state", JSONL),
    place("cline", Root::Editors, "User/globalStorage/saoudrizwan.claude-dev/tasks", JSON),
    place("cline", Root::Home, ".cline/data/tasks", JSON),
    place("roo-code", Root::Editors, "User/globalStorage/rooveterinaryinc.roo-cline/tasks", JSON),
    place("kilo-code", Root::Editors, "User/globalStorage/kilocode.kilo-code/tasks", JSON),
    place("continue", Root::Home, ".continue/sessions", JSON),
    place("opencode", Root::XdgData, "opencode/opencode.db", ANY),
    place("opencode", Root::XdgData, "opencode/storage", JSON),
    place("goose", Root::XdgData, "goose/sessions", &[".jsonl", "sessions.db"]),
    place("goose", Root::Config, "Block/goose/data/sessions", &[".jsonl", "sessions.db"]),
    place("hermes", Root::Home, ".hermes/state.db", ANY),
    // The name of Zed's folder is in lower case on Linux, and capitalised on macOS and Windows.
    place("zed", Root::Data, "zed/threads/threads.db", ANY),
    place("zed", Root::Data, "Zed/threads/threads.db", ANY),
    place("devin", Root::XdgData, "devin/cli/sessions.db", ANY),
    place("grok", Root::Home, ".grok/sessions", JSONL),
    place("pi", Root::Home, ".pi/agent/sessions", JSONL),
    place("open-interpreter", Root::Home, ".openinterpreter/sessions", JSONL),
    place("lm-studio", Root::Home, ".lmstudio/conversations", &[".conversation.json"]),
    place("aider", Root::Projects, ".aider.chat.history.md", ANY),
];

#[cfg(test)]
mod place_tests {
    use super::*;

    fn unset(_: &str) -> Option<String> {
        None
    }

    fn patterns(place: &Place, platform: Platform, variable: &dyn Fn(&str) -> Option<String>) -> Vec<String> {
        let machine = Machine { platform, home: Some("/home/ana".into()), variable };
        place.patterns(&machine).iter().map(|path| path.to_string_lossy().replace('\\', "/")).collect()
    }

    #[test]
    fn roots_follow_the_platform_and_its_variables() {
        let place = |root| Place { program: "", root, below: "x/y", endings: &[] };
        let table = [
            (Root::Home, Platform::Mac, "/home/ana/x/y"),
            (Root::Config, Platform::Unix, "/home/ana/.config/x/y"),
            (Root::Config, Platform::Mac, "/home/ana/Library/Application Support/x/y"),
            (Root::Config, Platform::Windows, "/home/ana/AppData/Roaming/x/y"),
            (Root::Data, Platform::Windows, "/home/ana/AppData/Local/x/y"),
            (Root::XdgData, Platform::Mac, "/home/ana/.local/share/x/y"),
            (Root::Variable("CODEX_HOME", ".codex"), Platform::Unix, "/home/ana/.codex/x/y"),
        ];
        for (root, platform, wanted) in table {
            assert_eq!(patterns(&place(root), platform, &unset), [wanted], "{root:?} {platform:?}");
        }
        let moved = |name: &str| (name == "CODEX_HOME").then(|| "/data/codex".to_owned());
        let codex = place(Root::Variable("CODEX_HOME", ".codex"));
        assert_eq!(patterns(&codex, Platform::Unix, &moved), ["/data/codex/x/y"]);
        assert_eq!(patterns(&codex, Platform::Unix, &|_| Some(" ".into())), ["/home/ana/.codex/x/y"]);
        assert_eq!(patterns(&codex, Platform::Unix, &|_| Some("~/c".into())), ["/home/ana/c/x/y"]);
    }

    #[test]
    fn every_editor_is_looked_for() {
        let place = Place { program: "", root: Root::Editors, below: "User", endings: &[] };
        let found = patterns(&place, Platform::Mac, &unset);
        assert!(found.contains(&"/home/ana/Library/Application Support/Code - Insiders/User".to_owned()), "{found:?}");
        assert!(found.contains(&"/home/ana/.vscode-server/data/User".to_owned()), "{found:?}");
    }

    #[test]
    fn without_a_home_only_variables_lead_anywhere() {
        let machine = Machine { platform: Platform::Unix, home: None, variable: &unset };
        assert!(Root::Home.paths(&machine).is_empty() && Root::Editors.paths(&machine).is_empty());
    }

    #[test]
    fn histories_in_projects_are_found_below_the_folders_given() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["shop/.history.md", "old/api/.history.md", "shop/node_modules/x/.history.md"] {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "x").unwrap();
        }
        let place = Place { program: "", root: Root::Projects, below: ".history.md", endings: &[] };
        let machine = Machine { platform: Platform::Unix, home: None, variable: &unset };
        let found = place.paths(&machine, &[folder.path().to_owned()]);
        let names: Vec<_> = found.iter().map(|path| path.strip_prefix(folder.path()).unwrap()).collect();
        assert_eq!(names, [Path::new("old/api/.history.md"), Path::new("shop/.history.md")]);
    }
}

#[cfg(test)]
mod table_tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn names_are_unique_and_endings_in_lower_case() {
        let names: HashSet<_> = KNOWN.iter().map(|known| known.name).collect();
        assert_eq!(names.len(), KNOWN.len());
        assert!(!names.contains("all"), "the word for every program");
        assert!(KNOWN.iter().all(|known| known.places().next().is_some()), "every program has a folder");
        assert!(PLACES.iter().all(|place| names.contains(place.program)), "every folder has a program");
        for ending in PLACES.iter().flat_map(|place| place.endings) {
            assert_eq!(*ending, ending.to_lowercase());
        }
    }

    #[test]
    fn no_place_is_of_two_programs() {
        let mut seen = HashSet::new();
        for place in PLACES {
            assert!(seen.insert(format!("{:?}/{}", place.root, place.below)), "{}", place.below);
        }
    }
}
