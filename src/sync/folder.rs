//! Files in a folder, which may be shared between machines or copied by a program such as Syncthing or Dropbox.
//!
//! Files are written under a temporary name, renamed, and never changed, so that a copying program finds no conflict. Only
//! their owner can read them, unless the folder was made for a group: everything in a folder with the setgid bit belongs to
//! its group.

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
        let target = self.root.parent().unwrap_or(&self.root);
        fs::create_dir_all(target).and_then(|()| create(&self.root)).map_err(|source| at(&self.root, source))
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
        create(&folder).map_err(|source| at(&folder, source))?;
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

/// Creates a folder below the target, if it is missing.
fn create(folder: &Path) -> std::io::Result<()> {
    #[cfg(unix)]
    if !folder.exists() && folder.parent().is_some_and(is_of_group) {
        use std::os::unix::fs::DirBuilderExt as _;
        return fs::DirBuilder::new().recursive(true).mode(0o2770).create(folder);
    }
    private::create_folder(folder)
}

/// Whether the folder was made for a group.
#[cfg(unix)]
fn is_of_group(folder: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    fs::metadata(folder).is_ok_and(|data| data.mode() & 0o2000 != 0)
}

/// Writes a new file completely, and flushes it to the disk.
fn write_to(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let mut options = private::options();
    #[cfg(unix)]
    if path.parent().is_some_and(is_of_group) {
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o660);
    }
    let mut file = options.write(true).create_new(true).open(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

fn at(path: &Path, source: std::io::Error) -> LogError {
    LogError::File { path: path.to_owned(), source }
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};

    use super::*;

    #[test]
    fn only_the_owner_reads_the_files_unless_the_folder_is_of_a_group() {
        for (target, file, inner) in [(0o777, 0o600, 0o700), (0o2770, 0o640, 0o2750)] {
            let place = tempfile::tempdir().unwrap();
            fs::set_permissions(place.path(), fs::Permissions::from_mode(target)).unwrap();
            let mut folder = Folder::new(place.path());
            folder.create().unwrap();
            folder.put("m", &[("a".to_owned(), b"x")], &[]).unwrap();
            let mode = |name: &str| fs::metadata(place.path().join(LOGS).join(name)).unwrap().mode() & 0o7777;
            // The bits for the group also depend on the mask of the process.
            assert_eq!(
                (mode("m/a") & !0o020, mode("m") & !0o020, mode("") & !0o020),
                (file, inner, inner),
                "{target:o}"
            );
        }
    }
}
