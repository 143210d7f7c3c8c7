//! What is asked about a window: the views of it, and a request for each.

use std::ops::Range;

use super::Task;
use super::frame::{Place, is_shown, message_cost};
use super::prompt::{Shown, View, repair, system, user};
use super::schema::reply_schema;
use super::validate::{Checked, Legible};
use super::window::{MIN_HALF_TOKENS, halves_of, has_human_signal, parts_of, split};
use crate::guard::Guard;
use crate::llm::{Request, Turn, TurnRole};
use crate::tokens;
use crate::transcript::Message;

/// Longest answer, in tokens; thinking models spend a part of it before they answer.
const MAX_COMPLETION_TOKENS: u32 = 8_192;
/// Longest message of a person that is read in one request, in tokens.
const MESSAGE_TOKENS: usize = 8_000;
/// Tokens of an unusable answer that a repair round carries.
const ANSWER_TOKENS: usize = 4_000;

/// Returns the first request that [`super::llm::extract`] makes for a task, or `None` if the window costs no call.
#[must_use]
pub fn first_request(guard: &Guard, task: &Task<'_>) -> Option<Request> {
    let view = views(task).into_iter().next()?;
    Some(ask(guard, &within(task, &view), &view).request)
}

/// Returns the task for what one view shows.
pub(super) fn within<'a>(task: &Task<'a>, view: &View) -> Task<'a> {
    Task { span: view.span, ..*task }
}

/// Returns what is asked about: the window, or the parts of a message that is too long for one request.
pub(super) fn views(task: &Task<'_>) -> Vec<View> {
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

fn part(task: &Task<'_>, bytes: Range<usize>) -> View {
    View { span: task.span, part: Some(Place::Part { bytes }) }
}

fn only_shown<'a>(task: &Task<'a>) -> Option<&'a Message> {
    let mut shown = task.messages().iter().filter(|message| is_shown(message));
    shown.next().filter(|_| shown.next().is_none())
}

/// Returns the two halves of a view that still have something to say, or nothing if it is not worth halving.
pub(super) fn halved(task: &Task<'_>, view: &View) -> Vec<View> {
    if let Some(message) = only_shown(task) {
        let bytes = match &view.part {
            Some(Place::Part { bytes }) => bytes.clone(),
            _ => 0..message.text.len(),
        };
        let text = &message.text[bytes.clone()];
        if !message.is_human() || tokens::count(text) < 2 * MIN_HALF_TOKENS {
            return Vec::new();
        }
        let shift = |part: Range<usize>| bytes.start + part.start..bytes.start + part.end;
        return halves_of(text).into_iter().map(|half| part(task, shift(half))).collect();
    }
    let halves = split(&task.transcript.messages, view.span).into_iter().flatten();
    halves.map(View::of).filter(|half| has_human_signal(within(task, half).messages())).collect()
}

/// A request with the key to its answer.
pub(super) struct Asked {
    /// What is sent.
    pub request: Request,
    /// How to read the numbers in the answer.
    pub shown: Shown,
}

/// Returns the request for one view.
pub(super) fn ask(guard: &Guard, task: &Task<'_>, view: &View) -> Asked {
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
pub(super) fn again(guard: &Guard, request: &Request, answer: &str, checked: &Checked) -> Request {
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
