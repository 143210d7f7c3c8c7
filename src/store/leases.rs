//! Leases on work that one process does at a time, such as running the jobs of a file.

use jiff::{SignedDuration, Timestamp};
use rusqlite::{OptionalExtension, params};

use super::runs::process_may_live;
use super::{Database, Store, StoreError};

/// How long a lease holds without a sign of life.
const LEASE: SignedDuration = SignedDuration::from_mins(1);

/// How long after its end a lease that nobody gave back is kept.
const FORGOTTEN: SignedDuration = SignedDuration::from_hours(24);

/// Who has a lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Leased {
    /// The caller, until it stops saying so.
    Mine,
    /// Another process.
    Other {
        /// That process.
        pid: u32,
    },
}

impl Store {
    /// Takes the lease `name` for `owner`, or keeps it; due again at least every half minute. A lease that ran out, or
    /// whose process the system shows to have ended, is free.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be written.
    pub fn lease(&self, name: &str, owner: &str, now: Timestamp) -> Result<Leased, StoreError> {
        let dead = self.dead_holder(name)?;
        self.read(|conn| {
            // Left by processes that ended without giving them back, under names that nobody takes again.
            conn.prepare_cached("DELETE FROM leases WHERE lease_until < ?1")?
                .execute([(now - FORGOTTEN).as_millisecond()])?;
            let taken = conn
                .prepare_cached(
                    "INSERT INTO leases (name, owner, pid, lease_until) VALUES (?1, ?2, ?3, ?4)
                     ON CONFLICT (name) DO UPDATE SET owner = ?2, pid = ?3, lease_until = ?4
                     WHERE owner = ?2 OR lease_until <= ?5 OR owner = ?6 OR lease_until > ?7 RETURNING 1",
                )?
                .query_row(
                    params![
                        name,
                        owner,
                        std::process::id(),
                        (now + LEASE).as_millisecond(),
                        now.as_millisecond(),
                        dead,
                        longest(now),
                    ],
                    |_| Ok(()),
                )
                .optional()?;
            if taken.is_some() {
                return Ok(Leased::Mine);
            }
            let pid = conn
                .prepare_cached("SELECT pid FROM leases WHERE name = ?1")?
                .query_row([name], |row| row.get(0))
                .optional()?;
            Ok(Leased::Other { pid: pid.unwrap_or_default() })
        })
    }

    /// Returns who has the lease, if the system shows that its process has ended.
    fn dead_holder(&self, name: &str) -> Result<Option<String>, StoreError> {
        self.read(|conn| {
            let found: Option<(String, u32)> = conn
                .prepare_cached("SELECT owner, pid FROM leases WHERE name = ?1")?
                .query_row([name], |row| Ok((row.get(0)?, row.get(1)?)))
                .optional()?;
            Ok(found.filter(|(_, pid)| !process_may_live(*pid)).map(|(owner, _)| owner))
        })
    }

    /// Gives a lease back.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be written.
    pub fn end_lease(&self, name: &str, owner: &str) -> Result<(), StoreError> {
        self.read(|conn| {
            conn.prepare_cached("DELETE FROM leases WHERE name = ?1 AND owner = ?2")?.execute((name, owner))?;
            Ok(())
        })
    }
}

impl Database {
    /// Returns the process that has the lease `name`, if one has it and lives as far as can be told.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub fn lease_holder(&self, name: &str, now: Timestamp) -> Result<Option<u32>, StoreError> {
        self.read(|conn| {
            if !conn.table_exists(None, "leases")? {
                return Ok(None);
            }
            let found: Option<u32> = conn
                .prepare_cached("SELECT pid FROM leases WHERE name = ?1 AND lease_until > ?2 AND lease_until <= ?3")?
                .query_row(params![name, now.as_millisecond(), longest(now)], |row| row.get(0))
                .optional()?;
            Ok(found.filter(|pid| process_may_live(*pid)))
        })
    }
}

/// Returns the last moment, in milliseconds, until which a lease can hold. One that holds longer was given by a clock that
/// was wrong.
fn longest(now: Timestamp) -> i64 {
    (now + LEASE + LEASE).as_millisecond()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::samples::day;

    #[test]
    fn one_owner_has_a_lease_until_it_ends_or_runs_out() {
        let store = Store::in_memory().unwrap();
        let later = |seconds| day(1) + SignedDuration::from_secs(seconds);
        let me = std::process::id();
        assert_eq!(store.lease("worker", "a", later(0)).unwrap(), Leased::Mine);
        assert_eq!(store.lease("worker", "b", later(1)).unwrap(), Leased::Other { pid: me });
        assert_eq!(store.lease("watch", "b", later(1)).unwrap(), Leased::Mine);
        assert_eq!(store.lease("worker", "a", later(50)).unwrap(), Leased::Mine, "kept");
        assert_eq!(store.lease("worker", "b", later(70)).unwrap(), Leased::Other { pid: me });
        assert_eq!(store.lease("worker", "b", later(111)).unwrap(), Leased::Mine, "it ran out");
        store.end_lease("worker", "a").unwrap();
        assert_eq!(store.lease_holder("worker", later(112)).unwrap(), Some(me), "not the owner's to end");
        store.end_lease("worker", "b").unwrap();
        assert_eq!(store.lease_holder("worker", later(112)).unwrap(), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_lease_of_a_process_that_has_ended_is_free() {
        let store = Store::in_memory().unwrap();
        assert_eq!(store.lease("worker", "a", day(1)).unwrap(), Leased::Mine);
        // No process has the largest number.
        store.conn.execute("UPDATE leases SET pid = 4194999", ()).unwrap();
        assert_eq!(store.lease("worker", "b", day(1)).unwrap(), Leased::Mine);
    }
}
