//! Corrections, replacements and ends of statements in later messages.
//!
//! A window may end before people have made up their minds. The messages after it are therefore read as well, and
//! statements that they retract are not kept: "I mixed that up", "my exam moved to 11 May", "we no longer use Redis".
//! The number of these messages is limited, so that a window of a long log takes no longer than a window of a short
//! log.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use super::candidates::Gathered;
use super::correction;
use super::cues::Table;
use super::scene::Scenes;
use super::sentence::{fold, own_sentences, prose_sentences};
use crate::extract::Task;
use crate::memory::Candidate;
use crate::text::language::detect_read;
use crate::text::pattern_set::pattern;
use crate::text::person::is_about_speaker;
use crate::text::script::{count_han, is_han};
use transcripts::Message;

/// Maximum number of people's messages that are read after a window.
const MAX_AHEAD: usize = 300;
/// Maximum length of a message that is read as a correction, in bytes.
const MAX_BYTES: usize = 600;

/// Removes statements that later sentences, in the window or in the messages after it, correct, replace or end.
pub(super) fn take_back(task: &Task<'_>, scenes: &Scenes, gathered: &mut Gathered<'_>) {
    if gathered.candidates().is_empty() {
        return;
    }
    let messages = &task.transcript.messages;
    let people = |range: Range<usize>| range.filter(|&at| messages[at].is_human());
    let ahead: Vec<usize> = people(task.span.end..messages.len()).take(MAX_AHEAD).collect();
    corrected(task, &ahead, gathered);
    let all: Vec<usize> = people(task.span.start..task.span.end).chain(ahead).collect();
    replaced(messages, &all, gathered);
    ended(messages, &all, scenes, gathered);
}

/// Removes statements that the person corrects in the messages `ahead`.
fn corrected(task: &Task<'_>, ahead: &[usize], gathered: &mut Gathered<'_>) {
    for &at in ahead {
        let message = &task.transcript.messages[at];
        if message.text.len() > MAX_BYTES {
            continue;
        }
        let before = correction::last_of_same(task, at, message);
        let amends = || correction::amends(message, &own_sentences(&message.text));
        correction::take_back(message, before, amends, gathered);
    }
}

/// Maximum number of people's messages in which a word may occur and still identify a topic.
const MAX_WORD_MESSAGES: usize = 5;
/// Number of people's messages before "they pushed us back a week" that are searched for the statement that it changes.
const MAX_MOVE_DISTANCE: usize = 8;
/// Number of people's messages before a correction such as "no, the 14th" that are searched for the corrected
/// statement.
const MAX_CORRECTION_DISTANCE: usize = 1;

/// Removes statements to which a later sentence in the messages `people` assigns a different day or number.
fn replaced(messages: &[Message], people: &[usize], gathered: &mut Gathered<'_>) {
    let people: Vec<usize> = people.iter().copied().filter(|&at| messages[at].text.len() <= MAX_BYTES).collect();
    let places: BTreeMap<&str, usize> = people.iter().map(|&at| (messages[at].id.as_str(), at)).collect();
    let facts: Vec<Option<Dated>> = gathered.candidates().iter().map(|one| Dated::of(one, &places, messages)).collect();
    // Reading the later messages is expensive, and unnecessary if no candidate contains a day or a number that could be
    // out of date.
    if !facts.iter().flatten().any(|fact| !fact.values.is_empty() || fact.has_day) {
        return;
    }
    let changes: Vec<Change> = people.iter().flat_map(|&at| changes(at, &messages[at])).collect();
    if changes.is_empty() {
        return;
    }
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for stem in people.iter().flat_map(|&at| stems(&messages[at].text)) {
        *counts.entry(stem).or_default() += 1;
    }
    let is_rare = |stem: &&String| counts.get(*stem).is_none_or(|&count| count <= MAX_WORD_MESSAGES);
    let mut outdated = BTreeSet::new();
    for change in &changes {
        let mut is_named = false;
        let mut latest = None;
        for (index, fact) in facts.iter().enumerate() {
            // Only earlier statements can be out of date.
            let Some(fact) = fact.as_ref().filter(|fact| (fact.at, fact.end) <= (change.at, change.start)) else {
                continue;
            };
            let shared = change.stems.intersection(&fact.stems).filter(is_rare).count();
            // For a day, the name is sufficient, but two numbers may belong to two different things.
            let needed = 1 + usize::from(fact.is_han) + usize::from(!(fact.has_day && change.has_day));
            let differs = change.values.difference(&fact.values).next().is_some();
            if shared >= needed && differs && !fact.values.is_empty() {
                outdated.insert(index);
                is_named = true;
            }
            if fact.has_day && differs && latest.is_none_or(|(_, at)| at <= fact.at) {
                latest = Some((index, fact.at));
            }
        }
        // "They pushed us back a week" changes the day that was mentioned last.
        let reach = if change.corrects { MAX_CORRECTION_DISTANCE } else { MAX_MOVE_DISTANCE };
        let is_near = |at: usize| people.iter().filter(|&&other| at < other && other < change.at).count() < reach;
        if let Some((index, at)) = latest
            && !is_named
            && (change.moves || change.corrects)
            && is_near(at)
        {
            outdated.insert(index);
        }
    }
    gathered.remove(&outdated);
}

/// A sentence that states a new value.
struct Change {
    /// Position of the message.
    at: usize,
    /// Byte offset of the sentence in its message.
    start: usize,
    stems: BTreeSet<String>,
    values: BTreeSet<String>,
    has_day: bool,
    /// Whether the verb of the sentence says that a day was changed.
    moves: bool,
    /// Whether the sentence is only a correction, as in "no, the 14th".
    corrects: bool,
}

/// The days and numbers in a candidate.
struct Dated {
    /// Position of the message.
    at: usize,
    /// Byte offset in the message at which the quote ends.
    end: usize,
    stems: BTreeSet<String>,
    values: BTreeSet<String>,
    has_day: bool,
    is_han: bool,
}

impl Dated {
    fn of(candidate: &Candidate, places: &BTreeMap<&str, usize>, messages: &[Message]) -> Option<Self> {
        let piece = candidate.evidence.first()?;
        let quote = &piece.quote;
        let at = *places.get(piece.messages.first()?.as_str())?;
        Some(Self {
            at,
            end: end_of(quote, &messages[at].text),
            stems: stems(quote),
            values: values(quote),
            has_day: CALENDAR.is_match(quote),
            is_han: quote.chars().any(is_han),
        })
    }
}

/// Returns the position in `text` at which the `quote` ends.
fn end_of(quote: &str, text: &str) -> usize {
    text.find(quote).map_or(0, |start| start + quote.len())
}

/// Returns the sentences of `message`, at index `at`, that assign a different day or number to something.
fn changes(at: usize, message: &Message) -> Vec<Change> {
    let base = message.text.as_ptr() as usize;
    let usual = detect_read(&message.text, None);
    let changes = prose_sentences(&message.text).into_iter().filter_map(|said| {
        let folded = fold(said);
        let table = Table::of(detect_read(&folded, usual)?);
        let (moves, corrects) = (table.moves.is_match(&folded), table.corrects.is_match(&folded));
        let values = values(said);
        if values.is_empty() || !(moves || corrects || table.changes.is_match(&folded)) {
            return None;
        }
        let has_day = CALENDAR.is_match(said);
        Some(Change {
            at,
            start: said.as_ptr() as usize - base,
            stems: stems(said),
            values,
            has_day,
            moves: moves && has_day,
            corrects: corrects && has_day,
        })
    });
    changes.collect()
}

/// Days, months, weekdays and clock times, in the four languages.
static CALENDAR: LazyLock<Regex> = LazyLock::new(|| {
    pattern(concat!(
        r"(?i)\b(?:(?:mon|tues|wednes|thurs|fri|satur|sun)days?|january|february|march|april|may|june|july|august|september|october|november|december",
        r"|(?:montag|dienstag|mittwoch|donnerstag|freitag|samstag|sonntag)s?|januar|februar|märz|mai|juni|juli|oktober|dezember",
        r"|lunes|martes|miércoles|jueves|viernes|sábados?|domingos?|enero|febrero|marzo|abril|mayo|junio|julio|agosto|septiembre|octubre|noviembre|diciembre",
        r"|the \d{1,2}(?:st|nd|rd|th)?|\d{1,2}(?:st|nd|rd|th)|\d{4}-\d\d-\d\d|\d{1,2}\.\d{1,2}\.|el \d{1,2}|de[nmr] \d{1,2}\.|(?:next|last) (?:week|month|year))\b",
        r"|\d{1,2} ?月|\d{1,2} ?[日号]|(?:周|星期|礼拜)[一二三四五六日天末]|明天|后天|月底|月初",
    ))
});

/// Returns the days mentioned in `text`, in lower case.
fn days(text: &str) -> impl Iterator<Item = String> {
    CALENDAR.find_iter(text).map(|found| found.as_str().to_lowercase())
}

/// Returns the weekdays, months and numbers in `text`, which distinguish one day, hour or amount from another.
fn values(text: &str) -> BTreeSet<String> {
    static NUMBER: LazyLock<Regex> = LazyLock::new(|| pattern(r"\d+(?:[.,:]\d+)*"));
    let names = days(text).filter(|day| !day.bytes().any(|b| b.is_ascii_digit()));
    names.chain(NUMBER.find_iter(text).map(|found| found.as_str().to_owned())).collect()
}

/// Returns the words in `text` that identify its topic, without their endings and without days.
fn stems(text: &str) -> BTreeSet<String> {
    let text = CALENDAR.replace_all(text, " ");
    let stem = |word: String| word.trim_end_matches('s').chars().take(7).collect::<String>();
    correction::topic_words(&text).into_iter().map(stem).collect()
}

/// Maximum number of people's messages in which a name may occur and still identify a topic.
const MAX_NAME_MESSAGES: usize = 8;
/// Number of earlier messages by people in which words other than names are compared.
const MAX_BETWEEN: usize = 10;
/// Minimum number of letters in the one word that identifies the topic of a short statement.
const MIN_TOPIC_LETTERS: usize = 6;
/// Minimum number of words, or half the number of pairs of Chinese characters, shared by two sentences on one topic.
const MIN_SHARED: usize = 2;
/// Maximum number of words in a statement whose topic a single word can identify.
const MAX_PLAIN_WORDS: usize = 6;
/// Maximum number of Chinese characters in a statement whose topic a single word can identify.
const MAX_PLAIN_HAN: usize = 8;

/// Removes statements that a later sentence in the messages `people` says are no longer true.
///
/// A candidate with a key is kept if its next value was also found: consolidation keeps the history of the key. A
/// sentence that `scenes` hides has no effect.
fn ended(messages: &[Message], people: &[usize], scenes: &Scenes, gathered: &mut Gathered<'_>) {
    let places: BTreeMap<&str, usize> =
        people.iter().enumerate().map(|(turn, &at)| (messages[at].id.as_str(), turn)).collect();
    let texts: Vec<&str> = people.iter().map(|&at| messages[at].text.as_str()).collect();
    let facts: Vec<Option<Fact>> = gathered.candidates().iter().map(|one| Fact::of(one, &places, &texts)).collect();
    let mut rarity = Rarity { texts: &texts, known: BTreeMap::new() };
    let mut over = BTreeSet::new();
    for (turn, &at) in people.iter().enumerate().filter(|(turn, _)| texts[*turn].len() <= MAX_BYTES) {
        for End { start, topic, is_own } in ends(at, &messages[at], scenes) {
            // "I no longer like tea" says nothing about what others like.
            let may_end = |fact: &&Fact| {
                (fact.turn, fact.end) <= (turn, start)
                    && (!is_own || messages[people[fact.turn]].speaker == messages[at].speaker)
            };
            let scores: Vec<usize> = facts
                .iter()
                .map(|fact| fact.as_ref().filter(may_end).map_or(0, |fact| topic.overlap(fact, turn, &mut rarity)))
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

/// A cache of the names that occur in only a few messages.
struct Rarity<'t> {
    texts: &'t [&'t str],
    known: BTreeMap<String, bool>,
}

impl Rarity<'_> {
    /// Whether only a few messages contain `name`, so that it identifies a topic.
    fn is_rare(&mut self, name: &str) -> bool {
        if let Some(&known) = self.known.get(name) {
            return known;
        }
        let holding = self.texts.iter().filter(|text| text.to_lowercase().contains(name));
        let is_rare = holding.take(MAX_NAME_MESSAGES + 1).count() <= MAX_NAME_MESSAGES;
        self.known.insert(name.to_owned(), is_rare);
        is_rare
    }
}

/// The source and the topic of a candidate.
struct Fact {
    /// Position of the message among the messages by people.
    turn: usize,
    /// Byte offset in the message at which the quote ends.
    end: usize,
    topic: Topic,
}

impl Fact {
    fn of(candidate: &Candidate, places: &BTreeMap<&str, usize>, texts: &[&str]) -> Option<Self> {
        let piece = candidate.evidence.first()?;
        let turn = *places.get(piece.messages.first()?.as_str())?;
        Some(Self { turn, end: end_of(&piece.quote, texts[turn]), topic: Topic::of(&piece.quote) })
    }
}

/// A sentence that says that something has ended.
struct End {
    /// Byte offset in the message at which the sentence begins.
    start: usize,
    topic: Topic,
    /// Whether it is about the speaker alone.
    is_own: bool,
}

/// Returns the sentences of `message`, at index `at`, that say that something has ended.
fn ends(at: usize, message: &Message, scenes: &Scenes) -> Vec<End> {
    let text = &message.text;
    let Some(table) = detect_read(text, None).map(Table::of).filter(|table| table.ends.is_match(text)) else {
        return Vec::new();
    };
    let base = text.as_ptr() as usize;
    let is_end = |said: &&str| table.ends.is_match(&fold(said)) && !scenes.hides(at, text, said);
    let ends = own_sentences(text).into_iter().filter(is_end);
    let end = |said: &str| End {
        start: said.as_ptr() as usize - base,
        topic: Topic::of_end(said),
        is_own: is_about_speaker(said),
    };
    ends.map(end).collect()
}

/// The topic of a sentence.
struct Topic {
    words: BTreeSet<String>,
    /// Names and days, each with a flag for those at the beginning of the sentence. Sentences with the same beginning
    /// may differ in meaning.
    names: BTreeMap<String, bool>,
    is_short: bool,
}

impl Topic {
    /// Returns the topic of a sentence that says that something has ended: the words after "no longer" and its verb, if
    /// there are any. The subject and the verb also occur in statements about something else: "we no longer deploy with
    /// Heroku" does not end "we deploy with Nomad".
    fn of_end(said: &str) -> Self {
        static OVER: LazyLock<Regex> = LazyLock::new(|| {
            pattern(
                r"(?i)\b(?:(?:no longer|stopped) \w+ |nicht mehr )(?P<what>[^,;:.]+)|\b(?:do|does|did)(?:n't| not) \w+ (?P<object>.+?) any ?more\b",
            )
        });
        let named = OVER.captures(said).and_then(|found| found.name("what").or_else(|| found.name("object")));
        let Some(mut topic) = named.map(|words| Self::of(words.as_str())) else { return Self::of(said) };
        if topic.words.is_empty() && topic.names.is_empty() {
            return Self::of(said);
        }
        topic.names.values_mut().for_each(|leads| *leads = false);
        topic
    }

    fn of(text: &str) -> Self {
        static NAME: LazyLock<Regex> = LazyLock::new(|| pattern(r"[A-Za-z\u{c0}-\u{24f}][\w.+#-]*[\w+#]|\d{3,}"));
        let han = count_han(text);
        let is_han = han > 0;
        let is_name = |word: &str| is_han || word.contains(|c: char| c.is_uppercase() || c.is_ascii_digit());
        let mut names: BTreeMap<String, bool> = BTreeMap::new();
        for found in NAME.find_iter(text).filter(|found| is_name(found.as_str())) {
            let before = &text[..found.start()];
            let leads = before.split_whitespace().count() <= 1 && (!is_han || before.trim().is_empty());
            names.entry(found.as_str().to_lowercase()).or_insert(leads);
        }
        names.extend(days(text).map(|day| (day, false)));
        Self {
            words: correction::topic_words(text),
            names,
            is_short: if is_han { han <= MAX_PLAIN_HAN } else { text.split_whitespace().count() <= MAX_PLAIN_WORDS },
        }
    }

    /// Returns how much of the topic of `fact` this sentence of message `turn` mentions, or 0 if it is too little.
    fn overlap(&self, fact: &Fact, turn: usize, rarity: &mut Rarity<'_>) -> usize {
        let is_near = turn - fact.turn <= MAX_BETWEEN;
        let topic = &fact.topic;
        let both = |(name, leads): &(&String, &bool)| topic.names.get(*name).is_some_and(|first| !(*first && **leads));
        let names = self.names.iter().filter(both).filter(|(name, _)| is_near || rarity.is_rare(name)).count();
        let shared: Vec<&String> = self.words.intersection(&topic.words).collect();
        let is_pair = |word: &&&String| !word.is_ascii() && word.chars().count() == 2;
        let pairs = shared.iter().filter(is_pair).count();
        let words = shared.len() - pairs + pairs / 2;
        let identifies = shared.iter().any(|word| is_pair(&word) || word.chars().count() >= MIN_TOPIC_LETTERS);
        let is_same = names > 0 || (is_near && (words >= MIN_SHARED || (topic.is_short && words > 0 && identifies)));
        if is_same { MIN_SHARED * names + words } else { 0 }
    }
}
