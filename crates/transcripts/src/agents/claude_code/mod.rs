//! Claude Code session logs: one JSONL file per session, and one for each of its sub-agents.
//!
//! Each block of a log line becomes a separate message with the line's uuid; the lines of one answer are consecutive.
//! The log of a resumed session begins with a copy of the previous log, which is not read twice (`copies`). Text that
//! the user typed is distinguished from text that the program wrote in the user's turn (`words`). If a conversation was
//! rewound, only the newest branch is retained (`branches`).

mod line;

use std::collections::{BTreeSet, HashMap, HashSet};
use std::fs::File;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use jiff::Timestamp;
use serde::Deserialize;
use serde_json::Value;

use crate::json::Json;

use self::line::Line;
pub(crate) use self::line::classify;
use crate::message::assemble::{Prompt, Prompts};
use crate::message::identity;
use crate::message::parts::on_one_line;
use crate::message::program;
use crate::message::speaker::slash_command;
use crate::{
    Assembler, Folder, Head, IngestError, Ingestor, Input, Kind, Message, MessageTime, Records, Role, Sink, TimeSource,
    open,
};

/// Name of the format, stored with each transcript.
const NAME: &str = "claude-code";

/// Types of lines that are not messages; together with a session id they identify a log of Claude Code.
const BOOKKEEPING_TYPES: &[&str] = &[
    "agent-name", "agent-setting", "ai-title", "attachment", "custom-title", "last-prompt", "mode", "permission-mode",
    "pr-link", "progress", "queue-operation", "system",
];

/// Reads Claude Code sessions.
pub(crate) struct ClaudeCode;

impl Ingestor for ClaudeCode {
    named!(NAME);

    fn sniff(&self, head: &Head<'_>) -> bool {
        let is_ours = |line: &Value| is_own_line(line) || is_history_entry(line);
        // Qwen Code writes the same fields around messages that have Gemini's format.
        let is_foreign = |line: &Value| line.pointer("/message/parts").is_some();
        head.most_lines(is_ours) && !head.any_line(is_foreign) || head.document.as_ref().is_some_and(is_ours)
    }

    fn read(&self, input: Input, sink: &mut Sink<'_>) -> Result<(), IngestError> {
        if Head::of(&input).is_log_of(is_history_entry) {
            return read_history(input, sink);
        }
        let mut sessions = Sessions::new(&input);
        let mut records = Records::lines(input);
        while let Some(record) = records.next(sink)? {
            // An array would be parsed as the fields of a line in order.
            if record.text.trim_start().starts_with('[') {
                sink.skip(record.number, "not a JSON object");
            } else if let Some(line) = record.parse::<Line>(sink) {
                if line.is_broken() {
                    sink.skip(record.number, "the line contains no message object");
                } else {
                    sessions.take(record.number, &line, sink);
                }
            }
        }
        sessions.finish(sink);
        Ok(())
    }
}

fn is_own_line(line: &Value) -> bool {
    let is_text = |key: &str| line.get(key).is_some_and(Value::is_string);
    let kind = line.get("type").and_then(Value::as_str).unwrap_or_default();
    match kind {
        "user" | "assistant" => {
            let role = line.pointer("/message/role").and_then(Value::as_str);
            // Qwen Code writes similar lines around messages that have Gemini's format.
            let is_ours = role == Some(kind) && line.pointer("/message/parts").is_none();
            is_ours && (is_text("uuid") || is_text("sessionId"))
        }
        "summary" => is_text("leafUuid"),
        "started" | "result" => is_text("agentId"),
        "file-history-snapshot" | "file-history-delta" => is_text("messageId"),
        _ => is_text("sessionId") && BOOKKEEPING_TYPES.contains(&kind),
    }
}

/// The sessions in one file. There is more than one if the file begins with lines of another session, or if logs were
/// concatenated.
#[derive(Default)]
struct Sessions {
    /// Name of the file, if it is the uuid of a session.
    file_id: Option<String>,
    copies: Option<Copies>,
    stem: String,
    origin: String,
    open: Vec<Session>,
    index: HashMap<String, usize>,
    last: usize,
    summaries: Vec<Summary>,
    journal: Option<usize>,
}

impl Sessions {
    fn new(input: &Input) -> Self {
        let stem = input.stem();
        // For a compressed log, the stem still ends in `.jsonl`.
        let stem = stem.strip_suffix(".jsonl").unwrap_or(&stem).to_owned();
        let file_id = uuid::Uuid::try_parse(&stem).is_ok().then(|| stem.clone());
        Self {
            copies: file_id.as_ref().map(|id| Copies::new(id, input)),
            file_id,
            stem,
            origin: input.path.display().to_string(),
            ..Self::default()
        }
    }

    fn take(&mut self, number: usize, line: &Line, sink: &mut Sink<'_>) {
        if let (Some(text), Some(leaf)) = (line.summary.owned(), line.leaf_uuid.owned()) {
            self.summaries.push(Summary { text, leaf });
        } else if line.is_journal() {
            self.journal.get_or_insert(number);
        } else if !self.copies.as_mut().is_some_and(|copies| copies.is_copy(number, line)) {
            self.last = self.place(line);
            self.open[self.last].take(line, &self.summaries, sink);
        }
    }

    /// Finds or opens the session of `line`; a line without a session id belongs to the same session as the previous
    /// line.
    fn place(&mut self, line: &Line) -> usize {
        let id = match (&self.file_id, line.session()) {
            (Some(file_id), Some(id)) if file_id == id => id.to_owned(),
            // A sub-agent logs under the session that started it, so its own id is added to distinguish it.
            (_, Some(id)) if line.is_agents_own() => format!("{id}/{}", line.agent_id.string()),
            (_, Some(id)) => id.to_owned(),
            (_, None) if self.open.is_empty() => self.stem.clone(),
            (_, None) => return self.last,
        };
        *self.index.entry(id).or_insert_with_key(|id| {
            self.open.push(Session::new(id, &self.origin));
            self.open.len() - 1
        })
    }

    fn finish(self, sink: &mut Sink<'_>) {
        if let Some(copies) = self.copies {
            copies.finish(sink);
        }
        if let Some(line) = self.journal {
            sink.skip(line, "the journal of a workflow contains no conversation; its agents have separate logs");
        }
        for session in self.open {
            session.finish(&self.summaries, sink);
        }
    }
}

// Lines that the log of a resumed session copies from the session that it continues.
//
// Depending on the version, such lines retain the session id of the older log, or give the older session as their
// origin. Other versions write the new id and retain only the uuids of the lines. If the older log still exists, the
// lines are read from it. If it does not exist, lines that name it are read as part of it.

/// Detects the lines that a log repeats from older logs in the same folder.
#[derive(Default)]
struct Copies {
    /// The session that the log is named after.
    own_id: String,
    folder: Option<(Folder, String)>,
    /// The path of the log, unless it is in an archive.
    path: Option<PathBuf>,
    /// Whether each session that a line refers to has a separate log.
    logged: HashMap<String, bool>,
    /// The lines of older logs with the same first line as this one, and the session that each line belongs to.
    older: Option<HashMap<u64, String>>,
    /// For each repeated session: the first repeated line, and the number of such lines.
    passed: HashMap<String, (usize, usize)>,
}

impl Copies {
    /// Creates the detector for the log `input` of the session `own_id`.
    fn new(own_id: &str, input: &Input) -> Self {
        Self {
            own_id: own_id.to_owned(),
            folder: input.place(),
            path: (!input.is_in_archive()).then(|| input.path.clone()),
            ..Self::default()
        }
    }

    /// Returns whether `line` is read from an older log instead, and counts it if so.
    fn is_copy(&mut self, number: usize, line: &Line) -> bool {
        let named = line.session().filter(|id| *id != self.own_id).map(str::to_owned);
        let original = match named {
            Some(id) => Some(id.clone()).filter(|_| self.is_logged(&id)),
            None => line.uuid.text().and_then(|uuid| self.older_line(uuid)),
        };
        if let Some(id) = &original {
            self.passed.entry(id.clone()).or_insert((number, 0)).1 += 1;
        }
        original.is_some()
    }

    /// Reports the lines that were skipped.
    fn finish(self, sink: &mut Sink<'_>) {
        let mut passed: Vec<_> = self.passed.into_iter().map(|(id, (number, count))| (number, count, id)).collect();
        // A hash map has no order, and reports must not vary between runs.
        passed.sort_unstable();
        for (number, count, id) in passed {
            let lines = if count == 1 { "line" } else { "lines" };
            sink.skip(
                number,
                format!("{count} {lines} from here on repeat the session {id}, which is read from its own log"),
            );
        }
    }

    fn is_logged(&mut self, id: &str) -> bool {
        if let Some(known) = self.logged.get(id) {
            return *known;
        }
        let is_name = uuid::Uuid::try_parse(id).is_ok();
        let beside = |(folder, parent): &(Folder, String)| folder.has(&format!("{parent}{id}.jsonl"));
        let is_logged = is_name && self.folder.as_ref().is_some_and(beside);
        self.logged.insert(id.to_owned(), is_logged);
        is_logged
    }

    /// Returns the older session whose log contains the line `uuid`. The first call determines whether such a log
    /// exists.
    fn older_line(&mut self, uuid: &str) -> Option<String> {
        let path = self.path.as_deref();
        let older = self.older.get_or_insert_with(|| path.map(|path| older_lines(path, uuid)).unwrap_or_default());
        older.get(&hash(uuid)).cloned()
    }
}

/// Returns the lines of the shorter logs in the folder of `path` that also begin with the line `first`: the log of a
/// resumed session consists of the older log and further lines.
fn older_lines(path: &Path, first: &str) -> HashMap<u64, String> {
    let mut lines = HashMap::new();
    let (Some(parent), Ok(own)) = (path.parent(), path.metadata()) else { return lines };
    let parent = if parent.as_os_str().is_empty() { Path::new(".") } else { parent };
    for other in logs_that_begin_with(first, parent) {
        // If two logs begin with the same line, the longer one is the copy that was continued.
        if other.metadata().is_ok_and(|data| data.len() < own.len()) {
            let id = other.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            for uuid in uuids(&other) {
                lines.entry(uuid).or_insert_with(|| id.clone());
            }
        }
    }
    lines
}

/// Returns the hashes of all uuids in the log at `path`, up to the first unreadable line.
fn uuids(path: &Path) -> HashSet<u64> {
    let mut found = HashSet::new();
    let (mut ignore, Ok(input)) = (|_| {}, open(path)) else { return found };
    let (mut sink, mut records) = (Sink::new(&mut ignore), Records::lines(input));
    while let Ok(Some((_, line))) = records.next_json::<Id>(&mut sink) {
        found.extend(line.uuid.text().map(hash));
    }
    found
}

// The first line of each log in a folder, determined once for the whole folder, which may contain thousands of logs.

/// Number of bytes at the start of a log that are searched for its first message.
const FIRST_LINES_BYTES: u64 = 64 << 10;
/// Time for which the result remains valid; a log that was empty may have received its first line since.
const GOOD_FOR: Duration = Duration::from_mins(1);

/// The folder that was examined last. The logs of a folder are usually read one after another.
static LAST: Mutex<Option<Heads>> = Mutex::new(None);

/// The uuid of a line, without its other fields.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Id {
    uuid: Value,
}

/// The logs of a folder, indexed by their first line.
struct Heads {
    folder: PathBuf,
    changed_at: Option<SystemTime>,
    found_at: Instant,
    logs: HashMap<u64, Vec<PathBuf>>,
}

/// Returns the logs in `folder` whose first line with a uuid has this uuid, sorted.
fn logs_that_begin_with(uuid: &str, folder: &Path) -> Vec<PathBuf> {
    let changed_at = folder.metadata().and_then(|data| data.modified()).ok();
    let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
    // The result is cached, because reading each log requires the first lines of all logs, and folders with thousands
    // of logs are common.
    let is_good =
        |heads: &Heads| heads.folder == folder && heads.changed_at == changed_at && heads.found_at.elapsed() < GOOD_FOR;
    if !last.as_ref().is_some_and(is_good) {
        *last = Some(Heads {
            folder: folder.to_owned(),
            changed_at,
            found_at: Instant::now(),
            logs: logs_by_first_line(folder),
        });
    }
    last.as_ref().and_then(|heads| heads.logs.get(&hash(uuid)).cloned()).unwrap_or_default()
}

fn logs_by_first_line(folder: &Path) -> HashMap<u64, Vec<PathBuf>> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<_> =
        entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file())).map(|entry| entry.path()).collect();
    paths.retain(|path| {
        path.extension().is_some_and(|ending| ending == "jsonl")
            && path.file_stem().is_some_and(|stem| uuid::Uuid::try_parse(&stem.to_string_lossy()).is_ok())
    });
    paths.sort();
    let mut logs: HashMap<u64, Vec<PathBuf>> = HashMap::new();
    for path in paths {
        if let Some(first) = first_uuid(&path) {
            logs.entry(hash(first)).or_default().push(path);
        }
    }
    logs
}

/// Returns the uuid of the first line that has one.
fn first_uuid(path: &Path) -> Option<String> {
    let reader = BufReader::new(File::open(path).ok()?.take(FIRST_LINES_BYTES));
    reader.split(b'\n').map_while(Result::ok).find_map(|line| serde_json::from_slice::<Id>(&line).ok()?.uuid.owned())
}

// One session while it is being read. Messages are buffered until it is certain that the user has not undone them.

/// A title that the log assigns to the session that contains the line `leaf`; that session may be in another file.
#[derive(Debug)]
struct Summary {
    text: String,
    leaf: String,
}

/// Collects one session.
///
/// Rewinds and queued input are resolved among the buffered messages, which are only the last part of a very long
/// session.
#[derive(Default)]
struct Session {
    draft: Assembler,
    /// For each buffered message, the index of its line in `nodes`.
    places: Vec<usize>,
    nodes: Vec<Node>,
    /// Lines that repeat another line.
    void: HashSet<usize>,
    /// Queued texts that no later line has delivered, each with the line that queued the text.
    queued: HashMap<u64, usize>,
    ever_queued: HashSet<u64>,
    seen: HashSet<u64>,
    said: HashSet<u64>,
    /// The last custom title, name of the agent and generated title, in order of precedence.
    titles: [Option<String>; 3],
    /// The repositories in which the session opened pull requests.
    linked: BTreeSet<String>,
}

impl Session {
    fn new(id: &str, origin: &str) -> Self {
        Self { draft: Assembler::new(NAME, id, origin), ..Self::default() }
    }

    fn take(&mut self, line: &Line, summaries: &[Summary], sink: &mut Sink<'_>) {
        self.take_meta(line);
        let time = self.draft.next_time(line.time());
        let (uuid, place) = (line.uuid.text(), self.nodes.len());
        if uuid.is_some_and(|uuid| self.seen.contains(&hash(uuid))) {
            return;
        }
        let parent = line.parent_uuid.text().map(hash);
        let is_prompt = line.is_prompt();
        let is_queued = line.operation.text().is_some();
        if let Some(command) = line.typed_command().filter(|_| !is_queued) {
            self.deliver(&command);
        }
        let messages = if is_queued { self.take_queued(line) } else { line.messages() };
        let mut typed = false;
        let mut held = false;
        for message in messages {
            if self.is_replay(&message, time) {
                continue;
            }
            typed |= is_prompt && message.is_human();
            if !is_queued && matches!(message.role, Role::User | Role::System) {
                self.deliver(&message.text);
            }
            let mut message = Message { id: uuid.unwrap_or_default().to_owned(), time, ..message };
            if let Some(action) = &mut message.action {
                action.folder = line.cwd.owned();
            }
            let count = self.draft.hold(message);
            self.places.extend(std::iter::repeat_n(place, count));
            held |= count > 0;
        }
        // A line without text retains its position in the tree, but a later line with the same id may contain text.
        let id = uuid.map(hash);
        if let Some(id) = id.filter(|_| held) {
            self.seen.insert(id);
        }
        let typed_at = time.filter(|time| typed && time.source == TimeSource::Log).map(|time| time.at);
        self.nodes.push(Node { id: id.unwrap_or_default(), parent, typed_at });
        if self.draft.is_full() {
            self.release(summaries, sink);
        }
    }

    fn finish(mut self, summaries: &[Summary], sink: &mut Sink<'_>) {
        self.release(summaries, sink);
    }

    fn take_meta(&mut self, line: &Line) {
        let agent = line.agent_name.owned().filter(|_| line.kind == "agent-name");
        for (title, new) in self.titles.iter_mut().zip([line.custom_title.owned(), agent, line.ai_title.owned()]) {
            *title = new.or(title.take());
        }
        self.linked.extend(line.linked_repository());
        let meta = self.draft.meta();
        // Of several repositories, none identifies the project.
        meta.linked_repository = self.linked.first().filter(|_| self.linked.len() == 1).cloned();
        meta.project = meta.project.take().or_else(|| line.cwd.owned());
        meta.branch = line.git_branch.owned().or(meta.branch.take());
        if let Some(model) = line.model() {
            meta.model = Some(model.to_owned());
        }
    }

    /// Returns whether the same words were said at the same instant: a compaction logs old lines again with new ids.
    fn is_replay(&mut self, message: &Message, time: Option<MessageTime>) -> bool {
        let stamp = time.filter(|time| time.source == TimeSource::Log && message.kind == Kind::Prose);
        // The key includes time and role, because people repeat short answers.
        let key = stamp.map(|time| hash(format!("{} {:?} {}", time.at, message.role, message.text)));
        key.is_some_and(|key| !self.said.insert(key))
    }

    /// Handles a change to the input queue: text that is never delivered still counts as something that was said.
    fn take_queued(&mut self, line: &Line) -> Vec<Message> {
        let queued = line.queued();
        let key = hash(on_one_line(&queued.text));
        match line.operation.string() {
            "enqueue" => {}
            // The text was consumed while the agent ran; usually it had been queued, and is already buffered.
            "remove" if !self.ever_queued.contains(&key) => {}
            // The text was returned to the input field.
            "popAll" => {
                self.void.extend(self.queued.remove(&key));
                return Vec::new();
            }
            _ => return Vec::new(),
        }
        self.ever_queued.insert(key);
        self.queued.insert(key, self.nodes.len());
        vec![queued]
    }

    /// Drops the queued copy of `text`, which has now been delivered.
    fn deliver(&mut self, text: &str) {
        if !self.queued.is_empty() {
            self.void.extend(self.queued.remove(&hash(on_one_line(text))));
        }
    }

    /// Passes the buffered messages to `sink`, without abandoned branches and repeated input.
    fn release(&mut self, summaries: &[Summary], sink: &mut Sink<'_>) {
        // The abandoned branches are known only once the lines after them have been read.
        let dead = abandoned(&self.nodes);
        let mut places = self.places.drain(..);
        let void = &self.void;
        self.draft.retain(|_| {
            let place = places.next().expect("there is one place per buffered message");
            !dead[place] && !void.contains(&place)
        });
        drop(places);
        self.name(summaries);
        self.draft.hand_over(sink);
        // The ids seen so far are retained, because a later line may still repeat one of them.
        self.nodes.clear();
        self.void.clear();
        self.queued.clear();
    }

    fn name(&mut self, summaries: &[Summary]) {
        let summary = || summaries.iter().rev().find(|summary| self.seen.contains(&hash(&summary.leaf)));
        let title = self.titles.iter().flatten().next().or_else(|| Some(&summary()?.text));
        self.draft.meta().title = title.cloned();
    }
}

/// Hashes an id or a text, so that the ids and texts of a long log need not stay in memory.
fn hash(text: impl AsRef<str>) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.as_ref().hash(&mut hasher);
    hasher.finish()
}

// Branches of the conversation that the user abandoned by rewinding.

/// The position of one log line in the conversation.
#[derive(Debug, Clone, Copy)]
struct Node {
    /// Hash of the line's id.
    id: u64,
    /// Hash of the id of the preceding line in the conversation.
    parent: Option<u64>,
    /// Time at which the user typed the line; `None` for lines that are not typed prompts.
    typed_at: Option<Timestamp>,
}

/// Returns, for each node, whether it is on an abandoned branch.
///
/// If several prompts typed at different times follow the same line, the user rewound the conversation: the newest
/// prompt is kept, and the others are removed with everything that follows them. Other forks result from parallel tools
/// and compaction, and remain. The order of the nodes does not matter, and cycles and missing parents are tolerated.
fn abandoned(nodes: &[Node]) -> Vec<bool> {
    let mut newest: HashMap<u64, Timestamp> = HashMap::new();
    let mut children: HashMap<u64, Vec<usize>> = HashMap::new();
    for (place, node) in nodes.iter().enumerate() {
        let Some(parent) = node.parent else { continue };
        children.entry(parent).or_default().push(place);
        if let Some(typed_at) = node.typed_at.filter(|_| parent != node.id) {
            let latest = newest.entry(parent).or_insert(typed_at);
            *latest = (*latest).max(typed_at);
        }
    }
    let is_older = |node: &Node| {
        let latest = node.parent.filter(|parent| *parent != node.id).and_then(|parent| newest.get(&parent));
        latest.zip(node.typed_at).is_some_and(|(latest, typed_at)| typed_at < *latest)
    };
    let mut dead = vec![false; nodes.len()];
    let mut open: Vec<usize> = (0..nodes.len()).filter(|place| is_older(&nodes[*place])).collect();
    while let Some(place) = open.pop() {
        if !std::mem::replace(&mut dead[place], true) {
            // Removing the list ensures that each edge is followed once, however often an id is repeated.
            open.extend(children.remove(&nodes[place].id).unwrap_or_default());
        }
    }
    dead
}

// `history.jsonl`: the prompts that were typed in all projects, without the answers.

/// Returns whether `line` is an entry of the history.
fn is_history_entry(line: &Value) -> bool {
    line["display"].is_string() && line["timestamp"].is_number() && line.get("type").is_none()
}

/// Reads the history. Prompts of a session that has a log in the `projects` folder are read from that log instead.
fn read_history(input: Input, sink: &mut Sink<'_>) -> Result<(), IngestError> {
    let logs = input.names_beside("projects");
    let stem = |name: &String| name.rsplit('/').next().and_then(|name| name.strip_suffix(".jsonl")).map(str::to_owned);
    let mut prompts = Prompts::new(NAME, &input, logs.iter().filter_map(stem).collect::<HashSet<_>>());
    let mut records = Records::lines(input);
    while let Some((number, entry)) = records.next_json::<Value>(sink)? {
        if !is_history_entry(&entry) {
            sink.skip(number, "not a history entry");
            continue;
        }
        let project = entry["project"].as_str();
        // Entries of older versions contain no session id and are grouped by project.
        let session = entry["sessionId"]
            .as_str()
            .map_or_else(|| identity::of_parts(&[project.unwrap_or_default()]), str::to_owned);
        for message in typed_messages(&entry) {
            prompts.take(number, Prompt { session: &session, key: &session, project, message }, sink);
        }
    }
    prompts.finish(sink);
    Ok(())
}

/// Returns the typed text and the texts that were pasted into it.
fn typed_messages(entry: &Value) -> Vec<Message> {
    let display = entry["display"].string();
    // As in the log of a session, the arguments of a command are the user's words.
    let words = slash_command(display).map(|(_, argument)| argument).filter(|argument| !argument.is_empty());
    let command = program::memory_command(display);
    let typed = command.unwrap_or_else(|| line::classify(words.unwrap_or(display)));
    let pasted = entry["pastedContents"].as_object().into_iter().flat_map(|pasted| pasted.values());
    let pasted = pasted.filter_map(|pasted| pasted["content"].as_str().filter(|_| pasted["type"] == "text"));
    let pasted = pasted.map(|text| Message::new(Role::User, Kind::Context, text));
    let time = identity::instant(&entry["timestamp"]).map(MessageTime::logged);
    std::iter::once(typed).chain(pasted).map(|message| Message { time, ..message }).collect()
}

#[cfg(test)]
mod heads_tests {
    use super::*;

    #[test]
    fn logs_are_found_by_their_first_line_and_new_ones_are_noticed() {
        let folder = tempfile::tempdir().unwrap();
        let path = |digit: u8| folder.path().join(format!("1b7e44d0-90c3-4f7a-8a6e-6f1f0f6f7b0{digit}.jsonl"));
        let write = |path: &Path, uuid: &str| {
            let text = format!("{{\"type\":\"mode\"}}\n{{\"uuid\":\"{uuid}\"}}\n{{\"uuid\":\"z\"}}\n");
            std::fs::write(path, text).unwrap();
        };
        write(&path(2), "a");
        write(&path(1), "a");
        write(&path(3), "b");
        write(&folder.path().join("notes.jsonl"), "a");
        assert_eq!(logs_that_begin_with("a", folder.path()), [path(1), path(2)]);
        assert_eq!(logs_that_begin_with("z", folder.path()), Vec::<PathBuf>::new());
        // Modification times of folders may only be as precise as a clock tick.
        std::thread::sleep(Duration::from_millis(50));
        write(&path(4), "b");
        assert_eq!(logs_that_begin_with("b", folder.path()), [path(3), path(4)]);
    }
}

#[cfg(test)]
mod branches_tests {
    use super::*;

    fn node(id: u64, parent: u64, typed_at: Option<i64>) -> Node {
        let parent = (parent > 0).then_some(parent);
        Node { id, parent, typed_at: typed_at.map(|second| Timestamp::from_second(second).unwrap()) }
    }

    #[test]
    fn the_older_branch_goes_with_all_that_follows_it() {
        let nodes = [
            node(1, 0, Some(1)),
            node(2, 1, None),
            node(3, 2, Some(3)),
            node(4, 3, None),
            node(5, 2, Some(5)),
            node(6, 5, None),
        ];
        assert_eq!(abandoned(&nodes), [false, false, true, true, false, false]);
    }

    #[test]
    fn forks_that_nobody_typed_and_replays_at_the_same_time_stay() {
        let nodes = [node(1, 0, Some(1)), node(2, 1, None), node(3, 1, None), node(4, 1, Some(9)), node(5, 1, Some(9))];
        assert_eq!(abandoned(&nodes), [false; 5]);
    }

    #[test]
    fn several_first_prompts_are_no_rewind() {
        assert_eq!(abandoned(&[node(1, 0, Some(1)), node(2, 0, Some(2))]), [false, false]);
    }

    #[test]
    fn a_node_that_follows_itself_is_not_its_own_sibling() {
        assert_eq!(abandoned(&[node(1, 1, Some(1)), node(2, 1, Some(2))]), [false, false]);
    }

    #[test]
    fn cycles_and_missing_parents_end() {
        let nodes = [node(1, 2, Some(1)), node(2, 1, None), node(3, 2, Some(2)), node(3, 3, None), node(4, 99, None)];
        assert_eq!(abandoned(&nodes), [true, true, true, true, false]);
    }
}

#[cfg(test)]
mod tests;
