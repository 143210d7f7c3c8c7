//! Turns of the user that were edited, in exports that know no parents.

use std::collections::HashSet;

use serde_json::Value;

use super::words;
use crate::Sink;

/// Leaves out what the user said and then edited: an edited turn stands right behind the first version of it, and says
/// most of it again. A turn that says something else is one that got no answer.
pub fn without<'a>(messages: Vec<&'a Value>, number: usize, sink: &mut Sink<'_>) -> Vec<&'a Value> {
    let before = messages.len();
    let mut kept: Vec<&Value> = Vec::with_capacity(before);
    for message in messages {
        if kept.last().is_some_and(|last| is_version(last, message)) {
            kept.pop();
        }
        kept.push(message);
    }
    if kept.len() < before {
        let edited = before - kept.len();
        sink.skip(number, format!("turns of the user that were edited: {edited}; the last version of each is kept"));
    }
    kept
}

fn is_version(earlier: &Value, later: &Value) -> bool {
    let both_typed = [earlier, later].into_iter().all(|message| message["sender"] == "human");
    both_typed && is_said_again(&typed(earlier), &typed(later))
}

fn typed(message: &Value) -> String {
    let blocks = words(&message["content"]);
    if blocks.trim().is_empty() { message["text"].as_str().unwrap_or_default().to_owned() } else { blocks }
}

/// Whether `later` says two thirds of the words of `earlier` again, or more.
fn is_said_again(earlier: &str, later: &str) -> bool {
    let (earlier, later) = (terms(earlier), terms(later));
    let again = earlier.iter().filter(|term| later.contains(*term)).count();
    !earlier.is_empty() && again * 3 >= earlier.len() * 2
}

/// Returns the words of `text` in lower case, and the pairs of characters of scripts that do not part their words.
fn terms(text: &str) -> HashSet<String> {
    const FIRST_UNPARTED: char = '\u{2e80}';
    let lower = text.to_lowercase();
    let mut terms = HashSet::new();
    for word in lower.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()) {
        let characters: Vec<char> = word.chars().collect();
        if characters.len() > 1 && characters.iter().any(|c| *c >= FIRST_UNPARTED) {
            terms.extend(characters.windows(2).map(|pair| pair.iter().collect::<String>()));
        } else {
            terms.insert(word.to_owned());
        }
    }
    terms
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_says_most_of_the_first_one_again() {
        let versions = [
            ("Plan a diner for Friday", "Plan a dinner for Friday, for four people."),
            ("fix it", "Fix it!"),
            ("My flight is on Monday", "My flight is on Tuesday"),
            ("帮我订周五的晚餐", "帮我订周五的四人晚餐"),
        ];
        let others = [
            ("My sister Ines is allergic to nuts.", "Plan a dinner for Friday."),
            ("I moved to Faro in May", "What is the weather?"),
            ("我妹妹对坚果过敏", "帮我订周五的晚餐"),
            ("", "Plan a dinner"),
            ("!", "?"),
        ];
        for (earlier, later) in versions {
            assert!(is_said_again(earlier, later), "{earlier} / {later}");
        }
        for (earlier, later) in others {
            assert!(!is_said_again(earlier, later), "{earlier} / {later}");
        }
    }
}
