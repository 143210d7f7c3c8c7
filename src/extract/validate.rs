//! From a model's answer to candidates: nothing is believed that cannot be found in the conversation. Pure.

use jsonschema::Validator;
use serde_json::Value;

use super::claim::claim;
use super::ground::{Injected, foreign_number, is_only_secret};
pub use super::quote::quote_found;
use super::reply::normalised;
use super::schema::{Proposal, item_schema};
use super::session::Shown;
use super::{DropReason, Dropped, Task, quote};
use crate::llm::ReplySchema;
use crate::memory::{Candidate, Evidence, MemoryId};
use crate::transcript::{Kind, Message, Role};

/// Longest quote kept, in bytes.
const MAX_QUOTE_BYTES: usize = 600;
/// Errors that are named of one entry.
const MAX_ERRORS: usize = 3;

/// How much of an answer could be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Legible {
    /// A list, to its end.
    Whole,
    /// The beginning of a list.
    Cut,
    /// No list.
    Not,
}

/// What the entries of an answer come to that belong to one session. Each is one candidate or one dropped proposal.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Checked {
    /// What passed.
    pub candidates: Vec<Candidate>,
    /// What did not, by its 1-based place in the list.
    pub dropped: Vec<(usize, Dropped)>,
}

impl Checked {
    /// Returns the number of entries.
    pub(super) fn proposed(&self) -> usize {
        self.candidates.len() + self.dropped.len()
    }

    /// Returns the number of entries that do not have the shape that was asked for.
    pub(super) fn broken(&self) -> usize {
        self.dropped.iter().filter(|(_, one)| one.reason == DropReason::Invalid).count()
    }
}

/// An entry of an answer.
#[derive(Debug, Clone)]
pub(super) struct Item {
    /// Its 1-based place in the list.
    pub place: usize,
    /// The entry, unchecked.
    pub value: Value,
    /// Whether it is the last of a list that is not whole.
    pub may_be_cut: bool,
}

/// Whether a second look can mend a proposal that was dropped for `reason`.
pub(super) fn is_mendable(reason: DropReason) -> bool {
    match reason {
        DropReason::Invalid | DropReason::WrongMessage | DropReason::QuoteNotFound => true,
        DropReason::NotSaid | DropReason::Secret | DropReason::KnownContext => false,
    }
}

/// Holds `items`, entries of the answer to a request that showed `shown` of `task` and asked for `schema`, against it.
pub(super) fn check(items: Vec<Item>, task: &Task<'_>, shown: &Shown, schema: &ReplySchema) -> Checked {
    let mut checked = Checked::default();
    if items.is_empty() {
        return checked;
    }
    let sheet = Sheet::new(task, shown, schema);
    for Item { place, value, may_be_cut } in items {
        match sheet.candidate(value, may_be_cut) {
            Ok(candidate) => checked.candidates.push(candidate),
            Err(dropped) => checked.dropped.push((place, dropped)),
        }
    }
    checked
}

/// Drops a candidate of which nothing is left once its secrets were taken out.
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

/// What the entries of one answer are held against.
struct Sheet<'a> {
    task: &'a Task<'a>,
    shown: &'a Shown,
    schema: &'a Value,
    validator: Validator,
    injected: Injected,
    sources: Vec<&'a str>,
}

/// The messages that a proposal cites, as indexes of the transcript.
struct Cited {
    quoted: usize,
    others: Vec<usize>,
    /// The quoted passage as it stands in the message.
    quote: String,
}

impl<'a> Sheet<'a> {
    fn new(task: &'a Task<'a>, shown: &'a Shown, schema: &'a ReplySchema) -> Self {
        let messages = &task.transcript.messages;
        let injected = messages[..task.span.end].iter().enumerate().filter(|(_, one)| one.kind == Kind::Context);
        let said = shown.messages.iter().map(|&index| messages[index].text.as_str());
        let known = task.known.iter().map(|memory| memory.claim.content.as_str());
        let about = task.transcript.project.iter().chain(&task.transcript.title).map(String::as_str);
        Self {
            task,
            shown,
            schema: item_schema(schema),
            validator: jsonschema::validator_for(item_schema(schema)).expect("the schema derives from a type"),
            injected: Injected::new(injected.map(|(index, one)| (index, one.text.as_str()))),
            sources: said.chain(known).chain(about).collect(),
        }
    }

    fn candidate(&self, item: Value, may_be_cut: bool) -> Result<Candidate, Dropped> {
        let proposal = self.proposal(item, may_be_cut)?;
        let cited = self.cited(&proposal)?;
        self.is_said(&proposal, &cited)?;
        let claim = claim(&proposal, self.message(cited.quoted))?;
        Ok(Candidate {
            audience: proposal.audience,
            evidence: vec![self.evidence(cited)],
            replaces: self.replaced(proposal.replaces),
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
            errors = vec!["is cut short".to_owned()];
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
        if quoted.kind != Kind::Prose || !matches!(quoted.role, Role::User | Role::Assistant | Role::Other) {
            return not_said("the quote is not what a participant said");
        }
        let all = || std::iter::once(&cited.quoted).chain(&cited.others);
        if !all().any(|&index| self.message(index).is_human()) {
            return not_said("no person said or confirmed it");
        }
        if !quoted.is_human() && !all().any(|&index| index > cited.quoted && self.message(index).is_human()) {
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
        match foreign_number(&proposal.content, &self.sources) {
            Some(number) => not_said(&format!("the number {number} stands in no message")),
            None => Ok(()),
        }
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
    fn replaced(&self, number: Option<i64>) -> Option<MemoryId> {
        let position = usize::try_from(number?).ok()?.checked_sub(1)?;
        self.task.known[..self.shown.known].get(position).map(|memory| memory.id.clone())
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

fn shortened(quote: &str) -> String {
    if quote.len() <= MAX_QUOTE_BYTES {
        return quote.to_owned();
    }
    let cut = &quote[..quote.floor_char_boundary(MAX_QUOTE_BYTES)];
    cut.rsplit_once(char::is_whitespace).map_or(cut, |(whole_words, _)| whole_words).to_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::Span;
    use super::super::answer::Answer;
    use super::super::prompt::user;
    use super::super::schema::reply_schema;
    use super::super::views::View;
    use super::*;
    use crate::memory::{Audience, Claim, ExtractionMethod, Memory, MemoryType, Namespace, Scope};
    use crate::transcript::{MessageTime, TimeSource, Transcript};

    /// Prompt numbers: 1 assistant, 2 user (both read before), 3 assistant, 4 user Ana, 5 tool result, 6 assistant.
    fn transcript() -> Transcript {
        let at = |minute: i64| MessageTime {
            at: format!("2026-03-01T12:{minute:02}:00Z").parse().unwrap(),
            offset_seconds: Some(3600),
            source: TimeSource::Log,
        };
        let boot = "Run the whole test suite before each commit and never skip the linter.";
        let mut messages = vec![
            Message { kind: Kind::Context, ..Message::prose(Role::System, boot) },
            Message::assistant("Where do you live?"),
            Message::user("I live in Split and run the whole test suite before each commit."),
            Message::assistant("Shall we always use pnpm instead of npm?"),
            Message {
                speaker: Some("Ana".into()),
                ..Message::user("Yes please. I'm allergic to “peanuts”,\nand the limit is 250 MB.")
            },
            Message { kind: Kind::ToolResult, ..Message::prose(Role::Tool, "pnpm 9.1 installed everywhere") },
            Message::assistant("pnpm is the fastest package manager."),
        ];
        for (minute, message) in (0..).zip(&mut messages) {
            message.id = format!("m{minute}");
            message.time = Some(at(minute));
        }
        Transcript { source: "test".into(), external_id: "t1".into(), messages, ..Transcript::default() }
    }

    fn known() -> Memory {
        let claim = Claim::new(MemoryType::Semantic, "fact", "t", "The user uses npm.");
        let now = "2026-01-01T00:00:00Z".parse().unwrap();
        Memory::new(claim, Namespace::global(), "manual", ExtractionMethod::Manual, now)
    }

    fn answer(text: &str, known: &[Memory]) -> Answer {
        let transcript = transcript();
        let span = Span { context_start: 0, start: 3, end: 7 };
        let categories = ["fact", "preference", "profile", "pattern"].map(str::to_owned);
        let task = Task { transcript: &transcript, span, known, instructions: None, categories: &categories };
        let shown = user(&[task], &View::of(span)).sessions;
        Answer::read(text, &[task], &shown, &reply_schema(&categories))
    }

    fn checked(text: &str, known: &[Memory]) -> Checked {
        answer(text, known).sessions.remove(0)
    }

    /// A sound entry, with `changes` made to it.
    fn entry(changes: &Value) -> Value {
        let mut entry = json!({
            "type": "semantic", "category": "fact", "title": "Peanut allergy", "content": "Ana is allergic to peanuts.",
            "subject": "health", "key": "user.allergy", "value": "peanuts", "audience": "user", "basis": "stated",
            "importance": 9, "from": null, "to": null, "expires": null, "messages": [4],
            "quote": "I'm allergic to \"peanuts\"", "replaces": null, "tags": ["Health", "#health", "food"],
            "episode": null, "procedure": null,
        });
        for (name, value) in changes.as_object().unwrap() {
            entry[name] = value.clone();
        }
        entry
    }

    fn reply(entries: &[Value]) -> String {
        json!({"memories": entries}).to_string()
    }

    fn only_drop(changes: &Value) -> Dropped {
        let mut checked = checked(&reply(&[entry(changes)]), &[known()]);
        assert_eq!((checked.candidates.len(), checked.dropped.len()), (0, 1), "{changes}");
        checked.dropped.remove(0).1
    }

    fn only_candidate(changes: &Value) -> Candidate {
        let mut checked = checked(&reply(&[entry(changes)]), &[known()]);
        assert_eq!(checked.dropped, [], "{changes}");
        checked.candidates.remove(0)
    }

    #[test]
    fn a_sound_entry_becomes_a_candidate_with_evidence() {
        let transcript = transcript();
        let message = &transcript.messages[4];
        let candidate = only_candidate(&json!({"from": "2026", "expires": "2026-03-05"}));
        let expected = Candidate {
            claim: Claim {
                subject: Some("health".into()),
                key: Some("user.allergy".into()),
                value: Some("peanuts".into()),
                scope: Scope::ShortTerm,
                importance: 0.9,
                confidence: 0.9,
                tags: vec!["health".into(), "food".into()],
                valid_from: Some("2025-12-31T23:00:00Z".parse().unwrap()),
                expires_at: Some("2026-03-05T22:59:59Z".parse().unwrap()),
                ..Claim::new(MemoryType::Semantic, "fact", "Peanut allergy", "Ana is allergic to peanuts.")
            },
            audience: Audience::User,
            evidence: vec![Evidence {
                transcript: "test:t1".into(),
                messages: vec!["m4".into()],
                quote: "I'm allergic to “peanuts”".into(),
                speaker: Some("Ana".into()),
                said_at: message.time,
                content_hash: message.content_hash(),
            }],
            replaces: None,
            is_pasted: false,
        };
        assert_eq!(candidate, expected);
    }

    #[test]
    fn every_fault_is_dropped_for_its_reason() {
        for (changes, reason, detail) in [
            (json!({"type": "opinion"}), DropReason::Invalid, "/type"),
            (json!({"category": "gossip"}), DropReason::Invalid, "/category"),
            (json!({"quote": null}), DropReason::Invalid, "/quote"),
            (json!({"importance": 11}), DropReason::Invalid, "importance is not from 1 to 10"),
            (json!({"importance": 0.7}), DropReason::Invalid, "/importance"),
            (json!({"content": " … "}), DropReason::Invalid, "content is empty"),
            (json!({"from": "last May"}), DropReason::Invalid, "from is not a date"),
            (json!({"from": "2026-03", "to": "2026-02"}), DropReason::Invalid, "to is before from"),
            (json!({"messages": [4, 99]}), DropReason::WrongMessage, "message 99 was not shown"),
            (json!({"messages": [0]}), DropReason::WrongMessage, "message 0 was not shown"),
            (json!({"messages": [-1]}), DropReason::WrongMessage, "message -1 was not shown"),
            (
                json!({"messages": [2], "quote": "I live in Split", "content": "The user lives in Split."}),
                DropReason::WrongMessage,
                "no cited message of a person is in <conversation>",
            ),
            (json!({"messages": []}), DropReason::QuoteNotFound, "messages is empty"),
            (json!({"quote": "I am allergic to nuts"}), DropReason::QuoteNotFound, "quote does not stand"),
            (json!({"messages": [3]}), DropReason::QuoteNotFound, "quote does not stand"),
            (
                json!({"messages": [6], "quote": "pnpm is the fastest", "content": "pnpm is the fastest tool."}),
                DropReason::NotSaid,
                "no person said or confirmed it",
            ),
            (
                json!({"messages": [6, 4], "quote": "pnpm is the fastest", "content": "pnpm is the fastest tool."}),
                DropReason::NotSaid,
                "no person confirmed it afterwards",
            ),
            (json!({"messages": [5, 4], "quote": "pnpm 9.1 installed"}), DropReason::NotSaid, "not what a participant"),
            (
                json!({"content": "Run the whole test suite before each commit, never skip the linter."}),
                DropReason::NotSaid,
                "it restates injected text",
            ),
            (json!({"content": "The limit is 512 MB."}), DropReason::NotSaid, "the number 512 stands in no message"),
        ] {
            let dropped = only_drop(&changes);
            assert_eq!(dropped.reason, reason, "{changes}: {}", dropped.detail);
            assert!(dropped.detail.contains(detail), "{changes}: {}", dropped.detail);
        }
    }

    #[test]
    fn errors_do_not_repeat_what_was_said() {
        let dropped = only_drop(&json!({"category": "peanuts", "audience": "Ana", "messages": "all of Ana's"}));
        assert!(!dropped.detail.contains("peanuts") && !dropped.detail.contains("Ana"), "{}", dropped.detail);
    }

    #[test]
    fn an_assistants_proposal_counts_once_a_person_confirms_it() {
        let changes = json!({
            "content": "Ana wants pnpm instead of npm to be used.", "messages": [3, 4],
            "quote": "always use pnpm instead of npm", "basis": "stated", "replaces": 1,
        });
        let candidate = only_candidate(&changes);
        assert_eq!(candidate.evidence[0].messages, ["m3", "m4"]);
        assert!((candidate.claim.confidence - 0.8).abs() < f64::EPSILON);
        assert!(candidate.replaces.is_some());
        assert_eq!(only_candidate(&json!({"replaces": 7})).replaces, None);
    }

    #[test]
    fn the_quoted_message_comes_first_wherever_it_is_cited() {
        assert_eq!(only_candidate(&json!({"messages": [6, 3, 4, 4]})).evidence[0].messages, ["m4", "m3", "m6"]);
    }

    #[test]
    fn parts_follow_the_type() {
        let episode =
            json!({"situation": "s", "action": "a", "outcome": "failure", "reasoning": null, "learnings": ["l"]});
        let steps = json!({"name": "n", "description": "d", "triggers": ["t"], "steps": ["s"]});
        let parts = |changes: &Value| serde_json::to_value(only_candidate(changes).claim.structured).unwrap();
        assert_eq!(
            parts(&json!({"type": "episodic", "episode": episode, "procedure": steps})),
            json!({"situation": "s", "action": "a", "outcome": "failure", "learnings": ["l"]})
        );
        assert_eq!(
            parts(&json!({"type": "procedural", "procedure": steps})),
            json!({"name": "n", "description": "d", "steps": ["s"], "triggers": ["t"]})
        );
        assert_eq!(parts(&json!({"type": "procedural"}))["name"], "Peanut allergy");
        assert_eq!(
            parts(&json!({"type": "episodic", "category": "pattern"})),
            json!({"pattern": "Ana is allergic to peanuts."})
        );
        assert_eq!(parts(&json!({"category": "profile"})), json!({"profile": {"allergy": "peanuts"}}));
        assert_eq!(parts(&json!({"episode": episode})), Value::Null);
    }

    #[test]
    fn a_long_quote_is_shortened_at_a_word() {
        let long = "peanut ".repeat(200);
        let short = shortened(long.trim());
        assert!(short.len() <= MAX_QUOTE_BYTES && long.starts_with(&short) && short.ends_with("peanut"), "{short}");
        assert_eq!(shortened(&"花".repeat(400)), "花".repeat(200));
    }

    #[test]
    fn every_entry_of_a_list_is_accounted_for() {
        let mut cut = reply(&[entry(&json!({})), entry(&json!({"quote": "no such words"})), entry(&json!({}))]);
        cut.truncate(cut.len() - 40);
        let mut answer = answer(&cut, &[]);
        let checked = answer.sessions.remove(0);
        assert_eq!((answer.legible, checked.candidates.len()), (Legible::Cut, 1));
        let dropped: Vec<_> =
            checked.dropped.iter().map(|(place, one)| (*place, one.reason, one.detail.as_str())).collect();
        assert_eq!(
            dropped,
            [
                (2, DropReason::QuoteNotFound, "quote does not stand in the cited messages"),
                (3, DropReason::Invalid, "is cut short"),
            ]
        );
    }

    #[test]
    fn repairs_are_wanted_for_shape_and_for_citations_only() {
        let good = entry(&json!({}));
        let bad = |changes: Value| entry(&changes);
        for (text, wanted) in [
            ("no list".to_owned(), true),
            (reply(&[]), false),
            (reply(&[good.clone(), bad(json!({"importance": 0}))]), true),
            (reply(&[bad(json!({"quote": "not there"}))]), true),
            (reply(&[good, bad(json!({"quote": "not there"}))]), false),
            (reply(&[bad(json!({"messages": [6], "quote": "pnpm is the fastest"}))]), false),
        ] {
            assert_eq!(answer(&text, &[]).wants_repair(), wanted, "{text}");
        }
    }

    #[test]
    fn a_candidate_that_is_only_a_secret_is_dropped() {
        let mut candidate = only_candidate(&json!({}));
        assert_eq!(without_secret(candidate.clone()), Ok(candidate.clone()));
        candidate.claim.content = format!("The key is [{}:api_key].", "REDACTED");
        assert_eq!(without_secret(candidate).unwrap_err().reason, DropReason::Secret);
    }
}
