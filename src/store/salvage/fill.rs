//! Every row that can be read, into a new file, and a count of those that cannot.

use std::collections::{BTreeMap, HashSet};

use rusqlite::types::Value;
use rusqlite::{Connection, ErrorCode, params_from_iter};

use super::Loss;
use super::pages::Pages;
use super::tables::{Roots, Table};
use super::tree::{Damage, Kind, Reader, Row};
use crate::store::StoreError;

/// A table that is being taken over.
struct Taken<'t> {
    table: &'t Table,
    /// Rows that are in the new file.
    kept: usize,
    /// Their numbers, where they have any.
    numbers: HashSet<i64>,
    damage: Damage,
}

/// Writes every row of `tables` that can be read into `conn`, and returns what could not, by table. Tables that are made
/// anew are left out.
pub(super) fn fill(
    conn: &Connection,
    pages: &Pages,
    roots: &Roots,
    mut reader: Reader<'_>,
    tables: &[Table],
) -> Result<Vec<Loss>, StoreError> {
    let mut all = Vec::new();
    for table in tables {
        let mut taken = Taken { table, kept: 0, numbers: HashSet::new(), damage: Damage::default() };
        match roots.of(&table.name) {
            Some(root) => taken.read(conn, &mut reader, root)?,
            None => taken.damage.pages = 1,
        }
        if taken.damage.is_none() {
            taken.numbers = HashSet::new();
        }
        all.push(taken);
    }
    let known = Known::read(&mut reader, roots, &all);
    if let Some(free) = pages.free() {
        let unseen = reader.unseen().into_iter().filter(|page| !free.contains(page));
        for page in unseen.collect::<Vec<_>>() {
            adopt(conn, &mut reader, &known, &mut all, page)?;
        }
    }
    Ok(all.iter().filter(|taken| !taken.table.is_derived()).map(|taken| known.loss(taken)).collect())
}

impl Taken<'_> {
    fn read(&mut self, conn: &Connection, reader: &mut Reader<'_>, root: u32) -> Result<(), StoreError> {
        let mut failed = None;
        let kind = self.table.kind;
        let mut take = |row: Row| {
            if failed.is_none() {
                failed = self.take(conn, row).err();
            }
        };
        let damage = reader.walk(root, kind, &mut take);
        self.damage.pages += damage.pages;
        self.damage.rows += damage.rows;
        failed.map_or(Ok(()), Err)
    }

    /// Writes a row, if it is one of this table.
    fn take(&mut self, conn: &Connection, row: Row) -> Result<(), StoreError> {
        if self.table.is_derived() {
            return Ok(());
        }
        let number = row.0;
        if !self.table.fits(&row) || !written(conn, self.table, row)? {
            self.damage.rows += 1;
            return Ok(());
        }
        self.kept += 1;
        self.numbers.extend(number);
        Ok(())
    }
}

/// Writes a row; returns whether the table could take it.
fn written(conn: &Connection, table: &Table, row: Row) -> Result<bool, StoreError> {
    let values = table.written(row);
    match conn.prepare_cached(&table.insert(values.len()))?.execute(params_from_iter(values)) {
        Ok(_) => Ok(true),
        Err(error) if error.sqlite_error_code() == Some(ErrorCode::ConstraintViolation) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Takes the rows of a page that hangs on nothing, where it can only be of one table.
fn adopt(
    conn: &Connection,
    reader: &mut Reader<'_>,
    known: &Known,
    all: &mut [Taken<'_>],
    page: u32,
) -> Result<(), StoreError> {
    for kind in [Kind::Table, Kind::Index] {
        let Some(rows) = reader.stray(page, kind) else { continue };
        let is_home = |taken: &Taken<'_>| {
            taken.damage.pages > 0 && taken.table.kind == kind && rows.iter().all(|row| taken.table.fits(row))
        };
        let homes: Vec<usize> = (0..all.len()).filter(|place| is_home(&all[*place])).collect();
        // A page of an index looks like one of a table by key.
        if let ([home], true) = (homes.as_slice(), kind == Kind::Table || known.are_whole) {
            for row in rows {
                all[*home].take(conn, row)?;
            }
        }
    }
    Ok(())
}

/// What the indexes know of damaged tables.
struct Known {
    /// By table: numbers of rows, or how many there are; and whether an index that could be read whole says so.
    numbers: BTreeMap<String, (HashSet<i64>, usize, bool)>,
    /// Whether every index could be read.
    are_whole: bool,
}

impl Known {
    fn read(reader: &mut Reader<'_>, roots: &Roots, all: &[Taken<'_>]) -> Self {
        let mut known = Self { numbers: BTreeMap::new(), are_whole: true };
        for (name, root) in roots.indexes() {
            let of = |taken: &&Taken<'_>| taken.table.indexes.iter().any(|index| index == name);
            let damaged = all.iter().find(of).filter(|taken| !taken.damage.is_none());
            let (mut numbers, mut count) = (HashSet::new(), 0);
            let damage = reader.walk(root, Kind::Index, &mut |(_, values)| {
                count += 1;
                if let (Some(_), Some(Value::Integer(number))) = (damaged, values.last()) {
                    numbers.insert(*number);
                }
            });
            known.are_whole &= damage.is_none();
            let Some(taken) = damaged else { continue };
            let entry = known.numbers.entry(taken.table.name.clone()).or_default();
            entry.0.extend(numbers);
            entry.1 = entry.1.max(count);
            entry.2 |= damage.is_none();
        }
        known
    }

    fn loss(&self, taken: &Taken<'_>) -> Loss {
        let (table, kept, pages) = (taken.table.name.clone(), taken.kept, taken.damage.pages);
        let told = self.numbers.get(&table);
        let known = told.map_or(0, |(numbers, count, _)| match taken.table.kind {
            Kind::Table => numbers.difference(&taken.numbers).count(),
            Kind::Index => count.saturating_sub(kept),
        });
        let is_told = told.is_some_and(|(_, _, is_whole)| *is_whole);
        let lost = if is_told { known } else { known.max(taken.damage.rows) };
        Loss { table, kept, lost, is_exact: is_told || taken.damage.is_none(), pages, restored: 0 }
    }
}
