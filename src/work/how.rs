//! The commands that work in a project: how they are called, how often each call succeeded, and the errors.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::Serialize;

use crate::memory::{Task, TaskCommand};
use crate::search::search_tasks;
use crate::store::{Database, FactKind, Filter, NamespaceSubtree, StoreError};
use crate::text::code::code_words;
use crate::text::shell::{only_looks, signature};

/// Maximum number of signatures that are examined for one topic, and maximum number of tasks for each signature, newest
/// first.
const MAX_SIGNATURES: usize = 12;
const MAX_TASKS: usize = 60;
/// Maximum number of tasks that are examined if the words do not name a command.
const MAX_TOPIC_TASKS: usize = 8;
/// Maximum number of commands that are returned.
const MAX_SHOWN: usize = 12;

/// A command, in the form in which it was called.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Usage {
    /// The command.
    pub command: String,
    /// The folder that the command ran in, unless it is the project's folder.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
    /// Number of runs of the command.
    pub runs: u32,
    /// Number of runs that failed.
    pub failed: u32,
    /// Number of tasks in which the command ran.
    pub tasks: u32,
    /// The time of the last run.
    pub at: Option<Timestamp>,
    /// The last error, if the command never succeeded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The last task in which the command ran.
    pub task: String,
    /// The log that contains the task.
    pub transcript: String,
}

/// Returns the calls of a command, or of commands that match a topic. Calls that succeeded in most tasks come first,
/// and calls that never succeeded come last.
///
/// # Errors
/// [`StoreError`] if the file cannot be read.
pub(crate) fn how(store: &Database, asked: &str, within: &[NamespaceSubtree]) -> Result<Vec<Usage>, StoreError> {
    let mut sought = Vec::new();
    code_words(asked, |word| sought.push(word.to_owned()));
    let is_about = |command: &str| {
        let mut words = Vec::new();
        code_words(command, |word| words.push(word.to_owned()));
        // `test` also matches `tests` and `unittest`.
        sought.iter().all(|one| words.iter().any(|word| word == one || one.len() > 3 && word.contains(one.as_str())))
    };
    let mut found: BTreeMap<(String, Option<String>), Usage> = BTreeMap::new();
    let add_calls = |key: &String, found: &mut BTreeMap<_, _>| -> Result<(), StoreError> {
        for task in store.tasks_with(FactKind::Command, key, within, MAX_TASKS)? {
            add(found, task, |one| one.signature.as_ref() == Some(key));
        }
        Ok(())
    };
    if let Some(own) = signature(asked) {
        add_calls(&own, &mut found)?;
    }
    if found.is_empty() && !sought.is_empty() {
        let mut keys = store.task_keys(FactKind::Command, within)?;
        keys.retain(|(key, _)| is_about(key));
        keys.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        keys.iter().take(MAX_SIGNATURES).try_for_each(|(key, _)| add_calls(key, &mut found))?;
    }
    if found.is_empty() && !sought.is_empty() {
        // The words match no command name, so they are interpreted as the purpose of the commands.
        let filter = Filter { namespaces: within.to_vec(), ..Filter::default() };
        let ids: Vec<String> =
            search_tasks(store, asked, &filter, MAX_TOPIC_TASKS)?.into_iter().map(|task| task.task).collect();
        for task in store.tasks_of(&ids)? {
            let is_for_it = is_about(&task.record.goal);
            let does = |one: &TaskCommand| one.signature.is_some() && !only_looks(&one.command);
            add(&mut found, task, |one| is_about(&one.command) || is_for_it && does(one) && one.failed < one.runs);
        }
    }
    let mut usages: Vec<Usage> = found.into_values().collect();
    for usage in usages.iter_mut().filter(|usage| usage.failed < usage.runs) {
        usage.error = None;
    }
    let worked = |usage: &Usage| usage.runs - usage.failed;
    usages.sort_by(|a, b| {
        let by_success = (worked(b) > 0).cmp(&(worked(a) > 0)).then(b.tasks.cmp(&a.tasks));
        by_success.then(worked(b).cmp(&worked(a))).then(b.at.cmp(&a.at)).then_with(|| a.command.cmp(&b.command))
    });
    usages.truncate(MAX_SHOWN);
    Ok(usages)
}

/// Adds the relevant calls in a task.
fn add(found: &mut BTreeMap<(String, Option<String>), Usage>, task: Task, is_wanted: impl Fn(&TaskCommand) -> bool) {
    let errors = task.record.errors;
    for one in task.record.commands.into_iter().filter(|one| is_wanted(one)) {
        let error = errors.iter().rev().find(|error| error.command == one.command).map(|error| &error.line);
        // Tasks are sorted newest first, so the first task found is the last in which the command ran.
        let usage = found.entry((one.command.clone(), one.folder.clone())).or_insert_with(|| Usage {
            command: one.command,
            folder: one.folder,
            runs: 0,
            failed: 0,
            tasks: 0,
            at: task.record.ended_at,
            error: error.cloned(),
            task: task.id.clone(),
            transcript: task.transcript.clone(),
        });
        usage.runs += one.runs;
        usage.failed += one.failed;
        usage.tasks += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::TaskRecord;
    use crate::store::Store;
    use crate::store::testing::{put_tasks, task};

    fn with(commands: &[(&str, u32, u32)]) -> TaskRecord {
        let command = |(command, runs, failed): &(&str, u32, u32)| TaskCommand {
            command: (*command).into(),
            signature: signature(command),
            folder: None,
            runs: *runs,
            failed: *failed,
            exit: None,
            messages: vec!["m2".into()],
        };
        TaskRecord { commands: commands.iter().map(command).collect(), ..task("Run the tests", &["a.rs"]) }
    }

    fn shown(store: &Store, asked: &str) -> Vec<(String, u32, u32)> {
        how(store, asked, &[]).unwrap().into_iter().map(|one| (one.command, one.runs, one.failed)).collect()
    }

    #[test]
    fn calls_that_work_come_before_those_that_never_did() {
        let store = Store::in_memory().unwrap();
        let records = [
            with(&[("cargo test --all", 2, 2), ("cargo test --lib", 1, 0)]),
            with(&[("cargo test --lib", 3, 1), ("cargo build", 1, 0)]),
        ];
        put_tasks(&store, "claude-code:s1", "shop", &records);
        let expected = [("cargo test --lib".to_owned(), 4, 1), ("cargo test --all".to_owned(), 2, 2)];
        assert_eq!(shown(&store, "cargo test"), expected);
        assert_eq!(shown(&store, "test"), expected);
        assert_eq!(shown(&store, "deploy"), []);
    }

    #[test]
    fn a_topic_that_names_no_command_is_looked_up_in_the_requests() {
        let store = Store::in_memory().unwrap();
        let mut record = with(&[("git status", 1, 0), ("./ship.sh --prod", 1, 0), ("./ship.sh", 1, 1)]);
        record.goal = "Deploy the shop to production".into();
        put_tasks(&store, "claude-code:s1", "shop", &[record, with(&[("cargo test --lib", 1, 0)])]);
        assert_eq!(shown(&store, "deploy"), [("./ship.sh --prod".to_owned(), 1, 0)]);
        assert_eq!(shown(&store, "kubernetes"), []);
    }
}
