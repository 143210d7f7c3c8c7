//! Programs that a prompt or a new script names: the errors of earlier calls and their remedies, or the last call that
//! worked.
//!
//! Programs, scripts and tasks in general use are ignored, because agents know them.

use std::collections::BTreeSet;

use super::act::{Fact, day};
use super::{Session, clipped};
use crate::memory::{Task, TaskError, TaskRecord};
use crate::store::{FactKind, StoreError};
use crate::text::shell::{calls, parts, programs};

/// Maximum number of words that are examined in a text; a longer prompt usually contains a pasted log.
const MAX_WORDS: usize = 400;
/// Maximum number of words in the name of a task, as in `npm run sheet`.
const WORDS_IN_NAME: usize = 3;
/// Maximum number of programs for which facts are returned.
const MAX_PROGRAMS: usize = 2;
/// Maximum number of facts about one program.
const MAX_FACTS: usize = 2;
/// Maximum number of tasks that are examined for one program, newest first.
const MAX_TASKS: usize = 12;
/// Maximum lengths of a command and of an error in a fact, in characters.
const COMMAND: usize = 100;
const ERROR: usize = 90;

impl Session<'_> {
    /// Returns facts about the programs that a prompt names.
    pub(crate) fn on_prompt(&self, prompt: &str) -> Result<Vec<Fact>, StoreError> {
        self.on_programs(&named(prompt))
    }

    /// Returns facts about the programs that a new part of a shell script calls.
    pub(crate) fn on_script(&self, script: &str) -> Result<Vec<Fact>, StoreError> {
        let names: Vec<_> =
            calls(script).into_iter().map(|(name, call)| (name, action(call).map(str::to_owned))).collect();
        self.on_programs(&names)
    }

    fn on_programs(&self, names: &[(String, Option<String>)]) -> Result<Vec<Fact>, StoreError> {
        let within = self.project();
        // Without a project, the calls may be from anywhere.
        if names.is_empty() || within.is_empty() {
            return Ok(Vec::new());
        }
        let mut known = Vec::new();
        let keys: Vec<String> = names.iter().map(|(name, _)| name.clone()).collect();
        for name in self.store.known_keys(FactKind::Program, &keys, &within)? {
            // The source code of the project documents the project's own program.
            if self.namespaces.iter().any(|namespace| is_named_after(&namespace.to_string(), &name)) {
                continue;
            }
            let tasks = self.store.tasks_with(FactKind::Program, &name, &within, MAX_TASKS)?;
            let next = names.iter().find(|(one, _)| *one == name).and_then(|(_, next)| next.clone());
            let mut program = Program { name, action: None };
            // After `labelctl push`, errors of `labelctl scan` are of no interest.
            let is_action = |next: &String| tasks.iter().any(|task| program.is_called_with(&task.record, next));
            program.action = next.filter(is_action);
            let errors = program.failures(&tasks);
            let has_failed = !errors.is_empty();
            let facts = if has_failed { errors } else { program.last_success(&tasks).into_iter().collect() };
            known.push((has_failed, facts));
        }
        // Avoiding an error saves more than showing a call that works.
        known.sort_by_key(|(has_failed, _)| !has_failed);
        let facts = known.into_iter().take(MAX_PROGRAMS).flat_map(|(_, facts)| facts.into_iter().take(MAX_FACTS));
        Ok(facts.map(Fact::of_ledger).collect())
    }
}

/// Returns whether a project has the same name as a program; the name of `project/shop-602ed5` is `shop`.
fn is_named_after(namespace: &str, program: &str) -> bool {
    let rest = namespace.rsplit('/').next().and_then(|name| name.strip_prefix(&program.to_lowercase()));
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
}

/// Returns the names in `text` that may be names of programs, without duplicates, each with the word that follows.
fn named(text: &str) -> Vec<(String, Option<String>)> {
    let is_edge = |letter: char| !letter.is_alphanumeric();
    let raw: Vec<&str> = text.split_whitespace().take(MAX_WORDS).collect();
    let words: Vec<&str> = raw.iter().map(|word| word.trim_matches(is_edge)).collect();
    let mut names = Vec::new();
    let mut known = BTreeSet::new();
    for at in 0..words.len() {
        let phrase = words[at..(at + WORDS_IN_NAME).min(words.len())].join(" ");
        for name in programs(&phrase) {
            // A two-letter word rarely refers to a program, unless it is marked as code.
            let is_meant = name.chars().count() > 2 || raw[at].starts_with('`');
            if is_meant && known.insert(name.clone()) {
                let next = words.get(at + name.split(' ').count()).map(|&word| word.to_owned());
                names.push((name, next));
            }
        }
    }
    names
}

/// Returns the first argument of a call, which is often the name of an action.
fn action(call: &str) -> Option<&str> {
    call.split_whitespace().nth(1)
}

/// A program whose calls are looked up.
struct Program {
    name: String,
    /// The first argument of the calls, if only such calls are of interest.
    action: Option<String>,
}

impl Program {
    /// Returns the last call of the program in a command, without redirections of its error output.
    fn call_in(&self, command: &str) -> Option<String> {
        let is_sought = |call: &&str| self.action.is_none() || action(call) == self.action.as_deref();
        let call = self.own_calls(command).rfind(is_sought)?;
        let words: Vec<&str> =
            call.split_whitespace().filter(|word| !matches!(*word, "2>&1" | "2>/dev/null")).collect();
        Some(clipped(&words.join(" "), COMMAND))
    }

    /// Returns whether a task calls the program with this first argument.
    fn is_called_with(&self, record: &TaskRecord, first: &str) -> bool {
        record.commands.iter().any(|one| self.own_calls(&one.command).any(|call| action(call) == Some(first)))
    }

    /// Returns the calls of the program in a command, in order.
    fn own_calls<'c>(&self, command: &'c str) -> impl DoubleEndedIterator<Item = &'c str> {
        calls(command).into_iter().filter(|(name, _)| *name == self.name).map(|(_, call)| call)
    }

    /// Returns whether a command ends with the program, apart from a pipeline that processes its output, so that
    /// errors of the command are errors of the program.
    fn ends(&self, command: &str) -> bool {
        parts(command).last().is_some_and(|part| programs(part).contains(&self.name))
    }

    /// Returns facts about the errors in the newest task that had any.
    fn failures(&self, tasks: &[Task]) -> Vec<String> {
        let has_worked = tasks.iter().any(|task| self.succeeded(&task.record).is_some());
        let known = tasks.iter().map(|task| self.failures_in(&task.record, has_worked));
        known.into_iter().find(|facts| !facts.is_empty()).unwrap_or_default()
    }

    fn failures_in(&self, record: &TaskRecord, has_worked: bool) -> Vec<String> {
        let mut facts = Vec::new();
        // Errors that were cleared by the same change of files belong together.
        let mut by_change: Option<(&TaskError, String, Vec<String>)> = None;
        for error in &record.errors {
            let Some(failed) = self.call_in(&error.command) else { continue };
            let (line, is_own) = (format!("“{}”", clipped(&error.line, ERROR)), self.ends(&error.command));
            let Some(remedy) = &error.cleared else {
                if is_own && !has_worked {
                    let name = &self.name;
                    facts.push(format!("Here, `{failed}` ended with {line}, and no other call of {name} worked."));
                }
                continue;
            };
            match self.call_in(&remedy.command) {
                Some(worked) if worked != failed && (is_own || remedy.files.is_empty()) => {
                    facts.push(format!("Here, `{failed}` led to {line}; `{worked}` worked."));
                }
                Some(worked) if worked == failed && is_own && !remedy.files.is_empty() => match &mut by_change {
                    Some((first, call, lines)) if *call == failed && first.command == error.command => lines.push(line),
                    Some(_) => {}
                    None => by_change = Some((error, failed, vec![line])),
                },
                Some(_) | None => {}
            }
        }
        if let Some((error, call, lines)) = by_change {
            let files = error.cleared.as_ref().map(|remedy| remedy.files.join(", ")).unwrap_or_default();
            let (lines, files) = (lines.join(", then to "), clipped(&files, COMMAND));
            facts.push(format!("Here, `{call}` led to {lines}; it worked after a change of {files}."));
        }
        facts
    }

    /// Returns the task's last successful call.
    fn succeeded(&self, record: &TaskRecord) -> Option<String> {
        let mut worked = record.commands.iter().rev().filter(|one| one.failed < one.runs);
        worked.find_map(|one| self.call_in(&one.command))
    }

    /// Returns the last successful call, if it had an option: agents work out other calls by themselves.
    fn last_success(&self, tasks: &[Task]) -> Option<String> {
        let last = |task: &Task| Some((self.succeeded(&task.record)?, task.record.ended_at));
        let (call, at) = tasks.iter().find_map(last)?;
        call.split_whitespace().find(|word| word.starts_with('-') && word.len() > 1)?;
        Some(format!("Last successful call here ({}): `{call}`", day(at)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::{Remedy, TaskCommand};
    use crate::store::Store;
    use crate::store::testing::{put_tasks, task};
    use crate::text::shell::signature;
    use crate::work::act::tests::asked;

    fn facts(store: &Store, ask: impl FnOnce(&Session<'_>) -> Vec<Fact>) -> Vec<String> {
        asked(store, ask).into_iter().map(|fact| fact.text).collect()
    }

    fn on_prompt(store: &Store, prompt: &str) -> Vec<String> {
        facts(store, |session| session.on_prompt(prompt).unwrap())
    }

    fn ran(record: &mut TaskRecord, command: &str, failed: u32) {
        let signature = signature(command);
        let command = command.to_owned();
        let messages = vec!["m2".into()];
        record.commands.push(TaskCommand { command, signature, folder: None, runs: 1, failed, exit: None, messages });
    }

    fn failed(record: &mut TaskRecord, command: &str, line: &str, remedy: Option<(&str, &[&str])>) {
        ran(record, command, 1);
        let cleared = remedy.map(|(command, files)| Remedy {
            command: command.to_owned(),
            files: files.iter().map(|&file| file.to_owned()).collect(),
            commands: Vec::new(),
            message: "m4".into(),
        });
        if let Some(remedy) = &cleared {
            ran(record, &remedy.command, 0);
        }
        let (signature, message) = (line.to_owned(), "m2".into());
        let (line, command) = (line.to_owned(), command.to_owned());
        record.errors.push(TaskError { signature, line, command, count: 1, message, cleared });
    }

    fn stored(records: &[TaskRecord]) -> Store {
        let store = Store::in_memory().unwrap();
        put_tasks(&store, "claude-code:s1", "shop", records);
        store
    }

    #[test]
    fn a_prompt_that_names_a_program_shows_the_call_that_replaced_a_failing_one() {
        let mut record = task("Import the prices", &["prices.py"]);
        failed(
            &mut record,
            "pricectl export --week 9 > /tmp/p.csv && python3 -m shop load /tmp/p.csv",
            "ValueError: no currency",
            Some(("pricectl export --with-currency --week 9 | tee /tmp/p.csv && python3 -m shop load /tmp/p.csv", &[])),
        );
        let store = stored(&[record]);
        let expected = "Here, `pricectl export --week 9 > /tmp/p.csv` led to “ValueError: no currency”; \
            `pricectl export --with-currency --week 9` worked.";
        assert_eq!(on_prompt(&store, "Write a script that exports with `pricectl`, please."), [expected]);
        let script = "#!/bin/sh\nfor week in 1 2; do\n  pricectl export --week $week > $week.csv\ndone\n";
        assert_eq!(facts(&store, |session| session.on_script(script).unwrap()), [expected]);
        assert_eq!(on_prompt(&store, "Write a script that exports all prices."), [""; 0]);
        assert_eq!(facts(&store, |session| session.on_script("echo 'use pricectl'").unwrap()), [""; 0]);
    }

    #[test]
    fn errors_that_a_change_of_a_file_cleared_are_shown_together() {
        let (mut record, push) = (task("Push a label", &["a.js"]), "labelctl push /tmp/l.json");
        failed(&mut record, push, "labelctl: width: not an integer", Some((push, &["/tmp/l.json"])));
        failed(&mut record, push, "labelctl: 40 km wide, refused", Some((push, &["/tmp/l.json"])));
        let expected = "Here, `labelctl push /tmp/l.json` led to “labelctl: width: not an integer”, then to \
            “labelctl: 40 km wide, refused”; it worked after a change of /tmp/l.json.";
        assert_eq!(on_prompt(&stored(&[record]), "Return the object that labelctl takes"), [expected]);
    }

    #[test]
    fn without_errors_the_last_call_that_worked_is_shown() {
        let mut record = task("Deploy", &["a.rs"]);
        ran(&mut record, "sh scripts/deploy.sh staging --slow", 0);
        ran(&mut record, "make release", 0);
        let store = stored(&[record]);
        let day = "2026-03-02";
        let expected = format!("Last successful call here ({day}): `sh scripts/deploy.sh staging --slow`");
        assert_eq!(on_prompt(&store, "Run scripts/deploy.sh again."), [expected]);
        assert_eq!(on_prompt(&store, "Then run make release"), [""; 0]);
        assert_eq!(on_prompt(&store, "make sure that the release is announced"), [""; 0]);
    }

    #[test]
    fn an_error_of_another_part_is_not_attributed_to_the_program() {
        let mut record = task("Test it", &["a.rs"]);
        let command = "pricectl export --all > p.csv && cargo test";
        failed(&mut record, command, "test loads ... FAILED", Some((command, &["src/a.rs"])));
        let shown = on_prompt(&stored(&[record]), "What does pricectl export?");
        assert!(shown.len() == 1 && shown[0].starts_with("Last successful call"), "{shown:?}");
    }

    #[test]
    fn a_program_that_never_worked_is_called_that() {
        let mut record = task("Try it", &["a.rs"]);
        failed(&mut record, "pricectl sync", "pricectl: no licence", None);
        let expected = "Here, `pricectl sync` ended with “pricectl: no licence”, and no other call of pricectl worked.";
        assert_eq!(on_prompt(&stored(&[record]), "use pricectl sync"), [expected]);
    }
}
