//! Standing instructions: orders that apply from now on, or to all things of a kind.

use std::sync::LazyLock;

use regex::Regex;

use super::clause::{Finding, Hit, Voice, capitalised, claim, fill, title, who, words};
use super::language::{self, LanguageRules};
use super::product;
use crate::memory::{Audience, Claim, MemoryType, Procedure, Structured};
use crate::text::tokens::is_listed;

/// Returns the permanent instruction that `hit` gives, or `None` if it is not an order or depends on an earlier
/// sentence.
pub(super) fn standing(hit: &Hit<'_>, voice: &Voice<'_>) -> Option<Finding> {
    let language = hit.language;
    let done = hit.found.name("do")?;
    let clause = without_chatter(hit.clause, done.start());
    let step = clause.get(done.start()..done.end().min(clause.len()))?.trim();
    let verb = hit.found.name("verb").map_or("", |verb| verb.as_str());
    let about_project = language.about_project.is_match(hit.clause) || !product::named(hit.clause).is_empty();
    // "When a job fails twice, send it to …" itself says what "it" is.
    let case = hit.found.name("when").map_or("", |when| when.as_str()).to_lowercase();
    let names_one = [" a ", " an ", " any "].iter().any(|article| case.contains(article)) && step.contains(" it ");
    // "When naming variables, start them with …" says what "them" are.
    let names_many = case.ends_with('s') && [" them ", " their ", " these "].iter().any(|word| step.contains(word));
    let carried = names_one || names_many;
    let ordered = match (verb, is_rule(step)) {
        ("", true) => true,
        ("", false) => is_order(step),
        (verb, _) => is_listed(ORDERS, &verb.to_lowercase()) && !step.to_lowercase().contains("set to"),
    };
    if !ordered || (voice.speaker.is_some() && !about_project) || (!carried && points_away(language, step)) {
        return None;
    }
    let phrases = &language.phrases;
    let order = without_courtesy(clause);
    let declared = step.to_lowercase().starts_with("we ");
    let content = if declared {
        words(language, clause, voice)
    } else {
        // The order is placed in double quotes, so double quotes inside it become single ones.
        fill(&phrases.standing, &[("{who}", &who(language, voice)), ("{x}", &order.replace('"', "'"))])
    };
    let away = hit.found.name("when").is_some_and(|when| points_away(language, when.as_str()));
    if away || is_announcement(&order) {
        return None;
    }
    let when = hit.found.name("when").map(|when| when.as_str().trim().to_owned());
    let mut claim = claim_of(language, content, &order, voice, hit.confidence);
    if let Some(Structured::Procedure(procedure)) = &mut claim.structured {
        procedure.steps = vec![capitalised(step)];
        procedure.triggers = when.into_iter().collect();
        if !procedure.triggers.is_empty() {
            "workflow".clone_into(&mut claim.category);
        }
    }
    // An instruction about work belongs to the project in which it was given. An instruction about how to talk to the
    // user belongs to the user.
    let audience = if !declared && language.is_manner(step) { Audience::User } else { Audience::Project };
    Some(Finding { claim, audience, since: None })
}

/// Returns `clause` without a leading "please", starting with a capital.
fn without_courtesy(clause: &str) -> String {
    // `get` is used, since the seventh byte may be inside a character.
    let polite = clause.get(..7).is_some_and(|start| start.eq_ignore_ascii_case("please "));
    capitalised(clause[if polite { 7 } else { 0 }..].trim_start_matches('请'))
}

/// Returns `clause` without remarks about the instruction, such as "it's much faster on my laptop".
fn without_chatter(clause: &str, from: usize) -> &str {
    static CHATTER: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(concat!(
            r"(?i)(?:[,:;]|\s[-–—])\s(?:it's|it is|that's|that is|this is|he's|he is|she's|she is|they're|they are|they|because|since|as it|i|i'm|i've|",
            r"i'd|my|we|we've|we're|thanks|thank you|please[,.:]?$|ok\??$|okay|so that's|otherwise it)\b|，(?:谢谢|因为|这样|不然)",
        ))
        .expect("the pattern is a constant")
    });
    let end = CHATTER.find_iter(clause).map(|found| found.start()).find(|&at| {
        let kept = clause.get(from..at).unwrap_or("");
        kept.split(' ').count() >= 2 || kept.chars().filter(|c| !c.is_ascii()).count() >= 4
    });
    clause[..end.unwrap_or(clause.len())].trim_end()
}

/// Whether `step` states a rule for all things of a kind, as "PRs need two approvals" does.
fn is_rule(step: &str) -> bool {
    const VERBS: &str =
        " must | should | need | needs | have to | has to | may | can | goes | go | always | never | gets ";
    let lower = step.to_lowercase();
    // "Any code that needs adjusting" only describes the code.
    let is_described =
        |verb: &str| [" that", " which", " who"].iter().any(|word| lower.contains(&format!("{word}{verb}")));
    VERBS.split('|').any(|verb| lower.contains(verb) && !is_described(verb))
        // "In the future we can also do that" is a possibility.
        && !["you ", "it ", "the ", "this ", "though ", "we can ", "we may ", "i "].iter().any(|start| lower.starts_with(start))
}

/// Verbs that begin an order. "Always happy to", "never mind" and "by default, it returns" are not orders.
const ORDERS: &str = include_str!("rules/orders.txt");

/// Whether `step` is phrased as an order.
pub(super) fn is_order(step: &str) -> bool {
    const SOFT: &str = "please always never just only also you should must need have to don't ever not sure";
    // There is no list of verbs for languages that do not use the full stop, such as Chinese, so the match of the
    // pattern is sufficient.
    if !step.is_ascii() && language::of(step).is_some_and(LanguageRules::is_chinese) {
        return true;
    }
    let words = step.split(' ').map(|word| word.trim_matches([',', ':']).to_lowercase());
    let mut words = words.skip_while(|word| is_listed(SOFT, word) || word == "do" || word == "make");
    words.next().is_some_and(|word| is_listed(ORDERS, &word) || word == "no")
}

/// Whether an instruction refers to something outside it, as in "always do it like this".
pub(super) fn points_away(language: &LanguageRules, step: &str) -> bool {
    if is_open(step) {
        return true;
    }
    let Some(found) = language.pointing(step) else { return false };
    let last = step[found.end()..].trim_matches(['.', '!', ' ']).is_empty();
    let early = step[..found.start()].split(' ').count() <= 3;
    let lower = found.as_str().to_lowercase();
    let far = ["this", "these", "those", "that's", "here", "above", "below", "following"].contains(&lower.as_str());
    let own = ["you", "your", "you're", "yours"].contains(&lower.as_str());
    !own && (early || far || (last && lower == "that"))
}

/// Whether the object of an instruction is only a word for what was named before, as in "include a digit in them" and
/// "end each name with `_n`".
pub(super) fn is_open(step: &str) -> bool {
    static OPEN: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(concat!(
            r"(?i)\b(?:in|to|with|for|of|on|within|into|at|by|before|after)(?: all of)? (?:them|it|one|ones|(?:the|their|its) names?)[.!]?$",
            r"|^\w+ (?:each|every|the) names?\b|\b(?:necessary|relevant|appropriate|same|other|right) ones\b",
        ))
        .expect("the pattern is a constant")
    });
    OPEN.is_match(step)
}

/// Returns the claim of the standing instruction `order`.
pub(super) fn order_claim(language: &LanguageRules, order: &str, voice: &Voice<'_>, confidence: f64) -> Claim {
    // The order is placed in double quotes, so double quotes inside it become single ones.
    let words = [("{who}", who(language, voice)), ("{x}", order.replace('"', "'"))];
    let content = fill(&language.phrases.standing, &words.each_ref().map(|(gap, filling)| (*gap, filling.as_str())));
    claim_of(language, content, order, voice, confidence)
}

fn claim_of(language: &LanguageRules, content: String, order: &str, voice: &Voice<'_>, confidence: f64) -> Claim {
    let mut claim = claim(MemoryType::Procedural, "convention", content, language, voice);
    claim.title = title(order, language, voice);
    claim.importance = 0.8;
    claim.confidence = confidence;
    claim.structured = Some(Structured::Procedure(Procedure {
        name: claim.title.clone(),
        description: order.to_owned(),
        steps: vec![order.to_owned()],
        triggers: Vec::new(),
        priority: None,
    }));
    claim
}

/// Whether `text` only announces a convention, without saying which: "follow a specific naming convention".
pub(super) fn is_announcement(text: &str) -> bool {
    static ANNOUNCED: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(concat!(
            r"(?i)\b(?:a|an|some) (?:(?:very|slightly|more) )?(?:specific|certain|particular|different|new|consistent) (?:[\w-]+ ){0,3}?(?:conventions?|rules?|standards?|guidelines?|practices?|patterns?|formats?|styles?|strings?|prefix(?:es)?|suffix(?:es)?|approach)\b",
            r"|\b(?:couple|few|number|set) of (?:specific|certain|particular)\b|\b(?:specific|certain|particular) (?:[\w-]+ )?(?:decorators?|modules?|practices?)\b|\bnaming conventions?\b",
            r"|\b(?:clear|concise|clean|consistent|readable|proper|thorough)(?:,? (?:and )?\w+)? (?:documentation|communication|code|manner|approach|use)\b",
            r"|\b(?:updat|chang|adjust|modify|revis|standardi[sz])\w* (?:[\w'’-]+ ){0,4}?(?:naming|conventions?|guidelines?|standards?)\b",
        ))
        .expect("the pattern is a constant")
    });
    static PARTICULAR: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r#"['"`‘“][^'"`’”\s]+['"`’”]|\d|:\s|\w_|_\w|(?i:\b(?:camel|snake|pascal|kebab|upper|lower)[ _-]?case)|\s\p{Lu}[\w.+-]*\p{Lu}"#)
            .expect("the pattern is a constant")
    });
    ANNOUNCED.is_match(text) && !PARTICULAR.is_match(text)
}
