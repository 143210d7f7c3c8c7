//! Recognises speakers by the prefixes of lines.

use std::collections::HashMap;
use std::sync::LazyLock;
use std::time::Duration;

use crate::message::dates::clock;
use crate::message::words::{self, list};
use crate::message::{identity, program};
use crate::{MessageTime, Role, TimeSource};

/// The side of a conversation with an assistant that each label denotes.
static SIDES: LazyLock<HashMap<&str, Role>> = LazyLock::new(|| {
    let (user, assistant) = (("user", Role::User), ("assistant", Role::Assistant));
    words::values(&[user, assistant, ("system", Role::System), ("tool", Role::Tool)])
});

/// Returns the side that `label` denotes, if it is not a person's name.
pub(crate) fn side(label: &str) -> Option<Role> {
    SIDES.get(label.trim().to_lowercase().as_str()).copied()
}

/// Returns whether `label` could be a person's name: up to five words, each capitalised, and not the beginning of a
/// note. Emoji and pronouns in brackets may be among the words.
pub(crate) fn looks_like_name(label: &str) -> bool {
    const PARTICLES: &[&str] = &["da", "de", "del", "der", "di", "dos", "el", "la", "of", "van", "von", "y"];
    let words: Vec<&str> = label.split_whitespace().collect();
    let is_word = |word: &str| {
        let starts =
            word.trim_start_matches(is_mark).starts_with(|c: char| c.is_alphabetic() && !c.is_lowercase() || c == '(');
        let numbered = words.len() > 1 && word.chars().all(|c| c.is_ascii_digit());
        let is_drawn = word.chars().all(is_picture);
        let is_pronouns = word.starts_with('(') && word.ends_with(')');
        let may_hold = |c: char| {
            c.is_alphanumeric() || is_mark(c) || is_picture(c) || "'’.-(),&・·".contains(c) || c == '/' && is_pronouns
        };
        (starts || numbered || is_drawn || PARTICLES.contains(&word)) && word.chars().all(may_hold)
    };
    let first = label.chars().find(|c| !is_mark(*c) && !is_picture(*c) && !c.is_whitespace());
    let first_is_letter = first.is_some_and(char::is_alphabetic);
    (1..=5).contains(&words.len()) && first_is_letter && !heads_a_note(label) && words.iter().copied().all(is_word)
}

fn heads_a_note(label: &str) -> bool {
    list("no names").contains(&label.to_lowercase().as_str())
}

/// Returns whether `label` could be an account name in lower case: `luis`, `ana.silva`, `rui paz`.
///
/// The first words of a sentence look the same, so the label must occur several times.
pub(crate) fn looks_like_account(label: &str) -> bool {
    let is_word = |word: &str| {
        word.starts_with(char::is_alphabetic)
            && word.chars().all(|c| c.is_alphanumeric() || is_mark(c) || "._-@'’".contains(c))
    };
    let words: Vec<&str> = label.split_whitespace().collect();
    (1..=2).contains(&words.len()) && !heads_a_note(label) && words.into_iter().all(is_word)
}

/// Returns whether `name` is a label that a program writes before the text of a log line: `INFO`, `app.ERROR`, or the
/// name of a component.
pub(crate) fn is_of_a_log(name: &str) -> bool {
    let name = name.to_lowercase();
    let mut words = name.split(['.', ' ', '[', ']', '-', '_', '/']).filter(|word| !word.is_empty());
    words.clone().next_back().is_some_and(|last| list("levels").contains(&last))
        || words.any(|word| list("programs").contains(&word))
}

/// Returns whether `c` combines with the preceding letter, joins or separates letters, or controls the text direction.
pub(crate) fn is_mark(c: char) -> bool {
    unicode_normalization::char::is_combining_mark(c) || matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}')
}

/// Returns whether `c` belongs to an emoji, such as a flower, which people put after their names.
pub(crate) fn is_picture(c: char) -> bool {
    matches!(c, '\u{2600}'..='\u{27bf}' | '\u{2b00}'..='\u{2bff}' | '\u{1f000}'..='\u{1faff}' | '\u{fe0f}' | '\u{200d}')
}

// Lines that introduce a speaker, in each of the forms that people and tools use.

/// Maximum length, in bytes, of the text in brackets after a name that is searched for a time.
const LONGEST_NOTE: usize = 120;

/// The form in which a file marks its speakers. A file uses a single form, so lines in other forms are ordinary text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// `_**User (2026-01-02 03:04Z)**_`
    Stamped,
    /// `**User:** hello`
    Bold,
    /// `## User`
    Heading,
    /// `You said:`
    Said,
    /// `<|im_start|>user`
    Tagged,
    /// `[Ana Silva] [00:12] hello`, `[00:12] Ana Silva: hello`, `[00:12] **Ana Silva**: hello`, or `Ana Silva (00:12)`
    Timed,
    /// `User: hello`
    Prefix,
}

impl Form {
    /// Every form, most specific first.
    pub(crate) const ALL: &[Self] =
        &[Self::Stamped, Self::Tagged, Self::Timed, Self::Said, Self::Bold, Self::Heading, Self::Prefix];
}

/// A line that introduces a speaker.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Label {
    /// 0-based line.
    pub(crate) line: usize,
    /// The form of the line.
    pub(crate) form: Form,
    /// The name as written.
    pub(crate) name: String,
    /// The side of the conversation that the name denotes; `None` for a person's name.
    pub(crate) role: Option<Role>,
    /// The time next to the name.
    pub(crate) time: Option<MessageTime>,
    /// The time of day, or the time since the start, next to the name without a date.
    pub(crate) clock: Option<Duration>,
    /// The text after the name on the same line.
    pub(crate) rest: String,
}

/// Returns every line in `lines` that could introduce a speaker, except in code blocks and indented lines.
///
/// If a program wrote the whole text in one form, a speaker in that form ends an unclosed code block.
pub(crate) fn labels(lines: &[&str]) -> Vec<Label> {
    let first = lines.iter().find(|line| !line.trim().is_empty()).copied().unwrap_or_default();
    let sure = match first {
        first if first.starts_with("<!-- Generated by SpecStory") => Some(Form::Stamped),
        first if first.starts_with("<|im_start|>") => Some(Form::Tagged),
        _ => None,
    };
    let mut fence: Option<char> = None;
    let mut found = Vec::new();
    for (number, line) in lines.iter().enumerate() {
        let trimmed = line.trim_start();
        let mark = ['`', '~'].into_iter().find(|mark| trimmed.starts_with(&mark.to_string().repeat(3)));
        match (fence, mark) {
            (None, Some(mark)) => fence = Some(mark),
            (Some(open), Some(mark)) if open == mark => fence = None,
            (Some(_), _) => {
                if let Some(label) = label(number, line).filter(|label| Some(label.form) == sure) {
                    fence = None;
                    found.push(label);
                }
            }
            (None, None) => found.extend(label(number, line)),
        }
    }
    if let Some(name) = first.split_once(": ").map(|(name, _)| name).filter(|name| is_asked_by(name, &found)) {
        let rest = |line: &str| line.strip_prefix(name).and_then(|rest| rest.strip_prefix(": ")).map(str::to_owned);
        let asked = lines.iter().enumerate().filter_map(|(line, text)| {
            let (form, role, name) = (Form::Prefix, Some(Role::User), name.to_owned());
            Some(Label { line, form, name, role, time: None, clock: None, rest: rest(text)? })
        });
        let asked: Vec<Label> = asked.collect();
        found.retain(|label| asked.iter().all(|own| own.line != label.line));
        found.extend(asked);
        found.sort_by_key(|label| label.line);
    }
    found
}

/// Returns every line in `lines` that begins with a name or an account and a colon, for texts that are known to be
/// conversations.
pub(crate) fn named(lines: &[&str]) -> Vec<Label> {
    let named = lines.iter().enumerate().filter(|(_, text)| !text.starts_with([' ', '\t', '|', '>'])).filter_map(
        |(line, text)| {
            let (form, name, rest) = prefix(text)?;
            let name = name.trim();
            let is_name = looks_like_name(name) || looks_like_account(name);
            let (name, role, rest) = (name.to_owned(), side(name), rest.trim().to_owned());
            (is_name || role.is_some()).then_some(Label { line, form, name, role, time: None, clock: None, rest })
        },
    );
    named.collect()
}

/// Returns whether `name`, an account in lower case, belongs to a user of GitHub Copilot: in a chat copied from VS
/// Code, the account's name precedes each question.
fn is_asked_by(name: &str, found: &[Label]) -> bool {
    let is_copilot = |label: &Label| label.form == Form::Prefix && label.name == "GitHub Copilot";
    found.iter().any(is_copilot) && side(name).is_none() && name.len() <= 40 && looks_like_account(name)
}

fn label(line: usize, text: &str) -> Option<Label> {
    // Indented lines, table rows and quotations are part of a message.
    if text.starts_with([' ', '\t', '|', '>']) {
        return None;
    }
    if let Some(label) = timed(line, text) {
        return Some(label);
    }
    let (form, head, rest) = stamped(text)
        .or_else(|| tagged(text))
        .or_else(|| said(text))
        .or_else(|| bold(text))
        .or_else(|| heading(text))
        .or_else(|| prefix(text))?;
    let (name, note) = split_note(head);
    // SpecStory marks the prompts and answers of sub-agents.
    let is_aside = form == Form::Stamped && head.contains("sidechain");
    let role = if is_aside { Some(Role::Other) } else { side(name) };
    let known_only = matches!(form, Form::Heading | Form::Tagged | Form::Stamped);
    if role.is_none() && (known_only || !looks_like_name(name)) {
        return None;
    }
    let (time, clock) = (note.and_then(stamp), note.and_then(clock));
    Some(Label { line, form, name: name.to_owned(), role, time, clock, rest: rest.trim().to_owned() })
}

/// Splits `User (2026-01-02)` or `User [17:49:08]` into the name and the text in brackets.
fn split_note(head: &str) -> (&str, Option<&str>) {
    let head = head.trim();
    let round = head.strip_suffix(')').and_then(|head| head.split_once('('));
    match round.or_else(|| head.strip_suffix(']').and_then(|head| head.split_once('['))) {
        Some((name, note)) if stamp(note).is_some() || clock(note).is_some() || side(name).is_some() => {
            (name.trim(), Some(note))
        }
        // Other text in brackets, such as pronouns, is part of the name.
        Some(_) | None => (head, None),
    }
}

/// Reads a line with a name and a time in brackets, in the order used by transcription programs.
pub(crate) fn timed(line: usize, text: &str) -> Option<Label> {
    patterns! {
        NAME_FIRST = r"^\[(?P<name>[^\[\]]{1,60})\] ?[\[(](?P<clock>[0-9:.]{4,12})[\])]:? *(?P<rest>.*)$";
        BARE_FIRST = r"^(?:\*\*(?P<bold>[^*\[\]]{1,60})\*\*|(?P<bare>[^*:\[\]()]{1,60})) [\[(](?P<clock>[0-9]{1,2}(?::[0-9]{2}){1,2})[\])](?::\s+(?P<rest>\S.*)|:?)$";
        TIME_FIRST = r"^[\[(](?P<clock>[0-9:.]{4,12})(?: ?(?:-|–|-->) ?[0-9:.]{4,12})?[\])] *(?:\[(?P<name>[^\[\]]{1,60})\]:?|\*\*(?P<bold>[^:*\[\]]{1,60})(?::\*\*|\*\*:)|(?P<bare>[^:\[\]]{1,60}):) *(?P<rest>.*)$";
    }
    let text = text.trim_end();
    let found = if text.starts_with(['[', '(']) {
        NAME_FIRST.captures(text).or_else(|| TIME_FIRST.captures(text))
    } else if text.contains(['[', '(']) {
        BARE_FIRST.captures(text)
    } else {
        None
    };
    let found = found?;
    let name = found.name("name").or_else(|| found.name("bold")).or_else(|| found.name("bare"))?.as_str().trim();
    let clock = clock(found.name("clock")?.as_str())?;
    // Transcription programs number the voices that they distinguish.
    let is_numbered =
        name.strip_prefix("SPEAKER_").is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit()));
    let role = side(name);
    if role.is_none() && !is_numbered && !looks_like_name(name) {
        return None;
    }
    let rest = found.name("rest").map_or("", |rest| rest.as_str()).to_owned();
    Some(Label { line, form: Form::Timed, name: name.to_owned(), role, time: None, clock: Some(clock), rest })
}

/// Reads the time at the end of a note such as `claude-x 2026-01-02 03:04Z`.
fn stamp(note: &str) -> Option<MessageTime> {
    if note.len() > LONGEST_NOTE {
        return None;
    }
    let start =
        note.find(|c: char| c.is_ascii_digit()).into_iter().chain(note.match_indices(' ').map(|(place, _)| place + 1));
    let texts: Vec<&str> = start.filter_map(|place| note.get(place..)).collect();
    texts.into_iter().find_map(|text| identity::written_time(text, TimeSource::Log))
}

type Split<'a> = (Form, &'a str, &'a str);

fn stamped(text: &str) -> Option<Split<'_>> {
    let head = text.trim_end().strip_prefix("_**")?.strip_suffix("**_")?;
    Some((Form::Stamped, head, ""))
}

fn tagged(text: &str) -> Option<Split<'_>> {
    let rest = text.strip_prefix("<|im_start|>")?;
    let end = rest.find(|c: char| c.is_whitespace()).unwrap_or(rest.len());
    Some((Form::Tagged, &rest[..end], &rest[end..]))
}

fn said(text: &str) -> Option<Split<'_>> {
    let text = text.trim().trim_start_matches('#').trim();
    let head = text.strip_suffix([':', '：'])?.trim_end();
    // In these languages, ChatGPT's page shows a complete sentence above each message of the user.
    if list("you said").contains(&head) {
        return Some((Form::Said, "You", ""));
    }
    let name = list("said").iter().find_map(|said| head.strip_suffix(said))?.trim_start_matches("O ");
    Some((Form::Said, name, ""))
}

fn bold(text: &str) -> Option<Split<'_>> {
    let (head, rest) = text.strip_prefix("**")?.split_once("**")?;
    if let Some(name) = head.trim().strip_suffix([':', '：']) {
        return Some((Form::Bold, name, rest));
    }
    if let Some(rest) = rest.strip_prefix([':', '：']) {
        return Some((Form::Bold, head, rest));
    }
    // A line that is entirely bold is a heading, unless it is the name of a speaker.
    (rest.trim().is_empty() && side(split_note(head).0).is_some()).then_some((Form::Bold, head, ""))
}

fn heading(text: &str) -> Option<Split<'_>> {
    let rest = text.strip_prefix('#')?.trim_start_matches('#').strip_prefix(' ')?;
    Some((Form::Heading, rest.trim().trim_matches(['*', ':', '：', ' ']), ""))
}

fn prefix(text: &str) -> Option<Split<'_>> {
    // Names are short; a colon further to the right belongs to a sentence.
    let place = text.char_indices().take(60).find(|(_, c)| matches!(c, ':' | '：'))?.0;
    let (name, rest) = (&text[..place], &text[place..]);
    let (is_wide, rest) = (rest.starts_with('：'), rest.trim_start_matches([':', '：']));
    // In Chinese, no space follows the full-width colon.
    let spaced = is_wide || rest.is_empty() || rest.starts_with(char::is_whitespace);
    // Without a space after the colon, only a known side counts as a speaker.
    let known = side(name).is_some() && !rest.starts_with(['/', ':']);
    (spaced || known).then_some((Form::Prefix, name, rest))
}

// Distinguishes text that a program wrote in the user's turn from text that the user typed.

/// Returns whether `text` contains only injected blocks, or was written entirely by a program. An unclosed block
/// extends to the end.
pub(crate) fn is_only_injected(text: &str) -> bool {
    if program::is_written(text) {
        return true;
    }
    let mut rest = text.trim();
    let mut found = false;
    while let Some(after) = without_leading_block(rest) {
        rest = after.trim_start();
        found = true;
    }
    found && rest.is_empty()
}

/// Returns the text after the injected block at the beginning of `text`; `None` if there is no such block.
pub(crate) fn without_leading_block(text: &str) -> Option<&str> {
    let inner = text.strip_prefix('<')?;
    let tag = list("injected tags").iter().find(|tag| {
        inner.strip_prefix(**tag).is_some_and(|after| after.starts_with(|c: char| c == '>' || c.is_whitespace()))
    })?;
    let close = format!("</{tag}>");
    Some(text.find(&close).map_or("", |place| &text[place + close.len()..]))
}

/// Returns the text between `<tag>` and `</tag>`, trimmed.
pub(crate) fn between<'a>(text: &'a str, tag: &str) -> Option<&'a str> {
    let (_, after) = text.split_once(&format!("<{tag}>"))?;
    let inner = after.split_once(&format!("</{tag}>")).map_or(after, |(inner, _)| inner);
    Some(inner.trim())
}

/// Splits `/name argument`, a command to the program, into the name without the slash and the argument.
pub(crate) fn slash_command(text: &str) -> Option<(&str, &str)> {
    let text = text.trim();
    let (name, argument) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    let name = name.strip_prefix('/')?;
    let is_name =
        !name.is_empty() && name.bytes().all(|c| c.is_ascii_alphanumeric() || matches!(c, b'-' | b'_' | b':'));
    is_name.then(|| (name, argument.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_distinguished_from_the_heads_of_notes() {
        for name in [
            "Ana", "Luís", "Ana de la Cruz", "李雷", "Speaker 2", "Silva, Luís (Ext)", "O'Neil", "Jose\u{301}",
            "Mia 🌸", "🌟 Mia", "Mia❤\u{fe0f}", "Sol (she/her)", "علی\u{200c}رضا", "\u{200f}דנה לוי",
        ] {
            assert!(looks_like_name(name), "{name}");
        }
        for other in [
            "Note",
            "note",
            "https",
            concat!("TO", "DO"),
            "we should",
            "A very long label of many Words",
            "10",
            "注意",
            "key_name",
            "✅ 10",
            "🌸",
            "and/or",
            "",
        ] {
            assert!(!looks_like_name(other), "{other}");
        }
    }

    #[test]
    fn sides_are_known_in_any_case_and_many_languages() {
        let rows =
            [("USER", Some(Role::User)), ("用户", Some(Role::User)), ("助手", Some(Role::Assistant)), ("Ana", None)];
        for (label, expected) in rows {
            assert_eq!(side(label), expected, "{label}");
        }
    }

    #[test]
    fn accounts_have_small_letters_and_logs_have_levels_and_parts() {
        for name in ["luis", "ana.silva", "rui paz", "li_lei"] {
            assert!(looks_like_account(name) && !looks_like_name(name), "{name}");
        }
        for other in ["note", "and so we", "10", "see http://x", ""] {
            assert!(!looks_like_account(other), "{other}");
        }
        for part in ["INFO", "local.ERROR", "main [warn]", "Server", "Worker 1", "http-server", "Morning"] {
            assert!(is_of_a_log(part), "{part}");
        }
        for name in ["Ana Silva", "Dawn", "+351 912 345 678", "Info Desk Ana"] {
            assert!(!is_of_a_log(name), "{name}");
        }
    }
}

#[cfg(test)]
mod label_tests {
    use super::*;

    fn pieces(text: &str) -> Option<(Form, String, Option<Role>, String)> {
        label(0, text).map(|label| (label.form, label.name, label.role, label.rest))
    }

    #[test]
    fn each_form_names_its_speaker() {
        let rows = [
            ("_**User (2026-01-02 03:04Z)**_", Form::Stamped, "User", Some(Role::User), ""),
            ("_**Agent (claude-x 2026-01-02 03:04Z)**_", Form::Stamped, "Agent", Some(Role::Assistant), ""),
            ("**User:** hi", Form::Bold, "User", Some(Role::User), "hi"),
            ("**Assistant**: hi", Form::Bold, "Assistant", Some(Role::Assistant), "hi"),
            ("## User", Form::Heading, "User", Some(Role::User), ""),
            ("### **Human:**", Form::Heading, "Human", Some(Role::User), ""),
            ("You said:", Form::Said, "You", Some(Role::User), ""),
            ("ChatGPT 说：", Form::Said, "ChatGPT", Some(Role::Assistant), ""),
            ("<|im_start|>system", Form::Tagged, "system", Some(Role::System), ""),
            ("User:hi", Form::Prefix, "User", Some(Role::User), "hi"),
            ("用户：你好", Form::Prefix, "用户", Some(Role::User), "你好"),
            ("Luís: é: sim", Form::Prefix, "Luís", None, "é: sim"),
            ("### Пользователь [17:49:08]", Form::Heading, "Пользователь", Some(Role::User), ""),
            ("**Usuario:** hola", Form::Bold, "Usuario", Some(Role::User), "hola"),
            ("Assistent: ja", Form::Prefix, "Assistent", Some(Role::Assistant), "ja"),
            ("Vous avez dit :", Form::Said, "You", Some(Role::User), ""),
            ("O ChatGPT disse:", Form::Said, "ChatGPT", Some(Role::Assistant), ""),
            ("[Ana Silva] [00:12] hi", Form::Timed, "Ana Silva", None, "hi"),
            ("[00:00:12] Ana Silva: hi", Form::Timed, "Ana Silva", None, "hi"),
            ("[00:12] **Ana Silva**: hi", Form::Timed, "Ana Silva", None, "hi"),
            ("[00:12] **Ana Silva:** hi", Form::Timed, "Ana Silva", None, "hi"),
            ("(0:12 - 0:15) [SPEAKER_01]: hi", Form::Timed, "SPEAKER_01", None, "hi"),
        ];
        for (text, form, name, role, rest) in rows {
            assert_eq!(pieces(text), Some((form, name.to_owned(), role, rest.to_owned())), "{text}");
        }
    }

    #[test]
    fn other_lines_name_nobody() {
        for text in [
            "Note: x", "  User: x", "| User: | x |", "> User: x", "https://e.org", "## Usage", "Ana:x", "key: value",
            "10:30 x", "**bold** text", "[ ] [10:30] x", "[a link] (10:30)", "[10:30] started: x", "[v1.2] [x] y",
        ] {
            assert_eq!(pieces(text), None, "{text}");
        }
    }

    #[test]
    fn stamps_are_times_with_their_offset() {
        let time = label(0, "_**Agent (claude-x 2026-01-02 03:04Z)**_").and_then(|label| label.time).unwrap();
        assert_eq!((time.at.to_string().as_str(), time.offset_seconds), ("2026-01-02T03:04:00Z", Some(0)));
    }

    #[test]
    fn code_blocks_hold_no_speakers() {
        let lines = ["User: a", "```", "User: b", "~~~", "```", "User: c"];
        let found: Vec<_> = labels(&lines).into_iter().map(|label| label.line).collect();
        assert_eq!(found, [0, 5]);
    }

    #[test]
    fn a_programs_own_speaker_lines_end_a_code_block_left_open() {
        let lines = ["<|im_start|>user", "```", "<|im_start|>assistant", "ok"];
        assert_eq!(labels(&lines).len(), 2);
        let quoted = ["# Templates", "```", "<|im_start|>user", "```"];
        assert_eq!(labels(&quoted).len(), 0);
    }
}

#[cfg(test)]
mod injected_tests {
    use super::*;

    #[test]
    fn only_whole_injected_texts_are_distinguished() {
        assert!(is_only_injected("<system-reminder>a</system-reminder>\n<ide_selection x=\"1\">b</ide_selection>"));
        assert!(is_only_injected("<permissions instructions>never closed"));
        assert!(!is_only_injected("<system-reminder>a</system-reminder> use tabs"));
        assert!(!is_only_injected("<skillful>a</skillful>"));
        assert!(!is_only_injected(""));
    }

    #[test]
    fn commands_are_distinguished_from_paths_and_words() {
        assert_eq!(slash_command("/ask why  not?"), Some(("ask", "why  not?")));
        assert_eq!(slash_command(" /mcp:list "), Some(("mcp:list", "")));
        for other in ["/usr/lib is full", "/", "/ x", "把 x", "ask", ""] {
            assert_eq!(slash_command(other), None, "{other}");
        }
    }
}
