//! Determines what cleared an error, from all occurrences of the error: another spelling of the command, a preceding
//! command, a changed file, or merely a repetition. The functions perform no I/O.
//!
//! The actions between a failure and a success need not be the reason for the success. A cause counts if there was no
//! other action, and also if the cause occurs in another session or the error mentions it.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::LazyLock;

use jiff::Timestamp;
use regex::Regex;
use serde::Serialize;

use super::command::{is_general, is_misuse, is_transient, likeness, said_words};
use super::output::{runs_checks, runs_tests};
use crate::guard::steers;
use crate::memory::{Remedy, Task, TaskError};
use crate::text::shell::{only_looks, parts, signature};

/// Minimum similarity of two commands at which a spelling that once helped one of them is proposed for the other.
const MIN_LIKENESS: f64 = 0.34;
/// Maximum number of occurrences of an error for which an addition to a command counts even if it helped only once.
const MAX_UNPROVEN: usize = 4;
/// Minimum share of occurrences in which a remedy that does not change the command must have helped.
const MIN_SHARE: f64 = 0.15;
/// Programs after a pipe that may hide an error, so that the success of the pipe proves nothing.
const FILTERS: &[&str] = &["awk", "egrep", "grep", "rg", "sed", "wc"];
/// Programs after a pipe that only shorten the output.
const SHORTENERS: &[&str] =
    &["awk", "cat", "cut", "egrep", "grep", "head", "less", "sed", "sort", "tail", "tee", "uniq", "wc"];

/// A download that is run without being looked at: `curl … | bash`, `bash <(curl …)`.
static REMOTE_SCRIPT: LazyLock<Regex> = LazyLock::new(|| {
    let pattern = concat!(
        r"(?i)\b(?:curl|wget|iwr|irm|invoke-(?:webrequest|restmethod))\b[^\n]*\|\s*(?:sudo\s+)?(?:-\S+\s+)*(?:\S+=\S*\s+)*",
        r"(?:[^\s|]*/)?(?:(?:ba|z|da|k|fi)?sh|python[0-9.]*|node|perl|ruby|php|iex|invoke-expression)\b",
        r"|\b(?:(?:ba|z|da|k|fi)?sh|python[0-9.]*|eval|source|iex)\s+(?:-\S+\s+)*.?(?:<\(|\$\(|\()\s*(?:curl|wget|iwr|irm)\b",
    );
    Regex::new(pattern).expect("the pattern is constant and a test compiles it")
});

/// Something that cleared an error.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct KnownRemedy {
    /// Number of errors that this remedy cleared.
    pub times: u32,
    /// Number of occurrences of the error in commands that the remedy could have helped.
    pub of: u32,
    /// The error message.
    pub error: String,
    /// The command that failed.
    pub failed: String,
    /// The actions of the remedy: the successful command, and the changes and commands before it.
    pub cleared: Remedy,
    /// Time of the success.
    pub at: Option<Timestamp>,
    /// The ID of the task.
    pub task: String,
    /// The log that contains the task.
    pub transcript: String,
}

/// An occurrence of an error.
pub(super) struct Case<'t> {
    task: &'t Task,
    pub(super) error: &'t TaskError,
    words: BTreeSet<String>,
    program: String,
    causes: BTreeSet<Cause>,
}

impl<'t> Case<'t> {
    pub(super) fn new(task: &'t Task, error: &'t TaskError) -> Self {
        let causes = error.cleared.as_ref().map(|cleared| causes(error, cleared)).unwrap_or_default();
        Self { task, error, words: words(&error.command), program: program(&error.command), causes }
    }

    /// Returns the session, which includes the logs of its sub-agents.
    fn session(&self) -> &'t str {
        self.task.transcript.split_once('/').map_or(self.task.transcript.as_str(), |(session, _)| session)
    }
}

/// Something that may have cleared an error.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Cause {
    /// Words of the command were removed and others inserted.
    Spelling { out: BTreeSet<String>, in_: BTreeSet<String> },
    /// Another command ran before the success.
    Ran(String),
    /// A file was changed.
    Changed(String),
    /// The same command ran again.
    Again,
}

impl Cause {
    /// Returns a success without the actions that are unrelated to this cause.
    fn shown(&self, cleared: &Remedy) -> Remedy {
        let (mut files, mut commands) = (Vec::new(), Vec::new());
        match self {
            Self::Ran(ran) => commands.extend(cleared.commands.iter().find(|command| plain(command) == *ran).cloned()),
            Self::Changed(path) => files.push(path.clone()),
            Self::Spelling { .. } | Self::Again => {}
        }
        Remedy { files, commands, ..cleared.clone() }
    }
}

/// Returns everything that may have cleared an error.
fn causes(error: &TaskError, cleared: &Remedy) -> BTreeSet<Cause> {
    let (mut found, failed) = (BTreeSet::new(), error.command.as_str());
    let filters = |command: &str| {
        command.split('|').skip(1).any(|part| FILTERS.iter().any(|one| part.trim_start().starts_with(one)))
    };
    if filters(&cleared.command) && !filters(failed) {
        return found;
    }
    let (before, after) = (words(failed), words(&cleared.command));
    if before != after {
        let out = before.difference(&after).cloned().collect();
        let in_ = after.difference(&before).cloned().collect();
        let is_named = |word: &String| said_words(&error.line).any(|one| one == word.trim_start_matches('-'));
        let is_replaced = is_misuse(&error.line) && before.difference(&after).any(is_named);
        found.insert(Cause::Spelling { out, in_ });
        // If a program or an option was unknown, other actions cannot be the reason why it is known now.
        if is_replaced {
            return found;
        }
    }
    let own = plain(failed);
    let ran = cleared.commands.iter().filter(|command| {
        // Commands that check or only read something change nothing, and only the first line of a script is known.
        !command.contains("<<") && !only_looks(command) && !runs_tests(command) && !runs_checks(command)
    });
    found.extend(ran.map(|command| plain(command)).filter(|command| *command != own).map(Cause::Ran));
    // A file outside the project is one of the agent's notes.
    found.extend(cleared.files.iter().filter(|file| !file.starts_with('/')).cloned().map(Cause::Changed));
    if found.is_empty() {
        found.insert(Cause::Again);
    }
    found
}

/// Returns the reliable remedies, the most reliable first. If the failed command is given, only remedies that fit it
/// are returned.
pub(super) fn remedies(cases: &[Case<'_>], line: &str, command: Option<&str>) -> Vec<KnownRemedy> {
    let mut by_cause: BTreeMap<&Cause, Vec<&Case<'_>>> = BTreeMap::new();
    for case in cases {
        for cause in &case.causes {
            by_cause.entry(cause).or_default().push(case);
        }
    }
    let asked = command.map(|text| Asked { text, words: words(text), program: program(text) });
    let mut found: Vec<(f64, KnownRemedy)> = by_cause
        .into_iter()
        .filter_map(|(cause, helped)| judged(cause, &helped, cases, line, asked.as_ref()))
        .collect();
    found.sort_by(|(a, x), (b, y)| b.total_cmp(a).then(y.at.cmp(&x.at)).then_with(|| x.task.cmp(&y.task)));
    let mut seen = HashSet::new();
    let mut remedies: Vec<KnownRemedy> = found.into_iter().map(|(_, remedy)| remedy).collect();
    // Two causes with the same success would be shown with the same example.
    remedies.retain(|remedy| seen.insert((remedy.task.clone(), remedy.cleared.message.clone())));
    // An agent would repeat what is dangerous.
    let is_safe = |command: &String| steers(command).is_none() && !REMOTE_SCRIPT.is_match(command);
    remedies.retain(|KnownRemedy { cleared, .. }| is_safe(&cleared.command) && cleared.commands.iter().all(is_safe));
    remedies
}

/// The command for which a remedy is requested.
struct Asked<'t> {
    text: &'t str,
    words: BTreeSet<String>,
    program: String,
}

/// Returns the remedy of a cause, with its weight, if the cause is reliable and fits the command.
fn judged(
    cause: &Cause,
    helped: &[&Case<'_>],
    cases: &[Case<'_>],
    line: &str,
    asked: Option<&Asked<'_>>,
) -> Option<(f64, KnownRemedy)> {
    let sessions = helped.iter().map(|case| case.session()).collect::<HashSet<_>>().len();
    let alone = helped.iter().filter(|case| case.causes.len() == 1).count();
    let close = |case: &&&Case<'_>| asked.map_or(0.0, |asked| likeness(asked.text, &case.error.command));
    // An example without other actions is preferred, and otherwise the example that is most similar to the command.
    // Tasks are sorted newest first, and among equal examples the first is used.
    let example = helped.iter().rev().max_by(|a, b| {
        let by_likeness = close(a).total_cmp(&close(b));
        (b.causes.len() > 1).cmp(&(a.causes.len() > 1)).then(by_likeness)
    })?;
    let likeness = asked.map_or(1.0, |_| close(&example));
    let program = asked.map_or(example.program.as_str(), |asked| asked.program.as_str());
    let is_same_program = example.program == program;
    // For example, an error about `yaml` refers to `pip install pyyaml`.
    let is_meant = |one: &str, word: &str| {
        one == word || one.len().min(word.len()) > 3 && (one.contains(word) || word.contains(one))
    };
    let is_named = |word: &str| {
        word.len() > 2 && !is_general(word) && said_words(line).any(|one| !is_general(one) && is_meant(one, word))
    };
    let names = |text: &str| said_words(text).any(is_named);
    let of_program = || cases.iter().filter(|case| case.program == program).count();
    let cleared = || cases.iter().filter(|case| case.program == program && !case.causes.is_empty()).count();
    // An occurrence for which nothing was tried is not evidence against a remedy that helped in several sessions.
    let is_frequent = |of: usize| is_frequent(helped.len(), of) || sessions > 1 && 2 * helped.len() >= cleared();
    let (is_sure, of) = match cause {
        Cause::Spelling { out, in_ } if out.is_empty() => {
            let is_new = asked.is_none_or(|asked| !in_.is_subset(&asked.words));
            let of = of_program();
            let is_proven = sessions > 1 || is_misuse(line) && likeness >= MIN_LIKENESS && of <= MAX_UNPROVEN;
            (is_same_program && is_new && alone > 0 && is_proven && is_frequent(of), of)
        }
        Cause::Spelling { out, in_ } => {
            let fits = asked.is_none_or(|asked| out.is_subset(&asked.words));
            // A call that already had this spelling and failed nevertheless is evidence against the cause.
            let failed_so =
                |case: &&Case<'_>| !in_.is_empty() && in_.is_subset(&case.words) && !out.is_subset(&case.words);
            let against = cases.iter().filter(failed_so).count();
            let of = cases.iter().filter(|case| out.is_subset(&case.words)).count();
            // An option is specific to one program, whereas a folder or the name of a program may appear in any
            // command.
            let fits = fits && (is_same_program || out.iter().any(|word| !word.starts_with('-')));
            // The shell's folder is unknown, unless the error is about the folder.
            let is_named = out.iter().any(|word| names(word));
            let fits = fits && (is_named || !out.contains("cd") || in_.contains("cd"));
            let is_spoken = is_misuse(line) || out.iter().any(|word| !word.starts_with('-')) && !in_.is_empty();
            let is_like = is_same_program && likeness >= MIN_LIKENESS && is_spoken;
            // A spelling that inserts many more words than it removes also does something else.
            let is_small = in_.len() <= out.len() + 1;
            let is_likely = is_small && against == 0 && (is_like || is_named);
            let is_proven = sessions > 1 || is_likely;
            (fits && alone > 0 && against < helped.len() && is_proven, of)
        }
        Cause::Ran(command) => {
            let of = of_program();
            let is_asked =
                |asked: &Asked<'_>| parts(asked.text).into_iter().any(|part| signature(part) == signature(command));
            let is_new = asked.is_none_or(|asked| !is_asked(asked));
            let fresh = said_words(command).filter(|word| !said_words(&example.error.command).any(|one| one == *word));
            let is_named = fresh.into_iter().any(is_named);
            // The cause must be the only action that occurred in all of the sessions.
            let is_in_all = |other: &Cause| helped.iter().all(|case| case.causes.contains(other));
            let others = helped.iter().flat_map(|case| &case.causes).filter(|other| *other != cause);
            let is_common = helped.len() == cleared() && !others.into_iter().any(is_in_all);
            let is_proven = if sessions > 1 { alone > 0 || is_named || is_common } else { alone > 0 && is_named };
            (is_same_program && is_new && is_proven && is_frequent(of), of)
        }
        // An edit that cleared an error is in the code, so it is relevant only if the error message is exactly the
        // same.
        Cause::Changed(path) => {
            let of = of_program();
            let digits = |text: &str| text.chars().filter(|letter| !letter.is_ascii_digit()).collect::<String>();
            let is_same_line = digits(line) == digits(&example.error.line);
            let name = path.rsplit('/').next().unwrap_or(path);
            (is_same_program && is_same_line && alone > 0 && line.contains(name) && is_frequent(of), of)
        }
        Cause::Again => {
            let is_chance = is_transient(line) && sessions > 1 && 2 * helped.len() >= cleared();
            (is_same_program && is_chance, of_program())
        }
    };
    let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
    // A person who specifies no command can judge whether the only known remedy fits.
    let is_cleared_so = |case: &Case<'_>| case.causes.is_empty() || case.causes.contains(cause);
    let is_repeated = *cause == Cause::Again && !is_transient(line);
    let is_only = asked.is_none() && !is_repeated && alone == helped.len() && cases.iter().all(is_cleared_so);
    let is_sure = is_sure || is_only;
    let remedy = KnownRemedy {
        times: count(helped.len()),
        of: count(of.max(helped.len())),
        error: example.error.line.clone(),
        failed: example.error.command.clone(),
        cleared: cause.shown(example.error.cleared.as_ref()?),
        at: example.task.record.ended_at,
        task: example.task.id.clone(),
        transcript: example.task.transcript.clone(),
    };
    is_sure.then_some((f64::from(count(sessions)) * (0.5 + likeness), remedy))
}

fn is_frequent(helped: usize, of: usize) -> bool {
    #[expect(clippy::cast_precision_loss, reason = "occurrences are few")]
    let share = helped as f64 / of.max(1) as f64;
    share >= MIN_SHARE
}

/// Returns the words of a command, with options separated from values, and without parts that only shorten or redirect
/// output.
fn words(command: &str) -> BTreeSet<String> {
    let mut cut = Vec::new();
    for (place, part) in command.split(" | ").enumerate() {
        let first = part.split_whitespace().next().unwrap_or_default();
        if place > 0 && SHORTENERS.contains(&first) {
            break;
        }
        cut.push(part);
    }
    let mut found = BTreeSet::new();
    let text = cut.join(" | ");
    let mut words = text.split_whitespace();
    while let Some(word) = words.next() {
        if let Some((_, target)) = word.split_once('>').filter(|(stream, _)| matches!(*stream, "" | "1" | "2" | "&")) {
            if target.is_empty() {
                words.next();
            }
            continue;
        }
        let word = word.trim_matches(['\'', '"']);
        let (name, value) = word.split_once('=').filter(|_| word.starts_with('-')).unwrap_or((word, ""));
        found.extend([name, value].into_iter().filter(|one| !one.is_empty()).map(str::to_owned));
    }
    found
}

/// Returns the name of the program that a command runs last.
fn program(command: &str) -> String {
    let last = parts(command).into_iter().next_back().unwrap_or(command);
    let first = last.split_whitespace().find(|word| !word.contains('='));
    first.map_or("", |word| word.rsplit('/').next().unwrap_or(word)).to_owned()
}

/// Returns a command without changes of the working folder, pipes, and options that only suppress output.
fn plain(command: &str) -> String {
    let is_loud = |word: &&str| !matches!(*word, "-q" | "--quiet" | "-y" | "--yes" | "2>&1");
    let parts =
        parts(command).into_iter().map(|part| part.split_whitespace().filter(is_loud).collect::<Vec<_>>().join(" "));
    parts.collect::<Vec<_>>().join(" && ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::{Namespace, TaskRecord};
    use crate::store::testing::task;

    /// Returns tasks in one session each, with an error of these commands: the failed command, the successful command,
    /// and the commands in between.
    fn tasks(line: &str, cases: &[(&str, Option<&str>, &[&str])]) -> Vec<Task> {
        let record = |(failed, worked, ran): &(&str, Option<&str>, &[&str])| {
            let cleared = worked.map(|worked| Remedy {
                command: worked.to_owned(),
                files: Vec::new(),
                commands: ran.iter().map(|&one| one.to_owned()).collect(),
                message: "m9".into(),
            });
            let (signature, line, command) = (line.to_owned(), line.to_owned(), (*failed).to_owned());
            let error = TaskError { signature, line, command, count: 1, message: "m4".into(), cleared };
            TaskRecord { errors: vec![error], ..task("Run it", &["a.rs"]) }
        };
        let number = |(place, case)| Task {
            row: 0,
            id: format!("t{place}"),
            transcript: format!("s{place}"),
            parent: None,
            place,
            namespace: Namespace::global(),
            record: record(case),
        };
        cases.iter().enumerate().map(number).collect()
    }

    fn advice(tasks: &[Task], command: &str) -> Option<(u32, u32, String)> {
        let cases: Vec<_> = tasks.iter().map(|task| Case::new(task, &task.record.errors[0])).collect();
        let first = remedies(&cases, &tasks[0].record.errors[0].line, Some(command)).into_iter().next()?;
        Some((first.times, first.of, first.cleared.command))
    }

    #[test]
    fn a_spelling_is_proposed_for_a_command_with_the_words_that_it_replaces() {
        let line = "SyntaxError: invalid syntax in the file";
        let tasks = tasks(
            line,
            &[
                ("python a.py", Some("python3 a.py"), &[]),
                ("cd x && python b.py", Some("cd x && python3 b.py | tail -5"), &[]),
                ("python c.py", None, &[]),
            ],
        );
        assert_eq!(advice(&tasks, "python d.py"), Some((2, 3, "python3 a.py".into())));
        assert_eq!(advice(&tasks, "python3 d.py"), None, "it is spelled so already");
    }

    #[test]
    fn a_spelling_that_failed_as_often_as_it_helped_is_not_proposed() {
        let tasks = tasks(
            "Error: no such table orders",
            &[("db list --old", Some("db list --new"), &[]), ("db list --new", None, &[])],
        );
        assert_eq!(advice(&tasks, "db list --old"), None);
    }

    #[test]
    fn of_several_spellings_the_one_for_this_call_is_proposed() {
        let tasks = tasks(
            "Error: unknown flag: --wisp",
            &[
                ("bd list --wisp x1", Some("bd list --parent x1 --pretty"), &[]),
                ("bd list --wisp --labels=a", Some("bd list --label=a"), &[]),
            ],
        );
        let proposed = |command| advice(&tasks, command).map(|(.., worked)| worked);
        assert_eq!(proposed("bd list --wisp --labels=b").as_deref(), Some("bd list --label=a"));
        assert_eq!(proposed("gt mail --read"), None);
    }

    #[test]
    fn a_command_in_between_is_a_remedy_where_the_error_names_it_or_it_returns() {
        let once = |ran: &'static [&'static str]| {
            tasks("ImportError: No module named mpmath", &[("python a.py", Some("python a.py"), ran)])
        };
        assert!(advice(&once(&["pip install -q mpmath"]), "python b.py").is_some());
        assert_eq!(advice(&once(&["docker restart db"]), "python b.py"), None);
        assert_eq!(advice(&once(&["pip install mpmath", "docker restart db"]), "python b.py"), None, "which of them?");
    }

    #[test]
    fn of_several_commands_the_one_that_every_session_ran_is_the_remedy() {
        let line = "error: relation \"bookings\" does not exist";
        let sessions = [
            ("pnpm test", Some("pnpm test"), &["docker compose up", "pnpm db:migrate"][..]),
            ("pnpm test", Some("pnpm test"), &["docker compose restart db", "pnpm db:migrate"][..]),
        ];
        let tasks = tasks(line, &sessions);
        let cases: Vec<_> = tasks.iter().map(|task| Case::new(task, &task.record.errors[0])).collect();
        let shown: Vec<_> =
            remedies(&cases, line, Some("pnpm test")).into_iter().map(|one| one.cleared.commands).collect();
        assert_eq!(shown, [["pnpm db:migrate"]]);
    }

    #[test]
    fn one_success_without_a_reason_shows_nothing() {
        let line = "Error: database is locked by a process";
        let again = ("db move a", Some("db move a"), &[][..]);
        assert_eq!(advice(&tasks(line, &[again]), "db move b"), None);
        assert_eq!(advice(&tasks(line, &[again, again]), "db move b"), Some((2, 2, "db move a".into())));
        let lint = ("npm run lint", Some("npm run lint"), &[][..]);
        let found = advice(&tasks("shop.ts: unexpected token of a type", &[lint, lint]), "npm run lint");
        assert_eq!(found, None, "an error in the code does not pass by itself");
    }

    #[test]
    fn another_program_clears_an_error_about_an_unknown_one_whatever_was_done_in_between() {
        let line = "zsh:1: command not found: python";
        let tasks = tasks(line, &[("python a.py", Some("python3 a.py"), &["npm ci"])]);
        assert_eq!(advice(&tasks, "python b.py"), Some((1, 1, "python3 a.py".into())));
    }

    #[test]
    fn occurrences_that_nobody_cleared_do_not_outvote_what_cleared_the_others() {
        let line = "Error: Database out of sync with JSONL";
        let cleared = ("bd show x1", Some("bd --allow-stale show x1"), &[][..]);
        let open = ("bd list", None, &[][..]);
        let cases = |cleared: &[_]| [cleared, &[open; 16]].concat();
        let found = |cases: &[_]| advice(&tasks(line, cases), "bd show x2");
        assert_eq!(found(&cases(&[cleared, cleared])), Some((2, 18, "bd --allow-stale show x1".into())));
        assert_eq!(found(&cases(&[cleared])), None);
    }
}
