//! Checks of a model's entries: nothing is accepted that cannot be found in the conversation. The functions are pure.
//!
//! The checks are made in this order. An entry is rejected if
//! - it does not have the requested structure ([`DropReason::Invalid`]),
//! - it cites a message that was not shown, or only context (`WrongMessage`),
//! - its quote does not appear in a cited message (`QuoteNotFound`, see `quote`),
//! - no person said or confirmed it, its author asked not to keep it, or it repeats injected text (`NotSaid`),
//! - a date does not appear in a message and cannot be derived from the time of one (`DateNotSaid`, see `dates`),
//! - a number appears in no message and cannot be computed from numbers that do (`NumberNotSaid`, see `numbers`),
//! - nobody mentioned one of its names (`NameNotSaid`, see `names`),
//! - it says the opposite of its quote (`PolarityChanged`, see `polarity`),
//! - it attributes to one person what another said about themselves (`OtherSpeaker`),
//! - nothing is left of it once its secrets are removed (`Secret`).

pub(super) mod dates;
mod evidence;
mod names;
mod numbers;
mod polarity;
pub(in crate::extract) mod quote;

use std::sync::LazyLock;

use regex::Regex;
use serde_json::Value;
use transcripts::{Kind, Message, Role};

use super::claim::claim;
use super::prompt::Shown;
use super::reply::normalised;
use super::schema::Proposal;
use super::withheld::WithheldMessages;
use super::{DropReason, Dropped, Task};
use crate::memory::{Candidate, Evidence, Memory};
use crate::schema::Schema;
use crate::text::tokens::units;
pub(super) use evidence::EvidencePool;
use evidence::{Citation, EvidenceCheck};
use quote::Injected;
pub use quote::quote_found;

/// The detail given when the entry at which an answer was cut is dropped.
pub(super) const CUT_SHORT: &str = "is cut short";

/// How much of an answer could be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Legible {
    /// A complete list was read.
    Whole,
    /// Only the beginning of a list was read.
    Cut,
    /// No list was found.
    Not,
}

/// The checked entries of an answer that belong to one session: each is a candidate or a dropped proposal.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Checked {
    /// Entries that passed.
    pub candidates: Vec<Candidate>,
    /// Entries that did not pass, each with its 1-based position in the list.
    pub dropped: Vec<(usize, Dropped)>,
}

impl Checked {
    /// Returns the number of entries.
    pub(super) fn proposed(&self) -> usize {
        self.candidates.len() + self.dropped.len()
    }

    /// Returns the number of entries that do not have the requested structure.
    pub(super) fn broken(&self) -> usize {
        self.dropped.iter().filter(|(_, one)| one.reason == DropReason::Invalid).count()
    }
}

/// An entry of an answer.
#[derive(Debug, Clone)]
pub(super) struct Item {
    /// 1-based position of the entry in the list.
    pub place: usize,
    /// The entry, unchecked.
    pub value: Value,
    /// Whether it is the last entry of an incomplete list.
    pub may_be_cut: bool,
}

/// Whether a second attempt can correct a proposal that was dropped for `reason`.
pub(super) fn is_mendable(reason: DropReason) -> bool {
    match reason {
        DropReason::Invalid
        | DropReason::WrongMessage
        | DropReason::QuoteNotFound
        | DropReason::NumberNotSaid
        | DropReason::DateNotSaid
        | DropReason::NameNotSaid
        | DropReason::PolarityChanged
        | DropReason::OtherSpeaker => true,
        DropReason::NotSaid | DropReason::Secret | DropReason::KnownContext => false,
    }
}

/// Checks `items` against `session` of `pool` and against `schema`, the shape of an entry. The items are the
/// entries of an answer that belong to the session.
pub(super) fn check(items: Vec<Item>, pool: &EvidencePool<'_>, session: usize, schema: &Value) -> Checked {
    let mut checked = Checked::default();
    if items.is_empty() {
        return checked;
    }
    let checker = EntryChecker::new(pool, session, schema);
    for Item { place, value, may_be_cut } in items {
        match checker.candidate(value, may_be_cut) {
            Ok(candidate) => checked.candidates.push(candidate),
            Err(dropped) => checked.dropped.push((place, dropped)),
        }
    }
    checked
}

/// Drops a candidate if nothing is left of it once its secrets are removed.
pub(super) fn without_secret(candidate: Candidate) -> Result<Candidate, Dropped> {
    let claim = &candidate.claim;
    let quote = candidate.evidence.first().map_or("", |evidence| evidence.quote.as_str());
    if is_only_secret(&claim.content, quote, claim.value.as_deref()) {
        return Err(dropped(DropReason::Secret, "nothing is left without the secret"));
    }
    Ok(candidate)
}

fn dropped(reason: DropReason, detail: impl Into<String>) -> Dropped {
    Dropped { reason, detail: detail.into() }
}

/// Maximum length of a stored quote, in bytes.
const MAX_QUOTE_BYTES: usize = 600;

/// The session, the schema and the injected text that the entries of one answer are compared with.
struct EntryChecker<'a> {
    task: &'a Task<'a>,
    shown: &'a Shown,
    schema: &'a Value,
    checked: Schema,
    injected: Injected,
    withheld: WithheldMessages,
    evidence_check: EvidenceCheck<'a>,
}

/// The messages that a proposal cites, as indexes of the transcript.
struct Cited {
    quoted: usize,
    others: Vec<usize>,
    /// The quoted passage as it appears in the message.
    quote: String,
}

impl<'a> EntryChecker<'a> {
    fn new(pool: &'a EvidencePool<'a>, session: usize, schema: &'a Value) -> Self {
        let (task, shown) = pool.session(session);
        let messages = &task.transcript.messages;
        // Injected text is collected from the beginning of the transcript, since boot files are injected there, long
        // before most windows.
        let injected = messages[..task.span.end].iter().enumerate().filter(|(_, one)| one.kind == Kind::Context);
        Self {
            task,
            shown,
            schema,
            checked: Schema::from_json(schema),
            injected: Injected::new(injected.map(|(index, one)| (index, one.text.as_str()))),
            withheld: WithheldMessages::of(messages, task.span),
            evidence_check: EvidenceCheck::new(pool, session),
        }
    }

    fn candidate(&self, item: Value, may_be_cut: bool) -> Result<Candidate, Dropped> {
        let mut proposal = self.proposal(item, may_be_cut)?;
        let cited = self.cited(&proposal)?;
        self.is_said(&proposal, &cited)?;
        self.is_grounded(&mut proposal, &cited)?;
        let claim = claim(&proposal, self.message(cited.quoted))?;
        let replaces = self.known(proposal.replaces).map(|memory| memory.id.clone());
        Ok(Candidate { replaces, ..Candidate::new(claim, proposal.audience, vec![self.evidence(cited)]) })
    }

    fn proposal(&self, item: Value, may_be_cut: bool) -> Result<Proposal, Dropped> {
        let item = normalised(item, self.schema, may_be_cut);
        // The faults do not contain the values, which must not appear in the repair prompt or the stored detail.
        let mut errors = self.checked.faults(&item);
        if errors.is_empty() {
            match serde_json::from_value::<Proposal>(item) {
                Ok(proposal) => return sound(proposal),
                Err(_) => errors.push("is not of the asked shape".to_owned()),
            }
        }
        // The detail is fixed, because the entry is sent again with the rest and `Answer::extend` recognises it by this
        // text.
        if may_be_cut {
            errors = vec![CUT_SHORT.to_owned()];
        }
        Err(dropped(DropReason::Invalid, errors.join(", ")))
    }

    fn cited(&self, proposal: &Proposal) -> Result<Cited, Dropped> {
        let wrong = |detail: String| dropped(DropReason::WrongMessage, detail);
        let indexes: Vec<usize> = proposal
            .messages
            .iter()
            .map(|number| self.shown.index(*number).ok_or_else(|| wrong(format!("message {number} was not shown"))))
            .collect::<Result<_, _>>()?;
        // Models often list the messages in order instead of starting with the quoted message, so each of them is
        // searched.
        let mut found = indexes.iter().filter_map(|&index| {
            let text = &self.message(index).text;
            quote::find(&proposal.quote, text).map(|range| (index, shortened(&text[range])))
        });
        let Some((quoted, quote)) = found.next() else {
            let detail =
                if indexes.is_empty() { "messages is empty" } else { "quote does not stand in the cited messages" };
            return Err(dropped(DropReason::QuoteNotFound, detail));
        };
        let mut others: Vec<usize> = indexes.into_iter().filter(|&index| index != quoted).collect();
        others.sort_unstable();
        others.dedup();
        Ok(Cited { quoted, others, quote })
    }

    /// Whether a person supports the proposal, in the part to extract from, with words that were not injected.
    fn is_said(&self, proposal: &Proposal, cited: &Cited) -> Result<(), Dropped> {
        let not_said = |detail: &str| Err(dropped(DropReason::NotSaid, detail));
        let quoted = self.message(cited.quoted);
        let all = || std::iter::once(&cited.quoted).chain(&cited.others);
        // The content of a file is not a person's own words, unless the person who attached it also talks about it.
        let is_shown_by_speaker = quoted.kind == Kind::Attachment
            && quoted.role == Role::User
            && all().any(|&index| self.message(index).is_human() && self.message(index).speaker == quoted.speaker);
        let is_participant = (quoted.kind == Kind::Prose || is_shown_by_speaker)
            && matches!(quoted.role, Role::User | Role::Assistant | Role::Other);
        // The output of a command shows what happened when a problem was solved. As with an assistant's claim, a person
        // must have continued from there.
        let is_result = proposal.episode.is_some() && self.is_printed_by_command(cited.quoted);
        if !is_participant && !is_result {
            return not_said("the quote is not what a participant said");
        }
        if all().any(|&index| self.withheld.contains(index)) {
            return not_said("its author asked not to keep it");
        }
        // A claim made only by an assistant may be invented. If it were stored as a memory, it would later appear to be
        // a fact.
        if !all().any(|&index| self.message(index).is_human()) {
            return not_said("no person said or confirmed it");
        }
        if !quoted.is_human()
            && !is_shown_by_speaker
            && !all().any(|&index| index > cited.quoted && self.message(index).is_human())
        {
            return not_said("no person confirmed it afterwards");
        }
        // Context was extracted with an earlier window, so a memory based only on it would be learnt twice.
        let span = self.task.span;
        if !all().any(|&index| (span.start..span.end).contains(&index) && self.message(index).is_human()) {
            return Err(dropped(DropReason::WrongMessage, "no cited message of a person is in <conversation>"));
        }
        // Only text injected before the quote counts: a rule that a person states first may be injected later.
        if self.injected.restates(&proposal.content, cited.quoted) || self.injected.restates(&cited.quote, cited.quoted)
        {
            return not_said("it restates injected text");
        }
        Ok(())
    }

    /// Whether the message is the output of a shell command, rather than a page or a file that somebody else wrote.
    fn is_printed_by_command(&self, index: usize) -> bool {
        let result = self.message(index);
        let call = result.action.as_ref().and_then(|action| action.call.as_ref());
        let is_call = |message: &&Message| {
            message.kind == Kind::ToolCall
                && call.is_none_or(|call| message.action.as_ref().and_then(|action| action.call.as_ref()) == Some(call))
        };
        let before = self.task.transcript.messages[..index].iter();
        result.kind == Kind::ToolResult
            && before
                .rev()
                .find(is_call)
                .is_some_and(|message| message.action.as_ref().is_some_and(|action| action.command.is_some()))
    }

    /// Whether the numbers, dates and names of the proposal were said, by the person it names, and with the same
    /// meaning.
    fn is_grounded(&self, proposal: &mut Proposal, cited: &Cited) -> Result<(), Dropped> {
        let (quoted, others, quote) = (cited.quoted, &cited.others[..], cited.quote.as_str());
        let replaced = self.known(proposal.replaces);
        self.evidence_check.check(proposal, &Citation { quoted, others, quote, replaced })
    }

    fn evidence(&self, cited: Cited) -> Evidence {
        let message = self.message(cited.quoted);
        let ids = std::iter::once(cited.quoted).chain(cited.others).map(|index| self.message(index).id.clone());
        Evidence {
            transcript: self.task.transcript.key(),
            messages: ids.collect(),
            quote: cited.quote,
            speaker: message.speaker.clone(),
            said_at: message.time,
            content_hash: message.content_hash(),
        }
    }

    /// A number that belongs to no known memory is an error, and the proposal is kept without it.
    fn known(&self, number: Option<i64>) -> Option<&'a Memory> {
        let position = usize::try_from(number?).ok()?.checked_sub(1)?;
        self.task.known[..self.shown.known].get(position)
    }

    fn message(&self, index: usize) -> &'a Message {
        &self.task.transcript.messages[index]
    }
}

/// Checks the rules that the schema cannot express in strict mode.
fn sound(proposal: Proposal) -> Result<Proposal, Dropped> {
    let invalid = |detail: &str| Err(dropped(DropReason::Invalid, detail));
    // Strict mode allows no bounds, so the schema that was sent cannot contain this bound.
    if !(1..=10).contains(&proposal.importance) {
        return invalid("importance is not from 1 to 10");
    }
    for (name, text) in [("title", &proposal.title), ("content", &proposal.content)] {
        if !text.chars().any(char::is_alphanumeric) {
            return invalid(&format!("{name} is empty"));
        }
    }
    Ok(proposal)
}

fn shortened(quote: &str) -> String {
    if quote.len() <= MAX_QUOTE_BYTES {
        return quote.to_owned();
    }
    // A prefix of the passage is still verbatim, so the stored quote can still be found in its message.
    let cut = &quote[..quote.floor_char_boundary(MAX_QUOTE_BYTES)];
    cut.rsplit_once(char::is_whitespace).map_or(cut, |(whole_words, _)| whole_words).to_owned()
}

/// Whether a text has no content apart from the placeholders of its secrets.
fn is_only_secret(content: &str, quote: &str, value: Option<&str>) -> bool {
    let blank = |text: &str| PLACEHOLDER.replace_all(text, " ").chars().all(|c| !c.is_alphanumeric());
    // A placeholder inside a word, as in an address, leaves something useful. A placeholder on its own is the whole
    // content.
    let is_point = ALONE.is_match(content) && units(&PLACEHOLDER.replace_all(content, " ")).len() < 8;
    blank(content) || blank(quote) || value.is_some_and(|value| PLACEHOLDER.is_match(value) && blank(value)) || is_point
}

static PLACEHOLDER: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)[\[<{«]{1,2}(?:redacted|private|secret)[^\]>}»\n]{0,80}[\]>}»]{1,2}")
        .expect("the pattern is constant and a test compiles it")
});

static ALONE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)(?:^|[\s'\x22`“:是为：])[\[<{«]{1,2}(?:redacted|private|secret)[^\]>}»\n]{0,80}[\]>}»]{1,2}(?:$|[\s'\x22`”.,;!?。，])")
        .expect("the pattern is constant and a test compiles it")
});

#[cfg(test)]
mod secret_tests {
    use super::*;

    #[test]
    fn a_memory_that_is_only_a_secret_says_nothing() {
        let hidden = |name: &str| format!("[REDACTED:{name}]");
        for content in
            [hidden("x"), format!("The user's API key is {}.", hidden("key")), format!("密码是{}", hidden("k"))]
        {
            assert!(is_only_secret(&content, "the key is", None), "{content}");
        }
        assert!(is_only_secret("The key rotates.", &hidden("k"), None));
        assert!(is_only_secret("The key rotates.", "rotates", Some(&hidden("k"))));
        let address = format!("The staging database is postgres://app:{}@db.internal/shop.", hidden("password"));
        assert!(!is_only_secret(&address, "staging database", Some(&address)));
        assert!(!is_only_secret("Secrets live in Vault (secret store).", "in Vault", Some("Vault")));
    }
}

#[cfg(test)]
mod table_tests;
#[cfg(test)]
mod tests;
