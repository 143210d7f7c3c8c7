//! Whether a log has changed, told without opening it.

use std::fs::Metadata;
use std::path::Path;

use jiff::{SignedDuration, Timestamp};
use sha2::{Digest, Sha256};

use super::Options;
use super::files::FileMark;
use crate::guard::Guard;
use transcripts::hex;
use transcripts::{INGESTORS, true_path};

/// Size and time of a log, by which a change of it shows.
#[derive(Debug, Clone)]
pub struct Stamp {
    hasher: Sha256,
    bytes: u64,
    changed_at: Option<Timestamp>,
}

/// Time within which a change may not show on a file system that keeps whole seconds, or even ones.
const COARSE: SignedDuration = SignedDuration::from_secs(2);

impl Stamp {
    /// Returns the stamp of the file or folder at `path`; `None` where there is none, such as for standard input.
    ///
    /// A database counts together with what stands in its write-ahead log, a folder with all that is in it.
    #[must_use]
    pub fn of(path: &Path) -> Option<Self> {
        let data = path.metadata().ok()?;
        let mut stamp = Self { hasher: Sha256::new(), bytes: 0, changed_at: None };
        if data.is_dir() {
            for entry in walkdir::WalkDir::new(path).sort_by_file_name().into_iter().flatten() {
                if let Some(data) = entry.metadata().ok().filter(Metadata::is_file) {
                    stamp.add(entry.path(), &data);
                }
            }
        } else {
            stamp.add(Path::new(""), &data);
            let mut log = path.as_os_str().to_owned();
            log.push("-wal");
            Path::new(&log).metadata().into_iter().for_each(|data| stamp.add(Path::new("-wal"), &data));
        }
        Some(stamp)
    }

    fn add(&mut self, name: &Path, data: &Metadata) {
        let changed_at = data.modified().ok().and_then(|at| Timestamp::try_from(at).ok());
        let nanosecond = changed_at.map_or(0, Timestamp::as_nanosecond);
        self.hasher.update(name.as_os_str().as_encoded_bytes());
        self.hasher.update(format!("\u{1f}{}\u{1f}{nanosecond}\u{1f}{}\u{1e}", data.len(), noticed_at(data)));
        self.bytes += data.len();
        self.changed_at = self.changed_at.max(changed_at);
    }

    /// Returns its size.
    #[must_use]
    pub const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns when it was last changed.
    #[must_use]
    pub const fn changed_at(&self) -> Option<Timestamp> {
        self.changed_at
    }

    /// Returns its spelling in the ledger.
    #[must_use]
    pub fn text(&self) -> String {
        hex(&self.hasher.clone().finalize()[..16])
    }

    /// Returns the mark under which a log is noted when it is finished; `None` if another change could leave the stamp
    /// as it is.
    #[must_use]
    pub fn mark(&self, path: &Path, now: Timestamp) -> Option<FileMark> {
        let changed_at = self.changed_at?;
        let is_coarse = changed_at.subsec_nanosecond() == 0;
        let is_settled = !is_coarse || now.duration_since(changed_at) > COARSE;
        is_settled.then(|| FileMark { path: path_key(path), stamp: self.text() })
    }
}

/// Returns when the system noticed a change last, which no program can set, unlike the time of the change itself; so
/// other content of the same size and time shows.
#[cfg(unix)]
fn noticed_at(data: &Metadata) -> i128 {
    use std::os::unix::fs::MetadataExt as _;
    i128::from(data.ctime()) * 1_000_000_000 + i128::from(data.ctime_nsec())
}

/// Returns nothing: this system does not tell.
#[cfg(not(unix))]
const fn noticed_at(_: &Metadata) -> i128 {
    0
}

/// Returns the key of a path: a hash, the same however the path is spelled.
#[must_use]
pub fn path_key(path: &Path) -> String {
    hex(&Sha256::digest(true_path(path).as_os_str().as_encoded_bytes())[..16])
}

/// Returns what stands for everything but the log itself and the extractor that decides what comes of a log: the code
/// that reads it, the guard, the size of windows, and what was asked for.
#[must_use]
pub(super) fn signature(options: &Options, guard: &Guard) -> String {
    let mut hasher = Sha256::new();
    let formats: Vec<_> = INGESTORS.iter().map(|ingestor| (ingestor.name(), ingestor.rule())).collect();
    let namespace = options.namespace.as_ref().map(ToString::to_string);
    let code = (env!("CARGO_PKG_VERSION"), env!("AFTERTHOUGHT_READING_CODE"), formats);
    hasher.update(format!("{code:?} {guard:?} {:?} {:?} {namespace:?}", options.window, options.sources.format));
    hex(&hasher.finalize()[..16])
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_change_of_size_time_or_write_ahead_log_shows() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.db");
        fs::write(&path, "one").unwrap();
        let text = |path: &Path| Stamp::of(path).unwrap().text();
        let (file, whole) = (text(&path), text(folder.path()));
        assert_eq!((text(&path), text(folder.path())), (file.clone(), whole.clone()));
        fs::write(folder.path().join("a.db-wal"), "x").unwrap();
        assert_ne!(text(&path), file);
        assert_ne!(text(folder.path()), whole);
        fs::remove_file(folder.path().join("a.db-wal")).unwrap();
        assert_eq!(text(&path), file);
        let later = std::time::SystemTime::now() + std::time::Duration::from_secs(5);
        fs::File::options().write(true).open(&path).unwrap().set_modified(later).unwrap();
        assert_ne!(text(&path), file, "rewritten in the same length");
        assert!(Stamp::of(Path::new("-")).is_none());
    }

    #[cfg(unix)]
    #[test]
    fn other_content_of_the_same_size_and_time_shows() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.jsonl");
        fs::write(&path, "one").unwrap();
        let (text, at) = (Stamp::of(&path).unwrap().text(), path.metadata().unwrap().modified().unwrap());
        // The clock of a file system stands still for some milliseconds.
        std::thread::sleep(std::time::Duration::from_millis(30));
        fs::write(&path, "two").unwrap();
        fs::File::options().write(true).open(&path).unwrap().set_modified(at).unwrap();
        assert_ne!(Stamp::of(&path).unwrap().text(), text);
    }

    #[test]
    fn a_path_has_one_key_however_it_is_spelled() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("b")).unwrap();
        fs::write(folder.path().join("a"), "x").unwrap();
        assert_eq!(path_key(&folder.path().join("a")), path_key(&folder.path().join("b/../a")));
        assert_ne!(path_key(&folder.path().join("a")), path_key(&folder.path().join("b")));
    }

    #[test]
    fn a_file_just_written_on_a_coarse_clock_is_not_noted() {
        let at = |nanosecond| Timestamp::new(1_000, nanosecond).unwrap();
        let stamp = |changed_at| Stamp { hasher: Sha256::new(), bytes: 0, changed_at: Some(changed_at) };
        let path = Path::new("a");
        assert!(stamp(at(0)).mark(path, Timestamp::new(1_001, 0).unwrap()).is_none());
        assert!(stamp(at(0)).mark(path, Timestamp::new(1_003, 0).unwrap()).is_some());
        assert!(stamp(at(5)).mark(path, Timestamp::new(1_001, 0).unwrap()).is_some());
    }
}
