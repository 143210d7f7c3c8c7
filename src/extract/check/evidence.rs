//! Comparison of a claim with the messages it cites: dates, numbers, names, negation and speaker.

use std::cell::OnceCell;
use std::ops::Range;
use std::sync::LazyLock;

use jiff::tz::Offset;
use regex::Regex;
use transcripts::{Message, Transcript};

use super::dates::Dates;
use super::names::Names;
use super::numbers::{Numbers, is_computed};
use super::polarity::{Change, change};
use super::quote;
use crate::extract::prompt::Shown;
use crate::extract::schema::Proposal;
use crate::extract::{DropReason, Dropped, Task};
use crate::memory::Memory;
use crate::text::negation::is_answer;

/// The sessions of one request, by their position in the request.
pub(in crate::extract) struct EvidencePool<'a> {
    tasks: &'a [Task<'a>],
    shown: &'a [Shown],
    numbers: OnceCell<Numbers>,
    dates: OnceCell<Dates>,
    names: OnceCell<Names>,
}

impl<'a> EvidencePool<'a> {
    /// Returns the evidence of the request that showed `shown` of `tasks`, one session each.
    pub(in crate::extract) fn new(tasks: &'a [Task<'a>], shown: &'a [Shown]) -> Self {
        Self { tasks, shown, numbers: OnceCell::new(), dates: OnceCell::new(), names: OnceCell::new() }
    }

    /// Returns a session as its task and the part that was shown.
    pub(in crate::extract) fn session(&self, place: usize) -> (&'a Task<'a>, &'a Shown) {
        (&self.tasks[place], &self.shown[place])
    }

    /// Returns the numbers of all sessions.
    fn numbers(&self) -> &Numbers {
        self.numbers.get_or_init(|| {
            let mut numbers = Numbers::default();
            self.sessions().for_each(|(task, shown)| add_numbers(&mut numbers, task, shown));
            numbers
        })
    }

    /// Returns the dates that sessions share with each other, except for dates from time expressions with a long range.
    fn dates(&self) -> &Dates {
        self.dates.get_or_init(|| {
            let mut dates = Dates::near();
            self.sessions().for_each(|(task, shown)| add_dates(&mut dates, task, shown));
            dates
        })
    }

    /// Returns the names of all sessions.
    fn names(&self) -> &Names {
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

/// Adds the numbers in a session.
fn add_numbers(numbers: &mut Numbers, task: &Task<'_>, shown: &Shown) {
    messages(task, shown).for_each(|message| numbers.add(&message.text));
    // A claim names its speaker, whose name may contain digits.
    messages(task, shown).filter_map(|message| message.speaker.as_deref()).for_each(|name| numbers.add(name));
    about(task.transcript).for_each(|text| numbers.add(text));
    for time in messages(task, shown).filter_map(|message| message.time) {
        // The prompt shows these times in its stamps, so a claim may quote them.
        numbers.add(&time.civil().strftime("%H:%M").to_string());
    }
}

/// Adds the dates in a session.
fn add_dates(dates: &mut Dates, task: &Task<'_>, shown: &Shown) {
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

/// The evidence of one session of a request.
pub(in crate::extract) struct EvidenceCheck<'a> {
    pool: &'a EvidencePool<'a>,
    task: &'a Task<'a>,
    shown: &'a Shown,
    numbers: OnceCell<Numbers>,
    dates: OnceCell<Dates>,
}

/// The messages that a claim cites, by their position in the transcript.
#[derive(Debug, Clone, Copy)]
pub(in crate::extract) struct Citation<'a> {
    /// The message that is quoted.
    pub quoted: usize,
    /// The other cited messages.
    pub others: &'a [usize],
    /// The quote as it appears in the message.
    pub quote: &'a str,
    /// The known memory that the claim replaces.
    pub replaced: Option<&'a Memory>,
}

impl<'a> EvidenceCheck<'a> {
    /// Returns the evidence of the session at this position in a request.
    pub(in crate::extract) fn new(pool: &'a EvidencePool<'a>, session: usize) -> Self {
        let (task, shown) = pool.session(session);
        Self { pool, task, shown, numbers: OnceCell::new(), dates: OnceCell::new() }
    }

    /// Checks that the statement of `proposal` is based on the evidence. A date field that cannot be traced is cleared,
    /// since the rest of the proposal is still valid.
    pub(in crate::extract) fn check(&self, proposal: &mut Proposal, citation: &Citation<'_>) -> Result<(), Dropped> {
        // Only the first rejection is reported. Dates come first, because a wrong date also consists of wrong numbers.
        self.dates(proposal, citation)?;
        self.numbers(proposal, citation)?;
        self.names(proposal, citation.quote)?;
        self.polarity(proposal, citation)?;
        self.speaker(proposal, citation)?;
        self.empty_fields(proposal, citation);
        self.empty_value(proposal, citation);
        Ok(())
    }

    fn dates(&self, proposal: &Proposal, citation: &Citation<'_>) -> Result<(), Dropped> {
        let replaced = citation.replaced.map(Replaced::new);
        let sources = self.dated(replaced.as_ref());
        // "3.6" may be a day, but it is a number if somebody said "three point six".
        let is_number = |date: &str| {
            let is_decimal = date.split_once('.').is_some_and(|(whole, rest)| {
                [whole, rest].iter().all(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()))
            });
            is_decimal && self.own_numbers().foreign(date, &[]).is_empty()
        };
        let mut foreign = claim_texts(proposal).flat_map(|text| Dates::foreign(&sources, text));
        match foreign.find(|date| !is_number(date)) {
            Some(date) => refused(
                DropReason::DateNotSaid,
                format!("the date {date} is not said and does not follow from when it was said"),
            ),
            None => Ok(()),
        }
    }

    fn numbers(&self, proposal: &Proposal, citation: &Citation<'_>) -> Result<(), Dropped> {
        let own = self.own_numbers();
        let replaced = citation.replaced.map(Replaced::new);
        let sources = self.dated(replaced.as_ref());
        let year = self.message(citation.quoted).time.map(|time| time.civil().year());
        for text in claim_texts(proposal) {
            let places = Dates::places(text);
            // Sessions of one request explain each other, so a number is unsupported only if no session contains it.
            let elsewhere = self.pool.numbers().foreign(text, &places);
            let foreign = own.foreign(text, &places).into_iter().find(|number| {
                elsewhere.contains(number)
                    && !Dates::have_year(&sources, number)
                    && replaced.as_ref().is_none_or(|known| !known.has_number(number, &places))
                    && !is_computed(number, &self.cited(citation), year)
            });
            if let Some(number) = foreign {
                return refused(DropReason::NumberNotSaid, format!("the number {number} stands in no message"));
            }
        }
        Ok(())
    }

    fn own_numbers(&self) -> &Numbers {
        self.numbers.get_or_init(|| {
            let mut numbers = Numbers::default();
            add_numbers(&mut numbers, self.task, self.shown);
            numbers
        })
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
                // A memory with an unknown end is still useful. Dropping it would lose the statement.
                *field = None;
            }
        }
    }

    /// Removes a key whose value neither the statement nor any message contains, such as Kubernetes for "We use Nomad".
    fn empty_value(&self, proposal: &mut Proposal, citation: &Citation<'_>) {
        let is_foreign = proposal.value.as_deref().is_some_and(|value| {
            // A value is a heading rather than a sentence, so it is read after a word that is no name.
            let sentence = format!("is {value}");
            self.pool.names().foreign(&sentence, citation.quote).is_some()
        });
        if is_foreign {
            tracing::debug!(title = proposal.title, "left out a key whose value stands in no message");
            (proposal.key, proposal.value) = (None, None);
        }
    }

    /// Returns the possible sources of a date: this session, the others, and the memory that is replaced.
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
        let in_parts =
            || claim_texts(proposal).find_map(|text| names.foreign_given(text).or_else(|| names.foreign_code(text)));
        match names.foreign(&proposal.content, quote).or_else(in_parts) {
            Some(_) => {
                refused(DropReason::NameNotSaid, "it names somebody or something that stands in no message".to_owned())
            }
            None => Ok(()),
        }
    }

    fn polarity(&self, proposal: &Proposal, citation: &Citation<'_>) -> Result<(), Dropped> {
        let quoted = &self.message(citation.quoted).text;
        // Models often omit the "don't" at the start of a quote, so the whole sentence is read.
        let sentence = quote::find(citation.quote, quoted).map_or(citation.quote, |range| around(quoted, range));
        match change(&proposal.content, sentence, &self.cited(citation)) {
            Some(Change::Lost) => refused(DropReason::PolarityChanged, "content says what the quote denies".to_owned()),
            Some(Change::Invented) => {
                refused(DropReason::PolarityChanged, "content denies what the quote says".to_owned())
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
        let speech = Speech { quote: citation.quote, speaker, speakers: &speakers, others: &others, cited: &cited };
        match other_subject(&proposal.content, &speech) {
            Some(_) => refused(
                DropReason::OtherSpeaker,
                "content gives to one person what another says of themselves".to_owned(),
            ),
            None => Ok(()),
        }
    }

    fn shown(&self) -> impl Iterator<Item = &'a Message> {
        self.shown.messages.iter().map(|&index| self.message(index))
    }

    fn message(&self, index: usize) -> &'a Message {
        &self.task.transcript.messages[index]
    }

    /// Returns the text of all cited messages.
    fn cited(&self, citation: &Citation<'_>) -> String {
        let all = std::iter::once(&citation.quoted).chain(citation.others);
        all.map(|&index| self.message(index).text.as_str()).collect::<Vec<_>>().join("\n")
    }
}

/// The numbers and dates of the known memory that a claim replaces.
struct Replaced {
    numbers: Numbers,
    dates: Dates,
}

impl Replaced {
    fn new(memory: &Memory) -> Self {
        // A claim about a new date or price often mentions the old date or price, which only the memory contains.
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

/// Returns every stored text of a proposal, each of which may contain an error.
fn claim_texts(proposal: &Proposal) -> impl Iterator<Item = &str> {
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

/// Returns the sentence or line around `range`, from the clause in which it begins, without a "no" that is only an
/// answer.
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
    // "No I like the blue one" denies the previous question, not the rest of the sentence.
    if start == 0 && is_answer(sentence) {
        sentence.trim_start().split_once(' ').map_or("", |(_, rest)| rest)
    } else {
        sentence
    }
}

fn refused(reason: DropReason, detail: String) -> Result<(), Dropped> {
    Err(Dropped { reason, detail })
}

/// First-person pronouns, in several languages.
static FIRST_PERSON: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(?i)\b(?:i|i'm|i've|i'd|i'll|my|ich|mein(?:e[rnms]?)?|yo|mi|mis|je|j'ai|mon|ma|mes|io|mio|mia|eu|meu|minha)\b|我(?:[^们們]|$)|私|僕|俺|(?:^|\s)(?:나는|내가|저는|제가|내|제)\s",
    )
    .expect("the pattern is constant and a test compiles it")
});

/// The speakers and texts of the messages that one claim cites.
#[derive(Debug, Clone, Copy)]
struct Speech<'a> {
    /// The quote.
    quote: &'a str,
    /// The name of the quoted speaker.
    speaker: &'a str,
    /// All speakers in the conversation.
    speakers: &'a [&'a str],
    /// The other cited speakers.
    others: &'a [&'a str],
    /// The text of all cited messages.
    cited: &'a str,
}

/// Returns the participant to whom `content` attributes what the quoted speaker says in the first person.
fn other_subject<'a>(content: &str, speech: &Speech<'a>) -> Option<&'a str> {
    let (content, cited) = (content.to_lowercase(), speech.cited.to_lowercase());
    // People are mentioned by part of their name: "Ana" may be "Ana Vos".
    let same = |one: &str, two: &str| {
        let (one, two) = (one.to_lowercase(), two.to_lowercase());
        one.contains(&two) || two.contains(&one)
    };
    // Phones write "I’m" with a typographic apostrophe, which the pattern does not include.
    let quote = speech.quote.replace('’', "'");
    if !FIRST_PERSON.is_match(&quote)
        || starts_with_name(&content, speech.speaker)
        || is_named(&content, speech.speaker)
    {
        return None;
    }
    speech.speakers.iter().copied().find(|other| {
        !same(other, speech.speaker)
            && starts_with_name(&content, other)
            && !is_named(&cited, other)
            && !speech.others.iter().any(|cited| same(cited, other))
    })
}

fn first(name: &str) -> String {
    name.split_whitespace().next().unwrap_or_default().to_lowercase()
}

fn starts_with_name(content: &str, name: &str) -> bool {
    let name = first(name);
    // Too many other words begin with a name of one letter.
    let rest = (name.chars().count() > 1).then(|| content.strip_prefix(&name)).flatten();
    rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_alphabetic()))
}

/// Whether a name appears in a folded text as a whole word.
fn is_named(text: &str, name: &str) -> bool {
    let name = first(name);
    text.match_indices(&name).any(|(at, _)| {
        let (before, after) = (text[..at].chars().next_back(), text[at + name.len()..].chars().next());
        let is_letter = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphabetic());
        !is_letter(before) && !is_letter(after)
    })
}
