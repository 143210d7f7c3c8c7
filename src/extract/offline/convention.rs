//! Conventions: orders that apply to all things of a kind in code, whatever words surround them.
//!
//! "Another practice is to always include docstrings in your methods" and "for methods, make sure that you include
//! docstrings" give the same order. The words around it are removed one after the other, and the rest must begin with a
//! verb of such orders and name all things of a kind. If it only refers to them, as in "start them with `x_`", they are
//! taken from the sentence before. The order is kept in its own words, and naming conventions are separated later.

use std::sync::LazyLock;

use regex::Regex;
use serde::Deserialize;

use super::clause::{Finding, Voice, breaks_off, capitalised};
use super::kinds::kinds_in;
use super::language;
use super::sentence::{MAX_SENTENCE_CHARS, fold};
use super::standing::{is_announcement, is_open, order_claim};
use super::updates::joined;
use crate::memory::Audience;
use crate::text::pattern_set::AtStart;
use crate::text::tokens::is_listed;
use transcripts::Message;

/// Confidence in an order that somebody asked for, and in a bare order.
const ASKED: f64 = 0.8;
const BARE: f64 = 0.7;
/// Maximum number of words that are removed before an order.
const MAX_FRAMES: usize = 12;

/// The words of `conventions.toml`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Words {
    requests: Vec<AtStart>,
    rules: Vec<AtStart>,
    leads: Vec<AtStart>,
    setting: AtStart,
    verbs: String,
    kinds: String,
    whole: String,
    reasons: Vec<String>,
    purpose: String,
    breaks: String,
}

/// The grammar of conventions, in English.
struct Grammar {
    words: Words,
    /// All things of a kind: "your function arguments", "every class".
    scope: Regex,
    reason: Regex,
    purpose: Regex,
    breaks: Regex,
    /// Words that refer to things which were named before.
    referring: Regex,
    /// A name in quotation marks, with the noun after it.
    quoted: Regex,
    /// An order about something that was named before: "add this decorator".
    pointed: Regex,
}

static ENGLISH: LazyLock<Grammar> = LazyLock::new(|| {
    let words: Words = toml::from_str(include_str!("rules/conventions.toml")).expect("the words are constants");
    let pattern = |text: &str| Regex::new(&format!("(?i){text}")).expect("the pattern is constant");
    let kinds: Vec<String> = words.kinds.split_whitespace().map(plural_form).collect();
    let kind = format!("(?:{})(?:['’]s?)?", kinds.join("|"));
    let whole = words.whole.split_whitespace().collect::<Vec<_>>().join("|");
    let scope = format!(
        r"\b(?:(?P<whole>{whole})(?: of)?(?: (?:the|our|your))? )?(?:(?:the|new|python|public|private|custom|single) )*(?:{kind}(?:,? (?:and|or)(?: {whole})?|,)? )*(?P<kind>{kind}|code)\b"
    );
    Grammar {
        scope: pattern(&scope),
        reason: pattern(&words.reasons.join("|")),
        purpose: pattern(&words.purpose),
        breaks: pattern(&words.breaks),
        referring: pattern(r"\b(?:them|their names?|these|those|each one|the (?:[a-z]+ )?names?)\b"),
        quoted: pattern(r#"['"`‘“]@?[^'"`’”\s]+['"`’”](?: (?:decorator|module|string|prefix|suffix))?"#),
        pointed: pattern(
            r"^(?P<verb>\w+) (?:(?:this|that)(?: same)?(?: (?:decorator|module|string|prefix|suffix))?|the (?:same )?(?:decorator|module|string|prefix|suffix)|it) ",
        ),
        words,
    }
});

/// Returns a pattern of a noun and its plural.
fn plural_form(noun: &str) -> String {
    match noun.strip_suffix('y') {
        Some(stem) => format!("{stem}(?:y|ies)"),
        None if noun.ends_with(['s', 'h']) => format!("{noun}(?:es)?"),
        None => format!("{noun}s?"),
    }
}

/// Returns the base form of `word` if it is a verb of such an order, or its gerund.
fn verb_of<'g>(grammar: &'g Grammar, word: &str) -> Option<&'g str> {
    let word = word.to_lowercase();
    grammar.words.verbs.split_whitespace().find(|verb| {
        let Some(stem) = word.strip_suffix("ing") else { return word == **verb };
        let doubled = |verb: &str| verb.chars().last().is_some_and(|last| stem == format!("{verb}{last}"));
        stem == *verb || verb.strip_suffix('e') == Some(stem) || doubled(verb)
    })
}

/// An order without the words around it.
#[derive(Debug, Default, PartialEq, Eq)]
struct Order<'t> {
    /// What it applies to, if this is said before the order.
    topic: Option<&'t str>,
    text: String,
    /// Whether the person says that it is an order.
    is_asked: bool,
    /// Whether the person says that it is a rule or a habit.
    is_rule: bool,
}

/// Returns the convention that `said`, a sentence of `message`, states, and the words that state it. `before` is the
/// sentence before it.
pub(super) fn sentence<'t>(
    message: &'t Message,
    before: Option<&'t str>,
    said: &'t str,
    voice: &Voice<'_>,
) -> Option<(Finding, &'t str)> {
    let text = with_marks_outside(&fold(said));
    let grammar = &*ENGLISH;
    if text.chars().count() > MAX_SENTENCE_CHARS || !grammar.mentions_code(&text) {
        return None;
    }
    // A short order has too few words for its language to be detected.
    let rules = language::of(&text).or_else(|| language::of(&message.text));
    let rules = rules.filter(|rules| !rules.is_chinese() && !rules.forbids(&text))?;
    let lead = |text: &str| rules.lead_in.find(text).map_or(0, |found| found.end());
    let mut starts = std::iter::once(0).chain(grammar.breaks.find_iter(&text).map(|found| found.end()));
    let mut order = starts.find_map(|start| grammar.order(&text[start..], lead))?;
    let earlier = before.map(|before| with_marks_outside(&fold(before)));
    let is_named_before = earlier.as_deref().is_some_and(|earlier| grammar.name_object(&mut order, earlier));
    let (text, refers) = grammar.with_scope(&order, earlier.as_deref())?;
    // An assistant is asked for many things that concern only the task at hand.
    let is_meant = if voice.speaker.is_some() { order.is_asked || order.is_rule } else { order.is_rule };
    // "Even if you do not use it" leaves no case open.
    let is_always = text.starts_with("Import ") && text.contains(" even ");
    let is_general =
        voice.speaker.is_some() && (order.topic.is_some() || refers || is_always || grammar.is_whole(&text));
    if !(is_meant || is_general) || is_announcement(&text) || is_incomplete(&order.text, &text) {
        return None;
    }
    let confidence = if order.is_asked || order.is_rule { ASKED } else { BARE };
    let quote = if refers || is_named_before { joined(&message.text, before?, said)? } else { said };
    let claim = order_claim(rules, &text, voice, confidence);
    Some((Finding { claim, audience: Audience::Project, since: None }, quote))
}

/// Whether the order `own`, which became `whole` with the things that it applies to, lacks a part.
fn is_incomplete(own: &str, whole: &str) -> bool {
    breaks_off(own) || is_open(own) && !whole.starts_with("For ")
}

/// Returns the attribute that `order` gives a value, such as `project.code.method.docstring.usage`, and the value;
/// `None` if the order is about something else. A later order about the same thing then replaces it or repeats it.
pub(super) fn attribute_of(order: &str) -> Option<(String, &'static str)> {
    /// Words that do not distinguish one thing from another.
    const PLAIN: &str = "a an the your our all some any clear concise detailed proper appropriate consistent consistently \
        descriptive comprehensive meaningful relevant necessary single always also more";
    let grammar = &*ENGLISH;
    let lower = order.to_lowercase();
    let (topic, rest) = match lower.strip_prefix("for ").and_then(|rest| rest.split_once(", ")) {
        Some((topic, rest)) => (Some(topic), rest),
        None => (None, lower.as_str()),
    };
    let negations = ["never ", "do not ", "don't ", "stop ", "avoid "];
    let denied = negations.iter().find_map(|word| rest.strip_prefix(word));
    let rest = denied.unwrap_or(rest);
    let rest = rest.strip_prefix("always ").unwrap_or(rest);
    let (verb, tail) = rest.split_once(' ')?;
    let verb = verb_of(grammar, verb)?;
    let value = if denied.is_some() { "avoided" } else { "required" };
    let slug = |words: &str| -> String {
        let words = words.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty());
        let words: Vec<&str> =
            words.filter(|word| !is_listed(PLAIN, word)).map(|word| word.trim_end_matches('s')).collect();
        words[words.len().saturating_sub(2)..].join("_")
    };
    let quoted = grammar.quoted.find(tail);
    let name = quoted.map(|quoted| {
        let inner = quoted.as_str().trim_matches(|c: char| matches!(c, '\'' | '"' | '`' | '‘' | '“' | '’' | '”'));
        inner.split(['\'', '"', '`', '’', '”']).next().unwrap_or_default().to_owned()
    });
    if verb == "import" {
        return Some((format!("project.code.import.{}.usage", slug(&name?)), value));
    }
    let scope = grammar.scope.captures_iter(tail).filter(is_all).find(|found| {
        let before = found.get(0).map_or("", |whole| tail[..whole.start()].trim_end());
        quoted.is_none_or(|quoted| quoted.end() <= before.len())
            && before.rsplit(' ').next().is_some_and(|last| is_listed("in to for with within into on of across", last))
    });
    let whole = scope.as_ref().and_then(|scope| scope.get(0));
    let object = whole.map_or(tail, |whole| &tail[..whole.start()]);
    let object = object.trim_end().rsplit_once(' ').filter(|_| whole.is_some()).map_or(object, |(object, _)| object);
    let things = whole.map(|whole| whole.as_str()).or(topic)?;
    let mut kinds = kinds_in(things);
    if kinds.is_empty() && things.ends_with("code") {
        kinds.push("code");
    }
    let thing = name.map_or_else(|| slug(object), |name| slug(&name));
    let is_brief = quoted.is_some() || object.split(' ').count() <= 6;
    let kinds = kinds.join(" ").replace(' ', "_");
    (is_brief && !thing.is_empty() && !kinds.is_empty()).then(|| (format!("project.code.{kinds}.{thing}.usage"), value))
}

impl Grammar {
    fn mentions_code(&self, text: &str) -> bool {
        self.scope.is_match(text) || self.referring.is_match(text) || text.contains("import")
    }

    /// Returns the order in `text`, without the words before it and the reason after it.
    fn order<'t>(&self, text: &'t str, lead: impl Fn(&str) -> usize) -> Option<Order<'t>> {
        let mut order = Order::default();
        let mut rest = text;
        for _ in 0..MAX_FRAMES {
            // "Remember" and "now" are leads, but "remember to" also says that it is an order.
            if let Some(end) = self.words.requests.iter().find_map(|frame| frame.find(rest)).map(|found| found.end()) {
                order.is_asked = true;
                rest = &rest[end..];
            } else if let Some(frame) = self.words.rules.iter().find_map(|frame| frame.captures(rest)) {
                order.is_rule = true;
                rest = &rest[frame.name("gerund").map_or(frame[0].len(), |gerund| gerund.start())..];
            } else if let Some(found) = self.words.leads.iter().find_map(|frame| frame.find(rest)) {
                rest = &rest[found.end()..];
            } else if self.begins(rest) {
                break;
            } else if let Some(found) = self.words.setting.find(rest) {
                order.topic = self.topic(found.as_str()).or(order.topic);
                rest = &rest[found.end()..];
            } else {
                let end = lead(rest);
                if end == 0 {
                    break;
                }
                rest = &rest[end..];
            }
        }
        let before = text[..text.len() - rest.len()].trim_end().to_lowercase();
        let rest = rest.trim().trim_matches(['"', '“', '”']);
        let (first, tail) = rest.split_once(' ')?;
        let is_meant = order.is_asked || order.is_rule;
        // "Documenting your code is crucial" is not an order.
        let is_gerund = first.ends_with("ing");
        order.text =
            if let Some(verb) = verb_of(self, first).filter(|_| !is_gerund || is_meant && !Self::is_praise(tail)) {
                format!("{verb} {tail}")
            } else if self.is_rule_of_all(rest, is_meant) {
                order.is_asked = true;
                rest.to_owned()
            } else if is_meant && [" of", "adopt"].iter().any(|end| before.ends_with(end)) && self.is_used(rest) {
                format!("use {rest}")
            } else {
                return None;
            };
        let end = self.without_reason(&order.text).len();
        order.text.truncate(end);
        Some(order)
    }

    /// Whether `rest` begins with a verb of an order.
    fn begins(&self, rest: &str) -> bool {
        rest.split_once(' ').is_some_and(|(first, _)| verb_of(self, first).is_some())
    }

    /// Whether `tail` says what something is good for.
    fn is_praise(tail: &str) -> bool {
        const PRAISE: &str = "is are will can helps makes ensures allows improves keeps";
        let words = tail.split(' ').skip(1).take_while(|word| !word.ends_with([',', ';']));
        words.into_iter().any(|word| is_listed(PRAISE, word))
    }

    /// Whether `rest` says what all things of a kind must have or be, as in "all class names must end with …". If the
    /// person has already said that it is an order, "must" may be missing.
    fn is_rule_of_all(&self, rest: &str, is_asked: bool) -> bool {
        static STATES: LazyLock<Regex> = LazyLock::new(|| {
            Regex::new(concat!(
                r"(?i)^(?: (?:names?|you (?:write|define|create)))*(?P<must>(?: (?:should|must|need to|have to|shall|always|now|also))*)",
                r" (?:start|begin|end|finish|has|have|use|uses|contain|contains|include|includes|be)\b"
            ))
            .expect("the pattern is constant")
        });
        let Some(found) = self.scope.captures(rest).filter(is_all) else { return false };
        let stated =
            found.get(0).filter(|whole| whole.start() == 0).and_then(|whole| STATES.captures(&rest[whole.end()..]));
        let must = |stated: &regex::Captures<'_>| {
            ["should", "must", "to", "shall"].iter().any(|word| stated["must"].contains(word))
        };
        stated.is_some_and(|stated| is_asked || must(&stated))
    }

    /// Replaces "this decorator" in an order with the last name in the sentence `before`; returns whether it did so.
    fn name_object(&self, order: &mut Order<'_>, before: &str) -> bool {
        let Some(pointed) = self.pointed.captures(&order.text).filter(|_| !self.quoted.is_match(&order.text)) else {
            return false;
        };
        let Some(name) = self.quoted.find_iter(before).last() else { return false };
        order.text = format!("{} the {} {}", &pointed["verb"], name.as_str(), &order.text[pointed[0].len()..]);
        true
    }

    /// Whether `rest` names something that is used in all things of a kind: "docstrings in your methods".
    fn is_used(&self, rest: &str) -> bool {
        let place = |found: regex::Match<'_>| {
            let before = rest[..found.start()].trim_end();
            let thing = [" in", " for", " within", " to"].iter().find_map(|word| before.strip_suffix(word));
            // "Consistency in our code" names nothing that is used.
            let is_named = |thing: &str| thing.ends_with('s') || self.quoted.is_match(thing) || thing.contains("_case");
            thing.is_some_and(|thing| {
                thing.split(' ').count() <= 4 && !thing.contains(',') && (is_named(thing) || is_case(thing))
            })
        };
        self.scope.find_iter(rest).any(place)
    }

    /// Returns the things in `text` that an order may apply to.
    fn topic<'t>(&self, text: &'t str) -> Option<&'t str> {
        self.scope.captures_iter(text).filter(|found| is_all(found)).last().and_then(|found| {
            let end = found.get(0)?.end();
            let names = text[end..].split(|c: char| !c.is_alphanumeric()).nth(1);
            let with_names =
                names.filter(|word| matches!(*word, "name" | "names")).map_or(end, |word| end + 1 + word.len());
            text.get(found.get(0)?.start()..with_names)
        })
    }

    /// Whether `text` names all things of a kind by a word such as "every".
    fn is_whole(&self, text: &str) -> bool {
        let is_kind = |found: &regex::Captures<'_>| &found["kind"] != "code";
        self.scope.captures_iter(text).any(|found| found.name("whole").is_some() && is_all(&found) && is_kind(&found))
    }

    /// Whether `text` says that the order applies to all things of a kind: they follow a preposition, or a verb that is
    /// about such things.
    fn applies(&self, text: &str) -> bool {
        const BEFORE: &str = "in to for with within into on of across throughout that start begin end finish prefix suffix \
            name naming annotate comment document decorate wrap mark";
        self.scope.captures_iter(text).filter(is_all).any(|found| {
            let start = found.get(0).map_or(0, |whole| whole.start());
            let last = text[..start].trim_end().rsplit(' ').next().unwrap_or_default().to_lowercase();
            last.is_empty() || is_listed(BEFORE, &last)
        })
    }

    /// Returns an order with the things that it applies to, and whether they are named only in the sentence `before`.
    fn with_scope(&self, order: &Order<'_>, before: Option<&str>) -> Option<(String, bool)> {
        let text = &order.text;
        let own = self.applies(text);
        let refers = self.referring.is_match(text);
        // "Include them in your functions" does not say what is included.
        let mut words = text.split(' ');
        let is_name_verb =
            words.next().is_some_and(|verb| is_listed("start begin end finish prefix suffix name", verb));
        let is_open = words
            .next()
            .is_some_and(|object| is_listed("it them this that these those both", object.trim_end_matches(',')));
        if is_open && !is_name_verb {
            return None;
        }
        let placed = |topic: &str| format!("For {topic}, {text}");
        if let Some(topic) = order.topic.filter(|topic| (refers || !own) && !(is_name_verb && topic.ends_with("code")))
        {
            return Some((capitalised(&placed(&without_owner(topic))), false));
        }
        if own {
            return Some((capitalised(text), false));
        }
        // An import stands in every file.
        if text.starts_with("import ") && self.quoted.is_match(text) {
            return Some((capitalised(text), false));
        }
        let topic = refers.then(|| before.and_then(|before| self.topic(before))).flatten()?;
        Some((capitalised(&placed(&without_owner(topic))), true))
    }

    /// Returns `text` without the reason for the order, which follows what the order applies to.
    fn without_reason<'t>(&self, text: &'t str) -> &'t str {
        let scope = self.scope.captures_iter(text).find(is_all);
        let from = scope.and_then(|found| found.get(0)).map_or(0, |found| found.end());
        let quoted = self.quoted.find(text).map_or(0, |found| found.end());
        let from = from.max(quoted);
        let rest = &text[from..];
        let is_purpose = |verb: &str| !is_listed(&self.words.whole, verb) && !is_listed("the a an be", verb);
        let purposes = self.purpose.captures_iter(rest).filter(|found| is_purpose(&found["verb"]));
        let purpose = purposes.filter_map(|found| Some(found.get(0)?.start()));
        let end = self.reason.find_iter(rest).map(|found| found.start()).chain(purpose).min().unwrap_or(rest.len());
        let kept = text[..from + end].trim_end_matches([',', ' ', '.', '!', '"', '”']);
        if end == rest.len() {
            return kept;
        }
        // "And don't hesitate to ask" is cut in the middle.
        let broken = kept[from.min(kept.len())..].rfind(" and ").filter(|at| kept[from + at..].split(' ').count() <= 4);
        kept[..broken.map_or(kept.len(), |at| from + at)].trim_end_matches(',').trim_end_matches(" and")
    }
}

/// Whether a match of the scope means all things of its kind, rather than one of them.
fn is_all(found: &regex::Captures<'_>) -> bool {
    let kind = found["kind"].to_lowercase();
    if found[0].to_lowercase().starts_with("the ") {
        return false;
    }
    let is_plural = kind.ends_with('s') && !kind.ends_with("ss") && !kind.ends_with("'s");
    let whole = found.name("whole").map(|whole| whole.as_str().to_lowercase());
    match whole.as_deref() {
        Some("each" | "every" | "any" | "all") => true,
        Some(_) => is_plural || kind == "code",
        None => is_plural,
    }
}

/// Whether `thing` is a case of letters, such as `CamelCase`.
fn is_case(thing: &str) -> bool {
    let lower = thing.to_lowercase();
    ["camelcase", "camel case", "pascalcase", "uppercase", "upper case", "lowercase", "snake case"]
        .iter()
        .any(|case| lower.contains(case))
}

fn without_owner(topic: &str) -> String {
    let lower = topic.to_lowercase();
    let owner = ["your ", "our ", "the "].iter().find(|owner| lower.starts_with(**owner));
    topic[owner.map_or(0, |owner| owner.len())..].to_owned()
}

/// Returns `text` with commas and full stops after closing quotation marks: `'_x,'` becomes `'_x',`.
fn with_marks_outside(text: &str) -> String {
    static INSIDE: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r#"(?P<mark>[.,])(?P<quote>['"’”])(?P<after>\s|$)"#).expect("the pattern is constant")
    });
    INSIDE.replace_all(text, "${quote}${mark}${after}").into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the order that the last sentence of `text` gives.
    fn order_in(text: &str, speaker: Option<&str>) -> Option<String> {
        let message = Message { speaker: speaker.map(str::to_owned), ..Message::user(text) };
        let said = crate::extract::offline::own_sentences(&message.text);
        let (last, before) = said.split_last()?;
        let (finding, quote) = sentence(&message, before.last().copied(), last, &Voice::of(&message))?;
        assert!(message.text.contains(quote));
        let crate::memory::Structured::Procedure(procedure) = finding.claim.structured? else { panic!("an order") };
        Some(procedure.description)
    }

    #[test]
    fn orders_about_all_things_of_a_kind_are_found_in_any_frame() {
        for (text, expected) in [
            ("Another good practice is to always put examples in your docstrings.", None),
            (
                "Additionally, I want you to get into the habit of adding examples to all your endpoints.",
                Some("Add examples to all your endpoints"),
            ),
            (
                "It's important that you wrap queries in every migration to avoid surprises.",
                Some("Wrap queries in every migration"),
            ),
            (
                "One of the rules we follow in our team is to use type aliases in structs.",
                Some("Use type aliases in structs"),
            ),
            (
                "I want to emphasize the importance of using snake_case for table names.",
                Some("Use snake_case for table names"),
            ),
            ("Now, for column names, please end them with '_c'.", Some("For column names, end them with '_c'")),
            (
                "We need a rule for your route names. Always start them with 'r_'.",
                Some("For route names, always start them with 'r_'"),
            ),
            (
                "We use the `@traced` decorator here. Add this decorator to all your services.",
                Some("Add the `@traced` decorator to all your services"),
            ),
            ("Make sure that every interface has a comment.", Some("Every interface has a comment")),
            // Nothing is ordered, or it is not said what.
            ("Documenting your functions is crucial for the team.", None),
            ("I want you to follow a specific naming convention for your functions.", None),
            ("Include them liberally in your functions.", None),
            ("The importance of consistency in our code is obvious.", None),
            ("Should I add comments to all functions?", None),
            ("Add a comment to the function.", None),
        ] {
            let expected = expected.map(|order: &str| order.replace("always ", ""));
            assert_eq!(order_in(text, Some("Ana")), expected, "{text}");
        }
    }

    #[test]
    fn an_assistant_is_given_a_convention_only_in_words_that_last() {
        let asked = "I want you to add comments to all functions.";
        assert_eq!(order_in(asked, None), None);
        assert!(order_in(asked, Some("Ana")).is_some());
        let rule = "Get into the habit of adding comments to all functions.";
        assert_eq!(order_in(rule, None).as_deref(), Some("Add comments to all functions"));
    }

    #[test]
    fn an_order_is_the_value_of_the_thing_it_is_about() {
        for (order, expected) in [
            ("Add clear comments to all functions", Some(("project.code.function.comment.usage", "required"))),
            ("Use comments in your functions", Some(("project.code.function.comment.usage", "required"))),
            ("Never use comments in functions", Some(("project.code.function.comment.usage", "avoided"))),
            ("For all classes, add the '@timed' decorator", Some(("project.code.class.timed.usage", "required"))),
            ("Import the 'zlib' module", Some(("project.code.import.zlib.usage", "required"))),
            ("Add the release notes", None),
            ("Run the tests before every commit", None),
        ] {
            let found = attribute_of(order);
            assert_eq!(found.as_ref().map(|(key, value)| (key.as_str(), *value)), expected, "{order}");
        }
    }
}
