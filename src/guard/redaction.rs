//! Redaction: the guard, the texts that it processes, and the type that proves that a text was processed.

use std::ops::Deref;
use std::sync::{Arc, LazyLock};

use aho_corasick::AhoCorasick;
use glob::{MatchOptions, Pattern};
use transcripts::{Kind, Message, Transcript};

use crate::config::{DENIED_FILES, GuardSettings, GuardTable};
use crate::guard::pii;
use crate::guard::scan::{self, Findings};
use crate::guard::{encoded, prose, rescan, strips, veiled};
use crate::memory::{Candidate, Claim, Evidence, Memory, Status, Structured};
use crate::project::ProjectSighting;
use crate::text::normalise::title_of;

/// Returns `text` without secrets, for diagnostics.
pub(crate) fn without_secrets(text: String) -> String {
    Guard::default().redact(text).0.into_inner()
}

/// A value with all secrets removed from its texts.
#[derive(Debug, Clone, PartialEq)]
pub struct Redacted<T = String>(pub(super) T);

impl<T> Redacted<T> {
    /// Wraps a value read from the store, which contains only redacted values.
    pub(crate) const fn from_stored(value: T) -> Self {
        Self(value)
    }

    /// Returns the value. From then on, nothing guarantees that the value stays free of secrets.
    pub fn into_inner(self) -> T {
        self.0
    }
}

impl Redacted {
    /// Returns the text up to byte `end`, or to the character boundary before it. The result contains no secret either.
    #[must_use]
    pub(crate) fn beginning(&self, end: usize) -> Self {
        Self(self.0[..self.0.floor_char_boundary(end)].to_owned())
    }
}

impl<T> Deref for Redacted<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.0
    }
}

impl Redacted<Option<String>> {
    /// Returns the text, if there is one.
    #[must_use]
    pub(crate) fn text(&self) -> Option<CleanText<'_>> {
        self.0.as_deref().map(CleanText)
    }
}

impl Redacted<Memory> {
    /// Returns the memory as one that waits in the inbox, rather than as an active memory.
    #[must_use]
    pub(crate) fn waiting(self) -> Self {
        Self(Memory { status: Status::Pending, ..self.0 })
    }
}

/// Text that may be written to the database: text that has passed the guard, or a literal of the program, which
/// contains nothing private.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CleanText<'t>(&'t str);

impl From<&'static str> for CleanText<'static> {
    fn from(literal: &'static str) -> Self {
        Self(literal)
    }
}

impl<'t> From<&'t Redacted<String>> for CleanText<'t> {
    fn from(text: &'t Redacted<String>) -> Self {
        Self(text)
    }
}

impl Deref for CleanText<'_> {
    type Target = str;
    fn deref(&self) -> &str {
        self.0
    }
}

/// Removes secrets and other data that must not be stored.
///
/// The secrets in `SECRETS` are always removed. The settings determine what else is removed. A guard is cheap to
/// create, because each pattern is compiled once per process, when a text first contains one of its hints.
#[derive(Debug, Clone)]
pub struct Guard {
    pub(super) settings: GuardSettings,
    pub(super) denied: Arc<Denied>,
}

impl Default for Guard {
    fn default() -> Self {
        Self::new(&GuardSettings::default())
    }
}

impl From<&GuardTable> for Guard {
    fn from(table: &GuardTable) -> Self {
        Self::new(&table.treatments()).denying(&table.deny_files.value)
    }
}

impl Guard {
    /// Returns a guard that follows `settings`.
    #[must_use]
    pub fn new(settings: &GuardSettings) -> Self {
        Self { settings: *settings, denied: Arc::clone(&USUALLY_DENIED) }
    }

    /// Returns the guard with `patterns` in place of [`crate::config::DENIED_FILES`]. The content of files whose names
    /// match a pattern, such as `*.pem`, is removed. A pattern that cannot be parsed matches itself literally.
    #[must_use]
    pub(crate) fn denying(self, patterns: &[String]) -> Self {
        let is_usual = patterns == DENIED_FILES;
        let denied = if is_usual { Arc::clone(&USUALLY_DENIED) } else { Arc::new(Denied::of(patterns)) };
        Self { denied, ..self }
    }

    /// Removes the secrets from every text of `value`. A second pass over the result changes nothing.
    pub fn redact<T: Redact>(&self, value: T) -> (Redacted<T>, Findings) {
        self.redact_noting(value, &mut |_, _| {})
    }

    /// Does the same as [`Self::redact`], and calls `note` with each finding in a text and the text that it replaces.
    pub(super) fn redact_noting<T: Redact>(
        &self,
        mut value: T,
        note: &mut dyn FnMut(&scan::Found, &str),
    ) -> (Redacted<T>, Findings) {
        let mut findings = Findings::new();
        value.edit_texts(&mut |text| self.redact_text(text, &mut findings, note));
        (Redacted(value), findings)
    }

    fn redact_text(&self, text: &mut String, findings: &mut Findings, note: &mut dyn FnMut(&scan::Found, &str)) {
        // Removing one secret can complete the shape of another next to it, so the surroundings are scanned again, and
        // then the whole text until nothing is found. Each finding removes at least four characters that are never read
        // again, so this terminates.
        let remove =
            |text: &str, found: Vec<scan::Found>, note: &mut dyn FnMut(&scan::Found, &str), findings: &mut _| {
                found.iter().for_each(|one| note(one, &text[one.range.clone()]));
                scan::replace(text, found, findings)
            };
        // The rules come first, because they know where a secret ends and what it is called.
        while let Some(replaced) =
            remove(text, self.find(text), note, findings).or_else(|| remove(text, prose::find(text), note, findings))
        {
            *text = rescan::rescan(&replaced, |near| self.find(near), findings);
        }
    }

    pub(super) fn find(&self, text: &str) -> Vec<scan::Found> {
        let mut found = scan::secrets(text);
        found.extend(strips::beyond_lines(text, &found));
        found.extend(veiled::behind_marks(text));
        found.extend(encoded::secrets(text));
        found.extend(pii::find(text, self.settings));
        scan::joined(found)
    }
}

/// Returns the name of the rule that finds a secret in `value`; personal data is not a secret.
pub(crate) fn secret_in<T: Redact>(value: T) -> Option<&'static str> {
    Guard::default().redact(value).1.into_keys().next()
}

// These implementations list the texts in each kind of value.

/// A value whose private texts can be visited.
pub trait Redact {
    /// Calls `edit` on every text in the value that came from outside.
    fn edit_texts(&mut self, edit: &mut dyn FnMut(&mut String));
}

impl Redact for String {
    fn edit_texts(&mut self, edit: &mut dyn FnMut(&mut String)) {
        edit(self);
    }
}

impl<T: Redact> Redact for Option<T> {
    fn edit_texts(&mut self, edit: &mut dyn FnMut(&mut String)) {
        self.iter_mut().for_each(|value| value.edit_texts(edit));
    }
}

impl<T: Redact> Redact for Vec<T> {
    fn edit_texts(&mut self, edit: &mut dyn FnMut(&mut String)) {
        self.iter_mut().for_each(|value| value.edit_texts(edit));
    }
}

impl Redact for Message {
    fn edit_texts(&mut self, edit: &mut dyn FnMut(&mut String)) {
        edit(&mut self.text);
        self.speaker.edit_texts(edit);
        self.action.edit_texts(edit);
    }
}

impl<T: Redact> Redact for Box<T> {
    fn edit_texts(&mut self, edit: &mut dyn FnMut(&mut String)) {
        (**self).edit_texts(edit);
    }
}

impl Redact for Transcript {
    fn edit_texts(&mut self, edit: &mut dyn FnMut(&mut String)) {
        self.title.edit_texts(edit);
        self.project.edit_texts(edit);
        self.repository.edit_texts(edit);
        self.linked_repository.edit_texts(edit);
        self.branch.edit_texts(edit);
        self.model.edit_texts(edit);
        self.origin.edit_texts(edit);
        self.messages.edit_texts(edit);
    }
}

impl Redact for Evidence {
    fn edit_texts(&mut self, edit: &mut dyn FnMut(&mut String)) {
        edit(&mut self.quote);
        self.speaker.edit_texts(edit);
    }
}

impl Redact for Claim {
    fn edit_texts(&mut self, edit: &mut dyn FnMut(&mut String)) {
        // Imported files may contain any text as a category.
        edit(&mut self.category);
        let has_derived_title = self.title == title_of(&self.content);
        edit(&mut self.title);
        edit(&mut self.content);
        if has_derived_title {
            // A title may end within a secret, whose first half is not recognised.
            self.title = title_of(&self.content);
        }
        if let (Some(key), Some(value)) = (&self.key, &mut self.value) {
            edit_named(key, value, edit);
        }
        // The value is edited here, too, because it may have no key.
        for text in [&mut self.summary, &mut self.subject, &mut self.key, &mut self.value] {
            text.edit_texts(edit);
        }
        self.tags.edit_texts(edit);
        self.structured.edit_texts(edit);
    }
}

impl Redact for Structured {
    fn edit_texts(&mut self, edit: &mut dyn FnMut(&mut String)) {
        match self {
            Self::Episode(episode) => {
                edit(&mut episode.situation);
                edit(&mut episode.action);
                episode.reasoning.edit_texts(edit);
                episode.learnings.edit_texts(edit);
            }
            Self::Procedure(procedure) => {
                edit(&mut procedure.name);
                edit(&mut procedure.description);
                procedure.steps.edit_texts(edit);
                procedure.triggers.edit_texts(edit);
            }
            Self::Pattern { pattern } => {
                edit(&mut pattern.description);
                let (name, code) = (&mut pattern.name, &mut pattern.code_snippet);
                let (language, framework) = (&mut pattern.language, &mut pattern.framework);
                let (when, when_not) = (&mut pattern.use_case, &mut pattern.avoid_when);
                for text in [name, code, language, framework, when, when_not] {
                    text.edit_texts(edit);
                }
            }
            Self::Blocker { blocker } => {
                blocker.owner.edit_texts(edit);
                blocker.until.edit_texts(edit);
            }
            Self::Profile { profile } => edit_fields(profile, edit),
        }
    }
}

fn edit_fields(fields: &mut serde_json::Map<String, serde_json::Value>, edit: &mut dyn FnMut(&mut String)) {
    for (key, value) in fields {
        if let serde_json::Value::String(value) = value {
            edit_named(key, value, edit);
        }
        value.edit_texts(edit);
    }
}

/// Edits a value together with its name, since for example `hunter2` is a secret only as the value of `db.password`.
fn edit_named(name: &str, value: &mut String, edit: &mut dyn FnMut(&mut String)) {
    let head = format!("{name}=\"");
    let mut pair = format!("{head}{value}\"");
    edit(&mut pair);
    if let Some(edited) = pair.strip_prefix(&head).and_then(|rest| rest.strip_suffix('"')) {
        edited.clone_into(value);
    } else {
        // The name itself was edited, so the pair cannot be divided, and no part of the value may be kept.
        *value = pair;
    }
}

impl Redact for serde_json::Value {
    fn edit_texts(&mut self, edit: &mut dyn FnMut(&mut String)) {
        match self {
            Self::String(text) => edit(text),
            Self::Array(values) => values.iter_mut().for_each(|value| value.edit_texts(edit)),
            Self::Object(fields) => edit_fields(fields, edit),
            Self::Null | Self::Bool(_) | Self::Number(_) => {}
        }
    }
}

impl Redact for ProjectSighting {
    fn edit_texts(&mut self, edit: &mut dyn FnMut(&mut String)) {
        for text in [&mut self.path, &mut self.root, &mut self.mark, &mut self.warning] {
            text.edit_texts(edit);
        }
        for identity in std::iter::once(&mut self.identity).chain(&mut self.text) {
            edit(&mut identity.key);
            edit(&mut identity.name);
        }
    }
}

impl Redact for Candidate {
    fn edit_texts(&mut self, edit: &mut dyn FnMut(&mut String)) {
        self.claim.edit_texts(edit);
        self.evidence.edit_texts(edit);
    }
}

impl Redact for Memory {
    fn edit_texts(&mut self, edit: &mut dyn FnMut(&mut String)) {
        self.claim.edit_texts(edit);
        edit(&mut self.source);
    }
}

// Files whose content must not be used. Any output of a tool that shows them is left out.

/// The marker that replaces the content of a denied file.
pub(crate) const DENIED_MARKER: &str = "[denied file]";

const MATCHING: MatchOptions =
    MatchOptions { case_sensitive: false, require_literal_separator: false, require_literal_leading_dot: false };

/// Spellings of a process's own environment variables in programs, which are not files.
const ENVIRONMENTS: &[&str] = &["process.env", "import.meta.env", "Deno.env", "Bun.env"];

/// The names of denied files.
#[derive(Debug, Clone)]
pub(super) struct Denied {
    patterns: Vec<Pattern>,
    /// Finds the longest literal part of each pattern, so that most texts need not be compared with the patterns.
    /// `None` if a pattern has no such part.
    parts: Option<AhoCorasick>,
}

/// The names of files that are denied by default. Guards are created often, so they share them.
static USUALLY_DENIED: LazyLock<Arc<Denied>> = LazyLock::new(|| Arc::new(Denied::of(DENIED_FILES)));

impl Denied {
    fn of(patterns: &[impl AsRef<str>]) -> Self {
        // A pattern that is not a valid glob is most likely a plain file name with brackets in it.
        let read = |text: &str| Pattern::new(text).or_else(|_| Pattern::new(&Pattern::escape(text))).ok();
        let patterns: Vec<Pattern> = patterns.iter().map(AsRef::as_ref).filter_map(read).collect();
        let literal = |pattern: &Pattern| {
            let parts = pattern.as_str().split(['*', '?', '[', ']']);
            parts.max_by_key(|part| part.len()).filter(|part| !part.is_empty()).map(str::to_owned)
        };
        let parts = patterns.iter().map(literal).collect::<Option<Vec<_>>>();
        let parts = parts.and_then(|parts| AhoCorasick::builder().ascii_case_insensitive(true).build(parts).ok());
        Self { patterns, parts }
    }

    /// Whether a call reads a denied file, as far as its text and its details show.
    fn is_read_by(&self, call: &Message) -> bool {
        let details = call.action.as_deref();
        let command = details.and_then(|action| action.command.as_deref());
        // A shell joins the parts of a word such as `'.e'nv`.
        let joined = command.map(|command| command.replace(['\'', '"', '\\'], ""));
        let expanded = joined.as_deref().map(without_braces);
        let paths = details.into_iter().flat_map(|action| action.files.iter().map(|file| file.path.as_str()));
        let texts = [Some(call.text.as_str()), command, joined.as_deref(), expanded.as_deref()].into_iter().flatten();
        let searched = call.searched.iter().map(String::as_str);
        texts.chain(paths).chain(searched).any(|text| self.is_named_in(text)) || command.is_some_and(reads_hidden_files)
    }

    /// Whether the output of a tool contains lines of a denied file, with its name, as searches and diffs print them.
    fn is_shown_in(&self, output: &str) -> bool {
        if self.parts.as_ref().is_some_and(|parts| !parts.is_match(output)) {
            return false;
        }
        let mut lines = output.lines().peekable();
        std::iter::from_fn(|| Some((lines.next()?, lines.peek().copied()))).any(|(line, next)| {
            let name = |path: &str| {
                let path = path.trim_matches(['"', '\'', ' ']);
                path.rsplit(['/', '\\']).next().is_some_and(|name| self.denies(name))
            };
            let heading = line.strip_prefix("+++ ").or_else(|| line.strip_prefix("--- "));
            let heading = heading.or_else(|| line.strip_prefix("==> ").and_then(|line| line.strip_suffix(" <==")));
            // `file:text`, `file:12:text` and `file-12-text`; or a line with the name, above lines with numbers.
            let is_numbered = |line: &str| {
                let rest = line.trim_start_matches(|c: char| c.is_ascii_digit());
                rest.len() < line.len() && rest.starts_with([':', '-'])
            };
            let match_of = |sign: char| {
                let (path, rest) = line.split_once(sign)?;
                (!path.contains(' ') && (sign == ':' || is_numbered(rest))).then_some(path)
            };
            heading.is_some_and(name)
                || [':', '-'].into_iter().filter_map(match_of).any(name)
                || next.is_some_and(is_numbered) && name(line)
        })
    }

    /// Whether `text` mentions a denied file.
    fn is_named_in(&self, text: &str) -> bool {
        let ends = |c: char| c.is_whitespace() || "\"'`=:,;|&()<>{}".contains(c);
        text.split(ends).any(|path| {
            let mut folder = "";
            path.split(['/', '\\']).any(|word| {
                let folder = std::mem::replace(&mut folder, word);
                self.may_be_expanded(folder, word) || word.split(['[', ']', '*']).any(|name| self.denies(name))
            })
        })
    }

    fn denies(&self, name: &str) -> bool {
        let is_denied = || self.patterns.iter().any(|pattern| pattern.matches_with(name, MATCHING));
        !name.is_empty() && !ENVIRONMENTS.contains(&name) && is_denied()
    }

    /// Whether a shell could expand a word such as `.e?v` or `id_*` to a denied file. A word with hardly a letter before
    /// its ending, such as `*.json`, represents ordinary files, except in folders that contain denied files. So does a
    /// word for a part of names, such as `*config*`.
    fn may_be_expanded(&self, folder: &str, word: &str) -> bool {
        const WILD: [char; 3] = ['?', '*', '['];
        if !word.contains(WILD) {
            return false;
        }
        let word = &word.replace("**", "*").replace("[^", "[!");
        let is_match =
            |word: &str, name: &str| Pattern::new(word).is_ok_and(|pattern| pattern.matches_with(name, MATCHING));
        let mut usual = USUAL_FOLDERS.iter().filter(|(usual, _)| *usual == folder).flat_map(|(_, names)| *names);
        let (stem, ending) = word.rsplit_once('.').unwrap_or((word, ""));
        let letters = |text: &str| text.chars().filter(|c| c.is_alphanumeric()).count();
        let is_part = word.starts_with('*') && word.ends_with('*');
        let is_specific = if word.starts_with('.') { letters(word) > 0 } else { letters(stem) > 1 && !is_part };
        let names_denied = |denied: &Pattern| match denied.as_str().strip_prefix("*.") {
            Some(denied) => ending.contains(WILD) && letters(ending) > 0 && is_match(ending, denied),
            None => is_specific && !denied.as_str().contains(WILD) && is_match(word, denied.as_str()),
        };
        usual.any(|name| self.denies(name) && is_match(word, name)) || self.patterns.iter().any(names_denied)
    }
}

/// Folders in which a pattern matches denied files, with the names of these files.
const USUAL_FOLDERS: &[(&str, &[&str])] =
    &[(".ssh", &["id_rsa", "id_dsa", "id_ecdsa", "id_ed25519"]), (".aws", &["credentials"]), ("etc", &["shadow"])];

/// Returns a command in which a pattern such as `{rsa,dsa}` is one for any text.
fn without_braces(command: &str) -> String {
    let mut parts = command.split('{');
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        match part.split_once('}').filter(|(inside, _)| !inside.contains(char::is_whitespace)) {
            Some((_, rest)) => plain.extend(["*", rest]),
            None => plain.extend(["{", part]),
        }
    }
    plain
}

/// Whether a command prints all files whose names begin with a dot.
fn reads_hidden_files(command: &str) -> bool {
    let mut words = command.split(|c: char| c.is_whitespace() || matches!(c, ';' | '|' | '&'));
    words.any(|word| matches!(word.rsplit('/').next(), Some(".*" | ".[!.]*" | ".[^.]*" | ".??*")))
}

/// Removes the content of denied files from a conversation, message by message.
///
/// A tool's answer is not linked to its call. If one of several calls made together mentions a denied file, all of
/// their answers are removed.
#[derive(Debug)]
pub(super) struct Reader<'d> {
    denied: &'d Denied,
    is_shown: bool,
    was_answer: bool,
}

impl<'d> Reader<'d> {
    pub(super) const fn new(denied: &'d Denied) -> Self {
        Self { denied, is_shown: false, was_answer: false }
    }

    /// Whether the next message of the conversation shows a denied file.
    pub(super) fn shows(&mut self, message: &Message) -> bool {
        let is_answer = message.kind == Kind::ToolResult;
        match message.kind {
            Kind::ToolCall => {
                // Parallel calls appear in sequence before their answers, so one denied file affects the whole
                // sequence.
                let together = !self.was_answer && self.is_shown;
                self.is_shown = together || self.denied.is_read_by(message);
            }
            // What the user replied through a tool is a part of the tool's result, so other calls may still be open.
            Kind::Prose if message.action.is_some() => return false,
            // This message is other prose, so all earlier calls have been answered.
            Kind::Prose => self.is_shown = false,
            _ => {}
        }
        self.was_answer = is_answer;
        let header = || message.text.lines().next().unwrap_or_default();
        is_answer && (self.is_shown || self.denied.is_shown_in(&message.text))
            || message.kind == Kind::Attachment && message.text.lines().count() > 1 && self.denied.is_named_in(header())
    }
}

#[cfg(test)]
mod texts_tests {
    use serde_json::json;

    use super::*;
    use crate::memory::MemoryType;

    #[test]
    fn a_claim_is_judged_by_its_key_and_value_together() {
        let claim = Claim {
            key: Some("db.password".into()),
            value: Some("hunter2".into()),
            tags: vec!["db".into()],
            ..Claim::new(MemoryType::Semantic, "fact", "Database", "The password for the database is hunter2.")
        };
        let (clean, findings) = Guard::default().redact(claim.clone());
        let expected = Claim {
            value: Some("[redacted:password]".into()),
            content: "The password for the database is [redacted:spoken-password].".into(),
            ..claim
        };
        assert_eq!(*clean, expected);
        assert_eq!(findings, Findings::from([("password", 1), ("spoken-password", 1)]));
        let (again, findings) = Guard::default().redact(clean.clone().into_inner());
        assert_eq!((again, findings), (clean, Findings::new()));
    }

    #[test]
    fn ordinary_keys_leave_their_values() {
        let claim = Claim {
            key: Some("user.residence".into()),
            value: Some("Berlin \"Mitte\" 10115".into()),
            ..Claim::new(MemoryType::Semantic, "fact", "Residence", "The user lives in Berlin.")
        };
        assert_eq!(*Guard::default().redact(claim.clone()).0, claim);
    }

    #[test]
    fn fields_of_json_are_judged_by_their_names() {
        let value = json!({"name": "Ana", "login": {"password": "correct horse 7", "attempts": 3}, "list": ["token: a1b2c3d4e5f6"]});
        let expected = json!({"name": "Ana", "login": {"password": "[redacted:password]", "attempts": 3}, "list": ["token: [redacted:secret]"]});
        assert_eq!(*Guard::default().redact(value).0, expected);
    }
}

#[cfg(test)]
mod denied_tests {
    use super::*;
    use crate::guard::Guard;
    use transcripts::{Action, Role, Transcript};

    fn call(text: &str) -> Message {
        Message { kind: Kind::ToolCall, ..Message::assistant(text) }
    }

    fn answer(text: &str) -> Message {
        Message { kind: Kind::ToolResult, ..Message::prose(Role::Tool, text) }
    }

    fn cleaned(guard: &Guard, messages: Vec<Message>) -> Vec<String> {
        let (clean, _) = guard.clean_transcript(Transcript { messages, ..Transcript::default() });
        clean.messages.iter().map(|message| message.text.clone()).collect()
    }

    #[test]
    fn files_are_told_by_their_names_wherever_they_stand() {
        let denied = &*USUALLY_DENIED;
        for text in [
            "Read /home/ana/shop/.env",
            "Bash cat ~/.ssh/id_rsa",
            "Bash cat <.env.production",
            "Read C:\\certs\\server.PEM",
            "Read ~/.aws/credentials",
            "Bash diff a.pem b.txt",
            "Bash cat .env|head",
            "Bash git show HEAD:.env",
            "Bash cat prod.env",
            "Bash cat .e?v",
            "Bash cat config/.en[uv]",
            "Bash head .env*",
            "Bash cat *.pem",
            "Bash cat ~/.ssh/*",
            "Bash cat .ssh/id*",
            "Bash head id_[re]*",
            "Bash cat ~/.aws/**",
            "Bash cat C:\\keys\\server.p?m",
            "Bash cat config/cred* keys/*_rsa",
        ] {
            assert!(denied.is_named_in(text), "{text}");
        }
        for text in [
            "Read src/env.rs",
            "Read .env.example",
            "Read src/credentials.rs",
            "Read ~/.ssh/id_rsa.pub",
            "Read docs/environment.md",
            "Bash cargo run --key x",
            "Read .envy",
            "Bash node -e console.log(process.env)",
            "Bash ls *.json .github/*",
            "Bash cat x?y .e",
            "Bash cat ~/.ssh/*.pub src/* *.[ch]",
            "Bash find . -name *config*",
            "Bash cat /etc/*-release",
        ] {
            assert!(!denied.is_named_in(text), "{text}");
        }
    }

    #[test]
    fn what_a_tool_shows_of_them_goes_and_the_rest_stays() {
        let talk = vec![
            call("Read .env"),
            call("Read a.rs"),
            answer("COLOR=blue"),
            answer("fn main() {}"),
            call("Read b.rs"),
            answer("fn b() {}"),
            Message { kind: Kind::Attachment, ..Message::user("[file: server.pem]\nabc") },
            Message { kind: Kind::Attachment, ..Message::user("[file: plan.md]\nabc") },
        ];
        let expected = [
            "Read .env",
            "Read a.rs",
            DENIED_MARKER,
            DENIED_MARKER,
            "Read b.rs",
            "fn b() {}",
            DENIED_MARKER,
            "[file: plan.md]\nabc",
        ];
        assert_eq!(cleaned(&Guard::default(), talk), expected);
    }

    #[test]
    fn what_searches_and_diffs_show_of_them_goes_too() {
        let shown = [
            "src/a.rs:3:KEY\n./.env:KEY=blue\n",
            "shop/.env-4-KEY=blue",
            "diff --git a/.env b/.env\n--- a/.env\n+++ b/.env\n@@ -1 +1 @@\n-KEY=red\n+KEY=blue",
            "==> .env <==\nKEY=blue",
            ".env\n1:KEY=blue\n",
        ];
        let plain =
            ["README.md\n.env\n.gitignore\n", "src/env.rs:3:load(\".env\")", "+++ b/.env.example\n+KEY=", "a - .env"];
        for (output, is_hidden) in shown.iter().map(|one| (one, true)).chain(plain.iter().map(|one| (one, false))) {
            let talk = vec![call("Bash rg KEY"), answer(output)];
            assert_eq!(cleaned(&Guard::default(), talk)[1] == DENIED_MARKER, is_hidden, "{output}");
        }
        for command in [
            "cat '.e'nv",
            "cat .en\\v",
            "cat .*",
            "head -n 3 ./.* | less",
            "cat ~/.*",
            "cat id_{rsa,dsa}",
            "cat {'.e'nv,README}",
        ] {
            let action = Action { command: Some(command.to_owned()), ..Action::default() };
            let talk = vec![Message { action: Some(Box::new(action)), ..call("Bash") }, answer("KEY=blue")];
            assert_eq!(cleaned(&Guard::default(), talk)[1], DENIED_MARKER, "{command}");
        }
    }

    #[test]
    fn a_search_in_a_denied_file_shows_it() {
        for (path, is_hidden) in [("/h/x/.env", true), (".en*", true), ("*.pem", true), ("src", false), ("*.rs", false)]
        {
            let search = Message { searched: vec![path.to_owned()], ..call("Grep KEY") };
            let found = cleaned(&Guard::default(), vec![search, answer("3:KEY=blue")]);
            assert_eq!(found[1] == DENIED_MARKER, is_hidden, "{path}");
        }
    }

    #[test]
    fn a_reply_through_a_tool_does_not_end_the_calls_made_together() {
        let reply = Message { action: Some(Box::default()), ..Message::user("SQLite") };
        let talk = vec![call("AskUserQuestion"), call("Bash cat .env"), answer("asked"), reply, answer("KEY=blue")];
        assert_eq!(cleaned(&Guard::default(), talk)[4], DENIED_MARKER);
        let other = vec![call("Bash cat .env"), answer("KEY=blue"), Message::user("ok"), answer("b")];
        assert_eq!(cleaned(&Guard::default(), other)[3], "b");
    }

    #[test]
    fn the_names_are_a_persons_to_set() {
        let guard = Guard::default().denying(&["*.sql".to_owned()]);
        let talk = || vec![call("Read dump.sql"), answer("a"), call("Read .env"), answer("b")];
        assert_eq!(cleaned(&guard, talk()), ["Read dump.sql", DENIED_MARKER, "Read .env", "b"]);
    }
}
