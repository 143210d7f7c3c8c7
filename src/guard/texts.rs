//! Where the texts of each kind of value are.

use crate::memory::{Candidate, Claim, Evidence, Memory, Structured};
use transcripts::{Message, Transcript};

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
        self.repository.edit_texts(edit);
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
        if let (Some(key), Some(value)) = (&self.key, &mut self.value) {
            edit_named(key, value, edit);
        }
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
            Self::Profile { profile } => edit_fields(profile, edit),
        }
    }
}

fn edit_fields(fields: &mut serde_json::Map<String, serde_json::Value>, edit: &mut dyn FnMut(&mut String)) {
    for (key, value) in fields {
        if let serde_json::Value::String(value) = value {
            edit_named(key, value, edit);
        }
        value.edit_texts(edit);
    }
}

/// Edits a value together with its name, since `hunter2` is a secret only as the value of `db.password`.
fn edit_named(name: &str, value: &mut String, edit: &mut dyn FnMut(&mut String)) {
    let head = format!("{name}=\"");
    let mut pair = format!("{head}{value}\"");
    edit(&mut pair);
    if let Some(edited) = pair.strip_prefix(&head).and_then(|rest| rest.strip_suffix('"')) {
        edited.clone_into(value);
    } else {
        // The name itself was edited, so the pair cannot be taken apart; nothing of the value may stay.
        *value = pair;
    }
}

impl Redact for serde_json::Value {
    fn edit_texts(&mut self, edit: &mut dyn FnMut(&mut String)) {
        match self {
            Self::String(text) => edit(text),
            Self::Array(values) => values.iter_mut().for_each(|value| value.edit_texts(edit)),
            Self::Object(fields) => edit_fields(fields, edit),
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::{Findings, Guard};
    use super::*;
    use crate::memory::MemoryType;

    #[test]
    fn a_claim_is_judged_by_its_key_and_value_together() {
        let claim = Claim {
            key: Some("db.password".into()),
            value: Some("hunter2".into()),
            tags: vec!["db".into()],
            ..Claim::new(MemoryType::Semantic, "fact", "Database", "The password for the database is hunter2.")
        };
        let (clean, findings) = Guard::default().redact(claim.clone());
        let expected = Claim {
            value: Some("[redacted:password]".into()),
            content: "The password for the database is [redacted:spoken-password].".into(),
            ..claim
        };
        assert_eq!(*clean, expected);
        assert_eq!(findings, Findings::from([("password", 1), ("spoken-password", 1)]));
        let (again, findings) = Guard::default().redact(clean.clone().into_inner());
        assert_eq!((again, findings), (clean, Findings::new()));
    }

    #[test]
    fn ordinary_keys_leave_their_values() {
        let claim = Claim {
            key: Some("user.residence".into()),
            value: Some("Berlin \"Mitte\" 10115".into()),
            ..Claim::new(MemoryType::Semantic, "fact", "Residence", "The user lives in Berlin.")
        };
        assert_eq!(*Guard::default().redact(claim.clone()).0, claim);
    }

    #[test]
    fn fields_of_json_are_judged_by_their_names() {
        let value = json!({"name": "Ana", "login": {"password": "correct horse 7", "attempts": 3}, "list": ["token: a1b2c3d4e5f6"]});
        let expected = json!({"name": "Ana", "login": {"password": "[redacted:password]", "attempts": 3}, "list": ["token: [redacted:secret]"]});
        assert_eq!(*Guard::default().redact(value).0, expected);
    }
}
