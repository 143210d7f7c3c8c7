//! Reads the rows of the file without the code that wrote them, and computes them again from the history.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use afterthought::changeset::Tombstone;
use afterthought::memory::{Evidence, Memory, MemoryId, Relation};
use afterthought::store::{Filter, Order, Store};
use rusqlite::Connection;

/// Tables that grow even if the content is unchanged.
const GROWING: &[&str] =
    &["history", "revisions", "runs", "sqlite_sequence", "audit", "passes", "judged", "changesets"];

/// Returns one line per row of every table, and one line per position of each word in the indexes.
pub fn snapshot(conn: &Connection) -> BTreeSet<String> {
    let indexes = names(conn, "sql LIKE 'CREATE VIRTUAL TABLE%'");
    let is_inside = |name: &String| indexes.iter().any(|index| name.starts_with(index));
    let mut tables = names(conn, "true");
    tables.retain(|name| !GROWING.contains(&name.as_str()) && !is_inside(name));
    for index in &indexes {
        let places = format!("temp.{index}_places");
        let sql = format!("CREATE VIRTUAL TABLE IF NOT EXISTS {places} USING fts5vocab(main, {index}, instance)");
        conn.execute_batch(&sql).unwrap();
        tables.push(places);
    }
    tables.iter().flat_map(|table| lines(conn, table)).collect()
}

fn names(conn: &Connection, condition: &str) -> Vec<String> {
    let sql = format!("SELECT name FROM main.sqlite_master WHERE type = 'table' AND {condition} ORDER BY name");
    let mut statement = conn.prepare(&sql).unwrap();
    statement.query_map((), |row| row.get(0)).unwrap().map(Result::unwrap).collect()
}

fn lines(conn: &Connection, table: &str) -> Vec<String> {
    let mut statement = conn.prepare(&format!("SELECT * FROM {table}")).unwrap();
    let names: Vec<String> = statement.column_names().into_iter().map(str::to_owned).collect();
    let mut rows = statement.query(()).unwrap();
    let mut lines = Vec::new();
    while let Some(row) = rows.next().unwrap() {
        let mut line = table.to_owned();
        // Restored evidence gets a new row number.
        for (index, name) in names.iter().enumerate().filter(|(_, name)| table != "evidence" || *name != "id") {
            write!(line, " {name}={:?}", row.get_ref(index).unwrap()).unwrap();
        }
        lines.push(line);
    }
    lines
}

/// All data that the history covers.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct State {
    pub memories: BTreeMap<String, Memory>,
    /// Evidence by memory, transcript, message and quote.
    pub evidence: BTreeMap<(String, String, String, String), Evidence>,
    pub relations: BTreeMap<(String, String, String), Relation>,
    pub tombstones: BTreeMap<String, Tombstone>,
}

impl State {
    /// Reads the current rows.
    pub fn of(store: &Store, conn: &Connection) -> Self {
        let all = Filter { statuses: Vec::new(), ..Filter::default() };
        let mut state = Self::default();
        for memory in store.list(&all, Order::Id, usize::MAX >> 1, 0).unwrap() {
            for piece in store.evidence(&memory.id).unwrap() {
                state.put_evidence(memory.id.as_str(), piece);
            }
            for relation in store.relations(&memory.id).unwrap() {
                state.relations.insert(ends(&relation), relation);
            }
            state.memories.insert(memory.id.to_string(), memory);
        }
        for tombstone in tombstones(conn) {
            state.tombstones.insert(tombstone.memory.to_string(), tombstone);
        }
        state
    }

    fn put_evidence(&mut self, memory: &str, piece: Evidence) {
        self.evidence.insert(place_of(memory, &piece), piece);
    }

    /// Replays every history entry, starting with an empty state.
    pub fn replayed(conn: &Connection) -> Self {
        let mut state = Self::default();
        let mut statement = conn.prepare("SELECT memory_id, entity, before, after FROM history ORDER BY id").unwrap();
        let mut rows = statement.query(()).unwrap();
        while let Some(row) = rows.next().unwrap() {
            let [id, entity] = [0, 1].map(|index| row.get::<_, String>(index).unwrap());
            let [before, after] = [2, 3].map(|index| row.get::<_, Option<String>>(index).unwrap());
            state.step(&id, &entity, before.as_deref(), after.as_deref());
        }
        state
    }

    fn step(&mut self, id: &str, entity: &str, before: Option<&str>, after: Option<&str>) {
        match entity {
            "memory" => {
                self.memories.remove(id);
                self.memories.extend(after.map(|text| (id.to_owned(), parsed::<Memory>(text))));
            }
            "evidence" => {
                if let Some(text) = before {
                    self.evidence.remove(&place_of(id, &parsed(text)));
                }
                if let Some(text) = after {
                    self.put_evidence(id, parsed(text));
                }
            }
            "relation" => {
                if let Some(text) = before {
                    self.relations.remove(&ends(&parsed(text)));
                }
                self.relations.extend(after.map(|text| (ends(&parsed(text)), parsed(text))));
            }
            "tombstone" => {
                self.tombstones.remove(id);
                self.tombstones.extend(after.map(|text| (id.to_owned(), parsed(text))));
            }
            other => panic!("{other:?} is nothing that the history knows"),
        }
    }

    /// Removes the data that was permanently deleted together with its history.
    pub fn without(mut self, purged: &BTreeSet<MemoryId>) -> Self {
        let gone = |id: &str| purged.iter().any(|purged| purged.as_str() == id);
        self.memories.retain(|id, _| !gone(id));
        self.evidence.retain(|(id, ..), _| !gone(id));
        self.relations.retain(|(from, to, _), _| !gone(from) && !gone(to));
        self.tombstones.retain(|id, _| !gone(id));
        self
    }
}

fn parsed<T: serde::de::DeserializeOwned>(text: &str) -> T {
    serde_json::from_str(text).unwrap()
}

fn place_of(memory: &str, piece: &Evidence) -> (String, String, String, String) {
    let message = piece.messages.first().cloned().unwrap_or_default();
    (memory.to_owned(), piece.transcript.clone(), message, piece.quote.clone())
}

fn ends(relation: &Relation) -> (String, String, String) {
    (relation.from.to_string(), relation.to.to_string(), relation.relation_type.to_string())
}

pub fn tombstones(conn: &Connection) -> Vec<Tombstone> {
    let sql = "SELECT memory_id, namespace, content_hash, key, value_hash, reason, at FROM tombstones";
    let mut statement = conn.prepare(sql).unwrap();
    let found = statement.query_map((), |row| {
        Ok(Tombstone {
            memory: MemoryId::from_stored(row.get::<_, String>(0)?),
            namespace: row.get::<_, String>(1)?.parse().unwrap(),
            content_hash: row.get(2)?,
            key: row.get(3)?,
            value_hash: row.get(4)?,
            reason: row.get(5)?,
            at: jiff::Timestamp::from_millisecond(row.get(6)?).unwrap(),
        })
    });
    found.unwrap().map(Result::unwrap).collect()
}

/// Lists the rows that are in only one of two snapshots.
pub fn difference(before: &BTreeSet<String>, after: &BTreeSet<String>) -> Vec<String> {
    let gone = before.difference(after).map(|line| format!("- {line}"));
    gone.chain(after.difference(before).map(|line| format!("+ {line}"))).collect()
}
