//! Copies the rows of a damaged table that SQLite can read.

use std::collections::{BTreeSet, VecDeque};

use rusqlite::types::Value as SqlValue;
use rusqlite::{Connection, ErrorCode, params_from_iter};

use crate::store::StoreError;
use crate::store::row::query_all;

/// Maximum number of ranges that are tried for one damaged table. Most ranges are single rows on a damaged page.
// Each range costs up to two queries, and with sparse row numbers, halving could continue for a very long time.
const MAX_RANGES: usize = 20_000;

/// The state of copying one table.
pub(super) struct TableReader<'c> {
    from: &'c Connection,
    to: &'c Connection,
    table: &'c str,
    /// Quoted names of the columns.
    columns: String,
    /// Columns of the key, for tables without row numbers.
    key: Vec<String>,
    insert: String,
    pub(super) kept: usize,
    pub(super) is_damaged: bool,
}

impl<'c> TableReader<'c> {
    pub(super) fn new(from: &'c Connection, to: &'c Connection, table: &'c str) -> Result<Self, StoreError> {
        let sql = "SELECT name, pk FROM pragma_table_info(?1) ORDER BY cid";
        let columns: Vec<(String, usize)> =
            query_all(to, sql, [table], |row| Ok((format!("\"{}\"", row.get::<_, String>(0)?), row.get(1)?)))?;
        let mut key: Vec<&(String, usize)> = columns.iter().filter(|(_, place)| *place > 0).collect();
        key.sort_by_key(|(_, place)| *place);
        let key = key.into_iter().map(|(name, _)| name.clone()).collect();
        let values = vec!["?"; columns.len()].join(", ");
        let columns = columns.into_iter().map(|(name, _)| name).collect::<Vec<_>>().join(", ");
        let insert = format!("INSERT INTO \"{table}\" ({columns}) VALUES ({values})");
        Ok(Self { from, to, table, columns, key, insert, kept: 0, is_damaged: false })
    }

    pub(super) fn by_ranges(&mut self) -> Result<(), StoreError> {
        self.in_ranges([(i64::MIN, i64::MAX)].into())?;
        if self.is_damaged {
            // If the last page of a table is damaged, every number above the last row leads to this page, so halving
            // the range up to the greatest possible number would not reach the rows before it.
            for number in self.indexed_numbers()? {
                self.scan("rowid = ?1", &[number])?;
            }
            // A page that was overwritten with a page of other rows has numbers out of order: a scan that meets them
            // ends early without an error, or continues after rows that it has not read.
            self.in_ranges(self.gaps()?)?;
        }
        Ok(())
    }

    /// Returns the numbers of rows that are in an index but were not copied.
    fn indexed_numbers(&self) -> Result<BTreeSet<i64>, StoreError> {
        let sql = "SELECT list.name, info.name FROM pragma_index_list(?1) list JOIN pragma_index_info(list.name) info
             WHERE list.partial = 0 AND info.seqno = 0 AND info.name IS NOT NULL";
        let indexes: Vec<(String, String)> =
            query_all(self.to, sql, [self.table], |row| Ok((row.get(0)?, row.get(1)?)))?;
        let mut numbers = BTreeSet::new();
        for ((index, first), direction) in indexes.iter().flat_map(|index| [(index, ""), (index, "DESC")]) {
            let sql =
                format!("SELECT rowid FROM \"{}\" INDEXED BY \"{index}\" ORDER BY \"{first}\" {direction}", self.table);
            // An index may be damaged as well; the others, and its other end, may still be read.
            if let Ok(mut statement) = self.from.prepare(&sql)
                && let Ok(found) = statement.query_map((), |row| row.get::<_, i64>(0))
            {
                numbers.extend(found.map_while(Result::ok));
            }
        }
        let mut copied = self.to.prepare(&format!("SELECT 1 FROM \"{}\" WHERE rowid = ?1", self.table))?;
        let mut missing = BTreeSet::new();
        for number in numbers {
            if !copied.exists([number])? {
                missing.insert(number);
            }
        }
        Ok(missing)
    }

    /// Copies the rows of these ranges of row numbers, and divides each range that was not read completely.
    fn in_ranges(&mut self, mut ranges: VecDeque<(i64, i64)>) -> Result<(), StoreError> {
        for _ in 0..MAX_RANGES {
            let Some((mut low, mut high)) = ranges.pop_front() else { break };
            let (last, is_done) = self.scan("rowid BETWEEN ?1 AND ?2 ORDER BY rowid", &[low, high])?;
            let is_bounded = low > i64::MIN && high < i64::MAX;
            if is_done && !is_bounded {
                continue;
            }
            // The range starts after the last row that was read, so that the other scan does not copy it again.
            low = last.filter(|last| (low..=high).contains(last)).map_or(low, |last| last.saturating_add(1));
            let (first, is_done) = self.scan("rowid BETWEEN ?1 AND ?2 ORDER BY rowid DESC", &[low, high])?;
            high = first.filter(|first| (low..=high).contains(first)).map_or(high, |first| first.saturating_sub(1));
            if low < high && (is_bounded || !is_done) {
                let middle = i64::midpoint(low, high);
                // A queue is used instead of recursion, so that all large gaps are tried before small gaps.
                ranges.extend([(low, middle), (middle + 1, high)]);
            }
        }
        Ok(())
    }

    /// Returns the ranges of row numbers without a copied row, the largest first.
    fn gaps(&self) -> Result<VecDeque<(i64, i64)>, StoreError> {
        let sql = format!(
            "SELECT number + 1, next - 1 FROM (SELECT rowid AS number, lead(rowid) OVER (ORDER BY rowid) AS next FROM \"{}\")
             WHERE next - number > 1 ORDER BY next - number DESC LIMIT {MAX_RANGES}",
            self.table
        );
        Ok(query_all(self.to, &sql, (), |row| Ok((row.get(0)?, row.get(1)?)))?.into())
    }

    pub(super) fn by_key(&mut self) -> Result<(), StoreError> {
        let (ascending, descending) = (self.key.join(", "), self.key.join(" DESC, "));
        // A table without row numbers cannot be read in ranges; if both scans reach a row, inserting it again violates
        // the key.
        if !self.scan(&format!("1 ORDER BY {ascending}"), &[])?.1 {
            self.scan(&format!("1 ORDER BY {descending} DESC"), &[])?;
        }
        Ok(())
    }

    /// Copies rows up to the first row that SQLite cannot read. Returns the number of the last copied row, and whether
    /// all rows were read.
    fn scan(&mut self, condition: &str, values: &[i64]) -> Result<(Option<i64>, bool), StoreError> {
        let number = if values.is_empty() { "0" } else { "rowid" };
        let sql = format!("SELECT {number}, {} FROM \"{}\" WHERE {condition}", self.columns, self.table);
        let mut last = None;
        let read = self.from.prepare_cached(&sql).and_then(|mut statement| {
            let width = statement.column_count();
            let mut rows = statement.query(params_from_iter(values))?;
            while let Some(row) = rows.next()? {
                last = Some(row.get(0)?);
                // This program writes only UTF-8, so other bytes come from a damaged page.
                let values: Result<Vec<SqlValue>, _> = (1..width).map(|index| row.get(index)).collect();
                match values.and_then(|values| self.to.prepare_cached(&self.insert)?.execute(params_from_iter(values)))
                {
                    Ok(_) => self.kept += 1,
                    Err(error) if is_of_row(&error) => self.is_damaged = true,
                    Err(error) => return Ok(Err(error)),
                }
            }
            Ok(Ok(()))
        });
        match read {
            Ok(Ok(())) => Ok((last, true)),
            Err(error) if is_of_page(&error) => {
                self.is_damaged = true;
                Ok((last, false))
            }
            // The new file cannot be written, or the old file is unreadable for another reason.
            Ok(Err(error)) | Err(error) => Err(error.into()),
        }
    }
}

/// Returns whether the error concerns a row that does not fit its table, for example because a page of another table
/// overwrote the page.
fn is_of_row(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::ConstraintViolation | ErrorCode::TypeMismatch))
        || matches!(error, rusqlite::Error::FromSqlConversionFailure(..) | rusqlite::Error::Utf8Error(..))
}

fn is_of_page(error: &rusqlite::Error) -> bool {
    let is_no_table = |text: &str| text.starts_with("no such table") || text.starts_with("no such column");
    match error {
        // The list of tables may also be damaged; in that case, the table counts as unreadable.
        rusqlite::Error::SqliteFailure(_, Some(text)) if is_no_table(text) => true,
        rusqlite::Error::SqlInputError { msg, .. } if is_no_table(msg) => true,
        error => matches!(
            error.sqlite_error_code(),
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::SystemIoFailure | ErrorCode::TooBig | ErrorCode::OutOfMemory)
        ),
    }
}
