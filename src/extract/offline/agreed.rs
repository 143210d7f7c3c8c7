//! Decisions that the assistant proposed and a person confirmed.

use super::candidates::Gathered;
use super::clause::{Finding, Voice, fill, finished, title};
use super::language::{self, LanguageRules};
use super::product;
use super::sentence::{fold, prose_sentences};
use crate::extract::Task;
use crate::memory::{Audience, Claim, MemoryType};
use transcripts::{Kind, Message, Role};

/// Maximum length of an answer that counts as a plain yes, in characters.
const MAX_YES_CHARS: usize = 60;

/// Adds the decisions that consist of a single clear question and a plain yes.
pub(super) fn agreed<'a>(task: &Task<'a>, gathered: &mut Gathered<'a>) {
    let mut asked: Option<&Message> = None;
    for (at, message) in task.shown().iter().enumerate() {
        if message.kind != Kind::Prose {
            continue;
        }
        let answer = asked.take();
        if message.role == Role::Assistant {
            asked = Some(message);
        } else if message.is_human() && task.span.context_start + at >= task.span.start {
            let proposal = answer.and_then(|question| Some((question, decision(question, message)?)));
            if let Some((question, (finding, yes, asking))) = proposal {
                gathered.add(finding, &[(message, yes), (question, asking)]);
            }
        }
    }
}

/// Returns the decision, in the words of the question and of the answer.
fn decision<'a>(question: &'a Message, answer: &'a Message) -> Option<(Finding, &'a str, &'a str)> {
    let mut sentences = prose_sentences(&question.text);
    let asking = sentences.pop()?;
    if question.text.contains("[redacted:") || sentences.iter().any(|other| other.ends_with(['?', '？'])) {
        return None;
    }
    let folded = fold(asking);
    let language = language::of(&folded)?;
    let yes = answer.text.trim();
    if yes.chars().count() > MAX_YES_CHARS || !language.yes.is_match(&fold(yes)) {
        return None;
    }
    let found = language.proposal.captures(&folded)?;
    let value = found.name("v")?.as_str();
    let names = product::named(value);
    let first = names.first()?;
    // "Postgres or MySQL?" cannot be answered with yes.
    let either = [" or ", "还是", "或"].iter().any(|word| value.contains(word));
    // "Do you want me to deploy?" offers a single deployment.
    let once = folded.contains(" me to deploy") || folded.contains(" me to host");
    if either || once || language.points(value) {
        return None;
    }
    let done = format!("{}{}{value}", &found["verb"], if folded.is_ascii() { " " } else { "" });
    Some((agreed_finding(language, &done, first, &names, answer), yes, asking))
}

fn agreed_finding(
    language: &LanguageRules,
    done: &str,
    first: &product::Named,
    names: &[product::Named],
    answer: &Message,
) -> Finding {
    let phrases = &language.phrases;
    let voice = Voice::of(answer);
    let who = voice.speaker.map_or_else(|| phrases.user.clone(), str::to_owned);
    let who = if who == "The user" { "the user".to_owned() } else { who };
    let content = fill(&phrases.agreed, &[("{who}", &who), ("{x}", done)]);
    let content = finished(&content, language);
    let mut claim = Claim::new(MemoryType::Semantic, "decision", title(done, language, &voice), content);
    let alone = names.iter().all(|other| other == first || other.attribute != first.attribute);
    if alone {
        claim.key = Some(format!("project.{}", first.attribute));
        claim.value = Some(first.value.clone());
    }
    claim.subject = Some(first.attribute.to_owned());
    claim.importance = 0.7;
    claim.confidence = 0.7;
    Finding { claim, audience: Audience::Project, since: None }
}
