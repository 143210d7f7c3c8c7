//! The extractor that asks a model: one request for the windows of a pack, one repair round, and halves of a window
//! whose reply cannot be received whole.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::answer::Answer;
use super::check::{Checked, Legible, without_secret};
use super::prompt::{Shown, go_on, repair, system, user};
use super::schema::reply_schema;
use super::window::{Sight, View, halved, views};
use super::{Dropped, Extraction, Outcome, Spent, Task};
use crate::guard::Guard;
use crate::llm::{Answered, Complete, Cost, Finish, LlmError, Rendered, Reply, Request, Turn, TurnRole};
use crate::memory::Candidate;
use crate::tokens;

/// How often a window is halved because its answer was cut or its request too long.
const MAX_HALVINGS: u8 = 4;
/// Number of consecutive requests without a usable answer after which the rest is left to a later run: as many as one
/// window costs at most.
// 1 + 2 + 4 + 8 + 16: a window that is halved four times, and every part of it fails.
const MAX_FRUITLESS: u32 = 31;

/// How often the rest of a cut answer is asked for.
const MAX_CONTINUATIONS: u8 = 8;

/// Asks `model` what is worth keeping of the windows of `tasks`, which share all but transcript and span. Returns one
/// result for each, in order; the cost of a request is counted once, with the first window that it shows.
///
/// A window in which nobody says anything costs no call; the others are read in one request. If the answer cannot be
/// used, or not all of it, the model is asked once more, with the errors; what is still unusable is counted. If an
/// answer about several windows is refused, cut or unusable, or the request too long for the model, each half of them
/// is read apart, so that one costs its neighbours nothing; so is a single window in halves if its answer is cut or its
/// request too long. Where a cut answer cannot be halved any more, its rest is asked for. A person's message of over
/// 8,000 tokens is read in several requests, so that nothing of it is lost.
///
/// The outcome is [`super::Outcome::Failed`] if any part of the window got no answer; candidates from the other parts
/// are still returned. Every entry of an answer comes back as a candidate or as dropped; of an entry that was
/// sent again, only the last version.
pub async fn extract<C: Complete>(model: &C, guard: &Guard, tasks: &[Task<'_>]) -> Vec<Extraction> {
    let asking = Asking { model, guard, tasks };
    let mut reading = Reading::of(tasks.len());
    // A stack, filled in reverse: halves are read where their whole stood, so candidates keep the order of the log.
    let mut open: Vec<(View, u8)> = views(tasks).into_iter().rev().map(|view| (view, 0)).collect();
    while let Some((view, halvings)) = open.pop() {
        if reading.fruitless >= MAX_FRUITLESS {
            reading.fail(&view, "too many requests in a row could not be used; the next run tries again");
            continue;
        }
        // Sessions are separated before any is halved, so that only halves of one are counted.
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
        // Counted before the reply is known and reset by `take`: a server that answers only rubbish is given up.
        reading.fruitless += 1;
        let (asked, reply) =
            reading.complete(self.model, &format!("extract {name}"), || ask(self.guard, self.tasks, view), view).await;
        let shown = sessions(&asked.reading, self.tasks, view);
        let read = |text: &str| Answer::read(text, &view.tasks(self.tasks), &shown, &asked.request.schema);
        let reply = match reply {
            Ok(reply) => reply,
            Err(error) => {
                // Other errors are about the server or the account, so halves would only fail twice.
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
                // Of several sessions perhaps only one is declined; halves of a single one likely would be again.
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

    /// Asks for what a cut answer lacks, as long as each round brings some of it. What is still missing then is
    /// reported.
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
            // The cut answer is still worth taking; `complete` has recorded that this question got no reply.
            let Ok(reply) = reply else { return };
            if reply.finish == Finish::Refusal {
                return;
            }
            if !answer.extend(read(&reply.text)) || answer.is_whole() {
                return;
            }
            // Only the last part is shown again; with all of them the request itself would outgrow the model.
            text = reply.text;
        }
    }
}

/// A request whose reply uses the numbers of the one before.
const fn without_numbers(request: Request) -> Rendered {
    Rendered { request, reading: serde_json::Value::Null }
}

/// The results of each window so far.
struct Reading {
    windows: Vec<WindowReading>,
    /// Requests in a row of which nothing could be used.
    fruitless: u32,
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
    fn of(count: usize) -> Self {
        Self { windows: (0..count).map(|_| WindowReading::default()).collect(), fruitless: 0 }
    }

    /// Asks about a part of the windows, and counts what it costs.
    async fn complete<C: Complete>(
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
        // Split between windows, shares would be rounded and no longer add up to what the provider bills.
        if let Some(first) = view.sights.first() {
            self.windows[first.window].spent += spent;
        }
        for sight in &view.sights {
            match &answer {
                Ok(_) => self.windows[sight.window].replies.push(key.clone()),
                // The halves are asked instead, so the window is not left without an answer.
                Err(LlmError::TooLong { .. }) => {}
                Err(_) => self.windows[sight.window].is_unanswered = true,
            }
        }
        (rendered, answer.map(|(reply, _)| reply))
    }

    /// Continues with `halves`, or records that nothing that is shown got an answer.
    fn halve_or_fail(&mut self, view: &View, halves: Vec<View>, reason: &str) -> Next {
        if halves.is_empty() {
            self.fail(view, reason);
            Next::Done
        } else {
            Next::Halves(halves)
        }
    }

    /// Records that nothing that is shown got an answer.
    fn fail(&mut self, view: &View, reason: &str) {
        for sight in &view.sights {
            self.windows[sight.window].fail(reason);
        }
    }

    /// Records that the repair round got no answer: a window stays open if no entry about it could be used.
    fn unrepaired(&mut self, view: &View, answer: Answer, reason: &str) -> Answer {
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

    /// Takes an answer without asking further.
    fn take(&mut self, guard: &Guard, view: &View, answer: Answer, is_cut: bool) {
        if answer.is_usable() {
            self.fruitless = 0;
        }
        for (sight, checked) in view.sights.iter().zip(answer.sessions) {
            self.windows[sight.window].take(guard, checked, answer.legible, is_cut);
        }
    }

    /// Returns the result of each window.
    fn finish(self) -> Vec<Extraction> {
        // One reply may serve several windows. It may go only if no window needs it.
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
        // The first reason is the cause; the later ones often follow from it.
        self.failure.get_or_insert_with(|| reason.to_owned());
    }

    fn flaw(&mut self, reason: String) {
        self.flaw.get_or_insert(reason);
    }

    /// Keeps the candidates, without their secrets.
    fn keep(&mut self, guard: &Guard, checked: Checked) {
        self.dropped.extend(checked.dropped.into_iter().map(|(_, dropped)| dropped));
        for candidate in checked.candidates {
            // The request was redacted, but a model may join the pieces of a secret, or invent one.
            match without_secret(guard.redact(candidate).0.into_inner()) {
                Ok(candidate) => self.candidates.push(candidate),
                Err(dropped) => self.dropped.push(dropped),
            }
        }
    }

    const fn has_failed(&self) -> bool {
        self.failure.is_some() || self.flaw.is_some() && self.answered == 0
    }

    /// Whether it failed or is incomplete because of what was answered. Where a question got no reply at all, that is
    /// the reason, and the other replies are kept, since they are paid for.
    const fn is_useless(&self) -> bool {
        (self.has_failed() || self.is_cut) && !self.is_unanswered
    }

    /// Returns its result; a reply that was `useful` to another window is kept.
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

/// Longest answer to a long request, in tokens; thinking models spend a part of it before they answer.
const MAX_COMPLETION_TOKENS: u32 = 16_384;
/// Longest answer to a short request.
const SHORT_COMPLETION_TOKENS: u32 = 8_192;
/// Number of tokens up to which a request is short.
const SHORT_TOKENS: usize = 4_000;
/// Tokens of an unusable answer that a repair round carries.
const ANSWER_TOKENS: usize = 4_000;

/// Returns the request for one view, with how to read the numbers in its reply, see [`sessions`].
fn ask(guard: &Guard, tasks: &[Task<'_>], view: &View) -> Rendered {
    let categories = tasks.first().map_or(&[][..], |task| task.categories);
    let prompt = user(tasks, view);
    let (system, _) = guard.redact(system(categories));
    // Counted before redaction, which changes little here: the texts of the transcript are redacted already.
    let is_short = tokens::count(&prompt.text) <= SHORT_TOKENS;
    let (text, _) = guard.redact(prompt.text);
    let request = Request {
        system,
        turns: vec![Turn { role: TurnRole::User, text }],
        schema: reply_schema(categories),
        max_completion_tokens: if is_short { SHORT_COMPLETION_TOKENS } else { MAX_COMPLETION_TOKENS },
    };
    let relative = |(sight, shown): (&Sight, &Shown)| {
        // Stored relative to the window: a reply in the cache must still fit when the log was cut at its front.
        let begin = tasks[sight.window].span.start;
        let messages = shown.messages.iter().map(|&index| index.cast_signed() - begin.cast_signed()).collect();
        Numbering { first: shown.first, messages, known: shown.known }
    };
    let reading: Vec<_> = view.sights.iter().zip(&prompt.sessions).map(relative).collect();
    Rendered { request, reading: serde_json::to_value(reading).expect("numbers are JSON") }
}

/// The numbers of one session as they are stored: its messages from the first one to extract from on, since a window
/// may move within its transcript.
#[derive(Serialize, Deserialize)]
struct Numbering {
    first: usize,
    messages: Vec<isize>,
    known: usize,
}

/// Returns how to read the numbers in the reply to a request that shows `view`, by session.
fn sessions(reading: &Value, tasks: &[Task<'_>], view: &View) -> Vec<Shown> {
    // A stored numbering that cannot be read makes every citation fail its check, which is safer than a guess.
    let stored: Vec<Numbering> = Deserialize::deserialize(reading).unwrap_or_default();
    let mut stored = stored.into_iter();
    let absolute = |sight: &Sight| {
        let task = &tasks[sight.window];
        let Numbering { first, messages, known } =
            stored.next().unwrap_or(Numbering { first: 1, messages: Vec::new(), known: 0 });
        // What was shown before the window may have been cut off the log since; nothing can be quoted from it then.
        let index = |offset: isize| {
            let index = task.span.start.checked_add_signed(offset);
            index.filter(|&index| index < task.transcript.messages.len()).unwrap_or(task.span.start)
        };
        Shown { first, messages: messages.into_iter().map(index).collect(), known: known.min(task.known.len()) }
    };
    view.sights.iter().map(absolute).collect()
}

/// Returns `request` with the model's answer to it and what is wrong with that.
fn again(guard: &Guard, request: &Request, text: &str, answer: &Answer) -> Request {
    let mut request = request.clone();
    let text = if text.trim().is_empty() { "(empty)".into() } else { tokens::clip_middle(text.trim(), ANSWER_TOKENS) };
    let whole = answer.legible == Legible::Not;
    let errors =
        if whole { vec!["it holds no JSON object with a list `memories`".to_owned()] } else { answer.errors() };
    for (role, text) in [(TurnRole::Assistant, text.into_owned()), (TurnRole::User, repair(&errors, whole))] {
        let (text, _) = guard.redact(text);
        request.turns.push(Turn { role, text });
    }
    request
}

/// Returns `request` with the answer to it that was cut after the entry titled `last`, and the wish for the rest.
fn rest(guard: &Guard, request: &Request, text: &str, last: Option<&str>) -> Request {
    let mut request = request.clone();
    let text = tokens::clip_middle(text.trim(), ANSWER_TOKENS).into_owned();
    for (role, text) in [(TurnRole::Assistant, text), (TurnRole::User, go_on(last))] {
        let (text, _) = guard.redact(text);
        request.turns.push(Turn { role, text });
    }
    request
}

#[cfg(test)]
mod tests;
