//! Where on a machine a folder stands: its root by platform and environment, and the path below it.

use std::path::{Path, PathBuf};

/// A kind of system, as far as it decides where programs keep their files.
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

/// What decides where folders stand.
pub struct Machine<'a> {
    /// The kind of system.
    pub platform: Platform,
    /// The home folder; `None` where none is known.
    pub home: Option<PathBuf>,
    /// The environment.
    pub variable: &'a dyn Fn(&str) -> Option<String>,
}

impl Machine<'_> {
    /// Returns the folder that `name` holds; an empty value counts as unset.
    fn set(&self, name: &str) -> Option<PathBuf> {
        let value = (self.variable)(name).filter(|value| !value.trim().is_empty())?;
        Some(match (value.strip_prefix("~/"), &self.home) {
            (Some(rest), Some(home)) => home.join(rest),
            _ => PathBuf::from(value),
        })
    }

    fn below_home(&self, name: &str) -> Option<PathBuf> {
        Some(self.home.as_ref()?.join(name))
    }
}

/// Where a path begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Root {
    /// The home folder.
    Home,
    /// The folder that a variable names, else one below the home folder.
    Variable(&'static str, &'static str),
    /// Where programs keep settings: `~/.config`, `Application Support` or `%APPDATA%`.
    Config,
    /// Where programs keep data: `~/.local/share`, `Application Support` or `%LOCALAPPDATA%`.
    Data,
    /// `~/.local/share` even on macOS and Windows.
    XdgData,
    /// The folders of the editors that are built on VS Code, on this machine or for others that connect to it.
    Editors,
    /// Folders that a person names, at any depth below them.
    Projects,
}

/// Editors that are built on VS Code, by the names of their folders.
const EDITORS: &[&str] = &["Code", "Code - Insiders", "VSCodium", "Cursor", "Windsurf"];
/// Their parts on machines that they reach from elsewhere.
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

/// A folder of logs, or the database that holds them.
#[derive(Debug)]
pub(super) struct Place {
    pub root: Root,
    /// What follows the root, with `/` between its parts; `*` stands for any name.
    pub below: &'static str,
    /// How the names of logs end, in lower case; empty for any.
    pub endings: &'static [&'static str],
}

impl Place {
    pub const fn is_in_projects(&self) -> bool {
        matches!(self.root, Root::Projects)
    }

    /// Returns where it would be, with `*` unexpanded.
    pub fn patterns(&self, machine: &Machine<'_>) -> Vec<PathBuf> {
        let roots = self.root.paths(machine).into_iter();
        roots.map(|root| self.below.split('/').fold(root, |path, part| path.join(part))).collect()
    }

    /// Returns the paths that it stands for; without `*` they need not be there.
    pub fn paths(&self, machine: &Machine<'_>, below: &[PathBuf]) -> Vec<PathBuf> {
        if self.is_in_projects() {
            return below.iter().flat_map(|folder| called(folder, self.below)).collect();
        }
        let roots = self.root.paths(machine).into_iter();
        roots.flat_map(|root| expanded(root, self.below)).collect()
    }
}

/// Returns the paths that `pattern` stands for under `root`.
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

/// Folders below one that a person names that are looked into.
const MAX_DEPTH: usize = 8;

/// Returns the files called `name` below `folder`, without looking into dependencies and version control.
fn called(folder: &Path, name: &str) -> Vec<PathBuf> {
    let skipped = |name: &str| matches!(name, ".git" | ".hg" | ".svn" | "node_modules" | "target" | "__pycache__");
    let walk = walkdir::WalkDir::new(folder).max_depth(MAX_DEPTH).sort_by_file_name().into_iter();
    let entries = walk.filter_entry(|entry| {
        entry.depth() == 0 || !entry.file_type().is_dir() || !skipped(&entry.file_name().to_string_lossy())
    });
    let files = entries.flatten().filter(|entry| entry.file_type().is_file() && entry.file_name() == name);
    files.map(walkdir::DirEntry::into_path).collect()
}

#[cfg(test)]
mod tests {
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
        let place = |root| Place { root, below: "x/y", endings: &[] };
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
        let place = Place { root: Root::Editors, below: "User", endings: &[] };
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
        let place = Place { root: Root::Projects, below: ".history.md", endings: &[] };
        let machine = Machine { platform: Platform::Unix, home: None, variable: &unset };
        let found = place.paths(&machine, &[folder.path().to_owned()]);
        let names: Vec<_> = found.iter().map(|path| path.strip_prefix(folder.path()).unwrap()).collect();
        assert_eq!(names, [Path::new("old/api/.history.md"), Path::new("shop/.history.md")]);
    }
}
