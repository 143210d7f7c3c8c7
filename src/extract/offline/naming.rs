//! Naming conventions within a standing instruction. Each convention is the value of an attribute, so that a later
//! convention replaces it.
//!
//! "From now on, start variable names with `m_` and end function names with `_x`" states two conventions. Each
//! convention is stored separately, in words that do not depend on the original sentence, under a key such as
//! `project.naming.variable.prefix`.

use std::sync::LazyLock;

use regex::{Captures, Regex};

use super::clause::{Finding, capitalised};
use super::convention::attribute_of;
use super::kinds::{KINDS, kinds_in};
use crate::memory::Structured;

/// A naming convention.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Convention {
    /// Attribute of the convention.
    key: String,
    /// The value of the attribute.
    value: String,
    /// The convention as an order.
    order: String,
}

const VALUE: &str = r#"(?:the |a |an )?(?:lower-?case |upper-?case )?(?:prefix |suffix |letters? |string |characters? )?(?:['"`‘“](?P<quoted>[^'"`’”\s]{1,20})['"`’”]|(?P<plain>_[A-Za-z0-9]{1,10}|[A-Za-z0-9]{1,10}_))"#;
const CASE: &str = r"(?P<case>camel ?case|pascal ?case|snake[ _-]?case|kebab[ -]?case|(?:all )?(?:uppercase|upper case|capital letters|lowercase|lower case)(?: letters)?)";

struct Forms {
    kind: Regex,
    verb: Regex,
    affix: Regex,
    rule: Regex,
    backwards: Regex,
    /// "… and function names with", where the verb is earlier in the sentence.
    carried: Regex,
    case: Regex,
    case_of: Regex,
    /// "For class names, use …", where the kind is earlier in the sentence.
    case_backwards: Regex,
    /// "Name methods with the prefix …", "use … as the prefix for methods".
    used: Regex,
}

static FORMS: LazyLock<Forms> = LazyLock::new(|| {
    let kinds: Vec<&str> = KINDS.iter().map(|(_, pattern)| *pattern).collect();
    let one = format!(
        r"(?:(?:all|any|every|each|your|our|the|of|these|those|their|new|python) )*(?:{})(?:['’]s?)?(?: identifiers?| names?)?",
        kinds.join("|")
    );
    let of = format!(r"(?P<kinds>{one}(?:(?:,| and|, and) {one})*)");
    let pattern =
        |text: &str| Regex::new(&format!("(?i){text}")).expect("the pattern is constant and a test compiles it");
    Forms {
        kind: pattern(&format!(r"\b(?:{})\b", kinds.join("|"))),
        verb: pattern(r"\b(?:start|begin|prefix|end|finish|suffix)"),
        affix: pattern(&format!(
            r"\b(?P<verb>start|begin|prefix|end|finish|suffix)(?:ing)? {of}(?: in [\w ]+?)?,? (?:with|in|by) {VALUE}"
        )),
        rule: pattern(&format!(
            r"\b{of} (?:(?:should|must|need to|have to|has to|shall|to|always|now|also|all) )*(?P<verb>start|begin|end|finish)s? (?:with|in) {VALUE}"
        )),
        backwards: pattern(&format!(
            r"\b(?P<verb>start|begin|prefix|end|finish|suffix)(?:ing)? (?:(?:them|it|the|their|its|each|your|all|these|names?|identifiers?|argument|method|function|variable|attribute|class) )*(?:off )?(?:with|in|by|using) {VALUE}"
        )),
        carried: pattern(&format!(r"(?:,|,? and) {of} (?:with|in) {VALUE}")),
        case: pattern(&format!(
            r"\buse (?:the )?{CASE}(?: naming)?(?: (?:convention|format|style|notation))? (?:for|in|when naming) {of}"
        )),
        case_backwards: pattern(&format!(r"\b(?:use|in) (?:the )?{CASE}")),
        used: pattern(&format!(
            r#"\b(?:use|add|apply|(?:name|naming) (?:{of}|them) (?:with|using)) (?:the |a )?(?:(?P<before>prefix|suffix) )?['"`‘“](?P<quoted>[^'"`’”\s]{{1,20}})['"`’”](?: (?:as )?(?:the |a |your )?(?P<after>prefix|suffix))?(?: (?:for|to|in) {})?"#,
            of.replace("?P<kinds>", "?P<whose>")
        )),
        case_of: pattern(&format!(r"\b{of} (?:(?:should|must|need to|have to|always|be|in|use|are|written) )+{CASE}")),
    }
});

/// Returns the conventions in `order`, in the order of the text.
fn conventions(order: &str) -> Vec<Convention> {
    let forms = &*FORMS;
    let mut found: Vec<(usize, Convention)> = Vec::new();
    let mut add = |hit: &Captures<'_>, kinds: &str, stated: Stated<'_>| {
        let at = hit.get(0).map_or(0, |whole| whole.start());
        for kind in kinds_in(kinds) {
            let Some(one) = convention(hit, kind, stated) else { continue };
            if !found.iter().any(|(_, other)| other.key == one.key) {
                found.push((at, one));
            }
        }
    };
    for form in [&forms.affix, &forms.rule] {
        for hit in form.captures_iter(order).filter(|hit| !refers_back(order, hit)) {
            add(&hit, &hit["kinds"], Stated::Affix(&hit["verb"]));
        }
    }
    for form in [&forms.case, &forms.case_of] {
        form.captures_iter(order).for_each(|hit| add(&hit, &hit["kinds"], Stated::Case));
    }
    let last_before = |hit: &Captures<'_>| {
        let before = &order[..hit.get(0).map_or(0, |whole| whole.start())];
        forms.kind.find_iter(before).last().map(|kind| kind.as_str())
    };
    for hit in forms.case_backwards.captures_iter(order) {
        if let Some(last) = last_before(&hit) {
            add(&hit, last, Stated::Case);
        }
    }
    for hit in forms.used.captures_iter(order) {
        let kinds = hit.name("whose").or_else(|| hit.name("kinds")).map(|kinds| kinds.as_str());
        let side = hit.name("before").or_else(|| hit.name("after")).map(|side| side.as_str());
        if let Some((kinds, side)) = kinds.or_else(|| last_before(&hit)).zip(side.or_else(|| side_of(&hit["quoted"]))) {
            add(&hit, kinds, Stated::Affix(side));
        }
    }
    for hit in forms.backwards.captures_iter(order) {
        // In "When naming variables, start them with …", the last kind mentioned before the match is meant.
        if let Some(last) = last_before(&hit) {
            add(&hit, last, Stated::Affix(&hit["verb"]));
        }
    }
    for hit in forms.carried.captures_iter(order) {
        let before = &order[..hit.get(0).map_or(0, |whole| whole.start())];
        let verb = forms.verb.find_iter(before).last().map_or("", |verb| verb.as_str());
        add(&hit, &hit["kinds"], Stated::Affix(verb));
    }
    found.sort_by_key(|(at, _)| *at);
    found.into_iter().map(|(_, one)| one).collect()
}

/// Returns the side of a name on which `value` stands, as its underscore shows.
fn side_of(value: &str) -> Option<&'static str> {
    match (value.starts_with('_'), value.ends_with('_')) {
        (true, false) => Some("suffix"),
        (false, true) => Some("prefix"),
        _ => None,
    }
}

/// Whether the kind in a match is one thing that was named before: "when naming function arguments, start the variable
/// name with …".
fn refers_back(order: &str, hit: &Captures<'_>) -> bool {
    let Some(kinds) = hit.name("kinds") else { return false };
    let one = kinds.as_str().to_lowercase();
    one.starts_with("the ") && !one.ends_with('s') && FORMS.kind.is_match(&order[..kinds.start()])
}

/// Splits a finding into one finding for each naming convention, and one for its other orders.
pub(super) fn apart(finding: Finding) -> Vec<Finding> {
    let Some(Structured::Procedure(procedure)) = &finding.claim.structured else { return vec![keyed(finding)] };
    let order = procedure.description.clone();
    let found = conventions(&order);
    if found.is_empty() {
        return vec![with_attribute(finding, &order)];
    }
    let rest = besides(&order, &found);
    let others = rest.map(|rest| with_attribute(reworded(&finding, &order, &rest, None), &rest));
    let conventions = found.iter().map(|one| reworded(&finding, &order, &one.order, Some(one)));
    conventions.chain(others).collect()
}

/// Assigns the attribute of an order about what code contains.
fn with_attribute(mut finding: Finding, order: &str) -> Finding {
    if finding.claim.key.is_none()
        && let Some((key, value)) = attribute_of(order)
    {
        (finding.claim.key, finding.claim.value) = (Some(key), Some(value.to_owned()));
    }
    finding
}

/// Assigns the attribute of a convention to a statement without an attribute that states only this convention.
fn keyed(mut finding: Finding) -> Finding {
    if finding.claim.key.is_none()
        && let [one] = &conventions(&finding.claim.content)[..]
    {
        (finding.claim.key, finding.claim.value) = (Some(one.key.clone()), Some(one.value.clone()));
    }
    finding
}

/// Returns the parts of `order` that are not naming conventions.
fn besides(order: &str, found: &[Convention]) -> Option<String> {
    static PARTS: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r",?\s+and\s+(?:also )?|[,;]\s").expect("the pattern is constant and a test compiles it")
    });
    static ORDERED: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"(?i)^(?:from now on,? |going forward,? |always |please |also |you |to )*(?:use|using|add|include|import|write|keep|put|document|annotate|avoid)\b")
            .expect("the pattern is constant and a test compiles it")
    });
    let lower = |text: &str| text.to_lowercase();
    let is_stated = |part: &str| found.iter().any(|one| lower(part).contains(&lower(&one.value)));
    let parts = PARTS.split(order).map(str::trim).filter(|part| ORDERED.is_match(part) && !is_stated(part));
    let parts: Vec<&str> = parts.collect();
    (!parts.is_empty()).then(|| capitalised(&parts.join(" and ")))
}

/// Returns `finding` with the order `whole` replaced by `order`.
fn reworded(finding: &Finding, whole: &str, order: &str, convention: Option<&Convention>) -> Finding {
    let mut claim = finding.claim.clone();
    let quoted = whole.replace('"', "'");
    claim.content =
        if claim.content.contains(&quoted) { claim.content.replace(&quoted, order) } else { format!("{order}.") };
    order.clone_into(&mut claim.title);
    if let Some(Structured::Procedure(procedure)) = &mut claim.structured {
        order.clone_into(&mut procedure.name);
        order.clone_into(&mut procedure.description);
        procedure.steps = vec![order.to_owned()];
        procedure.triggers = Vec::new();
    }
    if let Some(one) = convention {
        (claim.key, claim.value) = (Some(one.key.clone()), Some(one.value.clone()));
    }
    Finding { claim, audience: finding.audience, since: finding.since }
}

/// The match of a pattern: the case of names, or the verb for how names begin or end.
#[derive(Clone, Copy)]
enum Stated<'a> {
    Case,
    Affix(&'a str),
}

fn convention(hit: &Captures<'_>, kind: &str, stated: Stated<'_>) -> Option<Convention> {
    let names = format!("{kind} names");
    let key = |aspect: &str| format!("project.naming.{}.{aspect}", kind.replace(' ', "_"));
    let verb = match stated {
        Stated::Case => {
            let case = hit.name("case")?.as_str();
            let value = case.to_lowercase().replace("letters", "").trim().to_owned();
            return Some(Convention { key: key("case"), value, order: format!("Use {case} for {names}") });
        }
        Stated::Affix(verb) => verb.to_lowercase(),
    };
    let value = hit.name("quoted").or_else(|| hit.name("plain"))?.as_str().trim_end_matches(['.', ',']).to_owned();
    let (verb, aspect) = match verb.as_str() {
        "start" | "begin" | "prefix" => ("Start", "prefix"),
        "end" | "finish" | "suffix" => ("End", "suffix"),
        _ => return None,
    };
    Some(Convention { key: key(aspect), order: format!("{verb} {names} with '{value}'"), value })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_convention_of_an_order_is_found() {
        for (order, expected) in [
            ("Start variable names with 'm_'", vec![("project.naming.variable.prefix", "m_")]),
            (
                "start all your variable names with `m_` and function argument names with `q_`",
                vec![("project.naming.variable.prefix", "m_"), ("project.naming.function_argument.prefix", "q_")],
            ),
            ("All function names should end with '_fn'", vec![("project.naming.function.suffix", "_fn")]),
            (
                "When naming attributes, start them with 'k_' and end them with '_z'",
                vec![("project.naming.attribute.prefix", "k_"), ("project.naming.attribute.suffix", "_z")],
            ),
            ("Use snake_case for class names", vec![("project.naming.class.case", "snake_case")]),
            ("For class names, use CamelCase", vec![("project.naming.class.case", "camelcase")]),
            ("Name your tables with the prefix 't_'", vec![("project.naming.table.prefix", "t_")]),
            ("For column names, use '_c'", vec![("project.naming.column.suffix", "_c")]),
            (
                "When naming function arguments, start the variable name with 'k_'",
                vec![("project.naming.function_argument.prefix", "k_")],
            ),
            ("Always use annotations for methods", vec![]),
            ("Start the server with --fast", vec![]),
            ("End each meeting with a summary", vec![]),
        ] {
            let found = conventions(order);
            let found: Vec<(&str, &str)> = found.iter().map(|one| (one.key.as_str(), one.value.as_str())).collect();
            assert_eq!(found, expected, "{order}");
        }
    }
}
