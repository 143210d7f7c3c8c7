//! The extractor that calls a model. It sends one request for the windows of a pack, one repair request, and separate
//! requests for the halves of windows whose reply is incomplete.

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
use crate::llm::{Answered, Complete, Finish, LlmError, Rendered, Reply, Request, Turn, TurnRole};
use crate::memory::{BLOCKER, Candidate};
use crate::tokens;

/// Maximum number of times that a window is halved because its answer was cut or its request was too long.
const MAX_HALVINGS: u8 = 4;
/// Maximum number of consecutive requests without a usable answer; after that, the rest is left to a later run. The
/// number equals the maximum number of requests for one window.
// A window that is halved four times, with every part failing, takes 1 + 2 + 4 + 8 + 16 requests.
const MAX_FRUITLESS: u32 = 31;

/// Maximum number of times that the rest of a cut answer is requested.
const MAX_CONTINUATIONS: u8 = 8;

/// Asks `model` for memories from the windows of `tasks`, which are identical except for transcript and span. Returns
/// one result per window, in order. The cost of a request is counted once, for the first window that it shows.
///
/// A window in which nobody says anything needs no call. All other windows are read in one request. If the answer, or
/// part of it, cannot be used, the model is called once more with the errors, and entries that are still unusable are
/// counted. If an answer about several windows is refused, cut or unusable, or the request is too long for the model,
/// each half of them is read separately, so that one window does not affect the others. Likewise, a single window is
/// read in halves if its answer is cut or its request is too long. If the window of a cut answer cannot be halved any
/// further, the rest of the answer is requested. A message from a person of more than 8,000 tokens is read in several
/// requests, so that none of it is lost.
///
/// The outcome is [`super::Outcome::Failed`] if any part of the window received no answer. Candidates from the other
/// parts are still returned. Every entry of an answer is returned as a candidate or as dropped. If an entry was sent
/// again, only its last version is returned.
pub async fn extract<C: Complete>(model: &C, guard: &Guard, tasks: &[Task<'_>]) -> Vec<Extraction> {
    let asking = Asking { model, guard, tasks };
    let mut reading = Reading::of(tasks.len());
    // The views form a stack that is filled in reverse. Halves are read in place of the whole, so candidates keep the
    // order of the log.
    let mut open: Vec<(View, u8)> = views(tasks).into_iter().rev().map(|view| (view, 0)).collect();
    while let Some((view, halvings)) = open.pop() {
        if reading.fruitless >= MAX_FRUITLESS {
            reading.fail(&view, "too many replies in a row were unusable; the next run tries again");
            continue;
        }
        // Sessions are separated before any session is halved, so only the halving of a single session counts.
        let halvings = halvings + u8::from(view.sights.len() == 1);
        // The halves are computed only when needed, since all tokens have to be counted again.
        let halves = || if halvings <= MAX_HALVINGS { halved(tasks, &view) } else { Vec::new() };
        match asking.read(&view, halves, &mut reading).await {
            Next::Done => {}
            Next::Halves(halves) => open.extend(halves.into_iter().rev().map(|half| (half, halvings))),
        }
    }
    reading.finish()
}

/// The next step after a request.
enum Next {
    /// Continue with the next view.
    Done,
    /// Read the same content in these halves.
    Halves(Vec<View>),
}

/// The model, the guard and the windows to ask about.
struct Asking<'a, 't, C> {
    model: &'a C,
    guard: &'a Guard,
    tasks: &'a [Task<'t>],
}

impl<C: Complete> Asking<'_, '_, C> {
    async fn read(&self, view: &View, halves: impl Fn() -> Vec<View>, reading: &mut Reading) -> Next {
        let name = view.name(self.tasks);
        let are_several = view.sights.len() > 1;
        // The request counts as useless until `take` resets the counter, so that a server with only unusable replies is
        // abandoned.
        reading.fruitless += 1;
        let (asked, reply) =
            reading.complete(self.model, &format!("extract {name}"), || ask(self.guard, self.tasks, view), view).await;
        let shown = sessions(&asked.reading, self.tasks, view);
        let read = |text: &str| Answer::read(text, &view.tasks(self.tasks), &shown, &asked.request.schema);
        let reply = match reply {
            Ok(reply) => reply,
            Err(error) => {
                // Other errors concern the server or the account, so both halves would fail, too.
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
                // If there are several sessions, the model may refuse only one of them. It would probably refuse the
                // halves of a single session, too.
                let halves = if are_several { halves() } else { Vec::new() };
                let reason = "the model declined to read this window; try another model";
                return reading.halve_or_fail(view, halves, reason);
            }
            Finish::Stop => {}
        }
        let mut answer = read(&reply.text);
        // Requesting the whole list again costs as much as requesting its halves, which are more likely to succeed.
        // Some servers cut an answer without reporting it.
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

    /// Requests the missing part of a cut answer, as long as each round returns more of it. If a part is still missing
    /// after that, this is reported.
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
            let render = || without_numbers(rest(self.guard, request, &text, answer.last_content()));
            let part = format!("continue {round} {}", view.name(self.tasks));
            let (_, reply) = reading.complete(self.model, &part, render, view).await;
            // The cut answer is still used, and `complete` has recorded that this request received no reply.
            let Ok(reply) = reply else { return };
            if reply.finish == Finish::Refusal {
                return;
            }
            if !answer.extend(read(&reply.text)) || answer.is_whole() {
                return;
            }
            // Only the last part is shown again, because with all parts, the request itself would become too long for
            // the model.
            text = reply.text;
        }
    }
}

/// Returns a request whose reply uses the message numbers of the previous request.
const fn without_numbers(request: Request) -> Rendered {
    Rendered { request, reading: serde_json::Value::Null }
}

/// The results of each window so far.
struct Reading {
    windows: Vec<WindowReading>,
    /// Number of consecutive requests without any usable answer.
    fruitless: u32,
}

#[derive(Default)]
struct WindowReading {
    candidates: Vec<Candidate>,
    dropped: Vec<Dropped>,
    spent: Spent,
    /// Number of parts with a usable answer, which may be "nothing to keep".
    answered: usize,
    /// Why a part received no answer.
    failure: Option<String>,
    /// Why part of an answer could not be used.
    flaw: Option<String>,
    /// Keys of the replies to the requests about the window.
    replies: Vec<String>,
    /// Whether an answer was cut and its rest was not received.
    is_cut: bool,
    /// Whether a request about the window received no reply at all.
    is_unanswered: bool,
}

impl Reading {
    /// Returns a reading of `count` windows without results.
    fn of(count: usize) -> Self {
        Self { windows: (0..count).map(|_| WindowReading::default()).collect(), fruitless: 0 }
    }

    /// Sends a request about part of the windows, and counts its cost.
    async fn complete<C: Complete>(
        &mut self,
        model: &C,
        part: &str,
        render: impl FnOnce() -> Rendered,
        view: &View,
    ) -> (Rendered, Result<Reply, LlmError>) {
        let Answered { rendered, key, answer } = model.complete_part(part, render).await;
        let spent = match &answer {
            Ok((reply, cost)) => Spent::of(reply, *cost),
            Err(LlmError::Transient { attempts, .. }) => Spent { calls: u64::from(*attempts), ..Spent::default() },
            Err(LlmError::Permanent { .. } | LlmError::TooLong { .. }) => Spent { calls: 1, ..Spent::default() },
            Err(
                LlmError::Budget { .. } | LlmError::InBatch | LlmError::NotRecorded { .. } | LlmError::Cassette { .. },
            ) => Spent::default(),
        };
        // If the cost were split between windows, the rounded shares would no longer add up to the provider's bill.
        if let Some(first) = view.sights.first() {
            self.windows[first.window].spent += spent;
        }
        for sight in &view.sights {
            match &answer {
                Ok(_) => self.windows[sight.window].replies.push(key.clone()),
                // The halves are requested instead, so the window is not left unanswered.
                Err(LlmError::TooLong { .. }) => {}
                Err(_) => self.windows[sight.window].is_unanswered = true,
            }
        }
        (rendered, answer.map(|(reply, _)| reply))
    }

    /// Continues with `halves` or, if there are none, records that nothing in the view received an answer.
    fn halve_or_fail(&mut self, view: &View, halves: Vec<View>, reason: &str) -> Next {
        if halves.is_empty() {
            self.fail(view, reason);
            Next::Done
        } else {
            Next::Halves(halves)
        }
    }

    /// Records that nothing in the view received an answer.
    fn fail(&mut self, view: &View, reason: &str) {
        for sight in &view.sights {
            self.windows[sight.window].fail(reason);
        }
    }

    /// Records that the repair request received no answer. A window is left for a later run if no entry about it could
    /// be used.
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

    /// Accepts an answer without further requests.
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
        // One reply may serve several windows. It may be deleted only if no window needs it.
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
                return self.fail(
                    "the answer was cut off at the token limit before its list of memories began; use a model \
                     that reasons less",
                );
            }
            Legible::Not => self.flaw("the answer contains no list of memories".to_owned()),
            Legible::Cut => {
                self.is_cut = true;
                self.flaw("the answer was cut off; its complete entries were kept, and the rest is missing".to_owned());
            }
            Legible::Whole if broken > 0 => {
                self.flaw(format!("{broken} of {proposed} entries do not have the requested shape"));
            }
            Legible::Whole => {}
        }
        if legible != Legible::Not && (proposed == 0 || broken < proposed) {
            self.answered += 1;
        }
        self.keep(guard, checked);
    }

    fn fail(&mut self, reason: &str) {
        // The first reason is the cause, since later errors often result from it.
        self.failure.get_or_insert_with(|| reason.to_owned());
    }

    fn flaw(&mut self, reason: String) {
        self.flaw.get_or_insert(reason);
    }

    /// Keeps the candidates, without their secrets.
    fn keep(&mut self, guard: &Guard, checked: Checked) {
        self.dropped.extend(checked.dropped.into_iter().map(|(_, dropped)| dropped));
        for candidate in checked.candidates {
            // The request was redacted, but a model may join the parts of a secret, or invent one.
            match without_secret(guard.redact(candidate).0.into_inner()) {
                Ok(candidate) => self.candidates.push(candidate),
                Err(dropped) => self.dropped.push(dropped),
            }
        }
    }

    const fn has_failed(&self) -> bool {
        self.failure.is_some() || self.flaw.is_some() && self.answered == 0
    }

    /// Whether the window failed or is incomplete because of the content of its replies. If a request received no reply
    /// at all, the missing reply is the reason, and the other replies are kept, since they have been paid for.
    const fn is_useless(&self) -> bool {
        (self.has_failed() || self.is_cut) && !self.is_unanswered
    }

    /// Returns the result of the window. A reply that was `useful` to another window is kept.
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

/// Maximum length of the answer to a long request, in tokens. Reasoning models use part of it before they answer.
const MAX_COMPLETION_TOKENS: u32 = 16_384;
/// Maximum length of the answer to a short request, in tokens.
const SHORT_COMPLETION_TOKENS: u32 = 8_192;
/// Maximum number of tokens of a short request.
const SHORT_TOKENS: usize = 4_000;
/// Number of tokens of an unusable answer that are included in a repair request.
const ANSWER_TOKENS: usize = 4_000;

/// Returns the request for one view, with information for reading the numbers in its reply, see [`sessions`].
fn ask(guard: &Guard, tasks: &[Task<'_>], view: &View) -> Rendered {
    let categories = tasks.first().map_or(&[][..], |task| task.categories);
    let categories: Vec<String> = categories.iter().filter(|name| *name != BLOCKER).cloned().collect();
    let categories = &categories[..];
    let prompt = user(tasks, view);
    let (system, _) = guard.redact(system(categories));
    // The tokens are counted before redaction, which changes little because the texts of the transcript are already
    // redacted.
    let is_short = tokens::count(&prompt.text) <= SHORT_TOKENS;
    let (text, _) = guard.redact(prompt.text);
    let request = Request {
        system,
        turns: vec![Turn { role: TurnRole::User, text }],
        schema: reply_schema(categories),
        max_completion_tokens: if is_short { SHORT_COMPLETION_TOKENS } else { MAX_COMPLETION_TOKENS },
    };
    let relative = |(sight, shown): (&Sight, &Shown)| {
        // Numbers are stored relative to the window, because a stored reply must remain valid when the beginning of the
        // log is deleted.
        let begin = tasks[sight.window].span.start;
        let messages = shown.messages.iter().map(|&index| index.cast_signed() - begin.cast_signed()).collect();
        Numbering { first: shown.first, messages, known: shown.known }
    };
    let reading: Vec<_> = view.sights.iter().zip(&prompt.sessions).map(relative).collect();
    Rendered { request, reading: serde_json::to_value(reading).expect("numbers are JSON") }
}

/// The numbers of one session as they are stored. They are relative to the first message to extract from, since a
/// window may move within its transcript.
#[derive(Serialize, Deserialize)]
struct Numbering {
    first: usize,
    messages: Vec<isize>,
    known: usize,
}

/// Returns, for each session, how to read the numbers in the reply to a request that shows `view`.
fn sessions(reading: &Value, tasks: &[Task<'_>], view: &View) -> Vec<Shown> {
    // If a stored numbering cannot be read, every citation fails its check, which is safer than guessing.
    let stored: Vec<Numbering> = Deserialize::deserialize(reading).unwrap_or_default();
    let mut stored = stored.into_iter();
    let absolute = |sight: &Sight| {
        let task = &tasks[sight.window];
        let Numbering { first, messages, known } =
            stored.next().unwrap_or(Numbering { first: 1, messages: Vec::new(), known: 0 });
        // Messages before the window may have been deleted from the log since the request, and can no longer be quoted.
        let index = |offset: isize| {
            let index = task.span.start.checked_add_signed(offset);
            index.filter(|&index| index < task.transcript.messages.len()).unwrap_or(task.span.start)
        };
        Shown { first, messages: messages.into_iter().map(index).collect(), known: known.min(task.known.len()) }
    };
    view.sights.iter().map(absolute).collect()
}

/// Returns `request` extended by the model's answer to it and the errors in that answer.
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

/// Returns `request` extended by its answer, which was cut after the entry with the content `last`, and a request for
/// the rest.
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
