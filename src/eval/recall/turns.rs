//! The turns of conversations as memories, in a store as anybody's.

use std::collections::{BTreeSet, HashMap};

use jiff::{Timestamp, ToSpan};

use crate::eval::EvalError;
use crate::eval::locomo::{Sample, Turn};
use crate::guard::Guard;
use crate::memory::{Claim, Evidence, ExtractionMethod, Memory, MemoryId, MemoryType, Namespace};
use crate::store::{Store, StoreError};
use crate::tokens;
use transcripts::MessageTime;

/// A question about one conversation.
#[derive(Debug, Clone)]
pub struct Asked {
    /// The conversation's namespace.
    pub namespace: Namespace,
    /// Its number in the file.
    pub sample: usize,
    /// The question.
    pub question: String,
    /// 1 for several turns, 2 for times, 3 for what follows from them, 4 for one turn.
    pub category: u64,
    /// The turns that answer it, as `namespace` and id.
    pub gold: BTreeSet<String>,
}

/// A store that holds every turn as a memory.
#[derive(Debug)]
pub struct Turns {
    /// The store.
    pub store: Store,
    /// When the questions are asked: a day after the last turn.
    pub now: Timestamp,
    /// The questions, in the file's order.
    pub asked: Vec<Asked>,
    /// What each turn says, by namespace, in order: its id and `speaker: text [shares image: what it shows]`.
    pub said: Vec<(Namespace, Vec<(String, String)>)>,
    ids: HashMap<MemoryId, String>,
    tokens: HashMap<String, usize>,
    characters: HashMap<String, usize>,
}

impl Turns {
    /// Writes the turns of `samples` into a new store, all learnt at one time after the last of them, as when logs are
    /// read that lie there.
    ///
    /// # Errors
    /// [`EvalError::Store`] if it cannot be written.
    pub fn of(samples: &[Sample]) -> Result<Self, EvalError> {
        let last = samples.iter().flat_map(|sample| &sample.turns).filter_map(|turn| turn.at).max();
        let now = last.unwrap_or(Timestamp::UNIX_EPOCH);
        let now = now.checked_add(24.hours()).unwrap_or(now);
        let mut turns = Self {
            store: Store::in_memory()?,
            now,
            asked: Vec::new(),
            said: Vec::new(),
            ids: HashMap::new(),
            tokens: HashMap::new(),
            characters: HashMap::new(),
        };
        for (number, sample) in samples.iter().enumerate() {
            turns.add(number, sample)?;
        }
        Ok(turns)
    }

    /// Returns the id of the turn that a memory is made from, unique among all conversations.
    #[must_use]
    pub fn turn_of(&self, memory: &MemoryId) -> Option<&String> {
        self.ids.get(memory)
    }

    /// Returns how many `o200k_base` tokens a turn has.
    #[must_use]
    pub fn tokens_of(&self, turn: &str) -> usize {
        self.tokens.get(turn).copied().unwrap_or_default()
    }

    /// Returns how many characters a turn has.
    #[must_use]
    pub fn characters_of(&self, turn: &str) -> usize {
        self.characters.get(turn).copied().unwrap_or_default()
    }

    fn add(&mut self, number: usize, sample: &Sample) -> Result<(), EvalError> {
        let namespace = Namespace::try_from(vec!["conversation".to_owned(), format!("{}-{number}", sample.id)])
            .unwrap_or_else(|_| Namespace::global());
        let guard = Guard::default();
        let unique = |turn: &str| format!("{namespace} {turn}");
        let mut said = Vec::new();
        self.store.write(None, self.now, |writer| {
            for turn in &sample.turns {
                let text = unit(turn);
                let memory = memory(turn, &text, &namespace, self.now);
                self.ids.insert(memory.id.clone(), unique(&turn.id));
                self.tokens.insert(unique(&turn.id), tokens::count(&text));
                self.characters.insert(unique(&turn.id), text.chars().count());
                let evidence = vec![evidence(turn, &sample.id)];
                writer.insert(&guard.redact(memory).0, &guard.redact(evidence).0)?;
                said.push((unique(&turn.id), text));
            }
            Ok::<_, StoreError>(())
        })?;
        self.asked.extend(sample.asked.iter().map(|question| Asked {
            namespace: namespace.clone(),
            sample: number,
            question: question.question.clone(),
            category: question.category,
            gold: question.evidence.iter().map(|id| unique(id)).collect(),
        }));
        self.said.push((namespace, said));
        Ok(())
    }
}

fn unit(turn: &Turn) -> String {
    match &turn.photo {
        Some(photo) => format!("{} [shares image: {photo}]", turn.said),
        None => turn.said.clone(),
    }
}

fn memory(turn: &Turn, text: &str, namespace: &Namespace, now: Timestamp) -> Memory {
    let claim = Claim::new(MemoryType::Episodic, "fact", "", text);
    Memory::new(claim, namespace.clone(), format!("locomo:{}", turn.id), ExtractionMethod::Imported, now)
}

fn evidence(turn: &Turn, sample: &str) -> Evidence {
    Evidence {
        transcript: format!("locomo:{sample}/session_{}", turn.session),
        messages: vec![turn.id.clone()],
        quote: turn.said.clone(),
        speaker: Some(turn.speaker.clone()),
        said_at: turn.at.map(MessageTime::logged),
        content_hash: String::new(),
    }
}
