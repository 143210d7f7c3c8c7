//! What has come of the windows of a pack so far.

use std::collections::BTreeSet;

use super::super::answer::Answer;
use super::super::validate::{Checked, Legible, without_secret};
use super::super::views::View;
use super::super::{Dropped, Extraction, Outcome, Spent};
use super::Next;
use crate::guard::Guard;
use crate::llm::{Answered, Complete, Cost, LlmError, Rendered, Reply};
use crate::memory::Candidate;

/// What has come of each window so far.
pub(super) struct Reading {
    windows: Vec<WindowReading>,
    /// Requests in a row of which nothing could be used.
    pub(super) fruitless: u32,
}

#[derive(Default)]
struct WindowReading {
    candidates: Vec<Candidate>,
    dropped: Vec<Dropped>,
    spent: Spent,
    /// Parts that got an answer of which something could be used, be it that there is nothing to keep.
    answered: usize,
    /// Why a part got no answer.
    failure: Option<String>,
    /// Why an answer could not be used whole.
    flaw: Option<String>,
    /// Keys of the replies to what was asked about it.
    replies: Vec<String>,
    /// Whether an answer was cut, and its rest did not come.
    is_cut: bool,
    /// Whether a question about it got no reply at all.
    is_unanswered: bool,
}

impl Reading {
    /// Begins with `count` windows.
    pub(super) fn of(count: usize) -> Self {
        Self { windows: (0..count).map(|_| WindowReading::default()).collect(), fruitless: 0 }
    }

    /// Asks about a part of the windows, and counts what it costs.
    pub(super) async fn complete<C: Complete>(
        &mut self,
        model: &C,
        part: &str,
        render: impl FnOnce() -> Rendered,
        view: &View,
    ) -> (Rendered, Result<Reply, LlmError>) {
        let Answered { rendered, key, answer } = model.complete_part(part, render).await;
        let spent = match &answer {
            Ok((reply, Cost::Call)) => Spent {
                calls: 1,
                cached: 0,
                prompt_tokens: reply.prompt_tokens,
                completion_tokens: reply.completion_tokens,
            },
            Ok((_, Cost::Cached)) => Spent { cached: 1, ..Spent::default() },
            Err(LlmError::Transient { attempts, .. }) => Spent { calls: u64::from(*attempts), ..Spent::default() },
            Err(LlmError::Permanent { .. } | LlmError::TooLong { .. }) => Spent { calls: 1, ..Spent::default() },
            Err(
                LlmError::Budget { .. } | LlmError::InBatch | LlmError::NotRecorded { .. } | LlmError::Cassette { .. },
            ) => Spent::default(),
        };
        if let Some(first) = view.sights.first() {
            self.windows[first.window].spent += spent;
        }
        for sight in &view.sights {
            match &answer {
                Ok(_) => self.windows[sight.window].replies.push(key.clone()),
                Err(LlmError::TooLong { .. }) => {}
                Err(_) => self.windows[sight.window].is_unanswered = true,
            }
        }
        (rendered, answer.map(|(reply, _)| reply))
    }

    /// Goes on with `halves`, or notes that none of what is shown got an answer.
    pub(super) fn halve_or_fail(&mut self, view: &View, halves: Vec<View>, reason: &str) -> Next {
        if halves.is_empty() {
            self.fail(view, reason);
            Next::Done
        } else {
            Next::Halves(halves)
        }
    }

    /// Notes that none of what is shown got an answer.
    pub(super) fn fail(&mut self, view: &View, reason: &str) {
        for sight in &view.sights {
            self.windows[sight.window].fail(reason);
        }
    }

    /// Notes that the repair round got no answer: a window is open if nothing that was said of it could be used.
    pub(super) fn unrepaired(&mut self, view: &View, answer: Answer, reason: &str) -> Answer {
        for (sight, checked) in view.sights.iter().zip(&answer.sessions) {
            let window = &mut self.windows[sight.window];
            if answer.legible == Legible::Not || checked.candidates.is_empty() && !checked.dropped.is_empty() {
                window.fail(reason);
            } else if !checked.dropped.is_empty() {
                window.flaw(reason.to_owned());
            }
        }
        answer
    }

    /// Takes an answer as it is.
    pub(super) fn take(&mut self, guard: &Guard, view: &View, answer: Answer, is_cut: bool) {
        if answer.is_usable() {
            self.fruitless = 0;
        }
        for (sight, checked) in view.sights.iter().zip(answer.sessions) {
            self.windows[sight.window].take(guard, checked, answer.legible, is_cut);
        }
    }

    /// Returns what came of each window.
    pub(super) fn finish(self) -> Vec<Extraction> {
        let useful = self.windows.iter().filter(|window| !window.is_useless());
        let useful: BTreeSet<String> = useful.flat_map(|window| window.replies.iter().cloned()).collect();
        self.windows.into_iter().map(|window| window.finish(&useful)).collect()
    }
}

impl WindowReading {
    fn take(&mut self, guard: &Guard, checked: Checked, legible: Legible, is_cut: bool) {
        let (proposed, broken) = (checked.proposed(), checked.broken());
        match legible {
            Legible::Not if is_cut => {
                return self
                    .fail("the answer was cut at the token limit before it began; use a model that thinks less");
            }
            Legible::Not => self.flaw("the answer holds no list of memories".to_owned()),
            Legible::Cut => {
                self.is_cut = true;
                self.flaw(
                    "the answer was cut; its whole entries were kept, what came after them was not read".to_owned(),
                );
            }
            Legible::Whole if broken > 0 => {
                self.flaw(format!("{broken} of {proposed} entries do not have the shape that was asked for"));
            }
            Legible::Whole => {}
        }
        if legible != Legible::Not && (proposed == 0 || broken < proposed) {
            self.answered += 1;
        }
        self.keep(guard, checked);
    }

    fn fail(&mut self, reason: &str) {
        self.failure.get_or_insert_with(|| reason.to_owned());
    }

    fn flaw(&mut self, reason: String) {
        self.flaw.get_or_insert(reason);
    }

    /// Takes the secrets out of the candidates on their way in.
    fn keep(&mut self, guard: &Guard, checked: Checked) {
        self.dropped.extend(checked.dropped.into_iter().map(|(_, dropped)| dropped));
        for candidate in checked.candidates {
            match without_secret(guard.redact(candidate).0.into_inner()) {
                Ok(candidate) => self.candidates.push(candidate),
                Err(dropped) => self.dropped.push(dropped),
            }
        }
    }

    const fn has_failed(&self) -> bool {
        self.failure.is_some() || self.flaw.is_some() && self.answered == 0
    }

    /// Whether it failed, or lacks something, for what was answered. Where a question got no reply, that is the reason, and the other
    /// replies stay paid for.
    const fn is_useless(&self) -> bool {
        (self.has_failed() || self.is_cut) && !self.is_unanswered
    }

    /// Returns what came of it; a reply that was `useful` to another window is kept.
    fn finish(self, useful: &BTreeSet<String>) -> Extraction {
        let is_useless = self.is_useless();
        let outcome = if self.has_failed() {
            Outcome::Failed
        } else if self.flaw.is_some() {
            Outcome::Partial
        } else if self.candidates.is_empty() {
            Outcome::OkEmpty
        } else {
            Outcome::Ok
        };
        Extraction {
            outcome,
            candidates: self.candidates,
            dropped: self.dropped,
            spent: self.spent,
            error: self.failure.or(self.flaw),
            useless: self.replies.into_iter().filter(|key| is_useless && !useful.contains(key)).collect(),
        }
    }
}
