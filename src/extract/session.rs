//! One session in a prompt: its header, what was read before, and the part to extract from.

use jiff::ToSpan;
use jiff::civil::Date;

use super::Task;
use super::carry::carried;
use super::frame::{Place, is_shown, label, message, one_line};
use super::stamp::Clock;
use super::views::Sight;
use transcripts::{Kind, Message};

/// Most participants named.
const MAX_PARTICIPANTS: usize = 12;
/// Longest project or title shown, in characters.
const FIELD_CHARS: usize = 200;

/// How to read the numbers that an answer gives of one session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Shown {
    /// Number of the first message.
    pub first: usize,
    /// Index in the transcript of each message, by number.
    pub messages: Vec<usize>,
    /// How many known memories are numbered.
    pub known: usize,
}

impl Shown {
    /// Returns the index in the transcript of the message with this number.
    pub(super) fn index(&self, number: i64) -> Option<usize> {
        let position = usize::try_from(number).ok()?.checked_sub(self.first)?;
        self.messages.get(position).copied()
    }
}

/// One session as it stands in a prompt.
#[derive(Debug)]
pub(super) struct Session {
    /// Its header, on one line.
    pub header: String,
    /// Lines of what was read before.
    pub context: Vec<String>,
    /// Lines of the part to extract from.
    pub messages: Vec<String>,
    /// Indexes of the messages, in the order of their numbers.
    pub indexes: Vec<usize>,
}

/// Renders what `sight` shows of a task as session `number`, with messages from `first` on. The project is named where
/// it is not `project`, that of the session before.
pub(super) fn session(number: usize, first: usize, task: &Task<'_>, sight: &Sight, project: Option<&str>) -> Session {
    let (all, span) = (&task.transcript.messages, sight.span);
    let before = carried(all, span).into_iter().chain(span.context_start..span.start);
    let indexes: Vec<usize> = before.chain(span.start..span.end).filter(|&index| is_shown(&all[index])).collect();
    let (mut context, mut messages) = (Vec::new(), Vec::new());
    let (mut context_clock, mut clock) = (Clock::default(), Clock::default());
    for (number, &index) in (first..).zip(&indexes) {
        let is_new = index >= span.start;
        let place = match &sight.part {
            _ if index < span.context_start => Place::Carried,
            _ if !is_new => Place::Context,
            Some(bytes) => Place::Part(bytes.clone()),
            None => place_within(&all[index..]),
        };
        let (lines, clock) = if is_new { (&mut messages, &mut clock) } else { (&mut context, &mut context_clock) };
        lines.extend(clock.line(&all[index]));
        lines.push(message(number, &all[index], &place));
    }
    Session { header: header(number, task, &indexes, project), context, messages, indexes }
}

/// Where the first of `messages` stands: what is said last before a person speaks is shown at more length.
fn place_within(messages: &[Message]) -> Place {
    match messages[1..].iter().find(|message| message.kind == Kind::Prose) {
        Some(next) if !next.is_human() => Place::Within,
        _ => Place::BeforeAnswer,
    }
}

fn header(number: usize, task: &Task<'_>, shown: &[usize], project: Option<&str>) -> String {
    let transcript = task.transcript;
    let mut parts = vec![format!("# Session {number}"), field(&transcript.source)];
    if let Some(named) = transcript.project.as_deref().filter(|&named| Some(named) != project) {
        parts.push(format!("project {}", field(named)));
    }
    let names = participants(shown.iter().map(|&index| &transcript.messages[index]));
    if !names.is_empty() {
        parts.push(format!("with {}", names.join(", ")));
    }
    if let Some(title) = &transcript.title {
        parts.push(format!("“{}”", field(title).replace(['“', '”'], "\"")));
    }
    parts.push(dates(task));
    parts.join(" | ")
}

fn field(text: &str) -> String {
    one_line(text, FIELD_CHARS).replace('|', "¦")
}

/// Returns what the stamps do not say: the week that they begin in, or where there are none, all that is known.
fn dates(task: &Task<'_>) -> String {
    let stamped = task.messages().iter().filter(|message| is_shown(message)).filter_map(|message| message.time);
    match (stamped.map(|time| time.civil().date()).min(), task.transcript.created_at) {
        (Some(first), _) => format!("week from Mon {}", monday(first)),
        (None, Some(began)) => format!("began {}, the messages have no times", began.strftime("%a %Y-%m-%d, UTC")),
        (None, None) => "date unknown".to_owned(),
    }
}

/// Returns the day from which weekdays can be counted, since models count them badly.
fn monday(day: Date) -> Date {
    day.checked_sub(i64::from(day.weekday().to_monday_zero_offset()).days()).unwrap_or(day)
}

/// Returns each named speaker once, as in the labels, in order of appearance.
fn participants<'m>(messages: impl Iterator<Item = &'m Message>) -> Vec<String> {
    let mut names = Vec::new();
    for one in messages.filter(|one| one.kind == Kind::Prose && one.speaker.is_some()) {
        let name = label(one).replace('|', "¦");
        if !names.contains(&name) && names.len() < MAX_PARTICIPANTS {
            names.push(name);
        }
    }
    names
}
