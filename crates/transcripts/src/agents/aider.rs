//! Aider's `.aider.chat.history.md`: all chats in one folder, in one append-only Markdown file.
//!
//! Aider ends each line that the user typed, and each line of its own output, with two spaces. If a chat has these
//! spaces, they distinguish a typed `#### ` line from a heading in an answer, and a `> ` line of Aider's output from a
//! quotation. If an editor has removed them, every line with one of these marks counts.
//!
//! Aider also marks prompts that it writes itself like typed lines: the answer that it passes to the editor model, errors
//! of linters, the output of commands, and the argument of a command such as `/ask`, which follows the command.

use std::collections::{HashMap, HashSet};

use jiff::civil::DateTime;
use jiff::tz::Offset;

use crate::message::identity;
use crate::message::parts::call_on;
use crate::message::program::is_written;
use crate::message::speaker::slash_command;
use crate::{
    Action, Assembler, FileAccess, FileAction, Head, IngestError, Ingestor, Input, Kind, MAX_RECORD_BYTES, Message,
    MessageTime, Record, Records, Role, Sink, TimeSource,
};

/// Name of the format, stored with each transcript.
const NAME: &str = "aider";
/// Text that precedes the local start time of a chat.
const HEADER: &str = "# aider chat started at ";
/// Commands whose argument is a message to the model.
const ASKING: &[&str] = &["ask", "code", "architect", "context", "help"];

/// Prompts that Aider writes: how they begin, and text that occurs later in them.
const WRITTEN: &[[&str; 2]] = &[
    ["# Fix any errors below, if possible.", ""],
    ["The LLM did not conform to the edit format", ""],
    ["I ran this command:", "And got this output:"],
    ["I added these files to the chat:", "Let me know if there are others we should add."],
];
/// Minimum length, in characters without spaces, of a prompt that is compared with the last answer.
const SHORTEST_REPEATED: usize = 20;

/// Reads Aider's chat histories.
pub(crate) struct Aider;

impl Ingestor for Aider {
    named!(NAME);

    fn sniff(&self, head: &Head<'_>) -> bool {
        head.text.lines().find(|line| !line.trim().is_empty()).is_some_and(|line| started_at(line).is_some())
    }

    fn read(&self, input: Input, sink: &mut Sink<'_>) -> Result<(), IngestError> {
        let origin = input.path.display().to_string();
        let mut records = Records::lines(input);
        let mut chat = Chat::new(&origin, None);
        let mut ids = HashMap::new();
        while let Some(record) = records.next(sink)? {
            if let Some(start) = started_at(&record.text) {
                std::mem::replace(&mut chat, Chat::new(&origin, Some(start))).finish(sink);
            } else {
                chat.take(&record, &mut ids, sink);
            }
        }
        chat.finish(sink);
        Ok(())
    }
}

/// Returns the time in the line that begins a chat.
fn started_at(line: &str) -> Option<DateTime> {
    let stamp = line.strip_prefix(HEADER)?.trim();
    if stamp.len() == 19 { stamp.parse().ok() } else { None }
}

/// The author of a line.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Voice {
    User,
    Program,
    #[default]
    Assistant,
}

/// Whether lines with a given mark end with two spaces in this chat, as decided by the first such line.
#[derive(Debug, Default)]
struct Mark {
    is_spaced: Option<bool>,
}

impl Mark {
    /// Returns the text after `mark`, unless the line is part of an answer and only resembles a marked line.
    fn strip<'a>(&mut self, line: &'a str, mark: &str) -> Option<&'a str> {
        let rest = line.strip_prefix(mark)?;
        if !rest.is_empty() && !rest.starts_with(' ') {
            return None;
        }
        let is_spaced = line.ends_with("  ");
        (!*self.is_spaced.get_or_insert(is_spaced) || is_spaced).then(|| rest.trim())
    }
}

/// The state of one chat while it is being read.
#[derive(Default)]
struct Chat {
    draft: Assembler,
    start: Option<DateTime>,
    is_named: bool,
    typed: Mark,
    pieces: Mark,
    voice: Voice,
    text: String,
    last_line: usize,
    /// The prompt that was typed last, until it is answered.
    asked: String,
    /// The answer to the last prompt.
    answer: String,
}

impl Chat {
    fn new(origin: &str, start: Option<DateTime>) -> Self {
        let mut draft = Assembler::new(NAME, "", origin);
        draft.meta().created_at = start.and_then(|start| Offset::UTC.to_timestamp(start).ok());
        Self { draft, start, ..Self::default() }
    }

    fn take(&mut self, record: &Record, ids: &mut HashMap<String, usize>, sink: &mut Sink<'_>) {
        let line = record.text.as_str();
        if !self.is_named {
            self.name(line, ids);
        }
        let (voice, text) = if let Some(words) = self.typed.strip(line, "####") {
            (Voice::User, words)
        } else if let Some(pieces) = self.pieces.strip(line, ">") {
            (Voice::Program, pieces)
        } else {
            (Voice::Assistant, line)
        };
        let blank_before = self.last_line > 0 && record.number > self.last_line + 1;
        // Each line of a multi-line prompt repeats the mark, so a new prompt begins only after a blank line.
        let is_new = voice != self.voice || voice == Voice::User && blank_before;
        if is_new || self.text.len() > MAX_RECORD_BYTES {
            self.say(sink);
            self.voice = voice;
        } else {
            self.text.push_str(if blank_before { "\n\n" } else { "\n" });
        }
        self.text.push_str(text);
        self.last_line = record.number;
    }

    /// Sets the chat's identity: its start time and first line, plus a number if another chat has the same start and
    /// first line.
    fn name(&mut self, line: &str, ids: &mut HashMap<String, usize>) {
        let start = self.start.map(|start| start.to_string()).unwrap_or_default();
        let id = identity::of_parts(&[&start, line.trim()]);
        let seen = ids.entry(id.clone()).or_insert(0);
        *seen += 1;
        self.draft.set_external_id(if *seen == 1 { id } else { format!("{id}~{seen}") });
        self.is_named = true;
    }

    /// Adds the text written by one author since the last change of author.
    fn say(&mut self, sink: &mut Sink<'_>) {
        let text = std::mem::take(&mut self.text);
        let time = self.draft.meta().created_at.map(|at| MessageTime {
            at,
            offset_seconds: None,
            source: TimeSource::Derived,
        });
        let message = match self.voice {
            Voice::User => self.typed(&text),
            // Everything that the program prints, including the output of commands, is written as quotations.
            Voice::Program => {
                self.note_model(&text);
                let action = edits(&text);
                Message { action, ..Message::answer(text) }
            }
            Voice::Assistant => {
                self.asked.clear();
                if self.answer.len() <= MAX_RECORD_BYTES {
                    self.answer.push_str(&text);
                    self.answer.push('\n');
                }
                Message::assistant(text)
            }
        };
        self.draft.push(Message { time, ..message }, sink);
    }

    /// Classifies a prompt, unless Aider wrote it or repeats it.
    fn typed(&mut self, text: &str) -> Message {
        let answer = std::mem::take(&mut self.answer);
        let is_written = WRITTEN.iter().any(|[opening, mark]| text.trim().starts_with(opening) && text.contains(mark));
        if is_written || repeats(text, &answer) {
            return Message::context(text);
        }
        let message = typed(text);
        if !message.is_human() {
            return message;
        }
        let is_repeated = self.asked == message.text.trim();
        message.text.trim().clone_into(&mut self.asked);
        if is_repeated { Message::user("") } else { message }
    }

    /// Takes the model from the program's start-up output, such as `Main model: gpt-5 with diff edit format`.
    fn note_model(&mut self, text: &str) {
        // Aider prints the model when it starts, and the history contains its output.
        let named =
            ["Main model: ", "Model: "].iter().find_map(|head| text.lines().find_map(|line| line.strip_prefix(head)));
        if let Some(model) = named.and_then(|rest| rest.split_whitespace().next()) {
            self.draft.meta().model = Some(model.to_owned());
        }
    }

    fn finish(mut self, sink: &mut Sink<'_>) {
        self.say(sink);
        self.draft.finish(sink);
    }
}

/// Returns whether `prompt` consists of most of `answer`: in architect mode, Aider passes the answer to another model.
fn repeats(prompt: &str, answer: &str) -> bool {
    let letters = |text: &str| text.chars().filter(|c| !c.is_whitespace()).count();
    let answered: HashSet<&str> = answer.lines().map(str::trim).collect();
    let (whole, shared): (usize, usize) = prompt.lines().map(str::trim).fold((0, 0), |(whole, shared), line| {
        let count = letters(line);
        (whole + count, shared + if answered.contains(line) { count } else { 0 })
    });
    whole >= SHORTEST_REPEATED && shared * 10 >= whole * 9 && shared * 2 >= letters(answer)
}

/// Classifies typed text; the argument of a command that asks the model counts as a message of the user.
fn typed(text: &str) -> Message {
    let text = text.trim();
    // Aider writes `<blank>` for an empty prompt.
    if text == "<blank>" {
        return Message::user("");
    }
    let run = text.strip_prefix('!').or_else(|| text.strip_prefix("/run ").or_else(|| text.strip_prefix("/test ")));
    let arguments = serde_json::json!({ "command": run });
    let call = match (text.strip_prefix('!'), slash_command(text)) {
        (Some(command), _) => call_on("/run", command),
        (None, Some((name, words))) if ASKING.contains(&name) && !words.is_empty() => return Message::user(words),
        (None, Some((name, argument))) => call_on(&format!("/{name}"), argument),
        (None, None) if is_written(text) => return Message::context(text),
        (None, None) => return Message::user(text),
    };
    Message::new(Role::User, Kind::ToolCall, call).doing("run", &arguments)
}

/// Returns the files that the program reports as changed.
fn edits(text: &str) -> Option<Box<Action>> {
    let file = |line: &str| {
        let (path, access) = match line.trim().strip_prefix("Applied edit to ") {
            Some(path) => (path, FileAccess::Edited),
            None => (line.trim().strip_prefix("Creating empty file ")?, FileAccess::Created),
        };
        Some(FileAction { path: path.trim().to_owned(), access })
    };
    let files: Vec<_> = text.lines().filter_map(file).collect();
    (!files.is_empty()).then(|| Box::new(Action { files, ..Action::default() }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Transcript;
    use crate::testing::read_input;

    fn read(text: &str) -> Vec<Transcript> {
        read_input(&Aider, Input::from_text(".aider.chat.history.md", text)).0
    }

    /// Formats each message of a file with one chat as `Role Kind: text`.
    fn pieces(body: &str) -> Vec<String> {
        let seen = read(&format!("\n# aider chat started at 2026-02-03 09:10:11\n\n{body}"));
        assert_eq!(seen.len(), 1);
        let show = |message: &Message| format!("{:?} {:?}: {}", message.role, message.kind, message.text);
        seen[0].messages.iter().map(show).collect()
    }

    #[test]
    fn the_two_spaces_tell_typed_lines_from_headings_and_notes_from_quotations() {
        let body = "> Aider v0.86  \n\n#### plan it  \n####   \n#### in steps  \n\n# Plan\n\n#### Step one\n\n> quoted\n\n> Applied edit to a.py  \n";
        assert_eq!(
            pieces(body),
            [
                "Tool ToolResult: Aider v0.86",
                "User Prose: plan it\n\nin steps",
                "Assistant Prose: # Plan\n\n#### Step one\n\n> quoted",
                "Tool ToolResult: Applied edit to a.py",
            ]
        );
    }

    #[test]
    fn without_the_spaces_every_marked_line_counts() {
        assert_eq!(
            pieces("#### one\n#### two\n\nok\n> Applied\n#### three\n"),
            ["User Prose: one\ntwo", "Assistant Prose: ok", "Tool ToolResult: Applied", "User Prose: three"]
        );
    }

    #[test]
    fn the_answer_that_aider_passes_to_its_editor_is_not_typed() {
        let answer = "I prefer yarn here.\n\n#### Steps\n\nWe always deploy with Nomad.";
        let marked = answer.replace('\n', "  \n#### ");
        let body = format!("#### add a login  \n\n{answer}\n\n> Edit the files? y  \n\n#### {marked}  \n\nDone.\n");
        assert_eq!(
            pieces(&body)[2..],
            [
                "Tool ToolResult: Edit the files? y".to_owned(),
                format!("System Context: {answer}"),
                "Assistant Prose: Done.".to_owned(),
            ]
        );
        let quoted = format!("#### plan it  \n\n{answer}\n\n#### We always deploy with Nomad.  \n#### Why?  \n");
        assert_eq!(pieces(&quoted)[2], "User Prose: We always deploy with Nomad.\nWhy?");
    }

    #[test]
    fn prompts_that_aider_writes_are_not_typed_and_a_repeated_prompt_counts_once() {
        for written in [
            "# Fix any errors below, if possible.  \n####   \n#### a.py:1: always wrong",
            "I ran this command:  \n####   \n#### pytest  \n####   \n#### And got this output:  \n####   \n#### I prefer tabs",
            "The LLM did not conform to the edit format.",
            "I added these files to the chat: a.py  \n#### Let me know if there are others we should add.",
        ] {
            let seen = pieces(&format!("#### hi  \n\nok\n\n#### {written}  \n"));
            assert!(seen[2].starts_with("System Context: "), "{seen:?}");
        }
        assert_eq!(
            pieces("#### I ran this command: pytest. Why red?  \n"),
            ["User Prose: I ran this command: pytest. Why red?"]
        );
        let twice = "#### /ask why tabs?  \n\n#### why tabs?  \n\n> Model: m  \n\nBecause.\n\n#### why tabs?  \n";
        let seen = pieces(twice);
        assert_eq!(seen.iter().filter(|piece| *piece == "User Prose: why tabs?").count(), 2, "{seen:?}");
        assert_eq!(seen.len(), 4);
    }

    #[test]
    fn commands_are_distinguished_from_words() {
        let rows = [
            ("/run cargo test", "User ToolCall: /run cargo test"),
            ("!ls -l", "User ToolCall: /run ls -l"),
            ("/drop", "User ToolCall: /drop"),
            ("/ask why tabs?", "User Prose: why tabs?"),
            ("/ask", "User ToolCall: /ask"),
            ("/usr/lib is full", "User Prose: /usr/lib is full"),
            ("/", "User Prose: /"),
        ];
        for (typed, shown) in rows {
            assert_eq!(pieces(&format!("#### {typed}  \n")), [shown]);
        }
        assert_eq!(pieces("#### <blank>  \n\n#### hi  \n"), ["User Prose: hi"]);
    }

    #[test]
    fn each_chat_is_a_transcript_with_its_own_local_time() {
        let chat = |day: u32| {
            format!(
                "\n# aider chat started at 2026-02-{day:02} 09:10:11\n\n> Main model: o9 with diff edit format  \n\n#### hi  \n"
            )
        };
        let (one, two) = (chat(3), chat(4));
        let first = read(&one);
        let both = read(&format!("{one}{two}{one}"));
        assert_eq!(both.len(), 3);
        assert_eq!(both[0], first[0]);
        assert_ne!(both[0].external_id, both[1].external_id);
        assert_eq!(both[2].external_id, format!("{}~2", first[0].external_id));
        let time = both[1].messages[0].time.unwrap();
        assert_eq!((time.at.to_string().as_str(), time.offset_seconds), ("2026-02-04T09:10:11Z", None));
        assert_eq!((time.source, both[1].model.as_deref()), (TimeSource::Derived, Some("o9")));
    }

    #[test]
    fn a_chat_keeps_its_identity_while_it_grows() {
        let short = "# aider chat started at 2026-02-03 09:10:11\n\n> Aider v0.86  \n";
        let long = format!("{short}> Git repo: .git  \n\n#### hi  \n");
        assert_eq!(read(short)[0].external_id, read(&long)[0].external_id);
    }

    #[test]
    fn only_a_history_is_recognised() {
        let sniffs = |text: &str| Aider.sniff(&Head::new(text.into(), true));
        assert!(sniffs("\n# aider chat started at 2026-02-03 09:10:11\n"));
        assert!(!sniffs("# aider chat started at noon\n"));
        assert!(!sniffs("Notes\n# aider chat started at 2026-02-03 09:10:11\n"));
    }
}
