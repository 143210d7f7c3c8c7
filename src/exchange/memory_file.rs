//! The memories of a file, most of which wait in a temporary file if there are many.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, BufRead as _, BufReader, BufWriter, Seek as _, Write as _};

use transcripts::json;

use super::{IdOrigin, Imported};
use crate::memory::Namespace;
use crate::store::StoreError;

/// Number of memories that are kept in memory; tests use a small number to write temporary files. With encryption, nothing
/// is written to a temporary file, because it would not be encrypted.
const KEPT: usize = if cfg!(test) {
    16
} else if cfg!(feature = "encryption") {
    usize::MAX
} else {
    4_096
};

/// Memories in the order of their file.
#[derive(Debug, Default)]
pub struct MemoryFile {
    /// The last memories.
    pub(super) recent: Vec<Imported>,
    /// All memories before the last ones, one JSON object a line. The file has no name, and disappears when it is closed.
    earlier: Option<BufWriter<File>>,
    /// The namespaces that the memories specify, and whether such memories come from an export of this program.
    places: BTreeSet<(Namespace, bool)>,
    /// Number of memories by category.
    categories: BTreeMap<String, usize>,
    /// Whether the key of a memory is a place in a file.
    pub(super) has_file_keys: bool,
    /// The first error of the temporary file, after which no memories are added.
    failed: Option<io::ErrorKind>,
}

impl MemoryFile {
    /// Adds a memory at the end.
    pub(super) fn push(&mut self, imported: Imported) {
        if self.failed.is_some() {
            return;
        }
        let Imported { memory, id, .. } = &imported;
        let place = (memory.namespace.clone(), *id == IdOrigin::Export);
        self.places.insert(place);
        *self.categories.entry(memory.claim.category.clone()).or_default() += 1;
        self.has_file_keys |= memory.claim.key.as_deref().is_some_and(|key| key.starts_with("import."));
        self.recent.push(imported);
        if self.recent.len() >= KEPT {
            self.failed = self.write_out().err().map(|error| error.kind());
        }
    }

    /// Returns the namespaces that the memories specify, and whether such memories come from an export of this program.
    pub(crate) const fn places(&self) -> &BTreeSet<(Namespace, bool)> {
        &self.places
    }

    /// Returns the number of memories of each category.
    pub(crate) const fn categories(&self) -> &BTreeMap<String, usize> {
        &self.categories
    }

    fn write_out(&mut self) -> io::Result<()> {
        let file = match &mut self.earlier {
            Some(file) => file,
            None => self.earlier.insert(BufWriter::new(tempfile::tempfile()?)),
        };
        for imported in self.recent.drain(..) {
            serde_json::to_writer(&mut *file, &imported)?;
            file.write_all(b"\n")?;
        }
        file.flush()
    }

    /// Passes every memory to `take`, in order.
    ///
    /// # Errors
    /// The first error of `take`, or [`StoreError`] if the temporary file could not be written or read.
    pub(crate) fn each<E>(&self, mut take: impl FnMut(Imported) -> Result<(), E>) -> Result<(), E>
    where
        E: From<StoreError>,
    {
        let name = |source: io::Error| StoreError::Temporary { folder: std::env::temp_dir(), source };
        if let Some(kind) = self.failed {
            return Err(name(kind.into()).into());
        }
        if let Some(file) = &self.earlier {
            let mut file = file.get_ref();
            file.rewind().map_err(name)?;
            let (mut lines, mut line) = (BufReader::new(file), String::new());
            while lines.read_line(&mut line).map_err(name)? > 0 {
                let (imported, _) = json::parse(&line).map_err(|error| name(error.into()))?;
                take(imported)?;
                line.clear();
            }
        }
        self.recent.iter().try_for_each(|imported| take(imported.clone()))
    }
}

impl FromIterator<Imported> for MemoryFile {
    fn from_iter<T: IntoIterator<Item = Imported>>(memories: T) -> Self {
        let mut file = Self::default();
        memories.into_iter().for_each(|imported| file.push(imported));
        file
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::{MemoryId, RelationType};
    use crate::store::testing::{memory, quote};

    #[test]
    fn memories_come_back_in_order_and_complete() {
        let imported = |at: usize| {
            let mut imported = Imported::new(memory("Tea", &format!("Line\n{at}.")), IdOrigin::Line);
            imported.evidence = vec![quote("so\u{2028}said")];
            imported.relations = vec![(RelationType::Supports, MemoryId::new())];
            imported.absent = vec!["subject".to_owned()];
            imported.memory.claim.importance = 0.123_456;
            imported
        };
        let all: Vec<Imported> = (0..2 * KEPT + 3).map(imported).collect();
        let file: MemoryFile = all.iter().cloned().collect();
        assert_eq!(file.recent.len(), 3, "the others are in the file");
        // Each reading begins with the first memory.
        for _ in 0..2 {
            let mut found = Vec::new();
            let read = file.each(|imported| {
                found.push(imported);
                Ok::<_, StoreError>(())
            });
            read.unwrap();
            assert_eq!(found, all);
        }
        let stopped = file.each(|_| Err(StoreError::NothingToUndo));
        assert!(matches!(stopped, Err(StoreError::NothingToUndo)));
    }

    #[test]
    fn a_temporary_file_that_cannot_be_written_stops_the_import() {
        let file = MemoryFile { failed: Some(io::ErrorKind::StorageFull), ..MemoryFile::default() };
        let read = file.each(|_| Ok::<_, StoreError>(()));
        let error = read.unwrap_err().to_string();
        assert!(error.contains("TMPDIR") && !error.contains("--db"), "{error}");
    }
}
