//! The user's prompt templates, which a rollout contains expanded in place of the command that the user typed.
//!
//! Codex reads `prompts/*.md` in its home and replaces the placeholders `$1` to `$9`, `$ARGUMENTS` and `$NAME`. Neither
//! the rollout nor the history contains the command itself, so the templates are needed to find the typed arguments.

use std::collections::HashSet;
use std::path::Path;

use crate::message::program::without_front_matter;
use crate::{Folder, Input, Message};

/// Number of letters outside of placeholders below which a template could equally well have been typed.
const FEWEST_LETTERS: usize = 60;
/// Maximum size of a template, in bytes.
const MAX_TEMPLATE_BYTES: usize = 1 << 20;

/// The templates in the home of Codex.
#[derive(Default)]
pub(super) struct Templates(Vec<Template>);

/// The text before, between and after the placeholders of a template.
struct Template(Vec<String>);

impl Templates {
    /// Reads the templates of the home that contains `input`, which is a rollout in the folder of sessions, or a file
    /// in the home itself.
    pub(super) fn beside(input: &Input) -> Self {
        let Some((folder, name)) = prompts_folder(input) else { return Self::default() };
        let files = folder.files(&name).into_iter().filter(|file| Path::new(file).extension() == Some("md".as_ref()));
        let texts = files.filter_map(|file| folder.open(&file).ok()?.into_text(MAX_TEMPLATE_BYTES).ok()?);
        Self(texts.filter_map(|text| Template::new(&text)).collect())
    }

    /// Separates the typed arguments from the template around them. Any other message is returned unchanged.
    pub(super) fn split(&self, message: Message) -> Vec<Message> {
        let text = message.text.trim();
        let found = self.0.iter().filter(|_| message.is_human()).find_map(|template| template.pieces(text));
        found.unwrap_or_else(|| vec![message])
    }
}

impl Template {
    fn new(text: &str) -> Option<Self> {
        patterns! {
            PLACEHOLDER = r"\$(?:[1-9]|[A-Z][A-Z0-9_]*)";
        }
        let pieces: Vec<String> = PLACEHOLDER.split(without_front_matter(text).trim()).map(str::to_owned).collect();
        let letters = pieces.iter().flat_map(|piece| piece.chars()).filter(|c| c.is_alphabetic()).count();
        (letters >= FEWEST_LETTERS).then_some(Self(pieces))
    }

    /// Returns the pieces of `text` if it is an expansion of this template: those of the template as context, and each
    /// argument once, as the user's words.
    fn pieces(&self, text: &str) -> Option<Vec<Message>> {
        let (last, others) = self.0.split_last()?;
        let mut rest = text;
        let mut messages = Vec::new();
        let mut seen = HashSet::new();
        for (place, piece) in others.iter().enumerate() {
            let start =
                if place == 0 { rest.starts_with(piece.as_str()).then_some(0) } else { rest.find(piece.as_str()) }?;
            messages.extend(argument(&rest[..start], &mut seen));
            messages.push(Message::context(piece.trim()));
            rest = &rest[start + piece.len()..];
        }
        // Without placeholders, the typed text follows the template.
        if others.is_empty() {
            messages.extend([Message::context(last.as_str()), Message::user(rest.strip_prefix(last.as_str())?.trim())]);
        } else {
            messages.extend(argument(rest.strip_suffix(last.as_str())?, &mut seen));
            messages.push(Message::context(last.trim()));
        }
        messages.retain(|message| !message.text.is_empty());
        Some(messages)
    }
}

/// Returns the user's words in place of a placeholder, unless an earlier placeholder contained them or none were given.
fn argument<'a>(text: &'a str, seen: &mut HashSet<&'a str>) -> Option<Message> {
    let text = text.trim();
    (!text.is_empty() && !is_placeholder(text) && seen.insert(text)).then(|| Message::user(text))
}

/// Whether a text is a placeholder that was not replaced, such as `$1` or `$ARGUMENTS`.
fn is_placeholder(text: &str) -> bool {
    let name = text.strip_prefix('$').unwrap_or_default();
    !name.is_empty() && name.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_')
}

/// Returns the directory or archive that contains the templates, and the name of their folder there.
fn prompts_folder(input: &Input) -> Option<(Folder, String)> {
    const SESSIONS: [&str; 2] = ["archived_sessions", "sessions"];
    let (folder, parent) = input.place()?;
    if input.is_in_archive() {
        let home =
            SESSIONS.iter().find_map(|name| parent.split_once(&format!("{name}/"))).map_or(&*parent, |(home, _)| home);
        return Some((folder, format!("{home}prompts")));
    }
    let below = folder.path().ancestors().find(|path| SESSIONS.iter().any(|name| path.ends_with(name)));
    let home = below.map_or(Some(folder.path()), |path| path.parent())?;
    Some((Folder::directory(home), "prompts".to_owned()))
}
