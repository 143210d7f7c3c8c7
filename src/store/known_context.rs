//! The lines that agents read at every start, so that they are not learnt again.

use rusqlite::params;
use serde::{Deserialize, Serialize};

use super::{Database, StoreError, Writer};
use crate::guard::{Redact, Redacted};
use crate::memory::Namespace;

/// A line of a file that agents read at every start.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KnownLine {
    /// The file's name, after digits that tell its folder.
    pub origin: String,
    /// The line, without marks of lists.
    pub text: String,
}

impl Redact for KnownLine {
    fn edit_texts(&mut self, edit: &mut dyn FnMut(&mut String)) {
        edit(&mut self.text);
    }
}

const KNOWN: &str = "
    WITH RECURSIVE spaces (namespace) AS (
        VALUES (?1)
        UNION SELECT merges.namespace FROM project_merges merges JOIN spaces ON merges.into_namespace = spaces.namespace
    )
    SELECT DISTINCT origin, text FROM known_context JOIN spaces USING (namespace) ORDER BY origin, text";

impl Database {
    /// Returns what agents are told in `namespace` and in what was merged into it, by file and text.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub fn known_context(&self, namespace: &Namespace) -> Result<Vec<KnownLine>, StoreError> {
        self.read(|conn| {
            let mut statement = conn.prepare_cached(KNOWN)?;
            let found = statement
                .query_map([namespace.to_string()], |row| Ok(KnownLine { origin: row.get(0)?, text: row.get(1)? }))?;
            Ok(found.collect::<Result<_, _>>()?)
        })
    }
}

impl Writer<'_> {
    /// Replaces what the files of `lines` tell in `namespace`; returns how many lines are new.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be written.
    pub fn set_known_context(
        &self,
        namespace: &Namespace,
        lines: &Redacted<Vec<KnownLine>>,
    ) -> Result<usize, StoreError> {
        let before = self.known_context(namespace)?;
        let place = namespace.to_string();
        self.read(|conn| {
            for line in lines.iter() {
                conn.prepare_cached("DELETE FROM known_context WHERE namespace = ?1 AND origin = ?2")?
                    .execute(params![place, line.origin])?;
            }
            for line in lines.iter() {
                conn.prepare_cached(
                    "INSERT OR IGNORE INTO known_context (namespace, origin, text) VALUES (?1, ?2, ?3)",
                )?
                .execute(params![place, line.origin, line.text])?;
            }
            Ok(())
        })?;
        let after = self.known_context(namespace)?;
        Ok(after.iter().filter(|line| !before.contains(line)).count())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::guard::Guard;
    use crate::store::Store;
    use jiff::Timestamp;

    #[test]
    fn a_file_that_changed_tells_what_it_says_now() {
        let (store, guard, place) = (Store::in_memory().unwrap(), Guard::default(), Namespace::global());
        let set = |origin: &str, texts: &[&str]| {
            let lines = texts.iter().map(|text| KnownLine { origin: origin.into(), text: (*text).into() });
            let lines = guard.redact(lines.collect::<Vec<_>>()).0;
            store.write(None, Timestamp::UNIX_EPOCH, |writer| writer.set_known_context(&place, &lines)).unwrap()
        };
        assert_eq!((set("A.md", &["a", "b"]), set("B.md", &["c"]), set("A.md", &["b", "d"])), (2, 1, 1));
        let texts: Vec<_> = store.known_context(&place).unwrap().into_iter().map(|line| line.text).collect();
        assert_eq!(texts, ["b", "d", "c"]);
        assert!(store.known_context(&Namespace::project("x").unwrap()).unwrap().is_empty());
    }
}
