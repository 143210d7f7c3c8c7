//! Every row that can be read, into a new file, and a count of those that cannot.

use std::collections::{BTreeMap, HashSet};

use rusqlite::types::Value;
use rusqlite::{Connection, ErrorCode, params_from_iter};

use super::Loss;
use super::pages::Pages;
use super::tables::{Roots, Table};
use super::tree::{Kind, Reader, Row};
use crate::store::StoreError;

/// A table that is being taken over.
struct Taken<'t> {
    table: &'t Table,
    /// Rows that are in the new file.
    kept: usize,
    /// Their numbers, where they have any.
    numbers: HashSet<i64>,
    /// Pages that could not be read, or not wholly.
    damaged: usize,
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
        let mut taken = Taken { table, kept: 0, numbers: HashSet::new(), damaged: 0 };
        match roots.of(&table.name) {
            Some(root) => taken.read(conn, &mut reader, root)?,
            None => taken.damaged = 1,
        }
        if taken.damaged == 0 {
            taken.numbers = HashSet::new();
        }
        all.push(taken);
    }
    let mut known = Known::read(&mut reader, roots, &all);
    known.are_whole &= roots.are_all(conn)?;
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
        let (mut failed, kind) = (None, self.table.kind);
        let mut take = |row: Row| {
            let taken = if failed.is_none() { self.take(conn, row) } else { Ok(false) };
            taken.unwrap_or_else(|error| {
                failed = Some(error);
                false
            })
        };
        let damaged = reader.walk(root, kind, &mut take);
        self.damaged += damaged;
        failed.map_or(Ok(()), Err)
    }

    /// Writes a row, and returns whether it is one of this table.
    fn take(&mut self, conn: &Connection, row: Row) -> Result<bool, StoreError> {
        if self.table.is_derived() {
            return Ok(true);
        }
        let number = row.0;
        if !self.table.fits(&row) || !written(conn, self.table, row)? {
            return Ok(false);
        }
        self.kept += 1;
        self.numbers.extend(number);
        Ok(true)
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
            taken.damaged > 0 && taken.table.kind == kind && rows.iter().all(|row| taken.table.fits(row))
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
    /// By table: the numbers of its rows, and how many there are, as an index says that could be read whole.
    rows: BTreeMap<String, (HashSet<i64>, usize)>,
    /// Whether every index could be read.
    are_whole: bool,
}

impl Known {
    fn read(reader: &mut Reader<'_>, roots: &Roots, all: &[Taken<'_>]) -> Self {
        let mut known = Self { rows: BTreeMap::new(), are_whole: true };
        for (name, root) in roots.indexes() {
            let of = |taken: &&Taken<'_>| taken.table.indexes.iter().any(|index| index == name);
            let table = all.iter().find(of).filter(|taken| taken.damaged > 0);
            let (mut numbers, mut count, mut last) = (HashSet::new(), 0, Vec::new());
            let damaged = reader.walk(root, Kind::Index, &mut |(_, values)| {
                // A page of another index, or of another place in this one, is out of order.
                let is_in_order = in_order(&last, &values);
                count += 1;
                if let (Some(_), Some(Value::Integer(number))) = (table, values.last()) {
                    numbers.insert(*number);
                }
                last = values;
                is_in_order
            });
            known.are_whole &= damaged == 0;
            if let Some(taken) = table.filter(|_| damaged == 0) {
                known.rows.insert(taken.table.name.clone(), (numbers, count));
            }
        }
        known
    }

    fn loss(&self, taken: &Taken<'_>) -> Loss {
        let table = taken.table.name.clone();
        let lost = match (self.rows.get(&table), taken.table.kind) {
            _ if taken.damaged == 0 => Some(0),
            (Some((numbers, _)), Kind::Table) => Some(numbers.difference(&taken.numbers).count()),
            (Some((_, count)), Kind::Index) => Some(count.saturating_sub(taken.kept)),
            (None, _) => None,
        };
        Loss { table, kept: taken.kept, lost, pages: taken.damaged, restored: 0 }
    }
}

/// Whether one entry of an index may come before another: nothing, then numbers, texts and bytes.
fn in_order(one: &[Value], other: &[Value]) -> bool {
    let rank = |value: &Value| match value {
        Value::Null => 0,
        Value::Integer(_) | Value::Real(_) => 1,
        Value::Text(_) => 2,
        Value::Blob(_) => 3,
    };
    for (one, other) in one.iter().zip(other) {
        let order = match (one, other) {
            (Value::Integer(one), Value::Integer(other)) => one.cmp(other),
            (Value::Real(one), Value::Real(other)) => one.total_cmp(other),
            (Value::Text(one), Value::Text(other)) => one.as_bytes().cmp(other.as_bytes()),
            (Value::Blob(one), Value::Blob(other)) => one.cmp(other),
            (Value::Integer(_), Value::Real(_)) | (Value::Real(_), Value::Integer(_)) => return true,
            _ => rank(one).cmp(&rank(other)),
        };
        if order.is_ne() {
            return order.is_lt();
        }
    }
    true
}
