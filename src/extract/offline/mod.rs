//! The offline extractor: what people state in so many words, found by rules, without a model.
//!
//! It reads sentence by sentence what people said, and keeps only what a cue of a language recognises at
//! the start of a clause and no veto forbids. It is made to be right rather than complete: what is asked, supposed,
//! played, joked, quoted or meant for the moment is left alone.

mod candidates;
mod claims;
mod clause;
mod cues;
mod episode;
mod grammar;
mod language;
mod later;
mod product;
mod read;
mod scene;
mod sentence;
mod statement;

use crate::extract::{Extraction, Outcome, Spent, Task};

use candidates::Gathered;
use clause::Voice;
use scene::Scenes;
use sentence::own_sentences;

/// Version of the rules; a change of what they find changes it.
pub(crate) const VERSION: &str = "rules-9";

/// Extracts what the people in the window state outright; the same window always gives the same candidates.
///
/// Takes time linear in the text, never fails, and calls nothing. Candidates come in the order of the words they rest
/// on. What is known already is not left out: consolidation sees to that.
#[must_use]
pub fn extract(task: &Task<'_>) -> Extraction {
    let scenes = &Scenes::of(task);
    let mut gathered = Gathered::new(task);
    for (at, message) in task.messages().iter().enumerate() {
        if message.is_human() {
            add_statements(task, task.span.start + at, scenes, &mut gathered);
        }
    }
    episode::solved(task, &mut gathered);
    episode::agreed(task, &mut gathered);
    gathered.take_back(|candidate| scenes.rests_on_play(task, candidate));
    later::take_back(task, scenes, &mut gathered);
    let candidates = gathered.finish();
    let outcome = if candidates.is_empty() { Outcome::OkEmpty } else { Outcome::Ok };
    Extraction { outcome, candidates, dropped: Vec::new(), spent: Spent::default(), error: None, useless: Vec::new() }
}

/// Adds what the person states in message `at` of the transcript.
fn add_statements(task: &Task<'_>, at: usize, scenes: &Scenes, gathered: &mut Gathered<'_>) {
    let message = &task.transcript.messages[at];
    let voice = Voice::of(message);
    let mut said = own_sentences(&message.text);
    said.retain(|said| !scenes.hides(at, &message.text, said));
    let mut lines = statement::lines(message, &said);
    statement::without_jests(&mut said, &mut lines);
    let before = statement::last_of_same(task, at, message);
    statement::take_back(message, before, || statement::amends(&lines), gathered);
    let mut is_read = vec![false; said.len()];
    for (said, is_read) in said.iter().zip(&mut is_read) {
        for finding in read::sentence(said, &voice) {
            gathered.add(finding, &[(message, said)]);
            *is_read = true;
        }
    }
    statement::stated(message, &lines, &is_read, gathered);
}

#[cfg(test)]
mod tests;
