//! The tasks that used or changed a file, with their goals.

use std::collections::HashSet;

use jiff::Timestamp;
use serde::Serialize;

use super::clipped;
use crate::memory::{Citation, Namespace, Task, TaskFile, TaskOutcome};
use crate::project::{CitedPart, Freshness, References};
use crate::store::{Database, FactKind, NamespaceSubtree, StoreError};

/// Maximum number of tasks that are examined for one file, newest first.
const MAX_TASKS: usize = 200;
/// Maximum length of a displayed goal or report, in characters.
const SHOWN: usize = 240;

/// A task that used or changed a file.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FileUsage {
    /// The ID of the task.
    pub task: String,
    /// The log that contains the task.
    pub transcript: String,
    /// The time of the task's last event.
    pub ended_at: Option<Timestamp>,
    /// The path of the file in the task.
    pub path: String,
    /// The actions on the file.
    pub did: String,
    /// Whether the task changed the file, rather than only reading it.
    pub changed: bool,
    /// The request, clipped.
    pub goal: String,
    /// The outcome of the task.
    pub outcome: TaskOutcome,
    /// The evidence for the outcome.
    pub reason: String,
    /// The assistant's last message, clipped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub report: Option<Citation>,
    /// Commits of the task.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub commits: Vec<String>,
    /// Messages that show the actions on the file.
    pub messages: Vec<String>,
    /// The current state of the file, if it was compared with the repository.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub freshness: Option<Freshness>,
    /// The file and the commits for the comparison with the repository.
    #[serde(skip)]
    pub(crate) cited: CitedPart,
    /// The project of the task.
    #[serde(skip)]
    pub(crate) namespace: Namespace,
}

/// Returns the tasks that used `path`. The tasks that changed the file come first, and both groups are sorted newest
/// first.
///
/// The path may be relative to the project, or only the end of a path. Files whose paths end in this way are used only
/// if no task contains the whole path. `commit` is the commit of the line in question. If any tasks made this commit,
/// only these tasks are returned.
///
/// # Errors
/// [`StoreError`] if the file cannot be read.
pub(crate) fn blame(
    store: &Database,
    path: &str,
    commit: Option<&str>,
    within: &[NamespaceSubtree],
) -> Result<Vec<FileUsage>, StoreError> {
    let path = path.replace('\\', "/");
    let path = path.trim_start_matches("./").trim_end_matches('/');
    let mut tasks = store.tasks_with(FactKind::Path, path, within, MAX_TASKS)?;
    if tasks.is_empty() {
        let name = path.rsplit('/').next().unwrap_or(path);
        tasks = store.tasks_with(FactKind::FileName, name, within, MAX_TASKS)?;
    }
    let made = |task: &Task| {
        let is_it = |one: &Citation| {
            one.text.split(' ').next().is_some_and(|id| commit.is_some_and(|full| full.starts_with(id)))
        };
        task.record.commits.iter().any(is_it)
    };
    if tasks.iter().any(made) {
        tasks.retain(made);
    }
    let mut touches = Vec::new();
    for task in tasks {
        let Some(file) = file_of(&task, path).cloned() else { continue };
        // The work of a sub-agent is part of the task that started the sub-agent, and only that task contains the
        // reason for the work.
        touches.push(touch(store.in_session(task)?, file));
    }
    // The sort is stable, so that the newest tasks remain first.
    touches.sort_by_key(|touch: &FileUsage| !touch.changed);
    let mut seen = HashSet::new();
    touches.retain(|touch| seen.insert(touch.task.clone()));
    Ok(touches)
}

/// Returns the file in a task that a path refers to.
fn file_of<'t>(task: &'t Task, path: &str) -> Option<&'t TaskFile> {
    let is_it = |one: &str| one == path || ends_with_path(one, path) || ends_with_path(path, one);
    task.record.files.iter().find(|file| is_it(&file.path) || file.renamed_to.as_deref().is_some_and(is_it))
}

fn touch(task: Task, file: TaskFile) -> FileUsage {
    let record = task.record;
    let references = References {
        paths: vec![file.path.clone()],
        symbols: Vec::new(),
        commits: record.commit_ids().map(str::to_owned).collect(),
    };
    FileUsage {
        cited: CitedPart { references, at: record.ended_at, is_change: file.is_changed() },
        namespace: task.namespace,
        freshness: None,
        task: task.id,
        transcript: task.transcript,
        ended_at: record.ended_at,
        did: did(&file),
        changed: file.is_changed(),
        path: file.path,
        goal: clipped(&record.goal, SHOWN),
        outcome: record.outcome,
        reason: record.reason,
        report: record.report.map(|report| Citation { text: clipped(&report.text, SHOWN), ..report }),
        commits: record.commits.into_iter().map(|commit| commit.text).collect(),
        messages: file.messages,
    }
}

/// Returns whether a path ends with the other path, compared by whole components.
fn ends_with_path(path: &str, end: &str) -> bool {
    path.strip_suffix(end).is_some_and(|rest| rest.ends_with('/'))
}

/// Returns a description of the actions on a file.
fn did(file: &TaskFile) -> String {
    let times = |count: u32, word: &str| match count {
        0 => None,
        1 => Some(word.to_owned()),
        count => Some(format!("{word} {count} times")),
    };
    let parts = [
        file.created.then(|| "created".to_owned()),
        times(file.edited, "edited"),
        file.renamed_to.as_ref().map(|to| format!("renamed to {to}")),
        file.deleted.then(|| "deleted".to_owned()),
        times(file.read, "read"),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Store;
    use crate::store::testing::{put_tasks, task};

    fn goals(store: &Store, path: &str) -> Vec<String> {
        blame(store, path, None, &[]).unwrap().into_iter().map(|touch| touch.goal).collect()
    }

    #[test]
    fn tasks_that_changed_the_file_come_before_those_that_read_it() {
        let store = Store::in_memory().unwrap();
        let mut read = task("Look at the loader", &["src/loader.py"]);
        (read.files[0].edited, read.files[0].read) = (0, 2);
        put_tasks(&store, "claude-code:s1", "shop", &[task("Fix the loader", &["src/loader.py"]), read]);
        let touches = blame(&store, "./src/loader.py", None, &[]).unwrap();
        let shown: Vec<_> = touches.iter().map(|touch| (touch.goal.as_str(), touch.did.as_str())).collect();
        assert_eq!(shown, [("Fix the loader", "edited"), ("Look at the loader", "read 2 times")]);
    }

    #[test]
    fn the_end_of_a_path_is_enough_where_it_is_a_path() {
        let store = Store::in_memory().unwrap();
        put_tasks(
            &store,
            "claude-code:s1",
            "shop",
            &[task("a", &["src/db/loader.py"]), task("b", &["src/preloader.py"])],
        );
        assert_eq!(goals(&store, "loader.py"), ["a"]);
        assert_eq!(goals(&store, "/home/ana/shop/src/db/loader.py"), ["a"]);
        assert_eq!(goals(&store, "lib/loader.py"), [""; 0]);
    }

    #[test]
    fn the_work_of_a_sub_agent_is_shown_as_the_task_that_started_it() {
        let store = Store::in_memory().unwrap();
        put_tasks(&store, "claude-code:s1", "shop", &[task("Make the loader faster", &["a.py"])]);
        let records = crate::guard::Guard::default().redact(vec![task("Search for slow code", &["b.py"])]).0;
        let log = crate::store::LogTasks {
            transcript: "claude-code:s1/agent-1",
            parent: Some("claude-code:s1"),
            namespace: &store.tasks(&[]).unwrap()[0].namespace.clone(),
            records: &records,
        };
        store.write::<_, StoreError>(None, crate::store::testing::day(1), |w| w.put_tasks(&log).map(drop)).unwrap();
        assert_eq!(goals(&store, "b.py"), ["Make the loader faster"]);
    }

    #[test]
    fn of_a_line_the_task_that_made_its_commit_is_named() {
        let store = Store::in_memory().unwrap();
        let mut made = task("Make the loader faster", &["a.py"]);
        made.commits.push(Citation { text: "1a2b3c4 Make it faster".into(), message: "m9".into() });
        put_tasks(&store, "claude-code:s1", "shop", &[made, task("Write the loader", &["a.py"])]);
        let of = |commit| blame(&store, "a.py", Some(commit), &[]).unwrap().len();
        assert_eq!((of("1a2b3c4d5e6f"), of("99999999")), (1, 2));
    }
}
