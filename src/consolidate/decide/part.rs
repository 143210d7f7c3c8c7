//! The part that remains of a memory with several statements when one of them is contradicted.

use std::collections::BTreeSet;

use crate::consolidate::Known;
use crate::consolidate::compare::features::Features;
use crate::consolidate::compare::view::View;
use crate::memory::{Blocker, Claim, Episode, Procedure, Structured};
use crate::text::tokens::is_listed;

/// The remaining part of a contradicted memory.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Left {
    /// Nothing is left, because everything that the memory says is contradicted.
    Nothing,
    /// A statement that is still true, in the words of the memory.
    Claim(Box<Claim>),
    /// A statement that cannot be expressed as a separate sentence.
    Unclear,
}

/// Separators between two statements in one sentence.
const JOINTS: &str = " and | und | y |; |. |；|。|，并且|，并|，而且|，|、また|、そして|、|하고 |이고 ";

/// Minimum number of content words in a statement after the first; a shorter statement is a detail of the previous
/// statement.
const STATEMENT_WORDS: usize = 2;

/// Number of words or pairs of characters missing from the incoming claim that make a statement a separate one.
const ENOUGH_OF_ITS_OWN: usize = 4;

/// Returns the part of `known` that `incoming` does not contradict.
pub(super) fn left_of(known: &Known, view: &View<'_>, incoming: &View<'_>) -> Left {
    let content = known.memory.claim.content.trim().trim_end_matches(['.', '。']);
    let subject = subject_of(content, view, incoming);
    let named = Features::of(subject);
    let parts = statements(content);
    let coverage: Vec<Coverage> = parts.iter().map(|part| Coverage::of(part, &named, incoming)).collect();
    let met = (0..parts.len()).max_by(|a, b| coverage[*a].share().total_cmp(&coverage[*b].share()));
    let untouched: Vec<usize> = (0..parts.len())
        .filter(|at| coverage[*at].says_something(*at) && coverage[*at].is_untouched(Some(*at) == met))
        .collect();
    match untouched.as_slice() {
        [] => Left::Nothing,
        // If no part in particular is affected, the whole memory is contradicted, and nothing can be said to remain.
        _ if untouched.len() == parts.len() => Left::Nothing,
        [at] => rest(known, view, incoming, subject, (*at, parts[*at])),
        _ => Left::Unclear,
    }
}

/// The part of a statement that the incoming claim covers, ignoring the subject.
struct Coverage {
    /// Number of words and numbers in the statement.
    own: usize,
    /// Number of these words and numbers that the incoming claim also contains.
    shared: usize,
    /// Whether the statement contains a name that the incoming claim does not.
    names_more: bool,
}

impl Coverage {
    fn of(part: &str, subject: &Features, incoming: &View<'_>) -> Self {
        let part = Features::of(part);
        let theirs = &incoming.features;
        let own: BTreeSet<&String> = part.tokens.difference(&subject.tokens).chain(&part.figures).collect();
        let is_covered_term = |term: &&&String| theirs.tokens.contains(**term) || theirs.figures.contains(**term);
        let is_new = |name: &String| !theirs.text.contains(name.as_str()) && !subject.text.contains(name.as_str());
        Self {
            shared: own.iter().filter(is_covered_term).count(),
            own: own.len(),
            names_more: part.entities.iter().any(is_new),
        }
    }

    fn share(&self) -> f64 {
        let count = |of: usize| u32::try_from(of).map_or(f64::MAX, f64::from);
        count(self.shared) / count(self.own.max(1))
    }

    /// The first statement always has its own verb. A single word in a later statement is a detail unless it is a name.
    const fn says_something(&self, at: usize) -> bool {
        self.own >= STATEMENT_WORDS || (self.own == 1 && (at == 0 || self.names_more))
    }

    /// Whether the statement is still true, whatever the incoming claim denies. A statement other than the most
    /// affected one may even share half of its words, as happens in scripts without spaces, if enough of its words are
    /// its own.
    const fn is_untouched(&self, is_met_most: bool) -> bool {
        self.shared * 2 < self.own || (!is_met_most && self.own - self.shared >= ENOUGH_OF_ITS_OWN)
    }
}

fn rest(known: &Known, view: &View<'_>, incoming: &View<'_>, subject: &str, (at, part): (usize, &str)) -> Left {
    let Some(content) = sentence(subject, at, part) else { return Left::Unclear };
    let wide = content.chars().next_back().is_some_and(is_wide);
    let content = format!("{content}{}", if wide { "。" } else { "." });
    let claim = &known.memory.claim;
    // The attribute belongs to the contradicted part if the incoming claim has the same attribute.
    let keeps_attribute = !view.same_key(incoming) && !value_is_gone(claim, &content);
    Left::Claim(Box::new(remaining(claim, content, keeps_attribute)))
}

/// Returns the rest of a claim. The rest contains only `content`, the attribute if `content` states it, and the
/// structured parts and tags that state nothing from the contradicted part.
pub(super) fn remaining(claim: &Claim, content: String, keeps_attribute: bool) -> Claim {
    let (key, value) = if keeps_attribute { (claim.key.clone(), claim.value.clone()) } else { (None, None) };
    let title: String = content.chars().take(60).collect();
    let gone = Gone::between(&claim.content, &content);
    let structured = claim.structured.clone().and_then(|parts| gone.out_of(parts, &title, &content));
    let tags = claim.tags.iter().filter(|tag| !gone.is_in(tag)).cloned().collect();
    Claim { content, title, summary: None, key, value, structured, tags, ..claim.clone() }
}

fn value_is_gone(claim: &Claim, rest: &str) -> bool {
    let value = claim.value.as_deref().map(Features::of);
    value.is_some_and(|value| !Features::of(rest).text.contains(&value.text))
}

/// Whether nothing but commas divides `content`, so that its parts are details of one statement.
pub(super) fn is_one_statement(content: &str) -> bool {
    const APART: &[&str] = &[" and ", " und ", " y ", " et ", "; ", ". ", "；", "。", "，并", "，而"];
    let content = content.trim_end_matches(['.', '。', '"', '”', '“', '»']);
    !APART.iter().any(|joint| content.contains(joint))
}

fn statements(content: &str) -> Vec<&str> {
    let mut parts = vec![content];
    for joint in JOINTS.split('|') {
        parts = parts.into_iter().flat_map(|part| part.split(joint)).collect();
    }
    parts.into_iter().map(str::trim).filter(|part| !part.is_empty()).collect()
}

/// Returns a statement as a separate sentence; `None` if the statement depends on a verb before it.
fn sentence(subject: &str, at: usize, part: &str) -> Option<String> {
    // A part that starts with one of these words continues the preceding verb and is not a sentence by itself.
    const LEANING: &str = "a an the with in on at for to from by its his her their ein eine einen der die das den dem mit im am \
        un una el la los las con en de";
    let first = part.split(' ').next().unwrap_or_default();
    let leans = is_listed(LEANING, first);
    if at == 0 || (!leans && first.chars().next().is_some_and(char::is_uppercase)) {
        return Some(part.to_owned());
    }
    if leans || subject.is_empty() {
        return None;
    }
    let between = if subject.chars().next_back().is_some_and(is_wide) { "" } else { " " };
    Some(format!("{subject}{between}{part}"))
}

fn is_wide(c: char) -> bool {
    matches!(c, '\u{3040}'..='\u{9FFF}')
}

/// Returns the words at the beginning that name the subject of the whole `content`; empty if the subject is unclear.
fn subject_of<'a>(content: &'a str, view: &View<'_>, incoming: &View<'_>) -> &'a str {
    let begins = |words: &str| {
        let words = &Features::of(words).text;
        let text = &incoming.features.text;
        !words.is_empty() && (text.starts_with(words) || text.contains(&format!(" {words} ")))
    };
    let tagged = view.claim.subject.as_deref().and_then(|tag| {
        let at = content.find(tag).filter(|at| content[..*at].chars().count() <= 8)?;
        content.get(..at + tag.len()).filter(|words| !words.chars().next_back().is_some_and(is_wide))
    });
    let found =
        tagged.or_else(|| if content.contains(is_wide) { wide_subject(content) } else { spaced_subject(content) });
    found.filter(|words| begins(words)).unwrap_or_default()
}

/// Returns the text up to the subject particle in Japanese, or the word for the user in Chinese.
fn wide_subject(content: &str) -> Option<&str> {
    const USER: &str = "用户";
    if content.starts_with(USER) {
        return Some(USER);
    }
    let at = content.find(['は', 'が'])?;
    Some(&content[..at + 'は'.len_utf8()])
}

/// Returns an article, a noun and its owner; in Korean, the text up to the subject particle.
fn spaced_subject(content: &str) -> Option<&str> {
    const ARTICLES: &[&str] =
        &["the", "a", "an", "der", "die", "das", "ein", "eine", "el", "la", "los", "las", "un", "una"];
    const OWNERS: &[&str] = &["of", "de", "del", "des", "der", "von"];
    let words: Vec<&str> = content.split(' ').collect();
    let hangul = |word: &str| word.chars().any(|c| matches!(c, '\u{AC00}'..='\u{D7AF}'));
    let is_article = |word: &str| ARTICLES.contains(&word.to_lowercase().as_str());
    let mut count = 0;
    if words.iter().any(|word| hangul(word)) {
        count = words.iter().position(|word| word.ends_with(['은', '는', '이', '가']))? + 1;
    } else {
        count += usize::from(is_article(words.first()?)) + 1;
        while let Some(word) = words.get(count) {
            if OWNERS.contains(word) {
                count += 1 + usize::from(words.get(count + 1).is_some_and(|next| is_article(next))) + 1;
            } else if words[count - 1].ends_with("'s") {
                count += 1;
            } else {
                break;
            }
        }
    }
    let length = words.iter().take(count).map(|word| word.len() + 1).sum::<usize>().checked_sub(1)?;
    content.get(..length)
}

/// Words, numbers and names that a claim no longer contains.
pub(super) struct Gone(BTreeSet<String>);

impl Gone {
    pub(super) fn between(before: &str, after: &str) -> Self {
        let after = terms(after);
        Self(terms(before).into_iter().filter(|term| !after.contains(term)).collect())
    }

    pub(super) fn is_in(&self, text: &str) -> bool {
        !self.0.is_disjoint(&terms(text))
    }

    /// Returns the structured parts without anything that states the contradicted part. `title` and `content` replace a
    /// name and a description.
    pub(super) fn out_of(&self, parts: Structured, title: &str, content: &str) -> Option<Structured> {
        match parts {
            Structured::Episode(episode) => self.out_of_episode(episode).map(Structured::Episode),
            Structured::Procedure(procedure) => {
                Some(Structured::Procedure(self.out_of_procedure(procedure, title, content)))
            }
            Structured::Pattern { pattern } => {
                (!self.is_in(&pattern.description)).then_some(Structured::Pattern { pattern })
            }
            Structured::Blocker { blocker } => Some(Structured::Blocker {
                blocker: Blocker {
                    owner: blocker.owner.filter(|owner| !self.is_in(owner)),
                    until: blocker.until.filter(|until| !self.is_in(until)),
                },
            }),
            Structured::Profile { profile } => {
                let kept: serde_json::Map<_, _> =
                    profile.into_iter().filter(|(_, value)| !self.is_in(&value.to_string())).collect();
                (!kept.is_empty()).then_some(Structured::Profile { profile: kept })
            }
        }
    }

    /// An episode needs its situation and its action; if either is removed, the episode is dropped.
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
    let features = Features::of(text);
    [&features.tokens, &features.figures, &features.entities].into_iter().flatten().cloned().collect()
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
