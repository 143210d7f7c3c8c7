//! What a claim is held against: the messages of the request, and what frames them.

use std::cell::OnceCell;
use std::ops::Range;

use jiff::tz::Offset;

use super::dates::Dates;
use super::names::Names;
use super::numbers::Numbers;
use super::polarity::{Change, change};
use super::speaker::{Said, other_subject};
use crate::extract::schema::Proposal;
use crate::extract::session::Shown;
use crate::extract::{DropReason, Dropped, Task, quote};
use crate::memory::Memory;
use crate::transcript::Message;

/// The evidence of one request.
pub(in super::super) struct Ground<'a> {
    task: &'a Task<'a>,
    shown: &'a [usize],
    numbers: OnceCell<Numbers>,
    dates: OnceCell<Dates>,
    names: OnceCell<Names>,
}

/// The messages that a claim cites, by their place in the transcript.
#[derive(Debug, Clone, Copy)]
pub(in super::super) struct Citation<'a> {
    /// The message that is quoted.
    pub quoted: usize,
    /// The others that are cited.
    pub others: &'a [usize],
    /// The quote as it stands in the message.
    pub quote: &'a str,
    /// The known memory that is replaced.
    pub replaced: Option<&'a Memory>,
}

impl<'a> Ground<'a> {
    /// Returns what the request that showed `shown` of `task` gives to rest on.
    pub(in super::super) fn new(task: &'a Task<'a>, shown: &'a Shown) -> Self {
        Self { task, shown: &shown.messages, numbers: OnceCell::new(), dates: OnceCell::new(), names: OnceCell::new() }
    }

    /// Checks that what `proposal` says comes from the evidence.
    pub(in super::super) fn check(&self, proposal: &Proposal, citation: &Citation<'_>) -> Result<(), Dropped> {
        self.numbers_and_dates(proposal, citation)?;
        self.names(proposal, citation.quote)?;
        self.polarity(proposal, citation)?;
        self.speaker(proposal, citation)
    }

    fn numbers_and_dates(&self, proposal: &Proposal, citation: &Citation<'_>) -> Result<(), Dropped> {
        let (numbers, dates) =
            (self.numbers.get_or_init(|| self.all_numbers()), self.dates.get_or_init(|| self.all_dates()));
        let replaced = citation.replaced.map(Replaced::new);
        for text in texts(proposal) {
            let places = Dates::places(text);
            let foreign =
                dates.foreign(text).filter(|date| replaced.as_ref().is_none_or(|known| !known.has_date(date)));
            if let Some(date) = foreign {
                return drop(
                    DropReason::DateNotSaid,
                    format!("the date {date} is not said and does not follow from when it was said"),
                );
            }
            let foreign = numbers
                .foreign(text, &places)
                .filter(|number| !dates.has_year(number))
                .filter(|number| replaced.as_ref().is_none_or(|known| !known.has_number(number, &places)));
            if let Some(number) = foreign {
                return drop(DropReason::NumberNotSaid, format!("the number {number} stands in no message"));
            }
        }
        let fields = [("from", &proposal.from), ("to", &proposal.to)];
        let held =
            |text: &str| dates.may_hold(text) || replaced.as_ref().is_some_and(|known| known.dates.may_hold(text));
        if let Some((name, _)) = fields.iter().find(|(_, text)| text.as_deref().is_some_and(|text| !held(text))) {
            return drop(
                DropReason::DateNotSaid,
                format!("{name} is a date that is not said and does not follow from when it was said"),
            );
        }
        if proposal.expires.as_deref().is_some_and(|text| !dates.may_expire(text)) {
            return drop(DropReason::DateNotSaid, "expires is a date that lies far from when it was said".to_owned());
        }
        Ok(())
    }

    fn names(&self, proposal: &Proposal, quote: &str) -> Result<(), Dropped> {
        let names = self.names.get_or_init(|| self.all_names());
        let in_parts = || texts(proposal).find_map(|text| names.foreign_given(text));
        match names.foreign(&proposal.content, quote).or_else(in_parts) {
            Some(_) => {
                drop(DropReason::NameNotSaid, "it names somebody or something that stands in no message".to_owned())
            }
            None => Ok(()),
        }
    }

    fn polarity(&self, proposal: &Proposal, citation: &Citation<'_>) -> Result<(), Dropped> {
        let quoted = &self.message(citation.quoted).text;
        let sentence =
            quote::find(citation.quote, quoted).map_or(citation.quote, |range| &quoted[sentence(quoted, range)]);
        match change(&proposal.content, sentence, &self.cited(citation)) {
            Some(Change::Lost) => drop(DropReason::PolarityChanged, "content says what the quote denies".to_owned()),
            Some(Change::Invented) => {
                drop(DropReason::PolarityChanged, "content denies what the quote says".to_owned())
            }
            None => Ok(()),
        }
    }

    fn speaker(&self, proposal: &Proposal, citation: &Citation<'_>) -> Result<(), Dropped> {
        let quoted = self.message(citation.quoted);
        let Some(speaker) = quoted.speaker.as_deref().filter(|_| quoted.is_human()) else { return Ok(()) };
        let mut speakers: Vec<&str> =
            self.shown().filter(|one| one.is_human()).filter_map(|one| one.speaker.as_deref()).collect();
        speakers.sort_unstable();
        speakers.dedup();
        let others: Vec<&str> =
            citation.others.iter().filter_map(|&index| self.message(index).speaker.as_deref()).collect();
        let cited = self.cited(citation);
        let said = Said { quote: citation.quote, speaker, speakers: &speakers, others: &others, cited: &cited };
        match other_subject(&proposal.content, &said) {
            Some(_) => {
                drop(DropReason::OtherSpeaker, "content gives to one person what another says of themselves".to_owned())
            }
            None => Ok(()),
        }
    }

    fn all_numbers(&self) -> Numbers {
        let mut numbers = Numbers::default();
        self.shown().for_each(|message| numbers.add(&message.text));
        self.about().for_each(|text| numbers.add(text));
        for time in self.shown().filter_map(|message| message.time) {
            numbers.add(&time.civil().strftime("%H:%M").to_string());
        }
        numbers
    }

    fn all_dates(&self) -> Dates {
        let began = self.task.transcript.created_at.map(|at| Offset::UTC.to_datetime(at).date());
        let said_on = |message: &Message| message.time.map(|time| time.civil().date()).or(began);
        let mut dates = Dates::default();
        self.shown().for_each(|message| dates.add(&message.text, said_on(message)));
        self.about().for_each(|text| dates.add(text, None));
        began.into_iter().for_each(|date| dates.add_stamp(date));
        dates
    }

    fn all_names(&self) -> Names {
        let mut names = Names::default();
        self.shown().for_each(|message| names.add(&message.text));
        let transcript = self.task.transcript;
        let speakers = transcript.messages.iter().filter_map(|message| message.speaker.as_deref());
        let known = self.task.known.iter().map(|memory| memory.claim.content.as_str());
        let frame = [&transcript.repository, &transcript.model].into_iter().flatten().map(String::as_str);
        speakers
            .chain(known)
            .chain(frame)
            .chain(self.about())
            .chain(self.task.instructions)
            .for_each(|text| names.add(text));
        names
    }

    fn about(&self) -> impl Iterator<Item = &'a str> {
        self.task.transcript.project.iter().chain(&self.task.transcript.title).map(String::as_str)
    }

    fn shown(&self) -> impl Iterator<Item = &'a Message> {
        self.shown.iter().map(|&index| self.message(index))
    }

    fn message(&self, index: usize) -> &'a Message {
        &self.task.transcript.messages[index]
    }

    /// Returns the text of all that is cited.
    fn cited(&self, citation: &Citation<'_>) -> String {
        let all = std::iter::once(&citation.quoted).chain(citation.others);
        all.map(|&index| self.message(index).text.as_str()).collect::<Vec<_>>().join("\n")
    }
}

/// What a known memory says, for a claim that takes its place.
struct Replaced {
    numbers: Numbers,
    dates: Dates,
}

impl Replaced {
    fn new(memory: &Memory) -> Self {
        let mut known = Self { numbers: Numbers::default(), dates: Dates::default() };
        for text in std::iter::once(&memory.claim.content).chain(&memory.claim.value) {
            known.numbers.add(text);
            known.dates.add(text, None);
        }
        known
    }

    fn has_date(&self, date: &str) -> bool {
        self.dates.may_hold(date)
    }

    fn has_number(&self, number: &str, places: &[Range<usize>]) -> bool {
        places.is_empty() && self.numbers.foreign(number, &[]).is_none()
    }
}

/// Returns every text of a proposal in which a slip would be kept.
fn texts(proposal: &Proposal) -> impl Iterator<Item = &str> {
    let episode = proposal.episode.iter().flat_map(|episode| {
        [&episode.situation, &episode.action].into_iter().chain(&episode.reasoning).chain(&episode.learnings)
    });
    let procedure = proposal
        .procedure
        .iter()
        .flat_map(|steps| [&steps.name, &steps.description].into_iter().chain(&steps.triggers).chain(&steps.steps));
    [&proposal.content, &proposal.title]
        .into_iter()
        .chain(&proposal.value)
        .chain(episode)
        .chain(procedure)
        .map(String::as_str)
}

/// Returns the sentence or line around `range`.
fn sentence(text: &str, range: Range<usize>) -> Range<usize> {
    let is_end = |c: char| matches!(c, '.' | '!' | '?' | '\n' | '。' | '！' | '？' | ';' | '；');
    let start =
        text[..range.start].rfind(is_end).map_or(0, |at| at + text[at..].chars().next().map_or(1, char::len_utf8));
    let end = text[range.end..].find(is_end).map_or(text.len(), |at| {
        let at = range.end + at;
        at + text[at..].chars().next().map_or(0, char::len_utf8)
    });
    start..end
}

fn drop(reason: DropReason, detail: String) -> Result<(), Dropped> {
    Err(Dropped { reason, detail })
}
