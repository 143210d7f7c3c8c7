//! What a later message makes out of date: the same thing with another day or number.

use crate::text::script::is_han;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use regex::Regex;

use super::retract;
use super::table;
use crate::extract::Task;
use crate::extract::rules::gather::Gathered;
use crate::extract::rules::sentence::{self, fold};
use crate::memory::Candidate;
use crate::text::language::detect_read;
use transcripts::Message;

/// Messages of people after a window that are read ahead.
const MAX_AHEAD: usize = 300;
/// Longest message that is taken for a change, in bytes.
const MAX_BYTES: usize = 600;
/// Messages of people in which a word may occur and still tell what is talked of.
const MAX_SPREAD: usize = 5;

/// A sentence that says how something is now.
struct Change {
    /// Place of its message.
    at: usize,
    /// Where in its message it begins, in bytes.
    start: usize,
    stems: BTreeSet<String>,
    marks: BTreeSet<String>,
    is_dated: bool,
    /// Whether it tells by its verb that a day was changed.
    moves: bool,
    /// Whether it only corrects, as "no, the 14th" does.
    corrects: bool,
}

/// Takes back what a later sentence of the window, or of the messages after it, gives another day or number.
pub(in super::super) fn outdated(task: &Task<'_>, gathered: &mut Gathered<'_>) {
    if gathered.is_empty() {
        return;
    }
    let messages = &task.transcript.messages;
    let people = (task.span.start..messages.len()).filter(|&at| messages[at].is_human());
    let people: Vec<usize> = people
        .scan(0, |ahead, at| {
            *ahead += usize::from(at >= task.span.end);
            (*ahead <= MAX_AHEAD).then_some(at)
        })
        .filter(|&at| messages[at].text.len() <= MAX_BYTES)
        .collect();
    let places: BTreeMap<&str, usize> = people.iter().map(|&at| (messages[at].id.as_str(), at)).collect();
    let olds: Vec<Option<Old>> = gathered.candidates().iter().map(|one| Old::of(one, &places, messages)).collect();
    // To read ahead costs the most; without a day or a number nothing can be out of date.
    if !olds.iter().flatten().any(|old| old.is_dated || !old.marks.is_empty()) {
        return;
    }
    let mut spread: BTreeMap<String, usize> = BTreeMap::new();
    for &at in &people {
        for stem in stems(&messages[at].text) {
            *spread.entry(stem).or_default() += 1;
        }
    }
    let changes: Vec<Change> = people.iter().flat_map(|&at| changes(at, &messages[at])).collect();
    if changes.is_empty() {
        return;
    }
    let mut stale = BTreeSet::new();
    for change in &changes {
        let before = |old: &Old| (old.at, old.end) <= (change.at, change.start);
        let mut named = false;
        let mut latest = None;
        for (index, old) in olds.iter().enumerate() {
            let Some(old) = old.as_ref().filter(|old| before(old)) else { continue };
            let shared = change
                .stems
                .intersection(&old.stems)
                .filter(|stem| spread.get(*stem).is_none_or(|&count| count <= MAX_SPREAD))
                .count();
            // A day is changed by name; two numbers may be of two things.
            let is_day = old.is_dated && change.is_dated;
            let needed = 1 + usize::from(old.is_han) + usize::from(!is_day);
            let differs = change.marks.difference(&old.marks).next().is_some();
            if shared >= needed && differs && !old.marks.is_empty() {
                stale.insert(index);
                named = true;
            }
            if old.is_dated && differs && latest.is_none_or(|(_, at)| at <= old.at) {
                latest = Some((index, old.at));
            }
        }
        // "They pushed us back a week" changes the day that was named last.
        let near = |at: usize| people.iter().filter(|&&other| at < other && other < change.at).count();
        let reach = if change.corrects { 1 } else { 8 };
        if let Some((index, at)) = latest
            && !named
            && (change.moves || change.corrects)
            && near(at) < reach
        {
            stale.insert(index);
        }
    }
    gathered.remove(&stale);
}

/// What is known of a candidate that may be out of date.
struct Old {
    at: usize,
    end: usize,
    stems: BTreeSet<String>,
    marks: BTreeSet<String>,
    is_dated: bool,
    is_han: bool,
}

impl Old {
    fn of(candidate: &Candidate, places: &BTreeMap<&str, usize>, messages: &[Message]) -> Option<Self> {
        let piece = candidate.evidence.first()?;
        let at = *places.get(piece.messages.first()?.as_str())?;
        let end = messages[at].text.find(&piece.quote).map_or(0, |start| start + piece.quote.len());
        let is_dated = CALENDAR.is_match(&piece.quote);
        let is_han = piece.quote.chars().any(is_han);
        Some(Self { at, end, stems: stems(&piece.quote), marks: marks(&piece.quote), is_dated, is_han })
    }
}

fn changes(at: usize, message: &Message) -> Vec<Change> {
    let base = message.text.as_ptr() as usize;
    let usual = detect_read(&message.text, None);
    let said = sentence::said(&message.text).into_iter().filter_map(|said| {
        let folded = fold(said);
        let table = table::of(detect_read(&folded, usual)?);
        let (moves, corrects) = (table.moves(&folded), table.corrects(&folded));
        let marks = marks(said);
        if marks.is_empty() || !(moves || corrects || table.changes(&folded)) {
            return None;
        }
        let dated = CALENDAR.is_match(said);
        Some(Change {
            at,
            start: said.as_ptr() as usize - base,
            stems: stems(said),
            marks,
            is_dated: dated,
            moves: moves && dated,
            corrects: corrects && dated,
        })
    });
    said.collect()
}

/// Days, months, weekdays and clock times, in the four languages.
static CALENDAR: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(concat!(
        r"(?i)\b(?:(?:mon|tues|wednes|thurs|fri|satur|sun)days?|january|february|march|april|may|june|july|august|september|october|november|december",
        r"|(?:montag|dienstag|mittwoch|donnerstag|freitag|samstag|sonntag)s?|januar|februar|märz|mai|juni|juli|oktober|dezember",
        r"|lunes|martes|miércoles|jueves|viernes|sábados?|domingos?|enero|febrero|marzo|abril|mayo|junio|julio|agosto|septiembre|octubre|noviembre|diciembre",
        r"|the \d{1,2}(?:st|nd|rd|th)?|\d{1,2}(?:st|nd|rd|th)|\d{4}-\d\d-\d\d|\d{1,2}\.\d{1,2}\.|el \d{1,2}|de[nmr] \d{1,2}\.|(?:next|last) (?:week|month|year))\b",
        r"|\d{1,2} ?月|\d{1,2} ?[日号]|(?:周|星期|礼拜)[一二三四五六日天末]|明天|后天|月底|月初",
    ))
    .expect("the pattern is a constant")
});

/// Returns the days that `text` names, in small letters.
pub(super) fn days(text: &str) -> BTreeSet<String> {
    CALENDAR.find_iter(text).map(|found| found.as_str().to_lowercase()).collect()
}

/// Returns what tells one day, hour, or amount from another.
fn marks(text: &str) -> BTreeSet<String> {
    static NUMBER: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"\d+(?:[.,:]\d+)*").expect("the pattern is a constant"));
    let days =
        CALENDAR.find_iter(text).map(|found| found.as_str()).filter(|day| !day.bytes().any(|b| b.is_ascii_digit()));
    days.chain(NUMBER.find_iter(text).map(|found| found.as_str())).map(str::to_lowercase).collect()
}

/// Returns the words of `text` that tell, without their endings and without days.
fn stems(text: &str) -> BTreeSet<String> {
    let text = CALENDAR.replace_all(text, " ");
    let stem = |word: String| word.trim_end_matches('s').chars().take(7).collect::<String>();
    retract::words(&text).into_iter().map(stem).collect()
}
