//! The offline extractor: finds explicit statements by rules, without a model.
//!
//! It reads what people said sentence by sentence, and keeps only clauses that begin with a cue of their language and
//! that no veto matches. It is designed for precision rather than recall: questions, hypotheses, role play, jokes,
//! quotations and temporary statements are ignored.

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

/// Version of the rules; it changes whenever their results change.
pub(crate) const VERSION: &str = "rules-9";

/// Extracts what the people in the window state explicitly; the same window always results in the same candidates.
///
/// Takes time linear in the length of the text, never fails, and calls nothing. Candidates are in the order of the
/// words they are based on. Known memories are not filtered out; consolidation does that.
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

/// Adds what the person states in the message at index `at` of the transcript.
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
