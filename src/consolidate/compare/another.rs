//! Finds out whether a new claim is about another thing, person, part or occasion than a known claim.

use std::sync::LazyLock;

use regex::Regex;

use super::features::{Features, Polarity, TimeScope, Turn, WEEKDAYS};
use super::marks::{Clause, is_generic};
use super::outdated::{Comparison, GOVERNING, is_calendar, is_day, is_spaced};
use super::topic::{Term, Vocabulary, are_forms, names_another_of_its_kind, stated, terms};
use super::view::{About, View, tags_differ};
use crate::text::tokens::is_listed;

/// Whether `incoming` is about another thing of the same kind than `known`, or about a special case of it.
pub(super) fn is_about_another_thing(incoming: &View<'_>, known: &View<'_>) -> bool {
    let comparison = Comparison::of(incoming, known);
    is_other_label(incoming, known)
        || comparison.has_another_subject()
        || comparison.narrows_subject()
        || comparison.has_another_in_its_place(&[])
}

/// Whether the known claim begins with a numbered thing, such as "version 2", and the new one names another of its kind.
pub(super) fn is_other_label(incoming: &View<'_>, known: &View<'_>) -> bool {
    static START: LazyLock<Regex> = LazyLock::new(|| {
        let articles = "(?:(?:the|der|die|das|la|el|le|in|im|en) )?";
        let number = r"(v?\d+(?:\.\d+)*)";
        Regex::new(&format!(
            r"(?i)^{articles}(?:(\p{{Latin}}{{2,}}) {number}|(\p{{Han}}{{1,8}}?) ?{number})([年月日号点时]?)"
        ))
        .expect("the pattern is a constant")
    });
    let Some(found) = START.captures(stated(&known.claim.content)).filter(|found| found[5].is_empty()) else {
        return false;
    };
    let part = |at: usize| found.get(at).or_else(|| found.get(at + 2)).map_or("", |part| part.as_str());
    let (noun, number) = (part(1).to_lowercase(), part(2));
    // "October 3" is a day, not a thing.
    if !Features::of(&format!("{noun} {number}")).figures.iter().all(|figure| !is_calendar(figure) && !is_day(figure)) {
        return false;
    }
    let text = stated(&incoming.claim.content).to_lowercase();
    let after = |at: usize| text[at + noun.len()..].trim_start_matches([' ', 'v']);
    let numbers = text
        .match_indices(&noun)
        .map(|(at, _)| after(at))
        .filter(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    let mut numbers =
        numbers.map(|rest| rest.split(|c: char| !c.is_ascii_digit() && c != '.').next().unwrap_or_default()).peekable();
    numbers.peek().is_some() && numbers.all(|other| other.trim_end_matches('.') != number.trim_start_matches('v'))
}

impl Comparison<'_, '_> {
    /// Whether the new claim is about another thing of the same kind, or about a part of the thing.
    pub(super) fn names_another(&self) -> bool {
        let heads =
            |view: &View<'_>| view.key.as_deref().and_then(|key| key.rsplit_once('.')).map(|(head, _)| head.to_owned());
        let other_owner = self.has_same_attribute()
            && !self.incoming.same_key(self.known)
            && heads(self.incoming).zip(heads(self.known)).is_some_and(|(a, b)| a != b);
        let other_kind = names_another_of_its_kind(&self.ours, &self.theirs, self.is_head_last);
        // A name with a number, such as the number of a ticket, at the start of the known claim says which thing it is about.
        let is_code = |term: &Term| term.text.contains(|c: char| c.is_ascii_digit());
        let other_code = self.theirs.first().is_some_and(|first| !first.is_shared && is_code(first));
        let begins_with_subject =
            |view: &View<'_>| view.subject.as_deref().is_some_and(|subject| view.features.text.starts_with(subject));
        let other_name = begins_with_subject(self.incoming)
            && begins_with_subject(self.known)
            && tags_differ(self.incoming, self.known);
        let other_label = is_other_label(self.incoming, self.known);
        other_owner
            || other_name
            || other_kind
            || other_code
            || other_label
            || self.has_another_subject()
            || self.narrows_subject()
    }

    /// Whether the subject of the known claim is missing, and the new claim has one of its own.
    pub(super) fn has_another_subject(&self) -> bool {
        let is_own = |first: &Term| first.before.is_empty() && !first.is_shared && !is_generic(&first.text);
        self.lacks_subject() && self.ours.first().is_some_and(is_own)
    }

    /// Whether the new claim is about a special case of the known claim's subject: "backups of the mail server", or a part of
    /// it: "the museum shop".
    pub(super) fn narrows_subject(&self) -> bool {
        let Some(first) = self.theirs.first().filter(|_| matches!(self.known.about, About::Other(_))) else {
            return false;
        };
        let is_own = |term: &Term| !term.is_shared && !is_generic(&term.text);
        self.ours.iter().enumerate().filter(|(_, term)| are_forms(&term.text, &first.text)).any(|(at, term)| {
            let before = at.checked_sub(1).map(|at| &self.ours[at]);
            let after = self.ours.get(at + 1).filter(|next| is_own(next) && next.gap == Some(1));
            is_wide(term) && term.gap == Some(0) && !term.is_joined && before.is_some_and(is_own)
                || after.is_some_and(|next| is_listed(SPECIFIERS, &next.before))
        })
    }

    /// Whether the clause names, as what was left behind, something that the known claim does not mention.
    pub(super) fn leaves_another(&self, clause: &Clause) -> bool {
        const FROM: &str = "from off statt anstatt";
        const FROM_IF_THEN: [(&str, &str); 4] =
            [("of", " instead of "), ("of", " in place of "), ("von", " auf "), ("von", " zu ")];
        const WIDE_BEFORE: [&str; 4] = ["从", "由", "代替", "取代"];
        const WIDE_AFTER: [&str; 3] = ["から", "에서", "의 대신"];
        // A name in another script often has a space before it.
        let text = clause.text.to_lowercase();
        let wide_text = text.replace(' ', "");
        let named = terms([clause.text.as_str()], &self.vocabulary);
        let is_left = |term: &Term| {
            is_listed(FROM, &term.before)
                || FROM_IF_THEN.iter().any(|(word, then)| term.before == *word && text.contains(then))
                || WIDE_BEFORE.iter().any(|word| wide_text.contains(&format!("{word}{}", term.text)))
                || WIDE_AFTER.iter().any(|word| text.contains(&format!("{}{word}", term.text)))
        };
        named.iter().any(|term| !term.is_shared && !is_generic(&term.text) && is_left(term))
    }

    /// Whether none of the words at the start of the known claim, which are its subject, appears in the new claim.
    pub(super) fn lacks_subject(&self) -> bool {
        let Some(first) = self.theirs.first().filter(|first| first.before.is_empty()) else { return false };
        let joined = self.theirs[1..].iter().take_while(|term| term.is_joined);
        matches!(self.known.about, About::Other(_))
            && !is_generic(&first.text)
            && std::iter::once(first).chain(joined).all(|term| !term.is_shared || is_generic(&term.text))
    }

    /// Whether each claim has a word of its own after the same word, as in "the limit for lead" and "the limit for zinc",
    /// apart from the words of a value.
    pub(super) fn has_another_in_its_place(&self, value: &[String]) -> bool {
        let is_preposition = |word: &str| word == "的" || is_listed(SPECIFIERS, word) || is_listed(GOVERNING, word);
        // In French, "on" is a pronoun.
        let is_governed = |term: &Term| is_preposition(&term.before) && !(term.before == "on" && term.gap.is_none());
        let own = |term: &&Term| !term.is_shared && !is_generic(&term.text) && is_governed(term);
        self.theirs
            .iter()
            .filter(own)
            .filter(|old| !value.contains(&old.text))
            .any(|old| self.ours.iter().filter(own).any(|new| new.before == old.before))
    }

    /// Whether a clause of the known claim, other than the one with the `value`, says something that the new claim does not
    /// mention.
    pub(super) fn says_more(&self, value: &[String]) -> bool {
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
    pub(super) fn has_other_labels(&self) -> bool {
        let (ours, theirs) = (&self.incoming.features.figures, &self.known.features.figures);
        let value = self.known.claim.value.as_deref().map(Features::of);
        let is_of_value = |figure: &String| value.as_ref().is_some_and(|value| value.figures.contains(figure));
        theirs.difference(ours).filter(|figure| !is_calendar(figure) && !is_of_value(figure)).count() > 1
    }

    /// Whether the clause may be about one of the days on which something takes place regularly.
    pub(super) fn is_one_occasion(&self, clause: &Clause) -> bool {
        let is_regular = self.known.features.time == TimeScope::Habit
            || self.known.features.figures.iter().any(|figure| WEEKDAYS.contains(&figure.as_str()));
        let named = Features::of(&clause.text.replace("'s", ""));
        let is_for_good = named.cue == Some(Turn::Changed) && named.polarity == Polarity::Negative;
        is_regular && !is_for_good && named.figures.iter().any(|figure| WEEKDAYS.contains(&figure.as_str()))
    }

    /// Whether the first noun of the known claim may only be a part of a longer name in the new claim: "the museum shop".
    pub(super) fn has_longer_name(&self) -> bool {
        let Some(first) = self.theirs.first().filter(|_| matches!(self.known.about, About::Other(_))) else {
            return false;
        };
        let is_own = |term: &Term| !term.is_shared && !is_generic(&term.text) && is_spaced(term);
        self.is_head_last
            && self
                .ours
                .windows(2)
                .any(|pair| are_forms(&pair[0].text, &first.text) && pair[1].is_joined && is_own(&pair[1]))
    }

    /// Whether both claims have an attribute of the same name, whoever has it.
    pub(super) fn has_same_attribute(&self) -> bool {
        let last = |view: &View<'_>| view.key.as_deref().map(|key| key.rsplit('.').next().unwrap_or(key).to_owned());
        self.incoming.same_key(self.known) || last(self.incoming).is_some_and(|key| last(self.known) == Some(key))
    }

    /// Whether `features` mention no other relative or colleague than the known claim does.
    pub(super) fn has_same_people(&self, features: &Features) -> bool {
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
    pub(super) fn is_about_somebody_else(&self) -> bool {
        const SPEAKERS: &str = "user user's users nutzer nutzers nutzerin usuario usuaria usuarios i we my our me us ich wir \
            mein meine meinen meinem meiner unser unsere yo mi mis nos nuestro nuestra je nous mon ma notre";
        const WIDE: [&str; 5] = ["用户", "我", "ユーザ", "私", "사용자"];
        let text = &self.incoming.features.text;
        let mentions = text.split(|c: char| !c.is_alphanumeric() && c != '\'').any(|word| is_listed(SPEAKERS, word))
            || WIDE.iter().any(|word| text.contains(word));
        // A name that only the new claim has may be whose thing it is.
        let has_name =
            self.incoming.features.entities.iter().any(|name| !self.known.features.text.contains(name.as_str()));
        self.known.about == About::User && !mentions && has_name
    }

    /// Whether the new claim limits itself to somebody or something that the known claim does not mention.
    pub(super) fn is_for_others(&self) -> bool {
        let is_limit = |term: &Term| !term.is_shared && !is_generic(&term.text) && is_listed(FOR, &term.before);
        self.ours.iter().any(is_limit)
    }
}

/// Words before whoever or whatever something is meant for.
const FOR: &str = "for für para pour";

/// Words before what a thing belongs to.
const SPECIFIERS: &str = "of in at for from with on by von für in an auf bei mit de en para con du à pour";

fn is_wide(term: &Term) -> bool {
    !is_spaced(term)
}
