//! Cuts transcripts into windows and selects what a request shows of them. The functions are pure.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use transcripts::{Kind, Message, Role};

use super::message::{CARRIED_TOKENS, STAMP_TOKENS, message_cost, message_costs};
use super::shown::is_shown;
use super::{Span, Task};
use crate::tokens;

/// Maximum size of a window, in `o200k_base` tokens of rendered messages. Windows that share a request do not exceed
/// this size in total, including their headers and context. The rest of the prompt is not counted.
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

/// A window and its size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// The messages of the window.
    pub span: Span,
    /// Maximum number of tokens of the window's session in a prompt: header, context and messages.
    pub tokens: usize,
}

/// Maximum number of tokens of a session's header and tags.
const SESSION_TOKENS: usize = 80;

/// Splits the messages that `done` does not cover into windows of at most `budget` tokens of messages.
///
/// Windows are returned in transcript order and contain every such message exactly once. A person's message stays
/// together with the messages up to the next person's message if they fit. A longer turn is split between messages. A
/// message that is longer than the budget forms a separate window and is not cut here, because [`super::llm::extract`]
/// reads it in several requests.
///
/// `done` is sorted and disjoint. Parts of it beyond the end of the transcript are ignored. When messages are appended,
/// all windows but the last stay unchanged.
#[must_use]
pub fn windows(messages: &[Message], done: &[Range<usize>], budget: WindowBudget) -> Vec<Window> {
    // Windows are cut from the parts that are not done, never from index 0, because recorded windows must not shift
    // when a log grows.
    let free = uncovered(messages.len(), done);
    let first_shown = free.first().map_or(0, |range| range.start.saturating_sub(MAX_CONTEXT_MESSAGES));
    // Counting is expensive, so each message is counted once, and messages that were read long ago are not counted at
    // all.
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

/// Maximum number of messages that are considered for the context of a window.
const MAX_CONTEXT_MESSAGES: usize = 40;

fn uncovered(len: usize, done: &[Range<usize>]) -> Vec<Range<usize>> {
    let mut free = Vec::new();
    let mut next = 0;
    for range in done {
        // The ledger may cover more messages than the log still has if the log has been shortened since.
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

/// Fills windows turn by turn, in order.
fn fill(messages: &[Message], range: Range<usize>, budget: usize, cost: &dyn Fn(usize) -> usize) -> Vec<Filling> {
    let mut windows = Vec::new();
    let mut window = Filling { range: range.start..range.start, tokens: 0 };
    for turn in turns(messages, range) {
        let turn_tokens: usize = turn.clone().map(cost).sum();
        // Windows are filled in order and never by best fit, because messages appended later must not change earlier
        // windows.
        if window.tokens + turn_tokens <= budget {
            window.extend(turn.end, turn_tokens);
            continue;
        }
        window.close(&mut windows);
        // A turn that fits into one window is not split, because all its messages then fit below.
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

/// A window that is being filled.
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

/// Splits `range` before every message by a person.
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

/// Minimum number of tokens in each half of a window that is split.
pub(super) const MIN_HALF_TOKENS: usize = 300;

/// Splits a window in two where the token counts are closest to equal, preferably before a person's words.
///
/// The second half has the end of the first half as its context. Returns `None` if a half would be too small.
pub(super) fn split(messages: &[Message], span: Span) -> Option<[Span; 2]> {
    let costs = message_costs(&messages[span.context_start..span.end]);
    let cost = |index: usize| costs[index - span.context_start];
    let total: usize = (span.start..span.end).map(|index| cost(index).full).sum();
    let mut before = 0;
    let mut best: Option<(usize, usize)> = None;
    for (index, message) in messages.iter().enumerate().take(span.end).skip(span.start + 1) {
        before += cost(index - 1).full;
        // A cut within a turn separates question and answer, so it must be more balanced than the alternative by more
        // than a fifth of the total.
        let turn_break = if message.is_human() { 0 } else { total / 5 };
        let unevenness = before.abs_diff(total - before) + turn_break;
        if before.min(total - before) >= MIN_HALF_TOKENS && best.is_none_or(|(least, _)| unevenness < least) {
            best = Some((unevenness, index));
        }
    }
    let (_, middle) = best?;
    // The budget of the run is not known here, but the default overlap is enough for words like "that one".
    let overlap = WindowBudget::default().overlap_tokens;
    let context_start = context_start(middle, span.context_start, overlap, &|index| cost(index).context);
    Some([Span { end: middle, ..span }, Span { context_start, start: middle, end: span.end }])
}

/// Splits a long text into parts of at most about `limit` tokens: at line ends, within long lines at spaces, and within
/// long words anywhere.
pub(super) fn parts_of(text: &str, limit: usize) -> Vec<Range<usize>> {
    let mut parts = Vec::new();
    let (mut start, mut at, mut tokens) = (0, 0, 0);
    // `split_inclusive` keeps the separators, so that the lengths of the pieces add up to byte offsets.
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

/// Splits `text` in two near its middle: at a line end, or else at a space, or else anywhere.
pub(super) fn halves_of(text: &str) -> [Range<usize>; 2] {
    let (quarter, middle) = (text.floor_char_boundary(text.len() / 4), text.ceil_char_boundary(text.len() / 2));
    let near = &text[quarter..middle];
    // Both marks are one byte long, so the byte after them is a character boundary.
    let end = near.rfind('\n').or_else(|| near.rfind(' ')).map_or(middle, |at| quarter + at + 1);
    [0..end, end..text.len()]
}

/// Splits a word of more than 600 bytes.
fn chunks(word: &str) -> impl Iterator<Item = &str> {
    let mut rest = word;
    std::iter::from_fn(move || {
        // A tokenizer may take quadratic time for one long word, such as a base64 blob, so words are bounded first.
        let (chunk, after) = rest.split_at(rest.floor_char_boundary(600));
        rest = after;
        (!chunk.is_empty()).then_some(chunk)
    })
}

/// Maximum length of a person's message that is read in one request, in tokens.
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
    /// The index of the window's task.
    pub window: usize,
    /// The messages.
    pub span: Span,
    /// Bytes of the span's only shown message, if it is too long for one request.
    pub part: Option<Range<usize>>,
}

impl View {
    /// Returns a view of a span of the only window.
    #[cfg(test)]
    pub(super) fn of(span: Span) -> Self {
        Self::one(Sight { window: 0, span, part: None })
    }

    fn one(sight: Sight) -> Self {
        Self { sights: vec![sight] }
    }

    /// Returns a name for the view, made from its windows, messages and bytes. The name does not depend on positions in
    /// the transcripts.
    pub(super) fn name(&self, tasks: &[Task<'_>]) -> String {
        let name = |sight: &Sight| {
            let (window, span, begin) = (sight.window, sight.span, tasks[sight.window].span.start);
            let bytes = sight.part.as_ref().map(|part| format!("@{}..{}", part.start, part.end)).unwrap_or_default();
            // Positions are relative to the window, so that a later run finds the stored request by this name even if
            // the window has moved.
            format!("{window}:{}..{}{bytes}", span.start - begin, span.end - begin)
        };
        self.sights.iter().map(name).collect::<Vec<_>>().join(" ")
    }

    /// Returns the tasks that are shown, in order.
    pub(super) fn tasks<'a>(&self, tasks: &[Task<'a>]) -> Vec<Task<'a>> {
        self.sights.iter().map(|sight| Task { span: sight.span, ..tasks[sight.window] }).collect()
    }
}

/// Returns one view of all windows in which a person says something, and a separate view for each part of a message
/// that is too long for one request.
pub(super) fn views(tasks: &[Task<'_>]) -> Vec<View> {
    let (mut together, mut apart) = (View::default(), Vec::new());
    for (window, task) in tasks.iter().enumerate().filter(|(_, task)| has_human_signal(task.messages())) {
        let sight = |part| Sight { window, span: task.span, part };
        match only_shown(task.messages()) {
            // Only a person's message can be this long here, since messages of assistants and tools are clipped.
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

/// Returns the two halves of a view. Several sessions are divided between the halves. A single session is split, and a
/// half without words from a person is omitted. The result is empty if halving is not worthwhile.
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

/// Returns the index at which several `sights` can be divided into parts of nearly equal length.
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

/// Maximum number of earlier messages that are shown again with a window.
const MAX_CARRIED: usize = 4;
/// Maximum number of tokens of the messages shown again: the number, label, clip marker, stamp and text of each.
pub(super) const MAX_CARRIED_TOKENS: usize = MAX_CARRIED * (CARRIED_TOKENS + STAMP_TOKENS + 12);
/// Maximum number of people's messages that are considered for this, counted back from the context.
const MAX_LOOKED_AT: usize = 1_000;
/// Number of bytes that are considered in each earlier message.
const MAX_TEXT_BYTES: usize = 4_000;
/// A word is distinctive if at most one in this many messages contains it.
const RARE: usize = 8;
/// Minimum number of distinctive words that a message must share with the window.
const MIN_SHARED: usize = 2;

/// Returns the indexes of the messages to show again with a window: in order, and all before its context.
pub(super) fn carried(messages: &[Message], span: Span) -> Vec<usize> {
    let speaks = |index: &usize| has_human_signal(std::slice::from_ref(&messages[*index]));
    // Only the last messages are considered, because otherwise a chat of several years would be read again for each
    // window.
    let mut earlier: Vec<usize> = (0..span.context_start).rev().filter(speaks).take(MAX_LOOKED_AT).collect();
    earlier.reverse();
    // The first words from a person usually say what the session is about, so they are always shown.
    let Some(goal) = (0..span.context_start).find(speaks) else { return Vec::new() };
    let said: Vec<HashSet<String>> = earlier.iter().map(|&index| terms(&messages[index].text)).collect();
    let mut counts: HashMap<&str, usize> = HashMap::new();
    for term in said.iter().flatten() {
        *counts.entry(term).or_default() += 1;
    }
    let window = &messages[span.start..span.end];
    let wanted: HashSet<String> = window.iter().filter(|one| one.is_human()).flat_map(|one| terms(&one.text)).collect();
    // The limit is at least one, since otherwise no word would be distinctive in a short log.
    let rare = (earlier.len() / RARE).max(1);
    let shared = |terms: &HashSet<String>| {
        terms.iter().filter(|term| wanted.contains(*term) && counts[term.as_str()] <= rare).count()
    };
    let mut ranked: Vec<(usize, usize)> = earlier
        .iter()
        .zip(&said)
        .filter(|&(&index, _)| index != goal)
        .map(|(&index, terms)| (shared(terms), index))
        .filter(|&(shared, _)| shared >= MIN_SHARED)
        .collect();
    // If two share the same number of words, the later one is closer to the current state.
    ranked.sort_unstable_by(|a, b| b.cmp(a));
    let mut shown: Vec<usize> = ranked.into_iter().map(|(_, index)| index).take(MAX_CARRIED - 1).collect();
    shown.push(goal);
    shown.sort_unstable();
    shown
}

/// Returns the terms of `text`: its longer words and numbers, and in scripts without spaces every pair of characters.
fn terms(text: &str) -> HashSet<String> {
    let text = &text[..text.floor_char_boundary(MAX_TEXT_BYTES)];
    let mut terms = HashSet::new();
    for word in text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()) {
        let signs: Vec<char> = word.chars().collect();
        if signs.iter().any(|&sign| is_ideographic(sign)) {
            terms.extend(signs.windows(2).map(|pair| pair.iter().collect::<String>()));
        } else if signs.len() >= 4 || signs.iter().any(char::is_ascii_digit) {
            terms.insert(word.to_lowercase());
        }
    }
    terms
}

fn is_ideographic(sign: char) -> bool {
    matches!(sign, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

/// Whether a person says anything except "ok", "thanks" or "continue". Otherwise the window needs no call.
///
/// A bare "yes" or "no" counts if it answers a question from the assistant, or if the text that it answers is not among
/// `messages`.
#[must_use]
pub(crate) fn has_human_signal(messages: &[Message]) -> bool {
    // The preceding message is unknown, and "yes" may answer a question in it. An unnecessary call is better than
    // losing a statement.
    let mut asked = true;
    for message in messages.iter().filter(|message| message.kind == Kind::Prose) {
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
    /// The message acknowledges something, or has no content.
    Nothing,
    /// The message says yes or no, which is meaningful only together with the question.
    Answer,
    /// The message is meaningful on its own.
    Words,
}

/// Words that only keep a conversation going.
const ACKNOWLEDGING: &str = "\
    ok okay okey k kk thanks thank you thx ty cheers continue go on ahead proceed next more please pls great nice cool \
    perfect good awesome lgtm hi hello hey hmm ah oh wow retry again try so much very well done keep going \
    danke weiter merci gracias continua continuer спасибо дальше ок продолжай 好 好的 \
    好吧 嗯 嗯嗯 谢谢 谢谢你 多谢 继续 请继续 可以 行 收到 了解 明白 明白了 你好 \
    不错 谢了 ありがとう ありがとうございます 続けて 続けてください 了解です \
    どうも 고마워 감사합니다 계속";

/// Words that answer a question.
const ANSWERING: &str = "\
    yes yep yeah yup y no nope n sure correct right exactly agreed not 是 是的 对 对的 没错 不 不是 \
    不用 不要 不行 没有 はい いいえ うん 네 아니요 ja nein oui non si sí да нет";

fn weight(text: &str) -> Weight {
    // An acknowledgement is short. The limit also avoids dividing a pasted file into words.
    if text.len() > 200 {
        return Weight::Words;
    }
    let folded = text.to_lowercase();
    // A slash command controls the agent, but its arguments, if any, are the person's words.
    if folded.trim_start().starts_with('/') && folded.split_whitespace().count() == 1 {
        return Weight::Nothing;
    }
    let mut weight = Weight::Nothing;
    for word in folded.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()) {
        if ANSWERING.split(' ').any(|one| one == word) {
            weight = Weight::Answer;
        } else if !ACKNOWLEDGING.split(' ').any(|one| one == word) {
            return Weight::Words;
        }
    }
    weight
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
            use super::super::{Task, prompt};
            use transcripts::{MessageTime, Transcript};
            let at = |n: i64| MessageTime::logged(jiff::Timestamp::from_second(1_772_442_600 + 60 * minutes * n).unwrap());
            let messages: Vec<Message> = (0..)
                .zip(messages)
                .map(|(n, one)| Message { speaker: Some(name.clone()), time: Some(at(n)), ..one })
                .collect();
            let transcript = Transcript { source: "claude-code".into(), messages, ..Transcript::default() };
            for window in windows(&transcript.messages, &[], budget(400)) {
                let task = Task { transcript: &transcript, span: window.span, known: &[], instructions: None, categories: &[] };
                let text = prompt::user(&[task], &View::of(window.span)).text;
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

#[cfg(test)]
mod carry_tests {
    use super::*;

    fn carried_by(texts: &[&str], context_start: usize, start: usize) -> Vec<usize> {
        let messages: Vec<Message> = texts.iter().map(|&text| Message::user(text)).collect();
        carried(&messages, Span { context_start, start, end: messages.len() })
    }

    #[test]
    fn the_goal_and_what_the_window_comes_back_to_are_shown_again() {
        let texts = [
            "ok",
            "Let us move the invoices to Postgres",
            "The printer Zephyr jams whenever it gets recycled paper",
            "Lunch was nice",
            "The weather is fine today",
            "Context of the window",
            "Zephyr jams again, and recycled paper was not even in it",
        ];
        assert_eq!(carried_by(&texts, 5, 6), [1, 2]);
        assert_eq!(carried_by(&texts, 2, 6), [1], "the context is shown anyway");
        assert_eq!(carried_by(&texts, 0, 6), [] as [usize; 0]);
        assert_eq!(carried_by(&texts, 1, 6), [] as [usize; 0], "nothing was said before");
    }

    #[test]
    fn chinese_is_found_by_pairs_of_signs() {
        let texts = ["我们来做账单系统", "打印机卡纸的时候要先关电源", "今天天气很好", "上下文", "打印机又卡纸了"];
        assert_eq!(carried_by(&texts, 3, 4), [0, 1]);
    }

    #[test]
    fn words_that_everybody_uses_tell_nothing_and_few_messages_are_shown() {
        let common: Vec<String> = (0..40).map(|n| format!("The server needs a restart, ticket {n}")).collect();
        let mut texts: Vec<&str> = common.iter().map(String::as_str).collect();
        texts.push("The server needs a restart");
        assert_eq!(carried_by(&texts, 40, 40), [0]);
        let named: Vec<String> = (0..6).map(|n| format!("Zephyr{n} prints on recycled{n} paper")).collect();
        let all = named.join(" ");
        let texts: Vec<&str> = named.iter().map(String::as_str).chain([all.as_str()]).collect();
        assert_eq!(carried_by(&texts, 6, 6), [0, 3, 4, 5]);
    }
}

#[cfg(test)]
mod signal_tests {
    use super::*;

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
}
