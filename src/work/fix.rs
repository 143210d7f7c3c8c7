//! Remedies of an error that are known, with how often each helped and how often none did.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::Serialize;

use super::output::{error_signature, failure_line};
use crate::memory::Remedy;
use crate::store::{Database, FactKind, NamespaceSubtree, StoreError};

/// Tasks of one error that are looked at, the newest.
const MAX_TASKS: usize = 100;
/// Other errors that are looked at where none has the same signature, those most alike.
const MAX_ALIKE: usize = 5;
/// Least share of the words of an error that another one has to have.
const MIN_ALIKE: f64 = 0.6;
/// Most remedies that are returned.
const MAX_REMEDIES: usize = 10;

/// What is known of an error.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct KnownError {
    /// What was asked about, without paths, numbers and hashes.
    pub signature: String,
    /// How often it was met.
    pub met: u32,
    /// How often it was not cleared.
    pub open: u32,
    /// What cleared it, the most frequent first, then the newest.
    pub remedies: Vec<KnownRemedy>,
}

/// Something that cleared an error.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct KnownRemedy {
    /// How often.
    pub times: u32,
    /// How much the error is like the one that was asked about, 0–1.
    pub likeness: f64,
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
/// # Errors
/// [`StoreError`] if the file cannot be read.
pub(crate) fn fix(store: &Database, printed: &str, within: &[NamespaceSubtree]) -> Result<KnownError, StoreError> {
    let line = failure_line(printed).unwrap_or_else(|| printed.trim().to_owned());
    let signature = error_signature(&line);
    let mut known = KnownError { signature: signature.clone(), ..KnownError::default() };
    let mut keys = vec![(1.0, signature.clone())];
    if store.tasks_with(FactKind::Error, &signature, within, 1)?.is_empty() {
        keys = alike(&signature, store.task_keys(FactKind::Error, within)?);
    }
    // One remedy is what was done, whatever else differs.
    let mut remedies: BTreeMap<String, KnownRemedy> = BTreeMap::new();
    for (likeness, key) in keys {
        for task in store.tasks_with(FactKind::Error, &key, within, MAX_TASKS)? {
            for error in task.record.errors.into_iter().filter(|error| error.signature == key) {
                known.met += error.count;
                let Some(cleared) = error.cleared else {
                    known.open += 1;
                    continue;
                };
                let did = format!("{}\n{}\n{}", cleared.command, cleared.files.join("\n"), cleared.commands.join("\n"));
                // Tasks come newest first, so the first one of a remedy is the last time.
                let remedy = remedies.entry(did).or_insert_with(|| KnownRemedy {
                    times: 0,
                    likeness,
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
    }
    known.remedies = remedies.into_values().collect();
    known.remedies.sort_by(|a, b| {
        let by_likeness = b.likeness.total_cmp(&a.likeness);
        by_likeness.then(b.times.cmp(&a.times)).then(b.at.cmp(&a.at)).then_with(|| a.task.cmp(&b.task))
    });
    known.remedies.truncate(MAX_REMEDIES);
    Ok(known)
}

/// Returns the signatures that share most words with this one, and how many of all words they share.
fn alike(signature: &str, keys: Vec<(String, usize)>) -> Vec<(f64, String)> {
    let own: Vec<&str> = words(signature).collect();
    let likeness = |key: &str| {
        let (mut shared, mut others) = (0_u32, 0_u32);
        for word in words(key) {
            if own.contains(&word) { shared += 1 } else { others += 1 }
        }
        let all = f64::from(others) + f64::from(u32::try_from(own.len()).unwrap_or(u32::MAX));
        f64::from(shared) / all.max(1.0)
    };
    let mut found: Vec<(f64, String)> = keys.into_iter().map(|(key, _)| (likeness(&key), key)).collect();
    found.retain(|(likeness, _)| *likeness >= MIN_ALIKE);
    found.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    found.truncate(MAX_ALIKE);
    found
}

/// The words of a signature, without what stands for a path or a number.
fn words(signature: &str) -> impl Iterator<Item = &str> {
    let cut = signature.split(|character: char| !character.is_alphanumeric() && character != '_');
    cut.filter(|word| word.len() > 2 && !matches!(*word, "path"))
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
        assert_eq!((known.met, known.open), (4, 1));
    }

    #[test]
    fn an_error_that_is_only_a_little_alike_gets_no_advice() {
        let store = Store::in_memory().unwrap();
        put_tasks(
            &store,
            "claude-code:s1",
            "shop",
            &[failed("Error: cannot find module 'left-pad'", Some(("npm ci", &[])))],
        );
        let remedies = |text: &str| fix(&store, text, &[]).unwrap().remedies.len();
        assert_eq!(remedies("Error: cannot find module 'left-pad' or its types"), 1);
        assert_eq!(remedies("Error: cannot connect to the database"), 0);
        assert_eq!(remedies(""), 0);
    }
}
