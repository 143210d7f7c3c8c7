//! Claude Code sessions as text, written by `/export` or copied from the terminal.
//!
//! Each turn begins at the left margin: `>` or `❯` before a prompt, `⏺` or `●` before an answer or a call, and `⎿`
//! before a result. The remaining lines of the turn are indented. Newer versions pad the lines of a prompt with spaces
//! to the width of the terminal.

use crate::agents::claude_code::classify;
use crate::message::asked;
use crate::message::identity;
use crate::message::parts::call_on;
use crate::message::program;
use crate::message::speaker::slash_command;
use crate::{Assembler, Head, IngestError, Ingestor, Input, Kind, Message, Role, Sink};

/// Name of the format, stored with each transcript.
const NAME: &str = "claude-export";
/// Maximum number of non-blank lines, such as shell output, that may precede the banner.
const LINES_BEFORE: usize = 10;
/// Marks of prompts, answers and results.
const PROMPTS: &[char] = &['❯', '>'];
const ANSWERS: &[char] = &['⏺', '●'];
const RESULT: char = '⎿';
/// Marks at the margin of the program's own output: boxes, its logo, and the duration of a turn.
const NOTES: &[char] = &['╭', '│', '╰', '─', '▐', '▝', '▘', '▎', '✻', '✽', '✶', '✳', '✢', '⏵', '↑', '※', '☒', '☐'];

patterns! {
    BANNER = r"(?m)^.{0,20}Claude Code v\d|^│ ✻ Welcome to Claude Code\b";
    FOLDER = r"(?m)^[ │]*(?:▘▘ ▝▝ +|▝▝ ▝▝ +|cwd: )([~/\\A-Za-z][^│\n]*)";
    MODEL = r"(?m)^[ │]*▝▜█████\S* +([^·│\n]+) · |^│ +((?:Opus|Sonnet|Haiku)[^·│\n]*) · ";
    FOLDED = r"^ {2}([A-Z][a-z]+ .*?) ?\(ctrl\+[a-z] to expand\)$";
    CALL = r"^([A-Z][A-Za-z]*|[\w-]+ - [\w-]+ \(MCP\)|mcp__\w+)\((?s:(.*))\)$";
}

/// Reads Claude Code sessions that were saved as text.
pub(crate) struct ClaudeExport;

impl Ingestor for ClaudeExport {
    named!(NAME);

    fn sniff(&self, head: &Head<'_>) -> bool {
        let filled = || head.text.lines().filter(|line| !line.trim().is_empty());
        let place = |test: &dyn Fn(&str) -> bool| filled().position(test);
        let is_answer = |line: &str| line.starts_with(ANSWERS) && line.contains(' ');
        let is_prompt = |line: &str| prompt(line).is_some();
        let Some(answer) = place(&is_answer) else { return false };
        let begins = place(&|line| BANNER.is_match(line)).is_some_and(|banner| banner <= LINES_BEFORE);
        // If there is no banner, a list with such bullets under a quotation must not be mistaken for a session.
        let is_bare = place(&is_prompt) == Some(0)
            && filled().any(|line| line.starts_with(['❯', ' ']) && line.contains(['❯', RESULT]));
        let is_quoted = filled().take(answer).any(|line| line.starts_with("```"));
        (begins || is_bare) && !is_quoted
    }

    fn read(&self, input: Input, sink: &mut Sink<'_>) -> Result<(), IngestError> {
        let (stem, origin, time) = (input.stem(), input.path.display().to_string(), identity::file_time(&input));
        let Some(text) = sink.whole_text(input, "text")? else { return Ok(()) };
        let mut draft = Assembler::new(NAME, "", origin);
        let first = |pattern: &regex::Regex| {
            let found = pattern.captures(&text)?;
            found.iter().skip(1).flatten().next().map(|found| found.as_str().trim().to_owned())
        };
        draft.meta().title = Some(stem.clone());
        draft.meta().project = first(&FOLDER);
        draft.meta().model = first(&MODEL);
        draft.meta().created_at = time.map(|time| time.at);
        let mut blocks = blocks(&text);
        blocks.iter_mut().fold(false, Block::follow);
        for message in blocks.into_iter().flat_map(Block::messages) {
            if message.kind == Kind::Prose {
                draft.name_after(&message, || identity::of_file(&stem, &message));
            }
            draft.push(Message { time, ..message }, sink);
        }
        draft.finish(sink);
        Ok(())
    }
}

/// The type of a block of lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Prompt,
    /// A command that the program itself answered.
    Command,
    Answer,
    Thought,
    Call,
    Result,
    /// What the user replied to the assistant through a tool.
    Reply,
    Note,
}

/// Lines that belong together.
#[derive(Debug)]
struct Block<'a> {
    part: Part,
    lines: Vec<&'a str>,
    /// The width to which the lines of a prompt are padded; 0 if they are not padded.
    width: usize,
    /// Whether the last line was blank.
    is_parted: bool,
}

/// The heading of the user's answers to the assistant's questions.
const ASKED: &str = "User answered Claude's questions";
/// The text before what the user typed when rejecting a call.
const REJECTED: &str = "Tool use rejected with user message:";

/// Reads `· Which database? → PostgreSQL`, one line or several wrapped lines for each question.
fn replies(text: &str) -> Vec<Message> {
    let mut pairs: Vec<String> = Vec::new();
    for line in text.lines().map(str::trim) {
        match (line.strip_prefix("· "), pairs.last_mut()) {
            (None, Some(pair)) => *pair = format!("{pair} {line}"),
            (start, _) => pairs.push(start.unwrap_or(line).to_owned()),
        }
    }
    let pairs = pairs.iter().filter_map(|pair| pair.rsplit_once('→'));
    pairs.flat_map(|(asked, answer)| [Message::assistant(asked.trim()), Message::user(answer.trim())]).collect()
}

/// Returns the text after the mark of a prompt.
fn prompt(line: &str) -> Option<&str> {
    let rest = line.strip_prefix(PROMPTS)?;
    rest.starts_with([' ', '\u{a0}']).then(|| rest.trim()).filter(|text| !text.is_empty())
}

fn blocks(text: &str) -> Vec<Block<'_>> {
    let mut blocks: Vec<Block<'_>> = Vec::new();
    for line in text.lines() {
        // A single space at the end is where a line was wrapped.
        let width = if line.ends_with("  ") { line.chars().count() } else { 0 };
        if let Some((part, text)) = opened(line) {
            if part == Part::Result {
                answered(&mut blocks);
            }
            // All lines of a box form one note.
            let note = blocks.last_mut().filter(|last| part == Part::Note && last.part == part && !last.is_parted);
            if let Some(note) = note {
                note.lines.push(text);
                continue;
            }
            blocks.push(Block { part, lines: vec![text], width, is_parted: false });
        } else if let Some((part, text)) = blocks.last_mut().map_or(Some((Part::Note, line)), |last| last.take(line)) {
            blocks.push(Block { part, lines: vec![text], width, is_parted: false });
        }
    }
    blocks
}

/// Returns the type and the text of the block that begins with a marked line.
fn opened(line: &str) -> Option<(Part, &str)> {
    let bare = line.trim_start();
    let indent = line.len() - bare.len();
    if let Some(text) = prompt(line) {
        return Some((Part::Prompt, text));
    }
    if let Some(text) = line.strip_prefix(ANSWERS).filter(|text| text.starts_with([' ', '\u{a0}'])) {
        return Some((Part::Answer, text.trim()));
    }
    if let Some(text) = bare.strip_prefix(RESULT).filter(|_| indent <= 4) {
        return Some((Part::Result, text.trim()));
    }
    if indent <= 3 && (bare.starts_with("✻ Thinking") || bare.starts_with("∴ Thinking")) {
        return Some((Part::Thought, ""));
    }
    // The logo begins with one or two spaces.
    let is_note = indent == 0 && line.starts_with(NOTES) || indent <= 2 && bare.starts_with(['▐', '▝', '▘', '▎']);
    is_note.then_some((Part::Note, line))
}

/// Records that a result follows the last block, which shows that what looked like an answer is the name of a tool.
fn answered(blocks: &mut Vec<Block<'_>>) {
    let Some(last) = blocks.last_mut() else { return };
    let end = last.lines.iter().rposition(|line| !line.is_empty()).unwrap_or(0);
    match last.part {
        Part::Prompt if end == 0 => last.part = Part::Command,
        // The name of a tool without a mark, such as `Update Todos`, follows the text of an answer.
        Part::Prompt | Part::Answer if end > 0 && last.lines[end - 1].is_empty() && is_tool(last.lines[end]) => {
            let lines = last.lines.split_off(end);
            blocks.push(Block { part: Part::Call, lines, width: 0, is_parted: false });
        }
        Part::Answer => last.part = Part::Call,
        _ => {}
    }
}

/// Returns whether a line consists of the name of a tool: `Update Todos`.
fn is_tool(line: &str) -> bool {
    let mut words = line.split(' ');
    words.clone().count() <= 3
        && words.all(|word| word.starts_with(char::is_uppercase) && word.chars().all(char::is_alphabetic))
}

impl<'a> Block<'a> {
    /// Adds a line without a mark to the block, or returns the type and the text of the block that begins with this
    /// line.
    fn take(&mut self, line: &'a str) -> Option<(Part, &'a str)> {
        let bare = line.trim_start();
        let indent = line.len() - bare.len();
        if line.is_empty() || bare.is_empty() && self.width == 0 {
            self.is_parted = true;
            self.lines.push("");
            return None;
        }
        let folded = FOLDED.captures(line).and_then(|found| found.get(1)).filter(|_| self.part != Part::Thought);
        if let Some(folded) = folded {
            return Some((Part::Call, folded.as_str()));
        }
        match self.part {
            // A line that is not padded no longer belongs to a padded prompt. Without padding, whatever follows has a
            // mark or an indentation.
            Part::Prompt if self.is_parted && self.width > 0 && (!line.ends_with(' ') || indent == 0) => {
                return Some((Part::Note, line));
            }
            Part::Command if self.is_parted && (self.width > 0 && !line.ends_with(' ') || indent == 0) => {
                return Some((Part::Note, line));
            }
            // Text after the output of a tool has the indentation of an answer.
            Part::Result | Part::Call if self.is_parted && (2..5).contains(&indent) => {
                return Some((Part::Answer, bare));
            }
            Part::Note if self.is_parted && indent > 0 => return Some((Part::Answer, bare)),
            _ => {}
        }
        self.is_parted = false;
        self.lines.push(line.strip_prefix("  ").unwrap_or(line));
        None
    }

    /// Recognises a result as the user's reply, if the block before it asked the user. Returns whether the next block
    /// may be a reply.
    fn follow(asked: bool, block: &mut Block<'_>) -> bool {
        let first = block.lines.first().copied().unwrap_or_default();
        if block.part == Part::Result && (asked || first.starts_with(REJECTED)) {
            block.part = Part::Reply;
        }
        block.part == Part::Call && first.starts_with(ASKED)
    }

    fn messages(self) -> Vec<Message> {
        let text = self.text();
        match self.part {
            Part::Reply => match text.strip_prefix(REJECTED) {
                Some(words) => asked::typed(words).map(Message::user).into_iter().collect(),
                None => replies(&text),
            },
            Part::Prompt => match slash_command(&text) {
                Some((_, words)) if !described(words).is_empty() => vec![Message::user(described(words))],
                _ => {
                    let message = classify(&text);
                    if message.is_human() { program::turn(&text) } else { vec![message] }
                }
            },
            Part::Command if text.starts_with('/') => {
                vec![Message::new(Role::User, Kind::ToolCall, call_on(&text, ""))]
            }
            Part::Command => vec![Message::user(text)],
            // A call whose result is hidden has no mark below it.
            Part::Answer => vec![called(&text).unwrap_or_else(|| Message::assistant(text))],
            Part::Thought => vec![Message::reasoning(text)],
            Part::Call => vec![called(&text).unwrap_or_else(|| Message::call(call_on(&text, "")))],
            Part::Result => vec![Message::answer(text)],
            Part::Note if text.starts_with('※') => vec![Message::summary(text)],
            Part::Note => vec![Message::context(text)],
        }
    }

    /// Joins the lines. Lines of a prompt that were wrapped at the width of the terminal are joined again.
    fn text(&self) -> String {
        let mut text = String::new();
        let mut room = 0;
        for line in &self.lines {
            let line = line.trim_end();
            let first = line.split(' ').next().unwrap_or_default().chars().count();
            let is_broken = self.width > 0 && first > 0 && room > 0 && room <= first + 1;
            if !text.is_empty() {
                text.push(if is_broken { ' ' } else { '\n' });
            }
            text.push_str(line);
            room = if line.is_empty() { 0 } else { self.width.saturating_sub(line.chars().count() + 2) };
        }
        text.trim().to_owned()
    }
}

/// Returns what was typed after a command, without the program's description of what it does: `/review is looking at
/// the changes… only the parser`.
fn described(words: &str) -> &str {
    words.strip_prefix("is ").and_then(|rest| rest.split_once('…')).map_or(words, |(_, typed)| typed.trim())
}

/// Reads `Write(docs/plan.md)`.
fn called(text: &str) -> Option<Message> {
    let joined = text.lines().map(str::trim).collect::<Vec<_>>().join(" ");
    let found = CALL.captures(&joined)?;
    let (tool, target) = (found.get(1)?.as_str(), found.get(2)?.as_str());
    let key = if tool == "Bash" { "command" } else { "file_path" };
    // The export labels an edit as an update.
    let does = if tool == "Update" { "Edit" } else { tool };
    Some(Message::call(call_on(tool, target)).doing(does, &serde_json::json!({ key: target })))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{lines, read, sniffs};

    const LOGO: &str = " ▐▛███▜▌   Claude Code v2.1.119\n▝▜█████▛▘  Opus 4.7 · Claude Pro\n  ▘▘ ▝▝    ~/code/oven\n\n";

    fn pieces(text: &str) -> Vec<String> {
        let said = lines(&read(&ClaudeExport, "x.txt", text).0[0]);
        said.into_iter().filter(|line| !line.starts_with("System Context")).collect()
    }

    #[test]
    fn both_generations_are_read() {
        let boxed = "╭────╮\n│ ✻ Welcome to Claude Code! │\n│   cwd: /home/ana/oven │\n╰────╯\n\n> use tabs\n\n  never spaces\n\n⏺ Read(a.rs)\n  ⎿  Read 20 lines (ctrl+r to expand)\n\n⏺ Noted.\n\n  I will.\n";
        let filled = format!(
            "{LOGO}❯ use tabs        \n                  \n  never spaces    \n\n● Read(a.rs)\n  ⎿  Read 20 lines\n\n● Noted.\n\n  I will.\n\n✻ Worked for 2m 46s\n"
        );
        for (text, project) in [(boxed, "/home/ana/oven"), (&filled, "~/code/oven")] {
            assert!(sniffs(&ClaudeExport, text), "{text}");
            assert_eq!(read(&ClaudeExport, "x.txt", text).0[0].project.as_deref(), Some(project));
            let said = pieces(text);
            assert_eq!(said[0], "User Prose use tabs\n\nnever spaces", "{text}");
            assert_eq!(said[1], "Assistant ToolCall Read a.rs");
            assert!(said[2].starts_with("Tool ToolResult Read 20 lines"), "{said:?}");
            assert_eq!(said[3..], ["Assistant Prose Noted.\n\nI will."]);
        }
        assert_eq!(read(&ClaudeExport, "x.txt", &filled).0[0].model.as_deref(), Some("Opus 4.7"));
    }

    #[test]
    fn broken_lines_of_a_prompt_are_joined_and_paragraphs_are_not() {
        let text = format!(
            "{LOGO}❯ one two three       \n  four, five twelve   \n  done                \n  at last             \n\n⏺ ok\n"
        );
        assert_eq!(pieces(&text)[0], "User Prose one two three\nfour, five twelve done\nat last");
    }

    #[test]
    fn paragraphs_of_a_prompt_without_padding_belong_to_it() {
        let text = "> first \n\nsecond\n  and more\n\nthird\n\n⏺ ok\n\n> /review is looking at the changes… only the parser\n\n⏺ ok\n";
        let said = pieces(text);
        assert_eq!(said[0], "User Prose first\n\nsecond\nand more\n\nthird");
        assert_eq!(said[2], "User Prose only the parser");
    }

    #[test]
    fn commands_folded_calls_and_notes_are_no_words() {
        let text = format!(
            "{LOGO}❯ /rename oven-5 \n  ⎿  Session renamed to: oven-5\n\n❯ /bake              \nthe rolls            \n\n  Read 4 files (ctrl+o to expand)\n\n● I begin.\n\n  Update Todos\n  ⎿  ☒ Bake\n     ☐ Eat\n\n  Then I eat.\n\n✻ Brewed for 12s\n\n❯ /clear   \n"
        );
        assert_eq!(
            pieces(&text),
            [
                "User ToolCall /rename oven-5",
                "Tool ToolResult Session renamed to: oven-5",
                "User Prose the rolls",
                "Assistant ToolCall Read 4 files",
                "Assistant Prose I begin.",
                "Assistant ToolCall Update Todos",
                "Tool ToolResult ☒ Bake\n   ☐ Eat",
                "Assistant Prose Then I eat.",
            ]
        );
    }

    #[test]
    fn what_the_user_replied_through_a_tool_is_the_users() {
        let text = "> set it up\n\n● User answered Claude's questions:\n  ⎿  · Rename a → b? → PostgreSQL, we already\n     run it\n     · Deploy? → later · on Monday\n\n● Update(a.rs)\n  ⎿  Tool use rejected with user message: use pnpm\n\n● Update(b.rs)\n  ⎿  Tool use rejected with user message: The user wants to clarify these questions.\n";
        assert_eq!(
            pieces(text)[2..],
            [
                "Assistant Prose Rename a → b?",
                "User Prose PostgreSQL, we already run it",
                "Assistant Prose Deploy?",
                "User Prose later · on Monday",
                "Assistant ToolCall Update a.rs",
                "User Prose use pnpm",
                "Assistant ToolCall Update b.rs"
            ]
        );
    }

    #[test]
    fn a_session_without_its_banner_is_recognised_and_a_document_is_not() {
        assert!(sniffs(&ClaudeExport, "> use tabs\n\n⏺ Read(a.rs)\n  ⎿  Read 20 lines\n"));
        for text in [
            "> a quotation\n\n● one\n● two\n",
            "# How to\n\n```\n> use tabs\n\n⏺ Read(a.rs)\n  ⎿  Read 20 lines\n```\n",
            "Claude Code v2 is out.\n\n- one\n",
        ] {
            assert!(!sniffs(&ClaudeExport, text), "{text}");
        }
    }
}
