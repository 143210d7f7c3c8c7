//! Which adapter opens which address.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::embed::QueryVectors;
use crate::store::{Store, StoreError};

use super::sqlite::SqliteStorage;
use super::{ApiError, MemoryStorageAdapter};

/// An opened place for memories.
pub type Opened = Box<dyn MemoryStorageAdapter>;

/// Something that opens addresses.
#[derive(Debug, Clone, Copy)]
pub struct Adapter {
    /// What stands before the colon, in lower case.
    pub scheme: &'static str,
    /// What it opens, for people.
    pub about: &'static str,
    /// Opens what stands behind the colon, to be searched by meaning, too, where there is what makes vectors of queries.
    pub open: fn(&str, Option<Arc<QueryVectors>>) -> Result<Opened, ApiError>,
}

/// Every adapter. An address without a scheme is a path, and means the first.
pub const ADAPTERS: &[Adapter] = &[
    Adapter {
        scheme: "sqlite",
        about: "a SQLite file, made where it is missing, and only read where it cannot be written",
        open: sqlite,
    },
    Adapter { scheme: "file", about: "the same, as SQLite itself spells it", open: sqlite },
    Adapter { scheme: "memory", about: "a SQLite database that is gone when it is closed", open: in_memory },
];

/// Opens the place that `address` names: `sqlite:PATH`, `file:PATH`, `memory:`, or a path. `//` before an absolute path is
/// understood; everything else of a path is taken as it stands.
///
/// # Errors
/// [`ApiError::UnknownScheme`], naming the known ones, or why it cannot be opened.
pub fn open_storage(address: &str) -> Result<Opened, ApiError> {
    open_storage_with(address, None)
}

/// Opens the place that `address` names, as [`open_storage`] does, to be searched by meaning, too, where there are `vectors`.
///
/// # Errors
/// As for [`open_storage`].
pub fn open_storage_with(address: &str, vectors: Option<Arc<QueryVectors>>) -> Result<Opened, ApiError> {
    let (adapter, rest) = named(address)?;
    (adapter.open)(rest, vectors)
}

/// Returns the file that `address` names, for what works on a file alone.
///
/// # Errors
/// [`ApiError::UnknownScheme`], naming the known ones, and [`ApiError::NoFile`] for what is no file.
pub fn database_path(address: &Path) -> Result<PathBuf, ApiError> {
    // What is no text has no scheme either.
    let Some(text) = address.to_str() else { return Ok(address.to_owned()) };
    let (adapter, rest) = named(text)?;
    match adapter.scheme {
        "sqlite" | "file" => Ok(path_of(rest)),
        scheme => Err(ApiError::NoFile { scheme }),
    }
}

/// Returns the adapter that an address names, and what it opens.
fn named(address: &str) -> Result<(&'static Adapter, &str), ApiError> {
    let Some((scheme, rest)) = scheme_of(address) else { return Ok((&ADAPTERS[0], address)) };
    let found = ADAPTERS.iter().find(|adapter| adapter.scheme.eq_ignore_ascii_case(scheme));
    let adapter = found.ok_or_else(|| ApiError::UnknownScheme {
        scheme: scheme.to_owned(),
        known: ADAPTERS.iter().map(|adapter| format!("{}:", adapter.scheme)).collect::<Vec<_>>().join(", "),
    })?;
    Ok((adapter, rest))
}

/// Splits an address at its scheme. One letter is the drive of a path.
fn scheme_of(address: &str) -> Option<(&str, &str)> {
    let (scheme, rest) = address.split_once(':')?;
    let sound = scheme.len() > 1
        && scheme.starts_with(|letter: char| letter.is_ascii_alphabetic())
        && scheme.chars().all(|letter| letter.is_ascii_alphanumeric() || "+-.".contains(letter));
    sound.then_some((scheme, rest))
}

fn sqlite(path: &str, vectors: Option<Arc<QueryVectors>>) -> Result<Opened, ApiError> {
    let path = path_of(path);
    let store = match Store::open(&path) {
        // What is known can be read all the same; who writes is told why that cannot be.
        Err(error @ StoreError::Unwritable { .. }) => Store::open_read_only(&path).map_err(|_| error),
        opened => opened,
    };
    Ok(Box::new(SqliteStorage { store: store?, vectors }))
}

fn path_of(path: &str) -> PathBuf {
    match path.strip_prefix("//localhost/").or_else(|| path.strip_prefix("///")) {
        Some(rest) => PathBuf::from(format!("/{rest}")),
        None => PathBuf::from(path),
    }
}

fn in_memory(_: &str, vectors: Option<Arc<QueryVectors>>) -> Result<Opened, ApiError> {
    Ok(Box::new(SqliteStorage { store: Store::in_memory()?, vectors }))
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
    fn a_command_takes_addresses_of_files_alone() {
        for (address, path) in [("sqlite:a.db", "a.db"), ("file:///m/a.db", "/m/a.db"), ("a b.db", "a b.db")] {
            assert_eq!(database_path(Path::new(address)).unwrap(), Path::new(path));
        }
        let told = |address: &str| database_path(Path::new(address)).unwrap_err().to_string();
        assert_eq!(told("memory:"), "memory: keeps nothing from one command to the next; name a file");
        assert!(told("postgres:x").contains("use sqlite:, file:, memory:"));
    }

    #[test]
    fn a_drive_is_no_scheme() {
        assert_eq!(scheme_of(r"C:\memories.db"), None);
        assert_eq!(scheme_of("notes.db"), None);
        assert_eq!(scheme_of("sqlite:a:b"), Some(("sqlite", "a:b")));
    }
}
