//! What a row of the table of secrets says, and the pieces its patterns are made of.

use super::value::Naming;

/// One shape of secret.
#[derive(Debug)]
pub struct Secret {
    /// Name in kebab-case; what is taken out becomes `[redacted:<name>]`.
    pub name: &'static str,
    /// Literals of which one stands in every match, in any case; only where one is found is the pattern tried.
    pub hints: &'static [&'static str],
    /// The shape, tried from the start of the hint, or from up to `reach` bytes before it.
    pub pattern: &'static str,
    /// How far before its hint a match may begin, in bytes; 0 ties the pattern to the hint.
    pub reach: usize,
    /// What of a match is the secret.
    pub part: Part,
    /// A text of this shape: `{a36}` stands for 36 invented letters and digits, `{h…}` for hexadecimal digits,
    /// `{d…}` for digits, `{u…}` for capitals and digits, `{w…}` for small letters, `{U}` for a UUID.
    pub example: &'static str,
}

/// What of a match is the secret.
#[derive(Debug, Clone, Copy)]
pub enum Part {
    /// All of it, if it stands apart from the letters and digits around it.
    Whole,
    /// The group `secret`, if the judgement holds for it.
    Group(fn(&str) -> bool),
    /// As [`Part::Group`], where the match begins a word.
    Apart(fn(&str) -> bool),
    /// The value that follows the match, as after `PASSWORD=`.
    Assigned(Naming),
    /// The value that follows the match in a sentence, as after `the password is`.
    Spoken(Naming),
    /// The words to the end of the sentence that follow the match, as after `my passphrase is`.
    Phrase,
}

pub(super) const fn token(
    name: &'static str,
    hints: &'static [&'static str],
    pattern: &'static str,
    example: &'static str,
) -> Secret {
    Secret { name, hints, pattern, reach: 0, part: Part::Whole, example }
}

pub(super) const fn inner(
    name: &'static str,
    hints: &'static [&'static str],
    pattern: &'static str,
    example: &'static str,
) -> Secret {
    Secret { name, hints, pattern, reach: 0, part: Part::Group(anything), example }
}

pub(super) const fn anything(_: &str) -> bool {
    true
}

impl Secret {
    pub(super) const fn reaching(mut self, bytes: usize) -> Self {
        self.reach = bytes;
        self
    }

    pub(super) const fn taking(mut self, part: Part) -> Self {
        self.part = part;
        self
    }
}

/// A shape that is a secret only behind its maker's name and a word such as "key".
macro_rules! behind {
    ($maker:literal, $shape:literal) => {
        concat!(
            "(?i:",
            $maker,
            r#")[^\n]{0,40}?(?i:key|token|secret|auth)[a-zA-Z_]{0,8}[^\nA-Za-z0-9]{1,8}"#,
            r#"(?:(?i:is|was)[^\nA-Za-z0-9]{1,4})?(?P<secret>"#,
            $shape,
            r")(?-u:\b)"
        )
    };
}

/// What stands between a secret's name and its value in code, configuration, JSON and on a command line.
macro_rules! assign {
    () => {
        concat!(
            r#"(?P<suffix>[A-Za-z0-9_.-]{0,32})(?:\\{0,3}["'`]|\]|\*\*){0,3}"#,
            r#"(?P<sign>\s{0,8}(?::\s{0,2}&?(?:'static )?[A-Za-z][A-Za-z<>\[\]]{0,16}\s{0,2}=|:=|=>|[:=：＝])\*{0,2}[ \t]{0,8}|[ \t]{1,4})"#
        )
    };
}

/// What stands between a secret's name and its value in a sentence.
macro_rules! says {
    () => {
        concat!(
            r#"(?:[ *"'`_][^\n.:!?=&：。！？]{0,48}?|[\x{2e80}-\x{ffef}]{0,8}?)"#,
            r"(?: (?:is|was|ist|war|lautet|es|est|è|é|är|jest)\b(?: (?:now|still|currently|set to|jetzt|ahora|maintenant)\b)?:?|=|：|:",
            r"| ?(?:是|为|為|は、?|은|는|—|→))[ \t]{0,4}"
        )
    };
}

pub(super) use {assign, behind, says};
