//! Cutting a transcript into windows; pure.

use std::ops::Range;

use super::Span;
use super::frame::{MessageCost, message_cost};
use crate::transcript::{Message, Role};

/// How large a window may be, in `o200k_base` tokens of rendered messages; the rest of the prompt is not counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WindowBudget {
    /// Tokens of the messages to extract from.
    pub tokens: usize,
    /// Tokens of the messages before them that are shown as context.
    pub overlap_tokens: usize,
}

impl Default for WindowBudget {
    fn default() -> Self {
        Self { tokens: 6_000, overlap_tokens: 600 }
    }
}

/// Splits the messages that `done` does not cover into windows of at most `budget` tokens.
///
/// Windows come in transcript order and hold every such message exactly once. A person's words and what follows until a
/// person speaks again stay together where they fit; a longer turn is split between messages. A message that is longer
/// than the budget gets a window of its own and is not cut here: [`super::llm::extract`] reads it in several requests.
///
/// `done` is sorted and disjoint; parts of it that lie beyond the transcript are ignored. As messages are appended, all
/// windows but the last stay as they are.
#[must_use]
pub fn spans(messages: &[Message], done: &[Range<usize>], budget: WindowBudget) -> Vec<Span> {
    let free = uncovered(messages.len(), done);
    let first_shown = free.first().map_or(0, |range| range.start.saturating_sub(MAX_CONTEXT_MESSAGES));
    // Counting is the expensive part: once a message, and not at all for what was read long ago.
    let costs: Vec<MessageCost> = messages[first_shown..].iter().map(message_cost).collect();
    let cost = |index: usize| costs[index - first_shown];
    let mut spans = Vec::new();
    for range in free {
        for window in pack(messages, range, budget.tokens, &|index| cost(index).full) {
            let context_start =
                context_start(window.start, first_shown, budget.overlap_tokens, &|index| cost(index).context);
            spans.push(Span { context_start, start: window.start, end: window.end });
        }
    }
    spans
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
fn pack(messages: &[Message], range: Range<usize>, budget: usize, cost: &dyn Fn(usize) -> usize) -> Vec<Range<usize>> {
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

struct Filling {
    range: Range<usize>,
    tokens: usize,
}

impl Filling {
    fn extend(&mut self, end: usize, tokens: usize) {
        self.range.end = end;
        self.tokens += tokens;
    }

    fn close(&mut self, windows: &mut Vec<Range<usize>>) {
        if !self.range.is_empty() {
            windows.push(self.range.clone());
        }
        *self = Self { range: self.range.end..self.range.end, tokens: 0 };
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
    let costs: Vec<MessageCost> = messages[span.context_start..span.end].iter().map(message_cost).collect();
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

/// Splits a word of over 600 bytes.
fn chunks(word: &str) -> impl Iterator<Item = &str> {
    let mut rest = word;
    std::iter::from_fn(move || {
        let (chunk, after) = rest.split_at(rest.floor_char_boundary(600));
        rest = after;
        (!chunk.is_empty()).then_some(chunk)
    })
}

/// Whether a person says anything that goes beyond "ok", "thanks" or "continue"; a window without it costs no call.
///
/// A bare "yes" or "no" counts where it answers a question of the assistant, or where what it answers is not among
/// `messages`.
#[must_use]
pub fn has_human_signal(messages: &[Message]) -> bool {
    let mut asked = true;
    for message in messages.iter().filter(|message| message.kind == crate::transcript::Kind::Prose) {
        if message.is_human() {
            match weight(&message.text) {
                Weight::Words => return true,
                Weight::Answer if asked => return true,
                Weight::Answer | Weight::Nothing => {}
            }
        } else if message.role != Role::System {
            asked = message.text.contains(['?', '？']);
        }
    }
    false
}

enum Weight {
    /// Acknowledges, or says nothing at all.
    Nothing,
    /// Says yes or no, which is worth what was asked.
    Answer,
    /// Says something of its own.
    Words,
}

/// Words that only keep a conversation going.
const ACKNOWLEDGING: &[&str] = &[
    "ok",
    "okay",
    "okey",
    "k",
    "kk",
    "thanks",
    "thank",
    "you",
    "thx",
    "ty",
    "cheers",
    "continue",
    "go",
    "on",
    "ahead",
    "proceed",
    "next",
    "more",
    "please",
    "pls",
    "great",
    "nice",
    "cool",
    "perfect",
    "good",
    "awesome",
    "lgtm",
    "hi",
    "hello",
    "hey",
    "hmm",
    "ah",
    "oh",
    "wow",
    "retry",
    "again",
    "try",
    "so",
    "much",
    "very",
    "well",
    "done",
    "keep",
    "going",
    "danke",
    "weiter",
    "merci",
    "gracias",
    "continua",
    "continuer",
    "спасибо",
    "дальше",
    "ок",
    "продолжай",
    "好",
    "好的",
    "好吧",
    "嗯",
    "嗯嗯",
    "谢谢",
    "谢谢你",
    "多谢",
    "继续",
    "请继续",
    "可以",
    "行",
    "收到",
    "了解",
    "明白",
    "明白了",
    "你好",
    "不错",
    "谢了",
    "ありがとう",
    "ありがとうございます",
    "続けて",
    "続けてください",
    "了解です",
    "どうも",
    "고마워",
    "감사합니다",
    "계속",
];

/// Words that answer a question.
const ANSWERING: &[&str] = &[
    "yes",
    "yep",
    "yeah",
    "yup",
    "y",
    "no",
    "nope",
    "n",
    "sure",
    "correct",
    "right",
    "exactly",
    "agreed",
    "not",
    "是",
    "是的",
    "对",
    "对的",
    "没错",
    "不",
    "不是",
    "不用",
    "不要",
    "不行",
    "没有",
    "はい",
    "いいえ",
    "うん",
    "네",
    "아니요",
    "ja",
    "nein",
    "oui",
    "non",
    "si",
    "sí",
    "да",
    "нет",
];

fn weight(text: &str) -> Weight {
    // An acknowledgement is short; this also keeps a pasted file from being taken apart.
    if text.len() > 200 {
        return Weight::Words;
    }
    let folded = text.to_lowercase();
    if folded.trim_start().starts_with('/') && folded.split_whitespace().count() == 1 {
        return Weight::Nothing;
    }
    let mut weight = Weight::Nothing;
    for word in folded.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()) {
        if ANSWERING.contains(&word) {
            weight = Weight::Answer;
        } else if !ACKNOWLEDGING.contains(&word) {
            return Weight::Words;
        }
    }
    weight
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::transcript::Kind;

    fn span(context_start: usize, start: usize, end: usize) -> Span {
        Span { context_start, start, end }
    }

    fn budget(tokens: usize) -> WindowBudget {
        WindowBudget { tokens, overlap_tokens: 60 }
    }

    fn full(message: &Message) -> usize {
        message_cost(message).full
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
        let messages: Vec<Message> = (0..6).map(|n| Message::user(format!("m{n}"))).collect();
        assert_eq!(spans(&messages, &[0..4], budget(10_000)), [span(3, 4, 6)]);
        assert_eq!(spans(&messages, &[0..1, 2..3, 5..9], budget(10_000)), [span(0, 1, 2), span(2, 3, 5)]);
        assert_eq!(spans(&messages, &[0..6], budget(10_000)), []);
        assert_eq!(spans(&[], &[0..6], budget(10_000)), []);
    }

    #[test]
    fn acknowledgements_are_no_signal() {
        for text in
            ["ok", "OK, thanks!", "continue", "👍", "好的", "谢谢！继续", "…", "/compact", "ありがとう。", "go on"]
        {
            assert!(!has_human_signal(&[Message::user(text)]), "{text}");
        }
        for text in ["use tabs", "ok but use tabs", "我住在杭州", "C++", "/fix the login", "42"] {
            assert!(has_human_signal(&[Message::user(text)]), "{text}");
        }
        assert!(!has_human_signal(&[Message::assistant("You live in Berlin.")]));
        assert!(!has_human_signal(&[Message { kind: Kind::Context, ..Message::user("Use tabs.") }]));
    }

    #[test]
    fn a_bare_yes_counts_where_something_was_asked() {
        let talk = |asked: &str, answer: &str| [Message::user("ok"), Message::assistant(asked), Message::user(answer)];
        assert!(has_human_signal(&talk("Shall I always use pnpm?", "yes")));
        assert!(has_human_signal(&talk("以后都用中文吗？", "不用")));
        assert!(!has_human_signal(&talk("Done.", "yes")));
        assert!(!has_human_signal(&talk("Shall I go on?", "thanks")));
        assert!(has_human_signal(&[Message::user("no")]));
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
                    messages[window.context_start..window.start].iter().map(|one| message_cost(one).context).sum();
                prop_assert!(window.context_start <= window.start && context <= budget.overlap_tokens);
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

        #[test]
        fn a_rendered_message_is_never_larger_than_counted(message in any_message(), name in "\\PC{0,80}") {
            use super::super::frame::{Place, is_shown, message as render};
            let message = Message { speaker: Some(name), ..message };
            if is_shown(&message) {
                let cost = message_cost(&message);
                let size = |place| crate::tokens::count(&render(9_999, &message, &place));
                prop_assert!(size(Place::BeforeAnswer) <= cost.full);
                prop_assert!(size(Place::Within) <= cost.full);
                prop_assert!(size(Place::Context) <= cost.context);
            }
        }
    }
}
