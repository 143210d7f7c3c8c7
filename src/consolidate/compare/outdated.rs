//! Finds known claims that a new claim marks as over, mistaken or changed, in whatever sentence it does so.
//!
//! A clause of the new claim has a mark, such as "was switched off", and names what the known claim states; or the whole
//! claim has the topic of the known claim, a mark of change, and a different value of the same kind. Words that suppose,
//! plan, propose, refuse or limit the change are respected, and so are other people, parts and circumstances.

use super::certainty::{Certainty, is_list, surroundings};
use super::features::{Features, Polarity, TimeScope, WEEKDAYS, unit};
use super::key::{Values, compare};
use super::marks::{Clause, Mark, clauses, is_generic};
use super::topic::{
    MAX_QUOTE_BYTES, OFTEN, Term, Vocabulary, are_forms, names_another_of_its_kind, stated, terms, weight,
};
use super::view::{About, View, is_order, is_record, speakers_differ};
use crate::text::language::Language;
use crate::text::normalise::comparable;
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
pub(super) struct Comparison<'c, 'v> {
    pub(super) incoming: &'c View<'v>,
    pub(super) known: &'c View<'v>,
    /// The clauses of the new claim and then those of its short quotations.
    pub(super) clauses: Vec<Clause>,
    /// The number of clauses of the new claim itself.
    own: usize,
    /// The words of the known claim.
    pub(super) vocabulary: Vocabulary,
    /// The content words of the known claim, compared with those of the new one.
    pub(super) theirs: Vec<Term>,
    /// The content words of the new claim without its marks, compared with those of the known one.
    pub(super) ours: Vec<Term>,
    /// Whether the word before a noun qualifies it, as in "the payments service".
    pub(super) is_head_last: bool,
}

/// Returns the certainty with which the marks in `incoming` show that `known` is no longer true, and the reason.
pub(super) fn outdated(incoming: &View<'_>, known: &View<'_>) -> Option<(Certainty, &'static str)> {
    // An order applies beside the orders before it, unless it has the same attribute as one of them.
    if is_order(incoming) && is_order(known) {
        return None;
    }
    if clauses(stated(&incoming.claim.content)).is_empty() && quoted(incoming).next().is_none()
        || !may_be_near(incoming, known)
        || speakers_differ(incoming, known)
    {
        return None;
    }
    let comparison = Comparison::of(incoming, known);
    if comparison.names_another() {
        return None;
    }
    let found = comparison.clauses.iter().filter_map(|clause| comparison.by_clause(clause));
    // "Never run npm install; use pnpm instead" leaves other orders about pnpm in force.
    let by_value = (!is_order(known)).then(|| comparison.by_value()).flatten();
    found.chain(by_value).max_by_key(|(certainty, _)| *certainty)
}

/// Number of letters at the start of a subject by which a form of it is recognised.
const SUBJECT_ROOT: usize = 5;

/// Whether two claims have a word, a name or a number in common.
fn may_be_near(a: &View<'_>, b: &View<'_>) -> bool {
    let (left, right) = (&a.features, &b.features);
    let root: String = b.subject.iter().flat_map(|subject| subject.chars()).take(SUBJECT_ROOT).collect();
    let names_subject = root.chars().count() == SUBJECT_ROOT && left.text.contains(&root);
    names_subject
        || !left.tokens.is_disjoint(&right.tokens)
        || !left.entities.is_disjoint(&right.entities)
        || !left.figures.is_disjoint(&right.figures)
        || a.subject.is_some() && a.subject == b.subject
        || a.same_key(b)
}

/// Returns the clauses with marks of the short quotations of a claim, if it is no order.
fn quoted<'v>(view: &'v View<'_>) -> impl Iterator<Item = Clause> + 'v {
    let quotes = view.quotes.iter().filter(|quote| quote.len() <= MAX_QUOTE_BYTES && !is_order(view));
    quotes.filter(|quote| **quote != view.claim.content).flat_map(|quote| clauses(quote).to_vec())
}

impl<'c, 'v> Comparison<'c, 'v> {
    /// Returns the words and clauses of two claims, compared with each other.
    pub(super) fn of(incoming: &'c View<'v>, known: &'c View<'v>) -> Self {
        let own = clauses(stated(&incoming.claim.content));
        let vocabulary = Vocabulary::of_claim(known);
        let pieces = own.iter().flat_map(|clause| clause.pieces.iter().map(String::as_str));
        let ours = if own.is_empty() {
            terms([stated(&incoming.claim.content)], &vocabulary)
        } else {
            terms(pieces, &vocabulary)
        };
        Self {
            theirs: terms([stated(&known.claim.content)], &Vocabulary::of_claim(incoming)),
            is_head_last: !matches!(known.language, Some(Language::Spanish | Language::French)),
            own: own.len(),
            clauses: own.iter().cloned().chain(quoted(incoming)).collect(),
            incoming,
            known,
            vocabulary,
            ours,
        }
    }
}

impl Comparison<'_, '_> {
    /// The clauses of the new claim itself.
    pub(super) fn own(&self) -> impl Iterator<Item = &Clause> {
        self.clauses[..self.own].iter()
    }

    /// Whether `text` has words, other than empty ones, that the known claim lacks.
    pub(super) fn has_own_words(&self, text: &str) -> bool {
        terms([text], &self.vocabulary).iter().any(|term| !term.is_shared && !is_generic(&term.text))
    }

    /// Returns the finding that a clause with a mark names what the known claim states.
    fn by_clause(&self, clause: &Clause) -> Option<(Certainty, &'static str)> {
        let why = match (clause.marks.contains(&Mark::Denied), clause.marks.contains(&Mark::Ended)) {
            (true, _) => NEVER_TRUE,
            (false, true) if !is_record(self.known) && !self.is_known_to_have_ended() => ENDED,
            (false, _) => return None,
        };
        // "Stayed closed" states a time, not an end.
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
        // A day usually says when something ended, but a year may be what was never true.
        let counts = |figure: &String| why == NEVER_TRUE || !is_calendar(figure);
        let has_figure = features.figures.iter().any(|figure| known.figures.contains(figure) && counts(figure));
        let own = things.iter().map(|term| term.weight).sum::<usize>() + usize::from(has_figure);
        let foreign = weight(&named, is_foreign);
        let is_named = |term: &Term| {
            things.iter().any(|thing| are_forms(&thing.text, &term.text) || term.text.contains(&thing.text))
        };
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
            (true, false) => foreign <= own && (is_value && aside >= 1 || own >= 2 && (covers || aside + own > 2)),
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

    /// Whether the known claim says itself that something has ended, or that what the new claim names was left behind.
    fn is_known_to_have_ended(&self) -> bool {
        has_ended(self.known) || self.known.leaves_what_names(self.incoming)
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
        let is_occasion = moves
            && theirs.time == TimeScope::Habit
            && Features::of(&clause.text).figures.iter().any(|figure| is_day(figure));
        if are_others
            || is_wish
            || is_occasion
            || self.leaves_another(clause)
            || !self.has_same_people(&Features::of(&clause.text))
        {
            return None;
        }
        let value = self.other_value(clause, corrects, moves)?;
        if is_record(self.known) && !corrects && !(moves && value.is_day) {
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
        let is_certain = !is_beside
            && is_counted
            && !self.lacks_subject()
            && !(lost > 0 && (self.says_more(&value.words) || is_list(self.known)))
            && !self.has_longer_name()
            && !is_narrower
            && lost <= MAX_LOST
            && value.length <= MAX_VALUE;
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
        if is_other_value || is_other_name {
            let value = self.known.claim.value.as_deref().map(comparable).unwrap_or_default();
            let is_of_value = |term: &Term| {
                known.entities.contains(&term.text)
                    || value.contains(&term.text)
                    || !value.is_empty() && term.text.contains(&value)
            };
            return Some(of(&left.iter().copied().filter(|term| is_of_value(term)).collect::<Vec<_>>(), false));
        }
        ((corrects || moves) && is_one()).then(|| of(&left, false))
    }

    /// Whether a clause that denies something names a term.
    fn is_denied(&self, term: &Term) -> bool {
        let names = |clause: &Clause| clause.text.to_lowercase().contains(&term.text);
        self.clauses.iter().any(|clause| clause.marks.contains(&Mark::Denied) && names(clause))
    }

    /// Whether the new claim has a word of its own, or a number, after a word such as "in".
    fn has_another_after(&self, word: &str) -> bool {
        let is_often = is_listed(OFTEN, word);
        let text = format!(" {} ", self.incoming.features.text);
        self.ours.iter().any(|term| !term.is_shared && term.before == word && !self.is_denied(term))
            || is_often && text.contains(&format!(" {word} "))
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

/// Words before a value.
pub(super) const GOVERNING: &str = "in on at with from by to via as mit auf bei in aus von über zu als en con a de por como desde avec sur dans par cada every each jede jeden jedes chaque";

pub(super) fn is_spaced(term: &Term) -> bool {
    term.text.chars().all(|c| c < '\u{2E80}')
}

/// Whether a figure is one day.
pub(super) fn is_day(figure: &str) -> bool {
    unit(figure) == "-" && figure.len() >= 10 || unit(figure) == "d"
}

/// Whether a figure is a day, a month or a year, which may say when something changed.
pub(super) fn is_calendar(figure: &str) -> bool {
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
