//! What one case came to.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::case::{Importance, Ruling};
use super::counts::Counts;
use super::details::count_lost;
use super::matcher::Rules;
use super::prediction::{Cited, Prediction};
use super::run::Ran;
use super::score::{Finding, Scored, Standing};
use super::suite::Loaded;
use crate::memory::MemoryType;

/// What one case came to.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct CaseReport {
    /// `split/id`.
    pub case: String,
    /// Its folder.
    pub folder: PathBuf,
    /// Its split.
    pub split: String,
    /// What is hard about it.
    pub about: String,
    /// Its language.
    pub language: String,
    /// Its format.
    pub format: String,
    /// What it tests.
    pub phenomena: Vec<String>,
    /// Why it could not be run, if so; then nothing of it is counted.
    pub error: Option<String>,
    /// What a reviewer should mend in it.
    pub flaws: Vec<String>,
    /// What went wrong in the run without spoiling it.
    pub notes: Vec<String>,
    /// What was counted.
    pub counts: Option<Counts>,
    /// Gold memories that must be there and are not.
    pub missed: Vec<Missed>,
    /// The memories.
    pub memories: Vec<Entry>,
    /// What memories say whose place others took.
    pub superseded: Vec<String>,
    /// What memories say that wait for a person.
    pub pending: Vec<String>,
}

/// A gold memory that is not there.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Missed {
    /// Its id.
    pub id: String,
    /// How much it matters.
    pub importance: Importance,
    /// What should be remembered.
    pub text: String,
    /// Whether it was found, and then retired.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub lost: bool,
}

/// A memory, and what it is.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Entry {
    /// What it is.
    pub standing: Standing,
    /// Its type.
    #[serde(rename = "type")]
    pub memory_type: MemoryType,
    /// What it says.
    pub content: String,
    /// What it rests on.
    pub evidence: Vec<Cited>,
    /// Ids of the gold memories that it says.
    pub golds: Vec<String>,
    /// Ids of the gold memories that it says wrongly.
    pub distorts: Vec<String>,
    /// Ids and kinds of what it says and must not.
    pub forbidden: Vec<String>,
    /// Whether its type is a gold one.
    pub type_right: Option<bool>,
    /// Whether it cites a message with gold evidence.
    pub evidence_right: Option<bool>,
    /// Whether all its quotes stand in the messages cited.
    pub quotes_found: bool,
    /// Whether it is in the language of the case.
    pub in_language: bool,
    /// What an independent reader says of it.
    pub verdict: Option<Ruling>,
}

impl CaseReport {
    /// Tells of a case that could not be read.
    #[must_use]
    pub fn unreadable(folder: PathBuf, error: String) -> Self {
        let case = folder.display().to_string();
        Self { case, error: Some(error), folder, ..Self::empty() }
    }

    /// Tells of a case that could not be run.
    #[must_use]
    pub fn failed(case: &Loaded, error: String) -> Self {
        Self { error: Some(error), ..Self::head(case) }
    }

    /// Tells what came of a case.
    #[must_use]
    pub fn scored(case: &Loaded, ran: Ran, scored: Scored, flaws: Vec<String>) -> Self {
        let mut counts = scored.counts;
        counts.usage = ran.usage;
        let lost = count_lost(&case.rules, &scored.recalled, &ran.retired, &mut counts);
        if let Some((before, grown)) = ran.again {
            (counts.before_again, counts.grown) = (before, grown);
        }
        counts.superseded = ran.superseded.len() as u64;
        counts.pending = ran.pending.len() as u64;
        let missed = case.rules.golds.iter().zip(&scored.recalled).filter(|(gold, there)| !**there && !gold.optional);
        let missed = missed.map(|(gold, _)| Missed {
            id: gold.id.clone(),
            importance: gold.importance,
            text: gold.text.clone(),
            lost: lost.contains(&gold.id),
        });
        let entries = ran.predictions.into_iter().zip(scored.findings);
        Self {
            flaws,
            notes: ran.notes,
            counts: Some(counts),
            missed: missed.collect(),
            memories: entries.map(|(prediction, finding)| Entry::of(&case.rules, prediction, &finding)).collect(),
            superseded: ran.superseded,
            pending: ran.pending,
            ..Self::head(case)
        }
    }

    fn head(case: &Loaded) -> Self {
        Self {
            case: case.label(),
            folder: case.folder.clone(),
            split: case.split.clone(),
            about: case.case.about.clone(),
            language: case.case.language.to_string(),
            format: case.case.format.clone(),
            phenomena: case.case.phenomena.clone(),
            ..Self::empty()
        }
    }

    fn empty() -> Self {
        Self {
            case: String::new(),
            folder: PathBuf::new(),
            split: String::new(),
            about: String::new(),
            language: String::new(),
            format: String::new(),
            phenomena: Vec::new(),
            error: None,
            flaws: Vec::new(),
            notes: Vec::new(),
            counts: None,
            missed: Vec::new(),
            memories: Vec::new(),
            superseded: Vec::new(),
            pending: Vec::new(),
        }
    }
}

impl Entry {
    fn of(rules: &Rules, prediction: Prediction, finding: &Finding) -> Self {
        let ids = |places: &[usize]| places.iter().map(|&at| rules.golds[at].id.clone()).collect();
        let forbidden = finding.forbidden.iter().map(|&at| &rules.forbidden[at]);
        Self {
            standing: finding.standing,
            memory_type: prediction.memory_type,
            content: prediction.content,
            evidence: prediction.evidence,
            golds: ids(&finding.golds),
            distorts: ids(&finding.distorts),
            forbidden: forbidden.map(|one| format!("{} {}", one.id, one.kind)).collect(),
            type_right: finding.type_right,
            evidence_right: finding.evidence_right,
            quotes_found: finding.quotes.0 == finding.quotes.1,
            in_language: finding.in_language,
            verdict: finding.verdict,
        }
    }

    /// Returns what is wrong with it, in a few words; `None` where nothing is.
    #[must_use]
    pub fn complaint(&self) -> Option<String> {
        match self.standing {
            Standing::Forbidden => Some(format!("forbidden ({})", self.forbidden.join(", "))),
            Standing::Distorted => Some(format!("distorts {}", self.distorts.join(", "))),
            Standing::Unlisted if self.verdict == Some(Ruling::Kept) => None,
            Standing::Unlisted => Some("unlisted".to_owned()),
            Standing::Duplicate => Some(format!("repeats {}", self.golds.join(", "))),
            Standing::Right | Standing::Optional => self.detail(),
        }
    }

    fn detail(&self) -> Option<String> {
        let said = self.golds.join(", ");
        if !self.quotes_found {
            Some("quotes what does not stand there".to_owned())
        } else if self.evidence_right == Some(false) {
            Some(format!("{said}: other evidence"))
        } else if self.type_right == Some(false) {
            Some(format!("{said}: not {}", self.memory_type))
        } else if !self.in_language {
            Some(format!("{said}: other language"))
        } else {
            None
        }
    }
}
