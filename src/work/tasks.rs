//! The tasks of an agent's log: the request, the actions with files and commands, and the outcome. The functions
//! perform no I/O.
//!
//! A task extends from a request that starts new work to the next such request. Calls are paired with their results by
//! the ids in the log, or otherwise by order. Each fact cites the messages that support it.

use std::collections::{HashMap, VecDeque};

use transcripts::{Action, FileAccess, Kind, Message, Role, Transcript};

use super::clipped;
use super::command::{is_misuse, likeness, tidied};
use super::outcome::{Proof, StopReason, is_document, is_no_answer, outcome, stops_with_error, verdict};
use super::output::{
    check_result, commits, error_signature, failure_line, pull_requests, raised, runs_checks, runs_tests, test_result,
    text_about_errors,
};
use super::shell::changed_files;
use crate::memory::{Citation, Remedy, TaskCommand, TaskError, TaskFile, TaskOutcome, TaskRecord, TestRun};
use crate::store::{further_words, word_number};
use crate::text::code::code_words;
use crate::text::output::{exit_status, unframed};
use crate::text::shell::{only_looks, parts, signature};
use crate::text::tokens::words;

/// Maximum length of a goal and of a report, in characters.
const MAX_GOAL: usize = 4_000;
const MAX_REPORT: usize = 2_000;
/// Maximum length of a remark in characters, maximum number of remarks, and minimum number of words of a remark.
const MAX_REMARK: usize = 600;
const MAX_REMARKS: usize = 20;
const MIN_REMARK_WORDS: usize = 6;
/// Maximum number of facts of each kind in one task.
const MAX_FILES: usize = 200;
const MAX_COMMANDS: usize = 200;
const MAX_ERRORS: usize = 60;
const MAX_SYMBOLS: usize = 60;
/// Maximum number of different words that are counted in one task.
const MAX_WORDS: usize = 4_000;
/// Maximum number of messages that are cited for one fact.
const MAX_CITED: usize = 3;
/// Maximum number of commands, and of files, in a remedy.
const MAX_REMEDIES: usize = 5;
/// Maximum length of a displayed command, in characters.
const MAX_SHOWN: usize = 300;
/// Minimum share of words, or otherwise of letters, that two spellings of one command have in common.
const MIN_LIKENESS: f64 = 0.6;
const MIN_LETTERS: f64 = 0.8;
/// A request with fewer words than this continues the previous task.
const MIN_REQUEST_WORDS: usize = 5;
/// First words of requests that continue the previous task.
const CONTINUING: &str = "yes no ok okay continue proceed go still again also and but that this it why thanks wait great \
                          good perfect undo revert retry";

/// Returns the tasks of a log, in order. A log without actions has no tasks.
pub(crate) fn tasks(transcript: &Transcript) -> Vec<TaskRecord> {
    if !transcript.messages.iter().any(|message| message.action.is_some()) {
        return Vec::new();
    }
    // In the log of a sub-agent, only agents speak.
    let is_agents = !transcript.messages.iter().any(Message::is_human);
    let mut reader = Reader { transcript, drafts: Vec::new(), waiting: VecDeque::new(), open: Vec::new() };
    for message in &transcript.messages {
        reader.take(message, is_agents);
    }
    while let Some(call) = reader.waiting.pop_front() {
        reader.end(&call, None);
    }
    reader.drafts.into_iter().map(Draft::finished).collect()
}

/// Returns the key of the session that started the sub-agent, if the log belongs to a sub-agent.
pub(crate) fn parent_session(transcript: &Transcript) -> Option<String> {
    let (session, _) = transcript.external_id.split_once('/')?;
    let is_agents = !transcript.messages.iter().any(Message::is_human);
    is_agents.then(|| format!("{}:{session}", transcript.source))
}

/// A call whose result has not been read yet.
struct Call<'t> {
    /// The index of the task.
    draft: usize,
    message: &'t Message,
    action: &'t Action,
}

/// An error that has not been cleared yet.
struct OpenError {
    draft: usize,
    place: usize,
    command: String,
    target: String,
    signature: Option<String>,
    is_misuse: bool,
    files: Vec<String>,
    commands: Vec<String>,
    /// The files that receive the output of the command.
    outputs: Vec<String>,
}

/// Reads a log message by message.
struct Reader<'t> {
    transcript: &'t Transcript,
    drafts: Vec<Draft>,
    waiting: VecDeque<Call<'t>>,
    open: Vec<OpenError>,
}

impl<'t> Reader<'t> {
    fn take(&mut self, message: &'t Message, is_agents: bool) {
        // The first message in the log of a sub-agent is its instruction. All other messages come from the sub-agent.
        let is_order = is_agents && self.drafts.is_empty() && message.role == Role::Other;
        // A question that the agent asks through a tool, and the user's reply, are parts of the same work.
        let is_reply = message.kind == Kind::Prose && message.action.is_some();
        if is_reply && !message.is_human() {
            return;
        }
        let asks = message.is_human() && !is_reply || is_order && message.kind == Kind::Prose;
        let is_new = self.drafts.last().is_none_or(|draft| !is_agents && draft.ends_before(&message.text));
        if let Some(draft) = self.drafts.last_mut().filter(|draft| asks && draft.is_worked) {
            draft.last = verdict(&message.text, is_new).or(draft.last.take());
        }
        if asks && is_new {
            let folder = self.transcript.project.clone().filter(|project| project.contains(['/', '\\']));
            self.drafts.push(Draft::new(message, folder, self.transcript.branch.clone()));
        }
        let Some(draft) = self.drafts.last_mut() else { return };
        // A greeting is not a request; the request follows the greeting.
        if asks && !is_new && !draft.is_worked && words(&draft.record.goal).len() < MIN_REQUEST_WORDS {
            draft.record.goal = clipped(&message.text, MAX_GOAL);
        }
        draft.see(message, asks);
        if message.is_human() && (is_reply || !is_new) {
            draft.note_remark(message);
        }
        match (message.kind, &message.action) {
            (Kind::ToolCall, Some(action)) if !action.questions.is_empty() => {}
            (Kind::ToolCall, Some(action)) => {
                draft.is_worked = true;
                draft.stop = None;
                draft.record.report = None;
                let call = Call { draft: self.drafts.len() - 1, message, action };
                // If a result has no text, the log may state the outcome in the call.
                if action.failed.is_some() || action.exit.is_some() {
                    self.end(&call, None);
                } else {
                    self.waiting.push_back(call);
                }
            }
            (Kind::ToolCall, None) => draft.record.report = None,
            (Kind::ToolResult, action) => {
                let failed = action.as_ref().is_some_and(|action| action.failed == Some(true));
                draft.count_words(&text_about_errors(&message.text, failed));
                let id = action.as_ref().and_then(|action| action.call.as_ref());
                let place = match id {
                    Some(id) => self.waiting.iter().position(|call| call.action.call.as_ref() == Some(id)),
                    None => self.waiting.iter().position(|call| call.action.call.is_none()),
                };
                if let Some(call) = place.and_then(|place| self.waiting.remove(place)) {
                    self.end(&call, Some(message));
                } else if let Some(action) = action.as_ref().filter(|action| !action.files.is_empty()) {
                    // Aider reports its changes in its own output.
                    let call = Call { draft: self.drafts.len() - 1, message, action };
                    self.touch(&call, &action.files, action.folder.as_deref());
                    self.note_commits(call.draft, message, &message.text);
                } else if id.is_none() {
                    self.note_commits(self.drafts.len() - 1, message, &message.text);
                }
            }
            _ => {}
        }
    }

    /// Processes a call that has ended.
    fn end(&mut self, call: &Call<'t>, result: Option<&Message>) {
        let framed = result.map_or("", |result| result.text.as_str());
        let text = &*unframed(framed);
        let ended = result.and_then(|result| result.action.as_deref());
        let exit = ended.and_then(|action| action.exit).or(call.action.exit).or_else(|| exit_status(framed));
        let failed = match exit {
            Some(exit) => Some(exit != 0),
            None => ended.and_then(|action| action.failed).or(call.action.failed),
        };
        // A person or the agent's rules refused the call, so it was not carried out.
        if result.is_some_and(|result| result.text.starts_with("The user doesn't want")) {
            return;
        }
        match &call.action.command {
            Some(command) => self.run(call, command, result.unwrap_or(call.message), text, (exit, failed)),
            None if failed == Some(true) => {}
            None => {
                self.touch(call, &call.action.files, call.action.folder.as_deref());
                self.drafts[call.draft].note_symbols(&call.action.names);
            }
        }
    }

    /// Processes a command and its output.
    fn run(
        &mut self,
        call: &Call<'t>,
        command: &str,
        result: &Message,
        text: &str,
        (exit, mut failed): (Option<i32>, Option<bool>),
    ) {
        // The exit status of a pipe is that of its last command, but the exception is still printed.
        if failed != Some(true) && command.contains('|') && raised(text).is_some() {
            failed = Some(true);
        }
        let shown = shown(command);
        let name = signature(command);
        let folder = call.action.folder.clone();
        let draft = &mut self.drafts[call.draft];
        let folder_elsewhere = folder.clone().filter(|folder| draft.record.folder.as_ref() != Some(folder));
        draft.note_command(&shown, name.as_deref(), folder_elsewhere, (exit, failed), [call.message, result]);
        let files = changed_files(command);
        if runs_tests(command) {
            let (passed, summary) = test_result(text, failed);
            draft.note_test(TestRun { command: shown.clone(), passed, summary, message: result.id.clone() });
            if passed == Some(false) {
                failed = Some(true);
            }
        } else if runs_checks(command) && files.is_empty() {
            // A script proves something about an edit only if it follows an edit.
            if let Some(passed) = check_result(command, text, failed).filter(|passed| !passed || draft.is_changed()) {
                draft.prove(Proof::Checked(passed, shown.clone()));
            }
        } else if failed == Some(false) && !only_looks(command) {
            draft.prove(Proof::Ran(shown.clone()));
        }
        if failed == Some(true) {
            self.fail(call, command, &shown, name, result, text);
            return;
        }
        self.touch(call, &files, folder.as_deref());
        self.note_commits(call.draft, result, text);
        if failed == Some(false) || !text.is_empty() {
            self.clear(command, name.as_deref(), &shown, result);
        }
        if !only_looks(command) {
            for open in self.open.iter_mut().filter(|open| open.commands.len() < MAX_REMEDIES) {
                if !open.commands.contains(&shown) {
                    open.commands.push(shown.clone());
                }
            }
        }
    }

    fn note_commits(&mut self, draft: usize, result: &Message, text: &str) {
        let draft = &mut self.drafts[draft];
        let cite = |text: String| Citation { text, message: result.id.clone() };
        let known = draft.record.commits.len();
        draft.record.commits.extend(commits(text).map(cite).take(20));
        if draft.record.commits.len() > known {
            let commit = draft.record.commits.last().map(|commit| commit.text.clone()).unwrap_or_default();
            draft.prove(Proof::Committed(commit));
        }
        for address in pull_requests(text) {
            // A list of pull requests does not mean that the task created them.
            let is_made = text.lines().count() < 12;
            if is_made && !draft.record.pull_requests.iter().any(|one| one.text == address) {
                draft.record.pull_requests.push(cite(address.to_owned()));
            }
        }
        draft.record.pull_requests.truncate(5);
    }

    fn fail(
        &mut self,
        call: &Call<'t>,
        command: &str,
        shown: &str,
        name: Option<String>,
        result: &Message,
        text: &str,
    ) {
        let draft = &mut self.drafts[call.draft];
        // A search without results is not an error.
        if name.is_none() {
            return;
        }
        draft.prove(Proof::Failed(shown.to_owned()));
        let Some(line) = failure_line(text) else { return };
        let signature = error_signature(&line);
        let errors = &mut draft.record.errors;
        if let Some(known) = errors.iter_mut().find(|one| one.signature == signature && one.command == shown) {
            known.count += 1;
            known.cleared = None;
        } else if errors.len() < MAX_ERRORS {
            let (command, message) = (shown.to_owned(), result.id.clone());
            errors.push(TaskError {
                signature: signature.clone(),
                line: line.clone(),
                command,
                count: 1,
                message,
                cleared: None,
            });
        } else {
            return;
        }
        let place =
            errors.iter().position(|one| one.signature == signature && one.command == shown).unwrap_or_default();
        let is_open = self.open.iter().any(|open| open.draft == call.draft && open.place == place);
        if !is_open {
            let (folder, root) = (call.action.folder.as_deref(), draft.record.folder.as_deref());
            // A file that the same command wrote is its result rather than a remedy, unless the command contains the
            // text of the file.
            let has_text = command.contains("<<") || command.contains("echo ") || command.contains("printf ");
            let files =
                changed_files(command).into_iter().filter(|file| file.access == FileAccess::Written && !has_text);
            let outputs = files.map(|file| within(&file.path, folder, root)).collect();
            self.open.push(OpenError {
                outputs,
                draft: call.draft,
                place,
                command: shown.to_owned(),
                target: target(command),
                signature: name,
                is_misuse: is_misuse(&line),
                files: Vec::new(),
                commands: Vec::new(),
            });
        }
    }

    /// Closes the errors that a successful command clears: errors of the same command and, if the error was about
    /// incorrect usage, errors of another spelling of the command.
    fn clear(&mut self, command: &str, name: Option<&str>, shown: &str, result: &Message) {
        let target = target(command);
        let drafts = &mut self.drafts;
        self.open.retain_mut(|open| {
            // A call that shares only the name of the command does not clear an error about an option.
            let is_again = || {
                // In another folder, the same call may have a long path before it.
                parts(&open.command).last() == parts(shown).last()
                    || is_spelling_of(&open.command, shown)
                    || likeness(&open.command, shown) >= 0.5
            };
            let is_same = open.target == target && (!open.is_misuse || is_again());
            let is_instead = open.is_misuse && open.signature.is_some() && open.signature.as_deref() == name;
            // `gt context` and `gt mail` are two commands rather than two spellings of one command.
            let is_instead = is_instead && is_spelling_of(&open.command, shown);
            if !is_same && !is_instead {
                return true;
            }
            // An error that disappears after an edit proves that the edit works.
            if is_same && !open.files.is_empty() {
                drafts[open.draft].prove(Proof::Checked(true, shown.to_owned()));
            }
            if !is_same {
                // The spelling is the remedy, regardless of the actions in between.
                (open.files, open.commands) = (Vec::new(), Vec::new());
            }
            if let Some(error) = drafts[open.draft].record.errors.get_mut(open.place) {
                error.cleared = Some(Remedy {
                    command: shown.to_owned(),
                    files: std::mem::take(&mut open.files),
                    commands: std::mem::take(&mut open.commands),
                    message: result.id.clone(),
                });
            }
            false
        });
    }

    fn touch(&mut self, call: &Call<'t>, files: &[transcripts::FileAction], folder: Option<&str>) {
        let draft = &mut self.drafts[call.draft];
        for file in files {
            let root = draft.record.folder.clone();
            let place = |path: &str| within(path, folder, root.as_deref());
            let path = place(&file.path);
            let access = match &file.access {
                FileAccess::Renamed(to) if !to.is_empty() => FileAccess::Renamed(place(to)),
                other => other.clone(),
            };
            draft.note_file(&path, &access, &call.message.id);
            if access != FileAccess::Read {
                draft.prove(if is_document(&path) { Proof::Documented } else { Proof::Edited });
                for open in self.open.iter_mut().filter(|open| open.files.len() < MAX_REMEDIES) {
                    if !open.files.contains(&path) && !open.outputs.contains(&path) {
                        open.files.push(path.clone());
                    }
                }
            }
        }
    }
}

/// A task that is being read.
struct Draft {
    record: TaskRecord,
    /// For each word of the assistant's messages and of errors: the number of occurrences, and the place of the first.
    words: HashMap<u32, (u32, usize)>,
    is_worked: bool,
    stop: Option<StopReason>,
    last: Option<Proof>,
}

impl Draft {
    fn new(request: &Message, folder: Option<String>, branch: Option<String>) -> Self {
        let record = TaskRecord {
            goal: clipped(&request.text, MAX_GOAL),
            outcome: TaskOutcome::Unknown,
            reason: String::new(),
            started_at: request.time.map(|time| time.at),
            ended_at: None,
            folder,
            branch,
            report: None,
            remarks: Vec::new(),
            files: Vec::new(),
            symbols: Vec::new(),
            words: Vec::new(),
            commands: Vec::new(),
            errors: Vec::new(),
            tests: Vec::new(),
            commits: Vec::new(),
            pull_requests: Vec::new(),
            messages: (request.id.clone(), request.id.clone()),
        };
        Self { record, words: HashMap::new(), is_worked: false, stop: None, last: None }
    }

    /// Returns whether the task ends before `request`: something was done and reported, and the request starts other
    /// work.
    fn ends_before(&self, request: &str) -> bool {
        let words = words(request);
        let first = words.first().map(|word| word.text.to_lowercase()).unwrap_or_default();
        let goes_on = words.len() < MIN_REQUEST_WORDS || CONTINUING.split_whitespace().any(|word| word == first);
        self.is_worked && self.record.report.is_some() && !goes_on
    }

    fn see(&mut self, message: &Message, asks: bool) {
        self.record.messages.1.clone_from(&message.id);
        self.record.ended_at = message.time.map(|time| time.at).or(self.record.ended_at);
        let is_interrupted =
            |text: &str| text.starts_with("[Request interrupted by user") || text.starts_with("<turn_aborted>");
        if asks {
            self.stop = None;
        } else if message.kind == Kind::Context && is_interrupted(&message.text) {
            self.stop = Some(StopReason::Interrupted);
        } else if message.kind == Kind::Context && message.role == Role::Assistant && stops_with_error(&message.text) {
            self.stop = Some(StopReason::Error(message.text.clone()));
        } else if message.kind == Kind::Prose
            && matches!(message.role, Role::Assistant | Role::Other)
            && !is_no_answer(&message.text)
        {
            self.stop = None;
            self.count_words(&message.text);
            self.record.report =
                Some(Citation { text: clipped(&message.text, MAX_REPORT), message: message.id.clone() });
        }
    }

    /// Counts the words of `text` that the task is found by.
    fn count_words(&mut self, text: &str) {
        code_words(text, |word| {
            let (number, place) = (word_number(word), self.words.len());
            if let Some((count, _)) = self.words.get_mut(&number) {
                *count += 1;
            } else if place < MAX_WORDS {
                self.words.insert(number, (1, place));
            }
        });
    }

    /// Records what the person says after the request. Short messages, such as "go on", say nothing by themselves.
    fn note_remark(&mut self, message: &Message) {
        let remarks = &mut self.record.remarks;
        if remarks.len() < MAX_REMARKS && words(&message.text).len() >= MIN_REMARK_WORDS {
            remarks.push(Citation { text: clipped(&message.text, MAX_REMARK), message: message.id.clone() });
        }
    }

    fn note_file(&mut self, path: &str, access: &FileAccess, message: &str) {
        let files = &mut self.record.files;
        let place = files.iter().position(|file| file.path == path).unwrap_or(files.len());
        if place == files.len() {
            if files.len() == MAX_FILES {
                return;
            }
            files.push(TaskFile { path: path.to_owned(), ..TaskFile::default() });
        }
        let file = &mut files[place];
        let was_changed = file.is_changed();
        // A written file can be new only if there was no earlier action on it.
        let is_new = file.read == 0 && !was_changed;
        match access {
            FileAccess::Read => file.read += 1,
            FileAccess::Created => file.created = true,
            FileAccess::Written if is_new => file.created = true,
            FileAccess::Edited | FileAccess::Written => file.edited += 1,
            FileAccess::Deleted => file.deleted = true,
            FileAccess::Renamed(to) => file.renamed_to = Some(to.clone()),
        }
        if !was_changed && file.is_changed() {
            file.messages.clear();
        }
        let counts = *access != FileAccess::Read || !file.is_changed();
        if counts && file.messages.len() < MAX_CITED && file.messages.last().is_none_or(|last| last != message) {
            file.messages.push(message.to_owned());
        }
    }

    fn note_symbols(&mut self, names: &[String]) {
        for name in names {
            if self.record.symbols.len() < MAX_SYMBOLS && !self.record.symbols.contains(name) {
                self.record.symbols.push(name.clone());
            }
        }
    }

    fn note_command(
        &mut self,
        command: &str,
        name: Option<&str>,
        folder: Option<String>,
        (exit, failed): (Option<i32>, Option<bool>),
        messages: [&Message; 2],
    ) {
        let commands = &mut self.record.commands;
        let place = commands.iter().position(|one| one.command == command).unwrap_or(commands.len());
        if place == commands.len() {
            if commands.len() == MAX_COMMANDS {
                return;
            }
            let (command, signature) = (command.to_owned(), name.map(str::to_owned));
            commands.push(TaskCommand {
                command,
                signature,
                folder,
                runs: 0,
                failed: 0,
                exit: None,
                messages: Vec::new(),
            });
        }
        let one = &mut commands[place];
        one.runs += 1;
        one.failed += u32::from(failed == Some(true));
        one.exit = exit;
        one.messages.truncate(1);
        if one.messages.is_empty() {
            one.messages.push(messages[0].id.clone());
        }
        one.messages.push(messages[1].id.clone());
        one.messages.dedup();
    }

    fn is_changed(&self) -> bool {
        self.record.files.iter().any(TaskFile::is_changed)
    }

    fn prove(&mut self, proof: Proof) {
        self.last = Some(Proof::then(self.last.take(), proof));
    }

    fn note_test(&mut self, run: TestRun) {
        if let Some(passed) = run.passed {
            let summary = run.summary.clone().unwrap_or_else(|| run.command.clone());
            self.prove(Proof::Tested(passed, summary));
        }
        self.record.tests.retain(|known| known.command != run.command);
        self.record.tests.push(run);
        if self.record.tests.len() > MAX_ERRORS {
            self.record.tests.remove(0);
        }
    }

    fn finished(mut self) -> TaskRecord {
        let (outcome, reason) = outcome(&self.record, self.last.as_ref(), self.stop.as_ref());
        (self.record.outcome, self.record.reason) = (outcome, clipped(&reason, MAX_SHOWN));
        // Changed files come first, because they are the most informative. Otherwise, files are in the order of the
        // log.
        self.record.files.sort_by_key(|file| !file.is_changed());
        let mut words: Vec<(u32, (u32, usize))> = self.words.into_iter().collect();
        words.sort_unstable_by_key(|(_, (count, first))| (std::cmp::Reverse(*count), *first));
        self.record.words = further_words(&self.record, words.into_iter().map(|(number, _)| number));
        self.record
    }
}

/// Returns a command on one line for display, or the first line of a script.
fn shown(command: &str) -> String {
    tidied(command).unwrap_or_else(|| {
        let line = command.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
        clipped(line.trim(), MAX_SHOWN)
    })
}

/// Returns the target of a command, regardless of its spelling: its words without options, redirections and versions.
fn target(command: &str) -> String {
    let last = parts(command).into_iter().next_back().unwrap_or(command);
    let plain = |word: &&str| !word.starts_with('-') && !word.contains('>');
    let words = last.split_whitespace().filter(plain).map(|word| match word {
        "python3" => "python",
        "pip3" => "pip",
        word => word,
    });
    words.collect::<Vec<_>>().join(" ")
}

/// Returns whether two commands are spellings of one command, that is, whether they have most words or nearly all
/// letters in common.
fn is_spelling_of(failed: &str, worked: &str) -> bool {
    likeness(failed, worked) >= MIN_LIKENESS || strsim::normalized_levenshtein(failed, worked) >= MIN_LETTERS
}

/// Returns a path relative to the project's folder, if the path is inside this folder.
fn within(path: &str, folder: Option<&str>, root: Option<&str>) -> String {
    let is_absolute = path.starts_with(['/', '~', '\\']) || path.get(1..3).is_some_and(|drive| drive.starts_with(':'));
    let joined = match folder.or(root).filter(|_| !is_absolute) {
        Some(folder) => format!("{}/{path}", folder.trim_end_matches(['/', '\\'])),
        None => path.to_owned(),
    };
    let joined = normal(&joined.replace('\\', "/"));
    let root = root.map(|root| normal(&root.replace('\\', "/")));
    let inside = root.and_then(|root| joined.strip_prefix(&root)?.strip_prefix('/').map(str::to_owned));
    inside.filter(|inside| !inside.is_empty()).unwrap_or(joined)
}

/// Resolves `.` and `..` in a path.
fn normal(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "." => {}
            "" if !parts.is_empty() => {}
            ".." if parts.last().is_some_and(|last| !matches!(*last, "" | ".." | "~")) => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    parts.join("/")
}

#[cfg(test)]
#[path = "task_tests.rs"]
mod tests;
