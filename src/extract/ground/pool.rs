//! What one request gives to rest on: the messages of all its sessions, and what frames them.

use std::cell::OnceCell;

use jiff::tz::Offset;

use super::dates::Dates;
use super::names::Names;
use super::numbers::Numbers;
use crate::extract::Task;
use crate::extract::prompt::Shown;
use transcripts::{Message, Transcript};

/// The sessions of one request, by their place in it.
pub(in super::super) struct Pool<'a> {
    tasks: &'a [Task<'a>],
    shown: &'a [Shown],
    numbers: OnceCell<Numbers>,
    dates: OnceCell<Dates>,
    names: OnceCell<Names>,
}

impl<'a> Pool<'a> {
    /// Returns what the request that showed `shown` of `tasks`, one session each, gives to rest on.
    pub(in super::super) fn new(tasks: &'a [Task<'a>], shown: &'a [Shown]) -> Self {
        Self { tasks, shown, numbers: OnceCell::new(), dates: OnceCell::new(), names: OnceCell::new() }
    }

    /// Returns a session: its task and what was shown of it.
    pub(in super::super) fn session(&self, place: usize) -> (&'a Task<'a>, &'a Shown) {
        (&self.tasks[place], &self.shown[place])
    }

    /// Returns the numbers of all sessions.
    pub(super) fn numbers(&self) -> &Numbers {
        self.numbers.get_or_init(|| {
            let mut numbers = Numbers::default();
            self.sessions().for_each(|(task, shown)| add_numbers(&mut numbers, task, shown));
            numbers
        })
    }

    /// Returns the dates that sessions give to each other: without those that a session reaches from afar.
    pub(super) fn dates(&self) -> &Dates {
        self.dates.get_or_init(|| {
            let mut dates = Dates::near();
            self.sessions().for_each(|(task, shown)| add_dates(&mut dates, task, shown));
            dates
        })
    }

    /// Returns the names of all sessions.
    pub(super) fn names(&self) -> &Names {
        self.names.get_or_init(|| {
            let mut names = Names::default();
            self.sessions().for_each(|(task, shown)| add_names(&mut names, task, shown));
            names
        })
    }

    fn sessions(&self) -> impl Iterator<Item = (&'a Task<'a>, &'a Shown)> {
        self.tasks.iter().zip(self.shown)
    }
}

/// Adds the numbers of a session.
pub(super) fn add_numbers(numbers: &mut Numbers, task: &Task<'_>, shown: &Shown) {
    messages(task, shown).for_each(|message| numbers.add(&message.text));
    about(task.transcript).for_each(|text| numbers.add(text));
    for time in messages(task, shown).filter_map(|message| message.time) {
        numbers.add(&time.civil().strftime("%H:%M").to_string());
    }
}

/// Adds the dates of a session.
pub(super) fn add_dates(dates: &mut Dates, task: &Task<'_>, shown: &Shown) {
    let began = task.transcript.created_at.map(|at| Offset::UTC.to_datetime(at).date());
    for message in messages(task, shown) {
        dates.add(&message.text, message.time.map(|time| time.civil().date()).or(began));
    }
    about(task.transcript).for_each(|text| dates.add(text, None));
    began.into_iter().for_each(|date| dates.add_stamp(date));
}

fn add_names(names: &mut Names, task: &Task<'_>, shown: &Shown) {
    messages(task, shown).for_each(|message| names.add(&message.text));
    let transcript = task.transcript;
    let speakers = transcript.messages.iter().filter_map(|message| message.speaker.as_deref());
    let known = task.known.iter().map(|memory| memory.claim.content.as_str());
    let frame = [&transcript.repository, &transcript.model].into_iter().flatten().map(String::as_str);
    let source = std::iter::once(transcript.source.as_str());
    speakers.chain(known).chain(frame).chain(source).chain(about(transcript)).chain(task.instructions).for_each(
        |text| {
            names.add(text);
        },
    );
}

fn about(transcript: &Transcript) -> impl Iterator<Item = &str> {
    transcript.project.iter().chain(&transcript.title).map(String::as_str)
}

fn messages<'t>(task: &'t Task<'_>, shown: &'t Shown) -> impl Iterator<Item = &'t Message> {
    shown.messages.iter().map(|&index| &task.transcript.messages[index])
}
