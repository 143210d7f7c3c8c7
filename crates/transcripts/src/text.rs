//! Transcripts in plain text or Markdown, in which lines introduce the speakers.
//!
//! Text and Markdown are one format, because the same file may mix a heading, bold names, code blocks and bare `User:`
//! lines. Files differ only in the form of the lines with names, which is recognised line by line.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use crate::agents::claude_code::classify;
use crate::agents::cline;
use crate::message::asked;
use crate::message::dates::{Days, written_in};
use crate::message::speaker::{Form, Label, is_of_a_log, labels, named, timed};
use crate::message::{identity, parts, program};
use crate::{Assembler, Head, IngestError, Ingestor, Input, Kind, Message, MessageTime, Role, Sink, TimeSource};

/// Reads transcripts in plain text or Markdown.
pub(crate) struct Plain;

impl Ingestor for Plain {
    named!("plain");

    fn sniff(&self, head: &Head<'_>) -> bool {
        let template = with_speaker_lines(&head.text);
        // A time in brackets looks like the beginning of a JSON array.
        let is_timed = head.text.trim_start().lines().next().is_some_and(|line| timed(0, line).is_some());
        if template.is_none() && !is_timed && (head.document.is_some() || !head.lines.is_empty()) {
            return false;
        }
        let text = template.unwrap_or_else(|| head.text.replace("\r\n", "\n"));
        let page = Page::new(&text);
        Form::ALL.iter().any(|form| is_transcript(&page, &page.turns(*form)))
    }

    fn read(&self, input: Input, sink: &mut Sink<'_>) -> Result<(), IngestError> {
        let (stem, origin, of_file) = (input.stem(), input.path.display().to_string(), identity::file_time(&input));
        let Some(text) = sink.whole_text(input, "text")? else { return Ok(()) };
        let text = with_speaker_lines(&text).unwrap_or(text);
        let page = Page::new(&text);
        let accepted = Form::ALL.iter().map(|form| page.turns(*form)).find(|turns| is_transcript(&page, turns));
        // If the user specifies this format, the text is read even if it would not have been recognised.
        let most = || Form::ALL.iter().rev().map(|form| page.turns(*form)).max_by_key(Vec::len).unwrap_or_default();
        let turns = page.with_single_voices(accepted.unwrap_or_else(most));
        // In a short chat, nobody may speak twice.
        let any = if turns.is_empty() { named(&page.lines) } else { Vec::new() };
        let turns = if any.len() > 1 { any.iter().collect() } else { turns };
        if turns.is_empty() {
            sink.skip(1, "no line names a speaker");
            return Ok(());
        }
        let written = page.field("date").and_then(|date| identity::written_time(date, TimeSource::File));
        let dated = written.or_else(|| page.dated(&turns)).or_else(|| identity::named_time(&stem));
        let messages = page.messages(&turns, dated, of_file);
        let Some(first) = messages.iter().find(|message| message.kind == Kind::Prose).or(messages.first()) else {
            return Ok(());
        };
        let id = page.session().unwrap_or_else(|| identity::of_file(&stem, first));
        let mut draft = Assembler::new(self.name(), id, origin);
        draft.meta().created_at = dated.or(of_file).map(|time| time.at);
        draft.meta().title = Some(page.title(&turns).unwrap_or(stem));
        draft.meta().model = page.field("model").or_else(|| page.model(&turns)).map(str::to_owned);
        draft.extend(messages, sink);
        draft.finish(sink);
        Ok(())
    }
}

/// A text as lines, with its front matter separated.
struct Page<'a> {
    fields: Vec<(&'a str, &'a str)>,
    lines: Vec<&'a str>,
    labels: Vec<Label>,
}

impl<'a> Page<'a> {
    fn new(text: &'a str) -> Self {
        let mut lines: Vec<&str> = text.split('\n').collect();
        let mut fields = Vec::new();
        // Front matter is short; a horizontal rule further down separates sections.
        let end = lines.iter().skip(1).take(50).position(|line| line.trim_end() == "---");
        if let (Some("---"), Some(end)) = (lines.first().map(|line| line.trim_end()), end) {
            fields = lines[1..=end].iter().filter_map(|line| line.split_once(':')).collect();
            lines.drain(..end + 2);
        }
        let labels = labels(&lines);
        Self { fields, lines, labels }
    }

    fn field(&self, name: &str) -> Option<&'a str> {
        let found = self.fields.iter().find(|(key, _)| key.trim().eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.trim().trim_matches(['"', '\''])).filter(|value| !value.is_empty())
    }

    /// Returns the speaker lines of one form: the lines with known sides if both sides occur, and otherwise the lines
    /// with people's names.
    fn turns(&self, form: Form) -> Vec<&Label> {
        let of_form: Vec<&Label> = self.labels.iter().filter(|label| label.form == form).collect();
        // A name and a time that are both in brackets are never part of a sentence, so a single occurrence is enough.
        if form == Form::Timed {
            return of_form;
        }
        let has = |role| of_form.iter().any(|label| label.role == Some(role));
        if has(Role::User) && has(Role::Assistant) {
            return of_form.into_iter().filter(|label| label.role.is_some()).collect();
        }
        let mut seen: HashMap<&str, usize> = HashMap::new();
        of_form.iter().for_each(|label| *seen.entry(label.name.as_str()).or_default() += 1);
        of_form.iter().copied().filter(|label| label.role.is_some() || seen[label.name.as_str()] > 1).collect()
    }

    /// Adds the turns of people who spoke once to the turns of people who spoke several times; otherwise, the former
    /// would be attributed to the previous speaker.
    fn with_single_voices<'b>(&'b self, turns: Vec<&'b Label>) -> Vec<&'b Label> {
        let Some(first) = turns.first().copied().filter(|_| turns.iter().all(|label| label.role.is_none())) else {
            return turns;
        };
        self.labels.iter().filter(|label| label.form == first.form && label.line >= first.line).collect()
    }

    /// Returns the first heading before the first turn, or the title in the front matter.
    fn title(&self, turns: &[&Label]) -> Option<String> {
        let before = &self.lines[..turns.first().map_or(0, |label| label.line)];
        let heading = before.iter().find_map(|line| line.strip_prefix("# ")).map(str::trim);
        self.field("title").or(heading).filter(|title| !title.is_empty()).map(str::to_owned)
    }

    /// Returns the id of the session in a comment such as `<!-- Claude Code Session 1b9d… (2026-01-02 03:04Z) -->`.
    fn session(&self) -> Option<String> {
        let comments = self.lines.iter().take(10).filter_map(|line| line.trim().strip_prefix("<!-- "));
        let mut ids = comments.filter_map(|comment| comment.split_once(" Session ")).map(|(_, rest)| rest);
        // A short word after `Session` is a number or a title rather than an id.
        ids.find_map(|rest| rest.split_whitespace().next().filter(|id| id.len() >= 16)).map(str::to_owned)
    }

    /// Returns the model that is named above an answer, such as `_**Agent (claude-x 2026-01-02 03:04Z)**_` or
    /// `_**Agent (model x, mode Agent)**_`.
    fn model(&self, turns: &[&Label]) -> Option<&'a str> {
        let answers = turns.iter().filter(|label| label.form == Form::Stamped && label.role == Some(Role::Assistant));
        let notes = answers.filter_map(|label| self.lines[label.line].split_once('(')?.1.split(')').next());
        let mut names = notes.filter_map(|note| note.trim_start_matches("model ").split([' ', ',']).next());
        names.find(|name| name.starts_with(char::is_alphabetic) && !matches!(*name, "default" | "mode"))
    }

    /// Returns the text before the first turn, without the title, comments and horizontal rules.
    fn preamble(&self, first: usize) -> String {
        let is_text = |line: &&&str| {
            let line = line.trim();
            !(line.starts_with("# ") || is_rule(line) || line.starts_with("<!--") && line.ends_with("-->"))
        };
        self.lines[..first].iter().filter(is_text).copied().collect::<Vec<_>>().join("\n")
    }

    /// Returns the date in a short line above the first turn, such as `Recorded Wednesday 2026-01-14`.
    fn dated(&self, turns: &[&Label]) -> Option<MessageTime> {
        let above = &self.lines[..turns.first().map_or(0, |label| label.line)];
        above.iter().filter(|line| line.len() <= LONGEST_DATED_LINE).take(DATED_LINES).find_map(|line| date_in(line))
    }

    fn is_exported(&self) -> bool {
        self.lines.iter().take(5).any(|line| line.starts_with("<!-- Generated by SpecStory"))
    }

    /// Returns the messages of `turns`, in a text whose start is dated `dated`; `of_file` is the modification time of
    /// the file.
    fn messages(&self, turns: &[&Label], dated: Option<MessageTime>, of_file: Option<MessageTime>) -> Vec<Message> {
        let before = self.preamble(turns.first().map_or(0, |label| label.line));
        let is_opencode = before.lines().any(|line| line.starts_with("**Session ID:** ses_"));
        let mut clock = Clock::new(turns, dated, of_file);
        let mut messages = Vec::new();
        if !before.trim().is_empty() {
            let time = clock.fallback();
            messages.push(Message { kind: Kind::Context, time, ..Message::prose(Role::Other, before) });
        }
        let is_exported = self.is_exported();
        // Cline exports the turns of its API requests unchanged, and the first turn is the task.
        let is_cline = turns.first().is_some_and(|label| {
            let next = self.lines[label.line + 1..].iter().find(|line| !line.trim().is_empty());
            label.role == Some(Role::User) && next.is_some_and(|line| line.starts_with("<task>"))
        });
        let mut expands = false;
        for (place, label) in turns.iter().enumerate() {
            let end = turns.get(place + 1).map_or(self.lines.len(), |next| next.line);
            let mut said = vec![label.rest.as_str()];
            said.extend(&self.lines[label.line + 1..end]);
            let mut new_day = None;
            while let Some(line) = said.last() {
                // The turns below a heading with a date belong to another day.
                let day = line.strip_prefix('#').filter(|_| end < self.lines.len()).and_then(date_in);
                if day.is_none() && !line.trim().is_empty() && !is_rule(line) {
                    break;
                }
                new_day = day.or(new_day);
                said.pop();
            }
            let time = clock.time(label);
            let text = said.join("\n");
            let text = if label.form == Form::Tagged { text.replace("<|im_end|>", "") } else { text };
            let (is_template, is_command) = (expands, text.trim_start().starts_with("<command-message>"));
            expands = false;
            let turn = match label.role {
                Some(Role::User) if is_cline => cline::stated(&text),
                Some(Role::Assistant) if is_cline => cline::tagged(&text),
                // SpecStory and similar programs export the turns unchanged from the agents' logs.
                Some(Role::User) if label.form != Form::Timed => {
                    // The template of a command follows the command as a separate turn.
                    expands = is_exported && is_command;
                    exported(&text, is_template)
                }
                Some(Role::Assistant) if is_opencode => with_tools(&text, label.line),
                Some(Role::Assistant) => split(&text),
                Some(_) | None => vec![spoken(label, text)],
            };
            messages.extend(turn.into_iter().map(|message| Message { time, ..message }));
            if let Some(day) = new_day {
                clock = Clock { day: Some(day), days: Days::starting(Some(day)), ..clock };
            }
        }
        messages
    }
}

/// Number of lines above the first turn, and number of bytes in each of these lines, that are searched for a date.
const DATED_LINES: usize = 12;
const LONGEST_DATED_LINE: usize = 100;

/// Returns the date in a line, unless it is the beginning or the end of a span of time.
fn date_in(line: &str) -> Option<MessageTime> {
    written_in(line).or_else(|| identity::named_time(line).map(MessageTime::derived))
}

/// The times of turns that have no date.
struct Clock {
    /// The start of the turns, or the day in a heading.
    day: Option<MessageTime>,
    days: Days,
    of_file: Option<MessageTime>,
    /// Whether the times are relative to the start rather than to midnight.
    is_relative: bool,
}

impl Clock {
    fn new(turns: &[&Label], day: Option<MessageTime>, of_file: Option<MessageTime>) -> Self {
        let first = turns.iter().find_map(|label| label.clock.filter(|_| label.form == Form::Timed));
        let is_relative = first.is_some_and(|clock| clock < LATEST_START);
        Self { day, days: Days::starting(day.map(MessageTime::derived)), of_file, is_relative }
    }

    fn fallback(&self) -> Option<MessageTime> {
        self.day.or(self.of_file)
    }

    fn time(&mut self, label: &Label) -> Option<MessageTime> {
        let clock = label.clock.and_then(|clock| jiff::SignedDuration::try_from(clock).ok());
        let by_clock = clock.and_then(|clock| {
            if !self.is_relative {
                return self.days.time_of_day(clock);
            }
            let day = self.day?;
            Some(MessageTime { at: day.at.checked_add(clock).ok()?, ..day })
        });
        label.time.or(by_clock).or_else(|| self.fallback())
    }
}

/// If the first time is later than this, the times are times of day rather than times since the start.
const LATEST_START: std::time::Duration = std::time::Duration::from_mins(10);

/// Returns the messages in a user's turn of an export; `is_template` indicates that the program wrote the turn for a
/// command.
fn exported(text: &str, is_template: bool) -> Vec<Message> {
    if is_template {
        return vec![Message::context(text)];
    }
    let message = classify(text);
    if message.is_human() && message.text == text.trim() { program::turn(text) } else { vec![message] }
}

fn spoken(label: &Label, text: String) -> Message {
    let role = label.role.unwrap_or(Role::User);
    let kind = match role {
        Role::User | Role::Assistant | Role::Other => Kind::Prose,
        Role::System => Kind::Context,
        Role::Tool => Kind::ToolResult,
    };
    let speaker = if label.role.is_none() { Some(label.name.clone()) } else { None };
    Message { kind, speaker, ..Message::prose(role, text) }
}

fn is_rule(line: &str) -> bool {
    matches!(line.trim(), "---" | "***" | "___" | "* * *")
}

/// Returns whether the speaker lines show that `page` is a transcript, rather than a document with quotations or lists.
///
/// Speakers must alternate, and the first one must be in the first half of the text. If both sides of an assistant's
/// conversation occur, three turns are enough, or one turn of each side if only a title precedes them. Names of people
/// are weaker evidence, so each name must occur twice, half of the turns must consist of sentences, and a third of the
/// lines must introduce a speaker.
fn is_transcript(page: &Page<'_>, turns: &[&Label]) -> bool {
    let Some(first) = turns.first() else { return false };
    let filled = |lines: &[&str]| lines.iter().filter(|line| !line.trim().is_empty()).count();
    let all = filled(&page.lines);
    if filled(&page.lines[..first.line]) * 2 > all {
        return false;
    }
    let is_users = |label: &&Label| label.role == Some(Role::User);
    if first.form == Form::Stamped && page.is_exported() && turns.iter().any(is_users) {
        return true;
    }
    let voice = |label: &&Label| label.role.map_or(label.name.clone(), |role| format!("{role:?}"));
    let voices: Vec<String> = turns.iter().map(voice).collect();
    let changes = voices.windows(2).filter(|pair| pair[0] != pair[1]).count();
    if first.form == Form::Timed {
        let in_order = turns.windows(2).filter(|pair| pair[0].clock <= pair[1].clock).count();
        let is_log = voices.iter().all(|voice| is_of_a_log(voice));
        // The chapters of a recording have times, too, but each name occurs only once.
        let distinct: HashSet<&String> = voices.iter().collect();
        return turns.len() >= 3
            && !is_agenda(page, turns)
            && changes >= 1
            && distinct.len() < turns.len()
            && in_order * 10 >= (turns.len() - 1) * 9
            && turns.len() * 8 >= all
            && !is_log;
    }
    // Programs that mark each step of an agent repeat the agent's name many times in succession.
    let is_program =
        matches!(first.form, Form::Stamped | Form::Tagged) || turns.iter().all(|label| label.clock.is_some());
    if !is_program && changes * 2 < turns.len().saturating_sub(1) {
        return false;
    }
    let count = |role| turns.iter().filter(|label| label.role == Some(role)).count();
    if count(Role::User) > 0 && count(Role::Assistant) > 0 {
        // A document with the sections "User" and "Agent" has a title. A transcript with such headings begins with such
        // a heading.
        let untitled = filled(&page.lines[..first.line]) == 0;
        let bare = page.preamble(first.line).trim().is_empty() && (first.form != Form::Heading || untitled);
        return turns.len() >= 3 && changes >= 2 || bare && first.role.is_some();
    }
    if is_staged(&page.lines) || voices.iter().all(|voice| is_of_a_log(voice)) {
        return false;
    }
    let distinct: HashSet<&String> = voices.iter().collect();
    let is_sentence = |label: &&&Label| {
        let text = label.rest.trim_end();
        // In chats, people leave out the full stop. Fields of data are short and contain no pronouns.
        let is_personal = || text.split_whitespace().count() >= 3 && has_pronoun(text);
        text.ends_with(['.', '?', '!', '。', '？', '！', '…']) || is_personal()
    };
    let sentences = turns.iter().filter(is_sentence).count();
    turns.len() >= 4 && changes >= 2 && distinct.len() >= 2 && sentences * 2 >= turns.len() && turns.len() * 3 >= all
}

/// Returns whether `turns`, lines with a name and a time, are the items of a list, such as an agenda: there is nothing
/// below most items, or only one item occurs more than once.
fn is_agenda(page: &Page<'_>, turns: &[&Label]) -> bool {
    let ends = turns.iter().skip(1).map(|next| next.line).chain([page.lines.len()]);
    let has_words =
        |label: &Label, end: usize| page.lines[label.line + 1..end].iter().any(|line| !line.trim().is_empty());
    let bare: Vec<bool> = turns
        .iter()
        .zip(ends)
        .filter(|(label, _)| label.rest.trim().is_empty())
        .map(|(label, end)| has_words(label, end))
        .collect();
    let mut seen: HashMap<&str, usize> = HashMap::new();
    turns.iter().for_each(|label| *seen.entry(label.name.as_str()).or_default() += 1);
    let repeated = seen.values().filter(|count| **count > 1).count();
    bare.len() * 2 > turns.len()
        && (repeated < 2 || bare.iter().filter(|has_words| **has_words).count() * 2 <= bare.len())
}

/// Pronouns with which people speak of themselves and of each other, in English, German, Spanish, French and Portuguese.
const PRONOUNS: &[&str] = &[
    "i", "I", "we", "you", "me", "us", "ich", "wir", "ihr", "dir", "mir", "uns", "yo", "nosotros", "tú", "usted", "je",
    "nous", "vous", "eu", "nós", "você",
];

fn has_pronoun(text: &str) -> bool {
    let mut words = text.split(|c: char| !c.is_alphabetic()).filter(|word| !word.is_empty());
    // Only the first word is capitalised; "US" is a country.
    let first = words.next().and_then(|word| {
        let (initial, rest) = word.split_at_checked(word.chars().next()?.len_utf8())?;
        Some(format!("{}{rest}", initial.to_lowercase()))
    });
    first.is_some_and(|word| PRONOUNS.contains(&&*word)) || words.any(|word| PRONOUNS.contains(&word))
}

/// Returns whether the text is a play or a film script: acts and scenes are on separate lines.
fn is_staged(lines: &[&str]) -> bool {
    const HEADS: &[&str] = &["ACT ", "Act ", "SCENE ", "Scene ", "INT. ", "EXT. ", "FADE IN"];
    let bare = lines.iter().map(|line| line.trim_start_matches(['#', ' ', '*']));
    bare.filter(|line| line.len() < 80).any(|line| HEADS.iter().any(|head| line.starts_with(head)))
        || lines.iter().any(|line| matches!(line.trim(), "Exeunt" | "Exeunt." | "EXEUNT" | "CURTAIN" | "Curtain."))
}

// Reasoning and tool calls that appear in an agent's text as `<think>` and `<tool-use>` blocks.

/// Splits an agent's `text` at blocks that begin at the start of a line; an unclosed block extends to the end of the
/// text.
pub(crate) fn split(text: &str) -> Vec<Message> {
    let mut messages = Vec::new();
    let mut rest = text;
    while let Some(place) = next_block(rest) {
        let block = &rest[place..];
        let (is_thought, end_mark) =
            if block.starts_with("<think>") { (true, "</think>") } else { (false, "</tool-use>") };
        let end = block.find(end_mark).map_or(block.len(), |end| end + end_mark.len());
        messages.push(Message::prose(Role::Assistant, without_rules(&rest[..place])));
        if is_thought {
            let thought = plain(&block[..end]);
            messages.push(Message::reasoning(thought));
        } else {
            messages.extend(call(&block[..end]));
        }
        rest = &block[end..];
    }
    messages.push(Message::prose(Role::Assistant, without_rules(rest)));
    messages.retain(|message| !message.text.trim().is_empty());
    messages
}

/// Returns the position of the next block that begins at the start of a line.
fn next_block(text: &str) -> Option<usize> {
    let begins = |place: usize| place == 0 || text[..place].ends_with('\n');
    let is_block = |place: usize| ["<think>", "<tool-use "].iter().any(|mark| text[place..].starts_with(mark));
    text.match_indices("<t").map(|(place, _)| place).find(|place| begins(*place) && is_block(*place))
}

/// Removes a horizontal rule between a block and text.
fn without_rules(text: &str) -> String {
    let trimmed = text.trim();
    let trimmed = trimmed.strip_prefix("---\n").or(trimmed.strip_suffix("\n---")).unwrap_or(trimmed);
    if trimmed == "---" { String::new() } else { trimmed.trim().to_owned() }
}

/// Reads `<tool-use data-tool-name="Bash"><details><summary>…</summary>…`.
fn call(block: &str) -> Vec<Message> {
    let name = block.split_once("data-tool-name=\"").and_then(|(_, rest)| rest.split_once('"'));
    let name = name.map_or("tool", |(name, _)| name);
    let (head, body) = block.split_once("</summary>").unwrap_or((block, ""));
    let summary = plain(head).replace(['*', '`'], "");
    let pieces = summary.trim_start_matches("Tool use:").trim().trim_start_matches(name).trim_start_matches([' ', '•']);
    let body = plain(body);
    // If the summary contains only the tool's name, the target is the first text in the block.
    let first = body.lines().map(|line| line.trim().trim_matches('`')).find(|line| !line.is_empty());
    let target = if pieces.is_empty() { first.unwrap_or_default() } else { pieces };
    let replies = asked::exported(name, &body);
    [Message::call(parts::call_line(name, target)), Message::answer(body)].into_iter().chain(replies).collect()
}

/// Removes the tags of the block itself from `text`.
fn plain(text: &str) -> String {
    let tags = ["<think>", "</think>", "</tool-use>", "<details>", "</details>", "<summary>", "</summary>"];
    let behind = text.strip_prefix("<tool-use").and_then(|rest| rest.split_once('>')).map_or(text, |(_, rest)| rest);
    tags.iter().fold(behind.to_owned(), |text, tag| text.replace(tag, "")).trim().to_owned()
}

// Tool calls in sessions that opencode exported as Markdown.

/// Splits an agent's `text` at lines such as `**Tool: bash**`, which the input and the output of a call may follow;
/// `line` distinguishes the calls from those in other turns.
fn with_tools(text: &str, line: usize) -> Vec<Message> {
    let text = format!("\n{text}");
    let mut pieces = text.split("\n**Tool: ");
    let mut messages = split(pieces.next().unwrap_or_default());
    for (place, piece) in pieces.enumerate() {
        let piece = format!("{piece}\n\n");
        let Some((name, mut rest)) = piece.split_once("**\n").filter(|(name, _)| !name.contains('\n')) else {
            messages.extend(split(&format!("**Tool: {piece}")));
            continue;
        };
        let mut block = |start: &str| {
            let (inner, after) = rest.trim_start().strip_prefix(start)?.split_once("\n```\n\n")?;
            rest = after;
            Some(inner)
        };
        let input = block("**Input:**\n```json\n").unwrap_or_default();
        let (output, error) = (block("**Output:**\n```\n"), block("**Error:**\n```\n"));
        let id = format!("{line}/{place}");
        let arguments: Value = serde_json::from_str(input).unwrap_or_default();
        let call = Message::call(parts::call_line(name, input)).doing(name, &arguments);
        let ended = output.or(error).map(|text| Message::answer(text).ending(Some(&id), Some(error.is_some())));
        messages.push(call.called(Some(&id)));
        messages.extend(ended.into_iter().chain(split(rest)));
    }
    messages
}

// Conversations in the prompt templates of models, rewritten so that each speaker has a separate line.

const OPEN: &str = "[INST]";
const CLOSE: &str = "[/INST]";

/// Rewrites text with `[INST]` or `<|start_header_id|>` to lines of `<|im_start|>role`; `None` for any other text.
pub(crate) fn with_speaker_lines(text: &str) -> Option<String> {
    let start = text.trim_start();
    let start = ["<s>", "<|begin_of_text|>"].iter().find_map(|mark| start.strip_prefix(mark)).unwrap_or(start);
    if start.trim_start().starts_with(OPEN) && start.contains(CLOSE) {
        return Some(instructions(start));
    }
    let marked = start.trim_start().starts_with("<|start_header_id|>") && start.contains("<|end_header_id|>");
    marked.then(|| {
        let lines = start.replace("<|start_header_id|>", "\n<|im_start|>").replace("<|end_header_id|>", "\n");
        lines.replace("<|eot_id|>", "").replace("<|begin_of_text|>", "")
    })
}

fn instructions(text: &str) -> String {
    let mut lines = String::new();
    let mut say = |role: &str, words: &str| {
        let words = words.replace("</s>", "").replace("<s>", "");
        if !words.trim().is_empty() {
            lines.extend(["<|im_start|>", role, "\n", words.trim(), "\n"]);
        }
    };
    for turn in text.split(OPEN).skip(1) {
        let (asked, answer) = turn.split_once(CLOSE).unwrap_or((turn, ""));
        let system = asked.split_once("<<SYS>>").and_then(|(_, rest)| rest.split_once("<</SYS>>"));
        if let Some((system, asked)) = system {
            say("system", system);
            say("user", asked);
        } else {
            say("user", asked);
        }
        say("assistant", answer);
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Transcript;
    use crate::testing::read_input;

    fn sniffs(text: &str) -> bool {
        Plain.sniff(&Head::new(text.into(), true))
    }

    fn read(name: &str, text: &str) -> Transcript {
        read_input(&Plain, Input::from_text(name, text)).0.remove(0)
    }

    fn pieces(text: &str) -> Vec<(Role, Kind, String)> {
        read("x.md", text).messages.into_iter().map(|message| (message.role, message.kind, message.text)).collect()
    }

    fn prose(rows: &[(Role, &str)]) -> Vec<(Role, Kind, String)> {
        rows.iter().map(|(role, text)| (*role, Kind::Prose, (*text).to_owned())).collect()
    }

    #[test]
    fn transcripts_in_every_form_are_recognised() {
        for text in [
            "User: hi\nAssistant: hello\n",
            "# Chat\n\n**User:** hi\n\n**Assistant:** hello\n\n**User:** bye",
            "## User\nhi\n## Assistant\nhello\n",
            "You said:\nhi\nChatGPT said:\nhello\nYou said:\nbye",
            "用户：你好\n助手：你好！",
            "我：你好\nAI助手：你好！\n我：再见",
            "<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\nhello<|im_end|>",
            "<s>[INST] hi [/INST] hello </s>",
            "[INST] hi [/INST] hello",
            "<|begin_of_text|><|start_header_id|>user<|end_header_id|>\n\nhi<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\nhello<|eot_id|>",
            "_**User**_\n\nhi\n\n---\n\n_**Agent (x)**_\n\none\n\n_**Agent**_\n\ntwo\n\n_**Agent**_\n\nthree\n",
            "_**User (2026-01-02 03:04Z)**_\n\nhi\n\n---\n\n_**Agent (x 2026-01-02 03:04Z)**_\n\nok",
            "Ana: We ship on Monday.\nLuís: Fine.\nAna: Who tests?\nLuís: I do.\n",
            "Ana: we decided to use Rust\nLuís: I prefer tea\nAna: ok then\nAna: we ship on Fridays\nLuís: fine by me\n",
            "### Пользователь [17:49:08]\n\nпривет\n\n### Claude [17:49:29]\n\nздравствуйте\n",
            "ana-v: why does it fail?\n\nGitHub Copilot: The path is wrong.\n\nana-v: fix it\n",
            "# Чат\n\nСессия: 1\n\n### Пользователь [17:49:08]\n\nа\n\n### Claude [17:49:29]\n\nб\n\n### Claude [17:49:39]\n\nв\n\n### Claude [17:50:29]\n\nг\n\n### Пользователь [17:51:08]\n\nд\n\n### Claude [17:51:29]\n\nе\n",
            "[Ana Silva] [00:00] Okay.\n[Rui Costa] [00:05] fine\n[Ana Silva] [00:09] We ship.\n",
            "Ana Silva [0:00:01]: okay\nRui Costa [0:00:05]: fine\nAna Silva [0:00:09]: We ship.\n",
            "**Ana** [00:01]: okay\n\n**Rui** [00:05]: fine\n\n**Ana** [00:09]: We ship.\n",
            "Ana Silva (00:01)\nokay\n\nRui Costa (00:05)\nfine\n\nAna Silva (00:09)\nWe ship.\n\nRui Costa (00:12)\nyes\n",
            "[00:00:01] SPEAKER_00: okay\n[00:00:04] SPEAKER_01: fine\n[00:00:09] SPEAKER_00: bye\n",
            "<!-- Generated by SpecStory -->\n\n_**User**_\n\nhi\n\n---\n\n_**User (sidechain)**_\n\nlook\n",
        ] {
            assert!(sniffs(text), "{text}");
        }
    }

    #[test]
    fn documents_are_refused() {
        for text in [
            "# Models\n\n## User\nA row.\n\n## Agent\nAnother row.\n",
            "# Tool\n\nInstall it.\n\nUser: a person.\nAssistant: a model.\n",
            "# Readme\n\n```\nUser: hi\nAssistant: hello\nUser: bye\n```\n",
            "Note: one.\nWarning: two.\nNote: three.\nWarning: four.\n",
            "Name: Ana\nEmail: a@e.org\nName: Luís\nEmail: l@e.org\n",
            "Host: a\nPort: 1\nHost: b\nPort: 2\n",
            "Office: Boston\nRegion: US\nOffice: Austin\nRegion: US\n",
            "Office: Boston\nRegion: US East Coast\nOffice: Austin\nRegion: The US South\n",
            "Book: The Salt Road\nWriter: Ana Silva\nBook: The Long Way Home\nWriter: Rui Costa\nBook: Tea\nWriter: Mia\n",
            "a,b\nUser: 1,2\n",
            "fn main() {\n    println!(\"User: hi\");\n}\n",
            "{\"User\": \"hi\"}",
            "Q: what?\nA: that.\nQ: why?\nA: so.\n",
            "User: one.\nUser: two.\nUser: three.\nUser: four.\nAssistant: five.\n",
            "ACT I\nSCENE 1. A street.\n\nBORIS: The night is cold.\nCLARA: It is.\nBORIS: I have no sword.\nCLARA: I have my wits.\n",
            "Client: The program that asks.\nServer: The one that answers.\nClient: It waits.\nServer: It closes.\n",
            "[Worker] [10:00] started\n[Server] [10:01] stopped\n[Worker] [10:02] started\n",
            "Welcome (9:00)\nBreak (10:00)\nTalk (10:30)\nBreak (12:00)\n",
            "Squats (0:30)\nRest (1:00)\nSquats (1:30)\nRest (2:00)\nSquats (2:30)\n",
            "Welcome (9:00)\nCoffee\nBreak (10:00)\nTea\nTalk (10:30)\nOn bread\nBreak (12:00)\nLunch\n",
            "Intro (0:00)\nSetup (1:20)\nFirst Steps (3:45)\nOutro (9:10)\n",
            "[A list] [10:00]\n[Of links] [09:00]\n[And times] [08:00]\n",
            "just words",
            "",
        ] {
            assert!(!sniffs(text), "{text}");
        }
    }

    #[test]
    fn the_first_form_rules_and_code_is_no_turn() {
        let text = "# Chat\nAbout Lisbon.\n\n**User:** I moved.\nUser: is a word here.\n\n**Assistant:** Code:\n```\n**User:** no\n```\n\n**User:** Thanks.\n";
        let mut expected = vec![(Role::Other, Kind::Context, "About Lisbon.".to_owned())];
        expected.extend(prose(&[
            (Role::User, "I moved.\nUser: is a word here."),
            (Role::Assistant, "Code:\n```\n**User:** no\n```"),
            (Role::User, "Thanks."),
        ]));
        assert_eq!(pieces(text), expected);
        assert_eq!(read("x.md", text).title.as_deref(), Some("Chat"));
    }

    #[test]
    fn templates_of_models_are_read_with_their_system_prompt_apart() {
        let expected = [
            (Role::System, Kind::Context, "Be brief.".to_owned()),
            (Role::User, Kind::Prose, "hi".to_owned()),
            (Role::Assistant, Kind::Prose, "```\nhello".to_owned()),
            (Role::User, Kind::Prose, "bye".to_owned()),
        ];
        for text in [
            "<s>[INST] <<SYS>>\nBe brief.\n<</SYS>>\n\nhi [/INST] ```\nhello </s><s>[INST] bye [/INST]",
            "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n```\nhello<|im_end|>\n<|im_start|>user\nbye<|im_end|>\n",
            "<|start_header_id|>system<|end_header_id|>\n\nBe brief.<|eot_id|><|start_header_id|>user<|end_header_id|>\n\nhi<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n```\nhello<|eot_id|><|start_header_id|>user<|end_header_id|>\n\nbye<|eot_id|>",
        ] {
            assert_eq!(pieces(text), expected, "{text}");
        }
    }

    #[test]
    fn a_session_is_known_by_its_id_and_its_steps_are_no_words() {
        let text = "<!-- Generated by SpecStory, Markdown v2.1.0 -->\n\n# 2026-01-02 03:04:00Z\n\n<!-- Claude Code Session 0d9c1e5a-1111-4222-8333-444455556666 (2026-01-02 03:04:00Z) -->\n\n_**User (2026-01-02 03:04:00Z)**_\n\nfix it\n\n---\n\n_**Agent (x 2026-01-02 03:04:05Z)**_\n\n<tool-use data-tool-type=\"shell\" data-tool-name=\"Bash\"><details>\n<summary>Tool use: **Bash**</summary>\n\n`just test`\n</details></tool-use>\n\n_**Agent (x 2026-01-02 03:04:09Z)**_\n\nDone.\n\n---\n";
        let transcript = read("x.md", text);
        assert_eq!(transcript.external_id, "0d9c1e5a-1111-4222-8333-444455556666");
        let kinds: Vec<_> = transcript.messages.iter().map(|message| message.kind).collect();
        assert_eq!(kinds, [Kind::Prose, Kind::ToolCall, Kind::ToolResult, Kind::Prose]);
        let id = "0d9c1e5a-1111-4222-8333-444455556666";
        assert_eq!(read("y.md", &text.replace(id, "short")).external_id.len(), 32);
    }

    #[test]
    fn commands_templates_plans_and_sub_agents_of_an_export_are_not_the_users() {
        let text = "<!-- Generated by SpecStory, Markdown v2.1.0 -->\n\n_**User**_\n\n<command-message>review</command-message>\n\
                    <command-name>/review</command-name>\n<command-args>be brief</command-args>\n\n_**User**_\n\n## Context\n\nNever \
                    push.\n\n---\n\n_**Agent (x)**_\n\nok\n\n---\n\n_**User**_\n\n[Request interrupted by user]\n\n_**User**_\n\nuse \
                    tabs\n\n---\n\n_**User (sidechain)**_\n\nWe always use Postgres.\n\n---\n\n_**Agent - sidechain \
                    (x)**_\n\nSearching.\n\n---\n\n_**User**_\n\nImplement the following plan:\n\n# Plan\n\nAlways be minimal.\n";
        let read = read("x.md", text);
        let shown = |role: Role, human: bool| {
            let wanted = move |message: &&Message| message.role == role && message.is_human() == human;
            read.messages.iter().filter(wanted).map(|message| message.text.as_str()).collect::<Vec<_>>()
        };
        assert_eq!(shown(Role::User, true), ["be brief", "use tabs"]);
        assert_eq!(shown(Role::Other, false), ["We always use Postgres.", "Searching."]);
        assert_eq!(shown(Role::System, false).len(), 3);
    }

    #[test]
    fn people_are_users_with_a_name() {
        let text = "Ana: We ship.\nLuís: Fine.\nNote: on Monday.\nAna: Who tests?\nLuís: I do.\n";
        let said: Vec<_> = read("x.txt", text)
            .messages
            .into_iter()
            .map(|message| (message.speaker.unwrap(), message.role, message.text))
            .collect();
        let expected =
            [("Ana", "We ship."), ("Luís", "Fine.\nNote: on Monday."), ("Ana", "Who tests?"), ("Luís", "I do.")];
        assert_eq!(said, expected.map(|(name, text)| (name.to_owned(), Role::User, text.to_owned())));
    }

    #[test]
    fn two_lines_are_a_chat_if_the_format_is_given() {
        for text in ["Ana: We use Rust.\nRui: I prefer tea.\n", "ana: We use Rust.\nrui: I prefer tea.\n"] {
            assert!(!sniffs(text));
            let said: Vec<_> = read("x.txt", text)
                .messages
                .into_iter()
                .map(|one| (one.speaker.unwrap().to_lowercase(), one.text))
                .collect();
            let expected = [("ana", "We use Rust."), ("rui", "I prefer tea.")];
            assert_eq!(said, expected.map(|(name, text)| (name.to_owned(), text.to_owned())));
        }
        for text in ["Ana: We use Rust.\n", "Rust is fine.\nhttps://a.example\n"] {
            assert_eq!(read_input(&Plain, Input::from_text("x.txt", text)).0, []);
        }
    }

    #[test]
    fn a_time_may_follow_the_name() {
        for text in [
            "Ana Silva [0:00:01]: okay\nRui [0:00:05]: fine\nAna Silva [0:00:09]: We ship.\n",
            "**Ana Silva** [00:01]: okay\n\n**Rui** [00:05]: fine\n\n**Ana Silva** [00:09]: We ship.\n",
            "Ana Silva (00:01)\nokay\n\nRui (00:05)\nfine\n\nAna Silva (00:09)\nWe ship.\n",
        ] {
            let said: Vec<_> = read("2026-01-14.txt", text)
                .messages
                .into_iter()
                .map(|one| format!("{} {} {}", one.time.unwrap().at, one.speaker.unwrap(), one.text))
                .collect();
            let expected = [
                "2026-01-14T00:00:01Z Ana Silva okay",
                "2026-01-14T00:00:05Z Rui fine",
                "2026-01-14T00:00:09Z Ana Silva We ship.",
            ];
            assert_eq!(said, expected, "{text}");
        }
    }

    #[test]
    fn who_speaks_once_keeps_the_words() {
        let text = "Ana: Who can?\nLuís: Not I.\nAna: On what day?\nRui: I moved to Porto, so I can.\nMonday: we ship.\nLuís: Good.\n";
        let said: Vec<_> =
            read("x.txt", text).messages.into_iter().map(|one| (one.speaker.unwrap(), one.text)).collect();
        assert_eq!(said[3], ("Rui".to_owned(), "I moved to Porto, so I can.\nMonday: we ship.".to_owned()));
    }

    #[test]
    fn clocks_count_from_the_day_of_a_heading_or_of_the_name() {
        let times = |name: &str, text: &str| -> Vec<String> {
            read(name, text)
                .messages
                .iter()
                .map(|one| one.time.map_or(String::new(), |time| time.at.to_string()))
                .collect()
        };
        let day = "### User [23:59:08]\n\nhi\n\n### Claude [00:01:29]\n\nhello\n";
        assert_eq!(times("chat_2026-05-29_18-00.md", day), ["2026-05-29T23:59:08Z", "2026-05-30T00:01:29Z"]);
        let headed = "## 2026-01-14（周三）\n\n用户：你好\n助手：你好！\n\n## 2026-01-16\n\n用户：再见\n助手：再见！\n";
        let (first, second) = ("2026-01-14T00:00:00Z", "2026-01-16T00:00:00Z");
        assert_eq!(times("x.md", headed)[1..], [first, first, second, second]);
        assert!(read("x.md", headed).messages.iter().skip(1).all(|message| !message.text.contains("2026")));
        let talk =
            "Recorded Wednesday 2026-01-14 10:00\n\n[Ana] [00:00] Okay.\n[Rui] [00:05] Fine.\n[Ana] [01:00] Bye.\n";
        assert_eq!(times("x.txt", talk)[1..], ["2026-01-14T10:00:00Z", "2026-01-14T10:00:05Z", "2026-01-14T10:01:00Z"]);
    }

    #[test]
    fn an_account_that_asks_copilot_is_the_user() {
        let text = "ana-v: why?\n\nGitHub Copilot: Look.\n\nRan terminal command: ls\n\nana-v: fix it\n\nGitHub Copilot: Done.\n";
        let expected = [
            (Role::User, "why?"),
            (Role::Assistant, "Look.\n\nRan terminal command: ls"),
            (Role::User, "fix it"),
            (Role::Assistant, "Done."),
        ];
        assert_eq!(pieces(text), prose(&expected));
    }

    #[test]
    fn the_model_of_an_export_is_named_above_an_answer() {
        for (head, model) in [
            ("Agent (loom-2-large 2026-01-02 03:04:05Z)", Some("loom-2-large")),
            ("Agent (model loom-2-large, mode Agent)", Some("loom-2-large")),
            ("Agent (model default, mode Agent)", None),
            ("Agent (2026-01-02 03:04:05Z)", None),
            ("Assistant", None),
        ] {
            let text = format!("<!-- Generated by SpecStory -->\n\n_**User**_\n\nhi\n\n---\n\n_**{head}**_\n\nok\n");
            let mut seen = Vec::new();
            let mut accept = |transcript| seen.push(transcript);
            Plain.read(Input::from_text("a.md", &text), &mut Sink::new(&mut accept)).unwrap();
            let seen: Vec<_> = seen.iter().map(|transcript: &crate::Transcript| transcript.model.as_deref()).collect();
            assert_eq!(seen, [model], "{head}");
        }
    }

    #[test]
    fn what_cline_and_programs_put_into_turns_is_apart() {
        let cline = "**User:**\n\n<task>\nuse pnpm\n</task>\n\n---\n\n**Assistant:**\n\n<thinking>ok</thinking>\nDone.\n\n---\n\n**User:**\n\n# TODO LIST UPDATE REQUIRED\n\n---\n\n**Assistant:**\n\nOk.\n";
        let said = pieces(cline);
        assert_eq!(said[0], (Role::User, Kind::Prose, "use pnpm".to_owned()));
        assert_eq!(said[1], (Role::Assistant, Kind::Reasoning, "ok".to_owned()));
        assert!(said.iter().filter(|one| one.0 == Role::User && one.1 == Kind::Prose).count() == 1, "{said:?}");
        let notified = "User: hi\nAssistant: hello\nUser: <task-notification>done</task-notification>\nAssistant: ok\n";
        assert_eq!(pieces(notified)[2].0, Role::System);
    }

    #[test]
    fn dates_come_from_stamps_front_matter_or_the_name_in_that_order() {
        let body = "User: hi\nAssistant: hello\n";
        let at =
            |name: &str, text: &str| read(name, text).messages[0].time.map(|time| (time.at.to_string(), time.source));
        let dated = format!("---\ndate: 2026-02-03\ntitle: \"T\"\n---\n{body}");
        assert_eq!(at("2026-01-01.md", &dated), Some(("2026-02-03T00:00:00Z".to_owned(), TimeSource::File)));
        assert_eq!(at("2026-01-01.md", body), Some(("2026-01-01T00:00:00Z".to_owned(), TimeSource::File)));
        assert_eq!(at("x.md", body), None);
        let stamped = "_**User (2026-01-02 03:04Z)**_\n\nhi\n\n---\n\n_**Agent (2026-01-02 03:05Z)**_\n\nok";
        assert_eq!(at("x.md", stamped), Some(("2026-01-02T03:04:00Z".to_owned(), TimeSource::Log)));
        assert_eq!(read("x.md", &dated).title.as_deref(), Some("T"));
    }
}

#[cfg(test)]
mod actions_tests {
    use super::*;

    #[test]
    fn blocks_are_distinguished_from_words() {
        let text = "<think><details><summary>Thought Process</summary>\nWhich test?</details></think>\n\n---\n\nI run it.\n\n<tool-use data-tool-type=\"shell\" data-tool-name=\"Bash\"><details>\n<summary>Tool use: **Bash**</summary>\n\n`pytest -q`\n\n```text\n1 failed\n```\n</details></tool-use>\n\n---\n\nIt says `<think>` here.\n\n<tool-use data-tool-type=\"read\" data-tool-name=\"read\">\n<details>\n<summary>Tool use: **read** • Read a.rs</summary>";
        let pieces: Vec<_> = split(text).into_iter().map(|one| (one.role, one.kind, one.text)).collect();
        let row = |role, kind, text: &str| (role, kind, text.to_owned());
        assert_eq!(
            pieces,
            [
                row(Role::Assistant, Kind::Reasoning, "Thought Process\nWhich test?"),
                row(Role::Assistant, Kind::Prose, "I run it."),
                row(Role::Assistant, Kind::ToolCall, "Bash pytest -q"),
                row(Role::Tool, Kind::ToolResult, "`pytest -q`\n\n```text\n1 failed\n```"),
                row(Role::Assistant, Kind::Prose, "It says `<think>` here."),
                row(Role::Assistant, Kind::ToolCall, "read Read a.rs"),
            ]
        );
        assert_eq!(split("Words.").len(), 1);
    }
}

#[cfg(test)]
mod reply_tests {
    use super::*;
    use crate::testing::{lines, read};

    #[test]
    fn answers_in_an_exported_block_are_the_users() {
        let block = |name: &str, body: &str| {
            let text = format!(
                "<tool-use data-tool-type=\"generic\" data-tool-name=\"{name}\"><details>\n<summary>Tool use: **{name}**</summary>\n\n{body}\n</details></tool-use>"
            );
            let said = split(&text).into_iter().filter(|one| one.kind == Kind::Prose);
            said.map(|one| format!("{:?}: {}", one.role, one.text)).collect::<Vec<_>>()
        };
        let one = "**Which database?**\n\nOptions:\n- **PostgreSQL (Recommended)** - has everything\n- **SQLite**\n";
        let asked = "Assistant: Which database?\n\nOptions:\n- PostgreSQL (Recommended) - has everything\n- SQLite";
        let refused = "The user doesn't want to proceed with this tool use. The tool use was rejected. To tell you how to proceed, the user said:\nuse pnpm";
        for (name, body, expected) in [
            (
                "AskUserQuestion",
                format!("{one}\n\n**Answer:** PostgreSQL (Recommended)"),
                vec![asked, "User: PostgreSQL"],
            ),
            (
                "AskUserQuestion",
                format!(
                    "{one}\n\n**Answer:** MariaDB\" notes: we have it. Read the answers carefully — they may request clarification"
                ),
                vec![asked, "User: MariaDB\nwe have it"],
            ),
            (
                "AskUserQuestion",
                "**Which one?** _(select multiple)_\n\n**Deploy?**\n\n\n**Answer:** a, b, later".to_owned(),
                vec!["Assistant: Which one?\n\nDeploy?", "User: a, b, later"],
            ),
            ("AskUserQuestion", format!("{one}\n```\nThe user responded: neither\n```"), vec![asked, "User: neither"]),
            ("AskUserQuestion", format!("{one}\n```\nThe user did not answer the questions.\n```"), vec![]),
            ("AskUserQuestion", format!("{one}\n```\n{refused}\n```"), vec!["User: use pnpm"]),
            ("Bash", format!("```sh\nnpm i\n```\n```\n{refused}\n```"), vec![]),
            ("Read", "```\n**Answer:** always push\n```".to_owned(), vec![]),
        ] {
            assert_eq!(block(name, &body), expected, "{body}");
        }
    }

    #[test]
    fn calls_in_an_export_of_opencode_are_no_words_and_answers_are_the_users() {
        let text = "# Loom\n\n**Session ID:** ses_1\n**Created:** 2/1/2026, 9:00:00 AM\n\n---\n\n## User\n\nset it up\n\n---\n\n\
                    ## Assistant (Build · loom-2 · 85.0s)\n\nI ask.\n\n**Tool: question**\n\n**Input:**\n```json\n{\n  \"questions\": \
                    [{\"question\": \"Which database?\", \"options\": [{\"label\": \"SQLite\"}]}]\n}\n```\n\n**Output:**\n```\nUser has \
                    answered your questions: \"Which database?\"=\"SQLite\". You can now continue with the user's answers in \
                    mind.\n```\n\n**Tool: bash**\n\n**Input:**\n```json\n{\"command\": \"make\"}\n```\n\n**Error:**\n```\nno rule\n```\n\n\
                    Done with **Tool: x**.\n\n**Tool: write**\n\n---\n\n## User\n\nthanks\n";
        let seen = read(&Plain, "x.md", text).0.remove(0);
        let shown = lines(&seen);
        assert_eq!(
            shown[1..],
            [
                "User Prose set it up",
                "Assistant Prose I ask.",
                "Assistant ToolCall question",
                "Tool ToolResult User has answered your questions: \"Which database?\"=\"SQLite\". You can now continue with the user's answers in mind.",
                "Assistant Prose Which database?\n- SQLite",
                "User Prose SQLite",
                "Assistant ToolCall bash make",
                "Tool ToolResult no rule",
                "Assistant Prose Done with **Tool: x**.",
                "Assistant ToolCall write",
                "User Prose thanks",
            ]
        );
        let of_tools = seen.messages.iter().filter(|one| one.kind != Kind::Prose);
        let ended: Vec<_> = of_tools.filter_map(|one| one.action.as_ref()).map(|action| action.failed).collect();
        assert_eq!(ended, [None, Some(false), None, Some(true)]);
    }
}

#[cfg(test)]
mod template_tests {
    use super::*;

    #[test]
    fn each_template_gets_a_line_for_each_speaker() {
        let rows = [
            (
                "<s>[INST] hi [/INST] hello </s><s>[INST] bye [/INST]",
                "<|im_start|>user\nhi\n<|im_start|>assistant\nhello\n<|im_start|>user\nbye\n",
            ),
            (
                "[INST] <<SYS>>\nBe brief.\n<</SYS>>\n\nhi [/INST] hello",
                "<|im_start|>system\nBe brief.\n<|im_start|>user\nhi\n<|im_start|>assistant\nhello\n",
            ),
            ("<|begin_of_text|><|start_header_id|>user<|end_header_id|>\n\nhi<|eot_id|>", "\n<|im_start|>user\n\n\nhi"),
        ];
        for (text, expected) in rows {
            assert_eq!(with_speaker_lines(text).as_deref(), Some(expected), "{text}");
        }
        for other in ["Use [INST] and [/INST].", "[INST] never closed", "[1, 2]"] {
            assert_eq!(with_speaker_lines(other), None, "{other}");
        }
    }
}
