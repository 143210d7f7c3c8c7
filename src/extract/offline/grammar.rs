//! Converts English clauses to the third person.

use std::sync::LazyLock;

use regex::Regex;
use serde::Deserialize;

use crate::text::tokens::is_listed;

/// The words of `rules/grammar.toml`.
#[derive(Deserialize)]
struct Grammar {
    verbs: String,
    joined_verbs: String,
    unchanged: String,
    adverbs: String,
}

static GRAMMAR: LazyLock<Grammar> =
    LazyLock::new(|| toml::from_str(include_str!("rules/grammar.toml")).expect("the words are constants"));

// Tags, such as `<|im_end|>`, contain no words of the sentence.
static WORDS: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r#"`[^`]*`|"[^"]*"|“[^”]*”|<[|/]?[^<>\s]{1,40}>|[A-Za-z][A-Za-z'’-]*|[^A-Za-z`"“<]+|."#)
        .expect("the pattern is a constant")
});

/// Converts clauses with "I" and "we" to clauses about `speaker` or the user, and about the team.
pub(super) fn third_person(clause: &str, speaker: Option<&str>) -> Option<String> {
    let who = speaker.map_or_else(|| "the user".to_owned(), str::to_owned);
    let mut out = String::with_capacity(clause.len() + 16);
    // Whether the next word is a verb with the replaced pronoun as its subject.
    let mut verb = false;
    // Whether a present-tense verb was converted, in which case a verb after "and" is converted, too.
    let mut turned = false;
    let mut after_and = false;
    let words = WORDS.find_iter(clause).map(|found| found.as_str());
    for word in words {
        if !word.starts_with(|c: char| c.is_ascii_alphabetic()) {
            out.push_str(word);
            turned &= !word.contains([',', ';', ':']) || word.trim() == ",";
            continue;
        }
        let plain = word.replace('’', "'");
        let lower = plain.to_lowercase();
        let joined = std::mem::take(&mut after_and);
        if let Some(subject) = subject(&plain, &lower, &who) {
            out.push_str(&subject.0?);
            verb = subject.1;
            turned = true;
        } else if verb && !is_listed(&GRAMMAR.adverbs, &lower) {
            out.push_str(&third_person_verb(&lower, &plain)?);
            verb = false;
        } else if joined && turned && is_listed(&GRAMMAR.joined_verbs, &plain) {
            out.push_str(&third_person_verb(&lower, &plain)?);
        } else {
            after_and = lower == "and" || lower == "but";
            out.push_str(word);
        }
    }
    (!verb).then(|| tidy(&out))
}

/// Changes "we both like" to "I like", and "our son" to "my son".
pub(super) fn alone(clause: &str) -> String {
    static PLURAL: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"(?i)^(?:we(?: both| all)?\s|we're\s|our\s)").expect("the pattern is a constant"));
    let Some(found) = PLURAL.find(clause) else { return clause.to_owned() };
    let singular = match found.as_str().to_lowercase().trim() {
        "our" => "My ",
        "we're" => "I'm ",
        _ => "I ",
    };
    format!("{singular}{}", &clause[found.end()..])
}

/// Returns the replacement of a pronoun and whether a verb follows. The replacement is `None` if no replacement is
/// safe.
fn subject(word: &str, lower: &str, who: &str) -> Option<(Option<String>, bool)> {
    let text = |text: String| Some((Some(text), false));
    let named = |verb| Some((Some(who.to_owned()), verb));
    match (word, lower) {
        ("I" | "i", _) => named(true),
        ("I'm" | "i'm" | "Im" | "im", _) => text(format!("{who} is")),
        ("I've" | "i've" | "Ive" | "ive", _) => text(format!("{who} has")),
        (_, "i'll") => text(format!("{who} will")),
        (_, "we") => Some((Some("the team".to_owned()), true)),
        (_, "we're") => text("the team is".to_owned()),
        (_, "we've") => text("the team has".to_owned()),
        (_, "we'll") => text("the team will".to_owned()),
        (_, "my") => text(format!("{who}'s")),
        (_, "me") => text(who.to_owned()),
        (_, "us") if word != "US" => text("the team".to_owned()),
        (_, "our") => text("the project's".to_owned()),
        (
            _,
            "i'd" | "we'd" | "mine" | "myself" | "ours" | "ourselves" | "let's" | "you" | "your" | "you're" | "yours",
        ) => Some((None, false)),
        _ => None,
    }
}

fn third_person_verb(lower: &str, word: &str) -> Option<String> {
    match lower {
        "am" | "are" => Some("is".to_owned()),
        "were" => Some("was".to_owned()),
        "have" => Some("has".to_owned()),
        "don't" => Some("does not".to_owned()),
        "haven't" => Some("has not".to_owned()),
        "aren't" => Some("is not".to_owned()),
        "weren't" => Some("was not".to_owned()),
        _ if is_listed(&GRAMMAR.unchanged, lower) => Some(word.to_owned()),
        _ if is_listed(&GRAMMAR.verbs, lower) => Some(conjugate(lower)),
        _ if lower.ends_with("ed") && lower.len() > 3 => Some(word.to_owned()),
        _ => lower.strip_prefix("squash-").or_else(|| lower.strip_prefix("force-")).map(|_| format!("{word}s")),
    }
}

fn conjugate(verb: &str) -> String {
    if verb.ends_with(['s', 'x', 'z', 'o']) || verb.ends_with("sh") || verb.ends_with("ch") {
        return format!("{verb}es");
    }
    match verb.strip_suffix('y') {
        Some(stem) if !stem.ends_with(['a', 'e', 'o', 'u']) => format!("{stem}ies"),
        Some(_) | None => format!("{verb}s"),
    }
}

fn tidy(text: &str) -> String {
    text.replace("this project", "the project")
        .replace("This project", "The project")
        .replace("this repo", "the repo")
        .replace("This repo", "The repo")
        .replace("the project's team", "the team")
        .replace("The project's team", "The team")
        .replace("the project's project", "the project")
        .replace("the project's repo", "the repo")
        .replace("the project's codebase", "the codebase")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clauses_are_turned_to_the_third_person() {
        for (clause, expected) in [
            ("I prefer tabs", "the user prefers tabs"),
            ("I'm vegetarian", "the user is vegetarian"),
            ("I really don't like mocks", "the user really does not like mocks"),
            ("I live in Berlin and work at Siemens", "the user lives in Berlin and works at Siemens"),
            ("my wife and I moved to Lisbon", "the user's wife and the user moved to Lisbon"),
            ("we deploy our API with `my script`", "the team deploys the project's API with `my script`"),
            ("We're on Postgres", "the team is on Postgres"),
            ("I rely on tries", "the user relies on tries"),
            ("we always squash-merge", "the team always squash-merges"),
            ("we use <|im_end|> as the mark", "the team uses <|im_end|> as the mark"),
            ("I prefer a < b to <my-tag>", "the user prefers a < b to <my-tag>"),
        ] {
            assert_eq!(third_person(clause, None).as_deref(), Some(expected));
        }
        assert_eq!(third_person("I love my dog", Some("Ana")).as_deref(), Some("Ana loves Ana's dog"));
    }

    #[test]
    fn what_cannot_be_turned_safely_is_not() {
        for clause in ["I'd go there", "I flurb daily", "that book is mine", "I like your idea"] {
            assert_eq!(third_person(clause, None), None, "{clause}");
        }
    }
}
