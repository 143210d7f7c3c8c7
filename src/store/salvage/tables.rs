//! What our tables look like, as a new file of the same version has them, and where a damaged one keeps them.

use std::collections::BTreeMap;
use std::path::Path;

use rusqlite::Connection;
use rusqlite::types::Value;

use super::pages::Pages;
use super::tree::{Kind, Reader, Row};
use crate::store::StoreError;
use crate::store::open::make_version;

/// Tables that are made anew from others: their names begin so.
const DERIVED: [&str; 2] = ["search_", "memory_near"];

/// A column, as it is declared.
struct Column {
    name: String,
    kind: String,
    may_be_null: bool,
}

/// One of our tables.
pub(super) struct Table {
    pub(super) name: String,
    pub(super) kind: Kind,
    /// In the order in which a row stores them.
    columns: Vec<Column>,
    /// How many of them a row has at least; those of later versions are missing in rows that are older.
    least: usize,
    /// Which of them is the number of the row.
    number: Option<usize>,
    /// Indexes that know every row.
    pub(super) indexes: Vec<String>,
}

impl Table {
    /// Whether it is not taken over, but made anew.
    pub(super) fn is_derived(&self) -> bool {
        DERIVED.iter().any(|begin| self.name.starts_with(begin))
    }

    /// Whether a row can be one of this table.
    pub(super) fn fits(&self, (number, values): &Row) -> bool {
        let fits = |(place, (column, value)): (usize, (&Column, &Value))| match (column.kind.as_str(), value) {
            (_, Value::Null) => column.may_be_null || self.number == Some(place),
            ("INTEGER", Value::Integer(_)) => self.number != Some(place),
            ("REAL", Value::Integer(_) | Value::Real(_)) | ("TEXT", Value::Text(_)) | ("BLOB", Value::Blob(_)) => true,
            (kind, _) => kind.is_empty() || kind == "ANY",
        };
        number.is_some() == (self.kind == Kind::Table)
            && (self.least..=self.columns.len()).contains(&values.len())
            && self.columns.iter().zip(values).enumerate().all(fits)
    }

    /// Returns the statement that writes a row of so many values.
    pub(super) fn insert(&self, values: usize) -> String {
        let names: Vec<String> =
            self.columns.iter().take(values).map(|column| format!("\"{}\"", column.name)).collect();
        let places: Vec<String> = (1..=values).map(|place| format!("?{place}")).collect();
        format!("INSERT INTO \"{}\" ({}) VALUES ({})", self.name, names.join(", "), places.join(", "))
    }

    /// Returns the values of a row as they are written.
    pub(super) fn written(&self, (number, mut values): Row) -> Vec<Value> {
        if let (Some(place), Some(number)) = (self.number, number)
            && let Some(value) = values.get_mut(place)
        {
            *value = Value::Integer(number);
        }
        values
    }
}

/// Returns the tables of a file, those that are only a part of another included, by name.
pub(super) fn tables(conn: &Connection) -> Result<Vec<Table>, StoreError> {
    let mut statement = conn.prepare(
        "SELECT name, wr FROM pragma_table_list
         WHERE schema = 'main' AND type IN ('table', 'shadow') AND name NOT LIKE 'sqlite_%' ORDER BY name",
    )?;
    let found = statement.query_map((), |row| Ok((row.get(0)?, row.get(1)?)))?;
    found
        .map(|table| table.map_err(StoreError::from).and_then(|(name, is_keyed)| table_of(conn, name, is_keyed)))
        .collect()
}

fn table_of(conn: &Connection, name: String, is_keyed: bool) -> Result<Table, StoreError> {
    let mut statement = conn.prepare("SELECT name, type, \"notnull\", pk FROM pragma_table_info(?1) ORDER BY cid")?;
    let columns = statement.query_map([&name], |row| {
        let column = Column { name: row.get(0)?, kind: row.get(1)?, may_be_null: !row.get::<_, bool>(2)? };
        Ok((row.get::<_, usize>(3)?, column))
    })?;
    let mut columns: Vec<(usize, Column)> = columns.collect::<Result<_, _>>()?;
    let keys = columns.iter().filter(|(key, _)| *key > 0).count();
    let is_number = |(key, column): &(usize, Column)| keys == 1 && *key == 1 && column.kind == "INTEGER";
    let number = if is_keyed { None } else { columns.iter().position(is_number) };
    if is_keyed {
        // The key comes first, in its own order, then the rest as it is declared.
        columns.sort_by_key(|(key, _)| if *key == 0 { usize::MAX } else { *key });
    }
    let mut statement =
        conn.prepare("SELECT name FROM pragma_index_list(?1) WHERE partial = 0 AND origin <> 'pk' ORDER BY name")?;
    let indexes = statement.query_map([&name], |row| row.get(0))?.collect::<Result<_, _>>()?;
    let kind = if is_keyed { Kind::Index } else { Kind::Table };
    let columns: Vec<Column> = columns.into_iter().map(|(_, column)| column).collect();
    Ok(Table { name, kind, least: columns.len(), columns, number, indexes })
}

/// Returns the tables of a file of this version, with how many columns each had when it was first made.
pub(super) fn tables_of(conn: &Connection, version: i64) -> Result<Vec<Table>, StoreError> {
    let mut all = tables(conn)?;
    let mut earlier = Connection::open_in_memory()?;
    for version in 1..version {
        make_version(&mut earlier, Path::new(":memory:"), version)?;
        for before in tables(&earlier)? {
            let same = all.iter_mut().find(|table| table.name == before.name);
            if let Some(table) = same {
                table.least = table.least.min(before.columns.len());
            }
        }
    }
    Ok(all)
}

/// Where a file keeps its tables and indexes.
pub(super) struct Roots {
    pages: BTreeMap<String, u32>,
    /// Indexes, and all else that is a tree of this kind.
    indexes: Vec<String>,
}

impl Roots {
    /// Reads the list of tables, and what can be found of it where it is damaged itself.
    pub(super) fn read(pages: &Pages, reader: &mut Reader<'_>) -> Self {
        let mut roots = Self { pages: BTreeMap::new(), indexes: Vec::new() };
        let damaged = reader.walk(1, Kind::Table, &mut |row| roots.note(&row));
        if damaged > 0 {
            for page in reader.unseen() {
                let rows = Reader::new(pages).stray(page, Kind::Table).unwrap_or_default();
                for row in &rows {
                    roots.note(row);
                }
            }
        }
        roots
    }

    /// Notes a row, if it has the shape of one of the list: kind, name, table, root, statement.
    fn note(&mut self, (_, values): &Row) -> bool {
        let [Value::Text(kind), Value::Text(name), Value::Text(_), Value::Integer(root), _] = values.as_slice() else {
            return false;
        };
        let root = u32::try_from(*root).ok().filter(|root| *root > 1);
        if let (Some(root), "table" | "index", false) = (root, kind.as_str(), self.pages.contains_key(name)) {
            if kind == "index" {
                self.indexes.push(name.clone());
            }
            self.pages.insert(name.clone(), root);
        }
        true
    }

    pub(super) fn of(&self, name: &str) -> Option<u32> {
        self.pages.get(name).copied()
    }

    /// Whether the list has all that stands in it in a new file of this version.
    pub(super) fn are_all(&self, conn: &Connection) -> Result<bool, StoreError> {
        let mut statement = conn.prepare(
            "SELECT name FROM sqlite_master WHERE rootpage > 1 AND name NOT LIKE 'sqlite_stat%' ORDER BY name",
        )?;
        let names: Vec<String> = statement.query_map((), |row| row.get(0))?.collect::<Result<_, _>>()?;
        Ok(names.iter().all(|name| self.pages.contains_key(name)))
    }

    pub(super) fn indexes(&self) -> impl Iterator<Item = (&str, u32)> {
        self.indexes.iter().filter_map(|name| Some((name.as_str(), self.of(name)?)))
    }
}
