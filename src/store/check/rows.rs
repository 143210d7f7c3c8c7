//! Pages and links between rows.

use super::{Checked, FlawKind};
use crate::store::{Database, StoreError};

/// Messages about damage that are asked for.
const MOST: usize = 20;

impl Database {
    pub(super) fn check_pages(&self, checked: &mut Checked) -> Result<(), StoreError> {
        self.examine_pages("integrity_check", checked)
    }

    /// Damage that keeps the check itself from going on is a flaw like any other.
    pub(super) fn examine_pages(&self, pragma: &str, checked: &mut Checked) -> Result<(), StoreError> {
        match self.said_of_pages(pragma) {
            Ok(said) => {
                let amiss: Vec<String> = said.into_iter().filter(|line| line != "ok").collect();
                checked.add_each(FlawKind::Damaged, "pages contradict each other", &amiss);
            }
            Err(error @ StoreError::Corrupt { .. }) => checked.add(FlawKind::Damaged, error.to_string(), 1),
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// Returns what SQLite says about the pages.
    pub(super) fn said_of_pages(&self, pragma: &str) -> Result<Vec<String>, StoreError> {
        self.read(|conn| {
            let mut statement = conn.prepare(&format!("PRAGMA {pragma}({MOST})"))?;
            Ok(statement.query_map((), |row| row.get(0))?.collect::<Result<Vec<String>, _>>()?)
        })
    }

    pub(super) fn check_links(&self, checked: &mut Checked) -> Result<(), StoreError> {
        self.read(|conn| {
            checked.memories = conn.query_row("SELECT count(*) FROM memories", (), |row| row.get(0))?;
            checked.history = conn.query_row("SELECT count(*) FROM history", (), |row| row.get(0))?;
            let mut statement = conn.prepare("PRAGMA foreign_key_check")?;
            let dangling = statement.query_map((), |row| {
                let (table, row, parent): (String, Option<i64>, String) = (row.get(0)?, row.get(1)?, row.get(2)?);
                Ok(format!(
                    "{table} {} without its row in {parent}",
                    row.map_or_else(String::new, |row| row.to_string())
                ))
            })?;
            let dangling: Vec<String> = dangling.collect::<Result<_, _>>()?;
            checked.add_each(FlawKind::Dangling, "rows hang on nothing", &dangling);
            let mut statement = conn
                .prepare("SELECT id FROM memories WHERE id NOT IN (SELECT memory_id FROM memory_usage) ORDER BY id")?;
            let uncounted: Vec<String> = statement.query_map((), |row| row.get(0))?.collect::<Result<_, _>>()?;
            checked.add_each(FlawKind::Uncounted, "memories without counts of their uses", &uncounted);
            Ok(())
        })
    }
}
