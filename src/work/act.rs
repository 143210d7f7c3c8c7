//! Facts from the ledger that are shown to an agent before it changes a file, before it runs a command, and after a
//! command has failed.
//!
//! A fact is shown only if it concerns exactly this file, command or error. In most cases, there is no such fact.

use jiff::Timestamp;
use sha2::{Digest as _, Sha256};
use transcripts::hex;

use super::command::{is_misuse, tidied};
use super::fix::fix;
use super::output::error_signature;
use super::prohibition::CommandWords;
use super::{Session, clipped, fixes};
use crate::memory::{Memory, MemoryId, Task, TaskFile, TaskOutcome, TaskRecord};
use crate::search;
use crate::store::{FactKind, Filter, NamespaceSubtree, StoreError};
use crate::text::negation;
use crate::text::pattern_set::HintedPattern;
use crate::text::shell::signature;
use crate::tokens;

/// Maximum number of tasks that are examined for a file or a command, newest first.
const MAX_TASKS: usize = 12;
/// Maximum number of facts that are shown together.
const MAX_FACTS: usize = 3;
/// Maximum number of tokens in the facts that are shown at one action.
pub(crate) const ACTION_TOKENS: usize = 60;
/// Maximum number of tokens in the facts that are shown with a prompt, which is less frequent than an action.
pub(crate) const PROMPT_TOKENS: usize = 260;
/// Maximum number of memories that are examined for one file or command.
const MAX_MEMORIES: usize = 24;
/// Maximum distance, in bytes, between a negation and the name of the command that it forbids.
const NEAR: usize = 40;
/// Categories of memories that recommend or forbid something.
const STANDING: &[&str] = &["convention", "preference", "decision", "mistake", "workflow"];

/// A fact to show, and the key for recording that it was shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fact {
    /// The id of the memory, or the hash of a fact from the ledger.
    pub(crate) key: String,
    /// The fact, on one line.
    pub(crate) text: String,
}

impl Fact {
    pub(super) fn of_ledger(text: String) -> Self {
        // The signature ignores counts and dates, which may change although the fact remains the same.
        let plain = error_signature(&text);
        Self { key: format!("fact:{}", &hex(&Sha256::digest(plain.as_bytes()))[..16]), text }
    }

    /// Returns the ID for recording that the fact was shown.
    pub(crate) fn id(&self) -> MemoryId {
        MemoryId::from_stored(self.key.clone())
    }

    fn of_memory(memory: &Memory) -> Self {
        // The separate key allows the memory to be shown here even if the brief showed it long ago.
        Self { key: format!("act:{}", memory.id), text: memory.claim.content.clone() }
    }
}

/// Returns the first facts that fit into `most` tokens together, and shortens facts that are too long.
pub(crate) fn few(facts: Vec<Fact>, most: usize) -> Vec<Fact> {
    let mut room = most;
    let mut kept = Vec::new();
    for fact in facts.into_iter().take(MAX_FACTS) {
        // The limit assumes about three letters per token.
        let text = clipped(&fact.text.split_whitespace().collect::<Vec<_>>().join(" "), (most - 1) * 3);
        let cost = tokens::estimate(&text);
        if cost > room {
            break;
        }
        room -= cost;
        kept.push(Fact { text, ..fact });
    }
    kept
}

impl Session<'_> {
    /// Returns the project, if the session has one. Without a project, paths in tasks cannot be matched to files.
    pub(super) fn project(&self) -> Vec<NamespaceSubtree> {
        let own = self.namespaces.first().filter(|namespace| **namespace != crate::memory::Namespace::global());
        own.cloned().map(NamespaceSubtree::Exactly).into_iter().collect()
    }

    /// Returns the facts that earlier sessions recorded about a file: changes that failed or were reverted, and
    /// conventions.
    ///
    /// `paths` contains the spellings that the ledger may use for the file.
    pub(crate) fn before_edit(&self, paths: &[String]) -> Result<Vec<Fact>, StoreError> {
        let (within, mut facts) = (self.project(), Vec::new());
        for path in paths.iter().filter(|_| !within.is_empty()) {
            let tasks = self.store.tasks_with(FactKind::Path, path, &within, MAX_TASKS)?;
            facts.extend(attempts(&tasks, path));
            if !tasks.is_empty() {
                break;
            }
        }
        let name = paths.first().map_or("", |path| path.rsplit('/').next().unwrap_or(path));
        for memory in self.standing(&paths.join(" "))? {
            let speaks = paths.iter().any(|path| names_file(&memory.claim.content, path, name));
            if speaks {
                facts.push(Fact::of_memory(&memory));
            }
        }
        Ok(facts)
    }

    /// Returns facts against running a command: it has always failed in this form, or a convention forbids it.
    pub(crate) fn before_command(&self, command: &str) -> Result<Vec<Fact>, StoreError> {
        let (within, mut facts) = (self.project(), Vec::new());
        if let (Some(name), Some(shown), false) = (signature(command), tidied(command), within.is_empty()) {
            let failed = self.store.tasks_with(FactKind::Failed, &shown, &within, MAX_TASKS)?;
            // Usually, there is no such fact, and the tasks in which the command may have succeeded need not be read.
            if let Some(fact) = failing_form(&failed, &shown) {
                let tasks = self.store.tasks_with(FactKind::Command, &name, &within, MAX_TASKS)?;
                facts.extend(Some(fact).filter(|_| !has_worked(&tasks, &shown)));
            }
        }
        // Too many commands begin with a name of one word, such as `make`.
        if let Some(name) = signature(command).filter(|name| name.contains(' ')) {
            let notes = fixes::notes_of_failure(self.store, self.namespaces, &name, self.now)?;
            facts.extend(notes.iter().map(Fact::of_memory));
        }
        facts.extend(self.against(command)?.iter().map(Fact::of_memory));
        Ok(facts)
    }

    /// Returns the memories that forbid a command: conventions, and any memory that forbids its program by name.
    fn against(&self, command: &str) -> Result<Vec<Memory>, StoreError> {
        let (risks, words) = (risks(command), CommandWords::of(command));
        let mut found = self.standing(&risks.join(" "))?;
        found.retain(|memory| risks.iter().any(|risk| speaks_against(&memory.claim.content, risk)));
        let mut others = self.standing(&words.query())?;
        others.extend(self.like(&words.programs(), &Filter::exactly(self.namespaces))?);
        for memory in others {
            let is_standing = STANDING.contains(&memory.claim.category.as_str());
            let is_new = found.iter().all(|known| known.id != memory.id);
            if is_new && words.is_forbidden_by(&memory.claim.content, is_standing) {
                found.push(memory);
            }
        }
        Ok(found)
    }

    /// Returns the remedy that previously cleared this error of a command.
    pub(crate) fn after_failure(&self, command: &str, printed: &str) -> Result<Option<Fact>, StoreError> {
        let within = self.project();
        if within.is_empty() {
            return Ok(None);
        }
        let known = fix(self.store, printed, Some(command), &within)?;
        let Some(remedy) = known.remedies.first() else { return Ok(None) };
        let cleared = &remedy.cleared;
        let quoted = |command: &String| format!("`{}`", clipped(command, 80));
        let did = if !cleared.files.is_empty() {
            format!("changing {}", cleared.files.iter().take(2).cloned().collect::<Vec<_>>().join(", "))
        } else if !cleared.commands.is_empty() {
            format!("running {}", cleared.commands.iter().map(quoted).collect::<Vec<_>>().join(", then "))
        } else if cleared.command == remedy.failed {
            "running it again".to_owned()
        } else {
            format!("running {} instead of {}", quoted(&cleared.command), quoted(&remedy.failed))
        };
        let (times, of, error) = (remedy.times, remedy.of, clipped(&remedy.error, 70));
        Ok(Some(Fact::of_ledger(format!("Cleared before in {times} of {of} cases by {did}: {error}"))))
    }

    /// Returns the memories that recommend or forbid something and share words with `text`.
    fn standing(&self, text: &str) -> Result<Vec<Memory>, StoreError> {
        let categories = STANDING.iter().map(|&name| name.to_owned()).collect();
        self.like(text, &Filter { categories, ..Filter::exactly(self.namespaces) })
    }

    /// Returns the memories that pass a filter and share words with `text`.
    fn like(&self, text: &str, filter: &Filter) -> Result<Vec<Memory>, StoreError> {
        if text.trim().is_empty() {
            return Ok(Vec::new());
        }
        let found = search::search(self.store, text, filter, MAX_MEMORIES, self.now)?;
        Ok(found.into_iter().map(|hit| hit.memory).collect())
    }
}

/// Returns the changes of a file that failed or were reverted, newest first, back to the last task that succeeded.
fn attempts(tasks: &[Task], path: &str) -> Vec<Fact> {
    let name = path.rsplit('/').next().unwrap_or(path);
    let mut facts = Vec::new();
    for record in tasks.iter().map(|task| &task.record) {
        let is_changed = |file: &TaskFile| file.path == path && file.is_changed();
        if !record.files.iter().any(is_changed) {
            continue;
        }
        let (day, goal) = (day(record.ended_at), clipped(record.goal.lines().next().unwrap_or_default(), 60));
        if let Some(command) = taken_back(record, name) {
            facts.push(Fact::of_ledger(format!("{day}: a change to {name} for “{goal}” was reverted: `{command}`")));
        } else if record.outcome == TaskOutcome::Failed {
            let reason = clipped(&record.reason, 80);
            facts.push(Fact::of_ledger(format!("{day}: changing {name} for “{goal}” failed: {reason}")));
        } else if record.outcome == TaskOutcome::Done {
            // Earlier attempts no longer matter after a success.
            break;
        }
    }
    facts
}

/// Returns the command with which a task reverted a change of the file with this name.
fn taken_back<'t>(record: &'t TaskRecord, name: &str) -> Option<&'t str> {
    let undoes = |command: &str| {
        let is_undo = ["git checkout ", "git restore ", "git revert "].iter().any(|undo| command.contains(undo));
        // `git restore --staged` does not change the file.
        is_undo && !command.contains("--staged") && command.split_whitespace().any(|word| word.ends_with(name))
    };
    record.commands.iter().map(|one| one.command.as_str()).find(|command| command.len() < 160 && undoes(command))
}

/// Returns whether a command succeeded in one of the tasks.
fn has_worked(tasks: &[Task], command: &str) -> bool {
    let uses = tasks.iter().flat_map(|task| &task.record.commands);
    uses.filter(|one| one.command == command).any(|one| one.failed < one.runs)
}

/// Returns the fact that a command failed whenever these tasks called it in this form, together with the form that
/// worked.
fn failing_form(failed: &[Task], command: &str) -> Option<Fact> {
    if has_worked(failed, command) {
        return None;
    }
    let errors = failed.iter().flat_map(|task| &task.record.errors).filter(|error| error.command == command);
    errors.filter(|error| is_misuse(&error.line)).find_map(|error| {
        let other = error.cleared.as_ref().filter(|remedy| remedy.command != command)?;
        let (line, other) = (clipped(&error.line, 60), clipped(&other.command, 80));
        Some(Fact::of_ledger(format!("This fails here with “{line}”; `{other}` worked.")))
    })
}

/// Patterns of dangerous commands, each with the words with which a convention describes the action.
static RISKS: [(HintedPattern, &str); 14] = [
    (HintedPattern::new(&["rm"], r"\brm\s+(?:-\w*\s+)*-\w*[rf]"), "rm"),
    (HintedPattern::new(&["push"], r"\bgit\b.*\bpush\b.*\s(?:-f\b|--force)"), "force push"),
    (HintedPattern::new(&["reset"], r"\bgit\b.*\breset\b.*--hard"), "reset hard"),
    (HintedPattern::new(&["clean"], r"\bgit\b.*\bclean\b.*-\w*[fdx]"), "git clean"),
    (HintedPattern::new(&["--no-verify"], r"--no-verify\b"), "no-verify"),
    (HintedPattern::new(&["destroy"], r"\bterraform\s+(?:\S+\s+)*destroy\b"), "terraform destroy"),
    (HintedPattern::new(&["apply"], r"\bterraform\s+(?:\S+\s+)*apply\b"), "terraform apply"),
    (HintedPattern::new(&["kubectl"], r"\bkubectl\s+(?:\S+\s+)*delete\b"), "kubectl delete"),
    (HintedPattern::new(&["helm"], r"\bhelm\s+(?:\S+\s+)*(?:uninstall|delete)\b"), "helm uninstall"),
    (HintedPattern::new(&["drop"], r"(?i)\bdrop\s+(?:table|database|schema)\b|\bdropdb\b"), "drop"),
    (HintedPattern::new(&["truncate"], r"(?i)\btruncate\s+(?:table\s+)?\w"), "truncate"),
    (HintedPattern::new(&["delete"], r"(?i)\bdelete\s+from\b"), "delete from"),
    (HintedPattern::new(&["docker"], r"\bdocker\b.*\b(?:prune|down\s+.*-v|volume\s+rm)\b"), "docker volumes"),
    (HintedPattern::new(&["flu"], r"(?i)\bflush(?:all|db)\b"), "flush"),
];

/// Returns the words that a convention against a command would contain: words for a dangerous action, or the command's
/// name.
fn risks(command: &str) -> Vec<String> {
    let lower = command.to_ascii_lowercase();
    let is_taken = |risk: &HintedPattern| risk.for_text(&lower).is_some_and(|pattern| pattern.is_match(command));
    let mut found: Vec<String> =
        RISKS.iter().filter(|(risk, _)| is_taken(risk)).map(|(_, words)| (*words).to_owned()).collect();
    // A name that consists of one word, such as `make`, appears in too many sentences.
    found.extend(signature(command).filter(|name| name.contains(' ')));
    found
}

/// Returns whether a sentence in `content` forbids the action that these words describe, that is, whether all of the
/// words closely follow a negation.
fn speaks_against(content: &str, words: &str) -> bool {
    content.split_inclusive(['.', ';', '\n', '。']).any(|sentence| {
        let folded = sentence.to_lowercase();
        let plain = negation::plain(&folded);
        let Some((denial, _)) = negation::first_denial(&plain) else { return false };
        let rest = &plain[denial.end..];
        let near = &rest[..rest.ceil_char_boundary((NEAR + words.len()).min(rest.len()))];
        let cut: Vec<&str> =
            near.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
        let is_said = |word: &str| cut.iter().any(|one| *one == word || one.strip_suffix("ing") == Some(word));
        words.split([' ', '-']).all(|word| is_said(&word.to_lowercase()))
    })
}

/// Returns whether a text refers to a file by its path or name, by a folder that contains it, or by a pattern of names
/// such as `*.snap`.
fn names_file(content: &str, path: &str, name: &str) -> bool {
    let trimmed = |word: &'_ str| -> String {
        word.trim_matches(|letter: char| !letter.is_alphanumeric() && !"./*_-~".contains(letter))
            .trim_end_matches(['.', ','])
            .trim_start_matches("./")
            .to_owned()
    };
    content.split_whitespace().map(trimmed).any(|word| {
        let ends = |end: &str| path == end || path.strip_suffix(end).is_some_and(|rest| rest.ends_with('/'));
        if let Some(ending) = word.strip_prefix("*.") {
            return !ending.is_empty() && !ending.contains(['*', '/']) && name.ends_with(&format!(".{ending}"));
        }
        if let Some(folder) =
            word.strip_suffix('/').or_else(|| word.strip_suffix("/**")).or_else(|| word.strip_suffix("/*"))
        {
            return folder.len() > 2 && format!("/{path}").contains(&format!("/{folder}/"));
        }
        word.contains('.') && word.len() > 3 && ends(&word)
    })
}

pub(super) fn day(at: Option<Timestamp>) -> String {
    at.map_or_else(|| "undated".to_owned(), |at| at.to_string().chars().take(10).collect())
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::guard::Guard;
    use crate::memory::{Namespace, Remedy, TaskCommand, TaskError};
    use crate::store::Store;
    use crate::store::testing::{day as at, insert, memory, put_tasks, shop, task};

    /// Returns the facts that `ask` requests in a session of the shop.
    pub(in crate::work) fn asked(store: &Store, ask: impl FnOnce(&Session<'_>) -> Vec<Fact>) -> Vec<Fact> {
        let namespaces = [shop(), Namespace::global()];
        let guard = Guard::default();
        let session =
            Session { store, guard: &guard, agent: "claude-code", id: "s", namespaces: &namespaces, now: at(30) };
        ask(&session)
    }

    fn facts(store: &Store, ask: impl FnOnce(&Session<'_>) -> Vec<Fact>) -> Vec<String> {
        few(asked(store, ask), ACTION_TOKENS).into_iter().map(|fact| fact.text).collect()
    }

    fn before_edit(store: &Store, path: &str) -> Vec<String> {
        facts(store, |session| session.before_edit(&[path.to_owned()]).unwrap())
    }

    fn before_command(store: &Store, command: &str) -> Vec<String> {
        facts(store, |session| session.before_command(command).unwrap())
    }

    fn convention(store: &Store, content: &str) {
        let mut one = memory("Rule", content);
        one.claim.category = "convention".into();
        insert(store, &one);
    }

    #[test]
    fn before_an_edit_failed_attempts_and_conventions_of_the_file_are_shown() {
        let store = Store::in_memory().unwrap();
        let mut failed = task("Make the loader faster", &["src/loader.py"]);
        failed.outcome = TaskOutcome::Failed;
        failed.reason = "the last tests failed: 2 failed".into();
        put_tasks(&store, "claude-code:s1", "shop", &[failed]);
        convention(&store, "Files in src/gen/ are generated and must not be edited.");
        let shown = before_edit(&store, "src/loader.py");
        assert_eq!(shown.len(), 1, "{shown:?}");
        assert!(shown[0].contains("“Make the loader faster” failed: the last tests failed"), "{shown:?}");
        assert_eq!(before_edit(&store, "src/gen/a.py"), ["Files in src/gen/ are generated and must not be edited."]);
        assert_eq!(before_edit(&store, "src/other.py"), [""; 0]);
    }

    #[test]
    fn what_a_later_task_made_good_is_not_shown() {
        let store = Store::in_memory().unwrap();
        let mut failed = task("Make the loader faster", &["src/loader.py"]);
        failed.outcome = TaskOutcome::Failed;
        let mut done = task("Make it faster at last", &["src/loader.py"]);
        (done.outcome, done.started_at) = (TaskOutcome::Done, Some(at(20)));
        put_tasks(&store, "claude-code:s1", "shop", &[failed, done]);
        assert_eq!(before_edit(&store, "src/loader.py"), [""; 0]);
    }

    #[test]
    fn a_convention_against_a_command_is_shown_before_it() {
        let store = Store::in_memory().unwrap();
        convention(&store, "Never force push to a shared branch.");
        convention(&store, "Do not use npm install here; use pnpm add.");
        assert_eq!(before_command(&store, "git push --force origin x"), ["Never force push to a shared branch."]);
        assert_eq!(before_command(&store, "git push origin x"), [""; 0]);
        assert_eq!(before_command(&store, "npm install left-pad"), ["Do not use npm install here; use pnpm add."]);
        assert_eq!(before_command(&store, "pnpm add left-pad"), [""; 0]);
    }

    #[test]
    fn what_forbids_a_command_is_found_by_its_words_or_its_program() {
        let store = Store::in_memory().unwrap();
        convention(&store, "Never push to main, always open a pull request");
        convention(&store, "Never run the migrations against the production database");
        let mut fact = memory("Tools", "The team uses pnpm, not npm.");
        fact.claim.category = "project".into();
        insert(&store, &fact);
        for (command, shown) in [
            ("git push origin main", "Never push to main, always open a pull request"),
            ("pnpm db:migrate --env production", "Never run the migrations against the production database"),
            ("npm install zod", "The team uses pnpm, not npm."),
        ] {
            assert_eq!(before_command(&store, command), [shown], "{command}");
        }
        for command in ["git push origin fix", "pnpm db:migrate", "pnpm add zod", "git status"] {
            assert_eq!(before_command(&store, command), [""; 0], "{command}");
        }
    }

    #[test]
    fn a_form_that_always_failed_and_a_remedy_are_shown() {
        let store = Store::in_memory().unwrap();
        let mut record = task("List the beads", &["a.rs"]);
        let line = "Error: unknown flag: --wisp";
        record.commands.push(TaskCommand {
            command: "bd list --wisp".into(),
            signature: signature("bd list --wisp"),
            folder: None,
            runs: 1,
            failed: 1,
            exit: Some(1),
            messages: vec!["m2".into()],
        });
        record.errors.push(TaskError {
            signature: line.into(),
            line: line.into(),
            command: "bd list --wisp".into(),
            count: 1,
            message: "m2".into(),
            cleared: Some(Remedy {
                command: "bd list --label=wisp".into(),
                files: Vec::new(),
                commands: Vec::new(),
                message: "m4".into(),
            }),
        });
        put_tasks(&store, "claude-code:s1", "shop", &[record]);
        let shown = before_command(&store, "bd list --wisp");
        assert_eq!(shown, ["This fails here with “Error: unknown flag: --wisp”; `bd list --label=wisp` worked."]);
        assert_eq!(before_command(&store, "bd list"), [""; 0]);
        let after = |command: &str| {
            facts(&store, |session| session.after_failure(command, line).unwrap().into_iter().collect())
        };
        assert_eq!(after("gt list --wisp"), [""; 0]);
        let shown = after("bd list --wisp --all");
        let expected = "Cleared before in 1 of 1 cases by running `bd list --label=wisp` instead of `bd list --wisp`: Error: unknown flag: --wisp";
        assert_eq!(shown, [expected]);
    }

    #[test]
    fn at_most_three_facts_and_sixty_tokens_are_shown() {
        let fact = |text: String| Fact::of_ledger(text);
        assert_eq!(few((0..5).map(|number| fact(format!("short {number}"))).collect(), ACTION_TOKENS).len(), 3);
        let long = few(vec![fact("word ".repeat(200)), fact("more".into())], ACTION_TOKENS);
        assert_eq!(long.len(), 1);
        assert!(tokens::estimate(&long[0].text) <= ACTION_TOKENS, "{long:?}");
    }
}
