//! Where the texts of each kind of value are.

use crate::memory::{Candidate, Claim, Evidence, Memory, Structured};
use crate::transcript::{Message, Transcript};

/// A value whose private texts can be visited.
pub trait Redact {
    /// Calls `edit` on every text in it that came from outside.
    fn edit_texts(&mut self, edit: &mut dyn FnMut(&mut String));
}

impl Redact for String {
    fn edit_texts(&mut self, edit: &mut dyn FnMut(&mut String)) {
        edit(self);
    }
}

impl<T: Redact> Redact for Option<T> {
    fn edit_texts(&mut self, edit: &mut dyn FnMut(&mut String)) {
        self.iter_mut().for_each(|value| value.edit_texts(edit));
    }
}

impl<T: Redact> Redact for Vec<T> {
    fn edit_texts(&mut self, edit: &mut dyn FnMut(&mut String)) {
        self.iter_mut().for_each(|value| value.edit_texts(edit));
    }
}

impl Redact for Message {
    fn edit_texts(&mut self, edit: &mut dyn FnMut(&mut String)) {
        edit(&mut self.text);
        self.speaker.edit_texts(edit);
    }
}

impl Redact for Transcript {
    fn edit_texts(&mut self, edit: &mut dyn FnMut(&mut String)) {
        self.title.edit_texts(edit);
        self.project.edit_texts(edit);
        self.origin.edit_texts(edit);
        self.messages.edit_texts(edit);
    }
}

impl Redact for Evidence {
    fn edit_texts(&mut self, edit: &mut dyn FnMut(&mut String)) {
        edit(&mut self.quote);
        self.speaker.edit_texts(edit);
    }
}

impl Redact for Claim {
    fn edit_texts(&mut self, edit: &mut dyn FnMut(&mut String)) {
        edit(&mut self.title);
        edit(&mut self.content);
        for text in [&mut self.summary, &mut self.subject, &mut self.key, &mut self.value] {
            text.edit_texts(edit);
        }
        self.tags.edit_texts(edit);
        self.structured.edit_texts(edit);
    }
}

impl Redact for Structured {
    fn edit_texts(&mut self, edit: &mut dyn FnMut(&mut String)) {
        match self {
            Self::Episode(episode) => {
                edit(&mut episode.situation);
                edit(&mut episode.action);
                episode.reasoning.edit_texts(edit);
                episode.learnings.edit_texts(edit);
            }
            Self::Procedure(procedure) => {
                edit(&mut procedure.name);
                edit(&mut procedure.description);
                procedure.steps.edit_texts(edit);
                procedure.triggers.edit_texts(edit);
            }
            Self::Pattern { pattern } => edit(pattern),
            Self::Profile { profile } => profile.values_mut().for_each(|value| value.edit_texts(edit)),
        }
    }
}

impl Redact for serde_json::Value {
    fn edit_texts(&mut self, edit: &mut dyn FnMut(&mut String)) {
        match self {
            Self::String(text) => edit(text),
            Self::Array(values) => values.iter_mut().for_each(|value| value.edit_texts(edit)),
            Self::Object(fields) => fields.values_mut().for_each(|value| value.edit_texts(edit)),
            Self::Null | Self::Bool(_) | Self::Number(_) => {}
        }
    }
}

impl Redact for Candidate {
    fn edit_texts(&mut self, edit: &mut dyn FnMut(&mut String)) {
        self.claim.edit_texts(edit);
        self.evidence.edit_texts(edit);
    }
}

impl Redact for Memory {
    fn edit_texts(&mut self, edit: &mut dyn FnMut(&mut String)) {
        self.claim.edit_texts(edit);
        edit(&mut self.source);
    }
}
