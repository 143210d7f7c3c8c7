//! Whether a log has changed, told without opening it.

use std::fs::Metadata;
use std::path::Path;

use jiff::Timestamp;

/// Size and time of a log, by which a change of it shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stamp {
    files: u64,
    bytes: u64,
    changed_at: Option<Timestamp>,
}

impl Stamp {
    /// Returns the stamp of the file or folder at `path`; `None` where there is none, such as for standard input.
    ///
    /// A database counts together with what stands in its write-ahead log, a folder with all that is in it.
    #[must_use]
    pub fn of(path: &Path) -> Option<Self> {
        let data = path.metadata().ok()?;
        let mut stamp = Self { files: 0, bytes: 0, changed_at: None };
        if data.is_dir() {
            let inside = walkdir::WalkDir::new(path).into_iter().flatten();
            inside
                .filter_map(|entry| entry.metadata().ok())
                .filter(Metadata::is_file)
                .for_each(|data| stamp.add(&data));
        } else {
            stamp.add(&data);
            let mut log = path.as_os_str().to_owned();
            log.push("-wal");
            Path::new(&log).metadata().into_iter().for_each(|data| stamp.add(&data));
        }
        Some(stamp)
    }

    fn add(&mut self, data: &Metadata) {
        self.files += 1;
        self.bytes += data.len();
        let changed_at = data.modified().ok().and_then(|at| Timestamp::try_from(at).ok());
        self.changed_at = self.changed_at.max(changed_at);
    }

    /// Returns when it was last changed.
    #[must_use]
    pub const fn changed_at(&self) -> Option<Timestamp> {
        self.changed_at
    }
}
