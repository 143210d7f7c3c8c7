//! What is wrong with a case although it can be read.

use super::case::Case;
use super::matcher::{Match, Rules};
use super::prediction::Messages;
use super::text::normal;

/// Returns what a reviewer should mend, one sentence each: gold texts that do not match themselves, gold texts that are
/// forbidden, and evidence that nobody said.
#[must_use]
pub fn flaws(case: &Case, rules: &Rules, messages: &Messages) -> Vec<String> {
    let mut found = Vec::new();
    let said = messages.all();
    for (gold, rule) in case.memories.iter().zip(&rules.golds) {
        let text = normal(&gold.text);
        match rule.matches(&text) {
            Match::Yes => {}
            Match::No => {
                let missing =
                    rule.all.iter().filter(|pattern| !pattern.is_match(&text)).map(|one| one.as_str().to_owned());
                let missing: Vec<String> = missing.collect();
                found.push(format!("{}: its text does not match its own `all`: {}", gold.id, missing.join(" and ")));
            }
            Match::Distorted => found.push(format!("{}: its text matches its own `none`", gold.id)),
        }
        for forbidden in rules.forbidden.iter().filter(|forbidden| forbidden.matches(&text)) {
            found.push(format!("{}: its text is forbidden by {}", gold.id, forbidden.id));
        }
        if !rule.has_evidence() {
            found.push(format!("{}: it names no evidence", gold.id));
        }
        for snippet in rule.unfound(&said) {
            found.push(format!("{}: no message holds its evidence {snippet:?}", gold.id));
        }
    }
    found
}
