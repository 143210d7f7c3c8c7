//! What a claim is held against: the messages of the request, and what frames them.

use std::cell::OnceCell;
use std::ops::Range;

use super::dates::Dates;
use super::numbers::{Numbers, is_computed};
use super::polarity::{Change, change, is_answer};
use super::pool::{Pool, add_dates, add_numbers};
use super::speaker::{Said, other_subject};
use crate::extract::prompt::Shown;
use crate::extract::schema::Proposal;
use crate::extract::{DropReason, Dropped, Task, quote};
use crate::memory::Memory;
use transcripts::Message;

/// The evidence of one session of a request.
pub(in super::super) struct Ground<'a> {
    pool: &'a Pool<'a>,
    task: &'a Task<'a>,
    shown: &'a Shown,
    numbers: OnceCell<Numbers>,
    dates: OnceCell<Dates>,
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
    /// Returns what the session in this place of a request gives to rest on.
    pub(in super::super) fn new(pool: &'a Pool<'a>, session: usize) -> Self {
        let (task, shown) = pool.session(session);
        Self { pool, task, shown, numbers: OnceCell::new(), dates: OnceCell::new() }
    }

    /// Checks that what `proposal` says comes from the evidence. Of its fields, a date of when it held that cannot be
    /// traced is emptied: the rest is no worse for it.
    pub(in super::super) fn check(&self, proposal: &mut Proposal, citation: &Citation<'_>) -> Result<(), Dropped> {
        self.dates(proposal, citation)?;
        self.numbers(proposal, citation)?;
        self.names(proposal, citation.quote)?;
        self.polarity(proposal, citation)?;
        self.speaker(proposal, citation)?;
        self.empty_fields(proposal, citation);
        Ok(())
    }

    fn dates(&self, proposal: &Proposal, citation: &Citation<'_>) -> Result<(), Dropped> {
        let replaced = citation.replaced.map(Replaced::new);
        let sources = self.dated(replaced.as_ref());
        match texts(proposal).find_map(|text| Dates::foreign(&sources, text)) {
            Some(date) => drop(
                DropReason::DateNotSaid,
                format!("the date {date} is not said and does not follow from when it was said"),
            ),
            None => Ok(()),
        }
    }

    fn numbers(&self, proposal: &Proposal, citation: &Citation<'_>) -> Result<(), Dropped> {
        let own = self.numbers.get_or_init(|| {
            let mut numbers = Numbers::default();
            add_numbers(&mut numbers, self.task, self.shown);
            numbers
        });
        let replaced = citation.replaced.map(Replaced::new);
        let sources = self.dated(replaced.as_ref());
        let year = self.message(citation.quoted).time.map(|time| time.civil().year());
        for text in texts(proposal) {
            let places = Dates::places(text);
            let elsewhere = self.pool.numbers().foreign(text, &places);
            let foreign = own.foreign(text, &places).into_iter().find(|number| {
                elsewhere.contains(number)
                    && !Dates::have_year(&sources, number)
                    && replaced.as_ref().is_none_or(|known| !known.has_number(number, &places))
                    && !is_computed(number, &self.cited(citation), year)
            });
            if let Some(number) = foreign {
                return drop(DropReason::NumberNotSaid, format!("the number {number} stands in no message"));
            }
        }
        Ok(())
    }

    fn empty_fields(&self, proposal: &mut Proposal, citation: &Citation<'_>) {
        let replaced = citation.replaced.map(Replaced::new);
        let sources = self.dated(replaced.as_ref());
        let fields = [("from", &mut proposal.from), ("to", &mut proposal.to), ("expires", &mut proposal.expires)];
        for (name, field) in fields {
            let is_traced = |text: &String| {
                Dates::may_hold(&sources, text)
                    || name == "expires" && sources.iter().any(|dates| dates.may_expire(text))
            };
            if field.as_ref().is_some_and(|text| !is_traced(text)) {
                tracing::debug!(field = name, title = proposal.title, "left out a date that cannot be traced");
                *field = None;
            }
        }
    }

    /// Returns where a date may come from: this session, the others, and the memory that is replaced.
    fn dated<'d>(&'d self, replaced: Option<&'d Replaced>) -> Vec<&'d Dates> {
        let own = self.dates.get_or_init(|| {
            let mut dates = Dates::default();
            add_dates(&mut dates, self.task, self.shown);
            dates
        });
        [own, self.pool.dates()].into_iter().chain(replaced.map(|known| &known.dates)).collect()
    }

    fn names(&self, proposal: &Proposal, quote: &str) -> Result<(), Dropped> {
        let names = self.pool.names();
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
        let sentence = quote::find(citation.quote, quoted).map_or(citation.quote, |range| around(quoted, range));
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

    fn shown(&self) -> impl Iterator<Item = &'a Message> {
        self.shown.messages.iter().map(|&index| self.message(index))
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

    fn has_number(&self, number: &str, places: &[Range<usize>]) -> bool {
        places.is_empty() && self.numbers.foreign(number, &[]).is_empty()
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

/// Returns the sentence or line around `range`, from the clause in which it begins, without a "no" that only answers.
fn around(text: &str, range: Range<usize>) -> &str {
    let is_end = |c: char| matches!(c, '.' | '!' | '?' | '\n' | '。' | '！' | '？' | ';' | '；');
    let is_clause_end = |c: char| is_end(c) || matches!(c, ',' | '，' | ':' | '：' | '、' | '—');
    let start = text[..range.start]
        .rfind(is_clause_end)
        .map_or(0, |at| at + text[at..].chars().next().map_or(1, char::len_utf8));
    let end = text[range.end..].find(is_end).map_or(text.len(), |at| {
        let at = range.end + at;
        at + text[at..].chars().next().map_or(0, char::len_utf8)
    });
    let sentence = &text[start..end];
    if start == 0 && is_answer(sentence) {
        sentence.trim_start().split_once(' ').map_or("", |(_, rest)| rest)
    } else {
        sentence
    }
}

fn drop(reason: DropReason, detail: String) -> Result<(), Dropped> {
    Err(Dropped { reason, detail })
}
