//! What a later message says holds no more: "we no longer use it", "she is leaving", "that day does not work".

use crate::text::script::count_han;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use regex::Regex;

use super::{retract, stale, table};
use crate::extract::Task;
use crate::extract::rules::gather::Gathered;
use crate::extract::rules::own;
use crate::extract::rules::scene::Scenes;
use crate::extract::rules::sentence::fold;
use crate::memory::Candidate;
use crate::text::language::detect_read;
use transcripts::Message;

/// Messages of people after a window that are read ahead.
const MAX_AHEAD: usize = 300;
/// Longest message that is taken for an end, in bytes.
const MAX_BYTES: usize = 600;
/// Messages of people in which a name may occur and still tell what is talked of.
const MAX_SPREAD: usize = 8;
/// Messages of people back to which words reach that are no names.
const MAX_BETWEEN: usize = 10;
/// Fewest letters of the one word that tells what a short statement is about.
const MIN_TELLING: usize = 6;
/// Words, or twice as many pairs of Chinese characters, that two sentences about the same thing share.
const SHARED: usize = 2;
/// Longest statement of which one word tells what it is about, in words.
const MAX_PLAIN_WORDS: usize = 6;
/// The same in Chinese characters.
const MAX_PLAIN_HAN: usize = 8;

/// Takes back what a later sentence of the window, or of the messages after it, says is over.
///
/// What has a key stays where its next value was found too: consolidation keeps its history. What `scenes` hides ends
/// nothing.
pub(in super::super) fn ended(task: &Task<'_>, scenes: &Scenes, gathered: &mut Gathered<'_>) {
    if gathered.is_empty() {
        return;
    }
    let messages = &task.transcript.messages;
    let ahead = (task.span.end..messages.len()).filter(|&at| messages[at].is_human()).take(MAX_AHEAD);
    let people: Vec<usize> =
        (task.span.start..task.span.end).filter(|&at| messages[at].is_human()).chain(ahead).collect();
    let places: BTreeMap<&str, usize> =
        people.iter().enumerate().map(|(turn, &at)| (messages[at].id.as_str(), turn)).collect();
    let texts: Vec<&str> = people.iter().map(|&at| messages[at].text.as_str()).collect();
    let olds: Vec<Option<Old>> = gathered.candidates().iter().map(|one| Old::of(one, &places, &texts)).collect();
    let mut spread = Spread { texts: &texts, known: BTreeMap::new() };
    let mut over = BTreeSet::new();
    for (turn, &at) in people.iter().enumerate().filter(|(turn, _)| texts[*turn].len() <= MAX_BYTES) {
        for (start, end) in ends(at, &messages[at], scenes) {
            let scores: Vec<usize> = olds
                .iter()
                .map(|old| match old {
                    Some(old) if (old.turn, old.end) <= (turn, start) => end.shares(old, turn, &mut spread),
                    Some(_) | None => 0,
                })
                .collect();
            // "The shop no longer runs on Heroku" is about where it runs, not about the shop.
            let most = scores.iter().copied().max().filter(|&most| most > 0);
            over.extend((0..scores.len()).filter(|&index| Some(scores[index]) == most));
        }
    }
    let candidates = gathered.candidates();
    over.retain(|&index| {
        let key = &candidates[index].claim.key;
        key.is_none() || !candidates[index + 1..].iter().any(|later| later.claim.key == *key)
    });
    gathered.remove(&over);
}

/// In how many messages a name occurs, as far as that was asked.
struct Spread<'t> {
    texts: &'t [&'t str],
    known: BTreeMap<String, bool>,
}

impl Spread<'_> {
    /// Whether few messages hold `name`, so that it tells what is talked of.
    fn is_rare(&mut self, name: &str) -> bool {
        if let Some(&known) = self.known.get(name) {
            return known;
        }
        let holding = self.texts.iter().filter(|text| text.to_lowercase().contains(name));
        let is_rare = holding.take(MAX_SPREAD + 1).count() <= MAX_SPREAD;
        self.known.insert(name.to_owned(), is_rare);
        is_rare
    }
}

/// What a candidate rests on.
struct Old {
    /// Place of its message among those of people.
    turn: usize,
    end: usize,
    said: Said,
}

impl Old {
    fn of(candidate: &Candidate, places: &BTreeMap<&str, usize>, texts: &[&str]) -> Option<Self> {
        let piece = candidate.evidence.first()?;
        let turn = *places.get(piece.messages.first()?.as_str())?;
        let end = texts[turn].find(&piece.quote).map_or(0, |start| start + piece.quote.len());
        Some(Self { turn, end, said: Said::of(&piece.quote) })
    }
}

/// Returns the sentences of `message`, which is message `at`, that say that something is over, each with where it begins.
fn ends(at: usize, message: &Message, scenes: &Scenes) -> Vec<(usize, Said)> {
    let text = &message.text;
    let Some(table) = detect_read(text, None).map(table::of).filter(|table| table.ends(text)) else {
        return Vec::new();
    };
    let base = text.as_ptr() as usize;
    let is_end = |said: &&str| table.ends(&fold(said)) && !scenes.hides(at, text, said);
    let said = own::said(text).into_iter().filter(is_end);
    said.map(|said| (said.as_ptr() as usize - base, Said::of(said))).collect()
}

/// What a sentence names.
struct Said {
    words: BTreeSet<String>,
    /// Names and days, each with whether the sentence begins with it: two that begin alike may say different things.
    names: BTreeMap<String, bool>,
    is_short: bool,
}

impl Said {
    fn of(text: &str) -> Self {
        static NAME: LazyLock<Regex> = LazyLock::new(|| {
            Regex::new(r"[A-Za-z\u{c0}-\u{24f}][\w.+#-]*[\w+#]|\d{3,}").expect("the pattern is a constant")
        });
        let han = count_han(text);
        let is_han = han > 0;
        let is_name = |word: &str| is_han || word.contains(|c: char| c.is_uppercase() || c.is_ascii_digit());
        let found = NAME.find_iter(text).filter(|found| is_name(found.as_str()));
        let mut names: BTreeMap<String, bool> = BTreeMap::new();
        for found in found {
            let before = &text[..found.start()];
            let leads = before.split_whitespace().count() <= 1 && (!is_han || before.trim().is_empty());
            names.entry(found.as_str().to_lowercase()).or_insert(leads);
        }
        names.extend(stale::days(text).into_iter().map(|day| (day, false)));
        Self {
            words: retract::words(text),
            names,
            is_short: if is_han { han <= MAX_PLAIN_HAN } else { text.split_whitespace().count() <= MAX_PLAIN_WORDS },
        }
    }

    /// Returns how much of what `old` is about is named here, in message `turn`; nothing if too little is.
    fn shares(&self, old: &Old, turn: usize, spread: &mut Spread<'_>) -> usize {
        let is_near = turn - old.turn <= MAX_BETWEEN;
        let old = &old.said;
        let both = |(name, leads): &(&String, &bool)| old.names.get(*name).is_some_and(|first| !(*first && **leads));
        let names = self.names.iter().filter(both).filter(|(name, _)| is_near || spread.is_rare(name)).count();
        let shared: Vec<&String> = self.words.intersection(&old.words).collect();
        let is_pair = |word: &&&String| !word.is_ascii() && word.chars().count() == 2;
        let pairs = shared.iter().filter(is_pair).count();
        let words = shared.len() - pairs + pairs / 2;
        let tells = shared.iter().any(|word| is_pair(&word) || word.chars().count() >= MIN_TELLING);
        let is_same = names > 0 || (is_near && (words >= SHARED || (old.is_short && words > 0 && tells)));
        if is_same { SHARED * names + words } else { 0 }
    }
}
