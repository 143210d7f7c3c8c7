//! Logs in the tables of a PostgreSQL server.

use std::time::Duration;

use crate::memory::string_enum;
use crate::postgresql::{Connection, PostgresError};

use super::files::{MAX_FILE, hash_of};
use super::log::{AppendOutcome, ChangeLog, Head, LogError, LogItem};

string_enum!(
    /// The set of logs that are used together.
    LogPlace, "a place of logs", {
    /// The logs of machines that share memories.
    Machines = "sync",
    /// The logs of shards, each of which a worker checks out.
    Shards = "shards",
});

/// Logs in a database.
pub(crate) struct PostgresLog {
    connection: Connection,
    place: &'static str,
    notes: Vec<String>,
}

impl PostgresLog {
    /// Returns the logs at `address`. If the connection is lost, attempts to reopen it continue for at most `patience`.
    pub(crate) fn new(address: &str, place: LogPlace, patience: Duration) -> Result<Self, LogError> {
        let connection = Connection::new(address, patience)?;
        Ok(Self { connection, place: place.as_str(), notes: Vec::new() })
    }

    /// Returns the end of one log.
    pub(crate) fn head(&mut self, name: &str) -> Result<Option<Head>, LogError> {
        let place = self.place;
        let sql = "SELECT name, seq, hash, snapshot FROM afterthought.logs WHERE place = $1 AND name = $2";
        Ok(self.connection.with(|client| client.query_opt(sql, &[&place, &name]))?.map(|row| head_of(&row)))
    }

    /// Writes items with consecutive numbers from `seq` if the log ends with the number `expected`.
    fn put(
        &mut self,
        name: &str,
        (expected, seq): (u64, u64),
        is_snapshot: bool,
        items: &[Vec<u8>],
    ) -> Result<AppendOutcome, LogError> {
        let items = items.iter().zip(seq..);
        let items: Vec<_> = items.map(|(bytes, seq)| (seq.cast_signed(), hash_of(bytes), bytes)).collect();
        let Some((last, hash, bytes)) = items.last() else { return Err(LogError::Busy) };
        let (place, expected, snapshot) = (self.place, expected.cast_signed(), is_snapshot.then_some(*last));
        let is_done = self.connection.with(|client| {
            let mut transaction = client.transaction()?;
            let moved = if expected == 0 {
                transaction.execute(
                    "INSERT INTO afterthought.logs (place, name, seq, hash, snapshot) VALUES ($1, $2, $3, $4, $5)
                     ON CONFLICT DO NOTHING",
                    &[&place, &name, last, hash, &snapshot],
                )?
            } else {
                transaction.execute(
                    "UPDATE afterthought.logs SET seq = $3, hash = $4, snapshot = coalesce($5, snapshot)
                     WHERE place = $1 AND name = $2 AND seq = $6",
                    &[&place, &name, last, hash, &snapshot, &expected],
                )?
            };
            if moved == 0 {
                // The connection may have been lost after these items were written.
                let sql = "SELECT hash = $4 FROM afterthought.logs WHERE place = $1 AND name = $2 AND seq = $3";
                let same = transaction.query_opt(sql, &[&place, &name, last, hash])?;
                return Ok(same.is_some_and(|row| row.get(0)));
            }
            if is_snapshot {
                let sql = "DELETE FROM afterthought.log_items WHERE place = $1 AND name = $2 AND seq < $3";
                transaction.execute(sql, &[&place, &name, last])?;
            }
            for (seq, hash, bytes) in &items {
                transaction.execute(
                    "INSERT INTO afterthought.log_items (place, name, seq, hash, is_snapshot, bytes)
                     VALUES ($1, $2, $3, $4, $5, $6)",
                    &[&place, &name, seq, hash, &is_snapshot, bytes],
                )?;
            }
            transaction.commit()?;
            Ok(true)
        })?;
        let item = || LogItem { seq: last.cast_unsigned(), hash: hash.clone(), bytes: (*bytes).clone() };
        Ok(if is_done { AppendOutcome::Done(item()) } else { AppendOutcome::Moved })
    }

    /// Returns the items after `seq` that a condition selects, up to the first one that is damaged.
    fn read(&mut self, name: &str, seq: u64, is_snapshot: bool) -> Result<Vec<LogItem>, LogError> {
        let (place, after) = (self.place, seq.cast_signed());
        let limit = i32::try_from(MAX_FILE).unwrap_or(i32::MAX);
        let rows = self.connection.with(|client| {
            client.query(
                "SELECT seq, hash, bytes FROM afterthought.log_items
                 WHERE place = $1 AND name = $2 AND seq > $3 AND is_snapshot = $4 AND length(bytes) <= $5 ORDER BY seq",
                &[&place, &name, &after, &is_snapshot, &limit],
            )
        })?;
        let mut items = Vec::new();
        for row in rows {
            let item = LogItem { seq: row.get::<_, i64>(0).cast_unsigned(), hash: row.get(1), bytes: row.get(2) };
            let next = items.last().map_or(seq, |item: &LogItem| item.seq) + 1;
            if hash_of(&item.bytes) != item.hash || (!is_snapshot && item.seq != next) {
                self.notes.push(format!(
                    "waiting for change {next} of the log {name}: it is missing or damaged; run `afterthought db sync \
                     now --whole` on that machine"
                ));
                break;
            }
            items.push(item);
        }
        Ok(items)
    }
}

fn head_of(row: &::postgres::Row) -> Head {
    let snapshot: Option<i64> = row.get(3);
    Head {
        name: row.get(0),
        seq: row.get::<_, i64>(1).cast_unsigned(),
        hash: row.get(2),
        snapshot: snapshot.map(i64::cast_unsigned),
        forked: None,
    }
}

impl ChangeLog for PostgresLog {
    fn heads(&mut self) -> Result<Vec<Head>, LogError> {
        let place = self.place;
        let sql = "SELECT name, seq, hash, snapshot FROM afterthought.logs WHERE place = $1 ORDER BY name";
        let rows = self.connection.with(|client| client.query(sql, &[&place]))?;
        Ok(rows.iter().map(head_of).collect())
    }

    fn append(&mut self, name: &str, expected: u64, items: &[Vec<u8>]) -> Result<AppendOutcome, LogError> {
        self.put(name, (expected, expected + 1), false, items)
    }

    fn read_since(&mut self, name: &str, seq: u64) -> Result<Vec<LogItem>, LogError> {
        self.read(name, seq, false)
    }

    fn put_snapshot(&mut self, name: &str, expected: u64, seq: u64, bytes: &[u8]) -> Result<AppendOutcome, LogError> {
        self.put(name, (expected, seq), true, &[bytes.to_vec()])
    }

    fn get_snapshot(&mut self, name: &str) -> Result<Option<LogItem>, LogError> {
        Ok(self.read(name, 0, true)?.pop())
    }

    fn take_notes(&mut self) -> Vec<String> {
        std::mem::take(&mut self.notes)
    }
}

impl From<PostgresError> for LogError {
    fn from(error: PostgresError) -> Self {
        Self::Postgres(Box::new(error))
    }
}
