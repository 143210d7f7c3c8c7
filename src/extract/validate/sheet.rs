//! What the entries of one answer are held against, and the way of one entry through it.

use jsonschema::Validator;
use serde_json::Value;

use super::super::claim::claim;
use super::super::ground::{Citation, Ground, Injected, Pool};
use super::super::reply::normalised;
use super::super::schema::{Proposal, item_schema};
use super::super::{DropReason, Dropped, Task, quote};
use super::{CUT_SHORT, dropped};
use crate::extract::prompt::Shown;
use crate::llm::ReplySchema;
use crate::memory::{Candidate, Evidence, Memory};
use transcripts::{Kind, Message, Role};

/// Longest quote kept, in bytes.
pub(super) const MAX_QUOTE_BYTES: usize = 600;
/// Errors that are named of one entry.
const MAX_ERRORS: usize = 3;

/// What the entries of one answer are held against.
pub(super) struct Sheet<'a> {
    task: &'a Task<'a>,
    shown: &'a Shown,
    schema: &'a Value,
    validator: Validator,
    injected: Injected,
    ground: Ground<'a>,
}

/// The messages that a proposal cites, as indexes of the transcript.
struct Cited {
    quoted: usize,
    others: Vec<usize>,
    /// The quoted passage as it stands in the message.
    quote: String,
}

impl<'a> Sheet<'a> {
    pub(super) fn new(pool: &'a Pool<'a>, session: usize, schema: &'a ReplySchema) -> Self {
        let (task, shown) = pool.session(session);
        let messages = &task.transcript.messages;
        let injected = messages[..task.span.end].iter().enumerate().filter(|(_, one)| one.kind == Kind::Context);
        Self {
            task,
            shown,
            schema: item_schema(schema),
            validator: jsonschema::validator_for(item_schema(schema)).expect("the schema derives from a type"),
            injected: Injected::new(injected.map(|(index, one)| (index, one.text.as_str()))),
            ground: Ground::new(pool, session),
        }
    }

    pub(super) fn candidate(&self, item: Value, may_be_cut: bool) -> Result<Candidate, Dropped> {
        let mut proposal = self.proposal(item, may_be_cut)?;
        let cited = self.cited(&proposal)?;
        self.is_said(&proposal, &cited)?;
        self.is_grounded(&mut proposal, &cited)?;
        let claim = claim(&proposal, self.message(cited.quoted))?;
        Ok(Candidate {
            audience: proposal.audience,
            evidence: vec![self.evidence(cited)],
            replaces: self.known(proposal.replaces).map(|memory| memory.id.clone()),
            is_pasted: false,
            claim,
        })
    }

    fn proposal(&self, item: Value, may_be_cut: bool) -> Result<Proposal, Dropped> {
        let item = normalised(item, self.schema, may_be_cut);
        let mut errors: Vec<String> = self
            .validator
            .iter_errors(&item)
            .take(MAX_ERRORS)
            .map(|error| format!("{} {}", error.instance_path(), error.masked()).trim().to_owned())
            .collect();
        if errors.is_empty() {
            match serde_json::from_value::<Proposal>(item) {
                Ok(proposal) => return sound(proposal),
                Err(_) => errors.push("is not of the asked shape".to_owned()),
            }
        }
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

    /// Whether a person stands behind it, in the part to extract from, in words that were not injected.
    fn is_said(&self, proposal: &Proposal, cited: &Cited) -> Result<(), Dropped> {
        let not_said = |detail: &str| Err(dropped(DropReason::NotSaid, detail));
        let quoted = self.message(cited.quoted);
        let all = || std::iter::once(&cited.quoted).chain(&cited.others);
        let is_shown_by_speaker = quoted.kind == Kind::Attachment
            && quoted.role == Role::User
            && all().any(|&index| self.message(index).is_human() && self.message(index).speaker == quoted.speaker);
        if quoted.kind != Kind::Prose && !is_shown_by_speaker
            || !matches!(quoted.role, Role::User | Role::Assistant | Role::Other)
        {
            return not_said("the quote is not what a participant said");
        }
        if !all().any(|&index| self.message(index).is_human()) {
            return not_said("no person said or confirmed it");
        }
        if !quoted.is_human()
            && !is_shown_by_speaker
            && !all().any(|&index| index > cited.quoted && self.message(index).is_human())
        {
            return not_said("no person confirmed it afterwards");
        }
        let span = self.task.span;
        if !all().any(|&index| (span.start..span.end).contains(&index) && self.message(index).is_human()) {
            return Err(dropped(DropReason::WrongMessage, "no cited message of a person is in <conversation>"));
        }
        if self.injected.restates(&proposal.content, cited.quoted) || self.injected.restates(&cited.quote, cited.quoted)
        {
            return not_said("it restates injected text");
        }
        Ok(())
    }

    /// Whether its numbers, dates and names were said, by whom it says, and not the other way round.
    fn is_grounded(&self, proposal: &mut Proposal, cited: &Cited) -> Result<(), Dropped> {
        let (quoted, others, quote) = (cited.quoted, &cited.others[..], cited.quote.as_str());
        let replaced = self.known(proposal.replaces);
        self.ground.check(proposal, &Citation { quoted, others, quote, replaced })
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

    /// A number that no known memory has is a slip; the memory stands without it.
    fn known(&self, number: Option<i64>) -> Option<&'a Memory> {
        let position = usize::try_from(number?).ok()?.checked_sub(1)?;
        self.task.known[..self.shown.known].get(position)
    }

    fn message(&self, index: usize) -> &'a Message {
        &self.task.transcript.messages[index]
    }
}

/// Checks what the schema cannot say in strict mode.
fn sound(proposal: Proposal) -> Result<Proposal, Dropped> {
    let invalid = |detail: &str| Err(dropped(DropReason::Invalid, detail));
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

pub(super) fn shortened(quote: &str) -> String {
    if quote.len() <= MAX_QUOTE_BYTES {
        return quote.to_owned();
    }
    let cut = &quote[..quote.floor_char_boundary(MAX_QUOTE_BYTES)];
    cut.rsplit_once(char::is_whitespace).map_or(cut, |(whole_words, _)| whole_words).to_owned()
}
