//! Remedies of an error that are known, with how often each helped and how often none did.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::Serialize;

use super::output::{error_signature, failure_line, unframed};
use crate::memory::Remedy;
use crate::store::{Database, FactKind, NamespaceSubtree, StoreError};

/// Tasks of one error that are looked at, the newest.
const MAX_TASKS: usize = 100;
/// Most commands between a failure and its success; after more of them it is unclear which one was the remedy.
const MAX_STEPS: usize = 3;
/// Least number of words by which an error differs from any other failure.
const MIN_WORDS: usize = 2;
/// Words that any failure prints.
const GENERAL: &str = "\
    a an and are build check code command commands could error errors err exit exited exception fail failed failing fails \
    failure failures fatal found from has have job lint make not npm occurred panicked path process recipe run runs \
    status step suite target task test tests the this thread was with yarn";
/// Most remedies that are returned.
const MAX_REMEDIES: usize = 10;

/// What is known of an error.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct KnownError {
    /// What was asked about, without paths, numbers and hashes.
    pub signature: String,
    /// How often it occurred.
    pub occurred: u32,
    /// How often it was not cleared.
    pub open: u32,
    /// What cleared it: first what needs no change of a file, then the most frequent, then the newest.
    pub remedies: Vec<KnownRemedy>,
}

/// Something that cleared an error.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct KnownRemedy {
    /// How often.
    pub times: u32,
    /// The error as it was printed the last time.
    pub error: String,
    /// The command that failed.
    pub failed: String,
    /// What was done: the success, and what was changed and run before it.
    pub cleared: Remedy,
    /// When, the last time.
    pub at: Option<Timestamp>,
    /// The task, the last time.
    pub task: String,
    /// The log that it stands in.
    pub transcript: String,
}

/// Returns what is known of an error: a line of it, or all that a command printed.
///
/// Only what cleared an error of the same signature is a remedy. A line that any failure could print has none.
///
/// # Errors
/// [`StoreError`] if the file cannot be read.
pub(crate) fn fix(store: &Database, printed: &str, within: &[NamespaceSubtree]) -> Result<KnownError, StoreError> {
    let printed = unframed(printed);
    let line = failure_line(&printed).unwrap_or_else(|| printed.trim().to_owned());
    known(store, &error_signature(&line), within)
}

/// Returns the same for a text that a person types: a part of the line in any capitals, or the line with more around it.
///
/// # Errors
/// [`StoreError`] if the file cannot be read.
pub(crate) fn fix_typed(store: &Database, typed: &str, within: &[NamespaceSubtree]) -> Result<KnownError, StoreError> {
    let exact = fix(store, typed, within)?;
    if exact.occurred > 0 || !is_specific(&exact.signature) {
        return Ok(exact);
    }
    let asked = bare(&exact.signature);
    let mut like = store.task_keys(FactKind::Error, within)?;
    like.retain(|(signature, _)| {
        let one = bare(signature);
        // A small part of a line, such as "does not exist", is a part of other errors as well.
        let is_most = 2 * one.len().min(asked.len()) >= one.len().max(asked.len());
        is_most && is_specific(&one) && (one.contains(&asked) || asked.contains(&one))
    });
    // The most frequent one; among equals, the one that says least besides.
    let best = like.into_iter().max_by_key(|(signature, tasks)| (*tasks, std::cmp::Reverse(signature.len())));
    best.map_or(Ok(exact), |(signature, _)| known(store, &signature, within))
}

/// Returns a signature in lower case, without the word that only says that it is an error.
fn bare(signature: &str) -> String {
    let lower = signature.to_lowercase();
    let lower = lower.trim();
    lower.strip_prefix("error").map_or(lower, |rest| rest.trim_start_matches([':', ' '])).to_owned()
}

fn known(store: &Database, signature: &str, within: &[NamespaceSubtree]) -> Result<KnownError, StoreError> {
    let mut known = KnownError { signature: signature.to_owned(), ..KnownError::default() };
    if !is_specific(signature) {
        return Ok(known);
    }
    // One remedy is what was done, whatever else differs.
    let mut remedies: BTreeMap<String, KnownRemedy> = BTreeMap::new();
    for task in store.tasks_with(FactKind::Error, signature, within, MAX_TASKS)? {
        for error in task.record.errors.into_iter().filter(|error| error.signature == signature) {
            known.occurred += error.count;
            let Some(cleared) = error.cleared else {
                known.open += 1;
                continue;
            };
            if cleared.files.is_empty() && cleared.commands.len() > MAX_STEPS {
                continue;
            }
            let did = format!("{}\n{}\n{}", cleared.command, cleared.files.join("\n"), cleared.commands.join("\n"));
            // Tasks come newest first, so the first one of a remedy is the last time.
            let remedy = remedies.entry(did).or_insert_with(|| KnownRemedy {
                times: 0,
                error: error.line,
                failed: error.command,
                cleared,
                at: task.record.ended_at,
                task: task.id.clone(),
                transcript: task.transcript.clone(),
            });
            remedy.times += 1;
        }
    }
    known.remedies = remedies.into_values().collect();
    known.remedies.sort_by(|a, b| {
        // What an edit cleared is in the code already, unless it came back.
        let by_edit = a.cleared.files.is_empty().cmp(&b.cleared.files.is_empty()).reverse();
        by_edit.then(b.times.cmp(&a.times)).then(b.at.cmp(&a.at)).then_with(|| a.task.cmp(&b.task))
    });
    known.remedies.truncate(MAX_REMEDIES);
    Ok(known)
}

/// Whether a signature says more than that something failed.
pub(super) fn is_specific(signature: &str) -> bool {
    let cut = signature.split(|character: char| !character.is_alphanumeric() && character != '_');
    let says = |word: &str| word.len() > 2 && !GENERAL.split_whitespace().any(|one| word.eq_ignore_ascii_case(one));
    cut.filter(|word| says(word)).count() >= MIN_WORDS
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::{TaskError, TaskRecord};
    use crate::store::Store;
    use crate::store::samples::{put_tasks, task};

    fn failed(line: &str, cleared: Option<(&str, &[&str])>) -> TaskRecord {
        let cleared = cleared.map(|(command, files)| Remedy {
            command: command.into(),
            files: files.iter().map(|file| (*file).to_owned()).collect(),
            commands: Vec::new(),
            message: "m9".into(),
        });
        let error = TaskError {
            signature: error_signature(line),
            line: line.into(),
            command: "npm test".into(),
            count: 1,
            message: "m4".into(),
            cleared,
        };
        TaskRecord { errors: vec![error], ..task("Mend the tests", &["a.ts"]) }
    }

    #[test]
    fn the_remedy_that_helped_most_often_comes_first() {
        let store = Store::in_memory().unwrap();
        let error = |port: u32| format!("Error: listen EADDRINUSE: address already in use :::{port}");
        let records = [
            failed(&error(3000), Some(("PORT=0 npm test", &[]))),
            failed(&error(3001), Some(("PORT=0 npm test", &[]))),
            failed(&error(3002), Some(("npm test", &["vite.config.ts"]))),
            failed(&error(3003), None),
        ];
        put_tasks(&store, "claude-code:s1", "shop", &records);
        let known = fix(&store, &format!("Exit code 1\n{}\n", error(8080)), &[]).unwrap();
        let remedies: Vec<_> = known.remedies.iter().map(|one| (one.times, one.cleared.command.as_str())).collect();
        assert_eq!(remedies, [(2, "PORT=0 npm test"), (1, "npm test")]);
        assert_eq!((known.occurred, known.open), (4, 1));
    }

    #[test]
    fn only_the_same_error_gets_advice_and_one_that_says_nothing_gets_none() {
        let store = Store::in_memory().unwrap();
        let records = [
            failed("Error: cannot find module 'left-pad'", Some(("npm ci", &[]))),
            failed("[test] ERROR task failed", Some(("npm test", &["a.ts"]))),
        ];
        put_tasks(&store, "claude-code:s1", "shop", &records);
        let remedies = |text: &str| fix(&store, text, &[]).unwrap().remedies.len();
        assert_eq!(remedies("Error: cannot find module 'left-pad'"), 1);
        assert_eq!(remedies("Error: cannot find module 'right-pad'"), 0);
        assert_eq!(remedies("[test] ERROR task failed"), 0);
        assert_eq!(remedies(""), 0);
    }

    #[test]
    fn what_a_person_types_need_not_be_the_whole_line() {
        let store = Store::in_memory().unwrap();
        let line = "error: relation \"bookings\" does not exist";
        put_tasks(&store, "s1", "project/shop", &[failed(line, Some(("npm test", &["a.ts"])))]);
        for typed in [
            "relation \"bookings\" does not exist",
            "Error: Relation \"bookings\" does not exist",
            "ERROR:  relation \"bookings\" does not exist at character 15",
        ] {
            assert_eq!(fix_typed(&store, typed, &[]).unwrap().remedies.len(), 1, "{typed}");
        }
        for other in ["relation \"slots\" does not exist", "does not exist", "error"] {
            assert_eq!(fix_typed(&store, other, &[]).unwrap().remedies, [], "{other}");
        }
    }
}
