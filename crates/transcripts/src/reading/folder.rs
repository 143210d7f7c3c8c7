//! A directory or an archive: files that may only together be a log.

use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use super::archive::Archive;
use super::input::{Input, open_in_archive};
use crate::{IngestError, open};

/// A directory, or a zip file that is read as if it were one. Names are relative, with `/` between their parts.
#[derive(Clone)]
pub struct Folder {
    path: PathBuf,
    archive: Option<Arc<Archive>>,
}

impl Folder {
    /// Returns the directory at `path`, which need not be there.
    #[must_use]
    pub fn directory(path: &Path) -> Self {
        Self { path: path.to_owned(), archive: None }
    }

    /// Opens the zip file at `path`.
    ///
    /// # Errors
    /// [`IngestError::Read`] if it is damaged.
    pub fn archive(path: &Path) -> Result<Self, IngestError> {
        let archive = Archive::open(path)?;
        Ok(Self { path: archive.path().to_owned(), archive: Some(Arc::new(archive)) })
    }

    /// Returns the path of the directory or zip file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the name of the directory or zip file, without extension.
    #[must_use]
    pub fn name(&self) -> String {
        let name = if self.archive.is_some() { self.path.file_stem() } else { self.path.file_name() };
        name.unwrap_or_default().to_string_lossy().into_owned()
    }

    /// Whether there is a file, or a folder, called `name`.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        match &self.archive {
            Some(archive) => {
                let is_there = |prefix: &str| archive.names_below(prefix).next();
                is_there(name) == Some(name) || is_there(&format!("{name}/")).is_some()
            }
            None => self.on_disk(name).is_some_and(|path| path.exists()),
        }
    }

    /// Returns the folders directly in `name`, or in the folder itself for `""`, sorted.
    #[must_use]
    pub fn folders(&self, name: &str) -> Vec<String> {
        self.children(name, true)
    }

    /// Returns the files directly in `name`, or in the folder itself for `""`, sorted.
    #[must_use]
    pub fn files(&self, name: &str) -> Vec<String> {
        self.children(name, false)
    }

    /// Returns all files, in folders of any depth, sorted.
    #[must_use]
    pub fn all_files(&self) -> Vec<String> {
        let Some(archive) = &self.archive else {
            let walk = walkdir::WalkDir::new(&self.path).sort_by_file_name().into_iter().flatten();
            return walk
                .filter(|entry| entry.file_type().is_file())
                .filter_map(|entry| Some(slashed(entry.path().strip_prefix(&self.path).ok()?)))
                .collect();
        };
        archive.names().map(str::to_owned).collect()
    }

    /// Opens the file called `name`.
    ///
    /// # Errors
    /// As [`open`]; [`IngestError::Read`] for a name that leads out of the folder.
    pub fn open(&self, name: &str) -> Result<Input, IngestError> {
        if let Some(archive) = &self.archive {
            return open_in_archive(self, archive, name);
        }
        let outside = || IngestError::Read { path: self.path.join(name), source: io::ErrorKind::NotFound.into() };
        open(&self.on_disk(name).ok_or_else(outside)?)
    }

    fn children(&self, parent: &str, are_folders: bool) -> Vec<String> {
        let prefix = if parent.is_empty() { String::new() } else { format!("{parent}/") };
        let mut names: Vec<String> = match &self.archive {
            Some(archive) => {
                let below = archive.names_below(&prefix).filter_map(|name| name.strip_prefix(&prefix));
                below
                    .filter_map(|rest| match rest.split_once('/') {
                        Some((folder, _)) => are_folders.then_some(folder),
                        None => (!are_folders).then_some(rest),
                    })
                    .map(|name| format!("{prefix}{name}"))
                    .collect()
            }
            None => self
                .on_disk(parent)
                .and_then(|path| std::fs::read_dir(path).ok())
                .into_iter()
                .flatten()
                .flatten()
                .filter(|entry| {
                    entry.file_type().is_ok_and(|kind| if are_folders { kind.is_dir() } else { kind.is_file() })
                })
                .map(|entry| format!("{prefix}{}", entry.file_name().to_string_lossy()))
                .collect(),
        };
        names.sort();
        names.dedup();
        names
    }

    /// Returns where `name` is on disk, unless it leads out of the folder.
    fn on_disk(&self, name: &str) -> Option<PathBuf> {
        let inside = Path::new(name).components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
        inside.then(|| if name.is_empty() { self.path.clone() } else { self.path.join(name) })
    }
}

fn slashed(path: &Path) -> String {
    let parts: Vec<_> = path.components().map(|part| part.as_os_str().to_string_lossy()).collect();
    parts.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read as _, Write as _};

    fn packed(path: &Path, files: &[(&str, &[u8])]) {
        let mut zip = zip::ZipWriter::new(std::fs::File::create(path).unwrap());
        for (name, bytes) in files {
            let options = zip::write::SimpleFileOptions::default().compression_method(zip::CompressionMethod::Deflated);
            zip.start_file(*name, options).unwrap();
            zip.write_all(bytes).unwrap();
        }
        zip.finish().unwrap();
    }

    #[test]
    fn an_archive_reads_like_the_folder_that_was_packed() {
        let place = tempfile::tempdir().unwrap();
        let files: [(&str, &[u8]); 3] =
            [("a.json", b"[1]"), ("general/2026-01-02.json", "é".as_bytes()), ("general/x/y", b"z")];
        for (name, bytes) in files {
            let path = place.path().join("plain").join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, bytes).unwrap();
        }
        let zipped = place.path().join("packed.zip");
        packed(&zipped, &files.map(|(name, bytes)| (name, bytes)));
        for folder in [Folder::directory(&place.path().join("plain")), Folder::archive(&zipped).unwrap()] {
            assert_eq!(folder.all_files(), ["a.json", "general/2026-01-02.json", "general/x/y"]);
            assert_eq!((folder.files(""), folder.folders("")), (vec!["a.json".to_owned()], vec!["general".to_owned()]));
            assert_eq!((folder.files("general").len(), folder.folders("general").len()), (1, 1));
            assert!(
                folder.has("general") && folder.has("a.json") && !folder.has("gen") && !folder.has("../plain/a.json")
            );
            let input = folder.open("general/2026-01-02.json").unwrap();
            assert_eq!(input.head(), "é");
            assert_eq!(input.sibling("x/y").unwrap().head(), "z");
            assert!(folder.open("../packed.zip").is_err());
        }
    }

    #[test]
    fn names_that_begin_alike_are_told_apart_in_an_archive() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("export.zip");
        packed(&path, &[("dev-2/1.json", b"a"), ("dev.json", b"b"), ("dev/1.json", b"c"), ("x", b"d")]);
        let folder = Folder::archive(&path).unwrap();
        assert_eq!(
            (folder.folders(""), folder.files("")),
            (vec!["dev".into(), "dev-2".into()], vec!["dev.json".into(), "x".into()])
        );
        assert_eq!(folder.files("dev"), ["dev/1.json"]);
        assert_eq!(
            ["dev", "dev.json", "dev-2", "de", "dev/1", "y"].map(|name| folder.has(name)),
            [true, true, true, false, false, false]
        );
        assert_eq!(["dev/1.json", "x"].map(|name| folder.open(name).unwrap().head().into_owned()), ["c", "d"]);
        assert!(folder.open("dev/1").is_err());
    }

    #[test]
    fn one_folder_around_everything_is_left_out_of_the_names() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("export.zip");
        packed(&path, &[("Export Jan/users.json", b"[]"), ("Export Jan/dev/1.json", b"[]"), ("__MACOSX/x", b"")]);
        assert_eq!(Folder::archive(&path).unwrap().all_files(), ["dev/1.json", "users.json"]);
    }

    #[test]
    fn a_damaged_entry_is_an_error_and_not_half_a_text() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("export.zip");
        let text: Vec<u8> = (0..40_000_u32).flat_map(|n| (n.wrapping_mul(2_654_435_761)).to_le_bytes()).collect();
        packed(&path, &[("a.bin", &text)]);
        let mut bytes = std::fs::read(&path).unwrap();
        bytes[100_000] ^= 0x55;
        std::fs::write(&path, bytes).unwrap();
        let folder = Folder::archive(&path).unwrap();
        let mut all = Vec::new();
        let read = folder.open("a.bin").and_then(|input| {
            input.into_reader().read_to_end(&mut all).map_err(|source| IngestError::Read { path, source })
        });
        assert!(read.is_err());
    }
}
