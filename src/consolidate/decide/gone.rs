//! What a claim told that is contradicted, out of its structured parts.

use std::collections::BTreeSet;

use crate::consolidate::compare::features::Features;
use crate::memory::{Episode, Procedure, Structured};

/// Words, numbers and names that stood in a claim and are gone from it.
pub(super) struct Gone(BTreeSet<String>);

impl Gone {
    pub(super) fn between(before: &str, after: &str) -> Self {
        let after = terms(after);
        Self(terms(before).into_iter().filter(|term| !after.contains(term)).collect())
    }

    pub(super) fn is_in(&self, text: &str) -> bool {
        !self.0.is_disjoint(&terms(text))
    }

    /// Returns the parts without what tells of the gone; `title` and `content` stand in for a name and a description.
    pub(super) fn out_of(&self, parts: Structured, title: &str, content: &str) -> Option<Structured> {
        match parts {
            Structured::Episode(episode) => self.out_of_episode(episode).map(Structured::Episode),
            Structured::Procedure(procedure) => {
                Some(Structured::Procedure(self.out_of_procedure(procedure, title, content)))
            }
            Structured::Pattern { pattern } => (!self.is_in(&pattern)).then_some(Structured::Pattern { pattern }),
            Structured::Profile { profile } => {
                let kept: serde_json::Map<_, _> =
                    profile.into_iter().filter(|(_, value)| !self.is_in(&value.to_string())).collect();
                (!kept.is_empty()).then_some(Structured::Profile { profile: kept })
            }
        }
    }

    /// An episode holds together by its situation and action: without one of them it is none.
    fn out_of_episode(&self, episode: Episode) -> Option<Episode> {
        let stands = !self.is_in(&episode.situation) && !self.is_in(&episode.action);
        stands.then(|| Episode {
            reasoning: episode.reasoning.clone().filter(|reasoning| !self.is_in(reasoning)),
            learnings: self.without(episode.learnings.clone()),
            ..episode
        })
    }

    fn out_of_procedure(&self, procedure: Procedure, title: &str, content: &str) -> Procedure {
        let or = |text: String, other: &str| if self.is_in(&text) { other.to_owned() } else { text };
        Procedure {
            name: or(procedure.name, title),
            description: or(procedure.description, content),
            steps: self.without(procedure.steps),
            triggers: self.without(procedure.triggers),
            priority: procedure.priority,
        }
    }

    fn without(&self, mut texts: Vec<String>) -> Vec<String> {
        texts.retain(|text| !self.is_in(text));
        texts
    }
}

fn terms(text: &str) -> BTreeSet<String> {
    let Features { tokens, figures, entities, .. } = Features::of(text);
    tokens.into_iter().chain(figures).chain(entities).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEFORE: &str =
        "Sunniva from HR signs off every change to the overtime rules in writing; tests of the rules run on Mondays.";
    const AFTER: &str = "Tests of the rules run on Mondays.";

    fn procedure(parts: Option<Structured>) -> Procedure {
        match parts {
            Some(Structured::Procedure(procedure)) => procedure,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn steps_that_tell_of_what_is_gone_go_with_it() {
        let gone = Gone::between(BEFORE, AFTER);
        let parts = Structured::Procedure(Procedure {
            name: "Overtime sign-off by Sunniva".to_owned(),
            description: "How the rules are tested".to_owned(),
            steps: vec!["Ask Sunniva".to_owned(), "Run the tests on Mondays".to_owned()],
            triggers: vec!["A sign in writing is needed".to_owned()],
            priority: Some(0.5),
        });
        let kept = procedure(gone.out_of(parts, "Tests", AFTER));
        assert_eq!((kept.name.as_str(), kept.description.as_str()), ("Tests", "How the rules are tested"));
        assert_eq!(kept.steps, ["Run the tests on Mondays"]);
        assert_eq!((kept.triggers.len(), kept.priority), (0, Some(0.5)));
    }

    #[test]
    fn an_episode_without_its_action_is_none_and_a_profile_keeps_what_holds() {
        let gone = Gone::between("Ana lives in Porto and works at Farol.", "Ana works at Farol.");
        let episode = Episode {
            situation: "Looking for a flat".to_owned(),
            action: "Moved to Porto".to_owned(),
            outcome: crate::memory::Outcome::Success,
            reasoning: None,
            learnings: Vec::new(),
        };
        assert_eq!(gone.out_of(Structured::Episode(episode), "", ""), None);
        let profile = serde_json::json!({"residence": "Porto", "employer": "Farol"});
        let parts = Structured::Profile { profile: profile.as_object().unwrap().clone() };
        let Some(Structured::Profile { profile }) = gone.out_of(parts, "", "") else { panic!("a profile stays") };
        assert_eq!(profile.keys().collect::<Vec<_>>(), ["employer"]);
    }
}
