//! Runs: the command, its progress and its result.

use std::path::Path;

use jiff::{SignedDuration, Timestamp};
use rusqlite::{Row, params};
use serde::Serialize;
use serde_json::Value;

use super::RunId;
use crate::fault::point;
use crate::memory::{Namespace, string_enum};
use crate::store::row::{ID_HAS_PART, columns, from_row, rows, spelled, to_json, whole_milliseconds};
use crate::store::{Database, Store, StoreError, Writer};

/// Time for which a run counts as alive after its last heartbeat.
// The limit allows several missed heartbeats, so that a short stall does not let another run take over the windows.
const HEARTBEAT_LIMIT: SignedDuration = SignedDuration::from_secs(60);

string_enum!(
    /// The status of a run.
    RunStatus, "a run's status", {
    /// The run is in progress or was interrupted; see `Run::is_alive`.
    Running = "running",
    /// The run was completed.
    Finished = "finished",
    /// The run ended early; everything that it had written is kept.
    Failed = "failed",
    /// The changes of the run were reversed.
    Undone = "undone",
});

columns!(spelled: RunStatus);

/// One run of a command that changes memories.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Run {
    /// Identity of the run.
    pub id: RunId,
    /// The command, such as `run`.
    pub command: String,
    /// Arguments of the command; the same command with the same arguments resumes an interrupted run.
    pub arguments: Value,
    /// The status of the run.
    pub status: RunStatus,
    /// Time at which the run began; unchanged when the run is resumed.
    pub started_at: Timestamp,
    /// Time at which the run ended.
    pub finished_at: Option<Timestamp>,
    /// The process that executes or executed the run.
    pub pid: u32,
    /// The last heartbeat of that process.
    pub heartbeat_at: Timestamp,
    /// Counts and costs, as reported by the command.
    pub summary: Option<Value>,
}

impl Run {
    /// Returns a description of the run: the logs that it read, or otherwise its command.
    pub(crate) fn description(&self) -> String {
        // The arguments are stored as JSON by the version that made the run, so any field may be missing.
        let named = ["from", "paths"].into_iter().filter_map(|name| self.arguments.get(name)?.as_array());
        let paths: Vec<&str> = named.flatten().filter_map(Value::as_str).collect();
        let of = |name: &str| self.arguments.get(name).and_then(Value::as_str);
        match of("from").zip(of("into")) {
            Some((from, into)) => format!("{from} merged into {into}"),
            None if paths.is_empty() => self.command.clone(),
            None if self.command == "run" => paths.join(" "),
            None => format!("{} {}", self.command, paths.join(" ")),
        }
    }

    /// Returns whether the run wrote the candidates of windows, which the next `run` stores again after an undo. All
    /// other runs are redone from their history.
    #[must_use]
    pub(crate) fn has_windows(&self) -> bool {
        matches!(self.command.as_str(), "run" | "apply")
    }

    /// Returns whether a process is executing the run: the run has not ended, its last heartbeat is less than a minute
    /// old, and its process exists, as far as the system reports this.
    pub(crate) fn is_alive(&self, now: Timestamp) -> bool {
        // The absolute difference is used, because a wrong clock may have recorded the last heartbeat years ahead.
        let recent = now.duration_since(self.heartbeat_at).abs() < HEARTBEAT_LIMIT;
        self.status == RunStatus::Running && recent && process_may_live(self.pid)
    }
}

/// Returns `false` only if the system shows that the process does not exist or has ended.
pub(super) fn process_may_live(pid: u32) -> bool {
    // Only Linux lists other processes in this way; on other systems, only heartbeats and leases are used.
    if !Path::new("/proc/self").exists() {
        return true;
    }
    let stat = std::fs::read(Path::new("/proc").join(pid.to_string()).join("stat"));
    // The state follows the name, which is in parentheses and may itself contain parentheses. A killed process stays in
    // the list until its parent has read its exit status.
    stat.is_ok_and(|stat| {
        let state = stat.rsplit(|&byte| byte == b')').next().and_then(|rest| rest.trim_ascii_start().first());
        !matches!(state, Some(b'Z' | b'X'))
    })
}

/// The condition of a run that changed something and has not been completely undone. Purged and erased changes do not
/// count.
const EFFECTIVE: &str = "status <> 'undone' AND (EXISTS (SELECT 1 FROM history WHERE run_id = runs.id AND undone = 0
        AND (before IS NOT NULL OR after IS NOT NULL))
     OR EXISTS (SELECT 1 FROM tasks WHERE run = runs.id AND state <> 'undone'))";

const COLUMNS: &str = "id, command, arguments, status, started_at, finished_at, pid, heartbeat_at, summary";

impl Store {
    /// Begins a run, or resumes the last interrupted run with the same command and arguments, keeping its id and start
    /// time.
    ///
    /// Windows that are claimed by a run without a live process can then be claimed again.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be written.
    pub fn begin_run(&self, command: &str, arguments: &Value, now: Timestamp) -> Result<Run, StoreError> {
        let now = whole_milliseconds(now);
        // People type secrets into paths and options, too.
        let arguments = self.redact(arguments.clone()).into_inner();
        let text = to_json(&arguments)?;
        self.write(None, now, |w| {
            // The run is found and resumed in one transaction; otherwise, two processes could resume the same run.
            let interrupted = w
                .runs_where("status = 'running' AND command = ?1 AND arguments = ?2", &[&command, &text], usize::MAX)?
                .into_iter()
                .find(|run| !run.is_alive(now));
            let run = match interrupted {
                Some(run) => Run { pid: std::process::id(), heartbeat_at: now, ..run },
                None => new_run(command, &arguments, now),
            };
            let (id, started_at) = (run.id.as_str(), run.started_at.as_millisecond());
            w.execute(
                "INSERT INTO runs (id, command, arguments, status, started_at, pid, heartbeat_at)
                 VALUES (?1, ?2, ?3, 'running', ?4, ?5, ?6)
                 ON CONFLICT (id) DO UPDATE SET pid = ?5, heartbeat_at = ?6",
                params![id, command, text, started_at, run.pid, now.as_millisecond()],
            )?;
            // Without this step, the windows of a killed run could not be claimed before their leases expire.
            w.release_claims_of_the_dead(now)?;
            Ok(run)
        })
        .inspect(|_| point("run.begun"))
    }

    /// Records a heartbeat of the run, which is due at least every half minute.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be written.
    pub(crate) fn heartbeat(&self, run: &RunId, now: Timestamp) -> Result<(), StoreError> {
        self.execute("UPDATE runs SET heartbeat_at = ?2 WHERE id = ?1", params![run.as_str(), now.as_millisecond()])
            .map(drop)
    }

    /// Ends a run with its status and summary.
    ///
    /// # Errors
    /// [`StoreError::UnknownRun`] if there is no such run.
    pub fn finish_run(
        &self,
        run: &RunId,
        status: RunStatus,
        summary: &Value,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let summary = to_json(&*self.redact(summary.clone()))?;
        point("run.finish");
        let changed = self.execute(
            "UPDATE runs SET status = ?2, summary = ?3, finished_at = ?4 WHERE id = ?1",
            params![run.as_str(), status.as_str(), summary, now.as_millisecond()],
        )?;
        if changed == 0 { Err(StoreError::UnknownRun { id: run.to_string() }) } else { Ok(()) }
    }
}

impl Writer<'_> {
    fn release_claims_of_the_dead(&self, now: Timestamp) -> Result<(), StoreError> {
        let owners = "id IN (SELECT owner FROM windows WHERE status = 'claimed')";
        for run in self.runs_where(owners, &[], usize::MAX)?.iter().filter(|run| !run.is_alive(now)) {
            self.execute(
                "UPDATE windows SET lease_until = 0 WHERE status = 'claimed' AND owner = ?1",
                [run.id.as_str()],
            )?;
        }
        let sql = "SELECT DISTINCT pid FROM requests WHERE pid IS NOT NULL AND state = 'asked'";
        let pids: Vec<u32> = self.query_all(sql, (), |row| row.get(0))?;
        for pid in pids.into_iter().filter(|pid| !process_may_live(*pid)) {
            self.execute("UPDATE requests SET lease_until = 0 WHERE pid = ?1 AND state = 'asked'", [pid])?;
        }
        Ok(())
    }
}

impl Database {
    /// Returns the last `limit` runs, the newest first.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub(crate) fn runs(&self, limit: usize) -> Result<Vec<Run>, StoreError> {
        self.runs_where("1", &[], limit)
    }

    /// Refuses a change that no run may be in the middle of.
    ///
    /// # Errors
    /// [`StoreError::RunInProgress`] if a run is alive.
    pub(in crate::store) fn refuse_during_runs(&self, now: Timestamp) -> Result<(), StoreError> {
        let alive = self.runs(usize::MAX)?.into_iter().find(|run| run.is_alive(now));
        alive.map_or(Ok(()), |run| Err(StoreError::RunInProgress { id: run.id.to_string() }))
    }

    /// Returns the only run whose id begins or ends with `part`; `last` is the newest run.
    ///
    /// # Errors
    /// [`StoreError::UnknownRun`] if no run matches, or if several match.
    pub(crate) fn run(&self, part: &str) -> Result<Run, StoreError> {
        let part = part.trim().to_ascii_lowercase();
        let unknown = || StoreError::UnknownRun { id: part.clone() };
        // No id begins or ends with `last`, because ids consist of hex digits and hyphens.
        if part == "last" {
            return self.runs(1)?.pop().ok_or_else(unknown);
        }
        let condition = format!("length(?1) >= 4 AND {ID_HAS_PART}");
        let mut found = self.runs_where(&condition, &[&part], 2)?;
        if found.len() == 1 { found.pop().ok_or_else(unknown) } else { Err(unknown()) }
    }

    /// Returns the newest run that changed something and has not been completely undone.
    ///
    /// # Errors
    /// [`StoreError::NothingToUndo`] if there is no such run.
    pub(crate) fn last_effective_run(&self) -> Result<Run, StoreError> {
        self.runs_where(EFFECTIVE, &[], 1)?.pop().ok_or(StoreError::NothingToUndo)
    }

    /// Returns the newest run if it was undone and no later run has changed anything.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub(crate) fn last_undone_run(&self) -> Result<Option<Run>, StoreError> {
        let newest = format!(
            "status = 'undone' AND started_at > coalesce((SELECT max(started_at) FROM runs WHERE {EFFECTIVE}), 0)"
        );
        Ok(self.runs_where(&newest, &[], 1)?.pop())
    }

    /// Returns the runs of a command with exactly these arguments, newest first.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub(crate) fn runs_of(&self, command: &str, arguments: &Value) -> Result<Vec<Run>, StoreError> {
        let arguments = to_json(&*self.redact(arguments.clone()))?;
        self.runs_where("command = ?1 AND arguments = ?2", &[&command, &arguments], usize::MAX)
    }

    /// Returns the imports of a pack into a namespace that were not undone, newest first.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub(crate) fn pack_imports(&self, pack: &str, namespace: &Namespace) -> Result<Vec<Run>, StoreError> {
        let condition = "command = 'import' AND status = 'finished' AND json_extract(arguments, '$.pack') = ?1
             AND json_extract(arguments, '$.into') = ?2";
        let values = self.redact(vec![pack.to_owned(), namespace.to_string()]);
        self.runs_where(condition, &[&values[0], &values[1]], usize::MAX)
    }

    fn runs_where(
        &self,
        condition: &str,
        values: &[&dyn rusqlite::ToSql],
        limit: usize,
    ) -> Result<Vec<Run>, StoreError> {
        let sql = format!(
            "SELECT {COLUMNS} FROM runs WHERE {condition} ORDER BY started_at DESC, id DESC LIMIT {}",
            rows(limit)
        );
        self.query_all(&sql, values, run_from_row)
    }
}

fn new_run(command: &str, arguments: &Value, now: Timestamp) -> Run {
    Run {
        id: RunId::from_stored(uuid::Uuid::now_v7().to_string()),
        command: command.to_owned(),
        arguments: arguments.clone(),
        status: RunStatus::Running,
        started_at: now,
        finished_at: None,
        pid: std::process::id(),
        heartbeat_at: now,
        summary: None,
    }
}

fn run_from_row(row: &Row<'_>) -> rusqlite::Result<Run> {
    from_row!(row, 0 => Run { id, command, arguments, status, started_at, finished_at, pid, heartbeat_at, summary })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_lives_until_it_ends_even_if_nobody_has_asked_for_its_end() {
        assert!(process_may_live(std::process::id()));
        if !Path::new("/proc/self").exists() {
            return;
        }
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        assert!(process_may_live(child.id()));
        child.kill().unwrap();
        // The system takes a moment to terminate the process.
        let ended = (0..500).any(|_| {
            std::thread::sleep(std::time::Duration::from_millis(10));
            !process_may_live(child.id())
        });
        child.wait().unwrap();
        assert!(ended);
    }
}
