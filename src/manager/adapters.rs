//! Which adapter opens which address.

use std::path::Path;

use crate::store::Store;

use super::{ManagerError, MemoryStorageAdapter};

/// An opened place for memories.
pub type Opened = Box<dyn MemoryStorageAdapter>;

/// Something that opens addresses.
#[derive(Debug, Clone, Copy)]
pub struct Adapter {
    /// What stands before the colon, in lower case.
    pub scheme: &'static str,
    /// What it opens, for people.
    pub about: &'static str,
    /// Opens what stands behind the colon.
    pub open: fn(&str) -> Result<Opened, ManagerError>,
}

/// Every adapter. An address without a scheme is a path, and means the first.
pub const ADAPTERS: &[Adapter] = &[
    Adapter { scheme: "sqlite", about: "a SQLite file, made where it is missing", open: sqlite },
    Adapter { scheme: "file", about: "the same, as SQLite itself spells it", open: sqlite },
    Adapter { scheme: "memory", about: "a SQLite database that is gone when it is closed", open: in_memory },
];

/// Opens the place that `address` names: `sqlite:PATH`, `file:PATH`, `memory:`, or a path. `//` before an absolute path is
/// understood; everything else of a path is taken as it stands.
///
/// # Errors
/// [`ManagerError::UnknownScheme`], naming the known ones, or why it cannot be opened.
pub fn open_storage(address: &str) -> Result<Opened, ManagerError> {
    let Some((scheme, rest)) = scheme_of(address) else { return sqlite(address) };
    let found = ADAPTERS.iter().find(|adapter| adapter.scheme.eq_ignore_ascii_case(scheme));
    let adapter = found.ok_or_else(|| ManagerError::UnknownScheme {
        scheme: scheme.to_owned(),
        known: ADAPTERS.iter().map(|adapter| format!("{}:", adapter.scheme)).collect::<Vec<_>>().join(", "),
    })?;
    (adapter.open)(rest)
}

/// Splits an address at its scheme. One letter is the drive of a path.
fn scheme_of(address: &str) -> Option<(&str, &str)> {
    let (scheme, rest) = address.split_once(':')?;
    let sound = scheme.len() > 1
        && scheme.starts_with(|letter: char| letter.is_ascii_alphabetic())
        && scheme.chars().all(|letter| letter.is_ascii_alphanumeric() || "+-.".contains(letter));
    sound.then_some((scheme, rest))
}

fn sqlite(path: &str) -> Result<Opened, ManagerError> {
    let path = match path.strip_prefix("//localhost/").or_else(|| path.strip_prefix("///")) {
        Some(rest) => format!("/{rest}"),
        None => path.to_owned(),
    };
    Ok(Box::new(Store::open(Path::new(&path))?))
}

fn in_memory(_: &str) -> Result<Opened, ManagerError> {
    Ok(Box::new(Store::in_memory()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_open_by_their_scheme_and_paths_without_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name).display().to_string();
        for (address, file) in [
            (format!("sqlite:{}", path("a.db")), "a.db"),
            (format!("SQLite://{}", path("b.db")), "b.db"),
            (format!("file:{}", path("c.db")), "c.db"),
            (format!("file://localhost{}", path("d.db")), "d.db"),
            (path("e f.db"), "e f.db"),
        ] {
            let opened = open_storage(&address).unwrap();
            assert!(folder.path().join(file).is_file() && opened.is_ready(), "{address}");
        }
        assert!(open_storage("memory:").unwrap().is_ready());
    }

    #[test]
    fn an_unknown_scheme_names_the_known_ones() {
        let error = open_storage("postgres://host/memories").err().unwrap();
        let expected = "nothing opens postgres: addresses; use sqlite:, file:, memory:, or a path";
        assert_eq!(error.to_string(), expected);
    }

    #[test]
    fn a_drive_is_no_scheme() {
        assert_eq!(scheme_of(r"C:\memories.db"), None);
        assert_eq!(scheme_of("notes.db"), None);
        assert_eq!(scheme_of("sqlite:a:b"), Some(("sqlite", "a:b")));
    }
}
