//! The offline extractor: what people state in so many words, found by rules, without a model.
//!
//! It reads sentence by sentence what people said, and keeps only what a cue of a language recognises at
//! the start of a clause and no veto forbids. It is made to be right rather than complete: what is asked, supposed,
//! played, joked, quoted or meant for the moment is left alone.

mod build;
mod chinese;
mod confirm;
mod english;
mod english_cues;
mod english_grammar;
mod episode;
mod gather;
mod language;
mod note;
mod own;
mod own_name;
mod product;
mod project;
mod read;
mod scene;
mod sentence;
mod slot;
mod solution;
mod standing;
mod statement;
mod words;

#[cfg(test)]
mod tests;

use crate::extract::{Extraction, Outcome, Spent, Task};

use gather::Gathered;
use scene::Scenes;

/// Version of the rules; a change of what they find changes it.
pub const VERSION: &str = "rules-8";

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
            gather::statements(task, task.span.start + at, scenes, &mut gathered);
        }
    }
    episode::solved(task, &mut gathered);
    confirm::agreed(task, &mut gathered);
    gathered.take_back(|candidate| scenes.rests_on_play(task, candidate));
    statement::corrected_later(task, &mut gathered);
    statement::outdated(task, &mut gathered);
    statement::ended(task, scenes, &mut gathered);
    let candidates = gathered.finish();
    let outcome = if candidates.is_empty() { Outcome::OkEmpty } else { Outcome::Ok };
    Extraction { outcome, candidates, dropped: Vec::new(), spent: Spent::default(), error: None, useless: Vec::new() }
}
