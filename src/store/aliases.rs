//! What a person said of projects: names for them, folders that belong to them, and which of them are one.

use rusqlite::{OptionalExtension, params};

use super::row::spelled;
use super::{Database, RunId, StoreError, Writer};
use crate::memory::Namespace;

/// Merges that are followed from one project to the next.
const MAX_MERGES: usize = 32;

/// What stands for a project.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Alias<'a> {
    /// A folder, with all below it.
    Path(&'a str),
    /// A name.
    Name(&'a str),
}

impl Alias<'_> {
    fn row(&self) -> (&str, &str) {
        match self {
            Self::Path(path) => ("path", path),
            Self::Name(name) => ("name", name),
        }
    }
}

impl Database {
    /// Returns the namespace into which this one was merged, or itself.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub fn merged_into(&self, namespace: &Namespace) -> Result<Namespace, StoreError> {
        let mut namespace = namespace.clone();
        for _ in 0..MAX_MERGES {
            let next = self.read(|conn| {
                Ok(conn
                    .prepare_cached("SELECT into_namespace FROM project_merges WHERE namespace = ?1")?
                    .query_row([namespace.to_string()], |row| spelled(row, 0))
                    .optional()?)
            })?;
            match next {
                Some(next) => namespace = next,
                None => break,
            }
        }
        Ok(namespace)
    }

    /// Returns the project that a person named so.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub fn alias_named(&self, name: &str) -> Result<Option<Namespace>, StoreError> {
        self.read(|conn| {
            Ok(conn
                .prepare_cached("SELECT namespace FROM project_aliases WHERE kind = 'name' AND value = ?1")?
                .query_row([name], |row| spelled(row, 0))
                .optional()?)
        })
    }

    /// Returns the project to which a person gave the folder or the nearest one above it.
    pub(super) fn alias_of(&self, path: &str) -> Result<Option<Namespace>, StoreError> {
        let given: Vec<(String, Namespace)> = self.read(|conn| {
            let mut statement = conn.prepare_cached(
                "SELECT value, namespace FROM project_aliases WHERE kind = 'path' ORDER BY length(value) DESC, value",
            )?;
            let found = statement.query_map((), |row| Ok((row.get(0)?, spelled(row, 1)?)))?;
            Ok(found.collect::<Result<_, _>>()?)
        })?;
        let holds = |folder: &str| {
            path.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', '\\']))
        };
        Ok(given.into_iter().find(|(folder, _)| holds(folder)).map(|(_, namespace)| namespace))
    }
}

impl Writer<'_> {
    /// Lets a name or a folder stand for a project, in place of what it stood for before.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be written.
    pub fn set_alias(&self, alias: Alias<'_>, namespace: &Namespace) -> Result<(), StoreError> {
        let (kind, value) = alias.row();
        self.read(|conn| {
            conn.prepare_cached(
                "INSERT INTO project_aliases (kind, value, namespace) VALUES (?1, ?2, ?3)
                 ON CONFLICT (kind, value) DO UPDATE SET namespace = ?3",
            )?
            .execute(params![kind, value, namespace.to_string()])?;
            Ok(())
        })
    }

    /// Sends what belongs to `from` to `into` from now on, until the run of this write is undone.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be written.
    pub fn note_merge(&self, from: &Namespace, into: &Namespace) -> Result<(), StoreError> {
        self.read(|conn| {
            conn.prepare_cached(
                "INSERT INTO project_merges (namespace, into_namespace, run_id) VALUES (?1, ?2, ?3)
                 ON CONFLICT (namespace) DO UPDATE SET into_namespace = ?2, run_id = ?3",
            )?
            .execute(params![from.to_string(), into.to_string(), self.run.map_or("", RunId::as_str)])?;
            Ok(())
        })
    }

    /// Takes back what [`Writer::note_merge`] noted for a run.
    pub(super) fn forget_merges(&self, run: &RunId) -> Result<(), StoreError> {
        self.read(|conn| {
            conn.prepare_cached("DELETE FROM project_merges WHERE run_id = ?1")?.execute([run.as_str()])?;
            Ok(())
        })
    }
}
