//! Finds claims that explicitly say that a known claim is no longer true or has a different value.

use std::collections::BTreeSet;
use std::rc::Rc;

use super::another::is_about_another_thing;
use super::caution::{is_supposed, may_be_elsewhere};
use super::certainty::{Certainty, is_frame, is_list, surroundings};
use super::features::{Features, Polarity, Turn, WEEKDAYS, differ_in_kind, unit};
use super::outdated::{ANOTHER_VALUE, ENDED, NEVER_TRUE, outdated};
use super::tokens::is_stop_word;
use super::topic::stated;
use super::view::{View, is_order, is_record, part, people_differ, speakers_differ};
use crate::memory::{Claim, MemoryType};
use crate::text::change::{ChangeEffect, ChangePassage, is_function_word, moves_home};
use crate::text::normalise::comparable;
use crate::text::recent::RecentResults;
use crate::text::script::{Script, is_han, is_hiragana};
use crate::text::tokens::{is_listed, words};

/// Minimum number of other names for which a known claim is taken to state something else as well.
const MANY_NAMES: usize = 2;

/// Returns the certainty with which `incoming` says that `known` is no longer true, and the reason.
pub(super) fn ends(incoming: &View<'_>, known: &View<'_>) -> Option<(Certainty, &'static str)> {
    if is_supposed(incoming) || shares_only_speaker(incoming, known) {
        return None;
    }
    let by_phrases = by_phrases(incoming, known);
    // An order names in full what it replaces.
    let is_order = is_order(incoming);
    let names_it = |why| is_order || why == REVERSED;
    let is_elsewhere = || by_phrases.is_some_and(|(_, why)| !names_it(why)) && is_about_another_thing(incoming, known);
    let by_phrases = if is_elsewhere() { None } else { by_phrases };
    let found = [by_phrases, outdated(incoming, known)].into_iter().flatten();
    let (certainty, why) = found.max_by_key(|(certainty, why)| (*certainty, *why == NEVER_TRUE))?;
    let is_sure = certainty == Certainty::Certain && (is_order || !may_be_elsewhere(incoming, known, why));
    Some((if is_sure { Certainty::Certain } else { Certainty::Likely }, why))
}

/// Whether the name of its speaker is all that `a`, which quotes a participant of a chat, shares with `b`.
pub(super) fn shares_only_speaker(a: &View<'_>, b: &View<'_>) -> bool {
    let is_name = |word: &str| a.speakers.iter().any(|name| name.contains(word));
    let others =
        |ours: &BTreeSet<String>, theirs: &BTreeSet<String>| ours.intersection(theirs).any(|word| !is_name(word));
    let (left, right) = (&a.features, &b.features);
    a.names_speaker()
        && stated(&a.claim.content) != a.claim.content
        && !others(&left.tokens, &right.tokens)
        && !others(&left.entities, &right.entities)
        && left.figures.is_disjoint(&right.figures)
}

/// Returns the finding that a phrase of `incoming` names what ended.
fn by_phrases(incoming: &View<'_>, known: &View<'_>) -> Option<(Certainty, &'static str)> {
    let over = known.features.polarity == Polarity::Negative && incoming.features.polarity == Polarity::Negative;
    // A past event remains true, and so does the record of a finished task.
    if is_record(known) || over || speakers_differ(incoming, known) {
        return None;
    }
    let found = incoming.changes().iter().filter_map(|phrase| by_phrase(phrase, incoming, known));
    let found = found.max_by_key(|(ended, _)| *ended);
    let without_name = || reversed(incoming, known).or_else(|| moved_home(incoming, known));
    found.or_else(|| without_name().filter(|_| !people_differ(&incoming.features, &known.features)))
}

fn by_phrase(phrase: &ChangePassage, incoming: &View<'_>, known: &View<'_>) -> Option<(Certainty, &'static str)> {
    let clause = Features::of(&phrase.clause);
    let (are_others, is_narrower) = surroundings(&clause, &known.features);
    // "Helen left" is about the manager named Helen; "I left Berlin" is not about a sister who lives there.
    let of_them = phrase.is_subject && clause.people.is_empty();
    if are_others || (people_differ(&clause, &known.features) && !of_them) {
        return None;
    }
    let named = Naming::of(phrase, known);
    let matter = phrase.matter.as_ref().map(|matter| content_words(matter));
    let other_matter = matter.is_some_and(|words| {
        let shared = words.iter().filter(|word| in_text(word, known)).count();
        shared == 0 || shared * 2 < words.len()
    });
    // A known claim that reports the same change itself does not describe the state before the change.
    let already = known.changes().iter().any(|other| {
        let theirs = content_words(&other.named);
        other.kind != ChangeEffect::Moved && named.shared.iter().any(|word| theirs.contains(word))
    });
    // A different number means a different thing: issue 11 is not issue 12.
    let is_numbered = named.others.iter().any(|word| word.chars().any(|c| c.is_ascii_digit()));
    if named.shared.is_empty() || other_matter || already || is_numbered {
        return None;
    }
    let is_same_act = !is_about_another(phrase, known);
    match phrase.kind {
        ChangeEffect::Moved => {
            let whole = is_same_act && named.others.is_empty() && (named.is_head || named.covers) && !is_narrower;
            let applies = measures_differ(incoming, known) && (named.is_head || named.others.is_empty());
            applies.then_some((if whole { Certainty::Certain } else { Certainty::Likely }, TOPIC_MOVED))
        }
        ChangeEffect::Ended | ChangeEffect::Replaced => {
            // After "instead of", the rest of the clause may follow without punctuation.
            let exact = named.others.is_empty() || (phrase.kind == ChangeEffect::Replaced && named.leads);
            let identifies = named.is_value || (exact && (named.is_head || named.covers));
            // "I dropped the database" may be about the tables rather than the choice of a database.
            let is_stated = named.is_value || named.covers || phrase.matter.is_some();
            let is_listed = is_list(known) && named.leaves_names;
            let certain =
                is_same_act && exact && is_stated && !is_narrower && !is_listed && !narrows(&phrase.rest, known);
            identifies.then_some((if certain { Certainty::Certain } else { Certainty::Likely }, OVER))
        }
    }
}

/// Verbs that, for most things, only state that they are used.
const GENERAL: &str = "use using us have run do go work need apply keep nutzen nutze verwenden verwende haben habe nehmen nehme \
    brauchen brauche usamos uso usa tenemos tengo trabajo trabajamos vamos voy utilizamos utilizo";

/// Whether every clause of `incoming` that says "no longer" or something similar mentions something that `known` does
/// not: "the team no longer meets on Fridays" does not affect Mondays.
pub(super) fn ends_something_else(incoming: &View<'_>, known: &View<'_>) -> bool {
    const JOINTS: &str = ", |; |: |. | and | but | since | because | und | aber | weil | y | pero |，|；|。";
    if incoming.features.cue != Some(Turn::Changed) || incoming.features.polarity == Polarity::Positive {
        return false;
    }
    let mut clauses = vec![incoming.claim.content.as_str()];
    for joint in JOINTS.split('|') {
        clauses = clauses.into_iter().flat_map(|clause| clause.split(joint)).collect();
    }
    let ended = clauses.into_iter().map(Features::of);
    let ended = ended.filter(|clause| clause.cue == Some(Turn::Changed) && clause.polarity == Polarity::Negative);
    let mut ended = ended.peekable();
    ended.peek().is_some() && ended.all(|clause| has_more(&clause, known))
}

/// Whether `incoming` ends one of several things that `known` lists, and does not mention the others.
pub(in crate::consolidate) fn ends_one_of_several(incoming: &View<'_>, known: &View<'_>) -> bool {
    incoming.features.cue == Some(Turn::Changed)
        && incoming.features.polarity == Polarity::Negative
        && is_list(known)
        && has_more(&known.features, incoming)
}

/// Whether a clause has a name, a number or a word that `known` does not have.
fn has_more(clause: &Features, known: &View<'_>) -> bool {
    let theirs = &known.features;
    // Verbs in Japanese and Korean have a different form in a negation, and no stem that could be compared.
    let has_stem = |token: &str| !token.chars().any(|c| is_hiragana(c) || Script::of(c) == Some(Script::Hangul));
    let is_new = |token: &String| {
        has_stem(token)
            && !theirs.tokens.contains(token)
            && !is_frame(token)
            && !is_listed(GENERAL, token)
            && !in_text(token, known)
    };
    !clause.figures.is_subset(&theirs.figures)
        || clause.entities.iter().any(|name| !theirs.text.contains(name.as_str()))
        || clause.tokens.iter().any(is_new)
}

/// Whether the clause of a phrase has a subject or a verb that `known` does not have.
///
/// The sentence "the reports no longer run on a cluster" does not affect the orders, which still do.
fn is_about_another(phrase: &ChangePassage, known: &View<'_>) -> bool {
    /// Time expressions and first-person pronouns, without which a Chinese clause begins with its subject.
    const OPENINGS: &[&str] = &[
        "我们", "咱们", "大家", "我", "咱", "现在", "目前", "如今", "以后", "今后", "已经", "早就", "终于", "最近",
        "都", "也", "就", "早",
    ];
    let verb = phrase.verb.as_deref().map(str::to_lowercase);
    let is_form = |verb: &str, word: &String| {
        let common = verb.chars().zip(word.chars()).take_while(|(a, b)| a == b).count();
        common >= 3 && common * 2 >= verb.chars().count().max(word.chars().count())
    };
    let in_known = |verb: &str| content_words(&known.claim.content).iter().any(|word| is_form(verb, word));
    let other_verb = verb.is_some_and(|verb| !is_listed(GENERAL, &verb) && !in_known(&verb));
    let lead = OPENINGS.iter().fold(phrase.lead.clone(), |lead, opening| lead.replace(opening, " "));
    let is_led = phrase.kind != ChangeEffect::Replaced && content_words(&lead).iter().any(|word| !in_text(word, known));
    other_verb || is_led
}

/// Whether a finding says that a claim is no longer true, together with all details of the claim.
pub(in crate::consolidate) fn is_end(why: &str) -> bool {
    [OVER, REVERSED, TOPIC_MOVED, ENDED, NEVER_TRUE, ANOTHER_VALUE, LEARNED].contains(&why)
}

const OVER: &str = "the new text says that it is over";
const REVERSED: &str = "the new text says the opposite, and that this has changed";

/// Reason given if no rule found a change, but the trained classifier did.
pub(in crate::consolidate) const LEARNED: &str = "the new text reads as if this has changed";

/// Reason given if the topic of a claim has a different value.
pub(in crate::consolidate) const TOPIC_MOVED: &str = "the new text says that it has a different value";

/// Whether `rest`, which follows the name of what ended, limits the change to a special case, as in "for the demo".
fn narrows(rest: &str, known: &View<'_>) -> bool {
    const LIMITS: &[&str] = &["for", "in", "on", "from", "at", "für", "bei", "dans", "para", "en"];
    const NO_LIMITS: &[&str] = &["good", "cost", "real", "all", "everything", "everywhere", "stack", "project", "team"];
    let mut words = rest.split(' ');
    let limited = words.next().is_some_and(|first| LIMITS.contains(&first.to_lowercase().as_str()));
    // "Ditched Sublime for Zed" names the replacement.
    let gives_way = rest.starts_with("for ") && words.next().is_some_and(|next| next.starts_with(char::is_uppercase));
    let limits = |word: &String| {
        !NO_LIMITS.contains(&word.as_str()) && Features::of(word).figures.is_empty() && !in_text(word, known)
    };
    limited && !gives_way && content_words(rest).iter().any(limits)
}

/// Whether both claims have a number, a day or a time of the same kind, but with different values.
fn measures_differ(a: &View<'_>, b: &View<'_>) -> bool {
    differ_in_kind(&a.features.figures, &b.features.figures, kind_of)
        || differ_in_kind(&wide_measures(&a.features.text), &wide_measures(&b.features.text), last_char)
}

/// Returns the kind of a figure: its unit, or that it is a day of the week.
fn kind_of(figure: &str) -> &str {
    if WEEKDAYS.contains(&figure) { "day" } else { unit(figure) }
}

fn last_char(text: &str) -> &str {
    text.char_indices().next_back().map_or("", |(at, _)| &text[at..])
}

/// Returns the Chinese numerals in `text`, each with its unit.
fn wide_measures(text: &str) -> BTreeSet<String> {
    const NUMERALS: &str = "零一二两三四五六七八九十百千万半";
    const UNITS: &str = "点号元块日月天岁次";
    let chars: Vec<char> = text.chars().collect();
    let mut found = BTreeSet::new();
    for (at, c) in chars.iter().enumerate().filter(|(_, c)| UNITS.contains(**c)) {
        let digits = chars[..at].iter().rev().take_while(|c| NUMERALS.contains(**c)).count();
        if digits > 0 {
            found.insert(chars[at - digits..at].iter().chain([c]).collect());
        }
    }
    found
}

/// Returns a finding if a clause of `incoming` says the opposite of a clause of `known`, apart from words that express
/// a change.
fn reversed(incoming: &View<'_>, known: &View<'_>) -> Option<(Certainty, &'static str)> {
    if incoming.features.cue != Some(Turn::Changed) || incoming.features.planned {
        return None;
    }
    let clauses = |view: &View<'_>| {
        let text = view.claim.content.trim_end_matches(['“', '”', '"', '»']).to_owned();
        let parts = text.split([',', ';', ':', '.', '，', '。', '；', '：']).map(Features::of);
        parts.filter(|part| part.tokens.len() >= 2).collect::<Vec<_>>()
    };
    let is_change = |part: &Features| part.cue == Some(Turn::Changed) && !part.also;
    let ours = clauses(incoming);
    let found = ours.iter().filter(|part| is_change(part)).any(|part| {
        clauses(known).iter().any(|other| {
            let opposite = part.polarity != other.polarity
                && part.polarity != Polarity::Mixed
                && other.polarity != Polarity::Mixed;
            let is_again = |token: &&String| ["wied", "again", "nuev", "nouv"].iter().any(|one| token.starts_with(one));
            let extra = part.tokens.symmetric_difference(&other.tokens).filter(|token| !is_again(token)).count();
            opposite && extra == 0 && part.figures == other.figures
        })
    });
    (found && incoming.claim.memory_type != MemoryType::Procedural).then_some((Certainty::Certain, REVERSED))
}

/// Returns a finding if the speaker of `incoming` moved away from the residence that `known` states.
fn moved_home(incoming: &View<'_>, known: &View<'_>) -> Option<(Certainty, &'static str)> {
    let is_home = known.key.as_deref() == Some("user.residence") && moves_home(&incoming.claim.content);
    is_home.then_some((Certainty::Certain, "the new text says that the person has moved"))
}

/// Whether a clause of `incoming` that repeats words of `known` has a different subject: "the docs no longer deploy
/// from Jenkins" does not affect the shop, which still does.
pub(super) fn has_other_subject(incoming: &View<'_>, known: &View<'_>) -> bool {
    const ARTICLES: &str = "the our my their das der die unser unsere mein meine el la los las nuestro nuestra mi le les \
        notre nos mon ma";
    incoming.claim.content.split([',', ';', ':', '.', '!', '?']).any(|clause| {
        let lower = clause.trim().to_lowercase();
        let mut start = lower.split(' ');
        let has_article = start.next().is_some_and(|first| is_listed(ARTICLES, first));
        // "The user" and "the team" refer to whoever speaks.
        let is_noun = has_article && start.next().is_some_and(|noun| !is_frame(noun));
        is_noun && content_words(&lower).iter().position(|word| in_text(word, known)).is_some_and(|shared| shared > 0)
    })
}

/// Returns the share of the content words of the shorter claim that both claims contain, from 0 to 1.
pub(in crate::consolidate) fn shared_words(claim: &Claim, known: &Claim) -> f64 {
    let own_words = |claim: &Claim| -> BTreeSet<String> {
        content_words(&claim.content).iter().filter(|word| !is_frame(word)).cloned().collect()
    };
    let (ours, theirs, text) = (own_words(claim), own_words(known), comparable(&known.content));
    let words = content_words(&text);
    part(ours.iter().filter(|word| is_among(word, &text, &words)).count(), ours.len().min(theirs.len()))
}

/// The words for a thing in a phrase, compared with a known claim.
#[expect(clippy::struct_excessive_bools, reason = "each field is a separate finding")]
struct Naming {
    shared: BTreeSet<String>,
    others: Vec<String>,
    /// Whether the words name the value of the claim, or a name or number in it.
    is_value: bool,
    /// Whether the words name what the claim is about.
    is_head: bool,
    /// Whether the words make up at least a third of the claim.
    covers: bool,
    /// Whether the claim's own words come first.
    leads: bool,
    /// Whether the claim also contains several other names.
    leaves_names: bool,
}

impl Naming {
    fn of(phrase: &ChangePassage, known: &View<'_>) -> Self {
        let words = content_words(&phrase.named);
        let features = &known.features;
        let (shared, others): (Vec<String>, Vec<String>) = words.iter().cloned().partition(|word| in_text(word, known));
        let value = known.claim.value.as_deref().map(comparable).unwrap_or_default();
        let is_name = |word: &String| {
            let figure = |figure: &String| figure.trim_end_matches(|c: char| c.is_alphabetic()) == word.as_str();
            let is_number = word.len() > 1 && word.bytes().all(|b| b.is_ascii_digit() || b == b'.');
            (!value.is_empty() && has_word(&value, word))
                || features.entities.iter().any(|name| name == word || has_word(name, word))
                || (is_number && features.figures.iter().any(figure))
                || (word.is_ascii() && !is_number && word.contains(['-', '_', '.', '/']))
                || is_capital(word, &known.claim.content)
        };
        let content = content_words(&known.claim.content);
        let content: Vec<&String> = content.iter().filter(|word| !is_frame(word)).collect();
        Self {
            is_value: shared.iter().any(is_name) || is_wide_name(&phrase.named, &features.text),
            is_head: content.first().is_some_and(|head| shared.contains(*head)),
            covers: shared.len() * 3 >= content.len(),
            leads: words.first().is_some_and(|first| shared.contains(first)),
            leaves_names: features.entities.iter().filter(|name| !shared.contains(name)).count() >= MANY_NAMES,
            others,
            shared: shared.into_iter().collect(),
        }
    }
}

/// Returns the content words of `text` in lower case; in scripts without spaces, pairs of characters.
fn content_words(text: &str) -> Rc<[String]> {
    thread_local!(static RECENT: RecentResults<Rc<[String]>> = RecentResults::default());
    let examine = || {
        let mut found = Vec::new();
        for word in words(text) {
            let lower = word.text.to_lowercase();
            match word.script {
                Script::Spaced if is_stop_word(&lower) || is_function_word(&lower) => {}
                Script::Spaced | Script::Katakana | Script::Hangul => found.push(lower),
                Script::Han => {
                    let chars: Vec<char> = lower.chars().collect();
                    found.extend(chars.windows(2).map(|pair| pair.iter().collect::<String>()));
                }
            }
        }
        found.into()
    };
    RECENT.with(|recent| recent.get(text, examine))
}

/// Whether the claim's text contains `word` or a form of it.
fn in_text(word: &str, known: &View<'_>) -> bool {
    is_among(word, &known.features.text, &content_words(&known.features.text))
}

/// Whether `text`, whose words are `words`, contains `word` or a form of it.
fn is_among(word: &str, text: &str, words: &[String]) -> bool {
    if word.chars().any(is_han) {
        return text.contains(word);
    }
    let letters = word.chars().count();
    words.iter().any(|other| {
        let common = word.chars().zip(other.chars()).take_while(|(a, b)| a == b).count();
        let longer = letters.max(other.chars().count());
        other == word || (common >= 4 && longer - common <= 2)
    })
}

fn has_word(text: &str, word: &str) -> bool {
    text.split(|c: char| !(c.is_alphanumeric() || matches!(c, '.' | '-' | '+' | '#'))).any(|one| one == word)
}

/// Whether `word` appears with a capital in `content`, other than as the first word.
fn is_capital(word: &str, content: &str) -> bool {
    content.split_whitespace().skip(1).any(|one| {
        let one = one.trim_matches(|c: char| !c.is_alphanumeric());
        one.starts_with(char::is_uppercase) && one.to_lowercase() == word && one.chars().count() > 2 && !is_frame(word)
    })
}

/// Whether `text` contains the whole of a name in a script without spaces.
fn is_wide_name(named: &str, text: &str) -> bool {
    let named: String = comparable(named).chars().filter(|c| is_han(*c)).collect();
    named.chars().count() >= 2 && text.contains(&named)
}
