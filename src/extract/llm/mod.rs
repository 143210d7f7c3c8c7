//! The extractor that asks a model: one request for the windows of a pack, one repair round, and halves where an answer
//! cannot be had whole.

mod reading;
#[cfg(test)]
mod tests;

use reading::Reading;

use super::answer::Answer;
pub use super::request::first_request;
use super::request::{again, ask, rest, sessions};
use super::validate::Legible;
use super::views::{View, halved, views};
use super::{Extraction, Task};
use crate::guard::Guard;
use crate::llm::{Complete, Finish, LlmError, Rendered, Request};

/// How often a window is halved because its answer was cut or its request too long.
const MAX_HALVINGS: u8 = 4;
/// Requests in a row without an answer that can be used, after which the rest is left to a later run: as many as one
/// window costs at most.
const MAX_FRUITLESS: u32 = 31;

/// How often the rest of a cut answer is asked for.
const MAX_CONTINUATIONS: u8 = 8;

/// Asks `model` what is worth keeping of the windows of `tasks`, which share all but transcript and span. Returns what
/// came of each, in order; the cost of a request is counted once, with the first window that it shows.
///
/// A window in which nobody says anything costs no call; the others are read in one request. If the answer cannot be
/// used, or not all of it, the model is asked once more and told why; what is still unusable is counted. If an answer
/// about several windows is refused, cut or unusable, or the request too long for the model, each half of them is read
/// apart, so that one costs its neighbours nothing; so is a single window in halves if its answer is cut or its request
/// too long. Where a cut answer cannot be halved any more, its rest is asked for. A person's message of over 8,000 tokens is read in several requests, so that nothing of it is lost.
///
/// The outcome is [`super::Outcome::Failed`] if any part of the window got no answer; candidates from the other parts
/// are returned all the same. Every entry of an answer comes back as a candidate or as dropped; of an entry that was
/// sent again, only the last version.
pub async fn extract<C: Complete>(model: &C, guard: &Guard, tasks: &[Task<'_>]) -> Vec<Extraction> {
    let asking = Asking { model, guard, tasks };
    let mut reading = Reading::of(tasks.len());
    let mut open: Vec<(View, u8)> = views(tasks).into_iter().rev().map(|view| (view, 0)).collect();
    while let Some((view, halvings)) = open.pop() {
        if reading.fruitless >= MAX_FRUITLESS {
            reading.fail(&view, "too many requests in a row could not be used; the next run tries again");
            continue;
        }
        // Sessions are told apart before any is halved, so that only halves of one are counted.
        let halvings = halvings + u8::from(view.sights.len() == 1);
        // Found only when they are wanted, as it means counting every token again.
        let halves = || if halvings <= MAX_HALVINGS { halved(tasks, &view) } else { Vec::new() };
        match asking.read(&view, halves, &mut reading).await {
            Next::Done => {}
            Next::Halves(halves) => open.extend(halves.into_iter().rev().map(|half| (half, halvings))),
        }
    }
    reading.finish()
}

/// What to do after a request.
enum Next {
    /// Go on.
    Done,
    /// Read the same in these halves.
    Halves(Vec<View>),
}

/// Who is asked, and about what.
struct Asking<'a, 't, C> {
    model: &'a C,
    guard: &'a Guard,
    tasks: &'a [Task<'t>],
}

impl<C: Complete> Asking<'_, '_, C> {
    async fn read(&self, view: &View, halves: impl Fn() -> Vec<View>, reading: &mut Reading) -> Next {
        let name = view.name(self.tasks);
        let are_several = view.sights.len() > 1;
        reading.fruitless += 1;
        let (asked, reply) = reading
            .complete(self.model, &format!("extract {name}"), || ask(self.guard, self.tasks, view), view)
            .await;
        let shown = sessions(&asked.reading, self.tasks, view);
        let read = |text: &str| Answer::read(text, &view.tasks(self.tasks), &shown, &asked.request.schema);
        let reply = match reply {
            Ok(reply) => reply,
            Err(error) => {
                let halves = if matches!(error, LlmError::TooLong { .. }) { halves() } else { Vec::new() };
                return reading.halve_or_fail(view, halves, &error.to_string());
            }
        };
        let is_cut = reply.finish == Finish::Length;
        match reply.finish {
            Finish::Length => match halves() {
                halves if halves.is_empty() => {}
                halves => return Next::Halves(halves),
            },
            Finish::Refusal => {
                let halves = if are_several { halves() } else { Vec::new() };
                let reason = "the model declined to read this window; try another model";
                return reading.halve_or_fail(view, halves, reason);
            }
            Finish::Stop => {}
        }
        let mut answer = read(&reply.text);
        // To ask for the whole list again costs as much as its halves, which are likelier to come. Some servers cut an
        // answer without saying so.
        if !is_cut && (answer.legible == Legible::Cut || are_several && !answer.is_whole()) {
            match halves() {
                halves if halves.is_empty() => {}
                halves => return Next::Halves(halves),
            }
        }
        if answer.legible == Legible::Cut {
            self.go_on(view, &asked.request, &read, &reply.text, &mut answer, reading).await;
        } else if !is_cut && answer.wants_repair() {
            let render = || without_numbers(again(self.guard, &asked.request, &reply.text, &answer));
            let (_, second) = reading.complete(self.model, &format!("repair {name}"), render, view).await;
            if let Ok(reply) = &second
                && reply.finish != Finish::Refusal
            {
                answer = answer.repaired(read(&reply.text));
            }
            answer = match second {
                Ok(_) if are_several && !answer.is_usable() => return Next::Halves(halves()),
                Ok(reply) if reply.finish != Finish::Refusal => answer,
                Ok(_) => reading.unrepaired(view, answer, "the model declined to correct its answer"),
                Err(error) => reading.unrepaired(view, answer, &error.to_string()),
            };
        }
        reading.take(self.guard, view, answer, is_cut);
        Next::Done
    }

    /// Asks for what a cut answer lacks, as long as each round brings some of it. What is still missing then is reported.
    async fn go_on(
        &self,
        view: &View,
        request: &Request,
        read: &impl Fn(&str) -> Answer,
        text: &str,
        answer: &mut Answer,
        reading: &mut Reading,
    ) {
        let mut text = text.to_owned();
        for round in 1..=MAX_CONTINUATIONS {
            let render = || without_numbers(rest(self.guard, request, &text, answer.last_title()));
            let part = format!("continue {round} {}", view.name(self.tasks));
            let (_, reply) = reading.complete(self.model, &part, render, view).await;
            let Ok(reply) = reply else { return };
            if reply.finish == Finish::Refusal {
                return;
            }
            if !answer.extend(read(&reply.text)) || answer.is_whole() {
                return;
            }
            text = reply.text;
        }
    }
}

/// A request whose reply uses the numbers of the one before.
const fn without_numbers(request: Request) -> Rendered {
    Rendered { request, reading: serde_json::Value::Null }
}
