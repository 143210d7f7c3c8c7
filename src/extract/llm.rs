//! The extractor that asks a model: one request a window, one repair round, and halves where an answer is too long.

use super::frame::{Place, is_shown, message_cost};
use super::prompt::{Shown, View, repair, system, user};
use super::schema::reply_schema;
use super::validate::{Checked, Legible, check, is_mendable, without_secret};
use super::window::{has_human_signal, parts_of, split};
use super::{DropReason, Dropped, Extraction, Outcome, Spent, Task};
use crate::guard::Guard;
use crate::llm::{Complete, Cost, Finish, LlmError, Reply, Request, Turn, TurnRole};
use crate::memory::Candidate;
use crate::tokens;

/// Longest answer, in tokens; thinking models spend a part of it before they answer.
const MAX_COMPLETION_TOKENS: u32 = 8_192;
/// Longest message of a person that is read in one request, in tokens.
const MESSAGE_TOKENS: usize = 8_000;
/// How often a window is halved because its answer was cut or its request too long.
const MAX_HALVINGS: u8 = 4;
/// Tokens of an unusable answer that a repair round carries.
const ANSWER_TOKENS: usize = 4_000;

/// Returns the first request that [`extract`] makes for a task, or `None` if the window costs no call.
#[must_use]
pub fn first_request(guard: &Guard, task: &Task<'_>) -> Option<Request> {
    let view = views(task).into_iter().next()?;
    Some(ask(guard, &within(task, &view), &view).request)
}

/// Asks `model` what is worth keeping of one window.
///
/// A window in which nobody says anything costs no call. If the answer cannot be used, or not all of it, the model is
/// asked once more and told why; what is still unusable is counted. If the answer is cut at the token limit, or the
/// request too long for the model, the window is read in halves. A person's message of over 8,000 tokens is read in
/// several requests, so that nothing of it is lost.
///
/// The outcome is [`Outcome::Failed`] if any part of the window got no answer; candidates from the other parts are
/// returned all the same. Every entry of an answer comes back as a candidate or as dropped; of an entry that was sent
/// again, only the last version.
pub async fn extract<C: Complete>(model: &C, guard: &Guard, task: &Task<'_>) -> Extraction {
    let mut reading = Reading::default();
    let mut open: Vec<(View, u8)> = views(task).into_iter().rev().map(|view| (view, 0)).collect();
    while let Some((view, halvings)) = open.pop() {
        let task = within(task, &view);
        let halves = if halvings < MAX_HALVINGS { halved(&task, &view) } else { Vec::new() };
        match reading.read(model, guard, &task, &view, halves.is_empty()).await {
            Next::Done => {}
            Next::Halve => open.extend(halves.into_iter().rev().map(|half| (half, halvings + 1))),
        }
    }
    reading.finish()
}

fn within<'a>(task: &Task<'a>, view: &View) -> Task<'a> {
    Task { span: view.span, ..*task }
}

/// Returns what is asked about: the window, or the parts of a message that is too long for one request.
fn views(task: &Task<'_>) -> Vec<View> {
    if !has_human_signal(task.messages()) {
        return Vec::new();
    }
    match only_shown(task) {
        Some(message) if message.is_human() && message_cost(message).full > MESSAGE_TOKENS => {
            parts_of(&message.text, MESSAGE_TOKENS).into_iter().map(|bytes| part(task, bytes)).collect()
        }
        _ => vec![View::of(task.span)],
    }
}

fn part(task: &Task<'_>, bytes: std::ops::Range<usize>) -> View {
    View { span: task.span, part: Some(Place::Part { bytes }) }
}

fn only_shown<'a>(task: &Task<'a>) -> Option<&'a crate::transcript::Message> {
    let mut shown = task.messages().iter().filter(|message| is_shown(message));
    shown.next().filter(|_| shown.next().is_none())
}

/// Returns the two halves of a view that still have something to say, or nothing if it is not worth halving.
fn halved(task: &Task<'_>, view: &View) -> Vec<View> {
    if let Some(message) = only_shown(task) {
        let bytes = match &view.part {
            Some(Place::Part { bytes }) => bytes.clone(),
            _ => 0..message.text.len(),
        };
        let text = &message.text[bytes.clone()];
        if !message.is_human() || tokens::count(text) < 2 * super::window::MIN_HALF_TOKENS {
            return Vec::new();
        }
        let shift = |part: std::ops::Range<usize>| bytes.start + part.start..bytes.start + part.end;
        return parts_of(text, tokens::count(text).div_ceil(2) + 1)
            .into_iter()
            .map(|one| part(task, shift(one)))
            .collect();
    }
    let halves = split(&task.transcript.messages, view.span).into_iter().flatten();
    halves.map(View::of).filter(|half| has_human_signal(within(task, half).messages())).collect()
}

/// A request with the key to its answer.
struct Asked {
    request: Request,
    shown: Shown,
}

fn ask(guard: &Guard, task: &Task<'_>, view: &View) -> Asked {
    let shown = user(task, view);
    let (system, _) = guard.redact(system(task.categories));
    let (text, _) = guard.redact(shown.text.clone());
    let request = Request {
        system,
        turns: vec![Turn { role: TurnRole::User, text }],
        schema: reply_schema(task.categories),
        max_completion_tokens: MAX_COMPLETION_TOKENS,
    };
    Asked { request, shown }
}

/// Returns `request` with the model's answer to it and what is wrong with that.
fn again(guard: &Guard, request: &Request, answer: &str, checked: &Checked) -> Request {
    let mut request = request.clone();
    let answer =
        if answer.trim().is_empty() { "(empty)".into() } else { tokens::clip_middle(answer.trim(), ANSWER_TOKENS) };
    let whole = checked.legible == Legible::Not;
    let errors =
        if whole { vec!["it holds no JSON object with a list `memories`".to_owned()] } else { checked.errors() };
    for (role, text) in [(TurnRole::Assistant, answer.into_owned()), (TurnRole::User, repair(&errors, whole))] {
        let (text, _) = guard.redact(text);
        request.turns.push(Turn { role, text });
    }
    request
}

/// What to do after a request.
enum Next {
    /// Go on.
    Done,
    /// Read the same in halves.
    Halve,
}

/// What has come of a window so far.
#[derive(Default)]
struct Reading {
    candidates: Vec<Candidate>,
    dropped: Vec<Dropped>,
    spent: Spent,
    /// Parts that got an answer of which something could be used, be it that there is nothing to keep.
    answered: usize,
    /// Why a part got no answer.
    failure: Option<String>,
    /// Why an answer could not be used whole.
    flaw: Option<String>,
}

impl Reading {
    async fn read<C: Complete>(
        &mut self,
        model: &C,
        guard: &Guard,
        task: &Task<'_>,
        view: &View,
        is_last: bool,
    ) -> Next {
        let asked = ask(guard, task, view);
        let reply = match self.complete(model, &asked.request).await {
            Ok(reply) => reply,
            Err(LlmError::TooLong { .. }) if !is_last => return Next::Halve,
            Err(error) => return self.fail(error.to_string()),
        };
        match reply.finish {
            Finish::Length if !is_last => return Next::Halve,
            Finish::Refusal => {
                return self.fail("the model declined to read this window; try another model".to_owned());
            }
            Finish::Stop | Finish::Length => {}
        }
        let checked = check(&reply.text, task, &asked.shown, &asked.request.schema);
        let is_cut = reply.finish == Finish::Length;
        // A cut answer would be cut again.
        if !is_cut && checked.wants_repair() {
            let request = again(guard, &asked.request, &reply.text, &checked);
            let second = self.complete(model, &request).await;
            self.take_repaired(guard, task, &asked, checked, second);
        } else {
            self.take(guard, checked, is_cut);
        }
        Next::Done
    }

    async fn complete<C: Complete>(&mut self, model: &C, request: &Request) -> Result<Reply, LlmError> {
        let answer = model.complete(request).await;
        match &answer {
            Ok((reply, Cost::Call)) => {
                self.spent += Spent {
                    calls: 1,
                    cached: 0,
                    prompt_tokens: reply.prompt_tokens,
                    completion_tokens: reply.completion_tokens,
                };
            }
            Ok((_, Cost::Cached)) => self.spent.cached += 1,
            Err(LlmError::Transient { attempts, .. }) => self.spent.calls += u64::from(*attempts),
            Err(LlmError::Permanent { .. } | LlmError::TooLong { .. }) => self.spent.calls += 1,
            Err(LlmError::Budget { .. } | LlmError::NotRecorded { .. } | LlmError::Cassette { .. }) => {}
        }
        answer.map(|(reply, _)| reply)
    }

    fn fail(&mut self, reason: String) -> Next {
        self.failure.get_or_insert(reason);
        Next::Done
    }

    /// Takes an answer as it is.
    fn take(&mut self, guard: &Guard, checked: Checked, is_cut: bool) {
        let broken = checked.dropped.iter().filter(|(_, one)| one.reason == DropReason::Invalid).count();
        let proposed = checked.candidates.len() + checked.dropped.len();
        match checked.legible {
            Legible::Not if is_cut => {
                self.fail(
                    "the answer was cut at the token limit before it began; use a model that thinks less".to_owned(),
                );
                return;
            }
            Legible::Not => self.flaw("the answer holds no list of memories".to_owned()),
            Legible::Cut => self.flaw("the answer was cut; its whole entries were kept".to_owned()),
            Legible::Whole if broken > 0 => {
                self.flaw(format!("{broken} of {proposed} entries do not have the shape that was asked for"));
            }
            Legible::Whole => {}
        }
        if checked.legible != Legible::Not && (proposed == 0 || broken < proposed) {
            self.answered += 1;
        }
        self.keep(guard, checked);
    }

    /// Takes an answer with its second version: entries that were sent again replace as many that were faulty.
    fn take_repaired(
        &mut self,
        guard: &Guard,
        task: &Task<'_>,
        asked: &Asked,
        first: Checked,
        second: Result<Reply, LlmError>,
    ) {
        let second = match second {
            Ok(reply) if reply.finish != Finish::Refusal => {
                check(&reply.text, task, &asked.shown, &asked.request.schema)
            }
            Ok(_) => return self.take_unrepaired(guard, first, "the model declined to correct its answer"),
            Err(error) => return self.take_unrepaired(guard, first, &error.to_string()),
        };
        if second.legible == Legible::Not {
            return self.take(guard, first, false);
        }
        self.take(guard, merged(first, second), false);
    }

    /// Without an answer to the repair round the window is open if nothing of the first could be used.
    fn take_unrepaired(&mut self, guard: &Guard, first: Checked, reason: &str) {
        if first.candidates.is_empty() {
            self.failure.get_or_insert_with(|| reason.to_owned());
        } else {
            self.flaw(reason.to_owned());
        }
        self.take(guard, first, false);
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

    fn finish(self) -> Extraction {
        let outcome = if self.failure.is_some() || self.flaw.is_some() && self.answered == 0 {
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
        }
    }
}

/// Puts the entries of a repair round in the place of the faulty ones; what was not sent again stays dropped.
fn merged(first: Checked, second: Checked) -> Checked {
    let taken = first.candidates.len();
    let (mendable, judged): (Vec<_>, Vec<_>) =
        first.dropped.into_iter().partition(|(_, dropped)| is_mendable(dropped.reason));
    let mut candidates = first.candidates;
    for candidate in second.candidates {
        // Some models send the good entries again, too.
        if !candidates[..taken].contains(&candidate) {
            candidates.push(candidate);
        }
    }
    let sent_again = candidates.len() - taken + second.dropped.len();
    let given_up = mendable.into_iter().skip(sent_again).map(|(place, dropped)| (place, given_up(dropped)));
    let dropped = judged.into_iter().chain(given_up).chain(second.dropped).collect();
    Checked { legible: second.legible, candidates, dropped }
}

/// An entry that the model withdrew is no longer a fault of the answer.
fn given_up(dropped: Dropped) -> Dropped {
    match dropped.reason {
        DropReason::Invalid => {
            Dropped { reason: DropReason::NotSaid, detail: format!("withdrawn: {}", dropped.detail) }
        }
        DropReason::WrongMessage | DropReason::QuoteNotFound | DropReason::NotSaid | DropReason::Secret => dropped,
    }
}
