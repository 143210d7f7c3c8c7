//! Entries of an activity, and the conversations that they are put together to.

use jiff::{SignedDuration, Timestamp};

use crate::parts::file_label;
use crate::{Assembler, Sink, identity};
use crate::{Kind, Message, MessageTime, Role};

/// Pause after which a new conversation begins.
const PAUSE: SignedDuration = SignedDuration::from_mins(30);
/// Most entries of one conversation, so that what is held stays small whatever the times are.
const MOST_ENTRIES: usize = 2_000;
/// Verbs before a prompt that are known.
const KNOWN_VERBS: &[&str] = &["Prompted ", "Asked ", "Said "];
/// Titles that must be there for a verb to be learnt from them.
const ENOUGH_TITLES: usize = 5;
/// Titles that are looked at for it.
const SAMPLED_TITLES: usize = 50;

/// One entry of an activity.
#[derive(Debug, Clone)]
pub struct Activity {
    /// 1-based place in the file.
    pub number: usize,
    /// What was done: a verb and the prompt.
    pub title: String,
    /// What Gemini answered, as text.
    pub answer: Option<String>,
    /// When.
    pub time: Option<MessageTime>,
    /// Names of the files that were attached.
    pub files: Vec<String>,
}

/// The word or words that stand before each prompt, in the language of the account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verb(Option<String>);

impl Verb {
    /// Learns the verb from what most of the first of `titles` begin with.
    pub fn of<'a>(titles: impl Iterator<Item = &'a str>) -> Self {
        let titles: Vec<String> = titles.take(SAMPLED_TITLES).map(spaced).collect();
        let starting = |verb: &str| titles.iter().filter(|title| title.starts_with(verb)).count();
        let is_most = |count: usize| count > 0 && count * 5 >= titles.len() * 3;
        if let Some(known) = KNOWN_VERBS.iter().find(|verb| starting(verb) * 2 >= titles.len().max(1)) {
            return Self(Some((*known).to_owned()));
        }
        let mut verb = titles.iter().filter_map(|title| next_word(title, 0)).max_by_key(|verb| starting(verb));
        verb = verb.filter(|verb| titles.len() >= ENOUGH_TITLES && is_most(starting(verb)));
        // A verb of several words goes on as long as all that begin with it go on alike.
        while let Some(known) = verb {
            let longer =
                titles.iter().find(|title| title.starts_with(known)).and_then(|title| next_word(title, known.len()));
            match longer {
                Some(longer) if starting(longer) == starting(known) => verb = Some(longer),
                Some(_) | None => break,
            }
        }
        Self(verb.map(str::to_owned))
    }

    /// Returns the prompt in `title`; `None` if it does not begin with the verb.
    fn prompt(&self, title: &str) -> Option<String> {
        spaced(title).strip_prefix(self.0.as_deref()?).map(|prompt| prompt.trim().to_owned())
    }
}

/// Replaces the spaces that must not break by common ones.
fn spaced(text: &str) -> String {
    text.replace(['\u{a0}', '\u{202f}'], " ")
}

/// Returns the start of `title` up to the end of the word that begins at `from`, with the space or colon behind it.
fn next_word(title: &str, from: usize) -> Option<&str> {
    let rest = &title[from..];
    let end = rest.find([' ', ':', '：']).map(|at| from + at)?;
    let behind = title[end..].find(|c| ![' ', ':', '：'].contains(&c)).map_or(title.len(), |at| end + at);
    Some(&title[..behind])
}

/// Puts entries together to conversations, holding one at a time.
pub struct Conversations {
    origin: String,
    verb: Verb,
    held: Vec<Activity>,
}

impl Conversations {
    /// Starts with the entries of the file `origin`.
    #[must_use]
    pub fn new(origin: String, verb: Verb) -> Self {
        Self { origin, verb, held: Vec::new() }
    }

    /// Adds the next entry of the file, whether newest or oldest come first.
    pub fn add(&mut self, activity: Activity, sink: &mut Sink<'_>) {
        let goes_on = match (self.held.last().and_then(at), at(&activity)) {
            (Some(last), Some(next)) => last.duration_since(next).abs() <= PAUSE,
            (_, _) => false,
        };
        if !goes_on || self.held.len() >= MOST_ENTRIES {
            self.hand_over(sink);
        }
        self.held.push(activity);
    }

    /// Hands over the last conversation.
    pub fn finish(mut self, sink: &mut Sink<'_>) {
        self.hand_over(sink);
    }

    fn hand_over(&mut self, sink: &mut Sink<'_>) {
        let mut entries = std::mem::take(&mut self.held);
        let is_ascending = entries.first().and_then(at) < entries.last().and_then(at);
        if !is_ascending {
            entries.reverse();
        }
        entries.sort_by_key(at);
        let Some(first) = entries.first() else { return };
        // Google gives no name to a conversation; the same prompt is asked on other days, so its time belongs to it.
        let id = identity::of_parts(&[&at(first).map(|at| at.to_string()).unwrap_or_default(), &first.title]);
        let mut draft = Assembler::new("gemini-takeout", id, format!("{}#{}", self.origin, first.number));
        draft.meta().created_at = at(first);
        for message in entries.iter().flat_map(|entry| self.messages(entry)) {
            draft.push(message, sink);
        }
        draft.finish(sink);
    }

    /// Returns the prompt, its files and the answer; an entry without the verb that the prompts have, and without an
    /// answer, is a note of the activity.
    fn messages(&self, entry: &Activity) -> Vec<Message> {
        let made = |role, kind, text: String| Message { kind, time: entry.time, ..Message::prose(role, text) };
        let is_note = self.verb.0.is_some() && entry.answer.is_none();
        let asked = match self.verb.prompt(&entry.title) {
            Some(prompt) => made(Role::User, Kind::Prose, prompt),
            None if is_note => made(Role::Other, Kind::Context, spaced(&entry.title)),
            None => made(Role::User, Kind::Prose, spaced(&entry.title)),
        };
        let files = entry.files.iter().map(|name| made(Role::User, Kind::Attachment, file_label("file", Some(name))));
        let answer = entry.answer.iter().map(|answer| made(Role::Assistant, Kind::Prose, answer.clone()));
        std::iter::once(asked).chain(files).chain(answer).collect()
    }
}

fn at(activity: &Activity) -> Option<Timestamp> {
    activity.time.map(|time| time.at)
}
