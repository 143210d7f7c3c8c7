//! Projects that a person calls by name: what "it" and a list after the name are told of.

use std::sync::LazyLock;

use regex::Regex;

use super::product;

fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("the pattern is a constant")
}

/// Returns `text` with the name where "it" and "its" stand for a project that the same sentence names.
pub(super) fn named_again(text: &str) -> String {
    static ITS: LazyLock<Regex> = LazyLock::new(|| {
        pattern(r"^(?P<name>\p{Lu}[\w-]+) (?:is|runs|lives|deploys|uses) [^.!]*?(?P<its>,? and its) ")
    });
    static IT: LazyLock<Regex> = LazyLock::new(|| {
        pattern(
            r"\b(?:moved|migrated|switched|ported) (?P<name>\p{Lu}[\w-]+) (?:off|from|to|onto|out of) [^.!]*?(?:[:;]|,? and)(?: since [\w ,-]{3,20}?)? (?P<it>it) (?:is|runs) ",
        )
    });
    let named = |found: &regex::Captures<'_>| found.name("name").is_some_and(|name| product::is_project(name.as_str()));
    if let Some(found) = ITS.captures(text).filter(named) {
        let range = found.name("its").map_or(0..0, |its| its.range());
        return format!("{} and {}'s{}", &text[..range.start], &found["name"], &text[range.end..]);
    }
    if let Some(found) = IT.captures(text).filter(named) {
        let range = found.name("it").map_or(0..0, |it| it.range());
        return format!("{}{}{}", &text[..range.start], &found["name"], &text[range.end..]);
    }
    text.to_owned()
}

/// Returns what "This is Marlin, our booking site: Go, deployed on Heroku" says, a clause each.
pub(super) fn introduced(text: &str) -> Vec<String> {
    static THIS: LazyLock<Regex> = LazyLock::new(|| {
        pattern(
            r"^(?:This is|We work on|I work on|I'm working on) (?P<name>\p{Lu}[\w-]+)(?:, (?:our|my) (?P<what>[\w -]{3,60}?))?(?:(?:: | \(|, )(?P<parts>[^:]{3,200}?))?[.!)]*$",
        )
    });
    let Some(found) = THIS.captures(text) else { return Vec::new() };
    let name = &found["name"];
    let (what, parts) = (found.name("what"), found.name("parts"));
    if !product::is_project(name) || (what.is_none() && parts.is_none()) {
        return Vec::new();
    }
    let mut clauses: Vec<String> =
        what.map(|what| format!("{name} is the team's {}", what.as_str())).into_iter().collect();
    for part in parts.map_or("", |parts| parts.as_str()).split(", ") {
        let part = part.trim_start_matches("and ");
        let placed = ["deployed ", "hosted ", "written ", "built ", "running ", "based "];
        let known = product::named(part).into_iter().next().filter(|first| first.at == 0);
        match known {
            _ if placed.iter().any(|start| part.starts_with(start)) => clauses.push(format!("{name} is {part}")),
            Some(first) if first.attribute == "language" => clauses.push(format!("{name} is written in {part}")),
            Some(_) => clauses.push(format!("{name} uses {part}")),
            None => {}
        }
    }
    clauses
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_stands_for_the_project_just_named() {
        for (text, expected) in [
            (
                "Marlin runs on Hetzner and its database is MariaDB.",
                "Marlin runs on Hetzner and Marlin's database is MariaDB.",
            ),
            (
                "We moved Marlin off Heroku: since May it is deployed on Fly.io.",
                "We moved Marlin off Heroku: since May Marlin is deployed on Fly.io.",
            ),
            ("Docker is slow and its cache is Redis.", "Docker is slow and its cache is Redis."),
        ] {
            assert_eq!(named_again(text), expected);
        }
    }

    #[test]
    fn an_introduction_is_a_clause_for_each_known_part() {
        assert_eq!(
            introduced("This is Marlin, our booking site: Go with Gin, SQLite, some scripts, deployed on Heroku."),
            [
                "Marlin is the team's booking site",
                "Marlin is written in Go with Gin",
                "Marlin uses SQLite",
                "Marlin is deployed on Heroku",
            ]
        );
        assert_eq!(introduced("This is Docker, our favourite."), Vec::<String>::new());
        assert_eq!(introduced("This is Marlin."), Vec::<String>::new());
    }
}
