//! Files in a folder, which may be shared between machines or copied by a program such as Syncthing or Dropbox.
//!
//! Files are written under a temporary name, renamed, and never changed, so that a copying program finds no conflict.

use std::fs::{self, File};
use std::io::{ErrorKind, Read as _, Write as _};
use std::path::{Path, PathBuf};

use super::files::{Files, LOGS, MAX_FILE, PutOutcome};
use super::log::LogError;
use crate::private;

/// A folder with logs.
#[derive(Debug)]
pub(crate) struct Folder {
    address: String,
    root: PathBuf,
}

impl Folder {
    /// Returns the logs in the folder `path`, without touching it.
    pub(crate) fn new(path: &Path) -> Self {
        Self { address: path.display().to_string(), root: path.join(LOGS) }
    }

    /// Creates the folder of the logs.
    pub(crate) fn create(&self) -> Result<(), LogError> {
        fs::create_dir_all(&self.root).map_err(|source| at(&self.root, source))
    }

    /// Returns an error if the folder is gone. A drive that is not mounted must not be replaced by a folder of the same
    /// name.
    fn exists(&self) -> Result<(), LogError> {
        if self.root.is_dir() { Ok(()) } else { Err(LogError::Gone { address: self.address.clone() }) }
    }
}

impl Files for Folder {
    fn logs(&mut self) -> Result<Vec<String>, LogError> {
        self.exists()?;
        let mut logs = list(&self.root)?;
        logs.retain(|name| self.root.join(name).is_dir());
        Ok(logs)
    }

    fn names(&mut self, log: &str) -> Result<Vec<String>, LogError> {
        list(&self.root.join(log))
    }

    fn read(&mut self, log: &str, names: &[String]) -> Result<Vec<Option<Vec<u8>>>, LogError> {
        let read = |name: &String| {
            let path = self.root.join(log).join(name);
            match read_file(&path) {
                Ok(bytes) => Ok(Some(bytes)),
                Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
                Err(source) => Err(at(&path, source)),
            }
        };
        names.iter().map(read).collect()
    }

    fn put(&mut self, log: &str, new: &[(String, &[u8])], old: &[String]) -> Result<PutOutcome, LogError> {
        self.exists()?;
        let folder = self.root.join(log);
        fs::create_dir_all(&folder).map_err(|source| at(&folder, source))?;
        for (name, bytes) in new {
            let temporary = folder.join(format!(".{}.tmp", uuid::Uuid::now_v7()));
            let written = write_to(&temporary, bytes).and_then(|()| private::rename(&temporary, &folder.join(name)));
            if let Err(source) = written {
                fs::remove_file(&temporary).ok();
                return Err(at(&folder, source));
            }
        }
        for name in old {
            let path = folder.join(name);
            fs::remove_file(&path).map_err(|source| at(&path, source))?;
        }
        Ok(PutOutcome::Done)
    }

    fn shown(&self, log: &str, name: &str) -> String {
        self.root.join(log).join(name).display().to_string()
    }
}

/// Returns the names in a folder, sorted; none if the folder does not exist.
fn list(folder: &Path) -> Result<Vec<String>, LogError> {
    let read = match fs::read_dir(folder) {
        Ok(read) => read,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(source) => return Err(at(folder, source)),
    };
    let names = read.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()));
    let mut names: Vec<String> = names.collect::<Result<_, _>>().map_err(|source| at(folder, source))?;
    names.sort();
    Ok(names)
}

fn read_file(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(MAX_FILE + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_FILE {
        return Err(std::io::Error::new(ErrorKind::FileTooLarge, "the file is too large for a log"));
    }
    Ok(bytes)
}

/// Writes a new file completely, and flushes it to the disk.
fn write_to(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let mut file = File::create_new(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

fn at(path: &Path, source: std::io::Error) -> LogError {
    LogError::File { path: path.to_owned(), source }
}
