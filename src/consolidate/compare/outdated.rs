//! Finds known claims that a new claim marks as over, mistaken or changed, in whatever sentence it does so.
//!
//! A clause of the new claim has a mark, such as "was switched off", and names what the known claim states; or the whole
//! claim has the topic of the known claim, a mark of change, and a different value of the same kind. Words that suppose,
//! plan, propose, refuse or limit the change are respected, and so are other people, parts and circumstances.

use super::ended::{Certainty, is_list, surroundings};
use super::features::{Features, Polarity, TimeScope, Turn, WEEKDAYS, unit};
use super::key::{Values, compare};
use super::marks::{Clause, Mark, clauses, is_generic};
use super::topic::{stated, MAX_QUOTE_BYTES, Term, Vocabulary, are_forms, names_another_of_its_kind, terms, weight};
use super::view::{About, View, is_episode, speakers_differ, tags_differ};
use crate::memory::Structured;
use crate::text::language::Language;
use crate::text::tokens::is_listed;

/// Reasons given for such a claim.
pub(in crate::consolidate) const ENDED: &str = "the new text says that this has ended";
pub(in crate::consolidate) const NEVER_TRUE: &str = "the new text says that this was a mistake";
pub(in crate::consolidate) const ANOTHER_VALUE: &str = "the new text says that this has changed";

/// Minimum share of the known claim's words, apart from the value, that a claim with a different value has as well.
const SAME_TOPIC: f64 = 0.6;

/// Maximum number of words of the known claim that may be lost together with a replaced value.
const MAX_LOST: usize = 2;

/// Maximum number of words of a replaced value.
const MAX_VALUE: usize = 4;

/// Two claims whose words are compared because the new one has marks of change.
struct Comparison<'c, 'v> {
    incoming: &'c View<'v>,
    known: &'c View<'v>,
    /// The clauses of the new claim and of its short quotations.
    clauses: Vec<Clause>,
    /// The words of the known claim.
    vocabulary: Vocabulary,
    /// The content words of the known claim, compared with those of the new one.
    theirs: Vec<Term>,
    /// The content words of the new claim without its marks, compared with those of the known one.
    ours: Vec<Term>,
    /// Whether the word before a noun qualifies it, as in "the payments service".
    is_head_last: bool,
}

/// Returns the certainty with which the marks in `incoming` show that `known` is no longer true, and the reason.
pub(super) fn outdated(incoming: &View<'_>, known: &View<'_>) -> Option<(Certainty, &'static str)> {
    let is_order = |view: &View<'_>| matches!(view.claim.structured, Some(Structured::Procedure(_)));
    // An order applies beside the orders before it, unless it has the same attribute as one of them.
    if is_order(incoming) && is_order(known) {
        return None;
    }
    let own = clauses(stated(&incoming.claim.content));
    let quotes = incoming.quotes.iter().filter(|quote| quote.len() <= MAX_QUOTE_BYTES && !is_order(incoming));
    let quoted = quotes.filter(|quote| **quote != incoming.claim.content).map(|quote| clauses(quote));
    let clauses: Vec<Clause> = std::iter::once(own.clone()).chain(quoted).flat_map(|found| found.to_vec()).collect();
    if clauses.is_empty() || !may_be_near(incoming, known) || speakers_differ(incoming, known) {
        return None;
    }
    let vocabulary = Vocabulary::of_claim(known);
    let whole = [stated(&incoming.claim.content)];
    let pieces = own.iter().flat_map(|clause| clause.pieces.iter().map(String::as_str));
    let ours = if own.is_empty() { terms(whole, &vocabulary) } else { terms(pieces, &vocabulary) };
    let comparison = Comparison {
        theirs: terms([stated(&known.claim.content)], &Vocabulary::of_claim(incoming)),
        is_head_last: !matches!(known.language, Some(Language::Spanish | Language::French)),
        incoming,
        known,
        clauses,
        vocabulary,
        ours,
    };
    if comparison.names_another() {
        return None;
    }
    let found = comparison.clauses.iter().filter_map(|clause| comparison.by_clause(clause));
    found.chain(comparison.by_value()).max_by_key(|(certainty, _)| *certainty)
}

/// Whether `incoming` is about another thing of the same kind than `known`, or about a special case of it.
pub(super) fn is_about_another_thing(incoming: &View<'_>, known: &View<'_>) -> bool {
    let (ours, theirs) = (stated(&incoming.claim.content), stated(&known.claim.content));
    let vocabulary = Vocabulary::of_claim(known);
    let comparison = Comparison {
        theirs: terms([theirs], &Vocabulary::of_claim(incoming)),
        ours: terms([ours], &vocabulary),
        is_head_last: !matches!(known.language, Some(Language::Spanish | Language::French)),
        incoming,
        known,
        clauses: Vec::new(),
        vocabulary,
    };
    comparison.has_another_subject() || comparison.narrows_subject() || comparison.has_another_in_its_place(&[])
}

/// Whether two claims have a word, a name or a number in common.
fn may_be_near(a: &View<'_>, b: &View<'_>) -> bool {
    let (left, right) = (&a.features, &b.features);
    !left.tokens.is_disjoint(&right.tokens)
        || !left.entities.is_disjoint(&right.entities)
        || !left.figures.is_disjoint(&right.figures)
        || a.subject.is_some() && a.subject == b.subject
        || a.same_key(b)
}

impl Comparison<'_, '_> {
    /// Whether the new claim is about another thing of the same kind, or about a part of the thing.
    fn names_another(&self) -> bool {
        let heads = |view: &View<'_>| view.key.as_deref().and_then(|key| key.rsplit_once('.')).map(|(head, _)| head.to_owned());
        let other_owner = self.has_same_attribute()
            && !self.incoming.same_key(self.known)
            && heads(self.incoming).zip(heads(self.known)).is_some_and(|(a, b)| a != b);
        let other_kind = names_another_of_its_kind(&self.ours, &self.theirs, self.is_head_last);
        // A name with a number, such as the number of a ticket, at the start of the known claim says which thing it is about.
        let is_code = |term: &Term| term.text.contains(|c: char| c.is_ascii_digit());
        let other_code = self.theirs.first().is_some_and(|first| !first.is_shared && is_code(first));
        let begins_with_subject = |view: &View<'_>| {
            view.subject.as_deref().is_some_and(|subject| view.features.text.starts_with(subject))
        };
        let other_name = begins_with_subject(self.incoming) && begins_with_subject(self.known) && tags_differ(self.incoming, self.known);
        other_owner || other_name || other_kind || other_code || self.has_another_subject() || self.narrows_subject()
    }

    /// Whether the subject of the known claim is missing, and the new claim has one of its own.
    fn has_another_subject(&self) -> bool {
        let is_own = |first: &Term| first.before.is_empty() && !first.is_shared && !is_generic(&first.text);
        self.lacks_subject() && self.ours.first().is_some_and(is_own)
    }

    /// Whether the new claim is about a special case of the known claim's subject: "backups of the mail server", or a part of
    /// it: "the museum shop".
    fn narrows_subject(&self) -> bool {
        let Some(first) = self.theirs.first().filter(|_| matches!(self.known.about, About::Other(_))) else { return false };
        let is_own = |term: &Term| !term.is_shared && !is_generic(&term.text);
        self.ours.iter().enumerate().filter(|(_, term)| are_forms(&term.text, &first.text)).any(|(at, term)| {
            let before = at.checked_sub(1).map(|at| &self.ours[at]);
            let after = self.ours.get(at + 1).filter(|next| is_own(next) && next.gap == Some(1));
            is_wide(term) && term.gap == Some(0) && !term.is_joined && before.is_some_and(is_own)
                || after.is_some_and(|next| is_listed(SPECIFIERS, &next.before))
        })
    }

    /// Returns the finding that a clause with a mark names what the known claim states.
    fn by_clause(&self, clause: &Clause) -> Option<(Certainty, &'static str)> {
        let why = match (clause.marks.contains(&Mark::Denied), clause.marks.contains(&Mark::Ended)) {
            (true, _) => NEVER_TRUE,
            (false, true) if !self.is_record() && !has_ended(self.known) => ENDED,
            (false, _) => return None,
        };
        // "Stayed closed" tells of a time, not of an end.
        if why == ENDED && (clause.is_negated || clause.marks.contains(&Mark::Doubtful)) {
            return None;
        }
        let (features, known) = (Features::of(&clause.text), &self.known.features);
        let (are_others, is_narrower) = surroundings(&features, known);
        if clause.around.contains(&Mark::Unreal)
            || known.polarity == Polarity::Negative
            || are_others
            || !self.has_same_people(&features)
            || features.figures.iter().any(|figure| is_another(figure, known))
        {
            return None;
        }
        let named = terms(clause.pieces.iter().map(String::as_str), &self.vocabulary);
        let inside = terms(clause.gaps.iter().map(String::as_str), &self.vocabulary);
        if names_another_of_its_kind(&named, &self.theirs, self.is_head_last) || self.has_another_in_its_place(&[]) {
            return None;
        }
        let is_foreign = |term: &Term| !term.is_shared && !is_generic(&term.text);
        // "The metrics dashboard" is not the metrics.
        let is_thing = |at: usize| {
            let is_followed = named.get(at + 1).is_some_and(|next| next.is_joined && is_foreign(next));
            named[at].is_shared && !(self.is_head_last && is_spaced(&named[at]) && is_followed)
        };
        let things = (0..named.len()).filter(|at| is_thing(*at)).map(|at| &named[at]);
        let things: Vec<&Term> = things.chain(inside.iter().filter(|term| term.is_shared)).collect();
        let has_figure = features.figures.iter().any(|figure| known.figures.contains(figure) && !is_calendar(figure));
        let own = things.iter().map(|term| term.weight).sum::<usize>() + usize::from(has_figure);
        let foreign = weight(&named, is_foreign);
        let is_named = |term: &Term| things.iter().any(|thing| are_forms(&thing.text, &term.text) || term.text.contains(&thing.text));
        let aside = weight(&self.theirs, |term| term.is_shared && !is_named(term));
        let all = weight(&self.theirs, |term| !is_generic(&term.text));
        let covers = (aside + own) * 2 > all;
        let is_value = has_figure || things.iter().any(|term| self.is_value(term));
        let is_object = is_value || things.iter().any(|term| !self.is_subject(term));
        let is_topic = things.iter().any(|term| self.is_topic(term));
        if things.is_empty() && !has_figure {
            return None;
        }
        let is_exact = foreign == 0;
        let is_near = match (is_object, is_exact) {
            (true, true) => aside >= 1 || is_value || own >= 2 || is_topic,
            (true, false) => foreign <= own && (is_value && aside >= 1 || own >= 2 && (covers || aside + own > 2) || covers && own >= 2),
            // The thing itself that the known claim is about has ended.
            (false, true) => aside >= 2 || covers,
            (false, false) => false,
        };
        let is_placed = named.iter().any(|term| is_foreign(term) && is_listed(PLACES, &term.before));
        let is_certain = is_near
            && !is_placed
            && !is_narrower
            && !clause.around.contains(&Mark::Doubtful)
            && (why == NEVER_TRUE || !self.lacks_subject())
            && !self.is_one_occasion(clause)
            && !self.is_about_somebody_else();
        let is_likely = is_near || is_value && aside >= 1 && foreign <= own + 1;
        is_likely.then_some((if is_certain { Certainty::Certain } else { Certainty::Likely }, why))
    }

    /// Returns the finding that the new claim gives another value of the same kind, and says that this is a change.
    fn by_value(&self) -> Option<(Certainty, &'static str)> {
        let shared = weight(&self.theirs, |term| term.is_shared) + self.shared_figures();
        let has = |mark: Mark| self.clauses.iter().any(|clause| clause.marks.contains(&mark));
        if shared == 0 || has(Mark::Unreal) {
            return None;
        }
        let found = self.clauses.iter().filter_map(|clause| self.by_value_in(clause, shared));
        let (certainty, why) = found.max_by_key(|(certainty, _)| *certainty)?;
        let is_doubtful = has(Mark::Doubtful) || self.is_for_others();
        Some((if is_doubtful { Certainty::Likely } else { certainty }, why))
    }

    fn by_value_in(&self, clause: &Clause, shared: usize) -> Option<(Certainty, &'static str)> {
        let marks = &clause.marks;
        let corrects = marks.contains(&Mark::Corrected);
        let moves = marks.contains(&Mark::Moved) && !clause.is_negated;
        let replaces = marks.contains(&Mark::Earlier) && marks.contains(&Mark::Ended);
        let is_marked = corrects || moves || replaces || marks.contains(&Mark::Since);
        if !is_marked || !corrects && has_ended(self.known) {
            return None;
        }
        let (ours, theirs) = (&self.incoming.features, &self.known.features);
        let (are_others, is_narrower) = surroundings(ours, theirs);
        let is_wish = ours.planned && !theirs.planned && !corrects && !moves;
        // One occasion that was moved leaves the habit as it is.
        let is_occasion = moves && theirs.time == TimeScope::Habit && Features::of(&clause.text).figures.iter().any(|figure| is_day(figure));
        if are_others || is_wish || is_occasion || self.leaves_another(clause) || !self.has_same_people(&Features::of(&clause.text)) {
            return None;
        }
        let value = self.other_value(clause, corrects, moves)?;
        if self.is_record() && !corrects && !(moves && value.is_day) {
            return None;
        }
        let has_labels = value.words.is_empty() && !value.is_day && self.has_other_labels();
        if has_labels || self.has_another_in_its_place(&value.words) {
            return None;
        }
        let is_lost = |term: &Term| !term.is_shared && !is_generic(&term.text) && !value.words.contains(&term.text);
        let is_verb = |at: usize| at == 0 && self.known.about == About::User;
        let lost = self.theirs.iter().enumerate().filter(|(at, term)| is_lost(term) && !is_verb(*at));
        let is_detail = |term: &Term| is_listed(PLACES, &term.before);
        let (details, others): (Vec<_>, Vec<_>) = lost.map(|(_, term)| term).partition(|term| is_detail(term));
        let total = |terms: &[&Term]| terms.iter().map(|term| term.weight).sum::<usize>();
        let lost = total(&details) + total(&others);
        // A number belongs to what is counted, so all words for that have to be the same.
        let is_another_count = value.words.is_empty() && (others.len() > 1 || !others.is_empty() && shared < 3);
        let enough = if value.is_governed && moves { 1 } else { 2 };
        if share(shared, shared + lost) < if enough == 1 { 0.5 } else { SAME_TOPIC } || shared < enough && lost > 0 {
            return None;
        }
        let is_beside = marks.contains(&Mark::Beside) && !corrects;
        if is_beside && !moves || is_another_count {
            return None;
        }
        let is_counted = !value.words.is_empty() || value.is_day || others.is_empty() || corrects;
        let is_certain = !is_beside && is_counted
            && !self.lacks_subject()
            && !(lost > 0 && (self.says_more(&value.words) || is_list(self.known)))
            && !self.has_longer_name()
            && !is_narrower && lost <= MAX_LOST && value.length <= MAX_VALUE;
        let why = if corrects { NEVER_TRUE } else { ANOTHER_VALUE };
        Some((if is_certain { Certainty::Certain } else { Certainty::Likely }, why))
    }

    /// The number of figures, other than dates, that both claims have.
    fn shared_figures(&self) -> usize {
        let (ours, theirs) = (&self.incoming.features.figures, &self.known.features.figures);
        ours.intersection(theirs).filter(|figure| !is_calendar(figure)).count()
    }

    /// Returns the value that both claims give differently; `None` if there is no such value.
    fn other_value(&self, clause: &Clause, corrects: bool, moves: bool) -> Option<OtherValue> {
        let (ours, theirs) = (&self.incoming.features.figures, &self.known.features.figures);
        let differs = |is_kind: fn(&str) -> bool| {
            ours.difference(theirs).any(|new| {
                is_kind(new) && theirs.iter().any(|old| is_kind(old) && kind(old) == kind(new) && old != new)
            })
        };
        if differs(|figure| !is_calendar(figure)) {
            return Some(OtherValue::default());
        }
        if (corrects || moves) && differs(is_calendar) {
            return Some(OtherValue { is_day: true, ..OtherValue::default() });
        }
        // What the clause with the mark does not repeat may be named as the earlier value elsewhere.
        let text = if corrects { stated(&self.incoming.claim.content) } else { clause.text.as_str() };
        let here = Vocabulary::of([text]);
        let terms = terms([stated(&self.known.claim.content)], &here);
        let left: Vec<&Term> = terms.iter().filter(|term| !term.is_shared && !is_generic(&term.text)).collect();
        let of = |words: &[&Term], is_governed: bool| OtherValue {
            words: words.iter().map(|term| term.text.clone()).collect(),
            length: words.iter().map(|term| term.weight).sum(),
            is_governed,
            is_day: false,
        };
        let governed = terms.iter().enumerate().find(|(_, old)| {
            !old.is_shared && is_listed(GOVERNING, &old.before) && self.has_another_after(&old.before)
        });
        if let Some((at, old)) = governed {
            let rest = terms[at + 1..].iter().take_while(|term| term.is_joined && !term.is_shared);
            return Some(of(&std::iter::once(old).chain(rest).collect::<Vec<_>>(), true));
        }
        let value = |view: &View<'_>| view.claim.value.clone();
        let is_other_value = self.has_same_attribute()
            && compare(value(self.incoming).as_deref(), value(self.known).as_deref()) == Some(Values::Different);
        let (known, incoming) = (&self.known.features, &self.incoming.features);
        let names = |a: &Features, b: &Features| a.entities.iter().any(|name| !b.text.contains(name.as_str()));
        let is_other_name = names(known, incoming) && names(incoming, known);
        // A verb of change needs no preposition: "the weekly meeting changed over to Mandarin".
        let is_one = || {
            let shared = weight(&self.theirs, |term| term.is_shared);
            if shared < 2 {
                return false;
            }
            let first = left.first().and_then(|first| terms.iter().position(|term| term.text == first.text));
            let joined = |at: usize| terms[at..].iter().skip(1).take(left.len() - 1).all(|term| term.is_joined);
            let has_new = self.ours.iter().any(|term| !term.is_shared && !is_generic(&term.text));
            has_new && first.is_some_and(|at| (at > 0 || self.known.about == About::User) && joined(at))
        };
        (is_other_value || is_other_name || (corrects || moves) && is_one()).then(|| of(&left, false))
    }

    /// Whether the new claim has a word of its own, or a number, after a word such as "in".
    fn has_another_after(&self, word: &str) -> bool {
        let is_often = is_listed(OFTEN, word);
        let text = format!(" {} ", self.incoming.features.text);
        self.ours.iter().any(|term| !term.is_shared && term.before == word) || is_often && text.contains(&format!(" {word} "))
    }

    /// Whether the clause names, as what was left behind, something that the known claim does not mention.
    fn leaves_another(&self, clause: &Clause) -> bool {
        const FROM: &str = "from off statt anstatt";
        const FROM_IF_THEN: [(&str, &str); 4] = [("of", " instead of "), ("of", " in place of "), ("von", " auf "), ("von", " zu ")];
        const WIDE_BEFORE: [&str; 4] = ["从", "由", "代替", "取代"];
        const WIDE_AFTER: [&str; 3] = ["から", "에서", "의 대신"];
        let text = clause.text.to_lowercase();
        let named = terms([clause.text.as_str()], &self.vocabulary);
        let is_left = |term: &Term| {
            is_listed(FROM, &term.before)
                || FROM_IF_THEN.iter().any(|(word, then)| term.before == *word && text.contains(then))
                || WIDE_BEFORE.iter().any(|word| text.contains(&format!("{word}{}", term.text)))
                || WIDE_AFTER.iter().any(|word| text.contains(&format!("{}{word}", term.text)))
        };
        named.iter().any(|term| !term.is_shared && !is_generic(&term.text) && is_left(term))
    }

    /// Whether none of the words at the start of the known claim, which are its subject, appears in the new claim.
    fn lacks_subject(&self) -> bool {
        let Some(first) = self.theirs.first().filter(|first| first.before.is_empty()) else { return false };
        let joined = self.theirs[1..].iter().take_while(|term| term.is_joined);
        matches!(self.known.about, About::Other(_))
            && !is_generic(&first.text)
            && std::iter::once(first).chain(joined).all(|term| !term.is_shared || is_generic(&term.text))
    }

    /// Whether each claim has a word of its own after the same word, as in "the limit for lead" and "the limit for zinc",
    /// apart from the words of a value.
    fn has_another_in_its_place(&self, value: &[String]) -> bool {
        let is_preposition = |word: &str| word == "的" || is_listed(SPECIFIERS, word) || is_listed(GOVERNING, word);
        let own = |term: &&Term| !term.is_shared && !is_generic(&term.text) && is_preposition(&term.before);
        self.theirs.iter().filter(own).filter(|old| !value.contains(&old.text)).any(|old| {
            self.ours.iter().filter(own).any(|new| new.before == old.before)
        })
    }

    /// Whether a clause of the known claim, other than the one with the `value`, says something that the new claim does not
    /// mention.
    fn says_more(&self, value: &[String]) -> bool {
        const JOINTS: [&str; 8] = [", ", "; ", ": ", ". ", "，", "；", "：", "。"];
        let mut parts = vec![stated(&self.known.claim.content)];
        for joint in JOINTS {
            parts = parts.into_iter().flat_map(|part| part.split(joint)).filter(|part| !part.is_empty()).collect();
        }
        let whole = Vocabulary::of_claim(self.incoming);
        let is_untouched = |part: &&str| {
            let terms = terms([*part], &whole);
            let is_new = |term: &Term| !term.is_shared && !is_generic(&term.text);
            terms.iter().any(is_new) && !terms.iter().any(|term| value.iter().any(|word| word.contains(&term.text)))
        };
        parts.len() > 1 && parts.iter().any(is_untouched)
    }

    /// Whether the known claim has further numbers that the new one lacks, as in "chapter 3 has 20 pages".
    fn has_other_labels(&self) -> bool {
        let (ours, theirs) = (&self.incoming.features.figures, &self.known.features.figures);
        let value = self.known.claim.value.as_deref().map(Features::of);
        let is_of_value = |figure: &String| value.as_ref().is_some_and(|value| value.figures.contains(figure));
        theirs.difference(ours).filter(|figure| !is_calendar(figure) && !is_of_value(figure)).count() > 1
    }

    /// Whether the clause may be about one of the days on which something takes place regularly.
    fn is_one_occasion(&self, clause: &Clause) -> bool {
        let is_regular = self.known.features.time == TimeScope::Habit || self.known.features.figures.iter().any(|figure| WEEKDAYS.contains(&figure.as_str()));
        let named = Features::of(&clause.text.replace("'s", ""));
        let is_for_good = named.cue == Some(Turn::Changed) && named.polarity == Polarity::Negative;
        is_regular && !is_for_good && named.figures.iter().any(|figure| WEEKDAYS.contains(&figure.as_str()))
    }

    /// Whether the first noun of the known claim may only be a part of a longer name in the new claim: "the museum shop".
    fn has_longer_name(&self) -> bool {
        let Some(first) = self.theirs.first().filter(|_| matches!(self.known.about, About::Other(_))) else { return false };
        let is_own = |term: &Term| !term.is_shared && !is_generic(&term.text) && is_spaced(term);
        self.is_head_last
            && self.ours.windows(2).any(|pair| are_forms(&pair[0].text, &first.text) && pair[1].is_joined && is_own(&pair[1]))
    }

    /// Whether both claims have an attribute of the same name, whoever has it.
    fn has_same_attribute(&self) -> bool {
        let last = |view: &View<'_>| view.key.as_deref().map(|key| key.rsplit('.').next().unwrap_or(key).to_owned());
        self.incoming.same_key(self.known) || last(self.incoming).is_some_and(|key| last(self.known) == Some(key))
    }

    /// Whether the known claim is about something that happened or was done once, which remains true.
    fn is_record(&self) -> bool {
        let category = self.known.claim.category.as_str();
        is_episode(self.known)
            || matches!(category, "task" | "solution" | "mistake")
            || self.known.features.time == TimeScope::Once
    }

    /// Whether `features` mention no other relative or colleague than the known claim does.
    fn has_same_people(&self, features: &Features) -> bool {
        let known = &self.known.features.people;
        let is_named = || {
            let subject = self.known.subject.as_deref().filter(|subject| subject.chars().count() > 1);
            subject.is_some_and(|subject| self.incoming.features.text.contains(subject))
        };
        let is_one = |a: &str, b: &str| a == b || a.starts_with(&format!("{b}.")) || b.starts_with(&format!("{a}."));
        let within = features.people.iter().all(|person| known.iter().any(|other| is_one(person, other)));
        let mentioned = &self.incoming.features.people;
        let same = known.iter().all(|person| mentioned.iter().any(|other| is_one(person, other)));
        within && (same || is_named())
    }

    /// Whether the known claim is about the user and the new one only about somebody else.
    fn is_about_somebody_else(&self) -> bool {
        const SPEAKERS: &str = "user user's users nutzer nutzers nutzerin usuario usuaria usuarios i we my our me us ich wir \
            mein meine meinen meinem meiner unser unsere yo mi mis nos nuestro nuestra je nous mon ma notre";
        const WIDE: [&str; 5] = ["用户", "我", "ユーザ", "私", "사용자"];
        let text = &self.incoming.features.text;
        let mentions = text.split(|c: char| !c.is_alphanumeric() && c != '\'').any(|word| is_listed(SPEAKERS, word))
            || WIDE.iter().any(|word| text.contains(word));
        // A name that only the new claim has may be whose thing it is.
        let has_name = self.incoming.features.entities.iter().any(|name| !self.known.features.text.contains(name.as_str()));
        self.known.about == About::User && !mentions && has_name
    }

    /// Whether the new claim limits itself to somebody or something that the known claim does not mention.
    fn is_for_others(&self) -> bool {
        let is_limit = |term: &Term| !term.is_shared && !is_generic(&term.text) && is_listed(FOR, &term.before);
        self.ours.iter().any(is_limit)
    }

    /// Whether a term is or belongs to the value of the known claim, or is a name.
    fn is_value(&self, term: &Term) -> bool {
        let features = &self.known.features;
        let value = self.known.claim.value.as_deref().map(str::to_lowercase).unwrap_or_default();
        let is_capital = || {
            let mut words = self.known.claim.content.split_whitespace().skip(1);
            let german = self.known.language == Some(Language::German);
            !german
                && words.any(|word| {
                    let word = word.trim_matches(|c: char| !c.is_alphanumeric());
                    word.starts_with(char::is_uppercase) && word.to_lowercase() == term.text
                })
        };
        (!value.is_empty() && (value.contains(&term.text) || term.text.contains(&value)))
            || features.entities.contains(&term.text)
            || is_capital()
    }

    /// Whether a term names the subject of the known claim rather than what the claim says about it.
    fn is_subject(&self, term: &Term) -> bool {
        let is_first = self.theirs.first().is_some_and(|first| first.text.starts_with(&term.text));
        self.known.about != About::User && self.theirs.len() > 1 && is_first
    }

    /// Whether a term is the topic under which a claim about the user is stored, or its first word.
    fn is_topic(&self, term: &Term) -> bool {
        let subject = self.known.subject.as_deref().unwrap_or_default();
        let is_first = self.theirs.first().is_some_and(|first| are_forms(&first.text, &term.text));
        let are_theirs = self.known.about == About::User && self.incoming.about == About::User;
        are_theirs && (is_first || are_forms(subject, &term.text))
    }
}

/// A value that two claims give differently.
#[derive(Debug, Default, PartialEq, Eq)]
struct OtherValue {
    /// The words of the known value, and their number.
    words: Vec<String>,
    length: usize,
    /// Whether both values follow the same preposition.
    is_governed: bool,
    /// Whether the value is a day.
    is_day: bool,
}

/// Words before a place or a circumstance.
const PLACES: &str = "in at on for with during under auf für bei im am unter para durante bajo dans chez pour sous";

/// Words before whoever or whatever something is meant for.
const FOR: &str = "for für para pour";

/// Words before what a thing belongs to.
const SPECIFIERS: &str = "of in at for from with on by von für in an auf bei mit de en para con du à pour";

/// Words before a value.
const GOVERNING: &str = "in on at with from by to via as mit auf bei in aus von über zu als en con a de por como desde avec sur dans par cada every each jede jeden jedes chaque";

/// Words before an interval.
const OFTEN: &str = "cada every each jede jeden jedes chaque";

fn is_spaced(term: &Term) -> bool {
    term.text.chars().all(|c| c < '\u{2E80}')
}

fn is_wide(term: &Term) -> bool {
    !is_spaced(term)
}

/// Whether a figure is one day.
fn is_day(figure: &str) -> bool {
    unit(figure) == "-" && figure.len() >= 10 || unit(figure) == "d"
}

/// Whether a figure is a day, a month or a year, which may say when something changed.
fn is_calendar(figure: &str) -> bool {
    let digits: String = figure.chars().take_while(char::is_ascii_digit).collect();
    let is_year = digits.len() == 4 && (digits.starts_with("19") || digits.starts_with("20"));
    let is_month = figure.strip_prefix('m').is_some_and(|month| month.bytes().all(|byte| byte.is_ascii_digit()));
    is_month || is_year && matches!(unit(figure), "" | "y") || matches!(unit(figure), "-" | "month")
}

/// Whether `known` lacks a figure and may state another one of its kind.
fn is_another(figure: &str, known: &Features) -> bool {
    let is_known_kind = || known.figures.iter().any(|other| kind(other) == kind(figure));
    !is_calendar(figure) && !known.figures.contains(figure) && (WEEKDAYS.contains(&figure) || is_known_kind())
}

/// Returns the kind of a figure: a day of the week, a date, or its unit.
fn kind(figure: &str) -> &str {
    if WEEKDAYS.contains(&figure) { "weekday" } else { unit(figure) }
}

/// Whether a claim itself reports an end.
fn has_ended(view: &View<'_>) -> bool {
    clauses(stated(&view.claim.content)).iter().any(|clause| clause.marks.contains(&Mark::Ended))
}

#[expect(clippy::cast_precision_loss, reason = "word counts are far below 2^52")]
fn share(part: usize, whole: usize) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}
