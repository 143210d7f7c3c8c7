//! Assembles conversations from responses that refer to the previous response.

use std::collections::{HashMap, HashSet};

use jiff::Timestamp;

use crate::{Assembler, MAX_RECORD_BYTES, Message, Sink};

/// One exchange of a chain.
pub(crate) struct Turn {
    /// Id of the exchange.
    pub(crate) id: String,
    /// The id of the previous exchange.
    pub(crate) previous: Option<String>,
    /// The conversation that the exchange was stored with, which takes precedence over the chain.
    pub(crate) conversation: Option<String>,
    /// The prompt of this exchange, which does not apply to later exchanges.
    pub(crate) prompt: Option<Message>,
    /// The model that answered.
    pub(crate) model: Option<String>,
    /// When the exchange was created.
    pub(crate) created: Option<Timestamp>,
    /// The location of the exchange's record.
    pub(crate) origin: String,
    /// The messages that were sent and received.
    pub(crate) messages: Vec<Message>,
}

impl Turn {
    fn weight(&self) -> usize {
        size_of::<Self>() + self.messages.iter().map(|message| size_of::<Message>() + message.text.len()).sum::<usize>()
    }
}

/// Collects the turns of a file, which may be in any order, and assembles their conversations.
///
/// If two turns follow the same turn, the later of the two continues its conversation. The other turn begins a separate
/// conversation that contains only the messages from this turn on, so that nothing is read twice.
pub(crate) struct Chains {
    source: &'static str,
    turns: Vec<Turn>,
    known: HashSet<String>,
    bytes: usize,
}

impl Chains {
    /// Creates an empty collection for the format called `source`.
    pub(crate) fn new(source: &'static str) -> Self {
        Self { source, turns: Vec::new(), known: HashSet::new(), bytes: 0 }
    }

    /// Adds a turn; `number` is the number of its record.
    ///
    /// If the file is larger than [`MAX_RECORD_BYTES`], a chain that spans more than this length is split in two.
    pub(crate) fn add(&mut self, turn: Turn, number: usize, sink: &mut Sink<'_>) {
        if turn.messages.iter().all(|message| message.text.trim().is_empty()) {
            return sink.skip(number, "a response without any text");
        }
        // Logs of a program that retries requests contain the same response more than once.
        if !self.known.insert(turn.id.clone()) {
            return sink.skip(number, "a repetition of an earlier response");
        }
        self.bytes += turn.weight();
        self.turns.push(turn);
        if self.bytes >= MAX_RECORD_BYTES {
            self.assemble(sink);
        }
    }

    /// Passes the remaining turns to `sink`.
    pub(crate) fn finish(mut self, sink: &mut Sink<'_>) {
        self.assemble(sink);
    }

    fn assemble(&mut self, sink: &mut Sink<'_>) {
        let mut turns = std::mem::take(&mut self.turns);
        self.bytes = 0;
        // The sort is stable, so turns without times remain in file order.
        turns.sort_by_key(|turn| turn.created);
        for path in paths(&turns) {
            let Some(first) = path.first().map(|place| &turns[*place]) else { continue };
            let id = first.conversation.clone().unwrap_or_else(|| first.id.clone());
            let mut draft = Assembler::new(self.source, id, first.origin.as_str());
            draft.meta().created_at = first.created;
            let mut prompt: Option<String> = None;
            for place in path {
                let turn = &mut turns[place];
                draft.meta().model = turn.model.take().or(draft.meta().model.take());
                if let Some(pieces) = turn.prompt.take()
                    && prompt.as_ref() != Some(&pieces.text)
                {
                    prompt = Some(pieces.text.clone());
                    draft.push(pieces, sink);
                }
                draft.extend(turn.messages.drain(..), sink);
            }
            draft.finish(sink);
        }
    }
}

/// Returns the indices of the turns of each conversation, in order.
fn paths(turns: &[Turn]) -> Vec<Vec<usize>> {
    let places: HashMap<&str, usize> =
        turns.iter().enumerate().map(|(place, turn)| (turn.id.as_str(), place)).collect();
    let before = |turn: &Turn| turn.previous.as_deref().and_then(|id| places.get(id)).copied();
    let mut after: HashMap<usize, usize> = HashMap::new();
    let mut stored: HashMap<&str, usize> = HashMap::new();
    let mut paths: Vec<Vec<usize>> = Vec::new();
    for (place, turn) in turns.iter().enumerate() {
        if let Some(previous) = before(turn).filter(|_| turn.conversation.is_none()) {
            after.insert(previous, place);
        }
    }
    let mut taken = vec![false; turns.len()];
    for (place, turn) in turns.iter().enumerate() {
        if let Some(conversation) = turn.conversation.as_deref() {
            let path = *stored.entry(conversation).or_insert_with(|| {
                paths.push(Vec::new());
                paths.len() - 1
            });
            paths[path].push(place);
            taken[place] = true;
        } else if before(turn).and_then(|previous| after.get(&previous)) != Some(&place) {
            // No path leads to this turn, which is therefore the start of a chain or of an abandoned branch.
            paths.push(walk(place, &after, &mut taken));
        }
    }
    // The remaining turns form cycles.
    for place in 0..turns.len() {
        if !taken[place] {
            paths.push(walk(place, &after, &mut taken));
        }
    }
    paths
}

fn walk(start: usize, after: &HashMap<usize, usize>, taken: &mut [bool]) -> Vec<usize> {
    let mut path = Vec::new();
    let mut next = Some(start);
    while let Some(place) = next.filter(|place| !taken[*place]) {
        taken[place] = true;
        path.push(place);
        next = after.get(&place).copied();
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turn(id: &str, previous: &str, conversation: &str) -> Turn {
        let some = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        Turn {
            id: id.to_owned(),
            previous: some(previous),
            conversation: some(conversation),
            prompt: None,
            model: None,
            created: None,
            origin: String::new(),
            messages: vec![Message::assistant(id)],
        }
    }

    fn chained(rows: &[(&str, &str, &str)]) -> Vec<(String, Vec<String>)> {
        let mut seen = Vec::new();
        let mut accept = |one: crate::Transcript| {
            seen.push((one.external_id, one.messages.into_iter().map(|message| message.text).collect()));
        };
        let mut sink = Sink::new(&mut accept);
        let mut chains = Chains::new("x");
        rows.iter()
            .enumerate()
            .for_each(|(place, (id, previous, kept))| chains.add(turn(id, previous, kept), place + 1, &mut sink));
        chains.finish(&mut sink);
        seen
    }

    fn expected(rows: &[(&str, &[&str])]) -> Vec<(String, Vec<String>)> {
        rows.iter()
            .map(|(id, texts)| ((*id).to_owned(), texts.iter().map(|text| (*text).to_owned()).collect()))
            .collect()
    }

    #[test]
    fn turns_are_chained_whatever_their_order() {
        assert_eq!(chained(&[("c", "b", ""), ("a", "", ""), ("b", "a", "")]), expected(&[("a", &["a", "b", "c"])]));
    }

    #[test]
    fn a_branch_that_was_left_stands_by_itself() {
        let rows = [("a", "", ""), ("b", "a", ""), ("b2", "b", ""), ("c", "a", ""), ("d", "c", "")];
        assert_eq!(chained(&rows), expected(&[("a", &["a", "c", "d"]), ("b", &["b", "b2"])]));
    }

    #[test]
    fn stored_conversations_circles_and_unknown_ones_before_are_read() {
        assert_eq!(
            chained(&[
                ("a", "", "conv"),
                ("x", "gone", ""),
                ("b", "", "conv"),
                ("p", "q", ""),
                ("q", "p", ""),
                ("a", "", "")
            ]),
            expected(&[("conv", &["a", "b"]), ("x", &["x"]), ("p", &["p", "q"])])
        );
    }
}
