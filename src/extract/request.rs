//! Requests: what is asked first, and what is asked again.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Task;
use super::answer::Answer;
use super::prompt::{go_on, repair, system, user};
use super::schema::reply_schema;
use super::session::Shown;
use super::validate::Legible;
use super::views::{Sight, View, views};
use crate::guard::Guard;
use crate::llm::{Rendered, Request, Turn, TurnRole};
use crate::tokens;

/// Longest answer to a long request, in tokens; thinking models spend a part of it before they answer.
const MAX_COMPLETION_TOKENS: u32 = 16_384;
/// Longest answer to a short request.
const SHORT_COMPLETION_TOKENS: u32 = 8_192;
/// Tokens up to which a request is short.
const SHORT_TOKENS: usize = 4_000;
/// Tokens of an unusable answer that a repair round carries.
const ANSWER_TOKENS: usize = 4_000;

/// Returns the first request that [`super::llm::extract`] makes for `tasks`, or `None` if they cost no call.
#[must_use]
pub fn first_request(guard: &Guard, tasks: &[Task<'_>]) -> Option<Request> {
    let view = views(tasks).into_iter().next()?;
    Some(ask(guard, tasks, &view).request)
}

/// Returns the request for one view, with how to read the numbers in its reply, see [`sessions`].
pub(super) fn ask(guard: &Guard, tasks: &[Task<'_>], view: &View) -> Rendered {
    let categories = tasks.first().map_or(&[][..], |task| task.categories);
    let prompt = user(tasks, view);
    let (system, _) = guard.redact(system(categories));
    let is_short = tokens::count(&prompt.text) <= SHORT_TOKENS;
    let (text, _) = guard.redact(prompt.text);
    let request = Request {
        system,
        turns: vec![Turn { role: TurnRole::User, text }],
        schema: reply_schema(categories),
        max_completion_tokens: if is_short { SHORT_COMPLETION_TOKENS } else { MAX_COMPLETION_TOKENS },
    };
    let relative = |(sight, shown): (&Sight, &Shown)| {
        let begin = tasks[sight.window].span.start;
        let messages = shown.messages.iter().map(|&index| index as i64 - begin as i64).collect();
        Numbering { first: shown.first, messages, known: shown.known }
    };
    let reading: Vec<_> = view.sights.iter().zip(&prompt.sessions).map(relative).collect();
    Rendered { request, reading: serde_json::to_value(reading).expect("numbers are JSON") }
}

/// The numbers of one session as they are stored: its messages from the first one to extract from on, since a window may
/// move within its transcript.
#[derive(Serialize, Deserialize)]
struct Numbering {
    first: usize,
    messages: Vec<i64>,
    known: usize,
}

/// Returns how to read the numbers in the reply to a request that shows `view`, by session.
pub(super) fn sessions(reading: &Value, tasks: &[Task<'_>], view: &View) -> Vec<Shown> {
    let stored: Vec<Numbering> = Deserialize::deserialize(reading).unwrap_or_default();
    let mut stored = stored.into_iter();
    let absolute = |sight: &Sight| {
        let task = &tasks[sight.window];
        let Numbering { first, messages, known } =
            stored.next().unwrap_or(Numbering { first: 1, messages: Vec::new(), known: 0 });
        // What was shown before the window may have been cut off the log since; nothing can be quoted from it then.
        let index = |offset: i64| {
            let index = usize::try_from(task.span.start as i64 + offset).ok();
            index.filter(|&index| index < task.transcript.messages.len()).unwrap_or(task.span.start)
        };
        Shown { first, messages: messages.into_iter().map(index).collect(), known: known.min(task.known.len()) }
    };
    view.sights.iter().map(absolute).collect()
}

/// Returns `request` with the model's answer to it and what is wrong with that.
pub(super) fn again(guard: &Guard, request: &Request, text: &str, answer: &Answer) -> Request {
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

/// Returns `request` with the answer to it that was cut behind the entry titled `last`, and the wish for the rest.
pub(super) fn rest(guard: &Guard, request: &Request, text: &str, last: Option<&str>) -> Request {
    let mut request = request.clone();
    let text = tokens::clip_middle(text.trim(), ANSWER_TOKENS).into_owned();
    for (role, text) in [(TurnRole::Assistant, text), (TurnRole::User, go_on(last))] {
        let (text, _) = guard.redact(text);
        request.turns.push(Turn { role, text });
    }
    request
}
