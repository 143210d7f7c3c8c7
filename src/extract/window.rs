//! Cutting a transcript into windows; pure.

use std::ops::Range;

use super::Span;
use super::carry::MAX_CARRIED_TOKENS;
use super::frame::message_costs;
use transcripts::Message;

pub use super::signal::has_human_signal;

/// How large a window may be, in `o200k_base` tokens of rendered messages. Windows that are read in one request are no
/// larger together, their headers and context included; the rest of the prompt is not counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WindowBudget {
    /// Tokens of the messages to extract from.
    pub tokens: usize,
    /// Tokens of the messages before them that are shown as context.
    pub overlap_tokens: usize,
}

impl Default for WindowBudget {
    fn default() -> Self {
        Self { tokens: 8_000, overlap_tokens: 600 }
    }
}

/// A window with its price.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// What it shows.
    pub span: Span,
    /// Upper bound of the tokens of its session in a prompt: head, context and messages.
    pub tokens: usize,
}

/// Upper bound of the tokens around the messages of a session: its header and tags.
const SESSION_TOKENS: usize = 80;

/// Splits the messages that `done` does not cover into windows of at most `budget` tokens of messages.
///
/// Windows come in transcript order and hold every such message exactly once. A person's words and what follows until a
/// person speaks again stay together where they fit; a longer turn is split between messages. A message that is longer
/// than the budget gets a window of its own and is not cut here: [`super::llm::extract`] reads it in several requests.
///
/// `done` is sorted and disjoint; parts of it that lie beyond the transcript are ignored. As messages are appended, all
/// windows but the last stay as they are.
#[must_use]
pub fn windows(messages: &[Message], done: &[Range<usize>], budget: WindowBudget) -> Vec<Window> {
    let free = uncovered(messages.len(), done);
    let first_shown = free.first().map_or(0, |range| range.start.saturating_sub(MAX_CONTEXT_MESSAGES));
    // Counting is the expensive part: once a message, and not at all for what was read long ago.
    let costs = message_costs(&messages[first_shown..]);
    let cost = |index: usize| costs[index - first_shown];
    let mut windows = Vec::new();
    for range in free {
        for filled in fill(messages, range, budget.tokens, &|index| cost(index).full) {
            let start = filled.range.start;
            let context_start = context_start(start, first_shown, budget.overlap_tokens, &|index| cost(index).context);
            let context: usize = (context_start..start).map(|index| cost(index).context).sum();
            let carried = if context_start > 0 { MAX_CARRIED_TOKENS } else { 0 };
            windows.push(Window {
                span: Span { context_start, start, end: filled.range.end },
                tokens: SESSION_TOKENS + carried + context + filled.tokens,
            });
        }
    }
    windows
}

/// Most messages that are looked at for the context of a window.
const MAX_CONTEXT_MESSAGES: usize = 40;

fn uncovered(len: usize, done: &[Range<usize>]) -> Vec<Range<usize>> {
    let mut free = Vec::new();
    let mut next = 0;
    for range in done {
        if next < range.start.min(len) {
            free.push(next..range.start.min(len));
        }
        next = next.max(range.end);
    }
    if next < len {
        free.push(next..len);
    }
    free
}

/// Fills windows turn by turn, first fit in order.
fn fill(messages: &[Message], range: Range<usize>, budget: usize, cost: &dyn Fn(usize) -> usize) -> Vec<Filling> {
    let mut windows = Vec::new();
    let mut window = Filling { range: range.start..range.start, tokens: 0 };
    for turn in turns(messages, range) {
        let turn_tokens: usize = turn.clone().map(cost).sum();
        if window.tokens + turn_tokens <= budget {
            window.extend(turn.end, turn_tokens);
            continue;
        }
        window.close(&mut windows);
        // A turn that fits a window of its own is not split; its messages then all fit below.
        for index in turn {
            let tokens = cost(index);
            if window.tokens + tokens > budget {
                window.close(&mut windows);
            }
            window.extend(index + 1, tokens);
        }
    }
    window.close(&mut windows);
    windows
}

/// A window while it is filled.
struct Filling {
    range: Range<usize>,
    tokens: usize,
}

impl Filling {
    fn extend(&mut self, end: usize, tokens: usize) {
        self.range.end = end;
        self.tokens += tokens;
    }

    fn close(&mut self, windows: &mut Vec<Self>) {
        let next = Self { range: self.range.end..self.range.end, tokens: 0 };
        let filled = std::mem::replace(self, next);
        if !filled.range.is_empty() {
            windows.push(filled);
        }
    }
}

/// Splits `range` before every message of a person.
fn turns(messages: &[Message], range: Range<usize>) -> impl Iterator<Item = Range<usize>> {
    let mut start = range.start;
    std::iter::from_fn(move || {
        if start >= range.end {
            return None;
        }
        let end = (start + 1..range.end).find(|&index| messages[index].is_human()).unwrap_or(range.end);
        let turn = start..end;
        start = end;
        Some(turn)
    })
}

fn context_start(start: usize, floor: usize, budget: usize, cost: &dyn Fn(usize) -> usize) -> usize {
    let mut tokens = 0;
    let mut first = start;
    while first > floor.max(start.saturating_sub(MAX_CONTEXT_MESSAGES)) {
        tokens += cost(first - 1);
        if tokens > budget {
            break;
        }
        first -= 1;
    }
    first
}

/// Fewest tokens that a window must have on either side to be halved.
pub(super) const MIN_HALF_TOKENS: usize = 300;

/// Splits a window in two where the tokens are closest to even, before a person's words if there are any near.
///
/// The second half has the end of the first as its context. `None` if a half would be tiny.
pub(super) fn split(messages: &[Message], span: Span) -> Option<[Span; 2]> {
    let costs = message_costs(&messages[span.context_start..span.end]);
    let cost = |index: usize| costs[index - span.context_start];
    let total: usize = (span.start..span.end).map(|index| cost(index).full).sum();
    let mut before = 0;
    let mut best: Option<(usize, usize)> = None;
    for (index, message) in messages.iter().enumerate().take(span.end).skip(span.start + 1) {
        before += cost(index - 1).full;
        let turn_break = if message.is_human() { 0 } else { total / 5 };
        let unevenness = before.abs_diff(total - before) + turn_break;
        if before.min(total - before) >= MIN_HALF_TOKENS && best.is_none_or(|(least, _)| unevenness < least) {
            best = Some((unevenness, index));
        }
    }
    let (_, middle) = best?;
    let overlap = WindowBudget::default().overlap_tokens;
    let context_start = context_start(middle, span.context_start, overlap, &|index| cost(index).context);
    Some([Span { end: middle, ..span }, Span { context_start, start: middle, end: span.end }])
}

/// Splits a long text into parts of about `limit` tokens at most: at line ends, within long lines at spaces, and within
/// long words anywhere.
pub(super) fn parts_of(text: &str, limit: usize) -> Vec<Range<usize>> {
    let mut parts = Vec::new();
    let (mut start, mut at, mut tokens) = (0, 0, 0);
    for piece in text.split_inclusive('\n').flat_map(|line| line.split_inclusive(' ')).flat_map(chunks) {
        let piece_tokens = crate::tokens::count(piece);
        if tokens + piece_tokens > limit && at > start {
            parts.push(start..at);
            (start, tokens) = (at, 0);
        }
        at += piece.len();
        tokens += piece_tokens;
    }
    if at > start {
        parts.push(start..at);
    }
    parts
}

/// Splits a text in two near its middle: at a line end, else at a space, else anywhere.
pub(super) fn halves_of(text: &str) -> [Range<usize>; 2] {
    let (quarter, middle) = (text.floor_char_boundary(text.len() / 4), text.ceil_char_boundary(text.len() / 2));
    let near = &text[quarter..middle];
    let end = near.rfind('\n').or_else(|| near.rfind(' ')).map_or(middle, |at| quarter + at + 1);
    [0..end, end..text.len()]
}

/// Splits a word of over 600 bytes.
fn chunks(word: &str) -> impl Iterator<Item = &str> {
    let mut rest = word;
    std::iter::from_fn(move || {
        let (chunk, after) = rest.split_at(rest.floor_char_boundary(600));
        rest = after;
        (!chunk.is_empty()).then_some(chunk)
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use transcripts::{Kind, Role};

    fn span(context_start: usize, start: usize, end: usize) -> Span {
        Span { context_start, start, end }
    }

    fn budget(tokens: usize) -> WindowBudget {
        WindowBudget { tokens, overlap_tokens: 60 }
    }

    fn full(message: &Message) -> usize {
        message_costs(std::slice::from_ref(message))[0].full
    }

    fn spans(messages: &[Message], done: &[Range<usize>], budget: WindowBudget) -> Vec<Span> {
        windows(messages, done, budget).into_iter().map(|window| window.span).collect()
    }

    #[test]
    fn a_turn_stays_whole_where_it_fits() {
        let long = "word ".repeat(60);
        let messages = [
            Message::user(long.as_str()),
            Message::assistant("fine"),
            Message::user("short"),
            Message::assistant(long.as_str()),
        ];
        let limit = full(&messages[0]) + full(&messages[1]) + full(&messages[2]);
        assert_eq!(spans(&messages, &[], budget(limit)), [span(0, 0, 2), span(1, 2, 4)]);
        assert_eq!(spans(&messages, &[], budget(10_000)), [span(0, 0, 4)]);
    }

    #[test]
    fn a_message_over_the_budget_is_alone() {
        let messages = [Message::user("a"), Message::user("word ".repeat(900)), Message::user("b")];
        assert_eq!(spans(&messages, &[], budget(300)), [span(0, 0, 1), span(0, 1, 2), span(2, 2, 3)]);
    }

    #[test]
    fn what_is_done_is_context_at_most() {
        let done = |ranges: &[(usize, usize)]| ranges.iter().map(|&(start, end)| start..end).collect::<Vec<_>>();
        let said = "word ".repeat(30);
        let messages: Vec<Message> = (0..6).map(|n| Message::user(format!("{said}{n}"))).collect();
        assert_eq!(spans(&messages, &done(&[(0, 4)]), budget(10_000)), [span(3, 4, 6)]);
        assert_eq!(spans(&messages, &done(&[(0, 1), (2, 3), (5, 9)]), budget(10_000)), [span(0, 1, 2), span(2, 3, 5)]);
        assert_eq!(spans(&messages, &done(&[(0, 6)]), budget(10_000)), []);
        assert_eq!(spans(&[], &done(&[(0, 6)]), budget(10_000)), []);
    }

    #[test]
    fn long_texts_are_split_at_lines_then_spaces_then_anywhere() {
        let text = "one two\nthree four five six seven\neight";
        let pieces =
            |ranges: &[Range<usize>]| ranges.iter().map(|range| text[range.clone()].to_owned()).collect::<Vec<_>>();
        assert_eq!(pieces(&halves_of(text)), ["one two\nthree four ", "five six seven\neight"]);
        let solid = "花".repeat(3_000);
        for ranges in [parts_of(&solid, 700), parts_of(text, 2), parts_of(&"a ".repeat(9_000), 700)] {
            assert!(ranges.len() > 1 && ranges[0].start == 0);
            assert!(ranges.windows(2).all(|pair| pair[0].end == pair[1].start));
        }
        assert!(parts_of(&solid, 700).iter().all(|range| crate::tokens::count(&solid[range.clone()]) <= 1_000));
        assert!(parts_of("", 5).is_empty());
    }

    #[test]
    fn windows_split_before_a_person_and_keep_context() {
        let text = "word ".repeat(400);
        let messages = [
            Message::user(text.as_str()),
            Message::assistant("fine"),
            Message::user(text.as_str()),
            Message::assistant(text.as_str()),
        ];
        let whole = span(0, 0, 4);
        assert_eq!(split(&messages, whole), Some([span(0, 0, 2), span(0, 2, 4)]));
        assert_eq!(split(&messages, span(0, 0, 2)), None);
        assert_eq!(split(&messages, span(0, 3, 3)), None);
    }

    fn any_message() -> impl Strategy<Value = Message> {
        let role = prop::sample::select(vec![Role::User, Role::User, Role::Assistant, Role::Tool]);
        let kind = prop::sample::select(vec![Kind::Prose, Kind::Prose, Kind::Prose, Kind::ToolResult, Kind::Context]);
        (role, kind, 0..120_usize)
            .prop_map(|(role, kind, words)| Message { kind, ..Message::prose(role, "wörter\n".repeat(words) + "ok") })
    }

    fn any_done() -> impl Strategy<Value = Vec<Range<usize>>> {
        prop::collection::vec((0..4_usize, 1..4_usize), 0..3).prop_map(|gaps| {
            let mut next = 0;
            gaps.into_iter()
                .map(|(gap, len)| {
                    let range = next + gap..next + gap + len;
                    next = range.end;
                    range
                })
                .collect()
        })
    }

    proptest! {
        #[test]
        fn windows_hold_every_open_message_once_in_order_and_in_budget(
            messages in prop::collection::vec(any_message(), 0..30),
            done in any_done(),
            tokens in 50..700_usize,
        ) {
            let budget = budget(tokens);
            let windows = spans(&messages, &done, budget);
            let covered: Vec<usize> = windows.iter().flat_map(|window| window.start..window.end).collect();
            let open: Vec<usize> =
                (0..messages.len()).filter(|index| !done.iter().any(|range| range.contains(index))).collect();
            prop_assert_eq!(covered, open);
            for window in &windows {
                let total: usize = messages[window.start..window.end].iter().map(full).sum();
                let shown = messages[window.start..window.end].iter().filter(|one| full(one) > 0).count();
                prop_assert!(total <= budget.tokens || shown == 1);
                let context: usize =
                    message_costs(&messages[window.context_start..window.start]).iter().map(|one| one.context).sum();
                prop_assert!(window.context_start <= window.start && context <= budget.overlap_tokens);
            }
        }

        #[test]
        fn a_window_is_never_larger_in_a_prompt_than_counted(
            messages in prop::collection::vec(any_message(), 1..20),
            name in "\\PC{1,80}",
            minutes in 1..90_i64,
        ) {
            use super::super::{Task, prompt, views};
            use transcripts::{MessageTime, Transcript};
            let at = |n: i64| MessageTime::logged(jiff::Timestamp::from_second(1_772_442_600 + 60 * minutes * n).unwrap());
            let messages: Vec<Message> = (0..)
                .zip(messages)
                .map(|(n, one)| Message { speaker: Some(name.clone()), time: Some(at(n)), ..one })
                .collect();
            let transcript = Transcript { source: "claude-code".into(), messages, ..Transcript::default() };
            for window in windows(&transcript.messages, &[], budget(400)) {
                let task = Task { transcript: &transcript, span: window.span, known: &[], instructions: None, categories: &[] };
                let text = prompt::user(&[task], &views::View::of(window.span)).text;
                let around = crate::tokens::count(&name) * 2 + 30;
                prop_assert!(crate::tokens::count(&text) <= window.tokens + around, "{} {}", window.tokens, text);
            }
        }

        #[test]
        fn growth_changes_no_window_but_the_last(
            messages in prop::collection::vec(any_message(), 1..30),
            cut in any::<prop::sample::Index>(),
            done in any_done(),
            tokens in 50..700_usize,
        ) {
            let before = spans(&messages[..=cut.index(messages.len())], &done, budget(tokens));
            let after = spans(&messages, &done, budget(tokens));
            let closed = before.len().saturating_sub(1);
            prop_assert_eq!(&before[..closed], &after[..closed]);
        }
    }
}
