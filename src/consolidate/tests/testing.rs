//! Claims written on one line, for tests.

use jiff::Timestamp;

use crate::memory::{
    Audience, Candidate, Claim, Evidence, ExtractionMethod, Memory, MemoryId, MemoryType, Namespace, Procedure, Status,
    Structured,
};
use transcripts::MessageTime;

use crate::consolidate::{IncomingClaim, Known};

/// The current time in tests.
pub(in crate::consolidate) fn now() -> Timestamp {
    at("2026-06-01")
}

pub(in crate::consolidate) fn at(day: &str) -> Timestamp {
    format!("{day}T12:00:00Z").parse().unwrap()
}

/// A claim and its properties, read from `name=value; name=value | content`; the part before `|` may be missing.
pub(in crate::consolidate) struct Line<'a> {
    options: Vec<(&'a str, &'a str)>,
    content: &'a str,
}

impl<'a> Line<'a> {
    pub(in crate::consolidate) fn parse(text: &'a str) -> Self {
        let (options, content) = text.split_once('|').unwrap_or(("", text));
        let options = options.split(';').map(str::trim).filter(|option| !option.is_empty());
        Self {
            options: options.map(|option| option.split_once('=').unwrap_or((option, ""))).collect(),
            content: content.trim(),
        }
    }

    fn get(&self, name: &str) -> Option<&'a str> {
        self.options.iter().find(|(option, _)| *option == name).map(|(_, value)| *value)
    }

    fn claim(&self) -> Claim {
        let memory_type = if self.get("episode").is_some() { MemoryType::Episodic } else { MemoryType::Semantic };
        let mut claim = Claim::new(memory_type, self.get("category").unwrap_or("fact"), "title", self.content);
        claim.structured = self.get("order").map(|_| {
            Structured::Procedure(Procedure {
                name: String::new(),
                description: self.content.to_owned(),
                steps: Vec::new(),
                triggers: Vec::new(),
                priority: None,
            })
        });
        claim.key = self.get("key").map(str::to_owned);
        claim.value = self.get("value").map(str::to_owned);
        claim.subject = self.get("subject").map(str::to_owned);
        claim.confidence = self.get("sure").map_or(0.8, |sure| sure.parse().unwrap());
        claim.valid_from = self.get("from").map(at);
        claim.expires_at = self.get("expires").map(at);
        claim
    }

    /// Returns the evidence, which is the claim's own unless `words=` names another source; `undated` logs have no
    /// time.
    fn evidence(&self, default_words: &str, default_day: &str) -> Vec<Evidence> {
        if self.get("bare").is_some() {
            return Vec::new();
        }
        let words = self.get("words").unwrap_or(default_words);
        let (transcript, message) = words.split_once('/').unwrap_or((words, "x"));
        let day = self.get("said").unwrap_or(default_day);
        vec![Evidence {
            transcript: transcript.to_owned(),
            messages: vec![message.to_owned()],
            quote: self.get("quote").unwrap_or(self.content).to_owned(),
            speaker: self.get("speaker").map(str::to_owned),
            said_at: self.get("undated").is_none().then(|| MessageTime::logged(at(day))),
            content_hash: format!("{transcript}/{message}"),
        }]
    }

    fn namespace(&self) -> Namespace {
        self.get("ns").map_or_else(Namespace::global, |ns| ns.parse().unwrap())
    }
}

/// A stored memory, said on 2026-01-10 unless the line says otherwise.
pub(in crate::consolidate) fn known(id: &str, text: &str) -> Known {
    let line = Line::parse(text);
    let mut memory = Memory::new(line.claim(), line.namespace(), "test", ExtractionMethod::Auto, at("2026-05-01"));
    memory.id = MemoryId::from_stored(id);
    memory.pinned = line.get("pinned").is_some();
    memory.status = line.get("status").map_or(Status::Active, |status| status.parse().unwrap());
    memory.claim.valid_to = line.get("to").map(at);
    Known { evidence: line.evidence(&format!("log-{id}/1"), "2026-01-10"), memory, fresh: false }
}

/// A candidate, said on 2026-02-10 unless the line says otherwise.
pub(in crate::consolidate) fn incoming(text: &str) -> IncomingClaim {
    let line = Line::parse(text);
    IncomingClaim {
        candidate: Candidate {
            claim: line.claim(),
            audience: Audience::User,
            evidence: line.evidence(&format!("log-{}/1", line.content), "2026-02-10"),
            replaces: line.get("replaces").map(MemoryId::from_stored),
            is_pasted: false,
            is_shipped: false,
            updates_only: false,
        },
        namespace: line.namespace(),
        source: "test".into(),
        method: ExtractionMethod::Auto,
        id: None,
        past: None,
        needs_review: false,
        is_later: false,
    }
}
