//! Cleans a transcript before a model reads it: removes private spans, injected text, secrets and personal data.

use std::collections::BTreeMap;
use std::ops::Range;

use aho_corasick::{AhoCorasick, MatchKind};
use sha2::{Digest as _, Sha256};
use transcripts::{Kind, Message, Role, Transcript, changed_names, hex};

use crate::guard::pii::is_personal;
use crate::guard::redaction::{DENIED_MARKER, Guard, Reader, Redact, Redacted};
use crate::guard::scan::{Findings, Found, Replaced, names_secret, replace, secrets};
use crate::text::address::without_credentials;

/// Maximum number of rounds of removing injected text. Each round finds text that the previous round joined.
// The number is limited, because a crafted text could need a round for each level of its nesting.
const MAX_ROUNDS: usize = 16;

/// The counts of what was removed from a transcript.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Cleaning {
    /// Number of secrets and of personal data, by the name of their row in the table.
    pub findings: Findings,
    /// Private spans.
    pub private_spans: usize,
    /// Messages from which only injected text was removed.
    pub stripped: usize,
    /// Messages that consisted only of injected text. They are kept as [`Kind::Context`], with a marker as text.
    pub injected: usize,
    /// Messages that showed a denied file. A marker replaces their text.
    pub denied: usize,
    /// Messages that were removed because nothing was left of them.
    pub removed: usize,
}

impl Cleaning {
    /// Returns the counts by kind, without the kinds that were not found.
    pub(crate) fn counts(&self) -> impl Iterator<Item = (&'static str, usize)> + '_ {
        let kinds = [
            ("private-span", self.private_spans),
            ("injected-block", self.stripped),
            ("injected-message", self.injected),
            ("denied-file", self.denied),
        ];
        let findings = self.findings.iter().map(|(name, count)| (*name, *count));
        kinds.into_iter().filter(|(_, count)| *count > 0).chain(findings)
    }
}

impl Guard {
    /// Removes private spans, injected text, secrets and personal data from `transcript`.
    ///
    /// Messages keep their ids and their order. A message that consists only of injected text becomes
    /// [`Kind::Context`], and a marker replaces its text. The summary at the start of a compacted session becomes
    /// [`Kind::Summary`] and keeps its text. A message that is left without text is removed. Cleaning the result again
    /// changes nothing.
    #[must_use]
    pub fn clean_transcript(&self, mut transcript: Transcript) -> (Redacted<Transcript>, Cleaning) {
        let (mut cleaned, mut repeated) = (Cleaning::default(), RepeatedValues::default());
        let ids = transcript.messages.iter_mut().map(|message| &mut message.id);
        ids.chain([&mut transcript.external_id]).for_each(|id| *id = clean_id(std::mem::take(id)));
        // Addresses of repositories may contain a user and a token.
        for address in [&mut transcript.project, &mut transcript.repository].into_iter().flatten() {
            *address = without_credentials(address);
        }
        // A call's line and its action have the same content, so findings in both are counted once, in the line.
        for action in transcript.messages.iter_mut().filter_map(|message| message.action.as_mut()) {
            action.edit_texts(&mut |text| _ = take_out_private(text));
            // A part of a secret is not a secret by itself, so names are compared with what is left of the whole
            // change.
            let mut change = std::mem::take(&mut action.change);
            take_out_private(&mut change);
            if !action.names.is_empty() {
                let left = changed_names(&self.redact(change).0);
                action.names.retain(|name| left.contains(name));
            }
            let note = &mut |found: &Found, value: &str| repeated.note(found, value);
            **action = self.redact_noting(std::mem::take(&mut **action), note).0.into_inner();
        }
        // Private spans are removed first, because their content must not affect anything else.
        transcript.edit_texts(&mut |text| cleaned.private_spans += take_out_private(text));
        let mut after_memory_call = false;
        let mut reader = Reader::new(&self.denied);
        for message in &mut transcript.messages {
            if reader.shows(message) && message.text != DENIED_MARKER {
                DENIED_MARKER.clone_into(&mut message.text);
                message.action.iter_mut().for_each(|action| action.names.clear());
                cleaned.denied += 1;
            }
            // They are not needed any more, and may contain anything.
            message.searched.clear();
            let answers = after_memory_call && message.kind == Kind::ToolResult;
            // Ids of calls are not stored, so an answer is recognised by its position directly after its call.
            after_memory_call = message.kind == Kind::ToolCall && is_memory_call(&message.text);
            if answers || after_memory_call {
                set_aside(message, &mut cleaned);
            } else {
                strip(message, &mut cleaned);
            }
        }
        let before = transcript.messages.len();
        transcript.messages.retain(|message| !message.text.trim().is_empty());
        cleaned.removed = before - transcript.messages.len();
        // Secrets are removed last, so that injected and private text is not searched and findings in it are not
        // counted.
        let (Redacted(mut transcript), findings) =
            self.redact_noting(transcript, &mut |found, value| repeated.note(found, value));
        cleaned.findings = findings;
        repeated.remove_from(&mut transcript, &mut cleaned.findings);
        (Redacted(transcript), cleaned)
    }
}

/// Passwords and keys that were found by the words beside them. Elsewhere in the conversation, as in the error message of a
/// command, nothing shows that they are secret.
#[derive(Debug, Default)]
struct RepeatedValues(BTreeMap<String, &'static str>);

/// Length of the shortest value that is looked for elsewhere, in bytes.
const MIN_REPEATED_BYTES: usize = 8;

impl RepeatedValues {
    fn note(&mut self, found: &Found, value: &str) {
        // A value without digits may be an ordinary word, such as the name of a database.
        let is_distinct = value.len() >= MIN_REPEATED_BYTES
            && value.contains(|c: char| c.is_ascii_digit())
            && value.contains(char::is_alphabetic)
            && !value.contains(char::is_whitespace);
        if is_distinct && names_secret(found) && !found.is_token && !is_personal(found) {
            self.0.insert(value.to_owned(), found.name);
        }
    }

    /// Removes the values wherever they stand as whole words.
    fn remove_from(&self, transcript: &mut Transcript, findings: &mut Findings) {
        if self.0.is_empty() {
            return;
        }
        let automaton = AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).build(self.0.keys());
        let Ok(automaton) = automaton else { return };
        let names: Vec<&'static str> = self.0.values().copied().collect();
        transcript.edit_texts(&mut |text| {
            let is_whole = |range: &Range<usize>| {
                !text[..range.start].ends_with(char::is_alphanumeric)
                    && !text[range.end..].starts_with(char::is_alphanumeric)
            };
            let found = automaton.find_iter(text.as_str()).filter(|hit| is_whole(&hit.range()));
            let found =
                found.map(|hit| Found { range: hit.range(), name: names[hit.pattern()], rank: 0, is_token: false });
            if let Some(Replaced { text: clean, .. }) = replace(text, found.collect(), findings) {
                *text = clean;
            }
        });
    }
}

/// Returns an id from a log. A hash replaces each part of the id that contains a secret, so that different ids remain
/// different, and the id of a sub-agent still contains the id of its session.
pub(crate) fn clean_id(id: String) -> String {
    // Ids are random themselves, so only text that must be a secret counts.
    let contains_secret = |id: &str| secrets(id).iter().any(names_secret);
    if !contains_secret(&id) {
        return id;
    }
    let hashed = |part: &str| format!("redacted-{}", hex(&Sha256::digest(part.as_bytes())[..8]));
    let parts = id.split('/').map(|part| if contains_secret(part) { hashed(part) } else { part.to_owned() });
    let parts = parts.collect::<Vec<_>>().join("/");
    if contains_secret(&parts) { hashed(&id) } else { parts }
}

/// Removes injected text from messages of people, assistants and tools. The other kinds of messages contain no words of
/// a participant.
fn strip(message: &mut Message, cleaned: &mut Cleaning) {
    let said = match message.kind {
        Kind::Prose => message.role != Role::System,
        Kind::ToolResult => true,
        Kind::ToolCall | Kind::Reasoning | Kind::Context | Kind::Summary | Kind::Attachment => false,
    };
    if !said {
        return;
    }
    let wrappers = if message.role == Role::User { Wrappers::Unwrap } else { Wrappers::Keep };
    // Removing a block can join the text around it into another block.
    for round in 0..MAX_ROUNDS {
        match strip_injected(&message.text, wrappers) {
            Stripped::All => return,
            Stripped::Words(words) => {
                message.text = words;
                cleaned.stripped += usize::from(round == 0);
            }
            Stripped::Summary => {
                message.kind = Kind::Summary;
                return;
            }
            Stripped::Nothing => return set_aside(message, cleaned),
        }
    }
}

fn set_aside(message: &mut Message, cleaned: &mut Cleaning) {
    message.kind = Kind::Context;
    INJECTED_MARKER.clone_into(&mut message.text);
    cleaned.injected += 1;
}

// Text that no participant wrote: blocks that agents and their hooks inject into messages, and recalled memories.

/// Tag around the memories that this program puts into a prompt. The content of the tag is never extracted again.
pub(crate) const INJECTION_TAG: &str = "afterthought-memory";

/// Replaces a message that consists only of injected text.
pub(crate) const INJECTED_MARKER: &str = "[injected context]";

/// The rest of a message without injected text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Stripped {
    /// Nothing was injected.
    All,
    /// Part of the text was injected. These are the words of the participant.
    Words(String),
    /// The text is a summary of earlier messages at the start of a compacted session.
    Summary,
    /// All of the text was injected.
    Nothing,
}

/// Whether tags around a person's words are removed. An assistant that writes such tags is showing code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wrappers {
    Unwrap,
    Keep,
}

/// Maximum depth of nested wrappers that are removed.
const MAX_WRAPPERS: usize = 4;

/// Maximum length of an opening tag with its attributes, in bytes.
const MAX_TAG_BYTES: usize = 1024;

/// Tags whose content is injected. A name that ends in `*` matches every tag with this prefix.
#[rustfmt::skip]
const INJECTED: &[&str] = &[
    INJECTION_TAG, "system-reminder", "hook_prompt", "task-notification", "hindsight_*", "relevant_memories", "claude-mem-context",
    "user_feedback", "system_instruction", "system-instruction", "persisted-output", "environment_context", "environment_details",
    "user_instructions", "permissions instructions", "ide_opened_file", "ide_selection", "local-command-caveat", "local-command-stdout",
    "local-command-stderr", "command-name", "command-message", "bash-input", "bash-stdout", "bash-stderr", "session_context", "hook_context",
    "user-prompt-submit-hook", "user_info", "current_datetime", "teammate-message", "turn_aborted",
];

/// Tags around a person's own words.
const WRAPPERS: &[&str] = &["user_query", "task", "user_message", "feedback", "channel", "command-args"];

/// First words of messages that consist only of injected text.
#[rustfmt::skip]
const INJECTED_STARTS: &[&str] = &[
    "Caveat: The messages below", "[Request interrupted by user", "<local-command-", "# AGENTS.md instructions", "<teammate-message",
    "As you answer the user's questions, you can use the following context",
];

/// First words of the summary with which a compacted session continues.
const SUMMARY_STARTS: &[&str] = &["This session is being continued from a previous conversation"];

/// Line after which an editor's preamble ends and the request begins.
const REQUEST_LINE: &str = "## My request for Codex:";

/// Names of the files that agents load at the start. If a message contains such a file with its header, nobody wrote
/// this text as a message.
#[rustfmt::skip]
const BOOT_FILES: &[&str] = &[
    "CLAUDE.md", "CLAUDE.local.md", "AGENTS.md", "AGENTS.override.md", "MEMORY.md", "GEMINI.md",
    "copilot-instructions.md",
];

/// Returns the rest of a person's or an assistant's message without injected text.
///
/// A tag counts if it opens a block that is closed, or if it is at the start of a line. A tag that is only mentioned,
/// in backticks or in the middle of a sentence without a closing tag, is ignored.
pub(super) fn strip_injected(text: &str, wrappers: Wrappers) -> Stripped {
    // Summaries are checked first, because a summary may quote tags and boot files and must be kept whole.
    if SUMMARY_STARTS.iter().any(|start| text.trim_start().starts_with(start)) {
        return Stripped::Summary;
    }
    if is_boot_file(text) {
        return Stripped::Nothing;
    }
    let request = after_request_line(text);
    let body = request.unwrap_or(text);
    // Codex writes the boot file and the first prompt into one message.
    let body = without_instructions_block(body);
    let stripped = without_tags(body, if wrappers == Wrappers::Unwrap { MAX_WRAPPERS } else { 0 });
    let words = stripped.as_deref().unwrap_or(body).trim();
    if words.is_empty() && !text.trim().is_empty() || INJECTED_STARTS.iter().any(|start| words.starts_with(start)) {
        return Stripped::Nothing;
    }
    // Text is only ever removed, so the same length means the same text.
    if words.len() == text.trim().len() { Stripped::All } else { Stripped::Words(words.to_owned()) }
}

fn after_request_line(text: &str) -> Option<&str> {
    let at = text.find(REQUEST_LINE).filter(|at| *at == 0 || text[..*at].ends_with('\n'))?;
    Some(&text[at + REQUEST_LINE.len()..])
}

/// Removes the block `# AGENTS.md instructions for …` with which Codex begins, if its end can be found.
fn without_instructions_block(text: &str) -> &str {
    const CLOSE: &str = "</INSTRUCTIONS>";
    if text.trim_start().starts_with("# AGENTS.md instructions") {
        text.find(CLOSE).map_or(text, |at| &text[at + CLOSE.len()..])
    } else {
        text
    }
}

/// Whether `text` is a boot file with its header, which is its name on the first line or the words that its program
/// writes.
fn is_boot_file(text: &str) -> bool {
    let mut lines = text.trim_start().lines();
    let first =
        lines.next().unwrap_or("").trim_start_matches(['#', ' ', '`', '*']).trim_end_matches([':', ' ', '`', '*']);
    let name = first.rsplit(['/', '\\']).next().unwrap_or(first);
    if first.starts_with("Contents of ") && BOOT_FILES.iter().any(|file| first.contains(file)) {
        return true;
    }
    let is_name = BOOT_FILES.iter().any(|file| name.eq_ignore_ascii_case(file)) && !first.contains(' ');
    is_name && lines.filter(|line| !line.trim().is_empty()).count() >= 2
        || text.contains("This file provides guidance to Claude Code (claude.ai/code) when working with code")
}

/// The treatment of a tag.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Action {
    Drop,
    Unwrap,
}

/// Returns `text` without injected blocks and without `wrappers` levels of wrappers, or `None` if it contains neither.
fn without_tags(text: &str, wrappers: usize) -> Option<String> {
    let (mut out, mut done, mut at) = (String::new(), 0, 0);
    // If a tag is not closed after a position, it is not closed after any later position.
    let mut never_closed: Vec<&str> = Vec::new();
    while let Some(open) = text[at..].find('<').map(|open| at + open) {
        at = open + 1;
        let Some((name, action)) = known_tag(&text[at..]) else { continue };
        // A tag in backticks is only mentioned.
        if text[..open].ends_with('`') || never_closed.contains(&name) {
            continue;
        }
        let before = text[..open].trim_end_matches([' ', '\t']);
        let starts_line = before.is_empty() || before.ends_with(['\n', '>']);
        if action == Action::Unwrap && (wrappers == 0 || !starts_line) {
            continue;
        }
        let head = &text[at..text.floor_char_boundary(at + MAX_TAG_BYTES)];
        let Some(inside) = head.find('>').map(|end| at + end + 1) else { continue };
        let span = if text[..inside].ends_with("/>") { Some((inside, inside)) } else { closing(text, inside, name) };
        let (close, after) = match span {
            Some(span) => span,
            // A message may be cut off inside a block. Keeping injected text is worse than losing the end of the
            // message.
            None if starts_line && action == Action::Drop => (text.len(), text.len()),
            None => {
                never_closed.push(name);
                continue;
            }
        };
        out.push_str(&text[done..open]);
        if action == Action::Unwrap {
            let content = &text[inside..close];
            // Recursion is limited by `wrappers`, regardless of the depth of the tags.
            out.push_str(without_tags(content, wrappers - 1).as_deref().unwrap_or(content));
        }
        (done, at) = (after, after);
    }
    (done > 0).then(|| out + &text[done..])
}

/// Returns the tag that `rest`, the text after a `<`, opens, if it is one of the tags above.
fn known_tag(rest: &str) -> Option<(&str, Action)> {
    let opens = |name: &str| {
        let whole = rest.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name));
        whole && rest[name.len()..].starts_with(['>', ' ', '\n', '\t', '/'])
    };
    let word = || rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_' && c != '-').unwrap_or(rest.len());
    for name in INJECTED {
        let length = match name.strip_suffix('*') {
            Some(start) if rest.starts_with(start) => word(),
            None if opens(name) => name.len(),
            Some(_) | None => continue,
        };
        return Some((&rest[..length], Action::Drop));
    }
    WRAPPERS.iter().find(|name| opens(name)).map(|name| (&rest[..name.len()], Action::Unwrap))
}

/// Returns the start and the end of the closing tag for the tag `name` that was opened before `from`.
fn closing(text: &str, from: usize, name: &str) -> Option<(usize, usize)> {
    let (close, open) = (format!("</{name}>"), format!("<{name}>"));
    let mut depth = 1;
    let mut at = from;
    let mut last = None;
    while depth > 0 {
        let end = text[at..].find(&close).map(|end| at + end)?;
        // Injected text may quote a block of the same kind.
        depth += text[at..end].matches(&open).count();
        depth -= 1;
        at = end + close.len();
        last = Some((end, at));
        // An opening tag without its own closing tag must not consume the rest, so the first closing tag is used.
        if depth > 0 && !text[at..].contains(&close) {
            break;
        }
    }
    last
}

/// Whether a tool call is for a memory server, whose answers are already memories.
pub(super) fn is_memory_call(text: &str) -> bool {
    let tool = text.split_whitespace().next().unwrap_or("").to_ascii_lowercase();
    tool.starts_with("mcp__") && (tool.contains("memory") || tool.contains("afterthought"))
}

// Spans that a person does not want to store: `<private>…</private>`.

/// The text that replaces a private span.
pub(crate) const PRIVATE_MARKER: &str = "[private]";

const OPEN: &str = "<private>";
const CLOSE: &str = "</private>";

/// Replaces every private span of `text` with [`PRIVATE_MARKER`], and returns the number of spans.
///
/// The case of tags is ignored. A span that is never closed extends to the end of the text. Spans may be nested.
pub(super) fn take_out_private(text: &mut String) -> usize {
    if !text.contains('<') {
        return 0;
    }
    // Only ASCII is converted, which keeps byte offsets, whereas full lower-casing may change the length of a text.
    let lower = text.to_ascii_lowercase();
    if !lower.contains(OPEN) {
        return 0;
    }
    let (mut out, mut at, mut count) = (String::with_capacity(text.len()), 0, 0);
    while let Some(open) = lower[at..].find(OPEN).map(|open| at + open) {
        out.push_str(&text[at..open]);
        out.push_str(PRIVATE_MARKER);
        count += 1;
        at = end_of_span(&lower, open);
    }
    out.push_str(&text[at..]);
    *text = out;
    count
}

/// Returns the end of the span that opens at `open`, past the close of every span nested in it.
fn end_of_span(lower: &str, open: usize) -> usize {
    let (mut at, mut depth) = (open + OPEN.len(), 1);
    while depth > 0 {
        // An unclosed span hides the rest, because the person asked for privacy, and hiding too much is the safer
        // mistake.
        let Some(tag) = lower[at..].find("private>").map(|tag| at + tag) else { return lower.len() };
        at = tag + "private>".len();
        if lower[..at].ends_with(CLOSE) {
            depth -= 1;
        } else if lower[..at].ends_with(OPEN) {
            depth += 1;
        }
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbered(messages: Vec<Message>) -> Transcript {
        let number = |(at, message)| Message { id: format!("m{at}"), ..message };
        Transcript { messages: messages.into_iter().enumerate().map(number).collect(), ..Transcript::default() }
    }

    fn call(text: &str) -> Message {
        Message { kind: Kind::ToolCall, ..Message::assistant(text) }
    }

    fn result(text: &str) -> Message {
        Message { kind: Kind::ToolResult, ..Message::prose(Role::Tool, text) }
    }

    #[test]
    fn each_message_keeps_what_was_said_and_its_id() {
        let (clean, cleaned) = Guard::default().clean_transcript(numbered(vec![
            Message::user("Use tabs. <private>I am ill</private>"),
            Message::user("<system-reminder>Use spaces</system-reminder>"),
            Message::user("Ship it.\n<afterthought-memory v=\"1\">Ana likes tea</afterthought-memory>"),
            Message::assistant("   "),
            Message::user("This session is being continued from a previous conversation. Ana asked for tabs."),
            call("mcp__memory__search tea"),
            result("Ana likes tea"),
            call("Read a.rs"),
            result("fn main() {}\n<system-reminder>empty</system-reminder>"),
            Message::user("DB_PASSWORD=hunter2"),
        ]));
        let said: Vec<_> = clean.messages.iter().map(|m| (m.id.as_str(), m.kind, m.text.as_str())).collect();
        assert_eq!(
            said,
            [
                ("m0", Kind::Prose, "Use tabs. [private]"),
                ("m1", Kind::Context, INJECTED_MARKER),
                ("m2", Kind::Prose, "Ship it."),
                (
                    "m4",
                    Kind::Summary,
                    "This session is being continued from a previous conversation. Ana asked for tabs."
                ),
                ("m5", Kind::Context, INJECTED_MARKER),
                ("m6", Kind::Context, INJECTED_MARKER),
                ("m7", Kind::ToolCall, "Read a.rs"),
                ("m8", Kind::ToolResult, "fn main() {}"),
                ("m9", Kind::Prose, "DB_PASSWORD=[redacted:password]"),
            ]
        );
        let expected = Cleaning {
            findings: Findings::from([("password", 1)]),
            private_spans: 1,
            stripped: 2,
            injected: 3,
            denied: 0,
            removed: 1,
        };
        assert_eq!(cleaned, expected);
        let (again, cleaned) = Guard::default().clean_transcript(clean.clone().into_inner());
        assert_eq!((again, cleaned), (clean, Cleaning::default()));
    }

    #[test]
    fn ids_with_secrets_become_hashes_and_stay_different() {
        let key = |last: &str| format!("ghp_{}{last}", "aB3dE6gH9".repeat(4).split_off(1));
        let id = clean_id(format!("{}/agent-7", key("x")));
        assert!(id.starts_with("redacted-") && id.ends_with("/agent-7") && !id.contains("ghp_"), "{id}");
        assert_eq!(clean_id(key("x")), id.strip_suffix("/agent-7").unwrap());
        assert_ne!(clean_id(key("x")), clean_id(key("y")));
        assert_eq!(clean_id(id.clone()), id);
        let ordinary = [
            "0197b3c4-5d6e-7f80-9a1b-2c3d4e5f6071",
            "rollout-2026-03-02T09-00-00-4Fz9QkT2",
            "m12~2",
            "ses_6fK2mQ9xT4vB7nZ1wL5rH8yD",
        ];
        ordinary.into_iter().for_each(|id| assert_eq!(clean_id(id.into()), id));
        let log = Transcript {
            external_id: key("x"),
            ..numbered(vec![Message { id: key("y"), ..Message::user("Ship it.") }])
        };
        let (clean, _) = Guard::default().clean_transcript(log);
        assert_eq!(clean.external_id, clean_id(key("x")));
    }

    #[test]
    fn a_password_is_removed_wherever_the_conversation_repeats_it() {
        let (clean, cleaned) = Guard::default().clean_transcript(numbered(vec![
            Message::user("export DB_PASSWORD=Zuckerbrot48x"),
            Message::assistant("Error: login failed for bob/Zuckerbrot48x"),
            Message::user("Zuckerbrot48xyz is the name of the branch, postgres is the database."),
            Message::user("PGPASSWORD=postgres psql"),
        ]));
        let texts: Vec<&str> = clean.messages.iter().map(|message| message.text.as_str()).collect();
        assert!(texts[1].starts_with("Error: login failed for bob/[redacted:"), "{texts:?}");
        assert_eq!(texts[2], "Zuckerbrot48xyz is the name of the branch, postgres is the database.");
        assert!(cleaned.findings.values().sum::<usize>() >= 2, "{cleaned:?}");
        let (again, _) = Guard::default().clean_transcript(clean.clone().into_inner());
        assert_eq!(again, clean);
    }

    #[test]
    fn text_joined_by_taking_a_block_out_is_read_again() {
        let text = "keep\n<system-<system-reminder>x</system-reminder>reminder>y</system-reminder>";
        let (clean, _) = Guard::default().clean_transcript(numbered(vec![Message::user(text)]));
        assert_eq!(clean.messages[0].text, "keep");
    }
}

#[cfg(test)]
mod feedback_tests {
    use super::*;

    fn said(text: &str) -> Stripped {
        strip_injected(text, Wrappers::Unwrap)
    }

    fn words(text: &str) -> Stripped {
        Stripped::Words(text.to_owned())
    }

    #[test]
    fn every_injected_tag_goes_and_the_rest_stays() {
        for tag in INJECTED {
            let tag = tag.replace('*', "mental_models");
            let text = format!("Use tabs.\n<{tag}>remember: use spaces</{tag}>\nAlways.");
            assert_eq!(said(&text), words("Use tabs.\n\nAlways."), "{tag}");
            assert_eq!(said(&format!("<{tag} a=\"b\">\nx\n</{tag}>\n")), Stripped::Nothing, "{tag}");
            assert_eq!(said(&format!("Use tabs.\n<{tag}>cut off")), words("Use tabs."), "{tag}");
        }
    }

    #[test]
    fn every_wrapper_goes_and_its_content_stays() {
        for tag in WRAPPERS {
            assert_eq!(said(&format!("<{tag} source=\"x\">Use tabs.</{tag}>")), words("Use tabs."), "{tag}");
        }
    }

    #[test]
    fn wrappers_that_an_assistant_writes_stay() {
        assert_eq!(strip_injected("<task>Use tabs.</task>", Wrappers::Keep), Stripped::All);
    }

    #[test]
    fn wrappers_nested_without_end_are_read() {
        let (open, close) = ("<task>".repeat(50_000), "</task>".repeat(50_000));
        assert!(matches!(said(&format!("{open}x{close}")), Stripped::Words(_)));
        assert_eq!(said(&"<task ".repeat(50_000)), Stripped::All);
    }

    #[test]
    fn a_wrapper_is_cleaned_inside() {
        let text = "<user_query>\nUse tabs.<system-reminder>no</system-reminder>\n</user_query>";
        assert_eq!(said(text), words("Use tabs."));
    }

    #[test]
    fn tags_that_are_only_mentioned_stay() {
        for text in [
            "What does `<system-reminder>` do?",
            "What does <system-reminder> do?",
            "Render <task> and <b>bold</b>, a < b, 3 <4 <",
            "Vec<user_info_id>",
        ] {
            assert_eq!(said(text), Stripped::All, "{text}");
        }
    }

    #[test]
    fn a_slash_command_keeps_its_arguments() {
        let text = "<command-name>/fix</command-name>\n<command-message>fix</command-message>\n<command-args>the date bug</command-args>";
        assert_eq!(said(text), words("the date bug"));
        let bare = "<command-name>/clear</command-name>\n<command-message>clear</command-message>\n<command-args></command-args>";
        assert_eq!(said(bare), Stripped::Nothing);
    }

    #[test]
    fn scaffolding_of_codex_goes_and_the_request_stays() {
        let text = "# Context from my IDE setup:\n\n## Open tabs:\n- a.rs\n\n## My request for Codex:\nRename it.\n";
        assert_eq!(said(text), words("Rename it."));
        let text = "# AGENTS.md instructions for /home/ana/shop\n\n<INSTRUCTIONS>\nUse tabs.\n</INSTRUCTIONS>";
        assert_eq!(said(text), Stripped::Nothing);
        assert_eq!(said(&format!("{text}\nFix the build.")), words("Fix the build."));
        assert_eq!(said("# AGENTS.md instructions for /home/ana/shop\n\nUse tabs.\n"), Stripped::Nothing);
    }

    #[test]
    fn messages_of_the_program_are_not_words() {
        for text in [
            "Caveat: The messages below were generated by the user while running local commands.",
            "[Request interrupted by user for tool use]",
            "# CLAUDE.md\n\n## Style\n- tabs\n",
            "Contents of /home/ana/CLAUDE.md (project instructions):\nUse tabs.",
            "docs/AGENTS.md:\n\nUse tabs.\nNo spaces.",
            "# MEMORY.md\n- Ana likes tea\n- Ana lives in Riga",
        ] {
            assert_eq!(said(text), Stripped::Nothing, "{text}");
        }
        assert_eq!(
            said("This session is being continued from a previous conversation that ran out of context."),
            Stripped::Summary
        );
    }

    #[test]
    fn words_about_a_boot_file_stay() {
        for text in
            ["CLAUDE.md should say that we use tabs", "# CLAUDE.md", "Please shorten AGENTS.md\nand\nkeep the rules"]
        {
            assert_eq!(said(text), Stripped::All, "{text}");
        }
    }

    #[test]
    fn nested_and_repeated_tags_are_read_once() {
        let nested = "a <system-reminder>b <system-reminder>c</system-reminder> d</system-reminder> e";
        assert_eq!(said(nested), words("a  e"));
        let many = "x <system-reminder> ".repeat(50_000);
        assert_eq!(said(&many), Stripped::All);
    }
}

#[cfg(test)]
mod private_tests {
    use super::*;

    fn without(text: &str) -> (String, usize) {
        let mut text = text.to_owned();
        let count = take_out_private(&mut text);
        (text, count)
    }

    #[test]
    fn spans_go_and_the_rest_stays() {
        assert_eq!(
            without("a <private>x</private> b <PRIVATE>\ny\n</Private> 終"),
            ("a [private] b [private] 終".to_owned(), 2)
        );
        assert_eq!(without("nothing here < private"), ("nothing here < private".to_owned(), 0));
    }

    #[test]
    fn an_unclosed_span_runs_to_the_end() {
        assert_eq!(without("keep <private>my salary is 5\nand more"), ("keep [private]".to_owned(), 1));
    }

    #[test]
    fn a_nested_span_does_not_close_the_outer_one() {
        assert_eq!(
            without("a<private>b<private>c</private>d</private>e<private>f"),
            ("a[private]e[private]".to_owned(), 2)
        );
    }

    #[test]
    fn many_open_tags_are_read_in_one_pass() {
        let (text, count) = without(&"<private>".repeat(100_000));
        assert_eq!((text.as_str(), count), ("[private]", 1));
    }
}
