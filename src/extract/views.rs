//! What is asked about in one request: windows, or parts of them; and how a request that is too much is made smaller.

use std::ops::Range;

use super::frame::{is_shown, message_cost};
use super::window::{MIN_HALF_TOKENS, halves_of, has_human_signal, parts_of, split};
use super::{Span, Task};
use crate::tokens;
use transcripts::Message;

/// Longest message of a person that is read in one request, in tokens.
const MESSAGE_TOKENS: usize = 8_000;

/// What one request shows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct View {
    /// The sessions, in order.
    pub sights: Vec<Sight>,
}

/// What a request shows of one window.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Sight {
    /// Which of the tasks.
    pub window: usize,
    /// The messages.
    pub span: Span,
    /// Bytes of the span's only shown message, where it is too long for one request.
    pub part: Option<Range<usize>>,
}

impl View {
    /// Shows a span of the only window.
    #[cfg(test)]
    pub(super) fn of(span: Span) -> Self {
        Self::one(Sight { window: 0, span, part: None })
    }

    fn one(sight: Sight) -> Self {
        Self { sights: vec![sight] }
    }

    /// Names what is shown by window, messages and bytes, wherever the windows stand in their transcripts.
    pub(super) fn name(&self, tasks: &[Task<'_>]) -> String {
        let name = |sight: &Sight| {
            let (window, span, begin) = (sight.window, sight.span, tasks[sight.window].span.start);
            let bytes = sight.part.as_ref().map(|part| format!("@{}..{}", part.start, part.end)).unwrap_or_default();
            format!("{window}:{}..{}{bytes}", span.start - begin, span.end - begin)
        };
        self.sights.iter().map(name).collect::<Vec<_>>().join(" ")
    }

    /// Returns the tasks for what is shown, in order.
    pub(super) fn tasks<'a>(&self, tasks: &[Task<'a>]) -> Vec<Task<'a>> {
        self.sights.iter().map(|sight| Task { span: sight.span, ..tasks[sight.window] }).collect()
    }
}

/// Returns what is asked about: the windows in which a person says something, together, and apart from them the parts
/// of messages that are too long for one request.
pub(super) fn views(tasks: &[Task<'_>]) -> Vec<View> {
    let (mut together, mut apart) = (View::default(), Vec::new());
    for (window, task) in tasks.iter().enumerate().filter(|(_, task)| has_human_signal(task.messages())) {
        let sight = |part| Sight { window, span: task.span, part };
        match only_shown(task.messages()) {
            Some(message) if message.is_human() && message_cost(message).full > MESSAGE_TOKENS => {
                let parts = parts_of(&message.text, MESSAGE_TOKENS).into_iter();
                apart.extend(parts.map(|bytes| View::one(sight(Some(bytes)))));
            }
            _ => together.sights.push(sight(None)),
        }
    }
    let together = (!together.sights.is_empty()).then_some(together);
    together.into_iter().chain(apart).collect()
}

fn only_shown(messages: &[Message]) -> Option<&Message> {
    let mut shown = messages.iter().filter(|message| is_shown(message));
    shown.next().filter(|_| shown.next().is_none())
}

/// Returns the two halves of a view: of several sessions each some, of one session its halves that still have something
/// to say; or nothing if it is not worth halving.
pub(super) fn halved(tasks: &[Task<'_>], view: &View) -> Vec<View> {
    match &view.sights[..] {
        [] => Vec::new(),
        [sight] => halves(&tasks[sight.window], sight).into_iter().map(View::one).collect(),
        sights => {
            let (before, after) = sights.split_at(middle(tasks, sights));
            [before, after].map(|half| View { sights: half.to_vec() }).into()
        }
    }
}

/// Returns where `sights`, of which there are several, come closest to halves of the same length.
fn middle(tasks: &[Task<'_>], sights: &[Sight]) -> usize {
    let bytes = |sight: &Sight| {
        let messages = &tasks[sight.window].transcript.messages[sight.span.start..sight.span.end];
        messages.iter().map(|message| message.text.len()).sum::<usize>()
    };
    let total: usize = sights.iter().map(bytes).sum();
    let mut before = 0;
    let unevenness = |(at, sight): (usize, &Sight)| {
        before += bytes(sight);
        (before.abs_diff(total - before), at + 1)
    };
    sights[..sights.len() - 1].iter().enumerate().map(unevenness).min().map_or(1, |(_, at)| at)
}

fn halves(task: &Task<'_>, sight: &Sight) -> Vec<Sight> {
    let messages = &task.transcript.messages;
    if let Some(message) = only_shown(&messages[sight.span.start..sight.span.end]) {
        let bytes = sight.part.clone().unwrap_or(0..message.text.len());
        let text = &message.text[bytes.clone()];
        if !message.is_human() || tokens::count(text) < 2 * MIN_HALF_TOKENS {
            return Vec::new();
        }
        let part = |half: Range<usize>| Some(bytes.start + half.start..bytes.start + half.end);
        return halves_of(text).into_iter().map(|half| Sight { part: part(half), ..sight.clone() }).collect();
    }
    let spans = split(messages, sight.span).into_iter().flatten();
    let speaks = |span: &Span| has_human_signal(&messages[span.start..span.end]);
    spans.filter(speaks).map(|span| Sight { span, ..sight.clone() }).collect()
}
